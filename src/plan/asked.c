/*-------------------------------------------------------------------------
 *
 * asked.c
 *	  Errors that are raised only where a row asks for what failed.
 *
 * The errors of a relation are taken apart from its rows (Valid, Errors), and
 * raised again by an expression, _asked(value, error), of the rows that would
 * have made the server compute what failed.
 *
 * src/plan/asked.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_func.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/syscache.h"

#include "base/compat.h"
#include "plan/lowering.h"
#include "plan/prune.h"
#include "rows/program.h"

Oid
ddir_own_function(const char *name, int nargs, const Oid *args)
{
	return LookupFuncName(list_make2(makeString("ddir"), makeString(pstrdup(name))), nargs, args,
						  false);
}

Expr *
ddir_asked(Expr *value, Expr *error)
{
	const Oid	types[2] = {ANYELEMENTOID, TEXTOID};

	return (Expr *) makeFuncExpr(ddir_own_function("_asked", 2, types),
								 exprType((Node *) value), list_make2(value, error),
								 exprCollation((Node *) value), InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

static List *
nulls_like(const DdirRel *rel)
{
	List	   *nulls = NIL;
	ListCell   *lc;

	foreach(lc, ddir_rel_columns(0, rel))
	{
		Node	   *column = lfirst(lc);

		nulls = lappend(nulls, makeNullConst(exprType(column), exprTypmod(column),
											 exprCollation(column)));
	}
	return nulls;
}

/* The rows of one kind, and the error; one of the two is NULL. */
static DdirRel *
beside(DdirRel *rel, List *values, Expr *error)
{
	return ddir_rel_map(rel, NIL, lappend(list_copy(values), error));
}

/* The SQLSTATE and the message in one text; the least one is to be raised. */
static Expr *
error_text(DdirRel *errors)
{
	CoerceViaIO *code = makeNode(CoerceViaIO);
	Expr	   *text;

	code->arg = (Expr *) ddir_rel_var(0, errors, 1);
	code->resulttype = TEXTOID;
	code->resultcollid = C_COLLATION_OID;
	code->coerceformat = COERCE_EXPLICIT_CAST;
	code->location = -1;
	text = (Expr *) makeFuncExpr(F_TEXTCAT, TEXTOID,
								 list_make2(code, makeConst(TEXTOID, -1, C_COLLATION_OID, -1,
															CStringGetTextDatum(" "), false, false)),
								 C_COLLATION_OID, C_COLLATION_OID, COERCE_EXPLICIT_CALL);

	return (Expr *) makeFuncExpr(F_TEXTCAT, TEXTOID,
								 list_make2(text, ddir_rel_var(0, errors, 2)),
								 C_COLLATION_OID, C_COLLATION_OID, COERCE_EXPLICIT_CALL);
}

DdirRel *
ddir_rel_with_error(DdirRel *rel)
{
	int			n = rel->type->natts;
	DdirRel    *errors = ddir_rel_errors(rel);
	DdirRel    *part[2];
	DdirRel    *both;
	List	   *aggs = NIL;
	Aggref	   *least;

	part[0] = beside(ddir_rel_valid(rel), ddir_rel_columns(0, rel),
					 (Expr *) makeNullConst(TEXTOID, -1, C_COLLATION_OID));
	part[1] = beside(errors, nulls_like(rel), error_text(errors));
	both = ddir_rel_union(2, part);
	for (int a = 1; a <= n; a++)
	{
		Aggref	   *ref = (Aggref *) ddir_single_agg((Expr *) ddir_rel_var(0, both, a));

		ref->aggfilter = ddir_null_test((Expr *) ddir_rel_var(0, both, n + 1), IS_NULL);
		aggs = lappend(aggs, ref);
	}
	least = (Aggref *) ddir_make_agg(F_MIN_TEXT, (Expr *) ddir_rel_var(0, both, n + 1), NULL);
	least->aggcollid = C_COLLATION_OID;
	return ddir_rel_reduce(both, NIL, lappend(aggs, least), true);
}

