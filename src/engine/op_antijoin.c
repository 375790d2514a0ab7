/*-------------------------------------------------------------------------
 *
 * op_antijoin.c
 *	  Antijoin: the rows of one arrangement whose key another does not have.
 *
 * No state: both arrangements tell what was before the step and what is.
 * Only keys in the step's two batches can matter, and these are walked
 * together in order of their hashes.
 *
 *	key in right:	before	now		output
 *					no		no		the left batch's rows of the key
 *					yes		yes		nothing
 *					no		yes		all left rows as they were, taken back
 *					yes		no		all left rows as they are
 *
 * A fresh antijoin reads all of left, batch by batch, against right as it is.
 * Output is at the time of the step.
 *
 * Memory: a chunk of refs in the graph's scratch arena.
 *
 * src/engine/op_antijoin.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/half_join.h"
#include "engine/op.h"

/* So many rows ahead, keys are prefetched in right. */
#define PREFETCH_AHEAD 32

enum
{
	LEFT,
	RIGHT
};

typedef struct Antijoin
{
	DdirNode	node;
	DdirFunc	f;
} Antijoin;

typedef struct Walk
{
	Antijoin   *anti;
	DdirStream	rows;			/* of left, on their way out */
	DdirDeltas	out;
	DdirDeltas	err;
	DdirCursor	left_before;
	DdirCursor	left_now;
	DdirCursor	right_before;
	DdirCursor	right_now;
} Walk;

/* A key of one of the batches. */
typedef struct Key
{
	const DdirBatch *batch;
	uint32_t	i;				/* its rows */
	uint32_t	end;
	uint64_t	room;
	uint64_t	hash;
	DdirRef		key;
} Key;

/* ----
 * Output
 * ----
 */

static void
flush(Walk *walk)
{
	if (walk->rows.n == 0)
		return;
	ddir_poll();
	ddir_stream_emit(&walk->rows, &walk->anti->node, &walk->anti->f, &walk->out,
					 &walk->err);
	walk->rows.n = 0;
}

static inline void
add_row(Walk *walk, DdirRef val, int64_t diff)
{
	DdirStream *s = &walk->rows;

	if (s->n == DDIR_CHUNK_ROWS)
		flush(walk);
	ddir_stream_reserve(s, s->n + 1);
	s->ref[0][s->n] = val;
	s->diff[s->n] = diff;
	s->n++;
}

/* The rows of a key in a batch of left. */
static void
add_rows(Walk *walk, const Key *key)
{
	for (uint32_t i = key->i; i < key->end; i++)
		add_row(walk, ddir_batch_val(key->batch, i), ddir_batch_diff(key->batch, i));
}

/* All rows of a key, times "sign". */
static void
add_all(Walk *walk, DdirCursor *left, const Key *key, int64_t sign)
{
	DdirRef		val;
	int64_t		diff;

	ddir_cursor_seek(left, key->hash, key->key.p, key->key.len);
	while (ddir_cursor_next(left, &val, &diff))
		add_row(walk, val, diff * sign);
}

/* ----
 * Keys
 * ----
 */

static bool
present(Walk *walk, DdirCursor *right, const Key *key)
{
	DdirNode   *node = &walk->anti->node;
	DdirRef		val;
	int64_t		diff;

	ddir_cursor_seek(right, key->hash, key->key.p, key->key.len);
	if (!ddir_cursor_next(right, &val, &diff))
		return false;
	if (diff < 0)
		ddir_error(DDIR_ERROR_NEGATIVE,
				   "antijoin \"%s\": a row has multiplicity %lld at time %llu",
				   node->label, (long long) diff,
				   (unsigned long long) ddir_graph_now(node->graph)[0]);
	return true;
}

/* Stand on the key that begins at row i; false behind the last row. */
static bool
key_at(Key *key, const DdirBatch *batch, uint32_t i)
{
	key->batch = batch;
	key->i = key->end = i;
	if (batch == NULL || i >= batch->n)
		return false;
	key->end = ddir_batch_key_end(batch, i);
	key->hash = batch->hash[i];
	key->key = ddir_batch_key(batch, i, &key->room);
	return true;
}

static void
prefetch_right(const Walk *walk, const Key *key)
{
	uint32_t	i = key->i + PREFETCH_AHEAD;

	if (i >= key->batch->n)
		return;
	for (int k = 0; k < walk->right_now.nbatches; k++)
		ddir_batch_prefetch(walk->right_now.batch[k], key->batch->hash[i]);
}

