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

#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_index.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "plan/estimate.h"
#include "plan/flow.h"
#include "plan/prune.h"

/*
 * A row of an arrangement beside its columns: its hash, and its part of the
 * directory; an offset where widths vary.
 */
#define ROW_BYTES 9.5
#define OFFSET_BYTES 4.0

/* What an empty one takes. */
#define EMPTY_BYTES 15000.0

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

/* The entry of what is scanned, made on first use. */
static DdirSourceEntry *
source_entry(DdirShare *share, const DdirRel *scan)
{
	DdirSourceEntry *e = find_source(share, scan->relid);
	MemoryContext old;

	if (e)
		return e;
	old = MemoryContextSwitchTo(share->cxt);
	e = palloc0(sizeof(DdirSourceEntry));
	e->relid = scan->relid;
	e->type = relation_type(scan->relid);
	if (scan->is_view && !share->planning)
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
	MemoryContextSwitchTo(old);
	return e;
}

DdirSourceEntry *
ddir_share_source_entry(DdirBuild *b, const DdirRel *scan)
{
	DdirSourceEntry *e = source_entry(b->share, scan);
	MemoryContext old = MemoryContextSwitchTo(b->share->cxt);

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
serves(const DdirArranged *a, const DdirWanted *w)
{
	Bitmapset  *needed = w->needed;
	List	   *rest;
	int			att = -1;

	if (a->relid != w->stream->relid || a->owner != w->owner || a->attmap == NULL ||
		!same_key(a->key, w->key) || !equal(a->keys, w->keys) ||
		!quals_subset(a->quals, w->quals))
		return false;
	/* what its filter does not say is tested after the probe */
	rest = list_difference(w->quals, a->quals);
	if (w->exact && rest != NIL)
		return false;
	needed = bms_union(needed, ddir_expr_columns((Node *) rest, 0));
	while ((att = bms_next_member(needed, att)) >= 0)
		if (att > a->natts || a->attmap[att - 1] == 0)
			return false;
	return true;
}

static bool
same_derived(const DdirArranged *a, const DdirWanted *w)
{
	return a->node->in[0] == w->stream->node && same_key(a->key, w->key) &&
		equal(a->keys, w->keys) && equal(a->quals, w->quals) &&
		equal(a->targets, ddir_stream_targets(w->stream));
}

bool
ddir_share_covers(const DdirWanted *made, const DdirWanted *w)
{
	List	   *rest;

	if (made->stream->node != w->stream->node || made->owner != w->owner ||
		!same_key(made->key, w->key) || !equal(made->keys, w->keys) ||
		!quals_subset(made->quals, w->quals))
		return false;
	rest = list_difference(w->quals, made->quals);
	if (!ddir_stream_is_columns(w->stream))
		return rest == NIL && equal(ddir_stream_targets(made->stream),
									ddir_stream_targets(w->stream));
	return (rest == NIL || !w->exact) && ddir_stream_is_columns(made->stream) &&
		bms_is_subset(bms_union(w->needed, ddir_expr_columns((Node *) rest, 0)), made->needed);
}

/*
 * Estimates of bytes
 */

double
ddir_share_bytes(double rows, double vals, bool fixed, int nkeys, int first, double key_width)
{
	double		bytes = ROW_BYTES + 1 + vals + (fixed ? 0 : OFFSET_BYTES);

	/* a key of eight bytes is its hash */
	if (nkeys == 1 && first > 0)
		bytes += first == 8 ? 0 : first;
	else if (nkeys > 0)
		bytes += key_width + OFFSET_BYTES;
	return EMPTY_BYTES + rows * bytes;
}

static double
key_bytes(const DdirWanted *w)
{
	double		bytes = 0;

	for (int i = 0; i < w->key->ncols; i++)
	{
		Node	   *expr = list_nth(w->keys, i);
		int32		width = 0;

		if (w->key->col[i].width > 0)
			width = w->key->col[i].width;
		else if (IsA(expr, Var) && OidIsValid(w->stream->relid))
			width = get_attavgwidth(w->stream->relid, ((Var *) expr)->varattno);
		if (width <= 0)
			width = get_typavgwidth(exprType(expr), exprTypmod(expr));
		bytes += width;
	}
	return bytes;
}

/*
 * Rows that are the same in all columns kept are one.  Of several columns
 * together nobody knows how many that leaves, so only one is looked at.
 */
static void
set_bytes(DdirWanted *w)
{
	const DdirStream *s = w->stream;
	double		vals = 0;
	bool		fixed = true;
	int			a = -1;

	w->rows = s->rows;
	if (ddir_stream_is_columns(s))
	{
		while ((a = bms_next_member(w->needed, a)) >= 0)
		{
			const DdirColumnType *col = &s->node_type->col[a - 1];
			int32		width = col->typlen > 0 ? col->typlen : get_attavgwidth(s->relid, a);

			vals += width > 0 ? width : get_typavgwidth(col->typid, col->typmod);
			fixed = fixed && col->typlen > 0;
		}
	}
	else
		for (a = 1; a <= s->rel->type->natts; a++)
		{
			vals += ddir_estimate_width(s->rel, a);
			fixed = fixed && s->rel->type->col[a - 1].typlen > 0;
		}
	if (s->rel->kind == DDIR_REL_SCAN)
	{
		if (bms_membership(w->needed) == BMS_SINGLETON)
			w->rows = ddir_estimate_distinct(s->rel, w->needed);
	}
	else if (s->rel->type->natts == 1)
		w->rows = ddir_estimate_distinct(s->rel, bms_make_singleton(1));
	w->bytes = ddir_share_bytes(w->rows, vals, fixed, w->key->ncols,
								w->key->ncols > 0 ? w->key->col[0].width : -1, key_bytes(w));
}

void
ddir_share_widen(List *wanted)
{
	ListCell   *lc;
	ListCell   *cell;

	foreach(lc, wanted)
	{
		DdirWanted *w = lfirst(lc);

		foreach(cell, wanted)
		{
			DdirWanted *other = lfirst(cell);

			if (w == other || w->stream->node != other->stream->node ||
				!ddir_stream_is_columns(w->stream) || !ddir_stream_is_columns(other->stream) ||
				w->owner != other->owner || bms_is_subset(other->needed, w->needed) ||
				!same_key(w->key, other->key) || !equal(w->keys, other->keys) ||
				!quals_subset(w->quals, other->quals) || !quals_subset(other->quals, w->quals))
				continue;
			w->needed = bms_union(w->needed, other->needed);
			set_bytes(w);
		}
	}
}

/*
 * Making and finding them
 */

/* Names of what a derived stream is made from: "(a, b)". */
static void
append_origins(StringInfo buf, const DdirRel *rel)
{
	List	   *rels = ddir_rels_in_order(unconstify(DdirRel *, rel), NULL);
	bool		first = true;
	ListCell   *lc;

	appendStringInfoChar(buf, '(');
	foreach(lc, rels)
	{
		DdirRel    *each = lfirst(lc);

		if (each->kind != DDIR_REL_SCAN && each->kind != DDIR_REL_CONSTANT)
			continue;
		appendStringInfo(buf, "%s%s", first ? "" : ", ",
						 each->kind == DDIR_REL_SCAN ? get_rel_name(each->relid) : "values");
		first = false;
	}
	appendStringInfoChar(buf, ')');
}

/* "orders by (customer, region)", for people; keys over the stream's columns */
static char *
arranged_label(const DdirStream *s, List *keys)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	if (OidIsValid(s->relid))
		appendStringInfoString(&buf, get_rel_name(s->relid));
	else
		append_origins(&buf, s->rel);
	appendStringInfoString(&buf, " by (");
	foreach(lc, keys)
	{
		Node	   *key = lfirst(lc);

		if (foreach_current_index(lc) > 0)
			appendStringInfoString(&buf, ", ");
		if (IsA(key, Var))
			appendStringInfoString(&buf, ddir_rel_column_name(s->rel, ((Var *) key)->varattno));
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

/* A flow holds it once, whatever for. */
static void
hold_arranged(DdirArranged *a, DdirFlow *flow, List **as)
{
	bool		held = list_member_ptr(a->flows, flow) || list_member_ptr(a->keepers, flow);
	MemoryContext old = MemoryContextSwitchTo(a->cxt);

	*as = list_append_unique_ptr(*as, flow);
	MemoryContextSwitchTo(old);
	if (held)
		return;
	old = MemoryContextSwitchTo(flow->cxt);
	flow->nodes = lappend(flow->nodes, a->node);
	MemoryContextSwitchTo(old);
	ddir_node_hold(a->node);
	a->node->tag = 0;			/* of several */
}

static DdirArranged *
make_arranged(DdirBuild *b, const DdirWanted *w)
{
	const DdirStream *s = w->stream;
	bool		shared = ddir_stream_is_columns(s);
	MemoryContext cxt = AllocSetContextCreate(shared ? b->share->cxt : b->flow->cxt,
											  "ddir arrangement", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirArranged *a = palloc0(sizeof(DdirArranged));
	DdirProgramSpec spec = {0};
	List	   *targets;

	a->cxt = cxt;
	a->relid = s->relid;
	a->owner = w->owner;
	a->quals = copyObject(w->quals);
	a->keys = copyObject(w->keys);
	a->key = ddir_key_copy(w->key);
	a->label = pstrdup(w->label);
	a->rows = w->rows;
	a->bytes = w->bytes;
	if (shared)
		targets = project_columns(a, s->node_type, w->needed);
	else
		targets = copyObject(ddir_stream_targets(s));
	a->targets = targets;
	a->val_type = ddir_rowtype_from_exprs(targets);

	spec.label = a->label;
	spec.owner = w->owner;
	spec.nrel = 1;
	spec.rel = &s->node_type;
	spec.quals = a->quals;
	spec.targets = targets;
	spec.keys = a->keys;
	spec.key = a->key;
	a->func = ddir_program_make(cxt, &spec);
	a->node = ddir_arrange_create(b->share->graph, a->label, s->node, a->func);
	a->flows = list_make1(b->flow);
	MemoryContextSwitchTo(old);

	ddir_flow_keep(b, a->node, 1, &s);
	return a;
}

DdirWanted *
ddir_share_want(DdirBuild *b, const DdirStream *s, List *keys, const DdirKeySpec *key,
				Bitmapset *needed, List *extra_quals, bool exact)
{
	DdirWanted *w = palloc0(sizeof(DdirWanted));

	w->stream = s;
	w->keys = ddir_stream_exprs(s, keys);
	w->key = key;
	w->needed = needed;
	w->quals = list_concat(list_copy(s->quals), ddir_stream_exprs(s, extra_quals));
	w->exact = exact;
	w->owner = ddir_exprs_owner(list_concat(list_copy(w->keys), w->quals), b->owner);
	w->label = arranged_label(s, keys);
	set_bytes(w);
	return w;
}

DdirArranged *
ddir_share_find(DdirBuild *b, const DdirWanted *w)
{
	bool		shared = ddir_stream_is_columns(w->stream);
	ListCell   *lc;

	foreach(lc, shared ? b->share->arranged : b->own)
	{
		DdirArranged *a = lfirst(lc);

		if (shared ? serves(a, w) : same_derived(a, w))
			return a;
	}
	return NULL;
}

DdirArranged *
ddir_share_arrange(DdirBuild *b, const DdirWanted *w, List **leftover)
{
	DdirArranged *a = ddir_share_find(b, w);
	DdirMade   *made;
	MemoryContext old;

	Assert(leftover != NULL || w->exact);
	if (leftover)
		*leftover = a ? list_difference(w->quals, a->quals) : NIL;
	if (a)
	{
		if (list_member_ptr(a->flows, b->flow))
			return a;
		if (!list_member_ptr(a->keepers, b->flow))
		{
			made = ddir_flow_note(b, 0, "arrangement", "%s", a->label);
			made->sharing = "shared";
			made->node = a->node;
			made->rows = a->rows;
			made->bytes = a->bytes;
		}
		hold_arranged(a, b->flow, &a->flows);
		return a;
	}

	a = make_arranged(b, w);
	if (ddir_stream_is_columns(w->stream))
	{
		old = MemoryContextSwitchTo(b->share->cxt);
		b->share->arranged = lappend(b->share->arranged, a);
		MemoryContextSwitchTo(old);
	}
	else
		b->own = lappend(b->own, a);
	made = ddir_flow_note(b, 0, "arrangement", "%s", a->label);
	made->sharing = "new";
	ddir_flow_holds(b, made, a->node, a->rows, a->bytes);
	return a;
}

/*
 * Rows by key
 *
 * Each flow that reads such a table holds an arrangement by the key of all the
 * columns that are used of it when the flow is made.  The widest of those that
 * are there has what any of the flows uses.
 */

static DdirByKeyEntry *
find_by_key_entry(DdirShare *share, Oid relid)
{
	ListCell   *lc;

	foreach(lc, share->by_key)
	{
		DdirByKeyEntry *e = lfirst(lc);

		if (e->relid == relid)
			return e;
	}
	return NULL;
}

/* The columns as expressions over the table's rows. */
static List *
key_exprs(const DdirRowType *type, List *atts)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, atts)
	{
		const DdirColumnType *col = &type->col[lfirst_int(lc) - 1];

		exprs = lappend(exprs, makeVar(1, lfirst_int(lc), col->typid, col->typmod,
									   col->collation, 0));
	}
	return exprs;
}

/*
 * As joins encode it, so that they can use it too; but where equal keys need
 * not be one row, or equal bytes not be equal keys, by the images.
 */
static DdirKeySpec *
key_spec(const DdirRowType *type, List *atts, bool plain)
{
	DdirKeySpec *spec;
	Oid			typids[INDEX_MAX_KEYS] = {0};
	Oid			collations[INDEX_MAX_KEYS] = {0};
	ListCell   *lc;

	foreach(lc, atts)
	{
		const DdirColumnType *col = &type->col[lfirst_int(lc) - 1];

		typids[foreach_current_index(lc)] = col->typid;
		collations[foreach_current_index(lc)] = col->collation;
	}
	if (plain)
	{
		spec = ddir_key_make(DDIR_KEY_JOIN, list_length(atts), typids, collations, NULL);
		if (spec->exact)
			return spec;
	}
	return ddir_key_make(DDIR_KEY_IDENTITY, list_length(atts), typids, collations, NULL);
}

void
ddir_share_by_key(DdirShare *share, Oid relid, const DdirRowType *type, List *atts, bool plain,
				  const Bitmapset *needed)
{
	DdirByKeyEntry *e = find_by_key_entry(share, relid);
	MemoryContext cxt;
	MemoryContext old;

	if (e)
	{
		share->by_key = list_delete_ptr(share->by_key, e);
		MemoryContextDelete(e->cxt);
	}
	if (atts == NIL)
		return;
	cxt = AllocSetContextCreate(share->cxt, "ddir rows by key", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	e = palloc0(sizeof(DdirByKeyEntry));
	e->relid = relid;
	e->cxt = cxt;
	e->keys = key_exprs(type, atts);
	e->spec = key_spec(type, atts, plain);
	e->needed = bms_copy(needed);
	MemoryContextSwitchTo(share->cxt);
	share->by_key = lappend(share->by_key, e);
	MemoryContextSwitchTo(old);
}

DdirFunc
ddir_share_key_func(MemoryContext cxt, const DdirRowType *type, List *atts, bool plain)
{
	DdirProgramSpec spec = {0};

	spec.label = "key of a row";
	spec.nrel = 1;
	spec.rel = &type;
	spec.no_row = true;
	spec.keys = key_exprs(type, atts);
	spec.key = key_spec(type, atts, plain);
	return ddir_program_make(cxt, &spec);
}

static bool
is_by_key(const DdirArranged *a, const DdirByKeyEntry *e)
{
	return a->relid == e->relid && a->keepers != NIL && a->quals == NIL && !a->node->fresh &&
		equal(a->keys, e->keys) && same_key(a->key, e->spec);
}

static int
width_of(const DdirArranged *a)
{
	int			n = 0;

	for (int i = 0; i < a->natts; i++)
		n += a->attmap[i] != 0;
	return n;
}

static DdirArranged *
widest_by_key(DdirShare *share, const DdirByKeyEntry *e)
{
	DdirArranged *widest = NULL;
	ListCell   *lc;

	foreach(lc, share->arranged)
	{
		DdirArranged *a = lfirst(lc);

		if (is_by_key(a, e) && (widest == NULL || width_of(a) > width_of(widest)))
			widest = a;
	}
	return widest;
}

bool
ddir_share_find_by_key(DdirShare *share, Oid relid, DdirByKey *found)
{
	DdirSourceEntry *source = find_source(share, relid);
	DdirByKeyEntry *e = find_by_key_entry(share, relid);
	DdirArranged *a = source && e ? widest_by_key(share, e) : NULL;

	if (a == NULL)
		return false;
	found->type = source->type;
	found->key = a->func;
	found->trace = ddir_arrange_spine(a->node);
	found->val = a->val_type;
	found->att = a->attmap;
	return true;
}

void
ddir_share_keep_by_key(DdirBuild *b, const DdirStream *s)
{
	DdirByKeyEntry *e = find_by_key_entry(b->share, s->relid);
	DdirWanted *w;
	DdirArranged *a;
	bool		joined;

	if (e == NULL)
		return;
	w = ddir_share_want(b, s, e->keys, e->spec, e->needed, NIL, true);
	a = ddir_share_find(b, w);
	joined = a && list_member_ptr(a->flows, b->flow);
	a = ddir_share_arrange(b, w, NULL);
	hold_arranged(a, b->flow, &a->keepers);
	if (!joined)
		a->flows = list_delete_ptr(a->flows, b->flow);
}

/* What nobody holds is gone. */
static void
forget_unused(DdirShare *share)
{
	ListCell   *lc;

	foreach(lc, share->arranged)
	{
		DdirArranged *a = lfirst(lc);

		if (a->flows != NIL || a->keepers != NIL)
			continue;
		share->arranged = foreach_delete_current(share->arranged, lc);
		MemoryContextDelete(a->cxt);
	}
}

/* The flow has let go of an arrangement, and has its rows in another one. */
static void
note_instead(DdirFlow *flow, const DdirArranged *gone, const DdirArranged *a)
{
	DdirMade   *there = NULL;
	ListCell   *lc;

	foreach(lc, flow->made)
	{
		DdirMade   *made = lfirst(lc);

		if (made->node == a->node)
			there = made;
	}
	foreach(lc, flow->made)
	{
		DdirMade   *made = lfirst(lc);

		if (made->node != gone->node)
			continue;
		if (made->sharing && strcmp(made->sharing, "new") == 0)
			flow->state_bytes -= made->bytes;
		if (there)
		{
			flow->made = foreach_delete_current(flow->made, lc);
			continue;
		}
		made->text = MemoryContextStrdup(flow->cxt, a->label);
		made->sharing = "shared";
		made->node = a->node;
		made->rows = a->rows;
		made->bytes = a->bytes;
		there = made;
	}
}

void
ddir_share_settle_by_key(DdirShare *share, Oid relid)
{
	DdirByKeyEntry *e = find_by_key_entry(share, relid);
	DdirArranged *widest = e ? widest_by_key(share, e) : NULL;
	ListCell   *lc;

	if (widest == NULL)
		return;
	foreach(lc, share->arranged)
	{
		DdirArranged *a = lfirst(lc);
		ListCell   *cell;

		if (a == widest || !is_by_key(a, e))
			continue;
		foreach(cell, a->keepers)
		{
			DdirFlow   *flow = lfirst(cell);

			hold_arranged(widest, flow, &widest->keepers);
			if (list_member_ptr(a->flows, flow))
				continue;
			note_instead(flow, a, widest);
			flow->nodes = list_delete_ptr(flow->nodes, a->node);
			ddir_node_release(a->node);
		}
		list_free(a->keepers);
		a->keepers = NIL;
	}
	forget_unused(share);
}

/*
 * Describing them to other processes
 */

/* It is kept as a list: numbers, expressions, and what the key is made from. */
List *
ddir_share_describe(DdirShare *share)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, share->arranged)
	{
		DdirArranged *a = lfirst(lc);
		DdirDescribed *d = palloc(sizeof(DdirDescribed));
		List	   *atts = NIL;
		List	   *typids = NIL;
		List	   *collations = NIL;
		List	   *eqops = NIL;
		List	   *all;
		DdirNodeStats stats;

		for (int i = 0; i < a->natts; i++)
			if (a->attmap[i])
				atts = lappend_int(atts, i + 1);
		for (int i = 0; i < a->key->ncols; i++)
		{
			typids = lappend_oid(typids, a->key->col[i].typid);
			collations = lappend_oid(collations, a->key->col[i].collation);
			eqops = lappend_oid(eqops, a->key->col[i].eqop);
		}
		all = list_make5(list_make1_int(a->key->kind), list_make2_oid(a->relid, a->owner),
						 a->quals, a->keys, atts);
		all = lappend(lappend(lappend(all, typids), collations), eqops);

		ddir_node_stats(a->node, &stats);
		d->text = nodeToString(all);
		d->rows = stats.rows;
		d->bytes = stats.bytes;
		result = lappend(result, d);
	}
	return result;
}

