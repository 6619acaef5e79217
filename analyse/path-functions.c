/* SPDX-License-Identifier: MIT */
/*
 * In which functions the pieces of paths are. Between two records of a thread it is in one
 * function; in which, may be known only later: of a call that was entered before the range, at its
 * exit.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/pair.h"
#include "analyse/path-work.h"
#include "core/search.h"

#define PARTS_MOST 16000000u

/* A piece, or all of a thread's. */
struct lane {
	uint32_t tid;	   /* 0: the place is free */
	size_t first, end; /* indices of pieces in `piece' */
	size_t low;	   /* those before are over */
	uint64_t done;	   /* up to here it is known where the thread was */
};

/* How long a piece was in a function. */
struct part {
	struct dt_path_piece *piece; /* NULL: the place is free */
	struct dt_path_part part;
};

struct attributing {
	struct dt_reader *reader;
	struct dt_pair *pair;
	struct dt_path_piece **piece; /* of all paths, by thread and beginning */
	size_t pieces;
	struct lane *lane; /* open addressing; room is a power of two */
	size_t room;
	struct part *part; /* open addressing, by piece and function */
	size_t parts, parts_room;
	bool no_memory, too_many;
};

/* ---- parts ---- */

static struct part *part_place(struct part *all, size_t room, const struct dt_path_piece *piece,
			       uint32_t function)
{
	size_t i = ((uintptr_t)piece / sizeof(*piece) * 0x9e3779b97f4a7c15u + function) *
		   0x9e3779b97f4a7c15u;

	for (i ^= i >> 29;; i++) {
		struct part *p = &all[i & (room - 1)];

		if (!p->piece || (p->piece == piece && p->part.function == function))
			return p;
	}
}

static void add_part(struct attributing *k, struct dt_path_piece *piece, uint32_t function,
		     uint64_t ticks)
{
	struct part *p;

	if (2 * k->parts >= k->parts_room) {
		size_t room = k->parts_room ? 2 * k->parts_room : 256;
		struct part *more = NULL;

		k->too_many |= k->parts >= PARTS_MOST;
		more = k->too_many ? NULL : calloc(room, sizeof(*more));
		k->no_memory |= !more;
		if (!more)
			return;
		for (size_t i = 0; i < k->parts_room; i++)
			if (k->part[i].piece)
				*part_place(more, room, k->part[i].piece,
					    k->part[i].part.function) = k->part[i];
		free(k->part);
		k->part = more;
		k->parts_room = room;
	}
	p = part_place(k->part, k->parts_room, piece, function);
	k->parts += !p->piece;
	piece->parts += !p->piece;
	p->piece = piece;
	p->part.function = function;
	p->part.ticks += ticks;
}

/* ---- threads ---- */

static struct lane *lane_of(const struct attributing *k, uint32_t tid)
{
	size_t i = (tid * 2654435761u) & (k->room - 1);

	while (k->lane[i].tid && k->lane[i].tid != tid)
		i = (i + 1) & (k->room - 1);
	return &k->lane[i];
}

/* Takes note that a thread was in a function from where it was known to be, up to a time. */
static void was_in(struct attributing *k, uint32_t tid, uint64_t until, uint32_t function)
{
	struct lane *l = tid == DT_NO_TID ? NULL : lane_of(k, tid);

	if (!l || !l->tid || until <= l->done)
		return;
	while (l->low < l->end && k->piece[l->low]->end <= l->done)
		l->low++;
	for (size_t i = l->low; i < l->end && k->piece[i]->begin < until; i++) {
		struct dt_path_piece *p = k->piece[i];
		uint64_t begin = p->begin > l->done ? p->begin : l->done;
		uint64_t end = p->end < until ? p->end : until;

		if (end > begin)
			add_part(k, p, function, end - begin);
	}
	l->done = until;
}

static bool first_caller(void *ctx, const struct dt_call *c)
{
	*(uint32_t *)ctx = c->function;
	return false;
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct attributing *k = ctx;
	uint32_t caller = 0;

	dt_pair_callers(k->pair, first_caller, &caller);
	was_in(k, c->tid, c->begin, caller);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct attributing *k = ctx;

	/* one that is open at the end is so until then */
	was_in(k, c->tid, c->flags & DT_CALL_OPEN ? UINT64_MAX : c->end, c->function);
}

