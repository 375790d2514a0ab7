/*-------------------------------------------------------------------------
 *
 * group.c
 *	  GROUP BY, GROUPING SETS, aggregates and HAVING.
 *
 * The level's FROM, closed to the columns that matter, is reduced by the group
 * keys; HAVING and the select list are over (keys, aggregates), which is an open
 * FROM of its own: they may have subqueries.  Which parts of them are keys is
 * found as the parser did when it checked the query: from the top down, before
 * constants are folded, and inside of subqueries too.
 *
 * Columns that are neither keys nor inside of aggregates are there because a
 * primary key is among the keys.  They become further keys: each group has one
 * value of them.
 *
 * GROUPING SETS are the sum of a reduction for each set, which has NULLs for
 * the keys that are not in it, and what GROUPING() says of it as constants.
 *
 * Without keys there is one row even over nothing.  Where the query is lowered
 * for many bindings at once (domain.c) there is one for each of them: what is
 * reduced is the sum of the rows and the bindings, and the aggregates only look
 * at the rows.
 *
 *	max(y) by k		rows (k, y, true): 1 a, 1 b		bindings (k, NULL, false): 1, 2
 *	result: 1 b, 2 NULL
 *
 * src/plan/group.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_agg.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "plan/lowering.h"
#include "rows/key.h"

typedef struct Grouping
{
	DdirLevel  *level;
	int			depth;			/* of subqueries around what is looked at */
	List	   *exprs;			/* of GROUP BY, not folded */
	List	   *eqops;
	List	   *refs;			/* of int: what the query calls them */
	List	   *determined;		/* Vars that they determine */
	List	   *aggs;			/* Aggrefs, not folded; each once */
	List	   *groupings;		/* GroupingFuncs, each once */
	int			place;			/* of (all of these), as a range table index */
	DdirRel    *reduced;
} Grouping;

int
ddir_find_equal(List *list, Node *node, int depth)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		Node	   *each = lfirst(lc);

		if (nodeTag(each) != nodeTag(node))
			continue;
		if (depth > 0)
		{
			each = copyObject(each);
			IncrementVarSublevelsUp(each, depth, 0);
		}
		if (equal(each, node))
			return foreach_current_index(lc);
	}
	return -1;
}

/*
 * What is grouped by, and what is aggregated
 */

List *
ddir_add_once(List *list, Node *node, int depth)
{
	if (ddir_find_equal(list, node, depth) >= 0)
		return list;
	node = copyObject(node);
	IncrementVarSublevelsUp(node, -depth, depth);
	return lappend(list, node);
}

static bool
collect_walker(Node *node, void *arg)
{
	Grouping   *g = arg;

	if (node == NULL || ddir_find_equal(g->exprs, node, g->depth) >= 0)
		return false;
	if (IsA(node, Query))
	{
		g->depth++;
		query_tree_walker((Query *) node, collect_walker, arg, 0);
		g->depth--;
		return false;
	}
	if (IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == g->depth)
	{
		g->aggs = ddir_add_once(g->aggs, node, g->depth);
		return false;
	}
	if (IsA(node, GroupingFunc) && (int) ((GroupingFunc *) node)->agglevelsup == g->depth)
	{
		g->groupings = ddir_add_once(g->groupings, node, g->depth);
		return false;
	}
	if (IsA(node, Var) && (int) ((Var *) node)->varlevelsup == g->depth)
	{
		g->determined = ddir_add_once(g->determined, node, g->depth);
		return false;
	}
	return expression_tree_walker(node, collect_walker, arg);
}

static void
collect(Grouping *g)
{
	Query	   *query = g->level->query;
	ListCell   *lc;

	foreach(lc, query->groupClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(clause, query->targetList);

		g->exprs = lappend(g->exprs, tle->expr);
		g->eqops = lappend_oid(g->eqops, clause->eqop);
		g->refs = lappend_int(g->refs, clause->tleSortGroupRef);
	}
	foreach(lc, list_concat(ddir_query_columns(query), ddir_query_unseen(query)))
	{
		collect_walker((Node *) lfirst_node(TargetEntry, lc)->expr, g);
	}
	collect_walker(query->havingQual, g);
}

/*
 * Grouping sets, as those of the positions in exprs
 */

