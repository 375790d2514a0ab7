/*-------------------------------------------------------------------------
 *
 * key.c
 *	  Key bytes of values, and equality where bytes do not decide.
 *
 * Encoding is two passes: one that finds each column's bytes (leading into the
 * value, or made in a little room of the column's own), and one that lays them
 * out in the lane.  One integer column, the commonest key, skips both.
 *
 * Which encoding a column has is found by keymake.c.
 *
 * src/rows/key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datum.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "rows/key.h"
#include "rows/numeric.h"

#define COLUMNS_ON_STACK 16
#define LENGTH_BYTES sizeof(uint32)

/* The bytes of one column. */
typedef struct Piece
{
	const void *p;
	uint32		len;
	bool		null;
	uint64		room[2];		/* for bytes of fixed width that are made */
} Piece;

static void
piece_set(Piece *piece, const void *p, Size len)
{
	piece->p = p;
	piece->len = len;
}

static inline int64
integer_value(const DdirKeyColumn *c, Datum value)
{
	if (c->typlen == sizeof(int64))
		return DatumGetInt64(value);
	if (c->typid == OIDOID)
		return DatumGetObjectId(value);
	if (c->typlen == sizeof(int32))
		return DatumGetInt32(value);
	return DatumGetInt16(value);
}

static void
encode_image(const DdirKeyColumn *c, Datum value, Piece *piece)
{
	if (c->typbyval)
	{
		piece_set(piece, piece->room, c->typlen);
		if (c->typlen == sizeof(int64))
			piece->room[0] = (uint64) DatumGetInt64(value);
		else if (c->typlen == sizeof(int32))
		{
			int32		x = DatumGetInt32(value);

			memcpy(piece->room, &x, sizeof(x));
		}
		else if (c->typlen == sizeof(int16))
		{
			int16		x = DatumGetInt16(value);

			memcpy(piece->room, &x, sizeof(x));
		}
		else
			*(char *) piece->room = DatumGetChar(value);
	}
	else if (c->typlen == -1)
	{
		struct varlena *v = ddir_varlena_flat(value, c->composite);

		piece_set(piece, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	}
	else if (c->typlen == -2)
		piece_set(piece, DatumGetCString(value), strlen(DatumGetCString(value)));
	else
		piece_set(piece, DatumGetPointer(value), c->typlen);
}

static void
encode_text(const DdirKeyColumn *c, Datum value, Piece *piece)
{
	if (c->typid == NAMEOID)
		piece_set(piece, NameStr(*DatumGetName(value)),
				  strnlen(NameStr(*DatumGetName(value)), NAMEDATALEN));
	else
	{
		struct varlena *v = ddir_varlena_flat(value, false);

		piece_set(piece, VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v));
	}
}

static void
encode_numeric(Datum value, Piece *piece)
{
	DdirNumeric n;
	uint8_t    *p;

	ddir_numeric_get(value, &n);
	p = palloc(ddir_numeric_room(&n));
	piece_set(piece, p, ddir_numeric_canonical(&n, p));
}

static void
encode_float(const DdirKeyColumn *c, Datum value, Piece *piece)
{
	float8		x = c->typlen == sizeof(float4) ? DatumGetFloat4(value) : DatumGetFloat8(value);

	if (isnan(x))
		piece->room[0] = PG_UINT64_MAX; /* whatever its bits are */
	else
	{
		if (x == 0)
			x = 0;				/* -0 too */
		memcpy(piece->room, &x, sizeof(x));
	}
	piece_set(piece, piece->room, sizeof(x));
}

/*
 * A date is the timestamp of its midnight.  Dates beyond the last timestamp
 * equal no timestamp, only themselves: they get numbers of their own between
 * that and infinity.
 */
