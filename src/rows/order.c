/*-------------------------------------------------------------------------
 *
 * order.c
 *	  Order-preserving encodings.
 *
 * An encoding is one byte and the value's bytes:
 *
 *	1 bytes		a value, ascending
 *	2 bytes		a value, descending: all bytes inverted
 *	3			NULL, last in either direction
 *	0			NULL, first in either direction
 *
 * Numbers of fixed width are big-endian with the sign bit turned, floats as
 * the integers they order as.  Strings end with 0 0, a 0 inside being 0 255,
 * so that no string is the beginning of another and what follows does not
 * matter.  Numerics see numeric.h.
 *
 * Strings are supported only where the server orders them by their bytes:
 * collations "C" and "POSIX", and the pattern operators.  Sort keys of other
 * collations are not to be had (the C library's disagree with its comparison
 * on some systems, which is why the server does not trust them either).  Enums
 * are left out because ALTER TYPE may renumber their labels.
 *
 * src/rows/order.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/cash.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "rows/key.h"
#include "rows/numeric.h"

#define VALUE_NULL_FIRST 0
#define VALUE_ASCENDING 1
#define VALUE_DESCENDING 2
#define VALUE_NULL 3

/* How a type orders. */
typedef enum OrderKind
{
	ORDER_NONE,
	ORDER_BYTE,					/* bool, "char": an unsigned byte */
	ORDER_INT2,
	ORDER_INT4,
	ORDER_INT8,
	ORDER_UINT4,
	ORDER_UINT8,
	ORDER_FLOAT4,
	ORDER_FLOAT8,
	ORDER_TIMETZ,
	ORDER_INTERVAL,
	ORDER_BYTES6,				/* fixed bytes that order by memcmp */
	ORDER_BYTES8,
	ORDER_BYTES16,
	ORDER_NUMERIC,
	ORDER_BYTEA,
	ORDER_TEXT,
	ORDER_BPCHAR,
	ORDER_NAME
} OrderKind;

static OrderKind
order_kind(Oid typid)
{
	switch (typid)
	{
		case BOOLOID:
		case CHAROID:
			return ORDER_BYTE;
		case INT2OID:
			return ORDER_INT2;
		case INT4OID:
		case DATEOID:
			return ORDER_INT4;
		case INT8OID:
		case CASHOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return ORDER_INT8;
		case OIDOID:
			return ORDER_UINT4;
		case XID8OID:
		case PG_LSNOID:
			return ORDER_UINT8;
		case FLOAT4OID:
			return ORDER_FLOAT4;
		case FLOAT8OID:
			return ORDER_FLOAT8;
		case TIMETZOID:
			return ORDER_TIMETZ;
		case INTERVALOID:
			return ORDER_INTERVAL;
		case MACADDROID:
			return ORDER_BYTES6;
		case MACADDR8OID:
			return ORDER_BYTES8;
		case UUIDOID:
			return ORDER_BYTES16;
		case NUMERICOID:
			return ORDER_NUMERIC;
		case BYTEAOID:
			return ORDER_BYTEA;
		case TEXTOID:
		case VARCHAROID:
			return ORDER_TEXT;
		case BPCHAROID:
			return ORDER_BPCHAR;
		case NAMEOID:
			return ORDER_NAME;
		default:
			return ORDER_NONE;
	}
}

/* The type, or the one that it is a domain over; the catalog is asked late. */
static OrderKind
base_kind(Oid *typid)
{
	OrderKind	kind = order_kind(*typid);

	if (kind == ORDER_NONE)
	{
		*typid = getBaseType(*typid);
		kind = order_kind(*typid);
	}
	return kind;
}

static bool
orders_in_family(Oid ltop, Oid family)
{
	int			strategy = get_op_opfamily_strategy(ltop, family);

	return strategy == BTLessStrategyNumber || strategy == BTGreaterStrategyNumber;
}

bool
ddir_order_supported(Oid typid, Oid collation, Oid ltop)
{
	OrderKind	kind = base_kind(&typid);
	Oid			opclass;

	if (kind == ORDER_NONE)
		return false;
	if (kind == ORDER_TEXT && orders_in_family(ltop, TEXT_PATTERN_BTREE_FAM_OID))
		return true;
	if (kind == ORDER_BPCHAR && orders_in_family(ltop, BPCHAR_PATTERN_BTREE_FAM_OID))
		return true;
	opclass = GetDefaultOpClass(typid, BTREE_AM_OID);
	if (!OidIsValid(opclass) || !orders_in_family(ltop, get_opclass_family(opclass)))
		return false;
	if (kind == ORDER_TEXT || kind == ORDER_BPCHAR || kind == ORDER_NAME)
		return OidIsValid(collation) && ddir_collation_is_c(collation);
	return true;
}

