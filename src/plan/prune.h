/*-------------------------------------------------------------------------
 *
 * prune.h
 *	  Dropping columns that nobody reads.
 *
 * src/plan/prune.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_PRUNE_H
#define DDIR_PLAN_PRUNE_H

#include "postgres.h"

#include "plan/ir.h"

/* A new DDIR that makes the same columns; the old one is left as it is. */
extern DdirRel *ddir_prune(DdirRel *root);

/*
 * All relations below and including root, each once, inputs before what reads
 * them.  With refs not NULL: how often each is read, in the same order.
 */
extern List *ddir_rels_in_order(DdirRel *root, List **refs);

#endif							/* DDIR_PLAN_PRUNE_H */
