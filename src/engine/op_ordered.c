/*-------------------------------------------------------------------------
 *
 * op_ordered.c
 *	  Ordered: functions of a row's place in the order of its key's rows.
 *
 * The rows are in an arrangement whose vals begin with bytes that order them;
 * rows that have these in common are *peers*.  What is made of a row depends
 * on three things: a state of all rows in front of its peers (a count, a sum),
 * the peers, and so many rows just in front of them ("back") and behind them
 * ("ahead").  The function is given peers at a time.
 *
 * Now and then along a key's rows the state is kept: a *mark*.  When a step is
 * sealed, the rows are replayed from a mark in front of the first change, as
 * they were and as they are, side by side; what both make is netted.
 *
 *		marks		|            |            |            |
 *		rows		. . . . . . . . . . . . x . . . . . . . . .
 *		replayed	             -------------->
 *
 * It ends at a mark where the last change is further behind than "back" rows,
 * and both states are the same again: what follows is what it was.  For a function that only
 * looks around it that is soon; row numbers behind an insertion are all
 * others, and the replay goes to the end, as does the output.  The replay
 * begins so far in front of the change that what looks ahead is in it; rows
 * in front of that look different from what they are, in both, and net.
 *
 * Where changes are far apart there is a replay for each of them, if the one
 * before has ended before the next one begins.
 *
 * Marks in the stretch replayed are made anew.  Output is at the time of the
 * step.
 *
 * Memory: the marks of keys that have many rows; of a replay, the rows between
 * "back" and "ahead" of peers, and what was made of them, until it is netted.
 *
 * src/engine/op_ordered.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/groups.h"
#include "engine/op.h"

/* Rows between marks, at least. */
#define MARK_ROWS 64

/* Output is netted when there is so much of it and both replays are level. */
#define NET_ROWS (64 * 1024)

/* The state of all rows that order before these bytes. */
typedef struct Mark
{
	uint8_t    *bytes;			/* of the order, then the state */
	uint32_t	len;			/* of the order */
	uint32_t	gap;			/* rows between the mark before and this one */
} Mark;

/* The marks of a key, in order: a group's state. */
typedef struct Marks
{
	Mark	   *mark;
	uint32_t	n;
	uint32_t	cap;
} Marks;

typedef struct Ordered Ordered;

/* A key's rows being replayed. */
typedef struct Replay
{
	Ordered    *ordered;
	DdirCursor *cursor;
	int64_t		diff;			/* of what is made */
	bool		more;			/* the cursor may have rows */
	DdirRef    *row;
	uint32_t	cap;
	uint32_t	begin;			/* of the peers at hand */
	uint32_t	peers;			/* behind the last of them; none: the end */
	uint32_t	n;				/* rows held */
	DdirRef		order;			/* of the peers */
	uint8_t    *state;			/* in front of them */
	uint8_t    *next;			/* behind them, once they are done */
} Replay;

struct Ordered
{
	DdirNode	node;
	DdirOrderedFns fns;
	uint32_t	around;			/* back + ahead */
	DdirGroups	groups;
	DdirCursor	was_cursor;
	DdirCursor	is_cursor;
	Replay		was;
	Replay		is;
	Marks		fresh;			/* made in this replay */
	DdirDeltas	out;
};

/* ----
 * Marks
 * ----
 */

static int
mark_cmp(const Mark *mark, DdirRef order)
{
	return ddir_bytes_cmp(mark->bytes, mark->len, order.p, order.len);
}

