/*-------------------------------------------------------------------------
 *
 * tidmap.c
 *	  From the hash of a row's image to where such rows are in a table.
 *
 * An open-addressing table with linear probing.  An entry has 10 bytes: the
 * tag (the hash's upper 32 bits) and the TID.  The place an entry wants is its
 * tag scaled to the size of the table, so the size may be any number, and a
 * table grows by less than doubling: between 12.5 and 16 bytes a row.  Since
 * places are in the order of tags, growing reads and writes in one direction.
 *
 * Entries are deleted by moving those behind them back, so there are no
 * tombstones and a table that changes for ever stays as it is.
 *
 * The order has a price: the table must never be sized for a set of rows whose
 * tags are all low, or all high, as in the middle of a change made in the order
 * of tags.  So room is reserved before, and given back after.
 *
 * Rows of one tag stand side by side, which is fine for a few.  From
 * BAG_MIN on they move to a *bag*, a hash table of TIDs of their own, and one
 * entry (whose offset no TID can have) says which.  So a view of a million
 * equal rows costs no more than any other.
 *
 * src/apply/tidmap.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "storage/off.h"
#include "utils/memutils.h"

#include "apply/tidmap.h"
#include "engine/port.h"

#define SLOTS_MIN 64
#define BAG_MIN 8				/* as in ddir_tidmap_room */
#define BAG_SLOTS_MIN 32

/* Offset of an entry that stands for a bag; its block is the bag's number. */
#define BAG_OFFSET 0xFFFF

/* Offset 0: the entry is free. */
typedef struct Entry
{
	uint16		tag_hi;
	uint16		tag_lo;
	ItemPointerData tid;
} Entry;

StaticAssertDecl(sizeof(Entry) == 10, "an entry of a TID map has 10 bytes");

typedef struct Bag
{
	uint32		n;
	uint32		slots;			/* a power of two; 0: no such bag */
	uint32		from;			/* where to begin when some are wanted */
	uint32		next_free;		/* while it is none: the next such, plus 1 */
	ItemPointerData *tid;
} Bag;

struct DdirTidMap
{
	MemoryContext cxt;
	uint64		rows;
	uint64		used;			/* entries in use */
	uint64		slots;
	Entry	   *entry;
	uint32		nbags;
	uint32		cap_bags;
	uint32		free_bag;		/* first unused number below nbags, plus 1 */
	Bag		   *bag;
};

static inline bool
is_free(const ItemPointerData *tid)
{
	return tid->ip_posid == InvalidOffsetNumber;
}

static inline uint32
entry_tag(const Entry *e)
{
	return ((uint32) e->tag_hi << 16) | e->tag_lo;
}

static inline bool
same_tid(const ItemPointerData *a, const ItemPointerData *b)
{
	return memcmp(a, b, sizeof(ItemPointerData)) == 0;
}

/* ----
 * Bags
 * ----
 */

static inline uint32
bag_place(const Bag *b, const ItemPointerData *tid)
{
	return murmurhash32(ItemPointerGetBlockNumberNoCheck(tid) * 64 +
						ItemPointerGetOffsetNumberNoCheck(tid)) & (b->slots - 1);
}

static void
bag_put(Bag *b, const ItemPointerData *tid)
{
	uint32		i = bag_place(b, tid);

	while (!is_free(&b->tid[i]))
		i = (i + 1) & (b->slots - 1);
	b->tid[i] = *tid;
	b->n++;
}

static void
bag_resize(DdirTidMap *m, Bag *b, uint32 slots)
{
	Bag			old = *b;

	b->n = 0;
	b->from = 0;
	b->slots = slots;
	b->tid = MemoryContextAllocHuge(m->cxt, (Size) slots * sizeof(ItemPointerData));
	memset(b->tid, 0, (Size) slots * sizeof(ItemPointerData));
	for (uint32 i = 0; i < old.slots; i++)
		if (!is_free(&old.tid[i]))
			bag_put(b, &old.tid[i]);
	if (old.tid)
		pfree(old.tid);
}

static void
bag_insert(DdirTidMap *m, Bag *b, const ItemPointerData *tid)
{
	if (b->n >= PG_UINT32_MAX / 4)
		ddir_error(DDIR_ERROR_MEMORY, "too many equal rows in a view");
	if (b->n + 1 > b->slots / 4 * 3)
		bag_resize(m, b, b->slots * 2);
	bag_put(b, tid);
}

