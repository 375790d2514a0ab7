/*-------------------------------------------------------------------------
 *
 * maintainer.c
 *	  The process that keeps the views of one database current.
 *
 * Its turn: look at the catalog if something changed; read what changes there
 * are, up to a limit; give the trays to the hydration that runs, if any, and to a
 * step; let the hydration advance; answer sessions; publish how far it is; and
 * if nothing is left to do, sleep.  No transaction outlives a part of a turn.
 *
 * The process exits (and the launcher starts another) when it is told to
 * leave, when the extension is gone, and after errors that leave capture
 * unusable; everything is then hydrated again, and the views stay readable.
 *
 * src/worker/maintainer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/procarray.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/config.h"
#include "base/debugpoint.h"
#include "base/request.h"
#include "base/slots.h"
#include "base/waits.h"
#include "meta/view.h"
#include "store/stepping.h"
#include "worker/maintainer.h"

/* What is read in one turn: enough to amortise a commit, soon enough to be seen. */
static const DdirDecodeLimits turn_limits = {
	.rows = 200000,
	.bytes = 64 * 1024 * 1024,
	.ms = 50
};

/* The slot is told at most so often. */
#define CONFIRM_MS 1000
#define RATE_MS 1000
#define CONFIRM_BYTES (16 * 1024 * 1024)
#define IDLE_MS 5000

/* how long reading on may delay a shutdown */
#define FINISH_MS 1000

/*
 * Where writers keep us busy, steps are so far apart, and what commits in
 * between shares the cost of one: the farther, the more transactions a step
 * has.  So below some thousand transactions a second steps are a millisecond
 * apart, and above, where the processors are what all compete for, up to
 * twenty.  A few steps may come sooner if there were none before, so that rare
 * commits are seen at once; and who waits for a view does not wait for us.
 */
#define PACE_US_A_TRAY 250
#define PACE_US_MIN 1000
#define PACE_US_MAX 20000
#define PACE_US_AHEAD 8000
#define NAP_US_MAX 5000

void
ddir_maintainer_says(DdirMaintainer *m, const char *what)
{
	if (strcmp(m->db->step, what) == 0)
		return;
	strlcpy(m->db->step, what, sizeof(m->db->step));
	pgstat_report_activity(STATE_RUNNING, what);
}

/*
 * Start and end
 */

/*
 * Being told to go
 *
 * Where a slot keeps WAL, what there is is read and confirmed first (finish), so
 * that nothing is left behind it after a wait and a shutdown: pg_upgrade from 17
 * on refuses that.  A timer gives up and tells us again; then we go at once.
 */

static volatile sig_atomic_t may_finish;
static volatile sig_atomic_t told_to_go;
static timer_t patience;

static void
go(SIGNAL_ARGS)
{
	static const struct itimerspec once = {.it_value = {FINISH_MS / 1000, FINISH_MS % 1000 * 1000000}};
	int			save_errno = errno;

	if (may_finish && !told_to_go && timer_settime(patience, 0, &once, NULL) == 0)
	{
		told_to_go = true;
		SetLatch(MyLatch);
	}
	else
		die(postgres_signal_arg);
	errno = save_errno;
}

/* From here on, where a slot keeps WAL for us. */
static void
allow_finish(DdirMaintainer *m)
{
	struct sigevent again = {.sigev_notify = SIGEV_SIGNAL,.sigev_signo = SIGTERM};

	may_finish = ddir_capture_holds_wal(m->capture) &&
		timer_create(CLOCK_MONOTONIC, &again, &patience) == 0;
}

/* However the process ends, but by a crash: nothing is at work any more. */
static void
forget_stepping(int code, Datum arg)
{
	ddir_stepping_close(false);
}

