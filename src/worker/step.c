/*-------------------------------------------------------------------------
 *
 * step.c
 *	  One step: the trays read so far, through the graph, into the views.
 *
 * A step is one transaction of the server.  Every delta takes the time of the
 * last tray, so a row changed many times nets out.  The views' residues are
 * written, and the transaction commits with the position reached as the
 * progress of our replication origin.
 *
 * Writing is tried for all views at once; if that fails, again with each view
 * in a subtransaction of its own, and the one that fails is suspended.  The
 * dataflows do not notice: what was not written stays in the residue.
 *
 * An error inside the graph is different: the graph is of no use afterwards.
 * All is hydrated again (maintainer.c).
 *
 * src/worker/step.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/config.h"
#include "base/debugpoint.h"
#include "capture/keyed.h"
#include "capture/tracked.h"
#include "rows/program.h"
#include "store/stepping.h"
#include "worker/maintainer.h"

/*
 * The clock of views that read it is that of the newest step: all of them are
 * as of one, as they are of one position.  It is kept in the transaction that
 * writes them, so whoever sees their rows sees the clock that they are of.
 * It moves with each step as long as there is such a view, and where one is
 * due; in between it may be taken for any time before the next instant.
 *
 * Where much is due at once, as after the server was down, the clock moves from
 * step to step by so many rows of each view, if they are not of one instant.
 */
#define ROWS_DUE_A_STEP 50000

void
ddir_step_set_clock(DdirMaintainer *m, TimestampTz clock)
{
	m->clock = Max(m->clock, clock);
	ddir_graph_set_clock(m->graph, m->clock);
}

void
ddir_step_store_clock(DdirMaintainer *m)
{
	if (m->clock != m->clock_stored && ddir_graph_is_clocked(m->graph))
		ddir_clock_write(m->clock);
}

void
ddir_step_publish_due(DdirMaintainer *m)
{
	TimestampTz due = ddir_graph_due(m->graph);

	if (m->clock != 0)
		pg_atomic_write_u64(&m->db->clock, m->clock);
	if (pg_atomic_read_u64(&m->db->due) == (uint64) due)
		return;
	pg_atomic_write_u64(&m->db->due, due);
	ConditionVariableBroadcast(&m->db->changed);
}

static void
move_clock(DdirMaintainer *m)
{
	if (ddir_graph_is_clocked(m->graph))
		ddir_step_set_clock(m, ddir_graph_reach(m->graph, ddir_clock_now(), ROWS_DUE_A_STEP));
}

bool
ddir_step_due(const DdirMaintainer *m)
{
	ListCell   *lc;

	if (m->trays.ntrays > 0 || ddir_graph_due(m->graph) <= ddir_clock_now())
		return true;
	foreach(lc, m->views)
	{
		const DdirMaintained *v = lfirst(lc);

		/* those held by others or by errors are tried again when woken */
		if (v->flow && (v->state == DDIR_VIEW_BEHIND || v->unsure))
			return true;
	}
	return false;
}

/*
 * Commit with our origin, whose progress is the position all live views stand
 * at.  Nothing is logged if nothing was written.
 */
void
ddir_step_commit(DdirMaintainer *m)
{
	replorigin_session_origin = m->origin;
	replorigin_session_origin_lsn = Max(m->position, m->reaching);
	replorigin_session_origin_timestamp = m->position_time;
	CommitTransactionCommand();
	if (XactLastCommitEnd > m->commit_end)
		m->commit_end = XactLastCommitEnd;
}

/*
 * Trays with events: the contents of those sources are no longer what their
 * deltas add up to.
 */
static void
handle_events(DdirMaintainer *m)
{
	static const char *const reason[] = {
		[DDIR_TRAY_TRUNCATE] = "a table it reads was truncated",
		[DDIR_TRAY_NO_OLD_IMAGE] = "a change came without the old row",
		[DDIR_TRAY_REWRITTEN] = "a table it reads changed its shape",
		[DDIR_TRAY_PARTITIONS] = "a table it reads has other partitions",
		[DDIR_TRAY_TOO_LARGE] = "a transaction was too large to be taken as changes",
	};

	for (uint32 i = 0; i < m->trays.nevents; i++)
	{
		DdirTrayEvent *e = &m->trays.event[i];
		ListCell   *lc;

		/* a hydration looks at events itself (hydratesources.c) */
		foreach(lc, m->views)
		{
			DdirMaintained *v = lfirst(lc);

			if (v->flow && v->lowered && list_member_oid(v->lowered->sources, e->source))
				ddir_views_rehydrate(m, v, reason[e->kind]);
		}
	}
}

