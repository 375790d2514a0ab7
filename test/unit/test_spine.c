/*-------------------------------------------------------------------------
 *
 * test_spine.c
 *	  Traces: whatever is merged whenever, what can be read does not change.
 *
 * The adversary inserts batches of random size under frontiers of any shape,
 * moves readers, gives fuel as it likes; the oracle is a flat list that is
 * never compacted.  At all times beyond since the two must add up alike.
 *
 * test/unit/test_spine.c
 *
 *-------------------------------------------------------------------------
 */
#include "oracle.h"

#define READERS 3

typedef struct World
{
	DdirArena  *arena;
	int			coords;
	uint32_t	keys;
	uint32_t	vals;
	Widths		w;
	DdirSpine  *s;
	DdirReader *reader[READERS];
	List		list;
	DdirDeltas	rows;
} World;

static void
world_init(World *w, DdirArena *root, int coords)
{
	memset(w, 0, sizeof(*w));
	w->arena = root;
	w->coords = coords;
	w->keys = 1 + unit_below(6);
	w->vals = 1 + unit_below(4);
	w->w.key = unit_chance(1, 2) ? 8 : ANY;
	w->w.val = unit_chance(1, 2) ? 8 : ANY;
	w->s = ddir_spine_create(root, coords);
	ddir_deltas_init(&w->rows, root, coords, true);
}

static void
world_free(World *w)
{
	ddir_spine_destroy(w->s);
	ddir_deltas_free(&w->rows);
	list_free(&w->list);
}

/* A frontier not before f: joined with a random one a little further on. */
static DdirFrontier
later(DdirArena *arena, const DdirFrontier *f)
{
	DdirFrontier g;
	DdirTime	floor = {{0}};
	int			elements = 1 + unit_below(f->coords);

	ddir_frontier_init(&g, arena, f->coords);
	ddir_frontier_floor(f, floor.c);
	for (int i = 0; i < elements; i++)
	{
		DdirTime	t = floor;

		t.c[0] += unit_below(3);
		if (f->coords > 1)
			t.c[1] = unit_below(4);
		ddir_frontier_insert(&g, t.c);
	}
	ddir_frontier_join(&g, f);
	return g;
}

/* Insert up to n rows between the trace's upper and a later one. */
static void
insert_rows(World *w, uint32_t n, const DdirFrontier *upper)
{
	DdirFrontier lower;
	DdirTime	floor = {{0}};

	ddir_frontier_init(&lower, w->arena, w->coords);
	ddir_frontier_copy(&lower, ddir_spine_upper(w->s));
	ddir_frontier_floor(&lower, floor.c);
	for (uint32_t i = 0; i < n; i++)
	{
		Update		u = {unit_below(w->keys), unit_below(w->vals), floor,
		unit_chance(2, 3) ? 1 : -1};

		u.t.c[0] += unit_below(4);
		if (w->coords > 1)
			u.t.c[1] = unit_below(5);
		if (!ddir_frontier_beyond(&lower, u.t.c) || ddir_frontier_beyond(upper, u.t.c))
			continue;
		push_update(&w->rows, &w->w, &u);
		list_add(&w->list, u.key, u.val, u.t.c, w->coords, u.diff);
	}
	ddir_spine_insert(w->s, ddir_batch_build(w->arena, &w->rows, &lower, upper));
	CHECK(ddir_frontier_equal(ddir_spine_upper(w->s), upper));
	ddir_frontier_free(&lower);
}

/* Batches tile the time from the least to upper, and all is counted. */
static void
check_batches(World *w)
{
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	int			n = ddir_spine_batches(w->s, list);
	uint64_t	rows = 0;
	size_t		bytes = 0;

	CHECK(n <= DDIR_SPINE_BATCHES_MAX);
	for (int i = 0; i < n; i++)
	{
		check_batch(list[i]);
		CHECK(i == 0 || ddir_frontier_equal(&list[i - 1]->upper, &list[i]->lower));
		CHECK(ddir_frontier_le(&list[i]->since, ddir_spine_since(w->s)));
		rows += list[i]->n;
		bytes += ddir_batch_bytes(list[i]);
	}
	if (n > 0)
		CHECK(ddir_frontier_equal(&list[n - 1]->upper, ddir_spine_upper(w->s)));
	CHECK_EQ(rows, ddir_spine_rows(w->s));
	CHECK(bytes <= ddir_spine_bytes(w->s));
}

