/*-------------------------------------------------------------------------
 *
 * test_agg.c
 *	  Drives aggregates with random rows and compares with the server.
 *
 * A table "pool" holds the rows there may be.  In every step some of them are
 * inserted into a bag or deleted from it, in a random order, a deletion
 * before its insertion too.  The dataflow is given the changes, the table
 * "bag" is given the bag, and the query over it must have the rows that the
 * dataflow's output has added up to.
 *
 * test/modules/test_agg/test_agg.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "common/pg_prng.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "base/port.h"
#include "rows/program.h"
#include "test_agg.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(test_agg_run);
PG_FUNCTION_INFO_V1(test_agg_image);
PG_FUNCTION_INFO_V1(test_agg_method);
PG_FUNCTION_INFO_V1(test_agg_fold_ns);
PG_FUNCTION_INFO_V1(test_agg_emit_ns);

#define CHANGES_MAX 12

/* A bag of rows: output so far. */
typedef struct Bag
{
	MemoryContext cxt;
	int			n;
	int			cap;
	bytea	  **image;
	int64	   *count;
} Bag;

typedef struct Driver
{
	Flow	   *flow;
	Bag			rows;
	Bag			errors;
	pg_prng_state random;
	/* the pool */
	DdirDeltas	pool;			/* images */
	int64	   *count;			/* in the bag */
	SPIPlanPtr	fill;
	/* the server's answer */
	const char *expected_query;
	List	   *expected;		/* of char * */
	int			errors_seen;
} Driver;

/* ----
 * Output
 * ----
 */

static void
bag_add(Bag *bag, DdirRef image, int64 diff)
{
	int			i = 0;

	while (i < bag->n && (VARSIZE_ANY_EXHDR(bag->image[i]) != image.len ||
						  memcmp(VARDATA_ANY(bag->image[i]), image.p, image.len) != 0))
		i++;
	if (i == bag->n)
	{
		if (bag->n == bag->cap)
		{
			bag->cap = bag->cap ? 2 * bag->cap : 16;
			bag->image = bag->image ?
				repalloc(bag->image, bag->cap * sizeof(bytea *)) :
				MemoryContextAlloc(bag->cxt, bag->cap * sizeof(bytea *));
			bag->count = bag->count ?
				repalloc(bag->count, bag->cap * sizeof(int64)) :
				MemoryContextAlloc(bag->cxt, bag->cap * sizeof(int64));
		}
		bag->image[i] = MemoryContextAlloc(bag->cxt, VARHDRSZ + image.len);
		SET_VARSIZE(bag->image[i], VARHDRSZ + image.len);
		memcpy(VARDATA(bag->image[i]), image.p, image.len);
		bag->count[i] = 0;
		bag->n++;
	}
	bag->count[i] += diff;
	if (bag->count[i] == 0)
	{
		pfree(bag->image[i]);
		bag->n--;
		bag->image[i] = bag->image[bag->n];
		bag->count[i] = bag->count[bag->n];
	}
}

static void
bag_add_all(Bag *bag, const DdirDeltas *d)
{
	for (uint32 i = 0; i < d->n; i++)
		bag_add(bag, ddir_lane_ref(&d->val, i), d->diff[i]);
}

static void
sink_rows(void *ctx, const DdirDeltas *d)
{
	bag_add_all(&((Driver *) ctx)->rows, d);
}

static void
sink_errors(void *ctx, const DdirDeltas *d)
{
	bag_add_all(&((Driver *) ctx)->errors, d);
}

static int
compare_strings(const ListCell *a, const ListCell *b)
{
	return strcmp(lfirst(a), lfirst(b));
}

static List *
bag_texts(const Bag *bag, const DdirRowType *type)
{
	List	   *texts = NIL;

	for (int i = 0; i < bag->n; i++)
	{
		DdirRef		image = {(uint8_t *) VARDATA(bag->image[i]), VARSIZE_ANY_EXHDR(bag->image[i])};

		if (bag->count[i] != 1)
			elog(ERROR, "row %s is there " INT64_FORMAT " times",
				 ddir_image_text(type, image), bag->count[i]);
		texts = lappend(texts, ddir_image_text(type, image));
	}
	list_sort(texts, compare_strings);
	return texts;
}

static char *
join(List *texts)
{
	StringInfoData buf;
	ListCell   *lc;

	initStringInfo(&buf);
	foreach(lc, texts)
		appendStringInfo(&buf, "  %s\n", (char *) lfirst(lc));
	return buf.data;
}

/* ----
 * The server's answer
 * ----
 */

