/*-------------------------------------------------------------------------
 *
 * flow.c
 *	  A query of one table as a small dataflow: a source, the arrangements and
 *	  distinct inputs its aggregates ask for, a reduction, a sink.
 *
 * test/modules/test_agg/flow.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "base/port.h"
#include "rows/program.h"
#include "test_agg.h"

#define ARRS_MAX 32

/* A reduction being made. */
typedef struct Reduction
{
	Flow	   *flow;
	DdirNode   *in;
	const DdirRowType *in_type;
	int			nkeys;
	List	   *keys;
	DdirKeySpec *key;
	List	   *columns;		/* of port 0 */
	int			nports;
	DdirNode   *port[DDIR_AGG_PORTS_MAX];
	const DdirRowType *port_type[DDIR_AGG_PORTS_MAX];
	int			narr;
	DdirNode   *arr[ARRS_MAX];
	const DdirRowType *arr_type[ARRS_MAX];
} Reduction;

static DdirNode *make_reduction(Flow *flow, DdirNode *in, const DdirRowType *in_type,
								List *keys, List *eqops, List *aggs, bool global,
								DdirRowType **out);

static DdirFunc
program(Reduction *r, const DdirRowType *type, List *quals, List *targets, List *keys,
		Expr *order, bool descending)
{
	DdirProgramSpec spec = {0};

	spec.label = "test";
	spec.nrel = 1;
	spec.rel = &type;
	spec.quals = quals;
	spec.targets = targets;
	spec.keys = keys;
	spec.key = r->key;
	if (order)
	{
		spec.order = list_make1(order);
		spec.descending = &descending;
	}
	return ddir_program_make(r->flow->cxt, &spec);
}

static int
arrange(Reduction *r, List *quals, List *targets, Expr *order, bool descending)
{
	r->arr_type[r->narr] = ddir_rowtype_from_exprs(targets);
	r->arr[r->narr] = ddir_arrange_create(r->flow->graph, "test", r->in,
										  program(r, r->in_type, quals, targets, r->keys,
												  order, descending));
	return r->narr++;
}

static int
column(Reduction *r, Expr *expr)
{
	r->columns = lappend(r->columns, expr);
	return list_length(r->columns) - 1;
}

static Expr *
guarded(Expr *expr, Expr *filter)
{
	CaseExpr   *c = makeNode(CaseExpr);
	CaseWhen   *w = makeNode(CaseWhen);

	if (filter == NULL)
		return expr;
	w->expr = filter;
	w->result = expr;
	c->casetype = exprType((Node *) expr);
	c->casecollid = exprCollation((Node *) expr);
	c->args = list_make1(w);
	c->defresult = (Expr *) makeNullConst(c->casetype, -1, c->casecollid);
	return (Expr *) c;
}

/* Distinct (keys, argument) as another input. */
static void
plan_distinct(Reduction *r, DdirAgg *agg, List *args)
{
	Aggref	   *ref = agg->ref;
	List	   *targets = list_concat(list_copy(r->keys), args);
	List	   *eqops = list_copy(r->flow->eqops);
	DdirNode   *in = r->in;
	const DdirRowType *in_type = r->in_type;
	DdirRowType *type;

	eqops = lappend_oid(eqops, linitial_node(SortGroupClause, ref->aggdistinct)->eqop);
	if (ref->aggfilter)
	{
		DdirProgramSpec spec = {.label = "filter",.nrel = 1,.rel = &in_type};

		/* the row as it is, where the filter holds */
		spec.quals = list_make1(ref->aggfilter);
		for (int i = 0; i < in_type->natts; i++)
			spec.targets = lappend(spec.targets,
								   makeVar(1, i + 1, in_type->col[i].typid, in_type->col[i].typmod,
										   in_type->col[i].collation, 0));
		in = ddir_linear_create(r->flow->graph, "filter", in,
								ddir_program_make(r->flow->cxt, &spec));
	}
	agg->port = r->nports++;
	r->port[agg->port] = make_reduction(r->flow, in, in_type, targets, eqops, NIL, false, &type);
	r->port_type[agg->port] = type;
	agg->arg[0] = r->nkeys;
	agg->nargs = 1;
}

static void
plan_agg(Reduction *r, DdirAgg *agg, Aggref *ref)
{
	List	   *quals = ref->aggfilter ? list_make1(ref->aggfilter) : NIL;
	List	   *head = r->nkeys == 0 || r->key->exact ? NIL : list_copy(r->keys);
	List	   *args = NIL;
	ListCell   *lc;
	bool		descending;
	Oid			ltop;

	agg->ref = ref;
	agg->method = ddir_agg_method(ref);
	agg->arr = -1;
	agg->filter = -1;
	agg->arg = palloc0(sizeof(int));
	foreach(lc, ref->args)
		args = lappend(args, lfirst_node(TargetEntry, lc)->expr);
	if (agg->method == DDIR_AGG_SEEK)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = linitial(args);
		test->nulltesttype = IS_NOT_NULL;
		ddir_agg_seek_order(ref, &ltop, &descending);
		agg->arr = arrange(r, lappend(quals, test), lappend(head, linitial(args)),
						   linitial(args), descending);
	}
	else if (agg->method == DDIR_AGG_RECOMPUTE)
		agg->arr = arrange(r, quals, list_concat(head, args), NULL, false);
	else if (ddir_agg_needs_distinct(ref))
		plan_distinct(r, agg, args);
	else if (args == NIL)
		agg->filter = ref->aggfilter ? column(r, ref->aggfilter) : -1;
	else
	{
		agg->arg[0] = column(r, guarded(linitial(args), ref->aggfilter));
		agg->nargs = 1;
	}
}

