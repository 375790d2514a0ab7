/*-------------------------------------------------------------------------
 *
 * batch.c
 *	  Batches: building them from runs of deltas, and finding keys in them.
 *
 * A lookup costs about one miss of the cache in the directory, one in the
 * hash lane and one in the val lane.  Hashes are spread evenly, so a slot of
 * the directory holds a key or two whatever the keys are; within it hashes
 * are counted rather than searched, which has no branches to mispredict.
 *
 * Directories have about two slots a key, so that most keys are alone in
 * theirs, but take no more than 4 bytes a row.  Small batches, of which a
 * trace has several, may take 8: for most keys looked up they have nothing,
 * and an empty slot says so at once.
 *
 * Memory: lanes are exact, in the batch's own arena.
 *
 * src/engine/batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/batch.h"
#include "engine/order.h"

/* Without a directory up to here. */
#define DIR_ROWS_MIN 32
/* Batches of less rows are small: see above. */
#define DIR_ROWS_SMALL 65536
/* Smaller batches are in the cache anyway, having been made lately. */
#define PREFETCH_BYTES_MIN (128 * 1024)
/* Hashes are counted in ranges up to this, searched in longer ones. */
#define COUNT_MAX 48

DdirBatch *
ddir_batch_create(DdirArena *arena, int coords, const DdirFrontier *lower,
				  const DdirFrontier *upper)
{
	DdirArena  *own;
	DdirBatch  *b;

	ddir_check(lower->coords == coords && upper->coords == coords);

	own = ddir_arena_create(arena, "batch");
	b = ddir_alloc0(own, sizeof(DdirBatch));
	b->arena = own;
	b->refs = 1;
	b->coords = coords;
	b->mixed = true;			/* no row says otherwise */
	ddir_frontier_init(&b->lower, own, coords);
	ddir_frontier_copy(&b->lower, lower);
	ddir_frontier_init(&b->upper, own, coords);
	ddir_frontier_copy(&b->upper, upper);
	ddir_frontier_init_least(&b->since, own, coords);
	return b;
}

void
ddir_batch_ref(DdirBatch *b)
{
	ddir_assert(b->refs > 0);
	b->refs++;
}

void
ddir_batch_unref(DdirBatch *b)
{
	ddir_assert(b->refs > 0);
	if (--b->refs == 0)
	{
		if (b->lanes)
			ddir_batch_unref(b->lanes);
		ddir_arena_destroy(b->arena);
	}
}

/*
 * a and b are adjacent and one of them is empty: the other with the bounds of
 * both.  It shares the lanes, and keeps the batch alive that has them.
 */
DdirBatch *
ddir_batch_widen(DdirArena *arena, DdirBatch *a, DdirBatch *b)
{
	DdirBatch  *full = a->n > 0 ? a : b;
	DdirBatch  *wide = ddir_batch_create(arena, a->coords, &a->lower, &b->upper);
	DdirBatch	lanes = *full;

	ddir_check(a->n == 0 || b->n == 0);
	ddir_check(ddir_frontier_equal(&a->upper, &b->lower));

	ddir_frontier_copy(&wide->since, &full->since);
	if (full->n == 0)
	{
		ddir_batch_close(wide, 0);
		return wide;
	}
	lanes.arena = wide->arena;
	lanes.refs = 1;
	lanes.lanes = full->lanes ? full->lanes : full;
	lanes.lower = wide->lower;
	lanes.upper = wide->upper;
	lanes.since = wide->since;
	*wide = lanes;
	ddir_batch_ref(wide->lanes);
	return wide;
}

size_t
ddir_batch_bytes(const DdirBatch *b)
{
	return b->bytes;
}

/* ----
 * The directory: dir[s] is the first row whose hash is in slot s or above, so
 * dir[s + 1] is the end of slot s.
 *
 * Rows are entered without branches: each writes itself as the end of its
 * slot, and slots without rows then take the end of the one before.
 * ----
 */

void
ddir_batch_dir_create(DdirBatch *b, uint32_t n, uint32_t keys)
{
	uint32_t	most;
	uint32_t	slots;
	int			bits;

	if (n < DIR_ROWS_MIN)
		return;
	most = n < DIR_ROWS_SMALL ? n : n / 2;
	slots = keys < most / 2 ? 2 * keys : most;
	bits = slots < 2 ? 1 : 32 - __builtin_clz(slots - 1);
	b->dir_bits = bits;
	b->dir = ddir_alloc(b->arena, (((size_t) 1 << bits) + 1) * sizeof(uint32_t));
	b->dir[0] = 0;
	b->dir[1] = 0;
}

static inline uint32_t
slot_of(const DdirBatch *b, uint32_t i)
{
	return (uint32_t) (b->hash[i] >> (64 - b->dir_bits));
}

