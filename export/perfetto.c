/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's own format: a stream of TracePackets (perfetto.dev, "Trace packet proto"; the numbers
 * of the fields are those published there). It is written in the order in which the trace is read;
 * Perfetto sorts it by time when it opens the file.
 *
 * A call is a slice of its thread's track. Slices of a track must nest, so calls that run meanwhile
 * on another stack of the thread (a coroutine, a signal handler) get a track below the thread's:
 * the note of a call says which. The threads that ran on a core are written as the kernel's
 * sched_switch, which Perfetto draws and counts by itself, if the trace has switches between
 * threads as Linux numbers them; otherwise on tracks of our own.
 *
 * Times are those of the monotonic clock, in ns.
 */
#include "export/perfetto-work.h"

#include "analyse/feed.h"
#include "show/event.h"

static int fail(const struct writing *w, struct dt_error *e)
{
	return w->too_many ? dt_fail(e,
				     "a thread has more than %u stacks with calls on them at once; "
				     "this format is not written of such a trace",
				     LANES_MAX)
			   : dt_fail(e, "out of memory");
}

static struct stacks *stacks_of_call(struct writing *w, const struct dt_call *c)
{
	/* feed.c has put the core, plus one, into the note */
	unsigned core = c->note ? *c->note & ((1u << DT_FEED_NOTE) - 1) : 0;

	return dt_perfetto_stacks_of(w, c->tid, c->tid == DT_NO_TID && core, core - 1);
}

static uint32_t lane_of(const uint32_t *note)
{
	return note ? *note >> DT_FEED_NOTE & (LANES_MAX - 1) : 0;
}

/*
 * Chooses the stack of a call: its caller's; for the first call on a stack, one without open calls.
 */
static bool choose_lane(struct writing *w, struct stacks *s, const struct dt_call *c,
			uint32_t *lane)
{
	const struct dt_pair *p = dt_feed_pair(w->feed);
	const uint32_t *caller = dt_pair_is_first(p) ? NULL : dt_pair_caller_note(p);

	if (!s->n && !dt_perfetto_add_stack(w, s))
		return false;
	*lane = 0;
	if (caller && lane_of(caller) < s->n)
		*lane = lane_of(caller);
	else
		while (*lane < s->n && s->open[*lane])
			++*lane;
	if (*lane == s->n && !dt_perfetto_add_stack(w, s))
		return false;
	*c->note |= *lane << DT_FEED_NOTE;
	return true;
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	struct stacks *s = dt_export_wants(w->chosen, c) ? stacks_of_call(w, c) : NULL;
	uint32_t lane;

	if (!s || !choose_lane(w, s, c, &lane))
		return;
	s->open[lane]++;
	dt_perfetto_begin_event(w, SLICE_BEGIN, s->uuid + lane);
	dt_perfetto_put_function(w, c->function);
	dt_perfetto_put_values(w, c->function, c->argument, false);
	dt_perfetto_end_event(w, dt_perfetto_ns_on(w, s, c->begin));
}

static void put_result(struct writing *w, const struct dt_call *c)
{
	struct dt_json *text = &w->words;

	if (!w->formats || !c->result)
		return;
	text->bytes.n = 0;
	dt_words_result(w->formats, text, c->function, c->result);
	/* without the leading " = " */
	if (!text->failed && text->bytes.n > 3)
		dt_perfetto_annotate_text(w, "result", (const char *)text->bytes.p + 3,
					  text->bytes.n - 3);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	struct stacks *s = dt_export_wants(w->chosen, c) ? stacks_of_call(w, c) : NULL;
	const char *how = c->flags & DT_CALL_NO_ENTRY	? "began before this, it is not known when"
			  : c->flags & DT_CALL_LOSS	? "lost"
			  : c->flags & DT_CALL_PAUSED	? "paused"
			  : c->flags & DT_CALL_BACKWARD ? "backward"
			  : c->flags & DT_CALL_UNWOUND	? "unwound"
			  : c->flags & DT_CALL_TAIL	? "tail"
							: NULL;

	/* Perfetto shows a slice without an end as one that did not finish */
	if (!s || (c->flags & DT_CALL_OPEN))
		return;
	if (c->flags & DT_CALL_NO_ENTRY) {
		dt_perfetto_begin_event(w, INSTANT, s->uuid);
		dt_perfetto_put_function(w, c->function);
	} else {
		uint32_t lane = lane_of(c->note);

		dt_perfetto_begin_event(w, SLICE_END, s->uuid + lane);
		if (lane < s->n && s->open[lane])
			s->open[lane]--;
	}
	put_result(w, c);
	if (how)
		dt_perfetto_annotate_text(w, "end", how, strlen(how));
	dt_perfetto_end_event(w, dt_perfetto_ns_on(w, s, c->end));
}

