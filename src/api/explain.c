/*-------------------------------------------------------------------------
 *
 * explain.c
 *	  How a query is, or would be, maintained: ddir.explain,
 *	  ddir.explain_query, and the analysis at creation.
 *
 * src/api/explain.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parser.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "api/api.h"
#include "base/compat.h"
#include "base/request.h"
#include "meta/freshness.h"
#include "meta/view.h"
#include "plan/ir.h"
#include "plan/lower.h"

#define EXPLAIN_MS 30000

/* What an arrangement keeps for a row beside its columns. */
#define ROW_OVERHEAD 24

PG_FUNCTION_INFO_V1(ddir_explain);
PG_FUNCTION_INFO_V1(ddir_explain_query);

void
ddir_api_analyse(const char *viewname, const Query *query, Oid owner)
{
	DdirRefusal refusal = {0};

	if (ddir_lower(query, owner, &refusal) == NULL)
		ddir_refuse(viewname, &refusal);
}

/* ----
 * ddir.explain(view, format)
 * ----
 */

/* Without the line break at its end. */
static char *
plan_text(const DdirRel *root)
{
	char	   *text = ddir_rel_text(root);
	size_t		len = strlen(text);

	while (len > 0 && text[len - 1] == '\n')
		len--;
	text[		len] = '\0';
	return text;
}

/* What is computed; by the rights of the view's owner. */
static void
append_plan(StringInfo out, Oid view)
{
	Relation	rel = table_open(view, AccessShareLock);
	DdirRefusal refusal = {0};
	DdirLowered *lowered = ddir_lower(ddir_view_query(rel), rel->rd_rel->relowner, &refusal);

	table_close(rel, AccessShareLock);
	if (lowered)
		appendStringInfoString(out, plan_text(lowered->root));
	else
		appendStringInfo(out, "Not maintained: %s", refusal.reason);
}

/* What runs, by the maintainer that runs it; or why nothing does. */
static void
append_running(StringInfo out, Oid view)
{
	DdirFreshness f;
	ListCell   *lc;

	ddir_freshness_read(view, &f);
	if (RecoveryInProgress())
	{
		appendStringInfoString(out, "\n\nMaintained on the primary server.");
		return;
	}
	if (f.result == DDIR_FRESHNESS_DISABLED)
		f.state = DDIR_VIEW_DISABLED;
	appendStringInfo(out, "\n\nState: %s", ddir_view_state_name(f.state));
	if (f.reason[0] != '\0')
		appendStringInfo(out, " (%s)", f.reason);
	if (f.state != DDIR_VIEW_LIVE && f.state != DDIR_VIEW_ERROR)
		return;
	foreach(lc, ddir_request(DDIR_REQUEST_EXPLAIN, view, InvalidXLogRecPtr, 1, EXPLAIN_MS))
	{
		char	  **line = lfirst(lc);

		appendStringInfo(out, "\n%s", line[0] ? line[0] : "");
	}
}

Datum
ddir_explain(PG_FUNCTION_ARGS)
{
	Oid			view = ddir_api_view(fcinfo, 0);
	char	   *format = PG_ARGISNULL(1) ? "text" : text_to_cstring(PG_GETARG_TEXT_PP(1));
	StringInfoData out;

	ddir_api_require_select(view);
	if (pg_strcasecmp(format, "text") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown format \"%s\"", format),
				 errdetail("A view's plan can be had as text."),
				 errhint("Use format 'text'.")));
	initStringInfo(&out);
	append_plan(&out, view);
	append_running(&out, view);
	PG_RETURN_TEXT_P(cstring_to_text(out.data));
}

/* ----
 * ddir.explain_query(query)
 * ----
 */

/* Positions of errors are in the text, not in the query that holds it. */
static void
text_error(void *arg)
{
	int			position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery((const char *) arg);
}

