/*-------------------------------------------------------------------------
 *
 * view.c
 *	  SQL functions on one view: ddir.wait, ddir.repair.
 *
 * src/api/view.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "api/api.h"
#include "base/compat.h"
#include "base/request.h"
#include "meta/freshness.h"
#include "meta/view.h"

#define REPAIR_MS 30000

PG_FUNCTION_INFO_V1(ddir_wait);
PG_FUNCTION_INFO_V1(ddir_repair);

/* ----
 * Arguments
 * ----
 */

static const char *
kind_of(Oid relid)
{
	switch (get_rel_relkind(relid))
	{
		case RELKIND_MATVIEW:
			return "It is a materialized view with another access method.";
		case RELKIND_VIEW:
			return "It is a plain view, whose query runs anew each time.";
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_FOREIGN_TABLE:
			return "It is a table.";
		default:
			return "It is not a materialized view.";
	}
}

Oid
ddir_api_view(FunctionCallInfo fcinfo, int arg)
{
	Oid			relid;

	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the view must not be NULL"),
				 errhint("Name a ddir view; ddir.views lists them.")));
	relid = PG_GETARG_OID(arg);
	if (ddir_is_view(relid))
		return relid;
	if (get_rel_name(relid) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid),
				 errhint("ddir.views lists the ddir views.")));
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("%s is not a ddir view", ddir_relation_name(relid)),
			 errdetail_internal("%s", kind_of(relid)),
			 get_rel_relkind(relid) == RELKIND_MATVIEW ?
			 errhint("Use ALTER MATERIALIZED VIEW ... SET ACCESS METHOD ddir to have it kept current.") :
			 errhint("Use CREATE MATERIALIZED VIEW ... USING ddir.")));
}

void
ddir_api_require_owner(Oid view)
{
	if (!ddir_owns_relation(view, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_MATVIEW, get_rel_name(view));
}

void
ddir_api_require_select(Oid view)
{
	AclResult	result = pg_class_aclcheck(view, GetUserId(), ACL_SELECT);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_MATVIEW, get_rel_name(view));
}

void
ddir_api_require_primary(const char *what)
{
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("%s cannot be used during recovery", what),
				 errdetail("ddir views are maintained on the primary server."),
				 errhint("Call it there.")));
}

/* ----
 * ddir.wait(view, timeout)
 * ----
 */

static long
interval_ms(const Interval *interval)
{
	double		ms = interval->time / 1000.0 +
	(interval->day + interval->month * (double) DAYS_PER_MONTH) * SECS_PER_DAY * 1000.0;

	if (ms < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the timeout must not be negative"),
				 errdetail("It is %s.",
						   DatumGetCString(DirectFunctionCall1(interval_out,
															   IntervalPGetDatum(interval)))),
				 errhint("NULL waits without limit, '0' only looks.")));
	return ms > INT_MAX ? -1 : (long) ms;
}

Datum
ddir_wait(PG_FUNCTION_ARGS)
{
	bool		all = PG_ARGISNULL(0);
	long		ms = PG_ARGISNULL(1) ? -1 : interval_ms(PG_GETARG_INTERVAL_P(1));
	TimestampTz start = GetCurrentTimestamp();
	XLogRecPtr	target;
	DdirFreshness f;
	List	   *views;

	ddir_shared_require();
	if (all)
		views = ddir_view_list();
	else
	{
		views = list_make1_oid(ddir_api_view(fcinfo, 0));
		ddir_api_require_select(linitial_oid(views));
	}
	ddir_api_require_primary("ddir.wait()");
	ddir_freshness_require_servable(views);
	target = ddir_freshness_target();
	for (;;)
	{
		long		left = ms;

		if (ms > 0)
			left = Max(0, ms - (long) TimestampDifferenceMilliseconds(start, GetCurrentTimestamp()));
		ddir_freshness_await(views, target, left, false, &f);
		if (f.result != DDIR_FRESHNESS_GONE || !all)
			break;
		views = ddir_view_list();	/* one was dropped meanwhile */
	}
	ddir_freshness_raise(&f, ms);
	PG_RETURN_VOID();
}

/* ----
 * ddir.repair(view)
 * ----
 */

Datum
ddir_repair(PG_FUNCTION_ARGS)
{
	Oid			view = ddir_api_view(fcinfo, 0);

	ddir_api_require_owner(view);
	ddir_api_require_primary("ddir.repair()");
	(void) ddir_request(DDIR_REQUEST_REPAIR, view, InvalidXLogRecPtr, 0, REPAIR_MS);
	PG_RETURN_VOID();
}
