/*-------------------------------------------------------------------------
 *
 * write.c
 *	  Writing row images to a view's table and its indexes.
 *
 * Rows go through the table access method; nothing of the executor's DML is
 * needed, as a materialized view has no triggers, constraints, generated or
 * identity columns, partitions or row security.  It may have indexes: unique
 * ones, on expressions, partial ones, exclusion constraints.  What those call
 * is run as the view's owner, in a security-restricted operation and, where
 * there are expressions, with a pinned search_path, as REFRESH does.
 *
 * What the executor keeps for writing (ResultRelInfo, EState) is made anew for
 * each writer, because indexes come and go between steps.
 *
 * No range table entry stands behind the ResultRelInfo.  The executor takes
 * the columns an update changes from there, and without one says "no indexed
 * column" to the index; which is so: rows are paired into updates only where
 * all indexed columns are equal (drain.c).
 *
 * A TOASTed value that an update leaves as it is must not be written again:
 * where old and new image agree in a column whose old value is in the TOAST
 * table, the new row is given the old pointer, and the server keeps it.
 *
 * Memory: a context of the writer's.  Values of gathered rows point into their
 * images, or into "batch", which is reset when they are written.
 *
 * src/apply/write.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/hio.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "apply/write.h"
#include "base/compat.h"
#include "base/port.h"
#include "rows/program.h"

/* Gathered rows are written when there are so many, or so many bytes. */
#define BATCH_ROWS 1000
#define BATCH_BYTES (256 * 1024)

struct DdirWriter
{
	MemoryContext cxt;
	MemoryContext row;			/* reset for each row read */
	Relation	rel;
	const DdirRowType *type;
	Snapshot	snapshot;
	CommandId	cid;
	EState	   *estate;
	ResultRelInfo *rri;
	bool		indexed;
	uint64		rows;

	/* whose rights */
	DdirActing	before;
	int			guc_level;		/* 0: search_path was not touched */

	/* the row read last */
	TupleTableSlot *old;
	ItemPointerData old_tid;
	DdirRef		old_image;
	DdirDeltas	image;			/* room for it */
	BlockNumber pruned;			/* the page looked at last */

	/* rows updated */
	TupleTableSlot *new;

	/* rows gathered */
	DdirInserted inserted;
	void	   *inserted_ctx;
	BulkInsertState bulk;
	MemoryContext batch;
	int			n;
	int			nslots;			/* made */
	Size		bytes;
	TupleTableSlot *slot[BATCH_ROWS];
	uint32		which[BATCH_ROWS];
};

/* Do indexes call what may depend on search_path? */
static bool
has_expressions(const ResultRelInfo *rri)
{
	for (int i = 0; i < rri->ri_NumIndices; i++)
	{
		const IndexInfo *info = rri->ri_IndexRelationInfo[i];

		if (info->ii_Expressions != NIL || info->ii_Predicate != NIL)
			return true;
	}
	return false;
}

static void
open_indexes(DdirWriter *w)
{
	w->estate = CreateExecutorState();
	w->rri = makeNode(ResultRelInfo);
	InitResultRelInfo(w->rri, w->rel, 0, NULL, 0);
	ExecOpenIndices(w->rri, false);
	w->indexed = w->rri->ri_NumIndices > 0;
	if (w->indexed && has_expressions(w->rri))
		w->guc_level = ddir_rights_enter();
	w->before = ddir_act_as(RelationGetForm(w->rel)->relowner);
}

DdirWriter *
ddir_writer_open(Relation rel, const DdirRowType *type, bool bulk,
				 DdirInserted inserted, void *ctx)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir writer",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirWriter *w = palloc0(sizeof(DdirWriter));

	w->cxt = cxt;
	w->row = AllocSetContextCreate(cxt, "ddir writer row", ALLOCSET_DEFAULT_SIZES);
	w->batch = AllocSetContextCreate(cxt, "ddir writer batch", ALLOCSET_DEFAULT_SIZES);
	w->rel = rel;
	w->type = type;
	w->snapshot = RegisterSnapshot(GetActiveSnapshot());
	w->cid = GetCurrentCommandId(true);
	w->inserted = inserted;
	w->inserted_ctx = ctx;
	if (bulk)
		w->bulk = GetBulkInsertState();
	w->pruned = InvalidBlockNumber;
	ddir_deltas_init(&w->image, ddir_arena_of(cxt), 1, false);
	open_indexes(w);
	MemoryContextSwitchTo(old);
	return w;
}

