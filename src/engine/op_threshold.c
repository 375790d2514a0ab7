/*-------------------------------------------------------------------------
 *
 * op_threshold.c
 *	  Threshold: a row's multiplicity becomes a function of it.
 *
 * Counts are kept per row, by its identity, in a table of groups; a row's
 * count before the step is its state.  When the step is sealed each row that
 * was touched is emitted with the difference of the two thresholds.
 *
 * Counts may be negative on the way, and also at the end of a step, for
 * thresholds that mean something there (EXCEPT ALL counts one side down);
 * "distinct" does not and raises.
 *
 * Output is at the time of the step.
 *
 * src/engine/op_threshold.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/groups.h"
#include "engine/op.h"

#define PREFETCH_ROWS 64

typedef struct Threshold
{
	DdirNode	node;
	DdirFunc	f;
	int64_t		(*threshold) (int64_t);
	DdirGroups	groups;			/* state: the count before the step */
	DdirDeltas	keyed;
	DdirDeltas	out;
	DdirDeltas	err;
} Threshold;

int64_t
ddir_threshold_distinct(int64_t count)
{
	return count > 0;
}

int64_t
ddir_threshold_positive(int64_t count)
{
	return count > 0 ? count : 0;
}

static void
count_rows(Threshold *threshold)
{
	const DdirDeltas *rows = &threshold->keyed;

	for (uint32_t i = 0; i < rows->n; i++)
	{
		DdirRef		key = ddir_lane_ref(&rows->key, i);
		DdirGroupEntry *entry;

		if (i % PREFETCH_ROWS == 0)
			ddir_groups_prefetch(&threshold->groups, &rows->hash[i],
								 rows->n - i < PREFETCH_ROWS ? rows->n - i : PREFETCH_ROWS);
		entry = ddir_groups_find(&threshold->groups, rows->hash[i], key, key, NULL, NULL);
		if (!entry->touched)
		{
			ddir_groups_touch(&threshold->groups, entry);
			*(int64_t *) entry->group.state = entry->group.rows;
		}
		entry->group.rows += rows->diff[i];
	}
}

static void
threshold_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	Threshold  *threshold = (Threshold *) node;

	for (uint32_t i = 0; i < rows->n;)
	{
		const DdirBundle *chunk = ddir_graph_slice(node->graph, rows, i);

		ddir_poll();
		i += chunk->n;
		ddir_deltas_clear(&threshold->keyed);
		ddir_graph_call(&threshold->f, chunk, &threshold->keyed, &threshold->err);
		ddir_node_flush_errors(node, &threshold->err);
		count_rows(threshold);
	}
}

/* What is not there appears no times, whatever the function says. */
static int64_t
appears(const Threshold *threshold, int64_t count)
{
	return count == 0 ? 0 : threshold->threshold(count);
}

static void
seal_row(Threshold *threshold, DdirGroupEntry *entry)
{
	int64_t		before = *(int64_t *) entry->group.state;
	int64_t		now = entry->group.rows;
	DdirRef		key = entry->group.key;
	int64_t		diff;

	if (now < 0 && threshold->threshold == ddir_threshold_distinct)
		ddir_groups_negative(&threshold->node, entry);
	diff = appears(threshold, now) - appears(threshold, before);
	if (diff != 0)
		ddir_deltas_push(&threshold->out, NULL, 0, key.p, key.len, NULL, diff);
	if (now == 0)
		ddir_groups_drop(&threshold->groups, entry);
}

static void
threshold_seal(DdirNode *node)
{
	Threshold  *threshold = (Threshold *) node;
	DdirGroups *groups = &threshold->groups;

	memset(&threshold->out.at, 0, sizeof(DdirTime));
	threshold->out.at.c[0] = ddir_graph_now(node->graph)[0];
	for (uint32_t i = 0; i < groups->ntouched; i++)
	{
		seal_row(threshold, groups->touched[i]);
		if (ddir_deltas_full(&threshold->out))
		{
			ddir_poll();
			ddir_node_flush(node, &threshold->out);
		}
	}
	ddir_node_flush(node, &threshold->out);
	ddir_groups_settle(groups);
}

static void
threshold_compact(DdirNode *node, const DdirFrontier *since)
{
	Threshold  *threshold = (Threshold *) node;

	ddir_node_trim(&threshold->keyed);
	ddir_node_trim(&threshold->out);
	ddir_node_trim(&threshold->err);
}

static void
threshold_stats(const DdirNode *node, DdirNodeStats *out)
{
	const Threshold *threshold = (const Threshold *) node;

	out->rows = threshold->groups.n;
}

static const DdirNodeOps threshold_ops = {
	.name = "threshold",
	.push = threshold_push,
	.seal = threshold_seal,
	.compact = threshold_compact,
	.stats = threshold_stats,
};

DdirNode *
ddir_threshold_create(DdirGraph *g, const char *label, DdirNode *in,
					  DdirFunc f, int64_t (*threshold_function) (int64_t))
{
	Threshold  *threshold;
	DdirArena  *arena;

	ddir_check(ddir_graph_coords(g) == 1);
	threshold = (Threshold *) ddir_node_create(g, sizeof(Threshold), &threshold_ops,
											   label, 1, &in);
	arena = threshold->node.arena;
	threshold->f = f;
	threshold->threshold = threshold_function;
	ddir_groups_init(&threshold->groups, arena, sizeof(int64_t));
	ddir_deltas_init(&threshold->keyed, arena, 1, true);
	ddir_deltas_init(&threshold->out, arena, 1, false);
	ddir_deltas_init(&threshold->err, arena, 1, false);
	return ddir_node_complete(&threshold->node);
}
