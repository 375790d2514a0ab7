/*-------------------------------------------------------------------------
 *
 * from.c
 *	  FROM and WHERE: one n-ary join per level, as far as that goes.
 *
 * Conditions move down to where all they mention is: a condition of WHERE on
 * the left side of an outer join filters that side, as the server has it.
 * What arrives at an input is then placed by these rules, so that no view
 * raises an error that its query would not:
 *
 *	- a condition on one input that cannot raise an error filters the input
 *	- an equality of two inputs is one to look rows up by
 *	- everything else is tested last, in the order of the query
 *	- but where a lookup's own expression can raise an error, all conditions
 *	  on that input go before it: the server would have them in the scan
 *
 * src/plan/from.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/plancat.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "plan/lowering.h"
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

Bitmapset *
ddir_rels_in(Node *node)
{
	Bitmapset  *rels = NULL;
	ListCell   *lc;

	if (IsA(node, RangeTblRef))
		return bms_make_singleton(((RangeTblRef *) node)->rtindex);
	if (IsA(node, JoinExpr))
		return bms_join(ddir_rels_in(((JoinExpr *) node)->larg),
						ddir_rels_in(((JoinExpr *) node)->rarg));
	foreach(lc, castNode(FromExpr, node)->fromlist)
	{
		rels = bms_join(rels, ddir_rels_in(lfirst(lc)));
	}
	return rels;
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

static bool
all_total(List *exprs)
{
	return ddir_expr_is_total((Node *) exprs);
}

DdirInput *
ddir_from_single(DdirLevel *level, List *exprs)
{
	List	   *inputs = inputs_of(level, (Node *) exprs);

	return list_length(inputs) == 1 && all_total(exprs) ? linitial(inputs) : NULL;
}

/*
 * Open FROMs
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

/* Subqueries come last: their lookups are made of rows that all else passed. */
void
ddir_from_add_quals(DdirLevel *level, DdirFrom *from, List *quals)
{
	ListCell   *lc;

	foreach(lc, quals)
	{
		if (ddir_is_sublink(lfirst(lc)))
			continue;
		ddir_lower_no_sublinks(level, lfirst(lc));
		ddir_from_add_cond(from, lfirst(lc), false);
	}
	foreach(lc, quals)
	{
		if (ddir_is_sublink(lfirst(lc)))
			ddir_lower_sublink(level, from, lfirst(lc));
	}
}

static void
merge_from(DdirFrom *into, DdirFrom *from)
{
	into->inputs = list_concat(into->inputs, from->inputs);
	into->conds = list_concat(into->conds, from->conds);
	into->rels = bms_join(into->rels, from->rels);
}

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
 * The sides of a condition that rows can be looked up by, each over one input,
 * and the inputs.
 */
static bool
lookup_sides(DdirLevel *level, DdirCond *cond, Expr **side, DdirInput **input,
			 Oid *eqop, Oid *collation, bool *null_safe)
{
	Node	   *clause = (Node *) cond->clause;

	*null_safe = cond->null_safe;
	/* a IS NOT DISTINCT FROM b */
	if (is_notclause(clause) && IsA(get_notclausearg((Expr *) clause), DistinctExpr))
	{
		clause = copyObject((Node *) get_notclausearg((Expr *) clause));
		NodeSetTag(clause, T_OpExpr);
		*null_safe = true;
	}
	if (!ddir_equality_split(clause, &side[0], &side[1], eqop, collation))
		return false;
	for (int i = 0; i < 2; i++)
	{
		List	   *inputs = inputs_of(level, (Node *) side[i]);

		if (list_length(inputs) != 1)
			return false;
		input[i] = linitial(inputs);
	}
	return input[0] != input[1];
}

/* Inputs some lookup of which can raise an error. */
static List *
fragile_inputs(DdirLevel *level, DdirFrom *from)
{
	List	   *fragile = NIL;
	ListCell   *lc;

	foreach(lc, from->conds)
	{
		Expr	   *side[2];
		DdirInput  *input[2];
		Oid			eqop;
		Oid			collation;
		bool		null_safe;

		if (!lookup_sides(level, lfirst(lc), side, input, &eqop, &collation, &null_safe))
			continue;
		for (int i = 0; i < 2; i++)
			if (!ddir_expr_is_total((Node *) side[i]))
				fragile = list_append_unique_ptr(fragile, input[i]);
	}
	return fragile;
}

