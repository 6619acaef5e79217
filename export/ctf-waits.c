/* SPDX-License-Identifier: MIT */
/* Times in which threads waited for devtrace, in a CTF trace: a stream of their own. */
#include "export/ctf-work.h"

#include <stdlib.h>

int dt_ctf_on_hold(void *ctx, const struct dt_held_row *h)
{
	struct writing *w = ctx;
	struct wait *more = w->wait;

	if (h->end <= h->begin)
		return 0;
	if ((w->waits & (w->waits - 1)) == 0)
		more = realloc(w->wait, (w->waits ? 2 * w->waits : 1) * sizeof(*more));
	if (!more)
		return -1;
	w->wait = more;
	more += w->waits++;
	*more = (struct wait){.begin = h->begin, .ticks = h->end - h->begin, .tid = h->tid};
	dt_format(more->why, sizeof(more->why), "%s", h->why);
	return 0;
}

/* Opens the stream of waits, and a packet in it. */
static bool open_waits(struct writing *w, uint64_t ticks)
{
	struct core *c = &w->waiting;

	if (!c->stream) {
		c->stream = dt_bt.stream_create(w->wait_class, w->trace);
		dt_ctf_push(
			w, c->stream ? dt_bt.message_stream_beginning_create(w->iterator, c->stream)
				     : NULL);
	}
	if (c->stream && !c->packet) {
		c->packet = dt_bt.packet_create(c->stream);
		c->records = 0;
		dt_ctf_push(
			w,
			c->packet
				? dt_bt.message_packet_beginning_create_with_default_clock_snapshot(
					  w->iterator, c->packet, ticks)
				: NULL);
	}
	return c->packet && !w->failed;
}

void dt_ctf_wait(struct writing *w)
{
	const struct wait *x = &w->wait[w->waited++];
	const struct dt_thread_info *t = dt_reader_thread(w->r, x->tid);
	struct core *c = &w->waiting;
	bt_message *m;
	bt_field *f;

	if (!open_waits(w, x->begin))
		return;
	m = dt_bt.message_event_create_with_packet_and_default_clock_snapshot(
		w->iterator, w->wait_event, c->packet, x->begin);
	dt_ctf_push(w, m);
	if (!m)
		return;
	f = dt_bt.event_borrow_common_context_field(dt_bt.message_event_borrow_event(m));
	dt_ctf_set_number(f, WAIT_TID, x->tid);
	dt_ctf_set_number(f, WAIT_PID, t ? t->pid : 0);
	dt_ctf_set_string(f, WAIT_THREAD, t ? t->name : "");
	f = dt_bt.event_borrow_payload_field(dt_bt.message_event_borrow_event(m));
	dt_ctf_set_string(f, WHY, x->why);
	dt_ctf_set_number(f, DURATION, x->ticks);
	c->last = x->begin;
	if (++c->records == PACKET_RECORDS)
		dt_ctf_end_packet(w, c, c->last);
}
