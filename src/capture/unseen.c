/*-------------------------------------------------------------------------
 *
 * unseen.c
 *	  Transactions delivered that other sessions may not see as committed yet.
 *
 * A transaction is decoded once its commit record is flushed, but others see
 * it only when it leaves the ProcArray; where a commit waits for a synchronous
 * standby, that may be much later or never.  A snapshot that is to contain
 * everything delivered must wait for those.
 *
 * So every xid delivered is kept until it is seen to have left; the list is
 * gone through when it is full and when it is asked for, and holds about as
 * many as there are sessions.
 *
 * Transactions that were delivered to a former process, or whose commit is
 * before the slot's position, are not delivered to us.  For them the xids that
 * run when we begin are kept, too; those among them that the commit log says
 * are committed are unseen.  For that the commit log must be up to date with
 * the WAL: between writing its commit record and marking it there, a
 * transaction delays checkpoints, so those that do at the beginning are waited
 * out.  They do not wait for anything but disks themselves.
 *
 * src/capture/unseen.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "capture/decoder.h"

#define UNSEEN_MIN 1024

/* Drop those that have left; returns how many stay. */
static int
prune(TransactionId *xids, int n)
{
	int			stay = 0;

	for (int i = 0; i < n; i++)
		if (TransactionIdIsInProgress(xids[i]))
			xids[stay++] = xids[i];
	return stay;
}

static void
wait_for_commit_log(void)
{
	int			n;
	VirtualTransactionId *delaying = GetVirtualXIDsDelayingChkpt(&n, DELAY_CHKPT_START);

	while (n > 0 && HaveVirtualXIDsDelayingChkpt(delaying, n, DELAY_CHKPT_START))
	{
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000L);
	}
	pfree(delaying);
}

/* In a transaction. */
void
ddir_unseen_init(DdirDecoder *d)
{
	Snapshot	snapshot;

	d->cap_unseen = UNSEEN_MIN;
	d->unseen = MemoryContextAlloc(d->cxt, d->cap_unseen * sizeof(TransactionId));
	d->nunseen = 0;

	wait_for_commit_log();
	snapshot = RegisterSnapshot(GetLatestSnapshot());
	d->earlier = MemoryContextAlloc(d->cxt, snapshot->xcnt * sizeof(TransactionId) + 1);
	if (snapshot->xcnt > 0)
		memcpy(d->earlier, snapshot->xip, snapshot->xcnt * sizeof(TransactionId));
	d->nearlier = snapshot->xcnt;
	UnregisterSnapshot(snapshot);
}

void
ddir_unseen_add(DdirDecoder *d, TransactionId xid)
{
	if (d->nunseen == d->cap_unseen)
	{
		d->nunseen = prune(d->unseen, d->nunseen);
		if (d->nunseen > d->cap_unseen / 2)
		{
			d->cap_unseen *= 2;
			d->unseen = repalloc(d->unseen, d->cap_unseen * sizeof(TransactionId));
		}
	}
	d->unseen[d->nunseen++] = xid;
}

int
ddir_decode_unseen(DdirDecoder *d, TransactionId **xids)
{
	int			n;

	d->nunseen = prune(d->unseen, d->nunseen);
	d->nearlier = prune(d->earlier, d->nearlier);

	*xids = palloc((d->nunseen + d->nearlier) * sizeof(TransactionId) + 1);
	memcpy(*xids, d->unseen, d->nunseen * sizeof(TransactionId));
	n = d->nunseen;
	for (int i = 0; i < d->nearlier; i++)
		if (TransactionIdDidCommit(d->earlier[i]))
			(*xids)[n++] = d->earlier[i];
	return n;
}
