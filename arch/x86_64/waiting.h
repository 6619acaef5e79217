/* SPDX-License-Identifier: MIT */
/* A whole program, the content of a file, that waits until nobody can write to its file 3, and
 * ends. */
#ifndef DT_ARCH_WAITING_H
#define DT_ARCH_WAITING_H

#include "core/types.h"

extern const void *const dt_waiting_program;
extern const size_t dt_waiting_size; /* bytes */

#endif
