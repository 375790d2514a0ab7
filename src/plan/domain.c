/*-------------------------------------------------------------------------
 *
 * domain.c
 *	  Domains: what a subquery is told of the query around it, as a relation.
 *
 * A subquery that mentions columns of the query around it means another thing
 * for each row there.  Its domain is the different values these columns have
 * (a *binding* is one row of it; values are the same if their images are).
 * Once the domain stands in the subquery's FROM, and the columns are taken from
 * there, the subquery is an ordinary one, whose rows say of which binding they
 * are (Neumann and Kemper, "Unnesting Arbitrary Queries", 2015).
 *
 *	SELECT ... (SELECT f(o.x, t.y) FROM t WHERE t.z < o.x) ... FROM o
 *
 *	D = the different x of o
 *	B = SELECT f(D.x, t.y), D.x FROM D, t WHERE t.z < D.x
 *	o is joined with B on o.x = B.x, NULLs being equal
 *
 * Bindings have to be carried through the subquery: through GROUP BY, DISTINCT
 * and PARTITION BY as further keys, through the operands of UNION and its like as
 * further columns, and into subqueries of its own by their domains.  So every
 * query is lowered alone: its expressions mention columns of its own range
 * table, and of no other.
 *
 * Relations made here stand in range tables as "given" ones: entries of kind
 * RTE_NAMEDTUPLESTORE, the relation being number enrtuples of the lowering.
 *
 * src/plan/domain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_agg.h"
#include "parser/parse_clause.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "plan/lowering.h"
#include "rows/agg.h"
#include "rows/program.h"

/*
 * Columns of a query in what is inside of it
 */

typedef struct VarsContext
{
	int			depth;			/* of queries around us, inside of the one
								 * asked */
	Bitmapset  *rels;			/* columns of these; NULL: of any */
	List	   *vars;
} VarsContext;

static bool
vars_walker(Node *node, void *arg)
{
	VarsContext *cx = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		cx->depth++;
		query_tree_walker((Query *) node, vars_walker, arg, 0);
		cx->depth--;
		return false;
	}
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == cx->depth &&
		(cx->rels == NULL || bms_is_member(((Var *) node)->varno, cx->rels)))
	{
		Var		   *var = copyObject((Var *) node);

		var->varlevelsup = 0;
		if (!list_member(cx->vars, var))
			cx->vars = lappend(cx->vars, var);
		return false;
	}
	return expression_tree_walker(node, vars_walker, arg);
}

static int
compare_vars(const ListCell *a, const ListCell *b)
{
	const Var  *l = lfirst(a);
	const Var  *r = lfirst(b);

	if (l->varno != r->varno)
		return l->varno > r->varno ? 1 : -1;
	return l->varattno - r->varattno;
}

List *
ddir_vars_of_level(Node *node, Bitmapset *rels, List *vars)
{
	VarsContext cx = {0, rels, vars};

	vars_walker(node, &cx);
	list_sort(cx.vars, compare_vars);
	return cx.vars;
}

typedef struct BindContext
{
	DdirDomain *domain;
	int			rti;
	int			first;			/* columns of it in front of the domain's */
	int			depth;
	int			drop;			/* levels between the columns' query and the
								 * one that the domain is put into */
} BindContext;

static Node *
bind_mutator(Node *node, void *arg)
{
	BindContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
	{
		Query	   *query;

		cx->depth++;
		query = query_tree_mutator((Query *) node, bind_mutator, arg, 0);
		cx->depth--;
		return (Node *) query;
	}
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == cx->depth)
	{
		Var		   *var = copyObject((Var *) node);
		ListCell   *lc;

		var->varlevelsup = 0;
		foreach(lc, cx->domain->vars)
		{
			if (!equal(lfirst(lc), var))
				continue;
			var = ddir_rel_var(cx->rti - 1, cx->domain->rel, foreach_current_index(lc) + 1);
			var->varattno += cx->first;
			var->varlevelsup = cx->depth - cx->drop;
			return (Node *) var;
		}
	}
	return expression_tree_mutator(node, bind_mutator, arg);
}

