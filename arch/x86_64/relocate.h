/* SPDX-License-Identifier: MIT */
/*
 * The relocator: copies a stretch of instructions to another address so that the copy does what the
 * original does, there. No register is changed, no flag, and nothing of the 128 bytes below the
 * stack pointer.
 *
 *   rip-relative memory	the distance is corrected. Where it does not reach: lea becomes mov
 *of a constant, anything else borrows a register it does not use, which it saves below the red zone
 *   jmp, jcc, xbegin	with a 32-bit distance; where it does not reach, through an address beside
 *			the jump (xbegin: refused)
 *   loop, jrcxz	turned into a short one over a jump
 *   call		pushes the address that the original would have pushed, then jumps. So
 *nobody who walks the stack ever sees the copy. The price: the processor predicts that return
 *wrongly, and with a shadow stack (CET) such a call must not be moved branches inside	a target
 *inside the stretch means its copy anything else	as it is, syscall too: the kernel sees the
 *copy's address in rcx, nobody else
 *
 * Refused is what dt_insn_immovable() says, and what is too far away and uses the stack pointer.
 * What no copy can hide: a fault's address, for a signal handler that looks at it; the last x87
 * instruction's address in what fnstenv stores.
 */
#ifndef DT_ARCH_RELOCATE_H
#define DT_ARCH_RELOCATE_H

#include "arch/x86_64/emit.h"
#include "core/error.h"

#define DT_RELOCATE_MAX	 64 /* instructions of a stretch */
#define DT_RELOCATE_ROOM 64 /* bytes that a copy of one instruction takes at most, hooks aside */

enum dt_hook_place {
	DT_HOOK_BEFORE, /* the instruction is about to run */
	DT_HOOK_TAKEN,	/* a conditional branch was taken, and the jump to its target follows */
};

/*
 * Something to be done at an instruction of the stretch. emit writes the code; called more than
 * once for the same place, it must write the same number of bytes.
 */
struct dt_relocate_hook {
	uint64_t address; /* of the instruction; hooks are sorted by it */
	enum dt_hook_place place;
	void (*emit)(struct dt_emit *o, const struct dt_relocate_hook *h);
	void *ctx;
};

/* Which instruction went where. The last entry is the end of both. */
struct dt_moved {
	unsigned n; /* instructions */
	struct {
		uint32_t from; /* offset in the original */
		uint32_t to;   /* offset in the copy, where a thread about to run it goes on: in
				* front of its hooks */
	} at[DT_RELOCATE_MAX + 1];
	bool falls; /* control can reach the end of the copy: a jump back must follow */
};

/*
 * Appends to o the copy of the size bytes at code, which run at from: whole instructions. 0, or -1
 * and an error when one of them cannot be moved there; o is then of no use. The caller sees to it
 * that there is room.
 */
int dt_relocate(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from,
		const struct dt_relocate_hook *hook, size_t hooks, struct dt_moved *m,
		struct dt_error *e);

#define DT_RELOCATE_PUSH 24 /* bytes of that, at most */

/*
 * Appends code that pushes the address to which the jump through a register or memory at code,
 * which runs at from, is about to jump. It needs 8 bytes below the stack pointer and changes
 * nothing else. 0, or -1 when that can not be done; nothing is written then.
 */
int dt_relocate_push(struct dt_emit *o, const uint8_t *code, size_t size, uint64_t from);

/*
 * For a thread stopped at ip: where it must go on. In the original's bytes (but its first) it goes
 * to the copy; to is the copy's first address. ip itself when nothing of it is moved.
 */
uint64_t dt_moved_forward(const struct dt_moved *m, uint64_t from, uint64_t to, uint64_t ip);
/* The way back, for a thread stopped in the copy at the beginning of an instruction's copy; 0: it
 * is somewhere between. */
uint64_t dt_moved_back(const struct dt_moved *m, uint64_t from, uint64_t to, uint64_t ip);

#endif