void
ddir_from_settle(DdirLevel *level, DdirFrom *from)
{
	List	   *fragile = fragile_inputs(level, from);
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

DdirRel *
ddir_from_close(DdirLevel *level, DdirFrom *from, List *targets)
{
	DdirRel   **rels = palloc(sizeof(DdirRel *) * (list_length(from->inputs) + 1));
	List	   *equalities = NIL;
	List	   *quals = NIL;
	int			n = 0;
	ListCell   *lc;

	ddir_from_settle(level, from);
	foreach(lc, from->inputs)
	{
		DdirInput  *input = lfirst(lc);

		input->index = n;
		rels[n++] = input->rel;
	}
	foreach(lc, from->conds)
	{
		DdirCond   *cond = lfirst(lc);
		Expr	   *side[2];
		DdirInput  *input[2];
		Oid			eqop;
		Oid			collation;
		bool		null_safe;

		if (lookup_sides(level, cond, side, input, &eqop, &collation, &null_safe))
			equalities = lappend(equalities,
								 ddir_equality_make(input[0]->index,
													(Expr *) resolve(level, (Node *) side[0]),
													input[1]->index,
													(Expr *) resolve(level, (Node *) side[1]),
													eqop, collation, null_safe));
		else if (cond->null_safe)
			elog(ERROR, "a null-safe equality is not over two inputs");
		else
			quals = lappend(quals, resolve(level, (Node *) cond->clause));
	}
	targets = (List *) resolve(level, (Node *) targets);

	if (n == 0)
		rels[0] = ddir_rel_constant(ddir_rowtype_from_exprs(NIL), list_make1(NIL));
	if (n <= 1)
		return ddir_rel_map(rels[0], quals, targets);
	return ddir_rel_join(n, rels, equalities, quals, targets);
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

/*
 * Items of FROM
 */

static DdirRel *
lower_relation(DdirLevel *level, RangeTblEntry *rte)
{
	DdirLowering *run = level->run;
	DdirLowered *result = run->result;
	Relation	relation;
	DdirRel    *scan;
	BlockNumber pages;
	double		tuples;
	double		visible;
	ListCell   *lc;

	ddir_check_relation(run->refusal, rte);
	foreach(lc, run->scans)
	{
		scan = lfirst(lc);
		if (scan->relid == rte->relid)
			return scan;
	}
	relation = relation_open(rte->relid, AccessShareLock);
	estimate_rel_size(relation, NULL, &pages, &tuples, &visible);
	relation_close(relation, NoLock);
	scan = ddir_rel_scan(rte->relid, ddir_is_view(rte->relid), NULL, tuples);
	run->scans = lappend(run->scans, scan);
	result->sources = list_append_unique_oid(result->sources, rte->relid);
	return scan;
}

static DdirRel *
lower_cte(DdirLevel *level, RangeTblEntry *rte)
{
	DdirLevel  *owner = level;
	DdirCte    *entry;
	ListCell   *lc;

	for (int i = 0; i < rte->ctelevelsup; i++)
	{
		owner = owner->parent;
		if (owner == NULL)
			elog(ERROR, "bad level of WITH query \"%s\"", rte->ctename);
	}
	foreach(lc, owner->ctes)
	{
		entry = lfirst(lc);
		if (strcmp(entry->cte->ctename, rte->ctename) == 0)
			return entry->rel;
	}
	foreach(lc, owner->query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);

		if (strcmp(cte->ctename, rte->ctename) != 0)
			continue;
		if (cte->cterecursive)
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_RECURSIVE,
							  psprintf("WITH RECURSIVE %s", cte->ctename));
		entry = palloc0(sizeof(DdirCte));
		entry->cte = cte;
		entry->rel = ddir_lower_query(level->run, owner, castNode(Query, cte->ctequery),
									  DDIR_LEVEL_WITH);
		owner->ctes = lappend(owner->ctes, entry);
		return entry->rel;
	}
	elog(ERROR, "no WITH query \"%s\"", rte->ctename);
}

