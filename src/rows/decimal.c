/*-------------------------------------------------------------------------
 *
 * decimal.c
 *	  Exact sums of numeric values, and their display scale.
 *
 * numeric_add would do, but it makes a new value for every row, and it fails
 * where a sum of many large values passes the limits of numeric for a moment,
 * which must not depend on the order of rows.
 *
 * Holds always: |digit[i]| <= slack * 10000 <= 2^62.
 * Limits: a numeric has at most 131072 + 16383 decimal digits, its square
 * twice as many; DIGITS_MAX leaves room for any count of them.
 *
 * src/rows/decimal.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "rows/decimal.h"

#define BASE DDIR_NUMERIC_BASE
#define BASE_DIGITS 4			/* decimal digits in one */
#define SLACK_MAX (INT64CONST(1) << 48)
#define PIECE_BASE INT64CONST(100000000)	/* of a diff, added at once:
											 * BASE^2 */
#define PIECE_SHIFT 2
#define DIGITS_MAX (1 << 18)
#define SQUARE_ROOM 64			/* digits squared on the stack */

#ifndef HAVE_INT128
#error "ddir needs a compiler with 128-bit integers"
#endif

/* ----
 * Adding
 * ----
 */

/*
 * Make room for digits from "low" up to "high" (inclusive).
 */
static void
widen(DdirDecimal *sum, MemoryContext cxt, int low, int high)
{
	int			shift = 0;
	int			n;

	if (sum->n > 0)
	{
		low = Min(low, sum->low);
		high = Max(high, sum->low + sum->n - 1);
		shift = sum->low - low;
	}
	n = high - low + 1;
	ddir_check(n <= DIGITS_MAX);
	if (n > sum->cap)
	{
		int			cap = Max(4, n + n / 4);

		if (sum->digit == NULL)
			sum->digit = MemoryContextAlloc(cxt, cap * sizeof(int64));
		else
			sum->digit = repalloc(sum->digit, cap * sizeof(int64));
		sum->cap = cap;
	}
	memmove(sum->digit + shift, sum->digit, sum->n * sizeof(int64));
	memset(sum->digit, 0, shift * sizeof(int64));
	memset(sum->digit + shift + sum->n, 0, (n - shift - sum->n) * sizeof(int64));
	sum->low = low;
	sum->n = n;
}

/*
 * Bring all digits but the last back to [0, BASE).
 */
static void
carry(DdirDecimal *sum, MemoryContext cxt)
{
	int64		over = 0;

	for (int i = 0; i < sum->n; i++)
	{
		int64		v = sum->digit[i] + over;

		/* the last one keeps the sign, unless it must be split */
		if (i == sum->n - 1)
		{
			if (v >= -BASE && v < BASE)
			{
				sum->digit[i] = v;
				break;
			}
			widen(sum, cxt, sum->low, sum->low + sum->n);
		}
		over = v / BASE;
		v -= over * BASE;
		if (v < 0)
		{
			v += BASE;
			over--;
		}
		sum->digit[i] = v;
	}
	sum->slack = 1;
}

/*
 * Add factor times n digits, the first of which has weight "weight".
 * |factor| is less than PIECE_BASE.
 */
static inline void
add_piece(DdirDecimal *sum, MemoryContext cxt, const uint8_t *digits, int n,
		  int weight, int64 factor)
{
	int64		slack = factor < 0 ? -factor : factor;
	int			low = weight - n + 1;
	int64	   *to;

	if (unlikely(sum->slack + slack > SLACK_MAX))
		carry(sum, cxt);
	sum->slack += slack;
	if (unlikely(sum->n == 0 || low < sum->low || weight >= sum->low + sum->n))
		widen(sum, cxt, low, weight);
	to = sum->digit + (weight - sum->low);
	for (int i = 0; i < n; i++)
	{
		int16		digit;

		memcpy(&digit, digits + i * sizeof(digit), sizeof(digit));
		to[-i] += factor * digit;
	}
}

static void
add_times(DdirDecimal *sum, MemoryContext cxt, const uint8_t *digits, int n,
		  int weight, bool neg, int64 diff)
{
	/* pieces have the sign of diff, so that its least value needs no care */
	while (diff != 0)
	{
		int64		piece = diff % PIECE_BASE;

		if (piece != 0)
			add_piece(sum, cxt, digits, n, weight, neg ? -piece : piece);
		diff /= PIECE_BASE;
		weight += PIECE_SHIFT;
	}
}

