/*-------------------------------------------------------------------------
 *
 * place.c
 *	  Window functions that a row's place in the order decides.
 *
 * A state is what its functions need and no more, as replays end where states
 * are the same: numbers of rows and of groups of peers, then accumulators.
 *
 * Memory: what belongs to some peers is in a scratch context.
 *
 * src/rows/place.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/port.h"
#include "rows/accum.h"
#include "rows/place.h"
#include "rows/program.h"

/* Rows that lag and lead may look away from the current one. */
#define SHIFT_MAX 1000

typedef enum PlaceKind
{
	PLACE_ROW_NUMBER,
	PLACE_RANK,
	PLACE_DENSE_RANK,
	PLACE_SHIFT,				/* lag, lead */
	PLACE_RUNNING				/* an aggregate */
} PlaceKind;

typedef struct PlaceFunc
{
	PlaceKind	kind;
	int			column;			/* of the argument, from 0; -1: none */
	/* SHIFT */
	int			shift;			/* rows on; below zero: back */
	int			default_column; /* or -1 */
	Datum		default_value;
	bool		default_null;
	/* RUNNING */
	const DdirAccumFinal *final;
	Size		offset;			/* in the state */
	int			filter;			/* column, or -1 */
} PlaceFunc;

typedef struct Places
{
	MemoryContext scratch;
	MemoryContext message_cxt;
	const DdirRowType *type;
	DdirRowType *out_type;
	DdirOrderTypes *order;
	bool		by_row;			/* frames end at the current row, not its
								 * peers */
	int			nfuncs;
	PlaceFunc  *func;
	Size		rows_at;		/* in the state: the number of rows */
	Size		groups_at;		/* and of groups; -1: not needed */
	Size		state_size;
	Datum	   *values;			/* of the row, and results */
	bool	   *isnull;
	Datum	   *other;			/* of another row */
	bool	   *other_null;
} Places;

#define NOT_NEEDED ((Size) -1)

/*
 * Which functions
 */

static bool
is_flat(DdirAccumKind kind)
{
	switch (kind)
	{
		case DDIR_ACCUM_ROWS:
		case DDIR_ACCUM_COUNT:
		case DDIR_ACCUM_INT2:
		case DDIR_ACCUM_INT4:
		case DDIR_ACCUM_INT8:
		case DDIR_ACCUM_INT2_SQUARES:
		case DDIR_ACCUM_INT4_SQUARES:
		case DDIR_ACCUM_INT8_SQUARES:
		case DDIR_ACCUM_BOOL:
		case DDIR_ACCUM_BITS2:
		case DDIR_ACCUM_BITS4:
		case DDIR_ACCUM_BITS8:
			return true;
		default:
			return false;
	}
}

static bool
is_running(const WindowClause *frame)
{
	return (frame->frameOptions & FRAMEOPTION_START_UNBOUNDED_PRECEDING) &&
		(frame->frameOptions & FRAMEOPTION_END_CURRENT_ROW) &&
		!(frame->frameOptions & FRAMEOPTION_EXCLUSION);
}

/* How far lag or lead looks, and whether that is known. */
static bool
shift_of(const WindowFunc *f, int *shift)
{
	Const	   *k = list_length(f->args) > 1 ? lsecond(f->args) : NULL;

	*shift = 1;
	if (k)
	{
		if (!IsA(k, Const) || k->constisnull)
			return false;
		*shift = DatumGetInt32(k->constvalue);
		if (*shift < -SHIFT_MAX || *shift > SHIFT_MAX)
			return false;
	}
	switch (f->winfnoid)
	{
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			*shift = -*shift;
			return true;
		case F_LEAD_ANYELEMENT:
		case F_LEAD_ANYELEMENT_INT4:
		case F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			return true;
		default:
			return false;
	}
}

static bool
place_kind(const WindowClause *frame, const WindowFunc *f, PlaceKind *kind)
{
	const DdirAccumFinal *final;
	int			shift;

	switch (f->winfnoid)
	{
		case F_ROW_NUMBER:
			*kind = PLACE_ROW_NUMBER;
			return true;
		case F_RANK_:
			*kind = PLACE_RANK;
			return true;
		case F_DENSE_RANK_:
			*kind = PLACE_DENSE_RANK;
			return true;
		default:
			break;
	}
	if (!f->winagg)
	{
		*kind = PLACE_SHIFT;
		return shift_of(f, &shift) && IsA(linitial(f->args), Var);
	}
	*kind = PLACE_RUNNING;
	final = ddir_accum_final(f->winfnoid);
	return final && is_flat(final->kind) && is_running(frame) &&
		(f->args == NIL || IsA(linitial(f->args), Var)) && list_length(f->args) <= 1;
}

bool
ddir_places_suffice(const WindowClause *frame, List *funcs)
{
	PlaceKind	kind;
	ListCell   *lc;

	foreach(lc, funcs)
	{
		if (!place_kind(frame, lfirst_node(WindowFunc, lc), &kind))
			return false;
	}
	return true;
}

/*
 * Running
 */

