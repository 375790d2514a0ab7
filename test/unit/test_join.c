/*-------------------------------------------------------------------------
 *
 * test_join.c
 *	  The delta join in a graph: against every combination of rows.
 *
 * After each step what came out so far must be the join of what went in:
 *
 *	- two to four relations, self joins, duplicates, rows that come and go
 *	  within a step, several times in a step
 *	- made early or late, along any path, the driver's row from its val or
 *	  from key and val
 *	- triangles, by intersecting; hubs beside nodes of few edges
 *	- in chunks, however many rows one key has
 *	- over arrangements that other joins read as well, each made once
 *
 * Product times and the rule of who claims a result: test_half_join.c.
 *
 * test/unit/test_join.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

#define SOURCES 2

/* Sources with all their arrangements, and what is in them. */
typedef struct World
{
	DdirArena  *arena;
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source[SOURCES];
	DdirNode   *arr[SOURCES][3];
	Proj	   *keying[SOURCES][3];
	Bag			content[SOURCES];
	Bag			change[SOURCES];	/* of the step */
} World;

static World world;				/* static: failing allocations jump over frees */
static Catch caught;
static Catch caught_late;
static Bag	expected;

static DdirNode *
world_arrangement(void *ctx, int source, int keycol)
{
	World	   *w = ctx;

	if (w->arr[source][keycol] == NULL)
	{
		w->keying[source][keycol] = proj_whole(w->arena, keycol, 2);
		w->arr[source][keycol] =
			ddir_arrange_create(w->g, "by column", w->source[source],
								proj_func(w->keying[source][keycol]));
	}
	return w->arr[source][keycol];
}

static World *
world_create(DdirArena *root)
{
	World	   *w = &world;

	for (int s = 0; s < SOURCES; s++)
	{
		bag_free(&w->content[s]);
		bag_free(&w->change[s]);
	}
	catch_free(&caught);
	catch_free(&caught_late);
	bag_free(&expected);
	memset(w, 0, sizeof(*w));
	w->arena = root;
	w->g = ddir_graph_create(root, 1);
	for (int s = 0; s < SOURCES; s++)
		w->source[s] = ddir_source_create(w->g, "source");
	flow_seed(unit_random());
	return w;
}

/* Random changes: deletions of what is there, insertions, some of them twice. */
static void
world_change(World *w, int source, int n, uint32_t values)
{
	for (int i = 0; i < n; i++)
	{
		Bag		   *c = &w->content[source];
		Row			row = ROW(unit_below(values), unit_below(values));
		int64_t		diff = 1;

		if (c->n > 0 && unit_chance(1, 2) && flow_pick(c, &w->change[source], &row))
			diff = -1;
		bag_add_now(&w->change[source], row, diff);
		if (diff > 0 && unit_chance(1, 4))
			bag_add_now(&w->change[source], row, unit_chance(1, 2) ? 1 : -1);
	}
}

static void
world_step(World *w)
{
	uint64_t	t = w->t + 1 + unit_below(3);

	ddir_graph_begin(w->g, &t);
	for (int s = 0; s < SOURCES; s++)
	{
		flow_feed(w->source[s], 0, &w->change[s], &t);
		bag_add_all(&w->content[s], &w->change[s]);
		bag_tidy(&w->content[s]);
		bag_clear(&w->change[s]);
	}
	ddir_graph_finish(w->g);
	w->t = t;
}

/* The same with several times in the step, at most the step's. */
static void
world_step_mixed(World *w)
{
	uint64_t	t = w->t + 4;

	ddir_graph_begin(w->g, &t);
	for (int s = 0; s < SOURCES; s++)
	{
		Bag		   *b = &w->change[s];

		flow_feed_over(w->source[s], 0, b, w->t + 1, t);
		bag_add_all(&w->content[s], b);
		bag_tidy(&w->content[s]);
		bag_clear(b);
	}
	ddir_graph_finish(w->g);
	w->t = t;
}

static void
check_join(World *w, const JoinSpec *spec, Catch *c, const char *what)
{
	bag_clear(&expected);
	flow_join_brute(spec, w->content, &expected);
	bag_flatten(&c->rows);
	CHECK(bag_equal(&c->rows, &expected, what));
}

/* ----
 * Cases
 * ----
 */

