/* SPDX-License-Identifier: MIT */
/*
 * The Common Trace Format 1.8, by libbabeltrace2: a source component of ours, which gives its
 * records when it is asked for them, and the library's writer (babeltrace2-sink.ctf.fs(7)). A
 * stream is a core; the clock is the cycle counter, so that times are the ticks themselves.
 *
 * The format counts lost records by packet, and the writer wants a loss between two packets of
 * which the later one ends when the loss does: so the record after a loss has a packet of its own.
 *
 * Times in which threads waited for devtrace are not records and belong to no core: if there are
 * any, they have a stream of their own.
 */
#include <babeltrace2/babeltrace.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "analyse/messages.h"

#define PACKET_RECORDS 8192
#define PENDING	       8 /* most messages that one record makes */

static const struct {
	uint8_t kind;
	const char *name;
} classes[] = {
	{DT_ENTRY, "entry"},   {DT_EXIT, "exit"},	{DT_POINT, "point"},
	{DT_EVENT, "event"},   {DT_SEND, "sent"},	{DT_RECEIVE, "received"},
	{DT_SWITCH, "switch"}, {DT_RUNDOWN, "rundown"}, {DT_MORE, "more"},
	{0, "record"}, /* for any other kind */
};

#define CLASSES (sizeof(classes) / sizeof(*classes))

/* Indices of the members of the structures, in their order. */
enum { TID, PID, CORE, FLAGS, PC, SP, THREAD };
enum { NAME, TEXT, VALUES };
enum { WAIT_TID, WAIT_PID, WAIT_THREAD };
enum { WHY, DURATION };

struct core {
	bt_stream *stream;
	bt_packet *packet; /* NULL: none is open */
	uint32_t records;  /* records in the packet */
	uint64_t last;	   /* ticks of its last message: the next may not be before */
};

struct wait {
	uint64_t begin, ticks;
	uint32_t tid;
	char why[16];
};

struct writing {
	struct dt_reader *r;
	struct dt_formats *formats;
	struct dt_error *e;
	bool failed; /* it has failed, and e says why */
	uint64_t moved, first, end;

	bt_clock_class *clock;
	bt_trace_class *trace_class;
	bt_stream_class *stream_class;
	bt_event_class *event_class[CLASSES];
	bt_trace *trace;
	bt_self_message_iterator *iterator;
	struct core *core;
	struct wait *wait; /* waits for devtrace, in the order of time */
	size_t waits, waited;
	bt_stream_class *wait_class; /* NULL: there are no waits */
	bt_event_class *wait_event;
	struct core waiting;  /* the stream of the waits */
	size_t cores, ending; /* ending: the next stream to end, once there are no more records */

	struct dt_span span;
	uint32_t at;	  /* index in the span of the next record */
	bool ended, more; /* ended: no more spans; more: the span has more records */
	const bt_message *pending[PENDING];
	unsigned pendings, given;
	struct dt_json text;
	bool any; /* text has an argument */
};

/* ---- what records are ---- */

static void add_member(bt_field_class *structure, const char *name, bt_field_class *member)
{
	bt_field_class_structure_append_member(structure, name, member);
	bt_field_class_put_ref(member);
}

