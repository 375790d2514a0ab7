/*-------------------------------------------------------------------------
 *
 * ir.c
 *	  Making relations of DDIR, and their row types.
 *
 * A constructor checks that what it is given fits together: expressions only
 * mention columns that the inputs have, and the sides of an equality are over
 * the input they are said to be over.  So a mistake shows where it is made and
 * not in a worker.
 *
 * Memory: everything is in CurrentMemoryContext; expressions are not copied.
 *
 * src/plan/ir.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "plan/ir.h"
#include "rows/flatmap.h"
#include "rows/program.h"

/*
 * Expressions
 */

typedef struct MapContext
{
	DdirVarFn	fn;
	void	   *arg;
} MapContext;

static Node *
map_mutator(Node *node, void *arg)
{
	MapContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return cx->fn((Var *) node, cx->arg);
	return expression_tree_mutator(node, map_mutator, arg);
}

Node *
ddir_vars_map(Node *expr, DdirVarFn fn, void *arg)
{
	MapContext	cx = {fn, arg};

	return map_mutator(expr, &cx);
}

typedef struct VisitContext
{
	DdirVarVisit fn;
	void	   *arg;
} VisitContext;

static bool
visit_walker(Node *node, void *arg)
{
	VisitContext *cx = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		cx->fn((Var *) node, cx->arg);
		return false;
	}
	return expression_tree_walker(node, visit_walker, arg);
}

void
ddir_vars_visit(Node *expr, DdirVarVisit fn, void *arg)
{
	VisitContext cx = {fn, arg};

	visit_walker(expr, &cx);
}

/* What expressions may mention, and what they are over. */
typedef struct CheckContext
{
	int			n;
	DdirRel    *const *input;
	Bitmapset  *seen;			/* inputs, from 0 */
} CheckContext;

static void
check_var(Var *var, void *arg)
{
	CheckContext *cx = arg;
	int			i = var->varno - 1;

	if (var->varlevelsup != 0 || i < 0 || i >= cx->n)
		elog(ERROR, "column of input %d in an expression over %d inputs", i, cx->n);
	if (var->varattno < 1 || var->varattno > cx->input[i]->type->natts)
		elog(ERROR, "column %d of an input with %d columns", var->varattno,
			 cx->input[i]->type->natts);
	if (var->vartype != cx->input[i]->type->col[var->varattno - 1].typid)
		elog(ERROR, "column %d of input %d is of type %u, not %u", var->varattno, i,
			 cx->input[i]->type->col[var->varattno - 1].typid, var->vartype);
	cx->seen = bms_add_member(cx->seen, i);
}

static Bitmapset *
check_expr(Node *expr, int n, DdirRel *const *input)
{
	CheckContext cx = {n, input, NULL};

	ddir_vars_visit(expr, check_var, &cx);
	return cx.seen;
}

static void
check_equalities(List *equalities, int n, DdirRel *const *input)
{
	ListCell   *lc;

	foreach(lc, equalities)
	{
		DdirEquality *eq = lfirst(lc);
		Bitmapset  *left = check_expr((Node *) eq->left_expr, n, input);
		Bitmapset  *right = check_expr((Node *) eq->right_expr, n, input);

		if (eq->left == eq->right || eq->left < 0 || eq->left >= n ||
			eq->right < 0 || eq->right >= n)
			elog(ERROR, "equality of inputs %d and %d of %d", eq->left, eq->right, n);
		if (!bms_is_subset(left, bms_make_singleton(eq->left)) ||
			!bms_is_subset(right, bms_make_singleton(eq->right)))
			elog(ERROR, "a side of an equality is over another input");
	}
}

Var *
ddir_rel_var(int i, const DdirRel *of, AttrNumber a)
{
	const DdirColumnType *col;

	if (a < 1 || a > of->type->natts)
		elog(ERROR, "column %d of a relation with %d columns", a, of->type->natts);
	col = &of->type->col[a - 1];
	if (!OidIsValid(col->typid))
		elog(ERROR, "column %d has been dropped", a);
	return makeVar(i + 1, a, col->typid, col->typmod, col->collation, 0);
}

List *
ddir_rel_columns(int i, const DdirRel *of)
{
	List	   *columns = NIL;

	for (int a = 1; a <= of->type->natts; a++)
	{
		if (OidIsValid(of->type->col[a - 1].typid))
			columns = lappend(columns, ddir_rel_var(i, of, a));
		else
			columns = lappend(columns, makeNullConst(INT4OID, -1, InvalidOid));
	}
	return columns;
}

/*
 * Relations
 */

