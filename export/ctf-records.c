/* SPDX-License-Identifier: MIT */
/* Records in a CTF trace. */
#include "export/ctf-work.h"

#include <string.h>

#include "analyse/messages.h"

static void on_value(void *to, const char *name, size_t n, const char *text, size_t length)
{
	struct writing *w = to;

	if (w->any)
		dt_json_bytes(&w->text, ", ", 2);
	w->any = true;
	if (n) {
		dt_json_utf8(&w->text, name, n);
		dt_json_bytes(&w->text, "=", 1);
	}
	dt_json_utf8(&w->text, text, length);
}

/* Describes a record as text: arguments or result of a call; of an event, what it is. */
static void describe(struct writing *w, const struct dt_site *site, const struct dt_record *x)
{
	const struct dt_event_row *row;

	w->text.bytes.n = 0;
	w->any = false;
	if (!w->formats)
		return;
	if (x->kind == DT_ENTRY || x->kind == DT_POINT || site->place == DT_SITE_POINT_MORE) {
		dt_format_each(w->formats, site->function, x->value,
			       x->kind != DT_ENTRY && (x->flags & DT_FAULT), on_value, w);
	} else if (x->kind == DT_EXIT && site->place != DT_SITE_TAIL) {
		dt_words_result(w->formats, &w->text, site->function, x->value);
		/* without the leading " = " */
		if (w->text.bytes.n > 3 && !w->text.failed) {
			w->text.bytes.n -= 3;
			memmove(w->text.bytes.p, w->text.bytes.p + 3, w->text.bytes.n);
		}
	} else if (x->kind == DT_MORE) {
		dt_json_utf8(&w->text, (const char *)x->value,
			     strnlen((const char *)x->value, sizeof(x->value)));
	} else if (x->kind == DT_EVENT && (row = dt_reader_event(w->r, x->value[0]))) {
		dt_json_print(&w->text, "%s %u", row->subsystem_name, (unsigned)x->value[0]);
	} else if (x->kind == DT_SEND || x->kind == DT_RECEIVE) {
		dt_json_print(&w->text, "channel 0x%lx",
			      (unsigned long)dt_message_channel(x->value[0]));
	} else if (!strchr("MNSRV", x->kind) || !x->kind) {
		dt_json_print(&w->text, "kind 0x%02x", x->kind);
	}
}

static const char *name_of(const struct writing *w, const struct dt_site *site,
			   const struct dt_record *x)
{
	const struct dt_event_row *row;

	if (x->kind != DT_EVENT)
		return site->function ? dt_reader_function_name(w->r, site->function) : "";
	row = dt_reader_event(w->r, x->value[0]);
	return row		? row->name
	       : site->function ? dt_reader_function_name(w->r, site->function)
				: "";
}

static void set_context(struct writing *w, bt_field *context, const struct dt_record *x)
{
	const struct dt_thread_info *t = dt_reader_thread(w->r, x->tid);

	dt_ctf_set_number(context, TID, x->tid);
	dt_ctf_set_number(context, PID, t ? t->pid : 0);
	dt_ctf_set_number(context, CORE, x->core);
	dt_ctf_set_number(context, FLAGS, x->flags);
	dt_ctf_set_number(context, PC, x->pc);
	dt_ctf_set_number(context, SP, x->sp);
	dt_ctf_set_string(context, THREAD, t ? t->name : "");
}

static void set_payload(struct writing *w, bt_field *payload, const struct dt_site *site,
			const struct dt_record *x)
{
	bt_field *values = dt_ctf_member(payload, VALUES);
	unsigned n = site->mask ? 32 - (unsigned)__builtin_clz(site->mask) : 0;

	n = n > 4 ? 4 : n;
	dt_ctf_set_string(payload, NAME, name_of(w, site, x));
	describe(w, site, x);
	dt_json_bytes(&w->text, "", 1);
	dt_ctf_set_string(payload, TEXT, w->text.failed ? "" : (const char *)w->text.bytes.p);
	if (dt_bt.field_array_dynamic_set_length(values, n)) {
		dt_ctf_push(w, NULL);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		dt_bt.field_integer_unsigned_set_value(
			dt_bt.field_array_borrow_element_field_by_index(values, i), x->value[i]);
}

void dt_ctf_record(struct writing *w, struct core *c, uint32_t i, uint64_t ticks)
{
	const struct dt_site *site = dt_reader_site(w->r, w->span.site[i]);
	struct dt_record x;
	bt_message *m;
	bt_event *event;

	dt_span_record(w->r, &w->span, i, &x);
	m = dt_bt.message_event_create_with_packet_and_default_clock_snapshot(
		w->iterator, w->event_class[dt_ctf_class(x.kind)], c->packet, ticks);
	dt_ctf_push(w, m);
	if (!m)
		return;
	event = dt_bt.message_event_borrow_event(m);
	set_context(w, dt_bt.event_borrow_common_context_field(event), &x);
	set_payload(w, dt_bt.event_borrow_payload_field(event), site, &x);
	w->moved += ticks != x.ticks;
	c->last = ticks;
	c->records++;
}
