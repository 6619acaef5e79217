/* SPDX-License-Identifier: MIT */
/* Perfetto's events: times, names, values. */
#include "export/perfetto-work.h"

uint64_t dt_perfetto_ns_at(const struct writing *w, uint64_t ticks)
{
	return dt_reader_ns(w->r, ticks);
}

uint64_t dt_perfetto_ns_on(const struct writing *w, struct stacks *s, uint64_t ticks)
{
	uint64_t ns = dt_perfetto_ns_at(w, ticks);

	if (ns < s->last)
		ns = s->last;
	return s->last = ns;
}

void dt_perfetto_begin_event(struct writing *w, unsigned type, uint64_t uuid)
{
	w->event.bytes.n = 0;
	w->interned.bytes.n = 0;
	dt_protobuf_number(&w->event, EVENT_TYPE, type);
	dt_protobuf_number(&w->event, EVENT_TRACK_UUID, uuid);
}

void dt_perfetto_end_event(struct writing *w, uint64_t ns)
{
	w->failed = w->failed || w->event.failed || w->interned.failed;
	if (w->failed)
		return;
	dt_perfetto_begin_packet(w);
	dt_protobuf_number(&w->packet, PACKET_TIMESTAMP, ns);
	dt_perfetto_put_sequence(w, SEQUENCE);
	if (w->interned.bytes.n)
		dt_protobuf_bytes(&w->packet, PACKET_INTERNED_DATA, w->interned.bytes.p,
				  w->interned.bytes.n);
	dt_protobuf_bytes(&w->packet, PACKET_TRACK_EVENT, w->event.bytes.p, w->event.bytes.n);
	dt_perfetto_end_packet(w);
}

static void intern(struct writing *w, unsigned field, uint64_t iid, const char *s, size_t n)
{
	size_t begin = dt_protobuf_begin(&w->interned, field);

	dt_protobuf_number(&w->interned, INTERNED_IID, iid);
	dt_perfetto_put_text(w, &w->interned, INTERNED_TEXT, s, n);
	dt_protobuf_end(&w->interned, begin);
}

void dt_perfetto_put_function(struct writing *w, uint32_t function)
{
	const struct dt_function_info *info = dt_reader_function(w->r, function);
	const char *name = dt_reader_function_name(w->r, function), *module;
	uint32_t m = info ? info->module : 0;

	if (!w->function_told[function])
		intern(w, INTERNED_NAMES, function + 1, name, strlen(name));
	w->function_told[function] = true;
	dt_protobuf_number(&w->event, EVENT_NAME_IID, function + 1);
	module = dt_export_module(w->r, function);
	if (!*module)
		return;
	if (!w->module_told[m])
		intern(w, INTERNED_CATEGORIES, m, module, strlen(module));
	w->module_told[m] = true;
	dt_protobuf_number(&w->event, EVENT_CATEGORY_IIDS, m);
}

/* Adds a value as a number if it is written as one: Perfetto can calculate with those. */
static void put_value(struct writing *w, const char *text, size_t n)
{
	uint64_t v = 0;
	size_t i = 0;
	bool hex = n > 2 && n <= 18 && text[0] == '0' && text[1] == 'x',
	     minus = n && text[0] == '-';

	for (i = hex ? 2 : minus; i < n; i++) {
		char c = text[i];
		unsigned digit = c >= '0' && c <= '9'	       ? (unsigned)(c - '0')
				 : hex && c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							       : 16;

		if (digit == 16)
			break;
		v = v * (hex ? 16 : 10) + digit;
	}
	if (i < n || n == minus || (!hex && n - minus > 18))
		dt_perfetto_put_text(w, &w->event, ANNOTATION_STRING, text, n);
	else
		dt_protobuf_number(&w->event, hex ? ANNOTATION_POINTER : ANNOTATION_INT,
				   minus ? -v : v);
}

void dt_perfetto_annotate_text(struct writing *w, const char *name, const char *text, size_t n)
{
	size_t begin = dt_protobuf_begin(&w->event, EVENT_DEBUG_ANNOTATIONS);

	dt_perfetto_put_string(w, &w->event, ANNOTATION_NAME, name);
	put_value(w, text, n);
	dt_protobuf_end(&w->event, begin);
}

void dt_perfetto_annotate_number(struct writing *w, const char *name, unsigned field, uint64_t v)
{
	size_t begin = dt_protobuf_begin(&w->event, EVENT_DEBUG_ANNOTATIONS);

	dt_perfetto_put_string(w, &w->event, ANNOTATION_NAME, name);
	dt_protobuf_number(&w->event, field, v);
	dt_protobuf_end(&w->event, begin);
}

/* most arguments of a function whose names are written once only; see also show/format.c */
#define ARGUMENTS 64

static void on_value(void *to, const char *name, size_t n, const char *text, size_t length)
{
	struct writing *w = to;
	uint64_t iid = (uint64_t)w->function * ARGUMENTS + ++w->arguments;
	char number[16];
	size_t begin;

	if (!n) {
		dt_format(number, sizeof(number), "%u", w->arguments);
		name = number;
		n = strlen(number);
	}
	if (!w->arguments_told[w->function] && w->arguments <= ARGUMENTS)
		intern(w, INTERNED_ANNOTATIONS, iid, name, n);
	begin = dt_protobuf_begin(&w->event, EVENT_DEBUG_ANNOTATIONS);
	if (w->arguments <= ARGUMENTS)
		dt_protobuf_number(&w->event, ANNOTATION_NAME_IID, iid);
	else
		dt_perfetto_put_text(w, &w->event, ANNOTATION_NAME, name, n);
	put_value(w, text, length);
	dt_protobuf_end(&w->event, begin);
}

void dt_perfetto_put_values(struct writing *w, uint32_t function, const uint64_t *value,
			    bool faults)
{
	if (!w->formats || !value)
		return;
	w->arguments = 0;
	w->function = function;
	dt_format_each(w->formats, function, value, faults, on_value, w);
	w->arguments_told[function] = true;
}
