/*-------------------------------------------------------------------------
 *
 * tray.h
 *	  Trays: the deltas of committed transactions, a run per source; what
 *	  capture hands over.
 *
 * A tray is indivisible and numbered densely in commit order while the worker
 * runs; its number is coordinate 0 of its deltas' times.  Trays of equal lsn are
 * of one cut (capture/cuts.h): their order is not known, and a source is as it
 * ever was only after all of them.  A DdirTrays holds the
 * trays read since it was last emptied.  Runs are unkeyed images; their time
 * lane holds the tray numbers, ascending.
 *
 * An *event* is something in a tray that is not a row: after it the source's
 * contents are no longer what the deltas add up to.
 *
 * src/engine/tray.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_TRAY_H
#define DDIR_ENGINE_TRAY_H

#include "engine/delta.h"

typedef struct DdirTray
{
	uint64_t	number;
	uint64_t	lsn;			/* end of its commit record */
	uint32_t	xid;			/* top-level */
	int64_t		commit_time;	/* the server's clock, microseconds */
} DdirTray;

typedef enum DdirTrayEventKind
{
	DDIR_TRAY_TRUNCATE,			/* the source was truncated */
	DDIR_TRAY_NO_OLD_IMAGE,		/* a change came without its old row */
	DDIR_TRAY_REWRITTEN,		/* the source's shape changed */
	DDIR_TRAY_PARTITIONS,		/* partitions were attached or detached */
	DDIR_TRAY_TOO_LARGE			/* more rows than a tray may hold; they are
								 * left out */
} DdirTrayEventKind;

typedef struct DdirTrayEvent
{
	uint64_t	tray;
	uint32_t	source;			/* as given by who tracks */
	DdirTrayEventKind kind;
} DdirTrayEvent;

typedef struct DdirRun
{
	uint32_t	source;			/* relation */
	DdirDeltas	deltas;
} DdirRun;

typedef struct DdirTrays
{
	DdirArena  *arena;
	uint64_t	next;			/* number of the next tray */
	uint32_t	ntrays;
	uint32_t	cap_trays;
	DdirTray   *tray;			/* ascending; only those with deltas or events */
	uint32_t	nruns;
	uint32_t	cap_runs;
	DdirRun    *run;
	uint32_t	nevents;
	uint32_t	cap_events;
	DdirTrayEvent *event;
	uint64_t	rows;
} DdirTrays;

extern void ddir_trays_init(DdirTrays *t, DdirArena *arena);
extern void ddir_trays_clear(DdirTrays *t); /* keeps "next" and the room */

/* the run of a source, made on first use */
extern DdirDeltas *ddir_trays_run(DdirTrays *t, uint32_t source);

/* the open tray is t->next; event for it */
extern void ddir_trays_event(DdirTrays *t, uint32_t source, DdirTrayEventKind kind);

/* close the open tray and number it; an empty one takes no number */
extern void ddir_trays_close(DdirTrays *t, uint64_t lsn, uint32_t xid, int64_t commit_time);

/* that of a number, or NULL; among so many in their order */
extern const DdirTray *ddir_tray_find(const DdirTray *tray, uint32_t n, uint64_t number);
extern const DdirTray *ddir_trays_find(const DdirTrays *t, uint64_t number);
extern size_t ddir_trays_bytes(const DdirTrays *t);

#endif							/* DDIR_ENGINE_TRAY_H */