static List *
grouping_sets(Grouping *g)
{
	Query	   *query = g->level->query;
	int			n = list_length(g->exprs);
	Bitmapset  *always = n > 0 ? bms_add_range(NULL, 0, n - 1) : NULL;
	List	   *sets = NIL;
	List	   *expanded;
	ListCell   *lc;

	if (query->groupingSets == NIL)
		return list_make1(always);
	expanded = expand_grouping_sets(query->groupingSets, query->groupDistinct, -1);
	/* keys that are in no set are carried: they belong to all */
	foreach(lc, expanded)
	{
		for (int i = 0; i < n; i++)
			if (list_member_int(lfirst(lc), list_nth_int(g->refs, i)))
				always = bms_del_member(always, i);
	}
	foreach(lc, expanded)
	{
		Bitmapset  *set = bms_copy(always);

		for (int i = 0; i < n; i++)
			if (list_member_int(lfirst(lc), list_nth_int(g->refs, i)))
				set = bms_add_member(set, i);
		sets = lappend(sets, set);
	}
	return sets;
}

/* A bit for each argument, the first one's highest: is it no key of the set? */
static Const *
grouping_value(Grouping *g, GroupingFunc *f, Bitmapset *set)
{
	int			value = 0;
	ListCell   *lc;

	foreach(lc, f->refs)
	{
		int			i = 0;

		while (list_nth_int(g->refs, i) != lfirst_int(lc))
			i++;
		value = value << 1 | (bms_is_member(i, set) ? 0 : 1);
	}
	return makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(value), false, true);
}

/*
 * The reductions
 */

static void
collect_var(Var *var, void *arg)
{
	List	  **vars = arg;

	if (ddir_find_equal(*vars, (Node *) var, 0) < 0)
		*vars = lappend(*vars, var);
}

typedef struct NumberContext
{
	List	   *vars;
	DdirRel    *rel;
	int			offset;			/* of them, in rel */
} NumberContext;

static Node *
number_var(Var *var, void *arg)
{
	NumberContext *cx = arg;

	return (Node *) ddir_rel_var(0, cx->rel, cx->offset + ddir_find_equal(cx->vars, (Node *) var, 0) + 1);
}

static DdirGroupKey *
make_key(Expr *expr, Oid eqop)
{
	DdirGroupKey *key = palloc0(sizeof(DdirGroupKey));

	key->expr = expr;
	key->eqop = eqop;
	key->collation = exprCollation((Node *) expr);
	return key;
}

/* Keys by exprs, then by what these determine; over the level's columns. */
static List *
make_keys(Grouping *g, DdirFrom *from)
{
	List	   *exprs = NIL;
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, g->exprs)
	{
		exprs = lappend(exprs, ddir_lower_values(g->level, from,
												 ddir_lower_fold(g->level, lfirst(lc))));
	}
	foreach(lc, ddir_lower_srfs(g->level, from, exprs))
	{
		keys = lappend(keys, make_key(lfirst(lc), list_nth_oid(g->eqops, foreach_current_index(lc))));
	}
	foreach(lc, g->determined)
	{
		Expr	   *var = ddir_lower_fold(g->level, lfirst(lc));
		TypeCacheEntry *type = lookup_type_cache(exprType((Node *) var), TYPECACHE_EQ_OPR);

		keys = lappend(keys, make_key(var, OidIsValid(type->eq_opr) ? InvalidOid :
									  DDIR_EQUALITY_IMAGE));
	}
	return keys;
}

static List *
keys_over(List *keys, NumberContext *cx)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, keys)
	{
		DdirGroupKey *key = palloc(sizeof(DdirGroupKey));

		*key = *(DdirGroupKey *) lfirst(lc);
		key->expr = (Expr *) ddir_vars_map((Node *) key->expr, number_var, cx);
		result = lappend(result, key);
	}
	return result;
}

/* What is open, closed: every row has these columns. */
static DdirRel *
reduce_rows(NumberContext *cx, List *keys, List *aggs, bool global)
{
	return ddir_rel_reduce(cx->rel, keys_over(keys, cx),
						   (List *) ddir_vars_map((Node *) aggs, number_var, cx), global);
}

typedef struct DirectContext
{
	List	   *keys;
	NumberContext *sum;
} DirectContext;

/* What direct arguments have of a binding is in its row too, as a key. */
static Node *
direct_var(Var *var, void *arg)
{
	DirectContext *cx = arg;
	ListCell   *lc;

	foreach(lc, cx->keys)
	{
		if (equal(((DdirGroupKey *) lfirst(lc))->expr, var))
			return (Node *) ddir_rel_var(0, cx->sum->rel, foreach_current_index(lc) + 1);
	}
	return number_var(var, cx->sum);
}

