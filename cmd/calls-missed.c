/* SPDX-License-Identifier: MIT */
/* What is printed among calls where a function went off, to keep to a budget: its calls are not
 * there from then on. */
#include "cmd/calls-work.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/text.h"

/* A thread of which no call of the function has been seen is not told of it. */
int dt_calls_missed_begin(struct calls *k, struct dt_error *e)
{
	if (dt_missed_read(&k->missed, k->reader, e) < 0)
		return -1;
	k->called = calloc(k->missed.functions + 1, sizeof(*k->called));
	return k->called ? 0 : dt_fail(e, "out of memory");
}

void dt_calls_missed_free(struct calls *k)
{
	dt_missed_free(&k->missed);
	free(k->called);
}

static void print(struct calls *k, uint32_t tid, const struct dt_budget_row *x)
{
	const uint32_t *caller = dt_pair_caller_note(k->pair);
	struct output *to = dt_calls_output(k, tid);
	char *text, *p, name[512];

	if (!to)
		return;
	dt_calls_open_callers(k, to, tid);
	if (k->json) {
		dt_calls_json_off(k, tid, x);
		return;
	}
	snprintf(name, sizeof(name), "%s: not recorded for %.3f s",
		 dt_reader_function_name(k->reader, x->function),
		 (double)(x->end - x->begin) * dt_reader_ns_per_tick(k->reader) / 1e9);
	text = dt_out_room(k->out, LINE);
	p = dt_calls_other_columns(k, text, to, tid, x->begin);
	p = dt_calls_start(k, p, tid, dt_calls_next_level(caller));
	p = stpcpy(stpcpy(p, "/* "), name);
	p = stpcpy(p, " from here on, to keep to the budget; some ");
	p += dt_text_decimal(p, x->calls);
	p = stpcpy(p, " calls are estimated, by the rate before");
	p = stpcpy(p, x->rate_after < 0 ? " */\n" : " and that after */\n");
	dt_calls_text(k, to, text, (size_t)(p - text));
}

void dt_calls_missed_until(struct calls *k, uint32_t tid, uint64_t ticks)
{
	if (!k->merge && tid != k->missed_tid) {
		k->missed_tid = tid;
		k->missed_at = 0;
		memset(k->called, 0, k->missed.functions * sizeof(*k->called));
	}
	for (; k->missed_at < k->missed.n && k->missed.row[k->missed_at].begin <= ticks;
	     k->missed_at++) {
		const struct dt_budget_row *x = &k->missed.row[k->missed_at];

		if (k->called[x->function] && x->function < k->functions && k->shown[x->function])
			print(k, tid, x);
	}
}
