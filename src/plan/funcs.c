/*-------------------------------------------------------------------------
 *
 * funcs.c
 *	  Which functions a maintained view may call.
 *
 * A view is right as long as it equals its query, and only changed rows are
 * looked at again: so the answer of every expression must follow from its row
 * alone.  IMMUTABLE says that.  Of the STABLE functions of the server those are
 * accepted that read settings and nothing else: a view runs under the settings
 * of a fresh session of its owner.  The lists below were made by reading what
 * each STABLE function of pg_catalog does; one that is in none of them, as new
 * servers will have, is refused.
 *
 * Functions that call the output functions of whatever they are given
 * (concat, to_json, casts to text) are as good as the types they are given.
 * Enum labels can be renamed: types whose labels matter are reported, as are
 * functions outside of pg_catalog, so that their change can be noticed.
 *
 * Where a value of a domain is made its constraints are checked, by expressions
 * that are the query's as much as those written in it: so they may call the
 * same, and no clock, which nobody would put forward there.  A function of the
 * user's is trusted with the domains of what it returns: they are reported only.
 *
 * As the server does for expressions of indexes, the volatility of the users'
 * functions is looked at after inlining; what is named here by name is
 * looked at before as well, to be called as the query calls it.
 *
 * src/plan/funcs.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/compat.h"
#include "plan/lowering.h"

/*
 * Functions of pg_catalog that are not IMMUTABLE, by their C name; those
 * written in SQL by their SQL name.
 */

/* read settings (TimeZone, DateStyle, lc_*, ...) and nothing else */
static const char *const reads_settings[] = {
	"cash_in", "cash_numeric", "cash_out", "date_cmp_timestamptz",
	"date_eq_timestamptz", "date_ge_timestamptz", "date_gt_timestamptz",
	"date_le_timestamptz", "date_lt_timestamptz", "date_ne_timestamptz",
	"date_out", "date_timestamptz", "extract_timestamptz", "float4_to_char",
	"float8_to_char", "generate_series_timestamptz", "in_range_timestamptz_interval", "int4_cash",
	"int4_to_char", "int8_cash", "int8_to_char", "interval_in",
	"interval_out", "interval_pl_timestamptz", "interval_to_char",
	"json_string_to_tsvector", "json_to_tsvector", "jsonb_path_exists_tz",
	"jsonb_path_match_tz", "jsonb_path_query_array_tz",
	"jsonb_path_query_first_tz", "jsonb_path_query_tz", "jsonb_string_to_tsvector",
	"jsonb_to_tsvector", "length_in_encoding", "make_timestamptz",
	"make_timestamptz_at_timezone", "numeric_cash", "numeric_to_char",
	"numeric_to_number", "overlaps", "phraseto_tsquery", "plainto_tsquery",
	"texttoxml", "timestamp_cmp_timestamptz", "timestamp_eq_timestamptz",
	"timestamp_ge_timestamptz", "timestamp_gt_timestamptz",
	"timestamp_le_timestamptz", "timestamp_lt_timestamptz",
	"timestamp_ne_timestamptz", "timestamp_out", "timestamp_timestamptz",
	"timestamp_to_char", "timestamptz", "timestamptz_cmp_date",
	"timestamptz_cmp_timestamp", "timestamptz_date", "timestamptz_eq_date",
	"timestamptz_eq_timestamp", "timestamptz_ge_date",
	"timestamptz_ge_timestamp", "timestamptz_gt_date",
	"timestamptz_gt_timestamp", "timestamptz_le_date",
	"timestamptz_le_timestamp", "timestamptz_lt_date",
	"timestamptz_lt_timestamp", "timestamptz_mi_interval",
	"timestamptz_ne_date", "timestamptz_ne_timestamp", "timestamptz_out",
	"timestamptz_part", "timestamptz_pl_interval", "timestamptz_time",
	"timestamptz_timestamp", "timestamptz_timetz", "timestamptz_to_char",
	"timestamptz_trunc", "timestamptz_trunc_zone", "to_date", "to_timestamp",
	"to_tsquery", "to_tsvector", "ts_headline", "ts_headline_json",
	"ts_headline_json_opt", "ts_headline_jsonb", "ts_headline_jsonb_opt",
	"ts_headline_opt", "ts_match_tq", "ts_match_tt", "websearch_to_tsquery",
	"xml_in", "xml_is_well_formed",
	/* of types only */
	"pg_typeof",
	/* transition functions of 16 and later have names of their own below */
	NULL
};