/* How many of rows from .. to - 1 have another hash than the row before. */
static uint32_t
count_keys(const DdirBatch *b, uint32_t from, uint32_t to)
{
	uint32_t	keys = from == 0 && to > 0;

	for (uint32_t i = from > 1 ? from : 1; i < to; i++)
		keys += b->hash[i] != b->hash[i - 1];
	return keys;
}

void
ddir_batch_dir_enter(DdirBatch *b, uint32_t from, uint32_t to, uint32_t *slot)
{
	uint32_t   *end = b->dir + 1;
	uint32_t	s = *slot;
	int			shift = 64 - b->dir_bits;
	uint32_t	keys = 0;
	uint64_t	before;
	uint32_t	last;
	uint32_t	most;

	if (b->dir == NULL || from == to)
	{
		b->keys += count_keys(b, from, to);
		return;
	}
	last = slot_of(b, to - 1);
	memset(end + s + 1, 0, (last - s) * sizeof(uint32_t));
	before = from > 0 ? b->hash[from - 1] : ~b->hash[0];
	for (uint32_t i = from; i < to; i++)
	{
		uint64_t	hash = b->hash[i];

		keys += hash != before;
		before = hash;
		end[hash >> shift] = i + 1;
	}
	b->keys += keys;
	most = end[s];
	for (uint32_t k = s + 1; k < last; k++)
	{
		most = end[k] > most ? end[k] : most;
		end[k] = most;
	}
	*slot = last;
}

/*
 * The same for rows that were copied from another batch, from row "start" on:
 * a directory of the same size knows all but the ends.
 */
void
ddir_batch_dir_copy(DdirBatch *b, uint32_t from, uint32_t to, uint32_t *slot,
					const DdirBatch *src, uint32_t start)
{
	uint32_t   *end = b->dir + 1;
	uint32_t	s = *slot;
	uint32_t	first;
	uint32_t	last;

	if (b->dir == NULL || src->dir == NULL || b->dir_bits != src->dir_bits || from == to)
	{
		ddir_batch_dir_enter(b, from, to, slot);
		return;
	}
	b->keys += count_keys(b, from, to);
	first = slot_of(b, from);
	last = slot_of(b, to - 1);
	for (uint32_t k = s + 1; k < first; k++)
		end[k] = from;
	for (uint32_t k = first; k < last; k++)
		end[k] = src->dir[k + 1] - start + from;
	end[last] = to;
	*slot = last;
}

static size_t
column_bytes(const DdirColumn *c, uint32_t n)
{
	if (c->off)
		return c->off[n] + ((size_t) n + 1) * sizeof(uint32_t);
	return (size_t) c->width * n;
}

void
ddir_batch_close(DdirBatch *b, uint32_t slot)
{
	size_t		n = b->n;

	b->bytes = sizeof(DdirBatch) + n * sizeof(uint64_t) + column_bytes(&b->val, b->n);
	if (!b->mixed)
		b->bytes += column_bytes(&b->key, b->n);
	if (b->time)
		b->bytes += n * b->coords * sizeof(uint64_t);
	b->bytes += n * (b->diff8 ? 1 : b->diff ? sizeof(int64_t) : 0);
	if (b->dir)
	{
		uint32_t	slots = (uint32_t) 1 << b->dir_bits;

		for (uint32_t s = slot + 2; s <= slots; s++)
			b->dir[s] = b->n;
		b->bytes += ((size_t) slots + 1) * sizeof(uint32_t);
	}
}

/* ----
 * Building.
 * ----
 */

static void
gather_fixed(DdirBatch *b, DdirColumn *c, const DdirLane *src, const DdirOrder *o)
{
	size_t		width = c->width;

	c->bytes = ddir_alloc(b->arena, width * o->n);
	if (width == 16)
		for (uint32_t i = 0; i < o->n; i++)
			memcpy(c->bytes + i * (size_t) 16, src->bytes + o->item[i].i * (size_t) 16, 16);
	else if (width > 0)
		for (uint32_t i = 0; i < o->n; i++)
			memcpy(c->bytes + i * width, src->bytes + o->item[i].i * width, width);
}

/* Vals of eight bytes are in the items. */
static void
gather_words(DdirBatch *b, DdirColumn *c, const DdirOrder *o)
{
	c->bytes = ddir_alloc(b->arena, o->n * sizeof(uint64_t));
	for (uint32_t i = 0; i < o->n; i++)
	{
		uint64_t	word = ddir_order_word(&o->item[i]);

		memcpy(c->bytes + i * sizeof(word), &word, sizeof(word));
	}
}

