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
 * DROP EXTENSION is about to run.  The maintainer is made to leave (55006 if
 * it does not), and sources get back the replica identities they had.  When the
 * transaction commits and the extension is gone, slot and origin go too.
 */
extern void ddir_retire_begin(void);

/*
 * The switch of this database: off is as above, the extension staying; on
 * takes effect at commit.
 */
extern void ddir_retire_switch(bool disabled);

/* from _PG_init */
extern void ddir_retire_init(void);

#endif							/* DDIR_DDL_RETIRE_H */
