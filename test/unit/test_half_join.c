/*-------------------------------------------------------------------------
 *
 * test_half_join.c
 *	  The half join at product times, against its definition.
 *
 * The kernel and the delta join are compiled in here once more with blocks of
 * three probes and chunks of five rows, so that every place where work stops
 * and goes on is met all the time.
 *
 * test/unit/test_half_join.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

#undef DDIR_CHUNK_ROWS
#define DDIR_CHUNK_ROWS 5
#define DDIR_PROBE_BLOCK 3
#define ddir_stream_init small_stream_init
#define ddir_stream_free small_stream_free
#define ddir_stream_start small_stream_start
#define ddir_stream_reserve small_stream_reserve
#define ddir_stream_bundle small_stream_bundle
#define ddir_stream_emit small_stream_emit
#define ddir_half_join_init small_half_join_init
#define ddir_half_join_begin small_half_join_begin
#define ddir_half_join_also small_half_join_also
#define ddir_half_join_next small_half_join_next
#define ddir_join_create small_join_create
#include "../../src/engine/half_join.c"
#include "../../src/engine/op_join.c"

/* ----
 * A stream and a trace made by hand
 * ----
 */

static DdirFrontier
frontier_at(DdirArena *arena, int coords, const uint64_t *t)
{
	DdirFrontier f;

	ddir_frontier_init(&f, arena, coords);
	ddir_frontier_insert(&f, t);
	return f;
}

/*
 * A trace of a bag whose rows are (key, val), in nbatches batches.  Their
 * times are cut by coordinate 0: batch k holds those from cut[k] on.
 */
static DdirSpine *
trace_of(DdirArena *root, int coords, const Bag *b, int nbatches, const uint64_t *cut)
{
	DdirSpine  *s = ddir_spine_create(root, coords);
	DdirReader *hold = ddir_reader_create(s);

	(void) hold;				/* nothing is merged or advanced */
	for (int k = 0; k < nbatches; k++)
	{
		uint64_t	upper[DDIR_COORDS_MAX] = {cut[k + 1]};
		DdirFrontier f = frontier_at(root, coords, upper);
		DdirDeltas	d;

		ddir_deltas_init(&d, root, coords, true);
		for (int i = 0; i < b->n; i++)
		{
			uint8_t		key[8];
			uint8_t		val[8];

			if (b->u[i].t.c[0] < cut[k] || b->u[i].t.c[0] >= cut[k + 1])
				continue;
			row_pack(ROW(b->u[i].row.c[0]), key);
			row_pack(ROW(b->u[i].row.c[1]), val);
			ddir_deltas_push(&d, key, 8, val, 8, b->u[i].t.c, b->u[i].diff);
		}
		ddir_spine_insert(s, ddir_batch_build(root, &d, ddir_spine_upper(s), &f));
	}
	return s;
}

/* A stream of (key, val) rows; payloads are the times joined with "lift". */
static void
stream_of(DdirStream *s, DdirDeltas *probe, DdirArena *root, int coords,
		  const Bag *b, const uint64_t *lift)
{
	static const uint64_t zero[DDIR_COORDS_MAX];

	ddir_stream_init(s, root, 2, coords);
	ddir_stream_start(s, 1, true, zero);
	ddir_stream_reserve(s, b->n);
	ddir_deltas_init(probe, root, coords, true);
	probe->tracked = true;
	for (int i = 0; i < b->n; i++)
	{
		uint8_t    *val = ddir_alloc(root, 16);
		uint8_t    *key;

		row_pack(b->u[i].row, val);
		s->ref[0][i].p = val;
		s->ref[0][i].len = 16;
		s->diff[i] = b->u[i].diff;
		memcpy(s->time + i * coords, b->u[i].t.c, coords * sizeof(uint64_t));
		if (coords > 1)
			ddir_time_join(b->u[i].t.c, lift, s->payload + i * coords, coords);
		key = ddir_deltas_key_room(probe, 8);
		row_pack(ROW(b->u[i].row.c[0]), key);
		ddir_deltas_close(probe, 8, 0, NULL, 1, i);
	}
	s->n = b->n;
}

