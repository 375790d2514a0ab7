/*-------------------------------------------------------------------------
 *
 * share.c
 *	  The registry of sources and arrangements, and their reuse.
 *
 * An arrangement over a source or view serves a request on the same key if it
 * holds a superset of the columns and no stronger filter; what its filter does
 * not say is tested after the probe.  Arrangements over derived streams belong
 * to their flow.
 *
 * A shared arrangement lives in a context of its own, as the flow that made it
 * may go before those that use it; the last of them frees it.
 *
 * Reference: McSherry, Lattuada, Schwarzkopf, Roscoe, "Shared Arrangements"
 * (VLDB 2020).
 *
 * src/plan/share.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "plan/flow.h"

DdirShare *
ddir_share_create(MemoryContext cxt, DdirGraph *graph)
{
	DdirShare  *share = MemoryContextAllocZero(cxt, sizeof(DdirShare));

	share->cxt = cxt;
	share->graph = graph;
	return share;
}

MemoryContext
ddir_share_context(const DdirShare *share)
{
	return share->cxt;
}

/*
 * Sources
 */

static DdirSourceEntry *
find_source(DdirShare *share, Oid relid)
{
	ListCell   *lc;

	foreach(lc, share->sources)
	{
		DdirSourceEntry *e = lfirst(lc);

		if (e->relid == relid)
			return e;
	}
	return NULL;
}

static DdirNode *
find_view(DdirShare *share, Oid view)
{
	ListCell   *lc;

	foreach(lc, share->views)
	{
		DdirViewEntry *e = lfirst(lc);

		if (e->view == view)
			return e->output;
	}
	return NULL;
}

/* The row type of a relation as it is now, by attribute number. */
static DdirRowType *
relation_type(Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	DdirRowType *type = ddir_rowtype_from_tupdesc(RelationGetDescr(rel));

	relation_close(rel, AccessShareLock);
	return type;
}

DdirSourceEntry *
ddir_share_source_entry(DdirBuild *b, const DdirRel *scan)
{
	DdirShare  *share = b->share;
	DdirSourceEntry *e = find_source(share, scan->relid);
	MemoryContext old = MemoryContextSwitchTo(share->cxt);

	if (e == NULL)
	{
		e = palloc0(sizeof(DdirSourceEntry));
		e->relid = scan->relid;
		e->type = relation_type(scan->relid);
		if (scan->is_view)
		{
			e->node = find_view(share, scan->relid);
			if (e->node == NULL)
				ereport(ERROR,
						(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						 errmsg("view \"%s\" is not maintained at the moment",
								get_rel_name(scan->relid))));
			ddir_node_hold(e->node);
		}
		else
			e->node = ddir_source_create(share->graph, get_rel_name(scan->relid));
		share->sources = lappend(share->sources, e);
	}
	e->used = bms_add_members(e->used, scan->used);
	e->flows = list_append_unique_ptr(e->flows, b->flow);
	MemoryContextSwitchTo(old);

	old = MemoryContextSwitchTo(b->flow->cxt);
	b->flow->inputs = list_append_unique_oid(b->flow->inputs, scan->relid);
	MemoryContextSwitchTo(old);
	return e;
}

DdirNode *
ddir_share_source(DdirShare *share, Oid relid)
{
	DdirSourceEntry *e = find_source(share, relid);

	return e ? e->node : NULL;
}

Bitmapset *
ddir_share_used(DdirShare *share, Oid relid)
{
	DdirSourceEntry *e = find_source(share, relid);

	return e ? e->used : NULL;
}

int
ddir_share_width(DdirShare *share, Oid relid)
{
	DdirSourceEntry *e = find_source(share, relid);

	return e ? e->type->natts : 0;
}

