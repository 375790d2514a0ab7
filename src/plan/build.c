/*-------------------------------------------------------------------------
 *
 * build.c
 *	  From DDIR to operators.
 *
 * The tree is walked from the leaves.  Every relation gives a stream; Maps
 * only add to the stream's quals and targets, so that filters and projections
 * run in the same program as the keying of an arrangement, the folding of a
 * reduction, or the output.  Joins and reductions are in files of their own.
 *
 *	ddir_flow_build	- the operators of a view
 *	ddir_flow_start	- push its constants, in its first step
 *	ddir_flow_drop	- release them
 *	ddir_flow_plan	- what would be made for a query
 *
 * Memory: a flow lives in a context of its own, programs included.  It must
 * outlive its operators; a flow that others read is dropped after them.
 *
 * src/plan/build.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/port.h"
#include "plan/estimate.h"
#include "plan/flow.h"
#include "plan/prune.h"
#include "rows/flatmap.h"
#include "rows/instant.h"

/* A relation that stands more than once in the tree, and its stream. */
typedef struct DdirBuilt
{
	DdirRel    *rel;
	DdirStream	stream;
} DdirBuilt;

/* Rows pushed into a node when the flow starts. */
typedef struct ConstantRows
{
	DdirNode   *node;
	DdirDeltas	rows;
} ConstantRows;

/*
 * Expressions
 */

typedef struct ReplaceContext
{
	int			n;
	List	   *const *exprs;
} ReplaceContext;

static Node *
replace_mutator(Node *node, void *arg)
{
	ReplaceContext *cx = arg;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;
		int			i = var->varno - 1;

		if (i < 0 || i >= cx->n)
			elog(ERROR, "column of input %d in an expression over %d", i, cx->n);
		if (cx->exprs[i] == NIL)
			return copyObject(node);
		if (var->varattno < 1 || var->varattno > list_length(cx->exprs[i]))
			elog(ERROR, "column %d of input %d is out of range", var->varattno, i);
		return copyObject(list_nth(cx->exprs[i], var->varattno - 1));
	}
	return expression_tree_mutator(node, replace_mutator, arg);
}

Node *
ddir_expr_replace(Node *expr, int n, List *const *exprs)
{
	ReplaceContext cx = {n, exprs};

	return replace_mutator(expr, &cx);
}

typedef struct ColumnsContext
{
	int			input;			/* -1: collect inputs instead */
	Bitmapset  *found;
} ColumnsContext;

static bool
columns_walker(Node *node, void *arg)
{
	ColumnsContext *cx = arg;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		Var		   *var = (Var *) node;

		if (cx->input < 0)
			cx->found = bms_add_member(cx->found, var->varno - 1);
		else if (var->varno - 1 == cx->input)
			cx->found = bms_add_member(cx->found, var->varattno);
		return false;
	}
	return expression_tree_walker(node, columns_walker, arg);
}

Bitmapset *
ddir_expr_columns(Node *expr, int i)
{
	ColumnsContext cx = {i, NULL};

	columns_walker(expr, &cx);
	return cx.found;
}

Bitmapset *
ddir_expr_inputs(Node *expr)
{
	ColumnsContext cx = {-1, NULL};

	columns_walker(expr, &cx);
	return cx.found;
}

static bool
user_function(Oid funcid, void *arg)
{
	return funcid >= FirstNormalObjectId;
}

/*
 * What the server makes of a type of users may call functions of theirs, too:
 * those in constraints of domains, however deep in the type.
 */
static bool
makes_user_type(Node *node)
{
	switch (nodeTag(node))
	{
		case T_CoerceToDomain:
			return true;
		case T_FuncExpr:
		case T_OpExpr:
		case T_CoerceViaIO:
			return exprType(node) >= FirstNormalObjectId;
		default:
			return false;
	}
}

static bool
user_function_walker(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (makes_user_type(node) || check_functions_in_node(node, user_function, NULL))
		return true;
	return expression_tree_walker(node, user_function_walker, arg);
}

Oid
ddir_exprs_owner(List *exprs, Oid owner)
{
	return user_function_walker((Node *) exprs, NULL) ? owner : InvalidOid;
}

/*
 * Streams
 */

DdirStream
ddir_stream_of(DdirNode *node, const DdirRowType *type, double rows)
{
	DdirStream	s = {0};

	s.node = node;
	s.node_type = type;
	s.identity = true;
	s.rows = rows;
	return s;
}

