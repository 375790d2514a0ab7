/*-------------------------------------------------------------------------
 *
 * engine.c
 *	  make bench-engine: the engine alone, its primitives and one whole view.
 *
 * Everything is processor time of one thread; of a few rounds the best is
 * shown, since the machine is shared.  Memory once freed is kept and used
 * again: a fresh page costs a fault, which on a virtual machine may take as
 * long as sorting what is put on it.  The triangles line is the one that is
 * compared from release to release: its ratio is of two programs in one run.
 *
 * test/bench/engine.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "triangles.h"

#define MILLION 1000000

static uint64_t random_state;

static uint64_t
next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static double
heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void
fail(const char *what)
{
	fprintf(stderr, "bench-engine: %s\n", what);
	exit(1);
}

static double
least(double a, double b)
{
	return a == 0 || b < a ? b : a;
}

/* ----
 * Primitives
 * ----
 */

static DdirFrontier
frontier_at(DdirArena *arena, uint64_t t)
{
	DdirFrontier f;

	ddir_frontier_init(&f, arena, 1);
	ddir_frontier_insert(&f, &t);
	return f;
}

/* n rows of random keys below "keys" and random vals. */
static void
random_rows(DdirDeltas *d, uint32_t n, uint32_t keys, uint32_t val_width)
{
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	key = next_random() % keys;
		uint64_t	val[8];

		for (uint32_t k = 0; k < (val_width + 7) / 8; k++)
			val[k] = next_random();
		ddir_deltas_push(d, &key, sizeof(key), val, val_width, NULL, 1);
	}
}

static DdirBatch *
random_batch(DdirArena *arena, uint32_t n, uint32_t keys, uint32_t val_width, uint64_t t)
{
	DdirFrontier lower = frontier_at(arena, t);
	DdirFrontier upper = frontier_at(arena, t + 1);
	DdirDeltas	d;
	DdirBatch  *b;

	ddir_deltas_init(&d, arena, 1, true);
	d.at.c[0] = t;
	random_rows(&d, n, keys, val_width);
	b = ddir_batch_build(arena, &d, &lower, &upper);
	ddir_deltas_free(&d);
	return b;
}

static void
bench_consolidate(const char *what, uint32_t keys, uint32_t val_width)
{
	double		consolidate = 0;
	double		build = 0;

	for (int round = 0; round < 5; round++)
	{
		DdirArena  *arena = ddir_arena_create(NULL, "consolidate");
		DdirFrontier lower = frontier_at(arena, 0);
		DdirFrontier upper = frontier_at(arena, 1);
		DdirDeltas	d;
		double		start;

		ddir_deltas_init(&d, arena, 1, true);
		random_rows(&d, MILLION, keys, val_width);
		start = cpu_now();
		ddir_deltas_consolidate(&d);
		consolidate = least(consolidate, cpu_now() - start);

		ddir_deltas_clear(&d);
		random_rows(&d, MILLION, keys, val_width);
		start = cpu_now();
		ddir_batch_build(arena, &d, &lower, &upper);
		build = least(build, cpu_now() - start);
		ddir_arena_destroy(arena);
	}
	printf("consolidate 1M rows, %s: %.1f Mrow/s; into a batch %.1f Mrow/s\n",
		   what, 1 / consolidate, 1 / build);
}

static void
bench_merge(const char *what, uint32_t keys, uint32_t n, uint32_t val_width)
{
	double		best = 0;
	double		copy = 0;

	for (int round = 0; round < 5; round++)
	{
		DdirArena  *arena = ddir_arena_create(NULL, "merge");
		DdirBatch  *a = random_batch(arena, MILLION, keys, val_width, 0);
		DdirBatch  *b = random_batch(arena, n, keys, val_width, 1);
		DdirFrontier since = frontier_at(arena, 2);
		int64_t		fuel = INT64_MAX;
		size_t		bytes = ddir_batch_bytes(a) + ddir_batch_bytes(b);
		double		start = cpu_now();
		DdirMerge  *m = ddir_merge_begin(arena, a, b, &since);
		char	   *from;
		char	   *to;

		ddir_merge_work(m, &fuel);
		ddir_merge_done(m);
		best = least(best, cpu_now() - start);

		/* what copying that many bytes to fresh memory takes */
		from = ddir_alloc(arena, bytes);
		memset(from, 1, bytes);
		start = cpu_now();
		to = ddir_alloc(arena, bytes);
		memcpy(to, from, bytes);
		copy = least(copy, cpu_now() - start);
		if (to[bytes / 2] != 1)
			fail("memory does not hold what is put there");
		ddir_arena_destroy(arena);
	}
	printf("merge 1M + %s: %.0f Mrow/s of input, %.2f ms (memcpy %.2f ms)\n",
		   what, (MILLION + n) / best / 1e6, best * 1e3, copy * 1e3);
}

