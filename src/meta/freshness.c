/*-------------------------------------------------------------------------
 *
 * freshness.c
 *	  Waiting until views are current.
 *
 * What decides is in shared memory: the frontier of the database, which all
 * live views have, and that of each other view.  A view that is being filled
 * is not current whatever it shows, which may have been found wrong.  A view
 * that is suspended or held by a row error has failed to become current only
 * when the database's frontier is past the target: before, what mends it may be
 * on its way.
 *
 * A commit is in the WAL a moment before other processes are told what it did
 * to the catalog.  So the maintainer may have passed the target without knowing
 * a view or a type as the caller does; nothing is decided before it has looked
 * again, for which the caller takes a ticket; nor, for a view whose definition
 * was locked then, before it could be looked at.  A view that has to be hydrated
 * for what was found then has no frontier until it has its new contents: those
 * it shows may be right at no position.
 *
 * src/meta/freshness.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/htup_details.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "catalog/pg_class.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/config.h"
#include "base/waits.h"
#include "meta/freshness.h"
#include "meta/view.h"

/* What keeps maintainers from running must do so for so long. */
#define TROUBLE_MS 1000
/* While waiting the catalog is looked at so often, for views that vanish. */
#define LOOK_MS 1000
/* and shared memory so often while the database has no slot in it yet */
#define NO_SLOT_MS 20

/* ----
 * The target
 * ----
 */

/*
 * The insert position is where the next record will start.  At the start of a
 * page that is behind the page's header, where nothing can be flushed to yet:
 * the last record ended in front of it.
 */
static XLogRecPtr
last_record_end(void)
{
	XLogRecPtr	lsn = GetXLogInsertRecPtr();

	if (XLogSegmentOffset(lsn, wal_segment_size) == SizeOfXLogLongPHD)
		lsn -= SizeOfXLogLongPHD;
	else if (lsn % XLOG_BLCKSZ == SizeOfXLogShortPHD)
		lsn -= SizeOfXLogShortPHD;
	return lsn;
}

XLogRecPtr
ddir_freshness_target(void)
{
	XLogRecPtr	target;

	ddir_shared_require();
	if (RecoveryInProgress())
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("ddir views are not maintained during recovery"),
				 errdetail("They are as current as what was replayed from the primary."),
				 errhint("Wait on the primary, then for this server to replay it.")));
	target = last_record_end();
	XLogFlush(target);
	ddir_wake_maintainer(MyDatabaseId);
	return target;
}

/* ----
 * Whether it can be reached
 * ----
 */

static bool
has_triggers(Relation rel)
{
	for (int i = 0; rel->trigdesc && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *t = &rel->trigdesc->triggers[i];

		if (t->tgisinternal && strncmp(t->tgname, "ddir_", 5) == 0)
			return true;
	}
	return false;
}

/*
 * What stands in the way of capturing the table's changes, if they are not yet:
 * a lock of this transaction; NULL: nothing.
 */
static char *
uncapturable(Relation rel)
{
	const char *name = ddir_relation_name(RelationGetRelid(rel));

	if (ddir_capture_mode() == DDIR_CAPTURE_TRIGGER)
	{
		if (CheckRelationLockedByMe(rel, RowExclusiveLock, true) && !has_triggers(rel))
			return psprintf("The view is not live yet, and the transaction's lock on table %s keeps it from being given triggers.", name);
	}
	else if (CheckRelationLockedByMe(rel, AccessShareLock, true) &&
			 rel->rd_rel->relkind == RELKIND_RELATION &&
			 rel->rd_rel->relreplident != REPLICA_IDENTITY_FULL)
		return psprintf("The view is not live yet, and the transaction's lock on table %s keeps it from being set to REPLICA IDENTITY FULL.", name);
	return NULL;
}

/* In this transaction, does somebody else's wait for us hinder the view? */
static bool
source_servable(Oid source, bool live, char **why)
{
	Relation	rel = RelationIdGetRelation(source);
	char	   *hindrance = NULL;

	if (rel == NULL)
		return true;
	if (CheckRelationLockedByMe(rel, AccessExclusiveLock, true))
		hindrance = psprintf("The transaction holds a lock on table %s that keeps its readers out.",
							 ddir_relation_name(source));
	else if (!live)
		hindrance = uncapturable(rel);
	RelationClose(rel);
	if (hindrance)
		*why = hindrance;
	return hindrance == NULL;
}

