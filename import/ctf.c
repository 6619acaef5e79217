/* SPDX-License-Identifier: MIT */
#include "import/ctf.h"

#include <stdlib.h>
#include <string.h>

#include "import/babeltrace.h"

#define LATEST ((int64_t)1 << 61)

struct ctf {
	struct dt_imported *m;
	struct dt_error *e;
	const char *path;
	bool failed; /* and e says why */
};

/* An event, with what is around it. */
struct event {
	const char *name;
	const bt_field *field[4]; /* structures; NULL: there is none */
	int64_t ns;
	bool own; /* devtrace wrote it */
};

/* Finds a member of an event's fields or contexts; NULL: it has none of that name. */
static const bt_field *member(const struct event *x, const char *name)
{
	for (size_t i = 0; i < sizeof(x->field) / sizeof(*x->field); i++) {
		const bt_field *f =
			x->field[i] && dt_reading_bt.field_get_class_type(x->field[i]) ==
						BT_FIELD_CLASS_TYPE_STRUCTURE
				? dt_reading_bt.field_structure_borrow_member_field_by_name_const(
					  x->field[i], name)
				: NULL;

		if (f)
			return f;
	}
	return NULL;
}

/* Is it of a type, or of one that is a kind of that? */
static bool is(const bt_field *f, bt_field_class_type type)
{
	return f && bt_field_class_type_is(dt_reading_bt.field_get_class_type(f), type);
}

