/*-------------------------------------------------------------------------
 *
 * final.c
 *	  Native accumulators: results, and which aggregates have them.
 *
 * Numeric results, of integers too, come out of the server's own functions.
 * Where a sum fits a bigint, it is made a numeric directly; else, and for
 * variances, we write our exact sums in the form in which parallel workers
 * hand over their states, have the server read it (numeric_deserialize), and
 * call its final function.  That form is not promised to stay as it is, so
 * ddir_accum_self_check tries it.
 *
 * src/rows/final.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "libpq/pqformat.h"
#include "nodes/execnodes.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "rows/accum.h"

#define BASE DDIR_NUMERIC_BASE
#define NUMERICVAR_NEG 0x4000	/* signs as the server writes them */
#define NUMERICVAR_POS 0x0000
#define WORDS 3					/* of 64 bits, in a sum of squares */
#define WORDS_DIGITS 16			/* of base 10000, in so many words */

static const DdirSpecials no_specials;

static const DdirSpecials *
specials_of(const DdirSpecials *s)
{
	return s ? s : &no_specials;
}

static int64
specials_count(const DdirSpecials *s)
{
	return s->nan + s->plus_inf + s->minus_inf;
}

/* ----
 * States of the server
 * ----
 */

/* What numeric_serialize writes for a NumericAggState. */
typedef struct ServerState
{
	int64		count;
	DdirDigits	sum;
	int			scale;
	DdirDigits	squares;
	const DdirSpecials *specials;
} ServerState;

static void
send_digits(StringInfo buf, const DdirDigits *v, int scale)
{
	pq_sendint32(buf, v->n);
	pq_sendint32(buf, v->weight);
	pq_sendint32(buf, v->neg ? NUMERICVAR_NEG : NUMERICVAR_POS);
	pq_sendint32(buf, scale);
	for (int i = 0; i < v->n; i++)
		pq_sendint16(buf, v->digit[i]);
}

/*
 * Call one of the server's functions on a state of its own; false: NULL.
 */
static bool
call_server(PGFunction function, const ServerState *state, Datum *result)
{
	/* numeric_deserialize asks who calls */
	static AggState stand_in = {.ss.ps.type = T_AggState};

	LOCAL_FCINFO(fcinfo, 2);
	StringInfoData buf;
	Datum		internal;

	pq_begintypsend(&buf);
	pq_sendint64(&buf, state->count);
	send_digits(&buf, &state->sum, state->scale);
	send_digits(&buf, &state->squares, 2 * state->scale);
	/* greatest scale and its count: not read by final functions */
	pq_sendint32(&buf, state->scale);
	pq_sendint64(&buf, state->count);
	pq_sendint64(&buf, state->specials->nan);
	pq_sendint64(&buf, state->specials->plus_inf);
	pq_sendint64(&buf, state->specials->minus_inf);

	InitFunctionCallInfoData(*fcinfo, NULL, 2, InvalidOid, (Node *) &stand_in, NULL);
	fcinfo->args[0].value = PointerGetDatum(pq_endtypsend(&buf));
	fcinfo->args[0].isnull = false;
	fcinfo->args[1].value = (Datum) 0;
	fcinfo->args[1].isnull = false;
	internal = numeric_deserialize(fcinfo);

	InitFunctionCallInfoData(*fcinfo, NULL, 1, InvalidOid, (Node *) &stand_in, NULL);
	fcinfo->args[0].value = internal;
	fcinfo->args[0].isnull = false;
	*result = function(fcinfo);
	return !fcinfo->isnull;
}

/* ----
 * Integers
 * ----
 */

/*
 * A number in two's complement, least word first, as the server's digits:
 * taken from it four at a time.
 */
