/*-------------------------------------------------------------------------
 *
 * hydrate.c
 *	  Filling the dataflows of views, beside the steps of the live ones.
 *
 * One hydration runs at a time, for a set of views.  Its phases:
 *
 *	identity	- the base tables are made to log their old rows, or given
 *				  triggers
 *	settling	- from here (position P0) the tables' streamed changes are kept
 *				  aside.  Transactions delivered before P0 must be visible to
 *				  others before the snapshot is taken: a finite set
 *	scanning	- a scanner takes a snapshot S and ships the tables' rows
 *	catching up	- until what is captured is at Q, a position behind S: what is in S
 *				  has been delivered then.  What is kept is exactly the changes
 *				  of transactions that S does not see
 *	computing	- changes that say only by key which row they are about are
 *				  resolved by the rows scanned (capture/keyed.h); then one step
 *				  of the graph in which the fresh operators are given
 *				  the rows scanned and the changes kept: every source is whole,
 *				  all as of one position
 *	reconciling	- the views' tables are compared with what was computed and the
 *				  differences written, all in the one transaction of that step
 *
 * A transaction is in S iff its top-level xid is below xmax and not among
 * those in progress.  Nothing that is not linear is computed before all
 * sources are whole, and no error is raised.
 *
 * src/worker/hydrate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/procarray.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/config.h"
#include "worker/hydrate.h"

/* Rows taken from the scanner in one turn of the loop. */
#define SCAN_ROWS_A_TURN 50000

/* When a scan was held up or ended by others, the next one is this much later. */
#define SCAN_AGAIN_MS 200

static TimestampTz not_before;

static const char *const phase_step[] = {
	[DDIR_HYDRATION_QUEUED] = "hydration: starting",
	[DDIR_HYDRATION_IDENTITY] = "hydration: preparing tables",
	[DDIR_HYDRATION_SETTLING] = "hydration: waiting for transactions to become visible",
	[DDIR_HYDRATION_SCANNING] = "hydration: scanning",
	[DDIR_HYDRATION_CATCHING_UP] = "hydration: catching up",
	[DDIR_HYDRATION_COMPUTING] = "hydration: computing",
	[DDIR_HYDRATION_RECONCILING] = "hydration: reconciling",
};

void
ddir_hydrate_report(DdirMaintainer *m, DdirHydrationPhase phase)
{
	DdirHydration *h = m->hydration;
	uint64		done = 0;
	double		total = 0;
	ListCell   *lc;

	h->phase = phase;
	if (h->scan)
		foreach(lc, ddir_scan_tables(h->scan))
	{
		DdirScanTable *t = lfirst(lc);

		done += t->rows;
		total += t->estimate;
	}
	ddir_maintainer_says(m, phase_step[phase]);

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	foreach(lc, h->views)
	{
		DdirMaintained *v = lfirst(lc);
		DdirViewSlot *slot = ddir_shared_view(m->dbid, v->view, true);

		if (slot == NULL)
			continue;
		slot->phase = phase;
		slot->rows_done = done;
		slot->rows_total = total;
		slot->hydration_start = h->start;
		if (phase == DDIR_HYDRATION_QUEUED)
		{
			strlcpy(slot->hydration_reason, v->reason, DDIR_REASON_LEN);
			slot->hydration_end = 0;
		}
	}
	LWLockRelease(ddir_shared->lock);
}

bool
ddir_hydrate_concerns(const DdirMaintainer *m, const DdirMaintained *v)
{
	return m->hydration && list_member_ptr(m->hydration->views, v);
}

void
ddir_hydrate_end(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;

	m->hydration = NULL;
	if (h->scan)
		ddir_scan_end(h->scan);
	MemoryContextDelete(h->cxt);
}

/* The views stay wanting; their hydration starts over. */
void
ddir_hydrate_cancel(DdirMaintainer *m, const char *reason)
{
	if (m->hydration == NULL)
		return;
	ereport(LOG,
			(errmsg("ddir: a hydration of %d views starts over",
					list_length(m->hydration->views)),
			 errdetail_internal("%s", reason)));
	ddir_hydrate_end(m);
}

/*
 * Starting
 */

