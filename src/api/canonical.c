/*-------------------------------------------------------------------------
 *
 * canonical.c
 *	  The canonical query of a view.
 *
 * These things are changed in a query:
 *
 *	- sum, avg and the variance family of floats become ddir's own, which are
 *	  exact and rounded once
 *	- an aggregate that is recomputed from its rows takes them in the order
 *	  of their images, where its ORDER BY leaves one open
 *	- of values that are equal and look different (1.0 and 1.00, 'a' and 'A' of
 *	  a collation that ignores case), the one with the least image is shown,
 *	  by GROUP BY, DISTINCT (in aggregates, too), UNION, INTERSECT, EXCEPT, min
 *	  and max.  That of a group is the one of
 *	  the least row of all its keys.  Expressions over a group's key, which may
 *	  tell such values apart, are over that one
 *	- rows that LIMIT, OFFSET and DISTINCT ON count off, and those of a window,
 *	  are ordered by their images where ORDER BY leaves them equal
 *
 * A key that is shown so becomes an aggregate of its group:
 *
 *	SELECT lower(a) FROM t GROUP BY a
 *	SELECT lower(ddir._first(a ORDER BY ddir._image(a))) FROM t GROUP BY a
 *
 * DISTINCT and UNION are a GROUP BY of all columns, around the query, INTERSECT
 * and EXCEPT one of both sides, with counts.  What counts rows off is around the
 * query, too:
 *
 *	SELECT a FROM t ORDER BY b LIMIT 3
 *	SELECT a FROM (SELECT a, b FROM t) ORDER BY b, ddir._image(a, b) LIMIT 3
 *
 * WITH TIES does not see the image: there the rows come in that order already.
 * So do those of windows, as the planner does not sort again what is sorted.
 *
 * src/api/canonical.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/analyze.h"
#include "parser/parse_func.h"
#include "parser/parser.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "api/canonical.h"
#include "base/compat.h"
#include "plan/lowering.h"
#include "rows/agg.h"

static Query *canonical_query(Query *query);

static List *
our_name(const char *name)
{
	return list_make2(makeString("ddir"), makeString(pstrdup(name)));
}

static char *
column_list(int n, const char *format)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 1; i <= n; i++)
	{
		if (i > 1)
			appendStringInfoString(&list, ", ");
		appendStringInfo(&list, format, i);
	}
	return list.data;
}

/*
 * Order among rows
 */

static void
add_order(Aggref *ref, Expr *expr, Oid eqop, Oid sortop)
{
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *entry = makeTargetEntry(expr, list_length(ref->args) + 1, NULL, true);
	ListCell   *lc;

	foreach(lc, ref->args)
	{
		entry->ressortgroupref = Max(entry->ressortgroupref,
									 lfirst_node(TargetEntry, lc)->ressortgroupref);
	}
	entry->ressortgroupref++;
	ref->args = lappend(ref->args, entry);
	clause->tleSortGroupRef = entry->ressortgroupref;
	clause->eqop = eqop;
	ddir_sort_clause_order(clause, sortop);
	ref->aggorder = lappend(ref->aggorder, clause);
}

/* A last ORDER BY item: the image of the values as a row. */
static void
order_by_image(Aggref *ref, List *values)
{
	Oid			any = ANYOID;
	Oid			image = LookupFuncName(our_name("_image"), 1, &any, false);

	add_order(ref, (Expr *) makeFuncExpr(image, BYTEAOID, copyObject(values), InvalidOid,
										 InvalidOid, COERCE_EXPLICIT_CALL),
			  ByteaEqualOperator, ByteaLessOperator);
}

static List *
arguments(const Aggref *ref)
{
	List	   *values = NIL;
	ListCell   *lc;

	foreach(lc, ref->args)
	{
		values = lappend(values, lfirst_node(TargetEntry, lc)->expr);
	}
	return values;
}

/* ddir._first(expr), without an order yet */
static Aggref *
first_of(Expr *expr)
{
	Oid			any = ANYELEMENTOID;
	Aggref	   *ref = makeNode(Aggref);

	ref->aggfnoid = LookupFuncName(our_name("_first"), 1, &any, false);
	ref->aggtype = exprType((Node *) expr);
	ref->aggcollid = ref->inputcollid = exprCollation((Node *) expr);
	ref->aggargtypes = list_make1_oid(ref->aggtype);
	ref->args = list_make1(makeTargetEntry(copyObject(expr), 1, NULL, false));
	ref->aggkind = AGGKIND_NORMAL;
	ref->aggsplit = AGGSPLIT_SIMPLE;
	ref->aggno = ref->aggtransno = -1;
	ref->location = -1;
	return ref;
}

