/* SPDX-License-Identifier: MIT */
/* Saving what pairing knows, and taking it back. */
#include "analyse/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pair-work.h"
#include "store/varint.h"

/* The most bytes of memory that a snapshot may need: more is damage. */
#define MEMORY_MAX ((size_t)512 << 20)

#define SEGMENT_BYTES 5	 /* the fewest bytes that a segment takes in a snapshot... */
#define FRAME_BYTES   29 /* ...and a frame */

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
		const struct dt_stack_frame *f = &s->frame[i];
		const struct dt_call *c = &f->call;

		if (DT_PUT(b, c->id, c->parent, c->function, c->entry, c->flags,
			   dt_zigzag(c->begin - begin), dt_zigzag(c->sp - sp), c->children,
			   t->losses - f->losses, f->note[0], f->note[1], f->jump, f->lands,
			   t->held - f->held, t->pauses - f->pauses, f->inner, c->waited,
			   c->waited_self, c->preempted, c->inner_waited, c->longest[0],
			   c->longest[1], c->waited_for[0], c->waited_for[1], c->woken[0],
			   c->woken[1], c->queued[0], c->queued[1], c->folded))
			return -1;
		begin = c->begin;
		sp = c->sp;
	}
	return 0;
}

/* core: for what runs without a thread, its core plus one; 0: it is a thread. */
static int put_thread(struct dt_bytes *b, const struct dt_thread_stack *t, uint32_t core)
{
	if (DT_PUT(b, t->tid, core, t->last_ticks, t->last_core, t->losses, t->pauses, t->tail_sp,
		   t->tail_lands, t->floor, t->left, t->runs_on, t->preempted, t->left_in, t->woken,
		   t->woken_at, index_of(t, t->current), t->segments))
		return -1;
	for (uint32_t i = 0; i < t->segments; i++)
		if (put_segment(b, t, t->segment[i]))
			return -1;
	return 0;
}

int dt_pair_save(const struct dt_pair *p, struct dt_bytes *b)
{
	uint64_t nobodies = 0;

	for (size_t i = 0; i < p->cores; i++)
		nobodies += p->nobody[i] != NULL;
	if (DT_PUT(b, p->last_id, p->cores_on))
		return -1;
	for (uint32_t i = 0; i < p->cores_on; i++)
		if (DT_PUT(b, p->on[i]))
			return -1;
	if (DT_PUT(b, p->used + nobodies))
		return -1;
	for (size_t i = 0; i < p->size; i++)
		if (p->thread[i] && put_thread(b, p->thread[i], 0))
			return -1;
	for (uint32_t i = 0; i < p->cores; i++)
		if (p->nobody[i] && put_thread(b, p->nobody[i], i + 1))
			return -1;
	return 0;
}

/* ---- taking ---- */

/* Reading a snapshot. It may have been written by anybody, so nothing in it is trusted: see
 * store/decode.c. */
struct taking {
	struct dt_cursor_bytes c;
	struct dt_pair *pair;
	size_t left;		   /* bytes that may still be allocated */
	uint32_t functions, sites; /* how many the trace has */
	bool looked;		   /* the reader has been refreshed, for a trace that grows */
};

static void forget(struct dt_thread_stack *t)
{
	dt_stack_free(t);
	*t = (struct dt_thread_stack){.tid = t->tid};
}

static void forget_all(struct dt_pair *p)
{
	for (size_t i = 0; i < p->size; i++)
		if (p->thread[i])
			forget(p->thread[i]);
	for (size_t i = 0; i < p->cores; i++)
		if (p->nobody[i])
			forget(p->nobody[i]);
}

/* Counts what will be allocated. Returns -1 if it is too much. */
static int need(struct taking *k, size_t bytes)
{
	if (bytes > k->left)
		return -1;
	k->left -= bytes;
	return 0;
}

/* Returns whether the trace has this function and this site. A trace that is being recorded may
 * have gained some since its reader looked. */
