/*-------------------------------------------------------------------------
 *
 * clock.c
 *	  The clock in a query: where it is read, and what it can be asked.
 *
 * now() and its like are functions like others while a query is lowered.  Then
 * each relation that calls one gives that part to a Schedule: a Map and a Join
 * one above, a Reduce one below it that computes the keys and arguments in
 * question as columns.  Elsewhere they are refused.
 *
 * A Schedule looks at a row again only when its conditions and columns may
 * have changed.  So each mention of the clock must be within a dial
 * (rows/instant.h), of which there are three kinds:
 *
 *	at > now() - interval '1 hour'		- an instant that the row says
 *	at > now() - interval '1 month'		- a comparison with something that grows,
 *										  or falls, as time goes by
 *	date_trunc('day', now())			- something that grows in steps
 *
 * What is made of dials, by AND, OR, NOT, CASE or any function, changes when one
 * of them does.
 *
 * src/plan/clock.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "pgtime.h"
#include "parser/parse_oper.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "plan/flow.h"
#include "plan/lowering.h"
#include "plan/prune.h"
#include "rows/instant.h"

/* How much earlier a value may come again: by zones, and by months. */
#define ZONE_SLACK (USECS_PER_DAY)
#define MONTH_SLACK (4 * USECS_PER_DAY)

/*
 * Zones had odd offsets before 1973.  They are looked at until the year 2100;
 * behind it rules repeat.
 */
#define REGULAR_FROM INT64CONST(94694400)
#define REGULAR_TO INT64CONST(4102444800)
#define MONTHS_MAX (40 * 12)
#define CELL_SECS (DDIR_CELL_USECS / USECS_PER_SEC)

/* How an expression goes as time goes by. */
typedef struct Course
{
	bool		moves;			/* it mentions the clock */
	bool		falls;			/* its values do, else they grow */
	bool		steps;			/* it stays the same for a while */
	bool		linear;			/* it is the clock, shifted */
	bool		loose;			/* shifted by what the row says */
	int64		shift;			/* so far, us */
	int64		slack;
	int			nshifts;		/* as in DdirDial */
	int64		shifts[DDIR_DIAL_SHIFTS];
} Course;

static bool course_of(Node *node, Course *c);

/*
 * Steady functions
 */

/* Do its offsets change, and its days begin, where cells do? */
static bool
zone_is_regular(const pg_tz *tz)
{
	pg_time_t	t = REGULAR_FROM;

	while (tz && t < REGULAR_TO)
	{
		long		before;
		long		after;
		int			before_dst;
		int			after_dst;
		pg_time_t	boundary;
		int			found = pg_next_dst_boundary(&t, &before, &before_dst, &boundary,
												 &after, &after_dst, tz);

		if (found < 0 || before % CELL_SECS != 0)
			return false;
		if (found == 0)
			return true;
		if (boundary % CELL_SECS != 0)
			return false;
		t = boundary;
	}
	return tz != NULL;
}

static bool
zone_named(Node *arg)
{
	Const	   *name = (Const *) arg;

	return IsA(name, Const) && !name->constisnull && name->consttype == TEXTOID &&
		zone_is_regular(pg_tzset(TextDatumGetCString(name->constvalue)));
}

/* From here on it is steady only within cells. */
static bool
by_calendar(Course *c, int64 slack)
{
	int64		shift = c->shift % DDIR_CELL_USECS;

	if (c->loose)
		return false;
	c->linear = false;
	c->slack += slack;
	for (int i = 0; i < c->nshifts; i++)
		if (c->shifts[i] == shift)
			return true;
	if (c->nshifts == DDIR_DIAL_SHIFTS)
		return false;
	c->shifts[c->nshifts++] = shift;
	return true;
}

static bool
by_zone(Course *c)
{
	return zone_is_regular(session_timezone) && by_calendar(c, ZONE_SLACK);
}

static bool
in_steps(Course *c)
{
	c->linear = false;
	c->steps = true;
	return true;
}

/* In steps that are no shorter than a second: a dial of its own then. */
static bool
truncated(Course *c, Node *unit)
{
	static const char *const units[] = {
		"second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade",
		"century", "millennium"
	};
	char	   *name;
	int			len;

	if (!IsA(unit, Const) || ((Const *) unit)->constisnull)
		return false;
	name = TextDatumGetCString(((Const *) unit)->constvalue);
	len = strlen(name);
	c->linear = false;
	for (int i = 0; i < lengthof(units); i++)
		if (pg_strncasecmp(name, units[i], strlen(units[i])) == 0 &&
			(len == strlen(units[i]) || pg_strcasecmp(name + strlen(units[i]), "s") == 0))
			c->steps = true;
	return true;
}

