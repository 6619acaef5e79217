/* SPDX-License-Identifier: MIT */
/* The cells of a pyramid: bars that are too short to be kept by themselves are summed up, level by
 * level. */
#include <stdlib.h>
#include <string.h>

#include "analyse/pyramid-work.h"

#define TOPS 32 /* functions that are counted separately in one cell */

struct top {
	uint32_t what;
	uint64_t busy, count;
};

/* The sum of what ends in one cell of one level; count 0: nothing. */
struct cell {
	uint64_t index; /* which cell: ticks >> 2 * level */
	struct dt_bar sum;
	uint32_t n, room;
	struct top *top;
};

/* ---- cells ---- */

static void add_top(struct cell *c, const struct top *t)
{
	uint32_t least = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		if (c->top[i].what == t->what) {
			c->top[i].busy += t->busy;
			c->top[i].count += t->count;
			return;
		}
		if (c->top[i].busy < c->top[least].busy)
			least = i;
	}
	if (c->n == c->room && c->room < TOPS) {
		uint32_t room = c->room ? 2 * c->room : 4;
		struct top *more = realloc(c->top, room * sizeof(*more));

		if (more) {
			c->top = more;
			c->room = room;
		}
	}
	if (c->n < c->room)
		c->top[c->n++] = *t;
	else if (c->n && t->busy > c->top[least].busy)
		c->top[least] = *t;
}

void dt_bar_join(struct dt_bar *to, const struct dt_bar *x)
{
	if (!to->count) {
		*to = *x;
		return;
	}
	to->begin = x->begin < to->begin ? x->begin : to->begin;
	to->end = x->end > to->end ? x->end : to->end;
	to->low = x->low < to->low ? x->low : to->low;
	to->high = x->high > to->high ? x->high : to->high;
	to->count += x->count;
	to->busy += x->busy;
	to->flags |= x->flags;
}

/* Chooses the function that took most; among equals the one that was called most often, then the
 * lowest row. */
static void choose_top(struct cell *c)
{
	const struct top *best = NULL;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct top *t = &c->top[i];

		if (!best || t->busy > best->busy ||
		    (t->busy == best->busy &&
		     (t->count > best->count || (t->count == best->count && t->what < best->what))))
			best = t;
	}
	if (best) {
		c->sum.what = best->what;
		c->sum.most = best->busy;
	}
}

static int into(struct dt_building *b, uint32_t track, struct line *l, unsigned level,
		uint64_t index, const struct dt_bar *x, const struct top *top, uint32_t n);

/* Puts what a cell has into its lane, and adds it to the cell above. */
static int close_cell(struct dt_building *b, uint32_t track, struct line *l, unsigned level)
{
	struct cell *c = l->cell[level];
	int rc = 0;

	choose_top(c);
	if (level <= dt_pyramid_highest(b->p) &&
	    dt_bars_put(b->p->bars, (struct dt_lane){track, (uint8_t)level, false}, &c->sum,
			&b->error) < 0)
		return b->failed = true, -1;
	l->used &= ~(1u << level);
	if (level + 1 < DT_LEVELS)
		rc = into(b, track, l, level + 1, c->index >> 2, &c->sum, c->top, c->n);
	c->sum.count = 0;
	c->n = 0;
	return rc;
}

static int into(struct dt_building *b, uint32_t track, struct line *l, unsigned level,
		uint64_t index, const struct dt_bar *x, const struct top *top, uint32_t n)
{
	struct cell *c = l->cell[level];

	if (!c && !(c = l->cell[level] = calloc(1, sizeof(*c))))
		return dt_building_fail(b, "out of memory for the time line");
	if ((l->used & 1u << level) && c->index != index && close_cell(b, track, l, level) < 0)
		return -1;
	l->used |= 1u << level;
	c->index = index;
	dt_bar_join(&c->sum, x);
	for (uint32_t i = 0; i < n; i++)
		add_top(c, &top[i]);
	return 0;
}

/*
 * Closes the cells that end before `end': they are complete. If one is not, neither are those above
 * that it lies in. So a cell is opened only after all older ones below it have been closed.
 */
static int close_older(struct dt_building *b, uint32_t track, struct line *l, uint64_t end)
{
	uint32_t left = l->used;

	while (left) {
		unsigned level = (unsigned)__builtin_ctz(left);

		if (l->cell[level]->index == end >> 2 * level)
			return 0;
		if (close_cell(b, track, l, level) < 0)
			return -1;
		left = l->used & ~((2u << level) - 1);
	}
	return 0;
}

