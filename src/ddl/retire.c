/*-------------------------------------------------------------------------
 *
 * retire.c
 *	  Taking ddir out of a database.
 *
 * Nothing that cannot be rolled back may happen before the transaction is
 * about to commit; then it is looked at whether what was intended still holds
 * (a savepoint may have been rolled back to).  If the commit fails after that,
 * the slot is lost, and the views are filled again.
 *
 * src/ddl/retire.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/leave.h"
#include "base/shared.h"
#include "base/slots.h"
#include "base/waits.h"
#include "ddl/retire.h"
#include "meta/view.h"

#define LEAVE_MS 30000
/* how long a source may keep us from restoring its replica identity */
#define LOCK_MS 2000
#define LOCK_STEP_MS 50

static bool retiring;
static bool switched;
static bool switched_to;

/* ----
 * Replica identities
 * ----
 */

static bool
lock_source(Oid relid)
{
	for (int ms = 0; ms <= LOCK_MS; ms += LOCK_STEP_MS)
	{
		if (ConditionalLockRelationOid(relid, AccessExclusiveLock))
			return true;
		ddir_wait_latch(DDIR_WAIT_LEAVE, LOCK_STEP_MS);
	}
	return false;
}

static char *
identity_clause(char former, const char *index_name, Oid relid)
{
	if (former == REPLICA_IDENTITY_NOTHING)
		return "NOTHING";
	if (former == REPLICA_IDENTITY_INDEX && index_name != NULL &&
		OidIsValid(get_relname_relid(index_name, get_rel_namespace(relid))))
		return psprintf("USING INDEX %s", quote_identifier(index_name));
	return "DEFAULT";
}

/* False: it could not be done now. */
static bool
restore_identity(Oid relid, char former, const char *index_name)
{
	HeapTuple	tup;
	bool		full;
	char	   *name;
	char	   *clause;

	if (!lock_source(relid))
	{
		ereport(WARNING,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("table %s keeps REPLICA IDENTITY FULL", ddir_relation_name(relid)),
				 errdetail("Other sessions did not let it be changed for %d ms.", LOCK_MS),
				 errhint("Use ALTER TABLE ... REPLICA IDENTITY %s later.",
						 identity_clause(former, index_name, relid))));
		return false;
	}
	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	full = HeapTupleIsValid(tup) &&
		((Form_pg_class) GETSTRUCT(tup))->relreplident == REPLICA_IDENTITY_FULL;
	if (HeapTupleIsValid(tup))
		ReleaseSysCache(tup);
	if (!full)
		return true;			/* dropped, or the user set another one */
	name = ddir_relation_name(relid);
	clause = identity_clause(former, index_name, relid);
	if (SPI_execute(psprintf("ALTER TABLE %s REPLICA IDENTITY %s", name, clause),
					false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not restore the replica identity of %s", name);
	return true;
}

static void
restore_identities(void)
{
	SPITupleTable *rows;
	uint64		n;

	if (SPI_execute("SELECT relid, former, index_name FROM ddir._identity",
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read ddir._identity");
	rows = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(rows->vals[i], rows->tupdesc, 1, &isnull));
		char		former = DatumGetChar(SPI_getbinval(rows->vals[i], rows->tupdesc, 2, &isnull));

		if (restore_identity(relid, former, SPI_getvalue(rows->vals[i], rows->tupdesc, 3)) &&
			SPI_execute(psprintf("DELETE FROM ddir._identity WHERE relid OPERATOR(pg_catalog.=) %u", relid),
						false, 0) != SPI_OK_DELETE)
			elog(ERROR, "could not write to ddir._identity");
	}
}

static void
write_switch(bool disabled)
{
	if (SPI_execute(psprintf("UPDATE ddir._database SET disabled = %s", disabled ? "true" : "false"),
					false, 0) != SPI_OK_UPDATE || SPI_processed != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table ddir._database does not have exactly one row"),
				 errhint("Drop the extension and create it again.")));
}

/*
 * As superuser, since who may take out the extension need not own the tables;
 * the statements are our own, and name no operator by search_path.
 */
static void
as_superuser(void (*work) (bool arg), bool arg)
{
	Oid			save_userid;
	int			save_sec_context;

	GetUserIdAndSecContext(&save_userid, &save_sec_context);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID,
						   save_sec_context | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	work(arg);
	SPI_finish();
	SetUserIdAndSecContext(save_userid, save_sec_context);
}

/* ----
 * The interface
 * ----
 */

static void
clear_database(bool disable)
{
	restore_identities();
	if (disable)
		write_switch(true);
}

static void
retire(bool disable)
{
	if (!ddir_leave_request(MyDatabaseId, LEAVE_MS))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("the ddir maintainer of database \"%s\" does not stop",
						get_database_name(MyDatabaseId)),
				 errdetail("It was asked to %d ms ago.", LEAVE_MS),
				 errhint("See what it does in ddir.workers; try again, or terminate it with pg_terminate_backend.")));
	as_superuser(clear_database, disable);
	retiring = true;
}

void
ddir_retire_begin(void)
{
	retire(false);
}

void
ddir_retire_switch(bool disabled)
{
	if (disabled)
		retire(true);
	else
		as_superuser(write_switch, false);
	switched = true;
}

static bool
is_disabled(void)
{
	bool		result = false;

	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	if (SPI_execute("SELECT FROM ddir._database WHERE disabled", true, 1) == SPI_OK_SELECT)
		result = SPI_processed > 0;
	SPI_finish();
	PopActiveSnapshot();
	return result;
}

/* What was intended may have been rolled back to a savepoint. */
static void
before_commit(void)
{
	bool		gone = !OidIsValid(get_extension_oid("ddir", true));

	switched_to = switched && !gone && is_disabled();
	if (retiring && (gone || switched_to))
	{
		ddir_slots_drop(MyDatabaseId);
		ddir_origins_drop(MyDatabaseId);
	}
	switched = switched && !gone;
}

/* Tell the processes. */
static void
after_commit(void)
{
	DdirDatabaseSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(MyDatabaseId, true);
	if (slot != NULL)
	{
		slot->disabled = switched_to;
		slot->recheck = true;
	}
	LWLockRelease(ddir_shared->lock);
	if (slot != NULL)
		ddir_wake_waiters(slot);
	ddir_wake_launcher();
}

static void
transaction_ends(XactEvent event, void *arg)
{
	if (!retiring && !switched)
		return;
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
			before_commit();
			break;
		case XACT_EVENT_COMMIT:
			if (switched)
				after_commit();
			retiring = switched = false;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			retiring = switched = false;
			break;
		default:
			break;
	}
}

void
ddir_retire_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
}