static int64_t
sum_before(World *w, uint32_t key, uint32_t val, const uint64_t *t, bool strict)
{
	int64_t		sum = 0;

	for (uint32_t i = 0; i < w->list.n; i++)
	{
		const Update *u = &w->list.u[i];

		if (u->key == key && u->val == val && ddir_time_le(u->t.c, t, w->coords) &&
			!(strict && ddir_time_cmp(u->t.c, t, w->coords) == 0))
			sum += u->diff;
	}
	return sum;
}

/* Read all keys through a cursor at t. */
static void
check_cursor(World *w, const uint64_t *t, bool strict)
{
	static DdirCursor c;
	uint64_t   *seen = calloc(w->vals + 1, sizeof(uint64_t));

	ddir_cursor_open(&c, w->s, t, strict);
	for (uint32_t k = 0; k < w->keys + 1; k++)
	{
		uint8_t		key[BYTES_MAX];
		uint32_t	len = number_bytes(k, w->w.key, key);
		uint8_t		before[BYTES_MAX];
		uint32_t	beforelen = 0;
		uint32_t	from = unit_below(w->vals);
		uint8_t		low[BYTES_MAX];
		uint32_t	lowlen = number_bytes(from, w->w.val, low);
		bool		skip = unit_chance(1, 3);
		bool		first = true;
		DdirRef		val;
		int64_t		diff;

		memset(seen, 0, (w->vals + 1) * sizeof(uint64_t));
		ddir_cursor_seek(&c, ddir_key_hash(key, len), key, len);
		if (skip)
			ddir_cursor_seek_val(&c, low, lowlen);
		while (ddir_cursor_next(&c, &val, &diff))
		{
			uint32_t	v = number_of(val, w->vals, w->w.val);

			CHECK(first || ddir_bytes_cmp(before, beforelen, val.p, val.len) < 0);
			first = false;
			beforelen = val.len;
			memcpy(before, val.p, val.len);
			CHECK(v < w->vals && k < w->keys);
			CHECK(!skip || ddir_bytes_cmp(low, lowlen, val.p, val.len) <= 0);
			CHECK_EQ(diff, sum_before(w, k, v, t, strict));
			seen[v]++;
		}
		for (uint32_t v = 0; v < w->vals && k < w->keys; v++)
		{
			uint8_t		bytes[BYTES_MAX];
			uint32_t	vlen = number_bytes(v, w->w.val, bytes);

			if (skip && ddir_bytes_cmp(bytes, vlen, low, lowlen) < 0)
				continue;
			CHECK_EQ(seen[v], sum_before(w, k, v, t, strict) != 0);
		}
	}
	free(seen);
}

/*
 * A strict reading at t is promised where since is at least one step back;
 * one that is not strict wherever t is beyond since.
 */
static void
check_reading(World *w)
{
	const DdirFrontier *since = ddir_spine_since(w->s);
	DdirFrontier step;
	DdirTime	top = {{0}};

	if (since->n == 0)
		return;
	ddir_frontier_init(&step, w->arena, w->coords);
	ddir_frontier_floor(ddir_spine_upper(w->s), top.c);
	for (int i = 0; i < 6; i++)
	{
		DdirTime	t = {{0}};
		bool		after = true;

		t.c[0] = unit_below(top.c[0] + 5);
		if (w->coords > 1)
			t.c[1] = unit_below(6);
		if (!ddir_frontier_beyond(since, t.c))
			continue;
		check_cursor(w, t.c, false);
		for (int k = 0; k < w->coords; k++)
			after &= t.c[k] > 0;
		if (!after)
			continue;
		step.n = 0;
		ddir_frontier_insert(&step, t.c);
		ddir_frontier_step_back(&step, &step);
		if (ddir_frontier_le(since, &step))
			check_cursor(w, t.c, true);
	}
	ddir_frontier_free(&step);
}

