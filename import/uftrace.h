/* SPDX-License-Identifier: MIT */
/*
 * uftrace's data: a folder with the records of each thread, and the maps and symbols that give
 * their addresses names (https://github.com/namhyung/uftrace/wiki/Data-Format; version 4 of the
 * format).
 */
#ifndef DT_IMPORT_UFTRACE_H
#define DT_IMPORT_UFTRACE_H

#include "import/calls.h"

/* Reads a folder. fd: the folder; path is for errors. Returns -1 on error. */
int dt_uftrace_read(struct dt_imported *m, int fd, const char *path, struct dt_error *e);

#endif
