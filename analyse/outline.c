/* SPDX-License-Identifier: MIT */
/* The tree of calls in the order of time. */
#include "analyse/outline.h"

#include <stdlib.h>
#include <string.h>

#define PARTS	  2048	     /* into so many parts a stretch of time is cut, at most, */
#define ALL_PARTS (1u << 22) /* and so many of all depths together */
#define EACH	  1000	     /* so many calls or fewer are never put together */
#define ANY_DEPTH UINT32_MAX

static int no_memory(struct dt_error *e)
{
	return dt_fail(e, "out of memory");
}

/* ---- the calls of a stretch of time ---- */

struct found {
	struct dt_bar bar;
	uint8_t shift; /* of several calls */
};

/* Which bars are wanted. Several that were put together are those of one depth that are shorter
 * than 2^shift ticks and end in one cell; to find them, all three are asked for. */
struct wanted {
	uint32_t track, depth; /* depth may be ANY_DEPTH */
	uint64_t from, to;     /* ticks: they begin in there */
	unsigned within;       /* shift of the cell they end in; 64: any */
	uint64_t cell;	       /* that cell */
	bool each;	       /* one by one */
};

struct finding {
	struct dt_outline *o;
	struct found *found;
	size_t n, room;
};

static int add_found(struct finding *k, const struct dt_bar *x, unsigned shift, struct dt_error *e)
{
	if (k->n == k->room) {
		size_t room = k->room ? 2 * k->room : 256;
		struct found *more = realloc(k->found, room * sizeof(*more));

		if (!more)
			return no_memory(e);
		k->found = more;
		k->room = room;
	}
	k->found[k->n++] = (struct found){*x, (uint8_t)shift};
	return 0;
}

/* Says whether a bar, of one call or several, can be or have some of those that are wanted. */
static bool is_candidate(const struct wanted *w, const struct dt_bar *x)
{
	if (w->depth != ANY_DEPTH && x->depth != w->depth)
		return false;
	if (w->within < 64 && x->end >> w->within != w->cell)
		return false;
	if (x->count > 1)
		return x->end >= w->from && x->begin <= w->to;
	if (w->within < 64 && x->end - x->begin >= 1ull << w->within)
		return false;
	/* what begins when the caller ends is in it only if it ends then, too */
	return x->begin >= w->from && (x->begin < w->to || (x->begin == w->to && x->end == w->to));
}

/* Returns how many parts a window can have: fewer if it shows many depths. */
static unsigned parts_for(const struct dt_outline *o, const struct wanted *w)
{
	uint64_t depths =
		w->depth == ANY_DEPTH ? o->pyramid->track[w->track].depths : w->depth + 1ull;
	unsigned parts = PARTS;

	while (parts > 16 && (parts + 2) * (depths + 1) > ALL_PARTS)
		parts /= 2;
	return parts;
}

/* Finds the wanted bars. It calls itself for those that have to be taken apart; a part is at most
 * 1/8 as long as the whole, so it does so at most 21 times. */
static int find(struct finding *k, const struct wanted *w, struct dt_error *e)
{
	struct dt_window window = {
		.from = w->from, .to = w->to, .depths = w->depth == ANY_DEPTH ? 0 : w->depth + 1};
	struct dt_bar_list list = {0};
	uint64_t calls = 0;
	int rc;

	window.shift = dt_window_shift(w->from, w->to, parts_for(k->o, w));
	if (w->within < 64 && w->within && window.shift >= w->within)
		window.shift = w->within - 1;
	if (k->o->go_on && !k->o->go_on(k->o->ctx))
		return dt_fail(e, "stopped");
	rc = dt_window_bars(k->o->windows, w->track, &window, &list, e);
	for (size_t i = 0; i < list.n && rc == 0; i++)
		calls += is_candidate(w, &list.bar[i]) ? list.bar[i].count : 0;
	for (size_t i = 0; i < list.n && rc == 0; i++) {
		const struct dt_bar *x = &list.bar[i];
		struct wanted part = {.track = w->track,
				      .depth = x->depth,
				      .from = x->begin > w->from ? x->begin : w->from,
				      .to = x->end < w->to ? x->end : w->to,
				      .within = window.shift,
				      .cell = x->end >> window.shift,
				      .each = w->each || calls <= EACH};

		if (!is_candidate(w, x))
			continue;
		/* those of one tick can not be told apart */
		if (x->count > 1 && window.shift &&
		    (part.each || x->begin < w->from || x->end > w->to))
			rc = find(k, &part, e);
		else if (x->begin >= w->from)
			rc = add_found(k, x, window.shift, e);
	}
	free(list.bar);
	return rc;
}

