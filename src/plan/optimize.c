/*-------------------------------------------------------------------------
 *
 * optimize.c
 *	  Rewriting DDIR to less of it.
 *
 * Between prunings (prune.c), from the leaves up:
 *
 *	Map over Map, Map over Join		- become one
 *	Join in Join					- one join of all inputs
 *	quals of a Join on one input	- filter the input, if they raise no errors
 *	Map below a Join				- its expressions are computed above
 *	Reduce over Map without quals	- takes the Map's expressions in
 *	Union in Union					- one union
 *	Distinct over equal groups		- is left out
 *	Map over Window, first places	- Window over TopK
 *	one empty row in a Join			- is left out
 *
 * Only relations that nobody else reads are taken in.  No expression is made
 * to be computed twice, but one below a join that can raise an error; and none
 * earlier than it was: a Map's targets move up, past filters that come after
 * it; only total conditions move down; and a join is not taken in if one of its
 * targets that can raise an error would become what rows are looked up by.
 *
 * In the end relations that turn out to be the same, as those of a view that is
 * used twice, become one.
 *
 * src/plan/optimize.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "engine/op.h"
#include "plan/lowering.h"
#include "plan/optimize.h"
#include "plan/prune.h"
#include "rows/program.h"

/*
 * Each round can make room for the next; queries nest only so deep.  The steps
 * on one relation end because each of them takes something away; the bound is
 * there in case one does not.
 */
#define ROUNDS_MAX 8
#define STEPS_MAX 10000

/*
 * Expressions
 */

typedef struct ReplaceContext
{
	int			input;			/* whose columns are replaced, from 0 */
	List	   *exprs;			/* by these; NIL: none are */
	int			shift_from;		/* inputs from this one on ... */
	int			shift;			/* ... are further on by this */
} ReplaceContext;

static Node *
replace_var(Var *var, void *arg)
{
	ReplaceContext *cx = arg;
	Var		   *copy;

	if (var->varno - 1 == cx->input)
		return copyObject(list_nth(cx->exprs, var->varattno - 1));
	copy = copyObject(var);
	if (var->varno - 1 >= cx->shift_from)
	{
		copy->varno += cx->shift;
		copy->varnosyn = copy->varno;
	}
	return (Node *) copy;
}

/* Replace columns of one input, and renumber those behind it. */
static void *
replaced(void *expr, int input, List *exprs, int shift_from, int shift)
{
	ReplaceContext cx = {input, exprs, shift_from, shift};

	return ddir_vars_map(expr, replace_var, &cx);
}

static List *
replaced_equalities(List *equalities, int input, List *exprs, int shift_from, int shift)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, equalities)
	{
		DdirEquality *eq = palloc(sizeof(DdirEquality));

		*eq = *(DdirEquality *) lfirst(lc);
		eq->left_expr = replaced(eq->left_expr, input, exprs, shift_from, shift);
		eq->right_expr = replaced(eq->right_expr, input, exprs, shift_from, shift);
		if (eq->left >= shift_from)
			eq->left += shift;
		if (eq->right >= shift_from)
			eq->right += shift;
		result = lappend(result, eq);
	}
	return result;
}

typedef struct CountContext
{
	int			input;
	int		   *count;			/* by column - 1 */
} CountContext;

static void
count_var(Var *var, void *arg)
{
	CountContext *cx = arg;

	if (var->varno - 1 == cx->input)
		cx->count[var->varattno - 1]++;
}

static void
collect_input(Var *var, void *arg)
{
	Bitmapset **inputs = arg;

	*inputs = bms_add_member(*inputs, var->varno - 1);
}

/* The one input (from 0) that the expression is over, or -1. */
static int
single_input(Node *expr)
{
	Bitmapset  *inputs = NULL;

	ddir_vars_visit(expr, collect_input, &inputs);
	return bms_membership(inputs) == BMS_SINGLETON ? bms_singleton_member(inputs) : -1;
}

