/* SPDX-License-Identifier: MIT */
/* A session's tracepoints in the kernel, and when each was in place, by which
 * session/kernel-ranges.c assigns the records that come in. */
#ifndef DT_SESSION_KERNEL_POINTS_H
#define DT_SESSION_KERNEL_POINTS_H

#include <pthread.h>

#include "hook/point.h"

/*
 * From when to when the records at an address belonged to a point: ticks, both included. While one
 * point replaces another, both are in place for a moment; the serial number in a record says which
 * one it is from.
 */
struct dt_kernel_stay {
	uint64_t address, begin, end;
	uint32_t id; /* of the point, in struct dt_points */
	uint8_t serial;
};

/* Points are never removed from the list, as a file's points are not: hook/point.h. */
struct dt_kernel_points {
	pthread_mutex_t lock; /* commands change what follows, the recorder reads it */
	struct dt_points all;
	struct dt_kernel_stay *stay; /* stays in the order in which they began */
	size_t n, room;
};

/* Makes an empty list; NULL: out of memory. */
struct dt_kernel_points *dt_kernel_points_new(void);
/* Frees the list; NULL is allowed. */
void dt_kernel_points_free(struct dt_kernel_points *p);

#endif
