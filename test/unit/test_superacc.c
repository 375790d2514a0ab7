/*-------------------------------------------------------------------------
 *
 * test_superacc.c
 *	  Exact float sums against plain arithmetic on very long integers.
 *
 * The oracle keeps the numbers themselves, sums them anew as integers in
 * units of 2^-1074, and does not compute a rounded result: it checks that the
 * one it is given lies between the two halfway points around it.
 *
 * superacc.c is not of the engine, so it is included here.
 *
 * test/unit/test_superacc.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/port.h"

#include <float.h>
#include <math.h>

#include "rows/superacc.c"
#include "unit.h"

/* ----
 * Long natural numbers
 * ----
 */

#define NAT_DIGITS 176

typedef struct Nat
{
	uint32_t	d[NAT_DIGITS];
} Nat;

static Nat
nat_of(uint64_t m, int shift)
{
	Nat			r = {{0}};
	int			at = shift / 32;
	Wide		w = (Wide) m << (shift % 32);

	for (; w != 0; w >>= 32)
		r.d[at++] = (uint32_t) w;
	return r;
}

static Nat
nat_add(Nat a, const Nat *b)
{
	uint64_t	c = 0;

	for (int i = 0; i < NAT_DIGITS; i++)
	{
		c += (uint64_t) a.d[i] + b->d[i];
		a.d[i] = (uint32_t) c;
		c >>= 32;
	}
	return a;
}

static Nat
nat_sub(Nat a, const Nat *b)
{
	int64_t		c = 0;

	for (int i = 0; i < NAT_DIGITS; i++)
	{
		c += (int64_t) a.d[i] - b->d[i];
		a.d[i] = (uint32_t) c;
		c >>= 32;
	}
	return a;
}

static int
nat_len(const Nat *a)
{
	int			n = NAT_DIGITS;

	while (n > 0 && a->d[n - 1] == 0)
		n--;
	return n;
}

static Nat
nat_mul(const Nat *a, const Nat *b)
{
	Nat			r = {{0}};
	int			an = nat_len(a);
	int			bn = nat_len(b);

	for (int i = 0; i < an; i++)
	{
		uint64_t	c = 0;

		for (int j = 0; i + j < NAT_DIGITS && j <= bn; j++)
		{
			c += (uint64_t) a->d[i] * (j < bn ? b->d[j] : 0) + r.d[i + j];
			r.d[i + j] = (uint32_t) c;
			c >>= 32;
		}
	}
	return r;
}

static int
nat_cmp(const Nat *a, const Nat *b)
{
	for (int i = NAT_DIGITS - 1; i >= 0; i--)
		if (a->d[i] != b->d[i])
			return a->d[i] < b->d[i] ? -1 : 1;
	return 0;
}

/* x >= 0 in units of 2^-1074; infinity stands for 2^1024 */
static Nat
nat_of_double(double x)
{
	int			e;
	double		m;

	if (isinf(x))
		return nat_of(1, 1024 + 1074);
	m = frexp(x, &e);			/* x = m * 2^e, 1/2 <= m < 1 */
	if (e - 53 >= -1074)
		return nat_of((uint64_t) ldexp(m, 53), e - 53 + 1074);
	return nat_of((uint64_t) ldexp(m, e + 1074), 0);
}

/*
 * Is r (>= 0) the nearest to num / den, in units of 2^-1074 (or, with "root",
 * to the root of that, num being in units of 2^-2148)?
 */
static bool
nearest(double r, double below, double above, bool even, const Nat *num, const Nat *den, bool root)
{
	Nat			n = *num;
	Nat			v = nat_of_double(r);
	Nat			a = nat_of_double(above);
	Nat			b = nat_of_double(below);
	Nat			high = nat_add(v, &a);
	Nat			low = nat_add(v, &b);
	int			cmp;

	/* twice the value against the sum of r and its neighbour */
	n = nat_add(n, &n);
	if (root)
	{
		n = nat_add(n, &n);
		high = nat_mul(&high, &high);
		low = nat_mul(&low, &low);
	}
	high = nat_mul(&high, den);
	low = nat_mul(&low, den);
	cmp = nat_cmp(&n, &high);
	if (!isinf(r) && (cmp > 0 || (cmp == 0 && !even)))
		return false;
	cmp = nat_cmp(&n, &low);
	return r == 0 || cmp > 0 || (cmp == 0 && even);
}

