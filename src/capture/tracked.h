/*-------------------------------------------------------------------------
 *
 * tracked.h
 *	  The relations that are tracked, and the trays being filled with their
 *	  rows: what every way of capturing has in common.
 *
 * src/capture/tracked.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_TRACKED_H
#define DDIR_CAPTURE_TRACKED_H

#include "postgres.h"

#include "nodes/bitmapset.h"

#include "engine/tray.h"
#include "rows/rowtype.h"

#define DDIR_TRAY_EVENT_KINDS (DDIR_TRAY_TOO_LARGE + 1)

/*
 * A transaction with more bytes of rows of one source than this, or than half
 * of ddir.memory_limit, gives an event (DDIR_TRAY_TOO_LARGE) in place of those
 * rows.
 */
#define DDIR_TRAY_BYTES_MAX ((Size) 1024 * 1024 * 1024)

/* A used attribute. */
typedef struct DdirTrackedColumn
{
	int			att;			/* from 0 */
	Oid			typid;
	bool		varlena;
} DdirTrackedColumn;

typedef struct DdirTracked
{
	Oid			relid;
	MemoryContext cxt;			/* of this struct and all in it */
	DdirRowType *type;
	Bitmapset  *used;			/* NULL: all columns */
	int			ncols;
	DdirTrackedColumn *col;		/* the used ones */
	uint32		run;			/* where its run was in the trays */
	struct DdirShape *shape;	/* of the images read last (cuts.c) */
	/* the open tray */
	uint64		tray;			/* the last tray with rows of it */
	uint32		start_n;		/* where that tray begins in the run */
	uint64		event_tray[DDIR_TRAY_EVENT_KINDS];	/* last tray with such an
													 * event */
} DdirTracked;

typedef struct DdirTracking
{
	MemoryContext cxt;
	struct tracked_hash *hash;
	/* the relation asked for last, tracked or not */
	Oid			last_relid;
	DdirTracked *last;
	/* while reading */
	DdirTrays  *out;			/* NULL: not reading */
	uint64		rows;			/* since the read began */
	Size		bytes;
} DdirTracking;

/* lives in cxt, and ends with it */
extern void ddir_tracking_init(DdirTracking *k, MemoryContext cxt);

/*
 * relid's changes are to be delivered as images of its first natts columns (0:
 * all) with the attributes used (NULL: all).  In a transaction or outside,
 * takes no lock.  False: there is no such relation.
 */
extern bool ddir_tracking_add(DdirTracking *k, Oid relid, int natts, const Bitmapset *used);
extern void ddir_tracking_remove(DdirTracking *k, Oid relid);
extern const DdirRowType *ddir_tracking_rowtype(const DdirTracking *k, Oid relid);

/* NULL: it is not tracked */
extern DdirTracked *ddir_tracked_find(DdirTracking *k, Oid relid);

/* Are its used columns of these types still? */
extern bool ddir_tracked_same_shape(const DdirTracked *t, TupleDesc desc);

/* Its run in the trays that are filled. */
extern DdirDeltas *ddir_tracked_run(DdirTracking *k, DdirTracked *t);

/*
 * Has the open tray too many of its rows?  Then they are given up for an event,
 * and no more are wanted.
 */
extern bool ddir_tracked_full(DdirTracking *k, DdirTracked *t, DdirDeltas *run);

/* One event of a kind for a source and tray says it all. */
extern void ddir_tracked_event(DdirTracking *k, DdirTracked *t, DdirTrayEventKind kind);

/* Forget the rows of a run from row n on. */
extern void ddir_run_cut(DdirDeltas *run, uint32 n);

#endif							/* DDIR_CAPTURE_TRACKED_H */
