/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Makes tracepoints at instructions by kprobes; the kernel itself checks where one can be. */
#ifndef DT_KERNEL_POINT_H
#define DT_KERNEL_POINT_H

#include "core/device.h"

/*
 * Makes the probe of range r, which is a point, and puts it into r->host; it is off. Another point
 * at the same address shares the probe. Returns 0, or -1 with an error.
 */
int dt_point_make(struct dt_range *r, struct dt_error *e);
/* Releases r->host. */
void dt_point_forget(struct dt_range *r);

/* Switches the point on or off; it uses r's present action. Returns 0, or -1 with an error. */
int dt_point_switch(struct dt_range *r, bool on, struct dt_error *e);

/*
 * Puts r in place of `before', which is at the same address: no hit is missed, and none is recorded
 * twice. Returns 0.
 */
int dt_point_update(struct dt_range *before, struct dt_range *r, struct dt_error *e);

#endif
