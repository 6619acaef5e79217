/* SPDX-License-Identifier: MIT */
/* Building the pyramid. */
#include <stdlib.h>
#include <string.h>

#include "analyse/meanings.h"
#include "analyse/pyramid-work.h"
#include "core/search.h"

/* records of a region: what is finer than its finest level is drawn from them */
#define REGION	(1u << 16)
#define PICTURE 512 /* the fewest cells that a region has at its finest level */
#define TURN	16  /* most regions that are taken by one call while a trace is followed */

int dt_building_fail(struct dt_building *b, const char *why)
{
	if (!b->failed)
		dt_fail(&b->error, "%s", why);
	b->failed = true;
	return -1;
}

/* ---- tracks ---- */

static uint32_t hash(uint8_t kind, uint32_t id)
{
	return (uint32_t)(((uint64_t)id << 8 | kind) * 0x9e3779b97f4a7c15u >> 32);
}

static uint32_t *find_slot(const struct dt_pyramid *p, enum dt_track_kind kind, uint32_t id)
{
	for (uint32_t at = hash((uint8_t)kind, id);; at++) {
		uint32_t *slot = &p->slot[at & (p->slots - 1)];

		if (!*slot || (p->track[*slot - 1].id == id && p->track[*slot - 1].kind == kind))
			return slot;
	}
}

struct dt_track *dt_pyramid_track(const struct dt_pyramid *p, enum dt_track_kind kind, uint32_t id)
{
	uint32_t slot = p->slots ? *find_slot(p, kind, id) : 0;

	return slot ? &p->track[slot - 1] : NULL;
}

int dt_pyramid_more_slots(struct dt_pyramid *p)
{
	uint32_t n = p->slots ? p->slots : 256, *slot;

	if (p->slots && 2 * (p->tracks + 1) < p->slots)
		return 0;
	while (2 * (p->tracks + 1) >= n)
		n *= 2;
	slot = calloc(n, sizeof(*slot));
	if (!slot)
		return -1;
	free(p->slot);
	p->slot = slot;
	p->slots = n;
	for (uint32_t i = 0; i < p->tracks; i++)
		*find_slot(p, p->track[i].kind, p->track[i].id) = i + 1;
	return 0;
}

static int new_track(struct dt_building *b, enum dt_track_kind kind, uint32_t id)
{
	struct dt_pyramid *p = b->p;
	const struct dt_thread_info *info;
	struct dt_track *track = realloc(p->track, (p->tracks + 1) * sizeof(*track));

	if (track)
		p->track = track;
	if (p->tracks == b->lines_room) {
		uint32_t room = b->lines_room ? 2 * b->lines_room : 64;
		struct lines *lines = realloc(b->lines, room * sizeof(*lines));

		if (!lines)
			return -1;
		b->lines = lines;
		b->lines_room = room;
	}
	if (!track || dt_pyramid_more_slots(p) < 0)
		return -1;
	b->lines[p->tracks] = (struct lines){0};
	p->track[p->tracks] = (struct dt_track){.kind = (uint8_t)kind, .id = id};
	info = kind == DT_TRACK_THREAD ? dt_reader_thread(p->reader, id) : NULL;
	if (info)
		p->track[p->tracks].pid = info->pid;
	*find_slot(p, kind, id) = p->tracks + 1;
	p->tracks++;
	return 0;
}

/* Returns the index of a track, which is made if it is new. UINT32_MAX: out of memory. */
static uint32_t track_of(struct dt_building *b, enum dt_track_kind kind, uint32_t id)
{
	const struct dt_track *t = &b->p->track[b->last_track];

	if (b->p->tracks && t->id == id && t->kind == kind)
		return b->last_track;
	t = dt_pyramid_track(b->p, kind, id);
	if (t)
		return b->last_track = (uint32_t)(t - b->p->track);
	if (new_track(b, kind, id) < 0) {
		dt_building_fail(b, "out of memory for the time line");
		return UINT32_MAX;
	}
	return b->last_track = b->p->tracks - 1;
}

/* ---- what the feed passes on ---- */

