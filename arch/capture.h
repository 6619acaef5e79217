/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint captures, and the code that does it. It captures registers, flags, memory and
 * chains of pointers at any instruction, and keeps every register, every flag and the 128 bytes
 * below the stack pointer. A bad pointer never faults: it gives DT_CAPTURE_BAD as the value, and
 * DT_FAULT in the record's flags.
 */
#ifndef DT_ARCH_CAPTURE_H
#define DT_ARCH_CAPTURE_H

#include "arch/numbers.h"
#include "arch/emit.h"
#include "arch/text.h"
#include "core/capture.h"

/* What an operand is. */
enum dt_operand_kind {
	DT_OPERAND_UNKNOWN, /* not understood: only its text is known */
	DT_OPERAND_REGISTER,
	DT_OPERAND_MEMORY,
	DT_OPERAND_CONSTANT,
	DT_OPERAND_KEPT, /* what struct dt_capture.kept has kept for this call */
};

/* An operand, as an assembler instruction has it. */
struct dt_operand {
	uint8_t kind; /* enum dt_operand_kind */
	/* of the value: */
	uint8_t size; /* bytes: 1, 2, 4, 8, 16, 32, 64 */
	bool is_signed, is_float;
	/* DT_OPERAND_REGISTER: the value is `size' bytes from byte `byte' of the register on */
	uint8_t reg, byte;
	/* DT_OPERAND_MEMORY: it is at the segment's base + base + index * scale + value */
	uint8_t base, index, scale; /* base and index: DT_REGISTER_NONE: none */
	char segment;		    /* 'f' or 'g' (fs, gs); 0: none */
	/* name of a symbol whose address is to be added to value; not terminated; NULL: none */
	const char *symbol;
	uint8_t symbol_length;
	int64_t value; /* the displacement, or the constant */
};

#define DT_ITEM_STEPS	8    /* most pointers that one item follows */
#define DT_CAPTURE_OWN	8    /* most segments of a file that are read directly */
#define DT_CAPTURE_TEXT 256  /* most bytes of a text */
#define DT_CAPTURE_SIZE 4000 /* most bytes of code */

/* Looks whether a value of a record with DT_FAULT could not be read. Only the high half counts:
 * something may have been added to DT_CAPTURE_BAD. */
static inline bool dt_capture_is_bad(uint64_t value)
{
	return value >> 32 == DT_CAPTURE_BAD >> 32;
}

/* What a function is sure to read of a text: DT_TEXT_SURE. */
enum dt_sure {
	DT_SURE_NOT,
	DT_SURE_FIRST = DT_TEXT_FIRST,
	DT_SURE_ALL = DT_TEXT_ALL,
};

/* Where the values of a stream are. The register is the number of an integer argument. */
enum dt_stream {
	DT_STREAM_NOT,
	DT_STREAM_ARGUMENTS, /* arguments from that register on, as the format says */
	DT_STREAM_LIST,	     /* a va_list, to which that register points, as the format says */
	DT_STREAM_TEXTS	     /* an array of texts that ends with NULL */
};

/* One value to be captured: an operand, and from there along a chain of pointers. */
struct dt_item {
	struct dt_operand from;
	bool place;    /* of a memory operand: its address is meant, not what is there */
	bool relative; /* from.value is an address of the file: the bias is to be added */
	unsigned steps;
	struct {
		int64_t add;  /* is added to the value so far; at that address is the next value, */
		uint8_t size; /* of this many bytes: 1, 2, 4, 8 */
		bool is_signed;
		bool place; /* nothing is read: the address itself is the next value */
	} step[DT_ITEM_STEPS];
	uint16_t
		text; /* the value points to a text, of which this many bytes are recorded; 0: no */
	bool only_text; /* the text is recorded without the value; such items come after the others
			 */
	/*
	 * The instruction is the first one of a function that is sure to read the text: its first
	 * byte before anything else, or all of it. So it may be read directly where its page was
	 * there before: if the page has gone, the function itself faults next. Only with a value
	 * that is a register.
	 */
	uint8_t sure; /* enum dt_sure */
	bool differ;  /* only if the first two arguments are not equal */
	bool buffer;  /* it does not end at a NUL, only where its bound is */
	/* what is recorded is a stream; the value is the address of the format, or of the array */
	uint8_t stream; /* enum dt_stream */
	uint8_t stream_register;
	bool stack; /* the buffer is the stack, from the stack pointer on */
	/* the text ends at its NUL, or where it is as long as the product of these registers */
	uint8_t bounds;
	struct {
		uint8_t reg;
		bool low; /* only the register's low 4 bytes */
	} bound[2];
};

