/*-------------------------------------------------------------------------
 *
 * attach.c
 *	  The triggers that capture a table's changes: made, looked at, dropped.
 *
 * A table by itself has four for statements, of which those for rows have the
 * transition tables, and one for rows that fires only where session_replication_role
 * is "replica":
 *
 *	insert, update, delete		after each statement; origin
 *	truncate					after each statement; always
 *	replica						after each row of any of the three; replica
 *
 * A table in a tree (a partition, an inheritance child, a parent) may be
 * written to by statements on another table, which fire only its row triggers,
 * and a statement on it may write to others.  It has two:
 *
 *	row							after each row; always
 *	truncate					after each statement; always
 *
 * (An argument of "row" tells the function to do its work.  Another one says
 * that the table was empty when the trigger was made; so all that is in a
 * partition came by it, if nobody has altered it since.)
 *
 * They are internal, so dumps and \d leave them out.  Each depends on the
 * trigger function such that it goes with the extension.  The user can alter
 * and drop them all the same, so the maintainer looks whether they are as they
 * were made, by their rows in pg_trigger: who has made them and when.
 *
 * src/capture/attach.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "capture/attach.h"
#include "capture/chunk.h"

#define ALL_ROWS (TRIGGER_TYPE_INSERT | TRIGGER_TYPE_UPDATE | TRIGGER_TYPE_DELETE)

/* A kind of trigger. */
typedef struct Kind
{
	const char *name;
	int			events;
	bool		row;
	char		fires;			/* as in pg_trigger.tgenabled */
	const char *removed;		/* transition tables */
	const char *added;
	const char *arg;
} Kind;

static const Kind by_statement[] = {
	{"ddir_insert", TRIGGER_TYPE_INSERT, false, TRIGGER_FIRES_ON_ORIGIN, NULL, "added", NULL},
	{"ddir_update", TRIGGER_TYPE_UPDATE, false, TRIGGER_FIRES_ON_ORIGIN, "removed", "added", NULL},
	{"ddir_delete", TRIGGER_TYPE_DELETE, false, TRIGGER_FIRES_ON_ORIGIN, "removed", NULL, NULL},
	{"ddir_truncate", TRIGGER_TYPE_TRUNCATE, false, TRIGGER_FIRES_ALWAYS, NULL, NULL, NULL},
	{"ddir_replica", ALL_ROWS, true, TRIGGER_FIRES_ON_REPLICA, NULL, NULL, NULL}
};

static const Kind by_row[] = {
	{"ddir_row", ALL_ROWS, true, TRIGGER_FIRES_ALWAYS, NULL, NULL, "row"},
	{"ddir_truncate", TRIGGER_TYPE_TRUNCATE, false, TRIGGER_FIRES_ALWAYS, NULL, NULL, NULL}
};

/* What a table has: a trigger of ours. */
typedef struct Found
{
	Oid			oid;
	char		name[NAMEDATALEN];
	char		fires;
	TransactionId xmin;
	bool		as_made;		/* nobody has altered it */
	bool		empty;			/* so was the table when it was made */
} Found;

/* ----
 * Looking
 * ----
 */

static List *
find_triggers(Oid relid, Snapshot snapshot)
{
	Oid			function = ddir_capture_function();
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tup;
	List	   *found = NIL;

	if (!OidIsValid(function))
		return NIL;
	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_trigger_tgrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, TriggerRelidNameIndexId, true, snapshot, 1, &key);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tup);
		Found	   *f;

		if (form->tgfoid != function)
			continue;
		f = palloc0(sizeof(Found));
		f->oid = form->oid;
		strlcpy(f->name, NameStr(form->tgname), NAMEDATALEN);
		f->fires = form->tgenabled;
		f->xmin = HeapTupleHeaderGetRawXmin(tup->t_data);
		f->as_made = !(tup->t_data->t_infomask & HEAP_UPDATED);
		f->empty = form->tgnargs > 1;
		found = lappend(found, f);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return found;
}

