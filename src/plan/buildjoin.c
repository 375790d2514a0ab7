/*-------------------------------------------------------------------------
 *
 * buildjoin.c
 *	  Joins and antijoins: from equalities to arrangements and paths.
 *
 * A join of n inputs becomes one delta join, or a tree of binary joins
 * (jointree.c) where that adds fewer bytes of arrangements.  A delta join has
 * a path per input, each looking the others up one after the other by what is
 * bound so far.  Equalities are
 * gathered in classes (a = b and b = c make a, b, c one class), so a path may
 * look an input up by any member of the class that is bound.  An equality
 * that a path's lookups did not enforce, because keys of some types are not
 * exact or a class has two members in one input, is tested as a condition.
 *
 * NULLs: where all columns of a lookup's key are plain equalities, the key is
 * of kind join and rows with NULLs are not in the arrangement.  Where one is
 * null-safe the key is of kind group, and rows with a NULL in a plain column
 * are filtered out of the arrangement.
 *
 * Conditions are tested as soon as what they mention is bound, if they cannot
 * raise an error; else last.
 *
 * src/plan/buildjoin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "plan/estimate.h"
#include "plan/join.h"

static int
class_of(const int *uf, int i)
{
	while (uf[i] != i)
		i = uf[i];
	return i;
}

static void
unite(int *uf, int i, int j)
{
	i = class_of(uf, i);
	j = class_of(uf, j);
	if (i < j)
		uf[j] = i;
	else
		uf[i] = j;
}

static int
member_index(DdirJoinBuild *jb, int rel, Expr *expr, const DdirEquality *eq)
{
	DdirJoinMember *m;

	for (int i = 0; i < jb->nmembers; i++)
	{
		m = &jb->member[i];
		if (m->rel == rel && m->null_safe == eq->null_safe &&
			(m->eqop == DDIR_EQUALITY_IMAGE) == (eq->eqop == DDIR_EQUALITY_IMAGE) &&
			m->collation == eq->collation && equal(m->expr, expr))
			return i;
	}
	m = &jb->member[jb->nmembers];
	m->rel = rel;
	m->expr = expr;
	m->eqop = eq->eqop;
	m->collation = eq->collation;
	m->null_safe = eq->null_safe;
	m->cls = jb->nmembers;
	return jb->nmembers++;
}

static void
gather_members(DdirJoinBuild *jb)
{
	int		   *uf;
	ListCell   *lc;

	jb->member = palloc0(sizeof(DdirJoinMember) * (2 * list_length(jb->rel->equalities) + 1));
	jb->eq_left = palloc(sizeof(int) * (list_length(jb->rel->equalities) + 1));
	jb->eq_right = palloc(sizeof(int) * (list_length(jb->rel->equalities) + 1));
	uf = palloc(sizeof(int) * (2 * list_length(jb->rel->equalities) + 1));
	foreach(lc, jb->rel->equalities)
	{
		DdirEquality *eq = lfirst(lc);
		int			before = jb->nmembers;
		int			l = member_index(jb, eq->left, eq->left_expr, eq);
		int			r = member_index(jb, eq->right, eq->right_expr, eq);

		for (int i = before; i < jb->nmembers; i++)
			uf[i] = i;
		unite(uf, l, r);
		jb->eq_left[foreach_current_index(lc)] = l;
		jb->eq_right[foreach_current_index(lc)] = r;
	}
	jb->comparable = palloc0(jb->nmembers * jb->nmembers + 1);
	for (int i = 0; i < jb->nmembers; i++)
		jb->member[i].cls = class_of(uf, i);
}

/* Columns of each input that anything above its arrangements reads. */
static void
gather_needed(DdirJoinBuild *jb)
{
	jb->needed = palloc0(sizeof(Bitmapset *) * jb->n);
	for (int i = 0; i < jb->n; i++)
	{
		jb->needed[i] = ddir_expr_columns((Node *) jb->rel->targets, i);
		jb->needed[i] = bms_join(jb->needed[i],
								 ddir_expr_columns((Node *) jb->rel->quals, i));
		for (int m = 0; m < jb->nmembers; m++)
			jb->needed[i] = bms_join(jb->needed[i],
									 ddir_expr_columns((Node *) jb->member[m].expr, i));
	}
}

