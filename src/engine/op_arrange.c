/*-------------------------------------------------------------------------
 *
 * op_arrange.c
 *	  Arrange: index a stream, once, for all who look things up in it.
 *
 * Rows gather in one pending run during a step and become one batch when it
 * is sealed.  The run is consolidated on the way when it has grown much since
 * the last time, so a step that inserts and deletes the same rows again and
 * again stays small, and one that only inserts pays little for it.
 *
 * The arrangement holds its own trace back, in the name of all delta joins
 * that read it: logically to one step behind the frontier (a join must tell
 * "strictly before the step" from "in the step"), physically to its upper.
 * Readers with other wishes (op_bilinear.c) hold readers of their own.
 *
 * Errors of the input are forwarded and also kept, consolidated.  A consumer
 * that is fresh gets none of those of the step; it is given all that are kept
 * when the arrangement is sealed, which its own seal follows.
 *
 * Memory: the trace and the pending run live in the node's arena.
 *
 * src/engine/op_arrange.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op.h"

/* A pending run is consolidated when so large and twice what it last was. */
#define CONSOLIDATE_ROWS (64 * 1024)

/* Rows of merging paid after a step, per row that came in it. */
#define EXERT_PER_ROW 4

typedef struct Arrange
{
	DdirNode	node;
	DdirFunc	f;
	DdirSpine  *spine;
	DdirReader *reader;
	DdirBatch  *batch;			/* of the last step, or NULL */
	DdirDeltas	pending;
	uint32_t	consolidate_at;
	DdirDeltas	err;
	DdirDeltas	kept;			/* errors of all steps */
	uint32_t	kept_clean;		/* so many of them are consolidated */
} Arrange;

static void
arrange_begin(DdirNode *node)
{
	Arrange    *arrange = (Arrange *) node;

	if (arrange->batch)
		ddir_batch_unref(arrange->batch);
	arrange->batch = NULL;
}

static void
consolidate_pending(Arrange *arrange)
{
	uint32_t	before = arrange->pending.n;
	uint32_t	after;
	uint32_t	times;

	ddir_deltas_consolidate(&arrange->pending);
	after = arrange->pending.n;
	/* the less there was to be summed up, the later we look again */
	times = after > before / 8 * 7 ? 16 : after > before / 2 ? 4 : 2;
	arrange->consolidate_at = after > UINT32_MAX / times ? UINT32_MAX : after * times;
	if (arrange->consolidate_at < CONSOLIDATE_ROWS)
		arrange->consolidate_at = CONSOLIDATE_ROWS;
}

static void
arrange_push_errors(DdirNode *node, int port, const DdirDeltas *errs)
{
	Arrange    *arrange = (Arrange *) node;

	ddir_deltas_append(&arrange->kept, errs);
	for (int i = 0; i < node->nedges; i++)
		if (!node->edge[i].to->fresh)
			ddir_node_push_errors(node->edge[i].to, node->edge[i].port, errs);
}

static void
arrange_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	Arrange    *arrange = (Arrange *) node;

	for (uint32_t i = 0; i < rows->n;)
	{
		const DdirBundle *chunk = ddir_graph_slice(node->graph, rows, i);

		ddir_poll();
		i += chunk->n;
		ddir_graph_call(&arrange->f, chunk, &arrange->pending, &arrange->err);
		if (arrange->err.n > 0)
		{
			arrange_push_errors(node, 0, &arrange->err);
			ddir_deltas_clear(&arrange->err);
		}
		if (arrange->pending.n >= arrange->consolidate_at)
			consolidate_pending(arrange);
	}
}

/* Late consumers learn of the errors there are. */
static void
tell_fresh(Arrange *arrange)
{
	DdirNode   *node = &arrange->node;
	DdirDeltas	errs = arrange->kept;

	/* whatever step they are from, a late consumer sees them now */
	errs.time = NULL;
	memset(&errs.at, 0, sizeof(errs.at));
	memcpy(errs.at.c, ddir_graph_now(node->graph), errs.coords * sizeof(uint64_t));
	for (int i = 0; i < node->nedges; i++)
		if (node->edge[i].to->fresh)
			ddir_node_push_errors(node->edge[i].to, node->edge[i].port, &errs);
}

