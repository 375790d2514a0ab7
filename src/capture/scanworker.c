/*-------------------------------------------------------------------------
 *
 * scanworker.c
 *	  The process that reads tables for a hydration.
 *
 * In one read-only REPEATABLE READ transaction: lock the tables, take the
 * snapshot, tell it, read the tables one after the other, and exit.  The
 * locks come first: a table rewritten or truncated between snapshot and lock
 * would look empty.  A partitioned table is read partition by partition, each
 * row as one of the root.
 *
 * The snapshot is an ordinary one, so VACUUM keeps what it sees.  Behind it a
 * record is written to WAL and flushed, so that whoever decodes passes the
 * position where the snapshot was taken, however quiet the database is.
 *
 * Rows are read past row security, as the maintainer, like the server's own
 * REFRESH, computes views from all rows or (plan's business) with the policies
 * as conditions.
 *
 * A failure is sent as a message.  If the maintainer hangs up, or dies, sending
 * fails and the process exits.
 *
 * Memory: the run and its lanes in a context of the scan; what one row needs in
 * one that is reset for each.
 *
 * src/capture/scanworker.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "optimizer/plancat.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "storage/standby.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "base/debugpoint.h"
#include "base/port.h"
#include "capture/scanner.h"
#include "capture/scanwire.h"
#include "meta/tree.h"
#include "rows/rowtype.h"

/*
 * Below deadlock_timeout: who has locked one table and asks for another that is
 * locked here must not be the one that fails.  The scan is repeated.
 */
#define LOCK_TIMEOUT "500ms"

/* A source to be read. */
typedef struct ScanWork
{
	Oid			relid;
	int			natts;
	Bitmapset  *used;			/* NULL: all columns */
	Relation	rel;
	bool		partitioned;
	List	   *parts;			/* of Relation: the tables that hold its rows */
	uint64		mark;			/* of the tree, as they were locked */
} ScanWork;

typedef struct ScanWorker
{
	shm_mq_handle *queue;
	int			ntables;
	ScanWork   *table;
	MemoryContext row;			/* reset for each row */
	DdirDeltas	frame;
} ScanWorker;

/* ----
 * Sending
 * ----
 */

/* The maintainer may be gone; nobody wants the rest then. */
static void
check_sent(shm_mq_result result)
{
	if (result != SHM_MQ_SUCCESS)
		proc_exit(0);
}

static void
send_message(ScanWorker *w, const void *message, Size len)
{
	check_sent(shm_mq_send(w->queue, len, message, false, true));
}

static void
send_kind(ScanWorker *w, DdirScanMessageKind kind, uint32 table)
{
	DdirScanMessage m = {.kind = kind,.table = table};

	send_message(w, &m, sizeof(m));
}

static void
send_frame(ScanWorker *w, uint32 table)
{
	DdirDeltas *frame = &w->frame;
	DdirScanMessage head = {.kind = DDIR_SCAN_ROWS,.table = table,.count = frame->n};
	shm_mq_iovec part[3];

	if (frame->n == 0)
		return;
	part[0].data = (const char *) &head;
	part[0].len = sizeof(head);
	part[1].data = (const char *) frame->val.off;
	part[1].len = ((Size) frame->n + 1) * sizeof(uint32);
	part[2].data = (const char *) frame->val.bytes;
	part[2].len = frame->val.len;
	check_sent(shm_mq_sendv(w->queue, part, lengthof(part), false, true));
	ddir_deltas_clear(frame);
}

static void
send_error(ScanWorker *w, const ErrorData *error)
{
	DdirScanMessage head = {.kind = DDIR_SCAN_ERROR,.sqlstate = error->sqlerrcode};
	const char *text = error->message ? error->message : "unknown error";
	shm_mq_iovec part[2];

	part[0].data = (const char *) &head;
	part[0].len = sizeof(head);
	part[1].data = text;

	part[1].len = strlen(text);
	check_sent(shm_mq_sendv(w->queue, part, lengthof(part), false, true));
}

