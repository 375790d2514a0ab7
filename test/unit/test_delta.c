/*-------------------------------------------------------------------------
 *
 * test_delta.c
 *	  Runs of deltas against a list sorted by comparison.
 *
 * The oracle keeps rows as structs, sorts them with qsort by what delta.h
 * promises, and sums; shapes of rows are drawn so that every short cut of the
 * consolidation is taken: keys and vals of one width or of any, few or many
 * of a key, times in a lane or not, equal prefixes.
 *
 * test/unit/test_delta.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/delta.h"

#include "unit.h"

typedef struct Row
{
	uint64_t	hash;
	uint8_t		key[40];
	uint32_t	keylen;
	uint8_t		val[40];
	uint32_t	vallen;
	DdirTime	t;
	int64_t		diff;
} Row;

/* How the rows of a case look. */
typedef struct Shape
{
	bool		keyed;
	int			coords;
	uint32_t	rows;
	uint32_t	keys;			/* different ones */
	uint32_t	key_width;		/* 0: any */
	uint32_t	vals;
	uint32_t	val_width;
	bool		same_prefix;	/* vals differ behind their first 8 bytes */
	uint32_t	times;			/* different ones; 1: no lane */
	bool		ones;			/* all diffs are +1 */
} Shape;

static int	coords_now;

static int
compare_rows(const void *x, const void *y)
{
	const Row  *a = x;
	const Row  *b = y;
	int			c;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	c = memcmp(a->key, b->key, a->keylen < b->keylen ? a->keylen : b->keylen);
	if (c == 0)
		c = (a->keylen > b->keylen) - (a->keylen < b->keylen);
	if (c == 0)
		c = memcmp(a->val, b->val, a->vallen < b->vallen ? a->vallen : b->vallen);
	if (c == 0)
		c = (a->vallen > b->vallen) - (a->vallen < b->vallen);
	if (c == 0)
		c = ddir_time_cmp(a->t.c, b->t.c, coords_now);
	return c;
}

static uint32_t
sum_rows(Row *rows, uint32_t n)
{
	uint32_t	kept = 0;

	qsort(rows, n, sizeof(Row), compare_rows);
	for (uint32_t i = 0; i < n;)
	{
		Row			r = rows[i];

		for (i++; i < n && compare_rows(&rows[i], &r) == 0; i++)
			r.diff += rows[i].diff;
		if (r.diff != 0)
			rows[kept++] = r;
	}
	return kept;
}

/* The bytes of the k-th thing, of a width or any. */
static uint32_t
make_bytes(uint8_t *to, uint32_t k, uint32_t width, bool same_prefix)
{
	uint64_t	mixed = ddir_key_mix(k + 1);
	uint32_t	len = width ? width : mixed % 33;

	memset(to, 'x', 40);
	for (uint32_t i = same_prefix && len > 8 ? 8 : 0; i < len; i++)
		to[i] = (uint8_t) (mixed >> (i % 8 * 8));
	return len;
}

static void
make_row(const Shape *s, Row *r)
{
	memset(r, 0, sizeof(*r));
	if (s->keyed)
		r->keylen = make_bytes(r->key, unit_below(s->keys), s->key_width, false);
	r->vallen = make_bytes(r->val, unit_below(s->vals), s->val_width, s->same_prefix);
	memset(r->key + r->keylen, 0, sizeof(r->key) - r->keylen);
	memset(r->val + r->vallen, 0, sizeof(r->val) - r->vallen);
	for (int c = 0; c < s->coords; c++)
		r->t.c[c] = s->times > 1 ? unit_below(s->times) : 7;
	r->diff = s->ones ? 1 : (int64_t) unit_below(5) - 2;
	r->hash = s->keyed ? ddir_key_hash(r->key, r->keylen) : ddir_key_hash(r->val, r->vallen);
}

static void
push_row(const Shape *s, DdirDeltas *d, const Row *r)
{
	if (unit_chance(1, 2))
		ddir_deltas_push(d, r->key, r->keylen, r->val, r->vallen, r->t.c, r->diff);
	else
	{
		/* more room than is used in the end */
		memcpy(ddir_deltas_val_room(d, r->vallen + unit_below(100)), r->val, r->vallen);
		if (s->keyed)
			memcpy(ddir_deltas_key_room(d, r->keylen + unit_below(100)), r->key, r->keylen);
		ddir_deltas_close(d, r->keylen, r->vallen, s->times > 1 ? r->t.c : NULL, r->diff, 5);
	}
}

