/*-------------------------------------------------------------------------
 *
 * flow.c
 *	  What tests of operators share.
 *
 * Bags are malloc'd: they are outside of what the engine allocates, and its
 * failing allocations leave them alone.
 *
 * test/unit/flow.c
 *
 *-------------------------------------------------------------------------
 */
#include "flow.h"
#include "unit.h"

void
bag_free(Bag *b)
{
	free(b->u);
	memset(b, 0, sizeof(*b));
}

void
bag_clear(Bag *b)
{
	b->n = 0;
}

void
bag_add(Bag *b, Row row, const uint64_t *t, int coords, int64_t diff)
{
	Update	   *u;

	if (b->n == b->cap)
	{
		b->cap = b->cap ? 2 * b->cap : 64;
		b->u = realloc(b->u, b->cap * sizeof(Update));
	}
	u = &b->u[b->n++];
	memset(u, 0, sizeof(*u));
	u->row.n = row.n;
	for (int i = 0; i < row.n; i++)
		u->row.c[i] = row.c[i];
	for (int i = 0; i < coords; i++)
		u->t.c[i] = t[i];
	u->diff = diff;
}

void
bag_add_now(Bag *b, Row row, int64_t diff)
{
	bag_add(b, row, NULL, 0, diff);
}

void
bag_add_all(Bag *b, const Bag *more)
{
	for (int i = 0; i < more->n; i++)
		bag_add(b, more->u[i].row, more->u[i].t.c, DDIR_COORDS_MAX, more->u[i].diff);
}

static int
cmp_row(const Row *a, const Row *b)
{
	for (int i = 0; i < a->n && i < b->n; i++)
		if (a->c[i] != b->c[i])
			return a->c[i] < b->c[i] ? -1 : 1;
	return a->n - b->n;
}

static int
cmp_update(const void *x, const void *y)
{
	const Update *a = x;
	const Update *b = y;
	int			c = cmp_row(&a->row, &b->row);

	for (int i = 0; c == 0 && i < DDIR_COORDS_MAX; i++)
		c = (a->t.c[i] > b->t.c[i]) - (a->t.c[i] < b->t.c[i]);
	return c;
}

void
bag_tidy(Bag *b)
{
	int			to = 0;

	if (b->n == 0)
		return;
	qsort(b->u, b->n, sizeof(Update), cmp_update);
	for (int i = 0; i < b->n;)
	{
		Update		u = b->u[i];

		for (i++; i < b->n && cmp_update(&u, &b->u[i]) == 0; i++)
			u.diff += b->u[i].diff;
		if (u.diff != 0)
			b->u[to++] = u;
	}
	b->n = to;
}

void
bag_flatten(Bag *b)
{
	for (int i = 0; i < b->n; i++)
		memset(&b->u[i].t, 0, sizeof(DdirTime));
	bag_tidy(b);
}

int64_t
bag_count(const Bag *b, Row row)
{
	int64_t		sum = 0;

	for (int i = 0; i < b->n; i++)
		if (cmp_row(&b->u[i].row, &row) == 0)
			sum += b->u[i].diff;
	return sum;
}

static void
print_update(const char *which, const Update *u)
{
	printf("    %s (", which);
	for (int i = 0; i < u->row.n; i++)
		printf("%s%" PRIu64, i ? " " : "", u->row.c[i]);
	printf(") @ %" PRIu64 ",%" PRIu64 " %+" PRId64 "\n", u->t.c[0], u->t.c[1], u->diff);
}

bool
bag_equal(Bag *a, Bag *b, const char *what)
{
	int			i = 0;

	bag_tidy(a);
	bag_tidy(b);
	while (i < a->n && i < b->n && cmp_update(&a->u[i], &b->u[i]) == 0 &&
		   a->u[i].diff == b->u[i].diff)
		i++;
	if (i == a->n && i == b->n)
		return true;
	printf("  %s: %d updates, %d expected\n", what, a->n, b->n);
	if (i < a->n)
		print_update("has", &a->u[i]);
	if (i < b->n)
		print_update("not", &b->u[i]);
	return false;
}

/* ----
 * Images
 * ----
 */

uint32_t
row_pack(Row row, uint8_t *image)
{
	for (int i = 0; i < row.n; i++)
		for (int k = 0; k < 8; k++)
			image[8 * i + k] = (uint8_t) (row.c[i] >> (56 - 8 * k));
	return 8 * row.n;
}

