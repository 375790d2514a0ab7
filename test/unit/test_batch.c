/*-------------------------------------------------------------------------
 *
 * test_batch.c
 *	  Batches and merges against a flat list.
 *
 * Both are tried with keys and vals of one width, of several, of none; with
 * and without lanes for time and diff; and merges with sides of very unequal
 * size, fuel in crumbs, and every kind of since.
 *
 * test/unit/test_batch.c
 *
 *-------------------------------------------------------------------------
 */
#include "oracle.h"

static const uint32_t widths[] = {8, 8, 16, 4, 24, 2, ANY, ANY};

static uint32_t
any_width(void)
{
	return widths[unit_below(UNIT_COUNT(widths))];
}

static DdirFrontier
frontier(DdirArena *arena, int coords, uint64_t x, uint64_t y)
{
	DdirFrontier f;
	uint64_t	t[DDIR_COORDS_MAX] = {x, y};

	ddir_frontier_init(&f, arena, coords);
	ddir_frontier_insert(&f, t);
	return f;
}

/* n random updates at times [from, to) of coordinate 0. */
static void
add_random(List *l, uint32_t n, int coords, uint32_t keys, uint32_t vals,
		   uint32_t from, uint32_t to, bool ones)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	t[DDIR_COORDS_MAX] = {from + unit_below(to - from), unit_below(3), 0, 0};

		list_add(l, unit_below(keys), unit_below(vals), t, coords,
				 ones ? 1 : (int64_t) unit_below(4) - 1);
	}
}

static DdirBatch *
build(DdirArena *root, const List *l, uint32_t first, int coords, const Widths *w,
	  const DdirFrontier *lower, const DdirFrontier *upper)
{
	DdirDeltas	d;
	DdirBatch  *b;

	ddir_deltas_init(&d, root, coords, true);
	for (uint32_t i = first; i < l->n; i++)
		push_update(&d, w, &l->u[i]);
	b = ddir_batch_build(root, &d, lower, upper);
	CHECK_EQ(d.n, 0);
	ddir_deltas_free(&d);
	check_batch(b);
	return b;
}

/* Find each key, also some that are not there, and add up its rows. */
static void
check_contents(const DdirBatch *b, const List *l, const Widths *w,
			   uint32_t keys, uint32_t vals, const uint64_t *t)
{
	int64_t    *sum = calloc(vals + 1, sizeof(int64_t));

	for (uint32_t k = 0; k < keys + 5; k++)
	{
		uint8_t		key[BYTES_MAX];
		uint32_t	len = number_bytes(k, w->key, key);
		uint32_t	end;
		uint32_t	i = ddir_batch_find(b, ddir_key_hash(key, len), key, len, &end);

		CHECK(k < keys || w->key < 4 || i == end);
		memset(sum, 0, (vals + 1) * sizeof(int64_t));
		for (; i < end; i++)
		{
			uint64_t	room;

			CHECK(is_number(ddir_batch_key(b, i, &room), k, w->key));
			if (ddir_time_le(ddir_batch_time(b, i), t, b->coords))
				sum[number_of(ddir_batch_val(b, i), vals, w->val)] += ddir_batch_diff(b, i);
		}
		CHECK_EQ(sum[vals], 0);
		for (uint32_t v = 0; v < vals && k < keys; v++)
			CHECK_EQ(sum[v], list_sum(l, k, v, t, b->coords));
	}
	free(sum);
}

static void
building(DdirArena *root)
{
	static const uint32_t counts[] = {0, 1, 5, 31, 32, 33, 200, 700};

	for (int i = 0; i < 150; i++)
	{
		Widths		w = {any_width(), any_width()};
		int			coords = 1 + unit_below(2);
		uint32_t	keys = 1 + unit_below(unit_chance(1, 2) ? 4 : 60);
		uint32_t	vals = 1 + unit_below(20);
		uint32_t	times = unit_chance(1, 2) ? 1 : 4;
		DdirFrontier lower = frontier(root, coords, 3, 0);
		DdirFrontier upper = frontier(root, coords, 3 + times, 0);
		List		l = {0};
		DdirBatch  *b;

		add_random(&l, counts[unit_below(UNIT_COUNT(counts))], coords, keys, vals,
				   3, 3 + times, unit_chance(1, 2));
		b = build(root, &l, 0, coords, &w, &lower, &upper);
		check_contents(b, &l, &w, keys, vals, AT(10, 10, 10, 10));
		check_contents(b, &l, &w, keys, vals, AT(4, 1, 0, 0));
		if (times == 1 && coords == 1)
			CHECK(b->time == NULL);
		CHECK(b->mixed == (w.key == 8) || b->n == 0 || w.key == ANY);
		CHECK(ddir_batch_bytes(b) > 0);
		ddir_batch_ref(b);
		ddir_batch_unref(b);
		CHECK(b->refs == 1);
		ddir_batch_unref(b);
		list_free(&l);
	}
}

