/* SPDX-License-Identifier: MIT */
/*
 * The folder in which debuginfod's clients keep what they have downloaded: gdb and others of
 * elfutils, and devtrace (symbols/debuginfod.h). A debug file that was downloaded once is found
 * here by every program, without a server: FOLDER/BUILD-ID/debuginfo. What lies here came from a
 * network, so that every file's own build id is compared with its folder's name.
 */
#ifndef DT_ELF_DEBUG_CACHE_H
#define DT_ELF_DEBUG_CACHE_H

#include <sys/types.h>

#include "core/error.h"

/* Set in a process that is not to look there, but gets files handed over. */
extern bool dt_debug_cache_off;

/*
 * Writes the folder's path: DEBUGINFOD_CACHE_PATH, or else debuginfod_client in XDG_CACHE_HOME or
 * in ~/.cache. False: none of these variables is set, or the path is too long.
 */
bool dt_debug_cache_folder(char *path, size_t size);

/* Checks that a folder belongs to this user or root, and that nobody else can write to it. -1 and
 * the reason. */
int dt_debug_cache_check(const char *folder, struct dt_error *e);

/*
 * Opens the debug file that is kept under a build id. Returns its descriptor; -1: there is none, or
 * it is refused, for which dt_debug_note() has the reason.
 */
int dt_debug_cache_open(const char *build_id);

/*
 * Notes a line for the user: why a debug file could not be had. Each line is passed on once.
 * dt_debug_says is the front end's function that shows it; NULL: nobody wants to know.
 */
void dt_debug_note(const char *line);
extern void (*dt_debug_says)(const char *line);

#endif
