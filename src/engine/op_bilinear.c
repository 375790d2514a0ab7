/*-------------------------------------------------------------------------
 *
 * op_bilinear.c
 *	  The binary join of two traces, at product times.
 *
 * Bookkeeping: ack[side] is how far batches of that side were accepted.  A
 * batch that arrives is queued with those of the other trace through its ack,
 * and then moves its own: so of two batches the later accepted meets the
 * earlier.  At the start both traces are taken as accepted and joined once;
 * "preload" remembers how far that went, and a batch up to there that arrives
 * later is passed over.  Only by preload: ack may pass a batch that is still
 * on its way, whose updates cancelled inside the trace meanwhile, and that one
 * must be joined nevertheless, or its inverse would be joined alone.
 *
 * The traces are held back physically to ack, so a cut there never splits a
 * batch, and logically to what may still arrive on the other side.
 *
 * A key: where one side has few updates, all pairs are formed.  Where both
 * have many, their histories are replayed in order of time, each update
 * meeting what came before on the other side; times that can no longer be told
 * apart by anything still to come are made equal and cancel, so a key changed
 * a thousand times on both sides costs thousands of steps, not a million.
 *
 * Reading as of since (a trace may hold a retraction whose time was advanced
 * beside an insertion whose time was not): done only for work that reads from
 * before since, which is the first.  Times are advanced, and where any moved
 * the key's updates consolidated; a key may vanish by that.
 *
 * References: McSherry et al., "Differential Dataflow" (CIDR 2013); "Shared
 * Arrangements" (VLDB 2020).
 *
 * src/engine/op_bilinear.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/op_bilinear.h"

/* With fewer updates on one side, all pairs are formed. */
#define REPLAY_MIN 16

/* So many rows ahead, keys are prefetched in the other trace. */
#define PREFETCH_AHEAD 32

/* Histories keep room for so many updates between keys. */
#define KEEP_EDITS 1024

typedef struct Edit
{
	DdirRef		val;
	int64_t		diff;
	DdirTime	t;
} Edit;

/* The updates of one key on one side. */
typedef struct History
{
	uint32_t	n;
	uint32_t	cap;
	Edit	   *edit;
	/* replay: edit[at] is next; meet[i] is the meet of times from i on */
	uint32_t	at;
	DdirTime   *meet;
	uint32_t	nbuffer;
	Edit	   *buffer;
} History;

/* Batches to be joined, each of one side with each of the other. */
typedef struct Item
{
	int			fresh;			/* this side is walked, the other looked up */
	bool		as_of;
	int			n[2];
	DdirBatch **batch[2];
	struct Item *next;
} Item;

typedef struct Side
{
	DdirSpine  *trace;
	DdirReader *reader;
	DdirFrontier ack;
	DdirFrontier preload;
	History		history;
	uint32_t	pos[DDIR_SPINE_BATCHES_MAX];	/* of the current key */
	uint32_t	end[DDIR_SPINE_BATCHES_MAX];
	uint64_t	total;
} Side;

struct DdirBilinear
{
	DdirArena  *arena;
	int			coords;
	DdirFrontier since;
	Side		side[2];
	Item	   *first;
	Item	  **last;
	DdirStream	out;
	DdirPairsFn pairs;
	void	   *ctx;
	uint64_t	moved;
	uint64_t	effort;
};

/* ----
 * Queue
 * ----
 */

static void
hold_batches(DdirBilinear *b, Item *item, int side, int n, DdirBatch *const *batch)
{
	item->batch[side] = ddir_alloc(b->arena, (n + 1) * sizeof(DdirBatch *));
	item->n[side] = 0;
	for (int i = 0; i < n; i++)
	{
		if (batch[i]->n == 0)
			continue;
		ddir_batch_ref(batch[i]);
		item->batch[side][item->n[side]++] = batch[i];
	}
}

/* Does a batch hold something from before since? */
static bool
reads_history(const DdirBilinear *b, const DdirBatch *batch)
{
	DdirTime	low = batch->newest;

	if (batch->n == 0 || ddir_frontier_le(&b->since, &batch->lower))
		return false;
	for (uint32_t i = 0; i < batch->n; i++)
	{
		ddir_time_meet(low.c, ddir_batch_time(batch, i), low.c, b->coords);
		if (batch->time == NULL)
			break;
	}
	return !ddir_frontier_beyond(&b->since, low.c);
}

