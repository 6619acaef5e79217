/* SPDX-License-Identifier: MIT */
/* The client's end. */
#include "remote/link.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/barrelfish.h"
#include "remote/address.h"
#include "remote/there.h"

#define BUSY_MS	   2000 /* when nothing follows six zeros for so long, the server is busy */
#define ARGUMENTS  8192 /* bytes of the command for ssh */
#define ERROR_MARK "# error: "

/* ---- opening ---- */

static int start_ssh(struct dt_link *l, const char *host, const struct dt_link_ssh *how,
		     struct dt_error *e)
{
	char there[ARGUMENTS], here[1024];
	int both[2];
	size_t n;

	if (host[0] == '-' || !host[0])
		return dt_fail(e, "ssh:%s: name a host", host);
	n = dt_format(there, sizeof(there), "%s serve --stdio", how->devtrace);
	for (const char *const *a = how->argument; *a && n < sizeof(there); a++)
		n = dt_there_quote(there, n, sizeof(there), *a);
	if (n >= sizeof(there) ||
	    dt_format(here, sizeof(here), "exec %s \"$@\"", how->ssh) >= sizeof(here))
		return dt_fail(e, "the command for ssh is too long");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
		return dt_fail(e, "no socket: %s", strerror(errno));
	l->ssh = fork();
	if (l->ssh == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		dup2(both[1], 0);
		dup2(both[1], 1);
		execl("/bin/sh", "sh", "-c", here, "sh", host, there, (char *)NULL);
		_exit(127);
	}
	close(both[1]);
	if (l->ssh < 0) {
		l->ssh = 0;
		close(both[0]);
		return dt_fail(e, "ssh can not be started: %s", strerror(errno));
	}
	l->in = l->out = both[0];
	return 0;
}

int dt_link_open(struct dt_link *l, const char *address, const struct dt_link_ssh *ssh,
		 const volatile sig_atomic_t *stop, struct dt_error *e)
{
	*l = (struct dt_link){.in = -1, .out = -1, .address = address, .stop = stop};
	if (strncmp(address, "ssh:", 4) == 0)
		return start_ssh(l, address + 4, ssh, e);
	l->in = l->out = dt_address_connect(address, e);
	return l->in < 0 ? -1 : 0;
}

void dt_link_close(struct dt_link *l)
{
	if (l->in >= 0)
		close(l->in);
	if (l->ssh) {
		kill(l->ssh, SIGTERM);
		while (waitpid(l->ssh, NULL, 0) < 0 && errno == EINTR)
			;
	}
	l->in = l->out = -1;
	l->ssh = 0;
}

/* ---- asking ---- */

static int broken(const struct dt_link *l, struct dt_error *e)
{
	return dt_fail(e, "%s: the connection broke", l->address);
}

