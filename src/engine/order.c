/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Consolidated order of a run: radix sort on the hash, then the rest.
 *
 * Hashes are spread evenly, so about log2(n) of their high bits nearly decide
 * the order: two counting passes for a million rows.  Bits in which no two
 * hashes differ are not looked at.  What is still equal in the bits taken is
 * a short stretch and goes through insertion, or again through the radix sort
 * where it is not short (many rows of one key).
 *
 * Rows of one hash are ordered by the first eight bytes of their vals in the
 * same way, and only what is equal there too is compared as rows.
 *
 * Example: rows of a key with vals of 8 bytes never reach the comparison;
 * equal hash and equal prefix say all there is to say.
 *
 * src/engine/order.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/order.h"

/* Up to here insertion beats everything. */
#define SMALL 24
/* Widest digit: its counters fit the first-level cache. */
#define DIGIT_BITS 11

/* What the run's lanes allow to leave out. */
typedef struct Shape
{
	const DdirDeltas *d;
	bool		keys_by_hash;	/* equal hashes mean equal keys */
	bool		vals_by_prefix; /* equal prefixes mean equal vals */
} Shape;

static void
insertion_sort(DdirOrderItem *a, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
	{
		DdirOrderItem x = a[i];
		uint32_t	j = i;

		for (; j > 0 && a[j - 1].k > x.k; j--)
			a[j] = a[j - 1];
		a[j] = x;
	}
}