/* The same over the sum of rows and bindings, of which the keys are. */
static DdirRel *
reduce_bindings(NumberContext *cx, List *keys, List *aggs, DdirRel *bindings)
{
	List	   *columns = list_concat(ddir_key_exprs(keys_over(keys, cx)),
									  ddir_rel_columns(0, cx->rel));
	List	   *nothing = ddir_rel_columns(0, bindings);
	List	   *result = NIL;
	int			n = list_length(keys);
	NumberContext sum = {cx->vars, NULL, n};
	DdirRel    *parts[2];
	List	   *group = NIL;
	ListCell   *lc;

	columns = lappend(columns, makeBoolConst(true, false));
	foreach(lc, cx->vars)
	{
		Var		   *var = lfirst_node(Var, lc);

		nothing = lappend(nothing, makeNullConst(var->vartype, var->vartypmod, var->varcollid));
	}
	nothing = lappend(nothing, makeBoolConst(false, false));
	parts[0] = ddir_rel_map(cx->rel, NIL, columns);
	parts[1] = ddir_rel_map(bindings, NIL, nothing);
	sum.rel = ddir_rel_union(2, parts);

	foreach(lc, aggs)
	{
		Aggref	   *ref = (Aggref *) ddir_vars_map(lfirst(lc), number_var, &sum);
		Node	   *is_row = (Node *) ddir_rel_var(0, sum.rel, sum.rel->type->natts);
		DirectContext direct = {keys, &sum};

		ref->aggdirectargs = (List *) ddir_vars_map((Node *) lfirst_node(Aggref, lc)->aggdirectargs,
													direct_var, &direct);

		ref->aggfilter = (Expr *) (ref->aggfilter ?
								   make_and_qual(is_row, (Node *) ref->aggfilter) : is_row);
		result = lappend(result, ref);
	}
	foreach(lc, keys)
	{
		DdirGroupKey *key = palloc(sizeof(DdirGroupKey));

		*key = *(DdirGroupKey *) lfirst(lc);
		key->expr = (Expr *) ddir_rel_var(0, sum.rel, foreach_current_index(lc) + 1);
		group = lappend(group, key);
	}
	return ddir_rel_reduce(sum.rel, group, result, false);
}

typedef struct UngroupedContext
{
	List	   *keys;			/* the first of them by expressions of GROUP
								 * BY */
	int			nexprs;
	Bitmapset  *set;
} UngroupedContext;

static Node *
ungrouped_mutator(Node *node, void *arg)
{
	UngroupedContext *cx = arg;

	if (node == NULL)
		return NULL;
	for (int i = 0; i < cx->nexprs; i++)
	{
		Node	   *expr = (Node *) ((DdirGroupKey *) list_nth(cx->keys, i))->expr;

		if (!equal(expr, node))
			continue;
		return bms_is_member(i, cx->set) ? copyObject(node) :
			(Node *) makeNullConst(exprType(expr), exprTypmod(expr), exprCollation(expr));
	}
	return expression_tree_mutator(node, ungrouped_mutator, arg);
}

/* Keys that are not in the set are NULL for direct arguments. */
static List *
aggs_of_set(List *aggs, List *keys, int nexprs, Bitmapset *set)
{
	UngroupedContext cx = {keys, nexprs, set};
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, aggs)
	{
		Aggref	   *ref = copyObject(lfirst_node(Aggref, lc));

		ref->aggdirectargs = (List *) ungrouped_mutator((Node *) ref->aggdirectargs, &cx);
		result = lappend(result, ref);
	}
	return result;
}

/* (all keys, aggregates, groupings) of one set */
static DdirRel *
reduce_set(Grouping *g, NumberContext *cx, List *keys, List *aggs, Bitmapset *set)
{
	int			nexprs = list_length(g->exprs);
	DdirRel    *bindings = ddir_query_bindings(g->level);
	List	   *of_set = NIL;
	List	   *targets = NIL;
	DdirRel    *rel;
	int			a = 0;
	ListCell   *lc;

	foreach(lc, keys)
	{
		int			i = foreach_current_index(lc);

		if (i >= nexprs || bms_is_member(i, set))
			of_set = lappend(of_set, lfirst(lc));
	}
	aggs = aggs_of_set(aggs, keys, nexprs, set);
	if (bindings && list_length(of_set) == bindings->type->natts)
		rel = reduce_bindings(cx, of_set, aggs, bindings);
	else
		rel = reduce_rows(cx, of_set, aggs, of_set == NIL);
	if (list_length(of_set) == list_length(keys) && g->groupings == NIL)
		return rel;

	for (int i = 0; i < list_length(keys); i++)
	{
		Node	   *expr = (Node *) ((DdirGroupKey *) list_nth(keys, i))->expr;

		if (i >= nexprs || bms_is_member(i, set))
			targets = lappend(targets, ddir_rel_var(0, rel, ++a));
		else
			targets = lappend(targets, makeNullConst(exprType(expr), exprTypmod(expr),
													 exprCollation(expr)));
	}
	while (a < rel->type->natts)
		targets = lappend(targets, ddir_rel_var(0, rel, ++a));
	foreach(lc, g->groupings)
	{
		targets = lappend(targets, grouping_value(g, lfirst(lc), set));
	}
	return ddir_rel_map(rel, NIL, targets);
}

