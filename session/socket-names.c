/* SPDX-License-Identifier: MIT */
#include "session/socket-names.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/now.h"
#include "session/lives.h"

#define TRIES	  10	   /* the last one about half a second after the call */
#define FIRST_NS  1000000u /* before the second try; twice as long before each further one */
#define SHARE	  20	   /* asking takes at most one part in so many of a processor */
#define PENDING	  65536u   /* sockets that are asked for at a time */
#define LISTENING 0x0a	   /* in /proc/net/tcp: enum in the kernel's net/tcp_states.h */

/* A descriptor that is to be asked for. */
struct pending {
	uint32_t tid;	 /* id */
	uint32_t number; /* the kernel's, for /proc */
	int32_t fd;
	unsigned tries;
	uint64_t due;	     /* ns */
	uint64_t begin, end; /* ticks around the moment when... */
	uint64_t inode;	     /* ...it was this socket; 0: it is none, or is gone */
	bool done;
};

struct dt_socket_names {
	uint64_t *pc; /* sites of interest, open addressing; size is a power of two; 0: free */
	size_t size, used;
	struct pending *pending;
	size_t n, room;
	uint64_t rests; /* ns until which nothing is asked */
};

struct dt_socket_names *dt_socket_names_new(void)
{
	struct dt_socket_names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->size = 64;
	n->pc = calloc(n->size, sizeof(*n->pc));
	if (!n->pc) {
		free(n);
		return NULL;
	}
	return n;
}

void dt_socket_names_free(struct dt_socket_names *n)
{
	if (!n)
		return;
	free(n->pc);
	free(n->pending);
	free(n);
}

/* ---- which records ---- */

static size_t place_of(const uint64_t *pc, size_t size, uint64_t key)
{
	size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 32) & (size - 1);

	while (pc[at] && pc[at] != key)
		at = (at + 1) & (size - 1);
	return at;
}

static bool grow(struct dt_socket_names *n)
{
	uint64_t *more = calloc(2 * n->size, sizeof(*more));

	if (!more)
		return false;
	for (size_t i = 0; i < n->size; i++)
		if (n->pc[i])
			more[place_of(more, 2 * n->size, n->pc[i])] = n->pc[i];
	free(n->pc);
	n->pc = more;
	n->size *= 2;
	return true;
}

/* connect() is given the descriptor, accept() returns it. */
void dt_socket_names_site(struct dt_socket_names *n, const struct dt_record *r,
			  const char *function)
{
	bool connects = function && !strcmp(function, "connect");
	size_t at;

	if (!n)
		return;
	if (!(connects && r->kind == DT_ENTRY) &&
	    !(function && r->kind == DT_EXIT &&
	      (!strcmp(function, "accept") || !strcmp(function, "accept4"))))
		return;
	if (2 * (n->used + 1) > n->size && !grow(n))
		return;
	at = place_of(n->pc, n->size, r->pc);
	n->used += !n->pc[at];
	n->pc[at] = r->pc;
}

static void add(struct dt_socket_names *n, const struct dt_record *r)
{
	int32_t fd = (int32_t)r->value[0];

	if (fd < 0 || n->n >= PENDING)
		return;
	if (n->n == n->room) {
		size_t room = n->room ? 2 * n->room : 64;
		struct pending *more = realloc(n->pending, room * sizeof(*more));

		if (!more)
			return;
		n->pending = more;
		n->room = room;
	}
	n->pending[n->n++] = (struct pending){.tid = r->tid, .fd = fd};
}

void dt_socket_names_records(struct dt_socket_names *n, const struct dt_record *r, size_t count)
{
	for (size_t i = 0; n->used && i < count; i++)
		if ((r[i].kind == DT_ENTRY || r[i].kind == DT_EXIT) &&
		    n->pc[place_of(n->pc, n->size, r[i].pc)])
			add(n, &r[i]);
}

/* ---- asking ---- */

/* Asks which socket a descriptor is now. */
static void ask(struct pending *p)
{
	char path[64], link[64];
	ssize_t n;

	dt_format(path, sizeof(path), "/proc/%u/fd/%d", p->number, p->fd);
	p->begin = dt_ticks();
	n = readlink(path, link, sizeof(link) - 1);
	p->end = dt_ticks();
	link[n > 0 ? n : 0] = '\0';
	p->inode = 0;
	if (sscanf(link, "socket:[%lu]", &p->inode) != 1)
		p->done = true;
}

/* Writes an address of /proc/net/tcp, which has 8 digits for each word of it as it lies in memory.
 */