/* The stream's columns "needed" as attributes of its source. */
static Bitmapset *
source_columns(const DdirStream *s, Bitmapset *needed)
{
	Bitmapset  *atts = NULL;
	List	   *targets;
	int			c = -1;

	if (!ddir_stream_is_columns(s) || s->identity)
		return needed;
	targets = s->targets;
	while ((c = bms_next_member(needed, c)) >= 0)
		atts = bms_add_member(atts, ((Var *) list_nth(targets, c - 1))->varattno);
	return atts;
}

/* an input's expression over that input alone as one with Var(1, a) */
static Expr *
alone(Expr *expr, int rel)
{
	expr = copyObject(expr);
	ChangeVarNodes((Node *) expr, rel + 1, 1, 0);
	return expr;
}

DdirKeySpec *
ddir_join_key(DdirJoinBuild *jb, const int *members, int n, DdirKeyKind kind)
{
	Oid			typids[INDEX_MAX_KEYS];
	Oid			collations[INDEX_MAX_KEYS];
	Oid			eqops[INDEX_MAX_KEYS];

	for (int i = 0; i < n; i++)
	{
		DdirJoinMember *m = &jb->member[members[i]];

		typids[i] = exprType((Node *) m->expr);
		collations[i] = m->collation;
		eqops[i] = m->eqop;
	}
	return ddir_key_make(kind, n, typids, collations, eqops);
}

static DdirKeyKind
key_kind(DdirJoinBuild *jb, const int *members, int n)
{
	for (int i = 0; i < n; i++)
		if (jb->member[members[i]].null_safe)
			return DDIR_KEY_GROUP;
	return DDIR_KEY_JOIN;
}

bool
ddir_join_comparable(DdirJoinBuild *jb, int a, int b)
{
	char	   *known = &jb->comparable[a * jb->nmembers + b];

	if (*known == 0)
		*known = ddir_key_compatible(ddir_join_key(jb, &a, 1, DDIR_KEY_JOIN),
									 ddir_join_key(jb, &b, 1, DDIR_KEY_JOIN)) ? 'y' : 'n';
	return *known == 'y';
}

static Expr *
is_not_null(Expr *expr)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = copyObject(expr);
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return (Expr *) test;
}

/* By which columns rel would be looked up with these inputs bound. */
static void
lookup_columns(DdirJoinBuild *jb, int rel, Bitmapset *bound, DdirLookup *l)
{
	Bitmapset  *atts = NULL;

	memset(l, 0, sizeof(*l));
	l->rel = rel;
	for (int f = 0; f < jb->nmembers && l->ncols < INDEX_MAX_KEYS; f++)
	{
		bool		taken = false;

		if (jb->member[f].rel != rel)
			continue;
		for (int i = 0; i < l->ncols; i++)
			taken = taken || jb->member[l->found[i]].cls == jb->member[f].cls;
		for (int p = 0; p < jb->nmembers && !taken; p++)
		{
			if (jb->member[p].cls != jb->member[f].cls ||
				!bms_is_member(jb->member[p].rel, bound) ||
				!ddir_join_comparable(jb, p, f))
				continue;
			l->probe[l->ncols] = p;
			l->found[l->ncols++] = f;
			taken = true;
		}
	}
	for (int i = 0; i < l->ncols; i++)
	{
		Expr	   *expr = jb->member[l->found[i]].expr;

		if (IsA(expr, Var))
			atts = bms_add_member(atts, ((Var *) expr)->varattno);
	}
	l->unique = ddir_rel_is_unique(jb->rel->input[rel], atts);
}

