/* SPDX-License-Identifier: MIT */
/* What this processor's object files, and the code in them, look like. */
#ifndef DT_ARCH_X86_64_OBJECT_NUMBERS_H
#define DT_ARCH_X86_64_OBJECT_NUMBERS_H

#include <elf.h>

#include "core/types.h"

#define DT_MACHINE	EM_X86_64
#define DT_MACHINE_NAME "x86-64"

#define DT_CODE_STEP 1 /* instructions begin at multiples of it */

/* DWARF's number of the stack pointer, from which a frame's address (CFA) is counted. */
#define DT_FRAME_SP	  7
#define DT_FRAME_AT_ENTRY 8 /* bytes from it to the CFA at a function's beginning */

#define DT_PLT		 16 /* bytes of an entry of the PLT */
#define DT_CLONE3_NUMBER 3  /* offset of the instruction that loads the call's number */

/* The signature with which glibc registers restartable sequences. */
#define DT_RSEQ_SIGNATURE 0x53053053

#endif
