/* SPDX-License-Identifier: MIT */
/* An open trace, as the files of this folder see it. */
#ifndef DT_LIBRARY_TRACE_WORK_H
#define DT_LIBRARY_TRACE_WORK_H

#include "core/error.h"
#include "include/libdevtrace.h"
#include "store/reader.h"

/* What the version script exports; all else is hidden. */
#define PUBLIC __attribute__((visibility("default")))

struct devtrace {
	struct dt_reader *reader; /* for descriptions; each pass has its own */
	struct dt_summary summary;
};

/* Gives the caller the line; e may be NULL. Returns -1. */
int dt_library_fail(struct devtrace_error *e, const struct dt_error *why);

/* Copies the part of a structure for which the caller has room. */
void dt_library_give(void *out, size_t size, const void *from, size_t n);

/*
 * Reads a caller's choice, of whatever size, into *to, and the range that it means into *range. -1:
 * it has flags that this version does not know, or an impossible size.
 */
int dt_library_choice(const struct devtrace_choice *choice, struct devtrace_choice *to,
		      struct dt_reader_range *range, struct dt_error *e);

/* Returns the time of a tick in ns from the first record of the trace. */
static inline int64_t dt_library_ns(const struct dt_reader *r, uint64_t first_ns, uint64_t ticks)
{
	return (int64_t)(dt_reader_ns(r, ticks) - first_ns);
}

#endif
