/*-------------------------------------------------------------------------
 *
 * views.c
 *	  Which views there are, and what has become of them.
 *
 * Nobody tells the maintainer: it compares the catalog with what it runs
 * whenever something may have changed (relcache and function invalidations, or
 * shared->recheck), so rollbacks, restored dumps and copied databases need no
 * message.
 *
 * A view's states:
 *
 *	wanting -> (hydration) -> live <-> behind (locked by others)
 *	   ^          |            |  <-> error (row errors hold it)
 *	   |          v            v
 *	   +----- suspended (refused, lost rights, failed twice; see reason)
 *
 * Suspending or hydrating a view does the same to those that read it.
 *
 * src/worker/views.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/xact.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "base/config.h"
#include "meta/view.h"
#include "store/stepping.h"
#include "worker/maintainer.h"

/* What a view reads may be locked by others; see plan_view. */
#define LOCK_TIMEOUT "5ms"

/* An attempt to release a table may wait so long; so not too often. */
#define RELEASE_LOCK_MS 10
#define RELEASE_MS 2000

static DdirMaintainer *watching;

/* Hash values of the types that views use or have used. */
static List *watched_types = NIL;

/*
 * Invalidations: only take notes, as these are called anywhere, while we look,
 * too.
 */

static void
add_changes(DdirMaintainer *m, DdirChanges *to, const DdirChanges *more)
{
	MemoryContext old = MemoryContextSwitchTo(m->cxt);

	to->all = to->all || more->all;
	to->objects = to->objects || more->objects;
	if (to->all)
	{
		list_free(to->relations);
		to->relations = NIL;
	}
	else
		to->relations = list_concat_unique_oid(to->relations, more->relations);
	MemoryContextSwitchTo(old);
}

static void
clear_changes(DdirChanges *changes)
{
	list_free(changes->relations);
	memset(changes, 0, sizeof(*changes));
}

static bool
may_have_changed(const DdirMaintainer *m, Oid relid)
{
	return m->changed.all || list_member_oid(m->changed.relations, relid);
}

static void
relation_changed(Datum arg, Oid relid)
{
	DdirMaintainer *m = watching;
	MemoryContext old;

	m->look = true;
	if (m->heard.all)
		return;
	if (!OidIsValid(relid) || list_length(m->heard.relations) > 64)
	{
		m->heard.all = true;
		m->heard.objects = m->heard.objects || !OidIsValid(relid);
		return;
	}
	old = MemoryContextSwitchTo(m->cxt);
	m->heard.relations = list_append_unique_oid(m->heard.relations, relid);
	MemoryContextSwitchTo(old);
}

static void
object_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	watching->look = true;
	watching->heard.all = watching->heard.objects = true;
}

static void
function_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	ddir_domains_forget();
	object_changed(arg, cacheid, hashvalue);
}

/*
 * Every CREATE TABLE makes a type; only those that views use make us look.
 */
static void
type_changed(Datum arg, int cacheid, uint32 hashvalue)
{
	if (hashvalue != 0 && !list_member_oid(watched_types, (Oid) hashvalue))
		return;
	ddir_domains_forget();
	object_changed(arg, cacheid, hashvalue);
}

static void
watch_types(List *types)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	ListCell   *lc;

	foreach(lc, types)
		watched_types = list_append_unique_oid(watched_types,
											   GetSysCacheHashValue1(TYPEOID,
																	 ObjectIdGetDatum(lfirst_oid(lc))));
	MemoryContextSwitchTo(old);
}

void
ddir_views_watch(DdirMaintainer *m)
{
	watching = m;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(PROCOID, function_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(ENUMOID, object_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(TYPEOID, type_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, object_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, object_changed, (Datum) 0);
	m->look = true;
	m->heard.all = true;
}

/*
 * Who reads what
 */

DdirMaintained *
ddir_views_find(DdirMaintainer *m, Oid view)
{
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->view == view)
			return v;
	}
	return NULL;
}

