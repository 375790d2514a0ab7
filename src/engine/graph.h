/*-------------------------------------------------------------------------
 *
 * graph.h
 *	  The dataflow graph: operators, their edges, and the step.
 *
 * A graph runs in steps.  A step has one open time t: sources are pushed, the
 * changes flow down the edges in chunks, then every operator is *sealed* in
 * rank order (inputs before consumers) and emits what it had to hold back.
 * After the step the frontier is {t + 1} and arrangements are compacted to t:
 * one step back, as half joins need.
 *
 *	ddir_graph_begin	- open a step at t, beyond the last one
 *	ddir_node_push		- give rows to one input of one operator
 *	ddir_graph_finish	- seal all, move the frontier, compact
 *
 * Beside its time a step has a *clock*, which only goes forward and need not
 * move: operators that keep rows for later instants (op_schedule.c) let them
 * out where it passes.  Between steps the graph knows the least instant at
 * which there is something to let out.
 *
 * Each edge carries two collections: rows, and errors (rows of a shape the
 * functions agree on).  Operators forward the errors of their inputs unless
 * they say otherwise; errors are never negated.
 *
 * A graph grows and shrinks between steps.  An operator made since the last
 * step is *fresh*: what is already in the arrangements it reads is read by it
 * in its first step (late import, as of the time of that step), and what its
 * other inputs held before must be pushed into it, and only it, in that step.
 *
 * Memory: each operator has an arena, child of the graph's.  An operator
 * lives until its creator and all its consumers released it.  What is needed
 * for one operator's seal only comes from the graph's scratch arena.
 *
 * An error raised in a step leaves the graph fit for ddir_graph_destroy only;
 * that then calls no operator, it frees the arenas.  One raised while an
 * operator is made leaves it as it was.
 *
 * src/engine/graph.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_GRAPH_H
#define DDIR_ENGINE_GRAPH_H

#include "engine/delta.h"
#include "engine/spine.h"

typedef struct DdirGraph DdirGraph;
typedef struct DdirNode DdirNode;

/* What ddir.arrangements, ddir.operators and explain show of an operator. */
typedef struct DdirNodeStats
{
	const char *op;				/* "arrange", "join", ... */
	const char *label;
	uint64_t	rows;			/* held now */
	size_t		bytes;			/* held now */
	uint64_t	rows_in;		/* deltas since creation */
	uint64_t	rows_out;
	const DdirSpine *spine;		/* of an arrangement, else NULL */
	int			readers;		/* consumers */
} DdirNodeStats;

/* An operator: so many functions and no more. */
typedef struct DdirNodeOps
{
	const char *name;
	/* a step opens: let go of what was kept of the last.  NULL: nothing */
	void		(*begin) (DdirNode *node);
	/* rows for an input port; may emit at once */
	void		(*push) (DdirNode *node, int port, const DdirDeltas *rows);
	/* errors for an input port; NULL: forwarded */
	void		(*push_errors) (DdirNode *node, int port, const DdirDeltas *errs);
	/* all input of the step has come; emit the rest.  NULL: nothing to do */
	void		(*seal) (DdirNode *node);
	/* after the step: compact, spend fuel.  NULL: nothing to do */
	void		(*compact) (DdirNode *node, const DdirFrontier *since);
	/* idle: spend fuel; true while there is more to do.  NULL: nothing */
	bool		(*exert) (DdirNode *node, int64_t fuel);

	/*
	 * the greatest clock, up to "to", that lets out no more than so many
	 * rows, or those of one instant.  NULL: it keeps none
	 */
	int64_t		(*reach) (DdirNode *node, int64_t to, uint64_t rows);
	void		(*stats) (const DdirNode *node, DdirNodeStats *out);
	/* release what is not in the node's arena (readers of other traces) */
	void		(*destroy) (DdirNode *node);
} DdirNodeOps;

typedef struct DdirEdge
{
	DdirNode   *to;
	int			port;
} DdirEdge;

/* First member of every operator's struct. */
struct DdirNode
{
	const DdirNodeOps *ops;
	DdirGraph  *graph;
	DdirArena  *arena;
	char	   *label;
	uint32_t	tag;			/* the creator's; see ddir_graph_watch */
	uint64_t	rank;			/* inputs have lesser ranks */
	int			refs;			/* consumers, and creators that hold it */
	bool		fresh;
	int			nin;
	DdirNode  **in;
	int			nedges;
	int			cap_edges;
	DdirEdge   *edge;
	uint64_t	rows_in;
	uint64_t	rows_out;
	DdirNode   *next;			/* by rank */
	DdirNode   *prev;
};

