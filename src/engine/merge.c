/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  Two adjacent batches into one, resumable.
 *
 * The work goes in rounds.  A round decides which rows come next and from
 * which side - *picks*, an array of row numbers - and then copies lane by
 * lane, so each lane is two streams read and one written.  Four ways to pick,
 * best first:
 *
 *	run		- one side is behind for a while: its rows are copied as they are
 *	zip		- hashes alternate: picked without branches; where keys have many
 *			  rows and vals 8 bytes or more, by the first 8 of those too
 *	tie		- what zip cannot tell apart: compared; equal rows are summed
 *	group	- rows that advancing may make equal: all updates of one (key, val)
 *			  are collected, advanced, sorted and summed
 *
 * The last is needed only for a side that has a time lane in which something
 * moves ("not simple").  Without a lane no two rows of a side are equal in
 * key and val, and times that stay keep their order.
 *
 * Times are advanced by since as of begin; later moves of it are for the next
 * merge.  Diffs that sum to something else than the picked row's own, and
 * times of groups, go into *patches*, applied over what was copied.
 *
 * Lanes stay out where possible: time if all come out equal, diff if all are
 * +1, the diff lane is of bytes until a sum does not fit.
 *
 * Memory: the result's lanes are made for the sum of both sides and cut to
 * size at the end; picks and patches are bounded by the round, edits by the
 * largest group.
 *
 * src/engine/merge.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/batch.h"

#define forced_inline inline __attribute__((always_inline))

/*
 * ROUND: picks of a round.  ZIP: rows zipped before looking again whether a
 * run would be better; it is taken if it has more than RUN_MIN rows and cut
 * at RUN_MAX.  Small where asserting, so that small tests cross their edges.
 * GULP: rows looked at together where a side is GULP_RATIO times the other.
 * MANY_PER_KEY: from here it pays to look at vals in a zip.
 */
#define GULP 8
#define GULP_RATIO 4
#define MANY_PER_KEY 2
#ifdef DDIR_ASSERTS
#define ROUND 16
#define ZIP 4
#define RUN_MIN 2
#define RUN_MAX 16
#else
#define ROUND 1024
#define ZIP 64
#define RUN_MIN 16
#define RUN_MAX 16384
#endif

/* A pick is a row number; the high bit says side 1. */
#define SIDE1 UINT32_C(0x80000000)

typedef struct Side
{
	DdirBatch  *b;
	uint32_t	pos;
	bool		simple;			/* no two of its rows become equal */
	bool		one;			/* all its times become "at" */
	bool		moves;			/* some are advanced */
	DdirTime	at;
} Side;

typedef struct Patch
{
	uint32_t	pick;
	int64_t		diff;
	DdirTime	t;
} Patch;

typedef struct Edit
{
	DdirTime	t;
	int64_t		diff;
} Edit;

struct DdirMerge
{
	DdirArena  *arena;			/* of this struct and its arrays */
	Side		side[2];
	DdirTime	floor;			/* times are joined with it */
	bool		advance;
	bool		by_prefix;		/* rows of one key are zipped too */
	int			longer;			/* side with many more rows, or -1 */

	DdirBatch  *out;
	uint32_t	room;			/* rows its lanes are made for */
	uint32_t	key_len;		/* bytes of lanes with offsets */
	uint32_t	val_len;
	uint64_t	others;			/* diffs that are not +1 */
	uint32_t	slot;			/* of the directory */

	uint32_t	npicks;
	uint32_t	cap_picks;
	uint32_t   *pick;
	uint32_t	npatches;
	uint32_t	cap_patches;
	Patch	   *patch;
	uint32_t	cap_edits;
	Edit	   *edit;			/* twice cap_edits, for sorting */
};

/* ----
 * Beginning.
 * ----
 */

static size_t
column_len(const DdirColumn *c, uint32_t n)
{
	return c->off ? c->off[n] : (size_t) c->width * n;
}

/* Will the merged column need offsets? */
static bool
column_varies(const DdirColumn *a, uint32_t na, const DdirColumn *b, uint32_t nb)
{
	if (na == 0 || nb == 0)
		return na ? a->off != NULL : nb ? b->off != NULL : false;
	return a->off || b->off || a->width != b->width;
}

/* A batch's keys as a column: mixed ones have 8 bytes each. */
static DdirColumn
key_shape(const DdirBatch *b)
{
	const DdirColumn eight = {.width = sizeof(uint64_t)};

	return b->mixed ? eight : b->key;
}

