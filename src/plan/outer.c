/*-------------------------------------------------------------------------
 *
 * outer.c
 *	  Outer joins, as inner joins with one side completed.
 *
 * L LEFT JOIN R ON L.k = R.k is L joined with X, where X is the union of
 *
 *	R'	(k, columns of R)	R's rows with non-NULL k that pass what ON says of R
 *	N	(k, NULLs)			the keys of L's rows that R' does not have
 *
 * on keys that are equal or both NULL.  Every row of L then meets either its
 * matches in R' or exactly one row of N.  So the left join adds one input to
 * L's open join, and stacks of outer joins stay one join.  N may have more keys
 * than L has (of rows that something else removes): no row of L meets them.
 *
 *	L: 1, 2, NULL	R: 1 a, 1 b		R': 1 a, 1 b	N: 2 NULL, NULL NULL
 *	result: 1 a, 1 b, 2 NULL, NULL NULL
 *
 * What ON says of L alone, c, decides for rows of L that have matches: where c
 * is true they meet them, else they are completed by NULLs, once.  X gets a
 * column "matched" for that, true in R', NULL in N, and a third part
 *
 *	D	(k, false, NULLs)	the keys of R'
 *
 * and the join tests: matched is NULL, or it is equal to (c is true).  As this
 * is tested on matched rows only, c raises no error where the server would not
 * have evaluated it.
 *
 * Any other condition, and a right side that refers to the left one (LATERAL),
 * is a matter of the columns of L that are mentioned: their domain (domain.c) is
 * put into R, and the conditions with it.
 *
 *	R'	(d, columns of R)	the domain joined with R on all conditions
 *	N	(d, NULLs)			the bindings that R' does not have
 *
 * A function without a condition is a flat map (srf.c), which has a row of NULLs
 * where it returns none.
 *
 * A full join is the left join, and the rows of R that have no match in L.  If it
 * is made for each binding of a domain, both sides have it, and are equal in it.
 *
 * src/plan/outer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"

#include "plan/lowering.h"

/* ON, sorted. */
typedef struct OnClause
{
	List	   *left_keys;		/* Exprs in the query's Vars */
	List	   *right_keys;
	List	   *eqops;			/* of Oid: of both sides' one type */
	List	   *collations;
	List	   *left;			/* conditions on the left side alone */
	List	   *right;			/* on the right side alone, and constants */
	List	   *mixed;			/* all others */
	DdirRel    *domain;			/* the keys are its columns, and NULLs match */
} OnClause;

/* left = right, as a key; false if it cannot be one */
static bool
add_key(OnClause *on, Node *clause, Bitmapset *left_rels, Bitmapset *right_rels)
{
	Expr	   *left;
	Expr	   *right;
	Oid			eqop;
	Oid			collation;
	Bitmapset  *of_left;
	Bitmapset  *of_right;

	if (checkExprHasSubLink(clause) ||
		!ddir_equality_split(clause, &left, &right, &eqop, &collation))
		return false;
	of_left = ddir_rels_of((Node *) left);
	of_right = ddir_rels_of((Node *) right);
	if (of_left && of_right && bms_is_subset(of_right, left_rels) &&
		bms_is_subset(of_left, right_rels))
	{
		Expr	   *other = left;

		left = right;
		right = other;
		eqop = ddir_equality_commute(eqop);
	}
	else if (!of_left || !of_right || !bms_is_subset(of_left, left_rels) ||
			 !bms_is_subset(of_right, right_rels))
		return false;
	if (!ddir_equality_align(&left, &right, &eqop))
		return false;
	on->left_keys = lappend(on->left_keys, left);
	on->right_keys = lappend(on->right_keys, right);
	on->eqops = lappend_oid(on->eqops, eqop);
	on->collations = lappend_oid(on->collations, collation);
	return true;
}

static void
sort_on(OnClause *on, List *conjuncts, Bitmapset *left_rels, Bitmapset *right_rels)
{
	ListCell   *lc;

	foreach(lc, conjuncts)
	{
		Node	   *clause = lfirst(lc);
		Bitmapset  *of = ddir_rels_of(clause);

		if (bms_is_subset(of, right_rels))
			on->right = lappend(on->right, clause);
		else if (bms_is_subset(of, left_rels) && !checkExprHasSubLink(clause))
			on->left = lappend(on->left, clause);
		else if (!add_key(on, clause, left_rels, right_rels))
			on->mixed = lappend(on->mixed, clause);
	}
}

