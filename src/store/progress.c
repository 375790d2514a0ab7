/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  Durable state of a database, in relations of the extension (kept.h).
 *
 * The position that all live views stand at is not here: it is the replication
 * origin's, in the apply transaction's own commit record.
 *
 * src/store/progress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/pg_lsn.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "store/kept.h"
#include "store/progress.h"

/* The columns of ddir._database. */
enum
{
	SINGLETON, DISABLED, GENERATION, CONFIRMED, CAPTURE,
	DATABASE_COLUMNS
};

static uint64
read_rows(const char *sql, int nargs, Oid *types, Datum *values)
{
	SPI_connect();
	if (SPI_execute_with_args(sql, nargs, types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "unexpected result of \"%s\"", sql);
	return SPI_processed;
}

static DdirCaptureMode
capture_of(const char *name)
{
	if (name == NULL)
		return DDIR_CAPTURE_AUTO;
	return strcmp(name, ddir_capture_mode_name(DDIR_CAPTURE_TRIGGER)) == 0 ?
		DDIR_CAPTURE_TRIGGER : DDIR_CAPTURE_LOGICAL;
}

void
ddir_progress_read(DdirProgress *p)
{
	bool		isnull;
	HeapTuple	row;
	TupleDesc	desc;

	if (read_rows("SELECT disabled, generation, confirmed, capture FROM ddir._database",
				  0, NULL, NULL) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("ddir._database does not have exactly one row"),
				 errhint("Drop the extension and create it again.")));
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	p->disabled = DatumGetBool(SPI_getbinval(row, desc, 1, &isnull));
	p->generation = DatumGetInt32(SPI_getbinval(row, desc, 2, &isnull));
	p->confirmed = DatumGetLSN(SPI_getbinval(row, desc, 3, &isnull));
	if (isnull)
		p->confirmed = InvalidXLogRecPtr;
	p->capture = capture_of(SPI_getvalue(row, desc, 4));
	SPI_finish();
}

/* One writes at a time. */
static void
put_database(Datum *values, const bool *isnull, const bool *replace)
{
	Oid			relid = get_relname_relid("_database", get_namespace_oid("ddir", false));

	LockDatabaseObject(RelationRelationId, relid, 0, ExclusiveLock);
	values[SINGLETON] = BoolGetDatum(true);
	ddir_kept_put("_database", values, isnull, replace);
}

void
ddir_progress_write(const DdirProgress *p)
{
	Datum		values[DATABASE_COLUMNS] = {0};
	bool		isnull[DATABASE_COLUMNS] = {false};
	const bool	replace[DATABASE_COLUMNS] = {false, true, true, true, true};

	values[DISABLED] = BoolGetDatum(p->disabled);
	values[GENERATION] = Int32GetDatum(p->generation);
	values[CONFIRMED] = LSNGetDatum(p->confirmed);
	isnull[CONFIRMED] = XLogRecPtrIsInvalid(p->confirmed);
	values[CAPTURE] = CStringGetTextDatum(ddir_capture_mode_name(p->capture));
	isnull[CAPTURE] = p->capture == DDIR_CAPTURE_AUTO;
	put_database(values, isnull, replace);
}

void
ddir_progress_switch(bool disabled)
{
	Datum		values[DATABASE_COLUMNS] = {0};
	bool		isnull[DATABASE_COLUMNS] = {false, false, false, true, true};
	bool		replace[DATABASE_COLUMNS] = {false, true};

	values[DISABLED] = BoolGetDatum(disabled);
	put_database(values, isnull, replace);
}

/* Whoever asks need not have the right to. */
TimestampTz
ddir_clock_read(Snapshot snapshot)
{
	Relation	rel = table_openrv_extended(makeRangeVar("ddir", "_clock", -1), AccessShareLock,
											true);
	SysScanDesc scan;
	HeapTuple	tup;
	TimestampTz clock = 0;

	if (rel == NULL)
		return 0;				/* version 1.0 */
	scan = systable_beginscan(rel, InvalidOid, false, snapshot, 0, NULL);
	tup = systable_getnext(scan);
	if (HeapTupleIsValid(tup))
	{
		bool		isnull;
		Datum		value = heap_getattr(tup, 2, RelationGetDescr(rel), &isnull);

		if (!isnull)
			clock = DatumGetTimestampTz(value);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return clock;
}

/* Only the maintainer does. */
void
ddir_clock_write(TimestampTz clock)
{
	Datum		values[] = {BoolGetDatum(true), TimestampTzGetDatum(clock)};
	const bool	isnull[] = {false, false};
	const bool	replace[] = {false, true};

	if (OidIsValid(get_relname_relid("_clock", get_namespace_oid("ddir", false))))
		ddir_kept_put("_clock", values, isnull, replace);
}

void
ddir_lagging_set(Oid view, XLogRecPtr frontier, const char *reason)
{
	Datum		values[] = {ObjectIdGetDatum(view), LSNGetDatum(frontier),
	CStringGetTextDatum(reason)};
	const bool	isnull[] = {false, false, false};
	const bool	replace[] = {false, false, true};

	ddir_kept_put("_lagging", values, isnull, replace);
}

void
ddir_lagging_clear(Oid view)
{
	ddir_kept_delete("_lagging", view);
}

bool
ddir_lagging_frontier(Oid view, XLogRecPtr *frontier)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(view)};
	bool		found;

	*frontier = InvalidXLogRecPtr;
	found = read_rows("SELECT frontier FROM ddir._lagging WHERE view = $1", 1, types, values) == 1;
	if (found)
	{
		bool		isnull;

		*frontier = DatumGetLSN(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
											  1, &isnull));
	}
	SPI_finish();
	return found;
}
