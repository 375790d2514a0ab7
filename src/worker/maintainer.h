/*-------------------------------------------------------------------------
 *
 * maintainer.h
 *	  What the parts of the maintainer share.
 *
 *	maintainer.c	start, the loop, waiting, leaving
 *	views.c			which views there are, by the catalog; dropping, suspending
 *	hydrate.c		filling the dataflows of views, from scan to reconciliation;
 *					with its parts, hydrate.h
 *	step.c			trays through the graph and into the views, in a transaction
 *	answer.c		what sessions ask
 *
 * A view is *wanting* until it is hydrated.  One hydration runs at a time, for
 * a set of views, beside the steps of the live ones.
 *
 * src/worker/maintainer.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_WORKER_MAINTAINER_H
#define DDIR_WORKER_MAINTAINER_H

#include "postgres.h"

#include "replication/origin.h"

#include "apply/target.h"
#include "base/shared.h"
#include "capture/capture.h"
#include "engine/graph.h"
#include "engine/tray.h"
#include "plan/build.h"
#include "plan/lower.h"
#include "store/progress.h"

typedef struct DdirMaintained
{
	Oid			view;
	char	   *name;
	Oid			owner;
	MemoryContext cxt;			/* of all that follows but flow and target */
	DdirLowered *lowered;		/* NULL: refused */
	char	   *meaning;		/* of its query, to notice changes */
	uint64		version;		/* of the definitions of what it reads, and
								 * its own */
	int			depth;			/* 0: reads base tables only */
	DdirFlow   *flow;			/* NULL: not in the graph */
	DdirTarget *target;
	DdirViewState state;
	char		reason[DDIR_REASON_LEN];
	int			sqlstate;
	char		message[DDIR_REASON_LEN];
	bool		wanting;		/* to be hydrated */
	bool		alone;			/* hydrated by itself: a set with it failed */
	bool		blocked;		/* suspended because a view it reads is */
	bool		uncaptured;		/* suspended because a source cannot be
								 * captured */
	bool		circular;		/* refused because it reads itself */
	bool		unsure;			/* its heap may have been replaced: look at it */
	bool		reconcile;		/* the residue is all contents, not a change */
	bool		lagging;		/* a row in ddir._lagging says so */
	/* in the transaction that runs; settled at its end */
	bool		done;			/* its table is as computed */
	bool		lag_noted;		/* the row in ddir._lagging is of this
								 * transaction */
	uint64		rows_written;
	bool		seen;			/* during a look at the catalog */
	bool		unlooked;		/* in the last one it, or a view it reads,
								 * could not be looked at */
	bool		clocked;		/* it reads the clock, or a view that does */
	bool		negative;		/* a negative multiplicity was seen before */
	bool		fresh;			/* its definition has not been read yet */
	XLogRecPtr	frontier;		/* while it is not live */
	uint64		rows_applied;
	XLogRecPtr	newest;			/* commit of the newest tray touching its
								 * sources */
} DdirMaintained;

typedef struct DdirHydration DdirHydration;

/* What may have changed in the catalog. */
typedef struct DdirChanges
{
	bool		all;			/* anything */
	bool		objects;		/* something that is no relation */
	List	   *relations;		/* of Oid; NIL if "all" */
} DdirChanges;

typedef struct DdirMaintainer
{
	MemoryContext cxt;
	MemoryContext scratch;		/* reset every turn */
	Oid			dbid;
	DdirDatabaseSlot *db;
	char		slot[NAMEDATALEN];
	RepOriginId origin;
	DdirProgress progress;
	DdirCaptureMode mode;		/* how it captures, or will */
	DdirCapture *capture;
	DdirTrays	trays;
	DdirGraph  *graph;
	DdirShare  *share;
	List	   *views;			/* of DdirMaintained *, upstream first */
	List	   *tracked;		/* of Oid: base tables captured, or to be
								 * released */
	DdirHydration *hydration;	/* NULL: none runs */
	XLogRecPtr	position;		/* all committed before it is in the live
								 * views */
	XLogRecPtr	reaching;		/* what it will be when the step is committed */
	TimestampTz clock;			/* of the dataflows; 0: it has never run */
	TimestampTz clock_stored;
	bool		clock_resumes;	/* nothing was computed since views had it */
	TimestampTz position_time;	/* of the newest tray in them */
	XLogRecPtr	unconfirmed;	/* to be confirmed once commit_end is flushed */
	XLogRecPtr	commit_end;
	TimestampTz confirmed_at;
	TimestampTz rate_at;		/* when rows_per_s was last computed, */
	uint64		rate_rows;		/* and of how many rows in all */
	TimestampTz next_step;		/* due then, if writers keep us busy */
	bool		caught_up;		/* all there was has been read */
	const char *start_reason;	/* why views found at the start are hydrated;
								 * NULL: it has started */
	TimestampTz release_at;		/* to try to release tables again; 0: none */
	uint64		looking;		/* the newest ticket for a look of this turn */
	bool		look;			/* at the catalog again */
	bool		look_again;		/* something was locked when it looked */
	DdirChanges heard;			/* since it last began to look */
	DdirChanges changed;		/* what it looks for, or has to again */
	char	   *settings;		/* that expressions read */
	volatile uint32 *stepping;	/* view at work on (store/stepping.h) */
	bool		leaving;
	char	   *broken;			/* the graph is unusable: why */
	Oid			broken_by;		/* the view that did it when it was hydrated
								 * alone, or InvalidOid; and by what error */
	int			broken_sqlstate;
	char	   *broken_message;
} DdirMaintainer;

