/*-------------------------------------------------------------------------
 *
 * topk.c
 *	  ORDER BY ... LIMIT, OFFSET, and DISTINCT ON: from a Query to TopK.
 *
 * A query whose rows are counted off has, behind its own columns, those that it
 * only orders by; they go when that is done.  The last thing rows are ordered
 * by is the image of all of these columns, so that there is one answer.
 *
 * DISTINCT ON is the first row of each group; it comes before LIMIT, as
 * everything else does.  A query lowered for many bindings at once (domain.c)
 * counts its rows off for each of them.
 *
 * The server's windows are what is left where bytes do not order as the query
 * does, and where LIMIT or OFFSET is no constant; what a window numbers is
 * numbered for all of its partition's rows.
 *
 * src/plan/topk.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "base/compat.h"
#include "plan/lowering.h"
#include "rows/key.h"

bool
ddir_query_is_limited(const Query *query)
{
	return query->limitCount || query->limitOffset || query->hasDistinctOn;
}

static bool
is_in(const TargetEntry *tle, const List *clauses)
{
	return tle->ressortgroupref != 0 &&
		get_sortgroupref_clause_noerr(tle->ressortgroupref, unconstify(List *, clauses)) != NULL;
}

List *
ddir_query_columns(const Query *query)
{
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			columns = lappend(columns, lfirst(lc));
	}
	if (!ddir_query_is_limited(query))
		return columns;
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk && (is_in(tle, query->sortClause) || is_in(tle, query->distinctClause)))
			columns = lappend(columns, tle);
	}
	return columns;
}

/*
 * What ORDER BY leaves open DISTINCT ON settles, as it does in the server.
 * Clauses of bindings have no order.
 */
List *
ddir_query_order(const Query *query)
{
	List	   *order = list_copy(query->sortClause);
	ListCell   *lc;

	if (!query->hasDistinctOn)
		return order;
	foreach(lc, query->distinctClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		if (OidIsValid(clause->sortop) &&
			get_sortgroupref_clause_noerr(clause->tleSortGroupRef, order) == NULL)
			order = lappend(order, clause);
	}
	return order;
}

/* The column of rel that a clause is about. */
static Var *
column_of(Query *query, DdirRel *rel, SortGroupClause *clause)
{
	ListCell   *lc;

	foreach(lc, ddir_query_columns(query))
	{
		if (lfirst_node(TargetEntry, lc)->ressortgroupref == clause->tleSortGroupRef)
			return ddir_rel_var(0, rel, foreach_current_index(lc) + 1);
	}
	elog(ERROR, "a column that is ordered by is not there");
}

static DdirGroupKey *
make_key(Var *var, Oid eqop)
{
	DdirGroupKey *key = palloc0(sizeof(DdirGroupKey));

	key->expr = (Expr *) var;
	key->eqop = eqop;
	key->collation = var->varcollid;
	return key;
}

/* By the columns of bindings, which are the last visible ones. */
static List *
binding_keys(Query *query, DdirRel *rel)
{
	List	   *eqops = ddir_query_carried(query);
	List	   *keys = NIL;
	int			n = 0;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			n++;
	}
	n -= list_length(eqops);
	foreach(lc, eqops)
	{
		keys = lappend(keys, make_key(ddir_rel_var(0, rel, ++n), lfirst_oid(lc)));
	}
	return keys;
}

static List *
distinct_keys(Query *query, DdirRel *rel)
{
	List	   *keys = NIL;
	ListCell   *lc;

	foreach(lc, query->distinctClause)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);

		keys = lappend(keys, make_key(column_of(query, rel, clause), clause->eqop));
	}
	return keys;
}

/* In a group there is one value of its keys. */
static bool
is_key(const Var *var, List *keys)
{
	ListCell   *lc;

	foreach(lc, keys)
	{
		if (equal(((DdirGroupKey *) lfirst(lc))->expr, var))
			return true;
	}
	return false;
}

