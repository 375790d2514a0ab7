/*-------------------------------------------------------------------------
 *
 * place.c
 *	  Window functions that a row's place in the order decides.
 *
 * Places go along with the rows: the ends of the frame, if any function has to do
 * with it, and one for each lag, lead, and nth_value.  What the frame's tail
 * passes is added to accumulators, and what its head passes is taken away
 * again.  Where the head stays in front of all rows nothing is ever taken away, so
 * values can be kept that cannot be had back: the least, the first, the n-th.
 * Where it moves, these are looked up in the frame, by a place that sets out from
 * the head.
 *
 * A state is what its functions need and no more, as replays end where states
 * are the same: numbers of rows and of groups of peers, accumulators, values.
 *
 * Errors: where a result cannot be had, its error takes the place of the row.
 * Where the frame cannot be (an offset below zero), that is an error of all rows
 * from there on, and told once.
 *
 * Memory: a state's is in a context of its own, emptied with it; a frame's
 * results and what belongs to a row are in two others.
 *
 * src/rows/place.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "base/port.h"
#include "rows/accum.h"
#include "rows/frame.h"
#include "rows/place.h"
#include "rows/program.h"

typedef enum PlaceKind
{
	PLACE_ROW_NUMBER,
	PLACE_RANK,
	PLACE_DENSE_RANK,
	PLACE_SHIFT,				/* lag, lead */
	PLACE_SUM,					/* an aggregate with a native accumulator */
	PLACE_EXTREME,				/* min, max */
	PLACE_FIRST,				/* first_value */
	PLACE_LAST,
	PLACE_NTH
} PlaceKind;

#define NOT_NEEDED ((Size) -1)

typedef struct PlaceFunc
{
	PlaceKind	kind;
	int			column;			/* of the argument, from 0; -1: none */
	int			filter;			/* column, or -1 */
	DdirFetch  *fetch;			/* of the argument from other rows; not for
								 * aggregates */
	int16		typlen;			/* of the argument */
	bool		typbyval;
	Size		at;				/* of an accumulator or value in the state */
	int			place;			/* SHIFT, NTH: its own, or -1 */
	/* SHIFT */
	int			shift;			/* rows on; below zero: back */
	int			default_column; /* or -1 */
	Datum		default_value;
	bool		default_null;
	/* NTH */
	int64		nth;
	/* SUM */
	const DdirAccumFinal *final;
	/* EXTREME: which of two values it is */
	FmgrInfo	choose;
	Oid			collation;
} PlaceFunc;

typedef struct Places
{
	MemoryContext cxt;
	MemoryContext scratch;		/* of a row */
	MemoryContext frame_cxt;	/* results of a frame */
	MemoryContext message_cxt;
	const DdirRowType *type;
	DdirRowType *out_type;
	DdirOrderTypes *order;
	int			nplaces;
	DdirFrame	frame;
	int			head;			/* places of its ends, or -1 */
	int			tail;
	DdirFetch  *frame_fetch;	/* of what accumulators and bounds need */
	int			nfuncs;
	PlaceFunc  *func;
	bool		need_rows;
	bool		need_groups;
	Size		state_size;
	Datum	   *values;			/* of the row, and results */
	bool	   *isnull;
	Datum	   *other;			/* of another row */
	bool	   *other_null;
} Places;

/* A value that is kept: the least or the n-th of those passed. */
typedef struct Kept
{
	int64		n;				/* how many were passed, up to the n-th */
	bool		isnull;
	Datum		value;
} Kept;

typedef struct State
{
	MemoryContext cxt;			/* of what is out of line */
	int64		rows;			/* in front of the peers */
	int64		groups;
	bool		failed;			/* the frame could not be had */
	/* then accumulators and kept values */
} State;