static void
bench_probe(void)
{
	DdirArena  *arena = ddir_arena_create(NULL, "probe");
	uint32_t	keys = 200000;
	uint32_t	probes = 2000;
	DdirBatch  *b = random_batch(arena, 2 * MILLION, keys, 8, 0);
	uint64_t   *key = ddir_alloc(arena, probes * sizeof(uint64_t));
	double		cold = 0;
	double		near = 0;
	uint64_t	sum = 0;

	for (int round = 0; round < 20; round++)
		for (int prefetch = 0; prefetch < 2; prefetch++)
		{
			double		start;

			for (uint32_t i = 0; i < probes; i++)
				key[i] = next_random() % keys;
			start = cpu_now();
			for (uint32_t i = 0; i < probes; i++)
			{
				uint64_t	hash = ddir_key_mix(key[i]);
				uint32_t	end;
				uint32_t	pos;

				if (prefetch && i % 64 == 0)
					for (uint32_t k = i; k < i + 64 && k < probes; k++)
						ddir_batch_prefetch(b, ddir_key_mix(key[k]));
				pos = ddir_batch_find(b, hash, &key[i], sizeof(key[i]), &end);
				for (; pos < end; pos++)
				{
					uint64_t	val;

					memcpy(&val, ddir_batch_val(b, pos).p, sizeof(val));
					sum += val;
				}
			}
			if (prefetch)
				near = least(near, cpu_now() - start);
			else
				cold = least(cold, cpu_now() - start);
		}
	printf("probe 2000 random keys of a 2M row batch, 10 vals each: %.0f ns a key, "
		   "with prefetch %.0f ns%s\n",
		   cold / probes * 1e9, near / probes * 1e9, sum ? "" : " (nothing found)");
	ddir_arena_destroy(arena);
}

static void
bench_bytes(void)
{
	DdirArena  *arena = ddir_arena_create(NULL, "bytes");
	DdirBatch  *b = random_batch(arena, MILLION, UINT32_MAX, 16, 0);

	printf("bytes per (int8, int8, int8) record in an arrangement: %.1f\n",
		   (double) ddir_batch_bytes(b) / b->n);
	ddir_arena_destroy(arena);
}

/* ----
 * Triangles
 * ----
 */

/* Rows of the source are (from, to), eight bytes each. */
#define NODE_BYTES 8

/* Which node of a row is the key; the other is the val. */
static bool
arrange_edge(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	size_t		key = *(const size_t *) ctx;

	for (uint32_t i = 0; i < in->n; i++)
	{
		const uint8_t *p = in->ref[0][i].p;

		memcpy(ddir_deltas_key_room(out, NODE_BYTES), p + key, NODE_BYTES);
		memcpy(ddir_deltas_val_room(out, NODE_BYTES), p + NODE_BYTES - key, NODE_BYTES);
		ddir_deltas_close(out, NODE_BYTES, NODE_BYTES, ddir_bundle_time(in, i), in->diff[i], i);
	}
	return true;
}

/* A node of what is bound: of which relation, and where in its ref. */
typedef struct Corner
{
	int			rel;
	size_t		at;
} Corner;

static bool
key_of_corner(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	const Corner *c = ctx;
	const DdirRef *ref = in->ref[c->rel];

	for (uint32_t i = 0; i < in->n; i++)
	{
		memcpy(ddir_deltas_key_room(out, NODE_BYTES), ref[i].p + c->at, NODE_BYTES);
		ddir_deltas_close(out, NODE_BYTES, 0, ddir_bundle_time(in, i), in->diff[i], i);
	}
	return true;
}

