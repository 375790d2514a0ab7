/*-------------------------------------------------------------------------
 *
 * test_agg.h
 *	  A query of one table as a small dataflow: made by flow.c, driven by
 *	  test_agg.c.
 *
 * test/modules/test_agg/test_agg.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_AGG_H
#define TEST_AGG_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "engine/op.h"
#include "rows/agg.h"

typedef struct Flow
{
	MemoryContext cxt;
	DdirGraph  *graph;
	uint64		step;
	DdirRowType *row;			/* of the table */
	List	   *keys;			/* Exprs over it */
	List	   *eqops;
	List	   *aggs;
	bool		global;
	DdirNode   *source;
	DdirRowType *out;
	DdirAggPlan plan;
	DdirReduceFns fns;			/* of the last reduction made */
	DdirFunc	keying;			/* of its port 0 */
} Flow;

/* SELECT keys, aggregates FROM table GROUP BY keys; "row" is the table's type. */
extern Flow *flow_make(MemoryContext cxt, const char *query, const DdirRowType *row,
					   DdirSinkFns sink);

#endif							/* TEST_AGG_H */
