/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Queries with window functions, taken apart.
 *
 * A query with window functions becomes a stack of queries: at the bottom what
 * its FROM, WHERE and GROUP BY make, then one query for each window, and on top
 * the select list, DISTINCT and LIMIT.
 *
 *	SELECT a + 1, rank() OVER v, sum(x) OVER w FROM t
 *	  WINDOW v AS (ORDER BY b), w AS (PARTITION BY c)
 *
 *	SELECT c1, c5, c6 FROM
 *	  (SELECT c1, ..., c5, sum(c3) OVER (PARTITION BY c4) AS c6 FROM
 *		(SELECT c1, ..., c4, rank() OVER (ORDER BY c2) AS c5 FROM
 *		  (SELECT a + 1 AS c1, b AS c2, x AS c3, c AS c4 FROM t)))
 *
 * So a window's rows are whole rows of one relation, and the image of a row is
 * what orders those that the window's ORDER BY leaves equal.  The canonical query
 * (api/canonical.c) is taken apart by the same function, and means the same.
 *
 * What is computed at the bottom is what is computed in any case: whole
 * expressions of the select list that have no window function in them, windows'
 * keys, and arguments.  Of other expressions there are the columns, group keys
 * and aggregates that they mention.
 *
 * src/plan/window.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "plan/lowering.h"

typedef struct Split
{
	Query	   *query;			/* as it was */
	int			depth;			/* of subqueries around what is looked at */
	List	   *groups;			/* expressions of GROUP BY */
	List	   *columns;		/* of Expr: what the bottom computes */
	List	   *funcs;			/* of WindowFunc, each once, by window */
} Split;

/*
 * Queries around queries
 */

/* SELECT all columns FROM (query); their numbers are what clauses call them. */
Query *
ddir_query_around(Query *query, const char *alias)
{
	Query	   *outer = makeNode(Query);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *rtr = makeNode(RangeTblRef);
	ListCell   *lc;

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = query;
	rte->eref = makeAlias(alias, NIL);
	rte->inFromCl = true;
	outer->commandType = CMD_SELECT;
	outer->querySource = query->querySource;
	outer->canSetTag = query->canSetTag;
	outer->stmt_location = query->stmt_location;
	outer->stmt_len = query->stmt_len;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		TargetEntry *shown;

		if (tle->resjunk)
			continue;
		rte->eref->colnames = lappend(rte->eref->colnames,
									  makeString(tle->resname ? tle->resname : "?"));
		shown = makeTargetEntry((Expr *) makeVarFromTargetEntry(1, tle), tle->resno,
								tle->resname, false);
		shown->ressortgroupref = tle->resno;
		shown->resorigtbl = tle->resorigtbl;
		shown->resorigcol = tle->resorigcol;
		outer->targetList = lappend(outer->targetList, shown);
	}
	outer->rtable = list_make1(rte);
	rtr->rtindex = 1;
	outer->jointree = makeFromExpr(list_make1(rtr), NULL);
	IncrementVarSublevelsUp((Node *) query, 1, 1);
	return outer;
}

Query	  **
ddir_query_below(Query *query)
{
	return &linitial_node(RangeTblEntry, query->rtable)->subquery;
}

/*
 * Is it the query of one window over all columns of a subquery: those, then
 * functions of them?
 */
bool
ddir_query_is_window(const Query *query)
{
	RangeTblEntry *rte;
	int			ncolumns = 0;
	ListCell   *lc;

	if (!query->hasWindowFuncs || list_length(query->windowClause) != 1 ||
		query->setOperations || query->cteList || query->hasAggs || query->groupClause ||
		query->groupingSets || query->havingQual || query->hasTargetSRFs ||
		query->distinctClause || query->sortClause || query->hasSubLinks ||
		ddir_query_is_limited(query) || list_length(query->rtable) != 1 ||
		query->jointree->quals || list_length(query->jointree->fromlist) != 1 ||
		!IsA(linitial(query->jointree->fromlist), RangeTblRef))
		return false;
	rte = linitial_node(RangeTblEntry, query->rtable);
	if (rte->rtekind != RTE_SUBQUERY || rte->lateral)
		return false;
	foreach(lc, rte->subquery->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			ncolumns++;
	}
	if (list_length(query->targetList) <= ncolumns)
		return false;
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		int			i = foreach_current_index(lc);

		if (tle->resjunk)
			return false;
		if (i < ncolumns && !(IsA(tle->expr, Var) && ((Var *) tle->expr)->varattno == i + 1 &&
							  ((Var *) tle->expr)->varlevelsup == 0))
			return false;
		if (i >= ncolumns && !IsA(tle->expr, WindowFunc))
			return false;
		if (i >= ncolumns)
		{
			WindowFunc *f = (WindowFunc *) tle->expr;
			ListCell   *cell;

			foreach(cell, f->args)
			{
				if (!IsA(lfirst(cell), Var) && !IsA(lfirst(cell), Const))
					return false;
			}
			if (f->aggfilter && !IsA(f->aggfilter, Var))
				return false;
		}
	}
	return true;
}

