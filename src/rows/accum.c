/*-------------------------------------------------------------------------
 *
 * accum.c
 *	  Native accumulators: folding rows into them.
 *
 * One loop for each kind, over a column of a chunk of rows, so that what
 * depends on the kind is decided once a chunk.  Results are made in final.c.
 *
 * Integers: sums in 128 bits, sums of squares in 192: 2^63 rows of the
 * greatest bigint fit.
 *
 * src/rows/accum.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "datatype/timestamp.h"
#include "utils/cash.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/port.h"
#include "rows/accum.h"

#define BITS_PER_BYTE 8

/* The accumulator that row i goes to. */
#define ACCUM_OF(type, in, i) \
	((type *) ((char *) (in)->group[i]->state + (in)->offset))

#define VALUE_OF(in, i) ((in)->value[(Size) (i) * (in)->stride])

/* The first row from *i on whose value is not NULL; false if there is none. */
static inline bool
next_value(const DdirAccumInput *in, uint32 *i)
{
	while (*i < in->n && in->isnull[(Size) *i * in->stride])
		(*i)++;
	return *i < in->n;
}

static void
fold_rows(const DdirAccumInput *in)
{
	if (in->value == NULL)
	{
		for (uint32 i = 0; i < in->n; i++)
			ACCUM_OF(DdirCountAccum, in, i)->count += in->diff[i];
		return;
	}
	for (uint32 i = 0; next_value(in, &i); i++)
		if (DatumGetBool(VALUE_OF(in, i)))
			ACCUM_OF(DdirCountAccum, in, i)->count += in->diff[i];
}

static void
fold_count(const DdirAccumInput *in)
{
	for (uint32 i = 0; next_value(in, &i); i++)
		ACCUM_OF(DdirCountAccum, in, i)->count += in->diff[i];
}

/* ----
 * Integers
 * ----
 */

static inline void
add_int(DdirIntAccum *accum, int64 x, int64 diff)
{
	accum->count += diff;
	accum->sum += (int128) x * diff;
}

/* squares += x * x * diff, modulo 2^192 */
static inline void
add_square(DdirIntAccum *accum, int64 x, int64 diff)
{
	uint64		magnitude = x < 0 ? -(uint64) x : (uint64) x;
	uint128		square = (uint128) magnitude * magnitude;
	uint64		times = diff < 0 ? -(uint64) diff : (uint64) diff;
	uint128		low = (uint128) (uint64) square * times;
	uint128		high = (uint128) (uint64) (square >> 64) * times + (low >> 64);
	uint64		word[3] = {(uint64) low, (uint64) high, (uint64) (high >> 64)};
	uint64		flip = diff < 0 ? ~UINT64CONST(0) : 0;
	uint128		c = diff < 0 ? 1 : 0;

	for (int i = 0; i < 3; i++)
	{
		c += (uint128) accum->squares[i] + (word[i] ^ flip);
		accum->squares[i] = (uint64) c;
		c >>= 64;
	}
}

static void
fold_int2(const DdirAccumInput *in)
{
	for (uint32 i = 0; next_value(in, &i); i++)
		add_int(ACCUM_OF(DdirIntAccum, in, i), DatumGetInt16(VALUE_OF(in, i)), in->diff[i]);
}

static void
fold_int4(const DdirAccumInput *in)
{
	for (uint32 i = 0; next_value(in, &i); i++)
		add_int(ACCUM_OF(DdirIntAccum, in, i), DatumGetInt32(VALUE_OF(in, i)), in->diff[i]);
}

static void
fold_int8(const DdirAccumInput *in)
{
	for (uint32 i = 0; next_value(in, &i); i++)
		add_int(ACCUM_OF(DdirIntAccum, in, i), DatumGetInt64(VALUE_OF(in, i)), in->diff[i]);
}

static void
fold_int_squares(const DdirAccumInput *in, int width)
{
	for (uint32 i = 0; next_value(in, &i); i++)
	{
		DdirIntAccum *accum = ACCUM_OF(DdirIntAccum, in, i);
		Datum		v = VALUE_OF(in, i);
		int64		x;

		if (width == sizeof(int16))
			x = DatumGetInt16(v);
		else if (width == sizeof(int32))
			x = DatumGetInt32(v);
		else
			x = DatumGetInt64(v);
		add_int(accum, x, in->diff[i]);
		add_square(accum, x, in->diff[i]);
	}
}