static List *
order_keys(Query *query, DdirRel *rel, List *keys)
{
	List	   *order = NIL;
	ListCell   *lc;

	foreach(lc, ddir_query_order(query))
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Var		   *var = column_of(query, rel, clause);
		DdirOrderKey *key = palloc0(sizeof(DdirOrderKey));

		if (is_key(var, keys))
			continue;
		key->expr = (Expr *) var;
		key->sortop = clause->sortop;
		key->collation = var->varcollid;
		key->nulls_first = clause->nulls_first;
		order = lappend(order, key);
	}
	return order;
}

/*
 * LIMIT and OFFSET
 */

/* What LIMIT or OFFSET says, if it is known now. */
static bool
is_known(DdirLevel *level, Node **expr)
{
	if (*expr == NULL || contain_vars_of_level(*expr, 0) || checkExprHasSubLink(*expr))
		return *expr == NULL;
	*expr = (Node *) ddir_lower_fold(level, (Expr *) copyObject(*expr));
	return IsA(*expr, Const);
}

/* The number, if that is a constant; "none" for NULL, or if there is none. */
static int64
row_count(Node *expr, int64 none, const char *name)
{
	Const	   *value = (Const *) expr;

	if (value == NULL || value->constisnull)
		return none;
	if (DatumGetInt64(value->constvalue) < 0)
		ereport(ERROR,
				(errcode(name[0] == 'L' ? ERRCODE_INVALID_ROW_COUNT_IN_LIMIT_CLAUSE :
						 ERRCODE_INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE),
				 errmsg("%s must not be negative", name)));
	return DatumGetInt64(value->constvalue);
}

/*
 * TopK needs an order that bytes can have, and groups that bytes tell apart.
 * Where they cannot there are windows: the rows' numbers, and their ranks for
 * ties.
 */
bool
ddir_topk_possible(List *keys, List *order)
{
	bool		descending;
	ListCell   *lc;

	foreach(lc, keys)
	{
		DdirGroupKey *key = lfirst(lc);
		Oid			typid = exprType((Node *) key->expr);

		if (!ddir_key_make(DDIR_KEY_GROUP, 1, &typid, &key->collation, &key->eqop)->exact)
			return false;
	}
	foreach(lc, order)
	{
		if (!ddir_order_key_encodes(lfirst(lc), &descending))
			return false;
	}
	return true;
}

static WindowFunc *
window_func(Oid fnoid)
{
	WindowFunc *f = makeNode(WindowFunc);

	f->winfnoid = fnoid;
	f->wintype = INT8OID;
	f->winref = 1;
	f->location = -1;
	return f;
}

/* number "op" column */
static Expr *
compare_number(int64 number, Oid op, DdirRel *rel, AttrNumber a)
{
	Const	   *value = makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
								  Int64GetDatum(number), false, FLOAT8PASSBYVAL);
	Expr	   *expr = make_opclause(op, BOOLOID, false, (Expr *) value,
									 (Expr *) ddir_rel_var(0, rel, a), InvalidOid, InvalidOid);

	set_opfuncid((OpExpr *) expr);
	return expr;
}

/* Behind its columns, the number of each row and its rank. */
static DdirRel *
numbered(DdirRel *rel, List *keys, List *order)
{
	WindowClause *frame = makeNode(WindowClause);

	frame->frameOptions = FRAMEOPTION_DEFAULTS;
	frame->winref = 1;
	return ddir_rel_window(rel, keys, order, frame,
						   list_make2(window_func(F_ROW_NUMBER), window_func(F_RANK_)));
}

static DdirRel *
by_numbers(DdirRel *rel, List *keys, List *order, int64 limit, int64 offset, bool ties)
{
	int			n = rel->type->natts;
	List	   *columns = ddir_rel_columns(0, rel);
	List	   *quals = NIL;

	rel = numbered(rel, keys, order);
	if (offset > 0)
		quals = lappend(quals, compare_number(offset, Int8LessOperator, rel, n + 1));
	if (limit >= 0 && limit <= PG_INT64_MAX - offset)
		quals = lappend(quals, compare_number(offset + limit, get_negator(Int8LessOperator),
											  rel, ties ? n + 2 : n + 1));
	return ddir_rel_map(rel, quals, columns);
}

