/* SPDX-License-Identifier: MIT */
#include "arch/aarch64/abi.h"

bool dt_abi_register_of(uint64_t dwarf, uint8_t *reg)
{
	if (dwarf > 31)
		return false;
	*reg = (uint8_t)dwarf;
	return true;
}
