/*-------------------------------------------------------------------------
 *
 * groups.c
 *	  A hash table of groups, each with a state of fixed size.
 *
 * The table is indexed by the upper half of the hash: the lower bits choose a
 * shard, so within one they say little.
 *
 * Slabs grow: 8 groups, 8, 16, and so on to 2048, then 4096 each.  A view of
 * three groups stays small, and one of a million allocates 250 times.
 *
 * src/engine/groups.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/groups.h"

#define SLAB_BITS 12
#define SLAB_MAX (1u << SLAB_BITS)
#define SLAB_FIRST_BITS 3
#define SLABS_GROWING (SLAB_BITS - SLAB_FIRST_BITS + 1)

#define KEY_ROOM_MIN 8
#define KEY_ROOM_MAX 64

/* Below so many groups the table is in the cache anyway. */
#define PREFETCH_GROUPS 2048

#define TOUCHED_KEEP 1024

#define ALIGN(size) (((size) + 7) & ~(size_t) 7)

void
ddir_groups_init(DdirGroups *t, DdirArena *arena, size_t state_size)
{
	memset(t, 0, sizeof(*t));
	t->arena = arena;
	t->state_size = state_size;
}

/* ----
 * Slabs
 * ----
 */

/* The slab of a number, and its place in there. */
static inline uint32_t
slab_of(uint32_t id, uint32_t *place)
{
	int			bits;

	if (id >= SLAB_MAX)
	{
		*place = id & (SLAB_MAX - 1);
		return SLABS_GROWING - 1 + (id >> SLAB_BITS);
	}
	if (id < (1u << SLAB_FIRST_BITS))
	{
		*place = id;
		return 0;
	}
	bits = 31 - __builtin_clz(id);
	*place = id - (1u << bits);
	return bits - SLAB_FIRST_BITS + 1;
}

static uint32_t
slab_size(uint32_t slab)
{
	if (slab == 0)
		return 1u << SLAB_FIRST_BITS;
	if (slab < SLABS_GROWING)
		return 1u << (SLAB_FIRST_BITS + slab - 1);
	return SLAB_MAX;
}

static inline DdirGroupEntry *
entry_at(const DdirGroups *t, uint32_t id)
{
	uint32_t	place;
	uint32_t	slab = slab_of(id, &place);

	return (DdirGroupEntry *) (t->slab[slab] + place * t->stride);
}

static void
slab_add(DdirGroups *t)
{
	if (t->nslabs == t->cap_slabs)
	{
		uint32_t	cap = t->cap_slabs ? 2 * t->cap_slabs : 8;

		t->slab = ddir_realloc(t->arena, t->slab, cap * sizeof(uint8_t *));
		t->cap_slabs = cap;
	}
	t->slab[t->nslabs] = ddir_alloc0(t->arena, slab_size(t->nslabs) * t->stride);
	t->nslabs++;
}

/* The first key decides how much room keys get inside the entries. */
static void
layout(DdirGroups *t, uint32_t keylen)
{
	uint32_t	room = ALIGN(keylen);

	if (room < KEY_ROOM_MIN)
		room = KEY_ROOM_MIN;
	if (room > KEY_ROOM_MAX)
		room = KEY_ROOM_MAX;
	t->key_room = room;
	t->key_off = ALIGN(sizeof(DdirGroupEntry));
	t->state_off = t->key_off + room;
	t->stride = ALIGN(t->state_off + t->state_size);
}

/* An unused entry with a number. */
static DdirGroupEntry *
entry_take(DdirGroups *t)
{
	DdirGroupEntry *entry;
	uint32_t	place;

	if (t->next_free != 0)
	{
		entry = entry_at(t, t->next_free - 1);
		t->next_free = entry->next_free;
		return entry;
	}
	if (t->ids >= UINT32_MAX - 1)
		ddir_error(DDIR_ERROR_MEMORY, "too many groups");
	if (slab_of(t->ids, &place) == t->nslabs)
		slab_add(t);
	entry = entry_at(t, t->ids);
	entry->id = t->ids++;
	return entry;
}

static void
entry_set_key(DdirGroups *t, DdirGroupEntry *entry, DdirRef key)
{
	uint8_t    *p = (uint8_t *) entry + t->key_off;

	if (key.len > t->key_room)
	{
		if (key.len > entry->key_cap)
		{
			entry->key_out = ddir_realloc(t->arena, entry->key_out, key.len);
			entry->key_cap = key.len;
		}
		p = entry->key_out;
	}
	if (key.len > 0)
		memcpy(p, key.p, key.len);
	entry->group.key.p = p;
	entry->group.key.len = key.len;
}

/* ----
 * The table
 * ----
 */

static inline uint32_t
slot_tag(uint64_t slot)
{
	return slot >> 32;
}

/* 0 in an empty slot */
static inline uint32_t
slot_id1(uint64_t slot)
{
	return (uint32_t) slot;
}

static inline uint64_t
slot_make(uint64_t hash, uint32_t id)
{
	return (hash & UINT64_C(0xffffffff00000000)) | (id + 1);
}

static void
table_grow(DdirGroups *t)
{
	uint64_t	size = t->slot ? ((uint64_t) t->mask + 1) * 2 : 16;
	uint64_t   *slot = ddir_alloc0(t->arena, size * sizeof(uint64_t));
	uint32_t	mask = (uint32_t) (size - 1);

	if (t->slot)
		for (uint64_t i = 0; i <= t->mask; i++)
		{
			uint32_t	k = slot_tag(t->slot[i]) & mask;

			if (t->slot[i] == 0)
				continue;
			while (slot[k] != 0)
				k = (k + 1) & mask;
			slot[k] = t->slot[i];
		}
	ddir_free(t->slot);
	t->slot = slot;
	t->mask = mask;
}

