/*-------------------------------------------------------------------------
 *
 * reconcile.c
 *	  Reading a view's heap: making it what it should be, learning it anew,
 *	  and handing its rows to others.
 *
 *	ddir_target_reconcile	- residue = all that should be there
 *	ddir_target_remap		- the heap was rewritten; same rows, other places
 *	ddir_target_contents	- all rows, for a consumer that starts
 *
 * Reconciliation compares two bags, the heap's rows and the residue's, by
 * hash and image.  The residue is sorted by hash, so a row is found by a
 * directory over the hash's upper bits and a few steps.  What is in both stays
 * where it is; so a restart, after which both are nearly the same, writes next
 * to nothing.  Where the heap is empty all of it is one bulk insert, of rows
 * as they came: only if some of them were to go they are summed up before.
 *
 * All read under a snapshot taken after the lock: what another session did to
 * the view before (REFRESH) may be newer than the caller's.
 *
 * Memory: a context for the call; the new map in the target's.
 *
 * src/apply/reconcile.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "commands/matview.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "apply/state.h"
#include "apply/write.h"
#include "base/port.h"

/* From so many inserts on the table is extended in bulk. */
#define BULK_ROWS 10000

/* ----
 * Reading rows
 * ----
 */

/* image: valid during the call; tid: where the row is */
typedef void (*SeeRow) (void *ctx, DdirRef image, const ItemPointerData *tid);

static void
scan_heap(const DdirTarget *t, Relation rel, SeeRow see, void *ctx)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir heap scan",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext row = AllocSetContextCreate(cxt, "ddir heap scan row",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan;
	DdirDeltas	images;

	PushActiveSnapshot(GetLatestSnapshot());
	ddir_deltas_init(&images, ddir_arena_of(cxt), 1, false);
	/* from the first page on: deletes go by the order seen */
	scan = table_beginscan_strat(rel, GetActiveSnapshot(), 0, NULL, true, false);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		DdirRef		image;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(row);
		MemoryContextSwitchTo(row);
		slot_getallattrs(slot);
		image.len = ddir_image_pack(t->type, slot->tts_values, slot->tts_isnull, NULL,
									&images);
		image.p = images.val.bytes + images.val.len;
		MemoryContextSwitchTo(old);
		see(ctx, image, &slot->tts_tid);
	}
	table_endscan(scan);
	PopActiveSnapshot();
	ExecDropSingleTupleTableSlot(slot);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

/* ----
 * Reconciliation
 * ----
 */

typedef struct Reconcile
{
	DdirTarget *t;
	MemoryContext cxt;
	bool		filled;			/* the heap has rows */
	const DdirDeltas *rows;		/* t->written: what should be there, in the
								 * order of hashes if it is */
	int64	   *missing;		/* of each, how many have not been seen */
	int			shift;			/* directory over hash >> shift */
	uint32	   *directory;
	uint64		nextra;
	uint64		cap_extra;
	ItemPointerData *extra;		/* rows that should not be there */
} Reconcile;

static bool
any_negative(const DdirDeltas *rows)
{
	for (uint32 i = 0; i < rows->n; i++)
		if (rows->diff[i] < 0)
			return true;
	return false;
}

/* directory[b] is the first row whose hash has upper bits b or more. */
static void
make_directory(Reconcile *r)
{
	int			bits = 1;
	uint32		row = 0;

	while (bits < 26 && (UINT64CONST(1) << bits) < r->rows->n / 2)
		bits++;
	r->shift = 64 - bits;
	r->directory = MemoryContextAllocHuge(r->cxt, ((UINT64CONST(1) << bits) + 1) * sizeof(uint32));
	for (uint64 b = 0; b <= UINT64CONST(1) << bits; b++)
	{
		while (row < r->rows->n && r->rows->hash[row] >> r->shift < b)
			row++;
		r->directory[b] = row;
	}
}

static uint32
find_row(const Reconcile *r, uint64 hash, DdirRef image)
{
	uint64		b = hash >> r->shift;

	for (uint32 i = r->directory[b]; i < r->directory[b + 1]; i++)
	{
		DdirRef		is;

		if (r->rows->hash[i] != hash)
			continue;
		is = ddir_lane_ref(&r->rows->val, i);
		if (is.len == image.len && memcmp(is.p, image.p, is.len) == 0)
			return i;
	}
	return r->rows->n;
}

