/* SPDX-License-Identifier: MIT */
/*
 * The area: what devtrace has mapped into a process while it is traced. It is one stretch of
 * addresses, below 2 GiB so that the hooks can use absolute 32-bit addresses:
 *
 *	+0x0000  code    r-x private  the blob below, relocated for this process
 *	+0x9000  process rw- private  struct dt_process_block; zero in a forked child
 *	+0xa000  seen    rw- private  words of pages that were there (DT_SEEN); zero in such a child
 *	+0xe000  kept    rw- private  struct dt_kept_block; a forked child inherits it
 *	+0xf000  threads rw- private  struct dt_own_rseq of threads (below); inherited, too
 *	+0x1f000 session rw- shared   struct dt_control and the rings (core/ring.h)
 *	then     hooks   r-x private  made from the blob's templates, for each core (not on aarch64)
 *	then     table   r-x private  struct dt_table, written by the controller only
 *
 * There is also a page of jumps near libc, and one near the program, where a direct jump from there
 * does not reach the area.
 *
 * The blob is linked twice, at 0 and at DT_BLOB_OTHER: where the two images differ there is an
 * address to be relocated (dt_blob_relocate()). Other words to be filled in are listed as fixups.
 *The blob consists of target/hook.S, target/inside.c and the folder target/ above arch/, laid out
 *by target/blob.ld.
 */
#ifndef DT_ARCH_AREA_H
#define DT_ARCH_AREA_H

#include "arch/numbers.h"

#define DT_AREA_CODE	0x0000
#define DT_AREA_PROCESS 0x9000
#define DT_AREA_SEEN	0xa000
#define DT_AREA_KEPT	0xe000
#define DT_AREA_THREADS 0xf000
#define DT_AREA_SESSION 0x1f000 /* or further up: dt_area_session() */
#define DT_CODE_SIZE	0x9000
#define DT_AREA_GATES	0x8400 /* in the code, after the blob: see arch/gate.h */
#define DT_AREA_STUB	0x8a00 /* after these: where system calls made for us run from */
#define DT_BLOB_OTHER	0x01000000
#define DT_BLOB_MAGIC	0x33626f6c62747664

#define DT_HOOKS	10 /* enum dt_hook */
#define DT_FROM_MAX	4  /* modules whose calls alone are recorded by the hooks called ..._FROM */
#define DT_KEPT_STRANGE 20 /* where that is in struct dt_kept_block */
#define DT_PATCHES	32 /* most places that lead through the area; hook.S makes room for them */

/*
 * The words of the part `seen': pages that the kernel has read for us once, so that they were there
 * then. The page with the number n is in word n % DT_SEEN, as n / DT_SEEN and the highest bit; 0:
 * none. Written by all threads, each word on its own. A word for each of so many pages
 * remembers nearly all of them: of the 41,000 times that `git log -S' came to a page anew with 512
 * words, 28,000 were to one that had been forgotten; with these 4,300 of 17,300.
 */
#define DT_SEEN_BITS 12
#define DT_SEEN	     (1 << DT_SEEN_BITS)

#ifndef __ASSEMBLER__
#include "core/ring.h"
#include "core/types.h"

/* The size of the large pages that the kernel maps by one entry of the page table's second level.
 */
#define DT_HUGE_PAGE (2ull << 20)

/*
 * Returns where the session's memory is mapped in an area. Memory that has large pages
 * (hook/shared.c) begins at a multiple of their size, so that they are mapped as such: what is
 * between the area's own part and there stays reserved.
 */
static inline uint64_t dt_area_session(uint64_t area, const struct dt_geometry *g)
{
	uint64_t at = area + DT_AREA_SESSION;

	return g->bytes < DT_HUGE_PAGE ? at : (at + DT_HUGE_PAGE - 1) & ~(DT_HUGE_PAGE - 1);
}

/* What belongs to one process alone: zero in a forked child until its first record. */
struct dt_process_block {
	uint32_t cores;	      /* number of cores' rings; 0: not filled in, take the slow path */
	uint32_t pid;	      /* as the controller numbers it, once it has answered */
	uint32_t shared_only; /* no thread appends by rseq: two threads share a thread block, or
			       * some may not read the clock */
	uint32_t calling; /* threads that may be about to make a system call for us; locked add */
	/* in uniform mode, what is not traced is written here, by several threads at once; its
	 * content means nothing */
	uint64_t nowhere[8] __attribute__((aligned(64)));
	uint32_t proof[DT_REQUESTS]; /* by request slot: the number of the request that this process
					has posted there, as a proof that it did */
	/*
	 * Of a forked child: ticks and core of the birth that it tells. A signal handler that comes
	 * in while it is told tells it again, of the same time, so that it counts as one. Set by
	 * the child, or before by the controller, when it finds the child.
	 */
	uint64_t born;
	uint32_t born_core;
	uint32_t own_refused; /* no thread gets an rseq of ours any more: the kernel, or the
			       * program, has not let one have it */
	uint32_t own_swept;   /* place in the table of struct dt_own_rseq that is looked at next */
};

