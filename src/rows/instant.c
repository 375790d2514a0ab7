/*-------------------------------------------------------------------------
 *
 * instant.c
 *	  Conditions and columns that the clock changes, and at which instants.
 *
 * What is shown of a row is a program's over two relations, the row and the
 * clock.  When that may change next is found dial by dial.  An exact one is
 * an instant that the row says.  Any other is looked for: its value in some
 * years' time is compared with what it is now, and if they differ the first
 * instant with another one is found by halving.
 *
 * Halving needs that a value, once left, does not come back.  That is so of the
 * clock plus or minus a fixed time.  It is not of times in days and months:
 *
 *		Jan 29, 23:00 + 1 month = Feb 28, 23:00
 *		Jan 30, 01:00 + 1 month = Feb 28, 01:00
 *
 * nor where clocks are put back.  But it holds for instants far enough apart
 * ("slack"), so multiples of the slack can be halved, and it holds within a cell
 * of time in which no day begins and no zone's offset changes; so what is left
 * after the first search are two slacks of cells, which are gone through.
 *
 * The years' time ends at fixed instants, so that what is found does not depend
 * on when it was asked for; a row of which nothing changes until then is looked
 * at again there, and most have a last change behind which they are not kept.
 *
 * An error is a value like others: what raises one now may not later.
 *
 * src/rows/instant.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "rows/instant.h"
#include "rows/program.h"

/* Where what is looked for ahead ends: at multiples of this, 4.5 years. */
#define AHEAD_USECS (INT64CONST(1) << 47)

typedef struct Dial
{
	DdirDial	spec;
	ExprState  *state;
	int16		typlen;
	bool		typbyval;
	bool		rowless;		/* the same for all rows; if so: */
	int64		asked;			/* for the instant behind this one, */
	int64		answer;			/* which is this */
} Dial;

typedef struct Instants
{
	Oid			owner;
	bool		total;			/* no dial can raise an error */
	DdirFunc	program;
	const DdirRowType *clock_type;
	DdirDeltas	clock_row;		/* of one row */
	DdirRef    *clock_refs;		/* to it, DDIR_CHUNK_ROWS of them */
	DdirFetch  *fetch;			/* NULL: dials use no column */
	TupleTableSlot *scan;		/* columns used, then the clock */
	ExprContext *econtext;
	MemoryContext row_cxt;
	MemoryContext value_cxt;
	int			ndials;
	Dial	   *dial;
} Instants;

/* What a dial has at some clock. */
typedef struct Value
{
	bool		failed;
	bool		isnull;
	Datum		value;
} Value;

/* Rows on their way. */
typedef struct Run
{
	Instants   *p;
	uint32		n;
	const DdirRef *row;
	int64		clock;
	int64	   *instant;
	uint32		i;				/* the one at work, */
	int			k;				/* and its dial */
	bool		unpacked;		/* the row is in the slot */
	bool		careful;		/* each value by itself */
	Dial	   *dial;			/* whose value is asked for, */
	int64		at;				/* at this clock */
	Value	   *value;
	int			failure;		/* SQLSTATE of what is no row's error */
} Run;

/* ----
 * The clock in expressions
 * ----
 */

bool
ddir_is_clock(const Node *node)
{
	Oid			f;

	if (node == NULL || !IsA(node, FuncExpr))
		return false;
	f = ((const FuncExpr *) node)->funcid;
	return f == F_NOW || f == F_TRANSACTION_TIMESTAMP || f == F_STATEMENT_TIMESTAMP;
}

static bool
reads_clock_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return ddir_is_clock(node) || expression_tree_walker(node, reads_clock_walker, context);
}

bool
ddir_expr_reads_clock(Node *expr)
{
	return reads_clock_walker(expr, NULL);
}

static Node *
as_var_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (ddir_is_clock(node))
		return (Node *) makeVar(2, 1, TIMESTAMPTZOID, -1, InvalidOid, 0);
	return expression_tree_mutator(node, as_var_mutator, context);
}

Node *
ddir_clock_as_var(Node *expr)
{
	return as_var_mutator(expr, NULL);
}

static bool
no_constant_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, Param) || IsA(node, SubLink) || IsA(node, Aggref) ||
		IsA(node, WindowFunc) || IsA(node, CaseTestExpr) || IsA(node, CoerceToDomainValue))
		return true;
	return expression_tree_walker(node, no_constant_walker, context);
}

static void
compute_once(void *arg)
{
	Node	   *expr = copyObject(arg);
	ExprContext *econtext = CreateStandaloneExprContext();
	bool		isnull;

	fix_opfuncids(expr);
	(void) ExecEvalExprSwitchContext(ExecInitExpr((Expr *) expr, NULL), econtext, &isnull);
	FreeExprContext(econtext, true);
}

