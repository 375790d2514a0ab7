/*-------------------------------------------------------------------------
 *
 * check.c
 *	  ddir.check: a view against its own query, at one instant.
 *
 * One snapshot decides.  If the view's rows and the query's are the same under
 * any snapshot taken after waiting, the view is right, and most of the time
 * that is so.  If they differ, that may be since a transaction is in one and
 * not yet in the other.  Then, and only then, the sources are locked against
 * writers until the view has caught up and the snapshot is taken; what differs
 * under that one is wrong.
 *
 * The locks are let go before anything is computed.  While they are held, no
 * transaction that wrote to a source is open, not even one that has committed
 * and waits for a standby, as it lets go of its locks last.
 *
 * now() is in the query what it is in the view: the maintainer keeps it in the
 * transactions that write, so the snapshot that has the view's rows has it.
 *
 * The query runs as the view's owner, under the settings of the maintainer,
 * and in its canonical form (canonical.c).  Rows compare as bags: by their
 * types' equality, by their images where a type has none.
 *
 * src/api/check.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "rewrite/rewriteHandler.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/typcache.h"

#include "api/api.h"
#include "api/canonical.h"
#include "base/compat.h"
#include "base/debugpoint.h"
#include "base/request.h"
#include "meta/freshness.h"
#include "meta/view.h"
#include "plan/lower.h"
#include "rows/program.h"
#include "store/progress.h"

#define WAIT_MS 60000
#define LOCK_TIMEOUT "30s"		/* unless the session has one */
#define SETTINGS_MS 30000

PG_FUNCTION_INFO_V1(ddir_check_view);

/* What ends with a comparison. */
typedef struct Acting
{
	DdirActing	before;
	int			level;			/* of settings */
} Acting;

/* ----
 * Running as the maintainer does
 * ----
 */

static void
act(Acting *a, Oid owner, List *settings)
{
	ListCell   *lc;

	a->before = ddir_act_as(owner);
	a->level = ddir_rights_enter();
	foreach(lc, settings)
	{
		char	  **setting = lfirst(lc);

		if (setting[0] && setting[1])
			(void) set_config_option(setting[0], setting[1], PGC_SUSET, PGC_S_SESSION,
									 GUC_ACTION_SAVE, true, 0, false);
	}
}

static void
act_no_more(Acting *a)
{
	ddir_rights_leave(a->level);
	ddir_act_back(&a->before);
}

/* The rows of the canonical query, under the active snapshot. */
static Tuplestorestate *
compute(Relation rel, TimestampTz clock)
{
	Tuplestorestate *store = tuplestore_begin_heap(false, false, work_mem);
	DestReceiver *dest = CreateDestReceiver(DestTuplestore);
	Query	   *query = ddir_view_query(rel);
	List	   *rewritten;
	PlannedStmt *plan;
	QueryDesc  *desc;

	AcquireRewriteLocks(query, true, false);
	rewritten = QueryRewrite(query);
	if (list_length(rewritten) != 1)
		elog(ERROR, "unexpected rewrite result for the query of a view");
	query = ddir_query_at(ddir_canonical_query(linitial_node(Query, rewritten)), clock);
	ddir_domains_forget();
	plan = pg_plan_query(query, "ddir.check", CURSOR_OPT_PARALLEL_OK, NULL);

	SetTuplestoreDestReceiverParams(dest, store, CurrentMemoryContext, false, NULL, NULL);
	desc = CreateQueryDesc(plan, "ddir.check", GetActiveSnapshot(), InvalidSnapshot,
						   dest, NULL, NULL, 0);
	ExecutorStart(desc, 0);
	ddir_compat_executor_run(desc);
	ExecutorFinish(desc);
	ExecutorEnd(desc);
	FreeQueryDesc(desc);
	dest->rDestroy(dest);
	return store;
}

/* ----
 * Comparing
 * ----
 */

/*
 * Can a GROUP BY compare values of the type, by hashing them if "hashed", else by
 * sorting?
 */
