/*-------------------------------------------------------------------------
 *
 * request.c
 *	  Questions that only a database's maintainer can answer.
 *
 * A request slot goes round:
 *
 *	free -> waiting			by the asker
 *	waiting -> answering	by the maintainer
 *	answering -> answered	by the maintainer; the segment is pinned
 *	answered -> free		by the asker, who unpins the segment
 *
 * An asker that gives up frees its slot unless the maintainer is working on
 * it; then it only marks it abandoned, and the maintainer frees it.  If the
 * maintainer goes away in between, the asker frees the slot.
 *
 * A reply is a sequence of rows, each a count of columns followed by the
 * columns, a length (-1: NULL) and so many bytes.  A negative count stands in
 * front of an error: SQLSTATE, message, hint.
 *
 * src/base/request.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/dbcommands.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "base/request.h"
#include "base/waits.h"

#define ERROR_COLUMNS 3

struct DdirReply
{
	StringInfoData rows;
	bool		failed;
};

/* What an asker has to clean up. */
typedef struct Asked
{
	DdirDatabaseSlot *db;
	DdirRequestSlot *slot;
	pid_t		maintainer;		/* at the time of asking */
} Asked;

/* ----
 * Replying
 * ----
 */

static void
append_int32(StringInfo buf, int32 value)
{
	appendBinaryStringInfo(buf, (char *) &value, sizeof(value));
}

static void
append_columns(StringInfo buf, int ncols, const char *const *cols)
{
	for (int i = 0; i < ncols; i++)
	{
		int32		len = cols[i] ? (int32) strlen(cols[i]) : -1;

		append_int32(buf, len);
		if (len > 0)
			appendBinaryStringInfo(buf, cols[i], len);
	}
}

void
ddir_reply_row(DdirReply *reply, int ncols, const char *const *cols)
{
	if (reply->failed)
		return;
	append_int32(&reply->rows, ncols);
	append_columns(&reply->rows, ncols, cols);
}

void
ddir_reply_error(DdirReply *reply, int sqlstate, const char *message, const char *hint)
{
	char		code[12];
	const char *cols[ERROR_COLUMNS];

	if (reply->failed)
		return;
	pg_ltoa(sqlstate, code);
	cols[0] = code;
	cols[1] = message;
	cols[2] = hint;
	resetStringInfo(&reply->rows);
	append_int32(&reply->rows, -1);
	append_columns(&reply->rows, ERROR_COLUMNS, cols);
	reply->failed = true;
}

/* What results of STABLE functions of the server hang on. */
static const char *const value_settings[] = {
	"TimeZone", "timezone_abbreviations", "DateStyle", "IntervalStyle",
	"extra_float_digits", "bytea_output", "xmlbinary", "xmloption",
	"lc_monetary", "lc_numeric", "lc_time", "default_text_search_config",
	"array_nulls", "quote_all_identifiers"
};

char *
ddir_settings_text(void)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < lengthof(value_settings); i++)
		appendStringInfo(&text, "%s=%s\n", value_settings[i],
						 GetConfigOption(value_settings[i], false, false));
	return text.data;
}

static void
reply_settings(DdirReply *reply)
{
	for (int i = 0; i < lengthof(value_settings); i++)
	{
		const char *cols[2] = {value_settings[i],
		GetConfigOption(value_settings[i], false, false)};

		ddir_reply_row(reply, 2, cols);
	}
}

/* Hand the reply over, or throw it away if nobody wants it any more. */
static void
publish(DdirDatabaseSlot *db, DdirRequestSlot *slot, const DdirReply *reply)
{
	dsm_segment *segment = dsm_create(Max(reply->rows.len, 1), 0);
	bool		abandoned;

	memcpy(dsm_segment_address(segment), reply->rows.data, reply->rows.len);
	dsm_pin_segment(segment);

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	abandoned = slot->abandoned;
	slot->segment = dsm_segment_handle(segment);
	slot->bytes = reply->rows.len;
	slot->state = abandoned ? DDIR_REQUEST_FREE : DDIR_REQUEST_ANSWERED;
	LWLockRelease(ddir_shared->lock);

	if (abandoned)
		dsm_unpin_segment(dsm_segment_handle(segment));
	dsm_detach(segment);
	ddir_wake_waiters(db);
}

bool
ddir_request_waits(const DdirDatabaseSlot *db)
{
	for (int i = 0; i < DDIR_REQUESTS_MAX; i++)
		if (db->request[i].state == DDIR_REQUEST_WAITING)
			return true;
	return false;
}

