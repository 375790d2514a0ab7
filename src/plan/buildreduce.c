/*-------------------------------------------------------------------------
 *
 * buildreduce.c
 *	  GROUP BY, DISTINCT and aggregates: from a Reduce to an operator.
 *
 * The reduction's first input folds rows of (keys, arguments, filters) made
 * from the input by one program.  Every set of DISTINCT arguments has an input
 * of its own: the distinct (keys, arguments), which is a reduction again.
 * Aggregates that look their group's rows up have an arrangement by the group
 * (rows/agg.h says of what).  A group key whose bytes do not give its columns
 * back has an arrangement of labels.
 *
 * src/plan/buildreduce.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "plan/estimate.h"
#include "plan/flow.h"

/* A group beside its key and its state: its place in the table, its counts. */
#define GROUP_BYTES 80

typedef struct ReduceBuild
{
	DdirBuild  *b;
	DdirRel    *rel;
	DdirStream	in;
	int			nkeys;
	List	   *keys;			/* Exprs over the stream's columns */
	DdirKeySpec *key;
	List	   *columns;		/* of port 0: Exprs over the stream's columns */
	int			nports;
	DdirStream *port;
	List	  **port_columns;	/* over each port's stream */
	List	  **port_keys;
	int			narr;
	DdirNode  **arr;
	const DdirRowType **arr_type;
	DdirAggPlan plan;
} ReduceBuild;

DdirKeySpec *
ddir_group_key(List *group)
{
	int			n = list_length(group);
	Oid		   *typids = palloc(sizeof(Oid) * (n + 1));
	Oid		   *collations = palloc(sizeof(Oid) * (n + 1));
	Oid		   *eqops = palloc(sizeof(Oid) * (n + 1));

	for (int i = 0; i < n; i++)
	{
		DdirGroupKey *k = list_nth(group, i);

		typids[i] = exprType((Node *) k->expr);
		collations[i] = k->collation;
		eqops[i] = k->eqop;
	}
	return ddir_key_make(DDIR_KEY_GROUP, n, typids, collations, eqops);
}

/* The column of port 0 for an expression, added if it is not there. */
static int
port_column(ReduceBuild *rb, Expr *expr)
{
	int			i = rb->nkeys;

	for (; i < list_length(rb->columns); i++)
		if (equal(list_nth(rb->columns, i), expr))
			return i;
	rb->columns = lappend(rb->columns, expr);
	return i;
}

/* expr where the filter is true, else NULL */
static Expr *
guarded(Expr *expr, Expr *filter)
{
	CaseExpr   *c;
	CaseWhen   *w;

	if (filter == NULL)
		return expr;
	c = makeNode(CaseExpr);
	w = makeNode(CaseWhen);
	w->expr = copyObject(filter);
	w->result = expr;
	w->location = -1;
	c->casetype = exprType((Node *) expr);
	c->casecollid = exprCollation((Node *) expr);
	c->args = list_make1(w);
	c->defresult = (Expr *) makeNullConst(c->casetype, exprTypmod((Node *) expr), c->casecollid);
	c->location = -1;
	return (Expr *) c;
}

static List *
arg_exprs(Aggref *ref)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, ref->args)
		exprs = lappend(exprs, lfirst_node(TargetEntry, lc)->expr);
	return exprs;
}

/*
 * The stream of distinct (keys, arguments), as another input of the reduction;
 * its index.
 */
static int
distinct_port(ReduceBuild *rb, Aggref *ref)
{
	List	   *targets = list_concat(list_copy(rb->keys), arg_exprs(ref));
	List	   *group = NIL;
	DdirRel    *map = ddir_rel_map(rb->rel->input[0],
								   ref->aggfilter ? list_make1(ref->aggfilter) : NIL, targets);
	DdirRel    *distinct;
	DdirStream	s;
	List	   *columns = NIL;
	ListCell   *lc;
	int			p;

	for (int i = 0; i < list_length(targets); i++)
	{
		DdirGroupKey *key = palloc0(sizeof(DdirGroupKey));

		key->expr = (Expr *) ddir_rel_var(0, map, i + 1);
		if (i < rb->nkeys)
		{
			DdirGroupKey *outer = list_nth(rb->rel->keys, i);

			key->eqop = outer->eqop;
			key->collation = outer->collation;
		}
		else
		{
			TargetEntry *tle = list_nth(ref->args, i - rb->nkeys);

			foreach(lc, ref->aggdistinct)
			{
				SortGroupClause *c = lfirst(lc);

				if (c->tleSortGroupRef == tle->ressortgroupref)
					key->eqop = c->eqop;
			}
			key->collation = exprCollation((Node *) tle->expr);
		}
		group = lappend(group, key);
	}
	distinct = ddir_rel_reduce(map, group, NIL, false);
	ddir_estimate_one(map, rb->b->owner);
	ddir_estimate_one(distinct, rb->b->owner);
	s = ddir_build_rel(rb->b, distinct);
	for (int i = 0; i < list_length(targets); i++)
	{
		const DdirColumnType *col = &s.node_type->col[i];

		columns = lappend(columns, makeVar(1, i + 1, col->typid, col->typmod,
										   col->collation, 0));
	}

	for (p = 1; p < rb->nports; p++)
		if (rb->port[p].node == s.node)
			return p;
	if (p == DDIR_AGG_PORTS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many different sets of DISTINCT arguments in one GROUP BY"),
				 errdetail("At most %d are maintained.", DDIR_AGG_PORTS_MAX - 1)));
	rb->port[p] = s;
	rb->port_columns[p] = columns;
	rb->port_keys[p] = list_copy_head(columns, rb->nkeys);
	rb->nports++;
	return p;
}