/* Is the one lookup to be preferred to the other? */
static bool
better(DdirJoinBuild *jb, const DdirLookup *a, const DdirLookup *b)
{
	if (a->unique != b->unique)
		return a->unique;
	if ((a->ncols > 0) != (b->ncols > 0))
		return a->ncols > 0;
	if (a->ncols != b->ncols)
		return a->ncols > b->ncols;
	return jb->in[a->rel].rows < jb->in[b->rel].rows;
}

/* A path: greedily the best lookup next. */
static void
choose_path(DdirJoinBuild *jb, int driver)
{
	DdirJoinPath *path = &jb->path[driver];
	Bitmapset  *bound = bms_make_singleton(driver);
	uint64		set = UINT64CONST(1) << driver;

	path->lookup = palloc0(sizeof(DdirLookup) * (jb->n - 1));
	path->cost = ddir_estimate_join_rows(jb->estimate, set);
	for (int s = 0; s < jb->n - 1; s++)
	{
		DdirLookup	best = {0};
		bool		any = false;

		for (int r = 0; r < jb->n; r++)
		{
			DdirLookup	l;

			if (bms_is_member(r, bound))
				continue;
			lookup_columns(jb, r, bound, &l);
			if (!any || better(jb, &l, &best))
				best = l;
			any = true;
		}
		best.wanted = ddir_join_want(jb, best.rel, best.found, best.ncols);
		path->lookup[s] = best;
		bound = bms_add_member(bound, best.rel);
		set |= UINT64CONST(1) << best.rel;
		path->cost += ddir_estimate_join_rows(jb->estimate, set);
	}
}

DdirWanted *
ddir_join_want(DdirJoinBuild *jb, int input, const int *members, int n)
{
	DdirStream *s = &jb->in[input];
	DdirKeyKind kind = key_kind(jb, members, n);
	List	   *keys = NIL;
	List	   *not_null = NIL;

	for (int i = 0; i < n; i++)
	{
		DdirJoinMember *m = &jb->member[members[i]];
		Expr	   *expr = alone(m->expr, input);

		keys = lappend(keys, expr);
		if (kind == DDIR_KEY_GROUP && !m->null_safe)
			not_null = lappend(not_null, is_not_null(expr));
	}
	return ddir_share_want(jb->b, s, keys, ddir_join_key(jb, members, n, kind),
						   source_columns(s, jb->needed[input]), not_null, false);
}

double
ddir_join_new_bytes(DdirJoinBuild *jb, List *wanted)
{
	double		bytes = 0;
	List	   *made = NIL;
	ListCell   *lc;

	foreach(lc, wanted)
	{
		DdirWanted *w = lfirst(lc);
		bool		there = ddir_share_find(jb->b, w) != NULL;
		ListCell   *cell;

		foreach(cell, made)
			there = there || ddir_share_covers(lfirst(cell), w);
		if (there)
			continue;
		made = lappend(made, w);
		bytes += w->bytes;
	}
	return bytes;
}

static void
arrange_lookup(DdirJoinBuild *jb, DdirLookup *l)
{
	l->arranged = ddir_share_arrange(jb->b, l->wanted, &l->leftover);
	l->probe_key = ddir_join_key(jb, l->probe, l->ncols, l->arranged->key->kind);

	for (int i = 0; i < jb->narr; i++)
		if (jb->arr[i] == l->arranged && jb->arr_rel[i] == l->rel)
			return;
	jb->arr[jb->narr] = l->arranged;
	jb->arr_rel[jb->narr] = l->rel;
	jb->arr_leftover[jb->narr] = l->leftover;
	jb->narr++;
}

/*
 * What the columns of input r are in the rows of an arrangement: over its vals,
 * with Var(r + 1, ...).
 */
