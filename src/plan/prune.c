/*-------------------------------------------------------------------------
 *
 * prune.c
 *	  Dropping columns that nobody reads, and Maps that only choose columns.
 *
 * Lowering takes all columns of everything along.  Here it is found out, from
 * the root down, which columns of each relation are read by anyone; then the
 * relations are made again from the leaves up with those only.  A relation that
 * several others read keeps what any of them reads, and stays one.
 *
 * A Map without quals whose targets are columns disappears: whoever reads it
 * reads its input instead.  So a relation made again is found together with
 * where its old columns are now ("Pruned").
 *
 * Not dropped: keys of a Reduce, which make the groups, columns of a
 * Threshold, a TopK and a Window, which make rows the same, or order them, and
 * those of a FlatMap's functions.  Scans keep their columns' numbers, and are told
 * which are used.
 *
 * src/plan/prune.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"

#include "plan/prune.h"

typedef struct Pruned
{
	DdirRel    *old;
	Bitmapset  *needed;			/* columns of it, from 1 */
	DdirRel    *rel;			/* made again */
	AttrNumber *column;			/* by old column - 1: where it is; 0: nowhere */
} Pruned;

typedef struct PruneContext
{
	int			n;
	Pruned	   *pruned;			/* inputs before what reads them */
} PruneContext;

static void
list_rels(DdirRel *rel, List **rels, List **refs)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, *rels)
	{
		if (lfirst(lc) == rel)
		{
			if (refs)
				lfirst_int(list_nth_cell(*refs, foreach_current_index(lc)))++;
			return;
		}
	}
	for (int i = 0; i < rel->ninputs; i++)
		list_rels(rel->input[i], rels, refs);
	*rels = lappend(*rels, rel);
	if (refs)
		*refs = lappend_int(*refs, 1);
}

List *
ddir_rels_in_order(DdirRel *root, List **refs)
{
	List	   *rels = NIL;

	if (refs)
		*refs = NIL;
	list_rels(root, &rels, refs);
	return rels;
}

static Pruned *
pruned_of(PruneContext *cx, DdirRel *rel)
{
	for (int i = 0; i < cx->n; i++)
		if (cx->pruned[i].old == rel)
			return &cx->pruned[i];
	elog(ERROR, "a relation is not in its own tree");
}

/*
 * What is needed
 */

typedef struct NeedContext
{
	PruneContext *cx;
	DdirRel    *rel;
} NeedContext;

static void
need_var(Var *var, void *arg)
{
	NeedContext *need = arg;
	Pruned	   *input = pruned_of(need->cx, need->rel->input[var->varno - 1]);

	input->needed = bms_add_member(input->needed, var->varattno);
}

static void
need_expr(PruneContext *cx, DdirRel *rel, void *expr)
{
	NeedContext need = {cx, rel};

	ddir_vars_visit(expr, need_var, &need);
}

static void
need_all(PruneContext *cx, DdirRel *rel, int input, Bitmapset *columns)
{
	Pruned	   *of = pruned_of(cx, rel->input[input]);

	of->needed = bms_add_members(of->needed, columns);
}

