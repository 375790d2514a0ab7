/*-------------------------------------------------------------------------
 *
 * decode.c
 *	  The loop over WAL.
 *
 * The server's decoding is used from its own functions, without walsender or
 * SQL in between: we read records where the slot stands, give each to
 * LogicalDecodingProcessRecord, and get the changes of committed transactions
 * in the plugin's callbacks (plugin.c).  So we can stop between any two
 * records, and never wait: at the end of the flushed WAL the page reader says
 * so, and reading begins anew at the end of the last record.
 *
 *	ddir_decode_open		- take the slot, begin where it stands
 *	ddir_decode_track		- deliver a relation's changes from now on
 *	ddir_decode_read		- some of the WAL into trays
 *	ddir_decode_confirm		- what is before need not be kept
 *
 * Three traps.  The decoding context is made inside a transaction, else the
 * server takes this process for one that only decodes and VACUUM ignores its
 * snapshots; but in a context that outlives the transaction.  Records are
 * processed outside of transactions, where each decoded one gets a private
 * transaction that costs little.  And an error may leave the context in any
 * state: the process must exit.
 *
 * Cost: about half of it is the reorder buffer's, the same for every change in
 * the database.  Changes of relations that are known to be untracked could be
 * kept out of it in read_record, which sees every record before it is decoded;
 * only ones of user tables, by a list of files that holds what is *not* wanted,
 * as rewrites make new files at any time.
 *
 * Memory: a context of the decoder's, child of TopMemoryContext, with that of
 * the decoding context and one for each tracked relation in it.
 *
 * src/capture/decode.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "replication/decode.h"
#include "replication/slot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "base/compat.h"
#include "base/config.h"
#include "capture/decoder.h"

/* The clock is read once in so many records. */
#define RECORDS_A_LOOK 64

/* The slot is written out at most so often, if nothing else asks for it. */
#define SAVE_MS 10000

/* ----
 * Open and close
 * ----
 */

/*
 * As much of a page as is flushed; -1 if that is less than asked for.  The
 * timeline may be a former one for WAL from before a promotion.
 */
static int
page_read(XLogReaderState *reader, XLogRecPtr page, int wanted, XLogRecPtr record,
		  char *into)
{
	TimeLineID	current;
	XLogRecPtr	upto = GetFlushRecPtr(&current);
	WALReadError error;

	XLogReadDetermineTimeline(reader, page, wanted, current);
	if (reader->currTLI != current)
		upto = reader->currTLIValidUntil;
	if (page + wanted > upto)
		return -1;
	if (!WALRead(reader, into, page, XLOG_BLCKSZ, reader->currTLI, &error))
		WALReadRaiseError(&error);
	return Min(upto - page, XLOG_BLCKSZ);
}

/* An eighth of the memory limit, but not less than the server's default. */
static void
set_work_mem(void)
{
	char		value[32];
	int			kb = Min(ddir_memory_limit / 8, 256 * 1024);

	snprintf(value, sizeof(value), "%dkB", Max(kb, 64 * 1024));
	SetConfigOption("logical_decoding_work_mem", value, PGC_SUSET, PGC_S_SESSION);
}

static void
begin_decoding(DdirDecoder *d, const char *slot)
{
	XLogRecPtr	start;

	StartTransactionCommand();
	CheckLogicalDecodingRequirements();
	ddir_compat_slot_acquire(slot);
	ddir_unseen_init(d);

	MemoryContextSwitchTo(d->cxt);
	ddir_plugin_user.opening = d;
	d->ctx = CreateDecodingContext(InvalidXLogRecPtr, NIL, false,
								   XL_ROUTINE(.page_read = page_read,
											  .segment_open = wal_segment_open,
											  .segment_close = wal_segment_close),
								   NULL, NULL, NULL);
	ddir_plugin_user.opening = NULL;
	CommitTransactionCommand();

	start = MyReplicationSlot->data.restart_lsn;
	d->position = d->confirmed = d->saved = MyReplicationSlot->data.confirmed_flush;
	XLogBeginRead(d->ctx->reader, start);
}

DdirDecoder *
ddir_decode_open(const char *slot, RepOriginId own_origin)
{
	MemoryContext old = CurrentMemoryContext;
	MemoryContext cxt;
	DdirDecoder *d;

	if (ddir_plugin_user.decoder != NULL)
		elog(ERROR, "this process decodes already");
	ddir_plugin_allow();
	set_work_mem();

	cxt = AllocSetContextCreate(TopMemoryContext, "ddir decoder", ALLOCSET_DEFAULT_SIZES);
	d = MemoryContextAllocZero(cxt, sizeof(DdirDecoder));
	d->cxt = cxt;
	d->scratch = AllocSetContextCreate(cxt, "ddir change", ALLOCSET_DEFAULT_SIZES);
	d->values = AllocSetContextCreate(cxt, "ddir change values", ALLOCSET_SMALL_SIZES);
	d->own_origin = own_origin;
	ddir_tracking_init(&d->tracking, cxt);
	d->saved_at = GetCurrentTimestamp();

	PG_TRY();
	{
		begin_decoding(d, slot);
	}
	PG_CATCH();
	{
		ddir_plugin_user.opening = NULL;
		AbortCurrentTransaction();
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		MemoryContextSwitchTo(old);
		MemoryContextDelete(cxt);
		PG_RE_THROW();
	}
	PG_END_TRY();

	ddir_plugin_user.decoder = d;
	MemoryContextSwitchTo(old);
	return d;
}