/* The image of a val. */
static DdirRef
image_of(const Places *p, DdirRef val)
{
	uint32		order = ddir_order_prefix(p->order, val);

	if (order > val.len)
		ddir_error(DDIR_ERROR_INTERNAL, "malformed order in an arrangement");
	val.p += order;
	val.len -= order;
	return val;
}

static void
unpack(const Places *p, DdirRef val, Datum *values, bool *isnull)
{
	if (!ddir_image_unpack(p->type, image_of(p, val), NULL, values, isnull, p->scratch))
		ddir_error(DDIR_ERROR_INTERNAL, "malformed row in an arrangement");
}

static int64
number_at(const uint8 *state, Size at)
{
	int64		n;

	memcpy(&n, state + at, sizeof(n));
	return n;
}

static void
add_at(uint8 *state, Size at, int64 n)
{
	if (at == NOT_NEEDED)
		return;
	n += number_at(state, at);
	memcpy(state + at, &n, sizeof(n));
}

/* The row in p->values, into the state's accumulators. */
static void
fold_row(Places *p, uint8 *state)
{
	DdirGroup	group = {.state = state};
	DdirGroup  *groups = &group;
	int64		diff = 1;

	for (int i = 0; i < p->nfuncs; i++)
	{
		PlaceFunc  *f = &p->func[i];
		bool		filtered;
		bool		isnull;
		DdirAccumInput in = {
			.n = 1,
			.group = &groups,
			.diff = &diff,
			.stride = 1,
			.offset = f->offset,
			.cxt = p->scratch
		};

		if (f->kind != PLACE_RUNNING)
			continue;
		filtered = f->filter >= 0 && (p->isnull[f->filter] || !DatumGetBool(p->values[f->filter]));
		if (filtered)
			continue;
		if (f->column >= 0)
		{
			isnull = p->isnull[f->column];
			in.value = &p->values[f->column];
			in.isnull = &isnull;
		}
		ddir_accum_fold(f->final->kind, &in);
	}
}

/* lag, lead: of the i-th peer, whose values are at hand */
static void
shift_value(Places *p, const PlaceFunc *f, const DdirPeers *peers, int64 i,
			Datum *value, bool *isnull)
{
	int64		at = i + f->shift;

	if (at >= -(int64) peers->before && at < (int64) peers->n + peers->behind)
	{
		unpack(p, peers->row[at], p->other, p->other_null);
		*value = p->other[f->column];
		*isnull = p->other_null[f->column];
	}
	else if (f->default_column >= 0)
	{
		*value = p->values[f->default_column];
		*isnull = p->isnull[f->default_column];
	}
	else
	{
		*value = f->default_value;
		*isnull = f->default_null;
	}
}

typedef struct Run
{
	Places	   *places;
	const DdirPeers *peers;
	const uint8 *state;
	uint8	   *next;
	int64		diff;
	DdirDeltas *out;
} Run;

static void
run_row(const Run *run, int64 i)
{
	Places	   *p = run->places;
	int			natts = p->type->natts;
	uint32		len;

	for (int k = 0; k < p->nfuncs; k++)
	{
		const PlaceFunc *f = &p->func[k];
		Datum	   *value = &p->values[natts + k];
		bool	   *isnull = &p->isnull[natts + k];

		*isnull = false;
		switch (f->kind)
		{
			case PLACE_ROW_NUMBER:
				*value = Int64GetDatum(number_at(run->state, p->rows_at) + i + 1);
				break;
			case PLACE_RANK:
				*value = Int64GetDatum(number_at(run->state, p->rows_at) + 1);
				break;
			case PLACE_DENSE_RANK:
				*value = Int64GetDatum(number_at(run->state, p->groups_at) + 1);
				break;
			case PLACE_SHIFT:
				shift_value(p, f, run->peers, i, value, isnull);
				break;
			case PLACE_RUNNING:
				*isnull = !ddir_accum_result(f->final, run->next + f->offset, value);
				break;
		}
	}
	len = ddir_image_pack(p->out_type, p->values, p->isnull, NULL, run->out);
	ddir_deltas_close(run->out, 0, len, NULL, run->diff, 0);
}

static void
run_guarded(void *arg)
{
	const Run  *run = arg;
	Places	   *p = run->places;

	MemoryContextSwitchTo(p->scratch);
	memcpy(run->next, run->state, p->state_size);
	if (!p->by_row)
	{
		for (uint32 i = 0; i < run->peers->n; i++)
		{
			MemoryContextReset(p->scratch);
			unpack(p, run->peers->row[i], p->values, p->isnull);
			fold_row(p, run->next);
		}
	}
	for (uint32 i = 0; i < run->peers->n; i++)
	{
		MemoryContextReset(p->scratch);
		CHECK_FOR_INTERRUPTS();
		unpack(p, run->peers->row[i], p->values, p->isnull);
		if (p->by_row)
			fold_row(p, run->next);
		run_row(run, i);
	}
	add_at(run->next, p->rows_at, run->peers->n);
	add_at(run->next, p->groups_at, 1);
}

