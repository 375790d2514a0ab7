/*-------------------------------------------------------------------------
 *
 * estimate.h
 *	  How many rows and bytes relations of DDIR will have, by the server's
 *	  statistics.
 *
 * The estimates choose between plans of one query.  They are taken when a
 * dataflow is made and never again: a view that is hydrated keeps its plan.
 *
 * src/plan/estimate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_ESTIMATE_H
#define DDIR_PLAN_ESTIMATE_H

#include "postgres.h"

#include "plan/ir.h"

/*
 * Set the rows of everything below and including root; those of scans are
 * taken as they are.  Functions of operators run by the rights of "owner".
 */
extern void ddir_estimate(DdirRel *root, Oid owner);

/* The same for root alone, its inputs having been estimated. */
extern void ddir_estimate_one(DdirRel *root, Oid owner);

/* Rows of the join of some inputs of a join (a set of numbers from 0). */
typedef struct DdirJoinEstimate DdirJoinEstimate;
extern DdirJoinEstimate *ddir_estimate_join(DdirRel *join, Oid owner);
extern double ddir_estimate_join_rows(DdirJoinEstimate *e, uint64 inputs);

/* How many rows of it are different in some columns (from 1). */
extern double ddir_estimate_distinct(const DdirRel *rel, Bitmapset *columns);

/* Average bytes of a value of column a (from 1). */
extern double ddir_estimate_width(const DdirRel *rel, AttrNumber a);

/* Bytes of values of these expressions, as is usual for their types. */
extern double ddir_exprs_width(const List *exprs);

/* Do no two rows agree in all of these columns (from 1)?  If it is known. */
extern bool ddir_rel_is_unique(const DdirRel *rel, Bitmapset *columns);

#endif							/* DDIR_PLAN_ESTIMATE_H */
