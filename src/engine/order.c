/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Consolidated order of a run: radix sort on hash and val, then the rest.
 *
 * Sorting is bound by memory, so rows are moved far only once: a large run is
 * dealt out by the high bits of the hash into buckets that fit the cache, and
 * each is finished there.  Hashes are spread evenly, so in a bucket one more
 * digit leaves a row or two, or the rows of one key, which a few comparisons
 * without branches put in order.
 *
 * The sort key is 128 bits: the hash, then the first eight bytes of the val.
 * Digits start at the highest bit in which two rows differ, so equal bits are
 * never looked at and many rows of one key are sorted by their vals directly.
 *
 * What is equal in both is compared as rows, where more is to be said: longer
 * vals, times.  Rows of one hash but different keys are compared altogether.
 *
 * src/engine/order.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/order.h"

/* Up to here rows are ranked by comparing all pairs. */
#define SMALL 16
/* Widest digit: its counters fit the first-level cache. */
#define DIGIT_BITS 11
/* Runs above this are dealt into buckets of about 2^BUCKET_BITS first. */
#define DEAL_ROWS 4096
#define BUCKET_BITS 9

/* What the run's lanes allow to leave out. */
typedef struct Shape
{
	const DdirDeltas *d;
	bool		keys_by_hash;	/* equal hashes mean equal keys */
	bool		vals_by_prefix; /* equal prefixes mean equal vals */
} Shape;

static inline int
bits_of(uint64_t x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

/* By hash and prefix; without branches, as there is no telling. */
static inline uint32_t
item_less(const DdirOrderItem *x, const DdirOrderItem *y)
{
	return (x->hash < y->hash) | ((x->hash == y->hash) & (x->prefix < y->prefix));
}

/*
 * Sort n <= SMALL items from a to b, which may be the same: an item's place is
 * the number of those before it.
 */
static void
rank_sort(const DdirOrderItem *a, DdirOrderItem *b, uint32_t n)
{
	DdirOrderItem x[SMALL];
	uint32_t	rank[SMALL];

	for (uint32_t i = 0; i < n; i++)
	{
		x[i] = a[i];
		rank[i] = 0;
	}
	for (uint32_t i = 1; i < n; i++)
	{
		uint32_t	r = 0;

		for (uint32_t j = 0; j < i; j++)
		{
			uint32_t	less = item_less(&x[i], &x[j]);

			rank[j] += less;
			r += 1 - less;
		}
		rank[i] = r;
	}
	for (uint32_t i = 0; i < n; i++)
		b[rank[i]] = x[i];
}

/* Where the digit of a sort key is: the highest bits that vary. */
typedef struct Digit
{
	bool		of_hash;
	int			shift;
	int			bits;
} Digit;

static inline uint32_t
digit_of(const Digit *d, const DdirOrderItem *x)
{
	uint64_t	k = d->of_hash ? x->hash : x->prefix;

	return (k >> d->shift) & ((UINT32_C(1) << d->bits) - 1);
}

/* False: all are equal. */
static bool
find_digit(const DdirOrderItem *a, uint32_t n, Digit *d)
{
	uint64_t	hash = 0;
	uint64_t	prefix = 0;
	int			top;

	for (uint32_t i = 1; i < n; i++)
	{
		hash |= a[i].hash ^ a[0].hash;
		prefix |= a[i].prefix ^ a[0].prefix;
	}
	d->of_hash = hash != 0;
	top = bits_of(hash ? hash : prefix);
	d->bits = bits_of(n) - 1;
	if (d->bits > DIGIT_BITS)
		d->bits = DIGIT_BITS;
	if (d->bits > top)
		d->bits = top;
	d->shift = top - d->bits;
	return top > 0;
}

/* Turn counts into places: those of digit k begin at count[k]. */
static void
counts_to_places(uint32_t *count, uint32_t n)
{
	uint32_t	sum = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	c = count[i];

		count[i] = sum;
		sum += c;
	}
}

/* Sort n items in a; the result is in b if "over", else in a. */
static void
radix_sort(DdirOrderItem *a, DdirOrderItem *b, uint32_t n, bool over)
{
	uint32_t	place[1 << DIGIT_BITS];
	uint32_t	start = 0;
	uint32_t	slots;
	Digit		d;

	if (n <= SMALL)
	{
		rank_sort(a, over ? b : a, n);
		return;
	}
	if (!find_digit(a, n, &d))
	{
		if (over)
			memcpy(b, a, n * sizeof(*a));
		return;
	}
	slots = UINT32_C(1) << d.bits;
	memset(place, 0, slots * sizeof(place[0]));
	for (uint32_t i = 0; i < n; i++)
		place[digit_of(&d, &a[i])]++;
	counts_to_places(place, slots);
	for (uint32_t i = 0; i < n; i++)
		b[place[digit_of(&d, &a[i])]++] = a[i];

	for (uint32_t k = 0; k < slots; k++)
	{
		uint32_t	end = place[k];

		if (end - start > 1)
			radix_sort(b + start, a + start, end - start, !over);
		else if (end > start && !over)
			a[start] = b[start];
		start = end;
	}
}

