/*-------------------------------------------------------------------------
 *
 * plugin.c
 *	  The output plugin: decoded changes become images in the trays' runs.
 *
 * The server calls the plugin of a slot for whoever reads it.  Ours hands rows
 * to the decoder of this process and to nobody else: any other reader, and
 * any other process, is refused at the start.
 *
 * Changes come only for transactions that committed, in one piece, so rows are
 * appended to the runs as they come, and the commit closes the tray.
 *
 * What a change needs:
 *
 *	- The columns used must be what they were when the relation was tracked;
 *	  else its shape has changed.  So it has, in a way, when ALTER TABLE writes
 *	  it anew: the plugin asks to be shown those rows, too (they belong to a
 *	  transient relation that says what it will replace).
 *	- The old row must be complete in the columns used.  It is under REPLICA
 *	  IDENTITY FULL, or where the identity's columns are all that is used.
 *	- A TOASTed value that an update left alone is not in the new row.  It is
 *	  in the old one, where the server has put it back in line.
 *	- Where old rows are known by key, its columns must be in the old row, or
 *	  have been left alone; no other value need be there (keyed.h).
 *
 * A change that does not have these becomes an event.  An update of unused
 * columns only is no change.
 *
 * A partition's change is one of the partitioned tables above it, as the
 * catalog was then; so is that it was attached or detached (an event, but for
 * one that was empty, as a message says).
 *
 * Callbacks run under a historic snapshot and must not touch user data; all
 * they use is in the tuples.  Garbage is in d->scratch, reset at each change.
 *
 * src/capture/plugin.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "replication/output_plugin.h"
#include "replication/reorderbuffer.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "base/compat.h"
#include "capture/decoder.h"
#include "capture/keyed.h"
#include "capture/joined.h"

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *cb);

DdirPluginUser ddir_plugin_user = {false, NULL, NULL};

/* The decoder behind a callback. */
static DdirDecoder *
served(LogicalDecodingContext *ctx)
{
	DdirDecoder *d = ctx->output_plugin_private;

	if (d == NULL || d != ddir_plugin_user.decoder || d->tracking.out == NULL)
		elog(ERROR, "output plugin \"%s\" is called by a stranger", DDIR_LIBRARY);
	return d;
}

/* ----
 * Changes
 * ----
 */

static void
make_room(DdirDecoder *d, DdirTupleValues *values)
{
	values->values = MemoryContextAlloc(d->values, d->natts * sizeof(Datum));
	values->isnull = MemoryContextAlloc(d->values, d->natts * sizeof(bool));
}

/* The values of what the table feeds. */
static void
deform(DdirDecoder *d, const DdirFeed *f, HeapTuple tuple, TupleDesc desc,
	   DdirTupleValues *to)
{
	int			wanted = f->into->type->natts;

	if (Max(desc->natts, wanted) > d->natts)
	{
		MemoryContextReset(d->values);
		d->natts = Max(desc->natts, wanted);
		make_room(d, &d->old);
		make_room(d, &d->new);
		make_room(d, &d->raw);
	}
	if (f->att == NULL)
	{
		heap_deform_tuple(tuple, desc, to->values, to->isnull);
		for (int i = desc->natts; i < wanted; i++)
			to->isnull[i] = true;
		return;
	}
	heap_deform_tuple(tuple, desc, d->raw.values, d->raw.isnull);
	for (int i = 0; i < wanted; i++)
	{
		int			att = f->att[i];

		to->isnull[i] = att < 0 || att >= desc->natts || d->raw.isnull[att];
		to->values[i] = to->isnull[i] ? (Datum) 0 : d->raw.values[att];
	}
}

/* Is the old row, as it is logged, all that is used? */
static bool
identity_covers(const DdirFeed *f, Relation relation)
{
	const DdirTracked *t = f->into;
	Bitmapset  *identity;
	bool		covers = true;

	if (relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
		return true;
	if (relation->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING)
		return false;
	identity = RelationGetIdentityKeyBitmap(relation);
	for (int i = 0; i < t->ncols && covers; i++)
		covers = bms_is_member(ddir_feed_att(f, t->col[i].att) + 1 -
							   FirstLowInvalidHeapAttributeNumber, identity);
	return covers;
}

static bool
is_left_out(const DdirTrackedColumn *c, const DdirTupleValues *v)
{
	return c->varlena && !v->isnull[c->att] &&
		VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(v->values[c->att]));
}