Node *
ddir_domain_bind(DdirDomain *domain, int rti, Node *node)
{
	BindContext cx = {domain, rti};

	return bind_mutator(node, &cx);
}

/*
 * Which errors are possible
 */

static bool query_is_total(Query *query);

typedef struct MethodContext
{
	Aggref	   *ref;
	DdirAggMethod method;
} MethodContext;

static void
try_method(void *arg)
{
	MethodContext *cx = arg;

	cx->method = ddir_agg_method(cx->ref);
}

/* Sums of these overflow only where more rows are than there can be. */
static bool
agg_is_total(Aggref *ref)
{
	MethodContext cx = {ref};
	char	   *message;
	Oid			typid;
	ListCell   *lc;

	if (ref->aggkind != AGGKIND_NORMAL || !ddir_expr_is_total((Node *) ref->aggfilter))
		return false;
	foreach(lc, ref->args)
	{
		if (!ddir_expr_is_total((Node *) lfirst_node(TargetEntry, lc)->expr))
			return false;
	}
	if (ddir_is_single_agg(ref->aggfnoid))
		return true;
	if (!ddir_try(try_method, &cx, &message) || cx.method == DDIR_AGG_RECOMPUTE)
		return false;
	if (cx.method == DDIR_AGG_SEEK || ref->args == NIL || ref->aggtype == BOOLOID)
		return true;
	typid = exprType((Node *) linitial_node(TargetEntry, ref->args)->expr);
	return ref->aggtype == INT8OID || typid == INT2OID || typid == INT4OID ||
		typid == INT8OID || typid == NUMERICOID;
}

static bool
partial_walker(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Query:
			return !query_is_total((Query *) node);
		case T_Aggref:
			return ((Aggref *) node)->agglevelsup > 0 || !agg_is_total((Aggref *) node);
		case T_SubLink:
			if (((SubLink *) node)->subLinkType != EXISTS_SUBLINK &&
				((SubLink *) node)->subLinkType != ANY_SUBLINK &&
				((SubLink *) node)->subLinkType != ALL_SUBLINK)
				return true;
			break;
		case T_Param:
		case T_FromExpr:
		case T_JoinExpr:
		case T_RangeTblRef:
		case T_RangeTblEntry:
		case T_CommonTableExpr:
		case T_SetOperationStmt:
		case T_SortGroupClause:
		case T_GroupingSet:
		case T_GroupingFunc:
			break;
		default:
			if (!ddir_node_is_total(node))
				return true;
	}
	return expression_tree_walker(node, partial_walker, arg);
}

static bool
query_is_total(Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_FUNCTION || rte->rtekind == RTE_TABLEFUNC ||
			rte->tablesample)
			return false;
	}
	check_stack_depth();

	/* constants may be all that there is to compute */
	query = copyObject(query);
	query->targetList = (List *) eval_const_expressions(NULL, (Node *) query->targetList);
	query->jointree = (FromExpr *) eval_const_expressions(NULL, (Node *) query->jointree);
	query->havingQual = eval_const_expressions(NULL, query->havingQual);
	return !query_tree_walker(query, partial_walker, NULL, QTW_IGNORE_JOINALIASES);
}

bool
ddir_query_is_total(Node *node)
{
	return !partial_walker(node, NULL);
}

/*
 * Making domains
 */

/* How values of a domain's column are compared: as images, in effect. */
Oid
ddir_image_equality(Node *expr)
{
	return ddir_equality_is_lossy(expr, InvalidOid) ? DDIR_EQUALITY_IMAGE :
		lookup_type_cache(exprType(expr), TYPECACHE_EQ_OPR)->eq_opr;
}

/*
 * The different values that columns of an open FROM have.  "passed": of rows
 * that pass all its conditions only, and these as well.  Otherwise there may
 * be more than that.
 */
