/* SPDX-License-Identifier: MIT */
/* The numbers of the border that depend on the processor, by the header that says what they are
 * for. It is included by assembler code, too. */
#ifndef DT_ARCH_X86_64_NUMBERS_H
#define DT_ARCH_X86_64_NUMBERS_H

#define DT_TRACES     1 /* whether programs can be traced on this processor, or traces only read */
#define DT_PROBES     1 /* whether functions without sleds can be hooked */
#define DT_POINTS     1 /* whether single instructions can be */
#define DT_EXEC_CALLS 1 /* whether execve is recorded where it is led through (target/exec.c) */
#define DT_SEARCH     1 /* whether functions are found that neither symbols nor unwind tables name */
#define DT_VENEERS    0 /* whether linkers put instructions elsewhere, with a jump there and back */
/* whether what is taken inside a function without a switch is called (_start has main there) */
#define DT_TAKEN_ENTERS 0
#define DT_USER_TOP	0x7fffffffffffull /* the highest address of a program, with 47 bits */

/* arch/area.h */
#define DT_AREA_TOP 0x7fff0000ull /* the area ends below this address */
/* types of fixups: what their 32 bits are set to */
#define DT_FIX_REL	 1  /* relative to the next instruction: changes when the code is moved */
#define DT_FIX_CPU	 2  /* rseq->cpu_id from %fs */
#define DT_FIX_ARM	 3  /* rseq->rseq_cs from %fs */
#define DT_FIX_TID	 4  /* the thread id from %fs */
#define DT_FIX_CS	 5  /* address of the copy's struct rseq_cs */
#define DT_FIX_CORE	 6  /* the copy's core */
#define DT_FIX_NEXT	 7  /* relative: the next copy, or after the last one the head */
#define DT_FIX_RING	 8  /* address of the core's ring, added to what is there */
#define DT_FIX_MASK	 9  /* ring size - 1 */
#define DT_FIX_SIGNATURE 10 /* the rseq signature */
#define DT_FIX_TAG	 11 /* the process's tag: process/pid-namespace.h */
#define DT_FIX_ERRNO	 12 /* errno from %fs */
/* of hooks for an rseq of ours: see struct dt_own_rseq */
#define DT_FIX_OWN_AT	   13 /* the word that says where it is, from %fs */
#define DT_FIX_OWN_CHECK   14 /* own.check, */
#define DT_FIX_OWN_TID	   15 /* own.tid, */
#define DT_FIX_OWN_CPU	   16 /* own.rseq.cpu_id, */
#define DT_FIX_OWN_ARM	   17 /* own.rseq.rseq_cs, from there */
#define DT_FIX_OWN_SEGMENT 18 /* the prefix in the lowest byte: %fs, or one without effect */
/* offset from %fs of a word that is always 0 in glibc's thread blocks: tcbhead_t's
 * unused_vgetcpu_cache. It is read where the offset of errno is not known. */
#define DT_NO_ERRNO 0x38
#define DT_OWN_RSEQ 1 /* whether threads whose libc registers no rseq can have one of ours */
/* offset from %fs of the word that says where struct dt_own_rseq is: `sysinfo', which glibc and
 * musl have in thread blocks, and use on other processors only */
#define DT_OWN_WORD 0x20
/*
 * glibc's thread block has 512 bytes, from 128 on, in which the dynamic linker of glibc before 2.23
 * kept registers, and which have been there since only because others rely on the block's size
 * (sysdeps/x86_64/nptl/tls.h, __glibc_unused2). The last 64 of them are used.
 */
#define DT_OWN_UNUSED	  0x80
#define DT_OWN_UNUSED_END 0x280
#define DT_OWN_RESERVE	  (DT_OWN_UNUSED_END - 64)

