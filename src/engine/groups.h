/*-------------------------------------------------------------------------
 *
 * groups.h
 *	  A hash table of groups, each with a state of fixed size.
 *
 * Open addressing on the key's hash, linear probing, removal by shifting
 * back.  A slot is eight bytes: 32 bits of the hash and the group's number.
 * Groups live in slabs and never move, so pointers to them stay valid until
 * the group is dropped; the numbers of dropped groups are used again.  Keys
 * stand in the group where they fit (the room is sized by the first key), so
 * neither rows nor, as a rule, groups allocate on their own.
 *
 *	ddir_groups_find	- the group of a row, made if there is none
 *	ddir_groups_touch	- remember it until the end of the step
 *	ddir_groups_drop	- remove one
 *
 * Memory: slabs, table and keys in the arena given.
 * Limits: 2^32 - 2 groups.
 *
 * src/engine/groups.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_GROUPS_H
#define DDIR_ENGINE_GROUPS_H

#include "engine/op.h"

typedef struct DdirGroupEntry
{
	DdirGroup	group;			/* first: what callbacks see */
	uint32_t	id;
	uint32_t	key_cap;		/* of a key outside the entry; 0: none */
	uint8_t    *key_out;
	bool		used;
	bool		touched;		/* in this step */
	bool		live;			/* its output is with the consumers */
	uint32_t	next_free;		/* id + 1 */
} DdirGroupEntry;

/*
 * Says whether a row with a group's key belongs to that group; told of every
 * row for which a group is made.
 */
typedef bool (*DdirGroupSame) (void *ctx, DdirGroupEntry *entry, DdirRef val);

typedef struct DdirGroups
{
	DdirArena  *arena;
	size_t		state_size;
	size_t		state_off;		/* in an entry */
	size_t		key_off;
	uint32_t	key_room;
	size_t		stride;			/* 0: no group was ever made */
	uint32_t	n;				/* groups */
	uint32_t	ids;			/* numbers given out */
	uint32_t	next_free;		/* id + 1 */
	uint64_t   *slot;
	uint32_t	mask;
	uint8_t   **slab;
	uint32_t	nslabs;
	uint32_t	cap_slabs;
	DdirGroupEntry **touched;
	uint32_t	ntouched;
	uint32_t	cap_touched;
} DdirGroups;

extern void ddir_groups_init(DdirGroups *t, DdirArena *arena, size_t state_size);
extern DdirGroupEntry *ddir_groups_find(DdirGroups *t, uint64_t hash, DdirRef key,
										DdirRef val, DdirGroupSame same, void *ctx);
extern void ddir_groups_drop(DdirGroups *t, DdirGroupEntry *entry);
extern void ddir_groups_touch(DdirGroups *t, DdirGroupEntry *entry);

/* no group is touched any more; gives back a list that once was long */
extern void ddir_groups_settle(DdirGroups *t);
extern void ddir_groups_each(DdirGroups *t, void (*f) (DdirGroupEntry *entry, void *ctx), void *ctx);

/* bring nearer what find will look at, for these hashes */
extern void ddir_groups_prefetch(const DdirGroups *t, const uint64_t *hash, uint32_t n);

/* raise DDIR_ERROR_NEGATIVE for it */
extern void ddir_groups_negative(const DdirNode *node, const DdirGroupEntry *entry)
			__attribute__((noreturn));

#endif							/* DDIR_ENGINE_GROUPS_H */
