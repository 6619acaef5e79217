/* SPDX-License-Identifier: MIT */
/* One instruction, decoded as far as it takes to move it and to find a function's ways out. Of its
 * struct, other folders use kind, length, target, relative, memory and disp. */
#ifndef DT_ARCH_INSN_H
#define DT_ARCH_INSN_H

#include "core/types.h"

/* What an instruction does to the flow of control. */
enum dt_insn_kind {
	DT_INSN_PLAIN,	 /* control goes on to the next instruction */
	DT_INSN_NOP,	 /* plain, and has no effect at all; endbr64 is not one of them */
	DT_INSN_ENDBR,	 /* endbr64: where an indirect call may arrive */
	DT_INSN_SYSCALL, /* syscall, sysenter, int n: plain, but the kernel sees the address */
	DT_INSN_JUMP,	 /* jmp to target */
	DT_INSN_BRANCH,	 /* jcc to target */
	DT_INSN_LOOP,	 /* loop, loope, loopne, jrcxz, jecxz to target */
	DT_INSN_CALL,	 /* call target */
	DT_INSN_JUMP_INDIRECT, /* jmp through a register or memory */
	DT_INSN_CALL_INDIRECT, /* call through a register or memory */
	DT_INSN_RETURN,	       /* ret, ret imm16, with any prefix */
	DT_INSN_FAR,	       /* lret, iret, far jmp and call, sysret, sysexit */
	DT_INSN_XBEGIN,	       /* goes on, or to target when the transaction is aborted */
	DT_INSN_TRAP,	       /* int3, int1, ud0, ud1, ud2, hlt: it is there to trap */
};

#if defined(__x86_64__)
#include "arch/x86_64/insn-fields.h"
#elif defined(__aarch64__)
#include "arch/aarch64/insn-fields.h"
#endif

/* Decodes the instruction at code, of which size bytes may be read. Returns its length; 0: there is
 * no valid instruction. */
unsigned dt_insn_decode(struct dt_insn *in, const uint8_t *code, size_t size, uint64_t address);

/*
 * Completes an instruction by what those before it have put into registers, where that takes more
 * than one of them: an address that it computes, what a jump through a register looks like. *seen
 * is all zeros before the first instruction of a stretch; each of these is given, in order.
 * code: its bytes, if numbers in them may be addresses, as in a file at a fixed address; or NULL.
 */
void dt_insn_follow(struct dt_insn_seen *seen, struct dt_insn *in, const uint8_t *code);

/* Looks whether control never goes on to the next instruction. After a call it does. */
static inline bool dt_insn_ends(const struct dt_insn *in)
{
	return in->kind == DT_INSN_JUMP || in->kind == DT_INSN_JUMP_INDIRECT ||
	       in->kind == DT_INSN_RETURN || in->kind == DT_INSN_FAR || in->kind == DT_INSN_TRAP;
}

/* Looks whether it is a call, direct or indirect. */
static inline bool dt_insn_calls(const struct dt_insn *in)
{
	return in->kind == DT_INSN_CALL || in->kind == DT_INSN_CALL_INDIRECT;
}

/* Looks whether it is a transfer of control whose target it names itself. */
static inline bool dt_insn_direct(const struct dt_insn *in)
{
	return in->kind == DT_INSN_JUMP || in->kind == DT_INSN_BRANCH || in->kind == DT_INSN_LOOP ||
	       in->kind == DT_INSN_CALL || in->kind == DT_INSN_XBEGIN;
}

/* Looks whether it puts an address in its function's frame, taken from rsp or rbp, into a register;
 * setting up rbp as the frame pointer does not count. */
bool dt_insn_points(const struct dt_insn *in);

/* Looks whether it is an instruction as compilers put between functions: a nop, or int3. */
bool dt_insn_is_padding(const struct dt_insn *in);
/* Looks whether an instruction between functions can begin with this byte. Zero does not count,
 * since it may be data. */
