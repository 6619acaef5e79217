/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint captures, and the code that does it: registers, flags, memory and chains of
 * pointers at any instruction, with every register, every flag and the 128 bytes below the stack
 * pointer kept. Memory is read so that a bad pointer gives DT_CAPTURE_BAD and DT_FAULT in the
 * record's flags, never a fault.
 */
#ifndef DT_ARCH_CAPTURE_H
#define DT_ARCH_CAPTURE_H

#include "arch/x86_64/emit.h"
#include "core/capture.h"

enum dt_operand_kind {
	DT_OPERAND_UNKNOWN, /* not understood: the text is all there is */
	DT_OPERAND_REGISTER,
	DT_OPERAND_MEMORY,
	DT_OPERAND_CONSTANT,
};

struct dt_operand {
	uint8_t kind; /* enum dt_operand_kind */
	/* of the value: */
	uint8_t size; /* bytes: 1, 2, 4, 8, 16, 32, 64 */
	bool is_signed, is_float;
	/* DT_OPERAND_REGISTER: the value is `size' bytes from byte `byte' of the register on */
	uint8_t reg, byte;
	/* DT_OPERAND_MEMORY: at base + index * scale + value, beyond a segment's base */
	uint8_t base, index, scale;
	char segment; /* 'f', 'g', 0 */
	/* the address of a symbol is to be added to value; not terminated */
	const char *symbol;
	uint8_t symbol_length;
	int64_t value; /* the displacement, or the constant */
};

#define DT_ITEM_STEPS	8
#define DT_CAPTURE_OWN	8    /* segments of a file that are read directly, at most */
#define DT_CAPTURE_TEXT 256  /* bytes of a text, at most */
#define DT_CAPTURE_SIZE 4000 /* bytes of code, at most */

/* Is it one, in a record with DT_FAULT? What has been added to it leaves the high half. */
static inline bool dt_capture_is_bad(uint64_t value)
{
	return value >> 32 == DT_CAPTURE_BAD >> 32;
}

/* One value: an operand, and from there along a chain of pointers. */
struct dt_item {
	struct dt_operand from;
	bool place;    /* of a memory operand: where it is, not what is there */
	bool relative; /* from.value is an address of the file: the bias is to be added */
	unsigned steps;
	struct {
		int64_t add;  /* to the pointer so far; there the next value is, */
		uint8_t size; /* of so many bytes: 1, 2, 4, 8 */
		bool is_signed;
		bool place; /* no: the address itself is the value */
	} step[DT_ITEM_STEPS];
	uint16_t text;	/* the value is a pointer to a text: so many bytes of that too; 0: no */
	bool only_text; /* and the value itself is not recorded: such items come behind the others
			 */
};

/*
 * Of an item that another process has written: makes its bools such, and says whether code can be
 * made of it, which then does no harm, whatever the item means.
 */
bool dt_item_settle(struct dt_item *item);

/* Where the code finds what it needs; all within reach of a 32-bit distance from it. */
struct dt_capture {
	uint64_t hook; /* records four values */
	uint64_t peek; /* reads memory: see target/hook.S */
	uint64_t text; /* reads a text, 32 bytes at a time */
	uint64_t bias; /* run-time addresses minus the file's */
	struct {
		uint64_t low, high; /* [low, high) */
	} own[DT_CAPTURE_OWN]; /* the file's own memory, run-time: there as long as the code is */
	unsigned owns;
	uint64_t address; /* of the instruction, run-time: what rip is */
	bool fsbase;	  /* the processor reads the base of fs for programs */
	bool on;	  /* it is on from the beginning */
	bool headless;	  /* its records are more of the one that was just made */
};

/* A place in the code that records: what its hook sees as pc. */
struct dt_capture_pc {
	uint64_t pc;
	uint8_t first; /* index of the record's first item; of a text's record, that of the item */
	bool text;
};

#define DT_CAPTURE_PCS (DT_CAPTURE_ITEMS / 4 * 2 + 2 * DT_CAPTURE_ITEMS + 2)

struct dt_captured {
	uint64_t toggle; /* address of the one byte that switches it */
	struct dt_capture_pc pc[DT_CAPTURE_PCS];
	unsigned pcs;
};

#define DT_CAPTURE_OFF 0x00
#define DT_CAPTURE_ON  0x05

/* Writes the code. What does not fit is seen at o, as always. */
void dt_capture_emit(struct dt_emit *o, const struct dt_item *item, unsigned n,
		     const struct dt_capture *c, struct dt_captured *out);

/* struct dt_capture.fsbase: may programs read the base of fs here? */
bool dt_capture_has_fsbase(void);

#endif
