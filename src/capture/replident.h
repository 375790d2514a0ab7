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

typedef enum DdirIdentityResult
{
	DDIR_IDENTITY_SET,			/* full now (or was) */
	DDIR_IDENTITY_LOCKED,		/* lock_timeout: try again */
	DDIR_IDENTITY_REFUSED		/* *why says what stands in the way */
} DdirIdentityResult;

/*
 * In a transaction of its own.  What the identity was is remembered in
 * ddir._identity and restored by ddir_identity_restore.
 */
extern DdirIdentityResult ddir_identity_set_full(Oid relid, char **why);
extern DdirIdentityResult ddir_identity_restore(Oid relid);

#endif							/* DDIR_CAPTURE_REPLIDENT_H */
