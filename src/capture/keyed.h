/*-------------------------------------------------------------------------
 *
 * keyed.h
 *	  Changes of a table whose old rows are known by key, and their resolution.
 *
 * Such a change says which row it is about by the columns of the table's
 * identity index; values that an update left alone and that are out of line
 * are not in it.  It becomes deltas, the old image and the new one, when it is
 * *resolved*: by the rows of the table as they were before it.
 *
 * In a run of trays (engine/tray.h) it is a delta of its own, whose val is
 *
 *	change := kind [left out] [length, key image] image
 *
 *	insert		- image: the new row
 *	update		- left out: a bit for each column; image: the new row, whose key
 *				  is that of the old one
 *	move		- left out; key image: the old row's key; image: the new row
 *	delete		- image: of the old row's key
 *
 * A key image is an image of the table's row type with nothing in it but the
 * key's columns.
 *
 * src/capture/keyed.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_KEYED_H
#define DDIR_CAPTURE_KEYED_H

#include "postgres.h"

#include "nodes/bitmapset.h"

#include "engine/spine.h"
#include "rows/key.h"
#include "rows/rowtype.h"

/*
 * Append a change to a run; its length.  old: values of the old row, of which
 * the key's are looked at, or NULL if they are the new row's.  new: NULL if the
 * row is deleted.  left_out: of the new row's columns (from 0), or NULL if the
 * row is inserted.
 */
extern uint32 ddir_keyed_push(DdirDeltas *run, const DdirRowType *type,
							  const Bitmapset *used, const Bitmapset *key,
							  const Datum *old, const bool *oldnull,
							  const Datum *new, const bool *newnull,
							  const bool *left_out, uint64 tray);

/*
 * The resolution of a run's changes, in their order.  First all keys in them
 * are found, then the rows that had those keys before the first change are
 * looked up, in an arrangement of the table by that key or among all rows of
 * the table, and then the changes are gone through, each seeing what those
 * before it have made of the rows.
 *
 * Calls: begin, load (from one or the other), finish.  All in a transaction;
 * memory is in cxt and goes with it.
 */
typedef struct DdirResolution DdirResolution;

typedef enum DdirResolved
{
	DDIR_RESOLVED,
	DDIR_RESOLVED_NOT,			/* the rows are not what the changes say */
	DDIR_RESOLVED_TOO_LARGE		/* more bytes than may be */
} DdirResolved;

/* by: makes the key from a row of this type; key: its columns (from 1) */
extern DdirResolution *ddir_resolution_begin(MemoryContext cxt, const DdirRowType *type,
											 const Bitmapset *key, DdirFunc by,
											 const DdirDeltas *changes, Size limit);

/* rows: images of all columns used, which stay where they are */
extern void ddir_resolution_load_rows(DdirResolution *r, const DdirDeltas *rows);

/*
 * The trace's vals hold columns of the table: att[a - 1] is the val's column
 * (from 1) of attribute a, or 0.
 */
extern void ddir_resolution_load_trace(DdirResolution *r, const DdirSpine *trace,
									   const DdirRowType *val, const AttrNumber *att);

/* Appends the deltas to out, with the times of the changes. */
extern DdirResolved ddir_resolution_finish(DdirResolution *r, DdirDeltas *out);

/* The bytes of an old row, on average; 0: there was none. */
extern Size ddir_resolution_row_bytes(const DdirResolution *r);

#endif							/* DDIR_CAPTURE_KEYED_H */