List *
ddir_views_upstream(DdirMaintainer *m, const DdirMaintained *v)
{
	MemoryContext old = MemoryContextSwitchTo(m->scratch);
	List	   *upstream = NIL;
	ListCell   *lc;

	if (v->lowered)
		foreach(lc, v->lowered->sources)
	{
		DdirMaintained *u = ddir_views_find(m, lfirst_oid(lc));

		if (u)
			upstream = lappend(upstream, u);
	}
	MemoryContextSwitchTo(old);
	return upstream;
}

/* The view and those that it reads, directly or not, each once. */
static List *
with_upstream(DdirMaintainer *m, DdirMaintained *v)
{
	MemoryContext old = MemoryContextSwitchTo(m->scratch);
	List	   *list = list_make1(v);

	/* it grows while it is walked */
	for (int i = 0; i < list_length(list); i++)
		list = list_concat_unique_ptr(list, ddir_views_upstream(m, list_nth(list, i)));
	MemoryContextSwitchTo(old);
	return list;
}

static bool
reads(const DdirMaintained *v, Oid relid)
{
	return v->lowered && list_member_oid(v->lowered->sources, relid);
}

/* Or a partition of what it reads? */
static bool
reads_rows_of(const DdirMaintained *v, Oid relid)
{
	return reads(v, relid) ||
		(v->lowered && list_member_oid(v->lowered->partitions, relid));
}

/* Is its query written over that plain view? */
static bool
is_written_over(const DdirMaintained *v, Oid relid)
{
	return v->lowered && list_member_oid(v->lowered->views, relid);
}

/* Is that the relation of a composite type in the view's rows? */
static bool
uses_type_of(const DdirMaintained *v, Oid relid)
{
	ListCell   *lc;

	if (v->lowered == NULL || v->lowered->types == NIL)
		return false;
	foreach(lc, v->lowered->types)
		if (get_typ_typrelid(lfirst_oid(lc)) == relid)
		return true;
	return false;
}

static List *
add_with_readers(DdirMaintainer *m, DdirMaintained *v, List *list)
{
	ListCell   *lc;

	if (list_member_ptr(list, v))
		return list;
	foreach(lc, m->views)
	{
		DdirMaintained *r = lfirst(lc);

		if (r != v && reads(r, v->view))
			list = add_with_readers(m, r, list);
	}
	return lappend(list, v);
}

/* The view and those that read it, directly or not, readers first. */
static List *
with_readers(DdirMaintainer *m, DdirMaintained *v)
{
	MemoryContext old = MemoryContextSwitchTo(m->scratch);
	List	   *list = add_with_readers(m, v, NIL);

	MemoryContextSwitchTo(old);
	return list;
}

/*
 * Shared state
 */

/* Itself or through a view that it reads. */
static bool
reads_clock(DdirMaintainer *m, DdirMaintained *v)
{
	ListCell   *lc;

	foreach(lc, with_upstream(m, v))
	{
		DdirMaintained *u = lfirst(lc);

		if (u->lowered && u->lowered->reads_clock)
			return true;
	}
	return false;
}

void
ddir_views_publish(DdirMaintainer *m, DdirMaintained *v)
{
	DdirViewSlot *slot;

	v->clocked = reads_clock(m, v);
	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_view(m->dbid, v->view, true);
	if (slot)
	{
		slot->state = v->state;
		slot->returns = v->lowered == NULL || v->uncaptured || v->blocked;
		strlcpy(slot->reason, v->reason, sizeof(slot->reason));
		slot->clocked = v->clocked;
		slot->frontier = v->frontier;
		if (v->state == DDIR_VIEW_LIVE)
			slot->frontier_time = m->position_time;
		slot->rows_applied = v->rows_applied;
		slot->memory_bytes = (v->flow ? ddir_flow_bytes(v->flow) : 0) +
			(v->target ? ddir_target_bytes(v->target) : 0);
		slot->sqlstate = v->sqlstate;
		strlcpy(slot->message, v->message, sizeof(slot->message));
	}
	LWLockRelease(ddir_shared->lock);
	ConditionVariableBroadcast(&m->db->changed);
}