static bool
bag_remove(DdirTidMap *m, Bag *b, const ItemPointerData *tid)
{
	uint32		mask = b->slots - 1;
	uint32		hole = bag_place(b, tid);

	while (!same_tid(&b->tid[hole], tid))
	{
		if (is_free(&b->tid[hole]))
			return false;
		hole = (hole + 1) & mask;
	}
	for (uint32 i = (hole + 1) & mask; !is_free(&b->tid[i]); i = (i + 1) & mask)
	{
		/* may the one at i move to the hole without passing its place? */
		if (((i - bag_place(b, &b->tid[i])) & mask) < ((i - hole) & mask))
			continue;
		b->tid[hole] = b->tid[i];
		hole = i;
	}
	ItemPointerSetInvalid(&b->tid[hole]);
	b->n--;
	if (b->slots > BAG_SLOTS_MIN && b->n < b->slots / 8)
		bag_resize(m, b, b->slots / 4);
	return true;
}

/*
 * Whoever removes rows asks for some first; so the next ones are looked for
 * where the last were found, not over the ones that are gone.
 */
static uint64
bag_get(Bag *b, uint64 max, ItemPointerData *tids)
{
	uint64		n = 0;
	uint32		i = b->from & (b->slots - 1);

	for (uint32 seen = 0; n < max && seen < b->slots; seen++)
	{
		if (!is_free(&b->tid[i]))
		{
			tids[n++] = b->tid[i];
			b->from = i;
		}
		i = (i + 1) & (b->slots - 1);
	}
	return n;
}

static uint32
bag_create(DdirTidMap *m)
{
	uint32		number;

	if (m->free_bag > 0)
	{
		number = m->free_bag - 1;
		m->free_bag = m->bag[number].next_free;
	}
	else
	{
		number = m->nbags;
		if (number == m->cap_bags)
		{
			uint32		cap = m->cap_bags ? m->cap_bags * 2 : 16;

			m->bag = m->bag ? repalloc_huge(m->bag, cap * sizeof(Bag)) :
				MemoryContextAlloc(m->cxt, cap * sizeof(Bag));
			m->cap_bags = cap;
		}
		m->nbags++;
	}
	memset(&m->bag[number], 0, sizeof(Bag));
	bag_resize(m, &m->bag[number], BAG_SLOTS_MIN);
	return number;
}

static void
bag_destroy(DdirTidMap *m, Bag *b)
{
	pfree(b->tid);
	memset(b, 0, sizeof(Bag));
	b->next_free = m->free_bag;
	m->free_bag = b - m->bag + 1;
}

/* ----
 * The table
 * ----
 */

static inline uint64
place(const DdirTidMap *m, uint32 tag)
{
	return ((uint64) tag * m->slots) >> 32;
}

static inline uint64
next(const DdirTidMap *m, uint64 i)
{
	return i + 1 == m->slots ? 0 : i + 1;
}

static void
put(DdirTidMap *m, uint32 tag, const ItemPointerData *tid)
{
	uint64		i = place(m, tag);

	while (!is_free(&m->entry[i].tid))
		i = next(m, i);
	m->entry[i].tag_hi = tag >> 16;
	m->entry[i].tag_lo = tag & 0xFFFF;
	m->entry[i].tid = *tid;
	m->used++;
}

static void
resize(DdirTidMap *m, uint64 slots)
{
	Entry	   *old = m->entry;
	uint64		nold = m->slots;

	if (slots < SLOTS_MIN)
		slots = SLOTS_MIN;
	if (slots > PG_UINT32_MAX)
		ddir_error(DDIR_ERROR_MEMORY, "too many rows in a view");
	m->entry = MemoryContextAllocHuge(m->cxt, slots * sizeof(Entry));
	memset(m->entry, 0, slots * sizeof(Entry));
	m->slots = slots;
	m->used = 0;
	for (uint64 i = 0; i < nold; i++)
		if (!is_free(&old[i].tid))
			put(m, entry_tag(&old[i]), &old[i].tid);
	if (old)
		pfree(old);
}

/* Slots for so many entries, a share of 5/8 of them used. */
static uint64
slots_for(uint64 entries)
{
	return entries / 5 * 8 + 8;
}

/* Free entry "hole", moving others of its cluster back. */
static void
close_hole(DdirTidMap *m, uint64 hole)
{
	for (uint64 i = next(m, hole); !is_free(&m->entry[i].tid); i = next(m, i))
	{
		uint64		wants = place(m, entry_tag(&m->entry[i]));
		uint64		distance = i >= wants ? i - wants : i + m->slots - wants;
		uint64		back = i >= hole ? i - hole : i + m->slots - hole;

		if (distance < back)
			continue;
		m->entry[hole] = m->entry[i];
		hole = i;
	}
	ItemPointerSetInvalid(&m->entry[hole].tid);
	m->used--;
}

/* All entries of a tag move to a bag. */
static Bag *
make_bag(DdirTidMap *m, uint32 tag)
{
	uint32		number = bag_create(m);
	ItemPointerData mark;
	uint64		i = place(m, tag);

	while (!is_free(&m->entry[i].tid))
	{
		if (entry_tag(&m->entry[i]) == tag)
		{
			bag_put(&m->bag[number], &m->entry[i].tid);
			close_hole(m, i);
		}
		else
			i = next(m, i);
	}
	ItemPointerSet(&mark, number, BAG_OFFSET);
	put(m, tag, &mark);
	return &m->bag[number];
}

