/*-------------------------------------------------------------------------
 *
 * recompute.c
 *	  An aggregate's own functions, run over the rows of a group.
 *
 * Transition and final functions may ask who calls them (AggCheckCallContext
 * and its like), so there is a stand-in for the executor's node, with nothing
 * in it but what those calls look at.
 *
 * Direct arguments of ordered-set aggregates are columns of every row, of which
 * the first row's are taken, or expressions without columns.
 *
 * Memory: the state of a group is in the stand-in's aggregate context, a
 * call's garbage in its temporary one, rows that wait to be sorted in one of
 * their own; all emptied with each group.
 *
 * src/rows/recompute.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_agg.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/expandeddatum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "rows/agg.h"
#include "rows/recompute.h"

/* A row kept for sorting. */
typedef struct SortRow
{
	Datum	   *values;
	bool	   *isnull;
	int64		times;
	int64		number;			/* in the order of images */
} SortRow;

struct DdirRecompute
{
	MemoryContext cxt;
	MemoryContext rows_cxt;		/* of rows while they are looked at */
	Aggref	   *ref;
	int			ncols;			/* of a row */
	int			skip;
	Datum	   *values;
	bool	   *isnull;

	/* the call */
	int			nargs;			/* of a transition */
	Oid			transtype;
	int16		translen;
	bool		transbyval;
	Datum		init;
	bool		init_null;
	FmgrInfo	transfn;
	FmgrInfo	finalfn;
	bool		has_finalfn;
	int			nfinalargs;		/* with the state and direct arguments */
	int16		reslen;
	bool		resbyval;
	FunctionCallInfo fcinfo;	/* of the transition function */

	/* direct arguments: columns from "direct_col" on, or expressions */
	int			ndirect;
	int			direct_col;		/* -1: expressions */
	ExprState **direct_expr;
	int16	   *direct_len;
	bool	   *direct_byval;
	int			filter_col;		/* rows where it is not true only have those;
								 * or -1 */

	/* the order of rows; duplicates in these columns go if "distinct" */
	int			nsort;
	int		   *sort_col;
	SortSupport sort;
	bool		distinct;

	/* the stand-in */
	AggState   *node;
	AggStatePerTransData pertrans;
	AggStatePerAggData peragg;
	bool		running;		/* a run has not come to its end */

	/* of a run */
	Datum		state;
	bool		state_null;
	bool		no_state;		/* the first value will be it */
	bool		direct_known;
	Datum	   *direct;
	bool	   *direct_null;
};

/* ----
 * Preparation
 * ----
 */

static Datum
init_value(Datum initval, Oid transtype)
{
	Oid			typinput;
	Oid			typioparam;
	char	   *string = TextDatumGetCString(initval);

	getTypeInputInfo(transtype, &typinput, &typioparam);
	return OidInputFunctionCall(typinput, string, typioparam, -1);
}

/* What pg_aggregate says of it; in r->cxt, which is current. */
static void
look_up(DdirRecompute *r, Oid *argtypes)
{
	Oid			aggfnoid = r->ref->aggfnoid;
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggfnoid));
	Form_pg_aggregate form;
	Datum		init;
	Expr	   *expr;
	int			nargs;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	nargs = get_aggregate_argtypes(r->ref, argtypes);
	r->ndirect = list_length(r->ref->aggdirectargs);
	r->nargs = AGGKIND_IS_ORDERED_SET(r->ref->aggkind) ? list_length(r->ref->args) : nargs;
	r->transtype = resolve_aggregate_transtype(aggfnoid, form->aggtranstype,
											   argtypes, nargs);
	r->ref->aggtranstype = r->transtype;
	get_typlenbyval(r->transtype, &r->translen, &r->transbyval);
	get_typlenbyval(r->ref->aggtype, &r->reslen, &r->resbyval);

	init = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &r->init_null);
	if (!r->init_null)
		r->init = init_value(init, r->transtype);

	build_aggregate_transfn_expr(argtypes, nargs, r->ndirect, r->ref->aggvariadic,
								 r->transtype, r->ref->inputcollid,
								 form->aggtransfn, InvalidOid, &expr, NULL);
	fmgr_info_cxt(form->aggtransfn, &r->transfn, r->cxt);
	fmgr_info_set_expr((Node *) expr, &r->transfn);

	r->has_finalfn = OidIsValid(form->aggfinalfn);
	r->nfinalargs = (form->aggfinalextra ? nargs : r->ndirect) + 1;
	if (r->has_finalfn)
	{
		build_aggregate_finalfn_expr(argtypes, r->nfinalargs, r->transtype,
									 r->ref->aggtype, r->ref->inputcollid,
									 form->aggfinalfn, &expr);
		fmgr_info_cxt(form->aggfinalfn, &r->finalfn, r->cxt);
		fmgr_info_set_expr((Node *) expr, &r->finalfn);
	}
	ReleaseSysCache(tuple);
}

