/* SPDX-License-Identifier: MIT */
/* Writing words of A64 that depend on where they are. For this folder only. */
#ifndef DT_ARCH_AARCH64_WORD_H
#define DT_ARCH_AARCH64_WORD_H

#include "arch/emit.h"

#define DT_WORD_SVC 0xd4000001u /* svc #0, which makes a system call */

/* Distances in branches are of so many bits, in words. */
#define DT_WORD_FAR	26 /* b, bl, at bit 0 */
#define DT_WORD_COMPARE 19 /* b.cond, cbz, cbnz, at bit 5 */
#define DT_WORD_TEST	14 /* tbz, tbnz, at bit 5 */

/* Looks whether a branch at `from' whose distance has so many bits leads to `to'. */
bool dt_word_reaches(uint64_t from, uint64_t to, unsigned bits);
/* Appends a branch, whose distance is `bits' bits from bit `at' on, that leads to `to'. */
void dt_word_branch(struct dt_emit *o, uint32_t word, unsigned at, unsigned bits, uint64_t to);
/* Returns where a branch at `from', whose distance is `bits' bits from bit `at' on, leads. */
uint64_t dt_word_target(uint64_t from, uint32_t word, unsigned at, unsigned bits);
/* Appends instructions, 4 at the most, that set a register to an address, and change nothing else.
 */
void dt_word_address(struct dt_emit *o, unsigned reg, uint64_t address);

#endif
