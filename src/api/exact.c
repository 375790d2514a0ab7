/*-------------------------------------------------------------------------
 *
 * exact.c
 *	  SQL functions that the canonical query of a view is made with.
 *
 * Where the server's answer depends on the order of rows, ddir fixes it: sums,
 * averages and variances of floats are exact and rounded once, and rows that
 * are not ordered otherwise are taken in the order of their images.  ddir.check
 * runs a view's query with these functions in place of the server's, so they
 * are made of the accumulators and images that maintain views.
 *
 *	ddir._sum, _avg, _var_pop, ... - aggregates of real and double precision
 *	ddir._first(...)	- an aggregate: the first value
 *	ddir._image(...)	- the image of the arguments as a row
 *
 * src/api/exact.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/port.h"
#include "rows/accum.h"
#include "rows/rowtype.h"

PG_FUNCTION_INFO_V1(ddir_exact_add_float4);
PG_FUNCTION_INFO_V1(ddir_exact_add_float8);
PG_FUNCTION_INFO_V1(ddir_exact_add_squares_float4);
PG_FUNCTION_INFO_V1(ddir_exact_add_squares_float8);
PG_FUNCTION_INFO_V1(ddir_exact_first);
PG_FUNCTION_INFO_V1(ddir_exact_image);

/* ----
 * Aggregates
 * ----
 */

/* The accumulator of a group; the state of these aggregates. */
static DdirGroup *
make_group(MemoryContext cxt, DdirAccumKind kind)
{
	DdirGroup  *group = MemoryContextAllocZero(cxt, sizeof(DdirGroup));

	group->state = MemoryContextAllocZero(cxt, ddir_accum_size(kind));
	return group;
}

static Datum
add(FunctionCallInfo fcinfo, DdirAccumKind kind)
{
	MemoryContext cxt;
	DdirGroup  *group;
	int64		diff = 1;
	bool		isnull = false;
	DdirAccumInput in = {
		.n = 1,
		.diff = &diff,
		.isnull = &isnull,
		.stride = 1
	};

	if (!AggCheckCallContext(fcinfo, &cxt))
		elog(ERROR, "aggregate function called in non-aggregate context");
	group = PG_ARGISNULL(0) ? NULL : (DdirGroup *) PG_GETARG_POINTER(0);
	if (PG_ARGISNULL(1))
	{
		if (group == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(group);
	}
	if (group == NULL)
		group = make_group(cxt, kind);
	in.group = &group;
	in.value = &fcinfo->args[1].value;
	in.cxt = cxt;
	ddir_accum_fold(kind, &in);
	PG_RETURN_POINTER(group);
}

Datum
ddir_exact_add_float4(PG_FUNCTION_ARGS)
{
	return add(fcinfo, DDIR_ACCUM_FLOAT4);
}

Datum
ddir_exact_add_float8(PG_FUNCTION_ARGS)
{
	return add(fcinfo, DDIR_ACCUM_FLOAT8);
}

Datum
ddir_exact_add_squares_float4(PG_FUNCTION_ARGS)
{
	return add(fcinfo, DDIR_ACCUM_FLOAT4_SQUARES);
}

Datum
ddir_exact_add_squares_float8(PG_FUNCTION_ARGS)
{
	return add(fcinfo, DDIR_ACCUM_FLOAT8_SQUARES);
}

/* As the server's aggregate with this OID would end, but exactly. */
static Datum
finish(FunctionCallInfo fcinfo, Oid aggfnoid)
{
	const DdirAccumFinal *final = ddir_accum_final(aggfnoid);
	DdirGroup  *group;
	Datum		value;

	if (!AggCheckCallContext(fcinfo, NULL))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (final == NULL)
		elog(ERROR, "aggregate %u has no accumulator", aggfnoid);
	group = PG_ARGISNULL(0) ? NULL : (DdirGroup *) PG_GETARG_POINTER(0);
	if (group == NULL || !ddir_accum_result(final, group->state, &value))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(value);
}

#define FINAL(name, aggfnoid) \
	PG_FUNCTION_INFO_V1(ddir_exact_##name); \
	Datum \
	ddir_exact_##name(PG_FUNCTION_ARGS) \
	{ \
		return finish(fcinfo, aggfnoid); \
	} \
	extern int	ddir_exact_##name##_follows

FINAL(sum_float4, F_SUM_FLOAT4);
FINAL(sum_float8, F_SUM_FLOAT8);
FINAL(avg_float4, F_AVG_FLOAT4);
FINAL(avg_float8, F_AVG_FLOAT8);
FINAL(var_pop_float4, F_VAR_POP_FLOAT4);
FINAL(var_pop_float8, F_VAR_POP_FLOAT8);
FINAL(var_samp_float4, F_VAR_SAMP_FLOAT4);
FINAL(var_samp_float8, F_VAR_SAMP_FLOAT8);
FINAL(stddev_pop_float4, F_STDDEV_POP_FLOAT4);
FINAL(stddev_pop_float8, F_STDDEV_POP_FLOAT8);
FINAL(stddev_samp_float4, F_STDDEV_SAMP_FLOAT4);
FINAL(stddev_samp_float8, F_STDDEV_SAMP_FLOAT8);

/* ----
 * ddir._image(VARIADIC "any")
 * ----
 */

typedef struct ImageOf
{
	DdirRowType *type;
	DdirDeltas	buffer;
	MemoryContext scratch;
} ImageOf;

/* Kept for the life of the expression. */
static ImageOf *
prepare_image(FunctionCallInfo fcinfo)
{
	ImageOf    *image = fcinfo->flinfo->fn_extra;
	MemoryContext old;
	Oid			typids[FUNC_MAX_ARGS];

	if (image != NULL)
		return image;
	for (int i = 0; i < PG_NARGS(); i++)
	{
		typids[i] = get_fn_expr_argtype(fcinfo->flinfo, i);
		if (!OidIsValid(typids[i]))
			elog(ERROR, "could not determine the type of argument %d", i + 1);
	}
	old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
	image = palloc0(sizeof(ImageOf));
	image->type = ddir_rowtype_make(PG_NARGS(), typids, NULL, NULL);
	image->scratch = AllocSetContextCreate(CurrentMemoryContext, "ddir image", ALLOCSET_SMALL_SIZES);
	ddir_deltas_init(&image->buffer, ddir_arena_of(AllocSetContextCreate(CurrentMemoryContext,
																		 "ddir image buffer",
																		 ALLOCSET_SMALL_SIZES)),
					 1, false);
	MemoryContextSwitchTo(old);
	fcinfo->flinfo->fn_extra = image;
	return image;
}

Datum
ddir_exact_first(PG_FUNCTION_ARGS)
{
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

Datum
ddir_exact_image(PG_FUNCTION_ARGS)
{
	ImageOf    *image = prepare_image(fcinfo);
	Datum		values[FUNC_MAX_ARGS];
	bool		isnull[FUNC_MAX_ARGS];
	MemoryContext old;
	uint32		len;
	bytea	   *result;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		values[i] = fcinfo->args[i].value;
		isnull[i] = fcinfo->args[i].isnull;
	}
	MemoryContextReset(image->scratch);
	old = MemoryContextSwitchTo(image->scratch);
	ddir_deltas_clear(&image->buffer);
	len = ddir_image_pack(image->type, values, isnull, NULL, &image->buffer);
	MemoryContextSwitchTo(old);

	result = palloc(VARHDRSZ + len);
	SET_VARSIZE(result, VARHDRSZ + len);
	memcpy(VARDATA(result), image->buffer.val.bytes, len);
	PG_RETURN_BYTEA_P(result);
}
