/* SPDX-License-Identifier: MIT */
/* A command that may have been meant for the program of the same name: cat, diff, mount, sum, top.
 */
#ifndef DT_CMD_MEANT_H
#define DT_CMD_MEANT_H

/* Notes which command is run with which words, and whether there is a program of that name. To be
 * called by main() before the command confines itself. */
void dt_cmd_meant_of(const char *name, int argc, char **argv);

/* How the program of the command's name is traced with these words, to be put behind an error: a
 * text in brackets with a blank in front, empty if there is no such program. */
const char *dt_cmd_meant_hint(void);

#endif