static DdirRel *
make_rel(DdirRelKind kind, int n, DdirRel *const *inputs)
{
	DdirRel    *rel = palloc0(sizeof(DdirRel));

	rel->kind = kind;
	rel->ninputs = n;
	rel->input = palloc(sizeof(DdirRel *) * Max(n, 1));
	for (int i = 0; i < n; i++)
		rel->input[i] = inputs[i];
	rel->rows = 1;
	return rel;
}

DdirRel *
ddir_rel_scan(Oid relid, bool is_view, Bitmapset *used, double rows)
{
	DdirRel    *rel = make_rel(DDIR_REL_SCAN, 0, NULL);
	Relation	relation = relation_open(relid, AccessShareLock);

	rel->type = ddir_rowtype_from_tupdesc(RelationGetDescr(relation));
	relation_close(relation, NoLock);
	rel->relid = relid;
	rel->is_view = is_view;
	rel->used = used;
	rel->rows = Max(rows, 1);
	return rel;
}

DdirRel *
ddir_rel_constant(DdirRowType *type, List *rows)
{
	DdirRel    *rel = make_rel(DDIR_REL_CONSTANT, 0, NULL);
	ListCell   *lc;

	foreach(lc, rows)
	{
		if (list_length(lfirst(lc)) != type->natts)
			elog(ERROR, "a constant row of %d columns, not %d", list_length(lfirst(lc)),
				 type->natts);
	}
	rel->type = type;
	rel->constants = rows;
	return rel;
}

static DdirRel *
map_of_kind(DdirRelKind kind, DdirRel *input, List *quals, List *targets)
{
	DdirRel    *rel = make_rel(kind, 1, &input);

	check_expr((Node *) quals, 1, &input);
	check_expr((Node *) targets, 1, &input);
	rel->quals = quals;
	rel->targets = targets;
	rel->type = ddir_rowtype_from_exprs(targets);
	return rel;
}

DdirRel *
ddir_rel_map(DdirRel *input, List *quals, List *targets)
{
	return map_of_kind(DDIR_REL_MAP, input, quals, targets);
}

DdirRel *
ddir_rel_schedule(DdirRel *input, List *quals, List *targets)
{
	return map_of_kind(DDIR_REL_SCHEDULE, input, quals, targets);
}

/* As expressions, for their types: the columns of a function in FROM. */
static List *
function_columns(RangeTblFunction *function)
{
	TupleDesc	desc = ddir_function_desc(function);
	List	   *columns = NIL;

	for (int i = 0; i < function->funccolcount; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			columns = lappend(columns, makeNullConst(INT4OID, -1, InvalidOid));
		else
			columns = lappend(columns, makeNullConst(att->atttypid, att->atttypmod,
													 att->attcollation));
	}
	return columns;
}

DdirRel *
ddir_rel_flatmap(DdirRel *input, List *targets, List *functions, bool values, bool ordinality,
				 bool outer)
{
	DdirRel    *rel = make_rel(DDIR_REL_FLATMAP, 1, &input);
	List	   *columns = list_copy(targets);
	ListCell   *lc;

	check_expr((Node *) targets, 1, &input);
	check_expr((Node *) functions, 1, &input);
	rel->targets = targets;
	rel->functions = functions;
	rel->values = values;
	rel->ordinality = ordinality;
	rel->outer = outer;
	foreach(lc, functions)
	{
		RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);

		if (values && exprType(function->funcexpr) != RECORDOID)
			columns = lappend(columns, function->funcexpr);
		else
			columns = list_concat(columns, function_columns(function));
	}
	if (ordinality)
		columns = lappend(columns, makeNullConst(INT8OID, -1, InvalidOid));
	rel->type = ddir_rowtype_from_exprs(columns);
	return rel;
}

DdirRel *
ddir_rel_join(int n, DdirRel *const *inputs, List *equalities, List *quals, List *targets)
{
	DdirRel    *rel = make_rel(DDIR_REL_JOIN, n, inputs);

	if (n < 2)
		elog(ERROR, "a join of %d inputs", n);
	check_equalities(equalities, n, inputs);
	check_expr((Node *) quals, n, inputs);
	check_expr((Node *) targets, n, inputs);
	rel->equalities = equalities;
	rel->quals = quals;
	rel->targets = targets;
	rel->type = ddir_rowtype_from_exprs(targets);
	return rel;
}

