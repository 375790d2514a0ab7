/*-------------------------------------------------------------------------
 *
 * srf.c
 *	  Functions that return rows, in FROM and in the select list.
 *
 * A function in FROM is a flat map of what is before it: the open FROM is closed
 * to one input, and each of its rows is joined with those that the function
 * returns for it.  Nothing is kept for that.  A function that refers to nothing
 * is a flat map of one empty row.  Functions that return just one value are
 * further columns of the row.
 *
 * In a select list the functions that stand inside of others come first.  Those
 * of a depth are run side by side:
 *
 *	SELECT f(g(x)), h(x)		flat map of x by g(x), h(x)
 *								flat map of that by f(g)
 *
 * A function in FROM written in SQL is, where the server has it so, the query
 * that it stands for.
 *
 * src/plan/srf.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/clauses.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "base/compat.h"
#include "plan/lowering.h"
#include "rows/flatmap.h"

/*
 * In FROM
 */

void
ddir_inline_functions(DdirLevel *level)
{
	PlannerGlobal *global = makeNode(PlannerGlobal);
	PlannerInfo *root = makeNode(PlannerInfo);
	ListCell   *lc;

	root->glob = global;

	root->parse = level->query;
	foreach(lc, level->query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		Query	   *query;

		if (rte->rtekind != RTE_FUNCTION)
			continue;
		query = inline_set_returning_function(root, rte);
		if (query == NULL)
			continue;
		ddir_clock_refuse_within(level->run, query);
		rte->rtekind = RTE_SUBQUERY;
		rte->subquery = query;
		rte->functions = NIL;
	}
	level->run->checked.inlined = list_concat(level->run->checked.inlined, global->invalItems);
}

/* One value for one row, whatever it is given? */
static bool
is_value(RangeTblFunction *function)
{
	Oid			type;
	TupleDesc	desc;

	return !expression_returns_set(function->funcexpr) && function->funccoltypes == NIL &&
		get_expr_result_type(function->funcexpr, &type, &desc) == TYPEFUNC_SCALAR;
}

static bool
all_values(List *functions)
{
	ListCell   *lc;

	foreach(lc, functions)
	{
		if (!is_value(lfirst(lc)))
			return false;
	}
	return true;
}

static DdirRel *
map_values(DdirRel *input, List *functions, bool ordinality)
{
	List	   *targets = ddir_rel_columns(0, input);
	ListCell   *lc;

	foreach(lc, functions)
	{
		targets = lappend(targets, lfirst_node(RangeTblFunction, lc)->funcexpr);
	}
	if (ordinality)
		targets = lappend(targets, makeConst(INT8OID, -1, InvalidOid, sizeof(int64),
											 Int64GetDatum(1), false, FLOAT8PASSBYVAL));
	return ddir_rel_map(input, NIL, targets);
}

/* Names of the input's columns, then these. */
static List *
names_behind(DdirRel *input, List *names)
{
	List	   *all = NIL;
	ListCell   *lc;

	for (int a = 1; a <= input->type->natts; a++)
		all = lappend(all, ddir_rel_column_name(input, a));
	foreach(lc, names)
	{
		all = lappend(all, pstrdup(strVal(lfirst(lc))));
	}
	return all;
}

/* The functions with all that an expression needs to be one of the level's. */
static List *
lower_calls(DdirLevel *level, RangeTblEntry *rte, DdirFrom *from)
{
	List	   *functions = NIL;
	ListCell   *lc;

	foreach(lc, rte->functions)
	{
		RangeTblFunction *function = copyObject(lfirst_node(RangeTblFunction, lc));
		Expr	   *expr = ddir_lower_fold(level, (Expr *) function->funcexpr);

		ddir_check_columns_read(&level->run->checked, (Node *) expr, function->funccoltypes);
		function->funcexpr = (Node *) ddir_lower_values(level, from, expr);
		functions = lappend(functions, function);
	}
	return functions;
}

void
ddir_lower_functions(DdirLevel *level, int rti, DdirFrom *from, bool outer)
{
	RangeTblEntry *rte = rt_fetch(rti, level->query->rtable);
	List	   *functions = lower_calls(level, rte, from);
	DdirPlace  *place = &level->place[rti - 1];
	DdirInput  *input;
	DdirRel    *rel;

	ddir_from_collapse(level, from);
	input = linitial(from->inputs);
	functions = (List *) ddir_from_resolve_single(level, (Expr *) functions, input);
	if (all_values(functions))
		rel = map_values(input->rel, functions, rte->funcordinality);
	else
		rel = ddir_rel_flatmap(input->rel, ddir_rel_columns(0, input->rel), functions, false,
							   rte->funcordinality, outer);
	place->input = input;
	place->offset = input->rel->type->natts;
	place->natts = rel->type->natts - place->offset;
	rel->colnames = names_behind(input->rel, rte->eref->colnames);
	input->rel = rel;
	from->rels = bms_add_member(from->rels, rti);
}