bool
ddir_merge_fits(const DdirBatch *a, const DdirBatch *b)
{
	DdirColumn	ka = key_shape(a);
	DdirColumn	kb = key_shape(b);

	if ((uint64_t) a->n + b->n > INT32_MAX)
		return false;
	if (column_varies(&a->val, a->n, &b->val, b->n) &&
		column_len(&a->val, a->n) + column_len(&b->val, b->n) > UINT32_MAX)
		return false;
	if (!(a->mixed && b->mixed) && column_varies(&ka, a->n, &kb, b->n) &&
		column_len(&ka, a->n) + column_len(&kb, b->n) > UINT32_MAX)
		return false;
	return true;
}

static void
make_column(DdirBatch *out, DdirColumn *c, const DdirColumn *a, uint32_t na,
			const DdirColumn *b, uint32_t nb)
{
	size_t		len = column_len(a, na) + column_len(b, nb);

	c->bytes = ddir_alloc(out->arena, len);
	if (column_varies(a, na, b, nb))
	{
		c->off = ddir_alloc(out->arena, ((size_t) na + nb + 1) * sizeof(uint32_t));
		c->off[0] = 0;
	}
	else
		c->width = na ? a->width : b->width;
}

static void
side_init(Side *s, DdirBatch *b, const DdirTime *floor)
{
	ddir_batch_ref(b);
	s->b = b;
	s->at = b->at;
	if (b->time == NULL)
	{
		s->simple = true;
		s->one = true;
		if (floor)
			ddir_time_join(s->at.c, floor->c, s->at.c, b->coords);
	}
	else if (floor && ddir_time_le(b->most.c, floor->c, b->coords))
	{
		s->one = true;
		s->at = *floor;
	}
	else
	{
		s->moves = floor && !ddir_time_le(floor->c, b->least.c, b->coords);
		s->simple = !s->moves;
	}
}

/* The lanes of the result, as far as they are needed from the start. */
static void
make_lanes(DdirMerge *m)
{
	DdirBatch  *a = m->side[0].b;
	DdirBatch  *b = m->side[1].b;
	DdirBatch  *out = m->out;
	bool		one = true;

	m->room = a->n + b->n;
	out->mixed = a->mixed && b->mixed;
	out->hash = ddir_alloc(out->arena, m->room * sizeof(uint64_t));
	make_column(out, &out->val, &a->val, a->n, &b->val, b->n);
	if (!out->mixed)
	{
		DdirColumn	ka = key_shape(a);
		DdirColumn	kb = key_shape(b);

		make_column(out, &out->key, &ka, a->n, &kb, b->n);
	}

	for (int i = 0; i < 2; i++)
		if (m->side[i].b->n > 0)
		{
			one &= m->side[i].one;
			out->at = m->side[i].at;
		}
	if (a->n > 0 && b->n > 0)
		one &= ddir_time_cmp(m->side[0].at.c, m->side[1].at.c, out->coords) == 0;
	if (!one)
		out->time = ddir_alloc(out->arena, (size_t) m->room * out->coords * sizeof(uint64_t));

	if (a->diff || b->diff)
		out->diff = ddir_alloc(out->arena, m->room * sizeof(int64_t));
	else if (a->diff8 || b->diff8)
		out->diff8 = ddir_alloc(out->arena, m->room);
	/* of two sets of keys, about half of the lesser one are new */
	ddir_batch_dir_create(out, m->room, a->keys > b->keys ? a->keys + b->keys / 2
						  : b->keys + a->keys / 2);
}

DdirMerge *
ddir_merge_begin(DdirArena *arena, DdirBatch *a, DdirBatch *b, const DdirFrontier *since)
{
	DdirMerge  *m;
	const DdirTime *floor = NULL;
	DdirTime	f;

	ddir_check(a->coords == b->coords && since->coords == a->coords);
	ddir_check(ddir_frontier_equal(&a->upper, &b->lower));
	ddir_check(ddir_merge_fits(a, b));

	m = ddir_alloc0(arena, sizeof(DdirMerge));
	m->arena = arena;
	m->advance = ddir_frontier_floor(since, f.c);
	if (m->advance)
	{
		memset(&m->floor, 0, sizeof(m->floor));
		memcpy(m->floor.c, f.c, a->coords * sizeof(uint64_t));
		floor = &m->floor;
	}
	side_init(&m->side[0], a, floor);
	side_init(&m->side[1], b, floor);
	m->by_prefix = a->mixed && b->mixed &&
		a->val.off == NULL && a->val.width >= sizeof(uint64_t) &&
		b->val.off == NULL && b->val.width >= sizeof(uint64_t) &&
		(a->n / MANY_PER_KEY > a->keys || b->n / MANY_PER_KEY > b->keys);
	m->longer = a->n / GULP_RATIO > b->n ? 0 : b->n / GULP_RATIO > a->n ? 1 : -1;
	m->out = ddir_batch_create(arena, a->coords, &a->lower, &b->upper);
	ddir_frontier_copy(&m->out->since, since);
	ddir_frontier_join(&m->out->since, &a->since);
	ddir_frontier_join(&m->out->since, &b->since);
	make_lanes(m);
	m->cap_picks = ROUND + 1;
	m->pick = ddir_alloc(arena, m->cap_picks * sizeof(uint32_t));
	return m;
}

