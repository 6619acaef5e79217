/* SPDX-License-Identifier: MIT */
/*
 * The call of a hook in a trampoline. It is a sled of its own: one byte switches it. It leads to
 * the hook by a way, which is a jump through a word within reach of every trampoline of a region.
 */
#ifndef DT_ARCH_HOOK_CALL_H
#define DT_ARCH_HOOK_CALL_H

#include "arch/numbers.h"
#include "arch/emit.h"

/* Writes a call by the way at address `way', switched on or off. */
void dt_hook_call_emit(struct dt_emit *o, uint64_t way, bool on);
/* Writes code, to follow such a call, that takes off the stack what dt_relocate_push() has put
 * there. It changes no flag. */
void dt_hook_call_pop(struct dt_emit *o);

/* Returns where a call at `at', with these bytes, leads; it may be switched off. */
uint64_t dt_hook_call_target(uint64_t at, const uint8_t call[DT_HOOK_CALL]);
/* Changes the bytes of a call at `at' but the first, so that it leads by the way at address `way'.
 */
void dt_hook_call_aim(uint64_t at, uint64_t way, uint8_t call[DT_HOOK_CALL]);

/* Returns the bytes that dt_hook_way_emit() writes. */
uint64_t dt_hook_way_size(bool switched);
/* Writes a way that leads to the address in the word at `through'. switched: it is for calls as
 * above; else for calls that are not switched. */
void dt_hook_way_emit(struct dt_emit *o, uint64_t through, bool switched);

#endif