/*
 * What the bottom computes
 */

static void
add_column(Split *s, Node *node, int depth)
{
	s->columns = ddir_add_once(s->columns, node, depth);
}

/* Does it mention nothing that rows could give? */
static bool
is_constant(Node *node)
{
	return !contain_vars_of_level(node, 0) && !contain_agg_clause(node) &&
		!checkExprHasSubLink(node) && !contain_window_function(node) && !expression_returns_set(node);
}

static void
add_argument(Split *s, Node *expr)
{
	if (!IsA(expr, Const))
		add_column(s, expr, 0);
}

/* Is it one of what the query has below its windows, seen from inside of subqueries? */
static bool
is_piece(Split *s, Node *node)
{
	if (ddir_find_equal(s->groups, node, s->depth) >= 0)
		return true;
	if (IsA(node, Var))
		return (int) ((Var *) node)->varlevelsup == s->depth;
	if (IsA(node, Aggref))
		return (int) ((Aggref *) node)->agglevelsup == s->depth;
	return IsA(node, GroupingFunc) && (int) ((GroupingFunc *) node)->agglevelsup == s->depth;
}

static Expr *
guarded_argument(Expr *arg, Expr *filter)
{
	CaseExpr   *c;
	CaseWhen   *w;

	if (filter == NULL || IsA(arg, Const) || IsA(arg, Var))
		return arg;
	c = makeNode(CaseExpr);
	w = makeNode(CaseWhen);
	w->expr = copyObject(filter);
	w->result = arg;
	w->location = -1;
	c->casetype = exprType((Node *) arg);
	c->casecollid = exprCollation((Node *) arg);
	c->args = list_make1(w);
	c->defresult = (Expr *) makeNullConst(c->casetype, exprTypmod((Node *) arg), c->casecollid);
	c->location = -1;
	return (Expr *) c;
}

static void
add_func(Split *s, WindowFunc *f)
{
	ListCell   *lc;

	if (ddir_find_equal(s->funcs, (Node *) f, 0) >= 0)
		return;
	f = copyObject(f);
	s->funcs = lappend(s->funcs, f);
	foreach(lc, f->args)
	{
		add_argument(s, (Node *) guarded_argument(lfirst(lc), f->aggfilter));
	}
	if (f->aggfilter)
		add_column(s, (Node *) f->aggfilter, 0);
}

static bool
pieces_walker(Node *node, void *arg)
{
	Split	   *s = arg;

	if (node == NULL)
		return false;
	if (is_piece(s, node))
	{
		add_column(s, node, s->depth);
		return false;
	}
	if (IsA(node, WindowFunc))
	{
		add_func(s, (WindowFunc *) node);
		return false;
	}
	if (IsA(node, Query))
	{
		s->depth++;
		query_tree_walker((Query *) node, pieces_walker, arg, 0);
		s->depth--;
		return false;
	}
	return expression_tree_walker(node, pieces_walker, arg);
}

/* An entry of the select list that is computed at the bottom as a whole. */
static bool
is_whole(TargetEntry *tle)
{
	return !contain_window_function((Node *) tle->expr) && !expression_returns_set((Node *) tle->expr) &&
		!is_constant((Node *) tle->expr);
}

static List *
clause_exprs(List *clauses, List *targets)
{
	return get_sortgrouplist_exprs(clauses, targets);
}

static void
collect(Split *s)
{
	Query	   *query = s->query;
	List	   *tops = NIL;
	ListCell   *lc;
	ListCell   *cell;

	s->groups = query->groupClause ? clause_exprs(query->groupClause, query->targetList) : NIL;
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk &&
			get_sortgroupref_clause_noerr(tle->ressortgroupref, query->sortClause) == NULL &&
			get_sortgroupref_clause_noerr(tle->ressortgroupref, query->distinctClause) == NULL)
			continue;
		tops = lappend(tops, tle);
		if (is_whole(tle))
			add_column(s, (Node *) tle->expr, 0);
		else
			pieces_walker((Node *) tle->expr, s);
	}
	foreach(lc, query->windowClause)
	{
		WindowClause *window = lfirst_node(WindowClause, lc);

		foreach(cell, list_concat(clause_exprs(window->partitionClause, query->targetList),
								  clause_exprs(window->orderClause, query->targetList)))
		{
			add_column(s, lfirst(cell), 0);
		}
	}
	list_free(tops);
}

/*
 * The queries
 */

