/*-------------------------------------------------------------------------
 *
 * test_decode.c
 *	  A worker that captures as it is told.
 *
 * Orders stand in table "orders" (what, relation, columns, answer); the worker
 * carries them out one by one and writes its answer.  Between orders it reads
 * WAL and writes the rows and events of each tray into "decoded".  It writes
 * with a replication origin that the decoder leaves out.
 *
 * Orders: track, untrack, sync (text: a position), scan, full, restore,
 * unseen, pause (read nothing), drain (read all there is, and say what it
 * took), stop (text "drop": the slot goes, too).
 *
 * test/modules/test_decode/test_decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "replication/origin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/pg_lsn.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "base/compat.h"
#include "base/port.h"
#include "capture/decode.h"
#include "capture/replident.h"
#include "capture/scanner.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_decode_start);

extern PGDLLEXPORT void ddir_test_worker_main(Datum arg);

typedef struct Order
{
	int			id;				/* 0: none */
	char	   *what;
	Oid			rel;
	Bitmapset  *used;
	char	   *text;
} Order;

typedef struct Worker
{
	MemoryContext cxt;
	MemoryContext turn;
	RepOriginId origin;
	char		slot[NAMEDATALEN];
	DdirDecoder *decoder;
	DdirTrays	trays;
	DdirScan   *scan;
	int			scan_order;
	XLogRecPtr	sync;
	int			sync_order;
	bool		pause;
	bool		stop;
	bool		drop;
} Worker;

static const char *const event_name[] = {
	[DDIR_TRAY_TRUNCATE] = "truncate",
	[DDIR_TRAY_NO_OLD_IMAGE] = "no old image",
	[DDIR_TRAY_REWRITTEN] = "rewritten",
	[DDIR_TRAY_PARTITIONS] = "partitions",
	[DDIR_TRAY_TOO_LARGE] = "too large",
};

/* Starts the worker in this database. */
Datum
test_decode_start(PG_FUNCTION_ARGS)
{
	BackgroundWorker w;
	BackgroundWorkerHandle *handle;
	pid_t		pid;

	memset(&w, 0, sizeof(w));
	w.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	w.bgw_start_time = BgWorkerStart_RecoveryFinished;
	w.bgw_restart_time = BGW_NEVER_RESTART;
	w.bgw_notify_pid = MyProcPid;
	w.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	strlcpy(w.bgw_library_name, "test_decode", sizeof(w.bgw_library_name));
	strlcpy(w.bgw_function_name, "ddir_test_worker_main", sizeof(w.bgw_function_name));
	strlcpy(w.bgw_name, "test_decode", sizeof(w.bgw_name));
	strlcpy(w.bgw_type, "test_decode", sizeof(w.bgw_type));
	if (!RegisterDynamicBackgroundWorker(&w, &handle))
		elog(ERROR, "no worker is free");
	if (WaitForBackgroundWorkerStartup(handle, &pid) != BGWH_STARTED)
		elog(ERROR, "the worker did not start");
	PG_RETURN_VOID();
}

/* ----
 * Transactions of the worker's own
 * ----
 */

static void
begin(void)
{
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
}

static void
commit(Worker *w)
{
	SPI_finish();
	PopActiveSnapshot();
	replorigin_session_origin = w->origin;
	replorigin_session_origin_lsn = ddir_decode_position(w->decoder);
	CommitTransactionCommand();
	replorigin_session_origin = InvalidRepOriginId;
	MemoryContextSwitchTo(w->turn);
}

static void
answer(Worker *w, int order, const char *text)
{
	Oid			types[2] = {INT4OID, TEXTOID};
	Datum		values[2];

	begin();
	values[0] = Int32GetDatum(order);
	values[1] = CStringGetTextDatum(text);
	SPI_execute_with_args("UPDATE orders SET answer = $2 WHERE id = $1", 2, types, values,
						  NULL, false, 0);
	commit(w);
}

static void
note(uint64 tray, Oid rel, const char *what, int64 n)
{
	Oid			types[4] = {INT8OID, OIDOID, TEXTOID, INT8OID};
	Datum		values[4];

	values[0] = Int64GetDatum(tray);
	values[1] = ObjectIdGetDatum(rel);
	values[2] = CStringGetTextDatum(what);
	values[3] = Int64GetDatum(n);
	SPI_execute_with_args("INSERT INTO decoded (tray, rel, what, n) VALUES ($1, $2::regclass, $3, $4)",
						  4, types, values, NULL, false, 0);
}

