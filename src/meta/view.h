/*-------------------------------------------------------------------------
 *
 * view.h
 *	  What the catalog says of ddir views: which they are, what they read, and
 *	  who reads them.
 *
 * There is no catalog of our own: a ddir view is a materialized view whose
 * access method is "ddir", its definition is its rule, what it depends on is
 * in pg_depend.  Everything here needs a transaction.
 *
 * src/meta/view.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_META_VIEW_H
#define DDIR_META_VIEW_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/relcache.h"

/* InvalidOid where the extension is not there */
extern Oid	ddir_am_oid(void);

/* Is this a ddir view (relkind m, access method ddir)? */
extern bool ddir_is_view(Oid relid);

/* Is this a relation of the extension's, in which it keeps what is its own? */
extern bool ddir_is_kept(Oid relid);

/* The ddir views of this database, as Oids in their order. */
extern List *ddir_view_list(void);
extern int	ddir_view_count(void);

/* The stored query of a view (plain or materialized), a copy. */
extern Query *ddir_view_query(Relation view);

/*
 * The relations a ddir view reads, as Oids in their order: through plain views,
 * and with "through_ddir" through ddir views too, down to base relations.
 */
extern List *ddir_view_reads(Oid view, bool through_ddir);

/* The ddir views that read this relation, directly or through plain views. */
extern List *ddir_view_readers(Oid relid);

/*
 * A number that is another one when these relations are defined otherwise: by
 * the versions of their rows in pg_class, pg_attribute, pg_attrdef and
 * pg_policy.  Takes no locks.
 */
extern uint64 ddir_relations_version(List *relids);

/* schema.name, quoted as needed; of a relation that is gone: its OID */
extern char *ddir_relation_name(Oid relid);

#endif							/* DDIR_META_VIEW_H */
