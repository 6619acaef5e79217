/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Tests the module when it is loaded, before it can be used. A module that fails is not loaded. */
#ifndef DT_KERNEL_SELFTEST_H
#define DT_KERNEL_SELFTEST_H

#include "core/error.h"

/* Returns 0, or -1 with an error that says what went wrong. */
int dt_selftest(struct dt_error *e);

#endif
