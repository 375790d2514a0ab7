/*-------------------------------------------------------------------------
 *
 * oracle.h
 *	  A trace as its definition has it: a flat list of updates.
 *
 * Rows are small numbers made into bytes by a shape, so that the same list can
 * be tried with keys and vals of every width.  Two numbers are two byte
 * strings, whatever the shape, and may order in any way.
 *
 * test/unit/oracle.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ORACLE_H
#define DDIR_ORACLE_H

#include "engine/spine.h"

#include "unit.h"

typedef struct Update
{
	uint32_t	key;
	uint32_t	val;
	DdirTime	t;
	int64_t		diff;
} Update;

typedef struct List
{
	uint32_t	n;
	uint32_t	cap;
	Update	   *u;
} List;

/* Widths of keys and vals; ANY: each number has its own. */
#define ANY UINT32_MAX

typedef struct Widths
{
	uint32_t	key;
	uint32_t	val;
} Widths;

static inline void
list_add(List *l, uint32_t key, uint32_t val, const uint64_t *t, int coords, int64_t diff)
{
	Update	   *u;

	if (l->n == l->cap)
	{
		l->cap = l->cap ? 2 * l->cap : 64;
		l->u = realloc(l->u, l->cap * sizeof(Update));
	}
	u = &l->u[l->n++];
	memset(u, 0, sizeof(*u));
	u->key = key;
	u->val = val;
	memcpy(u->t.c, t, coords * sizeof(uint64_t));
	u->diff = diff;
}

static inline void
list_free(List *l)
{
	free(l->u);
	memset(l, 0, sizeof(*l));
}

#define BYTES_MAX 32

/*
 * The bytes of a number: it comes last, behind bytes that are mostly equal, so
 * that prefixes of long ones tell nothing.  Any width: 4 to 24, with 8 among
 * them for the small numbers.
 */
static inline uint32_t
number_bytes(uint32_t k, uint32_t width, uint8_t *to)
{
	uint32_t	len = width != ANY ? width : k % 3 == 0 ? 8 : 4 + k % 21;

	memset(to, 'x', len);
	if (len < 4)
		memcpy(to, &k, len);
	else
	{
		memcpy(to + len - 4, &k, 4);
		if (len >= 8)
			to[0] = (uint8_t) (k % 2);
	}
	return len;
}

static inline void
push_update(DdirDeltas *d, const Widths *w, const Update *u)
{
	uint8_t		key[BYTES_MAX];
	uint8_t		val[BYTES_MAX];
	uint32_t	keylen = number_bytes(u->key, w->key, key);
	uint32_t	vallen = number_bytes(u->val, w->val, val);

	ddir_deltas_push(d, key, keylen, val, vallen, u->t.c, u->diff);
}

static inline bool
is_number(DdirRef r, uint32_t k, uint32_t width)
{
	uint8_t		bytes[BYTES_MAX];
	uint32_t	len = number_bytes(k, width, bytes);

	return r.len == len && (len == 0 || memcmp(r.p, bytes, len) == 0);
}

/* The number behind bytes, if numbers are below n; n if none. */
static inline uint32_t
number_of(DdirRef r, uint32_t n, uint32_t width)
{
	uint32_t	k = 0;

	if (r.len >= 4)
	{
		memcpy(&k, r.p + r.len - 4, 4);
		return k < n && is_number(r, k, width) ? k : n;
	}
	for (k = 0; k < n; k++)
		if (is_number(r, k, width))
			return k;
	return n;
}

/* What the definition says a key and val add up to at a time. */
static inline int64_t
list_sum(const List *l, uint32_t key, uint32_t val, const uint64_t *t, int coords)
{
	int64_t		sum = 0;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->u[i].key == key && l->u[i].val == val &&
			ddir_time_le(l->u[i].t.c, t, coords))
			sum += l->u[i].diff;
	return sum;
}

/* The batch keeps its promises on form. */
static inline void
check_batch(const DdirBatch *b)
{
	uint32_t	keys = 0;
	bool		ordered = true;
	bool		found = true;
	bool		times = true;
	DdirTime	least = b->at;
	DdirTime	most = b->at;
	DdirTime	newest = b->at;

	for (uint32_t i = 0; i < b->n; i++)
	{
		const uint64_t *t = ddir_batch_time(b, i);
		uint64_t	room;
		uint64_t	room_before;
		DdirRef		key = ddir_batch_key(b, i, &room);
		DdirRef		val = ddir_batch_val(b, i);
		uint32_t	start;
		uint32_t	end;

		ordered &= b->hash[i] == ddir_key_hash(key.p, key.len);
		ordered &= ddir_batch_diff(b, i) != 0;
		if (i > 0)
		{
			DdirRef		before = ddir_batch_key(b, i - 1, &room_before);
			DdirRef		val_before = ddir_batch_val(b, i - 1);
			int			c = (b->hash[i - 1] > b->hash[i]) - (b->hash[i - 1] < b->hash[i]);

			keys += c != 0;
			if (c == 0)
				c = ddir_bytes_cmp(before.p, before.len, key.p, key.len);
			if (c == 0)
				c = ddir_bytes_cmp(val_before.p, val_before.len, val.p, val.len);
			if (c == 0)
				c = ddir_time_cmp(ddir_batch_time(b, i - 1), t, b->coords);
			ordered &= c < 0;
		}
		else
		{
			keys = 1;
			memcpy(least.c, t, b->coords * sizeof(uint64_t));
			most = newest = least;
		}
		ddir_time_meet(least.c, t, least.c, b->coords);
		ddir_time_join(most.c, t, most.c, b->coords);
		if (ddir_time_cmp(t, newest.c, b->coords) > 0)
			memcpy(newest.c, t, b->coords * sizeof(uint64_t));
		times &= !ddir_frontier_beyond(&b->upper, t) || b->since.n == 0 ||
			ddir_frontier_beyond(&b->since, t);

		ddir_batch_prefetch(b, b->hash[i]);
		start = ddir_batch_find(b, b->hash[i], key.p, key.len, &end);
		found &= start <= i && i < end && ddir_batch_key_end(b, i) == end;
	}
	CHECK(ordered);
	CHECK(found);
	CHECK(times);
	if (b->n > 0)
	{
		CHECK_EQ(b->keys, keys);
		CHECK(ddir_time_cmp(b->least.c, least.c, b->coords) == 0);
		CHECK(ddir_time_cmp(b->most.c, most.c, b->coords) == 0);
		CHECK(ddir_time_cmp(b->newest.c, newest.c, b->coords) == 0);
	}
	CHECK(b->time == NULL || ddir_time_cmp(least.c, most.c, b->coords) != 0);
}

#endif							/* DDIR_ORACLE_H */