/* the same, and the output functions of their arguments' types */
static const char *const writes_values[] = {
	"anytextcat", "array_to_json", "array_to_json_pretty", "array_to_text",
	"array_to_text_null", "json_agg_strict_transfn", "json_agg_transfn",
	"json_build_array", "json_build_array_noargs", "json_build_object",
	"json_build_object_noargs", "json_object_agg_strict_transfn",
	"json_object_agg_transfn", "json_object_agg_unique_strict_transfn",
	"json_object_agg_unique_transfn", "jsonb_agg_finalfn",
	"jsonb_agg_strict_transfn", "jsonb_agg_transfn", "jsonb_build_array",
	"jsonb_build_array_noargs", "jsonb_build_object",
	"jsonb_build_object_noargs", "jsonb_object_agg_finalfn",
	"jsonb_object_agg_strict_transfn", "jsonb_object_agg_transfn",
	"jsonb_object_agg_unique_strict_transfn",
	"jsonb_object_agg_unique_transfn", "quote_literal", "quote_nullable",
	"row_to_json", "row_to_json_pretty", "text_concat", "text_concat_ws",
	"text_format", "text_format_nv", "textanycat", "to_json", "to_jsonb",
	/* the aggregates themselves, which pg_proc calls STABLE too */
	"json_agg", "json_agg_strict", "json_object_agg",
	"json_object_agg_strict", "json_object_agg_unique",
	"json_object_agg_unique_strict", "jsonb_agg", "jsonb_agg_strict",
	"jsonb_object_agg", "jsonb_object_agg_strict", "jsonb_object_agg_unique",
	"jsonb_object_agg_unique_strict",
	NULL
};

/* call the input functions of the types of their result's columns */
static const char *const reads_values[] = {
	"json_populate_record", "json_populate_recordset", "json_to_record",
	"json_to_recordset", "jsonb_populate_record", "jsonb_populate_recordset",
	"jsonb_to_record", "jsonb_to_recordset",
	NULL
};

/* the time of the transaction or statement: that of the step (clock.c) */
static const char *const is_clock[] = {
	"now", "statement_timestamp",
	NULL
};

/* a time with a zone's name needs to know today's offset */
static const char *const reads_clock[] = {
	"age", "clock_timestamp", "time_timetz",
	"timeofday", "timetz_izone", "timetz_zone",
	NULL
};

/* input functions that know 'now', 'today', 'tomorrow' and 'yesterday' */
static const char *const reads_clock_words[] = {
	"date_in", "time_in", "timestamp_in", "timestamptz_in", "timetz_in",
	NULL
};

static const char *const reads_session[] = {
	"current_database", "current_query", "current_schema", "current_schemas",
	"current_user", "get_current_ts_config", "getdatabaseencoding",
	"inet_client_addr", "inet_client_port", "inet_server_addr",
	"inet_server_port", "pg_backend_pid", "pg_client_encoding",
	"pg_is_other_temp_schema", "pg_listening_channels", "pg_my_temp_schema",
	"pg_trigger_depth", "pgsql_version", "row_security_active",
	"row_security_active_name", "session_user", "set_config_by_name",
	"show_config_by_name", "show_config_by_name_missing_ok",
	NULL
};

