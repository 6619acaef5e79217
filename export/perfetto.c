/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's own format: a stream of TracePackets (perfetto.dev, "Trace packet proto"; the numbers
 * of the fields are those published there). Written as it is read; who opens it sorts by time.
 *
 * A call is a slice of its thread's track. Slices of a track must nest, so what runs on another
 * stack of its thread meanwhile (a coroutine, a signal handler) gets a track below the thread's:
 * each call keeps in its note on which. Who ran on a core is told as the kernel's sched_switch,
 * which Perfetto draws and counts by itself, when the trace has switches of threads as Linux
 * numbers them; else on tracks of our own.
 *
 * Times are those of the monotonic clock, in ns.
 */
#include <stdlib.h>

#include "export/export.h"
#include "analyse/feed.h"
#include "analyse/messages.h"
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

static int fail(const struct writing *w, struct dt_error *e)
{
	return w->too_many ? dt_fail(e,
				     "a thread has more than %u stacks with calls on them at once; "
				     "this format is not written of such a trace",
				     LANES_MAX)
			   : dt_fail(e, "out of memory");
}

/* ---- packets ---- */

static void begin_packet(struct writing *w)
{
	w->packet.bytes.n = 0;
	dt_protobuf_begin(&w->packet, TRACE_PACKET);
}

/* A packet is within one field: its length comes behind the key, of one byte. */
static void end_packet(struct writing *w)
{
	dt_protobuf_end(&w->packet, 2);
	if (!w->packet.failed)
		fwrite(w->packet.bytes.p, 1, w->packet.bytes.n, w->f);
}

static void put_sequence(struct writing *w, unsigned sequence)
{
	dt_protobuf_number(&w->packet, PACKET_SEQUENCE_ID, sequence);
	if (sequence != SEQUENCE)
		return;
	dt_protobuf_number(&w->packet, PACKET_SEQUENCE_FLAGS,
			   w->begun ? STATE_NEEDED : STATE_CLEARED);
	if (!w->begun)
		dt_protobuf_number(&w->packet, PACKET_FIRST_ON_SEQUENCE, 1);
	w->begun = true;
}

/* Strings of Protocol Buffers are UTF-8. */
static void put_text(struct writing *w, struct dt_protobuf *m, unsigned field, const char *s,
		     size_t n)
{
	w->text.bytes.n = 0;
	dt_json_utf8(&w->text, s, n);
	if (!w->text.failed)
		dt_protobuf_bytes(m, field, n ? (const char *)w->text.bytes.p : "",
				  w->text.bytes.n);
}

static void put_string(struct writing *w, struct dt_protobuf *m, unsigned field, const char *s)
{
	put_text(w, m, field, s, strlen(s));
}

/* ---- tracks ---- */

static void put_track(struct writing *w, uint64_t uuid, uint64_t parent, const char *name)
{
	dt_protobuf_number(&w->packet, TRACK_UUID, uuid);
	if (parent)
		dt_protobuf_number(&w->packet, TRACK_PARENT_UUID, parent);
	if (name)
		put_string(w, &w->packet, TRACK_NAME, name);
}

static void describe_track(struct writing *w, uint64_t uuid, uint64_t parent, const char *name,
			   bool counter)
{
	size_t track;

	begin_packet(w);
	put_sequence(w, SEQUENCE);
	track = dt_protobuf_begin(&w->packet, PACKET_TRACK_DESCRIPTOR);
	put_track(w, uuid, parent, name);
	if (counter)
		dt_protobuf_end(&w->packet, dt_protobuf_begin(&w->packet, TRACK_COUNTER));
	dt_protobuf_end(&w->packet, track);
	end_packet(w);
}

static void describe_process(struct writing *w, const struct dt_process_info *p)
{
	const char *slash = strrchr(p->exe, '/');
	size_t track, process;

	begin_packet(w);
	put_sequence(w, SEQUENCE);
	track = dt_protobuf_begin(&w->packet, PACKET_TRACK_DESCRIPTOR);
	put_track(w, UUID(OF_PROCESS, p->pid, 0), 0, NULL);
	process = dt_protobuf_begin(&w->packet, TRACK_PROCESS);
	dt_protobuf_number(&w->packet, PROCESS_PID, p->pid);
	if (*p->cmdline)
		put_string(w, &w->packet, PROCESS_CMDLINE, p->cmdline);
	put_string(w, &w->packet, PROCESS_NAME, slash ? slash + 1 : *p->exe ? p->exe : p->cmdline);
	dt_protobuf_end(&w->packet, process);
	dt_protobuf_end(&w->packet, track);
	end_packet(w);
}