/* Three corners make the output row (a, b, c). */
static bool
triangle_of_corners(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	const Corner *c = ctx;

	for (uint32_t i = 0; i < in->n; i++)
	{
		uint8_t    *to = ddir_deltas_val_room(out, 3 * NODE_BYTES);

		for (int k = 0; k < 3; k++)
			memcpy(to + k * NODE_BYTES, in->ref[c[k].rel][i].p + c[k].at, NODE_BYTES);
		ddir_deltas_close(out, 0, 3 * NODE_BYTES, ddir_bundle_time(in, i), in->diff[i], i);
	}
	return true;
}

/* Two corners, of the two relations, make the output row (a, c). */
static bool
wedge_of_corners(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	const Corner *c = ctx;

	for (uint32_t i = 0; i < in->n; i++)
	{
		uint8_t    *to = ddir_deltas_val_room(out, 2 * NODE_BYTES);

		memcpy(to, in->ref[0][i].p + c[0].at, NODE_BYTES);
		memcpy(to + NODE_BYTES, in->ref[1][i].p + c[1].at, NODE_BYTES);
		ddir_deltas_close(out, 0, 2 * NODE_BYTES, ddir_bundle_time(in, i), in->diff[i], i);
	}
	return true;
}

/* What came out, and its sum, in the order-free way of triangles.h. */
typedef struct Tally
{
	int64_t		count;
	uint64_t	sum;
} Tally;

static void
tally_rows(void *ctx, const DdirDeltas *rows)
{
	Tally	   *t = ctx;

	for (uint32_t i = 0; i < rows->n; i++)
	{
		uint64_t	node[3];

		memcpy(node, ddir_lane_ref(&rows->val, i).p, sizeof(node));
		t->count += rows->diff[i];
		t->sum += triangle_sum(node[0], node[1], node[2], rows->diff[i]);
	}
}

static void
tally_wedges(void *ctx, const DdirDeltas *rows)
{
	Tally	   *t = ctx;

	for (uint32_t i = 0; i < rows->n; i++)
	{
		uint64_t	node[2];

		memcpy(node, ddir_lane_ref(&rows->val, i).p, sizeof(node));
		t->count += rows->diff[i];
		t->sum += triangle_sum(node[0], 0, node[1], rows->diff[i]);
	}
}

static void
tally_errors(void *ctx, const DdirDeltas *errs)
{
	fail("a view has errors");
}

typedef struct View
{
	DdirGraph  *graph;
	DdirNode   *source;
	DdirDeltas	run;
	Tally		tally;
} View;

static void
view_begin_graph(View *v, DdirArena *arena, DdirNode **arr)
{
	static size_t by[2] = {0, NODE_BYTES};

	v->graph = ddir_graph_create(arena, 1);
	v->source = ddir_source_create(v->graph, "edges");
	for (int i = 0; i < 2; i++)
	{
		DdirFunc	f = {arrange_edge, &by[i]};

		arr[i] = ddir_arrange_create(v->graph, i ? "by target" : "by source", v->source, f);
	}
	ddir_deltas_init(&v->run, ddir_graph_arena(v->graph), 1, false);
	memset(&v->tally, 0, sizeof(v->tally));
}

/*
 * E(a,b), E(b,c), E(a,c) are relations 0, 1, 2.  Every path is driven by the
 * edges by source, key and val together, and has one stage, an intersection.
 */
static void
triangles_create(View *v, DdirArena *arena)
{
	static const struct
	{
		int			rel,
					arr;
		Corner		key;
		int			rel2,
					arr2;
		Corner		key2;
		Corner		abc[3];
	}			plan[3] =

	{
		{1, 0, {0, 8}, 2, 0, {0, 0}, {{0, 0}, {0, 8}, {1, 0}}},
		{0, 1, {1, 0}, 2, 1, {1, 8}, {{0, 0}, {1, 0}, {1, 8}}},
		{0, 0, {2, 0}, 1, 1, {2, 8}, {{2, 0}, {0, 0}, {2, 8}}},
	};
	DdirNode   *arr[2];
	DdirStage	stage[3];
	DdirPath	path[3];
	DdirSinkFns sink = {&v->tally, tally_rows, tally_errors};
	DdirNode   *join;

	view_begin_graph(v, arena, arr);
	for (int i = 0; i < 3; i++)
	{
		stage[i] = (DdirStage)
		{
			.rel = plan[i].rel,.arr = plan[i].arr,
				.key =
			{
				key_of_corner, (void *) &plan[i].key
			},
				.rel2 = plan[i].rel2,.arr2 = plan[i].arr2,
				.key2 =
			{
				key_of_corner, (void *) &plan[i].key2
			},
		};
		path[i] = (DdirPath)
		{
			.arr = 0,.with_key = true,.nstages = 1,.stages = &stage[i],
				.output =
			{
				triangle_of_corners, (void *) plan[i].abc
			},
		};
	}
	join = ddir_join_create(v->graph, "triangles", 3, 2, arr, path, 0);
	ddir_sink_create(v->graph, "view", join, sink);
}

