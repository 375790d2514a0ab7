/*-------------------------------------------------------------------------
 *
 * test_graph.c
 *	  Graphs: random ones against recomputation after every step, and the
 *	  rules of their life.
 *
 * In a random world views of several kinds come and go between steps, sharing
 * arrangements of two sources; after each step every view must equal its
 * definition over the sources' contents.
 *
 * test/unit/test_graph.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

#define SOURCES 2
#define VIEWS 8

typedef enum Kind
{
	KIND_JOIN,
	KIND_JOIN_COUNT,			/* rows of a join per first column */
	KIND_JOIN_DISTINCT,			/* first columns of a join */
	KIND_JOIN_MISSING,			/* a join's rows whose key a source has not */
	KIND_FILTERED,				/* rows of a source with equal columns */
	KIND_LEAST,					/* least second column per first */
	KIND_EXCEPT,				/* except all */
	KIND_ANTI,
	KINDS
} Kind;

typedef struct View
{
	bool		live;
	Kind		kind;
	JoinSpec	spec;
	int			other;			/* source */
	int			col;
	DdirNode   *sink;
	Catch		out;
} View;

typedef struct World
{
	DdirArena  *arena;
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source[SOURCES];
	DdirNode   *arr[SOURCES][3];	/* held, or NULL */
	Bag			content[SOURCES];
	Bag			change[SOURCES];
	View		view[VIEWS];
	/* operators to be given a source's past in the next step */
	int			nfill;
	struct
	{
		DdirNode   *node;
		int			port;
		int			source;
	}			fill[64];
} World;

static World world;
static Bag	expected;
static Bag	scratch;

static void
fill(World *w, DdirNode *node, int port, int source)
{
	w->fill[w->nfill].node = node;
	w->fill[w->nfill].port = port;
	w->fill[w->nfill++].source = source;
}