static bool
nearest_double(double r, const Nat *num, const Nat *den, bool root)
{
	uint64_t	bits;

	memcpy(&bits, &r, sizeof(bits));
	return nearest(r, r == 0 ? 0 : nextafter(r, 0), nextafter(r, INFINITY),
				   (bits & 1) == 0, num, den, root);
}

static bool
nearest_float(float r, const Nat *num)
{
	uint32_t	bits;
	Nat			one = nat_of(1, 0);
	double		above = nextafterf(r, INFINITY);

	memcpy(&bits, &r, sizeof(bits));
	if (isinf(r))
	{
		/* at least halfway from FLT_MAX to 2^128, which is the even one */
		Nat			least = nat_of((UINT64_C(1) << 25) - 1, 103 + 1074);

		return nat_cmp(num, &least) >= 0;
	}
	return nearest(r, r == 0 ? 0 : nextafterf(r, 0), isinf(above) ? ldexp(1, 128) : above,
				   (bits & 1) == 0, num, &one, false);
}

/* ----
 * Bags of numbers
 * ----
 */

#define BAG_MAX 64

typedef struct Bag
{
	int			n;
	double		x[BAG_MAX];
	int64_t		times[BAG_MAX];
	DdirSuperacc sum;
	DdirSuperacc squares;
} Bag;

static void
bag_add(Bag *bag, DdirArena *arena, double x, int64_t times)
{
	bag->x[bag->n] = x;
	bag->times[bag->n++] = times;
	ddir_superacc_add(&bag->sum, arena, x, times);
	ddir_superacc_add_square(&bag->squares, arena, x, times);
}

static void
bag_remove(Bag *bag, DdirArena *arena, int i)
{
	ddir_superacc_add(&bag->sum, arena, bag->x[i], -bag->times[i]);
	ddir_superacc_add_square(&bag->squares, arena, bag->x[i], -bag->times[i]);
	bag->n--;
	bag->x[i] = bag->x[bag->n];
	bag->times[i] = bag->times[bag->n];
}

/* how many, the sum's sign and magnitude, and the sum of squares */
static uint64_t
bag_exact(const Bag *bag, bool *negative, Nat *sum, Nat *squares)
{
	Nat			part[2] = {{{0}}, {{0}}};
	uint64_t	count = 0;

	*squares = nat_of(0, 0);
	for (int i = 0; i < bag->n; i++)
	{
		Nat			x = nat_of_double(fabs(bag->x[i]));
		Nat			times = nat_of(bag->times[i], 0);
		Nat			x2 = nat_mul(&x, &x);

		x = nat_mul(&x, &times);
		x2 = nat_mul(&x2, &times);
		part[bag->x[i] < 0] = nat_add(part[bag->x[i] < 0], &x);
		*squares = nat_add(*squares, &x2);
		count += bag->times[i];
	}
	*negative = nat_cmp(&part[0], &part[1]) < 0;
	*sum = nat_sub(part[*negative], &part[!*negative]);
	return count;
}

static void
bag_check_variance(const Bag *bag, uint64_t n, const Nat *sum, const Nat *squares)
{
	Nat			count = nat_of(n, 0);
	Nat			num = nat_mul(squares, &count);
	Nat			s2 = nat_mul(sum, sum);
	Nat			unit = nat_of(1, 1074);

	num = nat_sub(num, &s2);
	for (int sample = 0; sample <= 1 && n > (uint64_t) sample; sample++)
	{
		Nat			less = nat_of(n - sample, 0);
		Nat			den = nat_mul(&count, &less);
		Nat			den1 = nat_mul(&den, &unit);

		CHECK(nearest_double(ddir_superacc_variance(&bag->sum, &bag->squares, n, sample, false),
							 &num, &den1, false));
		CHECK(nearest_double(ddir_superacc_variance(&bag->sum, &bag->squares, n, sample, true),
							 &num, &den, true));
	}
}

