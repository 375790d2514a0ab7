/*-------------------------------------------------------------------------
 *
 * place.h
 *	  Window functions that a row's place in the order decides: row_number,
 *	  rank, dense_rank, lag, lead, running and moving aggregates.
 *
 * They are had from rows around, and from a small state of all rows in front;
 * so the engine need not look at a whole partition when a row of it changes.
 * Running are aggregates of integers and booleans, of a frame from the first row
 * to the current one or to its last peer; moving are those, and of numerics, of
 * a few rows around the current one.
 *
 * The rows are in an arrangement in the window's order: a val is the order's
 * encoding (rows/key.h), then the row's image.  A result row is the row, then the
 * functions' values.
 *
 * src/rows/place.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_PLACE_H
#define DDIR_ROWS_PLACE_H

#include "postgres.h"

#include "rows/window.h"

/* Are all functions of the window such? */
extern bool ddir_places_suffice(const WindowClause *frame, List *funcs);

/*
 * order: lengths of encodings at the head of vals; it and its context are
 * handed on to the engine.  Copies the plan into cxt.
 */
extern DdirOrderedFns ddir_places_make(MemoryContext cxt, const DdirWindowPlan *plan,
									   DdirOrderTypes *order);

#endif							/* DDIR_ROWS_PLACE_H */
