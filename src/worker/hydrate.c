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
 * If computing fails, the views of the set are tried again one by one; one that
 * fails alone is suspended with the error.  One whose table cannot be written is
 * suspended as in any other step.
 *
 * src/worker/hydrate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/config.h"
#include "base/debugpoint.h"
#include "capture/keyed.h"
#include "capture/scanner.h"
#include "capture/tracked.h"
#include "meta/tree.h"
#include "meta/view.h"
#include "rows/program.h"
#include "worker/maintainer.h"

/* Rows taken from the scanner in one turn of the loop. */
#define SCAN_ROWS_A_TURN 50000

/* When a scan was held up or ended by others, the next one is this much later. */
#define SCAN_AGAIN_MS 200

/*
 * A table's lock, for its replica identity, is asked for without waiting so
 * often.  Where writers follow each other closely that never succeeds; now and
 * then an attempt gets in line for it.  All views stand still meanwhile, so
 * that takes a hundredth of the time, and takes longer the longer it fails.
 */
#define LOCK_RETRY_MS 50
#define QUEUE_MS_MIN 10
#define QUEUE_MS_MAX 200
#define QUEUE_SHARE 100

/* How long ANALYZE may wait for a lock after a hydration. */
#define ANALYZE_LOCK_TIMEOUT "5ms"

static TimestampTz not_before;

/* A base table of the set. */
typedef struct Source
{
	Oid			relid;
	Bitmapset  *used;
	const Bitmapset *key;		/* changes are kept to be resolved by it
								 * (keyed.h); NULL: they are deltas */
	List	   *prepared;		/* of Oid: the tables with its rows whose
								 * changes will be captured */
	List	   *rows;			/* of DdirDeltas *: scanned */
	DdirDeltas	kept;			/* changes set aside, times are tray numbers */
	DdirDeltas	missed;			/* those of them that the scan did not see */
	Size		bytes;
} Source;

struct DdirHydration
{
	MemoryContext cxt;
	List	   *views;			/* of DdirMaintained *, upstream first */
	List	   *sources;		/* of Source * */
	List	   *reasons;		/* why each of them is hydrated */
	DdirHydrationPhase phase;
	TimestampTz start;
	TimestampTz retry;			/* not before: locks */
	TimestampTz queue_at;		/* the next attempt to get in line for one */
	int			queue_ms;		/* and how long it waits */
	bool		held_up;		/* the views' reasons say for which table */
	int			nunseen;
	TransactionId *unseen;		/* delivered before P0, maybe not visible yet */
	DdirScan   *scan;
	int			ntrays;			/* trays kept, with their xids */
	int			captrays;
	DdirTray   *tray;
	List	   *events;			/* of xids (as ints): truncations and the like */
};

static const char *const phase_step[] = {
	[DDIR_HYDRATION_QUEUED] = "hydration: starting",
	[DDIR_HYDRATION_IDENTITY] = "hydration: preparing tables",
	[DDIR_HYDRATION_SETTLING] = "hydration: waiting for transactions to become visible",
	[DDIR_HYDRATION_SCANNING] = "hydration: scanning",
	[DDIR_HYDRATION_CATCHING_UP] = "hydration: catching up",
	[DDIR_HYDRATION_COMPUTING] = "hydration: computing",
	[DDIR_HYDRATION_RECONCILING] = "hydration: reconciling",
};

static void
report(DdirMaintainer *m, DdirHydrationPhase phase)
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

static Source *
find_source(const DdirHydration *h, Oid relid)
{
	ListCell   *lc;

	foreach(lc, h->sources)
	{
		Source	   *s = lfirst(lc);

		if (s->relid == relid)
			return s;
	}
	return NULL;
}

bool
ddir_hydrate_concerns(const DdirMaintainer *m, const DdirMaintained *v)
{
	return m->hydration && list_member_ptr(m->hydration->views, v);
}

