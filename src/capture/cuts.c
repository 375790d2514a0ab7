/*-------------------------------------------------------------------------
 *
 * cuts.c
 *	  Capture by triggers: what they wrote to the delta tables, in cuts.
 *
 * A chunk is delivered by the first cut that sees it: its transaction has ended
 * for this cut's snapshot and had not for the one before, and the chunk is
 * visible (it may be of a subtransaction that was rolled back).  That alone
 * decides; all the rest is about which blocks to look at.
 *
 * Those are, first, the ones written to since the last cut.  A writer lowers
 * the table's "low" to the first block it wrote to, after writing and before
 * its commit.  We take the snapshot first and "low" then: what the snapshot
 * sees was told before.  From there on all blocks are read, as writers fill
 * tables from front to back.  Second, blocks where chunks were found whose
 * transactions ran on: they are kept by transaction and read again when it has
 * ended.
 *
 * Tables are written to in turns.  When one has grown, and another is empty,
 * the other becomes the current one.  One that is not current is emptied when
 * nothing in it is still to be delivered and nobody who wrote to it is open any
 * more.  The lock that truncation needs proves the latter (writers keep theirs
 * until they end), and "low", looked at under the lock, that nothing was
 * written since this cut.  A writer that comes later, having read which table
 * is current before that changed, does no harm: all tables are read always.
 *
 * Whoever rewrites such a table (VACUUM FULL) moves what is in it; so one with
 * another file than before is read as a whole.
 *
 * Transactions are compared by 64 bits, so that it does not matter for how long
 * a chunk lies there.
 *
 * Where nobody reads, writers stop at ddir.max_slot_lag, and say so.  The
 * maintainer starts anew then, and hydrations wait for the transactions that may
 * have written meanwhile.
 *
 * Nothing of this outlives the process: when a maintainer starts, everything is
 * hydrated, and what is in the delta tables by then is of no interest.
 *
 * Memory: a context with what is pending and the consumed snapshot; a scratch
 * context for each cut.
 *
 * src/capture/cuts.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "storage/procarray.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/config.h"
#include "base/debugpoint.h"
#include "capture/attach.h"
#include "capture/chunk.h"
#include "capture/cuts.h"
#include "meta/tree.h"

/* A table of so many blocks gives way to another. */
#define ROTATE_BLOCKS 1024

/* A cut with more bytes than this, or than half of ddir.memory_limit. */
#define CUT_BYTES_MIN ((Size) 64 * 1024 * 1024)

/* Which transactions had ended for a snapshot. */
typedef struct Ended
{
	uint64		xmin;
	uint64		xmax;
	uint32		n;
	uint32		cap;
	uint64	   *xip;			/* sorted */
} Ended;

/* Where chunks of a transaction are that runs on. */
typedef struct Pending
{
	uint64		xid;
	uint32		n;
	uint32		cap;
	uint64	   *place;			/* table and block, see place_of */
} Pending;

/* A chunk to be delivered. */
typedef struct Ref
{
	uint64		xid;
	int			k;
	ItemPointerData tid;
} Ref;

struct DdirCuts
{
	MemoryContext cxt;
	MemoryContext scratch;		/* of one cut */
	MemoryContext row;			/* of one chunk */
	DdirTracking tracking;
	DdirDatabaseSlot *db;
	XLogRecPtr	position;
	uint64		commits;		/* as counted just before the last cut */
	Ended		consumed;
	uint32		nuncaptured;	/* ran while nothing was written to the tables */
	TransactionId *uncaptured;
	List	   *pending;		/* of Pending * */
	BlockNumber nblocks[DDIR_DELTA_TABLES]; /* when last looked at */
	Oid			file[DDIR_DELTA_TABLES];	/* likewise */

	/* the cut being made */
	Ended		now;
	Relation	rel[DDIR_DELTA_TABLES]; /* NULL: not opened */
	uint32		nrefs;
	uint32		cap_refs;
	Ref		   *ref;			/* in scratch */
};

