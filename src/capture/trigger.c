/*-------------------------------------------------------------------------
 *
 * trigger.c
 *	  The trigger function of sources: a statement's rows become chunks in a
 *	  delta table.
 *
 * Runs in the writer's transaction, once a statement: the transition tables
 * are read as they are, images are packed as the maintainer wants them, and
 * about eighty to the page they are inserted by the heap itself, with no
 * executor, no SPI and no logical records, so that no publication has them.  A
 * source that is part of a tree, and one that is written to while
 * session_replication_role is "replica" (as by a subscription, where statement
 * triggers do not fire), is captured row by row instead.
 *
 * Whoever inserted tells the maintainer, in shared memory, the first block it
 * wrote to, before it commits (cuts.c says why that is enough).
 *
 * An update that leaves a row as it was is left out.
 *
 * Memory: what is kept between statements (room for images, row types of
 * tables written to) in a context of the session; garbage in one that is reset
 * with every chunk.
 *
 * src/capture/trigger.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "parser/parse_func.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "base/compat.h"
#include "base/config.h"
#include "base/port.h"
#include "capture/chunk.h"

PG_FUNCTION_INFO_V1(ddir_capture_changes);

/* Room for images that is kept between statements. */
#define KEEP_BYTES (256 * 1024)

/* A table's row type; by relid. */
typedef struct Written
{
	Oid			relid;
	DdirRowType *type;
	bool		stale;			/* the table may have been changed */
	uint32		shape;
	MemoryContext cxt;
} Written;

static MemoryContext session;
static MemoryContext scratch;
static HTAB *written;
static DdirDeltas staged;

/* The delta table that is written to by a statement. */
typedef struct Sink
{
	int			k;
	Relation	rel;			/* NULL: not opened yet */
	BlockNumber low;			/* the first one written to */
	Oid			source;
	uint32		shape;
	bool		lost;			/* nothing is to be written */
} Sink;

/* ----
 * Names
 * ----
 */

Oid
ddir_delta_table(int k)
{
	Oid			schema = get_namespace_oid("ddir", true);
	char		name[NAMEDATALEN];

	snprintf(name, sizeof(name), "_delta_%d", k);
	return OidIsValid(schema) ? get_relname_relid(name, schema) : InvalidOid;
}

Oid
ddir_capture_function(void)
{
	List	   *name = list_make2(makeString(pstrdup("ddir")), makeString(pstrdup("_capture")));

	return LookupFuncName(name, 0, NULL, true);
}

/* ----
 * Row types
 * ----
 */

/* Called anywhere, also while a statement of that table is captured. */
static void
relation_changed(Datum arg, Oid relid)
{
	HASH_SEQ_STATUS scan;
	Written    *w;

	hash_seq_init(&scan, written);
	while ((w = hash_seq_search(&scan)) != NULL)
		if (!OidIsValid(relid) || w->relid == relid)
			w->stale = true;
}

static void transaction_ends(XactEvent event, void *arg);

static void
prepare_session(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(Written)};

	if (written != NULL)
		return;
	session = AllocSetContextCreate(TopMemoryContext, "ddir capture", ALLOCSET_DEFAULT_SIZES);
	scratch = AllocSetContextCreate(session, "ddir capture row", ALLOCSET_DEFAULT_SIZES);
	ddir_deltas_init(&staged, ddir_arena_of(session), 1, false);
	ctl.hcxt = session;
	written = hash_create("ddir tables written to", 16, &ctl,
						  HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	RegisterXactCallback(transaction_ends, NULL);
}

static const Written *
written_table(Relation rel)
{
	Oid			relid = RelationGetRelid(rel);
	bool		found;
	Written    *w = hash_search(written, &relid, HASH_ENTER, &found);
	MemoryContext old;
	MemoryContext cxt;
	DdirRowType *type;

	if (!found)
	{
		w->stale = true;
		w->cxt = NULL;
	}
	if (!w->stale)
		return w;
	if (w->cxt != NULL)
		MemoryContextDelete(w->cxt);
	w->cxt = NULL;
	cxt = AllocSetContextCreate(session, "ddir table written to", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(cxt);
	type = ddir_rowtype_from_tupdesc(RelationGetDescr(rel));
	MemoryContextSwitchTo(old);
	w->cxt = cxt;
	w->type = type;
	w->stale = false;
	w->shape = ddir_chunk_shape(type);
	return w;
}

/* ----
 * Writing
 * ----
 */

static void
open_sink(Sink *s)
{
	DdirDatabaseSlot *db = ddir_shared ? ddir_shared_mine() : NULL;
	Oid			table;

	s->k = db ? pg_atomic_read_u32(&db->cuts.current) % DDIR_DELTA_TABLES : 0;
	s->low = InvalidBlockNumber;
	table = ddir_delta_table(s->k);
	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("changes of table \"%s\" cannot be captured",
						get_rel_name(s->source)),
				 errdetail("Table ddir._delta_%d does not exist.", s->k),
				 errhint("Drop the extension ddir and create it again.")));
	s->rel = table_open(table, RowExclusiveLock);
	/* where others write, too, and not where this session did last */
	RelationSetTargetBlock(s->rel, InvalidBlockNumber);
}

