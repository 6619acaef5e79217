/* SPDX-License-Identifier: MIT */
/* Writing the traces of a fleet as one. */
#include "fleet/one.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/hosts.h"
#include "store/join.h"

/* One host's way to the reference's ticks. */
struct placing {
	const struct dt_fleet *fleet;
	uint32_t host;
	const int64_t *most; /* of its clock's knots: the latest time that is drawn up to each */
	uint64_t shift;	     /* what is added, so that no tick is below 1 */
};

/*
 * A clock that was set back has times that come again. Records of a core must not go back in time,
 * so what would be drawn before something earlier is put at the same time as that.
 */
static uint64_t place(void *ctx, uint64_t ticks)
{
	const struct placing *p = ctx;
	const struct dt_fleet *f = p->fleet;
	const struct dt_fleet_host *h = &f->host[p->host];
	const struct dt_aligned_clock *c = &f->clock[h->clock];
	int64_t x = dt_fleet_x(h, ticks), t = dt_knots_place(c->knot, c->knots, x).t;
	size_t low = 0, high = c->knots;

	if (h->clock == f->host[f->reference].clock)
		return ticks + p->shift;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->knot[middle].x <= x)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && p->most[low - 1] > t)
		t = p->most[low - 1];
	return dt_fleet_ticks(&f->host[f->reference], t) + p->shift;
}

static int64_t *latest(const struct dt_aligned_clock *c)
{
	int64_t *most = malloc((c->knots + 1) * sizeof(*most));

	for (size_t i = 0; most && i < c->knots; i++)
		most[i] = i && most[i - 1] > c->knot[i].t ? most[i - 1] : c->knot[i].t;
	return most;
}

/* ---- how far a host's times may be wrong ---- */

/* Widens a bar by what is known at one time; a time of which nothing is known makes it unknown. */
static void widen(struct dt_host_bar *b, const struct dt_knot *k)
{
	if (b->unknown || k->early == DT_UNKNOWN_EARLY || k->late == DT_UNKNOWN_LATE) {
		b->unknown = true;
		return;
	}
	int64_t early = (k->t - k->early + DT_ALIGN_NS - 1) / DT_ALIGN_NS;
	int64_t late = (k->late - k->t + DT_ALIGN_NS - 1) / DT_ALIGN_NS;

	b->early = early > 0 && (uint64_t)early > b->early ? (uint64_t)early : b->early;
	b->late = late > 0 && (uint64_t)late > b->late ? (uint64_t)late : b->late;
}

/* Finds the bars of equal parts of a host's time: between knots all is straight, so that the worst
 * of a part is at a knot or at its ends. */
static void find_bars(const struct placing *p, struct dt_host *to)
{
	const struct dt_fleet_host *h = &p->fleet->host[p->host];
	const struct dt_aligned_clock *c = &p->fleet->clock[h->clock];
	uint64_t part = (h->last - h->first) / DT_HOST_BARS + 1;

	for (uint32_t i = 0; i < DT_HOST_BARS && h->first + i * part <= h->last; i++) {
		uint64_t from = h->first + i * part, end = from + part;
		struct dt_host_bar *b = &to->bar[to->bars++];
		struct dt_knot k = dt_fleet_place(p->fleet, p->host, from);

		*b = (struct dt_host_bar){.begin = place((void *)(uintptr_t)p, from),
					  .end = place((void *)(uintptr_t)p, end)};
		widen(b, &k);
		k = dt_fleet_place(p->fleet, p->host, end);
		widen(b, &k);
		for (size_t n = 0; n < c->knots; n++)
			if (c->knot[n].x > dt_fleet_x(h, from) && c->knot[n].x < dt_fleet_x(h, end))
				widen(b, &c->knot[n]);
	}
}

/* ---- the whole ---- */

/* Adds one host. */
static int add(struct dt_store *s, struct dt_joined *joined, struct placing *p, struct dt_reader *r,
	       struct dt_join_from *from, struct dt_error *e)
{
	const struct dt_fleet_host *f = &p->fleet->host[p->host];
	struct dt_host h = {.core = from->core, .cores = from->cores};
	int64_t *most = latest(&p->fleet->clock[f->clock]);
	int rc = -1;

	p->most = most;
	from->reader = r;
	from->place = place;
	from->ctx = p;
	h.name = f->name;
	h.first = DT_JOIN_FIRST_ID + joined->ids;
	h.known = p->fleet->clock[f->clock].known;
	h.reference = f->clock == p->fleet->host[p->fleet->reference].clock;
	h.bar = calloc(DT_HOST_BARS, sizeof(*h.bar));
	if (!most || !h.bar)
		dt_fail(e, "out of memory");
	else
		rc = dt_store_join(s, joined, from, e);
	h.end = DT_JOIN_FIRST_ID + joined->ids;
	if (!rc && !h.reference)
		find_bars(p, &h);
	if (!rc)
		rc = dt_join_offsets(s, r, h.core, h.cores, e) || dt_hosts_put(s, p->host, &h, e)
			     ? -1
			     : 0;
	free(h.bar);
	free(most);
	return rc;
}

/* Returns what has to be added to all ticks so that the first is at least 1. */
static uint64_t shift_of(const struct dt_fleet *f)
{
	const struct dt_fleet_host *r = &f->host[f->reference];
	int64_t begin = dt_fleet_begin(f);
	long double before = -(long double)begin / ((long double)r->ns_per_tick * DT_ALIGN_NS);

	return before >= (long double)r->zero ? (uint64_t)(before - (long double)r->zero) + 2 : 0;
}

static int fill(struct dt_store *s, const struct dt_fleet *f, struct dt_reader **reader,
		struct dt_error *e)
{
	struct dt_joined joined = {0};
	struct placing p = {.fleet = f, .shift = shift_of(f)};
	unsigned cores[DT_FLEET_HOSTS], all = 0, next = 0;

	for (uint32_t i = 0; i < f->hosts; i++) {
		cores[i] = dt_join_cores(reader[i], e);
		if (!cores[i])
			return -1;
		all += cores[i];
	}
	if (all >= DT_FURTHER_CORES)
		return dt_fail(e, "the traces have %u cores; one trace has at most %u", all,
			       DT_FURTHER_CORES - 1);
	if (dt_join_meta(s, reader, f->hosts, f->reference, all, e))
		return -1;
	for (uint32_t i = 0; i < f->hosts; i++) {
		struct dt_join_from from = {.core = next, .cores = cores[i], .all = all};

		p.host = i;
		from.clocks = i == f->reference; /* they say what its ticks are */
		if (add(s, &joined, &p, reader[i], &from, e))
			return -1;
		next += cores[i];
	}
	return 0;
}

int dt_fleet_one(const struct dt_fleet *f, struct dt_reader **reader, const char *path,
		 struct dt_error *e)
{
	struct dt_store *s;

	s = dt_join_create(path, e);
	if (!s)
		return -1;
	if (fill(s, f, reader, e)) {
		dt_store_discard(s);
		return -1;
	}
	return dt_store_close(s, e);
}
