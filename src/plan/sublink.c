/*-------------------------------------------------------------------------
 *
 * sublink.c
 *	  EXISTS, IN and their negations, as conditions joined by AND.
 *
 * Here are those that are correlated by equalities, if at all; value.c has the
 * others.
 *
 * EXISTS joins with the different keys of the subquery, NOT EXISTS is an
 * antijoin; the keys are what the subquery's own WHERE equates to the query
 * around it.  IN adds its comparison to them: where only true matters, NULLs
 * match nothing in both.
 *
 * NOT IN is not so simple.  A row (l1, ..., ln) passes iff no row (r1, ..., rn)
 * of the subquery makes the comparison true or NULL, that is, iff for no row
 *
 *		li = ri  or  li is NULL  or  ri is NULL		holds for all i.
 *
 * For each set K of columns there is an antijoin with the rows that are so by
 * equality in K and by a NULL on either side in the others.  There the row's
 * key is its li of K, and for the others whether li is NULL; a row of the
 * subquery that could meet it offers its ri of K, and for each of the others
 * "NULL" always, and "not NULL" as well if its own ri is NULL.  With one column
 * these are two antijoins:
 *
 *		K = {1}		l = r
 *		K = {}		(l IS NULL) = x, x in {true} for every r, {false} for a NULL
 *
 * So a NULL on the left meets any row, and a NULL on the right meets all.
 *
 * What can go wrong inside of the subquery of IN is only to be raised for rows
 * that ask.  One that mentions the query around it is a value if it can raise
 * errors at all, and EXISTS is if what rows are looked up by can: those are
 * computed for the rows around (value.c).  One that mentions nothing is computed
 * once, and its errors are there while any row asks (asked.c).
 *
 * src/plan/sublink.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "base/compat.h"
#include "plan/lowering.h"
#include "rows/program.h"

#define NOT_IN_COLUMNS_MAX 4

/* The condition's subquery, taken apart. */
typedef struct Subquery
{
	DdirLevel  *level;
	bool		negated;
	bool		in;				/* else EXISTS */
	List	   *test;			/* of DdirPair *: the comparison of IN */
	List	   *correlation;	/* of DdirPair * */
	List	   *outer;			/* conditions on the query around it alone */
	DdirRel    *rel;			/* columns compared, then those correlated by */
} Subquery;

static SubLink *
sublink_of(Node *qual, bool *negated)
{
	*negated = false;
	if (is_notclause(qual))
	{
		*negated = true;
		qual = (Node *) get_notclausearg((Expr *) qual);
	}
	return IsA(qual, SubLink) ? (SubLink *) qual : NULL;
}

bool
ddir_is_sublink(Node *qual)
{
	bool		negated;
	SubLink    *link = sublink_of(qual, &negated);

	return link && (link->subLinkType == EXISTS_SUBLINK ||
					link->subLinkType == ANY_SUBLINK ||
					link->subLinkType == ALL_SUBLINK);
}

/*
 * The comparison of IN
 */

static Node *
param_mutator(Node *node, void *rel)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_SUBLINK)
		return (Node *) ddir_rel_var(0, rel, ((Param *) node)->paramid);
	return expression_tree_mutator(node, param_mutator, rel);
}

static bool
has_param(Node *node, void *unused)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_SUBLINK)
		return true;
	return expression_tree_walker(node, has_param, unused);
}

/*
 * Let the query around be to the left of it, and the subquery to the right;
 * false if they are not apart.  An operator that is a function in SQL may have
 * become another, of anything.
 */
static bool
set_apart(OpExpr *op)
{
	Expr	   *left = linitial(op->args);
	Expr	   *right = lsecond(op->args);

	if (has_param((Node *) left, NULL))
	{
		Oid			commuted = get_commutator(op->opno);

		if (!OidIsValid(commuted))
			return false;
		op->opno = commuted;
		op->opfuncid = get_opcode(commuted);
		op->args = list_make2(right, left);
	}
	return !has_param(linitial(op->args), NULL) && bms_is_empty(ddir_rels_of(lsecond(op->args)));
}

/*
 * "= ANY" and "<> ALL" are IN and NOT IN; set negated for the latter.  False if
 * it is another comparison.
 */
