/* SPDX-License-Identifier: MIT */
/* What the hooks of aarch64 (target/hook.S) need of the session and of the threads, and what a
 * site's stub (sled.c) leaves on the stack for them. Included by assembler code, too. */
#ifndef DT_ARCH_AARCH64_BLOB_H
#define DT_ARCH_AARCH64_BLOB_H

/* Offsets in struct dt_hook_data. */
#define DT_HOOK_RSEQ  0
#define DT_HOOK_RINGS 16
#define DT_HOOK_MASK  32
#define DT_HOOK_ERRNO 48
#define DT_HOOK_DATA  64 /* its bytes: one cache line */

/* Bytes of stack that a stub takes: it keeps x16 and x30, and that of a jump through a register
 * pushes the jump's target before. */
#define DT_STUB_FRAME	   16
#define DT_STUB_FRAME_JUMP 32

#ifndef __ASSEMBLER__
#include "core/types.h"

/* Filled in by dt_hooks_make(). Threads may be running the hooks when a word changes. */
struct dt_hook_data {
	int64_t rseq, tid; /* offsets of struct rseq and of the thread's id from tpidr_el0 */
	uint64_t rings;	   /* address of the first core's ring */
	uint64_t stride;   /* bytes from one ring to the next; below 2^31 */
	uint64_t mask;	   /* ring size - 1 */
	uint64_t tag;	   /* of the process's PID namespace: process/pid-namespace.h */
	int64_t error;	   /* offset of errno from tpidr_el0; 0: not known */
	uint64_t unused;
};

_Static_assert(sizeof(struct dt_hook_data) == DT_HOOK_DATA &&
		       offsetof(struct dt_hook_data, rings) == DT_HOOK_RINGS &&
		       offsetof(struct dt_hook_data, mask) == DT_HOOK_MASK &&
		       offsetof(struct dt_hook_data, error) == DT_HOOK_ERRNO,
	       "as hook.S has it");
#endif
#endif