/* Rows (key, val, val2, stream time...) at the payload. */
static void
collect(Bag *out, const DdirStream *s)
{
	for (uint32_t i = 0; i < s->n; i++)
	{
		Row			row = row_unpack(s->ref[0][i]);

		row.c[row.n++] = row_unpack(s->ref[1][i]).c[0];
		for (int c = 0; c < s->coords; c++)
			row.c[row.n++] = ddir_stream_time(s, i)[c];
		bag_add(out, row, s->coords > 1 ? s->payload + i * s->coords :
				ddir_stream_time(s, i), s->coords, s->diff[i]);
	}
}

static void
define(Bag *out, const Bag *stream, const uint64_t *lift, const Bag *other,
	   int coords, bool strict)
{
	for (int i = 0; i < stream->n; i++)
		for (int j = 0; j < other->n; j++)
		{
			const Update *a = &stream->u[i];
			const Update *b = &other->u[j];
			int			c = ddir_time_cmp(b->t.c, a->t.c, coords);
			DdirTime	p;
			Row			row = a->row;

			if (a->row.c[0] != b->row.c[0] || c > 0 || (strict && c == 0))
				continue;
			row.c[row.n++] = b->row.c[1];
			for (int k = 0; k < coords; k++)
				row.c[row.n++] = a->t.c[k];
			p = a->t;
			if (coords > 1)
				ddir_time_join(p.c, lift, p.c, coords);
			ddir_time_join(p.c, b->t.c, p.c, coords);
			bag_add(out, row, p.c, coords, a->diff * b->diff);
		}
}

/* never empty */
static void
random_bag(Bag *b, int n, int coords, uint32_t keys, uint32_t vals, uint32_t times)
{
	for (int i = 0; i < n; i++)
	{
		uint64_t	t[DDIR_COORDS_MAX];

		for (int c = 0; c < coords; c++)
			t[c] = unit_below(times);
		bag_add(b, ROW(unit_below(keys), unit_below(vals)), t, coords,
				unit_chance(1, 2) ? 1 : -1);
	}
	bag_tidy(b);
	if (b->n == 0)
		bag_add(b, ROW(0, 0), AT(1, 0, 0, 0), coords, 1);
}

/* Run the kernel from chunk to chunk, the output taken away when it is full. */
static void
run(DdirHalfJoin *h, DdirStream *out, Bag *got, int coords)
{
	static const uint64_t zero[DDIR_COORDS_MAX];
	bool		done;

	do
	{
		ddir_stream_start(out, 3, true, zero);
		done = ddir_half_join_next(h, out);
		CHECK(out->n <= DDIR_CHUNK_ROWS || coords > 1);
		collect(got, out);
	} while (!done);
}

/* Kernel = definition: many batches, both kinds, one to three coordinates. */
static void
kernel_is_definition(DdirArena *root)
{
	static const uint64_t cut[] = {0, 1, 2, 4, 5, 100};

	for (int round = 0; round < 120; round++)
	{
		int			coords = 1 + round % 3;
		bool		strict = round % 2;
		uint64_t	lift[DDIR_COORDS_MAX] = {unit_below(6), unit_below(6), unit_below(6)};
		Bag			stream = {0};
		Bag			other = {0};
		Bag			got = {0};
		Bag			want = {0};
		DdirSpine  *trace;
		DdirStream	in;
		DdirStream	out;
		DdirDeltas	probe;
		DdirHalfJoin h;

		random_bag(&stream, 1 + unit_below(20), coords, 4, 3, 6);
		random_bag(&other, unit_below(60), coords, 4, 5, 6);
		trace = trace_of(root, coords, &other, 5, cut);
		stream_of(&in, &probe, root, coords, &stream, lift);
		ddir_half_join_init(&h, root);
		ddir_half_join_begin(&h, &in, &probe, trace, 1,
							 strict ? DDIR_MEET_STRICT : DDIR_MEET_LAX);
		ddir_stream_init(&out, root, 2, coords);
		run(&h, &out, &got, coords);
		define(&want, &stream, lift, &other, coords, strict);
		CHECK(bag_equal(&got, &want, strict ? "strict" : "lax"));
		bag_free(&stream);
		bag_free(&other);
		bag_free(&got);
		bag_free(&want);
	}
}