/* ----
 * Picking.
 * ----
 */

/* Picks write hashes at once, having them at hand. */
static inline void
pick(DdirMerge *m, int side, uint32_t row)
{
	m->out->hash[m->out->n + m->npicks] = m->side[side].b->hash[row];
	m->pick[m->npicks++] = row | (side ? SIDE1 : 0);
}

/* The pick just made gets this diff and time. */
static void
patch(DdirMerge *m, const DdirTime *t, int64_t diff)
{
	Patch	   *p;

	if (m->npatches == m->cap_patches)
	{
		m->cap_patches = m->cap_patches ? 2 * m->cap_patches : 64;
		m->patch = ddir_realloc(m->arena, m->patch, m->cap_patches * sizeof(Patch));
	}
	p = &m->patch[m->npatches++];
	p->pick = m->npicks - 1;
	p->diff = diff;
	p->t = *t;
}

/* The time row i of a side has after advancing. */
static inline void
side_time(const DdirMerge *m, const Side *s, uint32_t i, uint64_t *t)
{
	int			coords = m->out->coords;

	if (s->one)
		memcpy(t, s->at.c, coords * sizeof(uint64_t));
	else if (s->moves)
		ddir_time_join(s->b->time + (size_t) i * coords, m->floor.c, t, coords);
	else
		memcpy(t, s->b->time + (size_t) i * coords, coords * sizeof(uint64_t));
}

/* Compare two rows of one hash by key and val. */
static inline int
compare_rows(const DdirBatch *a, uint32_t i, const DdirBatch *b, uint32_t j)
{
	DdirRef		x;
	DdirRef		y;

	if (!(a->mixed && b->mixed))
	{
		uint64_t	rx;
		uint64_t	ry;
		int			c;

		x = ddir_batch_key(a, i, &rx);
		y = ddir_batch_key(b, j, &ry);
		c = ddir_bytes_cmp(x.p, x.len, y.p, y.len);
		if (c != 0)
			return c;
	}
	x = ddir_batch_val(a, i);
	y = ddir_batch_val(b, j);
	return ddir_bytes_cmp(x.p, x.len, y.p, y.len);
}

/* First row from pos on, but not past limit, whose hash is not below h. */
static uint32_t
run_end(const uint64_t *hash, uint32_t pos, uint32_t limit, uint64_t h)
{
	/* a look per cache line; they are about to be read anyway */
	while (pos + 8 < limit && hash[pos + 8] < h)
		pos += 8;
	while (pos < limit && hash[pos] < h)
		pos++;
	return pos;
}

/*
 * If a side is behind the other for more than RUN_MIN rows, the number of its
 * rows to copy, else 0.
 */
static uint32_t
find_run(const Side *s, const Side *other)
{
	const uint64_t *hash = s->b->hash;
	uint32_t	left = s->b->n - s->pos;
	uint32_t	limit = left > RUN_MAX ? s->pos + RUN_MAX : s->b->n;

	if (!s->simple)
		return 0;
	if (other->pos == other->b->n)
		return limit - s->pos;
	if (left <= RUN_MIN || hash[s->pos + RUN_MIN] >= other->b->hash[other->pos])
		return 0;
	return run_end(hash, s->pos + RUN_MIN, limit, other->b->hash[other->pos]) - s->pos;
}

/* The first bytes of a val in a column whose vals have 8 or more. */
static inline uint64_t
prefix_at(const DdirColumn *c, uint32_t i)
{
	return ddir_bytes_prefix(c->bytes + (size_t) c->width * i, sizeof(uint64_t));
}

/* How many rows may be zipped such that no side can end. */
static inline uint32_t
zip_room(const DdirMerge *m)
{
	const Side *a = &m->side[0];
	const Side *b = &m->side[1];
	uint32_t	n = ROUND - m->npicks;

	if (n > ZIP)
		n = ZIP;
	if (n > a->b->n - a->pos)
		n = a->b->n - a->pos;
	if (n > b->b->n - b->pos)
		n = b->b->n - b->pos;
	return n;
}

/*
 * Pick by hash, and by prefix where so wanted, until both are equal or a block
 * is full.  Which side is next cannot be predicted, so it is computed: a mask
 * of ones for side 1.
 */
