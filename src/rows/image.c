/*-------------------------------------------------------------------------
 *
 * image.c
 *	  Packing and unpacking of images.
 *
 * Packing is two passes where a column has no fixed width: one that flattens
 * values and adds up lengths, one that writes into the lane.  So the lane is
 * asked for room once, and an error (a TOAST value that cannot be read) leaves
 * it as it was.
 *
 * Unpacking trusts nothing: every length is checked against the bytes that
 * are left, before they are read.  What is inside of a value is its type's
 * business; a varlena whose header is right is handed on as it is.
 *
 * Columns before the first one of variable length are addressed directly in
 * images without NULLs; that is the common case and the fast one.
 *
 * src/rows/image.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "access/detoast.h"
#include "access/heaptoast.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "base/compat.h"
#include "rows/rowtype.h"

#define NO_NULLS 0
#define WITH_NULLS 1

/* Columns for which packing needs no memory of its own. */
#define COLUMNS_ON_STACK 64

/* ----
 * Packing
 * ----
 */

/*
 * Rows as values hold no TOAST pointers where the server's own rules were
 * kept; where they were not, the image would change under us.
 */
static struct varlena *
flatten_row(struct varlena *v)
{
	HeapTupleHeader row;
	TupleDesc	desc;
	Datum		flat;

	if (VARATT_IS_SHORT(v))
		v = detoast_attr(v);
	row = (HeapTupleHeader) v;
	if (VARSIZE(v) < SizeofHeapTupleHeader || !HeapTupleHeaderHasExternal(row))
		return v;
	desc = lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(row),
								  HeapTupleHeaderGetTypMod(row));
	flat = toast_flatten_tuple_to_datum(row, HeapTupleHeaderGetDatumLength(row), desc);
	ReleaseTupleDesc(desc);
	return (struct varlena *) DatumGetPointer(flat);
}

struct varlena *
ddir_varlena_flat(Datum value, bool composite)
{
	struct varlena *v = (struct varlena *) DatumGetPointer(value);

	/* on disk, in memory (indirect), expanded, or compressed in line */
	if (VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v))
		v = detoast_attr(v);
	return unlikely(composite) ? flatten_row(v) : v;
}

static inline uint8_t *
store_fixed(uint8_t *p, const DdirColumnType *c, Datum value)
{
	if (!c->typbyval)
		memcpy(p, DatumGetPointer(value), c->typlen);
	else if (c->typlen == sizeof(int64))
		memcpy(p, &value, sizeof(int64));
	else if (c->typlen == sizeof(int32))
	{
		int32		x = DatumGetInt32(value);

		memcpy(p, &x, sizeof(x));
	}
	else if (c->typlen == sizeof(int16))
	{
		int16		x = DatumGetInt16(value);

		memcpy(p, &x, sizeof(x));
	}
	else
		*p = (uint8_t) DatumGetChar(value);
	return p + c->typlen;
}

static inline bool
varlena_is_short(const DdirColumnType *c, Size payload)
{
	return c->packable && payload + VARHDRSZ_SHORT <= VARATT_SHORT_MAX;
}

static uint8_t *
store_varlena(uint8_t *p, const DdirColumnType *c, const struct varlena *v)
{
	Size		payload = VARSIZE_ANY_EXHDR(v);

	if (varlena_is_short(c, payload))
	{
		SET_VARSIZE_SHORT(p, payload + VARHDRSZ_SHORT);
		p += VARHDRSZ_SHORT;
	}
	else
	{
		varattrib_4b header;

		SET_VARSIZE(&header, payload + VARHDRSZ);
		memcpy(p, &header, VARHDRSZ);
		p += VARHDRSZ;
	}
	memcpy(p, VARDATA_ANY(v), payload);
	return p + payload;
}

