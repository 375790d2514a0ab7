/*-------------------------------------------------------------------------
 *
 * ddir.c
 *	  Entry of the library.
 *
 * Only what must happen when the server loads us: everything else is
 * reached from here and lives in a folder below.
 *
 * src/ddir.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	MarkGUCPrefixReserved("ddir");
}
