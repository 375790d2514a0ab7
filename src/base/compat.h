/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the supported servers.  The only file that looks at
 *	  PG_VERSION_NUM.
 *
 * src/base/compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_COMPAT_H
#define DDIR_BASE_COMPAT_H

#include "postgres.h"

#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/tupdesc.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_publication.h"
#include "commands/tablecmds.h"
#include "datatype/timestamp.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "optimizer/optimizer.h"
#include "parser/parse_relation.h"
#include "replication/message.h"
#include "rewrite/rewriteHandler.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/wait_event.h"
#include "utils/pg_locale.h"
#include "utils/rel.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "ddir supports PostgreSQL 15 to 18"
#endif

/*
 * 15 exports a function's info record but not the function, which then cannot
 * be found in a library whose symbols are hidden; 16 and later export both.
 */
#if PG_VERSION_NUM < 160000
#undef PG_FUNCTION_INFO_V1
#define PG_FUNCTION_INFO_V1(funcname) \
extern PGDLLEXPORT Datum funcname(PG_FUNCTION_ARGS); \
extern PGDLLEXPORT const Pg_finfo_record *CppConcat(pg_finfo_, funcname) (void); \
const Pg_finfo_record * \
CppConcat(pg_finfo_, funcname) (void) \
{ \
	static const Pg_finfo_record my_finfo = {1}; \
	return &my_finfo; \
} \
extern int	no_such_variable
#endif

/* Marks a function that does not return: before its declaration, as 18 does. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Does the collation order strings by their bytes? */
static inline bool
ddir_collation_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

/* To be called after an attribute was changed by hand. */
static inline void
ddir_tupdesc_changed(TupleDesc desc, int i)
{
#if PG_VERSION_NUM >= 180000
	populate_compact_attribute(desc, i);
#endif
}

/* A copy of the descriptor of the first natts columns. */
static inline TupleDesc
ddir_tupdesc_first(TupleDesc desc, int natts)
{
#if PG_VERSION_NUM >= 180000
	return CreateTupleDescTruncatedCopy(desc, natts);
#else
	TupleDesc	copy = CreateTupleDescCopy(desc);

	Assert(natts <= copy->natts);
	copy->natts = natts;
	return copy;
#endif
}

/* Ownership of objects of every kind is asked for by one function from 16 on. */
#if PG_VERSION_NUM >= 160000
#define ddir_owns_database(oid, role) object_ownercheck(DatabaseRelationId, oid, role)
#define ddir_owns_extension(oid, role) object_ownercheck(ExtensionRelationId, oid, role)
#define ddir_owns_schema(oid, role) object_ownercheck(NamespaceRelationId, oid, role)
#define ddir_owns_relation(oid, role) object_ownercheck(RelationRelationId, oid, role)
#else
#define ddir_owns_database(oid, role) pg_database_ownercheck(oid, role)
#define ddir_owns_extension(oid, role) pg_extension_ownercheck(oid, role)
#define ddir_owns_schema(oid, role) pg_namespace_ownercheck(oid, role)
#define ddir_owns_relation(oid, role) pg_class_ownercheck(oid, role)
#endif

/* Do row filters, column lists and (18) generated columns allow updates? */
static inline bool
ddir_publication_desc_valid(const PublicationDesc *desc)
{
#if PG_VERSION_NUM >= 180000
	if (!desc->gencols_valid_for_update || !desc->gencols_valid_for_delete)
		return false;
#endif
	return desc->rf_valid_for_update && desc->rf_valid_for_delete &&
		desc->cols_valid_for_update && desc->cols_valid_for_delete;
}

/* A message in the WAL, of the transaction. */
static inline void
ddir_compat_message(const char *prefix, const char *message, Size size)
{
#if PG_VERSION_NUM >= 170000
	(void) LogLogicalMessage(prefix, message, size, true, false);
#else
	(void) LogLogicalMessage(prefix, message, size, true);
#endif
}

