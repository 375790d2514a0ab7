/*-------------------------------------------------------------------------
 *
 * slots.h
 *	  Our replication slots and origins, as seen from outside: by their names.
 *
 * Both are named ddir_<database OID>_<generation>.  The maintainer makes and
 * uses them; others look at them, and drop what is left behind.
 *
 * src/base/slots.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_SLOTS_H
#define DDIR_BASE_SLOTS_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

typedef struct DdirSlotInfo
{
	char		name[NAMEDATALEN];
	Oid			dbid;
	pid_t		active_pid;		/* 0: nobody uses it */
	XLogRecPtr	confirmed;		/* everything before it is consumed */
} DdirSlotInfo;

/* The slots of a database, or of all (InvalidOid): List of DdirSlotInfo *. */
extern List *ddir_slots_list(Oid dbid);

/* in use by anybody? */
extern bool ddir_slots_active(Oid dbid);

/* Could one more slot be made? */
extern bool ddir_slots_free(void);

/* Drop those of a database; 55006 if one is in use. */
extern void ddir_slots_drop(Oid dbid);

/*
 * Drop the replication origins of a database; with InvalidOid of all databases
 * that do not exist any more.  Needs a transaction.
 */
extern void ddir_origins_drop(Oid dbid);

/* The database in a name, or InvalidOid. */
extern Oid	ddir_slot_name_database(const char *name);

#endif							/* DDIR_BASE_SLOTS_H */
