/* SPDX-License-Identifier: MIT */
#include "show/place.h"

#include <string.h>

#include "symbols/nameless.h"

/* Writes at most 600 bytes of a name; what could change the terminal, or end a comment, does not
 * get through. */
static char *put_name(char *p, const char *s)
{
	for (int i = 0; i < 600 && s[i]; i++) {
		bool ends = s[i] == '/' && i && s[i - 1] == '*';

		*p++ = (unsigned char)s[i] < ' ' || s[i] == 127 || ends ? '?' : s[i];
	}
	*p = '\0';
	return p;
}

static char *put_offset(char *p, uint64_t offset)
{
	return p + dt_format(p, 32, "+0x%lx", (unsigned long)offset);
}

char *dt_place_put(char *p, const struct dt_reader *r, const struct dt_backtrace_frame *s)
{
	const struct dt_function_info *f = s->function ? dt_reader_function(r, s->function) : NULL;
	const struct dt_module_info *m = f && f->module ? dt_reader_module(r, f->module) : NULL;
	const char *slash = strrchr(s->file, '/'), *before = " (";
	size_t n;

	if (!f)
		return p + dt_format(p, 32, "0x%lx", (unsigned long)s->address);
	if (m && dt_nameless_address(f->name, &n)) {
		p = put_offset(put_name(p, m->file), s->address - m->base);
	} else {
		p = put_offset(put_name(p, f->shown), s->address - f->address);
		if (m) {
			p = put_name(stpcpy(p, before), m->file);
			before = ", ";
		}
	}
	if (s->file[0]) {
		p = put_name(stpcpy(p, before), slash ? slash + 1 : s->file);
		p += dt_format(p, 32, ":%u", s->line);
		before = ", ";
	}
	return before[0] == ',' ? stpcpy(p, ")") : p;
}