static DdirKeySpec *
described_key(List *all)
{
	List	   *lists[3];
	Oid			oids[3][INDEX_MAX_KEYS];
	int			n = 0;

	for (int i = 0; i < 3; i++)
	{
		ListCell   *lc;

		lists[i] = list_nth(all, 5 + i);
		n = 0;
		foreach(lc, lists[i])
		{
			oids[i][n++] = lfirst_oid(lc);
		}
	}
	return ddir_key_make(linitial_int(linitial(all)), n, oids[0], oids[1], oids[2]);
}

static void
import_arranged(DdirShare *share, DdirRel *scan, List *all, const DdirDescribed *d)
{
	DdirSourceEntry *e = source_entry(share, scan);
	DdirArranged *a = palloc0(sizeof(DdirArranged));
	DdirStream	s = ddir_stream_of(e->node, e->type, d->rows);
	Bitmapset  *atts = NULL;
	DdirFunc	none = {0};
	ListCell   *lc;

	foreach(lc, (List *) list_nth(all, 4))
	{
		if (lfirst_int(lc) <= e->type->natts)
			atts = bms_add_member(atts, lfirst_int(lc));
	}
	s.relid = e->relid;
	s.rel = scan;
	a->cxt = AllocSetContextCreate(share->cxt, "ddir arrangement", ALLOCSET_SMALL_SIZES);
	a->relid = e->relid;
	a->owner = lsecond_oid(lsecond(all));
	a->quals = list_nth(all, 2);
	a->keys = list_nth(all, 3);
	a->key = described_key(all);
	a->label = arranged_label(&s, a->keys);
	a->rows = d->rows;
	a->bytes = d->bytes;
	a->targets = project_columns(a, e->type, atts);
	a->val_type = ddir_rowtype_from_exprs(a->targets);
	a->node = ddir_arrange_create(share->graph, a->label, e->node, none);
	share->arranged = lappend(share->arranged, a);
}

