/* SPDX-License-Identifier: MIT */
/*
 * What a thread is blocked in, and for whom it waits: read from /proc and from its memory while it
 * waits. Nothing stops the thread, and everything is bounded: descriptors, processes, time.
 */
#ifndef DT_PROCESS_BLOCKED_H
#define DT_PROCESS_BLOCKED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DT_BLOCKED_TEXT 192 /* bytes of an answer, with its end */

/* Remembers for a moment who holds the other ends of pipes, since finding that takes long. All
 * zero at first. */
struct dt_blocked {
	struct {
		char object[64]; /* "pipe:[123]", and in which direction */
		char who[96];
		unsigned long long until; /* ns */
	} end[16];
	unsigned next;
};

/*
 * Writes what a thread waits for: "lock 0x4040a0, held by thread 12 (worker)", "pipe:[345], read
 * by 67 (cat)", "file /var/db", "process 89 (cc1)". What is in names that could end a comment or a
 * line is '?'. Returns false if the thread is not blocked, or nobody may know in what.
 */
bool dt_blocked_read(struct dt_blocked *b, pid_t tid, char out[DT_BLOCKED_TEXT]);

#endif
