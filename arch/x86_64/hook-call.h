/* SPDX-License-Identifier: MIT */
/*
 * The call of a hook in a trampoline, which one byte switches: a sled of its own. It leads to the
 * hook by a way, a jump through a word that every trampoline of a region reaches.
 */
#ifndef DT_ARCH_HOOK_CALL_H
#define DT_ARCH_HOOK_CALL_H

#include "arch/x86_64/emit.h"

#define DT_HOOK_CALL	 5    /* bytes; the hook records the address behind them as pc */
#define DT_HOOK_CALL_POP 5    /* bytes of dt_hook_call_pop() */
#define DT_HOOK_CALL_OFF 0xeb /* its first byte: a jump over the rest */
#define DT_HOOK_CALL_ON	 0xe8

/* Writes a call by that way. */
void dt_hook_call_emit(struct dt_emit *o, uint64_t way, bool on);
/* Behind such a call: takes off the stack what dt_relocate_push() has put there. No flag is
 * changed. */
void dt_hook_call_pop(struct dt_emit *o);

/* Writes the way that leads where the word at `through' says. switched: for calls as above; else
 * for calls that are not switched. */
void dt_hook_way_emit(struct dt_emit *o, uint64_t through, bool switched);

#endif
