/* SPDX-License-Identifier: MIT */
/* All that the rest of devtrace uses of the processor. Each processor's folder has the headers that
 * are named here for it, with the same names in them, and defines what the others declare. */
#ifndef DT_ARCH_ARCH_H
#define DT_ARCH_ARCH_H

#if defined(__x86_64__)
#include "arch/x86_64/abi.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/trial.h"
#elif defined(__aarch64__)
#include "arch/aarch64/abi.h"
#include "arch/aarch64/cpu.h"
#include "arch/aarch64/regs.h"
#include "arch/aarch64/trial.h"
#else
#error "devtrace does not know this processor yet"
#endif
#include "arch/area.h"
#include "arch/capture.h"
#include "arch/connection.h"
#include "arch/emit.h"
#include "arch/gate.h"
#include "arch/hook-call.h"
#include "arch/hooks.h"
#include "arch/injected.h"
#include "arch/insn.h"
#include "arch/jump-table.h"
#include "arch/object.h"
#include "arch/plan.h"
#include "arch/register.h"
#include "arch/relocate.h"
#include "arch/sled.h"
#include "arch/stack.h"
#include "arch/start.h"
#include "arch/thread-use.h"
#include "arch/thread-word.h"
#include "arch/unwind.h"
#include "arch/waiting.h"

#endif