void
ddir_views_state(DdirMaintainer *m, DdirMaintained *v, DdirViewState state, const char *reason)
{
	/* a view that stops to move keeps the position it had */
	if (v->state == DDIR_VIEW_LIVE && state != DDIR_VIEW_LIVE)
		v->frontier = m->position;
	if (state == DDIR_VIEW_LIVE)
	{
		v->frontier = m->position;
		v->sqlstate = 0;
		v->message[0] = '\0';
	}
	v->state = state;
	strlcpy(v->reason, reason ? reason : "", sizeof(v->reason));
	ddir_views_publish(m, v);
}

/*
 * Hydrating and suspending
 */

void
ddir_views_drop_flow(DdirMaintainer *m, DdirMaintained *v)
{
	if (v->flow == NULL)
		return;
	ddir_share_view(m->share, v->view, NULL);
	ddir_flow_drop(v->flow, m->share);
	v->flow = NULL;
}

/* Nothing is computed for it any more; as above, those that read it come first. */
static void
stop(DdirMaintainer *m, DdirMaintained *v, const char *reason)
{
	if (ddir_hydrate_concerns(m, v))
		ddir_hydrate_cancel(m, reason);
	ddir_views_drop_flow(m, v);
	if (v->target)
		ddir_target_destroy(v->target);
	v->target = NULL;
	v->wanting = false;
	v->reconcile = false;
}

void
ddir_views_rehydrate(DdirMaintainer *m, DdirMaintained *v, const char *reason)
{
	ListCell   *lc;

	foreach(lc, with_readers(m, v))
	{
		DdirMaintained *r = lfirst(lc);

		if (r->lowered == NULL || (r->state == DDIR_VIEW_SUSPENDED && !r->blocked && r != v))
			continue;
		stop(m, r, reason);
		r->wanting = true;
		r->blocked = r->uncaptured = false;
		/* should it then be held, nobody knows what position its rows are of */
		if (r->state != DDIR_VIEW_HYDRATING)
			r->frontier = InvalidXLogRecPtr;
		r->state = DDIR_VIEW_HYDRATING;
		ddir_views_state(m, r, DDIR_VIEW_HYDRATING, reason);
		ereport(LOG,
				(errmsg("ddir: view \"%s\" will be hydrated", r->name),
				 errdetail_internal("%s", reason)));
	}
}

void
ddir_views_rehydrate_readers(DdirMaintainer *m, Oid relid, const char *reason)
{
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (reads_rows_of(v, relid) && (v->flow || ddir_hydrate_concerns(m, v)))
			ddir_views_rehydrate(m, v, reason);
	}
}

void
ddir_views_suspend(DdirMaintainer *m, DdirMaintained *v, int sqlstate, const char *message,
				   const char *reason)
{
	ListCell   *lc;

	foreach(lc, with_readers(m, v))
	{
		DdirMaintained *r = lfirst(lc);

		if (r != v && r->state == DDIR_VIEW_SUSPENDED)
			continue;
		stop(m, r, reason);
		r->blocked = r != v;
		r->sqlstate = sqlstate;
		strlcpy(r->message, message, sizeof(r->message));
		ddir_views_state(m, r, DDIR_VIEW_SUSPENDED,
						 r == v ? reason : psprintf("view \"%s\", which it reads, is suspended", v->name));
		ereport(LOG,
				(errmsg("ddir: view \"%s\" is suspended", r->name),
				 errdetail_internal("%s: %s", r->reason, message)));
	}
}

void
ddir_views_restart(DdirMaintainer *m, const char *reason)
{
	ListCell   *lc;

	ddir_hydrate_cancel(m, reason);
	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		if (v->flow)
		{
			MemoryContextDelete(v->flow->cxt);
			v->flow = NULL;
		}
		if (v->target)
			ddir_target_destroy(v->target);
		v->target = NULL;
		v->reconcile = false;
		if (v->state == DDIR_VIEW_SUSPENDED || v->lowered == NULL)
			continue;
		v->wanting = true;
		ddir_views_state(m, v, DDIR_VIEW_HYDRATING, reason);
		ereport(LOG,
				(errmsg("ddir: view \"%s\" will be hydrated", v->name),
				 errdetail_internal("%s", reason)));
	}
}