/* Numbers that Linux would not give are no thread of Perfetto's (int32), but have a track. */
static bool is_system(uint32_t tid)
{
	return tid && tid <= INT32_MAX;
}

static void describe_thread(struct writing *w, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(w->r, tid);
	uint64_t uuid = UUID(OF_THREAD, tid, 0);
	size_t track, thread;
	char name[64];

	if (!is_system(tid)) {
		dt_format(name, sizeof(name), tid == DT_NO_TID ? "no thread" : "thread %u", tid);
		describe_track(w, uuid, 0, t && *t->name ? t->name : name, false);
		return;
	}
	begin_packet(w);
	put_sequence(w, SEQUENCE);
	track = dt_protobuf_begin(&w->packet, PACKET_TRACK_DESCRIPTOR);
	put_track(w, uuid, 0, NULL);
	thread = dt_protobuf_begin(&w->packet, TRACK_THREAD);
	dt_protobuf_number(&w->packet, THREAD_PID, t && t->pid ? t->pid : tid);
	dt_protobuf_number(&w->packet, THREAD_TID, tid);
	if (t && *t->name)
		put_string(w, &w->packet, THREAD_NAME, t->name);
	dt_protobuf_end(&w->packet, thread);
	dt_protobuf_end(&w->packet, track);
	end_packet(w);
}

static bool grow_stacks(struct writing *w)
{
	size_t slots = w->slots ? 2 * w->slots : 64;
	struct stacks *more = calloc(slots, sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < w->slots; i++) {
		size_t k = w->stacks[i].uuid * 0x9e3779b97f4a7c15u >> 32 & (slots - 1);

		if (!w->stacks[i].uuid)
			continue;
		while (more[k].uuid)
			k = (k + 1) & (slots - 1);
		more[k] = w->stacks[i];
	}
	free(w->stacks);
	w->stacks = more;
	w->slots = slots;
	return true;
}

/* core: of a tid that is none. NULL: out of memory. Valid until the next call. */
static struct stacks *stacks_of(struct writing *w, uint32_t tid, bool nobody, unsigned core)
{
	uint64_t uuid = nobody ? UUID(OF_NOBODY, core, 0) : UUID(OF_THREAD, tid, 0);
	char name[64];
	size_t k;

	if (2 * w->used >= w->slots && !grow_stacks(w)) {
		w->failed = true;
		return NULL;
	}
	k = uuid * 0x9e3779b97f4a7c15u >> 32 & (w->slots - 1);
	while (w->stacks[k].uuid && w->stacks[k].uuid != uuid)
		k = (k + 1) & (w->slots - 1);
	if (w->stacks[k].uuid)
		return &w->stacks[k];
	w->used++;
	w->stacks[k] = (struct stacks){.uuid = uuid};
	if (nobody) {
		dt_format(name, sizeof(name), "interrupts, core %u", core);
		describe_track(w, uuid, 0, name, false);
	} else if (!dt_reader_thread(w->r, tid) || !is_system(tid)) {
		describe_thread(w, tid);
	}
	return &w->stacks[k];
}

/* One more stack of a thread: its track. */
static bool add_stack(struct writing *w, struct stacks *s)
{
	char name[32];

	if (s->n == s->room) {
		uint32_t room = s->room ? 2 * s->room : 4;
		uint32_t *more = room <= LANES_MAX ? realloc(s->open, room * sizeof(*more)) : NULL;

		if (!more) {
			w->failed = true;
			w->too_many = room > LANES_MAX;
			return false;
		}
		s->open = more;
		s->room = room;
	}
	s->open[s->n++] = 0;
	if (s->n > 1) {
		dt_format(name, sizeof(name), "stack %u", s->n);
		describe_track(w, s->uuid + s->n - 1, s->uuid, name, false);
	}
	return true;
}

/* ---- events ---- */

static uint64_t ns_at(const struct writing *w, uint64_t ticks)
{
	return dt_reader_ns(w->r, ticks);
}

/* The same, never before what the track has already. */
static uint64_t ns_on(const struct writing *w, struct stacks *s, uint64_t ticks)
{
	uint64_t ns = ns_at(w, ticks);

	if (ns < s->last)
		ns = s->last;
	return s->last = ns;
}

