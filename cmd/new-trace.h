/* SPDX-License-Identifier: MIT */
/*
 * A trace that is made in a folder of its own beside its destination, and moved there when it is
 * complete: so a command that has confined itself needs to write nowhere else, and an older file
 * stays until it is replaced.
 */
#ifndef DT_CMD_NEW_TRACE_H
#define DT_CMD_NEW_TRACE_H

#include "process/confine.h"

struct dt_new_trace {
	char folder[4096];  /* "": none */
	char trace[4096];   /* path of the trace in the folder */
	const char *output; /* path of its destination; belongs to the caller */
};

/* Makes the folder, and adds to the needs what the others below do. The caller makes a->trace. */
int dt_new_trace_open(struct dt_new_trace *a, const char *output, struct dt_needs *needs,
		      struct dt_error *e);
/* Moves the complete trace to its destination. */
int dt_new_trace_place(struct dt_new_trace *a, struct dt_error *e);
/* Removes the folder, and the trace if it is still there. */
void dt_new_trace_close(struct dt_new_trace *a);

#endif
