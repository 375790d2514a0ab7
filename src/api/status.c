/*-------------------------------------------------------------------------
 *
 * status.c
 *	  What the views of schema ddir show: functions that return sets.
 *
 * ddir.views, ddir.hydration and ddir.workers come out of shared memory, so
 * they answer at once whatever the maintainer does; ddir.sources,
 * ddir.arrangements and ddir.operators are asked of it.
 *
 * A view's row is shown to who may select from the view, and to pg_monitor.
 * Messages of errors may hold values of rows; only owners see them.
 *
 * src/api/status.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type.h"
#include "commands/dbcommands.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "api/api.h"
#include "base/compat.h"
#include "base/config.h"
#include "base/request.h"
#include "base/shared.h"
#include "meta/freshness.h"
#include "meta/view.h"

#define REQUEST_MS 30000

PG_FUNCTION_INFO_V1(ddir_status_views);
PG_FUNCTION_INFO_V1(ddir_status_view_clock);
PG_FUNCTION_INFO_V1(ddir_status_hydration);
PG_FUNCTION_INFO_V1(ddir_status_workers);
PG_FUNCTION_INFO_V1(ddir_status_sources);
PG_FUNCTION_INFO_V1(ddir_status_arrangements);
PG_FUNCTION_INFO_V1(ddir_status_operators);

/* ----
 * Rows
 * ----
 */

#define COLUMNS_MAX 12

typedef struct Row
{
	int			n;
	Datum		value[COLUMNS_MAX];
	bool		null[COLUMNS_MAX];
} Row;

static void
put(Row *row, Datum value, bool null)
{
	if (row->n == COLUMNS_MAX)
		elog(ERROR, "too many columns");
	row->value[row->n] = value;
	row->null[row->n++] = null;
}

/* An empty string is shown as NULL. */
static void
put_text(Row *row, const char *text)
{
	if (text == NULL || text[0] == '\0')
		put(row, (Datum) 0, true);
	else
		put(row, CStringGetTextDatum(text), false);
}

static void
put_time(Row *row, TimestampTz time)
{
	put(row, TimestampTzGetDatum(time), time == 0);
}

static void
put_int8(Row *row, uint64 value)
{
	put(row, Int64GetDatum((int64) value), false);
}

static void
emit(ReturnSetInfo *rsinfo, Row *row)
{
	if (row->n != rsinfo->setDesc->natts)
		elog(ERROR, "%d columns for a result of %d", row->n, rsinfo->setDesc->natts);
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, row->value, row->null);
}

/* ----
 * Views
 * ----
 */

/* A view, and what is known of it, copied out of shared memory. */
typedef struct Known
{
	Oid			view;
	bool		slot;
	DdirViewSlot in;			/* if there is one */
	DdirFreshness now;
	TimestampTz caught_up;
	TimestampTz due;			/* what of it reads the clock changes then */
} Known;

/* The views that this user may know of; List of Known *. */
static List *
known_views(void)
{
	List	   *result = NIL;
	bool		monitor = has_privs_of_role(GetUserId(), ROLE_PG_MONITOR);
	ListCell   *lc;

	ddir_shared_require();
	foreach(lc, ddir_view_list())
	{
		Oid			view = lfirst_oid(lc);
		Known	   *k;
		DdirViewSlot *slot;
		DdirDatabaseSlot *db;

		if (!monitor && pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK)
			continue;
		k = palloc0(sizeof(Known));
		k->view = view;
		ddir_freshness_read(view, &k->now);
		LWLockAcquire(ddir_shared->lock, LW_SHARED);
		slot = ddir_shared_view(MyDatabaseId, view, false);
		k->slot = slot != NULL;
		if (slot)
			k->in = *slot;
		db = ddir_shared_database(MyDatabaseId, false);
		if (db)
		{
			TimestampTz newest = pg_atomic_read_u64(&db->frontier_time);

			k->caught_up = pg_atomic_read_u64(&db->caught_up);
			k->due = pg_atomic_read_u64(&db->due);
			if (k->in.state == DDIR_VIEW_LIVE)
				k->in.frontier_time = Max(k->in.frontier_time, newest);
		}
		LWLockRelease(ddir_shared->lock);
		result = lappend(result, k);
	}
	return result;
}

