/*-------------------------------------------------------------------------
 *
 * waits.c
 *	  The one place that waits.
 *
 * src/base/waits.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"

#include "base/compat.h"
#include "base/waits.h"

static const char *const wait_name[] = {
	[DDIR_WAIT_LAUNCHER] = "DdirLauncherIdle",
	[DDIR_WAIT_MAINTAINER] = "DdirMaintainerIdle",
	[DDIR_WAIT_SCANNER] = "DdirScannerQueue",
	[DDIR_WAIT_VIEW] = "DdirViewCurrent",
	[DDIR_WAIT_REQUEST] = "DdirRequestAnswer",
	[DDIR_WAIT_LEAVE] = "DdirMaintainerExit"
};

/* Servers that have no events of our own give the one of all extensions. */
static uint32
wait_event(DdirWait what)
{
	static uint32 event[lengthof(wait_name)];

	if (event[what] == 0)
		event[what] = ddir_wait_event_new(wait_name[what]);
	return event[what];
}

static void
wait_latch(DdirWait what, long ms)
{
	(void) WaitLatch(MyLatch,
					 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (ms >= 0 ? WL_TIMEOUT : 0),
					 ms, wait_event(what));
}

void
ddir_wait_latch(DdirWait what, long ms)
{
	wait_latch(what, ms);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/*
 * Who makes work does so first and looks at *sleeping after it; we raise it
 * first and look for work after it.  With a full barrier on both sides one of
 * the two sees the other.
 */
void
ddir_wait_for_work(DdirWait what, pg_atomic_uint32 *sleeping,
				   bool (*work) (void *ctx), void *ctx, long ms)
{
	pg_atomic_write_u32(sleeping, 1);
	pg_memory_barrier();
	if (!work(ctx))
		wait_latch(what, ms);
	pg_atomic_write_u32(sleeping, 0);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

bool
ddir_wait_changed(DdirWait what, ConditionVariable *cv, long ms)
{
	if (ms >= 0)
		return ConditionVariableTimedSleep(cv, ms, wait_event(what));
	ConditionVariableSleep(cv, wait_event(what));
	return false;
}

void
ddir_wait_nap(long us)
{
	pg_usleep(us);
	CHECK_FOR_INTERRUPTS();
}