/*
 * Which functions
 */

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
	}
	switch (f->winfnoid)
	{
		case F_LAG_ANYELEMENT:
		case F_LAG_ANYELEMENT_INT4:
		case F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE:
			/* as the server has it, where that is beyond an integer, too */
			*shift = (int) -(unsigned) *shift;
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
nth_of(const WindowFunc *f, int64 *nth)
{
	Const	   *k = lsecond(f->args);

	if (!IsA(k, Const) || k->constisnull)
		return false;
	*nth = DatumGetInt32(k->constvalue);
	return *nth > 0;
}

/*
 * min, max and their like: aggregates that go through values by a function of
 * the server's that chooses one of two.
 */
static bool
is_extreme(const WindowFunc *f, Oid *choose)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(f->winfnoid));
	Form_pg_aggregate agg;
	bool		result;
	bool		no_start;

	if (!HeapTupleIsValid(tuple))
		return false;
	agg = (Form_pg_aggregate) GETSTRUCT(tuple);
	(void) SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &no_start);
	*choose = agg->aggtransfn;
	result = agg->aggkind == AGGKIND_NORMAL && OidIsValid(agg->aggsortop) &&
		!OidIsValid(agg->aggfinalfn) && no_start &&
		(agg->aggtranstype == exprType(linitial(f->args)) || IsPolymorphicType(agg->aggtranstype));
	ReleaseSysCache(tuple);
	if (!result)
		return false;

	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(*choose));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", *choose);
	result = ((Form_pg_proc) GETSTRUCT(tuple))->prolang == INTERNALlanguageId &&
		((Form_pg_proc) GETSTRUCT(tuple))->proisstrict;
	ReleaseSysCache(tuple);
	return result;
}

static bool
place_kind(const WindowClause *frame, const WindowFunc *f, PlaceKind *kind)
{
	bool		excludes = (frame->frameOptions & FRAMEOPTION_EXCLUSION) != 0;
	int			shift;
	int64		nth;
	Oid			choose;

	/* what its offsets are wrong for is an error for all functions */
	if (!ddir_frame_possible(frame))
		return false;
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
	if (f->args && !IsA(linitial(f->args), Var))
		return false;
	if (!f->winagg && shift_of(f, &shift))
	{
		*kind = PLACE_SHIFT;
		return true;
	}
	switch (f->winfnoid)
	{
		case F_FIRST_VALUE:
			*kind = PLACE_FIRST;
			return true;
		case F_LAST_VALUE:
			*kind = PLACE_LAST;
			return true;
		case F_NTH_VALUE:
			*kind = PLACE_NTH;
			return nth_of(f, &nth) && !excludes;
		default:
			break;
	}
	if (!f->winagg || list_length(f->args) > 1)
		return false;
	if (ddir_accum_final(f->winfnoid))
	{
		*kind = PLACE_SUM;
		return true;
	}
	*kind = PLACE_EXTREME;
	return list_length(f->args) == 1 && is_extreme(f, &choose) &&
		!(excludes && (frame->frameOptions & FRAMEOPTION_START_UNBOUNDED_PRECEDING));
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
 * Rows
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

/* Some values of another row, into p->other. */
static void
fetch(const Places *p, const DdirFetch *f, DdirRef val, MemoryContext cxt)
{
	if (f && !ddir_fetch(f, image_of(p, val), p->other, p->other_null, cxt))
		ddir_error(DDIR_ERROR_INTERNAL, "malformed row in an arrangement");
}

static void
unpack(const Places *p, DdirRef val, Datum *values, bool *isnull)
{
	if (!ddir_image_unpack(p->type, image_of(p, val), NULL, values, isnull, p->scratch))
		ddir_error(DDIR_ERROR_INTERNAL, "malformed row in an arrangement");
}

static void *
state_at(const State *state, Size at)
{
	return (char *) state + at;
}

/*
 * What the frame's ends pass: the row in p->other
 */

/* Does an aggregate take the row in? */
static bool
is_taken(const Places *p, const PlaceFunc *f)
{
	return f->filter < 0 || (!p->other_null[f->filter] && DatumGetBool(p->other[f->filter]));
}

static void
fold_sum(Places *p, const PlaceFunc *f, State *state, int64 diff)
{
	DdirGroup	group = {.state = state};
	DdirGroup  *groups = &group;
	DdirAccumInput in = {
		.n = 1,
		.group = &groups,
		.diff = &diff,
		.stride = 1,
		.offset = f->at,
		.cxt = state->cxt
	};

	if (f->column >= 0)
	{
		in.value = &p->other[f->column];
		in.isnull = &p->other_null[f->column];
	}
	ddir_accum_fold(f->final->kind, &in);
}

static Datum
copied(const PlaceFunc *f, Datum value, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);

	value = datumCopy(value, f->typbyval, f->typlen);
	MemoryContextSwitchTo(old);
	return value;
}