static List *
val_columns(DdirJoinBuild *jb, int r, const DdirArranged *a, bool of_node)
{
	DdirStream *s = &jb->in[r];
	int			n = of_node || s->identity ? s->node_type->natts : list_length(s->targets);
	List	   *columns = NIL;

	for (int c = 1; c <= n; c++)
	{
		AttrNumber	val = c;

		if (a->attmap)
		{
			AttrNumber	att = c;

			if (!of_node && !s->identity)
				att = ((Var *) list_nth(s->targets, c - 1))->varattno;
			val = a->attmap[att - 1];
		}
		if (val > 0)
		{
			const DdirColumnType *col = &a->val_type->col[val - 1];

			columns = lappend(columns, makeVar(r + 1, val, col->typid, col->typmod,
											   col->collation, 0));
		}
		else
			columns = lappend(columns, makeNullConst(INT4OID, -1, InvalidOid));
	}
	return columns;
}

/* a condition of the join, and which inputs it mentions */
typedef struct Condition
{
	Expr	   *expr;
	Bitmapset  *inputs;
	bool		total;
	bool		done;
} Condition;

static Expr *
equality_expr(const DdirEquality *eq)
{
	OpExpr	   *op;

	/* keys that are images are exact, and there is room for all (finish.c) */
	if (eq->eqop == DDIR_EQUALITY_IMAGE)
		elog(ERROR, "an equality of images is to be tested");
	op = (OpExpr *) make_opclause(eq->eqop, BOOLOID, false, eq->left_expr, eq->right_expr,
								  InvalidOid, eq->collation);
	op->opfuncid = get_opcode(eq->eqop);
	if (eq->null_safe)
	{
		NodeSetTag(op, T_DistinctExpr);
		return makeBoolExpr(NOT_EXPR, list_make1(op), -1);
	}
	return (Expr *) op;
}

/* All that the path's lookups do not make sure of. */
static Condition *
path_conditions(DdirJoinBuild *jb, const DdirJoinPath *path, int *ncond)
{
	DdirRel    *rel = jb->rel;
	int			max = list_length(rel->quals) + list_length(rel->equalities);
	Condition  *cond = palloc0(sizeof(Condition) * (max + 1));
	int		   *uf = palloc(sizeof(int) * (jb->nmembers + 1));
	int			n = 0;
	ListCell   *lc;

	for (int i = 0; i < jb->nmembers; i++)
		uf[i] = i;
	for (int s = 0; s < jb->n - 1; s++)
	{
		const DdirLookup *l = &path->lookup[s];

		for (int i = 0; i < l->ncols; i++)
			if (l->arranged->key->col[i].exact && l->probe_key->col[i].exact)
				unite(uf, l->probe[i], l->found[i]);
	}

	foreach(lc, rel->equalities)
	{
		DdirEquality *eq = lfirst(lc);
		int			left = member_index(jb, eq->left, eq->left_expr, eq);
		int			right = member_index(jb, eq->right, eq->right_expr, eq);

		if (class_of(uf, left) != class_of(uf, right))
			cond[n++].expr = equality_expr(eq);
	}
	foreach(lc, rel->quals)
		cond[n++].expr = lfirst(lc);

	for (int i = 0; i < n; i++)
	{
		cond[i].inputs = ddir_expr_inputs((Node *) cond[i].expr);
		cond[i].total = ddir_expr_is_total((Node *) cond[i].expr);
	}
	*ncond = n;
	return cond;
}

/*
 * Conditions to test with "bound" bound, over the rows bound: those left over
 * of the newest one's filter, and those that have become testable.
 */
static List *
take_conditions(Condition *cond, int ncond, Bitmapset *bound, bool last, int n,
				List *const *columns)
{
	List	   *quals = NIL;

	for (int i = 0; i < ncond; i++)
		if (!cond[i].done && (last || (cond[i].total && bms_is_subset(cond[i].inputs, bound))))
		{
			cond[i].done = true;
			quals = lappend(quals, ddir_expr_replace((Node *) cond[i].expr, n, columns));
		}
	return quals;
}

static int
arr_index(DdirJoinBuild *jb, const DdirArranged *a)
{
	for (int i = 0; i < jb->narr; i++)
		if (jb->arr[i] == a)
			return i;
	elog(ERROR, "arrangement of a join is not among its own");
}

