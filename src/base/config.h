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

/* How changes are captured; other ways will be further values. */
typedef enum DdirCapture
{
	DDIR_CAPTURE_AUTO,			/* the best that the server's settings allow */
	DDIR_CAPTURE_LOGICAL		/* logical decoding */
} DdirCapture;

extern int	ddir_capture;		/* DdirCapture */
extern int	ddir_memory_limit;	/* kB, per database */
extern int	ddir_max_slot_lag;	/* MB; -1 no limit */
extern bool ddir_flush_async_commits;
extern int	ddir_max_databases;
extern int	ddir_max_views;

extern void ddir_config_define(void);

#endif							/* DDIR_BASE_CONFIG_H */
