/* SPDX-License-Identifier: MIT */
/* A session's tracepoints in the kernel, as session/kernel-ranges.c finds them again when their
 * records come. */
#ifndef DT_SESSION_KERNEL_POINTS_H
#define DT_SESSION_KERNEL_POINTS_H

#include <pthread.h>

#include "hook/point.h"

/*
 * From when to when records at an address were of this point: ticks, both included. Where one takes
 * the place of another, for a moment both are, and the records' serial numbers tell.
 */
struct dt_kernel_stay {
	uint64_t address, begin, end;
	uint32_t id;
	uint8_t serial;
};

/* Points are never forgotten, as a file's are not: hook/point.h. */
struct dt_kernel_points {
	pthread_mutex_t lock; /* commands change it, the recorder looks */
	struct dt_points all;
	struct dt_kernel_stay *stay; /* in the order in which they began */
	size_t n, room;
};

struct dt_kernel_points *dt_kernel_points_new(void);
void dt_kernel_points_free(struct dt_kernel_points *p);

#endif
