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

#include "capture/attempt.h"

/*
 * Attempts.  What the identity was is remembered in ddir._identity and restored
 * by ddir_identity_restore (DONE: it is, or was never changed by us).
 */
extern DdirAttemptResult ddir_identity_set_full(Oid relid, int lock_ms, char **why);
extern DdirAttemptResult ddir_identity_restore(Oid relid, int lock_ms);

/*
 * The same at once, in a transaction that has locked the table, as superuser
 * and with SPI.  Where that would make writes fail, it is left as it is.
 */
extern void ddir_identity_set_full_now(Oid relid);

/* Would it be refused to set it?  In a transaction, with a snapshot. */
extern bool ddir_identity_refused(Oid relid);

/* The tables whose identity is to be restored one day; needs a snapshot. */
extern List *ddir_identity_remembered(void);

#endif							/* DDIR_CAPTURE_REPLIDENT_H */
