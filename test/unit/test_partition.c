/*-------------------------------------------------------------------------
 *
 * test_partition.c
 *	  Partition: what a function makes of all rows of a key, after every step.
 *
 * The function under test numbers a key's rows in their order, and fails of a
 * key that holds a certain value.
 *
 * test/unit/test_partition.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

#define BAD 13

typedef struct World
{
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source;
	DdirNode   *arrange;
	Bag			content;
	Bag			change;
	uint32_t	most;			/* keys of a call */
	bool		refuse;
} World;

static World world;
static Catch caught;
static Bag	expected;
static Bag	expected_errs;

static void
number_rows(World *w, const DdirPartition *part, int64_t diff, DdirCursor *cursor,
			DdirDeltas *out, DdirDeltas *err)
{
	DdirRef		val;
	int64_t		copies;
	uint64_t	n = 0;

	ddir_cursor_seek(cursor, part->hash, part->key.p, part->key.len);
	while (ddir_cursor_next(cursor, &val, &copies))
	{
		Row			row = row_unpack(val);

		if (row.c[1] == BAD)
		{
			flow_push(err, ROW(row.c[0]), NULL, diff);
			return;
		}
	}
	ddir_cursor_seek(cursor, part->hash, part->key.p, part->key.len);
	while (ddir_cursor_next(cursor, &val, &copies))
		for (; copies > 0; copies--)
		{
			Row			row = row_unpack(val);

			flow_push(out, ROW(row.c[0], row.c[1], ++n), NULL, diff);
		}
	(void) w;
}

static bool
run(void *ctx, uint32_t n, const DdirPartition *part, int64_t diff,
	DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err)
{
	World	   *w = ctx;

	if (w->most < n)
		w->most = n;
	for (uint32_t i = 0; i < n; i++)
		number_rows(w, &part[i], diff, cursor, out, err);
	return !w->refuse;
}

static World *
world_create(DdirArena *root)
{
	World	   *w = &world;
	DdirPartitionFns fns = {w, run};

	bag_free(&w->content);
	bag_free(&w->change);
	catch_free(&caught);
	bag_free(&expected);
	bag_free(&expected_errs);
	memset(w, 0, sizeof(*w));
	w->g = ddir_graph_create(root, 1);
	w->source = ddir_source_create(w->g, "source");
	w->arrange = ddir_arrange_create(w->g, "rows", w->source,
									 proj_func(proj_of(root, "00:00 01")));
	ddir_sink_create(w->g, "out", ddir_partition_create(w->g, "numbers", w->arrange, fns),
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
		Row			row = ROW(unit_below(keys), unit_below(values));
		int64_t		diff = 1;

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

static void
check(World *w, const char *what)
{
	const Update *u = w->content.u;
	uint64_t	place = 0;

	bag_clear(&expected);
	bag_clear(&expected_errs);
	for (int i = 0; i < w->content.n; i++)
	{
		uint64_t	key = u[i].row.c[0];

		if (i == 0 || key != u[i - 1].row.c[0])
			place = 0;
		if (bag_count(&w->content, ROW(key, BAD)) > 0)
		{
			if (place++ == 0)
				bag_add_now(&expected_errs, ROW(key), 1);
			continue;
		}
		for (int64_t k = 0; k < u[i].diff; k++)
			bag_add_now(&expected, ROW(key, u[i].row.c[1], ++place), 1);
	}
	bag_flatten(&caught.rows);
	bag_flatten(&caught.errs);
	CHECK(bag_equal(&caught.rows, &expected, what));
	CHECK(bag_equal(&caught.errs, &expected_errs, what));
}

static void
numbered(DdirArena *root)
{
	for (int round = 0; round < 40; round++)
	{
		World	   *w = world_create(root);

		for (int tick = 0; tick < 24; tick++)
		{
			world_change(w, unit_below(round % 3 ? 6 : 60), 4, round % 2 ? 5 : 16);
			world_step(w);
			check(w, "numbered");
		}
		ddir_graph_destroy(w->g);
	}
}

/* What did not change is not emitted, and many keys are taken in parts. */
static void
many_keys(DdirArena *root)
{
	World	   *w = world_create(root);

	for (int i = 0; i < 5000; i++)
		bag_add_now(&w->change, ROW(i, 1), 1);
	world_step(w);
	check(w, "many");
	CHECK(w->most > 1 && w->most <= 1024);
	bag_clear(&caught.rows);
	for (int i = 0; i < 1000; i++)
		bag_add_now(&w->change, ROW(i, 2), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 1000);
	CHECK_EQ(caught.rows.u[999].t.c[0], w->t);
	ddir_graph_destroy(w->g);
}

static void
refused(DdirArena *root)
{
	World	   *w = world_create(root);

	bag_add_now(&w->change, ROW(1, 1), 1);
	w->refuse = true;
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w));
	ddir_graph_destroy(w->g);
}

static void
too_late(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirPartitionFns fns = {w, run};

	bag_add_now(&w->change, ROW(1, 1), 1);
	world_step(w);
	ddir_partition_create(w->g, "late", w->arrange, fns);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
}

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root);

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
	world_create(root);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(numbered),
		UNIT_CASE(many_keys),
		UNIT_CASE(refused),
		UNIT_CASE(too_late),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
