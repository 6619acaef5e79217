/* SPDX-License-Identifier: MIT */
/* What whoever records the kernel tells of threads and processes of which the session knows nothing
 * else. */
#ifndef DT_SESSION_KERNEL_TELLING_H
#define DT_SESSION_KERNEL_TELLING_H

#include "core/types.h"

/* Who is told. Numbers are those of our PID namespace, 0: it has none there. Texts are the
 * caller's. */
struct dt_kernel_telling {
	void *ctx;
	/* A thread ends, or has another name. parent: of its process; born: that was made since
	 * recording began, so that all that it has executed has been told. */
	void (*thread)(void *ctx, uint32_t tid, uint32_t process, uint32_t parent, bool born,
		       const char *name);
	/* A process executes a program. arguments: in one line, perhaps cut off; "": not known. */
	void (*program)(void *ctx, uint32_t process, uint64_t ticks, const char *program,
			const char *arguments);
};

#endif
