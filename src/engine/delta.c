/*-------------------------------------------------------------------------
 *
 * delta.c
 *	  Runs of deltas: their lanes, consolidation, and functions over them.
 *
 * Lanes double when short, so appending is constant time; the fast part of it
 * is inline in delta.h.  Hashing of odd keys is here too: the one place that
 * includes xxHash.
 *
 * Limits: 2^31 - 1 rows and 4 GB a lane; beyond, DDIR_ERROR_MEMORY.
 *
 * src/engine/delta.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/delta.h"
#include "engine/order.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define ROWS_MIN 16
#define BYTES_MIN 256

void
ddir_deltas_init(DdirDeltas *d, DdirArena *arena, int coords, bool keyed)
{
	ddir_check(coords >= 1 && coords <= DDIR_COORDS_MAX);

	memset(d, 0, sizeof(*d));
	d->arena = arena;
	d->coords = coords;
	d->keyed = keyed;
}

void
ddir_deltas_clear(DdirDeltas *d)
{
	d->n = 0;
	d->key.len = 0;
	d->val.len = 0;
	d->time = NULL;
}

void
ddir_deltas_truncate(DdirDeltas *d, uint32_t n)
{
	ddir_assert(n <= d->n);
	if (n == 0)
	{
		ddir_deltas_clear(d);
		return;
	}
	d->n = n;
	d->val.len = d->val.off[n];
	if (d->keyed)
		d->key.len = d->key.off[n];
}

static void
free_lanes(DdirDeltas *d)
{
	ddir_free(d->hash);
	ddir_free(d->key.bytes);
	ddir_free(d->key.off);
	ddir_free(d->val.bytes);
	ddir_free(d->val.off);
	ddir_free(d->diff);
	ddir_free(d->time_room);
	ddir_free(d->from);
}

void
ddir_deltas_free(DdirDeltas *d)
{
	DdirDeltas	empty = {.arena = d->arena,.coords = d->coords,
	.keyed = d->keyed,.tracked = d->tracked,.at = d->at};

	free_lanes(d);
	*d = empty;
}

size_t
ddir_deltas_bytes(const DdirDeltas *d)
{
	size_t		row = sizeof(uint32_t) + sizeof(int64_t);

	if (d->hash)
		row += sizeof(uint64_t);
	if (d->keyed)
		row += sizeof(uint32_t);
	if (d->time_room)
		row += d->coords * sizeof(uint64_t);
	if (d->from)
		row += sizeof(uint32_t);
	return d->cap * row + d->key.cap + d->val.cap;
}

void
ddir_lane_grow(DdirArena *arena, DdirLane *lane, size_t more)
{
	size_t		cap = lane->len + more;

	if (cap > UINT32_MAX)
		ddir_error(DDIR_ERROR_MEMORY, "a run of rows exceeds 4 GB");
	if (cap < 2 * lane->cap)
		cap = 2 * lane->cap;
	if (cap < BYTES_MIN)
		cap = BYTES_MIN;
	if (cap > UINT32_MAX)
		cap = UINT32_MAX;
	lane->bytes = ddir_realloc(arena, lane->bytes, cap);
	lane->cap = cap;
}

void
ddir_bytes_put(DdirBytes *to, const void *p, size_t len)
{
	if (to->cap - to->len < len)
	{
		size_t		cap = 2 * to->cap < to->len + len ? to->len + len : 2 * to->cap;

		to->p = ddir_realloc(to->arena, to->p, cap);
		to->cap = cap;
	}
	if (len > 0)
		memcpy(to->p + to->len, p, len);
	to->len += len;
}

static void
grow_offsets(DdirArena *arena, DdirLane *lane, uint32_t cap)
{
	bool		fresh = lane->off == NULL;

	lane->off = ddir_realloc(arena, lane->off, ((size_t) cap + 1) * sizeof(uint32_t));
	if (fresh)
		lane->off[0] = 0;
}

static void *
grow_lane(DdirDeltas *d, void *lane, uint32_t cap, size_t width)
{
	return ddir_realloc(d->arena, lane, cap * width);
}

/*
 * Room for more rows, in every lane in use.  cap is raised last: a lane that
 * could not grow leaves the run as it was.
 */
void
ddir_deltas_grow(DdirDeltas *d, uint32_t more)
{
	uint64_t	cap = (uint64_t) d->n + more;

	if (cap > INT32_MAX)
		ddir_error(DDIR_ERROR_MEMORY, "a run of deltas exceeds 2^31 rows");
	if (cap < d->cap)
		cap = d->cap;
	else if (cap > d->cap && cap < 2 * (uint64_t) d->cap)
		cap = 2 * (uint64_t) d->cap;
	if (cap < ROWS_MIN)
		cap = ROWS_MIN;
	if (cap > INT32_MAX)
		cap = INT32_MAX;

	grow_offsets(d->arena, &d->val, cap);
	d->diff = grow_lane(d, d->diff, cap, sizeof(int64_t));
	if (d->keyed)
		grow_offsets(d->arena, &d->key, cap);
	if (d->keyed || d->hash)
		d->hash = grow_lane(d, d->hash, cap, sizeof(uint64_t));
	if (d->time_room)
	{
		d->time_room = grow_lane(d, d->time_room, cap, d->coords * sizeof(uint64_t));
		if (d->time)
			d->time = d->time_room;
	}
	if (d->tracked || d->from)
		d->from = grow_lane(d, d->from, cap, sizeof(uint32_t));
	d->cap = cap;
}