/* ---- the whole ---- */

static int by_thread(const void *a, const void *b)
{
	const struct dt_path_piece *x = *(struct dt_path_piece *const *)a,
				   *y = *(struct dt_path_piece *const *)b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Sorts the pieces, and finds each thread's. */
static bool sort(struct attributing *k, struct dt_paths *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		k->pieces += p->path[i].n;
	for (k->room = 64; k->room < 2 * k->pieces;)
		k->room *= 2;
	k->piece = malloc((k->pieces + 1) * sizeof(*k->piece));
	k->lane = calloc(k->room, sizeof(*k->lane));
	if (!k->piece || !k->lane)
		return false;
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < p->path[i].n; j++)
			k->piece[n++] = &p->path[i].piece[j];
	qsort(k->piece, n, sizeof(*k->piece), by_thread);
	for (size_t i = 0; i < n; i++) {
		struct lane *l = lane_of(k, k->piece[i]->tid);

		if (!l->tid)
			*l = (struct lane){.tid = k->piece[i]->tid, .first = i, .low = i};
		l->end = i + 1;
	}
	return true;
}

static int longest_first(const void *a, const void *b)
{
	const struct dt_path_part *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Gives each piece its parts, the longest first. */
static bool give(struct attributing *k, struct dt_paths *p)
{
	size_t at = 0;

	/* what no record tells of */
	for (size_t i = 0; i < k->room; i++)
		if (k->lane[i].tid)
			was_in(k, k->lane[i].tid, UINT64_MAX, 0);
	free(p->part);
	p->part = malloc((k->parts + 1) * sizeof(*p->part));
	p->parts = k->parts;
	if (!p->part || k->no_memory)
		return false;
	for (size_t i = 0; i < k->pieces; i++) {
		k->piece[i]->part = at;
		at += k->piece[i]->parts;
		k->piece[i]->parts = 0;
	}
	for (size_t i = 0; i < k->parts_room; i++)
		if (k->part[i].piece) {
			struct dt_path_piece *x = k->part[i].piece;

			p->part[x->part + x->parts++] = k->part[i].part;
		}
	for (size_t i = 0; i < k->pieces; i++) {
		struct dt_path_piece *x = k->piece[i];

		qsort(p->part + x->part, x->parts, sizeof(*p->part), longest_first);
		x->function = x->parts ? p->part[x->part].function : 0;
	}
	return true;
}

static int attribute(struct attributing *k, struct dt_paths *p, const struct dt_reader_range *range,
		     struct dt_error *e)
{
	struct dt_span s;
	int rc = dt_reader_start(k->reader, range, e);

	while (!rc && (rc = dt_reader_next(k->reader, &s, e)) > 0) {
		rc = 0;
		if (s.n && (s.tid == DT_NO_TID || !lane_of(k, s.tid)->tid))
			continue;
		rc = dt_pair_span(k->pair, &s);
		if (k->too_many)
			return dt_fail(e,
				       "the pieces are of more than %u functions: take a shorter "
				       "time, with --from and --to",
				       PARTS_MOST);
		if (rc || k->no_memory)
			return dt_fail(e, "out of memory");
	}
	if (rc < 0)
		return -1;
	dt_pair_finish(k->pair);
	return give(k, p) ? 0 : dt_fail(e, "out of memory");
}

int dt_path_functions(struct dt_paths *p, uint64_t from, uint64_t to, struct dt_error *e)
{
	struct dt_reader_range range = {.order = DT_BY_THREAD, .from = from, .to = to};
	struct attributing k = {.reader = p->reader};
	struct dt_pair_events events = {.begin = on_begin, .end = on_end, .ctx = &k};
	int rc;

	k.pair = dt_pair_new(p->reader, &events, false);
	if (!k.pair || !sort(&k, p))
		rc = dt_fail(e, "out of memory");
	else
		rc = attribute(&k, p, &range, e);
	if (k.pair)
		dt_pair_free(k.pair);
	free(k.piece);
	free(k.lane);
	free(k.part);
	return rc;
}
