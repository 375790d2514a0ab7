/*-------------------------------------------------------------------------
 *
 * test_plan.c
 *	  Functions that lower a query and show what came of it.
 *
 *	test_lower(query)	- the text of the DDIR, or of the refusal
 *	test_render(query)	- the DDIR written back as SQL; NULL if refused
 *	test_facts(query)	- sources, functions and types, and whether ambiguous
 *	test_refusals()		- the table of refusals
 *	test_am(internal)	- a table access method that is not heap
 *
 * Written back, every relation is a WITH query of its own, whose columns are
 * c1, c2, ..., and which reads others as i1, i2, ...; so rows can be compared
 * with those of the query itself before there is anything to run DDIR with.
 *
 * test/modules/test_plan/test_plan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "plan/check.h"
#include "plan/lower.h"
#include "plan/prune.h"
#include "rows/key.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_lower);
PG_FUNCTION_INFO_V1(test_render);
PG_FUNCTION_INFO_V1(test_facts);
PG_FUNCTION_INFO_V1(test_refusals);
PG_FUNCTION_INFO_V1(test_am);

static DdirLowered *
lower_text(const char *text, DdirRefusal *refusal)
{
	List	   *raw = pg_parse_query(text);

	if (list_length(raw) != 1)
		elog(ERROR, "not one query");
	return ddir_lower(parse_analyze_fixedparams(linitial_node(RawStmt, raw), text, NULL, 0,
												NULL),
					  GetUserId(), refusal);
}

Datum
test_lower(PG_FUNCTION_ARGS)
{
	DdirRefusal refusal;
	DdirLowered *lowered = lower_text(text_to_cstring(PG_GETARG_TEXT_PP(0)), &refusal);

	if (lowered)
		PG_RETURN_TEXT_P(cstring_to_text(ddir_rel_text(lowered->root)));
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s %s [%s]\n%s\n%s",
											  unpack_sql_state(refusal.sqlerrcode),
											  refusal.code, refusal.construct,
											  refusal.reason, refusal.hint)));
}

Datum
test_facts(PG_FUNCTION_ARGS)
{
	DdirRefusal refusal;
	DdirLowered *lowered = lower_text(text_to_cstring(PG_GETARG_TEXT_PP(0)), &refusal);
	StringInfoData out;
	ListCell   *lc;

	if (lowered == NULL)
		PG_RETURN_NULL();
	initStringInfo(&out);
	appendStringInfoString(&out, lowered->ambiguous ? "ambiguous;" : "one answer;");
	foreach(lc, lowered->sources)
		appendStringInfo(&out, " %s", get_rel_name(lfirst_oid(lc)));
	appendStringInfoChar(&out, ';');
	foreach(lc, lowered->functions)
		appendStringInfo(&out, " %s", get_func_name(lfirst_oid(lc)));
	appendStringInfoChar(&out, ';');
	foreach(lc, lowered->types)
		appendStringInfo(&out, " %s", format_type_be(lfirst_oid(lc)));
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

Datum
test_refusals(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	const DdirRefusalKind *kinds;
	int			n;

	InitMaterializedSRF(fcinfo, 0);
	kinds = ddir_refusal_kinds(&n);
	for (int i = 0; i < n; i++)
	{
		Datum		values[4];
		bool		nulls[4] = {false};

		values[0] = CStringGetTextDatum(kinds[i].code);
		values[1] = CStringGetTextDatum(kinds[i].construct);
		values[2] = CStringGetTextDatum(psprintf(kinds[i].reason, kinds[i].construct));
		values[3] = CStringGetTextDatum(kinds[i].hint);
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
	}
	return (Datum) 0;
}

Datum
test_am(PG_FUNCTION_ARGS)
{
	static TableAmRoutine routine;

	routine = *GetHeapamTableAmRoutine();
	PG_RETURN_POINTER(&routine);
}

/*
 * Back to SQL
 */

