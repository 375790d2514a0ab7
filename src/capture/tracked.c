/*-------------------------------------------------------------------------
 *
 * tracked.c
 *	  The relations that are tracked, and the trays being filled with their
 *	  rows.
 *
 * Memory: a context for each tracked relation, in that of the tracking.
 *
 * src/capture/tracked.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/hashfn.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "base/config.h"
#include "capture/tracked.h"

/* By relid; simplehash makes the functions. */
typedef struct DdirTrackedEntry
{
	Oid			relid;
	DdirTracked *tracked;
	char		status;
} DdirTrackedEntry;

#define SH_PREFIX tracked
#define SH_ELEMENT_TYPE DdirTrackedEntry
#define SH_KEY_TYPE Oid
#define SH_KEY relid
#define SH_HASH_KEY(tb, key) murmurhash32(key)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

void
ddir_tracking_init(DdirTracking *k, MemoryContext cxt)
{
	memset(k, 0, sizeof(*k));
	k->cxt = cxt;
	k->hash = tracked_create(cxt, 32, NULL);
}

/* ----
 * Tracking
 * ----
 */

DdirTracked *
ddir_tracked_find(DdirTracking *k, Oid relid)
{
	DdirTrackedEntry *e;

	if (relid == k->last_relid)
		return k->last;
	e = tracked_lookup(k->hash, relid);
	k->last_relid = relid;
	k->last = e ? e->tracked : NULL;
	return k->last;
}

void
ddir_tracking_remove(DdirTracking *k, Oid relid)
{
	DdirTrackedEntry *e = tracked_lookup(k->hash, relid);

	if (e == NULL)
		return;
	MemoryContextDelete(e->tracked->cxt);
	tracked_delete_item(k->hash, e);
	k->last_relid = InvalidOid;
	k->last = NULL;
}

/* What is used of the first natts columns, in detail. */
static void
describe_columns(DdirTracked *t, TupleDesc desc, int natts, const Bitmapset *used)
{
	bool		all = true;

	t->type = ddir_rowtype_from_tupdesc(desc);
	t->col = palloc(natts * sizeof(DdirTrackedColumn) + 1);
	if (bms_prev_member(used, -1) > natts)
		elog(ERROR, "column %d of relation %u is used, which has %d of them",
			 bms_prev_member(used, -1), t->relid, natts);
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (used && !bms_is_member(i + 1, used))
		{
			all = all && att->attisdropped;
			continue;
		}
		if (att->attisdropped)
			continue;
		t->col[t->ncols].att = i;
		t->col[t->ncols].typid = att->atttypid;
		t->col[t->ncols].varlena = att->attlen == -1;
		t->ncols++;
	}
	t->used = all ? NULL : bms_copy(used);
}

static DdirTracked *
describe_relation(DdirTracking *k, Relation rel, int natts, const Bitmapset *used)
{
	MemoryContext cxt = AllocSetContextCreate(k->cxt, "ddir tracked relation",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	TupleDesc	desc = RelationGetDescr(rel);
	DdirTracked *t = palloc0(sizeof(DdirTracked));

	if (natts == 0)
		natts = desc->natts;
	if (natts > desc->natts)
		elog(ERROR, "relation %u has %d columns, not %d",
			 RelationGetRelid(rel), desc->natts, natts);
	t->relid = RelationGetRelid(rel);
	t->cxt = cxt;
	if (natts < desc->natts)
		desc = ddir_tupdesc_first(desc, natts);
	describe_columns(t, desc, natts, used);
	MemoryContextSwitchTo(old);
	return t;
}

/*
 * No lock: the relation may be locked by anybody for any time, and what we
 * read of it is checked again against each change's own descriptor.
 */
bool
ddir_tracking_add(DdirTracking *k, Oid relid, int natts, const Bitmapset *used)
{
	MemoryContext old = CurrentMemoryContext;
	bool		own = !IsTransactionState();
	DdirTracked *t = NULL;
	Relation	rel;
	bool		found;

	if (own)
		StartTransactionCommand();
	rel = RelationIdGetRelation(relid);
	if (RelationIsValid(rel))
	{
		t = describe_relation(k, rel, natts, used);
		RelationClose(rel);
	}
	if (own)
	{
		CommitTransactionCommand();
		MemoryContextSwitchTo(old);
	}

	ddir_tracking_remove(k, relid);
	if (t == NULL)
		return false;
	tracked_insert(k->hash, relid, &found)->tracked = t;
	k->last_relid = InvalidOid;
	return true;
}

const DdirRowType *
ddir_tracking_rowtype(const DdirTracking *k, Oid relid)
{
	DdirTrackedEntry *e = tracked_lookup(k->hash, relid);

	return e ? e->tracked->type : NULL;
}

bool
ddir_tracked_same_shape(const DdirTracked *t, TupleDesc desc)
{
	for (int i = 0; i < t->ncols; i++)
	{
		const DdirTrackedColumn *c = &t->col[i];

		if (c->att >= desc->natts || TupleDescAttr(desc, c->att)->atttypid != c->typid)
			return false;
	}
	return true;
}

/* ----
 * Filling
 * ----
 */

DdirDeltas *
ddir_tracked_run(DdirTracking *k, DdirTracked *t)
{
	DdirTrays  *out = k->out;
	DdirDeltas *run;

	if (t->run < out->nruns && out->run[t->run].source == t->relid)
		run = &out->run[t->run].deltas;
	else
	{
		run = ddir_trays_run(out, t->relid);
		for (t->run = 0; &out->run[t->run].deltas != run;)
			t->run++;
	}

	/* an empty tray gives its number to the next one, whose run may be new */
	if (t->tray != out->next || t->start_n > run->n)
	{
		t->tray = out->next;
		t->start_n = run->n;
	}
	return run;
}

void
ddir_run_cut(DdirDeltas *run, uint32 n)
{
	ddir_check(n < run->n);
	run->n = n;
	run->val.len = run->val.off[n];
}

void
ddir_tracked_event(DdirTracking *k, DdirTracked *t, DdirTrayEventKind kind)
{
	if (t->event_tray[kind] == k->out->next)
		return;
	t->event_tray[kind] = k->out->next;
	ddir_trays_event(k->out, t->relid, kind);
}

/*
 * A tray that is too large gives its rows up, so that memory and the lanes'
 * limits hold for any transaction.  True: it has, and no more are wanted.
 */
bool
ddir_tracked_full(DdirTracking *k, DdirTracked *t, DdirDeltas *run)
{
	Size		limit = Min(DDIR_TRAY_BYTES_MAX, (Size) ddir_memory_limit * 1024 / 2);

	if (t->event_tray[DDIR_TRAY_TOO_LARGE] == k->out->next)
		return true;
	if (run->n == t->start_n ||
		run->val.len - run->val.off[t->start_n] <= limit)
		return false;
	ddir_run_cut(run, t->start_n);
	ddir_tracked_event(k, t, DDIR_TRAY_TOO_LARGE);
	return true;
}
