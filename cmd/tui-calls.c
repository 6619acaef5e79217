/* SPDX-License-Identifier: MIT */
/* devtrace tui: the tree of calls in the order of time. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tui-work.h"
#include "filter/times.h"
#include "show/marks.h"

enum { BEGIN, TIME, NAME };

static const struct dt_tui_key keys[] = {
	{'b', "begin", BEGIN}, {'t', "time", TIME}, {'n', "name", NAME}, {0}};

struct dt_tui_shown {
	uint32_t node, level;
};

static struct dt_tui_time *time_of(struct tui *t)
{
	return t->filter[0] ? &t->chosen : &t->all;
}

/* ---- the pyramid ---- */

static void free_time(struct dt_tui_time *x)
{
	dt_outline_free(&x->outline);
	dt_windows_free(x->windows);
	dt_pyramid_close(x->pyramid);
	dt_reader_close(x->reader);
	*x = (struct dt_tui_time){0};
}

static int open_time(struct tui *t, struct dt_tui_time *x, struct dt_error *e)
{
	x->reader = dt_reader_again(t->reader, e);
	if (!x->reader)
		return -1;
	x->pyramid = t->filter[0] ? dt_pyramid_filtered(x->reader, t->filter, e)
				  : dt_pyramid_open(x->reader, t->path, e);
	x->windows = x->pyramid ? dt_windows_new(x->pyramid, t->path, e) : NULL;
	if (!x->windows)
		return -1;
	x->outline.go_on = dt_tui_go_on;
	x->outline.ctx = t;
	return 0;
}

unsigned dt_tui_built(const struct tui *t)
{
	const struct dt_pyramid *p = t->filter[0] ? t->chosen.pyramid : t->all.pyramid;

	if (!p)
		return 0;
	if (p->complete || !p->total)
		return 100;
	return p->records >= p->total ? 99
				      : (unsigned)(100 * (double)p->records / (double)p->total);
}

/* ---- rows ---- */

static uint32_t *sorted_children(const struct tui *t, const struct dt_outline *o, uint32_t node,
				 uint32_t *n);

static void add_shown(struct tui *t, uint32_t node, uint32_t level)
{
	if (t->shown_n == t->shown_room) {
		size_t room = t->shown_room ? 2 * t->shown_room : 256;
		struct dt_tui_shown *more = realloc(t->shown, room * sizeof(*more));

		if (!more) {
			dt_tui_warn(t, "out of memory: not all is shown");
			return;
		}
		t->shown = more;
		t->shown_room = room;
	}
	t->shown[t->shown_n++] = (struct dt_tui_shown){node, level};
}

/* Makes the list of rows: all nodes that are in unfolded ones. */
static void flatten(struct tui *t)
{
	const struct dt_outline *o = &time_of(t)->outline;
	uint32_t at = o->n ? o->node[0].child : 0, level = 0;

	t->shown_n = 0;
	while (at) {
		add_shown(t, at, level);
		if (o->node[at].unfolded && o->node[at].child) {
			at = o->node[at].child;
			level++;
			continue;
		}
		while (at && !o->node[at].next) {
			at = o->node[at].parent;
			level -= at != 0;
		}
		at = at ? o->node[at].next : 0;
	}
}

static void go_to(struct tui *t, uint32_t node)
{
	for (size_t i = 0; i < t->shown_n; i++)
		if (t->shown[i].node == node)
			t->place[DT_TUI_CALLS].at = i;
}

struct ordering {
	const struct tui *t;
	const struct dt_outline *o;
	int by;
	bool reversed;
};

static int compare(const void *a, const void *b, void *ctx)
{
	const struct ordering *k = ctx;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct dt_bar *x = &k->o->node[i].bar, *y = &k->o->node[j].bar;
	int c = 0;

	if (k->by == TIME && x->busy != y->busy)
		c = x->busy > y->busy ? -1 : 1;
	if (k->by == NAME && x->what != y->what)
		c = strcmp(dt_reader_function_name(k->t->reader, x->what),
			   dt_reader_function_name(k->t->reader, y->what));
	if (!c)
		c = i < j ? -1 : 1; /* they were made in the order of time */
	return k->reversed ? -c : c;
}