static List *
context_of(const DdirRel *rel)
{
	PlannedStmt *stmt = makeNode(PlannedStmt);
	List	   *names = NIL;

	for (int i = 0; i < rel->ninputs; i++)
	{
		RangeTblEntry *rte = makeNode(RangeTblEntry);
		List	   *columns = NIL;
		char	   *name = psprintf("i%d", i + 1);

		for (int a = 1; a <= rel->input[i]->type->natts; a++)
			columns = lappend(columns, makeString(psprintf("c%d", a)));
		rte->rtekind = RTE_VALUES;
		rte->eref = makeAlias(name, columns);
		rte->inFromCl = true;
		stmt->rtable = lappend(stmt->rtable, rte);
		names = lappend(names, name);
	}
	return deparse_context_for_plan_tree(stmt, names);
}

static char *
text_of(List *context, void *expr)
{
	return deparse_expression(expr, context, true, false);
}

/* with casts, as literals alone would not say their types */
static char *
typed_text(List *context, Node *expr)
{
	return psprintf("(%s)::%s", text_of(context, expr), format_type_be(exprType(expr)));
}

static void
put_targets(StringInfo out, List *context, List *targets)
{
	ListCell   *lc;

	appendStringInfoString(out, "SELECT");
	foreach(lc, targets)
		appendStringInfo(out, "%s %s AS c%d", foreach_current_index(lc) ? "," : "",
						 typed_text(context, lfirst(lc)), foreach_current_index(lc) + 1);
}

static void
put_conditions(StringInfo out, const DdirRel *rel, List *context)
{
	const char *glue = " WHERE ";
	ListCell   *lc;

	foreach(lc, rel->equalities)
	{
		DdirEquality *eq = lfirst(lc);

		if (eq->eqop == DDIR_EQUALITY_IMAGE)
			appendStringInfo(out, "%s(%s)::text IS NOT DISTINCT FROM (%s)::text", glue,
							 text_of(context, eq->left_expr), text_of(context, eq->right_expr));
		else if (eq->null_safe)
			appendStringInfo(out, "%s(%s) IS NOT DISTINCT FROM (%s)", glue,
							 text_of(context, eq->left_expr), text_of(context, eq->right_expr));
		else
			appendStringInfo(out, "%s%s", glue,
							 text_of(context, make_opclause(eq->eqop, BOOLOID, false,
															eq->left_expr, eq->right_expr,
															InvalidOid, eq->collation)));
		glue = " AND ";
	}
	foreach(lc, rel->quals)
	{
		appendStringInfo(out, "%s(%s)", glue, text_of(context, lfirst(lc)));
		glue = " AND ";
	}
}

static void
put_scan(StringInfo out, const DdirRel *rel)
{
	appendStringInfoString(out, "SELECT");
	for (int a = 1; a <= rel->type->natts; a++)
	{
		Oid			typid = rel->type->col[a - 1].typid;

		appendStringInfo(out, "%s %s AS c%d", a > 1 ? "," : "",
						 !OidIsValid(typid) ? "NULL" :
						 bms_is_member(a, rel->used) ?
						 quote_identifier(get_attname(rel->relid, a, false)) :
						 psprintf("NULL::%s", format_type_be(typid)), a);
	}
	/* the scan of a parent by ONLY is one of the parent alone */
	appendStringInfo(out, " FROM %s%s",
					 get_rel_relkind(rel->relid) == RELKIND_PARTITIONED_TABLE ? "" : "ONLY ",
					 quote_qualified_identifier(get_namespace_name(get_rel_namespace(rel->relid)),
												get_rel_name(rel->relid)));
}

static void
put_constant(StringInfo out, const DdirRel *rel)
{
	ListCell   *lc;

	if (rel->constants == NIL)
	{
		for (int a = 1; a <= rel->type->natts; a++)
			appendStringInfo(out, "%s NULL::%s AS c%d", a > 1 ? "," : "SELECT",
							 format_type_be(rel->type->col[a - 1].typid), a);
		appendStringInfoString(out, " WHERE false");
	}

	foreach(lc, rel->constants)
	{
		if (foreach_current_index(lc) > 0)
			appendStringInfoString(out, " UNION ALL ");
		put_targets(out, NIL, lfirst(lc));
	}
}

