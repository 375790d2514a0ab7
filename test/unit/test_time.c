/*-------------------------------------------------------------------------
 *
 * test_time.c
 *	  Times and frontiers: laws of the orders, exhaustively on small grids.
 *
 * For each number of coordinates a grid of times and all its antichains up to
 * a size are enumerated.  The laws of advancing a time t by a frontier F, for
 * all times s beyond F:
 *
 *	A1	t <= advance(t)
 *	A2	t <= s exactly if advance(t) <= s
 *	A3	t v s = advance(t) v s
 *	A4	advance(s) = s
 *	A5	advancing again changes nothing
 *	A6	two times come to be one exactly if they compare alike with all s
 *	A7	advancing first by an earlier frontier changes nothing
 *
 * test/unit/test_time.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/time.h"

#include "unit.h"

#define POINTS_MAX 64

/* All times with coordinates below "side". */
typedef struct Grid
{
	int			coords;
	int			n;
	DdirTime	t[POINTS_MAX];
} Grid;

static void
grid_make(Grid *g, int coords, int side)
{
	g->coords = coords;
	g->n = 1;
	for (int i = 0; i < coords; i++)
		g->n *= side;
	for (int k = 0; k < g->n; k++)
	{
		int			rest = k;

		memset(&g->t[k], 0, sizeof(DdirTime));
		for (int i = 0; i < coords; i++)
		{
			g->t[k].c[i] = rest % side;
			rest /= side;
		}
	}
}

static bool
le(const Grid *g, int a, int b)
{
	return ddir_time_le(g->t[a].c, g->t[b].c, g->coords);
}

/* Call f for each antichain of up to "most" elements, the empty one too. */
static void
each_antichain(const Grid *g, DdirFrontier *f, int from, int most,
			   void (*call) (const Grid *g, const DdirFrontier *f))
{
	call(g, f);
	if (most == 0)
		return;
	for (int k = from; k < g->n; k++)
	{
		DdirFrontier more;
		bool		apart = true;

		for (int i = 0; i < f->n; i++)
			apart &= !ddir_time_le(f->elem[i].c, g->t[k].c, g->coords) &&
				!ddir_time_le(g->t[k].c, f->elem[i].c, g->coords);
		if (!apart)
			continue;
		ddir_frontier_init(&more, f->arena, g->coords);
		ddir_frontier_copy(&more, f);
		ddir_frontier_insert(&more, g->t[k].c);
		each_antichain(g, &more, k + 1, most - 1, call);
		ddir_frontier_free(&more);
	}
}

static void
each_frontier(DdirArena *root, int coords, int side, int most,
			  void (*call) (const Grid *g, const DdirFrontier *f))
{
	Grid		g;
	DdirFrontier none;

	grid_make(&g, coords, side);
	ddir_frontier_init(&none, root, coords);
	each_antichain(&g, &none, 0, most, call);
}

static void
everywhere(DdirArena *root, void (*call) (const Grid *g, const DdirFrontier *f))
{
	each_frontier(root, 1, 6, 2, call);
	each_frontier(root, 2, 4, 3, call);
	each_frontier(root, 3, 3, 3, call);
}

static void
orders(DdirArena *root)
{
	for (int coords = 1; coords <= 3; coords++)
	{
		Grid		g;

		grid_make(&g, coords, 3);
		for (int a = 0; a < g.n; a++)
			for (int b = 0; b < g.n; b++)
			{
				const uint64_t *ta = g.t[a].c;
				const uint64_t *tb = g.t[b].c;
				int			cmp = ddir_time_cmp(ta, tb, coords);
				DdirTime	join;
				DdirTime	meet;

				/* total, and a linear extension */
				CHECK((cmp == 0) == (a == b));
				CHECK(cmp == -ddir_time_cmp(tb, ta, coords));
				CHECK(!le(&g, a, b) || cmp <= 0);
				CHECK(!(le(&g, a, b) && le(&g, b, a)) || a == b);

				/* least upper and greatest lower bound */
				ddir_time_join(ta, tb, join.c, coords);
				ddir_time_meet(ta, tb, meet.c, coords);
				for (int c = 0; c < g.n; c++)
				{
					const uint64_t *tc = g.t[c].c;

					CHECK((le(&g, a, c) && le(&g, b, c)) == ddir_time_le(join.c, tc, coords));
					CHECK((le(&g, c, a) && le(&g, c, b)) == ddir_time_le(tc, meet.c, coords));
					CHECK(!(le(&g, a, b) && le(&g, b, c)) || le(&g, a, c));
				}
			}
	}
}

