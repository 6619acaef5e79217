/* SPDX-License-Identifier: MIT */
/* What this processor's object files, and the code in them, look like. */
#ifndef DT_ARCH_AARCH64_OBJECT_NUMBERS_H
#define DT_ARCH_AARCH64_OBJECT_NUMBERS_H

#include <elf.h>

#include "core/types.h"

#define DT_MACHINE	EM_AARCH64
#define DT_MACHINE_NAME "aarch64"

#define DT_CODE_STEP 4 /* instructions begin at multiples of it */

#define DT_FRAME_SP	  31 /* DWARF's number of the stack pointer, from which a CFA is counted */
#define DT_FRAME_AT_ENTRY 0  /* bytes from it to the CFA at a function's beginning */

#define DT_PLT		 16 /* bytes of an entry: adrp, ldr, add, br */
#define DT_CLONE3_NUMBER 0  /* offset of the instruction that loads the call's number */

/* The signature with which glibc registers restartable sequences: a brk. */
#define DT_RSEQ_SIGNATURE 0xd428bc00

#endif
