/* SPDX-License-Identifier: MIT */
/* Processes of which a session records only what they do in the kernel: they are neither stopped
 * nor changed, and other sessions may trace them at the same time. */
#ifndef DT_SESSION_KERNEL_ONLY_H
#define DT_SESSION_KERNEL_ONLY_H

#include "session/kernel.h"

#define DT_KERNEL_ONLY_MOST 64u

/* All zero: none. */
struct dt_kernel_only {
	struct {
		pid_t pid;
		int fd; /* pidfd_open(2) */
	} process[DT_KERNEL_ONLY_MOST];
	unsigned n;
};

/* Reads numbers of processes that run, with commas between them. -1 and an error: then there are
 * none. */
int dt_kernel_only_read(struct dt_kernel_only *o, const char *words, struct dt_error *e);
/* Has all of them recorded, their children, the children of these, and those that they make from
 * now on. */
int dt_kernel_only_watch(const struct dt_kernel_only *o, struct dt_kernel *k, struct dt_error *e);
/* Have all of them ended? False: there are none. */
bool dt_kernel_only_ended(const struct dt_kernel_only *o);
void dt_kernel_only_free(struct dt_kernel_only *o);

#endif
