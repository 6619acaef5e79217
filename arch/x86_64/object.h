/* SPDX-License-Identifier: MIT */
/* What the processor's object files and their code look like. */
#ifndef DT_ARCH_OBJECT_H
#define DT_ARCH_OBJECT_H

#include <elf.h>

#include "core/types.h"

#define DT_MACHINE	EM_X86_64
#define DT_MACHINE_NAME "x86-64"

/* In DWARF's tables: the stack pointer, as the register that a frame's address is counted from. */
#define DT_FRAME_SP	  7
#define DT_FRAME_AT_ENTRY 8 /* bytes from there to the frame's address, where a function begins */

/* What a relocation puts where it is. */
enum dt_relocation {
	DT_RELOCATION_OTHER,
	DT_RELOCATION_SYMBOL,	 /* a symbol's address and the addend */
	DT_RELOCATION_SLOT,	 /* the same, in a slot that calls of other files go through */
	DT_RELOCATION_RELATIVE,	 /* the addend, where the file is */
	DT_RELOCATION_IRELATIVE, /* what the function there, a resolver, returns */
};
enum dt_relocation dt_relocation_of(uint32_t type);

/* Bytes of a landing pad at code, for indirect branches; 0: there is none. */
unsigned dt_landing_pad(const uint8_t *code, size_t size);

/* The slot that an entry of the PLT at address jumps through; 0: it is no such entry. code: DT_PLT
 * bytes. */
#define DT_PLT 16
uint64_t dt_plt_slot(const uint8_t code[DT_PLT], uint64_t address);

/* Where a direct call, or a direct jump of full reach, leads that stands at code; false: another
 * instruction. size: bytes that may be read. */
bool dt_reaches_far(const uint8_t *code, size_t size, uint64_t address, uint64_t *to);

/* In libc's clone3, around its system call: the bytes, and which of them is the first behind what
 * may be replaced. */
extern const unsigned char dt_clone3_code[];
extern const size_t dt_clone3_size;
#define DT_CLONE3_NUMBER 3 /* the instruction that loads the number begins there */

/* What glibc registers restartable sequences with. */
#define DT_RSEQ_SIGNATURE 0x53053053

#endif
