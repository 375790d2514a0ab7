/*-------------------------------------------------------------------------
 *
 * state.h
 *	  What the parts of a target share.
 *
 *	target.c	its life, the sink, errors, commit and abort
 *	drain.c		writing the residue
 *	reconcile.c	reading the heap: reconciliation, remapping, contents
 *	write.c		rows into the table and its indexes
 *	tidmap.c	where rows are
 *
 * src/apply/state.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_APPLY_STATE_H
#define DDIR_APPLY_STATE_H

#include "postgres.h"

#include "utils/relcache.h"

#include "apply/target.h"
#include "apply/tidmap.h"
#include "base/compat.h"

/* A row that came to be in the heap, or was taken from it. */
typedef struct DdirMoved
{
	uint32		tag;
	ItemPointerData tid;
} DdirMoved;

typedef struct DdirMovedList
{
	uint64		n;
	uint64		cap;
	DdirMoved  *row;
} DdirMovedList;

/* The rows in the heap as a bag: two such are equal with all but certainty. */
typedef struct DdirBagSum
{
	uint64		rows;
	uint64		sum;			/* of hashes */
	uint64		mixed;			/* of hashes, mixed */
} DdirBagSum;

typedef enum DdirStaged
{
	DDIR_STAGED_NOTHING,
	DDIR_STAGED_CHANGES,		/* "taken" and "put" */
	DDIR_STAGED_MAP				/* a whole new map */
} DdirStaged;

struct DdirTarget
{
	MemoryContext cxt;
	Oid			view;
	DdirRowType *type;

	DdirDeltas	residue;
	uint32		residue_limit;	/* consolidate when it has more rows */
	bool		goes;			/* it had rows with negative counts */
	bool		differ;			/* hardly any of its rows were equal */
	DdirDeltas	errors;
	uint32		errors_limit;

	/* the heap, as of the last commit */
	DdirTidMap *map;			/* NULL: never read */
	DdirLocator locator;
	DdirBagSum	bag;
	DdirApplyResult verdict;	/* DONE, or what is known to be wrong with it */

	/* until committed or aborted */
	DdirStaged	staged;
	DdirDeltas	written;		/* the part of the residue that was written */
	MemoryContext log;			/* of the two below */
	DdirMovedList taken;
	DdirMovedList put;
	DdirTidMap *new_map;
	DdirLocator new_locator;
	DdirBagSum	new_bag;
};

static inline uint64
ddir_bag_mix(uint64 hash)
{
	return ddir_key_mix(hash + UINT64_C(0x9e3779b97f4a7c15));
}

static inline void
ddir_bag_add(DdirBagSum *bag, uint64 hash, int64 times)
{
	bag->rows += times;
	bag->sum += hash * (uint64) times;
	bag->mixed += ddir_bag_mix(hash) * (uint64) times;
}

extern void ddir_moved_add(DdirTarget *t, DdirMovedList *list, uint32 tag,
						   const ItemPointerData *tid);

/*
 * Lock and open the view's table; for writing, its indexes are locked as well.
 * The locks stay to the end of the transaction.
 * DONE, LOCKED or GONE; *rel is set only with DONE.
 */
extern DdirApplyResult ddir_target_open(const DdirTarget *t, LOCKMODE mode, bool wait,
										Relation *rel);

/* Is the heap the one we know, and filled? */
extern bool ddir_target_knows(const DdirTarget *t, Relation rel);

/* The residue, consolidated, becomes what is written; and the way back. */
extern void ddir_target_stage(DdirTarget *t, DdirStaged what);

#endif							/* DDIR_APPLY_STATE_H */