/*
 * Nobody has read for long what triggers write: it is given up.  The maintainer,
 * when there is one again, has everything hydrated.
 */
static bool
is_lost(const Sink *s)
{
	DdirDatabaseSlot *db = ddir_shared ? ddir_shared_mine() : NULL;
	uint64		limit = (uint64) ddir_max_slot_lag * (1024 * 1024 / BLCKSZ);

	if (db == NULL || ddir_max_slot_lag < 0)
		return false;
	if (!pg_atomic_read_u32(&db->cuts.lost) && RelationGetNumberOfBlocks(s->rel) > limit)
		pg_atomic_write_u32(&db->cuts.lost, 1);
	return pg_atomic_read_u32(&db->cuts.lost);
}

/*
 * Sources of which what this transaction writes down will not be all, or not
 * true, should it be prepared and the server restart.
 */
static List *unsure;

static void
note_unsure(Oid source)
{
	MemoryContext old = MemoryContextSwitchTo(TopTransactionContext);

	unsure = list_append_unique_oid(unsure, source);
	MemoryContextSwitchTo(old);
}

/* Before the commit, which the maintainer will see: where to look. */
static void
publish(const Sink *s)
{
	DdirDatabaseSlot *db = ddir_shared ? ddir_shared_mine() : NULL;
	uint32		low;

	if (db == NULL || s->low == InvalidBlockNumber)
		return;
	low = pg_atomic_read_u32(&db->cuts.low[s->k]);
	while (s->low < low &&
		   !pg_atomic_compare_exchange_u32(&db->cuts.low[s->k], &low, s->low))
		;
	pg_memory_barrier();
}

static void
close_sink(Sink *s)
{
	if (s->rel == NULL)
		return;
	publish(s);
	table_close(s->rel, NoLock);
}

static int32
next_number(int64 xid)
{
	static int64 last;
	static int32 n;

	if (xid != last)
		n = 0;
	last = xid;
	return n++;
}

static void
insert_chunk(Sink *s, bytea *chunk)
{
	Datum		values[DDIR_DELTA_COLUMNS];
	bool		nulls[DDIR_DELTA_COLUMNS] = {false};
	int64		xid = U64FromFullTransactionId(GetTopFullTransactionId());
	HeapTuple	tuple;

	values[0] = Int64GetDatum(xid);
	values[1] = Int32GetDatum(next_number(xid));
	values[2] = ObjectIdGetDatum(s->source);
	values[3] = PointerGetDatum(chunk);
	tuple = heap_form_tuple(RelationGetDescr(s->rel), values, nulls);
	heap_insert(s->rel, tuple, GetCurrentCommandId(true),
				HEAP_INSERT_SKIP_FSM | HEAP_INSERT_NO_LOGICAL, NULL);
	s->low = Min(s->low, ItemPointerGetBlockNumber(&tuple->t_self));
}

static void
write_chunk(Sink *s, bytea *chunk)
{
	if (s->rel == NULL)
	{
		open_sink(s);
		s->lost = is_lost(s);
		if (s->lost)
			note_unsure(s->source);
	}
	if (!s->lost)
		insert_chunk(s, chunk);
}

static bytea *
new_chunk(const Sink *s, DdirChunkKind kind, uint32 count, Size bytes, char **body)
{
	DdirChunkHead head = {.shape = s->shape,.kind = kind,.count = count};
	Size		size = VARHDRSZ + sizeof(head) + bytes;
	bytea	   *chunk;

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too large to be captured"),
				 errdetail("It has %zu bytes.", bytes)));
	chunk = palloc(size);
	SET_VARSIZE(chunk, size);
	memcpy(VARDATA(chunk), &head, sizeof(head));
	*body = VARDATA(chunk) + sizeof(head);
	return chunk;
}

/* Bytes of a chunk with the staged rows from "from" up to "to". */
static Size
staged_size(uint32 from, uint32 to)
{
	return sizeof(DdirChunkHead) + (to - from) * sizeof(uint32) +
		(staged.val.off[to] - staged.val.off[from]);
}

