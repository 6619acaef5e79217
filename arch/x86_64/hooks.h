/* SPDX-License-Identifier: MIT */
/* The hooks, made of the templates in the code that goes into a traced process (target/hook.S). */
#ifndef DT_ARCH_HOOKS_H
#define DT_ARCH_HOOKS_H

#include "arch/x86_64/area.h"
#include "core/ring.h"

/* Where a process's threads have what the hooks need, relative to %fs. */
struct dt_thread_offsets {
	int64_t tid, rseq;
	uint32_t rseq_size, signature;
	uint32_t tag; /* of the process's PID namespace: process/pid-namespace.h */
};

/* The beginning of that code. */
const struct dt_blob *dt_blob_head(void);
/* Its first size bytes, of which image is a copy, are to stand in an area at that address. */
void dt_blob_relocate(unsigned char *image, size_t size, uint64_t area);

/* Bytes that the hooks take for so many cores, whole pages. */
uint64_t dt_hooks_size(uint64_t cores);

/*
 * Makes them for an area: writes them to out, dt_hooks_size() bytes of zeros, as they are to stand
 * behind the session's memory, and into image, which is the area's code, where they are, and what
 * depends on o.
 */
void dt_hooks_make(unsigned char image[DT_CODE_SIZE], uint64_t area, const struct dt_geometry *g,
		   const struct dt_thread_offsets *o, unsigned char *out);

#endif
