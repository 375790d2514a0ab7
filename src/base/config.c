/*-------------------------------------------------------------------------
 *
 * config.c
 *	  Settings: one table of descriptors a type.
 *
 * Who reads them decides their context.  The launcher reads the configuration
 * file only (SIGHUP); the maintainer also has what ALTER DATABASE set (SUSET);
 * what sizes shared memory cannot change while the server runs.
 *
 * src/base/config.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "base/config.h"
#include "base/debugpoint.h"

int			ddir_capture = DDIR_CAPTURE_AUTO;
int			ddir_memory_limit = 1024 * 1024;
int			ddir_max_slot_lag = 10 * 1024;
bool		ddir_flush_async_commits = true;
double		ddir_debug_clock = 0;
int			ddir_max_databases = 16;
int			ddir_max_views = 1024;

static const struct config_enum_entry capture_options[] = {
	{"auto", DDIR_CAPTURE_AUTO, false},
	{"logical", DDIR_CAPTURE_LOGICAL, false},
	{"trigger", DDIR_CAPTURE_TRIGGER, false},
	{NULL, 0, false}
};

typedef struct IntSetting
{
	const char *name;
	const char *what;
	const char *more;
	int		   *variable;
	int			min;
	int			max;
	GucContext	context;
	int			flags;
} IntSetting;

/* The boot value is what the variable holds before. */
static const IntSetting int_settings[] = {
	{"ddir.memory_limit",
		"Memory for the state of all views of a database.",
		"A view that does not fit is suspended.",
	&ddir_memory_limit, 1024, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB},
	{"ddir.max_slot_lag",
		"WAL that a database's replication slot may hold back unread, or what triggers may write unread.",
		"Beyond it this is given up and the views are filled again; -1 is no limit.",
	&ddir_max_slot_lag, -1, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_MB},
	{"ddir.max_databases",
		"Databases that can have ddir views at the same time.",
		NULL,
	&ddir_max_databases, 1, 1024, PGC_POSTMASTER, 0},
	{"ddir.max_views",
		"ddir views that all databases together can have.",
		NULL,
	&ddir_max_views, 1, 1024 * 1024, PGC_POSTMASTER, 0}
};

void
ddir_config_define(void)
{
	for (int i = 0; i < lengthof(int_settings); i++)
	{
		const IntSetting *s = &int_settings[i];

		/* Too late for these where the library was not preloaded. */
		if (s->context == PGC_POSTMASTER && !process_shared_preload_libraries_in_progress)
			continue;
		DefineCustomIntVariable(s->name, s->what, s->more, s->variable,
								*s->variable, s->min, s->max, s->context,
								s->flags, NULL, NULL, NULL);
	}
	DefineCustomEnumVariable("ddir.capture",
							 "How changes of tables are captured.",
							 "For a database: set it in the file, or by ALTER DATABASE.  Views are filled again when it changes.",
							 &ddir_capture, ddir_capture, capture_options,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("ddir.flush_async_commits",
							 "Flushes the WAL of asynchronous commits so that views do not wait for it.",
							 NULL,
							 &ddir_flush_async_commits, ddir_flush_async_commits,
							 PGC_SUSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("ddir.debug_clock",
							 "What time it is for views that read the clock, in seconds since 1970, for tests.",
							 "0 is the server's clock.",
							 &ddir_debug_clock, ddir_debug_clock, 0, 1e11,
							 PGC_SUSET, GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("ddir.debug_points",
							   "Where the code stops or fails, for tests.",
							   "A list of name:error and name:wait.",
							   &ddir_debug_points, "",
							   PGC_SUSET,
							   GUC_LIST_INPUT | GUC_NO_SHOW_ALL | GUC_NOT_IN_SAMPLE,
							   ddir_debug_points_check, ddir_debug_points_assign, NULL);
	MarkGUCPrefixReserved("ddir");
}

TimestampTz
ddir_clock_now(void)
{
	if (ddir_debug_clock > 0)
		return (TimestampTz) rint(ddir_debug_clock * USECS_PER_SEC) -
			(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY;
	return GetCurrentTimestamp();
}

static DdirCaptureMode
effective_mode(int capture)
{
	if (capture != DDIR_CAPTURE_AUTO)
		return capture;
	return wal_level >= WAL_LEVEL_LOGICAL ? DDIR_CAPTURE_LOGICAL : DDIR_CAPTURE_TRIGGER;
}

DdirCaptureMode
ddir_capture_mode(void)
{
	return effective_mode(ddir_capture);
}

DdirCaptureMode
ddir_capture_mode_of(const char *value)
{
	for (const struct config_enum_entry *e = capture_options; e->name; e++)
	{
		if (pg_strcasecmp(value, e->name) == 0)
			return effective_mode(e->val);
	}
	return ddir_capture_mode();
}

const char *
ddir_capture_mode_name(DdirCaptureMode mode)
{
	return mode == DDIR_CAPTURE_TRIGGER ? "trigger" : "logical";
}
