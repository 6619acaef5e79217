/* SPDX-License-Identifier: MIT */
/* What is printed inside calls: losses, events, points; and arguments that come in later records.
 */
#include "cmd/calls-work.h"

#include "analyse/messages.h"
#include "core/text.h"
#include "show/event.h"

void dt_calls_on_loss(void *ctx, uint32_t tid, uint64_t lost, uint64_t begin, uint64_t end)
{
	struct calls *k = ctx;
	const uint32_t *caller;
	struct output *to;
	char *text, *p;

	if (tid == DT_NO_TID)
		tid = k->last_tid;
	if (!dt_calls_wants(k, tid))
		return;
	to = dt_calls_output(k, tid);
	if (!to)
		return;
	dt_pair_look(k->pair, tid);
	dt_whole_hits_end_of(&k->hits, tid);
	dt_calls_open_callers(k, to, tid);
	if (k->json) {
		dt_calls_json_loss(k, tid, lost, begin, end);
		return;
	}
	caller = dt_pair_caller_note(k->pair);
	text = dt_out_room(k->out, LINE);
	p = dt_calls_other_columns(k, text, to, tid, begin ? begin : UINT64_MAX);
	p = dt_calls_start(k, p, tid, dt_calls_next_level(caller));
	p = stpcpy(p, "/* ");
	p += dt_text_decimal(p, lost);
	p = stpcpy(p, " records lost here");
	if (begin == 0) {
		p = stpcpy(p, ", or before */");
	} else if (end > begin) {
		p = stpcpy(p, ", within");
		p = stpcpy(dt_calls_duration(k, p, end - begin) - 2, " */");
	} else {
		p = stpcpy(p, " */");
	}
	*p++ = '\n';
	dt_calls_text(k, to, text, (size_t)(p - text));
}

static char *put_0x(char *p, uint64_t v)
{
	p = stpcpy(p, "0x");
	return p + dt_text_hex(p, v);
}

/* Writes an event as "kernel TIMER(0x11): Timer interrupt", or by its numbers if it has no name. */
static char *put_event(const struct calls *k, char *p, uint64_t body)
{
	const struct dt_event_row *row = dt_reader_event(k->reader, body);

	if (!row) {
		p = stpcpy(p, "event ");
		return put_0x(p, body);
	}
	p = dt_calls_quotable(p, row->subsystem_name);
	if (row->event == DT_NO_EVENT) {
		p = stpcpy(p, " event ");
		p += dt_text_decimal(p, body >> 32 & 0xffff);
	} else {
		*p++ = ' ';
		p = dt_calls_quotable(p, row->name);
	}
	*p++ = '(';
	p = put_0x(p, (uint32_t)body);
	*p++ = ')';
	if (row->description[0] && strcmp(row->description, row->name)) {
		p = stpcpy(p, ": ");
		p = dt_calls_quotable(p, row->description);
	}
	return p;
}

static char *put_channel(char *p, const char *what, uint64_t v)
{
	p = stpcpy(p, what);
	return put_0x(p, dt_message_channel(v));
}

/* Writes who wakes the thread. */
static char *put_waker(const struct calls *k, char *p, const struct dt_record *r)
{
	const struct dt_waker *by = dt_pair_waker(k->pair, DT_WAKER_OF(r->sp));
	char text[DT_WAKER_TEXT];

	if (!by)
		return stpcpy(p, "woken");
	*dt_waker_put(text, k->reader, by, true) = '\0';
	return dt_calls_quotable(stpcpy(p, by->made ? "made by " : "woken by "), text);
}

/* Writes what a record means that is no entry, exit or point. NULL: its kind is unknown. */
static char *put_other(const struct calls *k, char *p, const struct dt_record *r)
{
	char name[9] = "";

	switch (r->kind) {
	case DT_EVENT:
		return put_event(k, p, r->value[0]);
	case DT_SEND:
		return put_channel(p, "message sent, channel ", r->value[0]);
	case DT_RECEIVE:
		return put_channel(p, "message received, channel ", r->value[0]);
	case DT_SWITCH:
		p = stpcpy(p, "runs on core ");
		return p + dt_text_decimal(p, r->core);
	case DT_WAKE:
		return put_waker(k, p, r);
	case DT_RUNDOWN:
		memcpy(name, &r->value[1], 8);
		p = stpcpy(p, "exists");
		if (name[0]) {
			p = stpcpy(p, ": ");
			p = dt_calls_quotable(p, name);
		}
		return p;
	default:
		return NULL;
	}
}