static struct core *core_of(struct writing *w, unsigned core)
{
	struct core *more;

	if (core < w->cores)
		return &w->core[core];
	more = realloc(w->core, (core + 1) * sizeof(*more));
	if (!more) {
		w->failed = true;
		return NULL;
	}
	w->core = more;
	for (; w->cores <= core; w->cores++)
		w->core[w->cores] = (struct core){.tid = DT_NO_TID};
	return &w->core[core];
}

/* Writes a thread of a switch. 0 is the idle thread of every core; threads that are not traced
 * cannot be told from it. */
static void put_thread_of_switch(struct writing *w, unsigned name_field, unsigned field,
				 uint32_t tid)
{
	const struct dt_thread_info *t =
		dt_perfetto_is_system(tid) ? dt_reader_thread(w->r, tid) : NULL;

	dt_perfetto_put_string(w, &w->packet, name_field,
			       t			    ? t->name
			       : dt_perfetto_is_system(tid) ? ""
							    : "(none traced)");
	dt_protobuf_number(&w->packet, field, dt_perfetto_is_system(tid) ? tid : 0);
}

static void write_switch(struct writing *w, const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(w->r, s->site[i]);
	struct core *core = core_of(w, s->core);
	size_t bundle, event, change;

	if (!core)
		return;
	dt_perfetto_begin_packet(w);
	dt_perfetto_put_sequence(w, FTRACE_SEQUENCE);
	bundle = dt_protobuf_begin(&w->packet, PACKET_FTRACE_EVENTS);
	dt_protobuf_number(&w->packet, BUNDLE_CPU, s->core);
	event = dt_protobuf_begin(&w->packet, BUNDLE_EVENT);
	dt_protobuf_number(&w->packet, FTRACE_TIMESTAMP, dt_perfetto_ns_at(w, s->ticks[i]));
	dt_protobuf_number(&w->packet, FTRACE_PID,
			   dt_perfetto_is_system(core->tid) ? core->tid : 0);
	change = dt_protobuf_begin(&w->packet, FTRACE_SCHED_SWITCH);
	put_thread_of_switch(w, SWITCH_PREV_COMM, SWITCH_PREV_PID, core->tid);
	/* 0: runnable, 1: waiting, as in the kernel; see session/switches.h */
	if (s->value && (site->mask & 8))
		dt_protobuf_number(&w->packet, SWITCH_PREV_STATE, !(s->value[i][3] >> 32 & 1));
	put_thread_of_switch(w, SWITCH_NEXT_COMM, SWITCH_NEXT_PID, s->tid);
	dt_protobuf_end(&w->packet, change);
	dt_protobuf_end(&w->packet, event);
	dt_protobuf_end(&w->packet, bundle);
	dt_perfetto_end_packet(w);
	core->tid = s->tid;
}

/* Writes that a thread ran on a core, on a track of our own. */
static void on_bar(void *ctx, enum dt_track_kind kind, uint32_t id, const struct dt_bar *bar)
{
	struct writing *w = ctx;
	const struct dt_thread_info *t;
	struct core *core;
	char name[64];

	if (kind != DT_TRACK_CORE || w->sched || !(core = core_of(w, id)))
		return;
	if (!core->described) {
		dt_format(name, sizeof(name),
			  bar->flags & DT_BAR_SEEN ? "core %u, by its records" : "core %u", id);
		dt_perfetto_describe_track(w, UUID(OF_CORE, id, 0), 0, name, false);
	}
	core->described = true;
	t = dt_reader_thread(w->r, bar->what);
	dt_format(name, sizeof(name), "thread %u", bar->what);
	dt_perfetto_begin_event(w, SLICE_BEGIN, UUID(OF_CORE, id, 0));
	dt_perfetto_put_string(w, &w->event, EVENT_NAME, t && *t->name ? t->name : name);
	dt_perfetto_annotate_number(w, "thread", ANNOTATION_UINT, bar->what);
	dt_perfetto_end_event(w, dt_perfetto_ns_at(w, bar->begin));
	dt_perfetto_begin_event(w, SLICE_END, UUID(OF_CORE, id, 0));
	dt_perfetto_end_event(w, dt_perfetto_ns_at(w, bar->end));
}

