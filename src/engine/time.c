/*-------------------------------------------------------------------------
 *
 * time.c
 *	  Frontiers: antichains of times.
 *
 * Frontiers are small: one element without loops, a few with them.  So all
 * loops here are plain, and elements are kept sorted by cmp only so that equal
 * frontiers are equal arrays.
 *
 * Limits: DDIR_COORDS_MAX coordinates.
 * Memory: a frontier's elements live in the arena it was made with; copies
 * are deep.
 *
 * src/engine/time.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/time.h"

void
ddir_frontier_init(DdirFrontier *f, DdirArena *arena, int coords)
{
	ddir_check(coords >= 1 && coords <= DDIR_COORDS_MAX);

	f->coords = coords;
	f->n = 0;
	f->cap = 0;
	f->arena = arena;
	f->elem = NULL;
}

void
ddir_frontier_init_least(DdirFrontier *f, DdirArena *arena, int coords)
{
	const DdirTime zero = {{0}};

	ddir_frontier_init(f, arena, coords);
	ddir_frontier_insert(f, zero.c);
}

/* Make room for n elements; what is there stays. */
static void
reserve(DdirFrontier *f, int n)
{
	int			cap;

	if (n <= f->cap)
		return;
	cap = f->cap * 2 > n ? f->cap * 2 : n;
	f->elem = ddir_realloc(f->arena, f->elem, cap * sizeof(DdirTime));
	f->cap = cap;
}

void
ddir_frontier_copy(DdirFrontier *dst, const DdirFrontier *src)
{
	ddir_assert(dst->coords == src->coords);

	if (dst == src)
		return;
	reserve(dst, src->n);
	if (src->n > 0)
		memcpy(dst->elem, src->elem, src->n * sizeof(DdirTime));
	dst->n = src->n;
}

void
ddir_frontier_free(DdirFrontier *f)
{
	ddir_free(f->elem);
	f->elem = NULL;
	f->n = 0;
	f->cap = 0;
}

void
ddir_frontier_insert(DdirFrontier *f, const uint64_t *t)
{
	int			kept = 0;
	int			at;

	if (ddir_frontier_beyond(f, t))
		return;
	reserve(f, f->n + 1);
	for (int i = 0; i < f->n; i++)
		if (!ddir_time_le(t, f->elem[i].c, f->coords))
			f->elem[kept++] = f->elem[i];
	for (at = kept; at > 0; at--)
	{
		if (ddir_time_cmp(f->elem[at - 1].c, t, f->coords) < 0)
			break;
		f->elem[at] = f->elem[at - 1];
	}
	memset(&f->elem[at], 0, sizeof(DdirTime));
	memcpy(f->elem[at].c, t, f->coords * sizeof(uint64_t));
	f->n = kept + 1;
}

bool
ddir_frontier_beyond(const DdirFrontier *f, const uint64_t *t)
{
	for (int i = 0; i < f->n; i++)
		if (ddir_time_le(f->elem[i].c, t, f->coords))
			return true;
	return false;
}

bool
ddir_frontier_le(const DdirFrontier *a, const DdirFrontier *b)
{
	ddir_assert(a->coords == b->coords);

	for (int i = 0; i < b->n; i++)
		if (!ddir_frontier_beyond(a, b->elem[i].c))
			return false;
	return true;
}

bool
ddir_frontier_equal(const DdirFrontier *a, const DdirFrontier *b)
{
	ddir_assert(a->coords == b->coords);

	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (ddir_time_cmp(a->elem[i].c, b->elem[i].c, a->coords) != 0)
			return false;
	return true;
}

/*
 * The least elements of all pairwise joins.  One of the two is mostly beyond
 * the other, and then it is the join.
 */
void
ddir_frontier_join(DdirFrontier *dst, const DdirFrontier *src)
{
	DdirFrontier joined;

	if (ddir_frontier_le(src, dst))
		return;
	if (ddir_frontier_le(dst, src))
	{
		ddir_frontier_copy(dst, src);
		return;
	}
	ddir_frontier_init(&joined, dst->arena, dst->coords);
	for (int i = 0; i < dst->n; i++)
		for (int j = 0; j < src->n; j++)
		{
			DdirTime	t;

			ddir_time_join(dst->elem[i].c, src->elem[j].c, t.c, dst->coords);
			ddir_frontier_insert(&joined, t.c);
		}
	ddir_free(dst->elem);
	*dst = joined;
}

void
ddir_frontier_meet(DdirFrontier *dst, const DdirFrontier *src)
{
	ddir_assert(dst->coords == src->coords);

	if (dst == src)
		return;
	for (int i = 0; i < src->n; i++)
		ddir_frontier_insert(dst, src->elem[i].c);
}

bool
ddir_frontier_floor(const DdirFrontier *f, uint64_t *out)
{
	if (f->n == 0)
		return false;
	memcpy(out, f->elem[0].c, f->coords * sizeof(uint64_t));
	for (int i = 1; i < f->n; i++)
		ddir_time_meet(out, f->elem[i].c, out, f->coords);
	return true;
}

bool
ddir_frontier_advance(const DdirFrontier *f, uint64_t *t)
{
	DdirTime	floor;

	if (!ddir_frontier_floor(f, floor.c) ||
		ddir_time_le(floor.c, t, f->coords))
		return false;
	ddir_time_join(t, floor.c, t, f->coords);
	return true;
}

void
ddir_frontier_step_back(DdirFrontier *dst, const DdirFrontier *src)
{
	DdirFrontier back;

	ddir_frontier_init(&back, dst->arena, src->coords);
	for (int i = 0; i < src->n; i++)
	{
		DdirTime	t = src->elem[i];

		for (int c = 0; c < src->coords; c++)
			if (t.c[c] > 0)
				t.c[c]--;
		ddir_frontier_insert(&back, t.c);
	}
	ddir_free(dst->elem);
	*dst = back;
}
