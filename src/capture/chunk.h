/*-------------------------------------------------------------------------
 *
 * chunk.h
 *	  Delta tables, and the chunks of rows in them.
 *
 * The trigger function (trigger.c) packs the rows that a statement has removed
 * and added into chunks of about a page, one a row of a delta table; the
 * maintainer (cuts.c) reads those of transactions that have become visible.
 *
 *	chunk := head len... image...		as many of each as the head says
 *
 * A len is that of its image, shifted left by one; the low bit says that the
 * row was removed.  Images have all columns of the table, as they were; "shape"
 * is a hash of their types, so that an image is never read as what it is not.
 *
 * src/capture/chunk.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_CHUNK_H
#define DDIR_CAPTURE_CHUNK_H

#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "storage/bufpage.h"

#include "base/shared.h"
#include "rows/rowtype.h"

/* A row of a delta table, as it lies behind the tuple's header. */
typedef struct DdirDeltaRow
{
	int64		xid;			/* top-level, with its epoch */
	int32		n;
	Oid			source;
	/* rows: bytea */
} DdirDeltaRow;

#define DDIR_DELTA_COLUMNS 4

typedef enum DdirChunkKind
{
	DDIR_CHUNK_OF_ROWS,
	DDIR_CHUNK_TRUNCATE,		/* the table was truncated; no rows */
	DDIR_CHUNK_UNKNOWN			/* which rows were changed is not known */
} DdirChunkKind;

typedef struct DdirChunkHead
{
	uint32		shape;
	uint32		kind;
	uint32		count;
} DdirChunkHead;

/* A chunk of more bytes has one row only, and lies out of line. */
#define DDIR_CHUNK_BYTES_MAX 8000

static inline uint32
ddir_chunk_shape(const DdirRowType *type)
{
	uint32		hash = type->natts;

	for (int i = 0; i < type->natts; i++)
		hash = hash_combine(hash, murmurhash32(type->col[i].typid));
	return hash;
}

/* Of this database's delta tables; InvalidOid: there is none. */
extern Oid	ddir_delta_table(int k);
extern Oid	ddir_capture_function(void);

#endif							/* DDIR_CAPTURE_CHUNK_H */
