/* SPDX-License-Identifier: MIT */
/*
 * The functions of libc and of the dynamic linker that are led through the area (hook/connect.h):
 * the bytes by which they are recognised, and the jump that leads to the area.
 */
#ifndef DT_ARCH_CONNECTION_H
#define DT_ARCH_CONNECTION_H

#include "arch/numbers.h"
#include "core/types.h"

/* A function to be led through the area. */
struct dt_connection {
	const char *name;
	unsigned char head[12]; /* the function's first bytes, after a landing pad if it has one */
	size_t head_size;
	uint32_t stub;	 /* offset of the stub in the area */
	size_t back_at;	 /* offset in struct dt_blob of the address to go back to; 0: none */
	size_t back;	 /* bytes from what is replaced to the place the stub goes back to */
	bool linker;	 /* it is in the dynamic linker, otherwise in libc */
	bool needs_rseq; /* it matters only where threads have rseq */
	size_t at;	 /* bytes from the head to what is replaced */
	size_t within;	 /* the head may begin up to this many bytes after the function's beginning,
			    but at one place only */
	bool unnamed;	 /* it has no symbol: dt_file_clone3() finds it */
};

#define DT_CONNECTIONS 7

struct dt_blob;
/* Fills c with all of them, and returns how many they are. b: the beginning of the area's code. */
size_t dt_connections(const struct dt_blob *b, struct dt_connection c[DT_CONNECTIONS]);

/* Writes the jump from `from' to `to'; false: that is out of its reach. */
bool dt_lead_write(unsigned char out[DT_LEAD], uint64_t from, uint64_t to);
/* Reads where the jump at `from' leads; false: these bytes are no such jump. */
bool dt_lead_read(const unsigned char code[DT_LEAD], uint64_t from, uint64_t *to);

/* Writes such a jump. */
void dt_lead_far(unsigned char out[DT_LEAD_FAR], uint64_t to);

#endif
