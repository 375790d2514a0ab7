/*-------------------------------------------------------------------------
 *
 * ddir.c
 *	  Entry of the library.
 *
 * Only what must happen when the server loads us: settings, hooks, shared
 * memory and the launcher.  Everything else is reached from here and lives in
 * a folder below.
 *
 * A session that loads the library later, by calling one of its functions,
 * gets settings and hooks; they say what is missing.
 *
 * src/ddir.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "api/api.h"
#include "base/config.h"
#include "base/leave.h"
#include "base/shared.h"
#include "capture/capture.h"
#include "ddl/create.h"
#include "ddl/retire.h"
#include "ddl/tree.h"
#include "ddl/utility.h"
#include "worker/launcher.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	ddir_config_define();
	ddir_create_init(ddir_api_analyse);
	ddir_tree_init(ddir_capture_join);
	ddir_utility_init();

	if (!process_shared_preload_libraries_in_progress)
		return;
	ddir_shared_init();

	/*
	 * Transaction callbacks run in the reverse order of this: the switch of a
	 * database is told before those who stepped aside for it may come back.
	 */
	ddir_leave_init();
	ddir_retire_init();
	if (!IsBinaryUpgrade)
		ddir_launcher_register();
}
