/*-------------------------------------------------------------------------
 *
 * lower.c
 *	  From a view's Query to DDIR: rewriting, rights, and one query's parts.
 *
 * The query is rewritten as for execution, so views are subqueries of it and
 * row security is conditions in it; then each query becomes a relation: FROM and
 * WHERE (from.c, outer.c, sublink.c, value.c), GROUP BY (group.c) or UNION
 * (setop.c), windows (window.c), the select list (srf.c) and DISTINCT, and LIMIT
 * (topk.c).  Subqueries that mention the query around them are lowered for all its
 * rows at once (apply.c, domain.c).  ORDER BY without LIMIT means nothing here.
 * optimize.c tidies up, clock.c sees to what reads the clock, finish.c makes sure that what is left can be built.
 *
 * Everything runs as the owner of the view, in a security-restricted context:
 * folding constants calls functions.
 *
 * A refusal leaves by an error that ddir_lower catches without a
 * subtransaction.  That is sound because refusals are raised by our own code,
 * in places where it holds no relation, cache entry or lock that would have to
 * be given back; the user and the settings are put back here.
 *
 * src/plan/lower.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "rewrite/rewriteManip.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "plan/lowering.h"
#include "plan/optimize.h"
#include "rows/program.h"

/*
 * Expressions
 */

/* Whose columns an expression may mention. */
typedef enum Mentions
{
	OWN,						/* of range table entries of its query */
	CORRELATED,					/* and of the query just around */
	COMPUTED					/* of relations made by us, in place of them */
} Mentions;

typedef struct VarsContext
{
	DdirLevel  *level;
	Mentions	may;
} VarsContext;

static void
check_var(Var *var, void *arg)
{
	VarsContext *cx = arg;
	DdirLevel  *level = cx->level;
	RangeTblEntry *rte;

	if (var->varlevelsup > (cx->may == CORRELATED ? 1 : 0))
		elog(ERROR, "column of a query %d levels up is out of place", var->varlevelsup);
	for (int i = 0; i < var->varlevelsup; i++)
		level = level->parent;
	/* of relations that the query has no name for */
	if (var->varno > list_length(level->query->rtable))
		return;
	rte = rt_fetch(var->varno, level->query->rtable);
	if (var->varattno < 0)
		ddir_refuse_query(level->run->refusal, DDIR_REFUSE_SYSTEM_COLUMN,
						  get_rte_attribute_name(rte, var->varattno));
}

/* The clock is asked by functions only. */
static Node *
clock_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, SQLValueFunction))
	{
		Expr	   *expr = ddir_clock_as_function((SQLValueFunction *) node);

		return expr ? (Node *) expr : node;
	}
	return expression_tree_mutator(node, clock_mutator, context);
}

static Expr *
fold(DdirLevel *level, Expr *expr, Mentions may)
{
	VarsContext cx = {level, may};
	DdirLowering *run = level->run;
	List	   *relations;
	List	   *invalidations;

	if (may != COMPUTED)
		ddir_vars_visit((Node *) expr, check_var, &cx);
	ddir_check_expr(&run->checked, (Node *) expr, false);
	expr = expression_planner_with_deps(expr, &relations, &invalidations);
	run->checked.inlined = list_concat(run->checked.inlined, invalidations);
	ddir_check_expr(&run->checked, (Node *) expr, true);
	expr = (Expr *) clock_mutator((Node *) expr, NULL);
	return expr;
}

Expr *
ddir_lower_fold(DdirLevel *level, Expr *expr)
{
	return fold(level, expr, OWN);
}

Expr *
ddir_lower_fold_computed(DdirLevel *level, Expr *expr)
{
	return fold(level, expr, COMPUTED);
}

static List *
conjuncts(DdirLevel *level, Node *quals, Mentions may)
{
	Expr	   *expr;

	if (quals == NULL)
		return NIL;
	expr = canonicalize_qual(fold(level, (Expr *) quals, may), false);
	return make_ands_implicit(expr);
}

List *
ddir_lower_conjuncts(DdirLevel *level, Node *quals)
{
	return conjuncts(level, quals, OWN);
}

List *
ddir_lower_correlated(DdirLevel *level, Node *quals)
{
	return conjuncts(level, quals, CORRELATED);
}

List *
ddir_lower_conjuncts_computed(DdirLevel *level, Node *quals)
{
	return conjuncts(level, quals, COMPUTED);
}

/*
 * Queries
 */

DdirLevel *
ddir_level_make(DdirLowering *run, DdirLevel *parent, Query *query, DdirLevelKind kind)
{
	DdirLevel  *level = palloc0(sizeof(DdirLevel));

	level->run = run;
	level->parent = parent;
	level->kind = kind;
	level->query = query;
	level->nplaces = list_length(query->rtable);
	level->place = palloc0(sizeof(DdirPlace) * (level->nplaces + 1));
	return level;
}