static void
digits_of_words(const uint64 *words, DdirDigits *out)
{
	const uint64 quad = (uint64) BASE * BASE * BASE * BASE;
	uint64		w[WORDS];
	int16		all[WORDS_DIGITS];	/* last digit first */
	int			n = WORDS_DIGITS;
	int			first = 0;

	memset(out, 0, sizeof(*out));
	memcpy(w, words, sizeof(w));
	out->neg = (int64) w[WORDS - 1] < 0;
	if (out->neg)
	{
		uint128		c = 1;

		for (int i = 0; i < WORDS; i++)
		{
			c += ~w[i];
			w[i] = (uint64) c;
			c >>= 64;
		}
	}
	for (int i = 0; i < WORDS_DIGITS;)
	{
		uint128		rest = 0;
		uint64		four;

		for (int k = WORDS - 1; k >= 0; k--)
		{
			rest = rest << 64 | w[k];
			w[k] = (uint64) (rest / quad);
			rest %= quad;
		}
		four = (uint64) rest;
		for (int k = 0; k < 4; k++, four /= BASE)
			all[i++] = four % BASE;
	}
	ddir_check(w[0] == 0 && w[1] == 0 && w[2] == 0);

	while (n > 0 && all[n - 1] == 0)
		n--;
	while (first < n && all[first] == 0)
		first++;
	out->n = n - first;
	if (out->n == 0)
		return;
	out->weight = n - 1;
	out->digit = palloc(out->n * sizeof(int16));
	for (int i = 0; i < out->n; i++)
		out->digit[i] = all[n - 1 - i];
}

static void
int_state(const DdirIntAccum *accum, bool squares, ServerState *state)
{
	uint64		words[WORDS] = {(uint64) accum->sum, (uint64) (accum->sum >> 64),
	accum->sum < 0 ? ~UINT64CONST(0) : 0};

	memset(state, 0, sizeof(*state));
	state->count = accum->count;
	digits_of_words(words, &state->sum);
	if (squares)
		digits_of_words(accum->squares, &state->squares);
	state->specials = &no_specials;
}

static Datum
int_sum(const DdirIntAccum *accum)
{
	ServerState state;
	Datum		result;

	if (accum->sum >= PG_INT64_MIN && accum->sum <= PG_INT64_MAX)
		return NumericGetDatum(int64_to_numeric((int64) accum->sum));
	int_state(accum, false, &state);
	if (!call_server(numeric_sum, &state, &result))
		elog(ERROR, "the sum of " INT64_FORMAT " integers is NULL", accum->count);
	return result;
}

/* sum(smallint), sum(integer) */
static bool
int_sum_bigint(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirIntAccum *accum = p;

	if (accum->count == 0)
		return false;
	if (accum->sum < PG_INT64_MIN || accum->sum > PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("bigint out of range")));
	*value = Int64GetDatum((int64) accum->sum);
	return true;
}

static bool
int_sum_money(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirIntAccum *accum = p;

	if (accum->count == 0)
		return false;
	if (accum->sum < PG_INT64_MIN || accum->sum > PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("money out of range")));
	*value = Int64GetDatum((int64) accum->sum);
	return true;
}

/* sum(bigint) */
static bool
int_sum_numeric(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirIntAccum *accum = p;

	if (accum->count == 0)
		return false;
	*value = int_sum(accum);
	return true;
}

static bool
int_avg(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirIntAccum *accum = p;

	if (accum->count == 0)
		return false;
	*value = DirectFunctionCall2(numeric_div, int_sum(accum),
								 NumericGetDatum(int64_to_numeric(accum->count)));
	return true;
}

static bool
int_variance(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirIntAccum *accum = p;
	ServerState state;

	if (accum->count == 0)
		return false;
	int_state(accum, true, &state);
	return call_server(final->server, &state, value);
}

/* ----
 * Numeric
 * ----
 */

static int64
numeric_total(const DdirNumericAccum *accum)
{
	return accum->count + specials_count(specials_of(accum->specials));
}

static void
numeric_state(const DdirNumericAccum *accum, bool squares, ServerState *state)
{
	memset(state, 0, sizeof(*state));
	state->count = accum->count;
	state->scale = ddir_scales_max(&accum->scales);
	ddir_decimal_digits(&accum->sum, &state->sum);
	if (squares)
		ddir_decimal_digits(&accum->squares, &state->squares);
	state->specials = specials_of(accum->specials);
}

static Datum
numeric_sum_of(const DdirNumericAccum *accum)
{
	int			scale = ddir_scales_max(&accum->scales);
	ServerState state;
	Datum		result;
	int64		v;

	if (specials_count(specials_of(accum->specials)) == 0 &&
		ddir_decimal_int64(&accum->sum, scale, &v))
		return NumericGetDatum(int64_div_fast_to_numeric(v, scale));
	numeric_state(accum, false, &state);
	if (!call_server(numeric_sum, &state, &result))
		elog(ERROR, "the sum of " INT64_FORMAT " numbers is NULL", accum->count);
	return result;
}

static bool
numeric_sum_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirNumericAccum *accum = p;

	if (numeric_total(accum) == 0)
		return false;
	*value = numeric_sum_of(accum);
	return true;
}