void
ddir_share_import(DdirShare *share, DdirRel *root, List *described)
{
	MemoryContext old = MemoryContextSwitchTo(share->cxt);
	List	   *rels = ddir_rels_in_order(root, NULL);
	ListCell   *lc;

	share->planning = true;
	foreach(lc, described)
	{
		DdirDescribed *d = lfirst(lc);
		List	   *all = stringToNode(d->text);
		Oid			relid = linitial_oid(lsecond(all));
		ListCell   *cell;

		foreach(cell, rels)
		{
			DdirRel    *rel = lfirst(cell);

			if (rel->kind == DDIR_REL_SCAN && rel->relid == relid)
			{
				import_arranged(share, rel, all, d);
				break;
			}
		}
	}
	MemoryContextSwitchTo(old);
}

/* Can none of the columns it is keyed by be NULL? */
static bool
keys_not_null(const DdirArranged *a)
{
	ListCell   *lc;

	foreach(lc, a->keys)
	{
		HeapTuple	tup;
		bool		not_null;

		if (!IsA(lfirst(lc), Var))
			return false;
		tup = SearchSysCache2(ATTNUM, ObjectIdGetDatum(a->relid),
							  Int16GetDatum(((Var *) lfirst(lc))->varattno));
		if (!HeapTupleIsValid(tup))
			return false;
		not_null = ((Form_pg_attribute) GETSTRUCT(tup))->attnotnull;
		ReleaseSysCache(tup);
		if (!not_null)
			return false;
	}
	return true;
}

/* Rows without a key are not in one for a join, and equal ones are there once. */
static bool
holds_each_row(const DdirArranged *a, const DdirRel *scan, bool planning)
{
	Bitmapset  *atts = NULL;

	if (a->relid != scan->relid || a->quals != NIL || (!planning && a->node->fresh) ||
		(a->key->kind == DDIR_KEY_JOIN && !keys_not_null(a)))
		return false;
	for (int i = 0; i < a->natts; i++)
		if (a->attmap[i])
			atts = bms_add_member(atts, i + 1);
	return ddir_rel_is_unique(scan, atts);
}

bool
ddir_share_measured(DdirShare *share, const DdirRel *scan, double *rows)
{
	ListCell   *lc;

	foreach(lc, share->arranged)
	{
		DdirArranged *a = lfirst(lc);
		DdirNodeStats stats;

		if (!holds_each_row(a, scan, share->planning))
			continue;
		ddir_node_stats(a->node, &stats);
		*rows = share->planning ? a->rows : stats.rows;
		return true;
	}
	return false;
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
		a->keepers = list_delete_ptr(a->keepers, flow);
	}
	forget_unused(share);
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
		foreach(cell, list_union_ptr(a->flows, a->keepers))
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