/* How images of a shape become those that are delivered. */
typedef struct DdirShape
{
	struct DdirShape *next;		/* of the same table */
	uint32		shape;
	bool		as_is;			/* bytes are the same */
	DdirRowType *type;			/* NULL: it cannot be read */
	bool	   *wanted;
	Datum	   *values;
	bool	   *isnull;
	/* where a partition's columns have other places */
	Datum	   *to_values;
	bool	   *to_isnull;
} DdirShape;

/* ----
 * Snapshots
 * ----
 */

static int
compare_u64(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return (x > y) - (x < y);
}

/* The xid with its epoch; it is not newer than "next". */
static uint64
widen(TransactionId xid, FullTransactionId next)
{
	return U64FromFullTransactionId(next) - (uint32) (XidFromFullTransactionId(next) - xid);
}

static void
take_ended(DdirCuts *c, Ended *e, Snapshot snapshot)
{
	FullTransactionId next = ReadNextFullTransactionId();

	if (snapshot->xcnt > e->cap)
	{
		e->cap = Max(64, 2 * snapshot->xcnt);
		e->xip = e->xip ? repalloc(e->xip, e->cap * sizeof(uint64)) :
			MemoryContextAlloc(c->cxt, e->cap * sizeof(uint64));
	}
	e->xmin = widen(snapshot->xmin, next);
	e->xmax = widen(snapshot->xmax, next);
	e->n = snapshot->xcnt;
	for (uint32 i = 0; i < e->n; i++)
		e->xip[i] = widen(snapshot->xip[i], next);
	qsort(e->xip, e->n, sizeof(uint64), compare_u64);
}

/* Had the top-level transaction ended? */
static bool
has_ended(const Ended *e, uint64 xid)
{
	if (xid < e->xmin)
		return true;
	if (xid >= e->xmax)
		return false;
	return bsearch(&xid, e->xip, e->n, sizeof(uint64), compare_u64) == NULL;
}

/* ----
 * Delta tables
 * ----
 */

static bool
open_table(DdirCuts *c, int k)
{
	Oid			relid;

	if (c->rel[k])
		return true;
	relid = ddir_delta_table(k);
	if (!OidIsValid(relid))
		return false;			/* the extension is being dropped */
	c->rel[k] = try_relation_open(relid, AccessShareLock);
	if (c->rel[k])
		c->nblocks[k] = RelationGetNumberOfBlocks(c->rel[k]);
	return c->rel[k] != NULL;
}

static void
close_tables(DdirCuts *c)
{
	for (int k = 0; k < DDIR_DELTA_TABLES; k++)
		if (c->rel[k])
			relation_close(c->rel[k], NoLock);
	memset(c->rel, 0, sizeof(c->rel));
}

/*
 * Another table, if one is empty, once the current one has grown, and well
 * before writers would stop.
 */
static void
rotate(DdirCuts *c)
{
	int			current = pg_atomic_read_u32(&c->db->cuts.current) % DDIR_DELTA_TABLES;
	BlockNumber enough = ROTATE_BLOCKS;

	if (ddir_max_slot_lag >= 0)
		enough = Min(enough, ddir_max_slot_lag * (1024 * 1024 / BLCKSZ / 2));
	if (c->nblocks[current] < Max(enough, 1))
		return;
	for (int i = 1; i < DDIR_DELTA_TABLES; i++)
	{
		int			k = (current + i) % DDIR_DELTA_TABLES;

		if (c->nblocks[k] == 0)
		{
			pg_atomic_write_u32(&c->db->cuts.current, k);
			return;
		}
	}
}

/* ----
 * Open and close
 * ----
 */

/*
 * All that run and are older: those that the snapshot lists, and any that is
 * too new for it.
 */
static void
note_running(DdirCuts *c, uint64 before)
{
	const Ended *e = &c->consumed;
	uint64		newer = before > e->xmax ? before - e->xmax : 0;

	c->uncaptured = MemoryContextAllocHuge(c->cxt, (e->n + newer) * sizeof(TransactionId) + 1);
	for (uint32 i = 0; i < e->n; i++)
		if (e->xip[i] < before)
			c->uncaptured[c->nuncaptured++] = (TransactionId) e->xip[i];
	for (uint64 xid = e->xmax; xid < before; xid++)
		if (TransactionIdIsNormal((TransactionId) xid))
			c->uncaptured[c->nuncaptured++] = (TransactionId) xid;
}