/* 24 ticks of random adds and retracts, n = 2, 3, 4, self joins, duplicates. */
static void
random_joins(DdirArena *root)
{
	for (int round = 0; round < 40; round++)
	{
		World	   *w = world_create(root);
		int			nrel = 2 + unit_below(3);
		JoinSpec	spec;
		DdirNode   *join;
		DdirNode   *sink;

		flow_join_random(&spec, nrel, SOURCES);
		join = flow_join_create(w->g, root, &spec, world_arrangement, w,
								unit_below(nrel), ddir_join_create);
		sink = ddir_sink_create(w->g, "out", join, catch_fns(&caught));
		ddir_node_release(join);
		for (int tick = 0; tick < 24; tick++)
		{
			for (int s = 0; s < SOURCES; s++)
				if (unit_chance(2, 3))
					world_change(w, s, unit_below(nrel > 3 ? 6 : 12), 5);
			if (round % 2)
				world_step_mixed(w);
			else
				world_step(w);
			check_join(w, &spec, &caught, "join");
			if (unit_chance(1, 4))
				ddir_graph_exert(w->g, unit_below(100));
		}
		ddir_node_release(sink);
		ddir_graph_destroy(w->g);
	}
}

/* A step's output has the step's time. */
static void
times_of_output(DdirArena *root)
{
	World	   *w = world_create(root);
	JoinSpec	spec = {2, {0, 1}, 1, {{{0, 1}, {1, 0}}}};
	DdirNode   *join = flow_join_create(w->g, root, &spec, world_arrangement, w, 0,
										ddir_join_create);

	ddir_sink_create(w->g, "out", join, catch_fns(&caught));
	for (int tick = 0; tick < 10; tick++)
	{
		world_change(w, 0, 10, 4);
		world_change(w, 1, 10, 4);
		world_step(w);
		for (int i = 0; i < caught.rows.n; i++)
			CHECK_EQ(caught.rows.u[i].t.c[0], w->t);
		bag_clear(&caught.rows);
	}
}

/*
 * A join made late, over arrangements with a past, then ticking, has what one
 * that was there from the start has.
 */
static void
late_import(DdirArena *root)
{
	for (int round = 0; round < 30; round++)
	{
		World	   *w = world_create(root);
		JoinSpec	spec;
		DdirNode   *join;

		flow_join_random(&spec, 2 + unit_below(3), SOURCES);
		for (int s = 0; s < SOURCES; s++)
			for (int c = 0; c < 3; c++)
				world_arrangement(w, s, c);
		join = flow_join_create(w->g, root, &spec, world_arrangement, w, 0,
								ddir_join_create);
		ddir_sink_create(w->g, "early", join, catch_fns(&caught));
		for (int tick = 0; tick < 12; tick++)
		{
			if (tick == 6)
			{
				join = flow_join_create(w->g, root, &spec, world_arrangement, w,
										unit_below(spec.nrel), ddir_join_create);
				ddir_sink_create(w->g, "late", join, catch_fns(&caught_late));
			}
			for (int s = 0; s < SOURCES; s++)
				if (unit_chance(2, 3))
					world_change(w, s, unit_below(8), 4);
			if (round % 2)
				world_step_mixed(w);
			else
				world_step(w);
			if (tick == 6)
				for (int i = 0; i < caught_late.rows.n; i++)
					CHECK_EQ(caught_late.rows.u[i].t.c[0], w->t);
			if (tick >= 6)
				check_join(w, &spec, &caught_late, "late");
		}
		check_join(w, &spec, &caught, "early");
		ddir_graph_destroy(w->g);
	}
}

/* ----
 * Triangles: Q(a,b,c) = E(a,b), E(b,c), E(a,c), by intersections
 * ----
 */

/* The arrangements: val is the other end, or the whole row. */
static void
triangles_arrange(DdirGraph *g, DdirArena *arena, DdirNode *edges, DdirNode **arr)
{
	Proj	   *src = proj_of(arena, "00:01");
	Proj	   *dst = proj_of(arena, "01:00");
	Proj	   *both = proj_of(arena, "00:00 01");

	arr[0] = ddir_arrange_create(g, "by source", edges, proj_func(src));
	arr[1] = ddir_arrange_create(g, "by target", edges, proj_func(dst));
	arr[2] = ddir_arrange_create(g, "whole", edges, proj_func(both));
}

