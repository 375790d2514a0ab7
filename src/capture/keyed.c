/*-------------------------------------------------------------------------
 *
 * keyed.c
 *	  Changes of a table whose old rows are known by key, and their resolution.
 *
 * Why it is right to go through changes transaction by transaction, in the
 * order of commits: two transactions that change rows of one key do so one
 * after the other, the second once the first has committed and is seen by all,
 * as the row or the unique index makes it wait.  So of any key the changes come
 * in the order they were made, and a snapshot that sees one of them sees all
 * those before it; what a scan has not seen can be applied to what it has.
 * Inside a transaction they come in the order they were made, those that were
 * rolled back left out.  The index is an immediate one, so at every moment
 * there is at most one row of a key.
 *
 * Keys are compared as the key specification encodes them.  It is exact: equal
 * bytes are equal values, and as equal values are one row, as far as the index
 * is concerned, it does not matter in what form one is written.
 *
 * What does not fit, a row that should be there and is not or the other way
 * round, is no error here.  Whoever asked hydrates the table.
 *
 * Memory: rows are looked at where they are.  What is made is kept in the
 * resolution's context: old rows read from a trace, and new ones whose values
 * were left out.
 *
 * src/capture/keyed.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/compat.h"
#include "capture/keyed.h"

typedef enum Kind
{
	INSERT_ROW,
	UPDATE_ROW,
	MOVE_ROW,
	DELETE_ROW
} Kind;

/* A change, taken apart. */
typedef struct Change
{
	Kind		kind;
	const uint8_t *left_out;	/* bits */
	DdirRef		old;			/* key image, if it is not image's own */
	DdirRef		image;
} Change;

typedef struct Key
{
	uint64		hash;
	DdirRef		bytes;
} Key;

/* The row of a key, as it is by now. */
typedef struct Row
{
	Key			key;
	bool		present;
	DdirRef		image;
} Row;

typedef struct RowPlace
{
	Key			key;
	uint32		row;			/* its number */
	char		status;
} RowPlace;

static inline bool
same_key(Key a, Key b)
{
	return a.hash == b.hash && a.bytes.len == b.bytes.len &&
		memcmp(a.bytes.p, b.bytes.p, a.bytes.len) == 0;
}

#define SH_PREFIX places
#define SH_ELEMENT_TYPE RowPlace
#define SH_KEY_TYPE Key
#define SH_KEY key
#define SH_HASH_KEY(tb, key) ((uint32) ((key).hash ^ (key).hash >> 32))
#define SH_EQUAL(tb, a, b) same_key(a, b)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct DdirResolution
{
	MemoryContext cxt;
	MemoryContext scratch;		/* reset at each row */
	const DdirRowType *type;
	DdirFunc	by;
	const DdirDeltas *changes;
	const AttrNumber *att;		/* of a trace's vals; NULL: rows have all used */
	Size		limit;
	bool		unkeyed;		/* a key could not be made */
	bool		doubled;		/* a key had two rows, or one twice */
	bool		too_large;

	uint32		nrows;
	Row		   *row;
	places_hash *places;
	uint32	   *first;			/* of each change, the place in "of" */
	uint32	   *of;				/* the numbers of the rows it is about: old,
								 * then new */
	uint32		nloaded;		/* old rows, and their bytes */
	Size		loaded;

	DdirDeltas	packed;			/* one image */
	Datum	   *values;
	bool	   *isnull;
	Datum	   *other;
	bool	   *othernull;
};

/* ----
 * Writing
 * ----
 */

static inline uint32
bits_length(const DdirRowType *type)
{
	return (type->natts + 7) / 8;
}

static void
write_bits(uint8_t *p, const DdirRowType *type, const bool *left_out)
{
	memset(p, 0, bits_length(type));
	for (int i = 0; i < type->natts; i++)
		if (left_out[i])
			p[i >> 3] |= 1 << (i & 7);
}

