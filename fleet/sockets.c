/* SPDX-License-Identifier: MIT */
/*
 * A call counts when it has ended, in the order of ends. Calls of several threads for the same
 * descriptor may overlap: then it is not known whose bytes came first, and the stream is of no use.
 */
#include "fleet/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "analyse/pair.h"
#include "fleet/descriptors.h"
#include "fleet/socket-address.h"
#include "fleet/socket-calls.h"
#include "store/left-out.h"
#include "store/sync.h"

#define NOT_KNOWN                                                                                  \
	(DT_CALL_UNWOUND | DT_CALL_OPEN | DT_CALL_NO_ENTRY | DT_CALL_LOSS | DT_CALL_LEFT |         \
	 DT_CALL_NO_EXIT | DT_CALL_PAUSED | DT_CALL_INFERRED)

struct finding {
	struct dt_reader *reader;
	struct dt_tcp_ends *to;
	struct dt_descriptors fds;
	struct dt_pair *pair;
	struct dt_socket_calls functions;
	struct dt_socket_noted *noted;
	size_t n_noted, room_noted;
	const struct dt_process_info **born, **dead; /* by the ticks of these */
	size_t processes, births, deaths;	     /* how many have been taken */
	struct dt_times *missing;		     /* in which calls may be missing */
	size_t n_missing, room_missing;
	bool failed; /* out of memory */
};

static enum dt_socket_call what_of(const struct finding *k, uint32_t function)
{
	return dt_socket_calls_what(&k->functions, function);
}

/* ---- addresses ---- */

/* Says that a connection has this address at one end. */
static void say_address(struct dt_tcp_end *c, struct dt_socket_address *which,
			const struct dt_socket_address *is)
{
	if (!is->port)
		return;
	if (which->port && memcmp(which, is, sizeof(*is)) != 0)
		c->conflict = true;
	*which = *is;
}

static bool take_first(void *ctx, const struct dt_call *c)
{
	*(const struct dt_call **)ctx = c;
	return false;
}

/* Takes records that follow an entry, or stand before an exit: what an argument leads to. */
static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct finding *k = ctx;
	const struct dt_site *site = dt_reader_site(k->reader, s->site[i]);
	const struct dt_call *c = NULL;
	bool buffer = site->place == DT_SITE_POINT_BUFFER;
	struct dt_socket_noted *x;
	enum dt_socket_call what;

	(void)depth;
	if ((!buffer && site->place != DT_SITE_POINT_MORE) || !s->value)
		return;
	dt_pair_callers(k->pair, take_first, &c);
	what = c && c->note ? what_of(k, c->function) : DT_SOCKET_NOTHING;
	/* connect() is given its address; the others fill theirs in */
	if (what != (buffer ? DT_SOCKET_CONNECT : what) || (what == DT_SOCKET_CONNECT && !buffer) ||
	    (what != DT_SOCKET_CONNECT && what != DT_SOCKET_ACCEPT && what != DT_SOCKET_LOCAL &&
	     what != DT_SOCKET_REMOTE) ||
	    c->note[0])
		return;
	if (k->n_noted == k->room_noted) {
		size_t room = k->room_noted ? 2 * k->room_noted : 64;
		struct dt_socket_noted *more = realloc(k->noted, room * sizeof(*more));

		if (!more) {
			k->failed = true;
			return;
		}
		k->noted = more;
		k->room_noted = room;
	}
	x = &k->noted[k->n_noted++];
	memset(x, 0, sizeof(*x));
	x->n = buffer ? 24 : 16;
	if (buffer && (uint32_t)s->value[i][0] < x->n)
		x->n = (uint8_t)s->value[i][0];
	memcpy(x->bytes, buffer ? &s->value[i][1] : &s->value[i][0], x->n);
	c->note[0] = (uint32_t)k->n_noted;
}

/* Gives the address that was recorded with a call: as dt_socket_address_take(). */
static int address_of(const struct finding *k, const struct dt_call *c,
		      struct dt_socket_address *to)
{
	uint32_t at = c->note ? c->note[0] : 0;

	memset(to, 0, sizeof(*to));
	return at && at <= k->n_noted ? dt_socket_address_take(to, &k->noted[at - 1]) : 0;
}

/* ---- descriptors ---- */

static uint32_t pid_of(const struct finding *k, uint32_t tid)
{
	const struct dt_thread_info *t = dt_reader_thread(k->reader, tid);

	return t && t->pid ? t->pid : tid;
}