static bool
is_groupable(Oid type, bool hashed)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR |
											  TYPECACHE_HASH_PROC);

	return OidIsValid(entry->eq_opr) &&
		OidIsValid(hashed ? entry->hash_proc : entry->lt_opr);
}

/*
 * The columns as they compare; nothing for a view without any.  All are hashed,
 * unless there is one that can only be sorted.
 */
static void
append_keys(StringInfo sql, TupleDesc desc)
{
	bool		hashed = true;

	for (int i = 0; i < desc->natts; i++)
	{
		Oid			type = TupleDescAttr(desc, i)->atttypid;

		hashed = hashed && (is_groupable(type, true) || !is_groupable(type, false));
	}
	for (int i = 0; i < desc->natts; i++)
	{
		const char *name = quote_identifier(NameStr(TupleDescAttr(desc, i)->attname));

		appendStringInfo(sql, is_groupable(TupleDescAttr(desc, i)->atttypid, hashed) ?
						 ", %s AS k%d" : ", ddir._image(%s) AS k%d", name, i + 1);
	}
}

static void
append_row(StringInfo sql, TupleDesc desc)
{
	appendStringInfoString(sql, "ROW(");
	for (int i = 0; i < desc->natts; i++)
		appendStringInfo(sql, "%s%s", i ? ", " : "",
						 quote_identifier(NameStr(TupleDescAttr(desc, i)->attname)));
	appendStringInfoString(sql, ")::text");
}

/*
 * Each row of the query counts +1, each of the view -1; what does not sum to
 * zero differs.  Names are resolved in pg_catalog alone.
 */
static char *
comparison(Relation rel, bool report)
{
	TupleDesc	desc = RelationGetDescr(rel);
	StringInfoData sql;

	initStringInfo(&sql);
	appendStringInfoString(&sql, report ?
						   "SELECT CASE WHEN n > 0 THEN 'missing' ELSE 'extra' END, abs(n), r" :
						   "SELECT");
	appendStringInfo(&sql, " FROM (SELECT sum(w) AS n%s FROM (", report ? ", min(r) AS r" : "");
	for (int side = 0; side < 2; side++)
	{
		appendStringInfoString(&sql, side == 0 ? "SELECT 1 AS w" : " UNION ALL SELECT -1");
		append_keys(&sql, desc);
		if (report)
		{
			appendStringInfoString(&sql, ", ");
			append_row(&sql, desc);
			appendStringInfoString(&sql, " AS r");
		}
		appendStringInfo(&sql, " FROM %s", side == 0 ? "ddir_computed" :
						 ddir_relation_name(RelationGetRelid(rel)));
	}
	appendStringInfoString(&sql, ") AS u GROUP BY ");
	for (int i = 0; i < desc->natts; i++)
		appendStringInfo(&sql, "%sk%d", i ? ", " : "", i + 1);
	if (desc->natts == 0)
		appendStringInfoString(&sql, "()");
	appendStringInfo(&sql, ") AS s WHERE n <> 0 %s", report ? "ORDER BY 1, 3" : "LIMIT 1");
	return sql.data;
}

