/*-------------------------------------------------------------------------
 *
 * port.c
 *	  The standalone body of engine/port.h, for unit tests and benchmarks.
 *
 * Arenas are lists of malloc'd blocks, each with a header that says whose it
 * is, so that everything can be counted: what an arena holds, and what is
 * held at all (a leak is what is left when the root is gone).
 *
 * Errors print and jump to the handler of the test, or end the program.
 * Any allocation can be made to fail: see unit.h.
 *
 * test/unit/port.c
 *
 *-------------------------------------------------------------------------
 */
#include "engine/port.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

typedef struct Block
{
	DdirArena  *arena;
	size_t		size;
	struct Block *next;
	struct Block *prev;
} Block;

struct DdirArena
{
	DdirArena  *parent;
	DdirArena  *child;			/* first of a list by sibling */
	DdirArena  *sibling;
	DdirArena  *elder;			/* the other way */
	Block	   *block;
	size_t		bytes;
	const char *name;
};

jmp_buf    *unit_handler;
DdirErrorCode unit_error_code;
char		unit_error_text[256];
int64_t		unit_fail_after;
size_t		unit_live_blocks;

/* Count an allocation, and fail it if it is its turn. */
static void
maybe_fail(void)
{
	if (unit_fail_after > 0 && --unit_fail_after == 0)
		ddir_error(DDIR_ERROR_MEMORY, "out of memory (injected)");
}

static void *
must(void *p)
{
	if (p == NULL)
	{
		fprintf(stderr, "out of memory\n");
		abort();
	}
	return p;
}

DdirArena *
ddir_arena_create(DdirArena *parent, const char *name)
{
	DdirArena  *a;

	maybe_fail();
	a = must(calloc(1, sizeof(DdirArena)));
	a->name = name;
	a->parent = parent;
	if (parent)
	{
		a->sibling = parent->child;
		if (a->sibling)
			a->sibling->elder = a;
		parent->child = a;
	}
	unit_live_blocks++;
	return a;
}

void
ddir_arena_reset(DdirArena *arena)
{
	while (arena->child)
		ddir_arena_destroy(arena->child);
	while (arena->block)
		ddir_free(arena->block + 1);
}

void
ddir_arena_destroy(DdirArena *arena)
{
	ddir_arena_reset(arena);
	if (arena->sibling)
		arena->sibling->elder = arena->elder;
	if (arena->elder)
		arena->elder->sibling = arena->sibling;
	else if (arena->parent)
		arena->parent->child = arena->sibling;
	unit_live_blocks--;
	free(arena);
}

size_t
ddir_arena_bytes(DdirArena *arena)
{
	size_t		bytes = arena->bytes;

	for (DdirArena *a = arena->child; a; a = a->sibling)
		bytes += ddir_arena_bytes(a);
	return bytes;
}

void *
ddir_realloc(DdirArena *arena, void *p, size_t size)
{
	Block	   *b = p ? (Block *) p - 1 : NULL;
	size_t		was = b ? b->size : 0;

	ddir_check(b == NULL || b->arena == arena);

	maybe_fail();
	b = must(realloc(b, sizeof(Block) + size));
	if (p == NULL)
	{
		b->arena = arena;
		b->prev = NULL;
		b->next = arena->block;
		unit_live_blocks++;
	}
	b->size = size;
	if (b->next)
		b->next->prev = b;
	if (b->prev)
		b->prev->next = b;
	else
		arena->block = b;
	arena->bytes += size - was;
	return b + 1;
}

void *
ddir_alloc(DdirArena *arena, size_t size)
{
	void	   *p = ddir_realloc(arena, NULL, size);

#ifdef DDIR_ASSERTS
	memset(p, 0x7f, size);		/* nobody may count on zeros */
#endif
	return p;
}

void *
ddir_alloc0(DdirArena *arena, size_t size)
{
	return memset(ddir_realloc(arena, NULL, size), 0, size);
}

void
ddir_free(void *p)
{
	Block	   *b;

	if (p == NULL)
		return;
	b = (Block *) p - 1;
	if (b->next)
		b->next->prev = b->prev;
	if (b->prev)
		b->prev->next = b->next;
	else
		b->arena->block = b->next;
	b->arena->bytes -= b->size;
	unit_live_blocks--;
	free(b);
}

char *
ddir_strdup(DdirArena *arena, const char *s)
{
	size_t		size = strlen(s) + 1;

	return memcpy(ddir_alloc(arena, size), s, size);
}

void
ddir_error(DdirErrorCode code, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	vsnprintf(unit_error_text, sizeof(unit_error_text), fmt, args);
	va_end(args);
	unit_error_code = code;
	if (unit_handler)
		longjmp(*unit_handler, 1);
	fprintf(stderr, "error %d: %s\n", (int) code, unit_error_text);
	abort();
}

void
ddir_poll(void)
{
}