Row
row_unpack(DdirRef image)
{
	Row			row = {0};

	row.n = image.len / 8;
	for (uint32_t i = 0; i < image.len && i < 8 * FLOW_COLUMNS; i++)
		row.c[i / 8] = row.c[i / 8] << 8 | image.p[i];
	return row;
}

void
flow_push(DdirDeltas *d, Row row, const uint64_t *t, int64_t diff)
{
	uint8_t		image[8 * FLOW_COLUMNS];

	ddir_deltas_push(d, NULL, 0, image, row_pack(row, image), t, diff);
}

void
bag_of_deltas(Bag *b, const DdirDeltas *d)
{
	for (uint32_t i = 0; i < d->n; i++)
		bag_add(b, row_unpack(ddir_lane_ref(&d->val, i)), ddir_deltas_time(d, i),
				d->coords, d->diff[i]);
}

static uint64_t flow_state = 1;

void
flow_seed(uint64_t seed)
{
	flow_state = seed | 1;
}

uint32_t
flow_below(uint32_t n)
{
	flow_state = flow_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t) ((flow_state >> 33) * n >> 31);
}

void
flow_feed(DdirNode *node, int port, const Bag *b, const uint64_t *at)
{
	int			coords = ddir_graph_coords(node->graph);
	DdirDeltas	d;
	int			left = 0;

	ddir_deltas_init(&d, ddir_graph_arena(node->graph), coords, false);
	for (int i = 0; i < b->n; i++)
	{
		if (d.n == 0)
		{
			ddir_deltas_clear(&d);
			for (int k = 0; k < coords; k++)
				d.at.c[k] = at[k];
			left = 1 + (flow_below(2) ? flow_below(4) : flow_below(100));
		}
		flow_push(&d, b->u[i].row, at, b->u[i].diff);
		if (--left == 0)
		{
			ddir_node_push(node, port, &d);
			d.n = 0;
		}
	}
	ddir_node_push(node, port, &d);
	ddir_deltas_free(&d);
}

void
flow_feed_over(DdirNode *node, int port, const Bag *b, uint64_t from, uint64_t to)
{
	for (int i = 0; i < b->n; i++)
	{
		uint64_t	at = from + flow_below((uint32_t) (to - from + 1));
		Bag			one = {1, 1, &b->u[i]};

		flow_feed(node, port, &one, &at);
	}
}

bool
flow_pick(const Bag *content, const Bag *change, Row *row)
{
	*row = content->u[flow_below(content->n)].row;
	return bag_count(content, *row) + bag_count(change, *row) > 0;
}

void
flow_step(DdirGraph *g, DdirNode *source, uint64_t t, Bag *content, Bag *change)
{
	ddir_graph_begin(g, &t);
	flow_feed(source, 0, change, &t);
	bag_add_all(content, change);
	bag_tidy(content);
	bag_clear(change);
	ddir_graph_finish(g);
}

/* ----
 * Functions
 * ----
 */

/* The column's value; false if its relation is not bound. */
static bool
column(const DdirBundle *in, uint32_t i, Col c, uint64_t *value)
{
	DdirRef		ref = in->ref[c.rel][i];
	Row			row;

	if (ref.p == NULL)
		return false;
	row = row_unpack(ref);
	ddir_check(c.col < row.n);
	*value = row.c[c.col];
	return true;
}

static bool
passes(const Proj *p, const DdirBundle *in, uint32_t i)
{
	for (int k = 0; k < p->neq; k++)
	{
		uint64_t	x;
		uint64_t	y;

		if (column(in, i, p->eq[k][0], &x) && column(in, i, p->eq[k][1], &y) && x != y)
			return false;
	}
	return true;
}

static Row
pick(const DdirBundle *in, uint32_t i, int n, const Col *cols)
{
	Row			row = {0};

	row.n = n;
	for (int k = 0; k < n; k++)
		ddir_check(column(in, i, cols[k], &row.c[k]));
	return row;
}