bool
ddir_expr_is_clock_total(Node *expr)
{
	char	   *message;

	if (!ddir_expr_reads_clock(expr) || no_constant_walker(expr, NULL) ||
		contain_volatile_functions(expr) || expression_returns_set(expr))
		return false;
	return ddir_guard(compute_once, expr, false, &message) == 0;
}

/* ----
 * Making
 * ----
 */

/* What is gathered while dials are walked through. */
typedef struct Making
{
	const DdirInstantSpec *spec;
	int		   *place;			/* per column of the row: in the scan, or -1 */
	List	   *columns;		/* of DdirColumnType *, in the order of the
								 * scan */
} Making;

static Node *
scan_mutator(Node *node, void *context)
{
	Making	   *m = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		if (var->varno == 2)
			var->varattno = 1;
		else
		{
			int			a = var->varattno - 1;

			if (m->place[a] < 0)
			{
				m->columns = lappend(m->columns, unconstify(DdirColumnType *,
															&m->spec->rel->col[a]));
				m->place[a] = list_length(m->columns);
			}
			var->varattno = m->place[a] + 1;
		}
		var->varno = 1;
		return (Node *) var;
	}
	return expression_tree_mutator(node, scan_mutator, context);
}

/* The clock comes first in the slot; then the columns. */
static TupleTableSlot *
make_scan(const Making *m, const DdirRowType *clock_type)
{
	int			n = list_length(m->columns) + 1;
	DdirRowType *type = palloc0(offsetof(DdirRowType, col) + n * sizeof(DdirColumnType));
	ListCell   *lc;

	type->natts = n;
	type->col[0] = clock_type->col[0];
	foreach(lc, m->columns)
		type->col[foreach_current_index(lc) + 1] = *(DdirColumnType *) lfirst(lc);
	return ExecStoreAllNullTuple(MakeSingleTupleTableSlot(ddir_rowtype_tupdesc(type),
														  &TTSOpsVirtual));
}

static bool
mentions_row(Node *expr)
{
	return bms_is_member(1, pull_varnos(NULL, expr));
}

static void
make_dials(Instants *p, const DdirInstantSpec *spec)
{
	Making		m = {.spec = spec};
	List	   *exprs = NIL;
	ListCell   *lc;

	m.place = palloc(sizeof(int) * (spec->rel->natts + 1));
	for (int a = 0; a < spec->rel->natts; a++)
		m.place[a] = -1;
	p->ndials = list_length(spec->dials);
	p->dial = palloc0(sizeof(Dial) * (p->ndials + 1));
	p->total = true;
	foreach(lc, spec->dials)
	{
		Dial	   *d = &p->dial[foreach_current_index(lc)];
		Node	   *expr;

		d->spec = *(DdirDial *) lfirst(lc);
		d->rowless = !mentions_row((Node *) d->spec.expr);
		d->asked = PG_INT64_MAX;
		get_typlenbyval(exprType((Node *) d->spec.expr), &d->typlen, &d->typbyval);
		p->total = p->total && ddir_expr_is_total((Node *) d->spec.expr);
		expr = copyObject(scan_mutator((Node *) d->spec.expr, &m));
		fix_opfuncids(expr);
		exprs = lappend(exprs, expr);
	}
	if (m.columns != NIL)
		p->fetch = ddir_fetch_make(ddir_rowtype_copy(spec->rel), m.place);
	p->scan = make_scan(&m, p->clock_type);
	p->econtext = CreateStandaloneExprContext();
	p->econtext->ecxt_scantuple = p->scan;
	foreach(lc, exprs)
		p->dial[foreach_current_index(lc)].state = ExecInitExpr(lfirst(lc), NULL);
}

static bool run_rows(void *ctx, const DdirBundle *in, int64_t clock, DdirDeltas *out,
					 DdirDeltas *err);
static bool next_instants(void *ctx, uint32_t n, const DdirRef *row, int64_t clock,
						  int64_t *instant);

DdirScheduleFns
ddir_instants_make(MemoryContext cxt, const DdirInstantSpec *spec)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Instants   *p = palloc0(sizeof(Instants));
	const Oid	clock_type[] = {TIMESTAMPTZOID};
	const Oid	no_collation[] = {InvalidOid};
	const DdirRowType *rel[2];
	DdirProgramSpec program = {0};
	DdirActing	before;
	DdirScheduleFns fns = {.ctx = p,.run = run_rows,.next = next_instants};

	p->owner = spec->owner;
	p->clock_type = ddir_rowtype_make(1, clock_type, NULL, no_collation);
	ddir_deltas_init(&p->clock_row, (DdirArena *) cxt, 1, false);
	p->clock_refs = palloc(sizeof(DdirRef) * DDIR_CHUNK_ROWS);
	p->row_cxt = AllocSetContextCreate(cxt, "ddir instants: row", ALLOCSET_SMALL_SIZES);
	p->value_cxt = AllocSetContextCreate(cxt, "ddir instants: value", ALLOCSET_SMALL_SIZES);

	rel[0] = spec->rel;
	rel[1] = p->clock_type;
	program.label = spec->label;
	program.owner = spec->owner;
	program.nrel = 2;
	program.rel = rel;
	program.quals = spec->quals;
	program.targets = spec->targets;
	p->program = ddir_program_make(cxt, &program);

	before = ddir_act_as(spec->owner);
	make_dials(p, spec);
	ddir_act_back(&before);
	MemoryContextSwitchTo(old);
	return fns;
}

