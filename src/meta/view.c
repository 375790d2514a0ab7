/*-------------------------------------------------------------------------
 *
 * view.c
 *	  What the catalog says of ddir views.
 *
 * Views read relations through their rule: pg_depend has a row from the rule
 * to each relation that the stored query mentions.  Plain views stand between
 * a ddir view and what it reads, so both directions go through them.
 *
 * Memory: results in CurrentMemoryContext.
 *
 * src/meta/view.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_policy.h"
#include "catalog/pg_rewrite.h"
#include "commands/extension.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "meta/view.h"

/*
 * Our access method is the server's heap under our name; another extension's
 * method of that name has another handler.
 */
Oid
ddir_am_oid(void)
{
	HeapTuple	tup = SearchSysCache1(AMNAME, CStringGetDatum("ddir"));
	Form_pg_am	am;
	Oid			oid = InvalidOid;

	if (!HeapTupleIsValid(tup))
		return InvalidOid;
	am = (Form_pg_am) GETSTRUCT(tup);
	if (am->amtype == AMTYPE_TABLE && am->amhandler == F_HEAP_TABLEAM_HANDLER)
		oid = am->oid;
	ReleaseSysCache(tup);
	return oid;
}

bool
ddir_is_view(Oid relid)
{
	Oid			am = ddir_am_oid();
	HeapTuple	tup;
	bool		result;

	if (!OidIsValid(am))
		return false;
	tup = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	if (!HeapTupleIsValid(tup))
		return false;
	result = ((Form_pg_class) GETSTRUCT(tup))->relkind == RELKIND_MATVIEW &&
		((Form_pg_class) GETSTRUCT(tup))->relam == am;
	ReleaseSysCache(tup);
	return result;
}

bool
ddir_is_kept(Oid relid)
{
	Oid			extension = getExtensionOfObject(RelationRelationId, relid);

	return OidIsValid(extension) && extension == get_extension_oid("ddir", true);
}

/*
 * No index of pg_class leads from an access method to its relations, so all
 * of it is read; that is a matter of a millisecond per thousand tables.
 */
static List *
scan_views(int *count)
{
	Oid			am = ddir_am_oid();
	List	   *result = NIL;
	ScanKeyData key[2];
	SysScanDesc scan;
	Relation	rel;
	HeapTuple	tup;

	*count = 0;
	if (!OidIsValid(am))
		return NIL;
	ScanKeyInit(&key[0], Anum_pg_class_relam, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(am));
	ScanKeyInit(&key[1], Anum_pg_class_relkind, BTEqualStrategyNumber,
				F_CHAREQ, CharGetDatum(RELKIND_MATVIEW));
	rel = table_open(RelationRelationId, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 2, key);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		result = lappend_oid(result, ((Form_pg_class) GETSTRUCT(tup))->oid);
		++*count;
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	list_sort(result, list_oid_cmp);
	return result;
}

List *
ddir_view_list(void)
{
	int			count;

	return scan_views(&count);
}

int
ddir_view_count(void)
{
	int			count;

	list_free(scan_views(&count));
	return count;
}

/*
 * The relation must be open and locked.
 */
Query *
ddir_view_query(Relation view)
{
	RuleLock   *rules = view->rd_rules;

	if (view->rd_rel->relkind != RELKIND_MATVIEW &&
		view->rd_rel->relkind != RELKIND_VIEW)
		elog(ERROR, "relation \"%s\" is not a view", RelationGetRelationName(view));
	for (int i = 0; rules && i < rules->numLocks; i++)
	{
		RewriteRule *rule = rules->rules[i];

		if (rule->event == CMD_SELECT && rule->isInstead &&
			list_length(rule->actions) == 1)
			return copyObject(linitial_node(Query, rule->actions));
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("view \"%s\" has no query", RelationGetRelationName(view))));
}

/* Append to reads what the rules of the view depend on. */
static List *
direct_reads(Oid view, List *reads)
{
	ScanKeyData key[2];
	Relation	rewrite,
				depend;
	SysScanDesc rules,
				deps;
	HeapTuple	rule,
				dep;

	rewrite = table_open(RewriteRelationId, AccessShareLock);
	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_rewrite_ev_class, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(view));
	rules = systable_beginscan(rewrite, RewriteRelRulenameIndexId, true, NULL,
							   1, key);
	while (HeapTupleIsValid(rule = systable_getnext(rules)))
	{
		ScanKeyInit(&key[0], Anum_pg_depend_classid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(RewriteRelationId));
		ScanKeyInit(&key[1], Anum_pg_depend_objid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(((Form_pg_rewrite) GETSTRUCT(rule))->oid));
		deps = systable_beginscan(depend, DependDependerIndexId, true, NULL,
								  2, key);
		while (HeapTupleIsValid(dep = systable_getnext(deps)))
		{
			Form_pg_depend d = (Form_pg_depend) GETSTRUCT(dep);

			if (d->refclassid == RelationRelationId && d->refobjid != view)
				reads = list_append_unique_oid(reads, d->refobjid);
		}
		systable_endscan(deps);
	}
	systable_endscan(rules);
	table_close(depend, AccessShareLock);
	table_close(rewrite, AccessShareLock);
	return reads;
}

