/*-------------------------------------------------------------------------
 *
 * test_topk.c
 *	  Top-k against its definition: sort each key's rows, count them off.
 *
 * Rows are (key, order, other); vals are (order, order, other), the first of
 * them being the bytes that order.
 *
 * test/unit/test_topk.c
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
	DdirNode   *arrange;
	Proj	   *keying;
	DdirTopkSpec spec;
	Bag			content;
	Bag			change;
} World;

static World world;
static Catch caught;
static Bag	expected;

static uint32_t
order_bytes(void *ctx, DdirRef val)
{
	(void) val;
	return *(const uint32_t *) ctx;
}

static uint32_t ordered = 8;

static World *
world_create(DdirArena *root, int64_t limit, int64_t offset, bool ties)
{
	World	   *w = &world;

	bag_free(&w->content);
	bag_free(&w->change);
	catch_free(&caught);
	bag_free(&expected);
	memset(w, 0, sizeof(*w));
	ordered = 8;
	w->spec = (DdirTopkSpec)
	{
		.limit = limit,.offset = offset,.ties = ties,.order = order_bytes,.ctx = &ordered
	};
	w->g = ddir_graph_create(root, 1);
	w->source = ddir_source_create(w->g, "source");
	w->keying = proj_of(root, "00:01 01 02");
	w->arrange = ddir_arrange_create(w->g, "rows", w->source, proj_func(w->keying));
	ddir_sink_create(w->g, "out", ddir_topk_create(w->g, "top", w->arrange, &w->spec),
					 catch_fns(&caught));
	flow_seed(unit_random());
	return w;
}

static void
world_change(World *w, int n, uint32_t keys, uint32_t values)
{
	for (int i = 0; i < n; i++)
	{
		Bag		   *c = &w->content;
		Row			row = ROW(unit_below(keys), unit_below(values), unit_below(3));
		int64_t		diff = 1 + unit_chance(1, 4);

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

/* The content is tidy, so it is in the order of keys and vals. */
static void
check(World *w, const char *what)
{
	const Update *u = w->content.u;
	int64_t		end = w->spec.limit < 0 ? INT64_MAX : w->spec.offset + w->spec.limit;
	int64_t		place = 0;
	uint64_t	last = 0;

	bag_clear(&expected);
	for (int i = 0; i < w->content.n; i++)
	{
		if (i == 0 || u[i].row.c[0] != u[i - 1].row.c[0])
			place = 0;
		for (int64_t k = 0; k < u[i].diff; k++)
		{
			bool		in = place >= w->spec.offset && place < end;

			if (in)
				last = u[i].row.c[1];
			else if (w->spec.ties && w->spec.limit > 0 && place >= end)
				in = u[i].row.c[1] == last;
			if (in)
				bag_add_now(&expected, ROW(u[i].row.c[1], u[i].row.c[2]), 1);
			place++;
		}
	}
	bag_flatten(&caught.rows);
	CHECK(bag_equal(&caught.rows, &expected, what));
}

static void
windows(DdirArena *root)
{
	for (int round = 0; round < 80; round++)
	{
		World	   *w = world_create(root, (int64_t) unit_below(6) - 1, unit_below(4),
									 unit_chance(1, 2));
		uint32_t	values = 1 + unit_below(round % 2 ? 4 : 40);

		for (int tick = 0; tick < 24; tick++)
		{
			world_change(w, unit_below(round % 3 ? 6 : 60), 3, values);
			world_step(w);
			check(w, "window");
		}
		ddir_graph_destroy(w->g);
	}
}

/* What a step costs: rows emitted, not rows there are. */
static void
differences(DdirArena *root)
{
	World	   *w = world_create(root, 3, 1, false);

	for (int i = 0; i < 100; i++)
		bag_add_now(&w->change, ROW(1, i, 0), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 3);

	/* behind the window: nothing */
	bag_add_now(&w->change, ROW(1, 50, 0), -1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 3);

	/* in it: one comes, one goes */
	bag_add_now(&w->change, ROW(1, 2, 1), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 5);
	CHECK_EQ(caught.rows.u[3].diff + caught.rows.u[4].diff, 0);
	CHECK_EQ(caught.rows.u[4].t.c[0], w->t);

	/* before it, two that make up for each other */
	bag_add_now(&w->change, ROW(1, 0, 0), -1);
	bag_add_now(&w->change, ROW(1, 0, 1), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 5);
	check(w, "differences");
	ddir_graph_destroy(w->g);
}

