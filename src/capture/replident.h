/*-------------------------------------------------------------------------
 *
 * replident.h
 *	  How a table logs its old rows: whole (REPLICA IDENTITY FULL), or as the
 *	  columns of its identity index, which is left as it is.
 *
 * src/capture/replident.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_REPLIDENT_H
#define DDIR_CAPTURE_REPLIDENT_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "capture/attempt.h"

/* The columns that are logged of an old row, where an index says which. */
typedef struct DdirIdentityKey
{
	List	   *atts;			/* of int: attribute numbers, in the index's
								 * order; NIL: there is no such index */
	bool		plain;			/* unique by the types' own equality */
} DdirIdentityKey;

/*
 * Attempts.  What the identity was is remembered in ddir._identity and restored
 * by ddir_identity_restore (DONE: it is, or was never changed by us).
 *
 * Where by_key allows it, a table whose values are mostly out of line, or that
 * must not log old rows whole, is left with the identity it has: *key says its
 * columns then (in the caller's context), and is empty otherwise.
 */
extern DdirAttemptResult ddir_identity_prepare(Oid relid, bool by_key, int lock_ms,
											   DdirIdentityKey *key, char **why);
extern DdirAttemptResult ddir_identity_restore(Oid relid, int lock_ms);

/* The key of the identity as it is; in a transaction. */
extern DdirIdentityKey ddir_identity_key(Oid relid);

/*
 * The same at once, in a transaction that has locked the table, as superuser
 * and with SPI.  Where that would make writes fail, it is left as it is.
 */
extern void ddir_identity_set_full_now(Oid relid);

/*
 * Would preparing it be refused, by_key or not?  In a transaction, with a
 * snapshot.
 */
extern bool ddir_identity_refused(Oid relid, bool by_key);

/* The tables whose identity is to be restored one day; needs a snapshot. */
extern List *ddir_identity_remembered(void);

#endif							/* DDIR_CAPTURE_REPLIDENT_H */