/* The type of a VALUES list, which its rows have but for their modifiers. */
static DdirRowType *
values_type(RangeTblEntry *rte)
{
	int			n = list_length(rte->coltypes);
	Oid		   *typids = palloc(sizeof(Oid) * (n + 1));
	int32	   *typmods = palloc(sizeof(int32) * (n + 1));
	Oid		   *collations = palloc(sizeof(Oid) * (n + 1));

	for (int i = 0; i < n; i++)
	{
		typids[i] = list_nth_oid(rte->coltypes, i);
		typmods[i] = list_nth_int(rte->coltypmods, i);
		collations[i] = list_nth_oid(rte->colcollations, i);
	}
	return ddir_rowtype_make(n, typids, typmods, collations);
}

static List *
lower_values_row(DdirLevel *level, List *exprs, bool *constant)
{
	List	   *row = NIL;
	ListCell   *lc;

	*constant = true;
	foreach(lc, exprs)
	{
		Expr	   *expr;

		ddir_lower_no_sublinks(level, lfirst(lc));
		if (ddir_rels_of(lfirst(lc)) != NULL)
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_LATERAL, NULL);
		expr = ddir_lower_fold(level, lfirst(lc));
		*constant = *constant && IsA(expr, Const);
		row = lappend(row, expr);
	}
	return row;
}

/* Rows that are not constant even after folding are made one by one. */
static DdirRel *
lower_values(DdirLevel *level, RangeTblEntry *rte)
{
	DdirRel    *nothing = ddir_rel_constant(ddir_rowtype_from_exprs(NIL), list_make1(NIL));
	List	   *constants = NIL;
	List	   *rels = NIL;
	DdirRel   **array;
	ListCell   *lc;

	foreach(lc, rte->values_lists)
	{
		bool		constant;
		List	   *row = lower_values_row(level, lfirst(lc), &constant);

		if (constant)
			constants = lappend(constants, row);
		else
			rels = lappend(rels, ddir_rel_map(nothing, NIL, row));
	}
	if (constants)
		rels = lcons(ddir_rel_constant(values_type(rte), constants), rels);
	if (list_length(rels) == 1)
		return linitial(rels);
	array = palloc(sizeof(DdirRel *) * list_length(rels));
	foreach(lc, rels)
	{
		array[foreach_current_index(lc)] = lfirst(lc);
	}
	return ddir_rel_union(list_length(rels), array);
}

static char *
table_function_name(RangeTblEntry *rte)
{
	RangeTblFunction *f = rte->functions ? linitial(rte->functions) : NULL;

	if (rte->rtekind == RTE_TABLEFUNC)
		return "XMLTABLE in FROM";
	if (f && f->funcexpr && IsA(f->funcexpr, FuncExpr))
		return psprintf("%s() in FROM", get_func_name(((FuncExpr *) f->funcexpr)->funcid));
	return psprintf("%s in FROM", rte->eref->aliasname);
}

static DdirFrom *
lower_item(DdirLevel *level, int rti, List *quals)
{
	RangeTblEntry *rte = rt_fetch(rti, level->query->rtable);
	DdirRefusal *refusal = level->run->refusal;
	DdirFrom   *from = palloc0(sizeof(DdirFrom));
	DdirPlace  *place;
	DdirRel    *rel = NULL;
	ListCell   *lc;

	switch (rte->rtekind)
	{
		case RTE_RELATION:
			rel = lower_relation(level, rte);
			break;
		case RTE_SUBQUERY:
			rel = ddir_lower_query(level->run, level, rte->subquery, DDIR_LEVEL_FROM);
			break;
		case RTE_VALUES:
			rel = lower_values(level, rte);
			break;
		case RTE_CTE:
			rel = lower_cte(level, rte);
			break;
		default:
			ddir_refuse_query(refusal, DDIR_REFUSE_TABLE_FUNCTION, table_function_name(rte));
	}
	place = &level->place[rti - 1];
	place->input = ddir_from_add_input(from, rel);
	place->offset = 0;
	place->natts = rel->type->natts;
	from->rels = bms_make_singleton(rti);

	/* row security: nothing else sees rows before it has passed them */
	foreach(lc, rte->securityQuals)
	{
		ddir_from_add_quals(level, from, ddir_lower_conjuncts(level, lfirst(lc)));
		ddir_from_settle(level, from);
		if (from->conds != NIL)
			ddir_from_collapse(level, from);
	}
	ddir_from_add_quals(level, from, quals);
	return from;
}

