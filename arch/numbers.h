/* SPDX-License-Identifier: MIT */
/* The numbers of the border that depend on the processor. Each processor's file defines the same
 * names, and is included by assembler code, too. */
#ifndef DT_ARCH_NUMBERS_H
#define DT_ARCH_NUMBERS_H

#if defined(__x86_64__)
#include "arch/x86_64/numbers.h"
#elif defined(__aarch64__)
#include "arch/aarch64/numbers.h"
#else
#error "devtrace does not know this processor yet"
#endif

#endif
