/*-------------------------------------------------------------------------
 *
 * kept.c
 *	  Writing to the relations in which the extension keeps what is its own.
 *
 * As the server writes to its catalogs: the row is found by a scan (there are
 * few), and the heap and the indexes are written to by hand.  Who writes the
 * same row at once gets an error, so callers see to it that nobody does: by the
 * lock on the table that the row is about, or one of their own.
 *
 * src/store/kept.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "store/kept.h"

static Relation
open_kept(const char *name)
{
	return table_openrv(makeRangeVar("ddir", pstrdup(name), -1), RowExclusiveLock);
}

/* Is it the row's first column?  It is never NULL, and passed by value. */
static bool
has_key(Relation rel, HeapTuple tup, Datum key)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), 0);
	bool		isnull;
	Datum		value = heap_getattr(tup, 1, RelationGetDescr(rel), &isnull);

	return datumIsEqual(value, key, att->attbyval, att->attlen);
}

void
ddir_kept_put(const char *name, const Datum *values, const bool *isnull, const bool *replace)
{
	Relation	rel = open_kept(name);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tup;

	do
		tup = systable_getnext(scan);
	while (HeapTupleIsValid(tup) && !has_key(rel, tup, values[0]));
	if (HeapTupleIsValid(tup))
	{
		HeapTuple	changed = heap_modify_tuple(tup, RelationGetDescr(rel), (Datum *) values,
												(bool *) isnull, (bool *) replace);

		CatalogTupleUpdate(rel, &tup->t_self, changed);
	}
	else
		CatalogTupleInsert(rel, heap_form_tuple(RelationGetDescr(rel), (Datum *) values,
												(bool *) isnull));
	systable_endscan(scan);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}

void
ddir_kept_delete(const char *name, Oid key)
{
	Relation	rel = open_kept(name);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	tup;

	while (HeapTupleIsValid(tup = systable_getnext(scan)))
		if (!OidIsValid(key) || has_key(rel, tup, ObjectIdGetDatum(key)))
			CatalogTupleDelete(rel, &tup->t_self);
	systable_endscan(scan);
	table_close(rel, NoLock);
	CommandCounterIncrement();
}