/*
 * Makes the bools of an item that another process has written valid ones. Returns whether code can
 * be made of the item; that code then does no harm, whatever the item means.
 */
bool dt_item_settle(struct dt_item *item);

/* When a call's result says that there is something to record. */
enum dt_kept_when {
	DT_KEPT_ALWAYS,
	DT_KEPT_POSITIVE, /* as a number of 8 bytes it is positive */
	DT_KEPT_ZERO,	  /* its low 4 bytes are 0 */
	DT_KEPT_SOUND	  /* its low 4 bytes are not negative */
};

/* How a point at a function's entry keeps a register for points at its exits. */
struct dt_keeping {
	uint16_t tag; /* the same at the entry and at the exits, and of no other; 0: nothing is kept
		       */
	bool entry;   /* this point keeps it; otherwise it is recorded only if something is kept */
	uint8_t reg;  /* the register */
	uint8_t when; /* at an exit: enum dt_kept_when */
};

/*
 * A point that records the stack has so many bytes more of it below the red zone, for a block of
 * the stack at a time that the kernel has read (target/slow.c). The sp of its records is lower by
 * as much.
 */
#define DT_STACK_BLOCK 512

/*
 * The results with which a call is recorded at its exit, as a set of these bits. The functions that
 * end there may have results of 4 bytes and others of 8.
 */
enum {
	DT_RESULT_NEGATIVE = 1, /* the low 4 bytes are negative, */
	DT_RESULT_ZERO = 2,	/* zero, */
	DT_RESULT_POSITIVE = 4, /* positive */
	DT_RESULT_ANY = 7,
};
#define DT_RESULT_WIDE 3 /* bits by which the three of results of 8 bytes are shifted */

/* What the code needs to know. The routines are within reach of a 32-bit distance from it. */
struct dt_capture {
	uint64_t hook; /* address of the hook that records four values */
	uint64_t peek; /* address of the routine that reads memory: see target/hook.S */
	uint64_t text; /* address of the routine that reads a text, 32 bytes at a time */
	uint64_t
		crosses; /* address of the routine that tells whether certain modules have called */
	uint64_t bias;	 /* run-time addresses minus the file's */
	struct {
		uint64_t low, high; /* [low, high), run-time */
	} own[DT_CAPTURE_OWN];	    /* the file's own memory: mapped as long as the code is */
	unsigned owns;
	uint64_t address; /* run-time address of the instruction: the value of rip */
	bool fsbase;	  /* programs may read the base of fs: see dt_capture_has_fsbase() */
	bool on;	  /* the code is on from the beginning */
	bool headless;	  /* its records continue the one that has just been made */
	bool crossing;	  /* at a function's entry: only calls that certain modules make */
	bool passing; /* at a jump to a function: its head is that one's entry, only where none of
			 these modules is returned to */
	struct dt_keeping kept;
	uint8_t results; /* it records the stack at an exit, with these results only; 0: it does not
			  */
	uint64_t slots;	 /* address of the slots of calls: DT_SLOTS_AT, below 2 GiB */
};

/* A place in the code that records: the pc that its hook records, and what the record holds. */
struct dt_capture_pc {
	uint64_t pc;
	uint8_t first; /* index of the record's first item; for a text, of the text's item */
	uint8_t text;  /* enum dt_capture_text */
};

/* What of a text a record has. */
enum dt_capture_text {
	DT_CAPTURE_VALUES, /* nothing: it has values */
	DT_CAPTURE_PIECE,  /* its next 32 bytes */
	/* of a buffer: in the low half of value 0 how many bytes of it are recorded, in the high
	 * half how many it has (all ones: that many or more), then the first 24 of them */
	DT_CAPTURE_HEAD,
	/* nothing: it tells when the function was done, before what it has filled in was read */
	DT_CAPTURE_LEAVING,
};

/* Most places in one point's code that record. */
#define DT_CAPTURE_PCS (DT_CAPTURE_ITEMS / 4 * 2 + 4 * DT_CAPTURE_ITEMS + 2)

/* The code that was made for a point. */
struct dt_captured {
	uint64_t toggle; /* address of the byte that switches it: DT_CAPTURE_OFF or DT_CAPTURE_ON */
	struct dt_capture_pc pc[DT_CAPTURE_PCS];
	unsigned pcs;
};

/* Writes the code that captures n items, and describes it in *out. The caller sees at *o whether it
 * fitted (arch/emit.h). */
void dt_capture_emit(struct dt_emit *o, const struct dt_item *item, unsigned n,
		     const struct dt_capture *c, struct dt_captured *out);

/* Looks whether the kernel lets programs read the base of fs, for struct dt_capture.fsbase. */
bool dt_capture_has_fsbase(void);

#endif
