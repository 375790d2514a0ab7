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

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "ddir supports PostgreSQL 15 to 18"
#endif

#endif							/* DDIR_BASE_COMPAT_H */
