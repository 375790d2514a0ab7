/*-------------------------------------------------------------------------
 *
 * test_reduce.c
 *	  Reduce: count, sum and min of groups, after every step.
 *
 * The reduction under test folds (group, value) rows into a count and a sum,
 * from a second input another count, and seeks the least value in an
 * arrangement by group.  Its states own memory outside, as strings would.
 *
 * test/unit/test_reduce.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/groups.h"

#include "flow.h"
#include "unit.h"

typedef struct State
{
	int64_t		sum;
	int64_t		second;			/* rows of input 1 */
	uint64_t	label;			/* of inexact keys: its full key */
	int64_t    *owned;
} State;

typedef struct Agg
{
	bool		inexact;		/* keys equal modulo 10 are not told apart */
	bool		global;
	bool		min;
	bool		two_least;		/* the least of two arrangements */
	uint64_t	error_sum;		/* a group of this sum is an error */
	bool		plain;			/* states own nothing: for cases that raise */
	int			port;			/* the last one that was asked about */
	bool		refuse_fold;
	bool		refuse_emit;
	int			folds;
	int			emits;
	uint32_t	most_groups;	/* of an emit call */
	int			owned;
} Agg;

static int
agg_same(void *ctx, int port, DdirGroup *group, DdirRef val)
{
	State	   *s = group->state;
	uint64_t	label = row_unpack(val).c[0] + 1;

	((Agg *) ctx)->port = port;
	if (s->label == 0)
		s->label = label;
	return s->label == label;
}

static bool
agg_fold(void *ctx, int port, uint32_t n, DdirGroup *const *group,
		 const DdirRef *val, const int64_t *diff)
{
	Agg		   *agg = ctx;

	agg->folds++;
	CHECK(!agg->inexact || agg->port == port);
	CHECK(n <= DDIR_CHUNK_ROWS);
	if (agg->refuse_fold)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		State	   *s = group[i]->state;

		if (s->owned == NULL && !agg->plain)
		{
			s->owned = malloc(sizeof(int64_t));
			agg->owned++;
		}
		if (port == 0)
			s->sum += diff[i] * (int64_t) row_unpack(val[i]).c[1];
		else
			s->second += diff[i];
		if (agg->inexact)
			CHECK_EQ(s->label, row_unpack(val[i]).c[0] + 1);
	}
	return true;
}

/* (group, count, sum, second count, least value) */
static bool
agg_emit(void *ctx, uint32_t n, DdirGroup *const *group, int64_t diff,
		 DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err)
{
	Agg		   *agg = ctx;

	agg->emits++;
	if (n > agg->most_groups)
		agg->most_groups = n;
	if (agg->refuse_emit)
		return false;
	for (uint32_t i = 0; i < n; i++)
	{
		const DdirGroup *g = group[i];
		const State *s = g->state;
		Row			row = ROW(0, g->rows, s->sum, s->second, 0);

		if (agg->inexact)
			row.c[0] = s->label - 1;
		else if (!agg->global)
			row.c[0] = row_unpack(g->key).c[0];
		if (agg->error_sum && s->sum == (int64_t) agg->error_sum)
		{
			flow_push(err, row, NULL, diff);
			continue;
		}
		for (int k = 0; k < 2 && agg->two_least; k++)
		{
			DdirRef		val;
			int64_t		count;

			ddir_cursor_seek(&cursor[k], g->hash, g->key.p, g->key.len);
			if (ddir_cursor_next(&cursor[k], &val, &count))
				row.c[3 + k] = row_unpack(val).c[0];
		}
		if (agg->min)
		{
			DdirRef		val;
			int64_t		count;

			ddir_cursor_seek(&cursor[0], g->hash, g->key.p, g->key.len);
			if (ddir_cursor_next(&cursor[0], &val, &count))
				row.c[4] = row_unpack(val).c[0];
			else
				CHECK(false);
		}
		flow_push(out, row, NULL, diff);
	}
	return true;
}

static void
agg_drop(void *ctx, void *state)
{
	Agg		   *agg = ctx;
	State	   *s = state;

	if (s->owned)
	{
		free(s->owned);
		agg->owned--;
	}
}

