/*-------------------------------------------------------------------------
 *
 * test_bilinear.c
 *	  The binary join: any split into batches, any order of arrival, any
 *	  compaction, early or late.
 *
 * test/unit/test_bilinear.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op_bilinear.h"

#include "flow.h"
#include "unit.h"

#define GRID 5					/* times are below in each coordinate */

static int	dims = 2;			/* coordinates */

/* One input: its updates cut into batches, some of them on their way. */
typedef struct Input
{
	DdirSpine  *trace;
	DdirReader *hold;			/* until the join has readers of its own */
	Bag			updates;		/* (key, val) */
	int			n;
	DdirFrontier cut[32];		/* batch i reaches from cut[i] to cut[i + 1] */
	int			inserted;
	int			accepted;
	DdirBatch  *batch[32];
} Input;

typedef struct Rig
{
	DdirArena  *arena;
	Input		in[2];
	DdirBilinear *join;
	Bag			out;
	uint32_t	biggest;
	int			calls;
} Rig;

static void
take_pairs(void *ctx, DdirStream *s)
{
	Rig		   *rig = ctx;

	rig->calls++;
	if (s->n > rig->biggest)
		rig->biggest = s->n;
	for (uint32_t i = 0; i < s->n; i++)
	{
		Row			row = row_unpack(s->ref[0][i]);

		row.c[row.n++] = row_unpack(s->ref[1][i]).c[0];
		bag_add(&rig->out, row, s->coords > 1 ? s->payload + i * s->coords :
				ddir_stream_time(s, i), s->coords, s->diff[i]);
	}
}

static void
rig_open(Rig *rig, const DdirFrontier *since)
{
	rig->join = ddir_bilinear_open(rig->arena, rig->in[0].trace, rig->in[1].trace,
								   since, take_pairs, rig);
	for (int s = 0; s < 2; s++)
		ddir_reader_drop(rig->in[s].hold);
}

/* Ever later frontiers, the last past all times. */
static void
input_init(Input *in, DdirArena *arena, int nbatches)
{
	in->trace = ddir_spine_create(arena, dims);
	in->hold = ddir_reader_create(in->trace);
	in->n = nbatches;
	ddir_frontier_init_least(&in->cut[0], arena, dims);
	for (int i = 1; i <= nbatches; i++)
	{
		DdirFrontier f;

		ddir_frontier_init(&f, arena, dims);
		ddir_frontier_init(&in->cut[i], arena, dims);
		ddir_frontier_copy(&in->cut[i], &in->cut[i - 1]);
		for (int k = 1 + unit_below(3); k > 0; k--)
		{
			uint64_t	t[DDIR_COORDS_MAX] = {unit_below(GRID), unit_below(GRID)};

			if (i == nbatches)
				t[0] = t[1] = GRID;
			ddir_frontier_insert(&f, t);
		}
		ddir_frontier_join(&in->cut[i], &f);
	}
}

static void
input_random(Input *in, int n, uint32_t keys, uint32_t vals)
{
	for (int i = 0; i < n; i++)
	{
		uint64_t	t[DDIR_COORDS_MAX] = {unit_below(GRID), unit_below(GRID)};

		bag_add(&in->updates, ROW(unit_below(keys), unit_below(vals)), t, dims,
				unit_chance(1, 2) ? 1 : -1);
	}
}

/* Put the next batch into the trace. */
static void
input_insert(Input *in, DdirArena *arena)
{
	int			k = in->inserted++;
	DdirDeltas	d;

	ddir_deltas_init(&d, arena, dims, true);
	for (int i = 0; i < in->updates.n; i++)
	{
		const Update *u = &in->updates.u[i];
		uint8_t		key[8];
		uint8_t		val[16];
		Row			v = u->row;

		if (!ddir_frontier_beyond(&in->cut[k], u->t.c) ||
			ddir_frontier_beyond(&in->cut[k + 1], u->t.c))
			continue;
		row_pack(ROW(u->row.c[0]), key);
		/* the left val is the whole row, the right one the second column */
		row_pack(v, val);
		ddir_deltas_push(&d, key, 8, val, 16, u->t.c, u->diff);
	}
	in->batch[k] = ddir_batch_build(arena, &d, &in->cut[k], &in->cut[k + 1]);
	ddir_batch_ref(in->batch[k]);
	ddir_spine_insert(in->trace, in->batch[k]);
}