void
ddir_deltas_spread_time(DdirDeltas *d)
{
	if (d->time)
		return;
	if (d->time_room == NULL)
	{
		if (d->cap == 0)
			ddir_deltas_grow(d, 0);
		d->time_room = grow_lane(d, NULL, d->cap, d->coords * sizeof(uint64_t));
	}
	d->time = d->time_room;
	for (uint32_t i = 0; i < d->n; i++)
		for (int c = 0; c < d->coords; c++)
			d->time[(size_t) i * d->coords + c] = d->at.c[c];
}

void
ddir_deltas_set_time(DdirDeltas *d, uint32_t i, const uint64_t *t)
{
	ddir_deltas_spread_time(d);
	for (int c = 0; c < d->coords; c++)
		d->time[(size_t) i * d->coords + c] = t[c];
}

static void
append_lane(DdirArena *arena, DdirLane *lane, uint32_t n, const DdirLane *src, uint32_t more)
{
	uint32_t	base = (uint32_t) lane->len;

	if (lane->cap - lane->len < src->len)
		ddir_lane_grow(arena, lane, src->len);
	if (src->len > 0)
		memcpy(lane->bytes + lane->len, src->bytes, src->len);
	lane->len += src->len;
	for (uint32_t i = 1; i <= more; i++)
		lane->off[n + i] = base + src->off[i];
}

void
ddir_deltas_append(DdirDeltas *d, const DdirDeltas *src)
{
	ddir_check(d->coords == src->coords);
	ddir_check(!d->keyed || src->keyed);
	ddir_assert(d != src);

	if (src->n == 0)
		return;
	if (d->n == 0 && d->time == NULL)
		d->at = src->at;
	if (d->cap - d->n < src->n || (d->tracked && d->from == NULL))
		ddir_deltas_grow(d, src->n);
	if (d->time == NULL &&
		(src->time || ddir_time_cmp(d->at.c, src->at.c, d->coords) != 0))
		ddir_deltas_spread_time(d);

	append_lane(d->arena, &d->val, d->n, &src->val, src->n);
	memcpy(d->diff + d->n, src->diff, src->n * sizeof(int64_t));
	if (d->keyed)
	{
		append_lane(d->arena, &d->key, d->n, &src->key, src->n);
		memcpy(d->hash + d->n, src->hash, src->n * sizeof(uint64_t));
	}
	if (d->time)
		for (uint32_t i = 0; i < src->n; i++)
		{
			const uint64_t *t = ddir_deltas_time(src, i);

			for (int c = 0; c < d->coords; c++)
				d->time[((size_t) d->n + i) * d->coords + c] = t[c];
		}
	if (d->tracked)
	{
		if (src->from && src->tracked)
			memcpy(d->from + d->n, src->from, src->n * sizeof(uint32_t));
		else
			memset(d->from + d->n, 0, src->n * sizeof(uint32_t));
	}
	d->n += src->n;
}

/* The eight bytes of an item's key or val, which are not gathered. */
static inline uint64_t
item_word(const DdirOrderItem *item, bool key)
{
	return key ? ddir_key_unmix(item->hash) : ddir_order_word(item);
}

static void
gather_lane(DdirDeltas *to, DdirLane *lane, const DdirLane *src, const DdirOrder *o, bool key)
{
	bool		words = (key ? o->key_width : o->val_width) == sizeof(uint64_t);
	size_t		len = 0;

	grow_offsets(to->arena, lane, to->cap);
	for (uint32_t i = 0; i < o->n; i++)
	{
		len += words ? sizeof(uint64_t) : ddir_lane_ref(src, o->item[i].i).len;
		lane->off[i + 1] = (uint32_t) len;
	}
	lane->cap = len > BYTES_MIN ? len : BYTES_MIN;
	lane->bytes = ddir_alloc(to->arena, lane->cap);
	lane->len = len;
	if (words)
		for (uint32_t i = 0; i < o->n; i++)
		{
			uint64_t	word = item_word(&o->item[i], key);

			memcpy(lane->bytes + i * sizeof(word), &word, sizeof(word));
		}
	else
		for (uint32_t i = 0; i < o->n; i++)
		{
			DdirRef		r = ddir_lane_ref(src, o->item[i].i);

			if (r.len > 0)
				memcpy(lane->bytes + lane->off[i], r.p, r.len);
		}
}

