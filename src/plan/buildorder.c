/*-------------------------------------------------------------------------
 *
 * buildorder.c
 *	  LIMIT, DISTINCT ON and windows: from a TopK or a Window to an arrangement
 *	  and an operator.
 *
 * A val of an arrangement in order is the encodings of what rows are ordered by,
 * one after the other, then the row.  Windows whose functions need whole
 * partitions have an arrangement of the rows alone.
 *
 * src/plan/buildorder.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "plan/estimate.h"
#include "plan/flow.h"
#include "plan/lowering.h"
#include "rows/place.h"
#include "rows/window.h"

/* The rows of each group in their order; types: of what orders them. */
static DdirNode *
arrange_in_order(DdirBuild *b, DdirRel *rel, const DdirStream *s, const char *label,
				 DdirOrderTypes *types)
{
	DdirKeySpec *key = ddir_group_key(rel->keys);
	int			n = list_length(rel->order);
	bool	   *descending = palloc(sizeof(bool) * (n + 1));
	bool	   *nulls_first = palloc(sizeof(bool) * (n + 1));
	DdirProgramSpec spec = {0};
	List	   *order = NIL;
	double		width = 0;
	DdirNode   *node;
	DdirMade   *made;
	ListCell   *lc;

	foreach(lc, rel->order)
	{
		DdirOrderKey *k = lfirst(lc);
		int			i = foreach_current_index(lc);

		if (!ddir_order_key_encodes(k, &descending[i]))
			elog(ERROR, "an order of type %u has no encoding", exprType((Node *) k->expr));
		nulls_first[i] = k->nulls_first;
		types->typid[i] = getBaseType(exprType((Node *) k->expr));
		order = lappend(order, k->expr);
	}
	types->n = n;
	for (int a = 1; a <= rel->input[0]->type->natts; a++)
		width += ddir_estimate_width(rel->input[0], a);

	spec.label = label;
	spec.owner = b->owner;
	spec.nrel = 1;
	spec.rel = &s->node_type;
	spec.quals = s->quals;
	spec.targets = ddir_stream_targets(s);
	spec.keys = ddir_stream_exprs(s, ddir_key_exprs(rel->keys));
	spec.key = key;
	spec.order = ddir_stream_exprs(s, order);
	spec.descending = descending;
	spec.nulls_first = nulls_first;
	node = ddir_arrange_create(b->share->graph, label, s->node,
							   ddir_program_make(b->flow->cxt, &spec));
	ddir_flow_keep(b, node, 1, &s);
	made = ddir_flow_note(b, 0, "arrangement", "in order, for %s", label);
	made->sharing = "new";
	ddir_flow_holds(b, made, node, s->rows,
					ddir_share_bytes(s->rows, width + ddir_exprs_width(order), false, key->ncols,
									 key->ncols > 0 ? key->col[0].width : -1,
									 ddir_exprs_width(ddir_key_exprs(rel->keys))));
	return node;
}

static DdirOrderTypes *
order_types(DdirBuild *b, DdirRel *rel)
{
	return MemoryContextAlloc(b->flow->cxt, offsetof(DdirOrderTypes, typid) +
							  sizeof(Oid) * list_length(rel->order));
}

DdirStream
ddir_build_topk(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s = ddir_build_rel(b, rel->input[0]);
	DdirOrderTypes *types = order_types(b, rel);
	DdirTopkSpec spec = {
		.limit = rel->limit,
		.offset = rel->offset,
		.ties = rel->ties,
		.order = ddir_order_prefix,
		.ctx = types
	};
	const DdirStream *none = NULL;
	DdirNode   *arranged = arrange_in_order(b, rel, &s, "top-k", types);
	DdirNode   *node = ddir_topk_create(b->share->graph, "top-k", arranged, &spec);

	ddir_flow_keep(b, node, 1, &none);
	ddir_flow_note(b, 0, "top-k", "by %d columns, in order of %d", list_length(rel->keys),
				   list_length(rel->order));
	return ddir_stream_of(node, ddir_rowtype_copy(rel->type), rel->rows);
}