void
ddir_decimal_add(DdirDecimal *sum, MemoryContext cxt, const DdirNumeric *value, int64 diff)
{
	ddir_check(value->class == DDIR_NUMERIC_FINITE);
	if (value->ndigits > 0)
		add_times(sum, cxt, value->digits, value->ndigits, value->weight,
				  value->neg, diff);
}

/*
 * The square's digits, least first in "product", are at most 2 * n; the first
 * of the value's digits has weight w, the last one w - n + 1, so the last of
 * the square's has 2 * (w - n + 1).
 */
void
ddir_decimal_add_square(DdirDecimal *sum, MemoryContext cxt, const DdirNumeric *value, int64 diff)
{
	int64		small[2 * SQUARE_ROOM];
	int16		small_digits[2 * SQUARE_ROOM];
	int64	   *product = small;
	int16	   *digits = small_digits;
	int			n = value->ndigits;
	int64		over = 0;

	ddir_check(value->class == DDIR_NUMERIC_FINITE);
	if (n == 0)
		return;
	if (n > SQUARE_ROOM)
	{
		product = palloc(2 * n * sizeof(int64));
		digits = palloc(2 * n * sizeof(int16));
	}
	memset(product, 0, 2 * n * sizeof(int64));

	/* n * (BASE - 1)^2 is far below 2^63 for any n there can be */
	for (int i = 0; i < n; i++)
	{
		int64		a = ddir_numeric_digit(value, n - 1 - i);

		for (int j = 0; j < n; j++)
			product[i + j] += a * ddir_numeric_digit(value, n - 1 - j);
	}
	for (int i = 0; i < 2 * n; i++)
	{
		over += product[i];
		digits[2 * n - 1 - i] = over % BASE;
		over /= BASE;
	}
	ddir_check(over == 0);
	add_times(sum, cxt, (const uint8_t *) digits, 2 * n,
			  2 * (value->weight - n + 1) + 2 * n - 1, false, diff);
	if (n > SQUARE_ROOM)
	{
		pfree(product);
		pfree(digits);
	}
}

void
ddir_decimal_free(DdirDecimal *sum)
{
	if (sum->digit)
		pfree(sum->digit);
	memset(sum, 0, sizeof(*sum));
}

/* ----
 * Results
 * ----
 */

/*
 * Carry through n digits from "from" into [0, BASE); returns what is left
 * above them.
 */
static int64
carry_through(const int64 *from, int64 *to, int n, bool negate)
{
	int64		over = 0;

	for (int i = 0; i < n; i++)
	{
		int64		v = (negate ? -from[i] : from[i]) + over;

		over = v / BASE;
		v -= over * BASE;
		if (v < 0)
		{
			v += BASE;
			over--;
		}
		to[i] = v;
	}
	return over;
}

void
ddir_decimal_digits(const DdirDecimal *sum, DdirDigits *out)
{
	/* what is left above the last digit is less than 2^62: 5 more */
	int			n = sum->n + 5;
	int64	   *v = palloc(n * sizeof(int64));
	int64		over;
	int			first = 0;

	memset(out, 0, sizeof(*out));
	over = carry_through(sum->digit, v, sum->n, false);
	if (over < 0)
	{
		out->neg = true;
		over = carry_through(sum->digit, v, sum->n, true);
	}
	for (int i = sum->n; i < n; i++)
	{
		v[i] = over % BASE;
		over /= BASE;
	}
	ddir_check(over == 0);

	while (n > 0 && v[n - 1] == 0)
		n--;
	while (first < n && v[first] == 0)
		first++;
	out->n = n - first;
	if (out->n > 0)
	{
		out->weight = sum->low + n - 1;
		out->digit = palloc(out->n * sizeof(int16));
		for (int i = 0; i < out->n; i++)
			out->digit[i] = v[n - 1 - i];
	}
	pfree(v);
}

bool
ddir_decimal_int64(const DdirDecimal *sum, int scale, int64 *out)
{
	static const int powers[BASE_DIGITS] = {1, 10, 100, 1000};
	int128		limit = (int128) 1 << 100;	/* room for a digit more */
	int128		v = 0;
	int			left;			/* decimal digits still to be shifted in */

	for (int i = sum->n - 1; i >= 0; i--)
	{
		v = v * BASE + sum->digit[i];
		if (v > limit || v < -limit)
			return false;
	}
	left = v == 0 ? 0 : BASE_DIGITS * sum->low + scale;
	for (; left >= BASE_DIGITS; left -= BASE_DIGITS)
	{
		v *= BASE;
		if (v > limit || v < -limit)
			return false;
	}
	if (left > 0)
		v *= powers[left];
	/* lanes below the scale may be there, of values that are gone */
	for (; left <= -BASE_DIGITS; left += BASE_DIGITS)
	{
		if (v % BASE != 0)
			return false;
		v /= BASE;
	}
	if (left < 0)
	{
		if (v % powers[-left] != 0)
			return false;
		v /= powers[-left];
	}
	if (v > PG_INT64_MAX || v < PG_INT64_MIN)
		return false;
	*out = (int64) v;
	return true;
}