/* Is a value used that is not in the tuple but in the TOAST table? */
static bool
has_left_out(const DdirTracked *t, const DdirTupleValues *v)
{
	for (int i = 0; i < t->ncols; i++)
		if (is_left_out(&t->col[i], v))
			return true;
	return false;
}

/* Take what an update left alone from the old row; false: it is not there. */
static bool
fill_left_out(const DdirTracked *t, const DdirTupleValues *old, DdirTupleValues *new)
{
	for (int i = 0; i < t->ncols; i++)
	{
		const DdirTrackedColumn *c = &t->col[i];

		if (!is_left_out(c, new))
			continue;
		if (old == NULL || old->isnull[c->att])
			return false;
		new->values[c->att] = old->values[c->att];
	}
	return true;
}

static uint32
add_row(DdirDecoder *d, const DdirTracked *t, DdirDeltas *run,
		const DdirTupleValues *v, int64 diff)
{
	uint64_t	tray = d->tracking.out->next;
	uint32		len = ddir_image_pack(t->type, v->values, v->isnull, t->used, run);

	ddir_deltas_close(run, 0, len, &tray, diff, 0);
	return len;
}

/*
 * Either tuple may be NULL: nothing was there before, or is after.
 */
static void
add_change(DdirDecoder *d, const DdirFeed *f, HeapTuple old, HeapTuple new, TupleDesc desc)
{
	DdirTracked *t = f->into;
	DdirDeltas *run = ddir_tracked_run(&d->tracking, t);
	uint32		n = run->n;
	uint32		oldlen = 0;
	uint32		newlen = 0;

	if (ddir_tracked_full(&d->tracking, t, run))
		return;
	if (old)
		deform(d, f, old, desc, &d->old);
	if (new)
		deform(d, f, new, desc, &d->new);
	if ((old && has_left_out(t, &d->old)) ||
		(new && !fill_left_out(t, old ? &d->old : NULL, &d->new)))
	{
		ddir_tracked_event(&d->tracking, t, DDIR_TRAY_NO_OLD_IMAGE);
		return;
	}

	if (old)
		oldlen = add_row(d, t, run, &d->old, -1);
	if (new)
		newlen = add_row(d, t, run, &d->new, 1);
	if (old && new && oldlen == newlen &&
		memcmp(run->val.bytes + run->val.off[n],
			   run->val.bytes + run->val.off[n + 1], newlen) == 0)
	{
		ddir_run_cut(run, n);
		return;
	}
	d->tracking.rows += run->n - n;
	d->tracking.bytes += run->val.len - run->val.off[n];
}

/* Are the key's columns logged of an old row, or known not to have changed? */
static bool
identity_has_key(const DdirTracked *t, Relation relation, bool old)
{
	Bitmapset  *identity;
	int			att = -1;

	if (relation->rd_rel->relreplident == REPLICA_IDENTITY_FULL)
		return old;
	if (relation->rd_rel->relreplident == REPLICA_IDENTITY_NOTHING)
		return false;
	identity = RelationGetIdentityKeyBitmap(relation);
	while ((att = bms_next_member(t->key, att)) >= 0)
		if (!bms_is_member(att - FirstLowInvalidHeapAttributeNumber, identity))
			return false;
	return true;
}

/*
 * The change of a row that is known by its key; without an old row the key is
 * the new one's.
 */
