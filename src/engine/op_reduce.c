/*-------------------------------------------------------------------------
 *
 * op_reduce.c
 *	  Reduce: one output per group, from a state kept per key.
 *
 * This is the fast path for one coordinate: within a step all times are one,
 * so nothing has to be replayed.  A group is *touched* by its first row of
 * the step.  Before that row is folded in, the group's output is computed
 * once more and kept, to be taken back; when the step is sealed the new
 * output is computed, and both are netted, so a group whose output did not
 * change emits nothing.  A group that comes and goes within the step never
 * had an old output and has no new one.
 *
 *		touched: a b c | d e		(a mark per run of old outputs)
 *		old:     A B   | D			(c is new; e has no output)
 *		seal:    A' B' C' | D' E'	-> A' - A, B' - B, C', ...
 *
 * Rows of inexact keys (equal bytes, maybe different values) ask a callback
 * which group they belong to; it keeps what it needs for that in the state,
 * from the row on for which the group was made.
 *
 * Output is at the time of the step.
 *
 * Memory: groups in slabs (groups.h); old outputs of the groups touched, until
 * the step is sealed.
 *
 * src/engine/op_reduce.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/groups.h"
#include "engine/op.h"

/* Groups per call of emit. */
#define EMIT_GROUPS 1024

/* Rows whose groups are prefetched together. */
#define PREFETCH_ROWS 64

/* How far old outputs reach, for the groups touched up to a point. */
typedef struct Mark
{
	uint32_t	touched;
	uint32_t	rows;
	uint32_t	errs;
} Mark;

typedef struct Reduce
{
	DdirNode	node;
	int			nfold;
	DdirFunc   *keying;
	int			narr;
	bool		keyless;
	DdirReduceFns fns;
	DdirGroups	groups;

	/* of the step */
	DdirDeltas	old;			/* output as it was, diffs -1 */
	DdirDeltas	old_err;
	Mark	   *mark;
	uint32_t	nmarks;
	uint32_t	cap_marks;

	/* scratch */
	DdirDeltas	keyed;
	DdirDeltas	out;
	DdirDeltas	err;
	DdirGroup **group;			/* DDIR_CHUNK_ROWS of them */
	DdirRef    *val;
	uint32_t	cap;
	int			port;			/* being folded */
	DdirCursor *cursor;			/* narr of them */
} Reduce;

/* ----
 * Output of groups
 * ----
 */

static void
set_time(const Reduce *reduce, DdirDeltas *d)
{
	if (d->n > 0)
		return;
	memset(&d->at, 0, sizeof(d->at));
	d->at.c[0] = ddir_graph_now(reduce->node.graph)[0];
}

/* The outputs of n groups as they were before the step, or are now. */
static void
emit_groups(Reduce *reduce, uint32_t n, DdirGroup *const *group, int64_t diff,
			DdirDeltas *out, DdirDeltas *err)
{
	DdirGraph  *g = reduce->node.graph;

	if (n == 0)
		return;
	for (int k = 0; k < reduce->narr; k++)
	{
		const DdirSpine *trace = ddir_arrange_spine(reduce->node.in[reduce->nfold + k]);

		if (diff < 0)
			ddir_graph_cursor_before(g, &reduce->cursor[k], trace);
		else
			ddir_graph_cursor_now(g, &reduce->cursor[k], trace);
	}
	set_time(reduce, out);
	set_time(reduce, err);
	if (!reduce->fns.emit(reduce->fns.ctx, n, group, diff, reduce->cursor, out, err))
		ddir_error(DDIR_ERROR_CALLBACK, "the output of a group failed");
}

static void
mark_add(Reduce *reduce, uint32_t touched)
{
	Mark	   *mark;

	if (reduce->nmarks == reduce->cap_marks)
	{
		uint32_t	cap = reduce->cap_marks ? 2 * reduce->cap_marks : 16;

		reduce->mark = ddir_realloc(reduce->node.arena, reduce->mark, cap * sizeof(Mark));
		reduce->cap_marks = cap;
	}
	mark = &reduce->mark[reduce->nmarks++];
	mark->touched = touched;
	mark->rows = reduce->old.n;
	mark->errs = reduce->old_err.n;
}

/* Keep the old outputs of the groups touched from number "from" on. */
static void
emit_old(Reduce *reduce, uint32_t from)
{
	DdirGroup  *group[EMIT_GROUPS];

	while (from < reduce->groups.ntouched)
	{
		uint32_t	to = from + EMIT_GROUPS;
		uint32_t	n = 0;

		if (to > reduce->groups.ntouched)
			to = reduce->groups.ntouched;
		for (; from < to; from++)
			if (reduce->groups.touched[from]->live)
				group[n++] = &reduce->groups.touched[from]->group;
		emit_groups(reduce, n, group, -1, &reduce->old, &reduce->old_err);
		mark_add(reduce, to);
	}
}

/* ----
 * Folding
 * ----
 */

static bool
same_group(void *ctx, DdirGroupEntry *entry, DdirRef val)
{
	Reduce	   *reduce = ctx;
	int			same = reduce->fns.same(reduce->fns.ctx, reduce->port,
										&entry->group, val);

	if (same < 0)
		ddir_error(DDIR_ERROR_CALLBACK, "comparing a row with its group failed");
	return same > 0;
}

