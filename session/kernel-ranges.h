/* SPDX-License-Identifier: MIT */
/*
 * Ranges and tracepoints of a session that are in the kernel, such as "trace kernel:vfs_read+9 REG
 * rdi" and "trace kernel:vfs_* new files". They are made in the session's device and passed on to
 * the kernel's device.
 */
#ifndef DT_SESSION_KERNEL_RANGES_H
#define DT_SESSION_KERNEL_RANGES_H

#include "core/device.h"
#include "hook/point.h"
#include "session/kernel.h"
#include "session/options.h"

/* Tells whether a range is in the kernel, by its address or by the prefix of its names: 1 or 0; -1
 * and an error when only some of its names have the prefix. */
int dt_kernel_range(const struct dt_range *r, struct dt_error *e);

/* Finds the kernel's function `name', which is without the prefix; returns as dt_device_ops.place
 * does. */
int dt_kernel_place(struct dt_kernel *k, const char *name, struct dt_place *place,
		    struct dt_error *e);

struct dt_kernel_range; /* what we keep for one such range */

/*
 * Make, forget and switch a range, for check, forget and apply of dt_device_ops.
 * dt_kernel_range_make() returns NULL and an error when the kernel has no such functions. A range
 * must be off when it is forgotten.
 */
struct dt_kernel_range *dt_kernel_range_make(struct dt_kernel *k, const struct dt_range *r,
					     struct dt_error *e);
void dt_kernel_range_forget(struct dt_kernel_range *x);
int dt_kernel_range_switch(struct dt_kernel_range *x, const struct dt_range *r, struct dt_error *e);
/* Puts point x in the place of `old', which is on, without missing a hit. r: x's range. */
int dt_kernel_range_change(struct dt_kernel_range *old, struct dt_kernel_range *x,
			   const struct dt_range *r, struct dt_error *e);

/*
 * Returns a pc for record r that is none of the kernel's addresses if r is of a tracepoint, else
 * r's own pc. The pc tells the point's records from those of points that were at the same address
 * earlier or later, and the several records of one hit from each other.
 */
uint64_t dt_kernel_point_pc(struct dt_kernel *k, const struct dt_record *r);
/* Returns the point that such a pc stands for; *first is the number of the point's value that the
 * record begins with, or DT_KERNEL_CONST. NULL: pc is an address of the kernel. */
const struct dt_point *dt_kernel_point(struct dt_kernel *k, uint64_t pc, unsigned *first);
#define DT_KERNEL_CONST 0xffu

#endif
