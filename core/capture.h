/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint captures, in the words of the device language (doc/language.md): "REG rax STACK
 * 8 LOC jiffies". This is common to all providers; only VALUE and TEXT are left to those that can
 * read the source's variables.
 */
#ifndef DT_CORE_CAPTURE_H
#define DT_CORE_CAPTURE_H

#include "core/error.h"

/*
 * Registers as the processor numbers them: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi,
 * 8 to 15; vector registers from 16 on.
 */
#define DT_REGISTER_XMM0  16
#define DT_REGISTER_FLAGS 61
#define DT_REGISTER_RIP	  62
#define DT_REGISTER_NONE  63

#define DT_CAPTURE_ITEMS 32		       /* values at one point, at most */
#define DT_CAPTURE_BAD	 0xbadbadba00000000ull /* in place of a value that can not be read */

/* One value that is to be captured. */
struct dt_capture_asked {
	const char *label; /* as it is shown: "rax", "stack+8" */
	const char *type;  /* as in a signature: "p", "u4", "f8" */
	/*
	 * for VALUE and TEXT an expression of the source, and the fields below mean nothing;
	 * otherwise NULL
	 */
	const char *variable;
	/* TEXT: what is captured is the text to which the variable points */
	bool text;
	/* false: the register itself; true: the 8 bytes at offset bytes from where it points */
	bool memory;
	uint8_t reg, size; /* DT_REGISTER_...; bytes, from the lowest on */
	int64_t offset;
};

/* What dt_capture_words() calls. */
struct dt_capture_ops {
	/*
	 * Finds the address of anything that has a symbol. Returns false if there is no such name.
	 */
	bool (*symbol)(void *ctx, const char *name, uint64_t *address);
	/*
	 * Is called for each value, in the order of the words; c is valid only during the call.
	 * Returns 0, or -1 with an error to refuse the value.
	 */
	int (*item)(void *ctx, const struct dt_capture_asked *c, struct dt_error *e);
};

/*
 * Calls ops->item for each value that words ask for, at most DT_CAPTURE_ITEMS times. words has n
 * bytes and room for one more, and is changed. Returns 0, or -1 with an error if a word means
 * nothing or a value was refused.
 */
int dt_capture_words(char *words, size_t n, const struct dt_capture_ops *ops, void *ctx,
		     struct dt_error *e);

#endif
