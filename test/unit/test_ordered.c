/*-------------------------------------------------------------------------
 *
 * test_ordered.c
 *	  Functions of rows' places against their definition, after every step.
 *
 * Rows are (key, order, other); vals are (order, order, other), the first of them
 * being the bytes that order.  Of each row is made what the case asks for: its
 * number and the sum of all up to its peers, what is some rows before and
 * behind it, or the sum of the rows of its frame.
 *
 * test/unit/test_ordered.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

#define NOTHING 999
#define UNBOUNDED 100000
#define WRONG 4					/* rows with this are errors in "wrongs" */

typedef enum What
{
	NUMBERS,					/* and sums of all up to peers */
	SUMS,
	SHIFTS,
	ROWS,						/* sums of frames, from lo to hi */
	GROUPS,
	RANGE,
	WRONGS						/* numbers, with errors */
} What;

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
	What		what;
	int64_t		lo;				/* below zero: back */
	int64_t		hi;
	bool		refuse;
	uint64_t	rows;			/* handed to the function */
	Bag			content;
	Bag			change;
} World;

static World world;
static Catch caught;
static Bag	expected;
static Bag	expected_errs;
static uint32_t ordered = 8;

static uint32_t
order_bytes(void *ctx, DdirRef val)
{
	(void) ctx;
	(void) val;
	return ordered;
}

static int64_t
other_of_row(DdirRef val)
{
	return (int64_t) row_unpack(val).c[2];
}

/* Place 0 goes to "lo", place 1 to "hi". */
static uint64_t
shifted(DdirSpot *place, int64_t rows)
{
	DdirRef		val;

	while (place->rows < rows && ddir_spot_peek(place, &val))
		ddir_spot_pass(place);
	return place->rows == rows && place->last.p ? (uint64_t) other_of_row(place->last) : NOTHING;
}

/* Is the row that the end of the frame is at in front of where it should be? */
static bool
goes_on(const World *w, const DdirSpot *end, int64_t by, int64_t i, DdirRef current, DdirRef at,
		bool head)
{
	int64_t		distance;

	if (by == UNBOUNDED)
		return true;
	if (w->what == GROUPS)
		distance = ddir_spot_group(end);
	else if (w->what == RANGE)
		distance = (int64_t) (row_unpack(at).c[1] - row_unpack(current).c[1]);
	else
		distance = end->rows - i;
	return head ? distance < by : distance <= by;
}

static void
move_end(World *w, DdirSpot *end, int64_t by, int64_t i, DdirRef current, bool head, State *s)
{
	DdirRef		at;

	while ((w->what != ROWS || goes_on(w, end, by, i, current, current, head)) &&
		   ddir_spot_peek(end, &at) && goes_on(w, end, by, i, current, at, head))
	{
		ddir_spot_pass(end);
		s->sum += head ? -other_of_row(at) : other_of_row(at);
	}
}

static int64_t
framed_sum(World *w, DdirSpot *place, int64_t i, DdirRef current, State *s)
{
	move_end(w, &place[0], w->hi, i, current, false, s);
	if (w->lo == -UNBOUNDED)
		return s->sum;
	move_end(w, &place[1], w->lo, i, current, true, s);
	return place[1].rows < place[0].rows ? s->sum : 0;
}

static bool
run(void *ctx, const DdirPeers *p, DdirSpot *place, void *state, int64_t diff,
	DdirDeltas *out, DdirDeltas *err)
{
	World	   *w = ctx;
	State	   *s = state;
	bool		sums = w->what == NUMBERS || w->what == SUMS || w->what == WRONGS;

	w->rows += p->n;
	for (uint32_t i = 0; sums && i < p->n; i++)
		s->sum += other_of_row(p->row[i]);
	for (uint32_t i = 0; i < p->n; i++)
	{
		Row			row = row_unpack(p->row[i]);
		Row			made;

		if (w->what == SHIFTS)
		{
			uint64_t	back = shifted(&place[0], i + w->lo + 1);

			made = ROW(row.c[1], row.c[2], back, shifted(&place[1], i + w->hi + 1));
		}
		else if (sums)
			made = ROW(row.c[1], row.c[2], w->what == SUMS ? 0 : (uint64_t) s->rows + i + 1,
					   (uint64_t) s->sum);
		else
			made = ROW(row.c[1], row.c[2], 0, (uint64_t) framed_sum(w, place, i, p->row[i], s));
		flow_push(w->what == WRONGS && row.c[2] == WRONG ? err : out, made, NULL, diff);
	}
	s->rows += w->what == NUMBERS || w->what == WRONGS ? p->n : 0;
	return !w->refuse;
}

