/* SPDX-License-Identifier: MIT */
/* What was imported, as a trace file. */
#ifndef DT_IMPORT_WRITE_H
#define DT_IMPORT_WRITE_H

#include "import/calls.h"

/* Makes calls of the items, and writes all to a trace at path, which it makes. format: the name of
 * the format that they had, in the file `from'. The items are gone afterwards. */
int dt_imported_write(struct dt_imported *m, const char *path, const char *format, const char *from,
		      struct dt_error *e);

#endif