/* The state, and why it is not live. */
static void
put_state(Row *row, const Known *k)
{
	if (RecoveryInProgress())
	{
		put_text(row, ddir_view_state_name(DDIR_VIEW_DISABLED));
		put_text(row, "the server is in recovery: the view is as what was replayed");
		return;
	}
	if (k->now.result == DDIR_FRESHNESS_DISABLED)
	{
		put_text(row, ddir_view_state_name(DDIR_VIEW_DISABLED));
		put_text(row, "switched off by ddir.disable()");
		return;
	}
	put_text(row, ddir_view_state_name(k->now.state));
	put_text(row, k->now.reason);
}

/*
 * In bytes, what is flushed and not in the view; in time, how long ago all was.
 * That is known twice: from the commit of the newest transaction in the view,
 * and from when the maintainer last had nothing left to read.  A view that
 * reads the clock may also be late to let rows come or go.
 */
static void
put_lag(Row *row, const Known *k)
{
	XLogRecPtr	end;
	TimestampTz since = k->in.frontier_time;
	TimestampTz now = ddir_clock_now();
	uint64		bytes;
	long		late = k->in.clocked && k->due <= now ?
	TimestampDifferenceMilliseconds(k->due, now) : 0;

	if (RecoveryInProgress() || XLogRecPtrIsInvalid(k->now.frontier))
	{
		put(row, (Datum) 0, true);
		put(row, (Datum) 0, true);
		return;
	}
	end = GetFlushRecPtr(NULL);
	bytes = end > k->now.frontier ? end - k->now.frontier : 0;
	put_int8(row, bytes);
	if (k->in.state == DDIR_VIEW_LIVE)
		since = Max(since, k->caught_up);
	if (bytes == 0)
		put_int8(row, late);
	else if (since == 0)
		put(row, (Datum) 0, true);
	else
		put_int8(row, Max(late, TimestampDifferenceMilliseconds(since, GetCurrentTimestamp())));
}

Datum
ddir_status_views(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, known_views())
	{
		Known	   *k = lfirst(lc);
		bool		owner = ddir_owns_relation(k->view, GetUserId());
		Row			row = {0};

		put(&row, ObjectIdGetDatum(k->view), false);
		put_state(&row, k);
		put(&row, LSNGetDatum(k->now.frontier), XLogRecPtrIsInvalid(k->now.frontier));
		put_time(&row, k->in.frontier_time);
		put_lag(&row, k);
		put_int8(&row, k->in.rows_applied);
		put_int8(&row, k->in.memory_bytes);
		put_text(&row, k->in.sqlstate ? unpack_sql_state(k->in.sqlstate) : NULL);
		put_text(&row, owner ? k->in.message : NULL);
		emit(rsinfo, &row);
	}
	return (Datum) 0;
}

Datum
ddir_status_view_clock(PG_FUNCTION_ARGS)
{
	DdirViewSlot *slot;
	DdirDatabaseSlot *db;
	TimestampTz clock = 0;

	ddir_shared_require();
	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	slot = ddir_shared_view(MyDatabaseId, PG_GETARG_OID(0), false);
	db = ddir_shared_database(MyDatabaseId, false);
	if (slot && slot->clocked && db)
		clock = pg_atomic_read_u64(&db->clock);
	LWLockRelease(ddir_shared->lock);
	if (clock == 0)
		PG_RETURN_NULL();
	PG_RETURN_TIMESTAMPTZ(clock);
}

Datum
ddir_status_hydration(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	foreach(lc, known_views())
	{
		Known	   *k = lfirst(lc);
		Row			row = {0};

		if (!k->slot)
			continue;
		put(&row, ObjectIdGetDatum(k->view), false);
		put_text(&row, ddir_hydration_phase_name(k->in.phase));
		put_text(&row, k->in.hydration_reason);
		put_int8(&row, k->in.hydrations);
		put_int8(&row, k->in.rows_done);
		put_int8(&row, k->in.rows_total);
		put_time(&row, k->in.hydration_start);
		put_time(&row, k->in.hydration_end);
		emit(rsinfo, &row);
	}
	return (Datum) 0;
}

/* ----
 * Processes
 * ----
 */