void
ddir_groups_prefetch(const DdirGroups *t, const uint64_t *hash, uint32_t n)
{
	if (t->n < PREFETCH_GROUPS)
		return;
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(&t->slot[(hash[i] >> 32) & t->mask]);
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t	id1 = slot_id1(t->slot[(hash[i] >> 32) & t->mask]);

		if (id1 != 0)
			__builtin_prefetch(entry_at(t, id1 - 1));
	}
}

static DdirGroupEntry *
entry_new(DdirGroups *t, uint64_t hash, DdirRef key)
{
	DdirGroupEntry *entry;

	if (t->stride == 0)
		layout(t, key.len);
	entry = entry_take(t);
	entry_set_key(t, entry, key);
	entry->group.hash = hash;
	entry->group.rows = 0;
	entry->group.state = (uint8_t *) entry + t->state_off;
	memset(entry->group.state, 0, t->state_size);
	entry->used = true;
	entry->touched = false;
	entry->live = false;
	t->n++;
	return entry;
}

/*
 * same is asked about each group with an equal key; NULL: the first is it.
 * The entry is complete before the table leads to it.
 */
DdirGroupEntry *
ddir_groups_find(DdirGroups *t, uint64_t hash, DdirRef key,
				 DdirRef val, DdirGroupSame same, void *ctx)
{
	DdirGroupEntry *entry;
	uint32_t	k;

	if (t->slot == NULL || t->n >= t->mask / 4 * 3)
		table_grow(t);
	for (k = (hash >> 32) & t->mask; t->slot[k] != 0; k = (k + 1) & t->mask)
	{
		if (slot_tag(t->slot[k]) != hash >> 32)
			continue;
		entry = entry_at(t, slot_id1(t->slot[k]) - 1);
		if (entry->group.hash == hash && entry->group.key.len == key.len &&
			(key.len == 0 || memcmp(entry->group.key.p, key.p, key.len) == 0) &&
			(same == NULL || same(ctx, entry, val)))
			return entry;
	}
	entry = entry_new(t, hash, key);
	t->slot[k] = slot_make(hash, entry->id);
	if (same)
		(void) same(ctx, entry, val);
	return entry;
}

/*
 * Empty the group's slot, and move back into the hole whatever would no
 * longer be found across it.
 */
void
ddir_groups_drop(DdirGroups *t, DdirGroupEntry *entry)
{
	uint64_t	mine = slot_make(entry->group.hash, entry->id);
	uint32_t	hole = slot_tag(mine) & t->mask;

	while (t->slot[hole] != mine)
	{
		ddir_check(t->slot[hole] != 0);
		hole = (hole + 1) & t->mask;
	}
	for (uint32_t k = (hole + 1) & t->mask; t->slot[k] != 0; k = (k + 1) & t->mask)
	{
		uint32_t	home = slot_tag(t->slot[k]) & t->mask;

		/* does the hole lie between home and k? */
		if (((k - home) & t->mask) < ((k - hole) & t->mask))
			continue;
		t->slot[hole] = t->slot[k];
		hole = k;
	}
	t->slot[hole] = 0;
	entry->used = false;
	entry->next_free = t->next_free;
	t->next_free = entry->id + 1;
	t->n--;
}

void
ddir_groups_touch(DdirGroups *t, DdirGroupEntry *entry)
{
	if (entry->touched)
		return;
	if (t->ntouched == t->cap_touched)
	{
		uint32_t	cap = t->cap_touched ? 2 * t->cap_touched : 16;

		t->touched = ddir_realloc(t->arena, t->touched, cap * sizeof(*t->touched));
		t->cap_touched = cap;
	}
	t->touched[t->ntouched++] = entry;
	entry->touched = true;
}

void
ddir_groups_settle(DdirGroups *t)
{
	for (uint32_t i = 0; i < t->ntouched; i++)
		t->touched[i]->touched = false;
	t->ntouched = 0;
	if (t->cap_touched > TOUCHED_KEEP)
	{
		ddir_free(t->touched);
		t->touched = NULL;
		t->cap_touched = 0;
	}
}

void
ddir_groups_each(DdirGroups *t, void (*f) (DdirGroupEntry *entry, void *ctx), void *ctx)
{
	for (uint32_t id = 0; id < t->ids; id++)
	{
		DdirGroupEntry *entry = entry_at(t, id);

		if (entry->used)
			f(entry, ctx);
	}
}

void
ddir_groups_negative(const DdirNode *node, const DdirGroupEntry *entry)
{
	const DdirGroup *group = &entry->group;
	char		hex[2 * 32 + 1] = "";

	for (uint32_t i = 0; i < group->key.len && i < 32; i++)
	{
		static const char digit[] = "0123456789abcdef";

		hex[2 * i] = digit[group->key.p[i] >> 4];
		hex[2 * i + 1] = digit[group->key.p[i] & 15];
		hex[2 * i + 2] = '\0';
	}
	ddir_error(DDIR_ERROR_NEGATIVE,
			   "%s \"%s\": key %s%s has multiplicity %lld at time %llu",
			   node->ops->name, node->label, hex, group->key.len > 32 ? "..." : "",
			   (long long) group->rows,
			   (unsigned long long) ddir_graph_now(node->graph)[0]);
}