/* The row as an image, and that as text, as the dataflow's are. */
static char *
spi_row_text(HeapTuple tuple, TupleDesc desc, const DdirRowType *type)
{
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));
	DdirDeltas	d;
	uint32		len;

	if (desc->natts != type->natts)
		elog(ERROR, "the expected rows have %d columns, not %d", desc->natts, type->natts);
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->atttypid != type->col[i].typid)
			elog(ERROR, "column %d is expected as type %u, and is %u", i + 1,
				 TupleDescAttr(desc, i)->atttypid, type->col[i].typid);
		values[i] = heap_getattr(tuple, i + 1, desc, &isnull[i]);
	}
	ddir_deltas_init(&d, ddir_arena_of(CurrentMemoryContext), 1, false);
	len = ddir_image_pack(type, values, isnull, NULL, &d);
	ddir_deltas_close(&d, 0, len, NULL, 1, 0);
	return ddir_image_text(type, ddir_lane_ref(&d.val, 0));
}

static void
ask_server(void *arg)
{
	Driver	   *driver = arg;

	driver->expected = NIL;
	if (SPI_execute(driver->expected_query, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "the expected rows are not a query's");
	for (uint64 i = 0; i < SPI_processed; i++)
		driver->expected = lappend(driver->expected,
								   spi_row_text(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
												driver->flow->out));
	list_sort(driver->expected, compare_strings);
}

static void
fill_bag(Driver *driver)
{
	StringInfoData buf;
	const char *sep = "";

	initStringInfo(&buf);
	/* deleted rows stay, within a transaction, and are read over again */
	SPI_execute(driver->flow->step % 32 == 0 ? "TRUNCATE bag" : "DELETE FROM bag", false, 0);
	appendStringInfoString(&buf,
						   "INSERT INTO bag SELECT (p.p).* FROM "
						   "(SELECT p, row_number() OVER (ORDER BY ctid) - 1 AS i FROM pool p) p, (VALUES ");
	for (int i = 0; i < driver->pool.n; i++)
		if (driver->count[i] > 0)
		{
			appendStringInfo(&buf, "%s(%d, " INT64_FORMAT ")", sep, i, driver->count[i]);
			sep = ", ";
		}
	appendStringInfoString(&buf, ") c (i, n), generate_series(1, n) WHERE p.i = c.i");
	if (*sep)
		SPI_execute(buf.data, false, 0);
}

static void
compare(Driver *driver)
{
	char	   *message;
	int			sqlstate;
	List	   *ours;

	fill_bag(driver);
	sqlstate = ddir_guard(ask_server, driver, true, &message);
	if (sqlstate != 0)
	{
		DdirDeltas	d;
		bool		found = false;

		if (!ddir_sqlstate_is_row_error(sqlstate))
			ddir_failure_rethrow();
		ddir_deltas_init(&d, ddir_arena_of(CurrentMemoryContext), 1, false);
		ddir_error_row_push(&d, sqlstate, message, NULL, 1, 0);
		for (int i = 0; i < driver->errors.n; i++)
			found = found ||
				(VARSIZE_ANY_EXHDR(driver->errors.image[i]) == d.val.len &&
				 memcmp(VARDATA(driver->errors.image[i]), d.val.bytes, d.val.len) == 0);
		if (!found)
			elog(ERROR, "step " UINT64_FORMAT ": the server says \"%s\", we have no such error",
				 driver->flow->step, message);
		driver->errors_seen++;
		return;
	}
	if (driver->errors.n > 0)
		elog(ERROR, "step " UINT64_FORMAT ": we have errors, the server has none:\n%s",
			 driver->flow->step, join(bag_texts(&driver->errors, ddir_error_rowtype())));
	ours = bag_texts(&driver->rows, driver->flow->out);
	if (strcmp(join(ours), join(driver->expected)) != 0)
		elog(ERROR, "step " UINT64_FORMAT ": we have\n%sthe server has\n%s",
			 driver->flow->step, join(ours), join(driver->expected));
}

/* ----
 * Steps
 * ----
 */

static uint32
below(Driver *driver, uint32 n)
{
	return (uint32) pg_prng_uint64_range(&driver->random, 0, n - 1);
}

static void
push_change(Driver *driver, DdirDeltas *d, int i, int64 diff)
{
	DdirRef		val = ddir_lane_ref(&driver->pool.val, i);

	ddir_deltas_push(d, NULL, 0, val.p, val.len, NULL, diff);
	driver->count[i] += diff;
}

/* Some random changes; what is taken away at first may be there only after. */
static void
random_changes(Driver *driver, DdirDeltas *d)
{
	int			n = 1 + below(driver, CHANGES_MAX);
	int			mode = below(driver, 12);

	for (int k = 0; k < n; k++)
	{
		int			i = below(driver, driver->pool.n);
		int64		times = below(driver, 5) == 0 ? 1 + below(driver, 3) : 1;

		if (driver->count[i] >= times && below(driver, 2) == 0)
			push_change(driver, d, i, -times);
		else if (mode < 4 || below(driver, 3) == 0)
		{
			if (below(driver, 6) == 0)
			{
				push_change(driver, d, i, -1);
				push_change(driver, d, i, 1);
			}
			push_change(driver, d, i, times);
		}
	}
	/* now and then all goes */
	if (mode == 11 && below(driver, 2) == 0)
		for (int i = 0; i < driver->pool.n; i++)
			if (driver->count[i] != 0)
				push_change(driver, d, i, -driver->count[i]);
}

static void
step(Driver *driver)
{
	DdirDeltas	d;
	uint64		t = ++driver->flow->step;

	ddir_deltas_init(&d, ddir_arena_of(CurrentMemoryContext), 1, false);
	d.at.c[0] = t;
	ddir_graph_begin(driver->flow->graph, &t);
	for (int pushes = below(driver, 3); pushes >= 0; pushes--)
	{
		ddir_deltas_clear(&d);
		d.at.c[0] = t;
		if (t > 1 || pushes > 0)
			random_changes(driver, &d);
		ddir_node_push(driver->flow->source, 0, &d);
	}
	ddir_graph_finish(driver->flow->graph);
}

static void
load_pool(Driver *driver, DdirRowType **type)
{
	MemoryContext cxt = CurrentMemoryContext;

	ddir_deltas_init(&driver->pool, ddir_arena_of(cxt), 1, false);
	SPI_execute("SELECT * FROM pool ORDER BY ctid", false, 0);
	MemoryContextSwitchTo(cxt);
	*type = ddir_rowtype_from_tupdesc(SPI_tuptable->tupdesc);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum	   *values = palloc((*type)->natts * sizeof(Datum));
		bool	   *isnull = palloc((*type)->natts * sizeof(bool));
		uint32		len;

		heap_deform_tuple(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, values, isnull);
		len = ddir_image_pack(*type, values, isnull, NULL, &driver->pool);
		ddir_deltas_close(&driver->pool, 0, len, NULL, 1, 0);
	}
	driver->count = palloc0(driver->pool.n * sizeof(int64));
}

