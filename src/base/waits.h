/*-------------------------------------------------------------------------
 *
 * waits.h
 *	  The one place that waits.
 *
 * Each wait says what is awaited; pg_stat_activity shows it where the server
 * lets extensions name their events (17), and "Extension" before.  All of them
 * return early when interrupted by a signal and process interrupts.
 *
 * src/base/waits.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_WAITS_H
#define DDIR_BASE_WAITS_H

#include "postgres.h"

#include "port/atomics.h"
#include "storage/condition_variable.h"

typedef enum DdirWait
{
	DDIR_WAIT_LAUNCHER,			/* nothing to do */
	DDIR_WAIT_MAINTAINER,		/* nothing to do */
	DDIR_WAIT_SCANNER,			/* the maintainer to take rows */
	DDIR_WAIT_VIEW,				/* a view to reach a position */
	DDIR_WAIT_REQUEST,			/* the maintainer to answer */
	DDIR_WAIT_LEAVE				/* the maintainer to exit */
} DdirWait;

/* Until our latch is set, ms pass (-1: no limit) or a signal comes; resets it. */
extern void ddir_wait_latch(DdirWait what, long ms);

/*
 * The same for a process that others wake only while it says it sleeps: raises
 * *sleeping, looks again by work(ctx), and waits if that is false.
 */
extern void ddir_wait_for_work(DdirWait what, pg_atomic_uint32 *sleeping,
							   bool (*work) (void *ctx), void *ctx, long ms);

/*
 * Until the condition variable is signalled or ms pass (-1: no limit): true if
 * they did.  The caller has called ConditionVariablePrepareToSleep before it
 * looked at what it waits for, and ConditionVariableCancelSleep afterwards.
 */
extern bool ddir_wait_changed(DdirWait what, ConditionVariable *cv, long ms);

/* So many microseconds, a few ms at most, whoever sets our latch. */
extern void ddir_wait_nap(long us);

#endif							/* DDIR_BASE_WAITS_H */
