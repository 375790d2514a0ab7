/*-------------------------------------------------------------------------
 *
 * tidmap.h
 *	  From the hash of a row's image to where such rows are in a table.
 *
 * A bag: any number of rows may have one hash, and rows of different images
 * may share what is kept of it (32 bits), so whoever looks a row up compares
 * images before touching what it finds.
 *
 * src/apply/tidmap.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_APPLY_TIDMAP_H
#define DDIR_APPLY_TIDMAP_H

#include "postgres.h"

#include "storage/itemptr.h"

typedef struct DdirTidMap DdirTidMap;

/* rows: how many are expected; all lives in a child of cxt */
extern DdirTidMap *ddir_tidmap_create(MemoryContext cxt, uint64 rows);
extern void ddir_tidmap_destroy(DdirTidMap *m); /* NULL is allowed */
extern uint64 ddir_tidmap_rows(const DdirTidMap *m);

/* of all it holds, for tests */
extern Size ddir_tidmap_bytes(const DdirTidMap *m);

/* what is kept of a hash */
static inline uint32
ddir_tidmap_tag(uint64 hash)
{
	return (uint32) (hash >> 32);
}

extern void ddir_tidmap_insert(DdirTidMap *m, uint32 tag, const ItemPointerData *tid);

/* false: it is not there */
extern bool ddir_tidmap_remove(DdirTidMap *m, uint32 tag, const ItemPointerData *tid);
extern uint64 ddir_tidmap_count(const DdirTidMap *m, uint32 tag);

/* up to max rows with this tag, in no order; their number */
extern uint64 ddir_tidmap_get(const DdirTidMap *m, uint32 tag, uint64 max, ItemPointerData *tids);

#endif							/* DDIR_APPLY_TIDMAP_H */
