/*-------------------------------------------------------------------------
 *
 * slots.c
 *	  Our replication slots and origins, as seen from outside.
 *
 * src/base/slots.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_database.h"
#include "catalog/pg_replication_origin.h"
#include "replication/origin.h"
#include "replication/slot.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "base/slots.h"

#define PREFIX "ddir_"

Oid
ddir_slot_name_database(const char *name)
{
	uint64		dbid = 0;
	const char *p;

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
		return InvalidOid;
	for (p = name + strlen(PREFIX); *p >= '0' && *p <= '9'; p++)
	{
		dbid = dbid * 10 + (*p - '0');
		if (dbid > OID_MAX)
			return InvalidOid;
	}
	return *p == '_' ? (Oid) dbid : InvalidOid;
}

/*
 * A slot is ours if its plugin and its name are; users may name theirs as
 * they like.
 */
List *
ddir_slots_list(Oid dbid)
{
	DdirSlotInfo *info = palloc(max_replication_slots * sizeof(DdirSlotInfo));
	List	   *result = NIL;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots; i++)
	{
		ReplicationSlot *slot = &ReplicationSlotCtl->replication_slots[i];
		bool		ours;

		if (!slot->in_use)
			continue;
		SpinLockAcquire(&slot->mutex);
		ours = strcmp(NameStr(slot->data.plugin), "ddir") == 0 &&
			slot->data.persistency == RS_PERSISTENT;
		strlcpy(info[i].name, NameStr(slot->data.name), NAMEDATALEN);
		info[i].dbid = slot->data.database;
		info[i].active_pid = slot->active_pid;
		info[i].confirmed = slot->data.confirmed_flush;
		SpinLockRelease(&slot->mutex);
		if (ours && ddir_slot_name_database(info[i].name) == info[i].dbid &&
			(dbid == InvalidOid || info[i].dbid == dbid))
			result = lappend(result, &info[i]);
	}
	LWLockRelease(ReplicationSlotControlLock);
	return result;
}

bool
ddir_slots_active(Oid dbid)
{
	ListCell   *lc;

	foreach(lc, ddir_slots_list(dbid))
	{
		if (((DdirSlotInfo *) lfirst(lc))->active_pid != 0)
			return true;
	}
	return false;
}

bool
ddir_slots_free(void)
{
	bool		found = false;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	for (int i = 0; i < max_replication_slots && !found; i++)
		found = !ReplicationSlotCtl->replication_slots[i].in_use;
	LWLockRelease(ReplicationSlotControlLock);
	return found;
}

void
ddir_slots_drop(Oid dbid)
{
	ListCell   *lc;

	Assert(OidIsValid(dbid));
	foreach(lc, ddir_slots_list(dbid))
		ReplicationSlotDrop(((DdirSlotInfo *) lfirst(lc))->name, true);
}

void
ddir_origins_drop(Oid dbid)
{
	Relation	rel = table_open(ReplicationOriginRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(rel, InvalidOid, false, NULL, 0, NULL);
	List	   *names = NIL;
	ListCell   *lc;
	HeapTuple	tup;

	while (HeapTupleIsValid(tup = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		value = heap_getattr(tup, Anum_pg_replication_origin_roname,
										 RelationGetDescr(rel), &isnull);
		char	   *name = isnull ? "" : TextDatumGetCString(value);
		Oid			of = ddir_slot_name_database(name);

		if (!OidIsValid(of))
			continue;
		if (OidIsValid(dbid) ? of == dbid :
			!SearchSysCacheExists1(DATABASEOID, ObjectIdGetDatum(of)))
			names = lappend(names, name);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);

	foreach(lc, names)
		replorigin_drop_by_name(lfirst(lc), true, true);
}