static void on_bar(void *ctx, enum dt_track_kind kind, uint32_t id, const struct dt_bar *x)
{
	struct dt_building *b = ctx;
	uint32_t track = b->failed ? UINT32_MAX : track_of(b, kind, id);

	if (track == UINT32_MAX)
		return;
	if (!b->late)
		dt_building_bar(b, track, x);
	else
		dt_building_late(b, track, x);
}

static void on_call(void *ctx, const struct dt_call *c)
{
	struct dt_building *b = ctx;

	if (b->late) {
		dt_building_late_call(b, c);
		return;
	}
	dt_stats_call(&b->stats, c);
	if (c->note)
		dt_way_sums_call(&b->ways, c->note[1], c);
}

/* ---- regions ---- */

/* Returns the finest level for a region of that length. */
static uint8_t level_for(uint64_t ticks)
{
	int level = dt_pyramid_level(ticks / PICTURE);

	return (uint8_t)(level < 0 ? 0 : level);
}

static int save_stats(struct dt_building *b, struct dt_region *r)
{
	b->scratch.n = 0;
	if (dt_stats_save(&b->stats, &b->scratch) < 0)
		return dt_building_fail(b, "out of memory for the time line");
	if (dt_bars_keep(b->p->bars, b->scratch.p, b->scratch.n, &r->stats, &b->error) < 0)
		return b->failed = true, -1;
	dt_stats_reset(&b->stats);
	b->scratch.n = 0;
	if (dt_way_sums_save(&b->ways, &b->scratch) < 0)
		return dt_building_fail(b, "out of memory for the time line");
	if (dt_bars_keep(b->p->bars, b->scratch.p, b->scratch.n, &r->ways, &b->error) < 0)
		return b->failed = true, -1;
	dt_way_sums_reset(&b->ways);
	return 0;
}

static int begin_region(struct dt_building *b, uint64_t begin, uint64_t end)
{
	struct dt_pyramid *p = b->p;
	struct dt_region *more, *r;

	if (p->tail) { /* the tail has been drawn already, and has its snapshot */
		r = &p->region[p->regions - 1];
		r->end = end;
		r->records = 0;
		b->level = r->level = level_for(end - begin);
		p->tail = false;
		return 0;
	}
	more = realloc(p->region, (p->regions + 1) * sizeof(*more));
	if (!more)
		return dt_building_fail(b, "out of memory for the time line");
	p->region = more;
	r = &p->region[p->regions];
	*r = (struct dt_region){.begin = begin, .end = end, .level = level_for(end - begin)};
	if (p->regions) {
		b->scratch.n = 0;
		if (dt_feed_save(b->feed, &b->scratch) < 0)
			return dt_building_fail(b, "out of memory for the time line");
		if (dt_bars_keep(p->bars, b->scratch.p, b->scratch.n, &r->snapshot, &b->error) < 0)
			return b->failed = true, -1;
		if (dt_building_close_cells(b, begin) < 0)
			return -1;
	}
	b->level = r->level;
	p->regions++;
	return 0;
}

static int take(struct dt_building *b, const struct dt_span *s)
{
	struct dt_pyramid *p = b->p;

	if (dt_feed_span(b->feed, s))
		return dt_building_fail(b, "out of memory for the time line");
	if (!s->n)
		return b->failed ? -1 : 0;
	if (!p->records || s->ticks[0] < p->begin)
		p->begin = s->ticks[0];
	if (s->ticks[s->n - 1] > p->end)
		p->end = s->ticks[s->n - 1];
	p->records += s->n;
	p->region[p->regions - 1].records += s->n;
	return b->failed ? -1 : 0;
}

/* Takes all of the next region. */
static int take_region(struct dt_building *b, struct dt_error *e)
{
	struct dt_pyramid *p = b->p;
	size_t at = p->regions - p->tail;
	uint64_t begin = b->bound[at], end = b->bound[at + 1];
	struct dt_reader_range range = {.order = p->live ? DT_BY_TIME : dt_feed_order(p->reader),
					.values = b->values,
					.from = begin,
					.to = end - 1};
	struct dt_span s;
	int rc;

	if (begin_region(b, begin, end) < 0 || dt_reader_start(p->reader, &range, &b->error) < 0)
		return b->failed = true, -1;
	while ((rc = dt_reader_next(p->reader, &s, &b->error)) > 0)
		if (take(b, &s) < 0)
			return -1;
	return rc < 0 ? b->failed = true, -1 : save_stats(b, &p->region[p->regions - 1]);
}

