/*-------------------------------------------------------------------------
 *
 * test_ddir.h
 *	  What the drivers share.
 *
 * test/modules/test_ddir/test_ddir.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef TEST_DDIR_H
#define TEST_DDIR_H

#include "postgres.h"

#include "fmgr.h"

#include "base/port.h"
#include "rows/rowtype.h"

/* A row taken apart. */
typedef struct Row
{
	DdirRowType *type;
	Datum	   *values;
	bool	   *isnull;
} Row;

extern Row	row_of(Datum composite);

/* an empty run in CurrentMemoryContext */
extern DdirDeltas *new_deltas(bool keyed);

/* a copy of the bytes that ends where no memory is readable any more */
extern DdirRef guarded(const void *p, uint32 len);

/* elements of an array, by its element type */
extern int	elements_of(Datum array, Oid *type, Datum **values, bool **isnull);

#endif							/* TEST_DDIR_H */