/*
 * E(a,b), E(b,c), joined by the operator for two, or as a delta join is: the
 * driver is known whole, the other relation by its val.
 */
static void
wedges_create(View *v, DdirArena *arena, bool delta)
{
	static Corner key[2] = {{0, 0}, {1, 0}};
	static Corner ac[3][2] = {{{0, 8}, {1, 0}}, {{0, 0}, {1, 8}}, {{0, 0}, {1, 0}}};
	DdirFunc	both = {wedge_of_corners, ac[2]};
	DdirSinkFns sink = {&v->tally, tally_wedges, tally_errors};
	DdirNode   *arr[2];
	DdirStage	stage[2];
	DdirPath	path[2];
	DdirNode   *join;

	view_begin_graph(v, arena, arr);
	for (int i = 0; i < 2; i++)
	{
		/* relation 0 is read by its target, relation 1 by its source */
		memset(&stage[i], 0, sizeof(stage[i]));
		stage[i].rel = 1 - i;
		stage[i].arr = i;
		stage[i].key.call = key_of_corner;
		stage[i].key.ctx = &key[i];
		stage[i].rel2 = -1;
		memset(&path[i], 0, sizeof(path[i]));
		path[i].arr = 1 - i;
		path[i].with_key = true;
		path[i].nstages = 1;
		path[i].stages = &stage[i];
		path[i].output.call = wedge_of_corners;
		path[i].output.ctx = ac[i];
	}
	if (delta)
		join = ddir_join_create(v->graph, "wedges", 2, 2, arr, path, 0);
	else
		join = ddir_bilinear_create(v->graph, "wedges", arr[1], arr[0], both);
	ddir_sink_create(v->graph, "view", join, sink);
}

static void
view_change(View *v, const Edge *e, int64_t diff)
{
	uint64_t	row[2] = {e->from, e->to};

	ddir_deltas_push(&v->run, NULL, 0, row, sizeof(row), NULL, diff);
	if (ddir_deltas_full(&v->run))
	{
		ddir_node_push(v->source, 0, &v->run);
		ddir_deltas_clear(&v->run);
	}
}

static void
view_begin(View *v, uint64_t t)
{
	ddir_graph_begin(v->graph, &t);
	v->run.at.c[0] = t;
}

static void
view_finish(View *v, TriangleResult *out, int k)
{
	ddir_node_push(v->source, 0, &v->run);
	ddir_deltas_clear(&v->run);
	ddir_graph_finish(v->graph);
	out->count[k] = v->tally.count;
	out->sum[k] = v->tally.sum;
}

/* Load all edges, then replace some in each tick. */
static void
view_run(View *v, const Edge *edges, TriangleResult *out)
{
	double		start = cpu_now();

	view_begin(v, 1);
	for (uint32_t i = 0; i < EDGES; i++)
		view_change(v, &edges[i], 1);
	view_finish(v, out, 0);
	out->load_s = cpu_now() - start;

	start = cpu_now();
	for (uint32_t k = 0; k < TICKS; k++)
	{
		view_begin(v, k + 2);
		for (uint32_t i = k * CHANGES; i < (k + 1) * CHANGES; i++)
		{
			view_change(v, &edges[i], -1);
			view_change(v, &edges[EDGES + i], 1);
		}
		view_finish(v, out, k + 1);
	}
	out->tick_s = (cpu_now() - start) / TICKS;
}

static void
triangles_engine(const Edge *edges, TriangleResult *out)
{
	DdirArena  *arena = ddir_arena_create(NULL, "triangles");
	double		before = heap_bytes();
	View		v;

	triangles_create(&v, arena);
	view_run(&v, edges, out);
	out->bytes = heap_bytes() - before;
	ddir_arena_destroy(arena);
}

