/*-------------------------------------------------------------------------
 *
 * utility.c
 *	  Utility commands that mean something else, or more, where ddir is.
 *
 *	REFRESH MATERIALIZED VIEW	of a live ddir view waits until it is current;
 *								the server's own is for views that are not, and
 *								for transactions whose own changes it must see.
 *								CONCURRENTLY makes no difference.  Of what ddir
 *								keeps for itself: leaves it as it is.
 *	ALTER ... SET ACCESS METHOD	ddir: looked at as at creation; away from it:
 *								refused while other ddir views read the view
 *	CREATE DATABASE ... TEMPLATE, DROP, RENAME, SET TABLESPACE of a database:
 *								its maintainer steps aside
 *	ALTER DATABASE, ROLE ... SET	may change ddir.capture: once it is committed,
 *								maintainers compare it with what they do
 *	DROP EXTENSION				the maintainer leaves, slot and origin go
 *	CREATE, ALTER PUBLICATION	tables whose updates would fail because their old
 *								rows are logged whole get their identity back
 *	COMMIT PREPARED				the prepared transaction may have made views, or
 *								changed settings
 *	ALTER, CREATE INDEX			of relations of ddir's own: refused, but for how
 *								they are stored
 *
 * Whether the user may do it is the server's to say.  We ask a maintainer to
 * leave only if so, and let the server complain otherwise.
 *
 * src/ddl/utility.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "catalog/pg_database.h"
#include "catalog/pg_db_role_setting.h"
#include "commands/dbcommands.h"
#include "commands/defrem.h"
#include "commands/extension.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "storage/lock.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "base/leave.h"
#include "base/shared.h"
#include "ddl/create.h"
#include "ddl/identity.h"
#include "ddl/retire.h"
#include "ddl/tree.h"
#include "ddl/utility.h"
#include "meta/freshness.h"
#include "meta/view.h"

#define LEAVE_MS 30000

/* A utility command on its way: the hook's arguments. */
typedef struct Command
{
	PlannedStmt *pstmt;
	const char *query;
	bool		read_only_tree;
	ProcessUtilityContext context;
	ParamListInfo params;
	QueryEnvironment *env;
	DestReceiver *dest;
	QueryCompletion *completion;
} Command;

static ProcessUtility_hook_type prev_process_utility;

static void
proceed(const Command *c)
{
	ProcessUtility_hook_type next = prev_process_utility ? prev_process_utility :
	standard_ProcessUtility;

	next(c->pstmt, c->query, c->read_only_tree, c->context, c->params, c->env,
		 c->dest, c->completion);
}

/* ----
 * REFRESH
 * ----
 */

/* True: the view now shows all that was committed before. */
static bool
refresh_by_waiting(Oid view)
{
	List	   *views = list_make1_oid(view);
	DdirFreshness f;
	char	   *why;

	if (ddir_shared == NULL || RecoveryInProgress() || IsolationUsesXactSnapshot() ||
		TransactionIdIsValid(GetTopTransactionIdIfAny()) ||
		!ddir_freshness_servable(view, &why))
		return false;
	ddir_freshness_await(views, ddir_freshness_target(), -1, true, &f);
	return f.result == DDIR_FRESHNESS_REACHED && f.state == DDIR_VIEW_LIVE;
}

static void
refresh_ddir_view(const Command *c, const RefreshMatViewStmt *stmt, Oid view)
{
	Command		plain = *c;

	if (!stmt->skipData && refresh_by_waiting(view))
	{
		if (c->completion)
			SetQueryCompletion(c->completion, CMDTAG_REFRESH_MATERIALIZED_VIEW, 0);
		return;
	}
	if (stmt->concurrent && !stmt->skipData)
	{
		plain.pstmt = copyObject(c->pstmt);
		castNode(RefreshMatViewStmt, plain.pstmt->utilityStmt)->concurrent = false;
		plain.read_only_tree = false;
	}
	proceed(&plain);
	ddir_commit_recheck();
}

/* CONCURRENTLY makes a table, by whatever default_table_access_method says. */
static void
refresh_other_view(const Command *c)
{
	ddir_create_transient_allowed = true;
	PG_TRY();
	{
		proceed(c);
	}
	PG_FINALLY();
	{
		ddir_create_transient_allowed = false;
	}
	PG_END_TRY();
}

