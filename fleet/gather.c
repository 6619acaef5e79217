/* SPDX-License-Identifier: MIT */
/*
 * Two ends of a message belong to each other if both have the same number, and no other end of the
 * whole fleet has: only then is it known, before anything is known of the clocks, which is which.
 */
#include "fleet/gather.h"

#include <stdlib.h>
#include <string.h>

#include "store/sync.h"

#define KEY 0xffffffffffffffull /* of a message, as in analyse/messages.h */

/* One end of a message. */
struct end {
	char *id; /* of a row of sync; NULL: a program's message, with a key */
	uint64_t key;
	uint64_t ticks;
	uint32_t host;
	bool received;
};

struct ends {
	struct end *p;
	size_t n, room;
};

int dt_gather_add(struct dt_fleet *f, const struct dt_fleet_piece *p, struct dt_error *e)
{
	/* at each power of two, there is room for twice as many */
	if (!(f->pieces & (f->pieces - 1))) {
		struct dt_fleet_piece *more =
			realloc(f->piece, (f->pieces ? 2 * f->pieces : 1) * sizeof(*more));

		if (!more)
			return dt_fail(e, "out of memory");
		f->piece = more;
	}
	f->piece[f->pieces++] = *p;
	return 0;
}

static int add(struct ends *all, const struct end *x)
{
	if (all->n == all->room) {
		size_t room = all->room ? 2 * all->room : 1024;
		struct end *more = realloc(all->p, room * sizeof(*more));

		if (!more)
			return -1;
		all->p = more;
		all->room = room;
	}
	all->p[all->n++] = *x;
	return 0;
}

static bool has_messages(const struct dt_reader *r)
{
	for (uint32_t i = 1; i <= dt_reader_sites(r); i++) {
		const struct dt_site *s = dt_reader_site(r, i);

		if (s && (s->kind == DT_SEND || s->kind == DT_RECEIVE))
			return true;
	}
	return false;
}

/* Reads the programs' messages of a trace. */
static int read_messages(struct ends *all, struct dt_reader *r, uint32_t host, struct dt_error *e)
{
	const struct dt_reader_range range = {.order = DT_BY_THREAD, .values = true};
	struct dt_span s;
	int rc;

	if (!has_messages(r))
		return 0;
	if (dt_reader_start(r, &range, e))
		return -1;
	while ((rc = dt_reader_next(r, &s, e)) > 0)
		for (uint32_t i = 0; i < s.n; i++) {
			uint8_t kind = dt_reader_site(r, s.site[i])->kind;

			if (kind != DT_SEND && kind != DT_RECEIVE)
				continue;
			if (add(all, &(struct end){.key = s.value[i][0] & KEY,
						   .ticks = s.ticks[i],
						   .host = host,
						   .received = kind == DT_RECEIVE}))
				return dt_fail(e, "out of memory");
		}
	return rc;
}

/* Takes the rows of sync; item: of all real times of the host. */
static int take_sync(struct dt_fleet *f, struct ends *all, struct ends *real,
		     const struct dt_sync *sync, uint32_t host)
{
	for (size_t i = 0; i < sync->n; i++) {
		const struct dt_sync_row *row = &sync->row[i];
		bool received = !strcmp(row->kind, "received");

		if (received || !strcmp(row->kind, "sent")) {
			struct end x = {.id = strdup(row->id),
					.ticks = received ? row->end : row->begin,
					.host = host,
					.received = received};

			if (!x.id || add(all, &x))
				return -1;
		} else if (!strcmp(row->kind, "realtime") && row->bound >= 0 && row->ns > 0 &&
			   row->bound < 1000000000000ll) {
			/* it was ns at some time between the two */
			if (add(real, &(struct end){.key = (uint64_t)row->ns,
						    .ticks = row->begin,
						    .host = host}) ||
			    add(real, &(struct end){.key = (uint64_t)row->bound,
						    .ticks = row->end,
						    .host = host}))
				return -1;
		}
	}
	return 0;
}