/* Elements are apart and sorted; inserting what is beyond changes nothing. */
static void
check_antichain(const Grid *g, const DdirFrontier *f)
{
	DdirFrontier again;
	uint64_t	floor[DDIR_COORDS_MAX];

	for (int i = 0; i < f->n; i++)
	{
		CHECK(i == 0 || ddir_time_cmp(f->elem[i - 1].c, f->elem[i].c, g->coords) < 0);
		for (int j = 0; j < f->n; j++)
			CHECK(i == j || !ddir_time_le(f->elem[i].c, f->elem[j].c, g->coords));
	}
	for (int k = 0; k < g->n; k++)
	{
		bool		beyond = false;

		for (int i = 0; i < f->n; i++)
			beyond |= ddir_time_le(f->elem[i].c, g->t[k].c, g->coords);
		CHECK(ddir_frontier_beyond(f, g->t[k].c) == beyond);

		ddir_frontier_init(&again, f->arena, g->coords);
		ddir_frontier_copy(&again, f);
		ddir_frontier_insert(&again, g->t[k].c);
		CHECK(ddir_frontier_equal(&again, f) == beyond);
		CHECK(ddir_frontier_le(&again, f));
		ddir_frontier_free(&again);
	}
	CHECK(ddir_frontier_floor(f, floor) == (f->n > 0));
	for (int i = 0; i < f->n; i++)
		CHECK(ddir_time_le(floor, f->elem[i].c, g->coords));
}

static void
antichains(DdirArena *root)
{
	everywhere(root, check_antichain);
}

/* t moved by the definition: the meet over f of t v f. */
static DdirTime
advance_slowly(const Grid *g, const DdirFrontier *f, DdirTime t)
{
	DdirTime	out = t;

	for (int i = 0; i < f->n; i++)
	{
		DdirTime	up = t;

		ddir_time_join(t.c, f->elem[i].c, up.c, g->coords);
		if (i == 0)
			out = up;
		else
			ddir_time_meet(out.c, up.c, out.c, g->coords);
	}
	return out;
}

static void
check_advance(const Grid *g, const DdirFrontier *f)
{
	int			coords = g->coords;
	DdirTime	moved[POINTS_MAX];

	for (int k = 0; k < g->n; k++)
	{
		DdirTime	t = g->t[k];
		bool		did = ddir_frontier_advance(f, t.c);
		DdirTime	slow = advance_slowly(g, f, g->t[k]);
		DdirTime	twice;

		CHECK(did == (ddir_time_cmp(t.c, g->t[k].c, coords) != 0));
		CHECK(ddir_time_cmp(t.c, slow.c, coords) == 0);
		moved[k] = t;
		if (f->n == 0)
		{
			CHECK(!did);
			continue;
		}
		CHECK(ddir_time_le(g->t[k].c, t.c, coords));	/* A1 */
		if (ddir_frontier_beyond(f, g->t[k].c))
			CHECK(!did);		/* A4 */
		twice = t;
		CHECK(!ddir_frontier_advance(f, twice.c));	/* A5 */
		for (int s = 0; s < g->n; s++)
		{
			DdirTime	a = {{0}};
			DdirTime	b = {{0}};

			if (!ddir_frontier_beyond(f, g->t[s].c))
				continue;
			CHECK(le(g, k, s) == ddir_time_le(t.c, g->t[s].c, coords)); /* A2 */
			ddir_time_join(g->t[k].c, g->t[s].c, a.c, coords);
			ddir_time_join(t.c, g->t[s].c, b.c, coords);
			CHECK(ddir_time_cmp(a.c, b.c, coords) == 0);	/* A3 */
		}
	}
	if (f->n == 0)
		return;

	/* A6: equal when moved iff no time beyond f tells them apart */
	for (int j = 0; j < g->n; j++)
		for (int k = 0; k < g->n; k++)
		{
			bool		alike = true;

			for (int s = 0; s < g->n; s++)
				if (ddir_frontier_beyond(f, g->t[s].c))
					alike &= le(g, j, s) == le(g, k, s);
			CHECK(alike == (ddir_time_cmp(moved[j].c, moved[k].c, coords) == 0));
		}
}

static void
advancing(DdirArena *root)
{
	everywhere(root, check_advance);
}

/* The pair of frontiers being compared; the outer of two enumerations. */
static const DdirFrontier *outer;