static void
prepare_direct(DdirRecompute *r)
{
	bool		varies = ddir_agg_direct_varies(r->ref);
	ListCell   *lc;

	r->direct = palloc0(sizeof(Datum) * r->ndirect + 1);
	r->direct_null = palloc0(sizeof(bool) * r->ndirect + 1);
	r->direct_expr = palloc0(sizeof(ExprState *) * r->ndirect + 1);
	r->direct_len = palloc0(sizeof(int16) * r->ndirect + 1);
	r->direct_byval = palloc0(sizeof(bool) * r->ndirect + 1);
	r->direct_col = varies ? r->skip + list_length(r->ref->args) : -1;
	r->filter_col = varies && r->ref->aggfilter ? r->direct_col + r->ndirect : -1;
	foreach(lc, r->ref->aggdirectargs)
	{
		int			i = foreach_current_index(lc);

		get_typlenbyval(exprType(lfirst(lc)), &r->direct_len[i], &r->direct_byval[i]);
		if (!varies)
			r->direct_expr[i] = ExecInitExpr(expression_planner(lfirst(lc)), NULL);
	}
}

/*
 * DISTINCT sorts by all its columns, of which those of ORDER BY are the first.
 * An ordered-set aggregate sorts by itself; given rows in its order, it leaves
 * those that are equal in theirs.
 */
static void
prepare_sort(DdirRecompute *r)
{
	List	   *clauses = r->ref->aggdistinct ? r->ref->aggdistinct : r->ref->aggorder;
	ListCell   *lc;

	r->distinct = r->ref->aggdistinct != NIL;
	r->sort_col = palloc(sizeof(int) * Max(list_length(clauses), 1));
	r->sort = palloc0(sizeof(SortSupportData) * Max(list_length(clauses), 1));
	foreach(lc, clauses)
	{
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(clause, r->ref->args);
		SortSupport sort = &r->sort[r->nsort];

		if (!OidIsValid(clause->sortop))
			elog(ERROR, "ORDER BY inside an aggregate has no ordering operator");
		r->sort_col[r->nsort] = r->skip + tle->resno - 1;
		sort->ssup_cxt = r->cxt;
		sort->ssup_collation = exprCollation((Node *) tle->expr);
		sort->ssup_nulls_first = clause->nulls_first;
		sort->abbreviate = false;
		PrepareSortSupportFromOrderingOp(clause->sortop, sort);
		r->nsort++;
	}
}

/* The stand-in's contexts; new ones, without what may have been left in them. */
static void
make_contexts(DdirRecompute *r)
{
	MemoryContext old = MemoryContextSwitchTo(r->cxt);

	if (r->node->curaggcontext)
		FreeExprContext(r->node->curaggcontext, false);
	if (r->node->tmpcontext)
		FreeExprContext(r->node->tmpcontext, false);
	r->node->curaggcontext = CreateStandaloneExprContext();
	r->node->tmpcontext = CreateStandaloneExprContext();
	MemoryContextSwitchTo(old);
}

