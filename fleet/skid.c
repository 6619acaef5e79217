/* SPDX-License-Identifier: MIT */
#include "fleet/skid.h"

#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "store/store.h"

/* When one host's recording froze: ticks, in their order. */
struct freezes {
	uint64_t *at;
	size_t n, room;
	bool no_memory;
};

static int take(void *ctx, const struct dt_pause *p)
{
	struct freezes *k = ctx;

	/* of those that share a row only the first one's time is known */
	if (p->stopped || !p->begin)
		return 0;
	k->at = dt_array_grown(k->at, k->n, &k->room, 16, sizeof(*k->at), &k->no_memory);
	if (k->no_memory)
		return 1;
	k->at[k->n++] = p->begin;
	return 0;
}

/* Finds the host's freeze that is nearest to a time of the fleet, at most DT_SKID_MOST away. */
static bool nearest(const struct dt_fleet *f, uint32_t host, const struct freezes *k, int64_t t,
		    struct dt_knot *found)
{
	int64_t best = (int64_t)DT_SKID_MOST * DT_ALIGN_NS;
	bool any = false;

	for (size_t i = 0; i < k->n; i++) {
		struct dt_knot at = dt_fleet_place(f, host, k->at[i]);
		int64_t by = at.t > t ? at.t - t : t - at.t;

		if (by > best)
			continue;
		best = by;
		*found = at;
		any = true;
	}
	return any;
}

static double error_of(const struct dt_knot *k)
{
	if (k->early == DT_UNKNOWN_EARLY || k->late == DT_UNKNOWN_LATE)
		return INFINITY;
	return fmax((double)(k->late - k->t), (double)(k->t - k->early)) / DT_ALIGN_NS;
}

/* Puts together the freezes that belong to one of the first host. False: not all have one. */
static bool together(const struct dt_fleet *f, const struct freezes *k, uint64_t tick,
		     struct dt_skid *s)
{
	struct dt_knot low = dt_fleet_place(f, 0, tick), high = low;
	const int64_t t = low.t;

	*s = (struct dt_skid){.error = 0};
	for (uint32_t i = 1; i < f->hosts; i++) {
		struct dt_knot at;

		if (!nearest(f, i, &k[i], t, &at))
			return false;
		if (at.t < low.t) {
			low = at;
			s->first = i;
		}
		if (at.t > high.t) {
			high = at;
			s->last = i;
		}
	}
	s->ns = (double)(high.t - low.t) / DT_ALIGN_NS;
	if (f->host[s->first].clock != f->host[s->last].clock)
		s->error = error_of(&low) + error_of(&high);
	return true;
}

int dt_fleet_skid(const struct dt_fleet *f, struct dt_reader **reader,
		  void (*fn)(void *ctx, const struct dt_skid *skid), void *ctx, struct dt_error *e)
{
	struct freezes *k = calloc(f->hosts, sizeof(*k));
	struct dt_skid skid;
	int rc = k ? 0 : -1;

	for (uint32_t i = 0; i < f->hosts && !rc; i++) {
		if (reader[i])
			dt_reader_pauses(reader[i], take, &k[i]);
		rc = k[i].no_memory ? -1 : 0;
	}
	for (size_t i = 0; !rc && f->hosts > 1 && i < k[0].n; i++)
		if (together(f, k, k[0].at[i], &skid))
			fn(ctx, &skid);
	for (uint32_t i = 0; k && i < f->hosts; i++)
		free(k[i].at);
	free(k);
	return rc ? dt_fail(e, "out of memory") : 0;
}
