/*-------------------------------------------------------------------------
 *
 * op_schedule.c
 *	  Schedule: what a function makes of a row and the clock.
 *
 * A row that comes is shown as the function has it at the clock of the step.
 * If that may change at a later instant, the row is kept in a trace by the next
 * one; when the clock passes it, what the row made at the clock before is taken
 * back and what it makes now is shown, and the row is kept by the instant that
 * follows, if there is one.  So a row costs as much as it changes, and nothing
 * while it does not:
 *
 *		clock 10	+(a, until 15)		shows a, keeps it by 15
 *		clock 12						nothing
 *		clock 17						takes a back, keeps nothing
 *
 * All of it is linear: a row taken back before its instant comes is found by
 * nobody, it cancels in the trace.  That is why instants must not depend on when
 * they are asked for.
 *
 * The trace is ordered by instant: the hash of a key of 8 bytes is a bijection
 * of them, and the key is what has the instant as its hash.  What is kept by
 * instants that the clock has passed sums up to nothing, so nobody reads it
 * again, and merges drop it.  Nobody asks what was kept before a step, so the
 * trace has no readers that would hold it back.
 *
 * Output is at the time of the step.  Memory: the trace; what is let out goes in
 * pieces, but for rows of one instant.
 *
 * src/engine/op_schedule.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op.h"

/* Rows looked at in one call. */
#define CALL_ROWS 512

/* Rows let out at once, unless more are of one instant. */
#define PIECE_ROWS (64 * 1024)

/* Rows of merging paid after a step, per row that came in it. */
#define EXERT_PER_ROW 4

typedef struct Schedule
{
	DdirNode	node;
	DdirScheduleFns fns;
	DdirSpine  *spine;
	int64_t		clock;			/* what is shown is as of */
	uint32_t	added;			/* rows of the last step's batch */
	DdirDeltas	pending;		/* to be kept: key, row */
	DdirDeltas	due;			/* being let out */
	DdirDeltas	out;
	DdirDeltas	err;
	DdirRef    *row;			/* of a call */
	int64_t    *instant;
	int64_t    *diff;
} Schedule;

/* Instants as numbers without sign that order as they do. */
static uint64_t
place_of(int64_t instant)
{
	return (uint64_t) instant ^ (UINT64_C(1) << 63);
}

static int64_t
instant_of(uint64_t place)
{
	return (int64_t) (place ^ (UINT64_C(1) << 63));
}

/* ----
 * The trace
 * ----
 */

