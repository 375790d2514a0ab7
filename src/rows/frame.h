/*-------------------------------------------------------------------------
 *
 * frame.h
 *	  A window's frame, as two places that go along with the current row.
 *
 * The rows of a frame are those that its tail has passed and its head has not.
 * Both only go forward, by the server's own rules (what RANGE adds and compares
 * are the functions that the window clause names); a head that stays in front
 * of all rows is no place.
 *
 *	ddir_frame_possible		- can it be had so?
 *	ddir_frame_make			- where its ends are
 *	ddir_frame_looks		- does an end want to know the row that it is at?
 *	ddir_frame_head_passes	- does the head pass it?
 *	ddir_frame_tail_passes	- does the tail?
 *	ddir_frame_is_empty		- has it no rows, EXCLUDE aside?
 *
 * Rows are counted from the first of the current row's peers, as places do.
 *
 * src/rows/frame.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_FRAME_H
#define DDIR_ROWS_FRAME_H

#include "postgres.h"

#include "fmgr.h"

#include "engine/op.h"
#include "rows/window.h"

typedef enum DdirFrameBound
{
	DDIR_FRAME_UNBOUNDED,
	DDIR_FRAME_ROWS,			/* so many rows on; below zero: back */
	DDIR_FRAME_GROUPS,			/* so many groups of peers */
	DDIR_FRAME_RANGE			/* so far in what orders */
} DdirFrameBound;

typedef struct DdirFrameEnd
{
	DdirFrameBound bound;
	int64		by;				/* ROWS: how far behind the current row it
								 * goes; GROUPS */
	FmgrInfo	in_range;		/* RANGE */
	Datum		offset;
	bool		preceding;
} DdirFrameEnd;

typedef struct DdirFrame
{
	bool		by_row;			/* peers have frames of their own */
	int			exclude;		/* of FRAMEOPTION_EXCLUSION */
	DdirFrameEnd head;
	DdirFrameEnd tail;
	/* RANGE with offsets */
	int			column;			/* that orders, from 0; -1: not needed */
	Oid			collation;
	bool		ascending;
	bool		nulls_first;
} DdirFrame;

/* The current row, and for RANGE two values of the column that orders. */
typedef struct DdirFrameRow
{
	int64		i;				/* among its peers */
	Datum		value;
	bool		isnull;
	Datum		other;			/* of the row that the end is at */
	bool		other_null;
} DdirFrameRow;

extern bool ddir_frame_possible(const WindowClause *window);

/* in CurrentMemoryContext */
extern void ddir_frame_make(DdirFrame *frame, const DdirWindowPlan *plan);

/* Not, where it has gone as many rows as it should: then it does not matter which is next. */
static inline bool
ddir_frame_looks(const DdirFrameEnd *end, const DdirSpot *place, int64 i)
{
	return end->bound != DDIR_FRAME_ROWS || place->rows < i + end->by;
}

/* The place must be at a row, and have looked.  May raise what the server raises for offsets. */
extern bool ddir_frame_head_passes(DdirFrame *frame, const DdirSpot *head, const DdirFrameRow *row);
extern bool ddir_frame_tail_passes(DdirFrame *frame, const DdirSpot *tail, const DdirFrameRow *row);

/* head NULL: it stays in front of all rows */
static inline bool
ddir_frame_is_empty(const DdirSpot *head, const DdirSpot *tail)
{
	return head ? head->rows >= tail->rows : tail->last.p == NULL;
}

#endif							/* DDIR_ROWS_FRAME_H */