static int close_all(struct dt_building *b, uint32_t track, struct line *l)
{
	while (l->used)
		if (close_cell(b, track, l, (unsigned)__builtin_ctz(l->used)) < 0)
			return -1;
	return 0;
}

static void free_cells(struct line *l)
{
	for (unsigned i = 0; i < DT_LEVELS; i++)
		if (l->cell[i] && !(l->used & 1u << i)) {
			free(l->cell[i]->top);
			free(l->cell[i]);
			l->cell[i] = NULL;
		}
}

int dt_building_close_cells(struct dt_building *b, uint64_t now)
{
	for (uint32_t t = 0; t < b->p->tracks; t++)
		for (uint32_t d = 0; d < b->lines[t].n; d++) {
			struct line *l = &b->lines[t].line[d];

			if ((now == UINT64_MAX ? close_all(b, t, l) : close_older(b, t, l, now)) <
			    0)
				return -1;
			if (!(l->used & 0xff))
				free_cells(l);
		}
	return 0;
}

void dt_building_free_cells(struct dt_building *b)
{
	for (uint32_t t = 0; t < b->p->tracks && b->lines; t++) {
		for (uint32_t d = 0; d < b->lines[t].n; d++) {
			b->lines[t].line[d].used = 0;
			free_cells(&b->lines[t].line[d]);
		}
		free(b->lines[t].line);
	}
	free(b->lines);
}

/* ---- bars ---- */

int dt_pyramid_level(uint64_t length)
{
	return length ? (63 - __builtin_clzll(length)) / 2 : -1;
}

unsigned dt_pyramid_highest(const struct dt_pyramid *p)
{
	int level = dt_pyramid_level(p->end - p->begin);

	/* how long it will be is not known before its end */
	if (p->live || !p->ended || level + 1 >= DT_LEVELS)
		return DT_LEVELS - 1;
	return (unsigned)(level + 1);
}

static void note_track(struct dt_track *t, const struct dt_bar *x)
{
	if (x->depth >= t->depths)
		t->depths = x->depth + 1;
	if (!t->count || x->begin < t->begin)
		t->begin = x->begin;
	if (x->end > t->end)
		t->end = x->end;
	t->count++;
}

/* The end of such a bar may be in any region: it is when its thread recorded for the last time. */
void dt_building_late(struct dt_building *b, uint32_t track, const struct dt_bar *x)
{
	note_track(&b->p->track[track], x);
	if (dt_bars_put(b->p->bars, (struct dt_lane){track, DT_LATE_LEVEL, true}, x, &b->error) < 0)
		b->failed = true;
}

void dt_building_late_call(struct dt_building *b, const struct dt_call *c)
{
	struct dt_pyramid *p = b->p;
	struct dt_call *more = p->lates & (p->lates + 1)
				       ? p->late
				       : realloc(p->late, 2 * (p->lates + 1) * sizeof(*more));

	if (!more) {
		dt_building_fail(b, "out of memory for the time line");
		return;
	}
	p->late = more;
	p->late[p->lates] = *c;
	p->late[p->lates].argument = p->late[p->lates].result = NULL;
	p->late[p->lates++].note = NULL;
}

int dt_building_bar(struct dt_building *b, uint32_t track, const struct dt_bar *x)
{
	struct dt_track *t = &b->p->track[track];
	struct lines *lines = &b->lines[track];
	struct top top = {x->what, x->busy, 1};
	int own = dt_pyramid_level(x->end - x->begin);
	unsigned level = b->level;
	struct line *l;

	if (x->depth >= lines->n) {
		uint32_t n = x->depth + 1 + x->depth / 2;
		struct line *more =
			x->depth < DT_DEPTHS ? realloc(lines->line, n * sizeof(*more)) : NULL;

		if (!more)
			return dt_building_fail(b, "out of memory for the time line");
		memset(more + lines->n, 0, (n - lines->n) * sizeof(*more));
		lines->line = more;
		lines->n = n;
	}
	note_track(t, x);
	l = &lines->line[x->depth];
	if (close_older(b, track, l, x->end) < 0)
		return -1;
	if (own >= (int)level) {
		if (dt_bars_put(b->p->bars, (struct dt_lane){track, (uint8_t)own, true}, x,
				&b->error) < 0)
			return b->failed = true, -1;
		level = (unsigned)own + 1;
	}
	return level < DT_LEVELS ? into(b, track, l, level, x->end >> 2 * level, x, &top, 1) : 0;
}
