/*-------------------------------------------------------------------------
 *
 * op_topk.c
 *	  Top-k: of each key's rows, those at some places of their order.
 *
 * The rows are in an arrangement, whose vals begin with bytes that order them
 * and end with the row; the row itself is the last thing ordered by, so there
 * is one order.  What is shown of a key is a *window* of it: the rows from
 * place "offset" on, "limit" of them, and with "ties" those behind that have
 * the last one's order as well.
 *
 * When a step is sealed, each key that changed has its window walked as it was
 * and as it is, side by side, and only differences are emitted:
 *
 *		limit 3		was		a  b  d | e
 *					is		a  c  d | e			-> -b +c
 *
 * Behind the last change, at equal places, the rest is the same and the walk
 * ends; one that has all changes behind its window does not look at them.
 * So a step costs what is in front of the window and in it, at most.
 *
 * Output is at the time of the step.  Memory: none but what is being emitted.
 *
 * src/engine/op_topk.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op.h"

typedef struct TopK
{
	DdirNode	node;
	DdirTopkSpec spec;
	int64_t		end;			/* place behind the window, without ties */
	DdirCursor	was;
	DdirCursor	is;
	DdirDeltas	out;
} TopK;

/* A window being walked. */
typedef struct Walk
{
	TopK	   *topk;
	DdirCursor *cursor;			/* NULL: there are no rows */
	int64_t		place;			/* behind the row stood at */
	DdirRef		val;			/* the row stood at */
	int64_t		copies;			/* of it, in the window; 0: at the end */
	DdirRef		last;			/* with ties: the order of the last place */
} Walk;

static uint32_t
order_length(const TopK *topk, DdirRef val)
{
	uint32_t	len = topk->spec.order(topk->spec.ctx, val);

	if (len > val.len)
		ddir_error(DDIR_ERROR_INTERNAL, "malformed order in an arrangement");
	return len;
}

/* Is it a tie of the last row of the window? */
static bool
is_tie(const Walk *w)
{
	const TopK *topk = w->topk;
	uint32_t	len;

	if (!topk->spec.ties || w->last.p == NULL)
		return false;
	len = order_length(topk, w->val);
	return ddir_bytes_cmp(w->val.p, len, w->last.p, w->last.len) == 0;
}

/* Stand at the next row of the window. */
static void
walk_next(Walk *w)
{
	const TopK *topk = w->topk;
	int64_t		diff;

	w->copies = 0;
	while (w->cursor && (w->place < topk->end || topk->spec.ties) &&
		   ddir_cursor_next(w->cursor, &w->val, &diff))
	{
		int64_t		from = w->place;
		int64_t		to = topk->end;

		if (diff < 0)
			ddir_error(DDIR_ERROR_NEGATIVE, "operator \"%s\": a row is there %lld times",
					   topk->node.label, (long long) diff);
		if (from >= to && !is_tie(w))
			break;
		w->place += diff;
		if (from < topk->spec.offset)
			from = topk->spec.offset;
		if (topk->spec.ties && w->place >= to)
		{
			/* all copies of a row are ties of each other */
			w->last.p = w->val.p;
			w->last.len = order_length(topk, w->val);
			to = w->place;
		}
		if (to > w->place)
			to = w->place;
		if (to > from)
		{
			w->copies = to - from;
			return;
		}
	}
	w->cursor = NULL;
}

static void
walk_start(Walk *w, TopK *topk, DdirCursor *cursor)
{
	memset(w, 0, sizeof(*w));
	w->topk = topk;
	w->cursor = cursor;
	walk_next(w);
}

static void
emit(TopK *topk, DdirRef val, int64_t diff)
{
	uint32_t	len = order_length(topk, val);

	if (diff == 0)
		return;
	ddir_deltas_push(&topk->out, NULL, 0, val.p + len, val.len - len, NULL, diff);
	if (ddir_deltas_full(&topk->out))
	{
		ddir_poll();
		ddir_node_flush(&topk->node, &topk->out);
		topk->out.at.c[0] = ddir_graph_now(topk->node.graph)[0];
	}
}

/* The window of a key: what it is, less what it was. */
static void
seal_key(TopK *topk, DdirCursor *was, DdirCursor *is, DdirRef last_change)
{
	Walk		a;
	Walk		b;

	walk_start(&a, topk, was);
	walk_start(&b, topk, is);
	while (a.copies > 0 || b.copies > 0)
	{
		int			cmp = a.copies == 0 ? 1 : b.copies == 0 ? -1 :
		ddir_bytes_cmp(a.val.p, a.val.len, b.val.p, b.val.len);

		if (cmp == 0 && a.place == b.place &&
			ddir_bytes_cmp(a.val.p, a.val.len, last_change.p, last_change.len) > 0)
			break;
		if (cmp < 0)
		{
			emit(topk, a.val, -a.copies);
			walk_next(&a);
		}
		else if (cmp > 0)
		{
			emit(topk, b.val, b.copies);
			walk_next(&b);
		}
		else
		{
			emit(topk, a.val, b.copies - a.copies);
			walk_next(&a);
			walk_next(&b);
		}
	}
}

static void
seal_batch(TopK *topk, const DdirBatch *batch, bool fresh)
{
	uint64_t	room;
	uint32_t	end;

	for (uint32_t i = 0; i < batch->n; i = end)
	{
		DdirRef		key = ddir_batch_key(batch, i, &room);

		end = ddir_batch_key_end(batch, i);
		ddir_poll();
		if (!fresh)
			ddir_cursor_seek(&topk->was, batch->hash[i], key.p, key.len);
		ddir_cursor_seek(&topk->is, batch->hash[i], key.p, key.len);
		seal_key(topk, fresh ? NULL : &topk->was, &topk->is, ddir_batch_val(batch, end - 1));
	}
}

static void
topk_seal(DdirNode *node)
{
	TopK	   *topk = (TopK *) node;
	const DdirSpine *trace = ddir_arrange_spine(node->in[0]);
	DdirBatch  *batch = ddir_arrange_only_batch(node);

	if (batch == NULL || topk->end <= topk->spec.offset)
		return;
	memset(&topk->out.at, 0, sizeof(topk->out.at));
	topk->out.at.c[0] = ddir_graph_now(node->graph)[0];
	ddir_graph_cursor_before(node->graph, &topk->was, trace);
	ddir_graph_cursor_now(node->graph, &topk->is, trace);
	seal_batch(topk, batch, node->fresh);
	ddir_node_flush(node, &topk->out);
}

static void
topk_compact(DdirNode *node, const DdirFrontier *since)
{
	ddir_node_trim(&((TopK *) node)->out);
}

static const DdirNodeOps topk_ops = {
	.name = "top-k",
	.push = ddir_arrange_pushes,
	.seal = topk_seal,
	.compact = topk_compact,
};

DdirNode *
ddir_topk_create(DdirGraph *g, const char *label, DdirNode *arrange, const DdirTopkSpec *spec)
{
	TopK	   *topk;

	ddir_check(ddir_graph_coords(g) == 1);
	ddir_check(spec->offset >= 0);
	(void) ddir_arrange_spine(arrange);
	topk = (TopK *) ddir_node_create(g, sizeof(TopK), &topk_ops, label, 1, &arrange);
	topk->spec = *spec;
	if (spec->limit < 0 || spec->limit > INT64_MAX - spec->offset)
		topk->end = INT64_MAX;
	else
		topk->end = spec->offset + spec->limit;
	ddir_deltas_init(&topk->out, topk->node.arena, 1, false);
	return ddir_node_complete(&topk->node);
}
