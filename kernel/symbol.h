/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Finds the kernel's functions by name, and those that a device's ranges choose. */
#ifndef DT_KERNEL_SYMBOL_H
#define DT_KERNEL_SYMBOL_H

#include "core/device.h"
#include "kernel/hook.h"

/* Finds a symbol, or module:symbol. Returns 1, or 0 if there is none. */
int dt_symbol_place(const char *text, struct dt_place *place);

/* Gives the bounds of all code: from the kernel's text to the end of the modules'. */
void dt_symbol_text(u64 *base, u64 *end);

/* The functions that are to be hooked, and what is to happen at them. */
struct dt_chosen {
	unsigned long *both, *entry; /* addresses at which ftrace calls */
	size_t boths, entries;
	struct dt_actions *actions; /* NULL: all are simply recorded */
};

/*
 * Finds what the ranges that are on choose at present. Returns 0, or -1 with an error. The caller
 * frees *p by dt_chosen_free().
 */
int dt_chosen_make(struct dt_chosen *p, const struct dt_device *d, struct dt_error *e);
void dt_chosen_free(struct dt_chosen *p);

/*
 * Returns how many functions that can be traced the range chooses, -1 with an error. The functions
 * are remembered in r->host until dt_functions_forget().
 */
long dt_functions_find(struct dt_range *r, struct dt_error *e);
void dt_functions_forget(struct dt_range *r);
/*
 * Notes that a module has come or goes, so that remembered functions must be looked for again. May
 * be called from any thread.
 */
void dt_functions_changed(void);

#endif
