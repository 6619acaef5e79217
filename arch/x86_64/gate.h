/* SPDX-License-Identifier: MIT */
/*
 * Gates. A program can forbid itself what the hooks need: to read the clock, to make system calls.
 * The place where it does so is led through the area, where the slow path hears of it first. Only
 * instructions in front of the system call are replaced, five bytes of them, so that it stays where
 * it is: the gate has a copy of them, calls the blob's `call', and jumps back to the system call.
 */
#ifndef DT_ARCH_GATE_H
#define DT_ARCH_GATE_H

#include "core/types.h"

#define DT_GATE_SIZE  64 /* bytes of one */
#define DT_GATES      24 /* of a process: DT_AREA_GATES to DT_AREA_STUB */
#define DT_GATE_MOVED 31 /* bytes that a gate can hold a copy of */

struct dt_gate {
	uint64_t
		at; /* offset of what is replaced; others may jump here, and nowhere behind it... */
	uint32_t length; /* ...up to the system call, but to whole instructions */
};

enum dt_gate_what {
	DT_GATE_PRCTL, /* prctl's number is loaded, and the system call follows without a branch */
	DT_GATE_SECCOMP, /* the same with seccomp's */
	DT_GATE_SYSCALL, /* the end of glibc's syscall() */
	DT_GATE_WHATS
};

/* The next such place at or behind *from, which is moved behind it. */
bool dt_gate_scan(const uint8_t *code, size_t size, enum dt_gate_what what, size_t *from,
		  struct dt_gate *out);

/* The first system call of a function, if it comes to that without a branch: for syscall(). */
bool dt_gate_function(const uint8_t *code, size_t size, struct dt_gate *out);

/* Writes the gate that will run at `address'; back: where the system call is. */
void dt_gate_write(uint8_t out[DT_GATE_SIZE], uint64_t address, const uint8_t *moved, size_t length,
		   uint64_t call, uint64_t back);

#endif
