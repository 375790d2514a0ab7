/*-------------------------------------------------------------------------
 *
 * admin.c
 *	  SQL functions for the whole database: ddir.enable, ddir.disable, the
 *	  check that CREATE EXTENSION makes, and what scripts that update it use.
 *
 * src/api/admin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "commands/dbcommands.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/timestamp.h"

#include "api/api.h"
#include "base/compat.h"
#include "base/shared.h"
#include "ddl/retire.h"
#include "meta/freshness.h"
#include "meta/view.h"
#include "store/kept.h"

/* Views are given so long to show what was committed before they stop. */
#define DRAIN_MS 30000

PG_FUNCTION_INFO_V1(ddir_disable);
PG_FUNCTION_INFO_V1(ddir_enable);
PG_FUNCTION_INFO_V1(ddir_require_preload);
PG_FUNCTION_INFO_V1(ddir_carry);

static void
require_administrator(void)
{
	if (!ddir_owns_database(MyDatabaseId, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_DATABASE,
					   get_database_name(MyDatabaseId));
}

/* For so long as all may take; views that cannot become current stop where they are. */
static void
drain(void)
{
	XLogRecPtr	target = ddir_freshness_target();
	TimestampTz end = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), DRAIN_MS);
	ListCell   *lc;

	foreach(lc, ddir_view_list())
	{
		DdirFreshness f;
		char	   *why;

		if (ddir_freshness_servable(lfirst_oid(lc), &why))
			ddir_freshness_await(list_make1_oid(lfirst_oid(lc)), target,
								 TimestampDifferenceMilliseconds(GetCurrentTimestamp(), end), true, &f);
	}
}

Datum
ddir_disable(PG_FUNCTION_ARGS)
{
	ddir_shared_require();
	require_administrator();
	ddir_api_require_primary("ddir.disable()");
	drain();
	ddir_retire_switch(true);
	PG_RETURN_VOID();
}

Datum
ddir_enable(PG_FUNCTION_ARGS)
{
	ddir_shared_require();
	require_administrator();
	ddir_api_require_primary("ddir.enable()");
	ddir_retire_switch(false);
	PG_RETURN_VOID();
}

/*
 * Views made without the library at work would never be kept current, so the
 * extension cannot be made then.
 */
Datum
ddir_require_preload(PG_FUNCTION_ARGS)
{
	ddir_shared_require();
	PG_RETURN_VOID();
}

/* Only scripts have it, while they run; see src/README.md. */
Datum
ddir_carry(PG_FUNCTION_ARGS)
{
	ddir_kept_carry(PG_GETARG_OID(0), PG_GETARG_OID(1));
	PG_RETURN_VOID();
}
