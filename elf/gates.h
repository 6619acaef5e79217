/* SPDX-License-Identifier: MIT */
/*
 * Where a file makes system calls that are to be heard of before they are made: prctl and seccomp,
 * by which a program takes from itself what the hooks need (arch/x86_64/gate.h).
 */
#ifndef DT_ELF_GATES_H
#define DT_ELF_GATES_H

#include "arch/arch.h"
#include "elf/elf.h"

struct dt_gates {
	struct dt_gate gate[DT_GATES]; /* `at': the file's virtual addresses */
	size_t n;
	size_t more; /* there are so many that have no room */
	bool read;
};

/* Looks for them, once. */
void dt_gates_read(struct dt_gates *g, struct dt_elf *elf);

#endif
