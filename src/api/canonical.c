/*-------------------------------------------------------------------------
 *
 * canonical.c
 *	  The canonical query of a view.
 *
 * Two things are changed in a query:
 *
 *	- sum, avg and the variance family of floats become ddir's own, which are
 *	  exact and rounded once
 *	- an aggregate that is recomputed from its rows takes them in the order
 *	  of their images, where its ORDER BY leaves one open
 *
 * src/api/canonical.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "parser/parse_func.h"
#include "utils/fmgroids.h"

#include "api/canonical.h"
#include "rows/agg.h"

typedef struct Exact
{
	Oid			aggfnoid;
	const char *name;			/* in schema ddir */
} Exact;

#define EXACT(type) \
	{F_SUM_##type, "_sum"}, {F_AVG_##type, "_avg"}, \
	{F_VAR_POP_##type, "_var_pop"}, {F_STDDEV_POP_##type, "_stddev_pop"}, \
	{F_VAR_SAMP_##type, "_var_samp"}, {F_VARIANCE_##type, "_var_samp"}, \
	{F_STDDEV_SAMP_##type, "_stddev_samp"}, {F_STDDEV_##type, "_stddev_samp"}

static const Exact exact[] = {EXACT(FLOAT4), EXACT(FLOAT8)};

static List *
our_name(const char *name)
{
	return list_make2(makeString("ddir"), makeString(pstrdup(name)));
}

/* The exact aggregate to take for this one; InvalidOid: it is exact as it is. */
static Oid
exact_aggregate(const Aggref *ref)
{
	for (int i = 0; i < lengthof(exact); i++)
	{
		if (ref->aggfnoid == exact[i].aggfnoid)
		{
			Oid			type = linitial_oid(ref->aggargtypes);

			return LookupFuncName(our_name(exact[i].name), 1, &type, false);
		}
	}
	return InvalidOid;
}

/* A last ORDER BY item: the image of all other columns. */
static void
order_by_image(Aggref *ref)
{
	Oid			any = ANYOID;
	List	   *columns = NIL;
	Index		group = 0;
	SortGroupClause *clause = makeNode(SortGroupClause);
	TargetEntry *entry;
	ListCell   *lc;

	foreach(lc, ref->args)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		columns = lappend(columns, copyObject(tle->expr));
		group = Max(group, tle->ressortgroupref);
	}
	entry = makeTargetEntry((Expr *) makeFuncExpr(LookupFuncName(our_name("_image"), 1, &any, false),
												  BYTEAOID, columns, InvalidOid, InvalidOid,
												  COERCE_EXPLICIT_CALL),
							list_length(ref->args) + 1, NULL, true);
	entry->ressortgroupref = group + 1;
	ref->args = lappend(ref->args, entry);

	clause->tleSortGroupRef = entry->ressortgroupref;
	clause->eqop = ByteaEqualOperator;
	clause->sortop = ByteaLessOperator;
	ref->aggorder = lappend(ref->aggorder, clause);
}

static Node *
mutate(Node *node, void *context)
{
	Aggref	   *ref;
	Oid			ours;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, mutate, context, 0);
	node = expression_tree_mutator(node, mutate, context);
	if (!IsA(node, Aggref))
		return node;

	ref = (Aggref *) node;
	ours = exact_aggregate(ref);
	if (OidIsValid(ours))
		ref->aggfnoid = ours;
	else if (ref->aggdistinct == NIL && ref->args != NIL && ref->aggkind == AGGKIND_NORMAL &&
			 ddir_agg_method(ref) == DDIR_AGG_RECOMPUTE)
		order_by_image(ref);
	return node;
}

Query *
ddir_canonical_query(Query *query)
{
	return query_tree_mutator(query, mutate, NULL, 0);
}
