/*-------------------------------------------------------------------------
 *
 * graph.c
 *	  The dataflow graph: topology, and the step.
 *
 * Operators stand in a list by rank, in the order they were made, so inputs
 * come before consumers and one walk over the list seals everything.  Rows
 * move by calls: emitting pushes into each consumer at once.  A row may be
 * pushed only into an operator that is not sealed yet, which the rank of the
 * operator being sealed tells.
 *
 * Not here: what any operator does (op_*.c).
 *
 * Memory: the graph's arena holds the struct and, as children, the operators'
 * arenas and the scratch arena.
 *
 * src/engine/graph.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/graph.h"

/* Runs that outgrew this give their room back after the step. */
#define KEEP_BYTES (32 * 1024)

typedef enum GraphState
{
	GRAPH_IDLE,
	GRAPH_OPEN,					/* begun: sources may be pushed */
	GRAPH_SEALING,
	GRAPH_BUSY					/* being changed, or exerted */
} GraphState;

typedef struct DdirSlice
{
	DdirBundle	bundle;
	const DdirRef *refs[1];
	DdirRef    *room;
} DdirSlice;

struct DdirGraph
{
	DdirArena  *arena;
	DdirArena  *scratch;
	bool		scratch_used;
	DdirSlice	slice;
	int			coords;
	GraphState	state;			/* not idle at destroy: an error was raised */
	bool		stepped;		/* there was a step */
	DdirTime	now;
	DdirTime	last;			/* time of the step before, if "stepped" */
	DdirFrontier frontier;
	DdirFrontier upper;			/* of the open step */
	DdirFrontier since;
	int64_t		clock;
	int64_t		due;			/* as of the last step */
	int			nclocked;		/* operators that look at the clock */
	uint64_t	next_rank;
	uint64_t	sealed;			/* ranks below are sealed in this step */
	volatile uint32_t *current; /* where the tag of who is at work goes */
	volatile uint32_t nowhere;
	DdirArena  *making;			/* of an operator that is not complete */
	DdirNode   *first;
	DdirNode   *last_node;
};

DdirGraph *
ddir_graph_create(DdirArena *parent, int coords)
{
	DdirArena  *arena;
	DdirGraph  *g;

	ddir_check(coords >= 1 && coords <= DDIR_COORDS_MAX);
	arena = ddir_arena_create(parent, "ddir graph");
	g = ddir_alloc0(arena, sizeof(DdirGraph));
	g->arena = arena;
	g->scratch = ddir_arena_create(arena, "ddir graph scratch");
	g->coords = coords;
	g->clock = INT64_MIN;
	g->due = DDIR_NEVER;
	g->next_rank = 1;
	g->current = &g->nowhere;
	ddir_frontier_init_least(&g->frontier, arena, coords);
	ddir_frontier_init_least(&g->upper, arena, coords);
	ddir_frontier_init_least(&g->since, arena, coords);
	return g;
}

/*
 * Consumers go before their inputs.  After an error nothing is known about
 * the operators' insides, so none is called.
 */
void
ddir_graph_destroy(DdirGraph *g)
{
	if (g->state == GRAPH_IDLE)
	{
		g->state = GRAPH_BUSY;
		for (DdirNode *node = g->last_node; node; node = node->prev)
			if (node->ops->destroy)
				node->ops->destroy(node);
	}
	ddir_arena_destroy(g->arena);
}

DdirArena *
ddir_graph_arena(DdirGraph *g)
{
	return g->arena;
}

int
ddir_graph_coords(const DdirGraph *g)
{
	return g->coords;
}

const uint64_t *
ddir_graph_now(const DdirGraph *g)
{
	return g->now.c;
}

const DdirFrontier *
ddir_graph_frontier(const DdirGraph *g)
{
	return &g->frontier;
}

const DdirFrontier *
ddir_graph_upper(const DdirGraph *g)
{
	return &g->upper;
}

DdirArena *
ddir_graph_scratch(DdirGraph *g)
{
	ddir_assert(g->state == GRAPH_SEALING);
	g->scratch_used = true;
	return g->scratch;
}

/* the frontier whose one element is t */
static void
frontier_set(DdirFrontier *f, const uint64_t *t)
{
	f->n = 0;
	ddir_frontier_insert(f, t);
}

