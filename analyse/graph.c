/* SPDX-License-Identifier: MIT */
/* Who calls whom. */
#include "analyse/graph.h"

#include <stdlib.h>
#include <string.h>

/* The place of a call in one of the trees; all 0: it is not in it. */
struct place {
	uint32_t node;	 /* the calls that it makes are below this node */
	uint32_t again;	 /* its own node, if its function was called again; or 0 */
	bool node_first; /* no other call of that node was open in its thread */
	bool again_first;
};

/* An open call; its places are in reading.place. Frame 0 stands for none. */
struct frame {
	uint64_t who; /* the thread; in an interrupt, the frame of the outermost call and 1 << 32 */
	uint32_t free; /* the next free frame */
	bool hidden;   /* its function is not shown: it has its caller's places */
};

/* How many calls of a node are open in a thread; there is an entry only while some are. */
struct open {
	uint64_t who, node; /* node: the tree is in the upper half */
	uint32_t calls;	    /* 0: free */
};

struct reading {
	struct dt_graph *g;
	struct dt_pair *pair;
	struct dt_graph_tree **tree; /* whole, then below */
	size_t trees;
	struct frame *frame;
	struct place *place; /* `trees' for each frame */
	uint32_t frames, room, free;
	struct open *open; /* open addressing, a power of two */
	size_t opens, open_size;
	bool failed; /* out of memory */
};

/* ---- the trees ---- */

static uint32_t node_of(struct reading *k, struct dt_graph_tree *t, uint32_t parent,
			uint32_t function, bool again)
{
	uint32_t i = dt_stacks_node(&t->way, parent, function, false, again);

	if (i && t->room < t->way.room) {
		struct dt_graph_sum *p = realloc(t->sum, t->way.room * sizeof(*p));

		if (p) {
			memset(p + t->room, 0, (t->way.room - t->room) * sizeof(*p));
			t->sum = p;
			t->room = t->way.room;
		} else {
			i = 0;
		}
	}
	k->failed |= !i;
	return i;
}

/* Returns the node of a function on the way to a node; 0: it is not on it. */
static uint32_t stands_at(const struct dt_stacks *s, uint32_t node, uint32_t function)
{
	while (node && s->node[node].function != function)
		node = s->node[node].parent;
	return node;
}

static void add(struct dt_graph_sum *to, const struct dt_graph_sum *x)
{
	to->calls += x->calls;
	to->recursive += x->recursive;
	to->timed += x->timed;
	to->open += x->open;
	to->exits += x->exits;
	to->outer += x->outer;
	to->sum += x->sum;
	to->self += x->self;
	to->outer_waited += x->outer_waited;
	to->self_waited += x->self_waited;
}

/* ---- calls of a node that are open ---- */

static size_t open_start(const struct reading *k, uint64_t who, uint64_t node)
{
	return (size_t)((who * 0xff51afd7ed558ccdu ^ node) * 0x9e3779b97f4a7c15u >> 20) &
	       (k->open_size - 1);
}

static struct open *open_find(const struct reading *k, uint64_t who, uint64_t node)
{
	size_t i = open_start(k, who, node);

	while (k->open[i].calls && (k->open[i].who != who || k->open[i].node != node))
		i = (i + 1) & (k->open_size - 1);
	return &k->open[i];
}

static bool open_grow(struct reading *k)
{
	struct open *old = k->open;
	size_t n = k->open_size;

	k->open_size = n ? 2 * n : 1024;
	k->open = calloc(k->open_size, sizeof(*k->open));
	if (!k->open) {
		k->open = old;
		k->open_size = n;
		return false;
	}
	for (size_t i = 0; i < n; i++)
		if (old[i].calls)
			*open_find(k, old[i].who, old[i].node) = old[i];
	free(old);
	return true;
}

/* Counts an open call of a node. True: it is the only one. */
static bool open_one(struct reading *k, uint64_t who, size_t tree, uint32_t node)
{
	uint64_t key = (uint64_t)tree << 32 | node;
	struct open *o;

	if (2 * k->opens >= k->open_size && !open_grow(k)) {
		k->failed = true;
		return false;
	}
	o = open_find(k, who, key);
	if (o->calls++)
		return false;
	o->who = who;
	o->node = key;
	k->opens++;
	return true;
}