static DdirNode *
arrangement(void *ctx, int source, int keycol)
{
	World	   *w = ctx;

	if (w->arr[source][keycol] == NULL)
	{
		w->arr[source][keycol] =
			ddir_arrange_create(w->g, "by column", w->source[source],
								proj_func(proj_whole(w->arena, keycol, 2)));
		fill(w, w->arr[source][keycol], 0, source);
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
	for (int v = 0; v < VIEWS; v++)
		catch_free(&w->view[v].out);
	bag_free(&expected);
	bag_free(&scratch);
	memset(w, 0, sizeof(*w));
	w->arena = root;
	w->g = ddir_graph_create(root, 1);
	for (int s = 0; s < SOURCES; s++)
		w->source[s] = ddir_source_create(w->g, "source");
	flow_seed(unit_random());
	return w;
}

/* ----
 * Reductions of the random views
 * ----
 */

static bool
no_fold(void *ctx, int port, uint32_t n, DdirGroup *const *group,
		const DdirRef *val, const int64_t *diff)
{
	return true;
}

/* (key, count), or (key, least val) where there is an arrangement */
static bool
emit_row(void *ctx, uint32_t n, DdirGroup *const *group, int64_t diff,
		 DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err)
{
	for (uint32_t i = 0; i < n; i++)
	{
		Row			row = ROW(row_unpack(group[i]->key).c[0], group[i]->rows);

		if (ctx)
		{
			DdirRef		val;
			int64_t		count;

			ddir_cursor_seek(cursor, group[i]->hash, group[i]->key.p, group[i]->key.len);
			CHECK(ddir_cursor_next(cursor, &val, &count));
			row.c[1] = row_unpack(val).c[1];
		}
		flow_push(out, row, NULL, diff);
	}
	return true;
}

static DdirNode *
reduce_create(World *w, DdirNode *in, DdirNode *values)
{
	DdirFunc	keying = proj_func(proj_of(w->arena, "00:"));
	DdirReduceSpec spec = {1, &in, &keying, values ? 1 : 0, &values, false};

	spec.fns.ctx = values;
	spec.fns.fold = no_fold;
	spec.fns.emit = emit_row;
	return ddir_reduce_create(w->g, "per key", &spec);
}

/* ----
 * Views
 * ----
 */

/* Release what a view was built from, as its sink holds it. */
static void
finish_view(World *w, View *v, int n, DdirNode **nodes)
{
	v->sink = ddir_sink_create(w->g, "view", nodes[n - 1], catch_fns(&v->out));
	for (int i = 0; i < n; i++)
		ddir_node_release(nodes[i]);
}

static void
view_create(World *w, View *v)
{
	DdirArena  *arena = w->arena;
	DdirNode   *node[4];
	int			n = 0;

	memset(v, 0, sizeof(*v));
	v->live = true;
	v->kind = unit_below(KINDS);
	v->other = unit_below(SOURCES);
	v->col = unit_below(2);
	flow_join_random(&v->spec, 2 + unit_below(v->kind == KIND_JOIN ? 3 : 2), SOURCES);
	if (v->kind <= KIND_JOIN_MISSING)
		node[n++] = flow_join_create(w->g, arena, &v->spec, arrangement, w,
									 unit_below(v->spec.nrel), ddir_join_create);
	switch (v->kind)
	{
		case KIND_JOIN_COUNT:
			node[n++] = reduce_create(w, node[0], NULL);
			break;
		case KIND_JOIN_DISTINCT:
			node[n++] = ddir_linear_create(w->g, "first", node[0],
										   proj_func(proj_of(arena, ":00")));
			node[n++] = ddir_threshold_create(w->g, "distinct", node[1],
											  proj_func(proj_whole(arena, 0, 0)),
											  ddir_threshold_distinct);
			break;
		case KIND_JOIN_MISSING:
			{
				Proj	   *p = proj_whole(arena, v->col, 2 * v->spec.nrel);

				node[n++] = ddir_arrange_create(w->g, "join", node[0], proj_func(p));
				node[n++] = ddir_antijoin_create(w->g, "missing", node[1],
												 arrangement(w, v->other, 0),
												 proj_func(proj_whole(arena, 0, 2 * v->spec.nrel)));
				break;
			}
		case KIND_FILTERED:
			{
				Proj	   *p = proj_whole(arena, 0, 2);

				p->eq[p->neq][0] = col(0, 0);
				p->eq[p->neq++][1] = col(0, 1);
				node[n++] = ddir_linear_create(w->g, "filter", w->source[v->other], proj_func(p));
				fill(w, node[0], 0, v->other);
				break;
			}
		case KIND_LEAST:
			node[n++] = reduce_create(w, w->source[v->other], arrangement(w, v->other, 0));
			fill(w, node[0], 0, v->other);
			break;
		case KIND_EXCEPT:
			{
				DdirNode   *both[2];
				Proj	   *p = proj_of(arena, "00 01:");

				node[n++] = ddir_negate_create(w->g, "minus", w->source[1]);
				both[0] = w->source[0];
				both[1] = node[0];
				node[n++] = ddir_concat_create(w->g, "both", 2, both);
				node[n++] = ddir_threshold_create(w->g, "positive", node[1], proj_func(p),
												  ddir_threshold_positive);
				fill(w, node[0], 0, 1);
				fill(w, node[1], 0, 0);
				break;
			}
		case KIND_ANTI:
			node[n++] = ddir_antijoin_create(w->g, "anti", arrangement(w, v->other, v->col),
											 arrangement(w, !v->other, 0),
											 proj_func(proj_whole(arena, 0, 2)));
			break;
		default:
			break;
	}
	finish_view(w, v, n, node);
}

static void
view_drop(World *w, View *v)
{
	ddir_node_release(v->sink);
	v->live = false;
	catch_free(&v->out);
}

static bool
has_key(const Bag *b, int col, uint64_t key)
{
	for (int i = 0; i < b->n; i++)
		if (b->u[i].row.c[col] == key)
			return true;
	return false;
}

/* What the view is by definition. */
static void
view_expect(World *w, View *v, Bag *out)
{
	const Bag  *other = &w->content[v->other];

	bag_clear(out);
	bag_clear(&scratch);
	if (v->kind <= KIND_JOIN_MISSING)
	{
		flow_join_brute(&v->spec, w->content, &scratch);
		bag_tidy(&scratch);
	}
	switch (v->kind)
	{
		case KIND_JOIN:
			bag_add_all(out, &scratch);
			break;
		case KIND_JOIN_COUNT:
			for (int i = 0; i < scratch.n;)
			{
				uint64_t	key = scratch.u[i].row.c[0];
				int64_t		count = 0;

				for (; i < scratch.n && scratch.u[i].row.c[0] == key; i++)
					count += scratch.u[i].diff;
				bag_add_now(out, ROW(key, count), 1);
			}
			break;
		case KIND_JOIN_DISTINCT:
			for (int i = 0; i < scratch.n; i++)
				if (i == 0 || scratch.u[i].row.c[0] != scratch.u[i - 1].row.c[0])
					bag_add_now(out, ROW(scratch.u[i].row.c[0]), 1);
			break;
		case KIND_JOIN_MISSING:
			for (int i = 0; i < scratch.n; i++)
				if (!has_key(other, 0, scratch.u[i].row.c[v->col]))
					bag_add_now(out, scratch.u[i].row, scratch.u[i].diff);
			break;
		case KIND_FILTERED:
			for (int i = 0; i < other->n; i++)
				if (other->u[i].row.c[0] == other->u[i].row.c[1])
					bag_add_now(out, other->u[i].row, other->u[i].diff);
			break;
		case KIND_LEAST:
			for (int i = 0; i < other->n; i++)
				if (i == 0 || other->u[i].row.c[0] != other->u[i - 1].row.c[0])
					bag_add_now(out, other->u[i].row, 1);
			break;
		case KIND_EXCEPT:
			for (int i = 0; i < w->content[0].n; i++)
			{
				const Update *u = &w->content[0].u[i];
				int64_t		n = u->diff - bag_count(&w->content[1], u->row);

				if (n > 0)
					bag_add_now(out, u->row, n);
			}
			break;
		case KIND_ANTI:
			for (int i = 0; i < other->n; i++)
				if (!has_key(&w->content[!v->other], 0, other->u[i].row.c[v->col]))
					bag_add_now(out, other->u[i].row, other->u[i].diff);
			break;
		default:
			break;
	}
}

/* ----
 * Steps
 * ----
 */

static void
world_change(World *w, int n, uint32_t values)
{
	for (int s = 0; s < SOURCES; s++)
		for (int i = unit_below(n + 1); i > 0; i--)
		{
			Bag		   *c = &w->content[s];
			Row			row = ROW(unit_below(values), unit_below(values));
			int64_t		diff = 1;

			if (c->n > 0 && unit_chance(c->n > 25 ? 3 : 2, 4) && flow_pick(c, &w->change[s], &row))
				diff = -1;
			bag_add_now(&w->change[s], row, diff);
			if (diff > 0 && unit_chance(1, 4))
				bag_add_now(&w->change[s], row, unit_chance(1, 2) ? 1 : -1);
		}
}

static void
world_step(World *w)
{
	w->t += 1 + unit_below(3);
	ddir_graph_begin(w->g, &w->t);
	for (int i = 0; i < w->nfill; i++)
		flow_feed(w->fill[i].node, w->fill[i].port, &w->content[w->fill[i].source], &w->t);
	w->nfill = 0;
	for (int s = 0; s < SOURCES; s++)
	{
		flow_feed(w->source[s], 0, &w->change[s], &w->t);
		bag_add_all(&w->content[s], &w->change[s]);
		bag_tidy(&w->content[s]);
		bag_clear(&w->change[s]);
	}
	ddir_graph_finish(w->g);
	if (unit_chance(1, 4))
		ddir_graph_exert(w->g, unit_below(100));
}

static void
world_check(World *w)
{
	static const char *const name[] = {
		"join", "join count", "join distinct", "join missing", "filtered", "least",
		"except", "anti",
	};

	for (int i = 0; i < VIEWS; i++)
	{
		View	   *v = &w->view[i];

		if (!v->live)
			continue;
		view_expect(w, v, &expected);
		bag_flatten(&v->out.rows);
		CHECK(bag_equal(&v->out.rows, &expected, name[v->kind]));
	}
}

/* Views and arrangements come and go. */
static void
world_churn(World *w)
{
	View	   *v = &w->view[unit_below(VIEWS)];

	if (!v->live)
		view_create(w, v);
	else if (unit_chance(1, 2))
		view_drop(w, v);

	/* nobody keeps an arrangement but the views that read it */
	if (unit_chance(1, 4))
	{
		DdirNode  **arr = &w->arr[unit_below(SOURCES)][unit_below(3)];

		if (*arr && w->nfill == 0)
		{
			ddir_node_release(*arr);
			*arr = NULL;
		}
	}
}

static void
count_node(DdirNode *node, void *ctx)
{
	(void) node;
	++*(int *) ctx;
}

static int
nodes(World *w)
{
	int			n = 0;

	ddir_graph_each(w->g, count_node, &n);
	return n;
}

static void
random_graphs(DdirArena *root)
{
	for (int round = 0; round < 12; round++)
	{
		World	   *w = world_create(root);

		for (int tick = 0; tick < 60; tick++)
		{
			world_churn(w);
			world_change(w, 6, 5);
			world_step(w);
			world_check(w);
		}
		for (int i = 0; i < VIEWS; i++)
			if (w->view[i].live)
				view_drop(w, &w->view[i]);
		for (int s = 0; s < SOURCES; s++)
			for (int c = 0; c < 3; c++)
				if (w->arr[s][c])
					ddir_node_release(w->arr[s][c]);
		CHECK_EQ(nodes(w), SOURCES);
		ddir_graph_destroy(w->g);
	}
}

/* ----
 * Rules of life
 * ----
 */

static void
begin(World *w)
{
	w->t++;
	ddir_graph_begin(w->g, &w->t);
}

static void
rules(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirFunc	f = proj_func(proj_whole(root, 0, 2));
	DdirNode   *arr = arrangement(w, 0, 0);
	DdirDeltas	d;

	ddir_deltas_init(&d, root, 1, false);
	d.at.c[0] = 1;
	flow_push(&d, ROW(1, 2), NULL, 1);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_node_push(w->source[0], 0, &d));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_graph_finish(w->g));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_arrange_spine(w->source[0]));

	begin(w);
	CHECK_EQ(*ddir_graph_now(w->g), 1);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_linear_create(w->g, "x", w->source[0], f));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_node_release(arr));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_graph_exert(w->g, 1));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_graph_begin(w->g, &w->t));
	ddir_node_push(w->source[0], 0, &d);
	CHECK(ddir_arrange_batch(arr) == NULL);
	ddir_graph_finish(w->g);

	/* the step's batch is there until the next one begins */
	CHECK(ddir_arrange_batch(arr) != NULL && ddir_arrange_batch(arr)->n == 1);
	CHECK_EQ(ddir_graph_frontier(w->g)->elem[0].c[0], 2);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_graph_begin(w->g, &w->t));
	begin(w);
	CHECK(ddir_arrange_batch(arr) == NULL);
	ddir_graph_finish(w->g);
	CHECK(ddir_arrange_batch(arr) == NULL);
	CHECK_EQ(ddir_spine_rows(ddir_arrange_spine(arr)), 1);
	ddir_graph_destroy(w->g);
}

