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

/* The column of this name and type; 0: there is none. */
static AttrNumber
find_column(TupleDesc desc, Form_pg_attribute wanted)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->atttypid == wanted->atttypid &&
			strcmp(NameStr(att->attname), NameStr(wanted->attname)) == 0)
			return att->attnum;
	}
	return 0;
}

/* The row in the columns of another relation; columns that it has not are as in "first", or NULL. */
static HeapTuple
as_row_of(TupleDesc desc, HeapTuple first, TupleDesc from, HeapTuple tup)
{
	Datum	   *values = palloc(desc->natts * sizeof(Datum));
	bool	   *isnull = palloc(desc->natts * sizeof(bool));

	for (int i = 0; i < desc->natts; i++)
	{
		AttrNumber	attno = find_column(from, TupleDescAttr(desc, i));

		isnull[i] = true;
		if (attno != 0)
			values[i] = heap_getattr(tup, attno, from, &isnull[i]);
		else if (HeapTupleIsValid(first))
			values[i] = heap_getattr(first, i + 1, desc, &isnull[i]);
	}
	return heap_form_tuple(desc, values, isnull);
}

void
ddir_kept_carry(Oid from, Oid to)
{
	Relation	old = table_open(from, AccessExclusiveLock);
	Relation	rel = table_open(to, RowExclusiveLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	HeapTuple	first = NULL;
	HeapTuple	tup;

	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		if (first == NULL)
			first = heap_copytuple(tup);
		CatalogTupleDelete(rel, &tup->t_self);
	}
	systable_endscan(scan);
	scan = systable_beginscan(old, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
		CatalogTupleInsert(rel, as_row_of(RelationGetDescr(rel), first, RelationGetDescr(old), tup));
	systable_endscan(scan);
	table_close(rel, NoLock);
	table_close(old, NoLock);
	CommandCounterIncrement();
}