static void close_one(struct reading *k, uint64_t who, size_t tree, uint32_t node)
{
	struct open *o = open_find(k, who, (uint64_t)tree << 32 | node);
	size_t hole = (size_t)(o - k->open), i = hole;

	if (!o->calls || --o->calls)
		return;
	k->opens--;
	/* entries that stand after it only because this place was taken move up */
	for (;;) {
		size_t from;

		i = (i + 1) & (k->open_size - 1);
		if (!k->open[i].calls)
			return;
		from = open_start(k, k->open[i].who, k->open[i].node);
		if (((i - from) & (k->open_size - 1)) < ((i - hole) & (k->open_size - 1)))
			continue;
		k->open[hole] = k->open[i];
		k->open[i].calls = 0;
		hole = i;
	}
}

/* ---- open calls ---- */

static uint32_t new_frame(struct reading *k)
{
	uint32_t i = k->free;

	if (i) {
		k->free = k->frame[i].free;
	} else {
		if (k->frames == k->room) {
			uint32_t room = k->room ? 2 * k->room : 256;
			struct frame *f = realloc(k->frame, room * sizeof(*f));
			struct place *p;

			if (f)
				k->frame = f;
			p = f ? realloc(k->place, room * k->trees * sizeof(*p)) : NULL;
			if (!p) {
				k->failed = true;
				return 0;
			}
			k->place = p;
			k->room = room;
		}
		i = k->frames++;
	}
	k->frame[i] = (struct frame){0};
	memset(&k->place[i * k->trees], 0, k->trees * sizeof(*k->place));
	return i;
}

/* Returns the place of a call that is made from node `caller'. */
static struct place find_place(struct reading *k, size_t tree, uint32_t caller,
			       const struct dt_call *c)
{
	struct dt_graph_tree *t = k->tree[tree];
	struct place p = {0};

	if (tree && !caller && c->function != k->g->focus[tree - 1])
		return p;
	p.node = stands_at(&t->way, caller, c->function);
	if (p.node)
		p.again = node_of(k, t, caller, c->function, true);
	else
		p.node = node_of(k, t, caller, c->function, false);
	return p;
}

/* Returns the frame of the caller, in an event about a call; 0: none. */
static uint32_t caller_of(const struct reading *k)
{
	const uint32_t *note = dt_pair_caller_note(k->pair);

	return note ? *note : 0;
}

static bool is_shown(const struct reading *k, const struct dt_call *c)
{
	return (c->function >= k->g->functions || k->g->shown[c->function]) &&
	       (!k->g->chosen || dt_chosen_has(k->g->chosen, c->id));
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct reading *k = ctx;
	uint32_t caller = caller_of(k), i = k->failed ? 0 : new_frame(k);
	struct frame *f = &k->frame[i];
	struct place *p = &k->place[i * k->trees], *up = &k->place[caller * k->trees];

	*c->note = i;
	if (!i)
		return;
	f->who = caller ? k->frame[caller].who : c->tid == DT_NO_TID ? 1ull << 32 | i : c->tid;
	f->hidden = !is_shown(k, c);
	for (size_t t = 0; t < k->trees; t++) {
		if (f->hidden) {
			p[t] = (struct place){up[t].node, up[t].again, false, false};
			continue;
		}
		p[t] = find_place(k, t, up[t].node, c);
		if (p[t].node)
			p[t].node_first = open_one(k, f->who, t, p[t].node);
		if (p[t].again)
			p[t].again_first = open_one(k, f->who, t, p[t].again);
	}
}

