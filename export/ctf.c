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
#include "export/ctf-work.h"

#include <stdlib.h>

/* ---- clock and environment ---- */

/* Sets the time of tick 0, so that the first reading of the clocks comes out exactly. */
static void set_clock(struct writing *w)
{
	uint64_t frequency = (uint64_t)(1e9 / dt_reader_ns_per_tick(w->r) + 0.5);
	struct dt_clock first, last;
	__int128 offset;

	if (!frequency)
		frequency = 1;
	dt_bt.clock_class_set_name(w->clock, "ticks");
	dt_bt.clock_class_set_description(w->clock, "the processor's cycle counter");
	dt_bt.clock_class_set_frequency(w->clock, frequency);
	dt_bt.clock_class_set_origin_is_unix_epoch(w->clock, false);
	if (!dt_reader_clock(w->r, &first, &last) || !first.realtime_ns)
		return;
	offset = (__int128)first.realtime_ns * frequency / 1000000000 - first.ticks;
	/* before 1970, which the format cannot express: times then count from tick 0 */
	if (offset < 0)
		return;
	dt_bt.clock_class_set_origin_is_unix_epoch(w->clock, true);
	dt_bt.clock_class_set_offset(w->clock, (int64_t)(offset / frequency),
				     (uint64_t)(offset % frequency));
}

static void set_environment(struct writing *w)
{
	static const char *const keys[] = {"host", "kernel", "command"};

	dt_bt.trace_set_environment_entry_string(w->trace, "tracer_name", "devtrace");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (dt_reader_meta(w->r, keys[i]))
			dt_bt.trace_set_environment_entry_string(w->trace, keys[i],
								 dt_reader_meta(w->r, keys[i]));
}

/* ---- what comes next ---- */

/* Returns the tick of the next record or loss. */
static uint64_t next_ticks(const struct writing *w)
{
	const struct dt_span *s = &w->span;

	if (!w->more)
		return UINT64_MAX;
	return w->at < s->n ? s->ticks[w->at] : s->lost_end ? s->lost_end : w->end;
}

/* Takes the next record, or a loss without a record after it. */
static void take(struct writing *w)
{
	const struct dt_span *s = &w->span;
	struct core *c = dt_ctf_core(w, s->core);
	bool lost = s->lost && !w->at;
	uint64_t ticks;

	w->more = w->at + 1 < s->n;
	if (!c)
		return;
	ticks = s->n ? s->ticks[w->at] : s->lost_end ? s->lost_end : w->end;
	if (ticks < c->last)
		ticks = c->last;
	if (lost)
		dt_ctf_loss(w, c, ticks);
	if (!c->packet && !w->failed)
		dt_ctf_begin_packet(w, c, ticks);
	if (s->n && !w->failed)
		dt_ctf_record(w, c, w->at++, ticks);
	if (c->packet && (lost || c->records == PACKET_RECORDS))
		dt_ctf_end_packet(w, c, ticks);
}

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
		dt_ctf_wait(w);
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
			dt_ctf_end_packet(w, &w->waiting, w->waiting.last);
		dt_ctf_push(w, dt_bt.message_stream_end_create(w->iterator, w->waiting.stream));
		dt_bt.stream_put_ref(w->waiting.stream);
		w->waiting.stream = NULL;
		return;
	}
	/* the library writes nothing at all for a trace without streams */
	if (!w->cores && !dt_ctf_core(w, 0))
		return;
	while (w->ending < w->cores && !w->core[w->ending].stream)
		w->ending++;
	if (w->ending == w->cores)
		return;
	if (w->core[w->ending].packet)
		dt_ctf_end_packet(w, &w->core[w->ending], w->core[w->ending].last);
	dt_ctf_push(w, dt_bt.message_stream_end_create(w->iterator, w->core[w->ending].stream));
	w->ending++;
}

/* ---- the source ---- */

static bt_message_iterator_class_next_method_status next(bt_self_message_iterator *self,
							 bt_message_array_const messages,
							 uint64_t room, uint64_t *count)
{
	struct writing *w =
		dt_bt.self_component_get_data(dt_bt.self_message_iterator_borrow_component(self));

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
			dt_bt.message_put_ref(messages[--*count]);
		while (w->given < w->pendings)
			dt_bt.message_put_ref(w->pending[w->given++]);
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

	dt_bt.self_component_set_data(component, w);
	w->clock = dt_bt.clock_class_create(component);
	w->trace_class = dt_bt.trace_class_create(component);
	if (!w->clock || !w->trace_class)
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	dt_bt.trace_class_set_assigns_automatic_stream_class_id(w->trace_class, true);
	w->stream_class = dt_bt.stream_class_create(w->trace_class);
	w->trace = dt_bt.trace_create(w->trace_class);
	if (!w->stream_class || !w->trace)
		return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
	dt_bt.stream_class_set_assigns_automatic_stream_id(w->stream_class, false);
	set_clock(w);
	dt_ctf_classes(w);
	if (w->waits) {
		w->wait_class = dt_bt.stream_class_create(w->trace_class);
		if (!w->wait_class)
			return BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_MEMORY_ERROR;
		dt_ctf_wait_class(w);
	}
	set_environment(w);
	return dt_bt.self_component_source_add_output_port(self, "out", NULL, NULL)
		       ? BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_ERROR
		       : BT_COMPONENT_CLASS_INITIALIZE_METHOD_STATUS_OK;
}