static forced_inline void
zip_by(DdirMerge *m, bool prefix)
{
	const DdirBatch *a = m->side[0].b;
	const DdirBatch *b = m->side[1].b;
	uint32_t	i = m->side[0].pos;
	uint32_t	j = m->side[1].pos;
	uint32_t   *to = m->pick + m->npicks;
	uint64_t   *hash = m->out->hash + m->out->n + m->npicks;

	for (uint32_t n = zip_room(m); n > 0; n--)
	{
		uint64_t	x = a->hash[i];
		uint64_t	y = b->hash[j];
		uint32_t	second = y < x;
		uint32_t	equal = y == x;

		if (prefix)
		{
			uint64_t	u = prefix_at(&a->val, i);
			uint64_t	v = prefix_at(&b->val, j);

			second |= equal & (v < u);
			equal &= v == u;
		}
		if (ddir_unlikely(equal))
			break;
		*to++ = i ^ ((i ^ (j | SIDE1)) & -second);
		*hash++ = x ^ ((x ^ y) & -(uint64_t) second);
		i += 1 - second;
		j += second;
	}
	m->npicks = to - m->pick;
	m->side[0].pos = i;
	m->side[1].pos = j;
}

/*
 * The same where one side has many more rows: as many as are before the next
 * of the other are picked at once, of GULP looked at.
 */
static forced_inline void
gulp_by(DdirMerge *m, int side, bool prefix)
{
	Side	   *s = &m->side[side];
	Side	   *o = &m->side[1 - side];
	const uint64_t *hs = s->b->hash;
	const DdirColumn *vs = &s->b->val;
	uint32_t	bit = side ? SIDE1 : 0;
	uint32_t   *to = m->pick + m->npicks;
	uint64_t   *hash = m->out->hash + m->out->n + m->npicks;
	int			full = 0;

	while (to + GULP < m->pick + ROUND && s->b->n - s->pos >= GULP && o->pos < o->b->n)
	{
		uint64_t	y = o->b->hash[o->pos];
		uint64_t	v = prefix ? prefix_at(&o->b->val, o->pos) : 0;
		uint32_t	n = 0;

		for (uint32_t k = 0; k < GULP; k++)
		{
			uint64_t	x = hs[s->pos + k];

			n += x < y;
			if (prefix)
				n += (x == y) & (prefix_at(vs, s->pos + k) < v);
			to[k] = (s->pos + k) | bit;
			hash[k] = x;
		}
		to += n;
		hash += n;
		s->pos += n;
		if (n == GULP)
		{
			/* it may be a run */
			if (++full > RUN_MIN / GULP)
				break;
			continue;
		}
		full = 0;
		if (hs[s->pos] == y && (!prefix || prefix_at(vs, s->pos) == v))
			break;
		*to++ = o->pos++ | (bit ^ SIDE1);
		*hash++ = y;
	}
	m->npicks = to - m->pick;
}

/* Pick what can be told apart without comparing rows; true if there was any. */
static bool
zip(DdirMerge *m)
{
	uint32_t	before = m->npicks;

	if (m->longer >= 0)
	{
		if (m->by_prefix)
			gulp_by(m, m->longer, true);
		else
			gulp_by(m, m->longer, false);
	}
	if (m->npicks == before)
	{
		if (m->by_prefix)
			zip_by(m, true);
		else
			zip_by(m, false);
	}
	return m->npicks > before;
}

/*
 * Both sides stand at the same hash and are simple: pick by row while it is
 * the same.  Where rows of one key are zipped, that goes on after one row.
 */
static void
tie(DdirMerge *m)
{
	Side	   *a = &m->side[0];
	Side	   *b = &m->side[1];
	uint64_t	hash = a->b->hash[a->pos];

	while (m->npicks < ROUND &&
		   a->pos < a->b->n && a->b->hash[a->pos] == hash &&
		   b->pos < b->b->n && b->b->hash[b->pos] == hash)
	{
		int			c = compare_rows(a->b, a->pos, b->b, b->pos);
		DdirTime	ta;
		DdirTime	tb;
		int64_t		diff;

		if (c == 0)
		{
			side_time(m, a, a->pos, ta.c);
			side_time(m, b, b->pos, tb.c);
			c = ddir_time_cmp(ta.c, tb.c, m->out->coords);
		}
		if (c < 0)
			pick(m, 0, a->pos++);
		else if (c > 0)
			pick(m, 1, b->pos++);
		else
		{
			diff = ddir_batch_diff(a->b, a->pos) + ddir_batch_diff(b->b, b->pos);
			if (diff != 0)
			{
				pick(m, 0, a->pos);
				patch(m, &ta, diff);
			}
			a->pos++;
			b->pos++;
		}
		if (m->by_prefix)
			break;
	}
}

