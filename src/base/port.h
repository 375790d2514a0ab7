/*-------------------------------------------------------------------------
 *
 * port.h
 *	  The server's side of the engine's port: arenas are memory contexts,
 *	  errors are ereport's.
 *
 * An arena and its memory context are the same object; the two casts below
 * are the only places that know.
 *
 * src/base/port.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_PORT_H
#define DDIR_BASE_PORT_H

#include "postgres.h"

#include "engine/port.h"
#include "utils/palloc.h"

static inline DdirArena *
ddir_arena_of(MemoryContext cxt)
{
	return (DdirArena *) cxt;
}

static inline MemoryContext
ddir_arena_context(DdirArena *arena)
{
	return (MemoryContext) arena;
}

/*
 * Called for DDIR_ERROR_CALLBACK, to raise again the error that made the
 * callback fail; whoever keeps such errors sets it.  May be NULL, may return.
 */
extern void (*ddir_failure_hook) (void);

/* Was this error raised by ddir_error(DDIR_ERROR_NEGATIVE)? */
extern bool ddir_error_is_negative(const ErrorData *edata);

#endif							/* DDIR_BASE_PORT_H */