/* Bytes of the value, which is flattened if need be. */
static inline Size
measure(const DdirColumnType *c, Datum *value)
{
	struct varlena *v;
	Size		payload;

	if (c->typlen > 0)
		return c->typlen;
	if (c->typlen == -2)
		return strlen(DatumGetCString(*value)) + 1;
	v = ddir_varlena_flat(*value, c->composite);
	*value = PointerGetDatum(v);
	payload = VARSIZE_ANY_EXHDR(v);
	return payload + (varlena_is_short(c, payload) ? VARHDRSZ_SHORT : VARHDRSZ);
}

static uint32
pack_general(const DdirRowType *type, const Datum *values, const bool *isnull,
			 const Bitmapset *used, DdirDeltas *out, uint32 at)
{
	Datum		flat_room[COLUMNS_ON_STACK];
	uint8_t		bits_room[(COLUMNS_ON_STACK + 7) / 8];
	int			nbits = (type->natts + 7) / 8;
	Datum	   *flat = flat_room;
	uint8_t    *bits = bits_room;
	bool		nulls = false;
	Size		size = 1;
	uint8_t    *p;
	uint8_t    *start;

	if (type->natts > COLUMNS_ON_STACK)
	{
		flat = palloc(type->natts * sizeof(Datum));
		bits = palloc(nbits);
	}
	memset(bits, 0, nbits);
	for (int i = 0; i < type->natts; i++)
	{
		const DdirColumnType *c = &type->col[i];

		if (!OidIsValid(c->typid))
			continue;
		/* there may be nothing in the place of what is not used */
		if ((used && !bms_is_member(i + 1, used)) || isnull[i])
		{
			nulls = true;
			continue;
		}
		flat[i] = values[i];
		size += measure(c, &flat[i]);
		bits[i >> 3] |= 1 << (i & 7);
	}
	if (nulls)
		size += nbits;
	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too large for a dataflow"),
				 errdetail("The row has %zu bytes; the limit is %zu.",
						   size, (Size) MaxAllocSize)));

	start = p = ddir_deltas_val_room(out, at + size) + at;
	*p++ = nulls ? WITH_NULLS : NO_NULLS;
	if (nulls)
	{
		memcpy(p, bits, nbits);
		p += nbits;
	}
	for (int i = 0; i < type->natts; i++)
	{
		const DdirColumnType *c = &type->col[i];

		if (!(bits[i >> 3] & (1 << (i & 7))))
			continue;
		if (c->typlen > 0)
			p = store_fixed(p, c, flat[i]);
		else if (c->typlen == -1)
			p = store_varlena(p, c, (struct varlena *) DatumGetPointer(flat[i]));
		else
		{
			Size		len = strlen(DatumGetCString(flat[i])) + 1;

			memcpy(p, DatumGetCString(flat[i]), len);
			p += len;
		}
	}
	ddir_check(p == start + size);
	return size;
}

uint32
ddir_image_pack_at(const DdirRowType *type, const Datum *values, const bool *isnull,
				   const Bitmapset *used, DdirDeltas *out, uint32 at)
{
	uint8_t    *p;

	if (type->width == 0 || used != NULL)
		return pack_general(type, values, isnull, used, out, at);
	for (int i = 0; i < type->natts; i++)
		if (isnull[i])
			return pack_general(type, values, isnull, used, out, at);

	p = ddir_deltas_val_room(out, at + type->width) + at;
	*p++ = NO_NULLS;
	for (int i = 0; i < type->natts; i++)
	{
		if (unlikely(!OidIsValid(type->col[i].typid)))
			continue;
		p = store_fixed(p, &type->col[i], values[i]);
	}
	return type->width;
}

uint32
ddir_image_pack(const DdirRowType *type, const Datum *values, const bool *isnull,
				const Bitmapset *used, DdirDeltas *out)
{
	return ddir_image_pack_at(type, values, isnull, used, out, 0);
}

/* ----
 * Unpacking
 * ----
 */

