/*-------------------------------------------------------------------------
 *
 * optimize.h
 *	  Rewriting DDIR to less of it.
 *
 * src/plan/optimize.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_OPTIMIZE_H
#define DDIR_PLAN_OPTIMIZE_H

#include "postgres.h"

#include "plan/ir.h"

/*
 * The same relation, made more simply; columns and their order stay.  Parts
 * that stood in several places still do.
 */
extern DdirRel *ddir_optimize(DdirRel *root);

#endif							/* DDIR_PLAN_OPTIMIZE_H */
