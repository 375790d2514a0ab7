/*-------------------------------------------------------------------------
 *
 * target.h
 *	  A view's table as the target of output deltas.
 *
 * A target keeps the view's *residue*, computed minus applied, as a
 * consolidated bag of row images; the map from row image to TIDs of the rows
 * in the heap; and the error collection.  The residue is drained by
 * ddir_target_apply in the step's transaction; map changes are staged and take
 * effect at ddir_target_committed, or are forgotten at ddir_target_aborted.
 *
 * The map is valid for one relfilenode.  When the heap has another (REFRESH,
 * VACUUM FULL, CLUSTER), or was never read, ddir_target_reconcile compares
 * the heap with "applied" contents given as deltas.
 *
 * What writes or reads the heap runs in a transaction with an active snapshot
 * and locks the view to the end of it.  Between a writing call that said DONE
 * and committed or aborted, the sink may go on, but nothing else is written.
 *
 * Memory: everything in a context of the target.
 *
 * src/apply/target.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_APPLY_TARGET_H
#define DDIR_APPLY_TARGET_H

#include "postgres.h"

#include "engine/op.h"
#include "rows/rowtype.h"

typedef struct DdirTarget DdirTarget;

typedef enum DdirApplyResult
{
	DDIR_APPLY_DONE,			/* residue is empty after commit */
	DDIR_APPLY_LOCKED,			/* the lock is not to be had now */
	DDIR_APPLY_HELD,			/* row errors: nothing newer is shown */
	DDIR_APPLY_STALE,			/* the heap is another: reconcile first */
	DDIR_APPLY_NEGATIVE,		/* a row would be there less than zero times */
	DDIR_APPLY_GONE				/* the relation does not exist any more */
} DdirApplyResult;

/* in a transaction: looks at the view's columns */
extern DdirTarget *ddir_target_create(MemoryContext parent, Oid view);
extern void ddir_target_destroy(DdirTarget *t);

/* the sink to build the view's dataflow with; adds to residue and errors */
extern DdirSinkFns ddir_target_sink(DdirTarget *t);

extern bool ddir_target_dirty(const DdirTarget *t); /* residue not empty */
extern uint64 ddir_target_residue_rows(const DdirTarget *t);
extern Size ddir_target_bytes(const DdirTarget *t);
extern uint64 ddir_target_rows(const DdirTarget *t);	/* in the heap, as far
														 * as the map knows */

/* the first error, if any (image of ddir_error_rowtype) */
extern bool ddir_target_error(const DdirTarget *t, int *sqlstate, char **message);

/* all errors, for a view that starts to read this one */
extern const DdirDeltas *ddir_target_errors(const DdirTarget *t);

/*
 * Write the residue to the heap.  wait: take the lock unconditionally.
 * *rows: changes written.  With an empty residue it still looks whether the
 * heap is the one it knows.
 *
 * Anything but DONE has written nothing.  Errors from the server (a user's
 * unique index, disk full) are raised; the caller runs this in a
 * subtransaction and blames the view.  Where the heap turns out not to hold
 * what was applied when something is written already, an error is raised, too,
 * and the next call says STALE or NEGATIVE.
 */
extern DdirApplyResult ddir_target_apply(DdirTarget *t, bool wait, uint64 *rows);

/*
 * The heap holds anything; the residue holds all that should be there.  Scan
 * the heap, keep what is right, and write the difference; afterwards the map is
 * whole.  Also marks the view populated.  Otherwise as apply.
 */
extern DdirApplyResult ddir_target_reconcile(DdirTarget *t, bool wait, uint64 *rows);

/*
 * The heap was rewritten (VACUUM FULL, CLUSTER, REFRESH): read it again and
 * rebuild the map.  DDIR_APPLY_STALE if its rows are not those that were
 * applied; then the view must be hydrated again.  Writes nothing, so the new
 * map holds at once, and apply may follow in the same transaction.
 */
extern DdirApplyResult ddir_target_remap(DdirTarget *t, bool wait);

/* what was written is there to stay, or has never been; both may be idle calls */
extern void ddir_target_committed(DdirTarget *t);
extern void ddir_target_aborted(DdirTarget *t);

/*
 * Can the view's contents be read now?  DONE, and then they can to the end of
 * the transaction; or LOCKED, STALE, GONE.
 */
extern DdirApplyResult ddir_target_readable(DdirTarget *t, bool wait);

/*
 * The view's current contents (heap plus residue) as rows for a consumer, in
 * runs.  Raises 55000 if they cannot be read.
 */
extern void ddir_target_contents(DdirTarget *t, void (*f) (void *ctx, const DdirDeltas *rows), void *ctx);

#endif							/* DDIR_APPLY_TARGET_H */
