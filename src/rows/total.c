/*-------------------------------------------------------------------------
 *
 * total.c
 *	  Which expressions cannot raise an error.
 *
 * A leakproof function does not say anything about its arguments by errors, so
 * it raises none that depend on them.  Functions that are not marked as such but
 * were read and found to raise none are listed by name: comparisons of numeric,
 * and LIKE with a pattern that is known and well-formed.  Node types are listed
 * by name, too: one that is not known is taken to raise errors.
 *
 * src/rows/total.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "rows/instant.h"
#include "rows/program.h"

static bool
func_is_partial(Oid func, void *context)
{
	switch (func)
	{
		case F_NUMERIC_EQ:
		case F_NUMERIC_NE:
		case F_NUMERIC_LT:
		case F_NUMERIC_LE:
		case F_NUMERIC_GT:
		case F_NUMERIC_GE:
		case F_NUMERIC_CMP:
			return false;
		default:
			return !get_func_leakproof(func) || !func_strict(func);
	}
}

/*
 * LIKE raises errors for a pattern that ends with an escape character, and for
 * collations that are not known or under which it has no meaning.
 */
static bool
like_is_total(const OpExpr *op)
{
	const Const *pattern;
	char	   *bytes;
	int			len;
	bool		escaped = false;

	if (op->opfuncid != F_TEXTLIKE && op->opfuncid != F_TEXTNLIKE)
		return false;
	pattern = lsecond(op->args);
	if (!IsA(pattern, Const) || pattern->constisnull || !OidIsValid(op->inputcollid) ||
		!get_collation_isdeterministic(op->inputcollid))
		return false;
	bytes = TextDatumGetCString(pattern->constvalue);
	len = strlen(bytes);
	for (int i = 0; i < len; i++)
		escaped = bytes[i] == '\\' && !escaped;
	return !escaped;
}

/* GREATEST and LEAST call the comparison function of the type. */
static bool
comparison_is_partial(Oid typid)
{
	TypeCacheEntry *type = lookup_type_cache(typid, TYPECACHE_CMP_PROC);

	return !OidIsValid(type->cmp_proc) || func_is_partial(type->cmp_proc, NULL);
}

bool
ddir_node_is_total(Node *node)
{
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_Var:
		case T_Const:
		case T_RelabelType:
		case T_CollateExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
			return true;
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcretset)
				return false;
			/* FALLTHROUGH */
		case T_OpExpr:
			if (IsA(node, OpExpr) && like_is_total((OpExpr *) node))
				return true;
			/* FALLTHROUGH */
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
			return !check_functions_in_node(node, func_is_partial, NULL);
		case T_MinMaxExpr:
			return !comparison_is_partial(((MinMaxExpr *) node)->minmaxtype);
		default:
			return false;
	}
}

static bool
partial_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	/* of the clock alone: it is the same for all rows, and was tried */
	if (ddir_expr_is_clock_total(node))
		return false;
	return !ddir_node_is_total(node) || expression_tree_walker(node, partial_walker, context);
}

bool
ddir_expr_is_total(Node *expr)
{
	return !partial_walker(expr, NULL);
}
