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
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

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
} OnClause;

/*
 * Types
 */

/*
 * Keys of both sides stand in one column of X.  These conversions lose nothing
 * and never fail, and equality means the same before and after.
 */
static bool
widens(Oid from, Oid to)
{
	switch (from)
	{
		case INT2OID:
			return to == INT4OID || to == INT8OID;
		case INT4OID:
			return to == INT8OID;
		case FLOAT4OID:
			return to == FLOAT8OID;
		case NAMEOID:
			return to == TEXTOID;
		default:
			return false;
	}
}

static Expr *
widen(Expr *expr, Oid to)
{
	Oid			from = exprType((Node *) expr);

	if (from == to)
		return expr;
	return (Expr *) coerce_type(NULL, (Node *) expr, from, to, -1, COERCION_IMPLICIT,
								COERCE_IMPLICIT_CAST, -1);
}

static void
add_key(DdirLevel *level, OnClause *on, Expr *left, Expr *right, Oid eqop, Oid collation)
{
	Oid			types[2];
	Oid			to;

	op_input_types(eqop, &types[0], &types[1]);
	if (types[0] != types[1])
	{
		if (widens(types[0], types[1]))
			to = types[1];
		else if (widens(types[1], types[0]))
			to = types[0];
		else
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_OUTER_EQUALITY,
							  psprintf("%s and %s", format_type_be(types[0]),
									   format_type_be(types[1])));
		left = widen(left, to);
		right = widen(right, to);
		eqop = lookup_type_cache(to, TYPECACHE_EQ_OPR)->eq_opr;
	}
	else if (exprType((Node *) left) != exprType((Node *) right))
	{
		/* operators of polymorphic types may be given two that differ */
		types[0] = exprType((Node *) left);
		to = exprType((Node *) right);
		if (!IsBinaryCoercible(types[0], to))
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_OUTER_EQUALITY,
							  psprintf("%s and %s", format_type_be(types[0]),
									   format_type_be(to)));
		left = (Expr *) makeRelabelType(left, to, -1, exprCollation((Node *) right),
										COERCE_IMPLICIT_CAST);
	}
	on->left_keys = lappend(on->left_keys, left);
	on->right_keys = lappend(on->right_keys, right);
	on->eqops = lappend_oid(on->eqops, eqop);
	on->collations = lappend_oid(on->collations, collation);
}

static void
sort_on(DdirLevel *level, OnClause *on, List *conjuncts, Bitmapset *left_rels,
		Bitmapset *right_rels)
{
	ListCell   *lc;

	foreach(lc, conjuncts)
	{
		Node	   *clause = lfirst(lc);
		Bitmapset  *of = ddir_rels_of(clause);
		Expr	   *left;
		Expr	   *right;
		Oid			eqop;
		Oid			collation;
		Bitmapset  *of_left;
		Bitmapset  *of_right;

		if (bms_is_subset(of, right_rels))
		{
			on->right = lappend(on->right, clause);
			continue;
		}
		ddir_lower_no_sublinks(level, clause);
		if (bms_is_subset(of, left_rels))
		{
			on->left = lappend(on->left, clause);
			continue;
		}
		if (!ddir_equality_split(clause, &left, &right, &eqop, &collation))
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_OUTER_CONDITION,
							  ddir_lower_text(level, clause));
		of_left = ddir_rels_of((Node *) left);
		of_right = ddir_rels_of((Node *) right);
		if (of_left && of_right && bms_is_subset(of_left, left_rels) &&
			bms_is_subset(of_right, right_rels))
			add_key(level, on, left, right, eqop, collation);
		else if (of_left && of_right && bms_is_subset(of_right, left_rels) &&
				 bms_is_subset(of_left, right_rels))
			add_key(level, on, right, left, ddir_equality_commute(eqop), collation);
		else
			ddir_refuse_query(level->run->refusal, DDIR_REFUSE_OUTER_CONDITION,
							  ddir_lower_text(level, clause));
	}
}

/*
 * Parts of X
 */

static Expr *
not_null(Expr *expr)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = expr;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return (Expr *) test;
}

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

		quals = lappend(quals, not_null(key));
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

	if (on->left_keys == NIL)
		return ddir_rel_constant(ddir_rowtype_from_exprs(NIL), list_make1(NIL));

	/*
	 * Keys that can raise an error, or that take more than one input, are
	 * made of rows that have passed all that is known of the left side.
	 */
	input = ddir_from_single(level, on->left_keys);
	if (input == NULL)
	{
		ddir_from_collapse(level, left);
		input = linitial(left->inputs);
	}
	ddir_from_settle(level, left);
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
												list_nth_oid(on->collations, i), false));
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
 * The open join of both sides.
 *
 * The conditions of levels above that are on the left side alone filter it.
 * If they refuse rows of NULLs from the right side, the join is an inner one.
 */
DdirFrom *
ddir_lower_outer(DdirLevel *level, Node *left_node, Node *right_node, Node *on_node,
				 List *quals, Bitmapset *nonnull)
{
	Bitmapset  *left_rels = ddir_rels_in(left_node);
	Bitmapset  *right_rels = ddir_rels_in(right_node);
	List	   *conjuncts = ddir_lower_conjuncts(level, on_node);
	List	   *left_quals = NIL;
	List	   *above = NIL;
	OnClause	on = {0};
	DdirFrom   *left;
	DdirFrom   *right;
	DdirRel    *matches;
	DdirRel    *left_keys;
	DdirInput  *x;
	int			n;
	int			rti;
	ListCell   *lc;

	nonnull = bms_union(nonnull, find_nonnullable_rels((Node *) quals));
	if (bms_overlap(nonnull, right_rels))
		return ddir_lower_inner(level, list_make2(left_node, right_node),
								list_concat_copy(quals, conjuncts), nonnull);

	foreach(lc, quals)
	{
		Bitmapset  *of = ddir_rels_of(lfirst(lc));

		if (!bms_is_empty(of) && bms_is_subset(of, left_rels))
			left_quals = lappend(left_quals, lfirst(lc));
		else
			above = lappend(above, lfirst(lc));
	}
	sort_on(level, &on, conjuncts, left_rels, right_rels);

	left = ddir_lower_node(level, left_node, left_quals, nonnull);
	right = ddir_lower_node(level, right_node, on.right,
							find_nonnullable_rels((Node *) conjuncts));
	matches = make_matches(level, &on, right);
	left_keys = make_left_keys(level, &on, left);

	n = list_length(on.left_keys);
	x = ddir_from_add_input(left, make_completed(level, &on, matches, left_keys));
	rti = ddir_level_add_place(level, x, 0, n + (on.left ? 1 : 0));
	for (int i = 0; i < n; i++)
		ddir_from_add_cond(left,
						   ddir_equality_clause(list_nth(on.left_keys, i),
												(Expr *) ddir_rel_var(rti - 1, x->rel, i + 1),
												list_nth_oid(on.eqops, i),
												list_nth_oid(on.collations, i)),
						   true);
	if (on.left)
		ddir_from_add_cond(left, matched_clause(&on, ddir_rel_var(rti - 1, x->rel, n + 1)),
						   false);

	/* the right side's columns are those of X behind the keys */
	n += on.left ? 1 : 0;
	rti = -1;
	while ((rti = bms_next_member(right->rels, rti)) >= 0)
	{
		level->place[rti - 1].input = x;
		level->place[rti - 1].offset += n;
	}
	left->rels = bms_union(left->rels, right->rels);

	ddir_from_add_quals(level, left, above);
	return left;
}
