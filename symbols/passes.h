/* SPDX-License-Identifier: MIT */
/*
 * What functions without names pass on to: "malloc" for an xmalloc of a stripped program. Such a
 * function is short and has no loop, and its only call is one of a function of another file, or it
 * ends in a jump to that. A call that does not come back (of what ends the program when memory is
 * out) does not count beside that.
 */
#ifndef DT_SYMBOLS_PASSES_H
#define DT_SYMBOLS_PASSES_H

#include "core/code-map.h"
#include "elf/elf.h"

struct dt_passes;

/* Returns the slot through which the PLT's entry at address jumps; 0: it is no such entry. */
uint64_t dt_passes_slot(const struct dt_code *c, uint64_t address);

/* Finds them in a map of the file's code. NULL: there is no memory. */
struct dt_passes *dt_passes_read(const struct dt_code *c, const struct dt_elf *f);
/* Frees them; NULL is allowed. */
void dt_passes_free(struct dt_passes *p);

/* Returns what the function at an address passes on to, as programs write it, without parameters.
 * NULL: it has a name, does more, or does something else. p may be NULL. */
const char *dt_passes_name(const struct dt_passes *p, uint64_t address);

#endif