static void
wedges_engine(const Edge *edges, bool delta, TriangleResult *out)
{
	DdirArena  *arena = ddir_arena_create(NULL, "wedges");
	View		v;

	wedges_create(&v, arena, delta);
	view_run(&v, edges, out);
	ddir_arena_destroy(arena);
}

static void
check_triangles(const TriangleResult *a, const TriangleResult *b)
{
	if (a->count[0] != TRIANGLES_AT_LOAD || a->count[TICKS] != TRIANGLES_AT_END)
		fail("the limit counts wrong triangles");
	for (int k = 0; k <= TICKS; k++)
		if (a->count[k] != b->count[k] || a->sum[k] != b->sum[k])
		{
			fprintf(stderr, "tick %d: %lld triangles, not %lld\n", k,
					(long long) b->count[k], (long long) a->count[k]);
			fail("the engine's triangles are wrong");
		}
}

static Edge *
random_edges(void)
{
	Edge	   *edges = malloc((EDGES + TICKS * CHANGES) * sizeof(Edge));

	random_state = 12345;
	for (uint32_t i = 0; i < EDGES + TICKS * CHANGES; i++)
	{
		edges[i].from = next_random() % NODES;
		edges[i].to = next_random() % NODES;
	}
	return edges;
}

/* The same join of two inputs both ways. */
static void
bench_wedges(const Edge *edges)
{
	double		tick[2] = {0};
	double		load[2] = {0};

	for (int round = 0; round < 2; round++)
	{
		TriangleResult r[2];

		for (int delta = 0; delta < 2; delta++)
		{
			wedges_engine(edges, delta, &r[delta]);
			tick[delta] = least(tick[delta], r[delta].tick_s);
			load[delta] = least(load[delta], r[delta].load_s);
		}
		for (int k = 0; k <= TICKS; k++)
			if (r[0].count[k] != r[1].count[k] || r[0].sum[k] != r[1].sum[k])
				fail("the two joins of two inputs differ");
	}
	printf("join of two inputs, 10 by 10 a key: binary tick %.2f ms, delta tick %.2f ms, "
		   "ratio %.2f, load %.0f and %.0f ms\n",
		   tick[0] * 1e3, tick[1] * 1e3, tick[0] / tick[1], load[0] * 1e3, load[1] * 1e3);
}

static void
bench_triangles(const Edge *edges)
{
	double		tick = 0;
	double		limit = 0;
	double		load = 0;
	double		bytes = 0;

	for (int round = 0; round < 3; round++)
	{
		TriangleResult by_hand;
		TriangleResult engine;

		triangles_limit(edges, &by_hand);
		triangles_engine(edges, &engine);
		check_triangles(&by_hand, &engine);
		tick = least(tick, engine.tick_s);
		limit = least(limit, by_hand.tick_s);
		load = least(load, engine.load_s);
		bytes = engine.bytes > bytes ? engine.bytes : bytes;
	}
	printf("triangles delta: tick %.2f ms, limit %.2f ms, ratio %.2f, load %.0f ms, "
		   "memory %.0f MB\n",
		   tick * 1e3, limit * 1e3, tick / limit, load * 1e3, bytes / 1e6);
}

int
main(int argc, char **argv)
{
	Edge	   *edges;

	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	random_state = UINT64_C(0x9e3779b97f4a7c15);
	if (argc < 2)
	{
		bench_consolidate("10 a key, vals of 8 bytes", MILLION / 10, 8);
		bench_consolidate("unique, vals of 8 bytes", UINT32_MAX, 8);
		bench_consolidate("10 a key, vals of 30 bytes", MILLION / 10, 30);
		bench_merge("1M, unique keys", UINT32_MAX, MILLION, 8);
		bench_merge("1M, 10 a key", MILLION / 10, MILLION, 8);
		bench_merge("1M, 10 a key, vals of 30 bytes", MILLION / 10, MILLION, 30);
		bench_merge("100K, 10 a key", MILLION / 10, MILLION / 10, 8);
		bench_merge("2K, 10 a key", MILLION / 10, 2000, 8);
		bench_probe();
		bench_bytes();
	}
	edges = random_edges();
	if (argc < 2)
		bench_wedges(edges);
	bench_triangles(edges);
	free(edges);
	return 0;
}