bool
ddir_freshness_servable(Oid view, char **why)
{
	Relation	rel = RelationIdGetRelation(view);
	DdirFreshness f;
	bool		strong;
	bool		live;
	ListCell   *lc;

	if (rel == NULL)
		return true;			/* found to be gone later */
	strong = CheckRelationLockedByMe(rel, ShareLock, true);
	RelationClose(rel);
	if (strong)
	{
		*why = psprintf("The transaction created, changed or locked the view, so nobody else can write to it before it ends.");
		return false;
	}

	ddir_freshness_read(view, &f);
	live = f.state == DDIR_VIEW_LIVE;
	if (!live && TransactionIdIsValid(GetTopTransactionIdIfAny()))
	{
		*why = psprintf("The view is not live yet, and before it is the end of all transactions that have written is awaited, this one included.");
		return false;
	}
	foreach(lc, ddir_view_reads(view, true))
	{
		if (!source_servable(lfirst_oid(lc), live, why))
			return false;
	}
	return true;
}

void
ddir_freshness_require_servable(List *views)
{
	ListCell   *lc;

	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("cannot wait for a view in a transaction with one snapshot"),
				 errdetail("A REPEATABLE READ or SERIALIZABLE transaction would not see what was waited for."),
				 errhint("Wait before the transaction begins, or use READ COMMITTED.")));
	foreach(lc, views)
	{
		char	   *why;

		if (!ddir_freshness_servable(lfirst_oid(lc), &why))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("view %s cannot become current in this transaction",
							ddir_relation_name(lfirst_oid(lc))),
					 errdetail("%s", why),
					 errhint("Commit first, then wait.")));
	}
}

/* ----
 * Waiting
 * ----
 */

/* What keeps the maintainer from running; NULL: it runs, or soon will. */
static const DdirTrouble *
trouble_of(const DdirDatabaseSlot *db)
{
	if (db != NULL && db->pid != 0)
		return NULL;
	if (db != NULL && db->trouble.sqlstate != 0)
		return &db->trouble;
	return ddir_shared->trouble.sqlstate != 0 ? &ddir_shared->trouble : NULL;
}

/* Of one view; the lock is held.  True: nothing more to wait for. */
static bool
look_at_view(DdirDatabaseSlot *db, Oid view, bool only_live, DdirFreshness *out)
{
	DdirViewSlot *slot = ddir_shared_view(MyDatabaseId, view, false);
	XLogRecPtr	all = db ? pg_atomic_read_u64(&db->frontier) : InvalidXLogRecPtr;
	const DdirTrouble *trouble = trouble_of(db);
	TimestampTz due;
	bool		on_time;

	pg_read_barrier();			/* it was written before the frontier */
	due = db ? (TimestampTz) pg_atomic_read_u64(&db->due) : 0;
	on_time = slot == NULL || !slot->clocked || due > out->instant;
	out->view = view;
	out->result = DDIR_FRESHNESS_TIMEOUT;
	out->state = slot ? slot->state : DDIR_VIEW_HYDRATING;
	out->phase = slot ? slot->phase : DDIR_HYDRATION_QUEUED;
	out->rows_done = slot ? slot->rows_done : 0;
	out->rows_total = slot ? slot->rows_total : 0;
	out->frontier = slot ? slot->frontier : InvalidXLogRecPtr;
	out->unlooked = slot && slot->unlooked;
	out->returns = slot && slot->returns;
	out->sqlstate = slot ? slot->sqlstate : 0;
	strlcpy(out->message, slot ? slot->message : "", DDIR_REASON_LEN);
	strlcpy(out->reason, slot ? slot->reason :
			db && db->pid ? "the maintainer has not seen it yet" :
			"the maintainer is not running", DDIR_REASON_LEN);
	if (out->state == DDIR_VIEW_LIVE)
	{
		out->frontier = Max(out->frontier, all);
		if (db == NULL || db->pid == 0)
		{
			out->state = DDIR_VIEW_BEHIND;
			strlcpy(out->reason, "the maintainer is not running", DDIR_REASON_LEN);
		}
	}

	if (db != NULL && db->disabled)
		out->result = DDIR_FRESHNESS_DISABLED;
	else if (trouble != NULL)
	{
		out->result = DDIR_FRESHNESS_NO_MAINTAINER;
		out->sqlstate = trouble->sqlstate;
		strlcpy(out->reason, trouble->text, DDIR_REASON_LEN);
		strlcpy(out->message, trouble->remedy, DDIR_REASON_LEN);
	}
	else if (out->frontier >= out->target && out->state != DDIR_VIEW_SUSPENDED &&
			 out->state != DDIR_VIEW_HYDRATING &&
			 (!slot->clocked || (out->state == DDIR_VIEW_LIVE && on_time)))
	{
		out->result = DDIR_FRESHNESS_REACHED;
		return true;
	}
	else if (db != NULL && db->pid != 0 && all >= out->target)
	{
		/* one that time takes away is no answer before that time has come */
		if (out->state == DDIR_VIEW_ERROR && on_time)
			out->result = DDIR_FRESHNESS_ERROR;
		else if (out->state == DDIR_VIEW_SUSPENDED)
			out->result = DDIR_FRESHNESS_SUSPENDED;
	}
	return out->result != DDIR_FRESHNESS_TIMEOUT ||
		(only_live && (out->state != DDIR_VIEW_LIVE || db == NULL || db->pid == 0));
}

