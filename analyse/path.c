/* SPDX-License-Identifier: MIT */
/*
 * The walk: backwards in time, with the threads that wait for the one that is looked at on a stack.
 * Each has the time at which it began to wait, at which the path returns to it.
 */
#include "analyse/path.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/path-work.h"
#include "core/search.h"

#define ROLL_NS 20000000.0 /* so much is read before and after, at least */
#define JUMPS	32	   /* from thread to thread at one moment */

struct frame {
	const struct dt_path_thread *thread; /* that waits */
	uint64_t since;
};

struct walk {
	struct dt_path_window *w;
	struct dt_path *path;
	const struct dt_path_thread *t; /* that is looked at */
	uint64_t x;			/* what is before it has not been looked at yet */
	uint64_t floor;			/* up to here only */
	struct frame *frame;
	size_t frames, room;
	unsigned jumps; /* since the last piece */
	enum dt_path_link link;
	bool no_memory;
};

/* ---- pieces ---- */

static void put(struct walk *k, enum dt_path_kind kind, uint64_t begin, uint64_t end,
		const struct dt_path_wait *wait)
{
	struct dt_path *p = k->path;
	struct dt_path_piece *piece;

	if (end <= begin)
		return;
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 64;
		struct dt_path_piece *more = realloc(p->piece, room * sizeof(*more));

		k->no_memory |= !more;
		if (!more)
			return;
		p->piece = more;
		p->room = room;
	}
	piece = &p->piece[p->n++];
	*piece = (struct dt_path_piece){.begin = begin,
					.end = end,
					.tid = k->t->tid,
					.kind = kind,
					.link = k->link,
					.level = (uint32_t)k->frames};
	/* it was waited for since before the path's beginning */
	if (!k->frames && k->t->tid != p->tid)
		piece->level = 1;
	if (wait) {
		piece->open = wait->open && begin <= k->floor;
		piece->waker = wait->waker;
		piece->what =
			dt_waited_between(&k->w->texts->waited, k->t->tid, wait->begin, wait->end);
	}
	k->link = DT_PATH_SAME;
	k->jumps = 0;
}

/* Adds a piece without the times in which switches are missing. */
static void add_seen(struct walk *k, enum dt_path_kind kind, uint64_t begin, uint64_t end,
		     const struct dt_path_wait *wait)
{
	const struct dt_lost_switches *l = &k->w->lost;
	size_t i = dt_count_before(l->n, j, l->time[j].begin < end);

	if (kind != DT_PATH_RAN || !dt_lost_switches_any(l)) {
		put(k, kind, begin, end, wait);
		return;
	}
	if (l->rest && l->rest < end) {
		uint64_t from = l->rest > begin ? l->rest : begin;

		put(k, DT_PATH_UNKNOWN, from, end, NULL);
		end = from;
	}
	for (; i-- && end > begin;) {
		uint64_t from = l->time[i].begin, to = l->time[i].end;

		if (to <= begin)
			break;
		to = to < end ? to : end;
		from = from > begin ? from : begin;
		put(k, kind, to, end, wait);
		put(k, DT_PATH_UNKNOWN, from, to, NULL);
		end = from;
	}
	put(k, kind, begin, end, wait);
}

/* Adds a piece up to where the walk is, and goes to its beginning. What the tracer held the thread
 * is a piece of its own. */
static void add(struct walk *k, enum dt_path_kind kind, uint64_t begin,
		const struct dt_path_wait *wait)
{
	size_t n;
	const struct dt_times *held = dt_reader_thread_holds(k->w->reader, k->t->tid, &n);
	size_t i = dt_count_before(n, j, held[j].begin < k->x);
	uint64_t end = k->x;

	if (begin >= end)
		return;
	while (i-- && held[i].end > begin && end > begin) {
		uint64_t to = held[i].end < end ? held[i].end : end;
		uint64_t from = held[i].begin > begin ? held[i].begin : begin;

		add_seen(k, kind, to, end, wait);
		put(k, DT_PATH_HELD, from, to, NULL);
		end = from;
	}
	add_seen(k, kind, begin, end, wait);
	k->x = begin;
}

/* ---- steps ---- */

/* Goes on in another thread. The one that waits gets the path back at `since', if that is after
 * where it goes back to in any case. */
static void jump(struct walk *k, const struct dt_path_other *to, uint64_t since)
{
	if (since > k->floor) {
		if (k->frames == k->room) {
			size_t room = k->room ? 2 * k->room : 16;
			struct frame *more = realloc(k->frame, room * sizeof(*more));

			k->no_memory |= !more;
			if (!more)
				return;
			k->frame = more;
			k->room = room;
		}
		k->frame[k->frames++] = (struct frame){k->t, k->floor};
		k->floor = since;
	}
	k->t = dt_path_thread(k->w, to->tid);
	k->link = to->link;
	k->jumps++;
}

/* Returns to the thread that began to wait here. */
static void come_back(struct walk *k)
{
	const struct frame *f = &k->frame[--k->frames];

	k->t = f->thread;
	k->floor = f->since;
	k->link = DT_PATH_RETURNS;
}

