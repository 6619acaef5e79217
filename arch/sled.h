/* SPDX-License-Identifier: MIT */
/*
 * Sleds, as instrument/ and include/devtrace.h put them into a file (doc/sleds.md): looks whether
 * what the table of sleds lists is really there.
 */
#ifndef DT_ARCH_SLED_H
#define DT_ARCH_SLED_H

#include "arch/numbers.h"
#include "arch/emit.h"
#include "core/site.h"

/*
 * The bytes at a site's address by which it is switched. They are as many as the processor can
 * exchange while others execute them: one on x86-64, a word on aarch64, which is at a multiple of
 * its size.
 */
#define DT_TOGGLE_MAX 8

struct dt_toggle {
	unsigned size; /* bytes */
	unsigned char off[DT_TOGGLE_MAX], on[DT_TOGGLE_MAX];
};

/*
 * Sets *t to how the site at `at' is switched. stub: where the controller has put its stub
 * (dt_sled_stub_emit()); 0: nowhere, as where DT_SLED_STUB is 0. False: such a site is not toggled
 * in place, or its stub is missing or out of reach.
 */
bool dt_sled_toggle(enum dt_elf_kind kind, uint64_t at, uint64_t stub, struct dt_toggle *t);

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
 * the bytes are others. Without thunks (DT_SLED_THUNKS), the address is that behind the site.
 */
uint64_t dt_sled_check(const struct dt_sled_code *c, struct dt_elf_site *s);

/* Looks whether there is a thunk at address that jumps through this hook slot. */
bool dt_sled_is_thunk(const struct dt_sled_code *c, uint64_t address, uint64_t slot);

/*
 * Append what the controller puts within reach of a module whose sleds have no thunk: the way to a
 * hook, of DT_SLED_WAY bytes; and the stub of a site, of DT_SLED_STUB bytes at most, which leads
 * through such a way and back behind the site at `at'. behind: the instruction there. The hook
 * returns to DT_SLED_STUB_BACK(kind) bytes after a stub's beginning, which is what a record has as
 * its pc. Where these numbers are 0, nothing is appended.
 */
void dt_sled_way_emit(struct dt_emit *o, uint64_t hook);
void dt_sled_stub_emit(struct dt_emit *o, enum dt_elf_kind kind, uint64_t at, const uint8_t *behind,
		       uint64_t way);

/* Returns the address of the thunk that the stub of an event calls. The hook returns to pc, where
 * this kind and count of values stand. 0: there is no such stub. */
uint64_t dt_sled_call(const struct dt_sled_code *c, uint64_t pc, uint8_t kind, uint8_t values);

/* Looks whether an event's site is at address, and leads to code of the file. */
bool dt_sled_event(const struct dt_sled_code *c, uint64_t address);

#endif