/*
 * Aggregates
 */

/* The order by whose first element min or max is defined; InvalidOid: neither. */
static Oid
first_by(const Aggref *ref)
{
	HeapTuple	tup = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(ref->aggfnoid));
	Oid			sortop;

	if (!HeapTupleIsValid(tup))
		elog(ERROR, "cache lookup failed for aggregate %u", ref->aggfnoid);
	sortop = ((Form_pg_aggregate) GETSTRUCT(tup))->aggsortop;
	ReleaseSysCache(tup);
	return sortop;
}

static Aggref *
first_in_order(Aggref *ref, Oid sortop)
{
	Expr	   *arg = linitial_node(TargetEntry, ref->args)->expr;
	Aggref	   *first;
	Oid			eqop = get_equality_op_for_ordering_op(sortop, NULL);

	if (!OidIsValid(eqop) || !ddir_equality_is_lossy((Node *) arg, eqop))
		return ref;
	first = first_of(arg);
	first->aggfilter = ref->aggfilter;
	add_order(first, copyObject(arg), eqop, sortop);
	order_by_image(first, list_make1(arg));
	return first;
}

static Node *
canonical_aggregate(Aggref *ref)
{
	Oid			ours = ddir_agg_exact(ref->aggfnoid);
	Oid			sortop;

	if (OidIsValid(ours))
		ref->aggfnoid = ours;
	else if (ref->args == NIL || ref->aggkind != AGGKIND_NORMAL)
		return (Node *) ref;
	else if (ddir_agg_method(ref) == DDIR_AGG_SEEK && OidIsValid(sortop = first_by(ref)))
		return (Node *) first_in_order(ref, sortop);
	else if (ref->aggdistinct == NIL && ddir_agg_method(ref) == DDIR_AGG_RECOMPUTE)
		order_by_image(ref, arguments(ref));
	return (Node *) ref;
}

/*
 * Keys
 */

/* Does any of these clauses take values for equal that look different? */
static bool
any_lossy(List *clauses, List *targets)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		if (ddir_equality_is_lossy(get_sortgroupclause_expr(clause, targets), clause->eqop))
			return true;
	}
	return false;
}

/* Replace a group's keys, outside of aggregates, by what is shown of them. */
static Node *
show_keys(Node *node, void *arg)
{
	List	   *keys = arg;
	Aggref	   *first;

	if (node == NULL || IsA(node, SubLink) ||
		(IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0))
		return node;
	if (list_member(keys, node))
	{
		first = first_of((Expr *) node);
		order_by_image(first, keys);
		return (Node *) first;
	}
	return expression_tree_mutator(node, show_keys, arg);
}

static void
show_groups(Query *query)
{
	List	   *keys = get_sortgrouplist_exprs(query->groupClause, query->targetList);
	Index		ref = 0;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		ref = Max(ref, lfirst_node(TargetEntry, lc)->ressortgroupref);
	}
	/* the keys themselves move out of sight; what is shown has their place */
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		tle->expr = (Expr *) show_keys((Node *) tle->expr, keys);
	}
	foreach(lc, query->groupClause)
	{
		TargetEntry *key = makeTargetEntry(list_nth(keys, foreach_current_index(lc)),
										   list_length(query->targetList) + 1, NULL, true);

		key->ressortgroupref = lfirst_node(SortGroupClause, lc)->tleSortGroupRef = ++ref;
		query->targetList = lappend(query->targetList, key);
	}
	query->havingQual = show_keys(query->havingQual, keys);
	query->hasAggs = true;
}

/*
 * DISTINCT in aggregates
 */

/* Values that are arrays would become a larger one. */
static bool
can_be_collected(Node *value)
{
	return !type_is_array(exprType(value)) && OidIsValid(get_array_type(exprType(value)));
}

static bool
is_lossy_distinct(const Aggref *ref)
{
	ListCell   *lc;

	foreach(lc, ref->args)
	{
		if (!can_be_collected((Node *) lfirst_node(TargetEntry, lc)->expr))
			return false;
	}
	return ref->aggfnoid != F_COUNT_ANY && any_lossy(ref->aggdistinct, ref->args);
}

