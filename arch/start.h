/* SPDX-License-Identifier: MIT */
/*
 * glibc's _start, which is the same instructions in every program: it passes main to
 * __libc_start_main. It is how main is known in a program without symbols.
 */
#ifndef DT_ARCH_START_H
#define DT_ARCH_START_H

#include "core/types.h"

/* What the instructions of _start say. */
struct dt_start_code {
	uint64_t length; /* bytes of the function */
	uint64_t main;
	uint64_t call; /* what it calls: the address of a function or of its PLT entry; or, */
	bool by_slot;  /* if this is set, the address of the slot that holds the function's */
};

/* Reads the code at address, of which size bytes may be read; false: it is not exactly _start. */
bool dt_start_code(const uint8_t *code, size_t size, uint64_t address, struct dt_start_code *out);

#endif