/* Wait events of extensions have names from 17 on. */
static inline uint32
ddir_wait_event_new(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

/* The sign of an infinite interval, which there are from 17 on; else 0. */
static inline int
ddir_interval_infinity(const Interval *interval)
{
#if PG_VERSION_NUM >= 170000
	return INTERVAL_IS_NOEND(interval) ? 1 : INTERVAL_IS_NOBEGIN(interval) ? -1 : 0;
#else
	return 0;
#endif
}

/* sign > 0 for infinity, < 0 for -infinity; only where intervals may be that */
static inline void
ddir_interval_set_infinity(Interval *interval, int sign)
{
#if PG_VERSION_NUM >= 170000
	if (sign > 0)
		INTERVAL_NOEND(interval);
	else
		INTERVAL_NOBEGIN(interval);
#else
	elog(ERROR, "intervals of this server are finite");
#endif
}

/* A btree ordering operator: its family, input type, and whether it is ">". */
static inline bool
ddir_ordering_operator(Oid opno, Oid *opfamily, Oid *opcintype, bool *descending)
{
#if PG_VERSION_NUM >= 180000
	CompareType how;

	if (!get_ordering_op_properties(opno, opfamily, opcintype, &how))
		return false;
	*descending = how == COMPARE_GT;
#else
	int16		strategy;

	if (!get_ordering_op_properties(opno, opfamily, opcintype, &strategy))
		return false;
	*descending = strategy == BTGreaterStrategyNumber;
#endif
	return true;
}

/* Looks up who may REFRESH: from 17 on, those who may MAINTAIN the view. */
#if PG_VERSION_NUM >= 170000
#define ddir_compat_refresh_callback RangeVarCallbackMaintainsTable
#else
#define ddir_compat_refresh_callback RangeVarCallbackOwnsTable
#endif

/* Sort by this operator; from 18 on a clause knows whether it is a ">". */
static inline void
ddir_sort_clause_order(SortGroupClause *clause, Oid sortop)
{
	bool		descending = false;

	clause->sortop = sortop;
	(void) get_equality_op_for_ordering_op(sortop, &descending);
#if PG_VERSION_NUM >= 180000
	clause->reverse_sort = descending;
#endif
}

/* May this role call this function or aggregate? */
static inline bool
ddir_function_allowed(Oid funcid, Oid roleid)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, funcid, roleid, ACL_EXECUTE) == ACLCHECK_OK;
#else
	return pg_proc_aclcheck(funcid, roleid, ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

/*
 * From 18 on, what is grouped by stands in a range table entry of its own, and
 * the select list and HAVING refer to it: put the expressions back.  The entry
 * stays, as one that means nothing.
 */
static inline void
ddir_flatten_groups(Query *query)
{
#if PG_VERSION_NUM >= 180000
	ListCell   *lc;

	if (!query->hasGroupRTE)
		return;
	query->targetList = (List *) flatten_group_exprs(NULL, query, (Node *) query->targetList);
	query->havingQual = flatten_group_exprs(NULL, query, query->havingQual);
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_GROUP)
		{
			rte->rtekind = RTE_RESULT;
			rte->groupexprs = NIL;
		}
	}
	query->hasGroupRTE = false;
#endif
}

/* The expression with Vars of joins replaced by what they stand for. */
static inline Node *
ddir_flatten_join_aliases(Query *query, Node *node)
{
#if PG_VERSION_NUM >= 160000
	return flatten_join_alias_vars(NULL, query, node);
#else
	return flatten_join_alias_vars(query, node);
#endif
}

/* Names and columns of a range table entry, as Vars of that many levels up. */
static inline void
ddir_compat_expand_rte(RangeTblEntry *rte, int rti, int levels, bool dropped, List **names,
					   List **columns)
{
#if PG_VERSION_NUM >= 180000
	expandRTE(rte, rti, levels, VAR_RETURNING_DEFAULT, -1, dropped, names, columns);
#else
	expandRTE(rte, rti, levels, -1, dropped, names, columns);
#endif
}

/*
 * What a virtual generated column stands for, over Var(1, attribute); NULL for
 * any other column.  There are such columns from 18 on; rows have NULL in them.
 */
static inline Node *
ddir_virtual_expr(Relation rel, int att)
{
#if PG_VERSION_NUM >= 180000
	if (TupleDescAttr(RelationGetDescr(rel), att - 1)->attgenerated == ATTRIBUTE_GENERATED_VIRTUAL)
		return build_generation_expression(rel, att);
#endif
	return NULL;
}

/* Run a query to its end. */
#if PG_VERSION_NUM >= 180000
#define ddir_compat_executor_run(desc) ExecutorRun(desc, ForwardScanDirection, 0)
#else
#define ddir_compat_executor_run(desc) ExecutorRun(desc, ForwardScanDirection, 0, true)
#endif

/* Are rights asked for by this range table entry? */
static inline bool
ddir_rte_has_rights(const RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	return rte->perminfoindex != 0;
#else
	return rte->requiredPerms != 0;
#endif
}

/* Ask for none by it. */
static inline void
ddir_rte_drop_rights(RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	rte->perminfoindex = 0;
#else
	rte->requiredPerms = 0;
#endif
}

/*
 * The first relation of the query itself (its subqueries apart) that may not be
 * read, by the current user or whom a view says instead; else InvalidOid.
 */
