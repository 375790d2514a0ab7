/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  Durable state of a database, in tables of the extension.
 *
 * The position that all live views stand at is not here: it is the replication
 * origin's, in the apply transaction's own commit record.
 *
 * src/store/progress.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/pg_lsn.h"

#include "store/progress.h"

static uint64
run(const char *sql, int nargs, Oid *types, Datum *values, const char *nulls, int expected)
{
	SPI_connect();
	if (SPI_execute_with_args(sql, nargs, types, values, nulls, false, 0) != expected)
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

	if (run("SELECT disabled, generation, confirmed, capture FROM ddir._database",
			0, NULL, NULL, NULL, SPI_OK_SELECT) != 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("table ddir._database does not have exactly one row"),
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

void
ddir_progress_write(const DdirProgress *p)
{
	Oid			types[] = {BOOLOID, INT4OID, LSNOID, TEXTOID};
	Datum		values[] = {BoolGetDatum(p->disabled), Int32GetDatum(p->generation),
	LSNGetDatum(p->confirmed), CStringGetTextDatum(ddir_capture_mode_name(p->capture))};
	char		nulls[] = "    ";

	if (XLogRecPtrIsInvalid(p->confirmed))
		nulls[2] = 'n';
	if (p->capture == DDIR_CAPTURE_AUTO)
		nulls[3] = 'n';
	run("UPDATE ddir._database SET disabled = $1, generation = $2, confirmed = $3, capture = $4",
		4, types, values, nulls, SPI_OK_UPDATE);
	SPI_finish();
}

void
ddir_lagging_set(Oid view, XLogRecPtr frontier, const char *reason)
{
	Oid			types[] = {OIDOID, LSNOID, TEXTOID};
	Datum		values[] = {ObjectIdGetDatum(view), LSNGetDatum(frontier),
	CStringGetTextDatum(reason)};

	run("INSERT INTO ddir._lagging (view, frontier, reason) VALUES ($1, $2, $3)"
		" ON CONFLICT (view) DO UPDATE SET reason = EXCLUDED.reason",
		3, types, values, NULL, SPI_OK_INSERT);
	SPI_finish();
}

void
ddir_lagging_clear(Oid view)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(view)};

	run("DELETE FROM ddir._lagging WHERE view = $1 OR $1 = 0",
		1, types, values, NULL, SPI_OK_DELETE);
	SPI_finish();
}

bool
ddir_lagging_frontier(Oid view, XLogRecPtr *frontier)
{
	Oid			types[] = {OIDOID};
	Datum		values[] = {ObjectIdGetDatum(view)};
	bool		found;

	*frontier = InvalidXLogRecPtr;
	found = run("SELECT frontier FROM ddir._lagging WHERE view = $1",
				1, types, values, NULL, SPI_OK_SELECT) == 1;
	if (found)
	{
		bool		isnull;

		*frontier = DatumGetLSN(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
											  1, &isnull));
	}
	SPI_finish();
	return found;
}
