/* SPDX-License-Identifier: MIT */
/* The server of traces. */
#include "remote/server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PEERS	256	     /* further clients wait until one goes, or can be sent away */
#define PENDING 16	     /* requests of one client; more stay in its socket */
#define LINE	256	     /* bytes of a request */
#define TURN	(256u << 10) /* bytes sent before the next client's turn */

#define FIRST	3   /* first client's index in what is polled: after signals, making, listener */
#define FULL_MS 100 /* until accepting is tried again when descriptors have run out */

/* within this time a client's first request, or one that it has begun, has to be complete */
#define ASK_MS	30000
#define IDLE_MS 1000  /* a client that has asked for nothing for so long gives way to others */
#define DEAF_MS 10000 /* so does one that has read nothing of its answer for so long */

enum request { TRACE, FILE_BYTES, STAT, UNKNOWN, TOO_LONG };

/* An answer that is sent to one client or several. */
struct answer {
	unsigned users; /* how many clients it is being sent to */
	int fd;		/* the file with the answer; -1: it is in `text' */
	uint64_t size;
	char text[1024];
};

/* A client. */
struct peer {
	int in, out;	 /* the same socket, or standard input and output */
	char data[4096]; /* bytes received, not yet understood */
	size_t n;
	uint64_t moved; /* ms when it last came, began or ended a request, or took some of an answer
			 */
	bool asked;	/* it has made a request before */
	bool skipping;	/* the rest of a line that is too long is being passed over */
	bool eof;	/* it will send no more requests */
	enum request request[PENDING];
	size_t requests;
	unsigned long since; /* the server's clock when its first request began to wait; 0: it does
				not wait */
	bool joined;	     /* the answer that is being made is for it, too */
	struct answer *answer; /* of its first request, being sent; NULL: none is */
	char head[32];	       /* what is sent before the answer's bytes */
	size_t head_n, head_sent;
	uint64_t sent; /* bytes of the answer */
};

/* The server. */
struct server {
	const struct dt_serving *how;
	struct peer *peer[PEERS];
	size_t peers;
	struct dt_making making;
	int signals;
	/* `clock' orders the requests that wait; the others are for stat */
	unsigned long clock, made, answered, clients, bytes;
	bool unwanted; /* nobody wants what is being made */
	bool full;     /* no descriptor was left for another client */
};

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- answers ---- */

static struct answer *new_answer(void)
{
	struct answer *a = calloc(1, sizeof(*a));

	if (a)
		a->fd = -1;
	return a;
}

static void drop_answer(struct answer *a)
{
	if (!a || --a->users > 0)
		return;
	if (a->fd >= 0)
		close(a->fd);
	free(a);
}

/* Gives a client the answer to its first request, which is sent from now on. */
static void give(struct peer *p, struct answer *a, bool failed)
{
	bool file = p->request[0] == FILE_BYTES;

	p->answer = a;
	a->users++;
	p->sent = p->head_sent = 0;
	p->moved = now_ms();
	p->joined = false;
	p->since = 0;
	p->head_n = dt_format(p->head, sizeof(p->head), file ? "%s%lu\n" : "%s%08lu",
			      !file    ? ""
			      : failed ? "error "
				       : "ok ",
			      (unsigned long)a->size);
}

static void give_text(struct peer *p, const char *text, bool failed)
{
	struct answer *a = new_answer();

	if (!a)
		return; /* the caller's request stays, and this is tried again */
	a->size = dt_format(a->text, sizeof(a->text),
			    failed && p->request[0] != FILE_BYTES ? "# error: %s\n" : "%s", text);
	if (a->size >= sizeof(a->text))
		a->size = sizeof(a->text) - 1;
	give(p, a, failed);
}

static void give_stat(const struct server *s, struct peer *p)
{
	char text[512];

	dt_format(text, sizeof(text),
		  "clients %zu\nclients_ever %lu\nanswers %lu\nanswers_made %lu\nbytes_sent %lu\n"
		  "making %d\n",
		  s->peers, s->clients, s->answered, s->made, s->bytes, s->making.pid != 0);
	give_text(p, text, false);
}