static void
make_stand_in(DdirRecompute *r)
{
	r->node = makeNode(AggState);
	r->pertrans.aggref = r->ref;
	r->pertrans.numInputs = list_length(r->ref->args);
	r->pertrans.numTransInputs = r->nargs;
	r->pertrans.aggCollation = r->ref->inputcollid;
	r->peragg.aggref = r->ref;
	r->node->pertrans = &r->pertrans;
	r->node->peragg = &r->peragg;
	make_contexts(r);
}

DdirRecompute *
ddir_recompute_make(MemoryContext cxt, const Aggref *ref, const DdirRowType *type, int skip)
{
	Oid			argtypes[FUNC_MAX_ARGS];
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirRecompute *r = palloc0(sizeof(DdirRecompute));

	r->cxt = cxt;
	r->rows_cxt = AllocSetContextCreate(cxt, "ddir recomputed rows", ALLOCSET_DEFAULT_SIZES);
	r->ref = copyObject((Aggref *) ref);
	r->ncols = type->natts;
	r->skip = skip;
	r->values = palloc(sizeof(Datum) * Max(r->ncols, 1));
	r->isnull = palloc(sizeof(bool) * Max(r->ncols, 1));
	look_up(r, argtypes);
	if (r->nargs > list_length(ref->args))
		elog(ERROR, "an aggregate of %d arguments has %d", r->nargs, list_length(ref->args));
	prepare_direct(r);
	if (type->natts != skip + list_length(ref->args) + (r->direct_col < 0 ? 0 : r->ndirect) +
		(r->filter_col < 0 ? 0 : 1))
		elog(ERROR, "an aggregate of %d columns cannot read rows of %d",
			 list_length(ref->args), type->natts);

	/* the function may have become strict since the aggregate was made */
	if (r->transfn.fn_strict && r->init_null &&
		(r->nargs < 1 || !IsBinaryCoercible(argtypes[r->ndirect], r->transtype)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_FUNCTION_DEFINITION),
				 errmsg("aggregate %u needs to have compatible input type and transition type",
						ref->aggfnoid)));
	prepare_sort(r);
	make_stand_in(r);
	r->fcinfo = palloc0(SizeForFunctionCallInfo(r->nargs + 1));
	InitFunctionCallInfoData(*r->fcinfo, &r->transfn, r->nargs + 1,
							 r->ref->inputcollid, (Node *) r->node, NULL);
	MemoryContextSwitchTo(old);
	return r;
}

/* ----
 * Transitions
 * ----
 */

static MemoryContext
state_context(DdirRecompute *r)
{
	return r->node->curaggcontext->ecxt_per_tuple_memory;
}

/*
 * A new state by reference: into the group's memory, and the old one out of
 * it.  Expanded objects that are there already are taken as they are.
 */
static Datum
adopt_state(DdirRecompute *r, Datum value, bool isnull)
{
	MemoryContext old = MemoryContextSwitchTo(state_context(r));

	if (isnull)
		value = (Datum) 0;
	else if (!DatumIsReadWriteExpandedObject(value, false, r->translen) ||
			 MemoryContextGetParent(DatumGetEOHP(value)->eoh_context) != CurrentMemoryContext)
		value = datumCopy(value, r->transbyval, r->translen);
	if (!r->state_null)
	{
		if (DatumIsReadWriteExpandedObject(r->state, false, r->translen))
			DeleteExpandedObject(r->state);
		else
			pfree(DatumGetPointer(r->state));
	}
	MemoryContextSwitchTo(old);
	return value;
}

