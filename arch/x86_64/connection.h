/* SPDX-License-Identifier: MIT */
/*
 * The functions of libc and of the dynamic linker that are led through the area (hook/connect.h),
 * as they look, and the jump that leads there.
 */
#ifndef DT_ARCH_CONNECTION_H
#define DT_ARCH_CONNECTION_H

#include "core/types.h"

struct dt_connection {
	const char *name;
	unsigned char head[12]; /* the function's first bytes, behind a landing pad if it has one */
	size_t head_size;
	uint32_t stub;	 /* offset of the stub in the area */
	size_t back_at;	 /* offset in struct dt_blob of the field that leads back; 0: none */
	size_t back;	 /* bytes from what is replaced to where the stub returns to */
	bool linker;	 /* in the dynamic linker, otherwise in libc */
	bool needs_rseq; /* of use only where threads have rseq */
	size_t at;	 /* bytes from the head to what is replaced */
	size_t within;	 /* the head may begin so far behind the function's beginning, once */
	bool unnamed;	 /* dt_file_clone3() knows where it is */
};

#define DT_CONNECTIONS 7

struct dt_blob;
/* b: the beginning of the code that the area has. */
void dt_connections(const struct dt_blob *b, struct dt_connection c[DT_CONNECTIONS]);

/* The jump that takes the place of a function's first bytes. */
#define DT_LEAD 5 /* bytes */
/* From `from' to `to'; false: that is out of its reach. */
bool dt_lead_write(unsigned char out[DT_LEAD], uint64_t from, uint64_t to);
/* Where the jump at `from' leads; false: these bytes are none. */
bool dt_lead_read(const unsigned char code[DT_LEAD], uint64_t from, uint64_t *to);

/* A jump to any address, to be put where the one above reaches it. */
#define DT_LEAD_FAR 16 /* bytes */
void dt_lead_far(unsigned char out[DT_LEAD_FAR], uint64_t to);

#define DT_SYSCALL 2 /* bytes of the instruction that makes a system call */

#endif