static void begin_event(struct writing *w, unsigned type, uint64_t uuid)
{
	w->event.bytes.n = 0;
	w->interned.bytes.n = 0;
	dt_protobuf_number(&w->event, EVENT_TYPE, type);
	dt_protobuf_number(&w->event, EVENT_TRACK_UUID, uuid);
}

static void end_event(struct writing *w, uint64_t ns)
{
	w->failed = w->failed || w->event.failed || w->interned.failed;
	if (w->failed)
		return;
	begin_packet(w);
	dt_protobuf_number(&w->packet, PACKET_TIMESTAMP, ns);
	put_sequence(w, SEQUENCE);
	if (w->interned.bytes.n)
		dt_protobuf_bytes(&w->packet, PACKET_INTERNED_DATA, w->interned.bytes.p,
				  w->interned.bytes.n);
	dt_protobuf_bytes(&w->packet, PACKET_TRACK_EVENT, w->event.bytes.p, w->event.bytes.n);
	end_packet(w);
}

static void intern(struct writing *w, unsigned field, uint64_t iid, const char *s, size_t n)
{
	size_t begin = dt_protobuf_begin(&w->interned, field);

	dt_protobuf_number(&w->interned, INTERNED_IID, iid);
	put_text(w, &w->interned, INTERNED_TEXT, s, n);
	dt_protobuf_end(&w->interned, begin);
}

/* Names of functions and of their modules are told once. */
static void put_function(struct writing *w, uint32_t function)
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

/* As a number when it is written as one: those can be counted with. */
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
		put_text(w, &w->event, ANNOTATION_STRING, text, n);
	else
		dt_protobuf_number(&w->event, hex ? ANNOTATION_POINTER : ANNOTATION_INT,
				   minus ? -v : v);
}

static void annotate_text(struct writing *w, const char *name, const char *text, size_t n)
{
	size_t begin = dt_protobuf_begin(&w->event, EVENT_DEBUG_ANNOTATIONS);

	put_string(w, &w->event, ANNOTATION_NAME, name);
	put_value(w, text, n);
	dt_protobuf_end(&w->event, begin);
}

static void annotate_number(struct writing *w, const char *name, unsigned field, uint64_t v)
{
	size_t begin = dt_protobuf_begin(&w->event, EVENT_DEBUG_ANNOTATIONS);

	put_string(w, &w->event, ANNOTATION_NAME, name);
	dt_protobuf_number(&w->event, field, v);
	dt_protobuf_end(&w->event, begin);
}

#define ARGUMENTS 64 /* of a function, whose names are told once; see also show/format.c */

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
		put_text(w, &w->event, ANNOTATION_NAME, name, n);
	put_value(w, text, length);
	dt_protobuf_end(&w->event, begin);
}

/* Behind put_function(). */
static void put_values(struct writing *w, uint32_t function, const uint64_t *value, bool faults)
{
	if (!w->formats || !value)
		return;
	w->arguments = 0;
	w->function = function;
	dt_words_each(w->formats, function, value, faults, on_value, w);
	w->arguments_told[function] = true;
}

/* ---- calls ---- */

static struct stacks *stacks_of_call(struct writing *w, const struct dt_call *c)
{
	/* feed.c has noted the core */
	unsigned core = c->note ? *c->note & ((1u << DT_FEED_NOTE) - 1) : 0;

	return stacks_of(w, c->tid, c->tid == DT_NO_TID && core, core - 1);
}

static uint32_t lane_of(const uint32_t *note)
{
	return note ? *note >> DT_FEED_NOTE & (LANES_MAX - 1) : 0;
}

/* Where its caller is; the first of its stack: where nothing is open. */
static bool choose_lane(struct writing *w, struct stacks *s, const struct dt_call *c,
			uint32_t *lane)
{
	const struct dt_pair *p = dt_feed_pair(w->feed);
	const uint32_t *caller = dt_pair_is_first(p) ? NULL : dt_pair_caller_note(p);

	if (!s->n && !add_stack(w, s))
		return false;
	*lane = 0;
	if (caller && lane_of(caller) < s->n)
		*lane = lane_of(caller);
	else
		while (*lane < s->n && s->open[*lane])
			++*lane;
	if (*lane == s->n && !add_stack(w, s))
		return false;
	*c->note |= *lane << DT_FEED_NOTE;
	return true;
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	struct stacks *s = stacks_of_call(w, c);
	uint32_t lane;

	if (!s || !choose_lane(w, s, c, &lane))
		return;
	s->open[lane]++;
	begin_event(w, SLICE_BEGIN, s->uuid + lane);
	put_function(w, c->function);
	put_values(w, c->function, c->argument, false);
	end_event(w, ns_on(w, s, c->begin));
}