Expr *
ddir_stream_expr(const DdirStream *s, Expr *expr)
{
	List	   *targets = s->identity ? NIL : s->targets;

	return (Expr *) ddir_expr_replace((Node *) expr, 1, &targets);
}

List *
ddir_stream_exprs(const DdirStream *s, List *exprs)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
		result = lappend(result, ddir_stream_expr(s, lfirst(lc)));
	return result;
}

/* The stream's columns as expressions over the node's rows. */
List *
ddir_stream_targets(const DdirStream *s)
{
	List	   *targets = NIL;

	if (!s->identity)
		return s->targets;
	for (int a = 0; a < s->node_type->natts; a++)
	{
		const DdirColumnType *col = &s->node_type->col[a];

		if (OidIsValid(col->typid))
			targets = lappend(targets, makeVar(1, a + 1, col->typid, col->typmod,
											   col->collation, 0));
		else
			targets = lappend(targets, makeNullConst(INT4OID, -1, InvalidOid));
	}
	return targets;
}

DdirRowType *
ddir_stream_type(const DdirStream *s)
{
	return ddir_rowtype_from_exprs(ddir_stream_targets(s));
}

bool
ddir_stream_is_columns(const DdirStream *s)
{
	ListCell   *lc;

	if (!OidIsValid(s->relid))
		return false;
	if (s->identity)
		return true;
	foreach(lc, s->targets)
		if (!IsA(lfirst(lc), Var))
		return false;
	return true;
}

/*
 * Take a fresh node into the flow.  in: its inputs, by port; a NULL is not a
 * stream (an arrangement, which needs no load).
 */
DdirNode *
ddir_flow_keep(DdirBuild *b, DdirNode *node, int nin, const DdirStream *const *in)
{
	DdirFlow   *flow = b->flow;
	MemoryContext old = MemoryContextSwitchTo(flow->cxt);

	flow->nodes = lappend(flow->nodes, node);
	node->tag = flow->view;
	for (int i = 0; i < nin; i++)
	{
		DdirLoad   *load;

		if (in[i] == NULL || !OidIsValid(in[i]->relid))
			continue;
		load = palloc(sizeof(DdirLoad));
		load->relid = in[i]->relid;
		load->node = node;
		load->port = i;
		flow->loads = lappend(flow->loads, load);
	}
	MemoryContextSwitchTo(old);
	return node;
}

DdirMade *
ddir_flow_note(DdirBuild *b, int depth, const char *what, const char *fmt,...)
{
	MemoryContext old = MemoryContextSwitchTo(b->flow->cxt);
	DdirMade   *made = palloc0(sizeof(DdirMade));
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		va_list		args;
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&text, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	made->depth = depth;
	made->what = what;
	made->text = text.data;

	made->rows = made->bytes = -1;
	made->delta_bytes = made->binary_bytes = -1;
	b->flow->made = lappend(b->flow->made, made);
	MemoryContextSwitchTo(old);
	return made;
}

void
ddir_flow_holds(DdirBuild *b, DdirMade *made, DdirNode *node, double rows, double bytes)
{
	made->node = node;
	made->rows = rows;
	made->bytes = bytes;
	b->flow->state_bytes += bytes;
}

DdirNode *
ddir_stream_node(DdirBuild *b, const DdirStream *s)
{
	DdirProgramSpec spec = {0};
	DdirFunc	func;

	if (s->identity && s->quals == NIL)
		return s->node;

	spec.label = "map";
	spec.owner = b->owner;
	spec.nrel = 1;
	spec.rel = &s->node_type;
	spec.quals = s->quals;
	spec.targets = ddir_stream_targets(s);
	func = ddir_program_make(b->flow->cxt, &spec);
	return ddir_flow_keep(b, ddir_linear_create(b->share->graph, "map", s->node, func),
						  1, &s);
}

/*
 * Relations
 */

static DdirStream
build_scan(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s;
	DdirSourceEntry *source = ddir_share_source_entry(b, rel);

	s = ddir_stream_of(source->node, source->type, rel->rows);
	s.relid = rel->relid;
	s.rel = rel;
	ddir_share_keep_by_key(b, &s);
	return s;
}

static DdirStream
build_map(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s = ddir_build_rel(b, rel->input[0]);
	List	   *quals = ddir_stream_exprs(&s, rel->quals);
	List	   *targets = ddir_stream_exprs(&s, rel->targets);

	s.quals = list_concat(list_copy(s.quals), quals);
	s.targets = targets;
	s.identity = false;
	s.rows = rel->rows;
	return s;
}

