/*-------------------------------------------------------------------------
 *
 * hydrateprepare.c
 *	  The base tables of a hydration: made so that their changes are captured.
 *
 * A table gets triggers, or logs its old rows, under a lock that its writers
 * may hold.  It is asked for without waiting so often.  Where writers follow
 * each other closely that never succeeds; now and then an attempt gets in line
 * for it.  All views stand still meanwhile, so that takes a hundredth of the
 * time, and takes longer the longer it fails.
 *
 * src/worker/hydrateprepare.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "meta/tree.h"
#include "meta/view.h"
#include "worker/hydrate.h"

#define LOCK_RETRY_MS 50
#define QUEUE_MS_MIN 10
#define QUEUE_MS_MAX 200
#define QUEUE_SHARE 100

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

/* The views of the set that read this table cannot be maintained. */
static void
suspend_readers(DdirMaintainer *m, Oid relid, int sqlstate, const char *why)
{
	List	   *views = list_copy(m->hydration->views);
	ListCell   *lc;

	ddir_hydrate_end(m);
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
tables_of(DdirMaintainer *m, const DdirHydrated *s)
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
is_table_of(DdirMaintainer *m, const DdirHydrated *s, Oid table)
{
	return list_member_oid(tables_of(m, s), table);
}

/* false: not yet, or the hydration has ended */
static bool
prepare_table(DdirMaintainer *m, DdirHydrated *s, Oid table, bool queue)
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

/* true: all of them are */
static bool
prepare_tables(DdirMaintainer *m)
{
	DdirHydration *h = m->hydration;
	TimestampTz now = GetCurrentTimestamp();
	bool		queue = now >= h->queue_at;
	ListCell   *lc;

	if (now < h->retry)
		return false;
	h->queue_ms = Max(h->queue_ms, QUEUE_MS_MIN);
	foreach(lc, h->sources)
	{
		DdirHydrated *s = lfirst(lc);
		ListCell   *cell;

		foreach(cell, tables_of(m, s))
			if (!list_member_oid(s->prepared, lfirst_oid(cell)) &&
				!prepare_table(m, s, lfirst_oid(cell), queue))
			return false;
	}
	report_held_up(m, InvalidOid);
	return true;
}

int
ddir_hydrate_columns(DdirMaintainer *m, Oid relid)
{
	const DdirRowType *type = ddir_capture_rowtype(m->capture, relid);

	return type ? type->natts : 0;
}

/* Those that the table has now. */
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
		DdirHydrated *s = lfirst(lc);
		int			width = ddir_share_width(m->share, s->relid);

		if (width != 0 && width != columns_of(s->relid))
		{
			ddir_views_rehydrate_readers(m, s->relid, "columns were added to a table it reads");
			return true;
		}
	}
	return false;
}

bool
ddir_hydrate_prepare(DdirMaintainer *m)
{
	return prepare_tables(m) && !reshape_sources(m);
}

const char *
ddir_hydrate_outgrown(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->hydration->sources)
	{
		DdirHydrated *s = lfirst(lc);

		if (columns_of(s->relid) != ddir_hydrate_columns(m, s->relid))
			return "columns were added to a table meanwhile";
		if (list_difference_oid(tables_of(m, s), s->prepared) != NIL)
			return "partitions were attached to a table meanwhile";
	}
	return NULL;
}