/* How many marks are at or in front of these bytes. */
static uint32_t
marks_up_to(const Marks *marks, DdirRef order)
{
	uint32_t	lo = 0;
	uint32_t	hi = marks->n;

	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;

		if (mark_cmp(&marks->mark[mid], order) <= 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void
marks_reserve(Ordered *ordered, Marks *marks, uint32_t n)
{
	uint32_t	cap = marks->cap ? marks->cap : 4;

	if (n <= marks->cap)
		return;
	while (cap < n)
		cap *= 2;
	marks->mark = ddir_realloc(ordered->node.arena, marks->mark, cap * sizeof(Mark));
	marks->cap = cap;
}

static void
mark_add(Ordered *ordered, DdirRef order, const uint8_t *state, uint32_t gap)
{
	Marks	   *marks = &ordered->fresh;
	Mark	   *mark;

	marks_reserve(ordered, marks, marks->n + 1);
	mark = &marks->mark[marks->n];
	mark->bytes = ddir_alloc(ordered->node.arena, order.len + ordered->fns.state_size);
	mark->len = order.len;
	mark->gap = gap;
	memcpy(mark->bytes, order.p, order.len);
	memcpy(mark->bytes + order.len, state, ordered->fns.state_size);
	marks->n++;
}

/* The new marks take the place of those from number "from" to "to" - 1. */
static void
marks_replace(Ordered *ordered, Marks *marks, uint32_t from, uint32_t to)
{
	Marks	   *fresh = &ordered->fresh;
	uint32_t	rest = marks->n - to;

	marks_reserve(ordered, marks, from + fresh->n + rest);
	for (uint32_t i = from; i < to; i++)
		ddir_free(marks->mark[i].bytes);
	if (rest > 0)
		memmove(&marks->mark[from + fresh->n], &marks->mark[to], rest * sizeof(Mark));
	if (fresh->n > 0)
		memcpy(&marks->mark[from], fresh->mark, fresh->n * sizeof(Mark));
	marks->n = from + fresh->n + rest;
	fresh->n = 0;
}

/*
 * How many marks are in front of where the replay for a change begins: at the
 * last of them, or at the beginning.
 */
static uint32_t
marks_in_front(const Ordered *ordered, const Marks *marks, DdirRef order)
{
	uint32_t	n = marks_up_to(marks, order);
	uint64_t	rows = 0;

	for (; n > 0 && rows < ordered->around; n--)
		rows += marks->mark[n - 1].gap;
	return n;
}

/* ----
 * Replays
 * ----
 */

static DdirRef
order_of(const Ordered *ordered, DdirRef val)
{
	DdirRef		order = {val.p, ordered->fns.order(ordered->fns.ctx, val)};

	if (order.len > val.len)
		ddir_error(DDIR_ERROR_INTERNAL, "malformed order in an arrangement");
	return order;
}

static bool
same_order(DdirRef a, DdirRef b)
{
	return ddir_bytes_cmp(a.p, a.len, b.p, b.len) == 0;
}

/* Hold one more val, all copies of it. */
static bool
replay_read(Replay *r)
{
	DdirRef		val;
	int64_t		copies;

	if (!r->more || !ddir_cursor_next(r->cursor, &val, &copies))
	{
		r->more = false;
		return false;
	}
	if (copies < 0)
		ddir_error(DDIR_ERROR_NEGATIVE, "operator \"%s\": a row is there %lld times",
				   r->ordered->node.label, (long long) copies);
	if (copies > UINT32_MAX / 2 - r->n)
		ddir_error(DDIR_ERROR_MEMORY, "operator \"%s\": a row is there %lld times",
				   r->ordered->node.label, (long long) copies);
	if (r->n + copies > r->cap)
	{
		uint32_t	cap = r->cap ? r->cap : 256;

		while (cap < r->n + copies)
			cap *= 2;
		r->row = ddir_realloc(r->ordered->node.arena, r->row, cap * sizeof(DdirRef));
		r->cap = cap;
	}
	for (; copies > 0; copies--)
		r->row[r->n++] = val;
	return true;
}

/* Find the peers that begin at "begin", and rows enough behind them. */
static void
replay_fill(Replay *r)
{
	Ordered    *ordered = r->ordered;

	r->peers = r->begin;
	if (r->begin == r->n && !replay_read(r))
		return;
	r->order = order_of(ordered, r->row[r->begin]);
	for (;;)
	{
		while (r->peers < r->n && same_order(order_of(ordered, r->row[r->peers]), r->order))
			r->peers++;
		if (r->peers < r->n || !replay_read(r))
			break;
	}
	while (r->n - r->peers < ordered->fns.ahead && replay_read(r))
		;
}

/* Begin at a mark, or with the first row; with no cursor there are no rows. */
static void
replay_start(Replay *r, DdirCursor *cursor, const DdirBatch *batch, uint32_t i, const Mark *mark)
{
	Ordered    *ordered = r->ordered;
	uint64_t	room;
	DdirRef		key = ddir_batch_key(batch, i, &room);

	r->cursor = cursor;
	r->more = cursor != NULL;
	r->begin = r->n = 0;
	memset(r->state, 0, ordered->fns.state_size);
	if (cursor)
		ddir_cursor_seek(cursor, batch->hash[i], key.p, key.len);
	if (mark)
	{
		memcpy(r->state, mark->bytes + mark->len, ordered->fns.state_size);
		if (cursor)
			ddir_cursor_seek_val(cursor, mark->bytes, mark->len);
	}
	replay_fill(r);
}

static bool
replay_ended(const Replay *r)
{
	return r->peers == r->begin;
}

/* Do the peers at hand, and go to the next ones. */
static void
replay_peers(Replay *r)
{
	Ordered    *ordered = r->ordered;
	DdirPeers	peers = {
		.row = &r->row[r->begin],
		.n = r->peers - r->begin,
		.before = r->begin < ordered->fns.back ? r->begin : ordered->fns.back,
		.behind = r->n - r->peers < ordered->fns.ahead ? r->n - r->peers : ordered->fns.ahead
	};
	uint8_t    *state = r->state;

	if (!ordered->fns.run(ordered->fns.ctx, &peers, r->state, r->next, r->diff, &ordered->out))
		ddir_error(DDIR_ERROR_CALLBACK, "the functions of a window failed");
	r->state = r->next;
	r->next = state;
	r->begin = r->peers;

	/* let go of rows that are too far in front */
	if (r->begin > 1024 && r->begin > 2 * ordered->fns.back)
	{
		uint32_t	gone = r->begin - ordered->fns.back;

		memmove(r->row, r->row + gone, (r->n - gone) * sizeof(DdirRef));
		r->n -= gone;
		r->begin -= gone;
	}
	replay_fill(r);
}

/* ----
 * Sealing
 * ----
 */

static void
net(Ordered *ordered)
{
	ddir_poll();
	ddir_deltas_consolidate(&ordered->out);
	ddir_node_flush(&ordered->node, &ordered->out);
	memset(&ordered->out.at, 0, sizeof(ordered->out.at));
	ordered->out.at.c[0] = ddir_graph_now(ordered->node.graph)[0];
}

/* Where both replays are: at the lesser order of the two. */
static DdirRef
place_of(const Replay *was, const Replay *is)
{
	if (replay_ended(was))
		return is->order;
	if (replay_ended(is))
		return was->order;
	return ddir_bytes_cmp(was->order.p, was->order.len, is->order.p, is->order.len) < 0 ?
		was->order : is->order;
}

/*
 * Replay from in front of change i; the first change that was not met.  Changes
 * are rows i to end - 1 of the batch.
 */
static uint32_t
replay_change(Ordered *ordered, Marks *marks, const DdirBatch *batch, uint32_t i, uint32_t end)
{
	Replay	   *was = &ordered->was;
	Replay	   *is = &ordered->is;
	DdirRef		change = order_of(ordered, ddir_batch_val(batch, i));
	uint32_t	from = marks_in_front(ordered, marks, change);
	const Mark *mark = from > 0 ? &marks->mark[from - 1] : NULL;
	uint32_t	to = marks->n;
	uint32_t	gap = 0;		/* rows since a mark */
	uint64_t	passed = 0;		/* rows since a change */
	bool		met = false;	/* any change */
	DdirRef		before = {NULL, 0}; /* the place before */

	replay_start(was, ordered->node.fresh ? NULL : &ordered->was_cursor, batch, i, mark);
	replay_start(is, &ordered->is_cursor, batch, i, mark);
	for (;;)
	{
		DdirRef		place;
		bool		changed;
		bool		do_was;
		bool		do_is;

		if (replay_ended(was) && replay_ended(is))
		{
			i = end;
			break;
		}
		place = place_of(was, is);
		for (; i < end && ddir_bytes_cmp(change.p, change.len, place.p, place.len) < 0; i++)
			if (i + 1 < end)
				change = order_of(ordered, ddir_batch_val(batch, i + 1));
		changed = i < end && same_order(change, place);

		/* nothing that follows is different, or it is for the next one */
		if (met && !changed && passed >= ordered->fns.back &&
			memcmp(was->state, is->state, ordered->fns.state_size) == 0)
		{
			uint32_t	n = marks_up_to(marks, place);

			if (n > from && mark_cmp(&marks->mark[n - 1], before) > 0 &&
				(i == end || marks_in_front(ordered, marks, change) >= n))
			{
				to = n - 1;
				marks->mark[to].gap = gap;
				break;
			}
		}

		do_was = !replay_ended(was) && same_order(was->order, place);
		do_is = !replay_ended(is) && same_order(is->order, place);
		if (do_is && gap >= MARK_ROWS)
		{
			mark_add(ordered, place, is->state, gap);
			gap = 0;
		}
		met = met || changed;
		passed = changed ? 0 : passed + (is->peers - is->begin);
		if (do_is)
			gap += is->peers - is->begin;
		if (do_was)
			replay_peers(was);
		if (do_is)
			replay_peers(is);
		before = place;
		if (ordered->out.n >= NET_ROWS)
			net(ordered);
	}
	marks_replace(ordered, marks, from, to);
	return i;
}

static void
seal_key(Ordered *ordered, const DdirBatch *batch, uint32_t i, uint32_t end)
{
	uint64_t	room;
	DdirRef		key = ddir_batch_key(batch, i, &room);
	DdirGroupEntry *entry = ddir_groups_find(&ordered->groups, batch->hash[i], key, key,
											 NULL, NULL);
	Marks	   *marks = entry->group.state;

	while (i < end)
		i = replay_change(ordered, marks, batch, i, end);
	if (marks->n == 0)
	{
		ddir_free(marks->mark);
		ddir_groups_drop(&ordered->groups, entry);
	}
}

static void
ordered_seal(DdirNode *node)
{
	Ordered    *ordered = (Ordered *) node;
	const DdirSpine *trace = ddir_arrange_spine(node->in[0]);
	const DdirBatch *batch = ddir_arrange_only_batch(node);
	uint32_t	end;

	if (batch == NULL)
		return;
	memset(&ordered->out.at, 0, sizeof(ordered->out.at));
	ordered->out.at.c[0] = ddir_graph_now(node->graph)[0];
	ddir_graph_cursor_before(node->graph, &ordered->was_cursor, trace);
	ddir_graph_cursor_now(node->graph, &ordered->is_cursor, trace);
	for (uint32_t i = 0; i < batch->n; i = end)
	{
		end = ddir_batch_key_end(batch, i);
		ddir_poll();
		seal_key(ordered, batch, i, end);
	}
	net(ordered);
}

static void
ordered_compact(DdirNode *node, const DdirFrontier *since)
{
	Ordered    *ordered = (Ordered *) node;

	ddir_node_trim(&ordered->out);
	for (int k = 0; k < 2; k++)
	{
		Replay	   *r = k ? &ordered->was : &ordered->is;

		if (r->cap <= NET_ROWS)
			continue;
		ddir_free(r->row);
		r->row = NULL;
		r->cap = r->n = r->begin = r->peers = 0;
	}
}

static void
count_marks(DdirGroupEntry *entry, void *rows)
{
	*(uint64_t *) rows += ((Marks *) entry->group.state)->n;
}

static void
ordered_stats(const DdirNode *node, DdirNodeStats *out)
{
	const Ordered *ordered = (const Ordered *) node;

	out->rows = 0;
	ddir_groups_each((DdirGroups *) &ordered->groups, count_marks, &out->rows);
}

static const DdirNodeOps ordered_ops = {
	.name = "ordered",
	.push = ddir_arrange_pushes,
	.seal = ordered_seal,
	.compact = ordered_compact,
	.stats = ordered_stats,
};

DdirNode *
ddir_ordered_create(DdirGraph *g, const char *label, DdirNode *arrange, DdirOrderedFns fns)
{
	Ordered    *ordered;
	DdirArena  *arena;

	ddir_check(ddir_graph_coords(g) == 1);
	(void) ddir_arrange_spine(arrange);
	ordered = (Ordered *) ddir_node_create(g, sizeof(Ordered), &ordered_ops, label, 1, &arrange);
	arena = ordered->node.arena;
	ordered->fns = fns;
	ordered->around = fns.back + fns.ahead;
	ddir_groups_init(&ordered->groups, arena, sizeof(Marks));
	ddir_deltas_init(&ordered->out, arena, 1, false);
	for (int k = 0; k < 2; k++)
	{
		Replay	   *r = k ? &ordered->was : &ordered->is;

		r->ordered = ordered;
		r->diff = k ? -1 : 1;
		r->state = ddir_alloc0(arena, fns.state_size + 1);
		r->next = ddir_alloc0(arena, fns.state_size + 1);
	}
	return ddir_node_complete(&ordered->node);
}