static void
put_reduce(StringInfo out, const DdirRel *rel, List *context, const char *from)
{
	ListCell   *lc;

	/* images are compared as text, whichever of them is shown then */
	appendStringInfoString(out, "SELECT");
	foreach(lc, rel->keys)
	{
		DdirGroupKey *key = lfirst(lc);

		appendStringInfo(out, key->eqop == DDIR_EQUALITY_IMAGE ?
						 "%s (array_agg(%s))[1] AS c%d" : "%s %s AS c%d",
						 foreach_current_index(lc) ? "," : "",
						 typed_text(context, (Node *) key->expr), foreach_current_index(lc) + 1);
	}
	foreach(lc, rel->aggs)
		appendStringInfo(out, "%s %s AS c%d", rel->keys || foreach_current_index(lc) ? "," : "",
						 typed_text(context, lfirst(lc)),
						 list_length(rel->keys) + foreach_current_index(lc) + 1);
	appendStringInfoString(out, from);
	if (rel->global)
		appendStringInfoString(out, " HAVING true");
	else if (rel->keys == NIL && rel->aggs)
		appendStringInfoString(out, " HAVING count(*) > 0");
	else if (rel->keys == NIL)
		appendStringInfoString(out, " LIMIT 1");
	foreach(lc, rel->keys)
	{
		DdirGroupKey *key = lfirst(lc);

		appendStringInfoString(out, foreach_current_index(lc) ? ", " : " GROUP BY ");
		if (key->eqop == DDIR_EQUALITY_IMAGE)
			appendStringInfo(out, "(%s)::text", text_of(context, key->expr));
		else
			appendStringInfo(out, "%d", foreach_current_index(lc) + 1);
	}
}

static void
put_bound(StringInfo out, List *context, int options, bool end, Node *offset)
{
	int			shift = end ? 1 : 0;	/* of an end's bits to a start's */

	if (options & (FRAMEOPTION_START_UNBOUNDED_PRECEDING << shift))
		appendStringInfoString(out, "UNBOUNDED PRECEDING");
	else if (options & (FRAMEOPTION_START_UNBOUNDED_FOLLOWING << shift))
		appendStringInfoString(out, "UNBOUNDED FOLLOWING");
	else if (options & (FRAMEOPTION_START_CURRENT_ROW << shift))
		appendStringInfoString(out, "CURRENT ROW");
	else
		appendStringInfo(out, "%s %s", text_of(context, offset),
						 options & (FRAMEOPTION_START_OFFSET_PRECEDING << shift) ?
						 "PRECEDING" : "FOLLOWING");
}

static void
put_frame(StringInfo out, List *context, const WindowClause *frame)
{
	int			options = frame->frameOptions;

	appendStringInfoString(out, options & FRAMEOPTION_ROWS ? " ROWS BETWEEN " :
						   options & FRAMEOPTION_GROUPS ? " GROUPS BETWEEN " : " RANGE BETWEEN ");
	put_bound(out, context, options, false, frame->startOffset);
	appendStringInfoString(out, " AND ");
	put_bound(out, context, options, true, frame->endOffset);
	if (options & FRAMEOPTION_EXCLUSION)
		appendStringInfoString(out, options & FRAMEOPTION_EXCLUDE_GROUP ? " EXCLUDE GROUP" :
							   options & FRAMEOPTION_EXCLUDE_TIES ? " EXCLUDE TIES" :
							   " EXCLUDE CURRENT ROW");
}

/* " OVER (...)" of a TopK or a window, with the row as its last key or without */
static void
put_over(StringInfo out, const DdirRel *rel, List *context, bool row)
{
	const char *glue = " ORDER BY ";
	ListCell   *lc;

	appendStringInfoString(out, " OVER (");
	foreach(lc, rel->keys)
	{
		DdirGroupKey *key = lfirst(lc);

		appendStringInfo(out, "%s(%s)%s", foreach_current_index(lc) ? ", " : "PARTITION BY ",
						 text_of(context, key->expr),
						 key->eqop == DDIR_EQUALITY_IMAGE ? "::text" : "");
	}
	foreach(lc, rel->order)
	{
		DdirOrderKey *key = lfirst(lc);

		appendStringInfo(out, "%s(%s) USING OPERATOR(pg_catalog.%s) NULLS %s", glue,
						 text_of(context, key->expr), get_opname(key->sortop),
						 key->nulls_first ? "FIRST" : "LAST");
		glue = ", ";
	}
	if (row)
		appendStringInfo(out, "%si1::text", glue);
	if (rel->frame)
		put_frame(out, context, rel->frame);
	appendStringInfoChar(out, ')');
}

