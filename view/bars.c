/* SPDX-License-Identifier: MIT */
/* The bars of a window, as bytes. */
#include <stdlib.h>

#include "view/asked.h"

#define TRACKS 1024 /* in a request, at most */
#define CELLS  8192 /* in a window, at most */

/* A bar as the page reads it (view/page/data.js): little endian, 48 bytes. Ticks count from the
 * first record. */
struct wire_bar {
	/* for events, busy is the least value and high the greatest; for a message, busy is the
	 * lower 48 bits of its key, and high has the key's upper 8 bits, the core of the receipt
	 * and the core of the sending */
	double begin, end, busy, high;
	uint32_t count, what, flags, depth; /* for a message, flags is the receiving thread */
};

_Static_assert(sizeof(struct wire_bar) == 48, "view/page/data.js");

static struct wire_bar of_bar(const struct dt_asked *a, const struct dt_bar *x)
{
	return (struct wire_bar){.begin = (double)(int64_t)(x->begin - a->origin),
				 .end = (double)(int64_t)(x->end - a->origin),
				 .busy = (double)x->busy,
				 .high = (double)x->most,
				 .count = x->count > UINT32_MAX ? UINT32_MAX : (uint32_t)x->count,
				 .what = x->what,
				 .flags = x->flags,
				 .depth = x->depth};
}

/* Puts in a message's key and ends. A double holds 53 bits and a key has 56: so its upper eight go
 * into the number with the cores. */
static void with_ends(struct wire_bar *w, const struct dt_bar *x)
{
	w->busy = (double)(x->low & 0xffffffffffffull);
	w->high = (double)(x->low >> 48 << 32 | x->high >> 32);
	w->flags = (uint32_t)x->high;
}

static void wire(struct dt_asked *a, uint32_t track, const struct dt_bar_list *list)
{
	const struct dt_pyramid *p = a->p->pyramid;
	uint8_t kind = track < p->tracks ? p->track[track].kind : DT_TRACK_THREAD;
	uint32_t head[2] = {track, (uint32_t)list->n};

	dt_json_bytes(&a->answer->text, head, sizeof(head));
	for (size_t i = 0; i < list->n; i++) {
		const struct dt_bar *x = &list->bar[i];
		struct wire_bar w = of_bar(a, x);

		if (kind == DT_TRACK_MESSAGE) {
			with_ends(&w, x);
		} else if (kind >= DT_TRACK_EVENT) {
			w.busy = (double)x->low;
			w.high = (double)x->high;
		}
		dt_json_bytes(&a->answer->text, &w, sizeof(w));
	}
}

void dt_answer_window(struct dt_asked *a)
{
	const char *list = a->r->value(a->r->ctx, "tracks");
	struct dt_window w = {0};
	struct dt_bar_list bars = {0};
	uint64_t cells, depths = 0;
	struct dt_error e = {""};
	unsigned n = 0;

	if (!dt_asked_range(a, &w.from, &w.to) || !dt_asked_number(a, "cells", 1, CELLS, &cells))
		return;
	if (a->r->value(a->r->ctx, "depths") &&
	    !dt_asked_number(a, "depths", 0, UINT32_MAX, &depths))
		return;
	w.depths = (uint32_t)depths;
	w.shift = dt_window_shift(w.from, w.to, (unsigned)cells);
	a->answer->type = "application/octet-stream";
	while (list && *list) {
		char *end;
		unsigned long track = strtoul(list, &end, 10);

		if (*list < '0' || *list > '9' || (*end && *end != ',') || ++n > TRACKS) {
			dt_refuse(a, 400, "tracks: numbers with commas between");
			break;
		}
		if (track >= a->p->pyramid->tracks)
			bars.n = 0;
		else if (dt_window_bars(a->p->windows, (uint32_t)track, &w, &bars, &e) < 0) {
			dt_refuse(a, 500, e.text);
			break;
		}
		wire(a, (uint32_t)track, &bars);
		list = *end ? end + 1 : end;
	}
	free(bars.bar);
}