/* Would taking in the targets of this input compute one of them twice? */
static bool
computes_twice(DdirRel *rel, int input)
{
	List	   *targets = rel->input[input]->targets;
	CountContext cx = {input};
	ListCell   *lc;

	cx.count = palloc0(sizeof(int) * (list_length(targets) + 1));
	ddir_vars_visit((Node *) rel->quals, count_var, &cx);
	ddir_vars_visit((Node *) rel->targets, count_var, &cx);
	ddir_vars_visit((Node *) rel->aggs, count_var, &cx);
	foreach(lc, rel->keys)
	{
		ddir_vars_visit((Node *) ((DdirGroupKey *) lfirst(lc))->expr, count_var, &cx);
	}
	foreach(lc, rel->equalities)
	{
		ddir_vars_visit((Node *) ((DdirEquality *) lfirst(lc))->left_expr, count_var, &cx);
		ddir_vars_visit((Node *) ((DdirEquality *) lfirst(lc))->right_expr, count_var, &cx);
	}
	foreach(lc, targets)
	{
		if (!IsA(lfirst(lc), Var) && !IsA(lfirst(lc), Const) &&
			cx.count[foreach_current_index(lc)] > 1)
			return true;
	}
	return false;
}

/*
 * Rewriting.  A relation becomes another one in its place, so that whoever
 * reads it need not know.
 */

static void
become(DdirRel *rel, DdirRel *other)
{
	List	   *colnames = rel->colnames;

	*rel = *other;
	rel->colnames = colnames;
}

static bool
merge_map_map(DdirRel *rel)
{
	DdirRel    *map = rel->input[0];

	if (computes_twice(rel, 0))
		return false;
	become(rel, ddir_rel_map(map->input[0],
							 list_concat_copy(map->quals,
											  replaced(rel->quals, 0, map->targets, 1, 0)),
							 replaced(rel->targets, 0, map->targets, 1, 0)));
	return true;
}

static bool
merge_map_join(DdirRel *rel)
{
	DdirRel    *join = rel->input[0];

	if (computes_twice(rel, 0))
		return false;
	become(rel, ddir_rel_join(join->ninputs, join->input, join->equalities,
							  list_concat_copy(join->quals,
											   replaced(rel->quals, 0, join->targets, 1, 0)),
							  replaced(rel->targets, 0, join->targets, 1, 0)));
	return true;
}

static bool
merge_reduce_map(DdirRel *rel)
{
	DdirRel    *map = rel->input[0];
	List	   *keys = NIL;
	ListCell   *lc;

	if (map->quals != NIL || computes_twice(rel, 0))
		return false;
	foreach(lc, rel->keys)
	{
		DdirGroupKey *key = palloc(sizeof(DdirGroupKey));

		*key = *(DdirGroupKey *) lfirst(lc);
		key->expr = replaced(key->expr, 0, map->targets, 1, 0);
		keys = lappend(keys, key);
	}
	become(rel, ddir_rel_reduce(map->input[0], keys,
								replaced(rel->aggs, 0, map->targets, 1, 0), rel->global));
	return true;
}

static bool
merge_union(DdirRel *rel, int input)
{
	DdirRel    *inner = rel->input[input];
	DdirRel   **inputs = palloc(sizeof(DdirRel *) * (rel->ninputs + inner->ninputs));
	int			n = 0;

	for (int i = 0; i < rel->ninputs; i++)
	{
		if (i != input)
			inputs[n++] = rel->input[i];
		else
			for (int j = 0; j < inner->ninputs; j++)
				inputs[n++] = inner->input[j];
	}
	become(rel, ddir_rel_union(n, inputs));
	return true;
}

/*
 * Take in a join that is input number "input": its own inputs stand in its
 * place.
 */