/* views.c */
extern void ddir_views_watch(DdirMaintainer *m);	/* install invalidation
													 * callbacks */
extern void ddir_views_look(DdirMaintainer *m); /* compare with the catalog */
extern DdirMaintained *ddir_views_find(DdirMaintainer *m, Oid view);

/* the views that v itself reads; a list of this turn */
extern List *ddir_views_upstream(DdirMaintainer *m, const DdirMaintained *v);

/* v and all that read it are to be hydrated (again) */
extern void ddir_views_rehydrate(DdirMaintainer *m, DdirMaintained *v, const char *reason);
extern void ddir_views_rehydrate_readers(DdirMaintainer *m, Oid relid, const char *reason);
extern void ddir_views_suspend(DdirMaintainer *m, DdirMaintained *v, int sqlstate,
							   const char *message, const char *reason);
extern void ddir_views_state(DdirMaintainer *m, DdirMaintained *v, DdirViewState state,
							 const char *reason);
extern void ddir_views_publish(DdirMaintainer *m, DdirMaintained *v);

/* take a view out of the graph; those that read it have been before */
extern void ddir_views_drop_flow(DdirMaintainer *m, DdirMaintained *v);

/* all dataflows are gone; everything is hydrated again */
extern void ddir_views_restart(DdirMaintainer *m, const char *reason);

/* track what flows and the hydration need, and nothing else */
extern void ddir_views_track(DdirMaintainer *m);

/* empty partitions have joined what is tracked */
extern void ddir_views_joined(DdirMaintainer *m, List *joined);

/* hydrate.c */
/* one bounded piece of work */
extern void ddir_hydrate_advance(DdirMaintainer *m);
extern void ddir_hydrate_cancel(DdirMaintainer *m, const char *reason);
extern bool ddir_hydrate_concerns(const DdirMaintainer *m, const DdirMaintained *v);
extern long ddir_hydrate_patience_ms(const DdirMaintainer *m);	/* -1: until woken */

/* hydratesources.c: set this turn's trays aside, as far as they concern it */
extern void ddir_hydrate_keep(DdirMaintainer *m);

/* step.c */
extern bool ddir_step_due(const DdirMaintainer *m);
extern void ddir_step_run(DdirMaintainer *m);

/* the instant at which rows come or go next, as live views show them */
extern void ddir_step_publish_due(DdirMaintainer *m);

/* let the clock be this, in the next step; and keep it, in its transaction */
extern void ddir_step_set_clock(DdirMaintainer *m, TimestampTz clock);
extern void ddir_step_store_clock(DdirMaintainer *m);

/* commit the current transaction with our origin and position */
extern void ddir_step_commit(DdirMaintainer *m);

/* write v's residue or contents; needs a transaction and a snapshot */
extern void ddir_step_apply(DdirMaintainer *m, DdirMaintained *v);

/* the transaction that applied has ended */
extern void ddir_step_ended(DdirMaintainer *m, bool committed);

/*
 * What the graph has computed could not be written in the transaction that has
 * just been aborted: write it in another one, without those views that cannot
 * be written, which are suspended.
 */
extern void ddir_step_write_singly(DdirMaintainer *m, const ErrorData *why);

/* fn(arg) in a subtransaction; its error, copied, or NULL */
extern ErrorData *ddir_step_try(void (*fn) (void *arg), void *arg);

/* answer.c */
extern void ddir_answer(DdirMaintainer *m);

extern PGDLLEXPORT void ddir_maintainer_main(Datum arg);

/* read up to target (which is flushed) and let steps run */
extern void ddir_maintainer_catch_up(DdirMaintainer *m, XLogRecPtr target);

/* what the maintainer is doing, for ddir.workers */
extern void ddir_maintainer_says(DdirMaintainer *m, const char *what);

#endif							/* DDIR_WORKER_MAINTAINER_H */
