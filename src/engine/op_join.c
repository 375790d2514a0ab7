/*-------------------------------------------------------------------------
 *
 * op_join.c
 *	  The delta join: n relations joined without any state of its own.
 *
 * When the step is sealed, each relation's batch of the step is driven down
 * its path: a chain of half joins with the other relations (half_join.h).
 * The sum of all paths' outputs is the change of the join; see op.h for the
 * rule that makes each combination of updates appear in exactly one path.
 *
 * A path is walked depth first.  Level s holds a chunk of tuples with s stages
 * behind them; when it is full it goes through the next stage into level
 * s + 1, and is empty again.  What is left in the levels at the end of the
 * batch is pushed through from the top.  So the memory is bounded by stages x
 * chunk, however large the result, and functions see full chunks.
 *
 *		level 0     level 1     level 2
 *		driver  ->  stage 0 ->  stage 1 ->  output function
 *
 * A fresh join reads everything as of the step: one path, driven by all of its
 * relation's batches, every time being moved up to the step's.
 *
 * Memory: in the graph's scratch arena, while the join is sealed.
 *
 * src/engine/op_join.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/half_join.h"
#include "engine/op.h"

typedef struct Join
{
	DdirNode	node;
	int			nrel;
	DdirPath   *path;			/* nrel of them */
	int			import_path;
} Join;

/* What a level needs to get its chunk through the next stage. */
typedef struct Level
{
	DdirStream	stream;
	DdirHalfJoin half;
	DdirDeltas	key;
	DdirDeltas	key2;
} Level;

typedef struct Walk
{
	Join	   *join;
	int			driver;
	bool		import;
	const DdirPath *path;
	Level	   *level;			/* as many as the longest path, and one */
	DdirLane	whole;			/* keys and vals of level 0, if with key */
	DdirDeltas	out;
	DdirDeltas	err;
} Walk;

/* ----
 * Walking a path
 * ----
 */

/*
 * A driver before position j sees of j what is strictly before its own row,
 * one behind it also what is at the same time.
 */
static DdirMeet
walk_meet(const Walk *walk, int rel)
{
	if (walk->import)
		return DDIR_MEET_ALL;
	return rel < walk->driver ? DDIR_MEET_STRICT : DDIR_MEET_LAX;
}

/* The keys of a chunk; errors go on at once. */
static void
make_keys(Walk *walk, const DdirStream *stream, const DdirFunc *f, DdirDeltas *keys)
{
	DdirBundle	bundle;

	ddir_stream_bundle(stream, &bundle);
	ddir_deltas_clear(keys);
	ddir_graph_call(f, &bundle, keys, &walk->err);
	ddir_node_flush_errors(&walk->join->node, &walk->err);
}

/* Send the chunk of level s on, and leave it empty. */
static void
walk_down(Walk *walk, int s)
{
	Level	   *level = &walk->level[s];
	Level	   *below = &walk->level[s + 1];
	DdirNode  **in = walk->join->node.in;
	const DdirStage *stage;
	bool		done = false;

	if (level->stream.n == 0)
		return;
	ddir_poll();
	if (s == walk->path->nstages)
	{
		ddir_stream_emit(&level->stream, &walk->join->node, &walk->path->output,
						 &walk->out, &walk->err);
		level->stream.n = 0;
		return;
	}

	stage = &walk->path->stages[s];
	make_keys(walk, &level->stream, &stage->key, &level->key);
	if (stage->rel2 >= 0 && level->key.n > 0)
		make_keys(walk, &level->stream, &stage->key2, &level->key2);
	if (level->key.n > 0)
	{
		ddir_half_join_begin(&level->half, &level->stream, &level->key,
							 ddir_arrange_spine(in[stage->arr]),
							 stage->rel, walk_meet(walk, stage->rel));
		if (stage->rel2 >= 0)
			ddir_half_join_also(&level->half, &level->key2,
								ddir_arrange_spine(in[stage->arr2]),
								stage->rel2, walk_meet(walk, stage->rel2));
		while (!done)
		{
			done = ddir_half_join_next(&level->half, &below->stream);
			if (!done)
				walk_down(walk, s + 1);
		}
	}
	level->stream.n = 0;
}

