/*-------------------------------------------------------------------------
 *
 * codec.c
 *	  Drives row images: there and back, and with bits flipped.
 *
 * test/modules/test_ddir/codec.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "base/compat.h"
#include "rows/numeric.h"
#include "rows/key.h"
#include "test_ddir.h"

PG_FUNCTION_INFO_V1(test_ddir_image);
PG_FUNCTION_INFO_V1(test_ddir_image_text);
PG_FUNCTION_INFO_V1(test_ddir_roundtrip);
PG_FUNCTION_INFO_V1(test_ddir_stored_images);
PG_FUNCTION_INFO_V1(test_ddir_indirect);
PG_FUNCTION_INFO_V1(test_ddir_fuzz);

/* Where a column is not used, nothing is. */
static Row
only_used(const Row *row, const Bitmapset *used)
{
	int			natts = row->type->natts;
	Row			rest = {row->type, palloc(natts * sizeof(Datum) + 1), palloc(natts + 1)};

	memset(rest.values, 0xCA, natts * sizeof(Datum));
	memset(rest.isnull, 0xCA, natts);
	for (int i = -1; (i = bms_next_member(used, i)) >= 0;)
	{
		rest.values[i - 1] = row->values[i - 1];
		rest.isnull[i - 1] = row->isnull[i - 1];
	}
	return rest;
}

static DdirRef
pack(const Row *row, const Bitmapset *used)
{
	DdirDeltas *d = new_deltas(false);
	Row			part = used ? only_used(row, used) : *row;
	uint32		len = ddir_image_pack(part.type, part.values, part.isnull, used, d);

	ddir_deltas_close(d, 0, len, NULL, 1, 0);
	return ddir_lane_ref(&d->val, 0);
}

/* image(record) returns bytea */
Datum
test_ddir_image(PG_FUNCTION_ARGS)
{
	Row			row = row_of(PG_GETARG_DATUM(0));
	DdirRef		image = pack(&row, NULL);
	bytea	   *result = palloc(image.len + VARHDRSZ);

	SET_VARSIZE(result, image.len + VARHDRSZ);
	memcpy(VARDATA(result), image.p, image.len);
	PG_RETURN_BYTEA_P(result);
}

/* image_text(record) returns text */
Datum
test_ddir_image_text(PG_FUNCTION_ARGS)
{
	Row			row = row_of(PG_GETARG_DATUM(0));

	PG_RETURN_TEXT_P(cstring_to_text(ddir_image_text(row.type, pack(&row, NULL))));
}

static void
check_values(const Row *row, const bool *wanted, const Datum *values, const bool *isnull)
{
	for (int i = 0; i < row->type->natts; i++)
	{
		const DdirColumnType *c = &row->type->col[i];

		if (wanted && !wanted[i])
			continue;
		/* what a dropped column held may still be in the row */
		if (!OidIsValid(c->typid))
		{
			if (!isnull[i])
				elog(ERROR, "column %d is dropped and not NULL", i + 1);
			continue;
		}
		if (isnull[i] != row->isnull[i])
			elog(ERROR, "column %d: NULL was lost or found", i + 1);
		if (!isnull[i] && !datum_image_eq(row->values[i], values[i], c->typbyval, c->typlen))
			elog(ERROR, "column %d: another value came back", i + 1);
		if (!isnull[i] && !c->typbyval && c->typlen > 0 && c->typalign == TYPALIGN_DOUBLE &&
			(values[i] & (ALIGNOF_DOUBLE - 1)) != 0)
			elog(ERROR, "column %d: not aligned", i + 1);
	}
}

/*
 * roundtrip(record): pack, unpack all, each column alone, by fetches too, pack
 * what came back; everything must be the same.
 */
