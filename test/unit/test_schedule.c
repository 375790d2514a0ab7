/*-------------------------------------------------------------------------
 *
 * test_schedule.c
 *	  Schedule against its definition: what the function makes of all rows, at
 *	  the clock.
 *
 * Rows are (kind, from, to, other), instants numbers above zero.
 *
 *	0	shown from "from" until "to"
 *	1	shown but then; twice
 *	2	shown with the number of "to"s that have passed, so it changes at each
 *	3	shown, but from "from" until "to" it is an error
 *	4	shown, and never changes
 *
 * test/unit/test_schedule.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

typedef struct World
{
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source;
	DdirNode   *schedule;
	bool		fails;			/* what is computed of rows, or */
	bool		next_fails;		/* their instants */
	uint64_t	run;			/* rows the function was given */
	Bag			content;
	Bag			change;
} World;

static World world;
static Catch caught;
static Bag	expected;
static Bag	expected_errs;

enum
{
	KIND, FROM, TO, OTHER
};

/* How often what a row makes is there; *err: it is an error. */
static int
made(Row row, int64_t clock, Row *out, bool *err)
{
	bool		within = clock >= (int64_t) row.c[FROM] && clock < (int64_t) row.c[TO];

	*err = false;
	*out = row;
	switch (row.c[KIND])
	{
		case 0:
			return within;
		case 1:
			return within ? 0 : 2;
		case 2:
			out->c[FROM] = (uint64_t) clock / row.c[TO];
			return 1;
		case 3:
			*err = within;
			return 1;
		default:
			return 1;
	}
}

static int64_t
instant(Row row, int64_t clock)
{
	int64_t		from = (int64_t) row.c[FROM];
	int64_t		to = (int64_t) row.c[TO];

	if (row.c[KIND] == 2)
		return (clock / to + 1) * to;
	if (row.c[KIND] == 4 || from >= to)
		return DDIR_NEVER;
	return clock < from ? from : clock < to ? to : DDIR_NEVER;
}

static bool
run(void *ctx, const DdirBundle *in, int64_t clock, DdirDeltas *out, DdirDeltas *err)
{
	World	   *w = ctx;

	if (w->fails)
		return false;
	w->run += in->n;
	for (uint32_t i = 0; i < in->n; i++)
	{
		Row			row;
		bool		is_err;
		int			n = made(row_unpack(in->ref[0][i]), clock, &row, &is_err);

		for (; n > 0; n--)
			flow_push(is_err ? err : out, row, ddir_bundle_time(in, i), in->diff[i]);
	}
	return true;
}

static bool
next(void *ctx, uint32_t n, const DdirRef *row, int64_t clock, int64_t *to)
{
	World	   *w = ctx;

	if (w->next_fails)
		return false;
	for (uint32_t i = 0; i < n; i++)
		to[i] = instant(row_unpack(row[i]), clock);
	return true;
}

static DdirScheduleFns
schedule_fns(World *w)
{
	DdirScheduleFns fns = {0};

	fns.ctx = w;
	fns.run = run;
	fns.next = next;
	return fns;
}

static World *
world_create(DdirArena *root)
{
	World	   *w = &world;

	bag_free(&w->content);
	bag_free(&w->change);
	catch_free(&caught);
	bag_free(&expected);
	bag_free(&expected_errs);
	memset(w, 0, sizeof(*w));
	w->g = ddir_graph_create(root, 1);
	ddir_graph_set_clock(w->g, 0);
	w->source = ddir_source_create(w->g, "source");
	w->schedule = ddir_schedule_create(w->g, "later", w->source,
									   schedule_fns(w));
	ddir_sink_create(w->g, "out", w->schedule, catch_fns(&caught));
	flow_seed(unit_random());
	return w;
}

/* Some rows come, some go. */
static void
world_change(World *w, int n, uint32_t span)
{
	for (int i = 0; i < n; i++)
	{
		Row			row = ROW(unit_below(5), 1 + unit_below(span), 1 + unit_below(span),
							  unit_below(2));
		int64_t		diff = 1 + unit_chance(1, 4);

		if (w->content.n > 0 && unit_chance(1, 2) && flow_pick(&w->content, &w->change, &row))
			diff = -1;
		bag_add_now(&w->change, row, diff);
	}
}

static void
world_step(World *w, int64_t clock)
{
	w->t += 1 + unit_below(2);
	ddir_graph_set_clock(w->g, clock);
	flow_step(w->g, w->source, w->t, &w->content, &w->change);
}

static void
expect_at(World *w, int64_t clock, Bag *rows, Bag *errs)
{
	bag_clear(rows);
	bag_clear(errs);
	for (int i = 0; i < w->content.n; i++)
	{
		Row			row;
		bool		err;
		int			n = made(w->content.u[i].row, clock, &row, &err);

		if (n > 0)
			bag_add_now(err ? errs : rows, row, n * w->content.u[i].diff);
	}
	bag_tidy(rows);
	bag_tidy(errs);
}

