/*-------------------------------------------------------------------------
 *
 * hydratestep.c
 *	  The step of a hydration: its views are computed from whole sources, and
 *	  their tables compared with that and written.
 *
 * It is one transaction, as any step is (step.c).  If computing fails, the views
 * of the set are tried again one by one; one that fails alone is suspended with
 * the error.  One whose table cannot be written is suspended as in any other
 * step.
 *
 * src/worker/hydratestep.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/debugpoint.h"
#include "meta/view.h"
#include "rows/program.h"
#include "worker/hydrate.h"

/* How long ANALYZE may wait for a lock after a hydration. */
#define ANALYZE_LOCK_TIMEOUT "5ms"

typedef struct PushTo
{
	DdirNode   *node;
	int			port;
	uint64_t	t;
} PushTo;

static void
push_rows(void *ctx, const DdirDeltas *rows)
{
	PushTo	   *to = ctx;
	DdirDeltas	now = *rows;

	now.time = NULL;
	now.at.c[0] = to->t;
	ddir_node_push(to->node, to->port, &now);
}

static void
load_from_source(DdirHydrated *s, PushTo *to)
{
	ListCell   *lc;

	foreach(lc, s->rows)
		push_rows(to, lfirst(lc));
	if (s->missed.n > 0)
		push_rows(to, &s->missed);
}

static void
load_from_view(DdirMaintained *v, PushTo *to)
{
	DdirDeltas	errs = *ddir_target_errors(v->target);

	if (v->reconcile)
		elog(ERROR, "view %u is read before its contents were written", v->view);
	ddir_target_contents(v->target, push_rows, to);
	if (errs.n > 0)
	{
		errs.time = NULL;
		errs.at.c[0] = to->t;
		ddir_node_push_errors(to->node, to->port, &errs);
	}
}

/* The tables of live views that the set reads can be read in this transaction. */
static void
require_upstream(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->hydration->views)
	{
		DdirMaintained *v = lfirst(lc);
		ListCell   *cell;

		foreach(cell, ddir_views_upstream(m, v))
		{
			DdirMaintained *u = lfirst(cell);

			if (list_member_ptr(m->hydration->views, u))
				continue;
			if (u->flow == NULL || u->reconcile ||
				ddir_target_readable(u->target, false) != DDIR_APPLY_DONE)
				ereport(ERROR,
						(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
						 errmsg("view \"%s\" cannot be read now", u->name)));
		}
	}
}

static void
build_flows(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->hydration->views)
	{
		DdirMaintained *v = lfirst(lc);

		*m->stepping = v->view;
		DDIR_DEBUG_POINT(psprintf("hydrate-%s", v->name));
		v->target = ddir_target_create(m->cxt, v->view);
		v->flow = ddir_flow_build(m->share, v->view, v->owner, v->lowered->root,
								  ddir_target_sink(v->target));
		ddir_share_view(m->share, v->view, v->flow->output);
	}
}

/*
 * Views that read the clock are given the one that others have.  The first
 * ones after a start have what their rows are of, so that what has become due
 * meanwhile comes step by step; those after none have the server's.
 */
static void
choose_clock(DdirMaintainer *m)
{
	bool		live = false;
	ListCell   *lc;

	if (!ddir_graph_is_clocked(m->graph))
		return;
	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		live = live || (v->flow && v->clocked && !ddir_hydrate_concerns(m, v));
	}
	if (live || m->clock_resumes)
		ddir_step_set_clock(m, m->clock);
	else
		ddir_step_set_clock(m, ddir_clock_now());
	m->clock_resumes = false;
}

static void
run_step(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	uint64_t	t = m->trays.next++;
	ListCell   *lc;

	choose_clock(m);
	ddir_graph_begin(m->graph, &t);
	foreach(lc, h->views)
	{
		DdirMaintained *v = lfirst(lc);
		ListCell   *cell;

		ddir_flow_start(v->flow);
		DDIR_DEBUG_POINT(psprintf("load-%s", v->name));
		foreach(cell, v->flow->loads)
		{
			DdirLoad   *load = lfirst(cell);
			DdirMaintained *from = ddir_views_find(m, load->relid);
			PushTo		to = {load->node, load->port, t};
			DdirHydrated *s = ddir_hydrate_source(h, load->relid);

			if (from && list_member_ptr(h->views, from))
				continue;		/* its output comes down the edge */
			if (from)
				load_from_view(from, &to);
			else
				load_from_source(s, &to);
		}
		v->flow->loads = NIL;
	}
	ddir_graph_finish(m->graph);
}

static bool
has_statistics(Oid view)
{
	HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(view));
	bool		has = false;

	if (HeapTupleIsValid(tup))
	{
		has = ((Form_pg_class) GETSTRUCT(tup))->reltuples >= 0;
		ReleaseSysCache(tup);
	}
	return has;
}

/*
 * The view may have been locked, renamed or dropped meanwhile, or one of its
 * indexes locked, which ANALYZE waits for.
 */