static void
gather_varied(DdirBatch *b, DdirColumn *c, const DdirLane *src, const DdirOrder *o)
{
	uint32_t	len = 0;

	c->off = ddir_alloc(b->arena, ((size_t) o->n + 1) * sizeof(uint32_t));
	c->off[0] = 0;
	for (uint32_t i = 0; i < o->n; i++)
	{
		len += ddir_lane_ref(src, o->item[i].i).len;
		c->off[i + 1] = len;
	}
	c->bytes = ddir_alloc(b->arena, len);
	for (uint32_t i = 0; i < o->n; i++)
	{
		DdirRef		r = ddir_lane_ref(src, o->item[i].i);

		if (r.len > 0)
			memcpy(c->bytes + c->off[i], r.p, r.len);
	}
}

static void
gather_key(DdirBatch *b, const DdirLane *src, const DdirOrder *o)
{
	b->mixed = o->key_width == sizeof(uint64_t);
	if (b->mixed)
		return;
	if (o->key_width >= 0)
	{
		b->key.width = (uint32_t) o->key_width;
		gather_fixed(b, &b->key, src, o);
	}
	else
		gather_varied(b, &b->key, src, o);
}

static void
gather_val(DdirBatch *b, const DdirLane *src, const DdirOrder *o)
{
	b->val.width = o->val_width >= 0 ? (uint32_t) o->val_width : 0;
	if (o->val_width == sizeof(uint64_t))
		gather_words(b, &b->val, o);
	else if (o->val_width >= 0)
		gather_fixed(b, &b->val, src, o);
	else
		gather_varied(b, &b->val, src, o);
}

static void
gather_times(DdirBatch *b, const DdirDeltas *rows, const DdirOrder *o)
{
	size_t		width = b->coords * sizeof(uint64_t);
	const uint64_t *first = ddir_deltas_time(rows, o->item[0].i);

	memcpy(b->at.c, first, width);
	b->newest = b->least = b->most = b->at;
	if (rows->time == NULL)
		return;
	for (uint32_t i = 1; i < o->n; i++)
	{
		const uint64_t *t = ddir_deltas_time(rows, o->item[i].i);

		if (ddir_time_cmp(t, b->newest.c, b->coords) > 0)
			memcpy(b->newest.c, t, width);
		ddir_time_meet(b->least.c, t, b->least.c, b->coords);
		ddir_time_join(b->most.c, t, b->most.c, b->coords);
	}
	if (ddir_time_cmp(b->least.c, b->most.c, b->coords) == 0)
		return;
	b->time = ddir_alloc(b->arena, o->n * width);
	for (uint32_t i = 0; i < o->n; i++)
		memcpy(b->time + (size_t) i * b->coords, ddir_deltas_time(rows, o->item[i].i), width);
}

static void
gather_diffs(DdirBatch *b, const DdirOrder *o)
{
	bool		small = true;

	if (o->diff == NULL)
		return;
	for (uint32_t i = 0; i < o->n; i++)
		small &= o->diff[i] == (int8_t) o->diff[i];
	if (small)
	{
		int64_t		other = 0;

		b->diff8 = ddir_alloc(b->arena, o->n);
		for (uint32_t i = 0; i < o->n; i++)
		{
			b->diff8[i] = (int8_t) o->diff[i];
			other |= o->diff[i] ^ 1;
		}
		if (other == 0)
		{
			ddir_free(b->diff8);
			b->diff8 = NULL;
		}
		return;
	}
	b->diff = ddir_alloc(b->arena, o->n * sizeof(int64_t));
	memcpy(b->diff, o->diff, o->n * sizeof(int64_t));
}

/*
 * Rows outside [lower, upper) would be counted twice or never, so they are an
 * error, not an assertion; for one coordinate the test is of two numbers.
 */
static void
check_times(const DdirBatch *b)
{
	if (b->time == NULL || b->coords == 1)
	{
		ddir_check(ddir_frontier_beyond(&b->lower, b->least.c));
		ddir_check(!ddir_frontier_beyond(&b->upper, b->most.c));
		return;
	}
	for (uint32_t i = 0; i < b->n; i++)
	{
		const uint64_t *t = ddir_batch_time(b, i);

		ddir_check(ddir_frontier_beyond(&b->lower, t));
		ddir_check(!ddir_frontier_beyond(&b->upper, t));
	}
}