void
ddir_share_view(DdirShare *share, Oid view, DdirNode *output)
{
	MemoryContext old = MemoryContextSwitchTo(share->cxt);
	ListCell   *lc;

	foreach(lc, share->views)
	{
		DdirViewEntry *e = lfirst(lc);

		if (e->view == view)
		{
			share->views = foreach_delete_current(share->views, lc);
			pfree(e);
			break;
		}
	}
	if (output)
	{
		DdirViewEntry *e = palloc(sizeof(DdirViewEntry));

		e->view = view;
		e->output = output;
		share->views = lappend(share->views, e);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Arrangements
 */

/* Every qual of "weaker" is among those of "stronger". */
static bool
quals_subset(List *weaker, List *stronger)
{
	ListCell   *lc;

	foreach(lc, weaker)
		if (!list_member(stronger, lfirst(lc)))
			return false;
	return true;
}

/* The same bytes for the same values, and room for what is found by them. */
static bool
same_key(const DdirKeySpec *a, const DdirKeySpec *b)
{
	return a->kind == b->kind && a->ncols == b->ncols && ddir_key_compatible(a, b);
}

static bool
serves(const DdirArranged *a, Oid relid, Oid owner, List *keys, const DdirKeySpec *key,
	   Bitmapset *needed, List *quals)
{
	int			att = -1;

	if (a->relid != relid || a->owner != owner || a->attmap == NULL ||
		!same_key(a->key, key) || !equal(a->keys, keys) || !quals_subset(a->quals, quals))
		return false;
	/* what its filter does not say is tested after the probe */
	needed = bms_union(needed, ddir_expr_columns((Node *) list_difference(quals, a->quals), 0));
	while ((att = bms_next_member(needed, att)) >= 0)
		if (att > a->natts || a->attmap[att - 1] == 0)
			return false;
	return true;
}

/* "orders by (customer, region)", for people */
static char *
arranged_label(const DdirStream *s, List *keys)
{
	StringInfoData buf;
	ListCell   *lc;
	bool		first = true;

	initStringInfo(&buf);
	appendStringInfo(&buf, "%s by (",
					 OidIsValid(s->relid) ? get_rel_name(s->relid) : "derived");
	foreach(lc, keys)
	{
		Node	   *key = lfirst(lc);

		if (!first)
			appendStringInfoString(&buf, ", ");
		first = false;
		if (IsA(key, Var) && OidIsValid(s->relid))
			appendStringInfoString(&buf, get_attname(s->relid, ((Var *) key)->varattno, false));
		else if (IsA(key, Var))
			appendStringInfo(&buf, "column %d", ((Var *) key)->varattno);
		else
			appendStringInfoString(&buf, "expression");
	}
	appendStringInfoChar(&buf, ')');
	return buf.data;
}

/* Vals of an arrangement over a source: the needed columns, in order. */
static List *
project_columns(DdirArranged *a, const DdirRowType *type, Bitmapset *needed)
{
	List	   *targets = NIL;
	int			att = -1;

	a->natts = type->natts;
	a->attmap = palloc0(sizeof(AttrNumber) * Max(1, type->natts));
	while ((att = bms_next_member(needed, att)) >= 0)
	{
		const DdirColumnType *col = &type->col[att - 1];

		targets = lappend(targets, makeVar(1, att, col->typid, col->typmod,
										   col->collation, 0));
		a->attmap[att - 1] = list_length(targets);
	}
	return targets;
}

static void
use_arranged(DdirBuild *b, DdirArranged *a)
{
	MemoryContext old;

	if (list_member_ptr(a->flows, b->flow))
		return;
	old = MemoryContextSwitchTo(a->cxt);
	a->flows = lappend(a->flows, b->flow);
	MemoryContextSwitchTo(old);
	ddir_node_hold(a->node);
	ddir_flow_keep(b, a->node, 0, NULL);
	a->node->tag = 0;			/* of several */
}

static DdirArranged *
make_arranged(DdirBuild *b, const DdirStream *s, List *keys, const DdirKeySpec *key,
			  Bitmapset *needed, List *quals, bool shared, Oid owner)
{
	MemoryContext cxt = AllocSetContextCreate(shared ? b->share->cxt : b->flow->cxt,
											  "ddir arrangement", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirArranged *a = palloc0(sizeof(DdirArranged));
	DdirProgramSpec spec = {0};
	List	   *targets;

	a->cxt = cxt;
	a->relid = s->relid;
	a->owner = owner;
	a->quals = copyObject(quals);
	a->keys = copyObject(keys);
	a->key = ddir_key_copy(key);
	a->label = arranged_label(s, keys);
	a->rows = s->rows;
	if (shared)
		targets = project_columns(a, s->node_type, needed);
	else
		targets = copyObject(ddir_stream_targets(s));
	a->targets = targets;
	a->val_type = ddir_rowtype_from_exprs(targets);

	spec.label = a->label;
	spec.owner = owner;
	spec.nrel = 1;
	spec.rel = &s->node_type;
	spec.quals = a->quals;
	spec.targets = targets;
	spec.keys = a->keys;
	spec.key = a->key;
	a->node = ddir_arrange_create(b->share->graph, a->label, s->node,
								  ddir_program_make(cxt, &spec));
	a->flows = list_make1(b->flow);
	MemoryContextSwitchTo(old);

	ddir_flow_keep(b, a->node, 1, &s);
	b->flow->state_bytes += a->rows * (24 + 9 * list_length(targets));
	return a;
}

static bool
same_derived(const DdirArranged *a, const DdirStream *s, List *keys, const DdirKeySpec *key,
			 List *quals)
{
	return a->node->in[0] == s->node && same_key(a->key, key) &&
		equal(a->keys, keys) && equal(a->quals, quals) &&
		equal(a->targets, ddir_stream_targets(s));
}

DdirArranged *
ddir_share_arrange(DdirBuild *b, const DdirStream *s, List *keys, const DdirKeySpec *key,
				   Bitmapset *needed, List *extra_quals, List **leftover)
{
	List	   *node_keys = ddir_stream_exprs(s, keys);
	List	   *quals = list_concat(list_copy(s->quals), ddir_stream_exprs(s, extra_quals));
	bool		shared = ddir_stream_is_columns(s);
	Oid			owner = ddir_exprs_owner(list_concat(list_copy(node_keys), quals), b->owner);
	DdirArranged *a;
	MemoryContext old;
	ListCell   *lc;

	foreach(lc, shared ? b->share->arranged : b->own)
	{
		a = lfirst(lc);
		if (shared ? serves(a, s->relid, owner, node_keys, key, needed, quals) :
			same_derived(a, s, node_keys, key, quals))
		{
			List	   *rest = list_difference(quals, a->quals);

			if (leftover)
				*leftover = rest;
			else if (rest != NIL)
				continue;
			ddir_flow_line(b, "arrangement %s: shared", a->label);
			use_arranged(b, a);
			return a;
		}
	}

	if (leftover)
		*leftover = NIL;
	a = make_arranged(b, s, node_keys, key, needed, quals, shared, owner);
	old = MemoryContextSwitchTo(shared ? b->share->cxt : CurrentMemoryContext);
	if (shared)
		b->share->arranged = lappend(b->share->arranged, a);
	else
		b->own = lappend(b->own, a);
	MemoryContextSwitchTo(old);
	ddir_flow_line(b, "arrangement %s: new", a->label);
	return a;
}

/*
 * Release the flow's nodes, consumers first, and forget what nobody uses.
 */
void
ddir_flow_drop(DdirFlow *flow, DdirShare *share)
{
	ListCell   *lc;

	for (int i = list_length(flow->nodes) - 1; i >= 0; i--)
		ddir_node_release(list_nth(flow->nodes, i));

	foreach(lc, share->arranged)
	{
		DdirArranged *a = lfirst(lc);

		a->flows = list_delete_ptr(a->flows, flow);
		if (a->flows == NIL)
		{
			share->arranged = foreach_delete_current(share->arranged, lc);
			MemoryContextDelete(a->cxt);
		}
	}
	foreach(lc, share->sources)
	{
		DdirSourceEntry *e = lfirst(lc);

		e->flows = list_delete_ptr(e->flows, flow);
		if (e->flows == NIL)
		{
			share->sources = foreach_delete_current(share->sources, lc);
			ddir_node_release(e->node);
			pfree(e);
		}
	}
	MemoryContextDelete(flow->cxt);
}

static char *
column_names(const DdirArranged *a)
{
	StringInfoData buf;

	initStringInfo(&buf);
	for (int i = 0; i < a->natts; i++)
		if (a->attmap[i])
			appendStringInfo(&buf, "%s%s", buf.len ? ", " : "",
							 get_attname(a->relid, i + 1, true));
	return buf.data;
}

List *
ddir_share_arrangements(DdirShare *share)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, share->arranged)
	{
		DdirArranged *a = lfirst(lc);
		DdirArrangementInfo *info = palloc0(sizeof(DdirArrangementInfo));
		DdirNodeStats stats;
		uint64_t	t = 0;
		ListCell   *cell;

		ddir_node_stats(a->node, &stats);
		info->relid = a->relid;
		info->input = get_rel_name(a->relid);
		info->key = pstrdup(a->label);
		info->columns = column_names(a);
		foreach(cell, a->flows)
			info->views = lappend_oid(info->views, ((DdirFlow *) lfirst(cell))->view);
		info->rows = stats.rows;
		info->bytes = stats.bytes;
		if (stats.spine)
		{
			if (ddir_frontier_floor(ddir_spine_since(stats.spine), &t))
				info->since = t;
			if (ddir_frontier_floor(ddir_spine_upper(stats.spine), &t))
				info->upper = t;
		}
		result = lappend(result, info);
	}
	return result;
}
