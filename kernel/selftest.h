/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Tried at loading, before anybody can ask for anything: a module that fails it is not loaded. */
#ifndef DT_KERNEL_SELFTEST_H
#define DT_KERNEL_SELFTEST_H

#include "core/error.h"

int dt_selftest(struct dt_error *e);

#endif