static void
refresh(const Command *c)
{
	RefreshMatViewStmt *stmt = castNode(RefreshMatViewStmt, c->pstmt->utilityStmt);
	Oid			view;

	if (!OidIsValid(ddir_am_oid()))
	{
		proceed(c);
		return;
	}
	view = RangeVarGetRelidExtended(stmt->relation, NoLock, 0,
									ddir_compat_refresh_callback, NULL);
	if (ddir_is_view(view))
		refresh_ddir_view(c, stmt, view);
	else if (ddir_is_kept(view))
	{
		if (c->completion)
			SetQueryCompletion(c->completion, CMDTAG_REFRESH_MATERIALIZED_VIEW, 0);
	}
	else
		refresh_other_view(c);
}

/* ----
 * Relations of ddir's own
 * ----
 */

/* Where and how it is stored is nothing that ddir relies on. */
static bool
alters_storage_only(const AlterTableStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->cmds)
	{
		AlterTableType type = lfirst_node(AlterTableCmd, lc)->subtype;

		if (type != AT_SetTableSpace && type != AT_SetRelOptions && type != AT_ResetRelOptions)
			return false;
	}
	return true;
}

/* The relation that the command alters; NULL: none. */
static const RangeVar *
altered_relation(const Node *node)
{
	switch (nodeTag(node))
	{
		case T_RenameStmt:
			return ((const RenameStmt *) node)->relation;
		case T_AlterObjectSchemaStmt:
			return ((const AlterObjectSchemaStmt *) node)->relation;
		case T_IndexStmt:
			return ((const IndexStmt *) node)->relation;
		case T_AlterTableStmt:
			return alters_storage_only((const AlterTableStmt *) node) ? NULL :
				((const AlterTableStmt *) node)->relation;
		default:
			return NULL;
	}
}

static bool
is_own(Oid relid)
{
	if (get_rel_relkind(relid) == RELKIND_INDEX)
		relid = IndexGetRelation(relid, true);
	return OidIsValid(relid) && ddir_is_kept(relid);
}

/* ALTER SCHEMA ddir RENAME TO ... */
static bool
renames_schema(const Node *node)
{
	const RenameStmt *stmt = (const RenameStmt *) node;

	return IsA(node, RenameStmt) && stmt->renameType == OBJECT_SCHEMA &&
		strcmp(stmt->subname, "ddir") == 0;
}

static void
refuse_altering_own(const Node *node)
{
	const RangeVar *relation = altered_relation(node);
	Oid			relid;

	if ((relation == NULL && !renames_schema(node)) || creating_extension ||
		!OidIsValid(ddir_am_oid()))
		return;
	if (relation == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot rename schema ddir"),
				 errdetail("The extension ddir looks there for its relations and functions."),
				 errhint("Leave it as it is.")));
	relid = RangeVarGetRelid(relation, NoLock, true);
	if (OidIsValid(relid) && is_own(relid))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("cannot alter %s", ddir_relation_name(relid)),
				 errdetail("It is a relation of the extension ddir, which expects it to be as it was made."),
				 errhint("Leave it as it is.")));
}

/* ----
 * ALTER ... SET ACCESS METHOD
 * ----
 */

static void
refuse_letting_go(Oid view, List *readers)
{
	StringInfoData names;
	ListCell   *lc;

	initStringInfo(&names);
	foreach(lc, readers)
		appendStringInfo(&names, "%s%s", names.len ? ", " : "",
						 ddir_relation_name(lfirst_oid(lc)));
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("cannot change the access method of view %s because other ddir views read it",
					ddir_relation_name(view)),
			 errdetail_plural("View reading it: %s.", "Views reading it: %s.",
							  list_length(readers), names.data),
			 errhint("Change the access method of these views first.")));
}

