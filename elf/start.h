/* SPDX-License-Identifier: MIT */
/*
 * Finds _start and main of a program that has no symbols for them: _start is at the program's entry
 * point, if the code there is glibc's (arch/start.h), and main is what it passes to
 * __libc_start_main.
 */
#ifndef DT_ELF_START_H
#define DT_ELF_START_H

#include "elf/symtab-file.h"

/* The two functions. */
struct dt_start {
	uint64_t start, start_size;
	uint64_t main, main_size; /* the size by .eh_frame; 0: it does not say */
};

/* Finds them; false: the program does not begin like that, or what its code says cannot be. */
bool dt_start_find(const struct dt_symfile *f, struct dt_start *out);

#endif
