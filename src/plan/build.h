/*-------------------------------------------------------------------------
 *
 * build.h
 *	  From DDIR to operators, sharing arrangements with what runs already.
 *
 * The registry (DdirShare) remembers the sources and arrangements of a graph.
 * Building a view makes fresh operators; what the view's inputs held before
 * must be pushed into them in the step that follows: that is the list of
 * loads.
 *
 * src/plan/build.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_PLAN_BUILD_H
#define DDIR_PLAN_BUILD_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "engine/op.h"
#include "plan/ir.h"

typedef struct DdirShare DdirShare;

/* Contents of an input that a fresh operator has to be given. */
typedef struct DdirLoad
{
	Oid			relid;			/* source or ddir view */
	DdirNode   *node;
	int			port;
} DdirLoad;

/* A dataflow of one view. */
typedef struct DdirFlow
{
	MemoryContext cxt;
	Oid			view;
	DdirNode   *output;			/* rows as the view's; held */
	DdirNode   *sink;			/* held */
	List	   *nodes;			/* all nodes it holds, for release and accounting */
	List	   *loads;			/* of DdirLoad *, for the next step */
	List	   *constants;		/* what ddir_flow_start pushes */
	List	   *inputs;			/* of Oid: sources and views read */
	StringInfoData plan;		/* operators made, as text, for explain */
	double		state_bytes;	/* estimate of what was not shared */
} DdirFlow;

/* cxt becomes the registry's; flows and programs are children of it */
extern DdirShare *ddir_share_create(MemoryContext cxt, DdirGraph *graph);
extern MemoryContext ddir_share_context(const DdirShare *share);

/* The node of a base table, made on first use. */
extern DdirNode *ddir_share_source(DdirShare *share, Oid relid);
/* Attributes of it that are used by any flow (numbers from 1). */
extern Bitmapset *ddir_share_used(DdirShare *share, Oid relid);
/* Columns its rows have; 0: no flow reads it. */
extern int	ddir_share_width(DdirShare *share, Oid relid);
/* Declare the output of a ddir view as an input for others; NULL takes it back. */
extern void ddir_share_view(DdirShare *share, Oid view, DdirNode *output);

/*
 * Make the operators of a view.  sink receives its output.  Constants are
 * pushed by ddir_flow_start, which must be called inside the first step.
 */
extern DdirFlow *ddir_flow_build(DdirShare *share, Oid view, Oid owner, DdirRel *root,
								 DdirSinkFns sink);
extern void ddir_flow_start(DdirFlow *flow);
/* Release its operators; shared ones stay while others hold them. */
extern void ddir_flow_drop(DdirFlow *flow, DdirShare *share);

/* Bytes of the flow's operators, shared ones split among their readers. */
extern Size ddir_flow_bytes(DdirFlow *flow);

/* For ddir.arrangements. */
typedef struct DdirArrangementInfo
{
	Oid			relid;			/* source it is over; InvalidOid: derived */
	char	   *input;			/* as text */
	char	   *key;
	char	   *columns;
	List	   *views;			/* of Oid: who shares it */
	uint64		rows;
	Size		bytes;
	uint64		since;
	uint64		upper;
} DdirArrangementInfo;

extern List *ddir_share_arrangements(DdirShare *share);

#endif							/* DDIR_PLAN_BUILD_H */