static void
write_range(Sink *s, uint32 from, uint32 to)
{
	uint32		n = to - from;
	Size		bytes = staged.val.off[to] - staged.val.off[from];
	MemoryContext old = MemoryContextSwitchTo(scratch);
	char	   *body;
	bytea	   *chunk = new_chunk(s, DDIR_CHUNK_OF_ROWS, n, n * sizeof(uint32) + bytes, &body);

	for (uint32 i = from; i < to; i++)
	{
		uint32		len = (staged.val.off[i + 1] - staged.val.off[i]) << 1 |
		(staged.diff[i] < 0);

		memcpy(body, &len, sizeof(len));
		body += sizeof(len);
	}
	memcpy(body, staged.val.bytes + staged.val.off[from], bytes);
	write_chunk(s, chunk);
	MemoryContextSwitchTo(old);
	MemoryContextReset(scratch);
}

/* Forget the staged rows before "from". */
static void
unstage(uint32 from)
{
	uint32		base = staged.val.off[from];

	staged.n -= from;
	memmove(staged.val.bytes, staged.val.bytes + base, staged.val.len - base);
	staged.val.len -= base;
	for (uint32 i = 0; i < staged.n; i++)
	{
		staged.val.off[i + 1] = staged.val.off[from + i + 1] - base;
		staged.diff[i] = staged.diff[from + i];
	}
}

/* Full chunks of what is staged, or all of it. */
static void
write_staged(Sink *s, bool all)
{
	uint32		from = 0;

	while (from < staged.n)
	{
		uint32		to = from + 1;

		while (to < staged.n && staged_size(from, to + 1) <= DDIR_CHUNK_BYTES_MAX)
			to++;
		if (to == staged.n && !all && staged_size(from, to) <= DDIR_CHUNK_BYTES_MAX)
			break;
		write_range(s, from, to);
		from = to;
	}
	if (from > 0)
		unstage(from);
}

static void
stage(const Written *w, TupleTableSlot *slot, int64 diff)
{
	uint32		len;

	slot_getallattrs(slot);
	len = ddir_image_pack(w->type, slot->tts_values, slot->tts_isnull, NULL, &staged);
	ddir_deltas_close(&staged, 0, len, NULL, diff, 0);
}

/* Either may be NULL. */
static void
capture_row(Sink *s, const Written *w, TupleTableSlot *removed, TupleTableSlot *added)
{
	MemoryContext old = MemoryContextSwitchTo(scratch);
	uint32		n = staged.n;

	if (removed)
		stage(w, removed, -1);
	if (added)
		stage(w, added, 1);
	if (removed && added)
	{
		DdirRef		was = ddir_lane_ref(&staged.val, n);
		DdirRef		is = ddir_lane_ref(&staged.val, n + 1);

		if (was.len == is.len && memcmp(was.p, is.p, is.len) == 0)
		{
			staged.n = n;
			staged.val.len = staged.val.off[n];
		}
	}
	MemoryContextSwitchTo(old);
	if (staged_size(0, staged.n) > DDIR_CHUNK_BYTES_MAX)
		write_staged(s, false);
}

/* ----
 * Statements
 * ----
 */

/* A transition table's reader of our own; NULL: there is no such table. */
static TupleTableSlot *
begin_reading(Tuplestorestate *store, Relation rel, int *reader)
{
	if (store == NULL)
		return NULL;
	*reader = tuplestore_alloc_read_pointer(store, EXEC_FLAG_REWIND);
	tuplestore_select_read_pointer(store, *reader);
	tuplestore_rescan(store);
	return MakeSingleTupleTableSlot(RelationGetDescr(rel), &TTSOpsMinimalTuple);
}

static TupleTableSlot *
next_row(Tuplestorestate *store, int reader, TupleTableSlot *slot)
{
	if (store == NULL)
		return NULL;
	tuplestore_select_read_pointer(store, reader);
	return tuplestore_gettupleslot(store, true, false, slot) ? slot : NULL;
}

static void
capture_statement(Sink *s, const Written *w, TriggerData *data)
{
	Tuplestorestate *removed = data->tg_oldtable;
	Tuplestorestate *added = data->tg_newtable;
	int			removed_reader = 0;
	int			added_reader = 0;
	TupleTableSlot *removed_slot = begin_reading(removed, data->tg_relation, &removed_reader);
	TupleTableSlot *added_slot = begin_reading(added, data->tg_relation, &added_reader);

	for (;;)
	{
		TupleTableSlot *was = next_row(removed, removed_reader, removed_slot);
		TupleTableSlot *is = next_row(added, added_reader, added_slot);

		if (was == NULL && is == NULL)
			break;
		CHECK_FOR_INTERRUPTS();
		capture_row(s, w, was, is);
	}
	if (removed_slot)
		ExecDropSingleTupleTableSlot(removed_slot);
	if (added_slot)
		ExecDropSingleTupleTableSlot(added_slot);
}