/* Or else the next writer would stop again. */
static void
leave_full_table(DdirCuts *c)
{
	StartTransactionCommand();
	for (int k = 0; k < DDIR_DELTA_TABLES; k++)
		open_table(c, k);
	rotate(c);
	close_tables(c);
	CommitTransactionCommand();
}

static bool joined_empty(DdirTracking *k, List *joined);

DdirCuts *
ddir_cuts_open(DdirDatabaseSlot *db)
{
	MemoryContext old = CurrentMemoryContext;
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "ddir cuts",
											  ALLOCSET_DEFAULT_SIZES);
	DdirCuts   *c = MemoryContextAllocZero(cxt, sizeof(DdirCuts));

	c->cxt = cxt;
	c->scratch = AllocSetContextCreate(cxt, "ddir cut", ALLOCSET_DEFAULT_SIZES);
	c->row = AllocSetContextCreate(cxt, "ddir cut chunk", ALLOCSET_DEFAULT_SIZES);
	c->db = db;
	ddir_tracking_init(&c->tracking, cxt);
	c->tracking.joined_empty = joined_empty;

	if (pg_atomic_read_u32(&db->cuts.lost))
		leave_full_table(c);

	/*
	 * Whoever wrote nothing down has its number by now.  Those may outlive
	 * this process, too.
	 */
	if (pg_atomic_exchange_u32(&db->cuts.lost, 0))
		db->cuts.unwritten = U64FromFullTransactionId(ReadNextFullTransactionId());

	/* whoever does not see that it is on has ended before the snapshot */
	db->cuts.on = true;
	pg_memory_barrier();
	c->commits = pg_atomic_read_u64(&db->cuts.commits);
	c->position = GetXLogInsertRecPtr();
	StartTransactionCommand();
	take_ended(c, &c->consumed, GetTransactionSnapshot());
	CommitTransactionCommand();
	MemoryContextSwitchTo(old);
	note_running(c, db->cuts.unwritten);

	/* all is read once, for what is of transactions that run */
	for (int k = 0; k < DDIR_DELTA_TABLES; k++)
		pg_atomic_write_u32(&db->cuts.low[k], 0);
	return c;
}

void
ddir_cuts_close(DdirCuts *c)
{
	c->db->cuts.on = false;
	MemoryContextDelete(c->cxt);
}

DdirTracking *
ddir_cuts_tracking(DdirCuts *c)
{
	return &c->tracking;
}

XLogRecPtr
ddir_cuts_position(const DdirCuts *c)
{
	return c->position;
}

int
ddir_cuts_uncaptured(const DdirCuts *c, TransactionId **xids)
{
	int			n = 0;

	*xids = palloc(c->nuncaptured * sizeof(TransactionId) + 1);
	for (uint32 i = 0; i < c->nuncaptured; i++)
		if (TransactionIdIsInProgress(c->uncaptured[i]))
			(*xids)[n++] = c->uncaptured[i];
	return n;
}

bool
ddir_cuts_waiting(const DdirCuts *c)
{
	return pg_atomic_read_u64(&c->db->cuts.commits) != c->commits;
}

/* ----
 * Finding chunks
 * ----
 */

static uint64
place_of(int k, BlockNumber block)
{
	return (uint64) k << 32 | block;
}

static void
add_pending(DdirCuts *c, uint64 xid, uint64 place)
{
	Pending    *p = NULL;
	ListCell   *lc;
	MemoryContext old;

	foreach(lc, c->pending)
		if (((Pending *) lfirst(lc))->xid == xid)
		p = lfirst(lc);
	if (p && p->n > 0 && p->place[p->n - 1] == place)
		return;
	old = MemoryContextSwitchTo(c->cxt);
	if (p == NULL)
	{
		p = palloc0(sizeof(Pending));
		p->xid = xid;
		c->pending = lappend(c->pending, p);
	}
	if (p->n == p->cap)
	{
		p->cap = p->cap ? 2 * p->cap : 8;
		p->place = p->place ? repalloc_huge(p->place, p->cap * sizeof(uint64)) :
			palloc(p->cap * sizeof(uint64));
	}
	p->place[p->n++] = place;
	MemoryContextSwitchTo(old);
}

