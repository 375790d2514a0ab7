/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  What differs between the supported servers.  The only file that looks at
 *	  PG_VERSION_NUM.
 *
 * src/base/compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_COMPAT_H
#define DDIR_BASE_COMPAT_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "utils/wait_event.h"
#include "utils/pg_locale.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "ddir supports PostgreSQL 15 to 18"
#endif

/* Does the collation order strings by their bytes? */
static inline bool
ddir_collation_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

/* To be called after an attribute was changed by hand. */
static inline void
ddir_tupdesc_changed(TupleDesc desc, int i)
{
#if PG_VERSION_NUM >= 180000
	populate_compact_attribute(desc, i);
#endif
}

/* Wait events of extensions have names from 17 on. */
static inline uint32
ddir_wait_event_new(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

#endif							/* DDIR_BASE_COMPAT_H */