/*
 * run(query, expected, seed, steps): whether the dataflow of the query had what
 * the other query, over the same bag, gave after each step; and how often that
 * was an error.
 */
Datum
test_agg_run(PG_FUNCTION_ARGS)
{
	char	   *query = text_to_cstring(PG_GETARG_TEXT_PP(0));
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "test_agg",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext step_cxt = AllocSetContextCreate(cxt, "step", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Driver	   *driver = palloc0(sizeof(Driver));
	DdirSinkFns sink = {driver, sink_rows, sink_errors};
	DdirRowType *type;
	char	   *result;

	driver->expected_query = PG_ARGISNULL(1) ? query : text_to_cstring(PG_GETARG_TEXT_PP(1));
	driver->rows.cxt = driver->errors.cxt = cxt;
	pg_prng_seed(&driver->random, PG_GETARG_INT32(2));
	SPI_connect();
	MemoryContextSwitchTo(cxt);
	load_pool(driver, &type);
	driver->flow = flow_make(cxt, query, type, sink);
	for (int i = 0; i < PG_GETARG_INT32(3); i++)
	{
		MemoryContextSwitchTo(step_cxt);
		step(driver);
		compare(driver);
		MemoryContextReset(step_cxt);
	}
	SPI_finish();
	MemoryContextSwitchTo(old);
	result = driver->errors_seen ? "right, with errors" : "right";
	ddir_graph_destroy(driver->flow->graph);
	MemoryContextDelete(cxt);
	PG_RETURN_TEXT_P(cstring_to_text(result));
}

/* image(any, ...) returns bytea: orders as images of such columns do */
Datum
test_agg_image(PG_FUNCTION_ARGS)
{
	int			n = PG_NARGS();
	Oid		   *typids = palloc(n * sizeof(Oid));
	Datum	   *values = palloc0(n * sizeof(Datum));
	bool	   *isnull = palloc(n * sizeof(bool));
	DdirDeltas	d;
	uint32		len;
	bytea	   *result;

	for (int i = 0; i < n; i++)
	{
		typids[i] = get_fn_expr_argtype(fcinfo->flinfo, i);
		isnull[i] = PG_ARGISNULL(i);
		if (!isnull[i])
			values[i] = PG_GETARG_DATUM(i);
	}
	ddir_deltas_init(&d, ddir_arena_of(CurrentMemoryContext), 1, false);
	len = ddir_image_pack(ddir_rowtype_make(n, typids, NULL, NULL), values, isnull, NULL, &d);
	ddir_deltas_close(&d, 0, len, NULL, 1, 0);
	result = palloc(VARHDRSZ + len);
	SET_VARSIZE(result, VARHDRSZ + len);
	memcpy(VARDATA(result), d.val.bytes, len);
	PG_RETURN_BYTEA_P(result);
}

static void
ignore(void *ctx, const DdirDeltas *d)
{
}

/* method(query) returns text: how its aggregates are maintained */
Datum
test_agg_method(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"fold", "seek", "recompute"};
	DdirSinkFns sink = {NULL, ignore, ignore};
	Driver	   *driver = palloc0(sizeof(Driver));
	MemoryContext cxt = CurrentMemoryContext;
	DdirRowType *type;
	Flow	   *flow;
	StringInfoData buf;

	SPI_connect();
	MemoryContextSwitchTo(cxt);
	load_pool(driver, &type);
	flow = flow_make(cxt, text_to_cstring(PG_GETARG_TEXT_PP(0)), type, sink);
	SPI_finish();
	initStringInfo(&buf);
	for (int i = 0; i < flow->plan.naggs; i++)
		appendStringInfo(&buf, "%s%s", i ? " " : "", names[flow->plan.agg[i].method]);
	PG_RETURN_TEXT_P(cstring_to_text(buf.data));
}

