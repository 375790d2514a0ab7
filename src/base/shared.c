/*-------------------------------------------------------------------------
 *
 * shared.c
 *	  The static shared memory, and waking each other up.
 *
 * A session's only part in maintenance is its commit callback: it sets the
 * latch of the maintainer if that sleeps.  It runs at the end of every
 * transaction of every database, so it allocates nothing and raises no error,
 * takes no lock unless views were made, and returns at once where nothing was
 * written.
 *
 * The slot of the session's database is remembered together with the
 * generation of the assignment, so that a database without ddir views costs
 * one comparison too.
 *
 * src/base/shared.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/block.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "base/config.h"
#include "base/shared.h"

/* A maintainer that ran longer than this had no failure before. */
#define HEALTHY_MS 60000

DdirShared *ddir_shared = NULL;

static shmem_request_hook_type prev_shmem_request;
static shmem_startup_hook_type prev_shmem_startup;

static bool recheck_at_commit;
static bool launch_at_commit;
static bool settings_at_commit;

/* ----
 * Making it
 * ----
 */

static Size
shared_size(void)
{
	Size		size = MAXALIGN(sizeof(DdirShared));

	size = add_size(size, mul_size(ddir_max_databases, MAXALIGN(sizeof(DdirDatabaseSlot))));
	return add_size(size, mul_size(ddir_max_views, sizeof(DdirViewSlot)));
}

static void
shared_request(void)
{
	if (prev_shmem_request)
		prev_shmem_request();
	RequestAddinShmemSpace(shared_size());
	RequestNamedLWLockTranche("ddir", 1);
}

static void
shared_startup(void)
{
	DdirShared *shared;
	bool		found;

	if (prev_shmem_startup)
		prev_shmem_startup();

	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("ddir", shared_size(), &found);
	if (!found)
	{
		memset(shared, 0, shared_size());
		shared->lock = &GetNamedLWLockTranche("ddir")->lock;
		pg_atomic_init_u32(&shared->generation, 1);
		if (!pg_strong_random(&shared->secret, sizeof(shared->secret)))
			elog(FATAL, "no random number can be had");
		shared->ndatabases = ddir_max_databases;
		shared->nviews = ddir_max_views;
		shared->database = (DdirDatabaseSlot *) ((char *) shared + MAXALIGN(sizeof(DdirShared)));
		shared->view = (DdirViewSlot *) (shared->database + shared->ndatabases);
		for (int i = 0; i < shared->ndatabases; i++)
		{
			DdirDatabaseSlot *slot = &shared->database[i];

			pg_atomic_init_u32(&slot->sleeping, 0);
			pg_atomic_init_u64(&slot->async_commit_end, 0);
			pg_atomic_init_u64(&slot->frontier, 0);
			pg_atomic_init_u64(&slot->frontier_time, 0);
			pg_atomic_init_u64(&slot->clock, 0);
			pg_atomic_init_u64(&slot->due, 0);
			pg_atomic_init_u64(&slot->caught_up, 0);
			pg_atomic_init_u64(&slot->look_wanted, 0);
			pg_atomic_init_u64(&slot->looked, 0);
			pg_atomic_init_u64(&slot->cuts.commits, 0);
			pg_atomic_init_u32(&slot->cuts.current, 0);
			pg_atomic_init_u32(&slot->cuts.lost, 0);
			for (int k = 0; k < DDIR_DELTA_TABLES; k++)
				pg_atomic_init_u32(&slot->cuts.low[k], InvalidBlockNumber);
			ConditionVariableInit(&slot->changed);
		}
	}
	LWLockRelease(AddinShmemInitLock);
	ddir_shared = shared;
}

void
ddir_shared_require(void)
{
	if (ddir_shared == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("ddir is not loaded at server start"),
				 errdetail("Its processes and shared memory exist only if shared_preload_libraries contains it."),
				 errhint("Add ddir to shared_preload_libraries and restart the server.")));
}

/* ----
 * Slots
 * ----
 */

