/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  DDIR as text, for ddir.explain and ddir.explain_query.
 *
 * One relation a line, what it reads indented below it:
 *
 *	Map region, sum
 *	  Reduce by c.region: sum(o.amount)
 *	    Join o.customer = c.id
 *	      Scan orders (customer, amount)
 *	      Scan customers (id, region)
 *
 * A relation that is read in several places is written once and given a
 * number; the other places say "= #1".
 *
 * Expressions are written by the server, which is told that the inputs are
 * range table entries with our columns' names.
 *
 * src/plan/explain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "base/compat.h"
#include "plan/ir.h"
#include "plan/prune.h"

typedef struct ExplainContext
{
	StringInfoData out;
	List	   *shared;			/* of DdirRel *: read in several places */
	List	   *shown;			/* of DdirRel *: those written already */
} ExplainContext;

/*
 * Names
 */

/* What an expression's column is called. */
static char *
expr_name(Node *expr, const DdirRel *rel)
{
	if (IsA(expr, Var))
		return ddir_rel_column_name(rel->input[((Var *) expr)->varno - 1],
									((Var *) expr)->varattno);
	if (IsA(expr, Aggref))
		return get_func_name(((Aggref *) expr)->aggfnoid);
	if (IsA(expr, FuncExpr))
		return get_func_name(((FuncExpr *) expr)->funcid);
	if (IsA(expr, WindowFunc))
		return get_func_name(((WindowFunc *) expr)->winfnoid);
	return NULL;
}

char *
ddir_rel_column_name(const DdirRel *rel, AttrNumber a)
{
	char	   *name = NULL;

	check_stack_depth();
	if (list_length(rel->colnames) == rel->type->natts)
		return list_nth(rel->colnames, a - 1);
	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			name = get_attname(rel->relid, a, true);
			break;
		case DDIR_REL_MAP:
		case DDIR_REL_SCHEDULE:
		case DDIR_REL_JOIN:
			name = expr_name(list_nth(rel->targets, a - 1), rel);
			break;
		case DDIR_REL_FLATMAP:
			if (a <= list_length(rel->targets))
				name = expr_name(list_nth(rel->targets, a - 1), rel);
			break;
		case DDIR_REL_REDUCE:
			if (a <= list_length(rel->keys))
				name = expr_name((Node *) ((DdirGroupKey *) list_nth(rel->keys, a - 1))->expr,
								 rel);
			else
				name = expr_name(list_nth(rel->aggs, a - 1 - list_length(rel->keys)), rel);
			break;
		case DDIR_REL_ANTI:
		case DDIR_REL_UNION:
		case DDIR_REL_NEGATE:
		case DDIR_REL_THRESHOLD:
		case DDIR_REL_TOPK:
			return ddir_rel_column_name(rel->input[0], a);
		case DDIR_REL_WINDOW:
			if (a <= rel->input[0]->type->natts)
				return ddir_rel_column_name(rel->input[0], a);
			name = expr_name(list_nth(rel->funcs, a - 1 - rel->input[0]->type->natts), rel);
			break;
		case DDIR_REL_VALID:
			return ddir_rel_column_name(rel->input[0], a);
		case DDIR_REL_ERRORS:
			return a == 1 ? "sqlstate" : "message";
		case DDIR_REL_CONSTANT:
			break;
	}
	return name ? name : psprintf("column%d", a);
}

static char *
rel_name(const DdirRel *rel)
{
	check_stack_depth();
	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			return get_rel_name(rel->relid);
		case DDIR_REL_MAP:
		case DDIR_REL_SCHEDULE:
		case DDIR_REL_FLATMAP:
		case DDIR_REL_ANTI:
		case DDIR_REL_REDUCE:
		case DDIR_REL_UNION:
		case DDIR_REL_NEGATE:
		case DDIR_REL_THRESHOLD:
		case DDIR_REL_TOPK:
		case DDIR_REL_WINDOW:
		case DDIR_REL_VALID:
		case DDIR_REL_ERRORS:
			return rel_name(rel->input[0]);
		case DDIR_REL_JOIN:
			return "j";
		case DDIR_REL_CONSTANT:
			return "v";
	}
	return "r";
}

/* A name for each input, no two alike. */
static List *
input_names(const DdirRel *rel)
{
	List	   *names = NIL;

	for (int i = 0; i < rel->ninputs; i++)
	{
		char	   *base = rel_name(rel->input[i]);
		char	   *name = base;
		int			n = 1;
		ListCell   *lc;

retry:
		foreach(lc, names)
		{
			if (strcmp(lfirst(lc), name) == 0)
			{
				name = psprintf("%s_%d", base, ++n);
				goto retry;
			}
		}
		names = lappend(names, name);
	}
	return names;
}

