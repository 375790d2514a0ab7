/*-------------------------------------------------------------------------
 *
 * launcher.c
 *	  The process that keeps one maintainer for each database that needs it.
 *
 * It is connected to no database: it reads pg_database, has a probe look into
 * each database it does not know, and starts a maintainer where there are ddir
 * views.  It is woken by commits that make views where no maintainer runs, by
 * exits, and by commands on databases; otherwise it looks every ten seconds.
 *
 * A database is, in turn:
 *
 *	to be looked at		unknown yet, or something has happened in it; a probe
 *						will see, not before the time of its backoff
 *	starting			its maintainer is registered and has not taken its slot
 *						in shared memory yet
 *	running				it has; it now looks after the database by itself
 *	quiet				nothing to do in it
 *
 * A maintainer that exits by an error is started again after 1, 2, 4 ... 60
 * seconds, one that exits cleanly as soon as the database was looked at again.
 * Databases that somebody wants the maintainer out of are left alone.
 *
 * The launcher also drops replication slots that hold back more WAL than
 * ddir.max_slot_lag: from outside, since the lag may be the fault of the
 * maintainer.
 *
 * Memory: what is known of databases in one context, all else in another that
 * is reset at each turn.
 *
 * src/worker/launcher.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "replication/slot.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/config.h"
#include "base/shared.h"
#include "base/slots.h"
#include "base/waits.h"
#include "worker/launcher.h"

#define LOOK_MS 10000			/* between two looks at pg_database */
#define RETRY_MS 10000			/* after a worker could not be had */
#define EVICT_MS 100			/* while a maintainer is to let go of its slot */
#define PROBE_MS_MAX 60000		/* no probe may take longer */
#define BACKOFF_MS 1000
#define BACKOFF_MS_MAX 60000

typedef struct Database
{
	Oid			dbid;
	char		name[NAMEDATALEN];
	bool		open;			/* takes connections, and is no template */
	bool		seen;			/* during a look at pg_database */
	bool		look;			/* to be probed */
	TimestampTz not_before;		/* of the next probe */
	TimestampTz last_exit;		/* of the maintainer, as far as known */
	bool		running;		/* its maintainer was, when last looked at */
	bool		closed;			/* that it is not open was said */
	BackgroundWorkerHandle *starting;	/* the maintainer, while it starts */
} Database;

/* What shared memory says of a database, read at one time. */
typedef struct Situation
{
	bool		slot;
	pid_t		pid;
	int			leave;
	bool		recheck;
	int			failures;
	TimestampTz started;
	TimestampTz last_exit;
} Situation;

static MemoryContext keep;		/* of what follows */
static List *databases;			/* of Database * */
static Database *probed;		/* by the probe that runs, or NULL */
static BackgroundWorkerHandle *probe;
static TimestampTz probe_started;

/* ----
 * Databases
 * ----
 */

static Database *
find_database(Oid dbid)
{
	ListCell   *lc;

	foreach(lc, databases)
	{
		Database   *db = lfirst(lc);

		if (db->dbid == dbid)
			return db;
	}
	return NULL;
}

static void
see_database(Form_pg_database form)
{
	Database   *db = find_database(form->oid);

	if (db == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(keep);

		db = palloc0(sizeof(Database));
		db->dbid = form->oid;
		db->look = true;
		databases = lappend(databases, db);
		MemoryContextSwitchTo(old);
	}
	strlcpy(db->name, NameStr(form->datname), NAMEDATALEN);
	db->open = form->datallowconn && !form->datistemplate && form->datconnlimit >= -1;
	db->seen = true;
}

/* Forget the databases that are gone; returns whether there were any. */
static bool
forget_databases(void)
{
	bool		any = false;
	ListCell   *lc;

	foreach(lc, databases)
	{
		Database   *db = lfirst(lc);

		if (db->seen || db == probed)
			continue;
		databases = foreach_delete_current(databases, lc);
		if (db->starting)
			pfree(db->starting);
		pfree(db);
		any = true;
	}

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	for (int i = 0; i < ddir_shared->ndatabases; i++)
	{
		DdirDatabaseSlot *slot = &ddir_shared->database[i];

		if (OidIsValid(slot->dbid) && slot->pid == 0 && find_database(slot->dbid) == NULL)
		{
			ddir_shared_database_free(slot);
			any = true;
		}
	}
	LWLockRelease(ddir_shared->lock);
	return any;
}

/*
 * Databases that are gone have left replication origins, which only processes
 * connected to a database can drop: the next probe does.
 */
