/* SPDX-License-Identifier: MIT */
/* libbabeltrace2, which reads the Common Trace Format: loaded for that only, since with GLib and
 * PCRE it is four libraries. */
#ifndef DT_IMPORT_BABELTRACE_H
#define DT_IMPORT_BABELTRACE_H

#include <babeltrace2/babeltrace.h>

#include "core/error.h"

/* The functions that are used, without the prefix of their names. */
#define DT_READING_BABELTRACE(X)                                                                   \
	X(clock_snapshot_get_ns_from_origin)                                                       \
	X(component_filter_borrow_input_port_by_index_const)                                       \
	X(component_filter_borrow_output_port_by_index_const)                                      \
	X(component_filter_get_input_port_count)                                                   \
	X(component_sink_borrow_input_port_by_index_const)                                         \
	X(component_source_borrow_output_port_by_index_const)                                      \
	X(component_source_get_output_port_count)                                                  \
	X(current_thread_take_error)                                                               \
	X(error_borrow_cause_by_index)                                                             \
	X(error_cause_get_message)                                                                 \
	X(error_get_cause_count)                                                                   \
	X(error_release)                                                                           \
	X(event_borrow_class_const)                                                                \
	X(event_borrow_common_context_field_const)                                                 \
	X(event_borrow_packet_const)                                                               \
	X(event_borrow_payload_field_const)                                                        \
	X(event_borrow_specific_context_field_const)                                               \
	X(event_borrow_stream_const)                                                               \
	X(event_class_get_name)                                                                    \
	X(field_array_borrow_element_field_by_index_const)                                         \
	X(field_array_get_length)                                                                  \
	X(field_get_class_type)                                                                    \
	X(field_integer_signed_get_value)                                                          \
	X(field_integer_unsigned_get_value)                                                        \
	X(field_string_get_value)                                                                  \
	X(field_structure_borrow_member_field_by_name_const)                                       \
	X(graph_add_filter_component)                                                              \
	X(graph_add_simple_sink_component)                                                         \
	X(graph_add_source_component)                                                              \
	X(graph_connect_ports)                                                                     \
	X(graph_create)                                                                            \
	X(graph_put_ref)                                                                           \
	X(graph_run)                                                                               \
	X(message_discarded_events_get_count)                                                      \
	X(message_event_borrow_default_clock_snapshot_const)                                       \
	X(message_event_borrow_event_const)                                                        \
	X(message_event_borrow_stream_class_default_clock_class_const)                             \
	X(message_get_type)                                                                        \
	X(message_iterator_next)                                                                   \
	X(message_put_ref)                                                                         \
	X(packet_borrow_context_field_const)                                                       \
	X(plugin_borrow_filter_component_class_by_name_const)                                      \
	X(plugin_borrow_source_component_class_by_name_const)                                      \
	X(plugin_find)                                                                             \
	X(plugin_put_ref)                                                                          \
	X(stream_borrow_trace_const)                                                               \
	X(trace_borrow_environment_entry_value_by_name_const)                                      \
	X(value_array_append_string_element)                                                       \
	X(value_get_type)                                                                          \
	X(value_map_create)                                                                        \
	X(value_map_insert_empty_array_entry)                                                      \
	X(value_put_ref)                                                                           \
	X(value_string_get)

struct dt_reading_babeltrace {
#define X(name) __typeof__(bt_##name) *name;
	DT_READING_BABELTRACE(X)
#undef X
};

extern struct dt_reading_babeltrace dt_reading_bt;

/* Loads the library, which must be done before any of the functions is called. 0, or -1 and an
 * error: dt_library_load(). */
int dt_reading_babeltrace_load(struct dt_error *e);

#endif