/* The base tables a view reads, and the columns it uses of them. */
static void
add_sources(DdirHydration *h, const DdirRel *rel)
{
	DdirHydrated *s;

	for (int i = 0; i < rel->ninputs; i++)
		add_sources(h, rel->input[i]);
	if (rel->kind != DDIR_REL_SCAN || rel->is_view)
		return;
	s = ddir_hydrate_source(h, rel->relid);
	if (s == NULL)
	{
		s = palloc0(sizeof(DdirHydrated));
		s->relid = rel->relid;
		ddir_deltas_init(&s->kept, (DdirArena *) h->cxt, 1, false);
		h->sources = lappend(h->sources, s);
	}
	s->used = bms_add_members(s->used, rel->used);
}

/* All it reads is live, or in the set before it. */
static bool
ready(DdirMaintainer *m, DdirMaintained *v, List *set)
{
	ListCell   *lc;

	foreach(lc, ddir_views_upstream(m, v))
	{
		DdirMaintained *u = lfirst(lc);

		if (u->flow == NULL && !list_member_ptr(set, u))
			return false;
	}
	return true;
}

static List *
choose_views(DdirMaintainer *m)
{
	List	   *set = NIL;
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->wanting && !v->alone && ready(m, v, set))
			set = lappend(set, v);
	}
	if (set == NIL)
		foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->wanting && ready(m, v, NIL))
			return list_make1(v);
	}
	return set;
}

static bool
start_hydration(DdirMaintainer *m)
{
	MemoryContext cxt = AllocSetContextCreate(m->cxt, "ddir hydration", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	List	   *views = choose_views(m);
	DdirHydration *h;
	ListCell   *lc;

	if (views == NIL)
	{
		MemoryContextSwitchTo(old);
		MemoryContextDelete(cxt);
		return false;
	}
	h = palloc0(sizeof(DdirHydration));
	h->cxt = cxt;
	h->views = views;
	h->start = GetCurrentTimestamp();
	h->retry = not_before;
	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		h->reasons = lappend(h->reasons, pstrdup(v->reason));
		add_sources(h, v->lowered->root);
	}
	MemoryContextSwitchTo(old);
	m->hydration = h;
	ddir_hydrate_report(m, DDIR_HYDRATION_QUEUED);
	ddir_hydrate_report(m, DDIR_HYDRATION_IDENTITY);
	return true;
}

/*
 * Its phases
 */

static void
start_settling(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	ListCell   *lc;
	MemoryContext old;

	foreach(lc, h->sources)
	{
		DdirHydrated *s = lfirst(lc);
		Bitmapset  *used = bms_union(s->used, ddir_share_used(m->share, s->relid));

		ddir_capture_track(m->capture, s->relid, used);
		old = MemoryContextSwitchTo(h->cxt);
		s->key = bms_copy(ddir_capture_keyed(m->capture, s->relid));
		/* old rows are looked up with what anybody uses */
		if (s->key)
			s->used = bms_union(used, s->key);
		MemoryContextSwitchTo(m->cxt);
		m->tracked = list_append_unique_oid(m->tracked, s->relid);
		MemoryContextSwitchTo(old);
	}
	old = MemoryContextSwitchTo(h->cxt);
	h->nunseen = ddir_capture_unseen(m->capture, &h->unseen);
	MemoryContextSwitchTo(old);
	ddir_hydrate_report(m, DDIR_HYDRATION_SETTLING);
}

static bool
settled(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;

	while (h->nunseen > 0)
	{
		if (TransactionIdIsInProgress(h->unseen[h->nunseen - 1]))
			return false;
		h->nunseen--;
	}
	return true;
}

static void
start_scan(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	List	   *tables = NIL;
	ListCell   *lc;
	MemoryContext old = MemoryContextSwitchTo(h->cxt);

	StartTransactionCommand();
	MemoryContextSwitchTo(h->cxt);
	foreach(lc, h->sources)
	{
		DdirHydrated *s = lfirst(lc);
		DdirScanTable *t = palloc0(sizeof(DdirScanTable));
		HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(s->relid));

		t->relid = s->relid;
		t->used = s->used;
		t->natts = ddir_hydrate_columns(m, s->relid);
		if (HeapTupleIsValid(tup))
		{
			t->estimate = Max(0, ((Form_pg_class) GETSTRUCT(tup))->reltuples);
			ReleaseSysCache(tup);
		}
		tables = lappend(tables, t);
	}
	CommitTransactionCommand();
	MemoryContextSwitchTo(old);
	if (tables != NIL)
		h->scan = ddir_scan_start(h->cxt, tables);
	ddir_hydrate_report(m, DDIR_HYDRATION_SCANNING);
}

