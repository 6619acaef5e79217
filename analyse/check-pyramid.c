/* SPDX-License-Identifier: MIT */
/* Comparing the sums of `view' with the calls. */
#include <stdlib.h>

#include "analyse/check.h"
#include "analyse/pyramid-work.h"

static void add(struct dt_check *c, const char *what, uint64_t have, uint64_t want)
{
	if (have != want)
		dt_faults_add(&c->faults, DT_FAULT_PYRAMID, "%s: %lu, and there are %lu", what,
			      (unsigned long)have, (unsigned long)want);
}

/* Adds up the calls that end in each region, and those that never ended. False: the pyramid is
 * damaged. */
static bool sum_regions(struct dt_pyramid *p, struct dt_stats *sum, uint64_t *records)
{
	struct dt_bytes bytes = {0};
	bool ok = true;

	for (size_t i = 0; i < p->regions && ok; i++) {
		const struct dt_region *r = &p->region[i];

		bytes.n = 0;
		*records += r->records;
		if (r->stats)
			ok = dt_bars_load(p->bars, r->stats, &bytes, NULL) == 0 &&
			     dt_stats_add(sum, bytes.p, bytes.n, dt_reader_functions(p->reader)) ==
				     0;
		bytes.n = 0;
		if (ok && r->snapshot)
			ok = dt_bars_load(p->bars, r->snapshot, &bytes, NULL) == 0;
	}
	for (size_t i = 0; i < p->lates; i++)
		if (p->late[i].function <= dt_reader_functions(p->reader))
			dt_stats_call(sum, &p->late[i]);
		else
			ok = false;
	free(bytes.p);
	return ok;
}

struct bars {
	const struct dt_pyramid *p;
	bool wrong;
};

static bool on_bar(void *ctx, const struct dt_bar *bar)
{
	struct bars *b = ctx;

	/* a bar is of something in the trace, so it lies in the trace's time */
	b->wrong |= !bar->count || bar->begin > bar->end || bar->begin < b->p->begin;
	return !b->wrong;
}

/* Reads every bar of every lane. False: one cannot be read, or is wrong. */
static bool read_lanes(struct dt_pyramid *p, struct dt_error *why)
{
	struct bars b = {p, false};

	for (uint32_t i = 0; i < p->tracks; i++)
		for (unsigned lane = 0; lane < 2 * DT_LEVELS; lane++)
			if (dt_bars_each(p->bars,
					 (struct dt_lane){i, (uint8_t)(lane / 2), (lane & 1) != 0},
					 0, UINT64_MAX, on_bar, &b, why) < 0 ||
			    b.wrong)
				return false;
	return true;
}

static bool same(const struct dt_function_stats *a, const struct dt_function_stats *b)
{
	return a->calls == b->calls && a->timed == b->timed && a->unwound == b->unwound &&
	       a->tail == b->tail && a->open == b->open && a->no_entry == b->no_entry &&
	       a->loss == b->loss && a->total == b->total && a->self == b->self &&
	       a->sum == b->sum && a->min == b->min && a->max == b->max;
}

static void compare_functions(struct dt_check *c, struct dt_reader *r, const struct dt_stats *sum)
{
	static const struct dt_function_stats none = {.min = UINT64_MAX};
	uint32_t n = sum->functions > c->stats.functions ? sum->functions : c->stats.functions;

	for (uint32_t i = 0; i < n; i++) {
		const struct dt_function_stats *a = i < sum->functions ? &sum->function[i] : &none;
		const struct dt_function_stats *b =
			i < c->stats.functions ? &c->stats.function[i] : &none;
		const struct dt_function_info *f = dt_reader_function(r, i);

		if (!same(a, b))
			dt_faults_add(
				&c->faults, DT_FAULT_PYRAMID,
				"%.100s: %lu calls of %lu ticks (%lu own), and there are %lu of %lu (%lu)",
				f ? f->name : "?", (unsigned long)a->calls, (unsigned long)a->sum,
				(unsigned long)a->self, (unsigned long)b->calls,
				(unsigned long)b->sum, (unsigned long)b->self);
	}
}

static int compare(struct dt_check *c, struct dt_pyramid *p, struct dt_error *e)
{
	struct dt_error why = {""};
	struct dt_stats sum = {0};
	uint64_t records = 0, calls = 0;
	bool whole = sum_regions(p, &sum, &records);

	if (sum.no_memory) {
		dt_stats_free(&sum);
		return dt_fail(e, "out of memory");
	}
	if (!whole || !read_lanes(p, &why)) {
		dt_faults_add(&c->faults, DT_FAULT_PYRAMID, "it is damaged%s%s",
			      *why.text ? ": " : "", why.text);
	} else {
		add(c, "records in regions", records, c->chunks.records);
		add(c, "records", p->records, c->chunks.records);
		if (c->chunks.records) {
			add(c, "its first tick", p->begin, c->chunks.begin);
			add(c, "its last tick", p->end, c->chunks.end);
		}
		for (uint32_t i = 0; i < p->tracks; i++)
			if (p->track[i].kind == DT_TRACK_THREAD)
				calls += p->track[i].count;
		add(c, "calls of threads", calls, c->shown.calls);
		compare_functions(c, p->reader, &sum);
	}
	dt_stats_free(&sum);
	return 0;
}

/* Checks the pyramid that is in the file. */
static int check_kept(struct dt_reader *r, const char *path, struct dt_check *c, struct dt_error *e)
{
	struct dt_pyramid *p = calloc(1, sizeof(*p));
	struct dt_error why = {""};
	struct dt_bytes head = {0};
	int rc = 0, read = -2;

	if (!p)
		return dt_fail(e, "out of memory");
	p->reader = r;
	p->bars = dt_bars_open(path, &head, &why);
	if (p->bars)
		read = dt_pyramid_read_head(p, &head);
	else if (*why.text)
		dt_faults_add(&c->faults, DT_FAULT_PYRAMID, "it can not be read: %s", why.text);
	if (read == -1)
		dt_faults_add(&c->faults, DT_FAULT_PYRAMID,
			      "it is damaged, or of another state of the trace");
	/* -2: of another version, which view makes again */
	if (read == 0) {
		c->kept = true;
		rc = compare(c, p, e);
	}
	free(head.p);
	dt_pyramid_close(p);
	return rc;
}

static int check_new(struct dt_reader *r, struct dt_check *c, struct dt_error *e)
{
	struct dt_pyramid *p = calloc(1, sizeof(*p));
	struct dt_error why = {""};
	int rc;

	if (!p)
		return dt_fail(e, "out of memory");
	p->reader = r;
	p->anyway = true; /* missing records show in the sums */
	rc = dt_pyramid_build(p, UINT64_MAX / 2, &why);
	if (rc < 0) {
		dt_faults_add(&c->faults, DT_FAULT_PYRAMID, "view can not sum it up: %s", why.text);
		rc = 0;
	} else {
		c->remade = true;
		rc = compare(c, p, e);
	}
	dt_pyramid_close(p);
	return rc;
}

int dt_check_pyramid(struct dt_reader *r, const char *path, struct dt_check *c, struct dt_error *e)
{
	return path ? check_kept(r, path, c, e) : check_new(r, c, e);
}
