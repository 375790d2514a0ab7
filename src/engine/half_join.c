/*-------------------------------------------------------------------------
 *
 * half_join.c
 *	  The half join: a stream of changes looks things up in an arrangement.
 *
 * Work goes in blocks of probes.  A block is first *located*, batch by batch
 * (all its keys in one batch, then all in the next: what was prefetched is
 * found in the cache): that gives ranges, the rows of one key in one batch.
 * Then rows are produced from the ranges.  Both can stop at any row, so the
 * output chunk bounds the memory even where one key has millions of rows.
 *
 * Looking up two traces at once, each probe has ranges on both sides; every
 * pair of them is intersected, both being sorted by val.  As the join is
 * bilinear, that is right whatever the batches hold: no merged view is needed.
 *
 *		side 0:  batch 1  a b d		side 1:  batch 1  b c
 *				 batch 7  b(-1)				 batch 9  b d
 *
 *	gives b, b + d, b(-1), b(-1): d once and b not at all, as it should be.
 *
 * Where one range is far longer than the other, the long one is galloped
 * through.  Vals of eight bytes, the usual case of a node number, are compared
 * as big-endian integers.
 *
 * Memory: ranges and partners in the arena given; sized by a block and a
 * chunk.
 *
 * src/engine/half_join.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/half_join.h"

/* compiled once for each way to compare */
#define forced_inline inline __attribute__((always_inline))

/* Gallop where one range is so many times longer than the other. */
#define GALLOP_RATIO 8

/* ----
 * Streams
 * ----
 */

void
ddir_stream_init(DdirStream *s, DdirArena *arena, int nrel, int coords)
{
	ddir_check(nrel >= 1 && nrel <= DDIR_RELATIONS_MAX);
	memset(s, 0, sizeof(*s));
	s->arena = arena;
	s->nrel = nrel;
	s->coords = coords;
	s->ref = ddir_alloc0(arena, nrel * sizeof(DdirRef *));
}

/* Grow one lane; what is new is zero, as unbound refs have to be. */
static void *
lane_grow(DdirArena *arena, void *lane, uint32_t from, uint32_t to, size_t width)
{
	lane = ddir_realloc(arena, lane, to * width);
	memset((char *) lane + from * width, 0, (to - from) * width);
	return lane;
}

/*
 * Unbound relations have a lane too: functions find refs to nothing there.
 */
void
ddir_stream_reserve(DdirStream *s, uint32_t n)
{
	uint32_t	cap = s->cap ? s->cap : 64;

	if (n <= s->cap)
		return;
	while (cap < n)
		cap *= 2;
	for (int r = 0; r < s->nrel; r++)
		s->ref[r] = lane_grow(s->arena, s->ref[r], s->cap, cap, sizeof(DdirRef));
	s->diff = lane_grow(s->arena, s->diff, s->cap, cap, sizeof(int64_t));
	if (s->time)
		s->time = lane_grow(s->arena, s->time, s->cap, cap,
							s->coords * sizeof(uint64_t));
	if (s->coords > 1)
		s->payload = lane_grow(s->arena, s->payload, s->cap, cap,
							   s->coords * sizeof(uint64_t));
	s->cap = cap;
}

void
ddir_stream_start(DdirStream *s, uint64_t bound, bool timed, const uint64_t *at)
{
	/* lanes that hold refs and shall not any more */
	for (int r = 0; r < s->nrel; r++)
		if ((s->bound & ~bound) >> r & 1)
			memset(s->ref[r], 0, s->cap * sizeof(DdirRef));
	s->bound = bound;
	s->n = 0;
	ddir_stream_reserve(s, 1);
	if (timed && s->time == NULL)
		s->time = ddir_alloc(s->arena, (size_t) s->cap * s->coords * sizeof(uint64_t));
	else if (!timed && s->time)
	{
		ddir_free(s->time);
		s->time = NULL;
	}
	memset(&s->at, 0, sizeof(s->at));
	memcpy(s->at.c, at, s->coords * sizeof(uint64_t));
}