static const char *const reads_server[] = {
	"mxid_age", "pg_column_compression", "pg_column_size", "pg_conf_load_time",
	"pg_current_snapshot", "pg_current_xact_id",
	"pg_current_xact_id_if_assigned", "pg_postmaster_start_time",
	"pg_xact_status", "xid_age",
	NULL
};

static const char *const reads_catalog[] = {
	"aclexplode", "aclitemin", "aclitemout", "col_description",
	"database_to_xml", "database_to_xml_and_xmlschema",
	"database_to_xmlschema", "enum_first", "enum_last", "enum_range_all",
	"enum_range_bounds", "format_type", "obj_description", "oidvectortypes", "pg_convert", "pg_convert_from",
	"pg_convert_to", "record_in", "record_out", "schema_to_xml",
	"schema_to_xml_and_xmlschema", "schema_to_xmlschema", "shobj_description",
	"table_to_xml", "table_to_xml_and_xmlschema", "table_to_xmlschema",
	"text_regclass", "to_regclass", "to_regcollation", "to_regnamespace",
	"to_regoper", "to_regoperator", "to_regproc", "to_regprocedure",
	"to_regrole", "to_regtype",
	NULL
};

static const char *const reads_catalog_prefix[] = {
	"has_", "pg_", "reg",
	NULL
};

typedef struct CheckContext
{
	DdirChecked *checked;
	bool		final;
	Oid			domain;			/* whose constraint it is, or InvalidOid */
	bool		trusted;		/* nothing is refused */
	Node	   *node;			/* being looked at */
	bool		writes_values;	/* its function calls output functions */
} CheckContext;

static void check_type_io(CheckContext *cx, Oid typid, bool input);
static bool check_walker(Node *node, void *arg);