/* What reads arrangements reads nothing else, and is pushed nothing. */
static void
arrangements_only(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirFunc	f = proj_func(proj_whole(root, 0, 2));
	DdirNode   *in = w->source[0];
	DdirNode   *arr = arrangement(w, 0, 0);
	DdirReduceSpec spec = {1, &in, &f, 1, &in, false};
	DdirNode   *node[3];
	DdirDeltas	d;

	spec.fns.fold = no_fold;
	spec.fns.emit = emit_row;
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_bilinear_create(w->g, "left", in, arr, f));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_bilinear_create(w->g, "right", arr, in, f));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_antijoin_create(w->g, "left", in, arr, f));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_antijoin_create(w->g, "right", arr, in, f));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_reduce_create(w->g, "values", &spec));
	CHECK_EQ(nodes(w), SOURCES + 1);

	for (volatile int k = 0; k < 3; k++)
	{
		w = world_create(root);
		arr = arrangement(w, 0, 0);
		in = w->source[0];
		spec.arr = &arr;
		node[0] = ddir_bilinear_create(w->g, "join", arr, arr, f);
		node[1] = ddir_antijoin_create(w->g, "anti", arr, arr, f);
		node[2] = ddir_reduce_create(w->g, "least", &spec);
		ddir_deltas_init(&d, root, 1, false);
		flow_push(&d, ROW(1, 2), NULL, 1);
		begin(w);
		EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_node_push(node[k], 1, &d));
		ddir_graph_destroy(w->g);
	}
}