/* What people call it. */
static char *
column_name(Query *query, Node *expr, int n)
{
	Var		   *var = (Var *) expr;

	if (IsA(expr, Var) && var->varlevelsup == 0 && var->varno <= list_length(query->rtable) &&
		var->varattno > 0)
		return pstrdup(get_rte_attribute_name(rt_fetch(var->varno, query->rtable), var->varattno));
	return psprintf("c%d", n);
}

/* The query without its windows, with these columns. */
static Query *
make_bottom(Split *s)
{
	Query	   *bottom = copyObject(s->query);
	List	   *targets = NIL;
	ListCell   *lc;

	foreach(lc, s->columns)
	{
		int			n = foreach_current_index(lc) + 1;

		targets = lappend(targets, makeTargetEntry(copyObject(lfirst(lc)), n,
												   column_name(bottom, lfirst(lc), n), false));
	}
	foreach(lc, bottom->groupClause)
	{
		TargetEntry *tle = copyObject(get_sortgroupclause_tle(lfirst_node(SortGroupClause, lc),
															  bottom->targetList));

		tle->resno = list_length(targets) + 1;
		tle->resjunk = true;
		targets = lappend(targets, tle);
	}
	bottom->targetList = targets;
	bottom->hasWindowFuncs = false;
	bottom->windowClause = NIL;
	bottom->distinctClause = bottom->sortClause = NIL;
	bottom->hasDistinctOn = false;
	bottom->hasTargetSRFs = false;
	bottom->limitCount = bottom->limitOffset = NULL;
	bottom->limitOption = LIMIT_OPTION_COUNT;
	return bottom;
}

static Expr *
column(Query *query, int n)
{
	return copyObject(list_nth_node(TargetEntry, query->targetList, n)->expr);
}

static Expr *
argument(Split *s, Query *query, Expr *arg, Expr *filter)
{
	if (IsA(arg, Const))
		return arg;
	return column(query, ddir_find_equal(s->columns, (Node *) guarded_argument(arg, filter), 0));
}

/* A window's clauses, over the columns of the query that it gets. */
static List *
moved_clauses(Split *s, List *clauses)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		SortGroupClause *clause = copyObject(lfirst_node(SortGroupClause, lc));
		Node	   *expr = get_sortgroupclause_expr(clause, s->query->targetList);

		clause->tleSortGroupRef = ddir_find_equal(s->columns, expr, 0) + 1;
		result = lappend(result, clause);
	}
	return result;
}

/* One window over the query below; *place: of its functions' columns, by func. */
static Query *
make_window(Split *s, Query *below, WindowClause *of, int *place)
{
	Query	   *query = ddir_query_around(below, "window");
	WindowClause *window = copyObject(of);
	ListCell   *lc;

	window->name = window->refname = NULL;
	window->winref = 1;
	window->partitionClause = moved_clauses(s, of->partitionClause);
	window->orderClause = moved_clauses(s, of->orderClause);
	foreach(lc, s->funcs)
	{
		WindowFunc *f = lfirst_node(WindowFunc, lc);
		WindowFunc *moved;
		List	   *args = NIL;
		int			n = list_length(query->targetList) + 1;
		ListCell   *cell;

		if (f->winref != of->winref)
			continue;
		moved = copyObject(f);
		foreach(cell, f->args)
		{
			args = lappend(args, argument(s, query, lfirst(cell), f->aggfilter));
		}
		moved->args = args;
		if (f->aggfilter)
			moved->aggfilter = column(query, ddir_find_equal(s->columns, (Node *) f->aggfilter, 0));
		moved->winref = 1;
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) moved, n,
													get_func_name(f->winfnoid), false));
		place[foreach_current_index(lc)] = n;
	}
	query->windowClause = list_make1(window);
	query->hasWindowFuncs = true;
	return query;
}

typedef struct TopContext
{
	Split	   *split;
	Query	   *top;			/* its select list is still all columns */
	int		   *place;
} TopContext;

static Node *
top_mutator(Node *node, void *arg)
{
	TopContext *cx = arg;
	Split	   *s = cx->split;
	int			n = 0;
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		s->depth++;
		node = (Node *) query_tree_mutator((Query *) node, top_mutator, arg, 0);
		s->depth--;
		return node;
	}
	if (IsA(node, WindowFunc))
		n = cx->place[ddir_find_equal(s->funcs, node, 0)];
	else if (is_piece(s, node))
		n = ddir_find_equal(s->columns, node, s->depth) + 1;
	if (n == 0)
		return expression_tree_mutator(node, top_mutator, arg);
	var = (Var *) column(cx->top, n - 1);
	var->varlevelsup = s->depth;
	return (Node *) var;
}