/* Compare rows of one hash: key, val, time. */
static int
compare_rows(const Shape *s, uint32_t i, uint32_t j)
{
	const DdirDeltas *d = s->d;
	int			c = 0;

	if (!s->keys_by_hash)
	{
		DdirRef		x = ddir_lane_ref(&d->key, i);
		DdirRef		y = ddir_lane_ref(&d->key, j);

		c = ddir_bytes_cmp(x.p, x.len, y.p, y.len);
	}
	if (c == 0)
	{
		DdirRef		x = ddir_lane_ref(&d->val, i);
		DdirRef		y = ddir_lane_ref(&d->val, j);

		c = ddir_bytes_cmp(x.p, x.len, y.p, y.len);
	}
	if (c == 0 && d->time)
		c = ddir_time_cmp(ddir_deltas_time(d, i), ddir_deltas_time(d, j), d->coords);
	return c;
}

/* Sort rows of one hash by comparison: a merge sort over insertion. */
static void
compare_sort(const Shape *s, DdirOrderItem *a, DdirOrderItem *tmp, uint32_t n)
{
	uint32_t	half = n / 2;
	uint32_t	l = 0;
	uint32_t	r = half;

	if (n <= SMALL)
	{
		for (uint32_t i = 1; i < n; i++)
		{
			DdirOrderItem x = a[i];
			uint32_t	j = i;

			for (; j > 0 && compare_rows(s, a[j - 1].i, x.i) > 0; j--)
				a[j] = a[j - 1];
			a[j] = x;
		}
		return;
	}
	compare_sort(s, a, tmp, half);
	compare_sort(s, a + half, tmp, n - half);
	if (compare_rows(s, a[half - 1].i, a[half].i) <= 0)
		return;
	for (uint32_t o = 0; o < n; o++)
	{
		if (r == n || (l < half && compare_rows(s, a[l].i, a[r].i) <= 0))
			tmp[o] = a[l++];
		else
			tmp[o] = a[r++];
	}
	memcpy(a, tmp, n * sizeof(*a));
}

static bool
one_key(const Shape *s, const DdirOrderItem *a, uint32_t n)
{
	DdirRef		first;

	if (s->keys_by_hash)
		return true;
	first = ddir_lane_ref(&s->d->key, a[0].i);
	for (uint32_t i = 1; i < n; i++)
	{
		DdirRef		r = ddir_lane_ref(&s->d->key, a[i].i);

		if (ddir_bytes_cmp(r.p, r.len, first.p, first.len) != 0)
			return false;
	}
	return true;
}

/*
 * Finish n > 1 rows of one hash, sorted by prefix: order what the prefix does
 * not tell apart, and mark equal rows.
 */
static void
finish_hash(const Shape *s, DdirOrderItem *a, DdirOrderItem *tmp, uint32_t n)
{
	bool		by_prefix = s->vals_by_prefix && s->d->time == NULL;

	if (!one_key(s, a, n))
	{
		compare_sort(s, a, tmp, n);
		for (uint32_t i = 1; i < n; i++)
			a[i].same = compare_rows(s, a[i - 1].i, a[i].i) == 0;
		return;
	}
	for (uint32_t i = 0; i < n;)
	{
		uint32_t	end = i + 1;

		while (end < n && a[end].prefix == a[i].prefix)
			end++;
		if (!by_prefix && end - i > 1)
			compare_sort(s, a + i, tmp, end - i);
		for (uint32_t k = i + 1; k < end; k++)
			a[k].same = by_prefix || compare_rows(s, a[k - 1].i, a[k].i) == 0;
		i = end;
	}
}

/* The width all n > 0 rows of a lane have, or -1. */
static int64_t
lane_width(const DdirLane *lane, uint32_t n)
{
	uint32_t	width = lane->off[1] - lane->off[0];
	uint32_t	other = 0;

	for (uint32_t i = 0; i < n; i++)
		other |= lane->off[i + 1] - lane->off[i] - width;
	return other == 0 ? (int64_t) width : -1;
}

static bool
all_ones(const int64_t *diff, uint32_t n)
{
	uint64_t	other = 0;

	for (uint32_t i = 0; i < n; i++)
		other |= diff[i] ^ 1;
	return other == 0;
}

void
ddir_deltas_hash_vals(DdirDeltas *d)
{
	ddir_assert(!d->keyed);
	if (d->hash == NULL)
		d->hash = ddir_alloc(d->arena, d->cap * sizeof(uint64_t));
	for (uint32_t i = 0; i < d->n; i++)
	{
		DdirRef		r = ddir_lane_ref(&d->val, i);

		d->hash[i] = ddir_key_hash(r.p, r.len);
	}
}

