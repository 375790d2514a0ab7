/*-------------------------------------------------------------------------
 *
 * replident.c
 *	  Making a table log its old rows: REPLICA IDENTITY FULL, and back.
 *
 * Both directions run in a transaction of their own, which waits a short while
 * for the table's lock and is tried again later by whoever calls: a maintainer
 * must not stand in a queue, and nobody should stand in one behind it.
 *
 * What the identity was is kept in ddir._identity (sql/10_catalog.sql) by the
 * same transaction.  A table that was FULL by itself leaves no row there, and
 * stays as it is.  On the way back, what the user set meanwhile wins, and an
 * index that is gone gives way to the default.
 *
 * One thing stands in the way: a publication with a column list for the table.
 * Under FULL the server lets no list do, so every UPDATE and DELETE of the
 * table would fail.  (Row filters may use any column under FULL.)
 *
 * The command goes through ALTER TABLE's own code, without parsing; event
 * triggers of the user do not see it.
 *
 * src/capture/replident.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "capture/replident.h"

/* What one of the two transactions is given, and gives back. */
typedef struct Attempt
{
	Oid			relid;
	DdirIdentityResult result;
	char	   *why;			/* in the caller's context */
	MemoryContext caller;
	int			lock_ms;		/* to wait for the table's lock */
} Attempt;

/* pg_class.relreplident, or 0 if there is no such table */
static char
current_identity(Oid relid)
{
	HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	char		identity;

	if (!HeapTupleIsValid(tup))
		return 0;
	identity = ((Form_pg_class) GETSTRUCT(tup))->relreplident;
	ReleaseSysCache(tup);
	return identity;
}

static void
refuse(Attempt *a, const char *why)
{
	a->result = DDIR_IDENTITY_REFUSED;
	a->why = MemoryContextStrdup(a->caller, why);
}

static void
run_sql(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls,
		int expected)
{
	int			result = SPI_execute_with_args(sql, nargs, types, values, nulls, false, 0);

	if (result != expected)
		elog(ERROR, "SPI_execute_with_args returned %d for: %s", result, sql);
}

/* ----
 * To FULL
 * ----
 */

/* The publication that would make writes fail; NULL: none. */
static char *
publication_with_list(Oid relid)
{
	static const char sql[] =
	"SELECT p.pubname::pg_catalog.text"
	" FROM pg_catalog.pg_publication_rel r"
	" JOIN pg_catalog.pg_publication p ON p.oid OPERATOR(pg_catalog.=) r.prpubid"
	" WHERE r.prrelid OPERATOR(pg_catalog.=) ANY ($1)"
	" AND r.prattrs IS NOT NULL AND (p.pubupdate OR p.pubdelete)"
	" ORDER BY 1 LIMIT 1";
	List	   *relids = lcons_oid(relid, get_partition_ancestors(relid));
	Datum	   *elems = palloc(list_length(relids) * sizeof(Datum));
	Oid			types[1] = {OIDARRAYOID};
	Datum		values[1];
	ListCell   *lc;

	foreach(lc, relids)
		elems[foreach_current_index(lc)] = ObjectIdGetDatum(lfirst_oid(lc));
	values[0] = PointerGetDatum(construct_array(elems, list_length(relids), OIDOID,
												sizeof(Oid), true, TYPALIGN_INT));
	run_sql(sql, 1, types, values, NULL, SPI_OK_SELECT);
	if (SPI_processed == 0)
		return NULL;
	return SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
}

static char *
identity_index_name(Oid relid)
{
	List	   *indexes;
	ListCell   *lc;
	char	   *name = NULL;
	Relation	rel = relation_open(relid, NoLock);

	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		HeapTuple	tup = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tup))
			continue;
		if (((Form_pg_index) GETSTRUCT(tup))->indisreplident)
			name = get_rel_name(lfirst_oid(lc));
		ReleaseSysCache(tup);
	}
	relation_close(rel, NoLock);
	return name;
}

