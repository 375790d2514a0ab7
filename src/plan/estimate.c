/*-------------------------------------------------------------------------
 *
 * estimate.c
 *	  How many rows and bytes relations of DDIR will have.
 *
 * The planner's own functions do it: clauselist_selectivity for conditions,
 * estimate_num_groups for numbers of different values.  They look statistics
 * up by range table entry, so each relation is given a range table of its own:
 * an entry for every scan that a column of one of its inputs comes from as it
 * stands.  A column that is computed on the way is a Param there, of which the
 * planner knows nothing, and has as many values as the planner assumes.
 *
 * Joins: inputs are added one after the other, always in the same order, so
 * that a set of inputs has one estimate however it is reached.  With the new
 * input's columns that are equated to what is there already taken together,
 *
 *		rows(S + r) = rows(S) * rows(r) / max(values in S, values in r)
 *
 * which for a key and the columns that refer to it is right whatever their
 * number is; a product of one factor a column would not be.
 *
 * Memory: everything is in a context of its own, freed at the end; only a
 * DdirJoinEstimate stays, in CurrentMemoryContext.
 *
 * src/plan/estimate.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "plan/estimate.h"
#include "plan/prune.h"
#include "rows/program.h"

/* What the planner takes for the number of values of an unknown column. */
#define VALUES_UNKNOWN 200.0

/* Of an antijoin's left rows nothing tells how many are without a match. */
#define ANTI_SELECTIVITY 0.5

/* A scan that columns of an input come from. */
typedef struct Origin
{
	int			input;
	const DdirRel *scan;
} Origin;

/* The estimation of one relation. */
typedef struct Estimate
{
	const DdirRel *rel;
	PlannerInfo *root;
	List	   *origins;		/* of Origin *; number i has varno i + 1 */
} Estimate;

/*
 * The planner's view of a relation
 */

static int
origin_varno(Estimate *e, int input, const DdirRel *scan)
{
	Origin	   *origin;
	ListCell   *lc;

	foreach(lc, e->origins)
	{
		origin = lfirst(lc);
		if (origin->input == input && origin->scan == scan)
			return foreach_current_index(lc) + 1;
	}
	origin = palloc(sizeof(Origin));
	origin->input = input;
	origin->scan = scan;
	e->origins = lappend(e->origins, origin);
	return list_length(e->origins);
}

/* Of the operands of a union the largest stands for all. */
static const DdirRel *
largest_input(const DdirRel *rel)
{
	const DdirRel *largest = NULL;

	for (int i = 0; i < rel->ninputs; i++)
		if (rel->input[i]->kind != DDIR_REL_NEGATE &&
			(largest == NULL || rel->input[i]->rows > largest->rows))
			largest = rel->input[i];
	return largest;
}

/* The scan that column *a of rel comes from as it stands, and which one it is there. */
static const DdirRel *
plain_column(const DdirRel *rel, AttrNumber *a)
{
	check_stack_depth();
	for (;;)
	{
		Node	   *expr;

		switch (rel->kind)
		{
			case DDIR_REL_SCAN:
				return rel;
			case DDIR_REL_MAP:
			case DDIR_REL_SCHEDULE:
			case DDIR_REL_JOIN:
				expr = list_nth(rel->targets, *a - 1);
				break;
			case DDIR_REL_FLATMAP:
				if (*a > list_length(rel->targets))
					return NULL;
				expr = list_nth(rel->targets, *a - 1);
				break;
			case DDIR_REL_REDUCE:
				if (*a > list_length(rel->keys))
					return NULL;
				expr = (Node *) ((DdirGroupKey *) list_nth(rel->keys, *a - 1))->expr;
				break;
			case DDIR_REL_ANTI:
			case DDIR_REL_NEGATE:
			case DDIR_REL_THRESHOLD:
			case DDIR_REL_TOPK:
			case DDIR_REL_VALID:
				rel = rel->input[0];
				continue;
			case DDIR_REL_UNION:
				rel = largest_input(rel);
				if (rel == NULL)
					return NULL;
				continue;
			case DDIR_REL_WINDOW:
				rel = rel->input[0];
				if (*a > rel->type->natts)
					return NULL;
				continue;
			default:
				return NULL;
		}
		while (IsA(expr, RelabelType))
			expr = (Node *) ((RelabelType *) expr)->arg;
		if (!IsA(expr, Var))
			return NULL;
		*a = ((Var *) expr)->varattno;
		rel = rel->input[((Var *) expr)->varno - 1];
	}
}