/* The row behind the last one equal in key and val to the side's next. */
static uint32_t
group_end(const Side *s)
{
	const DdirBatch *b = s->b;
	uint32_t	end = s->pos + 1;

	while (end < b->n && b->hash[end] == b->hash[s->pos] &&
		   compare_rows(b, s->pos, b, end) == 0)
		end++;
	return end;
}

/* Merge sort by time. */
static void
sort_edits(Edit *a, Edit *tmp, uint32_t n, int coords)
{
	uint32_t	half = n / 2;
	uint32_t	l = 0;
	uint32_t	r = half;

	if (n <= 8)
	{
		for (uint32_t i = 1; i < n; i++)
		{
			Edit		x = a[i];
			uint32_t	j = i;

			for (; j > 0 && ddir_time_cmp(a[j - 1].t.c, x.t.c, coords) > 0; j--)
				a[j] = a[j - 1];
			a[j] = x;
		}
		return;
	}
	sort_edits(a, tmp, half, coords);
	sort_edits(a + half, tmp, n - half, coords);
	for (uint32_t o = 0; o < n; o++)
	{
		if (r == n ||
			(l < half && ddir_time_cmp(a[l].t.c, a[r].t.c, coords) <= 0))
			tmp[o] = a[l++];
		else
			tmp[o] = a[r++];
	}
	memcpy(a, tmp, n * sizeof(Edit));
}

/* Sum the updates of one (key, val), given as rows up to end[] of each side. */
static void
sum_group(DdirMerge *m, const uint32_t *end)
{
	int			coords = m->out->coords;
	uint32_t	n = 0;
	uint32_t	total = 0;
	int			side = end[0] > m->side[0].pos ? 0 : 1;
	uint32_t	row = m->side[side].pos;

	for (int i = 0; i < 2; i++)
		total += end[i] - m->side[i].pos;
	if (total > m->cap_edits)
	{
		m->cap_edits = total > 2 * m->cap_edits ? total : 2 * m->cap_edits;
		m->edit = ddir_realloc(m->arena, m->edit, 2 * (size_t) m->cap_edits * sizeof(Edit));
	}
	if (m->npicks + total > m->cap_picks)
	{
		m->cap_picks = m->npicks + total;
		m->pick = ddir_realloc(m->arena, m->pick, (size_t) m->cap_picks * sizeof(uint32_t));
	}

	for (int i = 0; i < 2; i++)
		for (; m->side[i].pos < end[i]; m->side[i].pos++)
		{
			Edit	   *e = &m->edit[n++];

			memset(&e->t, 0, sizeof(e->t));
			side_time(m, &m->side[i], m->side[i].pos, e->t.c);
			e->diff = ddir_batch_diff(m->side[i].b, m->side[i].pos);
		}
	sort_edits(m->edit, m->edit + m->cap_edits, n, coords);
	for (uint32_t i = 0; i < n;)
	{
		Edit		e = m->edit[i];

		for (i++; i < n && ddir_time_cmp(m->edit[i].t.c, e.t.c, coords) == 0; i++)
			e.diff += m->edit[i].diff;
		if (e.diff != 0)
		{
			pick(m, side, row);
			patch(m, &e.t, e.diff);
		}
	}
}

/* Pick the next (key, val) of either side or both, whole. */
static void
group(DdirMerge *m)
{
	Side	   *a = &m->side[0];
	Side	   *b = &m->side[1];
	uint32_t	end[2] = {a->pos, b->pos};
	int			c;

	if (a->pos == a->b->n)
		c = 1;
	else if (b->pos == b->b->n)
		c = -1;
	else if (a->b->hash[a->pos] != b->b->hash[b->pos])
		c = a->b->hash[a->pos] < b->b->hash[b->pos] ? -1 : 1;
	else
		c = compare_rows(a->b, a->pos, b->b, b->pos);
	if (c <= 0)
		end[0] = group_end(a);
	if (c >= 0)
		end[1] = group_end(b);

	if (c < 0 && end[0] == a->pos + 1)
		pick(m, 0, a->pos++);
	else if (c > 0 && end[1] == b->pos + 1)
		pick(m, 1, b->pos++);
	else
		sum_group(m, end);
}

/* ----
 * Copying.
 * ----
 */

static void
copy_fixed(DdirColumn *to, uint32_t at, const DdirColumn *a, const DdirColumn *b,
		   const uint32_t *pick, uint32_t n)
{
	const uint8_t *const from[2] = {a->bytes, b->bytes};
	size_t		width = to->width;
	uint8_t    *p = to->bytes + at * width;

#define COPY(w) \
	for (uint32_t i = 0; i < n; i++) \
		memcpy(p + i * (size_t) (w), \
			   from[pick[i] >> 31] + (pick[i] & ~SIDE1) * (size_t) (w), (w))

	switch (width)
	{
		case 0:
			break;
		case 8:
			COPY(8);
			break;
		case 16:
			COPY(16);
			break;
		case 24:
			COPY(24);
			break;
		default:
			COPY(width);
			break;
	}
#undef COPY
}

