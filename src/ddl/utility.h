/*-------------------------------------------------------------------------
 *
 * utility.h
 *	  Utility commands that mean something else, or more, where ddir is.
 *
 * src/ddl/utility.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_DDL_UTILITY_H
#define DDIR_DDL_UTILITY_H

/* from _PG_init: installs the hook */
extern void ddir_utility_init(void);

#endif							/* DDIR_DDL_UTILITY_H */