static DdirNode *
triangles_over(DdirGraph *g, DdirArena *arena, DdirNode *const *arr)
{
	/* the driver's columns, and which bound column is each of a, b, c */
	static const Col abc[3][3] = {
		{{0, 0}, {0, 1}, {1, 0}},
		{{0, 0}, {1, 0}, {1, 1}},
		{{2, 0}, {0, 0}, {2, 1}},
	};

	/* path i: looked up by (arrangement, key column) */
	static const struct
	{
		int			rel,
					arr,
					rel2,
					arr2;
		Col			key,
					key2;
	}			look[3] =

	{
		{1, 0, 2, 0, {0, 1}, {0, 0}},
		{0, 1, 2, 1, {1, 0}, {1, 1}},
		{0, 0, 1, 1, {2, 0}, {2, 1}},
	};
	DdirPath	path[3] = {{0}};
	DdirStage	stage[3][2] = {{{0}}};

	for (int i = 0; i < 3; i++)
	{
		stage[i][0].rel = look[i].rel;
		stage[i][0].arr = look[i].arr;
		stage[i][0].key = proj_func(proj_make(arena, 1, &look[i].key, 0, NULL));
		stage[i][0].rel2 = look[i].rel2;
		stage[i][0].arr2 = look[i].arr2;
		stage[i][0].key2 = proj_func(proj_make(arena, 1, &look[i].key2, 0, NULL));
		/* the driver's whole row: from its val, or from key and val */
		path[i].with_key = flow_below(2);
		path[i].arr = path[i].with_key ? 0 : 2;
		path[i].nstages = 1;
		path[i].stages = stage[i];
		path[i].output = proj_func(proj_make(arena, 0, NULL, 3, abc[i]));
	}
	return ddir_join_create(g, "triangles", 3, 3, arr, path, 1);
}

static DdirNode *
triangles_create(DdirGraph *g, DdirArena *arena, DdirNode *edges)
{
	DdirNode   *arr[3];
	DdirNode   *join;

	triangles_arrange(g, arena, edges, arr);
	join = triangles_over(g, arena, arr);
	for (int i = 0; i < 3; i++)
		ddir_node_release(arr[i]);
	return join;
}

static void
triangles_expect(const Bag *edges, Bag *out)
{
	for (int i = 0; i < edges->n; i++)
		for (int j = 0; j < edges->n; j++)
		{
			const Update *x = &edges->u[i];
			const Update *y = &edges->u[j];

			if (x->row.c[1] != y->row.c[0])
				continue;
			for (int k = 0; k < edges->n; k++)
			{
				const Update *z = &edges->u[k];

				if (z->row.c[0] == x->row.c[0] && z->row.c[1] == y->row.c[1])
					bag_add_now(out, ROW(x->row.c[0], x->row.c[1], y->row.c[1]),
								x->diff * y->diff * z->diff);
			}
		}
}

static void
triangles_known(DdirArena *root)
{
	static const uint64_t edge[][2] = {
		{1, 2}, {2, 3}, {1, 3}, {3, 4}, {1, 4}, {2, 4}, {5, 5}, {6, 7},
	};
	World	   *w = world_create(root);
	DdirNode   *join = triangles_create(w->g, root, w->source[0]);

	ddir_sink_create(w->g, "out", join, catch_fns(&caught));
	for (int i = 0; i < 8; i++)
		bag_add_now(&w->change[0], ROW(edge[i][0], edge[i][1]), 1);
	world_step(w);
	bag_clear(&expected);
	bag_add_now(&expected, ROW(1, 2, 3), 1);
	bag_add_now(&expected, ROW(1, 2, 4), 1);
	bag_add_now(&expected, ROW(1, 3, 4), 1);
	bag_add_now(&expected, ROW(2, 3, 4), 1);
	bag_add_now(&expected, ROW(5, 5, 5), 1);
	bag_flatten(&caught.rows);
	CHECK(bag_equal(&caught.rows, &expected, "triangles"));

	/* a duplicate of 12 doubles 123 and 124 */
	bag_add_now(&w->change[0], ROW(1, 2), 1);
	world_step(w);
	bag_add_now(&expected, ROW(1, 2, 3), 1);
	bag_add_now(&expected, ROW(1, 2, 4), 1);
	bag_flatten(&caught.rows);
	CHECK(bag_equal(&caught.rows, &expected, "triangles, 12 twice"));

	/* from those to the complete graph with loops on 5 nodes, at once */
	for (int i = 0; i < w->content[0].n; i++)
		bag_add_now(&w->change[0], w->content[0].u[i].row, -w->content[0].u[i].diff);
	for (uint64_t a = 0; a < 5; a++)
		for (uint64_t b = 0; b < 5; b++)
			bag_add_now(&w->change[0], ROW(a, b), 1);
	world_step(w);
	bag_flatten(&caught.rows);
	CHECK_EQ(caught.rows.n, 125);
}