void
ddir_decode_close(DdirDecoder *d)
{
	ddir_check(d == ddir_plugin_user.decoder && d->tracking.out == NULL);
	ddir_plugin_user.decoder = NULL;
	FreeDecodingContext(d->ctx);
	ReplicationSlotRelease();
	MemoryContextDelete(d->cxt);
}

/* ----
 * Tracking
 * ----
 */

bool
ddir_decode_track_as(DdirDecoder *d, Oid relid, int natts, const Bitmapset *used)
{
	return ddir_tracking_add(&d->tracking, relid, natts, used);
}

bool
ddir_decode_track(DdirDecoder *d, Oid relid, const Bitmapset *used)
{
	return ddir_tracking_add(&d->tracking, relid, 0, used);
}

void
ddir_decode_untrack(DdirDecoder *d, Oid relid)
{
	ddir_tracking_remove(&d->tracking, relid);
}

const DdirRowType *
ddir_decode_rowtype(const DdirDecoder *d, Oid relid)
{
	return ddir_tracking_rowtype(&d->tracking, relid);
}

/* ----
 * Reading
 * ----
 */

/* The next record, decoded; false at the end of the flushed WAL. */
static bool
read_record(DdirDecoder *d)
{
	XLogReaderState *reader = d->ctx->reader;
	XLogRecPtr	from = reader->EndRecPtr;
	char	   *error = NULL;

	if (GetFlushRecPtr(NULL) <= from)
		return false;
	if (XLogReadRecord(reader, &error) == NULL)
	{
		if (error)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("could not read the write-ahead log at %X/%X: %s",
							LSN_FORMAT_ARGS(from), error)));
		XLogBeginRead(reader, from);
		return false;
	}
	LogicalDecodingProcessRecord(d->ctx, reader);
	if (reader->EndRecPtr > d->position)
		d->position = reader->EndRecPtr;
	return true;
}

bool
ddir_decode_read(DdirDecoder *d, const DdirDecodeLimits *limits, DdirTrays *out)
{
	MemoryContext old = CurrentMemoryContext;
	TimestampTz start = limits->ms > 0 ? GetCurrentTimestamp() : 0;
	bool		end = false;

	ddir_check(d == ddir_plugin_user.decoder && d->tracking.out == NULL);
	if (IsTransactionState())
		elog(ERROR, "WAL is decoded in a transaction");

	d->tracking.out = out;
	d->tracking.rows = 0;
	d->tracking.bytes = 0;
	for (uint32 records = 1;; records++)
	{
		/* the transaction of a decoded one leaves another context behind */
		MemoryContextSwitchTo(d->ctx->context);
		if (!read_record(d))
		{
			end = true;
			break;
		}
		CHECK_FOR_INTERRUPTS();
		if ((limits->rows > 0 && d->tracking.rows >= limits->rows) ||
			(limits->bytes > 0 && d->tracking.bytes >= limits->bytes) ||
			(limits->ms > 0 && records % RECORDS_A_LOOK == 0 &&
			 TimestampDifferenceExceeds(start, GetCurrentTimestamp(), limits->ms)))
			break;
	}
	d->tracking.out = NULL;
	MemoryContextSwitchTo(old);
	return end;
}

XLogRecPtr
ddir_decode_position(const DdirDecoder *d)
{
	return d->position;
}

uint64
ddir_decode_transactions(const DdirDecoder *d)
{
	return d->transactions;
}

/* ----
 * Confirming
 * ----
 */

/*
 * The server writes the slot out when the position it restarts from moves,
 * which depends on records it logs now and then.  What is confirmed in between
 * is written out by us, so that little is decoded again after a crash.
 */
void
ddir_decode_save(DdirDecoder *d)
{
	if (d->confirmed == d->saved)
		return;
	ReplicationSlotMarkDirty();
	ReplicationSlotSave();
	ReplicationSlotsComputeRequiredLSN();
	d->saved = d->confirmed;
	d->saved_at = GetCurrentTimestamp();
}

void
ddir_decode_confirm(DdirDecoder *d, XLogRecPtr lsn)
{
	ddir_check(d == ddir_plugin_user.decoder && MyReplicationSlot != NULL);

	lsn = Min(lsn, d->position);
	if (lsn > d->confirmed)
	{
		LogicalConfirmReceivedLocation(lsn);
		d->confirmed = lsn;
	}
	if (TimestampDifferenceExceeds(d->saved_at, GetCurrentTimestamp(), SAVE_MS))
		ddir_decode_save(d);
}
