/* SPDX-License-Identifier: MIT */
/* Pairing of messages. */
#include "analyse/messages.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define NONE	UINT32_MAX

/* One end of a message, whose other end is not known yet. It is in two lists, both by age: of all
 * ends, and of its bucket. */
struct end {
	uint64_t key, channel, ticks;
	uint32_t tid;
	uint16_t core;
	uint8_t kind;		/* DT_SEND, DT_RECEIVE */
	uint32_t older, newer;	/* in the list of all */
	uint32_t before, after; /* in its bucket's list */
};

struct list {
	uint32_t first, last;
};

struct dt_messages {
	dt_message_fn fn;
	void *ctx;
	uint64_t ahead;
	uint32_t unused; /* list of unused ends, linked by `newer' */
	struct list all, bucket[BUCKETS];
	struct end end[DT_MESSAGES_MAX];
};

static struct list *bucket_of(struct dt_messages *m, uint64_t key)
{
	return &m->bucket[(key * 0x9e3779b97f4a7c15ull) >> 52];
}

void dt_messages_forget(struct dt_messages *m)
{
	m->all = (struct list){NONE, NONE};
	for (unsigned i = 0; i < BUCKETS; i++)
		m->bucket[i] = (struct list){NONE, NONE};
	for (uint32_t i = 0; i < DT_MESSAGES_MAX; i++)
		m->end[i].newer = i + 1 < DT_MESSAGES_MAX ? i + 1 : NONE;
	m->unused = 0;
}

static void take_out(struct dt_messages *m, uint32_t i)
{
	struct end *x = &m->end[i];
	struct list *b = bucket_of(m, x->key);

	*(x->older == NONE ? &m->all.first : &m->end[x->older].newer) = x->newer;
	*(x->newer == NONE ? &m->all.last : &m->end[x->newer].older) = x->older;
	*(x->before == NONE ? &b->first : &m->end[x->before].after) = x->after;
	*(x->after == NONE ? &b->last : &m->end[x->after].before) = x->before;
	x->newer = m->unused;
	m->unused = i;
}

static void put_in(struct dt_messages *m, const struct end *e)
{
	struct list *b = bucket_of(m, e->key);
	uint32_t i = m->unused;
	struct end *x = &m->end[i];

	m->unused = x->newer;
	*x = *e;
	x->older = m->all.last;
	x->before = b->last;
	x->newer = x->after = NONE;
	*(m->all.last == NONE ? &m->all.first : &m->end[m->all.last].newer) = i;
	*(b->last == NONE ? &b->first : &m->end[b->last].after) = i;
	m->all.last = b->last = i;
}

static void give_up(struct dt_messages *m, uint32_t i, uint64_t ticks)
{
	const struct end *x = &m->end[i];
	struct dt_message out = {.key = x->channel, .known = ticks > x->ticks ? ticks : x->ticks};

	if (x->kind == DT_SEND) {
		out.state = DT_MESSAGE_UNRECEIVED;
		out.sent = x->ticks;
		out.sender = x->tid;
		out.sent_core = x->core;
	} else {
		out.state = DT_MESSAGE_UNSENT;
		out.received = x->ticks;
		out.receiver = x->tid;
		out.received_core = x->core;
	}
	take_out(m, i);
	m->fn(m->ctx, &out);
}

static void join(struct dt_messages *m, uint32_t i, const struct end *now)
{
	struct end other = m->end[i];
	const struct end *sent = now->kind == DT_SEND ? now : &other;
	const struct end *received = now->kind == DT_SEND ? &other : now;

	take_out(m, i);
	m->fn(m->ctx,
	      &(struct dt_message){.state = sent == now ? DT_MESSAGE_BACKWARD : DT_MESSAGE_WHOLE,
				   .key = now->channel,
				   .sent = sent->ticks,
				   .received = received->ticks,
				   .known = now->ticks,
				   .sender = sent->tid,
				   .receiver = received->tid,
				   .sent_core = sent->core,
				   .received_core = received->core});
}

/* Returns the oldest end of that kind with that key; NONE: there is none. */
static uint32_t find(struct dt_messages *m, uint64_t key, uint8_t kind)
{
	uint32_t i = bucket_of(m, key)->first;

	while (i != NONE && (m->end[i].key != key || m->end[i].kind != kind))
		i = m->end[i].after;
	return i;
}

void dt_messages_record(struct dt_messages *m, uint8_t kind, uint64_t body, uint64_t ticks,
			uint32_t tid, uint16_t core)
{
	struct end now = {.key = body & DT_MESSAGE_KEY,
			  .channel = dt_message_channel(body),
			  .ticks = ticks,
			  .tid = tid,
			  .core = core,
			  .kind = kind};
	uint32_t i;

	while ((i = find(m, now.key, kind == DT_SEND ? DT_RECEIVE : DT_SEND)) != NONE) {
		if (kind == DT_RECEIVE || ticks - m->end[i].ticks <= m->ahead) {
			join(m, i, &now);
			return;
		}
		give_up(m, i, ticks);
	}
	if (m->unused == NONE)
		give_up(m, m->all.first, ticks);
	put_in(m, &now);
}

void dt_messages_lost(struct dt_messages *m, uint64_t ticks)
{
	while (m->all.first != NONE)
		give_up(m, m->all.first, ticks);
}

void dt_messages_finish(struct dt_messages *m, uint64_t ticks)
{
	dt_messages_lost(m, ticks);
}

struct dt_messages *dt_messages_new(uint64_t ahead, dt_message_fn fn, void *ctx)
{
	struct dt_messages *m = malloc(sizeof(*m));

	if (!m)
		return NULL;
	m->fn = fn;
	m->ctx = ctx;
	m->ahead = ahead;
	dt_messages_forget(m);
	return m;
}

void dt_messages_free(struct dt_messages *m)
{
	free(m);
}

int dt_messages_save(const struct dt_messages *m, struct dt_bytes *b)
{
	uint64_t last = 0;

	for (uint32_t i = m->all.first; i != NONE; i = m->end[i].newer) {
		const struct end *x = &m->end[i];

		if (DT_PUT(b, 1, x->kind, x->key, x->channel, dt_zigzag(x->ticks - last), x->tid,
			   x->core))
			return -1;
		last = x->ticks;
	}
	return DT_PUT(b, 0);
}

int dt_messages_restore(struct dt_messages *m, struct dt_cursor_bytes *c)
{
	uint64_t last = 0;

	dt_messages_forget(m);
	while (dt_get_varint(c) && !c->bad) {
		struct end x = {.kind = (uint8_t)dt_get_varint(c)};

		x.key = dt_get_varint(c) & DT_MESSAGE_KEY;
		x.channel = dt_get_varint(c) & DT_MESSAGE_KEY;
		x.ticks = last += dt_unzigzag(dt_get_varint(c));
		x.tid = (uint32_t)dt_get_varint(c);
		x.core = (uint16_t)dt_get_varint(c);
		if (m->unused == NONE || (x.kind != DT_SEND && x.kind != DT_RECEIVE))
			return -1;
		put_in(m, &x);
	}
	return c->bad ? -1 : 0;
}
