/* SPDX-License-Identifier: MIT */
/*
 * The files of XRay, clang's instrumentation: those of its basic mode and of its flight data
 * recorder (llvm.org/docs/XRayFDRFormat.html). They have functions by number only; a file's map of
 * the program says which those are.
 */
#ifndef DT_IMPORT_XRAY_H
#define DT_IMPORT_XRAY_H

#include <stdio.h>

#include "import/calls.h"

#define DT_XRAY_HEAD 32 /* bytes */

/* Is this the beginning of such a file? n: bytes. */
bool dt_xray_is(const uint8_t *head, size_t n);
/* Reads a file. path is for errors. Returns -1 on error. */
int dt_xray_read(struct dt_imported *m, FILE *f, const char *path, struct dt_error *e);

#endif