DdirRel *
ddir_rel_anti(DdirRel *left, DdirRel *right, List *equalities, List *quals)
{
	DdirRel    *inputs[2] = {left, right};
	DdirRel    *rel = make_rel(DDIR_REL_ANTI, 2, inputs);
	ListCell   *lc;

	check_equalities(equalities, 2, inputs);
	check_expr((Node *) quals, 2, inputs);
	foreach(lc, equalities)
	{
		if (((DdirEquality *) lfirst(lc))->left != 0)
			elog(ERROR, "an antijoin's equality does not start on its left");
	}
	rel->equalities = equalities;
	rel->quals = quals;
	rel->type = left->type;
	return rel;
}

List *
ddir_key_exprs(const List *keys)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, keys)
	{
		exprs = lappend(exprs, ((DdirGroupKey *) lfirst(lc))->expr);
	}
	return exprs;
}

DdirRel *
ddir_rel_reduce(DdirRel *input, List *keys, List *aggs, bool global)
{
	DdirRel    *rel = make_rel(DDIR_REL_REDUCE, 1, &input);
	List	   *exprs = list_concat(ddir_key_exprs(keys), aggs);

	if (global && keys != NIL)
		elog(ERROR, "a reduction to one row has keys");
	check_expr((Node *) exprs, 1, &input);
	rel->keys = keys;
	rel->aggs = aggs;
	rel->global = global;

	rel->type = ddir_rowtype_from_exprs(exprs);
	return rel;
}

DdirRel *
ddir_rel_union(int n, DdirRel *const *inputs)
{
	DdirRel    *rel = make_rel(DDIR_REL_UNION, n, inputs);

	if (n < 1)
		elog(ERROR, "a union of nothing");
	for (int i = 0; i < n; i++)
	{
		if (inputs[i]->type->natts != inputs[0]->type->natts)
			elog(ERROR, "a union of rows with %d and %d columns", inputs[0]->type->natts,
				 inputs[i]->type->natts);
		for (int a = 0; a < inputs[0]->type->natts; a++)
			if (inputs[i]->type->col[a].typid != inputs[0]->type->col[a].typid)
				elog(ERROR, "column %d of a union is of types %u and %u", a + 1,
					 inputs[0]->type->col[a].typid, inputs[i]->type->col[a].typid);
	}
	rel->type = inputs[0]->type;
	return rel;
}

DdirRel *
ddir_rel_negate(DdirRel *input)
{
	DdirRel    *rel = make_rel(DDIR_REL_NEGATE, 1, &input);

	rel->type = input->type;
	return rel;
}

DdirRel *
ddir_rel_valid(DdirRel *input)
{
	DdirRel    *rel = make_rel(DDIR_REL_VALID, 1, &input);

	rel->type = input->type;
	return rel;
}

DdirRel *
ddir_rel_errors(DdirRel *input)
{
	DdirRel    *rel = make_rel(DDIR_REL_ERRORS, 1, &input);

	rel->type = ddir_rowtype_copy(ddir_error_rowtype());
	return rel;
}

/*
 * Rows are the same if their images are; each appears max(0, n) times, n being
 * how often the input has it.
 */
DdirRel *
ddir_rel_threshold(DdirRel *input)
{
	DdirRel    *rel = make_rel(DDIR_REL_THRESHOLD, 1, &input);

	rel->type = input->type;
	return rel;
}

DdirRel *
ddir_rel_topk(DdirRel *input, List *keys, List *order, int64 limit, int64 offset, bool ties)
{
	DdirRel    *rel = make_rel(DDIR_REL_TOPK, 1, &input);
	ListCell   *lc;

	foreach(lc, keys)
	{
		check_expr((Node *) ((DdirGroupKey *) lfirst(lc))->expr, 1, &input);
	}
	foreach(lc, order)
	{
		check_expr((Node *) ((DdirOrderKey *) lfirst(lc))->expr, 1, &input);
	}
	rel->keys = keys;
	rel->order = order;
	rel->limit = limit;
	rel->offset = offset;
	rel->ties = ties;
	rel->type = input->type;
	return rel;
}

DdirRel *
ddir_rel_window(DdirRel *input, List *keys, List *order, WindowClause *frame, List *funcs)
{
	DdirRel    *rel = make_rel(DDIR_REL_WINDOW, 1, &input);
	ListCell   *lc;

	foreach(lc, keys)
	{
		check_expr((Node *) ((DdirGroupKey *) lfirst(lc))->expr, 1, &input);
	}
	foreach(lc, order)
	{
		check_expr((Node *) ((DdirOrderKey *) lfirst(lc))->expr, 1, &input);
	}
	check_expr((Node *) funcs, 1, &input);
	rel->keys = keys;
	rel->order = order;
	rel->frame = frame;
	rel->funcs = funcs;
	rel->type = ddir_rowtype_from_exprs(list_concat(ddir_rel_columns(0, input), funcs));
	return rel;
}