void
ddir_graph_begin(DdirGraph *g, const uint64_t *t)
{
	DdirTime	next = {{0}};

	ddir_check(g->state == GRAPH_IDLE);
	ddir_check(ddir_frontier_beyond(&g->frontier, t));
	g->state = GRAPH_OPEN;
	g->last = g->now;
	memcpy(g->now.c, t, g->coords * sizeof(uint64_t));
	next.c[0] = t[0] + 1;
	frontier_set(&g->upper, next.c);
	g->sealed = 0;

	for (DdirNode *node = g->first; node; node = node->next)
		if (node->ops->begin)
			node->ops->begin(node);
}

/*
 * Seal in rank order, move the frontier, and compact: to one step behind the
 * frontier in every coordinate, so that "strictly before t" still tells the
 * last step from the next.
 */
void
ddir_graph_finish(DdirGraph *g)
{
	ddir_check(g->state == GRAPH_OPEN);
	g->state = GRAPH_SEALING;

	for (DdirNode *node = g->first; node; node = node->next)
	{
		g->sealed = node->rank;
		*g->current = node->tag;
		if (node->ops->seal)
			node->ops->seal(node);
		if (g->scratch_used)
			ddir_arena_reset(g->scratch);
		g->scratch_used = false;
		node->fresh = false;
	}

	g->stepped = true;
	ddir_frontier_copy(&g->frontier, &g->upper);
	ddir_frontier_step_back(&g->since, &g->frontier);
	g->due = DDIR_NEVER;
	for (DdirNode *node = g->first; node; node = node->next)
		if (node->ops->compact)
			node->ops->compact(node, &g->since);
	*g->current = 0;
	g->state = GRAPH_IDLE;
}

void
ddir_graph_watch(DdirGraph *g, volatile uint32_t *current)
{
	g->current = current;
}

bool
ddir_graph_exert(DdirGraph *g, int64_t fuel)
{
	bool		more = false;

	ddir_check(g->state == GRAPH_IDLE);
	g->state = GRAPH_BUSY;
	for (DdirNode *node = g->first; node; node = node->next)
		if (node->ops->exert)
			more |= node->ops->exert(node, fuel);
	g->state = GRAPH_IDLE;
	return more;
}

size_t
ddir_graph_bytes(const DdirGraph *g)
{
	return ddir_arena_bytes(g->arena);
}

void
ddir_graph_each(DdirGraph *g, void (*f) (DdirNode *node, void *ctx), void *ctx)
{
	for (DdirNode *node = g->first; node; node = node->next)
		f(node, ctx);
}

/* ----
 * The clock
 * ----
 */

void
ddir_graph_set_clock(DdirGraph *g, int64_t clock)
{
	ddir_check(g->state == GRAPH_IDLE);
	ddir_check(clock >= g->clock);
	g->clock = clock;
}

int64_t
ddir_graph_clock(const DdirGraph *g)
{
	return g->clock;
}

bool
ddir_graph_is_clocked(const DdirGraph *g)
{
	return g->nclocked > 0;
}

int64_t
ddir_graph_due(const DdirGraph *g)
{
	/* that of operators that are gone may come early, but not for nobody */
	return g->nclocked > 0 ? g->due : DDIR_NEVER;
}

void
ddir_graph_expect(DdirGraph *g, int64_t instant)
{
	ddir_assert(instant > g->clock);
	if (instant < g->due)
		g->due = instant;
}

int64_t
ddir_graph_reach(const DdirGraph *g, int64_t to, uint64_t rows)
{
	ddir_check(g->state == GRAPH_IDLE);
	for (DdirNode *node = g->first; node; node = node->next)
		if (node->ops->reach && to > g->clock)
			to = node->ops->reach(node, to, rows);
	return to > g->clock ? to : g->clock;
}

/*
 * Before the first step there is nothing to be seen: no time is strictly
 * before the least.
 */
void
ddir_graph_cursor_before(const DdirGraph *g, DdirCursor *c, const DdirSpine *s)
{
	static const DdirTime least = {{0}};

	if (g->stepped)
	{
		DdirTime	t = {{0}};

		/* all of the last step, whatever its inner coordinates */
		t = g->last;
		for (int i = 1; i < g->coords; i++)
			t.c[i] = UINT64_MAX;
		ddir_cursor_open(c, s, t.c, false);
	}
	else
		ddir_cursor_open(c, s, least.c, true);
}

