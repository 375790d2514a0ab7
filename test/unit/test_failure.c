/*-------------------------------------------------------------------------
 *
 * test_failure.c
 *	  Every operator with each of its allocations failing in turn.
 *
 * For each operator a small graph runs for a few steps: made early, made late,
 * idling, with errors among the rows, released.  The first allocation fails,
 * then the second, and so on until one run gets through.  Whatever fails:
 *
 *	- the error is the one of memory, nothing else
 *	- failing while an operator is made leaves the graph as it was: it goes on,
 *	  and the operator can be made then
 *	- after failing in a step the graph refuses another
 *	- the graph can be destroyed, and with it goes all that it had
 *
 * The sanitizers see to it that nothing is used that has gone.
 *
 * test/unit/test_failure.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

#define STEPS 4

typedef struct Rig Rig;

/* Makes the operator, and the arrangements it reads, from two sources. */
typedef DdirNode *(*Maker) (Rig *rig);

struct Rig
{
	Maker		make;
	int			coords;
	DdirGraph  *g;
	DdirNode   *source[2];
	DdirNode   *arr[2][3];
	Proj	   *by[3];			/* keying of arrangements */
	Proj	   *whole;			/* of 2 columns, no key */
	Proj	   *wide;			/* of the columns of two relations */
	Proj	   *keyed;			/* both columns are key */
	Proj	   *first[3];		/* the key is a relation's first column */
	Proj	   *second;			/* ... the second one of relation 0 */
	Proj	   *row[3];			/* a relation's row */
	int			step;			/* 0: not begun */
	int			known;			/* all operators have seen the rows from here
								 * on */
	bool		stepping;
};

static Rig	rig;
static Catch caught;

static DdirNode *
arrangement(Rig *r, int source, int keycol)
{
	if (r->arr[source][keycol] == NULL)
		r->arr[source][keycol] = ddir_arrange_create(r->g, "arr", r->source[source],
													 proj_func(r->by[keycol]));
	return r->arr[source][keycol];
}

static DdirNode *
make_source(Rig *r)
{
	ddir_node_hold(r->source[0]);
	return r->source[0];
}

static DdirNode *
make_linear(Rig *r)
{
	return ddir_linear_create(r->g, "linear", r->source[0], proj_func(r->whole));
}

static DdirNode *
make_concat(Rig *r)
{
	DdirNode   *in[5] = {r->source[0], r->source[1], r->source[0], r->source[0], r->source[1]};

	return ddir_concat_create(r->g, "concat", 5, in);
}

static DdirNode *
make_negate(Rig *r)
{
	return ddir_negate_create(r->g, "negate", r->source[0]);
}

/* It gives no rows, only errors. */
static DdirNode *
make_arrange(Rig *r)
{
	ddir_node_hold(arrangement(r, 0, 0));
	return r->arr[0][0];
}

static DdirNode *
make_delta_join(Rig *r)
{
	DdirNode   *arr[2] = {arrangement(r, 0, 1), arrangement(r, 1, 0)};
	DdirStage	stage[2] = {
		{1, 1, proj_func(r->second), -1, 0, {NULL, NULL}},
		{0, 0, proj_func(r->first[1]), -1, 0, {NULL, NULL}},
	};
	DdirPath	path[2] = {
		{.arr = 0,.nstages = 1,.stages = &stage[0],.output = proj_func(r->wide)},
		{.arr = 1,.nstages = 1,.stages = &stage[1],.output = proj_func(r->wide)},
	};

	return ddir_join_create(r->g, "delta join", 2, 2, arr, path, 0);
}

/* Rows of source 0 that are in source 1, which is looked at twice. */
static DdirNode *
make_intersection(Rig *r)
{
	DdirNode   *arr[2] = {arrangement(r, 0, FLOW_KEY_APART), arrangement(r, 1, FLOW_KEY_APART)};
	DdirStage	stage[3];
	DdirPath	path[3];

	for (int i = 0; i < 3; i++)
	{
		int			a = i == 0 ? 1 : 0;
		int			b = i == 2 ? 1 : 2;

		stage[i] = (DdirStage)
		{
			a, a != 0, proj_func(r->first[i]), b, 1, proj_func(r->first[i])
		};
		path[i] = (DdirPath)
		{
			.arr = i != 0,.with_key = true,.nstages = 1,.stages = &stage[i],
				.output = proj_func(r->row[i])
		};
	}
	return ddir_join_create(r->g, "intersection", 3, 2, arr, path, 0);
}

static DdirNode *
make_bilinear(Rig *r)
{
	return ddir_bilinear_create(r->g, "binary join", arrangement(r, 0, 1),
								arrangement(r, 1, 0), proj_func(r->wide));
}