static inline int
bits_of(uint64_t x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

/*
 * One pass of counting sort, from "from" to "to", by the digit at shift.
 */
static void
scatter(const DdirOrderItem *from, DdirOrderItem *to, uint32_t n, int shift, int bits)
{
	uint32_t	count[1 << DIGIT_BITS];
	uint64_t	mask = (UINT64_C(1) << bits) - 1;
	uint32_t	sum = 0;

	memset(count, 0, sizeof(count[0]) << bits);
	for (uint32_t i = 0; i < n; i++)
		count[(from[i].k >> shift) & mask]++;
	for (uint32_t i = 0; i <= mask; i++)
	{
		uint32_t	c = count[i];

		count[i] = sum;
		sum += c;
	}
	for (uint32_t i = 0; i < n; i++)
		to[count[(from[i].k >> shift) & mask]++] = from[i];
}

/* Sort by k, keeping the order of equal ones; tmp has room for n. */
static void
radix_sort(DdirOrderItem *a, DdirOrderItem *tmp, uint32_t n)
{
	uint64_t	ones = 0;
	uint64_t	zeros = 0;
	uint64_t	varying;
	DdirOrderItem *from = a;
	DdirOrderItem *to = tmp;
	int			top;
	int			low;
	int			passes;
	int			bits;

	if (n <= SMALL)
	{
		insertion_sort(a, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		ones |= a[i].k;
		zeros |= ~a[i].k;
	}
	varying = ones & zeros;
	if (varying == 0)
		return;

	top = bits_of(varying);
	bits = bits_of(n) + 1;
	passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
	bits = (bits + passes - 1) / passes;
	low = top > passes * bits ? top - passes * bits : 0;
	for (int shift = low; shift < top; shift += bits)
	{
		DdirOrderItem *swap = from;

		if (((varying >> shift) & ((UINT64_C(1) << bits) - 1)) == 0)
			continue;
		scatter(from, to, n, shift, bits);
		from = to;
		to = swap;
	}
	if (from != a)
		memcpy(a, from, n * sizeof(*a));
	if (low == 0)
		return;

	for (uint32_t i = 0; i < n;)
	{
		uint64_t	high = a[i].k >> low;
		uint32_t	end = i + 1;

		while (end < n && a[end].k >> low == high)
			end++;
		if (end - i > 1)
			radix_sort(a + i, tmp, end - i);
		i = end;
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

/* Sort rows of equal k by comparison: a merge sort over insertion. */
static void
compare_sort(const Shape *s, DdirOrderItem *a, DdirOrderItem *tmp, uint32_t n)
{
	uint32_t	half = n / 2;
	uint32_t	l = 0;
	uint32_t	r = half;

	if (n <= SMALL / 2)
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

/* Sort n > 1 rows of one hash. */
static void
sort_hash(const Shape *s, DdirOrderItem *a, DdirOrderItem *tmp, uint32_t n)
{
	uint64_t	hash = a[0].k;

	if (!one_key(s, a, n))
	{
		compare_sort(s, a, tmp, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		DdirRef		r = ddir_lane_ref(&s->d->val, a[i].i);

		a[i].k = ddir_bytes_prefix(r.p, r.len);
	}
	radix_sort(a, tmp, n);
	if (!s->vals_by_prefix || s->d->time)
		for (uint32_t i = 0; i < n;)
		{
			uint32_t	end = i + 1;

			while (end < n && a[end].k == a[i].k)
				end++;
			if (end - i > 1)
				compare_sort(s, a + i, tmp, end - i);
			i = end;
		}
	for (uint32_t i = 0; i < n; i++)
		a[i].k = hash;
}

/* All n rows of the lane have this width. */
static bool
lane_is_of_width(const DdirLane *lane, uint32_t n, uint32_t width)
{
	uint32_t	wrong = 0;

	if (lane->len != (size_t) n * width)
		return false;
	for (uint32_t i = 0; i < n; i++)
		wrong |= lane->off[i + 1] - lane->off[i] - width;
	return wrong == 0;
}

static bool
all_ones(const int64_t *diff, uint32_t n)
{
	uint64_t	other = 0;

	for (uint32_t i = 0; i < n; i++)
		other |= diff[i] ^ 1;
	return other == 0;
}

static void
hash_vals(DdirDeltas *d)
{
	if (d->hash == NULL)
		d->hash = ddir_alloc(d->arena, d->cap * sizeof(uint64_t));
	for (uint32_t i = 0; i < d->n; i++)
	{
		DdirRef		r = ddir_lane_ref(&d->val, i);

		d->hash[i] = ddir_key_hash(r.p, r.len);
	}
}

/*
 * Sum the diffs of equal neighbours and squeeze out those that sum to zero.
 */
static void
sum_equal(DdirOrder *o, const Shape *s)
{
	const DdirDeltas *d = s->d;
	DdirOrderItem *a = o->item;
	uint32_t	n = 0;

	o->keys = 0;
	for (uint32_t i = 0; i < d->n;)
	{
		DdirOrderItem x = a[i];
		int64_t		diff = o->diff ? d->diff[x.i] : 1;

		for (i++; i < d->n && a[i].k == x.k && compare_rows(s, a[i].i, x.i) == 0; i++)
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
		o->keys += n == 0 || a[n - 1].k != x.k;
		a[n++] = x;
	}
	o->n = n;
}

void
ddir_order_make(DdirOrder *o, DdirDeltas *d)
{
	Shape		s;
	uint32_t	n = d->n;
	DdirOrderItem *a;

	memset(o, 0, sizeof(*o));
	if (n == 0)
		return;
	if (!d->keyed)
		hash_vals(d);
	s.d = d;
	s.vals_by_prefix = lane_is_of_width(&d->val, n, sizeof(uint64_t));
	s.keys_by_hash = !d->keyed || lane_is_of_width(&d->key, n, sizeof(uint64_t));

	o->room[0] = ddir_alloc(d->arena, n * sizeof(DdirOrderItem));
	o->room[1] = ddir_alloc(d->arena, n * sizeof(DdirOrderItem));
	o->item = a = o->room[0];
	for (uint32_t i = 0; i < n; i++)
	{
		a[i].k = d->hash[i];
		a[i].i = i;
	}
	radix_sort(a, o->room[1], n);
	for (uint32_t i = 0; i < n;)
	{
		uint32_t	end = i + 1;

		while (end < n && a[end].k == a[i].k)
			end++;
		if (end - i > 1)
			sort_hash(&s, a + i, o->room[1], end - i);
		i = end;
	}
	if (!all_ones(d->diff, n))
		o->diff = ddir_alloc(d->arena, n * sizeof(int64_t));
	sum_equal(o, &s);
}

void
ddir_order_free(DdirOrder *o)
{
	ddir_free(o->room[0]);
	ddir_free(o->room[1]);
	ddir_free(o->diff);
	memset(o, 0, sizeof(*o));
}
