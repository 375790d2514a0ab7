/*-------------------------------------------------------------------------
 *
 * leave.h
 *	  Asking a database's maintainer to step aside for a transaction.
 *
 * A maintainer is connected to its database and holds its replication slot, so
 * nobody can drop, rename, move or copy the database, nor drop the extension's
 * tables, while it runs.  Whoever wants to asks it to leave; when the
 * transaction that asked ends, however it ends, the maintainer may come back.
 *
 * src/base/leave.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_LEAVE_H
#define DDIR_BASE_LEAVE_H

#include "postgres.h"

/*
 * Ask, and wait until maintainer and slot are free: true; or ms have passed:
 * false.  Nothing happens where none could run.
 */
extern bool ddir_leave_request(Oid dbid, long ms);

/* from _PG_init */
extern void ddir_leave_init(void);

#endif							/* DDIR_BASE_LEAVE_H */
