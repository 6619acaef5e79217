/* SPDX-License-Identifier: MIT */
/*
 * What a time line shows of a trace, as its records come: calls, who runs on each core, events.
 * The pyramid takes it for the whole trace, a window for the part that it needs.
 */
#ifndef DT_ANALYSE_FEED_H
#define DT_ANALYSE_FEED_H

#include "analyse/filter.h"
#include "analyse/messages.h"
#include "analyse/pair.h"
#include "store/bars.h"

enum dt_track_kind {
	DT_TRACK_THREAD,  /* id: thread; bars: calls, what: function row */
	DT_TRACK_CORE,	  /* id: core; bars: what: the thread that ran, flags: DT_BAR_SEEN */
	DT_TRACK_EVENT,	  /* id: subsystem << 16 | event; what: thread, low and high: argument */
	DT_TRACK_POINT,	  /* id: function row of a point, of the same ones the first; what: thread,
			     low and high: first value */
	DT_TRACK_MESSAGE, /* id: DT_MESSAGE_WHOLE or _BACKWARD; from its first end to its last;
			     what: the sender, low: key, high: dt_other_end() */
	DT_TRACK_KINDS,
};

/* The id of a thread that is none: what runs on a core in interrupts. Threads have 22 bits. */
#define DT_TRACK_NOBODY(core) (0xffff0000u | (core))

/* Of a message's bar: the receiver, and the cores of the sending and the receipt. */
static inline uint64_t dt_other_end(const struct dt_message *m)
{
	return m->receiver | (uint64_t)m->sent_core << 32 | (uint64_t)m->received_core << 48;
}

#define DT_BAR_SEEN 1 /* of a core: told from the records there, not from its switches */

#define DT_FEED_NOTE	  17
#define DT_FEED_NOTE_BITS 14

struct dt_feed_to {
	/* In the order of their ends, for each track. */
	void (*bar)(void *ctx, enum dt_track_kind kind, uint32_t id, const struct dt_bar *bar);
	/* With each bar of a thread, before it; may be NULL. */
	void (*call)(void *ctx, const struct dt_call *c);
	/* As in struct dt_pair_events, whatever is filtered; may be NULL. Of a call's note, bits
	 * DT_FEED_NOTE and above, so many as DT_FEED_NOTE_BITS, are the user's; below is the core
	 * where it began, plus one. */
	void (*begin)(void *ctx, const struct dt_call *c);
	void (*other)(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
	void *ctx;
};

struct dt_feed;

/* values: spans come with values, and calls with theirs. filter: only what it wants is said; NULL:
 * everything. It stays the caller's. NULL: out of memory. */
struct dt_feed *dt_feed_new(struct dt_reader *r, const struct dt_feed_to *to, bool values,
			    struct dt_filter *filter);
void dt_feed_free(struct dt_feed *f);

/* As dt_pair_impossible(). */
uint64_t dt_feed_impossible(const struct dt_feed *f);

/* Spans are to be in dt_feed_order(), or in the order of time. -1: out of memory. */
int dt_feed_span(struct dt_feed *f, const struct dt_span *s);
/* Of the pairing, for events about calls. */
const struct dt_pair *dt_feed_pair(const struct dt_feed *f);
/* Ends what is open at the end of the trace. */
void dt_feed_finish(struct dt_feed *f);

/* As analyse/snapshot.h has it. */
int dt_feed_save(const struct dt_feed *f, struct dt_bytes *b);
int dt_feed_restore(struct dt_feed *f, const uint8_t *bytes, size_t n);
/* Only what pairing knows, of a trace: into p, which is of the same trace. */
int dt_feed_restore_pair(struct dt_reader *r, const uint8_t *bytes, size_t n, struct dt_pair *p);

/* Does the trace have anything whose values are shown, or counts by them? Then spans are wanted
 * with values. */
bool dt_feed_needs_values(const struct dt_reader *r);
/* In which order spans are wanted: threads may be ahead of each other, unless they send messages.
 */
enum dt_order dt_feed_order(const struct dt_reader *r);
/* Does it say which thread runs on each core? */
bool dt_feed_has_switches(const struct dt_reader *r);

#endif
