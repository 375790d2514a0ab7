/*-------------------------------------------------------------------------
 *
 * test_ordered.c
 *	  Functions of rows' places against their definition, after every step.
 *
 * Rows are (key, order, other); vals are (order, order, other), the first of them
 * being the bytes that order.  Of each row is made what the case asks for: its
 * number and the sum of all up to its peers, or what is some rows before and
 * behind it.
 *
 * test/unit/test_ordered.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

#define NOTHING 999

typedef struct State
{
	int64_t		rows;
	int64_t		sum;
} State;

typedef struct World
{
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source;
	DdirNode   *arrange;
	Proj	   *keying;
	DdirOrderedFns fns;
	bool		shift;			/* else numbers and sums */
	bool		numbers;
	bool		refuse;
	uint64_t	rows;			/* handed to the function */
	Bag			content;
	Bag			change;
} World;

static World world;
static Catch caught;
static Bag	expected;
static uint32_t ordered = 8;

static uint32_t
order_bytes(void *ctx, DdirRef val)
{
	(void) ctx;
	(void) val;
	return ordered;
}

static uint64_t
other_at(const DdirPeers *p, int64_t i)
{
	if (i < -(int64_t) p->before || i >= (int64_t) p->n + p->behind)
		return NOTHING;
	return row_unpack(p->row[i]).c[2];
}

static bool
run(void *ctx, const DdirPeers *p, const uint8_t *state, uint8_t *next, int64_t diff,
	DdirDeltas *out)
{
	World	   *w = ctx;
	State		s = {0, 0};
	int64_t		rows;

	w->rows += p->n;
	if (!w->shift)
		memcpy(&s, state, sizeof(s));
	rows = s.rows;
	for (uint32_t i = 0; i < p->n; i++)
		s.sum += (int64_t) row_unpack(p->row[i]).c[2];
	s.rows += w->numbers ? p->n : 0;
	for (uint32_t i = 0; i < p->n; i++)
	{
		Row			row = row_unpack(p->row[i]);

		if (w->shift)
			flow_push(out, ROW(row.c[1], row.c[2], other_at(p, (int64_t) i - w->fns.back),
							   other_at(p, (int64_t) i + w->fns.ahead)), NULL, diff);
		else
			flow_push(out, ROW(row.c[1], row.c[2], w->numbers ? rows + i + 1 : 0, s.sum),
					  NULL, diff);
	}
	if (!w->shift)
		memcpy(next, &s, sizeof(s));
	return !w->refuse;
}

static World *
world_create(DdirArena *root, bool shift, bool numbers, uint32_t back, uint32_t ahead)
{
	World	   *w = &world;

	bag_free(&w->content);
	bag_free(&w->change);
	catch_free(&caught);
	bag_free(&expected);
	memset(w, 0, sizeof(*w));
	ordered = 8;
	w->shift = shift;
	w->numbers = numbers;
	w->fns = (DdirOrderedFns)
	{
		.ctx = w,.state_size = shift ? 0 : sizeof(State),.back = back,.ahead = ahead,
			.order = order_bytes,.run = run
	};
	w->g = ddir_graph_create(root, 1);
	w->source = ddir_source_create(w->g, "source");
	w->keying = proj_of(root, "00:01 01 02");
	w->arrange = ddir_arrange_create(w->g, "rows", w->source, proj_func(w->keying));
	ddir_sink_create(w->g, "out", ddir_ordered_create(w->g, "places", w->arrange, w->fns),
					 catch_fns(&caught));
	flow_seed(unit_random());
	return w;
}

static void
world_change(World *w, int n, uint32_t keys, uint32_t values, uint32_t others)
{
	for (int i = 0; i < n; i++)
	{
		Bag		   *c = &w->content;
		Row			row = ROW(unit_below(keys), unit_below(values), unit_below(others));
		int64_t		diff = 1 + unit_chance(1, 8);

		if (c->n > 0 && unit_chance(1, 2) && flow_pick(c, &w->change, &row))
			diff = -1;
		bag_add_now(&w->change, row, diff);
	}
}

static void
world_step(World *w)
{
	w->t += 1 + unit_below(2);
	flow_step(w->g, w->source, w->t, &w->content, &w->change);
}

/* All copies of the content's rows, one by one, and where each key begins. */
static Row *all;
static int	nall;

static void
expand(World *w)
{
	nall = 0;
	for (int i = 0; i < w->content.n; i++)
		nall += w->content.u[i].diff;
	all = realloc(all, (nall + 1) * sizeof(Row));
	nall = 0;
	for (int i = 0; i < w->content.n; i++)
		for (int64_t k = 0; k < w->content.u[i].diff; k++)
			all[nall++] = w->content.u[i].row;
}

static uint64_t
other_of(int i, int of)
{
	return i < 0 || i >= nall || all[i].c[0] != all[of].c[0] ? NOTHING : all[i].c[2];
}

static void
check(World *w, const char *what)
{
	uint64_t	rows = 0;
	uint64_t	sum = 0;
	int			summed = 0;

	expand(w);
	bag_clear(&expected);
	for (int i = 0; i < nall; i++)
	{
		Row			r = all[i];

		if (i == 0 || r.c[0] != all[i - 1].c[0])
		{
			rows = sum = 0;
			summed = i;
		}
		rows++;
		for (; summed < nall && all[summed].c[0] == r.c[0] && all[summed].c[1] <= r.c[1]; summed++)
			sum += all[summed].c[2];
		if (w->shift)
			bag_add_now(&expected, ROW(r.c[1], r.c[2], other_of(i - w->fns.back, i),
									   other_of(i + w->fns.ahead, i)), 1);
		else
			bag_add_now(&expected, ROW(r.c[1], r.c[2], w->numbers ? rows : 0, sum), 1);
	}
	bag_flatten(&caught.rows);
	CHECK(bag_equal(&caught.rows, &expected, what));
}

