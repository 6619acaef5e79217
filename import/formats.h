/* SPDX-License-Identifier: MIT */
/* The formats that can be imported, told from each other by what files begin with. */
#ifndef DT_IMPORT_FORMATS_H
#define DT_IMPORT_FORMATS_H

#include <stdio.h>

#include "import/calls.h"

/* Reads a file of any of the formats. *format: its name. path is for errors. Returns -1 on error.
 */
int dt_import_file(struct dt_imported *m, FILE *f, const char *path, const char **format,
		   struct dt_error *e);
/* Reads a folder, likewise. */
int dt_import_folder(struct dt_imported *m, int fd, const char *path, const char **format,
		     struct dt_error *e);

#endif
