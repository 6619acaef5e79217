/* SPDX-License-Identifier: MIT */
/* A table of functions that follows a trace while it is being recorded. */
#ifndef DT_CMD_TOP_H
#define DT_CMD_TOP_H

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/terminal.h"
#include "symbols/pattern.h"

/* What the process that watches the terminal and the one that draws share. */
struct dt_top_shared {
	_Atomic uint32_t size; /* columns << 16 | rows */
	atomic_bool screen;    /* the terminal shows the other screen, on which tables are drawn */
};

/* What the process that shows the table is told. */
struct dt_top {
	const char *path;	     /* the trace */
	const char *title;	     /* shown in the first line */
	struct dt_selection show;    /* functions to be shown */
	int recorder;		     /* pidfd of the process that records; -1: not known */
	bool screen;		     /* draw on a terminal, by control sequences; otherwise print */
	bool json;		     /* print JSON lines */
	struct dt_terminal terminal; /* options are set; dt_top_show() asks for the rest */
	uint64_t turns;		     /* end after so many; 0: do not */
	struct dt_top_shared *shared;
};

/* Go to the other screen of the terminal, if tables are drawn by control sequences, and back from
 * it. What is printed on the other screen is not seen any more after that: errors are printed when
 * it has been left. To leave a screen that has been left does nothing. */
void dt_top_enter_screen(struct dt_top *t);
void dt_top_leave_screen(struct dt_top *t);

/* Follows the trace until it is told to end or the recorder has ended. To be called in a process of
 * its own, which it confines. Returns the exit status. */
int dt_top_follow(struct dt_top *t);

/*
 * Shows a trace that is being recorded: sets up the terminal, forks a process for dt_top_follow(),
 * and restores the terminal however that one ends, and whatever signal asks this one to end; a
 * later such signal kills the other. Only if this process itself is killed (SIGKILL) does the
 * terminal stay as it is; the process that draws is killed with it. Returns the exit status.
 */
int dt_top_show(struct dt_top *t);

#endif