static void
add_ref(DdirCuts *c, uint64 xid, int k, BlockNumber block, OffsetNumber offset)
{
	Ref		   *r;

	if (c->nrefs == c->cap_refs)
	{
		c->cap_refs = c->cap_refs ? 2 * c->cap_refs : 64;
		c->ref = c->ref ? repalloc_huge(c->ref, c->cap_refs * sizeof(Ref)) :
			MemoryContextAlloc(c->scratch, c->cap_refs * sizeof(Ref));
	}
	r = &c->ref[c->nrefs++];
	r->xid = xid;
	r->k = k;
	ItemPointerSet(&r->tid, block, offset);
}

/* What lies behind the header; NULL: the tuple is not one of ours. */
static const DdirDeltaRow *
delta_row(const HeapTupleData *tuple)
{
	HeapTupleHeader h = tuple->t_data;

	if (HeapTupleHeaderGetNatts(h) != DDIR_DELTA_COLUMNS || HeapTupleHasNulls(tuple) ||
		tuple->t_len < h->t_hoff + sizeof(DdirDeltaRow))
		return NULL;
	return (const DdirDeltaRow *) ((const char *) h + h->t_hoff);
}

static void
look_at_block(DdirCuts *c, int k, BlockNumber block, Snapshot snapshot)
{
	Relation	rel = c->rel[k];
	Buffer		buffer = ReadBuffer(rel, block);
	Page		page;
	OffsetNumber last;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
	for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
	{
		ItemId		item = PageGetItemId(page, offset);
		HeapTupleData tuple;
		const DdirDeltaRow *row;

		if (!ItemIdIsNormal(item))
			continue;
		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		tuple.t_tableOid = RelationGetRelid(rel);
		ItemPointerSet(&tuple.t_self, block, offset);
		row = delta_row(&tuple);
		if (row == NULL || has_ended(&c->consumed, row->xid))
			continue;
		if (!has_ended(&c->now, row->xid))
			add_pending(c, row->xid, place_of(k, block));
		else if (HeapTupleSatisfiesVisibility(&tuple, snapshot, buffer))
			add_ref(c, row->xid, k, block, offset);
	}
	UnlockReleaseBuffer(buffer);
}

/* The places of transactions that have ended since, in their order. */
static uint32
take_ended_places(DdirCuts *c, uint64 **places)
{
	uint32		n = 0;
	uint32		kept = 0;
	ListCell   *lc;

	*places = NULL;
	foreach(lc, c->pending)
	{
		Pending    *p = lfirst(lc);

		if (has_ended(&c->now, p->xid))
			n += p->n;
	}
	if (n == 0)
		return 0;
	*places = MemoryContextAllocHuge(c->scratch, n * sizeof(uint64));
	n = 0;
	foreach(lc, c->pending)
	{
		Pending    *p = lfirst(lc);

		if (!has_ended(&c->now, p->xid))
			continue;
		memcpy(*places + n, p->place, p->n * sizeof(uint64));
		n += p->n;
		pfree(p->place);
		pfree(p);
		c->pending = foreach_delete_current(c->pending, lc);
	}
	qsort(*places, n, sizeof(uint64), compare_u64);
	for (uint32 i = 0; i < n; i++)
		if (i == 0 || (*places)[i] != (*places)[kept - 1])
			(*places)[kept++] = (*places)[i];
	return kept;
}

/*
 * Has the table another file than when it was last read?  Whoever had written
 * to the old one had ended, and had told so.
 */
static bool
was_rewritten(DdirCuts *c, int k)
{
	Oid			before = c->file[k];

	if (!open_table(c, k))
		return false;
	c->file[k] = c->rel[k]->rd_rel->relfilenode;
	return c->file[k] != before;
}

