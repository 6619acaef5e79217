/* SPDX-License-Identifier: MIT */
/* The files of a trace that is a folder, which anybody may have made: only plain files are opened,
 * and none outside the folder. */
#ifndef DT_IMPORT_FOLDER_H
#define DT_IMPORT_FOLDER_H

#include <stdio.h>

#include "core/error.h"

struct dt_folder {
	int fd;
	const char *path; /* the caller's: for errors */
	struct dt_error *e;
};

/* Opens a file for reading. NULL and no error: there is none of this name; NULL and *failed:
 * error. */
FILE *dt_folder_open(const struct dt_folder *f, const char *name, bool *failed);

#endif
