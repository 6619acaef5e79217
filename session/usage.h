/* SPDX-License-Identifier: MIT */
/*
 * Usage: the memory and processor time of the traced processes, read from /proc now and then by the
 * recorder, and written into the trace (table used) for plots over time.
 */
#ifndef DT_SESSION_USAGE_H
#define DT_SESSION_USAGE_H

struct dt_session;
struct dt_usage;

/* NULL: out of memory. */
struct dt_usage *dt_usage_new(void);
void dt_usage_free(struct dt_usage *u);

/*
 * Reads what each traced process uses, if the last time is DT_USAGE_MS ago, and writes what has
 * changed. Takes no more than a hundredth of the time: with many processes they are read less
 * often. Recorder's thread.
 */
#define DT_USAGE_MS 100
void dt_usage_look(struct dt_session *s, struct dt_usage *u);

#endif