/* All chunks that this cut sees and the last one did not. */
static void
find_chunks(DdirCuts *c, Snapshot snapshot)
{
	BlockNumber low[DDIR_DELTA_TABLES];
	bool		wanted[DDIR_DELTA_TABLES];
	uint64	   *place;
	uint32		n;

	for (int k = 0; k < DDIR_DELTA_TABLES; k++)
	{
		low[k] = pg_atomic_exchange_u32(&c->db->cuts.low[k], InvalidBlockNumber);
		wanted[k] = low[k] != InvalidBlockNumber;
	}
	n = take_ended_places(c, &place);
	for (uint32 i = 0; i < n; i++)
		wanted[place[i] >> 32] = true;
	for (int k = 0; k < DDIR_DELTA_TABLES; k++)
		if (wanted[k] && was_rewritten(c, k))
			low[k] = 0;

	for (uint32 i = 0; i < n; i++)
	{
		int			k = place[i] >> 32;
		BlockNumber block = (BlockNumber) place[i];

		if (block < low[k] && open_table(c, k) && block < c->nblocks[k])
			look_at_block(c, k, block, snapshot);
	}
	for (int k = 0; k < DDIR_DELTA_TABLES; k++)
	{
		if (low[k] == InvalidBlockNumber || !open_table(c, k))
			continue;
		for (BlockNumber block = low[k]; block < c->nblocks[k]; block++)
		{
			CHECK_FOR_INTERRUPTS();
			look_at_block(c, k, block, snapshot);
		}
	}
}

/* ----
 * Delivering chunks
 * ----
 */

static int
compare_refs(const void *a, const void *b)
{
	Ref		   *x = (Ref *) a;
	Ref		   *y = (Ref *) b;

	if (x->xid != y->xid)
		return x->xid < y->xid ? -1 : 1;
	if (x->k != y->k)
		return x->k - y->k;
	return ItemPointerCompare(&x->tid, &y->tid);
}

/*
 * The columns of a table as of the cut's snapshot.  The relcache may be of
 * before, as writers tell of what they have altered after others can see it,
 * and of after.
 */