/* What a relation of which these columns are needed needs of its inputs. */
static void
propagate(PruneContext *cx, Pruned *p)
{
	DdirRel    *rel = p->old;
	ListCell   *lc;
	int			nkeys = list_length(rel->keys);

	need_expr(cx, rel, rel->quals);
	foreach(lc, rel->equalities)
	{
		need_expr(cx, rel, ((DdirEquality *) lfirst(lc))->left_expr);
		need_expr(cx, rel, ((DdirEquality *) lfirst(lc))->right_expr);
	}
	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
		case DDIR_REL_CONSTANT:
			break;
		case DDIR_REL_MAP:
		case DDIR_REL_SCHEDULE:
		case DDIR_REL_JOIN:
			foreach(lc, rel->targets)
			{
				if (bms_is_member(foreach_current_index(lc) + 1, p->needed))
					need_expr(cx, rel, lfirst(lc));
			}
			break;
		case DDIR_REL_FLATMAP:
			need_expr(cx, rel, rel->functions);
			foreach(lc, rel->targets)
			{
				if (bms_is_member(foreach_current_index(lc) + 1, p->needed))
					need_expr(cx, rel, lfirst(lc));
			}
			break;
		case DDIR_REL_ANTI:
			need_all(cx, rel, 0, p->needed);
			break;
		case DDIR_REL_REDUCE:
			foreach(lc, rel->keys)
			{
				need_expr(cx, rel, ((DdirGroupKey *) lfirst(lc))->expr);
			}
			foreach(lc, rel->aggs)
			{
				if (bms_is_member(nkeys + foreach_current_index(lc) + 1, p->needed))
					need_expr(cx, rel, lfirst(lc));
			}
			break;
		case DDIR_REL_TOPK:
		case DDIR_REL_THRESHOLD:
			/* all columns tell which rows are the same, or order them */
			if (rel->type->natts > 0)
				p->needed = bms_add_range(p->needed, 1, rel->type->natts);
			/* FALLTHROUGH */
		case DDIR_REL_UNION:
		case DDIR_REL_NEGATE:
		case DDIR_REL_VALID:
			for (int i = 0; i < rel->ninputs; i++)
				need_all(cx, rel, i, p->needed);
			break;
		case DDIR_REL_WINDOW:
			if (rel->input[0]->type->natts > 0)
				need_all(cx, rel, 0, bms_add_range(NULL, 1, rel->input[0]->type->natts));
			p->needed = bms_add_range(p->needed, 1, rel->type->natts);
			break;
		case DDIR_REL_ERRORS:
			break;
	}
}

/*
 * Making relations again
 */

static Node *
moved_var(Var *var, void *arg)
{
	NeedContext *need = arg;
	Pruned	   *input = pruned_of(need->cx, need->rel->input[var->varno - 1]);
	AttrNumber	column = input->column[var->varattno - 1];

	if (column == 0)
		elog(ERROR, "column %d was dropped but is used", var->varattno);
	return (Node *) ddir_rel_var(var->varno - 1, input->rel, column);
}

static void *
moved(PruneContext *cx, DdirRel *rel, void *expr)
{
	NeedContext need = {cx, rel};

	return ddir_vars_map(expr, moved_var, &need);
}

static List *
moved_equalities(PruneContext *cx, DdirRel *rel)
{
	List	   *equalities = NIL;
	ListCell   *lc;

	foreach(lc, rel->equalities)
	{
		DdirEquality *eq = palloc(sizeof(DdirEquality));

		*eq = *(DdirEquality *) lfirst(lc);
		eq->left_expr = moved(cx, rel, eq->left_expr);
		eq->right_expr = moved(cx, rel, eq->right_expr);
		equalities = lappend(equalities, eq);
	}
	return equalities;
}

/* The targets that are needed, moved; where they go is noted. */
static List *
moved_targets(PruneContext *cx, Pruned *p)
{
	List	   *targets = NIL;
	ListCell   *lc;

	foreach(lc, p->old->targets)
	{
		int			i = foreach_current_index(lc);

		if (!bms_is_member(i + 1, p->needed))
			continue;
		targets = lappend(targets, moved(cx, p->old, lfirst(lc)));
		p->column[i] = list_length(targets);
	}
	return targets;
}

static bool
all_vars(List *targets)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		if (!IsA(lfirst(lc), Var))
			return false;
	}
	return true;
}

/* Read the input instead of a Map that only chooses columns. */
static void
skip_map(Pruned *p, Pruned *input, List *targets)
{
	for (int i = 0; i < p->old->type->natts; i++)
		if (p->column[i] != 0)
			p->column[i] = list_nth_node(Var, targets, p->column[i] - 1)->varattno;
	p->rel = input->rel;
}

static void
remake_flatmap(PruneContext *cx, Pruned *p)
{
	DdirRel    *old = p->old;
	List	   *targets = moved_targets(cx, p);
	int			dropped = list_length(old->targets) - list_length(targets);

	for (int i = list_length(old->targets); i < old->type->natts; i++)
		p->column[i] = i + 1 - dropped;
	p->rel = ddir_rel_flatmap(pruned_of(cx, old->input[0])->rel, targets,
							  moved(cx, old, old->functions), old->values, old->ordinality,
							  old->outer);
}

