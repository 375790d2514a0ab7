/*-------------------------------------------------------------------------
 *
 * openfrom.c
 *	  An open FROM: its inputs, where its conditions are tested, and the join
 *	  that it becomes when it is closed.
 *
 * Conditions arrive in the order of the query, and are placed by these rules,
 * so that no view raises an error that its query would not:
 *
 *	- a condition on one input that cannot raise an error filters the input
 *	- an equality of two inputs is one to look rows up by
 *	- everything else is tested last, in the order of the query
 *	- but where a lookup's own expression can raise an error, all conditions
 *	  on that input go before it: the server would have them in the scan
 *	- and inside a subquery that is computed for a domain, whose rows ask for
 *	  it, rows are looked up by such an expression only if there is no other
 *	  equality; its errors are those of rows that ask then (asked.c)
 *
 * src/plan/openfrom.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "rewrite/rewriteManip.h"

#include "plan/lowering.h"
#include "rows/key.h"
#include "rows/program.h"

/*
 * What expressions mention
 */

typedef struct RelsContext
{
	int			depth;			/* of subqueries around us */
	Bitmapset  *rels;
} RelsContext;

static bool
rels_walker(Node *node, void *arg)
{
	RelsContext *cx = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		if (((Var *) node)->varlevelsup == cx->depth)
			cx->rels = bms_add_member(cx->rels, ((Var *) node)->varno);
		return false;
	}
	if (IsA(node, Query))
	{
		bool		result;

		cx->depth++;
		result = query_tree_walker((Query *) node, rels_walker, arg, 0);
		cx->depth--;
		return result;
	}
	return expression_tree_walker(node, rels_walker, arg);
}

Bitmapset *
ddir_rels_of(Node *expr)
{
	RelsContext cx = {0, NULL};

	rels_walker(expr, &cx);
	return cx.rels;
}

/* Inputs that an expression is over, each once. */
static List *
inputs_of(DdirLevel *level, Node *expr)
{
	Bitmapset  *rels = ddir_rels_of(expr);
	List	   *inputs = NIL;
	int			rti = -1;

	while ((rti = bms_next_member(rels, rti)) >= 0)
	{
		if (rti > level->nplaces || level->place[rti - 1].input == NULL)
			elog(ERROR, "range table entry %d is not in this part of the query", rti);
		inputs = list_append_unique_ptr(inputs, level->place[rti - 1].input);
	}
	return inputs;
}

DdirInput *
ddir_from_single(DdirLevel *level, List *exprs)
{
	List	   *inputs = inputs_of(level, (Node *) exprs);

	return list_length(inputs) == 1 && ddir_expr_is_total((Node *) exprs) ? linitial(inputs) : NULL;
}

/*
 * What is added to it
 */

DdirInput *
ddir_from_add_input(DdirFrom *from, DdirRel *rel)
{
	DdirInput  *input = palloc0(sizeof(DdirInput));

	input->rel = rel;
	from->inputs = lappend(from->inputs, input);
	return input;
}

int
ddir_level_add_place(DdirLevel *level, DdirInput *input, int offset, int natts)
{
	level->place = repalloc(level->place, sizeof(DdirPlace) * (level->nplaces + 1));
	level->place[level->nplaces].input = input;
	level->place[level->nplaces].offset = offset;
	level->place[level->nplaces].natts = natts;
	return ++level->nplaces;
}

void
ddir_from_add_cond(DdirFrom *from, Expr *clause, bool null_safe)
{
	DdirCond   *cond = palloc0(sizeof(DdirCond));

	cond->clause = clause;
	cond->null_safe = null_safe;
	from->conds = lappend(from->conds, cond);
}

/*
 * Subqueries come last: their lookups are made of rows that all else passed.
 * Those that are values come behind those that only let rows pass.
 */
void
ddir_from_add_quals(DdirLevel *level, DdirFrom *from, List *quals)
{
	List	   *values = NIL;
	ListCell   *lc;

	foreach(lc, quals)
	{
		if (!checkExprHasSubLink(lfirst(lc)))
			ddir_from_add_cond(from, lfirst(lc), false);
	}
	foreach(lc, quals)
	{
		if (checkExprHasSubLink(lfirst(lc)) &&
			(!ddir_is_sublink(lfirst(lc)) || !ddir_lower_sublink(level, from, lfirst(lc))))
			values = lappend(values, lfirst(lc));
	}
	foreach(lc, values)
	{
		ddir_from_add_cond(from, ddir_lower_values(level, from, lfirst(lc)), false);
	}
}

