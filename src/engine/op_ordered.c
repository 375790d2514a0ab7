/*-------------------------------------------------------------------------
 *
 * op_ordered.c
 *	  Ordered: functions of a row's place in the order of its key's rows.
 *
 * The rows are in an arrangement whose vals begin with bytes that order them;
 * rows that have these in common are *peers*.  They are walked along, peers at a
 * time, and other places go along with them: the ends of a frame, say, one of
 * them behind and one ahead.  A place only goes forward, so what is kept of
 * what it passed - a count, a sum of what one end of the frame passed less
 * what the other did - is a *state*, and with it a walk can begin anywhere.
 *
 * Now and then along a key's rows state and places are kept: a *mark*.  When a
 * step is sealed, the rows are replayed from a mark in front of the first
 * change, as they were and as they are, side by side; what both make is netted.
 *
 *		marks		|            |            |            |
 *		rows		. . . . . . . . . . . . x . . . . . . . . .
 *		replayed	             -------------->
 *
 * A replay begins at the last mark that knows nothing of the change: no place had
 * looked at it, nor so far that it would have seen it.  So rows in front of
 * the mark are what they were.  The replay ends at a mark where all places are behind
 * the last change, and state and places are those of the mark: what
 * follows is what it was.  For a function that only looks around it that is
 * soon; row numbers behind an insertion are all others, and the replay goes to
 * the end, as does the output.
 *
 * Where changes are far apart there is a replay for each of them, if the one
 * before has ended before the next one begins.
 *
 * Marks in the stretch replayed are made anew.  Output is at the time of the
 * step.
 *
 * Memory: the marks of keys that have many rows; of a replay, the peers at hand, and
 * what was made of them, until it is netted.
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

/*
 * Between some peers and the next ones.  Its bytes are the last of the peers,
 * beginning with their order; what places had seen; and places and state.
 */
typedef struct Mark
{
	uint8_t    *bytes;
	uint32_t	order;			/* length of the peers' order */
	uint32_t	last;			/* of the row */
	uint32_t	seen;			/* of the greatest order seen, behind that */
	bool		ended;			/* the end of the key was seen */
	size_t		len;
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
	int64_t		diff;			/* of what is made */
	DdirSpot	self;			/* behind the peers at hand */
	DdirSpot   *place;
	void	   *state;			/* in front of them */
	DdirRef    *row;			/* the peers; n = 0: the end */
	uint32_t	n;
	uint32_t	cap;
	DdirRef		order;			/* of the peers */
	DdirRef		before;
} Replay;

struct Ordered
{
	DdirNode	node;
	DdirOrderedFns fns;
	DdirGroups	groups;
	DdirCursor	was_cursor;
	DdirCursor	is_cursor;
	Replay		was;
	Replay		is;
	Marks		fresh;			/* made in this replay */
	DdirBytes	saved;
	DdirDeltas	out;
	DdirDeltas	err;
};

static DdirRef
order_of(const DdirOrderedFns *fns, DdirRef val)
{
	DdirRef		order = {val.p, fns->order(fns->ctx, val)};

	if (order.len > val.len)
		ddir_error(DDIR_ERROR_INTERNAL, "malformed order in an arrangement");
	return order;
}

static int
ref_cmp(DdirRef a, DdirRef b)
{
	return ddir_bytes_cmp(a.p, a.len, b.p, b.len);
}

/* ----
 * Places
 * ----
 */

bool
ddir_spot_peek(DdirSpot *place, DdirRef *row)
{
	if (place->left == 0)
	{
		if (place->ended || !ddir_cursor_next(&place->cursor, &place->next, &place->left))
		{
			place->left = 0;
			place->ended = true;
			return false;
		}
		if (place->left < 0)
			ddir_error(DDIR_ERROR_NEGATIVE, "a row in an order is there %lld times",
					   (long long) place->left);
		place->next_order = order_of(place->fns, place->next);
	}
	*row = place->next;
	return true;
}

int64_t
ddir_spot_group(const DdirSpot *place)
{
	ddir_assert(place->left > 0);
	if (place->last.p != NULL && ref_cmp(place->last_order, place->next_order) == 0)
		return place->groups;
	return place->groups + 1;
}

void
ddir_spot_pass(DdirSpot *place)
{
	ddir_assert(place->left > 0);
	place->groups = ddir_spot_group(place);
	place->last = place->next;
	place->last_order = place->next_order;
	place->rows++;
	place->left--;
}