List *
ddir_column_keys(DdirRel *rel, int n, List *eqops)
{
	List	   *keys = NIL;

	for (int i = 0; i < n; i++)
	{
		DdirGroupKey *key = palloc0(sizeof(DdirGroupKey));
		Var		   *var = ddir_rel_var(0, rel, i + 1);

		key->expr = (Expr *) var;
		key->eqop = eqops ? list_nth_oid(eqops, i) : InvalidOid;
		key->collation = var->varcollid;
		keys = lappend(keys, key);
	}
	return keys;
}

DdirRel *
ddir_lower_distinct(DdirLevel *level, DdirRel *rel, List *eqops)
{
	return ddir_rel_reduce(rel, ddir_column_keys(rel, list_length(eqops), eqops), NIL, false);
}

Expr *
ddir_make_agg(Oid fnoid, Expr *arg, Expr *filter)
{
	Aggref	   *ref = makeNode(Aggref);

	ref->aggfnoid = fnoid;
	ref->aggtype = get_func_rettype(fnoid);
	ref->aggcollid = get_typcollation(ref->aggtype);
	if (arg)
	{
		ref->aggargtypes = list_make1_oid(exprType((Node *) arg));
		ref->args = list_make1(makeTargetEntry(arg, 1, NULL, false));
		ref->inputcollid = exprCollation((Node *) arg);
	}
	ref->aggstar = arg == NULL;
	ref->aggfilter = filter;
	ref->aggkind = AGGKIND_NORMAL;
	ref->aggsplit = AGGSPLIT_SIMPLE;
	ref->aggno = -1;
	ref->aggtransno = -1;
	ref->location = -1;
	return (Expr *) ref;
}

/* The equality of each column of the select list, by its DISTINCT. */
static List *
distinct_eqops(Query *query)
{
	List	   *eqops = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);
		SortGroupClause *clause;

		if (tle->resjunk)
			continue;
		clause = get_sortgroupref_clause_noerr(tle->ressortgroupref,
											   query->distinctClause);
		if (clause == NULL)
			elog(ERROR, "column \"%s\" is not in DISTINCT", tle->resname);
		eqops = lappend_oid(eqops, clause->eqop);
	}
	return eqops;
}

/*
 * What is open, closed to the targets.  What is not seen may make rows of its
 * own: ORDER BY a function that returns rows.
 */
DdirRel *
ddir_lower_targets(DdirLevel *level, DdirFrom *from, List *targets, List *unseen)
{
	int			n = list_length(targets);

	targets = ddir_lower_srfs(level, from, list_concat_copy(targets, unseen));
	return ddir_from_close(level, from, list_truncate(targets, n));
}

/* Targets that are no columns of the result, but make rows. */
List *
ddir_query_unseen(const Query *query)
{
	List	   *columns = ddir_query_columns(query);
	List	   *unseen = NIL;
	ListCell   *lc;

	foreach(lc, query->targetList)
	{
		if (!list_member_ptr(columns, lfirst(lc)) &&
			expression_returns_set((Node *) lfirst_node(TargetEntry, lc)->expr))
			unseen = lappend(unseen, lfirst(lc));
	}
	return unseen;
}

static Expr *
lower_target(DdirLevel *level, DdirFrom *from, TargetEntry *tle)
{
	return ddir_lower_values(level, from, ddir_lower_fold(level, tle->expr));
}

static DdirRel *
lower_select(DdirLevel *level)
{
	Query	   *query = level->query;
	DdirFrom   *from = ddir_lower_from(level);
	DdirRel    *rel;

	if (ddir_query_is_grouped(query))
		rel = ddir_lower_group(level, from);
	else
	{
		List	   *targets = NIL;
		List	   *unseen = NIL;
		ListCell   *lc;

		foreach(lc, ddir_query_columns(query))
		{
			targets = lappend(targets, lower_target(level, from, lfirst(lc)));
		}
		foreach(lc, ddir_query_unseen(query))
		{
			unseen = lappend(unseen, lower_target(level, from, lfirst(lc)));
		}
		rel = ddir_lower_targets(level, from, targets, unseen);
	}
	if (query->distinctClause && !query->hasDistinctOn)
		rel = ddir_lower_distinct(level, rel, distinct_eqops(query));
	return rel;
}

/* A copy of which the columns may be named. */
static DdirRel *
with_names(DdirRel *rel, Query *query)
{
	DdirRel    *named = palloc(sizeof(DdirRel));
	ListCell   *lc;

	*named = *rel;
	named->colnames = NIL;
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk)
			named->colnames = lappend(named->colnames,
									  pstrdup(tle->resname ? tle->resname : "?column?"));
	}
	return named;
}