static void
fold_bits(const DdirAccumInput *in, int width)
{
	for (uint32 i = 0; next_value(in, &i); i++)
	{
		DdirBitsAccum *accum = ACCUM_OF(DdirBitsAccum, in, i);
		Datum		v = VALUE_OF(in, i);
		uint64		x;

		if (width == sizeof(int16))
			x = (uint16) DatumGetInt16(v);
		else if (width == sizeof(int32))
			x = (uint32) DatumGetInt32(v);
		else
			x = (uint64) DatumGetInt64(v);
		accum->count += in->diff[i];
		for (; x != 0; x &= x - 1)
			accum->bit[__builtin_ctzll(x)] += in->diff[i];
	}
}

static void
fold_bool(const DdirAccumInput *in)
{
	for (uint32 i = 0; next_value(in, &i); i++)
	{
		DdirBoolAccum *accum = ACCUM_OF(DdirBoolAccum, in, i);

		accum->count += in->diff[i];
		if (DatumGetBool(VALUE_OF(in, i)))
			accum->count_true += in->diff[i];
	}
}

/* ----
 * Numbers with a point
 * ----
 */

static DdirSpecials *
specials(DdirSpecials **at, MemoryContext cxt)
{
	if (*at == NULL)
		*at = MemoryContextAllocZero(cxt, sizeof(DdirSpecials));
	return *at;
}

static void
fold_numeric(const DdirAccumInput *in, bool squares)
{
	for (uint32 i = 0; next_value(in, &i); i++)
	{
		DdirNumericAccum *accum = ACCUM_OF(DdirNumericAccum, in, i);
		int64		d = in->diff[i];
		DdirNumeric x;

		ddir_numeric_get(VALUE_OF(in, i), &x);
		switch (x.class)
		{
			case DDIR_NUMERIC_NAN:
				specials(&accum->specials, in->cxt)->nan += d;
				break;
			case DDIR_NUMERIC_PLUS_INF:
				specials(&accum->specials, in->cxt)->plus_inf += d;
				break;
			case DDIR_NUMERIC_MINUS_INF:
				specials(&accum->specials, in->cxt)->minus_inf += d;
				break;
			case DDIR_NUMERIC_FINITE:
				accum->count += d;
				ddir_scales_add(&accum->scales, in->cxt, x.dscale, d);
				ddir_decimal_add(&accum->sum, in->cxt, &x, d);
				if (squares)
					ddir_decimal_add_square(&accum->squares, in->cxt, &x, d);
				break;
		}
	}
}

static void
fold_float(const DdirAccumInput *in, int width, bool squares)
{
	DdirArena  *arena = ddir_arena_of(in->cxt);

	for (uint32 i = 0; next_value(in, &i); i++)
	{
		DdirFloatAccum *accum = ACCUM_OF(DdirFloatAccum, in, i);
		Datum		v = VALUE_OF(in, i);
		int64		d = in->diff[i];
		double		x = width == sizeof(float4) ? DatumGetFloat4(v) : DatumGetFloat8(v);

		if (unlikely(!isfinite(x)))
		{
			DdirSpecials *s = specials(&accum->specials, in->cxt);

			if (isnan(x))
				s->nan += d;
			else if (x > 0)
				s->plus_inf += d;
			else
				s->minus_inf += d;
			continue;
		}
		accum->count += d;
		if (unlikely(x == 0))
		{
			if (signbit(x))
				specials(&accum->specials, in->cxt)->minus_zero += d;
			continue;
		}
		ddir_superacc_add(&accum->sum, arena, x, d);
		if (squares)
			ddir_superacc_add_square(&accum->squares, arena, x, d);
	}
}

static void
fold_interval(const DdirAccumInput *in)
{
	for (uint32 i = 0; next_value(in, &i); i++)
	{
		DdirIntervalAccum *accum = ACCUM_OF(DdirIntervalAccum, in, i);
		const Interval *x = DatumGetIntervalP(VALUE_OF(in, i));
		int64		d = in->diff[i];
		int			infinity = ddir_interval_infinity(x);

		if (infinity > 0)
			specials(&accum->specials, in->cxt)->plus_inf += d;
		else if (infinity < 0)
			specials(&accum->specials, in->cxt)->minus_inf += d;
		else
		{
			accum->count += d;
			accum->month += (int128) x->month * d;
			accum->day += (int128) x->day * d;
			accum->time += (int128) x->time * d;
		}
	}
}

/* ----
 * By kind
 * ----
 */

