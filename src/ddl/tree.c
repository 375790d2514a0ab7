/*-------------------------------------------------------------------------
 *
 * tree.c
 *	  Tables that become part of what a ddir view reads.
 *
 * A partition or child that is made or attached below a source is made to log
 * its old rows, or given triggers, by the transaction that does so.  That one
 * has locked it anyway, and what is written to it afterwards, in the same
 * transaction too, is captured; the maintainer would have to wait for its lock.
 * If it is empty, that is all there is to do, and no view has to be hydrated.
 *
 * src/ddl/tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/config.h"
#include "base/shared.h"
#include "ddl/identity.h"
#include "ddl/tree.h"
#include "meta/tree.h"
#include "meta/view.h"

static DdirJoin join_source;
static Oid	joining;

void
ddir_tree_init(DdirJoin join)
{
	join_source = join;
}

/* Does a ddir view read one of the tables above? */
static bool
is_read_from_above(Oid relid)
{
	List	   *above = ddir_tree_above(relid);
	ListCell   *lc;

	foreach(lc, above)
	{
		if (ddir_view_readers(lfirst_oid(lc)) != NIL)
			return true;
	}
	return false;
}

/* Triggers capture an unlogged table's changes, too. */
static bool
can_join(Oid relid)
{
	char		persistence = get_rel_persistence(relid);

	return get_rel_relkind(relid) == RELKIND_RELATION &&
		(persistence == RELPERSISTENCE_PERMANENT ||
		 (persistence == RELPERSISTENCE_UNLOGGED &&
		  ddir_capture_mode() == DDIR_CAPTURE_TRIGGER));
}

/* Its creator, or who attaches it, has locked it. */
static bool
has_no_block(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		empty = RelationGetNumberOfBlocks(rel) == 0;

	table_close(rel, NoLock);
	return empty;
}

static void
join_all(bool unused)
{
	List	   *joined = lcons_oid(joining, ddir_tree_below(joining, NULL, NULL));
	List	   *tables = NIL;
	bool		empty = true;
	ListCell   *lc;

	foreach(lc, joined)
	{
		if (can_join(lfirst_oid(lc)))
		{
			tables = lappend_oid(tables, lfirst_oid(lc));
			empty = empty && has_no_block(lfirst_oid(lc));
		}
		else if (get_rel_relkind(lfirst_oid(lc)) != RELKIND_PARTITIONED_TABLE)
			empty = false;
	}
	join_source(joined, tables, empty);
}

static bool
is_maintained(void)
{
	DdirDatabaseSlot *db = ddir_shared ? ddir_shared_mine() : NULL;

	return db != NULL && !db->disabled && !RecoveryInProgress();
}

void
ddir_tree_joined(const RangeVar *relation)
{
	Oid			relid;

	if (!OidIsValid(ddir_am_oid()) || !is_maintained())
		return;
	CommandCounterIncrement();
	relid = RangeVarGetRelid(relation, NoLock, true);
	if (!OidIsValid(relid) || !is_read_from_above(relid))
		return;
	joining = relid;
	PushActiveSnapshot(GetTransactionSnapshot());
	ddir_as_superuser(join_all, false);
	PopActiveSnapshot();
}