static uint32_t
places_order(void *ctx, DdirRef val)
{
	return ddir_order_prefix(((Places *) ctx)->order, val);
}

static void
raise_message(void *arg)
{
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("a window's running aggregate cannot be computed"),
			 errdetail_internal("%s", (char *) arg)));
}

static bool
places_run(void *ctx, const DdirPeers *peers, const uint8_t *state, uint8_t *next,
		   int64_t diff, DdirDeltas *out)
{
	Places	   *p = ctx;
	Run			run = {p, peers, state, next, diff, out};
	MemoryContext old = MemoryContextSwitchTo(p->message_cxt);
	char	   *message;
	int			sqlstate = ddir_guard(run_guarded, &run, false, &message);

	MemoryContextSwitchTo(p->message_cxt);
	if (sqlstate != 0 && ddir_sqlstate_is_row_error(sqlstate))
	{
		char	   *ignored;

		(void) ddir_guard(raise_message, message, false, &ignored);
	}
	MemoryContextReset(p->message_cxt);
	MemoryContextSwitchTo(old);
	return sqlstate == 0;
}

/*
 * Making it
 */

static int
column_of(Node *expr)
{
	return castNode(Var, expr)->varattno - 1;
}

static void
make_shift(PlaceFunc *place, const WindowFunc *f)
{
	Node	   *value = list_length(f->args) > 2 ? lthird(f->args) : NULL;

	(void) shift_of(f, &place->shift);
	place->default_column = -1;
	place->default_null = true;
	if (value && IsA(value, Var))
		place->default_column = column_of(value);
	else if (value && !((Const *) value)->constisnull)
	{
		Const	   *c = castNode(Const, value);

		place->default_null = false;
		place->default_value = datumCopy(c->constvalue, c->constbyval, c->constlen);
	}
}

static void
make_funcs(Places *p, const DdirWindowPlan *plan)
{
	ListCell   *lc;

	p->nfuncs = list_length(plan->funcs);
	p->func = palloc0(sizeof(PlaceFunc) * (p->nfuncs + 1));
	p->rows_at = p->groups_at = NOT_NEEDED;
	foreach(lc, plan->funcs)
	{
		const WindowFunc *f = lfirst_node(WindowFunc, lc);
		PlaceFunc  *place = &p->func[foreach_current_index(lc)];

		if (!place_kind(plan->frame, f, &place->kind))
			elog(ERROR, "function %u is not one of places", f->winfnoid);
		place->column = f->args && IsA(linitial(f->args), Var) ? column_of(linitial(f->args)) : -1;
		place->filter = f->aggfilter ? column_of((Node *) f->aggfilter) : -1;
		switch (place->kind)
		{
			case PLACE_ROW_NUMBER:
			case PLACE_RANK:
				if (p->rows_at != NOT_NEEDED)
					break;
				p->rows_at = p->state_size;
				p->state_size += sizeof(int64);
				break;
			case PLACE_DENSE_RANK:
				if (p->groups_at != NOT_NEEDED)
					break;
				p->groups_at = p->state_size;
				p->state_size += sizeof(int64);
				break;
			case PLACE_SHIFT:
				make_shift(place, f);
				break;
			case PLACE_RUNNING:
				/* accumulators with 128-bit sums */
				p->state_size = TYPEALIGN(16, p->state_size);
				place->final = ddir_accum_final(f->winfnoid);
				place->offset = p->state_size;
				p->state_size += ddir_accum_size(place->final->kind);
				break;
		}
	}
}

DdirOrderedFns
ddir_places_make(MemoryContext cxt, const DdirWindowPlan *plan, DdirOrderTypes *order)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Places	   *p = palloc0(sizeof(Places));
	DdirOrderedFns fns = {.ctx = p,.order = NULL,.run = places_run};
	int			n;

	p->scratch = AllocSetContextCreate(cxt, "ddir places", ALLOCSET_DEFAULT_SIZES);
	p->message_cxt = AllocSetContextCreate(cxt, "ddir places message", ALLOCSET_SMALL_SIZES);
	p->type = ddir_rowtype_copy(plan->type);
	p->out_type = ddir_window_type(plan);
	p->order = order;
	p->by_row = (plan->frame->frameOptions & FRAMEOPTION_ROWS) != 0;
	make_funcs(p, plan);
	n = p->type->natts + p->nfuncs + 1;
	p->values = palloc0(sizeof(Datum) * n);
	p->isnull = palloc0(sizeof(bool) * n);
	p->other = palloc0(sizeof(Datum) * n);
	p->other_null = palloc0(sizeof(bool) * n);
	for (int i = 0; i < p->nfuncs; i++)
	{
		const PlaceFunc *f = &p->func[i];

		if (f->kind != PLACE_SHIFT)
			continue;
		fns.back = Max(fns.back, (uint32) Max(-f->shift, 0));
		fns.ahead = Max(fns.ahead, (uint32) Max(f->shift, 0));
	}
	fns.state_size = p->state_size;
	fns.order = places_order;
	MemoryContextSwitchTo(old);
	return fns;
}
