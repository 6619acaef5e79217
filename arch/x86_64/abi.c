/* SPDX-License-Identifier: MIT */
#include "arch/x86_64/abi.h"

#include "core/capture.h"

bool dt_abi_register_of(uint64_t dwarf, uint8_t *reg)
{
	static const uint8_t general[] = {0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15};

	if (dwarf < sizeof(general))
		*reg = general[dwarf];
	else if (dwarf >= 17 && dwarf < 33)
		*reg = (uint8_t)(DT_REGISTER_XMM0 + dwarf - 17);
	else
		return false;
	return true;
}