static bool
merge_join_join(DdirRel *rel, int input)
{
	DdirRel    *inner = rel->input[input];
	int			shift = inner->ninputs - 1;
	int			n = rel->ninputs + shift;
	DdirRel   **inputs = palloc(sizeof(DdirRel *) * n);
	List	   *targets;
	List	   *quals;
	List	   *equalities;
	ListCell   *lc;

	if (n > DDIR_RELATIONS_MAX || computes_twice(rel, input))
		return false;
	targets = replaced(inner->targets, -1, NIL, 0, input);
	equalities = replaced_equalities(rel->equalities, input, targets, input + 1, shift);
	foreach(lc, equalities)
	{
		DdirEquality *eq = lfirst(lc);
		DdirEquality *old = list_nth(rel->equalities, foreach_current_index(lc));

		/* sides that were over the inner join are over one of its inputs now */
		for (int side = 0; side < 2; side++)
		{
			Node	   *expr = (Node *) (side == 0 ? eq->left_expr : eq->right_expr);
			int			single;

			if ((side == 0 ? old->left : old->right) != input)
				continue;
			single = single_input(expr);
			if (single < 0 || !ddir_expr_is_total(expr))
				return false;
			if (side == 0)
				eq->left = single;
			else
				eq->right = single;
		}
	}
	quals = list_concat(replaced(inner->quals, -1, NIL, 0, input),
						replaced(rel->quals, input, targets, input + 1, shift));
	equalities = list_concat(replaced_equalities(inner->equalities, -1, NIL, 0, input),
							 equalities);
	targets = replaced(rel->targets, input, targets, input + 1, shift);

	for (int i = 0; i < n; i++)
		inputs[i] = i < input ? rel->input[i] :
			i <= input + shift ? inner->input[i - input] : rel->input[i - shift];
	become(rel, ddir_rel_join(n, inputs, equalities, quals, targets));
	return true;
}

static bool
has_no_vars(Node *expr)
{
	Bitmapset  *inputs = NULL;

	ddir_vars_visit(expr, collect_input, &inputs);
	return bms_is_empty(inputs);
}

/* Nothing but columns and constants? */
static bool
computes_nothing(List *targets)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		if (!IsA(lfirst(lc), Var) && !IsA(lfirst(lc), Const))
			return false;
	}
	return true;
}

/*
 * Let the join compute what a Map below it computes: of joined rows alone, and
 * over plain columns of the input, whose arrangement others may share.
 */
static bool
merge_join_map(DdirRel *rel, int input)
{
	DdirRel    *map = rel->input[input];
	DdirRel   **inputs = palloc(sizeof(DdirRel *) * rel->ninputs);
	List	   *targets = replaced(map->targets, -1, NIL, 0, input);
	List	   *equalities;
	ListCell   *lc;

	if (computes_nothing(map->targets) ||
		(computes_twice(rel, input) && ddir_expr_is_total((Node *) map->targets)))
		return false;
	equalities = replaced_equalities(rel->equalities, input, targets, rel->ninputs, 0);
	foreach(lc, equalities)
	{
		DdirEquality *eq = lfirst(lc);

		if (has_no_vars((Node *) eq->left_expr) || has_no_vars((Node *) eq->right_expr))
			return false;
	}
	for (int i = 0; i < rel->ninputs; i++)
		inputs[i] = rel->input[i];
	inputs[input] = map->input[0];
	if (map->quals)
		inputs[input] = ddir_rel_map(map->input[0], map->quals,
									 ddir_rel_columns(0, map->input[0]));
	become(rel, ddir_rel_join(rel->ninputs, inputs, equalities,
							  replaced(rel->quals, input, targets, rel->ninputs, 0),
							  replaced(rel->targets, input, targets, rel->ninputs, 0)));
	return true;
}

/* One row of no columns adds nothing to a join. */
static bool
drop_join_input(DdirRel *rel, int input)
{
	DdirRel   **inputs = palloc(sizeof(DdirRel *) * rel->ninputs);
	List	   *equalities = replaced_equalities(rel->equalities, -1, NIL, input + 1, -1);
	List	   *quals = replaced(rel->quals, -1, NIL, input + 1, -1);
	List	   *targets = replaced(rel->targets, -1, NIL, input + 1, -1);
	int			n = 0;

	for (int i = 0; i < rel->ninputs; i++)
		if (i != input)
			inputs[n++] = rel->input[i];
	if (n == 1)
		become(rel, ddir_rel_map(inputs[0], quals, targets));
	else
		become(rel, ddir_rel_join(n, inputs, equalities, quals, targets));
	return true;
}

