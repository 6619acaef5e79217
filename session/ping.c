/* SPDX-License-Identifier: MIT */
#include "session/ping.h"

#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arch/arch.h"

#define WORD	  32
#define IN_ROW	  5
#define PAUSE_MS  100
#define ANSWER_MS 50	/* an answer that takes longer says little */
#define REMEMBERS 64	/* exchanges, by who answers, until it hears which were kept */
#define ADDRESSES 8	/* of who answers, which are tried in turn */
#define TRIES	  3	/* rows of questions without an answer, then the next address is tried */
#define MOST	  65536 /* rows that are kept until they are stored; 256 times a power of two */

/* What goes over the network; numbers are little endian. */
struct packet {
	char magic[8];
	char word[WORD];
	uint64_t run, number; /* who asks, and its exchange */
	uint64_t keep;	      /* an exchange of before that is kept; 0: none */
	uint8_t answer, zero[7];
};

static const char magic[8] = "dtping1";

struct noted {
	uint64_t run, number, ticks;
	bool answer, received;
};

struct exchange {
	uint64_t run, number, received, sent;
};

struct dt_ping {
	pthread_t thread;
	pthread_mutex_t lock; /* of noted and kept */
	struct noted *noted;
	size_t n, room;
	uint64_t kept;
	int fd, stop; /* the socket; an eventfd that ends the thread */
	bool answers, runs;
	char word[WORD];
	char *address[ADDRESSES]; /* of who answers; those that answer nothing are left for others
				   */
	unsigned addresses;
	struct exchange last[REMEMBERS]; /* of who answers */
	unsigned next;
};

static void note(struct dt_ping *p, uint64_t run, uint64_t number, bool answer, bool received,
		 uint64_t ticks)
{
	if (p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 256;
		struct noted *more = room <= MOST ? realloc(p->noted, room * sizeof(*more)) : NULL;

		if (!more)
			return; /* the other end alone says nothing, and does no harm */
		p->noted = more;
		p->room = room;
	}
	p->noted[p->n++] = (struct noted){run, number, ticks, answer, received};
}

/* Waits for a packet; false: none has come within so many ms (-1: for ever), or it is to end. */
static bool receive(struct dt_ping *p, struct packet *k, int ms, uint64_t *ticks,
		    struct sockaddr_storage *from, socklen_t *size)
{
	struct pollfd f[2] = {{p->fd, POLLIN, 0}, {p->stop, POLLIN, 0}};
	ssize_t n;

	if (poll(f, 2, ms) <= 0 || f[1].revents || !(f[0].revents & (POLLIN | POLLERR)))
		return false;
	*size = sizeof(*from);
	n = recvfrom(p->fd, k, sizeof(*k), MSG_DONTWAIT, (struct sockaddr *)from, size);
	*ticks = dt_ticks();
	if (n != sizeof(*k) || memcmp(k->magic, magic, sizeof(magic)))
		return false;
	/* all bytes are compared, so that the time does not tell how many are right */
	unsigned differ = 0;
	for (unsigned i = 0; i < WORD; i++)
		differ |= (unsigned)(k->word[i] ^ p->word[i]);
	return !differ;
}

static bool is_over(const struct dt_ping *p, int ms)
{
	struct pollfd f = {p->stop, POLLIN, 0};

	return poll(&f, 1, ms) > 0;
}

static void prepare(const struct dt_ping *p, struct packet *k, uint64_t run, uint64_t number,
		    uint64_t keep)
{
	memset(k, 0, sizeof(*k));
	memcpy(k->magic, magic, sizeof(magic));
	memcpy(k->word, p->word, WORD);
	k->run = htole64(run);
	k->number = htole64(number);
	k->keep = htole64(keep);
}

/* Asks once. Returns whether an answer came; gives when it was sent and received. */
static bool ask(struct dt_ping *p, uint64_t run, uint64_t number, uint64_t keep,
		struct exchange *to)
{
	struct sockaddr_storage from;
	socklen_t size;
	struct packet k;

