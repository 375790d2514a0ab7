/*-------------------------------------------------------------------------
 *
 * flatmap.h
 *	  Flat maps: a row becomes as many as functions return for it, run by the
 *	  server's executor, as functions the engine can call.
 *
 * A flat map takes a row and makes rows of (columns of it that are kept, what
 * the functions return, perhaps their number).  The functions are run side by
 * side; those that come to their end before others go on as NULLs.
 *
 * Errors are as in programs (program.h): a row one of whose functions raises
 * one becomes an error row, and nothing else comes of it.
 *
 * src/rows/flatmap.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_FLATMAP_H
#define DDIR_ROWS_FLATMAP_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/parsenodes.h"

#include "engine/delta.h"
#include "rows/rowtype.h"

typedef struct DdirFlatMapSpec
{
	const char *label;			/* for errors and explain */
	Oid			owner;			/* InvalidOid: as it is */
	const DdirRowType *rel;		/* of the rows taken */
	List	   *kept;			/* Vars: their columns that are kept */

	/*
	 * Of RangeTblFunction, over Var(1, a).  As in FROM: each gives the
	 * columns of its result, and may return one row only.  "values": as in a
	 * select list, each gives one column, of whatever type; but a record
	 * without a type gives its columns.
	 */
	List	   *functions;
	bool		values;
	bool		ordinality;		/* the last column numbers the rows, from 1 */
	bool		outer;			/* no rows at all: one of NULLs */
	const DdirRowType *type;	/* of the rows made */
} DdirFlatMapSpec;

/* Copies what it needs into cxt.  Needs a transaction. */
extern DdirFunc ddir_flatmap_make(MemoryContext cxt, const DdirFlatMapSpec *spec);

/* The columns that a function in FROM returns; dropped ones are marked as such. */
extern TupleDesc ddir_function_desc(const RangeTblFunction *function);

#endif							/* DDIR_ROWS_FLATMAP_H */
