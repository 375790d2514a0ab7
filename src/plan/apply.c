/*-------------------------------------------------------------------------
 *
 * apply.c
 *	  Subqueries that mention the query around them, as relations of their own.
 *
 * Such a subquery becomes a relation whose rows say for which rows around it
 * they are: behind its own columns there are others, and pairs of what these
 * are equal to.  Whoever asked for it joins by the pairs.
 *
 * Where all that is mentioned is equated to something of the subquery's own,
 *
 *	(SELECT max(t.y) FROM t WHERE t.k = o.k)
 *
 * the other side of the equality is the further column: the subquery is grouped
 * by t.k, and its domain (domain.c) is never computed.  The price is that the
 * subquery is computed for values that o.k does not have, so this is only done
 * where it cannot raise an error, and where the domain would not leave most of
 * the groups out.
 *
 * An aggregate without GROUP BY has a row for each binding, of whatever rows
 * there are, perhaps none.  group.c adds the bindings to what it reduces.
 *
 * src/plan/apply.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"

#include "base/compat.h"
#include "plan/estimate.h"
#include "plan/lowering.h"
#include "rows/program.h"

/*
 * Equalities with the query around
 */

typedef struct LevelsContext
{
	int			depth;			/* of subqueries around us */
	Bitmapset  *levels;
} LevelsContext;

static bool
levels_walker(Node *node, void *arg)
{
	LevelsContext *cx = arg;
	int			level = -1;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		cx->depth++;
		query_tree_walker((Query *) node, levels_walker, arg, 0);
		cx->depth--;
		return false;
	}
	if (IsA(node, Var))
		level = ((Var *) node)->varlevelsup;
	else if (IsA(node, Aggref))
		level = ((Aggref *) node)->agglevelsup;
	if (level >= cx->depth)
		cx->levels = bms_add_member(cx->levels, level - cx->depth);
	return expression_tree_walker(node, levels_walker, arg);
}

/* Levels that an expression of the subquery mentions: 0 its own, 1 around it. */
static Bitmapset *
levels_of(Node *node)
{
	LevelsContext cx = {0, NULL};

	levels_walker(node, &cx);
	return cx.levels;
}

static bool
mentions_outer(Node *node)
{
	return bms_is_member(1, levels_of(node));
}

/* Is it over the query just around, and nothing else? */
static bool
is_outer_expr(Node *expr)
{
	return bms_equal(levels_of(expr), bms_make_singleton(1)) && !checkExprHasSubLink(expr);
}

Expr *
ddir_as_outer(Expr *expr)
{
	expr = copyObject(expr);
	IncrementVarSublevelsUp((Node *) expr, -1, 1);
	return expr;
}

/* Take a condition that mentions the query around it, if it is of that kind. */
static bool
correlate(DdirCorrelation *c, Node *clause)
{
	DdirPair   *pair = palloc0(sizeof(DdirPair));
	Expr	   *left;
	Expr	   *right;

	if (is_outer_expr(clause))
	{
		c->outer = lappend(c->outer, ddir_as_outer((Expr *) clause));
		return true;
	}
	if (!ddir_equality_split(clause, &left, &right, &pair->eqop, &pair->collation))
		return false;
	if (is_outer_expr((Node *) right) && !mentions_outer((Node *) left))
	{
		Expr	   *other = left;

		left = right;
		right = other;
		pair->eqop = ddir_equality_commute(pair->eqop);
	}
	if (!is_outer_expr((Node *) left) || mentions_outer((Node *) right) ||
		checkExprHasSubLink((Node *) right))
		return false;
	pair->outer = ddir_as_outer(left);
	pair->inner = right;
	c->pairs = lappend(c->pairs, pair);
	return true;
}

