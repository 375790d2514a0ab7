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

/*
 * Rows of any length, one behind the other: row i is bytes off[i]..off[i+1].
 * So a lane holds less than 4 GB; more raises DDIR_ERROR_MEMORY.
 */
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

/* Bytes that grow. */
typedef struct DdirBytes
{
	DdirArena  *arena;
	uint8_t    *p;
	size_t		len;
	size_t		cap;
} DdirBytes;

extern void ddir_bytes_put(DdirBytes *to, const void *p, size_t len);

/* Take what was put; "from" goes on to what is behind it. */
static inline void
ddir_bytes_take(const uint8_t **from, void *to, size_t len)
{
	memcpy(to, *from, len);
	*from += len;
}

typedef struct DdirDeltas
{
	DdirArena  *arena;
	int			coords;			/* width of a time */
	bool		keyed;			/* key and hash lanes are in use */
	bool		tracked;		/* "from" lane is in use */
	uint32_t	n;
	uint32_t	cap;			/* of hash, diff, offsets, time_room, from */
	uint64_t   *hash;
	DdirLane	key;
	DdirLane	val;
	int64_t    *diff;
	uint64_t   *time;			/* n * coords, or NULL: all are "at" */
	DdirTime	at;				/* set by the owner; append sets it if empty */
	uint64_t   *time_room;		/* what time was or will be */
	uint32_t   *from;			/* which row of the bundle it was made from */
} DdirDeltas;

/* Operators cut their output into runs of about so many rows or bytes. */
#define DDIR_CHUNK_ROWS 4096
#define DDIR_CHUNK_BYTES (1024 * 1024)

extern void ddir_deltas_init(DdirDeltas *d, DdirArena *arena, int coords, bool keyed);
extern void ddir_deltas_clear(DdirDeltas *d);	/* n := 0, time := NULL */
extern void ddir_deltas_truncate(DdirDeltas *d, uint32_t n);	/* the first n stay */
extern void ddir_deltas_free(DdirDeltas *d);
extern size_t ddir_deltas_bytes(const DdirDeltas *d);

/* make the time lane explicit, filled with "at" */
extern void ddir_deltas_spread_time(DdirDeltas *d);

/*
 * The hash of a key.  The mixer is a bijection (Stafford's variant 13 of the
 * finaliser of MurmurHash3) and unmix its inverse.
 */
extern uint64_t ddir_hash_bytes(const void *p, uint32_t len);	/* XXH3-64 */

static inline uint64_t
ddir_key_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static inline uint64_t
ddir_key_unmix(uint64_t hash)
{
	hash = (hash ^ (hash >> 31) ^ (hash >> 62)) * UINT64_C(0x319642b2d24d8ec3);
	hash = (hash ^ (hash >> 27) ^ (hash >> 54)) * UINT64_C(0x96de1b173f119089);
	return hash ^ (hash >> 30) ^ (hash >> 60);
}

static inline uint64_t
ddir_key_hash(const void *key, uint32_t len)
{
	uint64_t	x;

	if (len != sizeof(x))
		return ddir_hash_bytes(key, len);
	memcpy(&x, key, sizeof(x));
	return ddir_key_mix(x);
}