/*
 * Everything this snapshot sees was committed before the position we tell.
 */
static void
send_snapshot(ScanWorker *w, Snapshot snapshot)
{
	Size		len = offsetof(DdirScanSnapshot, xip) +
	snapshot->xcnt * sizeof(TransactionId);
	DdirScanSnapshot *m = palloc0(len);

	m->head.kind = DDIR_SCAN_SNAPSHOT;
	m->head.count = snapshot->xcnt;
	m->end = GetXLogInsertRecPtr();
	m->xmin = snapshot->xmin;
	m->xmax = snapshot->xmax;
	memcpy(m->xip, snapshot->xip, snapshot->xcnt * sizeof(TransactionId));

	/* the record; this one also lets slots advance */
	if (XLogStandbyInfoActive())
		XLogFlush(LogStandbySnapshot());
	send_message(w, m, len);
	pfree(m);
}

/* ----
 * Reading
 * ----
 */

/* If all columns are used, packing need not look which are. */
static void
simplify_used(ScanWork *t)
{
	for (int i = 0; i < t->natts; i++)
		if (!TupleDescAttr(RelationGetDescr(t->rel), i)->attisdropped &&
			!bms_is_member(i + 1, t->used))
			return;
	t->used = NULL;
}

static void
open_table(ScanWork *t)
{
	t->rel = try_relation_open(t->relid, AccessShareLock);
	if (t->rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist any more", t->relid)));
	t->partitioned = t->rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	if (!t->partitioned && !RELKIND_HAS_TABLE_AM(t->rel->rd_rel->relkind))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("relation \"%s\" cannot be scanned",
						RelationGetRelationName(t->rel))));
	if (t->natts == 0)
		t->natts = RelationGetNumberOfAttributes(t->rel);
	if (t->natts > RelationGetNumberOfAttributes(t->rel) ||
		bms_prev_member(t->used, -1) > t->natts)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("relation \"%s\" has fewer columns than are used",
						RelationGetRelationName(t->rel))));
	simplify_used(t);
}

static void
set_option(const char *name, const char *value)
{
	SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * The partitions, which nobody can take away any more then.  That others come
 * is seen when there is a snapshot.
 */
static void
open_parts(ScanWork *t)
{
	ListCell   *lc;

	if (!t->partitioned)
	{
		t->parts = list_make1(t->rel);
		return;
	}
	foreach(lc, ddir_tree_below(t->relid, NULL, &t->mark))
	{
		Relation	part = try_relation_open(lfirst_oid(lc), AccessShareLock);

		if (part && RELKIND_HAS_TABLE_AM(part->rd_rel->relkind))
			t->parts = lappend(t->parts, part);
		else if (part)
			relation_close(part, NoLock);
	}
}

/* By OID, as everybody else who locks several. */
static void
open_tables(ScanWorker *w)
{
	Oid			last = InvalidOid;

	set_option("lock_timeout", LOCK_TIMEOUT);
	for (int i = 0; i < w->ntables; i++)
	{
		ScanWork   *next = NULL;

		for (int k = 0; k < w->ntables; k++)
		{
			ScanWork   *t = &w->table[k];

			if (t->rel == NULL && t->relid >= last &&
				(next == NULL || t->relid < next->relid))
				next = t;
		}
		last = next->relid;
		open_table(next);
	}
	for (int i = 0; i < w->ntables; i++)
		open_parts(&w->table[i]);
	set_option("lock_timeout", "0");
}

/* Has the snapshot the partitions that were locked?  Else all is tried again. */
static void
check_parts(ScanWorker *w, Snapshot snapshot)
{
	for (int i = 0; i < w->ntables; i++)
	{
		ScanWork   *t = &w->table[i];
		uint64		mark;

		if (!t->partitioned)
			continue;
		list_free(ddir_tree_below(t->relid, snapshot, &mark));
		if (mark != t->mark)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("the partitions of table \"%s\" have changed",
							RelationGetRelationName(t->rel))));
	}
}

