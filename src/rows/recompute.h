/*-------------------------------------------------------------------------
 *
 * recompute.h
 *	  An aggregate's own functions, run over the rows of a group.
 *
 * What the server's executor does for an aggregate over sorted input, with
 * one difference: rows come in an order of ours (their images'), and that is
 * also how ties of an ORDER BY inside the call are broken.
 *
 * src/rows/recompute.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_RECOMPUTE_H
#define DDIR_ROWS_RECOMPUTE_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "rows/rowtype.h"

typedef struct DdirRecompute DdirRecompute;

/*
 * The rows of a group, in the order of their images: all columns of the row
 * type given to ddir_recompute_make, and how many times the row is there.
 * False at the end.  What must be copied is copied to cxt.
 */
typedef struct DdirRowSource
{
	bool		(*next) (void *ctx, MemoryContext cxt, Datum *values, bool *isnull, int64 *times);
	void	   *ctx;
} DdirRowSource;

/*
 * Columns of the rows: "skip" others, then what agg.h says of RECOMPUTE.  Needs
 * a transaction; what it keeps is in cxt.
 */
extern DdirRecompute *ddir_recompute_make(MemoryContext cxt, const Aggref *ref,
										  const DdirRowType *type, int skip);

/*
 * The result, in CurrentMemoryContext; false: NULL.  Raises what the functions
 * raise; may be called again after that.
 */
extern bool ddir_recompute(DdirRecompute *r, const DdirRowSource *rows, Datum *value);

#endif							/* DDIR_ROWS_RECOMPUTE_H */