static void
note_newest(DdirMaintainer *m, Oid relid, XLogRecPtr lsn)
{
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);
		ListCell   *cell;

		if (v->lowered && list_member_oid(v->lowered->sources, relid))
			v->newest = Max(v->newest, lsn);
		/* views come after those they read, whose newest are known */
		foreach(cell, ddir_views_upstream(m, v))
			v->newest = Max(v->newest, ((DdirMaintained *) lfirst(cell))->newest);
	}
}

/*
 * The changes of a table whose old rows are known by key become deltas, by its
 * rows as they were before the step.  If those are not what the changes say,
 * it is read anew.
 */
static void
resolve_run(DdirMaintainer *m, DdirRun *run)
{
	DdirByKey	by;
	MemoryContext cxt;
	DdirResolution *r;
	DdirDeltas	resolved;
	DdirResolved result = DDIR_RESOLVED_NOT;

	cxt = AllocSetContextCreate(m->scratch, "ddir resolution", ALLOCSET_DEFAULT_SIZES);
	ddir_deltas_init(&resolved, m->trays.arena, 1, false);
	if (ddir_share_find_by_key(m->share, run->source, &by))
	{
		r = ddir_resolution_begin(cxt, by.type, ddir_capture_keyed(m->capture, run->source),
								  by.key, &run->deltas, ddir_tray_bytes_max());
		ddir_resolution_load_trace(r, by.trace, by.val, by.att);
		result = ddir_resolution_finish(r, &resolved);
		ddir_capture_expect(m->capture, run->source, ddir_resolution_row_bytes(r));
	}
	MemoryContextDelete(cxt);
	ddir_deltas_free(&run->deltas);
	run->deltas = resolved;
	if (result == DDIR_RESOLVED)
		return;
	ddir_deltas_clear(&run->deltas);
	if (result == DDIR_RESOLVED_NOT)
		ddir_capture_give_up_key(m->capture, run->source);
	ddir_views_rehydrate_readers(m, run->source, result == DDIR_RESOLVED_TOO_LARGE ?
								 "a transaction was too large to be taken as changes" :
								 "an old row was not found by its key");
}

/* Push what the trays hold and let the graph run. */
static void
run_graph(DdirMaintainer *m)
{
	bool		any = ddir_graph_due(m->graph) <= m->clock;
	uint64_t	t;
	int			rights;

	for (uint32 i = 0; i < m->trays.nruns; i++)
	{
		DdirRun    *run = &m->trays.run[i];

		if (run->deltas.n > 0 && ddir_capture_keyed(m->capture, run->source) &&
			ddir_share_source(m->share, run->source) != NULL)
			resolve_run(m, run);
	}
	for (uint32 i = 0; i < m->trays.nruns; i++)
		any = any || (m->trays.run[i].deltas.n > 0 &&
					  ddir_share_source(m->share, m->trays.run[i].source) != NULL);
	if (!any)
		return;

	/* where only time has passed, the step is a tray of its own */
	t = m->trays.ntrays > 0 ? m->trays.next - 1 : m->trays.next++;
	rights = ddir_rights_enter();
	ddir_graph_begin(m->graph, &t);
	for (uint32 i = 0; i < m->trays.nruns; i++)
	{
		DdirRun    *run = &m->trays.run[i];
		DdirNode   *node = ddir_share_source(m->share, run->source);
		DdirDeltas	now = run->deltas;

		if (now.n == 0 || node == NULL)
			continue;
		now.time = NULL;
		now.at.c[0] = t;
		ddir_node_push(node, 0, &now);
	}
	ddir_graph_finish(m->graph);
	ddir_rights_leave(rights);
}

/*
 * Writing
 */

