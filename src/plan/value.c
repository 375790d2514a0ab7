/*-------------------------------------------------------------------------
 *
 * value.c
 *	  Subqueries whose result is a value: anywhere in an expression.
 *
 * Each is made an aggregate without GROUP BY, of which there is exactly one row
 * for every row around it (apply.c).  That is one more input of the open FROM,
 * and the subquery becomes an expression over its columns:
 *
 *	(SELECT y ...)			single(y), count(*)		y, or an error if count > 1
 *	(SELECT max(y) + 1 ...)	max(y)					max + 1
 *	EXISTS (...)			bool_or(true)			it is true
 *	ARRAY(...)				array_agg(y ORDER BY)	it, or an empty array
 *	x op ANY (SELECT y ...)	bool_or(x op y),		true if the first is, else NULL
 *							bool_or((x op y) IS NULL)	if the second is, else false
 *
 * ALL is NOT ANY of the negation.  "x = ANY" does not compare every x with every
 * y, as that would: whether some y is equal is looked up by x, and NULLs are
 * the same for all x.  "x < ANY" is a matter of the greatest y.
 *
 * So what can go wrong with a value goes wrong where the server would have
 * computed it, and nowhere else.  What can go wrong inside of a subquery that
 * mentions the query around it is only computed for rows that need it: those
 * that pass all conditions, and, under CASE, COALESCE, AND, OR or FILTER, those
 * for which it is evaluated (its guard).  One that mentions nothing is computed
 * once whoever needs it; what goes wrong in it stands beside its value, and is
 * raised where that is asked for.
 *
 * src/plan/value.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_agg.h"
#include "parser/parse_func.h"
#include "rewrite/rewriteManip.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "base/compat.h"
#include "plan/lowering.h"
#include "rows/program.h"

typedef struct ValueContext
{
	DdirLevel  *level;
	DdirFrom   *from;
	List	   *guard;
} ValueContext;

static Node *value_mutator(Node *node, void *arg);

/*
 * Queries
 */

static List *
visible_targets(const Query *query)
{
	List	   *targets = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			targets = lappend(targets, lfirst(lc));
	}
	return targets;
}

/* SELECT FROM (query): what was around it is one level further up. */
static Query *
wrap(Query *query)
{
	Query	   *wrapper = makeNode(Query);
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblRef *ref = makeNode(RangeTblRef);
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, visible_targets(query))
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		names = lappend(names, makeString(pstrdup(tle->resname ? tle->resname : "?column?")));
	}
	IncrementVarSublevelsUp((Node *) query, 1, 1);
	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = query;
	rte->eref = makeAlias("s", names);
	rte->lateral = true;
	rte->inFromCl = true;
	ref->rtindex = 1;
	wrapper->commandType = CMD_SELECT;
	wrapper->querySource = QSRC_ORIGINAL;
	wrapper->canSetTag = true;
	wrapper->rtable = list_make1(rte);
	wrapper->jointree = makeFromExpr(list_make1(ref), NULL);
	return wrapper;
}

/*
 * A query whose rows are the subquery's, and *columns over its range table; its
 * own select list is to be made.  The order of rows is lost.
 */
static Query *
rows_of(SubLink *link, List **columns)
{
	Query	   *query = copyObject(castNode(Query, link->subselect));
	ListCell   *lc;
	int			a = 0;

	*columns = NIL;
	if (ddir_query_is_plain(query) && query->limitCount == NULL && query->distinctClause == NIL &&
		!query->hasWindowFuncs)
	{
		foreach(lc, visible_targets(query))
		{
			*columns = lappend(*columns, lfirst_node(TargetEntry, lc)->expr);
		}
		query->targetList = NIL;
		query->sortClause = NIL;
		return query;
	}
	foreach(lc, visible_targets(query))
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;

		*columns = lappend(*columns, makeVar(1, ++a, exprType(expr), exprTypmod(expr),
											 exprCollation(expr), 0));
	}
	return wrap(query);
}