/* Random, with hubs, so that ranges are of very different lengths. */
static void
triangles_random(DdirArena *root)
{
	for (int round = 0; round < 6; round++)
	{
		World	   *w = world_create(root);
		DdirNode   *join = triangles_create(w->g, root, w->source[0]);

		ddir_sink_create(w->g, "out", join, catch_fns(&caught));
		for (int tick = 0; tick < 8; tick++)
		{
			world_change(w, 0, 40, 12);
			if (tick == 2 || tick == 5)
				for (int i = 0; i < 60; i++)
					bag_add_now(&w->change[0],
								unit_chance(1, 2) ? ROW(3, unit_below(100)) :
								ROW(unit_below(100), 3), 1);
			if (round % 2)
				world_step_mixed(w);
			else
				world_step(w);
			bag_clear(&expected);
			triangles_expect(&w->content[0], &expected);
			bag_flatten(&caught.rows);
			CHECK(bag_equal(&caught.rows, &expected, "triangles"));

			/* a second one, made late */
			if (tick == 4)
			{
				DdirNode   *late = triangles_create(w->g, root, w->source[0]);

				/* its arrangements are new as well: they are given the past */
				ddir_sink_create(w->g, "late", late, catch_fns(&caught_late));
				{
					uint64_t	t = ++w->t;

					ddir_graph_begin(w->g, &t);
					for (int i = 0; i < 3; i++)
						flow_feed(late->in[i], 0, &w->content[0], &t);
					ddir_graph_finish(w->g);
				}
			}
			if (tick >= 5)
			{
				bag_flatten(&caught_late.rows);
				CHECK(bag_equal(&caught_late.rows, &expected, "late triangles"));
			}
		}
		ddir_graph_destroy(w->g);
	}
}

/*
 * A triangle with a tail, E(c,d): what an intersection bound is handed on by the
 * stage behind it, and an intersection follows another stage.
 */