static bool
is_empty_row(DdirRel *rel)
{
	return rel->kind == DDIR_REL_CONSTANT && rel->type->natts == 0 &&
		list_length(rel->constants) == 1;
}

/* Let total conditions on one input filter that input. */
static bool
push_quals(DdirRel *rel)
{
	List	   *rest = NIL;
	List	  **pushed = palloc0(sizeof(List *) * rel->ninputs);
	DdirRel   **inputs = palloc(sizeof(DdirRel *) * rel->ninputs);
	ListCell   *lc;

	foreach(lc, rel->quals)
	{
		Node	   *qual = lfirst(lc);
		int			input = single_input(qual);

		if (input >= 0 && ddir_expr_is_total(qual))
			pushed[input] = lappend(pushed[input],
									replaced(qual, -1, NIL, input, -input));
		else
			rest = lappend(rest, qual);
	}
	if (list_length(rest) == list_length(rel->quals))
		return false;
	for (int i = 0; i < rel->ninputs; i++)
	{
		inputs[i] = rel->input[i];
		if (pushed[i])
			inputs[i] = ddir_rel_map(inputs[i], pushed[i], ddir_rel_columns(0, inputs[i]));
	}
	become(rel, ddir_rel_join(rel->ninputs, inputs, rel->equalities, rest, rel->targets));
	return true;
}

/*
 * How many first places of a window's partitions pass a condition on the
 * numbers that a function gives them, "n <= 3" or the like; *column is the
 * function's.  -1: it is no such condition.
 */
static int64
places_that_pass(Node *qual, AttrNumber *column)
{
	OpExpr	   *op = (OpExpr *) qual;
	Oid			opno;
	Var		   *var;
	Const	   *value;
	int64		number;

	if (!IsA(qual, OpExpr) || list_length(op->args) != 2)
		return -1;
	opno = op->opno;
	var = linitial(op->args);
	value = lsecond(op->args);
	if (IsA(var, Const))
	{
		opno = get_commutator(opno);
		var = lsecond(op->args);
		value = linitial(op->args);
	}
	if (!IsA(var, Var) || !IsA(value, Const) || value->constisnull || var->vartype != INT8OID)
		return -1;
	switch (value->consttype)
	{
		case INT2OID:
			number = DatumGetInt16(value->constvalue);
			break;
		case INT4OID:
			number = DatumGetInt32(value->constvalue);
			break;
		case INT8OID:
			number = DatumGetInt64(value->constvalue);
			break;
		default:
			return -1;
	}
	*column = var->varattno;
	switch (get_op_opfamily_strategy(opno, INTEGER_BTREE_FAM_OID))
	{
		case BTLessStrategyNumber:
			return Max(number, 1) - 1;
		case BTLessEqualStrategyNumber:
		case BTEqualStrategyNumber:
			return Max(number, 0);
		default:
			return -1;
	}
}

/*
 * Do all functions of the window say the same of the first places if there are
 * no others?  *ties: rows of one order must not be parted.
 */
static bool
looks_back_only(DdirRel *window, bool *ties)
{
	ListCell   *lc;

	*ties = false;
	foreach(lc, window->funcs)
	{
		switch (lfirst_node(WindowFunc, lc)->winfnoid)
		{
			case F_ROW_NUMBER:
				break;
			case F_RANK_:
			case F_DENSE_RANK_:
				*ties = true;
				break;
			default:
				return false;
		}
	}
	return true;
}

/*
 * A filter on the numbers that a window gives rows lets the first ones of each
 * partition pass: the window need not see others.
 */
