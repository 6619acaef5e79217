/* SPDX-License-Identifier: MIT */
/* What the kernel calls its functions (/proc/kallsyms), and their types (its BTF). */
#ifndef DT_SESSION_KERNEL_NAMES_H
#define DT_SESSION_KERNEL_NAMES_H

#include "core/error.h"

struct dt_kernel_names;

struct dt_kernel_symbol {
	uint64_t address, end;
	const char *name;
	const char *module; /* "vmlinux" for the kernel itself */
};

/* NULL and an error when the kernel tells no addresses (kptr_restrict). */
struct dt_kernel_names *dt_kernel_names_open(struct dt_error *e);
/* Reads the types, which takes as long again, if there are any: before functions are recorded. */
void dt_kernel_names_types(struct dt_kernel_names *n);
void dt_kernel_names_close(struct dt_kernel_names *n);

/* The first that kallsyms has of that name; dt_kernel_names_find(): that pc is in. */
bool dt_kernel_names_named(const struct dt_kernel_names *n, const char *name,
			   struct dt_kernel_symbol *s);
bool dt_kernel_names_find(struct dt_kernel_names *n, uint64_t pc, struct dt_kernel_symbol *s);
void dt_kernel_names_signature(struct dt_kernel_names *n, const char *name, char *out, size_t size);

#endif
