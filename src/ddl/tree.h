/*-------------------------------------------------------------------------
 *
 * tree.h
 *	  Tables that become part of what a ddir view reads.
 *
 * src/ddl/tree.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_DDL_TREE_H
#define DDIR_DDL_TREE_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "nodes/primnodes.h"

/* Captures tables' changes from now on; capture is beside this layer. */
typedef void (*DdirJoin) (List *joined, List *tables, bool empty);

/* from _PG_init */
extern void ddir_tree_init(DdirJoin join);

/* The relation, if there is one, was made or attached below others. */
extern void ddir_tree_joined(const RangeVar *relation);

#endif							/* DDIR_DDL_TREE_H */
