/*-------------------------------------------------------------------------
 *
 * progress.h
 *	  Durable state of a database: its generation, the switch, the clock, and the
 *	  views that stand elsewhere than the live ones.
 *
 * All need a transaction with an active snapshot, and write in it.
 *
 * src/store/progress.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_STORE_PROGRESS_H
#define DDIR_STORE_PROGRESS_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "utils/snapshot.h"

#include "base/config.h"

typedef struct DdirProgress
{
	bool		disabled;
	int			generation;		/* 0: never started */
	XLogRecPtr	confirmed;		/* invalid: never */
	DdirCaptureMode capture;	/* AUTO: never */
} DdirProgress;

extern void ddir_progress_read(DdirProgress *p);
extern void ddir_progress_write(const DdirProgress *p);
extern void ddir_progress_switch(bool disabled);

/*
 * What the live views that read the clock are as of, under a snapshot (NULL: the
 * newest one); 0: there was none.
 */
extern TimestampTz ddir_clock_read(Snapshot snapshot);
extern void ddir_clock_write(TimestampTz clock);

extern void ddir_lagging_set(Oid view, XLogRecPtr frontier, const char *reason);
extern void ddir_lagging_clear(Oid view);	/* InvalidOid: all */

/* where the view stands; false and invalid if it is not recorded as lagging */
extern bool ddir_lagging_frontier(Oid view, XLogRecPtr *frontier);

#endif							/* DDIR_STORE_PROGRESS_H */
