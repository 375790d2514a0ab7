/*-------------------------------------------------------------------------
 *
 * accum.h
 *	  Native accumulators: flat states of aggregates that additions and
 *	  subtractions keep exact.
 *
 * An accumulator is a few dozen zeroed bytes at some offset of a group's
 * state.  Values are folded in by the column: one call for a chunk of rows,
 * each with its group and its diff.  All that is kept are sums and counts, so
 * rows may come in any order, a deletion before its insertion too; only the
 * state in between is then meaningless.  Folding raises no row errors.
 *
 * Several aggregates may share one accumulator: what it holds is its kind's
 * matter, what is made of it the *final*'s.
 *
 *	ddir_accum_final	- how an aggregate is to be had, if natively
 *	ddir_accum_fold		- a column of a chunk of rows into the groups' states
 *	ddir_accum_result	- the aggregate's result
 *	ddir_accum_drop		- free what an accumulator holds out of line
 *	ddir_accum_save		- what it holds as bytes, however it came about
 *	ddir_accum_load		- an empty one comes to hold that
 *
 * Results are the server's own: integer and numeric ones come out of its
 * arithmetic, with the display scale it gives them.  Where the server's answer
 * depends on the order of rows, which is so for floats alone, ours is the
 * exact one, rounded once: sum, avg and the variance family.  So avg(1e308,
 * 1e308) is 1e308 here, where the server may say "overflow".
 *
 * src/rows/accum.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_ACCUM_H
#define DDIR_ROWS_ACCUM_H

#include "postgres.h"

#include "fmgr.h"

#include "engine/op.h"
#include "rows/decimal.h"
#include "rows/superacc.h"

typedef enum DdirAccumKind
{
	DDIR_ACCUM_ROWS,			/* count(*) */
	DDIR_ACCUM_COUNT,			/* count(x) */
	DDIR_ACCUM_INT2,
	DDIR_ACCUM_INT4,
	DDIR_ACCUM_INT8,			/* money too */
	DDIR_ACCUM_INT2_SQUARES,	/* sums of values and of their squares */
	DDIR_ACCUM_INT4_SQUARES,
	DDIR_ACCUM_INT8_SQUARES,
	DDIR_ACCUM_NUMERIC,
	DDIR_ACCUM_NUMERIC_SQUARES,
	DDIR_ACCUM_FLOAT4,
	DDIR_ACCUM_FLOAT4_SQUARES,
	DDIR_ACCUM_FLOAT8,
	DDIR_ACCUM_FLOAT8_SQUARES,
	DDIR_ACCUM_INTERVAL,
	DDIR_ACCUM_BOOL,
	DDIR_ACCUM_BITS2,
	DDIR_ACCUM_BITS4,
	DDIR_ACCUM_BITS8
} DdirAccumKind;

typedef struct DdirCountAccum
{
	int64		count;			/* of values that are not NULL */
} DdirCountAccum;

typedef struct DdirIntAccum
{
	int64		count;
	int128		sum;
	/* with squares only; in two's complement, least word first */
	uint64		squares[3];
} DdirIntAccum;

/* Counts of values that are no numbers; out of line, as a rule there are none. */
typedef struct DdirSpecials
{
	int64		nan;
	int64		plus_inf;
	int64		minus_inf;
	int64		minus_zero;		/* floats only; these are numbers */
} DdirSpecials;

typedef struct DdirNumericAccum
{
	int64		count;			/* of numbers */
	DdirSpecials *specials;		/* or NULL */
	DdirScales	scales;
	DdirDecimal sum;
	/* with squares only */
	DdirDecimal squares;
} DdirNumericAccum;

typedef struct DdirFloatAccum
{
	int64		count;			/* of numbers */
	DdirSpecials *specials;		/* or NULL */
	DdirSuperacc sum;
	/* with squares only */
	DdirSuperacc squares;
} DdirFloatAccum;

typedef struct DdirIntervalAccum
{
	int64		count;			/* of finite ones */
	DdirSpecials *specials;		/* or NULL */
	int128		month;
	int128		day;
	int128		time;
} DdirIntervalAccum;

typedef struct DdirBoolAccum
{
	int64		count;
	int64		count_true;
} DdirBoolAccum;

typedef struct DdirBitsAccum
{
	int64		count;
	int64		bit[FLEXIBLE_ARRAY_MEMBER]; /* values that have it set */
} DdirBitsAccum;

/* A column of a chunk of rows: value i is value[i * stride]. */
typedef struct DdirAccumInput
{
	uint32		n;
	DdirGroup  *const *group;
	const int64 *diff;
	const Datum *value;			/* ROWS: of the filter, or NULL */
	const bool *isnull;
	int			stride;
	Size		offset;			/* of the accumulator in a state */
	MemoryContext cxt;			/* for what is out of line */
} DdirAccumInput;

typedef struct DdirAccumFinal DdirAccumFinal;

struct DdirAccumFinal
{
	Oid			aggfnoid;
	DdirAccumKind kind;
	/* false: NULL.  May raise row errors; allocates in CurrentMemoryContext */
	bool		(*result) (const DdirAccumFinal *final, const void *accum, Datum *value);
	PGFunction	server;			/* variances: the server's function for it */
	bool		sample;			/* variances: of a sample, else the population */
	bool		root;			/* variances: the standard deviation */
	bool		idempotent;		/* duplicates make no difference */
};

/* NULL if this aggregate has no native accumulator. */
extern const DdirAccumFinal *ddir_accum_final(Oid aggfnoid);

/* a multiple of 8 */
extern Size ddir_accum_size(DdirAccumKind kind);
extern void ddir_accum_fold(DdirAccumKind kind, const DdirAccumInput *in);
extern void ddir_accum_drop(DdirAccumKind kind, void *accum);

/* cxt: for what is out of line; "from" goes on to what is behind the bytes */
extern void ddir_accum_save(DdirAccumKind kind, const void *accum, DdirBytes *to);
extern void ddir_accum_load(DdirAccumKind kind, void *accum, MemoryContext cxt,
							const uint8_t **from);

static inline bool
ddir_accum_result(const DdirAccumFinal *final, const void *accum, Datum *value)
{
	return final->result(final, accum, value);
}

/*
 * Compare our reading and writing of what the server keeps to itself (numeric
 * states) with what it makes of it; raises if they differ.
 */
extern void ddir_accum_self_check(void);

#endif							/* DDIR_ROWS_ACCUM_H */