static bool
save(void *ctx, const void *state, DdirBytes *to)
{
	(void) ctx;
	ddir_bytes_put(to, state, sizeof(State));
	return true;
}

static bool
load(void *ctx, void *state, const uint8_t *p, size_t len)
{
	(void) ctx;
	memset(state, 0, sizeof(State));
	if (p == NULL)
		return true;
	CHECK_EQ(len, sizeof(State));
	memcpy(state, p, sizeof(State));
	return true;
}

static World *
world_create(DdirArena *root, What what, int64_t lo, int64_t hi)
{
	World	   *w = &world;

	bag_free(&w->content);
	bag_free(&w->change);
	catch_free(&caught);
	bag_free(&expected);
	bag_free(&expected_errs);
	memset(w, 0, sizeof(*w));
	ordered = 8;
	w->what = what;
	w->lo = lo;
	w->hi = hi;
	w->fns = (DdirOrderedFns)
	{
		.ctx = w,.state_size = sizeof(State),.order = order_bytes,.run = run,.save = save,
			.load = load
	};
	if (what == SHIFTS || what == ROWS || what == GROUPS || what == RANGE)
		w->fns.nplaces = lo == -UNBOUNDED ? 1 : 2;
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

/* The sum of a frame, row by row. */
static int64_t
sum_of_frame(const World *w, int of, const int *group)
{
	int64_t		sum = 0;

	for (int i = 0; i < nall; i++)
	{
		int64_t		distance = w->what == ROWS ? i - of : w->what == GROUPS ? group[i] - group[of] :
		(int64_t) (all[i].c[1] - all[of].c[1]);

		if (all[i].c[0] == all[of].c[0] && (w->lo == -UNBOUNDED || distance >= w->lo) &&
			(w->hi == UNBOUNDED || distance <= w->hi))
			sum += (int64_t) all[i].c[2];
	}
	return sum;
}

static void
check(World *w, const char *what)
{
	uint64_t	rows = 0;
	uint64_t	sum = 0;
	int			summed = 0;
	int		   *group;

	expand(w);
	bag_clear(&expected);
	bag_clear(&expected_errs);
	group = calloc(nall + 1, sizeof(int));
	for (int i = 1; i < nall; i++)
		group[i] = group[i - 1] + (all[i].c[0] != all[i - 1].c[0] || all[i].c[1] != all[i - 1].c[1]);
	for (int i = 0; i < nall; i++)
	{
		Row			r = all[i];
		Bag		   *to = w->what == WRONGS && r.c[2] == WRONG ? &expected_errs : &expected;

		if (i == 0 || r.c[0] != all[i - 1].c[0])
		{
			rows = sum = 0;
			summed = i;
		}
		rows++;
		for (; summed < nall && all[summed].c[0] == r.c[0] && all[summed].c[1] <= r.c[1]; summed++)
			sum += all[summed].c[2];
		if (w->what == SHIFTS)
			bag_add_now(to, ROW(r.c[1], r.c[2], other_of(i + w->lo, i), other_of(i + w->hi, i)), 1);
		else if (w->what == ROWS || w->what == GROUPS || w->what == RANGE)
			bag_add_now(to, ROW(r.c[1], r.c[2], 0, (uint64_t) sum_of_frame(w, i, group)), 1);
		else
			bag_add_now(to, ROW(r.c[1], r.c[2], w->what == SUMS ? 0 : rows, sum), 1);
	}
	free(group);
	bag_flatten(&caught.rows);
	CHECK(bag_equal(&caught.rows, &expected, what));
	bag_flatten(&caught.errs);
	CHECK(bag_equal(&caught.errs, &expected_errs, "errors"));
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
		random_steps(world_create(root, NUMBERS, 0, 0), 12, round % 2 ? 4 : 60,
					 round % 3 ? 3000 : 40, 3);
}

/* Sums of zeros are the same again soon. */
static void
sums(DdirArena *root)
{
	for (int round = 0; round < 12; round++)
		random_steps(world_create(root, SUMS, 0, 0), 12, round % 2 ? 4 : 60,
					 round % 3 ? 3000 : 40, round % 2 ? 1 : 3);
}

static int64_t
any_bound(void)
{
	return (int64_t) unit_below(4) * unit_below(40) * (unit_chance(1, 2) ? -1 : 1);
}

static void
shifts(DdirArena *root)
{
	for (int round = 0; round < 24; round++)
		random_steps(world_create(root, SHIFTS, any_bound(), any_bound()),
					 12, round % 2 ? 4 : 60, round % 3 ? 3000 : 40, 5);
}

/* Frames that grow, move, have no rows, see the end. */
static void
frames(DdirArena *root)
{
	for (int round = 0; round < 60; round++)
	{
		int64_t		lo = unit_chance(1, 4) ? -UNBOUNDED : any_bound();
		int64_t		hi = unit_chance(1, 5) ? UNBOUNDED : any_bound();

		random_steps(world_create(root, ROWS + round % 3, lo, hi), 8, round % 2 ? 4 : 60,
					 round % 4 ? 3000 : 40, round % 5 ? 5 : 1);
	}
}

static void
wrongs(DdirArena *root)
{
	for (int round = 0; round < 12; round++)
		random_steps(world_create(root, WRONGS, 0, 0), 12, round % 2 ? 4 : 60,
					 round % 3 ? 3000 : 40, 6);
}

static World *
many(DdirArena *root, What what, int64_t lo, int64_t hi)
{
	World	   *w = world_create(root, what, lo, hi);

	for (int i = 0; i < 20000; i++)
		bag_add_now(&w->change, ROW(1, 2 * i, i % 7), 1);
	world_step(w);
	w->rows = 0;
	return w;
}

/* Rows one behind the other, at the end. */
static void
at_the_end(DdirArena *root, What what, int64_t lo, int64_t hi)
{
	World	   *w = many(root, what, lo, hi);

	for (int i = 0; i < 10; i++)
	{
		bag_add_now(&w->change, ROW(1, 50000 + i, 3), 1);
		world_step(w);
	}
	CHECK(w->rows < 3000);
	if (what == NUMBERS)
		check(w, "at the end");
	ddir_graph_destroy(w->g);
}

/* What a change costs where many rows are. */
static void
cost(DdirArena *root)
{
	World	   *w = many(root, SHIFTS, -1, 1);

	bag_add_now(&w->change, ROW(1, 20001, 3), 1);
	bag_add_now(&w->change, ROW(1, 300, 300 / 2 % 7), -1);
	bag_add_now(&w->change, ROW(1, 90000, 3), 1);
	world_step(w);
	CHECK(w->rows < 2500);
	check(w, "around changes");
	ddir_graph_destroy(w->g);

	/* a frame is replayed while the change is in it */
	w = many(root, ROWS, -1000, 0);
	bag_add_now(&w->change, ROW(1, 20001, 3), 1);
	world_step(w);
	CHECK(w->rows < 2 * 1500);
	ddir_graph_destroy(w->g);
	w = many(root, RANGE, -100, 100);
	bag_add_now(&w->change, ROW(1, 20001, 3), 1);
	world_step(w);
	CHECK(w->rows < 2 * 400);
	ddir_graph_destroy(w->g);

	/* at the end, all that looks back is as cheap, however far */
	at_the_end(root, NUMBERS, 0, 0);
	at_the_end(root, ROWS, -15000, 0);
	at_the_end(root, RANGE, -UNBOUNDED, -5);
	at_the_end(root, GROUPS, -10000, 0);
}

static void
emptied(DdirArena *root)
{
	for (int what = 0; what < WRONGS; what++)
	{
		World	   *w = world_create(root, what, -1, 1);

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
	World	   *w = world_create(root, NUMBERS, 0, 0);

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
	World	   *w = world_create(root, NUMBERS, 0, 0);

	w->refuse = true;
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w));
	ddir_graph_destroy(w->g);
	w = world_create(root, NUMBERS, 0, 0);
	bag_add_now(&w->change, ROW(1, 1, 1), -1);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, world_step(w));
	ddir_graph_destroy(w->g);
	w = world_create(root, NUMBERS, 0, 0);
	ordered = 25;
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
	w = world_create(root, NUMBERS, 0, 0);
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	world_step(w);
	ddir_ordered_create(w->g, "late", w->arrange, w->fns);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
}

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root, ROWS, -3, 2);

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
	world_create(root, NUMBERS, 0, 0);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(numbers),
		UNIT_CASE(sums),
		UNIT_CASE(shifts),
		UNIT_CASE(frames),
		UNIT_CASE(wrongs),
		UNIT_CASE(cost),
		UNIT_CASE(emptied),
		UNIT_CASE(large_step),
		UNIT_CASE(refused),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
