/*-------------------------------------------------------------------------
 *
 * leave.c
 *	  Asking a database's maintainer to step aside for a transaction.
 *
 * The slot's count keeps the launcher from starting another maintainer, too.
 * What this session has asked for is taken back by a transaction callback, in
 * which nothing can fail.
 *
 * src/base/leave.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/timestamp.h"

#include "base/leave.h"
#include "base/shared.h"
#include "base/slots.h"
#include "base/waits.h"

/* more than one only where a transaction renames several databases */
#define ASKED_MAX 64

static Oid	asked[ASKED_MAX];
static int	nasked;

/* The slot, with our wish counted; NULL: no maintainer can be there. */
static DdirDatabaseSlot *
count_wish(Oid dbid)
{
	DdirDatabaseSlot *slot;
	bool		already = false;

	for (int i = 0; i < nasked; i++)
		already |= asked[i] == dbid;
	if (!already && nasked == ASKED_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many databases are changed in one transaction"),
				 errhint("Change at most %d databases that have ddir views in one transaction.", ASKED_MAX)));

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(dbid, false);
	if (slot != NULL && !already)
	{
		slot->leave++;
		asked[nasked++] = dbid;
	}
	LWLockRelease(ddir_shared->lock);
	return slot;
}

bool
ddir_leave_request(Oid dbid, long ms)
{
	TimestampTz give_up = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
	DdirDatabaseSlot *slot;
	bool		gone;

	if (ddir_shared == NULL)
		return true;
	slot = count_wish(dbid);
	if (slot == NULL)
		return true;

	ConditionVariablePrepareToSleep(&slot->changed);
	ddir_wake_maintainer(dbid);
	for (;;)
	{
		long		left;

		gone = slot->dbid != dbid || (slot->pid == 0 && !ddir_slots_active(dbid));
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), give_up);
		if (gone || left <= 0)
			break;
		(void) ddir_wait_changed(DDIR_WAIT_LEAVE, &slot->changed, Min(left, 100));
	}
	ConditionVariableCancelSleep();
	return gone;
}

static void
transaction_ends(XactEvent event, void *arg)
{
	if (nasked == 0 ||
		(event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		 event != XACT_EVENT_PREPARE))
		return;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < nasked; i++)
	{
		DdirDatabaseSlot *slot = ddir_shared_database(asked[i], false);

		if (slot != NULL && slot->leave > 0)
			slot->leave--;
	}
	nasked = 0;
	LWLockRelease(ddir_shared->lock);
	ddir_wake_launcher();
}

void
ddir_leave_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
}