/* Without a lock; the caller looks at dbid again if it matters. */
static DdirDatabaseSlot *
find_database(Oid dbid)
{
	for (int i = 0; i < ddir_shared->ndatabases; i++)
	{
		if (ddir_shared->database[i].dbid == dbid)
			return &ddir_shared->database[i];
	}
	return NULL;
}

/*
 * Everything but the condition variable, on which somebody may still sleep
 * from the slot's life before, and the tickets that they may hold.
 */
static void
reset_database(DdirDatabaseSlot *slot, Oid dbid)
{
	slot->pid = 0;
	slot->latch = NULL;
	pg_atomic_write_u32(&slot->sleeping, 0);
	pg_atomic_write_u64(&slot->async_commit_end, 0);
	pg_atomic_write_u64(&slot->frontier, 0);
	pg_atomic_write_u64(&slot->frontier_time, 0);
	pg_atomic_write_u64(&slot->clock, 0);
	pg_atomic_write_u64(&slot->due, 0);
	pg_atomic_write_u64(&slot->caught_up, 0);
	slot->cuts.on = false;
	pg_atomic_write_u32(&slot->cuts.lost, 0);
	slot->cuts.unwritten = 0;
	slot->disabled = false;
	slot->leave = 0;
	slot->evicting = false;
	slot->recheck = false;
	slot->settings = false;
	slot->started = 0;
	slot->steps = 0;
	slot->trays = 0;
	slot->rows = 0;
	slot->rows_per_s = 0;
	slot->step[0] = '\0';
	slot->stepping = InvalidOid;
	slot->failures = 0;
	slot->last_exit = 0;
	memset(&slot->trouble, 0, sizeof(slot->trouble));
	memset(slot->request, 0, sizeof(slot->request));
	slot->dbid = dbid;
	pg_atomic_fetch_add_u32(&ddir_shared->generation, 1);
}

DdirDatabaseSlot *
ddir_shared_database(Oid dbid, bool create)
{
	DdirDatabaseSlot *slot;

	Assert(OidIsValid(dbid));
	slot = find_database(dbid);
	if (slot == NULL && create)
	{
		slot = find_database(InvalidOid);
		if (slot != NULL)
			reset_database(slot, dbid);
	}
	return slot;
}

void
ddir_shared_database_free(DdirDatabaseSlot *slot)
{
	for (int i = 0; i < ddir_shared->nviews; i++)
	{
		if (ddir_shared->view[i].dbid == slot->dbid)
			ddir_shared_view_free(&ddir_shared->view[i]);
	}
	reset_database(slot, InvalidOid);
}

DdirViewSlot *
ddir_shared_view(Oid dbid, Oid view, bool create)
{
	DdirViewSlot *slot = NULL;

	for (int i = 0; i < ddir_shared->nviews; i++)
	{
		DdirViewSlot *s = &ddir_shared->view[i];

		if (s->dbid == dbid && s->view == view)
			return s;
		if (slot == NULL && s->dbid == InvalidOid)
			slot = s;
	}
	if (!create || slot == NULL)
		return NULL;
	memset(slot, 0, sizeof(DdirViewSlot));
	slot->dbid = dbid;
	slot->view = view;
	slot->state = DDIR_VIEW_HYDRATING;
	return slot;
}

void
ddir_shared_view_free(DdirViewSlot *slot)
{
	memset(slot, 0, sizeof(DdirViewSlot));
}

int
ddir_shared_count_databases(void)
{
	int			n = 0;

	for (int i = 0; i < ddir_shared->ndatabases; i++)
		n += OidIsValid(ddir_shared->database[i].dbid);
	return n;
}

int
ddir_shared_count_views(Oid except_dbid)
{
	int			n = 0;

	for (int i = 0; i < ddir_shared->nviews; i++)
	{
		Oid			dbid = ddir_shared->view[i].dbid;

		n += OidIsValid(dbid) && dbid != except_dbid;
	}
	return n;
}

