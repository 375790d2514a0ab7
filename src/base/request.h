/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Questions that only a database's maintainer can answer, asked by a
 *	  session: one slot in shared memory, the reply over a queue in a dynamic
 *	  segment.  A reply is rows of text columns.
 *
 * src/base/request.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_REQUEST_H
#define DDIR_BASE_REQUEST_H

#include "postgres.h"

#include "nodes/pg_list.h"

#include "base/shared.h"

/*
 * Ask; a List of char ** (ncols each, NULL for SQL NULL) in CurrentMemoryContext.
 * 57P03 with a hint if there is no maintainer, 57014 after timeout_ms.
 */
extern List *ddir_request(DdirRequestKind kind, Oid arg, XLogRecPtr lsn, int ncols, int timeout_ms);

typedef struct DdirReply DdirReply;
extern void ddir_reply_row(DdirReply *reply, int ncols, const char *const *cols);

/* In the maintainer, between steps: answer all that is waiting.  True if any. */
extern bool ddir_request_serve(DdirDatabaseSlot *db,
							   void (*handler) (void *ctx, DdirRequestKind kind, Oid arg,
												XLogRecPtr lsn, DdirReply *reply),
							   void *ctx);

#endif							/* DDIR_BASE_REQUEST_H */
