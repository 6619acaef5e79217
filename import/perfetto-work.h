/* SPDX-License-Identifier: MIT */
/* What the parts of the import from Perfetto share; it is for them only. */
#ifndef DT_IMPORT_PERFETTO_WORK_H
#define DT_IMPORT_PERFETTO_WORK_H

#include "import/calls.h"
#include "import/keys.h"
#include "import/wire.h"

#define TRACK_STEPS 64u /* parents of a track that are looked at */

/* Clocks by their numbers in the format: the first 63 are the system's, 64 to 127 are those of one
 * sequence, the others of the whole trace. */
enum { CLOCK_BOOTTIME = 6, CLOCK_SEQUENCE = 64, CLOCK_GLOBAL = 128 };

/* A clock, by number and, where it is of a sequence, by that. */
struct clock {
	int64_t from, to; /* ns: a reading of it, and of the trace's clock at that time */
	uint64_t unit;	  /* ns of its unit; 0: one */
	int64_t last;	  /* incremental: units of the last time */
	bool known;	  /* it has been read together with the trace's */
	bool incremental; /* a time is the difference to the last one */
};

/* A sequence of packets, of one writer, within which names are known by number. */
struct sequence {
	uint64_t state; /* what it knows; 0: there was no packet of it */
	uint64_t track; /* of events that name none */
	bool has_track, has_clock;
	uint64_t clock; /* of packets that name none */
};

enum track_of { TRACK_OTHER, TRACK_PROCESS, TRACK_THREAD };

struct track {
	int32_t pid, tid;
	uint8_t of; /* enum track_of */
	bool known; /* it has been described */
	bool has_parent, incremental;
	uint64_t parent;   /* uuid */
	int64_t last;	   /* incremental: the counter's value, */
	uint64_t state;	   /* in that state of its sequence */
	int64_t unit;	   /* what the counter's values are multiplied with; 0: 1 */
	uint32_t name;	   /* in dt_imported.names, + 1; 0: none */
	uint32_t category; /* of a counter: of the first value; in dt_imported.names, + 1 */
	uint32_t thread;   /* when all is read */
};

/* Something that flows through an event: the items of its receipt and its sending, the second
 * behind the first one. */
struct flow {
	int64_t ns;
	uint32_t item;
	uint32_t id; /* in `flows' */
	bool ends;
};

/* A thread as the kernel numbers it. */
struct kernel_thread {
	int32_t tid, pid;
	bool has_pid;
	uint32_t name; /* in dt_imported.names, + 1; 0: none */
};

/* What runs on a core. */
struct running {
	int32_t tid; /* 0: nothing, or it is not known */
};

/* A packet's fields. */
struct packet {
	uint64_t timestamp, clock, sequence, flags;
	bool has_time, has_clock, dropped;
	struct dt_wire_bytes event, interned, defaults, track, process, thread, tree, bundle,
		snapshot;
	unsigned others, compressed;
};

struct perfetto {
	struct dt_imported *m;
	struct dt_error *e;
	const char *path;
	uint64_t at; /* in the file: of the packet */
	struct packet packet;
	struct dt_key_list sequences, clocks, tracks, interned, flows, tids;
	struct sequence *sequence;
	struct clock *clock;
	struct track *track;
	uint32_t *name; /* of each of `interned': in m->names, + 1 */
	struct flow *flow;
	uint32_t sequence_size, clock_size, track_size, name_size, flow_size, flows_n;
	struct kernel_thread *known; /* of each of `tids' */
	uint32_t known_size;
	struct running *running; /* on each core */
	uint32_t running_size;
	uint64_t states;      /* given so far */
	uint64_t trace_clock; /* 0: not decided yet */
	char *text;	      /* dt_perfetto_text() */
	size_t text_size;
};

/* Fails since the packet is damaged. Returns -1. */
int dt_perfetto_damaged(struct perfetto *k);
/* Returns bytes as text, until it is called again. A byte 0 is a '?'. NULL: out of memory. */
const char *dt_perfetto_text(struct perfetto *k, struct dt_wire_bytes b);
/* Returns the number of a text in m->names, + 1; 0: an error. */
uint32_t dt_perfetto_name(struct perfetto *k, struct dt_wire_bytes b);
/* Returns the sequence of the packet; NULL: an error. */
struct sequence *dt_perfetto_sequence(struct perfetto *k);

/* ---- clocks ---- */

int dt_perfetto_snapshot(struct perfetto *k, struct dt_wire_bytes b);
/* Makes ns of the trace's clock of a packet's time. 0: it has none, which is counted; -1: error. */
int dt_perfetto_time(struct perfetto *k, const struct sequence *s, int64_t *ns);
/* Returns the name of the trace's clock. */
const char *dt_perfetto_clock_name(const struct perfetto *k);

/* ---- tracks ---- */

/* Returns the number of the track with a uuid; -1: error. The second is that of a sequence without
 * one. */
int64_t dt_perfetto_track(struct perfetto *k, uint64_t uuid);
int64_t dt_perfetto_own_track(struct perfetto *k, uint64_t sequence);
int dt_perfetto_take_track(struct perfetto *k, struct dt_wire_bytes b);
/* The older descriptions, each of the sequence it comes in. */
int dt_perfetto_take_thread(struct perfetto *k, int64_t track, struct dt_wire_bytes b);
int dt_perfetto_tree(struct perfetto *k, struct dt_wire_bytes b);
/* Gives each track its thread, and each item the thread of its track. */
int dt_perfetto_place(struct perfetto *k);

/* ---- events ---- */

/* An event of a counter whose name is that of its track. */
#define NAME_OF_TRACK UINT32_MAX

int dt_perfetto_intern(struct perfetto *k, struct sequence *s, struct dt_wire_bytes b);
int dt_perfetto_event(struct perfetto *k, const struct sequence *s);
/* Decides, when all events are there, which flows begin and end where. */
int dt_perfetto_flow(struct perfetto *k);

/* ---- the kernel's ---- */

int dt_perfetto_bundle(struct perfetto *k);
/* Returns what is known of a thread; NULL: an error. */
struct kernel_thread *dt_perfetto_kernel_thread(struct perfetto *k, int32_t tid);
/* Gives switches their threads. */
int dt_perfetto_switches(struct perfetto *k);

#endif