static void touch(struct dt_tcp_end *c, uint64_t ticks)
{
	if (ticks > c->to)
		c->to = ticks;
}

static void close_at(struct finding *k, struct dt_descriptor *x, uint64_t ticks)
{
	struct dt_tcp_end *c;

	if (!x || x->to != UINT64_MAX)
		return;
	x->to = ticks;
	if (x->connection == DT_NO_CONNECTION)
		return;
	c = &k->to->p[x->connection];
	touch(c, ticks);
	c->closed = --c->held == 0;
}

/* A number of a process means something else from now on. */
static void open_at(struct finding *k, const struct dt_descriptor *x)
{
	/* that it was closed before was not seen, or is not over */
	close_at(k, dt_descriptors_find(&k->fds, x->pid, x->fd), x->from);
	if (dt_descriptors_add(&k->fds, x)) {
		k->failed = true;
	} else if (x->connection != DT_NO_CONNECTION) {
		k->to->p[x->connection].held++;
		k->to->p[x->connection].closed = false;
	}
}

struct inheriting {
	struct finding *k;
	const struct dt_process_info *child;
};

static int inherit(void *ctx, uint32_t index)
{
	const struct inheriting *h = ctx;
	struct dt_descriptor x = h->k->fds.p[index];

	if (x.from > h->child->begin_ticks)
		return 0;
	x.pid = h->child->pid;
	x.from = h->child->begin_ticks;
	x.before = x.next = 0;
	open_at(h->k, &x);
	return 0;
}

static int leave(void *ctx, uint32_t index)
{
	const struct inheriting *h = ctx;

	close_at(h->k, &h->k->fds.p[index], h->child->end_ticks);
	return 0;
}

/* Takes births and ends of processes up to a time. */
static void take_processes(struct finding *k, uint64_t until)
{
	struct inheriting h = {.k = k};

	for (; k->births < k->processes && k->born[k->births]->begin_ticks <= until; k->births++) {
		h.child = k->born[k->births];
		if (h.child->begin_ticks && h.child->ppid)
			dt_descriptors_each(&k->fds, h.child->ppid, inherit, &h);
	}
	for (; k->deaths < k->processes && k->dead[k->deaths]->end_ticks <= until; k->deaths++) {
		h.child = k->dead[k->deaths];
		if (h.child->end_ticks)
			dt_descriptors_each(&k->fds, h.child->pid, leave, &h);
	}
}

/* ---- calls ---- */

/* Begins a connection with a descriptor of a process. */
static void begin_connection(struct finding *k, const struct dt_descriptor *d, bool client,
			     const struct dt_socket_address *remote)
{
	struct dt_descriptor x = *d;

	if (k->to->n == k->to->room) {
		size_t room = k->to->room ? 2 * k->to->room : 64;
		struct dt_tcp_end *more = realloc(k->to->p, room * sizeof(*more));

		if (!more) {
			k->failed = true;
			return;
		}
		k->to->p = more;
		k->to->room = room;
	}
	k->to->p[k->to->n] = (struct dt_tcp_end){
		.client = client, .remote = *remote, .from = x.from, .to = x.from};
	x.connection = (uint32_t)k->to->n++;
	open_at(k, &x);
}

/* connect() was called: it has succeeded, or goes on by itself. */
static void on_connect(struct finding *k, const struct dt_call *c, uint32_t pid, bool known)
{
	struct dt_descriptor x = {.pid = pid,
				  .fd = (int32_t)c->argument[0],
				  .connection = DT_NO_CONNECTION,
				  .from = c->begin,
				  .to = UINT64_MAX};
	const struct dt_descriptor *old = dt_descriptors_find(&k->fds, pid, x.fd);
	struct dt_socket_address remote;
	int rc = address_of(k, c, &remote), error = known ? (int)c->result[3] : 0;
	bool open = old && old->to == UINT64_MAX;

	if (open && old->other)
		return;
	if (!known || ((int32_t)c->result[0] < 0 && error != EINPROGRESS && error != EINTR &&
		       error != EALREADY))
		return;
	/* asked once more */
	if (open && old->connection != DT_NO_CONNECTION) {
		struct dt_tcp_end *was = &k->to->p[old->connection];

		if (was->client && !was->sent.n && !was->got.n &&
		    !memcmp(&was->remote, &remote, sizeof(remote)))
			return;
	}
	x.other = rc < 0;
	if (rc < 0)
		open_at(k, &x);
	else
		begin_connection(k, &x, true, &remote);
}