/*
 * In the select list
 */

static bool
is_srf(Node *node)
{
	return (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcretset) ||
		(IsA(node, OpExpr) && ((OpExpr *) node)->opretset);
}

static bool
is_innermost_srf(Node *node)
{
	List	   *args = IsA(node, FuncExpr) ? ((FuncExpr *) node)->args : ((OpExpr *) node)->args;

	return !expression_returns_set((Node *) args);
}

typedef struct SrfContext
{
	List	   *functions;		/* of RangeTblFunction, in the query's Vars;
								 * each once */
	int			place;			/* of their columns; 0: they are being found */
} SrfContext;

/* The first column of the call, from 0. */
static int
first_column(SrfContext *cx, Node *call)
{
	int			first = 0;
	ListCell   *lc;

	foreach(lc, cx->functions)
	{
		RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);

		if (equal(function->funcexpr, call))
			return first;
		first += function->funccolcount;
	}
	return -1;
}

/* For explain: of all their columns. */
static List *
function_names(SrfContext *cx)
{
	List	   *names = NIL;
	ListCell   *lc;

	foreach(lc, cx->functions)
	{
		RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);
		Node	   *call = function->funcexpr;
		char	   *name = IsA(call, FuncExpr) ? get_func_name(((FuncExpr *) call)->funcid) : "rows";

		for (int i = 0; i < function->funccolcount; i++)
			names = lappend(names, makeString(name));
	}
	return names;
}

static void
add_call(SrfContext *cx, Node *call)
{
	RangeTblFunction *function;

	if (first_column(cx, call) >= 0)
		return;
	function = makeNode(RangeTblFunction);
	function->funcexpr = copyObject(call);
	function->funccolcount = exprType(call) == RECORDOID ? ddir_function_desc(function)->natts : 1;
	cx->functions = lappend(cx->functions, function);
}

/* What stands for the call: a record without a type is one of its columns. */
static Node *
column_of_call(SrfContext *cx, Node *call)
{
	int			first = first_column(cx, call);
	RowExpr    *row;
	RangeTblFunction function = {.type = T_RangeTblFunction,.funcexpr = call};
	TupleDesc	desc;

	if (exprType(call) != RECORDOID)
		return (Node *) makeVar(cx->place, first + 1, exprType(call), exprTypmod(call),
								exprCollation(call), 0);
	row = makeNode(RowExpr);
	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	row->location = -1;
	desc = ddir_function_desc(&function);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		row->args = lappend(row->args, makeVar(cx->place, first + i + 1, att->atttypid,
											   att->atttypmod, att->attcollation, 0));
		row->colnames = lappend(row->colnames, makeString(pstrdup(NameStr(att->attname))));
	}
	return (Node *) row;
}

static Node *
srf_mutator(Node *node, void *arg)
{
	SrfContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (cx->place > 0 && IsA(node, FieldSelect))
	{
		FieldSelect *field = (FieldSelect *) node;
		Node	   *call = (Node *) field->arg;

		if (exprType(call) == RECORDOID && is_srf(call) && first_column(cx, call) >= 0)
			return copyObject(list_nth(((RowExpr *) column_of_call(cx, call))->args,
									   field->fieldnum - 1));
	}
	if (is_srf(node) && is_innermost_srf(node))
	{
		if (cx->place == 0)
			add_call(cx, node);
		else if (first_column(cx, node) >= 0)
			return column_of_call(cx, node);
		return copyObject(node);
	}
	return expression_tree_mutator(node, srf_mutator, arg);
}

/*
 * The expressions with columns in place of functions that return rows; what is
 * open has these rows then.
 */
List *
ddir_lower_srfs(DdirLevel *level, DdirFrom *from, List *exprs)
{
	while (expression_returns_set((Node *) exprs))
	{
		SrfContext	cx = {NIL, 0};
		List	   *functions;
		DdirInput  *input;
		DdirRel    *rel;

		srf_mutator((Node *) exprs, &cx);
		ddir_from_collapse(level, from);
		input = linitial(from->inputs);
		functions = (List *) ddir_from_resolve_single(level, (Expr *) cx.functions, input);
		rel = ddir_rel_flatmap(input->rel, ddir_rel_columns(0, input->rel), functions, true,
							   false, false);
		cx.place = ddir_level_add_place(level, input, input->rel->type->natts,
										rel->type->natts - input->rel->type->natts);
		from->rels = bms_add_member(from->rels, cx.place);
		rel->colnames = names_behind(input->rel, function_names(&cx));
		input->rel = rel;
		exprs = (List *) srf_mutator((Node *) exprs, &cx);
	}
	return exprs;
}