static bool is_known(struct taking *k, uint32_t function, uint32_t site)
{
	if ((function > k->functions || site > k->sites) && !k->looked) {
		k->looked = true;
		dt_reader_refresh(k->pair->reader, NULL);
		k->functions = dt_reader_functions(k->pair->reader);
		k->sites = dt_reader_sites(k->pair->reader);
	}
	return function <= k->functions && site <= k->sites;
}

/* Returns the counter of a function's open calls, having counted the memory for it: one page has
 * the counters of many functions. */
static uint32_t *count_of(struct taking *k, struct dt_thread_stack *t, uint32_t function)
{
	size_t page = function / DT_COUNT_PAGE;
	bool there = page < t->open.pages && t->open.page[page];

	if ((!there && need(k, DT_COUNT_PAGE * sizeof(uint32_t))) ||
	    (page >= t->open.pages && need(k, (page + 8) * sizeof(void *))))
		return NULL;
	return dt_open_count(&t->open, function);
}

/* Takes what is known of a call's longest waits; what the file no longer has is not known. */
static void take_longest(struct taking *k, struct dt_call *call)
{
	for (int i = 0; i < 2; i++)
		call->longest[i] = dt_get_varint(&k->c);
	for (int i = 0; i < 2; i++)
		call->waited_for[i] = (uint32_t)dt_get_varint(&k->c);
	for (int i = 0; i < 2; i++)
		call->woken[i] = (uint32_t)dt_get_varint(&k->c);
	for (int i = 0; i < 2; i++)
		call->queued[i] = dt_get_varint(&k->c);
}

static int take_frames(struct taking *k, struct dt_thread_stack *t, struct dt_segment *s,
		       uint64_t n)
{
	struct dt_cursor_bytes *c = &k->c;
	uint64_t sp = 0, begin = 0;

	for (; s->n < n; s->n++) {
		struct dt_stack_frame *f = &s->frame[s->n];
		struct dt_call *call = &f->call;

		*f = (struct dt_stack_frame){0};
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
		f->note[0] = (uint32_t)dt_get_varint(c);
		f->note[1] = (uint32_t)dt_get_varint(c);
		f->jump = (uint8_t)dt_get_varint(c);
		f->lands = (uint32_t)dt_get_varint(c);
		f->held = t->held - dt_get_varint(c);
		f->pauses = t->pauses - (uint32_t)dt_get_varint(c);
		f->inner = dt_get_varint(c);
		call->waited = dt_get_varint(c);
		call->waited_self = dt_get_varint(c);
		call->preempted = dt_get_varint(c);
		call->inner_waited = dt_get_varint(c);
		take_longest(k, call);
		call->end = call->begin;
		call->folded = (uint32_t)dt_get_varint(c);
		call->depth = dt_pair_depth(s);
		call->note = f->note;
		if (c->bad || f->jump > DT_JUMP_LANDED ||
		    !is_known(k, call->function, call->entry) || (dt_pair_is_folded(f) && !s->n))
			return -1;
		s->folded += dt_pair_is_folded(f);
		f->open = count_of(k, t, call->function);
		if (!f->open)
			return -1;
		*f->open += !dt_pair_is_folded(f);
	}
	return 0;
}

/* Takes a segment. *below: the one that it was entered from, plus one; that may come later. */
static int take_segment(struct taking *k, struct dt_thread_stack *t, uint32_t *below)
{
	struct dt_cursor_bytes *c = &k->c;
	uint64_t n = dt_get_varint(c), depth = dt_get_varint(c), under = dt_get_varint(c),
		 below_id = dt_get_varint(c), left = dt_get_varint(c);
	struct dt_segment *s;

	if (c->bad || n > (size_t)(c->end - c->p) / FRAME_BYTES || depth > UINT32_MAX / 2 ||
	    under > UINT32_MAX || need(k, sizeof(*s) + (n + 1) * sizeof(*s->frame)))
		return -1;
	s = dt_segment_sized(t, (uint32_t)n);
	if (!s)
		return -1;
	*below = (uint32_t)under;
	s->depth = (uint32_t)depth;
	s->below_id = below_id;
	s->doubtful = left & 1;
	s->kept = left & 2;
	if (take_frames(k, t, s, n) || (s->kept && (!s->n || dt_pair_is_folded(dt_pair_top(s))))) {
		s->kept = false;
		return -1;
	}
	if (s->kept)
		--*s->frame[s->n - 1].open;
	return 0;
}