static inline Bag *
bag_of(const DdirTidMap *m, const Entry *e)
{
	uint32		number;

	if (e->tid.ip_posid != BAG_OFFSET)
		return NULL;
	number = ItemPointerGetBlockNumberNoCheck(&e->tid);
	ddir_check(number < m->nbags && m->bag[number].slots > 0);
	return &m->bag[number];
}

/* Make room for more entries. */
static void
reserve(DdirTidMap *m, uint64 more)
{
	if ((m->used + more) / 4 * 5 >= m->slots)
		resize(m, slots_for(m->used + more));
}

/* Entry i stands for a bag with few TIDs left: they take its place. */
static void
dissolve_bag(DdirTidMap *m, uint64 i, Bag *b)
{
	ItemPointerData tid[BAG_MIN];
	uint32		tag = entry_tag(&m->entry[i]);
	int			n = bag_get(b, BAG_MIN, tid);

	ddir_check(n == b->n);
	bag_destroy(m, b);
	close_hole(m, i);
	reserve(m, n);
	for (int k = 0; k < n; k++)
		put(m, tag, &tid[k]);
}

/* ----
 * Outside
 * ----
 */

DdirTidMap *
ddir_tidmap_create(MemoryContext cxt)
{
	MemoryContext own = AllocSetContextCreate(cxt, "ddir TID map", ALLOCSET_SMALL_SIZES);
	DdirTidMap *m = MemoryContextAllocZero(own, sizeof(DdirTidMap));

	m->cxt = own;
	resize(m, SLOTS_MIN);
	return m;
}

void
ddir_tidmap_destroy(DdirTidMap *m)
{
	if (m)
		MemoryContextDelete(m->cxt);
}

uint64
ddir_tidmap_rows(const DdirTidMap *m)
{
	return m->rows;
}

void
ddir_tidmap_reserve(DdirTidMap *m, uint64 room)
{
	reserve(m, room);
}

void
ddir_tidmap_insert(DdirTidMap *m, uint32 tag, const ItemPointerData *tid)
{
	Bag		   *bag = NULL;
	int			equal = 0;

	ddir_check(!is_free(tid) && tid->ip_posid != BAG_OFFSET);
	reserve(m, 1);
	for (uint64 i = place(m, tag); !is_free(&m->entry[i].tid); i = next(m, i))
	{
		if (entry_tag(&m->entry[i]) != tag)
			continue;
		equal++;
		if ((bag = bag_of(m, &m->entry[i])) != NULL)
			break;
	}
	if (bag == NULL && equal >= BAG_MIN)
		bag = make_bag(m, tag);
	if (bag)
		bag_insert(m, bag, tid);
	else
		put(m, tag, tid);
	m->rows++;
}

bool
ddir_tidmap_remove(DdirTidMap *m, uint32 tag, const ItemPointerData *tid)
{
	for (uint64 i = place(m, tag); !is_free(&m->entry[i].tid); i = next(m, i))
	{
		Entry	   *e = &m->entry[i];
		Bag		   *bag;

		if (entry_tag(e) != tag)
			continue;
		bag = bag_of(m, e);
		if (bag ? !bag_remove(m, bag, tid) : !same_tid(&e->tid, tid))
			continue;
		if (bag == NULL)
			close_hole(m, i);
		else if (bag->n < BAG_MIN / 2)
			dissolve_bag(m, i, bag);
		m->rows--;
		return true;
	}
	return false;
}

void
ddir_tidmap_trim(DdirTidMap *m)
{
	if (m->slots > SLOTS_MIN && m->used < m->slots / 8)
		resize(m, slots_for(m->used));
}

uint64
ddir_tidmap_count(const DdirTidMap *m, uint32 tag)
{
	uint64		n = 0;

	for (uint64 i = place(m, tag); !is_free(&m->entry[i].tid); i = next(m, i))
		if (entry_tag(&m->entry[i]) == tag)
		{
			Bag		   *bag = bag_of(m, &m->entry[i]);

			n += bag ? bag->n : 1;
		}
	return n;
}

uint64
ddir_tidmap_get(const DdirTidMap *m, uint32 tag, uint64 max, ItemPointerData *tids)
{
	uint64		n = 0;

	for (uint64 i = place(m, tag); n < max && !is_free(&m->entry[i].tid); i = next(m, i))
		if (entry_tag(&m->entry[i]) == tag)
		{
			Bag		   *bag = bag_of(m, &m->entry[i]);

			if (bag)
				n += bag_get(bag, max - n, tids + n);
			else
				tids[n++] = m->entry[i].tid;
		}
	return n;
}
