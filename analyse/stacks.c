/* SPDX-License-Identifier: MIT */
/* The tree of stacks. */
#include "analyse/stacks.h"

#include <stdlib.h>

#include "store/backtraces.h"

/* A wait in a call that is not over: its place in the kernel. */
struct place {
	int64_t stack;
	uint64_t ticks;
	uint32_t next; /* of the same call, or that is free: index plus one; 0: there is none */
};

struct taking {
	struct dt_stacks *s;
	struct dt_reader *reader;
	struct dt_pair *pair;
	/* the second word of a call's note is its first place, index plus one */
	struct place *place;
	uint32_t places, room, free;
	struct dt_backtraces backtraces;
	bool has_backtraces, failed;
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

/* ---- where they waited in the kernel ---- */

static void on_wait(void *ctx, uint32_t tid, const struct dt_call *c, uint64_t begin, uint64_t end,
		    bool preempted, const char *what, const struct dt_wait_ended *ended)
{
	struct taking *t = ctx;
	struct place *p;
	uint32_t i = t->free;

	if (!c || !c->note || !ended->stack || t->failed)
		return;
	if (i) {
		t->free = t->place[i - 1].next;
	} else {
		if (t->places == t->room) {
			uint32_t room = t->room ? 2 * t->room : 256;

			p = realloc(t->place, room * sizeof(*p));
			if (!p) {
				t->failed = true;
				return;
			}
			t->place = p;
			t->room = room;
		}
		i = ++t->places;
	}
	t->place[i - 1] = (struct place){ended->stack, end - begin, c->note[1]};
	c->note[1] = i;
}

/* Adds a wait of a node's calls below that node, function by function of the kernel. Returns what
 * of its time is there. */
static uint64_t add_place(struct taking *t, uint32_t node, const struct place *p)
{
	const struct dt_stack_read *stack;

	if (!t->has_backtraces && dt_backtraces_load(&t->backtraces, t->reader, NULL) < 0)
		t->backtraces = (struct dt_backtraces){0};
	t->has_backtraces = true;
	stack = dt_backtraces_stack(&t->backtraces, p->stack);
	if (!stack || !stack->n)
		return 0;
	for (size_t i = stack->n; i-- > 0;) {
		node = dt_stacks_node(t->s, node, stack->frame[i].function, false, false);
		if (!node) {
			t->failed = true;
			return 0;
		}
		t->s->node[node].calls++;
		t->s->node[node].total += p->ticks;
	}
	t->s->node[node].self += p->ticks;
	return p->ticks;
}

/* Adds the waits of a call that is over below its node, and forgets them. Returns what of the
 * call's own time is there: at most all of it, which is less than the waits where it was cut. */
static uint64_t take_places(struct taking *t, const struct dt_call *c, uint32_t node, uint64_t self)
{
	uint32_t i = c->note ? c->note[1] : 0, next;
	uint64_t there = 0;

	for (; i; i = next) {
		struct place *p = &t->place[i - 1];

		next = p->next;
		if (p->ticks > self - there)
			p->ticks = self - there;
		if (node && p->ticks && !(c->flags & DT_CALL_UNKNOWN))
			there += add_place(t, node, p);
		p->next = t->free;
		t->free = i;
	}
	if (c->note)
		c->note[1] = 0;
	return there;
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
		i = c->note ? *c->note : 0;
		self -= take_places(t, c, i, self);
		add_to_caller(t, c, self);
		return;
	}
	i = c->note ? *c->note : node_of_call(t, c);
	self -= take_places(t, c, i, self);
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
	struct taking t = {.s = s, .reader = r};
	struct dt_pair_events events = {.begin = on_begin,
					.end = on_end,
					.wait = s->off && dt_wakers_any(r) ? on_wait : NULL,
					.ctx = &t};
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
	dt_backtraces_free(&t.backtraces);
	free(t.place);
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
