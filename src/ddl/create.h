/*-------------------------------------------------------------------------
 *
 * create.h
 *	  Creating ddir views: what is looked at before one may exist.
 *
 * src/ddl/create.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_DDL_CREATE_H
#define DDIR_DDL_CREATE_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "base/compat.h"

/*
 * Raises an error if the query cannot be maintained.  Plans are made beside
 * this layer, so it is given from above.
 */
typedef void (*DdirAnalyse) (const char *viewname, const Query *query, Oid owner);

/* from _PG_init: installs the hook */
extern void ddir_create_init(DdirAnalyse analyse);

/*
 * May this view be a ddir view?  Looks at the server's settings, the query, and
 * the limits; raises an error if not, else asks for a look at the catalog when
 * the transaction commits.
 */
extern void ddir_create_check(const char *viewname, const Query *query, Oid owner);

/* ereport(ERROR): the access method is for materialized views only */
pg_noreturn extern void ddir_create_refuse_table(const char *name);

/*
 * Temporary tables named pg_temp_... may be made: REFRESH CONCURRENTLY of
 * another view makes one, under default_table_access_method.
 */
extern bool ddir_create_transient_allowed;

#endif							/* DDIR_DDL_CREATE_H */
