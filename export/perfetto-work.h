/* SPDX-License-Identifier: MIT */
/* What the parts of the export to Perfetto share; for nobody else. */
#ifndef DT_EXPORT_PERFETTO_WORK_H
#define DT_EXPORT_PERFETTO_WORK_H

#include "export/export.h"
#include "export/protobuf.h"

/* Field numbers; in front the message they are in. */
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

/* What a track is of: the upper byte of its uuid. */
enum { OF_PROCESS = 1, OF_THREAD, OF_NOBODY, OF_CORE, OF_LOSS, OF_EVENT, OF_POINT, OF_HELD };
#define LANE_BITS	   DT_FEED_NOTE_BITS
#define LANES_MAX	   (1u << LANE_BITS)
#define UUID(of, id, lane) ((uint64_t)(of) << 56 | (uint64_t)(id) << LANE_BITS | (lane))

/* A thread, or the interrupts of a core: the stacks it has, one of them a track each. */
struct stacks {
	uint64_t uuid;	/* of the first one; 0: a free place */
	uint64_t last;	/* ns: no time of it may be before */
	uint32_t *open; /* of each: its open calls */
	uint32_t n, room;
};

struct core {
	uint32_t tid; /* that runs there; DT_NO_TID: none that is known */
	bool described, loss_described;
};

struct writing {
	struct dt_reader *r;
	FILE *f;
	struct dt_formats *formats;
	struct dt_feed *feed;
	const struct dt_span *span; /* being taken; NULL: the trace has ended */
	struct dt_protobuf packet, event, interned;
	struct dt_json text;
	uint64_t first;	       /* ticks of the first record */
	struct stacks *stacks; /* open addressing, a power of two */
	size_t slots, used;
	struct core *core;
	size_t cores;
	bool *function_told, *arguments_told, *module_told, *row_told, *counted;
	const struct dt_event_row *row;
	size_t rows;
	uint64_t flows;
	uint32_t arguments;    /* written of this call */
	uint32_t function;     /* this call's */
	bool sched;	       /* switches are written as the kernel's */
	bool begun;	       /* the first packet is written */
	bool failed, too_many; /* out of memory, or of stacks */
};

void dt_perfetto_begin_packet(struct writing *w);
/* A packet is within one field: its length comes behind the key, of one byte. */
void dt_perfetto_end_packet(struct writing *w);
void dt_perfetto_put_sequence(struct writing *w, unsigned sequence);
/* Strings of Protocol Buffers are UTF-8. */
void dt_perfetto_put_text(struct writing *w, struct dt_protobuf *m, unsigned field, const char *s,
			  size_t n);
void dt_perfetto_put_string(struct writing *w, struct dt_protobuf *m, unsigned field,
			    const char *s);
void dt_perfetto_describe_track(struct writing *w, uint64_t uuid, uint64_t parent, const char *name,
				bool counter);
void dt_perfetto_describe_process(struct writing *w, const struct dt_process_info *p);
/* Numbers that Linux would not give are no thread of Perfetto's (int32), but have a track. */
bool dt_perfetto_is_system(uint32_t tid);
void dt_perfetto_describe_thread(struct writing *w, uint32_t tid);
/* core: of a tid that is none. NULL: out of memory. Valid until the next call. */
struct stacks *dt_perfetto_stacks_of(struct writing *w, uint32_t tid, bool nobody, unsigned core);
/* One more stack of a thread: its track. */
bool dt_perfetto_add_stack(struct writing *w, struct stacks *s);
uint64_t dt_perfetto_ns_at(const struct writing *w, uint64_t ticks);
/* The same, never before what the track has already. */
uint64_t dt_perfetto_ns_on(const struct writing *w, struct stacks *s, uint64_t ticks);
void dt_perfetto_begin_event(struct writing *w, unsigned type, uint64_t uuid);
void dt_perfetto_end_event(struct writing *w, uint64_t ns);
/* Names of functions and of their modules are told once. */
void dt_perfetto_put_function(struct writing *w, uint32_t function);
void dt_perfetto_annotate_text(struct writing *w, const char *name, const char *text, size_t n);
void dt_perfetto_annotate_number(struct writing *w, const char *name, unsigned field, uint64_t v);
/* Behind dt_perfetto_put_function(). */
void dt_perfetto_put_values(struct writing *w, uint32_t function, const uint64_t *value,
			    bool faults);

#endif