static bool
rounded(Course *c, Node *digits)
{
	c->linear = false;
	c->steps = IsA(digits, Const) && DatumGetInt32(((Const *) digits)->constvalue) <= 0;
	return IsA(digits, Const);
}

/* An interval added or taken away; zoned: days are the zone's. */
static bool
plus_interval(Course *c, Node *arg, int sign, bool zoned)
{
	Const	   *constant = (Const *) arg;
	Interval   *i;

	if (!IsA(constant, Const))
	{
		if (zoned && !zone_is_regular(session_timezone))
			return false;
		if (!by_calendar(c, MONTH_SLACK))
			return false;
		c->loose = true;
		return true;
	}
	if (constant->constisnull)
		return false;
	i = DatumGetIntervalP(constant->constvalue);
	if (abs(i->month) > MONTHS_MAX || abs(i->day) > MONTHS_MAX * DAYS_PER_MONTH)
		return false;
	if (i->month != 0 && !by_calendar(c, MONTH_SLACK))
		return false;
	if (zoned && (i->month != 0 || i->day != 0) && !by_zone(c))
		return false;
	if (!zoned)
		c->shift += sign * i->day * USECS_PER_DAY;
	c->shift += sign * i->time;
	return true;
}

static bool
is_text(Node *arg, const char *word)
{
	Const	   *constant = (Const *) arg;

	return IsA(constant, Const) && constant->consttype == TEXTOID && !constant->constisnull &&
		strcmp(TextDatumGetCString(constant->constvalue), word) == 0;
}

/* A function of the one argument that moves, which is number "moving". */
static bool
course_of_function(Oid funcid, List *args, int moving, Course *c)
{
	Node	   *first = linitial(args);
	Node	   *second = list_length(args) > 1 ? lsecond(args) : NULL;

	switch (funcid)
	{
			/* days and zones */
		case F_TIMESTAMPTZ_PL_INTERVAL:
			return moving == 0 && plus_interval(c, second, 1, true);
		case F_TIMESTAMPTZ_MI_INTERVAL:
			return moving == 0 && plus_interval(c, second, -1, true);
		case F_TIMESTAMP_PL_INTERVAL:
			return moving == 0 && plus_interval(c, second, 1, false);
		case F_TIMESTAMP_MI_INTERVAL:
			return moving == 0 && plus_interval(c, second, -1, false);
		case F_INTERVAL_PL_TIMESTAMPTZ:
			return moving == 1 && plus_interval(c, first, 1, true);
		case F_INTERVAL_PL_TIMESTAMP:
			return moving == 1 && plus_interval(c, first, 1, false);
		case F_TIMESTAMP_TIMESTAMPTZ:
		case F_TIMESTAMPTZ_TIMESTAMP:
		case F_TIMESTAMPTZ_DATE:
			return by_zone(c);
		case F_DATE_TIMESTAMPTZ:
			return by_zone(c) && in_steps(c);
		case F_TIMEZONE_TEXT_TIMESTAMPTZ:
		case F_TIMEZONE_TEXT_TIMESTAMP:
			return moving == 1 && zone_named(first) && by_calendar(c, ZONE_SLACK);
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ:
			return moving == 1 && by_zone(c) && truncated(c, first);
		case F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT:
			return moving == 1 && zone_named(lthird(args)) &&
				by_calendar(c, ZONE_SLACK) && truncated(c, first);

			/* without a zone */
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
			return moving == 1 && truncated(c, first);
		case F_DATE_TIMESTAMP:
			return in_steps(c);
		case F_TIMESTAMP_DATE:
			return true;
		case F_TIMESTAMPTZ_TIMESTAMPTZ_INT4:
		case F_TIMESTAMP_TIMESTAMP_INT4:
			return moving == 0 && rounded(c, second);
		case F_DATE_PLI:
		case F_INTEGER_PL_DATE:
			return true;
		case F_DATE_PL_INTERVAL:
		case F_DATE_MI_INTERVAL:
			return moving == 0 && IsA(second, Const);

			/* differences */
		case F_DATE_MII:
			return moving == 0;
		case F_DATE_MI:
		case F_TIMESTAMPTZ_MI:
		case F_TIMESTAMP_MI:
			c->falls = c->falls != (moving == 1);
			c->linear = false;
			return true;
		case F_EXTRACT_TEXT_INTERVAL:
		case F_DATE_PART_TEXT_INTERVAL:
			return moving == 1 && is_text(first, "epoch");
		case F_EXTRACT_TEXT_TIMESTAMPTZ:
		case F_DATE_PART_TEXT_TIMESTAMPTZ:
			c->linear = false;
			return moving == 1 && is_text(first, "epoch");
		default:
			return false;
	}
}

