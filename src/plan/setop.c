/*-------------------------------------------------------------------------
 *
 * setop.c
 *	  UNION, INTERSECT and EXCEPT, with and without ALL.
 *
 * Operands are brought to the common types that the parser found, as the
 * planner does it.  UNION drops duplicates of the sum of all its operands; a
 * UNION inside of a UNION of the same types needs no step of its own.
 *
 * INTERSECT and EXCEPT group the sum of both operands, whose rows say which
 * one they are of: in the result are groups with rows of both, or of the left
 * one only.  With ALL rows are counted:
 *
 *	A EXCEPT ALL B		max(0, A - B), row by row
 *	A INTERSECT ALL B	A - (A EXCEPT ALL B)
 *
 * That counts rows as bytes.  Where equal values may look different (1.0 and
 * 1.00), rows of both sides are first made to look like a row of A that is
 * equal to them; rows of B that are equal to none of A do not matter.
 *
 * src/plan/setop.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"

#include "plan/lowering.h"

static DdirRel *lower_operand(DdirLevel *level, Node *node);

/* rel with columns of the operation's types and collations */
static DdirRel *
coerce_operand(DdirLevel *level, DdirRel *rel, SetOperationStmt *op)
{
	List	   *targets = NIL;
	bool		changed = false;
	ListCell   *lc;

	if (rel->type->natts != list_length(op->colTypes))
		elog(ERROR, "an operand of UNION has %d columns, not %d", rel->type->natts,
			 list_length(op->colTypes));
	foreach(lc, op->colTypes)
	{
		int			i = foreach_current_index(lc);
		Oid			typid = lfirst_oid(lc);
		Oid			collation = list_nth_oid(op->colCollations, i);
		Node	   *expr = (Node *) ddir_rel_var(0, rel, i + 1);

		if (exprType(expr) != typid)
		{
			expr = coerce_to_common_type(NULL, expr, typid, "UNION");
			changed = true;
		}
		if (exprCollation(expr) != collation)
		{
			expr = (Node *) makeRelabelType((Expr *) expr, typid, exprTypmod(expr), collation,
											COERCE_IMPLICIT_CAST);
			changed = true;
		}
		targets = lappend(targets, ddir_lower_fold_computed(level, (Expr *) expr));
	}
	return changed ? ddir_rel_map(rel, NIL, targets) : rel;
}

/* Operands whose sum the operation is, its own duplicates not dropped. */
static List *
gather(DdirLevel *level, Node *node, SetOperationStmt *top, List *operands)
{
	SetOperationStmt *op = (SetOperationStmt *) node;

	check_stack_depth();
	if (IsA(node, SetOperationStmt) && op->op == SETOP_UNION && (op->all || !top->all) &&
		equal(op->colTypes, top->colTypes) && equal(op->colCollations, top->colCollations))
	{
		operands = gather(level, op->larg, top, operands);
		return gather(level, op->rarg, top, operands);
	}
	return lappend(operands, coerce_operand(level, lower_operand(level, node), top));
}

/* The equality of each column. */
static List *
equalities_of(SetOperationStmt *op)
{
	List	   *eqops = NIL;
	ListCell   *lc;

	foreach(lc, op->groupClauses)
	{
		eqops = lappend_oid(eqops, lfirst_node(SortGroupClause, lc)->eqop);
	}
	return eqops;
}

static DdirRel *
lower_union(DdirLevel *level, SetOperationStmt *op)
{
	List	   *operands = gather(level, (Node *) op, op, NIL);
	DdirRel   **rels = palloc(sizeof(DdirRel *) * list_length(operands));
	DdirRel    *rel;
	ListCell   *lc;

	foreach(lc, operands)
	{
		rels[foreach_current_index(lc)] = lfirst(lc);
	}
	rel = ddir_rel_union(list_length(operands), rels);
	return op->all ? rel : ddir_lower_distinct(level, rel, equalities_of(op));
}

/*
 * INTERSECT and EXCEPT
 */

/* rel's columns, and whether the row is of the left operand */
static DdirRel *
marked(DdirRel *rel, bool left)
{
	return ddir_rel_map(rel, NIL, lappend(ddir_rel_columns(0, rel), makeBoolConst(left, false)));
}

