/*-------------------------------------------------------------------------
 *
 * aggmake.c
 *	  Aggregates as states of a reduction: made from a plan.
 *
 * Everything is in one context, a child of the one given.  Aggregates over
 * the same column of the same input share an accumulator where they are of
 * one kind, as sum and avg are.
 *
 * src/rows/aggmake.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/port.h"
#include "rows/aggstate.h"

static void
no_rights(ObjectType type, Oid funcid)
{
	aclcheck_error(ACLCHECK_NO_PRIV, type, get_func_name(funcid));
}

/*
 * As the executor does: the caller may call the aggregate, and the aggregate's
 * owner its functions.
 */
static void
check_rights(Oid owner, const Aggref *ref)
{
	Oid			role = OidIsValid(owner) ? owner : GetUserId();
	HeapTuple	tuple;
	Oid			aggowner;
	Oid			part[2];

	if (!ddir_function_allowed(ref->aggfnoid, role))
		no_rights(OBJECT_AGGREGATE, ref->aggfnoid);

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(ref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", ref->aggfnoid);
	aggowner = ((Form_pg_proc) GETSTRUCT(tuple))->proowner;
	ReleaseSysCache(tuple);
	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(ref->aggfnoid));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", ref->aggfnoid);
	part[0] = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggtransfn;
	part[1] = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggfinalfn;
	ReleaseSysCache(tuple);
	for (int i = 0; i < lengthof(part); i++)
		if (OidIsValid(part[i]) && !ddir_function_allowed(part[i], aggowner))
			no_rights(OBJECT_FUNCTION, part[i]);
}

/* The type of the first n columns. */
static DdirRowType *
head_type(const DdirRowType *type, int n)
{
	Oid		   *typids = palloc(n * sizeof(Oid));
	int32	   *typmods = palloc(n * sizeof(int32));
	Oid		   *collations = palloc(n * sizeof(Oid));

	for (int i = 0; i < n; i++)
	{
		typids[i] = type->col[i].typid;
		typmods[i] = type->col[i].typmod;
		collations[i] = type->col[i].collation;
	}
	return ddir_rowtype_make(n, typids, typmods, collations);
}

static void
make_keys(DdirAggs *a, const DdirAggPlan *plan)
{
	int			n = Max(plan->nkeys, 1);

	a->nkeys = plan->nkeys;
	a->label_arr = plan->nkeys > 0 ? plan->label_arr : -1;
	a->exact = plan->nkeys == 0 || plan->key->exact;
	a->foreign = !a->exact;
	a->keeps_key = plan->nkeys > 0 && (a->label_arr < 0 || !a->exact);
	if (plan->nkeys > 0)
	{
		if (plan->key->lossy && plan->label_arr < 0)
			elog(ERROR, "groups of a lossy key need labels");
		a->key = ddir_key_copy(plan->key);
		a->key_type = head_type(plan->fold_type[0], plan->nkeys);
	}
	a->key_values = palloc0(n * sizeof(Datum));
	a->key_isnull = palloc0(n * sizeof(bool));
	a->row_values = palloc0(n * sizeof(Datum));
	a->row_isnull = palloc0(n * sizeof(bool));
	ddir_deltas_init(&a->buffer, ddir_arena_of(a->cxt), 1, false);
	if (a->keeps_key)
		a->state_size = MAXALIGN(sizeof(DdirKeyImage));
}

static void
make_port(DdirAggs *a, DdirAggPort *port, const DdirRowType *type, int naggs)
{
	int		   *key_to;

	port->type = ddir_rowtype_copy(type);
	port->slot = palloc(Max(naggs, 1) * sizeof(DdirAggSlot));
	port->to = palloc(Max(type->natts, 1) * sizeof(int));
	key_to = palloc(Max(type->natts, 1) * sizeof(int));
	if (type->natts < a->nkeys)
		elog(ERROR, "rows to fold have %d columns, fewer than keys", type->natts);
	for (int i = 0; i < type->natts; i++)
	{
		port->to[i] = -1;
		key_to[i] = i < a->nkeys ? i : -1;
		if (i < a->nkeys && type->col[i].typid != a->key_type->col[i].typid)
			elog(ERROR, "inputs of a reduction disagree about the type of key %d", i);
	}
	port->key = ddir_fetch_make(port->type, key_to);
}

/* The place of a column among the port's values. */
static int
port_place(DdirAggPort *port, int col)
{
	if (col < 0 || col >= port->type->natts)
		elog(ERROR, "an aggregate's argument is column %d of %d", col, port->type->natts);
	if (port->to[col] < 0)
		port->to[col] = port->nvalues++;
	return port->to[col];
}