static bool number(const struct event *x, const char *name, int64_t *v)
{
	const bt_field *f = member(x, name);

	if (is(f, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		*v = (int64_t)dt_reading_bt.field_integer_unsigned_get_value(f);
	else if (is(f, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
		*v = dt_reading_bt.field_integer_signed_get_value(f);
	else
		return false;
	return true;
}

/* Returns a text that the event owns; NULL: it has none. */
static const char *text(const struct event *x, const char *name)
{
	const bt_field *f = member(x, name);

	return is(f, BT_FIELD_CLASS_TYPE_STRING) ? dt_reading_bt.field_string_get_value(f) : NULL;
}

/* Of devtrace's array `values' the first one. */
static bool first_value(const struct event *x, uint64_t *v)
{
	const bt_field *f = member(x, "values");

	if (!is(f, BT_FIELD_CLASS_TYPE_ARRAY) || !dt_reading_bt.field_array_get_length(f))
		return false;
	f = dt_reading_bt.field_array_borrow_element_field_by_index_const(f, 0);
	if (!is(f, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
		return false;
	*v = dt_reading_bt.field_integer_unsigned_get_value(f);
	return true;
}

/* ---- threads ---- */

/* Returns the thread of an event; of one that does not say it, what is of its core. */
static int64_t thread_of(struct ctf *k, const struct event *x)
{
	const char *name = text(x, x->own ? "thread" : "procname");
	int64_t tid, pid, core = -1, thread;
	char where[32];

	if (!number(x, "vtid", &tid) && !number(x, "tid", &tid)) {
		number(x, "cpu_id", &core);
		dt_format(where, sizeof(where), core < 0 ? "all cores" : "core %ld", (long)core);
		return dt_imported_thread(k->m, "0", where, k->e);
	}
	if (!number(x, "vpid", &pid) && !number(x, "pid", &pid))
		pid = tid;
	thread = dt_imported_thread_of(k->m, (int32_t)pid, (int32_t)tid, k->e);
	if (thread >= 0 && name && *name && strcmp(name, "-") != 0 &&
	    dt_imported_name_thread(k->m, (uint32_t)thread, name, k->e))
		return -1;
	return thread;
}

/* ---- what events are ---- */

static int add(struct ctf *k, const struct event *x, enum dt_import_kind kind, int64_t name,
	       uint64_t value)
{
	int64_t thread = name < 0 ? -1 : thread_of(k, x);

	return thread < 0 ? -1
			  : dt_imported_add(k->m,
					    &(struct dt_import_item){.kind = (uint8_t)kind,
								     .ns = x->ns,
								     .end = x->ns,
								     .value = value,
								     .thread = (uint32_t)thread,
								     .name = (uint32_t)name},
					    k->e);
}

static int take_entry(struct ctf *k, const struct event *x)
{
	const char *name = text(x, "name");
	char address[32];
	int64_t v = 0;

	if (!x->own || !name) {
		number(x, "addr", &v);
		dt_format(address, sizeof(address), "0x%lx", (unsigned long)v);
		name = address;
	} else {
		k->m->left[DT_LEFT_ARGUMENTS] += member(x, "text") != NULL;
	}
	return add(k, x, DT_IMPORT_BEGIN, dt_name_pair(&k->m->functions, "", name, k->e), 0);
}

static int take_switch(struct ctf *k, const struct event *x)
{
	int64_t core = -1, to = 0, from = 0, state = 1, thread;
	struct dt_import_switch s = {.ns = x->ns};

	if (!number(x, x->own ? "core" : "cpu_id", &core) || core < 0 ||
	    core >= (int64_t)DT_IMPORT_CORES || !number(x, x->own ? "tid" : "next_tid", &to)) {
		k->m->left[DT_LEFT_SWITCHES]++;
		return 0;
	}
	s.core = (uint16_t)core;
	number(x, "prev_tid", &from);
	number(x, "prev_state", &state);
	s.preempted = from && !state;
	if (x->own && to == UINT32_MAX)
		to = 0;
	/* of the one that leaves nothing more is needed than that it does */
	thread = to ? x->own ? thread_of(k, x)
			     : dt_imported_thread_of(k->m, (int32_t)to, (int32_t)to, k->e)
		    : 0;
	if (thread < 0)
		return -1;
	s.to = to ? (uint32_t)thread + 1 : 0;
	return dt_imported_switch(k->m, &s, k->e);
}

static int take_own(struct ctf *k, const struct event *x)
{
	const char *name = text(x, "name");
	uint64_t value = 0;
	bool has_value = first_value(x, &value);

	if (!strcmp(x->name, "sent") || !strcmp(x->name, "received"))
		return has_value ? add(k, x, *x->name == 's' ? DT_IMPORT_SEND : DT_IMPORT_RECEIVE,
				       0, value)
				 : 0;
	if (!strcmp(x->name, "event"))
		return add(k, x, DT_IMPORT_EVENT,
			   dt_name_pair(&k->m->events, "", name ? name : x->name, k->e),
			   (uint32_t)value);
	k->m->left[DT_LEFT_KERNEL]++;
	return 0;
}

static int take_event(struct ctf *k, const struct event *x)
{
	const char *base = strrchr(x->name, ':');
	char group[64];

	base = base ? base + 1 : x->name;
	if (!strcmp(base, "func_entry") || (x->own && !strcmp(base, "entry")))
		return take_entry(k, x);
	if (!strcmp(base, "func_exit") || (x->own && !strcmp(base, "exit")))
		return add(k, x, DT_IMPORT_END, 0, 0);
	if (!strcmp(base, "sched_switch") || (x->own && !strcmp(base, "switch")))
		return take_switch(k, x);
	if (x->own)
		return take_own(k, x);
	k->m->left[DT_LEFT_ARGUMENTS] += x->field[0] != NULL;
	dt_format(group, sizeof(group), "%.*s", base > x->name ? (int)(base - x->name - 1) : 0,
		  x->name);
	return add(k, x, DT_IMPORT_EVENT, dt_name_pair(&k->m->events, group, base, k->e), 0);
}

/* ---- messages ---- */

static bool is_own(const bt_event *event)
{
	const bt_trace *trace = dt_reading_bt.stream_borrow_trace_const(
		dt_reading_bt.event_borrow_stream_const(event));
	const bt_value *v = dt_reading_bt.trace_borrow_environment_entry_value_by_name_const(
		trace, "tracer_name");

	return v && dt_reading_bt.value_get_type(v) == BT_VALUE_TYPE_STRING &&
	       !strcmp(dt_reading_bt.value_string_get(v), "devtrace");
}

static int take_message(struct ctf *k, const bt_message *message)
{
	const bt_event *event = dt_reading_bt.message_event_borrow_event_const(message);
	const bt_packet *packet;
	struct event x = {.own = is_own(event)};

	x.name = dt_reading_bt.event_class_get_name(dt_reading_bt.event_borrow_class_const(event));
	x.name = x.name ? x.name : "(no name)";
	if (!dt_reading_bt.message_event_borrow_stream_class_default_clock_class_const(message) ||
	    dt_reading_bt.clock_snapshot_get_ns_from_origin(
		    dt_reading_bt.message_event_borrow_default_clock_snapshot_const(message),
		    &x.ns) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK ||
	    x.ns > LATEST || x.ns < -LATEST) {
		k->m->left[DT_LEFT_NO_TIME]++;
		return 0;
	}
	x.field[0] = dt_reading_bt.event_borrow_payload_field_const(event);
	x.field[1] = dt_reading_bt.event_borrow_specific_context_field_const(event);
	x.field[2] = dt_reading_bt.event_borrow_common_context_field_const(event);
	packet = dt_reading_bt.event_borrow_packet_const(event);
	x.field[3] = packet ? dt_reading_bt.packet_borrow_context_field_const(packet) : NULL;
	return take_event(k, &x);
}

static bt_graph_simple_sink_component_initialize_func_status begin(bt_message_iterator *messages,
								   void *ctx)
{
	return BT_GRAPH_SIMPLE_SINK_COMPONENT_INITIALIZE_FUNC_STATUS_OK;
}

static bt_graph_simple_sink_component_consume_func_status consume(bt_message_iterator *messages,
								  void *ctx)
{
	struct ctf *k = ctx;
	bt_message_array_const batch;
	uint64_t n = 0;

	switch (dt_reading_bt.message_iterator_next(messages, &batch, &n)) {
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_OK:
		break;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_END:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_END;
	case BT_MESSAGE_ITERATOR_NEXT_STATUS_AGAIN:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_AGAIN;
	default:
		return BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR;
	}
	for (uint64_t i = 0; i < n; i++) {
		bt_message_type type = dt_reading_bt.message_get_type(batch[i]);

		if (type == BT_MESSAGE_TYPE_EVENT)
			k->failed |= !k->failed && take_message(k, batch[i]);
		else
			k->m->left[DT_LEFT_LOST] += type == BT_MESSAGE_TYPE_DISCARDED_EVENTS ||
						    type == BT_MESSAGE_TYPE_DISCARDED_PACKETS;
		dt_reading_bt.message_put_ref(batch[i]);
	}
	return k->failed ? BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_ERROR
			 : BT_GRAPH_SIMPLE_SINK_COMPONENT_CONSUME_FUNC_STATUS_OK;
}

/* ---- the graph ---- */

/* Takes the library's error over, in one line: its innermost cause. Returns -1. */
static int library_error(struct ctf *k, const char *otherwise)
{
	const bt_error *error = dt_reading_bt.current_thread_take_error();
	char said[300];

	dt_format(said, sizeof(said), "%s",
		  error && dt_reading_bt.error_get_cause_count(error)
			  ? dt_reading_bt.error_cause_get_message(
				    dt_reading_bt.error_borrow_cause_by_index(error, 0))
			  : otherwise);
	if (error)
		dt_reading_bt.error_release(error);
	said[strcspn(said, "\n")] = '\0';
	return k->failed ? -1 : dt_fail(k->e, "%s: %s", k->path, said);
}

/* Source, then what puts the streams in the order of time, then our sink. */
static int run(struct ctf *k, bt_graph *graph, const bt_plugin *plugin, const bt_plugin *utilities,
	       const bt_value *params)
{
	static const bt_logging_level quiet = BT_LOGGING_LEVEL_NONE;
	const bt_component_class_source *fs =
		dt_reading_bt.plugin_borrow_source_component_class_by_name_const(plugin, "fs");
	const bt_component_class_filter *muxer =
		dt_reading_bt.plugin_borrow_filter_component_class_by_name_const(utilities,
										 "muxer");
	const bt_component_source *source;
	const bt_component_filter *one;
	const bt_component_sink *sink;
	uint64_t n;

	if (!fs || !muxer ||
	    dt_reading_bt.graph_add_source_component(graph, fs, "in", params, quiet, &source) ||
	    dt_reading_bt.graph_add_filter_component(graph, muxer, "one", NULL, quiet, &one) ||
	    dt_reading_bt.graph_add_simple_sink_component(graph, "out", begin, consume, NULL, k,
							  &sink))
		return library_error(k, "it can not be opened");
	n = dt_reading_bt.component_source_get_output_port_count(source);
	for (uint64_t i = 0; i < n; i++)
		/* the muxer always has one port that is free: the last */
		if (dt_reading_bt.graph_connect_ports(
			    graph,
			    dt_reading_bt.component_source_borrow_output_port_by_index_const(source,
											     i),
			    dt_reading_bt.component_filter_borrow_input_port_by_index_const(
				    one,
				    dt_reading_bt.component_filter_get_input_port_count(one) - 1),
			    NULL))
			return library_error(k, "its streams can not be read");
	if (!n)
		return dt_fail(k->e, "%s: there is no stream in it", k->path);
	if (dt_reading_bt.graph_connect_ports(
		    graph, dt_reading_bt.component_filter_borrow_output_port_by_index_const(one, 0),
		    dt_reading_bt.component_sink_borrow_input_port_by_index_const(sink, 0), NULL) ||
	    dt_reading_bt.graph_run(graph))
		return library_error(k, "it can not be read");
	return 0;
}

int dt_ctf_read(struct dt_imported *m, const char *path, struct dt_error *e)
{
	struct ctf k = {.m = m, .e = e, .path = path};
	const bt_plugin *plugin = NULL, *utilities = NULL;
	bt_value *params, *inputs = NULL;
	bt_graph *graph;
	int rc = -1;

	if (dt_reading_babeltrace_load(e) < 0)
		return -1;
	params = dt_reading_bt.value_map_create();
	graph = dt_reading_bt.graph_create(0);
	if (!params || !graph ||
	    dt_reading_bt.value_map_insert_empty_array_entry(params, "inputs", &inputs) ||
	    dt_reading_bt.value_array_append_string_element(inputs, path))
		dt_fail(e, "out of memory");
	else if (dt_reading_bt.plugin_find("ctf", false, false, true, true, true, &plugin) ||
		 dt_reading_bt.plugin_find("utils", false, false, true, true, true, &utilities))
		library_error(&k, "cannot load babeltrace2's plugins; install libbabeltrace2-0");
	else
		rc = run(&k, graph, plugin, utilities, params);
	dt_reading_bt.graph_put_ref(graph);
	dt_reading_bt.plugin_put_ref(plugin);
	dt_reading_bt.plugin_put_ref(utilities);
	dt_reading_bt.value_put_ref(params);
	return rc;
}
