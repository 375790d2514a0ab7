/*-------------------------------------------------------------------------
 *
 * joined.c
 *	  What a transaction tells the decoder: tables became partitions, and were
 *	  empty then.
 *
 *	message := secret relid...
 *
 * src/capture/joined.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/compat.h"
#include "base/shared.h"
#include "capture/joined.h"

#define PREFIX "ddir"

void
ddir_joined_write(List *relids)
{
	Size		size = sizeof(uint64) + list_length(relids) * sizeof(Oid);
	char	   *message = palloc(size);
	char	   *p = message + sizeof(uint64);
	ListCell   *lc;

	memcpy(message, &ddir_shared->secret, sizeof(uint64));
	foreach(lc, relids)
	{
		memcpy(p, &lfirst_oid(lc), sizeof(Oid));
		p += sizeof(Oid);
	}
	ddir_compat_message(PREFIX, message, size);
	pfree(message);
}

bool
ddir_joined_read(const char *prefix, const char *message, Size size, List **relids)
{
	*relids = NIL;
	if (strcmp(prefix, PREFIX) != 0 || size < sizeof(uint64) ||
		memcmp(message, &ddir_shared->secret, sizeof(uint64)) != 0)
		return false;
	for (Size at = sizeof(uint64); at + sizeof(Oid) <= size; at += sizeof(Oid))
	{
		Oid			relid;

		memcpy(&relid, message + at, sizeof(Oid));
		*relids = lappend_oid(*relids, relid);
	}
	return true;
}