DdirDomain *
ddir_domain_make(DdirLevel *level, DdirFrom *from, List *vars, List *also, bool passed)
{
	DdirDomain *domain = palloc0(sizeof(DdirDomain));
	DdirInput  *input = NULL;
	List	   *targets;
	List	   *quals;
	ListCell   *lc;

	domain->vars = vars;
	foreach(lc, vars)
	{
		domain->eqops = lappend_oid(domain->eqops, ddir_image_equality(lfirst(lc)));
	}
	if (!passed && vars != NIL && also == NIL)
		input = ddir_from_single(level, vars);
	if (input == NULL || !list_member_ptr(from->inputs, input))
	{
		ddir_from_collapse(level, from);
		input = linitial(from->inputs);
	}
	ddir_from_settle(level, from);
	targets = (List *) ddir_from_resolve_single(level, (Expr *) vars, input);
	quals = (List *) ddir_from_resolve_single(level, (Expr *) also, input);
	domain->rel = ddir_lower_distinct(level, ddir_rel_map(input->rel, quals, targets),
									  domain->eqops);
	return domain;
}

int
ddir_from_add_domain(DdirLevel *level, DdirFrom *from, DdirDomain *domain)
{
	DdirInput  *input = ddir_from_add_input(from, domain->rel);
	int			rti = ddir_level_add_place(level, input, 0, domain->rel->type->natts);

	input->domain = true;
	from->rels = bms_add_member(from->rels, rti);
	return rti;
}

/* Join with the rows that the bindings, which are further to the right, are of. */
void
ddir_from_add_pairs(DdirLevel *level, DdirFrom *from, DdirDomain *domain, int rti)
{
	ListCell   *lc;

	foreach(lc, domain->vars)
	{
		Var		   *var = copyObject(lfirst_node(Var, lc));
		int			i = foreach_current_index(lc);

		ddir_from_add_cond(from,
						   ddir_equality_clause((Expr *) var,
												(Expr *) ddir_rel_var(rti - 1, domain->rel, i + 1),
												list_nth_oid(domain->eqops, i),
												var->varcollid), true);
	}
}

/*
 * Given relations
 */

int
ddir_query_add_given(DdirLowering *run, Query *query, const char *name, DdirRel *rel)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	List	   *names = NIL;

	for (int a = 1; a <= rel->type->natts; a++)
		names = lappend(names, makeString(pstrdup(ddir_rel_column_name(rel, a))));
	rte->rtekind = RTE_NAMEDTUPLESTORE;
	rte->enrname = pstrdup(name);
	rte->enrtuples = list_length(run->given);
	rte->eref = makeAlias(name, names);
	rte->inFromCl = true;
	run->given = lappend(run->given, rel);
	query->rtable = lappend(query->rtable, rte);
	return list_length(query->rtable);
}

DdirRel *
ddir_given_rel(DdirLowering *run, const RangeTblEntry *rte)
{
	return list_nth(run->given, (int) rte->enrtuples);
}

#define BINDINGS "bindings"

DdirRel *
ddir_query_bindings(DdirLevel *level)
{
	ListCell   *lc;

	foreach(lc, level->query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_NAMEDTUPLESTORE && strcmp(rte->enrname, BINDINGS) == 0)
			return ddir_given_rel(level->run, rte);
	}
	return NULL;
}

/*
 * Carrying bindings through queries
 */

bool
ddir_query_is_grouped(const Query *query)
{
	return query->hasAggs || query->groupClause || query->groupingSets || query->havingQual;
}

/* Does it give a row over nothing? */
bool
ddir_query_needs_no_rows(const Query *query)
{
	ListCell   *lc;

	if (query->setOperations || !ddir_query_is_grouped(query))
		return false;
	if (query->groupingSets == NIL)
		return query->groupClause == NIL;
	foreach(lc, expand_grouping_sets(query->groupingSets, query->groupDistinct, -1))
	{
		if (lfirst(lc) == NIL)
			return true;
	}
	return false;
}

static SortGroupClause *
sort_group_clause(TargetEntry *tle, List *targets, Oid eqop)
{
	SortGroupClause *clause = makeNode(SortGroupClause);

	clause->tleSortGroupRef = assignSortGroupRef(tle, targets);
	clause->eqop = eqop;
	return clause;
}