static void
check_pair(const Grid *g, const DdirFrontier *f)
{
	int			coords = g->coords;
	DdirFrontier join;
	DdirFrontier meet;
	bool		le = ddir_frontier_le(outer, f);
	bool		each = true;

	ddir_frontier_init(&join, f->arena, coords);
	ddir_frontier_copy(&join, outer);
	ddir_frontier_join(&join, f);
	ddir_frontier_init(&meet, f->arena, coords);
	ddir_frontier_copy(&meet, outer);
	ddir_frontier_meet(&meet, f);
	check_antichain(g, &join);
	check_antichain(g, &meet);

	/* beyond both, beyond either */
	for (int k = 0; k < g->n; k++)
	{
		bool		a = ddir_frontier_beyond(outer, g->t[k].c);
		bool		b = ddir_frontier_beyond(f, g->t[k].c);

		CHECK(ddir_frontier_beyond(&join, g->t[k].c) == (a && b));
		CHECK(ddir_frontier_beyond(&meet, g->t[k].c) == (a || b));
		each &= !b || a;
	}
	CHECK(le == each);
	CHECK(!(le && ddir_frontier_le(f, outer)) || ddir_frontier_equal(outer, f));

	/* A7: what one frontier did is lost in a later one */
	if (le && f->n > 0)
		for (int k = 0; k < g->n; k++)
		{
			DdirTime	once = g->t[k];
			DdirTime	twice = g->t[k];

			ddir_frontier_advance(f, once.c);
			ddir_frontier_advance(outer, twice.c);
			ddir_frontier_advance(f, twice.c);
			CHECK(ddir_time_cmp(once.c, twice.c, coords) == 0);
		}
	ddir_frontier_free(&join);
	ddir_frontier_free(&meet);
}

static void
check_pairs(const Grid *g, const DdirFrontier *f)
{
	DdirFrontier none;

	outer = f;
	ddir_frontier_init(&none, f->arena, g->coords);
	each_antichain(g, &none, 0, 2, check_pair);
}

static void
pairs(DdirArena *root)
{
	each_frontier(root, 1, 6, 1, check_pairs);
	each_frontier(root, 2, 3, 3, check_pairs);
	each_frontier(root, 3, 2, 3, check_pairs);
}

/*
 * Whether an arranged time comes before a later one in the total order must
 * survive compaction by one step back, but not by the frontier itself.
 */
static int	lost;

static void
check_step_back(const Grid *g, const DdirFrontier *f)
{
	DdirFrontier back;
	int			coords = g->coords;

	ddir_frontier_init(&back, f->arena, coords);
	ddir_frontier_step_back(&back, f);
	CHECK(ddir_frontier_le(&back, f));
	for (int s = 0; s < g->n; s++)
	{
		if (!ddir_frontier_beyond(f, g->t[s].c))
			continue;
		for (int k = 0; k < g->n; k++)
		{
			DdirTime	t = g->t[k];
			int			cmp = ddir_time_cmp(g->t[k].c, g->t[s].c, coords);

			ddir_frontier_advance(&back, t.c);
			CHECK((cmp < 0) == (ddir_time_cmp(t.c, g->t[s].c, coords) < 0));
			CHECK((cmp <= 0) == (ddir_time_cmp(t.c, g->t[s].c, coords) <= 0));
			t = g->t[k];
			ddir_frontier_advance(f, t.c);
			lost += (cmp < 0) != (ddir_time_cmp(t.c, g->t[s].c, coords) < 0);
		}
	}
	ddir_frontier_free(&back);
}

static void
one_step_back(DdirArena *root)
{
	lost = 0;
	everywhere(root, check_step_back);
	CHECK(lost > 0);
}

/* Examples written out, and ends of the range. */
static void
examples(DdirArena *root)
{
	DdirFrontier f;
	DdirFrontier g;
	DdirTime	t = {{3, 7}};

	ddir_frontier_init(&f, root, 2);
	CHECK(!ddir_frontier_beyond(&f, t.c));
	ddir_frontier_insert(&f, AT(4, 8));
	ddir_frontier_insert(&f, AT(5, 3));
	CHECK_EQ(f.n, 2);
	CHECK(ddir_frontier_advance(&f, t.c));
	CHECK_EQ(t.c[0], 4);
	CHECK_EQ(t.c[1], 7);

	ddir_frontier_insert(&f, AT(4, 2));
	CHECK_EQ(f.n, 1);
	ddir_frontier_init_least(&g, root, 2);
	CHECK_EQ(g.n, 1);
	CHECK(ddir_frontier_le(&g, &f));
	CHECK(!ddir_frontier_le(&f, &g));
	ddir_frontier_step_back(&g, &f);
	CHECK_EQ(g.elem[0].c[0], 3);
	CHECK_EQ(g.elem[0].c[1], 1);
	ddir_frontier_step_back(&g, &g);
	ddir_frontier_step_back(&g, &g);
	CHECK_EQ(g.elem[0].c[0], 1);
	CHECK_EQ(g.elem[0].c[1], 0);

	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_frontier_init(&g, root, 0));
	EXPECT_ERROR(DDIR_ERROR_INTERNAL, ddir_frontier_init(&g, root, DDIR_COORDS_MAX + 1));
}

int
main(int argc, char **argv)
{
	static const UnitCase cases[] = {
		UNIT_CASE(orders),
		UNIT_CASE(antichains),
		UNIT_CASE(advancing),
		UNIT_CASE(pairs),
		UNIT_CASE(one_step_back),
		UNIT_CASE(examples),
	};

	return unit_main(argc, argv, cases, UNIT_COUNT(cases));
}
