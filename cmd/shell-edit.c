/* SPDX-License-Identifier: MIT */
/* A library that is loaded when it is needed. */
#include "cmd/shell-edit.h"

#include "process/library.h"

struct dt_edit dt_edit;

int dt_edit_load(struct dt_error *e)
{
	static const struct dt_library_symbol symbol[] = {
#define X(name) DT_LIBRARY_SYMBOL(dt_edit, name, name),
		DT_EDIT(X)
#undef X
	};

	return dt_library_load(&(struct dt_library){.file = DT_EDIT_SONAME,
						    .package = "libedit2",
						    .what = "there is no prompt",
						    .symbol = symbol,
						    .symbols = sizeof(symbol) / sizeof(*symbol),
						    .table = &dt_edit,
						    .size = sizeof(dt_edit)},
			       e);
}