static void
add_where(Query *query, Expr *qual)
{
	query->jointree->quals = make_and_qual(query->jointree->quals, (Node *) qual);
}

static List *
aggregate_targets(List *aggs)
{
	List	   *targets = NIL;
	ListCell   *lc;

	foreach(lc, aggs)
	{
		targets = lappend(targets, makeTargetEntry(lfirst(lc), foreach_current_index(lc) + 1,
												   "value", false));
	}
	return targets;
}

/* an aggregate of ours or the server's that takes any type and gives it back */
static Expr *
polymorphic_agg(Oid fnoid, Oid result, Expr *arg)
{
	Aggref	   *ref = (Aggref *) ddir_make_agg(fnoid, arg, NULL);

	ref->aggtype = result;
	ref->aggcollid = exprCollation((Node *) arg);
	return (Expr *) ref;
}

/* whatever value there is; of one row, its */
static Oid
single_function(void)
{
	const Oid	any = ANYELEMENTOID;

	return ddir_own_function("_single", 1, &any);
}

bool
ddir_is_single_agg(Oid fnoid)
{
	return fnoid >= FirstNormalObjectId && fnoid == single_function();
}

Expr *
ddir_single_agg(Expr *arg)
{
	return polymorphic_agg(single_function(), exprType((Node *) arg), arg);
}

/* As Vars of another input, each raising the error where it is asked for. */
static List *
add_row_with_error(ValueContext *cx, Query *query)
{
	DdirBound  *bound = palloc0(sizeof(DdirBound));
	List	   *values = NIL;
	int			rti;

	bound->rel = ddir_rel_with_error(ddir_lower_query(cx->level->run, cx->level,
													  copyObject(query), DDIR_LEVEL_SUBLINK));
	bound->ncolumns = bound->rel->type->natts;
	rti = ddir_from_add_bound(cx->level, cx->from, bound);
	for (int a = 1; a < bound->ncolumns; a++)
		values = lappend(values, ddir_asked((Expr *) ddir_rel_var(rti - 1, bound->rel, a),
											(Expr *) ddir_rel_var(rti - 1, bound->rel,
																  bound->ncolumns)));
	return values;
}

/*
 * The one row that these aggregates have over the rows of the query, as
 * another input: its columns.
 */
static List *
add_row(ValueContext *cx, Query *query, List *aggs)
{
	DdirBound  *bound;
	List	   *vars = NIL;
	int			rti;

	query->targetList = aggregate_targets(aggs);
	query->hasAggs = true;
	if (!ddir_query_is_total((Node *) query) &&
		ddir_vars_of_level((Node *) query, NULL, NIL) == NIL)
		return add_row_with_error(cx, query);
	bound = ddir_lower_bound(cx->level, cx->from, query, DDIR_LEVEL_SUBLINK, cx->guard);
	rti = ddir_from_add_bound(cx->level, cx->from, bound);
	for (int a = 1; a <= bound->ncolumns; a++)
		vars = lappend(vars, ddir_rel_var(rti - 1, bound->rel, a));
	return vars;
}

/*
 * Expressions
 */

/* CASE WHEN when[0] THEN then[0] ... ELSE otherwise END */
static Expr *
make_case(int n, Expr *const *when, Expr *const *then, Expr *otherwise)
{
	CaseExpr   *c = makeNode(CaseExpr);

	c->casetype = exprType((Node *) otherwise);
	c->casecollid = exprCollation((Node *) otherwise);
	c->defresult = otherwise;
	c->location = -1;
	for (int i = 0; i < n; i++)
	{
		CaseWhen   *w = makeNode(CaseWhen);

		w->expr = when[i];
		w->result = then[i];
		w->location = -1;
		c->args = lappend(c->args, w);
	}
	return (Expr *) c;
}

