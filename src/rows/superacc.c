/*-------------------------------------------------------------------------
 *
 * superacc.c
 *	  Superaccumulators: exact sums of floating-point numbers.
 *
 * A double is m * 2^e with an integer m of at most 53 bits and e >= -1074, so
 * in units of 2^-1074 it is an integer, and its square is one in units of
 * 2^-2148.  Adding means shifting m to its place and adding it to the two or
 * three lanes it covers, without carrying: lanes are wider than their share.
 *
 * Results are computed on magnitudes (sign, and digits of base 2^32, least
 * first) that live on the stack.  A rounded quotient needs only the leading
 * bits of the exact one and the knowledge whether anything follows ("sticky").
 *
 * Holds always: |lane[i]| < (slack + 2) * 2^32, and 2^63 is out of reach.
 * Widths: with the 2^63 rows that a count can hold, a sum is less than 2^2162
 * units and a sum of squares less than 2^4324: LANES_MAX lanes take both.
 *
 * src/rows/superacc.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/port.h"

#include <float.h>
#include <math.h>

#include "rows/superacc.h"

#define SUM_UNIT (-1074)		/* log2 of the unit of a sum */
#define LANES_MAX 140
#define SLACK_MAX (UINT32_C(1) << 30)
#define PIECE_BITS 29			/* of a diff, added at once */
#define MANTISSA_BITS 53

typedef unsigned __int128 Wide;

/* A result before it is rounded: digits of value d[i] * 2^(32 * (low + i)). */
typedef struct Magnitude
{
	bool		negative;
	int			low;
	int			n;				/* no leading zeros: d[n - 1] != 0, or n = 0 */
	uint32_t	d[2 * LANES_MAX + 8];
} Magnitude;

/* ----
 * Adding
 * ----
 */

/*
 * Make room for lanes from "low" up to "high" (inclusive).
 */
static void
widen(DdirSuperacc *acc, DdirArena *arena, int low, int high)
{
	int64_t    *lane;
	int			n;
	int			old = acc->low;

	if (acc->n > 0)
	{
		low = low < acc->low ? low : acc->low;
		high = high > acc->low + acc->n - 1 ? high : acc->low + acc->n - 1;
	}
	n = high - low + 1;
	ddir_check(n <= LANES_MAX);
	if (n > acc->cap)
	{
		int			cap = n < 4 ? 4 : n + n / 4;

		cap = cap < LANES_MAX ? cap : LANES_MAX;
		acc->lane = ddir_realloc(arena, acc->lane, cap * sizeof(int64_t));
		acc->cap = cap;
	}
	lane = acc->lane;
	if (acc->n == 0)
		old = low;
	memmove(lane + (old - low), lane, acc->n * sizeof(int64_t));
	memset(lane, 0, (old - low) * sizeof(int64_t));
	memset(lane + (old - low) + acc->n, 0,
		   (n - (old - low) - acc->n) * sizeof(int64_t));
	acc->low = low;
	acc->n = n;
}

/*
 * Bring all lanes but the last back to [0, 2^32).
 */
static void
carry(DdirSuperacc *acc, DdirArena *arena)
{
	int64_t		over = 0;

	for (int i = 0; i < acc->n; i++)
	{
		int64_t		v = acc->lane[i] + over;

		/* the last lane keeps the sign, unless it must be split */
		if (i == acc->n - 1)
		{
			if (v >= -(INT64_C(1) << 32) && v < (INT64_C(1) << 32))
			{
				acc->lane[i] = v;
				break;
			}
			widen(acc, arena, acc->low, acc->low + acc->n);
		}
		acc->lane[i] = v & UINT32_MAX;
		over = v >> 32;
	}
	acc->slack = 0;
}

/*
 * Add "times" times m * 2^bit units; times is less than 2^PIECE_BITS.
 */
static void
add_piece(DdirSuperacc *acc, DdirArena *arena, Wide m, int bit,
		  uint32_t times, bool negative)
{
	int			at = bit >> 5;
	int			shift = bit & 31;
	uint32_t	digit[6];
	int			n = 0;
	int64_t    *lane;
	int64_t		factor = negative ? -(int64_t) times : (int64_t) times;

	digit[n++] = (uint32_t) (m << shift);
	for (m >>= 32 - shift; m != 0; m >>= 32)
		digit[n++] = (uint32_t) m;

	if (ddir_unlikely(acc->slack + times > SLACK_MAX))
		carry(acc, arena);
	acc->slack += times;
	if (ddir_unlikely(acc->n == 0 || at < acc->low || at + n > acc->low + acc->n))
		widen(acc, arena, at, at + n - 1);
	lane = acc->lane + (at - acc->low);
	for (int i = 0; i < n; i++)
		lane[i] += factor * digit[i];
}