static Query *
analyse_statement(const char *text)
{
	List	   *statements = pg_parse_query(text);
	RawStmt    *raw;

	if (list_length(statements) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("the text must be one query"),
				 errdetail_plural("It has %d statement.", "It has %d statements.",
								  list_length(statements), list_length(statements)),
				 errhint("Pass the SELECT that would define the view.")));
	raw = linitial_node(RawStmt, statements);
	if (!IsA(raw->stmt, SelectStmt) || ((SelectStmt *) raw->stmt)->intoClause != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("the text must be a SELECT, VALUES or TABLE command"),
				 errdetail("A view is defined by a query that only reads."),
				 errhint("Pass the SELECT that would define the view.")));
	return parse_analyze_fixedparams(raw, text, NULL, 0, NULL);
}

static Query *
analyse_text(char *text)
{
	ErrorContextCallback callback;
	Query	   *query;

	callback.previous = error_context_stack;
	callback.callback = text_error;
	callback.arg = text;

	error_context_stack = &callback;
	query = analyse_statement(text);
	error_context_stack = callback.previous;
	return query;
}

static double
row_width(const DdirRowType *type)
{
	double		width = ROW_OVERHEAD;

	for (int i = 0; i < type->natts; i++)
	{
		if (OidIsValid(type->col[i].typid))
			width += get_typavgwidth(type->col[i].typid, type->col[i].typmod);
	}
	return width;
}

/* Bytes of the inputs of operators that keep them. */
static double
state_bytes(const DdirRel *rel, List **seen)
{
	double		bytes = 0;

	if (list_member_ptr(*seen, rel))
		return 0;
	*seen = lappend(*seen, (void *) rel);
	for (int i = 0; i < rel->ninputs; i++)
	{
		const DdirRel *input = rel->input[i];

		bytes += state_bytes(input, seen);
		switch (rel->kind)
		{
			case DDIR_REL_JOIN:
			case DDIR_REL_ANTI:
				bytes += input->rows * row_width(input->type);
				break;
			case DDIR_REL_REDUCE:
				bytes += rel->rows * row_width(rel->type);
				break;
			default:
				break;
		}
	}
	return bytes;
}

/* The state of a view: its operators', and the map of the rows it shows. */
static int64
view_bytes(const DdirRel *root)
{
	List	   *seen = NIL;
	double		bytes = state_bytes(root, &seen) + root->rows * row_width(root->type);

	return bytes < PG_INT64_MAX / 2 ? (int64) bytes : PG_INT64_MAX;
}

/* A result's row: NULL until set. */
typedef struct Answer
{
	Datum		value[7];
	bool		null[7];
} Answer;

static void
set(Answer *answer, int column, Datum value)
{
	answer->value[column] = value;
	answer->null[column] = false;
}

static void
set_text(Answer *answer, int column, const char *text)
{
	if (text)
		set(answer, column, CStringGetTextDatum(text));
}

Datum
ddir_explain_query(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	DdirRefusal refusal = {0};
	DdirLowered *lowered;
	Answer		answer;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the query must not be NULL"),
				 errhint("Pass the SELECT that would define the view.")));
	InitMaterializedSRF(fcinfo, 0);
	lowered = ddir_lower(analyse_text(text_to_cstring(PG_GETARG_TEXT_PP(0))), GetUserId(), &refusal);

	memset(answer.null, true, sizeof(answer.null));
	set(&answer, 0, BoolGetDatum(lowered != NULL));
	if (lowered == NULL)
	{
		set_text(&answer, 1, refusal.code);
		set_text(&answer, 2, refusal.construct);
		set_text(&answer, 3, refusal.reason);
		set_text(&answer, 4, refusal.hint);
	}
	else
	{
		if (lowered->ambiguous)
			set_text(&answer, 3, "The plain query has several legal answers, of which ddir keeps one.");
		set_text(&answer, 5, plan_text(lowered->root));
		set(&answer, 6, Int64GetDatum(view_bytes(lowered->root)));
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, answer.value, answer.null);
	return (Datum) 0;
}