static Expr *
null_bool(void)
{
	return (Expr *) makeNullConst(BOOLOID, -1, InvalidOid);
}

static Expr *
boolean_test(Expr *arg, BoolTestType type)
{
	BooleanTest *test = makeNode(BooleanTest);

	test->arg = arg;
	test->booltesttype = type;
	test->location = -1;
	return (Expr *) test;
}

static Expr *
bool_or(Expr *arg)
{
	return ddir_make_agg(F_BOOL_OR, arg, NULL);
}

static Expr *
any_row(void)
{
	return bool_or((Expr *) makeBoolConst(true, false));
}

/* the value, or an error if it is one of several */
static Expr *
only(Expr *value, Expr *count)
{
	const Oid	types[2] = {ANYELEMENTOID, INT8OID};

	return (Expr *) makeFuncExpr(ddir_own_function("_only", 2, types), exprType((Node *) value),
								 list_make2(value, count), exprCollation((Node *) value),
								 InvalidOid, COERCE_EXPLICIT_CALL);
}

/* as an expression of a query inside of this one */
static void *
inside(void *expr)
{
	expr = copyObject(expr);
	IncrementVarSublevelsUp(expr, 1, 0);
	return expr;
}

typedef struct ParamContext
{
	List	   *values;			/* by number of the column */
} ParamContext;

static Node *
param_mutator(Node *node, void *arg)
{
	ParamContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_SUBLINK)
		return copyObject(list_nth(cx->values, ((Param *) node)->paramid - 1));
	return expression_tree_mutator(node, param_mutator, arg);
}

/* The comparison with these in place of the subquery's columns. */
static Expr *
compare_with(void *testexpr, List *values)
{
	ParamContext cx = {values};

	return (Expr *) param_mutator(testexpr, &cx);
}

/*
 * (SELECT ...)
 */

typedef struct RowContext
{
	List	   *aggs;			/* Aggrefs found */
	List	   *vars;			/* what they become; NIL: they are being found */
} RowContext;

static Node *
row_mutator(Node *node, void *arg)
{
	RowContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
	{
		ListCell   *lc;

		foreach(lc, cx->aggs)
		{
			if (!equal(lfirst(lc), node))
				continue;
			return copyObject(cx->vars ? list_nth(cx->vars, foreach_current_index(lc)) : node);
		}
		cx->aggs = lappend(cx->aggs, copyObject(node));
		return node;
	}
	return expression_tree_mutator(node, row_mutator, arg);
}

/* One row whatever there is, and its expressions can be had from outside? */
static bool
is_one_row(const Query *query)
{
	return query->hasAggs && ddir_query_needs_no_rows(query) && query->groupingSets == NIL &&
		!query->hasWindowFuncs && !query->hasTargetSRFs && query->limitCount == NULL &&
		query->limitOffset == NULL &&
		!checkExprHasSubLink((Node *) query->targetList) &&
		!checkExprHasSubLink(query->havingQual);
}

static Expr *
aggregate_value(ValueContext *cx, Query *query)
{
	RowContext	row = {NIL, NIL};
	Expr	   *value = linitial_node(TargetEntry, visible_targets(query))->expr;
	Node	   *having;

	query = copyObject(query);
	value = (Expr *) ddir_flatten_join_aliases(query, (Node *) value);
	having = ddir_flatten_join_aliases(query, query->havingQual);
	row_mutator((Node *) list_make2(value, having), &row);
	query->havingQual = NULL;
	query->distinctClause = NIL;
	query->sortClause = NIL;
	row.vars = add_row(cx, query, row.aggs);
	value = (Expr *) row_mutator((Node *) value, &row);
	having = row_mutator(having, &row);

	/* what is left over is of the query around */
	value = ddir_as_outer(value);
	if (having)
	{
		Expr	   *when = ddir_as_outer((Expr *) having);

		value = make_case(1, &when, &value,
						  (Expr *) makeNullConst(exprType((Node *) value),
												 exprTypmod((Node *) value),
												 exprCollation((Node *) value)));
	}
	return value;
}

