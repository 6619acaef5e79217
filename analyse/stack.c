/* SPDX-License-Identifier: MIT */
/* Segments of open calls. */
#include <stdlib.h>
#include "analyse/stack.h"
#include "core/search.h"

struct dt_segment *dt_segment_new(struct dt_thread_stack *t)
{
	return dt_segment_sized(t, 16);
}

struct dt_segment *dt_segment_sized(struct dt_thread_stack *t, uint32_t frames)
{
	struct dt_segment *s;

	if (t->segments == t->size) {
		uint32_t size = t->size ? 2 * t->size : 4;
		struct dt_segment **p = realloc(t->segment, size * sizeof(*p));

		if (!p)
			return NULL;
		t->segment = p;
		t->size = size;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->size = frames ? frames : 1;
	s->frame = malloc(s->size * sizeof(*s->frame));
	if (!s->frame) {
		free(s);
		return NULL;
	}
	t->segment[t->segments++] = s;
	return s;
}

static void free_segment(struct dt_segment *s)
{
	free(s->frame);
	free(s);
}

void dt_segment_drop(struct dt_thread_stack *t, struct dt_segment *s)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < t->segments; i++) {
		if (t->segment[i]->below == s)
			t->segment[i]->below = NULL;
		if (t->segment[i] == s)
			at = i;
	}
	t->segment[at] = t->segment[--t->segments];
	if (t->current == s)
		t->current = NULL;
	free_segment(s);
}

int dt_segment_grow(struct dt_segment *s)
{
	uint32_t size = 2 * s->size;
	struct dt_stack_frame *f = realloc(s->frame, size * sizeof(*f));

	if (!f)
		return -1;
	s->frame = f;
	s->size = size;
	for (uint32_t i = 0; i < s->n; i++) {
		f[i].call.note = f[i].note;
		if (f[i].call.argument)
			f[i].call.argument = f[i].argument;
	}
	return 0;
}

int64_t dt_segment_above(const struct dt_segment *s, uint64_t sp)
{
	size_t low = dt_count_before(s->n, i, s->frame[i].call.sp >= sp);

	return (int64_t)low - 1;
}

struct dt_segment *dt_stack_nearest(const struct dt_thread_stack *t, const struct dt_segment *but,
				    uint64_t sp, bool kept)
{
	struct dt_segment *best = NULL;
	uint64_t distance = DT_STACK_FAR;

	for (uint32_t i = 0; i < t->segments; i++) {
		struct dt_segment *s = t->segment[i];
		int64_t above = s == but || (s->kept && !kept) ? -1 : dt_segment_above(s, sp);

		if (above >= 0 && s->frame[above].call.sp - sp < distance) {
			best = s;
			distance = s->frame[above].call.sp - sp;
		}
	}
	return best;
}

void dt_stack_switch(struct dt_thread_stack *t, struct dt_segment *s)
{
	t->current = s;
	t->floor = 0;
	if (!s || !s->n)
		return;
	for (uint32_t i = 0; i < t->segments; i++) {
		const struct dt_segment *o = t->segment[i];

		if (o == s || !o->n || o->kept)
			continue;
		if (o->frame[0].call.sp <= s->frame[0].call.sp && o->frame[0].call.sp > t->floor)
			t->floor = o->frame[0].call.sp;
		else if (o->frame[0].call.sp > s->frame[0].call.sp &&
			 o->frame[o->n - 1].call.sp < s->frame[0].call.sp)
			t->floor = UINT64_MAX; /* they are interleaved: entries always take the slow
						  path */
	}
}

uint32_t *dt_open_count(struct dt_open_counts *c, uint32_t function)
{
	size_t page = function / DT_COUNT_PAGE;

	if (page >= c->pages) {
		size_t n = page + 8;
		uint32_t **p = realloc(c->page, n * sizeof(*p));

		if (!p)
			return NULL;
		for (size_t i = c->pages; i < n; i++)
			p[i] = NULL;
		c->page = p;
		c->pages = n;
	}
	if (!c->page[page])
		c->page[page] = calloc(DT_COUNT_PAGE, sizeof(uint32_t));
	return c->page[page] ? &c->page[page][function % DT_COUNT_PAGE] : NULL;
}

void dt_stack_free(struct dt_thread_stack *t)
{
	for (uint32_t i = 0; i < t->segments; i++)
		free_segment(t->segment[i]);
	free(t->segment);
	for (size_t i = 0; i < t->open.pages; i++)
		free(t->open.page[i]);
	free(t->open.page);
}