static void
move_readers(World *w)
{
	int			k = unit_below(READERS);
	DdirReader **r = &w->reader[k];
	DdirFrontier f;

	if (*r == NULL)
	{
		if (ddir_spine_since(w->s)->n > 0)
			*r = ddir_reader_create(w->s);
		return;
	}
	switch (unit_below(6))
	{
		case 0:
			ddir_reader_drop(*r);
			*r = NULL;
			break;
		case 1:
		case 2:
			ddir_reader_set_physical(*r, ddir_spine_upper(w->s));
			break;
		default:
			f = later(w->arena, ddir_spine_since(w->s));
			if (ddir_frontier_le(&f, ddir_spine_upper(w->s)))
				ddir_reader_set_logical(*r, &f);
			ddir_frontier_free(&f);
			break;
	}
}

static void
random_world(DdirArena *root, int coords)
{
	World		w;

	world_init(&w, root, coords);
	if (unit_chance(1, 4))
		ddir_spine_set_limit(w.s, 20);
	w.reader[0] = ddir_reader_create(w.s);
	for (int step = 0; step < 40; step++)
	{
		DdirFrontier upper = later(root, ddir_spine_upper(w.s));

		if (!ddir_frontier_equal(&upper, ddir_spine_upper(w.s)))
			insert_rows(&w, unit_chance(1, 3) ? 0 : unit_below(unit_chance(1, 5) ? 100 : 8), &upper);
		ddir_frontier_free(&upper);
		for (uint32_t i = unit_below(3); i > 0; i--)
			move_readers(&w);
		if (unit_chance(1, 3))
			ddir_spine_exert(w.s, unit_below(30));
		check_batches(&w);
		check_reading(&w);
	}
	world_free(&w);
}

static void
accumulation(DdirArena *root)
{
	for (int i = 0; i < 60; i++)
	{
		size_t		before = unit_live_blocks;
		DdirArena  *arena = ddir_arena_create(root, "world");

		random_world(arena, 1 + i % 3);
		ddir_arena_destroy(arena);
		CHECK_EQ(unit_live_blocks, before);
	}
}

static DdirFrontier
at(DdirArena *arena, uint64_t t)
{
	DdirFrontier f;

	ddir_frontier_init(&f, arena, 1);
	ddir_frontier_insert(&f, &t);
	return f;
}

/* n rows (key, val) = (base + i, 0) at the trace's upper, which moves by one. */
static void
insert_range(DdirSpine *s, DdirArena *arena, uint64_t base, uint32_t n, int64_t diff)
{
	uint64_t	now = ddir_spine_upper(s)->elem[0].c[0];
	DdirFrontier lower = at(arena, now);
	DdirFrontier upper = at(arena, now + 1);
	DdirDeltas	d;

	ddir_deltas_init(&d, arena, 1, true);
	d.at.c[0] = now;
	for (uint64_t key = base; key < base + n; key++)
	{
		uint64_t	val = 0;

		ddir_deltas_push(&d, &key, 8, &val, 8, NULL, diff);
	}
	ddir_spine_insert(s, ddir_batch_build(arena, &d, &lower, &upper));
	ddir_deltas_free(&d);
	ddir_frontier_free(&lower);
	ddir_frontier_free(&upper);
}