/* Leftover filter of input r's arrangement as conditions over its vals. */
static List *
leftover_conditions(DdirJoinBuild *jb, int r, const DdirArranged *a, List *leftover)
{
	List	   *columns = val_columns(jb, r, a, true);

	if (leftover == NIL)
		return NIL;
	return (List *) ddir_expr_replace((Node *) leftover, 1, &columns);
}

static void
make_path(DdirJoinBuild *jb, int driver, DdirPath *out)
{
	DdirJoinPath *path = &jb->path[driver];
	MemoryContext cxt = jb->b->flow->cxt;
	const DdirRowType **types = palloc0(sizeof(DdirRowType *) * jb->n);
	List	  **columns = palloc0(sizeof(List *) * jb->n);
	DdirStage  *stages = palloc0(sizeof(DdirStage) * jb->n);
	Bitmapset  *bound = bms_make_singleton(driver);
	DdirArranged *da = jb->arr[path->driver_arr];
	DdirProgramSpec spec = {0};
	int			ncond;
	Condition  *cond = path_conditions(jb, path, &ncond);
	List	   *quals;

	types[driver] = da->val_type;
	columns[driver] = val_columns(jb, driver, da, false);
	quals = leftover_conditions(jb, driver, da, jb->arr_leftover[path->driver_arr]);

	spec.owner = jb->b->owner;
	spec.nrel = jb->n;
	spec.rel = types;
	for (int s = 0; s < jb->n - 1; s++)
	{
		DdirLookup *l = &path->lookup[s];

		spec.label = l->arranged->label;
		spec.quals = list_concat(quals, take_conditions(cond, ncond, bound, false,
														jb->n, columns));
		spec.no_row = true;
		spec.key = l->probe_key;
		spec.keys = NIL;
		for (int i = 0; i < l->ncols; i++)
			spec.keys = lappend(spec.keys, ddir_expr_replace((Node *) jb->member[l->probe[i]].expr,
															 jb->n, columns));
		stages[s].rel = l->rel;
		stages[s].arr = arr_index(jb, l->arranged);
		stages[s].key = ddir_program_make(cxt, &spec);
		stages[s].rel2 = -1;

		bound = bms_add_member(bound, l->rel);
		types[l->rel] = l->arranged->val_type;
		columns[l->rel] = val_columns(jb, l->rel, l->arranged, false);
		quals = leftover_conditions(jb, l->rel, l->arranged, l->leftover);
	}

	spec.label = "join";
	spec.no_row = false;
	spec.key = NULL;
	spec.keys = NIL;
	spec.quals = list_concat(quals, take_conditions(cond, ncond, bound, true, jb->n, columns));
	spec.targets = (List *) ddir_expr_replace((Node *) jb->rel->targets, jb->n, columns);
	out->arr = path->driver_arr;
	out->nstages = jb->n - 1;
	out->stages = stages;
	out->output = ddir_program_make(cxt, &spec);
}

static void
describe_path(DdirJoinBuild *jb, int driver, bool import)
{
	StringInfoData line;
	DdirJoinPath *path = &jb->path[driver];

	initStringInfo(&line);
	appendStringInfo(&line, "%d: changes of %s", driver + 1, jb->arr[path->driver_arr]->label);
	for (int s = 0; s < jb->n - 1; s++)
		appendStringInfo(&line, ", look up %s%s", path->lookup[s].arranged->label,
						 path->lookup[s].unique ? " (unique)" : "");
	if (import)
		appendStringInfoString(&line, " (also the first load)");
	ddir_flow_note(jb->b, 1, "path", "%s", line.data);
}

/* What was chosen, and at which price. */
static void
note_join(DdirJoinBuild *jb, const char *what)
{
	DdirMade   *made = ddir_flow_note(jb->b, 0, what, "of %d", jb->n);

	made->delta_bytes = jb->delta_bytes;
	made->binary_bytes = jb->binary_bytes;
}

