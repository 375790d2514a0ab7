/*-------------------------------------------------------------------------
 *
 * aggrun.c
 *	  Aggregates as states of a reduction: the states at work.
 *
 * Fold unpacks a chunk of rows into columns and folds each column at once.
 * It raises no row errors: accumulators cannot overflow.  Results can: emit
 * runs under ddir_guard and knows which group it is at, so after a row error
 * it puts an error row in that group's place and goes on behind it.
 *
 * Memory: states' out-of-line parts are in a context of their own, freed by
 * drop; what belongs to a chunk or a group is in the scratch context.
 *
 * src/rows/aggrun.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "base/port.h"
#include "rows/aggstate.h"
#include "rows/program.h"

/* ----
 * Key images
 * ----
 */

static inline const uint8 *
key_bytes(const DdirKeyImage *k)
{
	const uint8 *p;

	if (k->len <= DDIR_KEY_INSIDE)
		return k->inside;
	memcpy(&p, k->inside + DDIR_KEY_INSIDE - sizeof(p), sizeof(p));
	return p;
}

static void
key_set(DdirAggs *a, DdirKeyImage *k, const uint8 *bytes, uint32 len)
{
	ddir_check(len > 0 && k->len == 0);
	if (len <= DDIR_KEY_INSIDE)
		memcpy(k->inside, bytes, len);
	else
	{
		uint8	   *p = MemoryContextAlloc(a->state_cxt, len);

		memcpy(p, bytes, len);
		memcpy(k->inside + DDIR_KEY_INSIDE - sizeof(p), &p, sizeof(p));
	}
	k->len = len;
}

/* The key columns of a row of this port, into row_values. */
static void
fetch_key(DdirAggs *a, const DdirAggPort *port, DdirRef val)
{
	if (!ddir_fetch(port->key, val, a->row_values, a->row_isnull, a->scratch))
		ddir_error(DDIR_ERROR_INTERNAL, "malformed row in a group");
}

/* Keep those in row_values. */
static void
keep_key(DdirAggs *a, DdirKeyImage *k)
{
	uint32		len;

	ddir_deltas_clear(&a->buffer);
	len = ddir_image_pack(a->key_type, a->row_values, a->row_isnull, NULL, &a->buffer);
	ddir_deltas_close(&a->buffer, 0, len, NULL, 1, 0);
	key_set(a, k, ddir_lane_ref(&a->buffer.val, 0).p, len);
}

/* The kept key columns, into key_values. */
static void
load_key(DdirAggs *a, const DdirKeyImage *k)
{
	DdirRef		image = {key_bytes(k), k->len};

	if (k->len == 0 ||
		!ddir_image_unpack(a->key_type, image, NULL, a->key_values, a->key_isnull, a->scratch))
		ddir_error(DDIR_ERROR_INTERNAL, "a group has lost its key");
}

/* ----
 * Is the row of the group?
 * ----
 */

typedef struct Same
{
	DdirAggs   *aggs;
	const DdirAggPort *port;
	DdirKeyImage *key;
	DdirRef		val;
	bool		same;
} Same;

static void
same_guarded(void *arg)
{
	Same	   *s = arg;
	DdirAggs   *a = s->aggs;

	MemoryContextReset(a->scratch);
	MemoryContextSwitchTo(a->scratch);
	fetch_key(a, s->port, s->val);
	s->same = true;
	if (s->key->len == 0)
		keep_key(a, s->key);
	else
	{
		load_key(a, s->key);
		s->same = ddir_key_equal(a->key, a->key_values, a->key_isnull,
								 a->row_values, a->row_isnull);
	}
}

static void
raise_message(void *arg)
{
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("rows of a group cannot be compared"),
			 errdetail_internal("%s", (char *) arg)));
}

/*
 * Run something that has no row to blame: any error is a failure.  So it needs
 * no subtransaction, as the whole one ends.
 */
static bool
guard_all(DdirAggs *a, void (*fn) (void *arg), void *arg)
{
	MemoryContext old = MemoryContextSwitchTo(a->message_cxt);
	char	   *message;
	int			sqlstate = ddir_guard(fn, arg, false, &message);

	MemoryContextSwitchTo(a->message_cxt);
	if (sqlstate != 0 && ddir_sqlstate_is_row_error(sqlstate))
	{
		char	   *ignored;

		(void) ddir_guard(raise_message, message, false, &ignored);
	}
	MemoryContextReset(a->message_cxt);
	MemoryContextSwitchTo(old);
	return sqlstate == 0;
}

int
ddir_agg_same(void *ctx, int port, DdirGroup *group, DdirRef val)
{
	DdirAggs   *a = ctx;
	Same		s = {a, &a->port[port], group->state, val, false};

	if (!guard_all(a, same_guarded, &s))
		return -1;
	return s.same;
}

