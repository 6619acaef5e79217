/* SPDX-License-Identifier: MIT */
/* Ways of calling. */
#include "analyse/ways.h"

#include <stdlib.h>
#include <string.h>

#include "store/varint.h"

/* ---- the tree ---- */

static uint32_t hash(uint32_t parent, uint32_t function)
{
	return (uint32_t)(((uint64_t)parent << 32 | function) * 0x9e3779b97f4a7c15u >> 32);
}

static uint32_t *find_slot(const struct dt_ways *w, uint32_t parent, uint32_t function)
{
	for (uint32_t at = hash(parent, function);; at++) {
		uint32_t *slot = &w->slot[at & (w->slots - 1)];

		if (!*slot || (w->link[*slot - 1].parent == parent &&
			       w->link[*slot - 1].function == function))
			return slot;
	}
}

/* Makes room for one more link in the hash table. */
static int more_slots(struct dt_ways *w)
{
	uint32_t n = w->slots ? 2 * w->slots : 1024, *slot;

	if (2 * (w->links + 1) < w->slots)
		return 0;
	slot = calloc(n, sizeof(*slot));
	if (!slot)
		return -1;
	free(w->slot);
	w->slot = slot;
	w->slots = n;
	for (uint32_t i = 0; i < w->links; i++)
		*find_slot(w, w->link[i].parent, w->link[i].function) = i + 1;
	return 0;
}

/* Returns a new node. 0: there is no room. */
static uint32_t add_node(struct dt_ways *w, uint32_t parent, uint32_t function)
{
	uint32_t depth = w->n ? w->node[parent].depth + 1 : 0;

	if (depth > DT_WAYS_DEPTH)
		return 0;
	if (w->n == w->room) {
		uint32_t room = w->room ? 2 * w->room : 1024;
		struct dt_way *more =
			w->n < DT_WAYS_MOST ? realloc(w->node, room * sizeof(*more)) : NULL;

		if (!more)
			return 0;
		w->node = more;
		w->room = room;
	}
	w->node[w->n] = (struct dt_way){.parent = parent, .function = function, .depth = depth};
	return w->n++;
}

static int add_link(struct dt_ways *w, uint32_t parent, uint32_t function, uint32_t node)
{
	if (w->links == w->link_room) {
		uint32_t room = w->link_room ? 2 * w->link_room : 1024;
		struct dt_way_link *more =
			w->links < 4 * DT_WAYS_MOST ? realloc(w->link, room * sizeof(*more)) : NULL;

		if (!more)
			return -1;
		w->link = more;
		w->link_room = room;
	}
	if (more_slots(w) < 0)
		return -1;
	*find_slot(w, parent, function) = w->links + 1;
	w->link[w->links++] = (struct dt_way_link){parent, function, node};
	return 0;
}

int dt_ways_begin(struct dt_ways *w)
{
	if (w->n)
		return 0;
	add_node(w, 0, 0);
	add_node(w, 0, 0);
	return w->n == 2 && more_slots(w) == 0 ? 0 : -1;
}

void dt_ways_free(struct dt_ways *w)
{
	free(w->node);
	free(w->slot);
	free(w->link);
	*w = (struct dt_ways){0};
}

/* Looks a function up that has not been called at `parent' before. */
static uint32_t new_way(struct dt_ways *w, uint32_t parent, uint32_t function)
{
	uint32_t node = 0;

	for (uint32_t i = parent; i && !node; i = w->node[i].parent)
		if (w->node[i].function == function)
			node = i;
	if (!node)
		node = add_node(w, parent, function);
	return node && add_link(w, parent, function, node) == 0 ? node : DT_WAYS_OTHER;
}

uint32_t dt_ways_node(struct dt_ways *w, uint32_t parent, uint32_t function)
{
	uint32_t *slot, node;

	if (parent >= w->n || parent == DT_WAYS_OTHER)
		return DT_WAYS_OTHER;
	if (w->node[parent].last_function == function && w->node[parent].last_node)
		return w->node[parent].last_node;
	slot = find_slot(w, parent, function);
	node = *slot ? w->link[*slot - 1].node : new_way(w, parent, function);
	w->node[parent].last_function = function;
	w->node[parent].last_node = node;
	return node;
}

/* ---- sums ---- */

