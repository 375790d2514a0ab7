/*-------------------------------------------------------------------------
 *
 * keymake.c
 *	  How the values of a column become key bytes: found in the catalogs.
 *
 * What decides is the equality operator's families.  For the built-in ones
 * whose types differ in form but not in meaning (integers, strings, floats,
 * numeric, date and timestamp), the common encoding is ours.  Then comes
 * "equal implies same image", support function 4 of the operator's btree
 * class.  Everything else takes the hash function of the operator's hash
 * family.
 *
 * An operator may be in several families (text's equality is in those of the
 * pattern operators too); they agree about what is equal, so any will do, and
 * the type's default one is preferred.
 *
 * Elements: the hash functions of arrays, rows and ranges raise errors if their
 * elements cannot be hashed; that is asked beforehand.
 *
 * src/rows/keymake.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/hash.h"
#include "access/nbtree.h"
#include "catalog/dependency.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "base/compat.h"
#include "rows/key.h"

/* What is known of an equality operator while its encoding is chosen. */
typedef struct Equality
{
	Oid			op;
	Oid			left;			/* its input types */
	Oid			right;
	Oid			side;			/* the one that our column is */
	Oid			btree;			/* families; InvalidOid: in none */
	Oid			hash;
} Equality;

pg_noreturn static void
refuse_type(Oid typid)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("values of type %s cannot be compared for equality",
					format_type_be(typid)),
			 errdetail("The type has no equality operator of a btree or hash operator class."),
			 errhint("Cast the value to a type that has one, such as text or jsonb.")));
}

/* The families that have the operator as their equality. */
static void
find_families(Equality *eq, const TypeCacheEntry *type)
{
	CatCList   *list = SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(eq->op));

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_amop amop = (Form_pg_amop) GETSTRUCT(&list->members[i]->tuple);

		if (amop->amopmethod == BTREE_AM_OID &&
			amop->amopstrategy == BTEqualStrategyNumber)
		{
			if (!OidIsValid(eq->btree) || amop->amopfamily == type->btree_opf)
				eq->btree = amop->amopfamily;
		}
		else if (amop->amopmethod == HASH_AM_OID &&
				 amop->amopstrategy == HTEqualStrategyNumber)
		{
			if (!OidIsValid(eq->hash) || amop->amopfamily == type->hash_opf)
				eq->hash = amop->amopfamily;
		}
	}
	ReleaseSysCacheList(list);
}

static void
find_equality(Equality *eq, Oid typid, Oid eqop)
{
	TypeCacheEntry *type = lookup_type_cache(typid, TYPECACHE_EQ_OPR |
											 TYPECACHE_BTREE_OPFAMILY |
											 TYPECACHE_HASH_OPFAMILY);

	memset(eq, 0, sizeof(*eq));
	eq->op = OidIsValid(eqop) ? eqop : type->eq_opr;
	if (!OidIsValid(eq->op))
		refuse_type(typid);
	op_input_types(eq->op, &eq->left, &eq->right);
	if (IsBinaryCoercible(typid, eq->left))
		eq->side = eq->left;
	else if (IsBinaryCoercible(typid, eq->right))
		eq->side = eq->right;
	else
		elog(ERROR, "operator %u does not take type %s", eq->op, format_type_be(typid));
	find_families(eq, type);
	if (!OidIsValid(eq->btree) && !OidIsValid(eq->hash))
		refuse_type(typid);
}

static Oid
btree_family_of(Oid typid)
{
	return lookup_type_cache(typid, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/* Is it the equality of the extension citext, which folds case by str_tolower? */
static bool
is_citext(const Equality *eq)
{
	Oid			func = get_opcode(eq->op);
	char	   *name = get_func_name(func);
	Oid			extension;

	if (name == NULL || strcmp(name, "citext_eq") != 0)
		return false;
	extension = get_extension_oid("citext", true);
	return OidIsValid(extension) &&
		getExtensionOfObject(ProcedureRelationId, func) == extension;
}

static void
require_collation(Oid typid, Oid collation)
{
	if (!OidIsValid(collation))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for comparing values of type %s",
						format_type_be(typid)),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));
}

/*
 * The encodings that are ours.  False: none for this operator and type.  A
 * family's members may have been added by an extension, so the type is looked
 * at as well.
 */