static void
remember(Oid relid, char identity, const char *index)
{
	Oid			types[3] = {OIDOID, CHAROID, NAMEOID};
	Datum		values[3];
	char		nulls[3] = {' ', ' ', index ? ' ' : 'n'};
	NameData	name;

	memset(&name, 0, sizeof(name));
	if (index)
		namestrcpy(&name, index);
	values[0] = ObjectIdGetDatum(relid);
	values[1] = CharGetDatum(identity);
	values[2] = NameGetDatum(&name);
	run_sql("INSERT INTO ddir._identity (relid, former, index_name) VALUES ($1, $2, $3)"
			" ON CONFLICT (relid) DO UPDATE"
			" SET former = excluded.former, index_name = excluded.index_name",
			3, types, values, nulls, SPI_OK_INSERT);
}

static void
forget(Oid relid)
{
	Oid			types[1] = {OIDOID};
	Datum		values[1] = {ObjectIdGetDatum(relid)};

	run_sql("DELETE FROM ddir._identity WHERE relid OPERATOR(pg_catalog.=) $1",
			1, types, values, NULL, SPI_OK_DELETE);
}

static void
alter_identity(Oid relid, char identity, const char *index)
{
	ReplicaIdentityStmt *stmt = makeNode(ReplicaIdentityStmt);
	AlterTableCmd *cmd = makeNode(AlterTableCmd);

	stmt->identity_type = identity;
	stmt->name = index ? pstrdup(index) : NULL;
	cmd->subtype = AT_ReplicaIdentity;
	cmd->def = (Node *) stmt;
	AlterTableInternal(relid, list_make1(cmd), false);
	CommandCounterIncrement();
}

static bool
lock_table(Attempt *a)
{
	if (a->lock_ms > 0)
		LockRelationOid(a->relid, AccessExclusiveLock);
	else if (!ConditionalLockRelationOid(a->relid, AccessExclusiveLock))
	{
		a->result = DDIR_IDENTITY_LOCKED;
		return false;
	}
	return true;
}

static void
set_full(Attempt *a)
{
	char		identity;
	char	   *publication;

	if (!lock_table(a))
		return;
	identity = current_identity(a->relid);
	if (identity == 0)
	{
		refuse(a, "the table does not exist any more");
		return;
	}
	a->result = DDIR_IDENTITY_SET;
	if (identity == REPLICA_IDENTITY_FULL)
		return;
	publication = publication_with_list(a->relid);
	if (publication)
	{
		refuse(a, psprintf("publication \"%s\" has a column list for table \"%s\", so the table cannot log its old rows whole",
						   publication, get_rel_name(a->relid)));
		return;
	}
	remember(a->relid, identity,
			 identity == REPLICA_IDENTITY_INDEX ? identity_index_name(a->relid) : NULL);
	alter_identity(a->relid, REPLICA_IDENTITY_FULL, NULL);
}

/* ----
 * And back
 * ----
 */

/* false: nothing is remembered of this table */
static bool
recall(Oid relid, char *identity, char **index)
{
	Oid			types[1] = {OIDOID};
	Datum		values[1] = {ObjectIdGetDatum(relid)};
	bool		isnull;

	run_sql("SELECT former, index_name FROM ddir._identity"
			" WHERE relid OPERATOR(pg_catalog.=) $1",
			1, types, values, NULL, SPI_OK_SELECT);
	if (SPI_processed == 0)
		return false;
	*identity = DatumGetChar(SPI_getbinval(SPI_tuptable->vals[0],
										   SPI_tuptable->tupdesc, 1, &isnull));
	*index = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
	return true;
}

/* Can it still be the identity of this table?  As ALTER TABLE wants it. */
static bool
index_fits(Oid relid, const char *index)
{
	Oid			oid = index ? get_relname_relid(index, get_rel_namespace(relid)) : InvalidOid;
	HeapTuple	tup = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(oid));
	Form_pg_index form;
	bool		fits;

	if (!HeapTupleIsValid(tup))
		return false;
	form = (Form_pg_index) GETSTRUCT(tup);
	fits = form->indrelid == relid && form->indisunique && form->indimmediate &&
		form->indisvalid &&
		heap_attisnull(tup, Anum_pg_index_indexprs, NULL) &&
		heap_attisnull(tup, Anum_pg_index_indpred, NULL);
	for (int i = 0; fits && i < form->indnkeyatts; i++)
	{
		HeapTuple	att = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relid),
										  Int16GetDatum(form->indkey.values[i]));

		fits = HeapTupleIsValid(att) && ((Form_pg_attribute) GETSTRUCT(att))->attnotnull;
		if (HeapTupleIsValid(att))
			ReleaseSysCache(att);
	}
	ReleaseSysCache(tup);
	return fits;
}

