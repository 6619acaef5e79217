/* SPDX-License-Identifier: MIT */
/*
 * Ranges and tracepoints of a session that are the kernel's: what they are in the session's device
 * is told to the kernel's. "trace kernel:vfs_read+9 REG rdi", "trace kernel:vfs_* new files".
 */
#ifndef DT_SESSION_KERNEL_RANGES_H
#define DT_SESSION_KERNEL_RANGES_H

#include "core/device.h"
#include "hook/point.h"
#include "session/kernel.h"
#include "session/options.h"

/* Is it the kernel's, by its address or by what it is called? -1 and an error: in part. */
int dt_kernel_range(const struct dt_range *r, struct dt_error *e);

/* NAME behind the prefix, as dt_device_ops.place. */
int dt_kernel_place(struct dt_kernel *k, const char *name, struct dt_place *place,
		    struct dt_error *e);

struct dt_kernel_range; /* what the provider knows of one */

/* As dt_device_ops has them. The range is off when it is forgotten. */
struct dt_kernel_range *dt_kernel_range_make(struct dt_kernel *k, const struct dt_range *r,
					     struct dt_error *e);
void dt_kernel_range_forget(struct dt_kernel_range *x);
int dt_kernel_range_switch(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e);
/* A point that is on and was `old': no hit is missed meanwhile. */
int dt_kernel_range_change(struct dt_kernel_range *old, struct dt_kernel_range *x,
			   const struct dt_range *r, struct dt_error *e);

/*
 * The records of a point are told from those of another that was there before or comes behind, and
 * each that belongs to one from the others, by pcs that are none of the kernel's.
 */
uint64_t dt_kernel_point_pc(struct dt_kernel *k, const struct dt_record *r);
/* What such a pc stands for; *first: the point's value that comes first, or DT_KERNEL_CONST. NULL:
 * it is an address. */
const struct dt_point *dt_kernel_point(struct dt_kernel *k, uint64_t pc, unsigned *first);
#define DT_KERNEL_CONST 0xffu

#endif