/* Tell the views' owners whom the hydration waits for; 0: nobody any more. */
static void
report_held_up(DdirMaintainer *m, Oid table)
{
	DdirHydration *h = m->hydration;
	char	   *name;
	ListCell   *lc;
	ListCell   *reason;

	if (h->held_up == OidIsValid(table))
		return;
	h->held_up = OidIsValid(table);
	StartTransactionCommand();
	MemoryContextSwitchTo(m->scratch);
	name = h->held_up ? ddir_relation_name(table) : NULL;
	CommitTransactionCommand();
	MemoryContextSwitchTo(m->scratch);
	forboth(lc, h->views, reason, h->reasons)
	{
		ddir_views_state(m, lfirst(lc), DDIR_VIEW_HYDRATING, !h->held_up ? lfirst(reason) :
						 psprintf("it waits for transactions that use table %s, which is to %s", name,
								  m->mode == DDIR_CAPTURE_TRIGGER ? "get triggers" : "log its old rows"));
	}
}

static void
end_hydration(DdirMaintainer *m)
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
	end_hydration(m);
}

/*
 * Starting
 */

/* The base tables a view reads, and the columns it uses of them. */
static void
add_sources(DdirHydration *h, const DdirRel *rel)
{
	Source	   *s;

	for (int i = 0; i < rel->ninputs; i++)
		add_sources(h, rel->input[i]);
	if (rel->kind != DDIR_REL_SCAN || rel->is_view)
		return;
	s = find_source(h, rel->relid);
	if (s == NULL)
	{
		s = palloc0(sizeof(Source));
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

	foreach(lc, v->lowered->sources)
	{
		DdirMaintained *u = ddir_views_find(m, lfirst_oid(lc));

		if (u && u->flow == NULL && !list_member_ptr(set, u))
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
	h->queue_ms = QUEUE_MS_MIN;
	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		h->reasons = lappend(h->reasons, pstrdup(v->reason));
		add_sources(h, v->lowered->root);
	}
	MemoryContextSwitchTo(old);
	m->hydration = h;
	report(m, DDIR_HYDRATION_QUEUED);
	report(m, DDIR_HYDRATION_IDENTITY);
	return true;
}

/* The views of the set that read this table cannot be maintained. */
static void
suspend_readers(DdirMaintainer *m, Oid relid, int sqlstate, const char *why)
{
	List	   *views = list_copy(m->hydration->views);
	ListCell   *lc;

	end_hydration(m);
	foreach(lc, views)
	{
		DdirMaintained *v = lfirst(lc);

		if (!v->wanting || !list_member_oid(v->lowered->sources, relid))
			continue;
		v->uncaptured = true;
		ddir_views_suspend(m, v, sqlstate, why, "its source cannot be captured");
	}
}

/* The tables that hold a source's rows, as of now. */
static List *
tables_of(DdirMaintainer *m, const Source *s)
{
	List	   *tables;

	StartTransactionCommand();
	MemoryContextSwitchTo(m->scratch);
	tables = ddir_tree_tables(s->relid);
	CommitTransactionCommand();
	MemoryContextSwitchTo(m->scratch);
	return tables;
}

/* A partition dropped meanwhile is none of the source's. */
static bool
is_table_of(DdirMaintainer *m, const Source *s, Oid table)
{
	return list_member_oid(tables_of(m, s), table);
}

/* false: not yet, or the hydration has ended */
static bool
prepare_table(DdirMaintainer *m, Source *s, Oid table, bool queue)
{
	DdirHydration *h = m->hydration;
	TimestampTz now;
	char	   *why = NULL;
	MemoryContext old;

	switch (ddir_capture_prepare(m->capture, table, ddir_share_source(m->share, table) != NULL,
								 queue ? h->queue_ms : 0, &why))
	{
		case DDIR_ATTEMPT_DONE:
			old = MemoryContextSwitchTo(h->cxt);
			s->prepared = lappend_oid(s->prepared, table);
			MemoryContextSwitchTo(m->cxt);
			m->tracked = list_append_unique_oid(m->tracked, table);
			MemoryContextSwitchTo(old);
			return true;
		case DDIR_ATTEMPT_LOCKED:
			now = GetCurrentTimestamp();
			h->retry = TimestampTzPlusMilliseconds(now, LOCK_RETRY_MS);
			if (queue)
			{
				h->queue_at = TimestampTzPlusMilliseconds(now, h->queue_ms * QUEUE_SHARE);
				h->queue_ms = Min(2 * h->queue_ms, QUEUE_MS_MAX);
			}
			report_held_up(m, table);
			return false;
		case DDIR_ATTEMPT_REFUSED:
			if (table == s->relid || is_table_of(m, s, table))
				suspend_readers(m, s->relid, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, why);
			return false;
	}
	return false;
}

/* true: the changes of all tables will be captured */
static bool
prepare_tables(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	TimestampTz now = GetCurrentTimestamp();
	bool		queue = now >= h->queue_at;
	ListCell   *lc;

	if (now < h->retry)
		return false;
	foreach(lc, h->sources)
	{
		Source	   *s = lfirst(lc);
		ListCell   *cell;

		foreach(cell, tables_of(m, s))
			if (!list_member_oid(s->prepared, lfirst_oid(cell)) &&
				!prepare_table(m, s, lfirst_oid(cell), queue))
			return false;
	}
	report_held_up(m, InvalidOid);
	return true;
}

/* Since they were prepared, nothing was added to the tables of a source. */
static bool
all_prepared(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->hydration->sources)
	{
		Source	   *s = lfirst(lc);

		if (list_difference_oid(tables_of(m, s), s->prepared) != NIL)
			return false;
	}
	return true;
}

