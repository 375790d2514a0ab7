/*-------------------------------------------------------------------------
 *
 * test_threshold.c
 *	  Distinct, and what else multiplicities may become.
 *
 * test/unit/test_threshold.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

typedef struct World
{
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source[2];
	DdirNode   *node;
	Proj	   *keying;
	Bag			content[2];
	Bag			change[2];
} World;

static World world;
static Catch caught;
static Bag	expected;

static World *
world_create(DdirArena *root, int64_t (*threshold) (int64_t), bool difference)
{
	World	   *w = &world;
	DdirNode   *in;

	for (int s = 0; s < 2; s++)
	{
		bag_free(&w->content[s]);
		bag_free(&w->change[s]);
	}
	catch_free(&caught);
	bag_free(&expected);
	memset(w, 0, sizeof(*w));
	w->g = ddir_graph_create(root, 1);
	for (int s = 0; s < 2; s++)
		w->source[s] = ddir_source_create(w->g, "source");
	in = w->source[0];
	if (difference)
	{
		DdirNode   *minus = ddir_negate_create(w->g, "minus", w->source[1]);
		DdirNode   *both[2] = {w->source[0], minus};

		in = ddir_concat_create(w->g, "difference", 2, both);
	}
	w->keying = proj_of(root, "00 01:");
	w->node = ddir_threshold_create(w->g, "threshold", in, proj_func(w->keying), threshold);
	ddir_sink_create(w->g, "out", w->node, catch_fns(&caught));
	flow_seed(unit_random());
	return w;
}

static void
world_change(World *w, int source, int n, uint32_t values)
{
	for (int i = 0; i < n; i++)
	{
		Bag		   *c = &w->content[source];
		Row			row = ROW(unit_below(values), unit_below(3));
		int64_t		diff = 1;

		if (c->n > 0 && unit_chance(1, 2) && flow_pick(c, &w->change[source], &row))
			diff = -1;
		bag_add_now(&w->change[source], row, diff);
		if (diff > 0 && unit_chance(1, 3))
			bag_add_now(&w->change[source], row, unit_chance(1, 2) ? 1 : -1);
	}
}

static void
world_step(World *w)
{
	w->t += 1 + unit_below(2);
	ddir_graph_begin(w->g, &w->t);
	for (int s = 0; s < 2; s++)
	{
		flow_feed(w->source[s], 0, &w->change[s], &w->t);
		bag_add_all(&w->content[s], &w->change[s]);
		bag_tidy(&w->content[s]);
		bag_clear(&w->change[s]);
	}
	ddir_graph_finish(w->g);
}

static void
check(World *w, bool difference, const char *what)
{
	bag_clear(&expected);
	for (int i = 0; i < w->content[0].n; i++)
	{
		const Update *u = &w->content[0].u[i];
		int64_t		n = u->diff;

		if (difference)
			n -= bag_count(&w->content[1], u->row);
		if (n > 0)
			bag_add_now(&expected, u->row, difference ? n : 1);
	}
	bag_flatten(&caught.rows);
	CHECK(bag_equal(&caught.rows, &expected, what));
}

static void
distinct(DdirArena *root)
{
	for (int round = 0; round < 20; round++)
	{
		World	   *w = world_create(root, ddir_threshold_distinct, false);

		for (int tick = 0; tick < 24; tick++)
		{
			world_change(w, 0, unit_below(round % 2 ? 10 : 300), round % 2 ? 3 : 4000);
			world_step(w);
			check(w, false, "distinct");
		}
		ddir_graph_destroy(w->g);
	}
}

/* EXCEPT ALL: what is taken away may be more than there is. */
static void
except_all(DdirArena *root)
{
	for (int round = 0; round < 20; round++)
	{
		World	   *w = world_create(root, ddir_threshold_positive, true);

		for (int tick = 0; tick < 24; tick++)
		{
			world_change(w, 0, unit_below(10), 3);
			world_change(w, 1, unit_below(10), 3);
			world_step(w);
			check(w, true, "except all");
		}
		ddir_graph_destroy(w->g);
	}
}