static void count(struct dt_graph_tree *t, const struct place *p, const struct dt_call *c)
{
	uint64_t took = dt_call_ticks(c);
	uint32_t i = p->again ? p->again : p->node;
	const struct dt_graph_sum one = {
		.calls = 1,
		.recursive = c->flags & DT_CALL_RECURSIVE ? 1 : 0,
		.open = c->flags & DT_CALL_OPEN ? 1 : 0,
		.timed = 1,
		.sum = took,
		.outer = c->flags & DT_CALL_RECURSIVE ? 0 : took,
		.self = took > c->children ? took - c->children : 0,
		.outer_waited = c->flags & DT_CALL_RECURSIVE ? 0 : c->waited,
		.self_waited = c->waited_self,
	};

	if (c->flags & DT_CALL_NO_ENTRY) {
		t->sum[i].exits++;
		return;
	}
	if (c->flags & DT_CALL_UNKNOWN) {
		t->sum[i].calls++;
		t->sum[i].recursive += one.recursive;
		return;
	}
	add(&t->sum[i], &one);
	if (p->node_first) {
		t->sum[p->node].total += took;
		t->sum[p->node].waited += c->waited;
	}
	if (p->again_first) {
		t->sum[p->again].total += took;
		t->sum[p->again].waited += c->waited;
	}
}

/* Counts a call without an entry. */
static void count_orphan(struct reading *k, const struct dt_call *c)
{
	uint32_t caller = caller_of(k);

	if (!is_shown(k, c))
		return;
	for (size_t t = 0; t < k->trees && !k->failed; t++) {
		struct place p = find_place(k, t, k->place[caller * k->trees + t].node, c);

		if (p.node)
			count(k->tree[t], &p, c);
	}
}

/* Counts the time of a call that is not shown as its caller's own. */
static void count_hidden(struct reading *k, const struct place *p, const struct dt_call *c)
{
	uint64_t took = dt_call_ticks(c);

	if (c->flags & DT_CALL_UNKNOWN || took <= c->children)
		return;
	for (size_t t = 0; t < k->trees; t++) {
		struct dt_graph_sum *s = &k->tree[t]->sum[p[t].again ? p[t].again : p[t].node];

		if (!p[t].node)
			continue;
		s->self += took - c->children;
		s->self_waited += c->waited_self;
	}
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct reading *k = ctx;
	uint32_t i = c->note ? *c->note : 0;
	struct place *p = &k->place[i * k->trees];
	struct frame *f = &k->frame[i];

	if (k->failed)
		return;
	if (!c->note) {
		count_orphan(k, c);
		return;
	}
	if (f->hidden)
		count_hidden(k, p, c);
	for (size_t t = 0; t < k->trees && !f->hidden; t++) {
		if (!p[t].node)
			continue;
		count(k->tree[t], &p[t], c);
		close_one(k, f->who, t, p[t].node);
		if (p[t].again)
			close_one(k, f->who, t, p[t].again);
	}
	f->free = k->free;
	k->free = i;
}

/* ---- when all calls are known ---- */

/* Makes the tree of the ways to a function, with the function as its root. A way ends where it
 * meets the function again. */
static void make_above(struct reading *k, uint32_t function, struct dt_graph_tree *above)
{
	const struct dt_graph_tree *w = &k->g->whole;

	for (uint32_t i = 1; i < w->way.n && !k->failed; i++) {
		const struct dt_graph_sum *s = &w->sum[i];
		uint32_t up = w->way.node[i].parent, at, of;

		if (w->way.node[i].function != function || (!s->calls && !s->exits))
			continue;
		at = node_of(k, above, 0, function, false);
		for (bool first = true; at; first = false) {
			add(&above->sum[at], s);
			above->sum[at].total += s->outer;
			above->sum[at].waited += s->outer_waited;
			if (!up && !first)
				break;
			of = up ? w->way.node[up].function : DT_GRAPH_NO_CALLER;
			at = node_of(k, above, at, of, of == function);
			if (at && (!up || of == function)) {
				add(&above->sum[at], s);
				above->sum[at].total += s->outer;
				above->sum[at].waited += s->outer_waited;
				break;
			}
			up = up ? w->way.node[up].parent : 0;
		}
	}
}