static void
random_steps(World *w, int ticks, int n, uint32_t values, uint32_t others)
{
	world_change(w, unit_below(800), 2, values, others);
	for (int tick = 0; tick < ticks; tick++)
	{
		world_step(w);
		check(w, "places");
		world_change(w, 1 + unit_below(n), 2, values, others);
	}
	ddir_graph_destroy(w->g);
}

static void
numbers(DdirArena *root)
{
	for (int round = 0; round < 12; round++)
		random_steps(world_create(root, false, true, 0, 0), 12, round % 2 ? 4 : 60,
					 round % 3 ? 3000 : 40, 3);
}

/* Sums of zeros are the same again soon. */
static void
sums(DdirArena *root)
{
	for (int round = 0; round < 12; round++)
		random_steps(world_create(root, false, false, 0, 0), 12, round % 2 ? 4 : 60,
					 round % 3 ? 3000 : 40, round % 2 ? 1 : 3);
}

static void
shifts(DdirArena *root)
{
	for (int round = 0; round < 24; round++)
		random_steps(world_create(root, true, false, unit_below(4) * unit_below(40),
								  unit_below(4) * unit_below(40)),
					 12, round % 2 ? 4 : 60, round % 3 ? 3000 : 40, 5);
}

/* What a change costs where many rows are. */
static void
cost(DdirArena *root)
{
	World	   *w = world_create(root, true, false, 1, 1);

	for (int i = 0; i < 20000; i++)
		bag_add_now(&w->change, ROW(1, 2 * i, i % 7), 1);
	world_step(w);
	check(w, "many");
	w->rows = 0;
	bag_add_now(&w->change, ROW(1, 20001, 3), 1);
	bag_add_now(&w->change, ROW(1, 300, 300 / 2 % 7), -1);
	bag_add_now(&w->change, ROW(1, 90000, 3), 1);
	world_step(w);
	CHECK(w->rows < 2500);
	check(w, "around changes");
	ddir_graph_destroy(w->g);

	/* at the end, row numbers are as cheap */
	w = world_create(root, false, true, 0, 0);
	for (int i = 0; i < 20000; i++)
		bag_add_now(&w->change, ROW(1, 2 * i, i % 7), 1);
	world_step(w);
	w->rows = 0;
	for (int i = 0; i < 10; i++)
	{
		bag_add_now(&w->change, ROW(1, 50000 + i, 3), 1);
		world_step(w);
	}
	CHECK(w->rows < 3000);
	check(w, "at the end");
	ddir_graph_destroy(w->g);
}

static void
emptied(DdirArena *root)
{
	for (int shift = 0; shift < 2; shift++)
	{
		World	   *w = world_create(root, shift, true, shift, shift);

		for (int round = 0; round < 3; round++)
		{
			for (int i = 0; i < 500; i++)
				bag_add_now(&w->change, ROW(1, i, 1), 1);
			world_step(w);
			check(w, "filled");
			for (int part = 0; part < 5; part++)
			{
				for (int i = 0; i < 100; i++)
					bag_add_now(&w->change, ROW(1, 100 * (round % 2 ? 4 - part : part) + i, 1), -1);
				world_step(w);
				check(w, "emptied");
			}
		}
		CHECK_EQ(caught.rows.n, 0);
		ddir_graph_destroy(w->g);
	}
}

static void
large_step(DdirArena *root)
{
	World	   *w = world_create(root, false, true, 0, 0);

	for (int i = 0; i < 100000; i++)
		bag_add_now(&w->change, ROW(1, 10 + i / 2, i % 2), 1);
	world_step(w);
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	world_step(w);
	check(w, "large");
	ddir_graph_destroy(w->g);
}

static void
refused(DdirArena *root)
{
	World	   *w = world_create(root, false, true, 0, 0);

	w->refuse = true;
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w));
	ddir_graph_destroy(w->g);
	w = world_create(root, false, true, 0, 0);
	bag_add_now(&w->change, ROW(1, 1, 1), -1);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, world_step(w));
	ddir_graph_destroy(w->g);
	w = world_create(root, false, true, 0, 0);
	ordered = 25;
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
	w = world_create(root, false, true, 0, 0);
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	world_step(w);
	ddir_ordered_create(w->g, "late", w->arrange, w->fns);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
}

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root, false, true, 0, 0);

	for (int i = 0; i < 200; i++)
		bag_add_now(&w->change, ROW(1, i, 1), 1);
	for (int tick = 0; tick < 3; tick++)
	{
		world_step(w);
		world_change(w, 5, 2, 300, 3);
	}
	world_step(w);
	check(w, "small");
	ddir_graph_destroy(w->g);
}

static void
failing_allocations(DdirArena *root)
{
	unit_fails_everywhere(small_run, 1);
	world_create(root, false, true, 0, 0);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(numbers),
		UNIT_CASE(sums),
		UNIT_CASE(shifts),
		UNIT_CASE(cost),
		UNIT_CASE(emptied),
		UNIT_CASE(large_step),
		UNIT_CASE(refused),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