static bool
builtin_encoding(const Equality *eq, Oid collation, DdirEncoding *encoding)
{
	switch (eq->side)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			*encoding = DDIR_ENCODE_INT8;
			return eq->btree == INTEGER_BTREE_FAM_OID;
		case OIDOID:
			*encoding = DDIR_ENCODE_INT8;
			return eq->btree == OID_BTREE_FAM_OID;
		case FLOAT4OID:
		case FLOAT8OID:
			*encoding = DDIR_ENCODE_FLOAT8;
			return eq->btree == btree_family_of(FLOAT8OID);
		case NUMERICOID:
			*encoding = DDIR_ENCODE_NUMERIC;
			return eq->btree == btree_family_of(NUMERICOID);
		case INTERVALOID:
			*encoding = DDIR_ENCODE_INTERVAL;
			return eq->btree == INTERVAL_BTREE_FAM_OID;
		case TEXTOID:
		case NAMEOID:
			*encoding = DDIR_ENCODE_TEXT;
			return (eq->btree == TEXT_BTREE_FAM_OID || eq->btree == TEXT_PATTERN_BTREE_FAM_OID) &&
				get_collation_isdeterministic(collation);
		case BPCHAROID:
			*encoding = DDIR_ENCODE_BPCHAR;
			return (eq->btree == BPCHAR_BTREE_FAM_OID || eq->btree == BPCHAR_PATTERN_BTREE_FAM_OID) &&
				get_collation_isdeterministic(collation);
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			if (eq->left == eq->right || eq->btree != btree_family_of(DATEOID))
				return false;	/* the image */
			if (eq->left == TIMESTAMPTZOID || eq->right == TIMESTAMPTZOID)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("values of types %s and %s cannot be matched by key",
								format_type_be(eq->left), format_type_be(eq->right)),
						 errdetail("Which of them are equal depends on the setting \"TimeZone\"."),
						 errhint("Convert with AT TIME ZONE and a constant zone.")));
			*encoding = DDIR_ENCODE_DATETIME;
			return true;
		default:
			*encoding = DDIR_ENCODE_CITEXT;
			return is_citext(eq);
	}
}

/* Do equal values have equal images, as the btree class says? */
static bool
equal_is_image(const Equality *eq, Oid collation)
{
	Oid			proc;

	if (eq->left != eq->right)
		return false;

	/*
	 * equality of labels is equality of OIDs, whether it is in pg_amproc or
	 * not
	 */
	if (eq->side == ANYENUMOID && get_opcode(eq->op) == F_ENUM_EQ)
		return true;
	if (!OidIsValid(eq->btree))
		return false;
	proc = get_opfamily_proc(eq->btree, eq->side, eq->side, BTEQUALIMAGE_PROC);
	return OidIsValid(proc) &&
		DatumGetBool(OidFunctionCall1Coll(proc, collation, ObjectIdGetDatum(eq->side)));
}

/*
 * Can the elements of such a type, if it has any, be hashed?  Of an anonymous
 * row type nobody knows, and the answer is no.
 */
static bool
elements_hashable(const Equality *eq, Oid typid, bool extended)
{
	TypeCacheEntry *type;

	if (!IsPolymorphicType(eq->side) && eq->side != RECORDOID)
		return true;
	type = lookup_type_cache(typid, TYPECACHE_HASH_PROC | TYPECACHE_HASH_EXTENDED_PROC);
	return OidIsValid(extended ? type->hash_extended_proc : type->hash_proc);
}

/*
 * The hash function.  Both sides of a cross-type operator must use the same
 * width, so the 64-bit one only if both types have it.
 *
 * The server's hash of char(n) under a nondeterministic collation takes the
 * trailing blanks in, which its equality does not (15; later ones agree), so
 * there the text without them is hashed.
 */
static void
find_hash(DdirKeyColumn *c, const Equality *eq, Oid typid)
{
	int			number;
	Oid			proc = InvalidOid;

	if (eq->btree == BPCHAR_BTREE_FAM_OID || eq->btree == BPCHAR_PATTERN_BTREE_FAM_OID)
	{
		c->extended = c->trimmed = true;
		fmgr_info(F_HASHTEXTEXTENDED, &c->fn);
		return;
	}
	if (!OidIsValid(eq->hash))
		return;
	c->extended =
		OidIsValid(get_opfamily_proc(eq->hash, eq->left, eq->left, HASHEXTENDED_PROC)) &&
		OidIsValid(get_opfamily_proc(eq->hash, eq->right, eq->right, HASHEXTENDED_PROC)) &&
		elements_hashable(eq, typid, true);
	number = c->extended ? HASHEXTENDED_PROC : HASHSTANDARD_PROC;
	if (c->extended || elements_hashable(eq, typid, false))
		proc = get_opfamily_proc(eq->hash, eq->side, eq->side, number);
	if (OidIsValid(proc))
		fmgr_info(proc, &c->fn);
}

