/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "view/microhttpd.h"

#include "process/library.h"

struct dt_microhttpd dt_mhd;

int dt_microhttpd_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_SYMBOL(dt_microhttpd, name, MHD_##name),
		DT_MICROHTTPD(X)
#undef X
	};

	return dt_library_load(&(struct dt_library){.file = DT_MICROHTTPD_SONAME,
						    .package = "libmicrohttpd12",
						    .what = "pages can not be served",
						    .symbol = symbol,
						    .symbols = sizeof(symbol) / sizeof(*symbol),
						    .table = &dt_mhd,
						    .size = sizeof(dt_mhd)},
			       e);
}
