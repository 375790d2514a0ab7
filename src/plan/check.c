/*-------------------------------------------------------------------------
 *
 * check.c
 *	  What is refused: the table of words, and checks of queries and relations.
 *
 * Checks that look at functions are in funcs.c; those that depend on where a
 * construct stands are in the files that lower it.  All words are here.
 *
 * src/plan/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/config.h"
#include "plan/check.h"

#define UNSUPPORTED ERRCODE_FEATURE_NOT_SUPPORTED

static const DdirRefusalKind kinds[] = {
	[DDIR_REFUSE_COMMAND] = {
		"command", UNSUPPORTED, "a command other than SELECT",
		"It is %s.",
		"Define the view by a SELECT."
	},
	[DDIR_REFUSE_WINDOW] = {
		"window_frame", UNSUPPORTED, "a window frame whose offset is not a constant",
		"It has %s.",
		"Write the frame's offset as a constant."
	},
	[DDIR_REFUSE_RECURSIVE] = {
		"recursive_with", UNSUPPORTED, "WITH RECURSIVE",
		"It uses %s; recursion is not maintained.",
		"Write the steps out as joins where their number is bounded."
	},
	[DDIR_REFUSE_ROW_LOCKING] = {
		"row_locking", UNSUPPORTED, "FOR UPDATE or FOR SHARE",
		"It uses %s; a view that is kept up to date locks no rows.",
		"Leave the locking clause out."
	},
	[DDIR_REFUSE_TABLE_FUNCTION] = {
		"table_function", UNSUPPORTED, "XMLTABLE or JSON_TABLE",
		"It uses %s, whose rows are not maintained.",
		"Use functions that return rows, such as unnest(xpath(...)) or jsonb_path_query."
	},
	[DDIR_REFUSE_TABLESAMPLE] = {
		"tablesample", UNSUPPORTED, "TABLESAMPLE",
		"It uses %s: which rows a sample has is not a matter of their contents.",
		"Filter by a condition on the rows, such as a hash of their key."
	},
	[DDIR_REFUSE_FULL_JOIN] = {
		"full_join", UNSUPPORTED, "FULL JOIN without an equality of both sides",
		"It uses %s, for which PostgreSQL has no plan.",
		"Use a LEFT JOIN, and UNION ALL with the other side's rows that NOT EXISTS finds."
	},
	[DDIR_REFUSE_MANY_RELATIONS] = {
		"many_relations", ERRCODE_PROGRAM_LIMIT_EXCEEDED, "a join of more than 64 relations",
		"It has %s.",
		"Join some of them in a view of their own, and let this one read it."
	},
	[DDIR_REFUSE_SYSTEM_COLUMN] = {
		"system_column", UNSUPPORTED, "a system column",
		"It reads the system column %s, which is not part of a row's contents.",
		"Use columns of the table."
	},
	[DDIR_REFUSE_EXPRESSION] = {
		"expression", UNSUPPORTED, "an expression of an unknown kind",
		"It has %s, which is not maintained.",
		"Compute it in the queries that read the view."
	},
	[DDIR_REFUSE_EQUALITY] = {
		"no_equality", UNSUPPORTED, "a type without a usable equality",
		"Rows are compared by %s.",
		"Cast to a type with an equality, such as text or jsonb."
	},
	[DDIR_REFUSE_MANY_DISTINCT] = {
		"many_distinct", ERRCODE_PROGRAM_LIMIT_EXCEEDED, "more than 63 aggregates with DISTINCT",
		"It has %s.",
		"Compute some of them in a view of their own, and join the two."
	},
	[DDIR_REFUSE_VOLATILE] = {
		"volatile_function", UNSUPPORTED, "a volatile function",
		"It calls %s, which may answer differently each time.",
		"Compute the value when rows are inserted, and use the stored column."
	},
	[DDIR_REFUSE_CLOCK] = {
		"clock_function", UNSUPPORTED, "a function that reads the clock",
		"It calls %s, whose answer changes although no row does.",
		"Compare with the clock in the queries that read the view, or with now()."
	},
	[DDIR_REFUSE_CLOCK_VALUE] = {
		"clock_value", UNSUPPORTED, "a value that changes at every instant",
		"It uses %s otherwise than in a comparison that changes at instants known beforehand.",
		"Compare with an expression of the row, as in at > now() - interval '1 hour', or use current_date or date_trunc()."
	},
	[DDIR_REFUSE_CLOCK_WORDS] = {
		"text_to_datetime", UNSUPPORTED, "a cast of text to a date or time",
		"It has %s, and that text may be 'now' or 'today'.",
		"Use to_date or to_timestamp with a format, or store the column as a date."
	},
	[DDIR_REFUSE_SESSION] = {
		"session_function", UNSUPPORTED, "a function that reads the session",
		"It calls %s, whose answer depends on who asks and not on rows.",
		"Filter by it in the queries that read the view."
	},
	[DDIR_REFUSE_TRANSACTION] = {
		"transaction_function", UNSUPPORTED, "a function that reads the server's state",
		"It calls %s, whose answer changes although no row does.",
		"Call it in the queries that read the view."
	},
	[DDIR_REFUSE_CATALOG] = {
		"catalog_function", UNSUPPORTED, "a function that reads the catalog",
		"It calls %s, whose answer changes by DDL.",
		"Keep the names in a table, or call it in the queries that read the view."
	},
	[DDIR_REFUSE_STABLE] = {
		"stable_function", UNSUPPORTED, "a STABLE function",
		"It calls %s, which is STABLE: its answer may change although its arguments do not.",
		"Declare the function IMMUTABLE if it depends on nothing but its arguments."
	},
	[DDIR_REFUSE_SYSTEM_CATALOG] = {
		"system_catalog", UNSUPPORTED, "a system catalog",
		"It reads %s, and changes of the catalog cannot be followed.",
		"Copy what is needed into a table."
	},
	[DDIR_REFUSE_FOREIGN_TABLE] = {
		"foreign_table", UNSUPPORTED, "a foreign table",
		"It reads the foreign table %s, whose changes are not in this server's log.",
		"Keep a copy in a table, for example by logical replication."
	},
	[DDIR_REFUSE_TEMPORARY] = {
		"temporary_table", UNSUPPORTED, "a temporary table",
		"It reads the temporary table %s, which ends with its session.",
		"Use an ordinary table."
	},
	[DDIR_REFUSE_UNLOGGED] = {
		"unlogged_table", UNSUPPORTED, "an unlogged table",
		"It reads the unlogged table %s, whose changes are not in the log.",
		"Make it logged: ALTER TABLE ... SET LOGGED; or let triggers capture changes: ddir.capture = trigger."
	},
	[DDIR_REFUSE_SEQUENCE] = {
		"sequence", UNSUPPORTED, "a sequence",
		"It reads the sequence %s, whose changes are not rows.",
		"Use a table."
	},
	[DDIR_REFUSE_MATERIALIZED_VIEW] = {
		"materialized_view", UNSUPPORTED, "a materialized view",
		"It reads %s, an ordinary materialized view, which changes only by REFRESH.",
		"Let it be maintained first: ALTER MATERIALIZED VIEW ... SET ACCESS METHOD ddir."
	},
	[DDIR_REFUSE_ACCESS_METHOD] = {
		"table_access_method", UNSUPPORTED, "a table of another access method",
		"It reads %s, whose access method is not heap.",
		"Keep the rows in a table of access method heap."
	},
	[DDIR_REFUSE_RELATION] = {
		"relation", UNSUPPORTED, "a relation that is not a table",
		"It reads %s, which is neither a table nor a view.",
		"Use a table."
	},
	[DDIR_REFUSE_TABLE_RIGHTS] = {
		"table_privilege", ERRCODE_INSUFFICIENT_PRIVILEGE, "a relation without the right to read it",
		"The owner of the view may not read %s.",
		"Grant the owner SELECT on it."
	},
	[DDIR_REFUSE_FUNCTION_RIGHTS] = {
		"function_privilege", ERRCODE_INSUFFICIENT_PRIVILEGE, "a function without the right to call it",
		"The owner of the view may not call %s.",
		"Grant the owner EXECUTE on it."
	},
};

StaticAssertDecl(lengthof(kinds) == DDIR_REFUSALS, "every refusal has its words");

const DdirRefusalKind *
ddir_refusal_kinds(int *n)
{
	*n = lengthof(kinds);
	return kinds;
}

void
ddir_refuse_query(DdirRefusal *refusal, DdirRefusalCode code, const char *construct)
{
	const DdirRefusalKind *kind = &kinds[code];

	refusal->refused = true;
	refusal->sqlerrcode = kind->sqlerrcode;
	refusal->code = kind->code;
	refusal->construct = pstrdup(construct ? construct : kind->construct);
	refusal->reason = psprintf(kind->reason, refusal->construct);
	refusal->hint = pstrdup(kind->hint);
	ereport(ERROR,
			(errcode(kind->sqlerrcode),
			 errmsg_internal("the query cannot be maintained incrementally"),
			 errdetail_internal("%s", refusal->reason)));
}

void
ddir_refuse(const char *viewname, const DdirRefusal *refusal)
{
	ereport(ERROR,
			(errcode(refusal->sqlerrcode),
			 errmsg("view \"%s\" cannot be maintained incrementally", viewname),
			 errdetail_internal("%s", refusal->reason),
			 refusal->hint ? errhint("%s", refusal->hint) : 0));
}

bool
ddir_try(void (*fn) (void *arg), void *arg, char **message)
{
	MemoryContext cxt = CurrentMemoryContext;
	uint32		holdoff = InterruptHoldoffCount;
	volatile bool fine = true;

	PG_TRY();
	{
		fn(arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		if (geterrcode() != ERRCODE_FEATURE_NOT_SUPPORTED)
			PG_RE_THROW();
		MemoryContextSwitchTo(cxt);
		error = CopyErrorData();
		FlushErrorState();
		InterruptHoldoffCount = holdoff;
		*message = error->message;
		fine = false;
	}
	PG_END_TRY();
	return fine;
}

/*
 * Relations
 */

