/* SPDX-License-Identifier: MIT */
/* The System V calling convention: which registers arguments are in. */
#ifndef DT_ARCH_ABI_H
#define DT_ARCH_ABI_H

#include "core/types.h"

#define DT_ABI_INTEGERS 6 /* registers of integers and pointers: rdi rsi rdx rcx r8 r9 */
#define DT_ABI_VECTORS	8 /* vector registers of arguments: xmm0 to xmm7 */

/* The registers of integer arguments in order: as DWARF numbers them, and as instructions do
 * (core/capture.h). */
static const int dt_abi_dwarf[DT_ABI_INTEGERS] = {5, 4, 1, 2, 8, 9};
static const uint8_t dt_abi_register[DT_ABI_INTEGERS] = {7, 6, 2, 1, 8, 9};

/* Translates DWARF's number of a register into that of instructions (core/capture.h); false: it is
 * a register that can not be captured. */
bool dt_abi_register_of(uint64_t dwarf, uint8_t *reg);

#define DT_ABI_RESULT 0 /* the number of the register with the result, in instructions */
#define DT_ABI_SP     4 /* the number of the stack pointer in instructions */

#define DT_ABI_DWARF_SP	   7 /* DWARF's number of the stack pointer */
#define DT_ABI_ENTRY_DEPTH 8 /* bytes on the stack when a function begins: its return address */

#endif
