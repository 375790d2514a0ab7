/*-------------------------------------------------------------------------
 *
 * kept.h
 *	  Writing to the relations in which the extension keeps what is its own.
 *
 * They are materialized views, which nobody but us writes to: no publication
 * ever has one, whether it is of all tables or of a schema.  SQL reads them,
 * and cannot write; here is what does.
 *
 * Rows are found by their first column, which is unique.  All need a
 * transaction; what was written is seen by the next command.
 *
 * src/store/kept.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_STORE_KEPT_H
#define DDIR_STORE_KEPT_H

#include "postgres.h"

/*
 * The row with the key values[0] gets the others where "replace" says so; if
 * there is none, all become one.
 */
extern void ddir_kept_put(const char *name, const Datum *values, const bool *isnull,
						  const bool *replace);

/* An Oid is the key; InvalidOid: all rows go. */
extern void ddir_kept_delete(const char *name, Oid key);

/*
 * The rows of one relation are to be those of another that takes its place, as
 * a script that updates the extension has it: columns are matched by name and
 * type, new ones are as in the row that the new relation begins with.
 */
extern void ddir_kept_carry(Oid from, Oid to);

#endif							/* DDIR_STORE_KEPT_H */