/* Does it only grow, or only fall, as far as its slack goes? */
static bool
course_of_call(Oid funcid, List *args, Course *c)
{
	int			moving = -1;
	ListCell   *lc;

	foreach(lc, args)
	{
		if (!ddir_expr_reads_clock(lfirst(lc)))
			continue;
		if (moving >= 0 || !course_of(lfirst(lc), c))
			return false;
		moving = foreach_current_index(lc);
	}
	return moving >= 0 && course_of_function(funcid, args, moving, c);
}

static bool
course_of(Node *node, Course *c)
{
	check_stack_depth();
	memset(c, 0, sizeof(*c));
	if (!ddir_expr_reads_clock(node))
		return true;
	c->moves = true;
	if (ddir_is_clock(node))
	{
		c->linear = true;
		return true;
	}
	if (IsA(node, RelabelType))
		return course_of((Node *) ((RelabelType *) node)->arg, c);
	if (IsA(node, FuncExpr))
		return course_of_call(((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args, c);
	if (IsA(node, OpExpr))
	{
		set_opfuncid((OpExpr *) node);
		return course_of_call(((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args, c);
	}
	return false;
}

/*
 * Dials
 */

static DdirDial *
add_dial(List **dials, const Course *c, Expr *expr)
{
	DdirDial   *d = palloc0(sizeof(DdirDial));

	d->expr = (Expr *) ddir_clock_as_var((Node *) expr);
	d->slack = c->slack;
	d->nshifts = c->nshifts;
	memcpy(d->shifts, c->shifts, sizeof(d->shifts));
	*dials = lappend(*dials, d);
	return d;
}

/* The expression as a timestamp with time zone; NULL: it is no time. */
static Expr *
as_instant(Expr *expr)
{
	Oid			typid = getBaseType(exprType((Node *) expr));

	switch (typid)
	{
		case TIMESTAMPTZOID:
			return expr;
		case TIMESTAMPOID:
			return (Expr *) makeFuncExpr(F_TIMESTAMPTZ_TIMESTAMP, TIMESTAMPTZOID,
										 list_make1(expr), InvalidOid, InvalidOid,
										 COERCE_IMPLICIT_CAST);
		case DATEOID:
			return (Expr *) makeFuncExpr(F_TIMESTAMPTZ_DATE, TIMESTAMPTZOID, list_make1(expr),
										 InvalidOid, InvalidOid, COERCE_IMPLICIT_CAST);
		default:
			return NULL;
	}
}

/*
 * moving (strategy) other.  Of an equality, both of the inequalities that it
 * is made of.
 */
static void
add_comparison(List **dials, const Course *c, Expr *moving, Expr *other, Oid opfamily,
			   StrategyNumber strategy, Oid collation)
{
	Expr	   *instant = c->linear ? as_instant(other) : NULL;
	Oid			left = getBaseType(exprType((Node *) moving));
	Oid			right = getBaseType(exprType((Node *) other));
	DdirDial   *d;

	if (strategy == BTEqualStrategyNumber)
	{
		add_comparison(dials, c, moving, other, opfamily, BTGreaterEqualStrategyNumber,
					   collation);
		add_comparison(dials, c, moving, other, opfamily, BTGreaterStrategyNumber, collation);
		return;
	}
	if (instant)
	{
		d = add_dial(dials, c, instant);
		d->exact = true;
		d->shift = c->shift;
		d->at = strategy == BTGreaterEqualStrategyNumber || strategy == BTLessStrategyNumber;
		d->behind = !d->at;
		return;
	}
	d = add_dial(dials, c, make_opclause(get_opfamily_member(opfamily, left, right, strategy),
										 BOOLOID, false, moving, other, InvalidOid, collation));
	d->truth = true;
	d->final = (strategy == BTGreaterStrategyNumber ||
				strategy == BTGreaterEqualStrategyNumber) != c->falls;
}

/* The family and strategy of an operator that compares; false: it does not. */
static bool
comparison_of(Oid opno, Oid *opfamily, StrategyNumber *strategy)
{
	CatCList   *list = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(opno));
	bool		found = false;

	for (int i = 0; i < list->n_members && !found; i++)
	{
		Form_pg_amop amop = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);

		if (amop->amopmethod != BTREE_AM_OID)
			continue;
		*opfamily = amop->amopfamily;
		*strategy = amop->amopstrategy;
		found = true;
	}
	ReleaseSysCacheList(list);
	return found;
}

/* A comparison of something that moves with something that does not. */
static bool
add_operator(List **dials, OpExpr *op)
{
	Course		course[2];
	Oid			opfamily;
	StrategyNumber strategy;
	Expr	   *left = linitial(op->args);
	Expr	   *right = list_length(op->args) == 2 ? lsecond(op->args) : NULL;

	if (right == NULL ||
		!(comparison_of(op->opno, &opfamily, &strategy) ||
	/* "<>" is in no family */
		  comparison_of(get_negator(op->opno), &opfamily, &strategy)) ||
		!course_of((Node *) left, &course[0]) || !course_of((Node *) right, &course[1]) ||
		course[0].moves == course[1].moves)
		return false;
	if (course[0].moves)
		add_comparison(dials, &course[0], left, right, opfamily, strategy, op->inputcollid);
	else
		add_comparison(dials, &course[1], right, left, opfamily,
					   BTMaxStrategyNumber + 1 - strategy, op->inputcollid);
	return true;
}

/* "range @> element", the element moving: it comes in and goes at the bounds. */
static bool
add_range(List **dials, OpExpr *op)
{
	Expr	   *range;
	Expr	   *element;
	Course		c;
	Oid			subtype;

	set_opfuncid(op);
	if (op->opfuncid != F_RANGE_CONTAINS_ELEM && op->opfuncid != F_ELEM_CONTAINED_BY_RANGE)
		return false;
	range = op->opfuncid == F_RANGE_CONTAINS_ELEM ? linitial(op->args) : lsecond(op->args);
	element = op->opfuncid == F_RANGE_CONTAINS_ELEM ? lsecond(op->args) : linitial(op->args);
	subtype = get_range_subtype(getBaseType(exprType((Node *) range)));
	if (ddir_expr_reads_clock((Node *) range) || !course_of((Node *) element, &c))
		return false;
	for (int upper = 0; upper < 2; upper++)
	{
		Expr	   *bound = (Expr *) makeFuncExpr(upper ? F_UPPER_ANYRANGE : F_LOWER_ANYRANGE,
												  subtype, list_make1(copyObject(range)),
												  InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
		Oid			opfamily;
		StrategyNumber strategy;
		Oid			eqop;

		get_sort_group_operators(subtype, false, true, false, NULL, &eqop, NULL, NULL);
		if (!comparison_of(eqop, &opfamily, &strategy))
			return false;
		add_comparison(dials, &c, element, bound, opfamily, BTEqualStrategyNumber, InvalidOid);
	}
	return true;
}

typedef struct DialContext
{
	List	   *dials;
	Node	   *loose;			/* the clock outside of any */
} DialContext;

/* Does an argument stay the same for a while by itself? */
static bool
inner_steps(Node *node, void *context)
{
	Course		c;

	return node && ddir_expr_reads_clock(node) && course_of(node, &c) && c.steps;
}

static bool
dial_walker(Node *node, void *arg)
{
	DialContext *cx = arg;
	Course		c;

	if (node == NULL || !ddir_expr_reads_clock(node))
		return false;
	if (IsA(node, OpExpr) &&
		(add_operator(&cx->dials, (OpExpr *) node) || add_range(&cx->dials, (OpExpr *) node)))
		return false;
	if (ddir_is_clock(node))
	{
		cx->loose = node;
		return true;
	}
	/* what is in steps already is so within */
	if (!IsA(node, List) && !expression_tree_walker(node, inner_steps, NULL) &&
		course_of(node, &c) && c.steps)
	{
		add_dial(&cx->dials, &c, (Expr *) node);
		return false;
	}
	return expression_tree_walker(node, dial_walker, arg);
}

static bool
same_dial(const DdirDial *a, const DdirDial *b)
{
	return a->exact == b->exact && a->at == b->at && a->behind == b->behind &&
		a->shift == b->shift && a->truth == b->truth && equal(a->expr, b->expr);
}

List *
ddir_clock_dials(List *exprs, Node **loose)
{
	DialContext cx = {NIL, NULL};
	List	   *dials = NIL;
	ListCell   *lc;

	(void) dial_walker((Node *) exprs, &cx);
	*loose = cx.loose;
	foreach(lc, cx.dials)
	{
		ListCell   *cell;
		bool		known = false;

		foreach(cell, dials)
			known = known || same_dial(lfirst(cell), lfirst(lc));
		if (!known)
			dials = lappend(dials, lfirst(lc));
	}
	return dials;
}

/*
 * Placing
 */

static const char *
clock_name(Node *node)
{
	FuncExpr   *f = (FuncExpr *) node;

	if (f && f->funcformat == COERCE_SQL_SYNTAX)
		return "CURRENT_TIMESTAMP";
	return psprintf("%s()", f ? get_func_name(f->funcid) : "now");
}

static bool
find_clock_walker(Node *node, void *arg)
{
	Node	  **found = arg;

	if (node == NULL)
		return false;
	if (ddir_is_clock(node))
	{
		*found = node;
		return true;
	}
	return expression_tree_walker(node, find_clock_walker, arg);
}

static void
refuse_clock(DdirLowering *run, void *expr)
{
	Node	   *found = NULL;

	if (find_clock_walker(expr, &found))
		ddir_refuse_query(run->refusal, DDIR_REFUSE_CLOCK_VALUE, clock_name(found));
}

static List *
moving_of(List *exprs, bool moving)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, exprs)
	{
		if (ddir_expr_reads_clock(lfirst(lc)) == moving)
			result = lappend(result, lfirst(lc));
	}
	return result;
}

static void
collect_var(Var *var, void *arg)
{
	List	  **vars = arg;

	*vars = list_append_unique(*vars, var);
}

typedef struct ColumnsContext
{
	List	   *vars;
	DdirRel    *rel;
} ColumnsContext;

static Node *
column_of_var(Var *var, void *arg)
{
	ColumnsContext *cx = arg;
	ListCell   *lc;

	foreach(lc, cx->vars)
	{
		if (equal(lfirst(lc), var))
			return (Node *) ddir_rel_var(0, cx->rel, foreach_current_index(lc) + 1);
	}
	elog(ERROR, "a column is not among those of a schedule");
}

/* What the relation is, with conditions and targets given to a Schedule above. */
static DdirRel *
schedule_above(DdirRel *rel)
{
	List	   *quals = moving_of(rel->quals, true);
	List	   *rest = moving_of(rel->quals, false);
	ColumnsContext cx = {NIL, NULL};

	ddir_vars_visit((Node *) quals, collect_var, &cx.vars);
	ddir_vars_visit((Node *) rel->targets, collect_var, &cx.vars);
	if (rel->kind == DDIR_REL_JOIN)
		cx.rel = ddir_rel_join(rel->ninputs, rel->input, rel->equalities, rest, cx.vars);
	else
		cx.rel = ddir_rel_map(rel->input[0], rest, cx.vars);
	return ddir_rel_schedule(cx.rel, (List *) ddir_vars_map((Node *) quals, column_of_var, &cx),
							 (List *) ddir_vars_map((Node *) rel->targets, column_of_var, &cx));
}

/* Expressions that become columns, and the columns. */
typedef struct ComputeContext
{
	int			n;				/* columns before them */
	List	   *exprs;
} ComputeContext;

static Node *
compute(ComputeContext *cx, Node *expr)
{
	int			i = 0;
	ListCell   *lc;

	foreach(lc, cx->exprs)
	{
		if (equal(lfirst(lc), expr))
			break;
		i++;
	}
	if (i == list_length(cx->exprs))
		cx->exprs = lappend(cx->exprs, expr);
	return (Node *) makeVar(1, cx->n + i + 1, exprType(expr), exprTypmod(expr),
							exprCollation(expr), 0);
}

/*
 * Arguments and filters that read the clock as columns.  What a filter keeps
 * from being computed may not raise errors.
 */
static Aggref *
compute_aggregate(DdirLowering *run, ComputeContext *cx, Aggref *ref)
{
	ListCell   *lc;

	if (!ddir_expr_reads_clock((Node *) ref))
		return ref;
	ref = copyObject(ref);
	if (ref->aggfilter && ddir_expr_reads_clock((Node *) ref->args) &&
		!ddir_expr_is_total((Node *) ref->args))
		refuse_clock(run, ref->args);
	refuse_clock(run, ref->aggdirectargs);
	foreach(lc, ref->args)
	{
		TargetEntry *tle = lfirst_node(TargetEntry, lc);

		if (ddir_expr_reads_clock((Node *) tle->expr))
			tle->expr = (Expr *) compute(cx, (Node *) tle->expr);
	}
	if (ddir_expr_reads_clock((Node *) ref->aggfilter))
		ref->aggfilter = (Expr *) compute(cx, (Node *) ref->aggfilter);
	return ref;
}

static DdirRel *
schedule_below(DdirLowering *run, DdirRel *rel)
{
	DdirRel    *input = rel->input[0];
	ComputeContext cx = {input->type->natts, NIL};
	List	   *keys = NIL;
	List	   *aggs = NIL;
	List	   *columns = NIL;
	ListCell   *lc;

	foreach(lc, rel->keys)
	{
		DdirGroupKey *key = palloc(sizeof(DdirGroupKey));

		*key = *(DdirGroupKey *) lfirst(lc);
		if (ddir_expr_reads_clock((Node *) key->expr))
			key->expr = (Expr *) compute(&cx, (Node *) key->expr);
		keys = lappend(keys, key);
	}
	foreach(lc, rel->aggs)
		aggs = lappend(aggs, compute_aggregate(run, &cx, lfirst_node(Aggref, lc)));
	columns = list_concat(ddir_rel_columns(0, input), cx.exprs);
	return ddir_rel_reduce(schedule_above(ddir_rel_map(input, NIL, columns)), keys, aggs,
						   rel->global);
}

static bool
reduce_reads_clock(DdirRel *rel)
{
	return ddir_expr_reads_clock((Node *) rel->aggs) ||
		ddir_expr_reads_clock((Node *) ddir_key_exprs(rel->keys));
}

static void
place(DdirLowering *run, DdirRel *rel)
{
	List	   *colnames = rel->colnames;
	ListCell   *lc;

	foreach(lc, rel->equalities)
	{
		refuse_clock(run, ((DdirEquality *) lfirst(lc))->left_expr);
		refuse_clock(run, ((DdirEquality *) lfirst(lc))->right_expr);
	}
	refuse_clock(run, rel->functions);
	refuse_clock(run, rel->funcs);
	foreach(lc, rel->order)
		refuse_clock(run, ((DdirOrderKey *) lfirst(lc))->expr);

	if ((rel->kind == DDIR_REL_MAP || rel->kind == DDIR_REL_JOIN) &&
		(ddir_expr_reads_clock((Node *) rel->quals) ||
		 ddir_expr_reads_clock((Node *) rel->targets)))
		*rel = *schedule_above(rel);
	else if (rel->kind == DDIR_REL_REDUCE && reduce_reads_clock(rel))
		*rel = *schedule_below(run, rel);
	else
	{
		refuse_clock(run, rel->quals);
		refuse_clock(run, rel->targets);
		refuse_clock(run, rel->aggs);
		refuse_clock(run, ddir_key_exprs(rel->keys));
	}
	rel->colnames = colnames;
}

static void
check_dials(DdirLowering *run, DdirRel *rel)
{
	Node	   *loose;

	if (rel->kind != DDIR_REL_SCHEDULE)
		return;
	(void) ddir_clock_dials(list_concat_copy(rel->quals, rel->targets), &loose);
	if (loose)
		ddir_refuse_query(run->refusal, DDIR_REFUSE_CLOCK_VALUE, clock_name(loose));
}

DdirRel *
ddir_clock_place(DdirLowering *run, DdirRel *root)
{
	bool		moves = false;
	ListCell   *lc;

	foreach(lc, ddir_rels_in_order(root, NULL))
		place(run, lfirst(lc));
	foreach(lc, ddir_rels_in_order(root, NULL))
	{
		check_dials(run, lfirst(lc));
		moves = moves || ((DdirRel *) lfirst(lc))->kind == DDIR_REL_SCHEDULE;
	}
	run->result->reads_clock = moves;
	return moves ? ddir_prune(root) : root;
}

static bool
find_within_walker(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_within_walker, arg, 0);
	if (ddir_is_clock(node) ||
		(IsA(node, SQLValueFunction) && ddir_clock_as_function((SQLValueFunction *) node)))
	{
		*(Node **) arg = node;
		return true;
	}
	return expression_tree_walker(node, find_within_walker, arg);
}