/* The other row's value, or the one kept? */
static void
choose(Places *p, const PlaceFunc *f, Kept *kept, MemoryContext cxt)
{
	Datum		value = p->other[f->column];

	if (p->other_null[f->column])
		return;
	if (kept->n > 0)
		value = FunctionCall2Coll((FmgrInfo *) &f->choose, f->collation, kept->value, value);
	if (kept->n > 0 && value == kept->value)
		return;
	value = copied(f, value, cxt);
	if (kept->n > 0 && !f->typbyval)
		pfree(DatumGetPointer(kept->value));
	kept->n = 1;
	kept->value = value;
}

static void
keep_nth(Places *p, const PlaceFunc *f, Kept *kept, MemoryContext cxt)
{
	if (kept->n == f->nth)
		return;
	if (++kept->n < f->nth)
		return;
	kept->isnull = p->other_null[f->column];
	if (!kept->isnull)
		kept->value = copied(f, p->other[f->column], cxt);
}

static void
passed(Places *p, State *state, int64 diff)
{
	for (int k = 0; k < p->nfuncs; k++)
	{
		const PlaceFunc *f = &p->func[k];

		if (f->at == NOT_NEEDED || !is_taken(p, f))
			continue;
		if (f->kind == PLACE_SUM)
			fold_sum(p, f, state, diff);
		else if (f->kind == PLACE_EXTREME)
			choose(p, f, state_at(state, f->at), state->cxt);
		else
			keep_nth(p, f, state_at(state, f->at), state->cxt);
	}
}

/*
 * Some peers and the places that go along
 */

typedef struct Run
{
	Places	   *places;
	const DdirPeers *peers;
	DdirSpot   *place;
	State	   *state;
	int64		diff;
	DdirDeltas *out;
	int64		i;				/* the current row */
	bool		moving;			/* the frame, to where it is for that row */
	bool		framed;			/* the frame's results are at hand */
	bool		excluded;		/* rows are taken out of accumulators */
} Run;

static DdirSpot *
head_of(const Run *run)
{
	return run->places->head < 0 ? NULL : &run->place[run->places->head];
}

static DdirSpot *
tail_of(const Run *run)
{
	return &run->place[run->places->tail];
}

static void
move_end(const Run *run, bool head)
{
	Places	   *p = run->places;
	DdirFrame  *frame = &p->frame;
	DdirFrameEnd *end = head ? &frame->head : &frame->tail;
	DdirSpot   *place = head ? head_of(run) : tail_of(run);
	DdirFrameRow row = {.i = run->i};
	DdirRef		val;

	if (frame->column >= 0)
	{
		row.value = p->values[frame->column];
		row.isnull = p->isnull[frame->column];
	}
	while (ddir_frame_looks(end, place, run->i) && ddir_spot_peek(place, &val))
	{
		MemoryContext old;
		bool		passes;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(p->frame_cxt);
		old = MemoryContextSwitchTo(p->frame_cxt);
		fetch(p, p->frame_fetch, val, p->frame_cxt);
		if (frame->column >= 0)
		{
			row.other = p->other[frame->column];
			row.other_null = p->other_null[frame->column];
		}
		passes = head ? ddir_frame_head_passes(frame, place, &row) :
			ddir_frame_tail_passes(frame, place, &row);
		if (passes)
		{
			ddir_spot_pass(place);
			passed(p, run->state, head ? -1 : 1);
		}
		MemoryContextSwitchTo(old);
		if (!passes)
			break;
	}
}

static bool
is_excluded(const Run *run, int64 at)
{
	switch (run->places->frame.exclude)
	{
		case FRAMEOPTION_EXCLUDE_CURRENT_ROW:
			return at == run->i;
		case FRAMEOPTION_EXCLUDE_GROUP:
			return at >= 0 && at < run->peers->n;
		case FRAMEOPTION_EXCLUDE_TIES:
			return at >= 0 && at < run->peers->n && at != run->i;
		default:
			return false;
	}
}

