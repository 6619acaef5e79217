/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Tracepoints at instructions, by kprobes: the kernel's own checks say where one can be. */
#ifndef DT_KERNEL_POINT_H
#define DT_KERNEL_POINT_H

#include "core/device.h"

/*
 * Makes what is behind range r, which is a point: r->host; off. Another point at the same address
 * shares its probe.
 */
int dt_point_make(struct dt_range *r, struct dt_error *e);
void dt_point_forget(struct dt_range *r);

/* It is on from here, or off; with the action that r has now. */
int dt_point_switch(struct dt_range *r, bool on, struct dt_error *e);

/* In place of `before', which is at the same address: no hit is missed, and none is seen twice. */
int dt_point_update(struct dt_range *before, struct dt_range *r, struct dt_error *e);

#endif
