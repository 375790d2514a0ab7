/*-------------------------------------------------------------------------
 *
 * debugpoint.h
 *	  Named places where a test can stop the code or make it fail.
 *
 * The setting ddir.debug_points is a list of what to do where:
 *
 *	name:error	- raise an error
 *	name:wait	- wait for, and let go at once, the advisory lock
 *				  pg_advisory_lock(hashtext('name'))
 *	name:crash	- die as if killed
 *
 * A test takes the lock, sets the setting, waits until somebody waits for the
 * lock (pg_locks), does what it has to, and unlocks.  With the setting empty a
 * point costs one test of a variable.
 *
 * src/base/debugpoint.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_DEBUGPOINT_H
#define DDIR_BASE_DEBUGPOINT_H

#include "postgres.h"

#include "utils/guc.h"

extern char *ddir_debug_points;
extern bool ddir_debug_points_set;

/* May raise an error, may wait: not in critical sections or under LWLocks. */
#define DDIR_DEBUG_POINT(name) \
	do { \
		if (unlikely(ddir_debug_points_set)) \
			ddir_debug_point(name); \
	} while (0)

extern void ddir_debug_point(const char *name);

/* of the setting */
extern bool ddir_debug_points_check(char **newval, void **extra, GucSource source);
extern void ddir_debug_points_assign(const char *newval, void *extra);

#endif							/* DDIR_BASE_DEBUGPOINT_H */
