/*-------------------------------------------------------------------------
 *
 * buildjoin.c
 *	  Joins and antijoins: from equalities to arrangements and paths.
 *
 * A join of n inputs becomes one delta join: a path per input, each looking
 * the others up one after the other by what is bound so far.  Equalities are
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

#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "plan/flow.h"

/* One side of an equality. */
typedef struct Member
{
	int			rel;
	Expr	   *expr;			/* over the input's stream, Var(varno = rel + 1) */
	Oid			eqop;
	Oid			collation;
	bool		null_safe;
	int			cls;			/* least index of a member of its class */
} Member;

/* How a relation is looked up at one place of a path. */
typedef struct Lookup
{
	int			rel;
	int			ncols;
	int			probe[INDEX_MAX_KEYS];	/* members bound */
	int			found[INDEX_MAX_KEYS];	/* members of rel */
	bool		unique;
	DdirArranged *arranged;
	List	   *leftover;		/* over the arrangement's input rows */
	DdirKeySpec *probe_key;
} Lookup;

typedef struct Path
{
	Lookup	   *lookup;			/* n - 1 of them */
	int			driver_arr;
	double		cost;
} Path;

typedef struct JoinBuild
{
	DdirBuild  *b;
	DdirRel    *rel;
	int			n;
	DdirStream *in;
	Bitmapset **needed;			/* columns of each stream, from 1 */
	int			nmembers;
	Member	   *member;
	int			narr;
	DdirArranged **arr;			/* arrangements used */
	int		   *arr_rel;		/* relation each was made for */
	List	  **arr_leftover;
	Path	   *path;
} JoinBuild;

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
member_index(JoinBuild *jb, int rel, Expr *expr, const DdirEquality *eq)
{
	Member	   *m;

	for (int i = 0; i < jb->nmembers; i++)
	{
		m = &jb->member[i];
		if (m->rel == rel && m->null_safe == eq->null_safe &&
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
gather_members(JoinBuild *jb)
{
	int		   *uf;
	ListCell   *lc;

	jb->member = palloc0(sizeof(Member) * (2 * list_length(jb->rel->equalities) + 1));
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
	}
	for (int i = 0; i < jb->nmembers; i++)
		jb->member[i].cls = class_of(uf, i);
}

/* Columns of each input that anything above its arrangements reads. */
static void
gather_needed(JoinBuild *jb)
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

/* The index is unique, whole, and its columns are among these. */
static bool
covers_unique_index(Oid indexid, const Bitmapset *atts)
{
	HeapTuple	tup = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(indexid));
	Form_pg_index form;
	bool		covered;

	if (!HeapTupleIsValid(tup))
		return false;
	form = (Form_pg_index) GETSTRUCT(tup);
	covered = form->indisunique && form->indisvalid && form->indimmediate &&
		heap_attisnull(tup, Anum_pg_index_indpred, NULL);
	for (int i = 0; covered && i < form->indnkeyatts; i++)
		covered = form->indkey.values[i] > 0 &&
			bms_is_member(form->indkey.values[i], atts);
	ReleaseSysCache(tup);
	return covered;
}

/*
 * Do these columns contain the columns of a unique index of the source?  No
 * lock: somebody may hold one for any time, and nothing but the estimated cost
 * depends on it.
 */
static bool
columns_unique(const DdirStream *s, Bitmapset *atts)
{
	Relation	rel = OidIsValid(s->relid) ? RelationIdGetRelation(s->relid) : NULL;
	ListCell   *lc;
	bool		unique = false;

	if (rel == NULL)
		return false;
	foreach(lc, RelationGetIndexList(rel))
	{
		unique = unique || covers_unique_index(lfirst_oid(lc), atts);
	}
	RelationClose(rel);
	return unique;
}

/* an input's expression over that input alone as one with Var(1, a) */
static Expr *
alone(Expr *expr, int rel)
{
	expr = copyObject(expr);
	ChangeVarNodes((Node *) expr, rel + 1, 1, 0);
	return expr;
}

static DdirKeySpec *
make_key(JoinBuild *jb, const int *members, int n, DdirKeyKind kind)
{
	Oid			typids[INDEX_MAX_KEYS];
	Oid			collations[INDEX_MAX_KEYS];
	Oid			eqops[INDEX_MAX_KEYS];

	for (int i = 0; i < n; i++)
	{
		Member	   *m = &jb->member[members[i]];

		typids[i] = exprType((Node *) m->expr);
		collations[i] = m->collation;
		eqops[i] = m->eqop;
	}
	return ddir_key_make(kind, n, typids, collations, eqops);
}

static DdirKeyKind
lookup_kind(JoinBuild *jb, const Lookup *l)
{
	for (int i = 0; i < l->ncols; i++)
		if (jb->member[l->found[i]].null_safe)
			return DDIR_KEY_GROUP;
	return DDIR_KEY_JOIN;
}

/* By which columns rel would be looked up with these inputs bound. */
static void
lookup_columns(JoinBuild *jb, int rel, Bitmapset *bound, Lookup *l)
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
			DdirKeySpec *a;
			DdirKeySpec *b;

			if (jb->member[p].cls != jb->member[f].cls ||
				!bms_is_member(jb->member[p].rel, bound))
				continue;
			a = make_key(jb, &p, 1, DDIR_KEY_JOIN);
			b = make_key(jb, &f, 1, DDIR_KEY_JOIN);
			if (!ddir_key_compatible(a, b))
				continue;
			l->probe[l->ncols] = p;
			l->found[l->ncols++] = f;
			taken = true;
		}
	}
	for (int i = 0; i < l->ncols; i++)
	{
		Expr	   *expr = ddir_stream_expr(&jb->in[rel], alone(jb->member[l->found[i]].expr, rel));

		if (IsA(expr, Var))
			atts = bms_add_member(atts, ((Var *) expr)->varattno);
	}
	l->unique = columns_unique(&jb->in[rel], atts);
}