/* arch/capture.h */
#define DT_CAPTURE_CROSSING 19 /* bytes that struct dt_capture.crossing adds */
#define DT_CAPTURE_RESULTS  48 /* bytes that struct dt_capture.results adds */
#define DT_CAPTURE_OFF	    0x00
#define DT_CAPTURE_ON	    0x05

/* arch/connection.h */
/* The jump that replaces a function's first bytes. */
#define DT_LEAD 5 /* bytes */
/* A jump to any address, to be put within reach of the one above. */
#define DT_LEAD_FAR 16 /* bytes */
#define DT_SYSCALL  2  /* bytes of the instruction that makes a system call */

/* arch/gate.h */
#define DT_GATE_SIZE  64 /* bytes of a gate */
#define DT_GATE_MOVED 31 /* most bytes of instructions that a gate can hold */

/* arch/hook-call.h */
#define DT_HOOK_CALL	  5    /* bytes; the hook records the address after them as pc */
#define DT_HOOK_CALL_REST 0    /* bytes that follow them */
#define DT_HOOK_CALL_POP  5    /* bytes of dt_hook_call_pop() */
#define DT_HOOK_CALL_OFF  0xeb /* its first byte: a jump over the rest */
#define DT_HOOK_CALL_ON	  0xe8 /* its first byte: a call */
/* From so many bytes of an entry's call on, something is on the stack: never. */
#define DT_HOOK_CALL_BEGUN ~0ull

/* arch/plan.h */
/* How far a jump leads, in bytes: what its 32 bits can say, less some margin. Of that, how far a
 * punned trampoline is from the ends of its module at most, and how far all others are: what is
 * beside a module is left to those that have no choice. */
#define DT_JUMP_REACH	0x7ff00000ull
#define DT_REACH_PUNNED 0x60000000ull
#define DT_REACH_BESIDE 0x18000000ull
#define DT_PATCH_JUMP	5 /* bytes of a jump that reaches its trampoline, or of a springboard */
#define DT_PLAN_TAKES	1 /* whether plans note which bytes they use */

/* arch/relocate.h */
#define DT_RELOCATE_ROOM 64 /* most bytes that a copy of one instruction takes, without hooks */
#define DT_RELOCATE_PUSH 24 /* most bytes that dt_relocate_push() writes */

/* arch/sled.h */
#define DT_SLED_THUNKS 1 /* a sled calls a thunk of its module, which jumps through a slot */
#define DT_SLED_THUNK  7 /* bytes of a thunk for events */
#define DT_SLED_ENTRY  5 /* bytes of an entry's sled */
/* so nothing has to be put near a module */
#define DT_SLED_WAY		0
#define DT_SLED_STUB		0
#define DT_SLED_STUB_BACK(kind) 0

/* arch/thread-use.h */
/* where glibc has the thread's id in its block, from 2.9 on: behind 704 bytes that each version has
 */
#define DT_GLIBC_TID	0x2d0
#define DT_THREAD_BELOW 0 /* the thread pointer is where the block begins, not where it ends */
/* where the id is looked for in blocks of other versions: offsets from the thread pointer */
#define DT_TID_FROM 0x100
#define DT_TID_TO   0x900
/* musl's block (struct pthread, from 1.1.23 on): its list of threads, by word; and offsets of the
 * thread's id, of which the first is that of 1.2, which has one canary less */
#define DT_MUSL_PREVIOUS 2
#define DT_MUSL_NEXT	 3
#define DT_MUSL_TID                                                                                \
	{                                                                                          \
		48, 56                                                                             \
	}

/* arch/thread-word.h */
#define DT_THREAD_WORD_CODE 24 /* bytes of the function that are looked at */

/* arch/unwind.h */
#define DT_UNWIND_REGISTERS 17 /* numbered as DWARF does; the last one is the return address */
/* The registers that have to be kept at a call for its callers to be found: those that functions
 * give back as they were. DWARF's numbers, and those of processors (core/capture.h). */
#define DT_UNWIND_KEPT 6
#endif