static uint32_t *sorted_children(const struct tui *t, const struct dt_outline *o, uint32_t node,
				 uint32_t *n)
{
	const struct dt_tui_place *p = &t->place[DT_TUI_CALLS];
	struct ordering k = {t, o, keys[p->sort].value, p->reversed};
	uint32_t *child;

	*n = 0;
	for (uint32_t c = o->node[node].child; c; c = o->node[c].next)
		++*n;
	child = malloc((*n + 1) * sizeof(*child));
	if (!child)
		return NULL;
	*n = 0;
	for (uint32_t c = o->node[node].child; c; c = o->node[c].next)
		child[(*n)++] = c;
	qsort_r(child, *n, sizeof(*child), compare, &k);
	return child;
}

/* Puts the nodes in a node into the order that the user wants. Threads stay as they are. */
static void sort_children(const struct tui *t, struct dt_outline *o, uint32_t node)
{
	uint32_t n, *child = node && o->node[node].child ? sorted_children(t, o, node, &n) : NULL;

	if (!child)
		return;
	o->node[node].child = child[0];
	for (uint32_t i = 0; i < n; i++)
		o->node[child[i]].next = i + 1 < n ? child[i + 1] : 0;
	free(child);
}

static void sort(struct tui *t)
{
	struct dt_outline *o = &time_of(t)->outline;
	struct dt_tui_place *p = &t->place[DT_TUI_CALLS];
	uint32_t at = p->at < t->shown_n ? t->shown[p->at].node : 0;

	for (uint32_t i = 1; i < o->n; i++)
		sort_children(t, o, i);
	flatten(t);
	go_to(t, at);
}

/* Loads what is in a node. False: it can not be, which the message says. */
static bool load(struct tui *t, uint32_t node)
{
	struct dt_outline *o = &time_of(t)->outline;
	bool loaded = o->node[node].loaded;
	struct dt_error e = {""};

	if (dt_outline_load(o, node, &e) < 0) {
		if (!t->stopped)
			dt_tui_warn(t, "%s", e.text);
		return false;
	}
	if (!loaded)
		sort_children(t, o, node);
	return true;
}

/* Unfolds a first part: of a trace with one thread that, and what there is only one of. */
static void unfold_first(struct tui *t)
{
	struct dt_outline *o = &time_of(t)->outline;
	uint32_t at = 0;

	dt_tui_begin(t, "reading", 0);
	while (load(t, at)) {
		uint32_t child = o->node[at].child;

		if (!child || o->node[child].next ||
		    (o->node[child].kind != DT_OUTLINE_CALL &&
		     o->node[child].kind != DT_OUTLINE_THREAD))
			break;
		o->node[child].unfolded = true;
		at = child;
	}
	dt_tui_end(t);
}

/* Begins the outline anew. */
static bool begin_outline(struct tui *t, struct dt_tui_time *x)
{
	struct dt_error e = {""};

	dt_tui_known_forget(t);
	t->shown_n = 0;
	dt_outline_free(&x->outline);
	if (dt_outline_begin(&x->outline, x->windows, x->pyramid, &e) < 0) {
		dt_tui_warn(t, "%s", e.text);
		return false;
	}
	return true;
}

static bool make(struct tui *t)
{
	struct dt_tui_time *x = time_of(t);
	struct dt_error e = {""};

	if (x->failed)
		return true;
	if (!x->windows && open_time(t, x, &e) < 0) {
		dt_tui_warn(t, "%s", e.text);
		free_time(x);
		x->failed = true;
		return true;
	}
	if (!x->outline.n && begin_outline(t, x) && x->pyramid->complete)
		unfold_first(t);
	flatten(t);
	return true;
}

static void drop(struct tui *t)
{
	if (t->chosen.pyramid && strcmp(t->chosen.pyramid->filter, t->filter))
		free_time(&t->chosen);
	t->chosen.failed = false;
	dt_outline_free(&t->chosen.outline);
	dt_outline_free(&t->all.outline);
	dt_tui_known_forget(t);
	t->shown_n = 0;
}