/* All values of a group in an array, for a query that is "levels" further in. */
static Node *
collect(const Aggref *like, Expr *value, int levels)
{
	Aggref	   *ref = (Aggref *) ddir_make_agg(F_ARRAY_AGG_ANYNONARRAY, copyObject(value),
											   copyObject(like->aggfilter));

	ref->aggtype = get_array_type(exprType((Node *) value));
	ref->aggcollid = exprCollation((Node *) value);
	IncrementVarSublevelsUp((Node *) ref, levels, 0);
	return (Node *) ref;
}

/*
 * agg(DISTINCT a) becomes
 *
 *	(SELECT agg(a ORDER BY a)
 *	   FROM (SELECT ddir._first(a ORDER BY ddir._image(k, a)) AS a
 *			   FROM (SELECT a, k FROM ROWS FROM (unnest(array_agg(a)), unnest(array_agg(k))) AS r (a, k)) AS u
 *			  GROUP BY a) AS d)
 *
 * where array_agg is of the query around.  k are its keys where the different
 * (keys, arguments) are maintained; what is recomputed knows the arguments only.
 */
static Node *
show_distinct_arguments(Aggref *ref, List *keys)
{
	List	   *values = list_concat(arguments(ref), keys);
	int			nargs = list_length(ref->args);
	char	   *columns = column_list(list_length(values), "c%d");
	StringInfoData sql;
	Query	   *query;
	Query	   *inner;
	RangeTblEntry *rte;
	SubLink    *link = makeNode(SubLink);
	ListCell   *lc;

	initStringInfo(&sql);
	appendStringInfoString(&sql, "SELECT true FROM (SELECT ");
	for (int i = 1; i <= nargs; i++)
		appendStringInfo(&sql, "%sddir._first(c%d ORDER BY ddir._image(%s%s%s)) AS c%d", i > 1 ? ", " : "", i,
						 column_list(list_length(keys), "k%d"), keys ? ", " : "",
						 column_list(nargs, "c%d"), i);
	appendStringInfoString(&sql, " FROM (SELECT ");
	foreach(lc, values)
	{
		int			i = foreach_current_index(lc);
		Oid			collation = exprCollation(lfirst(lc));

		appendStringInfo(&sql, "%sc%d", i ? ", " : "", i + 1);
		if (OidIsValid(collation))
			appendStringInfo(&sql, " COLLATE %s", generate_collation_name(collation));
		appendStringInfo(&sql, " AS %c%d", i < nargs ? 'c' : 'k', i < nargs ? i + 1 : i + 1 - nargs);
	}
	appendStringInfoString(&sql, " FROM ROWS FROM (");
	foreach(lc, values)
		appendStringInfo(&sql, "%sunnest(NULL::%s)", foreach_current_index(lc) ? ", " : "",
						 format_type_be(get_array_type(exprType(lfirst(lc)))));
	appendStringInfo(&sql, ") AS r (%s)) AS u GROUP BY %s) AS d", columns, column_list(nargs, "c%d"));
	query = parse_analyze_fixedparams(linitial_node(RawStmt, raw_parser(sql.data, RAW_PARSE_DEFAULT)),
									  sql.data, NULL, 0, NULL);

	inner = linitial_node(RangeTblEntry, linitial_node(RangeTblEntry, query->rtable)->subquery->rtable)->subquery;
	rte = linitial_node(RangeTblEntry, inner->rtable);
	foreach(lc, values)
	{
		RangeTblFunction *function = list_nth_node(RangeTblFunction, rte->functions,
												   foreach_current_index(lc));

		castNode(FuncExpr, function->funcexpr)->args = list_make1(collect(ref, lfirst(lc), 3));
	}
	/* the aggregate itself, over what is left */
	ref->aggorder = ref->aggdistinct;
	ref->aggdistinct = NIL;
	ref->aggfilter = NULL;
	foreach(lc, ref->args)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		tle->expr = (Expr *) makeVar(1, foreach_current_index(lc) + 1, exprType((Node *) tle->expr),
									 exprTypmod((Node *) tle->expr), exprCollation((Node *) tle->expr), 0);
	}
	linitial_node(TargetEntry, query->targetList)->expr = (Expr *) ref;
	query->hasAggs = true;
	link->subLinkType = EXPR_SUBLINK;
	link->subselect = (Node *) query;
	link->location = -1;
	return (Node *) link;
}