/*
 * Put the domain of these columns of the left side into the right one.  Its
 * columns are the keys.  The conditions with the domain's columns in place of
 * the left side's.
 */
static List *
bind_right(DdirLevel *level, OnClause *on, List *conjuncts, List *vars, bool passed,
		   DdirFrom *left, DdirFrom *right, Node **right_node)
{
	DdirDomain *domain = ddir_domain_make(level, left, vars, NIL, passed);
	int			rti = ddir_from_add_domain(level, right, domain);
	ListCell   *lc;

	memset(on, 0, sizeof(*on));
	on->domain = domain->rel;
	on->left_keys = vars;
	on->eqops = domain->eqops;
	foreach(lc, vars)
	{
		on->right_keys = lappend(on->right_keys,
								 ddir_rel_var(rti - 1, domain->rel, foreach_current_index(lc) + 1));
		on->collations = lappend_oid(on->collations, lfirst_node(Var, lc)->varcollid);
	}
	if (right_node)
		*right_node = ddir_bind_node(level, domain, rti, *right_node);
	return (List *) ddir_domain_bind(domain, rti, (Node *) conjuncts);
}

/*
 * Parts of X
 */

/* R': keys, perhaps "matched", all columns of the right side. */
static DdirRel *
make_matches(DdirLevel *level, OnClause *on, DdirFrom *right)
{
	DdirInput  *input;
	List	   *quals = NIL;
	List	   *targets = NIL;
	ListCell   *lc;

	ddir_from_collapse(level, right);
	input = linitial(right->inputs);
	foreach(lc, on->right_keys)
	{
		Expr	   *key = ddir_from_resolve_single(level, lfirst(lc), input);

		if (on->domain == NULL)
			quals = lappend(quals, ddir_null_test(key, IS_NOT_NULL));
		targets = lappend(targets, key);
	}
	if (on->left)
		targets = lappend(targets, makeBoolConst(true, false));
	targets = list_concat(targets, ddir_rel_columns(0, input->rel));
	return ddir_rel_map(input->rel, quals, targets);
}

static List *
group_keys(OnClause *on, List *exprs)
{
	List	   *keys = NIL;

	for (int i = 0; i < list_length(exprs); i++)
	{
		DdirGroupKey *key = palloc0(sizeof(DdirGroupKey));

		key->expr = list_nth(exprs, i);
		key->eqop = list_nth_oid(on->eqops, i);
		key->collation = list_nth_oid(on->collations, i);
		keys = lappend(keys, key);
	}
	return keys;
}

/*
 * The different keys of the left side.  Without keys: one row, whether or not
 * the left side has any.
 */
static DdirRel *
make_left_keys(DdirLevel *level, OnClause *on, DdirFrom *left)
{
	DdirInput  *input;
	List	   *exprs = NIL;
	ListCell   *lc;

	if (on->domain)
		return on->domain;
	if (on->left_keys == NIL)
		return ddir_rel_constant(ddir_rowtype_from_exprs(NIL), list_make1(NIL));

	/*
	 * Keys that can raise an error, or that take more than one input, are
	 * made of rows that have passed all that is known of the left side.
	 */
	input = ddir_from_input_of(level, left, on->left_keys);
	foreach(lc, on->left_keys)
	{
		exprs = lappend(exprs, ddir_from_resolve_single(level, lfirst(lc), input));
	}
	return ddir_rel_reduce(input->rel, group_keys(on, exprs), NIL, false);
}

/* (the first n columns of keys, perhaps "matched", NULLs as the rest of like) */
static DdirRel *
complete(DdirRel *keys, int n, Const *matched, DdirRel *like)
{
	List	   *targets = NIL;

	for (int i = 1; i <= n; i++)
		targets = lappend(targets, ddir_rel_var(0, keys, i));
	if (matched)
		targets = lappend(targets, matched);
	for (int i = list_length(targets); i < like->type->natts; i++)
	{
		DdirColumnType *col = &like->type->col[i];

		targets = lappend(targets, makeNullConst(col->typid, col->typmod, col->collation));
	}
	return ddir_rel_map(keys, NIL, targets);
}