static bool take_first(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

/* Says whether the innermost call is of a function that is not shown: then what happens in it is
 * not shown either. */
static bool is_of_hidden(struct calls *k)
{
	const struct dt_call *c = NULL;

	dt_pair_callers(k->pair, take_first, &c);
	return c && !dt_calls_is_shown(k, c->function);
}

/*
 * Writes the lines of the calls that something happened in that is not a call, and returns where
 * its own goes. own: the thread recorded it itself, so it belongs to the innermost call. NULL: it
 * is not shown.
 */
static struct output *show(struct calls *k, uint32_t tid, bool own)
{
	struct output *to;

	if (k->late || (own && is_of_hidden(k)))
		return NULL;
	to = dt_calls_output(k, tid);
	if (to)
		dt_calls_open_callers(k, to, tid);
	return to;
}

/* Does that, and writes the beginning of its line. */
static struct output *start_line(struct calls *k, uint32_t tid, uint64_t ticks, bool own,
				 char **text, char **p)
{
	struct output *to = show(k, tid, own);

	if (!to)
		return NULL;
	*text = dt_out_room(k->out, LINE);
	*p = dt_calls_start(k, dt_calls_other_columns(k, *text, to, tid, ticks), tid,
			    dt_calls_next_level(dt_pair_caller_note(k->pair)));
	return to;
}

/* Writes the line of an event. It is made in a buffer of its own, because events can be long. */
static void print_event(struct calls *k, const struct dt_record *r, unsigned mask,
			const struct dt_text *t)
{
	static struct dt_out line = {.fd = -1};
	const char *event;
	struct output *to;
	char *text, *p;
	size_t n;

	dt_out_forget(&line);
	if (t && dt_text_of_point(t)) {
		dt_out_text(&line, "  ");
		dt_text_print(&line, k->reader, t, NULL);
	} else {
		dt_event_print(&line, k->reader, r, mask, t);
	}
	event = dt_out_kept(&line, &n);
	k->failed |= !event;
	if (k->json) {
		bool more = t && dt_text_of_point(t);

		if (event && show(k, r->tid, true))
			dt_calls_json_text(k, more ? "value" : "event", r->tid, r->ticks,
					   more ? event + 2 : event, more ? n - 2 : n);
		return;
	}
	to = event ? start_line(k, r->tid, r->ticks, true, &text, &p) : NULL;
	if (!to)
		return;
	p = stpcpy(p, "* ");
	/* of a line that is cut at a terminal's edge, so much is enough */
	if (k->terminal.columns && n >= LINE - 1024)
		n = LINE - 1025;
	if (n < LINE - 1024) {
		memcpy(p, event, n);
		p += n;
		*p++ = '\n';
		dt_calls_text(k, to, text, (size_t)(p - text));
		return;
	}
	dt_calls_text(k, to, text, (size_t)(p - text));
	dt_calls_bytes(k, to, event, n);
	dt_calls_bytes(k, to, "\n", 1);
}

/* ---- arguments in records after the entry ---- */

/* Returns the innermost call if its line is still to be written and a record of this function row
 * can belong to its entry; or NULL. */
static const struct dt_call *call_of(struct calls *k, uint32_t function)
{
	const struct dt_call *c = NULL;

	dt_pair_callers(k->pair, take_first, &c);
	if (!c || !c->note || (*c->note & OPENED && !k->json))
		return NULL;
	return dt_entry_records_of(k->reader, function, c->entry) ? c : NULL;
}

static bool take_values(struct calls *k, const struct dt_site *site, const struct dt_record *r)
{
	const struct dt_call *c = call_of(k, site->function);

	if (!c)
		return false;
	dt_entry_records_values(&k->fulls, c->id, &k->formats, site, r, c->argument);
	k->failed |= k->fulls.failed;
	return true;
}

static bool take_text(struct calls *k, const struct dt_text *t)
{
	const struct dt_call *c = k->ending ? NULL : call_of(k, t->function);

	if (!c)
		return false;
	dt_entry_records_text(&k->fulls, c->id, k->reader, t, c->argument);
	k->failed |= k->fulls.failed;
	return true;
}

void dt_calls_on_text(void *ctx, const struct dt_text *t)
{
	struct calls *k = ctx;

	if (!dt_text_of_point(t) || (!take_text(k, t) && !dt_whole_hits_take_text(&k->hits, t)))
		print_event(k, &t->head, 1, t);
}

/* Writes the line of a point, "* sync+4(rax=0x1)", or of a further record of its values. */
static void print_point(struct calls *k, const struct dt_site *site, const struct dt_record *r)
{
	struct output *to;
	char *text, *p;

	if (k->json) {
		if (show(k, r->tid, true))
			dt_calls_json_point(k, site, r);
		return;
	}
	to = start_line(k, r->tid, r->ticks, true, &text, &p);
	if (!to)
		return;
	p = stpcpy(p, "* ");
	if (site->place == DT_SITE_POINT)
		p = dt_format_point(&k->formats, p, site->function, r->value, r->flags & DT_FAULT);
	else
		p = dt_format_more(&k->formats, stpcpy(p, "  "), site->function, r->value,
				   r->flags & DT_FAULT);
	*p++ = '\n';
	dt_calls_text(k, to, text, (size_t)(p - text));
}

/* Writes the line of a hit of several records. */
void dt_calls_on_hit(void *ctx, struct dt_whole_hit *h)
{
	struct calls *k = ctx;
	struct output *to;
	char *text, *p;

	if (k->ending)
		dt_pair_look(k->pair, h->head.tid);
	if (k->json) {
		if (show(k, h->head.tid, true))
			dt_calls_json_hit(k, h);
	} else if ((to = start_line(k, h->head.tid, h->head.ticks, true, &text, &p))) {
		p = dt_format_full(&k->formats, stpcpy(p, "* "), h->site.function, h->head.value,
				   &h->full);
		*p++ = '\n';
		dt_calls_text(k, to, text, (size_t)(p - text));
	}
	dt_whole_hit_free(h);
}

/* Writes the line of a record that tells something of the program's surroundings. */
static void print_other(struct calls *k, const struct dt_span *s, const struct dt_site *site,
			const struct dt_record *r)
{
	bool own = !dt_kind_is_about(r->kind);
	struct output *to;
	char *text, *p, *end;

	if (k->json) {
		text = k->json_text;
		end = put_other(k, text, r);
		if (!end)
			end = text + dt_text_long(text, r, NULL, site->mask) - 1; /* no newline */
		if (show(k, s->tid, own))
			dt_calls_json_text(k, "other", s->tid, r->ticks, text,
					   (size_t)(end - text));
		return;
	}
	to = start_line(k, s->tid, r->ticks, own, &text, &p);
	if (!to)
		return;
	end = put_other(k, stpcpy(p, "/* "), r);
	if (end)
		end = stpcpy(end, " */\n");
	else
		end = p + dt_text_long(p, r, NULL, site->mask);
	dt_calls_text(k, to, text, (size_t)(end - text));
}

void dt_calls_on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct calls *k = ctx;
	const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);
	struct dt_record r;

	dt_span_record(k->reader, s, i, &r);
	if (dt_texts_take(&k->texts, site, &r) || dt_whole_hits_take(&k->hits, site, &r))
		return;
	if (site->place == DT_SITE_POINT_LEAVING ||
	    (site->place == DT_SITE_POINT_MORE && take_values(k, site, &r)))
		return;
	if (site->place == DT_SITE_POINT || site->place == DT_SITE_POINT_MORE) {
		print_point(k, site, &r);
		return;
	}
	/* an event of the program's own; other events, of imported traces, become comments */
	if (dt_event_is(&r) && site->place == DT_SITE_EVENT) {
		print_event(k, &r, site->mask, NULL);
		return;
	}
	if (!k->switches && (r.kind == DT_SWITCH || r.kind == DT_RUNDOWN))
		return;
	/* a core that runs none of the threads says nothing of any thread */
	if (r.kind == DT_SWITCH && (s->tid == DT_NO_TID || !dt_calls_wants(k, s->tid)))
		return;
	print_other(k, s, site, &r);
}
