/*-------------------------------------------------------------------------
 *
 * equality.c
 *	  Equalities that joins can look rows up by.
 *
 * An operator will do if the server itself would hash or merge by it, and if
 * keys made of the two sides can be compared (rows/key.h).  It must be strict: a plain equality never holds for a NULL.
 *
 * src/plan/equality.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "plan/lowering.h"
#include "rows/instant.h"
#include "rows/key.h"

typedef struct UsableContext
{
	Oid			eqop;
	Oid			types[2];
	Oid			collation;
	bool		compatible;
} UsableContext;

static void
try_keys(void *arg)
{
	UsableContext *cx = arg;
	DdirKeySpec *spec[2];

	for (int i = 0; i < 2; i++)
		spec[i] = ddir_key_make(DDIR_KEY_GROUP, 1, &cx->types[i], &cx->collation, &cx->eqop);
	cx->compatible = ddir_key_compatible(spec[0], spec[1]);
}

bool
ddir_equality_usable(Oid eqop, Oid left_type, Oid right_type, Oid collation)
{
	UsableContext cx = {eqop, {left_type, right_type}, collation, false};
	Oid			funcid = get_opcode(eqop);
	Oid			left;
	Oid			right;
	char	   *message;

	if (!OidIsValid(funcid) || !func_strict(funcid) ||
		func_volatile(funcid) != PROVOLATILE_IMMUTABLE)
		return false;
	op_input_types(eqop, &left, &right);
	/* of two types, both sides must be looked up by it */
	if (left != right && !OidIsValid(get_commutator(eqop)))
		return false;
	if (!op_hashjoinable(eqop, left_type) && !op_mergejoinable(eqop, left_type))
		return false;
	return ddir_try(try_keys, &cx, &message) && cx.compatible;
}

typedef struct LossyContext
{
	Oid			type;
	Oid			collation;
	Oid			eqop;
	bool		lossy;
} LossyContext;

static void
try_lossy(void *arg)
{
	LossyContext *cx = arg;
	DdirKeySpec *spec = ddir_key_make(DDIR_KEY_GROUP, 1, &cx->type, &cx->collation, &cx->eqop);

	cx->lossy = spec->lossy || !spec->exact;
}

bool
ddir_equality_is_lossy(Node *expr, Oid eqop)
{
	LossyContext cx = {exprType(expr), exprCollation(expr), eqop, true};
	char	   *message;

	return !ddir_try(try_lossy, &cx, &message) || cx.lossy;
}

bool
ddir_equality_split(Node *clause, Expr **left, Expr **right, Oid *eqop, Oid *collation)
{
	OpExpr	   *op = (OpExpr *) clause;

	/* a Schedule has the clock, joins do not */
	if (!IsA(clause, OpExpr) || list_length(op->args) != 2 || ddir_expr_reads_clock(clause))
		return false;
	*left = linitial(op->args);
	*right = lsecond(op->args);
	*eqop = op->opno;
	*collation = op->inputcollid;
	return ddir_equality_usable(op->opno, exprType((Node *) *left),
								exprType((Node *) *right), op->inputcollid);
}

Oid
ddir_equality_commute(Oid eqop)
{
	Oid			left;
	Oid			right;
	Oid			commuted;

	op_input_types(eqop, &left, &right);
	if (left == right)
		return eqop;
	commuted = get_commutator(eqop);
	if (!OidIsValid(commuted))
		elog(ERROR, "equality operator %u has no commutator", eqop);
	return commuted;
}

Oid
ddir_equality_of_right(Oid eqop)
{
	Oid			left;
	Oid			right;
	Oid			of_right = InvalidOid;
	ListCell   *lc;

	if (eqop == DDIR_EQUALITY_IMAGE)
		return eqop;
	op_input_types(eqop, &left, &right);
	if (left == right || get_compatible_hash_operators(eqop, NULL, &of_right))
		return left == right ? eqop : of_right;
	foreach(lc, get_mergejoin_opfamilies(eqop))
	{
		of_right = get_opfamily_member(lfirst_oid(lc), right, right, BTEqualStrategyNumber);
		if (OidIsValid(of_right))
			return of_right;
	}
	elog(ERROR, "no equality of type %u goes with operator %u", right, eqop);
}

DdirEquality *
ddir_equality_make(int left, Expr *left_expr, int right, Expr *right_expr,
				   Oid eqop, Oid collation, bool null_safe)
{
	DdirEquality *eq = palloc0(sizeof(DdirEquality));

	eq->left = left;
	eq->left_expr = left_expr;
	eq->right = right;
	eq->right_expr = right_expr;
	eq->eqop = eqop;
	eq->collation = collation;
	eq->null_safe = null_safe;
	return eq;
}

Expr *
ddir_equality_clause(Expr *left, Expr *right, Oid eqop, Oid collation)
{
	OpExpr	   *op = (OpExpr *) make_opclause(eqop, BOOLOID, false, left, right,
											  InvalidOid, collation);

	/* of images there is no operator, only keys */
	if (eqop != DDIR_EQUALITY_IMAGE)
		set_opfuncid(op);
	return (Expr *) op;
}

/*
 * Keys of both sides may have to stand in one column.  These conversions lose
 * nothing and never fail, and equality means the same before and after.
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

bool
ddir_equality_align(Expr **left, Expr **right, Oid *eqop)
{
	Oid			types[2];
	Oid			to;

	op_input_types(*eqop, &types[0], &types[1]);
	if (types[0] != types[1])
	{
		if (widens(types[0], types[1]))
			to = types[1];
		else if (widens(types[1], types[0]))
			to = types[0];
		else
			return false;
		*left = widen(*left, to);
		*right = widen(*right, to);
		*eqop = lookup_type_cache(to, TYPECACHE_EQ_OPR)->eq_opr;
	}
	else if (exprType((Node *) *left) != exprType((Node *) *right))
	{
		/* operators of polymorphic types may be given two that differ */
		to = exprType((Node *) *right);
		if (!IsBinaryCoercible(exprType((Node *) *left), to))
			return false;
		*left = (Expr *) makeRelabelType(*left, to, -1, exprCollation((Node *) *right),
										 COERCE_IMPLICIT_CAST);
	}
	return true;
}

Expr *
ddir_null_test(Expr *expr, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = copyObject(expr);
	test->nulltesttype = type;
	test->location = -1;
	return (Expr *) test;
}