static void write_loss(struct writing *w, const struct dt_span *s)
{
	struct core *core = core_of(w, s->core);
	uint64_t uuid = UUID(OF_LOSS, s->core, 0);
	uint64_t begin = s->lost_begin > w->first ? s->lost_begin : w->first;
	char name[64];

	if (!core)
		return;
	if (!core->loss_described) {
		dt_format(name, sizeof(name), "records lost, core %u",
			  dt_reader_ring_core(w->r, s->core));
		dt_perfetto_describe_track(w, uuid, 0, name, false);
	}
	core->loss_described = true;
	dt_format(name, sizeof(name), "%lu records lost", (unsigned long)s->lost);
	dt_perfetto_begin_event(w, s->lost_end ? SLICE_BEGIN : INSTANT, uuid);
	dt_perfetto_put_string(w, &w->event, EVENT_NAME, name);
	dt_perfetto_annotate_number(w, "lost", ANNOTATION_UINT, s->lost);
	dt_perfetto_end_event(w, dt_perfetto_ns_at(w, begin));
	if (s->lost_end) {
		dt_perfetto_begin_event(w, SLICE_END, uuid);
		dt_perfetto_end_event(w, dt_perfetto_ns_at(w, s->lost_end));
	}
}

static struct stacks *stacks_of_record(struct writing *w, const struct dt_span *s, uint32_t i)
{
	return dt_perfetto_stacks_of(w, s->tid, s->tid == DT_NO_TID && s->sp[i] >> 63, s->core);
}

/* Also writes a value over time, as a counter. `before' and `name' are the name of its track if it
 * is not described yet. */
static void count(struct writing *w, uint64_t uuid, bool *described, const char *before,
		  const char *name, uint64_t v, uint64_t ns)
{
	char line[256];

	if (!*described) {
		dt_format(line, sizeof(line), "%s%s%s", before, *before ? " " : "", name);
		dt_perfetto_describe_track(w, uuid, 0, line, true);
	}
	*described = true;
	dt_perfetto_begin_event(w, COUNTER, uuid);
	dt_protobuf_number(&w->event, EVENT_COUNTER_VALUE, v);
	dt_perfetto_end_event(w, ns);
}

static void write_event(struct writing *w, const struct dt_span *s, uint32_t i)
{
	uint64_t body = s->value ? s->value[i][0] : 0;
	const struct dt_event_row *row = dt_reader_event(w->r, body);
	struct stacks *of = stacks_of_record(w, s, i);
	uint64_t ns = dt_perfetto_ns_at(w, s->ticks[i]);

	if (!of)
		return;
	dt_perfetto_begin_event(w, INSTANT, of->uuid);
	dt_perfetto_put_string(w, &w->event, EVENT_NAME, row && *row->name ? row->name : "event");
	if (row)
		dt_perfetto_put_string(w, &w->event, EVENT_CATEGORIES, row->subsystem_name);
	dt_perfetto_annotate_number(w, "body", ANNOTATION_POINTER, body);
	if (row && *row->name) {
		dt_perfetto_annotate_number(w, "argument", ANNOTATION_UINT, body & 0xffffffff);
		if (*row->description)
			dt_perfetto_annotate_text(w, "description", row->description,
						  strlen(row->description));
	}
	dt_perfetto_end_event(w, ns);
	if (row && *row->name)
		count(w, UUID(OF_EVENT, row - w->row, 0), &w->row_told[row - w->row],
		      row->subsystem_name, row->name, body & 0xffffffff, ns);
}

static void write_point(struct writing *w, const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(w->r, s->site[i]);
	struct stacks *of = stacks_of_record(w, s, i);
	uint64_t ns = dt_perfetto_ns_at(w, s->ticks[i]);
	const char *text;
	size_t n;

	if (!of)
		return;
	dt_perfetto_begin_event(w, INSTANT, of->uuid);
	dt_perfetto_put_function(w, site->function);
	text = s->value ? dt_text_piece(site, s->value[i], &n) : NULL;
	if (text)
		dt_perfetto_annotate_text(w, "text", text, n);
	else if (s->value)
		dt_perfetto_put_values(w, site->function, s->value[i], s->flags[i] & DT_FAULT);
	dt_perfetto_end_event(w, ns);
	if (s->value && site->kind == DT_POINT && (site->mask & 1))
		count(w, UUID(OF_POINT, site->function, 0), &w->counted[site->function],
		      dt_reader_function_name(w->r, site->function), "first value", s->value[i][0],
		      ns);
}