static void
check_rows(const DdirDeltas *d, const Row *rows, uint32_t n)
{
	CHECK_EQ(d->n, n);
	for (uint32_t i = 0; i < n && i < d->n; i++)
	{
		DdirRef		val = ddir_lane_ref(&d->val, i);
		bool		same = val.len == rows[i].vallen && memcmp(val.p, rows[i].val, val.len) == 0;

		if (d->keyed)
		{
			DdirRef		key = ddir_lane_ref(&d->key, i);

			same &= key.len == rows[i].keylen && memcmp(key.p, rows[i].key, key.len) == 0;
		}
		same &= d->hash[i] == rows[i].hash && d->diff[i] == rows[i].diff;
		same &= ddir_time_cmp(ddir_deltas_time(d, i), rows[i].t.c, d->coords) == 0;
		CHECK(same);
	}
}

static void
check_shape(DdirArena *root, const Shape *s)
{
	Row		   *rows = calloc(s->rows + 1, sizeof(Row));
	DdirDeltas	d;
	DdirDeltas	copy;
	uint32_t	n;

	coords_now = s->coords;
	ddir_deltas_init(&d, root, s->coords, s->keyed);
	for (int c = 0; c < s->coords; c++)
		d.at.c[c] = 7;
	for (uint32_t i = 0; i < s->rows; i++)
	{
		make_row(s, &rows[i]);
		push_row(s, &d, &rows[i]);
	}
	CHECK_EQ(d.n, s->rows);
	CHECK((d.time == NULL) == (s->times == 1 || s->rows == 0));

	/* append half and half gives the same */
	ddir_deltas_init(&copy, root, s->coords, s->keyed);
	copy.tracked = true;
	ddir_deltas_append(&copy, &d);
	ddir_deltas_append(&copy, &d);
	CHECK_EQ(copy.n, 2 * s->rows);
	ddir_deltas_consolidate(&copy);

	ddir_deltas_consolidate(&d);
	n = sum_rows(rows, s->rows);
	check_rows(&d, rows, n);
	for (uint32_t i = 0; i < n; i++)
		rows[i].diff *= 2;
	check_rows(&copy, rows, n);

	/* consolidating again changes nothing; clearing and refilling works */
	ddir_deltas_consolidate(&copy);
	check_rows(&copy, rows, n);
	ddir_deltas_clear(&d);
	CHECK(d.n == 0 && d.time == NULL);
	for (uint32_t i = 0; i < n; i++)
		push_row(s, &d, &rows[i]);
	ddir_deltas_consolidate(&d);
	check_rows(&d, rows, n);
	CHECK(ddir_deltas_bytes(&d) > 0 || n == 0);

	ddir_deltas_free(&d);
	ddir_deltas_free(&copy);
	free(rows);
}

static void
consolidation(DdirArena *root)
{
	static const uint32_t counts[] = {0, 1, 2, 23, 24, 25, 300, 5000};
	static const uint32_t widths[] = {0, 1, 8, 16};

	for (int i = 0; i < 400; i++)
	{
		Shape		s = {
			.keyed = unit_chance(3, 4),
			.coords = 1 + unit_below(3),
			.rows = counts[unit_below(i % 20 ? 7 : 8)],
			.keys = unit_chance(1, 2) ? 1 + unit_below(4) : 1 + unit_below(1000),
			.key_width = widths[unit_below(4)],
			.vals = unit_chance(1, 2) ? 1 + unit_below(4) : 1 + unit_below(1000),
			.val_width = widths[unit_below(4)],
			.same_prefix = unit_chance(1, 3),
			.times = unit_chance(1, 2) ? 1 : 1 + unit_below(5),
			.ones = unit_chance(1, 3),
		};

		check_shape(root, &s);
	}
}

