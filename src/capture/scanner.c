/*-------------------------------------------------------------------------
 *
 * scanner.c
 *	  Scans, as the maintainer sees them: started, polled, ended.
 *
 * The worker's side is scanworker.c, what they say to each other scanwire.h.
 *
 * A frame of rows is not copied: the run handed to the consumer points into
 * the queue.
 *
 * A worker that could not be started, or died, is noticed by the queue: its
 * other end is gone, or will never be attached (the queue knows the worker's
 * handle).  The segment is pinned to this process, not to a transaction.
 *
 * src/capture/scanner.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "utils/memutils.h"

#include "capture/decoder.h"
#include "capture/scanner.h"
#include "capture/scanwire.h"

struct DdirScan
{
	MemoryContext cxt;
	List	   *tables;			/* of DdirScanTable * */
	DdirScanState state;
	dsm_segment *segment;
	shm_mq_handle *queue;
	BackgroundWorkerHandle *worker;
	XLogRecPtr	snapshot_end;
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	TransactionId *xip;			/* sorted as numbers */
	int			sqlstate;		/* of a failure */
	char	   *message;
};

/* The diffs of a frame's rows. */
static int64_t ones[DDIR_FRAME_ROWS];

/* ----
 * Start and end
 * ----
 */

static List *
copy_tables(List *tables)
{
	List	   *copies = NIL;
	ListCell   *lc;

	foreach(lc, tables)
	{
		DdirScanTable *copy = palloc(sizeof(DdirScanTable));

		*copy = *(DdirScanTable *) lfirst(lc);
		copy->used = bms_copy(copy->used);
		copy->rows = 0;
		copy->done = false;
		copies = lappend(copies, copy);
	}
	return copies;
}

static Size
request_size(List *tables)
{
	Size		size = offsetof(DdirScanRequest, items);
	ListCell   *lc;

	foreach(lc, tables)
		size += sizeof(DdirScanItem) +
		bms_num_members(((DdirScanTable *) lfirst(lc))->used) * sizeof(int32);
	return size;
}

static void
write_request(DdirScanRequest *request, Size size, List *tables)
{
	char	   *p = request->items;
	ListCell   *lc;

	request->dbid = MyDatabaseId;
	request->ntables = list_length(tables);
	request->bytes = size - offsetof(DdirScanRequest, items);
	request->unused = 0;
	foreach(lc, tables)
	{
		DdirScanTable *t = lfirst(lc);
		DdirScanItem item;
		int			att = -1;

		item.relid = t->relid;
		item.natts = t->natts;
		item.nused = t->used ? bms_num_members(t->used) : -1;
		memcpy(p, &item, sizeof(item));
		p += sizeof(item);
		while ((att = bms_next_member(t->used, att)) >= 0)
		{
			int32		number = att;

			memcpy(p, &number, sizeof(number));
			p += sizeof(number);
		}
	}
	ddir_check(p == (char *) request + size);
}

static void
make_segment(DdirScan *s)
{
	Size		size = request_size(s->tables);
	shm_toc_estimator e;
	shm_toc    *toc;
	DdirScanRequest *request;
	shm_mq	   *queue;

	shm_toc_initialize_estimator(&e);
	shm_toc_estimate_chunk(&e, size);
	shm_toc_estimate_chunk(&e, DDIR_SCAN_QUEUE_BYTES);
	shm_toc_estimate_keys(&e, 2);

	s->segment = dsm_create(shm_toc_estimate(&e), 0);
	dsm_pin_mapping(s->segment);
	toc = shm_toc_create(DDIR_SCAN_MAGIC, dsm_segment_address(s->segment),
						 shm_toc_estimate(&e));
	request = shm_toc_allocate(toc, size);
	write_request(request, size, s->tables);
	shm_toc_insert(toc, DDIR_SCAN_KEY_REQUEST, request);
	queue = shm_mq_create(shm_toc_allocate(toc, DDIR_SCAN_QUEUE_BYTES), DDIR_SCAN_QUEUE_BYTES);
	shm_toc_insert(toc, DDIR_SCAN_KEY_QUEUE, queue);
	shm_mq_set_receiver(queue, MyProc);
	s->queue = shm_mq_attach(queue, s->segment, NULL);
}