typedef struct DistinctContext
{
	List	   *keys;
	bool		found;
} DistinctContext;

static Node *
distinct_mutator(Node *node, void *arg)
{
	DistinctContext *cx = arg;

	if (node == NULL || IsA(node, SubLink))
		return node;
	if (IsA(node, Aggref))
	{
		Aggref	   *ref = (Aggref *) node;

		if (ref->agglevelsup > 0 || ref->aggdistinct == NIL || !is_lossy_distinct(ref))
			return node;
		cx->found = true;
		return show_distinct_arguments(copyObject(ref),
									   ddir_agg_needs_distinct(ref) ? cx->keys : NIL);
	}
	return expression_tree_mutator(node, distinct_mutator, arg);
}

/* Keys matter only if they look different within a group. */
static void
show_distinct_of_aggregates(Query *query)
{
	DistinctContext cx = {NIL, false};
	ListCell   *lc;

	if (query->groupClause != NIL && query->groupingSets == NIL &&
		any_lossy(query->groupClause, query->targetList))
		foreach(lc, get_sortgrouplist_exprs(query->groupClause, query->targetList))
	{
		if (can_be_collected(lfirst(lc)))
			cx.keys = lappend(cx.keys, lfirst(lc));
	}
	query->targetList = (List *) distinct_mutator((Node *) query->targetList, &cx);
	query->havingQual = distinct_mutator(query->havingQual, &cx);
	query->hasSubLinks = query->hasSubLinks || cx.found;
}

/* SELECT all columns FROM (query) GROUP BY them, by these clauses, and show them. */
static Query *
group_around(Query *query, List *clauses)
{
	Query	   *outer = ddir_query_around(query, "distinct");

	outer->groupClause = clauses;
	show_groups(outer);
	return outer;
}

/* DISTINCT: its clauses, by the numbers of columns. */
static Query *
show_distinct(Query *query)
{
	List	   *clauses = query->distinctClause;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		clause->tleSortGroupRef = get_sortgroupclause_tle(clause, query->targetList)->resno;
	}
	query->distinctClause = NIL;
	query->sortClause = NIL;
	return group_around(query, clauses);
}

/*
 * Set operations
 */

static bool
is_lossy_operation(const SetOperationStmt *op)
{
	ListCell   *lc;

	foreach(lc, op->groupClauses)
	{
		int			i = foreach_current_index(lc);
		Node	   *column = (Node *) makeNullConst(list_nth_oid(op->colTypes, i), -1,
													list_nth_oid(op->colCollations, i));

		if (ddir_equality_is_lossy(column, lfirst_node(SortGroupClause, lc)->eqop))
			return true;
	}
	return false;
}

static int
leftmost(Node *node)
{
	while (IsA(node, SetOperationStmt))
		node = ((SetOperationStmt *) node)->larg;
	return castNode(RangeTblRef, node)->rtindex;
}

/*
 * An operand as a query of its own, in the place of a subquery of the one that
 * the operation is of.
 */
static Query *
operand(const Query *query, Node *node)
{
	RangeTblEntry *rte = rt_fetch(leftmost(node), query->rtable);
	SetOperationStmt *op = (SetOperationStmt *) node;
	Query	   *result;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return copyObject(rte->subquery);
	result = makeNode(Query);
	result->commandType = CMD_SELECT;
	result->querySource = query->querySource;
	result->canSetTag = true;
	result->rtable = copyObject(query->rtable);
	result->setOperations = (Node *) copyObject(op);
	result->jointree = makeFromExpr(NIL, NULL);
	/* nothing in the operands is of the level of the operation but WITH */
	IncrementVarSublevelsUp((Node *) result, 1, 0);
	foreach(lc, op->colTypes)
	{
		int			i = foreach_current_index(lc);
		Var		   *var = makeVar(leftmost(node), i + 1, lfirst_oid(lc),
								  list_nth_int(op->colTypmods, i),
								  list_nth_oid(op->colCollations, i), 0);

		result->targetList = lappend(result->targetList,
									 makeTargetEntry((Expr *) var, i + 1, psprintf("c%d", i + 1), false));
	}
	return canonical_query(result);
}

/*
 * What stands below an operation of another kind becomes an operand of it that
 * is a query.  A UNION above others keeps one of equal rows; they need not.
 */
