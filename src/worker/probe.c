/*-------------------------------------------------------------------------
 *
 * probe.c
 *	  A short-lived worker that finds out what a database needs.
 *
 * The launcher is connected to no database and cannot see into them.  The
 * probe connects, looks whether the extension is there and whether there is
 * anything for a maintainer to do, writes it into shared memory and exits.
 * What an extension that is gone has left behind, it drops itself.
 *
 * src/worker/probe.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"

#include "base/shared.h"
#include "base/slots.h"
#include "meta/view.h"
#include "worker/launcher.h"

static bool
any_row(const char *sql)
{
	bool		result;

	SPI_connect();
	if (SPI_execute(sql, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "unexpected result of \"%s\"", sql);
	result = SPI_processed > 0;
	SPI_finish();
	return result;
}

static void
look(DdirProbe *found)
{
	bool		slots = ddir_slots_list(MyDatabaseId) != NIL;

	found->extension = OidIsValid(get_extension_oid("ddir", true)) &&
		OidIsValid(ddir_am_oid());
	if (found->extension)
	{
		found->disabled = any_row("SELECT FROM ddir._database WHERE disabled");
		found->wanted = slots || ddir_view_count() > 0 ||
			any_row("SELECT FROM ddir._identity") ||
			any_row("SELECT FROM pg_catalog.pg_trigger WHERE tgfoid = 'ddir._capture()'::pg_catalog.regprocedure");
	}
	else if (slots)
	{
		ddir_slots_drop(MyDatabaseId);
		ddir_origins_drop(MyDatabaseId);
	}
	ddir_origins_drop(InvalidOid);	/* of databases that were dropped */
}

void
ddir_probe_main(Datum arg)
{
	Oid			dbid = DatumGetObjectId(arg);
	DdirProbe	found = {.dbid = dbid,.done = true};

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(dbid, InvalidOid, 0);

	/* Whoever has locked the catalog is not to stop the other databases. */
	SetConfigOption("lock_timeout", "5s", PGC_SUSET, PGC_S_SESSION);
	SetConfigOption("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION);

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	look(&found);
	PopActiveSnapshot();
	CommitTransactionCommand();

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	if (ddir_shared->probe.dbid == dbid)
		ddir_shared->probe = found;
	LWLockRelease(ddir_shared->lock);
	proc_exit(0);
}