void
ddir_spot_copy(DdirSpot *to, const DdirSpot *from)
{
	memcpy(to, from, offsetof(DdirSpot, cursor));
	ddir_cursor_copy(&to->cursor, &from->cursor);
}

/* In front of all rows; with no cursor there are none. */
static void
place_start(DdirSpot *place, const DdirCursor *cursor)
{
	place->last.p = NULL;
	place->last.len = 0;
	place->rows = 0;
	place->groups = -1;
	place->left = 0;
	place->ended = cursor == NULL;
	if (cursor)
		ddir_cursor_copy(&place->cursor, cursor);
}

/* Behind so many copies of this row, all but "left" of them. */
static void
place_resume(DdirSpot *place, DdirRef last, int64_t left)
{
	DdirRef		row;

	if (last.len == 0)
		return;
	ddir_cursor_seek_val(&place->cursor, last.p, last.len);
	if (!ddir_spot_peek(place, &row) || ref_cmp(row, last) != 0 || place->left <= left)
		ddir_error(DDIR_ERROR_INTERNAL, "a mark is not in its arrangement");
	place->last = row;
	place->last_order = place->next_order;
	place->left = left;
}

/* Copies left of the row passed last. */
static int64_t
left_of_last(const DdirSpot *place)
{
	return place->left > 0 && place->last.p == place->next.p ? place->left : 0;
}

static void
place_save(const DdirSpot *place, DdirBytes *to)
{
	int64_t		left = left_of_last(place);

	ddir_bytes_put(to, &place->rows, sizeof(place->rows));
	ddir_bytes_put(to, &place->groups, sizeof(place->groups));
	ddir_bytes_put(to, &left, sizeof(left));
	ddir_bytes_put(to, &place->last.len, sizeof(place->last.len));
	ddir_bytes_put(to, place->last.p, place->last.len);
}

static void
place_load(DdirSpot *place, const uint8_t **from)
{
	DdirRef		last;
	int64_t		left;

	ddir_bytes_take(from, &place->rows, sizeof(place->rows));
	ddir_bytes_take(from, &place->groups, sizeof(place->groups));
	ddir_bytes_take(from, &left, sizeof(left));
	ddir_bytes_take(from, &last.len, sizeof(last.len));
	last.p = *from;
	*from += last.len;
	if (!place->ended)
		place_resume(place, last, left);
}

/* ----
 * Replays
 * ----
 */

/* Find the next peers. */
static void
replay_fill(Replay *r)
{
	Ordered    *ordered = r->ordered;
	DdirRef		row;

	r->n = 0;
	r->before = r->self.last;
	while (ddir_spot_peek(&r->self, &row))
	{
		if (r->n == 0)
			r->order = r->self.next_order;
		else if (ddir_spot_group(&r->self) != r->self.groups)
			break;
		if (r->n == r->cap)
		{
			uint32_t	cap = r->cap ? 2 * r->cap : 256;

			if (cap < r->cap)
				ddir_error(DDIR_ERROR_MEMORY, "operator \"%s\": too many rows in one place",
						   ordered->node.label);
			r->row = ddir_realloc(ordered->node.arena, r->row, cap * sizeof(DdirRef));
			r->cap = cap;
		}
		ddir_spot_pass(&r->self);
		r->row[r->n++] = row;
	}
}

/* Begin at a mark, or with the first row; with no cursor there are no rows. */
static void
replay_start(Replay *r, DdirCursor *cursor, const DdirBatch *batch, uint32_t i, const Mark *mark)
{
	const DdirOrderedFns *fns = &r->ordered->fns;
	uint64_t	room;
	DdirRef		key = ddir_batch_key(batch, i, &room);
	const uint8_t *from = mark ? mark->bytes + mark->last + mark->seen : NULL;

	if (cursor)
		ddir_cursor_seek(cursor, batch->hash[i], key.p, key.len);
	place_start(&r->self, cursor);
	for (int k = 0; k < fns->nplaces; k++)
		place_start(&r->place[k], cursor);
	if (mark)
	{
		DdirRef		last = {mark->bytes, mark->last};

		if (cursor)
			place_resume(&r->self, last, 0);
		for (int k = 0; k < fns->nplaces; k++)
			place_load(&r->place[k], &from);
	}
	if (!fns->load(fns->ctx, r->state, from, mark ? mark->bytes + mark->len - from : 0))
		ddir_error(DDIR_ERROR_CALLBACK, "the functions of a window failed");
	replay_fill(r);
}