/* ----
 * Windows
 * ----
 */

/* The rows of each partition, in no order but their images'. */
static DdirNode *
arrange_partitions(DdirBuild *b, DdirRel *rel, const DdirStream *s, DdirKeySpec *key)
{
	DdirProgramSpec spec = {0};
	double		width = 0;
	DdirNode   *node;
	DdirMade   *made;

	for (int a = 1; a <= rel->input[0]->type->natts; a++)
		width += ddir_estimate_width(rel->input[0], a);
	spec.label = "window";
	spec.owner = b->owner;
	spec.nrel = 1;
	spec.rel = &s->node_type;
	spec.quals = s->quals;
	spec.targets = ddir_stream_targets(s);
	spec.keys = ddir_stream_exprs(s, ddir_key_exprs(rel->keys));
	spec.key = key;
	node = ddir_arrange_create(b->share->graph, "window", s->node,
							   ddir_program_make(b->flow->cxt, &spec));
	ddir_flow_keep(b, node, 1, &s);
	made = ddir_flow_note(b, 0, "arrangement", "by partition, for a window");
	made->sharing = "new";
	ddir_flow_holds(b, made, node, s->rows,
					ddir_share_bytes(s->rows, width, false, key->ncols,
									 key->ncols > 0 ? key->col[0].width : -1,
									 ddir_exprs_width(ddir_key_exprs(rel->keys))));
	return node;
}

static int
column_number(Expr *expr)
{
	return castNode(Var, expr)->varattno - 1;
}

DdirStream
ddir_build_window(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s = ddir_build_rel(b, rel->input[0]);
	DdirKeySpec *key = ddir_group_key(rel->keys);
	int		   *keycol = palloc(sizeof(int) * (list_length(rel->keys) + 1));
	DdirWindowOrder *order = palloc(sizeof(DdirWindowOrder) * (list_length(rel->order) + 1));
	DdirWindowPlan plan = {
		.type = rel->input[0]->type,
		.key = key,
		.keycol = keycol,
		.norder = list_length(rel->order),
		.order = order,
		.frame = rel->frame,
		.funcs = rel->funcs,
		.owner = b->owner
	};
	const DdirStream *none = NULL;
	DdirNode   *arranged;
	DdirNode   *node;
	ListCell   *lc;

	foreach(lc, rel->keys)
	{
		keycol[foreach_current_index(lc)] = column_number(((DdirGroupKey *) lfirst(lc))->expr);
	}
	foreach(lc, rel->order)
	{
		DdirOrderKey *k = lfirst(lc);
		DdirWindowOrder *o = &order[foreach_current_index(lc)];

		o->column = column_number(k->expr);
		o->sortop = k->sortop;
		o->nulls_first = k->nulls_first;
	}
	if (rel->order && ddir_places_suffice(rel->frame, rel->funcs) &&
		ddir_topk_possible(rel->keys, rel->order))
	{
		DdirOrderTypes *types = order_types(b, rel);

		arranged = arrange_in_order(b, rel, &s, "a window", types);
		node = ddir_ordered_create(b->share->graph, "window", arranged,
								   ddir_places_make(b->flow->cxt, &plan, types));
		ddir_flow_keep(b, node, 1, &none);
		ddir_flow_note(b, 0, "window", "by %d columns, in order of %d, %d functions: from where rows change on",
					   list_length(rel->keys), list_length(rel->order), list_length(rel->funcs));
		return ddir_stream_of(node, ddir_rowtype_copy(rel->type), rel->rows);
	}
	arranged = arrange_partitions(b, rel, &s, key);
	node = ddir_partition_create(b->share->graph, "window", arranged,
								 ddir_window_make(b->flow->cxt, &plan));
	ddir_flow_keep(b, node, 1, &none);
	ddir_flow_note(b, 0, "window", "by %d columns, in order of %d, %d functions: all rows of partitions that change",
				   list_length(rel->keys), list_length(rel->order), list_length(rel->funcs));
	return ddir_stream_of(node, ddir_rowtype_copy(rel->type), rel->rows);
}