/* Out of WHERE and the ON of inner joins. */
static void
extract(DdirCorrelation *c, DdirLevel *scope, Node *node)
{
	Node	  **quals;
	List	   *rest = NIL;
	ListCell   *lc;

	if (IsA(node, FromExpr))
	{
		foreach(lc, ((FromExpr *) node)->fromlist)
		{
			extract(c, scope, lfirst(lc));
		}
		quals = &((FromExpr *) node)->quals;
	}
	else if (IsA(node, JoinExpr) && ((JoinExpr *) node)->jointype == JOIN_INNER)
	{
		extract(c, scope, ((JoinExpr *) node)->larg);
		extract(c, scope, ((JoinExpr *) node)->rarg);
		quals = &((JoinExpr *) node)->quals;
	}
	else
		return;

	if (!mentions_outer(*quals))
		return;
	foreach(lc, ddir_lower_correlated(scope, *quals))
	{
		if (!mentions_outer(lfirst(lc)) || !correlate(c, lfirst(lc)))
			rest = lappend(rest, lfirst(lc));
	}
	*quals = rest == NIL ? NULL : (Node *) make_ands_explicit(rest);
}

bool
ddir_correlation_extract(DdirLevel *level, Query *query, DdirCorrelation *c)
{
	DdirLevel  *scope = ddir_level_make(level->run, level, query, DDIR_LEVEL_SUBLINK);

	memset(c, 0, sizeof(*c));
	query->jointree = (FromExpr *) ddir_flatten_join_aliases(query, (Node *) query->jointree);
	extract(c, scope, (Node *) query->jointree);
	return ddir_vars_of_level((Node *) query, NULL, NIL) == NIL;
}

/*
 * Without a domain
 */

static List *
outer_exprs(List *pairs)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, pairs)
	{
		exprs = lappend(exprs, ((DdirPair *) lfirst(lc))->outer);
	}
	return exprs;
}

/* Let both sides have one type, and leave NULLs out of the inner one. */
static bool
align(Query *query, List *pairs)
{
	ListCell   *lc;

	foreach(lc, pairs)
	{
		DdirPair   *pair = lfirst(lc);

		if (!ddir_equality_align(&pair->outer, &pair->inner, &pair->eqop))
			return false;
		pair->null_safe = true;
		query->jointree->quals = make_and_qual(query->jointree->quals,
											   (Node *) ddir_null_test(pair->inner, IS_NOT_NULL));
	}
	return true;
}

/* How many times as many groups there have to be as a domain has rows. */
#define DOMAIN_PAYS 4

/*
 * Are most of the groups of a subquery such that no row around it asks for them?
 * Changes of these would be computed, and they kept, for nothing.
 */
static bool
few_are_asked(DdirLevel *level, DdirFrom *from, const Query *query, const DdirBound *bound)
{
	List	   *outer = outer_exprs(bound->pairs);
	DdirInput  *input = ddir_from_single(level, outer);
	DdirRel    *asked;
	int			ncarried = list_length(outer);
	int			natts = bound->rel->type->natts;

	if (!ddir_query_is_grouped(query) || outer == NIL ||
		input == NULL || !list_member_ptr(from->inputs, input))
		return false;
	ddir_from_settle(level, from);
	asked = ddir_rel_map(input->rel, NIL,
						 (List *) ddir_from_resolve_single(level, (Expr *) outer, input));
	ddir_estimate(asked, level->run->checked.owner);
	ddir_estimate(bound->rel, level->run->checked.owner);
	return DOMAIN_PAYS * ddir_estimate_distinct(asked, bms_add_range(NULL, 1, ncarried)) <=
		ddir_estimate_distinct(bound->rel, bms_add_range(NULL, natts - ncarried + 1, natts));
}

