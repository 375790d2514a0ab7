/*-------------------------------------------------------------------------
 *
 * spine.c
 *	  A trace: layers of batches, merged with fuel.
 *
 * Layer i holds no batch, one, or two that are being merged, and is accounted
 * as 2^i rows (each) whatever it really holds.  Inserting n rows at level
 * L = ceil(log2 n):
 *
 *	1. gives fuel 8 * 2^L to each merge under way; one that completes moves up
 *	   if it holds more than 2^i rows
 *	2. merges and moves up whatever is below level L, so that L is free
 *	3. places the batch at L, which begins a merge if one was there
 *	4. draws the top layer down if it holds far less than it is accounted for
 *
 * Why that suffices: let at most R(k) rows be below level k when a batch comes
 * to k.  It came from k-1, where its merge took at most 2^k rows of input, paid
 * by at most 2^k / 8 rows inserted, and began with at most R(k-1) rows below.
 * So R(k) <= R(k-1) + 2^(k-3) <= 2^(k-2).  The next batch for k has more than
 * 2^(k-1) rows, so at least 2^(k-2) come in before it, with fuel 2^(k+1): what
 * the merge at k can take.  (Step 2 is paid by the batch that wants it.)
 * Should this be wrong, put_layer completes the merge on the spot: an
 * insertion may then be slow, never false.
 *
 * Around the layers, oldest to youngest:
 *
 *	sealed	- batches too large to be merged any more
 *	layers	- from the highest down
 *	pending	- batches that the physical frontier keeps apart
 *
 * A batch without rows is never copied into another: its neighbour is made
 * wider, sharing lanes.  Two of them fuse wherever they are; a cut between
 * them can be made all the same, as nothing is on either side.
 *
 * Memory: the struct, its lists and readers are in an arena of its own;
 * batches are children of the arena given, as others may outlive the trace
 * with a reference to one.
 *
 * Reference: differential-dataflow, trace/implementations/spine_fueled.rs.
 *
 * src/engine/spine.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/spine.h"

/* Levels 0..31 hold up to 2^31 rows; merges complete one above. */
#define LAYERS_MAX 33
/* Fuel per row inserted, for each merge. */
#define FUEL_PER_ROW 8
/* Idle merges of more unequal batches need fuel for both. */
#define IDLE_RATIO 8

typedef struct Layer
{
	DdirBatch  *older;			/* NULL: vacant */
	DdirBatch  *younger;		/* with a merge only */
	DdirMerge  *merge;
} Layer;

struct DdirSpine
{
	DdirArena  *arena;
	DdirArena  *parent;
	int			coords;
	uint32_t	rows_max;		/* of a merged batch */
	uint64_t	work;
	DdirFrontier upper;
	DdirFrontier since;
	DdirFrontier physical;
	DdirFrontier scratch;
	int			nsealed;
	DdirBatch  *sealed[DDIR_SPINE_BATCHES_MAX];
	int			nlayers;
	Layer		layer[LAYERS_MAX + 1];
	int			npending;
	DdirBatch  *pending[DDIR_SPINE_BATCHES_MAX];
	DdirReader *readers;
};

struct DdirReader
{
	DdirSpine  *spine;
	DdirReader *next;
	DdirReader *prev;
	DdirFrontier logical;
	DdirFrontier physical;
};

DdirSpine *
ddir_spine_create(DdirArena *arena, int coords)
{
	DdirArena  *own = ddir_arena_create(arena, "spine");
	DdirSpine  *s = ddir_alloc0(own, sizeof(DdirSpine));

	s->arena = own;
	s->parent = arena;
	s->coords = coords;
	s->rows_max = INT32_MAX;
	ddir_frontier_init_least(&s->upper, own, coords);
	ddir_frontier_init_least(&s->since, own, coords);
	ddir_frontier_init_least(&s->physical, own, coords);
	ddir_frontier_init(&s->scratch, own, coords);
	return s;
}