static void
input_accept(Rig *rig, int side)
{
	Input	   *in = &rig->in[side];

	ddir_bilinear_accept(rig->join, side, in->batch[in->accepted++]);
}

static void
rig_free(Rig *rig)
{
	for (int s = 0; s < 2; s++)
		bag_free(&rig->in[s].updates);
	bag_free(&rig->out);
}

/* All pairs, at the joins of their times. */
static void
brute(const Rig *rig, Bag *want)
{
	for (int i = 0; i < rig->in[0].updates.n; i++)
		for (int j = 0; j < rig->in[1].updates.n; j++)
		{
			const Update *a = &rig->in[0].updates.u[i];
			const Update *b = &rig->in[1].updates.u[j];
			DdirTime	t;

			if (a->row.c[0] != b->row.c[0])
				continue;
			ddir_time_join(a->t.c, b->t.c, t.c, dims);
			bag_add(want, ROW(a->row.c[0], a->row.c[1], b->row.c[0]), t.c, dims,
					a->diff * b->diff);
		}
}

/* What a bag sums to at a time. */
static void
accumulate(const Bag *b, const uint64_t *t, Bag *out)
{
	bag_clear(out);
	for (int i = 0; i < b->n; i++)
		if (ddir_time_le(b->u[i].t.c, t, dims))
			bag_add_now(out, b->u[i].row, b->u[i].diff);
}

/* Equal sums at all times beyond since. */
static void
check_beyond(Rig *rig, const DdirFrontier *since, const char *what)
{
	Bag			want = {0};
	Bag			a = {0};
	Bag			b = {0};

	brute(rig, &want);
	for (uint64_t x = 0; x <= GRID; x++)
		for (uint64_t y = 0; y <= (dims > 1 ? GRID : 0); y++)
		{
			uint64_t	t[DDIR_COORDS_MAX] = {x, y};

			if (!ddir_frontier_beyond(since, t))
				continue;
			accumulate(&rig->out, t, &a);
			accumulate(&want, t, &b);
			CHECK(bag_equal(&a, &b, what));
		}
	bag_free(&want);
	bag_free(&a);
	bag_free(&b);
}

/* Insert, accept, work and merge in any order until all is done. */
static void
run_randomly(Rig *rig)
{
	for (;;)
	{
		int			side = unit_below(2);
		Input	   *in = &rig->in[side];
		bool		left = rig->in[0].accepted < rig->in[0].n;
		bool		right = rig->in[1].accepted < rig->in[1].n;

		if (!left && !right)
			break;
		switch (unit_below(4))
		{
			case 0:
				if (in->inserted < in->n)
					input_insert(in, rig->arena);
				break;
			case 1:
				if (in->accepted < in->inserted)
					input_accept(rig, side);
				break;
			case 2:
				ddir_bilinear_work(rig->join);
				break;
			default:
				ddir_spine_exert(in->trace, unit_below(200));
				break;
		}
	}
	ddir_bilinear_work(rig->join);
}

/* ----
 * Cases
 * ----
 */

/* From the beginning: the exact set of updates. */
static void
any_order(DdirArena *root)
{
	for (int round = 0; round < 80; round++)
	{
		DdirArena  *arena = ddir_arena_create(root, "round");
		Rig			rig = {arena};
		DdirFrontier since;
		Bag			want = {0};

		dims = round % 4 ? 2 : 1;
		for (int s = 0; s < 2; s++)
		{
			input_init(&rig.in[s], arena, 1 + unit_below(8));
			/* sometimes deep enough to be replayed */
			input_random(&rig.in[s], round % 3 ? 40 : 150, round % 3 ? 4 : 2, 3);
		}
		ddir_frontier_init_least(&since, arena, dims);
		rig_open(&rig, &since);
		run_randomly(&rig);
		brute(&rig, &want);
		/* the right val is the whole row: its first column is the key */
		CHECK(bag_equal(&rig.out, &want, "pairs"));
		ddir_bilinear_close(rig.join);
		ddir_arena_destroy(arena);
		bag_free(&want);
		rig_free(&rig);
	}
	dims = 2;
}