_Static_assert(sizeof(struct dt_process_block) <= DT_AREA_SEEN - DT_AREA_PROCESS, "one page");
_Static_assert(4 * DT_SEEN <= DT_AREA_KEPT - DT_AREA_SEEN, "four pages");

#define DT_STRICT_ENDED (~0ull)
#define DT_STRICT_MAX	64u /* with more, nothing is recorded of the process any more */

/* What is known of threads whose blocks can not be looked into. The controller is asked, and then
 * leads the hooks to those that do not look there. */
enum dt_strange { DT_STRANGE_NONE, DT_STRANGE_ASKED, DT_STRANGE_LED };

/* What a forked child inherits; in a page of its own (DT_AREA_KEPT). */
struct dt_kept_block {
	uint32_t opted_out; /* DT_DISABLE_PROCESS() has been called: nothing is recorded any more */
	uint32_t confined;  /* a seccomp filter is, or is about to be installed: no system calls
			       are made for us */
	/* some thread is, or is about to be forbidden to read the clock (PR_SET_TSC), so each
	 * thread asks before it reads it. Children, and programs that they execute, inherit the ban
	 */
	uint32_t asks_clock;
	uint32_t no_own; /* threads get no rseq of ours any more. Written by the controller */
	uint32_t
		tag; /* of its PID namespace, as it stands in thread ids: process/pid-namespace.h */
	/* enum dt_strange: some thread has a block that is none of libc's, or none at all */
	uint32_t strange;
	/* where the first thread's stack ends, and the words begin that the kernel has put behind
	 * it; 0: not known. Written by the controller when the area is made */
	uint64_t stack_end;
	uint32_t strict; /* number of threads in strict seccomp, which can not even ask, and */
	uint64_t strict_fs[DT_STRICT_MAX]; /* their thread pointers; 0: being written,
					      DT_STRICT_ENDED: another thread has that by now */
};

/*
 * What calls keep from their entry until they return, behind struct dt_kept_block in its page: the
 * address that a point's code at an exit needs. A slot has the key of its call, which is made of
 * the stack pointer and the point, combined by xor with the address, and then the address. So a
 * slot that two threads have written at once is no one's.
 */
#define DT_SLOTS_AT  0x800
#define DT_SLOTS     128		   /* of 16 bytes */
#define DT_SLOT_HASH 0x9e3779b97f4a7c15ull /* times the key; its highest 7 bits are the slot */

_Static_assert(sizeof(struct dt_kept_block) <= DT_SLOTS_AT, "one page");
_Static_assert(__builtin_offsetof(struct dt_kept_block, strange) == DT_KEPT_STRANGE,
	       "as in hook.S");

/*
 * Threads whose libc registers no rseq (musl, glibc before 2.35) have one that the slow path
 * registers at a thread's first record, if nothing speaks against it (hook/target-rseq.h). A new
 * thread may begin in a block that an earlier one has left, and a child of vfork runs in its
 * parent's. So `check' is looked at before each append: it tells that the thread whose id stands in
 * the block has registered this.
 */
struct dt_own_rseq {
	/* as in linux/rseq.h, 32 bytes in all */
	struct {
		uint32_t cpu_id_start, cpu_id;
		uint64_t rseq_cs;
		uint32_t flags, node_id, mm_cid, unused;
	} rseq;
	/* 1 + the word where libc keeps the thread's id (in glibc before 2.34 without libpthread,
	 * that is 0); 0: it is not registered, or the block is lent to a child */
	uint32_t check;
	uint32_t tid;	/* of the thread that has registered it last; 0: none has */
	uint64_t owner; /* in the table: thread pointer of the thread that it is of; 0: free */
	uint64_t rest[2];
};

_Static_assert(sizeof(struct dt_own_rseq) == 64, "aligned as the kernel wants it");

#define DT_OWN_MAX ((DT_AREA_SESSION - DT_AREA_THREADS) / 64) /* the first one is no thread's */

/* Where struct dt_own_rseq is. */
enum dt_own {
	DT_OWN_NONE,  /* libc has registered rseq, or nobody does */
	DT_OWN_BLOCK, /* in glibc's thread block, DT_OWN_RESERVE from the thread pointer */
	DT_OWN_TABLE, /* in the area's table, at the offset that is in the word at DT_OWN_WORD */
};

