/* SPDX-License-Identifier: MIT */
#include "view/entries.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/pyramid.h"

#define BEHIND	10000000 /* ticks: the records that follow an entry come within this time */
#define RECORDS 20000	 /* that are read at most to complete the last entry */

/* The last entry in a thread: records that follow it belong to it. */
struct last {
	uint32_t thread;
	struct dt_entry *entry; /* NULL: it is not wanted, or is complete */
};

struct reading {
	struct dt_reader *reader;
	struct dt_entry *entry, *end; /* the entries that have not come yet */
	struct last *last;
	size_t lasts, room;
};

static struct last *last_of(struct reading *x, uint32_t thread, bool make)
{
	for (size_t i = 0; i < x->lasts; i++)
		if (x->last[i].thread == thread)
			return &x->last[i];
	if (!make)
		return NULL;
	if (x->lasts == x->room) {
		size_t room = x->room ? 2 * x->room : 16;
		struct last *more = realloc(x->last, room * sizeof(*more));

		if (!more)
			return NULL;
		x->last = more;
		x->room = room;
	}
	x->last[x->lasts] = (struct last){.thread = thread};
	return &x->last[x->lasts++];
}

/* Says whether a record of this thread can belong to the call. Records without a thread are shown
 * as those of a core. */
static bool is_of(const struct dt_entry *x, uint32_t thread)
{
	return x->thread == thread || (thread == DT_NO_TID && x->thread >= DT_TRACK_NOBODY(0));
}

/* Takes the record of an entry: it belongs to the entries of this tick and thread, of which several
 * calls may have begun in the same tick. */
static int take_entry(struct reading *x, const struct dt_span *s, uint32_t k, uint32_t function)
{
	struct dt_entry *found = NULL;
	struct last *last;

	for (struct dt_entry *y = x->entry; y < x->end && y->begin == s->ticks[k]; y++) {
		if (!y->wanted || !is_of(y, s->tid))
			continue;
		/* several rows may stand for one function */
		if (y->known && function != y->function)
			continue;
		memcpy(y->argument, s->value[k], sizeof(y->argument));
		y->known = true;
		found = y;
	}
	last = last_of(x, s->tid, found != NULL);
	if (found && !last)
		return -1;
	if (last)
		last->entry = found;
	return 0;
}

static int take_more(struct reading *x, const struct dt_span *s, uint32_t k,
		     const struct dt_site *site)
{
	struct last *last = last_of(x, s->tid, false);
	struct dt_entry *y = last ? last->entry : NULL;

	if (!y)
		return 0;
	if (site->place == DT_SITE_POINT_LEAVING)
		return 0;
	if (site->place != DT_SITE_POINT_MORE && site->place != DT_SITE_POINT_TEXT &&
	    site->place != DT_SITE_POINT_BUFFER) {
		last->entry = NULL;
		return 0;
	}
	if (y->n == y->room) {
		size_t room = y->room ? 2 * y->room : 8;
		struct dt_more *more = realloc(y->more, room * sizeof(*more));

		if (!more)
			return -1;
		y->more = more;
		y->room = room;
	}
	y->more[y->n].site = s->site[k];
	dt_span_record(x->reader, s, k, &y->more[y->n++].record);
	return 0;
}

static bool any_open(const struct reading *x)
{
	for (size_t i = 0; i < x->lasts; i++)
		if (x->last[i].entry)
			return true;
	return false;
}

static int take(struct reading *x, const struct dt_span *s, uint32_t k)
{
	const struct dt_site *site = dt_reader_site(x->reader, s->site[k]);

	while (x->entry < x->end && x->entry->begin < s->ticks[k])
		x->entry++;
	return site->kind == DT_ENTRY ? take_entry(x, s, k, site->function)
				      : take_more(x, s, k, site);
}

int dt_entries_read(struct dt_reader *r, struct dt_entry *entry, size_t n, struct dt_error *e)
{
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	struct reading x = {.reader = r, .entry = entry, .end = entry + n};
	uint64_t late = 0; /* records read after the last begin */
	struct dt_span s;
	int rc;

	if (!n)
		return 0;
	range.from = entry[0].begin;
	range.to = entry[n - 1].begin + BEHIND;
	rc = dt_reader_start(r, &range, e);
	while (!rc && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		for (uint32_t k = 0; k < s.n && !rc; k++)
			if (take(&x, &s, k) < 0)
				rc = dt_fail(e, "out of memory");
		if (x.entry == x.end && ((late += s.n) > RECORDS || !any_open(&x)))
			break;
	}
	free(x.last);
	return rc < 0 ? -1 : 0;
}

void dt_entries_free(struct dt_entry *entry, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(entry[i].more);
}