static void
put_window(StringInfo out, const DdirRel *rel, List *context, const char *from)
{
	ListCell   *lc;

	appendStringInfoString(out, "SELECT i1.*");
	foreach(lc, rel->funcs)
	{
		WindowFunc *f = lfirst_node(WindowFunc, lc);
		ListCell   *cell;

		appendStringInfo(out, ", %s(%s", get_func_name(f->winfnoid), f->winstar ? "*" : "");
		foreach(cell, f->args)
			appendStringInfo(out, "%s%s", foreach_current_index(cell) > 0 ? ", " : "",
							 typed_text(context, lfirst(cell)));
		appendStringInfoChar(out, ')');
		if (f->aggfilter)
			appendStringInfo(out, " FILTER (WHERE %s)", text_of(context, f->aggfilter));
		put_over(out, rel, context, false);
		appendStringInfo(out, " AS c%d", rel->input[0]->type->natts + foreach_current_index(lc) + 1);
	}
	appendStringInfoString(out, from);
}

static void
put_topk(StringInfo out, const DdirRel *rel, List *context, const char *from)
{
	appendStringInfoString(out, "SELECT");
	for (int a = 1; a <= rel->type->natts; a++)
		appendStringInfo(out, "%s c%d", a > 1 ? "," : "", a);
	appendStringInfoString(out, " FROM (SELECT i1.*, row_number()");
	put_over(out, rel, context, true);
	appendStringInfoString(out, " AS place, rank()");
	put_over(out, rel, context, false);
	appendStringInfo(out, " AS rank%s) AS s WHERE place > " INT64_FORMAT, from, rel->offset);
	if (rel->limit >= 0)
		appendStringInfo(out, " AND %s - " INT64_FORMAT " <= " INT64_FORMAT,
						 rel->ties ? "rank" : "place", rel->offset, rel->limit);
}

/* (columns kept, then those of the functions) */
static void
put_flatmap(StringInfo out, const DdirRel *rel, List *context, const char *from)
{
	int			a = list_length(rel->targets);
	ListCell   *lc;

	put_targets(out, context, rel->targets);
	if (rel->values)
	{
		foreach(lc, rel->functions)
		{
			appendStringInfo(out, "%s %s AS c%d", a > 0 ? "," : "",
							 text_of(context, lfirst_node(RangeTblFunction, lc)->funcexpr), a + 1);
			a++;
		}
		appendStringInfoString(out, from);
		return;
	}
	for (; a < rel->type->natts; a++)
		appendStringInfo(out, "%s f.c%d", a > 0 ? "," : "", a + 1);
	appendStringInfo(out, "%s %s JOIN LATERAL ROWS FROM (", from, rel->outer ? "LEFT" : "CROSS");
	foreach(lc, rel->functions)
	{
		RangeTblFunction *function = lfirst_node(RangeTblFunction, lc);
		int			n = list_length(function->funccoltypes);

		appendStringInfo(out, "%s%s", foreach_current_index(lc) ? ", " : "",
						 text_of(context, function->funcexpr));
		for (int i = 0; i < n; i++)
			appendStringInfo(out, "%s%s %s%s", i ? ", " : " AS (",
							 quote_identifier(strVal(list_nth(function->funccolnames, i))),
							 format_type_be(list_nth_oid(function->funccoltypes, i)),
							 i + 1 == n ? ")" : "");
	}
	appendStringInfo(out, ")%s AS f(", rel->ordinality ? " WITH ORDINALITY" : "");
	for (a = list_length(rel->targets); a < rel->type->natts; a++)
		appendStringInfo(out, "%sc%d", a > list_length(rel->targets) ? ", " : "", a + 1);
	appendStringInfo(out, ")%s", rel->outer ? " ON true" : "");
}

