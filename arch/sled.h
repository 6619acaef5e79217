/* SPDX-License-Identifier: MIT */
/*
 * Sleds, as instrument/ and include/devtrace.h put them into a file (doc/sleds.md): looks whether
 * what the table of sleds lists is really there.
 */
#ifndef DT_ARCH_SLED_H
#define DT_ARCH_SLED_H

#include "arch/numbers.h"
#include "core/site.h"

/* The values, off and on, of the byte that switches a site, by enum dt_elf_kind; 0: such a site is
 * not toggled in place. */
extern const unsigned char dt_sled_off[DT_ELF_KINDS], dt_sled_on[DT_ELF_KINDS];

/* Size in bytes of a sled that is in a table, by enum dt_elf_kind; 0: it is no such sled. */
extern const uint8_t dt_sled_size[DT_ELF_KINDS];

#define DT_SLED_TABLE_JUMP 4 /* the kind that the table of sleds has for DT_ELF_JUMP */

/* A file's code. `at' returns the bytes at [address, address + n), or NULL when they are not all
 * executable and in the file. */
struct dt_sled_code {
	const uint8_t *(*at)(void *ctx, uint64_t address, uint64_t n);
	void *ctx;
};

/*
 * Checks that the site has the bytes of its kind. Returns the address to which its call leads, a
 * thunk of its module, and sets s->back and s->target; of a jump also s->kind and s->address. 0:
 * the bytes are others.
 */
uint64_t dt_sled_check(const struct dt_sled_code *c, struct dt_elf_site *s);

/* Looks whether there is a thunk at address that jumps through this hook slot. */
bool dt_sled_is_thunk(const struct dt_sled_code *c, uint64_t address, uint64_t slot);

/* Returns the address of the thunk that the stub of an event calls. The hook returns to pc, where
 * this kind and count of values stand. 0: there is no such stub. */
uint64_t dt_sled_call(const struct dt_sled_code *c, uint64_t pc, uint8_t kind, uint8_t values);

/* Looks whether an event's site is at address, and leads to code of the file. */
bool dt_sled_event(const struct dt_sled_code *c, uint64_t address);

#endif
