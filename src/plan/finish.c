/*-------------------------------------------------------------------------
 *
 * finish.c
 *	  What can be said of a lowered query only when it is whole.
 *
 * Every key and every aggregate in it is tried, so that what cannot be built is
 * refused when the view is made and not found by a worker.  The same walk
 * finds out whether the plain query has several legal answers: a key type of
 * which equal values look different, an aggregate that depends on the order of
 * its rows, a sum of floats.
 *
 * Functions whose redefinition matters are those the query calls, those it
 * still calls after inlining, and those that were inlined on the way.  Of the
 * last the server only reports hash values, so pg_proc is searched for them.
 * So it is with domains that have no constraints, but may get some: casts to
 * them in what was inlined are gone by then.
 *
 * src/plan/finish.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "engine/op.h"
#include "plan/estimate.h"
#include "plan/lowering.h"
#include "rows/agg.h"
#include "rows/key.h"

/*
 * Keys and aggregates
 */

typedef struct KeyContext
{
	DdirGroupKey *key;
	DdirKeySpec *spec;
} KeyContext;

static void
try_key(void *arg)
{
	KeyContext *cx = arg;
	Oid			typid = exprType((Node *) cx->key->expr);

	cx->spec = ddir_key_make(DDIR_KEY_GROUP, 1, &typid, &cx->key->collation, &cx->key->eqop);
}

static DdirKeySpec *
key_spec(DdirLowering *run, DdirGroupKey *key)
{
	KeyContext	cx = {key, NULL};
	char	   *message;

	if (!ddir_try(try_key, &cx, &message))
		ddir_refuse_query(run->refusal, DDIR_REFUSE_EQUALITY,
						  psprintf("values of type %s",
								   format_type_be(exprType((Node *) key->expr))));
	return cx.spec;
}

static void
check_key(DdirLowering *run, DdirGroupKey *key)
{
	if (key_spec(run, key)->lossy)
		run->result->ambiguous = true;
}

static bool
is_float(Oid typid)
{
	return typid == FLOAT4OID || typid == FLOAT8OID;
}

/* Is the result of the call a matter of the order in which rows come? */
static bool
agg_is_ambiguous(DdirLowering *run, Aggref *ref, DdirAggMethod method)
{
	TargetEntry *tle;
	Oid			typid;
	DdirGroupKey key;

	if (method == DDIR_AGG_RECOMPUTE)
		return !ddir_is_single_agg(ref->aggfnoid);
	if (ref->args == NIL)
		return false;
	tle = linitial_node(TargetEntry, ref->args);
	typid = exprType((Node *) tle->expr);
	if (method == DDIR_AGG_FOLD)
		return is_float(typid) && is_float(ref->aggtype);

	/* least and greatest values that are equal may look different */
	memset(&key, 0, sizeof(key));
	key.expr = tle->expr;
	key.collation = exprCollation((Node *) tle->expr);
	check_key(run, &key);
	return run->result->ambiguous;
}

static void
check_aggs(DdirLowering *run, DdirRel *rel)
{
	int			distinct = 0;
	ListCell   *lc;

	foreach(lc, rel->aggs)
	{
		Aggref	   *ref = lfirst_node(Aggref, lc);

		if (ddir_agg_needs_distinct(ref) && ++distinct >= DDIR_AGG_PORTS_MAX)
			ddir_refuse_query(run->refusal, DDIR_REFUSE_MANY_DISTINCT, NULL);
		if (agg_is_ambiguous(run, ref, ddir_agg_method(ref)))
			run->result->ambiguous = true;
	}
}

/*
 * Rows of one order are told apart by their images, which the query does not
 * say.
 */
static void
check_topk(DdirLowering *run, DdirRel *rel)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, rel->keys)
	{
		columns = bms_add_member(columns,
								 castNode(Var, ((DdirGroupKey *) lfirst(lc))->expr)->varattno);
	}
	foreach(lc, rel->order)
	{
		columns = bms_add_member(columns,
								 castNode(Var, ((DdirOrderKey *) lfirst(lc))->expr)->varattno);
	}
	if (!(rel->ties && rel->offset == 0) && !ddir_rel_is_unique(rel->input[0], columns))
		run->result->ambiguous = true;
}

/* Whatever the functions are: of rows of one order one comes first. */
static void
check_window(DdirLowering *run, DdirRel *rel)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, rel->keys)
	{
		(void) key_spec(run, lfirst(lc));
		columns = bms_add_member(columns,
								 castNode(Var, ((DdirGroupKey *) lfirst(lc))->expr)->varattno);
	}
	foreach(lc, rel->order)
	{
		columns = bms_add_member(columns,
								 castNode(Var, ((DdirOrderKey *) lfirst(lc))->expr)->varattno);
	}
	if (!ddir_rel_is_unique(rel->input[0], columns))
		run->result->ambiguous = true;
}

