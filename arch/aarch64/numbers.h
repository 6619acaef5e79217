/* SPDX-License-Identifier: MIT */
/* The numbers of the border for aarch64. Those of what is not there yet (missing.c: points) are as
 * the design has them, and not tried. */
#ifndef DT_ARCH_AARCH64_NUMBERS_H
#define DT_ARCH_AARCH64_NUMBERS_H

#define DT_TRACES     1 /* whether programs can be traced on this processor, or traces only read */
#define DT_PROBES     1 /* whether functions without sleds can be hooked */
#define DT_POINTS     0 /* whether single instructions can be */
#define DT_EXEC_CALLS 0 /* whether execve is recorded where it is led through (target/exec.c) */
#define DT_SEARCH     0 /* whether functions are found that neither symbols nor unwind tables name */
#define DT_VENEERS    1 /* whether linkers put instructions elsewhere, with a jump there and back */
/* whether what is taken inside a function without a switch is called (_start has main there) */
#define DT_TAKEN_ENTERS 1
#define DT_USER_TOP	0xffffffffffffull /* the highest address of a program, with 48 bits */

/* arch/area.h */
/* Code leads to the area by whole addresses, so it could be anywhere. Low addresses are those that
 * every kernel has, of 36 to 52 bits of them, and that programs leave free. */
#define DT_AREA_TOP 0x7fff0000ull
/* In the thread block of glibc there is no word to spare: threads have no rseq of ours. */
#define DT_OWN_RSEQ	  0
#define DT_OWN_WORD	  0
#define DT_OWN_UNUSED	  0
#define DT_OWN_UNUSED_END 0
#define DT_OWN_RESERVE	  0

/* arch/capture.h */
#define DT_CAPTURE_CROSSING 0
#define DT_CAPTURE_RESULTS  0
#define DT_CAPTURE_OFF	    0x1f /* lowest byte of a nop, and of the bl in its place */
#define DT_CAPTURE_ON	    0x00

/* arch/connection.h */
#define DT_LEAD	    4  /* bytes of a b */
#define DT_LEAD_FAR 16 /* bytes: ldr x16, its address; br x16 */
#define DT_SYSCALL  4  /* bytes of the instruction that makes a system call */

/* arch/gate.h */
#define DT_GATE_SIZE  64
#define DT_GATE_MOVED 4

/* arch/hook-call.h */
#define DT_HOOK_CALL	  12   /* bytes; the hook records the address after them as pc */
#define DT_HOOK_CALL_REST 4    /* bytes that follow them */
#define DT_HOOK_CALL_POP  4    /* bytes of dt_hook_call_pop() */
#define DT_HOOK_CALL_OFF  0x04 /* lowest byte of its first branch: over all of it, */
#define DT_HOOK_CALL_ON	  0x01 /* or into it */
/* From so many bytes of an entry's call on, something is on the stack. */
#define DT_HOOK_CALL_BEGUN 8

/* arch/plan.h */
#define DT_JUMP_REACH	0x7f00000ull /* a b leads 128 MiB to both sides, less some margin */
#define DT_REACH_PUNNED 0ull	     /* no jump is punned: an instruction is as long as a jump */
#define DT_REACH_BESIDE 0x7f00000ull
#define DT_PATCH_JUMP	4
#define DT_PLAN_TAKES	0 /* windows are never in each other's way */

/* arch/relocate.h */
#define DT_RELOCATE_ROOM 32 /* bytes: a borrowed register, four movs of an address, the load */
#define DT_RELOCATE_PUSH 4

/* arch/sled.h */
#define DT_SLED_THUNKS 0  /* a sled leads to a stub that the controller has put near its module */
#define DT_SLED_THUNK  0  /* bytes of a thunk for events, which are not there yet */
#define DT_SLED_ENTRY  4  /* a nop */
#define DT_SLED_WAY    16 /* bytes: ldr x16, its address; br x16 */
#define DT_SLED_STUB   24 /* most bytes of a stub */
/* bytes from a stub's beginning to where its hook returns to */
#define DT_SLED_STUB_BACK(kind) ((kind) == DT_ELF_JUMP ? 12 : 8)

/* arch/thread-use.h */
#define DT_THREAD_BELOW	 1	 /* glibc's block of a thread ends at the thread pointer, */
#define DT_GLIBC_TID	 (-1648) /* and has its id there in glibc 2.36 */
#define DT_TID_FROM	 (-0x900)
#define DT_TID_TO	 (-0x100)
#define DT_MUSL_PREVIOUS 0
#define DT_MUSL_NEXT	 0
#define DT_MUSL_TID                                                                                \
	{                                                                                          \
		0                                                                                  \
	}

/* arch/thread-word.h */
#define DT_THREAD_WORD_CODE 24

/* arch/unwind.h */
#define DT_UNWIND_REGISTERS 33 /* x0 to x30, sp, and where the function is */
#define DT_UNWIND_KEPT	    12 /* x19 to x30 */

#endif