/* Diffs that fit a byte, that do not, that are all +1. */
static void
diff_lanes(DdirArena *root)
{
	DdirFrontier lower = frontier(root, 1, 0, 0);
	DdirFrontier upper = frontier(root, 1, 1, 0);
	Widths		w = {8, 8};

	for (int kind = 0; kind < 3; kind++)
	{
		static const int64_t diffs[] = {1, -128, INT64_C(1) << 40};
		List		l = {0};
		DdirBatch  *b;

		for (uint32_t i = 0; i < 50; i++)
			list_add(&l, i, i, AT(0), 1, i == 30 ? diffs[kind] : 1);
		b = build(root, &l, 0, 1, &w, &lower, &upper);
		CHECK((b->diff8 != NULL) == (kind == 1));
		CHECK((b->diff != NULL) == (kind == 2));
		check_contents(b, &l, &w, 50, 50, AT(0));
		ddir_batch_unref(b);
		list_free(&l);
	}
}

/*
 * Two keys of one hash: a key of 8 bytes made to have the hash of another.
 */
static void
collision(DdirArena *root)
{
	DdirFrontier lower = frontier(root, 1, 0, 0);
	DdirFrontier upper = frontier(root, 1, 1, 0);
	uint64_t	hash = ddir_key_hash("abc", 3);
	uint64_t	twin = ddir_key_unmix(hash);
	uint32_t	end;
	DdirDeltas	d;
	DdirBatch  *b;

	CHECK(ddir_key_hash(&twin, 8) == hash);
	ddir_deltas_init(&d, root, 1, true);
	for (uint64_t i = 0; i < 200; i++)
	{
		ddir_deltas_push(&d, "abc", 3, &i, 8, NULL, 1);
		if (i % 2 == 0)
			ddir_deltas_push(&d, &twin, 8, &i, 8, NULL, 1);
		ddir_deltas_push(&d, &i, 8, &i, 8, NULL, 1);
	}
	b = ddir_batch_build(root, &d, &lower, &upper);
	check_batch(b);
	CHECK_EQ(ddir_batch_find(b, hash, "abc", 3, &end) + 200, end);
	CHECK_EQ(ddir_batch_find(b, hash, &twin, 8, &end) + 100, end);
	CHECK_EQ(ddir_batch_find(b, hash, "abd", 3, &end), end);
	ddir_batch_unref(b);

	/* a batch of 8-byte keys only has no lane to tell them apart */
	for (uint64_t i = 0; i < 200; i++)
		ddir_deltas_push(&d, &twin, 8, &i, 8, NULL, 1);
	b = ddir_batch_build(root, &d, &lower, &upper);
	CHECK(b->mixed);
	CHECK_EQ(ddir_batch_find(b, hash, "abc", 3, &end), end);
	CHECK_EQ(ddir_batch_find(b, hash, &twin, 8, &end) + 200, end);
	ddir_batch_unref(b);
}

/* Rows outside the bounds are refused. */
static void
bounds(DdirArena *root)
{
	DdirFrontier lower = frontier(root, 2, 3, 0);
	DdirFrontier upper = frontier(root, 2, 5, 0);
	static const uint64_t wrong[][2] = {{2, 9}, {5, 0}, {6, 1}};

	for (int i = 0; i < UNIT_COUNT(wrong); i++)
		for (int with = 0; with < 2; with++)
		{
			DdirDeltas	d;

			ddir_deltas_init(&d, root, 2, true);
			if (with)
				ddir_deltas_push(&d, "k", 1, "w", 1, AT(4, 7), 1);
			ddir_deltas_push(&d, "k", 1, "v", 1, wrong[i], 1);
			EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_batch_build(root, &d, &lower, &upper));
		}
}

static bool
same_column(const DdirColumn *a, const DdirColumn *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
	{
		DdirRef		x = ddir_column_ref(a, i);
		DdirRef		y = ddir_column_ref(b, i);

		if (x.len != y.len || (x.len > 0 && memcmp(x.p, y.p, x.len) != 0))
			return false;
	}
	return true;
}