bool
ddir_request_serve(DdirDatabaseSlot *db,
				   void (*handler) (void *ctx, DdirRequestKind kind, Oid arg,
									XLogRecPtr lsn, DdirReply *reply),
				   void *ctx)
{
	bool		any = false;

	for (int i = 0; i < DDIR_REQUESTS_MAX; i++)
	{
		DdirRequestSlot *slot = &db->request[i];
		DdirRequestSlot asked;
		MemoryContext cxt;
		MemoryContext old;
		DdirReply	reply;

		if (slot->state != DDIR_REQUEST_WAITING)
			continue;			/* a newer one also sets our latch */
		LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
		asked = *slot;
		if (asked.state == DDIR_REQUEST_WAITING)
			slot->state = DDIR_REQUEST_ANSWERING;
		LWLockRelease(ddir_shared->lock);
		if (asked.state != DDIR_REQUEST_WAITING)
			continue;

		cxt = AllocSetContextCreate(TopMemoryContext, "ddir reply",
									ALLOCSET_DEFAULT_SIZES);
		old = MemoryContextSwitchTo(cxt);
		initStringInfo(&reply.rows);
		reply.failed = false;
		if (asked.kind == DDIR_REQUEST_SETTINGS)
			reply_settings(&reply);
		else
			handler(ctx, asked.kind, asked.arg, asked.lsn, &reply);
		MemoryContextSwitchTo(cxt);
		publish(db, slot, &reply);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(cxt);
		any = true;
	}
	return any;
}

/* ----
 * Asking
 * ----
 */

static void
no_maintainer(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CANNOT_CONNECT_NOW),
			 errmsg("no ddir maintainer runs for database \"%s\"", get_database_name(MyDatabaseId)),
			 errdetail("What was asked for only it can answer."),
			 errhint("One is started when the database has ddir views; ddir.workers and the server's log say what hinders it.")));
}

/* Runs at the end of asking, at an error, and at exit. */
static void
forget(int code, Datum arg)
{
	Asked	   *asked = (Asked *) DatumGetPointer(arg);
	DdirRequestSlot *slot = asked->slot;
	bool		unpin = false;
	dsm_handle	segment = 0;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	if (slot->pid == MyProcPid && slot->state != DDIR_REQUEST_FREE)
	{
		unpin = slot->state == DDIR_REQUEST_ANSWERED;
		segment = slot->segment;
		if (slot->state == DDIR_REQUEST_ANSWERING && asked->db->pid == asked->maintainer)
			slot->abandoned = true;
		else
			slot->state = DDIR_REQUEST_FREE;
	}
	LWLockRelease(ddir_shared->lock);
	if (unpin)
		dsm_unpin_segment(segment);
}

/* Take a slot; without "must" false if there is none to be had. */
static bool
enter(Asked *asked, DdirRequestKind kind, Oid arg, XLogRecPtr lsn, bool must)
{
	bool		running;

	asked->slot = NULL;
	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	asked->db = ddir_shared_database(MyDatabaseId, false);
	running = asked->db != NULL && asked->db->pid != 0;
	for (int i = 0; running && asked->slot == NULL && i < DDIR_REQUESTS_MAX; i++)
	{
		if (asked->db->request[i].state == DDIR_REQUEST_FREE)
			asked->slot = &asked->db->request[i];
	}
	if (asked->slot)
	{
		asked->maintainer = asked->db->pid;
		asked->slot->kind = kind;
		asked->slot->arg = arg;
		asked->slot->lsn = lsn;
		asked->slot->abandoned = false;
		asked->slot->pid = MyProcPid;
		asked->slot->state = DDIR_REQUEST_WAITING;
	}
	LWLockRelease(ddir_shared->lock);

	if (!must && asked->slot == NULL)
		return false;
	if (!running)
		no_maintainer();
	if (asked->slot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_TOO_MANY_CONNECTIONS),
				 errmsg("too many sessions wait for the ddir maintainer"),
				 errdetail("At most %d can ask it at the same time.", DDIR_REQUESTS_MAX),
				 errhint("Try again.")));
	return true;
}

