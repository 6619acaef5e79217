/* SPDX-License-Identifier: MIT */
/* Talks to a session. */
#include "process/now.h"
#include "session/client.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "session/send.h"
#include "session/server.h"

#define ANSWER_MAX (1ul << 30) /* bytes; the other end may be another user's, and mean harm */

static int connect_to(const char *name, struct dt_error *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	static const struct timeval patience = {2, 0}, for_ever = {0, 0};
	char directory[sizeof(a.sun_path)];
	int fd;

	if (strchr(name, '/')) { /* the path of a socket: another user's, or a forwarded one */
		if (dt_format(a.sun_path, sizeof(a.sun_path), "%s", name) >= sizeof(a.sun_path))
			return dt_fail(e, "%s: too long for a socket", name);
	} else {
		if (dt_sessions_directory(directory, sizeof(directory), false, e) < 0 ||
		    dt_format(a.sun_path, sizeof(a.sun_path), "%s/%s.sock", directory, name) >=
			    sizeof(a.sun_path))
			return dt_fail(
				e, "there is no session '%s'; devtrace list shows those there are",
				name);
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return dt_fail(e, "no socket: %s", strerror(errno));
	/* when the session's process is stopped, its queue of connections may be full */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0) {
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &for_ever, sizeof(for_ever));
		return fd;
	}
	if (errno == EACCES || errno == EPERM)
		dt_fail(e, "session '%s' belongs to another user", name);
	else if (errno == ENOENT || errno == ECONNREFUSED)
		dt_fail(e, "there is no session '%s'; devtrace list shows those there are", name);
	else if (errno == EAGAIN)
		dt_fail(e, "session '%s' does not answer; is it stopped?", name);
	else
		dt_fail(e, "session '%s': %s", name, strerror(errno));
	close(fd);
	return -1;
}

/* Which sessions there are: one of them, and how many. */
struct only {
	char name[64];
	size_t n;
	char living[64]; /* one of those that trace a process, and how many do */
	size_t n_living;
};

/* Tells whether a session traces a process that has not ended. Another session may still be read,
 * by its name. */
static bool is_living(const char *name)
{
	struct dt_client c = {.fd = connect_to(name, NULL)};
	bool living;

	dt_client_hurry(&c);
	living = c.fd >= 0 && dt_client_ask(&c, "status", NULL) == 0 &&
		 strncmp(c.text, "process ", 8) == 0;
	dt_client_close(&c);
	return living;
}

static void note_living(void *ctx, const char *name)
{
	struct only *o = ctx;

	if (is_living(name) && o->n_living++ == 0)
		dt_format(o->living, sizeof(o->living), "%s", name);
}

static void note_name(void *ctx, const char *name)
{
	struct only *o = ctx;

	if (o->n++ == 0)
		dt_format(o->name, sizeof(o->name), "%s", name);
}

int dt_client_open(struct dt_client *c, const char *name, struct dt_error *e)
{
	struct only only = {.n = 0};

	*c = (struct dt_client){.fd = -1};
	if (!name) {
		if (dt_sessions_each(note_name, &only, e) < 0)
			return -1;
		if (only.n == 0)
			return dt_fail(e, "no session runs; devtrace attach -d PID begins one");
		if (only.n > 1 && dt_sessions_each(note_living, &only, e) < 0)
			return -1;
		if (only.n > 1 && only.n_living != 1)
			return dt_fail(
				e, "%zu sessions run: say which by -s (devtrace list shows them)",
				only.n);
		name = only.n > 1 ? only.living : only.name;
	}
	c->fd = connect_to(name, e);
	return c->fd < 0 ? -1 : 0;
}

void dt_client_hurry(struct dt_client *c)
{
	c->deadline = dt_now_ns() + DT_CLIENT_PATIENCE * 1000000000ull;
}

void dt_client_close(struct dt_client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->text);
	*c = (struct dt_client){.fd = -1};
}

void dt_client_wait_end(struct dt_client *c)
{
	char byte;

	while (read(c->fd, &byte, 1) < 0 && errno == EINTR)
		;
}

/* Waits until something can be read. -1: the request has been given up. */
static int wait_for_answer(struct dt_client *c)
{
	struct pollfd p = {c->fd, POLLIN, 0};

	while ((c->waiting || c->deadline) && poll(&p, 1, DT_CLIENT_TURN) <= 0) {
		c->late = c->deadline && dt_now_ns() >= c->deadline;
		if (c->late || (c->waiting && !c->waiting(c->ctx)))
			return -1;
	}
	return 0;
}