/* ----
 * What is shown
 * ----
 */

static bool
run_rows(void *ctx, const DdirBundle *in, int64_t clock, DdirDeltas *out, DdirDeltas *err)
{
	Instants   *p = ctx;
	Datum		value = TimestampTzGetDatum(clock);
	const bool	isnull = false;
	const DdirRef *refs[2];
	DdirBundle	both = *in;
	DdirRef		row;

	ddir_deltas_clear(&p->clock_row);
	ddir_deltas_close(&p->clock_row, 0,
					  ddir_image_pack(p->clock_type, &value, &isnull, NULL, &p->clock_row),
					  NULL, 1, 0);
	row = ddir_lane_ref(&p->clock_row.val, 0);
	for (uint32 i = 0; i < in->n; i++)
		p->clock_refs[i] = row;
	refs[0] = in->ref[0];
	refs[1] = p->clock_refs;
	both.ref = refs;
	both.nrel = 2;
	return p->program.call(p->program.ctx, &both, out, err);
}

/* ----
 * Values
 * ----
 */

static void
evaluate(void *arg)
{
	Run		   *run = arg;
	Instants   *p = run->p;
	MemoryContext old;

	p->scan->tts_values[0] = TimestampTzGetDatum(run->at);
	p->scan->tts_isnull[0] = false;
	MemoryContextReset(p->econtext->ecxt_per_tuple_memory);
	run->value->value = ExecEvalExprSwitchContext(run->dial->state, p->econtext,
												  &run->value->isnull);
	if (run->value->isnull)
		run->value->value = (Datum) 0;
	else if (!run->dial->typbyval)
	{
		old = MemoryContextSwitchTo(p->value_cxt);
		run->value->value = datumCopy(run->value->value, false, run->dial->typlen);
		MemoryContextSwitchTo(old);
	}
}

static Value
value_at(Run *run, int64 clock)
{
	Value		value = {false, false, (Datum) 0};
	char	   *message;
	int			sqlstate;

	run->at = clock;
	run->value = &value;
	if (!run->careful)
	{
		evaluate(run);
		return value;
	}
	sqlstate = ddir_guard(evaluate, run, !run->p->total, &message);
	if (sqlstate != 0)
		value.failed = true;
	if (sqlstate != 0 && !ddir_sqlstate_is_row_error(sqlstate))
		run->failure = sqlstate;
	return value;
}

static bool
same(const Dial *d, const Value *a, const Value *b)
{
	if (a->failed || b->failed)
		return a->failed == b->failed;
	if (a->isnull || b->isnull)
		return a->isnull == b->isnull;
	return datumIsEqual(a->value, b->value, d->typbyval, d->typlen);
}

static bool
same_at(Run *run, int64 clock, const Value *as)
{
	Value		value = value_at(run, clock);

	return same(run->dial, &value, as);
}

/* ----
 * Instants
 * ----
 */

static int64
multiple_below(int64 clock, int64 of)
{
	int64		rest = clock % of;

	return clock - (rest < 0 ? rest + of : rest);
}