static void
set_option(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

static void
connect_to(Oid dbid)
{
	pqsignal(SIGTERM, go);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(dbid, InvalidOid, 0);

	set_option("synchronous_commit", "off");
	set_option("search_path", "pg_catalog, pg_temp");
	set_option("row_security", "off");
	set_option("statement_timeout", "0");
	set_option("lock_timeout", "0");
	set_option("idle_in_transaction_session_timeout", "0");
	set_option("default_transaction_isolation", "read committed");
	set_option("default_transaction_read_only", "off");
	set_option("client_min_messages", "error");
}

static DdirMaintainer *
create_maintainer(Oid dbid, DdirDatabaseSlot *db)
{
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "ddir maintainer",
											  ALLOCSET_DEFAULT_SIZES);
	DdirMaintainer *m = MemoryContextAllocZero(cxt, sizeof(DdirMaintainer));

	m->cxt = cxt;
	m->scratch = AllocSetContextCreate(cxt, "ddir turn", ALLOCSET_DEFAULT_SIZES);
	m->dbid = dbid;
	m->db = db;
	ddir_trays_init(&m->trays, (DdirArena *) AllocSetContextCreate(cxt, "ddir trays",
																   ALLOCSET_DEFAULT_SIZES));
	return m;
}

static void
create_graph(DdirMaintainer *m)
{
	m->graph = ddir_graph_create((DdirArena *) m->cxt, 1);
	m->clock_resumes = m->clock != 0;
	ddir_graph_watch(m->graph, m->stepping);
	m->share = ddir_share_create(AllocSetContextCreate(m->cxt, "ddir share",
													   ALLOCSET_DEFAULT_SIZES), m->graph);
}

/* All dataflows are lost; hydrate everything again, but who is to blame. */
static void
recreate_graph(DdirMaintainer *m)
{
	DdirMaintained *v = OidIsValid(m->broken_by) ? ddir_views_find(m, m->broken_by) : NULL;
	char	   *reason = psprintf("the dataflow failed: %s", m->broken);

	ereport(LOG,
			(errmsg("ddir: %s", reason)));
	ddir_views_restart(m, reason);
	ddir_graph_destroy(m->graph);
	MemoryContextDelete(ddir_share_context(m->share));
	m->graph = NULL;
	create_graph(m);
	if (v)
		ddir_views_suspend(m, v, m->broken_sqlstate, m->broken_message, "its hydration failed");
	if (m->broken_message)
		pfree(m->broken_message);
	m->broken_message = NULL;
	m->broken_by = InvalidOid;
	pfree(m->broken);
	m->broken = NULL;
}

/*
 * The slot and the origin of this generation.  One that is lost, or not ours,
 * is replaced by the next generation's.
 */
static void
open_logical(DdirMaintainer *m)
{
	bool		usable;
	RepOriginId former;
	ListCell   *lc;

	ddir_maintainer_says(m, "opening the replication slot");
	ddir_slot_name(m->slot, m->dbid, m->progress.generation);
	if (m->progress.generation == 0 || !ddir_slot_exists(m->slot, &usable) || !usable)
	{
		if (m->progress.generation > 0 && ddir_slot_exists(m->slot, &usable))
			ddir_slot_drop(m->slot);
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		former = replorigin_by_name(m->slot, true);
		if (former != InvalidRepOriginId)
			replorigin_drop_by_name(m->slot, true, false);
		m->progress.generation++;
		m->progress.confirmed = InvalidXLogRecPtr;
		m->progress.capture = m->mode;
		ddir_progress_write(&m->progress);
		PopActiveSnapshot();
		CommitTransactionCommand();

		ddir_slot_name(m->slot, m->dbid, m->progress.generation);
		ddir_maintainer_says(m, "creating the replication slot (waits for running transactions)");
		foreach(lc, m->views)
		{
			DdirMaintained *v = lfirst(lc);

			if (v->wanting)
				ddir_views_state(m, v, DDIR_VIEW_HYDRATING,
								 "a replication slot is created, which waits for transactions that run, prepared ones too");
		}
		ddir_slot_create(m->slot);
		foreach(lc, m->views)
		{
			DdirMaintained *v = lfirst(lc);

			if (v->wanting)
				ddir_views_state(m, v, DDIR_VIEW_HYDRATING, m->start_reason);
		}
	}

	StartTransactionCommand();
	m->origin = replorigin_by_name(m->slot, true);
	if (m->origin == InvalidRepOriginId)
		m->origin = replorigin_create(m->slot);
	CommitTransactionCommand();
	StartTransactionCommand();
	ddir_compat_origin_setup(m->origin);
	CommitTransactionCommand();
	replorigin_session_origin = m->origin;

	m->capture = ddir_capture_open_logical(m->slot, m->origin);
}