/* Large, so that radix passes have more than one digit. */
static void
large(DdirArena *root)
{
	Shape		s = {.keyed = true,.coords = 1,.rows = 100000,.keys = 20000,
	.key_width = 8,.vals = 50,.val_width = 8,.times = 1,.ones = true};

	check_shape(root, &s);
	s.keys = 1;
	s.vals = 60000;
	check_shape(root, &s);
	s.val_width = 0;
	s.same_prefix = true;
	check_shape(root, &s);
	s.keyed = false;
	s.times = 3;
	check_shape(root, &s);
}

/*
 * Hashes that agree in most bits: the digits must be found where they differ.
 * (Pushed keys are unmixed from the hash wanted.)
 */
static void
chosen_hashes(DdirArena *root)
{
	static const uint64_t masks[] = {0, 0xff, UINT64_C(0xff00000000000000),
	UINT64_C(0x8000000000000001), UINT64_C(0x0000f00000f00000), UINT64_C(0xffff)};

	for (int m = 0; m < UNIT_COUNT(masks); m++)
	{
		DdirDeltas	d;
		bool		sorted = true;

		ddir_deltas_init(&d, root, 1, true);
		for (int i = 0; i < 3000; i++)
		{
			uint64_t	key = ddir_key_unmix(unit_random() & masks[m]);
			uint64_t	val = unit_random();

			ddir_deltas_push(&d, &key, sizeof(key), &val, sizeof(val), NULL, 1);
		}
		ddir_deltas_consolidate(&d);
		CHECK_EQ(d.n, 3000);
		for (uint32_t i = 1; i < d.n; i++)
			sorted &= d.hash[i - 1] < d.hash[i] ||
				(d.hash[i - 1] == d.hash[i] &&
				 memcmp(d.val.bytes + 8 * (i - 1), d.val.bytes + 8 * i, 8) < 0);
		CHECK(sorted);
		ddir_deltas_free(&d);
	}
}

static void
hashing(DdirArena *root)
{
	for (int i = 0; i < 10000; i++)
	{
		uint64_t	x = i < 100 ? (uint64_t) i : unit_random();

		CHECK(ddir_key_unmix(ddir_key_mix(x)) == x);
		CHECK(ddir_key_mix(ddir_key_unmix(x)) == x);
		CHECK(ddir_key_hash(&x, sizeof(x)) == ddir_key_mix(x));
	}
	CHECK(ddir_key_hash("abc", 3) == UINT64_C(0x78af5f94892f3950));
	CHECK(ddir_bytes_cmp("ab", 2, "abc", 3) < 0);
	CHECK(ddir_bytes_cmp("b", 1, "abc", 3) > 0);
	CHECK(ddir_bytes_cmp("", 0, "", 0) == 0);
	CHECK(ddir_bytes_cmp("12345678\xff", 9, "12345678\x01", 9) > 0);
	CHECK(ddir_bytes_cmp("\xff" "2345678", 8, "\x01" "2345678", 8) > 0);
	CHECK(ddir_bytes_prefix((const uint8_t *) "\x01", 1) == UINT64_C(0x0100000000000000));
}

/* "at" and the time lane. */
static void
times(DdirArena *root)
{
	DdirDeltas	d;
	DdirDeltas	e;
	uint64_t	t[2] = {3, 4};
	uint64_t	u[2] = {3, 5};

	ddir_deltas_init(&d, root, 2, false);
	ddir_deltas_init(&e, root, 2, false);
	memcpy(d.at.c, t, sizeof(t));
	ddir_deltas_push(&d, NULL, 0, "a", 1, NULL, 1);
	ddir_deltas_push(&d, NULL, 0, "b", 1, t, 1);
	CHECK(d.time == NULL);

	/* an empty run takes over the time of what is appended */
	ddir_deltas_append(&e, &d);
	CHECK(e.time == NULL && e.at.c[1] == 4);
	ddir_deltas_push(&d, NULL, 0, "a", 1, u, -1);
	CHECK(d.time != NULL);
	CHECK(ddir_deltas_time(&d, 0)[1] == 4 && ddir_deltas_time(&d, 2)[1] == 5);
	ddir_deltas_push(&d, NULL, 0, "a", 1, NULL, -1);
	ddir_deltas_append(&e, &d);
	CHECK(e.time != NULL && e.n == 6);

	/* what is left after cancelling has one time again */
	ddir_deltas_push(&d, NULL, 0, "a", 1, u, 1);
	ddir_deltas_consolidate(&d);
	CHECK_EQ(d.n, 1);
	CHECK(d.time == NULL);
	ddir_deltas_spread_time(&d);
	CHECK(d.time != NULL && d.time[0] == 3 && d.time[1] == 4);

	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_deltas_init(&e, root, 5, false));
	ddir_deltas_init(&e, root, 1, false);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_deltas_append(&e, &d));
	ddir_deltas_init(&e, root, 2, true);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_deltas_append(&e, &d));
}

