/*-------------------------------------------------------------------------
 *
 * rowtype.c
 *	  Row types.
 *
 * What can be known of all rows of a type is found here once: which columns
 * stand at a constant offset (as attcacheoff in the server's descriptors),
 * which varlenas may have a short header, which hold rows.
 *
 * src/rows/rowtype.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "base/compat.h"
#include "rows/rowtype.h"

static DdirRowType *
rowtype_alloc(int natts)
{
	DdirRowType *type;

	if (natts < 0 || natts > MaxTupleAttributeNumber)
		elog(ERROR, "a row type of %d columns", natts);
	type = palloc0(offsetof(DdirRowType, col) + natts * sizeof(DdirColumnType));
	type->natts = natts;
	return type;
}

/* Constant offsets and the width, once all columns are known. */
static void
rowtype_finish(DdirRowType *type)
{
	int32		offset = 1;

	for (int i = 0; i < type->natts; i++)
	{
		DdirColumnType *c = &type->col[i];

		c->offset = OidIsValid(c->typid) ? offset : -1;
		if (!OidIsValid(c->typid) || offset < 0)
			continue;
		if (c->typlen > 0)
			offset += c->typlen;
		else
			offset = -1;
	}
	type->width = offset > 0 ? offset : 0;
}

static void
column_set(DdirColumnType *c, Oid typid, int32 typmod, Oid collation)
{
	c->typid = typid;
	c->typmod = typmod;
	c->collation = collation;
	get_typlenbyvalalign(typid, &c->typlen, &c->typbyval, &c->typalign);
	c->packable = c->typlen == -1 && get_typstorage(typid) != TYPSTORAGE_PLAIN;
	c->composite = c->typlen == -1 && type_is_rowtype(typid);
}

DdirRowType *
ddir_rowtype_make(int natts, const Oid *typids, const int32 *typmods,
				  const Oid *collations)
{
	DdirRowType *type = rowtype_alloc(natts);

	for (int i = 0; i < natts; i++)
		column_set(&type->col[i], typids[i], typmods ? typmods[i] : -1,
				   collations ? collations[i] : InvalidOid);
	rowtype_finish(type);
	return type;
}

DdirRowType *
ddir_rowtype_from_tupdesc(TupleDesc desc)
{
	DdirRowType *type = rowtype_alloc(desc->natts);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		DdirColumnType *c = &type->col[i];

		if (!att->attisdropped)
		{
			column_set(c, att->atttypid, att->atttypmod, att->attcollation);
			continue;
		}
		c->typmod = -1;
		c->typlen = att->attlen;
		c->typbyval = att->attbyval;
		c->typalign = att->attalign;
	}
	rowtype_finish(type);
	return type;
}

DdirRowType *
ddir_rowtype_from_exprs(List *exprs)
{
	DdirRowType *type = rowtype_alloc(list_length(exprs));
	ListCell   *lc;

	foreach(lc, exprs)
	{
		Node	   *expr = lfirst(lc);

		if (IsA(expr, TargetEntry))
			expr = (Node *) ((TargetEntry *) expr)->expr;
		column_set(&type->col[foreach_current_index(lc)], exprType(expr),
				   exprTypmod(expr), exprCollation(expr));
	}
	rowtype_finish(type);
	return type;
}

DdirRowType *
ddir_rowtype_copy(const DdirRowType *type)
{
	DdirRowType *copy = rowtype_alloc(type->natts);

	memcpy(copy, type, offsetof(DdirRowType, col) + type->natts * sizeof(DdirColumnType));
	return copy;
}

TupleDesc
ddir_rowtype_tupdesc(const DdirRowType *type)
{
	TupleDesc	desc = CreateTemplateTupleDesc(type->natts);

	for (int i = 0; i < type->natts; i++)
	{
		const DdirColumnType *c = &type->col[i];
		bool		dropped = !OidIsValid(c->typid);
		char		name[NAMEDATALEN];

		snprintf(name, sizeof(name), "column%d", i + 1);
		TupleDescInitEntry(desc, i + 1, name, dropped ? INT4OID : c->typid,
						   c->typmod, 0);
		if (!dropped)
			TupleDescInitEntryCollation(desc, i + 1, c->collation);
		else
		{
			Form_pg_attribute att = TupleDescAttr(desc, i);

			att->attisdropped = true;
			att->atttypid = InvalidOid;
			att->attlen = c->typlen;
			att->attbyval = c->typbyval;
			att->attalign = c->typalign;
			ddir_tupdesc_changed(desc, i);
		}
	}
	return desc;
}

bool
ddir_rowtype_equal(const DdirRowType *a, const DdirRowType *b)
{
	if (a->natts != b->natts)
		return false;
	for (int i = 0; i < a->natts; i++)
	{
		const DdirColumnType *x = &a->col[i];
		const DdirColumnType *y = &b->col[i];

		if (x->typid != y->typid || x->typmod != y->typmod ||
			x->collation != y->collation)
			return false;
	}
	return true;
}
