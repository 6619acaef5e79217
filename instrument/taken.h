// SPDX-License-Identifier: MIT
/*
 * Finds the local labels (.L12) of gcc whose addresses are taken, which indirect jumps can lead to:
 * labels in the table of a switch, reached only by a jump through a register or through the table
 * itself; and values of &&label, reached by any indirect jump. In a function without such labels
 * every indirect jump leaves the function.
 */
#ifndef INSTRUMENT_TAKEN_H
#define INSTRUMENT_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the labels of a text are taken. All zero at first. */
struct taken {
	uint8_t *how; /* by the label's number; the values' enum is in taken.c */
	size_t labels;
	bool made; /* taken_read() has been called */
};

/* Reads the whole text [in, end), which must end with a newline and be followed by a zero byte. */
void taken_read(struct taken *t, const char *in, const char *end);
void taken_free(struct taken *t);

/*
 * Which indirect jumps in the lines of a function certainly leave it: none, those through memory,
 * or all. It is none where the stack pointer is loaded from memory or added to, as in
 * __builtin_longjmp() and __builtin_eh_return(), which jump into other functions.
 */
enum { TAKEN_LEAVES_NONE, TAKEN_LEAVES_MEMORY, TAKEN_LEAVES_ALL };

/* Returns which of these holds for the function in the lines [p, end). */
int taken_leaves(const struct taken *t, const char *p, const char *end);

/*
 * Says whether the register named at reg (`%rax') was loaded from memory without an index in the
 * lines between the last label and `line'. If so, it is not the target of a switch, which reads its
 * table with an index and adds to what it has read.
 */
bool taken_loaded(const char *begin, const char *line, const char *reg);

#endif