static void put_result(struct writing *w, const struct dt_call *c)
{
	static struct dt_json text;

	if (!w->formats || !c->result)
		return;
	text.bytes.n = 0;
	dt_words_result(w->formats, &text, c->function, c->result);
	/* without the " = " in front */
	if (!text.failed && text.bytes.n > 3)
		annotate_text(w, "result", (const char *)text.bytes.p + 3, text.bytes.n - 3);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct writing *w = ctx;
	struct stacks *s = stacks_of_call(w, c);
	const char *how = c->flags & DT_CALL_NO_ENTRY	? "began before this, it is not known when"
			  : c->flags & DT_CALL_LOSS	? "lost"
			  : c->flags & DT_CALL_PAUSED	? "paused"
			  : c->flags & DT_CALL_BACKWARD ? "backward"
			  : c->flags & DT_CALL_UNWOUND	? "unwound"
			  : c->flags & DT_CALL_TAIL	? "tail"
							: NULL;

	/* a slice without an end is one that did not finish */
	if (!s || (c->flags & DT_CALL_OPEN))
		return;
	if (c->flags & DT_CALL_NO_ENTRY) {
		begin_event(w, INSTANT, s->uuid);
		put_function(w, c->function);
	} else {
		uint32_t lane = lane_of(c->note);

		begin_event(w, SLICE_END, s->uuid + lane);
		if (lane < s->n && s->open[lane])
			s->open[lane]--;
	}
	put_result(w, c);
	if (how)
		annotate_text(w, "end", how, strlen(how));
	end_event(w, ns_on(w, s, c->end));
}

/* ---- cores ---- */

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

/* 0 is the idle thread of every core. What is not traced can not be told from it. */
static void put_thread_of_switch(struct writing *w, unsigned name_field, unsigned field,
				 uint32_t tid)
{
	const struct dt_thread_info *t = is_system(tid) ? dt_reader_thread(w->r, tid) : NULL;

	put_string(w, &w->packet, name_field, t ? t->name : is_system(tid) ? "" : "(none traced)");
	dt_protobuf_number(&w->packet, field, is_system(tid) ? tid : 0);
}

static void write_switch(struct writing *w, const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(w->r, s->site[i]);
	struct core *core = core_of(w, s->core);
	size_t bundle, event, change;

	if (!core)
		return;
	begin_packet(w);
	put_sequence(w, FTRACE_SEQUENCE);
	bundle = dt_protobuf_begin(&w->packet, PACKET_FTRACE_EVENTS);
	dt_protobuf_number(&w->packet, BUNDLE_CPU, s->core);
	event = dt_protobuf_begin(&w->packet, BUNDLE_EVENT);
	dt_protobuf_number(&w->packet, FTRACE_TIMESTAMP, ns_at(w, s->ticks[i]));
	dt_protobuf_number(&w->packet, FTRACE_PID, is_system(core->tid) ? core->tid : 0);
	change = dt_protobuf_begin(&w->packet, FTRACE_SCHED_SWITCH);
	put_thread_of_switch(w, SWITCH_PREV_COMM, SWITCH_PREV_PID, core->tid);
	/* session/switches.h: 0 runnable, 1 waiting, as the kernel has them */
	if (s->value && (site->mask & 8))
		dt_protobuf_number(&w->packet, SWITCH_PREV_STATE, !(s->value[i][3] >> 32 & 1));
	put_thread_of_switch(w, SWITCH_NEXT_COMM, SWITCH_NEXT_PID, s->tid);
	dt_protobuf_end(&w->packet, change);
	dt_protobuf_end(&w->packet, event);
	dt_protobuf_end(&w->packet, bundle);
	end_packet(w);
	core->tid = s->tid;
}