DdirRel *
ddir_lower_query(DdirLowering *run, DdirLevel *parent, Query *query, DdirLevelKind kind)
{
	DdirLevel  *level;
	DdirRel    *rel;
	Oid			denied;
	ListCell   *lc;

	check_stack_depth();
	denied = ddir_query_denied(query);
	if (OidIsValid(denied))
		ddir_refuse_query(run->refusal, DDIR_REFUSE_TABLE_RIGHTS, get_rel_name(denied));
	ddir_check_query(run->refusal, query);
	if (query->hasRecursive &&
		(checkExprHasSubLink(query->limitCount) || checkExprHasSubLink(query->limitOffset)))
		ddir_refuse_query(run->refusal, DDIR_REFUSE_RECURSIVE, NULL);
	ddir_query_free_limit(query);
	query = ddir_expand_whole_rows(ddir_split_windows(query));
	level = ddir_level_make(run, parent, query, kind);

	ddir_inline_functions(level);
	ddir_flatten_groups(query);
	query->targetList = (List *) ddir_flatten_join_aliases(query, (Node *) query->targetList);
	query->jointree = (FromExpr *) ddir_flatten_join_aliases(query, (Node *) query->jointree);
	query->havingQual = ddir_flatten_join_aliases(query, query->havingQual);
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->lateral && rte->rtekind == RTE_SUBQUERY)
			rte->subquery = (Query *) ddir_flatten_join_aliases(query, (Node *) rte->subquery);
		if (rte->lateral && rte->rtekind == RTE_FUNCTION)
			rte->functions = (List *) ddir_flatten_join_aliases(query, (Node *) rte->functions);
		if (rte->lateral && rte->rtekind == RTE_VALUES)
			rte->values_lists = (List *) ddir_flatten_join_aliases(query,
																   (Node *) rte->values_lists);
	}

	rel = query->setOperations ? ddir_lower_setop(level) :
		query->hasWindowFuncs ? ddir_lower_window(level) : lower_select(level);
	return with_names(ddir_lower_limit(level, rel), query);
}

/*
 * The whole
 */

/*
 * In the stored rule of a view two entries stand for the view itself.  They
 * mean nothing, but they would be locked.
 */
static void
drop_unused_relations(Query *query)
{
	Bitmapset  *used = query->jointree ? ddir_rels_in((Node *) query->jointree) : NULL;
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION &&
			!bms_is_member(foreach_current_index(lc) + 1, used) &&
			!ddir_rte_has_rights(rte))
			rte->rtekind = RTE_RESULT;
	}
}

static Query *
rewrite(const Query *stored)
{
	Query	   *query = copyObject(unconstify(Query *, stored));
	List	   *rewritten;

	drop_unused_relations(query);
	AcquireRewriteLocks(query, true, false);
	rewritten = QueryRewrite(query);
	if (list_length(rewritten) != 1)
		elog(ERROR, "a view's query was rewritten to %d queries", list_length(rewritten));
	return linitial_node(Query, rewritten);
}

/* Of all relations that a rewritten query names, those that it was rewritten from. */
static List *
plain_views(Query *query)
{
	List	   *views = NIL;
	List	   *relations;
	List	   *others;
	bool		row_security;
	ListCell   *lc;

	extract_query_dependencies((Node *) query, &relations, &others, &row_security);
	foreach(lc, relations)
	{
		if (get_rel_relkind(lfirst_oid(lc)) == RELKIND_VIEW)
			views = list_append_unique_oid(views, lfirst_oid(lc));
	}
	return views;
}

static void
lower(DdirLowering *run, const Query *query)
{
	Query	   *rewritten;
	DdirRel    *root;

	/* where it is off, as in dumps, tables with row security raise errors */
	set_config_option("row_security", "on", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
					  true, 0, false);
	if (query->commandType != CMD_SELECT)
		ddir_refuse_query(run->refusal, DDIR_REFUSE_COMMAND, NULL);
	rewritten = rewrite(query);
	run->result->views = plain_views(rewritten);
	root = ddir_lower_query(run, NULL, rewritten, DDIR_LEVEL_TOP);
	run->result->root = ddir_clock_place(run, ddir_optimize(root));
	ddir_lower_finish(run);
}

DdirLowered *
ddir_lower(const Query *query, Oid owner, DdirRefusal *refusal)
{
	DdirLowering run = {0};
	MemoryContext cxt = CurrentMemoryContext;
	DdirActing	acting;
	int			nestlevel;
	volatile bool pushed = false;
	uint32		holdoff = InterruptHoldoffCount;
	DdirLowered *volatile result = palloc0(sizeof(DdirLowered));

	memset(refusal, 0, sizeof(*refusal));
	run.refusal = refusal;
	run.checked.owner = owner;
	run.checked.refusal = refusal;
	run.result = result;

	nestlevel = ddir_rights_enter();
	acting = ddir_act_as(owner);
	if (!ActiveSnapshotSet())
	{
		/* functions that constants are folded by may need one */
		PushActiveSnapshot(GetTransactionSnapshot());
		pushed = true;
	}
	PG_TRY();
	{
		lower(&run, query);
	}
	PG_CATCH();
	{
		ddir_act_back(&acting);
		if (!refusal->refused)
			PG_RE_THROW();
		InterruptHoldoffCount = holdoff;
		MemoryContextSwitchTo(cxt);
		FlushErrorState();
		refusal->types = run.checked.types;
		result = NULL;
	}
	PG_END_TRY();
	if (pushed)
		PopActiveSnapshot();
	ddir_act_back(&acting);
	ddir_rights_leave(nestlevel);
	return result;
}
