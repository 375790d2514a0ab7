/*-------------------------------------------------------------------------
 *
 * replident.c
 *	  How a table logs its old rows: REPLICA IDENTITY FULL, and back, or as it is.
 *
 * Under FULL every UPDATE and DELETE writes the whole old row to the WAL, with
 * the values that the table keeps out of line: a column of a few bytes changed
 * beside a document of a megabyte costs that megabyte, which the new row alone
 * would not.  So a table whose TOAST table is at least as large as itself, and
 * whose identity is an index (the primary key, mostly), is left alone: its old
 * rows are then known by their key (keyed.h), for the price of holding the
 * columns used of all its rows.  Other tables are set to FULL, which costs them
 * little and us nothing.  Partitions are always set to FULL: their rows are
 * those of the tables above them, whose key none of their indexes need be.
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
 * table would fail.  (Row filters may use any column under FULL.)  A table with
 * an identity index is left alone then, too.
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
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
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
 * As it is
 * ----
 */

/* Does the index tell rows apart at all times, by columns that are never NULL? */
static bool
is_key(Form_pg_index form, HeapTuple tup)
{
	if (!form->indisunique || !form->indimmediate || !form->indisvalid ||
		!heap_attisnull(tup, Anum_pg_index_indexprs, NULL) ||
		!heap_attisnull(tup, Anum_pg_index_indpred, NULL))
		return false;
	for (int i = 0; i < form->indnkeyatts; i++)
	{
		HeapTuple	att = SearchSysCache2(ATTNUM, ObjectIdGetDatum(form->indrelid),
										  Int16GetDatum(form->indkey.values[i]));
		bool		fits = HeapTupleIsValid(att) &&
		((Form_pg_attribute) GETSTRUCT(att))->attnotnull;

		if (HeapTupleIsValid(att))
			ReleaseSysCache(att);
		if (!fits)
			return false;
	}
	return true;
}

/* Does the index compare as the types do by themselves? */
static bool
is_plain(Form_pg_index form, HeapTuple tup)
{
	bool		isnull;
	oidvector  *opclasses = (oidvector *)
	DatumGetPointer(SysCacheGetAttr(INDEXRELID, tup, Anum_pg_index_indclass, &isnull));
	oidvector  *collations = (oidvector *)
	DatumGetPointer(SysCacheGetAttr(INDEXRELID, tup, Anum_pg_index_indcollation, &isnull));

	for (int i = 0; i < form->indnkeyatts; i++)
	{
		Oid			typid;
		int32		typmod;
		Oid			collation;

		get_atttypetypmodcoll(form->indrelid, form->indkey.values[i], &typid, &typmod,
							  &collation);
		if (opclasses->values[i] != GetDefaultOpClass(getBaseType(typid), BTREE_AM_OID) ||
			collations->values[i] != collation)
			return false;
	}
	return true;
}

/* The key of an index, if it is one that is, or can be, an identity. */
static DdirIdentityKey
key_of_index(Oid relid, Oid index)
{
	DdirIdentityKey key = {NIL, false};
	HeapTuple	tup = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	Form_pg_index form;

	if (!HeapTupleIsValid(tup))
		return key;
	form = (Form_pg_index) GETSTRUCT(tup);
	if (form->indrelid == relid && is_key(form, tup))
	{
		for (int i = 0; i < form->indnkeyatts; i++)
			key.atts = lappend_int(key.atts, form->indkey.values[i]);
		key.plain = is_plain(form, tup);
	}
	ReleaseSysCache(tup);
	return key;
}

/* No lock: what a change is logged with is seen in the change itself. */
DdirIdentityKey
ddir_identity_key(Oid relid)
{
	Relation	rel = RelationIdGetRelation(relid);
	Oid			index = InvalidOid;

	if (RelationIsValid(rel))
	{
		index = RelationGetReplicaIndex(rel);
		RelationClose(rel);
	}
	return key_of_index(relid, index);
}

/* Is most of it out of line?  The caller has locked it. */
static bool
is_toasted(Oid relid)
{
	bool		toasted = false;
	Relation	rel;
	Relation	toast;

	rel = try_relation_open(relid, NoLock);
	if (rel && OidIsValid(rel->rd_rel->reltoastrelid))
	{
		toast = table_open(rel->rd_rel->reltoastrelid, AccessShareLock);
		toasted = RelationGetNumberOfBlocks(toast) > 0 &&
			RelationGetNumberOfBlocks(toast) >= RelationGetNumberOfBlocks(rel);
		table_close(toast, AccessShareLock);
	}
	if (rel)
		relation_close(rel, NoLock);
	return toasted;
}