/*
 * A query whose rows are counted off does so for each binding: note that its
 * last visible columns are such.
 */
#define CARRIED "carried"

static void
note_carried(Query *query, List *eqops)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);

	if (!ddir_query_is_limited(query))
		return;
	rte->rtekind = RTE_NAMEDTUPLESTORE;
	rte->enrname = pstrdup(CARRIED);
	rte->coltypes = list_copy(eqops);
	rte->eref = makeAlias(CARRIED, NIL);
	query->rtable = lappend(query->rtable, rte);
}

/* The note, or NULL. */
RangeTblEntry *
ddir_query_carried_entry(const Query *query)
{
	ListCell   *lc;

	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_NAMEDTUPLESTORE && strcmp(rte->enrname, CARRIED) == 0)
			return rte;
	}
	return NULL;
}

List *
ddir_query_carried(const Query *query)
{
	RangeTblEntry *rte = ddir_query_carried_entry(query);

	return rte ? rte->coltypes : NIL;
}

void
ddir_query_carry(DdirLowering *run, Query *query, List *exprs, List *eqops, DdirRel *bindings)
{
	bool		grouped = ddir_query_is_grouped(query);
	ListCell   *lc;
	ListCell   *cell;

	if (ddir_query_needs_no_rows(query))
		ddir_query_add_given(run, query, BINDINGS, bindings);
	foreach(lc, exprs)
	{
		Oid			eqop = list_nth_oid(eqops, foreach_current_index(lc));
		TargetEntry *tle = makeTargetEntry(copyObject(lfirst(lc)),
										   list_length(query->targetList) + 1,
										   "binding", false);

		query->targetList = lappend(query->targetList, tle);
		if (grouped)
			query->groupClause = lappend(query->groupClause,
										 sort_group_clause(tle, query->targetList, eqop));
		if (query->distinctClause)
			query->distinctClause = lappend(query->distinctClause,
											sort_group_clause(tle, query->targetList, eqop));
		foreach(cell, query->windowClause)
		{
			WindowClause *window = lfirst_node(WindowClause, cell);

			window->partitionClause = lappend(window->partitionClause,
											  sort_group_clause(tle, query->targetList, eqop));
		}
	}
	note_carried(query, eqops);
}

/* The same for UNION and its like, whose operands carry them already. */
static void
widen_setop(Node *node, DdirDomain *domain)
{
	SetOperationStmt *op = (SetOperationStmt *) node;
	ListCell   *lc;

	if (!IsA(node, SetOperationStmt))
		return;
	widen_setop(op->larg, domain);
	widen_setop(op->rarg, domain);
	foreach(lc, domain->vars)
	{
		op->colTypes = lappend_oid(op->colTypes, exprType(lfirst(lc)));
		op->colTypmods = lappend_int(op->colTypmods, exprTypmod(lfirst(lc)));
		op->colCollations = lappend_oid(op->colCollations, exprCollation(lfirst(lc)));
		if (!op->all || op->op != SETOP_UNION)
		{
			SortGroupClause *clause = makeNode(SortGroupClause);

			clause->eqop = list_nth_oid(domain->eqops, foreach_current_index(lc));
			op->groupClauses = lappend(op->groupClauses, clause);
		}
	}
}

typedef struct InlineContext
{
	CommonTableExpr *cte;
	int			depth;
} InlineContext;

/* A WITH query that depends on the binding is a subquery where it is read. */
static bool
inline_walker(Node *node, void *arg)
{
	InlineContext *cx = arg;

	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *rte = (RangeTblEntry *) node;

		if (rte->rtekind == RTE_CTE && (int) rte->ctelevelsup == cx->depth &&
			strcmp(rte->ctename, cx->cte->ctename) == 0)
		{
			rte->rtekind = RTE_SUBQUERY;
			rte->subquery = copyObject(castNode(Query, cx->cte->ctequery));
			rte->lateral = true;
			IncrementVarSublevelsUp((Node *) rte->subquery, cx->depth, 1);
		}
		return false;
	}
	if (IsA(node, Query))
	{
		cx->depth++;
		query_tree_walker((Query *) node, inline_walker, arg, QTW_EXAMINE_RTES_BEFORE);
		cx->depth--;
		return false;
	}
	return expression_tree_walker(node, inline_walker, arg);
}