static void add_number(struct writing *w, bt_field_class *structure, const char *name,
		       unsigned bits, bool hex)
{
	bt_field_class *n = bt_field_class_integer_unsigned_create(w->trace_class);

	bt_field_class_integer_set_field_value_range(n, bits);
	if (hex)
		bt_field_class_integer_set_preferred_display_base(
			n, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	add_member(structure, name, n);
}

static bt_field_class *make_context(struct writing *w)
{
	bt_field_class *s = bt_field_class_structure_create(w->trace_class);

	add_number(w, s, "tid", 32, false);
	add_number(w, s, "pid", 32, false);
	add_number(w, s, "core", 16, false);
	add_number(w, s, "flags", 8, true);
	add_number(w, s, "pc", 64, true);
	add_number(w, s, "sp", 64, true);
	add_member(s, "thread", bt_field_class_string_create(w->trace_class));
	return s;
}

static bt_field_class *make_payload(struct writing *w)
{
	bt_field_class *s = bt_field_class_structure_create(w->trace_class);
	bt_field_class *value = bt_field_class_integer_unsigned_create(w->trace_class);

	bt_field_class_integer_set_preferred_display_base(
		value, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	add_member(s, "name", bt_field_class_string_create(w->trace_class));
	add_member(s, "text", bt_field_class_string_create(w->trace_class));
	add_member(s, "values", bt_field_class_array_dynamic_create(w->trace_class, value, NULL));
	bt_field_class_put_ref(value);
	return s;
}

static void make_classes(struct writing *w)
{
	bt_field_class *packet = bt_field_class_structure_create(w->trace_class), *context,
		       *payload;

	add_number(w, packet, "cpu_id", 32, false);
	bt_stream_class_set_default_clock_class(w->stream_class, w->clock);
	bt_stream_class_set_supports_packets(w->stream_class, true, true, true);
	bt_stream_class_set_supports_discarded_events(w->stream_class, true, true);
	bt_stream_class_set_packet_context_field_class(w->stream_class, packet);
	bt_field_class_put_ref(packet);
	context = make_context(w);
	bt_stream_class_set_event_common_context_field_class(w->stream_class, context);
	bt_field_class_put_ref(context);
	for (size_t i = 0; i < CLASSES; i++) {
		w->event_class[i] = bt_event_class_create(w->stream_class);
		bt_event_class_set_name(w->event_class[i], classes[i].name);
		payload = make_payload(w);
		bt_event_class_set_payload_field_class(w->event_class[i], payload);
		bt_field_class_put_ref(payload);
	}
}

/* Makes the class of waits: which thread, why, and how long. */
static void make_wait_class(struct writing *w)
{
	bt_field_class *context = bt_field_class_structure_create(w->trace_class);
	bt_field_class *payload = bt_field_class_structure_create(w->trace_class);

	bt_stream_class_set_name(w->wait_class, "waits");
	bt_stream_class_set_default_clock_class(w->wait_class, w->clock);
	bt_stream_class_set_supports_packets(w->wait_class, true, true, true);
	add_number(w, context, "tid", 32, false);
	add_number(w, context, "pid", 32, false);
	add_member(context, "thread", bt_field_class_string_create(w->trace_class));
	bt_stream_class_set_event_common_context_field_class(w->wait_class, context);
	bt_field_class_put_ref(context);
	w->wait_event = bt_event_class_create(w->wait_class);
	bt_event_class_set_name(w->wait_event, "waiting");
	add_member(payload, "why", bt_field_class_string_create(w->trace_class));
	add_number(w, payload, "ticks", 64, false);
	bt_event_class_set_payload_field_class(w->wait_event, payload);
	bt_field_class_put_ref(payload);
}

/* Sets the time of tick 0, so that the first reading of the clocks comes out exactly. */
static void set_clock(struct writing *w)
{
	uint64_t frequency = (uint64_t)(1e9 / dt_reader_ns_per_tick(w->r) + 0.5);
	struct dt_clock first, last;
	__int128 offset;

	if (!frequency)
		frequency = 1;
	bt_clock_class_set_name(w->clock, "ticks");
	bt_clock_class_set_description(w->clock, "the processor's cycle counter");
	bt_clock_class_set_frequency(w->clock, frequency);
	bt_clock_class_set_origin_is_unix_epoch(w->clock, false);
	if (!dt_reader_clock(w->r, &first, &last) || !first.realtime_ns)
		return;
	offset = (__int128)first.realtime_ns * frequency / 1000000000 - first.ticks;
	/* before 1970, which the format cannot express: times then count from tick 0 */
	if (offset < 0)
		return;
	bt_clock_class_set_origin_is_unix_epoch(w->clock, true);
	bt_clock_class_set_offset(w->clock, (int64_t)(offset / frequency),
				  (uint64_t)(offset % frequency));
}

static void set_environment(struct writing *w)
{
	static const char *const keys[] = {"host", "kernel", "command"};

	bt_trace_set_environment_entry_string(w->trace, "tracer_name", "devtrace");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (dt_reader_meta(w->r, keys[i]))
			bt_trace_set_environment_entry_string(w->trace, keys[i],
							      dt_reader_meta(w->r, keys[i]));
}

/* ---- messages ---- */

static void push(struct writing *w, const bt_message *m)
{
	if (!m && !w->failed) {
		dt_fail(w->e, "out of memory");
		w->failed = true;
	}
	if (m)
		w->pending[w->pendings++] = m;
}

static void begin_packet(struct writing *w, struct core *c, uint64_t ticks)
{
	bt_field *context;

	c->packet = bt_packet_create(c->stream);
	c->records = 0;
	if (!c->packet) {
		push(w, NULL);
		return;
	}
	context = bt_packet_borrow_context_field(c->packet);
	bt_field_integer_unsigned_set_value(
		bt_field_structure_borrow_member_field_by_index(context, 0),
		(uint64_t)(c - w->core));
	push(w, bt_message_packet_beginning_create_with_default_clock_snapshot(w->iterator,
									       c->packet, ticks));
	c->last = ticks;
}

static void end_packet(struct writing *w, struct core *c, uint64_t ticks)
{
	push(w, bt_message_packet_end_create_with_default_clock_snapshot(w->iterator, c->packet,
									 ticks));
	bt_packet_put_ref(c->packet);
	c->packet = NULL;
	c->last = ticks;
}

static struct core *core_of(struct writing *w, unsigned core)
{
	struct core *more;

	if (core >= w->cores) {
		more = realloc(w->core, (core + 1) * sizeof(*more));
		if (!more) {
			push(w, NULL);
			return NULL;
		}
		memset(more + w->cores, 0, (core + 1 - w->cores) * sizeof(*more));
		w->core = more;
		w->cores = core + 1;
	}
	more = &w->core[core];
	if (more->stream)
		return more;
	more->stream = bt_stream_create_with_id(w->stream_class, w->trace, core);
	push(w,
	     more->stream ? bt_message_stream_beginning_create(w->iterator, more->stream) : NULL);
	return more->stream ? more : NULL;
}

/* Notes a loss, which ends at `ticks': first ends the open packet, where the loss began. */
static void push_loss(struct writing *w, struct core *c, uint64_t ticks)
{
	const struct dt_span *s = &w->span;
	uint64_t begin = s->lost_begin > w->first ? s->lost_begin : w->first;
	bt_message *m;

	if (c->packet) {
		end_packet(w, c, c->last);
	} else if (!c->last) {
		begin_packet(w, c, begin < ticks ? begin : ticks);
		if (c->packet)
			end_packet(w, c, c->last);
	}
	m = bt_message_discarded_events_create_with_default_clock_snapshots(w->iterator, c->stream,
									    c->last, ticks);
	if (m)
		bt_message_discarded_events_set_count(m, s->lost);
	push(w, m);
}

/* ---- records ---- */

static bt_field *member(bt_field *structure, unsigned i)
{
	return bt_field_structure_borrow_member_field_by_index(structure, i);
}

static void set_number(bt_field *structure, unsigned i, uint64_t v)
{
	bt_field_integer_unsigned_set_value(member(structure, i), v);
}

/* Sets a text, which is never empty: libbabeltrace2 2.0.4 shows an empty text as that of the record
 * before. */
static void set_string(bt_field *structure, unsigned i, const char *s)
{
	bt_field_string_set_value(member(structure, i), *s ? s : "-");
}

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

	set_number(context, TID, x->tid);
	set_number(context, PID, t ? t->pid : 0);
	set_number(context, CORE, x->core);
	set_number(context, FLAGS, x->flags);
	set_number(context, PC, x->pc);
	set_number(context, SP, x->sp);
	set_string(context, THREAD, t ? t->name : "");
}

static void set_payload(struct writing *w, bt_field *payload, const struct dt_site *site,
			const struct dt_record *x)
{
	bt_field *values = member(payload, VALUES);
	unsigned n = site->mask ? 32 - (unsigned)__builtin_clz(site->mask) : 0;

	n = n > 4 ? 4 : n;
	set_string(payload, NAME, name_of(w, site, x));
	describe(w, site, x);
	dt_json_bytes(&w->text, "", 1);
	set_string(payload, TEXT, w->text.failed ? "" : (const char *)w->text.bytes.p);
	if (bt_field_array_dynamic_set_length(values, n)) {
		push(w, NULL);
		return;
	}
	for (unsigned i = 0; i < n; i++)
		bt_field_integer_unsigned_set_value(
			bt_field_array_borrow_element_field_by_index(values, i), x->value[i]);
}

static void push_record(struct writing *w, struct core *c, uint32_t i, uint64_t ticks)
{
	const struct dt_site *site = dt_reader_site(w->r, w->span.site[i]);
	struct dt_record x;
	size_t class = 0;
	bt_message *m;
	bt_event *event;

	dt_span_record(w->r, &w->span, i, &x);
	while (class < CLASSES - 1 && classes[class].kind != x.kind)
		class ++;
	m = bt_message_event_create_with_packet_and_default_clock_snapshot(
		w->iterator, w->event_class[class], c->packet, ticks);
	push(w, m);
	if (!m)
		return;
	event = bt_message_event_borrow_event(m);
	set_context(w, bt_event_borrow_common_context_field(event), &x);
	set_payload(w, bt_event_borrow_payload_field(event), site, &x);
	w->moved += ticks != x.ticks;
	c->last = ticks;
	c->records++;
}

/* ---- waits for devtrace ---- */

static int on_hold(void *ctx, const struct dt_held_row *h)
{
	struct writing *w = ctx;
	struct wait *more = w->wait;

	if (h->end <= h->begin)
		return 0;
	if ((w->waits & (w->waits - 1)) == 0)
		more = realloc(w->wait, (w->waits ? 2 * w->waits : 1) * sizeof(*more));
	if (!more)
		return -1;
	w->wait = more;
	more += w->waits++;
	*more = (struct wait){.begin = h->begin, .ticks = h->end - h->begin, .tid = h->tid};
	dt_format(more->why, sizeof(more->why), "%s", h->why);
	return 0;
}

/* Opens the stream of waits, and a packet in it. */
static bool open_waits(struct writing *w, uint64_t ticks)
{
	struct core *c = &w->waiting;

	if (!c->stream) {
		c->stream = bt_stream_create(w->wait_class, w->trace);
		push(w,
		     c->stream ? bt_message_stream_beginning_create(w->iterator, c->stream) : NULL);
	}
	if (c->stream && !c->packet) {
		c->packet = bt_packet_create(c->stream);
		c->records = 0;
		push(w, c->packet ? bt_message_packet_beginning_create_with_default_clock_snapshot(
					    w->iterator, c->packet, ticks)
				  : NULL);
	}
	return c->packet && !w->failed;
}

static void take_wait(struct writing *w)
{
	const struct wait *x = &w->wait[w->waited++];
	const struct dt_thread_info *t = dt_reader_thread(w->r, x->tid);
	struct core *c = &w->waiting;
	bt_message *m;
	bt_field *f;

	if (!open_waits(w, x->begin))
		return;
	m = bt_message_event_create_with_packet_and_default_clock_snapshot(
		w->iterator, w->wait_event, c->packet, x->begin);
	push(w, m);
	if (!m)
		return;
	f = bt_event_borrow_common_context_field(bt_message_event_borrow_event(m));
	set_number(f, WAIT_TID, x->tid);
	set_number(f, WAIT_PID, t ? t->pid : 0);
	set_string(f, WAIT_THREAD, t ? t->name : "");
	f = bt_event_borrow_payload_field(bt_message_event_borrow_event(m));
	set_string(f, WHY, x->why);
	set_number(f, DURATION, x->ticks);
	c->last = x->begin;
	if (++c->records == PACKET_RECORDS)
		end_packet(w, c, c->last);
}

/* Returns the tick of the next record or loss. */
static uint64_t next_ticks(const struct writing *w)
{
	const struct dt_span *s = &w->span;

	if (!w->more)
		return UINT64_MAX;
	return w->at < s->n ? s->ticks[w->at] : s->lost_end ? s->lost_end : w->end;
}

/* ---- what comes next ---- */

/* Takes the next record, or a loss without a record after it. */
static void take(struct writing *w)
{
	const struct dt_span *s = &w->span;
	struct core *c = core_of(w, s->core);
	bool lost = s->lost && !w->at;
	uint64_t ticks;

	w->more = w->at + 1 < s->n;
	if (!c)
		return;
	ticks = s->n ? s->ticks[w->at] : s->lost_end ? s->lost_end : w->end;
	if (ticks < c->last)
		ticks = c->last;
	if (lost)
		push_loss(w, c, ticks);
	if (!c->packet && !w->failed)
		begin_packet(w, c, ticks);
	if (s->n && !w->failed)
		push_record(w, c, w->at++, ticks);
	if (c->packet && (lost || c->records == PACKET_RECORDS))
		end_packet(w, c, ticks);
}

/* ---- the source ---- */

/* Makes the next messages, if there are more to make. */
static void make(struct writing *w)
{
	int rc;

	w->pendings = w->given = 0;
	if (!w->ended && !w->more) {
		rc = dt_reader_next(w->r, &w->span, w->e);
		w->failed = w->failed || rc < 0;
		w->ended = rc <= 0;
		w->at = 0;
		w->more = rc > 0 && (w->span.n || w->span.lost);
	}
	if ((w->more || w->ended) && w->waited < w->waits &&
	    w->wait[w->waited].begin <= next_ticks(w)) {
		take_wait(w);
		return;
	}
	if (w->more) {
		take(w);
		return;
	}
	if (!w->ended)
		return;
	if (w->waiting.stream) {
		if (w->waiting.packet)
			end_packet(w, &w->waiting, w->waiting.last);
		push(w, bt_message_stream_end_create(w->iterator, w->waiting.stream));
		bt_stream_put_ref(w->waiting.stream);
		w->waiting.stream = NULL;
		return;
	}
	/* the library writes nothing at all for a trace without streams */
	if (!w->cores && !core_of(w, 0))
		return;
	while (w->ending < w->cores && !w->core[w->ending].stream)
		w->ending++;
	if (w->ending == w->cores)
		return;
	if (w->core[w->ending].packet)
		end_packet(w, &w->core[w->ending], w->core[w->ending].last);
	push(w, bt_message_stream_end_create(w->iterator, w->core[w->ending].stream));
	w->ending++;
}

static bt_message_iterator_class_next_method_status next(bt_self_message_iterator *self,
							 bt_message_array_const messages,
							 uint64_t room, uint64_t *count)
{
	struct writing *w =
		bt_self_component_get_data(bt_self_message_iterator_borrow_component(self));

	w->iterator = self;
	*count = 0;
	while (*count < room) {
		if (w->given == w->pendings && !w->failed) {
			make(w);
			if (!w->pendings && w->ended && w->ending == w->cores)
				break;
		}
		if (w->failed)
			break;
		while (w->given < w->pendings && *count < room)
			messages[(*count)++] = w->pending[w->given++];
	}
	if (w->failed) {
		while (*count)
			bt_message_put_ref(messages[--*count]);
		while (w->given < w->pendings)
			bt_message_put_ref(w->pending[w->given++]);
		return BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_ERROR;
	}
	return *count ? BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_OK
		      : BT_MESSAGE_ITERATOR_CLASS_NEXT_METHOD_STATUS_END;
}

static bt_component_class_initialize_method_status
initialize(bt_self_component_source *self, bt_self_component_source_configuration *configuration,
	   const bt_value *params, void *data)
{
	bt_self_component *component = bt_self_component_source_as_self_component(self);
	struct writing *w = data;

	bt_self_component_set_data(component, w);
	w->clock = bt_clock_class_create(component);
	w->trace_class = bt_trace_class_create(component);
	if (!w->clock || !w->trace_class)
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	bt_trace_class_set_assigns_automatic_stream_class_id(w->trace_class, true);
	w->stream_class = bt_stream_class_create(w->trace_class);
	w->trace = bt_trace_create(w->trace_class);
	if (!w->stream_class || !w->trace)
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	bt_stream_class_set_assigns_automatic_stream_id(w->stream_class, false);
	set_clock(w);
	make_classes(w);
	if (w->waits) {
		w->wait_class = bt_stream_class_create(w->trace_class);
		if (!w->wait_class)
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
		make_wait_class(w);
	}
	set_environment(w);
	return bt_self_component_source_add_output_port(self, "out", NULL, NULL)
		       ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR
		       : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

/* ---- the whole ---- */

/* Sets the error to what the library says was wrong first; its other causes follow from that. */
static int library_error(struct writing *w, const char *what)
{
	const bt_error *error = bt_current_thread_take_error();
	const bt_error_cause *cause = error && bt_error_get_cause_count(error)
					      ? bt_error_borrow_cause_by_index(error, 0)
					      : NULL;

	if (!w->failed)
		dt_fail(w->e, "%s%s%s", what, cause ? ": " : "",
			cause ? bt_error_cause_get_message(cause) : "");
	if (error)
		bt_error_release(error);
	return -1;
}

static int run(struct writing *w, bt_graph *graph, const bt_component_class_source *from,
	       const bt_component_class_sink *to, const bt_value *params)
{
	const bt_component_source *source;
	const bt_component_sink *sink;

	if (bt_graph_add_source_component_with_initialize_method_data(
		    graph, from, "devtrace", NULL, w, BT_LOGGING_LEVEL_NONE, &source) ||
	    bt_graph_add_sink_component(graph, to, "file", params, BT_LOGGING_LEVEL_NONE, &sink) ||
	    bt_graph_connect_ports(
		    graph, bt_component_source_borrow_output_port_by_index_const(source, 0),
		    bt_component_sink_borrow_input_port_by_index_const(sink, 0), NULL) ||
	    bt_graph_run(graph) || w->failed)
		return library_error(w, "cannot write");
	return 0;
}

static void forget(struct writing *w)
{
	for (size_t i = 0; i < w->cores; i++) {
		bt_packet_put_ref(w->core[i].packet);
		bt_stream_put_ref(w->core[i].stream);
	}
	for (size_t i = 0; i < CLASSES; i++)
		bt_event_class_put_ref(w->event_class[i]);
	bt_packet_put_ref(w->waiting.packet);
	bt_stream_put_ref(w->waiting.stream);
	bt_event_class_put_ref(w->wait_event);
	bt_stream_class_put_ref(w->wait_class);
	free(w->wait);
	bt_trace_put_ref(w->trace);
	bt_stream_class_put_ref(w->stream_class);
	bt_trace_class_put_ref(w->trace_class);
	bt_clock_class_put_ref(w->clock);
	free(w->core);
	free(w->text.bytes.p);
}

int dt_export_ctf(struct dt_reader *r, const char *folder, struct dt_formats *formats,
		  uint64_t *moved, struct dt_error *e)
{
	struct writing w = {.r = r, .formats = formats, .e = e};
	bt_message_iterator_class *iterator = bt_message_iterator_class_create(next);
	bt_component_class_source *from =
		iterator ? bt_component_class_source_create("devtrace", iterator) : NULL;
	bt_value *params = bt_value_map_create();
	bt_graph *graph = bt_graph_create(0);
	const bt_plugin *plugin = NULL;
	struct dt_summary sum;
	int rc = -1;

	if (!from || !params || !graph ||
	    bt_value_map_insert_string_entry(params, "path", folder) ||
	    bt_value_map_insert_bool_entry(params, "assume-single-trace", true) ||
	    bt_value_map_insert_bool_entry(params, "quiet", true)) {
		dt_fail(e, "out of memory");
		goto out;
	}
	bt_component_class_source_set_initialize_method(from, initialize);
	if (bt_plugin_find("ctf", false, false, true, true, true, &plugin)) {
		library_error(&w,
			      "cannot load babeltrace2's plugin 'ctf'; install libbabeltrace2-0");
		goto out;
	}
	if (dt_reader_summary(r, &sum, e) ||
	    dt_reader_start(r, &(struct dt_reader_range){.order = DT_BY_TIME, .values = true}, e))
		goto out;
	if (dt_reader_helds(r, on_hold, &w)) {
		dt_fail(e, "out of memory");
		goto out;
	}
	w.first = sum.min_ticks;
	w.end = sum.max_ticks;
	rc = run(&w, graph, from, bt_plugin_borrow_sink_component_class_by_name_const(plugin, "fs"),
		 params);
	*moved = w.moved;
out:
	bt_graph_put_ref(graph);
	forget(&w);
	bt_plugin_put_ref(plugin);
	bt_value_put_ref(params);
	bt_component_class_source_put_ref(from);
	bt_message_iterator_class_put_ref(iterator);
	return rc;
}