/* A row kept for later, beside its image: its instant, and of the batch. */
#define ROW_KEPT_BYTES 20

static DdirStream
build_schedule(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s = ddir_build_rel(b, rel->input[0]);
	DdirNode   *in = ddir_stream_node(b, &s);
	const DdirStream *load = in == s.node ? &s : NULL;
	DdirInstantSpec spec = {0};
	Node	   *loose;
	DdirNode   *node;
	double		width = 0;

	spec.label = "schedule";
	spec.owner = b->owner;
	spec.rel = in == s.node ? s.node_type : ddir_stream_type(&s);
	spec.quals = (List *) ddir_clock_as_var((Node *) rel->quals);
	spec.targets = (List *) ddir_clock_as_var((Node *) rel->targets);
	spec.dials = ddir_clock_dials(list_concat_copy(rel->quals, rel->targets), &loose);
	node = ddir_schedule_create(b->share->graph, "schedule", in,
								ddir_instants_make(b->flow->cxt, &spec));
	ddir_flow_keep(b, node, 1, &load);
	for (int a = 1; a <= rel->input[0]->type->natts; a++)
		width += ddir_estimate_width(rel->input[0], a);
	ddir_flow_holds(b, ddir_flow_note(b, 0, "schedule", "by %d instants of a row",
									  list_length(spec.dials)),
					node, rel->input[0]->rows, rel->input[0]->rows * (ROW_KEPT_BYTES + width));
	return ddir_stream_of(node, rel->type, rel->rows);
}

static char *
function_names(List *functions)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	foreach(lc, functions)
	{
		Node	   *expr = lfirst_node(RangeTblFunction, lc)->funcexpr;

		appendStringInfo(&buf, "%s%s", foreach_current_index(lc) > 0 ? ", " : "",
						 IsA(expr, FuncExpr) ? get_func_name(((FuncExpr *) expr)->funcid) :
						 "an expression");
	}
	return buf.data;
}

static DdirStream
build_flatmap(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s = ddir_build_rel(b, rel->input[0]);
	DdirNode   *in = ddir_stream_node(b, &s);
	const DdirStream *load = in == s.node ? &s : NULL;
	DdirFlatMapSpec spec = {0};
	DdirNode   *node;

	spec.label = "flat map";
	spec.owner = b->owner;
	spec.rel = in == s.node ? s.node_type : ddir_stream_type(&s);
	spec.kept = rel->targets;
	spec.functions = rel->functions;
	spec.values = rel->values;
	spec.ordinality = rel->ordinality;
	spec.outer = rel->outer;
	spec.type = rel->type;
	node = ddir_linear_create(b->share->graph, "flat map", in,
							  ddir_flatmap_make(b->flow->cxt, &spec));
	ddir_flow_keep(b, node, 1, &load);
	ddir_flow_note(b, 0, "flat map", "by %s", function_names(rel->functions));
	return ddir_stream_of(node, rel->type, rel->rows);
}

/* Rows of VALUES: packed once, pushed in the flow's first step. */
static DdirStream
build_constant(DdirBuild *b, DdirRel *rel)
{
	MemoryContext old = MemoryContextSwitchTo(b->flow->cxt);
	ConstantRows *rows = palloc0(sizeof(ConstantRows));
	int			natts = rel->type->natts;
	Datum	   *values = palloc0(sizeof(Datum) * Max(natts, 1));
	bool	   *isnull = palloc0(sizeof(bool) * Max(natts, 1));
	ListCell   *lc;

	rows->node = ddir_source_create(b->share->graph, "values");
	ddir_deltas_init(&rows->rows, (DdirArena *) b->flow->cxt, 1, false);
	foreach(lc, rel->constants)
	{
		List	   *row = lfirst(lc);
		ListCell   *cell;
		int			i = 0;

		foreach(cell, row)
		{
			Const	   *value = lfirst_node(Const, cell);

			values[i] = value->constvalue;
			isnull[i] = value->constisnull;
			i++;
		}
		ddir_deltas_close(&rows->rows, 0,
						  ddir_image_pack(rel->type, values, isnull, NULL, &rows->rows),
						  NULL, 1, 0);
	}
	b->flow->constants = lappend(b->flow->constants, rows);
	MemoryContextSwitchTo(old);

	ddir_flow_keep(b, rows->node, 0, NULL);
	ddir_flow_note(b, 0, "values", "%d rows", list_length(rel->constants));
	return ddir_stream_of(rows->node, rel->type, list_length(rel->constants));
}