static Node *
take_apart(Query *query, Node *node, const SetOperationStmt *top)
{
	SetOperationStmt *op = (SetOperationStmt *) node;
	RangeTblEntry *rte;
	RangeTblRef *ref;

	if (!IsA(node, SetOperationStmt))
		return node;
	if (op->op == SETOP_UNION && (op->all || !top->all) &&
		equal(op->colTypes, top->colTypes) && equal(op->colCollations, top->colCollations))
	{
		op->larg = take_apart(query, op->larg, top);
		op->rarg = take_apart(query, op->rarg, top);
		if (op != top)
		{
			op->all = true;
			op->groupClauses = NIL;
		}
		return node;
	}
	rte = makeNode(RangeTblEntry);
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = operand(query, node);
	rte->eref = makeAlias("operand", NIL);
	for (int i = 0; i < list_length(op->colTypes); i++)
		rte->eref->colnames = lappend(rte->eref->colnames, makeString(psprintf("c%d", i + 1)));
	/* the query's own columns may be those of the leftmost operand */
	ref = makeNode(RangeTblRef);
	ref->rtindex = leftmost(node);
	lfirst(list_nth_cell(query->rtable, ref->rtindex - 1)) = rte;
	return (Node *) ref;
}

static Query *
show_union(Query *query)
{
	SetOperationStmt *op = castNode(SetOperationStmt, query->setOperations);
	List	   *clauses = op->groupClauses;
	ListCell   *lc;

	(void) take_apart(query, (Node *) op, op);
	if (op->all || !is_lossy_operation(op))
		return query;
	foreach(lc, clauses)
	{
		lfirst_node(SortGroupClause, lc)->tleSortGroupRef =
			list_nth_node(TargetEntry, query->targetList, foreach_current_index(lc))->resno;
	}
	op->all = true;
	op->groupClauses = NIL;
	query->sortClause = NIL;
	return group_around(query, clauses);
}

/* "SELECT c1, ..." of nothing, with the columns of this query */
static void
append_stand_in(StringInfo sql, const Query *query, const char *alias)
{
	int			i = 0;
	ListCell   *lc;

	appendStringInfoString(sql, "(SELECT ");
	foreach(lc, query->targetList)
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;

		if (!lfirst_node(TargetEntry, lc)->resjunk)
			appendStringInfo(sql, "%sNULL::%s AS c%d", i ? ", " : "",
							 format_type_with_typemod(exprType(expr), exprTypmod(expr)), i + 1);
		i++;
	}
	appendStringInfo(sql, ") AS %s", alias);
}

static void
append_side(StringInfo sql, const SetOperationStmt *op, const Query *query, const char *alias,
			bool left)
{
	ListCell   *lc;

	appendStringInfo(sql, "SELECT %s AS is_left", left ? "true" : "false");
	foreach(lc, op->colTypes)
	{
		int			i = foreach_current_index(lc);
		Oid			collation = list_nth_oid(op->colCollations, i);

		appendStringInfo(sql, ", (c%d::%s)", i + 1, format_type_be(lfirst_oid(lc)));
		if (OidIsValid(collation))
			appendStringInfo(sql, " COLLATE %s", generate_collation_name(collation));
		appendStringInfo(sql, " AS c%d", i + 1);
	}
	appendStringInfoString(sql, " FROM ");
	append_stand_in(sql, query, alias);
}

/* Put the query in the place of the subquery of that name. */
static bool
put_in_place(Query *query, const char *alias, Query *with, int depth)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind != RTE_SUBQUERY)
			continue;
		if (rte->alias && strcmp(rte->alias->aliasname, alias) == 0)
		{
			IncrementVarSublevelsUp((Node *) with, depth, 1);
			rte->subquery = with;
			return true;
		}
		if (put_in_place(rte->subquery, alias, with, depth + 1))
			return true;
	}
	return false;
}

/*
 * INTERSECT and EXCEPT: the rows of both sides are grouped and counted.  What is
 * shown of a group is its least row; with ALL the least one of the left.
 */