/* Tells whether an answer to trace is being made, or sent to anybody. */
static bool is_busy(const struct server *s)
{
	if (s->making.pid && s->making.form == DT_FORM_DUMP)
		return true;
	for (size_t i = 0; i < s->peers; i++)
		if (s->peer[i]->answer && s->peer[i]->request[0] == TRACE)
			return true;
	return false;
}

static void give_busy(struct peer *p)
{
	struct answer *a = new_answer();

	if (!a)
		return;
	give(p, a, true);
	p->head_n = dt_format(p->head, sizeof(p->head), "000000");
}

/* Answers a client's first request at once, or has it wait until its answer is made. */
static void look_at_request(struct server *s, struct peer *p)
{
	if (!p->requests || p->answer || p->since)
		return;
	switch (p->request[0]) {
	case STAT:
		give_stat(s, p);
		return;
	case UNKNOWN:
		give_text(p, "not a request: there are trace, file and stat, each a line", true);
		return;
	case TOO_LONG:
		give_text(p, "the line is too long; requests are trace, file and stat", true);
		return;
	case TRACE:
		if (s->how->busy && is_busy(s)) {
			give_busy(p);
			return;
		}
		break;
	case FILE_BYTES:
		break;
	}
	p->since = ++s->clock;
}

/* ---- making ---- */

static enum dt_form form_of(const struct peer *p)
{
	return p->request[0] == TRACE ? DT_FORM_DUMP : DT_FORM_FILE;
}

/* Returns the client that has waited longest; NULL: none waits. */
static struct peer *first_waiting(const struct server *s)
{
	struct peer *first = NULL;

	for (size_t i = 0; i < s->peers; i++)
		if (s->peer[i]->since && (!first || s->peer[i]->since < first->since))
			first = s->peer[i];
	return first;
}

static void begin_making(struct server *s)
{
	struct peer *first = first_waiting(s);
	struct dt_error e;

	if (!first || s->making.pid)
		return;
	if (dt_making_begin(&s->making, &s->how->maker, form_of(first), s->made, &e) < 0) {
		give_text(first, e.text, true);
		return;
	}
	s->made++;
	s->unwanted = false;
	first->joined = true;
	for (size_t i = 0; i < s->peers && !s->how->maker.each; i++) {
		struct peer *p = s->peer[i];

		p->joined = p->joined || (p->since && form_of(p) == s->making.form);
	}
}

static void end_making(struct server *s)
{
	struct dt_making *m = &s->making;
	struct dt_error *e = &m->error;
	struct answer *a = new_answer();
	struct stat st;

	if (!e->text[0] && (!a || fstat(m->fd, &st) < 0))
		dt_fail(e, "out of memory");
	if (!e->text[0] && m->form == DT_FORM_DUMP && (uint64_t)st.st_size > DT_DUMP_MAX)
		dt_fail(e, "the dump has %lu bytes, more than 8 digits can tell; ask for file",
			(unsigned long)st.st_size);
	for (size_t i = 0; i < s->peers; i++) {
		struct peer *p = s->peer[i];

		if (!p->joined)
			continue;
		if (e->text[0]) {
			p->joined = false;
			p->since = 0;
			give_text(p, e->text, true);
			continue;
		}
		a->fd = m->fd;
		a->size = (uint64_t)st.st_size;
		give(p, a, false);
	}
	if (!a || !a->users) {
		close(m->fd);
		free(a);
	}
	m->fd = -1;
}

/* Tells the process that makes an answer when no client is left that wants it. */
static void check_wanted(struct server *s)
{
	if (!s->making.pid || s->unwanted)
		return;
	for (size_t i = 0; i < s->peers; i++)
		if (s->peer[i]->joined)
			return;
	s->unwanted = true;
	dt_making_unwant(&s->making);
}

/* ---- reading ---- */