static DdirRel *
make_topk(DdirRel *rel, List *keys, List *order, int64 limit, int64 offset, bool ties)
{
	if (ddir_topk_possible(keys, order))
		return ddir_rel_topk(rel, keys, order, limit, offset, ties);
	return by_numbers(rel, keys, order, limit, offset, ties);
}

typedef struct CountContext
{
	DdirLevel  *level;
	List	   *columns;		/* of the query, as the relation has them */
	int			depth;
} CountContext;

/*
 * What LIMIT or OFFSET mentions are columns of the query around, which the query
 * has as its own by now.
 */
static Node *
count_mutator(Node *node, void *arg)
{
	CountContext *cx = arg;
	ListCell   *lc;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		cx->depth++;
		node = (Node *) query_tree_mutator((Query *) node, count_mutator, arg, 0);
		cx->depth--;
		return node;
	}
	if (!IsA(node, Var) || (int) ((Var *) node)->varlevelsup < cx->depth)
		return expression_tree_mutator(node, count_mutator, arg);
	foreach(lc, cx->columns)
	{
		Var		   *var = copyObject((Var *) node);

		var->varlevelsup -= cx->depth;
		if (!equal(lfirst_node(TargetEntry, lc)->expr, var))
			continue;
		var = makeVarFromTargetEntry(1, lfirst_node(TargetEntry, lc));
		var->varattno = foreach_current_index(lc) + 1;
		var->varlevelsup = cx->depth;
		return (Node *) var;
	}
	elog(ERROR, "a column that LIMIT or OFFSET mentions is not there");
}

static Expr *
int8_less(Expr *left, Expr *right, bool negated)
{
	return make_opclause(negated ? get_negator(Int8LessOperator) : Int8LessOperator, BOOLOID, false,
						 left, right, InvalidOid, InvalidOid);
}

static Expr *
int8_zero(void)
{
	return (Expr *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false,
							  FLOAT8PASSBYVAL);
}

/* Ready to be compared with numbers of rows: below zero it is an error. */
static Expr *
row_count_of(DdirLevel *level, Node *expr, const char *name, int sqlstate)
{
	CountContext cx = {level, ddir_query_columns(level->query)};
	Expr	   *value = (Expr *) count_mutator(expr, &cx);
	CaseExpr   *error = makeNode(CaseExpr);
	CaseWhen   *negative = makeNode(CaseWhen);
	char	   *message = psprintf("%d %s must not be negative", sqlstate, name);

	negative->expr = int8_less(value, int8_zero(), false);
	negative->result = (Expr *) makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
										  CStringGetTextDatum(message), false, false);
	negative->location = -1;
	error->casetype = TEXTOID;
	error->casecollid = DEFAULT_COLLATION_OID;
	error->args = list_make1(negative);
	error->defresult = (Expr *) makeNullConst(TEXTOID, -1, DEFAULT_COLLATION_OID);
	error->location = -1;
	return ddir_asked(copyObject(value), (Expr *) error);
}

static Expr *
null_as_zero(Expr *value)
{
	CoalesceExpr *coalesce = makeNode(CoalesceExpr);

	coalesce->coalescetype = INT8OID;
	coalesce->args = list_make2(value, int8_zero());
	coalesce->location = -1;
	return (Expr *) coalesce;
}

/*
 * The rows that are counted off by what is computed:
 *
 *	SELECT columns FROM numbered
 *	 WHERE number > coalesce(offset, 0)
 *	   AND (limit IS NULL OR number - coalesce(offset, 0) <= limit)
 *
 * With ties it is the rank that is within the limit.
 */
