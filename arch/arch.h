/* SPDX-License-Identifier: MIT */
/* All that the rest of devtrace uses of the processor. The headers included here declare the same
 * names for each processor. */
#ifndef DT_ARCH_ARCH_H
#define DT_ARCH_ARCH_H

#ifdef __x86_64__
#include "arch/x86_64/abi.h"
#include "arch/x86_64/area.h"
#include "arch/x86_64/capture.h"
#include "arch/x86_64/connection.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/emit.h"
#include "arch/x86_64/gate.h"
#include "arch/x86_64/hook-call.h"
#include "arch/x86_64/hooks.h"
#include "arch/x86_64/injected.h"
#include "arch/x86_64/insn.h"
#include "arch/x86_64/register.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/relocate.h"
#include "arch/x86_64/sled.h"
#include "arch/x86_64/start.h"
#include "arch/x86_64/stack.h"
#include "arch/x86_64/thread-use.h"
#include "arch/x86_64/thread-word.h"
#include "arch/x86_64/trial.h"
#include "arch/x86_64/unwind.h"
#include "arch/x86_64/waiting.h"
#include "arch/x86_64/jump-table.h"
#include "arch/x86_64/object.h"
#include "arch/x86_64/plan.h"
#else
#error "devtrace does not know this processor yet"
#endif

#endif