void
ddir_stream_free(DdirStream *s)
{
	for (int r = 0; r < s->nrel; r++)
	{
		ddir_free(s->ref[r]);
		s->ref[r] = NULL;
	}
	ddir_free(s->diff);
	ddir_free(s->time);
	ddir_free(s->payload);
	s->diff = NULL;
	s->time = NULL;
	s->payload = NULL;
	s->n = s->cap = 0;
	s->bound = 0;
}

void
ddir_stream_bundle(const DdirStream *s, DdirBundle *b)
{
	b->n = s->n;
	b->nrel = s->nrel;
	b->coords = s->coords;
	b->ref = (const DdirRef *const *) s->ref;
	b->diff = s->diff;
	b->time = s->coords > 1 ? s->payload : s->time;
	b->at = s->at.c;
}

/* How many rows from "start" on are about DDIR_CHUNK_BYTES; one at least. */
static uint32_t
piece_rows(const DdirStream *s, uint32_t start)
{
	uint32_t	i = start;
	size_t		bytes = 0;

	while (i < s->n && bytes < DDIR_CHUNK_BYTES)
	{
		for (uint64_t bits = s->bound; bits; bits &= bits - 1)
			bytes += s->ref[__builtin_ctzll(bits)][i].len;
		i++;
	}
	return i - start;
}

void
ddir_stream_emit(const DdirStream *s, DdirNode *node, const DdirFunc *f,
				 DdirDeltas *out, DdirDeltas *err)
{
	const DdirRef *ref[DDIR_RELATIONS_MAX];
	DdirBundle	all;
	DdirBundle	piece;

	ddir_stream_bundle(s, &all);
	piece = all;
	piece.ref = ref;
	for (uint32_t start = 0; start < s->n; start += piece.n)
	{
		piece.n = piece_rows(s, start);
		for (int r = 0; r < s->nrel; r++)
			ref[r] = all.ref[r] + start;
		piece.diff = all.diff + start;
		if (all.time)
			piece.time = all.time + (size_t) start * s->coords;
		ddir_graph_call(f, &piece, out, err);
		ddir_node_flush_errors(node, err);
		ddir_node_flush(node, out);
	}
}

/* ----
 * What is to be looked at
 * ----
 */

void
ddir_half_join_init(DdirHalfJoin *h, DdirArena *arena)
{
	memset(h, 0, sizeof(*h));
	h->arena = arena;
}

static inline bool
meets(DdirMeet meet, const uint64_t *t2, const uint64_t *t, int coords)
{
	if (meet == DDIR_MEET_ALL)
		return true;
	if (meet == DDIR_MEET_STRICT)
		return ddir_time_cmp(t2, t, coords) < 0;
	return ddir_time_cmp(t2, t, coords) <= 0;
}

/* The least and the greatest time of a stream's rows, by cmp. */
static void
stream_extent(const DdirStream *s, const uint64_t **least, const uint64_t **most)
{
	*least = *most = ddir_stream_time(s, 0);
	if (s->time == NULL)
		return;
	for (uint32_t i = 1; i < s->n; i++)
	{
		const uint64_t *t = ddir_stream_time(s, i);

		if (ddir_time_cmp(t, *least, s->coords) < 0)
			*least = t;
		if (ddir_time_cmp(t, *most, s->coords) > 0)
			*most = t;
	}
}

/*
 * The batches that can matter, and which of them have to have their times
 * read: only those with something that is too new for some row.
 */
static void
side_begin(DdirSide *side, const DdirStream *in, const DdirDeltas *probe,
		   const DdirSpine *trace, int rel, DdirMeet meet)
{
	const uint64_t *least;
	const uint64_t *most;
	int			n = ddir_spine_batches(trace, side->batch);

	ddir_assert(probe->keyed && (probe->tracked || probe->n == 0));
	ddir_assert(in->n > 0);
	stream_extent(in, &least, &most);
	side->rel = rel;
	side->meet = meet;
	side->probe = probe;
	side->nbatches = 0;
	for (int i = 0; i < n; i++)
	{
		DdirBatch  *b = side->batch[i];

		if (b->n == 0)
			continue;
		if (b->time == NULL && !meets(meet, b->at.c, most, in->coords))
			continue;
		side->timed[side->nbatches] = !meets(meet, b->newest.c, least, in->coords);
		side->batch[side->nbatches] = b;
		side->nbatches++;
	}
}

