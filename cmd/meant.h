/* SPDX-License-Identifier: MIT */
/* A command that may have been meant for the program of the same name: cat, diff, mount, sum, top.
 */
#ifndef DT_CMD_MEANT_H
#define DT_CMD_MEANT_H

/* Notes which command is run with which words, and whether there is a program of that name. To be
 * called by main() before the command confines itself. */
void dt_cmd_meant_of(const char *name, int argc, char **argv);

/* Notes what commands a word is near that is none: a text as of dt_near_text(). Nothing is noted if
 * a program has that name. */
void dt_cmd_meant_near(const char *word, const char *names);

/* How the program of the command's name is traced with these words, to be put behind an error: a
 * text in brackets with a blank in front, empty if there is no such program. Of a word that is no
 * command: the commands that it is near. */
const char *dt_cmd_meant_hint(void);

#endif
