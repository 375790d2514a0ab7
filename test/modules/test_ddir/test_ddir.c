/*-------------------------------------------------------------------------
 *
 * test_ddir.c
 *	  The drivers' entry, and what they share.
 *
 * test/modules/test_ddir/test_ddir.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/htup_details.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "test_ddir.h"

PG_MODULE_MAGIC;

Row
row_of(Datum composite)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(composite);
	TupleDesc	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header),
											  HeapTupleHeaderGetTypMod(header));
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header),.t_data = header};
	Row			row;

	row.type = ddir_rowtype_from_tupdesc(desc);
	row.values = palloc(desc->natts * sizeof(Datum) + 1);
	row.isnull = palloc(desc->natts * sizeof(bool) + 1);
	heap_deform_tuple(&tuple, desc, row.values, row.isnull);
	ReleaseTupleDesc(desc);
	return row;
}

DdirDeltas *
new_deltas(bool keyed)
{
	DdirDeltas *d = palloc(sizeof(DdirDeltas));

	ddir_deltas_init(d, ddir_arena_of(CurrentMemoryContext), 1, keyed);
	return d;
}

/*
 * The bytes stand at the end of a readable page, so reading one too many is a
 * crash.  The pages are kept and used again.
 */
DdirRef
guarded(const void *p, uint32 len)
{
	static uint8_t *pages = NULL;
	static size_t readable = 0;
	size_t		page = sysconf(_SC_PAGESIZE);
	DdirRef		r = {NULL, len};

	if (len > readable)
	{
		if (pages)
			munmap(pages, readable + page);
		readable = ((size_t) len / page + 1) * page;
		pages = mmap(NULL, readable + page, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED || mprotect(pages + readable, page, PROT_NONE) != 0)
			elog(ERROR, "could not map memory: %m");
	}
	r.p = pages + readable - len;
	memcpy(unconstify(uint8_t *, r.p), p, len);
	return r;
}

int
elements_of(Datum array, Oid *type, Datum **values, bool **isnull)
{
	ArrayType  *a = DatumGetArrayTypeP(array);
	int16		typlen;
	bool		typbyval;
	char		typalign;
	int			n;

	*type = ARR_ELEMTYPE(a);
	get_typlenbyvalalign(*type, &typlen, &typbyval, &typalign);
	deconstruct_array(a, *type, typlen, typbyval, typalign, values, isnull, &n);
	return n;
}