static DdirStream
build_delta(DdirJoinBuild *jb)
{
	DdirBuild  *b = jb->b;
	DdirPath   *paths = palloc0(sizeof(DdirPath) * jb->n);
	DdirNode  **nodes;
	DdirNode   *node;
	int			import = 0;

	jb->arr = palloc0(sizeof(DdirArranged *) * jb->n * jb->n);
	jb->arr_rel = palloc0(sizeof(int) * jb->n * jb->n);
	jb->arr_leftover = palloc0(sizeof(List *) * jb->n * jb->n);
	for (int i = 0; i < jb->n; i++)
	{
		if (jb->path[i].cost < jb->path[import].cost)
			import = i;
		for (int s = 0; s < jb->n - 1; s++)
			arrange_lookup(jb, &jb->path[i].lookup[s]);
	}
	for (int i = 0; i < jb->n; i++)
		for (int a = jb->narr - 1; a >= 0; a--)
			if (jb->arr_rel[a] == i)
				jb->path[i].driver_arr = a;

	note_join(jb, "delta join");
	for (int i = 0; i < jb->n; i++)
	{
		make_path(jb, i, &paths[i]);
		describe_path(jb, i, i == import);
	}

	nodes = palloc(sizeof(DdirNode *) * jb->narr);
	for (int i = 0; i < jb->narr; i++)
		nodes[i] = jb->arr[i]->node;
	node = ddir_join_create(b->share->graph, "join", jb->n, jb->narr, nodes, paths, import);
	ddir_flow_keep(b, node, 0, NULL);
	return ddir_stream_of(node, jb->rel->type, jb->rel->rows);
}

/*
 * Two inputs, each arranged by what is equated: a join of a tree.  Rows with
 * equal keys meet, and what the keys do not say is tested of each pair.
 */
static DdirStream
build_binary(DdirJoinBuild *jb)
{
	DdirBuild  *b = jb->b;
	DdirJoinPath path = {0};
	DdirLookup *l = &jb->path[0].lookup[0];
	DdirArranged *a[2];
	List	   *leftover[2];
	const DdirRowType *types[2];
	List	   *columns[2];
	DdirProgramSpec spec = {0};
	Condition  *cond;
	int			ncond;
	DdirNode   *node;

	a[0] = ddir_share_arrange(b, ddir_join_want(jb, 0, l->probe, l->ncols), &leftover[0]);
	a[1] = ddir_share_arrange(b, l->wanted, &leftover[1]);
	l->arranged = a[1];
	l->probe_key = ddir_join_key(jb, l->probe, l->ncols, a[1]->key->kind);
	path.lookup = l;
	cond = path_conditions(jb, &path, &ncond);
	for (int i = 0; i < 2; i++)
	{
		types[i] = a[i]->val_type;
		columns[i] = val_columns(jb, i, a[i], false);
		spec.quals = list_concat(spec.quals, leftover_conditions(jb, i, a[i], leftover[i]));
	}
	spec.label = "join";
	spec.owner = b->owner;
	spec.nrel = 2;
	spec.rel = types;
	spec.quals = list_concat(spec.quals, take_conditions(cond, ncond, NULL, true, 2, columns));
	spec.targets = (List *) ddir_expr_replace((Node *) jb->rel->targets, 2, columns);
	node = ddir_bilinear_create(b->share->graph, "join", a[0]->node, a[1]->node,
								ddir_program_make(b->flow->cxt, &spec));
	ddir_flow_keep(b, node, 0, NULL);
	ddir_flow_note(b, 0, "binary join", "%s with %s", a[0]->label, a[1]->label);
	return ddir_stream_of(node, jb->rel->type, jb->rel->rows);
}

