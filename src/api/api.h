/*-------------------------------------------------------------------------
 *
 * api.h
 *	  What the SQL functions share: looking at their arguments.
 *
 * src/api/api.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_API_API_H
#define DDIR_API_API_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/parsenodes.h"

/* The argument as a ddir view: 22004, 42P01, 42809 if it is none. */
extern Oid	ddir_api_view(FunctionCallInfo fcinfo, int arg);

/* 42501 unless the user is a member of the view's owner, or may select from it */
extern void ddir_api_require_owner(Oid view);
extern void ddir_api_require_select(Oid view);

/* 25006 or 55000 where nothing can be changed now */
extern void ddir_api_require_primary(const char *what);

/* The analysis of a view at creation; see ddl/create.h. */
extern void ddir_api_analyse(const char *viewname, const Query *query, Oid owner);

#endif							/* DDIR_API_API_H */
