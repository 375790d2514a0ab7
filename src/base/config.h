/*-------------------------------------------------------------------------
 *
 * config.h
 *	  Settings.  The variables are named as the settings, with "_" for ".".
 *
 * src/base/config.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef DDIR_BASE_CONFIG_H
#define DDIR_BASE_CONFIG_H

#include "postgres.h"

#include "datatype/timestamp.h"

/* How changes are captured. */
typedef enum DdirCaptureMode
{
	DDIR_CAPTURE_AUTO,			/* logical where wal_level allows it */
	DDIR_CAPTURE_LOGICAL,		/* logical decoding */
	DDIR_CAPTURE_TRIGGER		/* triggers that write to delta tables */
} DdirCaptureMode;

extern int	ddir_capture;		/* DdirCaptureMode */
extern int	ddir_memory_limit;	/* kB, per database */
extern int	ddir_max_slot_lag;	/* MB; -1 no limit */
extern bool ddir_flush_async_commits;
extern double ddir_debug_clock; /* seconds since 1970; 0: the server's clock */
extern int	ddir_max_databases;
extern int	ddir_max_views;

extern void ddir_config_define(void);

/* what time it is, for views whose rows come and go by it */
extern TimestampTz ddir_clock_now(void);

/* what the setting means on this server: LOGICAL or TRIGGER, and its name */
extern DdirCaptureMode ddir_capture_mode(void);

/* under this value of ddir.capture */
extern DdirCaptureMode ddir_capture_mode_of(const char *value);
extern const char *ddir_capture_mode_name(DdirCaptureMode mode);

#endif							/* DDIR_BASE_CONFIG_H */
