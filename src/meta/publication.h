/*-------------------------------------------------------------------------
 *
 * publication.h
 *	  What the publications of a table forbid.
 *
 * src/meta/publication.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_META_PUBLICATION_H
#define DDIR_META_PUBLICATION_H

#include "postgres.h"

/*
 * Would the server refuse an UPDATE or DELETE of the table, as it is published
 * and by its replica identity?
 */
extern bool ddir_publication_refuses(Oid relid);

#endif							/* DDIR_META_PUBLICATION_H */