/* n batches of one side, to meet what was accepted of the other. */
static void
enqueue(DdirBilinear *b, int side, int n, DdirBatch *const *fresh)
{
	DdirBatch  *other[DDIR_SPINE_BATCHES_MAX];
	int			nother = ddir_spine_batches_through(b->side[!side].trace,
													&b->side[!side].ack, other);
	Item	   *item = ddir_alloc0(b->arena, sizeof(Item));

	item->fresh = side;
	for (int i = 0; i < n; i++)
		item->as_of |= reads_history(b, fresh[i]);
	hold_batches(b, item, side, n, fresh);
	hold_batches(b, item, !side, nother, other);
	*b->last = item;
	b->last = &item->next;
}

static void
item_free(Item *item)
{
	for (int side = 0; side < 2; side++)
	{
		for (int i = 0; i < item->n[side]; i++)
			ddir_batch_unref(item->batch[side][i]);
		ddir_free(item->batch[side]);
	}
	ddir_free(item);
}

/* A trace may be compacted by what can still come from the other side. */
static void
release_history(DdirBilinear *b)
{
	for (int side = 0; side < 2; side++)
	{
		ddir_reader_set_logical(b->side[side].reader, &b->side[!side].ack);
		ddir_reader_set_physical(b->side[side].reader, &b->side[side].ack);
	}
}

void
ddir_bilinear_pass(DdirBilinear *b, int side, const DdirFrontier *upper)
{
	ddir_frontier_join(&b->side[side].ack, upper);
	release_history(b);
}

void
ddir_bilinear_accept(DdirBilinear *b, int side, DdirBatch *batch)
{
	if (ddir_frontier_le(&batch->upper, &b->side[side].preload))
		return;
	if (batch->n > 0)
		enqueue(b, side, 1, &batch);
	ddir_bilinear_pass(b, side, &batch->upper);
}

DdirBilinear *
ddir_bilinear_open(DdirArena *arena, DdirSpine *left, DdirSpine *right,
				   const DdirFrontier *since, DdirPairsFn pairs, void *ctx)
{
	DdirBilinear *b = ddir_alloc0(arena, sizeof(DdirBilinear));
	DdirBatch  *batch[DDIR_SPINE_BATCHES_MAX];

	b->arena = arena;
	b->coords = since->coords;
	b->pairs = pairs;
	b->ctx = ctx;
	b->last = &b->first;
	b->side[0].trace = left;
	b->side[1].trace = right;
	ddir_frontier_init(&b->since, arena, since->coords);
	ddir_frontier_copy(&b->since, since);
	ddir_stream_init(&b->out, arena, 2, b->coords);
	for (int i = 0; i < 2; i++)
	{
		Side	   *side = &b->side[i];

		/* what was compacted further can not be read as of since */
		ddir_check(ddir_frontier_le(ddir_spine_since(side->trace), since));
		side->reader = ddir_reader_create(side->trace);
		ddir_frontier_init(&side->ack, arena, b->coords);
		ddir_frontier_copy(&side->ack, ddir_spine_upper(side->trace));
		ddir_frontier_init(&side->preload, arena, b->coords);
		ddir_frontier_copy(&side->preload, &side->ack);
	}
	enqueue(b, 1, ddir_spine_batches(right, batch), batch);
	release_history(b);
	return b;
}

void
ddir_bilinear_close(DdirBilinear *b)
{
	while (b->first)
	{
		Item	   *item = b->first;

		b->first = item->next;
		item_free(item);
	}
	for (int i = 0; i < 2; i++)
		if (b->side[i].reader)
			ddir_reader_drop(b->side[i].reader);
}

uint64_t
ddir_bilinear_moved(const DdirBilinear *b)
{
	return b->moved;
}

uint64_t
ddir_bilinear_effort(const DdirBilinear *b)
{
	return b->effort;
}

/* ----
 * Output
 * ----
 */

static void
flush(DdirBilinear *b)
{
	if (b->out.n == 0)
		return;
	ddir_poll();
	b->pairs(b->ctx, &b->out);
	b->out.n = 0;
}