/* ddir.check computes the query with the clock stopped, and sees no bodies. */
void
ddir_clock_refuse_within(DdirLowering *run, Query *query)
{
	Node	   *found = NULL;

	if (find_within_walker((Node *) query, &found))
		ddir_refuse_query(run->refusal, DDIR_REFUSE_CLOCK_VALUE,
						  "the clock in a function in FROM");
}

/*
 * What PostgreSQL has nodes of its own for, as functions of now(); NULL: it is
 * none, or a time of day, which begins anew each day.
 */
Expr *
ddir_clock_as_function(SQLValueFunction *f)
{
	Expr	   *now = (Expr *) makeFuncExpr(F_NOW, TIMESTAMPTZOID, NIL, InvalidOid, InvalidOid,
											COERCE_SQL_SYNTAX);
	Expr	   *digits = (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
											Int32GetDatum(f->typmod), false, true);
	Expr	   *local = (Expr *) makeFuncExpr(F_TIMESTAMP_TIMESTAMPTZ, TIMESTAMPOID,
											  list_make1(now), InvalidOid, InvalidOid,
											  COERCE_SQL_SYNTAX);

	switch (f->op)
	{
		case SVFOP_CURRENT_TIMESTAMP:
			return now;
		case SVFOP_CURRENT_TIMESTAMP_N:
			return (Expr *) makeFuncExpr(F_TIMESTAMPTZ_TIMESTAMPTZ_INT4, TIMESTAMPTZOID,
										 list_make2(now, digits), InvalidOid, InvalidOid,
										 COERCE_EXPLICIT_CAST);
		case SVFOP_CURRENT_DATE:
			return (Expr *) makeFuncExpr(F_DATE_TIMESTAMPTZ, DATEOID, list_make1(now),
										 InvalidOid, InvalidOid, COERCE_EXPLICIT_CAST);
		case SVFOP_LOCALTIMESTAMP:
			((FuncExpr *) local)->funcformat = COERCE_EXPLICIT_CAST;
			return local;
		case SVFOP_LOCALTIMESTAMP_N:
			((FuncExpr *) local)->funcformat = COERCE_EXPLICIT_CAST;
			return (Expr *) makeFuncExpr(F_TIMESTAMP_TIMESTAMP_INT4, TIMESTAMPOID,
										 list_make2(local, digits), InvalidOid, InvalidOid,
										 COERCE_EXPLICIT_CAST);
		default:
			return NULL;
	}
}