/* Two sides whose vals are equal = one after the other, and compared. */
static void
both_sides(DdirArena *root)
{
	static const uint64_t cut[] = {0, 1, 2, 4, 5, 100};
	static const uint64_t zero[DDIR_COORDS_MAX];

	for (int round = 0; round < 120; round++)
	{
		int			coords = 1 + round % 2;
		Bag			stream = {0};
		Bag			side[2] = {{0}, {0}};
		Bag			got = {0};
		Bag			want = {0};
		DdirSpine  *trace[2];
		DdirStream	in;
		DdirStream	out;
		DdirDeltas	probe;
		DdirHalfJoin h;
		bool		done;

		random_bag(&stream, 1 + unit_below(12), coords, 3, 1, 5);
		/* one side may be far longer */
		random_bag(&side[0], unit_below(40), coords, 3, 30, 5);
		random_bag(&side[1], unit_below(round % 5 ? 40 : 600), coords, 3, 30, 5);
		for (int k = 0; k < 2; k++)
			trace[k] = trace_of(root, coords, &side[k], 5, cut);
		stream_of(&in, &probe, root, coords, &stream, zero);
		ddir_half_join_init(&h, root);
		in.nrel = 3;
		in.ref = ddir_realloc(root, in.ref, 3 * sizeof(DdirRef *));
		in.ref[2] = ddir_alloc0(root, in.cap * sizeof(DdirRef));
		ddir_half_join_begin(&h, &in, &probe, trace[0], 1, DDIR_MEET_STRICT);
		ddir_half_join_also(&h, &probe, trace[1], 2, DDIR_MEET_LAX);
		ddir_stream_init(&out, root, 3, coords);
		do
		{
			ddir_stream_start(&out, 7, true, zero);
			done = ddir_half_join_next(&h, &out);
			for (uint32_t i = 0; i < out.n; i++)
				CHECK(memcmp(out.ref[1][i].p, out.ref[2][i].p, 8) == 0);
			collect(&got, &out);
		} while (!done);

		for (int i = 0; i < stream.n; i++)
			for (int j = 0; j < side[0].n; j++)
				for (int k = 0; k < side[1].n; k++)
				{
					const Update *a = &stream.u[i];
					const Update *b = &side[0].u[j];
					const Update *c = &side[1].u[k];
					DdirTime	p;
					Row			row = a->row;

					if (a->row.c[0] != b->row.c[0] || a->row.c[0] != c->row.c[0] ||
						b->row.c[1] != c->row.c[1] ||
						ddir_time_cmp(b->t.c, a->t.c, coords) >= 0 ||
						ddir_time_cmp(c->t.c, a->t.c, coords) > 0)
						continue;
					row.c[row.n++] = b->row.c[1];
					for (int m = 0; m < coords; m++)
						row.c[row.n++] = a->t.c[m];
					ddir_time_join(a->t.c, b->t.c, p.c, coords);
					ddir_time_join(p.c, c->t.c, p.c, coords);
					bag_add(&want, row, p.c, coords, a->diff * b->diff * c->diff);
				}
		CHECK(bag_equal(&got, &want, "both sides"));
		bag_free(&stream);
		bag_free(&side[0]);
		bag_free(&side[1]);
		bag_free(&got);
		bag_free(&want);
	}
}

/* ----
 * Paths, at product times, in a graph
 * ----
 */

typedef struct World
{
	DdirArena  *arena;
	DdirGraph  *g;
	DdirNode   *source[2];
	DdirNode   *arr[2][3];
} World;

static DdirNode *
world_arrangement(void *ctx, int source, int keycol)
{
	World	   *w = ctx;

	if (w->arr[source][keycol] == NULL)
		w->arr[source][keycol] =
			ddir_arrange_create(w->g, "arr", w->source[source],
								proj_func(proj_whole(w->arena, keycol, 2)));
	return w->arr[source][keycol];
}

static void
world_init(World *w, DdirArena *root, int coords)
{
	memset(w, 0, sizeof(*w));
	w->arena = root;
	w->g = ddir_graph_create(root, coords);
	for (int s = 0; s < 2; s++)
		w->source[s] = ddir_source_create(w->g, "source");
}

/*
 * Two coordinates: rows of a step have any second one.  The output, as a set
 * of updates, is the join's by definition.
 */
