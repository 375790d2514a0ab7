/*-------------------------------------------------------------------------
 *
 * guard.c
 *	  Errors of expressions: caught, told apart, made into rows or kept; and
 *	  whose rights expressions run with.
 *
 * No error may pass through a frame of the engine, so whatever calls the
 * server from below the engine does it inside ddir_guard.  Row errors are data
 * and come back as a code and a message.  All others - a cancelled query, no
 * memory, a broken invariant - are kept as they are, the callback says
 * "failed", the engine raises DDIR_ERROR_CALLBACK at a place of its own
 * choosing, and base/port.c's hook raises the kept one from there.
 *
 * src/rows/guard.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "base/port.h"
#include "rows/program.h"

#define SQLSTATE_CLASS(a, b) MAKE_SQLSTATE(a, b, '0', '0', '0')

/* The last error that was not a row's; all in a context of its own. */
static MemoryContext failure_cxt = NULL;
static ErrorData *failure = NULL;

bool
ddir_sqlstate_is_row_error(int sqlstate)
{
	switch (ERRCODE_TO_CATEGORY(sqlstate))
	{
		case SQLSTATE_CLASS('2', '1'):	/* cardinality violation */
		case SQLSTATE_CLASS('2', '2'):	/* data exception */
		case SQLSTATE_CLASS('2', '3'):	/* integrity constraint violation */
		case SQLSTATE_CLASS('2', 'F'):	/* SQL routine exception */
		case SQLSTATE_CLASS('3', '8'):	/* external routine exception */
		case SQLSTATE_CLASS('3', '9'):	/* external routine invocation */
		case SQLSTATE_CLASS('P', '0'):	/* PL/pgSQL */
			return true;
		default:
			return false;
	}
}

/* ----
 * Error rows
 * ----
 */

const DdirRowType *
ddir_error_rowtype(void)
{
	static const DdirRowType *type = NULL;

	if (type == NULL)
	{
		const Oid	typids[] = {INT4OID, TEXTOID};
		const Oid	collations[] = {InvalidOid, DEFAULT_COLLATION_OID};
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		type = ddir_rowtype_make(lengthof(typids), typids, NULL, collations);
		MemoryContextSwitchTo(old);
	}
	return type;
}

void
ddir_error_row_push(DdirDeltas *err, int sqlstate, const char *message,
					const uint64_t *t, int64 diff, uint32 from)
{
	Datum		values[2];
	const bool	isnull[2] = {false, false};
	uint32		len;

	values[0] = Int32GetDatum(sqlstate);
	values[1] = CStringGetTextDatum(message);
	len = ddir_image_pack(ddir_error_rowtype(), values, isnull, NULL, err);
	pfree(DatumGetPointer(values[1]));
	ddir_deltas_close(err, 0, len, t, diff, from);
}

/* ----
 * The guard
 * ----
 */

static void
keep_failure(void)
{
	MemoryContext old;

	if (failure_cxt == NULL)
		failure_cxt = AllocSetContextCreate(TopMemoryContext, "ddir failure",
											ALLOCSET_SMALL_SIZES);
	failure = NULL;
	MemoryContextReset(failure_cxt);
	old = MemoryContextSwitchTo(failure_cxt);
	failure = CopyErrorData();
	MemoryContextSwitchTo(old);
	ddir_failure_hook = ddir_failure_rethrow;
}

void
ddir_failure_rethrow(void)
{
	if (failure == NULL)
		elog(ERROR, "no failure was kept");
	ReThrowError(failure);
}

/* Take the error off the server's stack; its SQLSTATE. */
static int
take_error(char **message)
{
	int			sqlstate = geterrcode();

	if (ddir_sqlstate_is_row_error(sqlstate))
	{
		ErrorData  *edata = CopyErrorData();

		*message = edata->message ? pstrdup(edata->message) : pstrdup("");
		FreeErrorData(edata);
	}
	else
	{
		keep_failure();
		if (sqlstate == ERRCODE_SUCCESSFUL_COMPLETION)
			sqlstate = ERRCODE_INTERNAL_ERROR;
	}
	FlushErrorState();
	return sqlstate;
}

/* Functions that are written in SQL or PL/pgSQL need a snapshot. */
static void
run_in_subtransaction(void (*fn) (void *arg), void *arg, MemoryContext cxt,
					  ResourceOwner owner)
{
	bool		pushed = false;

	/* what follows would be FATAL */
	if (!IsTransactionState())
		elog(ERROR, "expressions are run outside of a transaction");
	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	if (!ActiveSnapshotSet())
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		pushed = true;
	}
	fn(arg);
	if (pushed)
		PopActiveSnapshot();
	ReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
}

int
ddir_guard(void (*fn) (void *arg), void *arg, bool subxact, char **message)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	int			level = GetCurrentTransactionNestLevel();
	uint32		holdoff = InterruptHoldoffCount;
	DdirActing	acting;
	volatile int sqlstate = 0;

	GetUserIdAndSecContext(&acting.userid, &acting.sec_context);
	*message = NULL;
	PG_TRY();
	{
		if (subxact)
			run_in_subtransaction(fn, arg, cxt, owner);
		else
			fn(arg);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(cxt);
		sqlstate = take_error(message);
		while (GetCurrentTransactionNestLevel() > level)
			RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(cxt);
		CurrentResourceOwner = owner;
		InterruptHoldoffCount = holdoff;
		SetUserIdAndSecContext(acting.userid, acting.sec_context);
	}
	PG_END_TRY();
	return sqlstate;
}

/* ----
 * Rights
 * ----
 */

int
ddir_rights_enter(void)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp",
							 PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	return level;
}

void
ddir_rights_leave(int level)
{
	AtEOXact_GUC(false, level);
}

DdirActing
ddir_act_as(Oid owner)
{
	DdirActing	before;

	GetUserIdAndSecContext(&before.userid, &before.sec_context);
	if (OidIsValid(owner))
		SetUserIdAndSecContext(owner, before.sec_context | SECURITY_RESTRICTED_OPERATION);
	return before;
}

void
ddir_act_back(const DdirActing *before)
{
	SetUserIdAndSecContext(before->userid, before->sec_context);
}

typedef struct PushError
{
	DdirDeltas *err;
	int			sqlstate;
	const char *message;
	int64		diff;
} PushError;

static void
push_error(void *arg)
{
	PushError  *e = arg;

	ddir_error_row_push(e->err, e->sqlstate, e->message, NULL, e->diff, 0);
}

bool
ddir_error_row_try_push(DdirDeltas *err, int sqlstate, const char *message, int64 diff)
{
	PushError	push = {err, sqlstate, message, diff};
	char	   *ignored;

	return ddir_guard(push_error, &push, false, &ignored) == 0;
}