DdirStream
ddir_build_join(DdirBuild *b, DdirRel *rel)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir join plan",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	DdirJoinBuild jb = {0};
	List	   *wanted = NIL;
	DdirRel    *tree = NULL;

	jb.b = b;
	jb.rel = rel;
	jb.n = rel->ninputs;
	jb.in = palloc(sizeof(DdirStream) * jb.n);
	for (int i = 0; i < jb.n; i++)
		jb.in[i] = ddir_build_rel(b, rel->input[i]);

	gather_members(&jb);
	gather_needed(&jb);
	old = MemoryContextSwitchTo(cxt);
	jb.estimate = ddir_estimate_join(rel, b->owner);
	MemoryContextSwitchTo(old);
	jb.path = palloc0(sizeof(DdirJoinPath) * jb.n);
	for (int i = 0; i < jb.n; i++)
		choose_path(&jb, i);
	if (rel->binary)
	{
		MemoryContextDelete(cxt);
		return build_binary(&jb);
	}

	for (int i = 0; i < jb.n; i++)
		for (int s = 0; s < jb.n - 1; s++)
			wanted = lappend(wanted, jb.path[i].lookup[s].wanted);
	ddir_share_widen(wanted);
	jb.delta_bytes = jb.binary_bytes = ddir_join_new_bytes(&jb, wanted);
	if (jb.n > 2)
		tree = ddir_join_tree(&jb, &jb.binary_bytes);
	MemoryContextDelete(cxt);
	if (jb.binary_bytes < jb.delta_bytes)
	{
		DdirStream	s = ddir_build_rel(b, tree);

		note_join(&jb, "binary joins");
		return s;
	}
	return build_delta(&jb);
}

/*
 * Antijoins
 */

static bool
anti_is_exact(const DdirKeySpec *a, const DdirKeySpec *b)
{
	return a->exact && b->exact && ddir_key_compatible(a, b);
}

/*
 * The columns that an antijoin keeps of its left input: of a table those used,
 * never one that was dropped.
 */
static Bitmapset *
anti_columns(const DdirRel *left)
{
	Bitmapset  *columns = NULL;

	for (int a = 1; a <= left->type->natts; a++)
		if (OidIsValid(left->type->col[a - 1].typid) &&
			(left->kind != DDIR_REL_SCAN || bms_is_member(a, left->used)))
			columns = bms_add_member(columns, a);
	return columns;
}

/* The relation with those columns only, in their places; NULL in the others. */
static DdirRel *
blank_others(DdirRel *rel, Bitmapset *columns)
{
	List	   *targets = NIL;

	if (bms_num_members(columns) == rel->type->natts)
		return rel;
	for (int a = 1; a <= rel->type->natts; a++)
	{
		if (bms_is_member(a, columns))
			targets = lappend(targets, ddir_rel_var(0, rel, a));
		else
			targets = lappend(targets, makeNullConst(INT4OID, -1, InvalidOid));
	}
	return ddir_rel_map(rel, NIL, targets);
}

/*
 * left - (left join distinct(right keys)): for keys whose bytes are not enough.
 */
static DdirStream
build_anti_by_join(DdirBuild *b, DdirRel *rel)
{
	DdirRel    *left = blank_others(rel->input[0], anti_columns(rel->input[0]));
	DdirRel    *right = rel->input[1];
	List	   *right_keys = NIL;
	List	   *group = NIL;
	List	   *equalities = NIL;
	List	   *targets = NIL;
	DdirRel    *in[2];
	DdirRel    *matched;
	ListCell   *lc;
	int			i = 0;

	foreach(lc, rel->equalities)
	{
		DdirEquality *eq = lfirst(lc);
		DdirEquality *copy = palloc(sizeof(DdirEquality));
		DdirGroupKey *key = palloc(sizeof(DdirGroupKey));

		right_keys = lappend(right_keys, alone(eq->right_expr, 1));
		key->expr = NULL;		/* set below, when the Map is there */
		key->eqop = eq->eqop;
		key->collation = eq->collation;
		group = lappend(group, key);
		*copy = *eq;
		equalities = lappend(equalities, copy);
	}
	in[0] = left;
	in[1] = ddir_rel_map(right, NIL, right_keys);
	foreach(lc, group)
	{
		DdirGroupKey *key = lfirst(lc);

		key->expr = (Expr *) ddir_rel_var(0, in[1], ++i);
		/* grouping is by the type's own equality, never across types */
		if (key->eqop != DDIR_EQUALITY_IMAGE)
			key->eqop = InvalidOid;
	}
	in[1] = ddir_rel_reduce(in[1], group, NIL, false);
	i = 0;
	foreach(lc, equalities)
		((DdirEquality *) lfirst(lc))->right_expr = (Expr *) ddir_rel_var(1, in[1], ++i);
	for (int a = 1; a <= left->type->natts; a++)
		targets = lappend(targets, ddir_rel_var(0, left, a));
	matched = ddir_rel_join(2, in, equalities, rel->quals, targets);
	in[1] = ddir_rel_negate(matched);
	in[0] = ddir_rel_union(2, in);
	ddir_estimate(in[0], b->owner);
	return ddir_build_rel(b, in[0]);
}