static void on_accept(struct finding *k, const struct dt_call *c, uint32_t pid)
{
	struct dt_descriptor x = {.pid = pid,
				  .fd = (int32_t)c->result[0],
				  .connection = DT_NO_CONNECTION,
				  .from = c->end,
				  .to = UINT64_MAX};
	struct dt_socket_address remote;

	if (x.fd < 0)
		return;
	x.other = address_of(k, c, &remote) < 0;
	if (x.other)
		open_at(k, &x);
	else
		begin_connection(k, &x, false, &remote);
}

/* A new number for what another one means; or, for a socket, for something new. */
static void on_new(struct finding *k, const struct dt_call *c, uint32_t pid,
		   enum dt_socket_call what)
{
	struct dt_descriptor x = {.connection = DT_NO_CONNECTION}, *old;
	int domain = (int)c->argument[0];

	if ((int32_t)c->result[0] < 0 || (what == DT_SOCKET_FCNTL && c->argument[1] != F_DUPFD &&
					  c->argument[1] != F_DUPFD_CLOEXEC))
		return;
	old = what == DT_SOCKET_SOCKET ? NULL
				       : dt_descriptors_find(&k->fds, pid, (int32_t)c->argument[0]);
	if (old && old->fd == (int32_t)c->result[0])
		return;
	if (old && old->to == UINT64_MAX)
		x = *old;
	else if (what == DT_SOCKET_SOCKET)
		x.other = (domain != AF_INET && domain != AF_INET6) ||
			  (c->argument[1] & 15) != SOCK_STREAM;
	x.pid = pid;
	x.fd = (int32_t)c->result[0];
	x.from = c->end;
	x.to = UINT64_MAX;
	x.before = x.next = 0;
	open_at(k, &x);
}

static struct dt_tcp_end *connection_of(struct finding *k, const struct dt_call *c, uint32_t pid,
					unsigned argument)
{
	const struct dt_descriptor *x =
		dt_descriptors_find(&k->fds, pid, (int32_t)c->argument[argument]);

	return x && x->connection != DT_NO_CONNECTION && x->to == UINT64_MAX && c->begin >= x->from
		       ? &k->to->p[x->connection]
		       : NULL;
}

/* Adds a call that has moved so many bytes. */
static void move(struct finding *k, struct dt_stream_side *s, const struct dt_call *c, uint64_t n,
		 bool sends)
{
	/* one function of libc that calls another one for the same: the inner one has counted */
	if (s->n && c->tid == s->tid && c->begin <= s->begin)
		return;
	if (s->n && c->begin < s->end)
		s->unclear = true;
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct dt_stream_call *more = realloc(s->call, room * sizeof(*more));

		if (!more) {
			k->failed = true;
			return;
		}
		s->call = more;
		s->room = room;
	}
	s->bytes += n;
	s->call[s->n++] = (struct dt_stream_call){sends ? c->begin : c->end, s->bytes, c->tid};
	s->begin = c->begin;
	s->end = c->end;
	s->tid = c->tid;
}

static void on_move(struct finding *k, const struct dt_call *c, uint32_t pid, bool known,
		    bool sends, unsigned descriptor)
{
	unsigned at = dt_socket_calls_flags(&k->functions, c->function);
	struct dt_tcp_end *x = connection_of(k, c, pid, descriptor);
	struct dt_stream_side *s;
	uint64_t flags = at ? (uint32_t)c->argument[at] : 0;

	if (!x)
		return;
	s = sends ? &x->sent : &x->got;
	touch(x, c->end);
	if (!known) {
		/* of what was received without being seen, all that is said stays true */
		s->unclear |= sends;
		return;
	}
	if ((int64_t)c->result[0] <= 0 || (!sends && flags & (MSG_PEEK | MSG_ERRQUEUE)))
		return;
	if (flags & MSG_OOB)
		x->sent.unclear = x->got.unclear = true;
	move(k, s, c, c->result[0], sends);
}

/* Takes what was said of a connection's addresses, and what ends it. */
static void on_more(struct finding *k, const struct dt_call *c, uint32_t pid,
		    enum dt_socket_call what)
{
	struct dt_tcp_end *x = connection_of(k, c, pid, 0);
	struct dt_socket_address a;

