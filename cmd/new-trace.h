/* SPDX-License-Identifier: MIT */
/*
 * A trace that is made in a folder of its own beside where it is to be, and moved there when it is
 * whole: so that a command that has confined itself writes nowhere else, and what was there is
 * there until then.
 */
#ifndef DT_CMD_NEW_TRACE_H
#define DT_CMD_NEW_TRACE_H

#include "process/confine.h"

struct dt_new_trace {
	char folder[4096];  /* "": none */
	char trace[4096];   /* in it */
	const char *output; /* where it comes to; the caller's */
};

/* The folder is made, and goes with what is left in it. */
int dt_new_trace_open(struct dt_new_trace *a, const char *output, struct dt_needs *needs,
		      struct dt_error *e);
int dt_new_trace_place(struct dt_new_trace *a, struct dt_error *e);
void dt_new_trace_close(struct dt_new_trace *a);

#endif