static void
add_times(DdirSuperacc *acc, DdirArena *arena, Wide m, int bit,
		  int64_t diff, bool negative)
{
	uint64_t	times = diff < 0 ? -(uint64_t) diff : (uint64_t) diff;

	negative ^= diff < 0;
	while (times != 0)
	{
		uint32_t	piece = times & ((UINT32_C(1) << PIECE_BITS) - 1);

		if (piece != 0)
			add_piece(acc, arena, m, bit, piece, negative);
		times >>= PIECE_BITS;
		bit += PIECE_BITS;
	}
}

/*
 * |x| = m * 2^(bit + SUM_UNIT).  Trailing zeros are moved out of m, so that no
 * more lanes than necessary are touched.
 */
static uint64_t
split(double x, int *bit, bool *negative)
{
	uint64_t	bits;
	uint64_t	m;
	int			e;
	int			zeros;

	memcpy(&bits, &x, sizeof(bits));
	*negative = bits >> 63;
	e = (bits >> 52) & 0x7ff;
	m = bits & ((UINT64_C(1) << 52) - 1);
	ddir_check(e != 0x7ff);
	if (e != 0)
	{
		m |= UINT64_C(1) << 52;
		e--;
	}
	*bit = e;
	if (m == 0)
		return 0;
	zeros = __builtin_ctzll(m);
	*bit += zeros;
	return m >> zeros;
}

void
ddir_superacc_add(DdirSuperacc *acc, DdirArena *arena, double x, int64_t diff)
{
	bool		negative;
	int			bit;
	uint64_t	m = split(x, &bit, &negative);

	if (m != 0)
		add_times(acc, arena, m, bit, diff, negative);
}

void
ddir_superacc_add_square(DdirSuperacc *acc, DdirArena *arena, double x, int64_t diff)
{
	bool		negative;
	int			bit;
	uint64_t	m = split(x, &bit, &negative);

	if (m != 0)
		add_times(acc, arena, (Wide) m * m, 2 * bit, diff, false);
}

void
ddir_superacc_free(DdirSuperacc *acc)
{
	ddir_free(acc->lane);
	memset(acc, 0, sizeof(*acc));
}

/* ----
 * Magnitudes
 * ----
 */

static void
strip(Magnitude *v)
{
	while (v->n > 0 && v->d[v->n - 1] == 0)
		v->n--;
	if (v->n == 0)
		v->negative = false;
}

static void
magnitude_of(const DdirSuperacc *acc, Magnitude *v)
{
	int64_t		over = 0;
	int			n = 0;

	v->low = acc->low;
	for (int i = 0; i < acc->n; i++)
	{
		over += acc->lane[i];
		v->d[n++] = (uint32_t) over;
		over >>= 32;
	}
	/* what is left is the sign, and up to 32 bits more */
	v->d[n++] = (uint32_t) over;
	v->negative = over < 0;
	if (v->negative)
	{
		uint64_t	c = 1;

		for (int i = 0; i < n; i++)
		{
			c += (uint32_t) ~v->d[i];
			v->d[i] = (uint32_t) c;
			c >>= 32;
		}
	}
	v->n = n;
	strip(v);
}

static void
magnitude_times(Magnitude *v, uint64_t factor)
{
	Wide		c = 0;

	for (int i = 0; i < v->n; i++)
	{
		c += (Wide) v->d[i] * factor;
		v->d[i] = (uint32_t) c;
		c >>= 32;
	}
	for (; c != 0; c >>= 32)
		v->d[v->n++] = (uint32_t) c;
	strip(v);
}

static void
magnitude_square(const Magnitude *v, Magnitude *out)
{
	out->negative = false;
	out->low = 2 * v->low;
	out->n = 2 * v->n;
	memset(out->d, 0, out->n * sizeof(uint32_t));
	for (int i = 0; i < v->n; i++)
	{
		uint64_t	c = 0;

		for (int j = 0; j < v->n; j++)
		{
			c += (uint64_t) v->d[i] * v->d[j] + out->d[i + j];
			out->d[i + j] = (uint32_t) c;
			c >>= 32;
		}
		out->d[i + v->n] = (uint32_t) c;
	}
	strip(out);
}

