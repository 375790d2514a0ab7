/*-------------------------------------------------------------------------
 *
 * debugpoint.c
 *	  Named places where a test can stop the code or make it fail.
 *
 * The list is parsed anew at each point reached: that happens only in tests,
 * and keeps what the setting holds in one place.
 *
 * src/base/debugpoint.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <signal.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/varlena.h"

#include "base/debugpoint.h"

char	   *ddir_debug_points = NULL;
bool		ddir_debug_points_set = false;

bool
ddir_debug_points_check(char **newval, void **extra, GucSource source)
{
	char	   *raw = pstrdup(*newval);
	List	   *points;
	ListCell   *lc;

	if (!SplitGUCList(raw, ',', &points))
	{
		GUC_check_errdetail("List syntax is invalid.");
		return false;
	}
	foreach(lc, points)
	{
		const char *point = lfirst(lc);
		const char *action = strrchr(point, ':');

		if (action == NULL || action == point ||
			(strcmp(action, ":error") != 0 && strcmp(action, ":wait") != 0 &&
			 strcmp(action, ":crash") != 0))
		{
			GUC_check_errdetail("\"%s\" is none of name:error, name:wait and name:crash.", point);
			return false;
		}
	}
	list_free(points);
	pfree(raw);
	return true;
}

void
ddir_debug_points_assign(const char *newval, void *extra)
{
	ddir_debug_points_set = newval[0] != '\0';
}

/*
 * The lock is a session's, so that this works outside transactions too; in
 * whatever way the process leaves, it is released.
 */
static void
wait_for_test(const char *name)
{
	int64		key = (int32) DatumGetUInt32(hash_any((const unsigned char *) name, strlen(name)));
	LOCKTAG		tag;

	/* the last field is what pg_advisory_lock(bigint) has there */
	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, (uint32) (key >> 32), (uint32) key, 1);
	(void) LockAcquire(&tag, ShareLock, true, false);
	LockRelease(&tag, ShareLock, true);
}

void
ddir_debug_point(const char *name)
{
	char	   *raw = pstrdup(ddir_debug_points);
	bool		fail = false;
	bool		stop = false;
	bool		crash = false;
	size_t		len = strlen(name);
	List	   *points;
	ListCell   *lc;

	if (SplitGUCList(raw, ',', &points))
	{
		foreach(lc, points)
		{
			const char *point = lfirst(lc);

			if (strncmp(point, name, len) != 0 || point[len] != ':')
				continue;
			if (strcmp(point + len, ":wait") == 0)
				stop = true;
			else if (strcmp(point + len, ":error") == 0)
				fail = true;
			else if (strcmp(point + len, ":crash") == 0)
				crash = true;
		}
		list_free(points);
	}
	pfree(raw);

	if (crash)
		kill(MyProcPid, SIGKILL);
	if (stop)
		wait_for_test(name);
	if (fail)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("debug point \"%s\"", name),
				 errhint("The setting ddir.debug_points asks for this error.")));
}