int dt_link_ask(struct dt_link *l, enum dt_form form, struct dt_error *e)
{
	const char *request = form == DT_FORM_DUMP ? "trace\n" : "file\n";
	size_t n = strlen(request);

	/* these few bytes go into an empty socket whole or not at all */
	return send(l->out, request, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : broken(l, e);
}

/* ---- receiving ---- */

/*
 * Lets pending signals in. Signals are blocked except while we wait for bytes, so that none comes
 * between the look at *stop and the wait. ppoll delivers none when bytes are there already: with a
 * server that is always ahead of us, they would wait for ever.
 */
static void let_signals_in(void)
{
	sigset_t none, before;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Reads more bytes into l->data, after those that are there. Returns 1; 0: none came within ms (-1:
 * no limit); -1 and an error: none will come. */
static int more(struct dt_link *l, int ms, struct dt_error *e)
{
	struct timespec patience = {ms / 1000, ms % 1000 * 1000000L};
	struct pollfd p = {l->in, POLLIN, 0};
	sigset_t none;
	ssize_t n;
	int rc;

	if (l->at) {
		memmove(l->data, l->data + l->at, l->n - l->at);
		l->n -= l->at;
		l->at = 0;
	}
	let_signals_in();
	sigemptyset(&none);
	rc = l->stop && *l->stop ? 0 : ppoll(&p, 1, ms < 0 ? NULL : &patience, &none);
	if (l->stop && *l->stop)
		return dt_fail(e, "interrupted");
	if (rc <= 0)
		return rc < 0 && errno != EINTR ? broken(l, e) : 0;
	n = read(l->in, l->data + l->n, sizeof(l->data) - l->n);
	if (n < 0 && errno == EINTR)
		return 0;
	l->ended = n == 0;
	if (n <= 0)
		return broken(l, e);
	l->n += (size_t)n;
	return 1;
}

/* Reads the line before a trace file. */
static int file_head(struct dt_link *l, uint64_t *length, bool *refused, struct dt_error *e)
{
	for (;;) {
		char *p = l->data + l->at, *end = memchr(p, '\n', l->n - l->at), *stop;
		bool ok;

		if (l->n > l->at && isdigit((unsigned char)*p))
			return dt_fail(
				e, "%s: answers as bfscope does; ask for its dump: --barrelfish",
				l->address);
		if (!end && l->n - l->at > 32)
			break;
		if (!end) {
			if (more(l, -1, e) < 0)
				return -1;
			continue;
		}
		*end = '\0';
		ok = strncmp(p, "ok ", 3) == 0;
		*refused = strncmp(p, "error ", 6) == 0;
		if (!ok && !*refused)
			break;
		p += ok ? 3 : 6;
		errno = 0;
		*length = strtoull(p, &stop, 10);
		if (!isdigit((unsigned char)*p) || *stop || errno)
			break;
		l->at = (size_t)(end + 1 - l->data);
		return 0;
	}
	return dt_fail(e, "%s: this is no server of devtrace's", l->address);
}

/*
 * Tells whether "000000" and no more has come: bfscope of 2011 is making a trace for somebody else.
 */
static bool is_busy(const struct dt_link *l)
{
	return l->n - l->at == 6 && memcmp(l->data + l->at, "000000", 6) == 0;
}

static int dump_head(struct dt_link *l, uint64_t *length, bool *busy, struct dt_error *e)
{
	int rc, got;
	size_t used;

	*busy = false;
	for (;;) {
		rc = dt_barrelfish_length(l->data + l->at, l->n - l->at, length, &used);
		if (rc == 1) {
			l->at += used;
			return 0;
		}
		if (rc < 0)
			return dt_fail(e, "%s: this is no length of a dump: 8 digits are expected",
				       l->address);
		got = more(l, is_busy(l) ? BUSY_MS : -1, e);
		if (is_busy(l) && (got == 0 || l->ended)) {
			l->at += 6;
			*busy = true;
			return 0;
		}
		if (got < 0)
			return -1;
	}
}

static int body(struct dt_link *l, uint64_t length, int fd, uint64_t *bytes, struct dt_error *e)
{
	while (*bytes < length) {
		uint64_t left = length - *bytes;
		size_t n = l->n - l->at < left ? l->n - l->at : (size_t)left;
		ssize_t done;

		if (n == 0) {
			if (more(l, -1, e) < 0)
				return dt_fail(
					e,
					l->stop && *l->stop
						? "%s: interrupted: %lu of %lu bytes had come"
						: "%s: the connection broke: %lu of %lu bytes had "
						  "come",
					l->address, (unsigned long)*bytes, (unsigned long)length);
			continue;
		}
		done = write(fd, l->data + l->at, n);
		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return dt_fail(e, "no room for the trace: %s", strerror(errno));
		l->at += (size_t)done;
		*bytes += (uint64_t)done;
	}
	return 0;
}

/* Makes the error of the server's own words: one line without control characters. */
static enum dt_received refused(const struct dt_link *l, const char *text, struct dt_error *e)
{
	char line[400];
	size_t n = 0;

	for (; *text && *text != '\n' && n + 1 < sizeof(line); text++)
		line[n++] = iscntrl((unsigned char)*text) ? '?' : *text;
	line[n] = '\0';
	dt_fail(e, "%s: %s", l->address, line);
	return DT_REFUSED;
}

enum dt_received dt_link_receive(struct dt_link *l, enum dt_form form, int fd, uint64_t *bytes,
				 struct dt_error *e)
{
	const size_t mark = strlen(ERROR_MARK);
	uint64_t length;
	bool not_now = false;
	char head[512] = "";
	int rc;

	*bytes = 0;
	rc = form == DT_FORM_DUMP ? dump_head(l, &length, &not_now, e)
				  : file_head(l, &length, &not_now, e);
	if (rc < 0)
		return DT_BROKEN;
	if (form == DT_FORM_DUMP && not_now)
		return refused(l, "is making a trace for somebody else; try again", e);
	if (body(l, length, fd, bytes, e) < 0)
		return DT_BROKEN;
	if (pread(fd, head, sizeof(head) - 1, 0) < 0)
		head[0] = '\0';
	if (form == DT_FORM_FILE && not_now)
		return refused(l, head, e);
	if (form == DT_FORM_DUMP && strncmp(head, ERROR_MARK, mark) == 0)
		return refused(l, head + mark, e);
	return DT_RECEIVED;
}