/* Columns of the images that are delivered; 0: the table is gone. */
static int
captured_columns(DdirMaintainer *m, Oid relid)
{
	const DdirRowType *type = ddir_capture_rowtype(m->capture, relid);

	return type ? type->natts : 0;
}

static int
columns_of(Oid relid)
{
	HeapTuple	tup;
	int			natts = 0;

	StartTransactionCommand();
	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (HeapTupleIsValid(tup))
	{
		natts = ((Form_pg_class) GETSTRUCT(tup))->relnatts;
		ReleaseSysCache(tup);
	}
	CommitTransactionCommand();
	return natts;
}

/*
 * A table has other columns than when its source node was made: those who read
 * the node have to be built anew with it, as images follow the table's shape.
 */
static bool
reshape_sources(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	ListCell   *lc;

	foreach(lc, h->sources)
	{
		Source	   *s = lfirst(lc);
		int			width = ddir_share_width(m->share, s->relid);

		if (width != 0 && width != columns_of(s->relid))
		{
			ddir_views_rehydrate_readers(m, s->relid, "columns were added to a table it reads");
			return true;
		}
	}
	return false;
}

static void
start_settling(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	ListCell   *lc;
	MemoryContext old;

	foreach(lc, h->sources)
	{
		Source	   *s = lfirst(lc);
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
	report(m, DDIR_HYDRATION_SETTLING);
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
		Source	   *s = lfirst(lc);
		DdirScanTable *t = palloc0(sizeof(DdirScanTable));
		HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(s->relid));

		t->relid = s->relid;
		t->used = s->used;
		t->natts = captured_columns(m, s->relid);
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
	report(m, DDIR_HYDRATION_SCANNING);
}

static void
take_rows(void *ctx, Oid relid, const DdirDeltas *rows)
{
	DdirHydration *h = ctx;
	Source	   *s = find_source(h, relid);
	MemoryContext old = MemoryContextSwitchTo(h->cxt);
	DdirDeltas *last = s->rows ? llast(s->rows) : NULL;

	if (last == NULL || last->val.len > 8 * DDIR_CHUNK_BYTES)
	{
		last = palloc(sizeof(DdirDeltas));
		ddir_deltas_init(last, (DdirArena *) h->cxt, 1, false);
		s->rows = lappend(s->rows, last);
	}
	ddir_deltas_append(last, rows);
	s->bytes += rows->val.len + rows->n * 12;
	MemoryContextSwitchTo(old);
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

	end_hydration(m);
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
	switch (ddir_scan_poll(h->scan, SCAN_ROWS_A_TURN, take_rows, h))
	{
		case DDIR_SCAN_FAILED:
			{
				int			sqlstate;
				const char *message = pstrdup(ddir_scan_failure(h->scan, &sqlstate));

				fail_views(m, sqlstate, message, "a scan of its sources failed");
				return false;
			}
		case DDIR_SCAN_DONE:
			report(m, DDIR_HYDRATION_CATCHING_UP);
			return true;
		default:
			break;
	}
	report(m, DDIR_HYDRATION_SCANNING);
	foreach(lc, h->sources)
		bytes += ((Source *) lfirst(lc))->bytes;
	if ((bytes + ddir_graph_bytes(m->graph)) / 1024 > ddir_memory_limit)
		fail_views(m, ERRCODE_OUT_OF_MEMORY,
				   psprintf("the rows of its sources do not fit into ddir.memory_limit (%d kB)",
							ddir_memory_limit),
				   "out of memory");
	return false;
}

