/* SPDX-License-Identifier: MIT */
/* libbabeltrace2, which writes the Common Trace Format: loaded for that only, since with GLib and
 * PCRE it is four libraries. */
#ifndef DT_EXPORT_BABELTRACE_H
#define DT_EXPORT_BABELTRACE_H

#include <babeltrace2/babeltrace.h>

#include "core/error.h"

/* The functions that are used, without the prefix of their names. */
#define DT_BABELTRACE(X)                                                                           \
	X(clock_class_create)                                                                      \
	X(clock_class_put_ref)                                                                     \
	X(clock_class_set_description)                                                             \
	X(clock_class_set_frequency)                                                               \
	X(clock_class_set_name)                                                                    \
	X(clock_class_set_offset)                                                                  \
	X(clock_class_set_origin_is_unix_epoch)                                                    \
	X(component_class_source_create)                                                           \
	X(component_class_source_put_ref)                                                          \
	X(component_class_source_set_initialize_method)                                            \
	X(component_sink_borrow_input_port_by_index_const)                                         \
	X(component_source_borrow_output_port_by_index_const)                                      \
	X(current_thread_take_error)                                                               \
	X(error_borrow_cause_by_index)                                                             \
	X(error_cause_get_message)                                                                 \
	X(error_get_cause_count)                                                                   \
	X(error_release)                                                                           \
	X(event_borrow_common_context_field)                                                       \
	X(event_borrow_payload_field)                                                              \
	X(event_class_create)                                                                      \
	X(event_class_put_ref)                                                                     \
	X(event_class_set_name)                                                                    \
	X(event_class_set_payload_field_class)                                                     \
	X(field_array_borrow_element_field_by_index)                                               \
	X(field_array_dynamic_set_length)                                                          \
	X(field_class_array_dynamic_create)                                                        \
	X(field_class_integer_set_field_value_range)                                               \
	X(field_class_integer_set_preferred_display_base)                                          \
	X(field_class_integer_unsigned_create)                                                     \
	X(field_class_put_ref)                                                                     \
	X(field_class_string_create)                                                               \
	X(field_class_structure_append_member)                                                     \
	X(field_class_structure_create)                                                            \
	X(field_integer_unsigned_set_value)                                                        \
	X(field_string_set_value)                                                                  \
	X(field_structure_borrow_member_field_by_index)                                            \
	X(graph_add_sink_component)                                                                \
	X(graph_add_source_component_with_initialize_method_data)                                  \
	X(graph_connect_ports)                                                                     \
	X(graph_create)                                                                            \
	X(graph_put_ref)                                                                           \
	X(graph_run)                                                                               \
	X(message_discarded_events_create_with_default_clock_snapshots)                            \
	X(message_discarded_events_set_count)                                                      \
	X(message_event_borrow_event)                                                              \
	X(message_event_create_with_packet_and_default_clock_snapshot)                             \
	X(message_iterator_class_create)                                                           \
	X(message_iterator_class_put_ref)                                                          \
	X(message_packet_beginning_create_with_default_clock_snapshot)                             \
	X(message_packet_end_create_with_default_clock_snapshot)                                   \
	X(message_put_ref)                                                                         \
	X(message_stream_beginning_create)                                                         \
	X(message_stream_end_create)                                                               \
	X(packet_borrow_context_field)                                                             \
	X(packet_create)                                                                           \
	X(packet_put_ref)                                                                          \
	X(plugin_borrow_sink_component_class_by_name_const)                                        \
	X(plugin_find)                                                                             \
	X(plugin_put_ref)                                                                          \
	X(self_component_get_data)                                                                 \
	X(self_component_set_data)                                                                 \
	X(self_component_source_add_output_port)                                                   \
	X(self_message_iterator_borrow_component)                                                  \
	X(stream_class_create)                                                                     \
	X(stream_class_put_ref)                                                                    \
	X(stream_class_set_assigns_automatic_stream_id)                                            \
	X(stream_class_set_default_clock_class)                                                    \
	X(stream_class_set_event_common_context_field_class)                                       \
	X(stream_class_set_name)                                                                   \
	X(stream_class_set_packet_context_field_class)                                             \
	X(stream_class_set_supports_discarded_events)                                              \
	X(stream_class_set_supports_packets)                                                       \
	X(stream_create)                                                                           \
	X(stream_create_with_id)                                                                   \
	X(stream_put_ref)                                                                          \
	X(trace_class_create)                                                                      \
	X(trace_class_put_ref)                                                                     \
	X(trace_class_set_assigns_automatic_stream_class_id)                                       \
	X(trace_create)                                                                            \
	X(trace_put_ref)                                                                           \
	X(trace_set_environment_entry_string)                                                      \
	X(value_map_create)                                                                        \
	X(value_map_insert_bool_entry)                                                             \
	X(value_map_insert_string_entry)                                                           \
	X(value_put_ref)

struct dt_babeltrace {
#define X(name) __typeof__(bt_##name) *name;
	DT_BABELTRACE(X)
#undef X
};

extern struct dt_babeltrace dt_bt;

/* Loads the library, which must be done before any of the functions is called. 0, or -1 and an
 * error: dt_library_load(). */
int dt_babeltrace_load(struct dt_error *e);

#endif
