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
#include "utils/json.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "api/api.h"
#include "base/compat.h"
#include "base/config.h"
#include "base/request.h"
#include "meta/freshness.h"
#include "meta/view.h"
#include "plan/build.h"
#include "plan/estimate.h"
#include "plan/ir.h"
#include "plan/lower.h"

#define EXPLAIN_MS 30000
#define DESCRIBE_MS 2000

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
	char	   *shown = ddir_rel_text(root);
	size_t		len = strlen(shown);

	while (len > 0 && shown[len - 1] == '\n')
		len--;
	shown[len] = '\0';
	return shown;
}

/* A line of what runs, or would: see base/request.h; -1: not known. */
typedef struct Line
{
	int			depth;
	const char *what;
	const char *text;
	const char *sharing;
	double		rows;			/* estimates */
	double		bytes;
	double		delta_bytes;
	double		binary_bytes;
	double		held_rows;
	double		held_bytes;
} Line;

static double
number(const char *text)
{
	return text ? strtod(text, NULL) : -1;
}

static List *
lines_running(Oid view)
{
	List	   *lines = NIL;
	ListCell   *lc;

	foreach(lc, ddir_request(DDIR_REQUEST_EXPLAIN, view, InvalidXLogRecPtr, 10, EXPLAIN_MS))
	{
		char	  **cols = lfirst(lc);
		Line	   *line = palloc(sizeof(Line));

		line->depth = atoi(cols[0]);
		line->what = cols[1];
		line->text = cols[2];
		line->sharing = cols[3];
		line->rows = number(cols[4]);
		line->bytes = number(cols[5]);
		line->delta_bytes = number(cols[6]);
		line->binary_bytes = number(cols[7]);
		line->held_rows = number(cols[8]);
		line->held_bytes = number(cols[9]);
		lines = lappend(lines, line);
	}
	return lines;
}

static List *
lines_planned(const DdirFlow *flow)
{
	List	   *lines = NIL;
	Line	   *line;
	ListCell   *lc;

	foreach(lc, flow->made)
	{
		DdirMade   *made = lfirst(lc);

		line = palloc(sizeof(Line));
		line->depth = made->depth;
		line->what = made->what;
		line->text = made->text;
		line->sharing = made->sharing;
		line->rows = made->rows;
		line->bytes = made->bytes;
		line->delta_bytes = made->delta_bytes;
		line->binary_bytes = made->binary_bytes;
		line->held_rows = line->held_bytes = -1;
		lines = lappend(lines, line);
	}
	line = palloc0(sizeof(Line));
	line->what = "map";
	line->text = "rows of the view by their place";
	line->rows = flow->rows;
	line->bytes = ddir_flow_map_bytes(flow);
	line->delta_bytes = line->binary_bytes = line->held_rows = line->held_bytes = -1;
	return lappend(lines, line);
}

/* "34 kB" */
static char *
pretty(double bytes)
{
	Datum		size = Int64GetDatum(bytes < PG_INT64_MAX / 2 ? (int64) bytes : PG_INT64_MAX);

	return TextDatumGetCString(DirectFunctionCall1(pg_size_pretty, size));
}

static void
append_held(StringInfo out, const Line *line)
{
	appendStringInfo(out, "%s", line->sharing ? psprintf(": %s, ", line->sharing) : ": ");
	if (line->held_bytes >= 0)
		appendStringInfo(out, "%.0f rows, %s (estimated: %.0f rows, %s)", line->held_rows,
						 pretty(line->held_bytes), line->rows, pretty(line->bytes));
	else
		appendStringInfo(out, "about %.0f rows, %s", line->rows, pretty(line->bytes));
}

static void
append_lines(StringInfo out, List *lines)
{
	ListCell   *lc;

	foreach(lc, lines)
	{
		Line	   *line = lfirst(lc);

		appendStringInfoChar(out, '\n');
		appendStringInfoSpaces(out, 2 * line->depth);
		appendStringInfo(out, "%s %s", line->what, line->text);
		if (line->bytes >= 0)
			append_held(out, line);
		if (line->delta_bytes >= 0)
			appendStringInfo(out, ": new arrangements of about %s in a delta join, %s in binary joins",
							 pretty(line->delta_bytes), pretty(line->binary_bytes));
	}
}

static void
append_json_number(StringInfo out, const char *name, double n)
{
	if (n >= 0)
		appendStringInfo(out, ", \"%s\": %.0f", name, n);
}

/* Lines of depth 1 are inside of the one above them. */
static void
append_lines_json(StringInfo out, List *lines)
{
	int			depth = -1;
	ListCell   *lc;

	appendStringInfoChar(out, '[');
	foreach(lc, lines)
	{
		Line	   *line = lfirst(lc);

		if (line->depth > depth && depth >= 0)
			appendStringInfoString(out, ", \"parts\": [");
		else if (line->depth < depth)
			appendStringInfoString(out, "}]}, ");
		else if (depth >= 0)
			appendStringInfoString(out, "}, ");
		depth = line->depth;
		appendStringInfoString(out, "{\"operator\": ");
		escape_json(out, line->what);
		appendStringInfoString(out, ", \"text\": ");
		escape_json(out, line->text);
		if (line->sharing)
			appendStringInfo(out, ", \"shared\": %s",
							 strcmp(line->sharing, "shared") == 0 ? "true" : "false");
		append_json_number(out, "estimated_rows", line->rows);
		append_json_number(out, "estimated_bytes", line->bytes);
		append_json_number(out, "delta_join_bytes", line->delta_bytes);
		append_json_number(out, "binary_joins_bytes", line->binary_bytes);
		append_json_number(out, "rows", line->held_rows);
		append_json_number(out, "bytes", line->held_bytes);
	}
	appendStringInfoString(out, depth > 0 ? "}]}]" : depth == 0 ? "}]" : "]");
}

