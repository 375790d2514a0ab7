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
 *	  by GROUP BY, DISTINCT, UNION, min and max.  That of a group is the one of
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
 * DISTINCT and UNION are a GROUP BY of all columns, around the query.  So is
 * what counts rows off:
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
#include "parser/parse_func.h"
#include "rewrite/rewriteManip.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "api/canonical.h"
#include "base/compat.h"
#include "plan/lowering.h"
#include "rows/agg.h"

static List *
our_name(const char *name)
{
	return list_make2(makeString("ddir"), makeString(pstrdup(name)));
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

/* A UNION above these keeps one of equal rows; they need not. */
static void
keep_all(Node *node)
{
	SetOperationStmt *op = (SetOperationStmt *) node;

	if (!IsA(node, SetOperationStmt) || op->op != SETOP_UNION)
		return;
	op->all = true;
	op->groupClauses = NIL;
	keep_all(op->larg);
	keep_all(op->rarg);
}

static Query *
show_union(Query *query)
{
	SetOperationStmt *op = castNode(SetOperationStmt, query->setOperations);
	List	   *clauses = op->groupClauses;
	bool		lossy = false;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = list_nth_node(TargetEntry, query->targetList,
										 foreach_current_index(lc));

		clause->tleSortGroupRef = tle->resno;
		lossy = lossy || ddir_equality_is_lossy((Node *) tle->expr, clause->eqop);
	}
	if (!lossy)
		return query;
	keep_all((Node *) op);
	query->sortClause = NIL;
	return group_around(query, clauses);
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

static Query *canonical_query(Query *query);

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
		if (any_lossy(query->groupClause, query->targetList))
			show_groups(query);
	}
	if (query->distinctClause != NIL && any_lossy(query->distinctClause, query->targetList))
		return show_distinct(query);
	if (query->setOperations && IsA(query->setOperations, SetOperationStmt) &&
		((SetOperationStmt *) query->setOperations)->op == SETOP_UNION &&
		!((SetOperationStmt *) query->setOperations)->all)
		return show_union(query);
	return query;
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
