/* SPDX-License-Identifier: MIT */
/* A whole program, as the content of an ELF file. It reads its descriptor 3, the end of a pipe,
 * until that has no writer any more, and ends. */
#ifndef DT_ARCH_WAITING_H
#define DT_ARCH_WAITING_H

#include "core/types.h"

extern const void *const dt_waiting_program;
extern const size_t dt_waiting_size; /* bytes */

#endif