/*
 * The catalog
 */

static void
forget(DdirMaintainer *m, DdirMaintained *v)
{
	DdirViewSlot *slot;

	stop(m, v, "a view of the set was dropped");
	if (v->lagging)
		ddir_lagging_clear(v->view);

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	slot = ddir_shared_view(m->dbid, v->view, false);
	if (slot)
		ddir_shared_view_free(slot);
	LWLockRelease(ddir_shared->lock);
	ConditionVariableBroadcast(&m->db->changed);

	m->views = list_delete_ptr(m->views, v);
	MemoryContextDelete(v->cxt);
	pfree(v);
}

static uint64
version_of(const DdirMaintained *v)
{
	return ddir_relations_version(lcons_oid(v->view, list_concat_copy(v->lowered->sources,
																	  v->lowered->views)));
}

/*
 * It could not be looked at.  That matters to those who wait for it if it may
 * be another one by now; mostly whoever has locked it out has only changed
 * what counts when he commits, or statistics.
 */
static void
look_later(DdirMaintainer *m, DdirMaintained *v)
{
	m->look_again = true;
	v->unlooked = m->changed.objects || m->heard.objects || v->lowered == NULL ||
		v->version != version_of(v);
}

typedef struct PlanView
{
	DdirMaintained *v;
	Relation	rel;
	DdirRefusal refusal;
} PlanView;

/*
 * Read a view's definition: its plan, or why it cannot be maintained.
 *
 * That locks what the view reads.  Whoever has locked it out may take any
 * time, and all other views would wait with us; so it is tried again later.
 */