/*
 * Expressions
 */

static List *
deparse_context(const DdirRel *rel)
{
	PlannedStmt *stmt = makeNode(PlannedStmt);
	List	   *names = input_names(rel);

	for (int i = 0; i < rel->ninputs; i++)
	{
		RangeTblEntry *rte = makeNode(RangeTblEntry);
		List	   *columns = NIL;

		for (int a = 1; a <= rel->input[i]->type->natts; a++)
			columns = lappend(columns, makeString(ddir_rel_column_name(rel->input[i], a)));
		rte->rtekind = RTE_VALUES;
		rte->eref = makeAlias(list_nth(names, i), columns);
		rte->inFromCl = true;
		stmt->rtable = lappend(stmt->rtable, rte);
	}
	return deparse_context_for_plan_tree(stmt, names);
}

static char *
expr_text(const DdirRel *rel, List *context, void *expr)
{
	return deparse_expression(expr, context, rel->ninputs > 1, false);
}

static void
append_exprs(StringInfo out, const DdirRel *rel, List *context, List *exprs,
			 const char *separator)
{
	ListCell   *lc;

	foreach(lc, exprs)
	{
		appendStringInfo(out, "%s%s", foreach_current_index(lc) > 0 ? separator : " ",
						 expr_text(rel, context, lfirst(lc)));
	}
}

/* Of the whole text, if its first parenthesis ends at its end. */
char *
ddir_text_without_parens(char *text)
{
	int			len = strlen(text);
	int			depth = 0;

	if (len < 2 || text[0] != '(' || text[len - 1] != ')')
		return text;

	for (int i = 0; i < len; i++)
	{
		/* quoted text may hold any number of them */
		if (text[i] == '\'' || text[i] == '"')
			return text;
		depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;

		if (depth == 0 && i < len - 1)
			return text;
	}
	return pnstrdup(text +1, len - 2);
}

static char *
equality_text(const DdirRel *rel, List *context, DdirEquality *eq)
{
	OpExpr	   *op = (OpExpr *) make_opclause(eq->eqop, BOOLOID, false, eq->left_expr,
											  eq->right_expr, InvalidOid, eq->collation);

	if (eq->null_safe)
		return psprintf("%s is %s", expr_text(rel, context, eq->left_expr),
						expr_text(rel, context, eq->right_expr));
	return ddir_text_without_parens(expr_text(rel, context, op));
}

static void
append_equalities(StringInfo out, const DdirRel *rel, List *context)
{
	ListCell   *lc;

	foreach(lc, rel->equalities)
	{
		appendStringInfo(out, "%s%s", foreach_current_index(lc) > 0 ? " and " : " on ",
						 equality_text(rel, context, lfirst(lc)));
	}
}

static void
append_quals(StringInfo out, const DdirRel *rel, List *context)
{
	if (rel->quals == NIL)
		return;
	appendStringInfoString(out, " where");
	append_exprs(out, rel, context, rel->quals, " and ");
}

static void
append_scan(StringInfo out, const DdirRel *rel)
{
	int			a = -1;
	bool		first = true;

	appendStringInfo(out, "Scan %s%s", rel->is_view ? "view " :
					 get_rel_relkind(rel->relid) == RELKIND_PARTITIONED_TABLE ? "partitioned " : "",
					 get_rel_name(rel->relid));
	while ((a = bms_next_member(rel->used, a)) >= 0)
	{
		appendStringInfo(out, "%s%s", first ? " (" : ", ", ddir_rel_column_name(rel, a));
		first = false;
	}
	if (!first)
		appendStringInfoChar(out, ')');
}

static void
append_reduce(StringInfo out, const DdirRel *rel, List *context)
{
	ListCell   *lc;

	appendStringInfoString(out, rel->aggs == NIL && !rel->global ? "Distinct" : "Reduce");
	foreach(lc, rel->keys)
	{
		appendStringInfo(out, "%s%s",
						 foreach_current_index(lc) > 0 ? ", " : rel->aggs ? " by " : " ",
						 expr_text(rel, context, ((DdirGroupKey *) lfirst(lc))->expr));
	}
	if (rel->global)
		appendStringInfoString(out, " to one row");
	if (rel->aggs)
		appendStringInfoChar(out, ':');
	append_exprs(out, rel, context, rel->aggs, ", ");
}

/* "order by a desc, b nulls first"; what is the default is left out */
static void
append_order(StringInfo out, const DdirRel *rel, List *context)
{
	ListCell   *lc;

	foreach(lc, rel->order)
	{
		DdirOrderKey *key = lfirst(lc);
		Oid			opfamily;
		Oid			opcintype;
		bool		descending = false;

		(void) ddir_ordering_operator(key->sortop, &opfamily, &opcintype, &descending);
		appendStringInfo(out, "%s%s%s%s", foreach_current_index(lc) > 0 ? ", " : " order by ",
						 expr_text(rel, context, key->expr), descending ? " desc" : "",
						 key->nulls_first == descending ? "" :
						 key->nulls_first ? " nulls first" : " nulls last");
	}
}