static int receive(struct dt_client *c, char *p, size_t n)
{
	while (n) {
		ssize_t got = wait_for_answer(c) < 0 ? 0 : read(c->fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static int gone(struct dt_client *c, struct dt_error *e)
{
	c->ended = !c->late;
	return dt_fail(e, "%s",
		       c->late ? "the session does not answer: it is about to end, or stopped"
			       : "the session has ended");
}

/* Receives an answer: its head, which is one line, then its bytes. */
static int get_answer(struct dt_client *c, char *word, uint64_t *a, uint64_t *b, struct dt_error *e)
{
	unsigned long n, x, y;
	char head[96];
	size_t at = 0;

	for (;;) {
		if (at == sizeof(head) || receive(c, &head[at], 1) < 0)
			return gone(c, e);
		if (head[at] == '\n')
			break;
		at++;
	}
	head[at] = '\0';
	if (sscanf(head, "%7s %lu %lu %lu", word, &n, &x, &y) != 4)
		return dt_fail(e, "this is no session of devtrace's");
	if (n > ANSWER_MAX)
		return dt_fail(e, "this is no session of devtrace's: an answer of %lu bytes", n);
	if (n + 1 > c->room) {
		char *more = realloc(c->text, n + 1);

		if (!more)
			return dt_fail(e, "out of memory");
		c->text = more;
		c->room = n + 1;
	}
	if (receive(c, c->text, n) < 0)
		return gone(c, e);
	c->n = n;
	c->text[n] = '\0';
	*a = x;
	*b = y;
	if (strcmp(word, "error") == 0)
		return dt_fail(e, "%s", c->text);
	return 0;
}

static int ask(struct dt_client *c, const char *request, uint64_t *a, uint64_t *b,
	       struct dt_error *e)
{
	char word[8];

	if (dt_send_all(c->fd, request, strlen(request)) < 0 || dt_send_all(c->fd, "\n", 1) < 0)
		return gone(c, e);
	return get_answer(c, word, a, b, e);
}

int dt_client_ask(struct dt_client *c, const char *request, struct dt_error *e)
{
	uint64_t a, b;

	return ask(c, request, &a, &b, e);
}

int dt_client_positions(struct dt_client *c, uint64_t *oldest, uint64_t *next, struct dt_error *e)
{
	return ask(c, "position", oldest, next, e);
}

int dt_client_held(struct dt_client *c, uint64_t *next, uint64_t *gone, struct dt_error *e)
{
	uint64_t from = *next, first;
	char request[40];

	dt_format(request, sizeof(request), "held %lu", (unsigned long)from);
	if (ask(c, request, next, &first, e) < 0)
		return -1;
	*gone = first - from;
	return 0;
}

int dt_client_write(struct dt_client *c, const char *text, size_t n, uint32_t pid,
		    struct dt_error *e)
{
	char head[48], word[8];
	uint64_t a, b;

	dt_format(head, sizeof(head), "write %zu %u\n", n, pid);
	if (dt_send_all(c->fd, head, strlen(head)) < 0 || dt_send_all(c->fd, text, n) < 0)
		return gone(c, e);
	return get_answer(c, word, &a, &b, e);
}

static long take(struct dt_client *c, size_t max, uint64_t *position, int wait_ms, const char *how,
		 uint64_t *lost, struct dt_error *e)
{
	char request[96], word[8];

	dt_format(request, sizeof(request), "take %zu %lu %d %s\n", max, (unsigned long)*position,
		  wait_ms, how);
	if (dt_send_all(c->fd, request, strlen(request)) < 0)
		return gone(c, e);
	if (get_answer(c, word, position, lost, e) < 0)
		return -1;
	return strcmp(word, "end") == 0 ? -2 : (long)(c->n / sizeof(struct dt_record));
}

long dt_client_take(struct dt_client *c, size_t max, uint64_t *position, int wait_ms, bool consume,
		    uint64_t *lost, struct dt_error *e)
{
	return take(c, max, position, wait_ms, consume ? "consume" : "keep", lost, e);
}

long dt_client_look(struct dt_client *c, size_t max, uint64_t *position, int wait_ms,
		    struct dt_error *e)
{
	uint64_t none;

	return take(c, max, position, wait_ms, "look", &none, e);
}

const char *dt_client_name(struct dt_client *c, uint64_t pc, uint32_t tid)
{
	char request[64];

	dt_format(request, sizeof(request), "name %lx %u", (unsigned long)pc, tid);
	return dt_client_ask(c, request, NULL) < 0 ? "?" : c->text;
}

char *dt_client_file(const struct dt_client *c)
{
	const char *line = c->text;

	while (line && strncmp(line, "file ", 5) != 0)
		line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
	return line ? strndup(line + 5, strcspn(line + 5, "\n")) : NULL;
}

uint32_t dt_client_thread(struct dt_client *c, uint32_t tid, uint32_t *number)
{
	char request[64];
	uint64_t pid, given;

	dt_format(request, sizeof(request), "thread %u", tid);
	if (ask(c, request, &pid, &given, NULL) < 0)
		return *number = 0;
	*number = (uint32_t)given;
	return (uint32_t)pid;
}

/* Removes a socket that a killed session has left. A session that is just beginning refuses
 * connections for a moment, too, so a young socket stays. */
static void remove_dead(int directory, const char *file)
{
	struct stat st;

	if (fstatat(directory, file, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode) &&
	    time(NULL) - st.st_mtime > 10)
		unlinkat(directory, file, 0);
}

int dt_sessions_each(void (*fn)(void *ctx, const char *name), void *ctx, struct dt_error *e)
{
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct dt_error why = {""};
	struct dirent *entry;
	DIR *d;

	if (dt_sessions_directory(directory, sizeof(directory), false, &why) < 0)
		return why.text[0] ? dt_fail(e, "%s", why.text) : 0;
	d = opendir(directory);
	if (!d)
		return dt_fail(e, "%s: %s", directory, strerror(errno));
	while ((entry = readdir(d)) != NULL) {
		size_t n = strlen(entry->d_name);
		char name[64];
		int fd;

		if (n < 6 || n - 5 >= sizeof(name) || strcmp(entry->d_name + n - 5, ".sock") != 0)
			continue;
		memcpy(name, entry->d_name, n - 5);
		name[n - 5] = '\0';
		fd = connect_to(name, NULL);
		if (fd < 0) {
			if (errno == ECONNREFUSED)
				remove_dead(dirfd(d), entry->d_name);
			continue;
		}
		close(fd);
		fn(ctx, name);
	}
	closedir(d);
	return 0;
}