static bool
listed(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static void
refuse(CheckContext *cx, DdirRefusalCode code, const char *construct)
{
	int			n;

	if (cx->trusted)
		return;
	if (OidIsValid(cx->domain))
		construct = psprintf("%s in a constraint of domain %s",
							 construct ? construct : ddir_refusal_kinds(&n)[code].construct,
							 format_type_be(cx->domain));
	ddir_refuse_query(cx->checked->refusal, code, construct);
}

static bool
prefixed(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (strncmp(name, *list, strlen(*list)) == 0)
			return true;
	return false;
}

/* As the query calls it. */
static char *
called(const Node *node, Oid funcid)
{
	Oid			opno = InvalidOid;

	if (node && (IsA(node, OpExpr) || IsA(node, DistinctExpr) || IsA(node, NullIfExpr)))
		opno = ((const OpExpr *) node)->opno;
	else if (node && IsA(node, ScalarArrayOpExpr))
		opno = ((const ScalarArrayOpExpr *) node)->opno;
	if (OidIsValid(opno))
		return psprintf("operator %s", get_opname(opno));
	return psprintf("%s()", get_func_name(funcid));
}

/*
 * A function of pg_catalog that is not IMMUTABLE.  Sets *code to why it is
 * refused; false if it is not.
 */
static bool
builtin_refused(const char *name, char volatility, DdirRefusalCode *code)
{
	if (listed(name, is_clock))
		return false;
	else if (listed(name, reads_clock))
		*code = DDIR_REFUSE_CLOCK;
	else if (listed(name, reads_clock_words))
		*code = DDIR_REFUSE_CLOCK_WORDS;
	else if (listed(name, reads_session))
		*code = DDIR_REFUSE_SESSION;
	else if (listed(name, reads_server))
		*code = DDIR_REFUSE_TRANSACTION;
	else if (volatility == PROVOLATILE_VOLATILE)
		*code = DDIR_REFUSE_VOLATILE;
	else if (listed(name, reads_settings) || listed(name, writes_values) ||
			 listed(name, reads_values))
		return false;
	else if (listed(name, reads_catalog) || prefixed(name, reads_catalog_prefix))
		*code = DDIR_REFUSE_CATALOG;
	else
		*code = DDIR_REFUSE_STABLE;
	return true;
}

/*
 * Refuse a function that the view may not call.  "construct" is how it is
 * called; NULL: by its name.
 */
static void
check_function(CheckContext *cx, Oid funcid, const char *construct)
{
	DdirChecked *checked = cx->checked;
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	Form_pg_proc form;
	char		volatility;
	bool		builtin;
	bool		refused = false;
	DdirRefusalCode code = DDIR_REFUSALS;
	char	   *name;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", funcid);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	volatility = form->provolatile;
	builtin = form->pronamespace == PG_CATALOG_NAMESPACE && funcid < FirstNormalObjectId;
	name = pstrdup(NameStr(form->proname));
	/* what stands for an aggregate is the same for all */
	if (form->prolang == INTERNALlanguageId && form->prokind != PROKIND_AGGREGATE)
	{
		bool		isnull;
		Datum		src = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

		if (!isnull)
			name = TextDatumGetCString(src);
	}
	ReleaseSysCache(tuple);

	if (!builtin)
		checked->functions = list_append_unique_oid(checked->functions, funcid);

	if (volatility == PROVOLATILE_IMMUTABLE)
		return;
	if (builtin)
	{
		refused = builtin_refused(name, volatility, &code);
		if (OidIsValid(cx->domain) && listed(name, is_clock))
		{
			refused = true;
			code = DDIR_REFUSE_CLOCK;
		}
		cx->writes_values = cx->writes_values || listed(name, writes_values);
	}
	else if (cx->final)
	{
		refused = true;
		code = volatility == PROVOLATILE_VOLATILE ? DDIR_REFUSE_VOLATILE :
			DDIR_REFUSE_STABLE;
	}
	if (refused)
		refuse(cx, code, construct ? construct : called(cx->node, funcid));
}

static bool
check_called(Oid funcid, void *arg)
{
	CheckContext *cx = arg;

	if (!ddir_function_allowed(funcid, cx->checked->owner))
		refuse(cx, DDIR_REFUSE_FUNCTION_RIGHTS, called(cx->node, funcid));
	check_function(cx, funcid, NULL);
	return false;
}

/* The functions that an aggregate is made of. */
static void
check_aggregate(CheckContext *cx, Oid aggfnoid)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggfnoid));
	Form_pg_aggregate form;
	Oid			part[8];

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggfnoid);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	part[0] = form->aggtransfn;
	part[1] = form->aggfinalfn;
	part[2] = form->aggcombinefn;
	part[3] = form->aggserialfn;
	part[4] = form->aggdeserialfn;
	part[5] = form->aggmtransfn;
	part[6] = form->aggminvtransfn;
	part[7] = form->aggmfinalfn;
	ReleaseSysCache(tuple);
	for (int i = 0; i < lengthof(part); i++)
		if (OidIsValid(part[i]))
			check_function(cx, part[i], NULL);
}

/*
 * Types
 */

static char *
cast_name(Oid typid, bool input)
{
	return psprintf(input ? "a cast of text to %s" : "a cast of %s to text",
					format_type_be(typid));
}

static Oid
io_function(Oid typid, bool input)
{
	Oid			funcid;
	Oid			param;
	bool		varlena;

	if (input)
		getTypeInputInfo(typid, &funcid, &param);
	else
		getTypeOutputInfo(typid, &funcid, &varlena);
	return funcid;
}

/* What a function of users makes in ways that nobody sees; looked at in the end. */
static void
note_result(CheckContext *cx, Oid funcid, Oid typid)
{
	if (funcid >= FirstNormalObjectId)
		cx->checked->results = list_append_unique_oid(cx->checked->results, typid);
}

/* The types of the columns of a row; if it has a type, that is noted. */
static List *
column_types(CheckContext *cx, Oid typid, int32 typmod)
{
	TupleDesc	desc = lookup_rowtype_tupdesc_copy(typid, typmod);
	List	   *types = NIL;

	if (typid != RECORDOID)
		cx->checked->types = ddir_types_add(cx->checked->types, typid);
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			types = lappend_oid(types, TupleDescAttr(desc, i)->atttypid);
	return types;
}