static void
triangles_with_tails(DdirArena *root)
{
	World	   *w = world_create(root);
	static const Col key[3] = {{1, 0}, {1, 1}, {2, 1}};
	static const Col key1[3] = {{0, 1}, {1, 0}, {2, 0}};
	static const Col key2[3] = {{0, 0}, {1, 1}, {2, 1}};
	static const int look[3][4] = {{1, 0, 2, 0}, {0, 1, 2, 1}, {0, 0, 1, 1}};
	static const Col abcd[4][4] = {
		{{0, 0}, {0, 1}, {1, 0}, {3, 0}},
		{{0, 0}, {1, 0}, {1, 1}, {3, 0}},
		{{2, 0}, {0, 0}, {2, 1}, {3, 0}},
		{{0, 0}, {1, 0}, {3, 0}, {3, 1}},
	};
	DdirNode   *arr[3];
	DdirPath	path[4] = {{0}};
	DdirStage	stage[4][2] = {{{0}}};
	DdirNode   *join;

	triangles_arrange(w->g, root, w->source[0], arr);
	for (int i = 0; i < 4; i++)
	{
		/* three paths intersect and then go along the tail, one starts there */
		DdirStage  *both = &stage[i][i == 3];
		DdirStage  *single = &stage[i][i != 3];
		Col			b = col(1, 0);
		Col			c = col(3, 0);

		both->rel = i < 3 ? look[i][0] : 0;
		both->arr = i < 3 ? look[i][1] : 1;
		both->rel2 = i < 3 ? look[i][2] : 2;
		both->arr2 = i < 3 ? look[i][3] : 1;
		both->key = proj_func(proj_make(root, 1, i < 3 ? &key1[i] : &b, 0, NULL));
		both->key2 = proj_func(proj_make(root, 1, i < 3 ? &key2[i] : &c, 0, NULL));
		single->rel = i < 3 ? 3 : 1;
		single->arr = i < 3 ? 0 : 1;
		single->rel2 = -1;
		single->key = proj_func(proj_make(root, 1, i < 3 ? &key[i] : &c, 0, NULL));
		path[i].arr = 2;
		path[i].nstages = 2;
		path[i].stages = stage[i];
		path[i].output = proj_func(proj_make(root, 0, NULL, 4, abcd[i]));
	}
	join = ddir_join_create(w->g, "tails", 4, 3, arr, path, 0);
	ddir_sink_create(w->g, "out", join, catch_fns(&caught));
	for (int tick = 0; tick < 12; tick++)
	{
		Bag			triangles = {0};

		world_change(w, 0, 20, 7);
		if (tick % 2)
			world_step_mixed(w);
		else
			world_step(w);
		triangles_expect(&w->content[0], &triangles);
		bag_clear(&expected);
		for (int i = 0; i < triangles.n; i++)
			for (int k = 0; k < w->content[0].n; k++)
			{
				Row			row = triangles.u[i].row;
				const Update *u = &w->content[0].u[k];

				if (u->row.c[0] != row.c[2])
					continue;
				row.c[row.n++] = u->row.c[1];
				bag_add_now(&expected, row, triangles.u[i].diff * u->diff);
			}
		bag_flatten(&caught.rows);
		CHECK(bag_equal(&caught.rows, &expected, "tails"));
		bag_free(&triangles);
	}
	ddir_graph_destroy(w->g);
}

/* ----
 * Shared arrangements
 * ----
 */

/* Has an arrangement been compacted to t, one step behind, and merged to t + 1? */
static void
check_held(DdirNode *arr, uint64_t t)
{
	DdirSpine  *s = ddir_arrange_spine(arr);

	CHECK_EQ(ddir_spine_since(s)->n, 1);
	CHECK_EQ(ddir_spine_since(s)->elem[0].c[0], t);
	CHECK_EQ(ddir_spine_physical(s)->n, 1);
	CHECK_EQ(ddir_spine_physical(s)->elem[0].c[0], t + 1);
}

/*
 * Two delta joins and a binary one over the same arrangements: those are there
 * once, and each consumer costs no row more.  None holds them back further
 * than delta joins need, also if only one side of the binary join changes; and
 * with the delta joins gone the binary one goes on.
 */
static void
indexes_shared(DdirArena *root)
{
	World	   *w = world_create(root);
	JoinSpec	path_spec = {2, {0, 0}, 1, {{{0, 1}, {1, 0}}}};
	DdirNode   *arr[3];
	DdirNode   *view[3];
	DdirNode   *other;
	size_t		before;
	Catch		wedges = {{0}};

	triangles_arrange(w->g, root, w->source[0], arr);
	other = world_arrangement(w, 1, 0);
	for (int i = 0; i < 3000; i++)
		bag_add_now(&w->change[0], ROW(i / 3, 1 + i / 3 + i % 3), 1);
	world_step(w);
	before = ddir_graph_bytes(w->g);

	for (int v = 0; v < 3; v++)
	{
		DdirNode   *join;
		DdirSinkFns fns = catch_fns(v == 0 ? &caught : v == 1 ? &caught_late : &wedges);

		/* a wedge's vals are the two other ends of its middle */
		if (v < 2)
			join = triangles_over(w->g, root, arr);
		else
			join = ddir_bilinear_create(w->g, "wedges", arr[1], arr[0],
										proj_func(proj_of(root, ":00 10")));
		view[v] = ddir_sink_create(w->g, "view", join, fns);
		ddir_node_release(join);
	}
	world_step(w);
	while (ddir_graph_exert(w->g, 100000))
		;
	CHECK(ddir_graph_bytes(w->g) < before + 32 * 1024);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(ddir_spine_rows(ddir_arrange_spine(arr[i])), 3000);

	for (int tick = 0; tick < 20; tick++)
	{
		Bag			sum = {0};

		if (tick % 3)
			world_change(w, 0, 10, 40);
		world_step(w);
		for (int i = 0; i < 3; i++)
			check_held(arr[i], w->t);
		check_held(other, w->t);

		if (tick < 10)
		{
			bag_clear(&expected);
			triangles_expect(&w->content[0], &expected);
			bag_flatten(&caught.rows);
			bag_flatten(&caught_late.rows);
			CHECK(bag_equal(&caught.rows, &expected, "triangles"));
			CHECK(bag_equal(&caught_late.rows, &expected, "more triangles"));
		}
		bag_clear(&expected);
		flow_join_brute(&path_spec, w->content, &sum);
		for (int i = 0; i < sum.n; i++)
			bag_add_now(&expected, ROW(sum.u[i].row.c[0], sum.u[i].row.c[3]), sum.u[i].diff);
		bag_flatten(&wedges.rows);
		CHECK(bag_equal(&wedges.rows, &expected, "wedges"));
		bag_free(&sum);
		if (tick == 10)
		{
			ddir_node_release(view[0]);
			ddir_node_release(view[1]);
		}
	}
	ddir_graph_destroy(w->g);
	catch_free(&wedges);
}