static void
look_at_databases(void)
{
	Relation	rel;
	TableScanDesc scan;
	HeapTuple	tup;
	ListCell   *lc;

	foreach(lc, databases)
		((Database *) lfirst(lc))->seen = false;

	StartTransactionCommand();
	(void) GetTransactionSnapshot();
	rel = table_open(DatabaseRelationId, AccessShareLock);
	scan = table_beginscan_catalog(rel, 0, NULL);
	while (HeapTupleIsValid(tup = heap_getnext(scan, ForwardScanDirection)))
		see_database((Form_pg_database) GETSTRUCT(tup));
	table_endscan(scan);
	table_close(rel, AccessShareLock);
	CommitTransactionCommand();

	if (!forget_databases())
		return;
	foreach(lc, databases)
	{
		Database   *db = lfirst(lc);

		if (db->open && !db->running)
		{
			db->look = true;
			break;
		}
	}
}

static Situation
situation(Oid dbid)
{
	Situation	s = {0};
	DdirDatabaseSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	slot = ddir_shared_database(dbid, false);
	if (slot)
	{
		s.slot = true;
		s.pid = slot->pid;
		s.leave = slot->leave;
		s.recheck = slot->recheck;
		s.failures = slot->failures;
		s.started = slot->started;
		s.last_exit = slot->last_exit;
	}
	LWLockRelease(ddir_shared->lock);
	return s;
}

static TimestampTz
after(long ms)
{
	return TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
}

static long
backoff_ms(int failures)
{
	return failures == 0 ? 0 :
		Min(BACKOFF_MS << Min(failures - 1, 10), BACKOFF_MS_MAX);
}

/* ----
 * Workers
 * ----
 */

static const DdirTrouble no_trouble;
static const DdirTrouble no_worker = {
	ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
	"No background worker is free: all max_worker_processes are in use.",
	"Raise max_worker_processes and restart the server."
};
static const DdirTrouble not_open = {
	ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
	"The database is a template or does not allow connections.",
	"Use ALTER DATABASE ... IS_TEMPLATE false ALLOW_CONNECTIONS true."
};

/*
 * Say, for whoever waits and once in the log, why no maintainer runs in this
 * database, or (NULL) in any that is not known yet.
 */
static void
set_trouble(Database *db, const DdirTrouble *trouble)
{
	DdirDatabaseSlot *slot = NULL;
	DdirTrouble *place = &ddir_shared->trouble;
	bool		new = false;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	if (db)
	{
		slot = ddir_shared_database(db->dbid, false);
		place = slot ? &slot->trouble : NULL;
	}
	if (place)
	{
		new = place->sqlstate != trouble->sqlstate;
		*place = *trouble;
	}
	LWLockRelease(ddir_shared->lock);

	if (!new)
		return;
	if (slot)
		ddir_wake_waiters(slot);
	if (trouble->sqlstate != 0)
		ereport(LOG,
				(db ? errmsg("ddir cannot maintain the views of database \"%s\"", db->name) :
				 errmsg("ddir cannot look into databases"),
				 errdetail_internal("%s", trouble->text),
				 errhint("%s", trouble->remedy)));
}

static BackgroundWorkerHandle *
start_worker(const char *kind, const char *function, const Database *db)
{
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle = NULL;
	MemoryContext old = MemoryContextSwitchTo(keep);

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_main_arg = ObjectIdGetDatum(db->dbid);
	worker.bgw_notify_pid = MyProcPid;
	strlcpy(worker.bgw_library_name, "ddir", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, function, BGW_MAXLEN);
	snprintf(worker.bgw_type, BGW_MAXLEN, "ddir %s", kind);
	snprintf(worker.bgw_name, BGW_MAXLEN, "ddir %s of %s", kind, db->name);
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		handle = NULL;
	MemoryContextSwitchTo(old);
	return handle;
}

static void
start_maintainer(Database *db)
{
	DdirDatabaseSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(db->dbid, true);
	if (slot)
	{
		slot->disabled = false;
		slot->started = GetCurrentTimestamp();
	}
	LWLockRelease(ddir_shared->lock);
	if (slot == NULL)
	{
		db->look = true;
		db->not_before = after(BACKOFF_MS_MAX);
		ereport(LOG,
				(errmsg("ddir cannot maintain the views of database \"%s\"", db->name),
				 errdetail("Views of ddir.max_databases = %d other databases are maintained.",
						   ddir_max_databases),
				 errhint("Raise ddir.max_databases and restart the server.")));
		return;
	}
	db->starting = start_worker("maintainer", "ddir_maintainer_main", db);
	if (db->starting == NULL)
	{
		db->look = true;
		db->not_before = after(RETRY_MS);
		set_trouble(db, &no_worker);
	}
}