/* No slot and no origin: all that a restart needs is that it is one. */
static void
open_trigger(DdirMaintainer *m)
{
	ddir_maintainer_says(m, "opening the delta tables");
	ddir_slots_drop(m->dbid);
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	ddir_origins_drop(m->dbid);
	if (m->progress.generation == 0 || m->progress.capture != m->mode ||
		m->progress.confirmed != InvalidXLogRecPtr)
	{
		m->progress.generation++;
		m->progress.confirmed = InvalidXLogRecPtr;
		m->progress.capture = m->mode;
		ddir_progress_write(&m->progress);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	m->capture = ddir_capture_open_trigger(m->db);
}

static void
open_capture(DdirMaintainer *m)
{
	if (m->mode == DDIR_CAPTURE_TRIGGER)
		open_trigger(m);
	else
		open_logical(m);
	m->position = ddir_capture_position(m->capture);
}

/*
 * Nothing is to be maintained any more, or database DDL is under way: leave
 * no slot behind, nor what an earlier maintainer has left.
 */
static void
close_capture(DdirMaintainer *m)
{
	if (m->capture)
	{
		ddir_capture_close(m->capture);
		m->capture = NULL;
	}
	if (m->origin != InvalidRepOriginId)
	{
		replorigin_session_reset();
		replorigin_session_origin = m->origin = InvalidRepOriginId;
	}
	ddir_slots_drop(m->dbid);
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	ddir_origins_drop(m->dbid);
	if (m->views == NIL && m->progress.generation > 0 && OidIsValid(ddir_am_oid()))
	{
		/* views to come are not told that a slot was lost */
		m->progress.confirmed = GetFlushRecPtr(NULL);
		ddir_progress_write(&m->progress);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/* Why all views are hydrated at the start. */
static const char *
why_hydrate(const DdirMaintainer *m)
{
	char		name[NAMEDATALEN];
	bool		usable;

	if (m->progress.generation == 0)
		return "it is new here";
	if (m->progress.capture != m->mode)
		return m->mode == DDIR_CAPTURE_TRIGGER ?
			"changes are captured by triggers now" :
			"changes are captured by logical decoding now";
	if (m->mode == DDIR_CAPTURE_TRIGGER && pg_atomic_read_u32(&m->db->cuts.lost))
		return "what triggers wrote was not read in time, as ddir.max_slot_lag demands";
	if (m->mode == DDIR_CAPTURE_TRIGGER)
		return XLogRecPtrIsInvalid(m->progress.confirmed) ?
			"the maintainer has started anew" : "it is new here";
	ddir_slot_name(name, m->dbid, m->progress.generation);
	if (!ddir_slot_exists(name, &usable))
		return XLogRecPtrIsInvalid(m->progress.confirmed) ?
			"the replication slot is gone" : "it is new here";
	return usable ? "the maintainer has started anew" :
		"the replication slot was invalidated";
}

static bool
nothing_to_do(const DdirMaintainer *m)
{
	return m->views == NIL && m->tracked == NIL && !m->look_again;
}

/*
 * The turn
 */

/* Rows a second, of the last second or longer. */
static void
measure_rate(DdirMaintainer *m, TimestampTz now)
{
	long		ms = TimestampDifferenceMilliseconds(m->rate_at, now);

	if (ms < RATE_MS)
		return;
	m->db->rows_per_s = (m->db->rows - m->rate_rows) * 1000.0 / ms;
	m->rate_at = now;
	m->rate_rows = m->db->rows;
}

static void
publish(DdirMaintainer *m)
{
	XLogRecPtr	position = ddir_capture_position(m->capture);
	TimestampTz now = GetCurrentTimestamp();

	measure_rate(m, now);
	if (position > m->position)
		m->position = position;
	if (m->caught_up)
		pg_atomic_write_u64(&m->db->caught_up, now);
	if (pg_atomic_read_u64(&m->db->frontier) != m->position ||
		pg_atomic_read_u64(&m->db->looked) != m->looking)
	{
		pg_atomic_write_u64(&m->db->frontier, m->position);
		pg_write_barrier();		/* whoever sees looked sees the frontier */
		pg_atomic_write_u64(&m->db->looked, m->looking);
		ConditionVariableBroadcast(&m->db->changed);
	}

	if (!ddir_capture_holds_wal(m->capture))
	{
		m->progress.confirmed = m->position;
		return;
	}

	/* the slot never passes an apply commit that may be lost */
	if (m->unconfirmed != InvalidXLogRecPtr &&
		GetFlushRecPtr(NULL) >= m->commit_end)
	{
		ddir_capture_confirm(m->capture, m->unconfirmed);
		m->unconfirmed = InvalidXLogRecPtr;
		m->confirmed_at = now;
		m->progress.confirmed = m->position;
	}
	if (m->unconfirmed == InvalidXLogRecPtr && m->hydration == NULL &&
		(m->position > m->progress.confirmed + CONFIRM_BYTES ||
		 (m->position > m->progress.confirmed &&
		  TimestampDifferenceExceeds(m->confirmed_at, now, CONFIRM_MS))))
		m->unconfirmed = m->position;
}

/* Views are shed until the database's memory is within its limit. */
static void
keep_memory_limit(DdirMaintainer *m)
{
	Size		limit = (Size) ddir_memory_limit * 1024;
	Size		bytes = ddir_graph_bytes(m->graph);
	ListCell   *lc;
	DdirMaintained *victim = NULL;
	Size		most = 0;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->target)
			bytes += ddir_target_bytes(v->target);
	}
	if (bytes <= limit)
		return;
	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);
		Size		own;

		if (v->flow == NULL)
			continue;
		own = ddir_flow_bytes(v->flow) + ddir_target_bytes(v->target);
		if (victim == NULL || own > most)
		{
			victim = v;
			most = own;
		}
	}
	if (victim)
		ddir_views_suspend(m, victim, ERRCODE_OUT_OF_MEMORY,
						   psprintf("%zu kB are in use, ddir.memory_limit is %d kB",
									bytes / 1024, ddir_memory_limit),
						   "out of memory");
}