/* Each column of the one row there may be. */
static List *
single_row(ValueContext *cx, SubLink *link)
{
	List	   *columns;
	Query	   *query = rows_of(link, &columns);
	List	   *aggs = NIL;
	List	   *values = NIL;
	List	   *vars;
	ListCell   *lc;

	foreach(lc, columns)
	{
		aggs = lappend(aggs, ddir_single_agg(lfirst(lc)));
	}
	aggs = lappend(aggs, ddir_make_agg(F_COUNT_, NULL, NULL));
	vars = add_row(cx, query, aggs);
	foreach(lc, columns)
	{
		values = lappend(values, only(list_nth(vars, foreach_current_index(lc)),
									  copyObject(llast(vars))));
	}
	return values;
}

static Expr *
scalar_value(ValueContext *cx, SubLink *link)
{
	Query	   *query = castNode(Query, link->subselect);

	if (is_one_row(query))
		return aggregate_value(cx, query);
	return linitial(single_row(cx, link));
}

/*
 * EXISTS, ARRAY
 */

static Expr *
exists_value(ValueContext *cx, SubLink *link)
{
	List	   *columns;
	Query	   *sub = castNode(Query, link->subselect);
	Query	   *query;

	ddir_query_simplify(sub, false);
	query = rows_of(link, &columns);
	return boolean_test(linitial(add_row(cx, query, list_make1(any_row()))), IS_TRUE);
}

/*
 * ORDER BY of the subquery as one of the aggregate.  Expressions that it orders
 * by only become columns.
 */
static Expr *
array_value(ValueContext *cx, SubLink *link)
{
	Query	   *sub = copyObject(castNode(Query, link->subselect));
	SubLink		unordered = *link;
	List	   *sort = sub->sortClause;
	List	   *columns;
	Query	   *query;
	Aggref	   *ref;
	Oid			element;
	Oid			array;
	Expr	   *value;
	CoalesceExpr *coalesce = makeNode(CoalesceExpr);
	int			ref_of_value = linitial_node(TargetEntry, sub->targetList)->ressortgroupref;
	List	   *refs = NIL;
	ListCell   *lc;

	foreach(lc, sub->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		tle->resjunk = false;
		refs = lappend_int(refs, tle->ressortgroupref);
	}
	if (sub->limitCount == NULL && sub->limitOffset == NULL)
		sub->sortClause = NIL;
	unordered.subselect = (Node *) sub;
	query = rows_of(&unordered, &columns);

	element = exprType(linitial(columns));
	array = get_promoted_array_type(element);
	ref = (Aggref *) polymorphic_agg(type_is_array(element) ? F_ARRAY_AGG_ANYARRAY :
									 F_ARRAY_AGG_ANYNONARRAY, array, linitial(columns));
	linitial_node(TargetEntry, ref->args)->ressortgroupref = ref_of_value;
	for (int i = 1; i < list_length(columns); i++)
	{
		TargetEntry *tle = makeTargetEntry(list_nth(columns, i), i + 1, NULL, true);

		tle->ressortgroupref = list_nth_int(refs, i);
		ref->args = lappend(ref->args, tle);
	}
	ref->aggorder = sort;
	value = linitial(add_row(cx, query, list_make1(ref)));

	coalesce->coalescetype = array;
	coalesce->coalescecollid = exprCollation((Node *) value);
	coalesce->args = list_make2(value,
								makeConst(array, -1, exprCollation((Node *) value), -1,
										  PointerGetDatum(construct_empty_array(type_is_array(element) ?
																				get_element_type(element) :
																				element)),
										  false, false));
	coalesce->location = -1;
	return (Expr *) coalesce;
}

/*
 * ANY, ALL
 */