static List *
port_columns(Reduction *r, int p)
{
	List	   *columns = NIL;

	if (p == 0)
		return r->columns;
	for (int i = 0; i < r->port_type[p]->natts; i++)
	{
		const DdirColumnType *c = &r->port_type[p]->col[i];

		columns = lappend(columns, makeVar(1, i + 1, c->typid, c->typmod, c->collation, 0));
	}
	return columns;
}

static DdirKeySpec *
make_key(List *keys, List *eqops)
{
	int			n = list_length(keys);
	Oid		   *typids = palloc(sizeof(Oid) * (n + 1));
	Oid		   *collations = palloc(sizeof(Oid) * (n + 1));
	Oid		   *ops = palloc(sizeof(Oid) * (n + 1));

	for (int i = 0; i < n; i++)
	{
		typids[i] = exprType(list_nth(keys, i));
		collations[i] = exprCollation(list_nth(keys, i));
		ops[i] = list_nth_oid(eqops, i);
	}
	return ddir_key_make(DDIR_KEY_GROUP, n, typids, collations, ops);
}

static DdirNode *
make_reduction(Flow *flow, DdirNode *in, const DdirRowType *in_type, List *keys,
			   List *eqops, List *aggs, bool global, DdirRowType **out)
{
	Reduction	r = {.flow = flow,.in = in,.in_type = in_type,.nports = 1};
	DdirAggPlan plan = {0};
	DdirReduceSpec spec = {0};
	DdirFunc	keying[DDIR_AGG_PORTS_MAX];

	r.nkeys = list_length(keys);
	r.keys = keys;
	r.key = make_key(keys, eqops);
	r.columns = list_copy(keys);
	r.port[0] = in;
	r.port_type[0] = in_type;

	plan.nkeys = r.nkeys;
	plan.key = r.key;
	plan.label_arr = r.key->lossy ? arrange(&r, NIL, keys, NULL, false) : -1;
	plan.naggs = list_length(aggs);
	plan.agg = palloc0(sizeof(DdirAgg) * (plan.naggs + 1));
	for (int i = 0; i < plan.naggs; i++)
		plan_agg(&r, &plan.agg[i], list_nth(aggs, i));
	plan.nports = r.nports;
	for (int p = 0; p < r.nports; p++)
	{
		List	   *columns = port_columns(&r, p);

		plan.fold_type[p] = ddir_rowtype_from_exprs(columns);
		keying[p] = program(&r, r.port_type[p], NIL, columns,
							list_copy_head(columns, r.nkeys), NULL, false);
	}
	plan.arr_type = r.arr_type;

	spec.nfold = r.nports;
	spec.fold = r.port;
	spec.keying = keying;
	spec.narr = r.narr;
	spec.arr = r.arr;
	spec.global = global;

	spec.fns = flow->fns = ddir_agg_make(flow->cxt, &plan);
	flow->keying = keying[0];
	flow->plan = plan;
	*out = ddir_agg_output_type(&plan);
	return ddir_reduce_create(flow->graph, "test", &spec);
}

static void
take_apart(Flow *flow, Query *query)
{
	ListCell   *lc;

	foreach(lc, query->groupClause)
	{
		SortGroupClause *c = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(c, query->targetList);

		flow->keys = lappend(flow->keys, tle->expr);
		flow->eqops = lappend_oid(flow->eqops, c->eqop);
	}
	foreach(lc, query->targetList)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (IsA(tle->expr, Aggref))
			flow->aggs = lappend(flow->aggs, tle->expr);
	}
	if (list_length(flow->keys) + list_length(flow->aggs) != list_length(query->targetList))
		elog(ERROR, "the query has more than keys and aggregates");
	flow->global = flow->keys == NIL;
}

Flow *
flow_make(MemoryContext cxt, const char *text, const DdirRowType *row, DdirSinkFns sink)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Flow	   *flow = palloc0(sizeof(Flow));
	RawStmt    *raw = linitial_node(RawStmt, pg_parse_query(text));
	Query	   *query = parse_analyze_fixedparams(raw, text, NULL, 0, NULL);
	DdirNode   *node;

	ddir_flatten_groups(query);
	query->targetList = (List *) eval_const_expressions(NULL, (Node *) query->targetList);
	flow->cxt = cxt;
	flow->row = ddir_rowtype_copy(row);
	take_apart(flow, query);
	flow->graph = ddir_graph_create(ddir_arena_of(cxt), 1);
	flow->source = ddir_source_create(flow->graph, "test");
	node = make_reduction(flow, flow->source, flow->row, flow->keys, flow->eqops,
						  flow->aggs, flow->global, &flow->out);
	ddir_sink_create(flow->graph, "test", node, sink);
	MemoryContextSwitchTo(old);
	return flow;
}
