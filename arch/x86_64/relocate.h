/* SPDX-License-Identifier: MIT */
/*
 * The relocator: copies a stretch of instructions to another address, so that the copy does there
 * what the original does. Beyond that it changes no register, no flag, and nothing of the 128 bytes
 * below the stack pointer.
 *
 * - rip-relative memory: the distance is corrected. Where 32 bits do not reach, lea becomes a mov
 *   of a constant, and anything else borrows a register that it does not use, which is saved below
 *   the red zone.
 * - jmp, jcc, xbegin: get a 32-bit distance; where that does not reach, they go through an address
 *   beside the jump (xbegin is refused).
 * - loop, jrcxz: become a short one over a jump.
 * - call: pushes the address that the original would have pushed, then jumps. So a stack walk never
 *   meets the copy. The price: the processor predicts that return wrongly, and with a shadow stack
 *   (CET) such a call must not be moved.
 * - branches to inside the stretch: lead to the copy of their target.
 * - anything else: stays as it is, syscall too. Only the kernel, and rcx, see the copy's address.
 *
 * Refused is what dt_insn_immovable() names, and what uses the stack pointer together with memory
 * out of reach. No copy can hide the address of a fault from a signal handler, nor the last x87
 * instruction's address in what fnstenv stores.
 */
#ifndef DT_ARCH_RELOCATE_H
#define DT_ARCH_RELOCATE_H

#include "arch/x86_64/emit.h"
#include "core/error.h"

#define DT_RELOCATE_MAX	 64 /* most instructions of a stretch */
#define DT_RELOCATE_ROOM 64 /* most bytes that a copy of one instruction takes, without hooks */

/* When a hook runs. */
enum dt_hook_place {
	DT_HOOK_BEFORE, /* the instruction is about to run */
	DT_HOOK_TAKEN,	/* a conditional branch was taken, and the jump to its target follows */
};

/*
 * Something to be done at an instruction of the stretch. emit writes the code for that. It is
 * called more than once for the same place, and must write the same number of bytes each time.
 */
struct dt_relocate_hook {
	uint64_t address; /* of the instruction; hooks are sorted by it */
	enum dt_hook_place place;
	void (*emit)(struct dt_emit *o, const struct dt_relocate_hook *h);
	void *ctx;
};

/* Where an instruction went. */
struct dt_moved_at {
	uint32_t from; /* offset in the original */
	uint32_t to;   /* offset in the copy at which a thread about to run it goes on: before its
			* hooks */
};

/* Where each instruction went. at[n] is the end of the original and of the copy. */
struct dt_moved {
	unsigned n; /* instructions */
	struct dt_moved_at at[DT_RELOCATE_MAX + 1];
	bool falls; /* control can reach the end of the copy: a jump back must follow */
};

/*
 * Appends to o the copy of the whole instructions in the size bytes at code, which run at from. m
 * is set to where each went. 0, or -1 and an error when one of them cannot be moved there; o is
 * then of no use. The caller sees to it that there is room.
 */
int dt_relocate(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from,
		const struct dt_relocate_hook *hook, size_t hooks, struct dt_moved *m,
		struct dt_error *e);

#define DT_RELOCATE_PUSH 24 /* most bytes that dt_relocate_push() writes */

/*
 * Appends code that pushes the address to which a jump through a register or memory is about to
 * jump. The jump's bytes are at code, and run at from. The push uses 8 bytes below the stack
 * pointer and changes nothing else. 0, or -1 when that can not be done; nothing is written then.
 */
int dt_relocate_push(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from);

/*
 * Returns where a thread that is stopped at ip must go on: from a moved instruction, other than the
 * first, at its copy; else at ip. from and to are the first addresses of original and copy; at and
 * n are those of struct dt_moved.
 */
uint64_t dt_moved_forward(const struct dt_moved_at *at, unsigned n, uint64_t from, uint64_t to,
			  uint64_t ip);
/* Returns where in the original a thread goes on that is stopped at the beginning of an
 * instruction's copy; 0: it is not at such a place. */
uint64_t dt_moved_back(const struct dt_moved_at *at, unsigned n, uint64_t from, uint64_t to,
		       uint64_t ip);

#endif