/* true if "found" is, else NULL if "unknown" is true, else false */
static Expr *
any_result(Expr *found, Expr *unknown)
{
	Expr	   *when[2] = {found, unknown};
	Expr	   *then[2] = {(Expr *) makeBoolConst(true, false), null_bool()};

	return make_case(2, when, then, (Expr *) makeBoolConst(false, false));
}

static Expr *
any_compared(ValueContext *cx, SubLink *link, Expr *test)
{
	List	   *columns;
	Query	   *query = rows_of(link, &columns);
	List	   *vars;

	test = compare_with(inside(test), columns);
	vars = add_row(cx, query, list_make2(bool_or(test),
										 bool_or(ddir_null_test(test, IS_NULL))));
	return any_result(linitial(vars), lsecond(vars));
}

/* An operator with one column on its right and something of this level left. */
static bool
is_simple_operator(Expr *test)
{
	OpExpr	   *op = (OpExpr *) test;

	return IsA(test, OpExpr) && list_length(op->args) == 2 && IsA(lsecond(op->args), Param) &&
		ddir_vars_of_level(linitial(op->args), NULL, NIL) != NIL;
}

/*
 * x = ANY, of which two things are asked: is there an equal one, for which x
 * is a key; and is there a row at all, is there a NULL, for all x alike.
 */
static Expr *
any_equal(ValueContext *cx, SubLink *link, OpExpr *op)
{
	List	   *columns;
	Query	   *query = rows_of(link, &columns);
	Expr	   *x = linitial(op->args);
	Expr	   *equal;
	List	   *rows;
	List	   *unknown;

	rows = add_row(cx, query, list_make2(any_row(),
										 bool_or(ddir_null_test(linitial(columns), IS_NULL))));
	query = rows_of(link, &columns);
	add_where(query, compare_with(inside(op), columns));
	equal = linitial(add_row(cx, query, list_make1(any_row())));
	unknown = list_make2(lsecond(rows),
						 make_and_qual((Node *) ddir_null_test(x, IS_NULL), linitial(rows)));
	return any_result(equal, make_orclause(unknown));
}

static Oid
extremum(Oid type, bool greatest)
{
	return LookupFuncName(list_make2(makeString("pg_catalog"),
									 makeString(greatest ? "max" : "min")), 1, &type, true);
}

/*
 * For x < ANY and its like: the aggregate whose result decides.  InvalidOid if
 * the order is not the one that min and max have.
 */
static Oid
deciding_aggregate(OpExpr *op, Oid type)
{
	TypeCacheEntry *order = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	Oid			left;
	Oid			right;
	int			strategy;

	op_input_types(op->opno, &left, &right);
	if (left != right || !OidIsValid(order->btree_opf) ||
		!op_strict(op->opno))
		return InvalidOid;
	strategy = get_op_opfamily_strategy(op->opno, order->btree_opf);
	switch (strategy)
	{
		case BTLessStrategyNumber:
		case BTLessEqualStrategyNumber:
			return extremum(type, true);
		case BTGreaterStrategyNumber:
		case BTGreaterEqualStrategyNumber:
			return extremum(type, false);
		default:
			return InvalidOid;
	}
}

static Expr *
any_ordered(ValueContext *cx, SubLink *link, OpExpr *op, Oid agg)
{
	List	   *columns;
	Query	   *query = rows_of(link, &columns);
	Expr	   *y = linitial(columns);
	Aggref	   *extreme = (Aggref *) ddir_make_agg(agg, y, NULL);
	List	   *vars;
	Expr	   *test;
	List	   *unknown;

	extreme->aggcollid = OidIsValid(get_typcollation(extreme->aggtype)) ? op->inputcollid : InvalidOid;
	extreme->inputcollid = op->inputcollid;
	vars = add_row(cx, query, list_make3(extreme, any_row(),
										 bool_or(ddir_null_test(y, IS_NULL))));
	test = compare_with(op, list_make1(linitial(vars)));
	unknown = list_make2(lthird(vars),
						 make_and_qual((Node *) ddir_null_test(linitial(op->args), IS_NULL),
									   lsecond(vars)));
	return any_result(test, make_orclause(unknown));
}

