/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The kernel's device: its state behind /dev/tracectl. */
#ifndef DT_KERNEL_PROVIDER_H
#define DT_KERNEL_PROVIDER_H

#include "core/device.h"

int dt_provider_init(struct dt_error *e);
void dt_provider_stop(void);
void dt_provider_exit(void);

/* Obeys commands for the process that calls; answers go to answer(). */
int dt_provider_write(const char *text, size_t n,
		      void (*answer)(void *ctx, const char *line, size_t n), void *ctx,
		      struct dt_error *e);
/*
 * The device is `who's, any address of his own, until he leaves it: then it is as at first. -EBUSY:
 * it is another's, or something is traced.
 */
int dt_provider_own(const void *who);
void dt_provider_leave(const void *who);
/* Watches the process of that number in the owner's PID namespace until it ends. -EPERM, -ESRCH,
 * -EINVAL: as in include/devtrace-ioctl.h */
int dt_provider_watch(const void *who, int number);

void dt_provider_read(void (*line)(void *ctx, const char *text, size_t n), void *ctx);

#endif