struct opening {
	struct finding *k;
	const struct wanted *w;
	struct dt_error *e;
	int rc;
};

static bool on_open(void *ctx, const struct dt_call *c)
{
	struct opening *o = ctx;
	const struct dt_bar bar = {.begin = c->begin,
				   .end = o->k->o->pyramid->end,
				   .count = 1,
				   .what = c->function,
				   .flags = c->flags | DT_CALL_OPEN,
				   .depth = c->depth};

	if (bar.begin <= bar.end && is_candidate(o->w, &bar))
		o->rc = add_found(o->k, &bar, 0, o->e);
	return o->rc == 0;
}

/* Adds the calls that are open where the building of the pyramid has come to. */
static int find_open(struct finding *k, const struct wanted *w, struct dt_error *e)
{
	const struct dt_pyramid *p = k->o->pyramid;
	struct opening o = {k, w, e, 0};

	if (!p->complete && w->within == 64 && p->track[w->track].id < DT_TRACK_NOBODY(0))
		dt_pyramid_open_calls(p, p->track[w->track].id, on_open, &o);
	return o.rc;
}

static int by_begin(const void *a, const void *b)
{
	const struct dt_bar *x = &((const struct found *)a)->bar;
	const struct dt_bar *y = &((const struct found *)b)->bar;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

/* ---- nodes ---- */

static uint32_t new_node(struct dt_outline *o, const struct dt_outline_node *x, struct dt_error *e)
{
	if (o->n == DT_OUTLINE_MOST) {
		dt_fail(e, "more than %u lines would be unfolded: C folds all", DT_OUTLINE_MOST);
		return 0;
	}
	if (o->n == o->room) {
		uint32_t room = o->room ? 2 * o->room : 1024;
		struct dt_outline_node *more = realloc(o->node, room * sizeof(*more));

		if (!more) {
			no_memory(e);
			return 0;
		}
		o->node = more;
		o->room = room;
	}
	o->node[o->n] = *x;
	return o->n++;
}

int dt_outline_begin(struct dt_outline *o, struct dt_windows *w, const struct dt_pyramid *p,
		     struct dt_error *e)
{
	const struct dt_outline_node root = {.kind = DT_OUTLINE_ROOT, .unfolded = true};

	o->windows = w;
	o->pyramid = p;
	o->node = malloc(1024 * sizeof(*o->node));
	if (!o->node)
		return no_memory(e);
	o->room = 1024;
	o->n = 0;
	new_node(o, &root, e);
	return 0;
}

void dt_outline_free(struct dt_outline *o)
{
	free(o->node);
	o->node = NULL;
	o->n = o->room = 0;
}

/* Adds the threads that are not there yet, in the order of their tracks, and brings the others up
 * to date. */
static int load_threads(struct dt_outline *o, struct dt_error *e)
{
	uint32_t last = 0, at = o->node[0].child;

	for (uint32_t t = 0; t < o->pyramid->tracks; t++) {
		const struct dt_track *track = &o->pyramid->track[t];
		const struct dt_outline_node thread = {
			.kind = DT_OUTLINE_THREAD,
			.track = t,
			.bar = {.begin = track->begin,
				.end = track->end,
				.count = track->count,
				.what = track->id},
		};

		if (track->kind != DT_TRACK_THREAD)
			continue;
		if (at && o->node[at].track == t) {
			o->node[at].bar = thread.bar;
		} else {
			at = new_node(o, &thread, e);
			if (!at)
				return -1;
			if (last)
				o->node[last].next = at;
			else
				o->node[0].child = at;
		}
		last = at;
		at = o->node[at].next;
	}
	return 0;
}

/* Makes nodes of what has been found, in the order of time. */
static int add_children(struct dt_outline *o, uint32_t node, struct finding *k, struct dt_error *e)
{
	uint32_t last = 0, before = o->n;

	if (k->n)
		qsort(k->found, k->n, sizeof(*k->found), by_begin);
	for (size_t i = 0; i < k->n; i++) {
		const struct found *f = &k->found[i];
		const struct dt_outline_node x = {
			.kind = f->bar.count > 1 ? DT_OUTLINE_CALLS : DT_OUTLINE_CALL,
			.shift = f->shift,
			.parent = node,
			.track = o->node[node].track,
			.bar = f->bar,
		};
		uint32_t at = new_node(o, &x, e);

		if (!at) {
			o->node[node].child = 0;
			o->n = before;
			return -1;
		}
		if (last)
			o->node[last].next = at;
		else
			o->node[node].child = at;
		last = at;
	}
	return 0;
}

/* Returns the call or thread that a node is in, or which it is. */
static uint32_t owner(const struct dt_outline *o, uint32_t node)
{
	while (o->node[node].kind == DT_OUTLINE_CALLS)
		node = o->node[node].parent;
	return node;
}

/* Sets *w to what is in a node. */
static void want(const struct dt_outline *o, uint32_t node, struct wanted *w)
{
	const struct dt_outline_node *x = &o->node[node], *in = &o->node[owner(o, node)];

	*w = (struct wanted){
		.track = x->track,
		.depth = o->pyramid->filter && in->kind == DT_OUTLINE_THREAD ? ANY_DEPTH : 0,
		.from = in->bar.begin,
		.to = in->bar.end,
		.within = 64,
	};
	if (in->kind == DT_OUTLINE_CALL)
		w->depth = in->bar.depth + 1;
	/* the track knows only of calls that have ended */
	if (in->kind == DT_OUTLINE_THREAD && !o->pyramid->complete) {
		w->from = o->pyramid->begin;
		w->to = o->pyramid->end;
	}
	if (x->kind != DT_OUTLINE_CALLS)
		return;
	w->depth = x->bar.depth;
	w->from = x->bar.begin > w->from ? x->bar.begin : w->from;
	w->to = x->bar.end < w->to ? x->bar.end : w->to;
	w->within = x->shift;
	w->cell = x->bar.end >> x->shift;
}

bool dt_outline_has_more(const struct dt_outline *o, uint32_t node)
{
	const struct dt_outline_node *x = &o->node[node];

	if (x->loaded)
		return x->child != 0;
	switch (x->kind) {
	case DT_OUTLINE_CALL:
		return !o->pyramid->filter && !(x->bar.flags & DT_CALL_NO_EXIT) &&
		       (x->bar.depth + 1 < o->pyramid->track[x->track].depths ||
			!o->pyramid->complete);
	case DT_OUTLINE_CALLS:
		return x->shift > 0;
	default:
		return true;
	}
}

int dt_outline_load(struct dt_outline *o, uint32_t node, struct dt_error *e)
{
	struct finding k = {.o = o};
	struct wanted w;
	int rc = 0;

	if (!node)
		return load_threads(o, e);
	if (o->node[node].loaded)
		return 0;
	if (dt_outline_has_more(o, node)) {
		want(o, node, &w);
		rc = find(&k, &w, e);
		rc = rc < 0 ? rc : find_open(&k, &w, e);
		rc = rc < 0 ? rc : add_children(o, node, &k, e);
	}
	free(k.found);
	/* more may come as long as the pyramid grows */
	o->node[node].loaded = rc == 0 && o->pyramid->complete;
	return rc;
}

/* ---- a call by its place ---- */

/* Returns the child of a node that is the call, or that it is in; 0: none. */
static uint32_t child_with(const struct dt_outline *o, uint32_t node, uint64_t begin,
			   uint32_t depth)
{
	for (uint32_t c = o->node[node].child; c; c = o->node[c].next) {
		const struct dt_bar *x = &o->node[c].bar;

		if (x->begin > begin || x->end < begin || x->depth > depth)
			continue;
		/* with a filter, no call is in another one */
		if (x->depth != depth && o->pyramid->filter)
			continue;
		if (o->node[c].kind == DT_OUTLINE_CALLS)
			return c;
		/* at a call's end the next one may begin, which the place is in then */
		if (x->depth == depth ? x->begin == begin : x->end > begin || x->begin == x->end)
			return c;
	}
	return 0;
}

uint32_t dt_outline_reveal(struct dt_outline *o, uint32_t track, uint64_t begin, uint32_t depth,
			   struct dt_error *e)
{
	uint32_t at = 0;

	e->text[0] = '\0';
	if (dt_outline_load(o, 0, e) < 0)
		return 0;
	for (at = o->node[0].child; at && o->node[at].track != track;)
		at = o->node[at].next;
	while (at) {
		if (o->node[at].kind == DT_OUTLINE_CALL && o->node[at].bar.depth == depth)
			return at;
		if (dt_outline_load(o, at, e) < 0)
			return 0;
		o->node[at].unfolded = true;
		at = child_with(o, at, begin, depth);
	}
	return 0;
}

/* ---- looking for a function ---- */

struct looking {
	struct dt_outline *o;
	const bool *wanted;
	uint32_t functions;
	bool forward, any;
	struct dt_outline_found from, best;
};

/* Compares the places of two calls of one thread. */
static int compare(const struct dt_bar *x, const struct dt_bar *y)
{
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

static bool on_bar(void *ctx, uint32_t track, const struct dt_bar *x)
{
	struct looking *k = ctx;
	int side = k->forward ? 1 : -1;

	if (track != k->from.track || x->what >= k->functions || !k->wanted[x->what] ||
	    (k->from.bar.count && compare(x, &k->from.bar) * side <= 0))
		return true;
	if (k->any && compare(x, &k->best.bar) * side >= 0)
		return true;
	k->any = true;
	k->best = (struct dt_outline_found){track, *x};
	return true;
}

/* Looks through one track, region by region. */
static int look_through(struct looking *k, struct dt_error *e)
{
	const struct dt_pyramid *p = k->o->pyramid;
	size_t at = dt_pyramid_region(p, k->from.bar.begin);

	for (;; k->forward ? at++ : at--) {
		const struct dt_region *r = &p->region[at];
		uint64_t from = at ? r->begin : 0,
			 to = at + 1 < p->regions ? r->end - 1 : UINT64_MAX;

		if (k->o->go_on && !k->o->go_on(k->o->ctx))
			return dt_fail(e, "stopped");
		if (dt_window_each(k->o->windows, from, to, true, on_bar, k, e) < 0)
			return -1;
		if (k->any)
			return 1;
		if (k->forward ? at + 1 >= p->regions : !at)
			return 0;
	}
}

int dt_outline_find(struct dt_outline *o, struct dt_outline_found *f, bool forward,
		    const bool *wanted, uint32_t functions, struct dt_error *e)
{
	struct looking k = {.o = o, .wanted = wanted, .functions = functions, .forward = forward};
	const struct dt_pyramid *p = o->pyramid;
	int rc = 0;

	k.from = *f;
	while (p->regions && k.from.track < p->tracks && !rc) {
		if (p->track[k.from.track].kind == DT_TRACK_THREAD)
			rc = look_through(&k, e);
		if (forward)
			k.from = (struct dt_outline_found){.track = k.from.track + 1};
		else if (k.from.track)
			k.from = (struct dt_outline_found){k.from.track - 1, {.begin = UINT64_MAX}};
		else
			break;
	}
	if (rc == 1)
		*f = k.best;
	return rc;
}