/*
 * Sets the `below' of all segments, and checks that these links have no cycle. way[i]: the walk,
 * plus one, on which segment i was met.
 */
static int link_segments(struct dt_thread_stack *t, const uint32_t *below, uint32_t *way)
{
	for (uint32_t i = 0; i < t->segments; i++) {
		uint32_t at = i;

		if (below[i] > t->segments)
			return -1;
		t->segment[i]->below = below[i] ? t->segment[below[i] - 1] : NULL;
		while (!way[at]) {
			way[at] = i + 1;
			if (!below[at])
				break;
			if (below[at] > t->segments)
				return -1;
			at = below[at] - 1;
			if (way[at] == i + 1)
				return -1;
		}
	}
	return 0;
}

/* Takes n segments. current: the one that the thread is on, plus one. Only that one, or the only
 * one, may be without a call. */
static int take_segments(struct taking *k, struct dt_thread_stack *t, uint32_t n, uint32_t current)
{
	uint32_t *below = calloc(2 * (size_t)n + 1, sizeof(*below));
	int rc = below ? 0 : -1;

	while (!rc && t->segments < n) {
		rc = take_segment(k, t, &below[t->segments]);
		if (!rc && !t->segment[t->segments - 1]->n && n > 1 && t->segments != current)
			rc = -1;
	}
	if (!rc)
		rc = link_segments(t, below, below + n);
	free(below);
	return rc;
}

static int take_thread(struct taking *k)
{
	struct dt_cursor_bytes *c = &k->c;
	struct dt_pair *p = k->pair;
	uint32_t tid = (uint32_t)dt_get_varint(c), core = (uint32_t)dt_get_varint(c), current,
		 segments;
	struct dt_thread_stack *t;

	if (c->bad || core > 0x10000 || need(k, 4 * sizeof(*t)))
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
	t->left = dt_get_varint(c);
	t->runs_on = (uint32_t)dt_get_varint(c);
	t->preempted = dt_get_varint(c) != 0;
	t->left_in = (uint32_t)dt_get_varint(c);
	t->woken = (uint32_t)dt_get_varint(c);
	t->woken_at = dt_get_varint(c);
	current = (uint32_t)dt_get_varint(c);
	segments = (uint32_t)dt_get_varint(c);
	if (c->bad || segments > (size_t)(c->end - c->p) / SEGMENT_BYTES || current > segments ||
	    need(k, segments * 4 * sizeof(void *)) || take_segments(k, t, segments, current))
		return -1;
	t->current = current ? t->segment[current - 1] : NULL;
	return 0;
}

int dt_pair_restore(struct dt_pair *p, const uint8_t *bytes, size_t n)
{
	struct taking k = {.c = {bytes, bytes + n, false},
			   .pair = p,
			   .left = MEMORY_MAX,
			   .functions = dt_reader_functions(p->reader),
			   .sites = dt_reader_sites(p->reader)};
	struct dt_cursor_bytes *c = &k.c;
	uint64_t threads, cores;

	forget_all(p);
	p->last_id = 0;
	memset(p->on, 0, p->cores_on * sizeof(*p->on));
	p->cores_on = 0;
	p->said = NULL;
	p->enclosing = 0;
	if (!n)
		return 0;
	p->last_id = dt_get_varint(c);
	cores = dt_get_varint(c);
	if (cores > DT_FURTHER_CORES)
		return -1;
	for (; p->cores_on < cores; p->cores_on++)
		p->on[p->cores_on] = (uint32_t)dt_get_varint(c);
	threads = dt_get_varint(c);
	for (uint64_t i = 0; i < threads && !c->bad; i++)
		if (take_thread(&k)) {
			forget_all(p);
			return -1;
		}
	return c->bad ? -1 : 0;
}
