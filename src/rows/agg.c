/*-------------------------------------------------------------------------
 *
 * agg.c
 *	  Aggregates as states of a reduction: how each call is maintained.
 *
 * In this order: natively, if there is an accumulator for it (final.c); by
 * seeking, if it is the first value in an order that has an encoding; else by
 * its own functions, if they always give the same answer for the same rows.
 *
 * The states themselves are aggrun.c's.
 *
 * src/rows/agg.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/optimizer.h"
#include "parser/parse_func.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "rows/accum.h"
#include "rows/agg.h"

/* What of pg_aggregate matters here. */
typedef struct AggInfo
{
	Oid			transfn;
	Oid			finalfn;
	Oid			sortop;
} AggInfo;

static void
agg_info(Oid aggfnoid, AggInfo *info)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggfnoid));
	Form_pg_aggregate form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	info->transfn = form->aggtransfn;
	info->finalfn = form->aggfinalfn;
	info->sortop = form->aggsortop;
	ReleaseSysCache(tuple);
}

/* The one argument of the call; NULL if it has not just one. */
static Expr *
only_argument(const Aggref *ref)
{
	Expr	   *arg = NULL;
	ListCell   *lc;

	foreach(lc, ref->args)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (tle->resjunk)
			continue;
		if (arg)
			return NULL;
		arg = tle->expr;
	}
	return arg;
}

/*
 * The "<" of an operator that orders, and whether that is ">".
 */
static bool
less_operator(Oid sortop, Oid *ltop, bool *descending)
{
	Oid			opfamily;
	Oid			opcintype;

	if (!OidIsValid(sortop) ||
		!ddir_ordering_operator(sortop, &opfamily, &opcintype, descending))
		return false;
	*ltop = get_opfamily_member(opfamily, opcintype, opcintype, BTLessStrategyNumber);
	return OidIsValid(*ltop);
}

static bool
can_seek(const Aggref *ref, const AggInfo *info)
{
	Expr	   *arg = only_argument(ref);
	bool		descending;
	Oid			ltop;

	return arg != NULL &&
		less_operator(info->sortop, &ltop, &descending) &&
		ddir_order_supported(exprType((Node *) arg), ref->inputcollid, ltop);
}

/*
 * The functions of the server's own aggregates may be STABLE, when their
 * answer hangs on settings; what others hang on cannot be known.
 */
static void
check_function(const Aggref *ref, Oid function)
{
	char		volatility = func_volatile(function);

	if (volatility == PROVOLATILE_VOLATILE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("aggregate %s cannot be maintained incrementally",
						format_procedure(ref->aggfnoid)),
				 errdetail("Its function %s is volatile.", format_procedure(function)),
				 errhint("Declare the function IMMUTABLE if its result depends on nothing but its arguments.")));
	if (volatility == PROVOLATILE_STABLE &&
		get_func_namespace(function) != PG_CATALOG_NAMESPACE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("aggregate %s cannot be maintained incrementally",
						format_procedure(ref->aggfnoid)),
				 errdetail("Its function %s is not immutable.", format_procedure(function)),
				 errhint("Declare the function IMMUTABLE if its result depends on nothing but its arguments.")));
}

DdirAggMethod
ddir_agg_method(const Aggref *ref)
{
	AggInfo		info;

	if (ddir_accum_final(ref->aggfnoid))
		return DDIR_AGG_FOLD;
	agg_info(ref->aggfnoid, &info);
	if (can_seek(ref, &info))
		return DDIR_AGG_SEEK;
	check_function(ref, info.transfn);
	if (OidIsValid(info.finalfn))
		check_function(ref, info.finalfn);
	return DDIR_AGG_RECOMPUTE;
}

bool
ddir_agg_direct_varies(const Aggref *ref)
{
	return contain_var_clause((Node *) ref->aggdirectargs);
}

bool
ddir_agg_needs_distinct(const Aggref *ref)
{
	const DdirAccumFinal *final = ddir_accum_final(ref->aggfnoid);

	return ref->aggdistinct != NIL && final != NULL && !final->idempotent;
}

void
ddir_agg_seek_order(const Aggref *ref, Oid *ltop, bool *descending)
{
	AggInfo		info;

	agg_info(ref->aggfnoid, &info);
	if (!can_seek(ref, &info) || !less_operator(info.sortop, ltop, descending))
		elog(ERROR, "aggregate %u cannot be had by seeking", ref->aggfnoid);
}

DdirRowType *
ddir_agg_output_type(const DdirAggPlan *plan)
{
	int			n = plan->nkeys + plan->naggs;
	Oid		   *typids = palloc(sizeof(Oid) * (n + 1));
	int32	   *typmods = palloc(sizeof(int32) * (n + 1));
	Oid		   *collations = palloc(sizeof(Oid) * (n + 1));
	DdirRowType *type;

	for (int i = 0; i < plan->nkeys; i++)
	{
		typids[i] = plan->fold_type[0]->col[i].typid;
		typmods[i] = plan->fold_type[0]->col[i].typmod;
		collations[i] = plan->fold_type[0]->col[i].collation;
	}
	for (int i = 0; i < plan->naggs; i++)
	{
		typids[plan->nkeys + i] = plan->agg[i].ref->aggtype;
		typmods[plan->nkeys + i] = -1;
		collations[plan->nkeys + i] = plan->agg[i].ref->aggcollid;
	}
	type = ddir_rowtype_make(n, typids, typmods, collations);
	pfree(typids);
	pfree(typmods);
	pfree(collations);
	return type;
}

/*
 * Exact sums of floats
 */

typedef struct Exact
{
	Oid			aggfnoid;
	const char *name;			/* in schema ddir */
} Exact;

#define EXACT(type) \
	{F_SUM_##type, "_sum"}, {F_AVG_##type, "_avg"}, \
	{F_VAR_POP_##type, "_var_pop"}, {F_STDDEV_POP_##type, "_stddev_pop"}, \
	{F_VAR_SAMP_##type, "_var_samp"}, {F_VARIANCE_##type, "_var_samp"}, \
	{F_STDDEV_SAMP_##type, "_stddev_samp"}, {F_STDDEV_##type, "_stddev_samp"}

static const Exact exact[] = {EXACT(FLOAT4), EXACT(FLOAT8)};

Oid
ddir_agg_exact(Oid aggfnoid)
{
	for (int i = 0; i < lengthof(exact); i++)
	{
		if (aggfnoid == exact[i].aggfnoid)
		{
			List	   *name = list_make2(makeString("ddir"), makeString(pstrdup(exact[i].name)));
			Oid		   *argtypes;
			int			nargs;

			(void) get_func_signature(aggfnoid, &argtypes, &nargs);
			return LookupFuncName(name, nargs, argtypes, false);
		}
	}
	return InvalidOid;
}