static bool
proj_call(void *ctx, const DdirBundle *in, DdirDeltas *out, DdirDeltas *err)
{
	Proj	   *p = ctx;

	p->calls++;
	p->rows += in->n;
	if (p->refuse)
		return false;
	for (uint32_t i = 0; i < in->n; i++)
	{
		const uint64_t *t = in->time ? in->time + (size_t) i * in->coords : NULL;
		uint64_t	value;
		uint32_t	keylen = 0;
		uint32_t	vallen;

		if (!passes(p, in, i))
			continue;
		if (p->fail.rel >= 0 && column(in, i, p->fail, &value) && value == p->fail_value)
		{
			flow_push(err, pick(in, i, p->nval, p->val), t, in->diff[i]);
			continue;
		}
		if (out->keyed)
			keylen = row_pack(pick(in, i, p->nkey, p->key),
							  ddir_deltas_key_room(out, 8 * FLOW_COLUMNS));
		vallen = row_pack(pick(in, i, p->nval, p->val),
						  ddir_deltas_val_room(out, 8 * FLOW_COLUMNS));
		ddir_deltas_close(out, keylen, vallen, t, in->diff[i], i);
	}
	return true;
}

DdirFunc
proj_func(Proj *p)
{
	DdirFunc	f = {proj_call, p};

	return f;
}

Proj *
proj_make(DdirArena *arena, int nkey, const Col *key, int nval, const Col *val)
{
	Proj	   *p = ddir_alloc0(arena, sizeof(Proj));

	p->nkey = nkey;
	for (int i = 0; i < nkey; i++)
		p->key[i] = key[i];
	p->nval = nval;
	for (int i = 0; i < nval; i++)
		p->val[i] = val[i];
	p->fail.rel = -1;
	return p;
}

Proj *
proj_of(DdirArena *arena, const char *text)
{
	Proj	   *p = proj_make(arena, 0, NULL, 0, NULL);
	bool		val = false;

	while (*text)
	{
		if (*text == ':')
			val = true;
		else if (*text !=' ')
		{
			Col			c = col(text[0] - '0', text[1] - '0');

			if (val)
				p->val[p->nval++] = c;
			else
				p->key[p->nkey++] = c;
			text	  ++;
		}
		text	  ++;
	}
	return p;
}

Proj *
proj_whole(DdirArena *arena, int keycol, int ncols)
{
	Proj	   *p = ddir_alloc0(arena, sizeof(Proj));

	if (keycol == FLOW_KEY_APART)
		return proj_of(arena, "00:01");
	p->nkey = 1;
	p->key[0] = col(0, keycol);
	p->nval = ncols;
	for (int i = 0; i < ncols; i++)
		p->val[i] = col(0, i);
	p->fail.rel = -1;
	return p;
}

/* ----
 * Joins
 * ----
 */

void
flow_join_random(JoinSpec *spec, int nrel, int nsources)
{
	memset(spec, 0, sizeof(*spec));
	spec->nrel = nrel;
	for (int r = 0; r < nrel; r++)
	{
		spec->source[r] = flow_below(nsources);
		if (r == 0)
			continue;
		spec->eq[spec->neq][0] = col(flow_below(r), flow_below(2));
		spec->eq[spec->neq++][1] = col(r, flow_below(2));
	}
	/* close a cycle */
	if (nrel > 2 && flow_below(2))
	{
		spec->eq[spec->neq][0] = col(0, flow_below(2));
		spec->eq[spec->neq++][1] = col(nrel - 1, flow_below(2));
	}
}

typedef struct JoinMaker
{
	DdirArena  *arena;
	const JoinSpec *spec;
	FlowArrangement arrangement;
	void	   *ctx;
	int			narr;
	DdirNode   *arr[16];
} JoinMaker;

static int
maker_arrangement(JoinMaker *m, int rel, int keycol)
{
	DdirNode   *node = m->arrangement(m->ctx, m->spec->source[rel], keycol);
	int			i = 0;

	while (i < m->narr && m->arr[i] != node)
		i++;
	if (i == m->narr)
		m->arr[m->narr++] = node;
	return i;
}

/* A function over the join's bundles: all equalities that can be tested are. */
static Proj *
maker_proj(JoinMaker *m, int nkey, const Col *key)
{
	Proj	   *p = proj_make(m->arena, nkey, key, 0, NULL);

	p->neq = m->spec->neq;
	memcpy(p->eq, m->spec->eq, sizeof(m->spec->eq));
	return p;
}

