/*-------------------------------------------------------------------------
 *
 * triangles_limit.c
 *	  Triangles by hand: what the engine's tick is compared with.
 *
 * Each node has two sorted lists of neighbours, with repetitions: where its
 * edges go and where they come from.  Edges are taken one by one.  An edge
 * (x, y) that comes or goes can be any side of a triangle, and each way is the
 * intersection of two lists:
 *
 *		as E(a,b)	c is reached from y, by E(b,c), and from x, by E(a,c)
 *		as E(b,c)	a reaches x, by E(a,b), and y, by E(a,c)
 *		as E(a,c)	b is reached from x, by E(a,b), and reaches y, by E(b,c)
 *
 * Sides before the one that changes are read as they become, those after it as
 * they were, so nothing is counted twice.  Only a loop (x, x) touches a list
 * that is being intersected in the first two ways.
 *
 * There is no prefetching: it makes this twice as fast, but knows the future.
 *
 * test/bench/triangles_limit.c
 *
 *-------------------------------------------------------------------------
 */
#include "triangles.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

typedef struct Nodes
{
	uint32_t   *node;
	uint32_t	n;
	uint32_t	cap;
} Nodes;

typedef struct Triangle
{
	uint64_t	packed;
	int64_t		diff;
} Triangle;

static Nodes *out_of;
static Nodes *into;
static Triangle *found;
static uint32_t nfound;
static uint32_t cap_found;

static void
nodes_add(Nodes *l, uint32_t node)
{
	uint32_t	i;

	if (l->n == l->cap)
	{
		l->cap = l->cap ? l->cap + l->cap / 2 + 2 : 12;
		l->node = realloc(l->node, l->cap * sizeof(uint32_t));
	}
	for (i = l->n++; i > 0 && l->node[i - 1] > node; i--)
		l->node[i] = l->node[i - 1];
	l->node[i] = node;
}

static void
nodes_remove(Nodes *l, uint32_t node)
{
	uint32_t	i = 0;

	while (l->node[i] != node)
		i++;
	l->n--;
	memmove(l->node + i, l->node + i + 1, (l->n - i) * sizeof(uint32_t));
}

static void
emit(uint32_t a, uint32_t b, uint32_t c, int64_t diff)
{
	if (nfound == cap_found)
	{
		cap_found = cap_found ? 2 * cap_found : 1024;
		found = realloc(found, cap_found * sizeof(Triangle));
	}
	found[nfound].packed = (uint64_t) a << 42 | (uint64_t) b << 21 | c;
	found[nfound++].diff = diff;
}

/* The end of a stretch of one node in a list. */
static inline uint32_t
stretch(const Nodes *l, uint32_t i)
{
	uint32_t	end = i + 1;

	while (end < l->n && l->node[end] == l->node[i])
		end++;
	return end;
}

/* Which corner the nodes common to two lists are. */
typedef enum Corner
{
	CORNER_A, CORNER_B, CORNER_C
} Corner;

/*
 * Emit a triangle for each node in both lists, with the edge (x, y).  In the
 * middle of a change, "more" is how many times more x is in the first list
 * than it looks.
 */
static inline void
intersect(const Nodes *p, const Nodes *q, Corner corner, uint32_t x, uint32_t y,
		  int64_t diff, int64_t more)
{
	uint32_t	i = 0;
	uint32_t	j = 0;

	while (i < p->n && j < q->n)
	{
		uint32_t	u = p->node[i];
		uint32_t	v = q->node[j];

		if (u < v)
			i++;
		else if (u > v)
			j++;
		else
		{
			uint32_t	i_end = stretch(p, i);
			uint32_t	j_end = stretch(q, j);
			int64_t		times = (int64_t) (i_end - i) + (u == x ? more : 0);

			times *= (int64_t) (j_end - j) * diff;
			if (times != 0)
				emit(corner == CORNER_A ? u : x,
					 corner == CORNER_A ? x : corner == CORNER_B ? u : y,
					 corner == CORNER_C ? u : y, times);
			i = i_end;
			j = j_end;
		}
	}
}

static void
change_edge(uint32_t x, uint32_t y, int64_t diff)
{
	intersect(&out_of[y], &out_of[x], CORNER_C, x, y, diff, 0);
	intersect(&into[x], &into[y], CORNER_A, x, y, diff, x == y ? diff : 0);
	if (diff > 0)
	{
		nodes_add(&out_of[x], y);
		nodes_add(&into[y], x);
	}
	else
	{
		nodes_remove(&out_of[x], y);
		nodes_remove(&into[y], x);
	}
	intersect(&out_of[x], &into[y], CORNER_B, x, y, diff, 0);
}

static int
compare_triangles(const void *a, const void *b)
{
	uint64_t	x = ((const Triangle *) a)->packed;
	uint64_t	y = ((const Triangle *) b)->packed;

	return (x > y) - (x < y);
}

/* Net what was found and enter it as the result of tick k. */
static void
close_tick(TriangleResult *out, int k)
{
	int64_t		count = k > 0 ? out->count[k - 1] : 0;
	uint64_t	sum = k > 0 ? out->sum[k - 1] : 0;

	qsort(found, nfound, sizeof(Triangle), compare_triangles);
	for (uint32_t i = 0; i < nfound;)
	{
		Triangle	t = found[i];

		for (i++; i < nfound && found[i].packed == t.packed; i++)
			t.diff += found[i].diff;
		count += t.diff;
		sum += triangle_sum(t.packed >> 42, t.packed >> 21 & 0x1fffff,
							t.packed & 0x1fffff, t.diff);
	}
	out->count[k] = count;
	out->sum[k] = sum;
	nfound = 0;
}

static double
heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

void
triangles_limit(const Edge *edges, TriangleResult *out)
{
	double		before = heap_bytes();
	double		start = cpu_now();

	out_of = calloc(NODES, sizeof(Nodes));
	into = calloc(NODES, sizeof(Nodes));
	for (uint32_t i = 0; i < EDGES; i++)
	{
		nodes_add(&out_of[edges[i].from], edges[i].to);
		nodes_add(&into[edges[i].to], edges[i].from);
	}
	for (uint32_t a = 0; a < NODES; a++)
		for (uint32_t i = 0; i < out_of[a].n; i++)
		{
			uint32_t	b = out_of[a].node[i];

			intersect(&out_of[b], &out_of[a], CORNER_C, a, b, 1, 0);
		}
	close_tick(out, 0);
	out->load_s = cpu_now() - start;

	start = cpu_now();
	for (uint32_t k = 0; k < TICKS; k++)
	{
		for (uint32_t i = k * CHANGES; i < (k + 1) * CHANGES; i++)
		{
			change_edge(edges[i].from, edges[i].to, -1);
			change_edge(edges[EDGES + i].from, edges[EDGES + i].to, 1);
		}
		close_tick(out, k + 1);
	}
	out->tick_s = (cpu_now() - start) / TICKS;
	out->bytes = heap_bytes() - before;

	for (uint32_t i = 0; i < NODES; i++)
	{
		free(out_of[i].node);
		free(into[i].node);
	}
	free(out_of);
	free(into);
	free(found);
	found = NULL;
	cap_found = 0;
}
