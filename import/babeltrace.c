/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "import/babeltrace.h"

#include "process/library.h"

struct dt_reading_babeltrace dt_reading_bt;

int dt_reading_babeltrace_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_LOADED(dt_reading_babeltrace, name, bt_##name),
		DT_READING_BABELTRACE(X)
#undef X
	};

	return dt_library_load(
		&(struct dt_library){.file = DT_BABELTRACE_SONAME,
				     .package = "libbabeltrace2-0",
				     .what = "the Common Trace Format can not be read",
				     .symbol = symbol,
				     .symbols = sizeof(symbol) / sizeof(*symbol),
				     .table = &dt_reading_bt,
				     .size = sizeof(dt_reading_bt)},
		e);
}