void dt_tui_calls_free(struct tui *t)
{
	free_time(&t->chosen);
	free_time(&t->all);
	free(t->shown);
}

/* Says why the pyramid can not be finished; one that does not add up is shown all the same. */
static bool go_on_anyway(struct tui *t, struct dt_tui_time *x, const struct dt_error *e)
{
	if (x->pyramid->anyway || x->pyramid->records < x->pyramid->total) {
		dt_tui_warn(t, "%s", e->text);
		x->failed = true;
		return false;
	}
	dt_format(t->unsound, sizeof(t->unsound), "%s", e->text);
	x->pyramid->anyway = true;
	return true;
}

/* Begins the outline anew when all is read, for there is more in all nodes now; the cursor stays at
 * its call. */
static void begin_again(struct tui *t, struct dt_tui_time *x)
{
	const struct dt_tui_place *p = &t->place[DT_TUI_CALLS];
	uint32_t at = p->at < t->shown_n ? t->shown[p->at].node : 0;
	const struct dt_outline_node was = x->outline.node[at];
	struct dt_error e;

	if (begin_outline(t, x))
		unfold_first(t);
	at = 0;
	if (was.kind == DT_OUTLINE_CALL) {
		dt_tui_begin(t, "reading", 0);
		at = dt_outline_reveal(&x->outline, was.track, was.bar.begin, was.bar.depth, &e);
		dt_tui_end(t);
	}
	flatten(t);
	if (at)
		go_to(t, at);
}

bool dt_tui_build(struct tui *t)
{
	struct dt_tui_time *x = time_of(t);
	struct dt_error e = {""};
	int rc;

	if (x->failed || !x->pyramid || x->pyramid->complete)
		return false;
	rc = dt_pyramid_build(x->pyramid, 1, &e);
	if (rc < 0)
		return go_on_anyway(t, x, &e);
	if (rc > 0) {
		if (dt_outline_load(&x->outline, 0, &e) == 0 && t->view == DT_TUI_CALLS)
			flatten(t);
		return true;
	}
	begin_again(t, x);
	return false;
}

static size_t rows(struct tui *t)
{
	return t->shown_n;
}

static void head(struct tui *t, char *text, size_t size)
{
	int by = keys[t->place[DT_TUI_CALLS].sort].value;

	dt_tui_append(text, size, "%c%10s %c%10s  %c%s", by == BEGIN ? '>' : ' ', "begin",
		      by == TIME ? '>' : ' ', "time", by == NAME ? '>' : ' ',
		      t->filter[0] ? "call, one by one (u: where it was made)" : "call");
}

static void before(struct tui *t, size_t from, size_t to)
{
	uint32_t node[512];
	size_t n = 0;

	for (size_t i = from; i < to && n < sizeof(node) / sizeof(*node); i++)
		node[n++] = t->shown[i].node;
	dt_tui_known_read(t, node, n);
}

static void put_thread(const struct tui *t, const struct dt_tui_time *x,
		       const struct dt_outline_node *n, struct dt_tui_row *to)
{
	const struct dt_track *track = &x->pyramid->track[n->track];
	const struct dt_thread_info *info = dt_reader_thread(x->reader, track->id);
	size_t size = sizeof(to->text);

	to->style = DT_STYLE_BOLD;
	if (track->id >= DT_TRACK_NOBODY(0))
		dt_tui_append(to->text, size, "core %u, in no thread", track->id & 0xffff);
	else
		dt_tui_append(to->text, size, "thread %u", dt_reader_number(x->reader, track->id));
	if (info && *info->name)
		dt_tui_append(to->text, size, " (%s)", info->name);
	if (info && info->pid && info->pid != track->id)
		dt_tui_append(to->text, size, " of process %u",
			      dt_reader_number(x->reader, info->pid));
	dt_tui_append(to->text, size, ": %llu calls", (unsigned long long)n->bar.count);
	if (!x->pyramid->complete)
		dt_tui_append(to->text, size, " that have ended, so far");
}

