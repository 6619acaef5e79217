/* SPDX-License-Identifier: MIT */
/* A trace that is not kept: a file in a folder of its own. */
#ifndef DT_CMD_TEMPORARY_H
#define DT_CMD_TEMPORARY_H

#include "core/error.h"

struct dt_temporary {
	char folder[256]; /* "": there is none */
	char path[300];	  /* of the trace in it, which the caller makes */
};

/* Makes the folder. The caller must call dt_temporary_remove() in any case, also when it ends by a
 * signal. */
int dt_temporary_make(struct dt_temporary *t, struct dt_error *e);
/* Removes the trace, and what SQLite has beside it, and the folder. */
void dt_temporary_remove(struct dt_temporary *t);

#endif
