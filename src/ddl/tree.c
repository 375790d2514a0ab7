/*-------------------------------------------------------------------------
 *
 * tree.c
 *	  Tables that become part of what a ddir view reads.
 *
 * A partition or child that is made or attached below a source is made to log
 * its old rows, or given triggers, by the transaction that does so.  That one
 * has locked it anyway, and what is written to it afterwards, in the same
 * transaction too, is captured; the maintainer would have to wait for its lock.
 *
 * src/ddl/tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "base/config.h"
#include "base/shared.h"
#include "ddl/identity.h"
#include "ddl/tree.h"
#include "meta/tree.h"
#include "meta/view.h"

static DdirJoin join_source;
static List *joining;

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

static void
join_all(bool unused)
{
	ListCell   *lc;

	foreach(lc, joining)
	{
		if (can_join(lfirst_oid(lc)))
			join_source(lfirst_oid(lc));
	}
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
	joining = ddir_tree_tables(relid);
	PushActiveSnapshot(GetTransactionSnapshot());
	ddir_as_superuser(join_all, false);
	PopActiveSnapshot();
	joining = NIL;
}
