/*-------------------------------------------------------------------------
 *
 * target.c
 *	  A view's table as the target of output deltas: its life, what the
 *	  dataflow gives it, and what becomes of it at commit and abort.
 *
 * The residue grows by the sink and shrinks by writing.  Writing moves it whole
 * into "written" and logs what rows came and went; the commit applies the log
 * to the map and forgets "written", an abort puts "written" back.  So the map
 * is always that of the last commit, whatever becomes of the transaction, and
 * no copy of it is needed.
 *
 * The map knows only parts of hashes.  Beside it stands a sum over the hashes
 * of all rows, by which a heap that was rewritten is known again.
 *
 * src/apply/target.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "apply/state.h"
#include "base/port.h"
#include "meta/view.h"
#include "rows/program.h"

/* Below so many rows nothing is gained by consolidating early. */
#define CONSOLIDATE_MIN 16384

/* ----
 * Life
 * ----
 */

DdirTarget *
ddir_target_create(MemoryContext parent, Oid view)
{
	MemoryContext cxt = AllocSetContextCreate(parent, "ddir target", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirTarget *t = palloc0(sizeof(DdirTarget));
	Relation	rel = RelationIdGetRelation(view);

	if (!RelationIsValid(rel))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist any more", view)));
	t->cxt = cxt;
	t->view = view;
	t->type = ddir_rowtype_from_tupdesc(RelationGetDescr(rel));
	RelationClose(rel);
	t->verdict = DDIR_APPLY_DONE;
	t->log = AllocSetContextCreate(cxt, "ddir target log", ALLOCSET_DEFAULT_SIZES);
	t->residue_limit = t->errors_limit = CONSOLIDATE_MIN;
	ddir_deltas_init(&t->residue, ddir_arena_of(cxt), 1, false);
	ddir_deltas_init(&t->written, ddir_arena_of(cxt), 1, false);
	ddir_deltas_init(&t->errors, ddir_arena_of(cxt), 1, false);
	MemoryContextSwitchTo(old);
	return t;
}

void
ddir_target_destroy(DdirTarget *t)
{
	MemoryContextDelete(t->cxt);
}

Size
ddir_target_bytes(const DdirTarget *t)
{
	return MemoryContextMemAllocated(t->cxt, true);
}

uint64
ddir_target_rows(const DdirTarget *t)
{
	return t->map ? ddir_tidmap_rows(t->map) : 0;
}

/* ----
 * What the dataflow gives
 * ----
 */

static bool
mostly_differ(uint32 after, uint32 before)
{
	return after > before / 4 * 3;
}

/*
 * The next time is when there are twice as many rows; or four times, if hardly
 * any fell together (a view that is filled has all different rows).
 */
static void
consolidate(DdirDeltas *d, uint32 *limit)
{
	uint32		before = d->n;

	ddir_deltas_consolidate(d);
	*limit = Max((mostly_differ(d->n, before) ? 4 : 2) * d->n, CONSOLIDATE_MIN);
}

/* All times are one: what counts is the sum. */
static void
append(DdirDeltas *d, const DdirDeltas *rows)
{
	DdirDeltas	now = *rows;

	now.coords = d->coords;
	now.time = NULL;
	now.at = d->at;
	ddir_deltas_append(d, &now);
}

static bool
any_goes(const DdirDeltas *rows)
{
	uint64		sign = 0;

	for (uint32 i = 0; i < rows->n; i++)
		sign |= (uint64) rows->diff[i];
	return sign >> 63 != 0;
}

/*
 * While a view is filled only rows come, and an empty table takes them as they
 * are (reconcile.c): if hardly any were equal, the others are not looked at.
 */
static void
sink_rows(void *ctx, const DdirDeltas *rows)
{
	DdirTarget *t = ctx;
	uint32		before;

	t->goes = t->goes || any_goes(rows);
	append(&t->residue, rows);
	before = t->residue.n;
	if (before <= t->residue_limit ||
		(t->map == NULL && !t->goes && t->differ))
		return;
	consolidate(&t->residue, &t->residue_limit);
	t->differ = mostly_differ(t->residue.n, before);
}

static void
sink_errors(void *ctx, const DdirDeltas *errors)
{
	DdirTarget *t = ctx;

	append(&t->errors, errors);
	if (t->errors.n > t->errors_limit)
		consolidate(&t->errors, &t->errors_limit);
}

DdirSinkFns
ddir_target_sink(DdirTarget *t)
{
	DdirSinkFns sink = {.ctx = t,.rows = sink_rows,.errors = sink_errors};

	return sink;
}

bool
ddir_target_dirty(const DdirTarget *t)
{
	return t->residue.n > 0 || t->staged != DDIR_STAGED_NOTHING;
}

uint64
ddir_target_residue_rows(const DdirTarget *t)
{
	return t->residue.n;
}

const DdirDeltas *
ddir_target_errors(const DdirTarget *t)
{
	DdirTarget *mine = (DdirTarget *) t;

	consolidate(&mine->errors, &mine->errors_limit);
	return &t->errors;
}

bool
ddir_target_error(const DdirTarget *t, int *sqlstate, char **message)
{
	const DdirDeltas *errors = ddir_target_errors(t);
	Datum		values[2];
	bool		isnull[2];

	*sqlstate = 0;
	*message = NULL;
	if (errors->n == 0)
		return false;
	if (!ddir_image_unpack(ddir_error_rowtype(), ddir_lane_ref(&errors->val, 0), NULL,
						   values, isnull, CurrentMemoryContext) ||
		isnull[0] || isnull[1])
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("an error row of view %u is malformed", t->view)));
	*sqlstate = DatumGetInt32(values[0]);
	*message = TextDatumGetCString(values[1]);
	return true;
}