/* Who ran there, on a track of our own. */
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
		describe_track(w, UUID(OF_CORE, id, 0), 0, name, false);
	}
	core->described = true;
	t = dt_reader_thread(w->r, bar->what);
	dt_format(name, sizeof(name), "thread %u", bar->what);
	begin_event(w, SLICE_BEGIN, UUID(OF_CORE, id, 0));
	put_string(w, &w->event, EVENT_NAME, t && *t->name ? t->name : name);
	annotate_number(w, "thread", ANNOTATION_UINT, bar->what);
	end_event(w, ns_at(w, bar->begin));
	begin_event(w, SLICE_END, UUID(OF_CORE, id, 0));
	end_event(w, ns_at(w, bar->end));
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
		describe_track(w, uuid, 0, name, false);
	}
	core->loss_described = true;
	dt_format(name, sizeof(name), "%lu records lost", (unsigned long)s->lost);
	begin_event(w, s->lost_end ? SLICE_BEGIN : INSTANT, uuid);
	put_string(w, &w->event, EVENT_NAME, name);
	annotate_number(w, "lost", ANNOTATION_UINT, s->lost);
	end_event(w, ns_at(w, begin));
	if (s->lost_end) {
		begin_event(w, SLICE_END, uuid);
		end_event(w, ns_at(w, s->lost_end));
	}
}

/* ---- events, points, messages ---- */

static struct stacks *stacks_of_record(struct writing *w, const struct dt_span *s, uint32_t i)
{
	return stacks_of(w, s->tid, s->tid == DT_NO_TID && s->sp[i] >> 63, s->core);
}

/* Its value over time, too: a counter; name: of a track that is not described yet. */
static void count(struct writing *w, uint64_t uuid, bool *described, const char *before,
		  const char *name, uint64_t v, uint64_t ns)
{
	char line[256];

	if (!*described) {
		dt_format(line, sizeof(line), "%s%s%s", before, *before ? " " : "", name);
		describe_track(w, uuid, 0, line, true);
	}
	*described = true;
	begin_event(w, COUNTER, uuid);
	dt_protobuf_number(&w->event, EVENT_COUNTER_VALUE, v);
	end_event(w, ns);
}

static void write_event(struct writing *w, const struct dt_span *s, uint32_t i)
{
	uint64_t body = s->value ? s->value[i][0] : 0;
	const struct dt_event_row *row = dt_reader_event(w->r, body);
	struct stacks *of = stacks_of_record(w, s, i);
	uint64_t ns = ns_at(w, s->ticks[i]);

	if (!of)
		return;
	begin_event(w, INSTANT, of->uuid);
	put_string(w, &w->event, EVENT_NAME, row && *row->name ? row->name : "event");
	if (row)
		put_string(w, &w->event, EVENT_CATEGORIES, row->subsystem_name);
	annotate_number(w, "body", ANNOTATION_POINTER, body);
	if (row && *row->name) {
		annotate_number(w, "argument", ANNOTATION_UINT, body & 0xffffffff);
		if (*row->description)
			annotate_text(w, "description", row->description, strlen(row->description));
	}
	end_event(w, ns);
	if (row && *row->name)
		count(w, UUID(OF_EVENT, row - w->row, 0), &w->row_told[row - w->row],
		      row->subsystem_name, row->name, body & 0xffffffff, ns);
}

static void write_point(struct writing *w, const struct dt_span *s, uint32_t i)
{
	const struct dt_site *site = dt_reader_site(w->r, s->site[i]);
	struct stacks *of = stacks_of_record(w, s, i);
	uint64_t ns = ns_at(w, s->ticks[i]);

	if (!of)
		return;
	begin_event(w, INSTANT, of->uuid);
	put_function(w, site->function);
	if (s->value && site->place != DT_SITE_POINT_TEXT)
		put_values(w, site->function, s->value[i], s->flags[i] & DT_FAULT);
	else if (s->value)
		annotate_text(w, "text", (const char *)s->value[i],
			      strnlen((const char *)s->value[i], sizeof(s->value[i])));
	end_event(w, ns);
	if (s->value && site->kind == DT_POINT && (site->mask & 1))
		count(w, UUID(OF_POINT, site->function, 0), &w->counted[site->function],
		      dt_reader_function_name(w->r, site->function), "first value", s->value[i][0],
		      ns);
}