/* ----
 * Fold
 * ----
 */

typedef struct Fold
{
	DdirAggs   *aggs;
	DdirAggPort *port;
	uint32		n;
	DdirGroup  *const *group;
	const DdirRef *val;
	const int64 *diff;
} Fold;

/* Groups that have no key columns yet take them from their row. */
static void
keep_keys(DdirAggs *a, const Fold *f)
{
	for (uint32 i = 0; i < f->n; i++)
	{
		DdirKeyImage *k = f->group[i]->state;

		if (likely(k->len != 0))
			continue;
		fetch_key(a, f->port, f->val[i]);
		keep_key(a, k);
	}
}

static void
fold_chunk(DdirAggs *a, const Fold *f)
{
	DdirAggPort *port = f->port;
	DdirAccumInput in = {
		.n = f->n,
		.group = f->group,
		.diff = f->diff,
		.stride = port->nvalues,
		.cxt = a->state_cxt
	};

	if (a->keeps_key && a->exact)
		keep_keys(a, f);
	if (port->fetch)
		for (uint32 i = 0; i < f->n; i++)
			if (!ddir_fetch(port->fetch, f->val[i], port->values + (Size) i * port->nvalues,
							port->isnull + (Size) i * port->nvalues, a->scratch))
				ddir_error(DDIR_ERROR_INTERNAL, "malformed row in an aggregate's input");
	for (int k = 0; k < port->nslots; k++)
	{
		const DdirAggSlot *slot = &port->slot[k];

		in.offset = slot->offset;
		in.value = slot->place < 0 ? NULL : port->values + slot->place;
		in.isnull = slot->place < 0 ? NULL : port->isnull + slot->place;
		ddir_accum_fold(slot->kind, &in);
	}
}

static void
fold_guarded(void *arg)
{
	const Fold *f = arg;
	DdirAggs   *a = f->aggs;

	MemoryContextSwitchTo(a->scratch);
	for (uint32 from = 0; from < f->n; from += DDIR_FOLD_ROWS)
	{
		Fold		chunk = *f;

		MemoryContextReset(a->scratch);
		chunk.n = Min(f->n - from, DDIR_FOLD_ROWS);
		chunk.group += from;
		chunk.val += from;
		chunk.diff += from;
		fold_chunk(a, &chunk);
	}
}

bool
ddir_agg_fold(void *ctx, int port, uint32_t n, DdirGroup *const *group, const DdirRef *val,
			  const int64_t *diff)
{
	DdirAggs   *a = ctx;
	Fold		f = {a, &a->port[port], n, group, val, diff};

	return guard_all(a, fold_guarded, &f);
}

/* ----
 * Emit
 * ----
 */

typedef struct Emit
{
	DdirAggs   *aggs;
	uint32		n;
	DdirGroup  *const *group;
	int64		diff;
	DdirCursor *cursor;
	DdirDeltas *out;
	DdirDeltas *err;
	uint32		at;				/* group at work */
	int			sqlstate;		/* its row error, or 0 */
	char	   *message;
	/* reading an arrangement */
	int			arr;
	DdirCursor *reading;
} Emit;

static void
seek_group(Emit *e, int arr)
{
	const DdirGroup *group = e->group[e->at];

	e->arr = arr;
	e->reading = &e->cursor[arr];
	ddir_cursor_seek(e->reading, group->hash, group->key.p, group->key.len);
}

/*
 * The next val of the group, past "order" bytes of it: unpacked.  Rows of other
 * groups that have the same key bytes are passed over.
 */
static bool
next_of_group(Emit *e, MemoryContext cxt, Oid order_type, Datum *values, bool *isnull,
			  int64 *times)
{
	DdirAggs   *a = e->aggs;
	DdirRef		val;
	int64_t		diff;

	while (ddir_cursor_next(e->reading, &val, &diff))
	{
		if (OidIsValid(order_type))
		{
			uint32		order = ddir_order_length(order_type, val);

			if (order == 0 || order > val.len)
				ddir_error(DDIR_ERROR_INTERNAL, "malformed order in an arrangement");
			val.p += order;
			val.len -= order;
		}
		if (!ddir_image_unpack(a->arr[e->arr].type, val, NULL, values, isnull, cxt))
			ddir_error(DDIR_ERROR_INTERNAL, "malformed row in an arrangement");
		if (!a->exact &&
			!ddir_key_equal(a->key, a->key_values, a->key_isnull, values, isnull))
			continue;
		if (diff < 0)
			ddir_error(DDIR_ERROR_NEGATIVE, "a row of a group is there " INT64_FORMAT " times",
					   (int64) diff);
		*times = diff;
		return true;
	}
	return false;
}

