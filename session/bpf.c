/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "session/bpf.h"

#include "process/library.h"

struct dt_bpf dt_bpf;

int dt_bpf_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_SYMBOL(dt_bpf, name, name),
		DT_BPF(X)
#undef X
	};

	return dt_library_load(&(struct dt_library){.file = DT_BPF_SONAME,
						    .package = "libbpf1",
						    .what = "the kernel can not be recorded by BPF",
						    .symbol = symbol,
						    .symbols = sizeof(symbol) / sizeof(*symbol),
						    .table = &dt_bpf,
						    .size = sizeof(dt_bpf)},
			       e);
}