/* An arrangement by the group, for the reduction to look things up in. */
static int
add_arrangement(ReduceBuild *rb, List *quals, List *targets, Expr *order, bool descending,
				const char *label)
{
	DdirBuild  *b = rb->b;
	const DdirStream *s = &rb->in;
	DdirProgramSpec spec = {0};
	DdirMade   *made;

	spec.label = label;
	spec.owner = b->owner;
	spec.nrel = 1;
	spec.rel = &s->node_type;
	spec.quals = list_concat(list_copy(s->quals), ddir_stream_exprs(s, quals));
	spec.targets = ddir_stream_exprs(s, targets);
	spec.keys = ddir_stream_exprs(s, rb->keys);
	spec.key = rb->key;
	if (order)
	{
		spec.order = list_make1(ddir_stream_expr(s, order));
		spec.descending = &descending;
	}
	rb->arr[rb->narr] = ddir_arrange_create(b->share->graph, label, s->node,
											ddir_program_make(b->flow->cxt, &spec));
	ddir_flow_keep(b, rb->arr[rb->narr], 1, &s);
	rb->arr_type[rb->narr] = ddir_rowtype_from_exprs(targets);
	made = ddir_flow_note(b, 0, "arrangement", "by group, for %s", label);
	made->sharing = "new";
	ddir_flow_holds(b, made, rb->arr[rb->narr], s->rows,
					ddir_share_bytes(s->rows, ddir_exprs_width(targets), false, rb->key->ncols,
									 rb->key->ncols > 0 ? rb->key->col[0].width : -1,
									 ddir_exprs_width(rb->keys)));
	return rb->narr++;
}

static Expr *
not_null(Expr *expr)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = expr;
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	return (Expr *) test;
}

/* Aggregates that read their group's rows (what of them: rows/agg.h). */
static void
plan_reader(ReduceBuild *rb, DdirAgg *agg)
{
	Aggref	   *ref = agg->ref;
	List	   *args = arg_exprs(ref);
	List	   *quals = ref->aggfilter ? list_make1(ref->aggfilter) : NIL;
	List	   *head = rb->key->exact ? NIL : list_copy(rb->keys);
	bool		descending;
	Oid			ltop;

	agg->filter = -1;
	if (agg->method == DDIR_AGG_SEEK)
	{
		ddir_agg_seek_order(ref, &ltop, &descending);
		agg->arr = add_arrangement(rb, lappend(quals, not_null(linitial(args))),
								   lappend(head, linitial(args)), linitial(args),
								   descending, "least or greatest");
	}
	else
	{
		List	   *columns = list_concat(head, args);

		if (ddir_agg_direct_varies(ref))
		{
			columns = list_concat(list_concat(columns, ref->aggdirectargs), quals);
			quals = NIL;
		}
		agg->arr = add_arrangement(rb, quals, columns, NULL, false, "recomputation");
	}
}

static void
plan_fold(ReduceBuild *rb, DdirAgg *agg)
{
	Aggref	   *ref = agg->ref;
	ListCell   *lc;
	int			i = 0;

	agg->arg = palloc(sizeof(int) * (list_length(ref->args) + 1));
	agg->filter = -1;
	agg->arr = -1;
	if (ddir_agg_needs_distinct(ref))
	{
		agg->port = distinct_port(rb, ref);
		agg->nargs = list_length(ref->args);
		for (; i < agg->nargs; i++)
			agg->arg[i] = rb->nkeys + i;
		return;
	}
	foreach(lc, ref->args)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (!tle->resjunk)
			agg->arg[agg->nargs++] = port_column(rb, guarded(tle->expr, ref->aggfilter));
	}
	if (ref->aggfilter && agg->nargs == 0)
		agg->filter = port_column(rb, ref->aggfilter);
}