void
ddir_from_merge(DdirFrom *into, DdirFrom *from)
{
	into->inputs = list_concat(into->inputs, from->inputs);
	into->conds = list_concat(into->conds, from->conds);
	into->rels = bms_join(into->rels, from->rels);
}

/*
 * Expressions over its inputs
 */

typedef struct ResolveContext
{
	DdirLevel  *level;
	DdirInput  *single;			/* it is Var(1, a); NULL: by the inputs'
								 * indexes */
} ResolveContext;

static Node *
resolve_var(Var *var, void *arg)
{
	ResolveContext *cx = arg;
	DdirPlace  *place;

	if (var->varlevelsup != 0 || var->varno < 1 || var->varno > cx->level->nplaces)
		elog(ERROR, "column of range table entry %d, level %d, is out of place",
			 var->varno, var->varlevelsup);
	place = &cx->level->place[var->varno - 1];
	if (place->input == NULL || (cx->single && place->input != cx->single) ||
		var->varattno < 1 || var->varattno > place->natts)
		elog(ERROR, "column %d of range table entry %d is not here", var->varattno,
			 var->varno);
	return (Node *) ddir_rel_var(cx->single ? 0 : place->input->index, place->input->rel,
								 place->offset + var->varattno);
}

Expr *
ddir_from_resolve_single(DdirLevel *level, Expr *expr, DdirInput *input)
{
	ResolveContext cx = {level, input};

	return (Expr *) ddir_vars_map((Node *) expr, resolve_var, &cx);
}

static Node *
resolve(DdirLevel *level, Node *expr)
{
	ResolveContext cx = {level, NULL};

	return ddir_vars_map(expr, resolve_var, &cx);
}

/*
 * Which equalities are lookups
 */

/* An equality of two inputs: its sides, each over one of them, and these. */
typedef struct Equality
{
	DdirCond   *cond;
	Expr	   *side[2];
	DdirInput  *input[2];
	Oid			eqop;
	Oid			collation;
	bool		null_safe;
} Equality;

/* The condition as one; NULL if it is none. */
static Equality *
as_equality(DdirLevel *level, DdirCond *cond)
{
	Node	   *clause = (Node *) cond->clause;
	Equality   *eq = palloc0(sizeof(Equality));

	eq->cond = cond;
	eq->null_safe = cond->null_safe;
	/* a IS NOT DISTINCT FROM b */
	if (is_notclause(clause) && IsA(get_notclausearg((Expr *) clause), DistinctExpr))
	{
		clause = copyObject((Node *) get_notclausearg((Expr *) clause));
		NodeSetTag(clause, T_OpExpr);
		eq->null_safe = true;
	}
	if (cond->null_safe && ((OpExpr *) clause)->opno == DDIR_EQUALITY_IMAGE)
	{
		eq->side[0] = linitial(((OpExpr *) clause)->args);
		eq->side[1] = lsecond(((OpExpr *) clause)->args);
		eq->eqop = DDIR_EQUALITY_IMAGE;
		eq->collation = ((OpExpr *) clause)->inputcollid;
	}
	else if (!ddir_equality_split(clause, &eq->side[0], &eq->side[1], &eq->eqop,
								  &eq->collation))
		return NULL;
	for (int i = 0; i < 2; i++)
	{
		List	   *inputs = inputs_of(level, (Node *) eq->side[i]);

		if (list_length(inputs) != 1)
			return NULL;
		eq->input[i] = linitial(inputs);
	}
	return eq->input[0] != eq->input[1] ? eq : NULL;
}

/* The rows that ask for what a subquery computes for them. */
static DdirInput *
asking_input(DdirLevel *level, DdirFrom *from)
{
	ListCell   *lc;

	if (level->kind != DDIR_LEVEL_SUBLINK)
		return NULL;
	foreach(lc, from->inputs)
	{
		DdirInput  *input = lfirst(lc);

		if (input->domain)
			return input;
	}
	return NULL;
}

/* Can that side of it raise an error that no row may have asked for? */
static bool
is_unasked(DdirLevel *level, DdirFrom *from, Equality *eq, int side)
{
	return !eq->input[side]->domain && !ddir_expr_is_total((Node *) eq->side[side]) &&
		asking_input(level, from) != NULL;
}