static void
product_times(DdirArena *root)
{
	for (int round = 0; round < 40; round++)
	{
		World		w;
		int			coords = 1 + round % 3;
		int			nrel = 2 + unit_below(coords == 1 ? 3 : 2);
		JoinSpec	spec;
		Bag			history[2] = {{0}, {0}};
		Bag			want = {0};
		Catch		c = {{0}};
		DdirNode   *join;

		world_init(&w, root, coords);
		flow_seed(unit_random());
		flow_join_random(&spec, nrel, 2);
		join = flow_join_create(w.g, root, &spec, world_arrangement, &w, 0,
								small_join_create);
		ddir_sink_create(w.g, "out", join, catch_fns(&c));
		for (uint64_t tick = 1; tick < 9; tick++)
		{
			uint64_t	now[DDIR_COORDS_MAX] = {tick};

			ddir_graph_begin(w.g, now);
			for (int s = 0; s < 2; s++)
				for (int i = unit_below(6); i > 0; i--)
				{
					uint64_t	t[DDIR_COORDS_MAX] = {tick, unit_below(4), unit_below(3)};
					Update		u = {ROW(unit_below(3), unit_below(3))};
					Bag			one = {1, 1, &u};

					u.diff = unit_chance(1, 2) ? 1 : -1;
					flow_feed(w.source[s], 0, &one, t);
					bag_add(&history[s], u.row, t, coords, u.diff);
				}
			ddir_graph_finish(w.g);
			if (unit_chance(1, 3))
				ddir_graph_exert(w.g, 1000);
		}
		flow_join_brute(&spec, history, &want);
		CHECK(bag_equal(&c.rows, &want, "paths"));
		ddir_graph_destroy(w.g);
		bag_free(&history[0]);
		bag_free(&history[1]);
		bag_free(&want);
		catch_free(&c);
	}
}

/*
 * Drivers known whole are copies, which the next chunk takes the place of:
 * batches of several chunks, each row meeting so little that chunks on the way
 * do not fill.
 */
static void
copies_in_chunks(DdirArena *root)
{
	static const JoinSpec spec = {3, {0, 1, 1}, 2, {{{0, 0}, {1, 0}}, {{1, 1}, {2, 0}}}};

	for (int round = 0; round < 12; round++)
	{
		World		w;
		Bag			source[2] = {{0}, {0}};
		Bag			want = {0};
		Catch		c = {{0}};
		DdirNode   *join;

		world_init(&w, root, 1);
		flow_seed(unit_random());
		join = flow_join_create(w.g, root, &spec, world_arrangement, &w, round % 3,
								small_join_create);
		ddir_sink_create(w.g, "out", join, catch_fns(&c));
		for (uint64_t tick = 1; tick < 4; tick++)
		{
			Bag			change[2] = {{0}, {0}};

			for (uint64_t i = 0; i < 23; i++)
				bag_add(&change[0], ROW(i % 9, 100 * tick + i), &tick, 1, 1);
			for (uint64_t i = 0; i < 7; i++)
				bag_add(&change[1], ROW(3 * i + tick, i), &tick, 1, 1);
			ddir_graph_begin(w.g, &tick);
			for (int s = 0; s < 2; s++)
			{
				flow_feed(w.source[s], 0, &change[s], &tick);
				bag_add_all(&source[s], &change[s]);
				bag_free(&change[s]);
			}
			ddir_graph_finish(w.g);
		}
		flow_join_brute(&spec, source, &want);
		CHECK(want.n > 20);
		CHECK(bag_equal(&c.rows, &want, "copies"));
		ddir_graph_destroy(w.g);
		bag_free(&source[0]);
		bag_free(&source[1]);
		bag_free(&want);
		catch_free(&c);
	}
}

/*
 * Exactly one claimant: three positions, each one row at a point of a 3 x 3
 * grid, all 729 ways.
 */