/* Put a row into a column with offsets; *len is how long it is. */
static inline void
put_varied(DdirColumn *to, uint32_t at, uint32_t *len, DdirRef r)
{
	if (r.len > 0)
		memcpy(to->bytes + *len, r.p, r.len);
	*len += r.len;
	to->off[at + 1] = *len;
}

static void
copy_keys(DdirMerge *m, uint32_t n)
{
	DdirBatch  *out = m->out;
	DdirBatch  *a = m->side[0].b;
	DdirBatch  *b = m->side[1].b;

	if (out->mixed)
		return;
	if (out->key.off == NULL)
	{
		copy_fixed(&out->key, out->n, &a->key, &b->key, m->pick, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	p = m->pick[i];
		uint64_t	room;

		put_varied(&out->key, out->n + i, &m->key_len,
				   ddir_batch_key(p & SIDE1 ? b : a, p & ~SIDE1, &room));
	}
}

static void
copy_vals(DdirMerge *m, uint32_t n)
{
	DdirBatch  *out = m->out;
	DdirBatch  *a = m->side[0].b;
	DdirBatch  *b = m->side[1].b;

	if (out->val.off == NULL)
	{
		copy_fixed(&out->val, out->n, &a->val, &b->val, m->pick, n);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	p = m->pick[i];

		put_varied(&out->val, out->n + i, &m->val_len,
				   ddir_batch_val(p & SIDE1 ? b : a, p & ~SIDE1));
	}
}

/* Enter one more time into what the batch says about its times. */
static inline void
note_time(DdirBatch *b, const uint64_t *t, bool first)
{
	if (first)
	{
		memcpy(b->newest.c, t, b->coords * sizeof(uint64_t));
		b->least = b->most = b->newest;
		return;
	}
	if (ddir_time_cmp(t, b->newest.c, b->coords) > 0)
		memcpy(b->newest.c, t, b->coords * sizeof(uint64_t));
	ddir_time_meet(b->least.c, t, b->least.c, b->coords);
	ddir_time_join(b->most.c, t, b->most.c, b->coords);
}

/*
 * Write a diff.  The lane appears with the first that is not +1, and widens
 * with the first that does not fit a byte.
 */
static void
put_diff(DdirMerge *m, uint32_t at, uint32_t filled, int64_t diff)
{
	DdirBatch  *out = m->out;

	if (diff == 1 && !out->diff && !out->diff8)
		return;
	if (!out->diff && diff != (int8_t) diff)
	{
		out->diff = ddir_alloc(out->arena, m->room * sizeof(int64_t));
		for (uint32_t i = 0; i < filled; i++)
			out->diff[i] = out->diff8 ? out->diff8[i] : 1;
		ddir_free(out->diff8);
		out->diff8 = NULL;
	}
	else if (!out->diff && !out->diff8)
	{
		out->diff8 = ddir_alloc(out->arena, m->room);
		memset(out->diff8, 1, filled);
	}
	if (out->diff)
		out->diff[at] = diff;
	else
		out->diff8[at] = (int8_t) diff;
}

/* The diff lane, or what it would hold, for a round's picks. */
static void
copy_diffs(DdirMerge *m, uint32_t n)
{
	DdirBatch  *out = m->out;
	DdirBatch  *a = m->side[0].b;
	DdirBatch  *b = m->side[1].b;

	for (uint32_t i = 0; i < n && (out->diff || out->diff8); i++)
	{
		uint32_t	p = m->pick[i];
		int64_t		diff = ddir_batch_diff(p & SIDE1 ? b : a, p & ~SIDE1);

		m->others += diff != 1;
		if (out->diff)
			out->diff[out->n + i] = diff;
		else
			out->diff8[out->n + i] = (int8_t) diff;
	}
}

static void
copy_times(DdirMerge *m, uint32_t n)
{
	DdirBatch  *out = m->out;

	if (out->time == NULL)
		return;
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	p = m->pick[i];

		side_time(m, &m->side[p >> 31], p & ~SIDE1,
				  out->time + ((size_t) out->n + i) * out->coords);
	}
}