List *
ddir_view_reads(Oid view, bool through_ddir)
{
	List	   *todo = list_make1_oid(view);
	List	   *result = NIL;

	/* todo grows while it is walked; nothing is in it twice */
	for (int i = 0; i < list_length(todo); i++)
	{
		ListCell   *lc;
		List	   *reads = direct_reads(list_nth_oid(todo, i), NIL);

		CHECK_FOR_INTERRUPTS();
		foreach(lc, reads)
		{
			Oid			relid = lfirst_oid(lc);

			switch (get_rel_relkind(relid))
			{
				case RELKIND_RELATION:
				case RELKIND_PARTITIONED_TABLE:
				case RELKIND_FOREIGN_TABLE:
					result = list_append_unique_oid(result, relid);
					break;
				case RELKIND_VIEW:
					todo = list_append_unique_oid(todo, relid);
					break;
				case RELKIND_MATVIEW:
					if (through_ddir && ddir_is_view(relid))
						todo = list_append_unique_oid(todo, relid);
					else
						result = list_append_unique_oid(result, relid);
					break;
				default:
					break;		/* composite types, sequences, indexes */
			}
		}
	}
	list_sort(result, list_oid_cmp);
	return result;
}

/* Append to readers the relations whose rules depend on this one. */
static List *
direct_readers(Oid relid, List *readers)
{
	ScanKeyData key[2];
	Relation	rewrite,
				depend;
	SysScanDesc deps,
				rules;
	HeapTuple	dep,
				rule;

	rewrite = table_open(RewriteRelationId, AccessShareLock);
	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(relid));
	deps = systable_beginscan(depend, DependReferenceIndexId, true, NULL,
							  2, key);
	while (HeapTupleIsValid(dep = systable_getnext(deps)))
	{
		Form_pg_depend d = (Form_pg_depend) GETSTRUCT(dep);

		if (d->classid != RewriteRelationId)
			continue;
		ScanKeyInit(&key[0], Anum_pg_rewrite_oid, BTEqualStrategyNumber,
					F_OIDEQ, ObjectIdGetDatum(d->objid));
		rules = systable_beginscan(rewrite, RewriteOidIndexId, true, NULL,
								   1, key);
		rule = systable_getnext(rules);
		if (HeapTupleIsValid(rule))
		{
			Oid			reader = ((Form_pg_rewrite) GETSTRUCT(rule))->ev_class;

			if (reader != relid)
				readers = list_append_unique_oid(readers, reader);
		}
		systable_endscan(rules);
	}
	systable_endscan(deps);
	table_close(depend, AccessShareLock);
	table_close(rewrite, AccessShareLock);
	return readers;
}

List *
ddir_view_readers(Oid relid)
{
	List	   *todo = list_make1_oid(relid);
	List	   *result = NIL;

	for (int i = 0; i < list_length(todo); i++)
	{
		ListCell   *lc;

		CHECK_FOR_INTERRUPTS();
		foreach(lc, direct_readers(list_nth_oid(todo, i), NIL))
		{
			Oid			reader = lfirst_oid(lc);

			if (get_rel_relkind(reader) == RELKIND_VIEW)
				todo = list_append_unique_oid(todo, reader);
			else if (ddir_is_view(reader))
				result = list_append_unique_oid(result, reader);
		}
	}
	list_sort(result, list_oid_cmp);
	return result;
}

/* Row versions of a catalog that are of the relation, by its first column in the index. */
static uint64
rows_version(Oid catalog, Oid index, AttrNumber column, Oid relid, uint64 version)
{
	Relation	rel = table_open(catalog, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tup;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(rel, index, true, NULL, 1, &key);
	while (HeapTupleIsValid(tup = systable_getnext(scan)))
		version = hash_combine64(version, HeapTupleHeaderGetRawXmin(tup->t_data));
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return version;
}

uint64
ddir_relations_version(List *relids)
{
	uint64		version = 0;
	ListCell   *lc;

	foreach(lc, relids)
	{
		Oid			relid = lfirst_oid(lc);

		version = rows_version(RelationRelationId, ClassOidIndexId, Anum_pg_class_oid,
							   relid, version);
		version = rows_version(AttributeRelationId, AttributeRelidNumIndexId,
							   Anum_pg_attribute_attrelid, relid, version);
		version = rows_version(AttrDefaultRelationId, AttrDefaultIndexId,
							   Anum_pg_attrdef_adrelid, relid, version);
		version = rows_version(PolicyRelationId, PolicyPolrelidPolnameIndexId,
							   Anum_pg_policy_polrelid, relid, version);
		version = rows_version(RewriteRelationId, RewriteRelRulenameIndexId,
							   Anum_pg_rewrite_ev_class, relid, version);
	}
	return version;
}

char *
ddir_relation_name(Oid relid)
{
	char	   *name = get_rel_name(relid);

	if (name == NULL)
		return psprintf("%u", relid);
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relid)),
									  name);
}