static void
one_claimant(DdirArena *root)
{
	JoinSpec	spec = {3, {0, 0, 0}, 2, {{{0, 0}, {1, 0}}, {{1, 0}, {2, 0}}}};

	for (int way = 0; way < 729; way++)
	{
		World		w;
		DdirArena  *arena = ddir_arena_create(root, "way");
		uint64_t	now[DDIR_COORDS_MAX] = {0};
		Catch		c = {{0}};
		Bag			source[2] = {{0}, {0}};
		Bag			want = {0};
		DdirNode   *join;

		world_init(&w, arena, 2);
		join = flow_join_create(w.g, arena, &spec, world_arrangement, &w, 0,
								small_join_create);
		ddir_sink_create(w.g, "out", join, catch_fns(&c));
		ddir_graph_begin(w.g, now);
		ddir_graph_finish(w.g); /* no longer fresh */
		for (int r = 0, rest = way; r < 3; r++, rest /= 9)
		{
			uint64_t	t[2] = {1 + rest % 9 / 3, rest % 3};

			bag_add(&source[0], ROW(1, r), t, 2, 1);
		}
		now[0] = 3;
		ddir_graph_begin(w.g, now);
		for (int r = 0; r < 3; r++)
		{
			Bag			one = {1, 1, &source[0].u[r]};

			flow_feed(w.source[0], 0, &one, source[0].u[r].t.c);
		}
		ddir_graph_finish(w.g);
		flow_join_brute(&spec, source, &want);
		CHECK(bag_equal(&c.rows, &want, "claimants"));
		ddir_arena_destroy(arena);
		catch_free(&c);
		bag_free(&source[0]);
		bag_free(&want);
	}
}

/* ----
 * Known cases
 * ----
 */

static void
known_half_joins(DdirArena *root)
{
	static const uint64_t cut[] = {0, 100};
	static const uint64_t zero[DDIR_COORDS_MAX];
	Bag			a = {0};
	Bag			b = {0};
	Bag			got = {0};
	Bag			want = {0};

	/* A = {x+1@(0,2), x-1@(1,1)}, B = {y+1@(0,2), y+1@(2,0)} */
	bag_add(&a, ROW(1, 10), AT(0, 2), 2, 1);
	bag_add(&a, ROW(1, 10), AT(1, 1), 2, -1);
	bag_add(&b, ROW(1, 20), AT(0, 2), 2, 1);
	bag_add(&b, ROW(1, 20), AT(2, 0), 2, 1);
	for (int path = 0; path < 2; path++)
	{
		DdirStream	in;
		DdirStream	out;
		DdirDeltas	probe;
		DdirHalfJoin h;

		stream_of(&in, &probe, root, 2, path ? &b : &a, zero);
		ddir_half_join_init(&h, root);
		ddir_half_join_begin(&h, &in, &probe, trace_of(root, 2, path ? &a : &b, 1, cut),
							 1, path ? DDIR_MEET_STRICT : DDIR_MEET_LAX);
		ddir_stream_init(&out, root, 2, 2);
		run(&h, &out, &got, 2);
	}
	bag_add(&want, ROW(1, 10, 20, 0, 2), AT(0, 2), 2, 1);
	bag_add(&want, ROW(1, 10, 20, 1, 1), AT(1, 2), 2, -1);
	bag_add(&want, ROW(1, 20, 10, 2, 0), AT(2, 2), 2, 1);
	bag_add(&want, ROW(1, 20, 10, 2, 0), AT(2, 1), 2, -1);
	CHECK(bag_equal(&got, &want, "known"));
	bag_free(&a);
	bag_free(&b);
	bag_free(&got);
	bag_free(&want);
}

/* {x@(0,13)}, {y@(11,0)}: one output at (11,13).  Both at (5,5): one as well. */
static void
known_pairs(DdirArena *root)
{
	static const uint64_t cut[] = {0, 100};
	static const uint64_t zero[DDIR_COORDS_MAX];

	for (int same = 0; same < 2; same++)
	{
		Bag			side[2] = {{0}, {0}};
		Bag			got = {0};

		bag_add(&side[0], ROW(1, 10), same ? AT(5, 5) : AT(0, 13), 2, 1);
		bag_add(&side[1], ROW(1, 20), same ? AT(5, 5) : AT(11, 0), 2, 1);
		for (int path = 0; path < 2; path++)
		{
			DdirStream	in;
			DdirStream	out;
			DdirDeltas	probe;
			DdirHalfJoin h;

			stream_of(&in, &probe, root, 2, &side[path], zero);
			ddir_half_join_init(&h, root);
			ddir_half_join_begin(&h, &in, &probe,
								 trace_of(root, 2, &side[!path], 1, cut), 1,
								 path ? DDIR_MEET_STRICT : DDIR_MEET_LAX);
			ddir_stream_init(&out, root, 2, 2);
			run(&h, &out, &got, 2);
		}
		CHECK_EQ(got.n, 1);
		if (got.n == 1)
		{
			CHECK_EQ(got.u[0].t.c[0], same ? 5 : 11);
			CHECK_EQ(got.u[0].t.c[1], same ? 5 : 13);
		}
		bag_free(&side[0]);
		bag_free(&side[1]);
		bag_free(&got);
	}
}

