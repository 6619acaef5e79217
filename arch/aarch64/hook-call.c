/* SPDX-License-Identifier: MIT */
/*
 * The call of a hook in a trampoline:
 *
 *	b	. + 4			off: b . + 16, over the rest
 *	stp	x16, x30, [sp, #-16]!
 *	bl	way
 *	ldp	x16, x30, [sp], #16
 *
 * The two branches differ in their lowest byte only, and a branch is one of the few instructions
 * that may be replaced while other cores execute it (see sled.c). So a call is switched by one
 * byte, and one that is off changes nothing. x30 may be signed: it is kept as it is.
 */
#include "arch/hook-call.h"

#include <string.h>

#include "arch/aarch64/word.h"

#define B	0x14000000u
#define BL	0x94000000u
#define SAVE	0xa9bf7bf0u /* stp x16, x30, [sp, #-16]! */
#define RESTORE 0xa8c17bf0u /* ldp x16, x30, [sp], #16 */
#define DROP	0x910043ffu /* add sp, sp, #16 */
#define BL_AT	8	    /* where the bl is */

void dt_hook_call_emit(struct dt_emit *o, uint64_t way, bool on)
{
	dt_emit_u32(o, B | (on ? DT_HOOK_CALL_ON : DT_HOOK_CALL_OFF));
	dt_emit_u32(o, SAVE);
	dt_word_branch(o, BL, 0, DT_WORD_FAR, way);
	dt_emit_u32(o, RESTORE);
}

void dt_hook_call_pop(struct dt_emit *o)
{
	dt_emit_u32(o, DROP);
}

uint64_t dt_hook_call_target(uint64_t at, const uint8_t call[DT_HOOK_CALL])
{
	uint32_t word;

	memcpy(&word, call + BL_AT, sizeof(word));
	return dt_word_target(at + BL_AT, word, 0, DT_WORD_FAR);
}

void dt_hook_call_aim(uint64_t at, uint64_t way, uint8_t call[DT_HOOK_CALL])
{
	struct dt_emit o = {.bytes = call + BL_AT, .room = 4, .address = at + BL_AT};

	dt_word_branch(&o, BL, 0, DT_WORD_FAR, way);
}

uint64_t dt_hook_way_size(bool switched)
{
	return 8;
}

/* x16 is what the call has saved. */
void dt_hook_way_emit(struct dt_emit *o, uint64_t through, bool switched)
{
	dt_word_branch(o, 0x58000010, 5, DT_WORD_COMPARE, through); /* ldr x16, through */
	dt_emit_u32(o, 0xd61f0200);				    /* br x16 */
}