/* Late, over traces compacted by anything since is beyond. */
static void
late_start(DdirArena *root)
{
	for (int round = 0; round < 120; round++)
	{
		DdirArena  *arena = ddir_arena_create(root, "round");
		Rig			rig = {arena};
		DdirFrontier since;

		dims = 1 + round % 2;
		ddir_frontier_init_least(&since, arena, dims);
		for (int s = 0; s < 2; s++)
		{
			Input	   *in = &rig.in[s];
			DdirFrontier f;

			input_init(in, arena, 6);
			input_random(in, round % 3 ? 40 : 150, round % 3 ? 4 : 2, 3);
			for (int k = 0; k < 3; k++)
				input_insert(in, arena);
			/* compacted by less than its upper, or by all of it, or not */
			ddir_frontier_init(&f, arena, dims);
			ddir_frontier_copy(&f, &in->cut[unit_below(4)]);
			ddir_reader_set_logical(in->hold, &f);
			ddir_reader_set_physical(in->hold, ddir_spine_upper(in->trace));
			for (int k = unit_below(4); k > 0; k--)
				ddir_spine_exert(in->trace, unit_below(60));
			ddir_frontier_join(&since, &f);
		}
		rig_open(&rig, &since);
		ddir_bilinear_work(rig.join);

		/* batches that were there arrive as well: they are passed over */
		for (int s = 0; s < 2; s++)
			if (unit_chance(1, 2))
				rig.in[s].accepted = 3;
		run_randomly(&rig);
		check_beyond(&rig, &since, "late");
		ddir_bilinear_close(rig.join);
		ddir_arena_destroy(arena);
		rig_free(&rig);
	}
	dims = 2;
}

static Input *
one_input(Rig *rig, int side, int nbatches)
{
	Input	   *in = &rig->in[side];

	in->trace = ddir_spine_create(rig->arena, dims);
	in->hold = ddir_reader_create(in->trace);
	in->n = nbatches;
	for (int i = 0; i <= nbatches; i++)
	{
		uint64_t	t[DDIR_COORDS_MAX] = {i};

		ddir_frontier_init(&in->cut[i], rig->arena, dims);
		ddir_frontier_insert(&in->cut[i], t);
	}
	return in;
}

static void
add(Input *in, uint64_t key, uint64_t val, uint64_t t0, uint64_t t1, int64_t diff)
{
	bag_add(&in->updates, ROW(key, val), AT(t0, t1), dims, diff);
}

/*
 * Two batches that cancel in the trace while they are on their way, ack moved
 * past both: each is joined when it arrives.
 */
static void
cancelled_in_flight(DdirArena *root)
{
	Rig			rig = {root};
	Input	   *a = one_input(&rig, 0, 4);
	Input	   *b = one_input(&rig, 1, 4);
	DdirFrontier since;
	Bag			want = {0};

	add(b, 1, 7, 0, 0, 1);
	add(a, 1, 5, 1, 0, 1);
	add(a, 1, 5, 2, 0, -1);
	ddir_frontier_init_least(&since, root, dims);
	rig_open(&rig, &since);
	for (int k = 0; k < 4; k++)
	{
		input_insert(b, root);
		input_accept(&rig, 1);
	}
	ddir_bilinear_work(rig.join);
	for (int k = 0; k < 4; k++)
		input_insert(a, root);
	ddir_bilinear_pass(rig.join, 0, &a->cut[4]);
	while (ddir_spine_exert(a->trace, 1000))
		;
	CHECK_EQ(ddir_spine_rows(a->trace), 0);
	input_accept(&rig, 0);
	input_accept(&rig, 0);
	ddir_bilinear_work(rig.join);
	CHECK_EQ(rig.out.n, 1);
	input_accept(&rig, 0);
	input_accept(&rig, 0);
	ddir_bilinear_work(rig.join);
	brute(&rig, &want);
	CHECK(bag_equal(&rig.out, &want, "in flight"));
	ddir_bilinear_close(rig.join);
	bag_free(&want);
	rig_free(&rig);
}

static bool
is(const DdirFrontier *f, const DdirFrontier *g)
{
	return ddir_frontier_equal(f, g);
}

/*
 * A trace is held back by what may still arrive on the other side, and against
 * merging by what was accepted of itself; nothing more, and by nobody who has
 * gone.  Here two joins of one pair of traces get ahead at different speed.
 */