typedef struct TraceContext
{
	Estimate   *e;
	bool		unknown;		/* a column is computed */
} TraceContext;

static Node *
trace_var(Var *var, void *arg)
{
	TraceContext *cx = arg;
	int			input = var->varno - 1;
	AttrNumber	a = var->varattno;
	const DdirRel *scan = plain_column(cx->e->rel->input[input], &a);
	Param	   *param;

	if (scan)
	{
		const DdirColumnType *col = &scan->type->col[a - 1];
		Node	   *origin = (Node *) makeVar(origin_varno(cx->e, input, scan), a, col->typid,
											  col->typmod, col->collation, 0);

		if (col->typid != var->vartype)
			origin = (Node *) makeRelabelType((Expr *) origin, var->vartype, var->vartypmod,
											  var->varcollid, COERCE_IMPLICIT_CAST);
		return origin;
	}
	cx->unknown = true;
	param = makeNode(Param);
	param->paramkind = PARAM_EXEC;
	param->paramid = 0;
	param->paramtype = var->vartype;
	param->paramtypmod = var->vartypmod;
	param->paramcollid = var->varcollid;
	param->location = -1;
	return (Node *) param;
}

/* The expressions over the range table; *unknown: one has a computed column. */
static List *
traced(Estimate *e, List *exprs, bool *unknown)
{
	TraceContext cx = {e, false};
	List	   *result = (List *) ddir_vars_map((Node *) exprs, trace_var, &cx);

	if (unknown)
		*unknown = cx.unknown;
	return result;
}

/*
 * Make the range table, of all that was traced.  It has what the functions
 * called here look at, and no more.
 */
static void
make_range_table(Estimate *e)
{
	PlannerInfo *root = makeNode(PlannerInfo);
	int			n = list_length(e->origins);
	ListCell   *lc;

	root->parse = makeNode(Query);
	root->parse->commandType = CMD_SELECT;
	root->glob = makeNode(PlannerGlobal);
	root->planner_cxt = CurrentMemoryContext;
	root->simple_rel_array_size = n + 1;
	root->simple_rel_array = palloc0(sizeof(RelOptInfo *) * (n + 1));
	root->simple_rte_array = palloc0(sizeof(RangeTblEntry *) * (n + 1));
	foreach(lc, e->origins)
	{
		Origin	   *origin = lfirst(lc);
		int			varno = foreach_current_index(lc) + 1;
		RangeTblEntry *rte = makeNode(RangeTblEntry);
		RelOptInfo *rel = makeNode(RelOptInfo);

		rte->rtekind = RTE_RELATION;
		rte->relid = origin->scan->relid;
		rte->relkind = get_rel_relkind(rte->relid);
		rte->inh = has_subclass(rte->relid);
		rte->eref = makeAlias("scan", NIL);
		root->parse->rtable = lappend(root->parse->rtable, rte);
		root->simple_rte_array[varno] = rte;

		rel->reloptkind = RELOPT_BASEREL;
		rel->relid = varno;
		rel->relids = bms_make_singleton(varno);
		rel->rtekind = RTE_RELATION;
		rel->min_attr = 1;
		rel->max_attr = origin->scan->type->natts;
		rel->tuples = origin->scan->rows;
		rel->rows = Min(e->rel->input[origin->input]->rows, rel->tuples);
		root->simple_rel_array[varno] = rel;
	}
	e->root = root;
}