/* Adds the calls of functions that were called again to the node where the function stood first. */
static void fold(struct dt_graph_tree *t)
{
	for (uint32_t i = 1; i < t->way.n; i++)
		t->sum[i].here = t->sum[i].calls;
	for (uint32_t i = 1; i < t->way.n; i++) {
		const struct dt_stack_node *n = &t->way.node[i];

		if (n->again)
			add(&t->sum[stands_at(&t->way, n->parent, n->function)], &t->sum[i]);
	}
}

static int take_spans(struct reading *k, struct dt_reader *r, const struct dt_reader_range *range,
		      struct dt_error *e)
{
	const struct dt_pair_events events = {
		.begin = on_begin, .end = on_end, .ctx = k, .cost = k->g->cost};
	struct dt_span s;
	int rc;

	k->pair = dt_pair_new(r, &events, false);
	if (!k->pair)
		return dt_fail(e, "out of memory");
	rc = dt_reader_start(r, range, e);
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		if (s.n && k->g->wanted && !k->g->wanted(k->g->ctx, s.tid) &&
		    !dt_pair_unwanted(k->pair, &s))
			continue;
		if (dt_pair_span(k->pair, &s) || k->failed)
			rc = dt_fail(e, "out of memory");
	}
	if (!rc)
		dt_pair_finish(k->pair);
	dt_pair_free(k->pair);
	return rc;
}

static bool start(struct reading *k, struct dt_graph *g)
{
	g->below = calloc(g->focuses + 1, sizeof(*g->below));
	g->above = calloc(g->focuses + 1, sizeof(*g->above));
	k->trees = g->focuses + 1;
	k->tree = calloc(k->trees, sizeof(*k->tree));
	if (!g->below || !g->above || !k->tree)
		return false;
	k->tree[0] = &g->whole;
	for (size_t i = 0; i < g->focuses; i++)
		k->tree[i + 1] = &g->below[i];
	new_frame(k); /* frame 0 stands for none: it is in no tree */
	return !k->failed;
}

/* Returns what shares are parts of: see struct dt_graph. */
static uint64_t all_time(const struct dt_graph_tree *t)
{
	uint64_t self = 0, outer = 0;

	for (uint32_t i = 1; i < t->way.n; i++) {
		if (t->way.node[i].again)
			continue;
		self += t->sum[i].self;
		outer += t->way.node[i].parent ? 0 : t->sum[i].total;
	}
	return self > outer ? self : outer;
}

int dt_graph_read(struct dt_graph *g, struct dt_reader *r, const struct dt_reader_range *range,
		  struct dt_error *e)
{
	struct reading k = {.g = g};
	int rc = start(&k, g) ? take_spans(&k, r, range, e) : dt_fail(e, "out of memory");

	for (size_t i = 0; i < g->focuses && !rc; i++)
		make_above(&k, g->focus[i], &g->above[i]);
	if (!rc && k.failed)
		rc = dt_fail(e, "out of memory");
	for (size_t i = 0; i < k.trees && !rc; i++)
		fold(k.tree[i]);
	if (!rc)
		g->all = all_time(&g->whole);
	free(k.tree);
	free(k.frame);
	free(k.place);
	free(k.open);
	return rc;
}

struct dt_graph_sum dt_graph_function(const struct dt_graph *g, uint32_t function)
{
	struct dt_graph_sum all = {0};

	for (uint32_t i = 1; i < g->whole.way.n; i++)
		if (g->whole.way.node[i].function == function && !g->whole.way.node[i].again)
			add(&all, &g->whole.sum[i]);
	all.total = all.outer;
	all.waited = all.outer_waited;
	return all;
}

static void free_tree(struct dt_graph_tree *t)
{
	dt_stacks_free(&t->way);
	free(t->sum);
}

void dt_graph_free(struct dt_graph *g)
{
	free_tree(&g->whole);
	for (size_t i = 0; i < g->focuses; i++) {
		if (g->below)
			free_tree(&g->below[i]);
		if (g->above)
			free_tree(&g->above[i]);
	}
	free(g->below);
	free(g->above);
}