/* ----
 * Bytes
 * ----
 */

void
ddir_superacc_save(const DdirSuperacc *acc, DdirBytes *to)
{
	Magnitude	v;
	int			first = 0;
	int32_t		head[3];

	magnitude_of(acc, &v);
	while (first < v.n && v.d[first] == 0)
		first++;
	head[0] = v.negative;
	head[1] = v.n == 0 ? 0 : v.low + first;
	head[2] = v.n - first;
	ddir_bytes_put(to, head, sizeof(head));
	ddir_bytes_put(to, v.d + first, head[2] * sizeof(uint32_t));
}

void
ddir_superacc_load(DdirSuperacc *acc, DdirArena *arena, const uint8_t **from)
{
	int32_t		head[3];

	memcpy(head, *from, sizeof(head));
	*from += sizeof(head);
	if (head[2] == 0)
		return;
	widen(acc, arena, head[1], head[1] + head[2] - 1);
	for (int i = 0; i < head[2]; i++)
	{
		uint32_t	digit;

		memcpy(&digit, *from, sizeof(digit));
		*from += sizeof(digit);
		acc->lane[i] = head[0] ? -(int64_t) digit : (int64_t) digit;
	}
}

/* ----
 * Arithmetic of magnitudes
 * ----
 */

/* Lower v->low to "low" by digits of zero. */
static void
magnitude_lower(Magnitude *v, int low)
{
	int			more = v->low - low;

	if (more <= 0)
		return;
	if (v->n > 0)
	{
		memmove(v->d + more, v->d, v->n * sizeof(uint32_t));
		memset(v->d, 0, more * sizeof(uint32_t));
		v->n += more;
	}
	v->low = low;
}

/*
 * a := a - b; both not negative, neither is the result as long as the sums
 * come from real numbers.  False if it would be negative.
 */
static bool
magnitude_subtract(Magnitude *a, Magnitude *b)
{
	int64_t		c = 0;

	if (b->n == 0)
		return true;
	magnitude_lower(a, b->low);
	magnitude_lower(b, a->low);
	if (a->n < b->n)
		return false;
	for (int i = 0; i < a->n; i++)
	{
		c += (int64_t) a->d[i] - (i < b->n ? b->d[i] : 0);
		a->d[i] = (uint32_t) c;
		c >>= 32;
	}
	strip(a);
	return c == 0;
}

/* ----
 * Rounding
 * ----
 */

/*
 * q * 2^e, or a little more where "sticky", to the nearest number with so many
 * bits of mantissa that is a multiple of 2^least; ties to even.  Where sticky,
 * q has more than "bits" bits.
 */
static double
round_to(bool negative, uint64_t q, int e, bool sticky, int bits, int least)
{
	int			top;
	int			ulp;
	double		r;

	if (q == 0)
		return 0;
	top = e + 63 - __builtin_clzll(q);
	ulp = top - (bits - 1);
	if (ulp < least)
		ulp = least;
	if (ulp > e)
	{
		int			shift = ulp - e;
		Wide		wide = q;
		Wide		half;

		/* beyond 64 bits all of q is less than a half */
		if (shift > 65)
			shift = 65;
		half = (Wide) 1 << (shift - 1);
		q = (uint64_t) (wide >> shift);
		wide &= half + (half - 1);
		if (wide > half || (wide == half && (sticky || (q & 1))))
			q++;
		e = ulp;
	}
	/* q has at most "bits" + 1 bits, so this is exact, or infinite */
	r = ldexp((double) q, e);
	return negative ? -r : r;
}

/* Bit "at" of v, counted from the lowest bit of d[0]; below it are zeros. */
static inline unsigned
bit_at(const Magnitude *v, int at)
{
	return at < 0 ? 0 : (v->d[at >> 5] >> (at & 31)) & 1;
}

static bool
any_below(const Magnitude *v, int at)
{
	if (at <= 0)
		return false;
	for (int i = 0; i < at >> 5; i++)
		if (v->d[i] != 0)
			return true;
	return (at & 31) != 0 && (v->d[at >> 5] << (32 - (at & 31))) != 0;
}

/*
 * The leading "bits" bits of v / divisor: quotient q (with exactly so many
 * bits), exponent e of its lowest bit relative to the lowest of d[low = 0], and
 * whether anything is left.  v is not zero, divisor less than 2^127, bits at
 * most 127.
 */