static DdirNode *
make_antijoin(Rig *r)
{
	return ddir_antijoin_create(r->g, "antijoin", arrangement(r, 0, 1),
								arrangement(r, 1, 0), proj_func(r->whole));
}

static bool
fold_nothing(void *ctx, int port, uint32_t n, DdirGroup *const *group,
			 const DdirRef *val, const int64_t *diff)
{
	return true;
}

/* Rows and the least val; groups of three rows are errors. */
static bool
emit_least(void *ctx, uint32_t n, DdirGroup *const *group, int64_t diff,
		   DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err)
{
	for (uint32_t i = 0; i < n; i++)
	{
		Row			row = ROW(group[i]->rows, 0);
		DdirRef		val;
		int64_t		count;

		ddir_cursor_seek(&cursor[0], group[i]->hash, group[i]->key.p, group[i]->key.len);
		if (ddir_cursor_next(&cursor[0], &val, &count))
			row.c[1] = row_unpack(val).c[1];
		flow_push(group[i]->rows == 3 ? err : out, row, NULL, diff);
	}
	return true;
}

static DdirNode *
make_reduce(Rig *r)
{
	DdirFunc	keying[2] = {proj_func(r->by[0]), proj_func(r->by[0])};
	DdirNode   *values = arrangement(r, 0, 0);
	DdirReduceSpec spec = {2, r->source, keying, 1, &values, false};

	spec.fns.state_size = 16;
	spec.fns.fold = fold_nothing;
	spec.fns.emit = emit_least;
	return ddir_reduce_create(r->g, "reduce", &spec);
}

static DdirNode *
make_threshold(Rig *r)
{
	return ddir_threshold_create(r->g, "threshold", r->source[0], proj_func(r->keyed),
								 ddir_threshold_positive);
}

static uint32_t
first_column(void *ctx, DdirRef val)
{
	return 8;
}

/* An arrangement of its own: it may have no past. */
static DdirNode *
make_topk(Rig *r)
{
	DdirTopkSpec spec = {.limit = 2,.offset = 1,.order = first_column};
	DdirNode   *arr = ddir_arrange_create(r->g, "ordered", r->source[0], proj_func(r->by[0]));
	DdirNode   *topk = ddir_topk_create(r->g, "top-k", arr, &spec);

	ddir_node_release(arr);
	return topk;
}

/* Each row once; keys of three rows or more fail. */
static bool
run_partitions(void *ctx, uint32_t n, const DdirPartition *part, int64_t diff,
			   DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err)
{
	for (uint32_t i = 0; i < n; i++)
	{
		DdirRef		val[3];
		int64_t		copies;
		uint32_t	rows = 0;

		ddir_cursor_seek(cursor, part[i].hash, part[i].key.p, part[i].key.len);
		while (rows < 3 && ddir_cursor_next(cursor, &val[rows], &copies))
			rows++;
		for (uint32_t k = 0; k < rows; k++)
			ddir_deltas_push(rows == 3 ? err : out, NULL, 0, val[k].p, val[k].len, NULL, diff);
	}
	return true;
}

static DdirNode *
make_partition(Rig *r)
{
	DdirPartitionFns fns = {NULL, run_partitions};
	DdirNode   *arr = ddir_arrange_create(r->g, "by key", r->source[0], proj_func(r->by[0]));
	DdirNode   *partition = ddir_partition_create(r->g, "partition", arr, fns);

	ddir_node_release(arr);
	return partition;
}

/* ----
 * One run
 * ----
 */

/* Row i of what a step brings. */
static void
feed(Rig *r, int source, int step, int i, int64_t diff)
{
	Update		u = {ROW((7 * step + 3 * i + source) % 6, (step + i * i) % 5), {{0}}, diff};
	Bag			one = {1, 1, &u};
	uint64_t	t[DDIR_COORDS_MAX] = {r->step, r->coords > 1 ? i % 3 : 0};

	flow_feed(r->source[source], 0, &one, t);
}

/* Rows come, and half of those that came in the step before go. */
static void
run_step(Rig *r)
{
	uint64_t	now[DDIR_COORDS_MAX] = {++r->step};

	r->stepping = true;
	ddir_graph_begin(r->g, now);
	for (int s = 0; s < 2; s++)
		for (int i = 0; i < 12; i++)
		{
			feed(r, s, r->step, i, 1);
			if (r->step > r->known && i % 2)
				feed(r, s, r->step - 1, i, -1);
		}
	ddir_graph_finish(r->g);
	ddir_graph_exert(r->g, 20);
	r->stepping = false;
}

/* The operator and its consumer, of which the sink is what is held. */
static DdirNode *
make_with_sink(Rig *r)
{
	DdirNode   *node = r->make(r);
	DdirNode   *sink = ddir_sink_create(r->g, "sink", node, catch_fns(&caught));

	ddir_node_release(node);
	return sink;
}