void
ddir_spine_set_limit(DdirSpine *s, uint32_t rows)
{
	s->rows_max = rows;
}

/* Every batch, oldest first. */
static int
each_batch(const DdirSpine *s, void (*f) (DdirBatch *b, void *ctx), void *ctx)
{
	int			n = 0;

	for (int i = 0; i < s->nsealed; i++, n++)
		f(s->sealed[i], ctx);
	for (int i = s->nlayers - 1; i >= 0; i--)
	{
		if (s->layer[i].older)
		{
			f(s->layer[i].older, ctx);
			n++;
		}
		if (s->layer[i].younger)
		{
			f(s->layer[i].younger, ctx);
			n++;
		}
	}
	for (int i = 0; i < s->npending; i++, n++)
		f(s->pending[i], ctx);
	return n;
}

static void
unref_batch(DdirBatch *b, void *ctx)
{
	ddir_batch_unref(b);
}

void
ddir_spine_destroy(DdirSpine *s)
{
	for (int i = 0; i < s->nlayers; i++)
		if (s->layer[i].merge)
			ddir_merge_abandon(s->layer[i].merge);
	each_batch(s, unref_batch, NULL);
	ddir_arena_destroy(s->arena);
}

/* ----
 * Layers.
 * ----
 */

/* The level of n rows: 2^level is the least power of two not below n. */
static int
level_of(uint64_t n)
{
	return n <= 1 ? 0 : 64 - __builtin_clzll(n - 1);
}

/* One batch where there were two, one of them without rows. */
static DdirBatch *
widen(DdirSpine *s, DdirBatch *a, DdirBatch *b)
{
	DdirBatch  *wide = ddir_batch_widen(s->parent, a, b);

	ddir_batch_unref(a);
	ddir_batch_unref(b);
	return wide;
}

static bool
work_merge(DdirSpine *s, DdirMerge *m, int64_t *fuel)
{
	int64_t		before = *fuel;
	bool		done = ddir_merge_work(m, fuel);

	s->work += before - *fuel;
	return done;
}

/* Empty a layer, completing its merge; NULL if it is vacant. */
static DdirBatch *
take_layer(DdirSpine *s, int level)
{
	Layer	   *l = &s->layer[level];
	DdirBatch  *b = l->older;
	int64_t		fuel = INT64_MAX;

	if (l->merge)
	{
		work_merge(s, l->merge, &fuel);
		b = ddir_merge_done(l->merge);
		ddir_batch_unref(l->older);
		ddir_batch_unref(l->younger);
	}
	memset(l, 0, sizeof(*l));
	return b;
}

static bool
mergeable(const DdirSpine *s, const DdirBatch *a, const DdirBatch *b)
{
	return (uint64_t) a->n + b->n <= s->rows_max && ddir_merge_fits(a, b);
}

/* The batches at this level and above are merged no more. */
static void
seal_from(DdirSpine *s, int level)
{
	for (int i = s->nlayers - 1; i >= level; i--)
	{
		DdirBatch  *b = take_layer(s, i);

		if (b == NULL)
			continue;
		ddir_check(s->nsealed < DDIR_SPINE_BATCHES_MAX);
		s->sealed[s->nsealed++] = b;
	}
}

static void
begin_merge(DdirSpine *s, int level, DdirBatch *younger)
{
	Layer	   *l = &s->layer[level];

	l->merge = ddir_merge_begin(s->parent, l->older, younger, &s->since);
	l->younger = younger;
}

/* Put a batch into a layer, behind what is there.  NULL: nothing to put. */
static void
put_layer(DdirSpine *s, int level, DdirBatch *b)
{
	Layer	   *l;

	if (b == NULL)
		return;
	if (level > LAYERS_MAX)
		level = LAYERS_MAX;
	if (s->nlayers <= level)
		s->nlayers = level + 1;

	l = &s->layer[level];
	if (l->merge)
		put_layer(s, level + 1, take_layer(s, level));
	if (l->older == NULL)
		l->older = b;
	else if (l->older->n == 0 || b->n == 0)
		l->older = widen(s, l->older, b);
	else if (mergeable(s, l->older, b))
		begin_merge(s, level, b);
	else
	{
		seal_from(s, level);
		l->older = b;
	}
}