/* ----
 * The maintainer's coming and going
 * ----
 */

void
ddir_shared_count_exit(DdirDatabaseSlot *slot, bool failed)
{
	TimestampTz now = GetCurrentTimestamp();

	if (TimestampDifferenceExceeds(slot->started, now, HEALTHY_MS))
		slot->failures = 0;
	slot->failures = failed ? slot->failures + 1 : 0;
	slot->last_exit = now;
}

/*
 * Runs after the replication slot was let go and before the process leaves the
 * ProcArray.
 */
static void
release_claim(int code, Datum arg)
{
	DdirDatabaseSlot *slot = (DdirDatabaseSlot *) DatumGetPointer(arg);

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	if (slot->pid == MyProcPid)
	{
		ddir_shared_count_exit(slot, code != 0);
		slot->pid = 0;
		slot->latch = NULL;
		pg_atomic_write_u32(&slot->sleeping, 0);
		slot->step[0] = '\0';
		slot->rows_per_s = 0;
	}
	LWLockRelease(ddir_shared->lock);
	ddir_wake_waiters(slot);
	ddir_wake_launcher();
}

DdirDatabaseSlot *
ddir_shared_claim(void)
{
	DdirDatabaseSlot *slot;

	ddir_shared_require();
	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(MyDatabaseId, false);
	if (slot != NULL && (slot->pid != 0 || slot->leave > 0 || slot->disabled))
		slot = NULL;
	if (slot != NULL)
	{
		slot->pid = MyProcPid;
		slot->latch = MyLatch;
		slot->started = GetCurrentTimestamp();
		memset(&slot->trouble, 0, sizeof(slot->trouble));
		pg_atomic_write_u32(&slot->sleeping, 0);
		/* what the last one was answering nobody will answer */
		for (int i = 0; i < DDIR_REQUESTS_MAX; i++)
		{
			if (slot->request[i].state == DDIR_REQUEST_ANSWERING &&
				slot->request[i].abandoned)
				slot->request[i].state = DDIR_REQUEST_FREE;
		}
	}
	LWLockRelease(ddir_shared->lock);
	if (slot != NULL)
	{
		on_shmem_exit(release_claim, PointerGetDatum(slot));
		ddir_wake_waiters(slot);
	}
	return slot;
}

/* ----
 * Waking
 * ----
 */

void
ddir_wake_launcher(void)
{
	Latch	   *latch;

	ddir_shared->launcher_look = true;
	pg_memory_barrier();
	latch = ddir_shared->launcher_latch;
	if (latch)
		SetLatch(latch);
}

static void
wake_slot(DdirDatabaseSlot *slot)
{
	Latch	   *latch;

	/* pairs with the barrier in ddir_wait_for_work */
	pg_memory_barrier();
	latch = slot->latch;
	if (latch && pg_atomic_read_u32(&slot->sleeping))
		SetLatch(latch);
}

void
ddir_wake_maintainer(Oid dbid)
{
	DdirDatabaseSlot *slot = find_database(dbid);

	if (slot)
		wake_slot(slot);
}

uint64
ddir_want_look(DdirDatabaseSlot *slot)
{
	uint64		ticket = pg_atomic_fetch_add_u64(&slot->look_wanted, 1) + 1;

	wake_slot(slot);
	return ticket;
}

void
ddir_wake_waiters(DdirDatabaseSlot *slot)
{
	ConditionVariableBroadcast(&slot->changed);
}

void
ddir_commit_recheck(void)
{
	recheck_at_commit = true;
}

void
ddir_commit_wake_launcher(void)
{
	launch_at_commit = true;
}

void
ddir_commit_settings(void)
{
	settings_at_commit = true;
}

/* Settings of roles are of any database, so all are told. */
void
ddir_settings_changed(void)
{
	for (int i = 0; i < ddir_shared->ndatabases; i++)
	{
		DdirDatabaseSlot *slot = &ddir_shared->database[i];

		if (slot->pid == 0)
			continue;
		slot->settings = true;
		wake_slot(slot);
	}
}

