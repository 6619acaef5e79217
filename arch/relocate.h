/* SPDX-License-Identifier: MIT */
/*
 * The relocator: copies a stretch of instructions to another address, so that the copy does there
 * what the original does. Beyond that it changes no register, no flag, and nothing that the program
 * may have below the stack pointer.
 *
 * A call pushes, or leaves where return addresses are left, the address that the original would
 * have left, so a stack walk never meets the copy. Branches to inside the stretch lead to the copy
 * of their target. What each processor's relocator does to which instructions stands in its
 * relocate.c; refused is what dt_insn_immovable() names, and what they say.
 */
#ifndef DT_ARCH_RELOCATE_H
#define DT_ARCH_RELOCATE_H

#include "arch/numbers.h"
#include "arch/emit.h"
#include "core/error.h"

#define DT_RELOCATE_MAX 64 /* most instructions of a stretch */

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
