/*-------------------------------------------------------------------------
 *
 * write.h
 *	  Writing row images to a view's table and its indexes.
 *
 * A writer is opened for one command: all it writes has one command id, and
 * indexes are kept as the view's owner.  Inserts are gathered; the function
 * given is told where each came to be, when they are written.
 *
 * Calls: open, any mix of fetch, delete, update, insert, then close.  After an
 * error the (sub)transaction's end cleans up.  Needs a transaction with an
 * active snapshot, and the table locked by the caller.
 *
 * src/apply/write.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_APPLY_WRITE_H
#define DDIR_APPLY_WRITE_H

#include "postgres.h"

#include "storage/itemptr.h"
#include "utils/relcache.h"

#include "rows/rowtype.h"

typedef struct DdirWriter DdirWriter;

/* row: as given to insert */
typedef void (*DdirInserted) (void *ctx, uint32 row, const ItemPointerData *tid);

/*
 * bulk: for many inserts into what may be an empty table.  The writer lives in
 * CurrentMemoryContext.
 */
extern DdirWriter *ddir_writer_open(Relation rel, const DdirRowType *type, bool bulk,
									DdirInserted inserted, void *ctx);
extern void ddir_writer_close(DdirWriter *w);
extern uint64 ddir_writer_rows(const DdirWriter *w);	/* written or gathered */

/*
 * The image of the row there, valid until the next fetch; false if the active
 * snapshot sees none.
 */
extern bool ddir_writer_fetch(DdirWriter *w, const ItemPointerData *tid, DdirRef *image);

typedef enum DdirWritten
{
	DDIR_WRITTEN,
	DDIR_WRITTEN_BEFORE,		/* by this writer */
	DDIR_WRITTEN_BY_OTHERS		/* the row is not there any more */
} DdirWritten;

extern DdirWritten ddir_writer_delete(DdirWriter *w, const ItemPointerData *tid);

/* tid: where it was and, afterwards, is */
extern DdirWritten ddir_writer_update(DdirWriter *w, ItemPointerData *tid, DdirRef image);

/* image must stay where it is until the writer is closed */
extern void ddir_writer_insert(DdirWriter *w, DdirRef image, uint32 row);

#endif							/* DDIR_APPLY_WRITE_H */