/* Are rows of the input looked up by the domain's, by what raises no errors? */
static bool
has_total_lookup(List *equalities, DdirInput *of)
{
	ListCell   *lc;

	foreach(lc, equalities)
	{
		Equality   *eq = lfirst(lc);

		if (((eq->input[0] == of && eq->input[1]->domain) ||
			 (eq->input[1] == of && eq->input[0]->domain)) &&
			ddir_expr_is_total((Node *) eq->side[0]) &&
			ddir_expr_is_total((Node *) eq->side[1]))
			return true;
	}
	return false;
}

/* The equalities that rows are looked up by, in the order of the conditions. */
static List *
lookups_of(DdirLevel *level, DdirFrom *from)
{
	List	   *equalities = NIL;
	List	   *lookups = NIL;
	ListCell   *lc;

	foreach(lc, from->conds)
	{
		Equality   *eq = as_equality(level, lfirst(lc));

		if (eq)
			equalities = lappend(equalities, eq);
	}
	foreach(lc, equalities)
	{
		Equality   *eq = lfirst(lc);
		bool		lookup = true;

		for (int i = 0; i < 2; i++)
			if (!eq->cond->null_safe && is_unasked(level, from, eq, i) &&
				has_total_lookup(equalities, eq->input[i]))
				lookup = false;
		if (lookup)
			lookups = lappend(lookups, eq);
	}
	return lookups;
}

/* Inputs some lookup of which can raise an error. */
static List *
fragile_inputs(List *lookups)
{
	List	   *fragile = NIL;
	ListCell   *lc;

	foreach(lc, lookups)
	{
		Equality   *eq = lfirst(lc);

		for (int i = 0; i < 2; i++)
			if (!ddir_expr_is_total((Node *) eq->side[i]))
				fragile = list_append_unique_ptr(fragile, eq->input[i]);
	}
	return fragile;
}

/*
 * Conditions that go to their input
 */

void
ddir_from_settle(DdirLevel *level, DdirFrom *from)
{
	List	   *fragile = fragile_inputs(lookups_of(level, from));
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, from->conds)
	{
		DdirCond   *cond = lfirst(lc);
		List	   *inputs = inputs_of(level, (Node *) cond->clause);
		DdirInput  *input = list_length(inputs) == 1 ? linitial(inputs) : NULL;

		if (input && !cond->null_safe &&
			(ddir_expr_is_total((Node *) cond->clause) || list_member_ptr(fragile, input)))
			input->filters = lappend(input->filters,
									 ddir_from_resolve_single(level, cond->clause, input));
		else
			rest = lappend(rest, cond);
	}
	from->conds = rest;
	foreach(lc, from->inputs)
	{
		DdirInput  *input = lfirst(lc);

		if (input->filters == NIL)
			continue;
		input->rel = ddir_rel_map(input->rel, input->filters, ddir_rel_columns(0, input->rel));
		input->filters = NIL;
	}
}

/*
 * Its end
 */

/* A side of an equality as a column behind those of its input. */
static Expr *
computed_side(DdirLevel *level, Expr *side, DdirInput *input, List **sides)
{
	side = ddir_from_resolve_single(level, side, input);
	*sides = lappend(*sides, side);
	return (Expr *) makeVar(input->index + 1,
							input->rel->type->natts + list_length(*sides),
							exprType((Node *) side), exprTypmod((Node *) side),
							exprCollation((Node *) side), 0);
}

/*
 * What failed for whoever asks: inputs that are not total stand in the join with
 * their valid rows, and all of them are in *failing.
 */
static void
take_errors_apart(DdirLevel *level, DdirFrom *from, DdirRel **rels, List **sides,
				  List **failing)
{
	ListCell   *lc;

	if (asking_input(level, from) == NULL)
		return;
	foreach(lc, from->inputs)
	{
		DdirInput  *input = lfirst(lc);
		DdirRel    *rel = rels[input->index];
		List	   *computed = sides[input->index];

		if (computed)
			rel = ddir_rel_map(rel, NIL, list_concat(ddir_rel_columns(0, rel), computed));
		else if (input->domain || ddir_rel_is_total(rel))
			continue;
		*failing = lappend(*failing, rel);
		rels[input->index] = ddir_rel_valid(rel);
	}
}