void
ddir_accum_fold(DdirAccumKind kind, const DdirAccumInput *in)
{
	switch (kind)
	{
		case DDIR_ACCUM_ROWS:
			fold_rows(in);
			break;
		case DDIR_ACCUM_COUNT:
			fold_count(in);
			break;
		case DDIR_ACCUM_INT2:
			fold_int2(in);
			break;
		case DDIR_ACCUM_INT4:
			fold_int4(in);
			break;
		case DDIR_ACCUM_INT8:
			fold_int8(in);
			break;
		case DDIR_ACCUM_INT2_SQUARES:
			fold_int_squares(in, sizeof(int16));
			break;
		case DDIR_ACCUM_INT4_SQUARES:
			fold_int_squares(in, sizeof(int32));
			break;
		case DDIR_ACCUM_INT8_SQUARES:
			fold_int_squares(in, sizeof(int64));
			break;
		case DDIR_ACCUM_NUMERIC:
			fold_numeric(in, false);
			break;
		case DDIR_ACCUM_NUMERIC_SQUARES:
			fold_numeric(in, true);
			break;
		case DDIR_ACCUM_FLOAT4:
			fold_float(in, sizeof(float4), false);
			break;
		case DDIR_ACCUM_FLOAT4_SQUARES:
			fold_float(in, sizeof(float4), true);
			break;
		case DDIR_ACCUM_FLOAT8:
			fold_float(in, sizeof(float8), false);
			break;
		case DDIR_ACCUM_FLOAT8_SQUARES:
			fold_float(in, sizeof(float8), true);
			break;
		case DDIR_ACCUM_INTERVAL:
			fold_interval(in);
			break;
		case DDIR_ACCUM_BOOL:
			fold_bool(in);
			break;
		case DDIR_ACCUM_BITS2:
			fold_bits(in, sizeof(int16));
			break;
		case DDIR_ACCUM_BITS4:
			fold_bits(in, sizeof(int32));
			break;
		case DDIR_ACCUM_BITS8:
			fold_bits(in, sizeof(int64));
			break;
	}
}

static Size
bits_size(int width)
{
	return offsetof(DdirBitsAccum, bit) + sizeof(int64) * BITS_PER_BYTE * width;
}

Size
ddir_accum_size(DdirAccumKind kind)
{
	switch (kind)
	{
		case DDIR_ACCUM_ROWS:
		case DDIR_ACCUM_COUNT:
			return sizeof(DdirCountAccum);
		case DDIR_ACCUM_INT2:
		case DDIR_ACCUM_INT4:
		case DDIR_ACCUM_INT8:
			return offsetof(DdirIntAccum, squares);
		case DDIR_ACCUM_INT2_SQUARES:
		case DDIR_ACCUM_INT4_SQUARES:
		case DDIR_ACCUM_INT8_SQUARES:
			return sizeof(DdirIntAccum);
		case DDIR_ACCUM_NUMERIC:
			return offsetof(DdirNumericAccum, squares);
		case DDIR_ACCUM_NUMERIC_SQUARES:
			return sizeof(DdirNumericAccum);
		case DDIR_ACCUM_FLOAT4:
		case DDIR_ACCUM_FLOAT8:
			return offsetof(DdirFloatAccum, squares);
		case DDIR_ACCUM_FLOAT4_SQUARES:
		case DDIR_ACCUM_FLOAT8_SQUARES:
			return sizeof(DdirFloatAccum);
		case DDIR_ACCUM_INTERVAL:
			return sizeof(DdirIntervalAccum);
		case DDIR_ACCUM_BOOL:
			return sizeof(DdirBoolAccum);
		case DDIR_ACCUM_BITS2:
			return bits_size(sizeof(int16));
		case DDIR_ACCUM_BITS4:
			return bits_size(sizeof(int32));
		case DDIR_ACCUM_BITS8:
			return bits_size(sizeof(int64));
	}
	elog(ERROR, "unknown accumulator kind %d", (int) kind);
}

static void
drop_specials(DdirSpecials *s)
{
	if (s)
		pfree(s);
}

void
ddir_accum_drop(DdirAccumKind kind, void *accum)
{
	DdirNumericAccum *numeric = accum;
	DdirFloatAccum *floats = accum;

	switch (kind)
	{
		case DDIR_ACCUM_NUMERIC_SQUARES:
			ddir_decimal_free(&numeric->squares);
			/* FALLTHROUGH */
		case DDIR_ACCUM_NUMERIC:
			drop_specials(numeric->specials);
			ddir_scales_free(&numeric->scales);
			ddir_decimal_free(&numeric->sum);
			break;
		case DDIR_ACCUM_FLOAT4_SQUARES:
		case DDIR_ACCUM_FLOAT8_SQUARES:
			ddir_superacc_free(&floats->squares);
			/* FALLTHROUGH */
		case DDIR_ACCUM_FLOAT4:
		case DDIR_ACCUM_FLOAT8:
			drop_specials(floats->specials);
			ddir_superacc_free(&floats->sum);
			break;
		case DDIR_ACCUM_INTERVAL:
			drop_specials(((DdirIntervalAccum *) accum)->specials);
			break;
		default:
			break;
	}
}

