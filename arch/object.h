/* SPDX-License-Identifier: MIT */
/* What this processor's object files, and the code in them, look like. */
#ifndef DT_ARCH_OBJECT_H
#define DT_ARCH_OBJECT_H

#include "core/types.h"

#if defined(__x86_64__)
#include "arch/x86_64/object-numbers.h"
#elif defined(__aarch64__)
#include "arch/aarch64/object-numbers.h"
#endif

/* What a relocation stores at its place. */
enum dt_relocation {
	DT_RELOCATION_OTHER,
	DT_RELOCATION_SYMBOL,	 /* a symbol's address and the addend */
	DT_RELOCATION_SLOT,	 /* a symbol's address, in a slot that calls to other files use */
	DT_RELOCATION_RELATIVE,	 /* the addend, plus the address at which the file is loaded */
	DT_RELOCATION_IRELATIVE, /* what a resolver, the function at the addend, returns */
};
/* Returns what a relocation of this type stores. */
enum dt_relocation dt_relocation_of(uint32_t type);

/* Returns how many bytes a landing pad for indirect branches at code has; 0: there is
 * none. */
unsigned dt_landing_pad(const uint8_t *code, size_t size);

/* Returns the address of the slot through which the PLT entry at address jumps; 0: it is no such
 * entry. code: DT_PLT bytes. */
uint64_t dt_plt_slot(const uint8_t code[DT_PLT], uint64_t address);

/* Reads where the direct call, or direct jump at code leads; false: it is
 * another instruction. size: bytes that may be read. */
bool dt_reaches_far(const uint8_t *code, size_t size, uint64_t address, uint64_t *to);

/* The bytes of libc's clone3 around its system call; DT_CLONE3_NUMBER: offset of the instruction
 * among them that loads the call's number. */
extern const unsigned char dt_clone3_code[];
extern const size_t dt_clone3_size;

#endif