static DdirReduceFns
agg_fns(Agg *agg)
{
	DdirReduceFns fns = {agg, sizeof(State), agg->inexact ? agg_same : NULL,
	agg_fold, agg_emit, agg_drop};

	return fns;
}

/* ----
 * World
 * ----
 */

typedef struct World
{
	DdirArena  *arena;
	DdirGraph  *g;
	uint64_t	t;
	DdirNode   *source[2];
	DdirNode   *arr;			/* values by group */
	DdirNode   *reduce;
	Agg			agg;
	Bag			content[2];
	Bag			change[2];
} World;

static World world;
static Catch caught;
static Bag	expected;

/* The key of row (group, value): the group, or what is left of it. */
static bool
inexact_key(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	(void) ctx;
	(void) err;
	for (uint32_t i = 0; i < in->n; i++)
	{
		Row			row = row_unpack(in->ref[0][i]);
		uint8_t		key[8];
		uint8_t		val[16];

		row_pack(ROW(row.c[0] % 10), key);
		row_pack(row, val);
		ddir_deltas_push(out, key, 8, val, 16,
						 in->time ? in->time + i * in->coords : NULL, in->diff[i]);
	}
	return true;
}

static World *
world_create(DdirArena *root)
{
	World	   *w = &world;

	for (int s = 0; s < 2; s++)
	{
		bag_free(&w->content[s]);
		bag_free(&w->change[s]);
	}
	catch_free(&caught);
	bag_free(&expected);
	memset(w, 0, sizeof(*w));
	w->arena = root;
	w->g = ddir_graph_create(root, 1);
	for (int s = 0; s < 2; s++)
		w->source[s] = ddir_source_create(w->g, "source");
	flow_seed(unit_random());
	return w;
}

static void
reduce_create(World *w)
{
	Proj	   *p = proj_of(w->arena, w->agg.global ? ":00 01" : "00:00 01");
	Proj	   *values = proj_of(w->arena, w->agg.global ? ":01" : "00:01");
	DdirFunc	keying[2] = {proj_func(p), proj_func(p)};
	DdirReduceSpec spec = {2, w->source, keying, w->agg.min, &w->arr, w->agg.global};

	if (w->agg.inexact)
		keying[0].call = keying[1].call = inexact_key;
	if (w->agg.min)
		w->arr = ddir_arrange_create(w->g, "values", w->source[0], proj_func(values));
	spec.fns = agg_fns(&w->agg);
	w->reduce = ddir_reduce_create(w->g, "groups", &spec);
	ddir_sink_create(w->g, "out", w->reduce, catch_fns(&caught));
}

static void
world_change(World *w, int n, uint32_t groups, uint32_t values)
{
	for (int i = 0; i < n; i++)
	{
		Bag		   *c = &w->content[0];
		Row			row = ROW(unit_below(groups), unit_below(values));
		int64_t		diff = 1;

		if (c->n > 0 && unit_chance(1, 2) && flow_pick(c, &w->change[0], &row))
			diff = -1;
		bag_add_now(&w->change[0], row, diff);
		if (diff > 0 && unit_chance(1, 3))
			bag_add_now(&w->change[0], row, unit_chance(1, 2) ? 1 : -1);
	}
	/* input 1 has a row for every third row of input 0 */
	for (int i = 0; i < w->change[0].n; i++)
		if (w->change[0].u[i].row.c[1] % 3 == 0)
			bag_add_now(&w->change[1], w->change[0].u[i].row, w->change[0].u[i].diff);
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
	if (unit_chance(1, 5))
		ddir_graph_exert(w->g, 50);
}

