/*-------------------------------------------------------------------------
 *
 * key.h
 *	  Keys: bytes that are equal where the values are.
 *
 * Kinds (what NULL means):
 *
 *	join		- a NULL in any column matches nothing: no key
 *	group		- NULLs are equal to each other
 *	identity	- NULLs are equal, and so are only values of the same image
 *
 * A column is encoded by one of these methods, found from its equality
 * operator:
 *
 *	image		- btree "equalimage" holds: the bytes are the value's own
 *	widened		- integers of any width as 8 bytes, text-like types as text
 *	canonical	- numeric, floats, char(n), interval, citext: equal values have
 *				  equal bytes, but bytes do not give the value's image back
 *				  ("lossy")
 *	hash		- the type's 64-bit extended hash: unequal values may collide
 *				  ("inexact"); whoever uses such keys checks equality again.
 *				  Text under a nondeterministic collation goes here.  A type
 *				  that cannot be hashed has a constant for a hash: right, and
 *				  slow.
 *
 * Two columns may be compared by their keys iff their encodings are equal
 * (ddir_key_compatible), as the operators of one family make sure.
 *
 * Layout: one column of fixed width is its bytes, NULL being the empty key.
 * Anything else starts with a bitmap of NULLs for the group and identity
 * kinds, followed by the columns, those of variable length behind a 4-byte
 * length unless they are the last.
 *
 * src/rows/key.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ROWS_KEY_H
#define DDIR_ROWS_KEY_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "fmgr.h"

#include "engine/delta.h"
#include "rows/rowtype.h"

typedef enum DdirKeyKind
{
	DDIR_KEY_JOIN,
	DDIR_KEY_GROUP,
	DDIR_KEY_IDENTITY
} DdirKeyKind;

/* How a column's values become bytes. */
typedef enum DdirEncoding
{
	DDIR_ENCODE_IMAGE,			/* the value's own bytes */
	DDIR_ENCODE_INT8,			/* int2, int4, int8 (and oid) widened */
	DDIR_ENCODE_TEXT,			/* text, varchar, name: bytes, no header */
	DDIR_ENCODE_BPCHAR,			/* without trailing blanks */
	DDIR_ENCODE_NUMERIC,		/* canonical */
	DDIR_ENCODE_FLOAT8,			/* float4 and float8: one NaN, no -0 */
	DDIR_ENCODE_INTERVAL,		/* its comparison value */
	DDIR_ENCODE_DATETIME,		/* date or timestamp, as a timestamp */
	DDIR_ENCODE_CITEXT,			/* folded as the type does */
	DDIR_ENCODE_HASH			/* extended hash, inexact */
} DdirEncoding;

typedef struct DdirKeyColumn
{
	Oid			typid;			/* a domain's base */
	Oid			collation;
	Oid			eqop;			/* InvalidOid for identity */
	DdirEncoding encoding;
	int			width;			/* of the bytes, or -1 */
	bool		lossy;			/* bytes do not determine the image */
	bool		exact;			/* equal bytes imply equal values */
	bool		typbyval;
	int16		typlen;
	bool		composite;
	bool		extended;		/* fn is the 64-bit hash; else the 32-bit one */
	bool		trimmed;		/* hashed as text without trailing blanks */
	FmgrInfo	eq;				/* of two values of this type; not for
								 * identity */
	FmgrInfo	fn;				/* hash; fn_oid invalid: a constant */
} DdirKeyColumn;

typedef struct DdirKeySpec
{
	DdirKeyKind kind;
	int			ncols;
	bool		lossy;			/* any column is */
	bool		exact;			/* all columns are */
	bool		total;			/* encoding raises no errors */
	DdirKeyColumn col[FLEXIBLE_ARRAY_MEMBER];
} DdirKeySpec;

/*
 * In place of an equality operator: values are equal if their images are.  For
 * one column among others that are compared by operators.
 */
#define DDIR_EQUALITY_IMAGE	((Oid) 1)

/*
 * eqops: the equality operator of each column, whose left or right input is
 * typid (or InvalidOid: the type's default equality).  For cross-type operators
 * both sides are made with the same eqop, each with its own typid.  eqops and
 * collations may be NULL: the types' own.  For identity neither matters.
 * Raises 0A000 naming the type if it has no usable equality, 42P22 where a
 * string has no collation to be compared by.
 * Allocates in CurrentMemoryContext.
 */
extern DdirKeySpec *ddir_key_make(DdirKeyKind kind, int ncols, const Oid *typids,
								  const Oid *collations, const Oid *eqops);
extern DdirKeySpec *ddir_key_copy(const DdirKeySpec *spec);
extern bool ddir_key_compatible(const DdirKeySpec *a, const DdirKeySpec *b);

/*
 * Append the key to the key lane of out; returns its length, or -1 if a NULL
 * in a join key means there is none.  The caller closes the delta.
 * May raise errors; garbage goes to CurrentMemoryContext.
 */
extern int	ddir_key_encode(const DdirKeySpec *spec, const Datum *values,
							const bool *isnull, DdirDeltas *out);

/*
 * SQL equality of all columns, NULLs as the kind says; may raise.  Both rows
 * have the types the specification was made for.
 */
extern bool ddir_key_equal(DdirKeySpec *spec, const Datum *a, const bool *anull,
						   const Datum *b, const bool *bnull);

/*
 * Order-preserving encodings: memcmp of the bytes orders as the type's btree
 * class does.  False where the type has none here.
 */
extern bool ddir_order_supported(Oid typid, Oid collation, Oid ltop);

/*
 * Append to the val lane of out, behind the first "at" bytes of this val,
 * what ordering by the value needs; returns its length.  Next may come another
 * one or an image (ddir_image_pack_at).  Garbage goes to CurrentMemoryContext.
 */
extern uint32 ddir_order_encode(Oid typid, Datum value, bool isnull, bool descending,
								bool nulls_first, DdirDeltas *out, uint32 at);

/* length of the order encoding at the head of a val; 0 if malformed */
extern uint32 ddir_order_length(Oid typid, DdirRef val);

/* the same of the encodings of several values; UINT32_MAX if malformed */
typedef struct DdirOrderTypes
{
	int			n;
	Oid			typid[FLEXIBLE_ARRAY_MEMBER];	/* none of them a domain */
} DdirOrderTypes;

extern uint32_t ddir_order_prefix(void *types, DdirRef val);

/* Two numbers that, one after the other, compare as intervals do. */
extern void ddir_interval_canonical(const Interval *interval, int64 *days, int64 *usecs);

#endif							/* DDIR_ROWS_KEY_H */
