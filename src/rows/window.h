/*-------------------------------------------------------------------------
 *
 * window.h
 *	  Window functions, run by the server's executor over whole partitions.
 *
 * The rows are in an arrangement by the partition, as images; a result row is
 * the row, then the functions' values.  All partitions that one call is about
 * go through one run of the executor; if that ends with a row error they are
 * tried in halves, until it is known whose error it is: that takes the place of
 * all rows of its partition.
 *
 * Rows that the window's ORDER BY leaves equal come in the order of their
 * images.
 *
 * src/rows/window.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_WINDOW_H
#define DDIR_ROWS_WINDOW_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "engine/op.h"
#include "rows/key.h"
#include "rows/rowtype.h"

typedef struct DdirWindowOrder
{
	int			column;			/* of the row, from 0 */
	Oid			sortop;
	bool		nulls_first;
} DdirWindowOrder;

typedef struct DdirWindowPlan
{
	const DdirRowType *type;	/* of the rows */
	DdirKeySpec *key;			/* of the partition */
	const int  *keycol;			/* its columns, from 0 */
	int			norder;
	const DdirWindowOrder *order;
	const WindowClause *frame;	/* its frame is what is looked at */
	List	   *funcs;			/* of WindowFunc; arguments Var(1, a) or Const */
	Oid			owner;			/* whose rights count */
} DdirWindowPlan;

/* Types of (the row, results). */
extern DdirRowType *ddir_window_type(const DdirWindowPlan *plan);

/* Copies the plan into cxt. */
extern DdirPartitionFns ddir_window_make(MemoryContext cxt, const DdirWindowPlan *plan);

#endif							/* DDIR_ROWS_WINDOW_H */