/* Fold rows from .. to of the keyed run, which are at most a chunk. */
static void
fold_rows(Reduce *reduce, int port, uint32_t from, uint32_t to)
{
	const DdirDeltas *rows = &reduce->keyed;
	DdirGroupSame same = reduce->fns.same ? same_group : NULL;
	uint32_t	ntouched = reduce->groups.ntouched;
	uint32_t	n = to - from;

	for (uint32_t i = 0; i < n; i++)
	{
		DdirRef		key = ddir_lane_ref(&rows->key, from + i);
		DdirRef		val = ddir_lane_ref(&rows->val, from + i);
		uint64_t	hash = rows->hash[from + i];
		DdirGroupEntry *entry;

		if (i % PREFETCH_ROWS == 0)
			ddir_groups_prefetch(&reduce->groups, &rows->hash[from + i],
								 n - i < PREFETCH_ROWS ? n - i : PREFETCH_ROWS);
		entry = ddir_groups_find(&reduce->groups, hash, key, val, same, reduce);
		ddir_groups_touch(&reduce->groups, entry);
		reduce->group[i] = &entry->group;
		reduce->val[i] = val;
	}

	emit_old(reduce, ntouched);
	if (port == 0)
		for (uint32_t i = 0; i < n; i++)
			reduce->group[i]->rows += rows->diff[from + i];
	if (!reduce->fns.fold(reduce->fns.ctx, port, n, reduce->group, reduce->val,
						  rows->diff + from))
		ddir_error(DDIR_ERROR_CALLBACK, "folding rows failed");
}

static void
reserve_scratch(Reduce *reduce, uint32_t n)
{
	if (n <= reduce->cap)
		return;
	ddir_free(reduce->group);
	ddir_free(reduce->val);
	reduce->group = ddir_alloc(reduce->node.arena, n * sizeof(*reduce->group));
	reduce->val = ddir_alloc(reduce->node.arena, n * sizeof(*reduce->val));
	reduce->cap = n;
}

static void
reduce_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	Reduce	   *reduce = (Reduce *) node;

	if (port >= reduce->nfold)
		ddir_error(DDIR_ERROR_INTERNAL, "rows pushed into a reduction's arrangement");
	for (uint32_t i = 0; i < rows->n;)
	{
		const DdirBundle *chunk = ddir_graph_slice(node->graph, rows, i);
		uint32_t	n;

		ddir_poll();
		i += chunk->n;
		reduce->port = port;
		ddir_deltas_clear(&reduce->keyed);
		ddir_graph_call(&reduce->keying[port], chunk, &reduce->keyed, &reduce->err);
		ddir_node_flush_errors(node, &reduce->err);

		/* there may be more rows than were in the chunk */
		n = reduce->keyed.n;
		reserve_scratch(reduce, n < DDIR_CHUNK_ROWS ? n : DDIR_CHUNK_ROWS);
		for (uint32_t k = 0; k < n; k += DDIR_CHUNK_ROWS)
			fold_rows(reduce, port, k, n - k < DDIR_CHUNK_ROWS ? n : k + DDIR_CHUNK_ROWS);
	}
}

/* ----
 * Sealing
 * ----
 */

static void
append_rows(DdirDeltas *to, const DdirDeltas *from, uint32_t start, uint32_t end)
{
	for (uint32_t i = start; i < end; i++)
	{
		DdirRef		val = ddir_lane_ref(&from->val, i);

		ddir_deltas_push(to, NULL, 0, val.p, val.len, ddir_deltas_time(from, i),
						 from->diff[i]);
	}
}

static void
drop_group(Reduce *reduce, DdirGroupEntry *entry)
{
	if (reduce->fns.drop)
		reduce->fns.drop(reduce->fns.ctx, entry->group.state);
	ddir_groups_drop(&reduce->groups, entry);
}

/*
 * The groups touched between two marks: new outputs against the old ones.
 * Groups without rows cease to exist.
 */
static void
seal_groups(Reduce *reduce, const Mark *begin, const Mark *end)
{
	DdirGroup  *group[EMIT_GROUPS];
	DdirGroupEntry **touched = reduce->groups.touched;
	uint32_t	n = 0;

	for (uint32_t i = begin->touched; i < end->touched; i++)
	{
		DdirGroupEntry *entry = touched[i];

		if (entry->group.rows < 0)
			ddir_groups_negative(&reduce->node, entry);
		entry->live = entry->group.rows > 0 || reduce->keyless;
		if (entry->live)
			group[n++] = &entry->group;
	}

	set_time(reduce, &reduce->out);
	set_time(reduce, &reduce->err);
	append_rows(&reduce->out, &reduce->old, begin->rows, end->rows);
	append_rows(&reduce->err, &reduce->old_err, begin->errs, end->errs);
	emit_groups(reduce, n, group, 1, &reduce->out, &reduce->err);
	if (end->rows > begin->rows)
		ddir_deltas_consolidate(&reduce->out);
	if (end->errs > begin->errs)
		ddir_deltas_consolidate(&reduce->err);
	ddir_node_flush_errors(&reduce->node, &reduce->err);
	ddir_node_flush(&reduce->node, &reduce->out);

	for (uint32_t i = begin->touched; i < end->touched; i++)
		if (!touched[i]->live)
			drop_group(reduce, touched[i]);
}

