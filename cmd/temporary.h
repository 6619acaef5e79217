/* SPDX-License-Identifier: MIT */
/* A trace that is not kept: a file in a folder of its own. */
#ifndef DT_CMD_TEMPORARY_H
#define DT_CMD_TEMPORARY_H

#include "core/error.h"

struct dt_temporary {
	char folder[256]; /* "": there is none */
	char path[300];	  /* the trace in it; it is for others to make */
};

/* What is made must be removed, by dt_temporary_remove(), in any case. */
int dt_temporary_make(struct dt_temporary *t, struct dt_error *e);
void dt_temporary_remove(struct dt_temporary *t);

#endif
