/* SPDX-License-Identifier: MIT */
/*
 * Finds where a file makes the system calls that must be noticed before they are made: prctl and
 * seccomp, by which a program gives up what the hooks need, and musl's vfork and clone
 * (arch/gate.h).
 */
#ifndef DT_ELF_GATES_H
#define DT_ELF_GATES_H

#include "arch/arch.h"
#include "elf/elf.h"

/* The gates of a file. */
struct dt_gates {
	struct dt_gate gate[DT_GATES]; /* `at': the file's virtual addresses */
	size_t n;
	size_t clones; /* how many are of musl's vfork and clone */
	size_t more;   /* how many more were found for which there was no room */
	bool read;     /* the file has been searched */
};

/* Searches the file, at the first call only. */
void dt_gates_read(struct dt_gates *g, struct dt_elf *elf);

#endif
