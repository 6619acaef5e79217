/* SPDX-License-Identifier: MIT */
#include "cmd/behind.h"

#include <string.h>

bool dt_behind_of(const struct dt_reader *r, uint32_t function, uint32_t entry)
{
	const struct dt_function_info *a = dt_reader_function(r, function),
				      *b = dt_reader_function(r, entry);

	return a && b && a->address == b->address && a->module == b->module;
}

struct adding {
	struct dt_fulls *f;
	uint64_t call;
};

static void add(void *ctx, const char *name, size_t n, const char *text, size_t length)
{
	struct adding *a = ctx;

	dt_full_add(a->f, a->call, name, n, text, length);
}

void dt_behind_values(struct dt_fulls *f, uint64_t call, struct dt_formats *formats,
		      const struct dt_site *site, const struct dt_record *r)
{
	struct adding a = {f, call};

	dt_format_each(formats, site->function, r->value, r->flags & DT_FAULT, add, &a);
}

/* It is printed as path="/etc/passwd". */
void dt_behind_text(struct dt_fulls *f, uint64_t call, const struct dt_reader *r,
		    const struct dt_text *t)
{
	static struct dt_out text = {.fd = -1};
	const char *value;

	text.n = 0;
	dt_text_print(&text, r, t);
	value = memchr(text.buffer, '=', text.n);
	if (value)
		dt_full_add(f, call, text.buffer, (size_t)(value - text.buffer), value + 1,
			    (size_t)(text.buffer + text.n - value - 1));
}
