/* SPDX-License-Identifier: MIT */
/* Writes a record as the line of Plan 9's devtrace. */
#include "core/digits.h"
#include "core/text.h"

void dt_text_line(char *out, const struct dt_record *r)
{
	bool exit = r->kind == DT_EXIT;

	*out++ = dt_letter(r->kind);
	out = dt_field(out, r->pc);
	out = dt_field(out, r->ticks);
	out = dt_field(out, r->tid == DT_NO_TID ? UINT64_MAX : r->tid);
	out = dt_field(out, r->value[0]);
	for (int i = 1; i < 4; i++)
		out = dt_field(out, exit ? 0 : r->value[i]);
	*out = '\n';
}