/* ----
 * Encoding
 * ----
 */

static uint32
put_uint64(uint8_t *to, uint64 x)
{
	for (int i = 0; i < 8; i++)
		to[i] = (uint8_t) (x >> (56 - 8 * i));
	return 8;
}

static uint32
put_int64(uint8_t *to, int64 x)
{
	return put_uint64(to, (uint64) x ^ (UINT64CONST(1) << 63));
}

static uint32
put_float8(uint8_t *to, float8 x)
{
	uint64		bits;

	if (isnan(x))
		return put_uint64(to, PG_UINT64_MAX);
	if (x == 0)
		x = 0;					/* -0 too */
	memcpy(&bits, &x, sizeof(bits));
	if (bits >> 63)
		bits = ~bits;
	else
		bits |= UINT64CONST(1) << 63;
	return put_uint64(to, bits);
}

/* By the instant in UTC, then the zone. */
static uint32
put_timetz(uint8_t *to, const TimeTzADT *t)
{
	uint32		len = put_int64(to, t->time + t->zone * USECS_PER_SEC);

	return len + put_int64(to + len, t->zone);
}

/*
 * An interval compares as its microseconds, months being 30 days and days 24
 * hours, which takes 128 bits.  Whole days and a rest that is neither negative
 * nor a day long order the same.
 */
void
ddir_interval_canonical(const Interval *interval, int64 *days, int64 *usecs)
{
	*days = interval->month * INT64CONST(30) + interval->day +
		interval->time / USECS_PER_DAY;
	*usecs = interval->time % USECS_PER_DAY;
	if (*usecs < 0)
	{
		*usecs += USECS_PER_DAY;
		*days -= 1;
	}
}

static uint32
put_interval(uint8_t *to, const Interval *interval)
{
	int64		days;
	int64		usecs;

	ddir_interval_canonical(interval, &days, &usecs);
	put_int64(to, days);
	return 8 + put_int64(to + 8, usecs);
}

static uint32
put_string(uint8_t *to, const char *from, Size len)
{
	uint8_t    *start = to;

	for (Size i = 0; i < len; i++)
	{
		*to++ = (uint8_t) from[i];
		if (from[i] == '\0')
			*to++ = 0xFF;
	}
	*to++ = 0;
	*to++ = 0;
	return to - start;
}

static uint32
put_bytes(uint8_t *to, Datum value, uint32 len)
{
	memcpy(to, DatumGetPointer(value), len);
	return len;
}

/* Width of the encodings of a kind without the first byte; 0: it varies. */
static uint32
kind_width(OrderKind kind)
{
	switch (kind)
	{
		case ORDER_BYTE:
			return 1;
		case ORDER_BYTES6:
			return 6;
		case ORDER_TIMETZ:
		case ORDER_INTERVAL:
		case ORDER_BYTES16:
			return 16;
		case ORDER_NONE:
		case ORDER_NUMERIC:
		case ORDER_BYTEA:
		case ORDER_TEXT:
		case ORDER_BPCHAR:
		case ORDER_NAME:
			return 0;
		default:
			return 8;
	}
}

static uint32
put_fixed(uint8_t *to, OrderKind kind, Datum value)
{
	switch (kind)
	{
		case ORDER_BYTE:
			*to = (uint8_t) DatumGetChar(value);
			return 1;
		case ORDER_INT2:
			return put_int64(to, DatumGetInt16(value));
		case ORDER_INT4:
			return put_int64(to, DatumGetInt32(value));
		case ORDER_INT8:
			return put_int64(to, DatumGetInt64(value));
		case ORDER_UINT4:
			return put_uint64(to, DatumGetUInt32(value));
		case ORDER_UINT8:
			return put_uint64(to, (uint64) DatumGetInt64(value));
		case ORDER_FLOAT4:
			return put_float8(to, DatumGetFloat4(value));
		case ORDER_FLOAT8:
			return put_float8(to, DatumGetFloat8(value));
		case ORDER_TIMETZ:
			return put_timetz(to, DatumGetTimeTzADTP(value));
		case ORDER_INTERVAL:
			return put_interval(to, DatumGetIntervalP(value));
		case ORDER_BYTES6:
			return put_bytes(to, value, 6);
		case ORDER_BYTES8:
			return put_bytes(to, value, 8);
		default:
			return put_bytes(to, value, 16);
	}
}