/* What is computed; by the rights of the view's owner. */
static DdirLowered *
lower_view(Oid view, DdirRefusal *refusal, Oid *owner)
{
	Relation	rel = table_open(view, AccessShareLock);
	DdirLowered *lowered;

	*owner = rel->rd_rel->relowner;
	lowered = ddir_lower(ddir_view_query(rel), *owner, refusal);
	table_close(rel, AccessShareLock);
	return lowered;
}

/* The view's state, and whether the maintainer has a dataflow of it. */
static bool
view_state(Oid view, DdirFreshness *f)
{
	ddir_freshness_read(view, f);
	if (f->result == DDIR_FRESHNESS_DISABLED)
		f->state = DDIR_VIEW_DISABLED;
	return f->state == DDIR_VIEW_LIVE || f->state == DDIR_VIEW_ERROR;
}

static char *
explain_text(Oid view)
{
	StringInfoData out;
	DdirRefusal refusal = {0};
	DdirFreshness f;
	Oid			owner;
	DdirLowered *lowered = lower_view(view, &refusal, &owner);
	bool		runs = view_state(view, &f);

	initStringInfo(&out);
	if (lowered)
		appendStringInfoString(&out, plan_text(lowered->root));
	else
		appendStringInfo(&out, "Not maintained: %s", refusal.reason);
	if (RecoveryInProgress())
	{
		appendStringInfoString(&out, "\n\nMaintained on the primary server.");
		return out.data;
	}
	appendStringInfo(&out, "\n\nState: %s", ddir_view_state_name(f.state));
	if (f.reason[0] != '\0')
		appendStringInfo(&out, " (%s)", f.reason);
	if (ddir_capture_mode() == DDIR_CAPTURE_TRIGGER)
		appendStringInfoString(&out, "\nChanges: captured by triggers and taken in cuts, of all transactions that have become visible; one by one needs logical decoding");
	if (runs)
		append_lines(&out, lines_running(view));
	return out.data;
}

static void
append_json_text(StringInfo out, const char *name, const char *text)
{
	appendStringInfo(out, ", \"%s\": ", name);
	escape_json(out, text);
}

static char *
explain_json(Oid view)
{
	StringInfoData out;
	DdirRefusal refusal = {0};
	DdirFreshness f;
	Oid			owner;
	DdirLowered *lowered = lower_view(view, &refusal, &owner);
	bool		runs = view_state(view, &f);

	initStringInfo(&out);
	appendStringInfoString(&out, "{\"view\": ");
	escape_json(&out, quote_qualified_identifier(get_namespace_name(get_rel_namespace(view)),
												 get_rel_name(view)));
	if (lowered)
	{
		ddir_estimate(lowered->root, owner);
		appendStringInfo(&out, ", \"query\": %s", ddir_rel_json(lowered->root));
	}
	else
		append_json_text(&out, "refused", refusal.reason);
	if (!RecoveryInProgress())
	{
		append_json_text(&out, "state", ddir_view_state_name(f.state));
		if (f.reason[0] != '\0')
			append_json_text(&out, "reason", f.reason);
		if (runs)
		{
			appendStringInfoString(&out, ", \"dataflow\": ");
			append_lines_json(&out, lines_running(view));
		}
	}
	appendStringInfoChar(&out, '}');
	return out.data;
}

Datum
ddir_explain(PG_FUNCTION_ARGS)
{
	Oid			view = ddir_api_view(fcinfo, 0);
	char	   *format = PG_ARGISNULL(1) ? "text" : text_to_cstring(PG_GETARG_TEXT_PP(1));

	ddir_api_require_select(view);
	if (pg_strcasecmp(format, "text") == 0)
		PG_RETURN_TEXT_P(cstring_to_text(explain_text(view)));
	if (pg_strcasecmp(format, "json") == 0)
		PG_RETURN_TEXT_P(cstring_to_text(explain_json(view)));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown format \"%s\"", format),
			 errdetail("A view's plan can be had as text and as JSON."),
			 errhint("Use format 'text' or 'json'.")));
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

/*
 * What the maintainer has that the query could share; nothing if none runs, or
 * none that answers soon.
 */
static List *
described(void)
{
	List	   *result = NIL;
	List	   *rows;
	ListCell   *lc;

	if (RecoveryInProgress() ||
		!ddir_request_maybe(DDIR_REQUEST_DESCRIBE, InvalidOid, InvalidXLogRecPtr, 3,
							DESCRIBE_MS, &rows))
		return NIL;
	foreach(lc, rows)
	{
		char	  **cols = lfirst(lc);
		DdirDescribed *d = palloc(sizeof(DdirDescribed));

		d->text = cols[0];
		d->rows = number(cols[1]);
		d->bytes = number(cols[2]);
		result = lappend(result, d);
	}
	return result;
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

/* The DDIR, what would be made of it, and how much that would hold. */
static void
set_plan(Answer *answer, DdirRel *root)
{
	DdirFlow   *flow = ddir_flow_plan(GetUserId(), root, described());
	double		bytes = flow->state_bytes + ddir_flow_map_bytes(flow);
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "%s\n", plan_text(root));
	append_lines(&out, lines_planned(flow));
	set_text(answer, 5, out.data);
	set(answer, 6, Int64GetDatum(bytes < PG_INT64_MAX / 2 ? (int64) bytes : PG_INT64_MAX));
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
		set_plan(&answer, lowered->root);
	}
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, answer.value, answer.null);
	return (Datum) 0;
}