static bool
compares_images(List *equalities)
{
	ListCell   *lc;

	foreach(lc, equalities)
	{
		if (((DdirEquality *) lfirst(lc))->eqop == DDIR_EQUALITY_IMAGE)
			return true;
	}
	return false;
}

static void
check_rel(DdirLowering *run, DdirRel *rel, List **seen)
{
	ListCell   *lc;

	check_stack_depth();
	if (list_member_ptr(*seen, rel))
		return;
	*seen = lappend(*seen, rel);
	for (int i = 0; i < rel->ninputs; i++)
		check_rel(run, rel->input[i], seen);
	for (int i = 0; i < rel->type->natts; i++)
		if (OidIsValid(rel->type->col[i].typid) &&
			(rel->kind != DDIR_REL_SCAN || bms_is_member(i + 1, rel->used)))
			run->checked.types = ddir_types_add(run->checked.types,
												rel->type->col[i].typid);
	/* arrangements have no wider keys */
	if (list_length(rel->equalities) > INDEX_MAX_KEYS &&
		(rel->kind == DDIR_REL_ANTI || compares_images(rel->equalities)))
		ddir_refuse_query(run->refusal, DDIR_REFUSE_EXPRESSION,
						  psprintf("a comparison of more than %d columns", INDEX_MAX_KEYS));
	if (rel->kind == DDIR_REL_JOIN && rel->ninputs > DDIR_RELATIONS_MAX)
		ddir_refuse_query(run->refusal, DDIR_REFUSE_MANY_RELATIONS, NULL);
	if (rel->kind == DDIR_REL_TOPK)
		check_topk(run, rel);
	if (rel->kind == DDIR_REL_WINDOW)
		check_window(run, rel);
	if (rel->kind != DDIR_REL_REDUCE)
		return;
	foreach(lc, rel->keys)
	{
		check_key(run, lfirst(lc));
	}
	check_aggs(run, rel);
}

/*
 * What was inlined
 */

/* Hash values of objects of a cache that are not known yet. */
static List *
unknown_objects(DdirLowering *run, int cacheid, List *objects)
{
	List	   *hashes = NIL;
	List	   *known = NIL;
	ListCell   *lc;

	foreach(lc, objects)
	{
		known = lappend_oid(known, GetSysCacheHashValue1(cacheid,
														 ObjectIdGetDatum(lfirst_oid(lc))));
	}
	foreach(lc, run->checked.inlined)
	{
		PlanInvalItem *item = lfirst_node(PlanInvalItem, lc);

		if (item->cacheId == cacheid && !list_member_oid(known, item->hashValue))
			hashes = list_append_unique_oid(hashes, item->hashValue);
	}
	return hashes;
}

/*
 * The list, and the objects of that catalog that the server reports by hash
 * value.  Two may share one; the wrong one does no harm but another look.
 */
static List *
add_inlined(DdirLowering *run, List *objects, int cacheid, Oid catalog, AttrNumber oid)
{
	List	   *hashes = unknown_objects(run, cacheid, objects);
	Relation	rel;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (hashes == NIL)
		return objects;
	rel = table_open(catalog, AccessShareLock);
	scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		object = heap_getattr(tuple, oid, RelationGetDescr(rel), &isnull);

		if (DatumGetObjectId(object) >= FirstNormalObjectId &&
			list_member_oid(hashes, GetSysCacheHashValue1(cacheid, object)))
			objects = list_append_unique_oid(objects, DatumGetObjectId(object));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return objects;
}

/* Domains with those that they are over. */
static List *
add_domains_below(List *types)
{
	/* it grows while it is walked */
	for (int i = 0; i < list_length(types); i++)
	{
		Oid			typid = list_nth_oid(types, i);

		if (get_typtype(typid) == TYPTYPE_DOMAIN &&
			get_typtype(ddir_domain_over(typid)) == TYPTYPE_DOMAIN)
			types = list_append_unique_oid(types, ddir_domain_over(typid));
	}
	return types;
}

void
ddir_lower_finish(DdirLowering *run)
{
	List	   *seen = NIL;

	check_rel(run, run->result->root, &seen);
	ddir_check_results(&run->checked);
	run->result->functions = add_inlined(run, run->checked.functions, PROCOID,
										 ProcedureRelationId, Anum_pg_proc_oid);
	run->result->types = add_domains_below(add_inlined(run, run->checked.types, TYPEOID,
													   TypeRelationId, Anum_pg_type_oid));
}
