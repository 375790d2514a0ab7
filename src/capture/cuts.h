/*-------------------------------------------------------------------------
 *
 * cuts.h
 *	  Capture by triggers: what they wrote to the delta tables, in cuts.
 *
 * A cut is a snapshot; what it sees and the one before it does not see is
 * delivered together, each transaction's rows as a tray of their own (of one
 * lsn, and consistent only together: the order of the transactions in a cut is
 * not known).  A cut's position is that of the WAL just before the snapshot.
 *
 * src/capture/cuts.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_CUTS_H
#define DDIR_CAPTURE_CUTS_H

#include "postgres.h"

#include "access/xlogdefs.h"

#include "base/shared.h"
#include "capture/tracked.h"

typedef struct DdirCuts DdirCuts;

/* Outside of transactions; what is visible now will not be delivered. */
extern DdirCuts *ddir_cuts_open(DdirDatabaseSlot *db);
extern void ddir_cuts_close(DdirCuts *c);

extern DdirTracking *ddir_cuts_tracking(DdirCuts *c);

/* One cut, whole.  Outside of transactions. */
extern void ddir_cuts_read(DdirCuts *c, DdirTrays *out);

/* everything visible before this position was reached is delivered */
extern XLogRecPtr ddir_cuts_position(const DdirCuts *c);

/*
 * Transactions that may have written without that it was captured, and run
 * still, as far as known: no snapshot is whole before they have ended.  Fills
 * xids (palloc'd), returns their number.
 */
extern int	ddir_cuts_uncaptured(const DdirCuts *c, TransactionId **xids);

/* Has anything been committed since? */
extern bool ddir_cuts_waiting(const DdirCuts *c);

#endif							/* DDIR_CAPTURE_CUTS_H */