static void
put_launcher(ReturnSetInfo *rsinfo, pid_t pid, const DdirTrouble *trouble)
{
	Row			row = {0};

	put(&row, Int32GetDatum(pid), pid == 0);
	put(&row, (Datum) 0, true);
	put_text(&row, "launcher");
	put_text(&row, pid ? "running" : "not running");
	put_text(&row, trouble->text);
	put(&row, (Datum) 0, true);
	emit(rsinfo, &row);
}

static const char *
maintainer_state(const DdirDatabaseSlot *db, bool sleeping)
{
	if (db->disabled)
		return "disabled";
	if (db->pid == 0)
		return db->leave > 0 ? "stepped aside" : "not running";
	if (db->leave > 0)
		return "leaving";
	return sleeping ? "idle" : "running";
}

static void
put_maintainer(ReturnSetInfo *rsinfo, const DdirDatabaseSlot *db, bool sleeping)
{
	Row			row = {0};

	put(&row, Int32GetDatum(db->pid), db->pid == 0);
	put_text(&row, get_database_name(db->dbid));
	put_text(&row, "maintainer");
	put_text(&row, maintainer_state(db, sleeping));
	put_text(&row, db->pid ? db->step : db->trouble.text);
	put(&row, Float8GetDatum(db->rows_per_s), db->pid == 0);
	emit(rsinfo, &row);
}

Datum
ddir_status_workers(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	DdirDatabaseSlot *copy;
	bool	   *sleeping;
	pid_t		launcher;
	DdirTrouble trouble;

	ddir_shared_require();
	InitMaterializedSRF(fcinfo, 0);
	copy = palloc(ddir_shared->ndatabases * sizeof(DdirDatabaseSlot));
	sleeping = palloc(ddir_shared->ndatabases * sizeof(bool));
	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	memcpy(copy, ddir_shared->database, ddir_shared->ndatabases * sizeof(DdirDatabaseSlot));
	for (int i = 0; i < ddir_shared->ndatabases; i++)
		sleeping[i] = pg_atomic_read_u32(&ddir_shared->database[i].sleeping) != 0;
	launcher = ddir_shared->launcher_pid;
	trouble = ddir_shared->trouble;
	LWLockRelease(ddir_shared->lock);

	for (int i = 0; i < ddir_shared->ndatabases; i++)
	{
		if (OidIsValid(copy[i].dbid))
			put_maintainer(rsinfo, &copy[i], sleeping[i]);
	}
	put_launcher(rsinfo, launcher, &trouble);
	return (Datum) 0;
}

/* ----
 * Asked of the maintainer
 * ----
 */

/*
 * Without any ddir view, and in recovery, nobody runs that could be asked, and
 * there is nothing.
 */
static bool
nothing_runs(void)
{
	DdirDatabaseSlot *db;
	bool		result;

	ddir_shared_require();
	if (RecoveryInProgress())
		return true;
	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	db = ddir_shared_database(MyDatabaseId, false);
	result = db == NULL || db->pid == 0;
	LWLockRelease(ddir_shared->lock);
	return result && ddir_view_count() == 0;
}

static Datum
ask(FunctionCallInfo fcinfo, DdirRequestKind kind)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	AttInMetadata *in;
	ListCell   *lc;

	InitMaterializedSRF(fcinfo, 0);
	if (nothing_runs())
		return (Datum) 0;
	in = TupleDescGetAttInMetadata(rsinfo->setDesc);
	foreach(lc, ddir_request(kind, InvalidOid, InvalidXLogRecPtr,
							 rsinfo->setDesc->natts, REQUEST_MS))
		tuplestore_puttuple(rsinfo->setResult, BuildTupleFromCStrings(in, lfirst(lc)));
	return (Datum) 0;
}

Datum
ddir_status_sources(PG_FUNCTION_ARGS)
{
	return ask(fcinfo, DDIR_REQUEST_SOURCES);
}

Datum
ddir_status_arrangements(PG_FUNCTION_ARGS)
{
	return ask(fcinfo, DDIR_REQUEST_ARRANGEMENTS);
}

Datum
ddir_status_operators(PG_FUNCTION_ARGS)
{
	return ask(fcinfo, DDIR_REQUEST_OPERATORS);
}