/* For explain: names of X's columns. */
static List *
names_of(OnClause *on, DdirRel *matches)
{
	int			n = list_length(on->left_keys);
	List	   *names = NIL;

	for (int i = 0; i < matches->type->natts; i++)
		names = lappend(names, on->left && i == n ? "matched" :
						ddir_rel_column_name(matches, i + 1));
	return names;
}

static DdirRel *
make_completed(DdirLevel *level, OnClause *on, DdirRel *matches, DdirRel *left_keys)
{
	int			n = list_length(on->left_keys);
	List	   *equalities = NIL;
	DdirRel    *parts[3];
	List	   *exprs = NIL;

	for (int i = 0; i < n; i++)
		equalities = lappend(equalities,
							 ddir_equality_make(0, (Expr *) ddir_rel_var(0, left_keys, i + 1),
												1, (Expr *) ddir_rel_var(1, matches, i + 1),
												list_nth_oid(on->eqops, i),
												list_nth_oid(on->collations, i),
												on->domain != NULL));
	matches->colnames = names_of(on, matches);
	parts[0] = matches;
	parts[1] = complete(ddir_rel_anti(left_keys, matches, equalities, NIL), n,
						on->left ? makeNullConst(BOOLOID, -1, InvalidOid) : NULL, matches);
	if (on->left == NIL)
		return ddir_rel_union(2, parts);

	for (int i = 0; i < n; i++)
		exprs = lappend(exprs, ddir_rel_var(0, matches, i + 1));
	parts[2] = complete(ddir_rel_reduce(matches, group_keys(on, exprs), NIL, false), n,
						(Const *) makeBoolConst(false, false), matches);
	return ddir_rel_union(3, parts);
}

/* matched IS NULL, or it is equal to (the conditions on the left are true) */
static Expr *
matched_clause(OnClause *on, Var *matched)
{
	NullTest   *completed = makeNode(NullTest);
	BooleanTest *holds = makeNode(BooleanTest);
	CaseExpr   *c = makeNode(CaseExpr);
	CaseWhen   *w = makeNode(CaseWhen);

	completed->arg = (Expr *) matched;
	completed->nulltesttype = IS_NULL;
	completed->location = -1;
	holds->arg = make_ands_explicit(on->left);
	holds->booltesttype = IS_TRUE;
	holds->location = -1;

	w->expr = (Expr *) completed;
	w->result = (Expr *) makeBoolConst(true, false);
	w->location = -1;
	c->casetype = BOOLOID;
	c->args = list_make1(w);
	c->defresult = ddir_equality_clause((Expr *) holds, (Expr *) copyObject(matched),
										BooleanEqualOperator, InvalidOid);
	c->location = -1;
	return (Expr *) c;
}

/*
 * Add X to the open join that the left side is, with the right side's columns
 * in it; R'.
 */
static DdirRel *
add_completed(DdirLevel *level, OnClause *on, DdirFrom *left, DdirFrom *right)
{
	DdirRel    *matches = make_matches(level, on, right);
	DdirRel    *left_keys = make_left_keys(level, on, left);
	DdirInput  *x = ddir_from_add_input(left, make_completed(level, on, matches, left_keys));
	int			n = list_length(on->left_keys);
	int			keys = ddir_level_add_place(level, x, 0, n + (on->left ? 1 : 0));
	int			rti = -1;

	for (int i = 0; i < n; i++)
		ddir_from_add_cond(left,
						   ddir_equality_clause(list_nth(on->left_keys, i),
												(Expr *) ddir_rel_var(keys - 1, x->rel, i + 1),
												list_nth_oid(on->eqops, i),
												list_nth_oid(on->collations, i)),
						   true);
	if (on->left)
		ddir_from_add_cond(left, matched_clause(on, ddir_rel_var(keys - 1, x->rel, n + 1)),
						   false);

	/* the right side's columns are those of X behind the keys */
	n += on->left ? 1 : 0;
	while ((rti = bms_next_member(right->rels, rti)) >= 0)
	{
		level->place[rti - 1].input = x;
		level->place[rti - 1].offset += n;
	}
	left->rels = bms_union(left->rels, right->rels);
	return matches;
}