/* The first row of a batch that is kept by an instant beyond this one. */
static uint32_t
first_beyond(const DdirBatch *b, int64_t instant)
{
	uint64_t	place = place_of(instant);
	uint32_t	lo = 0;
	uint32_t	hi = b->n;

	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;

		if (b->hash[mid] <= place)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The least instant kept beyond this one. */
static int64_t
instant_beyond(const Schedule *s, int64_t instant)
{
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	int			n = ddir_spine_batches(s->spine, list);
	int64_t		least = DDIR_NEVER;

	for (int i = 0; i < n; i++)
	{
		uint32_t	first = first_beyond(list[i], instant);

		if (first < list[i]->n && instant_of(list[i]->hash[first]) < least)
			least = instant_of(list[i]->hash[first]);
	}
	return least;
}

/* How many updates are kept by instants beyond "from" up to "to". */
static uint64_t
count_between(const Schedule *s, int64_t from, int64_t to)
{
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	int			n = ddir_spine_batches(s->spine, list);
	uint64_t	count = 0;

	for (int i = 0; i < n; i++)
		count += first_beyond(list[i], to) - first_beyond(list[i], from);
	return count;
}

/*
 * The greatest instant up to "to" with no more than so many updates kept
 * beyond "from" and up to it, or the first one there is.
 */
static int64_t
reach(const Schedule *s, int64_t from, int64_t to, uint64_t rows)
{
	int64_t		lo = instant_beyond(s, from);
	int64_t		hi = to;

	if (lo >= to || count_between(s, from, to) <= rows)
		return to;
	/* up to hi there are too many */
	while (lo + 1 < hi)
	{
		int64_t		mid = lo + (hi - lo) / 2;

		if (count_between(s, from, mid) <= rows)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static int64_t
schedule_reach(DdirNode *node, int64_t to, uint64_t rows)
{
	Schedule   *s = (Schedule *) node;

	return reach(s, s->clock, to, rows);
}

static void
schedule_begin(DdirNode *node)
{
	Schedule   *s = (Schedule *) node;

	memset(&s->pending.at, 0, sizeof(DdirTime));
	s->pending.at.c[0] = ddir_graph_now(node->graph)[0];
}

static void
keep(Schedule *s, int64_t instant, DdirRef row, int64_t diff)
{
	uint64_t	key = ddir_key_unmix(place_of(instant));

	ddir_deltas_push(&s->pending, &key, sizeof(key), row.p, row.len, NULL, diff);
}

/* ----
 * Rows
 * ----
 */

/* What a chunk of rows makes at this clock, sent on. */
static void
show(Schedule *s, const DdirBundle *chunk, int64_t clock)
{
	ddir_poll();
	memset(&s->out.at, 0, sizeof(DdirTime));
	s->out.at.c[0] = chunk->at[0];
	s->err.at = s->out.at;
	if (!s->fns.run(s->fns.ctx, chunk, clock, &s->out, &s->err))
		ddir_error(DDIR_ERROR_CALLBACK, "the function of a schedule failed");
	ddir_node_flush(&s->node, &s->out);
	ddir_node_flush_errors(&s->node, &s->err);
}

/* Keep the rows of a chunk by their instants beyond the clock. */
static void
keep_rows(Schedule *s, uint32_t n, const DdirRef *row, const int64_t *diff, int64_t clock)
{
	if (!s->fns.next(s->fns.ctx, n, row, clock, s->instant))
		ddir_error(DDIR_ERROR_CALLBACK, "the instants of a schedule failed");
	for (uint32_t i = 0; i < n; i++)
	{
		ddir_check(s->instant[i] > clock);
		if (s->instant[i] != DDIR_NEVER)
			keep(s, s->instant[i], row[i], diff[i]);
	}
}

static void
schedule_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	Schedule   *s = (Schedule *) node;
	int64_t		clock = ddir_graph_clock(node->graph);

	for (uint32_t i = 0; i < rows->n;)
	{
		const DdirBundle *slice = ddir_graph_slice(node->graph, rows, i);
		DdirBundle	chunk = *slice;
		const DdirRef *refs[1] = {s->row};

		/* emitting makes slices of its own */
		if (chunk.n > CALL_ROWS)
			chunk.n = CALL_ROWS;
		memcpy(s->row, slice->ref[0], chunk.n * sizeof(DdirRef));
		chunk.ref = refs;
		i += chunk.n;
		show(s, &chunk, clock);
		keep_rows(s, chunk.n, s->row, chunk.diff, clock);
	}
}

/* ----
 * Letting out
 * ----
 */

/* What is kept beyond "from" and up to "to", summed up. */
static void
gather(Schedule *s, int64_t from, int64_t to)
{
	DdirBatch  *list[DDIR_SPINE_BATCHES_MAX];
	int			n = ddir_spine_batches(s->spine, list);

	ddir_deltas_clear(&s->due);
	memset(&s->due.at, 0, sizeof(DdirTime));
	s->due.at.c[0] = ddir_graph_now(s->node.graph)[0];
	for (int b = 0; b < n; b++)
	{
		uint32_t	end = first_beyond(list[b], to);

		for (uint32_t i = first_beyond(list[b], from); i < end; i++)
		{
			uint64_t	room;
			DdirRef		key = ddir_batch_key(list[b], i, &room);
			DdirRef		row = ddir_batch_val(list[b], i);

			ddir_deltas_push(&s->due, key.p, key.len, row.p, row.len, NULL,
							 ddir_batch_diff(list[b], i));
		}
	}
	ddir_deltas_consolidate(&s->due);
}

/* Rows that were as of one clock become as of another. */
static void
let_out(Schedule *s, int64_t from, int64_t to, int64_t clock)
{
	gather(s, from, to);
	for (uint32_t i = 0; i < s->due.n;)
	{
		const DdirRef *refs[1] = {s->row};
		DdirBundle	chunk = {.nrel = 1,.coords = 1,.ref = refs,.at = s->due.at.c};

		while (chunk.n < CALL_ROWS && i + chunk.n < s->due.n)
		{
			s->row[chunk.n] = ddir_lane_ref(&s->due.val, i + chunk.n);
			s->diff[chunk.n] = -s->due.diff[i + chunk.n];
			keep(s, instant_of(s->due.hash[i + chunk.n]), s->row[chunk.n], s->diff[chunk.n]);
			chunk.n++;
		}
		chunk.diff = s->diff;
		show(s, &chunk, s->clock);
		chunk.diff = s->due.diff + i;
		show(s, &chunk, clock);
		keep_rows(s, chunk.n, s->row, chunk.diff, clock);
		i += chunk.n;
	}
}

static void
schedule_seal(DdirNode *node)
{
	Schedule   *s = (Schedule *) node;
	int64_t		clock = ddir_graph_clock(node->graph);
	DdirBatch  *batch;

	for (int64_t from = s->clock; from < clock;)
	{
		int64_t		to = reach(s, from, clock, PIECE_ROWS);

		let_out(s, from, to, clock);
		from = to;
	}
	s->clock = clock;

	batch = ddir_batch_build(node->arena, &s->pending, ddir_spine_upper(s->spine),
							 ddir_graph_upper(node->graph));
	s->added = batch->n;
	ddir_spine_insert(s->spine, batch);
}

static void
schedule_compact(DdirNode *node, const DdirFrontier *since)
{
	Schedule   *s = (Schedule *) node;
	int64_t		next;

	if (s->added > 0)
		ddir_spine_exert(s->spine, (int64_t) s->added * EXERT_PER_ROW);
	next = instant_beyond(s, s->clock);
	if (next != DDIR_NEVER)
		ddir_graph_expect(node->graph, next);
	ddir_node_trim(&s->pending);
	ddir_node_trim(&s->due);
	ddir_node_trim(&s->out);
	ddir_node_trim(&s->err);
}

static bool
schedule_exert(DdirNode *node, int64_t fuel)
{
	return ddir_spine_exert(((Schedule *) node)->spine, fuel);
}

static void
schedule_stats(const DdirNode *node, DdirNodeStats *out)
{
	const Schedule *s = (const Schedule *) node;

	out->rows = ddir_spine_rows(s->spine);
}

static const DdirNodeOps schedule_ops = {
	.name = "schedule",
	.begin = schedule_begin,
	.push = schedule_push,
	.seal = schedule_seal,
	.compact = schedule_compact,
	.exert = schedule_exert,
	.reach = schedule_reach,
	.stats = schedule_stats,
};

DdirNode *
ddir_schedule_create(DdirGraph *g, const char *label, DdirNode *in, DdirScheduleFns fns)
{
	Schedule   *s;
	DdirArena  *arena;

	ddir_check(ddir_graph_coords(g) == 1);
	s = (Schedule *) ddir_node_create(g, sizeof(Schedule), &schedule_ops, label, 1, &in);
	arena = s->node.arena;
	s->fns = fns;
	s->clock = ddir_graph_clock(g);
	s->spine = ddir_spine_create(arena, 1);
	ddir_deltas_init(&s->pending, arena, 1, true);
	ddir_deltas_init(&s->due, arena, 1, true);
	ddir_deltas_init(&s->out, arena, 1, false);
	ddir_deltas_init(&s->err, arena, 1, false);
	s->row = ddir_alloc(arena, CALL_ROWS * sizeof(DdirRef));
	s->instant = ddir_alloc(arena, CALL_ROWS * sizeof(int64_t));
	s->diff = ddir_alloc(arena, CALL_ROWS * sizeof(int64_t));
	return ddir_node_complete(&s->node);
}
