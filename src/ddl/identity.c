/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  Giving sources back the replica identities they had, and dropping their
 *	  triggers.
 *
 * The maintainer does so for itself (capture/replident.c).  Here it is part of
 * a user's transaction: one that takes ddir out of the database, or one that
 * publishes a table in a way that REPLICA IDENTITY FULL does not allow.  From
 * its commit on the user's updates would fail, so the identity has to go with
 * it; the maintainer finds an update without its old row, cannot have the full
 * identity again, and fills the views that read the table again, by its key, or
 * suspends them if it has none.
 *
 * src/ddl/identity.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "base/waits.h"
#include "ddl/identity.h"
#include "meta/publication.h"
#include "meta/view.h"
#include "store/kept.h"

/* how long a source may keep us from restoring its replica identity */
#define LOCK_MS 2000
#define LOCK_STEP_MS 50

/*
 * As superuser, since who may take out the extension need not own the tables;
 * the statements are our own, and name no operator by search_path.
 */
void
ddir_as_superuser(void (*work) (bool arg), bool arg)
{
	Oid			save_userid;
	int			save_sec_context;

	GetUserIdAndSecContext(&save_userid, &save_sec_context);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID,
						   save_sec_context | SECURITY_LOCAL_USERID_CHANGE);
	SPI_connect();
	work(arg);
	SPI_finish();
	SetUserIdAndSecContext(save_userid, save_sec_context);
}

/* ----
 * One table
 * ----
 */

static bool
lock_source(Oid relid)
{
	for (int ms = 0; ms <= LOCK_MS; ms += LOCK_STEP_MS)
	{
		if (ConditionalLockRelationOid(relid, AccessExclusiveLock))
			return true;
		ddir_wait_latch(DDIR_WAIT_LEAVE, LOCK_STEP_MS);
	}
	return false;
}

static char *
identity_clause(char former, const char *index_name, Oid relid)
{
	if (former == REPLICA_IDENTITY_NOTHING)
		return "NOTHING";
	if (former == REPLICA_IDENTITY_INDEX && index_name != NULL &&
		OidIsValid(get_relname_relid(index_name, get_rel_namespace(relid))))
		return psprintf("USING INDEX %s", quote_identifier(index_name));
	return "DEFAULT";
}

static bool
is_full(Oid relid)
{
	HeapTuple	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	bool		full;

	if (!HeapTupleIsValid(tup))
		return false;
	full = ((Form_pg_class) GETSTRUCT(tup))->relreplident == REPLICA_IDENTITY_FULL;
	ReleaseSysCache(tup);
	return full;
}

