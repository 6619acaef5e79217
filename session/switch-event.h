/* SPDX-License-Identifier: MIT */
/* The kernel's perf event that tells of context switches: whether it can be had. */
#ifndef DT_SESSION_SWITCH_EVENT_H
#define DT_SESSION_SWITCH_EVENT_H

#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include "core/error.h"

/* Describes an event with a buffer of so many bytes. */
struct perf_event_attr dt_switch_event_of(size_t size);

/* Says that the kernel does not let this user have them. Returns -1. */
int dt_switch_event_forbidden(struct dt_error *e);

/*
 * An event of the session's own, which is of no use but to see that there can be some. The first
 * event of a machine takes the kernel some 10 ms, in which it waits for all processors
 * (synchronize_rcu() in its account_event()). So it is opened by a thread beside,
 * whose end is waited for when there is nothing else to do. All zero: it has not begun.
 */
struct dt_switch_event {
	pthread_t opener;
	bool opening, is_open, confined;
	int fd, error;
};

void dt_switch_event_begin(struct dt_switch_event *v);
/* Waits until it is open. Returns 0, or -1 and an error: there can be none. */
int dt_switch_event_end(struct dt_switch_event *v, struct dt_error *e);
void dt_switch_event_free(struct dt_switch_event *v);

#endif