/* Cuts are possible exactly where the reader's physical frontier allows. */
static void
cutting(DdirArena *root)
{
	DdirSpine  *s = ddir_spine_create(root, 1);
	DdirReader *r = ddir_reader_create(s);
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	DdirFrontier f;

	for (int i = 0; i < 10; i++)
		insert_range(s, root, 10 * i, 10, 1);
	CHECK_EQ(ddir_spine_batches(s, list), 10);
	for (int i = 0; i <= 10; i++)
	{
		f = at(root, i);
		CHECK_EQ(ddir_spine_batches_through(s, &f, list), i);
	}

	f = at(root, 6);
	ddir_reader_set_physical(r, &f);
	while (ddir_spine_exert(s, 100))
		;
	CHECK_EQ(ddir_spine_batches(s, list), 5);
	CHECK_EQ(ddir_spine_batches_through(s, &f, list), 1);
	CHECK_EQ(list[0]->n, 60);
	f = at(root, 8);
	CHECK_EQ(ddir_spine_batches_through(s, &f, list), 3);
	f = at(root, 5);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_spine_batches_through(s, &f, list));

	/* a second reader starts where the trace is */
	ddir_reader_create(s);
	f = at(root, 10);
	ddir_reader_set_physical(r, &f);
	f = at(root, 6);
	CHECK(ddir_frontier_equal(ddir_spine_physical(s), &f));
	CHECK_EQ(ddir_spine_batches_through(s, &f, list), 1);

	/* batches that do not adjoin are refused */
	{
		DdirDeltas	d;
		DdirFrontier lower = at(root, 11);
		DdirFrontier upper = at(root, 12);
		DdirBatch  *b;

		ddir_deltas_init(&d, root, 1, true);
		b = ddir_batch_build(root, &d, &lower, &upper);
		EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_spine_insert(s, b));
	}
	ddir_spine_destroy(s);
}

/* A reader that stays behind is told, not silently overrun. */
static void
too_many_apart(DdirArena *root)
{
	DdirSpine  *s = ddir_spine_create(root, 1);

	ddir_reader_create(s);
	for (int i = 0; i < DDIR_SPINE_BATCHES_MAX; i++)
		insert_range(s, root, i, 1, 1);
	EXPECT_ERROR(DDIR_ERROR_MEMORY, insert_range(s, root, 0, 1, 1));
	ddir_spine_destroy(s);
}

/*
 * The number of batches is logarithmic, upkeep too, and no insertion pays for
 * much more than what it brings.
 */
static void
bounded_work(DdirArena *root)
{
	static const uint32_t sizes[] = {1, 7, 64};

	for (int i = 0; i < UNIT_COUNT(sizes); i++)
	{
		DdirSpine  *s = ddir_spine_create(root, 1);
		DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
		uint32_t	n = sizes[i];
		uint32_t	inserts = 3000 / (i + 1);
		uint64_t	worst = 0;
		int			most = 0;
		uint64_t	log = 0;

		while ((UINT64_C(1) << log) < (uint64_t) n * inserts)
			log++;
		for (uint32_t k = 0; k < inserts; k++)
		{
			uint64_t	before = ddir_spine_work(s);
			int			batches;

			insert_range(s, root, (uint64_t) k * n, n, 1);
			if (ddir_spine_work(s) - before > worst)
				worst = ddir_spine_work(s) - before;
			batches = ddir_spine_batches(s, list);
			most = batches > most ? batches : most;
		}
		CHECK_EQ(ddir_spine_rows(s), (uint64_t) n * inserts);
		CHECK(most <= 2 * (int) log + 2);
		CHECK(ddir_spine_work(s) <= (uint64_t) n * inserts * (log + 1));
		/* fuel for each merge under way, and a round over it */
		CHECK(worst <= (16 * n + 64) * (log + 1));
		ddir_spine_destroy(s);
	}
}