/* The relation is locked as the command will lock it. */
static void
set_access_method(Oid relid, const char *method)
{
	bool		was = ddir_is_view(relid);
	bool		becomes = get_table_am_oid(method ? method : default_table_access_method,
										   true) == ddir_am_oid();

	if (becomes && get_rel_relkind(relid) != RELKIND_MATVIEW)
		ddir_create_refuse_table(get_rel_name(relid));
	if (becomes && !was)
	{
		Relation	rel = RelationIdGetRelation(relid);

		if (rel == NULL)
			elog(ERROR, "could not open relation with OID %u", relid);
		ddir_create_check(RelationGetRelationName(rel), ddir_view_query(rel),
						  rel->rd_rel->relowner);
		RelationClose(rel);
	}
	if (was && !becomes)
	{
		List	   *readers = ddir_view_readers(relid);

		if (readers != NIL)
			refuse_letting_go(relid, readers);
		ddir_commit_recheck();
	}
}

static void
alter_table(const Command *c)
{
	AlterTableStmt *stmt = castNode(AlterTableStmt, c->pstmt->utilityStmt);
	ListCell   *lc;
	Oid			relid;

	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->subtype != AT_SetAccessMethod || !OidIsValid(ddir_am_oid()))
			continue;
		relid = AlterTableLookupRelation(stmt, AlterTableGetLockLevel(stmt->cmds));
		if (OidIsValid(relid))	/* else IF EXISTS */
			set_access_method(relid, cmd->name);
	}
	proceed(c);
	foreach(lc, stmt->cmds)
	{
		AlterTableCmd *cmd = lfirst_node(AlterTableCmd, lc);

		if (cmd->subtype == AT_AttachPartition)
			ddir_tree_joined(((PartitionCmd *) cmd->def)->name);
		else if (cmd->subtype == AT_AddInherit)
			ddir_tree_joined(stmt->relation);
	}
}

/* ----
 * Databases
 * ----
 */

static bool
may_create_databases(void)
{
	HeapTuple	tup = SearchSysCache1(AUTHOID, ObjectIdGetDatum(GetUserId()));
	bool		result;

	if (!HeapTupleIsValid(tup))
		return false;
	result = ((Form_pg_authid) GETSTRUCT(tup))->rolcreatedb || superuser();
	ReleaseSysCache(tup);
	return result;
}

/* Its maintainer steps aside, if the user may do what is asked for. */
static void
clear_database(const char *name, bool to_copy)
{
	Oid			dbid = name ? get_database_oid(name, true) : InvalidOid;

	if (ddir_shared == NULL || !OidIsValid(dbid) || dbid == MyDatabaseId)
		return;
	if (to_copy ? !may_create_databases() : !ddir_owns_database(dbid, GetUserId()))
		return;
	/* if it does not go, the server says that the database is in use */
	(void) ddir_leave_request(dbid, LEAVE_MS);
}

static const char *
option_string(List *options, const char *name)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, name) == 0 && option->arg != NULL)
			return defGetString(option);
	}
	return NULL;
}

static void
change_database(const Command *c)
{
	Node	   *node = c->pstmt->utilityStmt;

	/*
	 * All but RENAME fail in a transaction block, which is no reason to
	 * leave.
	 */
	if (IsA(node, RenameStmt))
		clear_database(((RenameStmt *) node)->subname, false);
	else if (c->context == PROCESS_UTILITY_TOPLEVEL && !IsTransactionBlock())
	{
		if (IsA(node, CreatedbStmt))
			clear_database(option_string(((CreatedbStmt *) node)->options, "template"), true);
		else if (IsA(node, DropdbStmt))
			clear_database(((DropdbStmt *) node)->dbname, false);
		else if (option_string(((AlterDatabaseStmt *) node)->options, "tablespace") != NULL)
			clear_database(((AlterDatabaseStmt *) node)->dbname, false);
	}
	proceed(c);
	if (ddir_shared != NULL)
		ddir_commit_wake_launcher();
}

/* For a database, a role, or all: SET of one, or RESET of all. */
static void
set_for_sessions(const Command *c)
{
	Node	   *node = c->pstmt->utilityStmt;
	const char *name = (IsA(node, AlterDatabaseSetStmt) ?
						((AlterDatabaseSetStmt *) node)->setstmt :
						((AlterRoleSetStmt *) node)->setstmt)->name;

	proceed(c);
	if (ddir_shared != NULL &&
		(name == NULL || pg_strcasecmp(name, "ddir.capture") == 0))
		ddir_commit_settings();
}