static void
take_keyed_change(DdirDecoder *d, const DdirFeed *f, Relation relation,
				  ReorderBufferChange *change)
{
	DdirTracked *t = f->into;
	DdirDeltas *run = ddir_tracked_run(&d->tracking, t);
	bool		insert = change->action == REORDER_BUFFER_CHANGE_INSERT;
	HeapTuple	old = ddir_compat_change_tuple(change->data.tp.oldtuple);
	HeapTuple	new = ddir_compat_change_tuple(change->data.tp.newtuple);
	bool	   *left_out = palloc0(t->type->natts * sizeof(bool) + 1);
	bool		known = insert || ((old != NULL || new != NULL) &&
								   identity_has_key(t, relation, old != NULL));

	if (ddir_tracked_full(&d->tracking, t, run))
		return;
	if (insert)
		old = NULL;
	if (old)
		deform(d, f, old, RelationGetDescr(relation), &d->old);
	if (new)
		deform(d, f, new, RelationGetDescr(relation), &d->new);
	for (int i = 0; i < t->ncols; i++)
	{
		const DdirTrackedColumn *c = &t->col[i];
		bool		in_key = bms_is_member(c->att + 1, t->key);

		if (old && in_key)
			known = known && !is_left_out(c, &d->old);
		if (new == NULL || !is_left_out(c, &d->new))
			continue;
		known = known && !in_key && !insert;
		left_out[c->att] = d->new.isnull[c->att] = true;
	}
	if (!known)
	{
		ddir_tracked_event(&d->tracking, t, DDIR_TRAY_NO_OLD_IMAGE);
		return;
	}
	d->tracking.bytes += ddir_keyed_push(run, t->type, t->used, t->key,
										 old ? d->old.values : NULL, d->old.isnull,
										 new ? d->new.values : NULL, d->new.isnull,
										 insert ? NULL : left_out, d->tracking.out->next);
	if (!insert)
		d->tracking.bytes += t->old_bytes;
	d->tracking.rows++;
}

static void
take_change(DdirDecoder *d, const DdirFeed *f, Relation relation, ReorderBufferChange *change)
{
	HeapTuple	old = NULL;
	HeapTuple	new = NULL;
	MemoryContext caller;

	if (!ddir_feed_same_shape(f, RelationGetDescr(relation)))
	{
		ddir_tracked_event(&d->tracking, f->into, DDIR_TRAY_REWRITTEN);
		return;
	}

	MemoryContextReset(d->scratch);
	caller = MemoryContextSwitchTo(d->scratch);
	if (f->into->key)
	{
		take_keyed_change(d, f, relation, change);
		MemoryContextSwitchTo(caller);
		return;
	}
	if (change->action != REORDER_BUFFER_CHANGE_DELETE)
		new = ddir_compat_change_tuple(change->data.tp.newtuple);
	if (change->action != REORDER_BUFFER_CHANGE_INSERT)
	{
		bool		covers = identity_covers(f, relation);

		old = ddir_compat_change_tuple(change->data.tp.oldtuple);
		if (covers && old == NULL && new != NULL &&
			relation->rd_rel->relreplident != REPLICA_IDENTITY_FULL)
			new = NULL;			/* an update that left all that is used alone */
		else if (!covers || old == NULL)
		{
			ddir_tracked_event(&d->tracking, f->into, DDIR_TRAY_NO_OLD_IMAGE);
			old = new = NULL;
		}
	}
	if (old || new)
		add_change(d, f, old, new, RelationGetDescr(relation));
	MemoryContextSwitchTo(caller);
}

/* An event for all that the table feeds. */
static void
add_event(DdirDecoder *d, Oid relid, DdirTrayEventKind kind)
{
	DdirFeeds  *feeds = ddir_tracking_feeds(&d->tracking, relid);

	for (int i = 0; feeds && i < feeds->n; i++)
		ddir_tracked_event(&d->tracking, feeds->feed[i].into, kind);
}

static void
change_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, Relation relation,
		  ReorderBufferChange *change)
{
	DdirDecoder *d = served(ctx);
	DdirFeeds  *feeds = ddir_tracking_feeds(&d->tracking, RelationGetRelid(relation));

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; feeds && i < feeds->n; i++)
		take_change(d, &feeds->feed[i], relation, change);

	/* a table that is being rewritten? */
	if (feeds == NULL && OidIsValid(relation->rd_rel->relrewrite))
		add_event(d, relation->rd_rel->relrewrite, DDIR_TRAY_REWRITTEN);
}

