/*-------------------------------------------------------------------------
 *
 * instant.h
 *	  Conditions and columns that the clock changes, and at which instants.
 *
 * In expressions here Var(1, a) is a column of the row and Var(2, 1) the clock,
 * a timestamp with time zone.  What they make of a row changes only where the
 * value of one of its *dials* does: an expression of which every value is had in
 * one stretch of time, or nearly so (see DdirDial).
 *
 * src/rows/instant.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_INSTANT_H
#define DDIR_ROWS_INSTANT_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "engine/op.h"
#include "rows/rowtype.h"

/* Time zones change their offsets, and days begin, where this many us divide. */
#define DDIR_CELL_USECS (INT64CONST(15) * 60 * 1000000)
#define DDIR_DIAL_SHIFTS 4

typedef struct DdirDial
{
	/*
	 * Exact: an instant computed from the row; the condition it is part of
	 * changes there ("at"), or just behind it ("behind"), or both.
	 */
	bool		exact;
	bool		at;
	bool		behind;
	int64		shift;			/* of the clock it is compared with, us */

	/* Otherwise a value, of the row and the clock. */
	Expr	   *expr;
	bool		truth;			/* a condition that becomes "final" in the end */
	bool		final;

	/*
	 * Times in days and months go back a little now and then: a value comes
	 * again no later than so many microseconds after it was last had.  Then
	 * it goes steadily between the places where a cell, so much earlier,
	 * begins.
	 */
	int64		slack;
	int			nshifts;
	int64		shifts[DDIR_DIAL_SHIFTS];
} DdirDial;

typedef struct DdirInstantSpec
{
	const char *label;			/* for errors */
	Oid			owner;
	const DdirRowType *rel;
	List	   *quals;
	List	   *targets;
	List	   *dials;			/* of DdirDial * */
} DdirInstantSpec;

/* Copies what it needs into cxt.  Needs a transaction. */
extern DdirScheduleFns ddir_instants_make(MemoryContext cxt, const DdirInstantSpec *spec);

/* Is it a call of now() or one of its like? */
extern bool ddir_is_clock(const Node *node);

/* Does it call one? */
extern bool ddir_expr_reads_clock(Node *expr);

/* a copy in which calls are Var(2, 1) */
extern Node *ddir_clock_as_var(Node *expr);

/* The clock, but no row, and can it be computed? */
extern bool ddir_expr_is_clock_total(Node *expr);

#endif							/* DDIR_ROWS_INSTANT_H */