bool dt_insn_pads(uint8_t byte);
/* Looks whether its first n bytes are only prefixes, so that a jump past them is sound. */
bool dt_insn_is_prefix(const struct dt_insn *in, uint64_t n);

/* Looks whether it computes the address `memory', rather than reading there. */
bool dt_insn_makes_address(const struct dt_insn *in);
/*
 * Looks whether it takes the difference of two registers, of which instructions not far before it
 * have put the address `from' into one and `to' into the other: the length of a stretch. To be
 * asked before the instruction is given to dt_insn_follow(); code: as there. What else may have
 * changed these registers meanwhile, or leads there, is not looked at.
 */
bool dt_insn_makes_length(const struct dt_insn_seen *seen, const struct dt_insn *in,
			  const uint8_t *code, uint64_t *from, uint64_t *to);
/* Looks whether it loads a register from `memory'. */
bool dt_insn_loads(const struct dt_insn *in);
/* Returns the most bytes that it can read at `memory'; 0: it reads nothing there. */
unsigned dt_insn_reads(const struct dt_insn *in);
/* Collects the numbers in it that may be addresses, in a file at a fixed address. Returns how many
 * there are, at most 2. */
unsigned dt_insn_numbers(const struct dt_insn *in, const uint8_t *code, uint64_t number[2]);
/* Returns the number that it puts unchanged into a register or memory, which in a file at a fixed
 * address may be an address; 0: none. */
uint64_t dt_insn_puts(const struct dt_insn *in, const uint8_t *code);
/*
 * Calls fn for the addresses that instructions in n bytes of code, at an address, may take,
 * wherever these begin: more than they do take. fixed: the file is at a fixed address, and an
 * address may be a number.
 */
void dt_insn_each_taken(const uint8_t *code, uint64_t n, uint64_t address, bool fixed,
			void (*fn)(void *ctx, uint64_t taken), void *ctx);
/* Returns the displacement of its operand in memory, which in a file at a fixed address may be an
 * address to which registers add; 0: there is none, or it is relative. */
uint64_t dt_insn_absolute(const struct dt_insn *in);
/* Looks whether it reads or writes below the stack pointer. */
bool dt_insn_below_sp(const struct dt_insn *in);

/* The forms of an indirect jump together with the instruction before it. */
enum dt_insn_looks {
	DT_INSN_BY_REGISTER = 1, /* jmp *%rax */
	DT_INSN_BY_DISTANCES,	 /* add %rdx, %rax; jmp *%rax: a table of distances */
	DT_INSN_BY_TABLE,	 /* jmp *table(, %rax, 8) */
	DT_INSN_BY_INDEX,	 /* jmp *(%rdx, %rax, 8) */
	DT_INSN_BY_MEMORY,	 /* jmp *24(%rax) */
	DT_INSN_BY_SLOT,	 /* jmp *slot(%rip), or of another absolute address */
};
/* Returns which form a jump and the instruction before it have. */
enum dt_insn_looks dt_insn_looks(const struct dt_insn *jump, const struct dt_insn *before);

/* Sets the masks of registers that the instruction may change and that it reads; all bits: not
 * known. */
void dt_insn_registers(const uint8_t *code, size_t size, dt_insn_set *written, dt_insn_set *read);

/*
 * Returns the mask of registers that may hold an address in the function's frame after the
 * instruction, if those in `held' may before it. rsp always does. depth: how many bytes rsp is,
 * before the instruction, below what it was before the call of the function; negative: not known.
 * What memory holds is not followed.
 */
dt_insn_set dt_insn_derive(const uint8_t *code, size_t size, dt_insn_set held, int64_t depth);

/*
 * Returns why the instruction cannot be moved anywhere, in a few words; NULL: it can. The reasons:
 * an instruction that traps is there for a handler that looks at its address; a far transfer may
 * change the processor's mode; a branch with an operand-size prefix means different things to Intel
 * and AMD.
 */
const char *dt_insn_immovable(const struct dt_insn *in);

#endif