static void
lag(DdirMaintainer *m, DdirMaintained *v, DdirViewState state, const char *reason)
{
	if (v->state != state || strcmp(v->reason, reason) != 0)
		ddir_views_state(m, v, state, reason);
	if (!v->lagging && !v->lag_noted)
	{
		ddir_lagging_set(v->view, v->frontier, reason);
		v->lag_noted = true;
	}
}

void
ddir_step_apply(DdirMaintainer *m, DdirMaintained *v)
{
	DdirApplyResult result;
	uint64		rows = 0;

	*m->stepping = v->view;
	if (v->reconcile)
		result = ddir_target_reconcile(v->target, false, &rows);
	else
		result = ddir_target_apply(v->target, false, &rows);
	if (result == DDIR_APPLY_STALE && !v->reconcile &&
		(result = ddir_target_remap(v->target, false)) == DDIR_APPLY_DONE)
		result = ddir_target_apply(v->target, false, &rows);

	*m->stepping = InvalidOid;
	v->unsure = false;
	switch (result)
	{
		case DDIR_APPLY_DONE:
			if (v->lagging)
				ddir_lagging_clear(v->view);
			v->rows_written = rows;
			v->done = true;
			break;
		case DDIR_APPLY_LOCKED:
			lag(m, v, DDIR_VIEW_BEHIND, "it is locked by another session");
			break;
		case DDIR_APPLY_HELD:
			{
				char	   *message;
				bool		another = false;

				if (ddir_target_error(v->target, &v->sqlstate, &message))
				{
					another = strncmp(v->message, message, sizeof(v->message) - 1) != 0;
					strlcpy(v->message, message, sizeof(v->message));
				}
				lag(m, v, DDIR_VIEW_ERROR, "its query raises an error");
				if (another)
					ddir_views_publish(m, v);
				break;
			}
		case DDIR_APPLY_STALE:
			ddir_views_rehydrate(m, v, "its table was filled by others");
			break;
		case DDIR_APPLY_NEGATIVE:
			if (v->negative)
				ddir_views_suspend(m, v, ERRCODE_DATA_CORRUPTED,
								   "a row would be in it less than zero times",
								   "negative multiplicity, for the second time");
			else
				ddir_views_rehydrate(m, v, "a row would be in it less than zero times");
			v->negative = true;
			break;
		case DDIR_APPLY_GONE:
			m->look = true;
			break;
	}
}

/* The views that have something to be written, or to be told. */
static bool
has_work(const DdirMaintained *v)
{
	return v->flow && (v->reconcile || v->unsure || ddir_target_dirty(v->target) ||
					   ddir_target_errors(v->target)->n > 0 ||
					   v->state == DDIR_VIEW_BEHIND || v->state == DDIR_VIEW_ERROR);
}

static void
apply_all(DdirMaintainer *m)
{
	List	   *views = list_copy(m->views);
	ListCell   *lc;

	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		if (has_work(v))
			ddir_step_apply(m, v);
	}
}

ErrorData *
ddir_step_try(void (*fn) (void *arg), void *arg)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	PG_TRY();
	{
		fn(arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	return error;
}

typedef struct ApplyOne
{
	DdirMaintainer *m;
	DdirMaintained *v;
} ApplyOne;

static void
apply_one(void *arg)
{
	ApplyOne   *one = arg;

	ddir_step_apply(one->m, one->v);
}

/* The same, each view in a subtransaction; one that fails is suspended. */
static void
apply_singly(DdirMaintainer *m)
{
	List	   *views = list_copy(m->views);
	ListCell   *lc;

	foreach(lc, views)
	{
		ApplyOne	one = {m, lfirst(lc)};
		ErrorData  *error;

		if (!has_work(one.v))
			continue;
		error = ddir_step_try(apply_one, &one);
		if (error == NULL)
			continue;
		ddir_views_suspend(m, one.v, error->sqlerrcode, error->message,
						   "its table could not be written");
	}
}

/* For ddir.views: what a step has done to views that were live before. */
static void
count_rows(DdirMaintainer *m)
{
	ListCell   *lc;

	pg_atomic_write_u64(&m->db->frontier_time, m->position_time);
	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);
		DdirViewSlot *slot = v->rows_written == 0 ? NULL :
		ddir_shared_view(m->dbid, v->view, false);

		if (slot)
			slot->rows_applied = v->rows_applied;
	}
	LWLockRelease(ddir_shared->lock);
}