void
ddir_graph_cursor_now(const DdirGraph *g, DdirCursor *c, const DdirSpine *s)
{
	DdirTime	t = g->now;

	for (int i = 1; i < g->coords; i++)
		t.c[i] = UINT64_MAX;
	ddir_cursor_open(c, s, t.c, false);
}

/* ----
 * Operators
 * ----
 */

static void
edge_reserve(DdirNode *from, int more)
{
	int			cap = from->cap_edges ? from->cap_edges : 4;

	while (cap < from->nedges + more)
		cap *= 2;
	if (cap == from->cap_edges)
		return;
	from->edge = ddir_realloc(from->arena, from->edge, cap * sizeof(DdirEdge));
	from->cap_edges = cap;
}

static void
edge_add(DdirNode *from, DdirNode *to, int port)
{
	ddir_assert(from->nedges < from->cap_edges);
	from->edge[from->nedges].to = to;
	from->edge[from->nedges].port = port;
	from->nedges++;
	from->refs++;
}

static void
edge_remove(DdirNode *from, const DdirNode *to, int port)
{
	int			i = 0;

	while (i < from->nedges &&
		   !(from->edge[i].to == to && from->edge[i].port == port))
		i++;
	ddir_check(i < from->nedges);
	from->nedges--;
	memmove(&from->edge[i], &from->edge[i + 1],
			(from->nedges - i) * sizeof(DdirEdge));
}

DdirNode *
ddir_node_create(DdirGraph *g, size_t size, const DdirNodeOps *ops,
				 const char *label, int nin, DdirNode *const *in)
{
	DdirArena  *arena;
	DdirNode   *node;

	ddir_check(g->state == GRAPH_IDLE);
	ddir_assert(size >= sizeof(DdirNode));

	if (g->making)
		ddir_arena_destroy(g->making);
	g->making = NULL;
	g->making = arena = ddir_arena_create(g->arena, ops->name);
	node = ddir_alloc0(arena, size);
	node->ops = ops;
	node->graph = g;
	node->arena = arena;
	node->label = ddir_strdup(arena, label ? label : ops->name);
	node->refs = 1;
	node->fresh = true;
	node->nin = nin;
	node->in = ddir_alloc(arena, (nin + 1) * sizeof(DdirNode *));
	for (int i = 0; in && i < nin; i++)
		node->in[i] = in[i];
	return node;
}

/* What can fail comes before what changes the graph. */
DdirNode *
ddir_node_complete(DdirNode *node)
{
	DdirGraph  *g = node->graph;

	ddir_check(g->state == GRAPH_IDLE && g->making == node->arena);
	for (int i = 0; i < node->nin; i++)
	{
		/* one that its constructor forgot to complete is nobody's input */
		ddir_check(node->in[i]->graph == g && node->in[i]->rank > 0);
		edge_reserve(node->in[i], node->nin);
	}

	for (int i = 0; i < node->nin; i++)
		edge_add(node->in[i], node, i);
	node->rank = g->next_rank++;
	node->prev = g->last_node;
	if (g->last_node)
		g->last_node->next = node;
	else
		g->first = node;
	g->last_node = node;
	g->making = NULL;
	if (node->ops->reach)
		g->nclocked++;
	return node;
}

void
ddir_node_hold(DdirNode *node)
{
	node->refs++;
}

static void
node_destroy(DdirNode *node)
{
	DdirGraph  *g = node->graph;

	ddir_assert(node->nedges == 0);
	if (node->ops->reach)
		g->nclocked--;
	if (node->ops->destroy)
		node->ops->destroy(node);
	if (node->prev)
		node->prev->next = node->next;
	else
		g->first = node->next;
	if (node->next)
		node->next->prev = node->prev;
	else
		g->last_node = node->prev;

	for (int i = 0; i < node->nin; i++)
	{
		edge_remove(node->in[i], node, i);
		if (--node->in[i]->refs == 0)
			node_destroy(node->in[i]);
	}
	ddir_arena_destroy(node->arena);
}

/* Let go of a reference; what nobody refers to any more is destroyed. */
void
ddir_node_release(DdirNode *node)
{
	DdirGraph  *g = node->graph;

	ddir_check(g->state == GRAPH_IDLE);
	ddir_check(node->refs > 0);
	if (--node->refs > 0)
		return;
	g->state = GRAPH_BUSY;
	node_destroy(node);
	g->state = GRAPH_IDLE;
}