static bool
numeric_avg_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirNumericAccum *accum = p;

	if (numeric_total(accum) == 0)
		return false;
	*value = numeric_sum_of(accum);
	/* any special value is the average, too */
	if (specials_count(specials_of(accum->specials)) == 0)
		*value = DirectFunctionCall2(numeric_div, *value,
									 NumericGetDatum(int64_to_numeric(accum->count)));
	return true;
}

static bool
numeric_variance(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirNumericAccum *accum = p;
	ServerState state;

	if (numeric_total(accum) == 0)
		return false;
	numeric_state(accum, true, &state);
	return call_server(final->server, &state, value);
}

/* ----
 * Floats
 * ----
 */

static int64
float_total(const DdirFloatAccum *accum)
{
	return accum->count + specials_count(specials_of(accum->specials));
}

/* Is the sum decided by values that are no numbers? */
static bool
float_special_sum(const DdirFloatAccum *accum, double *sum)
{
	const DdirSpecials *s = specials_of(accum->specials);

	if (specials_count(s) == 0)
		return false;
	if (s->nan > 0 || (s->plus_inf > 0 && s->minus_inf > 0))
		*sum = get_float8_nan();
	else
		*sum = s->plus_inf > 0 ? get_float8_infinity() : -get_float8_infinity();
	return true;
}

/* Nothing but minus zeros sums up to minus zero, as by adding one to another. */
static bool
float_minus_zero(const DdirFloatAccum *accum)
{
	return accum->count > 0 &&
		specials_of(accum->specials)->minus_zero == accum->count;
}

static bool
float4_sum(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirFloatAccum *accum = p;
	double		special;
	float4		sum;

	if (float_total(accum) == 0)
		return false;
	if (float_special_sum(accum, &special))
		sum = isnan(special) ? get_float4_nan() : (float4) special;
	else
	{
		sum = float_minus_zero(accum) ? -0.0f : ddir_superacc_sum_float(&accum->sum);
		if (isinf(sum))
			float_overflow_error();
	}
	*value = Float4GetDatum(sum);
	return true;
}

static bool
float8_sum(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirFloatAccum *accum = p;
	double		sum;

	if (float_total(accum) == 0)
		return false;
	if (!float_special_sum(accum, &sum))
	{
		sum = float_minus_zero(accum) ? -0.0 : ddir_superacc_sum(&accum->sum);
		if (isinf(sum))
			float_overflow_error();
	}
	*value = Float8GetDatum(sum);
	return true;
}

static bool
float_avg(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirFloatAccum *accum = p;
	double		avg;

	if (float_total(accum) == 0)
		return false;
	if (!float_special_sum(accum, &avg))
		avg = ddir_superacc_mean(&accum->sum, accum->count);
	*value = Float8GetDatum(avg);
	return true;
}

static bool
float_variance(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirFloatAccum *accum = p;
	double		variance;

	if (float_total(accum) <= (final->sample ? 1 : 0))
		return false;
	if (specials_count(specials_of(accum->specials)) > 0)
		variance = get_float8_nan();
	else
	{
		variance = ddir_superacc_variance(&accum->sum, &accum->squares, accum->count,
										  final->sample, final->root);
		if (isinf(variance))
			float_overflow_error();
	}
	*value = Float8GetDatum(variance);
	return true;
}

/* ----
 * Others
 * ----
 */

static bool
count_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	*value = Int64GetDatum(((const DdirCountAccum *) p)->count);
	return true;
}

static void
interval_overflow(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			 errmsg("interval out of range")));
}

static Interval *
interval_sum_of(const DdirIntervalAccum *accum)
{
	const DdirSpecials *s = specials_of(accum->specials);
	Interval   *sum = palloc0(sizeof(Interval));

	if (s->plus_inf > 0 && s->minus_inf > 0)
		interval_overflow();
	if (specials_count(s) > 0)
	{
		ddir_interval_set_infinity(sum, s->plus_inf > 0 ? 1 : -1);
		return sum;
	}
	sum->month = (int32) accum->month;
	sum->day = (int32) accum->day;
	sum->time = (TimeOffset) accum->time;
	if (sum->month != accum->month || sum->day != accum->day ||
		sum->time != accum->time || ddir_interval_infinity(sum) != 0)
		interval_overflow();
	return sum;
}

