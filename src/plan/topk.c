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
 * does; what a window numbers is numbered for all of its partition's rows.
 *
 * src/plan/topk.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
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

/* The number that LIMIT or OFFSET gives; "none" for NULL, or if there is none. */
static int64
row_count(DdirLevel *level, Node *expr, int64 none, const char *name)
{
	Const	   *value;

	if (expr == NULL)
		return none;
	value = (Const *) ddir_lower_fold(level, (Expr *) copyObject(expr));
	if (!IsA(value, Const))
		ddir_refuse_query(level->run->refusal, DDIR_REFUSE_LIMIT,
						  psprintf("a %s that is not a constant", name));
	if (value->constisnull)
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

static DdirRel *
by_numbers(DdirRel *rel, List *keys, List *order, int64 limit, int64 offset, bool ties)
{
	WindowClause *frame = makeNode(WindowClause);
	int			n = rel->type->natts;
	List	   *columns = ddir_rel_columns(0, rel);
	List	   *quals = NIL;
	DdirRel    *numbered;

	frame->frameOptions = FRAMEOPTION_DEFAULTS;
	frame->winref = 1;
	numbered = ddir_rel_window(rel, keys, order, frame,
							   list_make2(window_func(F_ROW_NUMBER), window_func(F_RANK_)));
	if (offset > 0)
		quals = lappend(quals, compare_number(offset, Int8LessOperator, numbered, n + 1));
	if (limit >= 0 && limit <= PG_INT64_MAX - offset)
		quals = lappend(quals, compare_number(offset + limit, get_negator(Int8LessOperator),
											  numbered, ties ? n + 2 : n + 1));
	return ddir_rel_map(numbered, quals, columns);
}

static DdirRel *
make_topk(DdirRel *rel, List *keys, List *order, int64 limit, int64 offset, bool ties)
{
	if (ddir_topk_possible(keys, order))
		return ddir_rel_topk(rel, keys, order, limit, offset, ties);
	return by_numbers(rel, keys, order, limit, offset, ties);
}

static DdirRel *
count_off(DdirLevel *level, DdirRel *rel)
{
	Query	   *query = level->query;
	int64		offset = row_count(level, query->limitOffset, 0, "OFFSET");
	int64		limit = row_count(level, query->limitCount, -1, "LIMIT");
	List	   *keys = binding_keys(query, rel);

	if (limit < 0 && offset == 0)
		return rel;
	if (limit == 0)
		return ddir_rel_constant(rel->type, NIL);
	return make_topk(rel, keys, order_keys(query, rel, keys), limit, offset,
					 query->limitOption == LIMIT_OPTION_WITH_TIES && limit > 0);
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