static bool
is_plain_table(Oid relid)
{
	return get_rel_relkind(relid) == RELKIND_RELATION && !get_rel_relispartition(relid);
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

/* The index that is the primary key, or that is marked as the identity. */
static Oid
find_index(Oid relid, bool primary)
{
	List	   *indexes;
	ListCell   *lc;
	Oid			found = InvalidOid;
	Relation	rel = relation_open(relid, NoLock);

	indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		HeapTuple	tup = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(lfirst_oid(lc)));
		Form_pg_index form;

		if (!HeapTupleIsValid(tup))
			continue;
		form = (Form_pg_index) GETSTRUCT(tup);
		if (primary ? form->indisprimary : form->indisreplident)
			found = lfirst_oid(lc);
		ReleaseSysCache(tup);
	}
	relation_close(rel, NoLock);
	return found;
}

static char *
identity_index_name(Oid relid)
{
	return get_rel_name(find_index(relid, false));
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

static Oid
index_named(Oid relid, const char *index)
{
	return index ? get_relname_relid(index, get_rel_namespace(relid)) : InvalidOid;
}

/* The key of the identity that will be restored, if FULL is by us. */
static DdirIdentityKey
former_key(Oid relid)
{
	DdirIdentityKey none = {NIL, false};
	char		identity;
	char	   *index;

	if (current_identity(relid) != REPLICA_IDENTITY_FULL || !recall(relid, &identity, &index))
		return none;
	if (identity == REPLICA_IDENTITY_DEFAULT)
		return key_of_index(relid, find_index(relid, true));
	if (identity == REPLICA_IDENTITY_INDEX)
		return key_of_index(relid, index_named(relid, index));
	return none;
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
		if (identity == REPLICA_IDENTITY_INDEX &&
			key_of_index(a->relid, index_named(a->relid, index)).atts == NIL)
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
ddir_identity_restore(Oid relid, int lock_ms)
{
	return ddir_attempt(relid, lock_ms, NULL, restore);
}

/* ----
 * Preparing
 * ----
 */

static DdirIdentityKey
copied_key(const DdirIdentityKey *key, MemoryContext cxt)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirIdentityKey copy = {list_copy(key->atts), key->plain};

	MemoryContextSwitchTo(old);
	return copy;
}

/* What a table has. */
typedef struct Look
{
	char		identity;		/* 0: it is gone */
	bool		locked;			/* so that the key is not known now */
	DdirIdentityKey key;		/* it is to be left with that, or to get it
								 * back if it is FULL */
} Look;

static void
look_for_key(Oid relid, Look *look)
{
	bool		full = look->identity == REPLICA_IDENTITY_FULL;
	DdirIdentityKey key = full ? former_key(relid) : ddir_identity_key(relid);

	if (key.atts == NIL)
		return;
	if (!full && publication_with_list(relid) != NULL)
	{
		look->key = key;
		return;
	}
	look->locked = !ConditionalLockRelationOid(relid, AccessShareLock);
	if (!look->locked && is_toasted(relid))
		look->key = key;
}

static Look
look_at_table(Oid relid, bool by_key)
{
	MemoryContext caller = CurrentMemoryContext;
	Look		look = {0};

	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	SPI_connect();
	look.identity = current_identity(relid);
	if (look.identity != 0 && by_key && is_plain_table(relid))
		look_for_key(relid, &look);
	look.key = copied_key(&look.key, caller);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	MemoryContextSwitchTo(caller);
	return look;
}

DdirAttemptResult
ddir_identity_prepare(Oid relid, bool by_key, int lock_ms, DdirIdentityKey *key, char **why)
{
	Look		look = look_at_table(relid, by_key);
	DdirAttemptResult result;

	*why = NULL;
	if (look.key.atts != NIL && look.identity == REPLICA_IDENTITY_FULL)
	{
		result = ddir_identity_restore(relid, lock_ms);
		if (result != DDIR_ATTEMPT_DONE)
			return result;
		/* it may not have been possible */
		look = look_at_table(relid, by_key);
		if (look.identity == REPLICA_IDENTITY_FULL)
			look.key.atts = NIL;
	}
	*key = look.key;
	if (look.locked)
		return DDIR_ATTEMPT_LOCKED;
	if (key->atts != NIL || look.identity == REPLICA_IDENTITY_FULL)
		return DDIR_ATTEMPT_DONE;
	return ddir_attempt(relid, lock_ms, why, set_full);
}

bool
ddir_identity_refused(Oid relid, bool by_key)
{
	bool		refused;

	if (current_identity(relid) == REPLICA_IDENTITY_FULL ||
		(by_key && is_plain_table(relid) && ddir_identity_key(relid).atts != NIL))
		return false;
	SPI_connect();
	refused = publication_with_list(relid) != NULL;
	SPI_finish();
	return refused;
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