/* A completed merge moves up, unless so much cancelled that it still fits. */
static void
settle(DdirSpine *s, int level)
{
	DdirBatch  *b = take_layer(s, level);

	put_layer(s, level_of(b->n) <= level ? level : level + 1, b);
}

/*
 * Give fuel to each merge, from the lowest, so that one that completes and
 * starts another above pays for it in the same go.
 */
static void
apply_fuel(DdirSpine *s, int64_t fuel)
{
	for (int i = 0; i < s->nlayers; i++)
	{
		int64_t		left = fuel;

		if (s->layer[i].merge && work_merge(s, s->layer[i].merge, &left))
			settle(s, i);
	}
}

/* Bring all that is below a level up to it, leaving room there for one more. */
static void
roll_up(DdirSpine *s, int level)
{
	DdirBatch  *b = NULL;

	for (int i = 0; i < level && i < s->nlayers; i++)
	{
		put_layer(s, i, b);
		b = take_layer(s, i);
	}
	if (b == NULL)
		return;
	put_layer(s, level, b);
	if (s->layer[level].merge)
		put_layer(s, level + 1, take_layer(s, level));
}

/*
 * If the top layer holds one batch far smaller than its level, move it down:
 * it would not meet the layers below for long.  Another batch in the way is
 * merged with it if what is below could not invade that merge.
 */
static void
tidy(DdirSpine *s)
{
	while (s->nlayers > 0 && s->layer[s->nlayers - 1].older == NULL)
		s->nlayers--;
	while (s->nlayers > 1)
	{
		Layer	   *top = &s->layer[s->nlayers - 1];
		Layer	   *next = top - 1;
		DdirBatch  *b = next->older;
		uint64_t	below = 0;

		if (top->merge || next->merge || level_of(top->older->n) >= s->nlayers - 1)
			return;
		if (b)
		{
			for (int i = 0; i < s->nlayers - 2; i++)
				if (s->layer[i].older)
					below += (s->layer[i].merge ? UINT64_C(2) : UINT64_C(1)) << i;
			if (below > (UINT64_C(1) << s->nlayers) / 8)
				return;
		}
		*next = *top;
		memset(top, 0, sizeof(*top));
		s->nlayers--;
		if (b)
		{
			put_layer(s, s->nlayers - 1, b);
			return;
		}
	}
}

/* The youngest batch in the layers, if it is not being merged. */
static Layer *
youngest(DdirSpine *s)
{
	for (int i = 0; i < s->nlayers; i++)
		if (s->layer[i].older)
			return s->layer[i].merge ? NULL : &s->layer[i];
	return NULL;
}

static void
introduce(DdirSpine *s, DdirBatch *b)
{
	int			level = level_of(b->n);
	Layer	   *l = youngest(s);

	if (b->n == 0 && l && l->older->n == 0)
	{
		l->older = widen(s, l->older, b);
		return;
	}
	apply_fuel(s, (int64_t) FUEL_PER_ROW << level);
	roll_up(s, level);
	put_layer(s, level, b);
	tidy(s);
}

/* Move what the physical frontier has passed into the layers. */
static void
consider_pending(DdirSpine *s)
{
	int			done = 0;

	while (done < s->npending &&
		   ddir_frontier_le(&s->pending[done]->upper, &s->physical))
		introduce(s, s->pending[done++]);
	if (done == 0)
		return;
	s->npending -= done;
	memmove(s->pending, s->pending + done, s->npending * sizeof(s->pending[0]));
}

/* ----
 * Frontiers and readers.
 * ----
 */