/* Is the one lookup to be preferred to the other? */
static bool
better(JoinBuild *jb, const Lookup *a, const Lookup *b)
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
choose_path(JoinBuild *jb, int driver)
{
	Path	   *path = &jb->path[driver];
	Bitmapset  *bound = bms_make_singleton(driver);
	double		rows = Max(jb->in[driver].rows, 1);

	path->lookup = palloc0(sizeof(Lookup) * (jb->n - 1));
	path->cost = rows;
	for (int s = 0; s < jb->n - 1; s++)
	{
		Lookup		best = {0};
		bool		any = false;

		for (int r = 0; r < jb->n; r++)
		{
			Lookup		l;

			if (bms_is_member(r, bound))
				continue;
			lookup_columns(jb, r, bound, &l);
			if (!any || better(jb, &l, &best))
				best = l;
			any = true;
		}
		path->lookup[s] = best;
		bound = bms_add_member(bound, best.rel);
		if (best.ncols == 0)
			rows *= Max(jb->in[best.rel].rows, 1);
		else if (!best.unique)
			rows *= 4;
		path->cost += rows;
	}
}

static void
arrange_lookup(JoinBuild *jb, Lookup *l)
{
	DdirStream *s = &jb->in[l->rel];
	DdirKeyKind kind = lookup_kind(jb, l);
	List	   *keys = NIL;
	List	   *not_null = NIL;
	int			i;

	for (i = 0; i < l->ncols; i++)
	{
		Member	   *m = &jb->member[l->found[i]];
		Expr	   *expr = alone(m->expr, l->rel);

		keys = lappend(keys, expr);
		if (kind == DDIR_KEY_GROUP && !m->null_safe)
		{
			NullTest   *test = makeNode(NullTest);

			test->arg = copyObject(expr);
			test->nulltesttype = IS_NOT_NULL;
			test->location = -1;
			not_null = lappend(not_null, test);
		}
	}
	l->arranged = ddir_share_arrange(jb->b, s, keys, make_key(jb, l->found, l->ncols, kind),
									 source_columns(s, jb->needed[l->rel]), not_null,
									 &l->leftover);
	l->probe_key = make_key(jb, l->probe, l->ncols, kind);

	for (i = 0; i < jb->narr; i++)
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
val_columns(JoinBuild *jb, int r, const DdirArranged *a, bool of_node)
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
path_conditions(JoinBuild *jb, const Path *path, int *ncond)
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
		const Lookup *l = &path->lookup[s];

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
arr_index(JoinBuild *jb, const DdirArranged *a)
{
	for (int i = 0; i < jb->narr; i++)
		if (jb->arr[i] == a)
			return i;
	elog(ERROR, "arrangement of a join is not among its own");
}

/* Leftover filter of input r's arrangement as conditions over its vals. */
static List *
leftover_conditions(JoinBuild *jb, int r, const DdirArranged *a, List *leftover)
{
	List	   *columns = val_columns(jb, r, a, true);

	if (leftover == NIL)
		return NIL;
	return (List *) ddir_expr_replace((Node *) leftover, 1, &columns);
}

static void
make_path(JoinBuild *jb, int driver, DdirPath *out)
{
	Path	   *path = &jb->path[driver];
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
		Lookup	   *l = &path->lookup[s];

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
describe_path(JoinBuild *jb, int driver, bool import)
{
	StringInfoData line;
	Path	   *path = &jb->path[driver];

	initStringInfo(&line);
	appendStringInfo(&line, "  path %d: changes of %s", driver + 1, jb->arr[path->driver_arr]->label);
	for (int s = 0; s < jb->n - 1; s++)
		appendStringInfo(&line, ", look up %s%s", path->lookup[s].arranged->label,
						 path->lookup[s].unique ? " (unique)" : "");
	if (import)
		appendStringInfoString(&line, " (also the first load)");
	ddir_flow_line(jb->b, "%s", line.data);
}

DdirStream
ddir_build_join(DdirBuild *b, DdirRel *rel)
{
	JoinBuild	jb = {0};
	DdirPath   *paths = palloc0(sizeof(DdirPath) * rel->ninputs);
	DdirNode  **nodes;
	DdirNode   *node;
	int			import = 0;

	jb.b = b;
	jb.rel = rel;
	jb.n = rel->ninputs;
	jb.in = palloc(sizeof(DdirStream) * jb.n);
	for (int i = 0; i < jb.n; i++)
		jb.in[i] = ddir_build_rel(b, rel->input[i]);
	if (jb.n == 1)
	{
		jb.in[0].quals = list_concat(list_copy(jb.in[0].quals),
									 ddir_stream_exprs(&jb.in[0], rel->quals));
		jb.in[0].targets = ddir_stream_exprs(&jb.in[0], rel->targets);
		jb.in[0].identity = false;
		return jb.in[0];
	}

	gather_members(&jb);
	gather_needed(&jb);
	jb.path = palloc0(sizeof(Path) * jb.n);
	jb.arr = palloc0(sizeof(DdirArranged *) * jb.n * jb.n);
	jb.arr_rel = palloc0(sizeof(int) * jb.n * jb.n);
	jb.arr_leftover = palloc0(sizeof(List *) * jb.n * jb.n);
	for (int i = 0; i < jb.n; i++)
	{
		choose_path(&jb, i);
		if (jb.path[i].cost < jb.path[import].cost)
			import = i;
		for (int s = 0; s < jb.n - 1; s++)
			arrange_lookup(&jb, &jb.path[i].lookup[s]);
	}
	for (int i = 0; i < jb.n; i++)
		for (int a = jb.narr - 1; a >= 0; a--)
			if (jb.arr_rel[a] == i)
				jb.path[i].driver_arr = a;

	ddir_flow_line(b, "delta join of %d", jb.n);
	for (int i = 0; i < jb.n; i++)
	{
		make_path(&jb, i, &paths[i]);
		describe_path(&jb, i, i == import);
	}

	nodes = palloc(sizeof(DdirNode *) * jb.narr);
	for (int i = 0; i < jb.narr; i++)
		nodes[i] = jb.arr[i]->node;
	node = ddir_join_create(b->share->graph, "join", jb.n, jb.narr, nodes, paths, import);
	ddir_flow_keep(b, node, 0, NULL);
	return ddir_stream_of(node, rel->type, rel->rows);
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
	return ddir_build_rel(b, ddir_rel_union(2, in));
}

DdirStream
ddir_build_anti(DdirBuild *b, DdirRel *rel)
{
	JoinBuild	jb = {0};
	Lookup		lookup[2] = {{0}};
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
		key[side] = make_key(&jb, lookup[side].found, lookup[side].ncols, DDIR_KEY_GROUP);
	}
	if (rel->quals != NIL || !anti_is_exact(key[0], key[1]))
		return build_anti_by_join(b, rel);

	jb.in = palloc(sizeof(DdirStream) * 2);
	for (int side = 0; side < 2; side++)
	{
		DdirStream *s = &jb.in[side];
		Lookup	   *l = &lookup[side];
		Bitmapset  *needed = NULL;
		List	   *keys = NIL;
		List	   *not_null = NIL;

		*s = ddir_build_rel(b, rel->input[side]);
		for (int i = 0; i < l->ncols; i++)
		{
			Expr	   *expr = alone(jb.member[l->found[i]].expr, side);

			keys = lappend(keys, expr);
			if (side == 1 && !jb.member[l->found[i]].null_safe)
			{
				NullTest   *test = makeNode(NullTest);

				test->arg = copyObject(expr);
				test->nulltesttype = IS_NOT_NULL;
				test->location = -1;
				not_null = lappend(not_null, test);
			}
		}
		if (side == 0)
			needed = anti_columns(rel->input[0]);
		/* the right side's arrangement may not hold more keys than asked for */
		l->arranged = ddir_share_arrange(b, s, keys, key[side], source_columns(s, needed),
										 not_null, side == 0 ? &l->leftover : NULL);
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
	ddir_flow_line(b, "antijoin %s without %s", lookup[0].arranged->label,
				   lookup[1].arranged->label);
	return ddir_stream_of(node, rel->type, rel->rows);
}
