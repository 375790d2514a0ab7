/*-------------------------------------------------------------------------
 *
 * rowtype.h
 *	  Row types, and the packed image that is a row's identity.
 *
 * An image is the canonical form of a row: equal images are the same row, and
 * an old image retracts exactly what its insertion added.  Values are
 * detoasted, decompressed, and their varlena headers are normalised.
 *
 *	image := 0 value...                  no column is NULL
 *	       | 1 bitmap value...           bit i set: column i is not NULL
 *
 * By-value columns take typlen bytes, unaligned; by-reference ones of fixed
 * length typlen bytes; varlenas a 1-byte header (short form, unaligned) where
 * they fit in 126 bytes, else a 4-byte header; cstrings end with their zero.
 * There is no padding: ddir_image_unpack copies what must be aligned.
 *
 * A column that nobody uses may be packed as NULL (see "used").
 *
 * src/rows/rowtype.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_ROWTYPE_H
#define DDIR_ROWS_ROWTYPE_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

#include "engine/delta.h"

typedef struct DdirColumnType
{
	Oid			typid;			/* InvalidOid: a dropped column, always NULL */
	int32		typmod;
	Oid			collation;
	int16		typlen;
	bool		typbyval;
	char		typalign;
} DdirColumnType;

typedef struct DdirRowType
{
	int			natts;
	DdirColumnType col[FLEXIBLE_ARRAY_MEMBER];
} DdirRowType;

/* All allocate in CurrentMemoryContext. */
extern DdirRowType *ddir_rowtype_from_tupdesc(TupleDesc desc);
extern DdirRowType *ddir_rowtype_from_exprs(List *exprs);	/* of Expr */
extern TupleDesc ddir_rowtype_tupdesc(const DdirRowType *type);
extern bool ddir_rowtype_equal(const DdirRowType *a, const DdirRowType *b);

/*
 * Append the image to the val lane of out and return its length; the caller
 * closes the delta.  used: attribute numbers (from 1) that matter, or NULL
 * for all.  May detoast: needs a transaction where values are external.
 * Garbage goes to CurrentMemoryContext.
 */
extern uint32 ddir_image_pack(const DdirRowType *type, const Datum *values,
							  const bool *isnull, const Bitmapset *used, DdirDeltas *out);

/*
 * Split an image.  Columns whose bit in "wanted" is not set may be left alone
 * (NULL: all are wanted).  Pointers lead into the image, or into scratch where
 * alignment asks for a copy.  Returns false if the image is malformed; never
 * reads outside it.
 */
extern bool ddir_image_unpack(const DdirRowType *type, DdirRef image, const bool *wanted,
							  Datum *values, bool *isnull, MemoryContext scratch);

/* text form for people: like a row literal, (1,abc,) */
extern char *ddir_image_text(const DdirRowType *type, DdirRef image);

#endif							/* DDIR_ROWS_ROWTYPE_H */
