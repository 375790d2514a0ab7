/*-------------------------------------------------------------------------
 *
 * tree.c
 *	  Trees of tables.
 *
 * The catalog is read by a snapshot that the caller may give, so that what a
 * scan, a cut or a decoded transaction sees of the rows and of the tree is of
 * one moment.  A row of pg_inherits is made when a partition is attached and
 * goes when it is detached, so the rows' own identities tell states apart.
 *
 * Memory: results in CurrentMemoryContext.
 *
 * src/meta/tree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "engine/delta.h"
#include "meta/tree.h"

/* Of a row of pg_inherits; those of all rows are added up. */
static uint64
mark_of_edge(HeapTuple tup)
{
	Form_pg_inherits row = (Form_pg_inherits) GETSTRUCT(tup);
	uint64		edge = (uint64) row->inhparent << 32 | row->inhrelid;

	return ddir_key_mix(hash_combine64(edge, HeapTupleHeaderGetRawXmin(tup->t_data)));
}

/* Append the children of a table.  Their order does not matter to the mark. */
static List *
add_children(Relation inherits, Oid parent, Snapshot snapshot, List *below, uint64 *mark)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tup;

	ScanKeyInit(&key, Anum_pg_inherits_inhparent, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(parent));
	scan = systable_beginscan(inherits, InheritsParentIndexId, true, snapshot, 1, &key);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		Form_pg_inherits row = (Form_pg_inherits) GETSTRUCT(tup);

		if (row->inhdetachpending)
			continue;
		below = lappend_oid(below, row->inhrelid);
		*mark += mark_of_edge(tup);
	}
	systable_endscan(scan);
	return below;
}

List *
ddir_tree_below(Oid root, Snapshot snapshot, uint64 *mark)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	uint64		sum = 0;
	List	   *below = add_children(inherits, root, snapshot, NIL, &sum);

	for (int i = 0; i < list_length(below); i++)
	{
		CHECK_FOR_INTERRUPTS();
		below = add_children(inherits, list_nth_oid(below, i), snapshot, below, &sum);
	}
	table_close(inherits, AccessShareLock);
	list_sort(below, list_oid_cmp);
	if (mark)
		*mark = sum;
	return below;
}

List *
ddir_tree_tables(Oid source)
{
	List	   *tables = NIL;
	ListCell   *lc;

	if (get_rel_relkind(source) != RELKIND_PARTITIONED_TABLE)
		return list_make1_oid(source);
	foreach(lc, ddir_tree_below(source, NULL, NULL))
	{
		if (get_rel_relkind(lfirst_oid(lc)) != RELKIND_PARTITIONED_TABLE)
			tables = lappend_oid(tables, lfirst_oid(lc));
	}
	return tables;
}

List *
ddir_tree_above(Oid relid)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	List	   *todo = list_make1_oid(relid);

	/* it grows while it is walked */
	for (int i = 0; i < list_length(todo); i++)
	{
		ScanKeyData key;
		SysScanDesc scan;
		HeapTuple	tup;

		CHECK_FOR_INTERRUPTS();
		ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(list_nth_oid(todo, i)));
		scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
		while (HeapTupleIsValid(tup = systable_getnext(scan)))
			todo = list_append_unique_oid(todo, ((Form_pg_inherits) GETSTRUCT(tup))->inhparent);
		systable_endscan(scan);
	}
	table_close(inherits, AccessShareLock);
	return list_delete_first(todo);
}

bool
ddir_tree_edge(Oid partition, Snapshot snapshot, DdirTreeEdge *edge)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tup;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(partition));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, snapshot, 1, &key);
	tup = systable_getnext(scan);
	if (HeapTupleIsValid(tup))
	{
		edge->parent = ((Form_pg_inherits) GETSTRUCT(tup))->inhparent;
		edge->xmin = HeapTupleHeaderGetRawXmin(tup->t_data);
		edge->mark = mark_of_edge(tup);
	}
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return HeapTupleIsValid(tup);
}

/* Mostly columns have the same places, or nearly. */
static AttrNumber
find_column(TupleDesc desc, Form_pg_attribute of, int near)
{
	for (int i = 0; i < desc->natts; i++)
	{
		int			k = (near + i) % desc->natts;
		Form_pg_attribute att = TupleDescAttr(desc, k);

		if (!att->attisdropped && strcmp(NameStr(att->attname), NameStr(of->attname)) == 0)
			return att->atttypid == of->atttypid ? k : -1;
	}
	return -1;
}

AttrNumber *
ddir_tree_map(TupleDesc root, int natts, TupleDesc partition)
{
	AttrNumber *map = palloc(natts * sizeof(AttrNumber) + 1);
	bool		same = true;

	for (int i = 0; i < natts; i++)
	{
		map[i] = -1;
		if (i < root->natts && !TupleDescAttr(root, i)->attisdropped)
		{
			map[i] = find_column(partition, TupleDescAttr(root, i), i);
			same = same && map[i] == i;
		}
		else if (i >= root->natts || i >= partition->natts)
			same = false;
	}
	if (!same)
		return map;
	pfree(map);
	return NULL;
}