/*
 * Changes
 */

/* Set this turn's trays aside, as far as they touch the set's tables. */
void
ddir_hydrate_keep(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	MemoryContext old;

	if (h == NULL || h->phase < DDIR_HYDRATION_SETTLING)
		return;
	old = MemoryContextSwitchTo(h->cxt);
	for (uint32 i = 0; i < m->trays.nruns; i++)
	{
		Source	   *s = find_source(h, m->trays.run[i].source);

		if (s && m->trays.run[i].deltas.n > 0)
			ddir_deltas_append(&s->kept, &m->trays.run[i].deltas);
	}
	for (uint32 i = 0; i < m->trays.ntrays; i++)
	{
		if (h->ntrays == h->captrays)
		{
			h->captrays = h->captrays ? 2 * h->captrays : 256;
			h->tray = h->tray ? repalloc_huge(h->tray, sizeof(DdirTray) * h->captrays) :
				palloc(sizeof(DdirTray) * h->captrays);
		}
		h->tray[h->ntrays++] = m->trays.tray[i];
	}

	for (uint32 i = 0; i < m->trays.nevents; i++)
	{
		DdirTrayEvent *e = &m->trays.event[i];
		const DdirTray *t = ddir_trays_find(&m->trays, e->tray);

		if (t && find_source(h, e->source))
			h->events = lappend_int(h->events, (int) t->xid);
	}
	MemoryContextSwitchTo(old);
}

/*
 * A table was truncated, say: what was scanned does not hold, unless the
 * snapshot saw it.
 */
static bool
spoiled(DdirHydration *h)
{
	ListCell   *lc;

	if (h->events == NIL || h->scan == NULL ||
		ddir_scan_snapshot_end(h->scan) == InvalidXLogRecPtr)
		return false;
	foreach(lc, h->events)
		if (!ddir_scan_sees(h->scan, (TransactionId) lfirst_int(lc)))
		return true;
	list_free(h->events);
	h->events = NIL;
	return false;
}