static Query *
show_difference(Query *query)
{
	SetOperationStmt *op = castNode(SetOperationStmt, query->setOperations);
	bool		except = op->op == SETOP_EXCEPT;
	int			n = list_length(op->colTypes);
	Query	   *side[2];
	char	   *columns = column_list(n, "c%d");
	StringInfoData sql;
	Query	   *result;
	ListCell   *lc;

	if (!is_lossy_operation(op))
		return query;
	side[0] = operand(query, op->larg);
	side[1] = operand(query, op->rarg);
	initStringInfo(&sql);
	appendStringInfo(&sql, "SELECT %s FROM (SELECT ", columns);
	for (int i = 1; i <= n; i++)
		appendStringInfo(&sql, "ddir._first(c%d ORDER BY ddir._image(%s))%s AS c%d, ", i, columns,
						 op->all ? " FILTER (WHERE is_left)" : "", i);
	appendStringInfoString(&sql, "count(*) FILTER (WHERE is_left) AS n_left, "
						   "count(*) FILTER (WHERE NOT is_left) AS n_right FROM (");
	append_side(&sql, op, side[0], "ddir_left", true);
	appendStringInfoString(&sql, " UNION ALL ");
	append_side(&sql, op, side[1], "ddir_right", false);
	appendStringInfo(&sql, ") AS both_sides GROUP BY %s) AS counted", column_list(n, "both_sides.c%d"));
	if (op->all)
		appendStringInfo(&sql, ", LATERAL generate_series(1, %s)",
						 except ? "n_left - n_right" : "least(n_left, n_right)");
	else
		appendStringInfo(&sql, " WHERE n_left > 0 AND n_right %s 0", except ? "=" : ">");

	result = parse_analyze_fixedparams(linitial_node(RawStmt, raw_parser(sql.data, RAW_PARSE_DEFAULT)),
									   sql.data, NULL, 0, NULL);
	if (!put_in_place(result, "ddir_left", side[0], 0) ||
		!put_in_place(result, "ddir_right", side[1], 0))
		elog(ERROR, "the sides of a set operation have no place");
	result->cteList = query->cteList;
	result->hasRecursive = query->hasRecursive;
	foreach(lc, result->targetList)
	{
		lfirst_node(TargetEntry, lc)->resname =
			list_nth_node(TargetEntry, query->targetList, foreach_current_index(lc))->resname;
	}
	return result;
}

/*
 * Counting rows off
 */

/* The clauses, by the numbers of columns. */
static List *
by_number(List *clauses, List *columns)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, lc));
		ListCell   *cell;

		foreach(cell, columns)
		{
			if (lfirst_node(TargetEntry, cell)->ressortgroupref == clause->tleSortGroupRef)
			{
				clause->tleSortGroupRef = foreach_current_index(cell) + 1;
				result = lappend(result, clause);
				break;
			}
		}
	}
	return result;
}

/*
 * Put the entries that are columns of relations first, all of them visible; how
 * many there are.
 */
static int
show_columns(Query *query, List *columns)
{
	List	   *rest = list_difference_ptr(query->targetList, columns);
	ListCell   *lc;

	query->targetList = list_concat(list_copy(columns), rest);
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		tle->resno = foreach_current_index(lc) + 1;
		tle->resjunk = tle->resno > list_length(columns);
	}
	return list_length(columns);
}

static void
order_query_by_image(Query *query)
{
	Oid			any = ANYOID;
	Oid			image = LookupFuncName(our_name("_image"), 1, &any, false);
	SortGroupClause *clause = makeNode(SortGroupClause);
	List	   *values = NIL;
	TargetEntry *entry;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			values = lappend(values, copyObject(lfirst_node(TargetEntry, lc)->expr));
	}
	if (values == NIL)
		return;
	entry = makeTargetEntry((Expr *) makeFuncExpr(image, BYTEAOID, values, InvalidOid, InvalidOid,
												  COERCE_EXPLICIT_CALL),
							list_length(query->targetList) + 1, NULL, true);
	entry->ressortgroupref = entry->resno;
	query->targetList = lappend(query->targetList, entry);
	clause->tleSortGroupRef = entry->resno;
	clause->eqop = ByteaEqualOperator;
	ddir_sort_clause_order(clause, ByteaLessOperator);
	query->sortClause = lappend(query->sortClause, clause);
}

/* Only so many columns of it are seen. */
static void
hide_columns(Query *query, int nvisible)
{
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		tle->resjunk = tle->resno > nvisible;
	}
}

