/* SPDX-License-Identifier: MIT */
/* The records of several traces in the order of a fleet's time. */
#include <stdlib.h>
#include <string.h>

#include "cmd/fleet.h"

struct dt_fleet_source {
	struct dt_span span;
	uint32_t at;   /* the span's records before it have been given */
	bool more;     /* the span has something that has not been given */
	bool ended;    /* there are no more: a reader that is asked again looks into its file */
	int64_t t;     /* of what comes next */
	int64_t first; /* t of no record is less: a host's own order holds where its clock stepped
			*/
	bool single;
};

/* Gives a time of the fleet: a length of time, from the first record on, which is at zero. False:
 * reported. */
static bool parse(const struct dt_fleet *f, struct dt_reader **reader, int64_t zero,
		  const char *text, int64_t *t)
{
	const struct dt_reader *r = reader[f->reference];
	size_t n = strlen(text);
	uint64_t ticks;

	if (n && text[n - 1] >= '0' && text[n - 1] <= '9') {
		dt_cmd_fail(
			"'%s': a fleet's times are from its first record on: say for example 1.5ms",
			text);
		return false;
	}
	if (!dt_cmd_duration(r, text, &ticks))
		return false;
	*t = zero + (int64_t)((double)ticks * dt_reader_ns_per_tick(r) * DT_ALIGN_NS);
	return true;
}

/* Gets the host's next span, if need be. -1: error. */
static int fill(struct dt_fleet_merge *m, uint32_t host, struct dt_error *e)
{
	struct dt_fleet_source *s = &m->source[host];
	uint64_t ticks;
	int rc;

	if (!s->more) {
		rc = s->ended ? 0 : dt_reader_next(m->reader[host], &s->span, e);
		s->ended = rc == 0;
		if (rc <= 0)
			return rc;
		s->more = true;
		s->at = 0;
	}
	ticks = s->span.n	   ? s->span.ticks[s->at]
		: s->span.lost_end ? s->span.lost_end
				   : s->span.lost_begin;
	s->t = dt_fleet_place(m->fleet, host, ticks).t;
	if (s->t < s->first)
		s->t = s->first;
	s->first = s->t;
	return 0;
}

bool dt_fleet_range(const struct dt_fleet *f, struct dt_reader **reader,
		    const struct dt_range_options *when, uint32_t host,
		    struct dt_reader_range *range)
{
	int64_t zero = dt_fleet_begin(f), from, to;

	if ((when->from && !parse(f, reader, zero, when->from, &from)) ||
	    (when->to && !parse(f, reader, zero, when->to, &to)))
		return false;
	if (when->from && when->to && from > to)
		return dt_cmd_range_refuse(when);
	if (when->from)
		range->from = dt_fleet_ticks_at(f, host, from);
	if (when->to)
		range->to = dt_fleet_ticks_at(f, host, to + 1) - 1;
	/* a range that ends at 0 has no end */
	if (when->to && !range->to)
		range->to = 1;
	/* an instant may lie between two ticks */
	if (when->from && when->to && range->to < range->from)
		range->to = range->from;
	return true;
}

bool dt_fleet_window(struct dt_fleet_window *w, const struct dt_fleet *f, struct dt_reader **reader,
		     const struct dt_range_options *when, uint32_t host)
{
	struct dt_reader_range range = {.from = 0};

	if (!dt_fleet_range(f, reader, when, host, &range))
		return false;
	dt_format(w->from, sizeof(w->from), "%lu", (unsigned long)range.from);
	dt_format(w->to, sizeof(w->to), "%lu", (unsigned long)range.to);
	w->when = (struct dt_range_options){.from = when->from ? w->from : NULL,
					    .to = when->to ? w->to : NULL};
	return true;
}

int dt_fleet_merge_begin(struct dt_fleet_merge *m, const struct dt_fleet *f,
			 struct dt_reader **reader, const struct dt_range_options *when,
			 bool single)
{
	const struct dt_fleet_host *r = &f->host[f->reference];
	struct dt_error e;

	*m = (struct dt_fleet_merge){.fleet = f, .reader = reader};
	m->source = calloc(f->hosts, sizeof(*m->source));
	if (!m->source)
		return dt_cmd_fail("out of memory");
	m->zero = dt_fleet_begin(f);
	if (!dt_reader_realtime(reader[f->reference], r->zero, &m->realtime))
		m->realtime = 0;
	for (uint32_t i = 0; i < f->hosts; i++) {
		struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};

		if (!dt_fleet_range(f, reader, when, i, &range))
			return 2;
		m->source[i].first = INT64_MIN;
		m->source[i].single = single;
		if (dt_reader_start(reader[i], &range, &e) || fill(m, i, &e))
			return dt_cmd_fail("%s", e.text);
	}
	return 0;
}

/* Returns the host whose record comes first, of two at a time the one with the lower number; next:
 * the time of the first record of another one. */
static uint32_t choose(const struct dt_fleet_merge *m, int64_t *next)
{
	uint32_t best = m->fleet->hosts;

	*next = INT64_MAX;
	for (uint32_t i = 0; i < m->fleet->hosts; i++) {
		if (!m->source[i].more)
			continue;
		if (best == m->fleet->hosts || m->source[i].t < m->source[best].t) {
			if (best < m->fleet->hosts)
				*next = m->source[best].t;
			best = i;
		} else if (m->source[i].t < *next) {
			*next = m->source[i].t;
		}
	}
	return best;
}

/* Returns how many of the host's records are before `next'; at least one. */
static uint32_t count(const struct dt_fleet_merge *m, uint32_t host, int64_t next)
{
	const struct dt_fleet_source *s = &m->source[host];
	uint32_t low = s->at + 1, high = s->span.n;

	if (s->single || low >= high)
		return 1;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (dt_fleet_place(m->fleet, host, s->span.ticks[middle]).t < next)
			low = middle + 1;
		else
			high = middle;
	}
	return low - s->at;
}

int dt_fleet_merge_next(struct dt_fleet_merge *m, struct dt_span *to, struct dt_error *e)
{
	struct dt_fleet_source *s;
	int64_t next;
	uint32_t n, best;

	/* the span that was given last is the reader's, and valid until now */
	for (uint32_t i = 0; i < m->fleet->hosts; i++)
		if (!m->source[i].more && fill(m, i, e) < 0)
			return -1;
	best = choose(m, &next);
	if (best == m->fleet->hosts)
		return 0;
	s = &m->source[best];
	m->host = best;
	*to = s->span;
	if (s->span.n) {
		n = count(m, best, next);
		to->n = n;
		to->ticks += s->at;
		to->sp += s->at;
		to->site += s->at;
		to->flags += s->at;
		to->record_core += to->record_core ? s->at : 0;
		to->value += to->value ? s->at : 0;
		if (s->at)
			to->lost = 0;
		s->at += n;
	}
	s->more = s->at < s->span.n;
	return s->more && fill(m, best, e) < 0 ? -1 : 1;
}

void dt_fleet_merge_end(struct dt_fleet_merge *m)
{
	free(m->source);
	m->source = NULL;
}

void dt_fleet_say_lost(const struct dt_fleet *f, struct dt_reader **reader)
{
	struct dt_summary sum;
	struct dt_error e;

	for (uint32_t i = 0; i < f->hosts; i++)
		if (!dt_reader_summary(reader[i], &sum, &e) && sum.lost)
			dt_cmd_fail("note: %lu records of %s were lost", (unsigned long)sum.lost,
				    f->host[i].name);
}
