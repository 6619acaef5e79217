/* SPDX-License-Identifier: MIT */
/* What a CTF trace can have: the classes of its records and waits, and their members. */
#include "export/ctf-work.h"

static const struct {
	uint8_t kind;
	const char *name;
} classes[CLASSES] = {
	{DT_ENTRY, "entry"},   {DT_EXIT, "exit"},	{DT_POINT, "point"},
	{DT_EVENT, "event"},   {DT_SEND, "sent"},	{DT_RECEIVE, "received"},
	{DT_SWITCH, "switch"}, {DT_RUNDOWN, "rundown"}, {DT_MORE, "more"},
	{DT_WAKE, "wake"},     {0, "record"}, /* for any other kind */
};

size_t dt_ctf_class(uint8_t kind)
{
	size_t i = 0;

	while (i < CLASSES - 1 && classes[i].kind != kind)
		i++;
	return i;
}

static void add_member(bt_field_class *structure, const char *name, bt_field_class *member)
{
	dt_bt.field_class_structure_append_member(structure, name, member);
	dt_bt.field_class_put_ref(member);
}

static void add_number(struct writing *w, bt_field_class *structure, const char *name,
		       unsigned bits, bool hex)
{
	bt_field_class *n = dt_bt.field_class_integer_unsigned_create(w->trace_class);

	dt_bt.field_class_integer_set_field_value_range(n, bits);
	if (hex)
		dt_bt.field_class_integer_set_preferred_display_base(
			n, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	add_member(structure, name, n);
}

static bt_field_class *make_context(struct writing *w)
{
	bt_field_class *s = dt_bt.field_class_structure_create(w->trace_class);

	add_number(w, s, "tid", 32, false);
	add_number(w, s, "pid", 32, false);
	add_number(w, s, "core", 16, false);
	add_number(w, s, "flags", 8, true);
	add_number(w, s, "pc", 64, true);
	add_number(w, s, "sp", 64, true);
	add_member(s, "thread", dt_bt.field_class_string_create(w->trace_class));
	return s;
}

static bt_field_class *make_payload(struct writing *w)
{
	bt_field_class *s = dt_bt.field_class_structure_create(w->trace_class);
	bt_field_class *value = dt_bt.field_class_integer_unsigned_create(w->trace_class);

	dt_bt.field_class_integer_set_preferred_display_base(
		value, BT_FIELD_CLASS_INTEGER_PREFERRED_DISPLAY_BASE_HEXADECIMAL);
	add_member(s, "name", dt_bt.field_class_string_create(w->trace_class));
	add_member(s, "text", dt_bt.field_class_string_create(w->trace_class));
	add_member(s, "values",
		   dt_bt.field_class_array_dynamic_create(w->trace_class, value, NULL));
	dt_bt.field_class_put_ref(value);
	return s;
}

void dt_ctf_classes(struct writing *w)
{
	bt_field_class *packet = dt_bt.field_class_structure_create(w->trace_class), *context,
		       *payload;

	add_number(w, packet, "cpu_id", 32, false);
	dt_bt.stream_class_set_default_clock_class(w->stream_class, w->clock);
	dt_bt.stream_class_set_supports_packets(w->stream_class, true, true, true);
	dt_bt.stream_class_set_supports_discarded_events(w->stream_class, true, true);
	dt_bt.stream_class_set_packet_context_field_class(w->stream_class, packet);
	dt_bt.field_class_put_ref(packet);
	context = make_context(w);
	dt_bt.stream_class_set_event_common_context_field_class(w->stream_class, context);
	dt_bt.field_class_put_ref(context);
	for (size_t i = 0; i < CLASSES; i++) {
		w->event_class[i] = dt_bt.event_class_create(w->stream_class);
		dt_bt.event_class_set_name(w->event_class[i], classes[i].name);
		payload = make_payload(w);
		dt_bt.event_class_set_payload_field_class(w->event_class[i], payload);
		dt_bt.field_class_put_ref(payload);
	}
}

/* Makes the class of waits: which thread, why, and how long. */
void dt_ctf_wait_class(struct writing *w)
{
	bt_field_class *context = dt_bt.field_class_structure_create(w->trace_class);
	bt_field_class *payload = dt_bt.field_class_structure_create(w->trace_class);

	dt_bt.stream_class_set_name(w->wait_class, "waits");
	dt_bt.stream_class_set_default_clock_class(w->wait_class, w->clock);
	dt_bt.stream_class_set_supports_packets(w->wait_class, true, true, true);
	add_number(w, context, "tid", 32, false);
	add_number(w, context, "pid", 32, false);
	add_member(context, "thread", dt_bt.field_class_string_create(w->trace_class));
	dt_bt.stream_class_set_event_common_context_field_class(w->wait_class, context);
	dt_bt.field_class_put_ref(context);
	w->wait_event = dt_bt.event_class_create(w->wait_class);
	dt_bt.event_class_set_name(w->wait_event, "waiting");
	add_member(payload, "why", dt_bt.field_class_string_create(w->trace_class));
	add_number(w, payload, "ticks", 64, false);
	dt_bt.event_class_set_payload_field_class(w->wait_event, payload);
	dt_bt.field_class_put_ref(payload);
}