static void
bag_check(const Bag *bag)
{
	bool		negative;
	Nat			sum;
	Nat			squares;
	Nat			one = nat_of(1, 0);
	Nat			count;
	uint64_t	n = bag_exact(bag, &negative, &sum, &squares);
	double		r = ddir_superacc_sum(&bag->sum);
	float		f = ddir_superacc_sum_float(&bag->sum);

	CHECK(ddir_superacc_is_zero(&bag->sum) == (nat_len(&sum) == 0));
	CHECK(nat_len(&sum) == 0 || (signbit(r) != 0) == negative);
	CHECK(nearest_double(fabs(r), &sum, &one, false));
	CHECK(nearest_float(fabsf(f), &sum));
	if (n == 0)
		return;
	count = nat_of(n, 0);
	r = ddir_superacc_mean(&bag->sum, n);
	CHECK(nearest_double(fabs(r), &sum, &count, false));
	CHECK(nat_len(&sum) == 0 || (signbit(r) != 0) == negative);
	bag_check_variance(bag, n, &sum, &squares);
}

/* Bytes say what was added, not how; what is loaded from them goes on. */
static void
bag_through_bytes(Bag *bag, DdirArena *arena)
{
	Bag			fresh = {0};
	DdirBytes	bytes = {arena};
	DdirBytes	same = {arena};
	const uint8_t *from;

	for (int i = 0; i < bag->n; i++)
		bag_add(&fresh, arena, bag->x[i], bag->times[i]);
	ddir_superacc_save(&bag->sum, &bytes);
	ddir_superacc_save(&bag->squares, &bytes);
	ddir_superacc_save(&fresh.sum, &same);
	ddir_superacc_save(&fresh.squares, &same);
	CHECK(bytes.len == same.len && memcmp(bytes.p, same.p, same.len) == 0);
	ddir_superacc_free(&bag->sum);
	ddir_superacc_free(&bag->squares);
	from = bytes.p;
	ddir_superacc_load(&bag->sum, arena, &from);
	ddir_superacc_load(&bag->squares, arena, &from);
	CHECK(from == bytes.p + bytes.len);
	ddir_superacc_free(&fresh.sum);
	ddir_superacc_free(&fresh.squares);
	ddir_free(bytes.p);
	ddir_free(same.p);
}

/* Numbers of all sorts: any bits, or near each other, or few digits. */
static double
some_double(int sort)
{
	uint64_t	bits;
	double		x;

	switch (sort % 6)
	{
		case 0:					/* anything finite */
			do
			{
				bits = unit_random();
				memcpy(&x, &bits, sizeof(x));
			} while (!isfinite(x));
			return x;
		case 1:					/* denormal */
			bits = (unit_random() >> 12) | (unit_random() & UINT64_C(1) << 63);
			memcpy(&x, &bits, sizeof(x));
			return x;
		case 2:					/* money */
			return ((int) unit_below(2000001) - 1000000) / 100.0;
		case 3:					/* close to each other */
			return 1e9 + unit_below(1000) / 1024.0;
		case 4:					/* near the end */
			return (unit_chance(1, 2) ? 1 : -1) * ldexp(1 + unit_below(1000) / 1000.0, 1023);
		default:				/* powers of two of either sign: many ties */
			return (unit_chance(1, 2) ? 1 : -1) * ldexp(1, (int) unit_below(120) - 60);
	}
}

static void
random_bags(DdirArena *root)
{
	for (int round = 0; round < 600; round++)
	{
		Bag			bag = {0};
		int			sort = unit_below(7);

		for (int k = 0; k < 40; k++)
		{
			if (bag.n > 0 && (bag.n == BAG_MAX || unit_chance(2, 5)))
				bag_remove(&bag, root, unit_below(bag.n));
			else
				bag_add(&bag, root, some_double(sort == 6 ? (int) unit_below(6) : sort),
						unit_chance(1, 8) ? 1 + unit_below(1000000) : 1);
			if (unit_chance(1, 10))
				bag_through_bytes(&bag, root);
			if (unit_chance(1, 10))
				bag_check(&bag);
		}
		while (bag.n > 0)
			bag_remove(&bag, root, unit_below(bag.n));
		bag_check(&bag);
		CHECK(ddir_superacc_is_zero(&bag.squares));
		ddir_superacc_free(&bag.sum);
		ddir_superacc_free(&bag.squares);
	}
}

