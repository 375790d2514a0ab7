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
 * There is no padding: ddir_image_unpack copies what must be aligned.  Types
 * that are stored plain, whose functions expect it so (int2vector, oidvector),
 * always have the 4-byte header.  Dropped columns have no value and do not
 * count as NULL: an image that holds no other NULL starts with 0.
 *
 * A column that nobody uses may be packed as NULL (see "used").
 *
 * rowtype.c makes row types, image.c packs and unpacks.
 *
 * Row types come from the constructors below only; the fields from "packable"
 * and "width" on are computed by them.
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
	bool		packable;		/* varlena that may have a short header */
	bool		composite;		/* a row: may hold TOAST pointers of its own */
	int32		offset;			/* in images without NULLs; -1: not constant */
} DdirColumnType;

typedef struct DdirRowType
{
	int			natts;
	uint32		width;			/* of images without NULLs; 0: not constant */
	DdirColumnType col[FLEXIBLE_ARRAY_MEMBER];
} DdirRowType;

/* All allocate in CurrentMemoryContext. */
extern DdirRowType *ddir_rowtype_from_tupdesc(TupleDesc desc);
extern DdirRowType *ddir_rowtype_from_exprs(List *exprs);	/* of Expr */

/* typmods and collations may be NULL: none */
extern DdirRowType *ddir_rowtype_make(int natts, const Oid *typids, const int32 *typmods,
									  const Oid *collations);
extern DdirRowType *ddir_rowtype_copy(const DdirRowType *type);
extern TupleDesc ddir_rowtype_tupdesc(const DdirRowType *type);
extern bool ddir_rowtype_equal(const DdirRowType *a, const DdirRowType *b);

/*
 * Append the image to the val lane of out and return its length; the caller
 * closes the delta.  used: attribute numbers (from 1) that matter, or NULL
 * for all; the others become NULL and are not looked at.  May detoast: needs a
 * transaction where values are external.  Garbage goes to
 * CurrentMemoryContext.
 */
extern uint32 ddir_image_pack(const DdirRowType *type, const Datum *values,
							  const bool *isnull, const Bitmapset *used, DdirDeltas *out);

/*
 * The same behind the first "at" bytes of this val, which were written
 * already; the length returned is that of the image alone.
 */
extern uint32 ddir_image_pack_at(const DdirRowType *type, const Datum *values,
								 const bool *isnull, const Bitmapset *used,
								 DdirDeltas *out, uint32 at);

/*
 * Split an image.  Columns whose bit in "wanted" is not set may be left alone
 * (NULL: all are wanted).  Pointers lead into the image, or into scratch where
 * alignment asks for a copy.  Returns false if the image is malformed; never
 * reads outside it.
 */
extern bool ddir_image_unpack(const DdirRowType *type, DdirRef image, const bool *wanted,
							  Datum *values, bool *isnull, MemoryContext scratch);

/*
 * A fetch is unpacking prepared: which columns go where.
 */
typedef struct DdirFetch
{
	const DdirRowType *type;
	int			ncols;			/* columns to walk: up to the last wanted one */
	int			nwanted;
	uint32		direct;			/* if all wanted ones have constant offsets:
								 * the bytes that hold them; else 0 */
	int		   *col;			/* nwanted column numbers, from 0, ascending */
	int		   *to;				/* ncols places in values, -1: not wanted */
} DdirFetch;

/* to: for each column its place, or -1.  Refers to type. */
extern DdirFetch *ddir_fetch_make(const DdirRowType *type, const int *to);

/* as ddir_image_unpack; of values and isnull only the wanted places are set */
extern bool ddir_fetch(const DdirFetch *fetch, DdirRef image, Datum *values,
					   bool *isnull, MemoryContext scratch);

/*
 * A varlena value as it is in images: not external, not compressed (its header
 * may be of either kind).  What had to be made is in CurrentMemoryContext.
 */
extern struct varlena *ddir_varlena_flat(Datum value, bool composite);

/* text form for people: like a row literal, (1,abc,); needs a transaction */
extern char *ddir_image_text(const DdirRowType *type, DdirRef image);

#endif							/* DDIR_ROWS_ROWTYPE_H */
