/*-------------------------------------------------------------------------
 *
 * launcher.h
 *	  The process that keeps one maintainer for each database that needs it.
 *
 * src/worker/launcher.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_WORKER_LAUNCHER_H
#define DDIR_WORKER_LAUNCHER_H

#include "postgres.h"

/* from _PG_init, while the server starts */
extern void ddir_launcher_register(void);

/* bgworker entry points */
extern PGDLLEXPORT void ddir_launcher_main(Datum arg);
extern PGDLLEXPORT void ddir_probe_main(Datum arg); /* database OID */

#endif							/* DDIR_WORKER_LAUNCHER_H */