/* Its process ended and did not say how: count that as a failure. */
static void
maintainer_failed(Database *db)
{
	DdirDatabaseSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(db->dbid, false);
	if (slot)
		ddir_shared_count_exit(slot, true);
	LWLockRelease(ddir_shared->lock);
}

/* ----
 * Probes
 * ----
 */

static void
start_probe(Database *db)
{
	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	memset(&ddir_shared->probe, 0, sizeof(DdirProbe));
	ddir_shared->probe.dbid = db->dbid;
	LWLockRelease(ddir_shared->lock);

	probe = start_worker("probe", "ddir_probe_main", db);
	set_trouble(NULL, probe ? &no_trouble : &no_worker);
	if (probe == NULL)
	{
		db->not_before = after(RETRY_MS);
		return;
	}
	db->look = false;
	probed = db;
	probe_started = GetCurrentTimestamp();
}

/* Nobody maintains the database, or is to; keep the slot of a disabled one. */
static void
settle(Database *db, const DdirProbe *found)
{
	DdirDatabaseSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(db->dbid, found->disabled);
	if (slot && found->disabled)
		slot->disabled = true;
	else if (slot && slot->pid == 0 && slot->leave == 0 && !slot->recheck)
		ddir_shared_database_free(slot);
	LWLockRelease(ddir_shared->lock);
	if (slot)
		ddir_wake_waiters(slot);
}

/* See what the probe says, if it has ended. */
static void
finish_probe(void)
{
	Database   *db = probed;
	DdirProbe	found;
	pid_t		pid;

	if (db == NULL)
		return;
	if (GetBackgroundWorkerPid(probe, &pid) != BGWH_STOPPED)
	{
		if (TimestampDifferenceExceeds(probe_started, GetCurrentTimestamp(), PROBE_MS_MAX))
			TerminateBackgroundWorker(probe);
		return;
	}
	pfree(probe);
	probe = NULL;
	probed = NULL;

	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	found = ddir_shared->probe;
	LWLockRelease(ddir_shared->lock);
	if (found.dbid != db->dbid || !found.done)
	{
		db->look = true;
		db->not_before = after(RETRY_MS);
	}
	else if (!found.wanted || found.disabled)
		settle(db, &found);
	else if (situation(db->dbid).leave == 0)
		start_maintainer(db);
	else
		db->look = true;		/* when those who want it away are done */
}

/* ----
 * A turn
 * ----
 */

/* The maintainer has exited since we last looked. */
static void
note_exit(Database *db, const Situation *s)
{
	long		ms = backoff_ms(s->failures);

	/* also one that finds nothing to do where the probe found something */
	if (ms == 0 && !s->recheck &&
		!TimestampDifferenceExceeds(s->started, s->last_exit, BACKOFF_MS))
		ms = BACKOFF_MS;
	db->last_exit = s->last_exit;
	db->look = true;
	db->not_before = TimestampTzPlusMilliseconds(s->last_exit, ms);
}

static void
take_recheck(Database *db)
{
	DdirDatabaseSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(db->dbid, false);
	if (slot && slot->pid == 0)
		slot->recheck = false;
	LWLockRelease(ddir_shared->lock);
	db->look = true;
}

/* Do what the database needs now; returns in how many ms to come back. */
static long
tend(Database *db)
{
	Situation	s = situation(db->dbid);
	pid_t		pid;
	long		ms;

	if (s.slot && s.pid != 0)
	{
		if (db->starting)
			pfree(db->starting);
		db->starting = NULL;
		db->running = true;
		db->look = false;
		return LOOK_MS;
	}
	if (db->starting)
	{
		if (GetBackgroundWorkerPid(db->starting, &pid) != BGWH_STOPPED)
			return LOOK_MS;
		pfree(db->starting);
		db->starting = NULL;
		db->running = true;
	}
	if (db->running && s.last_exit == db->last_exit)
	{
		maintainer_failed(db);
		s = situation(db->dbid);
	}
	db->running = false;
	if (s.slot && s.last_exit != db->last_exit)
		note_exit(db, &s);
	if (s.recheck)
		take_recheck(db);
	if (s.slot && db->closed == db->open)
	{
		db->closed = !db->open;
		set_trouble(db, db->open ? &no_trouble : &not_open);
	}
	if (!db->look || !db->open || s.leave > 0 || db == probed)
		return LOOK_MS;
	ms = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), db->not_before);
	if (ms > 0)
		return ms;
	if (probed == NULL)
		start_probe(db);
	return LOOK_MS;				/* the end of the probe wakes us */
}

/* ----
 * Slots that hold back too much
 * ----
 */