static void
start_worker(DdirScan *s)
{
	BackgroundWorker w;

	memset(&w, 0, sizeof(w));
	w.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	w.bgw_start_time = BgWorkerStart_RecoveryFinished;
	w.bgw_restart_time = BGW_NEVER_RESTART;
	w.bgw_notify_pid = MyProcPid;
	w.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(s->segment));
	strlcpy(w.bgw_library_name, DDIR_LIBRARY, sizeof(w.bgw_library_name));
	strlcpy(w.bgw_function_name, "ddir_scanner_main", sizeof(w.bgw_function_name));
	strlcpy(w.bgw_type, "ddir scanner", sizeof(w.bgw_type));
	snprintf(w.bgw_name, sizeof(w.bgw_name), "ddir scanner of database %u", MyDatabaseId);
	if (!RegisterDynamicBackgroundWorker(&w, &s->worker))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("no background worker is free to scan tables"),
				 errhint("Increase max_worker_processes.")));
	shm_mq_set_handle(s->queue, s->worker);
}

DdirScan *
ddir_scan_start(MemoryContext cxt, List *tables)
{
	MemoryContext old;
	MemoryContext own = AllocSetContextCreate(cxt, "ddir scan", ALLOCSET_DEFAULT_SIZES);
	DdirScan   *s;

	for (int i = 0; i < DDIR_FRAME_ROWS; i++)
		ones[i] = 1;

	old = MemoryContextSwitchTo(own);
	s = palloc0(sizeof(DdirScan));
	s->cxt = own;
	s->state = DDIR_SCAN_STARTING;
	s->tables = copy_tables(tables);
	PG_TRY();
	{
		make_segment(s);
		start_worker(s);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		ddir_scan_end(s);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(old);
	return s;
}

/* The queue goes with the segment; its other end notices. */
static void
hang_up(DdirScan *s)
{
	if (s->worker && s->state < DDIR_SCAN_DONE)
		TerminateBackgroundWorker(s->worker);
	if (s->segment)
		dsm_detach(s->segment);
	s->segment = NULL;
	s->queue = NULL;
}

void
ddir_scan_end(DdirScan *s)
{
	hang_up(s);
	MemoryContextDelete(s->cxt);
}

/* ----
 * Messages
 * ----
 */

static void
fail(DdirScan *s, int sqlstate, const char *message, Size len)
{
	s->sqlstate = sqlstate;
	s->message = MemoryContextAlloc(s->cxt, len + 1);
	memcpy(s->message, message, len);
	s->message[len] = '\0';
	hang_up(s);
	s->state = DDIR_SCAN_FAILED;
}

static void
malformed(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a scanner sent a malformed message"),
			 errdetail_internal("%s", what)));
}

static int
compare_xids(const void *a, const void *b)
{
	TransactionId x = *(const TransactionId *) a;
	TransactionId y = *(const TransactionId *) b;

	return (x > y) - (x < y);
}

static void
take_snapshot(DdirScan *s, const DdirScanSnapshot *m, Size len)
{
	if (s->state != DDIR_SCAN_STARTING ||
		len < offsetof(DdirScanSnapshot, xip) ||
		len != offsetof(DdirScanSnapshot, xip) + (Size) m->head.count * sizeof(TransactionId))
		malformed("snapshot");
	s->snapshot_end = m->end;
	s->xmin = m->xmin;
	s->xmax = m->xmax;
	s->xcnt = m->head.count;
	s->xip = MemoryContextAlloc(s->cxt, s->xcnt * sizeof(TransactionId) + 1);
	memcpy(s->xip, m->xip, s->xcnt * sizeof(TransactionId));
	qsort(s->xip, s->xcnt, sizeof(TransactionId), compare_xids);
	s->state = DDIR_SCAN_RUNNING;
}

static DdirScanTable *
table_of(DdirScan *s, const DdirScanMessage *m)
{
	DdirScanTable *t;

	if (s->state != DDIR_SCAN_RUNNING || m->table >= list_length(s->tables))
		malformed("table");
	t = list_nth(s->tables, m->table);
	if (t->done)
		malformed("table is done");
	return t;
}