static int64
interval_total(const DdirIntervalAccum *accum)
{
	return accum->count + specials_count(specials_of(accum->specials));
}

static bool
interval_sum_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirIntervalAccum *accum = p;

	if (interval_total(accum) == 0)
		return false;
	*value = IntervalPGetDatum(interval_sum_of(accum));
	return true;
}

static bool
interval_avg_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirIntervalAccum *accum = p;
	Interval   *sum;

	if (interval_total(accum) == 0)
		return false;
	sum = interval_sum_of(accum);
	*value = IntervalPGetDatum(sum);
	if (ddir_interval_infinity(sum) == 0)
		*value = DirectFunctionCall2(interval_div, *value,
									 Float8GetDatum((float8) accum->count));
	return true;
}

static bool
bool_and_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirBoolAccum *accum = p;

	*value = BoolGetDatum(accum->count_true == accum->count);
	return accum->count != 0;
}

static bool
bool_or_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	const DdirBoolAccum *accum = p;

	*value = BoolGetDatum(accum->count_true != 0);
	return accum->count != 0;
}

/* Each bit by how many values have it. */
static bool
bits_final(DdirAccumKind kind, const DdirBitsAccum *accum, char how, Datum *value)
{
	int			width = kind == DDIR_ACCUM_BITS2 ? 16 : kind == DDIR_ACCUM_BITS4 ? 32 : 64;
	uint64		v = 0;

	if (accum->count == 0)
		return false;
	for (int i = 0; i < width; i++)
	{
		int64		n = accum->bit[i];
		bool		set = how == '&' ? n == accum->count : how == '|' ? n != 0 : n & 1;

		v |= (uint64) set << i;
	}
	if (kind == DDIR_ACCUM_BITS2)
		*value = Int16GetDatum((int16) v);
	else if (kind == DDIR_ACCUM_BITS4)
		*value = Int32GetDatum((int32) v);
	else
		*value = Int64GetDatum((int64) v);
	return true;
}

static bool
bit_and_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	return bits_final(final->kind, p, '&', value);
}

static bool
bit_or_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	return bits_final(final->kind, p, '|', value);
}

static bool
bit_xor_final(const DdirAccumFinal *final, const void *p, Datum *value)
{
	return bits_final(final->kind, p, '^', value);
}

/* ----
 * The aggregates
 * ----
 */

