/*-------------------------------------------------------------------------
 *
 * drain.c
 *	  Writing the residue: which rows go, which come, and which of them are
 *	  one row that changes.
 *
 * A row with a negative count is looked up in the map for so many places.  Then
 * rows that go and rows that come are paired into updates:
 *
 *	- a table without indexes: any with any; every update can be HOT
 *	- with indexes: those whose indexed columns (of all indexes, those of
 *	  expressions and predicates, too) have the same image; the update can be
 *	  HOT, and no unique index can be violated by one of them
 *
 * What is left over is deleted or inserted.  Order: deletes, updates, inserts,
 * the first two by TID, so that pages are visited once; deletes first, so that
 * a unique index never sees two rows where one takes the other's place.
 *
 * Example, a view (region, orders) with a unique index on region:
 *
 *	residue: -(north, 4) +(north, 5) -(south, 1) +(west, 1)
 *	delete (south, 1), update (north, 4) to (north, 5), insert (west, 1)
 *
 * The row at a place is compared with the one to go before it is touched.  The
 * map's tags are short, so another row may have the same one: then the others
 * with this tag are tried, at the end.  A row whose hash does not fit its tag
 * was not written by us.
 *
 * Memory: a context for the call, parent of all arrays.
 *
 * src/apply/drain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "apply/state.h"
#include "apply/write.h"
#include "base/port.h"

#define NO_ROW PG_UINT32_MAX

/* A row that goes: where it is, and what takes its place. */
typedef struct Going
{
	uint64		key;			/* hash of the indexed columns */
	ItemPointerData tid;
	uint32		row;			/* of "written" */
	uint32		into;			/* row that comes, or NO_ROW */
} Going;

typedef struct Coming
{
	uint64		key;
	uint32		row;			/* of "written"; NO_ROW: paired */
} Coming;

typedef struct Drain
{
	DdirTarget *t;
	MemoryContext cxt;
	const DdirDeltas *rows;		/* t->written */
	uint64		ngoing;
	Going	   *going;
	uint64		ncoming;
	Coming	   *coming;
	DdirWriter *writer;
	List	   *collided;		/* of Going *: another row was there */
} Drain;

/* ----
 * What goes, what comes
 * ----
 */

static void
count_rows(Drain *d, const DdirDeltas *rows)
{
	for (uint32 i = 0; i < rows->n; i++)
		if (rows->diff[i] < 0)
			d->ngoing += -rows->diff[i];
		else
			d->ncoming += rows->diff[i];
	if (d->ngoing >= NO_ROW || d->ncoming >= NO_ROW)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rows of view %u change at once", d->t->view)));
	d->going = MemoryContextAllocHuge(d->cxt, d->ngoing * sizeof(Going) + 1);
	d->coming = MemoryContextAllocHuge(d->cxt, d->ncoming * sizeof(Coming) + 1);
}

/* The places of the rows that go; false: there are not enough. */
static bool
find_rows(Drain *d, const DdirDeltas *rows)
{
	uint64		g = 0;
	uint64		c = 0;
	ItemPointerData *tids = NULL;
	uint64		cap = 0;

	for (uint32 i = 0; i < rows->n; i++)
	{
		uint64		times = rows->diff[i] < 0 ? -rows->diff[i] : rows->diff[i];

		if (rows->diff[i] > 0)
		{
			while (times-- > 0)
				d->coming[c++].row = i;
			continue;
		}
		if (times > cap)
		{
			cap = Max(64, 2 * times);
			tids = MemoryContextAllocHuge(d->cxt, cap * sizeof(ItemPointerData));
		}
		if (ddir_tidmap_get(d->t->map, ddir_tidmap_tag(rows->hash[i]), times, tids) < times)
			return false;
		for (uint64 k = 0; k < times; k++)
		{
			d->going[g].tid = tids[k];
			d->going[g].row = i;
			d->going[g].into = NO_ROW;
			g++;
		}
	}
	return true;
}

/* ----
 * Pairs
 * ----
 */

static int
by_tid(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) &((const Going *) a)->tid,
							  (ItemPointer) &((const Going *) b)->tid);
}

static int
going_by_key(const void *a, const void *b)
{
	const Going *x = a;
	const Going *y = b;

	return x->key != y->key ? (x->key < y->key ? -1 : 1) : by_tid(a, b);
}