static inline Oid
ddir_query_denied(Query *query)
{
	ListCell   *lc;

#if PG_VERSION_NUM >= 160000
	foreach(lc, query->rteperminfos)
	{
		RTEPermissionInfo *info = lfirst_node(RTEPermissionInfo, lc);

		if (!ExecCheckPermissions(query->rtable, list_make1(info), false))
			return info->relid;
	}
#else
	foreach(lc, query->rtable)
	{
		RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (rte->rtekind == RTE_RELATION && !ExecCheckRTPerms(list_make1(rte), false))
			return rte->relid;
	}
#endif
	return InvalidOid;
}

#include "replication/origin.h"

/* Make the origin this session's. */
static inline void
ddir_compat_origin_setup(RepOriginId origin)
{
#if PG_VERSION_NUM >= 160000
	replorigin_session_setup(origin, 0);
#else
	replorigin_session_setup(origin);
#endif
}

/*
 * Decoded changes: the old or new tuple of one, as a HeapTuple or NULL.
 */
#if PG_VERSION_NUM >= 170000
#define ddir_compat_change_tuple(t) (t)
#else
#define ddir_compat_change_tuple(t) ((t) ? &(t)->tuple : NULL)
#endif

/*
 * Replication slots: a logical one that is dropped unless it is made to
 * persist; take one that nobody else may have; has it been invalidated?
 */
#if PG_VERSION_NUM >= 170000
#define ddir_compat_slot_create(name) \
	ReplicationSlotCreate(name, true, RS_EPHEMERAL, false, false, false)
#else
#define ddir_compat_slot_create(name) \
	ReplicationSlotCreate(name, true, RS_EPHEMERAL, false)
#endif
#if PG_VERSION_NUM >= 180000
#define ddir_compat_slot_acquire(name) ReplicationSlotAcquire(name, true, true)
#else
#define ddir_compat_slot_acquire(name) ReplicationSlotAcquire(name, true)
#endif
#if PG_VERSION_NUM >= 160000
#define ddir_compat_slot_invalidated(slot) ((slot)->data.invalidated != RS_INVAL_NONE)
#else
#define ddir_compat_slot_invalidated(slot) \
	((slot)->data.invalidated_at != InvalidXLogRecPtr)
#endif

/* Where a relation's file is. */
#if PG_VERSION_NUM >= 160000
typedef RelFileLocator DdirLocator;
#define ddir_compat_locator(rel) ((rel)->rd_locator)
#define ddir_compat_locator_equal(a, b) RelFileLocatorEquals(a, b)
#else
typedef RelFileNode DdirLocator;
#define ddir_compat_locator(rel) ((rel)->rd_node)
#define ddir_compat_locator_equal(a, b) RelFileNodeEquals(a, b)
#endif

/*
 * Writing rows.  What an update means for indexes (DdirIndexUpdate) is handed
 * from the one call to the other; the columns that may not change in an update
 * that touches no index are those of all indexes, summarizing ones too.
 */
#if PG_VERSION_NUM >= 160000
typedef TU_UpdateIndexes DdirIndexUpdate;
#define ddir_compat_index_update_due(u) ((u) != TU_None)
#define ddir_compat_index_update(rri, slot, estate, u) \
	((void) ExecInsertIndexTuples(rri, slot, estate, true, false, NULL, NIL, \
								  (u) == TU_Summarizing))
#define ddir_compat_index_insert(rri, slot, estate) \
	((void) ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL, false))
#define ddir_compat_indexed_columns(rel) \
	bms_union(RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_HOT_BLOCKING), \
			  RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_SUMMARIZED))
#else
typedef bool DdirIndexUpdate;
#define ddir_compat_index_update_due(u) (u)
#define ddir_compat_index_update(rri, slot, estate, u) \
	((void) ExecInsertIndexTuples(rri, slot, estate, true, false, NULL, NIL))
#define ddir_compat_index_insert(rri, slot, estate) \
	((void) ExecInsertIndexTuples(rri, slot, estate, false, false, NULL, NIL))
#define ddir_compat_indexed_columns(rel) \
	RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_ALL)
#endif

/* Empty tables that are locked and open, with no logical record of it. */
#if PG_VERSION_NUM >= 160000
#define ddir_compat_truncate(rels, relids) \
	ExecuteTruncateGuts(rels, relids, NIL, DROP_RESTRICT, false, false)
#else
#define ddir_compat_truncate(rels, relids) \
	ExecuteTruncateGuts(rels, relids, NIL, DROP_RESTRICT, false)
#endif

#endif							/* DDIR_BASE_COMPAT_H */
