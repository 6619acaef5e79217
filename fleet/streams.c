/* SPDX-License-Identifier: MIT */
/*
 * The call that sends a byte begins before the call that receives it returns. Which byte of which
 * connection that is, is known without any clock: the ends of a connection have the same two
 * addresses, and bytes are counted from its beginning. What is not sure is not used: two ends
 * belong to each other only if no others can, and a direction counts only if as many bytes were
 * received as sent when it was over, so that no call is missing on either side.
 */
#include "fleet/streams.h"

#include <stdlib.h>
#include <string.h>

#include "fleet/gather.h"
#include "fleet/sockets.h"

#define ALIKE 64 /* connections that have the client's address in common, at most */

struct end {
	struct dt_tcp_end *c;
	uint32_t host;
};

static const struct dt_socket_address *client_of(const struct end *x)
{
	return x->c->client ? &x->c->local : &x->c->remote;
}

static const struct dt_socket_address *server_of(const struct end *x)
{
	return x->c->client ? &x->c->remote : &x->c->local;
}

/* Addresses of a machine's own network: the same ones mean something else on another machine. */
static bool is_own(const struct dt_socket_address *a)
{
	static const uint8_t four[12] = {[10] = 0xff, [11] = 0xff}, one[16] = {[15] = 1};

	return (!memcmp(a->ip, four, 12) && a->ip[12] == 127) || !memcmp(a->ip, one, 16);
}

static int by_client(const void *p, const void *q)
{
	return memcmp(client_of(p), client_of(q), sizeof(struct dt_socket_address));
}

static bool is_other_end(const struct end *a, const struct end *b)
{
	const struct dt_socket_address *x = server_of(a), *y = server_of(b);

	return a->c->client != b->c->client && (!x->port || !y->port || !memcmp(x, y, sizeof(*x)));
}

/* Returns the only one of n ends that can be the other one of x; NULL: there is none, or several.
 * *any: there is one at least. */
static const struct end *other_end(const struct end *end, size_t n, const struct end *x, bool *any)
{
	const struct end *found = NULL;
	size_t all = 0;

	for (size_t i = 0; i < n; i++)
		if (is_other_end(&end[i], x)) {
			found = &end[i];
			all++;
		}
	*any = all != 0;
	return all == 1 ? found : NULL;
}

/* Adds what one direction says: of all calls that receive from the same send, the first. */
static int add_direction(struct dt_fleet *f, const struct end *from, const struct end *to,
			 uint32_t item, struct dt_error *e)
{
	const struct dt_stream_side *s = &from->c->sent, *r = &to->c->got;
	size_t at = 0, last = SIZE_MAX;

	for (size_t i = 0; i < r->n; i++) {
		while (at + 1 < s->n && s->call[at].upto < r->call[i].upto)
			at++;
		if (at == last)
			continue;
		last = at;
		if (dt_gather_add(f,
				  &(struct dt_fleet_piece){.kind = DT_EVIDENCE_STREAM,
							   .from = from->host,
							   .to = to->host,
							   .from_ticks = s->call[at].ticks,
							   .to_ticks = r->call[i].ticks,
							   .item = item},
				  e))
			return -1;
	}
	return 0;
}

static int add_connection(struct dt_fleet *f, const struct end *a, const struct end *b,
			  struct dt_error *e)
{
	bool there = dt_stream_is_whole(a->c, b->c), back = dt_stream_is_whole(b->c, a->c);
	uint32_t item = (uint32_t)f->streams.used;

	f->streams.used += there || back;
	f->streams.unclear += !there && !back;
	return (there && add_direction(f, a, b, item, e)) ||
			       (back && add_direction(f, b, a, item, e))
		       ? -1
		       : 0;
}

/* Looks at n ends with the same address of the client. */
static int match(struct dt_fleet *f, const struct end *end, size_t n, struct dt_error *e)
{
	for (size_t i = 0; i < n; i++) {
		bool any, back;
		const struct end *b = n <= ALIKE ? other_end(end, n, &end[i], &any) : NULL;

		if (n > ALIKE) {
			f->streams.alike++;
			continue;
		}
		f->streams.apart += !any;
		if (b && other_end(end, n, b, &back) != &end[i])
			b = NULL;
		f->streams.alike += any && !b;
		/* each pair once; of one clock with itself nothing is to be learned */
		if (!b || !end[i].c->client || f->host[b->host].clock == f->host[end[i].host].clock)
			continue;
		if (add_connection(f, &end[i], b, e))
			return -1;
	}
	return 0;
}

/* Puts the ends whose client's address is known into one list. */
static struct end *list(struct dt_fleet *f, const struct dt_tcp_ends *all, size_t *n)
{
	struct end *end;
	size_t room = 1;

	for (uint32_t h = 0; h < f->hosts; h++)
		room += all[h].n;
	end = calloc(room, sizeof(*end));
	for (uint32_t h = 0; end && h < f->hosts; h++)
		for (size_t i = 0; i < all[h].n; i++) {
			struct end x = {&all[h].p[i], h};

			if (is_own(client_of(&x)) || is_own(server_of(&x)))
				continue;
			if (!client_of(&x)->port || x.c->conflict)
				f->streams.nameless++;
			else
				end[(*n)++] = x;
		}
	return end;
}

int dt_streams_gather(struct dt_fleet *f, struct dt_reader **reader, struct dt_error *e)
{
	struct dt_tcp_ends *all = calloc(f->hosts, sizeof(*all));
	struct end *end = NULL;
	size_t n = 0;
	int rc = all ? 0 : dt_fail(e, "out of memory");

	for (uint32_t h = 0; h < f->hosts && !rc && f->clocks > 1; h++)
		rc = dt_sockets_read(&all[h], reader[h], e);
	if (!rc && !(end = list(f, all, &n)))
		rc = dt_fail(e, "out of memory");
	if (!rc && n)
		qsort(end, n, sizeof(*end), by_client);
	for (size_t i = 0, k; i < n && !rc; i = k) {
		for (k = i + 1; k < n && !by_client(&end[i], &end[k]); k++)
			;
		rc = match(f, end + i, k - i, e);
	}
	for (uint32_t h = 0; all && h < f->hosts; h++)
		dt_tcp_ends_free(&all[h]);
	free(all);
	free(end);
	return rc;
}