/* ----
 * Bytes
 * ----
 */

static void
save_specials(const DdirSpecials *s, DdirBytes *to)
{
	static const DdirSpecials none;

	ddir_bytes_put(to, s ? s : &none, sizeof(DdirSpecials));
}

static void
load_specials(DdirSpecials **s, MemoryContext cxt, const uint8_t **from)
{
	static const DdirSpecials none;

	if (memcmp(*from, &none, sizeof(none)) != 0)
		memcpy(specials(s, cxt), *from, sizeof(DdirSpecials));
	*from += sizeof(DdirSpecials);
}

static void
save_numeric(const DdirNumericAccum *accum, bool squares, DdirBytes *to)
{
	ddir_bytes_put(to, &accum->count, sizeof(accum->count));
	save_specials(accum->specials, to);
	ddir_scales_save(&accum->scales, to);
	ddir_decimal_save(&accum->sum, to);
	if (squares)
		ddir_decimal_save(&accum->squares, to);
}

static void
load_numeric(DdirNumericAccum *accum, bool squares, MemoryContext cxt, const uint8_t **from)
{
	ddir_bytes_take(from, &accum->count, sizeof(accum->count));
	load_specials(&accum->specials, cxt, from);
	ddir_scales_load(&accum->scales, cxt, from);
	ddir_decimal_load(&accum->sum, cxt, from);
	if (squares)
		ddir_decimal_load(&accum->squares, cxt, from);
}

static void
save_float(const DdirFloatAccum *accum, bool squares, DdirBytes *to)
{
	ddir_bytes_put(to, &accum->count, sizeof(accum->count));
	save_specials(accum->specials, to);
	ddir_superacc_save(&accum->sum, to);
	if (squares)
		ddir_superacc_save(&accum->squares, to);
}

static void
load_float(DdirFloatAccum *accum, bool squares, MemoryContext cxt, const uint8_t **from)
{
	ddir_bytes_take(from, &accum->count, sizeof(accum->count));
	load_specials(&accum->specials, cxt, from);
	ddir_superacc_load(&accum->sum, ddir_arena_of(cxt), from);
	if (squares)
		ddir_superacc_load(&accum->squares, ddir_arena_of(cxt), from);
}

void
ddir_accum_save(DdirAccumKind kind, const void *accum, DdirBytes *to)
{
	DdirIntervalAccum interval;

	switch (kind)
	{
		case DDIR_ACCUM_NUMERIC:
		case DDIR_ACCUM_NUMERIC_SQUARES:
			save_numeric(accum, kind == DDIR_ACCUM_NUMERIC_SQUARES, to);
			break;
		case DDIR_ACCUM_FLOAT4:
		case DDIR_ACCUM_FLOAT8:
		case DDIR_ACCUM_FLOAT4_SQUARES:
		case DDIR_ACCUM_FLOAT8_SQUARES:
			save_float(accum, kind == DDIR_ACCUM_FLOAT4_SQUARES || kind == DDIR_ACCUM_FLOAT8_SQUARES, to);
			break;
		case DDIR_ACCUM_INTERVAL:
			memcpy(&interval, accum, sizeof(interval));
			save_specials(interval.specials, to);
			interval.specials = NULL;
			ddir_bytes_put(to, &interval, sizeof(interval));
			break;
		default:
			ddir_bytes_put(to, accum, ddir_accum_size(kind));
			break;
	}
}

void
ddir_accum_load(DdirAccumKind kind, void *accum, MemoryContext cxt, const uint8_t **from)
{
	DdirSpecials *s = NULL;

	switch (kind)
	{
		case DDIR_ACCUM_NUMERIC:
		case DDIR_ACCUM_NUMERIC_SQUARES:
			load_numeric(accum, kind == DDIR_ACCUM_NUMERIC_SQUARES, cxt, from);
			break;
		case DDIR_ACCUM_FLOAT4:
		case DDIR_ACCUM_FLOAT8:
		case DDIR_ACCUM_FLOAT4_SQUARES:
		case DDIR_ACCUM_FLOAT8_SQUARES:
			load_float(accum, kind == DDIR_ACCUM_FLOAT4_SQUARES || kind == DDIR_ACCUM_FLOAT8_SQUARES,
					   cxt, from);
			break;
		case DDIR_ACCUM_INTERVAL:
			load_specials(&s, cxt, from);
			ddir_bytes_take(from, accum, sizeof(DdirIntervalAccum));
			((DdirIntervalAccum *) accum)->specials = s;
			break;
		default:
			ddir_bytes_take(from, accum, ddir_accum_size(kind));
			break;
	}
}