/* ----
 * Bytes
 * ----
 */

void
ddir_decimal_save(const DdirDecimal *sum, DdirBytes *to)
{
	DdirDigits	digits;
	int32		head[3];

	ddir_decimal_digits(sum, &digits);
	head[0] = digits.neg;
	head[1] = digits.weight;
	head[2] = digits.n;
	ddir_bytes_put(to, head, sizeof(head));
	ddir_bytes_put(to, digits.digit, digits.n * sizeof(int16));
}

void
ddir_decimal_load(DdirDecimal *sum, MemoryContext cxt, const uint8_t **from)
{
	int32		head[3];

	ddir_bytes_take(from, head, sizeof(head));
	if (head[2] == 0)
		return;
	add_times(sum, cxt, *from, head[2], head[1], head[0] != 0, 1);
	*from += head[2] * sizeof(int16);
}

static int
compare_scales(const void *a, const void *b)
{
	return ((const DdirScaleCount *) a)->scale - ((const DdirScaleCount *) b)->scale;
}

void
ddir_scales_save(const DdirScales *scales, DdirBytes *to)
{
	DdirScaleCount *all = palloc0(sizeof(DdirScaleCount) * (scales->n + 1));
	int32		n = 0;

	if (scales->count != 0)
	{
		all[n].scale = scales->scale;
		all[n++].count = scales->count;
	}
	for (int i = 0; i < scales->n; i++)
	{
		if (scales->more[i].count == 0)
			continue;
		all[n].scale = scales->more[i].scale;
		all[n++].count = scales->more[i].count;
	}
	qsort(all, n, sizeof(DdirScaleCount), compare_scales);
	ddir_bytes_put(to, &n, sizeof(n));
	ddir_bytes_put(to, all, n * sizeof(DdirScaleCount));
	pfree(all);
}

void
ddir_scales_load(DdirScales *scales, MemoryContext cxt, const uint8_t **from)
{
	int32		n;

	ddir_bytes_take(from, &n, sizeof(n));
	for (int i = 0; i < n; i++)
	{
		DdirScaleCount one;

		ddir_bytes_take(from, &one, sizeof(one));
		ddir_scales_add(scales, cxt, one.scale, one.count);
	}
}

/* ----
 * Display scales
 * ----
 */

void
ddir_scales_add(DdirScales *scales, MemoryContext cxt, int scale, int64 diff)
{
	int			free_at = -1;

	if (likely(scale == scales->scale))
	{
		scales->count += diff;
		return;
	}
	for (int i = 0; i < scales->n; i++)
	{
		if (scales->more[i].scale == scale)
		{
			scales->more[i].count += diff;
			return;
		}
		if (scales->more[i].count == 0)
			free_at = i;
	}

	/* a scale not counted so far */
	if (scales->count == 0)
	{
		scales->scale = scale;
		scales->count = diff;
		return;
	}
	if (free_at < 0)
	{
		if (scales->n == scales->cap)
		{
			int			cap = scales->cap ? 2 * scales->cap : 2;
			Size		size = cap * sizeof(DdirScaleCount);

			ddir_check(cap <= PG_INT16_MAX);
			if (scales->more == NULL)
				scales->more = MemoryContextAlloc(cxt, size);
			else
				scales->more = repalloc(scales->more, size);
			scales->cap = cap;
		}
		free_at = scales->n++;
	}
	scales->more[free_at].scale = scale;
	scales->more[free_at].count = diff;
}

int
ddir_scales_max(const DdirScales *scales)
{
	int			max = scales->count > 0 ? scales->scale : 0;

	for (int i = 0; i < scales->n; i++)
		if (scales->more[i].count > 0 && scales->more[i].scale > max)
			max = scales->more[i].scale;
	return max;
}

void
ddir_scales_free(DdirScales *scales)
{
	if (scales->more)
		pfree(scales->more);
	memset(scales, 0, sizeof(*scales));
}
