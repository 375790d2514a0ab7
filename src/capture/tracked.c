/*-------------------------------------------------------------------------
 *
 * tracked.c
 *	  The relations that are tracked, and the trays being filled with their
 *	  rows.
 *
 * Which partitions a tracked table has is known from a look at the catalog, and
 * looked at again when relations may have changed, in the catalog of the moment
 * that is read: that of the transaction decoded, or of a cut's snapshot.  If
 * they are others, an event says so in that very tray; unless partitions were
 * only added, and were empty then, as all that is in them will be delivered.
 *
 * How a table's columns become those of what is tracked is found out when its
 * changes are met, and again when relations may have changed.
 *
 * Memory: a context for each tracked relation, and for each table that feeds
 * some, in that of the tracking.
 *
 * src/capture/tracked.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "base/config.h"
#include "capture/tracked.h"
#include "meta/tree.h"

/* By relid; simplehash makes the functions. */
typedef struct DdirTrackedEntry
{
	Oid			relid;
	DdirTracked *tracked;
	char		status;
} DdirTrackedEntry;

#define SH_PREFIX tracked
#define SH_ELEMENT_TYPE DdirTrackedEntry
#define SH_KEY_TYPE Oid
#define SH_KEY relid
#define SH_HASH_KEY(tb, key) murmurhash32(key)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Likewise, of the tables that feed some. */
typedef struct DdirFeedsEntry
{
	Oid			relid;
	DdirFeeds  *feeds;
	char		status;
} DdirFeedsEntry;

#define SH_PREFIX feeds
#define SH_ELEMENT_TYPE DdirFeedsEntry
#define SH_KEY_TYPE Oid
#define SH_KEY relid
#define SH_HASH_KEY(tb, key) murmurhash32(key)
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* How often relations may have changed, as far as this process was told. */
static uint64 relations_changed = 1;

/* Called anywhere. */
static void
relation_changed(Datum arg, Oid relid)
{
	relations_changed++;
}

void
ddir_tracking_init(DdirTracking *k, MemoryContext cxt)
{
	static bool watching = false;

	if (!watching)
		CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	watching = true;
	memset(k, 0, sizeof(*k));
	k->cxt = cxt;
	k->hash = tracked_create(cxt, 32, NULL);
	k->feeds = feeds_create(cxt, 32, NULL);
}

/* ----
 * Tracking
 * ----
 */

static DdirTracked *
find_tracked(DdirTracking *k, Oid relid)
{
	DdirTrackedEntry *e = tracked_lookup(k->hash, relid);

	return e ? e->tracked : NULL;
}

static void
forget_feeds(DdirTracking *k)
{
	feeds_iterator i;
	DdirFeedsEntry *e;

	feeds_start_iterate(k->feeds, &i);
	while ((e = feeds_iterate(k->feeds, &i)) != NULL)
		MemoryContextDelete(e->feeds->cxt);
	feeds_reset(k->feeds);
	k->last_relid = InvalidOid;
	k->last = NULL;
}

void
ddir_tracking_remove(DdirTracking *k, Oid relid)
{
	DdirTracked *t = find_tracked(k, relid);

	if (t == NULL)
		return;
	forget_feeds(k);
	if (t->partitioned)
		k->ntrees--;
	tracked_delete(k->hash, relid);
	MemoryContextDelete(t->cxt);
}

/* What is used of the first natts columns, in detail. */
static void
describe_columns(DdirTracked *t, TupleDesc desc, int natts, const Bitmapset *used)
{
	bool		all = true;

	t->type = ddir_rowtype_from_tupdesc(desc);
	t->col = palloc(natts * sizeof(DdirTrackedColumn) + 1);
	if (bms_prev_member(used, -1) > natts)
		elog(ERROR, "column %d of relation %u is used, which has %d of them",
			 bms_prev_member(used, -1), t->relid, natts);
	for (int i = 0; i < natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (used && !bms_is_member(i + 1, used))
		{
			all = all && att->attisdropped;
			continue;
		}
		if (att->attisdropped)
			continue;
		t->col[t->ncols].att = i;
		t->col[t->ncols].typid = att->atttypid;
		t->col[t->ncols].varlena = att->attlen == -1;
		t->ncols++;
	}
	t->used = all ? NULL : bms_copy(used);
}