static void put_marks(struct dt_tui_row *to, uint32_t flags)
{
	const char *text, *separator = "  /* ";
	unsigned at = 0;

	while (dt_marks_next(&at, flags, &text)) {
		dt_tui_append(to->text, sizeof(to->text), "%s%s", separator, text);
		separator = ", ";
	}
	if (separator[0] == ',')
		dt_tui_append(to->text, sizeof(to->text), " */");
}

static void put_call(const struct tui *t, uint32_t node, const struct dt_outline_node *n,
		     struct dt_tui_row *to)
{
	const struct dt_tui_call *c = dt_tui_known_of(t, node);

	if (c && c->text[0])
		dt_tui_append(to->text, sizeof(to->text), "%s", c->text);
	else
		dt_tui_append(to->text, sizeof(to->text), "%s(...)",
			      dt_reader_function_name(t->reader, n->bar.what));
	if (c && c->paired && c->waited) {
		dt_tui_append(to->text, sizeof(to->text), "  /* waited");
		dt_tui_ticks(t, to->text, sizeof(to->text), c->waited);
		dt_tui_append(to->text, sizeof(to->text), " */");
	}
	if (n->bar.flags & DT_CALL_OPEN && dt_tui_built(t) < 100)
		dt_tui_append(to->text, sizeof(to->text), "  /* it has not ended so far */");
	else
		put_marks(to, n->bar.flags);
}

static void put_calls(const struct tui *t, const struct dt_outline_node *n, struct dt_tui_row *to)
{
	const struct dt_bar *x = &n->bar;

	dt_tui_append(to->text, sizeof(to->text), "%llu calls, mostly %s",
		      (unsigned long long)x->count, dt_reader_function_name(t->reader, x->what));
	if (x->flags & (DT_CALL_UNKNOWN | DT_CALL_OPEN))
		dt_tui_append(to->text, sizeof(to->text), "  /* some of unknown time */");
}

/* Writes a time as devtrace calls does: of a nanosecond that is not over, nothing. */
static void put_time(const struct tui *t, struct dt_tui_row *to, uint64_t ticks)
{
	uint64_t per_tick = (uint64_t)(dt_reader_ns_per_tick(t->reader) * 4294967296.0 + 0.5);
	uint64_t ns = (uint64_t)((unsigned __int128)ticks * per_tick >> 32);
	char text[32];

	dt_tui_append(to->columns, sizeof(to->columns), "%s", dt_times_text(text, (double)ns));
}

static void row(struct tui *t, size_t i, struct dt_tui_row *to)
{
	struct dt_tui_time *x = time_of(t);
	uint32_t node = t->shown[i].node;
	const struct dt_outline_node *n = &x->outline.node[node];
	const struct dt_tui_call *c = dt_tui_known_of(t, node);
	size_t size = sizeof(to->columns);
	bool more = dt_outline_has_more(&x->outline, node) && !(c && c->paired && c->leaf);

	if (n->kind == DT_OUTLINE_THREAD) {
		dt_tui_append(to->columns, size, "%25s", "");
	} else {
		put_time(t, to, n->bar.begin - t->from);
		dt_tui_append(to->columns, size, " ");
		if (n->kind == DT_OUTLINE_CALL && n->bar.flags & DT_CALL_UNTIMED)
			dt_tui_append(to->columns, size, "%11s", "-");
		else
			put_time(t, to, n->bar.busy);
		dt_tui_append(to->columns, size, "  ");
	}
	dt_tui_indent(to->text, sizeof(to->text), t->shown[i].level,
		      !more	    ? ' '
		      : n->unfolded ? '-'
				    : '+');
	if (n->kind == DT_OUTLINE_THREAD)
		put_thread(t, x, n, to);
	else if (n->kind == DT_OUTLINE_CALLS)
		put_calls(t, n, to);
	else
		put_call(t, node, n, to);
}

static uint32_t function(struct tui *t, size_t i)
{
	const struct dt_outline_node *n = &time_of(t)->outline.node[t->shown[i].node];

	return n->kind == DT_OUTLINE_THREAD ? 0 : n->bar.what;
}

