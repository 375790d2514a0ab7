/*-------------------------------------------------------------------------
 *
 * place.h
 *	  Window functions that a row's place in the order decides: row_number,
 *	  rank, dense_rank, lag, lead, and functions of a frame.
 *
 * They are had from a small state, and from rows that places going along with the
 * current row pass; so the engine need not look at a whole partition when a row
 * of it changes.  Of a frame there can be first_value, last_value and nth_value,
 * aggregates that have native accumulators, and min and max.
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