/* One pair; "from" is the side of v1. */
static inline void
add_pair(DdirBilinear *b, int from, DdirRef v1, const uint64_t *t1, int64_t d1,
		 DdirRef v2, const uint64_t *t2, int64_t d2)
{
	DdirStream *s = &b->out;
	uint64_t   *t;

	if (s->n == DDIR_CHUNK_ROWS)
		flush(b);
	b->effort++;
	ddir_stream_reserve(s, s->n + 1);
	s->ref[from][s->n] = v1;
	s->ref[!from][s->n] = v2;
	s->diff[s->n] = d1 * d2;
	t = (s->coords > 1 ? s->payload : s->time) + (size_t) s->n * s->coords;
	ddir_time_join(t1, t2, t, s->coords);
	s->n++;
}

/* ----
 * Histories
 * ----
 */

static void
history_add(DdirBilinear *b, History *h, DdirRef val, const uint64_t *t, int64_t diff)
{
	Edit	   *edit;

	if (h->n == h->cap)
	{
		uint32_t	cap = h->cap ? 2 * h->cap : 64;

		h->edit = ddir_realloc(b->arena, h->edit, cap * sizeof(Edit));
		h->buffer = ddir_realloc(b->arena, h->buffer, cap * sizeof(Edit));
		h->meet = ddir_realloc(b->arena, h->meet, cap * sizeof(DdirTime));
		h->cap = cap;
	}
	edit = &h->edit[h->n++];
	edit->val = val;
	edit->diff = diff;
	memset(&edit->t, 0, sizeof(edit->t));
	memcpy(edit->t.c, t, b->coords * sizeof(uint64_t));
}

static int
edit_cmp_time(const Edit *a, const Edit *b)
{
	return ddir_time_cmp(a->t.c, b->t.c, DDIR_COORDS_MAX);
}

static int
edit_cmp_val(const Edit *a, const Edit *b)
{
	int			c = ddir_bytes_cmp(a->val.p, a->val.len, b->val.p, b->val.len);

	return c ? c : edit_cmp_time(a, b);
}

static void
sift(Edit *e, uint32_t i, uint32_t n, int (*cmp) (const Edit *, const Edit *))
{
	Edit		x = e[i];

	for (uint32_t k = 2 * i + 1; k < n; k = 2 * i + 1)
	{
		if (k + 1 < n && cmp(&e[k], &e[k + 1]) < 0)
			k++;
		if (cmp(&x, &e[k]) >= 0)
			break;
		e[i] = e[k];
		i = k;
	}
	e[i] = x;
}

/* Heap sort: in place, no worst case, and nothing here is large. */
static void
sort_edits(Edit *e, uint32_t n, int (*cmp) (const Edit *, const Edit *))
{
	uint32_t	i;

	for (i = 1; i < n && cmp(&e[i - 1], &e[i]) <= 0; i++)
		;
	if (i >= n)
		return;
	for (i = n / 2; i-- > 0;)
		sift(e, i, n, cmp);
	for (i = n; i-- > 1;)
	{
		Edit		x = e[0];

		e[0] = e[i];
		e[i] = x;
		sift(e, 0, i, cmp);
	}
}

/* Sum what is equal in val and time; the number left. */
static uint32_t
consolidate_edits(Edit *e, uint32_t n)
{
	uint32_t	to = 0;

	sort_edits(e, n, edit_cmp_val);
	for (uint32_t i = 0; i < n; i++)
	{
		if (to > 0 && edit_cmp_val(&e[to - 1], &e[i]) == 0)
			e[to - 1].diff += e[i].diff;
		else
			e[to++] = e[i];
		if (e[to - 1].diff == 0 &&
			(i + 1 == n || edit_cmp_val(&e[to - 1], &e[i + 1]) != 0))
			to--;
	}
	return to;
}

/* Read the current key of one side; as of since where asked to. */
static void
history_load(DdirBilinear *b, const Item *item, int side)
{
	Side	   *s = &b->side[side];
	History    *h = &s->history;
	bool		moved = false;

	h->n = 0;
	for (int k = 0; k < item->n[side]; k++)
		for (uint32_t i = s->pos[k]; i < s->end[k]; i++)
		{
			const DdirBatch *batch = item->batch[side][k];
			Edit	   *edit;

			history_add(b, h, ddir_batch_val(batch, i), ddir_batch_time(batch, i),
						ddir_batch_diff(batch, i));
			edit = &h->edit[h->n - 1];
			if (item->as_of)
				moved |= ddir_frontier_advance(&b->since, edit->t.c);
		}
	if (moved)
	{
		h->n = consolidate_edits(h->edit, h->n);
		b->moved++;
	}
}