static bool
bound_by_pairs(DdirLevel *level, DdirFrom *from, Query *query, DdirLevelKind kind,
			   DdirBound *bound)
{
	DdirCorrelation c;
	DdirRel    *bindings = NULL;
	List	   *inner = NIL;
	List	   *eqops = NIL;
	ListCell   *lc;

	query = copyObject(query);
	if (query->setOperations || query->hasWindowFuncs ||
		!ddir_correlation_extract(level, query, &c) || c.outer != NIL)
		return false;
	if (ddir_query_needs_no_rows(query))
	{
		List	   *outer;
		DdirInput  *input;

		if (!align(query, c.pairs))
			return false;
		outer = outer_exprs(c.pairs);
		input = ddir_from_input_of(level, from, outer);
		bindings = ddir_rel_map(input->rel, NIL,
								(List *) ddir_from_resolve_single(level, (Expr *) outer, input));
	}
	foreach(lc, c.pairs)
	{
		DdirPair   *pair = lfirst(lc);

		inner = lappend(inner, pair->inner);
		eqops = lappend_oid(eqops, ddir_equality_of_right(pair->eqop));
	}
	ddir_query_carry(level->run, query, inner, eqops, bindings);
	bound->rel = ddir_lower_query(level->run, level, query, kind);
	bound->pairs = c.pairs;
	if (few_are_asked(level, from, query, bound))
	{
		bound->pairs = NIL;
		return false;
	}
	return true;
}

/*
 * With a domain
 */

static void
bound_by_domain(DdirLevel *level, DdirFrom *from, Query *query, DdirLevelKind kind,
				List *vars, List *guard, bool passed, DdirBound *bound)
{
	DdirDomain *domain = ddir_domain_make(level, from, vars, guard, passed);
	DdirRel    *bindings = domain->rel;
	ListCell   *lc;

	/* for those that do not need it, too; grouping makes them different */
	if (guard)
		bindings = ddir_domain_make(level, from, vars, NIL, passed)->rel->input[0];
	bound->by_domain = true;
	query = ddir_domain_bind_query(level->run, domain, bindings, copyObject(query));
	bound->rel = ddir_lower_query(level->run, level, query, kind);
	foreach(lc, domain->vars)
	{
		DdirPair   *pair = palloc0(sizeof(DdirPair));

		pair->outer = (Expr *) copyObject((Var *) lfirst(lc));
		pair->eqop = list_nth_oid(domain->eqops, foreach_current_index(lc));
		pair->collation = ((Var *) lfirst(lc))->varcollid;
		pair->null_safe = true;
		bound->pairs = lappend(bound->pairs, pair);
	}
}

/*
 * guard: what must be true of a row around the subquery to need it.
 */
DdirBound *
ddir_lower_bound(DdirLevel *level, DdirFrom *from, Query *query, DdirLevelKind kind,
				 List *guard)
{
	DdirBound  *bound = palloc0(sizeof(DdirBound));
	bool		total = ddir_query_is_total((Node *) query);
	List	   *vars = ddir_vars_of_level((Node *) query, NULL, NIL);
	ListCell   *lc;

	if (total)
		guard = NIL;
	if (vars == NIL && guard == NIL)
		bound->rel = ddir_lower_query(level->run, level, copyObject(query), kind);
	else if (!total || !bound_by_pairs(level, from, query, kind, bound))
		bound_by_domain(level, from, query, kind, vars, guard, !total, bound);

	bound->ncolumns = bound->rel->type->natts - list_length(bound->pairs);
	foreach(lc, bound->pairs)
	{
		((DdirPair *) lfirst(lc))->inner =
			(Expr *) ddir_rel_var(0, bound->rel, bound->ncolumns + foreach_current_index(lc) + 1);
	}
	return bound;
}

int
ddir_from_add_bound(DdirLevel *level, DdirFrom *from, DdirBound *bound)
{
	DdirInput  *input = ddir_from_add_input(from, bound->rel);
	int			rti = ddir_level_add_place(level, input, 0, bound->rel->type->natts);
	ListCell   *lc;

	from->rels = bms_add_member(from->rels, rti);
	foreach(lc, bound->pairs)
	{
		DdirPair   *pair = lfirst(lc);
		Var		   *key = ddir_rel_var(rti - 1, bound->rel, ((Var *) pair->inner)->varattno);

		ddir_from_add_cond(from, ddir_equality_clause(pair->outer, (Expr *) key, pair->eqop,
													  pair->collation), pair->null_safe);
	}
	return rti;
}