static void
holding(DdirArena *root)
{
	Rig			ahead = {root};
	Input	   *a = one_input(&ahead, 0, 4);
	Input	   *b = one_input(&ahead, 1, 4);
	Rig			behind = {root};
	DdirFrontier since;

	ddir_frontier_init_least(&since, root, dims);
	behind.in[0] = *a;
	behind.in[1] = *b;
	behind.join = ddir_bilinear_open(root, a->trace, b->trace, &since, take_pairs, &behind);
	rig_open(&ahead, &since);
	for (int k = 0; k < 4; k++)
	{
		input_insert(a, root);
		input_insert(b, root);
	}
	for (int k = 0; k < 3; k++)
		input_accept(&ahead, 0);
	input_accept(&ahead, 1);
	CHECK(is(ddir_spine_since(a->trace), &a->cut[0]));
	CHECK(is(ddir_spine_physical(a->trace), &a->cut[0]));

	/* the one behind, of two readers, decides */
	ddir_bilinear_pass(behind.join, 0, &a->cut[2]);
	CHECK(is(ddir_spine_since(a->trace), &a->cut[0]));
	CHECK(is(ddir_spine_physical(a->trace), &a->cut[2]));
	CHECK(is(ddir_spine_since(b->trace), &a->cut[2]));
	CHECK(is(ddir_spine_physical(b->trace), &a->cut[0]));
	ddir_bilinear_close(behind.join);
	ddir_bilinear_pass(ahead.join, 0, &a->cut[3]);
	CHECK(is(ddir_spine_since(a->trace), &a->cut[1]));
	CHECK(is(ddir_spine_physical(a->trace), &a->cut[3]));
	CHECK(is(ddir_spine_since(b->trace), &a->cut[3]));
	CHECK(is(ddir_spine_physical(b->trace), &a->cut[1]));

	/* without readers a trace goes to its upper */
	ddir_bilinear_close(ahead.join);
	CHECK(is(ddir_spine_since(a->trace), &a->cut[4]));
	CHECK(is(ddir_spine_physical(b->trace), &a->cut[4]));
	rig_free(&ahead);
}

/* One key with much on both sides: chunks, no more. */
static void
one_skewed_key(DdirArena *root)
{
	Rig			rig = {root};
	Input	   *a = one_input(&rig, 0, 1);
	Input	   *b = one_input(&rig, 1, 1);
	DdirFrontier since;
	size_t		before;

	for (int i = 0; i < 600; i++)
	{
		add(a, 1, i, 0, 0, 1);
		add(b, 1, i, 0, 0, 1);
	}
	ddir_frontier_init_least(&since, root, dims);
	rig_open(&rig, &since);
	input_insert(a, root);
	input_insert(b, root);
	before = ddir_arena_bytes(root);
	input_accept(&rig, 0);
	input_accept(&rig, 1);
	ddir_bilinear_work(rig.join);
	CHECK_EQ(rig.out.n, 600 * 600);
	CHECK(rig.biggest <= DDIR_CHUNK_ROWS);
	CHECK(rig.calls >= 600 * 600 / DDIR_CHUNK_ROWS);
	CHECK(ddir_arena_bytes(root) <= before + 4096);
	ddir_bilinear_close(rig.join);
	rig_free(&rig);
}

static void
skewed_key(DdirArena *root)
{
	for (dims = 1; dims <= 2; dims++)
		one_skewed_key(root);
	dims = 2;
}

/*
 * A key changed 600 times on both sides: thousands of steps, not 360,000, in
 * whatever order the values are.
 */
static void
one_deep_history(DdirArena *root, uint64_t stride)
{
	Rig			rig = {root};
	Input	   *a = one_input(&rig, 0, 1);
	Input	   *b = one_input(&rig, 1, 1);
	DdirFrontier since;
	Bag			want = {0};

	for (int side = 0; side < 2; side++)
		for (uint64_t i = 0; i < 300; i++)
		{
			uint64_t	val = i * stride % 300;

			/* the next value takes the place of this one */
			add(&rig.in[side], 1, val, 0, 2 * i + side, 1);
			add(&rig.in[side], 1, val, 0, 2 * i + side + 2, -1);
		}
	ddir_frontier_init_least(&since, root, dims);
	rig_open(&rig, &since);
	input_insert(a, root);
	input_accept(&rig, 0);
	input_insert(b, root);
	input_accept(&rig, 1);
	ddir_bilinear_work(rig.join);
	CHECK(ddir_bilinear_effort(rig.join) < 40 * 300);
	brute(&rig, &want);
	CHECK(bag_equal(&rig.out, &want, "deep"));
	ddir_bilinear_close(rig.join);
	bag_free(&want);
	rig_free(&rig);
}