/*
 * What is held back is what is left after cancelling: +1 at 5 and -1 at 5 net
 * to nothing and hold nothing, however they came.
 */
static void
splitting(DdirArena *root)
{
	DdirDeltas	d;
	DdirDeltas	rest;
	DdirFrontier upper;
	DdirFrontier held;

	ddir_deltas_init(&d, root, 1, true);
	ddir_deltas_init(&rest, root, 1, true);
	ddir_frontier_init(&upper, root, 1);
	ddir_frontier_init(&held, root, 1);
	ddir_frontier_insert(&upper, AT(4));

	ddir_deltas_push(&d, "k", 1, "a", 1, AT(5), 1);
	for (int i = 0; i < 100; i++)
		ddir_deltas_push(&d, "k", 1, "b", 1, AT(i % 4), 1);
	ddir_deltas_push(&d, "k", 1, "c", 1, AT(7), 1);
	ddir_deltas_push(&d, "k", 1, "a", 1, AT(5), -1);
	ddir_deltas_split(&d, &upper, &rest, &held);
	CHECK_EQ(d.n, 4);
	CHECK_EQ(d.diff[3], 25);
	CHECK_EQ(rest.n, 1);
	CHECK_EQ(held.n, 1);
	CHECK_EQ(held.elem[0].c[0], 7);

	/* nothing kept: the empty frontier */
	ddir_deltas_split(&d, &upper, &rest, &held);
	CHECK_EQ(d.n, 4);
	CHECK_EQ(held.n, 0);
	ddir_frontier_insert(&upper, AT(0));
	ddir_deltas_split(&d, &upper, &rest, &held);
	CHECK_EQ(d.n, 0);
	CHECK_EQ(rest.n, 5);
	CHECK_EQ(held.elem[0].c[0], 0);
}

/* A function: rows whose first byte is even twice, others to the errors. */
static bool
even_twice(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	for (uint32_t i = 0; i < in->n; i++)
	{
		DdirRef		r = in->ref[0][i];
		bool		even = r.p[0] % 2 == 0;

		for (int k = 0; k < (even ? 2 : 1); k++)
		{
			DdirDeltas *to = even ? out : err;

			memcpy(ddir_deltas_val_room(to, r.len), r.p, r.len);
			if (to->keyed)
				memcpy(ddir_deltas_key_room(to, r.len), r.p, r.len);
			ddir_deltas_close(to, r.len, r.len, ddir_bundle_time(in, i), in->diff[i], i);
		}
	}
	return ctx == NULL;
}

static void
apply_function(DdirArena *root, bool lane)
{
	DdirFunc	f = {even_twice, NULL};
	DdirFunc	failing = {even_twice, root};
	DdirDeltas	in;
	DdirDeltas	out;
	DdirDeltas	err;
	uint32_t	rows = 3 * DDIR_CHUNK_ROWS + 17;
	uint32_t	o = 0;
	uint32_t	e = 0;
	bool		good = true;

	ddir_deltas_init(&in, root, 1, false);
	ddir_deltas_init(&out, root, 1, true);
	ddir_deltas_init(&err, root, 1, false);
	out.tracked = err.tracked = true;
	in.at.c[0] = 9;
	for (uint32_t i = 0; i < rows; i++)
	{
		uint64_t	val = unit_random();
		uint64_t	t = lane ? i % 3 : 9;

		ddir_deltas_push(&in, NULL, 0, &val, sizeof(val), &t, i + 1);
	}
	ddir_func_apply(&f, &in, &out, &err);
	for (uint32_t i = 0; i < rows; i++)
	{
		bool		even = in.val.bytes[8 * i] % 2 == 0;

		for (int k = 0; k < (even ? 2 : 1); k++)
		{
			DdirDeltas *to = even ? &out : &err;
			uint32_t	at = even ? o++ : e++;

			good &= to->from[at] == i && to->diff[at] == i + 1;
			good &= ddir_deltas_time(to, at)[0] == (lane ? i % 3 : 9);
			good &= memcmp(to->val.bytes + 8 * (size_t) at, in.val.bytes + 8 * (size_t) i, 8) == 0;
		}
	}
	CHECK(good);
	CHECK_EQ(out.n, o);
	CHECK_EQ(err.n, e);
	CHECK(lane || (out.time == NULL && err.time == NULL));
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, ddir_func_apply(&failing, &in, &out, &err));
}