static void
check(World *w, const char *what)
{
	expect_at(w, ddir_graph_clock(w->g), &expected, &expected_errs);
	bag_flatten(&caught.rows);
	bag_flatten(&caught.errs);
	CHECK(bag_equal(&caught.rows, &expected, what));
	CHECK(bag_equal(&caught.errs, &expected_errs, what));
}

/* Until it is due nothing changes, and what is shown is right at all clocks. */
static void
check_due(World *w)
{
	static Bag	rows;
	static Bag	errs;
	int64_t		due = ddir_graph_due(w->g);
	int64_t		clock = ddir_graph_clock(w->g);

	CHECK(due > clock);
	for (int i = 0; i < 4; i++)
	{
		int64_t		later = due == DDIR_NEVER ? clock + unit_below(100000) :
		clock + (int64_t) unit_below((uint32_t) (due - clock));

		expect_at(w, later, &rows, &errs);
		CHECK(bag_equal(&caught.rows, &rows, "before it is due"));
		CHECK(bag_equal(&caught.errs, &errs, "errors before it is due"));
	}
	bag_free(&rows);
	bag_free(&errs);
}

static void
random_steps(DdirArena *root)
{
	for (int round = 0; round < 60; round++)
	{
		World	   *w = world_create(root);
		uint32_t	span = round % 2 ? 12 : 300;
		int64_t		clock = 0;

		for (int tick = 0; tick < 40; tick++)
		{
			if (unit_chance(3, 4))
				world_change(w, unit_below(round % 3 ? 6 : 60), span);
			if (unit_chance(1, 2))
				clock += unit_below(span / 4 + 1);
			world_step(w, clock);
			check(w, "step");
			check_due(w);
			if (unit_chance(1, 5))
				ddir_graph_exert(w->g, 1000);
		}
		ddir_graph_destroy(w->g);
	}
}

/* By instants: each is stopped at, none is missed, and at the end nothing is kept. */
static void
instant_by_instant(DdirArena *root)
{
	for (int round = 0; round < 20; round++)
	{
		World	   *w = world_create(root);
		DdirNodeStats stats;
		int			stops = 0;

		for (int i = 0; i < 30; i++)
			bag_add_now(&w->change, ROW(unit_below(2), 1 + unit_below(40), 1 + unit_below(40), i), 1);
		world_step(w, 0);
		check(w, "start");
		while (ddir_graph_due(w->g) != DDIR_NEVER)
		{
			check_due(w);
			world_step(w, ddir_graph_due(w->g));
			check(w, "instant");
			CHECK(++stops <= 40);
		}
		while (ddir_graph_exert(w->g, 1000))
			;
		ddir_node_stats(w->schedule, &stats);
		CHECK_EQ(stats.rows, 0);
		ddir_graph_destroy(w->g);
	}
}

/* A row costs nothing while it does not change, and two calls when it does. */
static void
work(DdirArena *root)
{
	World	   *w = world_create(root);

	for (int i = 0; i < 1000; i++)
		bag_add_now(&w->change, ROW(0, 10 + i, 5000, i), 1);
	world_step(w, 1);
	CHECK_EQ(w->run, 1000);
	CHECK_EQ(ddir_graph_due(w->g), 10);
	world_step(w, 9);
	CHECK_EQ(w->run, 1000);
	world_step(w, 12);
	CHECK_EQ(w->run, 1006);
	CHECK_EQ(caught.rows.n, 3);
	world_step(w, 12);
	CHECK_EQ(w->run, 1006);
	ddir_graph_destroy(w->g);
}

/* A row that goes before its instant leaves nothing to be done there. */
static void
taken_back(DdirArena *root)
{
	World	   *w = world_create(root);

	bag_add_now(&w->change, ROW(0, 10, 20, 1), 1);
	bag_add_now(&w->change, ROW(0, 10, 30, 2), 1);
	world_step(w, 1);
	bag_add_now(&w->change, ROW(0, 10, 20, 1), -1);
	world_step(w, 2);
	/* in the step in which its instant passes, too */
	bag_add_now(&w->change, ROW(0, 10, 30, 2), -1);
	world_step(w, 15);
	check(w, "taken back");
	CHECK_EQ(caught.rows.n, 0);
	while (ddir_graph_exert(w->g, 1000))
		;
	w->run = 0;
	world_step(w, 40);
	CHECK_EQ(w->run, 0);
	CHECK_EQ(ddir_graph_due(w->g), DDIR_NEVER);
	ddir_graph_destroy(w->g);
}