/* Set up the levels for a path; all start with the driver bound. */
static void
walk_start(Walk *walk, int driver, bool timed, const uint64_t *at)
{
	uint64_t	bound = UINT64_C(1) << driver;

	walk->driver = driver;
	walk->path = &walk->join->path[driver];
	for (int s = 0;; s++)
	{
		const DdirStage *stage = &walk->path->stages[s];

		ddir_stream_start(&walk->level[s].stream, bound, timed, at);
		if (s == walk->path->nstages)
			break;
		bound |= UINT64_C(1) << stage->rel;
		if (stage->rel2 >= 0)
			bound |= UINT64_C(1) << stage->rel2;
	}
}

/* How many of n rows are about DDIR_CHUNK_BYTES of keys and vals, *len. */
static uint32_t
whole_rows(const DdirBatch *b, uint32_t i, uint32_t n, size_t *len)
{
	uint32_t	k = 0;
	uint64_t	room;

	*len = 0;
	for (; k < n && *len < DDIR_CHUNK_BYTES; k++)
		*len += ddir_batch_key(b, i + k, &room).len + ddir_batch_val(b, i + k).len;
	return k;
}

/*
 * Refs to key and val as one, which in a batch they are not: so they are
 * copied, and level 0 must be empty.  How many of n rows were taken.
 */
static uint32_t
load_whole(Walk *walk, const DdirBatch *b, uint32_t i, uint32_t n)
{
	DdirRef    *ref = walk->level[0].stream.ref[walk->driver];
	DdirLane   *whole = &walk->whole;
	size_t		len;
	uint64_t	room;

	n = whole_rows(b, i, n, &len);
	whole->len = 0;
	if (len > whole->cap)
		ddir_lane_grow(ddir_graph_scratch(walk->join->node.graph), whole, len);
	for (uint32_t k = 0; k < n; k++)
	{
		DdirRef		key = ddir_batch_key(b, i + k, &room);
		DdirRef		val = ddir_batch_val(b, i + k);

		ref[k].p = whole->bytes + whole->len;
		ref[k].len = key.len + val.len;
		if (key.len > 0)
			memcpy(whole->bytes + whole->len, key.p, key.len);
		if (val.len > 0)
			memcpy(whole->bytes + whole->len + key.len, val.p, val.len);
		whole->len += ref[k].len;
	}
	return n;
}

/* Put a chunk of a batch, from row i on, into level 0. */
static void
walk_load(Walk *walk, const DdirBatch *b, uint32_t i)
{
	DdirStream *s = &walk->level[0].stream;
	const uint64_t *now = ddir_graph_now(walk->join->node.graph);
	uint32_t	n = b->n - i;
	int			coords = s->coords;

	if (n > DDIR_CHUNK_ROWS)
		n = DDIR_CHUNK_ROWS;
	ddir_stream_reserve(s, n);
	if (walk->path->with_key)
		n = load_whole(walk, b, i, n);
	else
		for (uint32_t k = 0; k < n; k++)
			s->ref[walk->driver][k] = ddir_batch_val(b, i + k);
	for (uint32_t k = 0; k < n; k++)
		s->diff[k] = ddir_batch_diff(b, i + k);
	if (s->time)
		for (uint32_t k = 0; k < n; k++)
			memcpy(s->time + (size_t) k * coords, ddir_batch_time(b, i + k),
				   coords * sizeof(uint64_t));
	if (coords > 1)
		for (uint32_t k = 0; k < n; k++)
		{
			uint64_t   *p = s->payload + (size_t) k * coords;

			memcpy(p, ddir_batch_time(b, i + k), coords * sizeof(uint64_t));
			if (walk->import)
				ddir_time_join(p, now, p, coords);
		}
	s->n = n;
}

/* Push through what is left in the levels. */
static void
walk_rest(Walk *walk)
{
	for (int s = 1; s <= walk->path->nstages; s++)
		walk_down(walk, s);
}

/*
 * Drive a batch down the path of relation "driver".  Where the driver's rows
 * are copies, the next chunk takes their place, so none may be on its way.
 */
static void
walk_batch(Walk *walk, int driver, const DdirBatch *b)
{
	const uint64_t *now = ddir_graph_now(walk->join->node.graph);
	const uint64_t *at = walk->import ? now : b->at.c;

	walk_start(walk, driver, !walk->import && b->time, at);
	for (uint32_t i = 0; i < b->n;)
	{
		walk_load(walk, b, i);
		i += walk->level[0].stream.n;
		walk_down(walk, 0);
		if (walk->path->with_key)
			walk_rest(walk);
	}
	walk_rest(walk);
}

/* ----
 * The operator
 * ----
 */

