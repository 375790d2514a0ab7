/*-------------------------------------------------------------------------
 *
 * shared.h
 *	  The static shared memory: a slot per database with a maintainer, a slot
 *	  per view, and the launcher's.
 *
 * Everything is guarded by one LWLock (ddir_shared->lock), but for the atomics,
 * which are read and written without it, and for what a commit sets or looks
 * at (dbid, pid, latch, recheck, settings, launcher_look): single words that may be read
 * stale, after which at worst the wrong process is woken once too often.
 * Waiters sleep on the database's condition variable, broadcast whenever a
 * frontier or a state changes.
 *
 * src/base/shared.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_SHARED_H
#define DDIR_BASE_SHARED_H

#include "postgres.h"

#include "access/xlogdefs.h"
#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

typedef enum DdirViewState
{
	DDIR_VIEW_FREE,				/* no view in this slot */
	DDIR_VIEW_HYDRATING,
	DDIR_VIEW_LIVE,
	DDIR_VIEW_BEHIND,			/* could not take part in the last steps */
	DDIR_VIEW_ERROR,			/* held by a row error */
	DDIR_VIEW_SUSPENDED,
	DDIR_VIEW_DISABLED
} DdirViewState;

typedef enum DdirHydrationPhase
{
	DDIR_HYDRATION_NONE,
	DDIR_HYDRATION_QUEUED,
	DDIR_HYDRATION_IDENTITY,	/* getting sources to log old rows */
	DDIR_HYDRATION_SETTLING,	/* waiting for transactions to be visible */
	DDIR_HYDRATION_SCANNING,
	DDIR_HYDRATION_CATCHING_UP, /* reading WAL up to where sources are whole */
	DDIR_HYDRATION_COMPUTING,
	DDIR_HYDRATION_RECONCILING
} DdirHydrationPhase;

#define DDIR_REASON_LEN 256

typedef struct DdirViewSlot
{
	Oid			dbid;			/* InvalidOid: free */
	Oid			view;
	DdirViewState state;
	bool		unlooked;		/* its definition could not be looked at when
								 * the catalog was; set before "looked" is */
	bool		returns;		/* suspended until the cause is gone, which
								 * the maintainer notices */
	char		reason[DDIR_REASON_LEN];	/* why not live */
	bool		clocked;		/* its rows come and go as time goes by */
	XLogRecPtr	frontier;		/* all committed before it is in the view */
	TimestampTz frontier_time;	/* commit time of the newest transaction in it */
	uint64		rows_applied;
	uint64		memory_bytes;
	int			sqlstate;		/* of the last error; 0: none */
	char		message[DDIR_REASON_LEN];
	/* hydration */
	DdirHydrationPhase phase;
	char		hydration_reason[DDIR_REASON_LEN];	/* of the last one */
	uint64		hydrations;
	uint64		rows_done;
	uint64		rows_total;		/* estimate */
	TimestampTz hydration_start;
	TimestampTz hydration_end;
} DdirViewSlot;

typedef enum DdirRequestKind
{
	DDIR_REQUEST_SOURCES,
	DDIR_REQUEST_ARRANGEMENTS,
	DDIR_REQUEST_OPERATORS,
	DDIR_REQUEST_EXPLAIN,		/* arg: view */
	DDIR_REQUEST_DESCRIBE,
	DDIR_REQUEST_REPAIR,		/* arg: view; hydrate again */
	DDIR_REQUEST_CONFIRM,		/* lsn: have trays touching arg's sources been
								 * applied exactly up to it? */
	DDIR_REQUEST_SETTINGS		/* under which views are computed */
} DdirRequestKind;

typedef enum DdirRequestState
{
	DDIR_REQUEST_FREE,
	DDIR_REQUEST_WAITING,		/* for the maintainer to see it */
	DDIR_REQUEST_ANSWERING,		/* the maintainer works on it */
	DDIR_REQUEST_ANSWERED		/* the reply is in the segment */
} DdirRequestState;

#define DDIR_REQUESTS_MAX 8

typedef struct DdirRequestSlot
{
	DdirRequestState state;
	bool		abandoned;		/* nobody waits for the answer any more */
	DdirRequestKind kind;
	Oid			arg;
	XLogRecPtr	lsn;
	dsm_handle	segment;		/* with the reply; pinned */
	Size		bytes;			/* of the reply */
	pid_t		pid;			/* who asks */
} DdirRequestSlot;

/* What stands in the way of a process. */
typedef struct DdirTrouble
{
	int			sqlstate;		/* 0: nothing */
	char text[	DDIR_REASON_LEN];	/* a sentence, */
	char		remedy[DDIR_REASON_LEN];	/* and another */
} DdirTrouble;

/*
 * Capture by triggers: what writers and the maintainer tell each other of the
 * delta tables (capture/cuts.h).
 */
#define DDIR_DELTA_TABLES 3

typedef struct DdirCutState
{
	bool		on;				/* the maintainer captures by triggers */
	pg_atomic_uint32 lost;		/* writers have stopped to write */
	uint64		unwritten;		/* transactions older than this one may have
								 * changed what nothing was written of */
	pg_atomic_uint64 commits;	/* of transactions that wrote anything */
	pg_atomic_uint32 current;	/* the delta table to be written to */
	pg_atomic_uint32 low[DDIR_DELTA_TABLES];	/* the first block that was
												 * written to since it was
												 * last read */
} DdirCutState;