/* Inputs live as long as their consumers, and no longer. */
static void
releases(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirFunc	f = proj_func(proj_whole(root, 0, 2));
	DdirNode   *a = ddir_linear_create(w->g, "a", w->source[0], f);
	DdirNode   *b = ddir_linear_create(w->g, "b", a, f);
	DdirNode   *two[2] = {a, a};
	DdirNode   *c = ddir_concat_create(w->g, "c", 2, two);
	size_t		before;

	ddir_node_release(a);
	CHECK_EQ(nodes(w), SOURCES + 3);
	ddir_node_hold(b);
	ddir_node_release(b);
	CHECK_EQ(nodes(w), SOURCES + 3);
	ddir_node_release(b);
	CHECK_EQ(nodes(w), SOURCES + 2);
	ddir_node_release(c);
	CHECK_EQ(nodes(w), SOURCES);
	CHECK_EQ(w->source[0]->nedges, 0);

	before = ddir_graph_bytes(w->g);
	for (int i = 0; i < 1000; i++)
	{
		c = ddir_linear_create(w->g, "again", w->source[0], f);
		ddir_node_release(c);
	}
	CHECK_EQ(ddir_graph_bytes(w->g), before);
	ddir_graph_destroy(w->g);
}

/* Errors go along all edges, are never negated, and reach late consumers. */
static void
errors(DdirArena *root)
{
	World	   *w = world_create(root);
	Proj	   *p = proj_whole(root, 0, 2);
	DdirNode   *linear = ddir_linear_create(w->g, "fails", w->source[0], proj_func(p));
	DdirNode   *minus = ddir_negate_create(w->g, "minus", linear);
	DdirNode   *arr = ddir_arrange_create(w->g, "arr", minus, proj_func(proj_whole(root, 0, 2)));
	DdirNode   *join;
	Catch	   *early = &w->view[0].out;
	Catch	   *late = &w->view[1].out;
	DdirDeltas	d;

	p->fail = col(0, 0);
	p->fail_value = 13;
	ddir_sink_create(w->g, "early", arr, catch_fns(early));
	ddir_deltas_init(&d, root, 1, false);
	begin(w);
	d.at.c[0] = w->t;
	flow_push(&d, ROW(13, 1), NULL, 1);
	flow_push(&d, ROW(12, 1), NULL, 1);
	ddir_node_push(w->source[0], 0, &d);
	ddir_graph_finish(w->g);
	CHECK_EQ(bag_count(&early->errs, ROW(13, 1)), 1);
	CHECK_EQ(early->errs.u[0].t.c[0], w->t);
	CHECK_EQ(ddir_spine_rows(ddir_arrange_spine(arr)), 1);

	begin(w);
	ddir_graph_finish(w->g);
	CHECK_EQ(early->errs.n, 1);

	/* late, in the step in which another one comes */
	join = ddir_bilinear_create(w->g, "late", arr, arr, proj_func(proj_of(root, ":00")));
	ddir_sink_create(w->g, "late", join, catch_fns(late));
	begin(w);
	d.at.c[0] = w->t;
	d.n = 0;
	ddir_deltas_clear(&d);
	flow_push(&d, ROW(13, 2), NULL, 1);
	ddir_node_push(w->source[0], 0, &d);
	ddir_graph_finish(w->g);
	/* it reads the arrangement twice */
	CHECK_EQ(bag_count(&late->errs, ROW(13, 1)), 2);
	CHECK_EQ(bag_count(&late->errs, ROW(13, 2)), 2);
	for (int i = 0; i < late->errs.n; i++)
		CHECK_EQ(late->errs.u[i].t.c[0], w->t);

	begin(w);
	d.at.c[0] = w->t;
	ddir_deltas_clear(&d);
	flow_push(&d, ROW(13, 1), NULL, -1);
	flow_push(&d, ROW(13, 2), NULL, -1);
	ddir_node_push(w->source[0], 0, &d);
	ddir_graph_finish(w->g);
	for (uint64_t i = 1; i <= 2; i++)
	{
		CHECK_EQ(bag_count(&early->errs, ROW(13, i)), 0);
		CHECK_EQ(bag_count(&late->errs, ROW(13, i)), 0);
	}
	CHECK_EQ(ddir_arrange_errors(arr)->n, 0);
	ddir_graph_destroy(w->g);
}

