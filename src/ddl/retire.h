/*-------------------------------------------------------------------------
 *
 * retire.h
 *	  Taking ddir out of a database: DROP EXTENSION and ddir.disable().
 *
 * src/ddl/retire.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_DDL_RETIRE_H
#define DDIR_DDL_RETIRE_H

#include "postgres.h"

/*
 * The maintainer is made to leave (55006 if it does not), and sources get back
 * the replica identities they had.  When the transaction commits and the
 * extension is gone, or disabled, slot and origin are dropped too.
 */
extern void ddir_retire_begin(void);

/* The switch in ddir._database is to be told to the processes at commit. */
extern void ddir_retire_switched(bool disabled);

/* from _PG_init */
extern void ddir_retire_init(void);

#endif							/* DDIR_DDL_RETIRE_H */