Datum
test_ddir_roundtrip(PG_FUNCTION_ARGS)
{
	Row			row = row_of(PG_GETARG_DATUM(0));
	int			natts = row.type->natts;
	DdirRef		image = pack(&row, NULL);
	DdirRef		at_edge = guarded(image.p, image.len);
	Row			back = {row.type, palloc0(natts * sizeof(Datum) + 1), palloc0(natts + 1)};
	bool	   *wanted = palloc0(natts + 1);
	int		   *to = palloc(natts * sizeof(int) + 1);
	DdirRef		again;

	if (!ddir_image_unpack(row.type, at_edge, NULL, back.values, back.isnull,
						   CurrentMemoryContext))
		elog(ERROR, "image is malformed");
	check_values(&row, NULL, back.values, back.isnull);
	again = pack(&back, NULL);
	if (ddir_bytes_cmp(again.p, again.len, image.p, image.len) != 0)
		elog(ERROR, "image of what was unpacked is another");

	for (int i = 0; i < natts; i++)
		to[i] = -1;
	for (int i = 0; i < natts; i++)
	{
		DdirFetch  *fetch;

		wanted[i] = true;
		to[i] = i;
		fetch = ddir_fetch_make(row.type, to);
		if (!ddir_image_unpack(row.type, at_edge, wanted, back.values, back.isnull,
							   CurrentMemoryContext))
			elog(ERROR, "image is malformed for column %d", i + 1);
		check_values(&row, wanted, back.values, back.isnull);
		memset(back.values, 0, natts * sizeof(Datum));
		memset(back.isnull, 0, natts);
		if (!ddir_fetch(fetch, at_edge, back.values, back.isnull, CurrentMemoryContext))
			elog(ERROR, "image is malformed for the fetch of column %d", i + 1);
		check_values(&row, wanted, back.values, back.isnull);
		if (i % 2 == 0)
			wanted[i] = false, to[i] = -1;
	}
	PG_RETURN_BOOL(true);
}

/*
 * stored_images(regclass, only int): images of a table's rows as they are
 * stored, with their TOAST pointers; of one column alone if only > 0.
 */
Datum
test_ddir_stored_images(PG_FUNCTION_ARGS)
{
	Relation	rel = table_open(PG_GETARG_OID(0), AccessShareLock);
	int			only = PG_GETARG_INT32(1);
	Row			row = {.type = ddir_rowtype_from_tupdesc(RelationGetDescr(rel))};
	TupleTableSlot *slot = table_slot_create(rel, NULL);
	TableScanDesc scan = table_beginscan(rel, GetActiveSnapshot(), 0, NULL);
	Bitmapset  *used = only > 0 ? bms_make_singleton(only) : NULL;
	ArrayBuildState *result = initArrayResult(BYTEAOID, CurrentMemoryContext, false);

	while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
	{
		DdirRef		image;
		bytea	   *bytes;

		slot_getallattrs(slot);
		row.values = slot->tts_values;
		row.isnull = slot->tts_isnull;
		image = pack(&row, used);
		bytes = palloc(image.len + VARHDRSZ);
		SET_VARSIZE(bytes, image.len + VARHDRSZ);
		memcpy(VARDATA(bytes), image.p, image.len);
		accumArrayResult(result, PointerGetDatum(bytes), false, BYTEAOID, CurrentMemoryContext);
	}
	table_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	table_close(rel, AccessShareLock);
	PG_RETURN_DATUM(makeArrayResult(result, CurrentMemoryContext));
}

/*
 * indirect(text): is the image of a pointer to a value in memory, as logical
 * decoding makes them, that of the value?
 */
Datum
test_ddir_indirect(PG_FUNCTION_ARGS)
{
	Oid			typid = TEXTOID;
	Datum		value = PG_GETARG_DATUM(0);
	bool		isnull = false;
	Row			row = {ddir_rowtype_make(1, &typid, NULL, NULL), &value, &isnull};
	DdirRef		direct = pack(&row, NULL);
	struct varatt_indirect redirect = {(struct varlena *) DatumGetPointer(value)};
	char	   *pointer = palloc(INDIRECT_POINTER_SIZE);
	DdirRef		indirect;

	SET_VARTAG_EXTERNAL(pointer, VARTAG_INDIRECT);
	memcpy(VARDATA_EXTERNAL(pointer), &redirect, sizeof(redirect));
	value = PointerGetDatum(pointer);
	indirect = pack(&row, NULL);
	PG_RETURN_BOOL(ddir_bytes_cmp(direct.p, direct.len, indirect.p, indirect.len) == 0);
}