/* Until the answer is there; without "must" false if it does not come. */
static bool
await(Asked *asked, int timeout_ms, bool must)
{
	bool		answered = false;

	TimestampTz give_up = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), timeout_ms);

	ConditionVariablePrepareToSleep(&asked->db->changed);
	ddir_wake_maintainer(MyDatabaseId);
	for (;;)
	{
		DdirRequestState state;
		pid_t		pid;
		long		left;

		LWLockAcquire(ddir_shared->lock, LW_SHARED);
		state = asked->slot->state;
		pid = asked->db->pid;
		LWLockRelease(ddir_shared->lock);
		answered = state == DDIR_REQUEST_ANSWERED;
		left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), give_up);
		if (answered || (!must && (pid != asked->maintainer || left <= 0)))
			break;
		if (pid != asked->maintainer)
			no_maintainer();
		if (left <= 0)
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("the ddir maintainer did not answer within %d ms", timeout_ms),
					 errdetail("It answers between two steps of its work."),
					 errhint("ddir.workers shows what it does.")));
		(void) ddir_wait_changed(DDIR_WAIT_REQUEST, &asked->db->changed, left);
	}
	ConditionVariableCancelSleep();
	return answered;
}

static void
copy_reply(const DdirRequestSlot *slot, StringInfo reply)
{
	dsm_segment *segment = dsm_attach(slot->segment);

	if (segment == NULL || dsm_segment_map_length(segment) < slot->bytes)
		elog(ERROR, "could not attach to the maintainer's reply");
	appendBinaryStringInfo(reply, dsm_segment_address(segment), slot->bytes);
	dsm_detach(segment);
}

/* Take n bytes; the reply comes from another process, so look. */
static const char *
take(StringInfo reply, int n)
{
	const char *p = reply->data + reply->cursor;

	if (n < 0 || n > reply->len - reply->cursor)
		elog(ERROR, "malformed reply of the maintainer");
	reply->cursor += n;
	return p;
}

static int32
take_int32(StringInfo reply)
{
	int32		value;

	memcpy(&value, take(reply, sizeof(value)), sizeof(value));
	return value;
}

static char **
take_columns(StringInfo reply, int ncols)
{
	char	  **cols = palloc(ncols * sizeof(char *));

	for (int i = 0; i < ncols; i++)
	{
		int32		len = take_int32(reply);

		cols[i] = len < 0 ? NULL : pnstrdup(take(reply, len), len);
	}
	return cols;
}

static void
raise_reply(StringInfo reply)
{
	char	  **cols = take_columns(reply, ERROR_COLUMNS);

	ereport(ERROR,
			(errcode(cols[0] ? pg_strtoint32(cols[0]) : ERRCODE_INTERNAL_ERROR),
			 errmsg_internal("%s", cols[1] ? cols[1] : "the ddir maintainer failed"),
			 cols[2] ? errhint("%s", cols[2]) : 0));
}

/* The reply as it came; the slot is free afterwards, whatever happens. */
static bool
ask(DdirRequestKind kind, Oid arg, XLogRecPtr lsn, int timeout_ms, bool must, StringInfo reply)
{
	Asked		asked;
	volatile bool answered = false;

	if (!enter(&asked, kind, arg, lsn, must))
		return false;
	PG_ENSURE_ERROR_CLEANUP(forget, PointerGetDatum(&asked));
	{
		answered = await(&asked, timeout_ms, must);
		if (answered)
			copy_reply(asked.slot, reply);
	}
	PG_END_ENSURE_ERROR_CLEANUP(forget, PointerGetDatum(&asked));
	forget(0, PointerGetDatum(&asked));
	return answered;
}

static List *
reply_rows(StringInfo reply, int ncols)
{
	List	   *rows = NIL;

	while (reply->cursor < reply->len)
	{
		int32		n = take_int32(reply);

		if (n < 0)
			raise_reply(reply);
		if (n != ncols)
			elog(ERROR, "the maintainer replied %d columns instead of %d", n, ncols);
		rows = lappend(rows, take_columns(reply, n));
	}
	return rows;
}

List *
ddir_request(DdirRequestKind kind, Oid arg, XLogRecPtr lsn, int ncols, int timeout_ms)
{
	StringInfoData reply;

	ddir_shared_require();
	initStringInfo(&reply);
	(void) ask(kind, arg, lsn, timeout_ms, true, &reply);
	return reply_rows(&reply, ncols);
}

bool
ddir_request_maybe(DdirRequestKind kind, Oid arg, XLogRecPtr lsn, int ncols, int timeout_ms,
				   List **rows)
{
	StringInfoData reply;

	if (ddir_shared == NULL)
		return false;
	initStringInfo(&reply);
	if (!ask(kind, arg, lsn, timeout_ms, false, &reply))
		return false;
	*rows = reply_rows(&reply, ncols);
	return true;
}