static void
expect(World *w)
{
	bag_clear(&expected);
	if (w->agg.global)
	{
		Row			row = ROW(0, 0, 0, 0, 0);

		for (int i = 0; i < w->content[0].n; i++)
		{
			row.c[1] += w->content[0].u[i].diff;
			row.c[2] += w->content[0].u[i].diff * w->content[0].u[i].row.c[1];
		}
		for (int i = 0; i < w->content[1].n; i++)
			row.c[3] += w->content[1].u[i].diff;
		bag_add_now(&expected, row, 1);
		return;
	}
	/* content is sorted by group and value */
	for (int i = 0; i < w->content[0].n;)
	{
		uint64_t	group = w->content[0].u[i].row.c[0];
		Row			row = ROW(group, 0, 0, 0, 0);

		if (w->agg.min)
			row.c[4] = w->content[0].u[i].row.c[1];
		for (; i < w->content[0].n && w->content[0].u[i].row.c[0] == group; i++)
		{
			row.c[1] += w->content[0].u[i].diff;
			row.c[2] += w->content[0].u[i].diff * w->content[0].u[i].row.c[1];
		}
		for (int k = 0; k < w->content[1].n; k++)
			if (w->content[1].u[k].row.c[0] == group)
				row.c[3] += w->content[1].u[k].diff;
		if (w->agg.error_sum && row.c[2] == w->agg.error_sum)
			row.c[4] = 0;
		bag_add_now(&expected, row, 1);
	}
}

/* Rows and errors together are the groups; which is which, the sum tells. */
static void
check(World *w, const char *what)
{
	Bag			all = {0};

	expect(w);
	for (int i = 0; i < caught.errs.n; i++)
		CHECK_EQ(caught.errs.u[i].row.c[2], w->agg.error_sum);
	for (int i = 0; i < caught.rows.n; i++)
		CHECK(w->agg.error_sum == 0 || caught.rows.u[i].row.c[2] != w->agg.error_sum);
	bag_flatten(&caught.rows);
	bag_flatten(&caught.errs);
	bag_add_all(&all, &caught.rows);
	bag_add_all(&all, &caught.errs);
	CHECK(bag_equal(&all, &expected, what));
	bag_free(&all);
}

/* ----
 * Cases
 * ----
 */

static void
random_steps(DdirArena *root)
{
	for (int round = 0; round < 40; round++)
	{
		World	   *w = world_create(root);
		uint32_t	groups = round % 2 ? 4 : 200;

		w->agg.min = round % 4 < 2;
		w->agg.error_sum = round % 5 == 0 ? 7 : 0;
		reduce_create(w);
		for (int tick = 0; tick < 24; tick++)
		{
			int			emits = w->agg.emits;

			world_change(w, unit_below(round % 2 ? 12 : 100), groups, 6);
			if (w->change[0].n == 0)
			{
				world_step(w);
				CHECK_EQ(w->agg.emits, emits);
			}
			else
				world_step(w);
			check(w, "groups");
		}
		/* all of it goes: nothing is held any more */
		for (int i = 0; i < w->content[0].n; i++)
			bag_add_now(&w->change[0], w->content[0].u[i].row, -w->content[0].u[i].diff);
		for (int i = 0; i < w->content[1].n; i++)
			bag_add_now(&w->change[1], w->content[1].u[i].row, -w->content[1].u[i].diff);
		world_step(w);
		check(w, "none");
		CHECK_EQ(w->agg.owned, 0);
		world_change(w, 20, groups, 6);
		world_step(w);
		check(w, "again");
		ddir_graph_destroy(w->g);
		CHECK_EQ(w->agg.owned, 0);
	}
}

/* The one group without a key is there without rows, too. */
static void
global_group(DdirArena *root)
{
	for (int round = 0; round < 10; round++)
	{
		World	   *w = world_create(root);

		w->agg.global = true;
		reduce_create(w);
		for (int tick = 0; tick < 12; tick++)
		{
			if (round % 2 || tick > 0)
				world_change(w, unit_below(4), 3, 6);
			if (tick == 6)
				for (int s = 0; s < 2; s++)
				{
					bag_clear(&w->change[s]);
					for (int i = 0; i < w->content[s].n; i++)
						bag_add_now(&w->change[s], w->content[s].u[i].row,
									-w->content[s].u[i].diff);
				}
			world_step(w);
			check(w, "global");
		}
		ddir_graph_destroy(w->g);
	}
}

/* Keys of the same bytes, told apart by the callback, in one run of rows. */
static void
inexact_keys(DdirArena *root)
{
	for (int round = 0; round < 20; round++)
	{
		World	   *w = world_create(root);

		w->agg.inexact = true;
		reduce_create(w);
		for (int tick = 0; tick < 12; tick++)
		{
			world_change(w, unit_below(60), 40, 6);
			world_step(w);
			check(w, "inexact");
		}
		ddir_graph_destroy(w->g);
		CHECK_EQ(w->agg.owned, 0);
	}
}