static Expr *
any_value(ValueContext *cx, SubLink *link)
{
	bool		all = link->subLinkType == ALL_SUBLINK;
	Expr	   *test = (Expr *) link->testexpr;
	Expr	   *value;
	Query	   *sub = castNode(Query, link->subselect);
	OpExpr	   *op = (OpExpr *) test;
	Oid			agg = InvalidOid;
	Oid			type = InvalidOid;

	ddir_query_simplify(sub, true);
	if (all && IsA(test, OpExpr) && OidIsValid(get_negator(op->opno)))
	{
		op = copyObject(op);
		op->opno = get_negator(op->opno);
		op->opfuncid = get_opcode(op->opno);
		test = (Expr *) op;
	}
	else if (all)
		test = make_notclause(test);

	if (is_simple_operator(test))
	{
		type = exprType((Node *) linitial_node(TargetEntry, visible_targets(sub))->expr);
		agg = deciding_aggregate(op, type);
	}
	if (is_simple_operator(test) &&
		ddir_equality_usable(op->opno, exprType(linitial(op->args)), type, op->inputcollid))
		value = any_equal(cx, link, op);
	else if (OidIsValid(agg))
		value = any_ordered(cx, link, op, agg);
	else
		value = any_compared(cx, link, test);
	return all ? make_notclause(value) : value;
}

/*
 * Walking through expressions
 */

static Node *
value_of(ValueContext *cx, SubLink *link)
{
	check_stack_depth();
	link = copyObject(link);
	link->testexpr = value_mutator(link->testexpr, cx);
	switch (link->subLinkType)
	{
		case EXISTS_SUBLINK:
			return (Node *) exists_value(cx, link);
		case ANY_SUBLINK:
		case ALL_SUBLINK:
			return (Node *) any_value(cx, link);
		case ROWCOMPARE_SUBLINK:
			return (Node *) compare_with(link->testexpr, single_row(cx, link));
		case EXPR_SUBLINK:
			return (Node *) scalar_value(cx, link);
		case ARRAY_SUBLINK:
			return (Node *) array_value(cx, link);
		default:
			elog(ERROR, "unexpected kind of subquery: %d", (int) link->subLinkType);
	}
}

/* What is evaluated only where a condition holds. */
static Node *
guarded(ValueContext *cx, Node *node, Expr *guard)
{
	ValueContext inner = *cx;

	if (!checkExprHasSubLink(node))
		return node;
	inner.guard = lappend(list_copy(cx->guard), guard);
	return value_mutator(node, &inner);
}

/* The first is always evaluated, the others as long as none before them decides. */
static void
mutate_args(ValueContext *cx, List *args, Expr *(*undecided) (List *before))
{
	ListCell   *lc;

	foreach(lc, args)
	{
		int			i = foreach_current_index(lc);

		if (i == 0)
			lfirst(lc) = value_mutator(lfirst(lc), cx);
		else if (checkExprHasSubLink(lfirst(lc)))
			lfirst(lc) = guarded(cx, lfirst(lc), undecided(list_copy_head(args, i)));
	}
}

static Expr *
and_undecided(List *before)
{
	return boolean_test(make_ands_explicit(copyObject(before)), IS_NOT_FALSE);
}

static Expr *
or_undecided(List *before)
{
	before = copyObject(before);
	return boolean_test(list_length(before) == 1 ? linitial(before) : make_orclause(before),
						IS_NOT_TRUE);
}

static Expr *
coalesce_undecided(List *before)
{
	List	   *tests = NIL;
	ListCell   *lc;

	foreach(lc, before)
	{
		tests = lappend(tests, ddir_null_test(lfirst(lc), IS_NULL));
	}
	return make_ands_explicit(tests);
}