/* ----
 * DROP EXTENSION, COMMIT PREPARED
 * ----
 */

/* Does the command drop the extension, itself or by its schema? */
static bool
drops_extension(const DropStmt *stmt)
{
	ListCell   *lc;
	Oid			extension;
	Oid			schema;

	if (stmt->removeType != OBJECT_EXTENSION &&
		!(stmt->removeType == OBJECT_SCHEMA && stmt->behavior == DROP_CASCADE))
		return false;
	if (stmt->behavior != DROP_CASCADE && ddir_view_count() > 0)
		return false;			/* will be refused */
	foreach(lc, stmt->objects)
	{
		if (strcmp(strVal(lfirst(lc)), "ddir") != 0)
			continue;
		extension = get_extension_oid("ddir", true);
		schema = get_namespace_oid("ddir", true);
		return OidIsValid(extension) &&
			(stmt->removeType == OBJECT_EXTENSION ?
			 ddir_owns_extension(extension, GetUserId()) :
			 OidIsValid(schema) && ddir_owns_schema(schema, GetUserId()));
	}
	return false;
}

/*
 * Who changes settings has the catalog of them locked until the end, over a
 * restart, too.
 */
static bool
settings_are_locked(void)
{
	LOCKTAG		tag;
	int			n;

	SET_LOCKTAG_RELATION(tag, InvalidOid, DbRoleSettingRelationId);
	(void) GetLockConflicts(&tag, ShareLock, &n);
	return n > 0;
}

static void
commit_prepared(const Command *c)
{
	DdirDatabaseSlot *slot;
	bool		running;
	bool		settings = ddir_shared != NULL && settings_are_locked();

	proceed(c);
	if (settings)
		ddir_settings_changed();
	if (ddir_shared == NULL || !OidIsValid(ddir_am_oid()))
		return;
	LWLockAcquire(ddir_shared->lock, LW_SHARED);
	slot = ddir_shared_database(MyDatabaseId, false);
	running = slot != NULL && slot->pid != 0;
	LWLockRelease(ddir_shared->lock);
	/* a running one is woken by the commit and sees the catalog change */
	if (!running && ddir_view_count() > 0)
		ddir_commit_recheck();
}

/* ----
 * The hook
 * ----
 */

static void
dispatch(const Command *c)
{
	Node	   *node = c->pstmt->utilityStmt;

	refuse_altering_own(node);
	switch (nodeTag(node))
	{
		case T_RefreshMatViewStmt:
			refresh(c);
			return;
		case T_AlterTableStmt:
			alter_table(c);
			return;
		case T_CreateStmt:
			proceed(c);
			if (((CreateStmt *) node)->inhRelations != NIL)
				ddir_tree_joined(((CreateStmt *) node)->relation);
			return;
		case T_CreatedbStmt:
		case T_DropdbStmt:
		case T_AlterDatabaseStmt:
			change_database(c);
			return;
		case T_AlterDatabaseSetStmt:
		case T_AlterRoleSetStmt:
			set_for_sessions(c);
			return;
		case T_RenameStmt:
			if (((RenameStmt *) node)->renameType == OBJECT_DATABASE)
			{
				change_database(c);
				return;
			}
			break;
		case T_CreatePublicationStmt:
		case T_AlterPublicationStmt:
			proceed(c);
			if (OidIsValid(ddir_am_oid()))
				ddir_identities_published();
			return;
		case T_DropStmt:
			if (ddir_shared != NULL && drops_extension((DropStmt *) node))
				ddir_retire_begin();
			break;
		case T_TransactionStmt:
			if (((TransactionStmt *) node)->kind == TRANS_STMT_COMMIT_PREPARED)
			{
				commit_prepared(c);
				return;
			}
			break;
		default:
			break;
	}
	proceed(c);
}

static void
process_utility(PlannedStmt *pstmt, const char *queryString, bool readOnlyTree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *queryEnv, DestReceiver *dest, QueryCompletion *qc)
{
	Command		c = {pstmt, queryString, readOnlyTree, context, params, queryEnv, dest, qc};

	if (IsBinaryUpgrade)
		proceed(&c);
	else
		dispatch(&c);
}

void
ddir_utility_init(void)
{
	prev_process_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
