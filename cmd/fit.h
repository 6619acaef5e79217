/* SPDX-License-Identifier: MIT */
/* Fitting what a table says into the terminal's columns: names are cut in the middle, where they
 * differ least, lines of words are broken, and numbers stay whole. */
#ifndef DT_CMD_FIT_H
#define DT_CMD_FIT_H

#include "cmd/terminal.h"

/* Prints a text in at most so many columns; a longer one is cut in the middle, at a terminal only.
 * Returns how many columns it took. */
unsigned dt_fit_print(const struct dt_terminal *t, const char *text, unsigned columns);

/* Prints the last columns of a text, behind the mark of what is cut off, if it takes more than so
 * many. */
void dt_fit_print_end(const struct dt_terminal *t, const char *text, unsigned columns);

/* Prints a line and ends it; at a terminal a longer one is broken behind commas, or at blanks. */
void dt_fit_line(const struct dt_terminal *t, const char *text);

#endif