	prepare(p, &k, run, number, keep);
	*to = (struct exchange){run, number, 0, dt_ticks()};
	if (send(p->fd, &k, sizeof(k), MSG_NOSIGNAL) != sizeof(k))
		return false;
	for (int tries = 0; tries < 4; tries++) {
		if (!receive(p, &k, ANSWER_MS, &to->received, &from, &size))
			return false;
		if (k.answer && le64toh(k.run) == run && le64toh(k.number) == number)
			return true;
	}
	return false;
}

/* Opens the socket: to the other one, or for others. */
static int open_socket(struct dt_ping *p, const char *address, struct dt_error *e)
{
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
				 .ai_flags = p->answers ? AI_PASSIVE : 0},
			*all = NULL;
	const char *colon = strrchr(address, ':');
	char host[256];
	size_t n = colon ? (size_t)(colon - address) : 0;
	int rc;

	/* a socket that has been bound already, by who has started this process */
	if (p->answers && !strncmp(address, "fd:", 3)) {
		p->fd = atoi(address + 3);
		return 0;
	}
	if (!n || n >= sizeof(host) || !colon[1])
		return dt_fail(e,
			       "'%s' is not ADDRESS:PORT; *:PORT is all addresses of this machine",
			       address);
	memcpy(host, address, n);
	host[n] = '\0';
	if (host[0] == '[' && host[n - 1] == ']') {
		memmove(host, host + 1, n - 2);
		host[n - 2] = '\0';
	}
	rc = getaddrinfo(strcmp(host, "*") ? host : NULL, colon + 1, &hints, &all);
	if (rc)
		return dt_fail(e, "%s: %s", address, gai_strerror(rc));
	for (struct addrinfo *a = all; a && p->fd < 0; a = a->ai_next) {
		p->fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (p->fd >= 0 && (p->answers ? bind(p->fd, a->ai_addr, a->ai_addrlen)
					      : connect(p->fd, a->ai_addr, a->ai_addrlen))) {
			rc = errno;
			close(p->fd);
			p->fd = -1;
		}
	}
	freeaddrinfo(all);
	return p->fd >= 0 ? 0 : dt_fail(e, "%s: %s", address, strerror(rc ? rc : errno));
}

/* Goes on to the next address, where nobody has answered at this one. */
static void turn(struct dt_ping *p, unsigned *at)
{
	for (unsigned i = 0; i < p->addresses; i++) {
		*at = (*at + 1) % p->addresses;
		if (p->fd >= 0)
			close(p->fd);
		p->fd = -1;
		if (open_socket(p, p->address[*at], NULL) == 0)
			return;
	}
}

static void ask_all(struct dt_ping *p)
{
	uint64_t run = 0, number = 0, keep = 0;
	unsigned at = 0, vain = 0;
	struct packet last;

	if (getrandom(&run, sizeof(run), 0) != sizeof(run))
		return;
	while (!is_over(p, PAUSE_MS)) {
		struct exchange best = {0}, x;

		for (int i = 0; i < IN_ROW; i++)
			if (ask(p, run, ++number, keep, &x) &&
			    (!best.number || x.received - x.sent < best.received - best.sent))
				best = x;
		keep = best.number;
		vain = keep ? 0 : vain + 1;
		if (vain == TRIES && p->addresses > 1) {
			vain = 0;
			turn(p, &at);
		}
		if (!keep)
			continue;
		pthread_mutex_lock(&p->lock);
		note(p, run, keep, false, false, best.sent);
		note(p, run, keep, true, true, best.received);
		p->kept++;
		pthread_mutex_unlock(&p->lock);
	}
	/* what was kept last is to be known to the other one, too */
	prepare(p, &last, run, ++number, keep);
	send(p->fd, &last, sizeof(last), MSG_NOSIGNAL);
}

/* Notes the exchange of that number, which the other one has kept. */
static void keep_exchange(struct dt_ping *p, uint64_t run, uint64_t number)
{
	for (unsigned i = 0; number && i < REMEMBERS; i++) {
		struct exchange *x = &p->last[i];

		if (x->run != run || x->number != number)
			continue;
		pthread_mutex_lock(&p->lock);
		note(p, run, number, false, true, x->received);
		note(p, run, number, true, false, x->sent);
		p->kept++;
		pthread_mutex_unlock(&p->lock);
		x->number = 0; /* it is said several times */
	}
}