/* Is it one of our own tables?  Their changes are not captured. */
static bool
is_of_extension(Oid relid)
{
	Oid			extension = getExtensionOfObject(RelationRelationId, relid);

	return OidIsValid(extension) && extension == get_extension_oid("ddir", true);
}

static DdirRefusalCode
relation_refusal(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);

	if (IsCatalogRelation(rel) || relid < FirstNormalObjectId || is_of_extension(relid))
		return DDIR_REFUSE_SYSTEM_CATALOG;
	switch (rel->rd_rel->relkind)
	{
		case RELKIND_MATVIEW:
			return ddir_is_view(relid) ? DDIR_REFUSALS : DDIR_REFUSE_MATERIALIZED_VIEW;
		case RELKIND_FOREIGN_TABLE:
			return DDIR_REFUSE_FOREIGN_TABLE;
		case RELKIND_SEQUENCE:
			return DDIR_REFUSE_SEQUENCE;
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
			break;
		default:
			return DDIR_REFUSE_RELATION;
	}
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		return DDIR_REFUSE_TEMPORARY;
	if (rel->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED &&
		ddir_capture_mode() == DDIR_CAPTURE_LOGICAL)
		return DDIR_REFUSE_UNLOGGED;
	if (rel->rd_rel->relkind == RELKIND_RELATION &&
		rel->rd_tableam != GetHeapamTableAmRoutine())
		return DDIR_REFUSE_ACCESS_METHOD;
	return DDIR_REFUSALS;
}

void
ddir_check_relation(DdirRefusal *refusal, Oid relid)
{
	Relation	rel = relation_open(relid, AccessShareLock);
	DdirRefusalCode code = relation_refusal(rel);
	char	   *name = pstrdup(RelationGetRelationName(rel));

	relation_close(rel, NoLock);
	if (code != DDIR_REFUSALS)
		ddir_refuse_query(refusal, code, name);
}

/*
 * Queries
 */

void
ddir_check_query(DdirRefusal *refusal, const Query *query)
{
	if (query->commandType != CMD_SELECT || query->utilityStmt != NULL)
		ddir_refuse_query(refusal, DDIR_REFUSE_COMMAND, NULL);
	if (query->hasModifyingCTE)
		ddir_refuse_query(refusal, DDIR_REFUSE_COMMAND, "a WITH query that changes data");
	if (query->rowMarks != NIL)
		ddir_refuse_query(refusal, DDIR_REFUSE_ROW_LOCKING, NULL);
}
