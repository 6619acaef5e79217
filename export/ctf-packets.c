/* SPDX-License-Identifier: MIT */
/* Packets of a CTF trace: the messages that are given next, the streams of cores, and losses. */
#include "export/ctf-work.h"

#include <stdlib.h>
#include <string.h>

void dt_ctf_push(struct writing *w, const bt_message *m)
{
	if (!m && !w->failed) {
		dt_fail(w->e, "out of memory");
		w->failed = true;
	}
	if (m)
		w->pending[w->pendings++] = m;
}

void dt_ctf_begin_packet(struct writing *w, struct core *c, uint64_t ticks)
{
	bt_field *context;

	c->packet = dt_bt.packet_create(c->stream);
	c->records = 0;
	if (!c->packet) {
		dt_ctf_push(w, NULL);
		return;
	}
	context = dt_bt.packet_borrow_context_field(c->packet);
	dt_bt.field_integer_unsigned_set_value(
		dt_bt.field_structure_borrow_member_field_by_index(context, 0),
		(uint64_t)(c - w->core));
	dt_ctf_push(w, dt_bt.message_packet_beginning_create_with_default_clock_snapshot(
			       w->iterator, c->packet, ticks));
	c->last = ticks;
}

void dt_ctf_end_packet(struct writing *w, struct core *c, uint64_t ticks)
{
	dt_ctf_push(w, dt_bt.message_packet_end_create_with_default_clock_snapshot(
			       w->iterator, c->packet, ticks));
	dt_bt.packet_put_ref(c->packet);
	c->packet = NULL;
	c->last = ticks;
}

struct core *dt_ctf_core(struct writing *w, unsigned core)
{
	struct core *more;

	if (core >= w->cores) {
		more = realloc(w->core, (core + 1) * sizeof(*more));
		if (!more) {
			dt_ctf_push(w, NULL);
			return NULL;
		}
		memset(more + w->cores, 0, (core + 1 - w->cores) * sizeof(*more));
		w->core = more;
		w->cores = core + 1;
	}
	more = &w->core[core];
	if (more->stream)
		return more;
	more->stream = dt_bt.stream_create_with_id(w->stream_class, w->trace, core);
	dt_ctf_push(w, more->stream
			       ? dt_bt.message_stream_beginning_create(w->iterator, more->stream)
			       : NULL);
	return more->stream ? more : NULL;
}

/* Notes a loss, which ends at `ticks': first ends the open packet, where the loss began. */
void dt_ctf_loss(struct writing *w, struct core *c, uint64_t ticks)
{
	const struct dt_span *s = &w->span;
	uint64_t begin = s->lost_begin > w->first ? s->lost_begin : w->first;
	bt_message *m;

	if (c->packet) {
		dt_ctf_end_packet(w, c, c->last);
	} else if (!c->last) {
		dt_ctf_begin_packet(w, c, begin < ticks ? begin : ticks);
		if (c->packet)
			dt_ctf_end_packet(w, c, c->last);
	}
	m = dt_bt.message_discarded_events_create_with_default_clock_snapshots(
		w->iterator, c->stream, c->last, ticks);
	if (m)
		dt_bt.message_discarded_events_set_count(m, s->lost);
	dt_ctf_push(w, m);
}
