/*-------------------------------------------------------------------------
 *
 * flatmap.c
 *	  Flat maps: functions that return rows, run by the server's executor.
 *
 * What the executor does for a function in FROM (ExecMakeTableFunctionResult)
 * and for one in a select list (ExecMakeFunctionResultSet) it can do without a
 * plan: both need no more than an expression context.  So functions may return
 * their rows one by one or all at once, in whatever language they are written.
 *
 * The executor expects that its contexts go with the query.  Here they stay, so
 * what a function leaves in them is thrown away behind each row: its callbacks
 * are called, and the query's memory ("query_cxt") is emptied.  After an error
 * nobody knows what state functions are in: they are prepared anew.
 *
 * Memory: a row's columns are in "row_cxt", arguments in "arg_cxt", results in
 * the expression context's memory.  What is prepared is in "exec_cxt".
 *
 * src/rows/flatmap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "rows/flatmap.h"
#include "rows/program.h"

/* A function, its columns, and its rows while they are read. */
typedef struct Function
{
	Expr	   *expr;
	int			ncolumns;
	int			first;			/* of its columns, in a row made */
	SetExprState *state;
	ExprDoneCond done;			/* in a select list */
	TupleDesc	desc;			/* in FROM, and of records in a select list */
	/* in FROM */
	TupleTableSlot *slot;
	Tuplestorestate *rows;
} Function;

typedef struct FlatMap
{
	char	   *label;
	Oid			owner;
	DdirRowType *rel;
	DdirRowType *type;
	bool		in_list;		/* as in a select list */
	bool		ordinality;
	bool		outer;
	int			nkept;
	int		   *kept;			/* columns, from 0 */
	int			nfunctions;
	Function   *function;
	DdirFetch  *fetch;			/* of what is kept or used; NULL: nothing */
	MemoryContext row_cxt;
	MemoryContext arg_cxt;
	MemoryContext query_cxt;
	Datum	   *values;			/* of a row made */
	bool	   *isnull;

	/* prepared; NULL: not yet, or no more */
	MemoryContext exec_cxt;
	ExprContext *econtext;
	TupleTableSlot *scan;
} FlatMap;

/* A bundle on its way. */
typedef struct Run
{
	FlatMap    *map;
	const DdirBundle *in;
	DdirDeltas *out;
	DdirDeltas *err;
	uint32		row;			/* the one at work */
	uint32		made;			/* rows made before it */
	int			sqlstate;		/* its error, if it has one */
	char	   *message;
} Run;

/* ----
 * Making
 * ----
 */

TupleDesc
ddir_function_desc(const RangeTblFunction *function)
{
	Oid			type;
	TupleDesc	desc = NULL;

	switch (get_expr_result_type(function->funcexpr, &type, &desc))
	{
		case TYPEFUNC_COMPOSITE:
		case TYPEFUNC_COMPOSITE_DOMAIN:
			return CreateTupleDescCopy(desc);
		case TYPEFUNC_SCALAR:
			desc = CreateTemplateTupleDesc(1);
			TupleDescInitEntry(desc, 1, "value", type, exprTypmod(function->funcexpr), 0);
			TupleDescInitEntryCollation(desc, 1, exprCollation(function->funcexpr));
			return desc;
		case TYPEFUNC_RECORD:
			return BlessTupleDesc(BuildDescFromLists(function->funccolnames,
													 function->funccoltypes,
													 function->funccoltypmods,
													 function->funccolcollations));
		default:
			elog(ERROR, "function in FROM has unsupported return type");
	}
}

typedef struct UseContext
{
	FlatMap    *map;
	int		   *to;				/* by column: itself, or -1 */
} UseContext;

/* Note what is used; a domain and its base differ by name only. */
static Node *
use_mutator(Node *node, void *arg)
{
	UseContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);
		int			a = var->varattno - 1;

		if (var->varno != 1 || var->varlevelsup != 0 || a < 0 || a >= cx->map->rel->natts ||
			!OidIsValid(cx->map->rel->col[a].typid))
			elog(ERROR, "flat map \"%s\" has no column %d", cx->map->label, a + 1);
		var->vartype = cx->map->rel->col[a].typid;
		var->vartypmod = cx->map->rel->col[a].typmod;
		cx->to[a] = a;
		return (Node *) var;
	}
	return expression_tree_mutator(node, use_mutator, arg);
}

static void
make_function(UseContext *cx, Function *f, const RangeTblFunction *function)
{
	FlatMap    *m = cx->map;

	f->expr = copyObject((Expr *) use_mutator(function->funcexpr, cx));
	fix_opfuncids((Node *) f->expr);
	convert_saop_to_hashed_saop((Node *) f->expr);
	f->ncolumns = function->funccolcount;
	if (!m->in_list || exprType(function->funcexpr) == RECORDOID)
		f->desc = ddir_function_desc(function);
}

static bool call_flatmap(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err);

