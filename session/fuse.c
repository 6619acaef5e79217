/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "session/fuse.h"

#include "process/library.h"

struct dt_fuse dt_fuse;

int dt_fuse_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_SYMBOL(dt_fuse, name, fuse_##name),
		DT_FUSE(X)
#undef X
	};

	return dt_library_load(&(struct dt_library){.file = DT_FUSE_SONAME,
						    .package = "libfuse3-3",
						    .what = "sessions can not be mounted",
						    .symbol = symbol,
						    .symbols = sizeof(symbol) / sizeof(*symbol),
						    .table = &dt_fuse,
						    .size = sizeof(dt_fuse)},
			       e);
}
