/* SPDX-License-Identifier: MIT */
/* What the rest knows of the processor: whatever is included here has the same names on each. */
#ifndef DT_ARCH_ARCH_H
#define DT_ARCH_ARCH_H

#ifdef __x86_64__
#include "arch/x86_64/cpu.h"
#else
#error "devtrace does not know this processor yet"
#endif

#endif