/* Take what EXCLUDE names out of the accumulators, or put it back. */
static void
exclude(Run *run, int64 diff)
{
	Places	   *p = run->places;
	const DdirSpot *head = head_of(run);
	int64		from = head ? Max(head->rows, 0) : 0;
	int64		to = Min(tail_of(run)->rows, (int64) run->peers->n);

	if (p->frame.exclude == FRAMEOPTION_EXCLUDE_CURRENT_ROW)
	{
		from = Max(from, run->i);
		to = Min(to, run->i + 1);
	}
	for (int64 at = from; at < to; at++)
	{
		if (!is_excluded(run, at))
			continue;
		CHECK_FOR_INTERRUPTS();
		fetch(p, p->frame_fetch, run->peers->row[at], p->scratch);
		for (int k = 0; k < p->nfuncs; k++)
		{
			if (p->func[k].kind == PLACE_SUM && is_taken(p, &p->func[k]))
				fold_sum(p, &p->func[k], run->state, diff);
		}
	}
	run->excluded = diff < 0;
}

/*
 * Results
 */

static bool
frame_is_empty(const Run *run)
{
	return ddir_frame_is_empty(head_of(run), tail_of(run));
}

static bool
sum_result(const Run *run, const PlaceFunc *f, Datum *value)
{
	const void *accum = state_at(run->state, f->at);

	/* what the head has passed may be more than what the tail has */
	if (frame_is_empty(run))
		accum = palloc0(ddir_accum_size(f->final->kind));
	return ddir_accum_result(f->final, accum, value);
}

static bool
extreme_result(const Run *run, const PlaceFunc *f, Datum *value)
{
	Places	   *p = run->places;
	const DdirSpot *tail = tail_of(run);
	Kept		kept = {0};
	DdirSpot	at;
	DdirRef		val;

	if (f->at != NOT_NEEDED)
		kept = *(Kept *) state_at(run->state, f->at);
	else
	{
		ddir_spot_copy(&at, head_of(run));
		while (at.rows < tail->rows && ddir_spot_peek(&at, &val))
		{
			int64		row = at.rows;

			CHECK_FOR_INTERRUPTS();
			ddir_spot_pass(&at);
			if (is_excluded(run, row))
				continue;
			fetch(p, p->frame_fetch, val, p->frame_cxt);
			if (is_taken(p, f))
				choose(p, f, &kept, p->frame_cxt);
		}
	}
	*value = kept.value;
	return kept.n > 0;
}

/* The argument in one of the rows from the one before the peers to the one behind. */
static bool
value_at(const Run *run, const PlaceFunc *f, int64 at, Datum *value)
{
	Places	   *p = run->places;
	const DdirPeers *peers = run->peers;
	const DdirSpot *head = head_of(run);
	DdirRef		val;

	if (at >= tail_of(run)->rows || (head && at < head->rows))
		return false;
	if (at < 0)
		val = peers->before;
	else
		val = at < peers->n ? peers->row[at] : peers->behind;
	if (val.p == NULL)
		return false;
	fetch(p, f->fetch, val, p->frame_cxt);
	*value = p->other[f->column];
	return !p->other_null[f->column];
}

static bool
kept_value(const Run *run, const PlaceFunc *f, Datum *value)
{
	const Kept *kept = state_at(run->state, f->at);

	*value = kept->value;
	return kept->n == f->nth && !kept->isnull;
}

/*
 * The first row of a frame, where the current row or its ties are left out: it
 * is as the server has it, who takes for it the current row wherever
 * the head is among its ties.
 */
static bool
first_value(const Run *run, const PlaceFunc *f, Datum *value)
{
	Places	   *p = run->places;
	DdirSpot   *head = head_of(run);
	int64		at = head ? head->rows : run->peers->before.p ? -1 : 0;
	DdirRef		val;

	if (frame_is_empty(run))
		return false;
	if (p->frame.exclude == FRAMEOPTION_EXCLUDE_CURRENT_ROW && at == run->i)
		return value_at(run, f, at + 1, value);
	if (p->frame.exclude == FRAMEOPTION_EXCLUDE_GROUP && at >= 0 && at < run->peers->n)
		return value_at(run, f, run->peers->n, value);
	if (p->frame.exclude == FRAMEOPTION_EXCLUDE_TIES && at >= 0 && at < run->peers->n)
		return value_at(run, f, run->i, value);
	if (head == NULL)
		return kept_value(run, f, value);
	if (!ddir_spot_peek(head, &val))
		elog(ERROR, "a frame's first row is not there");
	fetch(p, f->fetch, val, p->frame_cxt);
	*value = p->other[f->column];
	return !p->other_null[f->column];
}