/*
 * Asynchronous commits are flushed by us, if the setting says so, where they
 * are not captured before.
 */
static bool
flush_wanted(DdirMaintainer *m)
{
	return ddir_flush_async_commits && ddir_capture_holds_wal(m->capture) &&
		pg_atomic_read_u64(&m->db->async_commit_end) > GetFlushRecPtr(NULL);
}

/* Does anybody wait for us? */
static bool
asked(const DdirMaintainer *m)
{
	return m->db->leave || m->db->recheck || m->db->settings ||
		pg_atomic_read_u64(&m->db->look_wanted) != m->looking ||
		ddir_request_waits(m->db);
}

/*
 * Whatever somebody may have asked for just before we sleep, without setting
 * our latch as we did not yet: see ddir_wait_for_work.
 */
static bool
work_waiting(void *arg)
{
	DdirMaintainer *m = arg;

	return m->look || asked(m) ||
		flush_wanted(m) ||
		ddir_capture_waiting(m->capture);
}

/* How long until rows come or go, rounded up. */
static long
until_due_ms(const DdirMaintainer *m)
{
	TimestampTz due = ddir_graph_due(m->graph);
	TimestampTz now = ddir_clock_now();

	if (due <= now)
		return 0;
	return due - now > IDLE_MS * INT64CONST(1000) ? IDLE_MS : (due - now + 999) / 1000;
}

static void
sleep_until_needed(DdirMaintainer *m)
{
	long		ms = ddir_hydrate_patience_ms(m);
	long		due = until_due_ms(m);
	ListCell   *lc;

	if (flush_wanted(m))
		XLogFlush(pg_atomic_read_u64(&m->db->async_commit_end));
	if (ms == 0 || due == 0)
		return;
	foreach(lc, m->views)
		if (((DdirMaintained *) lfirst(lc))->state == DDIR_VIEW_BEHIND)
		ms = ms < 0 ? 20 : Min(ms, 20);
	if (m->look_again)
		ms = ms < 0 ? 20 : Min(ms, 20);
	if (m->unconfirmed != InvalidXLogRecPtr)
		ms = ms < 0 ? 200 : Min(ms, 200);
	if (m->release_at != 0)
		ms = ms < 0 ? 1000 : Min(ms, 1000);
	if (ms < 0)
	{
		ms = IDLE_MS;
		if (m->position > m->progress.confirmed)
			ms = CONFIRM_MS;
		ddir_maintainer_says(m, "idle");
		pgstat_report_activity(STATE_IDLE, "idle");
		pgstat_report_stat(false);
	}
	ddir_wait_for_work(DDIR_WAIT_MAINTAINER, &m->db->sleeping, work_waiting, m, Min(ms, due));
}