static void
deep_histories(DdirArena *root)
{
	one_deep_history(root, 1);
	one_deep_history(root, 157);
	one_deep_history(root, 299);
}

/* ----
 * Reading as of since
 * ----
 */

/* Only what has to move is consolidated, and only in the first unit. */
static void
as_of_moves(DdirArena *root)
{
	for (int kind = 0; kind < 4; kind++)
	{
		int			late = kind % 2;
		Rig			rig = {root};
		Input	   *a;
		Input	   *b;
		DdirFrontier since;
		uint64_t	t[DDIR_COORDS_MAX] = {2 * late};
		uint64_t	moved;

		dims = 1 + kind / 2;
		a = one_input(&rig, 0, 4);
		b = one_input(&rig, 1, 4);
		for (int i = 0; i < 4; i++)
		{
			add(a, 1, i, i, 0, 1);
			add(b, 1, i, i, 0, 1);
		}
		/* key 2 was and is no more; key 3 meets nothing */
		add(a, 2, 1, 0, 0, 1);
		add(a, 2, 1, 1, 0, -1);
		add(b, 2, 1, 0, 1, 1);
		add(a, 3, 1, 0, 0, 1);
		input_insert(a, root);
		input_insert(b, root);
		input_insert(a, root);
		input_insert(b, root);
		ddir_frontier_init(&since, root, dims);
		ddir_frontier_insert(&since, t);
		rig_open(&rig, &since);
		ddir_bilinear_work(rig.join);
		moved = ddir_bilinear_moved(rig.join);
		/* both sides of keys 1 and 2, or nothing */
		CHECK_EQ(moved, late ? 4 : 0);
		if (late)
		{
			for (int i = 0; i < rig.out.n; i++)
				CHECK(rig.out.u[i].row.c[0] == 1);
			CHECK_EQ(rig.out.n, 4);
			CHECK_EQ(ddir_bilinear_effort(rig.join), 4);
		}
		for (int k = 2; k < 4; k++)
		{
			input_insert(a, root);
			input_insert(b, root);
		}
		a->accepted = b->accepted = 2;
		while (a->accepted < 4)
		{
			input_accept(&rig, 0);
			input_accept(&rig, 1);
		}
		ddir_bilinear_work(rig.join);
		CHECK_EQ(ddir_bilinear_moved(rig.join), moved);
		check_beyond(&rig, &since, "as of");
		ddir_bilinear_close(rig.join);
		rig_free(&rig);
	}
	dims = 2;
}

/* A trace compacted further than since can not be read as of it. */
static void
as_of_refused(DdirArena *root)
{
	Rig			rig = {root};
	Input	   *a = one_input(&rig, 0, 4);
	Input	   *b = one_input(&rig, 1, 4);
	DdirFrontier since;

	add(a, 1, 1, 0, 0, 1);
	for (int k = 0; k < 4; k++)
	{
		input_insert(a, root);
		input_insert(b, root);
	}
	ddir_reader_set_logical(a->hold, &a->cut[3]);
	ddir_reader_set_physical(a->hold, &a->cut[4]);
	ddir_frontier_init(&since, root, dims);
	ddir_frontier_copy(&since, &a->cut[2]);
	EXPECT_ERROR(DDIR_ERROR_INTERNAL,
				 ddir_bilinear_open(root, a->trace, b->trace, &since, take_pairs, &rig));
	ddir_frontier_copy(&since, &a->cut[3]);
	rig_open(&rig, &since);
	ddir_bilinear_close(rig.join);
	rig_free(&rig);
}

/* ----
 * In a graph
 * ----
 */