static void
plan_view(void *arg)
{
	PlanView   *p = arg;
	DdirMaintained *v = p->v;
	int			level = NewGUCNestLevel();

	(void) set_config_option("lock_timeout", LOCK_TIMEOUT, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	v->name = ddir_relation_name(v->view);
	v->owner = p->rel->rd_rel->relowner;
	v->lowered = ddir_lower(ddir_view_query(p->rel), v->owner, &p->refusal);
	v->meaning = v->lowered ? ddir_meaning(v->lowered) : NULL;
	v->version = v->lowered ? version_of(v) : 0;
	watch_types(v->lowered ? v->lowered->types : p->refusal.types);
	AtEOXact_GUC(true, level);
}

static DdirMaintained *
new_view(DdirMaintainer *m, Oid view)
{
	MemoryContext old = MemoryContextSwitchTo(m->cxt);
	DdirMaintained *v = palloc0(sizeof(DdirMaintained));

	v->view = view;
	v->fresh = true;
	v->lagging = ddir_lagging_frontier(view, &v->frontier);
	m->views = lappend(m->views, v);
	MemoryContextSwitchTo(old);
	return v;
}

/* A plain view can be replaced by one that reads a view over it. */
static bool
reads_itself(DdirMaintainer *m, DdirMaintained *v)
{
	ListCell   *lc;

	foreach(lc, with_upstream(m, v))
		if (reads(lfirst(lc), v->view))
		return true;
	return false;
}

/* Its definition could not be read now. */
static void
plan_later(DdirMaintainer *m, DdirMaintained *v, const DdirMaintained *was)
{
	if (v->fresh)
	{
		if (was->cxt)
			MemoryContextDelete(was->cxt);
		v->lowered = NULL;
		v->meaning = NULL;
		look_later(m, v);
		ddir_views_state(m, v, DDIR_VIEW_HYDRATING, "what it reads is locked by another session");
		return;
	}
	MemoryContextDelete(v->cxt);
	*v = *was;
	look_later(m, v);
}

/* Plan it (again), and see what follows. */
static void
plan_again(DdirMaintainer *m, DdirMaintained *v, Relation rel)
{
	PlanView	p = {v, rel};
	DdirMaintained was = *v;
	bool		fresh = v->fresh;
	char	   *before = v->meaning ? MemoryContextStrdup(m->scratch, v->meaning) : NULL;
	MemoryContext old = MemoryContextSwitchTo(m->scratch);
	List	   *children = v->lowered ? list_copy(v->lowered->children) : NIL;
	ErrorData  *error;

	MemoryContextSwitchTo(old);

	v->cxt = AllocSetContextCreate(m->cxt, "ddir view", ALLOCSET_DEFAULT_SIZES);
	v->lowered = NULL;
	v->meaning = NULL;
	old = MemoryContextSwitchTo(v->cxt);
	error = ddir_step_try(plan_view, &p);
	if (v->name == NULL || error)
		v->name = ddir_relation_name(v->view);
	MemoryContextSwitchTo(old);
	if (error && error->sqlerrcode == ERRCODE_LOCK_NOT_AVAILABLE)
	{
		plan_later(m, v, &was);
		return;
	}
	if (was.cxt)
		MemoryContextDelete(was.cxt);
	v->fresh = false;
	v->circular = error == NULL && reads_itself(m, v);
	if (v->circular)
	{
		v->lowered = NULL;
		v->meaning = NULL;
		p.refusal.sqlerrcode = ERRCODE_INVALID_OBJECT_DEFINITION;
		p.refusal.reason = "It reads itself through other views.";
	}

	if (error)
	{
		v->lowered = NULL;
		ddir_views_suspend(m, v, error->sqlerrcode, error->message, "it could not be planned");
	}
	else if (v->lowered == NULL)
	{
		if (fresh || v->state != DDIR_VIEW_SUSPENDED ||
			strncmp(v->message, p.refusal.reason, sizeof(v->message) - 1) != 0)
			ddir_views_suspend(m, v, p.refusal.sqlerrcode, p.refusal.reason,
							   "its query cannot be maintained");
	}
	else if (fresh && ddir_stepping_crashes(v->view) >= DDIR_STEPPING_CRASHES)
		ddir_views_suspend(m, v, ERRCODE_CRASH_SHUTDOWN,
						   psprintf("its maintainer crashed %d times in a row while it was at work on it",
									ddir_stepping_crashes(v->view)),
						   "it may be what makes the server crash; ddir.repair() tries again");
	else if (fresh)
		ddir_views_rehydrate(m, v, m->start_reason ? m->start_reason : "it is new here");
	else if (v->state == DDIR_VIEW_SUSPENDED && before == NULL)
		ddir_views_rehydrate(m, v, "what stood in its way is gone");
	else if (before && strcmp(before, v->meaning) != 0)
		ddir_views_rehydrate(m, v, equal(children, v->lowered->children) ?
							 "what its query means has changed" :
							 "a table it reads has other children");
	else
		ddir_views_publish(m, v);
}

static void
look_at_view(DdirMaintainer *m, Oid view)
{
	DdirMaintained *v = ddir_views_find(m, view);
	Relation	rel;

	if (v)
	{
		/* what a refused view would read is not known */
		bool		concerned = v->lowered == NULL || may_have_changed(m, view);
		ListCell   *lc;

		v->seen = true;
		foreach(lc, m->changed.relations)
			concerned = concerned || reads_rows_of(v, lfirst_oid(lc)) ||
			is_written_over(v, lfirst_oid(lc)) || uses_type_of(v, lfirst_oid(lc));
		if (!concerned)
			return;
	}
	/* somebody is changing it: look again soon */
	if (!ConditionalLockRelationOid(view, AccessShareLock))
	{
		if (v)
			look_later(m, v);
		m->look_again = true;
		return;
	}
	rel = try_relation_open(view, NoLock);
	if (rel == NULL)
	{
		UnlockRelationOid(view, AccessShareLock);
		if (v)
			v->seen = false;
		return;
	}
	if (v == NULL)
		v = new_view(m, view);
	v->seen = true;
	plan_again(m, v, rel);
	if (v->flow && !RelationIsPopulated(rel))
		ddir_views_rehydrate(m, v, "it was emptied by REFRESH ... WITH NO DATA");
	v->unsure = true;
	relation_close(rel, AccessShareLock);
}

/* None reads itself, so this ends. */
static void
set_depths(DdirMaintainer *m)
{
	bool		changed = true;
	ListCell   *lc;

	foreach(lc, m->views)
		((DdirMaintained *) lfirst(lc))->depth = 0;
	while (changed)
	{
		changed = false;
		foreach(lc, m->views)
		{
			DdirMaintained *v = lfirst(lc);
			ListCell   *cell;

			foreach(cell, ddir_views_upstream(m, v))
			{
				DdirMaintained *u = lfirst(cell);

				if (u->depth < v->depth)
					continue;
				v->depth = u->depth + 1;
				changed = true;
			}
		}
	}
}

static int
by_depth(const ListCell *a, const ListCell *b)
{
	const DdirMaintained *va = lfirst(a);
	const DdirMaintained *vb = lfirst(b);

	if (va->depth != vb->depth)
		return va->depth < vb->depth ? -1 : 1;
	return va->view < vb->view ? -1 : va->view > vb->view;
}

/* Views suspended because of a table, when nothing forbids to capture it any more. */
static void
capture_again(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);
		bool		changed = false;
		bool		refused = false;
		ListCell   *cell;

		if (!v->uncaptured || v->state != DDIR_VIEW_SUSPENDED || v->lowered == NULL)
			continue;
		foreach(cell, v->lowered->sources)
			changed = changed || may_have_changed(m, lfirst_oid(cell));
		if (!changed)
			continue;
		foreach(cell, v->lowered->sources)
			refused = refused || ddir_capture_refused(m->capture, lfirst_oid(cell));
		if (!refused)
			ddir_views_rehydrate(m, v, "what stood in its way is gone");
	}
}