/*
 * What is checked wherever a value of the domain is made: its constraints, and
 * those of the domains that it is over.  Folding may leave out that a value is
 * made, so they are looked at behind it.
 */
static void
check_domain(CheckContext *cx, Oid typid)
{
	DdirChecked *checked = cx->checked;
	ListCell   *lc;

	check_stack_depth();
	for (; get_typtype(typid) == TYPTYPE_DOMAIN; typid = ddir_domain_over(typid))
	{
		CheckContext constraint = {checked, false, typid, cx->trusted};

		checked->types = list_append_unique_oid(checked->types, typid);
		if (!cx->final || list_member_oid(checked->domains, typid))
			continue;
		checked->domains = lappend_oid(checked->domains, typid);
		foreach(lc, ddir_domain_constraints(typid))
		{
			Expr	   *expr = stringToNode(((DdirConstraint *) lfirst(lc))->expr);
			List	   *relations;
			List	   *invalidations;

			constraint.final = false;
			check_walker((Node *) expr, &constraint);
			expr = expression_planner_with_deps(expr, &relations, &invalidations);
			checked->inlined = list_concat(checked->inlined, invalidations);
			constraint.final = true;
			check_walker((Node *) expr, &constraint);
		}
	}
}

/* Refuse the input or output of a type if it depends on more than the value. */
static void
check_type_io(CheckContext *cx, Oid typid, bool input)
{
	ListCell   *lc;
	Oid			inner = InvalidOid;

	check_stack_depth();
	switch (get_typtype(typid))
	{
		case TYPTYPE_DOMAIN:
			inner = getBaseType(typid);
			if (input)
				check_domain(cx, typid);
			break;
		case TYPTYPE_ENUM:
			cx->checked->types = list_append_unique_oid(cx->checked->types, typid);
			return;
		case TYPTYPE_RANGE:
			inner = get_range_subtype(typid);
			break;
		case TYPTYPE_MULTIRANGE:
			inner = get_range_subtype(get_multirange_range(typid));
			break;
		case TYPTYPE_COMPOSITE:
			foreach(lc, column_types(cx, typid, -1))
			{
				check_type_io(cx, lfirst_oid(lc), input);
			}
			return;
		case TYPTYPE_PSEUDO:
			if (typid == UNKNOWNOID || typid == CSTRINGOID)
				return;
			refuse(cx, DDIR_REFUSE_CATALOG, cast_name(typid, input));
			break;
		default:
			inner = get_element_type(typid);
			break;
	}
	if (OidIsValid(inner))
		check_type_io(cx, inner, input);
	else
		check_function(cx, io_function(typid, input), cast_name(typid, input));
}

static void check_written(CheckContext *cx, List *args);

/* Of a row that has no type the columns are known where it is made (wholerow.c). */
static void
check_value_written(CheckContext *cx, Node *value)
{
	ListCell   *lc;

	if (IsA(value, RowExpr) && exprType(value) == RECORDOID)
		check_written(cx, ((RowExpr *) value)->args);
	else if (exprType(value) == RECORDOID && exprTypmod(value) >= 0)
		foreach(lc, column_types(cx, RECORDOID, exprTypmod(value)))
	{
		check_type_io(cx, lfirst_oid(lc), false);
	}
	else
		check_type_io(cx, exprType(value), false);
}

static void
check_written(CheckContext *cx, List *args)
{
	ListCell   *lc;

	foreach(lc, args)
	{
		Node	   *arg = lfirst(lc);

		if (IsA(arg, TargetEntry))
			arg = (Node *) ((TargetEntry *) arg)->expr;
		check_value_written(cx, arg);
	}
}

static bool
reads_columns(Oid funcid)
{
	return funcid < FirstNormalObjectId && listed(get_func_name(funcid), reads_values);
}

