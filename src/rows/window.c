/*-------------------------------------------------------------------------
 *
 * window.c
 *	  Window functions, run by the server's executor over whole partitions.
 *
 * What is run is, over a tuplestore of (partition, number, row):
 *
 *	SELECT row, functions FROM
 *	  (SELECT * FROM rows ORDER BY partition, order, number)
 *	  WINDOW (PARTITION BY partition ORDER BY order frame)
 *
 * The numbers are those of the rows in the order of their images, and the
 * planner does not sort again what is sorted already.  It is planned when it
 * is first needed.
 *
 * Memory: a run's is in a context of its own, emptied when it ends, in whatever
 * way.
 *
 * src/rows/window.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/queryenvironment.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "base/port.h"
#include "rows/agg.h"
#include "rows/program.h"
#include "rows/window.h"

#define STORE_NAME "ddir_rows"

/* columns of the store before the row's */
#define PARTITION_COLUMN 1
#define NUMBER_COLUMN 2
#define STORE_COLUMNS 2

typedef struct Window
{
	MemoryContext cxt;
	MemoryContext run_cxt;
	MemoryContext message_cxt;
	DdirWindowPlan plan;
	DdirRowType *out_type;
	TupleDesc	store_desc;
	PlannedStmt *planned;		/* NULL: not yet */
} Window;

/*
 * The query
 */

static Var *
store_var(const Window *w, int varno, AttrNumber a)
{
	Form_pg_attribute attr = TupleDescAttr(w->store_desc, a - 1);

	return makeVar(varno, a, attr->atttypid, attr->atttypmod, attr->attcollation, 0);
}

static List *
column_names(const Window *w)
{
	List	   *names = NIL;

	for (int a = 1; a <= w->store_desc->natts; a++)
		names = lappend(names, makeString(psprintf("c%d", a)));
	return names;
}

static Query *
make_query(RangeTblEntry *rte)
{
	Query	   *query = makeNode(Query);
	RangeTblRef *ref = makeNode(RangeTblRef);

	ref->rtindex = 1;
	query->commandType = CMD_SELECT;
	query->querySource = QSRC_ORIGINAL;
	query->canSetTag = true;
	query->rtable = list_make1(rte);
	query->jointree = makeFromExpr(list_make1(ref), NULL);
	return query;
}

/* Sort by an entry, which is given a number if it has none. */
static SortGroupClause *
sort_by(TargetEntry *tle, Oid sortop, bool nulls_first)
{
	SortGroupClause *clause = makeNode(SortGroupClause);

	tle->ressortgroupref = tle->resno;
	clause->tleSortGroupRef = tle->resno;
	clause->eqop = get_equality_op_for_ordering_op(sortop, NULL);
	ddir_sort_clause_order(clause, sortop);
	clause->nulls_first = nulls_first;
	clause->hashable = false;
	return clause;
}

static List *
sort_by_order(const Window *w, List *targets, int shift)
{
	List	   *clauses = NIL;

	for (int i = 0; i < w->plan.norder; i++)
	{
		const DdirWindowOrder *o = &w->plan.order[i];

		clauses = lappend(clauses, sort_by(list_nth(targets, o->column + shift), o->sortop,
										   o->nulls_first));
	}
	return clauses;
}

/* SELECT * FROM store ORDER BY partition, order, number */
static Query *
sorted_rows(const Window *w)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	Query	   *query;

	rte->rtekind = RTE_NAMEDTUPLESTORE;
	rte->enrname = STORE_NAME;
	rte->enrtuples = 1000;
	rte->eref = makeAlias(STORE_NAME, column_names(w));
	rte->inFromCl = true;
	for (int a = 1; a <= w->store_desc->natts; a++)
	{
		Form_pg_attribute attr = TupleDescAttr(w->store_desc, a - 1);

		rte->coltypes = lappend_oid(rte->coltypes, attr->atttypid);
		rte->coltypmods = lappend_int(rte->coltypmods, attr->atttypmod);
		rte->colcollations = lappend_oid(rte->colcollations, attr->attcollation);
	}
	query = make_query(rte);
	for (int a = 1; a <= w->store_desc->natts; a++)
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) store_var(w, 1, a), a,
													psprintf("c%d", a), false));
	query->sortClause = list_make1(sort_by(list_nth(query->targetList, PARTITION_COLUMN - 1),
										   Int8LessOperator, false));
	query->sortClause = list_concat(query->sortClause,
									sort_by_order(w, query->targetList, STORE_COLUMNS));
	query->sortClause = lappend(query->sortClause,
								sort_by(list_nth(query->targetList, NUMBER_COLUMN - 1),
										Int8LessOperator, false));
	return query;
}