/*
 * next_step is when the next step is due if all keep the pace.  It falls
 * behind while there are none, but only so far.
 */
static void
count_step(DdirMaintainer *m)
{
	TimestampTz now = GetCurrentTimestamp();
	long		pace = Min((long) m->trays.ntrays * PACE_US_A_TRAY, PACE_US_MAX);

	m->next_step = Max(m->next_step, now - PACE_US_AHEAD) + Max(pace, PACE_US_MIN);
	/* the clock may have been set back */
	m->next_step = Min(m->next_step, now + PACE_US_MAX);
}

static void
keep_pace(DdirMaintainer *m)
{
	TimestampTz now;

	while (!asked(m) && (now = GetCurrentTimestamp()) < m->next_step)
		ddir_wait_nap(Min(m->next_step - now, NAP_US_MAX));
}

static void
absorb_invalidations(DdirMaintainer *m)
{
	m->looking = pg_atomic_read_u64(&m->db->look_wanted);
	pg_memory_barrier();
	AcceptInvalidationMessages();
	if (m->db->recheck)
	{
		m->db->recheck = false;
		m->look = true;
		m->heard.all = true;
	}
	if (m->look_again ||
		(m->release_at != 0 && GetCurrentTimestamp() >= m->release_at))
		m->look = true;
}

/* Read, set aside, and step, as far as there is something. */
static void
read_and_step(DdirMaintainer *m)
{
	m->caught_up = ddir_capture_read(m->capture, &turn_limits, &m->trays);
	ddir_views_joined(m, ddir_capture_joined(m->capture));
	if (m->trays.ntrays > 0)
		ddir_hydrate_keep(m);
	if (m->broken == NULL && ddir_step_due(m))
	{
		ddir_maintainer_says(m, "applying changes");
		count_step(m);
		ddir_step_run(m);
		keep_memory_limit(m);
	}
}

void
ddir_maintainer_catch_up(DdirMaintainer *m, XLogRecPtr target)
{
	while (m->broken == NULL && ddir_capture_position(m->capture) < target)
	{
		read_and_step(m);
		if (m->caught_up)
			break;
	}
}

/* Those that expressions read may have changed; then all is computed anew. */
static void
look_at_settings(DdirMaintainer *m)
{
	char	   *settings = ddir_settings_text();
	List	   *views = list_copy(m->views);
	ListCell   *lc;

	if (strcmp(settings, m->settings) == 0)
		return;
	pfree(m->settings);
	m->settings = MemoryContextStrdup(m->cxt, settings);
	ddir_hydrate_cancel(m, "settings have changed");
	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->flow)
			ddir_views_rehydrate(m, v, "settings that its expressions read have changed");
	}
	m->look = m->heard.all = true;
}

/*
 * What the catalog says of ddir.capture, for us, may have changed since this
 * session began with it.  Settings of a database or role are those of new
 * sessions: if another one would capture otherwise, let it.  One that the
 * catalog has no more leaves us not knowing what the file says.
 */
static bool
capture_stands(DdirMaintainer *m)
{
	static const char *sql =
	"SELECT (SELECT split_part(s, '=', 2) FROM pg_db_role_setting, unnest(setconfig) AS s"
	" WHERE setdatabase IN (0, $1) AND setrole IN (0, $2) AND s LIKE 'ddir.capture=%'"
	" ORDER BY setrole = 0, setdatabase = 0 LIMIT 1),"
	" source IN ('global', 'database', 'user', 'database user')"
	" FROM pg_settings WHERE name = 'ddir.capture'";
	Oid			types[] = {OIDOID, OIDOID};
	Datum		values[] = {ObjectIdGetDatum(m->dbid), ObjectIdGetDatum(BOOTSTRAP_SUPERUSERID)};
	bool		isnull;
	bool		stands;
	char	   *value;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	if (SPI_execute_with_args(sql, lengthof(types), types, values, NULL, true, 0) != SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not read the settings of the database");
	value = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (value != NULL)
		stands = ddir_capture_mode_of(value) == m->mode;
	else
		stands = !DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
											 2, &isnull));
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(m->scratch);
	return stands;
}