/* Early, late, and with itself; one coordinate or two. */
static void
in_a_graph(DdirArena *root)
{
	static const JoinSpec spec[2] = {
		{2, {0, 1}, 1, {{{0, 0}, {1, 1}}}},
		{2, {0, 0}, 1, {{{0, 0}, {1, 0}}}},
	};

	for (int round = 0; round < 20; round++)
	{
		int			coords = 1 + round % 2;
		DdirGraph  *g = ddir_graph_create(root, coords);
		DdirNode   *source[2] = {ddir_source_create(g, "a"), ddir_source_create(g, "b")};
		DdirNode   *arr[2] = {
			ddir_arrange_create(g, "a", source[0], proj_func(proj_whole(root, 0, 2))),
			ddir_arrange_create(g, "b", source[1], proj_func(proj_whole(root, 1, 2))),
		};
		DdirFunc	f = proj_func(proj_of(root, ":00 01 10 11"));
		Catch		c[4] = {{{0}}};
		Bag			history[2] = {{0}};
		Bag			want = {0};

		flow_seed(unit_random());
		for (uint64_t tick = 1; tick < 14; tick++)
		{
			uint64_t	now[DDIR_COORDS_MAX] = {tick};

			/* 0, 1: early; 2, 3: late */
			for (int k = 0; k < 4; k++)
				if (tick == (k < 2 ? 1 : 7))
				{
					DdirNode   *join = ddir_bilinear_create(g, "join", arr[0], arr[k % 2 ? 0 : 1], f);

					ddir_sink_create(g, "out", join, catch_fns(&c[k]));
					ddir_node_release(join);
				}
			ddir_graph_begin(g, now);
			for (int s = 0; s < 2; s++)
				for (int i = unit_below(10); i > 0; i--)
				{
					uint64_t	t[DDIR_COORDS_MAX] = {tick, unit_below(3)};
					Update		u = {ROW(unit_below(4), unit_below(3))};
					Bag			one = {1, 1, &u};

					u.diff = unit_chance(1, 2) ? 1 : -1;
					bag_add(&history[s], u.row, t, coords, u.diff);
					flow_feed(source[s], 0, &one, t);
				}
			ddir_graph_finish(g);
			if (unit_chance(1, 3))
				ddir_graph_exert(g, 100);
			for (int k = 2; k < 4 && tick >= 7 && coords == 1; k++)
			{
				Bag			a = {0};

				bag_clear(&want);
				flow_join_brute(&spec[k % 2], history, &want);
				bag_flatten(&want);
				bag_add_all(&a, &c[k].rows);
				bag_flatten(&a);
				CHECK(bag_equal(&a, &want, "late join"));
				bag_free(&a);
			}
		}
		for (int k = 0; k < 2; k++)
		{
			bag_clear(&want);
			flow_join_brute(&spec[k], history, &want);
			CHECK(bag_equal(&c[k].rows, &want, "early join"));
			/* the late ones differ in times before they began only */
			bag_flatten(&want);
			bag_flatten(&c[k + 2].rows);
			CHECK(bag_equal(&c[k + 2].rows, &want, "late join"));
		}
		ddir_graph_destroy(g);
		for (int k = 0; k < 4; k++)
			catch_free(&c[k]);
		bag_free(&history[0]);
		bag_free(&history[1]);
		bag_free(&want);
	}
}

/* ----
 * Allocations that fail
 * ----
 */

static Rig	small;

static void
small_run(DdirArena *root)
{
	DdirFrontier since;
	Rig		   *rig = &small;

	rig_free(rig);
	memset(rig, 0, sizeof(*rig));
	rig->arena = root;
	for (int s = 0; s < 2; s++)
	{
		input_init(&rig->in[s], root, 3);
		input_random(&rig->in[s], 60, 2, 3);
		input_insert(&rig->in[s], root);
	}
	ddir_frontier_init_least(&since, root, dims);
	rig_open(rig, &since);
	run_randomly(rig);
	check_beyond(rig, &since, "small");
	ddir_bilinear_close(rig->join);
}

static void
failing_allocations(DdirArena *root)
{
	(void) root;
	unit_fails_everywhere(small_run, 3);
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(any_order),
		UNIT_CASE(late_start),
		UNIT_CASE(cancelled_in_flight),
		UNIT_CASE(holding),
		UNIT_CASE(skewed_key),
		UNIT_CASE(deep_histories),
		UNIT_CASE(as_of_moves),
		UNIT_CASE(as_of_refused),
		UNIT_CASE(in_a_graph),
		UNIT_CASE(failing_allocations),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