/* ----
 * Large keys
 * ----
 */

typedef struct Meter
{
	DdirGraph  *g;
	uint64_t	rows;
	uint64_t	biggest;
	size_t		bytes;
} Meter;

static void
meter_rows(void *ctx, const DdirDeltas *rows)
{
	Meter	   *m = ctx;
	size_t		bytes = ddir_graph_bytes(m->g);

	m->rows += rows->n;
	if (rows->n > m->biggest)
		m->biggest = rows->n;
	if (bytes > m->bytes)
		m->bytes = bytes;
}

/* One key of 700 rows three ways: 343 million would not fit, chunks do. */
static void
hub_in_chunks(DdirArena *root)
{
	World	   *w = world_create(root);
	JoinSpec	spec = {3, {0, 0, 1}, 2, {{{0, 0}, {1, 0}}, {{1, 0}, {2, 0}}}};
	DdirNode   *join = flow_join_create(w->g, root, &spec, world_arrangement, w, 0,
										ddir_join_create);
	Meter		meter = {w->g};
	DdirSinkFns fns = {&meter, meter_rows, meter_rows};
	size_t		before;

	ddir_sink_create(w->g, "out", join, fns);
	for (int i = 0; i < 700; i++)
		bag_add_now(&w->change[0], ROW(1, i), 1);
	world_step(w);
	CHECK_EQ(meter.rows, 0);
	before = ddir_graph_bytes(w->g);
	bag_add_now(&w->change[1], ROW(1, 1), 1);
	world_step(w);
	CHECK_EQ(meter.rows, 700 * 700);
	CHECK(meter.biggest <= DDIR_CHUNK_ROWS);
	CHECK(meter.bytes < before + 3 * 1024 * 1024);
	/* and nothing of it is kept */
	CHECK(ddir_graph_bytes(w->g) < before + 200 * 1024);
}

/* ----
 * Errors
 * ----
 */

/* A row that a function rejects is an error, and goes when the row goes. */
static void
error_rows(DdirArena *root)
{
	World	   *w = world_create(root);
	JoinSpec	spec = {2, {0, 1}, 1, {{{0, 1}, {1, 0}}}};
	DdirNode   *join;

	for (int s = 0; s < SOURCES; s++)
		for (int c = 0; c < 3; c++)
			world_arrangement(w, s, c);
	for (int c = 0; c < 3; c++)
	{
		w->keying[0][c]->fail = col(0, 0);
		w->keying[0][c]->fail_value = 13;
	}
	join = flow_join_create(w->g, root, &spec, world_arrangement, w, 0,
							ddir_join_create);
	ddir_sink_create(w->g, "out", join, catch_fns(&caught));

	bag_add_now(&w->change[0], ROW(13, 2), 1);
	bag_add_now(&w->change[0], ROW(12, 2), 1);
	bag_add_now(&w->change[1], ROW(2, 5), 1);
	world_step(w);
	bag_flatten(&caught.rows);
	CHECK_EQ(caught.rows.n, 1);
	CHECK(bag_count(&caught.errs, ROW(13, 2)) > 0);
	CHECK_EQ(ddir_arrange_errors(w->arr[0][1])->n, 1);

	/* a late consumer learns of it, once and only in its first step */
	join = flow_join_create(w->g, root, &spec, world_arrangement, w, 0,
							ddir_join_create);
	ddir_sink_create(w->g, "late", join, catch_fns(&caught_late));
	world_step(w);
	CHECK(bag_count(&caught_late.errs, ROW(13, 2)) > 0);
	CHECK_EQ(caught_late.rows.n, 1);
	bag_clear(&caught_late.errs);
	world_step(w);
	CHECK_EQ(caught_late.errs.n, 0);

	bag_add_now(&w->change[0], ROW(13, 2), -1);
	world_step(w);
	CHECK_EQ(bag_count(&caught.errs, ROW(13, 2)), 0);
	CHECK(bag_count(&caught_late.errs, ROW(13, 2)) < 0);
	CHECK_EQ(ddir_arrange_errors(w->arr[0][1])->n, 0);
}

