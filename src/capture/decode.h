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
#include "rows/rowtype.h"

typedef struct DdirDecoder DdirDecoder;

/* NAMEDATALEN bytes each; database OID and generation are in them */
extern void ddir_slot_name(char *name, Oid dbid, uint32 generation);

/*
 * In a transaction of its own; waits for all running ones to end (slot creation
 * does).  An error leaves neither slot nor transaction behind.
 */
extern void ddir_slot_create(const char *name);

/* usable: of this database, with our plugin, and its WAL is still there */
extern bool ddir_slot_exists(const char *name, bool *usable);

/* nothing if there is none; 55006 if another process uses it */
extern void ddir_slot_drop(const char *name);

/*
 * Outside of transactions.  Sets output_plugin_libraries and
 * logical_decoding_work_mem for this process.
 */
extern DdirDecoder *ddir_decode_open(const char *slot, RepOriginId own_origin);
extern void ddir_decode_close(DdirDecoder *d);

/*
 * relid's changes are delivered from the next commit record on, as images with
 * the attributes used (NULL: all).  natts: columns of the images, as of those
 * scanned and of whoever reads them (a table may have gained columns since; 0:
 * as many as it has now).  Replaces what was said of relid before.  In a
 * transaction or outside, takes no lock.  False: there is no such relation.
 */
extern bool ddir_decode_track_as(DdirDecoder *d, Oid relid, int natts, const Bitmapset *used);
extern bool ddir_decode_track(DdirDecoder *d, Oid relid, const Bitmapset *used);
extern void ddir_decode_untrack(DdirDecoder *d, Oid relid);

/* the row type of its images; NULL if it is not tracked */
extern const DdirRowType *ddir_decode_rowtype(const DdirDecoder *d, Oid relid);

/* 0: no limit.  At least one record is read. */
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
extern void ddir_decode_save(DdirDecoder *d);

/*
 * Transactions delivered so far, or before the slot's position, that other
 * sessions may not see as committed yet (they are still in the ProcArray,
 * waiting for a standby, say).  Fills xids (palloc'd), returns their number.
 */
extern int	ddir_decode_unseen(DdirDecoder *d, TransactionId **xids);

#endif							/* DDIR_CAPTURE_DECODE_H */