static double
selectivity(Estimate *e, List *quals)
{
	return quals == NIL ? 1.0 : clauselist_selectivity(e->root, quals, 0, JOIN_INNER, NULL);
}

/*
 * Different values of some expressions over input i: as they are, and traced.
 */
static double
values(Estimate *e, int i, List *exprs, List *trace, bool unknown)
{
	const DdirRel *input = e->rel->input[i];
	Bitmapset  *columns = NULL;
	double		n;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		if (IsA(lfirst(lc), Var))
			columns = bms_add_member(columns, ((Var *) lfirst(lc))->varattno);
	}
	if (exprs == NIL)
		return 1;
	if (ddir_rel_is_unique(input, columns))
		return Max(input->rows, 1);
	/* Params are constants to it */
	n = estimate_num_groups(e->root, trace, Max(input->rows, 1), NULL, NULL);
	if (unknown)
		n *= VALUES_UNKNOWN;
	return Max(Min(n, input->rows), 1);
}

/*
 * Joins
 */

typedef struct JoinQual
{
	uint64		inputs;			/* all, if it can raise an error: it comes
								 * last */
	double		selectivity;
} JoinQual;

/* A side of an equality. */
typedef struct JoinMember
{
	int			input;
	Expr	   *expr;
	List	   *trace;			/* of one */
	bool		unknown;
	int			cls;
} JoinMember;

typedef struct JoinSet
{
	uint64		inputs;			/* the key */
	double		rows;
} JoinSet;

struct DdirJoinEstimate
{
	MemoryContext cxt;
	Oid			owner;
	Estimate	e;
	int			nquals;
	JoinQual   *qual;
	int			nmembers;
	JoinMember *member;
	HTAB	   *sets;			/* of JoinSet: estimated already */
};

static void
add_inputs(Var *var, void *arg)
{
	uint64	   *inputs = arg;

	*inputs |= UINT64CONST(1) << (var->varno - 1);
}

static int
join_member(DdirJoinEstimate *e, int input, Expr *expr)
{
	JoinMember *m;

	for (int i = 0; i < e->nmembers; i++)
		if (e->member[i].input == input && equal(e->member[i].expr, expr))
			return i;
	m = &e->member[e->nmembers];
	m->input = input;
	m->expr = expr;
	m->trace = traced(&e->e, list_make1(expr), &m->unknown);
	m->cls = e->nmembers;
	return e->nmembers++;
}

static uint64
all_inputs(const DdirRel *join)
{
	return ~UINT64CONST(0) >> (64 - join->ninputs);
}

