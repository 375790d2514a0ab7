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
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "plan/lower.h"
#include "plan/prune.h"

/* The labels by number and version of their rows. */
static void
append_labels(StringInfo out, Oid typid)
{
	Relation	rel = table_open(EnumRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(typid));
	scan = systable_beginscan(rel, EnumTypIdLabelIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		appendStringInfo(out, " %u/%u:%u", HeapTupleHeaderGetRawXmin(tuple->t_data),
						 ItemPointerGetBlockNumber(&tuple->t_self),
						 (unsigned) ItemPointerGetOffsetNumber(&tuple->t_self));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

static int
by_name(const ListCell *a, const ListCell *b)
{
	return strcmp(((DdirConstraint *) lfirst(a))->name, ((DdirConstraint *) lfirst(b))->name);
}

List *
ddir_domain_constraints(Oid domain)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	List	   *constraints = NIL;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_constraint_contypid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(domain));
	scan = systable_beginscan(rel, ConstraintTypidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_constraint form = (Form_pg_constraint) GETSTRUCT(tuple);
		DdirConstraint *c;
		Datum		expr;
		bool		isnull;

		/* NOT NULL is one of its own since 17, and in pg_type in all */
		if (form->contype != CONSTRAINT_CHECK)
			continue;
		expr = heap_getattr(tuple, Anum_pg_constraint_conbin, RelationGetDescr(rel), &isnull);
		if (isnull)
			elog(ERROR, "constraint %u of a domain has no expression", form->oid);
		c = palloc(sizeof(DdirConstraint));
		c->name = pstrdup(NameStr(form->conname));
		c->expr = TextDatumGetCString(expr);
		constraints = lappend(constraints, c);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	list_sort(constraints, by_name);
	return constraints;
}

static Form_pg_type
type_form(Oid typid, HeapTuple *tuple)
{
	*tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(typid));
	if (!HeapTupleIsValid(*tuple))
		elog(ERROR, "cache lookup failed for type %u", typid);
	return (Form_pg_type) GETSTRUCT(*tuple);
}

Oid
ddir_domain_over(Oid domain)
{
	HeapTuple	tuple;
	Oid			over = type_form(domain, &tuple)->typbasetype;

	ReleaseSysCache(tuple);
	return over;
}

/*
 * What is checked of a value of it alone; the domains that it is over are in the
 * list of types, too.  Validating a constraint is no matter of new values.
 */
static void
append_domain(StringInfo out, Oid typid)
{
	HeapTuple	tuple;
	ListCell   *lc;

	if (type_form(typid, &tuple)->typnotnull)
		appendStringInfoString(out, " not null");
	ReleaseSysCache(tuple);
	foreach(lc, ddir_domain_constraints(typid))
	{
		const DdirConstraint *c = lfirst(lc);

		appendStringInfo(out, " %s %s", c->name, c->expr);
	}
}

/* It forgets them itself when a row of pg_constraint changes. */
void
ddir_domains_forget(void)
{
	CallSyscacheCallbacks(CONSTROID, 0);
}

static void
append_type(StringInfo out, Oid typid)
{
	TupleDesc	desc;

	check_stack_depth();
	switch (get_typtype(typid))
	{
		case TYPTYPE_ENUM:
			append_labels(out, typid);
			break;
		case TYPTYPE_DOMAIN:
			append_domain(out, typid);
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
