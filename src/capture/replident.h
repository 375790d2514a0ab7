/*-------------------------------------------------------------------------
 *
 * replident.h
 *	  Making a table log its old rows: REPLICA IDENTITY FULL, and back.
 *
 * src/capture/replident.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_REPLIDENT_H
#define DDIR_CAPTURE_REPLIDENT_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef enum DdirIdentityResult
{
	DDIR_IDENTITY_SET,			/* full now (or was) */
	DDIR_IDENTITY_LOCKED,		/* not to be had now: try again */
	DDIR_IDENTITY_REFUSED		/* *why says what stands in the way */
} DdirIdentityResult;

/*
 * Each in a transaction of its own, which waits so long for the table's lock (0:
 * not at all); meanwhile everybody else waits behind it.  What the identity was is remembered in ddir._identity and restored by
 * ddir_identity_restore (SET: it is, or was never changed by us).
 */
extern DdirIdentityResult ddir_identity_set_full(Oid relid, int lock_ms, char **why);
extern DdirIdentityResult ddir_identity_restore(Oid relid, int lock_ms);

/* The tables whose identity is to be restored one day; needs a snapshot. */
extern List *ddir_identity_remembered(void);

#endif							/* DDIR_CAPTURE_REPLIDENT_H */