/*
 * Join trees
 */

/* Take from *quals those on some of these relations and no others. */
static List *
take_quals(List **quals, Bitmapset *rels)
{
	List	   *taken = NIL;
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, *quals)
	{
		Bitmapset  *of = ddir_rels_of(lfirst(lc));

		if (!bms_is_empty(of) && bms_is_subset(of, rels))
			taken = lappend(taken, lfirst(lc));
		else
			rest = lappend(rest, lfirst(lc));
	}
	*quals = rest;
	return taken;
}

/* Inner join of all items. */
DdirFrom *
ddir_lower_inner(DdirLevel *level, List *items, List *quals, Bitmapset *nonnull)
{
	DdirFrom   *from = palloc0(sizeof(DdirFrom));
	ListCell   *lc;

	nonnull = bms_union(nonnull, find_nonnullable_rels((Node *) quals));
	foreach(lc, items)
	{
		Node	   *item = lfirst(lc);

		merge_from(from, ddir_lower_node(level, item,
										 take_quals(&quals, ddir_rels_in(item)), nonnull));
	}
	ddir_from_add_quals(level, from, quals);
	return from;
}

/* A full join is less than that if rows of NULLs are filtered out above. */
static DdirFrom *
lower_full(DdirLevel *level, JoinExpr *join, List *quals, Bitmapset *nonnull)
{
	bool		left;
	bool		right;

	nonnull = bms_union(nonnull, find_nonnullable_rels((Node *) quals));
	left = bms_overlap(nonnull, ddir_rels_in(join->larg));
	right = bms_overlap(nonnull, ddir_rels_in(join->rarg));
	if (left)
		return ddir_lower_outer(level, join->larg, join->rarg, join->quals, quals, nonnull);
	if (right)
		return ddir_lower_outer(level, join->rarg, join->larg, join->quals, quals, nonnull);
	ddir_refuse_query(level->run->refusal, DDIR_REFUSE_FULL_JOIN, NULL);
}

/*
 * Lower a join tree.  quals: of levels above, on relations of it alone.
 * nonnull: relations whose rows of NULLs, made by an outer join in it, would
 * be filtered out above; such outer joins are inner ones.
 */
DdirFrom *
ddir_lower_node(DdirLevel *level, Node *node, List *quals, Bitmapset *nonnull)
{
	JoinExpr   *join;
	List	   *on;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return lower_item(level, ((RangeTblRef *) node)->rtindex, quals);
	if (IsA(node, FromExpr))
	{
		FromExpr   *from = (FromExpr *) node;

		on = ddir_lower_conjuncts(level, from->quals);
		return ddir_lower_inner(level, from->fromlist, list_concat_copy(quals, on), nonnull);
	}

	join = castNode(JoinExpr, node);
	switch (join->jointype)
	{
		case JOIN_INNER:
			on = ddir_lower_conjuncts(level, join->quals);
			return ddir_lower_inner(level, list_make2(join->larg, join->rarg),
									list_concat_copy(quals, on), nonnull);
		case JOIN_LEFT:
			return ddir_lower_outer(level, join->larg, join->rarg, join->quals, quals,
									nonnull);
		case JOIN_RIGHT:
			return ddir_lower_outer(level, join->rarg, join->larg, join->quals, quals,
									nonnull);
		default:
			return lower_full(level, join, quals, nonnull);
	}
}

DdirFrom *
ddir_lower_from(DdirLevel *level)
{
	return ddir_lower_node(level, (Node *) level->query->jointree, NIL, NULL);
}
