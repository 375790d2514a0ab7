/*-------------------------------------------------------------------------
 *
 * scanworker.c
 *	  The process that reads tables for a hydration.
 *
 * In one read-only REPEATABLE READ transaction: lock the tables, take the
 * snapshot, tell it, read the tables one after the other, and exit.  The
 * locks come first: a table rewritten or truncated between snapshot and lock
 * would look empty.
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
#include "rows/rowtype.h"

/*
 * Below deadlock_timeout: who has locked one table and asks for another that is
 * locked here must not be the one that fails.  The scan is repeated.
 */
#define LOCK_TIMEOUT "500ms"

/* A table to be read. */
typedef struct ScanWork
{
	Oid			relid;
	int			natts;
	Bitmapset  *used;			/* NULL: all columns */
	Relation	rel;
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
	if (!RELKIND_HAS_TABLE_AM(t->rel->rd_rel->relkind))
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
	set_option("lock_timeout", "0");
}

static void
send_begin(ScanWorker *w, uint32 i)
{
	DdirScanBegin m = {.head = {.kind = DDIR_SCAN_BEGIN,.table = i}};
	BlockNumber pages;
	double		allvisible;

	table_relation_estimate_size(w->table[i].rel, NULL, &pages, &m.estimate, &allvisible);
	send_message(w, &m, sizeof(m));
}

static void
read_table(ScanWorker *w, uint32 i)
{
	ScanWork   *t = &w->table[i];
	DdirRowType *type;
	TupleDesc	desc = ddir_tupdesc_first(RelationGetDescr(t->rel), t->natts);
	int			last = t->used ? bms_prev_member(t->used, -1) : t->natts;
	TupleTableSlot *slot = table_slot_create(t->rel, NULL);
	TableScanDesc scan;
	MemoryContext old;
	char	   *activity = psprintf("scanning \"%s.%s\"",
									get_namespace_name(RelationGetNamespace(t->rel)),
									RelationGetRelationName(t->rel));

	pgstat_report_activity(STATE_RUNNING, activity);
	send_begin(w, i);
	type = ddir_rowtype_from_tupdesc(desc);

	scan = table_beginscan(t->rel, GetActiveSnapshot(), 0, NULL);
	old = MemoryContextSwitchTo(w->row);
	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		uint32		len;

		CHECK_FOR_INTERRUPTS();
		slot_getsomeattrs(slot, last);
		len = ddir_image_pack(type, slot->tts_values, slot->tts_isnull, t->used, &w->frame);
		ddir_deltas_close(&w->frame, 0, len, NULL, 1, 0);
		MemoryContextReset(w->row);
		if (w->frame.n == DDIR_FRAME_ROWS || w->frame.val.len >= DDIR_FRAME_BYTES)
			send_frame(w, i);
	}
	MemoryContextSwitchTo(old);
	send_frame(w, i);
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	send_kind(w, DDIR_SCAN_END, i);
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
	send_snapshot(w, GetActiveSnapshot());
	DDIR_DEBUG_POINT("scanner-rows");
	for (int i = 0; i < w->ntables; i++)
		read_table(w, i);
	for (int i = 0; i < w->ntables; i++)
		relation_close(w->table[i].rel, NoLock);
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
