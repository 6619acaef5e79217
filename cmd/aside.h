/* SPDX-License-Identifier: MIT */
/*
 * A trace that is made in a folder of its own beside where it is to be, and moved there when it is
 * whole: so that a command that has confined itself writes nowhere else, and what was there is
 * there until then.
 */
#ifndef DT_CMD_ASIDE_H
#define DT_CMD_ASIDE_H

#include "process/confine.h"

struct dt_aside {
	char folder[4096];  /* "": none */
	char trace[4096];   /* in it */
	const char *output; /* where it comes to; the caller's */
};

/* The folder is made, and goes with what is left in it. */
int dt_aside_open(struct dt_aside *a, const char *output, struct dt_needs *needs,
		  struct dt_error *e);
int dt_aside_place(struct dt_aside *a, struct dt_error *e);
void dt_aside_close(struct dt_aside *a);

#endif