static Node *
shifted(Node *node, void *arg)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varattno += STORE_COLUMNS;
		return (Node *) var;
	}
	return expression_tree_mutator(node, shifted, arg);
}

static Query *
window_query(const Window *w)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	WindowClause *window = copyObject((WindowClause *) w->plan.frame);
	Query	   *query;
	TargetEntry *tle;
	int			natts = w->plan.type->natts;
	ListCell   *lc;

	rte->rtekind = RTE_SUBQUERY;
	rte->subquery = sorted_rows(w);
	rte->eref = makeAlias("sorted", column_names(w));
	rte->inFromCl = true;
	query = make_query(rte);
	for (int a = 1; a <= natts; a++)
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) store_var(w, 1, STORE_COLUMNS + a),
													a, psprintf("c%d", a), false));
	foreach(lc, w->plan.funcs)
	{
		WindowFunc *f = (WindowFunc *) shifted(lfirst(lc), NULL);

		f->winref = 1;
		query->targetList = lappend(query->targetList,
									makeTargetEntry((Expr *) f, list_length(query->targetList) + 1,
													"f", false));
	}
	tle = makeTargetEntry((Expr *) store_var(w, 1, PARTITION_COLUMN),
						  list_length(query->targetList) + 1, NULL, true);
	query->targetList = lappend(query->targetList, tle);

	window->name = window->refname = NULL;
	window->winref = 1;
	window->partitionClause = list_make1(sort_by(tle, Int8LessOperator, false));
	window->orderClause = sort_by_order(w, query->targetList, 0);
	query->windowClause = list_make1(window);
	query->hasWindowFuncs = true;
	return query;
}

/*
 * A run
 */

typedef struct Run
{
	Window	   *w;
	const DdirPartition *part;	/* those to be done */
	uint32		n;
	int64		diff;
	DdirCursor *cursor;
	DdirDeltas *out;
} Run;

/* Makes rows of the result out of slots. */
typedef struct Receiver
{
	DestReceiver pub;
	const Run  *run;
} Receiver;

static bool
receive_slot(TupleTableSlot *slot, DestReceiver *self)
{
	const Run  *run = ((Receiver *) self)->run;
	uint32		len;

	slot_getallattrs(slot);
	len = ddir_image_pack(run->w->out_type, slot->tts_values, slot->tts_isnull, NULL, run->out);
	ddir_deltas_close(run->out, 0, len, NULL, run->diff, 0);
	return true;
}

