/*-------------------------------------------------------------------------
 *
 * delta.h
 *	  Deltas: unordered changes (row, time, diff) on their way between
 *	  operators, and the functions that make new ones from them.
 *
 * A row is opaque bytes, compared as bytes.  A *keyed* run also has a key
 * lane, opaque bytes too, and the key's hash.  Lanes are columns: the k-th
 * entry of every lane belongs to the k-th delta.
 *
 * Hash: a key of exactly 8 bytes hashes by a bijective mixer (so in a batch
 * the hash stands for the key), any other by XXH3-64.  ddir_key_hash is the
 * only place that knows.
 *
 * Times: where all deltas have one time, "time" is NULL and "at" holds it.
 *
 * A *function* (DdirFunc) is how code outside the engine computes rows: it is
 * given a bundle of rows, each being a tuple of one or more images (a join's
 * parts side by side, never copied), and appends its results.  Row errors are
 * data: it appends those to another run, with the same diff and time, and
 * goes on.  It does not longjmp through the engine: a failure that is not
 * the row's ends the call with false, and the reason is kept on its side.
 *
 * Memory: lanes grow in the arena given at creation; clear keeps the room.
 *
 * src/engine/delta.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_DELTA_H
#define DDIR_ENGINE_DELTA_H

#include "engine/port.h"
#include "engine/time.h"

/* Rows of any length, one behind the other: row i is bytes off[i]..off[i+1]. */
typedef struct DdirLane
{
	uint8_t    *bytes;
	size_t		len;
	size_t		cap;
	uint32_t   *off;			/* entries + 1 of them; off[0] = 0 */
} DdirLane;

typedef struct DdirRef
{
	const uint8_t *p;
	uint32_t	len;
} DdirRef;

typedef struct DdirDeltas
{
	DdirArena  *arena;
	int			coords;			/* width of a time */
	bool		keyed;			/* key and hash lanes are in use */
	bool		tracked;		/* "from" lane is in use */
	uint32_t	n;
	uint32_t	cap;
	uint64_t   *hash;
	DdirLane	key;
	DdirLane	val;
	int64_t    *diff;
	uint64_t   *time;			/* n * coords, or NULL: all are "at" */
	DdirTime	at;
	uint32_t   *from;			/* which row of the bundle it was made from */
} DdirDeltas;

/* Operators cut their output into runs of about so many rows or bytes. */
#define DDIR_CHUNK_ROWS 4096
#define DDIR_CHUNK_BYTES (1024 * 1024)

extern void ddir_deltas_init(DdirDeltas *d, DdirArena *arena, int coords, bool keyed);
extern void ddir_deltas_clear(DdirDeltas *d);	/* n := 0, time := NULL */
extern void ddir_deltas_free(DdirDeltas *d);
extern size_t ddir_deltas_bytes(const DdirDeltas *d);
/* make the time lane explicit, filled with "at" */
extern void ddir_deltas_spread_time(DdirDeltas *d);

/*
 * Append in place: reserve room for one more row, write at most "max" bytes
 * at the pointers returned, then close with the true lengths.  t is NULL for
 * "at".  The key's hash is computed by close.
 */
extern uint8_t *ddir_deltas_val_room(DdirDeltas *d, size_t max);
extern uint8_t *ddir_deltas_key_room(DdirDeltas *d, size_t max);
extern void ddir_deltas_close(DdirDeltas *d, uint32_t keylen, uint32_t vallen,
							  const uint64_t *t, int64_t diff, uint32_t from);
/* the same with copying; key is ignored where the run is not keyed */
extern void ddir_deltas_push(DdirDeltas *d, const void *key, uint32_t keylen,
							 const void *val, uint32_t vallen,
							 const uint64_t *t, int64_t diff);
extern void ddir_deltas_append(DdirDeltas *d, const DdirDeltas *src);

static inline DdirRef
ddir_lane_ref(const DdirLane *lane, uint32_t i)
{
	DdirRef		r = {lane->bytes + lane->off[i], lane->off[i + 1] - lane->off[i]};

	return r;
}

static inline const uint64_t *
ddir_deltas_time(const DdirDeltas *d, uint32_t i)
{
	return d->time ? d->time + (size_t) i * d->coords : d->at.c;
}

static inline bool
ddir_deltas_full(const DdirDeltas *d)
{
	return d->n >= DDIR_CHUNK_ROWS || d->val.len >= DDIR_CHUNK_BYTES;
}

/*
 * Sort by (hash, key, val, time) and sum the diffs of equal rows, dropping
 * zeros.  For runs without keys the hash lane is filled with the val's hash
 * and rows order by (hash, val, time).
 */
extern void ddir_deltas_consolidate(DdirDeltas *d);

extern uint64_t ddir_key_hash(const void *key, uint32_t len);
/* the inverse of ddir_key_hash for 8-byte keys */
extern uint64_t ddir_key_unmix(uint64_t hash);
extern int	ddir_bytes_cmp(const void *a, uint32_t alen, const void *b, uint32_t blen);

/*
 * Rows handed to a function: row i is the tuple ref[0][i], ..., ref[nrel-1][i]
 * with diff[i] and time i (NULL time: all are "at").
 */
typedef struct DdirBundle
{
	uint32_t	n;
	int			nrel;
	int			coords;
	const DdirRef *const *ref;	/* nrel arrays of n */
	const int64_t *diff;
	const uint64_t *time;
	const uint64_t *at;
} DdirBundle;

typedef struct DdirFunc
{
	/*
	 * Append to out (keyed if the place it is used in needs keys) and to err,
	 * setting "from" in both where tracked.  Any input row may give no, one or
	 * more rows.  False: failed, reason kept in ctx.
	 */
	bool		(*call) (void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err);
	void	   *ctx;
} DdirFunc;

/* Call f over a plain run (nrel = 1), raising DDIR_ERROR_CALLBACK on failure. */
extern void ddir_func_apply(const DdirFunc *f, const DdirDeltas *in,
							DdirDeltas *out, DdirDeltas *err);
extern void ddir_func_call(const DdirFunc *f, const DdirBundle *in,
						   DdirDeltas *out, DdirDeltas *err);

#endif							/* DDIR_ENGINE_DELTA_H */
