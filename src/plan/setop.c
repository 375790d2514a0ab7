/*-------------------------------------------------------------------------
 *
 * setop.c
 *	  UNION and UNION ALL.
 *
 * Operands are brought to the common types that the parser found, as the
 * planner does it.  UNION drops duplicates of the sum of all its operands; a
 * UNION inside of a UNION of the same types needs no step of its own.
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

static DdirRel *
lower_union(DdirLevel *level, SetOperationStmt *op)
{
	List	   *operands = gather(level, (Node *) op, op, NIL);
	DdirRel   **rels = palloc(sizeof(DdirRel *) * list_length(operands));
	List	   *eqops = NIL;
	DdirRel    *rel;
	ListCell   *lc;

	foreach(lc, operands)
	{
		rels[foreach_current_index(lc)] = lfirst(lc);
	}
	rel = ddir_rel_union(list_length(operands), rels);
	if (op->all)
		return rel;
	foreach(lc, op->groupClauses)
	{
		eqops = lappend_oid(eqops, lfirst_node(SortGroupClause, lc)->eqop);
	}
	return ddir_lower_distinct(level, rel, eqops);
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
		case SETOP_INTERSECT:
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_INTERSECT, "INTERSECT");
			break;
		default:
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_INTERSECT, "EXCEPT");
	}
}

DdirRel *
ddir_lower_setop(DdirLevel *level)
{
	return lower_operand(level, level->query->setOperations);
}