static bool
replay_ended(const Replay *r)
{
	return r->n == 0;
}

/* Do the peers at hand, and go to the next ones. */
static void
replay_peers(Replay *r)
{
	Ordered    *ordered = r->ordered;
	const DdirOrderedFns *fns = &ordered->fns;
	DdirPeers	peers = {.row = r->row,.n = r->n,.before = r->before};

	if (!ddir_spot_peek(&r->self, &peers.behind))
		peers.behind.p = NULL;
	if (!fns->run(fns->ctx, &peers, r->place, r->state, r->diff, &ordered->out, &ordered->err))
		ddir_error(DDIR_ERROR_CALLBACK, "the functions of a window failed");
	for (int k = 0; k < fns->nplaces; k++)
	{
		r->place[k].rows -= r->n;
		r->place[k].groups--;
	}
	replay_fill(r);
}

/* ----
 * Marks
 * ----
 */

static DdirRef
mark_order(const Mark *mark)
{
	DdirRef		order = {mark->bytes, mark->order};

	return order;
}

/* Were neither this order nor any behind it seen from in front of the mark? */
static bool
mark_is_before(const Mark *mark, DdirRef order)
{
	DdirRef		seen = {mark->bytes + mark->last, mark->seen};

	return !mark->ended && ref_cmp(mark_order(mark), order) < 0 && ref_cmp(seen, order) < 0;
}