static void
note_trays(Worker *w)
{
	DdirTrays  *trays = &w->trays;

	begin();
	for (uint32 k = 0; k < trays->nruns; k++)
	{
		const DdirDeltas *d = &trays->run[k].deltas;
		const DdirRowType *type = ddir_decode_rowtype(w->decoder, trays->run[k].source);

		for (uint32 i = 0; i < d->n; i++)
		{
			uint64		tray = *ddir_deltas_time(d, i);

			if (ddir_trays_find(trays, tray) == NULL)
				elog(ERROR, "no tray " UINT64_FORMAT, tray);
			note(tray, trays->run[k].source,
				 ddir_image_text(type, ddir_lane_ref(&d->val, i)), d->diff[i]);
		}
	}
	for (uint32 i = 0; i < trays->nevents; i++)
		note(trays->event[i].tray, trays->event[i].source, event_name[trays->event[i].kind], 0);
	commit(w);
	ddir_trays_clear(trays);
}

/* ----
 * Orders
 * ----
 */

static Bitmapset *
columns_of(ArrayType *array)
{
	Bitmapset  *columns = NULL;
	Datum	   *elems;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, INT4OID, 4, true, TYPALIGN_INT, &elems, &nulls, &n);
	for (int i = 0; i < n; i++)
		columns = bms_add_member(columns, DatumGetInt32(elems[i]));
	return columns;
}

static Order
next_order(Worker *w)
{
	Order		order = {0};

	begin();
	SPI_execute("SELECT id, what, rel::oid, used, arg FROM orders"
				" WHERE answer IS NULL AND NOT taken ORDER BY id LIMIT 1", false, 1);
	if (SPI_processed == 1)
	{
		HeapTuple	row = SPI_tuptable->vals[0];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		MemoryContext old;
		bool		isnull;
		Datum		used;

		order.id = DatumGetInt32(SPI_getbinval(row, desc, 1, &isnull));
		order.rel = DatumGetObjectId(SPI_getbinval(row, desc, 3, &isnull));
		used = SPI_getbinval(row, desc, 4, &isnull);
		old = MemoryContextSwitchTo(w->turn);
		if (!isnull)
			order.used = columns_of(DatumGetArrayTypeP(used));
		order.what = pstrdup(SPI_getvalue(row, desc, 2));
		order.text = SPI_getvalue(row, desc, 5);
		order.text = order.text ? pstrdup(order.text) : NULL;
		MemoryContextSwitchTo(old);
		SPI_execute(psprintf("UPDATE orders SET taken = true WHERE id = %d", order.id), false, 0);
	}
	commit(w);
	return order;
}

static void
start_scan(Worker *w, const Order *o)
{
	DdirScanTable t = {.relid = o->rel,.used = o->used};

	w->scan = ddir_scan_start(w->cxt, list_make1(&t));
	w->scan_order = o->id;
}

static const char *
identity_answer(DdirAttemptResult result, const char *why)
{
	switch (result)
	{
		case DDIR_ATTEMPT_DONE:
			return "set";
		case DDIR_ATTEMPT_LOCKED:
			return "locked";
		default:
			return psprintf("refused: %s", why ? why : "");
	}
}

