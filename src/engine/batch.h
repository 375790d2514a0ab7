/*-------------------------------------------------------------------------
 *
 * batch.h
 *	  A batch: an immutable, sorted, consolidated run of keyed deltas.
 *
 * Order: hash, key, val, time (by cmp).  Lanes are left out where they would
 * say nothing: the key lane where all keys have 8 bytes (the hash is the key,
 * mixed), offsets where all rows have one width, the time lane where all
 * times are equal, the diff lane where all diffs are +1; diffs take one byte
 * where all fit.  All but the smallest carry a directory by the hash's high
 * bits.
 *
 * A batch holds exactly the updates of its trace with time beyond lower and
 * not beyond upper; times may have been advanced by since.
 *
 *	ddir_batch_build	- from a run of deltas (which it consolidates)
 *	ddir_batch_find		- the rows of a key
 *	ddir_merge_*		- two adjacent batches into one, resumable (merge.c)
 *
 * Memory: one arena per batch, a child of the arena given; freed with the last
 * reference.
 *
 * src/engine/batch.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_BATCH_H
#define DDIR_ENGINE_BATCH_H

#include "engine/delta.h"

/* A lane of a batch: of one width (off NULL), or with n + 1 offsets. */
typedef struct DdirColumn
{
	uint8_t    *bytes;
	uint32_t	width;
	uint32_t   *off;
} DdirColumn;

typedef struct DdirBatch
{
	DdirArena  *arena;
	int			refs;
	struct DdirBatch *lanes;	/* whose lanes these are, or NULL: its own */
	int			coords;
	uint32_t	n;				/* updates */
	uint64_t   *hash;
	bool		mixed;			/* no key lane: keys are ddir_key_unmix(hash) */
	DdirColumn	key;
	DdirColumn	val;
	uint64_t   *time;			/* n * coords, or NULL: all are "at" */
	DdirTime	at;
	DdirTime	newest;			/* cmp-greatest time in it */
	DdirTime	least;			/* meet of all its times */
	DdirTime	most;			/* join of all its times */
	int64_t    *diff;			/* or NULL: see diff8 */
	int8_t	   *diff8;			/* where all fit, or NULL: all are +1 */
	uint32_t	keys;			/* different hashes */
	uint32_t   *dir;			/* 2^dir_bits + 1 starts, or NULL */
	int			dir_bits;
	DdirFrontier lower;
	DdirFrontier upper;
	DdirFrontier since;
	size_t		bytes;			/* of all lanes */
} DdirBatch;

static inline DdirRef
ddir_column_ref(const DdirColumn *c, uint32_t i)
{
	DdirRef		r;

	if (c->off)
	{
		r.p = c->bytes + c->off[i];
		r.len = c->off[i + 1] - c->off[i];
	}
	else
	{
		r.p = c->bytes + (size_t) c->width * i;
		r.len = c->width;
	}
	return r;
}

static inline DdirRef
ddir_batch_val(const DdirBatch *b, uint32_t i)
{
	return ddir_column_ref(&b->val, i);
}

static inline const uint64_t *
ddir_batch_time(const DdirBatch *b, uint32_t i)
{
	return b->time ? b->time + (size_t) i * b->coords : b->at.c;
}

static inline int64_t
ddir_batch_diff(const DdirBatch *b, uint32_t i)
{
	return b->diff8 ? b->diff8[i] : b->diff ? b->diff[i] : 1;
}

/* the key of row i; "room" takes it where the hash stands for it */
static inline DdirRef
ddir_batch_key(const DdirBatch *b, uint32_t i, uint64_t *room)
{
	if (b->mixed)
	{
		DdirRef		r = {(const uint8_t *) room, 8};

		*room = ddir_key_unmix(b->hash[i]);
		return r;
	}
	return ddir_column_ref(&b->key, i);
}

/*
 * Takes the rows of "rows" (left empty).  lower and upper as described above;
 * since starts as the least frontier: nothing has been advanced.
 */
extern DdirBatch *ddir_batch_build(DdirArena *arena, DdirDeltas *rows,
								   const DdirFrontier *lower, const DdirFrontier *upper);

/* What a is, up to the upper of b, or from the lower of b: one has no rows. */
extern DdirBatch *ddir_batch_widen(DdirArena *arena, DdirBatch *a, DdirBatch *b);
extern void ddir_batch_ref(DdirBatch *b);
extern void ddir_batch_unref(DdirBatch *b);
extern size_t ddir_batch_bytes(const DdirBatch *b);

extern uint32_t ddir_batch_search(const DdirBatch *b, uint32_t lo, uint32_t hi,
								  uint64_t hash, const void *key,
								  uint32_t keylen, uint32_t *end);

/* The range of rows to look in for a hash. */
static inline void
ddir_batch_slot(const DdirBatch *b, uint64_t hash, uint32_t *lo, uint32_t *hi)
{
	*lo = 0;
	*hi = b->n;
	if (b->dir)
	{
		const uint32_t *d = b->dir + (hash >> (64 - b->dir_bits));

		*lo = d[0];
		*hi = d[1];
	}
}

/* First row of the key, and in *end the one behind its last; none: equal. */
static inline uint32_t
ddir_batch_find(const DdirBatch *b, uint64_t hash, const void *key,
				uint32_t keylen, uint32_t *end)
{
	uint32_t	lo;
	uint32_t	hi;

	ddir_batch_slot(b, hash, &lo, &hi);
	*end = lo;
	return lo == hi ? lo : ddir_batch_search(b, lo, hi, hash, key, keylen, end);
}

/* for a run of probes: bring the memory that find will touch nearer */
extern void ddir_batch_prefetch(const DdirBatch *b, uint64_t hash);

/* the row behind the last one with the key of row i */
extern uint32_t ddir_batch_key_end(const DdirBatch *b, uint32_t i);

typedef struct DdirMerge DdirMerge;

/* The merged batch stays within 2^31 - 1 rows and 4 GB of a lane with offsets. */
extern bool ddir_merge_fits(const DdirBatch *a, const DdirBatch *b);

/* a is the older; times are advanced by since, as it is now */
extern DdirMerge *ddir_merge_begin(DdirArena *arena, DdirBatch *a, DdirBatch *b,
								   const DdirFrontier *since);

/* spend up to *fuel rows (reduced by what was used); true when complete */
extern bool ddir_merge_work(DdirMerge *m, int64_t *fuel);

/* the merged batch; consumes m and the references m held */
extern DdirBatch *ddir_merge_done(DdirMerge *m);
extern void ddir_merge_abandon(DdirMerge *m);
extern size_t ddir_merge_bytes(const DdirMerge *m);

/* For merge.c: */

/* a batch without rows, in an arena of its own */
extern DdirBatch *ddir_batch_create(DdirArena *arena, int coords,
									const DdirFrontier *lower,
									const DdirFrontier *upper);

/* a directory fit for so many rows and keys, if it pays; filled row by row */
extern void ddir_batch_dir_create(DdirBatch *b, uint32_t n, uint32_t keys);

/*
 * Enter rows from..to - 1, counting keys; *slot is the last slot entered, 0 at
 * first.
 */
extern void ddir_batch_dir_enter(DdirBatch *b, uint32_t from, uint32_t to, uint32_t *slot);

/* the same, rows having been copied from rows "start" on of another batch */
extern void ddir_batch_dir_copy(DdirBatch *b, uint32_t from, uint32_t to, uint32_t *slot,
								const DdirBatch *src, uint32_t start);

/* no more rows: close the directory and count bytes */
extern void ddir_batch_close(DdirBatch *b, uint32_t slot);

#endif							/* DDIR_ENGINE_BATCH_H */