/* Time passes without data: nothing grows. */
static void
empty_steps(DdirArena *root)
{
	World	   *w = world_create(root);
	size_t		bytes = 0;

	view_create(w, &w->view[0]);
	for (int s = 0; s < SOURCES; s++)
		for (int c = 0; c < 3; c++)
			arrangement(w, s, c);
	world_change(w, 20, 5);
	for (int i = 0; i < 20000; i++)
	{
		world_step(w);
		if (i == 1000)
			bytes = ddir_graph_bytes(w->g);
	}
	CHECK(ddir_graph_bytes(w->g) <= bytes + 10000);
	world_check(w);
	ddir_graph_destroy(w->g);
}

/* A row that changes in every step: history is given back. */
static void
history_is_compacted(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirNode   *arr = arrangement(w, 0, 0);

	for (int i = 0; i < 3000; i++)
	{
		if (i > 0)
			bag_add_now(&w->change[0], ROW(1, i - 1), -1);
		bag_add_now(&w->change[0], ROW(1, i), 1);
		world_step(w);
		CHECK(ddir_spine_rows(ddir_arrange_spine(arr)) < 200);
	}
	while (ddir_graph_exert(w->g, 1000))
		;
	CHECK(ddir_spine_rows(ddir_arrange_spine(arr)) <= 3);
	ddir_graph_destroy(w->g);
}

