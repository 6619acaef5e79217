/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The device of the kernel, which /dev/tracectl controls. */
#ifndef DT_KERNEL_PROVIDER_H
#define DT_KERNEL_PROVIDER_H

#include "core/device.h"

/* Begins the device. Returns 0, or -1 with an error. */
int dt_provider_init(struct dt_error *e);
/* Returns when nothing can change hooks any more; called before dt_provider_exit(). */
void dt_provider_stop(void);
/* Frees the device. */
void dt_provider_exit(void);

/*
 * Obeys commands for the calling process, and passes answers to answer(). Returns 0, or -1 with an
 * error.
 */
int dt_provider_write(const char *text, size_t n,
		      void (*answer)(void *ctx, const char *line, size_t n), void *ctx,
		      struct dt_error *e);
/*
 * Make the device owned by `who', which is any address of the caller's own, until it leaves the
 * device, which is then as at first. dt_provider_own() returns 0, or -EBUSY if it has another owner
 * or something is traced.
 */
int dt_provider_own(const void *who);
void dt_provider_leave(const void *who);
/* Watches the process of that number in the owner's PID namespace until it ends. Returns 0, or
 * -EPERM, -ESRCH or -EINVAL as described in include/devtrace-ioctl.h. */
int dt_provider_watch(const void *who, int number);

/* Gives the device's state: dt_device_read(). */
void dt_provider_read(void (*line)(void *ctx, const char *text, size_t n), void *ctx);

#endif
