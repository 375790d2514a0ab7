/*-------------------------------------------------------------------------
 *
 * request.h
 *	  Questions that only a database's maintainer can answer, asked by a
 *	  session.
 *
 * The question is a slot in shared memory; the reply is rows of text columns
 * in a dynamic segment that the maintainer makes just large enough, so that it
 * never waits for whoever asked.
 *
 * The columns of each reply, in the text form of their types:
 *
 *	SOURCES			relid oid, capture text, identity text, views oid[],
 *					rows int8
 *	ARRANGEMENTS	relid oid (NULL: derived), input text, key text,
 *					columns text, views oid[], rows int8, bytes int8,
 *					since int8, upper int8
 *	OPERATORS		view oid (NULL: shared), operator text, label text,
 *					rows_in int8, rows_out int8, rows int8, bytes int8
 *	EXPLAIN			depth int, what text, text text, sharing text,
 *					estimates: rows, bytes, new bytes of a delta join and of
 *					binary joins; what is held: rows, bytes (all int8)
 *	DESCRIBE		arrangement text, rows int8, bytes int8: what a plan made
 *					elsewhere may share (plan/build.h)
 *	REPAIR			(no rows)
 *	CONFIRM			answer text: yes or no
 *	SETTINGS		name text, value text: the maintainer's settings that
 *					results of functions depend on; answered here
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
 * 57P03 with a hint if there is no maintainer, 57014 after timeout_ms; an error
 * that the maintainer replied is raised here.
 */
extern List *ddir_request(DdirRequestKind kind, Oid arg, XLogRecPtr lsn, int ncols, int timeout_ms);

/* The same, but false where there is nobody to answer, or not soon enough. */
extern bool ddir_request_maybe(DdirRequestKind kind, Oid arg, XLogRecPtr lsn, int ncols,
							   int timeout_ms, List **rows);

typedef struct DdirReply DdirReply;
extern void ddir_reply_row(DdirReply *reply, int ncols, const char *const *cols);

/* Instead of rows: what the one who asked is to be told.  hint may be NULL. */
extern void ddir_reply_error(DdirReply *reply, int sqlstate, const char *message,
							 const char *hint);

/* Is anything waiting?  Read without a lock, so for who looks again. */
extern bool ddir_request_waits(const DdirDatabaseSlot *db);

/*
 * In the maintainer, between steps: answer all that is waiting.  True if any.
 * The handler says what is wrong by ddir_reply_error; an error that it raises
 * is not caught here, and the asker is told only when the process has gone.
 */
extern bool ddir_request_serve(DdirDatabaseSlot *db,
							   void (*handler) (void *ctx, DdirRequestKind kind, Oid arg,
												XLogRecPtr lsn, DdirReply *reply),
							   void *ctx);

/* settings that results of STABLE functions of the server hang on, as text */
extern char *ddir_settings_text(void);

#endif							/* DDIR_BASE_REQUEST_H */
