/*-------------------------------------------------------------------------
 *
 * wholerow.c
 *	  Whole rows as values: SELECT t FROM t, row_to_json(t), count(t).
 *
 * A whole row is ROW(t.a, t.b, ...) of its table's type, which is what it becomes
 * wherever it stands, in subqueries too.  But where an outer join has no row for
 * t it is NULL, and not a row of NULLs.  There t becomes a subquery that has the
 * row as a column of its own:
 *
 *	SELECT s.a, t FROM s LEFT JOIN t ON s.a = t.a
 *	SELECT s.a, t.row FROM s LEFT JOIN (SELECT a, b, ROW(a, b)::t AS row FROM t) t
 *	  ON s.a = t.a
 *
 * Those of joins (SELECT j FROM (a JOIN b USING (x)) j) are taken apart with all
 * other columns of joins.
 *
 * src/plan/wholerow.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "base/compat.h"
#include "plan/lowering.h"

typedef struct RowContext
{
	Query	   *query;
	int			depth;			/* of subqueries inside of it */
	Bitmapset  *nullable;		/* entries that an outer join may have no row
								 * for */
	Oid		   *column;			/* of these: the type of the row that is to be
								 * a column, by range table index */
} RowContext;

static bool
is_whole_row(RowContext *cx, Node *node)
{
	Var		   *var = (Var *) node;

	return IsA(node, Var) && var->varattno == InvalidAttrNumber &&
		(int) var->varlevelsup == cx->depth &&
		rt_fetch(var->varno, cx->query->rtable)->rtekind != RTE_JOIN;
}

static bool
find_walker(Node *node, void *arg)
{
	RowContext *cx = arg;

	if (node == NULL)
		return false;
	if (is_whole_row(cx, node))
		return true;
	if (IsA(node, Query))
	{
		bool		found;

		cx->depth++;
		found = query_tree_walker((Query *) node, find_walker, arg, 0);
		cx->depth--;
		return found;
	}
	return expression_tree_walker(node, find_walker, arg);
}

/* Entries of a join tree that may be missing in a row of it. */
static Bitmapset *
nullable_in(Node *node, bool nullable)
{
	Bitmapset  *rels = NULL;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return nullable ? bms_make_singleton(((RangeTblRef *) node)->rtindex) : NULL;
	if (IsA(node, JoinExpr))
	{
		JoinExpr   *join = (JoinExpr *) node;
		bool		full = join->jointype == JOIN_FULL;

		return bms_join(nullable_in(join->larg, nullable || full || join->jointype == JOIN_RIGHT),
						nullable_in(join->rarg, nullable || full || join->jointype == JOIN_LEFT));
	}
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		rels = bms_join(rels, nullable_in(lfirst(lc), nullable));
	}
	return rels;
}

/*
 * ROW(...) of an entry's columns, seen from "depth" subqueries inside.  That of a
 * domain is one, whatever it says of rows of NULLs.
 */
static Node *
row_of(RangeTblEntry *rte, int rti, int depth, Oid type)
{
	RowExpr    *row = makeNode(RowExpr);
	List	   *names;

	ddir_compat_expand_rte(rte, rti, depth, type != RECORDOID, &names, &row->args);
	row->row_typeid = getBaseType(type);
	row->row_format = COERCE_IMPLICIT_CAST;
	row->colnames = type == RECORDOID ? names : NIL;
	row->location = -1;
	if (row->row_typeid == type)
		return (Node *) row;
	return (Node *) makeRelabelType((Expr *) row, type, -1, InvalidOid, COERCE_IMPLICIT_CAST);
}

/*
 * The column, behind those that the query may name, that a row is.  Of one that
 * has no type the modifier tells what columns it has.
 */
static Node *
row_column(const Var *row, RangeTblEntry *rte)
{
	Var		   *var = copyObject(unconstify(Var *, row));
	List	   *names;
	List	   *columns;

	ddir_compat_expand_rte(rte, 1, 0, true, &names, &columns);
	var->varattno = list_length(columns) + 1;
	if (var->vartype == RECORDOID)
	{
		TupleDesc	desc = ExecTypeFromExprList(columns);

		assign_record_type_typmod(desc);
		var->vartypmod = desc->tdtypmod;
	}
	return (Node *) var;
}

static Node *
row_mutator(Node *node, void *arg)
{
	RowContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (is_whole_row(cx, node))
	{
		Var		   *var = (Var *) node;
		RangeTblEntry *rte = rt_fetch(var->varno, cx->query->rtable);

		if (!bms_is_member(var->varno, cx->nullable))
			return row_of(rte, var->varno, cx->depth, var->vartype);
		cx->column[var->varno] = var->vartype;
		return row_column(var, rte);
	}
	if (IsA(node, Query))
	{
		cx->depth++;
		node = (Node *) query_tree_mutator((Query *) node, row_mutator, arg, 0);
		cx->depth--;
		return node;
	}
	return expression_tree_mutator(node, row_mutator, arg);
}

/* The entry as a subquery that has its row as a last column. */
static RangeTblEntry *
with_row(RangeTblEntry *rte, int rti, Oid type)
{
	RangeTblEntry *result = makeNode(RangeTblEntry);
	RangeTblEntry *inner = copyObject(rte);
	RangeTblRef *ref = makeNode(RangeTblRef);
	Query	   *query = makeNode(Query);
	List	   *security = inner->securityQuals;
	List	   *names;
	List	   *columns;
	ListCell   *lc;

	/* its rights are asked for by the query that it stood in */
	ddir_rte_drop_rights(inner);
	inner->lateral = false;
	inner->securityQuals = NIL;
	IncrementVarSublevelsUp_rtable(list_make1(inner), 1, 0);
	ChangeVarNodes((Node *) security, rti, 1, 0);
	inner->securityQuals = security;

	ddir_compat_expand_rte(inner, 1, 0, true, &names, &columns);
	names = lappend(names, makeString(pstrdup("row")));
	columns = lappend(columns, row_of(inner, 1, 0, type));
	foreach(lc, columns)
	{
		int			i = foreach_current_index(lc);

		query->targetList = lappend(query->targetList,
									makeTargetEntry(lfirst(lc), i + 1,
													strVal(list_nth(names, i)), false));
	}
	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->canSetTag = true;
	query->rtable = list_make1(inner);
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	query->hasSubLinks = checkExprHasSubLink((Node *) security) ||
		checkExprHasSubLink((Node *) inner->functions);

	result->rtekind = RTE_SUBQUERY;
	result->subquery = query;
	result->alias = copyObject(rte->alias);
	result->eref = makeAlias(rte->eref->aliasname, names);
	result->lateral = rte->lateral || rte->rtekind == RTE_FUNCTION;
	result->inFromCl = true;
	return result;
}

Query *
ddir_expand_whole_rows(Query *query)
{
	RowContext	cx = {query};
	ListCell   *lc;

	if (!query_tree_walker(query, find_walker, &cx, 0))
		return query;
	query = copyObject(query);
	/* row security is looked at where the row is */
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		rte->securityQuals = (List *) row_mutator((Node *) rte->securityQuals, &cx);
	}
	cx.nullable = nullable_in((Node *) query->jointree, false);
	cx.column = palloc0(sizeof(Oid) * (list_length(query->rtable) + 1));
	query = query_tree_mutator(query, row_mutator, &cx, 0);
	foreach(lc, query->rtable)
	{
		int			rti = foreach_current_index(lc) + 1;

		if (OidIsValid(cx.column[rti]))
			lfirst(lc) = with_row(lfirst_node(RangeTblEntry, lc), rti, cx.column[rti]);
	}
	return query;
}
