/* SPDX-License-Identifier: MIT */
/* The constants that the kernel's enumerations name, from its BTF. */
#ifndef DT_SESSION_KERNEL_CONSTANTS_H
#define DT_SESSION_KERNEL_CONSTANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;
struct dt_kernel_constant;

/* Constants of one BTF, by name. */
struct dt_kernel_constant_table {
	struct btf *btf; /* NULL: it has not been read, or can not be */
	struct dt_kernel_constant *all;
	size_t n;
};

/* All zeros to begin with: each BTF is read when it is first asked. */
struct dt_kernel_constants {
	const char
		*module; /* asked after the kernel itself, where there is such a module; or NULL */
	bool tried, module_tried;
	struct dt_kernel_constant_table kernel, own;
};

/* Sets the module that is asked after the kernel itself. name must last as long as it is asked. */
void dt_kernel_constants_of(struct dt_kernel_constants *c, const char *name);

/* Looks up a constant's value. False: there is none of that name (of n bytes), several have it with
 * different values, or the kernel has no BTF. */
bool dt_kernel_constant_value(struct dt_kernel_constants *c, const char *name, size_t n,
			      uint64_t *value);

void dt_kernel_constants_free(struct dt_kernel_constants *c);

#endif
