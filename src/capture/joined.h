/*-------------------------------------------------------------------------
 *
 * joined.h
 *	  What a transaction tells the decoder: tables became partitions, and were
 *	  empty then.
 *
 * By a message in the WAL, at its place among the changes of the transaction.
 * Anybody may write messages; so it holds a number that only the server's
 * memory has.  One of before a restart is not understood, and its partitions
 * are taken for ones with rows.
 *
 * src/capture/joined.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_JOINED_H
#define DDIR_CAPTURE_JOINED_H

#include "postgres.h"

#include "nodes/pg_list.h"

extern void ddir_joined_write(List *relids);

/* false: it is another's message */
extern bool ddir_joined_read(const char *prefix, const char *message, Size size, List **relids);

#endif							/* DDIR_CAPTURE_JOINED_H */