uint32
ddir_keyed_push(DdirDeltas *run, const DdirRowType *type, const Bitmapset *used,
				const Bitmapset *key, const Datum *old, const bool *oldnull,
				const Datum *new, const bool *newnull, const bool *left_out,
				uint64 tray)
{
	Kind		kind = new == NULL ? DELETE_ROW : left_out == NULL ? INSERT_ROW :
	old != NULL ? MOVE_ROW : UPDATE_ROW;
	uint32		bits = kind == UPDATE_ROW || kind == MOVE_ROW ? bits_length(type) : 0;
	uint32		len = 1 + bits;
	uint32		oldlen = 0;
	uint8_t    *p;

	if (kind == MOVE_ROW)
	{
		len += sizeof(oldlen);
		oldlen = ddir_image_pack_at(type, old, oldnull, key, run, len);
		len += oldlen;
	}
	if (kind == DELETE_ROW)
		len += ddir_image_pack_at(type, old, oldnull, key, run, len);
	else
		len += ddir_image_pack_at(type, new, newnull, used, run, len);

	p = ddir_deltas_val_room(run, len);
	p[0] = kind;
	if (bits > 0)
		write_bits(p + 1, type, left_out);
	if (kind == MOVE_ROW)
		memcpy(p + 1 + bits, &oldlen, sizeof(oldlen));
	ddir_deltas_close(run, 0, len, &tray, kind == DELETE_ROW ? -1 : 1, 0);
	return len;
}

static Change
take_apart(const DdirResolution *r, uint32 i)
{
	DdirRef		val = ddir_lane_ref(&r->changes->val, i);
	const uint8_t *end = val.p + val.len;
	const uint8_t *p = val.p;
	Change		c = {0};

	ddir_check(val.len > 1 && *p <= DELETE_ROW);
	c.kind = *p++;
	if (c.kind == UPDATE_ROW || c.kind == MOVE_ROW)
	{
		c.left_out = p;
		p += bits_length(r->type);
	}
	if (c.kind == MOVE_ROW)
	{
		memcpy(&c.old.len, p, sizeof(c.old.len));
		p += sizeof(c.old.len);
		c.old.p = p;
		p += c.old.len;
	}
	ddir_check(p < end);
	c.image.p = p;
	c.image.len = end - p;
	return c;
}

static inline bool
is_left_out(const Change *c, int i)
{
	return (c->left_out[i >> 3] & (1 << (i & 7))) != 0;
}

/* ----
 * Keys
 * ----
 */

static void
malformed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("malformed row among captured changes")));
}

static void
unpack(DdirResolution *r, const DdirRowType *type, DdirRef image, Datum *values, bool *isnull)
{
	if (!ddir_image_unpack(type, image, NULL, values, isnull, r->scratch))
		malformed();
}

/* The row of this key, made on first use. */
static uint32
row_of(DdirResolution *r, Key key)
{
	bool		found;
	RowPlace   *place = places_insert(r->places, key, &found);

	if (!found)
	{
		place->row = r->nrows;
		r->row[r->nrows].key = key;
		r->row[r->nrows].present = false;
		r->nrows++;
	}
	return place->row;
}

static inline Key
key_at(const DdirDeltas *keyed, uint32 i)
{
	Key			key = {keyed->hash[i], ddir_lane_ref(&keyed->key, i)};

	return key;
}

/* The key images of all changes, and where those of each begin. */
static void
collect_keys(DdirResolution *r, const Bitmapset *key, DdirDeltas *images)
{
	bool	   *wanted = palloc0(r->type->natts * sizeof(bool));
	int			att = -1;

	while ((att = bms_next_member(key, att)) >= 0)
		wanted[att - 1] = true;
	for (uint32 i = 0; i < r->changes->n; i++)
	{
		Change		c = take_apart(r, i);

		CHECK_FOR_INTERRUPTS();
		r->first[i] = images->n;
		if (c.kind == DELETE_ROW)
		{
			ddir_deltas_push(images, NULL, 0, c.image.p, c.image.len, NULL, 1);
			continue;
		}
		if (c.kind == MOVE_ROW)
			ddir_deltas_push(images, NULL, 0, c.old.p, c.old.len, NULL, 1);
		MemoryContextReset(r->scratch);
		if (!ddir_image_unpack(r->type, c.image, wanted, r->values, r->isnull, r->scratch))
			malformed();
		ddir_deltas_close(images, 0,
						  ddir_image_pack(r->type, r->values, r->isnull, key, images),
						  NULL, 1, 0);
	}
}