static void
capture_single(Sink *s, const Written *w, TriggerData *data)
{
	if (TRIGGER_FIRED_BY_INSERT(data->tg_event))
		capture_row(s, w, NULL, data->tg_trigslot);
	else if (TRIGGER_FIRED_BY_DELETE(data->tg_event))
		capture_row(s, w, data->tg_trigslot, NULL);
	else
		capture_row(s, w, data->tg_trigslot, data->tg_newslot);
}

static void
capture_truncate(Sink *s)
{
	char	   *body;

	write_chunk(s, new_chunk(s, DDIR_CHUNK_TRUNCATE, 0, 0, &body));
}

/*
 * A parent that has triggers for statements still, as of before it was one: its
 * transition tables have the rows of its children, too.
 */
static bool
is_mixed(const TriggerData *data)
{
	Relation	rel = data->tg_relation;

	return TRIGGER_FIRED_FOR_STATEMENT(data->tg_event) && rel->rd_rel->relhassubclass &&
		find_inheritance_children(RelationGetRelid(rel), NoLock) != NIL;
}

static void
capture_unknown(Sink *s)
{
	char	   *body;

	write_chunk(s, new_chunk(s, DDIR_CHUNK_UNKNOWN, 0, 0, &body));
}

/*
 * A prepared transaction may outlive the shared memory, where it is known that
 * changes are lost, and the rows of unlogged tables, which a crash takes away
 * but not what was written down of them.  So it says of itself that nobody
 * knows what it has changed.
 */
static void
transaction_ends(XactEvent event, void *arg)
{
	ListCell   *lc;

	if (event == XACT_EVENT_PRE_PREPARE)
	{
		foreach(lc, unsure)
		{
			Sink		sink = {.source = lfirst_oid(lc)};
			char	   *body;

			open_sink(&sink);
			insert_chunk(&sink, new_chunk(&sink, DDIR_CHUNK_UNKNOWN, 0, 0, &body));
			close_sink(&sink);
		}
	}
	else if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE)
		unsure = NIL;
}

/*
 * In sessions of role "replica" the row trigger does the work, in others the
 * statement triggers do, so that none does it twice however the user has
 * enabled them.  A source that has row triggers only says so by an argument.
 */
static bool
is_in_charge(const TriggerData *data)
{
	bool		replica = SessionReplicationRole == SESSION_REPLICATION_ROLE_REPLICA;

	if (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		return true;
	if (TRIGGER_FIRED_FOR_ROW(data->tg_event))
		return replica || data->tg_trigger->tgnargs > 0;
	return !replica;
}

/* Nothing to be captured, as is soon seen. */
static bool
is_empty(const TriggerData *data)
{
	return TRIGGER_FIRED_FOR_STATEMENT(data->tg_event) &&
		!TRIGGER_FIRED_BY_TRUNCATE(data->tg_event) &&
		(data->tg_oldtable == NULL || tuplestore_tuple_count(data->tg_oldtable) == 0) &&
		(data->tg_newtable == NULL || tuplestore_tuple_count(data->tg_newtable) == 0);
}

Datum
ddir_capture_changes(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	Sink		sink = {0};
	const Written *w;

	if (!CALLED_AS_TRIGGER(fcinfo) || !data->tg_trigger->tgisinternal ||
		!TRIGGER_FIRED_AFTER(data->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function ddir._capture() serves triggers of ddir only"),
				 errhint("Use CREATE MATERIALIZED VIEW ... USING ddir.")));
	if (!is_in_charge(data) || is_empty(data))
		return PointerGetDatum(NULL);

	prepare_session();
	ddir_deltas_clear(&staged);
	MemoryContextReset(scratch);
	w = written_table(data->tg_relation);
	sink.source = RelationGetRelid(data->tg_relation);
	sink.shape = w->shape;
	if (data->tg_relation->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		note_unsure(sink.source);
	if (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event))
		capture_truncate(&sink);
	else if (is_mixed(data))
		capture_unknown(&sink);
	else if (TRIGGER_FIRED_FOR_ROW(data->tg_event))
		capture_single(&sink, w, data);
	else
		capture_statement(&sink, w, data);
	write_staged(&sink, true);
	close_sink(&sink);

	if (ddir_deltas_bytes(&staged) > KEEP_BYTES)
	{
		ddir_deltas_free(&staged);
		ddir_deltas_init(&staged, ddir_arena_of(session), 1, false);
	}
	return PointerGetDatum(NULL);
}