static enum request understand(const char *line, size_t n)
{
	static const struct {
		const char *word;
		enum request request;
	} known[] = {{"trace", TRACE}, {"file", FILE_BYTES}, {"stat", STAT}, {"cardinfo", STAT}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i].word) == n && memcmp(line, known[i].word, n) == 0)
			return known[i].request;
	return UNKNOWN;
}

/*
 * Tells whether a line is of HTTP: a web page has led a browser here, and it must not be answered.
 */
static bool is_http(const char *line, size_t n)
{
	return n > 9 && memmem(line, n, " HTTP/1.", 8) != NULL;
}

/* Takes one line, without its end, as a request. False: the connection is to be closed. */
static bool take_line(struct peer *p, const char *line, size_t n)
{
	if (n && line[n - 1] == '\r')
		n--;
	if (!n && !p->skipping)
		return true;
	if (is_http(line, n))
		return false;
	p->request[p->requests++] = p->skipping ? TOO_LONG : understand(line, n);
	p->skipping = false;
	p->asked = true;
	p->moved = now_ms();
	return true;
}

/* Takes the lines that have come, as far as there is room for requests. False: the connection is to
 * be closed. */
static bool take_lines(struct peer *p)
{
	size_t at = 0;

	while (p->requests < PENDING && at < p->n) {
		const char *line = p->data + at, *end = memchr(line, '\n', p->n - at);
		size_t n = end ? (size_t)(end - line) : p->n - at;

		if (!end && !p->eof) {
			if (n <= LINE && !p->skipping)
				break;
			p->skipping = true;
			at += n;
			break;
		}
		p->skipping = p->skipping || n > LINE;
		if (!take_line(p, line, n))
			return false;
		at += n + (end != NULL);
	}
	if (p->eof && p->n == 0 && p->skipping && p->requests < PENDING)
		return take_line(p, "", 0);
	memmove(p->data, p->data + at, p->n - at);
	p->n -= at;
	return true;
}

static bool may_read(const struct peer *p)
{
	return !p->eof && p->requests < PENDING && p->n < sizeof(p->data);
}

/* Reads what a client has sent. False: it has gone. */
static bool receive(struct peer *p)
{
	ssize_t n = read(p->in, p->data + p->n, sizeof(p->data) - p->n);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	p->eof = n == 0;
	if (p->asked && !p->requests && !p->n && !p->skipping)
		p->moved = now_ms();
	p->n += (size_t)n;
	return true;
}

/* ---- sending ---- */

/* Sends some of an answer; returns how many bytes went, 0: none now, -1: the client has gone. */
static ssize_t send_some(struct peer *p)
{
	const struct answer *a = p->answer;
	uint64_t left = a->size - p->sent;
	off_t at = (off_t)p->sent;
	ssize_t n;

	if (p->head_sent < p->head_n)
		n = write(p->out, p->head + p->head_sent, p->head_n - p->head_sent);
	else if (a->fd < 0)
		n = write(p->out, a->text + p->sent, left);
	else
		n = sendfile(p->out, a->fd, &at, left < TURN ? left : TURN);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	return n ? n : -1; /* the file is shorter than it was, which can not be */
}

/* Sends as much of an answer as can be sent now, and ends the request when all is sent. False: the
 * client has gone. */
static bool send_answer(struct server *s, struct peer *p)
{
	while (p->answer && (p->head_sent < p->head_n || p->sent < p->answer->size)) {
		ssize_t n = send_some(p);

		if (n < 0)
			return false;
		if (n == 0)
			return true;
		s->bytes += (unsigned long)n;
		p->moved = now_ms();
		if (p->head_sent < p->head_n) {
			p->head_sent += (size_t)n;
			continue;
		}
		p->sent += (uint64_t)n;
		if (n >= (ssize_t)TURN)
			return true;
	}
	drop_answer(p->answer);
	p->answer = NULL;
	s->answered++;
	p->requests--;
	memmove(p->request, p->request + 1, p->requests * sizeof(*p->request));
	return true;
}