/* Copies of a row across both ends of the window. */
static void
copies(DdirArena *root)
{
	World	   *w = world_create(root, 4, 3, false);

	bag_add_now(&w->change, ROW(1, 5, 0), 1000000);
	world_step(w);
	CHECK_EQ(bag_count(&caught.rows, ROW(5, 0)), 4);
	bag_add_now(&w->change, ROW(1, 5, 0), 1000000 - 5);
	bag_add_now(&w->change, ROW(1, 5, 0), -2000000 + 10);
	world_step(w);
	CHECK_EQ(bag_count(&caught.rows, ROW(5, 0)), 2);
	bag_add_now(&w->change, ROW(1, 4, 0), 6);
	world_step(w);
	check(w, "copies");
	ddir_graph_destroy(w->g);
}

static void
large_step(DdirArena *root)
{
	World	   *w = world_create(root, 20000, 10, true);

	for (int i = 0; i < 30000; i++)
		bag_add_now(&w->change, ROW(1, i / 3, i % 3), 1);
	world_step(w);
	check(w, "large");
	CHECK(caught.biggest <= DDIR_CHUNK_ROWS);
	ddir_graph_destroy(w->g);
}

/* A key that is long gone comes back. */
static void
emptied(DdirArena *root)
{
	World	   *w = world_create(root, 1, 0, true);

	for (int round = 0; round < 6; round++)
	{
		for (int k = 0; k < 9; k++)
			bag_add_now(&w->change, ROW(k, k % 2, 1), round % 2 ? -1 : 1);
		world_step(w);
		check(w, "emptied");
	}
	CHECK_EQ(bag_count(&expected, ROW(1, 1)), 0);
	ddir_graph_destroy(w->g);
}

static void
negative(DdirArena *root)
{
	World	   *w = world_create(root, 5, 0, false);

	bag_add_now(&w->change, ROW(1, 1, 1), -1);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, world_step(w));
	ddir_graph_destroy(w->g);
}

static void
malformed(DdirArena *root)
{
	World	   *w = world_create(root, 5, 0, false);

	ordered = 25;
	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
}

/* One over an arrangement that has a past would have to read all of it. */
static void
too_late(DdirArena *root)
{
	World	   *w = world_create(root, 5, 0, false);

	bag_add_now(&w->change, ROW(1, 1, 1), 1);
	world_step(w);
	ddir_topk_create(w->g, "late", w->arrange, &w->spec);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
}

static void
error_rows(DdirArena *root)
{
	World	   *w = world_create(root, 1, 0, false);

	w->keying->fail = col(0, 1);
	w->keying->fail_value = 13;
	bag_add_now(&w->change, ROW(1, 13, 7), 1);
	bag_add_now(&w->change, ROW(1, 2, 7), 1);
	world_step(w);
	CHECK_EQ(caught.errs.n, 1);
	CHECK_EQ(bag_count(&caught.rows, ROW(2, 7)), 1);
	bag_add_now(&w->change, ROW(1, 13, 7), -1);
	world_step(w);
	bag_flatten(&caught.errs);
	CHECK_EQ(caught.errs.n, 0);
	ddir_graph_destroy(w->g);
}

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root, 3, 1, true);

	for (int tick = 0; tick < 4; tick++)
	{
		world_change(w, 20, 3, 5);
		world_step(w);
	}
	check(w, "small");
	ddir_graph_destroy(w->g);
}

static void
failing_allocations(DdirArena *root)
{
	unit_fails_everywhere(small_run, 1);
	world_create(root, 1, 0, false);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(windows),
		UNIT_CASE(differences),
		UNIT_CASE(copies),
		UNIT_CASE(large_step),
		UNIT_CASE(emptied),
		UNIT_CASE(negative),
		UNIT_CASE(malformed),
		UNIT_CASE(too_late),
		UNIT_CASE(error_rows),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