static void
append_topk(StringInfo out, const DdirRel *rel, List *context)
{
	ListCell   *lc;

	appendStringInfoString(out, "TopK");
	if (rel->limit >= 0)
		appendStringInfo(out, " " INT64_FORMAT "%s", rel->limit, rel->ties ? " with ties" : "");
	if (rel->offset > 0)
		appendStringInfo(out, " offset " INT64_FORMAT, rel->offset);
	foreach(lc, rel->keys)
	{
		appendStringInfo(out, "%s%s", foreach_current_index(lc) > 0 ? ", " : " by ",
						 expr_text(rel, context, ((DdirGroupKey *) lfirst(lc))->expr));
	}
	append_order(out, rel, context);
}

/* The frame is not shown, but for its being another than the usual one. */
static void
append_window(StringInfo out, const DdirRel *rel, List *context)
{
	ListCell   *lc;

	appendStringInfoString(out, "Window");
	foreach(lc, rel->keys)
	{
		appendStringInfo(out, "%s%s", foreach_current_index(lc) > 0 ? ", " : " by ",
						 expr_text(rel, context, ((DdirGroupKey *) lfirst(lc))->expr));
	}
	append_order(out, rel, context);
	if (rel->frame->frameOptions & FRAMEOPTION_NONDEFAULT)
		appendStringInfo(out, " over %s",
						 rel->frame->frameOptions & FRAMEOPTION_ROWS ? "rows" :
						 rel->frame->frameOptions & FRAMEOPTION_GROUPS ? "groups" : "a range");
	appendStringInfoChar(out, ':');
	foreach(lc, rel->funcs)
	{
		WindowFunc *f = lfirst_node(WindowFunc, lc);
		ListCell   *cell;

		appendStringInfo(out, "%s%s(", foreach_current_index(lc) > 0 ? ", " : " ",
						 get_func_name(f->winfnoid));
		foreach(cell, f->args)
		{
			appendStringInfo(out, "%s%s", foreach_current_index(cell) > 0 ? ", " : "",
							 expr_text(rel, context, lfirst(cell)));
		}
		appendStringInfoString(out, f->winstar ? "*)" : ")");
	}
}

/* "Flat map a, b, with unnest(c)" */
static void
append_flatmap(StringInfo out, const DdirRel *rel, List *context)
{
	ListCell   *lc;

	appendStringInfoString(out, "Flat map");
	append_exprs(out, rel, context, rel->targets, ", ");
	foreach(lc, rel->functions)
	{
		RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);

		appendStringInfo(out, "%s%s", foreach_current_index(lc) > 0 ? ", " :
						 rel->targets ? ", with " : " ",
						 expr_text(rel, context, function->funcexpr));
	}
	if (rel->ordinality)
		appendStringInfoString(out, " numbered");
	if (rel->outer)
		appendStringInfoString(out, ", or NULLs");
}

static void
append_line(StringInfo out, const DdirRel *rel)
{
	List	   *context = deparse_context(rel);

	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			append_scan(out, rel);
			break;
		case DDIR_REL_CONSTANT:
			appendStringInfo(out, "Values, %d rows", list_length(rel->constants));
			break;
		case DDIR_REL_MAP:
			appendStringInfoString(out, "Map");
			append_exprs(out, rel, context, rel->targets, ", ");
			append_quals(out, rel, context);
			break;
		case DDIR_REL_SCHEDULE:
			appendStringInfoString(out, "Schedule");
			append_exprs(out, rel, context, rel->targets, ", ");
			append_quals(out, rel, context);
			break;
		case DDIR_REL_FLATMAP:
			append_flatmap(out, rel, context);
			break;
		case DDIR_REL_JOIN:
			appendStringInfoString(out, "Join");
			append_exprs(out, rel, context, rel->targets, ", ");
			append_equalities(out, rel, context);
			append_quals(out, rel, context);
			break;
		case DDIR_REL_ANTI:
			appendStringInfoString(out, "Antijoin");
			append_equalities(out, rel, context);
			append_quals(out, rel, context);
			break;
		case DDIR_REL_REDUCE:
			append_reduce(out, rel, context);
			break;
		case DDIR_REL_UNION:
			appendStringInfoString(out, "Union");
			break;
		case DDIR_REL_NEGATE:
			appendStringInfoString(out, "Negate");
			break;
		case DDIR_REL_THRESHOLD:
			appendStringInfoString(out, "Threshold");
			break;
		case DDIR_REL_TOPK:
			append_topk(out, rel, context);
			break;
		case DDIR_REL_WINDOW:
			append_window(out, rel, context);
			break;
		case DDIR_REL_VALID:
			appendStringInfoString(out, "Valid");
			break;
		case DDIR_REL_ERRORS:
			appendStringInfoString(out, "Errors");
			break;
	}
}

