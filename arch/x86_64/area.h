/* SPDX-License-Identifier: MIT */
/*
 * The area: what a traced process has mapped while it is traced. One stretch of addresses, below
 * 2 GiB, so that the hooks can use absolute 32-bit addresses:
 *
 *	+0x0000  code    r-x private  the blob below, relocated for this process
 *	+0x4000  process rw- private  struct dt_process_block; zero in a forked child
 *	+0x5000  kept    rw- private  struct dt_kept_block; not so
 *	+0x6000  session rw- shared   struct dt_control and the rings (core/ring.h)
 *	behind   hooks   r-x private  made of the blob's templates, for each core
 *	behind   table   r-x private  struct dt_table, written by the controller only
 *
 * and a page of jumps near libc, and one near the program, where the area is out of a direct jump's
 * reach.
 *
 * The blob is linked twice, at 0 and at DT_BLOB_OTHER: where the two images differ there is an
 * address to be relocated. Other words to be filled in are listed as fixups. target/blob.ld lays it
 * out, target/hook.S and target/slow.c are it.
 */
#ifndef DT_ARCH_AREA_H
#define DT_ARCH_AREA_H

#define DT_AREA_CODE	0x0000
#define DT_AREA_PROCESS 0x4000
#define DT_AREA_KEPT	0x5000
#define DT_AREA_SESSION 0x6000
#define DT_CODE_SIZE	0x4000
#define DT_AREA_GATES	0x3400 /* in the code, behind the blob: see arch/x86_64/gate.h */
#define DT_AREA_STUB	0x3a00 /* behind these: where system calls made for us run from */
#define DT_BLOB_OTHER	0x01000000
#define DT_AREA_TOP	0x7fff0000ull /* the area ends below */
#define DT_BLOB_MAGIC	0x31626f6c62747664

/* what a fixup's 32 bits are to be */
#define DT_FIX_REL	 1  /* relative to the next instruction: changes when the code is moved */
#define DT_FIX_CPU	 2  /* rseq->cpu_id from %fs */
#define DT_FIX_ARM	 3  /* rseq->rseq_cs from %fs */
#define DT_FIX_TID	 4  /* the thread id from %fs */
#define DT_FIX_CS	 5  /* address of the copy's struct rseq_cs */
#define DT_FIX_CORE	 6  /* the copy's core */
#define DT_FIX_NEXT	 7  /* relative: the next copy, or the head behind the last */
#define DT_FIX_RING	 8  /* to be added: address of the core's ring */
#define DT_FIX_MASK	 9  /* ring size - 1 */
#define DT_FIX_SIGNATURE 10 /* the rseq signature */
#define DT_FIX_TAG	 11 /* the process's tag: process/pid-namespace.h */

#define DT_PATCHES 32 /* places that lead through the area, at most; hook.S makes room for them */

#ifndef __ASSEMBLER__
#include "core/ring.h"
#include "core/types.h"

/* Zero in a forked child until its first record. */
struct dt_process_block {
	uint32_t cores;	      /* rings there are; 0: not filled in, take the slow path */
	uint32_t pid;	      /* as the controller knows it, once that has answered */
	uint32_t shared_only; /* nobody appends by rseq: two of its threads share a thread block, or
			       * some may not read the clock */
	uint32_t calling; /* threads that may be about to make a system call for us; locked add */
	/* in uniform mode, what is not traced is written here; several threads may, it means
	 * nothing */
	uint64_t nowhere[8] __attribute__((aligned(64)));
	uint32_t proof[DT_REQUESTS]; /* of a request in that slot: who has its number here has
					posted it */
};

#define DT_STRICT_MAX 64u /* with more, nothing is recorded of the process any more */

/* Beside it, in a page of its own (DT_AREA_KEPT): a forked child inherits it. */
struct dt_kept_block {
	uint32_t opted_out; /* DT_DISABLE_PROCESS() has been called: nothing is recorded any more */
	uint32_t confined;  /* a seccomp filter has been, or is about to be installed: no system
			       calls */
	/* a thread has been, or is about to be forbidden to read the clock (PR_SET_TSC): each asks
	 * before it does so. The kernel lets children and what they execute inherit it */
	uint32_t asks_clock;
	uint32_t
		tag; /* of its PID namespace, as it stands in thread ids: process/pid-namespace.h */
	uint32_t strict; /* threads in strict seccomp, which can not even ask: their thread pointers
			  */
	uint64_t strict_fs[DT_STRICT_MAX]; /* 0: being written */
};

/* The hooks, as they are numbered everywhere */
enum dt_hook {
	DT_HOOK_ENTRY,
	DT_HOOK_EXIT,
	DT_HOOK_EVENT,	/* one value */
	DT_HOOK_EVENT4, /* four */
	DT_HOOK_JUMP,	/* an exit by a jump whose target lies on the stack */
	DT_HOOKS
};

/* A hook: offsets in the blob. From head to copy it stands once, from copy to end for each core. */
struct dt_template {
	uint32_t head, hook, again, abort, copy, start, commit, end;
};

struct dt_fixup {
	uint32_t at; /* offset in the blob of 32 bits */
	uint32_t type;
};

/* Head of the blob, at the start of the code. Offsets are from the start of the area. */
struct dt_blob {
	uint64_t magic;
	/* --- given by the blob */
	uint32_t size;
	uint32_t slow[DT_HOOKS]; /* hooks for a process without rseq */
	uint32_t opt_out;	 /* called by DT_DISABLE_PROCESS() */
	uint32_t peek, text;	 /* called by points: arch/x86_64/capture.h */
	uint32_t modules;	 /* jumped to from the dynamic linker's _dl_debug_state */
	uint32_t execve, execveat, vfork, clone,
		clone3;		       /* jumped to from libc's functions of these names */
	uint32_t call;		       /* called by gates */
	uint32_t code_begin, code_end; /* instructions: where a thread's ip can be */
	uint32_t fixups, fixups_end;   /* struct dt_fixup[] */
	struct dt_template hook_template[DT_HOOKS];
	/* --- filled by the controller */
	uint64_t cores, stride, mask;
	uint64_t jumps[2];	  /* the pages of jumps near libc and near the program, 0: none */
	uint64_t again[DT_HOOKS]; /* where a slow path tries again; 0: no hooks made yet */
	uint64_t execve_back, execveat_back; /* the instruction after libc's syscall */
	uint64_t vfork_back;		     /* the instruction after vfork's `push %rdi' */
	uint64_t clone_back, clone3_back;    /* the instruction after the syscall */
	int64_t rseq_offset;		     /* struct rseq from %fs, 0: none */
	uint32_t rseq_signature, rseq_size;
	int64_t tid_offset; /* the thread id from %fs, 0: not known */
	uint64_t table;	    /* address of the struct dt_table */
	uint64_t confined;  /* 1: the process allows itself few system calls, so the slow path makes
			       none */
	uint64_t hook[DT_HOOKS]; /* addresses of the hooks made; 0: none */
	/* what was replaced, so that a later controller can put it back: address, 8 old bytes */
	struct {
		uint64_t address, old, length;
	} patch[DT_PATCHES];
};

/* The blob as built, at 0 and at DT_BLOB_OTHER; copied, never executed in the controller. */
extern const unsigned char dt_blob_image[], dt_blob_image_end[];
extern const unsigned char dt_blob_other[];
#endif
#endif
