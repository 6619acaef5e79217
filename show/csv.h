/* SPDX-License-Identifier: MIT */
/* Cells of comma-separated values (RFC 4180). */
#ifndef DT_SHOW_CSV_H
#define DT_SHOW_CSV_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Writes a cell with n bytes of text, in quotes where CSV needs them, or always. A spreadsheet
 * takes text that begins with = + - or @ for a formula, which can read files and send them: such
 * text gets an apostrophe before it, which tells the spreadsheet that it is text. Numbers are to be
 * written without this function.
 */
void dt_csv_words(FILE *f, const char *s, size_t n, bool always);

#endif