/* Read all that is there, our own commits too, and confirm it. */
static void
finish(DdirMaintainer *m)
{
	do
	{
		XLogFlush(Max(m->commit_end, pg_atomic_read_u64(&m->db->async_commit_end)));
		read_and_step(m);
		if (m->broken == NULL)
			publish(m);
	} while (m->broken == NULL && (!m->caught_up || m->position < m->commit_end));
	if (m->broken == NULL)
	{
		XLogFlush(m->commit_end);
		m->unconfirmed = m->position;
		publish(m);
		ddir_capture_save(m->capture);
	}
	die(SIGTERM);
	CHECK_FOR_INTERRUPTS();
}

static void
turn(DdirMaintainer *m)
{
	MemoryContextReset(m->scratch);
	MemoryContextSwitchTo(m->scratch);
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
		look_at_settings(m);
	}
	if (m->db->settings)
	{
		m->db->settings = false;
		pg_memory_barrier();
		m->leaving = !capture_stands(m);
	}
	if (m->leaving || m->db->leave || ddir_capture_mode() != m->mode)
	{
		m->leaving = true;
		return;
	}

	DDIR_DEBUG_POINT("turn-look");
	absorb_invalidations(m);
	if (m->look)
	{
		ddir_views_look(m);
		if (m->leaving)
			return;
	}

	DDIR_DEBUG_POINT("turn-read");
	read_and_step(m);
	if (m->broken == NULL)
		ddir_hydrate_advance(m);
	if (m->broken)
		recreate_graph(m);
	publish(m);
	ddir_answer(m);
	if (m->caught_up && !m->look)
	{
		if (told_to_go && m->hydration == NULL)
			finish(m);
		keep_pace(m);
		sleep_until_needed(m);
	}
}

void
ddir_maintainer_main(Datum arg)
{
	Oid			dbid = DatumGetObjectId(arg);
	DdirDatabaseSlot *db;
	DdirMaintainer *m;

	connect_to(dbid);
	db = ddir_shared_claim();
	if (db == NULL)
		proc_exit(0);			/* another one is there, or none is wanted */
	on_shmem_exit(forget_stepping, (Datum) 0);
	m = create_maintainer(dbid, db);
	m->stepping = ddir_stepping_open(dbid);
	m->mode = ddir_capture_mode();
	db->settings = true;		/* they may have changed before anybody could
								 * tell us */
	m->settings = MemoryContextStrdup(m->cxt, ddir_settings_text());
	m->rate_at = GetCurrentTimestamp();
	m->rate_rows = db->rows;
	ereport(LOG,
			(errmsg("ddir: maintainer of database %u started", dbid)));

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (OidIsValid(ddir_am_oid()))
	{
		ddir_progress_read(&m->progress);
		m->clock = m->clock_stored = ddir_clock_read(NULL);
		MemoryContextSwitchTo(m->cxt);
		m->tracked = ddir_capture_remembered();
	}
	else
		m->leaving = true;
	PopActiveSnapshot();
	CommitTransactionCommand();
	if (m->progress.disabled)
		m->leaving = true;

	if (!m->leaving)
	{
		create_graph(m);
		ddir_views_watch(m);
		m->start_reason = why_hydrate(m);
		ddir_views_look(m);
		if (nothing_to_do(m))
			m->leaving = true;
	}
	if (!m->leaving)
	{
		open_capture(m);
		m->start_reason = NULL;
		ddir_views_track(m);
		allow_finish(m);
	}
	while (!m->leaving)
	{
		turn(m);
		if (nothing_to_do(m))
			m->leaving = true;
	}
	close_capture(m);
	ddir_stepping_close(true);
	ereport(LOG,
			(errmsg("ddir: maintainer of database %u left", dbid)));
	proc_exit(0);
}