DdirStream
ddir_build_anti(DdirBuild *b, DdirRel *rel)
{
	DdirJoinBuild jb = {0};
	DdirLookup	lookup[2] = {{0}};
	DdirProgramSpec spec = {0};
	List	   *columns;
	DdirFunc	func;
	DdirNode   *node;
	DdirKeySpec *key[2];

	jb.b = b;
	jb.rel = rel;
	jb.n = 2;
	gather_members(&jb);
	for (int side = 0; side < 2; side++)
	{
		ListCell   *lc;

		lookup[side].rel = side;
		foreach(lc, rel->equalities)
		{
			DdirEquality *eq = lfirst(lc);

			if (lookup[side].ncols >= INDEX_MAX_KEYS)
				elog(ERROR, "too many equalities in an antijoin");
			lookup[side].found[lookup[side].ncols++] =
				side == 0 ? member_index(&jb, 0, eq->left_expr, eq) :
				member_index(&jb, 1, eq->right_expr, eq);
		}
		key[side] = ddir_join_key(&jb, lookup[side].found, lookup[side].ncols, DDIR_KEY_GROUP);
	}
	if (rel->quals != NIL || !anti_is_exact(key[0], key[1]))
		return build_anti_by_join(b, rel);

	jb.in = palloc(sizeof(DdirStream) * 2);
	for (int side = 0; side < 2; side++)
	{
		DdirStream *s = &jb.in[side];
		DdirLookup *l = &lookup[side];
		Bitmapset  *needed = NULL;
		List	   *keys = NIL;
		List	   *not_null = NIL;

		*s = ddir_build_rel(b, rel->input[side]);
		for (int i = 0; i < l->ncols; i++)
		{
			Expr	   *expr = alone(jb.member[l->found[i]].expr, side);

			keys = lappend(keys, expr);
			if (side == 1 && !jb.member[l->found[i]].null_safe)
				not_null = lappend(not_null, is_not_null(expr));
		}
		if (side == 0)
			needed = anti_columns(rel->input[0]);
		/* the right side's arrangement may not hold more keys than asked for */
		l->wanted = ddir_share_want(b, s, keys, key[side], source_columns(s, needed),
									not_null, side == 1);
		l->arranged = ddir_share_arrange(b, l->wanted, &l->leftover);
	}

	columns = val_columns(&jb, 0, lookup[0].arranged, false);
	spec.label = "antijoin";
	spec.owner = b->owner;
	spec.nrel = 1;
	spec.rel = &lookup[0].arranged->val_type;
	spec.quals = leftover_conditions(&jb, 0, lookup[0].arranged, lookup[0].leftover);
	spec.targets = columns;
	func = ddir_program_make(b->flow->cxt, &spec);
	node = ddir_antijoin_create(b->share->graph, "antijoin", lookup[0].arranged->node,
								lookup[1].arranged->node, func);
	ddir_flow_keep(b, node, 0, NULL);
	ddir_flow_note(b, 0, "antijoin", "%s without %s", lookup[0].arranged->label,
				   lookup[1].arranged->label);
	return ddir_stream_of(node, rel->type, rel->rows);
}