/* The select list, over the last window's columns. */
static Query *
make_top(Split *s, Query *below, int *place)
{
	Query	   *query = s->query;
	Query	   *top = ddir_query_around(below, "windows");
	TopContext	cx = {s, top, place};
	List	   *targets = NIL;
	RangeTblEntry *carried = ddir_query_carried_entry(query);
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk &&
			get_sortgroupref_clause_noerr(tle->ressortgroupref, query->sortClause) == NULL &&
			get_sortgroupref_clause_noerr(tle->ressortgroupref, query->distinctClause) == NULL)
			continue;
		tle = flatCopyTargetEntry(tle);
		tle->expr = is_whole(tle) ? column(top, ddir_find_equal(s->columns, (Node *) tle->expr, 0)) :
			(Expr *) top_mutator((Node *) tle->expr, &cx);
		tle->resno = list_length(targets) + 1;
		targets = lappend(targets, tle);
	}
	/* these mention columns of a binding, if any */
	top->limitCount = top_mutator(query->limitCount, &cx);
	top->limitOffset = top_mutator(query->limitOffset, &cx);
	top->targetList = targets;
	top->distinctClause = query->distinctClause;
	top->hasDistinctOn = query->hasDistinctOn;
	top->sortClause = query->sortClause;
	top->limitOption = query->limitOption;
	top->hasSubLinks = query->hasSubLinks;
	top->hasTargetSRFs = query->hasTargetSRFs;
	if (carried)
		top->rtable = lappend(top->rtable, carried);
	return top;
}

/* Arguments by name, and those left out, to their places. */
static bool
arguments_walker(Node *node, void *unused)
{
	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
	{
		WindowFunc *f = (WindowFunc *) node;
		HeapTuple	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(f->winfnoid));

		if (!HeapTupleIsValid(proc))
			elog(ERROR, "cache lookup failed for function %u", f->winfnoid);
		f->args = expand_function_arguments(f->args, false, f->wintype, proc);
		ReleaseSysCache(proc);
	}
	return expression_tree_walker(node, arguments_walker, NULL);
}

Query *
ddir_split_windows(Query *query)
{
	Split		split = {query};
	Query	   *result;
	int		   *place;
	ListCell   *lc;

	if (!query->hasWindowFuncs || ddir_query_is_window(query))
		return query;
	ddir_flatten_groups(query);
	query->targetList = (List *) ddir_flatten_join_aliases(query, (Node *) query->targetList);
	arguments_walker((Node *) query->targetList, NULL);
	collect(&split);
	place = palloc0(sizeof(int) * (list_length(split.funcs) + 1));
	result = make_bottom(&split);
	foreach(lc, query->windowClause)
	{
		WindowClause *window = lfirst_node(WindowClause, lc);
		ListCell   *cell;

		foreach(cell, split.funcs)
		{
			if (lfirst_node(WindowFunc, cell)->winref != window->winref)
				continue;
			result = make_window(&split, result, window, place);
			break;
		}
	}
	return make_top(&split, result, place);
}

/*
 * A window's query
 */

/* An offset of the frame; only what is known now can be one. */
static Node *
frame_offset(DdirLevel *level, Node *offset)
{
	if (offset == NULL)
		return NULL;
	offset = (Node *) ddir_lower_fold(level, (Expr *) offset);
	if (!IsA(offset, Const))
		ddir_refuse_query(level->run->refusal, DDIR_REFUSE_WINDOW,
						  "a window frame whose offset is not a constant");
	return offset;
}

DdirRel *
ddir_lower_window(DdirLevel *level)
{
	Query	   *query = level->query;
	WindowClause *window = copyObject(linitial_node(WindowClause, query->windowClause));
	DdirRel    *rel = ddir_lower_query(level->run, level, *ddir_query_below(query),
									   DDIR_LEVEL_FROM);
	List	   *keys = NIL;
	List	   *order = NIL;
	List	   *funcs = NIL;
	ListCell   *lc;

	window->startOffset = frame_offset(level, window->startOffset);
	window->endOffset = frame_offset(level, window->endOffset);
	foreach(lc, window->partitionClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		DdirGroupKey *key = palloc0(sizeof(DdirGroupKey));
		Node	   *expr = get_sortgroupclause_expr(clause, query->targetList);

		key->expr = (Expr *) ddir_rel_var(0, rel, castNode(Var, expr)->varattno);
		key->eqop = clause->eqop;
		key->collation = exprCollation(expr);
		keys = lappend(keys, key);
	}
	foreach(lc, window->orderClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		DdirOrderKey *key = palloc0(sizeof(DdirOrderKey));
		Node	   *expr = get_sortgroupclause_expr(clause, query->targetList);

		key->expr = (Expr *) ddir_rel_var(0, rel, castNode(Var, expr)->varattno);
		key->sortop = clause->sortop;
		key->collation = exprCollation(expr);
		key->nulls_first = clause->nulls_first;
		order = lappend(order, key);
	}
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (IsA(tle->expr, WindowFunc))
			funcs = lappend(funcs, ddir_lower_fold(level, tle->expr));
	}
	return ddir_rel_window(rel, keys, order, window, funcs);
}