/* The right side with all conditions, joined with what it needs of the left. */
static void
lower_bound_right(DdirLevel *level, OnClause *on, List *conjuncts, List *lateral,
				  DdirFrom *left, Bitmapset *left_rels, DdirFrom *right, Node *right_node)
{
	Bitmapset  *right_rels = ddir_rels_in(right_node);
	bool		total = ddir_query_is_total((Node *) conjuncts) &&
	ddir_node_tree_is_total(level, right_node);
	Bitmapset  *nonnull = find_nonnullable_rels((Node *) conjuncts);
	List	   *own = NIL;
	List	   *rest = NIL;
	ListCell   *lc;

	conjuncts = bind_right(level, on, conjuncts,
						   ddir_vars_of_level((Node *) conjuncts, left_rels, lateral), !total,
						   left, right, &right_node);
	foreach(lc, conjuncts)
	{
		Bitmapset  *of = ddir_rels_of(lfirst(lc));

		if (!bms_is_empty(of) && bms_is_subset(of, right_rels))
			own = lappend(own, lfirst(lc));
		else
			rest = lappend(rest, lfirst(lc));
	}
	ddir_lower_node(level, right_node, own, nonnull, right);
	ddir_from_add_quals(level, right, rest);
}

static bool
is_function(DdirLevel *level, Node *node)
{
	return IsA(node, RangeTblRef) &&
		rt_fetch(((RangeTblRef *) node)->rtindex, level->query->rtable)->rtekind == RTE_FUNCTION;
}

/*
 * Left join, added to an empty FROM or one of a domain.
 *
 * The conditions of levels above that are on the left side alone filter it.
 * If they refuse rows of NULLs from the right side, the join is an inner one.
 */
void
ddir_lower_outer(DdirLevel *level, Node *left_node, Node *right_node, Node *on_node,
				 List *quals, Bitmapset *nonnull, DdirFrom *left)
{
	Bitmapset  *left_rels = bms_union(ddir_rels_in(left_node), left->rels);
	Bitmapset  *right_rels = ddir_rels_in(right_node);
	List	   *conjuncts = ddir_lower_conjuncts(level, on_node);
	List	   *lateral = ddir_outside_vars(level, right_node);
	List	   *left_quals = NIL;
	List	   *above = NIL;
	OnClause	on = {0};
	DdirFrom   *right = palloc0(sizeof(DdirFrom));
	ListCell   *lc;

	nonnull = bms_union(nonnull, find_nonnullable_rels((Node *) quals));
	if (bms_overlap(nonnull, right_rels))
	{
		ddir_lower_inner(level, list_make2(left_node, right_node),
						 list_concat_copy(quals, conjuncts), nonnull, left);
		return;
	}
	foreach(lc, quals)
	{
		Bitmapset  *of = ddir_rels_of(lfirst(lc));

		if (!bms_is_empty(of) && bms_is_subset(of, left_rels))
			left_quals = lappend(left_quals, lfirst(lc));
		else
			above = lappend(above, lfirst(lc));
	}
	sort_on(&on, conjuncts, left_rels, right_rels);

	ddir_lower_node(level, left_node, left_quals, nonnull, left);
	if (lateral && conjuncts == NIL && is_function(level, right_node))
	{
		ddir_lower_functions(level, ((RangeTblRef *) right_node)->rtindex, left, true);
		ddir_from_add_quals(level, left, above);
		return;
	}
	if (on.mixed || lateral)
		lower_bound_right(level, &on, conjuncts, lateral, left, left_rels, right, right_node);
	else
		ddir_lower_node(level, right_node, on.right, find_nonnullable_rels((Node *) conjuncts),
						right);
	add_completed(level, &on, left, right);
	ddir_from_add_quals(level, left, above);
}

/*
 * Full joins
 */