/* The meet of what readers hold is what the trace may do; it never recedes. */
static void
follow_readers(DdirSpine *s)
{
	if (s->readers == NULL)
	{
		ddir_frontier_join(&s->since, &s->upper);
		ddir_frontier_join(&s->physical, &s->upper);
		return;
	}
	s->scratch.n = 0;
	for (DdirReader *r = s->readers; r; r = r->next)
		ddir_frontier_meet(&s->scratch, &r->logical);
	ddir_frontier_join(&s->since, &s->scratch);
	s->scratch.n = 0;
	for (DdirReader *r = s->readers; r; r = r->next)
		ddir_frontier_meet(&s->scratch, &r->physical);
	ddir_frontier_join(&s->physical, &s->scratch);
}

DdirReader *
ddir_reader_create(DdirSpine *s)
{
	DdirReader *r;

	if (s->since.n == 0)
		ddir_error(DDIR_ERROR_INTERNAL, "a closed trace cannot be read");

	r = ddir_alloc0(s->arena, sizeof(DdirReader));
	r->spine = s;
	ddir_frontier_init(&r->logical, s->arena, s->coords);
	ddir_frontier_copy(&r->logical, &s->since);
	ddir_frontier_init(&r->physical, s->arena, s->coords);
	ddir_frontier_copy(&r->physical, &s->physical);
	r->next = s->readers;
	if (r->next)
		r->next->prev = r;
	s->readers = r;
	return r;
}

void
ddir_reader_drop(DdirReader *r)
{
	DdirSpine  *s = r->spine;

	if (r->next)
		r->next->prev = r->prev;
	if (r->prev)
		r->prev->next = r->next;
	else
		s->readers = r->next;
	ddir_frontier_free(&r->logical);
	ddir_frontier_free(&r->physical);
	ddir_free(r);
	follow_readers(s);
}

void
ddir_reader_set_logical(DdirReader *r, const DdirFrontier *f)
{
	ddir_check(f->coords == r->spine->coords);

	ddir_frontier_join(&r->logical, f);
	follow_readers(r->spine);
}

void
ddir_reader_set_physical(DdirReader *r, const DdirFrontier *f)
{
	ddir_check(f->coords == r->spine->coords);

	ddir_frontier_join(&r->physical, f);
	follow_readers(r->spine);
}

/* ----
 * Inserting, idling.
 * ----
 */

static void
count_batch(DdirBatch *b, void *ctx)
{
}

void
ddir_spine_insert(DdirSpine *s, DdirBatch *b)
{
	ddir_check(b->coords == s->coords);
	ddir_check(ddir_frontier_equal(&b->lower, &s->upper));

	if (each_batch(s, count_batch, NULL) >= DDIR_SPINE_BATCHES_MAX)
		ddir_error(DDIR_ERROR_MEMORY,
				   "a reader keeps more than %d batches of a trace apart",
				   DDIR_SPINE_BATCHES_MAX);
	ddir_frontier_copy(&s->upper, &b->upper);
	if (s->readers == NULL)
		follow_readers(s);
	if (b->n == 0 && s->npending > 0 && s->pending[s->npending - 1]->n == 0)
		s->pending[s->npending - 1] = widen(s, s->pending[s->npending - 1], b);
	else
		s->pending[s->npending++] = b;
	consider_pending(s);
}

/*
 * Would advancing by since make times of this batch equal?  Only where all
 * its values of some coordinate come to lie at since, so that it is done once.
 */
static bool
worth_rewriting(const DdirSpine *s, const DdirBatch *b)
{
	DdirTime	floor;

	if (b->time == NULL || !ddir_frontier_floor(&s->since, floor.c))
		return false;
	for (int i = 0; i < s->coords; i++)
		if (b->least.c[i] < b->most.c[i] && b->most.c[i] <= floor.c[i])
			return true;
	return false;
}

/*
 * With no merge under way: begin one of the two lowest batches, or rewrite the
 * only one.  False: nothing is worth this fuel.
 */
