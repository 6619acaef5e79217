/* SPDX-License-Identifier: MIT */
/* A command that may have been meant for the program of the same name: cat, diff, mount, sum, top.
 */
#ifndef DT_CMD_MEANT_H
#define DT_CMD_MEANT_H

/* Notes which command is run with which words, and whether there is a program of that name. To be
 * called by main() before the command confines itself. */
void dt_cmd_meant_of(const char *name, int argc, char **argv);

/* Reports an error as dt_cmd_fail() does. If there is a program of the command's name, the line
 * says also how that one is traced with these words. Returns 1. */
int dt_cmd_meant(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How the program of the command's name is traced with these words: a text in brackets with a blank
 * in front, which is valid until the process ends; empty if there is no such program. */
const char *dt_cmd_meant_hint(void);

#endif
