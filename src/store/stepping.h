/*-------------------------------------------------------------------------
 *
 * stepping.h
 *	  Which view the maintainer is at work on, so that a crash tells.
 *
 * A small mapped file per database, in the data directory.  The maintainer
 * writes the view's OID where ddir_stepping_open says, before it computes or
 * writes anything for it; a process that is killed leaves it there.  The next
 * one counts it against the view.  A view at work on in DDIR_STEPPING_CRASHES
 * crashes in a row is not touched any more.
 *
 * The file outlives crashes of the server, not of the machine, and matters
 * only between two starts; losing it is harmless.
 *
 * src/store/stepping.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_STORE_STEPPING_H
#define DDIR_STORE_STEPPING_H

#include "postgres.h"

#define DDIR_STEPPING_CRASHES 3

/*
 * Map the file, count what the last process left there, and return the place
 * to write to (0: at work on nothing in particular).
 */
extern volatile uint32 *ddir_stepping_open(Oid dbid);

/* crashes in a row that this view was at work on in */
extern int	ddir_stepping_crashes(Oid view);

/* it came through: what was counted is forgotten */
extern void ddir_stepping_clear(Oid view);

/* a clean end; with forget, the file goes, too */
extern void ddir_stepping_close(bool forget);

#endif							/* DDIR_STORE_STEPPING_H */
