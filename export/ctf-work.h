/* SPDX-License-Identifier: MIT */
/* An export to the Common Trace Format that is being made: for ctf.c (the source of messages, and
 * the whole), ctf-classes.c, ctf-packets.c, ctf-records.c and ctf-waits.c only. */
#ifndef DT_EXPORT_CTF_WORK_H
#define DT_EXPORT_CTF_WORK_H

#include "export/babeltrace.h"
#include "export/export.h"

#define PACKET_RECORDS 8192
#define PENDING	       8  /* most messages that one record makes */
#define CLASSES	       11 /* classes of records: entries, exits... */

/* Indices of the members of the structures, in their order. */
enum { TID, PID, CORE, FLAGS, PC, SP, THREAD };
enum { NAME, TEXT, VALUES };
enum { WAIT_TID, WAIT_PID, WAIT_THREAD };
enum { WHY, DURATION };

struct core {
	bt_stream *stream;
	bt_packet *packet; /* NULL: none is open */
	uint32_t records;  /* records in the packet */
	uint64_t last;	   /* ticks of its last message: the next may not be before */
};

struct wait {
	uint64_t begin, ticks;
	uint32_t tid;
	char why[16];
};

struct writing {
	struct dt_reader *r;
	struct dt_formats *formats;
	struct dt_error *e;
	bool failed; /* it has failed, and e says why */
	uint64_t moved, first, end;

	bt_clock_class *clock;
	bt_trace_class *trace_class;
	bt_stream_class *stream_class;
	bt_event_class *event_class[CLASSES];
	bt_trace *trace;
	bt_self_message_iterator *iterator;
	struct core *core;
	struct wait *wait; /* waits for devtrace, in the order of time */
	size_t waits, waited;
	bt_stream_class *wait_class; /* NULL: there are no waits */
	bt_event_class *wait_event;
	struct core waiting;  /* the stream of the waits */
	size_t cores, ending; /* ending: the next stream to end, once there are no more records */

	struct dt_span span;
	uint32_t at;	  /* index in the span of the next record */
	bool ended, more; /* ended: no more spans; more: the span has more records */
	const bt_message *pending[PENDING];
	unsigned pendings, given;
	struct dt_json text;
	bool any; /* text has an argument */
};

static inline bt_field *dt_ctf_member(bt_field *structure, unsigned i)
{
	return dt_bt.field_structure_borrow_member_field_by_index(structure, i);
}

static inline void dt_ctf_set_number(bt_field *structure, unsigned i, uint64_t v)
{
	dt_bt.field_integer_unsigned_set_value(dt_ctf_member(structure, i), v);
}

/* Sets a text, which is never empty: libbabeltrace2 2.0.4 shows an empty text as that of the record
 * before. */
static inline void dt_ctf_set_string(bt_field *structure, unsigned i, const char *s)
{
	dt_bt.field_string_set_value(dt_ctf_member(structure, i), *s ? s : "-");
}

/* ---- ctf-classes.c ---- */

/* Returns the class of records of a kind; the last class has those of any kind not known. */
size_t dt_ctf_class(uint8_t kind);

/* Make the classes of a core's stream, with those of its records, and of the stream of waits. */
void dt_ctf_classes(struct writing *w);
void dt_ctf_wait_class(struct writing *w);

/* ---- ctf-packets.c ---- */

/* Adds a message to those that are given next; NULL: there was no memory for it. */
void dt_ctf_push(struct writing *w, const bt_message *m);
/* Begin and end a packet of a core at `ticks'. */
void dt_ctf_begin_packet(struct writing *w, struct core *c, uint64_t ticks);
void dt_ctf_end_packet(struct writing *w, struct core *c, uint64_t ticks);
/* Returns a core, whose stream is begun if it is not yet. NULL: out of memory, which has been
 * noted. */
struct core *dt_ctf_core(struct writing *w, unsigned core);
/* Notes the loss of the current span, which ends at `ticks': first ends the open packet, where the
 * loss began. */
void dt_ctf_loss(struct writing *w, struct core *c, uint64_t ticks);

/* ---- ctf-records.c ---- */

/* Adds record i of the current span to the core's packet, with this time. */
void dt_ctf_record(struct writing *w, struct core *c, uint32_t i, uint64_t ticks);

/* ---- ctf-waits.c ---- */

/* For dt_reader_helds(): takes down a wait; ctx is the struct writing. */
int dt_ctf_on_hold(void *ctx, const struct dt_held_row *h);
/* Adds the next of the waits that were taken down. */
void dt_ctf_wait(struct writing *w);

#endif