static DdirStream
build_union(DdirBuild *b, DdirRel *rel)
{
	DdirNode  **in = palloc(sizeof(DdirNode *) * rel->ninputs);
	DdirStream *streams = palloc(sizeof(DdirStream) * rel->ninputs);
	const DdirStream **loads = palloc0(sizeof(DdirStream *) * rel->ninputs);
	DdirNode   *node;

	for (int i = 0; i < rel->ninputs; i++)
	{
		streams[i] = ddir_build_rel(b, rel->input[i]);
		in[i] = ddir_stream_node(b, &streams[i]);
		/* a node of its own took the load already */
		if (in[i] == streams[i].node)
			loads[i] = &streams[i];
	}
	node = ddir_concat_create(b->share->graph, "union", rel->ninputs, in);
	ddir_flow_keep(b, node, rel->ninputs, loads);
	ddir_flow_note(b, 0, "union", "of %d", rel->ninputs);
	return ddir_stream_of(node, rel->type, rel->rows);
}

/* Without state, and of one input. */
static DdirStream
build_simple(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s = ddir_build_rel(b, rel->input[0]);
	const DdirStream *load;
	DdirNode   *in = ddir_stream_node(b, &s);
	DdirGraph  *g = b->share->graph;
	DdirNode   *node;

	load = in == s.node ? &s : NULL;
	node = rel->kind == DDIR_REL_NEGATE ? ddir_negate_create(g, "negate", in) :
		rel->kind == DDIR_REL_VALID ? ddir_valid_create(g, "valid", in) :
		ddir_errors_create(g, "errors", in);
	return ddir_stream_of(ddir_flow_keep(b, node, 1, &load), rel->type, rel->rows);
}

/* A row that is counted, beside its image: its place in the table, the count. */
#define ROW_COUNT_BYTES 80

static DdirStream
build_threshold(DdirBuild *b, DdirRel *rel)
{
	DdirStream	s = ddir_build_rel(b, rel->input[0]);
	const DdirStream *load = &s;
	DdirProgramSpec spec = {0};
	DdirFunc	func;
	DdirNode   *node;
	double		width = 0;

	spec.label = "threshold";
	spec.owner = b->owner;
	spec.nrel = 1;
	spec.rel = &s.node_type;
	spec.quals = s.quals;
	spec.targets = ddir_stream_targets(&s);
	spec.row_is_key = true;
	func = ddir_program_make(b->flow->cxt, &spec);
	node = ddir_threshold_create(b->share->graph, "threshold", s.node, func,
								 ddir_threshold_positive);
	ddir_flow_keep(b, node, 1, &load);
	for (int a = 1; a <= rel->type->natts; a++)
		width += ddir_estimate_width(rel, a);
	ddir_flow_holds(b, ddir_flow_note(b, 0, "threshold", "of whole rows"), node, rel->rows,
					rel->rows * (ROW_COUNT_BYTES + width));
	return ddir_stream_of(node, rel->type, rel->rows);
}

DdirStream
ddir_build_rel(DdirBuild *b, DdirRel *rel)
{
	DdirBuilt  *built;
	DdirStream	s;
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, b->done)
	{
		built = lfirst(lc);
		if (built->rel == rel)
			return built->stream;
	}

	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			s = build_scan(b, rel);
			break;
		case DDIR_REL_CONSTANT:
			s = build_constant(b, rel);
			break;
		case DDIR_REL_MAP:
			s = build_map(b, rel);
			break;
		case DDIR_REL_SCHEDULE:
			s = build_schedule(b, rel);
			break;
		case DDIR_REL_FLATMAP:
			s = build_flatmap(b, rel);
			break;
		case DDIR_REL_JOIN:
			s = ddir_build_join(b, rel);
			break;
		case DDIR_REL_ANTI:
			s = ddir_build_anti(b, rel);
			break;
		case DDIR_REL_REDUCE:
			s = ddir_build_reduce(b, rel);
			break;
		case DDIR_REL_UNION:
			s = build_union(b, rel);
			break;
		case DDIR_REL_NEGATE:
		case DDIR_REL_VALID:
		case DDIR_REL_ERRORS:
			s = build_simple(b, rel);
			break;
		case DDIR_REL_THRESHOLD:
			s = build_threshold(b, rel);
			break;
		case DDIR_REL_TOPK:
			s = ddir_build_topk(b, rel);
			break;
		case DDIR_REL_WINDOW:
			s = ddir_build_window(b, rel);
			break;
		default:
			elog(ERROR, "unknown kind of relation: %d", (int) rel->kind);
	}

	s.rel = rel;
	built = palloc(sizeof(DdirBuilt));
	built->rel = rel;
	built->stream = s;
	b->done = lappend(b->done, built);
	return s;
}

