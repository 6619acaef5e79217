/* SPDX-License-Identifier: MIT */
/*
 * What a time line shows of a trace, made from its records as they come: calls, the threads that
 * run on each core, events. A pyramid takes it for the whole trace, a window for the part that it
 * needs.
 */
#ifndef DT_ANALYSE_FEED_H
#define DT_ANALYSE_FEED_H

#include "filter/filter.h"
#include "analyse/messages.h"
#include "analyse/pair.h"
#include "analyse/ways.h"
#include "store/bars.h"

enum dt_track_kind {
	DT_TRACK_THREAD, /* id: tid; bars are calls, what: function row */
	DT_TRACK_CORE,	 /* id: core; what: the thread that ran, flags: DT_BAR_SEEN */
	DT_TRACK_EVENT,	 /* id: subsystem << 16 | event; what: thread, low and high: argument */
	DT_TRACK_POINT,	 /* id: function row of a point, the first of those that are the same; what:
			    thread, low and high: first value */
	DT_TRACK_MESSAGE, /* id: DT_MESSAGE_WHOLE or _BACKWARD; a bar lasts from the message's first
			     end to its last; what: the sender, low: key, high: dt_other_end() */
	DT_TRACK_KINDS,
};

/* The id of the track for what runs on a core in interrupts, without a thread. The ids of threads
 * have 22 bits. */
#define DT_TRACK_NOBODY(core) (0xffff0000u | (core))

/* Returns dt_bar.high of a message: the receiver, and the cores of the sending and the receipt. */
static inline uint64_t dt_other_end(const struct dt_message *m)
{
	return m->receiver | (uint64_t)m->sent_core << 32 | (uint64_t)m->received_core << 48;
}

/* Flag of a core's bar: it is concluded from the records on that core, not from switches. */
#define DT_BAR_SEEN 1

#define DT_FEED_NOTE	  17
#define DT_FEED_NOTE_BITS 14

/* Where the bars go. */
struct dt_feed_to {
	/* A bar; those of one track come in the order of their ends. */
	void (*bar)(void *ctx, enum dt_track_kind kind, uint32_t id, const struct dt_bar *bar);
	/* The call of each bar of a thread, before the bar; may be NULL. */
	void (*call)(void *ctx, const struct dt_call *c);
	/*
	 * As in struct dt_pair_events, whatever the filter wants; may be NULL. In a call's note,
	 * the DT_FEED_NOTE_BITS bits from bit DT_FEED_NOTE on are the user's, if there is no
	 * filter; those below hold the core where it began, plus one.
	 */
	void (*begin)(void *ctx, const struct dt_call *c);
	void (*other)(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth);
	/* As in struct dt_pair_events, whatever the filter wants; may be NULL. */
	void (*wait)(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		     bool preempted, const char *what, const struct dt_wait_ended *ended);
	void *ctx;
	/* where the ways of calling are looked up and added: the second word of a call's note is
	 * its node there. NULL: that is not wanted */
	struct dt_ways *ways;
};

struct dt_feed;

/* Makes a feed. values: spans have values, and calls are to get theirs. filter: only what it wants
 * is passed on; NULL: everything; it stays the caller's. NULL: out of memory. */
struct dt_feed *dt_feed_new(struct dt_reader *r, const struct dt_feed_to *to, bool values,
			    struct dt_filter *filter);
void dt_feed_free(struct dt_feed *f);

/* Returns dt_pair_impossible() of its pairing. */
uint64_t dt_feed_impossible(const struct dt_feed *f);

/* Takes a span. Spans must come in dt_feed_order(), or in the order of time. Returns -1 when out of
 * memory. */
int dt_feed_span(struct dt_feed *f, const struct dt_span *s);
/* Returns its pairing, for use in events about calls. */
const struct dt_pair *dt_feed_pair(const struct dt_feed *f);
/* Calls fn for the calls of a thread that are open after the last span, from the innermost
 * outwards, until it returns false. As in dt_pair_callers(), only their beginnings are known. */
void dt_feed_open_calls(struct dt_feed *f, uint32_t tid,
			bool (*fn)(void *ctx, const struct dt_call *c), void *ctx);
/* A call that is open at some moment: what is known of it by then. Times are ticks. */
struct dt_open_call {
	const struct dt_call *call; /* only its beginning is known */
	uint32_t track;		    /* id of the track of threads that it is on */
	uint64_t took, self, inner; /* as dt_call_ticks(), its self time, and dt_call.inner */
};

/* Calls fn for all calls that are open at `now', after the last span, in no order. */
void dt_feed_each_open(struct dt_feed *f, uint64_t now,
		       void (*fn)(void *ctx, const struct dt_open_call *x), void *ctx);
/* Ends what is still open at the end of the trace. */
void dt_feed_finish(struct dt_feed *f);

/* Append what the feed knows to b, and take it back: see analyse/snapshot.h. Return -1 when out of
 * memory, or the bytes are damaged. */
int dt_feed_save(const struct dt_feed *f, struct dt_bytes *b);
int dt_feed_restore(struct dt_feed *f, const uint8_t *bytes, size_t n);
/*
 * Takes back only what pairing knows, into p; r is a reader of the same trace. Returns -1 on error.
 */
int dt_feed_restore_pair(struct dt_reader *r, const uint8_t *bytes, size_t n, struct dt_pair *p);

/* Returns whether the trace has anything whose values are shown or counted by: then spans must have
 * values. */
bool dt_feed_needs_values(const struct dt_reader *r);
/* Returns the order in which spans must come: threads may be ahead of each other, unless they send
 * messages. */
enum dt_order dt_feed_order(const struct dt_reader *r);
/* Returns whether the trace has switches, which say which thread runs on each core. */
bool dt_feed_has_switches(const struct dt_reader *r);
/* Returns whether those that there are have been asked for. Others were recorded for what they tell
 * of waits; they are not shown as records. */
bool dt_feed_switches_asked(const struct dt_reader *r);
/* Returns whether records of a kind are in the trace although nobody has asked for them. */
bool dt_feed_is_unasked(const struct dt_reader *r, uint8_t kind);

#endif