static bool
last_value(const Run *run, const PlaceFunc *f, Datum *value)
{
	Places	   *p = run->places;
	const DdirSpot *tail = tail_of(run);
	int64		at = tail->rows - 1;

	if (frame_is_empty(run))
		return false;
	if (p->frame.exclude == FRAMEOPTION_EXCLUDE_CURRENT_ROW && at == run->i)
		return value_at(run, f, at - 1, value);
	if (p->frame.exclude == FRAMEOPTION_EXCLUDE_GROUP && at >= 0 && at < run->peers->n)
		return value_at(run, f, -1, value);
	if (p->frame.exclude == FRAMEOPTION_EXCLUDE_TIES && at >= 0 && at < run->peers->n)
		return value_at(run, f, run->i, value);
	fetch(p, f->fetch, tail->last, p->frame_cxt);
	*value = p->other[f->column];
	return !p->other_null[f->column];
}

/* Go on until so many rows are passed; is the last of them so far on? */
static bool
go_to(DdirSpot *place, int64 rows)
{
	DdirRef		val;

	while (place->rows < rows && ddir_spot_peek(place, &val))
	{
		CHECK_FOR_INTERRUPTS();
		ddir_spot_pass(place);
	}
	return place->rows == rows && place->last.p != NULL;
}

static bool
nth_value(const Run *run, const PlaceFunc *f, Datum *value)
{
	Places	   *p = run->places;
	DdirSpot   *place = &run->place[f->place];
	int64		rows;

	if (f->place < 0)
		return kept_value(run, f, value);
	rows = head_of(run)->rows + f->nth;
	if (!go_to(place, Min(rows, tail_of(run)->rows)) || place->rows != rows)
		return false;
	fetch(p, f->fetch, place->last, p->frame_cxt);
	*value = p->other[f->column];
	return !p->other_null[f->column];
}