/* The groups that are of both operands, or of the left one only. */
static DdirRel *
difference_distinct(DdirRel **side, List *eqops, SetOperation op)
{
	DdirRel    *parts[2] = {marked(side[0], true), marked(side[1], false)};
	DdirRel    *both = ddir_rel_union(2, parts);
	int			n = side[0]->type->natts;
	Expr	   *left = (Expr *) ddir_rel_var(0, both, n + 1);
	List	   *quals;
	DdirRel    *groups;

	groups = ddir_rel_reduce(both, ddir_column_keys(both, n, eqops),
							 list_make2(ddir_make_agg(F_BOOL_AND, left, NULL),
										ddir_make_agg(F_BOOL_OR, left, NULL)),
							 false);
	quals = list_make1(ddir_rel_var(0, groups, n + 1));
	if (op == SETOP_INTERSECT)
		quals = list_make2(make_notclause(linitial(quals)), ddir_rel_var(0, groups, n + 2));
	return ddir_rel_map(groups, quals, list_truncate(ddir_rel_columns(0, groups), n));
}

/* rel's rows as they look in "like", which are different; others are left out */
static DdirRel *
made_alike(DdirRel *rel, DdirRel *like, List *eqops)
{
	DdirRel    *inputs[2] = {rel, like};
	List	   *equalities = NIL;
	ListCell   *lc;

	foreach(lc, eqops)
	{
		int			a = foreach_current_index(lc) + 1;
		Var		   *var = ddir_rel_var(0, rel, a);

		equalities = lappend(equalities,
							 ddir_equality_make(0, (Expr *) var, 1, (Expr *) ddir_rel_var(1, like, a),
												lfirst_oid(lc), var->varcollid, true));
	}
	return ddir_rel_join(2, inputs, equalities, NIL, ddir_rel_columns(1, like));
}

static bool
looks_matter(DdirRel *rel, List *eqops)
{
	ListCell   *lc;

	foreach(lc, eqops)
	{
		if (ddir_equality_is_lossy((Node *) ddir_rel_var(0, rel, foreach_current_index(lc) + 1),
								   lfirst_oid(lc)))
			return true;
	}
	return false;
}

static DdirRel *
except_all(DdirRel *a, DdirRel *b)
{
	DdirRel    *parts[2] = {a, ddir_rel_negate(b)};

	return ddir_rel_threshold(ddir_rel_union(2, parts));
}

static DdirRel *
lower_difference(DdirLevel *level, SetOperationStmt *op)
{
	List	   *eqops = equalities_of(op);
	DdirRel    *side[2];
	DdirRel    *parts[2];

	side[0] = coerce_operand(level, lower_operand(level, op->larg), op);
	side[1] = coerce_operand(level, lower_operand(level, op->rarg), op);
	if (!op->all)
		return difference_distinct(side, eqops, op->op);
	if (looks_matter(side[0], eqops))
	{
		DdirRel    *like = ddir_lower_distinct(level, side[0], eqops);

		side[0] = made_alike(side[0], like, eqops);
		side[1] = made_alike(side[1], like, eqops);
	}
	if (op->op == SETOP_EXCEPT)
		return except_all(side[0], side[1]);
	parts[0] = side[0];
	parts[1] = ddir_rel_negate(except_all(side[0], side[1]));
	return ddir_rel_union(2, parts);
}

static DdirRel *
lower_operand(DdirLevel *level, Node *node)
{
	if (IsA(node, RangeTblRef))
	{
		RangeTblEntry *rte = rt_fetch(((RangeTblRef *) node)->rtindex, level->query->rtable);

		return ddir_lower_query(level->run, level, rte->subquery, DDIR_LEVEL_FROM);
	}
	switch (castNode(SetOperationStmt, node)->op)
	{
		case SETOP_UNION:
			return lower_union(level, (SetOperationStmt *) node);
		default:
			return lower_difference(level, (SetOperationStmt *) node);
	}
}

DdirRel *
ddir_lower_setop(DdirLevel *level)
{
	return lower_operand(level, level->query->setOperations);
}