DdirJoinEstimate *
ddir_estimate_join(DdirRel *join, Oid owner)
{
	DdirJoinEstimate *e = palloc0(sizeof(DdirJoinEstimate));
	HASHCTL		ctl = {0};
	List	   *quals;
	DdirActing	acting;
	ListCell   *lc;

	e->cxt = CurrentMemoryContext;
	e->owner = owner;
	e->e.rel = join;
	ctl.keysize = sizeof(uint64);
	ctl.entrysize = sizeof(JoinSet);
	ctl.hcxt = CurrentMemoryContext;
	e->sets = hash_create("ddir join estimate", 64, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	e->member = palloc0(sizeof(JoinMember) * (2 * list_length(join->equalities) + 1));
	foreach(lc, join->equalities)
	{
		DdirEquality *eq = lfirst(lc);
		int			l = join_member(e, eq->left, eq->left_expr);
		int			r = join_member(e, eq->right, eq->right_expr);
		int			from = e->member[r].cls;

		for (int i = 0; i < e->nmembers; i++)
			if (e->member[i].cls == from)
				e->member[i].cls = e->member[l].cls;
	}
	quals = traced(&e->e, join->quals, NULL);
	make_range_table(&e->e);

	acting = ddir_act_as(owner);
	e->qual = palloc0(sizeof(JoinQual) * (list_length(quals) + 1));
	foreach(lc, quals)
	{
		JoinQual   *q = &e->qual[e->nquals++];
		Node	   *qual = list_nth(join->quals, foreach_current_index(lc));

		if (ddir_expr_is_total(qual))
			ddir_vars_visit(qual, add_inputs, &q->inputs);
		else
			q->inputs = all_inputs(join);
		q->selectivity = selectivity(&e->e, list_make1(lfirst(lc)));
	}
	ddir_act_back(&acting);
	return e;
}

/* Values of one input's members of the classes listed. */
static double
input_values(DdirJoinEstimate *e, int input, List *classes)
{
	List	   *exprs = NIL;
	List	   *trace = NIL;
	Bitmapset  *taken = NULL;
	bool		unknown = false;

	for (int i = 0; i < e->nmembers; i++)
	{
		JoinMember *m = &e->member[i];

		if (m->input != input || !list_member_int(classes, m->cls) ||
			bms_is_member(m->cls, taken))
			continue;
		taken = bms_add_member(taken, m->cls);
		exprs = lappend(exprs, m->expr);
		trace = list_concat(trace, list_copy(m->trace));
		unknown = unknown || m->unknown;
	}
	return values(&e->e, input, exprs, trace, unknown);
}

/* Classes with members both in the input and in the set. */
static List *
common_classes(DdirJoinEstimate *e, int input, uint64 set)
{
	List	   *classes = NIL;

	for (int i = 0; i < e->nmembers; i++)
		for (int j = 0; j < e->nmembers; j++)
			if (e->member[i].input == input && e->member[j].cls == e->member[i].cls &&
				(set >> e->member[j].input & 1) != 0)
				classes = list_append_unique_int(classes, e->member[i].cls);
	return classes;
}

/*
 * How many values the set has of these classes: each counted in the first input
 * that has it, those of one input together.
 */
static double
set_values(DdirJoinEstimate *e, uint64 set, List *classes)
{
	double		n = 1;

	classes = list_copy(classes);
	for (int i = 0; i < e->e.rel->ninputs && classes != NIL; i++)
	{
		List	   *here;
		ListCell   *lc;

		if ((set >> i & 1) == 0)
			continue;
		here = NIL;
		for (int m = 0; m < e->nmembers; m++)
			if (e->member[m].input == i && list_member_int(classes, e->member[m].cls))
				here = list_append_unique_int(here, e->member[m].cls);
		if (here == NIL)
			continue;
		n *= input_values(e, i, here);
		foreach(lc, here)
		{
			classes = list_delete_int(classes, lfirst_int(lc));
		}
	}
	return n;
}

static double
set_rows(DdirJoinEstimate *e, uint64 set)
{
	JoinSet    *entry;
	int			last = -1;
	List	   *classes = NIL;
	uint64		rest;
	double		rows;

	check_stack_depth();
	entry = hash_search(e->sets, &set, HASH_FIND, NULL);
	if (entry)
		return entry->rows;

	/* the last input that is joined with the others, if any is */
	for (int i = e->e.rel->ninputs - 1; i >= 0 && classes == NIL; i--)
	{
		if ((set >> i & 1) == 0)
			continue;
		classes = common_classes(e, i, set & ~(UINT64CONST(1) << i));
		if (classes != NIL || last < 0)
			last = i;
	}
	rest = set & ~(UINT64CONST(1) << last);
	rows = Max(e->e.rel->input[last]->rows, 1);
	if (rest != 0)
	{
		double		before = set_rows(e, rest);

		rows *= before;
		if (classes != NIL)
			rows /= Max(Min(set_values(e, rest, classes), before),
						input_values(e, last, classes));
	}
	for (int i = 0; i < e->nquals; i++)
		if ((e->qual[i].inputs & ~set) == 0 &&
			((e->qual[i].inputs & ~rest) != 0 || (e->qual[i].inputs == 0 && rest == 0)))
			rows *= e->qual[i].selectivity;

	entry = hash_search(e->sets, &set, HASH_ENTER, NULL);
	entry->rows = Max(rows, 1);
	return entry->rows;
}

double
ddir_estimate_join_rows(DdirJoinEstimate *e, uint64 inputs)
{
	MemoryContext old = MemoryContextSwitchTo(e->cxt);
	DdirActing	acting = ddir_act_as(e->owner);
	double		rows = set_rows(e, inputs);

	ddir_act_back(&acting);
	MemoryContextSwitchTo(old);
	return rows;
}

/*
 * Relations
 */

static double
map_rows(DdirRel *rel)
{
	Estimate	e = {rel};
	List	   *quals = traced(&e, rel->quals, NULL);

	make_range_table(&e);
	return rel->input[0]->rows * selectivity(&e, quals);
}

/* What the server expects of functions it knows nothing of, but no more than ... */
#define FUNCTION_ROWS_MAX 10

static double
function_rows(Node *expr)
{
	HeapTuple	tuple = NULL;
	double		rows = 1;

	if (IsA(expr, FuncExpr) && ((FuncExpr *) expr)->funcretset)
		tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(((FuncExpr *) expr)->funcid));
	if (HeapTupleIsValid(tuple))
	{
		rows = Min(((Form_pg_proc) GETSTRUCT(tuple))->prorows, FUNCTION_ROWS_MAX);
		ReleaseSysCache(tuple);
	}
	return rows;
}