/* For measuring: nothing is written. */
static void
drain(Worker *w, const Order *o)
{
	static const DdirDecodeLimits limits = {.rows = 100000,.ms = 50};
	uint64		before = ddir_decode_transactions(w->decoder);
	uint64		rows = 0;
	struct timespec start;
	struct timespec end;
	double		ms;

	w->pause = false;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (bool all = false; !all;)
	{
		all = ddir_decode_read(w->decoder, &limits, &w->trays);
		rows += w->trays.rows;
		ddir_trays_clear(&w->trays);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	ms = (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6;
	answer(w, o->id, psprintf(UINT64_FORMAT " transactions, " UINT64_FORMAT " rows in %.1f ms of CPU",
							  ddir_decode_transactions(w->decoder) - before, rows, ms));
}

static void
obey(Worker *w, const Order *o)
{
	if (strcmp(o->what, "track") == 0)
		answer(w, o->id, ddir_decode_track_as(w->decoder, o->rel, o->text ? atoi(o->text) : 0,
											  o->used) ? "tracked" : "no such relation");
	else if (strcmp(o->what, "untrack") == 0)
	{
		ddir_decode_untrack(w->decoder, o->rel);
		answer(w, o->id, "untracked");
	}
	else if (strcmp(o->what, "sync") == 0)
	{
		w->sync = DatumGetLSN(DirectFunctionCall1(pg_lsn_in, CStringGetDatum(o->text)));
		w->sync_order = o->id;
	}
	else if (strcmp(o->what, "scan") == 0)
		start_scan(w, o);
	else if (strcmp(o->what, "full") == 0)
	{
		char	   *why;
		DdirIdentityKey key;
		DdirAttemptResult result = ddir_identity_prepare(o->rel, false, 200, &key, &why);

		answer(w, o->id, identity_answer(result, why));
	}
	else if (strcmp(o->what, "restore") == 0)
		answer(w, o->id, identity_answer(ddir_identity_restore(o->rel, 200), NULL));
	else if (strcmp(o->what, "unseen") == 0)
	{
		TransactionId *xids;

		answer(w, o->id, psprintf("%d", ddir_decode_unseen(w->decoder, &xids)));
	}
	else if (strcmp(o->what, "pause") == 0)
	{
		w->pause = true;
		answer(w, o->id, "paused");
	}
	else if (strcmp(o->what, "drain") == 0)
		drain(w, o);
	else if (strcmp(o->what, "stop") == 0)
	{
		w->drop = o->text !=NULL;
		answer(w, o->id, "stopped");
		w->stop = true;
	}
	else
		answer(w, o->id, "what?");
}

/* ----
 * The worker
 * ----
 */

typedef struct Scanned
{
	DdirDeltas	rows;
} Scanned;

static void
take_scanned(void *ctx, Oid relid, const DdirDeltas *rows)
{
	ddir_deltas_append(&((Scanned *) ctx)->rows, rows);
}

static void
poll_scan(Worker *w)
{
	static Scanned scanned;
	int			sqlstate;

	if (w->scan == NULL)
		return;
	if (scanned.rows.arena == NULL)
		ddir_deltas_init(&scanned.rows, ddir_arena_of(w->cxt), 1, false);
	switch (ddir_scan_poll(w->scan, 1000, take_scanned, &scanned))
	{
		case DDIR_SCAN_DONE:
			{
				const DdirScanTable *t = linitial(ddir_scan_tables(w->scan));
				const DdirRowType *type = ddir_decode_rowtype(w->decoder, t->relid);
				uint32		n = Min(scanned.rows.n, 10);
				bool		passed = ddir_scan_snapshot_end(w->scan) <= GetFlushRecPtr(NULL);
				bool		unseen = ddir_scan_sees(w->scan, ReadNextTransactionId());

				begin();
				for (uint32 i = 0; i < n; i++)
					note(0, t->relid,
						 ddir_image_text(type, ddir_lane_ref(&scanned.rows.val, i)), 1);
				commit(w);
				answer(w, w->scan_order,
					   psprintf("%u rows, %s%s%s", scanned.rows.n,
								t->rows == scanned.rows.n && t->done ? "done" : "wrong",
								passed ? "" : ", not flushed", unseen ? ", sees all" : ""));
				break;
			}
		case DDIR_SCAN_FAILED:
			{
				const char *message = ddir_scan_failure(w->scan, &sqlstate);

				answer(w, w->scan_order, psprintf("%s %s", unpack_sql_state(sqlstate), message));
				break;
			}
		default:
			return;
	}
	ddir_deltas_clear(&scanned.rows);
	ddir_scan_end(w->scan);
	w->scan = NULL;
}

static void
open_slot(Worker *w)
{
	bool		usable;

	ddir_slot_name(w->slot, MyDatabaseId, 1);
	if (!ddir_slot_exists(w->slot, &usable))
		ddir_slot_create(w->slot);
	else if (!usable)
		elog(ERROR, "slot is not usable");
	StartTransactionCommand();
	w->origin = replorigin_by_name("test_decode", true);
	if (w->origin == InvalidRepOriginId)
		w->origin = replorigin_create("test_decode");
	CommitTransactionCommand();
	StartTransactionCommand();
	ddir_compat_origin_setup(w->origin);
	CommitTransactionCommand();
	w->decoder = ddir_decode_open(w->slot, w->origin);
}

static void
turn(Worker *w)
{
	static const DdirDecodeLimits limits = {.rows = 1000,.ms = 50};
	Order		order;
	bool		end = true;

	MemoryContextReset(w->turn);
	MemoryContextSwitchTo(w->turn);
	CHECK_FOR_INTERRUPTS();
	if (!w->pause)
		end = ddir_decode_read(w->decoder, &limits, &w->trays);
	if (w->trays.ntrays > 0)
		note_trays(w);
	ddir_decode_confirm(w->decoder, Min(ddir_decode_position(w->decoder), GetFlushRecPtr(NULL)));
	if (w->sync_order > 0 && ddir_decode_position(w->decoder) >= w->sync)
	{
		answer(w, w->sync_order, "synced");
		w->sync_order = 0;
	}
	poll_scan(w);
	order = next_order(w);
	if (order.id > 0)
		obey(w, &order);
	else if (end)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, 5,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
	}
}

void
ddir_test_worker_main(Datum arg)
{
	Worker		w = {0};

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	SetConfigOption("synchronous_commit", "off", PGC_SUSET, PGC_S_OVERRIDE);
	w.cxt = AllocSetContextCreate(TopMemoryContext, "test_decode", ALLOCSET_DEFAULT_SIZES);
	w.turn = AllocSetContextCreate(w.cxt, "test_decode turn", ALLOCSET_DEFAULT_SIZES);
	ddir_trays_init(&w.trays, ddir_arena_of(w.cxt));
	open_slot(&w);
	while (!w.stop)
		turn(&w);
	ddir_decode_close(w.decoder);
	if (w.drop)
		ddir_slot_drop(w.slot);
	proc_exit(0);
}