/* lag, lead: of the current row, whose values are at hand */
static void
shift_value(const Run *run, const PlaceFunc *f, Datum *value, bool *isnull)
{
	Places	   *p = run->places;
	DdirSpot   *place = &run->place[f->place];

	if (go_to(place, run->i + f->shift + 1))
	{
		fetch(p, f->fetch, place->last, p->scratch);
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

/* What the frame alone decides. */
static void
frame_results(Run *run)
{
	Places	   *p = run->places;
	int			natts = p->type->natts;
	MemoryContext old;

	MemoryContextReset(p->frame_cxt);
	old = MemoryContextSwitchTo(p->frame_cxt);
	for (int k = 0; k < p->nfuncs; k++)
	{
		const PlaceFunc *f = &p->func[k];
		Datum	   *value = &p->values[natts + k];
		bool	   *isnull = &p->isnull[natts + k];

		if (f->kind == PLACE_SUM)
			*isnull = !sum_result(run, f, value);
		else if (f->kind == PLACE_EXTREME)
			*isnull = !extreme_result(run, f, value);
		else if (f->kind == PLACE_FIRST)
			*isnull = !first_value(run, f, value);
		else if (f->kind == PLACE_LAST)
			*isnull = !last_value(run, f, value);
		else if (f->kind == PLACE_NTH)
			*isnull = !nth_value(run, f, value);
	}
	MemoryContextSwitchTo(old);
	run->framed = true;
}

static void
row_results(const Run *run)
{
	Places	   *p = run->places;
	int			natts = p->type->natts;

	for (int k = 0; k < p->nfuncs; k++)
	{
		const PlaceFunc *f = &p->func[k];
		Datum	   *value = &p->values[natts + k];
		bool	   *isnull = &p->isnull[natts + k];

		if (f->kind == PLACE_SHIFT)
			shift_value(run, f, value, isnull);
		else if (f->kind <= PLACE_DENSE_RANK)
		{
			*isnull = false;
			*value = Int64GetDatum(f->kind == PLACE_ROW_NUMBER ? run->state->rows + run->i + 1 :
								   f->kind == PLACE_RANK ? run->state->rows + 1 :
								   run->state->groups + 1);
		}
	}
}

/*
 * Running
 */

static void
run_row(Run *run)
{
	Places	   *p = run->places;
	uint32		len;

	if (p->tail >= 0 && (p->frame.by_row || run->i == 0))
	{
		run->moving = true;
		if (p->head >= 0)
			move_end(run, true);
		move_end(run, false);
		run->moving = run->framed = false;
	}
	if (p->frame.by_row || (p->frame.exclude && p->frame.exclude != FRAMEOPTION_EXCLUDE_GROUP))
		run->framed = false;
	if (p->tail >= 0 && !run->framed)
	{
		if (p->frame.exclude)
			exclude(run, -1);
		frame_results(run);
		if (p->frame.exclude)
			exclude(run, 1);
	}
	row_results(run);
	len = ddir_image_pack(p->out_type, p->values, p->isnull, NULL, run->out);
	ddir_deltas_close(run->out, 0, len, NULL, run->diff, 0);
}

static void
run_guarded(void *arg)
{
	Run		   *run = arg;
	Places	   *p = run->places;

	MemoryContextSwitchTo(p->scratch);
	if (run->excluded)
	{
		exclude(run, 1);
		run->i++;
	}
	for (; run->i < run->peers->n; run->i++)
	{
		MemoryContextReset(p->scratch);
		CHECK_FOR_INTERRUPTS();
		unpack(p, run->peers->row[run->i], p->values, p->isnull);
		run_row(run);
	}
}

/* The current row fails.  False: so does the machinery. */
static bool
fail_row(Run *run, int sqlstate, const char *message, DdirDeltas *err)
{
	if (!ddir_sqlstate_is_row_error(sqlstate) ||
		!ddir_error_row_try_push(err, sqlstate, message, run->diff))
		return false;
	if (run->moving)
		run->state->failed = true;
	else if (!run->excluded)
		run->i++;
	run->framed = false;
	return true;
}

static bool
places_run(void *ctx, const DdirPeers *peers, DdirSpot *place, void *state, int64_t diff,
		   DdirDeltas *out, DdirDeltas *err)
{
	Places	   *p = ctx;
	Run			run = {p, peers, place, state, diff, out};
	MemoryContext old = MemoryContextSwitchTo(p->message_cxt);
	bool		fine = true;

	while (fine && !run.state->failed && run.i < peers->n)
	{
		char	   *message;
		int			sqlstate = ddir_guard(run_guarded, &run, false, &message);

		MemoryContextSwitchTo(p->message_cxt);
		if (sqlstate != 0)
			fine = fail_row(&run, sqlstate, message, err);
		MemoryContextReset(p->message_cxt);
	}
	if (p->need_rows)
		run.state->rows += peers->n;
	if (p->need_groups)
		run.state->groups++;
	MemoryContextSwitchTo(old);
	return fine;
}

static uint32_t
places_order(void *ctx, DdirRef val)
{
	return ddir_order_prefix(((Places *) ctx)->order, val);
}

/*
 * States as bytes
 */

typedef struct Saving
{
	Places	   *places;
	State	   *state;
	DdirBytes  *to;
	const uint8 *from;
} Saving;

static bool
is_kept(const PlaceFunc *f, const Kept *kept)
{
	return f->kind == PLACE_EXTREME ? kept->n > 0 : kept->n == f->nth && !kept->isnull;
}

static void
save_kept(const PlaceFunc *f, const Kept *kept, DdirBytes *to)
{
	Size		len;
	char	   *bytes;
	char	   *end;

	ddir_bytes_put(to, &kept->n, sizeof(kept->n));
	ddir_bytes_put(to, &kept->isnull, sizeof(kept->isnull));
	if (!is_kept(f, kept))
		return;
	len = datumEstimateSpace(kept->value, false, f->typbyval, f->typlen);
	end = bytes = palloc0(len);
	datumSerialize(kept->value, false, f->typbyval, f->typlen, &end);
	ddir_bytes_put(to, bytes, len);
	pfree(bytes);
}

static void
load_kept(const PlaceFunc *f, Kept *kept, const uint8 **from)
{
	char	   *p;
	bool		isnull;

	ddir_bytes_take(from, &kept->n, sizeof(kept->n));
	ddir_bytes_take(from, &kept->isnull, sizeof(kept->isnull));
	if (!is_kept(f, kept))
		return;
	p = (char *) *from;
	kept->value = datumRestore(&p, &isnull);
	*from = (const uint8 *) p;
}

static void
save_guarded(void *arg)
{
	Saving	   *s = arg;
	Places	   *p = s->places;

	MemoryContextSwitchTo(p->scratch);
	MemoryContextReset(p->scratch);
	ddir_bytes_put(s->to, &s->state->rows, sizeof(s->state->rows));
	ddir_bytes_put(s->to, &s->state->groups, sizeof(s->state->groups));
	ddir_bytes_put(s->to, &s->state->failed, sizeof(s->state->failed));
	for (int k = 0; k < p->nfuncs; k++)
	{
		const PlaceFunc *f = &p->func[k];

		if (f->at == NOT_NEEDED)
			continue;
		if (f->kind == PLACE_SUM)
			ddir_accum_save(f->final->kind, state_at(s->state, f->at), s->to);
		else
			save_kept(f, state_at(s->state, f->at), s->to);
	}
}

static void
load_guarded(void *arg)
{
	Saving	   *s = arg;
	Places	   *p = s->places;
	State	   *state = s->state;

	if (state->cxt == NULL)
		state->cxt = AllocSetContextCreate(p->cxt, "ddir places state", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(state->cxt);
	memset((char *) state + sizeof(state->cxt), 0, p->state_size - sizeof(state->cxt));
	if (s->from == NULL)
		return;
	MemoryContextSwitchTo(state->cxt);
	ddir_bytes_take(&s->from, &state->rows, sizeof(state->rows));
	ddir_bytes_take(&s->from, &state->groups, sizeof(state->groups));
	ddir_bytes_take(&s->from, &state->failed, sizeof(state->failed));
	for (int k = 0; k < p->nfuncs; k++)
	{
		const PlaceFunc *f = &p->func[k];

		if (f->at == NOT_NEEDED)
			continue;
		if (f->kind == PLACE_SUM)
			ddir_accum_load(f->final->kind, state_at(state, f->at), state->cxt, &s->from);
		else
			load_kept(f, state_at(state, f->at), &s->from);
	}
}

static bool
saving(void (*fn) (void *arg), Saving *s)
{
	MemoryContext old = CurrentMemoryContext;
	char	   *message;
	int			sqlstate;

	MemoryContextSwitchTo(s->places->message_cxt);
	sqlstate = ddir_guard(fn, s, false, &message);
	MemoryContextSwitchTo(old);
	return sqlstate == 0;
}

static bool
places_save(void *ctx, const void *state, DdirBytes *to)
{
	Saving		s = {.places = ctx,.state = (State *) state,.to = to};

	return saving(save_guarded, &s);
}

static bool
places_load(void *ctx, void *state, const uint8_t *p, size_t len)
{
	Saving		s = {.places = ctx,.state = state,.from = p};

	return saving(load_guarded, &s);
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
make_fetch(const Places *p, const Bitmapset *columns)
{
	int		   *to = palloc(sizeof(int) * (p->type->natts + 1));

	for (int i = 0; i < p->type->natts; i++)
		to[i] = bms_is_member(i, columns) ? i : -1;
	return bms_is_empty(columns) ? NULL : ddir_fetch_make(p->type, to);
}

static Size
room_in_state(Places *p, Size size)
{
	Size		at = p->state_size;

	p->state_size += MAXALIGN(size);
	return at;
}

static void
make_func(Places *p, const DdirWindowPlan *plan, const WindowFunc *f, PlaceFunc *place)
{
	bool		growing = p->frame.head.bound == DDIR_FRAME_UNBOUNDED;
	Oid			chosen;

	if (!place_kind(plan->frame, f, &place->kind))
		elog(ERROR, "function %u is not one of places", f->winfnoid);
	place->column = f->args && IsA(linitial(f->args), Var) ? column_of(linitial(f->args)) : -1;
	place->filter = f->aggfilter ? column_of((Node *) f->aggfilter) : -1;
	place->at = NOT_NEEDED;
	place->place = -1;
	if (place->column >= 0)
	{
		place->typlen = p->type->col[place->column].typlen;
		place->typbyval = p->type->col[place->column].typbyval;
		place->fetch = make_fetch(p, bms_make_singleton(place->column));
	}
	switch (place->kind)
	{
		case PLACE_ROW_NUMBER:
		case PLACE_RANK:
			p->need_rows = true;
			break;
		case PLACE_DENSE_RANK:
			p->need_groups = true;
			break;
		case PLACE_SHIFT:
			make_shift(place, f);
			place->place = p->nplaces++;
			break;
		case PLACE_SUM:
			place->final = ddir_accum_final(f->winfnoid);
			place->at = room_in_state(p, ddir_accum_size(place->final->kind));
			break;
		case PLACE_EXTREME:
			(void) is_extreme(f, &chosen);
			fmgr_info(chosen, &place->choose);
			place->collation = f->inputcollid;
			if (growing)
				place->at = room_in_state(p, sizeof(Kept));
			break;
		case PLACE_FIRST:
			place->nth = 1;
			if (growing)
				place->at = room_in_state(p, sizeof(Kept));
			break;
		case PLACE_LAST:
			break;
		case PLACE_NTH:
			(void) nth_of(f, &place->nth);
			if (growing)
				place->at = room_in_state(p, sizeof(Kept));
			else
				place->place = p->nplaces++;
			break;
	}
}

static void
make_funcs(Places *p, const DdirWindowPlan *plan)
{
	Bitmapset  *columns = NULL;
	bool		framed = p->frame.column >= 0;	/* its offset may be wrong */
	ListCell   *lc;

	p->head = p->tail = -1;
	p->state_size = MAXALIGN(sizeof(State));
	p->nfuncs = list_length(plan->funcs);
	p->func = palloc0(sizeof(PlaceFunc) * (p->nfuncs + 1));
	foreach(lc, plan->funcs)
	{
		PlaceFunc  *place = &p->func[foreach_current_index(lc)];

		make_func(p, plan, lfirst_node(WindowFunc, lc), place);
		framed = framed || place->kind >= PLACE_SUM;
		if (place->kind != PLACE_SUM && place->kind != PLACE_EXTREME && place->at == NOT_NEEDED)
			continue;
		if (place->column >= 0)
			columns = bms_add_member(columns, place->column);
		if (place->filter >= 0)
			columns = bms_add_member(columns, place->filter);
	}
	if (p->frame.column >= 0)
		columns = bms_add_member(columns, p->frame.column);
	if (framed)
		p->tail = p->nplaces++;
	if (framed && p->frame.head.bound != DDIR_FRAME_UNBOUNDED)
		p->head = p->nplaces++;
	p->frame_fetch = make_fetch(p, columns);
}

DdirOrderedFns
ddir_places_make(MemoryContext cxt, const DdirWindowPlan *plan, DdirOrderTypes *order)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Places	   *p = palloc0(sizeof(Places));
	DdirOrderedFns fns = {
		.ctx = p,
		.order = places_order,
		.run = places_run,
		.save = places_save,
		.load = places_load
	};
	int			n;

	p->cxt = cxt;
	p->scratch = AllocSetContextCreate(cxt, "ddir places", ALLOCSET_DEFAULT_SIZES);
	p->frame_cxt = AllocSetContextCreate(cxt, "ddir places frame", ALLOCSET_DEFAULT_SIZES);
	p->message_cxt = AllocSetContextCreate(cxt, "ddir places message", ALLOCSET_SMALL_SIZES);
	p->type = ddir_rowtype_copy(plan->type);
	p->out_type = ddir_window_type(plan);
	p->order = order;
	ddir_frame_make(&p->frame, plan);
	make_funcs(p, plan);
	n = p->type->natts + p->nfuncs + 1;
	p->values = palloc0(sizeof(Datum) * n);
	p->isnull = palloc0(sizeof(bool) * n);
	p->other = palloc0(sizeof(Datum) * n);
	p->other_null = palloc0(sizeof(bool) * n);
	fns.nplaces = p->nplaces;
	fns.state_size = p->state_size;
	MemoryContextSwitchTo(old);
	return fns;
}