/* ---- where regions are ---- */

/* From this tick on, the cores' chunks together have so many records per tick more, or less. */
struct change {
	uint64_t ticks;
	double rate;
};

struct changes {
	struct change *change;
	size_t n, room;
	uint64_t from; /* regions before this tick are planned already */
	uint64_t end;
	bool failed;
};

static int add_chunk(void *ctx, unsigned core, uint64_t records, uint64_t min, uint64_t max)
{
	struct changes *c = ctx;
	double rate = (double)records / (double)(max - min + 1);

	if (max < min || max + 1 == 0)
		return 1; /* the chunk's row is damaged */
	if (max < c->from)
		return 0;
	if (min < c->from)
		min = c->from;
	if (c->n + 2 > c->room) {
		size_t room = c->room ? 2 * c->room : 256;
		struct change *more = realloc(c->change, room * sizeof(*more));

		if (!more)
			return c->failed = true;
		c->change = more;
		c->room = room;
	}
	c->change[c->n++] = (struct change){min, rate};
	c->change[c->n++] = (struct change){max + 1, -rate};
	if (max >= c->end)
		c->end = max + 1;
	return 0;
}

static int by_ticks(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static int add_bound(struct dt_building *b, uint64_t ticks)
{
	uint64_t *more;

	if (b->bounds && b->bound[b->bounds - 1] >= ticks)
		return 0;
	more = b->bounds & (b->bounds + 1) ? b->bound
					   : realloc(b->bound, 2 * (b->bounds + 1) * sizeof(*more));
	if (!more)
		return -1;
	b->bound = more;
	b->bound[b->bounds++] = ticks;
	return 0;
}

/* Plans regions of about REGION records, as if the records of a chunk were evenly spaced. Existing
 * bounds stay. */
static int plan_regions(struct dt_building *b, struct dt_error *e)
{
	struct changes c = {.from = b->bounds ? b->bound[b->bounds - 1] : 0};
	double rate = 0, have = 0;
	int rc = dt_reader_chunks(b->p->reader, add_chunk, &c);

	if (rc != 0) {
		free(c.change);
		return c.failed ? dt_fail(e, "out of memory")
				: dt_fail(e, "the trace is damaged: a chunk's times");
	}
	if (c.n)
		qsort(c.change, c.n, sizeof(*c.change), by_ticks);
	for (size_t i = 0; i < c.n && rc == 0; i++) {
		uint64_t at = c.change[i].ticks;

		/* in a trace that is being recorded, earlier records may still come */
		if (!b->bounds)
			rc = add_bound(b, at > b->p->guard ? at - b->p->guard : 0);
		rate += c.change[i].rate;
		if (i + 1 == c.n)
			break;
		/* the rate is constant up to the next change */
		while (rc == 0 && rate > 0 &&
		       have + rate * (double)(c.change[i + 1].ticks - at) >= REGION) {
			at += (uint64_t)((REGION - have) / rate) + 1;
			have = 0;
			rc = add_bound(b, at < c.change[i + 1].ticks ? at : c.change[i + 1].ticks);
			if (at >= c.change[i + 1].ticks)
				at = c.change[i + 1].ticks;
		}
		have += rate * (double)(c.change[i + 1].ticks - at);
	}
	/* the rest of the last region, if there is any */
	if (rc == 0 && c.n)
		rc = add_bound(b, c.end);
	free(c.change);
	return rc < 0 ? dt_fail(e, "out of memory") : 0;
}

/* ---- building ---- */

static int begin_building(struct dt_pyramid *p, struct dt_error *e)
{
	struct dt_building *b = calloc(1, sizeof(*b));
	struct dt_feed_to to = {.bar = on_bar, .call = on_call, .ctx = b, .ways = &p->ways};
	struct dt_summary s;

	if (!b || dt_ways_begin(&p->ways) < 0) {
		free(b);
		return dt_fail(e, "out of memory");
	}
	p->building = b;
	b->p = p;
	if (dt_reader_summary(p->reader, &s, e) < 0)
		return -1;
	p->total = s.records;
	if (p->filter) {
		b->filter = dt_meanings_filter(p->filter, p->reader, e);
		if (!b->filter)
			return -1;
	}
	b->values =
		dt_feed_needs_values(p->reader) || (b->filter && dt_filter_needs_values(b->filter));
	p->bars = dt_bars_new(e);
	if (!p->bars)
		return -1;
	b->feed = dt_feed_new(p->reader, &to, b->values, b->filter);
	if (!b->feed)
		return dt_fail(e, "out of memory");
	return plan_regions(b, e);
}

static void free_building(struct dt_building *b)
{
	if (!b)
		return;
	dt_building_free_cells(b);
	dt_feed_free(b->feed);
	dt_filter_free(b->filter);
	dt_stats_free(&b->stats);
	dt_way_sums_free(&b->ways);
	free(b->bound);
	free(b->scratch.p);
	free(b);
}

static int finish(struct dt_building *b, struct dt_error *e)
{
	struct dt_pyramid *p = b->p;
	struct dt_summary s;

	/* in a dump that is out of order, the last record of a span need not be its latest */
	if (dt_reader_summary(p->reader, &s, NULL) == 0 && s.records) {
		p->begin = s.min_ticks;
		p->end = s.max_ticks;
	}
	p->ended = true;
	b->late = true;
	dt_feed_finish(b->feed);
	if (b->failed || dt_building_close_cells(b, UINT64_MAX) < 0) {
		if (e)
			*e = b->error;
		return -1;
	}
	p->complete = true;
	free_building(b);
	p->building = NULL;
	return 0;
}

int dt_pyramid_build(struct dt_pyramid *p, uint64_t n, struct dt_error *e)
{
	uint64_t until = p->records + n;

	if (p->complete)
		return 0;
	if (!p->building && begin_building(p, e) < 0)
		return -1;
	while (p->regions + 1 < p->building->bounds) {
		if (take_region(p->building, e) < 0) {
			if (e)
				*e = p->building->error;
			return -1;
		}
		if (p->records >= until && p->regions + 1 < p->building->bounds)
			return 1;
	}
	if (!p->anyway && dt_pair_sound(p->reader, p->records, p->total,
					dt_feed_impossible(p->building->feed), e))
		return -1;
	return finish(p->building, e);
}

void dt_pyramid_open_calls(const struct dt_pyramid *p, uint32_t tid,
			   bool (*fn)(void *ctx, const struct dt_call *c), void *ctx)
{
	if (p->building && p->regions && !p->filter)
		dt_feed_open_calls(p->building->feed, tid, fn, ctx);
}

/* ---- a trace that is being recorded ---- */

int dt_pyramid_meet(struct dt_pyramid *p, enum dt_track_kind kind, uint32_t id,
		    const struct dt_bar *x)
{
	struct dt_track *t = dt_pyramid_track(p, kind, id);

	if (!t) {
		/* the records of the tail are read with another reader, which may know more threads
		 * than ours */
		if (kind == DT_TRACK_THREAD && !dt_reader_thread(p->reader, id))
			dt_reader_refresh(p->reader, NULL);
		if (!p->building || new_track(p->building, kind, id) < 0)
			return -1;
		t = &p->track[p->tracks - 1];
		t->begin = x->begin;
	}
	if (x->depth >= t->depths)
		t->depths = x->depth + 1;
	if (x->begin < t->begin)
		t->begin = x->begin;
	if (x->end > t->end)
		t->end = x->end;
	return 0;
}

/* Makes the tail: what comes after the regions that are complete. */
static int set_tail(struct dt_building *b, uint64_t end, uint64_t records)
{
	struct dt_pyramid *p = b->p;
	uint64_t begin = b->bound[p->regions - p->tail];
	struct dt_region *r;

	/* a cell that goes on into the tail must show what has ended before: so it will come in two
	 * parts */
	if (!p->tail &&
	    (begin_region(b, begin, end) < 0 || dt_building_close_cells(b, UINT64_MAX) < 0))
		return -1;
	p->tail = true;
	r = &p->region[p->regions - 1];
	r->end = end > begin ? end : begin + 1;
	r->level = DT_LATE_LEVEL;
	r->records = records;
	if (end - 1 > p->end)
		p->end = end - 1;
	return 0;
}

/* Plans regions again: up to the tail's beginning as before, and anew from there. */
static int plan_again(struct dt_building *b, struct dt_error *e)
{
	size_t kept = b->p->regions - b->p->tail + 1;

	if (b->bounds > kept)
		b->bounds = kept;
	return plan_regions(b, e);
}

/* Returns whether nothing of the next region is missing. The last bound is only where the trace
 * ends so far. */
static bool is_all_there(const struct dt_building *b, uint64_t guard, bool ended, uint64_t now)
{
	size_t next = b->p->regions - b->p->tail + 1;

	return next < b->bounds &&
	       (ended || (next + 1 < b->bounds && b->bound[next] + guard <= now));
}

int dt_pyramid_follow(struct dt_pyramid *p, uint64_t guard, bool ended, struct dt_error *e)
{
	struct dt_building *b;
	struct dt_summary s;

	if (p->complete)
		return 0;
	p->live = true;
	p->guard = guard;
	if (!p->building && begin_building(p, e) < 0)
		return -1;
	b = p->building;
	if (dt_reader_summary(p->reader, &s, e) < 0 || plan_again(b, e) < 0)
		return -1;
	p->total = s.records;
	p->begin = s.min_ticks;
	for (unsigned taken = 0; is_all_there(b, guard, ended, s.max_ticks); taken++) {
		if (taken == TURN)
			return 2;
		if (take_region(b, e) < 0) {
			if (e)
				*e = b->error;
			return -1;
		}
	}
	if (ended)
		return p->records == s.records ? finish(b, e) : 1;
	if (b->bounds > 1 && set_tail(b, b->bound[b->bounds - 1], s.records - p->records) < 0) {
		if (e)
			*e = b->error;
		return -1;
	}
	return 0;
}

size_t dt_pyramid_region(const struct dt_pyramid *p, uint64_t ticks)
{
	size_t low = dt_count_before(p->regions, i, p->region[i].begin <= ticks);

	return low ? low - 1 : 0;
}

struct dt_pyramid *dt_pyramid_open(struct dt_reader *r, const char *path, struct dt_error *e)
{
	struct dt_pyramid *p = calloc(1, sizeof(*p));
	struct dt_bytes head = {0};

	if (!p) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	p->reader = r;
	/* a pyramid that is damaged, or of another state of the trace, is made again */
	p->bars = dt_bars_open(path, &head, NULL);
	if (p->bars) {
		p->complete = dt_pyramid_read_head(p, &head) == 0;
		if (!p->complete) {
			dt_bars_free(p->bars);
			free(p->track);
			free(p->region);
			free(p->late);
			free(p->slot);
			dt_ways_free(&p->ways);
			*p = (struct dt_pyramid){.reader = r};
		}
	}
	free(head.p);
	return p;
}

struct dt_pyramid *dt_pyramid_filtered(struct dt_reader *r, const char *filter, struct dt_error *e)
{
	struct dt_filter *f = dt_meanings_filter(filter, r, e);
	struct dt_pyramid *p;

	if (!f)
		return NULL;
	dt_filter_free(f);
	p = calloc(1, sizeof(*p));
	if (p && (p->filter = strdup(filter))) {
		p->reader = r;
		return p;
	}
	free(p);
	dt_fail(e, "out of memory");
	return NULL;
}

void dt_pyramid_close(struct dt_pyramid *p)
{
	if (!p)
		return;
	free_building(p->building);
	dt_bars_free(p->bars);
	free(p->track);
	free(p->region);
	free(p->late);
	free(p->slot);
	dt_ways_free(&p->ways);
	free(p->filter);
	free(p);
}
