/* SPDX-License-Identifier: MIT */
/* Making the hooks from the templates in the blob, the code that goes into a traced process
 * (target/hook.S). */
#ifndef DT_ARCH_HOOKS_H
#define DT_ARCH_HOOKS_H

#include "arch/area.h"
#include "core/ring.h"

/* Where a process's threads keep what the hooks need. */
struct dt_thread_offsets {
	int64_t tid, rseq;	       /* offsets from %fs of the thread id and of struct rseq */
	uint32_t rseq_size, signature; /* with which rseq was registered */
	uint32_t tag;		       /* of the process's PID namespace: process/pid-namespace.h */
	int64_t error;		       /* offset from %fs of errno; 0: not known */
	enum dt_own own;	       /* DT_OWN_TABLE: rseq is 0 */
};

/* Returns the offsets that a blob has, whose hooks have been made. */
struct dt_thread_offsets dt_blob_offsets(const struct dt_blob *b);

/* Returns the head of the blob, with offsets from its beginning. */
const struct dt_blob *dt_blob_head(void);
/* Relocates image, a copy of the blob's first size bytes, for an area at that address and a session
 * of that geometry. */
void dt_blob_relocate(unsigned char *image, size_t size, uint64_t area,
		      const struct dt_geometry *g);

/* Looks whether an instruction tells a thread's thread pointer, and the kernel lets it be used. */
bool dt_hooks_read_pointer(void);

/* Returns how many bytes the hooks for that many cores take: whole pages. */
uint64_t dt_hooks_size(uint64_t cores);

/*
 * Makes the hooks of an area. Writes them to out, which has dt_hooks_size() bytes of zeros, as they
 * are to stand after the session's memory. Into image, the area's code, it writes their addresses
 * and what depends on *o.
 */
void dt_hooks_make(unsigned char image[DT_CODE_SIZE], uint64_t area, const struct dt_geometry *g,
		   const struct dt_thread_offsets *o, unsigned char *out);

#endif