static double
flatmap_rows(DdirRel *rel)
{
	double		most = 1;
	ListCell   *lc;

	foreach(lc, rel->functions)
	{
		most = Max(most, function_rows(lfirst_node(RangeTblFunction, lc)->funcexpr));
	}
	return rel->input[0]->rows * most;
}

static double
reduce_rows(DdirRel *rel)
{
	Estimate	e = {rel};
	List	   *exprs = ddir_key_exprs(rel->keys);
	List	   *trace;
	bool		unknown;

	trace = traced(&e, exprs, &unknown);
	make_range_table(&e);
	return values(&e, 0, exprs, trace, unknown);
}

static double
topk_rows(DdirRel *rel)
{
	double		groups = rel->keys ? reduce_rows(rel) : 1;

	return rel->limit < 0 ? rel->input[0]->rows : Min(groups * rel->limit, rel->input[0]->rows);
}

static double
estimated_rows(DdirRel *rel, Oid owner)
{
	double		rows = 0;

	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			return rel->rows;
		case DDIR_REL_CONSTANT:
			return list_length(rel->constants);
		case DDIR_REL_MAP:
		case DDIR_REL_SCHEDULE:
			return map_rows(rel);
		case DDIR_REL_FLATMAP:
			return flatmap_rows(rel);
		case DDIR_REL_JOIN:
			return ddir_estimate_join_rows(ddir_estimate_join(rel, owner), all_inputs(rel));
		case DDIR_REL_ANTI:
			return rel->input[0]->rows * ANTI_SELECTIVITY;
		case DDIR_REL_REDUCE:
			return reduce_rows(rel);
		case DDIR_REL_UNION:
			/* what is taken away is among the rest, and rarely most of it */
			for (int i = 0; i < rel->ninputs; i++)
				if (rel->input[i]->kind != DDIR_REL_NEGATE)
					rows += rel->input[i]->rows;
			return rows;
		case DDIR_REL_NEGATE:
		case DDIR_REL_THRESHOLD:
		case DDIR_REL_VALID:
			return rel->input[0]->rows;
		case DDIR_REL_TOPK:
			return topk_rows(rel);
		case DDIR_REL_WINDOW:
			return rel->input[0]->rows;
		case DDIR_REL_ERRORS:
			return 1;
	}
	return 1;
}

