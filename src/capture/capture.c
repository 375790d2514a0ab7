/*-------------------------------------------------------------------------
 *
 * capture.c
 *	  Capture, in one of two ways.
 *
 * src/capture/capture.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "utils/memutils.h"

#include "capture/attach.h"
#include "capture/capture.h"
#include "capture/cuts.h"
#include "capture/decoder.h"
#include "capture/joined.h"
#include "capture/replident.h"

/* A table whose triggers are there. */
typedef struct Attached
{
	Oid			relid;
	uint64		mark;
} Attached;

/* A table whose old rows are known by key. */
typedef struct Keyed
{
	Oid			relid;
	DdirIdentityKey key;
} Keyed;

/* One of decoder and cuts is there. */
struct DdirCapture
{
	MemoryContext cxt;
	DdirDecoder *decoder;
	DdirCuts   *cuts;
	DdirTracking *tracking;		/* of the one that is there */
	List	   *attached;		/* of Attached * */
	List	   *keyed;			/* of Keyed * */
	List	   *given_up;		/* of Oid: never again by key */
};

/* ----
 * Open and close
 * ----
 */

static DdirCapture *
new_capture(void)
{
	MemoryContext cxt = AllocSetContextCreate(TopMemoryContext, "ddir capture", ALLOCSET_SMALL_SIZES);
	DdirCapture *c = MemoryContextAllocZero(cxt, sizeof(DdirCapture));

	c->cxt = cxt;
	return c;
}

DdirCapture *
ddir_capture_open_logical(const char *slot, RepOriginId own_origin)
{
	DdirDecoder *decoder = ddir_decode_open(slot, own_origin);
	DdirCapture *c = new_capture();

	c->decoder = decoder;
	c->tracking = &decoder->tracking;
	return c;
}

DdirCapture *
ddir_capture_open_trigger(DdirDatabaseSlot *db)
{
	DdirCuts   *cuts = ddir_cuts_open(db);
	DdirCapture *c = new_capture();

	c->cuts = cuts;
	c->tracking = ddir_cuts_tracking(cuts);
	return c;
}

void
ddir_capture_close(DdirCapture *c)
{
	if (c->decoder)
		ddir_decode_close(c->decoder);
	else
		ddir_cuts_close(c->cuts);
	MemoryContextDelete(c->cxt);
}

DdirCaptureMode
ddir_capture_opened(const DdirCapture *c)
{
	return c->decoder ? DDIR_CAPTURE_LOGICAL : DDIR_CAPTURE_TRIGGER;
}

/* ----
 * Tracking and reading
 * ----
 */

static Bitmapset *
key_columns(const DdirIdentityKey *key)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, key->atts)
		columns = bms_add_member(columns, lfirst_int(lc));
	return columns;
}

bool
ddir_capture_track(DdirCapture *c, Oid relid, const Bitmapset *used)
{
	const DdirIdentityKey *key = ddir_capture_key(c, relid);
	Bitmapset  *columns;

	if (key == NULL)
		return ddir_tracking_add(c->tracking, relid, 0, used);
	columns = key_columns(key);
	if (!ddir_tracking_add(c->tracking, relid, 0, bms_union(used, columns)))
		return false;
	ddir_tracking_by_key(c->tracking, relid, columns);
	return true;
}

void
ddir_capture_untrack(DdirCapture *c, Oid relid)
{
	ddir_tracking_remove(c->tracking, relid);
	ddir_capture_forget_key(c, relid);
}

const Bitmapset *
ddir_capture_keyed(const DdirCapture *c, Oid relid)
{
	const DdirTracked *t = ddir_tracking_keyed(c->tracking, relid);

	return t ? t->key : NULL;
}

void
ddir_capture_expect(DdirCapture *c, Oid relid, Size old_bytes)
{
	ddir_tracking_expect(c->tracking, relid, old_bytes);
}