/* The same of a type that a function makes of text, column by column if it is a row. */
static void
check_type_read(CheckContext *cx, Oid typid)
{
	Oid			element;
	ListCell   *lc;

	check_stack_depth();
	check_domain(cx, typid);
	typid = getBaseType(typid);
	element = get_element_type(typid);
	if (OidIsValid(element))
		check_type_read(cx, element);
	else if (get_typtype(typid) == TYPTYPE_COMPOSITE)
	{
		foreach(lc, column_types(cx, typid, -1))
		{
			check_type_read(cx, lfirst_oid(lc));
		}
	}
	else if (typid != JSONOID && typid != JSONBOID)
		check_type_io(cx, typid, true);
}

void
ddir_check_columns_read(DdirChecked *checked, Node *call, List *types)
{
	CheckContext cx = {.checked = checked,.final = true,.node = call};
	ListCell   *lc;

	if (!IsA(call, FuncExpr))
		return;
	foreach(lc, types)
	{
		if (reads_columns(((FuncExpr *) call)->funcid))
			check_type_read(&cx, lfirst_oid(lc));
		else
			note_result(&cx, ((FuncExpr *) call)->funcid, lfirst_oid(lc));
	}
}

/*
 * Expressions
 */

static void
check_sql_value(CheckContext *cx, SQLValueFunction *f)
{
	static const char *const names[] = {
		[SVFOP_CURRENT_DATE] = "CURRENT_DATE",
		[SVFOP_CURRENT_TIME] = "CURRENT_TIME",
		[SVFOP_CURRENT_TIME_N] = "CURRENT_TIME",
		[SVFOP_CURRENT_TIMESTAMP] = "CURRENT_TIMESTAMP",
		[SVFOP_CURRENT_TIMESTAMP_N] = "CURRENT_TIMESTAMP",
		[SVFOP_LOCALTIME] = "LOCALTIME",
		[SVFOP_LOCALTIME_N] = "LOCALTIME",
		[SVFOP_LOCALTIMESTAMP] = "LOCALTIMESTAMP",
		[SVFOP_LOCALTIMESTAMP_N] = "LOCALTIMESTAMP",
		[SVFOP_CURRENT_ROLE] = "CURRENT_ROLE",
		[SVFOP_CURRENT_USER] = "CURRENT_USER",
		[SVFOP_USER] = "USER",
		[SVFOP_SESSION_USER] = "SESSION_USER",
		[SVFOP_CURRENT_CATALOG] = "CURRENT_CATALOG",
		[SVFOP_CURRENT_SCHEMA] = "CURRENT_SCHEMA",
	};

	if (ddir_clock_as_function(f) && !OidIsValid(cx->domain))
		return;
	refuse(cx, f->op <= SVFOP_LOCALTIMESTAMP_N ? DDIR_REFUSE_CLOCK : DDIR_REFUSE_SESSION,
		   (int) f->op < lengthof(names) ? names[f->op] : NULL);
}

