/* SPDX-License-Identifier: MIT */
/* Names of the kernel's functions, from /proc/kallsyms, and their types, from its BTF. */
#ifndef DT_SESSION_KERNEL_NAMES_H
#define DT_SESSION_KERNEL_NAMES_H

#include "core/error.h"

struct dt_kernel_names;

/* A function of the kernel. The texts belong to the dt_kernel_names that it came from. */
struct dt_kernel_symbol {
	uint64_t address, end; /* end: where the next symbol begins */
	const char *name;
	const char *module; /* "vmlinux" for the kernel itself */
};

/* Reads the names. Returns NULL and an error when the kernel tells no addresses (kptr_restrict). */
struct dt_kernel_names *dt_kernel_names_open(struct dt_error *e);
/* Reads the types, if the kernel has any, which takes as long as reading the names. Must be called
 * before functions are recorded whose signatures are wanted. -1 and an error: libbpf is missing. */
int dt_kernel_names_types(struct dt_kernel_names *n, struct dt_error *e);
/* Frees the names and types. */
void dt_kernel_names_close(struct dt_kernel_names *n);

/* Finds the first function in kallsyms with that name. False: there is none. */
bool dt_kernel_names_named(const struct dt_kernel_names *n, const char *name,
			   struct dt_kernel_symbol *s);
/* Gives the i-th name, in the order of their addresses. False: there are not so many. */
bool dt_kernel_names_at(const struct dt_kernel_names *n, size_t i, struct dt_kernel_symbol *s);
/* Returns the address of the kernel's table of system calls; 0: it is not told. */
uint64_t dt_kernel_names_calls(const struct dt_kernel_names *n);
/* Returns the number in the kernel's BTF of the function with that name; 0: it has no type. */
uint32_t dt_kernel_names_type(const struct dt_kernel_names *n, const char *name);
/* Finds the function that contains pc. False: pc is below all of them. */
bool dt_kernel_names_find(struct dt_kernel_names *n, uint64_t pc, struct dt_kernel_symbol *s);
/* Writes the signature of the function with that name in the form of symbols/symtab.h; "": not
 * known. */
void dt_kernel_names_signature(struct dt_kernel_names *n, const char *name, char *out, size_t size);

#endif