static TupleDesc
columns_now(Oid relid)
{
	Relation	rel = table_open(AttributeRelationId, AccessShareLock);
	List	   *columns = NIL;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tup;
	TupleDesc	desc;
	ListCell   *lc;

	ScanKeyInit(&key[0], Anum_pg_attribute_attrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	ScanKeyInit(&key[1], Anum_pg_attribute_attnum, BTGreaterStrategyNumber,
				F_INT2GT, Int16GetDatum(0));
	scan = systable_beginscan(rel, AttributeRelidNumIndexId, true, GetActiveSnapshot(), 2, key);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
		columns = lappend(columns, heap_copytuple(tup));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	desc = CreateTemplateTupleDesc(list_length(columns));
	foreach(lc, columns)
		memcpy(TupleDescAttr(desc, foreach_current_index(lc)),
			   GETSTRUCT((HeapTuple) lfirst(lc)), ATTRIBUTE_FIXED_PART_SIZE);
	return desc;
}

/* The type of the table's images, if they are of that shape and can be used. */
static DdirRowType *
type_of_shape(const DdirFeeds *from, const DdirFeed *f, uint32 shape)
{
	DdirTracked *t = f->into;
	DdirRowType *type = NULL;
	TupleDesc	desc;

	if (from->relid == t->relid && ddir_chunk_shape(t->type) == shape)
		return t->type;
	desc = columns_now(from->relid);
	if (ddir_feed_same_shape(f, desc))
		type = ddir_rowtype_from_tupdesc(desc);
	return type && ddir_chunk_shape(type) == shape ? type : NULL;
}

static DdirShape *
make_shape(const DdirFeeds *from, const DdirFeed *f, uint32 shape)
{
	DdirTracked *t = f->into;
	MemoryContext old = MemoryContextSwitchTo(from->relid == t->relid ? t->cxt : from->cxt);
	DdirShape  *s = palloc0(sizeof(DdirShape));

	s->shape = shape;
	s->type = type_of_shape(from, f, shape);
	s->as_is = s->type && f->att == NULL && t->used == NULL &&
		ddir_chunk_shape(t->type) == shape;
	if (s->type && !s->as_is)
	{
		int			room = Max(s->type->natts, t->type->natts);

		s->values = palloc(room * sizeof(Datum) + 1);
		s->isnull = palloc(room * sizeof(bool) + 1);
		s->wanted = palloc0(s->type->natts * sizeof(bool) + 1);
		for (int i = 0; i < t->ncols; i++)
			s->wanted[ddir_feed_att(f, t->col[i].att)] = true;
		for (int i = 0; i < room; i++)
			s->isnull[i] = true;
	}
	if (s->type && f->att)
	{
		s->to_values = palloc0(t->type->natts * sizeof(Datum) + 1);
		s->to_isnull = palloc(t->type->natts * sizeof(bool) + 1);
		for (int i = 0; i < t->type->natts; i++)
			s->to_isnull[i] = true;
	}
	MemoryContextSwitchTo(old);
	return s;
}

/*
 * A transaction that alters a table has images of both of its shapes, so all
 * that were seen are kept, the last one first; of a tracked table itself, for
 * as long as it is tracked, as altering it makes its feeds anew.
 */
static DdirShape *
find_shape(const DdirFeeds *from, DdirFeed *f, uint32 shape)
{
	DdirShape **first = from->relid == f->into->relid ? &f->into->shapes : &f->shapes;
	DdirShape  *s;

	for (DdirShape **p = first; *p != NULL; p = &(*p)->next)
	{
		s = *p;
		if (s->shape != shape)
			continue;
		*p = s->next;
		s->next = *first;
		return *first = s;
	}
	s = make_shape(from, f, shape);
	s->next = *first;
	return *first = s;
}

/* Pack an unpacked row as one of the tracked relation. */
static uint32
pack_row(const DdirFeed *f, const DdirShape *s, DdirDeltas *run)
{
	DdirTracked *t = f->into;

	if (f->att == NULL)
		return ddir_image_pack(t->type, s->values, s->isnull, t->used, run);
	for (int i = 0; i < t->ncols; i++)
	{
		int			column = t->col[i].att;

		s->to_values[column] = s->values[f->att[column]];
		s->to_isnull[column] = s->isnull[f->att[column]];
	}
	return ddir_image_pack(t->type, s->to_values, s->to_isnull, t->used, run);
}

static void
add_row(DdirCuts *c, const DdirFeed *f, DdirDeltas *run, DdirRef image, int64 diff)
{
	const DdirShape *s = f->shape;
	uint64_t	tray = c->tracking.out->next;
	uint32		len = image.len;

	if (s->as_is)
		memcpy(ddir_deltas_val_room(run, len), image.p, len);
	else
	{
		if (!ddir_image_unpack(s->type, image, s->wanted, s->values, s->isnull, c->row))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("a delta table holds a malformed row of relation %u", f->into->relid)));
		len = pack_row(f, s, run);
	}
	ddir_deltas_close(run, 0, len, &tray, diff, 0);
	c->tracking.rows++;
	c->tracking.bytes += len;
}

/* The last two rows of the run, removed and added, are the same. */
static bool
is_no_change(const DdirDeltas *run, uint32 start)
{
	uint32		n = run->n;
	DdirRef		was;
	DdirRef		is;

	if (n < start + 2 || run->diff[n - 2] >= 0 || run->diff[n - 1] <= 0)
		return false;
	was = ddir_lane_ref(&run->val, n - 2);
	is = ddir_lane_ref(&run->val, n - 1);
	return was.len == is.len && memcmp(was.p, is.p, is.len) == 0;
}

static void
malformed(Oid relid)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a delta table holds a malformed chunk of relation %u", relid)));
}

static bool
cut_is_full(const DdirCuts *c)
{
	return c->tracking.bytes > Max(CUT_BYTES_MIN, (Size) ddir_memory_limit * 1024 / 2);
}