static void
encode_datetime(const DdirKeyColumn *c, Datum value, Piece *piece)
{
	const DateADT first_beyond = TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE;
	int64		t;

	if (c->typid != DATEOID)
		t = DatumGetTimestamp(value);
	else
	{
		DateADT		date = DatumGetDateADT(value);

		if (DATE_IS_NOBEGIN(date))
			TIMESTAMP_NOBEGIN(t);
		else if (DATE_IS_NOEND(date))
			TIMESTAMP_NOEND(t);
		else if (date >= first_beyond)
			t = END_TIMESTAMP + (date - first_beyond);
		else
			t = date * USECS_PER_DAY;
	}
	piece->room[0] = (uint64) t;
	piece_set(piece, piece->room, sizeof(t));
}

/* As citext's equality does it: by the database's collation, then bytes. */
static void
encode_citext(Datum value, Piece *piece)
{
	struct varlena *v = ddir_varlena_flat(value, false);
	char	   *folded = str_tolower(VARDATA_ANY(v), VARSIZE_ANY_EXHDR(v), DEFAULT_COLLATION_OID);

	piece_set(piece, folded, strlen(folded));
}

static Datum
trimmed_text(Datum value)
{
	struct varlena *v = ddir_varlena_flat(value, false);

	return PointerGetDatum(cstring_to_text_with_len(VARDATA_ANY(v),
													bpchartruelen(VARDATA_ANY(v),
																  VARSIZE_ANY_EXHDR(v))));
}

static void
encode_hash(const DdirKeyColumn *c, Datum value, Piece *piece)
{
	FmgrInfo   *fn = unconstify(FmgrInfo *, &c->fn);	/* its cache may change */

	if (c->trimmed)
		value = trimmed_text(value);
	if (!OidIsValid(fn->fn_oid))
		piece->room[0] = 0;
	else if (c->extended)
		piece->room[0] = DatumGetUInt64(FunctionCall2Coll(fn, c->collation, value,
														  UInt64GetDatum(0)));
	else
		piece->room[0] = DatumGetUInt32(FunctionCall1Coll(fn, c->collation, value));
	piece_set(piece, piece->room, sizeof(uint64));
}

static void
encode_column(const DdirKeyColumn *c, Datum value, Piece *piece)
{
	switch (c->encoding)
	{
		case DDIR_ENCODE_IMAGE:
			encode_image(c, value, piece);
			break;
		case DDIR_ENCODE_INT8:
			piece->room[0] = (uint64) integer_value(c, value);
			piece_set(piece, piece->room, sizeof(int64));
			break;
		case DDIR_ENCODE_TEXT:
			encode_text(c, value, piece);
			break;
		case DDIR_ENCODE_BPCHAR:
			encode_text(c, value, piece);
			piece->len = bpchartruelen(unconstify(void *, piece->p), piece->len);
			break;
		case DDIR_ENCODE_NUMERIC:
			encode_numeric(value, piece);
			break;
		case DDIR_ENCODE_FLOAT8:
			encode_float(c, value, piece);
			break;
		case DDIR_ENCODE_INTERVAL:
			ddir_interval_canonical(DatumGetIntervalP(value), (int64 *) &piece->room[0],
									(int64 *) &piece->room[1]);
			piece_set(piece, piece->room, sizeof(piece->room));
			break;
		case DDIR_ENCODE_DATETIME:
			encode_datetime(c, value, piece);
			break;
		case DDIR_ENCODE_CITEXT:
			encode_citext(value, piece);
			break;
		case DDIR_ENCODE_HASH:
			encode_hash(c, value, piece);
			break;
	}
	ddir_check(c->width < 0 || piece->len == c->width);
}

/* Is the key the bytes of its one column, and no bytes for NULL? */
static inline bool
is_bare(const DdirKeySpec *spec)
{
	return spec->ncols == 1 && spec->col[0].width > 0;
}

