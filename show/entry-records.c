/* SPDX-License-Identifier: MIT */
#include "show/entry-records.h"

#include <string.h>

bool dt_entry_records_of(const struct dt_reader *r, uint32_t function, uint32_t entry)
{
	const struct dt_site *site = entry ? dt_reader_site(r, entry) : NULL;
	const struct dt_function_info *a = dt_reader_function(r, function),
				      *b = site ? dt_reader_function(r, site->function) : NULL;

	return a && b && a->address == b->address && a->module == b->module;
}

/* The call that values are added to. */
struct adding {
	struct dt_fulls *f;
	uint64_t call;
};

static void add(void *ctx, const char *name, size_t n, const char *text, size_t length)
{
	struct adding *a = ctx;

	dt_full_add(a->f, a->call, name, n, text, length);
}

void dt_entry_records_values(struct dt_fulls *f, uint64_t call, struct dt_formats *formats,
			     const struct dt_site *site, const struct dt_record *r,
			     const uint64_t *argument)
{
	struct adding a = {f, call};

	formats->shapes.entry = argument;
	dt_format_each(formats, site->function, r->value, r->flags & DT_FAULT, add, &a);
	formats->shapes.entry = NULL;
}

/* dt_text_print() writes path="/etc/passwd", which is taken apart at the '='. */
void dt_entry_records_text(struct dt_fulls *f, uint64_t call, const struct dt_reader *r,
			   const struct dt_text *t, const uint64_t *argument)
{
	static struct dt_out out = {.fd = -1};
	const char *text, *value;
	size_t n;

	dt_out_forget(&out);
	dt_text_print(&out, r, t, argument);
	text = dt_out_kept(&out, &n);
	value = text ? memchr(text, '=', n) : NULL;
	f->failed |= !text;
	if (value)
		dt_full_add(f, call, text, (size_t)(value - text), value + 1,
			    (size_t)(text + n - value - 1));
}
