/* SPDX-License-Identifier: MIT */
/* devtrace cat of a fleet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cmd/cat-work.h"
#include "cmd/fleet.h"
#include "cmd/json-pieces.h"

/* Writes a number that may be negative, or "?". */
static void put_ns(struct dt_out *o, const char *key, int64_t units, int64_t unknown)
{
	int64_t ns = units / DT_ALIGN_NS;

	dt_out_text(o, key);
	if (units == unknown) {
		dt_out_char(o, '?');
		return;
	}
	if (ns < 0)
		dt_out_char(o, '-');
	dt_out_decimal(o, (uint64_t)llabs(ns));
}

/* Adds to the line before who wrote it, and when that was; bounds outwards. */
static void put_host(struct dt_out *o, const struct dt_fleet_merge *m, uint32_t host,
		     const struct dt_knot *at)
{
	o->n--; /* the newline goes after it */
	dt_out_text(o, " host=");
	o->n = (size_t)(dt_text_name(dt_out_room(o, 2 * LONGEST_NAME + 2),
				     m->fleet->host[host].name) -
			o->buffer);
	put_ns(o, " at=", at->t - m->zero, INT64_MIN);
	put_ns(o, " early=",
	       at->early == DT_UNKNOWN_EARLY ? INT64_MIN : at->early - m->zero - DT_ALIGN_NS,
	       INT64_MIN);
	put_ns(o,
	       " late=", at->late == DT_UNKNOWN_LATE ? INT64_MAX : at->late - m->zero + DT_ALIGN_NS,
	       INT64_MAX);
	dt_out_char(o, '\n');
}

static char *put_signed(char *p, const char *name, int64_t units, bool known)
{
	int64_t ns = units / DT_ALIGN_NS;

	p = stpcpy(p, name);
	if (known && ns < 0)
		*p++ = '-';
	return dt_json_known(p, "", (uint64_t)llabs(ns), known);
}

/* Adds to the object before whose it is, and when that was: for programs, null is not known. */
static void put_host_json(struct dt_out *o, const struct dt_fleet_merge *m, uint32_t host,
			  const struct dt_knot *at)
{
	bool early = at->early != DT_UNKNOWN_EARLY, late = at->late != DT_UNKNOWN_LATE;
	char *begin, *p;

	o->n -= 2; /* the brace and the newline go after it */
	dt_json_member(o, ", \"host\": ", m->fleet->host[host].name);
	begin = p = dt_out_room(o, DT_JSON_PIECE);
	p = put_signed(p, ", \"fleet_ns\": ", at->t - m->zero, true);
	p = put_signed(p, ", \"early_ns\": ", early ? at->early - m->zero - DT_ALIGN_NS : 0, early);
	p = put_signed(p, ", \"late_ns\": ", late ? at->late - m->zero + DT_ALIGN_NS : 0, late);
	dt_out_used(o, (size_t)(stpcpy(p, "}\n") - begin));
}

/* Prints one record. */
static void print_one(struct cat *k, const struct dt_fleet_merge *m, const struct dt_span *s)
{
	struct dt_knot at = dt_fleet_place(m->fleet, m->host, s->ticks[0]);
	struct dt_span loss = *s, one = *s;

	if (k->format == 'l' || k->format == 'j') {
		void (*const put)(struct dt_out *, const struct dt_fleet_merge *, uint32_t,
				  const struct dt_knot *) =
			k->format == 'l' ? put_host : put_host_json;

		/* what was lost before it has a line of its own */
		loss.n = 0;
		if (s->lost) {
			dt_cat_span(k, &loss);
			put(&k->out, m, m->host, &at);
		}
		one.lost = 0;
		dt_cat_span(k, &one);
		put(&k->out, m, m->host, &at);
		return;
	}
	if (k->format == 'k' && m->realtime)
		k->fleet_us = (uint64_t)((int64_t)m->realtime + at.t / DT_ALIGN_NS) / 1000;
	dt_out_text(&k->out, m->fleet->host[m->host].name);
	dt_out_char(&k->out, k->format == 'k' ? ' ' : ':');
	dt_cat_span(k, &one);
}

static int print(struct cat *k, struct dt_fleet_merge *m)
{
	struct dt_reader **own = m->reader;
	struct cat *of = calloc(m->fleet->hosts, sizeof(*of));
	struct dt_error e;
	struct dt_span s;
	int rc = -1;

	if (!of)
		return dt_cmd_fail("out of memory");
	for (uint32_t i = 0; i < m->fleet->hosts && k->format == 'j'; i++)
		if (dt_cat_json_begin(&of[i].json, own[i], &k->out, &e)) {
			free(of);
			return dt_cmd_fail("%s", e.text);
		}
	while (!k->out.failed && (rc = dt_fleet_merge_next(m, &s, &e)) > 0) {
		struct cat *c = &of[m->host];

		if (!s.n)
			continue;
		/* names are those of the record's own trace; the rest is of all */
		k->reader = own[m->host];
		if (dt_feed_is_unasked(k->reader, dt_reader_site(k->reader, s.site[0])->kind))
			continue;
		k->by_address = c->by_address;
		k->sorted = c->sorted;
		k->pointers = c->pointers;
		k->json = c->json;
		print_one(k, m, &s);
		c->by_address = k->by_address;
		c->sorted = k->sorted;
		c->pointers = k->pointers;
		c->json = k->json;
	}
	for (uint32_t i = 0; i < m->fleet->hosts; i++) {
		free(of[i].by_address);
		dt_pointers_free(of[i].pointers);
	}
	free(of);
	if (rc < 0 && !k->out.failed) {
		dt_out_flush(&k->out);
		return dt_cmd_fail("%s", e.text);
	}
	return dt_out_end(&k->out);
}

int dt_cat_fleet(struct cat *k, const char *path, const struct dt_range_options *when)
{
	struct dt_needs needs = {.flags = DT_NEED_PROGRAMS};
	struct dt_fleet_merge m;
	struct dt_reader **reader;
	struct dt_fleet *f;
	int status;

	if (k->format == 'c') {
		dt_cmd_fail("%s: of a fleet there are the line of 121 bytes, -l, -k, -3 and "
			    "--json; -c is of one machine's trace",
			    path);
		return 2;
	}
	dt_terminal_listing(&k->terminal, true);
	if (k->terminal.columns)
		k->out.file = stdout;
	tzset(); /* reads a file */
	f = dt_fleet_open_all(path, &needs, &reader, &status);
	if (!f)
		return status;
	status = dt_fleet_merge_begin(&m, f, reader, when, true);
	if (!status && k->format == 'k' && !m.realtime)
		status = dt_cmd_fail(
			"the reference has no reading of the wall clock, which -k prints");
	if (!status)
		status = print(k, &m);
	dt_fleet_merge_end(&m);
	if (status != 2)
		dt_fleet_say_lost(f, reader);
	dt_fleet_close_all(f, reader);
	return status;
}