List *
ddir_triggers_list(void)
{
	Oid			function = ddir_capture_function();
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tup;
	List	   *relids = NIL;

	if (!OidIsValid(function))
		return NIL;
	ScanKeyInit(&key, Anum_pg_trigger_tgfoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(function));
	rel = table_open(TriggerRelationId, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 1, &key);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
		relids = list_append_unique_oid(relids, ((Form_pg_trigger) GETSTRUCT(tup))->tgrelid);
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return relids;
}

static bool
table_exists(Oid relid)
{
	return SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relid));
}

static bool
is_in_tree(Oid relid)
{
	return table_exists(relid) &&
		(has_superclass(relid) || find_inheritance_children(relid, NoLock) != NIL);
}

bool
ddir_triggers_by_row(Oid relid)
{
	return is_in_tree(relid);
}

static const Kind *
kinds_for(Oid relid, int *n)
{
	bool		row = is_in_tree(relid);

	*n = row ? lengthof(by_row) : lengthof(by_statement);
	return row ? by_row : by_statement;
}

/* The names of internal triggers end with an OID. */
static bool
is_of_kind(const Found *f, const Kind *kind)
{
	Size		len = strlen(kind->name);

	return strncmp(f->name, kind->name, len) == 0 && f->name[len] == '_' &&
		f->fires == kind->fires;
}

/* Are they exactly those it should have? */
static bool
is_complete(Oid relid, List *found)
{
	int			n;
	const Kind *kind = kinds_for(relid, &n);

	if (list_length(found) != n)
		return false;
	for (int i = 0; i < n; i++)
	{
		bool		there = false;
		ListCell   *lc;

		foreach(lc, found)
			there = there || is_of_kind(lfirst(lc), &kind[i]);
		if (!there)
			return false;
	}
	return true;
}

static uint64
mark_of(Oid relid, List *found)
{
	uint64		mark = is_in_tree(relid) ? 1 : 0;
	ListCell   *lc;

	foreach(lc, found)
	{
		Found	   *f = lfirst(lc);

		mark = hash_combine64(mark, ddir_key_mix((uint64) f->oid << 32 | f->xmin));
		mark = hash_combine64(mark, f->fires);
	}
	return mark;
}

bool
ddir_triggers_since_empty(Oid relid, Snapshot snapshot, TransactionId *by, uint64 *mark)
{
	List	   *found = find_triggers(relid, snapshot);
	bool		empty = false;
	ListCell   *lc;

	*mark = mark_of(relid, found);
	*by = InvalidTransactionId;
	foreach(lc, found)
	{
		Found	   *f = lfirst(lc);

		if (!f->as_made || (TransactionIdIsValid(*by) && f->xmin != *by))
			return false;
		*by = f->xmin;
		empty = empty || f->empty;
	}
	return empty && is_complete(relid, found);
}

uint64
ddir_triggers_mark(Oid relid)
{
	return mark_of(relid, find_triggers(relid, NULL));
}

/* ----
 * Making
 * ----
 */

static TriggerTransition *
transition(const char *name, bool added)
{
	TriggerTransition *t = makeNode(TriggerTransition);

	t->name = pstrdup(name);
	t->isNew = added;
	t->isTable = true;
	return t;
}