/* Kept errors are a multiset: their times say nothing. */
static void
consolidate_errors(Arrange *arrange)
{
	if (arrange->kept.n == arrange->kept_clean)
		return;
	arrange->kept.time = NULL;
	ddir_deltas_consolidate(&arrange->kept);
	arrange->kept_clean = arrange->kept.n;
}

static void
arrange_seal(DdirNode *node)
{
	Arrange    *arrange = (Arrange *) node;

	consolidate_errors(arrange);
	if (arrange->kept.n > 0)
		tell_fresh(arrange);

	node->rows_out += arrange->pending.n;
	arrange->batch = ddir_batch_build(node->arena, &arrange->pending,
									  ddir_spine_upper(arrange->spine),
									  ddir_graph_upper(node->graph));
	ddir_batch_ref(arrange->batch);
	ddir_spine_insert(arrange->spine, arrange->batch);
	arrange->consolidate_at = CONSOLIDATE_ROWS;
	if (arrange->batch->n == 0)
		arrange_begin(node);
}

static void
arrange_compact(DdirNode *node, const DdirFrontier *since)
{
	Arrange    *arrange = (Arrange *) node;

	ddir_reader_set_logical(arrange->reader, since);
	ddir_reader_set_physical(arrange->reader, ddir_spine_upper(arrange->spine));
	if (arrange->batch)
		ddir_spine_exert(arrange->spine, (int64_t) arrange->batch->n * EXERT_PER_ROW);
	ddir_node_trim(&arrange->pending);
	ddir_node_trim(&arrange->err);
}

/*
 * An idle trace converges to one batch; the last step's would be held twice.
 */
static bool
arrange_exert(DdirNode *node, int64_t fuel)
{
	Arrange    *arrange = (Arrange *) node;

	arrange_begin(node);
	return ddir_spine_exert(arrange->spine, fuel);
}

static void
arrange_stats(const DdirNode *node, DdirNodeStats *out)
{
	const Arrange *arrange = (const Arrange *) node;

	out->spine = arrange->spine;
	out->rows = ddir_spine_rows(arrange->spine);
}

static const DdirNodeOps arrange_ops = {
	.name = "arrange",
	.begin = arrange_begin,
	.push = arrange_push,
	.push_errors = arrange_push_errors,
	.seal = arrange_seal,
	.compact = arrange_compact,
	.exert = arrange_exert,
	.stats = arrange_stats,
};

DdirNode *
ddir_arrange_create(DdirGraph *g, const char *label, DdirNode *in, DdirFunc f)
{
	Arrange    *arrange = (Arrange *) ddir_node_create(g, sizeof(Arrange), &arrange_ops,
													   label, 1, &in);
	DdirArena  *arena = arrange->node.arena;
	int			coords = ddir_graph_coords(g);

	arrange->f = f;
	arrange->spine = ddir_spine_create(arena, coords);
	arrange->reader = ddir_reader_create(arrange->spine);
	arrange->consolidate_at = CONSOLIDATE_ROWS;
	ddir_deltas_init(&arrange->pending, arena, coords, true);
	ddir_deltas_init(&arrange->err, arena, coords, false);
	ddir_deltas_init(&arrange->kept, arena, coords, false);
	return ddir_node_complete(&arrange->node);
}

static Arrange *
arrange_of(DdirNode *node)
{
	ddir_check(node->ops == &arrange_ops);
	return (Arrange *) node;
}

DdirSpine *
ddir_arrange_spine(DdirNode *node)
{
	return arrange_of(node)->spine;
}

DdirBatch *
ddir_arrange_batch(DdirNode *node)
{
	return arrange_of(node)->batch;
}

DdirBatch *
ddir_arrange_only_batch(DdirNode *reader)
{
	DdirBatch  *batch = ddir_arrange_batch(reader->in[0]);

	if (reader->fresh &&
		ddir_spine_rows(ddir_arrange_spine(reader->in[0])) > (batch ? batch->n : 0))
		ddir_error(DDIR_ERROR_INTERNAL, "operator \"%s\": its arrangement has a past",
				   reader->label);
	return batch;
}

void
ddir_arrange_pushes(DdirNode *reader, int port, const DdirDeltas *rows)
{
	ddir_error(DDIR_ERROR_INTERNAL, "operator \"%s\": rows pushed into its arrangement",
			   reader->label);
}

const DdirDeltas *
ddir_arrange_errors(DdirNode *node)
{
	return &arrange_of(node)->kept;
}
