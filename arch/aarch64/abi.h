/* SPDX-License-Identifier: MIT */
/* The procedure call standard (AAPCS64): which registers arguments are in. */
#ifndef DT_ARCH_AARCH64_ABI_H
#define DT_ARCH_AARCH64_ABI_H

#include "core/types.h"

#define DT_ABI_INTEGERS 8 /* registers of integers and pointers: x0 to x7 */
#define DT_ABI_VECTORS	8 /* vector registers of arguments: v0 to v7 */

/* The registers of integer arguments in order: as DWARF numbers them, and as instructions do. */
static const int dt_abi_dwarf[DT_ABI_INTEGERS] = {0, 1, 2, 3, 4, 5, 6, 7};
static const uint8_t dt_abi_register[DT_ABI_INTEGERS] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Translates DWARF's number of a register into that of instructions; false: it is a register that
 * can not be captured. */
bool dt_abi_register_of(uint64_t dwarf, uint8_t *reg);

#define DT_ABI_RESULT 0	 /* the number of the register with the result, in instructions */
#define DT_ABI_SP     31 /* the number of the stack pointer in instructions */

#define DT_ABI_DWARF_SP	   31 /* DWARF's number of the stack pointer */
#define DT_ABI_ENTRY_DEPTH 0  /* bytes on the stack when a function begins: x30 has its return */

#endif