static bool
same_batch(const DdirBatch *a, const DdirBatch *b)
{
	if (a->n != b->n || a->mixed != b->mixed || a->keys != b->keys)
		return false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->hash[i] != b->hash[i] ||
			ddir_batch_diff(a, i) != ddir_batch_diff(b, i) ||
			ddir_time_cmp(ddir_batch_time(a, i), ddir_batch_time(b, i), a->coords) != 0)
			return false;
	return same_column(&a->val, &b->val, a->n) &&
		(a->mixed || same_column(&a->key, &b->key, a->n));
}

static DdirBatch *
merge(DdirArena *root, DdirBatch *a, DdirBatch *b, const DdirFrontier *since, int64_t crumb)
{
	DdirMerge  *m = ddir_merge_begin(root, a, b, since);
	int64_t		fuel = crumb;

	while (!ddir_merge_work(m, &fuel))
	{
		CHECK(ddir_merge_bytes(m) > 0);
		fuel = crumb;
	}
	return ddir_merge_done(m);
}

/* What merging two lists means: advance, then build at once. */
static DdirBatch *
merge_by_building(DdirArena *root, const List *l, int coords, const Widths *w,
				  const DdirFrontier *lower, const DdirFrontier *since)
{
	List		moved = {0};
	DdirFrontier upper = frontier(root, coords, 100000, 0);
	DdirBatch  *b;

	for (uint32_t i = 0; i < l->n; i++)
	{
		Update		u = l->u[i];

		ddir_frontier_advance(since, u.t.c);
		list_add(&moved, u.key, u.val, u.t.c, coords, u.diff);
	}
	b = build(root, &moved, 0, coords, w, lower, &upper);
	list_free(&moved);
	return b;
}

/* Some since of a history whose times are 0..9. */
static DdirFrontier
random_since(DdirArena *root, int coords)
{
	DdirFrontier f = frontier(root, coords, unit_below(11), unit_below(2));

	if (coords > 1 && unit_chance(1, 2))
		ddir_frontier_insert(&f, AT(unit_below(9), 1 + unit_below(3), 0, 0));
	if (unit_chance(1, 10))
		f.n = 0;
	return f;
}

static void
merge_once(DdirArena *root)
{
	static const uint32_t counts[] = {0, 1, 3, 40, 300, 900};
	Widths		w = {any_width(), any_width()};
	int			coords = 1 + unit_below(2);
	uint32_t	keys = 1 + unit_below(unit_chance(1, 2) ? 3 : 400);
	uint32_t	vals = 1 + unit_below(unit_chance(1, 2) ? 3 : 40);
	uint32_t	times = unit_chance(1, 2) ? 1 : 5;
	bool		ones = unit_chance(1, 2);
	DdirFrontier f0 = frontier(root, coords, 0, 0);
	DdirFrontier f1 = frontier(root, coords, 5, 0);
	DdirFrontier f2 = frontier(root, coords, 10, 0);
	DdirFrontier since = random_since(root, coords);
	List		l = {0};
	DdirBatch  *a;
	DdirBatch  *b;
	DdirBatch  *crumbs;
	DdirBatch  *whole;
	DdirBatch  *built;
	uint32_t	first;

	add_random(&l, counts[unit_below(UNIT_COUNT(counts))], coords, keys, vals, 5 - times, 5, ones);
	a = build(root, &l, 0, coords, &w, &f0, &f1);
	first = l.n;
	add_random(&l, counts[unit_below(UNIT_COUNT(counts))], coords, keys, vals, 5, 5 + times, ones);
	/* retract some of what is there, so that rows vanish */
	for (uint32_t i = 0; i < first && unit_chance(9, 10); i++)
		if (unit_chance(1, 2))
			list_add(&l, l.u[i].key, l.u[i].val, AT(5, 0, 0, 0), coords, -l.u[i].diff);
	b = build(root, &l, first, coords, &w, &f1, &f2);

	crumbs = merge(root, a, b, &since, 1);
	whole = merge(root, a, b, &since, INT64_MAX);
	built = merge_by_building(root, &l, coords, &w, &f0, &since);
	CHECK(same_batch(crumbs, whole));
	CHECK(same_batch(whole, built));
	check_batch(whole);
	CHECK(ddir_frontier_equal(&whole->lower, &f0) && ddir_frontier_equal(&whole->upper, &f2));
	CHECK_EQ(a->refs, 1);
	CHECK_EQ(b->refs, 1);
	CHECK((whole->diff8 || whole->diff) == (built->diff8 || built->diff));
	CHECK(whole->time == NULL || built->time != NULL);

	ddir_batch_unref(a);
	ddir_batch_unref(b);
	ddir_batch_unref(crumbs);
	ddir_batch_unref(built);

	/* half-way abandoned */
	if (whole->n > 0)
	{
		DdirFrontier f3 = frontier(root, coords, 11, 0);
		DdirFrontier more = frontier(root, coords, 12, 0);
		DdirMerge  *m;
		int64_t		fuel = 1;

		first = l.n;
		add_random(&l, 300, coords, keys, vals, 10, 11, ones);
		b = build(root, &l, first, coords, &w, &f2, &f3);
		m = ddir_merge_begin(root, whole, b, &more);
		ddir_merge_work(m, &fuel);
		ddir_merge_abandon(m);
		CHECK_EQ(whole->refs, 1);
		ddir_batch_unref(b);
	}
	ddir_batch_unref(whole);
	list_free(&l);
}