typedef struct DdirDatabaseSlot
{
	Oid			dbid;			/* InvalidOid: free */
	pid_t		pid;			/* of the maintainer; 0: none */
	Latch	   *latch;			/* of the maintainer; NULL: none */
	pg_atomic_uint32 sleeping;	/* the maintainer waits; wake it by its latch */
	pg_atomic_uint64 async_commit_end;	/* newest asynchronous commit's end */
	pg_atomic_uint64 frontier;	/* all committed before it is applied in every
								 * view that is live */
	pg_atomic_uint64 frontier_time; /* TimestampTz: commit of the newest
									 * transaction before it, as far as known */
	pg_atomic_uint64 clock;		/* TimestampTz: what views that read the clock
								 * are as of; 0: not known */
	pg_atomic_uint64 due;		/* TimestampTz: until then they stay so;
								 * written before the frontier is */
	pg_atomic_uint64 caught_up; /* TimestampTz: when the maintainer last stood
								 * at the end of the flushed WAL */
	bool		disabled;		/* by ddir.disable() */
	int			leave;			/* so many want the maintainer away (database
								 * DDL); it exits while this is not 0 */
	bool		evicting;		/* one of those is the launcher, for the slot */
	bool		recheck;		/* catalog to be compared again */
	bool		settings;		/* of databases or roles have changed */
	pg_atomic_uint64 look_wanted;	/* tickets given to those who wait for the
									 * maintainer to look at the catalog; */
	pg_atomic_uint64 looked;	/* up to this one it has, and then published */
	ConditionVariable changed;
	DdirCutState cuts;
	TimestampTz started;
	uint64		steps;
	uint64		trays;
	uint64		rows;
	double		rows_per_s;
	char		step[64];		/* what it does now, for ddir.workers */
	Oid			stepping;		/* view being applied; InvalidOid: none */
	int			failures;		/* exits by error in a row, for backoff */
	TimestampTz last_exit;
	DdirTrouble trouble;		/* why no maintainer can run */
	DdirRequestSlot request[DDIR_REQUESTS_MAX];
} DdirDatabaseSlot;

/* The one probe at a time: what a database needs, as its worker found out. */
typedef struct DdirProbe
{
	Oid			dbid;
	bool		done;			/* what follows is known */
	bool		extension;
	bool		disabled;
	bool		wanted;			/* there is something for a maintainer to do */
} DdirProbe;

typedef struct DdirShared
{
	LWLock	   *lock;			/* a leaf: nothing else is locked under it */
	pid_t		launcher_pid;
	Latch	   *launcher_latch;
	bool		launcher_look;	/* databases or views have changed */
	uint64		secret;			/* of this server's run (capture/joined.h) */
	pg_atomic_uint32 generation;	/* of the assignment of database slots */
	DdirTrouble trouble;		/* why no probe can run */
	DdirProbe	probe;
	int			ndatabases;		/* size of the arrays */
	int			nviews;
	DdirDatabaseSlot *database;
	DdirViewSlot *view;
} DdirShared;

extern DdirShared *ddir_shared; /* NULL: the library was not preloaded */

extern void ddir_shared_init(void); /* from _PG_init: hooks */
extern void ddir_shared_require(void);	/* 55000 unless preloaded */

/* Find or make; NULL if not there (or full, with create).  Lock held by caller. */
extern DdirDatabaseSlot *ddir_shared_database(Oid dbid, bool create);
extern DdirDatabaseSlot *ddir_shared_mine(void);	/* without lock; NULL:
													 * none */
extern void ddir_shared_database_free(DdirDatabaseSlot *slot);	/* its views too */
extern DdirViewSlot *ddir_shared_view(Oid dbid, Oid view, bool create);
extern void ddir_shared_view_free(DdirViewSlot *slot);

/* slots in use, of all databases */
extern int	ddir_shared_count_databases(void);
extern int	ddir_shared_count_views(Oid except_dbid);

/*
 * The maintainer takes its database's slot, until it exits: then pid and latch
 * are cleared, the exit is counted, and the launcher and all waiters wake.
 * NULL: there is none, it is taken, or the maintainer is to stay away.
 */
extern DdirDatabaseSlot *ddir_shared_claim(void);

/* of a maintainer that did not do so itself; lock held */
extern void ddir_shared_count_exit(DdirDatabaseSlot *slot, bool failed);

/* Wake the launcher, or the maintainer of a database, from anywhere. */
extern void ddir_wake_launcher(void);
extern void ddir_wake_maintainer(Oid dbid);

/*
 * A ticket: when slot->looked has reached it, the maintainer has seen all that
 * the catalog was told of before the call, and published what followed.
 */
extern uint64 ddir_want_look(DdirDatabaseSlot *slot);

/* a frontier, a state, or an answer: whoever waits looks again */
extern void ddir_wake_waiters(DdirDatabaseSlot *slot);

/*
 * When this transaction commits, the catalog is to be compared again, by the
 * maintainer or, where there is none, by whoever the launcher starts.
 */
extern void ddir_commit_recheck(void);

/* When this transaction commits, the launcher looks for databases. */
extern void ddir_commit_wake_launcher(void);

/* Every maintainer looks at the settings of its database, */
extern void ddir_settings_changed(void);

/* ... when this transaction commits. */
extern void ddir_commit_settings(void);

/* the commit callback of every backend is registered by ddir_shared_init */

extern const char *ddir_view_state_name(DdirViewState state);
extern const char *ddir_hydration_phase_name(DdirHydrationPhase phase);

#endif							/* DDIR_BASE_SHARED_H */