static Wide
divide(const Magnitude *v, Wide divisor, int bits, int *e, bool *sticky)
{
	Wide		q = 0;
	Wide		r = 0;
	Wide		enough = (Wide) 1 << (bits - 1);
	int			at = 32 * v->n;

	while (q < enough)
	{
		at--;
		r = r << 1 | bit_at(v, at);
		q <<= 1;
		if (r >= divisor)
		{
			r -= divisor;
			q |= 1;
		}
	}
	*sticky = r != 0 || any_below(v, at);
	*e = at + 32 * v->low;
	return q;
}

/* The floor of the square root, of a number less than 2^126. */
static uint64_t
root_of(Wide v)
{
	uint64_t	root = 0;

	for (int bit = 62; bit >= 0; bit--)
	{
		uint64_t	try = root | UINT64_C(1) << bit;

		if ((Wide) try * try <= v)
			root = try;
	}
	return root;
}

bool
ddir_superacc_is_zero(const DdirSuperacc *acc)
{
	Magnitude	v;

	magnitude_of(acc, &v);
	return v.n == 0;
}

static double
sum_to(const DdirSuperacc *acc, int bits, int least)
{
	Magnitude	v;
	Wide		q;
	int			e;
	bool		sticky;

	magnitude_of(acc, &v);
	if (v.n == 0)
		return 0;
	q = divide(&v, 1, MANTISSA_BITS + 2, &e, &sticky);
	return round_to(v.negative, (uint64_t) q, e + SUM_UNIT, sticky, bits, least);
}

double
ddir_superacc_sum(const DdirSuperacc *acc)
{
	return sum_to(acc, MANTISSA_BITS, SUM_UNIT);
}

float
ddir_superacc_sum_float(const DdirSuperacc *acc)
{
	double		r = sum_to(acc, FLT_MANT_DIG, FLT_MIN_EXP - FLT_MANT_DIG);

	if (r > FLT_MAX)
		return INFINITY;
	if (r < -FLT_MAX)
		return -INFINITY;
	return (float) r;
}

double
ddir_superacc_mean(const DdirSuperacc *acc, uint64_t n)
{
	Magnitude	v;
	Wide		q;
	int			e;
	bool		sticky;

	ddir_check(n > 0);
	magnitude_of(acc, &v);
	if (v.n == 0)
		return 0;
	q = divide(&v, n, MANTISSA_BITS + 2, &e, &sticky);
	return round_to(v.negative, (uint64_t) q, e + SUM_UNIT, sticky,
					MANTISSA_BITS, SUM_UNIT);
}

/*
 * (n * sum of squares - square of sum) / (n * n, or n * (n - 1)), all exact up
 * to the rounding of the quotient, or of its root.
 */
double
ddir_superacc_variance(const DdirSuperacc *sum, const DdirSuperacc *squares,
					   uint64_t n, bool sample, bool root)
{
	Magnitude	s;
	Magnitude	s2;
	Magnitude	v;
	Wide		divisor;
	Wide		q;
	int			e;
	bool		sticky;

	ddir_check(n > (sample ? 1 : 0) && n >> 63 == 0);
	magnitude_of(sum, &s);
	magnitude_of(squares, &v);
	magnitude_square(&s, &s2);
	magnitude_times(&v, n);
	if (v.negative || !magnitude_subtract(&v, &s2))
		ddir_error(DDIR_ERROR_NEGATIVE, "numbers were taken from a sum that were never added");
	if (v.n == 0)
		return 0;
	divisor = (Wide) n * (sample ? n - 1 : n);
	if (!root)
	{
		q = divide(&v, divisor, MANTISSA_BITS + 2, &e, &sticky);
		return round_to(false, (uint64_t) q, e + 2 * SUM_UNIT, sticky,
						MANTISSA_BITS, SUM_UNIT);
	}

	/* a root of twice the bits, of an even exponent */
	q = divide(&v, divisor, 2 * (MANTISSA_BITS + 2), &e, &sticky);
	if (e & 1)
	{
		q <<= 1;
		e--;
	}
	{
		uint64_t	r = root_of(q);

		sticky = sticky || (Wide) r * r != q;
		return round_to(false, r, e / 2 + SUM_UNIT, sticky, MANTISSA_BITS, SUM_UNIT);
	}
}
