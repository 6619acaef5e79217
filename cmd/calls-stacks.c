/* SPDX-License-Identifier: MIT */
/* The lines of a call's stack, as --backtrace has kept it, below the call's own. */
#include "cmd/calls-work.h"

#include "show/place.h"

void dt_calls_stack(struct calls *k, struct output *to, const struct dt_call *c, uint32_t tid,
		    uint32_t level)
{
	const struct dt_stack_read *s =
		k->json ? NULL /* they are in its line */
			: dt_backtraces_of(&k->backtraces, tid, c->end, c->function);

	for (size_t i = 0; s && i <= s->n; i++) {
		char *line = dt_out_room(k->out, LINE), *p = line;

		if (i == s->n && !s->ended[0])
			break;
		p = k->fields.list.chosen ? dt_calls_columns(k, p, NULL) : dt_calls_blank(p);
		p = dt_calls_start(k, p, tid, level + 1);
		if (i < s->n) {
			p += dt_format(p, 16, "#%-2zu ", i + 1);
			p = dt_place_put(p, k->reader, &s->frame[i]);
		} else {
			p = dt_calls_quotable(stpcpy(p, "... "), s->ended);
		}
		*p++ = '\n';
		dt_calls_text(k, to, line, (size_t)(p - line));
	}
}
