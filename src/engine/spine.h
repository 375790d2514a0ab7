/*-------------------------------------------------------------------------
 *
 * spine.h
 *	  A trace: a short list of adjacent batches, merged with fuel.
 *
 * Layer i is accounted as 2^i rows.  Every insertion pays a bounded part of
 * the merges under way, so none ever pays for a whole one; an idle trace
 * converges to one batch.  Batches whose merge would be too large stay apart.
 *
 * Readers hold the trace back.  Each has a *logical* frontier (times may be
 * advanced to the meet of them) and a *physical* one (batches may be merged
 * up to the meet of those).  Both only ever move forward.  A trace without
 * readers is free to compact to its upper.
 *
 * Calls: create, any mix of insert, reader and cursor calls, destroy.  A
 * cursor is valid until the next insert or exert.
 *
 * Reference: McSherry, Lattuada, Schwarzkopf, Roscoe, "Shared Arrangements"
 * (VLDB 2020), section 4.
 *
 * src/engine/spine.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_SPINE_H
#define DDIR_ENGINE_SPINE_H

#include "engine/batch.h"

typedef struct DdirSpine DdirSpine;
typedef struct DdirReader DdirReader;

#define DDIR_SPINE_BATCHES_MAX 130

extern DdirSpine *ddir_spine_create(DdirArena *arena, int coords);
extern void ddir_spine_destroy(DdirSpine *s);

/* Batches are not merged beyond so many rows; for tests, and to bound merges. */
extern void ddir_spine_set_limit(DdirSpine *s, uint32_t rows);

/* Takes over a reference.  b->lower must equal the trace's upper. */
extern void ddir_spine_insert(DdirSpine *s, DdirBatch *b);

/*
 * Spend effort though nothing comes in; true while there is more to do.  What
 * is left of a large trace is many small batches beside one big, and merging
 * those over and over would cost more than it saves: a batch is merged with
 * one more than 8 times its size only where fuel covers both.
 */
extern bool ddir_spine_exert(DdirSpine *s, int64_t fuel);

extern const DdirFrontier *ddir_spine_upper(const DdirSpine *s);
extern const DdirFrontier *ddir_spine_since(const DdirSpine *s);	/* compacted by */
extern uint64_t ddir_spine_rows(const DdirSpine *s);
extern size_t ddir_spine_bytes(const DdirSpine *s);

/* rows merges have used up since creation: what the trace's upkeep cost */
extern uint64_t ddir_spine_work(const DdirSpine *s);

/*
 * A new reader starts at the trace's since and physical frontier.
 * It is an error to import a closed trace (empty logical frontier).
 */
extern DdirReader *ddir_reader_create(DdirSpine *s);
extern void ddir_reader_drop(DdirReader *r);
extern void ddir_reader_set_logical(DdirReader *r, const DdirFrontier *f);
extern void ddir_reader_set_physical(DdirReader *r, const DdirFrontier *f);

/* the frontier up to which batches may be merged */
extern const DdirFrontier *ddir_spine_physical(const DdirSpine *s);

/* All batches, oldest first, into list (DDIR_SPINE_BATCHES_MAX); their number. */
extern int	ddir_spine_batches(const DdirSpine *s, DdirBatch **list);

/*
 * Those up to frontier u.  It is an error if u is not beyond the physical
 * frontier, or if a batch straddles it.
 */
extern int	ddir_spine_batches_through(const DdirSpine *s, const DdirFrontier *u, DdirBatch **list);

/*
 * A cursor over one key: its vals in order, with the diffs summed over all
 * updates whose time is le "t" (lt where strict).  Vals that sum to zero are
 * passed over.
 */
typedef struct DdirCursor
{
	int			nbatches;		/* those that may have something to show */
	int			coords;
	bool		strict;
	DdirTime	t;
	DdirBatch  *batch[DDIR_SPINE_BATCHES_MAX];
	bool		whole[DDIR_SPINE_BATCHES_MAX];	/* all its times are visible */
	uint32_t	pos[DDIR_SPINE_BATCHES_MAX];
	uint32_t	end[DDIR_SPINE_BATCHES_MAX];
	int			nlive;			/* batches with rows left */
	uint8_t		live[DDIR_SPINE_BATCHES_MAX];
} DdirCursor;

extern void ddir_cursor_open(DdirCursor *c, const DdirSpine *s, const uint64_t *t, bool strict);

/* what is in use of it alone is copied */
extern void ddir_cursor_copy(DdirCursor *to, const DdirCursor *from);

/* position on a key; rows follow from next */
extern void ddir_cursor_seek(DdirCursor *c, uint64_t hash, const void *key, uint32_t keylen);

/* skip vals below this one, within the key */
extern void ddir_cursor_seek_val(DdirCursor *c, const void *val, uint32_t vallen);

/* the val stays where it is as long as the cursor is valid */
extern bool ddir_cursor_next(DdirCursor *c, DdirRef *val, int64_t *diff);

#endif							/* DDIR_ENGINE_SPINE_H */
