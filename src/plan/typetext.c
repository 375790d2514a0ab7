/*-------------------------------------------------------------------------
 *
 * typetext.c
 *	  What of a view's types decides what its query means.
 *
 * The labels of an enum, the constraints of a domain and the attributes of a
 * composite type can be altered while views use them.  Their text is part of a
 * view's plan, which tells by it that the view must be computed again.
 *
 * src/plan/typetext.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "plan/lower.h"

/* The type's rows in a catalog, by number and version. */
static void
append_rows(StringInfo out, Oid catalog, Oid index, AttrNumber column, Oid typid)
{
	Relation	rel = table_open(catalog, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(typid));
	scan = systable_beginscan(rel, index, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		appendStringInfo(out, " %u/%u:%u", HeapTupleHeaderGetRawXmin(tuple->t_data),
						 ItemPointerGetBlockNumber(&tuple->t_self),
						 (unsigned) ItemPointerGetOffsetNumber(&tuple->t_self));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

static void
append_type(StringInfo out, Oid typid)
{
	TupleDesc	desc;

	check_stack_depth();
	switch (get_typtype(typid))
	{
		case TYPTYPE_ENUM:
			append_rows(out, EnumRelationId, EnumTypIdLabelIndexId,
						Anum_pg_enum_enumtypid, typid);
			break;
		case TYPTYPE_DOMAIN:
			append_rows(out, ConstraintRelationId, ConstraintTypidIndexId,
						Anum_pg_constraint_contypid, typid);
			break;
		case TYPTYPE_COMPOSITE:
			desc = lookup_rowtype_tupdesc(typid, -1);
			for (int i = 0; i < desc->natts; i++)
				appendStringInfo(out, " %u", TupleDescAttr(desc, i)->attisdropped ?
								 InvalidOid : TupleDescAttr(desc, i)->atttypid);
			DecrTupleDescRefCount(desc);
			break;
	}
}

char *
ddir_types_text(List *types)
{
	StringInfoData out;
	ListCell   *lc;

	initStringInfo(&out);
	foreach(lc, types)
	{
		appendStringInfo(&out, "\ntype %u:", lfirst_oid(lc));
		append_type(&out, lfirst_oid(lc));
	}
	return out.data;
}

/* The composite types that values of a type have in them, added to the list. */
List *
ddir_types_add(List *types, Oid typid)
{
	Oid			element;
	TupleDesc	desc;

	check_stack_depth();
	typid = getBaseType(typid);
	element = get_base_element_type(typid);
	if (OidIsValid(element))
		return ddir_types_add(types, element);
	if (get_typtype(typid) != TYPTYPE_COMPOSITE || list_member_oid(types, typid))
		return types;
	types = lappend_oid(types, typid);
	desc = lookup_rowtype_tupdesc(typid, -1);
	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			types = ddir_types_add(types, TupleDescAttr(desc, i)->atttypid);
	DecrTupleDescRefCount(desc);
	return types;
}
