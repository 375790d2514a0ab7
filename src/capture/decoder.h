/*-------------------------------------------------------------------------
 *
 * decoder.h
 *	  What the parts of decoding share.
 *
 *	slot.c		the replication slot: made, looked at, dropped
 *	decode.c	the loop over WAL
 *	plugin.c	the output plugin: a change becomes images in a run
 *	unseen.c	transactions delivered that others may not see yet
 *
 * src/capture/decoder.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_DECODER_H
#define DDIR_CAPTURE_DECODER_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "replication/logical.h"

#include "capture/decode.h"
#include "capture/tracked.h"

/* The library, as slots and background workers name it. */
#ifndef DDIR_LIBRARY
#define DDIR_LIBRARY "ddir"
#endif

/* The values of a tuple. */
typedef struct DdirTupleValues
{
	Datum	   *values;
	bool	   *isnull;
} DdirTupleValues;

struct DdirDecoder
{
	MemoryContext cxt;
	MemoryContext scratch;		/* reset for every change */
	LogicalDecodingContext *ctx;
	RepOriginId own_origin;
	XLogRecPtr	position;
	uint64		transactions;

	DdirTracking tracking;

	MemoryContext values;		/* of those below */
	int			natts;			/* their room */
	DdirTupleValues old;
	DdirTupleValues new;
	DdirTupleValues raw;		/* of a partition with other places of columns */

	/* confirming */
	XLogRecPtr	confirmed;
	XLogRecPtr	saved;
	TimestampTz saved_at;

	/* unseen.c */
	int			nunseen;
	int			cap_unseen;
	TransactionId *unseen;		/* delivered */
	int			nearlier;
	TransactionId *earlier;		/* running when we began */
};

/*
 * Whom the output plugin serves: callbacks of any other context, in any
 * process, are refused.
 */
typedef struct DdirPluginUser
{
	bool		creating;		/* a slot is being made */
	DdirDecoder *opening;		/* or opened */
	DdirDecoder *decoder;		/* what is open */
} DdirPluginUser;

extern DdirPluginUser ddir_plugin_user;

/* Let this process, outside of a transaction, load the plugin. */
extern void ddir_plugin_allow(void);

extern void ddir_unseen_init(DdirDecoder *d);
extern void ddir_unseen_add(DdirDecoder *d, TransactionId xid);

#endif							/* DDIR_CAPTURE_DECODER_H */
