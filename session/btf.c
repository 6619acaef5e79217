/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "session/btf.h"

#include "process/library.h"

struct dt_btf dt_btf;

int dt_btf_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_SYMBOL(dt_btf, name, btf__##name),
		DT_BTF(X)
#undef X
	};

	return dt_library_load(
		&(struct dt_library){.file = DT_BPF_SONAME,
				     .package = "libbpf1",
				     .what = "the types of the kernel's functions can not be read",
				     .symbol = symbol,
				     .symbols = sizeof(symbol) / sizeof(*symbol),
				     .table = &dt_btf,
				     .size = sizeof(dt_btf)},
		e);
}
