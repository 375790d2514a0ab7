/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  Trees of tables: which tables hold the rows of a partitioned one, and how
 *	  theirs become rows of it.
 *
 * A partitioned table is one source, as it has no rows but its partitions'.
 * (Inheritance is a union of sources: plan/from.c.)  Everything here needs a
 * transaction, and takes no locks.
 *
 * src/meta/tree.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_META_TREE_H
#define DDIR_META_TREE_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

/*
 * The partitions below a table, of all levels, as Oids in their order: those
 * that the snapshot (NULL: the catalog's newest) sees and that are not being
 * detached.  *mark, unless mark is NULL, differs wherever one was attached or
 * detached, were it the same one.
 */
extern List *ddir_tree_below(Oid root, Snapshot snapshot, uint64 *mark);

/* What makes a partition one: who did so, and what it adds to marks. */
typedef struct DdirTreeEdge
{
	Oid			parent;
	TransactionId xmin;
	uint64		mark;
} DdirTreeEdge;

/* false: it is no partition */
extern bool ddir_tree_edge(Oid partition, Snapshot snapshot, DdirTreeEdge *edge);

/*
 * The tables that hold the rows of a source: itself, or the partitions that
 * are not partitioned again, as Oids in their order.
 */
extern List *ddir_tree_tables(Oid source);

/* The tables that this one is a partition or a child of, at all distances. */
extern List *ddir_tree_above(Oid relid);

/*
 * For each of the first natts columns of the root, the attribute (from 0) of
 * the partition that has its name and type; -1: none, or the column was
 * dropped.  NULL: they are all at the same places.
 */
extern AttrNumber *ddir_tree_map(TupleDesc root, int natts, TupleDesc partition);

#endif							/* DDIR_META_TREE_H */