/* Writes one end of a message; flow 0: the other end is not known. */
static void write_end_of_message(struct writing *w, const struct dt_message *m, bool sent,
				 uint64_t flow)
{
	struct stacks *of = dt_perfetto_stacks_of(w, sent ? m->sender : m->receiver, false, 0);
	/* the arrow ends at the later end, whichever that is */
	bool ends = sent == (m->state == DT_MESSAGE_BACKWARD);

	if (!of)
		return;
	dt_perfetto_begin_event(w, INSTANT, of->uuid);
	dt_perfetto_put_string(w, &w->event, EVENT_NAME,
			       sent ? "message sent" : "message received");
	dt_perfetto_annotate_number(w, "key", ANNOTATION_POINTER, m->key);
	dt_perfetto_annotate_number(w, "core", ANNOTATION_UINT,
				    sent ? m->sent_core : m->received_core);
	if (m->state == DT_MESSAGE_BACKWARD)
		dt_perfetto_annotate_text(w, "note", "received before it was sent", 27);
	if (m->state == DT_MESSAGE_UNRECEIVED)
		dt_perfetto_annotate_text(w, "note", "not seen received", 17);
	if (m->state == DT_MESSAGE_UNSENT)
		dt_perfetto_annotate_text(w, "note", "not seen sent", 13);
	if (flow)
		dt_protobuf_fixed64(&w->event, ends ? EVENT_TERMINATING_FLOW_IDS : EVENT_FLOW_IDS,
				    flow);
	dt_perfetto_end_event(w, dt_perfetto_ns_at(w, sent ? m->sent : m->received));
}

static void on_message(void *ctx, const struct dt_message *m)
{
	struct writing *w = ctx;
	bool whole = m->state == DT_MESSAGE_WHOLE || m->state == DT_MESSAGE_BACKWARD;
	uint64_t flow = whole ? ++w->flows : 0;

	if (m->state != DT_MESSAGE_UNSENT)
		write_end_of_message(w, m, true, flow);
	if (m->state != DT_MESSAGE_UNRECEIVED)
		write_end_of_message(w, m, false, flow);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct writing *w = ctx;
	const struct dt_site *site = dt_reader_site(w->r, s->site[i]);

	switch (site->kind) {
	case DT_EVENT:
		write_event(w, s, i);
		break;
	case DT_POINT:
	case DT_MORE:
		write_point(w, s, i);
		break;
	case DT_SWITCH:
		if (w->sched)
			write_switch(w, s, i);
		break;
	}
}

static void take_messages(struct writing *w, struct dt_messages *m, const struct dt_span *s)
{
	if (s->lost)
		dt_messages_lost(m, s->lost_begin);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct dt_site *site = dt_reader_site(w->r, s->site[i]);

		if (site->kind == DT_SEND || site->kind == DT_RECEIVE)
			dt_messages_record(m, site->kind, s->value ? s->value[i][0] : 0,
					   s->ticks[i], s->tid, dt_span_core(s, i));
	}
}

static void put_clock(struct writing *w, unsigned id, uint64_t ns)
{
	size_t clock = dt_protobuf_begin(&w->packet, SNAPSHOT_CLOCKS);

	dt_protobuf_number(&w->packet, CLOCK_ID, id);
	dt_protobuf_number(&w->packet, CLOCK_TIMESTAMP, ns);
	dt_protobuf_end(&w->packet, clock);
}

/*
 * Writes a reading of the clocks. Packets that do not name a clock, and the kernel's, use the clock
 * since boot; for that we take the monotonic one, which is the same on a machine that was not
 * suspended.
 */
static void write_clocks(struct writing *w)
{
	struct dt_clock first, last;
	size_t snapshot;

	if (!dt_reader_clock(w->r, &first, &last))
		return;
	dt_perfetto_begin_packet(w);
	dt_perfetto_put_sequence(w, SEQUENCE);
	snapshot = dt_protobuf_begin(&w->packet, PACKET_CLOCK_SNAPSHOT);
	put_clock(w, BOOTTIME, first.monotonic_ns);
	put_clock(w, MONOTONIC, first.monotonic_ns);
	if (first.realtime_ns)
		put_clock(w, REALTIME, first.realtime_ns);
	dt_protobuf_end(&w->packet, snapshot);
	dt_perfetto_end_packet(w);
}

static void write_names(struct writing *w)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(w->r, &n);
	const struct dt_thread_info *t;

	for (size_t i = 0; i < n; i++)
		if (dt_perfetto_is_system(p[i].pid))
			dt_perfetto_describe_process(w, &p[i]);
	t = dt_reader_threads(w->r, &n);
	for (size_t i = 0; i < n; i++)
		if (dt_perfetto_is_system(t[i].tid))
			dt_perfetto_describe_thread(w, t[i].tid);
}