	if (!x || (int32_t)c->result[0] < 0)
		return;
	if (what == DT_SOCKET_SHUTDOWN)
		x->sent.shut |= c->argument[1] == SHUT_WR || c->argument[1] == SHUT_RDWR;
	else if (what == DT_SOCKET_SEND_SEVERAL || what == DT_SOCKET_RECEIVE_SEVERAL)
		*(what == DT_SOCKET_SEND_SEVERAL ? &x->sent.unclear : &x->got.unclear) = true;
	else if (address_of(k, c, &a) > 0)
		say_address(x, what == DT_SOCKET_LOCAL ? &x->local : &x->remote, &a);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct finding *k = ctx;
	enum dt_socket_call what = what_of(k, c->function);
	bool known = c->result && !(c->flags & NOT_KNOWN);
	uint32_t pid = pid_of(k, c->tid);
	struct dt_descriptor *x;

	if (what == DT_SOCKET_NOTHING || !c->argument)
		return;
	take_processes(k, c->end);
	if (what == DT_SOCKET_SEND || what == DT_SOCKET_RECEIVE)
		on_move(k, c, pid, known, what == DT_SOCKET_SEND, 0);
	else if (what == DT_SOCKET_SPLICE) {
		on_move(k, c, pid, known, false, 0);
		on_move(k, c, pid, known, true, 2);
	} else if (what == DT_SOCKET_CONNECT)
		on_connect(k, c, pid, known);
	else if (what == DT_SOCKET_CLOSE) {
		/* also one that fails, or does not come back, has closed it */
		x = dt_descriptors_find(&k->fds, pid, (int32_t)c->argument[0]);
		if (x && x->from <= c->begin)
			close_at(k, x, c->begin);
	} else if (!known)
		return;
	else if (what == DT_SOCKET_ACCEPT)
		on_accept(k, c, pid);
	else if (what == DT_SOCKET_SOCKET || what == DT_SOCKET_DUP || what == DT_SOCKET_DUP_TO ||
		 what == DT_SOCKET_FCNTL)
		on_new(k, c, pid, what);
	else
		on_more(k, c, pid, what);
}

/* ---- what may be missing ---- */

static void add_missing(struct finding *k, uint64_t begin, uint64_t end)
{
	if (k->n_missing == k->room_missing) {
		size_t room = k->room_missing ? 2 * k->room_missing : 16;
		struct dt_times *more = realloc(k->missing, room * sizeof(*more));

		if (!more) {
			k->failed = true;
			return;
		}
		k->missing = more;
		k->room_missing = room;
	}
	k->missing[k->n_missing++] = (struct dt_times){.begin = begin, .end = end};
}

static int on_lost(void *ctx, const struct dt_lost *l)
{
	if (l->others)
		add_missing(ctx, l->begin, l->end ? l->end : UINT64_MAX);
	return 0;
}

static void find_missing(struct finding *k)
{
	size_t n;
	const struct dt_times *t = dt_reader_pause_times(k->reader, &n);

	for (size_t i = 0; i < n; i++)
		add_missing(k, t[i].begin, t[i].end);
	const struct dt_off *off = dt_reader_offs(k->reader, &n, &(size_t){0});
	for (size_t i = 0; i < n; i++)
		if (what_of(k, off[i].function))
			add_missing(k, off[i].begin, off[i].end);
	dt_reader_losses(k->reader, on_lost, k);
}

static int by_times(const void *p, const void *q)
{
	const struct dt_times *a = p, *b = q;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Doubts the connections that were open while calls may be missing. */
static void doubt_missing(struct finding *k)
{
	struct dt_times *t = k->missing;

	if (!k->n_missing)
		return;
	qsort(t, k->n_missing, sizeof(*t), by_times);
	/* so that the last of those that begin before a time is the one that ends last */
	for (size_t i = 1; i < k->n_missing; i++)
		if (t[i].end < t[i - 1].end)
			t[i].end = t[i - 1].end;
	for (size_t i = 0; i < k->to->n; i++) {
		struct dt_tcp_end *c = &k->to->p[i];
		size_t low = 0, high = k->n_missing;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (t[middle].begin <= c->to)
				low = middle + 1;
			else
				high = middle;
		}
		if (low && t[low - 1].end >= c->from)
			c->sent.unclear = c->got.unclear = true;
	}
}

/* ---- all of it ---- */

static int by_begin(const void *p, const void *q)
{
	uint64_t a = (*(const struct dt_process_info *const *)p)->begin_ticks;
	uint64_t b = (*(const struct dt_process_info *const *)q)->begin_ticks;

	return a < b ? -1 : a > b;
}

