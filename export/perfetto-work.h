/* SPDX-License-Identifier: MIT */
/* What the parts of the export to Perfetto share; it is for them only. */
#ifndef DT_EXPORT_PERFETTO_WORK_H
#define DT_EXPORT_PERFETTO_WORK_H

#include "export/export.h"
#include "export/protobuf.h"

/* Field numbers; the first word is the message that the field is in. */
enum {
	TRACE_PACKET = 1,

	PACKET_FTRACE_EVENTS = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_FIRST_ON_SEQUENCE = 87,

	SNAPSHOT_CLOCKS = 1,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT_UUID = 5,
	TRACK_COUNTER = 8,

	PROCESS_PID = 1,
	PROCESS_CMDLINE = 2,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	EVENT_CATEGORY_IIDS = 3,
	EVENT_DEBUG_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_CATEGORIES = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW_IDS = 47,
	EVENT_TERMINATING_FLOW_IDS = 48,

	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,

	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATIONS = 3,
	INTERNED_IID = 1,
	INTERNED_TEXT = 2,

	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	BUNDLE_LOST = 3,
	FTRACE_TIMESTAMP = 1,
	FTRACE_PID = 2,
	FTRACE_SCHED_SWITCH = 4,
	SWITCH_PREV_COMM = 1,
	SWITCH_PREV_PID = 2,
	SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5,
	SWITCH_NEXT_PID = 6,
};

enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 };
enum { STATE_CLEARED = 1, STATE_NEEDED = 2 };
enum { SLICE_BEGIN = 1, SLICE_END, INSTANT, COUNTER };
enum { SEQUENCE = 1, FTRACE_SEQUENCE };

/* What a track stands for: the upper byte of its uuid. */
enum { OF_PROCESS = 1, OF_THREAD, OF_NOBODY, OF_CORE, OF_LOSS, OF_EVENT, OF_POINT, OF_HELD };
/* The lane is the number of the stack on which a call runs; it is kept in the call's note. */
#define LANE_BITS	   DT_FEED_NOTE_BITS
#define LANES_MAX	   (1u << LANE_BITS)
#define UUID(of, id, lane) ((uint64_t)(of) << 56 | (uint64_t)(id) << LANE_BITS | (lane))

/* A thread, or the interrupts of a core, with its stacks; each stack has a track. */
struct stacks {
	uint64_t uuid;	/* uuid of the first stack's track; 0: a free slot */
	uint64_t last;	/* ns of its last event: the next one may not be before */
	uint32_t *open; /* by stack: how many calls are open */
	uint32_t n, room;
};

/* What is known of a core. */
struct core {
	uint32_t tid; /* thread that runs there; DT_NO_TID: not known */
	bool described, loss_described;
};

/* The state of the export. */
struct writing {
	const struct dt_chosen_calls *chosen; /* NULL: all */
	struct dt_reader *r;
	FILE *f;
	struct dt_formats *formats;
	struct dt_json words; /* the result of a call, as text */
	struct dt_feed *feed;
	const struct dt_span *span; /* span that is being taken; NULL: the trace has ended */
	struct dt_protobuf packet, event, interned;
	struct dt_json text;
	struct dt_export_names names;
	uint64_t first;	       /* ticks of the first record */
	struct stacks *stacks; /* hash table; open addressing, slots is a power of two */
	size_t slots, used;
	struct core *core;
	size_t cores;
	bool *function_told, *arguments_told, *module_told, *row_told,
		*counted; /* by row: the name has been written; counted: the counter's track has */
	const struct dt_event_row *row;
	size_t rows;
	uint64_t flows;
	uint32_t arguments;    /* arguments written of the current call */
	uint32_t function;     /* function of the current call */
	bool sched;	       /* switches are written as the kernel's sched_switch */
	bool begun;	       /* the first packet has been written */
	bool failed, too_many; /* failed: out of memory, or a thread has too many stacks */
};

/* Begins and ends a packet, which is written at its end. It is one field: its length comes after
 * the key, which has one byte. */
void dt_perfetto_begin_packet(struct writing *w);
void dt_perfetto_end_packet(struct writing *w);
/* Puts the packet into a sequence: SEQUENCE or FTRACE_SEQUENCE. */
void dt_perfetto_put_sequence(struct writing *w, unsigned sequence);
/* Add a text to a message, as UTF-8, which strings of Protocol Buffers must be. */
void dt_perfetto_put_text(struct writing *w, struct dt_protobuf *m, unsigned field, const char *s,
			  size_t n);
void dt_perfetto_put_string(struct writing *w, struct dt_protobuf *m, unsigned field,
			    const char *s);
/* Write a packet that describes a track; parent 0: it has none. */
void dt_perfetto_describe_track(struct writing *w, uint64_t uuid, uint64_t parent, const char *name,
				bool counter);
void dt_perfetto_describe_process(struct writing *w, const struct dt_process_info *p);
/* Returns whether a number can be a thread of Linux (int32): others are no thread of Perfetto's,
 * but have a track. */
bool dt_perfetto_is_system(uint32_t tid);
void dt_perfetto_describe_thread(struct writing *w, uint32_t tid);
/* Returns the stacks of a thread or, if `nobody', of the interrupts of a core; they are made, and
 * described, if they are new. Valid until the next call. NULL: out of memory. */
struct stacks *dt_perfetto_stacks_of(struct writing *w, uint32_t tid, bool nobody, unsigned core);
/* Adds a stack to a thread, with its track. False: out of memory, or there are too many. */
bool dt_perfetto_add_stack(struct writing *w, struct stacks *s);
/* Returns the time of a tick, in ns of the monotonic clock. */
uint64_t dt_perfetto_ns_at(const struct writing *w, uint64_t ticks);
/* Returns the time of a tick, but never one before the last event of these stacks. */
uint64_t dt_perfetto_ns_on(const struct writing *w, struct stacks *s, uint64_t ticks);
/* Begins an event of a type (SLICE_BEGIN...) on a track, and ends it, which writes its packet. */
void dt_perfetto_begin_event(struct writing *w, unsigned type, uint64_t uuid);
void dt_perfetto_end_event(struct writing *w, uint64_t ns);
/* Adds the name of a function and of its module to the event; each name is written only once. */
void dt_perfetto_put_function(struct writing *w, uint32_t function);
/* Add an annotation to the event: a text, or a number in one of the fields ANNOTATION_... */
void dt_perfetto_annotate_text(struct writing *w, const char *name, const char *text, size_t n);
void dt_perfetto_annotate_number(struct writing *w, const char *name, unsigned field, uint64_t v);
/* Adds the values of a call or point to the event, after dt_perfetto_put_function(). */
void dt_perfetto_put_values(struct writing *w, uint32_t function, const uint64_t *value,
			    bool faults);

#endif
