/* SPDX-License-Identifier: MIT */
/*
 * The device of a session: what the device language means for live processes. Ranges become sites
 * that are switched, options become a table that the slow path looks things up in, and the log is
 * what `trace' reads.
 *
 * All functions are called with the session's lock held unless their comment says otherwise. Those
 * that return int give 0, or -1 and an error.
 */
#ifndef DT_SESSION_DEVICE_H
#define DT_SESSION_DEVICE_H

#include "core/device.h"
#include "session/state.h"

/*
 * Initialises the device and the log of a new session; the calling thread becomes the owner thread.
 */
int dt_session_device_init(struct dt_session *s, struct dt_error *e);
/* Frees the device and the log. No other thread may use the session any more. */
void dt_session_device_free(struct dt_session *s);

/* Makes a range named `selection' of what the command line has chosen, and switches it on. */
int dt_session_device_select(struct dt_session *s, const struct dt_selection *select,
			     struct dt_error *e);

/* Makes the ranges `libcalls', `waits' and `failures' for the options of these names, and switches
 * them on. */
int dt_session_device_libcalls(struct dt_session *s, struct dt_error *e);

/* Makes the ranges `sockets' and `bytes' of libc's functions that have to do with sockets, and
 * switches them on. */
int dt_session_device_sockets(struct dt_session *s, struct dt_error *e);

/* Makes a range with the option ARGS, named `args0' and so on, for each of the options' argument
 * patterns, and switches it on. */
int dt_session_device_arguments(struct dt_session *s, struct dt_error *e);

/* Makes a range named `contexts' of the functions by which a program changes stacks (swapcontext,
 * setcontext), and switches it on. */
int dt_session_device_contexts(struct dt_session *s, struct dt_error *e);

/* Sets the tracepoints of the session's options that are not set yet. With the lock, or before
 * there are other threads. */
int dt_session_device_points(struct dt_session *s, struct dt_error *e);

/*
 * Fills in how many functions each of the selection's patterns has matched. Takes the lock itself.
 */
void dt_session_device_hits(struct dt_session *s, struct dt_selection *select);

/* Returns how many functions the options' i-th argument pattern has matched, and writes to
 * `missing' which of its arguments none of these functions has. Takes the lock itself. */
uint64_t dt_session_device_matched(struct dt_session *s, size_t i, char *missing, size_t size);

/* Brings the sites and the table of a process up to date when it is new or its modules have
 * changed. */
void dt_session_device_follow(struct dt_session *s, struct dt_target *t);

/* Switches the sites that s->ask_file, ask_low and ask_high name to what is chosen, in every
 * process. Owner thread. */
int dt_session_device_sync(struct dt_session *s, struct dt_error *e);

/* Looks whether a trigger or its time limit has stopped recording, and does what follows from that.
 * Called from time to time by the owner thread, without the lock. */
void dt_session_device_tick(struct dt_session *s);
/* Writes a line to options.news, if there is such a pipe. Who does not read it misses it. */
void dt_session_device_news(const struct dt_session *s, const char *line);

#endif
