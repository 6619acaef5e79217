/* SPDX-License-Identifier: MIT */
/* The door. */
#include "view/door.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define VISITORS 128	/* at most: one more, and the one that came first is closed */
#define ASK_MS	 10000u /* a visitor must have begun its request within this time */
#define LEAVE_MS 2000u	/* a refused visitor is closed after this time */
#define FULL_MS	 100	/* accepting is tried again after this, when there are no descriptors */
#define METHOD	 8	/* bytes of the longest method, with the space */
#define HEAD	 (METHOD + 1 + DT_DOOR_WORD + 1) /* bytes of a request that decide about it */
#define FIRST	 2 /* index of the first visitor in poll()'s list: after the end and the listener */

/* A connection that has not been admitted. */
struct visitor {
	int fd;
	bool refused;	/* it has its answer; what it sends after that is thrown away */
	uint64_t until; /* CLOCK_MONOTONIC, ms: when it is closed */
	struct sockaddr_storage from;
	socklen_t from_n;
};

struct dt_door {
	struct dt_doorman man;
	int fd, end; /* the listener; an eventfd that ends the thread */
	unsigned port;
	bool full;    /* there was no descriptor for another visitor */
	bool watched; /* the thread has been started */
	pthread_t thread;
	struct visitor visitor[VISITORS]; /* in the order in which they came */
	size_t visitors;
};

static const char refusal[] = "HTTP/1.1 404 Not Found\r\n"
			      "Content-Type: text/plain; charset=utf-8\r\n"
			      "Content-Length: 54\r\n"
			      "X-Content-Type-Options: nosniff\r\n"
			      "Cross-Origin-Resource-Policy: same-origin\r\n"
			      "Cache-Control: no-store\r\n"
			      "Connection: close\r\n"
			      "\r\n"
			      "open the whole address that devtrace view has printed\n";

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- judging ---- */

enum verdict { NOT_YET, KNOWN, STRANGER };

/* Judges a visitor by the first n bytes of its request: METHOD /WORD... */
static enum verdict judge(const struct dt_door *d, const char *head, size_t n)
{
	const char *space = memchr(head, ' ', n < METHOD ? n : METHOD);
	char word[DT_DOOR_WORD + 2];
	size_t at;