/* Bytes of the varlena at p, header included; 0 if it cannot be one. */
static size_t
varlena_length(const uint8_t *p, size_t left)
{
	union
	{
		int32		align;
		char		bytes[VARHDRSZ];
	}			header;
	size_t		len;

	if (left < VARHDRSZ_SHORT || VARATT_IS_1B_E(p))
		return 0;
	if (VARATT_IS_1B(p))
		len = VARSIZE_1B(p);
	else
	{
		if (left < VARHDRSZ)
			return 0;
		memcpy(header.bytes, p, VARHDRSZ);
		if (!VARATT_IS_4B_U(header.bytes))
			return 0;
		len = VARSIZE_4B(header.bytes);
		if (len < VARHDRSZ)
			return 0;
	}
	return len <= left ? len : 0;
}

/* Bytes of the value at p, of which "left" may be read; 0 if malformed. */
static inline size_t
value_length(const DdirColumnType *c, const uint8_t *p, size_t left)
{
	const uint8_t *zero;

	if (c->typlen > 0)
		return left >= (size_t) c->typlen ? c->typlen : 0;
	if (c->typlen == -1)
		return varlena_length(p, left);
	zero = left > 0 ? memchr(p, 0, left) : NULL;
	return zero ? zero - p + 1 : 0;
}

