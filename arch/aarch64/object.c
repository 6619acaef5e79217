/* SPDX-License-Identifier: MIT */
#include "arch/object.h"

#include <string.h>

#include "arch/insn.h"

enum dt_relocation dt_relocation_of(uint32_t type)
{
	switch (type) {
	case R_AARCH64_ABS64:
		return DT_RELOCATION_SYMBOL;
	case R_AARCH64_GLOB_DAT:
	case R_AARCH64_JUMP_SLOT:
		return DT_RELOCATION_SLOT;
	case R_AARCH64_RELATIVE:
		return DT_RELOCATION_RELATIVE;
	case R_AARCH64_IRELATIVE:
		return DT_RELOCATION_IRELATIVE;
	}
	return DT_RELOCATION_OTHER;
}

unsigned dt_landing_pad(const uint8_t *code, size_t size)
{
	struct dt_insn in;

	return dt_insn_decode(&in, code, size, 0) && in.pad ? 4 : 0;
}

/* An entry, after a landing pad if it has one: adrp x16, page; ldr x17, [x16, low]; then the rest.
 */
uint64_t dt_plt_slot(const uint8_t code[DT_PLT], uint64_t address)
{
	unsigned pad = dt_landing_pad(code, DT_PLT);
	struct dt_insn in;
	uint32_t load;

	if (!dt_insn_decode(&in, code + pad, 4, address + pad) || in.form != DT_INSN_ADRP ||
	    (in.word & 31) != 16)
		return 0;
	memcpy(&load, code + pad + 4, sizeof(load));
	if ((load & 0xffc003ff) != 0xf9400211)
		return 0;
	return in.memory + (load >> 10 & 0xfff) * 8;
}

bool dt_reaches_far(const uint8_t *code, size_t size, uint64_t address, uint64_t *to)
{
	struct dt_insn in;

	if (!dt_insn_decode(&in, code, size, address) ||
	    (in.kind != DT_INSN_CALL && in.kind != DT_INSN_JUMP))
		return false;
	*to = in.target;
	return true;
}