/* The least of the errors, if there are any: a row. */
static DdirRel *
least_error(DdirRel *failing)
{
	DdirRel    *errors = ddir_rel_errors(failing);
	DdirRel    *texts = ddir_rel_map(errors, NIL, list_make1(error_text(errors)));
	Aggref	   *least = (Aggref *) ddir_make_agg(F_MIN_TEXT, (Expr *) ddir_rel_var(0, texts, 1),
												 NULL);
	DdirRel    *one;

	least->aggcollid = C_COLLATION_OID;
	one = ddir_rel_reduce(texts, NIL, list_make1(least), true);
	return ddir_rel_map(one, list_make1(ddir_null_test((Expr *) ddir_rel_var(0, one, 1),
													   IS_NOT_NULL)),
						ddir_rel_columns(0, one));
}

/* An aggregate that only counts or chooses, of arguments that cannot fail. */
static bool
agg_is_total(Aggref *ref)
{
	bool		chooses = false;
	HeapTuple	tuple;

	switch (ref->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
		case F_BOOL_AND:
		case F_BOOL_OR:
		case F_EVERY:
			chooses = true;
			break;
		default:
			tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(ref->aggfnoid));
			if (HeapTupleIsValid(tuple))
			{
				/* min, max and their like */
				chooses = OidIsValid(((Form_pg_aggregate) GETSTRUCT(tuple))->aggsortop);
				ReleaseSysCache(tuple);
			}
			chooses = chooses || ddir_is_single_agg(ref->aggfnoid);
	}
	return chooses && ddir_expr_is_total((Node *) ref->args) &&
		ddir_expr_is_total((Node *) ref->aggfilter);
}

bool
ddir_rel_is_total(DdirRel *rel)
{
	ListCell   *lc;

	if (rel->kind == DDIR_REL_VALID)
		return true;
	foreach(lc, ddir_rels_in_order(rel, NULL))
	{
		DdirRel    *each = lfirst(lc);
		ListCell   *cell;

		if (!ddir_expr_is_total((Node *) each->quals) ||
			!ddir_expr_is_total((Node *) each->targets) ||
			!ddir_expr_is_total((Node *) ddir_key_exprs(each->keys)) ||
			each->functions || each->funcs)
			return false;
		foreach(cell, each->aggs)
		{
			if (!agg_is_total(lfirst_node(Aggref, cell)))
				return false;
		}
		foreach(cell, each->equalities)
		{
			DdirEquality *e = lfirst(cell);

			if (!ddir_expr_is_total((Node *) e->left_expr) ||
				!ddir_expr_is_total((Node *) e->right_expr))
				return false;
		}
	}
	return true;
}

/* A row if there are any, whose column is true. */
static DdirRel *
any_row(DdirRel *rel)
{
	Aggref	   *any = (Aggref *) ddir_make_agg(F_BOOL_OR, (Expr *) makeBoolConst(true, false), NULL);
	DdirRel    *one = ddir_rel_reduce(rel, NIL, list_make1(any), true);

	return ddir_rel_map(one, list_make1(ddir_rel_var(0, one, 1)), ddir_rel_columns(0, one));
}

DdirRel *
ddir_rel_asked(DdirRel *rel, DdirRel *failing, DdirRel *asking)
{
	DdirRel    *sides[2] = {any_row(asking), least_error(failing)};
	DdirRel    *both = ddir_rel_join(2, sides, NIL, NIL,
									 list_make1(ddir_rel_var(1, sides[1], 1)));
	DdirRel    *parts[2];

	parts[0] = rel;
	parts[1] = ddir_rel_map(both,
							list_make1(ddir_asked((Expr *) makeBoolConst(false, false),
												  (Expr *) ddir_rel_var(0, both, 1))),
							nulls_like(rel));
	return ddir_rel_union(2, parts);
}