/* What naive summation gets wrong, by name. */
static void
cancellation(DdirArena *root)
{
	DdirSuperacc a = {0};

	ddir_superacc_add(&a, root, 1e100, 1);
	ddir_superacc_add(&a, root, 1, 1);
	ddir_superacc_add(&a, root, -1e100, 1);
	CHECK(ddir_superacc_sum(&a) == 1);
	ddir_superacc_add(&a, root, DBL_MAX, 1000);
	CHECK(isinf(ddir_superacc_sum(&a)));
	CHECK(isinf(ddir_superacc_sum_float(&a)));
	CHECK(ddir_superacc_mean(&a, 1000) == DBL_MAX);
	ddir_superacc_add(&a, root, DBL_MAX, -1000);
	CHECK(ddir_superacc_sum(&a) == 1);
	ddir_superacc_add(&a, root, 5e-324, 3);
	CHECK(ddir_superacc_sum(&a) == 1);
	ddir_superacc_add(&a, root, 1, -1);
	CHECK(ddir_superacc_sum(&a) == 15e-324);
	CHECK(ddir_superacc_mean(&a, 2) == 10e-324);	/* 7.5: tie to even */
	CHECK(ddir_superacc_mean(&a, 7) == 0);
	ddir_superacc_add(&a, root, 5e-324, -3);
	CHECK(ddir_superacc_is_zero(&a) && ddir_superacc_sum(&a) == 0);

	/* halfway between two doubles, and a trace beyond it */
	ddir_superacc_add(&a, root, 1, 1);
	ddir_superacc_add(&a, root, ldexp(1, -53), 1);
	CHECK(ddir_superacc_sum(&a) == 1);
	ddir_superacc_add(&a, root, 5e-324, 1);
	CHECK(ddir_superacc_sum(&a) == 1 + ldexp(1, -52));
	ddir_superacc_add(&a, root, 5e-324, -2);
	CHECK(ddir_superacc_sum(&a) == 1);
}

/* Counts as large as counts can be, and many additions without a carry. */
static void
many_times(DdirArena *root)
{
	static const int64_t times[] = {INT64_MAX, 1, INT64_C(1) << 29,
	(INT64_C(1) << 29) - 1, INT64_C(1) << 58, INT64_C(123456789012345678)};

	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 6; k++)
		{
			Bag			bag = {0};

			bag_add(&bag, root, some_double(k), times[i]);
			bag_through_bytes(&bag, root);
			bag_check(&bag);
			ddir_superacc_add(&bag.sum, root, bag.x[0], INT64_MIN);
			ddir_superacc_add(&bag.sum, root, bag.x[0], INT64_MAX);
			ddir_superacc_add(&bag.sum, root, bag.x[0], 1);
			bag_check(&bag);
			bag_remove(&bag, root, 0);
			bag_check(&bag);
		}
	{
		DdirSuperacc a = {0};

		/* digits of all ones, added to the brim between carries */
		for (int i = 0; i < 100; i++)
			ddir_superacc_add(&a, root, UINT32_MAX, (1 << PIECE_BITS) - 1);
		CHECK(ddir_superacc_sum(&a) == (double) UINT32_MAX * ((1 << PIECE_BITS) - 1) * 100);
		for (int i = 0; i < 200; i++)
			ddir_superacc_add(&a, root, UINT32_MAX, -(1 << PIECE_BITS) + 1);
		CHECK(ddir_superacc_sum(&a) == -(double) UINT32_MAX * ((1 << PIECE_BITS) - 1) * 100);
	}
}

/* Nothing is spent on lanes that were not touched. */
static void
lanes(DdirArena *root)
{
	DdirSuperacc a = {0};

	for (int i = 0; i < 1000; i++)
		ddir_superacc_add(&a, root, i / 128.0, 1);
	CHECK(a.n <= 3);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_superacc_add(&a, root, INFINITY, 1));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_superacc_mean(&a, 0));
}

/* No numbers there are have such sums. */
static void
impossible(DdirArena *root)
{
	DdirSuperacc sum = {0};
	DdirSuperacc squares = {0};

	ddir_superacc_add(&sum, root, 3, 1);
	ddir_superacc_add_square(&squares, root, 2, 1);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, ddir_superacc_variance(&sum, &squares, 1, false, false));
	ddir_superacc_add_square(&squares, root, 2, -2);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, ddir_superacc_variance(&sum, &squares, 2, true, true));
}

static void
failing_once(DdirArena *root)
{
	Bag			bag = {0};

	for (int k = 0; k < 20; k++)
		bag_add(&bag, root, some_double(0), 1);
	bag_check(&bag);
}

static void
failing(DdirArena *root)
{
	unit_fails_everywhere(failing_once, 1);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(random_bags), UNIT_CASE(cancellation), UNIT_CASE(many_times),
		UNIT_CASE(lanes), UNIT_CASE(impossible), UNIT_CASE(failing)
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
