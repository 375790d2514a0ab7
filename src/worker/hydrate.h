/*-------------------------------------------------------------------------
 *
 * hydrate.h
 *	  What the files of a hydration share.
 *
 *	hydrate.c			its phases
 *	hydrateprepare.c	the base tables: their changes will be captured
 *	hydratesources.c	rows scanned and changes kept become whole sources
 *	hydratestep.c		the step that computes the views and writes them
 *
 * src/worker/hydrate.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_WORKER_HYDRATE_H
#define DDIR_WORKER_HYDRATE_H

#include "postgres.h"

#include "capture/scanner.h"
#include "worker/maintainer.h"

/* A base table of the set. */
typedef struct DdirHydrated
{
	Oid			relid;
	Bitmapset  *used;
	const Bitmapset *key;		/* changes are kept to be resolved by it
								 * (keyed.h); NULL: they are deltas */
	List	   *prepared;		/* of Oid: the tables with its rows whose
								 * changes will be captured */
	List	   *rows;			/* of DdirDeltas *: scanned */
	DdirDeltas	kept;			/* changes set aside, times are tray numbers */
	DdirDeltas	missed;			/* those of them that the scan did not see */
	Size		bytes;
} DdirHydrated;

struct DdirHydration
{
	MemoryContext cxt;
	List	   *views;			/* of DdirMaintained *, upstream first */
	List	   *sources;		/* of DdirHydrated * */
	List	   *reasons;		/* why each of them is hydrated */
	DdirHydrationPhase phase;
	TimestampTz start;
	TimestampTz retry;			/* not before: locks */
	TimestampTz queue_at;		/* the next attempt to get in line for one */
	int			queue_ms;		/* and how long it waits; 0: none was made */
	bool		held_up;		/* the views' reasons say for which table */
	int			nunseen;
	TransactionId *unseen;		/* delivered before P0, maybe not visible yet */
	DdirScan   *scan;
	int			ntrays;			/* trays kept, with their xids */
	int			captrays;
	DdirTray   *tray;
	List	   *events;			/* of xids (as ints): truncations and the like */
};

/* hydrate.c */
extern void ddir_hydrate_report(DdirMaintainer *m, DdirHydrationPhase phase);
extern void ddir_hydrate_end(DdirMaintainer *m);

/* hydrateprepare.c */
/* true: the changes of all tables will be captured */
extern bool ddir_hydrate_prepare(DdirMaintainer *m);

/* Why what was prepared is not all that is to be captured any more; or NULL. */
extern const char *ddir_hydrate_outgrown(DdirMaintainer *m);

/* Columns of the images that are delivered; 0: the table is gone. */
extern int	ddir_hydrate_columns(DdirMaintainer *m, Oid relid);

/* hydratesources.c */
extern DdirHydrated *ddir_hydrate_source(const DdirHydration *h, Oid relid);

/* Rows from the scanner; ctx: DdirHydration * */
extern void ddir_hydrate_take_rows(void *ctx, Oid relid, const DdirDeltas *rows);

/*
 * A table was truncated, say: what was scanned does not hold, unless the
 * snapshot saw it.
 */
extern bool ddir_hydrate_spoiled(DdirHydration *h);

/* NULL, or why the sources are not whole.  In a transaction. */
extern const char *ddir_hydrate_make_whole(DdirMaintainer *m);

/* hydratestep.c */
/* In a step of its own: the set's views become live, and the hydration ends. */
extern void ddir_hydrate_compute(DdirMaintainer *m);

#endif							/* DDIR_WORKER_HYDRATE_H */
