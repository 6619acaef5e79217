/* SPDX-License-Identifier: MIT */
/*
 * Unwinding: from the registers in a function, and the stack above, to those that its caller had
 * when it made the call. How to do that at an instruction is said by a row, which was made of a
 * file's unwind table (elf/unwind.h). Rows, registers and the stack are all hostile: a step ends
 * after a bounded time, whatever they say, and reads nothing but the stack that it is given.
 */
#ifndef DT_ARCH_UNWIND_H
#define DT_ARCH_UNWIND_H

#include "arch/numbers.h"
#include "core/types.h"

#define DT_UNWIND_EXPRESSIONS 256 /* bytes of all expressions of a row */

/* What the caller had in a register. The CFA is the stack pointer as it was before the call. */
enum dt_unwind_how {
	DT_UNWIND_SAME,	    /* what is there now */
	DT_UNWIND_LOST,	    /* that is not known; of the return address: there is no caller */
	DT_UNWIND_SAVED,    /* what is in memory at CFA + n */
	DT_UNWIND_SUM,	    /* CFA + n; of the CFA itself: a register + n */
	DT_UNWIND_REGISTER, /* what is in another register */
	DT_UNWIND_SAVED_AT, /* what is in memory where an expression says */
	DT_UNWIND_VALUE,    /* what an expression says */
	DT_UNWIND_HOWS
};

/* One register's rule. */
struct dt_unwind_rule {
	uint8_t how;	     /* enum dt_unwind_how */
	uint8_t reg;	     /* SUM of the CFA, REGISTER */
	uint16_t from, size; /* the expression's bytes in the row */
	int64_t n;
};

/* What holds at the addresses [start, end) of a file. */
struct dt_unwind_row {
	uint64_t start, end;
	uint64_t function; /* where the table's entry begins, which is mostly a function */
	struct dt_unwind_rule cfa, reg[DT_UNWIND_REGISTERS];
	uint8_t expression[DT_UNWIND_EXPRESSIONS];
	bool signal; /* a signal's handler returns to it: it was not called */
};

/* Checks a row that another process has made. False: it is none. */
bool dt_unwind_row_is(const struct dt_unwind_row *row);

/* Registers, as far as they are known: bit i of `known'. */
struct dt_unwind_registers {
	uint64_t value[DT_UNWIND_REGISTERS];
	uint32_t known;
};

/* What was kept of a stack: n bytes from the address `low' on. */
struct dt_unwind_stack {
	uint64_t low;
	const uint8_t *bytes;
	size_t n;
};

extern const uint8_t dt_unwind_kept[DT_UNWIND_KEPT], dt_unwind_kept_register[DT_UNWIND_KEPT];

/* Sets the registers to those in a function whose return address is at sp, which is the lowest
 * address of the stack, and which has given back the registers that are kept: `kept' has them, in
 * that order. The step that this takes to the caller is done. False: the stack is empty. */
bool dt_unwind_begin(struct dt_unwind_registers *r, const struct dt_unwind_stack *s,
		     const uint64_t kept[DT_UNWIND_KEPT]);

/* How a step went. */
enum dt_unwind_result {
	DT_UNWIND_STEPPED,
	DT_UNWIND_OUTERMOST, /* the function was not called by another one */
	DT_UNWIND_DEEPER,    /* what is wanted lies above what was kept of the stack */
	DT_UNWIND_WRONG,     /* the stack and the row do not fit */
};

/* Goes on to the caller of the function of which these are the registers. */
enum dt_unwind_result dt_unwind_step(struct dt_unwind_registers *r, const struct dt_unwind_row *row,
				     const struct dt_unwind_stack *s);

/* Returns the address where a function is, of which these are the registers. */
static inline uint64_t dt_unwind_pc(const struct dt_unwind_registers *r)
{
	return r->value[DT_UNWIND_REGISTERS - 1];
}

#endif
