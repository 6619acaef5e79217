/* SPDX-License-Identifier: MIT */
/* A pyramid in its trace file. */
#include <stdlib.h>

#include "analyse/pyramid-work.h"

#define VERSION 16

#define TRACKS_BARE  64
#define REGIONS_BARE 16

/* Gives numbers that tell whether a pyramid belongs to this trace in its present state. */
static int stamp(struct dt_reader *r, uint64_t v[4], struct dt_error *e)
{
	struct dt_summary s;

	if (dt_reader_summary(r, &s, e) < 0)
		return -1;
	v[0] = s.records;
	v[1] = s.chunks;
	v[2] = s.max_ticks;
	v[3] = dt_reader_functions(r);
	return 0;
}

int dt_pyramid_save(struct dt_pyramid *p, const char *path, struct dt_error *e)
{
	struct dt_bytes head = {0}, ways = {0};
	uint64_t v[4];
	int64_t tree = 0;
	int rc = -1;

	if (stamp(p->reader, v, e) < 0)
		return -1;
	if (dt_ways_save(&p->ways, &ways) < 0 ||
	    dt_bars_keep(p->bars, ways.p, ways.n, &tree, e) < 0)
		goto fail;
	if (DT_PUT(&head, VERSION, v[0], v[1], v[2], v[3], p->begin, p->end, p->records, p->tracks,
		   p->regions, p->lates, (uint64_t)tree))
		goto memory;
	for (uint32_t i = 0; i < p->tracks; i++) {
		const struct dt_track *t = &p->track[i];

		if (DT_PUT(&head, t->kind, t->id, t->pid, t->depths, t->count, t->begin, t->end))
			goto memory;
	}
	for (size_t i = 0; i < p->regions; i++) {
		const struct dt_region *r = &p->region[i];

		if (DT_PUT(&head, r->begin, r->end, r->records, (uint64_t)r->snapshot,
			   (uint64_t)r->stats, (uint64_t)r->ways, r->level))
			goto memory;
	}
	for (size_t i = 0; i < p->lates; i++) {
		const struct dt_call *c = &p->late[i];

		if (DT_PUT(&head, c->id, c->parent, c->tid, c->function, c->entry, c->depth,
			   c->flags, c->begin, c->end, c->sp, c->children, c->inner, c->held,
			   c->waited, c->waited_self, c->preempted, c->inner_waited))
			goto memory;
	}
	rc = dt_bars_save(p->bars, path, head.p, head.n, e);
	goto fail;
memory:
	dt_fail(e, "out of memory");
fail:
	free(head.p);
	free(ways.p);
	return rc;
}

/* Reads a call that ended after its region was summed up: its numbers are as dt_pyramid_save()
 * wrote them. functions: how many the trace has. */
static int read_late(const struct dt_pyramid *p, uint64_t functions, struct dt_cursor_bytes *c,
		     struct dt_call *x)
{
	x->id = dt_get_varint(c);
	x->parent = dt_get_varint(c);
	x->tid = (uint32_t)dt_get_varint(c);
	x->function = (uint32_t)dt_get_varint(c);
	x->entry = (uint32_t)dt_get_varint(c);
	x->depth = (uint32_t)dt_get_varint(c);
	x->flags = (uint32_t)dt_get_varint(c);
	x->begin = dt_get_varint(c);
	x->end = dt_get_varint(c);
	x->sp = dt_get_varint(c);
	x->children = dt_get_varint(c);
	x->inner = dt_get_varint(c);
	x->held = dt_get_varint(c);
	x->waited = dt_get_varint(c);
	x->waited_self = dt_get_varint(c);
	x->preempted = dt_get_varint(c);
	x->inner_waited = dt_get_varint(c);
	if (x->held > x->end - x->begin || x->function > functions ||
	    x->entry > dt_reader_sites(p->reader) || x->depth > DT_DEPTHS)
		return -1;
	return 0;
}

static int read_ways(struct dt_pyramid *p, int64_t tree, uint64_t functions)
{
	struct dt_bytes b = {0};
	int rc = dt_bars_load(p->bars, tree, &b, NULL);

	if (rc == 0)
		rc = dt_ways_take(&p->ways, b.p, b.n, (uint32_t)functions);
	free(b.p);
	return rc;
}

int dt_pyramid_read_head(struct dt_pyramid *p, const struct dt_bytes *head)
{
	struct dt_cursor_bytes c = {head->p, head->p + head->n, false};
	uint64_t v[4], tracks, regions, lates;
	int64_t tree;

	if (dt_get_varint(&c) != VERSION)
		return -2;
	if (stamp(p->reader, v, NULL) < 0)
		return -1;
	for (unsigned i = 0; i < 4; i++)
		if (dt_get_varint(&c) != v[i])
			return -1;
	p->begin = dt_get_varint(&c);
	p->end = dt_get_varint(&c);
	p->ended = true;
	p->records = p->total = dt_get_varint(&c);
	tracks = dt_get_varint(&c);
	regions = dt_get_varint(&c);
	lates = dt_get_varint(&c);
	tree = (int64_t)dt_get_varint(&c);
	/* each takes at least as many bytes as it has numbers */
	if (c.bad || tracks > head->n / 7 || regions > head->n / 7 || lates > head->n / 17 ||
	    7 * tracks + 7 * regions + 17 * lates > head->n)
		return -1;
	/* and none can be there without what it is made of: a track has a bar, except for a few in
	 * a trace that was followed, and a region has about a chunk's records */
	if (tracks > dt_bars_rows(p->bars) + TRACKS_BARE || regions > 2 * v[1] + REGIONS_BARE)
		return -1;
	p->track = calloc(tracks + 1, sizeof(*p->track));
	p->region = calloc(regions + 1, sizeof(*p->region));
	p->late = calloc(lates + 1, sizeof(*p->late));
	if (!p->track || !p->region || !p->late)
		return -1;
	for (; p->tracks < tracks; p->tracks++) {
		struct dt_track *t = &p->track[p->tracks];

		t->kind = (uint8_t)dt_get_varint(&c);
		t->id = (uint32_t)dt_get_varint(&c);
		t->pid = (uint32_t)dt_get_varint(&c);
		t->depths = (uint32_t)dt_get_varint(&c);
		t->count = dt_get_varint(&c);
		t->begin = dt_get_varint(&c);
		t->end = dt_get_varint(&c);
		if (t->kind >= DT_TRACK_KINDS || t->depths > DT_DEPTHS + 1 || t->depths > t->count)
			return -1;
	}
	for (; p->regions < regions; p->regions++) {
		struct dt_region *r = &p->region[p->regions];

		r->begin = dt_get_varint(&c);
		r->end = dt_get_varint(&c);
		r->records = dt_get_varint(&c);
		r->snapshot = (int64_t)dt_get_varint(&c);
		r->stats = (int64_t)dt_get_varint(&c);
		r->ways = (int64_t)dt_get_varint(&c);
		r->level = (uint8_t)dt_get_varint(&c);
		if (r->level >= DT_LATE_LEVEL || r->end <= r->begin ||
		    (p->regions && r->begin < r[-1].end))
			return -1;
	}
	for (; p->lates < lates; p->lates++)
		if (read_late(p, v[3], &c, &p->late[p->lates]) < 0)
			return -1;
	return c.bad || dt_pyramid_more_slots(p) < 0 ? -1 : read_ways(p, tree, v[3]);
}