static void
advance(DdirRecompute *r, const Datum *args, const bool *argnull)
{
	FunctionCallInfo fcinfo = r->fcinfo;
	MemoryContext old;
	Datum		value;

	if (r->transfn.fn_strict)
	{
		for (int i = 0; i < r->nargs; i++)
			if (argnull[i])
				return;
		if (r->no_state)
		{
			old = MemoryContextSwitchTo(state_context(r));
			r->state = datumCopy(args[0], r->transbyval, r->translen);
			r->state_null = false;
			r->no_state = false;
			MemoryContextSwitchTo(old);
			return;
		}
		if (r->state_null)
			return;
	}

	MemoryContextReset(r->node->tmpcontext->ecxt_per_tuple_memory);
	old = MemoryContextSwitchTo(r->node->tmpcontext->ecxt_per_tuple_memory);
	fcinfo->args[0].value = r->state;
	fcinfo->args[0].isnull = r->state_null;
	for (int i = 0; i < r->nargs; i++)
	{
		fcinfo->args[i + 1].value = args[i];
		fcinfo->args[i + 1].isnull = argnull[i];
	}
	fcinfo->isnull = false;
	r->node->curpertrans = &r->pertrans;
	value = FunctionCallInvoke(fcinfo);
	r->node->curpertrans = NULL;
	if (!r->transbyval && DatumGetPointer(value) != DatumGetPointer(r->state))
		value = adopt_state(r, value, fcinfo->isnull);
	r->state = value;
	r->state_null = fcinfo->isnull;
	r->no_state = false;
	MemoryContextSwitchTo(old);
}

/* The direct arguments, in the group's memory: of any row, or of none. */
static void
set_direct(DdirRecompute *r, const Datum *values, const bool *isnull)
{
	MemoryContext old;

	if (r->direct_known)
		return;
	old = MemoryContextSwitchTo(state_context(r));
	for (int i = 0; i < r->ndirect; i++)
	{
		Datum		value = (Datum) 0;
		bool		null = true;

		if (r->direct_col < 0)
			value = ExecEvalExprSwitchContext(r->direct_expr[i], r->node->tmpcontext, &null);
		else if (values)
		{
			value = values[r->direct_col + i];
			null = isnull[r->direct_col + i];
		}
		r->direct[i] = null ? (Datum) 0 : datumCopy(value, r->direct_byval[i], r->direct_len[i]);
		r->direct_null[i] = null;
	}
	MemoryContextSwitchTo(old);
	r->direct_known = true;
}

/* Is the row one that the aggregate takes? */
static bool
take_row(DdirRecompute *r, const Datum *values, const bool *isnull)
{
	set_direct(r, values, isnull);
	return r->filter_col < 0 ||
		(!isnull[r->filter_col] && DatumGetBool(values[r->filter_col]));
}

static void
advance_times(DdirRecompute *r, const Datum *values, const bool *isnull, int64 times)
{
	for (int64 i = 0; i < times; i++)
	{
		CHECK_FOR_INTERRUPTS();
		advance(r, values + r->skip, isnull + r->skip);
	}
}

static int
compare_columns(const SortRow *a, const SortRow *b, DdirRecompute *r)
{
	for (int i = 0; i < r->nsort; i++)
	{
		int			col = r->sort_col[i];
		int			cmp = ApplySortComparator(a->values[col], a->isnull[col],
											  b->values[col], b->isnull[col], &r->sort[i]);

		if (cmp != 0)
			return cmp;
	}
	return 0;
}