DdirFunc
ddir_flatmap_make(MemoryContext cxt, const DdirFlatMapSpec *spec)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	FlatMap    *m = palloc0(sizeof(FlatMap));
	DdirFunc	f = {call_flatmap, m};
	UseContext	cx = {m};
	int			n = 0;
	ListCell   *lc;

	m->label = pstrdup(spec->label);
	m->owner = spec->owner;
	m->rel = ddir_rowtype_copy(spec->rel);
	m->type = ddir_rowtype_copy(spec->type);
	m->in_list = spec->values;
	m->ordinality = spec->ordinality;
	m->outer = spec->outer;
	m->row_cxt = AllocSetContextCreate(cxt, "ddir flat map row", ALLOCSET_SMALL_SIZES);
	m->arg_cxt = AllocSetContextCreate(cxt, "ddir flat map arguments", ALLOCSET_SMALL_SIZES);
	m->query_cxt = AllocSetContextCreate(cxt, "ddir flat map query", ALLOCSET_DEFAULT_SIZES);
	m->exec_cxt = AllocSetContextCreate(cxt, "ddir flat map functions", ALLOCSET_SMALL_SIZES);

	cx.to = palloc(m->rel->natts * sizeof(int) + 1);
	for (int a = 0; a < m->rel->natts; a++)
		cx.to[a] = -1;
	m->kept = palloc(list_length(spec->kept) * sizeof(int) + 1);
	foreach(lc, spec->kept)
	{
		use_mutator(lfirst(lc), &cx);
		m->kept[m->nkept++] = lfirst_node(Var, lc)->varattno - 1;
	}
	n = m->nkept;
	m->function = palloc0(list_length(spec->functions) * sizeof(Function));
	foreach(lc, spec->functions)
	{
		Function   *function = &m->function[m->nfunctions++];

		make_function(&cx, function, lfirst_node(RangeTblFunction, lc));
		function->first = n;
		n += function->ncolumns;
	}
	n += m->ordinality ? 1 : 0;
	if (n != m->type->natts)
		elog(ERROR, "flat map \"%s\" makes %d columns, not %d", m->label, n, m->type->natts);
	m->values = palloc0(n * sizeof(Datum) + 1);
	m->isnull = palloc0(n * sizeof(bool) + 1);
	for (int a = 0; a < m->rel->natts; a++)
	{
		if (cx.to[a] < 0)
			continue;
		m->fetch = ddir_fetch_make(m->rel, cx.to);
		break;
	}
	MemoryContextSwitchTo(old);
	return f;
}

/* ----
 * Running
 * ----
 */

/* The right to call functions is checked here. */
static void
prepare(FlatMap *m)
{
	MemoryContext old;

	MemoryContextReset(m->exec_cxt);
	MemoryContextReset(m->query_cxt);
	old = MemoryContextSwitchTo(m->exec_cxt);
	m->scan = ExecStoreAllNullTuple(MakeSingleTupleTableSlot(ddir_rowtype_tupdesc(m->rel),
															 &TTSOpsVirtual));
	m->econtext = CreateStandaloneExprContext();
	m->econtext->ecxt_scantuple = m->scan;
	for (int i = 0; i < m->nfunctions; i++)
	{
		Function   *f = &m->function[i];

		f->rows = NULL;
		if (m->in_list)
			f->state = ExecInitFunctionResultSet(f->expr, m->econtext, NULL);
		else
		{
			f->state = ExecInitTableFunctionResult(f->expr, m->econtext, NULL);
			f->slot = MakeSingleTupleTableSlot(f->desc, &TTSOpsMinimalTuple);
		}
	}
	/* what is allocated from now on goes with a row */
	m->econtext->ecxt_per_query_memory = m->query_cxt;
	MemoryContextSwitchTo(old);
}

static void
set_null(FlatMap *m, const Function *f)
{
	for (int i = 0; i < f->ncolumns; i++)
	{
		m->values[f->first + i] = (Datum) 0;
		m->isnull[f->first + i] = true;
	}
}

/* The next row of a function in FROM into its columns; false: there is none. */
static bool
next_of_rows(FlatMap *m, Function *f)
{
	if (f->rows == NULL || !tuplestore_gettupleslot(f->rows, true, false, f->slot))
	{
		set_null(m, f);
		return false;
	}
	slot_getsomeattrs(f->slot, f->ncolumns);
	for (int i = 0; i < f->ncolumns; i++)
	{
		bool		dropped = TupleDescAttr(f->desc, i)->attisdropped;

		m->values[f->first + i] = f->slot->tts_values[i];
		m->isnull[f->first + i] = dropped || f->slot->tts_isnull[i];
	}
	return true;
}

static void
set_fields(FlatMap *m, const Function *f, HeapTupleHeader row)
{
	HeapTupleData tuple;

	tuple.t_len = HeapTupleHeaderGetDatumLength(row);
	ItemPointerSetInvalid(&tuple.t_self);
	tuple.t_tableOid = InvalidOid;
	tuple.t_data = row;
	heap_deform_tuple(&tuple, f->desc, &m->values[f->first], &m->isnull[f->first]);
}