void
ddir_half_join_begin(DdirHalfJoin *h, const DdirStream *in,
					 const DdirDeltas *probe, const DdirSpine *trace,
					 int rel, DdirMeet meet)
{
	h->in = in;
	h->nsides = 1;
	h->block = 0;
	h->nblock = 0;
	h->at = 0;
	h->side[0].nranges = 0;
	side_begin(&h->side[0], in, probe, trace, rel, meet);
}

void
ddir_half_join_also(DdirHalfJoin *h,
					const DdirDeltas *probe, const DdirSpine *trace,
					int rel, DdirMeet meet)
{
	uint32_t	n = h->in->n;

	h->nsides = 2;
	h->a = -1;
	side_begin(&h->side[1], h->in, probe, trace, rel, meet);

	if (n > h->cap_partner)
	{
		ddir_free(h->partner);
		h->partner = ddir_alloc(h->arena, n * sizeof(uint32_t));
		h->cap_partner = n;
	}
	memset(h->partner, 0, n * sizeof(uint32_t));
	for (uint32_t i = 0; i < probe->n; i++)
	{
		/* one key a row: which two would belong together nobody could tell */
		ddir_check(h->partner[probe->from[i]] == 0);
		h->partner[probe->from[i]] = i + 1;
	}
}

/* ----
 * Locating a block
 * ----
 */

static void
range_add(DdirHalfJoin *h, DdirSide *side, uint32_t slot, uint32_t probe,
		  uint32_t batch, uint32_t pos, uint32_t end)
{
	DdirRange  *range;

	if (side->nranges == side->cap)
	{
		uint32_t	cap = side->cap ? 2 * side->cap : 64;

		side->range = ddir_realloc(h->arena, side->range, cap * sizeof(DdirRange));
		side->cap = cap;
	}
	range = &side->range[side->nranges];
	range->row = side->probe->from[probe];
	range->batch = batch;
	range->pos = pos;
	range->end = end;
	range->next = side->head[slot];
	side->head[slot] = side->nranges++;
}

/* Find n probes in all batches; slot[i] is the place of probe[i] in the block. */
static void
side_locate(DdirHalfJoin *h, DdirSide *side, const uint32_t *slot,
			const uint32_t *probe, uint32_t n)
{
	const DdirDeltas *keys = side->probe;

	for (uint32_t i = 0; i < h->nblock; i++)
		side->head[i] = -1;
	side->nranges = 0;
	for (int k = 0; k < side->nbatches; k++)
	{
		const DdirBatch *b = side->batch[k];

		for (uint32_t i = 0; i < n; i++)
			ddir_batch_prefetch(b, keys->hash[probe[i]]);
		for (uint32_t i = 0; i < n; i++)
		{
			DdirRef		key = ddir_lane_ref(&keys->key, probe[i]);
			uint32_t	end;
			uint32_t	pos = ddir_batch_find(b, keys->hash[probe[i]],
											  key.p, key.len, &end);

			if (pos == end)
				continue;
			__builtin_prefetch(ddir_batch_val(b, pos).p);
			range_add(h, side, slot[i], probe[i], k, pos, end);
		}
	}
}

/* The next block; false if there is none. */
static bool
block_next(DdirHalfJoin *h)
{
	const DdirDeltas *keys = h->side[0].probe;
	uint32_t	slot[DDIR_PROBE_BLOCK];
	uint32_t	probe[DDIR_PROBE_BLOCK];
	uint32_t	n = 0;

	h->block += h->nblock;
	if (h->block >= keys->n)
		return false;
	h->nblock = keys->n - h->block;
	if (h->nblock > DDIR_PROBE_BLOCK)
		h->nblock = DDIR_PROBE_BLOCK;
	h->at = 0;

	for (uint32_t i = 0; i < h->nblock; i++)
	{
		slot[n] = i;
		probe[n] = h->block + i;
		if (h->nsides == 1 || h->partner[keys->from[probe[n]]])
			n++;
	}
	side_locate(h, &h->side[0], slot, probe, n);
	if (h->nsides == 1)
		return true;

	/* the other side only where there is something to meet */
	n = 0;
	for (uint32_t i = 0; i < h->nblock; i++)
	{
		if (h->side[0].head[i] < 0)
			continue;
		slot[n] = i;
		probe[n++] = h->partner[keys->from[h->block + i]] - 1;
	}
	side_locate(h, &h->side[1], slot, probe, n);
	return true;
}

