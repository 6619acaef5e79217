/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the kernel calls its functions, and which of them a device's ranges mean. */
#ifndef DT_KERNEL_SYMBOL_H
#define DT_KERNEL_SYMBOL_H

#include "core/device.h"
#include "kernel/hook.h"

/* A symbol, or module:symbol. 1: found, 0: it is none. */
int dt_symbol_place(const char *text, struct dt_place *place);

/* From the kernel's text to the end of its modules'. */
void dt_symbol_text(u64 *base, u64 *end);

/* Which functions are hooked, and what is to happen in them. */
struct dt_chosen {
	unsigned long *both, *entry; /* addresses at which ftrace calls */
	size_t boths, entries;
	struct dt_actions *actions; /* NULL: none looks at anything */
};

/* What the ranges that are on mean now. The caller frees it by dt_chosen_free(). */
int dt_chosen_make(struct dt_chosen *p, const struct dt_device *d, struct dt_error *e);
void dt_chosen_free(struct dt_chosen *p);

/*
 * How many functions this range means that can be traced; which ones is remembered in r->host,
 * until dt_functions_forget(). -1: error.
 */
long dt_functions_find(struct dt_range *r, struct dt_error *e);
void dt_functions_forget(struct dt_range *r);
/* A module has come or goes: what is remembered is to be looked for again. From any thread. */
void dt_functions_changed(void);

#endif
