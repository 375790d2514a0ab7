/*-------------------------------------------------------------------------
 *
 * scanwire.h
 *	  What a scanner and its maintainer say to each other.
 *
 * The maintainer makes a dynamic segment with a table of contents: the
 * request, and a queue for the answers.  The scanner sends messages:
 *
 *	snapshot	- first: the snapshot taken, and xcnt xids in progress in it
 *	begin		- a table: how many rows it may have
 *	rows		- a frame: count + 1 offsets (32 bits, the first being 0), then
 *				  the images one behind the other
 *	end			- of a table
 *	done		- last; all tables have been read
 *	failed		- last; text of an error
 *
 * Every message starts with the same header.  Both sides are of one library,
 * so there is no version; the receiver checks lengths and indexes all the same.
 *
 * src/capture/scanwire.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_CAPTURE_SCANWIRE_H
#define DDIR_CAPTURE_SCANWIRE_H

#include "postgres.h"

#include "access/transam.h"
#include "access/xlogdefs.h"

#define DDIR_SCAN_MAGIC 0x64647363
#define DDIR_SCAN_KEY_REQUEST 1
#define DDIR_SCAN_KEY_QUEUE 2

#define DDIR_SCAN_QUEUE_BYTES (1024 * 1024)

/* A frame is sent when it has so many rows or bytes. */
#define DDIR_FRAME_ROWS 2048
#define DDIR_FRAME_BYTES (32 * 1024)

/* A table of the request; nused attribute numbers follow each. */
typedef struct DdirScanItem
{
	Oid			relid;
	int32		natts;			/* 0: as many as it has */
	int32		nused;			/* -1: all columns */
} DdirScanItem;

typedef struct DdirScanRequest
{
	Oid			dbid;
	uint32		ntables;
	uint32		bytes;			/* of what follows */
	uint32		unused;
	char		items[FLEXIBLE_ARRAY_MEMBER];
} DdirScanRequest;

typedef enum DdirScanMessageKind
{
	DDIR_SCAN_SNAPSHOT = 1,
	DDIR_SCAN_BEGIN,
	DDIR_SCAN_ROWS,
	DDIR_SCAN_END,
	DDIR_SCAN_ALL_DONE,
	DDIR_SCAN_ERROR
} DdirScanMessageKind;

/* 16 bytes, so that what follows is aligned */
typedef struct DdirScanMessage
{
	uint32		kind;
	uint32		table;			/* begin, rows, end: index in the request */
	uint32		count;			/* snapshot: xids; rows: rows */
	int32		sqlstate;		/* error */
} DdirScanMessage;

typedef struct DdirScanSnapshot
{
	DdirScanMessage head;
	XLogRecPtr	end;			/* of WAL when it was taken */
	TransactionId xmin;
	TransactionId xmax;
	TransactionId xip[FLEXIBLE_ARRAY_MEMBER];
} DdirScanSnapshot;

typedef struct DdirScanBegin
{
	DdirScanMessage head;
	double		estimate;
} DdirScanBegin;

#endif							/* DDIR_CAPTURE_SCANWIRE_H */