/* The first instant beyond lo, up to hi, that differs; hi does. */
static int64
halve(Run *run, int64 lo, int64 hi, int64 unit, const Value *as)
{
	while (hi - lo > unit)
	{
		int64		mid = lo + (hi - lo) / unit / 2 * unit;

		if (same_at(run, mid, as))
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

/* Where the cell ends that an instant is in: the next one begins there. */
static int64
cell_end(const DdirDial *d, int64 clock)
{
	int64		end = PG_INT64_MAX;

	for (int i = 0; i < d->nshifts; i++)
		end = Min(end, multiple_below(clock + d->shifts[i], DDIR_CELL_USECS) +
				  DDIR_CELL_USECS - d->shifts[i]);
	return end;
}

/* Cell by cell: the first instant beyond "from", up to "to", that differs; or 0. */
static int64
walk(Run *run, int64 from, int64 to, const Value *as)
{
	while (from < to)
	{
		int64		end = cell_end(&run->dial->spec, from);

		if (end - 1 > from && !same_at(run, Min(end - 1, to), as))
			return halve(run, from, Min(end - 1, to), 1, as);
		if (end <= to && !same_at(run, end, as))
			return end;
		from = end;
	}
	return 0;
}

/* It is what it will be in the end, and was so for long enough to stay so. */
static bool
settled(Run *run, const Value *now)
{
	const DdirDial *d = &run->dial->spec;
	Value		value;

	if (!d->truth || now->failed)
		return false;
	if (now->isnull)
		return true;			/* it is of the row */
	if (DatumGetBool(now->value) != d->final)
		return false;
	if (d->slack == 0)
		return true;
	value = value_at(run, run->clock - d->slack);
	return same(run->dial, &value, now);
}

static int64
look_for_change(Run *run)
{
	const DdirDial *d = &run->dial->spec;
	int64		clock = run->clock;
	int64		ahead = multiple_below(clock, AHEAD_USECS) + AHEAD_USECS;
	Value		now = value_at(run, clock);
	int64		found;
	int64		last;

	if (settled(run, &now))
		return DDIR_NEVER;
	if (d->slack == 0)
		return same_at(run, ahead, &now) ? ahead : halve(run, clock, ahead, 1, &now);

	/* nearby it may go back */
	if (!d->truth || now.failed || DatumGetBool(now.value) == d->final)
	{
		found = walk(run, clock, clock + d->slack, &now);
		if (found != 0)
			return found;
		if (d->truth && !now.failed)
			return DDIR_NEVER;
	}
	last = multiple_below(ahead, d->slack);
	found = multiple_below(clock, d->slack);
	if (last <= clock || same_at(run, last, &now))
		return ahead;
	found = halve(run, found, last, d->slack, &now);
	found = walk(run, Max(clock, found - 2 * d->slack), found, &now);
	return found != 0 ? found : ahead;
}

/* What the row says; infinite times are never passed. */
static int64
told_by_row(Run *run)
{
	const DdirDial *d = &run->dial->spec;
	Value		value = value_at(run, run->clock);
	int64		instant;

	if (value.failed || value.isnull ||
		TIMESTAMP_NOT_FINITE(DatumGetTimestampTz(value.value)) ||
		pg_sub_s64_overflow(DatumGetTimestampTz(value.value), d->shift, &instant) ||
		instant >= DDIR_NEVER - 1)
		return DDIR_NEVER;
	if (d->at && instant > run->clock)
		return instant;
	if (d->behind && instant >= run->clock)
		return instant + 1;
	return DDIR_NEVER;
}

/* The instant of the dial at work, for the row at work. */
static void
next_of_dial(Run *run)
{
	Dial	   *d = &run->p->dial[run->k];
	int64		instant;

	run->dial = d;
	if (d->rowless && d->asked == run->clock)
		instant = d->answer;
	else
	{
		MemoryContextReset(run->p->value_cxt);
		instant = d->spec.exact ? told_by_row(run) : look_for_change(run);
		d->asked = run->clock;
		d->answer = instant;
	}
	run->instant[run->i] = Min(run->instant[run->i], instant);
}

static void
unpack(Run *run)
{
	Instants   *p = run->p;

	run->instant[run->i] = DDIR_NEVER;
	MemoryContextReset(p->row_cxt);
	if (p->fetch && !ddir_fetch(p->fetch, run->row[run->i], p->scan->tts_values,
								p->scan->tts_isnull, p->row_cxt))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("malformed row in a dataflow")));
	run->unpacked = true;
}

static void
find_instants(void *arg)
{
	Run		   *run = arg;

	for (; run->i < run->n; run->i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!run->unpacked)
			unpack(run);
		for (; run->k < run->p->ndials; run->k++)
			next_of_dial(run);
		run->k = 0;
		run->unpacked = false;
	}
}

static bool
next_instants(void *ctx, uint32_t n, const DdirRef *row, int64_t clock, int64_t *instant)
{
	Instants   *p = ctx;
	Run			run = {.p = p,.n = n,.row = row,.clock = clock,.instant = instant};
	MemoryContext old = MemoryContextSwitchTo(p->row_cxt);
	DdirActing	before = ddir_act_as(p->owner);
	char	   *message;
	int			sqlstate;

	while ((sqlstate = ddir_guard(find_instants, &run, !p->total, &message)) != 0 &&
		   ddir_sqlstate_is_row_error(sqlstate) && run.unpacked)
	{
		/* the dial that raised an error again, each value by itself */
		run.careful = true;
		next_of_dial(&run);
		run.careful = false;
		run.k++;
		if (run.failure != 0)
		{
			sqlstate = run.failure;
			break;
		}
	}
	MemoryContextSwitchTo(old);
	ddir_act_back(&before);
	return sqlstate == 0;
}