static void
inline_ctes(DdirLowering *run, Query *query, int depth)
{
	List	   *rest = NIL;
	ListCell   *lc;

	foreach(lc, query->cteList)
	{
		CommonTableExpr *cte = lfirst_node(CommonTableExpr, lc);
		InlineContext cx = {cte, -1};
		VarsContext vars = {depth, NULL, NIL};

		vars_walker(cte->ctequery, &vars);
		if (vars.vars == NIL)
		{
			rest = lappend(rest, cte);
			continue;
		}
		if (cte->cterecursive)
			ddir_refuse_query(run->refusal, DDIR_REFUSE_RECURSIVE,
							  psprintf("WITH RECURSIVE %s", cte->ctename));
		inline_walker((Node *) query, &cx);
	}
	query->cteList = rest;
}

/*
 * LIMIT and OFFSET are looked at apart from the query that they are of, and read
 * its WITH queries as subqueries.
 */
void
ddir_query_free_limit(Query *query)
{
	for (int i = list_length(query->cteList) - 1; i >= 0; i--)
	{
		InlineContext cx = {list_nth_node(CommonTableExpr, query->cteList, i), 0};

		/* one that stands before another may be read by that */
		if (!cx.cte->cterecursive)
		{
			inline_walker(query->limitCount, &cx);
			inline_walker(query->limitOffset, &cx);
		}
	}
}

/*
 * Put the domain into the FROM of a query that is "drop" levels inside of the
 * one whose columns are its.
 */
static Query *
bind_query(DdirLowering *run, Query *query, DdirDomain *domain, DdirRel *bindings, int drop)
{
	BindContext cx = {domain, 0, 0, drop - 1, drop};
	RangeTblRef *ref;
	List	   *exprs = NIL;
	ListCell   *lc;

	check_stack_depth();
	if (query->setOperations)
	{
		inline_ctes(run, query, drop);
		foreach(lc, query->rtable)
		{
			RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			rte->subquery = bind_query(run, rte->subquery, domain, bindings, drop + 1);
		}
		widen_setop(query->setOperations, domain);
		/* in LIMIT, too, the bindings are the columns that follow */
		cx.rti = 1;
		cx.depth = drop;
		cx.first = list_length(query->targetList);
		query->limitCount = bind_mutator(query->limitCount, &cx);
		query->limitOffset = bind_mutator(query->limitOffset, &cx);
		foreach(lc, domain->vars)
		{
			Node	   *var = lfirst(lc);
			int			a = list_length(query->targetList) + 1;
			Var		   *operand = makeVar(1, a, exprType(var), exprTypmod(var),
										  exprCollation(var), 0);

			query->targetList = lappend(query->targetList,
										makeTargetEntry((Expr *) operand, a, "binding", false));
		}
		note_carried(query, domain->eqops);
		return query;
	}
	ref = makeNode(RangeTblRef);
	ref->rtindex = ddir_query_add_given(run, query, "domain", domain->rel);
	cx.rti = ref->rtindex;
	query = (Query *) bind_mutator((Node *) query, &cx);
	query->jointree->fromlist = lcons(ref, query->jointree->fromlist);
	inline_ctes(run, query, 0);
	for (int a = 1; a <= domain->rel->type->natts; a++)
		exprs = lappend(exprs, ddir_rel_var(ref->rtindex - 1, domain->rel, a));
	ddir_query_carry(run, query, exprs, domain->eqops, bindings);
	return query;
}

Query *
ddir_domain_bind_query(DdirLowering *run, DdirDomain *domain, DdirRel *bindings, Query *query)
{
	return bind_query(run, query, domain, bindings, 1);
}