static void
send_begin(ScanWorker *w, uint32 i)
{
	DdirScanBegin m = {.head = {.kind = DDIR_SCAN_BEGIN,.table = i}};
	ListCell   *lc;

	foreach(lc, w->table[i].parts)
	{
		BlockNumber pages;
		double		allvisible;
		double		rows;

		table_relation_estimate_size(lfirst(lc), NULL, &pages, &rows, &allvisible);
		m.estimate += rows;
	}
	send_message(w, &m, sizeof(m));
}

/* A row of a partition as one of its root. */
typedef struct RootRow
{
	int			natts;
	AttrNumber *att;			/* of each column the partition's attribute,
								 * from 0 */
	Datum	   *values;
	bool	   *isnull;
} RootRow;

/* NULL: the columns have the same places. */
static RootRow *
map_part(const ScanWork *t, Relation part)
{
	AttrNumber *att = t->partitioned ?
	ddir_tree_map(RelationGetDescr(t->rel), t->natts, RelationGetDescr(part)) : NULL;
	RootRow    *row;

	if (att == NULL)
		return NULL;
	row = palloc(sizeof(RootRow));
	row->natts = t->natts;
	row->att = att;
	row->values = palloc0(t->natts * sizeof(Datum) + 1);
	row->isnull = palloc(t->natts * sizeof(bool) + 1);
	return row;
}

static void
fill_root_row(RootRow *row, TupleTableSlot *slot)
{
	slot_getallattrs(slot);
	for (int i = 0; i < row->natts; i++)
	{
		int			att = row->att[i];

		row->isnull[i] = att < 0 || slot->tts_isnull[att];
		row->values[i] = row->isnull[i] ? (Datum) 0 : slot->tts_values[att];
	}
}

static void
read_part(ScanWorker *w, uint32 i, Relation part, const DdirRowType *type)
{
	ScanWork   *t = &w->table[i];
	int			last = t->used ? bms_prev_member(t->used, -1) : t->natts;
	TupleTableSlot *slot = table_slot_create(part, NULL);
	RootRow    *row = map_part(t, part);
	TableScanDesc scan;
	MemoryContext old;
	char	   *activity = psprintf("scanning \"%s.%s\"",
									get_namespace_name(RelationGetNamespace(part)),
									RelationGetRelationName(part));

	pgstat_report_activity(STATE_RUNNING, activity);
	scan = table_beginscan(part, GetActiveSnapshot(), 0, NULL);
	old = MemoryContextSwitchTo(w->row);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		uint32		len;

		CHECK_FOR_INTERRUPTS();
		if (row)
			fill_root_row(row, slot);
		else
			slot_getsomeattrs(slot, last);
		len = ddir_image_pack(type, row ? row->values : slot->tts_values,
							  row ? row->isnull : slot->tts_isnull, t->used, &w->frame);
		ddir_deltas_close(&w->frame, 0, len, NULL, 1, 0);
		MemoryContextReset(w->row);
		if (w->frame.n == DDIR_FRAME_ROWS || w->frame.val.len >= DDIR_FRAME_BYTES)
			send_frame(w, i);
	}
	MemoryContextSwitchTo(old);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
}

static void
read_table(ScanWorker *w, uint32 i)
{
	ScanWork   *t = &w->table[i];
	DdirRowType *type = ddir_rowtype_from_tupdesc(ddir_tupdesc_first(RelationGetDescr(t->rel),
																	 t->natts));
	ListCell   *lc;

	send_begin(w, i);
	foreach(lc, t->parts)
		read_part(w, i, lfirst(lc), type);
	send_frame(w, i);
	send_kind(w, DDIR_SCAN_END, i);
}

static void
close_tables(ScanWorker *w)
{
	for (int i = 0; i < w->ntables; i++)
	{
		ScanWork   *t = &w->table[i];
		ListCell   *lc;

		foreach(lc, t->parts)
			if (lfirst(lc) != t->rel)
			relation_close(lfirst(lc), NoLock);
		relation_close(t->rel, NoLock);
	}
}