/* ----
 * Producing rows
 * ----
 */

static inline bool
stream_full(const DdirStream *s)
{
	return s->n >= DDIR_CHUNK_ROWS;
}

/* Copy what row "row" of the input has bound to n new rows of the output. */
static inline void
copy_bound(const DdirStream *in, uint32_t row, DdirStream *out, uint32_t n)
{
	uint64_t	bits = in->bound;

	while (bits)
	{
		int			r = __builtin_ctzll(bits);
		DdirRef		v = in->ref[r][row];
		DdirRef    *to = out->ref[r] + out->n;

		for (uint32_t i = 0; i < n; i++)
			to[i] = v;
		bits &= bits - 1;
	}
	if (out->time)
	{
		size_t		width = in->coords * sizeof(uint64_t);

		for (uint32_t i = 0; i < n; i++)
			memcpy(out->time + (size_t) (out->n + i) * in->coords,
				   ddir_stream_time(in, row), width);
	}
}

/* Rows of a range that need no look at their times, column by column. */
static void
produce_untimed(const DdirStream *in, const DdirSide *side, DdirRange *range,
				DdirStream *out)
{
	const DdirBatch *b = side->batch[range->batch];
	uint32_t	n = range->end - range->pos;
	int64_t		diff = in->diff[range->row];
	DdirRef    *to;

	if (n > DDIR_CHUNK_ROWS - out->n)
		n = DDIR_CHUNK_ROWS - out->n;
	ddir_stream_reserve(out, out->n + n);
	copy_bound(in, range->row, out, n);
	to = out->ref[side->rel] + out->n;
	for (uint32_t i = 0; i < n; i++)
		to[i] = ddir_batch_val(b, range->pos + i);
	for (uint32_t i = 0; i < n; i++)
		out->diff[out->n + i] = diff * ddir_batch_diff(b, range->pos + i);
	range->pos += n;
	out->n += n;
}

static void
produce_timed(const DdirStream *in, const DdirSide *side, DdirRange *range,
			  DdirStream *out)
{
	const DdirBatch *b = side->batch[range->batch];
	const uint64_t *t = ddir_stream_time(in, range->row);
	bool		timed = side->timed[range->batch];
	int			coords = in->coords;

	for (; range->pos < range->end && !stream_full(out); range->pos++)
	{
		const uint64_t *t2 = ddir_batch_time(b, range->pos);

		if (timed && !meets(side->meet, t2, t, coords))
			continue;
		ddir_stream_reserve(out, out->n + 1);
		copy_bound(in, range->row, out, 1);
		out->ref[side->rel][out->n] = ddir_batch_val(b, range->pos);
		out->diff[out->n] = in->diff[range->row] * ddir_batch_diff(b, range->pos);
		if (coords > 1)
			ddir_time_join(in->payload + (size_t) range->row * coords, t2,
						   out->payload + (size_t) out->n * coords, coords);
		out->n++;
	}
}

/* One side: range by range.  True when the block is done. */
static bool
produce_single(DdirHalfJoin *h, DdirStream *out)
{
	DdirSide   *side = &h->side[0];

	for (; h->at < side->nranges; h->at++)
	{
		DdirRange  *range = &side->range[h->at];

		if (stream_full(out))
			return false;
		if (side->timed[range->batch] || h->in->coords > 1)
			produce_timed(h->in, side, range, out);
		else
			produce_untimed(h->in, side, range, out);
		if (range->pos < range->end)
			return false;
	}
	return true;
}

