// SPDX-License-Identifier: MIT
/*
 * Which of gcc's local labels (.L12) are more than targets of jumps: in the table of a switch,
 * which only a jump through a register, or through the table itself, leads to; or as the value of
 * &&label, which any jump may lead to. In a function without such labels a jump leaves the
 * function.
 */
#ifndef INSTRUMENT_TAKEN_H
#define INSTRUMENT_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taken {
	uint8_t *how; /* by the label's number: enum in taken.c */
	size_t labels;
	bool made;
};

/* Reads the whole text once, [in, end), which ends with a newline and a zero byte behind that. */
void taken_read(struct taken *t, const char *in, const char *end);
void taken_free(struct taken *t);

/*
 * What jumps in the lines [p, end) surely leave what is in them. None when the stack pointer is
 * loaded from memory or added to, as __builtin_longjmp() and __builtin_eh_return() do, which jump
 * into other functions.
 */
enum { TAKEN_LEAVES_NONE, TAKEN_LEAVES_MEMORY, TAKEN_LEAVES_ALL };

int taken_leaves(const struct taken *t, const char *p, const char *end);

/*
 * Is what the register at reg holds, `%rax', loaded from memory without an index, in the lines in
 * front of line and behind the last label? A switch reads its table with an index and adds to what
 * it has read.
 */
bool taken_loaded(const char *begin, const char *line, const char *reg);

#endif