static void
receive_startup(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
receive_nothing(DestReceiver *self)
{
}

/* The key of a row, for telling apart those whose bytes are equal. */
static void
key_of(const Window *w, const Datum *values, const bool *isnull, Datum *key, bool *keynull)
{
	for (int i = 0; i < w->plan.key->ncols; i++)
	{
		key[i] = values[STORE_COLUMNS + w->plan.keycol[i]];
		keynull[i] = isnull[STORE_COLUMNS + w->plan.keycol[i]];
	}
}

/* Which of the partitions under one key is it of?  Of a new one, if of none. */
static int
class_of(const Window *w, const Datum *values, const bool *isnull, List **classes)
{
	int			n = w->plan.key->ncols;
	Datum	   *key = palloc((sizeof(Datum) + sizeof(bool)) * n);
	bool	   *keynull = (bool *) (key + n);
	ListCell   *lc;

	key_of(w, values, isnull, key, keynull);
	foreach(lc, *classes)
	{
		Datum	   *other = lfirst(lc);

		if (ddir_key_equal(w->plan.key, other, (bool *) (other + n), key, keynull))
			return foreach_current_index(lc);
	}
	*classes = lappend(*classes, key);
	return list_length(*classes) - 1;
}

/* The rows of a partition, into the store. */
static void
store_partition(const Run *run, uint32 i, int64 *partition, int64 *number, Tuplestorestate *store)
{
	const Window *w = run->w;
	const DdirPartition *part = &run->part[i];
	int			natts = w->store_desc->natts;
	Datum	   *values = palloc(sizeof(Datum) * natts);
	bool	   *isnull = palloc0(sizeof(bool) * natts);
	List	   *classes = NIL;
	DdirRef		val;
	int64_t		diff;

	ddir_cursor_seek(run->cursor, part->hash, part->key.p, part->key.len);
	while (ddir_cursor_next(run->cursor, &val, &diff))
	{
		int			class = 0;

		CHECK_FOR_INTERRUPTS();
		if (diff < 0)
			ddir_error(DDIR_ERROR_NEGATIVE, "a row of a partition is there " INT64_FORMAT " times",
					   (int64) diff);
		if (!ddir_image_unpack(w->plan.type, val, NULL, values + STORE_COLUMNS,
							   isnull + STORE_COLUMNS, CurrentMemoryContext))
			ddir_error(DDIR_ERROR_INTERNAL, "malformed row in an arrangement");
		if (!w->plan.key->exact)
			class = class_of(w, values, isnull, &classes);
		values[PARTITION_COLUMN - 1] = Int64GetDatum(*partition + class);
		for (int64 k = 0; k < diff; k++)
		{
			CHECK_FOR_INTERRUPTS();
			values[NUMBER_COLUMN - 1] = Int64GetDatum((*number)++);
			tuplestore_putvalues(store, w->store_desc, values, isnull);
		}
	}
	*partition += Max(list_length(classes), 1);
}

static void
execute(const Run *run, Tuplestorestate *store)
{
	Window	   *w = run->w;
	Receiver	receiver = {
		.pub = {
			.receiveSlot = receive_slot,
			.rStartup = receive_startup,
			.rShutdown = receive_nothing,
			.rDestroy = receive_nothing,
			.mydest = DestNone
		},
		.run = run
	};
	QueryEnvironment *env = create_queryEnv();
	EphemeralNamedRelationData enr = {
		.md = {
			.name = STORE_NAME,
			.reliddesc = InvalidOid,
			.tupdesc = w->store_desc,
			.enrtype = ENR_NAMED_TUPLESTORE,
			.enrtuples = 1000
		},
		.reldata = store
	};
	QueryDesc  *desc;

	register_ENR(env, &enr);
	desc = CreateQueryDesc(w->planned, "ddir window", GetActiveSnapshot(), InvalidSnapshot,
						   &receiver.pub, NULL, env, 0);
	ExecutorStart(desc, 0);
	ddir_compat_executor_run(desc);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
}

static void
run_guarded(void *arg)
{
	Run		   *run = arg;
	Window	   *w = run->w;
	Tuplestorestate *store;
	int64		partition = 0;
	int64		number = 0;
	DdirActing	before = ddir_act_as(w->plan.owner);
	MemoryContext old;

	if (w->planned == NULL)
	{
		PlannedStmt *planned;

		MemoryContextSwitchTo(w->run_cxt);
		planned = pg_plan_query(window_query(w), "ddir window", 0, NULL);
		MemoryContextSwitchTo(w->cxt);
		w->planned = copyObject(planned);
	}
	old = MemoryContextSwitchTo(w->run_cxt);
	MemoryContextReset(w->run_cxt);
	store = tuplestore_begin_heap(false, false, work_mem);
	for (uint32 i = 0; i < run->n; i++)
		store_partition(run, i, &partition, &number, store);
	if (number > 0)
		execute(run, store);
	tuplestore_end(store);
	MemoryContextSwitchTo(old);
	ddir_act_back(&before);
}

/* Rows that were made before the error are taken back. */
static void
truncate_rows(DdirDeltas *d, uint32 n)
{
	d->n = n;
	d->val.len = n == 0 ? 0 : d->val.off[n];
}

/* False: failed, and the reason kept. */
static bool
run_partitions(Run *run, DdirDeltas *err)
{
	Window	   *w = run->w;
	uint32		start = run->out->n;
	char	   *message;
	int			sqlstate = ddir_guard(run_guarded, run, true, &message);
	Run			half = *run;

	MemoryContextReset(w->run_cxt);
	if (sqlstate == 0)
		return true;
	truncate_rows(run->out, start);
	if (!ddir_sqlstate_is_row_error(sqlstate))
		return false;
	if (run->n == 1)
		return ddir_error_row_try_push(err, sqlstate, message, run->diff);
	half.n = run->n / 2;
	if (!run_partitions(&half, err))
		return false;
	half.part += half.n;
	half.n = run->n - half.n;
	return run_partitions(&half, err);
}

static bool
window_run(void *ctx, uint32_t n, const DdirPartition *part, int64_t diff,
		   DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err)
{
	Window	   *w = ctx;
	Run			run = {w, part, n, diff, cursor, out};
	MemoryContext old = MemoryContextSwitchTo(w->message_cxt);
	bool		fine = run_partitions(&run, err);

	MemoryContextReset(w->message_cxt);
	MemoryContextSwitchTo(old);
	return fine;
}

/*
 * Making it
 */

DdirRowType *
ddir_window_type(const DdirWindowPlan *plan)
{
	List	   *exprs = NIL;

	for (int a = 1; a <= plan->type->natts; a++)
	{
		const DdirColumnType *col = &plan->type->col[a - 1];

		exprs = lappend(exprs, makeVar(1, a, col->typid, col->typmod, col->collation, 0));
	}
	return ddir_rowtype_from_exprs(list_concat(exprs, plan->funcs));
}

static TupleDesc
store_tupdesc(const DdirWindowPlan *plan)
{
	TupleDesc	desc = CreateTemplateTupleDesc(STORE_COLUMNS + plan->type->natts);

	TupleDescInitEntry(desc, PARTITION_COLUMN, "partition", INT8OID, -1, 0);
	TupleDescInitEntry(desc, NUMBER_COLUMN, "number", INT8OID, -1, 0);
	for (int a = 1; a <= plan->type->natts; a++)
	{
		const DdirColumnType *col = &plan->type->col[a - 1];

		TupleDescInitEntry(desc, STORE_COLUMNS + a, psprintf("c%d", a), col->typid, col->typmod, 0);
		TupleDescInitEntryCollation(desc, STORE_COLUMNS + a, col->collation);
	}
	return desc;
}

static void *
copied(const void *from, Size size)
{
	return memcpy(palloc(size + 1), from, size);
}

DdirPartitionFns
ddir_window_make(MemoryContext cxt, const DdirWindowPlan *plan)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Window	   *w = palloc0(sizeof(Window));
	DdirPartitionFns fns = {w, window_run};
	ListCell   *lc;

	w->cxt = cxt;
	w->run_cxt = AllocSetContextCreate(cxt, "ddir window run", ALLOCSET_DEFAULT_SIZES);
	w->message_cxt = AllocSetContextCreate(cxt, "ddir window message", ALLOCSET_SMALL_SIZES);
	w->plan = *plan;
	w->plan.type = ddir_rowtype_copy(plan->type);
	w->plan.key = ddir_key_copy(plan->key);
	w->plan.keycol = copied(plan->keycol, sizeof(int) * plan->key->ncols);
	w->plan.order = copied(plan->order, sizeof(DdirWindowOrder) * plan->norder);
	w->plan.frame = copyObject((WindowClause *) plan->frame);
	w->plan.funcs = copyObject(plan->funcs);
	foreach(lc, w->plan.funcs)
	{
		WindowFunc *f = lfirst_node(WindowFunc, lc);
		Oid			exact = ddir_agg_exact(f->winfnoid);

		if (OidIsValid(exact))
			f->winfnoid = exact;
	}
	w->out_type = ddir_window_type(&w->plan);
	w->store_desc = store_tupdesc(&w->plan);
	MemoryContextSwitchTo(old);
	return fns;
}