static Query *
count_off(Query *query)
{
	List	   *columns = ddir_query_columns(query);
	List	   *order = by_number(ddir_query_order(query), columns);
	List	   *distinct = query->hasDistinctOn ? by_number(query->distinctClause, columns) : NIL;
	Node	   *limit = query->limitCount;
	Node	   *offset = query->limitOffset;
	LimitOption option = query->limitOption;
	int			nvisible = 0;
	Query	   *outer;
	ListCell   *lc;

	foreach(lc, columns)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			nvisible++;
	}
	query->limitCount = query->limitOffset = NULL;
	query->limitOption = LIMIT_OPTION_COUNT;
	query->sortClause = NIL;
	if (query->hasDistinctOn)
		query->distinctClause = NIL;
	query->hasDistinctOn = false;
	show_columns(query, columns);
	query = canonical_query(query);

	if (distinct)
	{
		query = ddir_query_around(query, "first");
		query->distinctClause = distinct;
		query->hasDistinctOn = true;
		query->sortClause = copyObject(order);
		order_query_by_image(query);
	}
	if (distinct && limit == NULL && offset == NULL)
		outer = query;
	else
	{
		outer = ddir_query_around(query, "rows");
		outer->sortClause = copyObject(order);
		order_query_by_image(outer);
		if (option == LIMIT_OPTION_WITH_TIES)
		{
			outer = ddir_query_around(outer, "ordered");
			outer->sortClause = order;
		}
		outer->limitCount = limit;
		outer->limitOffset = offset;
		outer->limitOption = option;
		outer->hasSubLinks = checkExprHasSubLink(limit) || checkExprHasSubLink(offset);
	}
	hide_columns(outer, nvisible);
	return outer;
}

/*
 * Windows
 */

/* The clauses, by the numbers of the columns that they are of. */
static List *
by_column(List *clauses, List *targets)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, lc));
		Node	   *expr = get_sortgroupclause_expr(clause, targets);

		clause->tleSortGroupRef = castNode(Var, expr)->varattno;
		result = lappend(result, clause);
	}
	return result;
}

/* Let the rows of a window come in its order, then that of their images. */
static void
sort_below(Query *query)
{
	WindowClause *window = linitial_node(WindowClause, query->windowClause);
	Query	  **below = ddir_query_below(query);

	*below = ddir_query_around(*below, "rows");
	(*below)->sortClause = list_concat(by_column(window->partitionClause, query->targetList),
									   by_column(window->orderClause, query->targetList));
	order_query_by_image(*below);
}

/* A stack of windows, from the top: the bottom is another query's matter. */
static void
canonical_windows(Query **query)
{
	if (!ddir_query_is_window(*query))
	{
		*query = canonical_query(*query);
		return;
	}
	canonical_windows(ddir_query_below(*query));
	sort_below(*query);
}

static Query *
canonical_query(Query *query)
{
	ddir_query_free_limit(query);
	if (query->hasWindowFuncs && ddir_query_is_window(query))
	{
		/* what is below was a query of its own */
		sort_below(query);
		return query;
	}
	if (query->hasWindowFuncs)
	{
		query = ddir_split_windows(query);
		canonical_windows(ddir_query_below(query));
	}
	if (ddir_query_is_limited(query))
		return count_off(query);
	if (query->groupClause != NIL && query->groupingSets == NIL)
	{
		ddir_flatten_groups(query);
		if (query->hasAggs)
			show_distinct_of_aggregates(query);
		if (any_lossy(query->groupClause, query->targetList))
			show_groups(query);
	}
	else if (query->hasAggs)
		show_distinct_of_aggregates(query);
	if (query->distinctClause != NIL && any_lossy(query->distinctClause, query->targetList))
		return show_distinct(query);
	if (query->setOperations == NULL)
		return query;
	return castNode(SetOperationStmt, query->setOperations)->op == SETOP_UNION ?
		show_union(query) : show_difference(query);
}

static Node *
mutate(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
		return (Node *) canonical_query(query_tree_mutator((Query *) node, mutate, context, 0));
	node = expression_tree_mutator(node, mutate, context);
	if (IsA(node, WindowFunc))
	{
		Oid			ours = ddir_agg_exact(((WindowFunc *) node)->winfnoid);

		if (OidIsValid(ours))
			((WindowFunc *) node)->winfnoid = ours;
	}
	return IsA(node, Aggref) ? canonical_aggregate((Aggref *) node) : node;
}

Query *
ddir_canonical_query(Query *query)
{
	return (Query *) mutate((Node *) query, NULL);
}