#define ORDER(x, y)                                                                                \
	if ((x) != (y))                                                                            \
	return (x) < (y) ? -1 : 1

static int by_message(const void *p, const void *q)
{
	const struct end *a = p, *b = q;
	int rc;

	ORDER(a->id != NULL, b->id != NULL);
	ORDER(a->key, b->key);
	rc = a->id ? strcmp(a->id, b->id) : 0;
	if (rc)
		return rc;
	ORDER(a->received, b->received);
	ORDER(a->host, b->host);
	ORDER(a->ticks, b->ticks);
	return 0;
}

static bool is_of_one(const struct end *a, const struct end *b)
{
	return !a->id == !b->id && a->key == b->key && (!a->id || !strcmp(a->id, b->id));
}

/* Pairs the ends: those of which there is just one sent and one received, on different clocks. */
static int pair(struct dt_fleet *f, struct ends *all, struct dt_error *e)
{
	if (all->n)
		qsort(all->p, all->n, sizeof(*all->p), by_message);
	for (size_t i = 0, end; i < all->n; i = end) {
		const struct end *s = &all->p[i], *r = s + 1;

		for (end = i + 1; end < all->n && is_of_one(s, &all->p[end]); end++)
			;
		if (end - i != 2 || s->received || !r->received ||
		    f->host[s->host].clock == f->host[r->host].clock)
			continue;
		if (dt_gather_add(f,
				  &(struct dt_fleet_piece){.kind = s->id ? DT_EVIDENCE_PING
									 : DT_EVIDENCE_MESSAGE,
							   .from = s->host,
							   .to = r->host,
							   .from_ticks = s->ticks,
							   .to_ticks = r->ticks,
							   .item = (uint32_t)f->pieces},
				  e))
			return -1;
	}
	return 0;
}

/* Real times are of use if those of two clocks have bounds. */
static int add_real(struct dt_fleet *f, const struct ends *real, struct dt_error *e)
{
	bool two = false;

	for (size_t i = 0; i < real->n; i++)
		two |= f->host[real->p[i].host].clock != f->host[real->p[0].host].clock;
	for (size_t i = 0; two && i < real->n; i += 2) {
		const struct end *before = &real->p[i], *after = before + 1;
		int64_t bound = (int64_t)after->key * DT_ALIGN_NS;
		uint64_t ns = before->key;
		/* a real time is true or false as a whole, of each host */
		uint32_t host = before->host, item = UINT32_MAX - host;

		if (dt_gather_add(f,
				  &(struct dt_fleet_piece){.kind = DT_EVIDENCE_REALTIME,
							   .from = host,
							   .to = DT_FLEET_REAL,
							   .from_ticks = before->ticks,
							   .to_ticks = ns,
							   .slack = bound,
							   .item = item},
				  e) ||
		    dt_gather_add(f,
				  &(struct dt_fleet_piece){.kind = DT_EVIDENCE_REALTIME,
							   .from = DT_FLEET_REAL,
							   .to = host,
							   .from_ticks = ns,
							   .to_ticks = after->ticks,
							   .slack = bound,
							   .item = item},
				  e))
			return -1;
	}
	return 0;
}

int dt_gather(struct dt_fleet *f, struct dt_reader **reader, struct dt_error *e)
{
	struct ends all = {NULL}, real = {NULL};
	int rc = 0;

	for (uint32_t i = 0; i < f->hosts && !rc; i++) {
		struct dt_sync sync = {NULL};

		rc = dt_sync_load(&sync, reader[i], e);
		if (!rc && take_sync(f, &all, &real, &sync, i))
			rc = dt_fail(e, "out of memory");
		dt_sync_free(&sync);
		if (!rc)
			rc = read_messages(&all, reader[i], i, e);
	}
	if (!rc)
		rc = pair(f, &all, e);
	if (!rc)
		rc = add_real(f, &real, e);
	for (size_t i = 0; i < all.n; i++)
		free(all.p[i].id);
	free(all.p);
	free(real.p);
	return rc;
}