/* Make a frame a run of deltas, in place. */
static void
take_rows(DdirScan *s, const DdirScanMessage *m, Size len,
		  void (*f) (void *ctx, Oid relid, const DdirDeltas *rows), void *ctx)
{
	DdirScanTable *t = table_of(s, m);
	Size		head = sizeof(DdirScanMessage) + ((Size) m->count + 1) * sizeof(uint32);
	uint32	   *off = (uint32 *) (m + 1);
	DdirDeltas	rows;

	if (m->count < 1 || m->count > DDIR_FRAME_ROWS || len < head ||
		off[0] != 0 || off[m->count] != len - head)
		malformed("rows");
	for (uint32 i = 0; i < m->count; i++)
		if (off[i] > off[i + 1])
			malformed("offsets");

	ddir_deltas_init(&rows, NULL, 1, false);
	rows.n = rows.cap = m->count;
	rows.val.bytes = (uint8_t *) m + head;
	rows.val.len = rows.val.cap = len - head;
	rows.val.off = off;
	rows.diff = ones;
	t->rows += rows.n;
	f(ctx, t->relid, &rows);
}

static void
take_message(DdirScan *s, const DdirScanMessage *m, Size len,
			 void (*f) (void *ctx, Oid relid, const DdirDeltas *rows), void *ctx)
{
	if (len < sizeof(DdirScanMessage))
		malformed("length");
	switch (m->kind)
	{
		case DDIR_SCAN_SNAPSHOT:
			take_snapshot(s, (const DdirScanSnapshot *) m, len);
			break;
		case DDIR_SCAN_BEGIN:
			if (len != sizeof(DdirScanBegin))
				malformed("begin");
			table_of(s, m)->estimate = ((const DdirScanBegin *) m)->estimate;
			break;
		case DDIR_SCAN_ROWS:
			take_rows(s, m, len, f, ctx);
			break;
		case DDIR_SCAN_END:
			table_of(s, m)->done = true;
			break;
		case DDIR_SCAN_ALL_DONE:
			{
				ListCell   *lc;

				foreach(lc, s->tables)
					if (!((DdirScanTable *) lfirst(lc))->done)
					malformed("done");
				s->state = DDIR_SCAN_DONE;
				hang_up(s);
				break;
			}
		case DDIR_SCAN_ERROR:
			fail(s, m->sqlstate, (const char *) (m + 1), len - sizeof(*m));
			break;
		default:
			malformed("kind");
	}
}

DdirScanState
ddir_scan_poll(DdirScan *s, uint64 max_rows,
			   void (*f) (void *ctx, Oid relid, const DdirDeltas *rows), void *ctx)
{
	static const char gone[] = "the scanner ended unexpectedly";
	uint64		taken = 0;

	while (s->state < DDIR_SCAN_DONE && taken < max_rows)
	{
		Size		len;
		void	   *data;
		MemoryContext old;
		shm_mq_result result;

		CHECK_FOR_INTERRUPTS();
		/* a message in pieces is put together in memory of the queue's */
		old = MemoryContextSwitchTo(s->cxt);
		result = shm_mq_receive(s->queue, &len, &data, true);
		MemoryContextSwitchTo(old);
		if (result == SHM_MQ_WOULD_BLOCK)
			break;
		if (result == SHM_MQ_DETACHED)
		{
			fail(s, ERRCODE_CRASH_SHUTDOWN, gone, sizeof(gone) - 1);
			break;
		}
		if (len >= sizeof(DdirScanMessage) &&
			((const DdirScanMessage *) data)->kind == DDIR_SCAN_ROWS)
			taken += ((const DdirScanMessage *) data)->count;
		take_message(s, data, len, f, ctx);
	}
	return s->state;
}

/* ----
 * What is known of it
 * ----
 */

bool
ddir_scan_sees(const DdirScan *s, TransactionId xid)
{
	if (s->state == DDIR_SCAN_STARTING)
		elog(ERROR, "a scan has no snapshot yet");
	if (TransactionIdPrecedes(xid, s->xmin))
		return true;
	if (TransactionIdFollowsOrEquals(xid, s->xmax))
		return false;
	return bsearch(&xid, s->xip, s->xcnt, sizeof(TransactionId), compare_xids) == NULL;
}

XLogRecPtr
ddir_scan_snapshot_end(const DdirScan *s)
{
	return s->snapshot_end;
}

const List *
ddir_scan_tables(const DdirScan *s)
{
	return s->tables;
}

const char *
ddir_scan_failure(const DdirScan *s, int *sqlstate)
{
	*sqlstate = s->sqlstate;
	return s->message;
}