double
ddir_estimate_distinct(const DdirRel *rel, Bitmapset *columns)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir estimate",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirRel    *inputs[1] = {unconstify(DdirRel *, rel)};
	DdirRel		all = {.kind = DDIR_REL_MAP,.ninputs = 1,.input = inputs};
	Estimate	e = {&all};
	List	   *exprs = NIL;
	List	   *trace;
	bool		unknown;
	double		rows;
	int			a = -1;

	while ((a = bms_next_member(columns, a)) >= 0)
		exprs = lappend(exprs, ddir_rel_var(0, rel, a));
	trace = traced(&e, exprs, &unknown);
	make_range_table(&e);
	rows = values(&e, 0, exprs, trace, unknown);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return rows;
}

void
ddir_estimate_one(DdirRel *root, Oid owner)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir estimate",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirActing	acting = ddir_act_as(owner);

	root->rows = Max(estimated_rows(root, owner), 1);
	ddir_act_back(&acting);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

void
ddir_estimate(DdirRel *root, Oid owner)
{
	ListCell   *lc;

	foreach(lc, ddir_rels_in_order(root, NULL))
	{
		ddir_estimate_one(lfirst(lc), owner);
	}
}

double
ddir_exprs_width(const List *exprs)
{
	double		width = 0;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		width += get_typavgwidth(exprType(lfirst(lc)), exprTypmod(lfirst(lc)));
	}
	return width;
}

double
ddir_estimate_width(const DdirRel *rel, AttrNumber a)
{
	const DdirColumnType *col = &rel->type->col[a - 1];
	const DdirRel *scan;
	int32		width = 0;

	if (!OidIsValid(col->typid))
		return 0;
	if (col->typlen > 0)
		return col->typlen;
	scan = plain_column(rel, &a);
	if (scan)
		width = get_attavgwidth(scan->relid, a);
	return width > 0 ? width : get_typavgwidth(col->typid, col->typmod);
}

/*
 * Uniqueness
 */

/* The index is unique, whole, and its columns are among these. */
static bool
covers_unique_index(Oid indexid, const Bitmapset *columns)
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
			bms_is_member(form->indkey.values[i], columns);
	ReleaseSysCache(tup);
	return covered;
}

/*
 * No lock: somebody may hold one for any time, and nothing but the estimated
 * cost depends on it.
 */
static bool
table_unique(Oid relid, const Bitmapset *columns)
{
	Relation	rel = RelationIdGetRelation(relid);
	bool		unique = false;
	ListCell   *lc;

	if (rel == NULL)
		return false;
	foreach(lc, RelationGetIndexList(rel))
	{
		unique = unique || covers_unique_index(lfirst_oid(lc), columns);
	}
	RelationClose(rel);
	return unique;
}

bool
ddir_rel_is_unique(const DdirRel *rel, Bitmapset *columns)
{
	Bitmapset  *below = NULL;
	int			a = -1;

	check_stack_depth();
	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			return table_unique(rel->relid, columns);
		case DDIR_REL_MAP:
		case DDIR_REL_SCHEDULE:
			while ((a = bms_next_member(columns, a)) >= 0)
			{
				Node	   *target = list_nth(rel->targets, a - 1);

				if (IsA(target, Var))
					below = bms_add_member(below, ((Var *) target)->varattno);
			}
			return ddir_rel_is_unique(rel->input[0], below);
		case DDIR_REL_ANTI:
		case DDIR_REL_TOPK:
			return ddir_rel_is_unique(rel->input[0], columns);
		case DDIR_REL_WINDOW:
			while ((a = bms_next_member(columns, a)) >= 0)
				if (a <= rel->input[0]->type->natts)
					below = bms_add_member(below, a);
			return ddir_rel_is_unique(rel->input[0], below);
		case DDIR_REL_REDUCE:
			for (int i = 1; i <= list_length(rel->keys); i++)
				if (!bms_is_member(i, columns))
					return false;
			return true;
		default:
			return false;
	}
}
