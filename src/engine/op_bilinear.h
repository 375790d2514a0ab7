/*-------------------------------------------------------------------------
 *
 * op_bilinear.h
 *	  The binary join of two traces, at product times.
 *
 * Each pair of updates with equal keys yields, exactly once, their product at
 * t1 v t2.  Batches may arrive in any order and split; a new one meets all of
 * the other trace that was accepted before it.
 *
 *	ddir_bilinear_open	- join what is there already, as of "since"
 *	ddir_bilinear_accept	- a batch that was inserted in a trace
 *	ddir_bilinear_pass	- the same for an empty one
 *	ddir_bilinear_work	- do what is queued
 *	ddir_bilinear_close	- let go of the traces
 *
 * Times before "since" are read as of it (both traces must have been compacted
 * by no more), so what comes out is right at all times beyond since, and at
 * none before.
 *
 * Memory: queued work holds references to the batches it will read; the
 * output chunk and the history of one key are in the arena given.
 *
 * src/engine/op_bilinear.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_OP_BILINEAR_H
#define DDIR_ENGINE_OP_BILINEAR_H

#include "engine/half_join.h"

typedef struct DdirBilinear DdirBilinear;

/* Takes a chunk of pairs: relation 0 is left, 1 is right. */
typedef void (*DdirPairsFn) (void *ctx, DdirStream *pairs);

extern DdirBilinear *ddir_bilinear_open(DdirArena *arena,
										DdirSpine *left, DdirSpine *right,
										const DdirFrontier *since,
										DdirPairsFn pairs, void *ctx);
extern void ddir_bilinear_accept(DdirBilinear *b, int side, DdirBatch *batch);
extern void ddir_bilinear_pass(DdirBilinear *b, int side, const DdirFrontier *upper);
extern void ddir_bilinear_work(DdirBilinear *b);
extern void ddir_bilinear_close(DdirBilinear *b);

/* keys whose histories were consolidated: read as of since, and moved */
extern uint64_t ddir_bilinear_moved(const DdirBilinear *b);

/* steps of the inner loops, for tests of their number */
extern uint64_t ddir_bilinear_effort(const DdirBilinear *b);

#endif							/* DDIR_ENGINE_OP_BILINEAR_H */