/* PostgreSQL can hash by one of the conditions, or merge by all of them. */
static void
check_full(DdirLevel *level, List *conjuncts, Bitmapset *left_rels, Bitmapset *right_rels)
{
	bool		hashed = false;
	bool		merged = true;
	ListCell   *lc;

	foreach(lc, conjuncts)
	{
		OpExpr	   *op = lfirst(lc);
		Bitmapset  *of[2] = {NULL, NULL};
		Oid			type;

		if (IsA(op, Const))
			continue;
		if (IsA(op, OpExpr) && list_length(op->args) == 2)
			for (int i = 0; i < 2; i++)
				of[i] = ddir_rels_of(list_nth(op->args, i));
		if (bms_is_empty(of[0]) || bms_is_empty(of[1]) ||
			!((bms_is_subset(of[0], left_rels) && bms_is_subset(of[1], right_rels)) ||
			  (bms_is_subset(of[1], left_rels) && bms_is_subset(of[0], right_rels))))
		{
			merged = false;
			continue;
		}
		type = exprType(linitial(op->args));
		hashed = hashed || op_hashjoinable(op->opno, type);
		merged = merged && op_mergejoinable(op->opno, type);
	}
	if (!hashed && !merged)
		ddir_refuse_query(level->run->refusal, DDIR_REFUSE_FULL_JOIN, NULL);
}

/* Exprs over one of two inputs as the n-th of an equality's */
static List *
resolved(DdirLevel *level, List *exprs, DdirInput *input, int n)
{
	List	   *result = (List *) ddir_from_resolve_single(level, (Expr *) exprs, input);

	ChangeVarNodes((Node *) result, 1, n, 0);
	return result;
}

static DdirRel *
antijoin_on(DdirRel *left, DdirRel *right, List *left_exprs, List *right_exprs, List *eqops,
			bool null_safe)
{
	List	   *equalities = NIL;

	for (int i = 0; i < list_length(left_exprs); i++)
	{
		Expr	   *expr = list_nth(left_exprs, i);

		equalities = lappend(equalities,
							 ddir_equality_make(0, expr, 1, list_nth(right_exprs, i),
												list_nth_oid(eqops, i),
												exprCollation((Node *) expr), null_safe));
	}
	return ddir_rel_anti(left, right, equalities, NIL);
}

/*
 * Rows of the right side as those of the full join: NULLs left of them, but
 * for the columns of the domain around, which are those of its own.
 */
static DdirRel *
right_alone(DdirLevel *level, Bitmapset *rels, DdirRel *joined, const DdirPlace *places,
			Bitmapset *right_rels, DdirRel *rel, int around, int around_right)
{
	List	   *targets = NIL;
	int			rti = -1;

	while ((rti = bms_next_member(rels, rti)) >= 0)
	{
		int			of = rti == around ? around_right : rti;

		for (int i = 1; i <= level->place[rti - 1].natts; i++)
		{
			DdirColumnType *col = &joined->type->col[list_length(targets)];

			if (bms_is_member(of, right_rels))
				targets = lappend(targets, ddir_rel_var(0, rel, places[of - 1].offset + i));
			else
				targets = lappend(targets, makeNullConst(col->typid, col->typmod,
														 col->collation));
		}
	}
	return ddir_rel_map(rel, NIL, targets);
}

/* Let the right side have the domain too; where its columns are there. */
static int
share_around(DdirLevel *level, DdirDomain *around, int rti, DdirFrom *right, Node **right_node)
{
	DdirDomain	again = *around;
	int			own = ddir_from_add_domain(level, right, around);

	again.vars = NIL;
	for (int a = 1; a <= around->rel->type->natts; a++)
		again.vars = lappend(again.vars, ddir_rel_var(rti - 1, around->rel, a));
	*right_node = ddir_bind_node(level, &again, own, *right_node);
	return own;
}

