/* SPDX-License-Identifier: MIT */
/* Remembers the last of many lines. */
#include "cmd/last-lines.h"

#include <stdlib.h>
#include <string.h>

void dt_last_lines_add(struct dt_last_lines *l, uint64_t end, uint32_t tid, const char *text,
		       size_t n)
{
	struct dt_last_line new = {.end = end, .tid = tid, .n = n};
	unsigned i;

	l->total++;
	if (!l->line)
		l->line = calloc(l->most, sizeof(*l->line));
	l->no_memory |= !l->line;
	if (!l->line || (l->n == l->most && end < l->line[0].end))
		return;
	new.text = malloc(n);
	if (!new.text) {
		l->no_memory = true;
		return;
	}
	memcpy(new.text, text, n);
	if (l->n == l->most) {
		free(l->line[0].text);
		l->n--;
		memmove(l->line, l->line + 1, l->n * sizeof(*l->line));
	}
	for (i = l->n; i && l->line[i - 1].end > end; i--)
		l->line[i] = l->line[i - 1];
	l->line[i] = new;
	l->n++;
}

void dt_last_lines_free(struct dt_last_lines *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->line[i].text);
	free(l->line);
	l->line = NULL;
	l->n = 0;
}