static TupleTableSlot *
make_slot(DdirWriter *w)
{
	MemoryContext old = MemoryContextSwitchTo(w->cxt);
	TupleTableSlot *slot = table_slot_create(w->rel, NULL);

	MemoryContextSwitchTo(old);
	return slot;
}

/* Values point into the image, or into cxt. */
static void
fill_slot(DdirWriter *w, TupleTableSlot *slot, DdirRef image, MemoryContext cxt)
{
	ExecClearTuple(slot);
	if (!ddir_image_unpack(w->type, image, NULL, slot->tts_values, slot->tts_isnull, cxt))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("a row for \"%s\" is malformed", RelationGetRelationName(w->rel))));
	ExecStoreVirtualTuple(slot);
}

uint64
ddir_writer_rows(const DdirWriter *w)
{
	return w->rows;
}

/*
 * What earlier steps left on a page goes when a scan of the table or an index
 * comes by; rows fetched by their place do not make it go.  Nobody may read the
 * view for long, so we see to it ourselves: else every update would move its
 * row to another page, and to new places in all indexes.
 */
static void
prune_page(DdirWriter *w, BlockNumber block)
{
	Buffer		buffer;

	if (block == w->pruned || w->rel->rd_tableam != GetHeapamTableAmRoutine())
		return;
	w->pruned = block;
	buffer = ReadBuffer(w->rel, block);
	heap_page_prune_opt(w->rel, buffer);
	ReleaseBuffer(buffer);
}

bool
ddir_writer_fetch(DdirWriter *w, const ItemPointerData *tid, DdirRef *image)
{
	ItemPointerData at = *tid;
	MemoryContext old;

	if (w->old == NULL)
		w->old = make_slot(w);
	prune_page(w, ItemPointerGetBlockNumber(tid));
	if (!table_tuple_fetch_row_version(w->rel, &at, w->snapshot, w->old))
		return false;
	MemoryContextReset(w->row);
	old = MemoryContextSwitchTo(w->row);
	slot_getallattrs(w->old);
	image->len = ddir_image_pack(w->type, w->old->tts_values, w->old->tts_isnull, NULL,
								 &w->image);
	image->p = w->image.val.bytes + w->image.val.len;
	w->old_tid = *tid;
	w->old_image = *image;
	MemoryContextSwitchTo(old);
	return true;
}

/* Is the old value of this column in the TOAST table? */
static bool
is_toasted(const DdirWriter *w, int i)
{
	return w->type->col[i].typlen == -1 && !w->old->tts_isnull[i] &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(w->old->tts_values[i]));
}

/* Values of images: in line and not compressed. */
static bool
same_value(Datum a, Datum b)
{
	struct varlena *x = (struct varlena *) DatumGetPointer(a);
	struct varlena *y = (struct varlena *) DatumGetPointer(b);

	return VARSIZE_ANY_EXHDR(x) == VARSIZE_ANY_EXHDR(y) &&
		memcmp(VARDATA_ANY(x), VARDATA_ANY(y), VARSIZE_ANY_EXHDR(x)) == 0;
}

/*
 * The row in slot "new" replaces the one read last: keep what is TOASTed and
 * does not change.
 */
static void
keep_toasted(DdirWriter *w)
{
	int			natts = w->type->natts;
	Datum	   *values;
	bool	   *isnull;
	int			i = 0;

	while (i < natts && !is_toasted(w, i))
		i++;
	if (i == natts)
		return;
	values = palloc(natts * sizeof(Datum));
	isnull = palloc(natts * sizeof(bool));
	if (!ddir_image_unpack(w->type, w->old_image, NULL, values, isnull, w->row))
		elog(ERROR, "an image just made is malformed");
	for (; i < natts; i++)
		if (is_toasted(w, i) && !w->new->tts_isnull[i] &&
			same_value(values[i], w->new->tts_values[i]))
			w->new->tts_values[i] = w->old->tts_values[i];
}

