/* SPDX-License-Identifier: MIT */
/*
 * The text of `perf script': a line for each event, with its process, core and time, and below a
 * sample its stack. Switches are taken; other tracepoints are events, and samples are events named
 * by their innermost function.
 */
#ifndef DT_IMPORT_PERF_H
#define DT_IMPORT_PERF_H

#include <stdio.h>

#include "import/calls.h"

/* Is the text, which may be cut off, the beginning of such a file? */
bool dt_perf_is(const char *text);
/* Reads a file. path is for errors. Returns -1 on error. */
int dt_perf_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e);

#endif