/* What does not change is not emitted, and what does, once each way. */
static void
netted(DdirArena *root)
{
	World	   *w = world_create(root);

	reduce_create(w);
	bag_add_now(&w->change[0], ROW(1, 5), 1);
	bag_add_now(&w->change[0], ROW(2, 5), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 2);
	bag_clear(&caught.rows);
	bag_add_now(&w->change[0], ROW(1, 5), 1);
	bag_add_now(&w->change[0], ROW(1, 5), -1);
	bag_add_now(&w->change[0], ROW(2, 5), 1);
	bag_add_now(&w->change[0], ROW(3, 5), 1);
	bag_add_now(&w->change[0], ROW(3, 5), -1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 2);
	for (int i = 0; i < caught.rows.n; i++)
	{
		CHECK_EQ(caught.rows.u[i].row.c[0], 2);
		CHECK_EQ(caught.rows.u[i].t.c[0], w->t);
	}
	ddir_graph_destroy(w->g);
}

/* Many groups: emitted 1,024 at a time, whatever the pushes were. */
static void
many_groups(DdirArena *root)
{
	World	   *w = world_create(root);

	w->agg.min = true;
	reduce_create(w);
	for (int tick = 0; tick < 3; tick++)
	{
		int			emits = w->agg.emits;

		for (int i = 0; i < 20000; i++)
			bag_add_now(&w->change[0], ROW(i, tick), 1);
		w->t++;
		ddir_graph_begin(w->g, &w->t);
		{
			DdirDeltas	d;

			/* at once */
			ddir_deltas_init(&d, root, 1, false);
			d.at.c[0] = w->t;
			for (int i = 0; i < w->change[0].n; i++)
				flow_push(&d, w->change[0].u[i].row, NULL, 1);
			ddir_node_push(w->source[0], 0, &d);
		}
		ddir_graph_finish(w->g);
		bag_add_all(&w->content[0], &w->change[0]);
		bag_tidy(&w->content[0]);
		bag_clear(&w->change[0]);
		CHECK(w->agg.most_groups <= 1024);
		CHECK(w->agg.emits - emits <= (tick ? 2 : 1) * 25);
		check(w, "many");
	}
	CHECK(caught.biggest <= 2 * 1024);
	ddir_graph_destroy(w->g);
}

/* Each row is three: of its own group, and twice of one that all share. */
static bool
keying_thrice(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	for (uint32_t i = 0; i < in->n; i++)
	{
		Row			row = row_unpack(in->ref[0][i]);

		for (uint64_t k = 0; k < 3; k++)
		{
			uint8_t		key[8];
			uint8_t		val[16];
			uint64_t	group = k ? 0 : row.c[0];

			row_pack(ROW(group), key);
			row_pack(ROW(group, row.c[1] + k), val);
			ddir_deltas_push(out, key, 8, val, 16, ddir_bundle_time(in, i), in->diff[i]);
		}
	}
	return true;
}

/*
 * A chunk becomes three of keyed rows, of which each is folded with its own
 * diff; outputs seek in two arrangements.
 */
static void
thrice(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirFunc	keying = {keying_thrice, NULL};
	DdirNode   *arr[2];
	DdirReduceSpec spec = {1, w->source, &keying, 2, arr, false};
	int64_t		rows = 0;
	int64_t		sum = 0;

	w->agg.two_least = true;
	for (int k = 0; k < 2; k++)
		arr[k] = ddir_arrange_create(w->g, k ? "small" : "large", w->source[0],
									 proj_func(proj_of(root, k ? "00:01" : "00:00")));
	spec.fns = agg_fns(&w->agg);
	w->reduce = ddir_reduce_create(w->g, "thrice", &spec);
	ddir_sink_create(w->g, "out", w->reduce, catch_fns(&caught));
	for (int tick = 0; tick < 2; tick++)
	{
		DdirDeltas	d;

		ddir_deltas_init(&d, root, 1, false);
		d.at.c[0] = ++w->t;
		bag_clear(&expected);
		rows = sum = 0;
		for (int64_t i = 1; i <= 10000; i++)
		{
			int64_t		diff = tick ? i % 3 : 1 + i % 4;
			int64_t		all = diff + (tick ? 1 + i % 4 : 0);

			flow_push(&d, ROW(i, i % 100), NULL, diff);
			bag_add_now(&expected, ROW(i, all, all * (i % 100), i, i % 100), 1);
			rows += 2 * all;
			sum += all * (2 * (i % 100) + 3);
		}
		bag_add_now(&expected, ROW(0, rows, sum, 0, 0), 1);
		ddir_graph_begin(w->g, &w->t);
		ddir_node_push(w->source[0], 0, &d);
		ddir_graph_finish(w->g);
		bag_flatten(&caught.rows);
		CHECK(bag_equal(&caught.rows, &expected, "thrice"));
	}
	ddir_graph_destroy(w->g);
}