/* ----
 * Replay
 * ----
 */

static void
replay_begin(History *h, int coords)
{
	sort_edits(h->edit, h->n, edit_cmp_time);
	h->at = 0;
	h->nbuffer = 0;
	for (uint32_t i = h->n; i-- > 0;)
	{
		h->meet[i] = h->edit[i].t;
		if (i + 1 < h->n)
			ddir_time_meet(h->meet[i].c, h->meet[i + 1].c, h->meet[i].c, coords);
	}
}

/*
 * The next update of one side meets all of the other side's that came before.
 * Those are first advanced by the meet of what is left on this side: all joins
 * still to be formed are beyond it, so none of them changes.
 */
static void
replay_next(DdirBilinear *b, int side)
{
	History    *mine = &b->side[side].history;
	History    *theirs = &b->side[!side].history;
	const Edit *edit = &mine->edit[mine->at];

	for (uint32_t i = 0; i < theirs->nbuffer; i++)
		ddir_time_join(theirs->buffer[i].t.c, mine->meet[mine->at].c,
					   theirs->buffer[i].t.c, b->coords);
	theirs->nbuffer = consolidate_edits(theirs->buffer, theirs->nbuffer);
	b->effort += 1 + theirs->nbuffer;
	for (uint32_t i = 0; i < theirs->nbuffer; i++)
		add_pair(b, side, edit->val, edit->t.c, edit->diff,
				 theirs->buffer[i].val, theirs->buffer[i].t.c,
				 theirs->buffer[i].diff);
	mine->buffer[mine->nbuffer++] = *edit;
	mine->at++;
}

static void
replay(DdirBilinear *b)
{
	History    *left = &b->side[0].history;
	History    *right = &b->side[1].history;

	replay_begin(left, b->coords);
	replay_begin(right, b->coords);
	while (left->at < left->n || right->at < right->n)
	{
		if (right->at == right->n ||
			(left->at < left->n &&
			 edit_cmp_time(&left->edit[left->at], &right->edit[right->at]) < 0))
			replay_next(b, 0);
		else
			replay_next(b, 1);
	}
}

/* ----
 * Keys
 * ----
 */

/* All pairs of a key, straight from the batches. */
static void
join_plainly(DdirBilinear *b, const Item *item)
{
	int			f = item->fresh;
	Side	   *fresh = &b->side[f];
	Side	   *other = &b->side[!f];

	for (int k = 0; k < item->n[f]; k++)
		for (uint32_t i = fresh->pos[k]; i < fresh->end[k]; i++)
		{
			const DdirBatch *x = item->batch[f][k];
			DdirRef		val = ddir_batch_val(x, i);

			for (int m = 0; m < item->n[!f]; m++)
				for (uint32_t j = other->pos[m]; j < other->end[m]; j++)
				{
					const DdirBatch *y = item->batch[!f][m];

					add_pair(b, f, val, ddir_batch_time(x, i), ddir_batch_diff(x, i),
							 ddir_batch_val(y, j), ddir_batch_time(y, j),
							 ddir_batch_diff(y, j));
				}
		}
}

static void
join_loaded(DdirBilinear *b, const Item *item)
{
	History    *left = &b->side[0].history;
	History    *right = &b->side[1].history;

	history_load(b, item, 0);
	history_load(b, item, 1);
	if (left->n >= REPLAY_MIN && right->n >= REPLAY_MIN)
	{
		replay(b);
		return;
	}
	for (uint32_t i = 0; i < left->n; i++)
		for (uint32_t j = 0; j < right->n; j++)
			add_pair(b, 0, left->edit[i].val, left->edit[i].t.c, left->edit[i].diff,
					 right->edit[j].val, right->edit[j].t.c, right->edit[j].diff);
}