/* The bindings of both sides are to be the same: those that the left one's are. */
static void
equate_around(DdirLevel *level, OnClause *on, DdirDomain *around, int rti, int own,
			  DdirFrom *right)
{
	for (int a = 1; a <= around->rel->type->natts; a++)
	{
		Var		   *left = ddir_rel_var(rti - 1, around->rel, a);
		int			i = 0;

		while (!equal(list_nth(on->left_keys, i), left))
			i++;
		ddir_from_add_cond(right,
						   ddir_equality_clause(copyObject(list_nth(on->right_keys, i)),
												(Expr *) ddir_rel_var(own - 1, around->rel, a),
												list_nth_oid(on->eqops, i), left->varcollid),
						   true);
	}
}

/*
 * The rows of the right side that match none of the left one, all conditions
 * being in R' ("matches"), which has the right side's columns behind the keys.
 */
static DdirRel *
without_matches(List *exprs, DdirRel *right_rel, DdirRel *matches, int nkeys)
{
	List	   *found = NIL;
	List	   *eqops = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		Var		   *var = lfirst_node(Var, lc);

		found = lappend(found, ddir_rel_var(1, matches, nkeys + var->varattno));
		eqops = lappend_oid(eqops, ddir_image_equality((Node *) var));
	}
	return antijoin_on(right_rel, matches, exprs, found, eqops, true);
}

/* around: the domain that "left" begins with, if there is one, as rti */
void
ddir_lower_full(DdirLevel *level, Node *left_node, Node *right_node, Node *on_node,
				DdirFrom *left, DdirDomain *around, int rti)
{
	Bitmapset  *left_rels = bms_union(ddir_rels_in(left_node), left->rels);
	Bitmapset  *right_rels;
	List	   *conjuncts = ddir_lower_conjuncts(level, on_node);
	DdirFrom   *right = palloc0(sizeof(DdirFrom));
	OnClause	on = {0};
	DdirInput  *side[2];
	DdirRel    *right_rel;
	DdirRel    *rest;
	DdirRel    *parts[2];
	DdirPlace  *places;
	int			own = 0;

	check_full(level, conjuncts, left_rels, ddir_rels_in(right_node));
	sort_on(&on, conjuncts, left_rels, ddir_rels_in(right_node));
	if (around)
		own = share_around(level, around, rti, right, &right_node);
	ddir_lower_node(level, left_node, NIL, NULL, left);
	ddir_lower_node(level, right_node, NIL, NULL, right);
	ddir_from_collapse(level, left);
	ddir_from_collapse(level, right);
	side[0] = linitial(left->inputs);
	side[1] = linitial(right->inputs);
	right_rel = side[1]->rel;
	right_rels = bms_copy(right->rels);
	places = palloc(sizeof(DdirPlace) * level->nplaces);
	memcpy(places, level->place, sizeof(DdirPlace) * level->nplaces);

	if (around == NULL && on.mixed == NIL && on.left == NIL && on.right == NIL)
	{
		rest = antijoin_on(right_rel, side[0]->rel, resolved(level, on.right_keys, side[1], 1),
						   resolved(level, on.left_keys, side[0], 2), on.eqops, false);
		add_completed(level, &on, left, right);
	}
	else
	{
		List	   *vars[2];
		List	   *exprs;

		vars[0] = ddir_vars_of_level((Node *) conjuncts, left_rels, NIL);
		vars[1] = ddir_vars_of_level((Node *) conjuncts, right_rels, NIL);
		for (int a = 1; around && a <= around->rel->type->natts; a++)
		{
			vars[0] = list_append_unique(vars[0], ddir_rel_var(rti - 1, around->rel, a));
			vars[1] = lappend(vars[1], ddir_rel_var(own - 1, around->rel, a));
		}
		exprs = resolved(level, vars[1], side[1], 1);
		conjuncts = bind_right(level, &on, conjuncts, vars[0], true, left, right, NULL);
		if (around)
			equate_around(level, &on, around, rti, own, right);
		ddir_from_add_quals(level, right, conjuncts);
		rest = without_matches(exprs, right_rel, add_completed(level, &on, left, right),
							   list_length(on.left_keys));
	}
	ddir_from_collapse(level, left);
	side[0] = linitial(left->inputs);
	parts[0] = side[0]->rel;
	parts[1] = right_alone(level, left->rels, parts[0], places, right_rels, rest, rti, own);
	side[0]->rel = ddir_rel_union(2, parts);
}