static bool
comparisons(Subquery *sub, SubLink *link, List **result)
{
	List	   *ops;
	ListCell   *lc;

	*result = NIL;
	if (link->testexpr && (is_andclause(link->testexpr) || is_orclause(link->testexpr)))
		ops = ((BoolExpr *) link->testexpr)->args;
	else
		ops = list_make1(link->testexpr);
	foreach(lc, ops)
	{
		OpExpr	   *op = lfirst(lc);

		if (op && checkExprHasSubLink((Node *) op))
			return false;
		/* constants fold "true = x" to x, and "NULL = x" to NULL */
		if (op && !IsA(op, OpExpr) && bms_is_empty(ddir_rels_of((Node *) op)))
		{
			Expr	   *test = (Expr *) op;

			if (link->subLinkType == ALL_SUBLINK)
				test = make_notclause(test);
			op = (OpExpr *) ddir_equality_clause((Expr *) makeBoolConst(true, false), test,
												 BooleanEqualOperator, InvalidOid);
			*result = lappend(*result, op);
			continue;
		}
		if (op == NULL || !IsA(op, OpExpr) || list_length(op->args) != 2)
			return false;
		op = copyObject(op);
		if (!set_apart(op))
			return false;
		if (link->subLinkType == ALL_SUBLINK)
		{
			op->opno = get_negator(op->opno);
			if (!OidIsValid(op->opno))
				return false;
			op->opfuncid = get_opcode(op->opno);
		}
		if (!ddir_equality_usable(op->opno, exprType(linitial(op->args)),
								  exprType(lsecond(op->args)), op->inputcollid))
			return false;
		*result = lappend(*result, op);
	}
	if (link->subLinkType == ALL_SUBLINK)
		sub->negated = !sub->negated;

	/* (a, b) <> ALL: some column differs from every row; joined by OR */
	return list_length(ops) == 1 ||
		is_orclause(link->testexpr) == (link->subLinkType == ALL_SUBLINK);
}

static void
add_comparisons(Subquery *sub, List *ops)
{
	ListCell   *lc;

	foreach(lc, ops)
	{
		OpExpr	   *op = lfirst_node(OpExpr, lc);
		DdirPair   *pair = palloc0(sizeof(DdirPair));

		pair->outer = linitial(op->args);
		pair->inner = (Expr *) param_mutator(lsecond(op->args), sub->rel);
		pair->eqop = op->opno;
		pair->collation = op->inputcollid;
		sub->test = lappend(sub->test, pair);
	}
}

/*
 * The subquery
 */

bool
ddir_query_is_plain(const Query *query)
{
	return query->setOperations == NULL && !query->hasAggs && query->groupClause == NIL &&
		query->groupingSets == NIL && query->havingQual == NULL && !query->hasTargetSRFs &&
		query->limitOffset == NULL;
}

/* LIMIT above zero makes no difference to EXISTS. */
static bool
limit_is_moot(Query *query)
{
	Const	   *limit = (Const *) eval_const_expressions(NULL, query->limitCount);

	return limit == NULL ||
		(IsA(limit, Const) && (limit->constisnull || DatumGetInt64(limit->constvalue) > 0));
}

/*
 * Drop what makes no difference to whether there is a row (EXISTS) or which
 * values there are (IN).
 */
void
ddir_query_simplify(Query *query, bool in)
{
	if (!in && limit_is_moot(query))
		query->limitCount = NULL;
	if (query->limitCount || !ddir_query_is_plain(query) || (in && query->hasDistinctOn))
		return;
	query->sortClause = NIL;
	query->distinctClause = NIL;
	query->hasDistinctOn = false;
	if (!in)
	{
		query->targetList = NIL;
		query->hasWindowFuncs = false;
		query->windowClause = NIL;
	}
}

static List *
pair_exprs(List *pairs, bool outer)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, pairs)
	{
		DdirPair   *pair = lfirst(lc);

		exprs = lappend(exprs, outer ? pair->outer : pair->inner);
	}
	return exprs;
}

/*
 * False, with nothing done, if it is not of a shape that joins of keys can
 * answer.
 */