static void
add_stats(DdirNode *node, void *ctx)
{
	DdirNodeStats **next = ctx;

	ddir_node_stats(node, (*next)++);
}

/* 500 rows of 100 keys, then half of the keys go. */
static void
stats(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirNode   *in = w->source[0];
	DdirNodeStats all[16];
	const DdirNodeStats *s = &all[SOURCES];
	DdirNodeStats *next;

	arrangement(w, 0, 0);
	reduce_create(w, in, NULL);
	ddir_threshold_create(w->g, NULL, in, proj_func(proj_of(root, "00:")), ddir_threshold_distinct);
	ddir_antijoin_create(w->g, "anti", w->arr[0][0], w->arr[0][0], proj_func(proj_whole(root, 0, 2)));
	ddir_bilinear_create(w->g, "join", w->arr[0][0], w->arr[0][0], proj_func(proj_of(root, ":00")));
	for (int step = 0; step < 3; step++)
	{
		int			left = step ? 250 : 500;

		if (step < 2)
			for (int i = 0; i < 500; i++)
				if (step == 0 || i % 100 < 50)
					bag_add_now(&w->change[0], ROW(i % 100, i), step ? -1 : 1);
		world_step(w);
		next = all;
		ddir_graph_each(w->g, add_stats, &next);
		CHECK_EQ(next - all, SOURCES + 5);

		CHECK(strcmp(s[0].op, "arrange") == 0 && strcmp(s[0].label, "by column") == 0);
		CHECK(s[0].spine == ddir_arrange_spine(w->arr[0][0]));
		CHECK_EQ(s[0].rows, ddir_spine_rows(s[0].spine));
		CHECK_EQ(s[0].rows_in, step ? 750 : 500);
		CHECK_EQ(s[0].readers, 4);
		CHECK(s[0].bytes > 250 * 24 && s[0].bytes < ddir_graph_bytes(w->g));

		/* 100 groups with a new output each; then 50 whose output goes */
		CHECK(strcmp(s[1].op, "reduce") == 0 && s[1].spine == NULL);
		CHECK_EQ(s[1].rows, left / 5);
		CHECK_EQ(s[1].rows_out, step ? 150 : 100);
		CHECK(strcmp(s[2].op, "threshold") == 0 && strcmp(s[2].label, "threshold") == 0);
		CHECK_EQ(s[2].rows, left / 5);
		CHECK_EQ(s[2].rows_out, step ? 150 : 100);

		/* fresh, they are given what there is; then both batches */
		CHECK(strcmp(s[3].op, "antijoin") == 0);
		CHECK_EQ(s[3].rows_in, step ? 1500 : 1000);
		CHECK_EQ(s[3].rows_out, 0);
		CHECK(strcmp(s[4].op, "bilinear") == 0);
		CHECK_EQ(s[4].rows_in, step ? 500 : 0);
		ddir_graph_exert(w->g, 100000);
	}
	ddir_graph_destroy(w->g);
}

static volatile uint32_t at_work;

/* Rows as they are; the operator that called must be the one of this tag. */
static bool
check_tag(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	CHECK_EQ(at_work, *(const uint32_t *) ctx);
	for (uint32_t i = 0; i < in->n; i++)
		ddir_deltas_push(out, in->ref[0][i].p, in->ref[0][i].len,
						 in->ref[0][i].p, in->ref[0][i].len, NULL, in->diff[i]);
	return true;
}

/* Whoever watches can tell at any time which operator is at work. */
static void
watching(DdirArena *root)
{
	static uint32_t tag[] = {5, 6, 7, 8, 9};
	World	   *w = world_create(root);
	DdirNode   *node[5];
	DdirFunc	f[5];
	DdirDeltas	d;

	for (int i = 0; i < 5; i++)
	{
		f[i].call = check_tag;
		f[i].ctx = &tag[i];
	}
	node[0] = ddir_linear_create(w->g, "first", w->source[0], f[0]);
	node[1] = ddir_linear_create(w->g, "second", node[0], f[1]);
	node[2] = ddir_arrange_create(w->g, "arr", node[1], f[2]);
	node[3] = ddir_bilinear_create(w->g, "join", node[2], node[2], f[3]);
	node[4] = ddir_linear_create(w->g, "last", node[3], f[4]);
	for (int i = 0; i < 5; i++)
		node[i]->tag = tag[i];
	ddir_graph_watch(w->g, &at_work);
	ddir_deltas_init(&d, root, 1, false);
	for (int step = 0; step < 3; step++)
	{
		begin(w);
		ddir_deltas_clear(&d);
		d.at.c[0] = w->t;
		/* of several chunks: each function is called again after rows went on */
		for (int i = 0; i < 3 * DDIR_CHUNK_ROWS; i++)
			flow_push(&d, ROW(step, i), NULL, 1);
		ddir_node_push(w->source[0], 0, &d);
		ddir_graph_finish(w->g);
		CHECK_EQ(at_work, 0);
	}
	CHECK_EQ(node[4]->rows_out, 9 * DDIR_CHUNK_ROWS);
	ddir_graph_destroy(w->g);
}