/* ----
 * The heap
 * ----
 */

/*
 * Whoever has locked an index alone, to move it to another tablespace say, has
 * left the table to us; but writing opens the index.
 */
static bool
lock_indexes(Relation rel, LOCKMODE mode)
{
	ListCell   *lc;

	foreach(lc, RelationGetIndexList(rel))
	{
		if (!ConditionalLockRelationOid(lfirst_oid(lc), mode))
			return false;
	}
	return true;
}

DdirApplyResult
ddir_target_open(const DdirTarget *t, LOCKMODE mode, bool wait, Relation *rel)
{
	DdirApplyResult result = DDIR_APPLY_GONE;

	if (wait)
		LockRelationOid(t->view, mode);
	else if (!ConditionalLockRelationOid(t->view, mode))
		return DDIR_APPLY_LOCKED;

	*rel = try_relation_open(t->view, NoLock);
	if (*rel == NULL)
		return DDIR_APPLY_GONE;
	if ((*rel)->rd_rel->relkind == RELKIND_MATVIEW &&
		(*rel)->rd_rel->relam == ddir_am_oid())
	{
		if (RelationGetNumberOfAttributes(*rel) != t->type->natts)
			elog(ERROR, "view %u has %d columns, not %d", t->view,
				 RelationGetNumberOfAttributes(*rel), t->type->natts);
		if (wait || mode < RowExclusiveLock || lock_indexes(*rel, mode))
			return DDIR_APPLY_DONE;
		result = DDIR_APPLY_LOCKED;
	}
	relation_close(*rel, NoLock);
	*rel = NULL;
	return result;
}

bool
ddir_target_knows(const DdirTarget *t, Relation rel)
{
	return t->map != NULL && RelationIsPopulated(rel) &&
		ddir_compat_locator_equal(t->locator, ddir_compat_locator(rel));
}

void
ddir_moved_add(DdirTarget *t, DdirMovedList *list, uint32 tag, const ItemPointerData *tid)
{
	if (list->n == list->cap)
	{
		uint64		cap = list->cap ? list->cap * 2 : 256;

		list->row = list->row ? repalloc_huge(list->row, cap * sizeof(DdirMoved)) :
			MemoryContextAlloc(t->log, cap * sizeof(DdirMoved));
		list->cap = cap;
	}
	list->row[list->n].tag = tag;
	list->row[list->n].tid = *tid;
	list->n++;
}

/* ----
 * Commit and abort
 * ----
 */

void
ddir_target_stage(DdirTarget *t, DdirStaged what)
{
	DdirDeltas	empty = t->written;

	ddir_check(t->staged == DDIR_STAGED_NOTHING && t->written.n == 0);
	t->written = t->residue;
	t->residue = empty;
	t->residue_limit = CONSOLIDATE_MIN;
	t->staged = what;
}

/* Nothing is staged any more. */
static void
clear_staged(DdirTarget *t)
{
	t->staged = DDIR_STAGED_NOTHING;
	t->new_map = NULL;
	memset(&t->taken, 0, sizeof(t->taken));
	memset(&t->put, 0, sizeof(t->put));
	MemoryContextReset(t->log);
	if (ddir_deltas_bytes(&t->written) > DDIR_CHUNK_BYTES)
		ddir_deltas_free(&t->written);
	else
		ddir_deltas_clear(&t->written);
}

static void
install_changes(DdirTarget *t)
{
	uint64		room = 0;

	for (uint32 i = 0; i < t->written.n; i++)
		if (t->written.diff[i] > 0)
			room += ddir_tidmap_room(t->written.diff[i]);
	for (uint64 i = 0; i < t->taken.n; i++)
		if (!ddir_tidmap_remove(t->map, t->taken.row[i].tag, &t->taken.row[i].tid))
			t->verdict = DDIR_APPLY_STALE;
	ddir_tidmap_reserve(t->map, room);
	for (uint64 i = 0; i < t->put.n; i++)
		ddir_tidmap_insert(t->map, t->put.row[i].tag, &t->put.row[i].tid);
	ddir_tidmap_trim(t->map);
	if (ddir_tidmap_rows(t->map) != t->new_bag.rows)
		t->verdict = DDIR_APPLY_STALE;
	t->bag = t->new_bag;
}

void
ddir_target_committed(DdirTarget *t)
{
	if (t->staged == DDIR_STAGED_CHANGES)
		install_changes(t);
	else if (t->staged == DDIR_STAGED_MAP)
	{
		ddir_tidmap_destroy(t->map);
		t->map = t->new_map;
		t->locator = t->new_locator;
		t->bag = t->new_bag;
		t->verdict = DDIR_APPLY_DONE;
	}
	clear_staged(t);
}

void
ddir_target_aborted(DdirTarget *t)
{
	ddir_tidmap_destroy(t->new_map);
	if (t->residue.n == 0)
	{
		DdirDeltas	empty = t->residue;

		t->residue = t->written;
		t->written = empty;
	}
	else
		ddir_deltas_append(&t->residue, &t->written);
	t->residue_limit = Max(CONSOLIDATE_MIN, 2 * t->residue.n);
	clear_staged(t);
}