void
ddir_freshness_read(Oid view, DdirFreshness *out)
{
	ddir_shared_require();
	memset(out, 0, sizeof(DdirFreshness));
	out->target = PG_UINT64_MAX;
	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	look_at_view(ddir_shared_database(MyDatabaseId, false), view, false, out);
	LWLockRelease(ddir_shared->lock);
}

/* A ticket for the maintainer's look at the catalog. */
typedef struct Ticket
{
	DdirDatabaseSlot *db;		/* whose; NULL: none yet */
	uint64		number;
} Ticket;

/* Does it hang on how the maintainer knows the view? */
static bool
is_of_look(DdirFreshnessResult result)
{
	return result == DDIR_FRESHNESS_REACHED ||
		result == DDIR_FRESHNESS_ERROR ||
		result == DDIR_FRESHNESS_SUSPENDED;
}

/* All views; true: decided.  The ticket is of the database's slot. */
static bool
look(List *views, bool only_live, DdirFreshness *out, Ticket *ticket)
{
	bool		decided = true;
	bool		looked;
	DdirDatabaseSlot *db;
	ListCell   *lc;

	out->result = DDIR_FRESHNESS_REACHED;
	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	db = ddir_shared_database(MyDatabaseId, false);
	if (db != ticket->db)
	{
		ticket->db = db;
		ticket->number = db ? ddir_want_look(db) : 0;
	}
	if (db == NULL || db->pid == 0)
		looked = views == NIL || only_live;
	else
		looked = views == NIL || pg_atomic_read_u64(&db->looked) >= ticket->number;
	pg_read_barrier();			/* then its frontier */
	foreach(lc, views)
	{
		decided = look_at_view(db, lfirst_oid(lc), only_live, out);
		if (out->unlooked && is_of_look(out->result))
		{
			out->result = DDIR_FRESHNESS_TIMEOUT;
			strlcpy(out->reason, "what it reads is locked by another session", DDIR_REASON_LEN);
			decided = only_live;
		}
		if (out->result != DDIR_FRESHNESS_REACHED)
			break;
	}
	LWLockRelease(ddir_shared->lock);

	if (!looked && is_of_look(out->result))
	{
		out->result = DDIR_FRESHNESS_TIMEOUT;
		decided = false;
	}
	return decided;
}

/* Views dropped meanwhile are found out by their absence from the catalog. */
static bool
still_there(const DdirFreshness *f)
{
	AcceptInvalidationMessages();
	return ddir_is_view(f->view);
}

/*
 * A view that REFRESH ... WITH NO DATA has emptied may still be taken for live
 * by the maintainer; nobody can read it before it was hydrated.
 */
static bool
all_populated(List *views, DdirFreshness *out)
{
	ListCell   *lc;

	AcceptInvalidationMessages();
	foreach(lc, views)
	{
		HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(lfirst_oid(lc)));
		bool		populated;

		if (!HeapTupleIsValid(tup))
			continue;			/* dropped: not waited for */
		populated = ((Form_pg_class) GETSTRUCT(tup))->relispopulated;
		ReleaseSysCache(tup);
		if (!populated)
		{
			out->view = lfirst_oid(lc);
			out->result = DDIR_FRESHNESS_TIMEOUT;
			out->state = DDIR_VIEW_HYDRATING;
			strlcpy(out->reason, "it holds no data", DDIR_REASON_LEN);
			return false;
		}
	}
	return true;
}

/* Does what was found by look stand? */
static bool
final(List *views, bool only_live, TimestampTz start, DdirFreshness *out)
{
	if (out->result == DDIR_FRESHNESS_REACHED)
		return all_populated(views, out) || only_live;
	if (only_live)
		return true;
	if (out->result == DDIR_FRESHNESS_NO_MAINTAINER)
		return TimestampDifferenceExceeds(start, GetCurrentTimestamp(), TROUBLE_MS);
	return true;
}