static void
see_old_row(void *ctx, DdirRef image, const ItemPointerData *tid)
{
	Reconcile  *r = ctx;
	uint64		hash = ddir_key_hash(image.p, image.len);
	uint32		row = find_row(r, hash, image);

	if (row < r->rows->n && r->missing[row] > 0)
	{
		r->missing[row]--;
		ddir_tidmap_insert(r->t->new_map, ddir_tidmap_tag(hash), tid);
		return;
	}
	if (r->nextra == r->cap_extra)
	{
		r->cap_extra = r->cap_extra ? 2 * r->cap_extra : 1024;
		r->extra = r->extra ?
			repalloc_huge(r->extra, r->cap_extra * sizeof(ItemPointerData)) :
			MemoryContextAlloc(r->cxt, r->cap_extra * sizeof(ItemPointerData));
	}
	r->extra[r->nextra++] = *tid;
}

static void
note_inserted(void *ctx, uint32 row, const ItemPointerData *tid)
{
	Reconcile  *r = ctx;

	ddir_tidmap_insert(r->t->new_map, ddir_tidmap_tag(r->rows->hash[row]), tid);
}

static uint64
write_differences(Reconcile *r, Relation rel)
{
	uint64		inserts = 0;
	uint64		rows;
	DdirWriter *w;

	for (uint32 i = 0; i < r->rows->n; i++)
		inserts += r->missing[i];
	if (inserts + r->nextra == 0)
		return 0;

	/* the writer deletes rows that the newest snapshot sees */
	PushActiveSnapshot(GetLatestSnapshot());
	w = ddir_writer_open(rel, r->t->type, inserts >= BULK_ROWS, note_inserted, r);
	for (uint64 i = 0; i < r->nextra; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ddir_writer_delete(w, &r->extra[i]) != DDIR_WRITTEN)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("view \"%s\" is written by others",
							RelationGetRelationName(rel))));
	}
	for (uint32 i = 0; i < r->rows->n; i++)
		for (int64 k = 0; k < r->missing[i]; k++)
			ddir_writer_insert(w, ddir_lane_ref(&r->rows->val, i), i);
	rows = ddir_writer_rows(w);
	ddir_writer_close(w);
	PopActiveSnapshot();
	return rows;
}

static uint64
reconcile(DdirTarget *t, Reconcile *r, Relation rel)
{
	uint64		rows;
	uint64		room = 0;

	ddir_target_stage(t, DDIR_STAGED_MAP);
	memset(&t->new_bag, 0, sizeof(t->new_bag));
	r->rows = &t->written;
	r->missing = MemoryContextAllocHuge(r->cxt, r->rows->n * sizeof(int64) + 1);
	for (uint32 i = 0; i < r->rows->n; i++)
	{
		r->missing[i] = r->rows->diff[i];
		ddir_bag_add(&t->new_bag, r->rows->hash[i], r->rows->diff[i]);
		room += ddir_tidmap_room(r->rows->diff[i]);
	}
	t->new_map = ddir_tidmap_create(t->cxt);
	ddir_tidmap_reserve(t->new_map, room);
	t->new_locator = ddir_compat_locator(rel);
	if (r->filled)
	{
		make_directory(r);
		scan_heap(t, rel, see_old_row, r);
	}
	rows = write_differences(r, rel);
	ddir_tidmap_trim(t->new_map);
	if (ddir_tidmap_rows(t->new_map) != t->new_bag.rows)
		elog(ERROR, "view %u was not reconciled", t->view);
	if (!RelationIsPopulated(rel))
		SetMatViewPopulatedState(rel, true);
	return rows;
}

DdirApplyResult
ddir_target_reconcile(DdirTarget *t, bool wait, uint64 *rows)
{
	DdirApplyResult result;
	Relation	rel;
	MemoryContext old;
	Reconcile	r = {.t = t};

	*rows = 0;
	if (t->staged != DDIR_STAGED_NOTHING)
		elog(ERROR, "view %u is written twice in one transaction", t->view);
	if (ddir_target_errors(t)->n > 0)
		return DDIR_APPLY_HELD;
	if (t->goes)
	{
		ddir_deltas_consolidate(&t->residue);
		if (any_negative(&t->residue))
			return DDIR_APPLY_NEGATIVE;
	}
	result = ddir_target_open(t, RowExclusiveLock, wait, &rel);
	if (result != DDIR_APPLY_DONE)
		return result;
	r.filled = RelationGetNumberOfBlocks(rel) > 0;
	if (r.filled && !t->goes)
		ddir_deltas_consolidate(&t->residue);
	else if (!t->goes)
		ddir_deltas_hash_vals(&t->residue);

	r.cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir reconcile",
								  ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(r.cxt);
	*rows = reconcile(t, &r, rel);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(r.cxt);
	relation_close(rel, NoLock);
	return DDIR_APPLY_DONE;
}