/* The first 8 bytes as a number that orders as they do, zeros for missing ones. */
static inline uint64_t
ddir_bytes_prefix(const uint8_t *p, uint32_t len)
{
	uint64_t	x = 0;

	if (len >= sizeof(x))
		memcpy(&x, p, sizeof(x));
	else if (len > 0)
		memcpy(&x, p, len);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

/* As bytes; of two, one the beginning of the other, the shorter is less. */
static inline int
ddir_bytes_cmp(const void *a, uint32_t alen, const void *b, uint32_t blen)
{
	uint32_t	len = alen < blen ? alen : blen;
	int			c = 0;

	if (len >= sizeof(uint64_t))
	{
		uint64_t	x = ddir_bytes_prefix(a, sizeof(x));
		uint64_t	y = ddir_bytes_prefix(b, sizeof(y));

		if (x != y)
			return x < y ? -1 : 1;
	}
	if (len > 0)
		c = memcmp(a, b, len);
	return c != 0 ? c : (alen > blen) - (alen < blen);
}

/* Room for "more" bytes, rows: what the functions below do when it is short. */
extern void ddir_lane_grow(DdirArena *arena, DdirLane *lane, size_t more);
extern void ddir_deltas_grow(DdirDeltas *d, uint32_t more);

/*
 * Append in place: reserve room for one more row, write at most "max" bytes
 * at the pointers returned, then close with the true lengths.  t is NULL for
 * "at".  The key's hash is computed by close.
 */
static inline uint8_t *
ddir_deltas_val_room(DdirDeltas *d, size_t max)
{
	if (ddir_unlikely(d->val.cap - d->val.len < max))
		ddir_lane_grow(d->arena, &d->val, max);
	return d->val.bytes + d->val.len;
}

static inline uint8_t *
ddir_deltas_key_room(DdirDeltas *d, size_t max)
{
	if (ddir_unlikely(d->key.cap - d->key.len < max))
		ddir_lane_grow(d->arena, &d->key, max);
	return d->key.bytes + d->key.len;
}

/* Is this the time of a run without a time lane? */
static inline bool
ddir_deltas_is_at(const DdirDeltas *d, const uint64_t *t)
{
	for (int c = 0; c < d->coords; c++)
		if (t[c] != d->at.c[c])
			return false;
	return true;
}

/* give row i the time t, in the lane */
extern void ddir_deltas_set_time(DdirDeltas *d, uint32_t i, const uint64_t *t);

static inline void
ddir_deltas_close(DdirDeltas *d, uint32_t keylen, uint32_t vallen,
				  const uint64_t *t, int64_t diff, uint32_t from)
{
	uint32_t	i = d->n;

	ddir_assert(vallen <= d->val.cap - d->val.len);
	ddir_assert(!d->keyed || keylen <= d->key.cap - d->key.len);

	if (ddir_unlikely(i == d->cap))
		ddir_deltas_grow(d, 1);
	if (d->keyed)
	{
		d->hash[i] = ddir_key_hash(d->key.bytes + d->key.len, keylen);
		d->key.len += keylen;
		d->key.off[i + 1] = (uint32_t) d->key.len;
	}
	d->val.len += vallen;
	d->val.off[i + 1] = (uint32_t) d->val.len;
	d->diff[i] = diff;
	if (d->tracked)
	{
		if (ddir_unlikely(d->from == NULL))
			ddir_deltas_grow(d, 1);
		d->from[i] = from;
	}
	if (ddir_unlikely(d->time != NULL || (t != NULL && !ddir_deltas_is_at(d, t))))
		ddir_deltas_set_time(d, i, t ? t : d->at.c);
	d->n = i + 1;
}

/* the same with copying; key is ignored where the run is not keyed */
static inline void
ddir_deltas_push(DdirDeltas *d, const void *key, uint32_t keylen,
				 const void *val, uint32_t vallen,
				 const uint64_t *t, int64_t diff)
{
	uint8_t    *to = ddir_deltas_val_room(d, vallen);

	if (vallen > 0)
		memcpy(to, val, vallen);
	if (d->keyed)
	{
		to = ddir_deltas_key_room(d, keylen);
		if (keylen > 0)
			memcpy(to, key, keylen);
	}
	ddir_deltas_close(d, keylen, vallen, t, diff, 0);
}

/*
 * All rows of src behind those of d.  An empty d takes over its "at"; a keyed
 * d needs a keyed src.
 */
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

/* fill the hash lane of a run without keys as that does, in the order it is in */
extern void ddir_deltas_hash_vals(DdirDeltas *d);

/*
 * Consolidate d, then move its rows beyond upper to "rest" (of the same kind)
 * and put the frontier of those into held.  Only what is left of them after
 * cancelling counts: a time that nets to nothing holds nothing back.
 */
extern void ddir_deltas_split(DdirDeltas *d, const DdirFrontier *upper,
							  DdirDeltas *rest, DdirFrontier *held);

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

static inline const uint64_t *
ddir_bundle_time(const DdirBundle *in, uint32_t i)
{
	return in->time ? in->time + (size_t) i * in->coords : in->at;
}

typedef struct DdirFunc
{
	/*
	 * Append to out (keyed if the place it is used in needs keys) and to err,
	 * setting "from" in both where tracked.  Any input row may give no, one
	 * or more rows.  False: failed, reason kept in ctx.
	 */
	bool		(*call) (void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err);
	void	   *ctx;
} DdirFunc;

/*
 * Call f over a plain run (nrel = 1) in chunks, raising DDIR_ERROR_CALLBACK on
 * failure.  Where out and err are empty they take over the "at" of in; "from"
 * counts from the start of the run.
 */
extern void ddir_func_apply(const DdirFunc *f, const DdirDeltas *in,
							DdirDeltas *out, DdirDeltas *err);
extern void ddir_func_call(const DdirFunc *f, const DdirBundle *in,
						   DdirDeltas *out, DdirDeltas *err);

#endif							/* DDIR_ENGINE_DELTA_H */
