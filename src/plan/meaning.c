/*-------------------------------------------------------------------------
 *
 * meaning.c
 *	  What a view's query means, as text: while it is the same the view is right
 *	  as it is, when it is another the view must be computed again.
 *
 * Everything is named by its OID, so that renaming changes nothing, but for the
 * columns of rows, which JSON calls by their names; nothing that is estimated has a
 * part in it.  The functions that it calls are there
 * with their versions.  The labels of an enum, the constraints of a domain and
 * the attributes of a composite type can be altered while views use them.
 *
 * src/plan/meaning.c
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
#include "nodes/bitmapset.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "plan/lower.h"
#include "plan/prune.h"

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
				appendStringInfo(out, " %s %u", NameStr(TupleDescAttr(desc, i)->attname),
								 TupleDescAttr(desc, i)->attisdropped ?
								 InvalidOid : TupleDescAttr(desc, i)->atttypid);
			DecrTupleDescRefCount(desc);
			break;
	}
}

static void
append_keys(StringInfo out, const List *keys)
{
	ListCell   *lc;

	foreach(lc, keys)
	{
		const DdirGroupKey *k = lfirst(lc);

		appendStringInfo(out, " key %u %u %s", k->eqop, k->collation, nodeToString(k->expr));
	}
}

static void
append_order(StringInfo out, const List *order)
{
	ListCell   *lc;

	foreach(lc, order)
	{
		const DdirOrderKey *k = lfirst(lc);

		appendStringInfo(out, " order %u %u %d %s", k->sortop, k->collation, k->nulls_first,
						 nodeToString(k->expr));
	}
}

static void
append_equalities(StringInfo out, const List *equalities)
{
	ListCell   *lc;

	foreach(lc, equalities)
	{
		const DdirEquality *e = lfirst(lc);

		appendStringInfo(out, " equal %u %u %d %d %s %d %s", e->eqop, e->collation,
						 e->null_safe, e->left, nodeToString(e->left_expr),
						 e->right, nodeToString(e->right_expr));
	}
}

static void
append_nodes(StringInfo out, const char *what, const void *nodes)
{
	if (nodes != NULL)
		appendStringInfo(out, " %s %s", what, nodeToString(nodes));
}

/* rels: those before it have their numbers by their places in this list */
static void
append_rel(StringInfo out, const DdirRel *rel, const List *rels)
{
	int			a = -1;

	appendStringInfo(out, "%d", (int) rel->kind);
	for (int i = 0; i < rel->ninputs; i++)
	{
		ListCell   *lc;

		foreach(lc, rels)
		{
			if (lfirst(lc) == rel->input[i])
				appendStringInfo(out, " of %d", foreach_current_index(lc));
		}
	}
	if (rel->kind == DDIR_REL_SCAN)
	{
		appendStringInfo(out, " relation %u %d", rel->relid, rel->is_view);
		while ((a = bms_next_member(rel->used, a)) >= 0)
			appendStringInfo(out, " %d", a);
	}
	append_nodes(out, "rows", rel->constants);
	append_equalities(out, rel->equalities);
	append_nodes(out, "quals", rel->quals);
	append_nodes(out, "targets", rel->targets);
	append_nodes(out, "functions", rel->functions);
	appendStringInfo(out, " %d %d %d %d", rel->values, rel->ordinality, rel->outer, rel->global);
	append_keys(out, rel->keys);
	append_nodes(out, "aggregates", rel->aggs);
	append_order(out, rel->order);
	appendStringInfo(out, " " INT64_FORMAT " " INT64_FORMAT " %d", rel->limit, rel->offset,
					 rel->ties);
	append_nodes(out, "frame", rel->frame);
	append_nodes(out, "windows", rel->funcs);
	appendStringInfoChar(out, '\n');
}

char *
ddir_meaning(const DdirLowered *lowered)
{
	List	   *rels = ddir_rels_in_order(lowered->root, NULL);
	StringInfoData out;
	ListCell   *lc;

	initStringInfo(&out);
	foreach(lc, rels)
	{
		append_rel(&out, lfirst(lc), rels);
	}
	foreach(lc, lowered->functions)
	{
		HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(lfirst_oid(lc)));

		if (!HeapTupleIsValid(tuple))
			continue;
		appendStringInfo(&out, "function %u version %u\n", lfirst_oid(lc),
						 HeapTupleHeaderGetRawXmin(tuple->t_data));
		ReleaseSysCache(tuple);
	}
	foreach(lc, lowered->types)
	{
		appendStringInfo(&out, "type %u:", lfirst_oid(lc));
		append_type(&out, lfirst_oid(lc));
		appendStringInfoChar(&out, '\n');
	}
	/* another one may have the name of a child */
	foreach(lc, lowered->children)
	{
		appendStringInfo(&out, "child %u\n", lfirst_oid(lc));
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
