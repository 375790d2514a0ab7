/*-------------------------------------------------------------------------
 *
 * decode.h
 *	  Capture by logical decoding: our slot, our output plugin, our loop.
 *
 * One persistent slot per database.  ddir_decode_read turns WAL into trays; it
 * runs outside any transaction and returns at the end of the flushed WAL or
 * when a limit is reached, always between two records.  Only relations that
 * are *tracked* give rows; the rows are images of the relation's row type with
 * the used attributes (rows/rowtype.h).
 *
 * Calls: open (once a process), then any mix of track, read, confirm.  An
 * ERROR inside leaves the context unusable: the process must exit.
 *
 * src/capture/decode.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_DECODE_H
#define DDIR_CAPTURE_DECODE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "nodes/bitmapset.h"
#include "replication/origin.h"

#include "engine/tray.h"

typedef struct DdirDecoder DdirDecoder;

/* NAMEDATALEN bytes each; database OID and generation are in them */
extern void ddir_slot_name(char *name, Oid dbid, uint32 generation);

/* Own transactions; waits for all running ones to end (slot creation does). */
extern void ddir_slot_create(const char *name);
extern bool ddir_slot_exists(const char *name, bool *usable);
extern void ddir_slot_drop(const char *name);

/* Sets output_plugin_libraries and logical_decoding_work_mem for itself. */
extern DdirDecoder *ddir_decode_open(const char *slot, RepOriginId own_origin);
extern void ddir_decode_close(DdirDecoder *d);

/* relid's changes are delivered from the next commit record on */
extern void ddir_decode_track(DdirDecoder *d, Oid relid, const Bitmapset *used);
extern void ddir_decode_untrack(DdirDecoder *d, Oid relid);

typedef struct DdirDecodeLimits
{
	uint64		rows;
	Size		bytes;
	int			ms;
} DdirDecodeLimits;

/* true: the end of the flushed WAL is reached */
extern bool ddir_decode_read(DdirDecoder *d, const DdirDecodeLimits *limits, DdirTrays *out);
/* everything committed before this position is delivered */
extern XLogRecPtr ddir_decode_position(const DdirDecoder *d);
extern uint64 ddir_decode_transactions(const DdirDecoder *d);

/* The server may recycle WAL up to lsn (which the caller knows is flushed). */
extern void ddir_decode_confirm(DdirDecoder *d, XLogRecPtr lsn);

/*
 * Transactions delivered so far that other sessions may not see as committed
 * yet (they are still in the ProcArray, waiting for a standby, say).  Fills
 * xids (palloc'd), returns their number.
 */
extern int	ddir_decode_unseen(DdirDecoder *d, TransactionId **xids);

#endif							/* DDIR_CAPTURE_DECODE_H */