/* ---- clients ---- */

static struct peer *add_peer(struct server *s, int in, int out)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->in = in;
	p->out = out;
	p->moved = now_ms();
	s->peer[s->peers++] = p;
	s->clients++;
	return p;
}

/*
 * Has the system probe an idle connection. A client that asks and then closes looks like one that
 * only will not ask again, until its system answers a probe, which it does so when it has forgotten
 * the connection: a minute later.
 */
static void keep_alive(int fd)
{
	const int yes = 1, seconds = 15;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof(seconds));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &seconds, sizeof(seconds));
}

static void accept_peer(struct server *s)
{
	int fd = accept4(s->how->listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	s->full = fd < 0 &&
		  (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS);
	if (fd < 0)
		return;
	keep_alive(fd);
	if (!add_peer(s, fd, fd))
		close(fd);
}

static void remove_peer(struct server *s, size_t i)
{
	struct peer *p = s->peer[i];

	drop_answer(p->answer);
	close(p->in);
	if (p->out != p->in)
		close(p->out);
	free(p);
	s->peer[i] = s->peer[--s->peers];
}

/* Does everything that can be done for a client now. False: it has gone, or has got everything. */
static bool serve_peer(struct server *s, struct peer *p, short in, short out)
{
	/* nothing can reach it any more */
	if ((p->in == p->out ? in : out) & (POLLHUP | POLLERR))
		return false;
	if (in & (POLLIN | POLLHUP | POLLERR) && may_read(p) && !receive(p))
		return false;
	if (!take_lines(p))
		return false;
	look_at_request(s, p);
	if (p->answer && !send_answer(s, p))
		return false;
	if (!take_lines(p))
		return false;
	look_at_request(s, p);
	return !(p->eof && p->n == 0 && !p->requests && !p->skipping);
}

/* ---- deadlines ---- */

/* Tells whether nothing is owed to a client. */
static bool is_idle(const struct peer *p)
{
	return !p->requests && !p->answer;
}

/* Tells whether a client has a request to complete: its first one, or one that it has begun. */
static bool must_ask(const struct peer *p)
{
	return is_idle(p) && (!p->asked || p->n || p->skipping);
}

/* Returns the time from which others may have a client's place, in ms; UINT64_MAX: never. It is not
 * its fault when an answer is still being made. */
static uint64_t gives_way(const struct peer *p)
{
	return is_idle(p) ? p->moved + IDLE_MS : p->answer ? p->moved + DEAF_MS : UINT64_MAX;
}

/* The client that goes when there is no room for another: the one that could have gone first. NONE:
 * there is none. */
#define NONE ((size_t)-1)

static size_t first_to_go(const struct server *s)
{
	size_t first = NONE;

	for (size_t i = 0; i < s->peers; i++)
		if (gives_way(s->peer[i]) != UINT64_MAX &&
		    (first == NONE || gives_way(s->peer[i]) < gives_way(s->peer[first])))
			first = i;
	return first;
}

static bool can_go(const struct server *s, uint64_t now)
{
	size_t first = first_to_go(s);

	return first != NONE && gives_way(s->peer[first]) <= now;
}

/* Removes clients whose time to ask is over. Returns in how many ms something has to be looked at
 * again; -1: never. */
static int look_at_time(struct server *s, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	size_t first;

	if (!s->how->listener) /* the only client there is may take its time */
		return -1;
	for (size_t i = s->peers; i-- > 0;) {
		uint64_t end = s->peer[i]->moved + ASK_MS;

		if (!must_ask(s->peer[i]))
			continue;
		if (end <= now)
			remove_peer(s, i);
		else if (end < next)
			next = end;
	}
	first = s->peers < PEERS ? NONE : first_to_go(s);
	if (first != NONE && gives_way(s->peer[first]) > now && gives_way(s->peer[first]) < next)
		next = gives_way(s->peer[first]);
	if (s->full && now + FULL_MS < next)
		next = now + FULL_MS;
	return next == UINT64_MAX ? -1 : (int)(next - now);
}

/* Accepts a client that waits at the listener, or makes room for it. */
static void admit_peer(struct server *s, uint64_t now)
{
	bool room = s->peers < PEERS;

	if (room)
		accept_peer(s);
	if ((!room || s->full) && can_go(s, now)) {
		remove_peer(s, first_to_go(s));
		s->full = false;
	}
}

/* ---- the loop ---- */

/* Fills in what is waited for: client i has the index FIRST + i; the output of one that has a
 * separate one follows. Returns how many entries there are. */
static nfds_t interests(const struct server *s, struct pollfd *p, uint64_t now)
{
	const struct dt_listener *l = s->how->listener;
	nfds_t n = FIRST;

	p[0] = (struct pollfd){s->signals, POLLIN, 0};
	p[1] = (struct pollfd){s->making.pid ? s->making.said : -1, POLLIN, 0};
	p[2] = (struct pollfd){l && (s->peers < PEERS || can_go(s, now)) && !s->full ? l->fd : -1,
			       POLLIN, 0};
	for (size_t i = 0; i < s->peers; i++) {
		const struct peer *peer = s->peer[i];
		bool same = peer->in == peer->out;
		short in = may_read(peer) ? POLLIN : 0, out = peer->answer ? POLLOUT : 0;

		/* poll() would report a pipe that is at its end again and again */
		p[n++] = (struct pollfd){same || in ? peer->in : -1, same ? in | out : in, 0};
		if (!same) /* then it is the only client */
			p[n++] = (struct pollfd){peer->out, out, 0};
	}
	return n;
}

static bool has_more(const struct server *s)
{
	return s->how->listener || s->peers;
}

static int loop(struct server *s, struct dt_error *e)
{
	struct pollfd *p = calloc(FIRST + 1 + PEERS, sizeof(*p));
	int rc = p ? 0 : dt_fail(e, "out of memory");

	while (rc == 0 && has_more(s)) {
		uint64_t now = now_ms();
		int wait = look_at_time(s, now), n = poll(p, interests(s, p, now), wait);

		if (n < 0 && errno != EINTR)
			rc = dt_fail(e, "cannot wait for clients: %s", strerror(errno));
		if (n < 0)
			continue;
		s->full = false;
		if (p[0].revents)
			break;
		if (p[1].revents && dt_making_ended(&s->making))
			end_making(s);
		for (size_t i = s->peers; i-- > 0;)
			if (!serve_peer(s, s->peer[i], p[FIRST + i].revents,
					s->how->listener ? 0 : p[FIRST + 1].revents))
				remove_peer(s, i);
		if (p[2].revents)
			admit_peer(s, now);
		check_wanted(s);
		begin_making(s);
	}
	free(p);
	return rc;
}

static void set_nonblocking(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

int dt_serve(const struct dt_serving *how, struct dt_error *e)
{
	struct server *s = calloc(1, sizeof(*s));
	sigset_t signals;
	int rc;

	if (!s)
		return dt_fail(e, "out of memory");
	s->how = how;
	s->making.fd = s->making.said = -1;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &signals, SFD_CLOEXEC);
	if (s->signals < 0) {
		free(s);
		return dt_fail(e, "no descriptor for signals: %s", strerror(errno));
	}
	if (!how->listener) {
		set_nonblocking(0, true);
		set_nonblocking(1, true);
		add_peer(s, fcntl(0, F_DUPFD_CLOEXEC, 3), fcntl(1, F_DUPFD_CLOEXEC, 3));
	}
	rc = loop(s, e);
	if (!how->listener) {
		/* the program that started us may go on using them */
		set_nonblocking(0, false);
		set_nonblocking(1, false);
	}
	dt_making_stop(&s->making);
	while (s->peers)
		remove_peer(s, s->peers - 1);
	close(s->signals);
	free(s);
	return rc;
}