/* +1 and -1 in one step, and a second copy, are nothing to distinct. */
static void
netted(DdirArena *root)
{
	World	   *w = world_create(root, ddir_threshold_distinct, false);

	bag_add_now(&w->change[0], ROW(1, 1), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 1);
	bag_add_now(&w->change[0], ROW(1, 1), -1);
	bag_add_now(&w->change[0], ROW(1, 1), 2);
	bag_add_now(&w->change[0], ROW(2, 1), 1);
	bag_add_now(&w->change[0], ROW(2, 1), -1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 1);
	bag_add_now(&w->change[0], ROW(1, 1), -2);
	world_step(w);
	CHECK_EQ(caught.rows.n, 2);
	CHECK_EQ(caught.rows.u[1].diff, -1);
	CHECK_EQ(caught.rows.u[1].t.c[0], w->t);
	ddir_graph_destroy(w->g);
}

static void
large_step(DdirArena *root)
{
	World	   *w = world_create(root, ddir_threshold_distinct, false);

	for (int i = 0; i < 30000; i++)
		bag_add_now(&w->change[0], ROW(i, 0), 2);
	world_step(w);
	check(w, false, "large");
	CHECK(caught.biggest <= DDIR_CHUNK_ROWS);
	ddir_graph_destroy(w->g);
}

static void
negative(DdirArena *root)
{
	World	   *w = world_create(root, ddir_threshold_distinct, false);

	bag_add_now(&w->change[0], ROW(1, 1), -1);
	bag_add_now(&w->change[0], ROW(1, 1), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 0);
	bag_add_now(&w->change[0], ROW(1, 1), -1);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, world_step(w));
	ddir_graph_destroy(w->g);
}

/* The message has the key, or the beginning of a long one. */
static void
negative_keys(DdirArena *root)
{
	for (volatile int columns = 3; columns <= 6; columns++)
	{
		World	   *w = world_create(root, ddir_threshold_distinct, false);

		w->keying->nkey = columns;
		for (int i = 0; i < columns; i++)
			w->keying->key[i] = col(0, 0);
		bag_add_now(&w->change[0], ROW(0x12ab, 1), -1);
		EXPECT_ERROR(DDIR_ERROR_NEGATIVE, world_step(w));
		CHECK(strstr(unit_error_text, columns > 4 ? "12ab... has multiplicity -1 at time" :
					 "12ab has multiplicity -1 at time") != NULL);
		ddir_graph_destroy(w->g);
	}
}

static void
error_rows(DdirArena *root)
{
	World	   *w = world_create(root, ddir_threshold_distinct, false);

	w->keying->fail = col(0, 0);
	w->keying->fail_value = 13;
	w->keying->nval = 2;
	w->keying->val[0] = col(0, 0);
	w->keying->val[1] = col(0, 1);
	bag_add_now(&w->change[0], ROW(13, 1), 1);
	world_step(w);
	CHECK_EQ(bag_count(&caught.errs, ROW(13, 1)), 1);
	bag_add_now(&w->change[0], ROW(13, 1), -1);
	world_step(w);
	CHECK_EQ(bag_count(&caught.errs, ROW(13, 1)), 0);
	CHECK_EQ(caught.rows.n, 0);
	ddir_graph_destroy(w->g);
}

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root, ddir_threshold_positive, true);

	for (int tick = 0; tick < 4; tick++)
	{
		world_change(w, 0, 20, 10);
		world_change(w, 1, 20, 10);
		world_step(w);
	}
	check(w, true, "small");
	ddir_graph_destroy(w->g);
}

static void
failing_allocations(DdirArena *root)
{
	unit_fails_everywhere(small_run, 1);
	world_create(root, ddir_threshold_distinct, false);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(distinct),
		UNIT_CASE(except_all),
		UNIT_CASE(netted),
		UNIT_CASE(large_step),
		UNIT_CASE(negative),
		UNIT_CASE(negative_keys),
		UNIT_CASE(error_rows),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
