/*-------------------------------------------------------------------------
 *
 * attempt.h
 *	  Changing a source's definition without standing in anybody's way.
 *
 * An attempt is a transaction of its own, which waits for the table's lock as
 * long as it may (0: not at all; meanwhile everybody else waits behind it), and
 * is tried again later by whoever calls.
 *
 * src/capture/attempt.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_ATTEMPT_H
#define DDIR_CAPTURE_ATTEMPT_H

#include "postgres.h"

#include "storage/lockdefs.h"

typedef enum DdirAttemptResult
{
	DDIR_ATTEMPT_DONE,			/* it is so now (or was) */
	DDIR_ATTEMPT_LOCKED,		/* not to be had now: try again */
	DDIR_ATTEMPT_REFUSED		/* *why says what stands in the way */
} DdirAttemptResult;

/* What the work is given, and gives back. */
typedef struct DdirAttempt
{
	Oid			relid;
	DdirAttemptResult result;
	char	   *why;			/* in the caller's context */
	MemoryContext caller;
	int			lock_ms;		/* to wait for the table's lock */
} DdirAttempt;

/*
 * Outside of transactions.  The work is done with a snapshot, and connected to
 * SPI.  why may be NULL.
 */
extern DdirAttemptResult ddir_attempt(Oid relid, int lock_ms, char **why,
									  void (*work) (DdirAttempt *a));

/* from the work: the table's lock; false: not to be had, so give up */
extern bool ddir_attempt_lock(DdirAttempt *a, LOCKMODE mode);

/* from the work: it will never do */
extern void ddir_attempt_refuse(DdirAttempt *a, const char *why);

#endif							/* DDIR_CAPTURE_ATTEMPT_H */