static int
compare_rows(const void *pa, const void *pb, void *arg)
{
	const SortRow *a = pa;
	const SortRow *b = pb;
	int			cmp = compare_columns(a, b, arg);

	if (cmp != 0)
		return cmp;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* All rows at once, in r->rows_cxt. */
static SortRow *
collect(DdirRecompute *r, const DdirRowSource *rows, int64 *n)
{
	int64		cap = 64;
	SortRow    *all = MemoryContextAlloc(r->rows_cxt, cap * sizeof(SortRow));
	int64		times;

	*n = 0;
	while (rows->next(rows->ctx, r->rows_cxt, r->values, r->isnull, &times))
	{
		SortRow    *row;

		CHECK_FOR_INTERRUPTS();
		if (!take_row(r, r->values, r->isnull))
			continue;
		if (*n == cap)
		{
			cap *= 2;
			all = repalloc_huge(all, cap * sizeof(SortRow));
		}
		row = &all[*n];
		row->values = MemoryContextAlloc(r->rows_cxt, r->ncols * (sizeof(Datum) + sizeof(bool)));
		row->isnull = (bool *) (row->values + r->ncols);
		memcpy(row->values, r->values, r->ncols * sizeof(Datum));
		memcpy(row->isnull, r->isnull, r->ncols * sizeof(bool));
		row->times = times;
		row->number = (*n)++;
	}
	return all;
}

static void
run_sorted(DdirRecompute *r, const DdirRowSource *rows)
{
	int64		n;
	SortRow    *all = collect(r, rows, &n);

	qsort_arg(all, n, sizeof(SortRow), compare_rows, r);
	for (int64 i = 0; i < n; i++)
	{
		int64		times = all[i].times;

		if (r->distinct)
		{
			if (i > 0 && compare_columns(&all[i - 1], &all[i], r) == 0)
				continue;
			times = 1;
		}
		advance_times(r, all[i].values, all[i].isnull, times);
	}
}

static void
run_in_order(DdirRecompute *r, const DdirRowSource *rows)
{
	int64		times;

	for (;;)
	{
		MemoryContextReset(r->rows_cxt);
		if (!rows->next(rows->ctx, r->rows_cxt, r->values, r->isnull, &times))
			break;
		if (take_row(r, r->values, r->isnull))
			advance_times(r, r->values, r->isnull, times);
	}
}

/* ----
 * A run
 * ----
 */

static void
begin(DdirRecompute *r)
{
	/*
	 * After an error, functions to be called at the end of the group must not
	 * be.
	 */
	if (r->running)
		make_contexts(r);
	r->running = true;
	r->node->curpertrans = NULL;
	r->node->curperagg = NULL;
	MemoryContextReset(r->rows_cxt);
	r->direct_known = false;
	r->state_null = r->init_null;
	r->no_state = r->init_null;
	r->state = (Datum) 0;
	if (!r->init_null)
	{
		MemoryContext old = MemoryContextSwitchTo(state_context(r));

		r->state = datumCopy(r->init, r->transbyval, r->translen);
		MemoryContextSwitchTo(old);
	}
}

/* The result, in the group's memory or that of a call. */
static bool
finish(DdirRecompute *r, Datum *value)
{
	LOCAL_FCINFO(fcinfo, FUNC_MAX_ARGS + 1);
	bool		anynull = r->state_null || r->nfinalargs > r->ndirect + 1;
	MemoryContext old;

	*value = r->state;
	if (!r->has_finalfn)
		return !r->state_null;
	set_direct(r, NULL, NULL);
	for (int i = 0; i < r->ndirect; i++)
		anynull = anynull || r->direct_null[i];
	if (r->finalfn.fn_strict && anynull)
		return false;

	MemoryContextReset(r->node->tmpcontext->ecxt_per_tuple_memory);
	old = MemoryContextSwitchTo(r->node->tmpcontext->ecxt_per_tuple_memory);
	InitFunctionCallInfoData(*fcinfo, &r->finalfn, r->nfinalargs,
							 r->ref->inputcollid, (Node *) r->node, NULL);
	fcinfo->args[0].value = MakeExpandedObjectReadOnly(r->state, r->state_null, r->translen);
	fcinfo->args[0].isnull = r->state_null;
	for (int i = 1; i < r->nfinalargs; i++)
	{
		fcinfo->args[i].value = i <= r->ndirect ? r->direct[i - 1] : (Datum) 0;
		fcinfo->args[i].isnull = i > r->ndirect || r->direct_null[i - 1];
	}
	r->node->curperagg = &r->peragg;
	*value = FunctionCallInvoke(fcinfo);
	r->node->curperagg = NULL;
	MemoryContextSwitchTo(old);
	return !fcinfo->isnull;
}

bool
ddir_recompute(DdirRecompute *r, const DdirRowSource *rows, Datum *value)
{
	bool		notnull;

	begin(r);
	if (r->nsort > 0)
		run_sorted(r, rows);
	else
		run_in_order(r, rows);
	notnull = finish(r, value);
	if (notnull)
		*value = datumCopy(*value, r->resbyval, r->reslen);
	ReScanExprContext(r->node->curaggcontext);
	ReScanExprContext(r->node->tmpcontext);
	MemoryContextReset(r->rows_cxt);
	r->running = false;
	return notnull;
}