/* Late, the contents pushed into it; the arrangement it seeks in is old. */
static void
late(DdirArena *root)
{
	World	   *w = world_create(root);

	w->agg.min = true;
	w->arr = ddir_arrange_create(w->g, "values", w->source[0],
								 proj_func(proj_of(root, "00:01")));
	for (int tick = 0; tick < 8; tick++)
	{
		world_change(w, 20, 5, 6);
		world_step(w);
	}
	{
		DdirFunc	keying = proj_func(proj_whole(root, 0, 2));
		DdirReduceSpec spec = {1, w->source, &keying, 1, &w->arr, false};

		spec.fns = agg_fns(&w->agg);
		w->reduce = ddir_reduce_create(w->g, "late", &spec);
		ddir_sink_create(w->g, "out", w->reduce, catch_fns(&caught));
	}
	for (int tick = 0; tick < 6; tick++)
	{
		Bag			past = {0};

		bag_add_all(&past, &w->content[0]);
		world_change(w, 10, 5, 6);
		bag_clear(&w->change[1]);
		bag_clear(&w->content[1]);
		w->t++;
		ddir_graph_begin(w->g, &w->t);
		if (tick == 0)
			flow_feed(w->reduce, 0, &past, &w->t);
		flow_feed(w->source[0], 0, &w->change[0], &w->t);
		bag_add_all(&w->content[0], &w->change[0]);
		bag_tidy(&w->content[0]);
		bag_clear(&w->change[0]);
		ddir_graph_finish(w->g);
		check(w, "late");
		bag_free(&past);
	}
	ddir_graph_destroy(w->g);
}

/*
 * Rows that come when the arrangement sought in is sealed already: old outputs
 * are of what it held before all the same.
 */
static void
behind(DdirArena *root)
{
	for (int round = 0; round < 10; round++)
	{
		World	   *w = world_create(root);
		DdirFunc	keying = proj_func(proj_whole(root, 0, 2));
		DdirNode   *rows;

		w->agg.min = true;
		w->arr = ddir_arrange_create(w->g, "values", w->source[0],
									 proj_func(proj_of(root, "00:01")));
		rows = ddir_threshold_create(w->g, "rows", w->source[0],
									 proj_func(proj_of(root, "00 01:")), ddir_threshold_distinct);
		{
			DdirReduceSpec spec = {1, &rows, &keying, 1, &w->arr, false};

			spec.fns = agg_fns(&w->agg);
			w->reduce = ddir_reduce_create(w->g, "behind", &spec);
		}
		ddir_sink_create(w->g, "out", w->reduce, catch_fns(&caught));
		for (int tick = 0; tick < 24; tick++)
		{
			world_change(w, unit_below(12), 4, 8);
			world_step(w);
			bag_clear(&expected);
			for (int i = 0; i < w->content[0].n;)
			{
				const Update *u = &w->content[0].u[i];
				Row			row = ROW(u->row.c[0], 0, 0, 0, u->row.c[1]);

				for (; i < w->content[0].n && w->content[0].u[i].row.c[0] == row.c[0]; i++)
				{
					row.c[1]++;
					row.c[2] += w->content[0].u[i].row.c[1];
				}
				bag_add_now(&expected, row, 1);
			}
			bag_flatten(&caught.rows);
			CHECK(bag_equal(&caught.rows, &expected, "behind"));
		}
		ddir_graph_destroy(w->g);
	}
}