static void
truncate_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, int nrelations,
			Relation relations[], ReorderBufferChange *change)
{
	DdirDecoder *d = served(ctx);

	for (int i = 0; i < nrelations; i++)
		add_event(d, RelationGetRelid(relations[i]), DDIR_TRAY_TRUNCATE);
}

/* ----
 * The rest
 * ----
 */

static void
startup_cb(LogicalDecodingContext *ctx, OutputPluginOptions *options, bool is_init)
{
	/*
	 * pg_upgrade makes the slots of the old cluster in the new one (17 and
	 * later)
	 */
	if (is_init ? !ddir_plugin_user.creating && !IsBinaryUpgrade : ddir_plugin_user.opening == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("output plugin \"%s\" serves only its own worker", DDIR_LIBRARY),
				 errdetail("Its replication slots are made, read and dropped by the maintainer of a database."),
				 errhint("Use the plugin \"test_decoding\" to look at changes.")));
	options->output_type = OUTPUT_PLUGIN_BINARY_OUTPUT;
	options->receive_rewrites = true;
	ctx->output_plugin_private = ddir_plugin_user.opening;
}

static void
begin_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn)
{
	(void) served(ctx);
}

/*
 * The transaction that the server began for what is decoded is aborted when we
 * return, which makes a system call (the signal mask is set) and counts as a
 * rollback in the statistics of the database.  Where nothing has to be undone
 * we end it before, as one that wrote nothing; an abort finds nothing to do
 * then.  A transaction that changed the catalog leaves caches behind that the
 * server cleans up around its abort: those are left to it.
 */
static void
end_private_transaction(const ReorderBufferTXN *txn)
{
	MemoryContext caller = CurrentMemoryContext;

	if (rbtxn_has_catalog_changes(txn) || txn->ninvalidations > 0 ||
		GetCurrentTransactionNestLevel() != 1 ||
		TransactionIdIsValid(GetCurrentTransactionIdIfAny()))
		return;
	CommitTransactionCommand();
	MemoryContextSwitchTo(caller);
}

static void
commit_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr commit_lsn)
{
	DdirDecoder *d = served(ctx);

	/* it may have attached partitions, with no change of a row */
	if (txn->ninvalidations > 0)
		(void) ddir_tracking_look(&d->tracking);
	ddir_trays_close(d->tracking.out, txn->end_lsn, txn->xid, txn->xact_time.commit_time);
	d->transactions++;
	ddir_unseen_add(d, txn->xid);
	end_private_transaction(txn);
}

static bool
is_announced(DdirTracking *k, List *joined)
{
	return list_difference_oid(joined, k->announced) == NIL;
}

/*
 * The transaction has made tables partitions that are empty (capture.c).  That
 * is looked at here, before it writes to them.
 */
static void
message_cb(LogicalDecodingContext *ctx, ReorderBufferTXN *txn, XLogRecPtr lsn, bool transactional,
		   const char *prefix, Size size, const char *message)
{
	DdirDecoder *d = served(ctx);
	DdirTracking *k = &d->tracking;

	if (!transactional || !ddir_joined_read(prefix, message, size, &k->announced))
		return;
	k->joined_empty = is_announced;
	(void) ddir_tracking_look(k);
	k->joined_empty = NULL;
	list_free(k->announced);
	k->announced = NIL;
}

/* What we write ourselves never comes back. */
static bool
filter_by_origin_cb(LogicalDecodingContext *ctx, RepOriginId origin)
{
	DdirDecoder *d = ctx->output_plugin_private;

	return d != NULL && origin != InvalidRepOriginId && origin == d->own_origin;
}

/* No callbacks for streaming or for prepared transactions: commits only. */
void
_PG_output_plugin_init(OutputPluginCallbacks *cb)
{
	cb->startup_cb = startup_cb;
	cb->begin_cb = begin_cb;
	cb->change_cb = change_cb;
	cb->message_cb = message_cb;
	cb->truncate_cb = truncate_cb;
	cb->commit_cb = commit_cb;
	cb->filter_by_origin_cb = filter_by_origin_cb;
}
