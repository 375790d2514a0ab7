/*-------------------------------------------------------------------------
 *
 * key.c
 *	  Drives keys and order encodings: their laws, over all pairs of values.
 *
 * test/modules/test_ddir/key.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "rows/key.h"
#include "test_ddir.h"

PG_FUNCTION_INFO_V1(test_ddir_key_text);
PG_FUNCTION_INFO_V1(test_ddir_key_law);
PG_FUNCTION_INFO_V1(test_ddir_key_law_cross);
PG_FUNCTION_INFO_V1(test_ddir_key_row);
PG_FUNCTION_INFO_V1(test_ddir_order_law);

static const char *const encoding_names[] = {
	[DDIR_ENCODE_IMAGE] = "image",
	[DDIR_ENCODE_INT8] = "int8",
	[DDIR_ENCODE_TEXT] = "text",
	[DDIR_ENCODE_BPCHAR] = "bpchar",
	[DDIR_ENCODE_NUMERIC] = "numeric",
	[DDIR_ENCODE_FLOAT8] = "float8",
	[DDIR_ENCODE_INTERVAL] = "interval",
	[DDIR_ENCODE_DATETIME] = "datetime",
	[DDIR_ENCODE_CITEXT] = "citext",
	[DDIR_ENCODE_HASH] = "hash",
};

static void
append_column(StringInfo buf, const DdirKeyColumn *c)
{
	appendStringInfo(buf, "%s", encoding_names[c->encoding]);
	if (c->encoding == DDIR_ENCODE_HASH && !OidIsValid(c->fn.fn_oid))
		appendStringInfoString(buf, " constant");
	if (c->width >= 0)
		appendStringInfo(buf, " %d", c->width);
	if (c->lossy)
		appendStringInfoString(buf, " lossy");
	if (!c->exact)
		appendStringInfoString(buf, " inexact");
}

/* key_text(regtype, op regoperator, collation oid): how it is encoded */
Datum
test_ddir_key_text(PG_FUNCTION_ARGS)
{
	Oid			typid = PG_GETARG_OID(0);
	Oid			eqop = PG_GETARG_OID(1);
	Oid			collation = PG_GETARG_OID(2);
	DdirKeySpec *spec = ddir_key_make(DDIR_KEY_GROUP, 1, &typid,
									  OidIsValid(collation) ? &collation : NULL, &eqop);
	StringInfoData buf;

	initStringInfo(&buf);
	append_column(&buf, &spec->col[0]);
	PG_RETURN_TEXT_P(cstring_to_text(buf.data));
}

/* Encode every value alone; entry i of the run is value i. */
static DdirDeltas *
encode_all(const DdirKeySpec *spec, int n, const Datum *values, const bool *isnull)
{
	DdirDeltas *d = new_deltas(true);

	for (int i = 0; i < n; i++)
	{
		int			len = ddir_key_encode(spec, &values[i], &isnull[i], d);

		if (len < 0)
			elog(ERROR, "a group key is missing");
		ddir_deltas_close(d, len, 0, NULL, 1, 0);
	}
	return d;
}

static bool
same_key(const DdirDeltas *a, int i, const DdirDeltas *b, int j)
{
	DdirRef		x = ddir_lane_ref(&a->key, i);
	DdirRef		y = ddir_lane_ref(&b->key, j);

	return ddir_bytes_cmp(x.p, x.len, y.p, y.len) == 0;
}

/* What is counted over pairs. */
typedef struct Law
{
	int			equal;
	int			missed;			/* equal values, different keys: wrong */
	int			false_match;	/* different values, equal keys */
	int			disagree;		/* ddir_key_equal says otherwise: wrong */
} Law;

static Datum
law_result(const DdirKeySpec *spec, int pairs, const Law *law)
{
	StringInfoData buf;

	initStringInfo(&buf);
	append_column(&buf, &spec->col[0]);
	appendStringInfo(&buf, ": %d pairs, %d equal", pairs, law->equal);
	if (law->missed || law->disagree || (spec->exact && law->false_match))
		appendStringInfo(&buf, "; WRONG: %d missed, %d false, %d disagree",
						 law->missed, law->false_match, law->disagree);
	return PointerGetDatum(cstring_to_text(buf.data));
}

/*
 * key_law(anyarray): keys of the elements against the type's equality, under
 * the call's collation.
 */
Datum
test_ddir_key_law(PG_FUNCTION_ARGS)
{
	Oid			collation = PG_GET_COLLATION();
	Oid			typid;
	Datum	   *v;
	bool	   *null;
	int			n = elements_of(PG_GETARG_DATUM(0), &typid, &v, &null);
	DdirKeySpec *spec = ddir_key_make(DDIR_KEY_GROUP, 1, &typid, &collation, NULL);
	DdirKeySpec *copy = ddir_key_copy(spec);
	DdirDeltas *d = encode_all(copy, n, v, null);
	TypeCacheEntry *type = lookup_type_cache(typid, TYPECACHE_EQ_OPR_FINFO);
	Law			law = {0};

	if (!ddir_key_compatible(spec, copy))
		elog(ERROR, "a copy is not compatible");
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
		{
			bool		equal;

			if (null[i] || null[j])
				equal = null[i] && null[j];
			else
				equal = DatumGetBool(FunctionCall2Coll(&type->eq_opr_finfo, collation, v[i], v[j]));
			law.equal += equal;
			law.missed += equal && !same_key(d, i, d, j);
			law.false_match += !equal && same_key(d, i, d, j);
			law.disagree += equal != ddir_key_equal(copy, &v[i], &null[i], &v[j], &null[j]);
		}
	PG_RETURN_DATUM(law_result(spec, n * n, &law));
}