/* How many marks are before a change: a replay for it begins at the last of them. */
static uint32_t
marks_before(const Marks *marks, DdirRef change)
{
	uint32_t	lo = 0;
	uint32_t	hi = marks->n;

	while (lo < hi)
	{
		uint32_t	mid = lo + (hi - lo) / 2;

		if (mark_is_before(&marks->mark[mid], change))
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

/* Places and state behind some peers, into "saved". */
static void
save(Ordered *ordered, const Replay *r)
{
	const DdirOrderedFns *fns = &ordered->fns;

	for (int k = 0; k < fns->nplaces; k++)
		place_save(&r->place[k], &ordered->saved);
	if (!fns->save(fns->ctx, r->state, &ordered->saved))
		ddir_error(DDIR_ERROR_CALLBACK, "the functions of a window failed");
}

/* Behind the peers of this order; the next ones are at hand. */
static void
mark_add(Ordered *ordered, const Replay *r, DdirRef order)
{
	Marks	   *marks = &ordered->fresh;
	DdirRef		seen = order;
	Mark		mark = {.order = order.len,.last = r->before.len};

	for (int k = 0; k < ordered->fns.nplaces; k++)
	{
		const DdirSpot *place = &r->place[k];
		DdirRef		far = place->left > 0 ? place->next_order : place->last_order;

		mark.ended = mark.ended || place->ended;
		if ((place->left > 0 || place->last.p != NULL) && ref_cmp(far, seen) > 0)
			seen = far;
	}
	mark.seen = seen.len;
	ordered->saved.len = 0;
	ddir_bytes_put(&ordered->saved, r->before.p, r->before.len);
	ddir_bytes_put(&ordered->saved, seen.p, seen.len);
	save(ordered, r);
	mark.len = ordered->saved.len;
	marks_reserve(ordered, marks, marks->n + 1);
	mark.bytes = ddir_alloc(ordered->node.arena, mark.len);
	memcpy(mark.bytes, ordered->saved.p, mark.len);
	marks->mark[marks->n++] = mark;
}

/*
 * Is what follows what it was?  All places must be behind the last change, and
 * places and state be those of a mark that was made here.
 */
static bool
mark_is_met(Ordered *ordered, const Mark *mark, const Replay *r, DdirRef change)
{
	size_t		skip = mark->last + mark->seen;

	for (int k = 0; k < ordered->fns.nplaces; k++)
	{
		const DdirSpot *place = &r->place[k];

		if (place->last.p == NULL || ref_cmp(place->last_order, change) <= 0)
			return false;
	}
	ordered->saved.len = 0;
	save(ordered, r);
	return ordered->saved.len == mark->len - skip &&
		memcmp(ordered->saved.p, mark->bytes + skip, mark->len - skip) == 0;
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

/* ----
 * Sealing
 * ----
 */

static void
set_time(const Ordered *ordered, DdirDeltas *d)
{
	memset(&d->at, 0, sizeof(d->at));
	d->at.c[0] = ddir_graph_now(ordered->node.graph)[0];
}

static void
net(Ordered *ordered)
{
	ddir_poll();
	ddir_deltas_consolidate(&ordered->out);
	ddir_deltas_consolidate(&ordered->err);
	ddir_node_flush_errors(&ordered->node, &ordered->err);
	ddir_node_flush(&ordered->node, &ordered->out);
	set_time(ordered, &ordered->out);
	set_time(ordered, &ordered->err);
}

/* Where both replays are: at the lesser order of the two. */
static DdirRef
place_of(const Replay *was, const Replay *is)
{
	if (replay_ended(was))
		return is->order;
	if (replay_ended(is))
		return was->order;
	return ref_cmp(was->order, is->order) < 0 ? was->order : is->order;
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
	DdirRef		change = order_of(&ordered->fns, ddir_batch_val(batch, i));
	DdirRef		met = {NULL, 0};	/* the last change behind both */
	uint32_t	from = marks_before(marks, change);
	const Mark *mark = from > 0 ? &marks->mark[from - 1] : NULL;
	uint32_t	to = from;
	uint32_t	gap = 0;		/* rows since a mark */

	replay_start(was, ordered->node.fresh ? NULL : &ordered->was_cursor, batch, i, mark);
	replay_start(is, &ordered->is_cursor, batch, i, mark);
	while (!replay_ended(was) || !replay_ended(is))
	{
		DdirRef		place = place_of(was, is);
		bool		do_was = !replay_ended(was) && ref_cmp(was->order, place) == 0;
		bool		do_is = !replay_ended(is) && ref_cmp(is->order, place) == 0;

		for (; i < end && ref_cmp(change, place) <= 0; i++)
		{
			met = change;
			if (i + 1 < end)
				change = order_of(&ordered->fns, ddir_batch_val(batch, i + 1));
		}
		if (do_was)
			replay_peers(was);
		if (do_is)
		{
			gap += is->n;
			replay_peers(is);
		}
		if (ordered->out.n >= NET_ROWS)
			net(ordered);

		while (to < marks->n && ref_cmp(mark_order(&marks->mark[to]), place) < 0)
			to++;
		if (met.p != NULL && ref_cmp(met, place) < 0 &&
			to < marks->n && ref_cmp(mark_order(&marks->mark[to]), place) == 0 &&
			(i == end || mark_is_before(&marks->mark[to], change)) &&
			mark_is_met(ordered, &marks->mark[to], is, met))
		{
			marks_replace(ordered, marks, from, to);
			return i;
		}
		if (do_is && gap >= MARK_ROWS)
		{
			mark_add(ordered, is, place);
			gap = 0;
		}
	}
	marks_replace(ordered, marks, from, marks->n);
	return end;
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
	set_time(ordered, &ordered->out);
	set_time(ordered, &ordered->err);
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
	ddir_node_trim(&ordered->err);
	for (int k = 0; k < 2; k++)
	{
		Replay	   *r = k ? &ordered->was : &ordered->is;

		if (r->cap <= NET_ROWS)
			continue;
		ddir_free(r->row);
		r->row = NULL;
		r->cap = r->n = 0;
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

static void
replay_init(Replay *r, Ordered *ordered, int64_t diff)
{
	const DdirOrderedFns *fns = &ordered->fns;
	DdirArena  *arena = ordered->node.arena;

	r->ordered = ordered;
	r->diff = diff;
	r->state = ddir_alloc0(arena, fns->state_size + 1);
	r->place = ddir_alloc0(arena, (fns->nplaces + 1) * sizeof(DdirSpot));
	r->self.fns = fns;
	for (int k = 0; k < fns->nplaces; k++)
		r->place[k].fns = fns;
}

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
	ddir_groups_init(&ordered->groups, arena, sizeof(Marks));
	ddir_deltas_init(&ordered->out, arena, 1, false);
	ddir_deltas_init(&ordered->err, arena, 1, false);
	ordered->saved.arena = arena;
	replay_init(&ordered->was, ordered, -1);
	replay_init(&ordered->is, ordered, 1);
	return ddir_node_complete(&ordered->node);
}
