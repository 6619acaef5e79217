/* SPDX-License-Identifier: MIT */
/* Debug files that are downloaded, as the commands use them: symbols/debuginfod.h. */
#ifndef DT_CMD_DEBUG_FILES_H
#define DT_CMD_DEBUG_FILES_H

#include <stdbool.h>

/*
 * Prepares the downloading of debug files, if DEBUGINFOD_URLS is set and not `off' (an option), and
 * shows on standard error how far downloads come and, in any case, why files could not be had.
 * To be called before the command confines itself, gives up
 * rights, or makes threads.
 */
void dt_cmd_debug_files(bool off);

#endif