/* Nobody else should write here. */
static DdirWritten
written(DdirWriter *w, TM_Result result)
{
	switch (result)
	{
		case TM_Ok:
			w->rows++;
			return DDIR_WRITTEN;
		case TM_SelfModified:
			return DDIR_WRITTEN_BEFORE;
		default:
			return DDIR_WRITTEN_BY_OTHERS;
	}
}

DdirWritten
ddir_writer_delete(DdirWriter *w, const ItemPointerData *tid)
{
	ItemPointerData at = *tid;
	TM_FailureData failure;

	return written(w, table_tuple_delete(w->rel, &at, w->cid, w->snapshot, InvalidSnapshot,
										 true, &failure, false));
}

DdirWritten
ddir_writer_update(DdirWriter *w, ItemPointerData *tid, DdirRef image)
{
	TM_FailureData failure;
	LockTupleMode mode;
	DdirIndexUpdate indexes;
	DdirWritten result;
	MemoryContext old;

	if (w->new == NULL)
		w->new = make_slot(w);
	MemoryContextReset(w->row);
	old = MemoryContextSwitchTo(w->row);
	fill_slot(w, w->new, image, w->row);
	if (w->old && ItemPointerEquals(&w->old_tid, tid))
		keep_toasted(w);
	result = written(w, table_tuple_update(w->rel, tid, w->new, w->cid, w->snapshot,
										   InvalidSnapshot, true, &failure, &mode, &indexes));
	if (result == DDIR_WRITTEN)
		*tid = w->new->tts_tid;
	if (result == DDIR_WRITTEN && w->indexed && ddir_compat_index_update_due(indexes))
	{
		MemoryContextSwitchTo(GetPerTupleMemoryContext(w->estate));
		ddir_compat_index_update(w->rri, w->new, w->estate, indexes);
		ResetPerTupleExprContext(w->estate);
	}
	ExecClearTuple(w->new);
	MemoryContextSwitchTo(old);
	return result;
}

static void
write_batch(DdirWriter *w)
{
	MemoryContext old;

	if (w->n == 0)
		return;
	old = MemoryContextSwitchTo(w->batch);
	table_multi_insert(w->rel, w->slot, w->n, w->cid, 0, w->bulk);
	for (int i = 0; i < w->n; i++)
	{
		if (w->indexed)
		{
			MemoryContextSwitchTo(GetPerTupleMemoryContext(w->estate));
			ddir_compat_index_insert(w->rri, w->slot[i], w->estate);
			ResetPerTupleExprContext(w->estate);
		}
		w->inserted(w->inserted_ctx, w->which[i], &w->slot[i]->tts_tid);
		ExecClearTuple(w->slot[i]);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(w->batch);
	w->n = 0;
	w->bytes = 0;
}

void
ddir_writer_insert(DdirWriter *w, DdirRef image, uint32 row)
{
	if (w->n == w->nslots)
		w->slot[w->nslots++] = make_slot(w);
	fill_slot(w, w->slot[w->n], image, w->batch);
	w->which[w->n++] = row;
	w->bytes += image.len;
	w->rows++;
	if (w->n == BATCH_ROWS || w->bytes >= BATCH_BYTES)
	{
		CHECK_FOR_INTERRUPTS();
		write_batch(w);
	}
}

void
ddir_writer_close(DdirWriter *w)
{
	write_batch(w);
	ddir_act_back(&w->before);
	if (w->guc_level > 0)
		ddir_rights_leave(w->guc_level);
	ExecCloseIndices(w->rri);
	if (w->old)
		ExecDropSingleTupleTableSlot(w->old);
	if (w->new)
		ExecDropSingleTupleTableSlot(w->new);
	for (int i = 0; i < w->nslots; i++)
		ExecDropSingleTupleTableSlot(w->slot[i]);
	if (w->bulk)
	{
		FreeBulkInsertState(w->bulk);
		table_finish_bulk_insert(w->rel, 0);
	}
	FreeExecutorState(w->estate);
	UnregisterSnapshot(w->snapshot);
	CommandCounterIncrement();
	MemoryContextDelete(w->cxt);
}
