/* SPDX-License-Identifier: MIT */
/* One line of "plotme". */
#include <string.h>
#include "analyse/stackify.h"
#include "core/text.h"

/* Half of v, exactly: "3877.5", "1985". */
static char *put_half(char *p, uint64_t v)
{
	p += dt_text_decimal(p, v / 2);
	if (v & 1) {
		*p++ = '.';
		*p++ = '5';
	}
	return p;
}

size_t dt_stackify_call(struct dt_stackify *s, char *out, uint64_t begin, uint64_t end,
			const char *name)
{
	uint64_t d = end - begin;
	size_t n = strlen(name);
	char *p = out;

	if (d < s->min)
		return 0;
	/* (begin + end) / 2 - first, without losing a bit */
	p = put_half(p, 2 * (begin - s->first) + d);
	*p++ = s->separator;
	p += dt_text_decimal(p, s->row++);
	*p++ = s->separator;
	p = put_half(p, d);
	*p++ = s->separator;
	p = put_half(p, d);
	*p++ = s->separator;
	memcpy(p, name, n);
	p += n;
	*p++ = '\n';
	return (size_t)(p - out);
}
