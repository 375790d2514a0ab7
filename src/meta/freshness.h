/*-------------------------------------------------------------------------
 *
 * freshness.h
 *	  Waiting until views are current.
 *
 * A view is current with respect to a position in the WAL when its frontier
 * has reached it: all that was committed before is in it.
 *
 *	ddir_freshness_target	- the position of now, flushed
 *	ddir_freshness_require_servable - can the transaction be served at all?
 *	ddir_freshness_await	- wait for it
 *	ddir_freshness_raise	- say why it did not happen
 *
 * src/meta/freshness.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_META_FRESHNESS_H
#define DDIR_META_FRESHNESS_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

#include "base/shared.h"

typedef enum DdirFreshnessResult
{
	DDIR_FRESHNESS_REACHED,
	DDIR_FRESHNESS_TIMEOUT,
	DDIR_FRESHNESS_ERROR,		/* the view is held by a row error */
	DDIR_FRESHNESS_SUSPENDED,
	DDIR_FRESHNESS_DISABLED,
	DDIR_FRESHNESS_NO_MAINTAINER,	/* and none can run */
	DDIR_FRESHNESS_GONE			/* it is not a ddir view any more */
} DdirFreshnessResult;

/* Of the first view that was not current when waiting ended. */
typedef struct DdirFreshness
{
	DdirFreshnessResult result;
	Oid			view;
	XLogRecPtr	target;
	TimestampTz instant;		/* by which rows are to have come and gone */
	XLogRecPtr	frontier;
	DdirViewState state;
	DdirHydrationPhase phase;
	uint64		rows_done;
	uint64		rows_total;
	bool		unlooked;		/* its definition is locked, and may have
								 * changed */
	bool		returns;		/* suspended: comes back by itself */
	int			sqlstate;
	char		reason[DDIR_REASON_LEN];
	char		message[DDIR_REASON_LEN];	/* NO_MAINTAINER: the hint */
} DdirFreshness;

/* Everything committed before this call ended before it; 55000 in recovery. */
extern XLogRecPtr ddir_freshness_target(void);

/* What a view's slot says; without one, that it waits for the maintainer. */
extern void ddir_freshness_read(Oid view, DdirFreshness *out);

/*
 * Can the view become current while this transaction is open?  If not, *why
 * says what stands in the way (a sentence, for errdetail).
 */
extern bool ddir_freshness_servable(Oid view, char **why);

/* 25001 for transactions with one snapshot, 55000 unless servable */
extern void ddir_freshness_require_servable(List *views);

/*
 * Wait until all views (Oids) have reached the target, or ms have passed (-1:
 * no limit).  With "only_live", give up at once on a view that is not live.
 */
extern void ddir_freshness_await(List *views, XLogRecPtr target, long ms,
								 bool only_live, DdirFreshness *out);

/* ereport(ERROR), unless reached */
extern void ddir_freshness_raise(const DdirFreshness *f, long ms);

#endif							/* DDIR_META_FRESHNESS_H */
