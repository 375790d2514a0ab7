/*-------------------------------------------------------------------------
 *
 * op_partition.c
 *	  Partition: of each key, whatever a function makes of all its rows.
 *
 * This is the general way for what depends on the order of a key's rows: when
 * a step is sealed, the function is called for the keys that changed, with
 * their rows as they were and as they are, and what it made of both is netted.
 * It costs those keys' rows, however few of them changed.
 *
 * Output is at the time of the step.  Memory: what was made of a batch of
 * keys, until it is netted.
 *
 * src/engine/op_partition.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op.h"

/* Keys per call of the function. */
#define PARTITIONS_MAX 256

typedef struct Partition
{
	DdirNode	node;
	DdirPartitionFns fns;
	DdirCursor	cursor;
	uint64_t   *room;			/* of keys that hashes stand for */
	DdirPartition *part;
	DdirDeltas	out;
	DdirDeltas	err;
} Partition;

static void
set_time(const Partition *p, DdirDeltas *d)
{
	memset(&d->at, 0, sizeof(d->at));
	d->at.c[0] = ddir_graph_now(p->node.graph)[0];
}

static void
run(Partition *p, uint32_t n, int64_t diff)
{
	const DdirSpine *trace = ddir_arrange_spine(p->node.in[0]);

	if (diff < 0)
		ddir_graph_cursor_before(p->node.graph, &p->cursor, trace);
	else
		ddir_graph_cursor_now(p->node.graph, &p->cursor, trace);
	if (!p->fns.run(p->fns.ctx, n, p->part, diff, &p->cursor, &p->out, &p->err))
		ddir_error(DDIR_ERROR_CALLBACK, "the function of a partition failed");
}

static void
seal_partitions(Partition *p, uint32_t n)
{
	ddir_poll();
	set_time(p, &p->out);
	set_time(p, &p->err);
	if (!p->node.fresh)
		run(p, n, -1);
	run(p, n, 1);
	if (!p->node.fresh)
	{
		ddir_deltas_consolidate(&p->out);
		ddir_deltas_consolidate(&p->err);
	}
	ddir_node_flush_errors(&p->node, &p->err);
	ddir_node_flush(&p->node, &p->out);
}

static void
partition_seal(DdirNode *node)
{
	Partition  *p = (Partition *) node;
	const DdirBatch *batch = ddir_arrange_only_batch(node);
	uint32_t	n = 0;
	uint32_t	end;

	if (batch == NULL)
		return;
	for (uint32_t i = 0; i < batch->n; i = end)
	{
		end = ddir_batch_key_end(batch, i);
		p->part[n].hash = batch->hash[i];
		p->part[n].key = ddir_batch_key(batch, i, &p->room[n]);
		if (++n == PARTITIONS_MAX)
		{
			seal_partitions(p, n);
			n = 0;
		}
	}
	if (n > 0)
		seal_partitions(p, n);
}

static void
partition_compact(DdirNode *node, const DdirFrontier *since)
{
	Partition  *p = (Partition *) node;

	ddir_node_trim(&p->out);
	ddir_node_trim(&p->err);
}

static const DdirNodeOps partition_ops = {
	.name = "partition",
	.push = ddir_arrange_pushes,
	.seal = partition_seal,
	.compact = partition_compact,
};

DdirNode *
ddir_partition_create(DdirGraph *g, const char *label, DdirNode *arrange, DdirPartitionFns fns)
{
	Partition  *p;
	DdirArena  *arena;

	ddir_check(ddir_graph_coords(g) == 1);
	(void) ddir_arrange_spine(arrange);
	p = (Partition *) ddir_node_create(g, sizeof(Partition), &partition_ops, label, 1, &arrange);
	arena = p->node.arena;
	p->fns = fns;
	p->room = ddir_alloc(arena, PARTITIONS_MAX * sizeof(uint64_t));
	p->part = ddir_alloc(arena, PARTITIONS_MAX * sizeof(DdirPartition));
	ddir_deltas_init(&p->out, arena, 1, false);
	ddir_deltas_init(&p->err, arena, 1, false);
	return ddir_node_complete(&p->node);
}
