/*-------------------------------------------------------------------------
 *
 * create.c
 *	  Creating ddir views: what is looked at before one may exist.
 *
 * Every route to a materialized view (CREATE, its EXPLAIN ANALYZE, a dump that
 * relies on default_table_access_method) stores the view's query as a rule,
 * and the server tells of each new rule through object_access_hook; so the
 * analysis hangs there.  The rule's row was just inserted and the command has
 * not ended, so it is read by a snapshot that sees everything of our own.
 *
 * The same hook refuses tables with our access method.  Tables that the
 * server makes for itself (to rewrite a view's heap, for TOAST) carry it
 * rightly.
 *
 * Under binary upgrade nothing is looked at: the catalog is copied as it was.
 *
 * src/ddl/create.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_rewrite.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"

#include "base/config.h"
#include "base/shared.h"
#include "base/slots.h"
#include "ddl/create.h"
#include "meta/view.h"

bool		ddir_create_transient_allowed = false;

static object_access_hook_type prev_object_access;
static DdirAnalyse analyse_query;

/* ----
 * What must be so
 * ----
 */

static void
require_settings(void)
{
	ddir_shared_require();
	if (ddir_capture_mode() == DDIR_CAPTURE_TRIGGER)
		return;
	if (wal_level < WAL_LEVEL_LOGICAL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("ddir views need wal_level = logical if ddir.capture is \"logical\""),
				 errdetail("Changes of tables are read from the write-ahead log, which does not hold them at wal_level = %s.",
						   GetConfigOption("wal_level", false, false)),
				 errhint("Set ddir.capture = auto, or wal_level = logical and restart the server.")));
	if (ddir_slots_list(MyDatabaseId) == NIL && !ddir_slots_free())
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no replication slot is free for the ddir views of this database"),
				 errdetail("Each database with ddir views needs one; all max_replication_slots = %s are in use.",
						   GetConfigOption("max_replication_slots", false, false)),
				 errhint("Raise max_replication_slots and restart the server, or drop a slot that is not needed.")));
}

/*
 * The database's slot in shared memory is taken at once; if the transaction
 * rolls back, the launcher finds that nobody needs it.
 */
static void
require_room(void)
{
	int			here = ddir_view_count();	/* with the new one */
	DdirDatabaseSlot *slot;
	int			elsewhere;
	bool		disabled;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	elsewhere = ddir_shared_count_views(MyDatabaseId);
	slot = ddir_shared_database(MyDatabaseId, true);
	disabled = slot != NULL && slot->disabled;
	LWLockRelease(ddir_shared->lock);

	if (slot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many databases have ddir views"),
				 errdetail("There can be ddir.max_databases = %d.", ddir_max_databases),
				 errhint("Raise ddir.max_databases and restart the server.")));
	if (here + elsewhere > ddir_max_views)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("too many ddir views"),
				 errdetail("There can be ddir.max_views = %d in all databases together.", ddir_max_views),
				 errhint("Raise ddir.max_views and restart the server.")));
	if (disabled)
		ereport(NOTICE,
				(errmsg("ddir is disabled in database \"%s\"", get_database_name(MyDatabaseId)),
				 errdetail("The view is not kept current before ddir.enable() is called.")));
}

void
ddir_create_check(const char *viewname, const Query *query, Oid owner)
{
	require_settings();
	analyse_query(viewname, query, owner);
	require_room();
	ddir_commit_recheck();
}

void
ddir_create_refuse_table(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("table \"%s\" cannot have access method \"ddir\"", name),
			 errdetail("The access method marks materialized views that are kept current."),
			 errhint("Use CREATE MATERIALIZED VIEW ... USING ddir; for tables leave out USING ddir, or set default_table_access_method to heap.")));
}

/* ----
 * The hook
 * ----
 */

/* The relation and the query of a rule just made; false if it is not a view's. */
static bool
read_rule(Oid ruleoid, Oid *relid, Query **query)
{
	Relation	rewrite = table_open(RewriteRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tup;

	*query = NULL;
	ScanKeyInit(&key, Anum_pg_rewrite_oid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ruleoid));
	scan = systable_beginscan(rewrite, RewriteOidIndexId, true, SnapshotSelf, 1, &key);
	tup = systable_getnext(scan);
	if (HeapTupleIsValid(tup))
	{
		Form_pg_rewrite rule = (Form_pg_rewrite) GETSTRUCT(tup);

		*relid = rule->ev_class;
		if (ddir_is_view(rule->ev_class))
		{
			bool		isnull;
			Datum		action = heap_getattr(tup, Anum_pg_rewrite_ev_action,
											  RelationGetDescr(rewrite), &isnull);
			List	   *actions = isnull ? NIL :
			castNode(List, stringToNode(TextDatumGetCString(action)));

			if (list_length(actions) == 1)
				*query = linitial_node(Query, actions);
		}
	}
	systable_endscan(scan);
	table_close(rewrite, AccessShareLock);
	return *query != NULL;
}

static void
rule_created(Oid ruleoid)
{
	Oid			relid;
	Query	   *query;
	Relation	rel;

	if (!OidIsValid(ddir_am_oid()) || !read_rule(ruleoid, &relid, &query))
		return;
	rel = table_open(relid, NoLock);	/* its creator holds a lock */
	ddir_create_check(RelationGetRelationName(rel), query, rel->rd_rel->relowner);
	table_close(rel, NoLock);
}

static void
relation_created(Oid relid, bool is_internal)
{
	Oid			am = is_internal ? InvalidOid : ddir_am_oid();
	Relation	rel;

	if (!OidIsValid(am))
		return;
	/* its row cannot be seen yet, but whoever creates it has it open */
	rel = RelationIdGetRelation(relid);
	if (rel == NULL)
		return;
	if (rel->rd_rel->relam == am &&
		(rel->rd_rel->relkind == RELKIND_RELATION ||
		 rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE) &&
		!(ddir_create_transient_allowed &&
		  rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP &&
		  strncmp(RelationGetRelationName(rel), "pg_temp_", 8) == 0))
		ddir_create_refuse_table(RelationGetRelationName(rel));
	RelationClose(rel);
}

static void
object_access(ObjectAccessType access, Oid classId, Oid objectId, int subId, void *arg)
{
	if (prev_object_access)
		prev_object_access(access, classId, objectId, subId, arg);
	if (access != OAT_POST_CREATE || IsBinaryUpgrade)
		return;
	if (classId == RewriteRelationId)
		rule_created(objectId);
	else if (classId == RelationRelationId && subId == 0)
		relation_created(objectId, ((ObjectAccessPostCreate *) arg)->is_internal);
}

void
ddir_create_init(DdirAnalyse analyse)
{
	analyse_query = analyse;
	prev_object_access = object_access_hook;
	object_access_hook = object_access;
}
