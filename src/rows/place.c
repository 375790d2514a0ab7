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

/* Rows of a moving frame, which is looked at as a whole for each row. */
#define MOVING_MAX 64

typedef enum PlaceKind
{
	PLACE_ROW_NUMBER,
	PLACE_RANK,
	PLACE_DENSE_RANK,
	PLACE_SHIFT,				/* lag, lead */
	PLACE_RUNNING,				/* an aggregate of all rows so far */
	PLACE_MOVING,				/* one of some rows around */
	PLACE_FIRST,				/* first_value, last_value of them */
	PLACE_LAST
} PlaceKind;

typedef struct PlaceFunc
{
	PlaceKind	kind;
	int			column;			/* of the argument, from 0; -1: none */
	DdirFetch  *fetch;			/* of it and the filter from other rows */
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
	int			lo;				/* rows of a moving frame, from the current
								 * one */
	int			hi;
	bool		not_this;		/* without that one */
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

/* A numeric(p, s): no sum of some of them overflows, as one of any could. */
static bool
is_bounded(const Node *arg)
{
	return exprTypmod(arg) >= 0;
}

static bool
is_running(const WindowClause *frame)
{
	return (frame->frameOptions & FRAMEOPTION_START_UNBOUNDED_PRECEDING) &&
		(frame->frameOptions & FRAMEOPTION_END_CURRENT_ROW) &&
		!(frame->frameOptions & FRAMEOPTION_EXCLUSION);
}

/* A bound of a frame of rows, from the current row. */
static bool
moving_bound(int options, int shift, const Node *offset, int *rows)
{
	const Const *k = (const Const *) offset;

	*rows = 0;
	if (options & (FRAMEOPTION_START_CURRENT_ROW << shift))
		return true;
	if (!(options & ((FRAMEOPTION_START_OFFSET_PRECEDING | FRAMEOPTION_START_OFFSET_FOLLOWING) << shift)) ||
		k == NULL || k->constisnull || DatumGetInt64(k->constvalue) < 0 ||
		DatumGetInt64(k->constvalue) > MOVING_MAX)
		return false;
	*rows = (int) DatumGetInt64(k->constvalue);
	if (options & (FRAMEOPTION_START_OFFSET_PRECEDING << shift))
		*rows = -*rows;
	return true;
}

/* Is it one of so many rows around the current one? */
static bool
is_moving(const WindowClause *frame, int *lo, int *hi)
{
	return (frame->frameOptions & FRAMEOPTION_ROWS) &&
		!(frame->frameOptions & (FRAMEOPTION_EXCLUDE_GROUP | FRAMEOPTION_EXCLUDE_TIES)) &&
		moving_bound(frame->frameOptions, 0, frame->startOffset, lo) &&
		moving_bound(frame->frameOptions, 1, frame->endOffset, hi) &&
		*hi - *lo <= MOVING_MAX;
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
	int			lo;
	int			hi;

	switch (f->winfnoid)
	{
		case F_FIRST_VALUE:
			*kind = PLACE_FIRST;
			return is_moving(frame, &lo, &hi) && IsA(linitial(f->args), Var);
		case F_LAST_VALUE:
			*kind = PLACE_LAST;
			return is_moving(frame, &lo, &hi) && IsA(linitial(f->args), Var);
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
	final = ddir_accum_final(f->winfnoid);
	if (final == NULL || list_length(f->args) > 1 ||
		(f->args && !IsA(linitial(f->args), Var)))
		return false;
	*kind = is_moving(frame, &lo, &hi) ? PLACE_MOVING : PLACE_RUNNING;
	/* none of these can raise an error, for which there would be no place */
	if (*kind == PLACE_MOVING)
		return is_flat(final->kind) ||
			(final->kind == DDIR_ACCUM_NUMERIC && is_bounded(linitial(f->args)));
	return is_flat(final->kind) && is_running(frame);
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

/* What a function needs of another row, into p->other. */
static void
fetch(const Places *p, const PlaceFunc *f, DdirRef val)
{
	if (f->fetch && !ddir_fetch(f->fetch, image_of(p, val), p->other, p->other_null, p->scratch))
		ddir_error(DDIR_ERROR_INTERNAL, "malformed row in an arrangement");
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

/* A row's values, into an accumulator of a state. */
static void
fold(Places *p, const PlaceFunc *f, const Datum *values, const bool *isnull, void *state)
{
	DdirGroup	group = {.state = state};
	DdirGroup  *groups = &group;
	int64		diff = 1;
	DdirAccumInput in = {
		.n = 1,
		.group = &groups,
		.diff = &diff,
		.stride = 1,
		.offset = f->offset,
		.cxt = p->scratch
	};

	if (f->filter >= 0 && (isnull[f->filter] || !DatumGetBool(values[f->filter])))
		return;
	if (f->column >= 0)
	{
		in.value = &values[f->column];
		in.isnull = &isnull[f->column];
	}
	ddir_accum_fold(f->final->kind, &in);
}

/* The row in p->values, into the state's accumulators. */
static void
fold_row(Places *p, uint8 *state)
{
	for (int i = 0; i < p->nfuncs; i++)
	{
		if (p->func[i].kind == PLACE_RUNNING)
			fold(p, &p->func[i], p->values, p->isnull, state);
	}
}

/* Rows of the i-th peer's frame, from *from to *to. */
static void
moving_rows(const Places *p, const DdirPeers *peers, int64 i, int64 *from, int64 *to)
{
	*from = Max(i + p->lo, -(int64) peers->before);
	*to = Min(i + p->hi, (int64) peers->n + peers->behind - 1);
}

static bool
moving_result(Places *p, const PlaceFunc *f, const DdirPeers *peers, int64 i, Datum *value)
{
	void	   *accum = palloc0(ddir_accum_size(f->final->kind));
	int64		from;
	int64		to;

	moving_rows(p, peers, i, &from, &to);
	for (int64 at = from; at <= to; at++)
	{
		if (at == i && p->not_this)
			continue;
		fetch(p, f, peers->row[at]);
		fold(p, f, p->other, p->other_null, accum);
	}
	return ddir_accum_result(f->final, accum, value);
}

/* The argument in the first or last row of the frame. */
static bool
end_value(Places *p, const PlaceFunc *f, const DdirPeers *peers, int64 i, Datum *value)
{
	int64		from;
	int64		to;

	moving_rows(p, peers, i, &from, &to);
	if (p->not_this && from == i)
		from++;
	if (p->not_this && to == i)
		to--;
	if (from > to)
		return false;
	fetch(p, f, peers->row[f->kind == PLACE_FIRST ? from : to]);
	*value = p->other[f->column];
	return !p->other_null[f->column];
}

/* lag, lead: of the i-th peer, whose values are at hand */
static void
shift_value(Places *p, const PlaceFunc *f, const DdirPeers *peers, int64 i,
			Datum *value, bool *isnull)
{
	int64		at = i + f->shift;

	if (at >= -(int64) peers->before && at < (int64) peers->n + peers->behind)
	{
		fetch(p, f, peers->row[at]);
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
			case PLACE_MOVING:
				*isnull = !moving_result(p, f, run->peers, i, value);
				break;
			case PLACE_FIRST:
			case PLACE_LAST:
				*isnull = !end_value(p, f, run->peers, i, value);
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

/* Only these columns, each to its own place. */
static DdirFetch *
make_fetch(const Places *p, const PlaceFunc *f)
{
	int		   *to = palloc(sizeof(int) * (p->type->natts + 1));

	if (f->column < 0 && f->filter < 0)
		return NULL;
	for (int i = 0; i < p->type->natts; i++)
		to[i] = i == f->column || i == f->filter ? i : -1;
	return ddir_fetch_make(p->type, to);
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
		place->fetch = make_fetch(p, place);
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
			case PLACE_MOVING:
				place->final = ddir_accum_final(f->winfnoid);
				break;
			case PLACE_FIRST:
			case PLACE_LAST:
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
	if (!is_moving(plan->frame, &p->lo, &p->hi))
		p->lo = p->hi = 0;
	p->not_this = (plan->frame->frameOptions & FRAMEOPTION_EXCLUDE_CURRENT_ROW) != 0;
	make_funcs(p, plan);
	n = p->type->natts + p->nfuncs + 1;
	p->values = palloc0(sizeof(Datum) * n);
	p->isnull = palloc0(sizeof(bool) * n);
	p->other = palloc0(sizeof(Datum) * n);
	p->other_null = palloc0(sizeof(bool) * n);
	for (int i = 0; i < p->nfuncs; i++)
	{
		const PlaceFunc *f = &p->func[i];

		int			lo = 0;
		int			hi = 0;

		if (f->kind == PLACE_SHIFT)
			lo = hi = f->shift;
		else if (f->kind >= PLACE_MOVING)
		{
			lo = p->lo;
			hi = p->hi;
		}
		fns.back = Max(fns.back, (uint32) Max(-lo, 0));
		fns.ahead = Max(fns.ahead, (uint32) Max(hi, 0));
	}
	fns.state_size = p->state_size;
	fns.order = places_order;
	MemoryContextSwitchTo(old);
	return fns;
}
