/*-------------------------------------------------------------------------
 *
 * replident.c
 *	  Making a table log its old rows: REPLICA IDENTITY FULL, and back.
 *
 * Both directions are attempts (attempt.h): transactions of their own that do
 * not wait long for the table's lock.
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
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "capture/replident.h"
#include "meta/publication.h"
#include "store/kept.h"

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
	NameData	name;
	Datum		values[] = {ObjectIdGetDatum(relid), CharGetDatum(identity), NameGetDatum(&name)};
	const bool	isnull[] = {false, false, index == NULL};
	const bool	replace[] = {false, true, true};

	memset(&name, 0, sizeof(name));
	if (index)
		namestrcpy(&name, index);
	ddir_kept_put("_identity", values, isnull, replace);
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

static void
set_full(DdirAttempt *a)
{
	char		identity;
	char	   *publication;

	if (!ddir_attempt_lock(a, AccessExclusiveLock))
		return;
	identity = current_identity(a->relid);
	if (identity == 0)
	{
		ddir_attempt_refuse(a, "the table does not exist any more");
		return;
	}
	a->result = DDIR_ATTEMPT_DONE;
	if (identity == REPLICA_IDENTITY_FULL)
		return;
	publication = publication_with_list(a->relid);
	if (publication)
	{
		ddir_attempt_refuse(a, psprintf("publication \"%s\" has a column list for table \"%s\", so the table cannot log its old rows whole",
										publication, get_rel_name(a->relid)));
		return;
	}
	remember(a->relid, identity,
			 identity == REPLICA_IDENTITY_INDEX ? identity_index_name(a->relid) : NULL);
	alter_identity(a->relid, REPLICA_IDENTITY_FULL, NULL);
	if (ddir_publication_refuses(a->relid))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" is published so that it cannot be updated when it logs its old rows whole",
						get_rel_name(a->relid))));
}

/*
 * As a user's command: ALTER TABLE's own code must not be called inside of
 * one where there are event triggers.
 */
static void
command_identity(Oid relid, const char *clause)
{
	char	   *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
												  get_rel_name(relid));

	run_sql(psprintf("ALTER TABLE %s REPLICA IDENTITY %s", name, clause),
			0, NULL, NULL, NULL, SPI_OK_UTILITY);
}

static const char *
identity_clause(char identity, const char *index)
{
	if (identity == REPLICA_IDENTITY_NOTHING)
		return "NOTHING";
	if (identity == REPLICA_IDENTITY_INDEX && index)
		return psprintf("USING INDEX %s", quote_identifier(index));
	return "DEFAULT";
}

void
ddir_identity_set_full_now(Oid relid)
{
	char		identity = current_identity(relid);
	char	   *index = NULL;

	if (identity == 0 || identity == REPLICA_IDENTITY_FULL || publication_with_list(relid))
		return;
	if (identity == REPLICA_IDENTITY_INDEX)
		index = identity_index_name(relid);
	command_identity(relid, "FULL");
	if (ddir_publication_refuses(relid))
		command_identity(relid, identity_clause(identity, index));
	else
		remember(relid, identity, index);
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
restore(DdirAttempt *a)
{
	char		identity;
	char	   *index;

	a->result = DDIR_ATTEMPT_DONE;
	if (!recall(a->relid, &identity, &index))
		return;
	if (!ddir_attempt_lock(a, AccessExclusiveLock))
		return;
	if (current_identity(a->relid) == REPLICA_IDENTITY_FULL &&
		identity != REPLICA_IDENTITY_FULL)
	{
		if (identity == REPLICA_IDENTITY_INDEX && !index_fits(a->relid, index))
			identity = REPLICA_IDENTITY_DEFAULT;
		alter_identity(a->relid, identity,
					   identity == REPLICA_IDENTITY_INDEX ? index : NULL);
		/* published meanwhile as only the full identity allows */
		if (ddir_publication_refuses(a->relid))
		{
			alter_identity(a->relid, REPLICA_IDENTITY_FULL, NULL);
			ereport(LOG,
					(errmsg("ddir: table \"%s\" keeps REPLICA IDENTITY FULL",
							get_rel_name(a->relid)),
					 errdetail("With the one it had, a publication would make its updates fail.")));
		}
	}
	ddir_kept_delete("_identity", a->relid);
}

DdirAttemptResult
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
		return DDIR_ATTEMPT_DONE;
	return ddir_attempt(relid, lock_ms, why, set_full);
}

bool
ddir_identity_refused(Oid relid)
{
	bool		refused;

	if (current_identity(relid) == REPLICA_IDENTITY_FULL)
		return false;
	SPI_connect();
	refused = publication_with_list(relid) != NULL;
	SPI_finish();
	return refused;
}

DdirAttemptResult
ddir_identity_restore(Oid relid, int lock_ms)
{
	return ddir_attempt(relid, lock_ms, NULL, restore);
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