	if (!space)
		return n < METHOD && !memchr(head, '\n', n) ? NOT_YET : STRANGER;
	at = (size_t)(space - head) + 1;
	if ((n > at && head[at] != '/') || memchr(head, '\n', n))
		return STRANGER;
	at++;
	if (n < at + DT_DOOR_WORD + 1)
		return NOT_YET;
	memcpy(word, head + at, sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	if (word[DT_DOOR_WORD] == ' ' || word[DT_DOOR_WORD] == '?')
		word[DT_DOOR_WORD] = '\0';
	return d->man.knows(d->man.ctx, word) ? KNOWN : STRANGER;
}

/* ---- visitors ---- */

/* Takes visitor i out of the list. Its connection is not closed: it may have been admitted. */
static void forget(struct dt_door *d, size_t i)
{
	memmove(d->visitor + i, d->visitor + i + 1, (--d->visitors - i) * sizeof(*d->visitor));
}

static void drop(struct dt_door *d, size_t i)
{
	close(d->visitor[i].fd);
	forget(d, i);
}

/* Makes poll() report fd only when n bytes have come. */
static void wake_at(int fd, size_t n)
{
	int bytes = (int)n;

	setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
}

/* Sends the refusal. What the visitor sends after that must be read until it leaves: closing with
 * unread data would reset the connection, and the answer would be lost. */
static void refuse(struct visitor *v)
{
	wake_at(v->fd, 1);
	/* nothing was sent before, so there is room for all of it */
	send(v->fd, refusal, sizeof(refusal) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	shutdown(v->fd, SHUT_WR);
	v->refused = true;
	v->until = now_ms() + LEAVE_MS;
}

/* Throws away what a refused visitor sends. False: it has gone. */
static bool listen_on(const struct visitor *v)
{
	char data[4096];
	ssize_t n = recv(v->fd, data, sizeof(data), MSG_DONTWAIT);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Deals with visitor i, from whom bytes have come. end: it will send nothing more. */
static void look(struct dt_door *d, size_t i, bool end)
{
	struct visitor *v = &d->visitor[i], in;
	char head[HEAD];
	ssize_t n;

	if (v->refused) {
		if (!listen_on(v))
			drop(d, i);
		return;
	}
	n = recv(v->fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	switch (n <= 0 ? NOT_YET : judge(d, head, (size_t)n)) {
	case KNOWN:
		in = *v;
		wake_at(in.fd, 1);
		forget(d, i);
		d->man.admit(d->man.ctx, in.fd, (const struct sockaddr *)&in.from, in.from_n);
		break;
	case STRANGER:
		refuse(v);
		break;
	case NOT_YET:
		if (n <= 0 || end)
			drop(d, i);
		else
			wake_at(v->fd, (size_t)n + 1);
		break;
	}
}

/* Accepts a connection. */
static void take(struct dt_door *d)
{
	struct visitor v = {.until = now_ms() + ASK_MS, .from_n = sizeof(v.from)};

	v.fd = accept4(d->fd, (struct sockaddr *)&v.from, &v.from_n, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (v.fd < 0) {
		d->full = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
		if (d->full && d->visitors)
			drop(d, 0);
		return;
	}
	if (d->visitors == VISITORS)
		drop(d, 0);
	d->visitor[d->visitors++] = v;
}

/* Closes the visitors whose time is over. Returns for how many ms no other's will be; -1: there are
 * no others. */
static int look_at_time(struct dt_door *d)
{
	uint64_t now = now_ms(), first = UINT64_MAX;

	for (size_t i = d->visitors; i-- > 0;)
		if (d->visitor[i].until <= now)
			drop(d, i);
		else if (d->visitor[i].until < first)
			first = d->visitor[i].until;
	return first == UINT64_MAX ? -1 : (int)(first - now);
}

static void *watch(void *ctx)
{
	struct dt_door *d = ctx;
	struct pollfd p[FIRST + VISITORS];

	for (;;) {
		int wait = look_at_time(d);
		size_t n = d->visitors;

		p[0] = (struct pollfd){d->end, POLLIN, 0};
		p[1] = (struct pollfd){d->full ? -1 : d->fd, POLLIN, 0};
		for (size_t i = 0; i < n; i++)
			p[FIRST + i] = (struct pollfd){d->visitor[i].fd, POLLIN | POLLRDHUP, 0};
		if (d->full && (wait < 0 || wait > FULL_MS))
			wait = FULL_MS;
		if (poll(p, FIRST + n, wait) < 0)
			continue;
		d->full = false;
		if (p[0].revents)
			return NULL;
		for (size_t i = n; i-- > 0;)
			if (p[FIRST + i].revents)
				look(d, i, p[FIRST + i].revents & (POLLRDHUP | POLLHUP | POLLERR));
		if (p[1].revents)
			take(d);
	}
}

/* ---- opening ---- */

static int listen_at(struct dt_door *d, const struct sockaddr_storage *at)
{
	bool six = at->ss_family == AF_INET6;
	struct sockaddr_storage own;
	socklen_t n = six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	const int yes = 1;

	d->fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (d->fd < 0)
		return -1;
	setsockopt(d->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (six)
		setsockopt(d->fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (bind(d->fd, (const struct sockaddr *)at, n) < 0 || listen(d->fd, SOMAXCONN) < 0)
		return -1;
	n = sizeof(own);
	if (getsockname(d->fd, (struct sockaddr *)&own, &n) < 0)
		return -1;
	d->port = ntohs(six ? ((struct sockaddr_in6 *)&own)->sin6_port
			    : ((struct sockaddr_in *)&own)->sin_port);
	return 0;
}

struct dt_door *dt_door_open(const struct sockaddr_storage *at, const struct dt_doorman *man,
			     struct dt_error *e)
{
	struct dt_door *d = calloc(1, sizeof(*d));

	if (!d) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	d->man = *man;
	d->fd = d->end = -1;
	if (listen_at(d, at) == 0 && (d->end = eventfd(0, EFD_CLOEXEC)) >= 0)
		return d;
	dt_fail(e, "%s", strerror(errno));
	if (d->fd >= 0)
		close(d->fd);
	if (d->end >= 0)
		close(d->end);
	free(d);
	return NULL;
}

int dt_door_watch(struct dt_door *d)
{
	int rc = pthread_create(&d->thread, NULL, watch, d);

	d->watched = rc == 0;
	return rc;
}

unsigned dt_door_port(const struct dt_door *d)
{
	return d->port;
}

void dt_door_close(struct dt_door *d)
{
	if (!d)
		return;
	eventfd_write(d->end, 1);
	if (d->watched)
		pthread_join(d->thread, NULL);
	while (d->visitors)
		drop(d, d->visitors - 1);
	close(d->fd);
	close(d->end);
	free(d);
}
