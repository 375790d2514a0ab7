/*-------------------------------------------------------------------------
 *
 * half_join.h
 *	  The half join: a stream of changes looks things up in an arrangement.
 *
 * A row of the stream has its own time t and carries a second one, the
 * payload p >= t.  It meets the arranged updates of its key whose time t2
 * comes before its own in the TOTAL order: cmp(t2, t) < 0 (strict) or <= 0
 * (lax).  Each meeting yields a row at the stream's time t, with payload
 * p v t2 and the product of the diffs.  That the output stays at t is what
 * lets the next half join of a path compare with the same t; only the path's
 * end moves a row to its payload.
 *
 * With one coordinate t2 <= t always, so the payload is t: there the lane is
 * left out, and where a batch has nothing newer than the stream its times are
 * not read at all.
 *
 * Rows of the stream are tuples of refs into batches (and into nothing else),
 * so no row is copied on its way through a path.
 *
 *	ddir_stream_init	- lanes for a chunk of a stream
 *	ddir_half_join_begin	- look up a chunk's keys in one trace, or in two
 *						  at once whose vals must be equal
 *	ddir_half_join_next	- produce, until the output chunk is full
 *
 * Reference: McSherry, the dogs3 library of differential-dataflow.
 *
 * src/engine/half_join.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_HALF_JOIN_H
#define DDIR_ENGINE_HALF_JOIN_H

#include "engine/op.h"

/* Keys located at a time; small, so that what was prefetched is still near. */
#ifndef DDIR_PROBE_BLOCK
#define DDIR_PROBE_BLOCK 64
#endif

/* Which arranged updates a row of the stream meets. */
typedef enum DdirMeet
{
	DDIR_MEET_STRICT,			/* cmp(t2, t) < 0 */
	DDIR_MEET_LAX,				/* cmp(t2, t) <= 0 */
	DDIR_MEET_ALL				/* whatever its time */
} DdirMeet;

/* A chunk of a stream. */
typedef struct DdirStream
{
	DdirArena  *arena;
	int			nrel;
	int			coords;
	uint64_t	bound;			/* bit r: relation r is bound */
	uint32_t	n;
	uint32_t	cap;
	DdirRef   **ref;			/* nrel arrays */
	int64_t    *diff;
	uint64_t   *time;			/* n * coords, or NULL: all are "at" */
	DdirTime	at;
	uint64_t   *payload;		/* n * coords; NULL with one coordinate */
} DdirStream;

extern void ddir_stream_init(DdirStream *s, DdirArena *arena, int nrel, int coords);

/* bind anew: no rows, these relations, time lane or none */
extern void ddir_stream_start(DdirStream *s, uint64_t bound, bool timed, const uint64_t *at);

/* give back the room */
extern void ddir_stream_free(DdirStream *s);

/* room for n rows in all */
extern void ddir_stream_reserve(DdirStream *s, uint32_t n);

/* as the functions see it: times are payloads */
extern void ddir_stream_bundle(const DdirStream *s, DdirBundle *b);

/*
 * Emit what f makes of all rows as the node's, in pieces where rows are large.
 * out and err are empty before and after.
 */
extern void ddir_stream_emit(const DdirStream *s, DdirNode *node, const DdirFunc *f,
							 DdirDeltas *out, DdirDeltas *err);

static inline const uint64_t *
ddir_stream_time(const DdirStream *s, uint32_t i)
{
	return s->time ? s->time + (size_t) i * s->coords : s->at.c;
}

/* Rows of one key in one batch. */
typedef struct DdirRange
{
	uint32_t	row;			/* of the stream */
	uint32_t	batch;
	uint32_t	pos;
	uint32_t	end;
	int32_t		next;			/* of the same probe, or -1 */
} DdirRange;

/* One trace being looked up. */
typedef struct DdirSide
{
	int			rel;
	DdirMeet	meet;
	const DdirDeltas *probe;	/* keyed, tracked: "from" is the stream's row */
	int			nbatches;
	DdirBatch  *batch[DDIR_SPINE_BATCHES_MAX];
	bool		timed[DDIR_SPINE_BATCHES_MAX];	/* its times must be read */
	uint32_t	nranges;
	uint32_t	cap;
	DdirRange  *range;
	int32_t		head[DDIR_PROBE_BLOCK]; /* first range of a probe, or -1 */
} DdirSide;

typedef struct DdirHalfJoin
{
	DdirArena  *arena;
	const DdirStream *in;
	DdirSide	side[2];
	int			nsides;
	uint32_t	block;			/* first probe of the block being worked on */
	uint32_t	nblock;
	uint32_t   *partner;		/* probe of side 1 for a stream's row, + 1 */
	uint32_t	cap_partner;
	uint32_t	at;				/* range (one side) or probe (two) */
	int32_t		a;				/* ranges being intersected */
	int32_t		b;
	uint32_t	pos_a;			/* where to go on in them */
	uint32_t	pos_b;
} DdirHalfJoin;

extern void ddir_half_join_init(DdirHalfJoin *h, DdirArena *arena);
extern void ddir_half_join_begin(DdirHalfJoin *h, const DdirStream *in,
								 const DdirDeltas *probe, const DdirSpine *trace,
								 int rel, DdirMeet meet);

/* to be called after begin: both vals must be equal as bytes */
extern void ddir_half_join_also(DdirHalfJoin *h,
								const DdirDeltas *probe, const DdirSpine *trace,
								int rel, DdirMeet meet);

/* Append to out until it is full; true when all is produced. */
extern bool ddir_half_join_next(DdirHalfJoin *h, DdirStream *out);

#endif							/* DDIR_ENGINE_HALF_JOIN_H */