/* Read all bytes of what was unpacked. */
static uint64
touch(const DdirRowType *type, const Datum *values, const bool *isnull)
{
	uint64		sum = 0;

	for (int i = 0; i < type->natts; i++)
	{
		const DdirColumnType *c = &type->col[i];
		const uint8_t *p;
		size_t		len;

		if (isnull[i] || c->typbyval)
			continue;
		p = (const uint8_t *) DatumGetPointer(values[i]);
		len = c->typlen > 0 ? c->typlen : c->typlen == -2 ? strlen((const char *) p) :
			VARSIZE_ANY(p);
		for (size_t k = 0; k < len; k++)
			sum += p[k];
		if (c->typid == NUMERICOID)
		{
			DdirNumeric n;

			sum += ddir_numeric_open((const struct varlena *) p, &n);
		}
	}
	return sum;
}

static uint32
mutate(uint8_t *bytes, uint32 len, uint32 room, pg_prng_state *rng)
{
	int			changes = 1 + pg_prng_uint64_range(rng, 0, 3);

	for (int k = 0; k < changes; k++)
	{
		uint32		at = len > 0 ? pg_prng_uint64_range(rng, 0, len - 1) : 0;

		switch (pg_prng_uint64_range(rng, 0, 4))
		{
			case 0:
				len = len > 0 ? at : 0;
				break;
			case 1:
				if (len < room)
					bytes[len++] = (uint8_t) pg_prng_uint64(rng);
				break;
			case 2:
				if (len > 0)
					bytes[at] = (uint8_t) pg_prng_uint64(rng);
				break;
			default:
				if (len > 0)
					bytes[at] ^= 1 << pg_prng_uint64_range(rng, 0, 7);
				break;
		}
	}
	return len;
}

/*
 * fuzz(record, seed, n): damage the row's image n times and unpack; nothing may
 * be read beyond its end.  How often it was seen to be malformed.
 */
Datum
test_ddir_fuzz(PG_FUNCTION_ARGS)
{
	Row			row = row_of(PG_GETARG_DATUM(0));
	int			n = PG_GETARG_INT32(2);
	int			natts = row.type->natts;
	DdirRef		image = pack(&row, NULL);
	uint32		room = image.len + 8;
	uint8_t    *bytes = palloc(room);
	Datum	   *values = palloc0(natts * sizeof(Datum) + 1);
	bool	   *isnull = palloc0(natts + 1);
	int		   *to = palloc(natts * sizeof(int) + 1);
	DdirFetch  *last;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "scratch",
												  ALLOCSET_DEFAULT_SIZES);
	int64		malformed = 0;
	volatile uint64 sink = 0;
	pg_prng_state rng;

	pg_prng_seed(&rng, PG_GETARG_INT64(1));
	for (int i = 0; i < natts; i++)
		to[i] = i == natts - 1 ? i : -1;
	last = ddir_fetch_make(row.type, to);
	for (int k = 0; k < n; k++)
	{
		uint32		len;
		DdirRef		bad;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(scratch);
		memcpy(bytes, image.p, image.len);
		len = mutate(bytes, image.len, room, &rng);
		bad = guarded(bytes, len);
		if (ddir_image_unpack(row.type, bad, NULL, values, isnull, scratch))
			sink += touch(row.type, values, isnull);
		else
			malformed++;
		memset(isnull, true, natts);
		if (ddir_fetch(last, bad, values, isnull, scratch))
			sink += touch(row.type, values, isnull);
		for (int i = 0; i < natts; i++)
			if (ddir_order_length(row.type->col[i].typid, bad) > len)
				elog(ERROR, "an order encoding is longer than its val");
	}
	PG_RETURN_INT64(malformed);
}
