/*-------------------------------------------------------------------------
 *
 * tracked.h
 *	  The relations that are tracked, and the trays being filled with their
 *	  rows: what every way of capturing has in common.
 *
 * A partitioned table that is tracked has the rows of its partitions.  So the
 * changes of one table may go to several: to itself, and to the partitioned
 * tables above it, in whose columns they are delivered.
 *
 * src/capture/tracked.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_TRACKED_H
#define DDIR_CAPTURE_TRACKED_H

#include "postgres.h"

#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/snapshot.h"

#include "engine/tray.h"
#include "rows/rowtype.h"

#define DDIR_TRAY_EVENT_KINDS (DDIR_TRAY_TOO_LARGE + 1)

/*
 * A transaction with more bytes of rows of one source than this, or than half
 * of ddir.memory_limit, gives an event (DDIR_TRAY_TOO_LARGE) in place of those
 * rows.
 */
#define DDIR_TRAY_BYTES_MAX ((Size) 1024 * 1024 * 1024)
extern Size ddir_tray_bytes_max(void);

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
	Bitmapset  *key;			/* old rows are known by these columns
								 * (keyed.h); NULL: whole */
	Size		old_bytes;		/* of such a row, about */
	int			ncols;
	DdirTrackedColumn *col;		/* the used ones */
	bool		partitioned;
	int			nbelow;			/* its partitions of all levels, by OID */
	Oid		   *below;
	uint64		mark;			/* of that state of the tree (meta/tree.h) */
	struct DdirShape *shapes;	/* of its own images (cuts.c) */
	uint32		run;			/* where its run was in the trays */
	/* the open tray */
	uint64		tray;			/* the last tray with rows of it */
	uint32		start_n;		/* where that tray begins in the run */
	uint64		event_tray[DDIR_TRAY_EVENT_KINDS];	/* last tray with such an
													 * event */
} DdirTracked;

/* Where changes of a table go. */
typedef struct DdirFeed
{
	DdirTracked *into;
	AttrNumber *att;			/* of each column of "into" the table's
								 * attribute, from 0 (-1: none); NULL: the
								 * same */
	struct DdirShape *shape;	/* of the images read last (cuts.c) */
	struct DdirShape *shapes;	/* of all, if the table is not "into" */
} DdirFeed;

typedef struct DdirFeeds
{
	Oid			relid;			/* the table */
	MemoryContext cxt;			/* of this struct and all in it */
	uint64		seen;			/* as of so many changes of relations */
	int			n;				/* at least one */
	DdirFeed   *feed;
} DdirFeeds;

typedef struct DdirTracking
{
	MemoryContext cxt;
	struct tracked_hash *hash;
	int			ntrees;			/* of them, partitioned ones */
	/* the relation asked for last, tracked or not */
	Oid			last_relid;
	DdirFeeds  *last;
	uint64		last_seen;
	struct feeds_hash *feeds;	/* those asked for */
	uint64		seen;			/* trees were looked at after so many changes */

	/*
	 * Were these, new partitions all, empty when they became that, and are
	 * all rows that they were given since among the changes to be delivered?
	 * NULL: nobody knows.
	 */
	bool		(*joined_empty) (struct DdirTracking *k, List *joined);
	List	   *announced;		/* of Oid: for it */
	List	   *joined;			/* of Oid: tables that were, until taken */
	/* while reading */
	Snapshot	snapshot;		/* that is read; NULL: as the catalog is */
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

/* Its old rows are known by these of the columns used. */
extern void ddir_tracking_by_key(DdirTracking *k, Oid relid, const Bitmapset *key);

/* NULL: they are not, or it is not tracked */
extern const DdirTracked *ddir_tracking_keyed(const DdirTracking *k, Oid relid);

/* An old row that is not in the change takes about so many bytes. */
extern void ddir_tracking_expect(DdirTracking *k, Oid relid, Size old_bytes);
extern const DdirRowType *ddir_tracking_rowtype(const DdirTracking *k, Oid relid);

/*
 * Where this relation's changes go; NULL: nowhere.  While reading, in a
 * transaction.  Valid until it is called again.
 */
extern DdirFeeds *ddir_tracking_feeds(DdirTracking *k, Oid relid);

/*
 * Look at all trees: an event for those with other partitions, unless these have
 * only been added and were empty.  True: there was one.
 */
extern bool ddir_tracking_look(DdirTracking *k);

/* The table's attribute, from 0, for a column of the tracked one; -1: none */
static inline int
ddir_feed_att(const DdirFeed *f, int column)
{
	return f->att ? f->att[column] : column;
}

/* Are the used columns of these types still?  desc: of the table that feeds. */
extern bool ddir_feed_same_shape(const DdirFeed *f, TupleDesc desc);

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
