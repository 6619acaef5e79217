/* SPDX-License-Identifier: MIT */
/* What this processor's object files, and the code in them, look like. */
#ifndef DT_ARCH_OBJECT_H
#define DT_ARCH_OBJECT_H

#include <elf.h>

#include "core/types.h"

#define DT_MACHINE	EM_X86_64
#define DT_MACHINE_NAME "x86-64"

#define DT_CODE_STEP 1 /* instructions begin at multiples of it */

/* DWARF's number of the stack pointer, from which a frame's address (CFA) is counted. */
#define DT_FRAME_SP	  7
#define DT_FRAME_AT_ENTRY 8 /* bytes from it to the CFA at a function's beginning */

/* What a relocation stores at its place. */
enum dt_relocation {
	DT_RELOCATION_OTHER,
	DT_RELOCATION_SYMBOL,	 /* a symbol's address and the addend */
	DT_RELOCATION_SLOT,	 /* a symbol's address, in a slot that calls to other files use */
	DT_RELOCATION_RELATIVE,	 /* the addend, plus the address at which the file is loaded */
	DT_RELOCATION_IRELATIVE, /* what a resolver, the function at the addend, returns */
};
/* Returns what a relocation of this type (R_X86_64_...) stores. */
enum dt_relocation dt_relocation_of(uint32_t type);

/* Returns how many bytes a landing pad for indirect branches (endbr64) at code has; 0: there is
 * none. */
unsigned dt_landing_pad(const uint8_t *code, size_t size);

/* Returns the address of the slot through which the PLT entry at address jumps; 0: it is no such
 * entry. code: DT_PLT bytes. */
#define DT_PLT 16
uint64_t dt_plt_slot(const uint8_t code[DT_PLT], uint64_t address);

/* Reads where the direct call, or direct jump with 32-bit distance, at code leads; false: it is
 * another instruction. size: bytes that may be read. */
bool dt_reaches_far(const uint8_t *code, size_t size, uint64_t address, uint64_t *to);

/* The bytes of libc's clone3 around its system call. */
extern const unsigned char dt_clone3_code[];
extern const size_t dt_clone3_size;
#define DT_CLONE3_NUMBER 3 /* offset of the instruction that loads the call's number */

/* The signature with which glibc registers restartable sequences. */
#define DT_RSEQ_SIGNATURE 0x53053053

#endif
