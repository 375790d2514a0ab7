/*-------------------------------------------------------------------------
 *
 * group.c
 *	  GROUP BY, aggregates and HAVING.
 *
 * The level's FROM, closed to the columns that matter, is reduced by the group
 * keys; HAVING and the select list are a Map over (keys, aggregates).  Which
 * parts of them are keys is found as the parser did when it checked the query:
 * from the top down, before constants are folded.
 *
 * Columns that are neither keys nor inside of aggregates are there because a
 * primary key is among the keys.  They become further keys: each group has one
 * value of them.  A column whose type has no equality is a key as text.
 *
 * src/plan/group.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "plan/lowering.h"

typedef struct Grouping
{
	DdirLevel  *level;
	List	   *exprs;			/* of GROUP BY, not folded */
	List	   *eqops;
	List	   *determined;		/* Vars that they determine */
	List	   *aggs;			/* Aggrefs, not folded; each once */
	DdirRel    *reduced;
} Grouping;

static int
find_equal(List *list, Node *node)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		if (equal(lfirst(lc), node))
			return foreach_current_index(lc);
	}
	return -1;
}

/*
 * Values as text and back, where the type has no equality
 */

static bool
has_equality(Oid typid)
{
	return OidIsValid(lookup_type_cache(typid, TYPECACHE_EQ_OPR)->eq_opr);
}

static bool
goes_through_text(Oid typid)
{
	Oid			in;
	Oid			out;
	Oid			param;
	bool		varlena;

	getTypeInputInfo(typid, &in, &param);
	getTypeOutputInfo(typid, &out, &varlena);
	return get_typtype(typid) == TYPTYPE_BASE && !OidIsValid(get_element_type(typid)) &&
		func_volatile(in) == PROVOLATILE_IMMUTABLE &&
		func_volatile(out) == PROVOLATILE_IMMUTABLE;
}

static Expr *
cast_io(Expr *expr, Oid to)
{
	CoerceViaIO *cast = makeNode(CoerceViaIO);

	cast->arg = expr;
	cast->resulttype = to;
	cast->resultcollid = get_typcollation(to);
	cast->coerceformat = COERCE_EXPLICIT_CAST;
	cast->location = -1;
	return (Expr *) cast;
}

/*
 * What is grouped by, and what is aggregated
 */

static bool
collect_walker(Node *node, void *arg)
{
	Grouping   *g = arg;

	if (node == NULL || find_equal(g->exprs, node) >= 0)
		return false;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
	{
		ddir_lower_no_sublinks(g->level, node);
		if (find_equal(g->aggs, node) < 0)
			g->aggs = lappend(g->aggs, node);
		return false;
	}
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == 0)
	{
		if (find_equal(g->determined, node) < 0)
			g->determined = lappend(g->determined, node);
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

		ddir_lower_no_sublinks(g->level, (Node *) tle->expr);
		g->exprs = lappend(g->exprs, tle->expr);
		g->eqops = lappend_oid(g->eqops, clause->eqop);
	}
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk)
			continue;
		ddir_lower_no_sublinks(g->level, (Node *) tle->expr);
		collect_walker((Node *) tle->expr, g);
	}
	ddir_lower_no_sublinks(g->level, query->havingQual);
	collect_walker(query->havingQual, g);
}

/*
 * The reduction
 */

static void
collect_var(Var *var, void *arg)
{
	List	  **vars = arg;

	if (find_equal(*vars, (Node *) var) < 0)
		*vars = lappend(*vars, var);
}

typedef struct NumberContext
{
	List	   *vars;
	DdirRel    *rel;
} NumberContext;

static Node *
number_var(Var *var, void *arg)
{
	NumberContext *cx = arg;

	return (Node *) ddir_rel_var(0, cx->rel, find_equal(cx->vars, (Node *) var) + 1);
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

static List *
make_keys(Grouping *g)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, g->exprs)
	{
		keys = lappend(keys, make_key(ddir_lower_fold(g->level, lfirst(lc)),
									  list_nth_oid(g->eqops, foreach_current_index(lc))));
	}
	foreach(lc, g->determined)
	{
		Expr	   *var = ddir_lower_fold(g->level, lfirst(lc));
		Oid			typid = exprType((Node *) var);

		if (!has_equality(typid) && goes_through_text(typid))
			var = cast_io(var, TEXTOID);
		keys = lappend(keys, make_key(var, InvalidOid));
	}
	return keys;
}

static void
reduce(Grouping *g, DdirFrom *from)
{
	List	   *keys = make_keys(g);
	List	   *aggs = NIL;
	List	   *vars = NIL;
	NumberContext cx;
	ListCell   *lc;

	foreach(lc, g->aggs)
	{
		aggs = lappend(aggs, ddir_lower_fold(g->level, lfirst(lc)));
	}

	foreach(lc, keys)
	{
		ddir_vars_visit((Node *) ((DdirGroupKey *) lfirst(lc))->expr, collect_var, &vars);
	}
	ddir_vars_visit((Node *) aggs, collect_var, &vars);

	cx.vars = vars;
	cx.rel = ddir_from_close(g->level, from, vars);
	foreach(lc, keys)
	{
		DdirGroupKey *key = lfirst(lc);

		key->expr = (Expr *) ddir_vars_map((Node *) key->expr, number_var, &cx);
	}
	aggs = (List *) ddir_vars_map((Node *) aggs, number_var, &cx);
	g->reduced = ddir_rel_reduce(cx.rel, keys, aggs, g->level->query->groupClause == NIL);
}

/*
 * What is above it
 */

static Node *
above_mutator(Node *node, void *arg)
{
	Grouping   *g = arg;
	int			nexprs = list_length(g->exprs);
	int			i;

	if (node == NULL)
		return NULL;
	i = find_equal(g->exprs, node);
	if (i >= 0)
		return (Node *) ddir_rel_var(0, g->reduced, i + 1);
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == 0)
	{
		Oid			typid = ((Var *) node)->vartype;
		Var		   *key;

		i = find_equal(g->determined, node);
		key = ddir_rel_var(0, g->reduced, nexprs + i + 1);
		return key->vartype == typid ? (Node *) key : (Node *) cast_io((Expr *) key, typid);
	}
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
	{
		i = find_equal(g->aggs, node);
		return (Node *) ddir_rel_var(0, g->reduced,
									 nexprs + list_length(g->determined) + i + 1);
	}
	return expression_tree_mutator(node, above_mutator, arg);
}

DdirRel *
ddir_lower_group(DdirLevel *level, DdirFrom *from)
{
	Query	   *query = level->query;
	Grouping	g = {level};
	List	   *targets = NIL;
	List	   *having;
	ListCell   *lc;

	collect(&g);
	reduce(&g, from);

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		Expr	   *expr;

		if (tle->resjunk)
			continue;
		expr = (Expr *) above_mutator((Node *) tle->expr, &g);
		targets = lappend(targets, ddir_lower_fold_computed(level, expr));
	}
	having = ddir_lower_conjuncts_computed(level, above_mutator(query->havingQual, &g));
	return ddir_rel_map(g.reduced, having, targets);
}
