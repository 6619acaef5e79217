/* SPDX-License-Identifier: MIT */
/* Keeping what pairing knows, and taking it back. */
#include "analyse/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pair-work.h"
#include "store/varint.h"

#define FRAMES_MAX (1u << 24) /* of one segment: what is more is damage */

/* ---- keeping ---- */

static uint32_t index_of(const struct dt_thread_stack *t, const struct dt_segment *s)
{
	for (uint32_t i = 0; i < t->segments; i++)
		if (t->segment[i] == s)
			return i + 1;
	return 0;
}

static int put_segment(struct dt_bytes *b, const struct dt_thread_stack *t,
		       const struct dt_segment *s)
{
	uint64_t sp = 0, begin = 0;

	if (DT_PUT(b, s->n, s->depth, index_of(t, s->below), s->below_id,
		   s->doubtful | s->kept << 1))
		return -1;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct dt_frame *f = &s->frame[i];
		const struct dt_call *c = &f->call;

		if (DT_PUT(b, c->id, c->parent, c->function, c->entry, c->flags,
			dt_zigzag(c->begin - begin), dt_zigzag(c->sp - sp), c->children,
			t->losses - f->losses, f->note, f->jump, f->lands, t->held - f->held, t->pauses - f->pauses))
			return -1;
		begin = c->begin;
		sp = c->sp;
	}
	return 0;
}

/* core: of what has no thread, plus one; 0: it is a thread. */
static int put_thread(struct dt_bytes *b, const struct dt_thread_stack *t, uint32_t core)
{
	if (DT_PUT(b, t->tid, core, t->last_ticks, t->last_core, t->losses, t->pauses, t->tail_sp, t->tail_lands,
		t->floor, index_of(t, t->current), t->segments))
		return -1;
	for (uint32_t i = 0; i < t->segments; i++)
		if (put_segment(b, t, t->segment[i]))
			return -1;
	return 0;
}

int dt_pair_save(const struct dt_pair *p, struct dt_bytes *b)
{
	uint64_t nobodies = 0;

	for (size_t i = 0; i < 65536; i++)
		nobodies += p->nobody[i] != NULL;
	if (DT_PUT(b, p->last_id, p->used + nobodies))
		return -1;
	for (size_t i = 0; i < p->size; i++)
		if (p->thread[i] && put_thread(b, p->thread[i], 0))
			return -1;
	for (uint32_t i = 0; i < 65536; i++)
		if (p->nobody[i] && put_thread(b, p->nobody[i], i + 1))
			return -1;
	return 0;
}

/* ---- taking ---- */

static void forget(struct dt_thread_stack *t)
{
	dt_stack_free(t);
	*t = (struct dt_thread_stack){.tid = t->tid};
}

static int take_frames(struct dt_cursor_bytes *c, struct dt_thread_stack *t, struct dt_segment *s,
		       uint64_t n)
{
	uint64_t sp = 0, begin = 0;

	while (s->size < n)
		if (dt_segment_grow(s))
			return -1;
	for (; s->n < n; s->n++) {
		struct dt_frame *f = &s->frame[s->n];
		struct dt_call *call = &f->call;

		*f = (struct dt_frame){0};
		call->id = dt_get_varint(c);
		call->parent = dt_get_varint(c);
		call->tid = t->tid;
		call->function = (uint32_t)dt_get_varint(c);
		call->entry = (uint32_t)dt_get_varint(c);
		call->flags = (uint32_t)dt_get_varint(c);
		call->begin = begin += dt_unzigzag(dt_get_varint(c));
		call->sp = sp += dt_unzigzag(dt_get_varint(c));
		call->children = dt_get_varint(c);
		f->losses = t->losses - (uint32_t)dt_get_varint(c);
		f->note = (uint32_t)dt_get_varint(c);
		f->jump = (uint8_t)dt_get_varint(c);
		f->lands = (uint32_t)dt_get_varint(c);
		f->held = t->held - dt_get_varint(c);
		f->pauses = t->pauses - (uint32_t)dt_get_varint(c);
		call->end = call->begin;
		call->depth = s->depth + s->n;
		call->note = &f->note;
		f->open = c->bad ? NULL : dt_open_count(&t->open, call->function);
		if (!f->open)
			return -1;
		++*f->open;
	}
	return 0;
}

static int take_segment(struct dt_cursor_bytes *c, struct dt_thread_stack *t, struct dt_segment *s,
			uint32_t segments)
{
	uint64_t n = dt_get_varint(c), below, left;

	s->depth = (uint32_t)dt_get_varint(c);
	below = dt_get_varint(c);
	s->below_id = dt_get_varint(c);
	left = dt_get_varint(c);
	s->doubtful = left & 1;
	s->kept = left & 2;
	if (c->bad || n > FRAMES_MAX || n > (size_t)(c->end - c->p) || below > segments)
		return -1;
	s->below = below ? t->segment[below - 1] : NULL;
	if (take_frames(c, t, s, n) || (s->kept && !s->n))
		return -1;
	if (s->kept)
		--*s->frame[s->n - 1].open;
	return 0;
}

static int take_thread(struct dt_pair *p, struct dt_cursor_bytes *c)
{
	uint32_t tid = (uint32_t)dt_get_varint(c), core = (uint32_t)dt_get_varint(c), current,
		 segments;
	struct dt_thread_stack *t;

	if (c->bad || core > 0x10000)
		return -1;
	t = core ? dt_pair_nobody(p, (uint16_t)(core - 1)) : dt_pair_thread(p, tid);
	if (!t)
		return -1;
	forget(t);
	t->last_ticks = dt_get_varint(c);
	t->last_core = (uint16_t)dt_get_varint(c);
	t->losses = (uint32_t)dt_get_varint(c);
	t->pauses = (uint32_t)dt_get_varint(c);
	t->tail_sp = dt_get_varint(c);
	t->tail_lands = (uint32_t)dt_get_varint(c);
	t->floor = dt_get_varint(c);
	current = (uint32_t)dt_get_varint(c);
	segments = (uint32_t)dt_get_varint(c);
	if (c->bad || segments > (size_t)(c->end - c->p) || current > segments)
		return -1;
	/* all first: they name each other */
	while (t->segments < segments)
		if (!dt_segment_new(t))
			return -1;
	t->current = current ? t->segment[current - 1] : NULL;
	for (uint32_t i = 0; i < segments; i++)
		if (take_segment(c, t, t->segment[i], segments))
			return -1;
	return 0;
}

int dt_pair_restore(struct dt_pair *p, const uint8_t *bytes, size_t n)
{
	struct dt_cursor_bytes c = {bytes, bytes + n, false};
	uint64_t threads;

	for (size_t i = 0; i < p->size; i++)
		if (p->thread[i])
			forget(p->thread[i]);
	for (size_t i = 0; i < 65536; i++)
		if (p->nobody[i])
			forget(p->nobody[i]);
	p->last_id = 0;
	p->said = NULL;
	p->enclosing = 0;
	if (!n)
		return 0;
	p->last_id = dt_get_varint(&c);
	threads = dt_get_varint(&c);
	for (uint64_t i = 0; i < threads && !c.bad; i++)
		if (take_thread(p, &c))
			return -1;
	return c.bad ? -1 : 0;
}
