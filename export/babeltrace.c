/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "export/babeltrace.h"

#include "process/library.h"

struct dt_babeltrace dt_bt;

int dt_babeltrace_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_LOADED(dt_babeltrace, name, bt_##name),
		DT_BABELTRACE(X)
#undef X
	};

	return dt_library_load(
		&(struct dt_library){.file = DT_BABELTRACE_SONAME,
				     .package = "libbabeltrace2-0",
				     .what = "the Common Trace Format can not be written",
				     .symbol = symbol,
				     .symbols = sizeof(symbol) / sizeof(*symbol),
				     .table = &dt_bt,
				     .size = sizeof(dt_bt)},
		e);
}
