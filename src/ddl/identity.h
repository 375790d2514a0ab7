/*-------------------------------------------------------------------------
 *
 * identity.h
 *	  Giving sources back the replica identities they had.
 *
 * src/ddl/identity.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_DDL_IDENTITY_H
#define DDIR_DDL_IDENTITY_H

#include "postgres.h"

/*
 * As superuser and with SPI, since whoever makes us do it need not own the
 * tables; statements must be our own, and name no operator by search_path.
 */
extern void ddir_as_superuser(void (*work) (bool arg), bool arg);

/* All of them; to be called by ddir_as_superuser. */
extern void ddir_identities_give_back(void);

/* All triggers that capture changes; likewise. */
extern void ddir_triggers_drop(void);

/* Those whose updates a publication, just made or altered, would make fail. */
extern void ddir_identities_published(void);

#endif							/* DDIR_DDL_IDENTITY_H */
