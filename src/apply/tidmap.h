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

/* lives in a child of cxt */
extern DdirTidMap *ddir_tidmap_create(MemoryContext cxt);
extern void ddir_tidmap_destroy(DdirTidMap *m); /* NULL is allowed */
extern uint64 ddir_tidmap_rows(const DdirTidMap *m);

/* what is kept of a hash */
static inline uint32
ddir_tidmap_tag(uint64 hash)
{
	return (uint32) (hash >> 32);
}

/*
 * Make room before many rows are inserted, above all if that is done in the
 * order of tags: a table that only grows as they come has all of them at its
 * beginning.  times: of each tag; add up what this says for them.
 */
static inline uint64
ddir_tidmap_room(uint64 times)
{
	return Min(times, 8);		/* more share one place */
}

extern void ddir_tidmap_reserve(DdirTidMap *m, uint64 room);

extern void ddir_tidmap_insert(DdirTidMap *m, uint32 tag, const ItemPointerData *tid);

/* false: it is not there */
extern bool ddir_tidmap_remove(DdirTidMap *m, uint32 tag, const ItemPointerData *tid);

/* give back room, after rows were removed and others inserted */
extern void ddir_tidmap_trim(DdirTidMap *m);
extern uint64 ddir_tidmap_count(const DdirTidMap *m, uint32 tag);

/* up to max rows with this tag, in no order; their number */
extern uint64 ddir_tidmap_get(const DdirTidMap *m, uint32 tag, uint64 max, ItemPointerData *tids);

#endif							/* DDIR_APPLY_TIDMAP_H */