/* Writes the times in which threads could not go on because of the tracer, each on a track below
 * its thread's. */
static void write_holds(struct writing *w)
{
	size_t n, holds;
	const struct dt_thread_info *t = dt_reader_threads(w->r, &n);

	for (size_t i = 0; i < n; i++) {
		const struct dt_times *h = dt_reader_thread_holds(w->r, t[i].tid, &holds);
		uint64_t uuid = UUID(OF_HELD, t[i].tid, 0);

		if (holds)
			dt_perfetto_describe_track(w, uuid, UUID(OF_THREAD, t[i].tid, 0),
						   DT_EXPORT_HELD, false);
		for (size_t k = 0; k < holds; k++) {
			dt_perfetto_begin_event(w, SLICE_BEGIN, uuid);
			dt_perfetto_put_string(w, &w->event, EVENT_NAME, DT_EXPORT_HELD);
			dt_perfetto_end_event(w, dt_perfetto_ns_at(w, h[k].begin));
			dt_perfetto_begin_event(w, SLICE_END, uuid);
			dt_perfetto_end_event(w, dt_perfetto_ns_at(w, h[k].end));
		}
	}
}

static int run(struct writing *w, struct dt_messages *messages, struct dt_error *e)
{
	const struct dt_reader_range range = {.order = DT_BY_TIME,
					      .values = w->formats || dt_feed_needs_values(w->r) ||
							dt_feed_has_switches(w->r)};
	const struct dt_feed_to to = {
		.bar = on_bar, .call = on_end, .begin = on_begin, .other = on_other, .ctx = w};
	struct dt_span s;
	uint64_t end = 0;
	int rc;

	w->feed = dt_feed_new(w->r, &to, range.values, NULL);
	if (!w->feed)
		return dt_fail(e, "out of memory");
	rc = dt_reader_start(w->r, &range, e);
	while (!rc && (rc = dt_reader_next(w->r, &s, e)) > 0) {
		if (s.lost)
			write_loss(w, &s);
		take_messages(w, messages, &s);
		if (s.n)
			end = s.ticks[s.n - 1];
		rc = dt_feed_span(w->feed, &s) || w->failed ? fail(w, e) : 0;
	}
	if (!rc) {
		dt_messages_finish(messages, end);
		dt_feed_finish(w->feed);
	}
	return rc;
}

int dt_export_perfetto(struct dt_reader *r, FILE *f, struct dt_formats *formats,
		       const struct dt_chosen_calls *chosen, struct dt_error *e)
{
	struct writing w = {
		.r = r, .chosen = chosen, .f = f, .formats = formats, .first = dt_export_first(r)};
	uint64_t ahead = (uint64_t)(DT_MESSAGE_AHEAD_NS / dt_reader_ns_per_tick(r));
	struct dt_messages *messages = dt_messages_new(ahead, on_message, &w);
	int rc = -1;

	w.row = dt_reader_events(r, &w.rows);
	w.sched = dt_feed_has_switches(r) && !dt_reader_meta(r, "barrelfish.form");
	w.function_told = calloc(dt_reader_functions(r) + 1, sizeof(bool));
	w.arguments_told = calloc(dt_reader_functions(r) + 1, sizeof(bool));
	w.counted = calloc(dt_reader_functions(r) + 1, sizeof(bool));
	w.module_told = calloc(dt_reader_modules(r) + 1, sizeof(bool));
	w.row_told = calloc(w.rows + 1, sizeof(bool));
	if (!dt_export_names(&w.names, r, e) && messages && w.function_told && w.arguments_told &&
	    w.counted && w.module_told && w.row_told) {
		write_names(&w);
		write_clocks(&w);
		write_holds(&w);
		rc = run(&w, messages, e);
	}
	if (!messages || w.failed || w.packet.failed || w.text.failed || w.words.failed)
		rc = fail(&w, e);
	dt_feed_free(w.feed);
	dt_messages_free(messages);
	for (size_t i = 0; i < w.slots; i++)
		free(w.stacks[i].open);
	free(w.stacks);
	dt_hosts_free(&w.names.hosts);
	free(w.core);
	free(w.function_told);
	free(w.arguments_told);
	free(w.counted);
	free(w.module_told);
	free(w.row_told);
	free(w.packet.bytes.p);
	free(w.event.bytes.p);
	free(w.interned.bytes.p);
	free(w.text.bytes.p);
	free(w.words.bytes.p);
	return rc;
}