static void
read_all(ScanWorker *w)
{
	StartTransactionCommand();
	XactIsoLevel = XACT_REPEATABLE_READ;
	XactReadOnly = true;

	pgstat_report_activity(STATE_RUNNING, "locking tables");
	open_tables(w);
	DDIR_DEBUG_POINT("scanner-snapshot");
	PushActiveSnapshot(GetTransactionSnapshot());
	check_parts(w, GetActiveSnapshot());
	send_snapshot(w, GetActiveSnapshot());
	DDIR_DEBUG_POINT("scanner-rows");
	for (int i = 0; i < w->ntables; i++)
		read_table(w, i);
	close_tables(w);
	PopActiveSnapshot();
	CommitTransactionCommand();
	send_kind(w, DDIR_SCAN_ALL_DONE, 0);
}

/* ----
 * The process
 * ----
 */

static void
read_item(ScanWork *t, const char **p, const char *end)
{
	DdirScanItem item;

	if (end - *p < sizeof(item))
		elog(ERROR, "malformed request of a scan");
	memcpy(&item, *p, sizeof(item));
	*p += sizeof(item);
	t->relid = item.relid;
	t->natts = item.natts;
	for (int i = 0; i < item.nused; i++)
	{
		int32		att;

		if (end - *p < sizeof(att))
			elog(ERROR, "malformed request of a scan");
		memcpy(&att, *p, sizeof(att));
		*p += sizeof(att);
		t->used = bms_add_member(t->used, att);
	}
}

static void
read_request(ScanWorker *w, const DdirScanRequest *request)
{
	const char *p = request->items;
	const char *end = p + request->bytes;

	w->ntables = request->ntables;
	w->table = palloc0(w->ntables * sizeof(ScanWork) + 1);
	for (int i = 0; i < w->ntables; i++)
		read_item(&w->table[i], &p, end);
}

static void
attach(ScanWorker *w, uint32 handle, const DdirScanRequest **request)
{
	dsm_segment *segment = dsm_attach(handle);
	shm_toc    *toc;
	shm_mq	   *queue;

	/* the maintainer is not interested any more */
	if (segment == NULL)
		proc_exit(0);
	toc = shm_toc_attach(DDIR_SCAN_MAGIC, dsm_segment_address(segment));
	if (toc == NULL)
		ereport(FATAL,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a scanner was started with a wrong segment")));
	*request = shm_toc_lookup(toc, DDIR_SCAN_KEY_REQUEST, false);
	queue = shm_toc_lookup(toc, DDIR_SCAN_KEY_QUEUE, false);
	shm_mq_set_sender(queue, MyProc);
	w->queue = shm_mq_attach(queue, segment, NULL);
}

void
ddir_scanner_main(Datum arg)
{
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "ddir scanner",
											  ALLOCSET_DEFAULT_SIZES);
	const DdirScanRequest *request;
	ScanWorker	w = {0};

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	MemoryContextSwitchTo(cxt);
	attach(&w, DatumGetUInt32(arg), &request);
	BackgroundWorkerInitializeConnectionByOid(request->dbid, InvalidOid, 0);
	set_option("statement_timeout", "0");
	set_option("lock_timeout", "0");
	set_option("idle_in_transaction_session_timeout", "0");
	set_option("search_path", "pg_catalog, pg_temp");

	MemoryContextSwitchTo(cxt);
	w.row = AllocSetContextCreate(cxt, "ddir scanner row", ALLOCSET_DEFAULT_SIZES);
	ddir_deltas_init(&w.frame, ddir_arena_of(cxt), 1, false);
	PG_TRY();
	{
		read_request(&w, request);
		read_all(&w);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		AbortCurrentTransaction();
		send_error(&w, error);
	}
	PG_END_TRY();
	proc_exit(0);
}