static int
index_of(List *rels, const DdirRel *rel)
{
	ListCell   *lc;

	foreach(lc, rels)
	{
		if (lfirst(lc) == rel)
			return foreach_current_index(lc);
	}
	return -1;
}

static void
explain(ExplainContext *cx, DdirRel *rel, int depth)
{
	int			number = index_of(cx->shared, rel);

	check_stack_depth();
	appendStringInfoSpaces(&cx->out, 2 * depth);
	if (number >= 0 && list_member_ptr(cx->shown, rel))
	{
		appendStringInfo(&cx->out, "= #%d\n", number + 1);
		return;
	}
	if (number >= 0)
	{
		appendStringInfo(&cx->out, "#%d ", number + 1);
		cx->shown = lappend(cx->shown, rel);
	}
	append_line(&cx->out, rel);
	appendStringInfoChar(&cx->out, '\n');
	for (int i = 0; i < rel->ninputs; i++)
		explain(cx, rel->input[i], depth + 1);
}

/* A tree to be shown, knowing what stands in it several times. */
static void
start(ExplainContext *cx, DdirRel *root)
{
	List	   *refs;
	List	   *rels = ddir_rels_in_order(root, &refs);
	ListCell   *lc;

	memset(cx, 0, sizeof(*cx));
	initStringInfo(&cx->out);
	foreach(lc, rels)
	{
		DdirRel    *each = lfirst(lc);

		/* a scan is read wherever it stands */
		if (each->kind != DDIR_REL_SCAN && list_nth_int(refs, foreach_current_index(lc)) > 1)
			cx->shared = lappend(cx->shared, each);
	}
}

char *
ddir_rel_text(const DdirRel *rel)
{
	ExplainContext cx;

	start(&cx, unconstify(DdirRel *, rel));
	explain(&cx, unconstify(DdirRel *, rel), 0);
	return cx.out.data;
}

static const char *
operator_name(const DdirRel *rel)
{
	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			return "Scan";
		case DDIR_REL_CONSTANT:
			return "Values";
		case DDIR_REL_MAP:
			return "Map";
		case DDIR_REL_SCHEDULE:
			return "Schedule";
		case DDIR_REL_FLATMAP:
			return "Flat map";
		case DDIR_REL_JOIN:
			return "Join";
		case DDIR_REL_ANTI:
			return "Antijoin";
		case DDIR_REL_REDUCE:
			return rel->aggs == NIL && !rel->global ? "Distinct" : "Reduce";
		case DDIR_REL_UNION:
			return "Union";
		case DDIR_REL_NEGATE:
			return "Negate";
		case DDIR_REL_THRESHOLD:
			return "Threshold";
		case DDIR_REL_TOPK:
			return "TopK";
		case DDIR_REL_WINDOW:
			return "Window";
		case DDIR_REL_VALID:
			return "Valid";
		case DDIR_REL_ERRORS:
			return "Errors";
	}
	return "?";
}

static void
explain_json(ExplainContext *cx, DdirRel *rel)
{
	int			number = index_of(cx->shared, rel);
	StringInfoData line;

	check_stack_depth();
	if (number >= 0 && list_member_ptr(cx->shown, rel))
	{
		appendStringInfo(&cx->out, "{\"same_as\": %d}", number + 1);
		return;
	}
	appendStringInfo(&cx->out, "{\"operator\": \"%s\", ", operator_name(rel));
	if (number >= 0)
	{
		appendStringInfo(&cx->out, "\"number\": %d, ", number + 1);
		cx->shown = lappend(cx->shown, rel);
	}
	initStringInfo(&line);
	append_line(&line, rel);
	appendStringInfoString(&cx->out, "\"text\": ");
	escape_json(&cx->out, line.data);
	appendStringInfo(&cx->out, ", \"estimated_rows\": %.0f, \"inputs\": [", rel->rows);
	for (int i = 0; i < rel->ninputs; i++)
	{
		if (i > 0)
			appendStringInfoString(&cx->out, ", ");
		explain_json(cx, rel->input[i]);
	}
	appendStringInfoString(&cx->out, "]}");
}

char *
ddir_rel_json(const DdirRel *rel)
{
	ExplainContext cx;

	start(&cx, unconstify(DdirRel *, rel));
	explain_json(&cx, unconstify(DdirRel *, rel));
	return cx.out.data;
}
