/*-------------------------------------------------------------------------
 *
 * hydratesources.c
 *	  The sources of a hydration: rows scanned and changes kept, until they
 *	  are whole.
 *
 * A source is whole when it is the rows that the scan saw and the changes kept
 * of transactions that the scan did not see: those of the table as of the
 * position reached.
 *
 * src/worker/hydratesources.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "capture/keyed.h"
#include "capture/tracked.h"
#include "worker/hydrate.h"

DdirHydrated *
ddir_hydrate_source(const DdirHydration *h, Oid relid)
{
	ListCell   *lc;

	foreach(lc, h->sources)
	{
		DdirHydrated *s = lfirst(lc);

		if (s->relid == relid)
			return s;
	}
	return NULL;
}

/*
 * Coming in
 */

void
ddir_hydrate_take_rows(void *ctx, Oid relid, const DdirDeltas *rows)
{
	DdirHydration *h = ctx;
	DdirHydrated *s = ddir_hydrate_source(h, relid);
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
		DdirHydrated *s = ddir_hydrate_source(h, m->trays.run[i].source);

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

		if (t && ddir_hydrate_source(h, e->source))
			h->events = lappend_int(h->events, (int) t->xid);
	}
	MemoryContextSwitchTo(old);
}

bool
ddir_hydrate_spoiled(DdirHydration *h)
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

/*
 * Becoming whole
 */

static bool
unseen_by_scan(DdirHydration *h, uint64 number)
{
	const DdirTray *t = ddir_tray_find(h->tray, h->ntrays, number);

	if (t == NULL)
		elog(ERROR, "tray " UINT64_FORMAT " is not among those kept", number);
	return !ddir_scan_sees(h->scan, t->xid);
}

/* Of the changes kept, those that the snapshot does not see. */
static void
pick_missed(DdirHydration *h, DdirHydrated *s)
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
resolve_missed(DdirMaintainer *m, DdirHydrated *s, const DdirIdentityKey *key)
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
make_source_whole(DdirMaintainer *m, DdirHydrated *s)
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

const char *
ddir_hydrate_make_whole(DdirMaintainer *m)
{
	const char *why = NULL;
	ListCell   *lc;

	foreach(lc, m->hydration->sources)
		if (why == NULL)
		why = make_source_whole(m, lfirst(lc));
	return why;
}
