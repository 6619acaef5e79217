/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names, for files that have no symbols or no
 * DWARF, and no debug file on this machine. Off unless that variable is set.
 *
 * Two processes do it, since a command confines itself, or gives up rights, before it knows what it
 * needs. The keeper (debuginfod-keep.c), forked early, is asked for build ids and answers with open
 * files. For each download it forks a loader (debuginfod-load.c), which loads libdebuginfod, and
 * which is ended when it takes too long; if the command is root's, the loader is a user without
 * rights. What it brings is compared with its build id by the keeper, and kept in debuginfod's
 * cache (elf/debug-cache.h), where every command finds it.
 */
#ifndef DT_SYMBOLS_DEBUGINFOD_H
#define DT_SYMBOLS_DEBUGINFOD_H

#include "core/error.h"

#define DT_DEBUGINFOD_SECONDS 30	   /* for all downloads of a command, without MAXTIME */
#define DT_DEBUGINFOD_BYTES   (2ull << 30) /* of a debug file, without MAXSIZE */

/*
 * Forks the keeper if DEBUGINFOD_URLS is set; from then on dt_symtab_open() downloads what a file
 * lacks. To be called before there are other threads, and before the command confines itself or
 * gives up rights. -1 and the reason.
 */
int dt_debuginfod_begin(struct dt_error *e);
/* Lets go of the keeper, which ends; in a forked child, of the parent's. */
void dt_debuginfod_leave(void);

/*
 * The front end's function that shows how far a download has come: bytes done, and of how many (0:
 * not known). path: the file that the debug file belongs to. It is called a few times a second, and
 * once with NULL when a download that was shown has ended. NULL: nothing is shown.
 */
extern void (*dt_debuginfod_shows)(const char *path, uint64_t done, uint64_t total);
/* The front end's function that says whether the user wants the command to end (Ctrl-C): then
 * nothing more is downloaded. NULL: signals end it anyway. */
extern bool (*dt_debuginfod_stops)(void);

#endif