/* Nodes that call functions in ways of their own, or that are refused. */
static void
check_node(CheckContext *cx, Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			if (cx->writes_values)
				check_written(cx, ((FuncExpr *) node)->args);
			if (reads_columns(((FuncExpr *) node)->funcid) &&
				((FuncExpr *) node)->funcresulttype != RECORDOID)
				check_type_read(cx, ((FuncExpr *) node)->funcresulttype);
			note_result(cx, ((FuncExpr *) node)->funcid, exprType(node));
			break;
		case T_OpExpr:
			if (cx->writes_values)
				check_written(cx, ((OpExpr *) node)->args);
			note_result(cx, get_opcode(((OpExpr *) node)->opno), exprType(node));
			break;
		case T_Aggref:
			check_aggregate(cx, ((Aggref *) node)->aggfnoid);
			if (cx->writes_values)
				check_written(cx, ((Aggref *) node)->args);
			note_result(cx, ((Aggref *) node)->aggfnoid, exprType(node));
			break;
		case T_WindowFunc:
			if (((WindowFunc *) node)->winagg)
				check_aggregate(cx, ((WindowFunc *) node)->winfnoid);
			if (cx->writes_values)
				check_written(cx, ((WindowFunc *) node)->args);
			note_result(cx, ((WindowFunc *) node)->winfnoid, exprType(node));
			break;
		case T_CoerceViaIO:
			check_value_written(cx, (Node *) ((CoerceViaIO *) node)->arg);
			check_type_io(cx, ((CoerceViaIO *) node)->resulttype, true);
			break;
		case T_CoerceToDomain:
			check_domain(cx, ((CoerceToDomain *) node)->resulttype);
			break;
		case T_XmlExpr:
			check_written(cx, ((XmlExpr *) node)->named_args);
			check_written(cx, ((XmlExpr *) node)->args);
			break;
		case T_SQLValueFunction:
			check_sql_value(cx, (SQLValueFunction *) node);
			break;
		case T_NextValueExpr:
			refuse(cx, DDIR_REFUSE_VOLATILE, "nextval()");
			break;
		case T_GroupingFunc:
			refuse(cx, DDIR_REFUSE_EXPRESSION, "GROUPING");
			break;
		case T_Param:
			if (((Param *) node)->paramkind != PARAM_SUBLINK)
				refuse(cx, DDIR_REFUSE_EXPRESSION, "a parameter");
			break;
		case T_List:
		case T_SortGroupClause:
		case T_TargetEntry:
		case T_Var:
		case T_Const:
		case T_NamedArgExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_BoolExpr:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_ArrayExpr:
		case T_RowExpr:
		case T_RowCompareExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_SubscriptingRef:
		case T_FieldSelect:
		case T_FieldStore:
		case T_RelabelType:
		case T_ArrayCoerceExpr:
		case T_ConvertRowtypeExpr:
		case T_CollateExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CoerceToDomainValue:
		case T_SubLink:
			break;
		default:
			refuse(cx, DDIR_REFUSE_EXPRESSION, NULL);
	}
}

static bool
check_walker(Node *node, void *arg)
{
	CheckContext *cx = arg;

	/* subqueries are checked as the queries that they are */
	if (node == NULL || IsA(node, Query))
		return false;
	cx->node = node;
	cx->writes_values = false;
	if (!IsA(node, CoerceViaIO))
		check_functions_in_node(node, check_called, cx);
	check_node(cx, node);
	return expression_tree_walker(node, check_walker, arg);
}

void
ddir_check_expr(DdirChecked *checked, Node *expr, bool final)
{
	CheckContext cx = {.checked = checked,.final = final};

	check_walker(expr, &cx);
}

/* The types that it is declared to return, polymorphic ones among them. */
static void
check_returned(CheckContext *cx, Oid funcid)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(funcid));
	Oid		   *types;
	char	  **names;
	char	   *modes;
	int			n;

	if (!HeapTupleIsValid(tuple))
		return;
	check_type_io(cx, ((Form_pg_proc) GETSTRUCT(tuple))->prorettype, true);
	n = get_func_arg_info(tuple, &types, &names, &modes);
	for (int i = 0; modes && i < n; i++)
		if (modes[i] != PROARGMODE_IN && modes[i] != PROARGMODE_VARIADIC)
			check_type_io(cx, types[i], true);
	ReleaseSysCache(tuple);
}

void
ddir_check_results(DdirChecked *checked)
{
	CheckContext cx = {.checked = checked,.final = true,.trusted = true};
	int			f = 0;
	int			r = 0;

	/* both grow while they are walked */
	while (f < list_length(checked->functions) || r < list_length(checked->results))
	{
		if (f < list_length(checked->functions))
			check_returned(&cx, list_nth_oid(checked->functions, f++));
		else
			check_type_io(&cx, list_nth_oid(checked->results, r++), true);
	}
}