static const DdirTray *
kept_tray(DdirHydration *h, uint64 number)
{
	int			lo = 0;
	int			hi = h->ntrays;

	while (lo < hi)
	{
		int			mid = (lo + hi) / 2;

		if (h->tray[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < h->ntrays && h->tray[lo].number == number ? &h->tray[lo] : NULL;
}

static bool
unseen_by_scan(DdirHydration *h, uint64 number)
{
	const DdirTray *t = kept_tray(h, number);

	if (t == NULL)
		elog(ERROR, "tray " UINT64_FORMAT " is not among those kept", number);
	return !ddir_scan_sees(h->scan, t->xid);
}

/* Of the changes kept, those that the snapshot does not see. */
static void
pick_missed(DdirHydration *h, Source *s)
{
	uint64		last = 0;
	bool		take = false;

	ddir_deltas_init(&s->missed, (DdirArena *) h->cxt, 1, false);
	for (uint32 i = 0; i < s->kept.n; i++)
	{
		uint64		number = *ddir_deltas_time(&s->kept, i);
		DdirRef		row = ddir_lane_ref(&s->kept.val, i);

		if (number != last)
		{
			take = unseen_by_scan(h, number);
			last = number;
		}
		if (take)
			ddir_deltas_push(&s->missed, NULL, 0, row.p, row.len, NULL, s->kept.diff[i]);
	}
}

/* Changes kept by key become deltas, by the rows that were scanned. */
static DdirResolved
resolve_missed(DdirMaintainer *m, Source *s, const DdirIdentityKey *key)
{
	DdirHydration *h = m->hydration;
	const DdirRowType *type = ddir_capture_rowtype(m->capture, s->relid);
	MemoryContext cxt = AllocSetContextCreate(h->cxt, "ddir resolution", ALLOCSET_DEFAULT_SIZES);
	DdirResolution *r;
	DdirDeltas	resolved;
	DdirResolved result;
	ListCell   *lc;

	ddir_deltas_init(&resolved, (DdirArena *) h->cxt, 1, false);
	r = ddir_resolution_begin(cxt, type, s->key,
							  ddir_share_key_func(cxt, type, key->atts, key->plain),
							  &s->missed, ddir_tray_bytes_max());
	foreach(lc, s->rows)
		ddir_resolution_load_rows(r, lfirst(lc));
	result = ddir_resolution_finish(r, &resolved);
	MemoryContextDelete(cxt);
	ddir_deltas_free(&s->missed);
	s->missed = resolved;
	return result;
}

/* NULL, or why the source is not whole. */
static const char *
make_source_whole(DdirMaintainer *m, Source *s)
{
	const DdirIdentityKey *key = ddir_capture_key(m->capture, s->relid);
	DdirResolved result = DDIR_RESOLVED;

	pick_missed(m->hydration, s);
	if (s->key == NULL)
	{
		ddir_share_by_key(m->share, s->relid, NULL, NIL, false, NULL);
		return NULL;
	}
	if (key == NULL)
		return "the replica identity of a table was changed meanwhile";
	if (s->missed.n > 0)
		result = resolve_missed(m, s, key);
	if (result == DDIR_RESOLVED_NOT)
	{
		ddir_capture_give_up_key(m->capture, s->relid);
		return "an old row was not found by its key";
	}
	if (result == DDIR_RESOLVED_TOO_LARGE)
		return "the changes made meanwhile were too large to be taken as such";
	ddir_share_by_key(m->share, s->relid, ddir_capture_rowtype(m->capture, s->relid),
					  key->atts, key->plain, s->used);
	return NULL;
}

/* In a transaction. */
static const char *
make_whole(DdirMaintainer *m)
{
	const char *why = NULL;
	ListCell   *lc;

	foreach(lc, m->hydration->sources)
		if (why == NULL)
		why = make_source_whole(m, lfirst(lc));
	return why;
}

/*
 * Computing
 */

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
load_from_source(Source *s, PushTo *to)
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

		foreach(cell, v->lowered->sources)
		{
			DdirMaintained *u = ddir_views_find(m, lfirst_oid(cell));

			if (u == NULL || list_member_ptr(m->hydration->views, u))
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
			Source	   *s = find_source(h, load->relid);

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
	not_whole = make_whole(m);
	if (not_whole == NULL)
	{
		build_flows(m);
		*reached = REACHED_GRAPH;
		run_step(m);
		report(m, DDIR_HYDRATION_RECONCILING);
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
			end_hydration(m);
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
	end_hydration(m);
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

/* In a step of its own: the set's views become live. */
static void
compute(DdirMaintainer *m)
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
	{
		Oid			relid = ((Source *) lfirst(lc))->relid;

		sources = lappend_oid(sources, relid);
		if (columns_of(relid) != captured_columns(m, relid))
		{
			ddir_hydrate_cancel(m, "columns were added to a table meanwhile");
			return;
		}
	}
	if (!all_prepared(m))
	{
		ddir_hydrate_cancel(m, "partitions were attached to a table meanwhile");
		return;
	}
	foreach(lc, views)
		before[foreach_current_index(lc)] = ((DdirMaintained *) lfirst(lc))->rows_applied;

	report(m, DDIR_HYDRATION_COMPUTING);
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
	if (spoiled(h))
	{
		ddir_hydrate_cancel(m, "a table was truncated or changed its shape meanwhile");
		return;
	}
	switch (h->phase)
	{
		case DDIR_HYDRATION_IDENTITY:
			if (!prepare_tables(m) || reshape_sources(m))
				return;
			start_settling(m);
			break;
		case DDIR_HYDRATION_SETTLING:
			if (settled(m))
				start_scan(m);
			break;
		case DDIR_HYDRATION_SCANNING:
			if (scan_more(m) && m->hydration)
				report(m, DDIR_HYDRATION_CATCHING_UP);
			break;
		case DDIR_HYDRATION_CATCHING_UP:
			if (m->trays.ntrays == 0 &&
				(h->scan == NULL ||
				 ddir_capture_position(m->capture) >= ddir_scan_snapshot_end(h->scan)))
				compute(m);
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