static void
apply_patches(DdirMerge *m, uint32_t n)
{
	DdirBatch  *out = m->out;

	for (uint32_t i = 0; i < m->npatches; i++)
	{
		Patch	   *p = &m->patch[i];
		uint32_t	at = out->n + p->pick;
		uint32_t	row = m->pick[p->pick];
		int64_t		was = ddir_batch_diff(m->side[row >> 31].b, row & ~SIDE1);

		/* copy_diffs counted the row's own, if there is a lane */
		if (out->diff || out->diff8)
			m->others -= was != 1;
		m->others += p->diff != 1;
		put_diff(m, at, out->n + n, p->diff);
		if (out->time)
			memcpy(out->time + (size_t) at * out->coords, p->t.c,
				   out->coords * sizeof(uint64_t));
	}
	m->npatches = 0;
}

/* Note the times of the n rows just copied, which end the round. */
static void
note_times(DdirMerge *m, uint32_t n)
{
	DdirBatch  *out = m->out;

	if (out->time)
		for (uint32_t i = 0; i < n; i++)
			note_time(out, out->time + ((size_t) out->n + i) * out->coords,
					  out->n + i == 0);
}

/* Copy the round's picks. */
static void
copy_picks(DdirMerge *m)
{
	DdirBatch  *out = m->out;
	uint32_t	n = m->npicks;

	if (n == 0)
		return;
	ddir_assert(out->n + n <= m->room);

	copy_keys(m, n);
	copy_vals(m, n);
	copy_times(m, n);
	copy_diffs(m, n);
	apply_patches(m, n);
	note_times(m, n);
	ddir_batch_dir_enter(out, out->n, out->n + n, &m->slot);
	out->n += n;
	m->npicks = 0;
}

static void
copy_column_run(DdirColumn *to, uint32_t at, uint32_t *len,
				const DdirColumn *from, uint32_t start, uint32_t n)
{
	DdirRef		first = ddir_column_ref(from, start);
	size_t		bytes = (size_t) first.len * n;
	uint32_t	shift;

	if (from->off)
		bytes = from->off[start + n] - from->off[start];
	if (to->off == NULL)
	{
		if (bytes > 0)
			memcpy(to->bytes + (size_t) to->width * at, first.p, bytes);
		return;
	}
	if (bytes > 0)
		memcpy(to->bytes + *len, first.p, bytes);
	if (from->off)
	{
		shift = *len - from->off[start];
		for (uint32_t i = 1; i <= n; i++)
			to->off[at + i] = from->off[start + i] + shift;
	}
	else
		for (uint32_t i = 1; i <= n; i++)
			to->off[at + i] = *len + first.len * i;
	*len += (uint32_t) bytes;
}

static void
copy_diffs_run(DdirMerge *m, const DdirBatch *from, uint32_t start, uint32_t n)
{
	DdirBatch  *out = m->out;
	uint64_t	others = 0;

	if (!out->diff && !out->diff8)
		return;
	if (out->diff)
		for (uint32_t i = 0; i < n; i++)
			out->diff[out->n + i] = ddir_batch_diff(from, start + i);
	else if (from->diff8)
		memcpy(out->diff8 + out->n, from->diff8 + start, n);
	else
		memset(out->diff8 + out->n, 1, n);
	if (from->diff || from->diff8)
		for (uint32_t i = 0; i < n; i++)
			others += ddir_batch_diff(from, start + i) != 1;
	m->others += others;
}

/* Copy n rows of a simple side as they are. */
static void
copy_run(DdirMerge *m, int side, uint32_t n)
{
	Side	   *s = &m->side[side];
	DdirBatch  *out = m->out;
	const DdirBatch *from = s->b;

	ddir_assert(out->n + n <= m->room && m->npicks == 0);

	memcpy(out->hash + out->n, from->hash + s->pos, n * sizeof(uint64_t));
	if (out->mixed)
		;
	else if (from->mixed)
		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t	room;

			put_varied(&out->key, out->n + i, &m->key_len,
					   ddir_batch_key(from, s->pos + i, &room));
		}
	else
		copy_column_run(&out->key, out->n, &m->key_len, &from->key, s->pos, n);
	copy_column_run(&out->val, out->n, &m->val_len, &from->val, s->pos, n);
	copy_diffs_run(m, from, s->pos, n);
	if (out->time)
		for (uint32_t i = 0; i < n; i++)
			side_time(m, s, s->pos + i, out->time + ((size_t) out->n + i) * out->coords);
	note_times(m, n);
	ddir_batch_dir_copy(out, out->n, out->n + n, &m->slot, from, s->pos);
	out->n += n;
	s->pos += n;
}

/* ----
 * Working.
 * ----
 */