/* CASE ... that is true where the branch is taken: none of those before it */
static Expr *
case_guard(CaseExpr *c, int branch, bool taken)
{
	CaseExpr   *guard = copyObject(c);

	guard->casetype = BOOLOID;
	guard->casecollid = InvalidOid;
	guard->args = list_truncate(guard->args, branch + (taken ? 1 : 0));
	for (int i = 0; i < list_length(guard->args); i++)
		list_nth_node(CaseWhen, guard->args, i)->result =
			(Expr *) makeBoolConst(taken && i == branch, false);
	guard->defresult = (Expr *) makeBoolConst(!taken, false);
	if (guard->args == NIL)
		return (Expr *) makeBoolConst(true, false);
	return (Expr *) guard;
}

static Node *
mutate_case(ValueContext *cx, CaseExpr *c)
{
	c = copyObject(c);
	c->arg = (Expr *) value_mutator((Node *) c->arg, cx);
	for (int i = 0; i < list_length(c->args); i++)
	{
		CaseWhen   *w = list_nth_node(CaseWhen, c->args, i);

		if (checkExprHasSubLink((Node *) w->expr))
			w->expr = (Expr *) (i == 0 ? value_mutator((Node *) w->expr, cx) :
								guarded(cx, (Node *) w->expr, case_guard(c, i, false)));
		if (checkExprHasSubLink((Node *) w->result))
			w->result = (Expr *) guarded(cx, (Node *) w->result, case_guard(c, i, true));
	}
	if (checkExprHasSubLink((Node *) c->defresult))
		c->defresult = (Expr *) guarded(cx, (Node *) c->defresult,
										case_guard(c, list_length(c->args), false));
	return (Node *) c;
}

static Node *
mutate_aggref(ValueContext *cx, Aggref *ref)
{
	ref = copyObject(ref);
	ref->aggfilter = (Expr *) value_mutator((Node *) ref->aggfilter, cx);
	if (ref->aggfilter)
		ref->args = (List *) guarded(cx, (Node *) ref->args,
									 boolean_test(copyObject(ref->aggfilter), IS_TRUE));
	else
		ref->args = (List *) value_mutator((Node *) ref->args, cx);
	ref->aggdirectargs = (List *) value_mutator((Node *) ref->aggdirectargs, cx);
	return (Node *) ref;
}

static Node *
value_mutator(Node *node, void *arg)
{
	ValueContext *cx = arg;

	if (node == NULL)
		return NULL;
	switch (nodeTag(node))
	{
		case T_SubLink:
			return value_of(cx, (SubLink *) node);
		case T_CaseExpr:
			return mutate_case(cx, (CaseExpr *) node);
		case T_Aggref:
			return mutate_aggref(cx, (Aggref *) node);
		case T_CoalesceExpr:
			node = copyObject(node);
			mutate_args(cx, ((CoalesceExpr *) node)->args, coalesce_undecided);
			return node;
		case T_BoolExpr:
			if (((BoolExpr *) node)->boolop == NOT_EXPR)
				break;
			node = copyObject(node);
			mutate_args(cx, ((BoolExpr *) node)->args,
						((BoolExpr *) node)->boolop == AND_EXPR ? and_undecided : or_undecided);
			return node;
		default:
			break;
	}
	return expression_tree_mutator(node, value_mutator, arg);
}

/*
 * The expression with values, over columns of inputs that are added, in place of
 * subqueries.
 */
Expr *
ddir_lower_values(DdirLevel *level, DdirFrom *from, Expr *expr)
{
	ValueContext cx = {level, from, NIL};

	if (!checkExprHasSubLink((Node *) expr))
		return expr;
	expr = (Expr *) value_mutator((Node *) expr, &cx);
	return ddir_lower_fold_computed(level, expr);
}