static void answer_all(struct dt_ping *p)
{
	struct sockaddr_storage from;
	socklen_t size;
	struct packet k;
	uint64_t ticks;

	while (!is_over(p, 0)) {
		struct exchange *x = &p->last[p->next];

		if (!receive(p, &k, -1, &ticks, &from, &size) || k.answer)
			continue;
		*x = (struct exchange){le64toh(k.run), le64toh(k.number), ticks, 0};
		p->next = (p->next + 1) % REMEMBERS;
		uint64_t keep = le64toh(k.keep);
		k.answer = 1;
		x->sent = dt_ticks();
		sendto(p->fd, &k, sizeof(k), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&from,
		       size);
		keep_exchange(p, x->run, keep);
	}
}

static void *work(void *arg)
{
	struct dt_ping *p = arg;

	if (p->answers)
		answer_all(p);
	else
		ask_all(p);
	return NULL;
}

/* Takes the addresses apart. */
static int split(struct dt_ping *p, const char *text, struct dt_error *e)
{
	do {
		size_t n = strcspn(text, ",");

		if (p->addresses == ADDRESSES)
			return dt_fail(e, "more than %d addresses", ADDRESSES);
		p->address[p->addresses] = strndup(text, n);
		if (!p->address[p->addresses++])
			return dt_fail(e, "out of memory");
		text += n;
	} while (*text++);
	return 0;
}

struct dt_ping *dt_ping_start(const char *address, const char *word, bool answers,
			      struct dt_error *e)
{
	struct dt_ping *p;

	if (!word || strlen(word) < 8 || strlen(word) > WORD) {
		dt_fail(e, "set %s to a word of 8 to %d letters that only the two machines know",
			DT_PING_WORD, WORD);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	p->fd = -1;
	p->stop = eventfd(0, EFD_CLOEXEC);
	p->answers = answers;
	memcpy(p->word, word, strlen(word));
	pthread_mutex_init(&p->lock, NULL);
	if (p->stop < 0) {
		dt_fail(e, "pings: %s", strerror(errno));
		goto bad;
	}
	if (split(p, address, e) || open_socket(p, p->address[0], e))
		goto bad;
	if (pthread_create(&p->thread, NULL, work, p)) {
		dt_fail(e, "no thread for pings");
		goto bad;
	}
	p->runs = true;
	return p;
bad:
	dt_ping_free(p);
	return NULL;
}

void dt_ping_store(struct dt_ping *p, struct dt_store *to)
{
	char id[80];

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->n; i++) {
		const struct noted *x = &p->noted[i];
		struct dt_sync_row row = {.kind = x->received ? "received" : "sent",
					  .id = id,
					  .begin = x->ticks,
					  .end = x->ticks,
					  .bound = -1};

		snprintf(id, sizeof(id), "%016lx-%lu-%s", (unsigned long)x->run,
			 (unsigned long)x->number, x->answer ? "answer" : "question");
		dt_store_sync(to, &row, NULL);
	}
	p->n = 0;
	pthread_mutex_unlock(&p->lock);
}

void dt_ping_stop(struct dt_ping *p)
{
	if (!p || !p->runs)
		return;
	if (eventfd_write(p->stop, 1) == 0)
		pthread_join(p->thread, NULL);
	p->runs = false;
}

uint64_t dt_ping_kept(const struct dt_ping *p)
{
	return p ? p->kept : 0;
}

void dt_ping_free(struct dt_ping *p)
{
	if (!p)
		return;
	dt_ping_stop(p);
	if (p->fd >= 0)
		close(p->fd);
	if (p->stop >= 0)
		close(p->stop);
	pthread_mutex_destroy(&p->lock);
	for (unsigned i = 0; i < p->addresses; i++)
		free(p->address[i]);
	free(p->noted);
	free(p);
}
