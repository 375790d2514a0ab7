/*-------------------------------------------------------------------------
 *
 * capture.h
 *	  Capture, in one of two ways: how changes of tables become trays.
 *
 *	logical		- the WAL is decoded (decode.h): a tray is a transaction, in
 *				  the order of commits.  Tables log their old rows
 *				  (replident.h).
 *	trigger		- triggers write to delta tables (attach.h, trigger.c), which
 *				  are read in cuts (cuts.h): a tray is a transaction too, but
 *				  those of a cut have no order and belong together.
 *
 * Whoever reads trays sees no difference: all of one read go into one step, and
 * what was committed before the position is in the trays read so far.
 *
 * src/capture/capture.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_CAPTURE_H
#define DDIR_CAPTURE_CAPTURE_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

#include "base/config.h"
#include "base/shared.h"
#include "capture/attempt.h"
#include "capture/decode.h"
#include "capture/replident.h"

typedef struct DdirCapture DdirCapture;

/* Outside of transactions.  The slot exists, the origin is this session's. */
extern DdirCapture *ddir_capture_open_logical(const char *slot, RepOriginId own_origin);
extern DdirCapture *ddir_capture_open_trigger(DdirDatabaseSlot *db);
extern void ddir_capture_close(DdirCapture *c);
extern DdirCaptureMode ddir_capture_opened(const DdirCapture *c);

/* As ddir_decode_track and so on. */
extern bool ddir_capture_track(DdirCapture *c, Oid relid, const Bitmapset *used);
extern void ddir_capture_untrack(DdirCapture *c, Oid relid);
extern const DdirRowType *ddir_capture_rowtype(const DdirCapture *c, Oid relid);

/*
 * Are the changes that are delivered of it to be resolved by key (keyed.h)?
 * Then by which columns, as a set.
 */
extern const Bitmapset *ddir_capture_keyed(const DdirCapture *c, Oid relid);

/* What was prepared: that key in order; NULL: old rows are logged whole. */
extern const DdirIdentityKey *ddir_capture_key(const DdirCapture *c, Oid relid);

/* An old row of it takes about so many bytes. */
extern void ddir_capture_expect(DdirCapture *c, Oid relid, Size old_bytes);

/* true: there is no more at the moment */
extern bool ddir_capture_read(DdirCapture *c, const DdirDecodeLimits *limits, DdirTrays *out);

/* everything committed before this position is delivered */
extern XLogRecPtr ddir_capture_position(const DdirCapture *c);

/* Is there more than was read? */
extern bool ddir_capture_waiting(const DdirCapture *c);

/*
 * Is WAL kept back until it is confirmed?  And confirm it; save: what is confirmed
 * is on disk, too, which otherwise it is now and then.
 */
extern bool ddir_capture_holds_wal(const DdirCapture *c);
extern void ddir_capture_confirm(DdirCapture *c, XLogRecPtr lsn);
extern void ddir_capture_save(DdirCapture *c);

/*
 * Transactions whose end a snapshot must wait for: delivered, but maybe not
 * visible to others yet (ddir_decode_unseen), or not captured.
 */
extern int	ddir_capture_unseen(DdirCapture *c, TransactionId **xids);

/*
 * A table's changes are to be captured, or no more: attempts.  Preparing for one
 * way undoes what was done for the other.  How old rows are known stays as it
 * is while the table is in use.
 */
extern DdirAttemptResult ddir_capture_prepare(DdirCapture *c, Oid relid, bool in_use,
											  int lock_ms, char **why);
extern DdirAttemptResult ddir_capture_release(Oid relid, int lock_ms);

/*
 * Relations have become part of a source.  The changes of those of them that are
 * tables are to be captured from this very transaction on, which has locked
 * them; empty: they have no rows yet.  As superuser and with SPI.  (Hydrations
 * prepare what was not prepared so.)
 */
extern void ddir_capture_join(List *joined, List *tables, bool empty);

/*
 * Partitions that joined what is tracked since this was asked last, and were
 * empty, so that nothing else is told of them.  Outside of transactions.
 */
extern List *ddir_capture_joined(DdirCapture *c);

/*
 * Old rows cannot be known by key any more: the identity is another one.  Or
 * they could not be found by it, and will not be looked for again.
 */
extern void ddir_capture_forget_key(DdirCapture *c, Oid relid);
extern void ddir_capture_give_up_key(DdirCapture *c, Oid relid);

/* In a transaction, with a snapshot: would preparing be refused? */
extern bool ddir_capture_refused(const DdirCapture *c, Oid relid);

/* The tables to be released one day; in a transaction, with a snapshot. */
extern List *ddir_capture_remembered(void);

/*
 * In a transaction: is what was prepared as it was, so that nothing has escaped
 * us?  (Logical decoding notices by itself, but that the key is another one is
 * better known before.)
 */
extern bool ddir_capture_intact(const DdirCapture *c, Oid relid);

/* How old rows of the table are known, for people. */
extern const char *ddir_capture_identity(const DdirCapture *c, Oid relid);

#endif							/* DDIR_CAPTURE_CAPTURE_H */