/* One round; returns how many rows of the input it used up. */
static uint32_t
work_round(DdirMerge *m)
{
	Side	   *a = &m->side[0];
	Side	   *b = &m->side[1];
	bool		simple = a->simple && b->simple;
	uint32_t	start = a->pos + b->pos;
	uint32_t	run[2] = {0, 0};

	while (m->npicks < ROUND)
	{
		bool		end_a = a->pos == a->b->n;
		bool		end_b = b->pos == b->b->n;

		if (end_a && end_b)
			break;
		run[0] = end_a ? 0 : find_run(a, b);
		run[1] = end_b || run[0] ? 0 : find_run(b, a);
		if (run[0] || run[1])
			break;
		if (!simple)
			group(m);
		else if (!zip(m))
			tie(m);
	}
	copy_picks(m);
	for (int i = 0; i < 2; i++)
		if (run[i])
			copy_run(m, i, run[i]);
	return a->pos + b->pos - start;
}

bool
ddir_merge_work(DdirMerge *m, int64_t *fuel)
{
	Side	   *a = &m->side[0];
	Side	   *b = &m->side[1];

	while (a->pos < a->b->n || b->pos < b->b->n)
	{
		if (*fuel <= 0)
			return false;
		*fuel -= work_round(m);
	}
	return true;
}

/* Give back what a lane made for the sum of both sides did not need. */
static void *
cut(DdirBatch *b, void *lane, size_t len)
{
	return lane ? ddir_realloc(b->arena, lane, len > 0 ? len : 1) : NULL;
}

static void
cut_lanes(DdirMerge *m)
{
	DdirBatch  *b = m->out;
	size_t		n = b->n;

	/* a few rows are not worth the copy */
	if (n >= m->room - m->room / 16)
		return;
	b->hash = cut(b, b->hash, n * sizeof(uint64_t));
	b->val.bytes = cut(b, b->val.bytes, column_len(&b->val, b->n));
	b->val.off = cut(b, b->val.off, (n + 1) * sizeof(uint32_t));
	if (!b->mixed)
	{
		b->key.bytes = cut(b, b->key.bytes, column_len(&b->key, b->n));
		b->key.off = cut(b, b->key.off, (n + 1) * sizeof(uint32_t));
	}
	b->time = cut(b, b->time, n * b->coords * sizeof(uint64_t));
	b->diff = cut(b, b->diff, n * sizeof(int64_t));
	b->diff8 = cut(b, b->diff8, n);
}

static void
release(DdirMerge *m)
{
	ddir_batch_unref(m->side[0].b);
	ddir_batch_unref(m->side[1].b);
	ddir_free(m->pick);
	ddir_free(m->patch);
	ddir_free(m->edit);
	ddir_free(m);
}

DdirBatch *
ddir_merge_done(DdirMerge *m)
{
	DdirBatch  *out = m->out;

	ddir_check(m->side[0].pos == m->side[0].b->n && m->side[1].pos == m->side[1].b->n);

	if (out->time &&
		(out->n == 0 || ddir_time_cmp(out->least.c, out->most.c, out->coords) == 0))
	{
		out->at = out->newest;
		ddir_free(out->time);
		out->time = NULL;
	}
	else if (out->time == NULL)
		out->newest = out->least = out->most = out->at;
	if (m->others == 0)
	{
		ddir_free(out->diff);
		ddir_free(out->diff8);
		out->diff = NULL;
		out->diff8 = NULL;
	}
	cut_lanes(m);
	ddir_batch_close(out, m->slot);
	release(m);
	return out;
}

void
ddir_merge_abandon(DdirMerge *m)
{
	ddir_batch_unref(m->out);
	release(m);
}

/* What a merge under way holds besides its inputs. */
size_t
ddir_merge_bytes(const DdirMerge *m)
{
	const DdirBatch *b = m->out;
	size_t		bytes = sizeof(DdirMerge) + m->cap_picks * sizeof(uint32_t) +
	m->cap_patches * sizeof(Patch) + 2 * (size_t) m->cap_edits * sizeof(Edit);

	bytes += m->room * sizeof(uint64_t);
	bytes += column_len(&m->side[0].b->val, m->side[0].b->n) +
		column_len(&m->side[1].b->val, m->side[1].b->n);
	if (b->val.off)
		bytes += m->room * sizeof(uint32_t);
	if (!b->mixed)
	{
		DdirColumn	ka = key_shape(m->side[0].b);
		DdirColumn	kb = key_shape(m->side[1].b);

		bytes += column_len(&ka, m->side[0].b->n) + column_len(&kb, m->side[1].b->n);
		if (b->key.off)
			bytes += m->room * sizeof(uint32_t);
	}
	if (b->time)
		bytes += (size_t) m->room * b->coords * sizeof(uint64_t);
	bytes += (size_t) m->room * (b->diff ? sizeof(int64_t) : b->diff8 ? 1 : 0);
	if (b->dir)
		bytes += ((size_t) 1 << b->dir_bits) * sizeof(uint32_t);
	return bytes;
}