static void
analyze_view(void *arg)
{
	DdirMaintained *v = arg;
	Oid			view = v->view;

	if (!ConditionalLockRelationOid(view, ShareUpdateExclusiveLock) ||
		!ddir_is_view(view) || (v->rows_applied == 0 && has_statistics(view)))
		return;
	(void) set_config_option("lock_timeout", ANALYZE_LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
	SPI_connect();
	SPI_execute(psprintf("ANALYZE %s", ddir_relation_name(view)), false, 0);
	SPI_finish();
}

static void
analyze(DdirMaintained *v)
{
	ErrorData  *error;

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	error = ddir_step_try(analyze_view, v);
	if (error)
		ereport(LOG,
				(errmsg("ddir: view \"%s\" could not be analyzed: %s", v->name, error->message)));
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/* Before it is live for those who wait. */
static void
count_hydration(DdirMaintainer *m, DdirMaintained *v)
{
	DdirViewSlot *slot;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_view(m->dbid, v->view, true);
	if (slot)
	{
		slot->phase = DDIR_HYDRATION_NONE;
		slot->hydrations++;
		slot->hydration_end = GetCurrentTimestamp();
	}
	LWLockRelease(ddir_shared->lock);
}

static void
finish_view(DdirMaintained *v, TimestampTz start, uint64 rows)
{
	if (v->flow)
		ereport(LOG,
				(errmsg("ddir: view \"%s\" hydrated: " UINT64_FORMAT " rows changed in %.3f seconds",
						v->name, rows, (GetCurrentTimestamp() - start) / 1000000.0)));
	if (v->state == DDIR_VIEW_LIVE)
		analyze(v);
}

/* How far the step of a hydration came. */
typedef enum Reached
{
	REACHED_NOTHING,
	REACHED_GRAPH,				/* which an error leaves unusable from here */
	REACHED_WRITING,			/* all is computed, and the hydration ended */
	REACHED_COMMIT
} Reached;

/* NULL, or why the sources are not whole; then nothing is computed. */
static const char *
compute_flows(DdirMaintainer *m, volatile Reached *reached)
{
	const char *not_whole;
	int			rights;

	DDIR_DEBUG_POINT("hydrate-compute");
	require_upstream(m);
	rights = ddir_rights_enter();
	not_whole = ddir_hydrate_make_whole(m);
	if (not_whole == NULL)
	{
		build_flows(m);
		*reached = REACHED_GRAPH;
		run_step(m);
		ddir_hydrate_report(m, DDIR_HYDRATION_RECONCILING);
	}
	ddir_rights_leave(rights);
	return not_whole;
}

static void
write_views(DdirMaintainer *m, List *views)
{
	ListCell   *lc;

	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		v->reconcile = true;
		v->wanting = false;
		v->alone = false;
	}
	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		/* it may have been suspended with one that it reads */
		if (v->flow)
			ddir_step_apply(m, v);
	}
}

/* The error, copied; NULL: committed. */
static ErrorData *
try_computing(DdirMaintainer *m, List *views, volatile Reached *reached,
			  const char *volatile *not_whole)
{
	MemoryContext old = CurrentMemoryContext;
	ErrorData  *volatile error = NULL;

	PG_TRY();
	{
		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		*not_whole = compute_flows(m, reached);
		if (*not_whole == NULL)
		{
			*reached = REACHED_WRITING;
			ddir_hydrate_end(m);
			write_views(m, views);
		}
		ddir_step_store_clock(m);
		DDIR_DEBUG_POINT("hydrate-commit");
		PopActiveSnapshot();
		ddir_step_commit(m);
		*reached = REACHED_COMMIT;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	return error;
}

/* Nothing is computed.  Whose fault it is shows when each is tried by itself. */
static void
computing_failed(DdirMaintainer *m, List *views, const ErrorData *error, bool graph_ran)
{
	bool		later = error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE && !graph_ran;
	bool		single = list_length(views) == 1;

	ddir_step_ended(m, false);
	ereport(LOG,
			(errmsg("ddir: hydration failed: %s", error->message)));
	for (int i = list_length(views) - 1; i >= 0; i--)
	{
		DdirMaintained *v = list_nth(views, i);

		if (!graph_ran)
			ddir_views_drop_flow(m, v);
		v->alone = v->alone || (!single && !later);
	}
	ddir_hydrate_end(m);
	if (graph_ran)
	{
		/* nothing of it can be touched before it has been replaced */
		m->broken = MemoryContextStrdup(m->cxt, "the hydration of a view failed");
		if (single)
		{
			m->broken_by = ((DdirMaintained *) linitial(views))->view;
			m->broken_sqlstate = error->sqlerrcode;
			m->broken_message = MemoryContextStrdup(m->cxt, error->message);
		}
	}
	else if (single && !later)
		ddir_views_suspend(m, linitial(views), error->sqlerrcode, error->message,
						   "its hydration failed");
}

void
ddir_hydrate_compute(DdirMaintainer *m)
{
	List	   *views = list_copy(m->hydration->views);
	TimestampTz start = m->hydration->start;
	uint64	   *before = palloc(list_length(views) * sizeof(uint64));
	volatile Reached reached = REACHED_NOTHING;
	const char *volatile not_whole = NULL;
	List	   *sources = NIL;
	ErrorData  *error;
	ListCell   *lc;

	foreach(lc, m->hydration->sources)
		sources = lappend_oid(sources, ((DdirHydrated *) lfirst(lc))->relid);
	foreach(lc, views)
		before[foreach_current_index(lc)] = ((DdirMaintained *) lfirst(lc))->rows_applied;

	ddir_hydrate_report(m, DDIR_HYDRATION_COMPUTING);
	error = try_computing(m, views, &reached, &not_whole);
	if (error == NULL && not_whole)
	{
		ddir_step_ended(m, true);
		ddir_hydrate_cancel(m, not_whole);
		return;
	}
	if (reached < REACHED_WRITING)
	{
		computing_failed(m, views, error, reached == REACHED_GRAPH);
		return;
	}
	foreach(lc, sources)
		ddir_share_settle_by_key(m->share, lfirst_oid(lc));
	foreach(lc, views)
		count_hydration(m, lfirst(lc));
	if (reached == REACHED_WRITING)
		ddir_step_write_singly(m, error);
	else
		ddir_step_ended(m, true);
	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		finish_view(v, start, v->rows_applied - before[foreach_current_index(lc)]);
	}
}
