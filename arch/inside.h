/* SPDX-License-Identifier: MIT */
/* What the code in target/, which runs in traced processes, uses of the processor. The header
 * included here declares the same names for each processor. */
#ifndef DT_ARCH_INSIDE_H
#define DT_ARCH_INSIDE_H

#if defined(__x86_64__)
#include "arch/x86_64/inside.h"
#elif defined(__aarch64__)
#include "arch/aarch64/inside.h"
#else
#error "devtrace does not know this processor yet"
#endif

#endif