void
ddir_deltas_consolidate(DdirDeltas *d)
{
	DdirOrder	o;
	DdirDeltas	to;

	if (d->n == 0)
		return;
	ddir_order_make(&o, d);
	ddir_deltas_init(&to, d->arena, d->coords, d->keyed);
	to.tracked = d->tracked;
	to.at = d->at;
	to.n = o.n;
	to.cap = o.n > ROWS_MIN ? o.n : ROWS_MIN;
	to.hash = grow_lane(&to, NULL, to.cap, sizeof(uint64_t));
	to.diff = grow_lane(&to, NULL, to.cap, sizeof(int64_t));
	for (uint32_t i = 0; i < o.n; i++)
	{
		to.hash[i] = o.item[i].hash;
		to.diff[i] = o.diff ? o.diff[i] : 1;
	}
	if (d->keyed)
		gather_lane(&to, &to.key, &d->key, &o, true);
	gather_lane(&to, &to.val, &d->val, &o, false);
	if (d->time)
	{
		bool		all_at = true;

		to.time_room = grow_lane(&to, NULL, to.cap, to.coords * sizeof(uint64_t));
		for (uint32_t i = 0; i < o.n; i++)
		{
			const uint64_t *t = ddir_deltas_time(d, o.item[i].i);

			for (int c = 0; c < to.coords; c++)
				to.time_room[(size_t) i * to.coords + c] = t[c];
			all_at &= ddir_time_cmp(t, to.at.c, to.coords) == 0;
		}
		if (!all_at)
			to.time = to.time_room;
	}
	if (d->tracked && d->from)
	{
		to.from = grow_lane(&to, NULL, to.cap, sizeof(uint32_t));
		for (uint32_t i = 0; i < o.n; i++)
			to.from[i] = d->from[o.item[i].i];
	}
	ddir_order_free(&o);
	free_lanes(d);
	*d = to;
}

void
ddir_deltas_split(DdirDeltas *d, const DdirFrontier *upper,
				  DdirDeltas *rest, DdirFrontier *held)
{
	DdirDeltas	keep;

	ddir_check(d->coords == rest->coords && d->keyed == rest->keyed);
	ddir_check(upper->coords == d->coords && held->coords == d->coords);

	ddir_deltas_consolidate(d);
	held->n = 0;
	ddir_deltas_init(&keep, d->arena, d->coords, d->keyed);
	keep.at = d->at;
	for (uint32_t i = 0; i < d->n; i++)
	{
		const uint64_t *t = ddir_deltas_time(d, i);
		bool		later = ddir_frontier_beyond(upper, t);
		DdirRef		key = {NULL, 0};
		DdirRef		val = ddir_lane_ref(&d->val, i);

		if (d->keyed)
			key = ddir_lane_ref(&d->key, i);
		if (later)
			ddir_frontier_insert(held, t);
		ddir_deltas_push(later ? rest : &keep, key.p, key.len, val.p, val.len,
						 t, d->diff[i]);
	}
	free_lanes(d);
	*d = keep;
}

uint64_t
ddir_hash_bytes(const void *p, uint32_t len)
{
	return XXH3_64bits(p, len);
}

void
ddir_func_call(const DdirFunc *f, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	if (!f->call(f->ctx, in, out, err))
		ddir_error(DDIR_ERROR_CALLBACK, "a function failed");
}

static void
take_at(DdirDeltas *d, const DdirDeltas *in)
{
	if (d->n == 0 && d->time == NULL)
		d->at = in->at;
}

/* Rows from "first" on were made from a chunk that began at row "base". */
static void
shift_from(DdirDeltas *d, uint32_t first, uint32_t base)
{
	if (d->tracked)
		for (uint32_t i = first; i < d->n; i++)
			d->from[i] += base;
}

void
ddir_func_apply(const DdirFunc *f, const DdirDeltas *in, DdirDeltas *out, DdirDeltas *err)
{
	uint32_t	room = in->n < DDIR_CHUNK_ROWS ? in->n : DDIR_CHUNK_ROWS;
	DdirRef    *ref;
	const DdirRef *refs[1];

	if (in->n == 0)
		return;
	take_at(out, in);
	take_at(err, in);
	ref = ddir_alloc(out->arena, room * sizeof(DdirRef));
	refs[0] = ref;
	for (uint32_t base = 0; base < in->n; base += room)
	{
		uint32_t	nout = out->n;
		uint32_t	nerr = err->n;
		DdirBundle	b = {.nrel = 1,.coords = in->coords,.ref = refs,
		.diff = in->diff + base,.at = in->at.c};

		b.n = in->n - base < room ? in->n - base : room;
		if (in->time)
			b.time = in->time + (size_t) base * in->coords;
		for (uint32_t i = 0; i < b.n; i++)
			ref[i] = ddir_lane_ref(&in->val, base + i);
		ddir_func_call(f, &b, out, err);
		shift_from(out, nout, base);
		shift_from(err, nerr, base);
	}
	ddir_free(ref);
}