static void
alter_identity(Oid relid, const char *clause)
{
	char	   *name = ddir_relation_name(relid);

	if (SPI_execute(psprintf("ALTER TABLE %s REPLICA IDENTITY %s", name, clause),
					false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not change the replica identity of %s", name);
}

/* The table is locked. */
static void
restore_identity(Oid relid, const char *clause)
{
	if (!is_full(relid))
		return;					/* dropped, or the user set another one */
	alter_identity(relid, clause);
	if (!ddir_publication_refuses(relid))
		return;
	/* published meanwhile as only the full identity allows */
	alter_identity(relid, "FULL");
	ereport(NOTICE,
			(errmsg("table %s keeps REPLICA IDENTITY FULL", ddir_relation_name(relid)),
			 errdetail("With the one it had, a publication would make its updates fail.")));
}

/* ----
 * All that are remembered
 * ----
 */

/* SPI is connected, as in what it calls. */
static void
for_remembered(void (*work) (Oid relid, const char *clause))
{
	SPITupleTable *rows;
	uint64		n;

	if (SPI_execute("SELECT relid, former, index_name FROM ddir._identity",
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read ddir._identity");
	rows = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(rows->vals[i], rows->tupdesc, 1, &isnull));
		char		former = DatumGetChar(SPI_getbinval(rows->vals[i], rows->tupdesc, 2, &isnull));

		work(relid, identity_clause(former, SPI_getvalue(rows->vals[i], rows->tupdesc, 3), relid));
	}
}

static void
give_back(Oid relid, const char *clause)
{
	if (!lock_source(relid))
	{
		ereport(WARNING,
				(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
				 errmsg("table %s keeps REPLICA IDENTITY FULL", ddir_relation_name(relid)),
				 errdetail("Other sessions did not let it be changed for %d ms.", LOCK_MS),
				 errhint("Use ALTER TABLE ... REPLICA IDENTITY %s later.", clause)));
		return;
	}
	restore_identity(relid, clause);
	ddir_kept_delete("_identity", relid);
}

void
ddir_identities_give_back(void)
{
	for_remembered(give_back);
}

/* Are its old rows known by their key, where they must not be logged whole? */
static bool
has_key(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		has = OidIsValid(RelationGetReplicaIndex(rel)) && !rel->rd_rel->relispartition;

	table_close(rel, NoLock);
	return has;
}

/* Waits for the table as long as the user's command would. */
static void
give_back_published(Oid relid, const char *clause)
{
	if (!is_full(relid) || !ddir_publication_refuses(relid))
		return;
	LockRelationOid(relid, AccessExclusiveLock);
	if (!is_full(relid))
		return;
	alter_identity(relid, clause);
	ddir_kept_delete("_identity", relid);
	if (has_key(relid))
		ereport(NOTICE,
				(errmsg("ddir views that read table %s will be filled again when it is updated",
						ddir_relation_name(relid)),
				 errdetail("Under REPLICA IDENTITY FULL, which it had for them, this publication would make updates of the table fail.")));
	else
		ereport(NOTICE,
				(errmsg("ddir views that read table %s will be suspended when it is updated",
						ddir_relation_name(relid)),
				 errdetail("They need REPLICA IDENTITY FULL, under which this publication would make updates of the table fail."),
				 errhint("Without the column list, or the publication, they will come back.")));
}

static void
look_at_publications(bool unused)
{
	for_remembered(give_back_published);
}

void
ddir_identities_published(void)
{
	PushActiveSnapshot(GetTransactionSnapshot());
	ddir_as_superuser(look_at_publications, false);
	PopActiveSnapshot();
}

/* ----
 * Triggers
 * ----
 */

/* When the extension is dropped, its triggers go with their function. */
void
ddir_triggers_drop(void)
{
	SPITupleTable *rows;
	uint64		n;
	Oid			locked = InvalidOid;
	Oid			given_up = InvalidOid;

	if (SPI_execute("SELECT tgrelid, pg_catalog.quote_ident(tgname) FROM pg_catalog.pg_trigger"
					" WHERE tgfoid OPERATOR(pg_catalog.=) 'ddir._capture()'::pg_catalog.regprocedure"
					" ORDER BY tgrelid",
					false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read pg_trigger");
	rows = SPI_tuptable;
	n = SPI_processed;
	for (uint64 i = 0; i < n; i++)
	{
		bool		isnull;
		Oid			relid = DatumGetObjectId(SPI_getbinval(rows->vals[i], rows->tupdesc, 1, &isnull));

		if (relid == given_up)
			continue;
		if (relid != locked && !lock_source(relid))
		{
			ereport(WARNING,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("table %s keeps ddir's triggers", ddir_relation_name(relid)),
					 errdetail("Other sessions did not let it be changed for %d ms.", LOCK_MS),
					 errhint("Call ddir.enable() and ddir.disable() later, or drop the extension.")));
			given_up = relid;
			continue;
		}
		locked = relid;
		if (get_rel_name(relid) == NULL)
			continue;			/* dropped meanwhile */
		if (SPI_execute(psprintf("DROP TRIGGER IF EXISTS %s ON %s",
								 SPI_getvalue(rows->vals[i], rows->tupdesc, 2),
								 ddir_relation_name(relid)),
						false, 0) != SPI_OK_UTILITY)
			elog(ERROR, "could not drop a trigger of %s", ddir_relation_name(relid));
	}
}