/* ----
 * Remapping
 * ----
 */

static void
see_moved_row(void *ctx, DdirRef image, const ItemPointerData *tid)
{
	DdirTarget *t = ctx;
	uint64		hash = ddir_key_hash(image.p, image.len);

	ddir_tidmap_insert(t->new_map, ddir_tidmap_tag(hash), tid);
	ddir_bag_add(&t->new_bag, hash, 1);
}

DdirApplyResult
ddir_target_remap(DdirTarget *t, bool wait)
{
	DdirApplyResult result;
	Relation	rel;

	if (t->staged != DDIR_STAGED_NOTHING)
		elog(ERROR, "view %u is read again while it is written", t->view);
	if (t->map == NULL)
		return DDIR_APPLY_STALE;
	if (t->verdict != DDIR_APPLY_DONE)
		return t->verdict;
	result = ddir_target_open(t, RowExclusiveLock, wait, &rel);
	if (result != DDIR_APPLY_DONE)
		return result;

	/* what an error left of an earlier try */
	ddir_tidmap_destroy(t->new_map);
	t->new_map = NULL;
	if (!RelationIsPopulated(rel))
		result = DDIR_APPLY_STALE;
	else
	{
		t->new_map = ddir_tidmap_create(t->cxt);
		memset(&t->new_bag, 0, sizeof(t->new_bag));
		scan_heap(t, rel, see_moved_row, t);
		if (memcmp(&t->new_bag, &t->bag, sizeof(DdirBagSum)) != 0)
			result = DDIR_APPLY_STALE;
	}
	if (result == DDIR_APPLY_DONE)
	{
		ddir_tidmap_destroy(t->map);
		t->map = t->new_map;
		t->locator = ddir_compat_locator(rel);
	}
	else
		ddir_tidmap_destroy(t->new_map);
	t->new_map = NULL;
	relation_close(rel, NoLock);
	return result;
}

/* ----
 * Contents
 * ----
 */

typedef struct Contents
{
	void		(*f) (void *ctx, const DdirDeltas *rows);
	void	   *ctx;
	DdirDeltas	run;
} Contents;

static void
see_row(void *ctx, DdirRef image, const ItemPointerData *tid)
{
	Contents   *c = ctx;

	ddir_deltas_push(&c->run, NULL, 0, image.p, image.len, NULL, 1);
	if (ddir_deltas_full(&c->run))
	{
		c->f(c->ctx, &c->run);
		ddir_deltas_clear(&c->run);
	}
}

DdirApplyResult
ddir_target_readable(DdirTarget *t, bool wait)
{
	Relation	rel;
	DdirApplyResult result = ddir_target_open(t, AccessShareLock, wait, &rel);

	if (result != DDIR_APPLY_DONE)
		return result;
	if (t->verdict != DDIR_APPLY_DONE ||
		(t->staged == DDIR_STAGED_MAP ?
		 !ddir_compat_locator_equal(t->new_locator, ddir_compat_locator(rel)) :
		 !ddir_target_knows(t, rel)))
		result = DDIR_APPLY_STALE;
	relation_close(rel, NoLock);
	return result;
}

/*
 * What is staged is in the heap for this transaction.
 */
void
ddir_target_contents(DdirTarget *t, void (*f) (void *ctx, const DdirDeltas *rows), void *ctx)
{
	MemoryContext cxt;
	Relation	rel;
	Contents	c = {.f = f,.ctx = ctx};

	if (ddir_target_readable(t, false) != DDIR_APPLY_DONE)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the contents of view \"%s\" cannot be read now",
						get_rel_name(t->view))));
	rel = relation_open(t->view, NoLock);
	cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir contents", ALLOCSET_DEFAULT_SIZES);
	ddir_deltas_init(&c.run, ddir_arena_of(cxt), 1, false);
	scan_heap(t, rel, see_row, &c);
	if (c.run.n > 0)
		f(ctx, &c.run);
	if (t->residue.n > 0)
		f(ctx, &t->residue);
	MemoryContextDelete(cxt);
	relation_close(rel, NoLock);
}