static void
merging(DdirArena *root)
{
	for (int i = 0; i < 400; i++)
	{
		size_t		before = unit_live_blocks;
		DdirArena  *arena = ddir_arena_create(root, "round");

		merge_once(arena);
		ddir_arena_destroy(arena);
		CHECK_EQ(unit_live_blocks, before);
	}
}

/* A batch whose keys happen to have 8 bytes all, beside one that has others. */
static void
mixed_beside_varied(DdirArena *root)
{
	DdirFrontier f0 = frontier(root, 1, 0, 0);
	DdirFrontier f1 = frontier(root, 1, 1, 0);
	DdirFrontier f2 = frontier(root, 1, 2, 0);

	for (int order = 0; order < 2; order++)
	{
		DdirDeltas	d;
		DdirBatch  *batch[2];
		DdirBatch  *m;

		ddir_deltas_init(&d, root, 1, true);
		for (int k = 0; k < 2; k++)
		{
			bool		mixed = k == order;

			d.at.c[0] = k;
			for (uint64_t i = 0; i < 500; i++)
			{
				uint64_t	key[2] = {i, i};

				ddir_deltas_push(&d, key, mixed || i % 2 ? 8 : 12, &i, 3, NULL, 1);
			}
			batch[k] = ddir_batch_build(root, &d, k ? &f1 : &f0, k ? &f2 : &f1);
			CHECK(batch[k]->mixed == mixed);
		}
		m = merge(root, batch[0], batch[1], &f2, 7);
		check_batch(m);
		CHECK_EQ(m->n, 750);
		CHECK(!m->mixed);
		for (int k = 0; k < 2; k++)
			ddir_batch_unref(batch[k]);
		ddir_batch_unref(m);
	}
}

/* Sums that leave the byte, and come back to +1. */
static void
widening_diffs(DdirArena *root)
{
	DdirFrontier f0 = frontier(root, 1, 0, 0);
	DdirFrontier f1 = frontier(root, 1, 1, 0);
	DdirFrontier f2 = frontier(root, 1, 2, 0);
	Widths		w = {8, 8};
	List		l = {0};
	DdirBatch  *a;
	DdirBatch  *b;
	DdirBatch  *m;

	for (uint32_t i = 0; i < 300; i++)
		list_add(&l, i, i, AT(0), 1, i == 7 ? 100 : 1);
	a = build(root, &l, 0, 1, &w, &f0, &f1);
	for (uint32_t i = 0; i < 300; i++)
		list_add(&l, i, i, AT(1), 1, i == 7 ? 100 : i == 90 ? -1 : 1);
	b = build(root, &l, 300, 1, &w, &f1, &f2);
	CHECK(a->diff8 && b->diff8);
	m = merge(root, a, b, &f2, 1);
	CHECK(m->diff != NULL && m->diff8 == NULL);
	CHECK_EQ(m->n, 299);
	check_batch(m);
	check_contents(m, &l, &w, 300, 300, AT(2));
	ddir_batch_unref(b);
	ddir_batch_unref(m);

	/* -99 and nothing else: all are +1 again, and the lane goes */
	ddir_batch_unref(a);
	l.n = 300;
	a = build(root, &l, 0, 1, &w, &f0, &f1);
	list_add(&l, 7, 7, AT(1), 1, -99);
	b = build(root, &l, 300, 1, &w, &f1, &f2);
	m = merge(root, a, b, &f2, 1);
	CHECK(m->diff == NULL && m->diff8 == NULL);
	CHECK_EQ(m->n, 300);
	check_batch(m);
	ddir_batch_unref(a);
	ddir_batch_unref(b);
	ddir_batch_unref(m);
	list_free(&l);
}

