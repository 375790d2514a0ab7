/*-------------------------------------------------------------------------
 *
 * attach.h
 *	  The triggers that capture a table's changes: made, looked at, dropped.
 *
 * src/capture/attach.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_ATTACH_H
#define DDIR_CAPTURE_ATTACH_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#include "capture/attempt.h"

/*
 * Attempts; in a transaction before it is seen whether anything is to be done.
 * *mark is of the triggers as they are then.
 */
extern DdirAttemptResult ddir_triggers_attach(Oid relid, int lock_ms, uint64 *mark,
											  char **why);
extern DdirAttemptResult ddir_triggers_detach(Oid relid, int lock_ms);

/* The same at once, in a transaction that has locked the table. */
extern void ddir_triggers_attach_now(Oid relid, bool empty);

/*
 * Have its triggers been as they are since the table, one of a tree, was empty?
 * As the snapshot (NULL: the catalog's newest) sees it; *by made them.
 */
extern bool ddir_triggers_since_empty(Oid relid, Snapshot snapshot, TransactionId *by,
									  uint64 *mark);

/*
 * Differs from what it was when the triggers, or the table's place in a tree,
 * have been changed since, even if they were changed back.  In a transaction.
 */
extern uint64 ddir_triggers_mark(Oid relid);

/* Is the table captured row by row? */
extern bool ddir_triggers_by_row(Oid relid);

/* The tables that have triggers of ours; in a transaction. */
extern List *ddir_triggers_list(void);

#endif							/* DDIR_CAPTURE_ATTACH_H */