/* Idle, a trace becomes one batch, and what cancels is gone. */
static void
idling(DdirArena *root)
{
	DdirSpine  *s = ddir_spine_create(root, 1);
	DdirReader *r = ddir_reader_create(s);
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	DdirFrontier f;
	size_t		bytes;

	for (int i = 0; i < 40; i++)
	{
		insert_range(s, root, 0, 100, i % 2 ? -1 : 1);
		ddir_reader_set_physical(r, ddir_spine_upper(s));
	}
	insert_range(s, root, 1000, 10, 1);
	ddir_reader_set_physical(r, ddir_spine_upper(s));
	while (ddir_spine_exert(s, 5000))
		;
	CHECK_EQ(ddir_spine_batches(s, list), 1);
	CHECK_EQ(ddir_spine_rows(s), 4010);
	bytes = ddir_spine_bytes(s);

	/* nothing was lost: the reader stands at the beginning; now it moves */
	CHECK(!ddir_spine_exert(s, 1000000));
	f = at(root, 40);
	ddir_reader_set_logical(r, &f);
	while (ddir_spine_exert(s, 50))
		;
	CHECK_EQ(ddir_spine_batches(s, list), 1);
	CHECK_EQ(ddir_spine_rows(s), 10);
	CHECK(list[0]->time == NULL);
	CHECK(ddir_spine_bytes(s) < bytes / 10);
	CHECK(!ddir_spine_exert(s, 1000000));

	/* a small batch beside a large one waits for fuel enough for both */
	insert_range(s, root, 10000, 10000, 1);
	insert_range(s, root, 50000, 10, 1);
	ddir_reader_set_physical(r, ddir_spine_upper(s));
	while (ddir_spine_exert(s, 1000))
		;
	CHECK_EQ(ddir_spine_batches(s, list), 2);
	while (ddir_spine_exert(s, 20000))
		;
	CHECK_EQ(ddir_spine_batches(s, list), 1);
	ddir_spine_destroy(s);
}

static void
readers(DdirArena *root)
{
	DdirSpine  *s = ddir_spine_create(root, 2);
	DdirReader *a = ddir_reader_create(s);
	DdirReader *b = ddir_reader_create(s);
	DdirFrontier f;

	ddir_frontier_init(&f, root, 2);
	ddir_frontier_insert(&f, AT(3, 0));
	ddir_reader_set_logical(a, &f);
	CHECK(ddir_frontier_beyond(ddir_spine_since(s), AT(0, 0)));
	f.n = 0;
	ddir_frontier_insert(&f, AT(1, 4));
	ddir_reader_set_logical(b, &f);

	/* the meet: beyond either */
	CHECK_EQ(ddir_spine_since(s)->n, 2);
	CHECK(ddir_frontier_beyond(ddir_spine_since(s), AT(1, 4)));
	CHECK(ddir_frontier_beyond(ddir_spine_since(s), AT(3, 0)));
	CHECK(!ddir_frontier_beyond(ddir_spine_since(s), AT(2, 3)));

	/* backwards is no move; sideways is the join */
	f.n = 0;
	ddir_frontier_insert(&f, AT(2, 0));
	ddir_reader_set_logical(a, &f);
	CHECK(!ddir_frontier_beyond(ddir_spine_since(s), AT(2, 0)));

	/* dropping releases, down to none, which releases all there is */
	ddir_reader_drop(b);
	CHECK_EQ(ddir_spine_since(s)->n, 1);
	CHECK(ddir_frontier_beyond(ddir_spine_since(s), AT(3, 0)));
	CHECK(!ddir_frontier_beyond(ddir_spine_since(s), AT(2, 9)));
	b = ddir_reader_create(s);
	ddir_reader_drop(a);
	CHECK(!ddir_frontier_beyond(ddir_spine_since(s), AT(2, 9)));

	/* done: nobody may come any more */
	f.n = 0;
	ddir_reader_set_logical(b, &f);
	CHECK_EQ(ddir_spine_since(s)->n, 0);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_reader_create(s));
	ddir_spine_destroy(s);

	/* without readers it compacts to its upper */
	s = ddir_spine_create(root, 1);
	insert_range(s, root, 0, 100, 1);
	insert_range(s, root, 0, 100, -1);
	CHECK(ddir_frontier_equal(ddir_spine_since(s), ddir_spine_upper(s)));
	while (ddir_spine_exert(s, 1000))
		;
	CHECK_EQ(ddir_spine_rows(s), 0);
	ddir_spine_destroy(s);
}