/* The one group of a reduction without a key is there from the beginning. */
static void
touch_global(Reduce *reduce)
{
	DdirRef		none = {(const uint8_t *) "", 0};
	uint32_t	ntouched = reduce->groups.ntouched;
	DdirGroupEntry *entry = ddir_groups_find(&reduce->groups,
											 ddir_key_hash(none.p, 0), none, none,
											 NULL, NULL);

	ddir_groups_touch(&reduce->groups, entry);
	emit_old(reduce, ntouched);
}

static void
reduce_seal(DdirNode *node)
{
	Reduce	   *reduce = (Reduce *) node;
	Mark		begin = {0};

	if (reduce->keyless && node->fresh)
		touch_global(reduce);

	/* marks join up to full batches; many small pushes make many marks */
	for (uint32_t i = 0; i < reduce->nmarks; i++)
	{
		const Mark *end = &reduce->mark[i];

		if (i + 1 < reduce->nmarks &&
			reduce->mark[i + 1].touched - begin.touched <= EMIT_GROUPS)
			continue;
		ddir_poll();
		seal_groups(reduce, &begin, end);
		begin = *end;
	}
	reduce->nmarks = 0;
	ddir_groups_settle(&reduce->groups);
	ddir_deltas_clear(&reduce->old);
	ddir_deltas_clear(&reduce->old_err);
}

/* ----
 * The operator
 * ----
 */

static void
reduce_compact(DdirNode *node, const DdirFrontier *since)
{
	Reduce	   *reduce = (Reduce *) node;

	ddir_node_trim(&reduce->old);
	ddir_node_trim(&reduce->old_err);
	ddir_node_trim(&reduce->keyed);
	ddir_node_trim(&reduce->out);
	ddir_node_trim(&reduce->err);
	if (reduce->cap > EMIT_GROUPS)
	{
		ddir_free(reduce->group);
		ddir_free(reduce->val);
		reduce->group = NULL;
		reduce->val = NULL;
		reduce->cap = 0;
	}
	if (reduce->cap_marks > EMIT_GROUPS)
	{
		ddir_free(reduce->mark);
		reduce->mark = NULL;
		reduce->cap_marks = 0;
	}
}

static void
reduce_stats(const DdirNode *node, DdirNodeStats *out)
{
	const Reduce *reduce = (const Reduce *) node;

	out->rows = reduce->groups.n;
}

static void
drop_state(DdirGroupEntry *entry, void *ctx)
{
	Reduce	   *reduce = ctx;

	reduce->fns.drop(reduce->fns.ctx, entry->group.state);
}

static void
reduce_destroy(DdirNode *node)
{
	Reduce	   *reduce = (Reduce *) node;

	if (reduce->fns.drop)
		ddir_groups_each(&reduce->groups, drop_state, reduce);
}

static const DdirNodeOps reduce_ops = {
	.name = "reduce",
	.push = reduce_push,
	.seal = reduce_seal,
	.compact = reduce_compact,
	.stats = reduce_stats,
	.destroy = reduce_destroy,
};

DdirNode *
ddir_reduce_create(DdirGraph *g, const char *label, const DdirReduceSpec *spec)
{
	int			nin = spec->nfold + spec->narr;
	DdirArena  *arena;
	Reduce	   *reduce;

	ddir_check(ddir_graph_coords(g) == 1);
	ddir_check(spec->nfold >= 1 && spec->narr >= 0);
	for (int i = 0; i < spec->narr; i++)
		(void) ddir_arrange_spine(spec->arr[i]);
	reduce = (Reduce *) ddir_node_create(g, sizeof(Reduce), &reduce_ops, label, nin, NULL);
	for (int i = 0; i < nin; i++)
		reduce->node.in[i] = i < spec->nfold ? spec->fold[i] : spec->arr[i - spec->nfold];

	arena = reduce->node.arena;
	reduce->nfold = spec->nfold;
	reduce->keying = ddir_alloc(arena, spec->nfold * sizeof(DdirFunc));
	memcpy(reduce->keying, spec->keying, spec->nfold * sizeof(DdirFunc));
	reduce->narr = spec->narr;
	reduce->cursor = ddir_alloc(arena, (spec->narr + 1) * sizeof(DdirCursor));
	reduce->keyless = spec->global;
	reduce->fns = spec->fns;
	ddir_groups_init(&reduce->groups, arena, spec->fns.state_size);
	ddir_deltas_init(&reduce->old, arena, 1, false);
	ddir_deltas_init(&reduce->old_err, arena, 1, false);
	ddir_deltas_init(&reduce->keyed, arena, 1, true);
	ddir_deltas_init(&reduce->out, arena, 1, false);
	ddir_deltas_init(&reduce->err, arena, 1, false);
	return ddir_node_complete(&reduce->node);
}