static void
walk_init(Walk *walk, Join *join)
{
	DdirArena  *scratch = ddir_graph_scratch(join->node.graph);
	int			coords = ddir_graph_coords(join->node.graph);
	int			nlevels = 1;

	memset(walk, 0, sizeof(*walk));
	walk->join = join;
	walk->import = join->node.fresh;
	for (int i = 0; i < join->nrel; i++)
		if (join->path[i].nstages + 1 > nlevels)
			nlevels = join->path[i].nstages + 1;
	walk->level = ddir_alloc0(scratch, nlevels * sizeof(Level));
	for (int s = 0; s < nlevels; s++)
	{
		Level	   *level = &walk->level[s];

		ddir_stream_init(&level->stream, scratch, join->nrel, coords);
		ddir_half_join_init(&level->half, scratch);
		ddir_deltas_init(&level->key, scratch, coords, true);
		ddir_deltas_init(&level->key2, scratch, coords, true);
		level->key.tracked = level->key2.tracked = true;
	}
	ddir_deltas_init(&walk->out, scratch, coords, false);
	ddir_deltas_init(&walk->err, scratch, coords, false);
}

/* All that is in the driver's trace: a late import. */
static void
join_import(Join *join)
{
	int			driver = join->import_path;
	DdirSpine  *trace = ddir_arrange_spine(join->node.in[join->path[driver].arr]);
	DdirBatch  *batch[DDIR_SPINE_BATCHES_MAX];
	int			n = ddir_spine_batches(trace, batch);
	Walk		walk;

	walk_init(&walk, join);
	for (int k = 0; k < n; k++)
		if (batch[k]->n > 0)
			walk_batch(&walk, driver, batch[k]);
}

static void
join_seal(DdirNode *node)
{
	Join	   *join = (Join *) node;
	Walk		walk;
	bool		ready = false;

	if (node->fresh)
	{
		join_import(join);
		return;
	}
	for (int i = 0; i < join->nrel; i++)
	{
		DdirBatch  *b = ddir_arrange_batch(node->in[join->path[i].arr]);

		if (b == NULL)
			continue;
		if (!ready)
			walk_init(&walk, join);
		ready = true;
		node->rows_in += b->n;
		walk_batch(&walk, i, b);
	}
}

static void
join_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	ddir_error(DDIR_ERROR_INTERNAL, "a join reads arrangements only");
}

static const DdirNodeOps join_ops = {
	.name = "join",
	.push = join_push,
	.seal = join_seal,
};

/* Mark a relation as bound; each is, once. */
static void
check_bind(uint64_t *bound, int rel, int nrel, int arr, int narr)
{
	uint64_t	bit;

	ddir_check(rel >= 0 && rel < nrel && arr >= 0 && arr < narr);
	bit = UINT64_C(1) << rel;
	ddir_check((*bound & bit) == 0);
	*bound |= bit;
}

static void
check_path(const DdirPath *path, int driver, int nrel, int narr)
{
	uint64_t	bound = 0;

	check_bind(&bound, driver, nrel, path->arr, narr);
	for (int s = 0; s < path->nstages; s++)
	{
		const DdirStage *stage = &path->stages[s];

		check_bind(&bound, stage->rel, nrel, stage->arr, narr);
		if (stage->rel2 >= 0)
			check_bind(&bound, stage->rel2, nrel, stage->arr2, narr);
	}
	ddir_check(__builtin_popcountll(bound) == nrel);
}

DdirNode *
ddir_join_create(DdirGraph *g, const char *label, int nrel,
				 int narr, DdirNode *const *arrange,
				 const DdirPath *paths, int import_path)
{
	Join	   *join;

	ddir_check(nrel >= 2 && nrel <= DDIR_RELATIONS_MAX);
	ddir_check(import_path >= 0 && import_path < nrel);
	for (int i = 0; i < narr; i++)
		(void) ddir_arrange_spine(arrange[i]);
	for (int i = 0; i < nrel; i++)
		check_path(&paths[i], i, nrel, narr);

	join = (Join *) ddir_node_create(g, sizeof(Join), &join_ops, label, narr, arrange);
	join->nrel = nrel;
	join->import_path = import_path;
	join->path = ddir_alloc(join->node.arena, nrel * sizeof(DdirPath));
	for (int i = 0; i < nrel; i++)
	{
		size_t		size = paths[i].nstages * sizeof(DdirStage);
		DdirStage  *stages = ddir_alloc(join->node.arena, size);

		memcpy(stages, paths[i].stages, size);
		join->path[i] = paths[i];
		join->path[i].stages = stages;
	}
	return ddir_node_complete(&join->node);
}