/* Are all rows of the key, on both sides, of one time? */
static bool
one_time(const DdirBilinear *b, const Item *item)
{
	const uint64_t *t = NULL;

	for (int side = 0; side < 2; side++)
		for (int k = 0; k < item->n[side]; k++)
		{
			const DdirBatch *batch = item->batch[side][k];

			if (b->side[side].pos[k] == b->side[side].end[k])
				continue;
			if (batch->time)
				return false;
			if (t && ddir_time_cmp(t, batch->at.c, b->coords) != 0)
				return false;
			t = batch->at.c;
		}
	return true;
}

/*
 * The fresh side's ranges of the least key not done yet: of its batches'
 * heads, those with the least hash and key.  False at the end.
 */
static bool
key_next(DdirBilinear *b, const Item *item, uint64_t *hash, DdirRef *key, uint64_t *room)
{
	int			f = item->fresh;
	Side	   *fresh = &b->side[f];
	int			least = -1;
	uint64_t	room2;

	for (int k = 0; k < item->n[f]; k++)
	{
		const DdirBatch *batch = item->batch[f][k];
		uint64_t	h;
		DdirRef		r;

		fresh->pos[k] = fresh->end[k];
		if (fresh->pos[k] == batch->n)
			continue;
		h = batch->hash[fresh->pos[k]];
		r = ddir_batch_key(batch, fresh->pos[k], &room2);
		if (least >= 0 &&
			(h > *hash || (h == *hash &&
						   ddir_bytes_cmp(r.p, r.len, key->p, key->len) >= 0)))
			continue;
		least = k;
		*hash = h;
		*key = ddir_batch_key(batch, fresh->pos[k], room);
	}
	if (least < 0)
		return false;
	fresh->total = 0;
	for (int k = 0; k < item->n[f]; k++)
	{
		const DdirBatch *batch = item->batch[f][k];
		uint32_t	i = fresh->pos[k];
		DdirRef		r;

		if (i == batch->n || batch->hash[i] != *hash)
			continue;
		r = ddir_batch_key(batch, i, &room2);
		if (ddir_bytes_cmp(r.p, r.len, key->p, key->len) != 0)
			continue;
		fresh->end[k] = ddir_batch_key_end(batch, i);
		fresh->total += fresh->end[k] - i;
	}
	return true;
}

/* The other side's ranges of a key; false if there are none. */
static bool
key_find(DdirBilinear *b, const Item *item, uint64_t hash, DdirRef key)
{
	int			o = !item->fresh;
	Side	   *other = &b->side[o];

	other->total = 0;
	for (int k = 0; k < item->n[o]; k++)
	{
		other->pos[k] = ddir_batch_find(item->batch[o][k], hash, key.p, key.len,
										&other->end[k]);
		other->total += other->end[k] - other->pos[k];
	}
	return other->total > 0;
}

/* Keys to come, as far as one fresh batch tells. */
static void
prefetch(const DdirBilinear *b, const Item *item)
{
	int			f = item->fresh;

	for (int k = 0; k < item->n[f]; k++)
	{
		const DdirBatch *batch = item->batch[f][k];
		uint32_t	i = b->side[f].end[k];

		if (i == b->side[f].pos[k] || i + PREFETCH_AHEAD >= batch->n)
			continue;
		for (int m = 0; m < item->n[!f]; m++)
			ddir_batch_prefetch(item->batch[!f][m], batch->hash[i + PREFETCH_AHEAD]);
	}
}

static void
item_work(DdirBilinear *b, const Item *item)
{
	Side	   *left = &b->side[0];
	Side	   *right = &b->side[1];
	Side	   *fresh = &b->side[item->fresh];
	uint64_t	hash = 0;
	uint64_t	room = 0;
	DdirRef		key = {NULL, 0};

	for (int k = 0; k < item->n[item->fresh]; k++)
		fresh->pos[k] = fresh->end[k] = 0;
	while (key_next(b, item, &hash, &key, &room))
	{
		prefetch(b, item);
		if (!key_find(b, item, hash, key))
			continue;
		if (item->as_of || (left->total >= REPLAY_MIN && right->total >= REPLAY_MIN &&
							!one_time(b, item)))
			join_loaded(b, item);
		else
			join_plainly(b, item);
	}
	flush(b);
}

