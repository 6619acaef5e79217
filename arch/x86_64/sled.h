/* SPDX-License-Identifier: MIT */
/*
 * Sleds, as they stand in a file that instrument/ has made, or include/devtrace.h: doc/sleds.md. Is
 * what the table of them tells of really there?
 */
#ifndef DT_ARCH_SLED_H
#define DT_ARCH_SLED_H

#include "core/site.h"

/* The byte of a site that is toggled, off and on, by enum dt_elf_kind; 0: it is not. */
extern const unsigned char dt_sled_off[DT_ELF_KINDS], dt_sled_on[DT_ELF_KINDS];

/* Bytes of a sled in a table, likewise; 0: it is none. */
extern const uint8_t dt_sled_size[DT_ELF_KINDS];

#define DT_SLED_THUNK	   7 /* bytes of a thunk for events */
#define DT_SLED_ENTRY	   5 /* bytes of an entry's sled */
#define DT_SLED_TABLE_JUMP 4 /* the kind, in the table of sleds, of what becomes DT_ELF_JUMP */

/* at: the bytes at [address, address + n), or NULL when they are not all executable and in the
 * file. */
struct dt_sled_code {
	const uint8_t *(*at)(void *ctx, uint64_t address, uint64_t n);
	void *ctx;
};

/*
 * Has the site the bytes of its kind? Returns where its call leads, to a thunk of its module, and
 * sets back and target, of a jump kind and address, too; 0: it has not.
 */
uint64_t dt_sled_check(const struct dt_sled_code *c, struct dt_elf_site *s);

/* Is there a thunk at address that jumps through this slot? */
bool dt_sled_is_thunk(const struct dt_sled_code *c, uint64_t address, uint64_t slot);

/* The thunk that a stub of an event calls, of which the hook returns to pc, with this meta behind
 * the call; 0: there is no such stub. */
uint64_t dt_sled_call(const struct dt_sled_code *c, uint64_t pc, uint8_t kind, uint8_t values);

/* Is there an event's site at address, which leads to a stub? */
bool dt_sled_event(const struct dt_sled_code *c, uint64_t address);

#endif
