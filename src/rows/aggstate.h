/*-------------------------------------------------------------------------
 *
 * aggstate.h
 *	  What aggmake.c makes and aggrun.c runs: the aggregates of a reduction.
 *
 * A group's state is flat:
 *
 *	DdirKeyImage	- the key columns of some row of the group; left out where
 *					  they are not needed: there are none, or labels give what
 *					  is shown and equal bytes are equal keys
 *	accumulators	- one for each thing folded; aggregates share them
 *
 * src/rows/aggstate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_AGGSTATE_H
#define DDIR_ROWS_AGGSTATE_H

#include "postgres.h"

#include "rows/accum.h"
#include "rows/agg.h"
#include "rows/recompute.h"

/* Rows unpacked at once. */
#define DDIR_FOLD_ROWS 256

/*
 * An image at the head of a state; len 0: none yet (no image is empty).  Longer
 * ones stand elsewhere, the pointer to them in the last bytes of "inside".
 */
#define DDIR_KEY_INSIDE 12

typedef struct DdirKeyImage
{
	uint32		len;
	uint8		inside[DDIR_KEY_INSIDE];
} DdirKeyImage;

/* An accumulator, and what of a port's rows it takes. */
typedef struct DdirAggSlot
{
	DdirAccumKind kind;
	Size		offset;			/* in a state */
	int			place;			/* among the port's values; -1: none */
} DdirAggSlot;

typedef struct DdirAggPort
{
	const DdirRowType *type;
	DdirFetch  *key;			/* key columns, to 0 .. nkeys - 1 */
	DdirFetch  *fetch;			/* what accumulators take; NULL: nothing */
	int			nvalues;
	Datum	   *values;			/* DDIR_FOLD_ROWS times nvalues */
	bool	   *isnull;
	int			nslots;
	DdirAggSlot *slot;
	/* while being made */
	int		   *to;				/* place of each column, or -1 */
} DdirAggPort;

typedef struct DdirAggOutput
{
	DdirAggMethod method;
	const DdirAccumFinal *final;	/* FOLD */
	Size		offset;
	int			arr;			/* SEEK, RECOMPUTE */
	DdirRecompute *recompute;
} DdirAggOutput;

typedef struct DdirAggArr
{
	DdirRowType *type;
	Datum	   *values;
	bool	   *isnull;
} DdirAggArr;

typedef struct DdirAggs
{
	MemoryContext cxt;
	MemoryContext state_cxt;	/* out-of-line parts of states */
	MemoryContext scratch;
	MemoryContext message_cxt;
	Oid			owner;

	int			nkeys;
	bool		exact;			/* equal bytes are equal keys */
	bool		keeps_key;		/* states begin with a DdirKeyImage */
	DdirKeySpec *key;
	DdirRowType *key_type;
	Datum	   *key_values;		/* of the group at work */
	bool	   *key_isnull;
	Datum	   *row_values;		/* key columns of a row */
	bool	   *row_isnull;
	DdirDeltas	buffer;			/* images are made here */
	int			label_arr;

	int			nports;
	DdirAggPort port[DDIR_AGG_PORTS_MAX];
	int			narrs;
	DdirAggArr *arr;
	int			noutputs;
	DdirAggOutput *output;
	bool		foreign;		/* results call functions that may do anything */
	Size		state_size;
	DdirRowType *out_type;
	Datum	   *out_values;
	bool	   *out_isnull;
} DdirAggs;

/* aggrun.c */
extern int	ddir_agg_same(void *ctx, int port, DdirGroup *group, DdirRef val);
extern bool ddir_agg_fold(void *ctx, int port, uint32_t n, DdirGroup *const *group,
						  const DdirRef *val, const int64_t *diff);
extern bool ddir_agg_emit(void *ctx, uint32_t n, DdirGroup *const *group, int64_t diff,
						  DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err);
extern void ddir_agg_drop(void *ctx, void *state);

#endif							/* DDIR_ROWS_AGGSTATE_H */