/*
 * A scan that failed for what others did at that moment: it held them up or
 * was ended.  Says nothing about the views.
 */
static bool
scan_again(int sqlstate)
{
	return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE ||
		sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED ||
		sqlstate == ERRCODE_T_R_SERIALIZATION_FAILURE ||
		sqlstate == ERRCODE_QUERY_CANCELED ||
		sqlstate == ERRCODE_ADMIN_SHUTDOWN ||
		sqlstate == ERRCODE_CRASH_SHUTDOWN;
}

static void
fail_views(DdirMaintainer *m, int sqlstate, const char *message, const char *reason)
{
	List	   *views = list_copy(m->hydration->views);
	ListCell   *lc;

	ddir_hydrate_end(m);
	if (scan_again(sqlstate))
	{
		not_before = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), SCAN_AGAIN_MS);
		ereport(LOG,
				(errmsg("ddir: a scan is repeated: %s", message)));
	}
	else if (list_length(views) == 1)
		ddir_views_suspend(m, linitial(views), sqlstate, message, reason);
	else
		foreach(lc, views)
			((DdirMaintained *) lfirst(lc))->alone = true;
}

/* true: all rows are here */
static bool
scan_more(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	Size		bytes = 0;
	ListCell   *lc;

	if (h->scan == NULL)
		return true;
	switch (ddir_scan_poll(h->scan, SCAN_ROWS_A_TURN, ddir_hydrate_take_rows, h))
	{
		case DDIR_SCAN_FAILED:
			{
				int			sqlstate;
				const char *message = pstrdup(ddir_scan_failure(h->scan, &sqlstate));

				fail_views(m, sqlstate, message, "a scan of its sources failed");
				return false;
			}
		case DDIR_SCAN_DONE:
			return true;
		default:
			break;
	}
	ddir_hydrate_report(m, DDIR_HYDRATION_SCANNING);
	foreach(lc, h->sources)
		bytes += ((DdirHydrated *) lfirst(lc))->bytes;
	if ((bytes + ddir_graph_bytes(m->graph)) / 1024 > ddir_memory_limit)
		fail_views(m, ERRCODE_OUT_OF_MEMORY,
				   psprintf("the rows of its sources do not fit into ddir.memory_limit (%d kB)",
							ddir_memory_limit),
				   "out of memory");
	return false;
}

/*
 * One bounded piece of work.
 */
void
ddir_hydrate_advance(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;

	if (h == NULL)
	{
		if (m->capture == NULL || !start_hydration(m))
			return;
		h = m->hydration;
	}
	if (ddir_hydrate_spoiled(h))
	{
		ddir_hydrate_cancel(m, "a table was truncated or changed its shape meanwhile");
		return;
	}
	switch (h->phase)
	{
		case DDIR_HYDRATION_IDENTITY:
			if (!ddir_hydrate_prepare(m))
				return;
			start_settling(m);
			break;
		case DDIR_HYDRATION_SETTLING:
			if (settled(m))
				start_scan(m);
			break;
		case DDIR_HYDRATION_SCANNING:
			if (scan_more(m))
				ddir_hydrate_report(m, DDIR_HYDRATION_CATCHING_UP);
			break;
		case DDIR_HYDRATION_CATCHING_UP:
			if (m->trays.ntrays == 0 &&
				(h->scan == NULL ||
				 ddir_capture_position(m->capture) >= ddir_scan_snapshot_end(h->scan)))
			{
				const char *outgrown = ddir_hydrate_outgrown(m);

				if (outgrown)
					ddir_hydrate_cancel(m, outgrown);
				else
					ddir_hydrate_compute(m);
			}
			break;
		default:
			elog(ERROR, "unexpected phase of a hydration: %d", (int) h->phase);
	}
}

long
ddir_hydrate_patience_ms(const DdirMaintainer *m)
{
	ListCell   *lc;

	if (m->hydration)
	{
		switch (m->hydration->phase)
		{
			case DDIR_HYDRATION_SCANNING:
				return 100;		/* the scanner wakes us */
			case DDIR_HYDRATION_IDENTITY:
				return 50;
			case DDIR_HYDRATION_SETTLING:
				return m->hydration->nunseen > 0 ? 10 : 0;
			case DDIR_HYDRATION_CATCHING_UP:
				return 1;
			default:
				return 0;
		}
	}
	foreach(lc, m->views)
		if (((DdirMaintained *) lfirst(lc))->wanting)
		return 50;
	return -1;
}
