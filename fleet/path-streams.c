/* SPDX-License-Identifier: MIT */
/* Two ends are of one connection if no others can be, as in fleet/streams.c; and they may be of one
 * machine here. */
#include "fleet/path-streams.h"

#include <stdlib.h>
#include <string.h>

#include "fleet/sockets.h"
#include "store/hosts.h"

struct end {
	const struct dt_tcp_end *c;
	const struct dt_host *host;
};

struct finding {
	struct dt_path_edge *edge;
	size_t n, room;
	bool no_memory;
};

static const struct dt_socket_address *client_of(const struct dt_tcp_end *c)
{
	return c->client ? &c->local : &c->remote;
}

static const struct dt_socket_address *server_of(const struct dt_tcp_end *c)
{
	return c->client ? &c->remote : &c->local;
}

static int by_client(const void *p, const void *q)
{
	return memcmp(client_of(((const struct end *)p)->c), client_of(((const struct end *)q)->c),
		      sizeof(struct dt_socket_address));
}

/* Is the address one of a machine's own network? */
static bool is_own(const struct dt_socket_address *a)
{
	static const uint8_t four[12] = {[10] = 0xff, [11] = 0xff}, one[16] = {[15] = 1};

	return (!memcmp(a->ip, four, 12) && a->ip[12] == 127) || !memcmp(a->ip, one, 16);
}

static bool is_other_end(const struct end *a, const struct end *b)
{
	const struct dt_socket_address *x = server_of(a->c), *y = server_of(b->c);

	return a->c->client != b->c->client &&
	       (!x->port || !y->port || !memcmp(x, y, sizeof(*x))) &&
	       (a->host == b->host || (!is_own(client_of(a->c)) && !is_own(x) && !is_own(y)));
}

/* Returns the only one of n ends that can be the other one of x; NULL: there is none, or several.
 */
static const struct end *other_end(const struct end *end, size_t n, const struct end *x)
{
	const struct end *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!is_other_end(&end[i], x))
			continue;
		if (found)
			return NULL;
		found = &end[i];
	}
	return found;
}

static void add_direction(struct finding *k, const struct dt_tcp_end *from,
			  const struct dt_tcp_end *to)
{
	const struct dt_stream_side *s = &from->sent, *r = &to->got;

	for (size_t i = 0, at = 0; i < r->n && s->n; i++) {
		while (at + 1 < s->n && s->call[at].upto < r->call[i].upto)
			at++;
		if (k->n == k->room) {
			size_t room = k->room ? 2 * k->room : 64;
			struct dt_path_edge *more = realloc(k->edge, room * sizeof(*more));

			k->no_memory |= !more;
			if (!more)
				return;
			k->edge = more;
			k->room = room;
		}
		k->edge[k->n++] =
			(struct dt_path_edge){s->call[at].tid, r->call[i].tid, s->call[at].ticks,
					      r->call[i].ticks, DT_PATH_STREAM};
	}
}

/* Looks at n ends with the same address of the client. */
static void match(struct finding *k, const struct end *end, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct end *b = end[i].c->client ? other_end(end, n, &end[i]) : NULL;

		if (!b || other_end(end, n, b) != &end[i])
			continue;
		if (dt_stream_is_whole(end[i].c, b->c))
			add_direction(k, end[i].c, b->c);
		if (dt_stream_is_whole(b->c, end[i].c))
			add_direction(k, b->c, end[i].c);
	}
}

int dt_path_streams(struct dt_reader *r, struct dt_path_edge **edge, size_t *n, struct dt_error *e)
{
	struct dt_tcp_ends all = {0};
	struct dt_hosts hosts = {0};
	struct finding k = {0};
	struct end *end = NULL;
	size_t ends = 0;
	int rc = dt_sockets_read(&all, r, e);

	if (!rc && (dt_hosts_load(&hosts, r) || !(end = calloc(all.n + 1, sizeof(*end)))))
		rc = dt_fail(e, "out of memory");
	for (size_t i = 0; i < all.n && !rc; i++) {
		const struct dt_stream_side *s = all.p[i].sent.n ? &all.p[i].sent : &all.p[i].got;

		if (client_of(&all.p[i])->port && !all.p[i].conflict)
			end[ends++] =
				(struct end){&all.p[i], s->n ? dt_hosts_of(&hosts, s->tid) : NULL};
	}
	if (ends && !rc)
		qsort(end, ends, sizeof(*end), by_client);
	for (size_t i = 0, m; i < ends && !rc; i += m) {
		for (m = 1; i + m < ends && !by_client(&end[i], &end[i + m]);)
			m++;
		match(&k, end + i, m);
	}
	if (!rc && k.no_memory)
		rc = dt_fail(e, "out of memory");
	free(end);
	dt_hosts_free(&hosts);
	dt_tcp_ends_free(&all);
	*edge = k.edge;
	*n = k.n;
	return rc;
}