static bool
lower_subquery(Subquery *sub, SubLink *link)
{
	DdirLevel  *level = sub->level;
	Query	   *query = copyObject(castNode(Query, link->subselect));
	DdirCorrelation c = {0};
	List	   *ops = NIL;
	int			ncompared;
	ListCell   *lc;

	if (sub->in && !comparisons(sub, link, &ops))
		return false;
	if (sub->in && sub->negated && list_length(ops) > NOT_IN_COLUMNS_MAX)
		return false;
	ddir_query_simplify(query, sub->in);
	if (ddir_vars_of_level((Node *) query, NULL, NIL) != NIL)
	{
		if (!ddir_query_is_plain(query) || query->limitCount || query->hasDistinctOn ||
			query->hasWindowFuncs || (sub->in && !ddir_query_is_total((Node *) query)) ||
			!ddir_correlation_extract(level, query, &c))
			return false;
	}

	/*
	 * what is looked at whether or not the subquery has rows may raise no
	 * errors, nor may what rows are looked up by
	 */
	if ((sub->negated && !ddir_expr_is_total((Node *) c.outer)) ||
		!ddir_expr_is_total((Node *) pair_exprs(c.pairs, false)))
		return false;
	sub->correlation = c.pairs;
	sub->outer = c.outer;

	/* columns by which it is correlated go behind those compared */
	ncompared = 0;
	foreach(lc, query->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			ncompared++;
	}
	foreach(lc, sub->correlation)
	{
		query->targetList = lappend(query->targetList,
									makeTargetEntry(((DdirPair *) lfirst(lc))->inner,
													list_length(query->targetList) + 1,
													pstrdup("correlation"), false));
	}
	sub->rel = ddir_lower_query(level->run, level, query, DDIR_LEVEL_SUBLINK);

	add_comparisons(sub, ops);
	foreach(lc, sub->correlation)
	{
		((DdirPair *) lfirst(lc))->inner =
			(Expr *) ddir_rel_var(0, sub->rel, ncompared + foreach_current_index(lc) + 1);
	}
	return true;
}

/*
 * Semijoins and antijoins
 */

/* Let the errors of an IN that is not correlated be those of who asks. */
static void
ask(Subquery *sub, DdirFrom *from)
{
	DdirInput  *asking;

	if (!sub->in || sub->correlation != NIL || ddir_rel_is_total(sub->rel))
		return;
	asking = ddir_from_input_of(sub->level, from, pair_exprs(sub->test, true));
	sub->rel = ddir_rel_asked(ddir_rel_valid(sub->rel), sub->rel, asking->rel);
}

/* Join with the different inner keys. */
static void
semijoin(DdirLevel *level, DdirFrom *from, DdirRel *rel, List *pairs)
{
	List	   *outer = pair_exprs(pairs, true);
	List	   *eqops = NIL;
	DdirInput  *input;
	int			rti;
	ListCell   *lc;

	/* keys that can raise an error are made of rows that all else let pass */
	if (!ddir_expr_is_total((Node *) outer))
		ddir_from_collapse(level, from);

	rel = ddir_rel_map(rel, NIL, pair_exprs(pairs, false));
	foreach(lc, pairs)
	{
		eqops = lappend_oid(eqops, ddir_equality_of_right(((DdirPair *) lfirst(lc))->eqop));
	}
	rel = ddir_lower_distinct(level, rel, eqops);

	input = ddir_from_add_input(from, rel);
	rti = ddir_level_add_place(level, input, 0, rel->type->natts);
	foreach(lc, pairs)
	{
		DdirPair   *pair = lfirst(lc);
		Var		   *key = ddir_rel_var(rti - 1, rel, foreach_current_index(lc) + 1);

		ddir_from_add_cond(from, ddir_equality_clause(pair->outer, (Expr *) key, pair->eqop,
													  pair->collation), false);
	}
}

static void
antijoin_with(DdirLevel *level, DdirInput *input, DdirRel *rel, List *pairs)
{
	List	   *equalities = NIL;
	ListCell   *lc;

	foreach(lc, pairs)
	{
		DdirPair   *pair = lfirst(lc);
		Node	   *inner = copyObject((Node *) pair->inner);

		ChangeVarNodes(inner, 1, 2, 0);
		equalities = lappend(equalities,
							 ddir_equality_make(0, ddir_from_resolve_single(level, pair->outer, input),
												1, (Expr *) inner, pair->eqop,
												pair->collation, false));
	}
	input->rel = ddir_rel_anti(input->rel, rel, equalities, NIL);
}

/*
 * The conditions on the query around a negated subquery, as a further pair:
 * (conditions are true) = true.
 */
static void
correlate_outer(Subquery *sub)
{
	DdirPair   *pair = palloc0(sizeof(DdirPair));
	BooleanTest *test = makeNode(BooleanTest);

	if (sub->outer == NIL)
		return;
	test->arg = make_ands_explicit(sub->outer);
	test->booltesttype = IS_TRUE;
	test->location = -1;
	pair->outer = (Expr *) test;
	pair->inner = (Expr *) makeBoolConst(true, false);
	pair->eqop = BooleanEqualOperator;
	sub->correlation = lappend(sub->correlation, pair);
}

