/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Consolidated order of a run: which of its rows come out, in which order,
 *	  with which diffs.
 *
 * This moves 16 bytes a row and leaves the lanes alone, so that whoever wants
 * the rows in order gathers each lane once, straight to where it will live.
 *
 *	ddir_order_make		- sort, sum, drop zeros
 *	ddir_order_free		- its memory, which is in the run's arena
 *
 * src/engine/order.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_ORDER_H
#define DDIR_ENGINE_ORDER_H

#include "engine/delta.h"

typedef struct DdirOrderItem
{
	uint64_t	k;				/* the row's hash */
	uint32_t	i;				/* its place in the run */
} DdirOrderItem;

typedef struct DdirOrder
{
	uint32_t	n;
	uint32_t	keys;			/* different hashes */
	DdirOrderItem *item;
	int64_t    *diff;			/* or NULL: all are +1 */
	DdirOrderItem *room[2];
} DdirOrder;

/* Fills the hash lane of a run without keys. */
extern void ddir_order_make(DdirOrder *o, DdirDeltas *d);
extern void ddir_order_free(DdirOrder *o);

#endif							/* DDIR_ENGINE_ORDER_H */