const DdirRowType *
ddir_capture_rowtype(const DdirCapture *c, Oid relid)
{
	return ddir_tracking_rowtype(c->tracking, relid);
}

bool
ddir_capture_read(DdirCapture *c, const DdirDecodeLimits *limits, DdirTrays *out)
{
	if (c->decoder)
		return ddir_decode_read(c->decoder, limits, out);
	ddir_cuts_read(c->cuts, out);
	return true;
}

XLogRecPtr
ddir_capture_position(const DdirCapture *c)
{
	return c->decoder ? ddir_decode_position(c->decoder) : ddir_cuts_position(c->cuts);
}

bool
ddir_capture_waiting(const DdirCapture *c)
{
	if (c->decoder)
		return GetFlushRecPtr(NULL) > ddir_decode_position(c->decoder);
	return ddir_cuts_waiting(c->cuts);
}

bool
ddir_capture_holds_wal(const DdirCapture *c)
{
	return c->decoder != NULL;
}

void
ddir_capture_confirm(DdirCapture *c, XLogRecPtr lsn)
{
	if (c->decoder)
		ddir_decode_confirm(c->decoder, lsn);
}

void
ddir_capture_save(DdirCapture *c)
{
	if (c->decoder)
		ddir_decode_save(c->decoder);
}

int
ddir_capture_unseen(DdirCapture *c, TransactionId **xids)
{
	if (c->decoder)
		return ddir_decode_unseen(c->decoder, xids);
	return ddir_cuts_uncaptured(c->cuts, xids);
}

/* ----
 * Sources
 * ----
 */

static Attached *
find_attached(const DdirCapture *c, Oid relid)
{
	ListCell   *lc;

	foreach(lc, c->attached)
	{
		Attached   *a = lfirst(lc);

		if (a->relid == relid)
			return a;
	}
	return NULL;
}

static void
note_attached(DdirCapture *c, Oid relid, uint64 mark)
{
	MemoryContext old = MemoryContextSwitchTo(c->cxt);
	Attached   *a = find_attached(c, relid);

	if (a == NULL)
	{
		a = palloc0(sizeof(Attached));
		a->relid = relid;
		c->attached = lappend(c->attached, a);
	}
	a->mark = mark;
	MemoryContextSwitchTo(old);
}

static Keyed *
find_keyed(const DdirCapture *c, Oid relid)
{
	ListCell   *lc;

	foreach(lc, c->keyed)
	{
		Keyed	   *k = lfirst(lc);

		if (k->relid == relid)
			return k;
	}
	return NULL;
}

const DdirIdentityKey *
ddir_capture_key(const DdirCapture *c, Oid relid)
{
	Keyed	   *k = find_keyed(c, relid);

	return k ? &k->key : NULL;
}

void
ddir_capture_forget_key(DdirCapture *c, Oid relid)
{
	Keyed	   *k = find_keyed(c, relid);

	if (k == NULL)
		return;
	c->keyed = list_delete_ptr(c->keyed, k);
	list_free(k->key.atts);
	pfree(k);
}

void
ddir_capture_give_up_key(DdirCapture *c, Oid relid)
{
	MemoryContext old = MemoryContextSwitchTo(c->cxt);

	c->given_up = list_append_unique_oid(c->given_up, relid);
	MemoryContextSwitchTo(old);
}

static void
note_key(DdirCapture *c, Oid relid, const DdirIdentityKey *key)
{
	MemoryContext old = MemoryContextSwitchTo(c->cxt);
	Keyed	   *k;

	ddir_capture_forget_key(c, relid);
	if (key->atts != NIL)
	{
		k = palloc(sizeof(Keyed));
		k->relid = relid;
		k->key.atts = list_copy(key->atts);
		k->key.plain = key->plain;
		c->keyed = lappend(c->keyed, k);
	}
	MemoryContextSwitchTo(old);
}