static void
reduce(Grouping *g, DdirFrom *from)
{
	List	   *keys = make_keys(g, from);
	List	   *aggs = NIL;
	List	   *sets = grouping_sets(g);
	DdirRel   **parts = palloc(sizeof(DdirRel *) * list_length(sets));
	NumberContext cx = {NIL, NULL, 0};
	ListCell   *lc;

	foreach(lc, g->aggs)
	{
		aggs = lappend(aggs, ddir_lower_values(g->level, from,
											   ddir_lower_fold(g->level, lfirst(lc))));
	}
	foreach(lc, keys)
	{
		ddir_vars_visit((Node *) ((DdirGroupKey *) lfirst(lc))->expr, collect_var, &cx.vars);
	}
	ddir_vars_visit((Node *) aggs, collect_var, &cx.vars);
	cx.rel = ddir_from_close(g->level, from, cx.vars);
	foreach(lc, sets)
	{
		parts[foreach_current_index(lc)] = reduce_set(g, &cx, keys, aggs, lfirst(lc));
	}
	g->reduced = list_length(sets) == 1 ? parts[0] : ddir_rel_union(list_length(sets), parts);
}

/*
 * What is above them
 */

static Node *
above_mutator(Node *node, void *arg)
{
	Grouping   *g = arg;
	int			at = 0;
	int			i;
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		g->depth++;
		node = (Node *) query_tree_mutator((Query *) node, above_mutator, arg, 0);
		g->depth--;
		return node;
	}
	i = ddir_find_equal(g->exprs, node, g->depth);
	if (i < 0 && IsA(node, Var) && (int) ((Var *) node)->varlevelsup == g->depth)
	{
		i = ddir_find_equal(g->determined, node, g->depth);
		at = list_length(g->exprs);
	}
	else if (i < 0 && IsA(node, Aggref) && (int) ((Aggref *) node)->agglevelsup == g->depth)
	{
		i = ddir_find_equal(g->aggs, node, g->depth);
		at = list_length(g->exprs) + list_length(g->determined);
	}
	else if (i < 0 && IsA(node, GroupingFunc) &&
			 (int) ((GroupingFunc *) node)->agglevelsup == g->depth)
	{
		i = ddir_find_equal(g->groupings, node, g->depth);
		at = list_length(g->exprs) + list_length(g->determined) + list_length(g->aggs);
	}
	if (i < 0)
		return expression_tree_mutator(node, above_mutator, arg);
	var = ddir_rel_var(g->place - 1, g->reduced, at + i + 1);
	var->varlevelsup = g->depth;
	return (Node *) var;
}

/* A column that is a key is that key: bindings may be one expression twice. */
static Expr *
lower_above(Grouping *g, DdirFrom *above, TargetEntry *tle)
{
	Expr	   *expr;
	ListCell   *lc;

	foreach(lc, g->refs)
	{
		if (tle->ressortgroupref == lfirst_int(lc))
			return (Expr *) ddir_rel_var(g->place - 1, g->reduced, foreach_current_index(lc) + 1);
	}
	expr = (Expr *) above_mutator((Node *) tle->expr, g);
	return ddir_lower_values(g->level, above, ddir_lower_fold_computed(g->level, expr));
}

DdirRel *
ddir_lower_group(DdirLevel *level, DdirFrom *from)
{
	Query	   *query = level->query;
	Grouping	g = {level};
	DdirFrom   *above = palloc0(sizeof(DdirFrom));
	List	   *targets = NIL;
	List	   *unseen = NIL;
	ListCell   *lc;

	collect(&g);
	reduce(&g, from);

	g.place = ddir_level_add_place(level, ddir_from_add_input(above, g.reduced), 0,
								   g.reduced->type->natts);
	above->rels = bms_make_singleton(g.place);
	ddir_from_add_quals(level, above,
						ddir_lower_conjuncts_computed(level,
													  above_mutator(query->havingQual, &g)));
	foreach(lc, ddir_query_columns(query))
	{
		targets = lappend(targets, lower_above(&g, above, lfirst(lc)));
	}
	foreach(lc, ddir_query_unseen(query))
	{
		unseen = lappend(unseen, lower_above(&g, above, lfirst(lc)));
	}
	return ddir_lower_targets(level, above, targets, unseen);
}