/* The bytes of a string that count in its order. */
static const char *
string_bytes(OrderKind kind, Datum value, Size *len)
{
	struct varlena *v;

	if (kind == ORDER_NAME)
	{
		*len = strnlen(NameStr(*DatumGetName(value)), NAMEDATALEN);
		return NameStr(*DatumGetName(value));
	}
	v = ddir_varlena_flat(value, false);
	*len = VARSIZE_ANY_EXHDR(v);
	if (kind == ORDER_BPCHAR)
		*len = bpchartruelen(VARDATA_ANY(v), *len);
	return VARDATA_ANY(v);
}

uint32
ddir_order_encode(Oid typid, Datum value, bool isnull, bool descending, bool nulls_first,
				  DdirDeltas *out, uint32 at)
{
	OrderKind	kind = base_kind(&typid);
	uint32		len = kind_width(kind);
	uint8_t    *to;

	if (isnull)
	{
		ddir_deltas_val_room(out, at + 1)[at] = nulls_first ? VALUE_NULL_FIRST : VALUE_NULL;
		return 1;
	}
	if (kind == ORDER_NONE)
		elog(ERROR, "type %u has no order-preserving encoding", typid);
	if (kind == ORDER_NUMERIC)
	{
		DdirNumeric n;

		ddir_numeric_get(value, &n);
		to = ddir_deltas_val_room(out, at + 1 + ddir_numeric_room(&n)) + at;
		len = ddir_numeric_canonical(&n, to + 1);
	}
	else if (len > 0)
	{
		to = ddir_deltas_val_room(out, at + 1 + len) + at;
		put_fixed(to + 1, kind, value);
	}
	else
	{
		Size		bytes;
		const char *from = string_bytes(kind, value, &bytes);

		to = ddir_deltas_val_room(out, at + 1 + 2 * bytes + 2) + at;
		len = put_string(to + 1, from, bytes);
	}
	*to = descending ? VALUE_DESCENDING : VALUE_ASCENDING;
	if (descending)
		for (uint32 i = 1; i <= len; i++)
			to[i] ^= 0xFF;
	return len + 1;
}

/* Length of a string and its end; 0 if there is no end. */
static uint32
string_length(const uint8_t *p, size_t left, uint8_t flip)
{
	for (size_t i = 0; i + 1 < left; i++)
	{
		if ((p[i] ^ flip) != 0)
			continue;
		if ((p[i + 1] ^ flip) == 0)
			return i + 2;
		i++;
	}
	return 0;
}

uint32
ddir_order_length(Oid typid, DdirRef val)
{
	uint8_t		flip;
	uint32		len;
	OrderKind	kind;

	if (val.len < 1)
		return 0;
	if (val.p[0] == VALUE_NULL || val.p[0] == VALUE_NULL_FIRST)
		return 1;
	if (val.p[0] != VALUE_ASCENDING && val.p[0] != VALUE_DESCENDING)
		return 0;
	flip = val.p[0] == VALUE_DESCENDING ? 0xFF : 0;
	kind = base_kind(&typid);
	len = kind_width(kind);
	if (kind == ORDER_NUMERIC)
		len = ddir_numeric_canonical_length(val.p + 1, val.len - 1, flip);
	else if (len == 0 && kind != ORDER_NONE)
		len = string_length(val.p + 1, val.len - 1, flip);
	return len > 0 && len < val.len ? len + 1 : 0;
}

/* Of several encodings, one after the other: base types, as this may not fail. */
uint32_t
ddir_order_prefix(void *ctx, DdirRef val)
{
	const DdirOrderTypes *types = ctx;
	uint32		total = 0;

	for (int i = 0; i < types->n; i++)
	{
		uint32		len = ddir_order_length(types->typid[i], val);

		if (len == 0)
			return UINT32_MAX;
		val.p += len;
		val.len -= len;
		total += len;
	}
	return total;
}
