/* SPDX-License-Identifier: MIT */
/* A table of functions that follows a trace while it is being recorded. */
#ifndef DT_CMD_TOP_H
#define DT_CMD_TOP_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/pattern.h"

/* What the process that shows the table is told. */
struct dt_top {
	const char *path;	  /* the trace */
	const char *title;	  /* shown in the first line */
	struct dt_selection show; /* functions to be shown */
	int recorder;		  /* pidfd of the process that records; -1: not known */
	bool screen;		  /* draw on a terminal, by control sequences; otherwise print */
	bool utf8;		  /* it can show bars */
	uint64_t turns;		  /* end after so many; 0: do not */
	/* columns << 16 | rows, shared with the process that watches the terminal */
	_Atomic uint32_t *size;
};

/* Follows the trace until it is told to end or the recorder has ended. To be called in a process of
 * its own, which it confines. Returns the exit status. */
int dt_top_follow(struct dt_top *t);

/* Shows a trace that is being recorded: sets up the terminal, forks a process for
 * dt_top_follow(), and restores the terminal in any case. Returns the exit status. */
int dt_top_show(struct dt_top *t);

#endif