static bool
limit_window(DdirRel *rel)
{
	DdirRel    *window = rel->input[0];
	int			n = window->input[0]->type->natts;
	int64		limit = -1;
	bool		ties;
	ListCell   *lc;

	if (window->input[0]->kind == DDIR_REL_TOPK || !looks_back_only(window, &ties) ||
		!ddir_topk_possible(window->keys, window->order))
		return false;
	foreach(lc, rel->quals)
	{
		AttrNumber	a;
		int64		places = places_that_pass(lfirst(lc), &a);
		Oid			f;

		if (places < 1 || a <= n)
			continue;
		f = list_nth_node(WindowFunc, window->funcs, a - n - 1)->winfnoid;
		if (f == F_DENSE_RANK_ || (limit >= 0 && places >= limit))
			continue;
		limit = places;
	}
	if (limit < 0)
		return false;
	become(window, ddir_rel_window(ddir_rel_topk(window->input[0], window->keys, window->order,
												 limit, 0, ties),
								   window->keys, window->order, window->frame, window->funcs));
	return true;
}

static int
refs_of(List *rels, List *refs, DdirRel *rel)
{
	ListCell   *lc;

	foreach(lc, rels)
	{
		if (lfirst(lc) == rel)
			return list_nth_int(refs, foreach_current_index(lc));
	}
	return 1;					/* made in this round */
}

/* Are the rows it makes different those of groups by the same keys? */
static bool
is_distinct_already(DdirRel *rel)
{
	DdirRel    *groups = rel->input[0];
	Bitmapset  *seen = NULL;
	ListCell   *lc;

	if (rel->aggs != NIL || rel->keys == NIL || groups->kind != DDIR_REL_REDUCE)
		return false;
	foreach(lc, rel->keys)
	{
		DdirGroupKey *key = lfirst(lc);
		DdirGroupKey *group;
		int			i;

		if (!IsA(key->expr, Var))
			return false;
		i = ((Var *) key->expr)->varattno - 1;
		if (i >= list_length(groups->keys))
			return false;
		group = list_nth(groups->keys, i);
		if (group->eqop != key->eqop || group->collation != key->collation)
			return false;
		seen = bms_add_member(seen, i);
	}
	return bms_num_members(seen) == list_length(groups->keys);
}

/* One step on this relation, if there is one. */
static bool
simplify(DdirRel *rel, List *rels, List *refs)
{
	for (int i = 0; i < rel->ninputs; i++)
	{
		DdirRel    *input = rel->input[i];

		if (rel->kind == DDIR_REL_JOIN && is_empty_row(input))
			return drop_join_input(rel, i);
		if (refs_of(rels, refs, input) > 1)
			continue;
		if (rel->kind == DDIR_REL_MAP && input->kind == DDIR_REL_MAP &&
			merge_map_map(rel))
			return true;
		if (rel->kind == DDIR_REL_MAP && input->kind == DDIR_REL_JOIN &&
			merge_map_join(rel))
			return true;
		if (rel->kind == DDIR_REL_MAP && input->kind == DDIR_REL_WINDOW &&
			limit_window(rel))
			return true;
		if (rel->kind == DDIR_REL_REDUCE && input->kind == DDIR_REL_MAP &&
			merge_reduce_map(rel))
			return true;
		if (rel->kind == DDIR_REL_UNION && input->kind == DDIR_REL_UNION &&
			merge_union(rel, i))
			return true;
		if (rel->kind == DDIR_REL_JOIN && input->kind == DDIR_REL_JOIN &&
			merge_join_join(rel, i))
			return true;
		if (rel->kind == DDIR_REL_JOIN && input->kind == DDIR_REL_MAP &&
			merge_join_map(rel, i))
			return true;
	}
	if (rel->kind == DDIR_REL_REDUCE && is_distinct_already(rel))
	{
		become(rel, ddir_rel_map(rel->input[0], NIL, ddir_key_exprs(rel->keys)));
		return true;
	}
	return rel->kind == DDIR_REL_JOIN && push_quals(rel);
}