void
ddir_freshness_await(List *views, XLogRecPtr target, long ms, bool only_live,
					 DdirFreshness *out)
{
	TimestampTz give_up = ms < 0 ? DT_NOEND :
	TimestampTzPlusMilliseconds(GetCurrentTimestamp(), ms);
	TimestampTz start = GetCurrentTimestamp();
	DdirDatabaseSlot *prepared = NULL;
	Ticket		ticket = {NULL, 0};

	memset(out, 0, sizeof(DdirFreshness));
	out->target = target;
	out->instant = ddir_clock_now();
	for (;;)
	{
		DdirDatabaseSlot *db;
		long		left = LOOK_MS;

		if (look(views, only_live, out, &ticket) && final(views, only_live, start, out))
			break;
		db = ticket.db;
		if (db != prepared)
		{
			/* get in line, then look once more */
			ConditionVariableCancelSleep();
			if (db != NULL)
				ConditionVariablePrepareToSleep(&db->changed);
			prepared = db;
			continue;
		}
		if (!still_there(out))
		{
			out->result = DDIR_FRESHNESS_GONE;
			break;
		}
		if (out->result == DDIR_FRESHNESS_NO_MAINTAINER)
			left = NO_SLOT_MS;
		if (ms >= 0)
			left = Min(left, TimestampDifferenceMilliseconds(GetCurrentTimestamp(), give_up));
		if (left <= 0)
			break;
		if (db != NULL)
			(void) ddir_wait_changed(DDIR_WAIT_VIEW, &db->changed, left);
		else
			ddir_wait_latch(DDIR_WAIT_VIEW, Min(left, NO_SLOT_MS));
	}
	ConditionVariableCancelSleep();
}

/* ----
 * Telling
 * ----
 */

/* What an error says may be a row's contents, which others may not read. */
static bool
may_read_errors(Oid view)
{
	Relation	rel = RelationIdGetRelation(view);
	bool		result;

	if (rel == NULL)
		return false;
	result = has_privs_of_role(GetUserId(), rel->rd_rel->relowner);
	RelationClose(rel);
	return result;
}

static char *
state_text(const DdirFreshness *f)
{
	char	   *text = psprintf("It is %s", ddir_view_state_name(f->state));

	if (f->state == DDIR_VIEW_HYDRATING && f->phase != DDIR_HYDRATION_NONE)
		text = psprintf("%s (%s, " UINT64_FORMAT " of about " UINT64_FORMAT " rows)",
						text, ddir_hydration_phase_name(f->phase),
						f->rows_done, f->rows_total);

	if (f->reason[0] != '\0')
		text = psprintf("%s: %s", text, f->reason);

	if (XLogRecPtrIsInvalid(f->frontier))
		return psprintf("%s. It has no frontier yet.", text);
	return psprintf("%s. It stands " UINT64_FORMAT " bytes of WAL behind.", text,
					f->target > f->frontier ? f->target - f->frontier : 0);
}

static void
raise_view_error(const DdirFreshness *f)
{
	bool		full = may_read_errors(f->view);
	int			sqlstate = f->sqlstate ? f->sqlstate : ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
	const char *name = ddir_relation_name(f->view);

	if (f->result == DDIR_FRESHNESS_ERROR)
		ereport(ERROR,
				(errcode(sqlstate),
				 full && f->message[0] ? errmsg_internal("%s", f->message) :
				 errmsg("a row of view %s cannot be computed", name),
				 errdetail("View %s shows its rows of before the error.", name),
				 errhint("The error goes away with the rows that cause it.")));
	ereport(ERROR,
			(errcode(sqlstate),
			 errmsg("view %s is suspended", name),
			 full ? errdetail("%s: %s", f->reason, f->message) :
			 errdetail("Its owner can see why in ddir.views."),
			 f->returns ? errhint("It comes back by itself when the cause is gone.") :
			 errhint("Its owner can call ddir.repair when the cause is gone.")));
}

void
ddir_freshness_raise(const DdirFreshness *f, long ms)
{
	switch (f->result)
	{
		case DDIR_FRESHNESS_REACHED:
			return;
		case DDIR_FRESHNESS_ERROR:
		case DDIR_FRESHNESS_SUSPENDED:
			raise_view_error(f);
			break;
		case DDIR_FRESHNESS_DISABLED:
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("ddir is disabled in this database"),
					 errdetail("View %s keeps the rows it had.", ddir_relation_name(f->view)),
					 errhint("Switch it on with ddir.enable().")));
			break;
		case DDIR_FRESHNESS_NO_MAINTAINER:
			ereport(ERROR,
					(errcode(f->sqlstate),
					 errmsg("no ddir maintainer can run for this database"),
					 errdetail_internal("%s", f->reason),
					 errhint("%s", f->message)));
			break;
		case DDIR_FRESHNESS_GONE:
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("view with OID %u is not a ddir view any more", f->view),
					 errdetail("It was dropped or changed while it was waited for.")));
			break;
		case DDIR_FRESHNESS_TIMEOUT:
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("view %s did not become current within %ld ms",
							ddir_relation_name(f->view), ms),
					 errdetail("%s", state_text(f)),
					 errhint("Allow a longer timeout; ddir.views and ddir.hydration show the progress.")));
			break;
	}
}