static int more_sums(struct dt_way_sums *s, uint32_t node)
{
	uint32_t room = s->room ? s->room : 1024;
	struct dt_way_sum *more;

	while (room <= node)
		room *= 2;
	more = realloc(s->sum, room * sizeof(*more));
	if (!more)
		return -1;
	memset(more + s->room, 0, (room - s->room) * sizeof(*more));
	s->sum = more;
	s->room = room;
	return 0;
}

static int touch(struct dt_way_sums *s, uint32_t node)
{
	if (s->n == s->touched_room) {
		uint32_t room = s->touched_room ? 2 * s->touched_room : 1024;
		uint32_t *more = realloc(s->touched, room * sizeof(*more));

		if (!more)
			return -1;
		s->touched = more;
		s->touched_room = room;
	}
	s->touched[s->n++] = node;
	return 0;
}

void dt_way_sums_add(struct dt_way_sums *s, uint32_t node, uint64_t calls, int64_t self)
{
	struct dt_way_sum *x;

	/* a snapshot may say anything */
	if (node >= DT_WAYS_MOST)
		node = DT_WAYS_OTHER;
	if (node >= s->room && more_sums(s, node) < 0) {
		s->no_memory = true;
		return;
	}
	x = &s->sum[node];
	/* one whose sums have become 0 again is noted twice: that does no harm */
	if (!x->calls && !x->self && (calls || self) && touch(s, node) < 0) {
		s->no_memory = true;
		return;
	}
	x->calls += calls;
	x->self = (int64_t)((uint64_t)x->self + (uint64_t)self);
}

void dt_way_sums_call(struct dt_way_sums *s, uint32_t node, const struct dt_call *c)
{
	uint64_t took = dt_call_ticks(c);
	bool timed = !(c->flags & DT_CALL_UNTIMED) && took > c->children;

	if (!(c->flags & DT_CALL_NO_ENTRY))
		dt_way_sums_add(s, node, 1, timed ? (int64_t)(took - c->children) : 0);
}

void dt_way_sums_reset(struct dt_way_sums *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		s->sum[s->touched[i]] = (struct dt_way_sum){0};
	s->n = 0;
}

void dt_way_sums_free(struct dt_way_sums *s)
{
	free(s->sum);
	free(s->touched);
}

/* ---- as bytes ---- */

int dt_ways_save(const struct dt_ways *w, struct dt_bytes *b)
{
	if (DT_PUT(b, w->n))
		return -1;
	for (uint32_t i = 2; i < w->n; i++)
		if (DT_PUT(b, i - w->node[i].parent, w->node[i].function))
			return -1;
	return 0;
}

int dt_ways_take(struct dt_ways *w, const uint8_t *bytes, size_t n, uint32_t functions)
{
	struct dt_cursor_bytes c = {bytes, bytes + n, false};
	uint64_t nodes = dt_get_varint(&c);

	/* each has two numbers */
	if (dt_ways_begin(w) < 0 || nodes > DT_WAYS_MOST || nodes > n / 2 + 2)
		return -1;
	for (uint32_t i = 2; i < nodes; i++) {
		uint64_t up = dt_get_varint(&c), function = dt_get_varint(&c);

		if (c.bad || !up || up > i || i - up == DT_WAYS_OTHER || function > functions ||
		    add_node(w, (uint32_t)(i - up), (uint32_t)function) != i ||
		    add_link(w, (uint32_t)(i - up), (uint32_t)function, i) < 0)
			return -1;
	}
	return c.p == c.end ? 0 : -1;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int dt_way_sums_save(struct dt_way_sums *s, struct dt_bytes *b)
{
	uint32_t before = 0;

	if (s->no_memory)
		return -1;
	if (s->n)
		qsort(s->touched, s->n, sizeof(*s->touched), by_number);
	for (uint32_t i = 0; i < s->n; i++) {
		uint32_t node = s->touched[i];

		if (DT_PUT(b, node - before, s->sum[node].calls, (uint64_t)s->sum[node].self))
			return -1;
		before = node;
	}
	return 0;
}

int dt_way_sums_take(struct dt_way_sums *s, const uint8_t *bytes, size_t n, uint32_t nodes)
{
	struct dt_cursor_bytes c = {bytes, bytes + n, false};
	uint64_t node = 0;

	while (c.p < c.end) {
		uint64_t step = dt_get_varint(&c), calls = dt_get_varint(&c);
		uint64_t self = dt_get_varint(&c);

		if (c.bad || step > nodes || (node += step) >= nodes)
			return -1;
		dt_way_sums_add(s, (uint32_t)node, calls, (int64_t)self);
	}
	return s->no_memory ? -1 : 0;
}