/* A run far above a chunk goes through in chunks; much that cancels, too. */
static void
large_runs(DdirArena *root)
{
	World	   *w = world_create(root);
	Proj	   *p = proj_whole(root, 0, 2);
	DdirNode   *linear = ddir_linear_create(w->g, "all", w->source[0], proj_func(p));
	DdirNode   *arr = ddir_arrange_create(w->g, "arr", linear, proj_func(proj_whole(root, 0, 2)));
	DdirDeltas	d;

	ddir_sink_create(w->g, "out", linear, catch_fns(&w->view[0].out));
	ddir_deltas_init(&d, root, 1, false);
	begin(w);
	d.at.c[0] = w->t;
	for (int i = 0; i < 50000; i++)
		flow_push(&d, ROW(i, 0), NULL, 1);
	for (int k = 0; k < 5; k++)
	{
		ddir_node_push(w->source[0], 0, &d);
		for (uint32_t i = 0; i < d.n; i++)
			d.diff[i] = -d.diff[i];
	}
	ddir_graph_finish(w->g);
	CHECK(w->view[0].out.biggest <= DDIR_CHUNK_ROWS);
	CHECK_EQ(w->view[0].out.rows.n, 250000);
	CHECK_EQ(ddir_spine_rows(ddir_arrange_spine(arr)), 50000);
	ddir_graph_destroy(w->g);
}

/* Rows that come and go within a step, again and again, are summed up on the way. */
static void
back_and_forth(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirNode   *arr = ddir_arrange_create(w->g, "arr", w->source[0],
										  proj_func(proj_whole(root, 0, 2)));
	DdirDeltas	d;
	size_t		most = 0;

	ddir_deltas_init(&d, root, 1, false);
	begin(w);
	d.at.c[0] = w->t;
	for (int i = 0; i < 10000; i++)
		flow_push(&d, ROW(i, 0), NULL, 1);
	for (int k = 0; k < 101; k++)
	{
		ddir_node_push(w->source[0], 0, &d);
		for (uint32_t i = 0; i < d.n; i++)
			d.diff[i] = -d.diff[i];
		if (ddir_graph_bytes(w->g) > most)
			most = ddir_graph_bytes(w->g);
	}
	CHECK(most < 32 * 1024 * 1024);
	ddir_graph_finish(w->g);
	CHECK_EQ(ddir_spine_rows(ddir_arrange_spine(arr)), 10000);
	/* and the room for it is given back */
	CHECK(ddir_graph_bytes(w->g) < ddir_spine_bytes(ddir_arrange_spine(arr)) + 256 * 1024);
	ddir_graph_destroy(w->g);
}

/* A run with a time lane that is cut into chunks: each row keeps its time. */
static void
large_timed_run(DdirArena *root)
{
	DdirGraph  *g = ddir_graph_create(root, 2);
	DdirNode   *source = ddir_source_create(g, "source");
	DdirNode   *linear = ddir_linear_create(g, "all", source, proj_func(proj_of(root, ":00")));
	Catch		c = {{0}};
	DdirDeltas	d;
	uint64_t	now[DDIR_COORDS_MAX] = {1};

	ddir_sink_create(g, "out", linear, catch_fns(&c));
	ddir_graph_begin(g, now);
	ddir_deltas_init(&d, root, 2, false);
	for (uint64_t i = 0; i < 3 * DDIR_CHUNK_ROWS; i++)
		flow_push(&d, ROW(i), AT(1, i / 7), 1);
	ddir_node_push(source, 0, &d);
	ddir_graph_finish(g);
	CHECK_EQ(c.rows.n, 3 * DDIR_CHUNK_ROWS);
	for (int i = 0; i < c.rows.n; i++)
		CHECK(c.rows.u[i].t.c[0] == 1 && c.rows.u[i].t.c[1] == c.rows.u[i].row.c[0] / 7);
	ddir_graph_destroy(g);
	catch_free(&c);
}