/* The next stage: a relation not bound yet that an equality leads to. */
static void
maker_stage(JoinMaker *m, DdirStage *stage, bool *bound)
{
	int			start = flow_below(m->spec->neq);

	for (int k = 0; k < m->spec->neq; k++)
		for (int side = 0; side < 2; side++)
		{
			const Col  *eq = m->spec->eq[(start + k) % m->spec->neq];
			Col			from = eq[side];
			Col			to = eq[!side];

			if (!bound[from.rel] || bound[to.rel])
				continue;
			bound[to.rel] = true;
			stage->rel = to.rel;
			stage->arr = maker_arrangement(m, to.rel, to.col);
			stage->key = proj_func(maker_proj(m, 1, &from));
			stage->rel2 = -1;
			return;
		}
	ddir_check(false);
}

DdirNode *
flow_join_create(DdirGraph *g, DdirArena *arena, const JoinSpec *spec,
				 FlowArrangement arrangement, void *ctx, int import_path,
				 FlowJoinMaker make)
{
	JoinMaker	m = {arena, spec, arrangement, ctx};
	DdirPath	path[4] = {{0}};
	DdirStage	stage[4][4] = {{{0}}};

	for (int d = 0; d < spec->nrel; d++)
	{
		bool		bound[4] = {false};
		Proj	   *out = maker_proj(&m, 0, NULL);

		for (int r = 0; r < spec->nrel; r++)
			for (int c = 0; c < 2; c++)
				out->val[out->nval++] = col(r, c);
		bound[d] = true;
		path[d].with_key = flow_below(2) && arrangement(ctx, spec->source[d], FLOW_KEY_APART);
		path[d].arr = maker_arrangement(&m, d, path[d].with_key ? FLOW_KEY_APART : flow_below(2));
		path[d].nstages = spec->nrel - 1;
		path[d].stages = stage[d];
		path[d].output = proj_func(out);
		for (int s = 0; s < spec->nrel - 1; s++)
			maker_stage(&m, &stage[d][s], bound);
	}
	return make(g, "join", spec->nrel, m.narr, m.arr, path, import_path);
}

static void
brute(const JoinSpec *spec, const Bag *source, Bag *out, int rel, Row *rows,
	  DdirTime t, int64_t diff)
{
	const Bag  *b = &source[spec->source[rel]];

	for (int i = 0; i < b->n; i++)
	{
		DdirTime	t2;
		bool		ok = true;

		rows[rel] = b->u[i].row;
		for (int k = 0; k < spec->neq && ok; k++)
		{
			const Col  *eq = spec->eq[k];

			if (eq[0].rel <= rel && eq[1].rel <= rel)
				ok = rows[eq[0].rel].c[eq[0].col] == rows[eq[1].rel].c[eq[1].col];
		}
		if (!ok)
			continue;
		for (int c = 0; c < DDIR_COORDS_MAX; c++)
			t2.c[c] = t.c[c] > b->u[i].t.c[c] ? t.c[c] : b->u[i].t.c[c];
		if (rel + 1 < spec->nrel)
			brute(spec, source, out, rel + 1, rows, t2, diff * b->u[i].diff);
		else
		{
			Row			all = {0};

			for (int r = 0; r < spec->nrel; r++)
				for (int c = 0; c < 2; c++)
					all.c[all.n++] = rows[r].c[c];
			bag_add(out, all, t2.c, DDIR_COORDS_MAX, diff * b->u[i].diff);
		}
	}
}

void
flow_join_brute(const JoinSpec *spec, const Bag *source, Bag *out)
{
	Row			rows[4];
	DdirTime	zero = {{0}};

	brute(spec, source, out, 0, rows, zero, 1);
}

/* ----
 * Sinks
 * ----
 */

static void
catch_rows(void *ctx, const DdirDeltas *rows)
{
	Catch	   *c = ctx;

	bag_of_deltas(&c->rows, rows);
	if (rows->n > c->biggest)
		c->biggest = rows->n;
}

static void
catch_errors(void *ctx, const DdirDeltas *errs)
{
	Catch	   *c = ctx;

	bag_of_deltas(&c->errs, errs);
}

DdirSinkFns
catch_fns(Catch *c)
{
	DdirSinkFns fns = {c, catch_rows, catch_errors};

	return fns;
}

void
catch_free(Catch *c)
{
	bag_free(&c->rows);
	bag_free(&c->errs);
}
