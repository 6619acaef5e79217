/* SPDX-License-Identifier: MIT */
/*
 * Source files below one folder, which the user has named: a trace may name any file, and whoever
 * has the page's address can ask for it, so nothing else is opened.
 */
#ifndef DT_VIEW_SOURCE_H
#define DT_VIEW_SOURCE_H

#include <stddef.h>

#include "core/error.h"

/* Opens a folder of source files. Returns a descriptor for dt_source_open(), or -1 and an error. */
int dt_source_folder(const char *path, struct dt_error *e);

/*
 * Opens the file that a trace names: below the folder, by as much of the end of its name as leads
 * to a regular file there; links are not followed, and names without the ending of a source file
 * are refused. Returns a descriptor, or -1. below: of the name, what is below the folder.
 */
int dt_source_open(int folder, const char *name, const char **below);

#endif