static void
add_rows(DdirCuts *c, const DdirFeeds *from, DdirFeed *f, const DdirChunkHead *head,
		 const char *p, Size left)
{
	DdirTracked *t = f->into;
	const char *image = p + head->count * sizeof(uint32);
	DdirDeltas *run;
	uint32		start;

	if (left / sizeof(uint32) < head->count)
		malformed(t->relid);
	left -= head->count * sizeof(uint32);
	if (f->shape == NULL || f->shape->shape != head->shape)
		f->shape = find_shape(from, f, head->shape);
	if (f->shape->type == NULL)
	{
		ddir_tracked_event(&c->tracking, t, DDIR_TRAY_REWRITTEN);
		return;
	}
	run = ddir_tracked_run(&c->tracking, t);
	if (ddir_tracked_full(&c->tracking, t, run))
		return;
	if (cut_is_full(c))
	{
		ddir_tracked_event(&c->tracking, t, DDIR_TRAY_TOO_LARGE);
		return;
	}
	start = run->n;
	for (uint32 i = 0; i < head->count; i++)
	{
		uint32		len;
		DdirRef		ref;

		memcpy(&len, p + i * sizeof(uint32), sizeof(len));
		ref.p = (const uint8_t *) image;
		ref.len = len >> 1;
		if (ref.len > left)
			malformed(t->relid);
		add_row(c, f, run, ref, len & 1 ? -1 : 1);
		if (!f->shape->as_is && is_no_change(run, start))
			ddir_run_cut(run, run->n - 2);
		image += ref.len;
		left -= ref.len;
	}
}

static void
add_chunk(DdirCuts *c, const DdirDeltaRow *row)
{
	DdirFeeds  *feeds = ddir_tracking_feeds(&c->tracking, row->source);
	struct varlena *v;
	DdirChunkHead head;
	Size		size;

	if (feeds == NULL)
		return;
	v = (struct varlena *) (row + 1);
	if (VARATT_IS_EXTERNAL(v) || VARATT_IS_COMPRESSED(v))
		v = detoast_attr(v);
	size = VARSIZE_ANY_EXHDR(v);
	if (size < sizeof(head))
		malformed(row->source);
	memcpy(&head, VARDATA_ANY(v), sizeof(head));
	for (int i = 0; i < feeds->n; i++)
	{
		DdirFeed   *f = &feeds->feed[i];

		if (head.kind == DDIR_CHUNK_TRUNCATE)
			ddir_tracked_event(&c->tracking, f->into, DDIR_TRAY_TRUNCATE);
		else if (head.kind == DDIR_CHUNK_UNKNOWN)
			ddir_tracked_event(&c->tracking, f->into, DDIR_TRAY_NO_OLD_IMAGE);
		else
			add_rows(c, feeds, f, &head, VARDATA_ANY(v) + sizeof(head), size - sizeof(head));
	}
}

/* Under a pin alone: what is visible does not change or move. */
static void
deliver_chunk(DdirCuts *c, const Ref *r, Buffer *buffer)
{
	HeapTupleData tuple;
	Page		page;
	ItemId		item;

	*buffer = ReleaseAndReadBuffer(*buffer, c->rel[r->k], ItemPointerGetBlockNumber(&r->tid));
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(*buffer);
	item = PageGetItemId(page, ItemPointerGetOffsetNumber(&r->tid));
	tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple.t_len = ItemIdGetLength(item);
	LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
	add_chunk(c, delta_row(&tuple));
	MemoryContextReset(c->row);
}

static void
deliver(DdirCuts *c, TimestampTz now)
{
	Buffer		buffer = InvalidBuffer;
	MemoryContext old;

	qsort(c->ref, c->nrefs, sizeof(Ref), compare_refs);
	old = MemoryContextSwitchTo(c->row);
	for (uint32 i = 0; i < c->nrefs; i++)
	{
		CHECK_FOR_INTERRUPTS();
		deliver_chunk(c, &c->ref[i], &buffer);
		if (i + 1 == c->nrefs || c->ref[i + 1].xid != c->ref[i].xid)
			ddir_trays_close(c->tracking.out, c->position, (TransactionId) c->ref[i].xid, now);
	}
	MemoryContextSwitchTo(old);
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
}

/*
 * Have all tables among them had their triggers since they were empty, made by
 * the transaction that has put them, and what is new above them, into the tree?
 */
static bool
joined_empty(DdirTracking *k, List *joined)
{
	ListCell   *lc;

	foreach(lc, joined)
	{
		char		kind = get_rel_relkind(lfirst_oid(lc));
		DdirTreeEdge edge;
		DdirTreeEdge above;
		TransactionId by;
		uint64		mark;

		if (!ddir_tree_edge(lfirst_oid(lc), k->snapshot, &edge))
			return false;
		if (list_member_oid(joined, edge.parent) &&
			(!ddir_tree_edge(edge.parent, k->snapshot, &above) || above.xmin != edge.xmin))
			return false;
		if (kind != RELKIND_PARTITIONED_TABLE &&
			(kind != RELKIND_RELATION ||
			 !ddir_triggers_since_empty(lfirst_oid(lc), k->snapshot, &by, &mark) || by != edge.xmin))
			return false;
	}
	return true;
}