#define VARIANCES(type, KIND, function) \
	{F_VAR_POP_##type, KIND, function, numeric_var_pop, false, false, false}, \
	{F_VAR_SAMP_##type, KIND, function, numeric_var_samp, true, false, false}, \
	{F_VARIANCE_##type, KIND, function, numeric_var_samp, true, false, false}, \
	{F_STDDEV_POP_##type, KIND, function, numeric_stddev_pop, false, true, false}, \
	{F_STDDEV_SAMP_##type, KIND, function, numeric_stddev_samp, true, true, false}, \
	{F_STDDEV_##type, KIND, function, numeric_stddev_samp, true, true, false}

static const DdirAccumFinal finals[] = {
	{F_COUNT_, DDIR_ACCUM_ROWS, count_final},
	{F_COUNT_ANY, DDIR_ACCUM_COUNT, count_final},
	{F_SUM_INT2, DDIR_ACCUM_INT2, int_sum_bigint},
	{F_SUM_INT4, DDIR_ACCUM_INT4, int_sum_bigint},
	{F_SUM_INT8, DDIR_ACCUM_INT8, int_sum_numeric},
	{F_SUM_MONEY, DDIR_ACCUM_INT8, int_sum_money},
	{F_SUM_NUMERIC, DDIR_ACCUM_NUMERIC, numeric_sum_final},
	{F_SUM_FLOAT4, DDIR_ACCUM_FLOAT4, float4_sum},
	{F_SUM_FLOAT8, DDIR_ACCUM_FLOAT8, float8_sum},
	{F_SUM_INTERVAL, DDIR_ACCUM_INTERVAL, interval_sum_final},
	{F_AVG_INT2, DDIR_ACCUM_INT2, int_avg},
	{F_AVG_INT4, DDIR_ACCUM_INT4, int_avg},
	{F_AVG_INT8, DDIR_ACCUM_INT8, int_avg},
	{F_AVG_NUMERIC, DDIR_ACCUM_NUMERIC, numeric_avg_final},
	{F_AVG_FLOAT4, DDIR_ACCUM_FLOAT4, float_avg},
	{F_AVG_FLOAT8, DDIR_ACCUM_FLOAT8, float_avg},
	{F_AVG_INTERVAL, DDIR_ACCUM_INTERVAL, interval_avg_final},
	VARIANCES(INT2, DDIR_ACCUM_INT2_SQUARES, int_variance),
	VARIANCES(INT4, DDIR_ACCUM_INT4_SQUARES, int_variance),
	VARIANCES(INT8, DDIR_ACCUM_INT8_SQUARES, int_variance),
	VARIANCES(NUMERIC, DDIR_ACCUM_NUMERIC_SQUARES, numeric_variance),
	VARIANCES(FLOAT4, DDIR_ACCUM_FLOAT4_SQUARES, float_variance),
	VARIANCES(FLOAT8, DDIR_ACCUM_FLOAT8_SQUARES, float_variance),
	{F_BOOL_AND, DDIR_ACCUM_BOOL, bool_and_final, NULL, false, false, true},
	{F_EVERY, DDIR_ACCUM_BOOL, bool_and_final, NULL, false, false, true},
	{F_BOOL_OR, DDIR_ACCUM_BOOL, bool_or_final, NULL, false, false, true},
	{F_BIT_AND_INT2, DDIR_ACCUM_BITS2, bit_and_final, NULL, false, false, true},
	{F_BIT_AND_INT4, DDIR_ACCUM_BITS4, bit_and_final, NULL, false, false, true},
	{F_BIT_AND_INT8, DDIR_ACCUM_BITS8, bit_and_final, NULL, false, false, true},
	{F_BIT_OR_INT2, DDIR_ACCUM_BITS2, bit_or_final, NULL, false, false, true},
	{F_BIT_OR_INT4, DDIR_ACCUM_BITS4, bit_or_final, NULL, false, false, true},
	{F_BIT_OR_INT8, DDIR_ACCUM_BITS8, bit_or_final, NULL, false, false, true},
	{F_BIT_XOR_INT2, DDIR_ACCUM_BITS2, bit_xor_final},
	{F_BIT_XOR_INT4, DDIR_ACCUM_BITS4, bit_xor_final},
	{F_BIT_XOR_INT8, DDIR_ACCUM_BITS8, bit_xor_final},
};

const DdirAccumFinal *
ddir_accum_final(Oid aggfnoid)
{
	for (int i = 0; i < lengthof(finals); i++)
		if (finals[i].aggfnoid == aggfnoid)
			return &finals[i];
	return NULL;
}

/* ----
 * Self check
 * ----
 */

static void
check_text(PGFunction function, const ServerState *state, const char *expected)
{
	Datum		result;
	char	   *text = "NULL";

	if (call_server(function, state, &result))
		text = DatumGetCString(DirectFunctionCall1(numeric_out, result));

	if (strcmp(text, expected) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("this server keeps states of numeric aggregates in an unknown form"),
				 errdetail("A result is %s, and should be %s.", text, expected)));
}

void
ddir_accum_self_check(void)
{
	static bool done = false;

	/* of -10002.50 and 20005.00 */
	int16		sum_digits[] = {1, 2, 5000};
	int16		squares_digits[] = {5, 25, 31, 2500};
	DdirSpecials nan = {.nan = 1};
	ServerState state = {
		.count = 2,
		.sum = {.weight = 1,.n = lengthof(sum_digits),.digit = sum_digits},
		.squares = {.weight = 2,.n = lengthof(squares_digits),.digit = squares_digits},
		.scale = 2,
		.specials = &no_specials
	};
	DdirNumeric n;

	if (done)
		return;
	check_text(numeric_sum, &state, "10002.50");
	check_text(numeric_var_pop, &state, "225112514.06250000");
	state.sum.neg = true;
	check_text(numeric_avg, &state, "-5001.2500000000000000");
	state.specials = &nan;
	check_text(numeric_sum, &state, "NaN");

	ddir_numeric_get(DirectFunctionCall3(numeric_in, CStringGetDatum("-10002.50"),
										 ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)), &n);
	if (n.class != DDIR_NUMERIC_FINITE || !n.neg || n.weight != 1 || n.dscale != 2 ||
		n.ndigits != 3 || ddir_numeric_digit(&n, 0) != 1 ||
		ddir_numeric_digit(&n, 1) != 2 || ddir_numeric_digit(&n, 2) != 5000)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("this server keeps numeric values in an unknown form")));
	done = true;
}
