/*-------------------------------------------------------------------------
 *
 * test_apply.c
 *	  Drives the target of a view from SQL.
 *
 * A target is made on first mention of a view and lives as long as the
 * session.  What it writes is installed or forgotten at the end of the
 * transaction (or of the savepoint that is rolled back), as the maintainer does
 * it.
 *
 * test/modules/test_apply/test_apply.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "apply/target.h"
#include "apply/tidmap.h"
#include "base/compat.h"
#include "base/port.h"
#include "rows/program.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_apply_push);
PG_FUNCTION_INFO_V1(test_apply_error);
PG_FUNCTION_INFO_V1(test_apply_state);
PG_FUNCTION_INFO_V1(test_apply_apply);
PG_FUNCTION_INFO_V1(test_apply_reconcile);
PG_FUNCTION_INFO_V1(test_apply_remap);
PG_FUNCTION_INFO_V1(test_apply_contents);
PG_FUNCTION_INFO_V1(test_apply_forget);
PG_FUNCTION_INFO_V1(test_apply_bytes);
PG_FUNCTION_INFO_V1(test_apply_tidmap);

typedef struct Known
{
	Oid			view;
	DdirTarget *target;
} Known;

static List *targets = NIL;

static const char *const result_name[] = {
	[DDIR_APPLY_DONE] = "done",
	[DDIR_APPLY_LOCKED] = "locked",
	[DDIR_APPLY_HELD] = "held",
	[DDIR_APPLY_STALE] = "stale",
	[DDIR_APPLY_NEGATIVE] = "negative",
	[DDIR_APPLY_GONE] = "gone",
};

static void
end_all(bool committed)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		DdirTarget *t = ((Known *) lfirst(lc))->target;

		if (committed)
			ddir_target_committed(t);
		else
			ddir_target_aborted(t);
	}
}

static void
at_end(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_COMMIT)
		end_all(true);
	else if (event == XACT_EVENT_ABORT)
		end_all(false);
}

static void
at_subend(SubXactEvent event, SubTransactionId me, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		end_all(false);
}

static DdirTarget *
target_of(Oid view)
{
	MemoryContext old;
	ListCell   *lc;
	Known	   *k;

	foreach(lc, targets)
	{
		k = lfirst(lc);
		if (k->view == view)
			return k->target;
	}
	if (targets == NIL)
	{
		RegisterXactCallback(at_end, NULL);
		RegisterSubXactCallback(at_subend, NULL);
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	k = palloc(sizeof(Known));
	k->view = view;
	k->target = ddir_target_create(TopMemoryContext, view);
	targets = lappend(targets, k);
	MemoryContextSwitchTo(old);
	return k->target;
}

/* A query's rows, the last column being how often: into the residue. */
Datum
test_apply_push(PG_FUNCTION_ARGS)
{
	DdirTarget *t = target_of(PG_GETARG_OID(0));
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(1));
	DdirSinkFns sink = ddir_target_sink(t);
	DdirDeltas	rows;
	DdirRowType *type;
	TupleDesc	desc;
	int64		n;

	SPI_connect();
	if (SPI_execute(query, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "not a query");
	ddir_deltas_init(&rows, ddir_arena_of(CurrentMemoryContext), 1, false);
	desc = SPI_tuptable->tupdesc;
	desc = ddir_tupdesc_first(desc, desc->natts - 1);
	type = ddir_rowtype_from_tupdesc(desc);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[MaxTupleAttributeNumber];
		bool		isnull[MaxTupleAttributeNumber];
		uint32		len;

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, values, isnull);
		len = ddir_image_pack(type, values, isnull, NULL, &rows);
		ddir_deltas_close(&rows, 0, len, NULL, DatumGetInt64(values[desc->natts]), 0);
	}
	sink.rows(sink.ctx, &rows);
	n = rows.n;
	SPI_finish();
	PG_RETURN_INT64(n);
}

Datum
test_apply_error(PG_FUNCTION_ARGS)
{
	DdirSinkFns sink = ddir_target_sink(target_of(PG_GETARG_OID(0)));
	DdirDeltas	errors;

	ddir_deltas_init(&errors, ddir_arena_of(CurrentMemoryContext), 1, false);
	ddir_error_row_push(&errors, ERRCODE_DIVISION_BY_ZERO,
						text_to_cstring(PG_GETARG_TEXT_PP(1)), NULL, PG_GETARG_INT64(2), 0);
	sink.errors(sink.ctx, &errors);
	PG_RETURN_VOID();
}

Datum
test_apply_state(PG_FUNCTION_ARGS)
{
	DdirTarget *t = target_of(PG_GETARG_OID(0));
	int			sqlstate;
	char	   *message;

	if (ddir_target_error(t, &sqlstate, &message))
		PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s: %s", unpack_sql_state(sqlstate), message)));
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s, %s",
											  ddir_target_dirty(t) ? "dirty" : "clean",
											  result_name[ddir_target_readable(t, false)])));
}

static Datum
outcome(DdirApplyResult result, uint64 rows)
{
	return PointerGetDatum(cstring_to_text(psprintf("%s " UINT64_FORMAT,
													result_name[result], rows)));
}

Datum
test_apply_apply(PG_FUNCTION_ARGS)
{
	uint64		rows;
	DdirApplyResult result = ddir_target_apply(target_of(PG_GETARG_OID(0)), false, &rows);

	return outcome(result, rows);
}

Datum
test_apply_reconcile(PG_FUNCTION_ARGS)
{
	uint64		rows;
	DdirApplyResult result = ddir_target_reconcile(target_of(PG_GETARG_OID(0)), false, &rows);

	return outcome(result, rows);
}

Datum
test_apply_remap(PG_FUNCTION_ARGS)
{
	return outcome(ddir_target_remap(target_of(PG_GETARG_OID(0)), false), 0);
}