/*
 * What was written counts, and is shown to those who wait, only now.
 */
void
ddir_step_ended(DdirMaintainer *m, bool committed)
{
	ListCell   *lc;

	if (committed)
	{
		m->position = Max(m->position, m->reaching);
		m->clock_stored = m->clock;
	}
	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->target && committed)
			ddir_target_committed(v->target);
		else if (v->target)
			ddir_target_aborted(v->target);
		if (committed && v->done)
		{
			v->rows_applied += v->rows_written;
			v->reconcile = false;
			v->lagging = false;
			ddir_stepping_clear(v->view);
			if (v->state != DDIR_VIEW_LIVE)
				ddir_views_state(m, v, DDIR_VIEW_LIVE, NULL);
		}
		else if (committed && v->lag_noted)
			v->lagging = true;
		v->done = false;
		v->lag_noted = false;
	}
	if (committed)
	{
		count_rows(m);
		/* whoever waits for what was due looks at the views' states then */
		ddir_step_publish_due(m);
	}
	foreach(lc, m->views)
		((DdirMaintained *) lfirst(lc))->rows_written = 0;
}

typedef enum StepPhase
{
	STEP_GRAPH,
	STEP_APPLY,
	STEP_COMMITTED
} StepPhase;

/* One try.  Returns how far it came; the error, if any, is copied. */
static StepPhase
attempt(DdirMaintainer *m, bool graph, bool singly, ErrorData **error)
{
	MemoryContext old = CurrentMemoryContext;
	volatile StepPhase phase = graph ? STEP_GRAPH : STEP_APPLY;

	*error = NULL;
	PG_TRY();
	{
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		if (graph)
		{
			move_clock(m);
			run_graph(m);
		}
		phase = STEP_APPLY;
		DDIR_DEBUG_POINT("step-apply");
		if (singly)
			apply_singly(m);
		else
			apply_all(m);
		ddir_step_store_clock(m);
		DDIR_DEBUG_POINT("step-commit");
		PopActiveSnapshot();
		ddir_step_commit(m);
		phase = STEP_COMMITTED;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		*error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	return phase;
}

void
ddir_step_write_singly(DdirMaintainer *m, const ErrorData *why)
{
	ErrorData  *error;
	StepPhase	phase;

	ddir_step_ended(m, false);
	ereport(LOG,
			(errmsg("ddir: writing failed and is tried view by view: %s", why->message),
			 why->detail ? errdetail_internal("%s", why->detail) : 0));
	phase = attempt(m, false, true, &error);
	ddir_step_ended(m, phase == STEP_COMMITTED);
	if (phase != STEP_COMMITTED)
		ThrowErrorData(error);	/* not even singly: leave */
}

void
ddir_step_run(DdirMaintainer *m)
{
	ErrorData  *error;
	StepPhase	phase;

	if (m->trays.ntrays > 0)
	{
		const DdirTray *last = &m->trays.tray[m->trays.ntrays - 1];

		m->reaching = last->lsn;
		m->position_time = last->commit_time;
		for (uint32 i = 0; i < m->trays.nruns; i++)
			if (m->trays.run[i].deltas.n > 0)
			{
				DdirDeltas *d = &m->trays.run[i].deltas;
				const DdirTray *t = ddir_trays_find(&m->trays, *ddir_deltas_time(d, d->n - 1));

				if (t)
					note_newest(m, m->trays.run[i].source, t->lsn);
			}
		handle_events(m);
	}

	phase = attempt(m, true, false, &error);
	if (phase == STEP_APPLY)
		ddir_step_write_singly(m, error);
	else
		ddir_step_ended(m, phase == STEP_COMMITTED);
	if (phase == STEP_GRAPH)
		m->broken = MemoryContextStrdup(m->cxt, error->message);

	m->db->steps++;
	m->db->trays += m->trays.ntrays;
	m->db->rows += m->trays.rows;
	ddir_trays_clear(&m->trays);
}
