/*-------------------------------------------------------------------------
 *
 * triangles.h
 *	  The triangles line of the benchmark: what both programs share.
 *
 * Triangles are E(a,b), E(b,c), E(a,c) over a multiset of random edges; a tick
 * replaces a thousand of a million.  The engine maintains them with a delta
 * join (engine.c); the limit is a program written for nothing else
 * (triangles_limit.c).
 *
 * Edge k is replaced in tick k / CHANGES by edge EDGES + k.
 *
 * test/bench/triangles.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BENCH_TRIANGLES_H
#define DDIR_BENCH_TRIANGLES_H

#include <stdint.h>
#include <time.h>

#define NODES 100000
#define EDGES 1000000
#define CHANGES 1000
#define TICKS 20

/* Known for these edges; anything else is a wrong program. */
#define TRIANGLES_AT_LOAD 1254
#define TRIANGLES_AT_END 1318

typedef struct Edge
{
	uint32_t	from;
	uint32_t	to;
} Edge;

/*
 * A triangle's diff enters a sum that does not depend on order, so that two
 * programs can be compared tick by tick.
 */
static inline uint64_t
triangle_sum(uint64_t a, uint64_t b, uint64_t c, int64_t diff)
{
	uint64_t	x = (a * UINT64_C(0x9e3779b97f4a7c15) + b) * UINT64_C(0xbf58476d1ce4e5b9) + c;

	x = (x ^ (x >> 31)) * UINT64_C(0x94d049bb133111eb);
	return (x ^ (x >> 29)) * (uint64_t) diff;
}

/* Processor time of this thread, in seconds: others share the machine. */
static inline double
cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

typedef struct TriangleResult
{
	double		load_s;
	double		tick_s;			/* mean */
	double		bytes;
	int64_t		count[TICKS + 1];	/* after load, after each tick */
	uint64_t	sum[TICKS + 1];
} TriangleResult;

extern void triangles_limit(const Edge *edges, TriangleResult *out);

#endif							/* DDIR_BENCH_TRIANGLES_H */
