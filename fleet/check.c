/* SPDX-License-Identifier: MIT */
/* Is a fleet as its traces say? */
#include <stdlib.h>

#include "fleet/gather.h"

static bool is_doubted(const struct dt_fleet *f, uint32_t host, uint64_t ticks,
		       const struct dt_knot *k)
{
	if (k->early == DT_UNKNOWN_EARLY || k->late == DT_UNKNOWN_LATE)
		return true;
	for (size_t i = 0; i < f->breaks; i++) {
		const struct dt_fleet_break *b = &f->broken[i];

		if (b->kind != DT_CONTRADICTION_FALSE &&
		    f->host[b->host].clock == f->host[host].clock &&
		    ticks - b->from_ticks <= b->to_ticks - b->from_ticks)
			return true;
	}
	return false;
}

int dt_fleet_check(const struct dt_fleet *f, struct dt_reader **reader, struct dt_fleet_checked *to,
		   struct dt_error *e)
{
	/* the same hosts, and evidence as it is in the traces now */
	struct dt_fleet again = {.host = f->host, .hosts = f->hosts, .clocks = f->clocks};
	int rc = dt_gather(&again, reader, e);

	*to = (struct dt_fleet_checked){0};
	for (size_t i = 0; i < again.pieces && !rc; i++) {
		const struct dt_fleet_piece *p = &again.piece[i];
		struct dt_knot s, r;

		if (p->from == DT_FLEET_REAL || p->to == DT_FLEET_REAL)
			continue;
		to->messages++;
		s = dt_fleet_place(f, p->from, p->from_ticks);
		r = dt_fleet_place(f, p->to, p->to_ticks);
		if (is_doubted(f, p->from, p->from_ticks, &s) ||
		    is_doubted(f, p->to, p->to_ticks, &r))
			to->doubted++;
		else if (s.t > r.t || s.early > r.late)
			to->backward++;
	}
	free(again.piece);
	return rc;
}