static void
refused_call(DdirArena *root)
{
	World	   *w = world_create(root);
	JoinSpec	spec = {2, {0, 1}, 1, {{{0, 1}, {1, 0}}}};
	DdirNode   *join = flow_join_create(w->g, root, &spec, world_arrangement, w, 0,
										ddir_join_create);

	ddir_sink_create(w->g, "out", join, catch_fns(&caught));
	w->keying[0][1]->refuse = true;
	bag_add_now(&w->change[0], ROW(1, 2), 1);
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w));
	/* now it can only be destroyed */
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, world_step(w));
	ddir_graph_destroy(w->g);
}

static void
wrong_paths(DdirArena *root)
{
	World	   *w = world_create(root);
	Proj	   *p = proj_of(root, "01:");
	DdirNode   *arr[2] = {world_arrangement(w, 0, 0), world_arrangement(w, 1, 0)};
	DdirStage	stage[2] = {
		{1, 1, proj_func(p), -1, 0, {NULL, NULL}},
		{0, 0, proj_func(p), -1, 0, {NULL, NULL}},
	};
	DdirPath	path[2] = {
		{.arr = 0,.nstages = 1,.stages = &stage[0],.output = proj_func(p)},
		/* binds 1 twice */
		{.arr = 1,.nstages = 1,.stages = &stage[0],.output = proj_func(p)},
	};

	EXPECT_ERROR(DDIR_ERROR_INTERNAL,
				 ddir_join_create(w->g, "bad", 2, 2, arr, path, 0));
	path[1].stages = &stage[1];
	path[1].nstages = 0;
	EXPECT_ERROR(DDIR_ERROR_INTERNAL,
				 ddir_join_create(w->g, "short", 2, 2, arr, path, 0));
	path[1].nstages = 1;
	arr[0] = w->source[0];
	EXPECT_ERROR(DDIR_ERROR_INTERNAL,
				 ddir_join_create(w->g, "unarranged", 2, 2, arr, path, 0));
}

/* ----
 * Allocations that fail
 * ----
 */

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root);
	JoinSpec	spec;
	DdirNode   *join;

	flow_join_random(&spec, 3, SOURCES);
	join = flow_join_create(w->g, root, &spec, world_arrangement, w, 0,
							ddir_join_create);
	ddir_sink_create(w->g, "out", join, catch_fns(&caught));
	join = triangles_create(w->g, root, w->source[0]);
	ddir_sink_create(w->g, "triangles", join, catch_fns(&caught_late));
	for (int tick = 0; tick < 4; tick++)
	{
		world_change(w, 0, 10, 4);
		world_change(w, 1, 10, 4);
		world_step(w);
		ddir_graph_exert(w->g, 10);
	}
	check_join(w, &spec, &caught, "join");
	ddir_graph_destroy(w->g);
}

static void
failing_allocations(DdirArena *root)
{
	unit_fails_everywhere(small_run, 3);
	world_create(root);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(random_joins),
		UNIT_CASE(times_of_output),
		UNIT_CASE(late_import),
		UNIT_CASE(triangles_known),
		UNIT_CASE(triangles_random),
		UNIT_CASE(triangles_with_tails),
		UNIT_CASE(indexes_shared),
		UNIT_CASE(hub_in_chunks),
		UNIT_CASE(error_rows),
		UNIT_CASE(refused_call),
		UNIT_CASE(wrong_paths),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