static void step_wait(struct walk *k, const struct dt_path_wait *wait)
{
	uint64_t begin = wait->begin > k->floor ? wait->begin : k->floor;
	struct dt_path_other to;
	bool known;

	if (wait->preempted) {
		add(k, DT_PATH_PROCESSOR, begin, NULL);
		return;
	}
	if (wait->open && k->jumps < JUMPS && dt_path_maker(k->w, k->t, k->x, &to)) {
		add(k, DT_PATH_PROCESSOR, to.at > k->floor ? to.at : k->floor, NULL);
		if (k->x > k->floor)
			jump(k, &to, 0);
		return;
	}
	known = dt_path_who(k->w, k->t, wait, k->x, &to);
	add(k, DT_PATH_PROCESSOR, to.ready > begin ? to.ready : begin, NULL);
	if (known && k->jumps < JUMPS && k->x > begin) {
		add(k, DT_PATH_UNDERWAY, to.at > begin ? to.at : begin, wait);
		if (k->x > begin)
			jump(k, &to, wait->begin);
		return;
	}
	add(k, DT_PATH_WAITED, begin, wait);
}

/* Before the thread's first record. */
static void step_unseen(struct walk *k)
{
	struct dt_path_other to;

	if (k->jumps < JUMPS && dt_path_maker(k->w, k->t, k->x, &to)) {
		add(k, DT_PATH_PROCESSOR, to.at > k->floor ? to.at : k->floor, NULL);
		if (k->x > k->floor)
			jump(k, &to, 0);
		return;
	}
	add(k, k->t->first && !k->t->came ? DT_PATH_RAN : DT_PATH_UNKNOWN, k->floor, NULL);
}

static void step(struct walk *k)
{
	const struct dt_path_wait *wait = dt_path_wait_at(k->w, k->t, k->x);
	uint64_t back;

	if (wait) {
		step_wait(k, wait);
	} else if (k->x <= k->t->first || !k->t->first) {
		step_unseen(k);
	} else {
		back = dt_path_back(k->w, k->t, k->x);
		back = back > k->t->first ? back : k->t->first;
		add(k, DT_PATH_RAN, back > k->floor ? back : k->floor, NULL);
	}
}

static int walk(struct dt_path_window *w, struct dt_path *path, struct dt_error *e)
{
	const struct dt_path_thread nothing = {.tid = path->tid};
	struct walk k = {.w = w, .path = path, .x = path->to, .floor = path->from};

	k.t = dt_path_thread(w, path->tid);
	if (!k.t)
		k.t = &nothing;
	while (k.x > path->from && !k.no_memory) {
		if (k.x <= k.floor)
			come_back(&k);
		else
			step(&k);
	}
	free(k.frame);
	if (k.no_memory)
		return dt_fail(e, "out of memory");
	for (size_t i = 0; i < path->n / 2; i++) {
		struct dt_path_piece x = path->piece[i];

		path->piece[i] = path->piece[path->n - 1 - i];
		path->piece[path->n - 1 - i] = x;
	}
	return 0;
}

/* ---- the whole ---- */

int dt_paths_find(struct dt_paths *p, struct dt_error *e)
{
	struct dt_path_window w = {.reader = p->reader, .from = UINT64_MAX};
	uint64_t roll;
	int rc;

	if (!p->texts && !(p->texts = calloc(1, sizeof(*p->texts))))
		return dt_fail(e, "out of memory");
	w.texts = p->texts;
	for (size_t i = 0; i < p->n; i++) {
		w.from = p->path[i].from < w.from ? p->path[i].from : w.from;
		w.to = p->path[i].to > w.to ? p->path[i].to : w.to;
	}
	if (w.from > w.to)
		return 0;
	roll = (uint64_t)(ROLL_NS / dt_reader_ns_per_tick(p->reader)) + 1;
	roll = w.to - w.from > roll ? w.to - w.from : roll;
	w.from = w.from > roll ? w.from - roll : 1;
	w.to = w.to < UINT64_MAX - roll ? w.to + roll : UINT64_MAX;
	rc = dt_path_window_read(&w, p->edge, p->edges, e);
	for (size_t i = 0; i < p->n && !rc; i++)
		rc = walk(&w, &p->path[i], e);
	dt_path_window_free(&w);
	return rc ? rc : dt_path_functions(p, w.from, w.to, e);
}

void dt_paths_free(struct dt_paths *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->path[i].piece);
		p->path[i].piece = NULL;
		p->path[i].n = p->path[i].room = 0;
	}
	free(p->part);
	p->part = NULL;
	p->parts = 0;
	if (p->texts) {
		dt_waited_free(&p->texts->waited);
		dt_wakers_free(&p->texts->wakers);
	}
	free(p->texts);
	p->texts = NULL;
}

const char *dt_paths_what(struct dt_paths *p, uint32_t number)
{
	const struct dt_waited *w = p->texts ? &p->texts->waited : NULL;

	return w && number && number <= w->n ? w->row[number - 1].text : "";
}

const struct dt_waker *dt_paths_waker(struct dt_paths *p, uint32_t number)
{
	return p->texts && number ? dt_wakers_row(&p->texts->wakers, p->reader, number) : NULL;
}

uint32_t dt_path_last_thread(struct dt_reader *r, uint64_t from, uint64_t to, uint64_t *ticks,
			     struct dt_error *e)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD, .from = from, .to = to};
	uint32_t found = DT_NO_TID;
	struct dt_span s;
	int rc = dt_reader_start(r, &range, e);

	*ticks = 0;
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		for (uint32_t i = s.tid == DT_NO_TID ? 0 : s.n; i--;) {
			if (dt_kind_is_about(dt_reader_site(r, s.site[i])->kind))
				continue;
			if (s.ticks[i] > *ticks) {
				*ticks = s.ticks[i];
				found = s.tid;
			}
			break;
		}
	}
	return rc < 0 ? 0 : found;
}