static void
remake_reduce(PruneContext *cx, Pruned *p)
{
	DdirRel    *old = p->old;
	List	   *keys = NIL;
	List	   *aggs = NIL;
	int			nkeys = list_length(old->keys);
	ListCell   *lc;

	foreach(lc, old->keys)
	{
		DdirGroupKey *key = palloc(sizeof(DdirGroupKey));

		*key = *(DdirGroupKey *) lfirst(lc);
		key->expr = moved(cx, old, key->expr);
		keys = lappend(keys, key);
		p->column[foreach_current_index(lc)] = foreach_current_index(lc) + 1;
	}
	foreach(lc, old->aggs)
	{
		int			i = nkeys + foreach_current_index(lc);

		if (!bms_is_member(i + 1, p->needed))
			continue;
		aggs = lappend(aggs, moved(cx, old, lfirst(lc)));
		p->column[i] = nkeys + list_length(aggs);
	}
	p->rel = ddir_rel_reduce(pruned_of(cx, old->input[0])->rel, keys, aggs, old->global);
}

/* rel with the columns needed, in their old order and nothing else */
static DdirRel *
project(Pruned *p, Bitmapset *needed)
{
	List	   *targets = NIL;
	bool		same = bms_num_members(needed) == p->rel->type->natts;
	int			a = -1;

	while ((a = bms_next_member(needed, a)) >= 0)
	{
		AttrNumber	column = p->column[a - 1];

		targets = lappend(targets, ddir_rel_var(0, p->rel, column));
		same = same && column == list_length(targets);
	}
	return same ? p->rel : ddir_rel_map(p->rel, NIL, targets);
}

static void
remake_union(PruneContext *cx, Pruned *p)
{
	DdirRel    *old = p->old;
	DdirRel   **inputs = palloc(sizeof(DdirRel *) * old->ninputs);
	int			a = -1;
	int			n = 0;

	for (int i = 0; i < old->ninputs; i++)
		inputs[i] = project(pruned_of(cx, old->input[i]), p->needed);

	/*
	 * a TopK has all its columns at their places, so its expressions are
	 * right
	 */
	p->rel = old->kind == DDIR_REL_UNION ? ddir_rel_union(old->ninputs, inputs) :
		old->kind == DDIR_REL_NEGATE ? ddir_rel_negate(inputs[0]) :
		old->kind == DDIR_REL_TOPK ? ddir_rel_topk(inputs[0], old->keys, old->order, old->limit,
												   old->offset, old->ties) :
		old->kind == DDIR_REL_VALID ? ddir_rel_valid(inputs[0]) :
		ddir_rel_threshold(inputs[0]);
	while ((a = bms_next_member(p->needed, a)) >= 0)
		p->column[a - 1] = ++n;
}

static void
remake_window(PruneContext *cx, Pruned *p)
{
	DdirRel    *old = p->old;
	Pruned	   *input = pruned_of(cx, old->input[0]);

	p->rel = ddir_rel_window(project(input, input->needed), old->keys, old->order,
							 old->frame, old->funcs);
	for (int i = 0; i < old->type->natts; i++)
		p->column[i] = i + 1;
}

static void
remake_constant(Pruned *p)
{
	DdirRel    *old = p->old;
	List	   *rows = NIL;
	List	   *vars = NIL;
	int			n = 0;
	ListCell   *lc;

	for (int i = 0; i < old->type->natts; i++)
	{
		if (!bms_is_member(i + 1, p->needed))
			continue;
		vars = lappend(vars, ddir_rel_var(0, old, i + 1));
		p->column[i] = ++n;
	}
	foreach(lc, old->constants)
	{
		List	   *row = NIL;
		ListCell   *cell;

		foreach(cell, (List *) lfirst(lc))
		{
			if (bms_is_member(foreach_current_index(cell) + 1, p->needed))
				row = lappend(row, lfirst(cell));
		}
		rows = lappend(rows, row);
	}
	p->rel = ddir_rel_constant(ddir_rowtype_from_exprs(vars), rows);
}

