/*-------------------------------------------------------------------------
 *
 * decoder.h
 *	  What the parts of decoding share.
 *
 *	slot.c		the replication slot: made, looked at, dropped
 *	decode.c	the loop over WAL, and what is tracked
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

/* The library, as slots and background workers name it. */
#ifndef DDIR_LIBRARY
#define DDIR_LIBRARY "ddir"
#endif

#define DDIR_TRAY_EVENT_KINDS (DDIR_TRAY_TOO_LARGE + 1)

/* A used attribute. */
typedef struct DdirTrackedColumn
{
	int			att;			/* from 0 */
	Oid			typid;
	bool		varlena;
} DdirTrackedColumn;

typedef struct DdirTracked
{
	Oid			relid;
	MemoryContext cxt;			/* of this struct and all in it */
	DdirRowType *type;
	Bitmapset  *used;			/* NULL: all columns */
	int			ncols;
	DdirTrackedColumn *col;		/* the used ones */
	uint32		run;			/* where its run was in the trays */
	/* the open tray */
	uint64		tray;			/* the last tray with rows of it */
	uint32		start_n;		/* where that tray begins in the run */
	uint64		event_tray[DDIR_TRAY_EVENT_KINDS];	/* last tray with such an
													 * event */
} DdirTracked;

/* By relid; simplehash makes the functions in decode.c. */
typedef struct DdirTrackedEntry
{
	Oid			relid;
	DdirTracked *tracked;
	char		status;
} DdirTrackedEntry;

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

	struct tracked_hash *tracked;
	/* the relation asked for last, tracked or not */
	Oid			last_relid;
	DdirTracked *last;

	/* while reading */
	DdirTrays  *out;			/* NULL: not reading */
	uint64		rows;			/* since the read began */
	Size		bytes;
	MemoryContext values;		/* of the two below */
	int			natts;			/* their room */
	DdirTupleValues old;
	DdirTupleValues new;

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

extern DdirTracked *ddir_tracked_find(DdirDecoder *d, Oid relid);

extern void ddir_unseen_init(DdirDecoder *d);
extern void ddir_unseen_add(DdirDecoder *d, TransactionId xid);

#endif							/* DDIR_CAPTURE_DECODER_H */