/* Room that one large key, or much output, took is given back. */
static void
trim(DdirBilinear *b)
{
	for (int i = 0; i < 2; i++)
	{
		History    *h = &b->side[i].history;

		if (h->cap <= KEEP_EDITS)
			continue;
		ddir_free(h->edit);
		ddir_free(h->buffer);
		ddir_free(h->meet);
		memset(h, 0, sizeof(*h));
	}
	ddir_stream_free(&b->out);
}

void
ddir_bilinear_work(DdirBilinear *b)
{
	static const DdirTime none = {{0}};

	while (b->first)
	{
		Item	   *item = b->first;

		ddir_stream_start(&b->out, 3, b->coords == 1, none.c);
		if (item->n[0] > 0 && item->n[1] > 0)
			item_work(b, item);
		b->first = item->next;
		if (b->first == NULL)
			b->last = &b->first;
		item_free(item);
	}
	trim(b);
}

/* ----
 * The operator
 * ----
 */

typedef struct BilinearNode
{
	DdirNode	node;
	DdirFunc	f;
	DdirBilinear *join;			/* from the first step on */
	DdirFrontier now;
	DdirDeltas	out;
	DdirDeltas	err;
} BilinearNode;

static void
node_pairs(void *ctx, DdirStream *pairs)
{
	BilinearNode *bilinear = ctx;

	ddir_stream_emit(pairs, &bilinear->node, &bilinear->f, &bilinear->out,
					 &bilinear->err);
}

/* The first step reads all there is, as of its time. */
static void
bilinear_start(BilinearNode *bilinear)
{
	DdirNode   *node = &bilinear->node;

	ddir_frontier_insert(&bilinear->now, ddir_graph_now(node->graph));
	bilinear->join = ddir_bilinear_open(node->arena,
										ddir_arrange_spine(node->in[0]),
										ddir_arrange_spine(node->in[1]),
										&bilinear->now, node_pairs, bilinear);
}

static void
bilinear_seal(DdirNode *node)
{
	BilinearNode *bilinear = (BilinearNode *) node;

	if (node->fresh)
		bilinear_start(bilinear);
	else
		for (int side = 0; side < 2; side++)
		{
			DdirBatch  *batch = ddir_arrange_batch(node->in[side]);

			if (batch)
			{
				node->rows_in += batch->n;
				ddir_bilinear_accept(bilinear->join, side, batch);
			}
			else
				ddir_bilinear_pass(bilinear->join, side, ddir_graph_upper(node->graph));
		}
	ddir_bilinear_work(bilinear->join);
}

static void
bilinear_push(DdirNode *node, int port, const DdirDeltas *rows)
{
	ddir_error(DDIR_ERROR_INTERNAL, "a join reads arrangements only");
}

static void
bilinear_compact(DdirNode *node, const DdirFrontier *since)
{
	BilinearNode *bilinear = (BilinearNode *) node;

	ddir_node_trim(&bilinear->out);
	ddir_node_trim(&bilinear->err);
}

static void
bilinear_destroy(DdirNode *node)
{
	BilinearNode *bilinear = (BilinearNode *) node;

	if (bilinear->join)
		ddir_bilinear_close(bilinear->join);
}

static const DdirNodeOps bilinear_ops = {
	.name = "bilinear",
	.push = bilinear_push,
	.seal = bilinear_seal,
	.compact = bilinear_compact,
	.destroy = bilinear_destroy,
};

DdirNode *
ddir_bilinear_create(DdirGraph *g, const char *label,
					 DdirNode *left, DdirNode *right, DdirFunc f)
{
	DdirNode   *in[] = {left, right};
	int			coords = ddir_graph_coords(g);
	BilinearNode *bilinear;

	(void) ddir_arrange_spine(left);
	(void) ddir_arrange_spine(right);
	bilinear = (BilinearNode *) ddir_node_create(g, sizeof(BilinearNode), &bilinear_ops,
												 label, 2, in);
	bilinear->f = f;
	ddir_frontier_init(&bilinear->now, bilinear->node.arena, coords);
	ddir_deltas_init(&bilinear->out, bilinear->node.arena, coords, false);
	ddir_deltas_init(&bilinear->err, bilinear->node.arena, coords, false);
	return ddir_node_complete(&bilinear->node);
}
