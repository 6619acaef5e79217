/* SPDX-License-Identifier: MIT */
/* Reading a session's records as lines, for devtrace cat -s. */
#ifndef DT_CMD_FOLLOW_H
#define DT_CMD_FOLLOW_H

#include "core/types.h"

/* session NULL: the only one. follow: until the session ends. long_lines: with names. Exit status.
 */
int dt_cmd_follow(const char *session, bool follow, bool consume, bool long_lines);

#endif