/* As the maintainer does before it hydrates a view again. */
Datum
test_apply_forget(PG_FUNCTION_ARGS)
{
	ListCell   *lc;

	foreach(lc, targets)
	{
		Known	   *k = lfirst(lc);

		if (k->view != PG_GETARG_OID(0))
			continue;
		ddir_target_destroy(k->target);
		k->target = ddir_target_create(TopMemoryContext, k->view);
	}
	PG_RETURN_VOID();
}

static void
gather(void *ctx, const DdirDeltas *rows)
{
	ddir_deltas_append(ctx, rows);
}

/* The contents as a bag: text of a row, and how often it is there. */
Datum
test_apply_contents(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Relation	rel = RelationIdGetRelation(view);
	DdirRowType *type = ddir_rowtype_from_tupdesc(RelationGetDescr(rel));
	DdirDeltas	rows;

	RelationClose(rel);
	InitMaterializedSRF(fcinfo, 0);
	ddir_deltas_init(&rows, ddir_arena_of(CurrentMemoryContext), 1, false);
	ddir_target_contents(target_of(view), gather, &rows);
	ddir_deltas_consolidate(&rows);
	for (uint32 i = 0; i < rows.n; i++)
	{
		Datum		values[2];
		bool		isnull[2] = {false, false};

		values[0] = CStringGetTextDatum(ddir_image_text(type, ddir_lane_ref(&rows.val, i)));
		values[1] = Int64GetDatum(rows.diff[i]);
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, isnull);
	}
	PG_RETURN_NULL();
}

Datum
test_apply_bytes(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(ddir_target_bytes(target_of(PG_GETARG_OID(0))));
}

/* ----
 * The map by itself
 * ----
 */

/* What the map should hold: for each of some tags, its TIDs. */
typedef struct Model
{
	int			n;
	int			cap;
	ItemPointerData *tid;
} Model;

static int
by_tid(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

static void
check_tag(DdirTidMap *m, uint32 tag, Model *model)
{
	ItemPointerData *got = palloc((model->n + 1) * sizeof(ItemPointerData));

	if (ddir_tidmap_count(m, tag) != model->n)
		elog(ERROR, "tag %u: " UINT64_FORMAT " rows, not %d", tag,
			 ddir_tidmap_count(m, tag), model->n);
	if (ddir_tidmap_get(m, tag, model->n + 1, got) != model->n)
		elog(ERROR, "tag %u: not all are found", tag);
	qsort(got, model->n, sizeof(ItemPointerData), by_tid);
	qsort(model->tid, model->n, sizeof(ItemPointerData), by_tid);
	if (memcmp(got, model->tid, model->n * sizeof(ItemPointerData)) != 0)
		elog(ERROR, "tag %u: others are found", tag);
	pfree(got);
}

/*
 * Random insertions and removals, "skew" being the share of those that go to
 * one of three tags.  The tags are spread over all values, some side by side.
 */
Datum
test_apply_tidmap(PG_FUNCTION_ARGS)
{
	int			steps = PG_GETARG_INT32(0);
	int			ntags = PG_GETARG_INT32(1);
	double		skew = PG_GETARG_FLOAT8(2);
	uint32		serial = 0;
	uint64		total = 0;
	pg_prng_state random;
	Model	   *model = palloc0(ntags * sizeof(Model));
	uint32	   *tag = palloc(ntags * sizeof(uint32));
	DdirTidMap *m = ddir_tidmap_create(CurrentMemoryContext);

	pg_prng_seed(&random, PG_GETARG_INT32(3));
	for (int i = 0; i < ntags; i++)
		tag[i] = i < 60 && i % 3 == 0 ? PG_UINT32_MAX - i : (uint32) i * 2654435761u;
	for (int s = 0; s < steps; s++)
	{
		int			k = pg_prng_uint64_range(&random, 0, ntags - 1);
		Model	   *is = &model[pg_prng_double(&random) < skew ? (k = k % Min(3, ntags)) : k];

		/* grow for a while, then shrink, and so on */
		bool		grow = pg_prng_double(&random) < ((s / 20000) % 2 == 0 ? 0.7 : 0.3);

		if (grow || is->n == 0)
		{
			if (is->n == is->cap)
			{
				is->cap = is->cap ? 2 * is->cap : 4;
				is->tid = is->tid ? repalloc_huge(is->tid, is->cap * sizeof(ItemPointerData)) :
					palloc(is->cap * sizeof(ItemPointerData));
			}
			ItemPointerSet(&is->tid[is->n], serial / 100, serial % 100 + 1);
			serial++;
			ddir_tidmap_insert(m, tag[k], &is->tid[is->n++]);
			total++;
		}
		else
		{
			int			i = pg_prng_uint64_range(&random, 0, is->n - 1);

			if (!ddir_tidmap_remove(m, tag[k], &is->tid[i]))
				elog(ERROR, "tag %u: a row is not there", tag[k]);
			if (ddir_tidmap_remove(m, tag[k], &is->tid[i]))
				elog(ERROR, "tag %u: a row is there twice", tag[k]);
			is->tid[i] = is->tid[--is->n];
			total--;
		}
		if (s % 5000 == 0)
		{
			ddir_tidmap_trim(m);
			check_tag(m, tag[k], is);
		}
	}
	if (ddir_tidmap_rows(m) != total)
		elog(ERROR, UINT64_FORMAT " rows, not " UINT64_FORMAT, ddir_tidmap_rows(m), total);
	for (int i = 0; i < ntags; i++)
		if (model[i].n > 0)
			check_tag(m, tag[i], &model[i]);
	PG_RETURN_TEXT_P(cstring_to_text("right"));
}