/* One end of a message; flow 0: the other one is not known. */
static void write_end_of_message(struct writing *w, const struct dt_message *m, bool sent,
				 uint64_t flow)
{
	struct stacks *of = stacks_of(w, sent ? m->sender : m->receiver, false, 0);
	/* the arrow ends at the later one, whichever that is */
	bool ends = sent == (m->state == DT_MESSAGE_BACKWARD);

	if (!of)
		return;
	begin_event(w, INSTANT, of->uuid);
	put_string(w, &w->event, EVENT_NAME, sent ? "message sent" : "message received");
	annotate_number(w, "key", ANNOTATION_POINTER, m->key);
	annotate_number(w, "core", ANNOTATION_UINT, sent ? m->sent_core : m->received_core);
	if (m->state == DT_MESSAGE_BACKWARD)
		annotate_text(w, "note", "received before it was sent", 27);
	if (m->state == DT_MESSAGE_UNRECEIVED)
		annotate_text(w, "note", "not seen received", 17);
	if (m->state == DT_MESSAGE_UNSENT)
		annotate_text(w, "note", "not seen sent", 13);
	if (flow)
		dt_protobuf_fixed64(&w->event, ends ? EVENT_TERMINATING_FLOW_IDS : EVENT_FLOW_IDS,
				    flow);
	end_event(w, ns_at(w, sent ? m->sent : m->received));
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

/* ---- the whole ---- */

static void put_clock(struct writing *w, unsigned id, uint64_t ns)
{
	size_t clock = dt_protobuf_begin(&w->packet, SNAPSHOT_CLOCKS);

	dt_protobuf_number(&w->packet, CLOCK_ID, id);
	dt_protobuf_number(&w->packet, CLOCK_TIMESTAMP, ns);
	dt_protobuf_end(&w->packet, clock);
}

/* Packets that do not say their clock, and the kernel's, are in that since boot: of that we have
 * the monotonic one, which is the same on a machine that was not suspended. */
static void write_clocks(struct writing *w)
{
	struct dt_clock first, last;
	size_t snapshot;

	if (!dt_reader_clock(w->r, &first, &last))
		return;
	begin_packet(w);
	put_sequence(w, SEQUENCE);
	snapshot = dt_protobuf_begin(&w->packet, PACKET_CLOCK_SNAPSHOT);
	put_clock(w, BOOTTIME, first.monotonic_ns);
	put_clock(w, MONOTONIC, first.monotonic_ns);
	if (first.realtime_ns)
		put_clock(w, REALTIME, first.realtime_ns);
	dt_protobuf_end(&w->packet, snapshot);
	end_packet(w);
}

static void write_names(struct writing *w)
{
	size_t n;
	const struct dt_process_info *p = dt_reader_processes(w->r, &n);
	const struct dt_thread_info *t;

	for (size_t i = 0; i < n; i++)
		if (is_system(p[i].pid))
			describe_process(w, &p[i]);
	t = dt_reader_threads(w->r, &n);
	for (size_t i = 0; i < n; i++)
		if (is_system(t[i].tid))
			describe_thread(w, t[i].tid);
}

/* Times in which threads could not go on because of the tracer, on a track below each one's. */
static void write_holds(struct writing *w)
{
	size_t n, holds;
	const struct dt_thread_info *t = dt_reader_threads(w->r, &n);

	for (size_t i = 0; i < n; i++) {
		const struct dt_times *h = dt_reader_thread_holds(w->r, t[i].tid, &holds);
		uint64_t uuid = UUID(OF_HELD, t[i].tid, 0);

		if (holds)
			describe_track(w, uuid, UUID(OF_THREAD, t[i].tid, 0), DT_EXPORT_HELD,
				       false);
		for (size_t k = 0; k < holds; k++) {
			begin_event(w, SLICE_BEGIN, uuid);
			put_string(w, &w->event, EVENT_NAME, DT_EXPORT_HELD);
			end_event(w, ns_at(w, h[k].begin));
			begin_event(w, SLICE_END, uuid);
			end_event(w, ns_at(w, h[k].end));
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

int dt_export_perfetto(struct dt_reader *r, FILE *f, struct dt_formats *formats, struct dt_error *e)
{
	struct writing w = {.r = r, .f = f, .formats = formats, .first = dt_export_first(r)};
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
	if (messages && w.function_told && w.arguments_told && w.counted && w.module_told &&
	    w.row_told) {
		write_names(&w);
		write_clocks(&w);
		write_holds(&w);
		rc = run(&w, messages, e);
	}
	if (!messages || w.failed || w.packet.failed || w.text.failed)
		rc = fail(&w, e);
	dt_feed_free(w.feed);
	dt_messages_free(messages);
	for (size_t i = 0; i < w.slots; i++)
		free(w.stacks[i].open);
	free(w.stacks);
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
	return rc;
}
