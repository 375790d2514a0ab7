/*-------------------------------------------------------------------------
 *
 * frame.c
 *	  A window's frame, as two places that go along with the current row.
 *
 * CURRENT ROW is an offset of no rows or, where peers share a frame, of no
 * groups.
 *
 * src/rows/frame.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"

#include "rows/frame.h"

/* Offsets beyond it are as good as it, and none overflows. */
#define OFFSET_MAX (PG_INT64_MAX / 4)

/* The options of an end are those of a start, shifted. */
#define START 0
#define END 1

/* ROWS and GROUPS: NULL and below zero are errors of the server's. */
static bool
is_count(const Node *offset)
{
	const Const *k = (const Const *) offset;

	return IsA(k, Const) && !k->constisnull && DatumGetInt64(k->constvalue) >= 0;
}

static bool
end_is_possible(const WindowClause *window, int end, const Node *offset)
{
	int			with_offset = (FRAMEOPTION_START_OFFSET_PRECEDING | FRAMEOPTION_START_OFFSET_FOLLOWING) << end;

	if (!(window->frameOptions & with_offset))
		return true;
	if (window->frameOptions & FRAMEOPTION_RANGE)
		return IsA(offset, Const) && !((const Const *) offset)->constisnull;
	return is_count(offset);
}

bool
ddir_frame_possible(const WindowClause *window)
{
	return end_is_possible(window, START, window->startOffset) &&
		end_is_possible(window, END, window->endOffset);
}

static void
make_end(DdirFrameEnd *e, const WindowClause *window, int end, const Node *offset, Oid in_range)
{
	int			options = window->frameOptions;
	const Const *k = (const Const *) offset;

	e->preceding = (options & (FRAMEOPTION_START_OFFSET_PRECEDING << end)) != 0;
	if (options & (end == START ? FRAMEOPTION_START_UNBOUNDED_PRECEDING : FRAMEOPTION_END_UNBOUNDED_FOLLOWING))
		e->bound = DDIR_FRAME_UNBOUNDED;
	else if (options & (FRAMEOPTION_START_CURRENT_ROW << end))
		e->bound = options & FRAMEOPTION_ROWS ? DDIR_FRAME_ROWS : DDIR_FRAME_GROUPS;
	else if (options & FRAMEOPTION_RANGE)
	{
		e->bound = DDIR_FRAME_RANGE;
		fmgr_info(in_range, &e->in_range);
		e->offset = datumCopy(k->constvalue, k->constbyval, k->constlen);
	}
	else
	{
		e->bound = options & FRAMEOPTION_ROWS ? DDIR_FRAME_ROWS : DDIR_FRAME_GROUPS;
		e->by = Min(DatumGetInt64(k->constvalue), OFFSET_MAX);
		if (e->preceding)
			e->by = -e->by;
	}
	/* up to the row that is the first of the frame, or behind its last one */
	if (e->bound == DDIR_FRAME_ROWS && end == END)
		e->by++;
}

void
ddir_frame_make(DdirFrame *frame, const DdirWindowPlan *plan)
{
	const WindowClause *window = plan->frame;

	memset(frame, 0, sizeof(*frame));
	frame->by_row = (window->frameOptions & FRAMEOPTION_ROWS) != 0;
	frame->exclude = window->frameOptions & FRAMEOPTION_EXCLUSION;
	make_end(&frame->head, window, START, window->startOffset, window->startInRangeFunc);
	make_end(&frame->tail, window, END, window->endOffset, window->endInRangeFunc);
	frame->column = frame->head.bound == DDIR_FRAME_RANGE || frame->tail.bound == DDIR_FRAME_RANGE ?
		plan->order[0].column : -1;
	frame->collation = window->inRangeColl;
	frame->ascending = window->inRangeAsc;
	frame->nulls_first = window->inRangeNullsFirst;
}

/* Is the other row's value within the offset from the current one's, or beyond? */
static bool
in_range(DdirFrame *frame, DdirFrameEnd *e, bool less, const DdirFrameRow *row)
{
	bool		flip = !frame->ascending;

	return DatumGetBool(FunctionCall5Coll(&e->in_range, frame->collation, row->other, row->value,
										  e->offset, BoolGetDatum(e->preceding != flip),
										  BoolGetDatum(less != flip)));
}

bool
ddir_frame_head_passes(DdirFrame *frame, const DdirSpot *head, const DdirFrameRow *row)
{
	DdirFrameEnd *e = &frame->head;

	switch (e->bound)
	{
		case DDIR_FRAME_UNBOUNDED:
			return false;
		case DDIR_FRAME_ROWS:
			return true;		/* it has looked */
		case DDIR_FRAME_GROUPS:
			return ddir_spot_group(head) < e->by;
		case DDIR_FRAME_RANGE:
			break;
	}
	/* NULLs are peers of each other, and as far as can be from all else */
	if (row->isnull || row->other_null)
		return row->isnull != row->other_null && row->other_null == frame->nulls_first;
	return !in_range(frame, e, false, row);
}

bool
ddir_frame_tail_passes(DdirFrame *frame, const DdirSpot *tail, const DdirFrameRow *row)
{
	DdirFrameEnd *e = &frame->tail;

	switch (e->bound)
	{
		case DDIR_FRAME_UNBOUNDED:
		case DDIR_FRAME_ROWS:
			return true;
		case DDIR_FRAME_GROUPS:
			return ddir_spot_group(tail) <= e->by;
		case DDIR_FRAME_RANGE:
			break;
	}
	if (row->isnull || row->other_null)
		return row->isnull == row->other_null || row->other_null == frame->nulls_first;
	return in_range(frame, e, true, row);
}