/* ---- folding ---- */

/* Goes to a call in the tree of all calls, or to its caller. */
static void show_in_all(struct tui *t, const struct dt_outline_node *n, bool caller)
{
	const struct dt_outline_node call = *n;
	uint32_t id = t->chosen.pyramid->track[n->track].id, node = 0;
	const struct dt_track *track;
	struct dt_error e = {""};

	dt_tui_filter(t, "");
	make(t);
	dt_tui_begin(t, "reading all calls", t->summary.records);
	while (t->all.pyramid && !t->all.pyramid->complete && !t->all.failed) {
		uint64_t before_it = t->all.pyramid->records;

		dt_tui_build(t);
		if (!t->doing) /* the first part has been unfolded */
			dt_tui_begin(t, "reading all calls", t->summary.records);
		if (!dt_tui_step(t, t->all.pyramid->records - before_it))
			break;
	}
	track = t->all.pyramid ? dt_pyramid_track(t->all.pyramid, DT_TRACK_THREAD, id) : NULL;
	if (track && !t->stopped)
		node = dt_outline_reveal(&t->all.outline, (uint32_t)(track - t->all.pyramid->track),
					 call.bar.begin, call.bar.depth, &e);
	dt_tui_end(t);
	while (caller && node) {
		node = t->all.outline.node[node].parent;
		if (t->all.outline.node[node].kind != DT_OUTLINE_CALLS)
			break;
	}
	flatten(t);
	go_to(t, node);
	dt_tui_say(t, "%s",
		   node	       ? "all calls are shown again: the filter is off"
		   : e.text[0] ? e.text
			       : "all calls are shown again; the call was not found among them");
}

static void up(struct tui *t, size_t i)
{
	const struct dt_outline *o = &time_of(t)->outline;
	uint32_t node = t->shown[i].node;

	if (t->filter[0] && o->node[node].kind == DT_OUTLINE_CALL) {
		show_in_all(t, &o->node[node], true);
		return;
	}
	do
		node = o->node[node].parent;
	while (o->node[node].kind == DT_OUTLINE_CALLS);
	if (node)
		go_to(t, node);
	else
		dt_tui_say(t, "nothing is above a thread");
}

static bool is_below(const struct dt_outline *o, uint32_t node, uint32_t top)
{
	while (node && node != top)
		node = o->node[node].parent;
	return node == top;
}

/* Unfolds all below a node, the nodes that were made first before the others. */
static void unfold_all(struct tui *t, uint32_t top)
{
	struct dt_outline *o = &time_of(t)->outline;
	uint32_t *queue = malloc((DT_TUI_UNFOLD + 1) * sizeof(*queue)), n = 0;
	bool more = false;

	if (!queue)
		return;
	queue[n++] = top;
	dt_tui_begin(t, "unfolding", 0);
	for (uint32_t i = 0; i < n && !t->stopped; i++) {
		if (!load(t, queue[i]))
			break;
		o->node[queue[i]].unfolded = true;
		for (uint32_t c = o->node[queue[i]].child; c; c = o->node[c].next) {
			if (!dt_outline_has_more(o, c))
				continue;
			if (n <= DT_TUI_UNFOLD)
				queue[n++] = c;
			else
				more = true;
		}
	}
	dt_tui_end(t);
	if (more)
		dt_tui_say(t, "unfolded %u lines, and not what is in the others", DT_TUI_UNFOLD);
	free(queue);
}

static void fold_node(struct tui *t, uint32_t node, enum dt_tui_fold how)
{
	struct dt_outline *o = &time_of(t)->outline;
	bool open = o->node[node].unfolded;

	if (how == DT_FOLD_OPEN_ALL) {
		unfold_all(t, node);
		return;
	}
	if (how == DT_FOLD_CLOSE_ALL) {
		for (uint32_t i = 1; i < o->n; i++)
			if (o->node[i].unfolded && is_below(o, i, node))
				o->node[i].unfolded = false;
		return;
	}
	if (how == DT_FOLD_OPEN || (how == DT_FOLD_TOGGLE && !open)) {
		dt_tui_begin(t, "unfolding", 0);
		open = load(t, node);
		dt_tui_end(t);
		o->node[node].unfolded = open;
		if (open && !o->node[node].child)
			dt_tui_say(t, time_of(t)->pyramid->complete
					      ? "no calls are in it"
					      : "nothing is known of what is in it so far");
	} else {
		o->node[node].unfolded = false;
	}
}