static int
key_cmp(const Key *a, const Key *b)
{
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return ddir_bytes_cmp(a->key.p, a->key.len, b->key.p, b->key.len);
}

/* The key changed in right; left tells its rows in the step, if any. */
static void
right_changed(Walk *walk, const Key *right, const Key *left)
{
	bool		was = present(walk, &walk->right_before, right);
	bool		is = present(walk, &walk->right_now, right);

	if (was && !is)
		add_all(walk, &walk->left_now, right, 1);
	else if (!was && is)
		add_all(walk, &walk->left_before, right, -1);
	else if (!is && left)
		add_rows(walk, left);
}

/* The key changed in left only. */
static void
left_changed(Walk *walk, const Key *left)
{
	if (!present(walk, &walk->right_now, left))
		add_rows(walk, left);
}

static void
walk_step(Walk *walk, const DdirBatch *left_batch, const DdirBatch *right_batch)
{
	Key			left;
	Key			right;
	bool		more_left = key_at(&left, left_batch, 0);
	bool		more_right = key_at(&right, right_batch, 0);

	while (more_left || more_right)
	{
		int			c = !more_left ? 1 : !more_right ? -1 : key_cmp(&left, &right);

		if (c < 0)
		{
			prefetch_right(walk, &left);
			left_changed(walk, &left);
		}
		else
			right_changed(walk, &right, c == 0 ? &left : NULL);
		if (c <= 0)
			more_left = key_at(&left, left_batch, left.end);
		if (c >= 0)
			more_right = key_at(&right, right_batch, right.end);
	}
	flush(walk);
}

/* Everything there is, seen from the end of the step. */
static void
walk_import(Walk *walk)
{
	for (int k = 0; k < walk->left_now.nbatches; k++)
		walk_step(walk, walk->left_now.batch[k], NULL);
}

/* ----
 * The operator
 * ----
 */

static void
walk_init(Walk *walk, Antijoin *anti)
{
	DdirGraph  *g = anti->node.graph;
	DdirArena  *scratch = ddir_graph_scratch(g);
	const DdirSpine *left = ddir_arrange_spine(anti->node.in[LEFT]);
	const DdirSpine *right = ddir_arrange_spine(anti->node.in[RIGHT]);

	walk->anti = anti;
	ddir_stream_init(&walk->rows, scratch, 1, 1);
	ddir_stream_start(&walk->rows, 1, false, ddir_graph_now(g));
	ddir_deltas_init(&walk->out, scratch, 1, false);
	ddir_deltas_init(&walk->err, scratch, 1, false);
	ddir_graph_cursor_before(g, &walk->left_before, left);
	ddir_graph_cursor_now(g, &walk->left_now, left);
	ddir_graph_cursor_before(g, &walk->right_before, right);
	ddir_graph_cursor_now(g, &walk->right_now, right);
}

static void
antijoin_seal(DdirNode *node)
{
	Antijoin   *anti = (Antijoin *) node;
	DdirBatch  *left = ddir_arrange_batch(node->in[LEFT]);
	DdirBatch  *right = ddir_arrange_batch(node->in[RIGHT]);
	Walk	   *walk;

	if (!node->fresh && left == NULL && right == NULL)
		return;
	walk = ddir_alloc(ddir_graph_scratch(node->graph), sizeof(Walk));
	walk_init(walk, anti);
	node->rows_in += (left ? left->n : 0) + (right ? right->n : 0);
	if (node->fresh)
		walk_import(walk);
	else
		walk_step(walk, left, right);
}

static void
antijoin_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	ddir_error(DDIR_ERROR_INTERNAL, "an antijoin reads arrangements only");
}

static const DdirNodeOps antijoin_ops = {
	.name = "antijoin",
	.push = antijoin_push,
	.seal = antijoin_seal,
};

DdirNode *
ddir_antijoin_create(DdirGraph *g, const char *label,
					 DdirNode *left, DdirNode *right, DdirFunc f)
{
	DdirNode   *in[] = {left, right};
	Antijoin   *anti;

	ddir_check(ddir_graph_coords(g) == 1);
	(void) ddir_arrange_spine(left);
	(void) ddir_arrange_spine(right);
	anti = (Antijoin *) ddir_node_create(g, sizeof(Antijoin), &antijoin_ops,
										 label, 2, in);
	anti->f = f;
	return ddir_node_complete(&anti->node);
}
