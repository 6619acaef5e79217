/* SPDX-License-Identifier: MIT */
/*
 * What a tracepoint captures, as the words of the device language say it (doc/language.md), for all
 * providers: "REG rax STACK 8 LOC jiffies". What VALUE and TEXT mean only those know that can read
 * the source's variables.
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

#define DT_CAPTURE_ITEMS 32		       /* of one point, at most */
#define DT_CAPTURE_BAD	 0xbadbadba00000000ull /* in place of a value that can not be read */

/* One value. */
struct dt_capture_asked {
	const char *label; /* as it is shown: "rax", "stack+8" */
	const char *type;  /* as in a signature: "p", "u4", "f8" */
	/* VALUE, TEXT: an expression of the source, and nothing below is known; otherwise NULL */
	const char *variable;
	bool text;
	/* a register; or, memory: the 8 bytes that lie offset bytes from where it points */
	bool memory;
	uint8_t reg, size; /* DT_REGISTER_...; bytes, from the lowest on */
	int64_t offset;
};

struct dt_capture_ops {
	/* the address of anything that has a symbol; false: there is none of that name */
	bool (*symbol)(void *ctx, const char *name, uint64_t *address);
	/* Called for each value, in their order; what c points to is gone behind it. */
	int (*item)(void *ctx, const struct dt_capture_asked *c, struct dt_error *e);
};

/*
 * Calls ops->item for what words ask for, at most DT_CAPTURE_ITEMS times. words are n bytes, with
 * room for one more, and are changed. -1: words that mean nothing, or an item was refused.
 */
int dt_capture_words(char *words, size_t n, const struct dt_capture_ops *ops, void *ctx,
		     struct dt_error *e);

#endif
