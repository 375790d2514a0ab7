/*-------------------------------------------------------------------------
 *
 * single.c
 *	  SQL functions that the values of subqueries are computed with.
 *
 *	ddir._single(value)			- an aggregate: the value of any row
 *	ddir._only(value, count)	- the value, if it is the only one
 *	ddir._asked(value, error)	- the value, if there is no error
 *
 * A subquery that is used as a value may have one row at most.  How many it has
 * is counted while it is maintained, but that is an error only where its
 * value is asked for.  So is what goes wrong inside of it: an error is the
 * SQLSTATE, as the server packs it, and the message.
 *
 * src/rows/single.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "base/compat.h"

PG_FUNCTION_INFO_V1(ddir_single_take);
PG_FUNCTION_INFO_V1(ddir_single_only);
PG_FUNCTION_INFO_V1(ddir_single_asked);

/* The aggregate's state is the last value. */
Datum
ddir_single_take(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(1));
}

Datum
ddir_single_only(PG_FUNCTION_ARGS)
{
	if (!PG_ARGISNULL(1) && PG_GETARG_INT64(1) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("more than one row returned by a subquery used as an expression")));
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}

Datum
ddir_single_asked(PG_FUNCTION_ARGS)
{
	if (!PG_ARGISNULL(1))
	{
		char	   *message;
		int			sqlstate = strtol(text_to_cstring(PG_GETARG_TEXT_PP(1)), &message, 10);

		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg_internal("%s", *message == ' ' ? message + 1 : message)));
	}
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(PG_GETARG_DATUM(0));
}