static DdirRel *
by_computed_numbers(DdirLevel *level, DdirRel *rel, List *keys, List *order, bool ties)
{
	Query	   *query = makeNode(Query);
	int			n = rel->type->natts;
	List	   *columns = ddir_rel_columns(0, rel);
	List	   *quals = NIL;
	RangeTblRef *ref = makeNode(RangeTblRef);
	DdirRel    *rows = numbered(rel, keys, order);
	DdirLevel  *filter;
	Expr	   *offset = NULL;

	if (level->query->limitOffset)
	{
		offset = null_as_zero(row_count_of(level, level->query->limitOffset, "OFFSET",
										   ERRCODE_INVALID_ROW_COUNT_IN_RESULT_OFFSET_CLAUSE));
		quals = lappend(quals, int8_less(offset, (Expr *) ddir_rel_var(0, rows, n + 1), false));
	}
	if (level->query->limitCount)
	{
		Expr	   *limit = row_count_of(level, level->query->limitCount, "LIMIT",
										 ERRCODE_INVALID_ROW_COUNT_IN_LIMIT_CLAUSE);
		Expr	   *number = (Expr *) ddir_rel_var(0, rows, ties ? n + 2 : n + 1);

		if (offset)
			number = (Expr *) makeFuncExpr(F_INT8MI, INT8OID, list_make2(number, copyObject(offset)),
										   InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
		quals = lappend(quals, make_orclause(list_make2(ddir_null_test(limit, IS_NULL),
														int8_less(limit, number, true))));
	}

	ref->rtindex = ddir_query_add_given(level->run, query, "numbered", rows);
	query->commandType = CMD_SELECT;
	query->hasSubLinks = true;
	query->jointree = makeFromExpr(list_make1(ref), (Node *) make_ands_explicit(quals));
	filter = ddir_level_make(level->run, level->parent, query, level->kind);
	return ddir_from_close(filter, ddir_lower_from(filter), columns);
}

static DdirRel *
count_off(DdirLevel *level, DdirRel *rel)
{
	Query	   *query = level->query;
	Node	   *limit_expr = query->limitCount;
	Node	   *offset_expr = query->limitOffset;
	List	   *keys = binding_keys(query, rel);
	List	   *order = order_keys(query, rel, keys);
	bool		ties = query->limitOption == LIMIT_OPTION_WITH_TIES;
	int64		limit;
	int64		offset;

	if (!is_known(level, &limit_expr) || !is_known(level, &offset_expr))
		return by_computed_numbers(level, rel, keys, order, ties);
	offset = row_count(offset_expr, 0, "OFFSET");
	limit = row_count(limit_expr, -1, "LIMIT");
	if (limit < 0 && offset == 0)
		return rel;
	if (limit == 0)
		return ddir_rel_constant(rel->type, NIL);
	return make_topk(rel, keys, order, limit, offset, ties && limit > 0);
}

DdirRel *
ddir_lower_limit(DdirLevel *level, DdirRel *rel)
{
	Query	   *query = level->query;
	List	   *targets = NIL;
	ListCell   *lc;

	if (!ddir_query_is_limited(query))
		return rel;
	if (query->hasDistinctOn)
	{
		List	   *keys = distinct_keys(query, rel);

		rel = make_topk(rel, keys, order_keys(query, rel, keys), 1, 0, false);
	}
	rel = count_off(level, rel);
	foreach(lc, ddir_query_columns(query))
	{
		if (!lfirst_node(TargetEntry, lc)->resjunk)
			targets = lappend(targets, ddir_rel_var(0, rel, foreach_current_index(lc) + 1));
	}
	return list_length(targets) == rel->type->natts ? rel : ddir_rel_map(rel, NIL, targets);
}

bool
ddir_order_key_encodes(const DdirOrderKey *key, bool *descending)
{
	Oid			opfamily;
	Oid			opcintype;
	Oid			ltop;

	if (!ddir_ordering_operator(key->sortop, &opfamily, &opcintype, descending))
		return false;
	ltop = get_opfamily_member(opfamily, opcintype, opcintype, BTLessStrategyNumber);
	return OidIsValid(ltop) &&
		ddir_order_supported(exprType((Node *) key->expr), key->collation, ltop);
}