static void
antijoin(DdirLevel *level, DdirFrom *from, DdirRel *rel, List *pairs)
{
	/* not correlated: one row to join with, there only while rel is empty */
	if (pairs == NIL)
	{
		DdirRel    *one = ddir_rel_constant(ddir_rowtype_from_exprs(NIL), list_make1(NIL));

		ddir_from_add_input(from, ddir_rel_anti(one, rel, NIL, NIL));
		return;
	}
	antijoin_with(level, ddir_from_input_of(level, from, pair_exprs(pairs, true)), rel, pairs);
}

/*
 * NOT IN
 */

/*
 * The antijoin for one set of columns (bits of "by_equality").  Rows offered
 * are a union over which of the other columns offer "NULL": the columns of
 * these bits, "not NULL" from the rest, whose own value must then be NULL.
 */
static void
not_in_antijoin(Subquery *sub, DdirInput *input, uint32 by_equality)
{
	int			n = list_length(sub->test);
	uint32		others = ~by_equality & ((1U << n) - 1);
	List	   *pairs = list_copy(sub->correlation);
	List	   *offers = NIL;
	DdirRel   **parts = palloc(sizeof(DdirRel *) << n);
	DdirRel    *rel;
	int			nparts = 0;
	ListCell   *lc;

	for (int i = 0; i < n; i++)
	{
		DdirPair   *test = list_nth(sub->test, i);

		if (by_equality & (1U << i))
			pairs = lappend(pairs, test);
	}
	offers = pair_exprs(pairs, false);

	/* every subset of the other columns */
	for (uint32 nulls = others;; nulls = (nulls - 1) & others)
	{
		List	   *quals = NIL;
		List	   *targets = list_copy(offers);

		for (int i = 0; i < n; i++)
		{
			DdirPair   *test = list_nth(sub->test, i);
			bool		offers_null = (nulls & (1U << i)) != 0;

			if (!(others & (1U << i)))
				continue;
			if (!offers_null)
				quals = lappend(quals, ddir_null_test(test->inner, IS_NULL));
			targets = lappend(targets, makeBoolConst(offers_null, false));
		}
		parts[nparts++] = ddir_rel_map(sub->rel, quals, targets);
		if (nulls == 0)
			break;
	}
	rel = nparts == 1 ? parts[0] : ddir_rel_union(nparts, parts);

	/* the row's side: what it compares, and which of the others are NULL */
	for (int i = 0; i < n; i++)
	{
		DdirPair   *pair = palloc0(sizeof(DdirPair));

		if (!(others & (1U << i)))
			continue;
		pair->outer = ddir_null_test(((DdirPair *) list_nth(sub->test, i))->outer, IS_NULL);
		pair->eqop = BooleanEqualOperator;
		pairs = lappend(pairs, pair);
	}
	offers = NIL;
	foreach(lc, pairs)
	{
		DdirPair   *pair = palloc0(sizeof(DdirPair));

		*pair = *(DdirPair *) lfirst(lc);
		pair->inner = (Expr *) ddir_rel_var(0, rel, foreach_current_index(lc) + 1);
		offers = lappend(offers, pair);
	}
	antijoin_with(sub->level, input, rel, offers);
}

static void
not_in(Subquery *sub, DdirFrom *from)
{
	int			n = list_length(sub->test);
	List	   *outer = pair_exprs(list_concat_copy(sub->test, sub->correlation), true);
	DdirInput  *input;

	input = ddir_from_input_of(sub->level, from, outer);
	for (uint32 by_equality = 0; by_equality < (1U << n); by_equality++)
		not_in_antijoin(sub, input, by_equality);
}

bool
ddir_lower_sublink(DdirLevel *level, DdirFrom *from, Node *qual)
{
	Subquery	sub = {level};
	SubLink    *link = sublink_of(qual, &sub.negated);

	sub.in = link->subLinkType != EXISTS_SUBLINK;
	if (!lower_subquery(&sub, link))
		return false;
	ask(&sub, from);

	if (!sub.negated)
	{
		ListCell   *lc;

		semijoin(level, from, sub.rel, list_concat_copy(sub.test, sub.correlation));
		foreach(lc, sub.outer)
		{
			ddir_from_add_cond(from, lfirst(lc), false);
		}
		return true;
	}
	correlate_outer(&sub);
	if (!sub.in)
		antijoin(level, from, sub.rel, sub.correlation);
	else
		not_in(&sub, from);
	return true;
}