static bool
begin_idle_merge(DdirSpine *s, int64_t fuel)
{
	int			low = 0;
	int			high;
	uint64_t	n;
	uint64_t	m;

	while (low < s->nlayers && s->layer[low].older == NULL)
		low++;
	for (high = low + 1; high < s->nlayers && s->layer[high].older == NULL;)
		high++;
	if (low >= s->nlayers)
		return false;
	if (high >= s->nlayers)
	{
		DdirBatch  *only = s->layer[low].older;
		DdirBatch  *none;

		if (!worth_rewriting(s, only))
			return false;
		none = ddir_batch_create(s->parent, s->coords, &only->upper, &only->upper);
		ddir_batch_close(none, 0);
		begin_merge(s, low, none);
		return true;
	}
	n = s->layer[low].older->n;
	m = s->layer[high].older->n;
	if ((n * IDLE_RATIO < m || m * IDLE_RATIO < n) && n > 0 && m > 0 &&
		fuel < (int64_t) (n + m))
		return false;
	put_layer(s, high, take_layer(s, low));
	return true;
}

bool
ddir_spine_exert(DdirSpine *s, int64_t fuel)
{
	if (s->readers == NULL)
		follow_readers(s);
	consider_pending(s);
	for (;;)
	{
		bool		merging = false;

		for (int i = 0; i < s->nlayers; i++)
		{
			if (s->layer[i].merge == NULL)
				continue;
			merging = true;
			if (!work_merge(s, s->layer[i].merge, &fuel))
				return true;
			settle(s, i);
		}
		tidy(s);
		if (!merging && !begin_idle_merge(s, fuel))
			return false;
	}
}

/* ----
 * Reading.
 * ----
 */

const DdirFrontier *
ddir_spine_upper(const DdirSpine *s)
{
	return &s->upper;
}

const DdirFrontier *
ddir_spine_since(const DdirSpine *s)
{
	return &s->since;
}

const DdirFrontier *
ddir_spine_physical(const DdirSpine *s)
{
	return &s->physical;
}

uint64_t
ddir_spine_work(const DdirSpine *s)
{
	return s->work;
}

static void
add_rows(DdirBatch *b, void *ctx)
{
	*(uint64_t *) ctx += b->n;
}

uint64_t
ddir_spine_rows(const DdirSpine *s)
{
	uint64_t	rows = 0;

	each_batch(s, add_rows, &rows);
	return rows;
}

static void
add_bytes(DdirBatch *b, void *ctx)
{
	*(size_t *) ctx += ddir_batch_bytes(b);
}

size_t
ddir_spine_bytes(const DdirSpine *s)
{
	size_t		bytes = sizeof(DdirSpine);

	each_batch(s, add_bytes, &bytes);
	for (int i = 0; i < s->nlayers; i++)
		if (s->layer[i].merge)
			bytes += ddir_merge_bytes(s->layer[i].merge);
	return bytes;
}

static void
add_to_list(DdirBatch *b, void *ctx)
{
	DdirBatch ***next = ctx;

	*(*next)++ = b;
}

int
ddir_spine_batches(const DdirSpine *s, DdirBatch **list)
{
	return each_batch(s, add_to_list, &list);
}

int
ddir_spine_batches_through(const DdirSpine *s, const DdirFrontier *u, DdirBatch **list)
{
	int			n = ddir_spine_batches(s, list);
	int			kept = 0;

	ddir_check(u->coords == s->coords);
	if (!ddir_frontier_le(&s->physical, u))
		ddir_error(DDIR_ERROR_INTERNAL, "a trace was cut below its physical frontier");

	for (int i = 0; i < n; i++)
	{
		DdirBatch  *b = list[i];

		if (ddir_frontier_le(&b->upper, u))
			list[kept++] = b;
		else if (b->n > 0 && !ddir_frontier_le(u, &b->lower))
			ddir_error(DDIR_ERROR_INTERNAL, "a trace was cut within a batch");
	}
	return kept;
}