static void
negative(DdirArena *root)
{
	World	   *w = world_create(root);

	w->agg.plain = true;
	reduce_create(w);
	/* below zero on the way is nothing */
	bag_add_now(&w->change[0], ROW(1, 1), -1);
	bag_add_now(&w->change[0], ROW(1, 1), 1);
	world_step(w);
	CHECK_EQ(caught.rows.n, 0);
	bag_add_now(&w->change[0], ROW(1, 1), -1);
	EXPECT_ERROR(DDIR_ERROR_NEGATIVE, world_step(w));
	CHECK(strstr(unit_error_text, "groups") != NULL);
	CHECK(strstr(unit_error_text, "0000000000000001") != NULL);
	ddir_graph_destroy(w->g);
}

static void
refused_calls(DdirArena *root)
{
	World	   *w = world_create(root);

	reduce_create(w);
	w->agg.plain = true;
	w->agg.refuse_fold = true;
	bag_add_now(&w->change[0], ROW(1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w));
	ddir_graph_destroy(w->g);

	w = world_create(root);
	reduce_create(w);
	w->agg.plain = true;
	w->agg.refuse_emit = true;
	bag_add_now(&w->change[0], ROW(1, 1), 1);
	EXPECT_ERROR(DDIR_ERROR_CALLBACK, world_step(w));
	ddir_graph_destroy(w->g);
}

/* ----
 * The table of groups by itself
 * ----
 */

static void
groups_table(DdirArena *root)
{
	DdirGroups	t;
	int			live = 0;
	uint8_t		long_key[300] = {0};

	enum
	{
		KEYS = 30000
	};
	bool	   *there = ddir_alloc0(root, KEYS);
	DdirGroupEntry **entry = ddir_alloc0(root, KEYS * sizeof(*entry));

	ddir_groups_init(&t, root, 24);
	for (int i = 0; i < 300000; i++)
	{
		int			k = unit_below(i < 100000 ? KEYS : 3000);
		uint32_t	len = k % 7 == 0 ? 20 + k % 200 : 4;
		DdirRef		key = {long_key, len};
		uint64_t	hash;
		DdirGroupEntry *e;

		memcpy(long_key, &k, sizeof(k));
		hash = ddir_key_hash(long_key, len);
		/* some keys share a hash, or half of it */
		if (k % 11 == 0)
			hash = 42;
		else if (k % 13 == 0)
			hash &= 0xffff;
		e = ddir_groups_find(&t, hash, key, key, NULL, NULL);
		if (there[k])
		{
			CHECK(e == entry[k] && *(int *) e->group.state == k);
			if (unit_chance(1, 2))
			{
				ddir_groups_drop(&t, e);
				there[k] = false;
				live--;
			}
			continue;
		}
		CHECK(*(int64_t *) e->group.state == 0);
		CHECK(e->group.key.len == len && memcmp(e->group.key.p, long_key, len) == 0);
		*(int *) e->group.state = k;
		entry[k] = e;
		there[k] = true;
		live++;
	}
	CHECK_EQ(t.n, live);
	CHECK(t.ids < KEYS);
}

/* ----
 * Allocations that fail
 * ----
 */

static void
small_run(DdirArena *root)
{
	World	   *w = world_create(root);
	DdirFunc	keying = proj_func(proj_whole(root, 0, 2));
	DdirReduceSpec spec = {1, w->source, &keying, 1, &w->arr, false};

	w->agg.min = true;
	w->agg.plain = true;
	w->arr = ddir_arrange_create(w->g, "values", w->source[0],
								 proj_func(proj_of(root, "00:01")));
	spec.fns = agg_fns(&w->agg);
	w->reduce = ddir_reduce_create(w->g, "groups", &spec);
	ddir_sink_create(w->g, "out", w->reduce, catch_fns(&caught));
	for (int tick = 0; tick < 4; tick++)
	{
		world_change(w, 20, 30, 4);
		bag_clear(&w->change[1]);
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
		UNIT_CASE(random_steps),
		UNIT_CASE(global_group),
		UNIT_CASE(inexact_keys),
		UNIT_CASE(netted),
		UNIT_CASE(many_groups),
		UNIT_CASE(thrice),
		UNIT_CASE(late),
		UNIT_CASE(behind),
		UNIT_CASE(negative),
		UNIT_CASE(refused_calls),
		UNIT_CASE(groups_table),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