static int by_end(const void *p, const void *q)
{
	uint64_t a = (*(const struct dt_process_info *const *)p)->end_ticks;
	uint64_t b = (*(const struct dt_process_info *const *)q)->end_ticks;

	return a < b ? -1 : a > b;
}

static bool sort_processes(struct finding *k)
{
	const struct dt_process_info *p = dt_reader_processes(k->reader, &k->processes);

	k->born = calloc(k->processes + 1, sizeof(*k->born));
	k->dead = calloc(k->processes + 1, sizeof(*k->dead));
	if (!k->born || !k->dead)
		return false;
	for (size_t i = 0; i < k->processes; i++)
		k->born[i] = k->dead[i] = &p[i];
	qsort(k->born, k->processes, sizeof(*k->born), by_begin);
	qsort(k->dead, k->processes, sizeof(*k->dead), by_end);
	return true;
}

/* Takes what the recorder has seen of descriptors: "TID,FD,LOCAL,REMOTE". */
static int take_seen(struct finding *k, struct dt_error *e)
{
	struct dt_sync sync = {NULL};
	int rc = dt_sync_load(&sync, k->reader, e);

	for (size_t i = 0; i < sync.n && !rc; i++) {
		const struct dt_sync_row *row = &sync.row[i];
		struct dt_socket_address local, remote;
		const struct dt_descriptor *x;
		char text[2][64];
		uint32_t tid;
		int32_t fd;

		if (strcmp(row->kind, "socket") != 0 ||
		    sscanf(row->id, "%u,%d,%63[^,],%63s", &tid, &fd, text[0], text[1]) != 4 ||
		    !dt_socket_address_read(&local, text[0]) ||
		    !dt_socket_address_read(&remote, text[1]))
			continue;
		x = dt_descriptors_at(&k->fds, pid_of(k, tid), fd, row->begin, row->end);
		if (!x || x->connection == DT_NO_CONNECTION)
			continue;
		say_address(&k->to->p[x->connection], &k->to->p[x->connection].local, &local);
		say_address(&k->to->p[x->connection], &k->to->p[x->connection].remote, &remote);
	}
	dt_sync_free(&sync);
	return rc;
}

static int pair_all(struct finding *k, struct dt_error *e)
{
	const struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	const struct dt_pair_events events = {.end = on_end, .other = on_other, .ctx = k};
	struct dt_span s;
	int rc;

	k->pair = dt_pair_new(k->reader, &events, true);
	if (!k->pair)
		return dt_fail(e, "out of memory");
	rc = dt_reader_start(k->reader, &range, e);
	while (!rc && (rc = dt_reader_next(k->reader, &s, e)) > 0) {
		rc = 0;
		if (dt_pair_span(k->pair, &s))
			rc = dt_fail(e, "out of memory");
	}
	if (!rc && dt_pair_finish(k->pair))
		rc = dt_fail(e, "out of memory");
	dt_pair_free(k->pair);
	return rc;
}

static bool has_left_out(struct dt_reader *r)
{
	char words[64];

	dt_left_out_words(r, words, sizeof(words));
	return *words;
}

int dt_sockets_read(struct dt_tcp_ends *to, struct dt_reader *r, struct dt_error *e)
{
	struct finding k = {.reader = r, .to = to, .pair = NULL};
	int rc = -1;

	if (dt_socket_calls_find(&k.functions, r) || !sort_processes(&k)) {
		dt_fail(e, "out of memory");
		goto out;
	}
	rc = 0;
	if (!k.functions.any || has_left_out(r))
		goto out;
	find_missing(&k);
	rc = pair_all(&k, e);
	if (rc)
		goto out;
	take_processes(&k, UINT64_MAX);
	rc = take_seen(&k, e);
	doubt_missing(&k);
	if (!rc && k.failed)
		rc = dt_fail(e, "out of memory");
out:
	dt_descriptors_free(&k.fds);
	dt_socket_calls_free(&k.functions);
	free(k.noted);
	free(k.born);
	free(k.dead);
	free(k.missing);
	return rc;
}

bool dt_stream_is_whole(const struct dt_tcp_end *sender, const struct dt_tcp_end *receiver)
{
	return !sender->sent.unclear && !receiver->got.unclear &&
	       (sender->closed || sender->sent.shut) && sender->sent.n && receiver->got.n &&
	       sender->sent.bytes == receiver->got.bytes;
}

void dt_tcp_ends_free(struct dt_tcp_ends *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->p[i].sent.call);
		free(c->p[i].got.call);
	}
	free(c->p);
}