/* The row as it is; the key, where there is one, is its first byte. */
static bool
as_it_is(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	for (uint32_t i = 0; i < in->n; i++)
	{
		DdirRef		row = in->ref[0][i];

		/* of a join's two relations, the second is the small one */
		if (in->nrel == 2 && in->ref[0][i].p == NULL)
			row = in->ref[1][i];
		ddir_deltas_push(out, row.p, 1, row.p, row.len, NULL, in->diff[i]);
	}
	return true;
}

typedef struct Scale
{
	size_t		rows;
	size_t		most;			/* bytes in one run */
} Scale;

static void
scale_rows(void *ctx, const DdirDeltas *rows)
{
	Scale	   *s = ctx;

	s->rows += rows->n;
	if (rows->val.len > s->most)
		s->most = rows->val.len;
}

/* Rows of a third of a megabyte: chunks are by bytes as well. */
static void
large_rows(DdirArena *root)
{
	enum
	{
		LEN = 350000,
		ROWS = 40
	};
	World	   *w = world_create(root);
	DdirFunc	f = {as_it_is, NULL};
	Scale		scale[4] = {{0}};
	uint8_t    *row = ddir_alloc0(root, LEN);
	DdirNode   *linear = ddir_linear_create(w->g, "linear", w->source[0], f);
	DdirNode   *arr[2];
	DdirStage	stage[2] = {{.rel = 1,.arr = 1,.rel2 = -1}, {.rel = 0,.arr = 0,.rel2 = -1}};
	DdirPath	path[2] = {{.arr = 0,.with_key = true}, {.arr = 1}};
	DdirNode   *view[4];
	DdirDeltas	d;

	for (int s = 0; s < 2; s++)
	{
		arr[s] = ddir_arrange_create(w->g, "arr", w->source[s], f);
		stage[s].key = f;
		path[s].nstages = 1;
		path[s].stages = &stage[s];
		path[s].output = f;
	}
	view[0] = linear;
	view[1] = ddir_antijoin_create(w->g, "anti", arr[0], arr[1], f);
	view[2] = ddir_bilinear_create(w->g, "join", arr[0], arr[1], f);
	view[3] = ddir_join_create(w->g, "delta", 2, 2, arr, path, 0);
	for (int v = 0; v < 4; v++)
	{
		DdirSinkFns fns = {&scale[v], scale_rows, scale_rows};

		ddir_sink_create(w->g, "out", view[v], fns);
	}

	for (int step = 0; step < 2; step++)
	{
		begin(w);
		ddir_deltas_init(&d, root, 1, false);
		d.at.c[0] = w->t;
		if (step == 0)
			for (int i = 0; i < ROWS; i++)
			{
				row[1] = i;
				ddir_deltas_push(&d, NULL, 0, row, LEN, NULL, 1);
			}
		else
			ddir_deltas_push(&d, NULL, 0, row, 1, NULL, 1);
		ddir_node_push(w->source[step], 0, &d);
		ddir_deltas_free(&d);
		ddir_graph_finish(w->g);
	}
	/* all rows went through the antijoin, and went back */
	CHECK_EQ(scale[0].rows, ROWS);
	CHECK_EQ(scale[1].rows, 2 * ROWS);
	CHECK_EQ(scale[2].rows, ROWS);
	CHECK_EQ(scale[3].rows, ROWS);
	for (int v = 0; v < 4; v++)
		CHECK(scale[v].most <= DDIR_CHUNK_BYTES + 2 * LEN);
	ddir_graph_destroy(w->g);
}

/* ----
 * Allocations that fail
 * ----
 */

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root);

	for (int tick = 0; tick < 10; tick++)
	{
		world_churn(w);
		world_change(w, 6, 4);
		world_step(w);
	}
	world_check(w);
	ddir_graph_destroy(w->g);
}

static void
failing_allocations(DdirArena *root)
{
	unit_fails_everywhere(small_run, 13);
	world_create(root);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(random_graphs),
		UNIT_CASE(rules),
		UNIT_CASE(arrangements_only),
		UNIT_CASE(releases),
		UNIT_CASE(errors),
		UNIT_CASE(empty_steps),
		UNIT_CASE(history_is_compacted),
		UNIT_CASE(stats),
		UNIT_CASE(watching),
		UNIT_CASE(large_runs),
		UNIT_CASE(back_and_forth),
		UNIT_CASE(large_timed_run),
		UNIT_CASE(large_rows),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