/* ---- the whole ---- */

/* Sets the error to what the library says was wrong first; its other causes follow from that. */
static int library_error(struct writing *w, const char *what)
{
	const bt_error *error = dt_bt.current_thread_take_error();
	const bt_error_cause *cause = error && dt_bt.error_get_cause_count(error)
					      ? dt_bt.error_borrow_cause_by_index(error, 0)
					      : NULL;

	if (!w->failed)
		dt_fail(w->e, "%s%s%s", what, cause ? ": " : "",
			cause ? dt_bt.error_cause_get_message(cause) : "");
	if (error)
		dt_bt.error_release(error);
	return -1;
}

static int run(struct writing *w, bt_graph *graph, const bt_component_class_source *from,
	       const bt_component_class_sink *to, const bt_value *params)
{
	const bt_component_source *source;
	const bt_component_sink *sink;

	if (dt_bt.graph_add_source_component_with_initialize_method_data(
		    graph, from, "devtrace", NULL, w, BT_LOGGING_LEVEL_NONE, &source) ||
	    dt_bt.graph_add_sink_component(graph, to, "file", params, BT_LOGGING_LEVEL_NONE,
					   &sink) ||
	    dt_bt.graph_connect_ports(
		    graph, dt_bt.component_source_borrow_output_port_by_index_const(source, 0),
		    dt_bt.component_sink_borrow_input_port_by_index_const(sink, 0), NULL) ||
	    dt_bt.graph_run(graph) || w->failed)
		return library_error(w, "cannot write");
	return 0;
}

static void forget(struct writing *w)
{
	for (size_t i = 0; i < w->cores; i++) {
		dt_bt.packet_put_ref(w->core[i].packet);
		dt_bt.stream_put_ref(w->core[i].stream);
	}
	for (size_t i = 0; i < CLASSES; i++)
		dt_bt.event_class_put_ref(w->event_class[i]);
	dt_bt.packet_put_ref(w->waiting.packet);
	dt_bt.stream_put_ref(w->waiting.stream);
	dt_bt.event_class_put_ref(w->wait_event);
	dt_bt.stream_class_put_ref(w->wait_class);
	free(w->wait);
	dt_bt.trace_put_ref(w->trace);
	dt_bt.stream_class_put_ref(w->stream_class);
	dt_bt.trace_class_put_ref(w->trace_class);
	dt_bt.clock_class_put_ref(w->clock);
	free(w->core);
	free(w->text.bytes.p);
}

static int export(struct dt_reader *r, const char *folder, struct dt_formats *formats,
		  uint64_t *moved, struct dt_error *e)
{
	struct writing w = {.r = r, .formats = formats, .e = e};
	bt_message_iterator_class *iterator = dt_bt.message_iterator_class_create(next);
	bt_component_class_source *from =
		iterator ? dt_bt.component_class_source_create("devtrace", iterator) : NULL;
	bt_value *params = dt_bt.value_map_create();
	bt_graph *graph = dt_bt.graph_create(0);
	const bt_plugin *plugin = NULL;
	struct dt_summary sum;
	int rc = -1;

	if (!from || !params || !graph ||
	    dt_bt.value_map_insert_string_entry(params, "path", folder) ||
	    dt_bt.value_map_insert_bool_entry(params, "assume-single-trace", true) ||
	    dt_bt.value_map_insert_bool_entry(params, "quiet", true)) {
		dt_fail(e, "out of memory");
		goto out;
	}
	dt_bt.component_class_source_set_initialize_method(from, initialize);
	if (dt_bt.plugin_find("ctf", false, false, true, true, true, &plugin)) {
		library_error(&w,
			      "cannot load babeltrace2's plugin 'ctf'; install libbabeltrace2-0");
		goto out;
	}
	if (dt_reader_summary(r, &sum, e) ||
	    dt_reader_start(r, &(struct dt_reader_range){.order = DT_BY_TIME, .values = true}, e))
		goto out;
	if (dt_reader_helds(r, dt_ctf_on_hold, &w)) {
		dt_fail(e, "out of memory");
		goto out;
	}
	w.first = sum.min_ticks;
	w.end = sum.max_ticks;
	rc = run(&w, graph, from,
		 dt_bt.plugin_borrow_sink_component_class_by_name_const(plugin, "fs"), params);
	*moved = w.moved;
out:
	dt_bt.graph_put_ref(graph);
	forget(&w);
	dt_bt.plugin_put_ref(plugin);
	dt_bt.value_put_ref(params);
	dt_bt.component_class_source_put_ref(from);
	dt_bt.message_iterator_class_put_ref(iterator);
	return rc;
}

int dt_export_ctf(struct dt_reader *r, const char *folder, struct dt_formats *formats,
		  uint64_t *moved, struct dt_error *e)
{
	return dt_babeltrace_load(e) < 0 ? -1 : export(r, folder, formats, moved, e);
}
