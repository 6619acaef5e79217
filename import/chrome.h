/* SPDX-License-Identifier: MIT */
/*
 * Chrome's Trace Event Format: JSON, an array of events or an object that has it as traceEvents.
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 */
#ifndef DT_IMPORT_CHROME_H
#define DT_IMPORT_CHROME_H

#include <stdio.h>

#include "import/calls.h"

/* Reads a file. path is for errors. Returns -1 on error. */
int dt_chrome_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e);

#endif
