/* SPDX-License-Identifier: MIT */
/*
 * Messages: which sent one was received where. Both ends have the same key (the lower 56 bits of an
 * event's body, as in Barrelfish); if several with one key are under way, the first one sent is the
 * first one received. A receipt that is seen before its sending is from a core whose clock is
 * behind: it waits for the sending for up to `ahead' ticks. Where records were lost nobody can
 * tell, so whatever is under way then stays without its other end.
 */
#ifndef DT_ANALYSE_MESSAGES_H
#define DT_ANALYSE_MESSAGES_H

#include "core/record.h"
#include "store/chunk.h"
#include "store/varint.h"

#define DT_MESSAGE_KEY 0xffffffffffffffull

/*
 * Returns the channel, which is what the program said. A body has it from bit 12 on, as in
 * Barrelfish; a body without the top byte of a message's is the channel itself.
 */
static inline uint64_t dt_message_channel(uint64_t body)
{
	return body >> 56 ? (body & DT_MESSAGE_KEY) >> 12 : body;
}

/* The most messages that are under way at once; if there are more, the oldest is given up. */
#define DT_MESSAGES_MAX 16384
/* If clocks differ by more than this, messages are taken for lost. */
#define DT_MESSAGE_AHEAD_NS 10000000.0

enum dt_message_state {
	DT_MESSAGE_WHOLE,
	DT_MESSAGE_BACKWARD,   /* received before it was sent: the clocks differ */
	DT_MESSAGE_UNRECEIVED, /* only sent_* are known */
	DT_MESSAGE_UNSENT,     /* only received_* are known */
};

struct dt_message {
	enum dt_message_state state;
	uint64_t key;		 /* dt_message_channel(): what the program said */
	uint64_t sent, received; /* ticks */
	uint64_t known; /* ticks of the record by which the message was paired, or given up */
	uint32_t sender, receiver; /* threads */
	uint16_t sent_core, received_core;
};

struct dt_messages;

/* Is called for each message, in the order in which they become known. */
typedef void (*dt_message_fn)(void *ctx, const struct dt_message *m);

/* Makes a pairing of messages, which calls fn. ahead: ticks. NULL: out of memory. */
struct dt_messages *dt_messages_new(uint64_t ahead, dt_message_fn fn, void *ctx);
void dt_messages_free(struct dt_messages *m);

/* Takes a record of kind DT_SEND or DT_RECEIVE; they must come in the order of time. */
void dt_messages_record(struct dt_messages *m, uint8_t kind, uint64_t body, uint64_t ticks,
			uint32_t tid, uint16_t core);
/* Gives up what is under way, because records were lost here. */
void dt_messages_lost(struct dt_messages *m, uint64_t ticks);
/* Gives up what is under way, because the trace has ended. */
void dt_messages_finish(struct dt_messages *m, uint64_t ticks);

/* Forgets everything, as if nothing had been sent yet. */
void dt_messages_forget(struct dt_messages *m);
/* Appends what is under way to b, as bytes, and reads it back, for analyse/feed.h. Return -1 when
 * out of memory, or the bytes are damaged. */
int dt_messages_save(const struct dt_messages *m, struct dt_bytes *b);
int dt_messages_restore(struct dt_messages *m, struct dt_cursor_bytes *c);

#endif