static inline DdirOrderItem
make_item(const DdirDeltas *d, uint32_t i, bool words)
{
	DdirOrderItem x = {.hash = d->hash[i],.i = i};

	if (words)
		x.prefix = ddir_bytes_prefix(d->val.bytes + (size_t) i * 8, 8);
	else
	{
		DdirRef		r = ddir_lane_ref(&d->val, i);

		x.prefix = ddir_bytes_prefix(r.p, r.len);
	}
	return x;
}

/*
 * Deal a large run's rows into buckets by the highest bits of the hash that
 * vary, and sort each bucket, in room as large as the largest.
 */
static void
deal_and_sort(DdirOrder *o, const DdirDeltas *d, bool words)
{
	uint32_t	place[1 << DIGIT_BITS];
	uint32_t	n = d->n;
	uint32_t	largest = 0;
	uint32_t	start = 0;
	uint64_t	varying = 0;
	uint64_t	mask;
	uint32_t	slots;
	int			bits = bits_of(n) - BUCKET_BITS;
	int			top;
	int			shift;

	for (uint32_t i = 1; i < n; i++)
		varying |= d->hash[i] ^ d->hash[0];
	top = bits_of(varying);
	if (bits > DIGIT_BITS)
		bits = DIGIT_BITS;
	if (bits > top)
		bits = top;
	shift = top - bits;
	slots = UINT32_C(1) << bits;
	mask = slots - 1;

	memset(place, 0, slots * sizeof(place[0]));
	for (uint32_t i = 0; i < n; i++)
		place[(d->hash[i] >> shift) & mask]++;
	for (uint32_t k = 0; k < slots; k++)
		largest = place[k] > largest ? place[k] : largest;
	counts_to_places(place, slots);
	for (uint32_t i = 0; i < n; i++)
		o->item[place[(d->hash[i] >> shift) & mask]++] = make_item(d, i, words);

	o->tmp = ddir_alloc(d->arena, largest * sizeof(DdirOrderItem));
	for (uint32_t k = 0; k < slots; k++)
	{
		radix_sort(o->item + start, o->tmp, place[k] - start, false);
		start = place[k];
	}
}

/*
 * Sum the diffs of equal neighbours and squeeze out those that sum to zero.
 */
static void
sum_equal(DdirOrder *o, const DdirDeltas *d)
{
	DdirOrderItem *a = o->item;
	uint32_t	n = 0;

	for (uint32_t i = 0; i < d->n;)
	{
		DdirOrderItem x = a[i];
		int64_t		diff = o->diff ? d->diff[x.i] : 1;

		for (i++; i < d->n && a[i].same; i++)
		{
			if (o->diff == NULL)
			{
				o->diff = ddir_alloc(d->arena, d->n * sizeof(int64_t));
				for (uint32_t j = 0; j < n; j++)
					o->diff[j] = 1;
			}
			diff += d->diff[a[i].i];
		}
		if (diff == 0)
			continue;
		if (o->diff)
			o->diff[n] = diff;
		o->keys += n == 0 || a[n - 1].hash != x.hash;
		a[n++] = x;
	}
	o->n = n;
}

void
ddir_order_make(DdirOrder *o, DdirDeltas *d)
{
	Shape		s;
	uint32_t	n = d->n;

	memset(o, 0, sizeof(*o));
	if (n == 0)
		return;
	if (!d->keyed)
		ddir_deltas_hash_vals(d);
	o->key_width = d->keyed ? lane_width(&d->key, n) : 0;
	o->val_width = lane_width(&d->val, n);
	s.d = d;
	s.keys_by_hash = !d->keyed || o->key_width == sizeof(uint64_t);
	s.vals_by_prefix = o->val_width == sizeof(uint64_t);

	o->item = ddir_alloc(d->arena, n * sizeof(DdirOrderItem));
	if (n > DEAL_ROWS)
		deal_and_sort(o, d, s.vals_by_prefix);
	else
	{
		o->tmp = ddir_alloc(d->arena, n * sizeof(DdirOrderItem));
		for (uint32_t i = 0; i < n; i++)
			o->item[i] = make_item(d, i, s.vals_by_prefix);
		radix_sort(o->item, o->tmp, n, false);
	}
	for (uint32_t i = 0; i < n;)
	{
		uint32_t	end = i + 1;

		while (end < n && o->item[end].hash == o->item[i].hash)
			end++;
		if (end - i > 1)
			finish_hash(&s, o->item + i, o->tmp, end - i);
		i = end;
	}
	if (!all_ones(d->diff, n))
		o->diff = ddir_alloc(d->arena, n * sizeof(int64_t));
	sum_equal(o, d);
}

void
ddir_order_free(DdirOrder *o)
{
	ddir_free(o->item);
	ddir_free(o->tmp);
	ddir_free(o->diff);
	memset(o, 0, sizeof(*o));
}
