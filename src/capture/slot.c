/*-------------------------------------------------------------------------
 *
 * slot.c
 *	  Our replication slot: made, looked at, dropped.
 *
 *	ddir_slot_name		- from database and generation
 *	ddir_slot_create	- waits until all running transactions have ended
 *	ddir_slot_exists	- and whether it can be decoded from
 *	ddir_slot_drop		- if it is there
 *
 * A slot is made as the SQL function does it, but in this process's own
 * transaction: ephemeral until the starting point is found, so that whatever
 * happens before leaves nothing behind.  It never decodes prepared transactions
 * before they commit.
 *
 * From the minor releases of August 2026 on, the server loads only output
 * plugins that output_plugin_libraries names.  We add ours to the value this
 * process sees; nobody else's is touched.
 *
 * src/capture/slot.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xlogutils.h"
#include "miscadmin.h"
#include "replication/slot.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "base/compat.h"
#include "capture/decoder.h"

void
ddir_slot_name(char *name, Oid dbid, uint32 generation)
{
	snprintf(name, NAMEDATALEN, "ddir_%u_%u", dbid, generation);
}

static bool
list_names_us(const char *value)
{
	char	   *copy = pstrdup(value);
	List	   *names;
	ListCell   *lc;
	bool		found = false;

	if (SplitIdentifierString(copy, ',', &names))
		foreach(lc, names)
			found = found || strcmp(lfirst(lc), DDIR_LIBRARY) == 0;
	return found;
}

/*
 * Set outside of a transaction, a session's setting lasts as long as the
 * process; inside it would end with the transaction.
 */
void
ddir_plugin_allow(void)
{
	const char *value = GetConfigOption("output_plugin_libraries", true, false);
	char	   *more;

	if (IsTransactionState())
		elog(ERROR, "settings for decoding are made in a transaction");
	if (value == NULL || list_names_us(value))
		return;
	more = value[0] ? psprintf("%s, %s", value, DDIR_LIBRARY) : pstrdup(DDIR_LIBRARY);
	SetConfigOption("output_plugin_libraries", more, PGC_SUSET, PGC_S_SESSION);
}

/* What the server says of these is right, but gives no hint. */
static void
check_requirements(void)
{
	if (wal_level < WAL_LEVEL_LOGICAL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("changes cannot be read from the write-ahead log"),
				 errdetail("wal_level is lower than \"logical\"."),
				 errhint("Set wal_level = logical and restart the server.")));
	if (max_replication_slots == 0)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("no replication slot is free"),
				 errdetail("max_replication_slots is 0."),
				 errhint("Increase max_replication_slots and restart the server.")));
	CheckLogicalDecodingRequirements();
}

static void
create_in_transaction(const char *name)
{
	LogicalDecodingContext *ctx;

	ddir_compat_slot_create(name);
	ctx = CreateInitDecodingContext(DDIR_LIBRARY, NIL, false, InvalidXLogRecPtr,
									XL_ROUTINE(.page_read = read_local_xlog_page,
											   .segment_open = wal_segment_open,
											   .segment_close = wal_segment_close),
									NULL, NULL, NULL);
	DecodingContextFindStartpoint(ctx);
	FreeDecodingContext(ctx);
	ReplicationSlotPersist();
	ReplicationSlotRelease();
}

void
ddir_slot_create(const char *name)
{
	MemoryContext old = CurrentMemoryContext;

	check_requirements();
	ddir_plugin_allow();

	StartTransactionCommand();
	ddir_plugin_user.creating = true;
	PG_TRY();
	{
		create_in_transaction(name);
	}
	PG_CATCH();
	{
		ddir_plugin_user.creating = false;

		/*
		 * Locks held by the code that failed go with the transaction; only
		 * then can the slot, which is ephemeral still, be dropped.
		 */
		AbortCurrentTransaction();
		if (MyReplicationSlot != NULL)
			ReplicationSlotRelease();
		MemoryContextSwitchTo(old);
		PG_RE_THROW();
	}
	PG_END_TRY();
	ddir_plugin_user.creating = false;
	CommitTransactionCommand();
	MemoryContextSwitchTo(old);
}

bool
ddir_slot_exists(const char *name, bool *usable)
{
	ReplicationSlot *slot;
	ReplicationSlot is;
	bool		found = false;

	LWLockAcquire(ReplicationSlotControlLock, LW_SHARED);
	slot = SearchNamedReplicationSlot(name, false);
	if (slot != NULL && slot->in_use)
	{
		found = true;
		SpinLockAcquire(&slot->mutex);
		is = *slot;
		SpinLockRelease(&slot->mutex);
	}
	LWLockRelease(ReplicationSlotControlLock);

	*usable = found &&
		is.data.database == MyDatabaseId &&
		is.data.persistency == RS_PERSISTENT &&
		!is.data.two_phase &&
		strcmp(NameStr(is.data.plugin), DDIR_LIBRARY) == 0 &&
		!ddir_compat_slot_invalidated(&is) &&
		is.data.restart_lsn != InvalidXLogRecPtr &&
		is.data.confirmed_flush != InvalidXLogRecPtr;
	return found;
}

void
ddir_slot_drop(const char *name)
{
	bool		usable;

	if (MyReplicationSlot != NULL)
		elog(ERROR, "a replication slot is dropped while one is in use");
	if (ddir_slot_exists(name, &usable))
		ReplicationSlotDrop(name, true);
}