static int
coming_by_key(const void *a, const void *b)
{
	const Coming *x = a;
	const Coming *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/*
 * The columns of all indexes, from 1.  True: rows may be paired by them.  Not
 * if an index reads whole rows or system columns.
 */
static bool
indexed_columns(Relation rel, Bitmapset **columns)
{
	Bitmapset  *all = ddir_compat_indexed_columns(rel);
	int			i = -1;

	*columns = NULL;
	while ((i = bms_next_member(all, i)) >= 0)
	{
		AttrNumber	att = i + FirstLowInvalidHeapAttributeNumber;

		if (att <= 0)
			return false;
		*columns = bms_add_member(*columns, att);
	}
	return true;
}

/* The hash of the columns' images, for each row of the residue. */
static uint64 *
hash_columns(Drain *d, const DdirDeltas *rows, const Bitmapset *columns)
{
	const DdirRowType *type = d->t->type;
	uint64	   *hash = MemoryContextAllocHuge(d->cxt, rows->n * sizeof(uint64) + 1);
	Datum	   *values = palloc(type->natts * sizeof(Datum));
	bool	   *isnull = palloc(type->natts * sizeof(bool));
	bool	   *wanted = palloc(type->natts * sizeof(bool));
	MemoryContext row = AllocSetContextCreate(d->cxt, "ddir key", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(row);
	DdirDeltas	key;

	for (int i = 0; i < type->natts; i++)
		wanted[i] = bms_is_member(i + 1, columns);
	ddir_deltas_init(&key, ddir_arena_of(d->cxt), 1, false);
	for (uint32 i = 0; i < rows->n; i++)
	{
		uint32		len;

		MemoryContextReset(row);
		if (!ddir_image_unpack(type, ddir_lane_ref(&rows->val, i), wanted,
							   values, isnull, row))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("a row of view %u is malformed", d->t->view)));
		len = ddir_image_pack(type, values, isnull, columns, &key);
		hash[i] = ddir_key_hash(key.val.bytes + key.val.len, len);
	}
	MemoryContextSwitchTo(old);
	return hash;
}

static void
pair_by_columns(Drain *d, const DdirDeltas *rows, const Bitmapset *columns)
{
	uint64	   *hash = hash_columns(d, rows, columns);
	uint64		g = 0;
	uint64		c = 0;

	for (uint64 i = 0; i < d->ngoing; i++)
		d->going[i].key = hash[d->going[i].row];
	for (uint64 i = 0; i < d->ncoming; i++)
		d->coming[i].key = hash[d->coming[i].row];
	qsort(d->going, d->ngoing, sizeof(Going), going_by_key);
	qsort(d->coming, d->ncoming, sizeof(Coming), coming_by_key);
	while (g < d->ngoing && c < d->ncoming)
	{
		if (d->going[g].key < d->coming[c].key)
			g++;
		else if (d->going[g].key > d->coming[c].key)
			c++;
		else
		{
			d->going[g++].into = d->coming[c].row;
			d->coming[c++].row = NO_ROW;
		}
	}
}

static void
pair_any(Drain *d)
{
	for (uint64 i = 0; i < Min(d->ngoing, d->ncoming); i++)
	{
		d->going[i].into = d->coming[i].row;
		d->coming[i].row = NO_ROW;
	}
}

/* Leaves what goes in the order of TIDs. */
static void
pair_rows(Drain *d, Relation rel, const DdirDeltas *rows)
{
	Bitmapset  *columns;

	if (d->ngoing == 0)
		return;
	if (d->ncoming > 0 && indexed_columns(rel, &columns))
	{
		if (columns == NULL)
		{
			qsort(d->going, d->ngoing, sizeof(Going), by_tid);
			pair_any(d);
			return;
		}
		pair_by_columns(d, rows, columns);
	}
	qsort(d->going, d->ngoing, sizeof(Going), by_tid);
}

/* ----
 * Writing
 * ----
 */

static void
note_put(void *ctx, uint32 row, const ItemPointerData *tid)
{
	Drain	   *d = ctx;

	ddir_moved_add(d->t, &d->t->put, ddir_tidmap_tag(d->rows->hash[row]), tid);
	ddir_bag_add(&d->t->new_bag, d->rows->hash[row], 1);
}

/* The heap is not what it should be: say so, now or at the next call. */
static void
distrust(Drain *d, DdirApplyResult verdict)
{
	d->t->verdict = verdict;
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 verdict == DDIR_APPLY_STALE ?
			 errmsg("the table of view \"%s\" does not hold the rows that were written to it",
					get_rel_name(d->t->view)) :
			 errmsg("a row of view \"%s\" would be there less than zero times",
					get_rel_name(d->t->view))));
}

typedef enum Found
{
	FOUND,						/* the row that is to go */
	FOUND_OTHER,				/* one with the same tag */
	FOUND_FOREIGN				/* nothing, or nothing we wrote */
} Found;

static Found
look(Drain *d, const Going *g)
{
	DdirRef		is;
	DdirRef		wanted = ddir_lane_ref(&d->rows->val, g->row);

	if (!ddir_writer_fetch(d->writer, &g->tid, &is))
		return FOUND_FOREIGN;
	if (is.len == wanted.len && memcmp(is.p, wanted.p, is.len) == 0)
		return FOUND;
	return ddir_tidmap_tag(ddir_key_hash(is.p, is.len)) ==
		ddir_tidmap_tag(d->rows->hash[g->row]) ? FOUND_OTHER : FOUND_FOREIGN;
}

