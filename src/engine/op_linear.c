/*-------------------------------------------------------------------------
 *
 * op_linear.c
 *	  The operators without state: source, linear, concat, negate, sink.
 *
 * They hold nothing back, so none has a seal.  Large runs are cut into chunks
 * on the way in, which bounds what comes out at once: where a row makes many,
 * chunks have fewer rows.
 *
 * src/engine/op_linear.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op.h"

/* Source and concat hand on what comes, as it is. */
static void
pass_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	ddir_node_emit(node, rows);
}

static const DdirNodeOps source_ops = {
	.name = "source",
	.push = pass_push,
};

static const DdirNodeOps concat_ops = {
	.name = "concat",
	.push = pass_push,
};

DdirNode *
ddir_source_create(DdirGraph *g, const char *label)
{
	return ddir_node_complete(ddir_node_create(g, sizeof(DdirNode), &source_ops,
											   label, 0, NULL));
}

DdirNode *
ddir_concat_create(DdirGraph *g, const char *label, int nin, DdirNode *const *in)
{
	return ddir_node_complete(ddir_node_create(g, sizeof(DdirNode), &concat_ops,
											   label, nin, in));
}

/* ----
 * Linear: one function, chunk by chunk
 * ----
 */

typedef struct Linear
{
	DdirNode	node;
	DdirFunc	f;
	uint32_t	rows_max;		/* in the next chunk */
	DdirDeltas	out;
	DdirDeltas	err;
} Linear;

/* As many rows as would have made a chunk, going by those just taken. */
static uint32_t
next_rows_max(uint32_t taken, uint32_t made)
{
	uint64_t	rows = (uint64_t) taken * DDIR_CHUNK_ROWS;

	if (made <= DDIR_CHUNK_ROWS)
		return taken >= DDIR_CHUNK_ROWS / 2 ? DDIR_CHUNK_ROWS : 2 * taken;
	rows /= made;
	return rows > 0 ? (uint32_t) rows : 1;
}

static void
linear_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	Linear	   *linear = (Linear *) node;

	for (uint32_t i = 0; i < rows->n;)
	{
		DdirBundle	chunk = *ddir_graph_slice(node->graph, rows, i);

		ddir_poll();
		if (chunk.n > linear->rows_max)
			chunk.n = linear->rows_max;
		i += chunk.n;
		ddir_graph_call(&linear->f, &chunk, &linear->out, &linear->err);
		linear->rows_max = next_rows_max(chunk.n, linear->out.n);
		ddir_node_flush(node, &linear->out);
		ddir_node_flush_errors(node, &linear->err);
	}
}

static void
linear_compact(DdirNode *node, const DdirFrontier *since)
{
	Linear	   *linear = (Linear *) node;

	ddir_node_trim(&linear->out);
	ddir_node_trim(&linear->err);
}

static const DdirNodeOps linear_ops = {
	.name = "linear",
	.push = linear_push,
	.compact = linear_compact,
};

DdirNode *
ddir_linear_create(DdirGraph *g, const char *label, DdirNode *in, DdirFunc f)
{
	Linear	   *linear = (Linear *) ddir_node_create(g, sizeof(Linear), &linear_ops,
													 label, 1, &in);
	int			coords = ddir_graph_coords(g);

	linear->f = f;
	linear->rows_max = DDIR_CHUNK_ROWS;
	ddir_deltas_init(&linear->out, linear->node.arena, coords, false);
	ddir_deltas_init(&linear->err, linear->node.arena, coords, false);
	return ddir_node_complete(&linear->node);
}

/* ----
 * Negate: the same rows with another diff lane
 * ----
 */

typedef struct Negate
{
	DdirNode	node;
	int64_t    *diff;
	uint32_t	cap;
} Negate;

static void
negate_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	Negate	   *negate = (Negate *) node;
	DdirDeltas	out = *rows;

	if (rows->n > negate->cap)
	{
		ddir_free(negate->diff);
		negate->diff = NULL;
		negate->diff = ddir_alloc(node->arena, rows->n * sizeof(int64_t));
		negate->cap = rows->n;
	}
	for (uint32_t i = 0; i < rows->n; i++)
		negate->diff[i] = -rows->diff[i];
	out.diff = negate->diff;
	ddir_node_emit(node, &out);
}

static void
negate_compact(DdirNode *node, const DdirFrontier *since)
{
	Negate	   *negate = (Negate *) node;

	if (negate->cap <= DDIR_CHUNK_ROWS)
		return;
	ddir_free(negate->diff);
	negate->diff = NULL;
	negate->cap = 0;
}

static const DdirNodeOps negate_ops = {
	.name = "negate",
	.push = negate_push,
	.compact = negate_compact,
};

DdirNode *
ddir_negate_create(DdirGraph *g, const char *label, DdirNode *in)
{
	return ddir_node_complete(ddir_node_create(g, sizeof(Negate), &negate_ops,
											   label, 1, &in));
}

/* ----
 * Valid, errors: the two collections of an edge, one of them as rows
 * ----
 */

static void
pass_on(DdirNode *node, int port, const DdirDeltas *deltas)
{
	ddir_node_emit(node, deltas);
}

static void
leave_out(DdirNode *node, int port, const DdirDeltas *deltas)
{
}

static const DdirNodeOps valid_ops = {
	.name = "valid",
	.push = pass_on,
	.push_errors = leave_out,
};

static const DdirNodeOps errors_ops = {
	.name = "errors",
	.push = leave_out,
	.push_errors = pass_on,
};

DdirNode *
ddir_valid_create(DdirGraph *g, const char *label, DdirNode *in)
{
	return ddir_node_complete(ddir_node_create(g, sizeof(DdirNode), &valid_ops,
											   label, 1, &in));
}

DdirNode *
ddir_errors_create(DdirGraph *g, const char *label, DdirNode *in)
{
	return ddir_node_complete(ddir_node_create(g, sizeof(DdirNode), &errors_ops,
											   label, 1, &in));
}

/* ----
 * Sink
 * ----
 */

typedef struct Sink
{
	DdirNode	node;
	DdirSinkFns fns;
} Sink;

static void
sink_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	Sink	   *sink = (Sink *) node;

	node->rows_out += rows->n;
	sink->fns.rows(sink->fns.ctx, rows);
}

static void
sink_push_errors(DdirNode *node, int port, const DdirDeltas *errs)
{
	Sink	   *sink = (Sink *) node;

	sink->fns.errors(sink->fns.ctx, errs);
}

static const DdirNodeOps sink_ops = {
	.name = "sink",
	.push = sink_push,
	.push_errors = sink_push_errors,
};

DdirNode *
ddir_sink_create(DdirGraph *g, const char *label, DdirNode *in, DdirSinkFns fns)
{
	Sink	   *sink = (Sink *) ddir_node_create(g, sizeof(Sink), &sink_ops,
												 label, 1, &in);

	sink->fns = fns;
	return ddir_node_complete(&sink->node);
}