/* Lay the columns out; see the layout in key.h. */
static int
write_pieces(const DdirKeySpec *spec, const Piece *pieces, DdirDeltas *out)
{
	int			nbits = spec->kind == DDIR_KEY_JOIN || is_bare(spec) ? 0 : (spec->ncols + 7) / 8;
	Size		size = nbits;
	uint8_t    *start;
	uint8_t    *p;

	for (int i = 0; i < spec->ncols; i++)
		if (!pieces[i].null)
			size += pieces[i].len + LENGTH_BYTES;
	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("key is too large for a dataflow"),
				 errdetail("The key has %zu bytes; the limit is %zu.",
						   size, (Size) MaxAllocSize)));

	start = ddir_deltas_key_room(out, size);
	p = start + nbits;
	if (nbits > 0)
		memset(start, 0, nbits);
	for (int i = 0; i < spec->ncols; i++)
	{
		const Piece *piece = &pieces[i];

		if (piece->null)
		{
			if (nbits > 0)
				start[i >> 3] |= 1 << (i & 7);
			continue;
		}
		if (spec->col[i].width < 0 && i < spec->ncols - 1)
		{
			memcpy(p, &piece->len, LENGTH_BYTES);
			p += LENGTH_BYTES;
		}
		if (piece->len > 0)
			memcpy(p, piece->p, piece->len);
		p += piece->len;
	}
	return p - start;
}

int
ddir_key_encode(const DdirKeySpec *spec, const Datum *values, const bool *isnull,
				DdirDeltas *out)
{
	Piece		on_stack[COLUMNS_ON_STACK];
	Piece	   *pieces = on_stack;

	if (is_bare(spec) && !isnull[0] && spec->col[0].encoding == DDIR_ENCODE_INT8)
	{
		int64		x = integer_value(&spec->col[0], values[0]);

		memcpy(ddir_deltas_key_room(out, sizeof(x)), &x, sizeof(x));
		return sizeof(x);
	}
	if (spec->kind == DDIR_KEY_JOIN)
		for (int i = 0; i < spec->ncols; i++)
			if (isnull[i])
				return -1;

	if (spec->ncols > COLUMNS_ON_STACK)
		pieces = palloc(spec->ncols * sizeof(Piece));
	for (int i = 0; i < spec->ncols; i++)
	{
		pieces[i].null = isnull[i];
		if (!isnull[i])
			encode_column(&spec->col[i], values[i], &pieces[i]);
	}
	return write_pieces(spec, pieces, out);
}

static bool
column_equal(DdirKeyColumn *c, Datum a, Datum b)
{
	if (!OidIsValid(c->eqop))
		return datum_image_eq(a, b, c->typbyval, c->typlen);
	return DatumGetBool(FunctionCall2Coll(&c->eq, c->collation, a, b));
}

bool
ddir_key_equal(DdirKeySpec *spec, const Datum *a, const bool *anull,
			   const Datum *b, const bool *bnull)
{
	for (int i = 0; i < spec->ncols; i++)
	{
		if (anull[i] || bnull[i])
		{
			if (spec->kind == DDIR_KEY_JOIN || !anull[i] || !bnull[i])
				return false;
			continue;
		}
		if (!column_equal(&spec->col[i], a[i], b[i]))
			return false;
	}
	return true;
}

/* Do equal bytes in the two columns mean the same? */
static bool
column_compatible(const DdirKeyColumn *a, const DdirKeyColumn *b)
{
	if (a->encoding != b->encoding || a->width != b->width)
		return false;
	switch (a->encoding)
	{
		case DDIR_ENCODE_IMAGE:
			return a->typid == b->typid ||
				(OidIsValid(a->eqop) && a->eqop == b->eqop);
		case DDIR_ENCODE_HASH:
			return a->eqop == b->eqop && a->collation == b->collation &&
				a->extended == b->extended &&
				OidIsValid(a->fn.fn_oid) == OidIsValid(b->fn.fn_oid);
		default:
			return true;
	}
}

bool
ddir_key_compatible(const DdirKeySpec *a, const DdirKeySpec *b)
{
	if (a->kind != b->kind || a->ncols != b->ncols)
		return false;
	for (int i = 0; i < a->ncols; i++)
		if (!column_compatible(&a->col[i], &b->col[i]))
			return false;
	return true;
}
