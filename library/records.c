/* SPDX-License-Identifier: MIT */
/* libdevtrace: a trace's records, one by one. */
#include <stdlib.h>
#include <string.h>

#include "library/trace-work.h"

struct devtrace_records {
	struct dt_reader *reader;
	struct dt_span span;
	uint32_t at;	/* index in the span of the next record */
	bool loss_said; /* the loss before the span has been handed out */
	bool ended, failed;
	struct dt_error why;
	struct devtrace_record record;
};

static int start(struct devtrace_records *r, struct devtrace *t,
		 const struct devtrace_choice *choice, struct dt_error *e)
{
	struct devtrace_choice wanted;
	struct dt_reader_range range;

	if (dt_library_choice(choice, &wanted, &range, e))
		return -1;
	if (wanted.filter)
		return dt_fail(e,
			       "a filter means calls, not records: take devtrace_calls_begin(), or "
			       "choose among the records yourself");
	r->reader = dt_reader_again(t->reader, e);
	return r->reader ? dt_reader_start(r->reader, &range, e) : -1;
}

PUBLIC struct devtrace_records *devtrace_records_begin(struct devtrace *t,
						       const struct devtrace_choice *choice,
						       struct devtrace_error *e)
{
	struct devtrace_records *r = calloc(1, sizeof(*r));
	struct dt_error why = {""};

	if (!r)
		dt_fail(&why, "out of memory");
	else if (start(r, t, choice, &why) == 0)
		return r;
	devtrace_records_end(r);
	dt_library_fail(e, &why);
	return NULL;
}

PUBLIC void devtrace_records_end(struct devtrace_records *r)
{
	if (!r)
		return;
	dt_reader_close(r->reader);
	free(r);
}

static void fill_loss(struct devtrace_records *r)
{
	const struct dt_span *s = &r->span;

	r->record = (struct devtrace_record){.ticks = s->lost_begin,
					     .value = {s->lost, s->lost_begin, s->lost_end},
					     .values = 7,
					     .thread = DEVTRACE_NONE,
					     .core = dt_reader_ring_core(r->reader, s->core),
					     .kind = '!'};
}

static void fill_record(struct devtrace_records *r, uint32_t i)
{
	const struct dt_span *s = &r->span;
	const struct dt_site *site = dt_reader_site(r->reader, s->site[i]);

	r->record = (struct devtrace_record){.ticks = s->ticks[i],
					     .sp = s->sp[i],
					     .thread = s->tid,
					     .core = dt_span_core(s, i),
					     .flags = s->flags[i]};
	if (site) {
		r->record.pc = site->pc;
		r->record.function = site->function;
		r->record.kind = (char)site->kind;
		r->record.values = s->value ? site->mask & 0xf : 0;
	}
	if (s->value)
		memcpy(r->record.value, s->value[i], sizeof(r->record.value));
}

PUBLIC int devtrace_records_next(struct devtrace_records *r, const struct devtrace_record **record,
				 struct devtrace_error *e)
{
	*record = NULL;
	while (!r->ended && !r->failed) {
		int rc;

		if (r->span.lost && !r->loss_said) {
			r->loss_said = true;
			fill_loss(r);
			*record = &r->record;
			return 1;
		}
		if (r->at < r->span.n) {
			fill_record(r, r->at++);
			*record = &r->record;
			return 1;
		}
		r->at = 0;
		r->loss_said = false;
		rc = dt_reader_next(r->reader, &r->span, &r->why);
		r->failed = rc < 0;
		r->ended = rc == 0;
	}
	return r->failed ? dt_library_fail(e, &r->why) : 0;
}
