/*-------------------------------------------------------------------------
 *
 * test_antijoin.c
 *	  The antijoin, against its definition after every step.
 *
 * test/unit/test_antijoin.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

typedef struct World
{
	DdirArena  *arena;
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source[2];
	DdirNode   *arr[2];
	Proj	   *out;
	bool		mixed;			/* a step's updates are of several times */
	Bag			content[2];
	Bag			change;
} World;

static World world;
static Catch caught;
static Catch caught_late;
static Bag	expected;

static World *
world_create(DdirArena *root)
{
	World	   *w = &world;

	bag_free(&w->content[0]);
	bag_free(&w->content[1]);
	bag_free(&w->change);
	catch_free(&caught);
	catch_free(&caught_late);
	bag_free(&expected);
	memset(w, 0, sizeof(*w));
	w->arena = root;
	w->g = ddir_graph_create(root, 1);
	for (int s = 0; s < 2; s++)
	{
		w->source[s] = ddir_source_create(w->g, "source");
		w->arr[s] = ddir_arrange_create(w->g, "by first", w->source[s],
										proj_func(proj_whole(root, 0, 2)));
	}
	w->out = proj_whole(root, 0, 2);
	flow_seed(unit_random());
	return w;
}

static void
anti_create(World *w, Catch *c)
{
	DdirNode   *anti = ddir_antijoin_create(w->g, "anti", w->arr[0], w->arr[1],
											proj_func(w->out));

	ddir_sink_create(w->g, "out", anti, catch_fns(c));
	ddir_node_release(anti);
}

static void
world_step(World *w, int changes, uint32_t keys)
{
	uint64_t	from = w->t + 1;

	w->t += 1 + unit_below(2) + (w->mixed ? 3 : 0);
	ddir_graph_begin(w->g, &w->t);
	for (int s = 0; s < 2; s++)
	{
		bag_clear(&w->change);
		for (int i = unit_below(changes + 1); i > 0; i--)
		{
			Bag		   *c = &w->content[s];
			Row			row = ROW(unit_below(keys), unit_below(3));
			int64_t		diff = 1;

			if (c->n > 0 && unit_chance(1, 2) && flow_pick(c, &w->change, &row))
				diff = -1;
			bag_add_now(&w->change, row, diff);
			/* come and gone, or come twice */
			if (diff > 0 && unit_chance(1, 3))
				bag_add_now(&w->change, row, unit_chance(1, 2) ? 1 : -1);
		}
		if (w->mixed)
			flow_feed_over(w->source[s], 0, &w->change, from, w->t);
		else
			flow_feed(w->source[s], 0, &w->change, &w->t);
		bag_add_all(&w->content[s], &w->change);
		bag_tidy(&w->content[s]);
	}
	ddir_graph_finish(w->g);
	if (unit_chance(1, 4))
		ddir_graph_exert(w->g, unit_below(50));
}

static void
check(World *w, Catch *c, const char *what)
{
	bag_clear(&expected);
	for (int i = 0; i < w->content[0].n; i++)
	{
		const Update *u = &w->content[0].u[i];
		bool		found = false;

		for (int k = 0; k < w->content[1].n; k++)
			found |= w->content[1].u[k].row.c[0] == u->row.c[0];
		if (!found)
			bag_add_now(&expected, u->row, u->diff);
	}
	bag_flatten(&c->rows);
	CHECK(bag_equal(&c->rows, &expected, what));
}

static void
random_steps(DdirArena *root)
{
	for (int round = 0; round < 30; round++)
	{
		World	   *w = world_create(root);
		uint32_t	keys = round % 3 ? 6 : 300;

		w->mixed = round % 2;
		anti_create(w, &caught);
		for (int tick = 0; tick < 24; tick++)
		{
			if (tick == 12)
				anti_create(w, &caught_late);
			world_step(w, round % 3 ? 8 : 200, keys);
			check(w, &caught, "early");
			if (tick >= 12)
				check(w, &caught_late, "late");
		}
		ddir_graph_destroy(w->g);
	}
}

/* A key with more rows than a chunk goes and comes. */
static void
large_key(DdirArena *root)
{
	World	   *w = world_create(root);
	Bag			many = {0};
	Bag			one = {0};

	anti_create(w, &caught);
	for (int i = 0; i < 10000; i++)
		bag_add_now(&many, ROW(1, i), 1);
	for (int tick = 0; tick < 3; tick++)
	{
		int64_t		diff = tick == 1 ? 1 : -1;

		w->t++;
		ddir_graph_begin(w->g, &w->t);
		if (tick == 0)
			flow_feed(w->source[0], 0, &many, &w->t);
		else
		{
			bag_clear(&one);
			bag_add_now(&one, ROW(1, 0), diff);
			flow_feed(w->source[1], 0, &one, &w->t);
		}
		ddir_graph_finish(w->g);
		bag_flatten(&caught.rows);
		CHECK_EQ(caught.rows.n, tick == 1 ? 0 : 10000);
	}
	CHECK_EQ(caught.biggest, DDIR_CHUNK_ROWS);
	bag_free(&many);
	bag_free(&one);
}

/* Made late, and nothing changes in its first step: it reads what there is. */
static void
quiet(DdirArena *root)
{
	for (int round = 0; round < 8; round++)
	{
		World	   *w = world_create(root);

		for (int tick = 0; tick < 4; tick++)
			world_step(w, 8, 6);
		anti_create(w, &caught);
		world_step(w, 0, 6);
		check(w, &caught, "quiet");
		world_step(w, 8, 6);
		check(w, &caught, "no longer");
		ddir_graph_destroy(w->g);
	}
}

/* An arrangement against itself has no row. */
static void
itself(DdirArena *root)
{
	World	   *w = world_create(root);

	w->arr[1] = w->arr[0];
	anti_create(w, &caught);
	for (int tick = 0; tick < 10; tick++)
	{
		world_step(w, 8, 5);
		bag_flatten(&caught.rows);
		CHECK_EQ(caught.rows.n, 0);
	}
}

static void
one_row(World *w, int source, Row row, int64_t diff)
{
	Update		u = {row, {{0}}, diff};
	Bag			b = {1, 1, &u};

	w->t++;
	ddir_graph_begin(w->g, &w->t);
	flow_feed(w->source[source], 0, &b, &w->t);
	ddir_graph_finish(w->g);
}

static void
negative(DdirArena *root)
{
	World	   *w = world_create(root);

	anti_create(w, &caught);
	one_row(w, 0, ROW(1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, one_row(w, 1, ROW(1, 1), -1));
	CHECK(strstr(unit_error_text, "\"anti\": a row has multiplicity -1 at time 2") != NULL);
	ddir_graph_destroy(w->g);
}

static void
error_rows(DdirArena *root)
{
	World	   *w = world_create(root);

	w->out->fail = col(0, 1);
	w->out->fail_value = 2;
	anti_create(w, &caught);
	one_row(w, 0, ROW(1, 2), 1);
	CHECK_EQ(bag_count(&caught.errs, ROW(1, 2)), 1);
	one_row(w, 1, ROW(1, 0), 1);
	CHECK_EQ(bag_count(&caught.errs, ROW(1, 2)), 0);
}

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root);

	anti_create(w, &caught);
	for (int tick = 0; tick < 6; tick++)
		world_step(w, 8, 4);
	check(w, &caught, "small");
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
		UNIT_CASE(large_key),
		UNIT_CASE(quiet),
		UNIT_CASE(itself),
		UNIT_CASE(negative),
		UNIT_CASE(error_rows),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