/* The equality of two values of the column's own type. */
static void
find_own_equality(DdirKeyColumn *c, const Equality *eq)
{
	Oid			op = eq->op;

	if (eq->left != eq->right)
	{
		op = InvalidOid;
		if (OidIsValid(eq->btree))
			op = get_opfamily_member(eq->btree, eq->side, eq->side, BTEqualStrategyNumber);
		if (!OidIsValid(op) && OidIsValid(eq->hash))
			op = get_opfamily_member(eq->hash, eq->side, eq->side, HTEqualStrategyNumber);
		if (!OidIsValid(op))
			refuse_type(eq->side);
	}
	fmgr_info(get_opcode(op), &c->eq);
}

static int
encoding_width(const DdirKeyColumn *c)
{
	switch (c->encoding)
	{
		case DDIR_ENCODE_IMAGE:
			return c->typlen > 0 ? c->typlen : -1;
		case DDIR_ENCODE_INT8:
		case DDIR_ENCODE_FLOAT8:
		case DDIR_ENCODE_DATETIME:
		case DDIR_ENCODE_HASH:
			return 8;
		case DDIR_ENCODE_INTERVAL:
			return 16;
		case DDIR_ENCODE_TEXT:
		case DDIR_ENCODE_BPCHAR:
		case DDIR_ENCODE_NUMERIC:
		case DDIR_ENCODE_CITEXT:
			break;
	}
	return -1;
}

static void
column_make(DdirKeyColumn *c, DdirKeyKind kind, Oid typid, Oid collation, Oid eqop)
{
	Equality	eq;
	char		align;

	c->typid = getBaseType(typid);
	c->collation = collation;
	c->encoding = DDIR_ENCODE_IMAGE;
	c->exact = true;
	get_typlenbyvalalign(c->typid, &c->typlen, &c->typbyval, &align);
	c->composite = c->typlen == -1 && type_is_rowtype(c->typid);

	if (kind != DDIR_KEY_IDENTITY && eqop != DDIR_EQUALITY_IMAGE)
	{
		find_equality(&eq, c->typid, eqop);
		c->eqop = eq.op;
		if (OidIsValid(get_typcollation(c->typid)))
			require_collation(c->typid, collation);
		if (!builtin_encoding(&eq, collation, &c->encoding))
			c->encoding = equal_is_image(&eq, collation) ?
				DDIR_ENCODE_IMAGE : DDIR_ENCODE_HASH;
		find_own_equality(c, &eq);
		if (c->encoding == DDIR_ENCODE_HASH)
		{
			c->exact = false;
			find_hash(c, &eq, c->typid);
		}
		c->lossy = c->encoding != DDIR_ENCODE_IMAGE && c->encoding != DDIR_ENCODE_INT8 &&
			c->encoding != DDIR_ENCODE_TEXT && c->encoding != DDIR_ENCODE_DATETIME;
	}
	c->width = encoding_width(c);
}

DdirKeySpec *
ddir_key_make(DdirKeyKind kind, int ncols, const Oid *typids,
			  const Oid *collations, const Oid *eqops)
{
	DdirKeySpec *spec = palloc0(offsetof(DdirKeySpec, col) + ncols * sizeof(DdirKeyColumn));

	spec->kind = kind;
	spec->ncols = ncols;
	spec->exact = true;
	spec->total = true;
	for (int i = 0; i < ncols; i++)
	{
		DdirKeyColumn *c = &spec->col[i];

		column_make(c, kind, typids[i],
					collations ? collations[i] : get_typcollation(typids[i]),
					eqops ? eqops[i] : InvalidOid);
		spec->lossy |= c->lossy;
		spec->exact &= c->exact;
		/* what calls the server to encode may find the value wanting */
		spec->total &= c->encoding != DDIR_ENCODE_HASH && c->encoding != DDIR_ENCODE_CITEXT;
	}
	return spec;
}

/* The functions' memory is not shared with the original. */
DdirKeySpec *
ddir_key_copy(const DdirKeySpec *spec)
{
	Size		size = offsetof(DdirKeySpec, col) + spec->ncols * sizeof(DdirKeyColumn);
	DdirKeySpec *copy = palloc(size);

	memcpy(copy, spec, size);
	for (int i = 0; i < copy->ncols; i++)
	{
		DdirKeyColumn *c = &copy->col[i];

		if (OidIsValid(spec->col[i].eq.fn_oid))
			fmgr_info(spec->col[i].eq.fn_oid, &c->eq);
		if (OidIsValid(spec->col[i].fn.fn_oid))
			fmgr_info(spec->col[i].fn.fn_oid, &c->fn);
	}
	return copy;
}