/* Views suspended because of others, when those are well again. */
static void
unblock(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);
		bool		well = true;
		ListCell   *cell;

		if (!v->blocked || v->lowered == NULL)
			continue;
		foreach(cell, ddir_views_upstream(m, v))
			well = well && ((DdirMaintained *) lfirst(cell))->state != DDIR_VIEW_SUSPENDED;
		if (well)
			ddir_views_rehydrate(m, v, "the views it reads are maintained again");
	}
}

/* Views over suspended ones that were not known when those were suspended. */
static void
block(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->views)
	{
		DdirMaintained *u = lfirst(lc);
		bool		any = false;
		ListCell   *cell;

		if (u->state != DDIR_VIEW_SUSPENDED || u->blocked)
			continue;
		foreach(cell, with_readers(m, u))
			any = any || ((DdirMaintained *) lfirst(cell))->state != DDIR_VIEW_SUSPENDED;
		if (any)
			ddir_views_suspend(m, u, u->sqlstate, pstrdup(u->message), pstrdup(u->reason));
	}
}

/*
 * Nothing is decided for those who wait for a view that could not be looked
 * at, nor for one that reads it.  Views come after those they read.
 */
static void
publish_unlooked(DdirMaintainer *m)
{
	ListCell   *lc;

	LWLockAcquire(ddir_shared->lock, LW_EXCLUSIVE);
	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);
		DdirViewSlot *slot = ddir_shared_view(m->dbid, v->view, false);
		ListCell   *cell;

		foreach(cell, ddir_views_upstream(m, v))
			v->unlooked = v->unlooked || ((DdirMaintained *) lfirst(cell))->unlooked;
		if (slot)
			slot->unlooked = v->unlooked;
	}
	LWLockRelease(ddir_shared->lock);
}

/* Tables whose changes may have escaped us are read anew. */
static void
look_at_sources(DdirMaintainer *m)
{
	ListCell   *lc;

	foreach(lc, m->tracked)
	{
		Oid			relid = lfirst_oid(lc);

		if (m->capture == NULL || !may_have_changed(m, relid) ||
			ddir_capture_intact(m->capture, relid))
			continue;
		ddir_capture_forget_key(m->capture, relid);
		ddir_views_rehydrate_readers(m, relid, m->mode == DDIR_CAPTURE_TRIGGER ?
									 "the capture of a table it reads was changed" :
									 "the replica identity of a table it reads was changed");
	}
}

