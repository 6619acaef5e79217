/* SPDX-License-Identifier: MIT */
/* Fixed-width types without a system header: core/ is compiled for programs and for the kernel. */
#ifndef DT_CORE_TYPES_H
#define DT_CORE_TYPES_H

#if defined(__KERNEL__)
#include <linux/types.h>
#include <linux/limits.h>
#ifndef UINT64_MAX
#define UINT64_MAX (~(uint64_t)0)
#endif
#else
#include <stdint.h> /* freestanding headers, given by the compiler itself */
#include <stdbool.h>
#include <stddef.h>

/* Makes a bool valid whose byte others have written: any value but 0 becomes true. A bool that is
 * neither 0 nor 1 may otherwise act as both. */
static inline void dt_bool_settle(bool *b)
{
	*b = *(const unsigned char *)b != 0;
}
#endif

#endif