static int
position_of(List *rels, const DdirRel *rel)
{
	ListCell   *lc;

	foreach(lc, rels)
		if (lfirst(lc) == rel)
		return foreach_current_index(lc) + 1;
	elog(ERROR, "relation not found");
}

/* Negations come last: SQL has no rows that are there less than no times. */
static void
put_union(StringInfo out, List *rels, const DdirRel *rel)
{
	const char *glue = "";

	for (int negated = 0; negated < 2; negated++)
		for (int i = 0; i < rel->ninputs; i++)
		{
			if ((rel->input[i]->kind == DDIR_REL_NEGATE) != negated)
				continue;
			appendStringInfo(out, "%s(SELECT * FROM r%d)",
							 *glue && negated ? " EXCEPT ALL " : glue,
							 position_of(rels, rel->input[i]));
			glue = " UNION ALL ";
		}
}

static void
put_rel(StringInfo out, List *rels, const DdirRel *rel)
{
	List	   *context = context_of(rel);
	StringInfoData from;

	initStringInfo(&from);
	for (int i = 0; i < rel->ninputs; i++)
		appendStringInfo(&from, "%s r%d AS i%d", i ? "," : " FROM",
						 position_of(rels, rel->input[i]), i + 1);

	switch (rel->kind)
	{
		case DDIR_REL_SCAN:
			put_scan(out, rel);
			break;
		case DDIR_REL_CONSTANT:
			put_constant(out, rel);
			break;
		case DDIR_REL_FLATMAP:
			put_flatmap(out, rel, context, from.data);
			break;
		case DDIR_REL_MAP:
		case DDIR_REL_SCHEDULE:
		case DDIR_REL_JOIN:
			put_targets(out, context, rel->targets);
			appendStringInfoString(out, from.data);
			put_conditions(out, rel, context);
			break;
		case DDIR_REL_ANTI:
			put_targets(out, context, ddir_rel_columns(0, rel->input[0]));
			appendStringInfo(out, " FROM r%d AS i1 WHERE NOT EXISTS (SELECT FROM r%d AS i2",
							 position_of(rels, rel->input[0]), position_of(rels, rel->input[1]));
			put_conditions(out, rel, context);
			appendStringInfoChar(out, ')');
			break;
		case DDIR_REL_REDUCE:
			put_reduce(out, rel, context, from.data);
			break;
		case DDIR_REL_UNION:
			put_union(out, rels, rel);
			break;
		case DDIR_REL_ERRORS:
			/* the query that is rendered raises them */
			appendStringInfoString(out, "SELECT NULL::int4 AS c1, NULL::text AS c2 WHERE false");
			break;
		case DDIR_REL_NEGATE:
		case DDIR_REL_THRESHOLD:
		case DDIR_REL_VALID:
			/* what is not there is not there: see put_union */
			appendStringInfo(out, "SELECT * FROM r%d", position_of(rels, rel->input[0]));
			break;
		case DDIR_REL_TOPK:
			put_topk(out, rel, context, from.data);
			break;
		case DDIR_REL_WINDOW:
			put_window(out, rel, context, from.data);
			break;
	}
}

Datum
test_render(PG_FUNCTION_ARGS)
{
	DdirRefusal refusal;
	DdirLowered *lowered = lower_text(text_to_cstring(PG_GETARG_TEXT_PP(0)), &refusal);
	StringInfoData out;
	List	   *rels;
	ListCell   *lc;

	if (lowered == NULL)
		PG_RETURN_NULL();
	initStringInfo(&out);
	rels = ddir_rels_in_order(lowered->root, NULL);
	foreach(lc, rels)
	{
		int			n = foreach_current_index(lc) + 1;

		appendStringInfo(&out, "%s r%d AS (", n > 1 ? ",\n" : "WITH", n);
		put_rel(&out, rels, lfirst(lc));
		appendStringInfoChar(&out, ')');
	}
	appendStringInfo(&out, "\nSELECT * FROM r%d", list_length(rels));
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}