/* Time passing without data costs nothing that stays. */
static void
empty_ticks(DdirArena *root)
{
	for (int mode = 0; mode < 3; mode++)
	{
		int			ticks = mode == 2 ? 1000000 : 100000;
		DdirSpine  *s = ddir_spine_create(root, 1);
		DdirReader *r = mode ? ddir_reader_create(s) : NULL;
		DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
		size_t		held = 0;

		insert_range(s, root, 0, 1000, 1);
		for (int i = 0; i < ticks; i++)
		{
			insert_range(s, root, 0, 0, 1);
			if (mode == 2)
			{
				ddir_reader_set_logical(r, ddir_spine_upper(s));
				ddir_reader_set_physical(r, ddir_spine_upper(s));
			}
			if (i == 10)
				held = unit_live_blocks;
		}
		CHECK(unit_live_blocks <= held);
		CHECK(ddir_spine_batches(s, list) <= 2);
		insert_range(s, root, 500, 1000, 1);
		CHECK_EQ(ddir_spine_rows(s), 2000);
		CHECK(ddir_spine_batches(s, list) <= 3);
		ddir_spine_destroy(s);
	}
}

/* Batches that may not be merged stay, oldest first, and are read as any. */
static void
too_large_to_merge(DdirArena *root)
{
	DdirSpine  *s = ddir_spine_create(root, 1);
	DdirReader *r = ddir_reader_create(s);
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	static DdirCursor c;
	int			n;

	ddir_spine_set_limit(s, 1000);
	for (int i = 0; i < 60; i++)
	{
		insert_range(s, root, 10 * i, 100, 1);
		ddir_reader_set_physical(r, ddir_spine_upper(s));
	}
	while (ddir_spine_exert(s, 100000))
		;
	n = ddir_spine_batches(s, list);
	CHECK_EQ(ddir_spine_rows(s), 6000);
	CHECK(n >= 6 && n < 20);
	for (int i = 0; i < n; i++)
	{
		CHECK(list[i]->n <= 1000);
		CHECK(i == 0 || ddir_frontier_equal(&list[i - 1]->upper, &list[i]->lower));
	}
	ddir_cursor_open(&c, s, AT(60), false);
	for (uint64_t key = 0; key < 690; key++)
	{
		DdirRef		val;
		int64_t		diff = 0;
		int64_t		expect = 0;

		for (int i = 0; i < 60; i++)
			expect += key >= 10 * i && key < 10 * i + 100;
		ddir_cursor_seek(&c, ddir_key_mix(key), &key, 8);
		CHECK(ddir_cursor_next(&c, &val, &diff));
		CHECK_EQ(diff, expect);
		CHECK(!ddir_cursor_next(&c, &val, &diff));
	}
	ddir_spine_destroy(s);
}

/* A batch that somebody holds outlives its merge, and the trace. */
static void
shared_batches(DdirArena *root)
{
	DdirSpine  *s = ddir_spine_create(root, 1);
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	DdirBatch  *held;

	for (int i = 0; i < 3; i++)
		insert_range(s, root, 10 * i, 10, 1);
	CHECK(ddir_spine_batches(s, list) > 0);
	held = list[0];
	ddir_batch_ref(held);
	insert_range(s, root, 100, 100, 1);
	while (ddir_spine_exert(s, 100000))
		;
	CHECK_EQ(ddir_spine_batches(s, list), 1);
	CHECK(list[0] != held);
	ddir_spine_destroy(s);
	check_batch(held);
	ddir_batch_unref(held);
}

static void
work_to_fail(DdirArena *root)
{
	DdirSpine  *s = ddir_spine_create(root, 1);
	DdirReader *r = ddir_reader_create(s);

	for (int i = 0; i < 12; i++)
	{
		insert_range(s, root, i, i % 4 * 5, 1);
		ddir_reader_set_physical(r, ddir_spine_upper(s));
		ddir_reader_set_logical(r, ddir_spine_upper(s));
		ddir_spine_exert(s, 5);
	}
	ddir_reader_drop(r);
	ddir_spine_exert(s, 1000);
	ddir_spine_destroy(s);
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
		UNIT_CASE(accumulation),
		UNIT_CASE(cutting),
		UNIT_CASE(too_many_apart),
		UNIT_CASE(bounded_work),
		UNIT_CASE(idling),
		UNIT_CASE(readers),
		UNIT_CASE(empty_ticks),
		UNIT_CASE(too_large_to_merge),
		UNIT_CASE(shared_batches),
		UNIT_CASE(failing),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
