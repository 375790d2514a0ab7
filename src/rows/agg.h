/*-------------------------------------------------------------------------
 *
 * agg.h
 *	  Aggregates as states of a reduction.
 *
 * How an aggregate is maintained:
 *
 *	fold		- a flat, native accumulator that additions and subtractions
 *				  keep exact: count, sum, avg and the variance family of
 *				  integers, numeric, floats (exact, rounded once), interval,
 *				  money; bool_and, bool_or, every, bit_and, bit_or (by counts)
 *	seek		- min and max over an arrangement ordered by the argument
 *	recompute	- the aggregate's own functions, over the group's rows in an
 *				  arrangement, ordered by the rows' images where it matters
 *
 * The rows folded at port 0 have the group's key columns first, then the
 * arguments; DISTINCT aggregates have a port of their own, fed by the distinct
 * (key columns, arguments).  An aggregate whose FILTER is not true for a row
 * has NULL in all its arguments' columns and false in its filter's column.
 *
 * The output row: the key columns, then the results.
 *
 * src/rows/agg.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_AGG_H
#define DDIR_ROWS_AGG_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "engine/op.h"
#include "rows/key.h"
#include "rows/rowtype.h"

typedef enum DdirAggMethod
{
	DDIR_AGG_FOLD,
	DDIR_AGG_SEEK,
	DDIR_AGG_RECOMPUTE
} DdirAggMethod;

typedef struct DdirAgg
{
	Aggref	   *ref;			/* the call; its args are not read any more */
	DdirAggMethod method;
	int			port;			/* fold input whose rows hold the arguments */
	int			nargs;
	int		   *arg;			/* columns (from 0) in that input's rows */
	int			filter;			/* boolean column, or -1 */
	int			arr;			/* arrangement read, or -1 */
	/*
	 * Vals of that arrangement: SEEK: order encoding of the argument, then the
	 * image of (argument); only rows where it is not NULL and FILTER holds.
	 * RECOMPUTE: image of (arguments..., ORDER BY columns...), FILTER holds.
	 */
} DdirAgg;

typedef struct DdirAggPlan
{
	int			nkeys;
	const DdirRowType *fold_type[8];	/* row type of each fold port */
	int			nports;
	const DdirRowType *const *arr_type; /* image part of each arrangement */
	DdirKeySpec *key;			/* of the group */
	int			label_arr;		/* lossy keys: arrangement whose first val is
								 * the image of the key columns; or -1 */
	int			naggs;
	DdirAgg    *agg;
	Oid			owner;
} DdirAggPlan;

/* How this call can be maintained; raises 0A000 naming it if it cannot. */
extern DdirAggMethod ddir_agg_method(const Aggref *ref);

/* Types of (key columns, results). */
extern DdirRowType *ddir_agg_output_type(const DdirAggPlan *plan);

/* Copies the plan into cxt; out-of-line parts of states live there too. */
extern DdirReduceFns ddir_agg_make(MemoryContext cxt, const DdirAggPlan *plan);

#endif							/* DDIR_ROWS_AGG_H */
