/* SPDX-License-Identifier: MIT */
/* Printing a session's records as lines, for devtrace cat -s. */
#ifndef DT_CMD_FOLLOW_H
#define DT_CMD_FOLLOW_H

#include "core/types.h"

/*
 * Prints the records that are in the session's log and returns the exit status. session NULL: the
 * only session; follow: goes on until the session ends; consume: takes the records out of the log;
 * long_lines: lines have the functions' names.
 */
int dt_cmd_follow(const char *session, bool follow, bool consume, bool long_lines);

#endif
