/*-------------------------------------------------------------------------
 *
 * canonical.h
 *	  The canonical query of a view: where the server leaves freedom, as ddir
 *	  fixes it.
 *
 * src/api/canonical.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_API_CANONICAL_H
#define DDIR_API_CANONICAL_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* query: rewritten, so that plain views are expanded; returns a changed copy */
extern Query *ddir_canonical_query(Query *query);

#endif							/* DDIR_API_CANONICAL_H */
