/* SPDX-License-Identifier: MIT */
/* The tree of stacks. */
#include "analyse/stacks.h"

#include <stdlib.h>

struct taking {
	struct dt_stacks *s;
	struct dt_pair *pair;
	bool failed;
};

static uint32_t hash(uint32_t parent, uint32_t function, bool thread, bool again)
{
	uint64_t key = ((uint64_t)parent << 32 | function) * 4 + thread + 2u * again;

	return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
}

static uint32_t *find(const struct dt_stacks *s, uint32_t parent, uint32_t function, bool thread,
		      bool again)
{
	for (uint32_t at = hash(parent, function, thread, again);; at++) {
		uint32_t *slot = &s->slot[at & (s->slots - 1)];
		const struct dt_stack_node *n = &s->node[*slot];

		if (!*slot || (n->parent == parent && n->function == function &&
			       n->thread == thread && n->again == again))
			return slot;
	}
}

static int grow(struct dt_stacks *s)
{
	uint32_t room = s->room ? 2 * s->room : 1024;
	struct dt_stack_node *node = realloc(s->node, room * sizeof(*node));
	uint32_t *slot;

	if (!node)
		return -1;
	s->node = node;
	slot = calloc(2 * room, sizeof(*slot));
	if (!slot)
		return -1;
	if (!s->n)
		s->node[s->n++] = (struct dt_stack_node){0};
	free(s->slot);
	s->slot = slot;
	s->slots = 2 * room;
	s->room = room;
	for (uint32_t i = 1; i < s->n; i++)
		*find(s, node[i].parent, node[i].function, node[i].thread, node[i].again) = i;
	return 0;
}

uint32_t dt_stacks_node(struct dt_stacks *s, uint32_t parent, uint32_t function, bool thread,
			bool again)
{
	uint32_t *slot, i;

	if (s->n >= s->room && grow(s) < 0)
		return 0;
	slot = find(s, parent, function, thread, again);
	if (*slot)
		return *slot;
	i = *slot = s->n++;
	s->node[i] = (struct dt_stack_node){
		.parent = parent,
		.function = function,
		.thread = thread,
		.again = again,
		.next = s->node[parent].child,
	};
	s->node[parent].child = i;
	return i;
}

/* Returns the node of a call, in an event about it; 0: out of memory. */
static uint32_t node_of_call(struct taking *t, const struct dt_call *c)
{
	const uint32_t *caller = dt_pair_caller_note(t->pair);
	uint32_t parent = caller ? *caller : 0;

	if (!parent)
		parent = dt_stacks_node(t->s, 0, c->tid, true, false);
	parent = parent ? dt_stacks_node(t->s, parent, c->function, false, false) : 0;
	t->failed = t->failed || !parent;
	return parent;
}

static bool is_chosen(const struct taking *t, const struct dt_call *c)
{
	return !t->s->chosen || dt_chosen_has(t->s->chosen, c->id);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct taking *t = ctx;
	const uint32_t *caller;

	if (t->failed)
		return;
	if (is_chosen(t, c)) {
		*c->note = node_of_call(t, c);
		return;
	}
	caller = dt_pair_caller_note(t->pair);
	*c->note = caller ? *caller : 0;
}

/* Adds the time of a call that is not chosen to that of the chosen call that it is in. */
static void add_to_caller(struct taking *t, const struct dt_call *c, uint64_t self)
{
	const uint32_t *note = c->note ? c->note : dt_pair_caller_note(t->pair);

	if (note && *note && !(c->flags & DT_CALL_UNKNOWN))
		t->s->node[*note].self += self;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct taking *t = ctx;
	uint64_t took = t->s->off ? c->waited : dt_call_ticks(c), self;
	struct dt_stack_node *n;
	uint32_t i;

	if (t->failed)
		return;
	self = t->s->off ? c->waited_self : took > c->children ? took - c->children : 0;
	t->s->seen++;
	if (!is_chosen(t, c)) {
		add_to_caller(t, c, self);
		return;
	}
	i = c->note ? *c->note : node_of_call(t, c);
	if (!i)
		return;
	t->s->taken++;
	n = &t->s->node[i];
	n->calls += !(c->flags & DT_CALL_NO_ENTRY);
	if (c->flags & DT_CALL_UNKNOWN)
		return;
	n->total += took;
	n->self += self;
}

int dt_stacks_read(struct dt_stacks *s, struct dt_reader *r, const struct dt_reader_range *range,
		   struct dt_error *e)
{
	struct taking t = {.s = s};
	struct dt_pair_events events = {.begin = on_begin, .end = on_end, .ctx = &t};
	struct dt_span span;
	int rc;

	t.pair = dt_pair_new(r, &events, false);
	if (!t.pair)
		return dt_fail(e, "out of memory");
	rc = dt_reader_start(r, range, e);
	while (!rc && (rc = dt_reader_next(r, &span, e)) > 0)
		rc = dt_pair_span(t.pair, &span) || t.failed ? dt_fail(e, "out of memory") : 0;
	if (!rc)
		dt_pair_finish(t.pair);
	dt_pair_free(t.pair);
	if (!rc && t.failed)
		rc = dt_fail(e, "out of memory");
	return rc;
}

void dt_stacks_free(struct dt_stacks *s)
{
	free(s->node);
	free(s->slot);
	*s = (struct dt_stacks){0};
}