static bool write_address(char *to, size_t size, const char *digits, unsigned port)
{
	uint32_t word[4] = {0};
	char text[INET6_ADDRSTRLEN];
	bool six = strlen(digits) == 32;

	for (size_t i = 0; i < (six ? 4 : 1); i++)
		if (sscanf(digits + 8 * i, "%8x", &word[i]) != 1)
			return false;
	if (!inet_ntop(six ? AF_INET6 : AF_INET, word, text, sizeof(text)))
		return false;
	dt_format(to, size, six ? "[%s]:%u" : "%s:%u", text, port);
	return true;
}

/* Stores what a line of /proc/net/tcp says of those of the sockets [first, n) that are in the same
 * network. */
static void take_line(struct dt_session *s, struct pending *p, size_t n, const char *line)
{
	char local[33], remote[33], text[2][64], id[160];
	struct dt_sync_row row = {.kind = "socket", .id = id, .bound = -1};
	unsigned ports[2], state;
	uint64_t inode;

	if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s %*s %*s %*s %lu", local,
		   &ports[0], remote, &ports[1], &state, &inode) != 6 ||
	    state == LISTENING || !inode || !ports[0] || !ports[1])
		return;
	for (size_t i = 0; i < n; i++) {
		if (p[i].done || p[i].inode != inode)
			continue;
		p[i].done = true;
		if (!write_address(text[0], sizeof(text[0]), local, ports[0]) ||
		    !write_address(text[1], sizeof(text[1]), remote, ports[1]))
			continue;
		dt_format(id, sizeof(id), "%u,%d,%s,%s", p[i].tid, p[i].fd, text[0], text[1]);
		row.begin = p[i].begin;
		row.end = p[i].end;
		pthread_mutex_lock(&s->lock);
		dt_store_sync(s->store, &row, NULL);
		pthread_mutex_unlock(&s->lock);
	}
}

/* Looks in the tables of the network of the first socket, for it and for those after it whose
 * process is the same one; returns how many these are. */
static size_t look_up(struct dt_session *s, struct pending *p, size_t n)
{
	static const char *const table[] = {"tcp", "tcp6"};
	char path[64], *line = NULL;
	size_t room = 0, same = 1;

	while (same < n && p[same].number == p->number)
		same++;
	for (size_t i = 0; i < 2; i++) {
		FILE *f;

		dt_format(path, sizeof(path), "/proc/%u/net/%s", p->number, table[i]);
		f = fopen(path, "re");
		while (f && getline(&line, &room, f) > 0)
			take_line(s, p, same, line);
		if (f)
			fclose(f);
	}
	free(line);
	return same;
}

static int by_number(const void *p, const void *q)
{
	const struct pending *a = p, *b = q;

	return a->number < b->number ? -1 : a->number > b->number;
}

/* Puts those that are due first, and asks for them; returns how many they are. */
static size_t ask_due(struct dt_session *s, struct dt_socket_names *n, uint64_t now)
{
	size_t due = 0;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n->n; i++) {
		struct pending p = n->pending[i];

		if (p.due > now)
			continue;
		p.number = dt_lives_number(s, p.tid);
		/* another one has its number */
		p.done = !dt_lives_is_last(s, p.tid);
		n->pending[i] = n->pending[due];
		n->pending[due++] = p;
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < due; i++)
		if (!n->pending[i].done)
			ask(&n->pending[i]);
	qsort(n->pending, due, sizeof(*n->pending), by_number);
	return due;
}

/* Returns the processor's time that this thread has taken, ns: on a busy machine, looking takes
 * longer by the clock. */
static uint64_t own_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void dt_socket_names_look(struct dt_session *s)
{
	struct dt_socket_names *n = s->socket_names;
	uint64_t now = dt_now_ns(), own;
	size_t due, left = 0;

	if (!n->n || now < n->rests || !dt_session_has_file(s))
		return;
	own = own_time();
	due = ask_due(s, n, now);
	for (size_t i = 0; i < due;)
		i += look_up(s, &n->pending[i], due - i);
	for (size_t i = 0; i < n->n; i++) {
		struct pending *p = &n->pending[i];

		if (i < due) {
			p->due = now + ((uint64_t)FIRST_NS << p->tries);
			p->done |= ++p->tries == TRIES;
		}
		if (!p->done)
			n->pending[left++] = *p;
	}
	n->n = left;
	n->rests = dt_now_ns() + SHARE * (own_time() - own);
}
