/* SPDX-License-Identifier: MIT */
/*
 * A `devtrace attach' of our own, whose trace is shown while it grows and is then removed: for
 * devtrace top and devtrace sum -p.
 */
#ifndef DT_CMD_RECORDING_H
#define DT_CMD_RECORDING_H

#include <signal.h>
#include <sys/types.h>

#include "cmd/temporary.h"

#define DT_RECORDING_WORDS 64u /* options for attach, at most */

/* Set words and n to "devtrace" and "attach", all else zero. */
struct dt_recording {
	struct dt_temporary trace;
	const char *word[DT_RECORDING_WORDS + 8];
	size_t words;
	char said[300]; /* the file with what attach says */
	pid_t pid;
	int pidfd;
	sigset_t signals; /* those that were blocked when the command began */
};

/* Makes *set the signals that ask a command to end. */
void dt_recording_signals(sigset_t *set);
/* Returns whether one of them has come; it stays pending. */
bool dt_recording_is_asked_to_end(void);

/*
 * Blocks the signals that ask to end, and makes the trace's folder; dt_recording_remove() takes
 * both back, however the command goes on. -1: an error has been reported.
 */
int dt_recording_make(struct dt_recording *k, const char *name, const char *pid);
/* Starts attach. Its options are in k->word. -1: an error has been reported. */
int dt_recording_start(struct dt_recording *k);
/* Waits until the trace is there. -1: attach has ended, and will have said why, or a signal asks to
 * end. */
int dt_recording_wait(const struct dt_recording *k);
/* Ends attach, and prints what it has said. Returns its exit status. */
int dt_recording_end(struct dt_recording *k);
void dt_recording_remove(struct dt_recording *k);

#endif