/* Keying of a fold input: its columns as the row, the group's key. */
static DdirFunc
keying_program(ReduceBuild *rb, int p)
{
	const DdirStream *s = &rb->port[p];
	DdirProgramSpec spec = {0};

	spec.label = "group";
	spec.owner = rb->b->owner;
	spec.nrel = 1;
	spec.rel = &s->node_type;
	spec.quals = s->quals;
	spec.targets = ddir_stream_exprs(s, rb->port_columns[p]);
	spec.keys = ddir_stream_exprs(s, rb->port_keys[p]);
	spec.key = rb->key;
	return ddir_program_make(rb->b->flow->cxt, &spec);
}

static void
plan_aggregates(ReduceBuild *rb)
{
	ListCell   *lc;
	DdirAgg    *agg;

	rb->plan.naggs = list_length(rb->rel->aggs);
	rb->plan.agg = agg = palloc0(sizeof(DdirAgg) * (rb->plan.naggs + 1));
	foreach(lc, rb->rel->aggs)
	{
		agg->ref = lfirst_node(Aggref, lc);
		agg->method = ddir_agg_method(agg->ref);
		if (agg->method == DDIR_AGG_FOLD)
			plan_fold(rb, agg);
		else
			plan_reader(rb, agg);
		agg++;
	}
	rb->plan.label_arr = -1;
	if (rb->key->lossy)
		rb->plan.label_arr = add_arrangement(rb, NIL, rb->keys, NULL, false, "labels");
}

DdirStream
ddir_build_reduce(DdirBuild *b, DdirRel *rel)
{
	ReduceBuild rb = {0};
	int			max = list_length(rel->aggs) + 2;	/* inputs of either sort */
	DdirReduceSpec spec = {0};
	DdirNode  **fold = palloc0(sizeof(DdirNode *) * max);
	DdirFunc   *keying = palloc0(sizeof(DdirFunc) * max);
	const DdirStream **loads = palloc0(sizeof(DdirStream *) * (2 * max));
	DdirNode   *node;

	rb.b = b;
	rb.rel = rel;
	rb.in = ddir_build_rel(b, rel->input[0]);
	rb.nkeys = list_length(rel->keys);
	rb.keys = ddir_key_exprs(rel->keys);
	rb.key = ddir_group_key(rel->keys);
	rb.columns = list_copy(rb.keys);
	rb.nports = 1;
	rb.port = palloc0(sizeof(DdirStream) * max);
	rb.port_columns = palloc0(sizeof(List *) * max);
	rb.port_keys = palloc0(sizeof(List *) * max);
	rb.arr = palloc0(sizeof(DdirNode *) * max);
	rb.arr_type = palloc0(sizeof(DdirRowType *) * max);

	plan_aggregates(&rb);
	rb.port[0] = rb.in;
	rb.port_columns[0] = rb.columns;
	rb.port_keys[0] = rb.keys;

	for (int p = 0; p < rb.nports; p++)
	{
		fold[p] = rb.port[p].node;
		keying[p] = keying_program(&rb, p);
		rb.plan.fold_type[p] = ddir_rowtype_from_exprs(rb.port_columns[p]);
		loads[p] = &rb.port[p];
	}
	rb.plan.nkeys = rb.nkeys;
	rb.plan.nports = rb.nports;
	rb.plan.arr_type = rb.arr_type;
	rb.plan.key = rb.key;
	rb.plan.owner = b->owner;

	spec.nfold = rb.nports;
	spec.fold = fold;
	spec.keying = keying;
	spec.narr = rb.narr;
	spec.arr = rb.arr;
	spec.global = rel->global;
	spec.fns = ddir_agg_make(b->flow->cxt, &rb.plan);
	node = ddir_reduce_create(b->share->graph, rel->aggs ? "aggregate" : "distinct", &spec);
	ddir_flow_keep(b, node, rb.nports, loads);
	ddir_flow_holds(b, ddir_flow_note(b, 0, rel->aggs ? "aggregate" : "distinct",
									  "by %d columns, %d aggregates, %d inputs, %d arrangements",
									  rb.nkeys, rb.plan.naggs, rb.nports, rb.narr),
					node, rel->rows,
					rel->rows * (GROUP_BYTES + ddir_exprs_width(rb.keys) + spec.fns.state_size));
	return ddir_stream_of(node, ddir_agg_output_type(&rb.plan), rel->rows);
}