/*
 * The clock stopped
 */

/* A function in SQL may read it; the planner would put its body in its place. */
static Node *
inlined(Node *node)
{
	if (!IsA(node, FuncExpr) || ((FuncExpr *) node)->funcid < FirstNormalObjectId ||
		((FuncExpr *) node)->funcretset)
		return node;
	return eval_const_expressions(NULL, node);
}

static Node *
stop_mutator(Node *node, void *arg)
{
	TimestampTz *clock = arg;
	Node	   *body;

	if (node == NULL)
		return NULL;
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, stop_mutator, arg, 0);
	if (IsA(node, SQLValueFunction))
	{
		Expr	   *expr = ddir_clock_as_function((SQLValueFunction *) node);

		return expr ? stop_mutator((Node *) expr, arg) : node;
	}
	if (ddir_is_clock(node))
		return (Node *) makeConst(TIMESTAMPTZOID, -1, InvalidOid, sizeof(TimestampTz),
								  TimestampTzGetDatum(*clock), false, FLOAT8PASSBYVAL);
	body = inlined(node);
	if (IsA(node, FuncExpr) && IsA(body, FuncExpr) &&
		((FuncExpr *) body)->funcid == ((FuncExpr *) node)->funcid)
		return expression_tree_mutator(node, stop_mutator, arg);
	return body == node ? expression_tree_mutator(node, stop_mutator, arg) :
		stop_mutator(body, arg);
}

Query *
ddir_query_at(Query *query, TimestampTz clock)
{
	return clock == 0 ? query : (Query *) stop_mutator((Node *) query, &clock);
}
