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

/* What was made for a view, and why: a line of ddir.explain. */
typedef struct DdirMade
{
	int			depth;			/* 1: belongs to the last one of depth 0 */
	const char *what;			/* "arrangement", "delta join", "path", ... */
	char	   *text;
	const char *sharing;		/* "new" or "shared"; NULL: nothing to share */
	double		rows;			/* estimates of what it holds; -1: nothing */
	double		bytes;
	/* of a join: new bytes of arrangements, one way and the other; else -1 */
	double		delta_bytes;
	double		binary_bytes;
	DdirNode   *node;			/* that holds it, or NULL */
} DdirMade;

/* A dataflow of one view. */
typedef struct DdirFlow
{
	MemoryContext cxt;
	Oid			view;
	DdirNode   *output;			/* rows as the view's; held */
	DdirNode   *sink;			/* held */
	List	   *nodes;			/* all nodes it holds, for release and
								 * accounting */
	List	   *loads;			/* of DdirLoad *, for the next step */
	List	   *constants;		/* what ddir_flow_start pushes */
	List	   *inputs;			/* of Oid: sources and views read */
	List	   *made;			/* of DdirMade * */
	double		rows;			/* estimate of the view's */
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

/*
 * Old rows of a base table are to be looked up by a key: flows that read it
 * from now on hold an arrangement by that of all its columns in "needed",
 * shared with joins by the same key.  atts: of int, the key's columns, which
 * are among those needed; NIL: not any more.  plain: rows are told apart by the
 * equality that joins use.
 */
extern void ddir_share_by_key(DdirShare *share, Oid relid, const DdirRowType *type,
							  List *atts, bool plain, const Bitmapset *needed);

/* That arrangement, as it is between steps. */
typedef struct DdirByKey
{
	const DdirRowType *type;	/* of the table's rows */
	DdirFunc	key;			/* keys them */
	const DdirSpine *trace;
	const DdirRowType *val;
	const AttrNumber *att;		/* of each attribute the val's column, or 0 */
} DdirByKey;

/* false: no flow holds one */
extern bool ddir_share_find_by_key(DdirShare *share, Oid relid, DdirByKey *found);

/*
 * Where one of more columns has been made, those of fewer are not held any more
 * but for joins.  Between steps.
 */
extern void ddir_share_settle_by_key(DdirShare *share, Oid relid);

/* The key of a table's rows, whose images are of this type, as it encodes them. */
extern DdirFunc ddir_share_key_func(MemoryContext cxt, const DdirRowType *type, List *atts,
									bool plain);

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

/*
 * Arrangements of these inputs described as text, for a process that makes a
 * plan without running it.
 */
typedef struct DdirDescribed
{
	char	   *text;
	double		rows;			/* held */
	double		bytes;
} DdirDescribed;

extern List *ddir_share_describe(DdirShare *share); /* of DdirDescribed * */

/*
 * What would be made for a query beside the arrangements described.  The flow
 * has no operators; it goes with the context it was made in.
 */
extern DdirFlow *ddir_flow_plan(Oid owner, DdirRel *root, List *described);

/* Bytes that the view's own rows take in the maintainer. */
extern double ddir_flow_map_bytes(const DdirFlow *flow);

#endif							/* DDIR_PLAN_BUILD_H */