/*
 * Flows
 */

/*
 * The whole tree, and the sink.  The output is always a node of this flow, for
 * other views to read: a view that is a source as it stands gets a map.
 */
static void
build_output(DdirBuild *b, DdirRel *root, DdirSinkFns sink)
{
	DdirFlow   *flow = b->flow;
	DdirStream	s = ddir_build_rel(b, root);
	char	   *name = get_rel_name(flow->view);
	const DdirStream *load = NULL;

	if (s.identity && s.quals == NIL && OidIsValid(s.relid))
	{
		s.targets = ddir_stream_targets(&s);
		s.identity = false;
	}
	flow->output = ddir_stream_node(b, &s);
	flow->sink = ddir_sink_create(b->share->graph, name ? name : "view", flow->output, sink);
	ddir_flow_keep(b, flow->sink, 1, &load);
}

/*
 * A scan has as many rows as an arrangement of all of them holds, if there is
 * one: that is measured.
 */
static void
use_measured(DdirShare *share, DdirRel *root)
{
	ListCell   *lc;

	foreach(lc, ddir_rels_in_order(root, NULL))
	{
		DdirRel    *rel = lfirst(lc);
		double		rows;

		if (rel->kind == DDIR_REL_SCAN && ddir_share_measured(share, rel, &rows))
			rel->rows = Max(rows, 1);
	}
}

DdirFlow *
ddir_flow_build(DdirShare *share, Oid view, Oid owner, DdirRel *root, DdirSinkFns sink)
{
	MemoryContext cxt = AllocSetContextCreate(share->cxt, "ddir flow", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirFlow   *flow = palloc0(sizeof(DdirFlow));
	DdirBuild	b = {0};
	DdirActing	before;

	flow->cxt = cxt;
	flow->view = view;
	b.share = share;
	b.flow = flow;
	b.owner = owner;

	/*
	 * what is made may call functions: constants are folded, constraints
	 * planned
	 */
	before = ddir_act_as(owner);
	PG_TRY();
	{
		use_measured(share, root);
		ddir_estimate(root, owner);
		flow->rows = root->rows;
		build_output(&b, root, sink);
	}
	PG_CATCH();
	{
		ddir_act_back(&before);
		ddir_flow_drop(flow, share);
		PG_RE_THROW();
	}
	PG_END_TRY();

	ddir_act_back(&before);
	MemoryContextSwitchTo(old);
	return flow;
}

static void
ignore_rows(void *ctx, const DdirDeltas *rows)
{
}

DdirFlow *
ddir_flow_plan(Oid owner, DdirRel *root, List *described)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir plan",
											  ALLOCSET_DEFAULT_SIZES);
	DdirGraph  *graph = ddir_graph_create(ddir_arena_of(cxt), 1);
	DdirShare  *share = ddir_share_create(cxt, graph);
	DdirSinkFns sink = {NULL, ignore_rows, ignore_rows};
	DdirFlow   *flow;
	ListCell   *lc;

	ddir_share_import(share, root, described);
	flow = ddir_flow_build(share, InvalidOid, owner, root, sink);
	ddir_graph_destroy(graph);

	flow->output = flow->sink = NULL;
	flow->nodes = flow->loads = flow->constants = NIL;
	foreach(lc, flow->made)
	{
		((DdirMade *) lfirst(lc))->node = NULL;
	}
	return flow;
}

/* For every row its hash and its place, in a table that is not full. */
#define MAP_ROW_BYTES 14

double
ddir_flow_map_bytes(const DdirFlow *flow)
{
	return flow->rows * MAP_ROW_BYTES;
}

void
ddir_flow_start(DdirFlow *flow)
{
	ListCell   *lc;

	foreach(lc, flow->constants)
	{
		ConstantRows *rows = lfirst(lc);

		memcpy(rows->rows.at.c, ddir_graph_now(rows->node->graph), sizeof(uint64_t));
		ddir_node_push(rows->node, 0, &rows->rows);
	}
}

Size
ddir_flow_bytes(DdirFlow *flow)
{
	Size		bytes = 0;
	ListCell   *lc;

	foreach(lc, flow->nodes)
	{
		DdirNodeStats stats;
		DdirNode   *node = lfirst(lc);

		ddir_node_stats(node, &stats);
		bytes += stats.bytes / Max(1, node->refs - 1);
	}
	return bytes;
}