static void
create_trigger(Oid relid, Oid function, const Kind *kind, bool empty)
{
	CreateTrigStmt *stmt = makeNode(CreateTrigStmt);
	ObjectAddress trigger;
	ObjectAddress on;

	stmt->trigname = pstrdup(kind->name);
	stmt->funcname = list_make2(makeString(pstrdup("ddir")), makeString(pstrdup("_capture")));
	stmt->row = kind->row;
	stmt->timing = TRIGGER_TYPE_AFTER;
	stmt->events = kind->events;
	if (kind->removed)
		stmt->transitionRels = lappend(stmt->transitionRels, transition(kind->removed, false));
	if (kind->added)
		stmt->transitionRels = lappend(stmt->transitionRels, transition(kind->added, true));
	if (kind->arg)
		stmt->args = list_make1(makeString(pstrdup(kind->arg)));
	if (kind->arg && empty)
		stmt->args = lappend(stmt->args, makeString(pstrdup("since empty")));
	trigger = CreateTriggerFiringOn(stmt, NULL, relid, InvalidOid, InvalidOid, InvalidOid,
									function, InvalidOid, NULL, true, false, kind->fires);

	/* it goes with the function */
	deleteDependencyRecordsForSpecific(TriggerRelationId, trigger.objectId, DEPENDENCY_NORMAL,
									   ProcedureRelationId, function);
	ObjectAddressSet(on, ProcedureRelationId, function);
	recordDependencyOn(&trigger, &on, DEPENDENCY_AUTO);
	CommandCounterIncrement();
}

static void
drop_triggers(List *found)
{
	ListCell   *lc;

	foreach(lc, found)
	{
		ObjectAddress trigger;

		ObjectAddressSet(trigger, TriggerRelationId, ((Found *) lfirst(lc))->oid);
		performDeletion(&trigger, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
	}
	CommandCounterIncrement();
}

/* ----
 * Attempts
 * ----
 */

static uint64 attached_mark;

static void
make_complete(Oid relid, Oid function, bool empty)
{
	List	   *found = find_triggers(relid, NULL);
	const Kind *kind;
	int			n;

	if (is_complete(relid, found))
		return;
	drop_triggers(found);
	kind = kinds_for(relid, &n);
	for (int i = 0; i < n; i++)
		create_trigger(relid, function, &kind[i], empty);
}

static void
attach(DdirAttempt *a)
{
	Oid			function = ddir_capture_function();

	if (!ddir_attempt_lock(a, ShareRowExclusiveLock))
		return;
	if (!table_exists(a->relid))
	{
		ddir_attempt_refuse(a, "the table does not exist any more");
		return;
	}
	if (!OidIsValid(function))
	{
		ddir_attempt_refuse(a, "function ddir._capture() does not exist");
		return;
	}
	make_complete(a->relid, function, false);
	attached_mark = ddir_triggers_mark(a->relid);
}

static void
detach(DdirAttempt *a)
{
	if (!ddir_attempt_lock(a, AccessExclusiveLock))
		return;
	if (table_exists(a->relid))
		drop_triggers(find_triggers(a->relid, NULL));
}

DdirAttemptResult
ddir_triggers_attach(Oid relid, int lock_ms, uint64 *mark, char **why)
{
	MemoryContext old = CurrentMemoryContext;
	List	   *found;
	bool		complete;
	DdirAttemptResult result;

	*why = NULL;
	StartTransactionCommand();
	found = find_triggers(relid, NULL);
	complete = is_complete(relid, found);
	*mark = mark_of(relid, found);
	CommitTransactionCommand();
	MemoryContextSwitchTo(old);
	if (complete)
		return DDIR_ATTEMPT_DONE;
	result = ddir_attempt(relid, lock_ms, why, attach);
	*mark = attached_mark;
	return result;
}

void
ddir_triggers_attach_now(Oid relid, bool empty)
{
	Oid			function = ddir_capture_function();

	if (OidIsValid(function) && table_exists(relid))
		make_complete(relid, function, empty);
}

DdirAttemptResult
ddir_triggers_detach(Oid relid, int lock_ms)
{
	MemoryContext old = CurrentMemoryContext;
	bool		any;

	StartTransactionCommand();
	any = find_triggers(relid, NULL) != NIL;
	CommitTransactionCommand();
	MemoryContextSwitchTo(old);
	return any ? ddir_attempt(relid, lock_ms, NULL, detach) : DDIR_ATTEMPT_DONE;
}