/* Names of the columns that are left. */
static List *
kept_names(Pruned *p)
{
	List	   *names = NIL;
	ListCell   *lc;

	if (list_length(p->old->colnames) != p->old->type->natts)
		return NIL;
	foreach(lc, p->old->colnames)
	{
		if (p->column[foreach_current_index(lc)] != 0)
			names = lappend(names, lfirst(lc));
	}
	return list_length(names) == p->rel->type->natts ? names : NIL;
}

static void
remake(PruneContext *cx, Pruned *p)
{
	DdirRel    *old = p->old;
	DdirRel   **inputs = palloc(sizeof(DdirRel *) * Max(old->ninputs, 1));
	List	   *targets;

	p->column = palloc0(sizeof(AttrNumber) * Max(old->type->natts, 1));
	for (int i = 0; i < old->ninputs; i++)
		inputs[i] = pruned_of(cx, old->input[i])->rel;

	switch (old->kind)
	{
		case DDIR_REL_SCAN:
			p->rel = palloc(sizeof(DdirRel));
			*p->rel = *old;
			p->rel->used = p->needed;
			for (int i = 0; i < old->type->natts; i++)
				p->column[i] = i + 1;
			return;
		case DDIR_REL_CONSTANT:
			remake_constant(p);
			break;
		case DDIR_REL_MAP:
			targets = moved_targets(cx, p);
			if (old->quals == NIL && all_vars(targets))
			{
				skip_map(p, pruned_of(cx, old->input[0]), targets);
				return;
			}
			p->rel = ddir_rel_map(inputs[0], moved(cx, old, old->quals), targets);
			break;
		case DDIR_REL_SCHEDULE:
			targets = moved_targets(cx, p);
			p->rel = ddir_rel_schedule(inputs[0], moved(cx, old, old->quals), targets);
			break;
		case DDIR_REL_FLATMAP:
			remake_flatmap(cx, p);
			break;
		case DDIR_REL_JOIN:
			targets = moved_targets(cx, p);
			p->rel = ddir_rel_join(old->ninputs, inputs, moved_equalities(cx, old),
								   moved(cx, old, old->quals), targets);
			break;
		case DDIR_REL_ANTI:
			p->rel = ddir_rel_anti(inputs[0], inputs[1], moved_equalities(cx, old),
								   moved(cx, old, old->quals));
			memcpy(p->column, pruned_of(cx, old->input[0])->column,
				   sizeof(AttrNumber) * old->type->natts);
			break;
		case DDIR_REL_REDUCE:
			remake_reduce(cx, p);
			break;
		case DDIR_REL_UNION:
		case DDIR_REL_NEGATE:
		case DDIR_REL_THRESHOLD:
		case DDIR_REL_TOPK:
			remake_union(cx, p);
			break;
		case DDIR_REL_WINDOW:
			remake_window(cx, p);
			break;
		case DDIR_REL_VALID:
			remake_union(cx, p);
			break;
		case DDIR_REL_ERRORS:
			p->rel = ddir_rel_errors(inputs[0]);
			for (int i = 0; i < old->type->natts; i++)
				p->column[i] = i + 1;
			break;
	}
	p->rel->colnames = kept_names(p);
}

DdirRel *
ddir_prune(DdirRel *root)
{
	List	   *rels = ddir_rels_in_order(root, NULL);
	PruneContext cx = {list_length(rels)};
	DdirRel    *result;
	Pruned	   *top;
	ListCell   *lc;

	cx.pruned = palloc0(sizeof(Pruned) * cx.n);
	foreach(lc, rels)
	{
		cx.pruned[foreach_current_index(lc)].old = lfirst(lc);
	}
	top = &cx.pruned[cx.n - 1];
	if (root->type->natts > 0)
		top->needed = bms_add_range(NULL, 1, root->type->natts);

	for (int i = cx.n - 1; i >= 0; i--)
		propagate(&cx, &cx.pruned[i]);
	for (int i = 0; i < cx.n; i++)
		remake(&cx, &cx.pruned[i]);

	result = project(top, top->needed);
	if (result->colnames == NIL && root->colnames != NIL)
	{
		/* a relation below may be read by others, under its own names */
		DdirRel    *named = palloc(sizeof(DdirRel));

		*named = *result;
		named->colnames = root->colnames;
		result = named;
	}
	return result;
}