/* While it is in use, whoever reads it relies on what is delivered. */
static DdirAttemptResult
prepare_identity(DdirCapture *c, Oid relid, bool in_use, int lock_ms, char **why)
{
	bool		by_key = !in_use && !list_member_oid(c->given_up, relid);
	DdirIdentityKey key;
	DdirAttemptResult result;

	if (in_use && find_keyed(c, relid))
		return DDIR_ATTEMPT_DONE;
	result = ddir_identity_prepare(relid, by_key, lock_ms, &key, why);
	if (result == DDIR_ATTEMPT_DONE)
		note_key(c, relid, &key);
	return result;
}

DdirAttemptResult
ddir_capture_prepare(DdirCapture *c, Oid relid, bool in_use, int lock_ms, char **why)
{
	DdirAttemptResult result;
	uint64		mark;

	if (c->decoder)
	{
		result = prepare_identity(c, relid, in_use, lock_ms, why);
		return result == DDIR_ATTEMPT_DONE ? ddir_triggers_detach(relid, lock_ms) : result;
	}
	result = ddir_triggers_attach(relid, lock_ms, &mark, why);
	if (result != DDIR_ATTEMPT_DONE)
		return result;
	note_attached(c, relid, mark);
	return ddir_identity_restore(relid, lock_ms);
}

bool
ddir_capture_refused(const DdirCapture *c, Oid relid)
{
	return c->decoder && ddir_identity_refused(relid, !list_member_oid(c->given_up, relid));
}

DdirAttemptResult
ddir_capture_release(Oid relid, int lock_ms)
{
	DdirAttemptResult result = ddir_triggers_detach(relid, lock_ms);

	return result == DDIR_ATTEMPT_LOCKED ? result : ddir_identity_restore(relid, lock_ms);
}

void
ddir_capture_join(List *joined, List *tables, bool empty)
{
	bool		by_triggers = ddir_capture_mode() == DDIR_CAPTURE_TRIGGER;
	ListCell   *lc;

	/* what follows is written down, too, and would have the decoder look */
	if (empty && !by_triggers)
		ddir_joined_write(joined);
	foreach(lc, tables)
	{
		if (by_triggers)
			ddir_triggers_attach_now(lfirst_oid(lc), empty);
		else
			ddir_identity_set_full_now(lfirst_oid(lc));
	}
}

/*
 * Whether the triggers are still as they were made is looked at when the
 * maintainer looks at its tables, which it will do again.
 */
List *
ddir_capture_joined(DdirCapture *c)
{
	List	   *joined = list_copy(c->tracking->joined);
	ListCell   *lc;

	list_free(c->tracking->joined);
	c->tracking->joined = NIL;
	if (c->decoder || joined == NIL)
		return joined;
	StartTransactionCommand();
	foreach(lc, joined)
	{
		TransactionId by;
		uint64		mark;

		if (find_attached(c, lfirst_oid(lc)))
			continue;			/* it is read by itself */
		if (!ddir_triggers_since_empty(lfirst_oid(lc), NULL, &by, &mark))
			mark = 0;
		note_attached(c, lfirst_oid(lc), mark);
	}
	CommitTransactionCommand();
	return joined;
}

List *
ddir_capture_remembered(void)
{
	return list_concat_unique_oid(ddir_identity_remembered(), ddir_triggers_list());
}

bool
ddir_capture_intact(const DdirCapture *c, Oid relid)
{
	Attached   *a = find_attached(c, relid);
	Keyed	   *k = find_keyed(c, relid);

	if (c->decoder)
		return k == NULL || equal(ddir_identity_key(relid).atts, k->key.atts);
	return a == NULL || ddir_triggers_mark(relid) == a->mark;
}

const char *
ddir_capture_identity(const DdirCapture *c, Oid relid)
{
	if (c->decoder)
		return find_keyed(c, relid) ? "key" : "full";
	return ddir_triggers_by_row(relid) ? "row triggers" : "statement triggers";
}