/* The lookup as an equality of the join. */
static DdirEquality *
close_lookup(DdirLevel *level, DdirFrom *from, Equality *eq, List **sides)
{
	Expr	   *side[2];

	for (int i = 0; i < 2; i++)
	{
		if (is_unasked(level, from, eq, i))
			side[i] = computed_side(level, eq->side[i], eq->input[i],
									&sides[eq->input[i]->index]);
		else
			side[i] = (Expr *) resolve(level, (Node *) eq->side[i]);
	}
	return ddir_equality_make(eq->input[0]->index, side[0], eq->input[1]->index, side[1],
							  eq->eqop, eq->collation, eq->null_safe);
}

DdirRel *
ddir_from_close(DdirLevel *level, DdirFrom *from, List *targets)
{
	DdirRel   **rels = palloc(sizeof(DdirRel *) * (list_length(from->inputs) + 1));
	List	  **sides = palloc0(sizeof(List *) * (list_length(from->inputs) + 1));
	List	   *failing = NIL;
	DdirRel    *rel;
	List	   *equalities = NIL;
	List	   *quals = NIL;
	List	   *rest;
	int			n = 0;
	ListCell   *lc;

	ddir_from_settle(level, from);
	foreach(lc, from->inputs)
	{
		DdirInput  *input = lfirst(lc);

		input->index = n;
		rels[n++] = input->rel;
	}
	rest = list_copy(from->conds);
	foreach(lc, lookups_of(level, from))
	{
		Equality   *eq = lfirst(lc);

		equalities = lappend(equalities, close_lookup(level, from, eq, sides));
		rest = list_delete_ptr(rest, eq->cond);
	}
	foreach(lc, rest)
	{
		DdirCond   *cond = lfirst(lc);

		if (cond->null_safe)
			elog(ERROR, "a null-safe equality is not over two inputs");
		quals = lappend(quals, resolve(level, (Node *) cond->clause));
	}
	targets = (List *) resolve(level, (Node *) targets);

	if (n == 0)
		rels[0] = ddir_rel_constant(ddir_rowtype_from_exprs(NIL), list_make1(NIL));
	if (n <= 1)
		return ddir_rel_map(rels[0], quals, targets);
	take_errors_apart(level, from, rels, sides, &failing);
	rel = ddir_rel_join(n, rels, equalities, quals, targets);
	foreach(lc, failing)
	{
		rel = ddir_rel_asked(rel, lfirst(lc), asking_input(level, from)->rel);
	}
	return rel;
}

/* All columns of a range table entry; those that were dropped are NULLs. */
static List *
columns_of(DdirLevel *level, int rti)
{
	DdirPlace  *place = &level->place[rti - 1];
	List	   *columns = NIL;

	for (int a = 1; a <= place->natts; a++)
	{
		DdirColumnType *col = &place->input->rel->type->col[place->offset + a - 1];

		if (OidIsValid(col->typid))
			columns = lappend(columns, makeVar(rti, a, col->typid, col->typmod,
											   col->collation, 0));
		else
			columns = lappend(columns, makeNullConst(INT4OID, -1, InvalidOid));
	}
	return columns;
}

void
ddir_from_collapse(DdirLevel *level, DdirFrom *from)
{
	List	   *targets = NIL;
	DdirRel    *rel;
	DdirInput  *input;
	int			offset = 0;
	int			rti = -1;

	while ((rti = bms_next_member(from->rels, rti)) >= 0)
		targets = list_concat(targets, columns_of(level, rti));
	rel = ddir_from_close(level, from, targets);

	/* places of inputs that the query has no name for end here */
	for (int i = 0; i < level->nplaces; i++)
		if (level->place[i].input && list_member_ptr(from->inputs, level->place[i].input))
			level->place[i].input = NULL;
	from->inputs = NIL;
	from->conds = NIL;
	input = ddir_from_add_input(from, rel);
	rti = -1;
	while ((rti = bms_next_member(from->rels, rti)) >= 0)
	{
		level->place[rti - 1].input = input;
		level->place[rti - 1].offset = offset;
		offset += level->place[rti - 1].natts;
	}
}

DdirInput *
ddir_from_input_of(DdirLevel *level, DdirFrom *from, List *exprs)
{
	DdirInput  *input = ddir_from_single(level, exprs);

	if (input == NULL || !list_member_ptr(from->inputs, input))
	{
		ddir_from_collapse(level, from);
		input = linitial(from->inputs);
	}
	ddir_from_settle(level, from);
	return input;
}