static void
functions(DdirArena *root)
{
	apply_function(root, false);
	apply_function(root, true);
}

/* More than a lane may hold is an error, not an overrun. */
static void
limits(DdirArena *root)
{
	DdirDeltas	d;

	ddir_deltas_init(&d, root, 1, false);
	EXPECT_ERROR(DDIR_ERROR_MEMORY, ddir_deltas_val_room(&d, (size_t) UINT32_MAX + 1));
	EXPECT_ERROR(DDIR_ERROR_MEMORY, ddir_deltas_grow(&d, UINT32_C(1) << 31));
	ddir_deltas_push(&d, NULL, 0, NULL, 0, NULL, 1);
	ddir_deltas_push(&d, NULL, 0, NULL, 0, NULL, 1);
	ddir_deltas_consolidate(&d);
	CHECK_EQ(d.n, 1);
	CHECK_EQ(d.diff[0], 2);
}

static void
work_to_fail(DdirArena *root)
{
	Shape		s = {.keyed = true,.coords = 2,.rows = 60,.keys = 5,
	.key_width = 0,.vals = 50,.val_width = 0,.times = 3};
	DdirDeltas	d;
	DdirDeltas	e;

	ddir_deltas_init(&d, root, 2, true);
	ddir_deltas_init(&e, root, 2, true);
	e.tracked = true;
	for (uint32_t i = 0; i < s.rows; i++)
	{
		Row			r;

		make_row(&s, &r);
		push_row(&s, &d, &r);
	}
	ddir_deltas_append(&e, &d);
	ddir_deltas_consolidate(&d);
	ddir_deltas_consolidate(&e);
	ddir_deltas_append(&e, &d);
}

/* What is left of a run is as it was, and it goes on from there. */
static void
truncating(DdirArena *root)
{
	for (int keyed = 0; keyed < 2; keyed++)
	{
		DdirDeltas	d;
		uint64_t	later = 7;

		ddir_deltas_init(&d, root, 1, keyed);
		ddir_deltas_truncate(&d, 0);
		ddir_deltas_push(&d, "k", 1, "one", 3, NULL, 1);
		ddir_deltas_push(&d, "key", 3, "second", 6, &later, -2);
		ddir_deltas_truncate(&d, 1);
		ddir_deltas_push(&d, "kk", 2, "zwei", 4, NULL, 3);
		ddir_check(d.n == 2 && d.diff[0] == 1 && d.diff[1] == 3);
		ddir_check(ddir_lane_ref(&d.val, 1).len == 4 && memcmp(ddir_lane_ref(&d.val, 1).p, "zwei", 4) == 0);
		ddir_check(!keyed || ddir_lane_ref(&d.key, 1).len == 2);
		ddir_check(ddir_deltas_time(&d, 1)[0] == d.at.c[0]);
		ddir_deltas_truncate(&d, 0);
		ddir_check(d.n == 0 && d.val.len == 0 && d.time == NULL);
		ddir_deltas_free(&d);
	}
}

static void
failing(DdirArena *root)
{
	unit_fails_everywhere(work_to_fail, 1);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(hashing),
		UNIT_CASE(times),
		UNIT_CASE(consolidation),
		UNIT_CASE(large),
		UNIT_CASE(chosen_hashes),
		UNIT_CASE(splitting),
		UNIT_CASE(functions),
		UNIT_CASE(limits),
		UNIT_CASE(truncating),
		UNIT_CASE(failing),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