static void fold(struct tui *t, size_t i, enum dt_tui_fold how)
{
	const struct dt_outline *o = &time_of(t)->outline;
	uint32_t node = t->shown[i].node;

	if (how == DT_FOLD_CLOSE && !o->node[node].unfolded) {
		up(t, i);
		return;
	}
	if (t->filter[0] && how != DT_FOLD_CLOSE_ALL && o->node[node].kind == DT_OUTLINE_CALL) {
		show_in_all(t, &o->node[node], false);
		return;
	}
	fold_node(t, node, how);
	flatten(t);
	go_to(t, node);
}

/* ---- searching ---- */

/* Sets wanted[] of functions by their names; returns how many there are. */
static uint32_t choose(const struct tui *t, bool *wanted, uint32_t n)
{
	uint32_t found = 0;

	for (uint32_t i = 1; i < n; i++) {
		wanted[i] = dt_tui_matches(t, dt_reader_function_name(t->reader, i));
		found += wanted[i];
	}
	return found;
}

/* Returns the place where the search begins: the row of the cursor. */
static struct dt_outline_found place_of(const struct tui *t, const struct dt_outline *o,
					bool forward)
{
	const struct dt_tui_place *p = &t->place[DT_TUI_CALLS];
	const struct dt_outline_node *n = &o->node[t->shown[p->at].node];
	struct dt_outline_found f = {n->track, n->bar};

	f.bar.count = 1;
	if (n->kind == DT_OUTLINE_THREAD) {
		f.bar = (struct dt_bar){.begin = 0, .count = !forward};
	} else if (n->kind == DT_OUTLINE_CALLS && forward && f.bar.begin) {
		f.bar.begin--;
		f.bar.depth = UINT32_MAX;
	}
	return f;
}

static void find(struct tui *t, bool forward)
{
	struct dt_outline *o = &time_of(t)->outline;
	uint32_t n = dt_reader_functions(t->reader) + 1, node = 0;
	bool *wanted = calloc(n, sizeof(*wanted)), again = false;
	struct dt_outline_found f;
	struct dt_error e = {""};
	int rc = 0;

	if (!wanted || !t->shown_n || !choose(t, wanted, n)) {
		dt_tui_say(t, "no function has '%s' in its name", t->search);
		free(wanted);
		return;
	}
	f = place_of(t, o, forward);
	dt_tui_begin(t, "searching", 0);
	rc = dt_outline_find(o, &f, forward, wanted, n, &e);
	if (!rc) {
		again = true;
		f = (struct dt_outline_found){0};
		if (!forward)
			f = (struct dt_outline_found){o->pyramid->tracks - 1,
						      {.begin = UINT64_MAX}};
		rc = dt_outline_find(o, &f, forward, wanted, n, &e);
	}
	free(wanted);
	if (rc > 0)
		node = dt_outline_reveal(o, f.track, f.bar.begin, f.bar.depth, &e);
	dt_tui_end(t);
	if (node) {
		sort(t);
		go_to(t, node);
		if (again)
			dt_tui_say(t, "searched on from the other end");
	} else if (!t->stopped) {
		dt_tui_say(t, "%s",
			   e.text[0] ? e.text
			   : rc > 0  ? "there is one, but where it is in the tree is not clear: "
				       "others are in the same tick"
				     : "no call is of such a function");
	}
}

const struct dt_tui_kind dt_tui_calls = {.name = "calls",
					 .keys = keys,
					 .make = make,
					 .drop = drop,
					 .rows = rows,
					 .head = head,
					 .before = before,
					 .row = row,
					 .function = function,
					 .fold = fold,
					 .up = up,
					 .find = find,
					 .sort = sort};