DdirResolution *
ddir_resolution_begin(MemoryContext cxt, const DdirRowType *type, const Bitmapset *key,
					  DdirFunc by, const DdirDeltas *changes, Size limit)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	DdirResolution *r = palloc0(sizeof(DdirResolution));
	DdirArena  *arena = (DdirArena *) cxt;
	DdirDeltas	images;
	DdirDeltas	keyed;
	DdirDeltas	err;

	r->cxt = cxt;
	r->scratch = AllocSetContextCreate(cxt, "ddir resolution of a row", ALLOCSET_DEFAULT_SIZES);
	r->type = type;
	r->by = by;
	r->changes = changes;
	r->limit = limit;
	r->first = MemoryContextAllocHuge(cxt, (Size) changes->n * sizeof(uint32) + 1);
	r->values = palloc(type->natts * sizeof(Datum) + 1);
	r->isnull = palloc(type->natts * sizeof(bool) + 1);
	r->other = palloc(type->natts * sizeof(Datum) + 1);
	r->othernull = palloc(type->natts * sizeof(bool) + 1);
	ddir_deltas_init(&r->packed, arena, 1, false);

	ddir_deltas_init(&images, arena, 1, false);
	ddir_deltas_init(&keyed, arena, 1, true);
	ddir_deltas_init(&err, arena, 1, false);
	collect_keys(r, key, &images);
	ddir_func_apply(&by, &images, &keyed, &err);
	r->places = places_create(cxt, keyed.n, NULL);
	r->row = MemoryContextAllocHuge(cxt, (Size) keyed.n * sizeof(Row) + 1);
	r->of = MemoryContextAllocHuge(cxt, (Size) keyed.n * sizeof(uint32) + 1);
	r->unkeyed = keyed.n != images.n;
	for (uint32 i = 0; i < keyed.n && !r->unkeyed; i++)
		r->of[i] = row_of(r, key_at(&keyed, i));
	ddir_deltas_free(&images);
	MemoryContextSwitchTo(old);
	return r;
}

/* ----
 * The rows before
 * ----
 */

static void
load_row(DdirResolution *r, Row *row, DdirRef image, int64 times)
{
	if (row->present || times != 1)
		r->doubled = true;
	row->present = true;
	row->image = image;
	r->nloaded++;
	r->loaded += image.len;
}

void
ddir_resolution_load_rows(DdirResolution *r, const DdirDeltas *rows)
{
	DdirDeltas	keyed;
	DdirDeltas	err;

	if (r->nrows == 0)
		return;
	ddir_deltas_init(&keyed, (DdirArena *) r->cxt, 1, true);
	ddir_deltas_init(&err, (DdirArena *) r->cxt, 1, false);
	ddir_func_apply(&r->by, rows, &keyed, &err);
	r->unkeyed = r->unkeyed || keyed.n != rows->n;
	for (uint32 i = 0; i < keyed.n && !r->unkeyed; i++)
	{
		RowPlace   *place = places_lookup(r->places, key_at(&keyed, i));

		if (place)
			load_row(r, &r->row[place->row], ddir_lane_ref(&rows->val, i), rows->diff[i]);
	}
	ddir_deltas_free(&keyed);
	ddir_deltas_free(&err);
}

/* The values as an image that stays. */
static DdirRef
keep_image(DdirResolution *r)
{
	DdirRef		image;
	uint8_t    *copy;

	ddir_deltas_clear(&r->packed);
	image.len = ddir_image_pack(r->type, r->values, r->isnull, NULL, &r->packed);
	copy = MemoryContextAllocHuge(r->cxt, image.len);
	memcpy(copy, ddir_deltas_val_room(&r->packed, 0), image.len);
	image.p = copy;
	return image;
}

static DdirRef
image_of_val(DdirResolution *r, const DdirRowType *val, const AttrNumber *att, DdirRef ref)
{
	MemoryContextReset(r->scratch);
	unpack(r, val, ref, r->other, r->othernull);
	for (int i = 0; i < r->type->natts; i++)
	{
		r->isnull[i] = att[i] == 0 || r->othernull[att[i] - 1];
		r->values[i] = r->isnull[i] ? (Datum) 0 : r->other[att[i] - 1];
	}
	return keep_image(r);
}