/* ----
 * Compaction: one step behind is enough, and no step is not
 * ----
 */

typedef struct Counts
{
	int			cases;
	int			strict_at;
	int			lax_at;
	int			strict_behind;
	int			lax_behind;
} Counts;

/* Compare t2 with t beyond f, before and after advancing t2 by f or behind it. */
static void
count_frontier(Counts *n, const DdirFrontier *f, const DdirTime *grid, int points,
			   int coords)
{
	DdirFrontier behind;

	ddir_frontier_init(&behind, f->arena, coords);
	ddir_frontier_step_back(&behind, f);
	for (int i = 0; i < points; i++)
		for (int j = 0; j < points; j++)
		{
			const uint64_t *t = grid[i].c;
			DdirTime	at = grid[j];
			DdirTime	back = grid[j];
			int			c = ddir_time_cmp(grid[j].c, t, coords);

			if (!ddir_frontier_beyond(f, t))
				continue;
			ddir_frontier_advance(f, at.c);
			ddir_frontier_advance(&behind, back.c);
			n->cases++;
			n->strict_at += (c < 0) != (ddir_time_cmp(at.c, t, coords) < 0);
			n->lax_at += (c <= 0) != (ddir_time_cmp(at.c, t, coords) <= 0);
			n->strict_behind += (c < 0) != (ddir_time_cmp(back.c, t, coords) < 0);
			n->lax_behind += (c <= 0) != (ddir_time_cmp(back.c, t, coords) <= 0);
		}
	ddir_frontier_free(&behind);
}

/* All antichains of up to "most" points, each once. */
static void
count_antichains(Counts *n, DdirArena *arena, const DdirTime *grid, int points,
				 int coords, int most)
{
	int			pick[3];

	for (pick[0] = 0; pick[0] < points; pick[0]++)
		for (pick[1] = pick[0]; pick[1] < (most > 1 ? points : pick[0] + 1); pick[1]++)
			for (pick[2] = pick[1]; pick[2] < (most > 2 ? points : pick[1] + 1); pick[2]++)
			{
				DdirFrontier f;
				int			distinct = 1 + (pick[1] != pick[0]) + (pick[2] != pick[1]);

				/* one way to write each: repeats only at the end */
				if (pick[1] == pick[0] && pick[2] != pick[1])
					continue;
				ddir_frontier_init(&f, arena, coords);
				for (int k = 0; k < 3; k++)
					ddir_frontier_insert(&f, grid[pick[k]].c);
				if (f.n == distinct)
					count_frontier(n, &f, grid, points, coords);
				ddir_frontier_free(&f);
			}
}

static void
compaction(DdirArena *root)
{
	static const struct
	{
		int			coords,
					width,
					most;
		int			strict,
					lax,
					cases;
	}			known[] =

	{
		{1, 6, 1, 15, 0, 126},
		{2, 4, 3, 327, 81, 8800},
		{3, 3, 2, 2606, 1193, 55080},
	};

	for (int k = 0; k < 3; k++)
	{
		DdirTime	grid[64] = {{{0}}};
		int			points = 1;
		Counts		n = {0};

		for (int c = 0; c < known[k].coords; c++)
			points *= known[k].width;
		for (int i = 0; i < points; i++)
			for (int c = 0, rest = i; c < known[k].coords; c++, rest /= known[k].width)
				grid[i].c[c] = rest % known[k].width;
		count_antichains(&n, root, grid, points, known[k].coords, known[k].most);
		CHECK_EQ(n.cases, known[k].cases);
		CHECK_EQ(n.strict_at, known[k].strict);
		CHECK_EQ(n.lax_at, known[k].lax);
		CHECK_EQ(n.strict_behind, 0);
		CHECK_EQ(n.lax_behind, 0);
	}
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(kernel_is_definition),
		UNIT_CASE(both_sides),
		UNIT_CASE(product_times),
		UNIT_CASE(copies_in_chunks),
		UNIT_CASE(one_claimant),
		UNIT_CASE(known_half_joins),
		UNIT_CASE(known_pairs),
		UNIT_CASE(compaction),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