/* Make, or share, the accumulator of a FOLD aggregate. */
static void
make_fold(DdirAggs *a, DdirAggOutput *r, const DdirAgg *agg)
{
	DdirAggPort *port = &a->port[agg->port];
	DdirAccumKind kind;
	int			place = -1;

	r->final = ddir_accum_final(agg->ref->aggfnoid);
	if (r->final == NULL || agg->port < 0 || agg->port >= a->nports)
		elog(ERROR, "aggregate %u cannot be folded from input %d",
			 agg->ref->aggfnoid, agg->port);
	kind = r->final->kind;
	if (agg->nargs != (kind == DDIR_ACCUM_ROWS ? 0 : 1))
		elog(ERROR, "aggregate %u is folded with %d arguments", agg->ref->aggfnoid, agg->nargs);
	if (agg->nargs > 0)
		place = port_place(port, agg->arg[0]);
	else if (agg->filter >= 0)
		place = port_place(port, agg->filter);

	for (int k = 0; k < port->nslots; k++)
		if (port->slot[k].kind == kind && port->slot[k].place == place)
		{
			r->offset = port->slot[k].offset;
			return;
		}
	r->offset = a->state_size;
	a->state_size += ddir_accum_size(kind);
	port->slot[port->nslots++] = (DdirAggSlot)
	{
		kind, r->offset, place
	};
}

/* Once all places are given out. */
static void
finish_port(DdirAggPort *port)
{
	if (port->nvalues == 0)
		return;
	port->fetch = ddir_fetch_make(port->type, port->to);
	port->values = palloc(DDIR_FOLD_ROWS * port->nvalues * sizeof(Datum));
	port->isnull = palloc(DDIR_FOLD_ROWS * port->nvalues * sizeof(bool));
}

static void
make_reader(DdirAggs *a, DdirAggOutput *r, const DdirAgg *agg)
{
	if (agg->arr < 0 || agg->arr >= a->narrs)
		elog(ERROR, "aggregate %u reads arrangement %d of %d",
			 agg->ref->aggfnoid, agg->arr, a->narrs);
	r->arr = agg->arr;
	if (r->method == DDIR_AGG_SEEK)
		return;
	r->recompute = ddir_recompute_make(a->cxt, agg->ref, a->arr[agg->arr].type,
									   a->exact ? 0 : a->nkeys);
	a->foreign = true;
}

static void
make_arrs(DdirAggs *a, const DdirAggPlan *plan)
{
	a->narrs = plan->label_arr + 1;
	for (int i = 0; i < plan->naggs; i++)
		if (plan->agg[i].method != DDIR_AGG_FOLD)
			a->narrs = Max(a->narrs, plan->agg[i].arr + 1);
	a->arr = palloc0(Max(a->narrs, 1) * sizeof(DdirAggArr));
	for (int k = 0; k < a->narrs; k++)
	{
		DdirAggArr *arr = &a->arr[k];

		arr->type = ddir_rowtype_copy(plan->arr_type[k]);
		arr->values = palloc0(Max(arr->type->natts, 1) * sizeof(Datum));
		arr->isnull = palloc0(Max(arr->type->natts, 1) * sizeof(bool));
	}
}

static DdirAggs *
make_aggs(MemoryContext cxt, const DdirAggPlan *plan)
{
	MemoryContext own = AllocSetContextCreate(cxt, "ddir aggregates", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(own);
	DdirAggs   *a = palloc0(sizeof(DdirAggs));

	a->cxt = own;
	a->state_cxt = AllocSetContextCreate(own, "ddir aggregate states", ALLOCSET_DEFAULT_SIZES);
	a->scratch = AllocSetContextCreate(own, "ddir aggregate scratch", ALLOCSET_DEFAULT_SIZES);
	a->message_cxt = AllocSetContextCreate(own, "ddir aggregate errors", ALLOCSET_SMALL_SIZES);
	a->owner = plan->owner;
	make_keys(a, plan);
	make_arrs(a, plan);
	a->nports = plan->nports;
	for (int p = 0; p < a->nports; p++)
		make_port(a, &a->port[p], plan->fold_type[p], plan->naggs);

	a->noutputs = plan->naggs;
	a->output = palloc0(Max(plan->naggs, 1) * sizeof(DdirAggOutput));
	for (int i = 0; i < plan->naggs; i++)
	{
		DdirAggOutput *r = &a->output[i];

		check_rights(plan->owner, plan->agg[i].ref);
		r->method = plan->agg[i].method;
		r->arr = -1;
		if (r->method == DDIR_AGG_FOLD)
			make_fold(a, r, &plan->agg[i]);
		else
			make_reader(a, r, &plan->agg[i]);
	}
	for (int p = 0; p < a->nports; p++)
		finish_port(&a->port[p]);

	a->out_type = ddir_agg_output_type(plan);
	a->out_values = palloc0(Max(a->out_type->natts, 1) * sizeof(Datum));
	a->out_isnull = palloc0(Max(a->out_type->natts, 1) * sizeof(bool));
	MemoryContextSwitchTo(old);
	return a;
}

DdirReduceFns
ddir_agg_make(MemoryContext cxt, const DdirAggPlan *plan)
{
	DdirReduceFns fns = {0};
	DdirAggs   *a;

	if (plan->nports < 1 || plan->nports > DDIR_AGG_PORTS_MAX)
		elog(ERROR, "a reduction has %d inputs", plan->nports);
	ddir_accum_self_check();
	a = make_aggs(cxt, plan);
	fns.ctx = a;
	fns.state_size = Max(a->state_size, MAXIMUM_ALIGNOF);
	fns.same = a->exact ? NULL : ddir_agg_same;
	fns.fold = ddir_agg_fold;
	fns.emit = ddir_agg_emit;
	fns.drop = ddir_agg_drop;
	return fns;
}