void
ddir_node_stats(const DdirNode *node, DdirNodeStats *out)
{
	memset(out, 0, sizeof(*out));
	out->op = node->ops->name;
	out->label = node->label;
	out->bytes = ddir_arena_bytes(node->arena);
	out->rows_in = node->rows_in;
	out->rows_out = node->rows_out;
	out->readers = node->nedges;
	if (node->ops->stats)
		node->ops->stats(node, out);
}

/* ----
 * Rows on their way
 * ----
 */

/* Between begin and finish, and not yet sealed. */
static inline void
check_open(const DdirNode *node)
{
	const DdirGraph *g = node->graph;

	ddir_check(g->state == GRAPH_OPEN || g->state == GRAPH_SEALING);
	ddir_check(node->rank >= g->sealed);
}

void
ddir_node_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	check_open(node);
	ddir_assert(rows->coords == node->graph->coords);
	if (rows->n == 0)
		return;
	node->rows_in += rows->n;
	*node->graph->current = node->tag;
	node->ops->push(node, port, rows);
}

void
ddir_node_push_errors(DdirNode *node, int port, const DdirDeltas *errs)
{
	check_open(node);
	ddir_assert(errs->coords == node->graph->coords);
	if (errs->n == 0)
		return;
	if (node->ops->push_errors)
		node->ops->push_errors(node, port, errs);
	else
		ddir_node_emit_errors(node, errs);
}

void
ddir_node_emit(DdirNode *node, const DdirDeltas *rows)
{
	node->rows_out += rows->n;
	for (int i = 0; i < node->nedges; i++)
		ddir_node_push(node->edge[i].to, node->edge[i].port, rows);
	*node->graph->current = node->tag;
}

void
ddir_node_emit_errors(DdirNode *node, const DdirDeltas *errs)
{
	for (int i = 0; i < node->nedges; i++)
		ddir_node_push_errors(node->edge[i].to, node->edge[i].port, errs);
}

void
ddir_node_flush(DdirNode *node, DdirDeltas *rows)
{
	if (rows->n == 0)
		return;
	ddir_node_emit(node, rows);
	ddir_deltas_clear(rows);
}

void
ddir_node_flush_errors(DdirNode *node, DdirDeltas *errs)
{
	if (errs->n == 0)
		return;
	ddir_node_emit_errors(node, errs);
	ddir_deltas_clear(errs);
}

/*
 * One room serves all operators: a slice is done with when rows move on, as
 * the next operator slices them anew.
 */
const DdirBundle *
ddir_graph_slice(DdirGraph *g, const DdirDeltas *rows, uint32_t start)
{
	DdirSlice  *s = &g->slice;
	uint32_t	n = 0;
	size_t		bytes = 0;

	ddir_assert(start < rows->n);
	if (s->room == NULL)
		s->room = ddir_alloc(g->arena, DDIR_CHUNK_ROWS * sizeof(DdirRef));
	while (n < DDIR_CHUNK_ROWS && start + n < rows->n && bytes < DDIR_CHUNK_BYTES)
	{
		s->room[n] = ddir_lane_ref(&rows->val, start + n);
		bytes += s->room[n].len;
		n++;
	}
	s->refs[0] = s->room;
	s->bundle.n = n;
	s->bundle.nrel = 1;
	s->bundle.coords = rows->coords;
	s->bundle.ref = s->refs;
	s->bundle.diff = rows->diff + start;
	s->bundle.time = rows->time ? rows->time + (size_t) start * rows->coords : NULL;
	s->bundle.at = rows->at.c;
	return &s->bundle;
}

/* What is appended without a time of its own shall have time t. */
static void
expect_time(DdirDeltas *d, const uint64_t *t)
{
	if (d->n > 0 && d->time == NULL && ddir_time_cmp(d->at.c, t, d->coords) != 0)
		ddir_deltas_spread_time(d);
	memset(&d->at, 0, sizeof(d->at));
	memcpy(d->at.c, t, d->coords * sizeof(uint64_t));
}

void
ddir_graph_call(const DdirFunc *f, const DdirBundle *in,
				DdirDeltas *out, DdirDeltas *err)
{
	expect_time(out, in->at);
	expect_time(err, in->at);
	ddir_func_call(f, in, out, err);
}

void
ddir_node_trim(DdirDeltas *d)
{
	if (ddir_deltas_bytes(d) > KEEP_BYTES)
		ddir_deltas_free(d);
}