static inline uintptr_t
alignment_of(char typalign)
{
	switch (typalign)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

/* A pointer to the value; a copy where its type expects more alignment. */
static Datum
reference_datum(const DdirColumnType *c, const uint8_t *p, size_t len, MemoryContext scratch)
{
	void	   *copy;

	if (c->typlen == -2 || (c->typlen == -1 && VARATT_IS_1B(p)) ||
		((uintptr_t) p & (alignment_of(c->typalign) - 1)) == 0)
		return PointerGetDatum(p);
	copy = MemoryContextAlloc(scratch, len);
	memcpy(copy, p, len);
	return PointerGetDatum(copy);
}

static inline Datum
value_datum(const DdirColumnType *c, const uint8_t *p, size_t len, MemoryContext scratch)
{
	if (!c->typbyval)
		return reference_datum(c, p, len, scratch);
	if (c->typlen == sizeof(int64))
	{
		int64		x;

		memcpy(&x, p, sizeof(x));
		return Int64GetDatum(x);
	}
	if (c->typlen == sizeof(int32))
	{
		int32		x;

		memcpy(&x, p, sizeof(x));
		return Int32GetDatum(x);
	}
	if (c->typlen == sizeof(int16))
	{
		int16		x;

		memcpy(&x, p, sizeof(x));
		return Int16GetDatum(x);
	}
	return CharGetDatum(*(const char *) p);
}

/*
 * Go through the first ncols columns.  Column i goes to place to[i], none if
 * that is negative; or, if "to" is NULL, to place i where wanted.  If it comes
 * to the last column, the image has to end there.
 */
static inline bool
walk(const DdirRowType *type, DdirRef image, int ncols, const int *to,
	 const bool *wanted, Datum *values, bool *isnull, MemoryContext scratch)
{
	const uint8_t *p = image.p;
	size_t		left = image.len;
	const uint8_t *bits = NULL;

	if (left < 1 || *p > WITH_NULLS)
		return false;
	left--;
	if (*p++ == WITH_NULLS)
	{
		size_t		nbits = (type->natts + 7) / 8;

		if (left < nbits)
			return false;
		bits = p;
		p += nbits;
		left -= nbits;
	}
	for (int i = 0; i < ncols; i++)
	{
		const DdirColumnType *c = &type->col[i];
		int			place = to ? to[i] : wanted == NULL || wanted[i] ? i : -1;
		bool		dropped = !OidIsValid(c->typid);
		size_t		len;

		if (bits ? !(bits[i >> 3] & (1 << (i & 7))) : dropped)
		{
			if (place >= 0)
			{
				values[place] = (Datum) 0;
				isnull[place] = true;
			}
			continue;
		}
		len = value_length(c, p, left);
		if (dropped || len == 0)
			return false;
		if (place >= 0)
		{
			values[place] = value_datum(c, p, len, scratch);
			isnull[place] = false;
		}
		p += len;
		left -= len;
	}
	return ncols < type->natts || left == 0;
}

bool
ddir_image_unpack(const DdirRowType *type, DdirRef image, const bool *wanted,
				  Datum *values, bool *isnull, MemoryContext scratch)
{
	int			ncols = type->natts;

	if (wanted)
		while (ncols > 0 && !wanted[ncols - 1])
			ncols--;
	return walk(type, image, ncols, NULL, wanted, values, isnull, scratch);
}

DdirFetch *
ddir_fetch_make(const DdirRowType *type, const int *to)
{
	DdirFetch  *f = palloc0(sizeof(DdirFetch));
	bool		direct = true;

	f->type = type;
	f->col = palloc(type->natts * sizeof(int) + 1);
	f->to = palloc(type->natts * sizeof(int) + 1);
	for (int i = 0; i < type->natts; i++)
	{
		f->to[i] = to[i];
		if (to[i] < 0)
			continue;
		f->col[f->nwanted++] = i;
		f->ncols = i + 1;
		if (type->col[i].offset > 0 && type->col[i].typlen > 0)
			f->direct = type->col[i].offset + type->col[i].typlen;
		else
			direct = false;
	}
	if (!direct)
		f->direct = 0;
	return f;
}

bool
ddir_fetch(const DdirFetch *f, DdirRef image, Datum *values, bool *isnull,
		   MemoryContext scratch)
{
	const DdirRowType *type = f->type;

	if (f->direct == 0 || image.len < f->direct || image.p[0] != NO_NULLS)
		return walk(type, image, f->ncols, f->to, NULL, values, isnull, scratch);
	if (f->ncols == type->natts && image.len != type->width)
		return false;
	for (int k = 0; k < f->nwanted; k++)
	{
		int			i = f->col[k];
		const DdirColumnType *c = &type->col[i];
		int			place = f->to[i];

		values[place] = value_datum(c, image.p + c->offset, c->typlen, scratch);
		isnull[place] = false;
	}
	return true;
}

/* ----
 * Text
 * ----
 */

/* As record_out does it: quoted where it is empty or has an odd character. */
static void
append_quoted(StringInfo buf, const char *s)
{
	bool		quote = *s == '\0';

	for (const char *p = s; *p && !quote; p++)
		quote = strchr("\"\\(),", *p) != NULL || isspace((unsigned char) *p);
	if (!quote)
	{
		appendStringInfoString(buf, s);
		return;
	}
	appendStringInfoChar(buf, '"');
	for (const char *p = s; *p; p++)
	{
		if (*p == '"' || *p == '\\')
			appendStringInfoChar(buf, *p);
		appendStringInfoChar(buf, *p);
	}
	appendStringInfoChar(buf, '"');
}

char *
ddir_image_text(const DdirRowType *type, DdirRef image)
{
	Datum	   *values = palloc(type->natts * sizeof(Datum) + 1);
	bool	   *isnull = palloc(type->natts * sizeof(bool) + 1);
	StringInfoData buf;
	bool		first = true;

	if (!ddir_image_unpack(type, image, NULL, values, isnull, CurrentMemoryContext))
		return pstrdup("(malformed row)");
	initStringInfo(&buf);
	appendStringInfoChar(&buf, '(');
	for (int i = 0; i < type->natts; i++)
	{
		Oid			out;
		bool		varlena;

		if (!OidIsValid(type->col[i].typid))
			continue;
		if (!first)
			appendStringInfoChar(&buf, ',');
		first = false;
		if (isnull[i])
			continue;
		getTypeOutputInfo(type->col[i].typid, &out, &varlena);
		append_quoted(&buf, OidOutputFunctionCall(out, values[i]));
	}
	appendStringInfoChar(&buf, ')');
	return buf.data;
}