/* Tables that sessions have prepared may be among those that nobody reads. */
static void
recall_tables(DdirMaintainer *m)
{
	MemoryContext old = MemoryContextSwitchTo(m->cxt);

	if (OidIsValid(ddir_am_oid()))
		m->tracked = list_concat_unique_oid(m->tracked, ddir_capture_remembered());
	MemoryContextSwitchTo(old);
}

/* In a transaction of its own. */
void
ddir_views_look(DdirMaintainer *m)
{
	List	   *views;
	bool		gone = false;
	ListCell   *lc;

	m->look = false;
	m->look_again = false;
	add_changes(m, &m->changed, &m->heard);
	clear_changes(&m->heard);
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (!OidIsValid(ddir_am_oid()))
	{
		/* the extension is gone, and its views with it */
		m->leaving = true;
		views = NIL;
	}
	else
	{
		ddir_progress_read(&m->progress);
		views = ddir_view_list();
	}
	if (m->progress.disabled)
		m->leaving = true;

	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);

		v->seen = v->unlooked = false;
	}
	foreach(lc, views)
		look_at_view(m, lfirst_oid(lc));
	foreach(lc, views)
	{
		DdirMaintained *v = ddir_views_find(m, lfirst_oid(lc));

		/* those it read itself through may be others by now */
		if (v && v->circular)
			look_at_view(m, v->view);
	}

	set_depths(m);
	list_sort(m->views, by_depth);
	for (int i = list_length(m->views) - 1; i >= 0; i--)
	{
		DdirMaintained *v = list_nth(m->views, i);

		if (!v->seen)
		{
			forget(m, v);
			gone = true;
		}
	}
	if (gone)
		recall_tables(m);
	capture_again(m);
	unblock(m);
	block(m);
	look_at_sources(m);
	publish_unlooked(m);

	/* what was locked is looked at again */
	if (m->look_again)
		m->changed.all = true;
	else
		clear_changes(&m->changed);
	PopActiveSnapshot();
	ddir_step_commit(m);
	ddir_views_track(m);
}

/* Plans know of them after the next look, so nobody gives them up before. */
void
ddir_views_joined(DdirMaintainer *m, List *joined)
{
	MemoryContext old;

	if (joined == NIL)
		return;
	old = MemoryContextSwitchTo(m->cxt);
	m->tracked = list_concat_unique_oid(m->tracked, joined);
	MemoryContextSwitchTo(old);
	m->look = m->heard.all = true;
}

/*
 * Capture what is read and nothing else, and leave tables that nobody reads any
 * more as they were.
 */
void
ddir_views_track(DdirMaintainer *m)
{
	List	   *wanted = NIL;
	TimestampTz now = GetCurrentTimestamp();

	/* what is read is not known of a view that has to be looked at again */
	bool		release = m->release_at <= now && !m->look_again;
	ListCell   *lc;
	MemoryContext old = MemoryContextSwitchTo(m->cxt);

	if (release)
		m->release_at = 0;
	foreach(lc, m->views)
	{
		DdirMaintained *v = lfirst(lc);
		ListCell   *cell;

		if (v->lowered == NULL || (v->flow == NULL && !v->wanting))
			continue;
		foreach(cell, v->lowered->sources)
			if (ddir_views_find(m, lfirst_oid(cell)) == NULL)
			wanted = list_append_unique_oid(wanted, lfirst_oid(cell));
		wanted = list_concat_unique_oid(wanted, v->lowered->partitions);
	}
	foreach(lc, m->tracked)
	{
		Oid			relid = lfirst_oid(lc);

		if (list_member_oid(wanted, relid))
			continue;
		if (m->capture)
			ddir_capture_untrack(m->capture, relid);
		if (!release)
			continue;
		if (ddir_capture_release(relid, RELEASE_LOCK_MS) == DDIR_ATTEMPT_LOCKED)
		{
			m->release_at = TimestampTzPlusMilliseconds(now, RELEASE_MS);
			continue;
		}
		m->tracked = foreach_delete_current(m->tracked, lc);
	}
	list_free(wanted);
	MemoryContextSwitchTo(old);
}
