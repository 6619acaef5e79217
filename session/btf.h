/* SPDX-License-Identifier: MIT */
/* libbpf, loaded only to read the types of the kernel's functions. */
#ifndef DT_SESSION_BTF_H
#define DT_SESSION_BTF_H

#include <bpf/btf.h>

#include "core/error.h"

/* The functions that are used, without the prefix of their names. */
#define DT_BTF(X)                                                                                  \
	X(load_vmlinux_btf)                                                                        \
	X(load_module_btf)                                                                         \
	X(free)                                                                                    \
	X(name_by_offset)                                                                          \
	X(type_by_id)                                                                              \
	X(type_cnt)

struct dt_btf {
#define X(name) __typeof__(btf__##name) *name;
	DT_BTF(X)
#undef X
};

extern struct dt_btf dt_btf;

/* Loads the library, which must be done before any of the functions is called. 0, or -1 and an
 * error: dt_library_load(). */
int dt_btf_load(struct dt_error *e);

#endif
