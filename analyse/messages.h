/* SPDX-License-Identifier: MIT */
/*
 * Messages: which sent one was received where. Both ends say the same key (the lower 56 bits of an
 * event's body, as in Barrelfish); of several with one key under way, the first sent is the first
 * received. A receipt that is seen before its sending is one whose clock is behind: it waits for
 * the sending as long as `ahead', no longer. Where records were lost nobody can tell, so that
 * whatever is under way then stays without its other end.
 */
#ifndef DT_ANALYSE_MESSAGES_H
#define DT_ANALYSE_MESSAGES_H

#include "core/record.h"
#include "store/chunk.h"
#include "store/varint.h"

#define DT_MESSAGE_KEY 0xffffffffffffffull

/*
 * What the program said: the channel. A body has it from bit 12 on, as in Barrelfish; one without
 * the top byte of a message's is the channel.
 */
static inline uint64_t dt_message_channel(uint64_t body)
{
	return body >> 56 ? (body & DT_MESSAGE_KEY) >> 12 : body;
}

/* Under way at once; the oldest of more is given up. */
#define DT_MESSAGES_MAX 16384
/* Clocks that differ by more are not told from messages that are lost. */
#define DT_MESSAGE_AHEAD_NS 10000000.0

enum dt_message_state {
	DT_MESSAGE_WHOLE,
	DT_MESSAGE_BACKWARD,   /* received before it was sent: the clocks differ */
	DT_MESSAGE_UNRECEIVED, /* only sent_* are known */
	DT_MESSAGE_UNSENT,     /* only received_* are known */
};

struct dt_message {
	enum dt_message_state state;
	uint64_t key;		   /* dt_message_channel(): what the program said */
	uint64_t sent, received;   /* ticks */
	uint64_t known;		   /* ticks of the record by which it was paired, or given up */
	uint32_t sender, receiver; /* threads */
	uint16_t sent_core, received_core;
};

struct dt_messages;

/* In the order in which they are known. */
typedef void (*dt_message_fn)(void *ctx, const struct dt_message *m);

/* ahead: ticks. NULL: out of memory. */
struct dt_messages *dt_messages_new(uint64_t ahead, dt_message_fn fn, void *ctx);
void dt_messages_free(struct dt_messages *m);

/* A record of kind DT_SEND or DT_RECEIVE, in the order of time. */
void dt_messages_record(struct dt_messages *m, uint8_t kind, uint64_t body, uint64_t ticks,
			uint32_t tid, uint16_t core);
/* Records were lost here: gives up what is under way. */
void dt_messages_lost(struct dt_messages *m, uint64_t ticks);
/* The trace has ended: gives up what is under way. */
void dt_messages_finish(struct dt_messages *m, uint64_t ticks);

/* As if nothing had been sent yet. */
void dt_messages_forget(struct dt_messages *m);
/* What is under way, as bytes, for analyse/feed.h. -1: out of memory; damaged. */
int dt_messages_save(const struct dt_messages *m, struct dt_bytes *b);
int dt_messages_restore(struct dt_messages *m, struct dt_cursor_bytes *c);

#endif
