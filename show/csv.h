/* SPDX-License-Identifier: MIT */
/* Cells of comma-separated values (RFC 4180). */
#ifndef DT_SHOW_CSV_H
#define DT_SHOW_CSV_H

#include <stdbool.h>
#include <stdio.h>

/*
 * n bytes of words, in quotes if they need them, or always. A spreadsheet takes what begins with =
 * + - or @ for a formula, which can read files and send them: in front of those comes an
 * apostrophe, which says there that it is text. Numbers are written without this.
 */
void dt_csv_words(FILE *f, const char *s, size_t n, bool always);

#endif
