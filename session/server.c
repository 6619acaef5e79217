/* SPDX-License-Identifier: MIT */
/* The session's socket. */
#include "session/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"
#include "session/server-work.h"

#define LINGER_MS 2000u /* for clients to read the last records */

int dt_sessions_directory(char *path, size_t size, bool make, struct dt_error *e)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (run && run[0] == '/' && stat(run, &st) == 0 && st.st_uid == geteuid())
		dt_format(path, size, "%s/devtrace", run);
	else
		dt_format(path, size, "/tmp/devtrace-%u", geteuid());
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return dt_fail(e, "%s: can not be made: %s", path, strerror(errno));
	if (lstat(path, &st) < 0)
		return make ? dt_fail(e, "%s: %s", path, strerror(errno)) : -1;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return dt_fail(e, "%s: is not a directory of yours alone; remove it", path);
	return 0;
}

/* Ends a connection's requests. A client that has said quit learns from the connection's end that
 * the session is closed, so that one stays open for it. */
static void hang_up(struct connection *c)
{
	shutdown(c->fd, atomic_load(&c->quits) ? SHUT_RD : SHUT_RDWR);
}

static void *serve(void *connection)
{
	struct connection *c = connection;

	dt_request_answer_all(c);
	hang_up(c);
	free(c->text);
	c->text = NULL;
	c->n = c->room = 0;
	pthread_mutex_lock(&c->server->lock);
	c->ended = true;
	pthread_mutex_unlock(&c->server->lock);
	return NULL;
}

/* ---- accepting ---- */

/* Tells whether the client is this user's or root's, and its process id. */
static bool is_allowed(int fd, uint32_t *pid)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		return false;
	*pid = (uint32_t)who.pid;
	return who.uid == geteuid() || who.uid == 0;
}

/* Gives clients that follow the records LINGER_MS to read the last ones. */
static void let_followers_end(struct dt_server *v)
{
	bool any = true;

	for (unsigned ms = 0; any && ms < LINGER_MS; ms += 2) {
		any = false;
		pthread_mutex_lock(&v->lock);
		for (int i = 0; i < CONNECTIONS; i++)
			any = any || (v->connection[i].fd >= 0 && !v->connection[i].ended &&
				      atomic_load(&v->connection[i].follows));
		pthread_mutex_unlock(&v->lock);
		if (any)
			usleep(2000);
	}
}

static void join_ended(struct dt_server *v, bool all)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &v->connection[i];
		bool ended;

		pthread_mutex_lock(&v->lock);
		ended = c->fd >= 0 && (c->ended || all);
		pthread_mutex_unlock(&v->lock);
		if (!ended)
			continue;
		if (all)
			hang_up(c);
		pthread_join(c->thread, NULL);
		c->ended = false;
		if (all && atomic_load(&c->quits))
			continue; /* dt_server_free() closes it */
		close(c->fd);
		c->fd = -1;
	}
}

static void accept_one(struct dt_server *v)
{
	static const char full[] = "error 36 0 0\nthe session has too many connections";
	int fd = accept4(v->fd, NULL, NULL, SOCK_CLOEXEC), i = 0;
	struct connection *c;
	uint32_t pid;

	if (fd < 0)
		return;
	join_ended(v, false);
	while (i < CONNECTIONS && v->connection[i].fd >= 0)
		i++;
	if (!is_allowed(fd, &pid) || i == CONNECTIONS) {
		if (i == CONNECTIONS)
			send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		close(fd);
		return;
	}
	c = &v->connection[i];
	*c = (struct connection){.server = v, .fd = fd, .pid = pid};
	if (pthread_create(&c->thread, NULL, serve, c) != 0) {
		close(fd);
		c->fd = -1;
	}
}

static void *accept_all(void *server)
{
	struct dt_server *v = server;
	struct pollfd p[2] = {{v->fd, POLLIN, 0}, {v->stop[0], POLLIN, 0}};

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			break;
		if (p[0].revents)
			accept_one(v);
	}
	return NULL;
}

/* Tells whether the session of a socket is gone: such a socket refuses connections. */
static bool is_dead(const struct sockaddr_un *a)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool dead = fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof(*a)) < 0 &&
		    errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return dead;
}

static int listen_at(struct dt_server *v, struct dt_error *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	mode_t mask;
	int rc;

	memcpy(a.sun_path, v->path, sizeof(a.sun_path));
	v->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (v->fd < 0)
		return dt_fail(e, "no socket: %s", strerror(errno));
	if (is_dead(&a))
		unlink(v->path);
	mask = umask(0177);
	rc = bind(v->fd, (struct sockaddr *)&a, sizeof(a));
	umask(mask);
	if (rc == 0 && listen(v->fd, 16) == 0)
		return 0;
	if (errno == EADDRINUSE)
		dt_fail(e, "a session with the name '%s' runs already", v->name);
	else
		dt_fail(e, "%s: %s", v->path, strerror(errno));
	close(v->fd);
	return -1;
}

int dt_server_start(struct dt_session *s, const char *name, struct dt_error *e)
{
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)], pid[16];
	struct dt_server *v;
	sigset_t all, old;
	int rc;

	if (dt_sessions_directory(directory, sizeof(directory), true, e) < 0)
		return -1;
	dt_format(pid, sizeof(pid), "%d", getpid());
	if (!name)
		name = pid;
	if (!name[0] || name[0] == '.' || strchr(name, '/') || strlen(name) > 40)
		return dt_fail(e, "'%s' is no name for a session: up to 40 characters, no '/'",
			       name);
	v = calloc(1, sizeof(*v));
	if (!v)
		return dt_fail(e, "out of memory");
	v->session = s;
	for (int i = 0; i < CONNECTIONS; i++)
		v->connection[i].fd = -1;
	dt_format(v->name, sizeof(v->name), "%s", name);
	if (dt_format(v->path, sizeof(v->path), "%s/%s.sock", directory, name) >= sizeof(v->path)) {
		dt_fail(e, "%s/%s: too long for a socket", directory, name);
		goto fail;
	}
	if (listen_at(v, e) < 0)
		goto fail;
	if (pipe2(v->stop, O_CLOEXEC) < 0) {
		dt_fail(e, "no pipe: %s", strerror(errno));
		goto fail_socket;
	}
	pthread_mutex_init(&v->lock, NULL);
	/* signals are for the owner thread */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&v->thread, NULL, accept_all, v);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc != 0) {
		dt_fail(e, "no thread: %s", strerror(rc));
		goto fail_pipe;
	}
	s->server = v;
	return 0;
fail_pipe:
	pthread_mutex_destroy(&v->lock);
	close(v->stop[0]);
	close(v->stop[1]);
fail_socket:
	close(v->fd);
	unlink(v->path);
fail:
	free(v);
	return -1;
}

void dt_server_stop(struct dt_session *s)
{
	struct dt_server *v = s->server;

	if (!v)
		return;
	close(v->stop[1]);
	pthread_join(v->thread, NULL);
	pthread_mutex_lock(&s->lock);
	v->stopping = true;
	pthread_cond_broadcast(&s->asked);
	pthread_mutex_unlock(&s->lock);
	let_followers_end(v);
	join_ended(v, true);
	close(v->stop[0]);
	pthread_mutex_destroy(&v->lock);
}

void dt_server_free(struct dt_server *v)
{
	if (!v)
		return;
	unlink(v->path);
	close(v->fd);
	for (int i = 0; i < CONNECTIONS; i++)
		if (v->connection[i].fd >= 0)
			close(v->connection[i].fd);
	free(v);
}

const char *dt_server_name(const struct dt_session *s)
{
	return s->server ? s->server->name : "";
}