/* Write one that goes; it has been looked at.  False: it has gone before. */
static bool
move(Drain *d, const Going *g)
{
	uint64		hash = d->rows->hash[g->row];
	ItemPointerData tid = g->tid;
	DdirWritten result;

	if (g->into == NO_ROW)
		result = ddir_writer_delete(d->writer, &tid);
	else
		result = ddir_writer_update(d->writer, &tid, ddir_lane_ref(&d->rows->val, g->into));
	if (result == DDIR_WRITTEN_BY_OTHERS)
		distrust(d, DDIR_APPLY_STALE);
	if (result == DDIR_WRITTEN_BEFORE)
		return false;
	if (g->into != NO_ROW)
		note_put(d, g->into, &tid);
	ddir_moved_add(d->t, &d->t->taken, ddir_tidmap_tag(hash), &g->tid);
	ddir_bag_add(&d->t->new_bag, hash, -1);
	return true;
}

/* All deletes, or all updates. */
static void
move_all(Drain *d, bool updates)
{
	for (uint64 i = 0; i < d->ngoing; i++)
	{
		Going	   *g = &d->going[i];
		Found		found;

		if ((g->into != NO_ROW) != updates)
			continue;
		CHECK_FOR_INTERRUPTS();
		found = look(d, g);
		if (found == FOUND_OTHER)
			d->collided = lappend(d->collided, g);
		else if (found == FOUND_FOREIGN || !move(d, g))
			distrust(d, DDIR_APPLY_STALE);
	}
}

/*
 * Another row was where this one should be: try all with its tag, some of which
 * may have been moved already.  In a heap of a million rows, one in four
 * thousand has such a neighbour.
 */
static void
move_collided(Drain *d, Going *g)
{
	uint32		tag = ddir_tidmap_tag(d->rows->hash[g->row]);
	uint64		n = ddir_tidmap_count(d->t->map, tag);
	ItemPointerData *tids = MemoryContextAllocHuge(d->cxt, n * sizeof(ItemPointerData) + 1);

	n = ddir_tidmap_get(d->t->map, tag, n, tids);
	for (uint64 i = 0; i < n; i++)
	{
		Found		found;

		g->tid = tids[i];
		found = look(d, g);
		if (found == FOUND_FOREIGN)
			distrust(d, DDIR_APPLY_STALE);
		if (found == FOUND && move(d, g))
			return;
	}
	distrust(d, DDIR_APPLY_NEGATIVE);
}

static void
write_rows(Drain *d)
{
	ListCell   *lc;

	move_all(d, false);
	move_all(d, true);
	foreach(lc, d->collided)
		move_collided(d, lfirst(lc));
	for (uint64 i = 0; i < d->ncoming; i++)
	{
		uint32		row = d->coming[i].row;

		if (row != NO_ROW)
			ddir_writer_insert(d->writer, ddir_lane_ref(&d->rows->val, row), row);
	}
}

/*
 * The residue is written by a writer; it is "written" from here on, so that an
 * error finds it there when the transaction has been aborted.
 */
static uint64
drain(DdirTarget *t, Drain *d, Relation rel)
{
	uint64		rows;

	pair_rows(d, rel, &t->residue);
	ddir_target_stage(t, DDIR_STAGED_CHANGES);
	d->rows = &t->written;
	t->new_bag = t->bag;
	d->writer = ddir_writer_open(rel, t->type, false, note_put, d);
	write_rows(d);
	rows = ddir_writer_rows(d->writer);
	ddir_writer_close(d->writer);
	return rows;
}

DdirApplyResult
ddir_target_apply(DdirTarget *t, bool wait, uint64 *rows)
{
	DdirApplyResult result;
	Relation	rel;
	MemoryContext old;
	Drain		d = {.t = t};

	*rows = 0;
	if (t->staged != DDIR_STAGED_NOTHING)
		elog(ERROR, "view %u is written twice in one transaction", t->view);
	if (ddir_target_errors(t)->n > 0)
		return DDIR_APPLY_HELD;
	if (t->verdict != DDIR_APPLY_DONE)
		return t->verdict;
	result = ddir_target_open(t, RowExclusiveLock, wait, &rel);
	if (result != DDIR_APPLY_DONE)
		return result;
	if (!ddir_target_knows(t, rel))
	{
		relation_close(rel, NoLock);
		return DDIR_APPLY_STALE;
	}

	d.cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir drain", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(d.cxt);
	ddir_deltas_consolidate(&t->residue);
	count_rows(&d, &t->residue);
	if (!find_rows(&d, &t->residue))
		result = DDIR_APPLY_NEGATIVE;
	else if (d.ngoing + d.ncoming > 0)
		*rows = drain(t, &d, rel);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(d.cxt);
	relation_close(rel, NoLock);
	return result;
}
