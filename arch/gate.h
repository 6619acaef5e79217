/* SPDX-License-Identifier: MIT */
/*
 * Gates. A program can forbid itself what the hooks need: reading the clock, making system calls.
 * And musl's vfork and clone have children run in their maker's thread block, as glibc's do, which
 * are connected by name (connection.h). The place where that is done is led through the area, so
 * that the slow path learns of it first. A jump of five bytes replaces instructions before the
 * system call, which itself stays where it is. The gate has a copy of these instructions, calls the
 * blob's `call', and jumps back to the system call.
 */
#ifndef DT_ARCH_GATE_H
#define DT_ARCH_GATE_H

#include "arch/numbers.h"
#include "core/types.h"

#define DT_GATES 24 /* most gates of a process: from DT_AREA_GATES to DT_AREA_STUB */

/* A place where a gate is to be put. */
struct dt_gate {
	uint64_t at;	 /* offset of what is replaced. Jumps from elsewhere may lead here, but not
			    after it */
	uint32_t length; /* bytes from there to the system call: whole instructions */
};

/* What is looked for. */
enum dt_gate_what {
	DT_GATE_PRCTL, /* prctl's number is loaded, and the system call follows without a branch */
	DT_GATE_SECCOMP, /* as DT_GATE_PRCTL, with seccomp's number */
	DT_GATE_VFORK,	 /* in musl's vfork */
	DT_GATE_CLONE,	 /* in musl's __clone */
	DT_GATE_SYSCALL, /* the end of glibc's syscall() */
	DT_GATE_WHATS
};

/* Finds the next such place in the code at or after the offset *from, and moves *from past it.
 * False: there is none. */
bool dt_gate_scan(const uint8_t *code, size_t size, enum dt_gate_what what, size_t *from,
		  struct dt_gate *out);

/* Finds the first system call of a function, if no branch is before it: for syscall(). Offsets are
 * from the function's beginning. */
bool dt_gate_function(const uint8_t *code, size_t size, struct dt_gate *out);

/* Writes the gate that will run at `address'. moved: the instructions it replaces; call: address of
 * the blob's `call'; back: address of the system call. */
void dt_gate_write(uint8_t out[DT_GATE_SIZE], uint64_t address, const uint8_t *moved, size_t length,
		   uint64_t call, uint64_t back);

#endif