/*
 * Trees that have other partitions than at the last cut.  It is not known in
 * which of the transactions since that came to be, so the event's is one that
 * only snapshots from now on may see.
 */
static void
look_at_trees(DdirCuts *c, Snapshot snapshot, TimestampTz now)
{
	if (ddir_tracking_look(&c->tracking))
		ddir_trays_close(c->tracking.out, c->position, snapshot->xmax, now);
}

/* ----
 * Emptying tables
 * ----
 */

static bool
has_pending(const DdirCuts *c, int k)
{
	ListCell   *lc;

	foreach(lc, c->pending)
	{
		const Pending *p = lfirst(lc);

		for (uint32 i = 0; i < p->n; i++)
			if (p->place[i] >> 32 == k)
				return true;
	}
	return false;
}

/* Nothing in it is to be delivered, and this proves it; else it stays. */
static void
empty_table(DdirCuts *c, int k)
{
	Oid			relid = ddir_delta_table(k);

	if (!OidIsValid(relid) || !ConditionalLockRelationOid(relid, AccessExclusiveLock))
		return;
	if (pg_atomic_read_u32(&c->db->cuts.low[k]) != InvalidBlockNumber)
	{
		UnlockRelationOid(relid, AccessExclusiveLock);
		return;
	}
	if (c->rel[k] == NULL)
		c->rel[k] = try_relation_open(relid, AccessShareLock);
	if (c->rel[k] == NULL)
		return;
	DDIR_DEBUG_POINT("delta-empty");
	ddir_compat_truncate(list_make1(c->rel[k]), list_make1_oid(relid));
	c->nblocks[k] = 0;
}

static void
empty_tables(DdirCuts *c)
{
	int			current = pg_atomic_read_u32(&c->db->cuts.current) % DDIR_DELTA_TABLES;

	for (int k = 0; k < DDIR_DELTA_TABLES; k++)
		if (k != current && c->nblocks[k] > 0 && !has_pending(c, k))
			empty_table(c, k);
}

/* ----
 * A cut
 * ----
 */

void
ddir_cuts_read(DdirCuts *c, DdirTrays *out)
{
	MemoryContext old = CurrentMemoryContext;
	TimestampTz now = GetCurrentTimestamp();
	Snapshot	snapshot;
	Ended		before;

	if (IsTransactionState())
		elog(ERROR, "a cut is made in a transaction");
	if (pg_atomic_read_u32(&c->db->cuts.lost))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("changes were not captured any more"),
				 errdetail("A delta table has grown beyond ddir.max_slot_lag = %d MB.", ddir_max_slot_lag)));
	c->tracking.out = out;
	c->tracking.rows = 0;
	c->tracking.bytes = 0;
	c->nrefs = c->cap_refs = 0;
	c->ref = NULL;
	memset(c->rel, 0, sizeof(c->rel));

	StartTransactionCommand();
	c->commits = pg_atomic_read_u64(&c->db->cuts.commits);
	c->position = GetXLogInsertRecPtr();
	pg_memory_barrier();
	snapshot = GetTransactionSnapshot();
	PushActiveSnapshot(snapshot);
	snapshot = GetActiveSnapshot();
	c->tracking.snapshot = snapshot;
	take_ended(c, &c->now, snapshot);
	DDIR_DEBUG_POINT("cut-snapshot");
	look_at_trees(c, snapshot, now);
	find_chunks(c, snapshot);
	deliver(c, now);
	rotate(c);
	empty_tables(c);
	close_tables(c);
	PopActiveSnapshot();
	CommitTransactionCommand();

	before = c->consumed;
	c->consumed = c->now;
	c->now = before;
	c->tracking.out = NULL;
	c->tracking.snapshot = NULL;
	MemoryContextReset(c->scratch);
	MemoryContextSwitchTo(old);
}
