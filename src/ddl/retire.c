/*-------------------------------------------------------------------------
 *
 * retire.c
 *	  Taking ddir out of a database.
 *
 * Nothing that cannot be rolled back may happen before the transaction is
 * about to commit; then it is looked at whether what was intended still holds
 * (a savepoint may have been rolled back to).  If the commit fails after that,
 * the slot is lost, and the views are filled again.  Another session could
 * commit what was prepared, so that is refused.
 *
 * src/ddl/retire.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/dbcommands.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/snapmgr.h"

#include "base/leave.h"
#include "base/shared.h"
#include "base/slots.h"
#include "ddl/identity.h"
#include "ddl/retire.h"
#include "store/progress.h"

#define LEAVE_MS 30000

static bool retiring;
static bool switched;
static bool switched_to;

/* ----
 * The interface
 * ----
 */

static void
clear_database(bool disable)
{
	ddir_identities_give_back();
	if (disable)
	{
		ddir_triggers_drop();
		ddir_progress_switch(true);
	}
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
	ddir_as_superuser(clear_database, disable);
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
		ddir_as_superuser(ddir_progress_switch, false);
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

/* Who would drop the slot and tell the processes, when it commits? */
static void
refuse_prepare(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg(switched ? "cannot PREPARE a transaction that has switched ddir on or off" :
					"cannot PREPARE a transaction that has dropped the extension ddir"),
			 errdetail("The ddir maintainer of the database stops or starts with the commit."),
			 errhint("Use COMMIT instead of PREPARE TRANSACTION.")));
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
		case XACT_EVENT_PRE_PREPARE:
			refuse_prepare();
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
