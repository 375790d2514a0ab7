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
 *				  money; bool_and, bool_or, every, bit_and, bit_or, bit_xor of
 *				  integers (by counts)
 *	seek		- min and max, and others that are the first value in an order
 *				  (pg_aggregate.aggsortop), over an arrangement in that order
 *	recompute	- the aggregate's own functions, over the group's rows in an
 *				  arrangement, in the order of the rows' images where the
 *				  query leaves it free; ordered-set and hypothetical-set
 *				  aggregates are always of this kind
 *
 * What is folded.  Rows of port p have the type fold_type[p]: first the
 * group's key columns (nkeys of them, on every port), then arguments and
 * filters wherever "arg" and "filter" say.  Only FOLD aggregates read them. A
 * row for which the FILTER is not true has NULL in that aggregate's arguments
 * and not true in its filter column; the filter column is read for count(*)
 * only, so where there are arguments "filter" may be -1.  A DISTINCT aggregate
 * of which ddir_agg_needs_distinct is true has a port of its own, fed by the
 * distinct (key columns, argument).
 *
 * What is in arrangements.  They have the group's key as key.  A val is, by
 * who reads it:
 *
 *	SEEK		- the order encoding of the argument (encoded descending if
 *				  ddir_agg_seek_order says so), then the image of the argument;
 *				  of rows where it is not NULL and the FILTER is true
 *	RECOMPUTE	- the image of all of ref->args in their order (the arguments,
 *				  then those that are there for ORDER BY or DISTINCT only); of
 *				  rows where the FILTER is true.  Not distinct: recomputing drops
 *				  duplicates itself.  If the direct arguments of an ordered-set
 *				  aggregate vary by group (ddir_agg_direct_varies), they come
 *				  next, and then the FILTER, if there is one: of all rows, as a
 *				  group may have none for which it is true
 *	label		- the image of the key columns
 *
 * arr_type[k] is the type of the image alone.  If the key is not exact
 * (!key->exact: rows of several groups may meet under one key), every image,
 * but the label's, which is they, has the nkeys key columns before its other
 * columns, and arr_type[k] has them too.  Order encodings stay in front.
 *
 * The output row: the key columns, then the results (ddir_agg_output_type).
 * The key columns are those of any row of the group where the key's bytes
 * determine them (!key->lossy); else they are read from label_arr, the first
 * val of the group.
 *
 * A row error of an aggregate (overflow, an error in its own functions) takes
 * the place of its group's output row.  The functions returned never longjmp.
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

#define DDIR_AGG_PORTS_MAX 64

typedef enum DdirAggMethod
{
	DDIR_AGG_FOLD,
	DDIR_AGG_SEEK,
	DDIR_AGG_RECOMPUTE
} DdirAggMethod;

typedef struct DdirAgg
{
	Aggref	   *ref;			/* the call; the expressions in its args are
								 * not looked at, but for their types */
	DdirAggMethod method;
	int			port;			/* FOLD: input whose rows hold the arguments */
	int			nargs;			/* FOLD: 0 (count(*)) or 1 */
	int		   *arg;			/* FOLD: columns (from 0) in that input's rows */
	int			filter;			/* FOLD: boolean column, or -1 */
	int			arr;			/* SEEK, RECOMPUTE: arrangement read; else -1 */
} DdirAgg;

typedef struct DdirAggPlan
{
	int			nkeys;
	const DdirRowType *fold_type[DDIR_AGG_PORTS_MAX];
	int			nports;
	const DdirRowType *const *arr_type; /* image part of each arrangement */
	DdirKeySpec *key;			/* of the group; may be NULL without keys */
	int			label_arr;		/* lossy keys: the arrangement of labels; or
								 * -1 */
	int			naggs;
	DdirAgg    *agg;
	Oid			owner;			/* whose rights recomputing uses; InvalidOid:
								 * as it is */
} DdirAggPlan;

/*
 * How this call can be maintained; raises 0A000 naming it if it cannot.
 * nargs of a FOLD aggregate is the length of its args less those that are
 * there for ORDER BY only, which it does not need.
 */
extern DdirAggMethod ddir_agg_method(const Aggref *ref);

/*
 * Does this FOLD aggregate need distinct rows?  False if there is no DISTINCT
 * in the call or if it makes no difference (as for bool_or), or the method is
 * another.
 */
extern bool ddir_agg_needs_distinct(const Aggref *ref);

/* Are the direct arguments of the call something of the group? */
extern bool ddir_agg_direct_varies(const Aggref *ref);

/*
 * For SEEK: the "<" operator of the order, and whether the arrangement has the
 * greatest first.
 */
extern void ddir_agg_seek_order(const Aggref *ref, Oid *ltop, bool *descending);

/*
 * The aggregate of ours that sums floats up exactly, as FOLD does, in place of
 * this one; InvalidOid: it is exact as it is, or is of another kind.
 */
extern Oid	ddir_agg_exact(Oid aggfnoid);

/* Types of (key columns, results). */
extern DdirRowType *ddir_agg_output_type(const DdirAggPlan *plan);

/*
 * Copies the plan into cxt; out-of-line parts of states live there too.
 * Needs a transaction.  Raises 42501 if the owner may not call an aggregate.
 */
extern DdirReduceFns ddir_agg_make(MemoryContext cxt, const DdirAggPlan *plan);

#endif							/* DDIR_ROWS_AGG_H */