/* The numbers of the hooks. */
enum dt_hook {
	DT_HOOK_ENTRY,
	DT_HOOK_EXIT,
	DT_HOOK_EVENT,	    /* an event with one value */
	DT_HOOK_EVENT4,	    /* an event with four values, or a point */
	DT_HOOK_JUMP,	    /* an exit by a jump whose target has been pushed */
	DT_HOOK_EXIT_ERRNO, /* an exit; value 3 is errno, not the high half of xmm0 */
	/* as those above, but only of calls that the modules in dt_blob.from make */
	DT_HOOK_ENTRY_FROM,
	DT_HOOK_EXIT_FROM,
	DT_HOOK_EXIT_ERRNO_FROM,
	DT_HOOK_JUMP_FROM,
};

/* A hook's template: offsets in the blob. On x86-64 the part from head to copy stands once in the
 * hook, the part from copy to end once for each core. On aarch64 this is the hook itself. */
struct dt_template {
	uint32_t head, hook, again, abort, copy, start, commit, end;
};

/* 32 bits in the blob that the controller fills in. */
struct dt_fixup {
	uint32_t at;   /* their offset in the blob */
	uint32_t type; /* DT_FIX_... */
};

/* The head of the blob, at the start of the area's code. Offsets are from the start of the area. */
struct dt_blob {
	uint64_t magic;
	/* --- given by the blob */
	uint32_t size;
	uint32_t slow[DT_HOOKS];      /* hooks for a process without rseq */
	uint32_t opt_out;	      /* called by DT_DISABLE_PROCESS() */
	uint32_t peek, text, crosses; /* called by points: arch/capture.h */
	uint32_t modules;	      /* jumped to from the dynamic linker's _dl_debug_state */
	uint32_t execve, execveat, vfork, clone,
		clone3;		       /* jumped to from libc's functions of these names */
	uint32_t call;		       /* called by gates */
	uint32_t code_begin, code_end; /* instructions: where a thread's ip can be */
	/* begin and end of what dt_hooks_make() needs: on x86-64 an array of struct dt_fixup, on
	 * aarch64 data that it fills in (struct dt_hook_data) */
	uint32_t fixups, fixups_end;
	struct dt_template hook_template[DT_HOOKS];
	struct dt_template own_template[DT_HOOKS]; /* for an rseq of ours */
	/* --- filled by the controller */
	uint64_t cores, stride, mask;
	uint64_t jumps[2]; /* the pages of jumps near libc and near the program, 0: none */
	uint64_t
		again[DT_HOOKS]; /* where a hook tries again after the slow path; 0: no hooks yet */
	uint64_t execve_back, execveat_back; /* the instruction after libc's syscall */
	uint64_t vfork_back;		     /* the instruction after vfork's `push %rdi' */
	uint64_t clone_back, clone3_back;    /* the instruction after the syscall */
	int64_t rseq_offset;		     /* of struct rseq from %fs; 0: none */
	uint32_t rseq_signature, rseq_size;
	int64_t tid_offset; /* of the thread id from %fs; 0: not known */
	uint64_t table;	    /* address of the struct dt_table */
	uint64_t confined;  /* 1: the process allows itself few system calls, so the slow path makes
			       none */
	uint64_t own;	    /* enum dt_own */
	uint64_t reads_pointer;	 /* 1: an instruction tells a thread's thread pointer */
	uint64_t hook[DT_HOOKS]; /* addresses of the hooks that were made; 0: none */
	int64_t errno_offset;	 /* of errno from %fs; 0: not known */
	/* libc's execve, if its calls are recorded (target/exec.c): its address, and whether it is
	 * only those that the modules in `from' make; 0: none are */
	uint64_t exec_site, exec_crossing;
#define DT_EXEC_ENTRY 0 /* what the pc of its records is, from that address on */
#define DT_EXEC_PATH  1
#define DT_EXEC_EXIT  2
	/* the modules whose calls alone the hooks called ..._FROM record; size 0: no module */
	struct dt_from {
		uint64_t begin, size;
	} from[DT_FROM_MAX];
	/* where bytes were replaced, and 8 old bytes, so that a later controller can put them back
	 */
	struct {
		uint64_t address, old, length;
	} patch[DT_PATCHES];
	uint64_t session; /* where the session's memory is mapped: dt_area_session() */
};

/* The blob as linked at 0 and at DT_BLOB_OTHER. The controller copies it, and never executes it. */
extern const unsigned char dt_blob_image[], dt_blob_image_end[];
extern const unsigned char dt_blob_other[];
#endif
#endif