/* ----
 * Intersecting two sides
 * ----
 */

/* Is the column one of eight bytes, to be compared as integers? */
static inline bool
column_is_word(const DdirColumn *c)
{
	return c->off == NULL && c->width == 8;
}

static inline uint64_t
word_at(const uint8_t *bytes, uint32_t i)
{
	uint64_t	x;

	memcpy(&x, bytes + (size_t) i * 8, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

static inline int
val_cmp(const DdirColumn *a, uint32_t i, const DdirColumn *b, uint32_t j, bool words)
{
	DdirRef		x;
	DdirRef		y;

	if (words)
	{
		uint64_t	u = word_at(a->bytes, i);
		uint64_t	v = word_at(b->bytes, j);

		return (u > v) - (u < v);
	}
	x = ddir_column_ref(a, i);
	y = ddir_column_ref(b, j);
	return ddir_bytes_cmp(x.p, x.len, y.p, y.len);
}

/* The first of rows i .. end of a whose val is not below that of row j of b. */
static uint32_t
gallop(const DdirColumn *a, uint32_t i, uint32_t end,
	   const DdirColumn *b, uint32_t j, bool words)
{
	uint32_t	step = 1;
	uint32_t	hi;

	while (i + step < end && val_cmp(a, i + step, b, j, words) < 0)
	{
		i += step;
		step *= 2;
	}
	hi = i + step < end ? i + step : end;
	while (i < hi)
	{
		uint32_t	mid = i + (hi - i) / 2;

		if (val_cmp(a, mid, b, j, words) < 0)
			i = mid + 1;
		else
			hi = mid;
	}
	return i;
}

/* The row behind the last one with the val of row i. */
static uint32_t
val_end(const DdirBatch *b, uint32_t i, uint32_t end)
{
	uint32_t	j = i + 1;

	/* within a key, vals repeat only with different times */
	if (b->time)
		while (j < end && val_cmp(&b->val, i, &b->val, j, false) == 0)
			j++;
	return j;
}

/* Two arranged updates with equal vals, and the stream's row, meet. */
static void
produce_pair(const DdirHalfJoin *h, uint32_t row, int ka, uint32_t i,
			 int kb, uint32_t j, DdirStream *out)
{
	const DdirStream *in = h->in;
	const DdirSide *sa = &h->side[0];
	const DdirSide *sb = &h->side[1];
	const DdirBatch *a = sa->batch[ka];
	const DdirBatch *b = sb->batch[kb];
	const uint64_t *t = ddir_stream_time(in, row);
	int			coords = in->coords;

	if (sa->timed[ka] && !meets(sa->meet, ddir_batch_time(a, i), t, coords))
		return;
	if (sb->timed[kb] && !meets(sb->meet, ddir_batch_time(b, j), t, coords))
		return;
	ddir_stream_reserve(out, out->n + 1);
	copy_bound(in, row, out, 1);
	out->ref[sa->rel][out->n] = ddir_batch_val(a, i);
	out->ref[sb->rel][out->n] = ddir_batch_val(b, j);
	out->diff[out->n] = in->diff[row] * ddir_batch_diff(a, i) * ddir_batch_diff(b, j);
	if (coords > 1)
	{
		uint64_t   *p = out->payload + (size_t) out->n * coords;

		ddir_time_join(in->payload + (size_t) row * coords, ddir_batch_time(a, i),
					   p, coords);
		ddir_time_join(p, ddir_batch_time(b, j), p, coords);
	}
	out->n++;
}

/* Two ranges on their way to meet: rows i .. i_end of a, j .. j_end of b. */
typedef struct Pair
{
	const DdirColumn *a;
	const DdirColumn *b;
	uint32_t	i;
	uint32_t	i_end;
	uint32_t	j;
	uint32_t	j_end;
} Pair;

/*
 * Go to the next equal vals; false if there are none.  Which side is ahead is
 * as good as random, so among words it moves the sides without a branch.
 */
static bool
next_equal_word(Pair *p)
{
	const uint8_t *a = p->a->bytes;
	const uint8_t *b = p->b->bytes;
	uint32_t	i = p->i;
	uint32_t	i_end = p->i_end;
	uint32_t	j = p->j;
	uint32_t	j_end = p->j_end;
	bool		found = false;

	while (i < i_end && j < j_end)
	{
		uint64_t	u = word_at(a, i);
		uint64_t	v = word_at(b, j);

		if (ddir_unlikely(u == v))
		{
			found = true;
			break;
		}
		i += u < v;
		j += v < u;
	}
	p->i = i;
	p->j = j;
	return found;
}

static forced_inline bool
next_equal(Pair *p, bool words)
{
	bool		gallop_a = (p->i_end - p->i) / GALLOP_RATIO > p->j_end - p->j;
	bool		gallop_b = (p->j_end - p->j) / GALLOP_RATIO > p->i_end - p->i;

	if (words && !gallop_a && !gallop_b)
		return next_equal_word(p);
	while (p->i < p->i_end && p->j < p->j_end)
	{
		int			c = val_cmp(p->a, p->i, p->b, p->j, words);

		if (c == 0)
			return true;
		if (c < 0)
			p->i = gallop_a ? gallop(p->a, p->i, p->i_end, p->b, p->j, words) : p->i + 1;
		else
			p->j = gallop_b ? gallop(p->b, p->j, p->j_end, p->a, p->i, words) : p->j + 1;
	}
	return false;
}

/*
 * Walk two ranges from where it was left.  True when done; false when the
 * output is full.
 */
static bool
intersect(DdirHalfJoin *h, DdirStream *out)
{
	const DdirRange *ra = &h->side[0].range[h->a];
	const DdirRange *rb = &h->side[1].range[h->b];
	const DdirBatch *a = h->side[0].batch[ra->batch];
	const DdirBatch *b = h->side[1].batch[rb->batch];
	Pair		p = {&a->val, &b->val, h->pos_a, ra->end, h->pos_b, rb->end};
	bool		words = column_is_word(&a->val) && column_is_word(&b->val);

	while (words ? next_equal(&p, true) : next_equal(&p, false))
	{
		uint32_t	i_end = val_end(a, p.i, p.i_end);
		uint32_t	j_end = val_end(b, p.j, p.j_end);

		if (stream_full(out))
		{
			h->pos_a = p.i;
			h->pos_b = p.j;
			return false;
		}
		for (uint32_t i = p.i; i < i_end; i++)
			for (uint32_t j = p.j; j < j_end; j++)
				produce_pair(h, ra->row, ra->batch, i, rb->batch, j, out);
		p.i = i_end;
		p.j = j_end;
	}
	return true;
}

/* Go to a pair of ranges of the current probe. */
static inline void
pair_start(DdirHalfJoin *h, int32_t a, int32_t b)
{
	h->a = a;
	h->b = b;
	if (a >= 0 && b >= 0)
	{
		h->pos_a = h->side[0].range[a].pos;
		h->pos_b = h->side[1].range[b].pos;
	}
}

/* Two sides: probe by probe, all pairs of ranges. */
static bool
produce_both(DdirHalfJoin *h, DdirStream *out)
{
	DdirSide   *sa = &h->side[0];
	DdirSide   *sb = &h->side[1];

	for (; h->at < h->nblock; h->at++, h->a = -1)
	{
		if (h->a < 0)
			pair_start(h, sa->head[h->at], sb->head[h->at]);
		if (h->b < 0)
			continue;
		while (h->a >= 0)
		{
			if (!intersect(h, out))
				return false;
			if (sb->range[h->b].next >= 0)
				pair_start(h, h->a, sb->range[h->b].next);
			else
				pair_start(h, sa->range[h->a].next, sb->head[h->at]);
		}
	}
	return true;
}

/*
 * The output's refs for the relations looked up must be in its "bound", as
 * must those of the input.
 */
bool
ddir_half_join_next(DdirHalfJoin *h, DdirStream *out)
{
	for (;;)
	{
		if (!(h->nsides == 1 ? produce_single(h, out) : produce_both(h, out)))
			return false;
		if (!block_next(h))
			return true;
	}
}