/* One (key, val) with more times than a round has picks. */
static void
deep_history(DdirArena *root)
{
	DdirFrontier f0 = frontier(root, 2, 0, 0);
	DdirFrontier f1 = frontier(root, 2, 1000, 0);
	DdirFrontier f2 = frontier(root, 2, 2000, 0);
	DdirFrontier since = frontier(root, 2, 1500, 0);
	Widths		w = {8, 8};
	List		l = {0};
	DdirBatch  *a;
	DdirBatch  *b;
	DdirBatch  *m;
	DdirBatch  *built;

	for (uint32_t i = 0; i < 1000; i++)
		list_add(&l, i % 2, 1, AT(i, unit_below(50)), 2, 1);
	a = build(root, &l, 0, 2, &w, &f0, &f1);
	for (uint32_t i = 1000; i < 2000; i++)
		list_add(&l, i % 2, 1, AT(i, unit_below(50)), 2, 1);
	b = build(root, &l, 1000, 2, &w, &f1, &f2);
	m = merge(root, a, b, &since, 1);
	built = merge_by_building(root, &l, 2, &w, &f0, &since);
	CHECK(same_batch(m, built));
	CHECK(m->n < 700 && m->n > 500);
	check_batch(m);
	ddir_batch_unref(a);
	ddir_batch_unref(b);
	ddir_batch_unref(m);
	ddir_batch_unref(built);
	list_free(&l);
}

/* An empty neighbour widens a batch, and shares its lanes. */
static void
widened(DdirArena *root)
{
	DdirFrontier f[4];
	Widths		w = {8, 8};
	List		l = {0};
	List		none = {0};
	DdirBatch  *full;
	DdirBatch  *before;
	DdirBatch  *after;
	DdirBatch  *wide;
	DdirBatch  *wider;

	for (int i = 0; i < 4; i++)
		f[i] = frontier(root, 1, i, 0);
	add_random(&l, 100, 1, 20, 20, 1, 2, true);
	before = build(root, &none, 0, 1, &w, &f[0], &f[1]);
	full = build(root, &l, 0, 1, &w, &f[1], &f[2]);
	after = build(root, &none, 0, 1, &w, &f[2], &f[3]);
	wide = ddir_batch_widen(root, before, full);
	ddir_batch_unref(full);
	wider = ddir_batch_widen(root, wide, after);
	ddir_batch_unref(wide);
	CHECK(ddir_frontier_equal(&wider->lower, &f[0]) && ddir_frontier_equal(&wider->upper, &f[3]));
	CHECK(wider->hash == full->hash);
	check_batch(wider);
	check_contents(wider, &l, &w, 20, 20, AT(2));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_batch_widen(root, before, after));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_merge_begin(root, before, after, &f[0]));
	ddir_batch_unref(wider);
	ddir_batch_unref(before);
	ddir_batch_unref(after);
	list_free(&l);
}

static void
work_to_fail(DdirArena *root)
{
	DdirFrontier f0 = frontier(root, 2, 0, 0);
	DdirFrontier f1 = frontier(root, 2, 5, 0);
	DdirFrontier f2 = frontier(root, 2, 10, 0);
	Widths		w = {ANY, ANY};
	DdirDeltas	d;
	DdirBatch  *a;
	DdirBatch  *b;

	ddir_deltas_init(&d, root, 2, true);
	for (int k = 0; k < 200; k++)
	{
		Update		u = {k % 20, k % 7, {{k % 5, 1}}, 1};

		push_update(&d, &w, &u);
	}
	a = ddir_batch_build(root, &d, &f0, &f1);
	for (int k = 0; k < 200; k++)
	{
		Update		u = {k % 20, k % 7, {{5 + k % 5, 0}}, k % 3 ? 1 : 200};

		push_update(&d, &w, &u);
	}
	b = ddir_batch_build(root, &d, &f1, &f2);
	ddir_batch_unref(merge(root, a, b, &f2, 1));
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
		UNIT_CASE(building),
		UNIT_CASE(diff_lanes),
		UNIT_CASE(collision),
		UNIT_CASE(bounds),
		UNIT_CASE(merging),
		UNIT_CASE(mixed_beside_varied),
		UNIT_CASE(widening_diffs),
		UNIT_CASE(deep_history),
		UNIT_CASE(widened),
		UNIT_CASE(failing),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