/* Groups outside of a graph, and rows for them. */
typedef struct Bench
{
	Flow	   *flow;
	DdirDeltas	keyed;			/* the pool */
	int			n;				/* DDIR_CHUNK_ROWS rows, of so many groups */
	DdirGroup **group;
	DdirRef    *val;
	int64	   *diff;
} Bench;

static void
bench_make(Bench *bench, const char *query, int ngroups)
{
	MemoryContext cxt = CurrentMemoryContext;
	DdirSinkFns sink = {NULL, ignore, ignore};
	Driver	   *driver = palloc0(sizeof(Driver));
	DdirGroup  *group = palloc0(ngroups * sizeof(DdirGroup));
	DdirRowType *type;
	DdirDeltas	err;

	SPI_connect();
	MemoryContextSwitchTo(cxt);
	load_pool(driver, &type);
	bench->flow = flow_make(cxt, query, type, sink);
	SPI_finish();
	ddir_deltas_init(&bench->keyed, ddir_arena_of(cxt), 1, true);
	ddir_deltas_init(&err, ddir_arena_of(cxt), 1, false);
	ddir_func_apply(&bench->flow->keying, &driver->pool, &bench->keyed, &err);
	bench->n = DDIR_CHUNK_ROWS;
	bench->group = palloc(bench->n * sizeof(DdirGroup *));
	bench->val = palloc(bench->n * sizeof(DdirRef));
	bench->diff = palloc(bench->n * sizeof(int64));
	for (int i = 0; i < ngroups; i++)
		group[i].state = palloc0(bench->flow->fns.state_size);
	for (int i = 0; i < bench->n; i++)
	{
		bench->group[i] = &group[i * 7919 % ngroups];
		bench->val[i] = ddir_lane_ref(&bench->keyed.val, i % bench->keyed.n);
		bench->diff[i] = 1;
	}
}

static void
bench_fold(Bench *bench)
{
	if (!bench->flow->fns.fold(bench->flow->fns.ctx, 0, bench->n, bench->group,
							   bench->val, bench->diff))
		ddir_failure_rethrow();
}

static double
cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

/*
 * fold_ns(query, groups, chunks): nanoseconds of CPU for each row folded, keyed
 * already, into as many groups.
 */
Datum
test_agg_fold_ns(PG_FUNCTION_ARGS)
{
	int			chunks = PG_GETARG_INT32(2);
	Bench		bench;
	double		start;

	bench_make(&bench, text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1));
	start = cpu_ns();
	for (int i = 0; i < chunks; i++)
		bench_fold(&bench);
	PG_RETURN_FLOAT8((cpu_ns() - start) / chunks / bench.n);
}

/* emit_ns(query, groups, chunks): for each group's output; no arrangements */
Datum
test_agg_emit_ns(PG_FUNCTION_ARGS)
{
	int			chunks = PG_GETARG_INT32(2);
	DdirArena  *arena = ddir_arena_of(CurrentMemoryContext);
	Bench		bench;
	DdirDeltas	out;
	DdirDeltas	err;
	double		start;

	bench_make(&bench, text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_INT32(1));
	bench_fold(&bench);
	ddir_deltas_init(&out, arena, 1, false);
	ddir_deltas_init(&err, arena, 1, false);
	start = cpu_ns();
	for (int i = 0; i < chunks; i++)
	{
		ddir_deltas_clear(&out);
		if (!bench.flow->fns.emit(bench.flow->fns.ctx, bench.n, bench.group, 1, NULL, &out, &err))
			ddir_failure_rethrow();
	}
	PG_RETURN_FLOAT8((cpu_ns() - start) / chunks / bench.n);
}