/* The key columns, as they are shown. */
static void
emit_key(Emit *e)
{
	DdirAggs   *a = e->aggs;
	int64		times;

	if (a->keeps_key)
		load_key(a, e->group[e->at]->state);
	if (a->label_arr < 0)
	{
		memcpy(a->out_values, a->key_values, a->nkeys * sizeof(Datum));
		memcpy(a->out_isnull, a->key_isnull, a->nkeys * sizeof(bool));
		return;
	}
	seek_group(e, a->label_arr);
	if (!next_of_group(e, a->scratch, InvalidOid, a->out_values, a->out_isnull, &times))
		ddir_error(DDIR_ERROR_INTERNAL, "a group has no label");
}

static bool
next_row(void *ctx, MemoryContext cxt, Datum *values, bool *isnull, int64 *times)
{
	return next_of_group(ctx, cxt, InvalidOid, values, isnull, times);
}

static bool
emit_result(Emit *e, const DdirAggOutput *r, Datum *value)
{
	DdirAggs   *a = e->aggs;
	DdirAggArr *arr = r->arr < 0 ? NULL : &a->arr[r->arr];
	DdirRowSource rows = {next_row, e};
	int64		times;
	int			col;

	switch (r->method)
	{
		case DDIR_AGG_FOLD:
			return ddir_accum_result(r->final, (char *) e->group[e->at]->state + r->offset,
									 value);
		case DDIR_AGG_SEEK:
			col = arr->type->natts - 1;
			seek_group(e, r->arr);
			if (!next_of_group(e, a->scratch, arr->type->col[col].typid,
							   arr->values, arr->isnull, &times))
				return false;
			*value = arr->values[col];
			return !arr->isnull[col];
		case DDIR_AGG_RECOMPUTE:
			seek_group(e, r->arr);
			return ddir_recompute(r->recompute, &rows, value);
	}
	return false;
}

static void
emit_group(Emit *e)
{
	DdirAggs   *a = e->aggs;
	uint32		len;

	MemoryContextReset(a->scratch);
	if (a->nkeys > 0)
		emit_key(e);
	for (int i = 0; i < a->noutputs; i++)
	{
		Datum		value = (Datum) 0;

		a->out_isnull[a->nkeys + i] = !emit_result(e, &a->output[i], &value);
		a->out_values[a->nkeys + i] = value;
	}
	len = ddir_image_pack(a->out_type, a->out_values, a->out_isnull, NULL, e->out);
	ddir_deltas_close(e->out, 0, len, NULL, e->diff, e->at);
}

static void
emit_guarded(void *arg)
{
	Emit	   *e = arg;
	DdirAggs   *a = e->aggs;
	DdirActing	before;

	MemoryContextSwitchTo(a->scratch);
	if (e->sqlstate != 0)
	{
		int			sqlstate = e->sqlstate;

		e->sqlstate = 0;
		ddir_error_row_push(e->err, sqlstate, e->message, NULL, e->diff, e->at);
		e->at++;
	}
	before = ddir_act_as(a->foreign ? a->owner : InvalidOid);
	for (; e->at < e->n; e->at++)
		emit_group(e);
	ddir_act_back(&before);
}

bool
ddir_agg_emit(void *ctx, uint32_t n, DdirGroup *const *group, int64_t diff,
			  DdirCursor *cursor, DdirDeltas *out, DdirDeltas *err)
{
	DdirAggs   *a = ctx;
	Emit		e = {
		.aggs = a,
		.n = n,
		.group = group,
		.diff = diff,
		.cursor = cursor,
		.out = out,
		.err = err
	};
	MemoryContext old = MemoryContextSwitchTo(a->message_cxt);

	/* each time the run ends by a row error, it goes on behind that group */
	do
	{
		char	   *message;

		e.sqlstate = ddir_guard(emit_guarded, &e, a->foreign, &message);
		e.message = message;
	} while (e.sqlstate != 0 && ddir_sqlstate_is_row_error(e.sqlstate));

	MemoryContextReset(a->message_cxt);
	MemoryContextSwitchTo(old);
	return e.sqlstate == 0;
}

/* ----
 * Drop
 * ----
 */

void
ddir_agg_drop(void *ctx, void *state)
{
	DdirAggs   *a = ctx;

	for (int p = 0; p < a->nports; p++)
		for (int k = 0; k < a->port[p].nslots; k++)
			ddir_accum_drop(a->port[p].slot[k].kind,
							(char *) state + a->port[p].slot[k].offset);
	if (a->keeps_key)
	{
		DdirKeyImage *k = state;

		if (k->len > DDIR_KEY_INSIDE)
			pfree((void *) key_bytes(k));
		memset(k, 0, sizeof(*k));
	}
}