/* Ask the maintainer away from its slot, or let it come back. */
static void
evict(Oid dbid, bool on)
{
	DdirDatabaseSlot *slot;
	bool		changed;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_database(dbid, false);
	changed = slot != NULL && slot->evicting != on;
	if (changed)
	{
		slot->evicting = on;
		slot->leave += on ? 1 : -1;
		slot->recheck |= !on;
	}
	LWLockRelease(ddir_shared->lock);
	if (changed)
		ddir_wake_maintainer(dbid);
}

static bool
over_limit(const DdirSlotInfo *slot)
{
	XLogRecPtr	end = GetFlushRecPtr(NULL);

	return ddir_max_slot_lag >= 0 && !XLogRecPtrIsInvalid(slot->confirmed) &&
		end > slot->confirmed &&
		end - slot->confirmed > (uint64) ddir_max_slot_lag * 1024 * 1024;
}

static void
drop_slot(const DdirSlotInfo *slot)
{
	Database   *db = find_database(slot->dbid);

	ReplicationSlotDrop(slot->name, true);
	ereport(LOG,
			(errmsg("dropped replication slot \"%s\"", slot->name),
			 errdetail("It held back " UINT64_FORMAT " bytes of WAL, more than ddir.max_slot_lag = %d MB.",
					   (uint64) (GetFlushRecPtr(NULL) - slot->confirmed), ddir_max_slot_lag),
			 errhint("The ddir views of database \"%s\" are filled again.", db ? db->name : "")));
	if (db)
		db->look = true;
}

/* Returns in how many ms to come back. */
static long
limit_slots(void)
{
	long		ms = LOOK_MS;
	List	   *over = NIL;		/* databases with a slot in use over the limit */
	ListCell   *lc;

	foreach(lc, ddir_slots_list(InvalidOid))
	{
		DdirSlotInfo *slot = lfirst(lc);

		if (!over_limit(slot))
			continue;
		if (slot->active_pid == 0)
			drop_slot(slot);
		else
			over = lappend_oid(over, slot->dbid);
	}
	foreach(lc, databases)
	{
		Database   *db = lfirst(lc);
		bool		on = list_member_oid(over, db->dbid);

		evict(db->dbid, on);
		if (on)
			ms = EVICT_MS;
	}
	return ms;
}

/* ----
 * The process
 * ----
 */

static void
leave(int code, Datum arg)
{
	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	ddir_shared->launcher_pid = 0;
	ddir_shared->launcher_latch = NULL;
	LWLockRelease(ddir_shared->lock);
}

static void
enter(void)
{
	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	ddir_shared->launcher_pid = MyProcPid;
	ddir_shared->launcher_latch = MyLatch;
	/* what a launcher before us was about */
	for (int i = 0; i < ddir_shared->ndatabases; i++)
	{
		DdirDatabaseSlot *slot = &ddir_shared->database[i];

		if (slot->evicting)
		{
			slot->evicting = false;
			slot->leave--;
		}
	}
	LWLockRelease(ddir_shared->lock);
	on_shmem_exit(leave, (Datum) 0);
}

static void
reload_if_asked(void)
{
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

void
ddir_launcher_main(Datum arg)
{
	TimestampTz looked = 0;
	MemoryContext turn;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	enter();

	keep = AllocSetContextCreate(TopMemoryContext, "ddir databases", ALLOCSET_DEFAULT_SIZES);
	turn = AllocSetContextCreate(TopMemoryContext, "ddir launcher's turn", ALLOCSET_DEFAULT_SIZES);
	pgstat_report_activity(STATE_IDLE, NULL);
	for (;;)
	{
		long		ms;
		ListCell   *lc;

		MemoryContextSwitchTo(turn);
		MemoryContextReset(turn);
		reload_if_asked();
		if (ddir_shared->launcher_look || looked == 0 ||
			TimestampDifferenceExceeds(looked, GetCurrentTimestamp(), LOOK_MS))
		{
			ddir_shared->launcher_look = false;
			pg_memory_barrier();
			look_at_databases();
			looked = GetCurrentTimestamp();
			MemoryContextSwitchTo(turn);
		}
		finish_probe();
		ms = limit_slots();
		foreach(lc, databases)
			ms = Min(ms, tend(lfirst(lc)));
		ddir_wait_latch(DDIR_WAIT_LAUNCHER, Max(ms, 1));
	}
}

void
ddir_launcher_register(void)
{
	BackgroundWorker worker = {0};

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = 1;
	strlcpy(worker.bgw_library_name, "ddir", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "ddir_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "ddir launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "ddir launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}
