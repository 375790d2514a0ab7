/*-------------------------------------------------------------------------
 *
 * scanner.h
 *	  Reading whole tables under one snapshot, in a process of its own.
 *
 * The maintainer starts a scan; a short-lived worker takes an ordinary
 * snapshot S, hands over what is visible in it, and ships the tables' rows as
 * packed images in bounded frames over a shared-memory queue.  The maintainer
 * polls between its steps and is never blocked.
 *
 * Whether a transaction is in S: ddir_scan_sees.  At decode position
 * snapshot_end or later every transaction in S has been delivered.
 *
 * src/capture/scanner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_SCANNER_H
#define DDIR_CAPTURE_SCANNER_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

#include "engine/delta.h"

typedef struct DdirScan DdirScan;

typedef struct DdirScanTable
{
	Oid			relid;
	Bitmapset  *used;			/* NULL: all columns */
	int			natts;			/* columns of the images; 0: as many as it has */
	uint64		rows;			/* received */
	double		estimate;		/* of rows in all, for progress; the scanner
								 * knows better than who starts it */
	bool		done;
} DdirScanTable;

typedef enum DdirScanState
{
	DDIR_SCAN_STARTING,			/* no snapshot yet */
	DDIR_SCAN_RUNNING,			/* snapshot known, rows arriving */
	DDIR_SCAN_DONE,
	DDIR_SCAN_FAILED			/* see ddir_scan_failure */
} DdirScanState;

/*
 * tables: of DdirScanTable *, copied.  Raises 53000 if no worker is free.  In a
 * transaction or outside; the scan lives in a child of cxt.
 */
extern DdirScan *ddir_scan_start(MemoryContext cxt, List *tables);

/*
 * Take what has come, at most about max_rows; rows go to f in runs (diff +1,
 * no times), which are gone when f returns.  Never waits: the scanner sets our
 * latch.
 */
extern DdirScanState ddir_scan_poll(DdirScan *s, uint64 max_rows,
									void (*f) (void *ctx, Oid relid, const DdirDeltas *rows),
									void *ctx);
extern bool ddir_scan_sees(const DdirScan *s, TransactionId xid);
extern XLogRecPtr ddir_scan_snapshot_end(const DdirScan *s);
extern const List *ddir_scan_tables(const DdirScan *s); /* of DdirScanTable * */
extern const char *ddir_scan_failure(const DdirScan *s, int *sqlstate);

/* stops the worker if it still runs, and frees the scan */
extern void ddir_scan_end(DdirScan *s);

/* bgworker entry point */
extern PGDLLEXPORT void ddir_scanner_main(Datum arg);

#endif							/* DDIR_CAPTURE_SCANNER_H */
