/*-------------------------------------------------------------------------
 *
 * time.h
 *	  Logical times and frontiers: the partial order in one place.
 *
 * A time is a vector of "coords" unsigned 64-bit coordinates.  Coordinate 0
 * is the number of the tray; each loop a row is inside of adds one.  Two
 * orders exist and are never mixed up:
 *
 *	ddir_time_le	- coordinatewise, partial: accumulation, frontiers
 *	ddir_time_cmp	- lexicographic, total: sorting, the half join's tie rule
 *
 * cmp is a linear extension of le.  Join is the coordinatewise maximum, meet
 * the minimum; this lattice is distributive, so advancing a time by a
 * frontier F (the meet over f in F of t v f) is t v (meet of all of F).
 *
 * A frontier is an antichain, the least times that may still come.  The empty
 * one is the end of time: nothing is beyond it.
 *
 * Reference: McSherry et al., "Differential Dataflow" (CIDR 2013).
 *
 * src/engine/time.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_TIME_H
#define DDIR_ENGINE_TIME_H

#include "engine/port.h"

#define DDIR_COORDS_MAX 4

typedef struct DdirTime
{
	uint64_t	c[DDIR_COORDS_MAX]; /* those past the width are zero */
} DdirTime;

static inline bool
ddir_time_le(const uint64_t *a, const uint64_t *b, int coords)
{
	for (int i = 0; i < coords; i++)
		if (a[i] > b[i])
			return false;
	return true;
}

static inline int
ddir_time_cmp(const uint64_t *a, const uint64_t *b, int coords)
{
	for (int i = 0; i < coords; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

/* out may be a or b */
static inline void
ddir_time_join(const uint64_t *a, const uint64_t *b, uint64_t *out, int coords)
{
	for (int i = 0; i < coords; i++)
		out[i] = a[i] > b[i] ? a[i] : b[i];
}

static inline void
ddir_time_meet(const uint64_t *a, const uint64_t *b, uint64_t *out, int coords)
{
	for (int i = 0; i < coords; i++)
		out[i] = a[i] < b[i] ? a[i] : b[i];
}

typedef struct DdirFrontier
{
	int			coords;
	int			n;				/* elements; 0 = end of time */
	int			cap;
	DdirArena  *arena;
	DdirTime   *elem;			/* mutually incomparable, sorted by cmp */
} DdirFrontier;

/* empty: the end of time */
extern void ddir_frontier_init(DdirFrontier *f, DdirArena *arena, int coords);

/* the least frontier, {0} */
extern void ddir_frontier_init_least(DdirFrontier *f, DdirArena *arena, int coords);
extern void ddir_frontier_copy(DdirFrontier *dst, const DdirFrontier *src);
extern void ddir_frontier_free(DdirFrontier *f);

/* drop t if it is beyond f, else add it and drop what is beyond t */
extern void ddir_frontier_insert(DdirFrontier *f, const uint64_t *t);

/* some element is le t */
extern bool ddir_frontier_beyond(const DdirFrontier *f, const uint64_t *t);

/* a <= b: every element of b is beyond a */
extern bool ddir_frontier_le(const DdirFrontier *a, const DdirFrontier *b);
extern bool ddir_frontier_equal(const DdirFrontier *a, const DdirFrontier *b);

/* dst := join (meet) of dst and src */
extern void ddir_frontier_join(DdirFrontier *dst, const DdirFrontier *src);
extern void ddir_frontier_meet(DdirFrontier *dst, const DdirFrontier *src);

/* meet of all elements into out; false (out untouched) if f is empty */
extern bool ddir_frontier_floor(const DdirFrontier *f, uint64_t *out);

/* t := advance by f; unchanged when f is empty.  Returns whether t moved. */
extern bool ddir_frontier_advance(const DdirFrontier *f, uint64_t *t);

/* every coordinate of every element less one, not below zero */
extern void ddir_frontier_step_back(DdirFrontier *dst, const DdirFrontier *src);

#endif							/* DDIR_ENGINE_TIME_H */