static void
run(DdirArena *arena)
{
	Rig		   *r = &rig;
	DdirNode   *early;
	DdirNode   *late;

	r->known = 1;
	r->g = ddir_graph_create(arena, r->coords);
	for (int s = 0; s < 2; s++)
		r->source[s] = ddir_source_create(r->g, "source");
	early = make_with_sink(r);
	run_step(r);
	late = make_with_sink(r);
	r->known = r->step + 1;
	for (int i = 1; i < STEPS; i++)
		run_step(r);
	ddir_node_release(early);
	ddir_node_release(late);
	run_step(r);
}

/* What the functions know is not allocated by the run. */
static void
rig_init(Rig *r, DdirArena *root, Maker make, int coords)
{
	memset(r, 0, sizeof(*r));
	r->make = make;
	r->coords = coords;
	for (int k = 0; k < 3; k++)
	{
		r->by[k] = proj_whole(root, k, 2);
		r->by[k]->fail = col(0, 0);
		r->by[k]->fail_value = 5;
	}
	r->whole = proj_of(root, ":00 01");
	r->whole->fail = col(0, 1);
	r->whole->fail_value = 4;
	r->wide = proj_of(root, ":00 01 10 11");
	r->wide->fail = col(1, 1);
	r->wide->fail_value = 4;
	r->keyed = proj_of(root, "00 01:00 01");
	r->second = proj_of(root, "01:");
	for (int i = 0; i < 3; i++)
	{
		static const char *const first[3] = {"00:", "10:", "20:"};
		static const char *const row[3] = {":00 01", ":10 11", ":20 21"};

		r->first[i] = proj_of(root, first[i]);
		r->row[i] = proj_of(root, row[i]);
	}
	catch_free(&caught);
	flow_seed(42);
}

/* The k-th allocation fails; false if there are not so many. */
static bool
fails_at(DdirArena *root, Maker make, int coords, int64_t k)
{
	size_t		before = unit_live_blocks;
	DdirArena  *fixed = ddir_arena_create(root, "fixed");
	DdirArena  *arena = ddir_arena_create(root, "run");
	size_t		empty;
	bool		done;
	bool		failed;

	rig_init(&rig, fixed, make, coords);
	empty = unit_live_blocks;
	unit_fail_after = k;
	done = unit_survives(run, arena);
	failed = unit_fail_after == 0;
	unit_fail_after = 0;
	CHECK(done != failed);
	CHECK(done || unit_error_code == DDIR_ERROR_MEMORY);

	if (rig.g)
	{
		uint64_t	later[DDIR_COORDS_MAX] = {100};

		if (rig.stepping)
			EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_graph_begin(rig.g, later));
		else if (failed && rig.source[0] && rig.source[1])
		{
			/* what could not be made can be now */
			DdirNode   *again = make_with_sink(&rig);

			rig.known = rig.step + 1;
			run_step(&rig);
			run_step(&rig);
			ddir_node_release(again);
		}
		ddir_graph_destroy(rig.g);
		CHECK_EQ(unit_live_blocks, empty);
	}
	ddir_arena_destroy(arena);
	ddir_arena_destroy(fixed);
	CHECK_EQ(unit_live_blocks, before);
	return failed;
}

static void
all_fail(DdirArena *root, Maker make)
{
	bool		also_two = make != make_antijoin && make != make_reduce && make != make_threshold &&
	make != make_topk && make != make_partition;

	for (int coords = 1; coords <= 1 + also_two; coords++)
	{
		int64_t		k = 1;

		while (fails_at(root, make, coords, k))
			k++;
		/* and it did something */
		CHECK(k > 30);
		CHECK(caught.rows.n + caught.errs.n > 0);
		catch_free(&caught);
	}
}

#define FAILING(op) \
	static void \
	op(DdirArena *root) \
	{ \
		all_fail(root, make_##op); \
	}

FAILING(source)
FAILING(linear)
FAILING(concat)
FAILING(negate)
FAILING(arrange)
FAILING(delta_join)
FAILING(intersection)
FAILING(bilinear)
FAILING(antijoin)
FAILING(reduce)
FAILING(threshold)
FAILING(topk)
FAILING(partition)

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(source),
		UNIT_CASE(linear),
		UNIT_CASE(concat),
		UNIT_CASE(negate),
		UNIT_CASE(arrange),
		UNIT_CASE(delta_join),
		UNIT_CASE(intersection),
		UNIT_CASE(bilinear),
		UNIT_CASE(antijoin),
		UNIT_CASE(reduce),
		UNIT_CASE(threshold),
		UNIT_CASE(topk),
		UNIT_CASE(partition),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