static void
put_report(ReturnSetInfo *rsinfo)
{
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		Datum		values[3];
		bool		nulls[3];

		for (int k = 0; k < 3; k++)
			values[k] = SPI_getbinval(row, SPI_tuptable->tupdesc, k + 1, &nulls[k]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
}

/* True: no difference.  With rsinfo, differences are put into the result. */
static bool
compare(Relation rel, Tuplestorestate *computed, ReturnSetInfo *rsinfo)
{
	EphemeralNamedRelation enr = palloc0(sizeof(EphemeralNamedRelationData));
	bool		equal;

	enr->md.name = "ddir_computed";
	enr->md.tupdesc = CreateTupleDescCopy(RelationGetDescr(rel));
	enr->md.enrtype = ENR_NAMED_TUPLESTORE;
	enr->md.enrtuples = tuplestore_tuple_count(computed);
	enr->reldata = computed;

	SPI_connect();
	if (SPI_register_relation(enr) != SPI_OK_REL_REGISTER ||
		SPI_execute(comparison(rel, rsinfo != NULL), true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not compare view %s", ddir_relation_name(RelationGetRelid(rel)));
	equal = SPI_processed == 0;
	if (rsinfo)
		put_report(rsinfo);
	SPI_finish();
	return equal;
}

/* Under the active snapshot. */
static bool
compare_now(Oid view, List *settings, ReturnSetInfo *rsinfo)
{
	Relation	rel = table_open(view, AccessShareLock);
	TimestampTz clock = ddir_clock_read(GetActiveSnapshot());
	Tuplestorestate *computed;
	Acting		acting;
	bool		equal;

	act(&acting, rel->rd_rel->relowner, settings);
	computed = compute(rel, clock);
	equal = compare(rel, computed, rsinfo);
	tuplestore_end(computed);
	act_no_more(&acting);
	table_close(rel, AccessShareLock);
	return equal;
}

/* ----
 * The instant
 * ----
 */

/* The base tables, with partitions and children, by OID. */
static List *
base_tables(Oid view)
{
	List	   *all = NIL;
	ListCell   *lc;

	foreach(lc, ddir_view_reads(view, true))
		all = list_concat_unique_oid(all, find_all_inheritors(lfirst_oid(lc), NoLock, NULL));
	list_sort(all, list_oid_cmp);
	return all;
}

/* What this transaction wrote is in no view yet, so nothing can be compared. */
static void
require_unwritten(Oid view, List *tables)
{
	ListCell   *lc;

	foreach(lc, tables)
	{
		Relation	rel = RelationIdGetRelation(lfirst_oid(lc));
		bool		written;

		if (rel == NULL)
			continue;
		written = CheckRelationLockedByMe(rel, RowExclusiveLock, true);
		RelationClose(rel);
		if (written)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("view %s cannot be checked in this transaction",
							ddir_relation_name(view)),
					 errdetail("The transaction has written to or locked table %s, which the view reads.",
							   ddir_relation_name(lfirst_oid(lc))),
					 errhint("Commit first, then check.")));
	}
}

static void
wait_for_view(Oid view)
{
	DdirFreshness f;

	ddir_freshness_await(list_make1_oid(view), ddir_freshness_target(), WAIT_MS, false, &f);
	ddir_freshness_raise(&f, WAIT_MS);
}

/*
 * Push a snapshot under which the view is exactly current: taken while nobody
 * can write to the tables.
 */
static void
push_exact_snapshot(Oid view, List *tables)
{
	int			level = NewGUCNestLevel();
	ListCell   *lc;

	if (LockTimeout == 0)
		(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
								 GUC_ACTION_SAVE, true, 0, false);
	foreach(lc, tables)
		LockRelationOid(lfirst_oid(lc), ShareLock);
	AtEOXact_GUC(false, level);

	wait_for_view(view);
	DDIR_DEBUG_POINT("check-locked");
	PushActiveSnapshot(GetTransactionSnapshot());
	foreach(lc, tables)
		UnlockRelationOid(lfirst_oid(lc), ShareLock);
}

Datum
ddir_check_view(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			view = ddir_api_view(fcinfo, 0);
	List	   *tables;
	List	   *settings;
	bool		equal;

	ddir_api_require_owner(view);
	ddir_api_require_primary("ddir.check()");
	ddir_freshness_require_servable(list_make1_oid(view));
	InitMaterializedSRF(fcinfo, 0);
	tables = base_tables(view);
	require_unwritten(view, tables);

	wait_for_view(view);
	settings = ddir_request(DDIR_REQUEST_SETTINGS, InvalidOid, InvalidXLogRecPtr, 2, SETTINGS_MS);
	PushActiveSnapshot(GetTransactionSnapshot());
	equal = compare_now(view, settings, NULL);
	PopActiveSnapshot();
	if (!equal)
	{
		push_exact_snapshot(view, tables);
		(void) compare_now(view, settings, rsinfo);
		PopActiveSnapshot();
	}
	return (Datum) 0;
}