extern DdirGraph *ddir_graph_create(DdirArena *parent, int coords);
extern void ddir_graph_destroy(DdirGraph *g);
extern DdirArena *ddir_graph_arena(DdirGraph *g);
extern int	ddir_graph_coords(const DdirGraph *g);
extern void ddir_graph_begin(DdirGraph *g, const uint64_t *t);
extern void ddir_graph_finish(DdirGraph *g);

/* the open step's time, or that of the last one */
extern const uint64_t *ddir_graph_now(const DdirGraph *g);

/* what clocks and instants are never beyond; where nothing is to come */
#define DDIR_NEVER INT64_MAX

/*
 * The clock of the next step, never less than that of the last; it starts at
 * the least number.
 */
extern void ddir_graph_set_clock(DdirGraph *g, int64_t clock);
extern int64_t ddir_graph_clock(const DdirGraph *g);

/* does any operator look at it? */
extern bool ddir_graph_is_clocked(const DdirGraph *g);

/*
 * The least instant, beyond the clock, at which something may change;
 * DDIR_NEVER: none.  And the greatest clock up to "to" at which no operator
 * lets out more than so many rows, if they are not of one instant.
 */
extern int64_t ddir_graph_due(const DdirGraph *g);
extern int64_t ddir_graph_reach(const DdirGraph *g, int64_t to, uint64_t rows);

/* spend effort on merges while idle; true while there is more to do */
extern bool ddir_graph_exert(DdirGraph *g, int64_t fuel);

/* what is beyond the last step's time: {0} before the first step */
extern const DdirFrontier *ddir_graph_frontier(const DdirGraph *g);
extern size_t ddir_graph_bytes(const DdirGraph *g);
extern void ddir_graph_each(DdirGraph *g, void (*f) (DdirNode *node, void *ctx), void *ctx);

/* from now on *current is the tag of the operator at work, 0 for none */
extern void ddir_graph_watch(DdirGraph *g, volatile uint32_t *current);

extern void ddir_node_push(DdirNode *node, int port, const DdirDeltas *rows);
extern void ddir_node_push_errors(DdirNode *node, int port, const DdirDeltas *errs);
extern void ddir_node_hold(DdirNode *node);
extern void ddir_node_release(DdirNode *node);
extern void ddir_node_stats(const DdirNode *node, DdirNodeStats *out);

/* For operators: */

/*
 * size: of the operator's struct, zeroed; inputs gain a consumer each, port =
 * index (in may be NULL: the constructor fills node->in).  The node is part of
 * the graph when the constructor, at its end, calls it complete; if an error is raised before that, the graph is as it
 * was, and what there is of the node goes when the next one is made.
 */
extern DdirNode *ddir_node_create(DdirGraph *g, size_t size, const DdirNodeOps *ops,
								  const char *label, int nin, DdirNode *const *in);
extern DdirNode *ddir_node_complete(DdirNode *node);
extern void ddir_node_emit(DdirNode *node, const DdirDeltas *rows);
extern void ddir_node_emit_errors(DdirNode *node, const DdirDeltas *errs);

/* emit and empty a run, if there is anything in it */
extern void ddir_node_flush(DdirNode *node, DdirDeltas *rows);
extern void ddir_node_flush_errors(DdirNode *node, DdirDeltas *errs);

/* while compacting: something may change at that instant */
extern void ddir_graph_expect(DdirGraph *g, int64_t instant);

/* the frontier when the open step is over */
extern const DdirFrontier *ddir_graph_upper(const DdirGraph *g);

/* a cursor over what a trace held before the open step, or holds with it */
extern void ddir_graph_cursor_before(const DdirGraph *g, DdirCursor *c, const DdirSpine *s);
extern void ddir_graph_cursor_now(const DdirGraph *g, DdirCursor *c, const DdirSpine *s);

/* emptied when the operator being sealed is done */
extern DdirArena *ddir_graph_scratch(DdirGraph *g);

/*
 * A chunk of a run, from row "start", as a bundle: DDIR_CHUNK_ROWS rows, or
 * fewer if they are large.  Valid until rows are emitted or the next slice is
 * made.
 */
extern const DdirBundle *ddir_graph_slice(DdirGraph *g, const DdirDeltas *rows,
										  uint32_t start);

/*
 * Call a function over a bundle, appending to runs that may hold rows of other
 * times already.
 */
extern void ddir_graph_call(const DdirFunc *f, const DdirBundle *in,
							DdirDeltas *out, DdirDeltas *err);

/* after a step: give back the room of a run that once was large */
extern void ddir_node_trim(DdirDeltas *d);

#endif							/* DDIR_ENGINE_GRAPH_H */