static void
restore(Attempt *a)
{
	char		identity;
	char	   *index;

	a->result = DDIR_IDENTITY_SET;
	if (!recall(a->relid, &identity, &index))
		return;
	if (!lock_table(a))
		return;
	if (current_identity(a->relid) == REPLICA_IDENTITY_FULL &&
		identity != REPLICA_IDENTITY_FULL)
	{
		if (identity == REPLICA_IDENTITY_INDEX && !index_fits(a->relid, index))
			identity = REPLICA_IDENTITY_DEFAULT;
		alter_identity(a->relid, identity,
					   identity == REPLICA_IDENTITY_INDEX ? index : NULL);
	}
	forget(a->relid);
}

/* ----
 * Attempts
 * ----
 */

static void
run_attempt(Attempt *a, void (*work) (Attempt *a))
{
	StartTransactionCommand();
	(void) set_config_option("lock_timeout", psprintf("%dms", a->lock_ms), PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	work(a);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/*
 * Errors that go away.  An internal one is most likely "tuple concurrently
 * updated", by a GRANT that takes no lock we would have waited for.
 */
static bool
is_transient(int sqlstate)
{
	return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE ||
		sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED ||
		sqlstate == ERRCODE_OBJECT_IN_USE ||
		sqlstate == ERRCODE_QUERY_CANCELED ||
		sqlstate == ERRCODE_OUT_OF_MEMORY ||
		sqlstate == ERRCODE_INTERNAL_ERROR;
}

static void
judge_error(Attempt *a)
{
	ErrorData  *error;

	MemoryContextSwitchTo(a->caller);
	error = CopyErrorData();
	FlushErrorState();
	AbortCurrentTransaction();
	MemoryContextSwitchTo(a->caller);
	if (!is_transient(error->sqlerrcode))
		refuse(a, error->message);
	else
	{
		a->result = DDIR_IDENTITY_LOCKED;
		if (error->sqlerrcode == ERRCODE_INTERNAL_ERROR)
			ereport(LOG,
					(errmsg("ddir: the replica identity of relation %u is changed later: %s",
							a->relid, error->message)));
	}
	FreeErrorData(error);
}

static DdirIdentityResult
attempt(Oid relid, int lock_ms, char **why, void (*work) (Attempt *a))
{
	Attempt		a = {.relid = relid,.lock_ms = lock_ms,.caller = CurrentMemoryContext};

	if (IsTransactionState())
		elog(ERROR, "a replica identity is changed inside of a transaction");
	PG_TRY();
	{
		run_attempt(&a, work);
	}
	PG_CATCH();
	{
		judge_error(&a);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(a.caller);
	if (why)
		*why = a.why;
	return a.result;
}

DdirIdentityResult
ddir_identity_set_full(Oid relid, int lock_ms, char **why)
{
	MemoryContext old = CurrentMemoryContext;
	char		identity;

	/* mostly it is so already, and no lock is needed to see that */
	*why = NULL;
	StartTransactionCommand();
	identity = current_identity(relid);
	CommitTransactionCommand();
	MemoryContextSwitchTo(old);
	if (identity == REPLICA_IDENTITY_FULL)
		return DDIR_IDENTITY_SET;
	return attempt(relid, lock_ms, why, set_full);
}

DdirIdentityResult
ddir_identity_restore(Oid relid, int lock_ms)
{
	return attempt(relid, lock_ms, NULL, restore);
}

List *
ddir_identity_remembered(void)
{
	MemoryContext caller = CurrentMemoryContext;
	List	   *relids = NIL;

	SPI_connect();
	run_sql("SELECT relid FROM ddir._identity", 0, NULL, NULL, NULL, SPI_OK_SELECT);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		isnull;
		Datum		relid = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
										  1, &isnull);
		MemoryContext spi = MemoryContextSwitchTo(caller);

		relids = lappend_oid(relids, DatumGetObjectId(relid));
		MemoryContextSwitchTo(spi);
	}
	SPI_finish();
	return relids;
}
