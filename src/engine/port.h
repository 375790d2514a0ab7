/*-------------------------------------------------------------------------
 *
 * port.h
 *	  What the engine asks of the world around it.
 *
 * The engine is plain C11.  Everything it needs from outside is declared
 * here, and has two bodies: one over memory contexts and ereport
 * (base/port.c), one standalone for unit tests and benchmarks
 * (test/unit/port.c).
 *
 * Memory: an arena is a tree of allocations; destroying one frees all it and
 * its children hold.  In the server an arena is a MemoryContext.  ddir_alloc
 * never returns NULL.
 *
 * Errors: ddir_error does not return.  After it the graph being run may only
 * be destroyed; engine code therefore owns nothing outside its arenas and
 * needs no clean-up of its own.
 *
 * src/engine/port.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_ENGINE_PORT_H
#define DDIR_ENGINE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct DdirArena DdirArena;

/* parent may be NULL only in standalone programs */
extern DdirArena *ddir_arena_create(DdirArena *parent, const char *name);
extern void ddir_arena_destroy(DdirArena *arena);
extern void ddir_arena_reset(DdirArena *arena);
extern size_t ddir_arena_bytes(DdirArena *arena);	/* children included */

extern void *ddir_alloc(DdirArena *arena, size_t size);
extern void *ddir_alloc0(DdirArena *arena, size_t size);

/* p may be NULL (then as ddir_alloc); contents up to the lesser size stay */
extern void *ddir_realloc(DdirArena *arena, void *p, size_t size);
extern void ddir_free(void *p); /* p may be NULL */
extern char *ddir_strdup(DdirArena *arena, const char *s);

typedef enum DdirErrorCode
{
	DDIR_ERROR_INTERNAL,		/* a broken invariant: data corrupted */
	DDIR_ERROR_MEMORY,			/* a limit of memory or size is reached */
	DDIR_ERROR_NEGATIVE,		/* a multiplicity below zero where none may be */
	DDIR_ERROR_CALLBACK			/* a callback failed; it kept the reason */
} DdirErrorCode;

extern void ddir_error(DdirErrorCode code, const char *fmt,...)
			__attribute__((noreturn, format(printf, 2, 3)));

/* Called between chunks of work; may not return if the process is to end. */
extern void ddir_poll(void);

/* An assertion that stays in release builds, as an error. */
#define ddir_check(cond) \
	((cond) ? (void) 0 : \
	 ddir_error(DDIR_ERROR_INTERNAL, "%s:%d: %s", __FILE__, __LINE__, #cond))

#ifdef DDIR_ASSERTS
#define ddir_assert(cond) ddir_check(cond)
#else
#define ddir_assert(cond) ((void) 0)
#endif

#define ddir_likely(x)	__builtin_expect(!!(x), 1)
#define ddir_unlikely(x) __builtin_expect(!!(x), 0)

#endif							/* DDIR_ENGINE_PORT_H */
