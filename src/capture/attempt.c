/*-------------------------------------------------------------------------
 *
 * attempt.c
 *	  Changing a source's definition without standing in anybody's way.
 *
 * src/capture/attempt.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "capture/attempt.h"

void
ddir_attempt_refuse(DdirAttempt *a, const char *why)
{
	a->result = DDIR_ATTEMPT_REFUSED;
	a->why = MemoryContextStrdup(a->caller, why);
}

bool
ddir_attempt_lock(DdirAttempt *a, LOCKMODE mode)
{
	if (a->lock_ms > 0)
		LockRelationOid(a->relid, mode);
	else if (!ConditionalLockRelationOid(a->relid, mode))
	{
		a->result = DDIR_ATTEMPT_LOCKED;
		return false;
	}
	return true;
}

static void
run_attempt(DdirAttempt *a, void (*work) (DdirAttempt *a))
{
	StartTransactionCommand();
	(void) set_config_option("lock_timeout", psprintf("%dms", a->lock_ms), PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_LOCAL, true, 0, false);
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	work(a);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
}

/*
 * Errors that go away.  An internal one is most likely "tuple concurrently
 * updated", by a GRANT that takes no lock we would have waited for.
 */
static bool
is_transient(int sqlstate)
{
	return sqlstate == ERRCODE_LOCK_NOT_AVAILABLE ||
		sqlstate == ERRCODE_T_R_DEADLOCK_DETECTED ||
		sqlstate == ERRCODE_OBJECT_IN_USE ||
		sqlstate == ERRCODE_QUERY_CANCELED ||
		sqlstate == ERRCODE_OUT_OF_MEMORY ||
		sqlstate == ERRCODE_INTERNAL_ERROR;
}

static void
judge_error(DdirAttempt *a)
{
	ErrorData  *error;

	MemoryContextSwitchTo(a->caller);
	error = CopyErrorData();
	FlushErrorState();
	AbortCurrentTransaction();
	MemoryContextSwitchTo(a->caller);
	if (!is_transient(error->sqlerrcode))
		ddir_attempt_refuse(a, error->message);
	else
	{
		a->result = DDIR_ATTEMPT_LOCKED;
		if (error->sqlerrcode == ERRCODE_INTERNAL_ERROR)
			ereport(LOG,
					(errmsg("ddir: capture of relation %u is changed later: %s",
							a->relid, error->message)));
	}
	FreeErrorData(error);
}

DdirAttemptResult
ddir_attempt(Oid relid, int lock_ms, char **why, void (*work) (DdirAttempt *a))
{
	DdirAttempt a = {.relid = relid,.lock_ms = lock_ms,.caller = CurrentMemoryContext};

	if (IsTransactionState())
		elog(ERROR, "a source is prepared inside of a transaction");
	PG_TRY();
	{
		run_attempt(&a, work);
	}
	PG_CATCH();
	{
		judge_error(&a);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(a.caller);
	if (why)
		*why = a.why;
	return a.result;
}