/* key_law_cross(left anyarray, right anyarray, op regoperator) */
Datum
test_ddir_key_law_cross(PG_FUNCTION_ARGS)
{
	Oid			collation = PG_GET_COLLATION();
	Oid			eqop = PG_GETARG_OID(2);
	Oid			ltype;
	Oid			rtype;
	Datum	   *l;
	Datum	   *r;
	bool	   *lnull;
	bool	   *rnull;
	int			nl = elements_of(PG_GETARG_DATUM(0), &ltype, &l, &lnull);
	int			nr = elements_of(PG_GETARG_DATUM(1), &rtype, &r, &rnull);
	DdirKeySpec *lspec = ddir_key_make(DDIR_KEY_JOIN, 1, &ltype, &collation, &eqop);
	DdirKeySpec *rspec = ddir_key_make(DDIR_KEY_JOIN, 1, &rtype, &collation, &eqop);
	DdirDeltas *ld = encode_all(lspec, nl, l, lnull);
	DdirDeltas *rd = encode_all(rspec, nr, r, rnull);
	Law			law = {0};

	if (!ddir_key_compatible(lspec, rspec))
		elog(ERROR, "the two sides are not compatible");
	for (int i = 0; i < nl; i++)
		for (int j = 0; j < nr; j++)
		{
			bool		equal = DatumGetBool(OidFunctionCall2Coll(get_opcode(eqop), collation,
																  l[i], r[j]));

			law.equal += equal;
			law.missed += equal && !same_key(ld, i, rd, j);
			law.false_match += !equal && same_key(ld, i, rd, j);
		}
	PG_RETURN_DATUM(law_result(lspec, nl * nr, &law));
}

/* key_row(record, kind): the key of all columns, NULL if there is none */
Datum
test_ddir_key_row(PG_FUNCTION_ARGS)
{
	Row			row = row_of(PG_GETARG_DATUM(0));
	int			natts = row.type->natts;
	Oid		   *typids = palloc(natts * sizeof(Oid) + 1);
	DdirDeltas *d = new_deltas(true);
	DdirKeySpec *spec;
	bytea	   *result;
	int			len;

	for (int i = 0; i < natts; i++)
		typids[i] = row.type->col[i].typid;
	spec = ddir_key_make(PG_GETARG_INT32(1), natts, typids, NULL, NULL);
	len = ddir_key_encode(spec, row.values, row.isnull, d);
	if (len < 0)
		PG_RETURN_NULL();
	result = palloc(len + VARHDRSZ);
	SET_VARSIZE(result, len + VARHDRSZ);
	if (len > 0)
		memcpy(VARDATA(result), d->key.bytes, len);
	PG_RETURN_BYTEA_P(result);
}

static int
sign(int x)
{
	return (x > 0) - (x < 0);
}

/*
 * The encodings of all values in one order; each is written behind two
 * other bytes, and a third follows, as in the vals of an arrangement.
 */
static DdirDeltas *
order_all(Oid typid, int n, const Datum *values, const bool *isnull, bool descending,
		  bool nulls_first)
{
	DdirDeltas *d = new_deltas(false);

	for (int i = 0; i < n; i++)
	{
		uint32		len;
		DdirRef		val;

		memset(ddir_deltas_val_room(d, 2), 0xAB, 2);
		len = 2 + ddir_order_encode(typid, values[i], isnull[i], descending, nulls_first, d, 2);
		ddir_deltas_val_room(d, len + 1)[len] = 0x55;
		ddir_deltas_close(d, 0, len + 1, NULL, 1, 0);
		val = ddir_lane_ref(&d->val, i);
		if (val.p[0] != 0xAB || val.p[1] != 0xAB)
			elog(ERROR, "what stood before was overwritten");
		val = guarded(val.p + 2, val.len - 2);
		if (ddir_order_length(typid, val) != len - 2)
			elog(ERROR, "the length of an encoding is %u, not %u",
				 ddir_order_length(typid, val), len - 2);
		val = guarded(val.p, len - 3);
		if (ddir_order_length(typid, val) != 0)
			elog(ERROR, "a truncated encoding is not noticed");
	}
	return d;
}

/* order_law(anyarray): memcmp of encodings against the type's comparison */
Datum
test_ddir_order_law(PG_FUNCTION_ARGS)
{
	Oid			collation = PG_GET_COLLATION();
	Oid			typid;
	Datum	   *v;
	bool	   *null;
	int			n = elements_of(PG_GETARG_DATUM(0), &typid, &v, &null);
	TypeCacheEntry *type = lookup_type_cache(typid, TYPECACHE_LT_OPR | TYPECACHE_CMP_PROC_FINFO);
	int			wrong = 0;

	if (!ddir_order_supported(typid, collation, type->lt_opr))
		PG_RETURN_TEXT_P(cstring_to_text("not supported"));
	for (int way = 0; way < 4; way++)
	{
		bool		descending = way & 1;
		bool		nulls_first = way & 2;
		DdirDeltas *d = order_all(typid, n, v, null, descending, nulls_first);

		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
			{
				DdirRef		x = ddir_lane_ref(&d->val, i);
				DdirRef		y = ddir_lane_ref(&d->val, j);
				int			c;

				if (null[i] || null[j])
					c = nulls_first ? null[j] - null[i] : null[i] - null[j];
				else
				{
					c = DatumGetInt32(FunctionCall2Coll(&type->cmp_proc_finfo, collation, v[i], v[j]));
					c = descending ? -sign(c) : sign(c);
				}

				/*
				 * equal values have equal encodings, but are not decided
				 * there
				 */
				wrong += c != sign(ddir_bytes_cmp(x.p, x.len, y.p, y.len));
			}
	}
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%d pairs%s", n * n,
											  wrong ? psprintf("; WRONG: %d", wrong) : "")));
}
