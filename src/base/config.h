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

extern char *ddir_capture;		/* auto, logical, trigger */
extern int	ddir_memory_limit;	/* kB, per database */
extern int	ddir_max_slot_lag;	/* MB; -1 no limit */
extern bool ddir_flush_async_commits;
extern int	ddir_max_databases;
extern int	ddir_max_views;

extern void ddir_config_define(void);

#endif							/* DDIR_BASE_CONFIG_H */