/*
 * Relations that are the same become one
 */

static bool
same_keys(List *a, List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
	{
		DdirGroupKey *x = list_nth(a, i);
		DdirGroupKey *y = list_nth(b, i);

		if (x->eqop != y->eqop || x->collation != y->collation || !equal(x->expr, y->expr))
			return false;
	}
	return true;
}

static bool
same_equalities(List *a, List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
	{
		DdirEquality *x = list_nth(a, i);
		DdirEquality *y = list_nth(b, i);

		if (x->left != y->left || x->right != y->right || x->eqop != y->eqop ||
			x->collation != y->collation || x->null_safe != y->null_safe ||
			!equal(x->left_expr, y->left_expr) || !equal(x->right_expr, y->right_expr))
			return false;
	}
	return true;
}

static bool
same_order(List *a, List *b)
{
	if (list_length(a) != list_length(b))
		return false;
	for (int i = 0; i < list_length(a); i++)
	{
		DdirOrderKey *x = list_nth(a, i);
		DdirOrderKey *y = list_nth(b, i);

		if (x->sortop != y->sortop || x->collation != y->collation ||
			x->nulls_first != y->nulls_first || !equal(x->expr, y->expr))
			return false;
	}
	return true;
}

/* Do they have the same inputs and make the same of them? */
static bool
same_rel(const DdirRel *a, const DdirRel *b)
{
	if (a->kind != b->kind || a->ninputs != b->ninputs || a->global != b->global ||
		a->relid != b->relid || !bms_equal(a->used, b->used) ||
		a->limit != b->limit || a->offset != b->offset || a->ties != b->ties)
		return false;
	for (int i = 0; i < a->ninputs; i++)
		if (a->input[i] != b->input[i])
			return false;
	return ddir_rowtype_equal(a->type, b->type) && equal(a->constants, b->constants) &&
		equal(a->quals, b->quals) && equal(a->targets, b->targets) &&
		equal(a->functions, b->functions) && a->values == b->values &&
		a->ordinality == b->ordinality && a->outer == b->outer &&
		equal(a->aggs, b->aggs) && same_keys(a->keys, b->keys) &&
		same_equalities(a->equalities, b->equalities) && same_order(a->order, b->order) &&
		equal(a->frame, b->frame) && equal(a->funcs, b->funcs);
}

/* As inputs come first, what they became is known. */
static void
unify(DdirRel *root)
{
	List	   *rels = ddir_rels_in_order(root, NULL);
	List	   *kept = NIL;
	List	   *became = NIL;	/* parallel to rels */
	ListCell   *lc;

	foreach(lc, rels)
	{
		DdirRel    *rel = lfirst(lc);
		DdirRel    *same = rel;
		ListCell   *cell;

		for (int i = 0; i < rel->ninputs; i++)
		{
			foreach(cell, rels)
			{
				if (lfirst(cell) == rel->input[i])
					rel->input[i] = list_nth(became, foreach_current_index(cell));
			}
		}
		foreach(cell, kept)
		{
			if (same_rel(lfirst(cell), rel))
			{
				same = lfirst(cell);
				break;
			}
		}
		if (same == rel)
			kept = lappend(kept, rel);
		became = lappend(became, same);
	}
}

DdirRel *
ddir_optimize(DdirRel *root)
{
	bool		changed = true;

	root = ddir_prune(root);
	for (int round = 0; changed && round < ROUNDS_MAX; round++)
	{
		List	   *refs;
		List	   *rels = ddir_rels_in_order(root, &refs);
		ListCell   *lc;

		changed = false;
		foreach(lc, rels)
		{
			int			steps = 0;

			while (simplify(lfirst(lc), rels, refs))
			{
				CHECK_FOR_INTERRUPTS();
				changed = true;
				if (++steps > STEPS_MAX)
					elog(ERROR, "simplifying a query does not end");
			}
		}
		if (changed)
			root = ddir_prune(root);
	}
	unify(root);
	return root;
}
