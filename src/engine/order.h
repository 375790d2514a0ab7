/*-------------------------------------------------------------------------
 *
 * order.h
 *	  Consolidated order of a run: which of its rows come out, in which order,
 *	  with which diffs.
 *
 * This moves 24 bytes a row and leaves the lanes alone, so that whoever wants
 * the rows in order gathers each lane once, straight to where it will live.
 * Keys and vals of 8 bytes need no gathering: the items hold them.
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
	uint64_t	hash;
	uint64_t	prefix;			/* of the val, see ddir_bytes_prefix */
	uint32_t	i;				/* the row's place in the run */
	bool		same;			/* equal to the one before */
} DdirOrderItem;

/* Widths all rows of the run have, or -1. */
typedef struct DdirOrder
{
	uint32_t	n;
	uint32_t	keys;			/* different hashes */
	int64_t		key_width;
	int64_t		val_width;
	DdirOrderItem *item;
	int64_t    *diff;			/* or NULL: all are +1 */
	DdirOrderItem *tmp;
} DdirOrder;

/* Fills the hash lane of a run without keys. */
extern void ddir_order_make(DdirOrder *o, DdirDeltas *d);
extern void ddir_order_free(DdirOrder *o);

/* The val of an item where all have 8 bytes. */
static inline uint64_t
ddir_order_word(const DdirOrderItem *item)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap64(item->prefix);
#else
	return item->prefix;
#endif
}

#endif							/* DDIR_ENGINE_ORDER_H */
