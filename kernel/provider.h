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
void dt_provider_read(void (*line)(void *ctx, const char *text, size_t n), void *ctx);

#endif