/* Views were made or changed: the rare case, which may take the lock. */
static void
tell_recheck(void)
{
	DdirDatabaseSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(MyDatabaseId, true);
	if (slot)
		slot->recheck = true;
	LWLockRelease(ddir_shared->lock);
	if (slot == NULL || slot->pid == 0)
		launch_at_commit = true;
}

DdirDatabaseSlot *
ddir_shared_mine(void)
{
	static uint32 known;		/* generation that "slot" is of */
	static DdirDatabaseSlot *slot;
	uint32		generation = pg_atomic_read_u32(&ddir_shared->generation);

	if (generation != known)
	{
		slot = OidIsValid(MyDatabaseId) ? find_database(MyDatabaseId) : NULL;
		known = generation;
	}
	return slot;
}

static void
publish_async_commit(DdirDatabaseSlot *slot, XLogRecPtr end)
{
	uint64		old = pg_atomic_read_u64(&slot->async_commit_end);

	while (old < end &&
		   !pg_atomic_compare_exchange_u64(&slot->async_commit_end, &old, end))
		;
}

static void
transaction_ends(XactEvent event, void *arg)
{
	static XLogRecPtr last_commit;
	DdirDatabaseSlot *slot;

	if (event != XACT_EVENT_COMMIT)
	{
		if (event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
			recheck_at_commit = launch_at_commit = settings_at_commit = false;
		return;
	}
	if (ddir_shared == NULL ||
		(XactLastCommitEnd == last_commit && !recheck_at_commit && !launch_at_commit &&
		 !settings_at_commit))
		return;					/* nothing was written */
	last_commit = XactLastCommitEnd;

	if (recheck_at_commit)
	{
		recheck_at_commit = false;
		tell_recheck();
	}
	if (launch_at_commit)
	{
		launch_at_commit = false;
		ddir_wake_launcher();
	}
	if (settings_at_commit)
	{
		settings_at_commit = false;
		ddir_settings_changed();
	}
	slot = ddir_shared_mine();
	if (slot == NULL || slot->pid == 0 || slot->pid == MyProcPid)
		return;
	if (slot->cuts.on)
		pg_atomic_fetch_add_u64(&slot->cuts.commits, 1);
	if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF)
		publish_async_commit(slot, last_commit);
	wake_slot(slot);
}

void
ddir_shared_init(void)
{
	prev_shmem_request = shmem_request_hook;
	shmem_request_hook = shared_request;
	prev_shmem_startup = shmem_startup_hook;
	shmem_startup_hook = shared_startup;
	RegisterXactCallback(transaction_ends, NULL);
}

/* ----
 * Names
 * ----
 */

const char *
ddir_view_state_name(DdirViewState state)
{
	switch (state)
	{
		case DDIR_VIEW_FREE:
			break;
		case DDIR_VIEW_HYDRATING:
			return "hydrating";
		case DDIR_VIEW_LIVE:
			return "live";
		case DDIR_VIEW_BEHIND:
			return "behind";
		case DDIR_VIEW_ERROR:
			return "error";
		case DDIR_VIEW_SUSPENDED:
			return "suspended";
		case DDIR_VIEW_DISABLED:
			return "disabled";
	}
	return "unknown";
}

const char *
ddir_hydration_phase_name(DdirHydrationPhase phase)
{
	switch (phase)
	{
		case DDIR_HYDRATION_NONE:
			return "none";
		case DDIR_HYDRATION_QUEUED:
			return "queued";
		case DDIR_HYDRATION_IDENTITY:
			return "identity";
		case DDIR_HYDRATION_SETTLING:
			return "settling";
		case DDIR_HYDRATION_SCANNING:
			return "scanning";
		case DDIR_HYDRATION_CATCHING_UP:
			return "catching up";
		case DDIR_HYDRATION_COMPUTING:
			return "computing";
		case DDIR_HYDRATION_RECONCILING:
			return "reconciling";
	}
	return "unknown";
}