DdirBatch *
ddir_batch_build(DdirArena *arena, DdirDeltas *rows,
				 const DdirFrontier *lower, const DdirFrontier *upper)
{
	DdirBatch  *b = ddir_batch_create(arena, rows->coords, lower, upper);
	DdirOrder	o;
	uint32_t	slot = 0;

	ddir_check(rows->keyed);
	ddir_check(ddir_frontier_le(lower, upper));

	ddir_order_make(&o, rows);
	b->mixed = true;
	if (o.n > 0)
	{
		b->n = o.n;
		b->hash = ddir_alloc(b->arena, o.n * sizeof(uint64_t));
		for (uint32_t i = 0; i < o.n; i++)
			b->hash[i] = o.item[i].hash;
		gather_key(b, &rows->key, &o);
		gather_val(b, &rows->val, &o);
		gather_times(b, rows, &o);
		gather_diffs(b, &o);
		check_times(b);
		ddir_batch_dir_create(b, o.n, o.keys);
		ddir_batch_dir_enter(b, 0, o.n, &slot);
	}
	ddir_batch_close(b, slot);
	ddir_order_free(&o);
	ddir_deltas_clear(rows);
	return b;
}

/* ----
 * Finding.
 * ----
 */

/* First of lo..hi-1 with hash >= h, or > h where "above". */
static uint32_t
search_hash(const uint64_t *hash, uint32_t lo, uint32_t hi, uint64_t h, bool above)
{
	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;

		if (hash[mid] < h || (above && hash[mid] == h))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* First of lo..hi-1 with key >= the one given, or >; all of one hash. */
static uint32_t
search_key(const DdirBatch *b, uint32_t lo, uint32_t hi,
		   const void *key, uint32_t keylen, bool above)
{
	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;
		DdirRef		r = ddir_column_ref(&b->key, mid);
		int			c = ddir_bytes_cmp(r.p, r.len, key, keylen);

		if (c < 0 || (above && c == 0))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
key_is(const DdirBatch *b, uint32_t i, const void *key, uint32_t keylen)
{
	DdirRef		r = ddir_column_ref(&b->key, i);

	return r.len == keylen && (keylen == 0 || memcmp(r.p, key, keylen) == 0);
}

/* What find does in a slot that has rows. */
uint32_t
ddir_batch_search(const DdirBatch *b, uint32_t lo, uint32_t hi, uint64_t hash,
				  const void *key, uint32_t keylen, uint32_t *end)
{
	if (b->hash[lo] == hash && b->hash[hi - 1] == hash)
		;						/* the key is alone in its slot */
	else if (hi - lo <= COUNT_MAX)
	{
		uint32_t	less = 0;
		uint32_t	equal = 0;

		for (uint32_t i = lo; i < hi; i++)
		{
			less += b->hash[i] < hash;
			equal += b->hash[i] == hash;
		}
		lo += less;
		hi = lo + equal;
	}
	else
	{
		lo = search_hash(b->hash, lo, hi, hash, false);
		hi = search_hash(b->hash, lo, hi, hash, true);
	}

	if (lo == hi)
		;
	else if (b->mixed)
	{
		if (keylen != sizeof(uint64_t))
			hi = lo;
	}
	else if (!key_is(b, lo, key, keylen) || !key_is(b, hi - 1, key, keylen))
	{
		/* other keys have this hash too */
		lo = search_key(b, lo, hi, key, keylen, false);
		hi = search_key(b, lo, hi, key, keylen, true);
	}
	*end = hi;
	return lo;
}

void
ddir_batch_prefetch(const DdirBatch *b, uint64_t hash)
{
	uint32_t	lo;
	uint32_t	hi;

	if (b->bytes < PREFETCH_BYTES_MIN || b->dir == NULL)
		return;
	ddir_batch_slot(b, hash, &lo, &hi);
	if (lo == hi)
		return;
	__builtin_prefetch(b->hash + lo);
	__builtin_prefetch(b->hash + hi - 1);
	if (b->val.off)
		__builtin_prefetch(b->val.off + lo);
	else
	{
		__builtin_prefetch(b->val.bytes + (size_t) b->val.width * lo);
		__builtin_prefetch(b->val.bytes + (size_t) b->val.width * hi - 1);
	}
}

uint32_t
ddir_batch_key_end(const DdirBatch *b, uint32_t i)
{
	uint64_t	hash = b->hash[i];
	uint32_t	end = i + 1;
	uint32_t	lo;
	uint32_t	hi;

	ddir_assert(i < b->n);

	/* short keys by looking, long ones within their slot */
	while (end < b->n && end < i + COUNT_MAX && b->hash[end] == hash)
		end++;
	if (end == i + COUNT_MAX)
	{
		ddir_batch_slot(b, hash, &lo, &hi);
		end = search_hash(b->hash, end, hi, hash, true);
	}
	if (!b->mixed && end > i + 1)
	{
		DdirRef		key = ddir_column_ref(&b->key, i);

		if (!key_is(b, end - 1, key.p, key.len))
			end = search_key(b, i, end, key.p, key.len, true);
	}
	return end;
}