void
ddir_resolution_load_trace(DdirResolution *r, const DdirSpine *trace,
						   const DdirRowType *val, const AttrNumber *att)
{
	MemoryContext old = MemoryContextSwitchTo(r->cxt);
	DdirCursor *cursor = palloc(sizeof(DdirCursor));
	uint64_t	t = UINT64_MAX;

	r->att = att;
	if (val->natts > r->type->natts)
	{
		r->other = palloc(val->natts * sizeof(Datum));
		r->othernull = palloc(val->natts * sizeof(bool));
	}
	ddir_cursor_open(cursor, trace, &t, false);
	for (uint32 i = 0; i < r->nrows && !r->too_large; i++)
	{
		Row		   *row = &r->row[i];
		DdirRef		ref;
		int64_t		diff;

		CHECK_FOR_INTERRUPTS();
		ddir_cursor_seek(cursor, row->key.hash, row->key.bytes.p, row->key.bytes.len);
		while (ddir_cursor_next(cursor, &ref, &diff) && !r->too_large)
		{
			load_row(r, row, image_of_val(r, val, att, ref), diff);
			r->too_large = r->loaded > r->limit;
		}
	}
	MemoryContextSwitchTo(old);
}

/* ----
 * The changes
 * ----
 */

/*
 * The new row, with what was left out; false: the old one does not have it.
 * Columns that are not held are none that anybody uses who will be told.
 */
static bool
complete(DdirResolution *r, const Change *c, DdirRef old, DdirRef *new)
{
	bool		any = false;

	*new = c->image;
	for (uint32 i = 0; i < bits_length(r->type); i++)
		any = any || c->left_out[i] != 0;
	if (!any)
		return true;
	MemoryContextReset(r->scratch);
	unpack(r, r->type, c->image, r->values, r->isnull);
	unpack(r, r->type, old, r->other, r->othernull);
	for (int i = 0; i < r->type->natts; i++)
	{
		if (!is_left_out(c, i))
			continue;
		if (r->othernull[i] && (r->att == NULL || r->att[i] != 0))
			return false;
		r->values[i] = r->other[i];
		r->isnull[i] = r->othernull[i];
	}
	*new = keep_image(r);
	return true;
}

static bool
equal_images(DdirRef a, DdirRef b)
{
	return a.len == b.len && memcmp(a.p, b.p, a.len) == 0;
}

/* One change; false: the rows are not what it says. */
static bool
resolve(DdirResolution *r, uint32 i, DdirDeltas *out)
{
	Change		c = take_apart(r, i);
	const uint64_t *t = ddir_deltas_time(r->changes, i);
	Row		   *before = c.kind == INSERT_ROW ? NULL : &r->row[r->of[r->first[i]]];
	Row		   *after = c.kind == DELETE_ROW ? NULL :
	&r->row[r->of[r->first[i] + (c.kind == MOVE_ROW ? 1 : 0)]];
	DdirRef		old = {0};
	DdirRef		new = {0};

	if (before && !before->present)
		return false;
	if (before)
	{
		old = before->image;
		before->present = false;
	}
	if (after)
	{
		new = c.image;
		if (after->present || (before && !complete(r, &c, old, &new)))
			return false;
		after->present = true;
		after->image = new;
	}

	if (before && after && equal_images(old, new))
		return true;
	if (before)
		ddir_deltas_push(out, NULL, 0, old.p, old.len, t, -1);
	if (after)
		ddir_deltas_push(out, NULL, 0, new.p, new.len, t, 1);
	return true;
}

DdirResolved
ddir_resolution_finish(DdirResolution *r, DdirDeltas *out)
{
	if (r->too_large)
		return DDIR_RESOLVED_TOO_LARGE;
	if (r->unkeyed || r->doubled)
		return DDIR_RESOLVED_NOT;
	for (uint32 i = 0; i < r->changes->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!resolve(r, i, out))
			return DDIR_RESOLVED_NOT;
		if (out->val.len > 2 * r->limit)
			return DDIR_RESOLVED_TOO_LARGE;
	}
	return DDIR_RESOLVED;
}

Size
ddir_resolution_row_bytes(const DdirResolution *r)
{
	return r->nloaded > 0 ? r->loaded / r->nloaded : 0;
}