/* What is let out at once is bounded, but for rows of one instant. */
static void
bounded(DdirArena *root)
{
	World	   *w = world_create(root);
	int64_t		clock = 1;
	int			steps = 0;

	for (int i = 0; i < 1000; i++)
		bag_add_now(&w->change, ROW(0, 1, 10 + i / 3 * 2, i), 1);
	for (int i = 0; i < 200; i++)
		bag_add_now(&w->change, ROW(0, 1, 333, 1000 + i), 1);
	world_step(w, 1);
	CHECK_EQ(ddir_graph_reach(w->g, 9, 100), 9);
	CHECK_EQ(ddir_graph_reach(w->g, 11, 100), 11);
	CHECK_EQ(ddir_graph_reach(w->g, 10, 2), 10);
	while ((clock = ddir_graph_reach(w->g, 5000, 100)) < 5000)
	{
		int			before = caught.rows.n;
		int			left;

		world_step(w, clock);
		check(w, "bounded");
		left = before - caught.rows.n;
		CHECK(left > 0 && (left <= 100 || clock == 333));
		CHECK(++steps < 30);
	}
	CHECK(steps >= 9);
	world_step(w, clock);
	check(w, "all let out");
	CHECK_EQ(ddir_graph_reach(w->g, 4000, 100), 5000);
	ddir_graph_destroy(w->g);
}

/* Many rows at one instant, and many instants in one step. */
static void
large(DdirArena *root)
{
	for (int spread = 1; spread <= 1000; spread *= 1000)
	{
		World	   *w = world_create(root);

		for (int i = 0; i < 150000; i++)
			bag_add_now(&w->change, ROW(0, 1, 10 + i % spread, i), 1);
		world_step(w, 5);
		CHECK_EQ(caught.rows.n, 150000);
		bag_clear(&caught.rows);
		world_step(w, 10 + spread / 2);
		bag_flatten(&caught.rows);
		CHECK_EQ(caught.rows.n, 150000 / spread * (spread / 2 + 1));
		CHECK(caught.biggest <= DDIR_CHUNK_ROWS);
		ddir_graph_destroy(w->g);
	}
}

/* Made late, given at once what there is. */
static void
late(DdirArena *root)
{
	World	   *w = world_create(root);
	static Catch other;
	DdirNode   *schedule;
	uint64_t	t;

	world_change(w, 60, 100);
	world_step(w, 20);
	world_change(w, 60, 100);
	world_step(w, 40);
	catch_free(&other);
	schedule = ddir_schedule_create(w->g, "later", w->source,
									schedule_fns(w));
	ddir_sink_create(w->g, "out", schedule, catch_fns(&other));
	t = ++w->t;
	ddir_graph_set_clock(w->g, 50);
	ddir_graph_begin(w->g, &t);
	flow_feed(schedule, 0, &w->content, &t);
	ddir_graph_finish(w->g);
	for (int64_t clock = 50; clock < 120; clock += 7)
	{
		world_change(w, 5, 100);
		world_step(w, clock);
		check(w, "early");
		bag_flatten(&other.rows);
		CHECK(bag_equal(&other.rows, &expected, "late"));
	}
	catch_free(&other);
	ddir_graph_destroy(w->g);
}

/* A graph knows whether anybody looks at its clock, which only goes forward. */
static void
clocks(DdirArena *root)
{
	World	   *w;
	DdirGraph  *g = ddir_graph_create(root, 1);

	CHECK(!ddir_graph_is_clocked(g));
	CHECK_EQ(ddir_graph_due(g), DDIR_NEVER);
	CHECK_EQ(ddir_graph_reach(g, 7, 1), 7);
	ddir_graph_destroy(g);
	w = world_create(root);
	CHECK(ddir_graph_is_clocked(w->g));
	ddir_graph_set_clock(w->g, 7);
	ddir_graph_set_clock(w->g, 7);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_graph_set_clock(w->g, 6));
	ddir_graph_destroy(w->g);
}

static void
failing_functions(DdirArena *root)
{
	World	   *w = world_create(root);

	w->fails = true;
	bag_add_now(&w->change, ROW(0, 10, 20, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w, 1));
	ddir_graph_destroy(w->g);
	w = world_create(root);
	w->next_fails = true;
	bag_add_now(&w->change, ROW(0, 10, 20, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w, 1));
	ddir_graph_destroy(w->g);
}

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root);

	for (int tick = 0; tick < 6; tick++)
	{
		world_change(w, 20, 30);
		world_step(w, tick * 6);
	}
	check(w, "small");
	ddir_graph_destroy(w->g);
}

static void
failing_allocations(DdirArena *root)
{
	unit_fails_everywhere(small_run, 1);
	world_create(root);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(random_steps),
		UNIT_CASE(instant_by_instant),
		UNIT_CASE(work),
		UNIT_CASE(taken_back),
		UNIT_CASE(bounded),
		UNIT_CASE(large),
		UNIT_CASE(late),
		UNIT_CASE(clocks),
		UNIT_CASE(failing_functions),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