/* The same of one in a select list, as the executor's ProjectSet does it. */
static bool
next_of_value(FlatMap *m, Function *f, bool first)
{
	Datum		value = (Datum) 0;
	bool		isnull = true;

	if (first || f->done != ExprEndResult)
		value = ExecMakeFunctionResultSet(f->state, m->econtext, m->arg_cxt, &isnull, &f->done);
	set_null(m, f);
	if (f->done == ExprEndResult)
		return false;
	if (f->desc && !isnull)
		set_fields(m, f, DatumGetHeapTupleHeader(value));
	else if (!f->desc)
	{
		m->values[f->first] = value;
		m->isnull[f->first] = isnull;
	}
	return true;
}

/* A row of all functions into their columns; false: all are at their end. */
static bool
next_row(FlatMap *m, bool first, bool *more)
{
	MemoryContext old = MemoryContextSwitchTo(m->econtext->ecxt_per_tuple_memory);
	bool		any = false;

	*more = !m->in_list;
	for (int i = 0; i < m->nfunctions; i++)
	{
		Function   *f = &m->function[i];

		if (!m->in_list)
			any = next_of_rows(m, f) || any;
		else
		{
			any = next_of_value(m, f, first) || any;
			*more = *more || f->done == ExprMultipleResult;
		}
	}
	MemoryContextSwitchTo(old);
	return any;
}

static void
begin_row(FlatMap *m, DdirRef image)
{
	ExecClearTuple(m->scan);
	if (m->fetch && !ddir_fetch(m->fetch, image, m->scan->tts_values, m->scan->tts_isnull,
								m->row_cxt))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("malformed row in a dataflow"),
				 errdetail_internal("It is of flat map \"%s\".", m->label)));
	ExecStoreVirtualTuple(m->scan);
	for (int i = 0; i < m->nkept; i++)
	{
		m->values[i] = m->scan->tts_values[m->kept[i]];
		m->isnull[i] = m->scan->tts_isnull[m->kept[i]];
	}
	for (int i = 0; !m->in_list && i < m->nfunctions; i++)
	{
		Function   *f = &m->function[i];

		f->rows = ExecMakeTableFunctionResult(f->state, m->econtext, m->arg_cxt, f->desc, false);
	}
}

static void
end_row(FlatMap *m)
{
	for (int i = 0; !m->in_list && i < m->nfunctions; i++)
	{
		Function   *f = &m->function[i];

		ExecClearTuple(f->slot);
		if (f->rows)
			tuplestore_end(f->rows);
		f->rows = NULL;
	}
	ReScanExprContext(m->econtext);
	MemoryContextReset(m->query_cxt);
	MemoryContextReset(m->arg_cxt);
	MemoryContextReset(m->row_cxt);
}

static void
run_row(FlatMap *m, const DdirBundle *in, uint32 i, DdirDeltas *out)
{
	MemoryContext old = MemoryContextSwitchTo(m->row_cxt);
	bool		more = true;

	begin_row(m, in->ref[0][i]);
	for (int64 number = 1; more; number++)
	{
		uint32		len;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(m->econtext);
		if (!next_row(m, number == 1, &more))
		{
			if (number > 1 || !m->outer)
				break;
			more = false;
		}
		if (m->ordinality)
		{
			m->values[m->type->natts - 1] = Int64GetDatum(number);
			m->isnull[m->type->natts - 1] = m->outer && !more;
		}
		MemoryContextSwitchTo(m->econtext->ecxt_per_tuple_memory);
		len = ddir_image_pack(m->type, m->values, m->isnull, NULL, out);
		ddir_deltas_close(out, 0, len, ddir_bundle_time(in, i), in->diff[i], i);
		MemoryContextSwitchTo(m->row_cxt);
	}
	end_row(m);
	MemoryContextSwitchTo(old);
}

/* The rows from run->row on.  First comes the error of the one before. */
static void
run_rows(void *arg)
{
	Run		   *run = arg;
	FlatMap    *m = run->map;

	if (run->message)
	{
		ddir_error_row_push(run->err, run->sqlstate, run->message,
							ddir_bundle_time(run->in, run->row),
							run->in->diff[run->row], run->row);
		run->message = NULL;
		run->row++;
	}
	if (m->econtext == NULL)
		prepare(m);
	for (; run->row < run->in->n; run->row++)
	{
		run->made = run->out->n;
		run_row(m, run->in, run->row, run->out);
	}
}

static bool
call_flatmap(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	FlatMap    *m = ctx;
	Run			run = {.map = m,.in = in,.out = out,.err = err,.made = out->n};
	MemoryContext old;
	DdirActing	before;
	char	   *message;

	if (in->n == 0)
		return true;
	before = ddir_act_as(m->owner);
	old = MemoryContextSwitchTo(m->row_cxt);
	do
	{
		run.sqlstate = ddir_guard(run_rows, &run, true, &message);
		if (run.sqlstate == 0)
			break;
		/* its contexts may hold anything: they are thrown away unseen */
		m->econtext = NULL;
		ddir_deltas_truncate(out, run.made);
		run.message = message;
	} while (ddir_sqlstate_is_row_error(run.sqlstate));
	MemoryContextSwitchTo(old);
	ddir_act_back(&before);
	return run.sqlstate == 0;
}
