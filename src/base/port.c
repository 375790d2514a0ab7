/*-------------------------------------------------------------------------
 *
 * port.c
 *	  The engine's port over memory contexts and ereport.
 *
 * An arena is an AllocSet.  Its first block is small, because the engine
 * makes an arena for every batch; what a batch holds are a few large lanes,
 * and each of those gets a block of its own size.  Lanes may exceed 1 GB, so
 * every request is a "huge" one.
 *
 * Errors: a broken invariant and a negative multiplicity are both "data
 * corrupted" to whoever reads the SQLSTATE; our own code tells them apart by
 * ddir_error_is_negative, as the first of the latter is answered by hydrating
 * again.
 *
 * src/base/port.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/port.h"

#define NAME_MAX_BYTES 64
#define MESSAGE_MAX_BYTES 1024

void		(*ddir_failure_hook) (void) = NULL;

/*
 * The name is copied into the arena: callers may pass one that they made up.
 * Where it stands goes with a reset, so that sets it again.
 */
static void
name_context(MemoryContext cxt, const char *name)
{
	MemoryContextSetIdentifier(cxt, MemoryContextStrdup(cxt, name));
}

DdirArena *
ddir_arena_create(DdirArena *parent, const char *name)
{
	MemoryContext cxt;

	if (parent == NULL)
		elog(ERROR, "arena \"%s\" has no parent", name);
	cxt = AllocSetContextCreateInternal(ddir_arena_context(parent), "ddir arena",
										ALLOCSET_START_SMALL_SIZES);
	name_context(cxt, name);
	return ddir_arena_of(cxt);
}

void
ddir_arena_destroy(DdirArena *arena)
{
	MemoryContextDelete(ddir_arena_context(arena));
}

void
ddir_arena_reset(DdirArena *arena)
{
	MemoryContext cxt = ddir_arena_context(arena);
	char		name[NAME_MAX_BYTES];

	strlcpy(name, cxt->ident ? cxt->ident : "", sizeof(name));
	MemoryContextSetIdentifier(cxt, NULL);
	MemoryContextReset(cxt);
	name_context(cxt, name);
}

size_t
ddir_arena_bytes(DdirArena *arena)
{
	return MemoryContextMemAllocated(ddir_arena_context(arena), true);
}

void *
ddir_alloc(DdirArena *arena, size_t size)
{
	return MemoryContextAllocHuge(ddir_arena_context(arena), size);
}

void *
ddir_alloc0(DdirArena *arena, size_t size)
{
	void	   *p = MemoryContextAllocHuge(ddir_arena_context(arena), size);

	memset(p, 0, size);
	return p;
}

void *
ddir_realloc(DdirArena *arena, void *p, size_t size)
{
	if (p == NULL)
		return ddir_alloc(arena, size);
	return repalloc_huge(p, size);
}

void
ddir_free(void *p)
{
	if (p != NULL)
		pfree(p);
}

char *
ddir_strdup(DdirArena *arena, const char *s)
{
	return MemoryContextStrdup(ddir_arena_context(arena), s);
}

/*
 * A function of its own, because its name in the error is what
 * ddir_error_is_negative goes by.
 */
static void
raise_negative(const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("%s", message)));
}

bool
ddir_error_is_negative(const ErrorData *edata)
{
	return edata->sqlerrcode == ERRCODE_DATA_CORRUPTED &&
		edata->funcname != NULL &&
		strcmp(edata->funcname, "raise_negative") == 0;
}

void
ddir_error(DdirErrorCode code, const char *fmt,...)
{
	char		message[MESSAGE_MAX_BYTES];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);

	switch (code)
	{
		case DDIR_ERROR_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("%s", message)));
			break;
		case DDIR_ERROR_NEGATIVE:
			raise_negative(message);
			break;
		case DDIR_ERROR_CALLBACK:
			if (ddir_failure_hook != NULL)
				ddir_failure_hook();
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("a function of a dataflow failed without a reason"),
					 errdetail_internal("%s", message)));
			break;
		case DDIR_ERROR_INTERNAL:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("the state of a dataflow is corrupted"),
			 errdetail_internal("%s", message)));
	pg_unreachable();
}

void
ddir_poll(void)
{
	CHECK_FOR_INTERRUPTS();
}