static DdirTracked *
describe_relation(DdirTracking *k, Relation rel, int natts, const Bitmapset *used)
{
	MemoryContext cxt = AllocSetContextCreate(k->cxt, "ddir tracked relation",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	TupleDesc	desc = RelationGetDescr(rel);
	DdirTracked *t = palloc0(sizeof(DdirTracked));

	if (natts == 0)
		natts = desc->natts;
	if (natts > desc->natts)
		elog(ERROR, "relation %u has %d columns, not %d",
			 RelationGetRelid(rel), desc->natts, natts);
	t->relid = RelationGetRelid(rel);
	t->cxt = cxt;
	if (natts < desc->natts)
		desc = ddir_tupdesc_first(desc, natts);
	describe_columns(t, desc, natts, used);
	t->partitioned = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	MemoryContextSwitchTo(old);
	return t;
}

static void
set_tree(DdirTracked *t, List *below, uint64 mark)
{
	ListCell   *lc;

	if (t->below)
		pfree(t->below);
	t->nbelow = list_length(below);
	t->below = MemoryContextAlloc(t->cxt, t->nbelow * sizeof(Oid) + 1);
	foreach(lc, below)
		t->below[foreach_current_index(lc)] = lfirst_oid(lc);
	t->mark = mark;
}

/*
 * What has been delivered of a tree that was tracked before is of the state
 * known then; one that is new will be scanned later than now.
 */
static void
describe_tree(DdirTracked *t, const DdirTracked *before)
{
	List	   *below;
	uint64		mark;

	if (before && before->partitioned)
	{
		t->nbelow = before->nbelow;
		t->below = MemoryContextAlloc(t->cxt, t->nbelow * sizeof(Oid) + 1);
		memcpy(t->below, before->below, t->nbelow * sizeof(Oid));
		t->mark = before->mark;
		return;
	}
	below = ddir_tree_below(t->relid, NULL, &mark);
	set_tree(t, below, mark);
	list_free(below);
}

/*
 * No lock: the relation may be locked by anybody for any time, and what we
 * read of it is checked again against each change's own descriptor.
 */
bool
ddir_tracking_add(DdirTracking *k, Oid relid, int natts, const Bitmapset *used)
{
	MemoryContext old = CurrentMemoryContext;
	bool		own = !IsTransactionState();
	DdirTracked *t = NULL;
	Relation	rel;
	bool		found;

	if (own)
		StartTransactionCommand();
	rel = RelationIdGetRelation(relid);
	if (RelationIsValid(rel))
	{
		t = describe_relation(k, rel, natts, used);
		RelationClose(rel);
		if (t->partitioned)
			describe_tree(t, find_tracked(k, relid));
	}
	if (own)
	{
		CommitTransactionCommand();
		MemoryContextSwitchTo(old);
	}

	ddir_tracking_remove(k, relid);
	if (t == NULL)
		return false;
	tracked_insert(k->hash, relid, &found)->tracked = t;
	if (t->partitioned)
		k->ntrees++;
	forget_feeds(k);
	return true;
}

void
ddir_tracking_by_key(DdirTracking *k, Oid relid, const Bitmapset *key)
{
	DdirTracked *t = find_tracked(k, relid);
	MemoryContext old;

	if (t == NULL)
		return;
	old = MemoryContextSwitchTo(t->cxt);
	t->key = bms_copy(key);
	MemoryContextSwitchTo(old);
}

const DdirTracked *
ddir_tracking_keyed(const DdirTracking *k, Oid relid)
{
	DdirTrackedEntry *e = tracked_lookup(k->hash, relid);

	return e && e->tracked->key ? e->tracked : NULL;
}

void
ddir_tracking_expect(DdirTracking *k, Oid relid, Size old_bytes)
{
	DdirTracked *t = find_tracked(k, relid);

	if (t)
		t->old_bytes = old_bytes;
}

const DdirRowType *
ddir_tracking_rowtype(const DdirTracking *k, Oid relid)
{
	DdirTrackedEntry *e = tracked_lookup(k->hash, relid);

	return e ? e->tracked->type : NULL;
}

/* ----
 * Trees
 * ----
 */

static bool
is_below(const DdirTracked *t, Oid relid)
{
	return t->partitioned &&
		bsearch(&relid, t->below, t->nbelow, sizeof(Oid), oid_cmp) != NULL;
}

/* In this state of the tree there are only empty partitions more. */
static bool
has_empty_ones_more(DdirTracking *k, const DdirTracked *t, List *below, uint64 mark)
{
	List	   *joined = NIL;
	DdirTreeEdge edge;
	ListCell   *lc;
	MemoryContext old;

	if (k->joined_empty == NULL)
		return false;
	foreach(lc, below)
	{
		if (is_below(t, lfirst_oid(lc)))
			continue;
		if (!ddir_tree_edge(lfirst_oid(lc), k->snapshot, &edge))
			return false;
		joined = lappend_oid(joined, lfirst_oid(lc));
		mark -= edge.mark;
	}
	if (mark != t->mark || !k->joined_empty(k, joined))
		return false;
	old = MemoryContextSwitchTo(k->cxt);
	foreach(lc, joined)
		if (get_rel_relkind(lfirst_oid(lc)) != RELKIND_PARTITIONED_TABLE)
		k->joined = list_append_unique_oid(k->joined, lfirst_oid(lc));
	MemoryContextSwitchTo(old);
	return true;
}

bool
ddir_tracking_look(DdirTracking *k)
{
	uint64		seen = relations_changed;
	bool		changed = false;
	bool		event = false;
	tracked_iterator i;
	DdirTrackedEntry *e;

	tracked_start_iterate(k->hash, &i);
	while (k->ntrees > 0 && (e = tracked_iterate(k->hash, &i)) != NULL)
	{
		DdirTracked *t = e->tracked;
		List	   *below;
		uint64		mark;

		if (!t->partitioned)
			continue;
		below = ddir_tree_below(t->relid, k->snapshot, &mark);
		if (mark != t->mark)
		{
			if (!has_empty_ones_more(k, t, below, mark))
			{
				ddir_tracked_event(k, t, DDIR_TRAY_PARTITIONS);
				event = true;
			}
			set_tree(t, below, mark);
			changed = true;
		}
		list_free(below);
	}
	if (changed)
		forget_feeds(k);
	k->seen = seen;
	return event;
}

/* Those that the table's changes go to. */
static List *
fed_by(DdirTracking *k, Oid relid)
{
	DdirTracked *own = find_tracked(k, relid);
	List	   *fed = own ? list_make1(own) : NIL;
	tracked_iterator i;
	DdirTrackedEntry *e;

	if (k->ntrees == 0)
		return fed;
	tracked_start_iterate(k->hash, &i);
	while ((e = tracked_iterate(k->hash, &i)) != NULL)
		if (is_below(e->tracked, relid))
			fed = lappend(fed, e->tracked);
	return fed;
}

/* How the table's columns become those of a partitioned one. */
static AttrNumber *
map_columns(const DdirTracked *t, Relation rel)
{
	Relation	root;
	AttrNumber *map;

	if (t->relid == RelationGetRelid(rel))
		return NULL;
	root = RelationIdGetRelation(t->relid);
	if (!RelationIsValid(root))
	{
		map = palloc(t->type->natts * sizeof(AttrNumber) + 1);
		for (int i = 0; i < t->type->natts; i++)
			map[i] = -1;
		return map;
	}
	map = ddir_tree_map(RelationGetDescr(root), t->type->natts, RelationGetDescr(rel));
	RelationClose(root);
	return map;
}

static DdirFeeds *
make_feeds(DdirTracking *k, Relation rel, List *fed)
{
	MemoryContext cxt = AllocSetContextCreate(k->cxt, "ddir feeds", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirFeeds  *f = palloc0(sizeof(DdirFeeds));
	ListCell   *lc;

	f->relid = RelationGetRelid(rel);
	f->cxt = cxt;
	f->seen = relations_changed;
	f->n = list_length(fed);
	f->feed = palloc0(f->n * sizeof(DdirFeed));
	foreach(lc, fed)
	{
		DdirFeed   *feed = &f->feed[foreach_current_index(lc)];

		feed->into = lfirst(lc);
		feed->att = map_columns(feed->into, rel);
	}
	MemoryContextSwitchTo(old);
	return f;
}

static DdirFeeds *
find_feeds(DdirTracking *k, Oid relid)
{
	DdirFeedsEntry *e;
	List	   *fed;
	Relation	rel;
	DdirFeeds  *f;
	bool		found;

	if (k->ntrees > 0 && k->seen != relations_changed)
		(void) ddir_tracking_look(k);
	e = feeds_lookup(k->feeds, relid);
	if (e && e->feeds->seen == relations_changed)
		return e->feeds;
	if (e)
	{
		MemoryContextDelete(e->feeds->cxt);
		feeds_delete_item(k->feeds, e);
	}
	fed = fed_by(k, relid);
	if (fed == NIL || !RelationIsValid(rel = RelationIdGetRelation(relid)))
		return NULL;
	f = make_feeds(k, rel, fed);
	RelationClose(rel);
	list_free(fed);
	feeds_insert(k->feeds, relid, &found)->feeds = f;
	return f;
}

DdirFeeds *
ddir_tracking_feeds(DdirTracking *k, Oid relid)
{
	if (relid != k->last_relid || k->last_seen != relations_changed)
	{
		k->last = find_feeds(k, relid);
		k->last_relid = relid;
		k->last_seen = relations_changed;
	}
	return k->last;
}

bool
ddir_feed_same_shape(const DdirFeed *f, TupleDesc desc)
{
	const DdirTracked *t = f->into;

	for (int i = 0; i < t->ncols; i++)
	{
		const DdirTrackedColumn *c = &t->col[i];
		int			att = ddir_feed_att(f, c->att);

		if (att < 0 || att >= desc->natts || TupleDescAttr(desc, att)->atttypid != c->typid)
			return false;
	}
	return true;
}

/* ----
 * Filling
 * ----
 */

DdirDeltas *
ddir_tracked_run(DdirTracking *k, DdirTracked *t)
{
	DdirTrays  *out = k->out;
	DdirDeltas *run;

	if (t->run < out->nruns && out->run[t->run].source == t->relid)
		run = &out->run[t->run].deltas;
	else
	{
		run = ddir_trays_run(out, t->relid);
		for (t->run = 0; &out->run[t->run].deltas != run;)
			t->run++;
	}

	/* an empty tray gives its number to the next one, whose run may be new */
	if (t->tray != out->next || t->start_n > run->n)
	{
		t->tray = out->next;
		t->start_n = run->n;
	}
	return run;
}

void
ddir_run_cut(DdirDeltas *run, uint32 n)
{
	ddir_check(n < run->n);
	run->n = n;
	run->val.len = run->val.off[n];
}

void
ddir_tracked_event(DdirTracking *k, DdirTracked *t, DdirTrayEventKind kind)
{
	if (t->event_tray[kind] == k->out->next)
		return;
	t->event_tray[kind] = k->out->next;
	ddir_trays_event(k->out, t->relid, kind);
}

Size
ddir_tray_bytes_max(void)
{
	return Min(DDIR_TRAY_BYTES_MAX, (Size) ddir_memory_limit * 1024 / 2);
}

/*
 * A tray that is too large gives its rows up, so that memory and the lanes'
 * limits hold for any transaction.  True: it has, and no more are wanted.
 */
bool
ddir_tracked_full(DdirTracking *k, DdirTracked *t, DdirDeltas *run)
{
	if (t->event_tray[DDIR_TRAY_TOO_LARGE] == k->out->next)
		return true;
	if (run->n == t->start_n ||
		run->val.len - run->val.off[t->start_n] <= ddir_tray_bytes_max())
		return false;
	ddir_run_cut(run, t->start_n);
	ddir_tracked_event(k, t, DDIR_TRAY_TOO_LARGE);
	return true;
}
