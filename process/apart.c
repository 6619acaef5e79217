/* SPDX-License-Identifier: MIT */
#include "process/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/aside.h"
#include "process/confine.h"
#include "process/now.h"
#include "process/passed.h"
#include "elf/elf.h"
#include "process/threads.h"

#define ANSWERED_S 120	  /* most seconds for an answer: after that nobody waits for it any more */
#define PIECE	   65536u /* bytes of an answer for which room is made before any have come */

uint64_t dt_apart_patience = 60000000000;

static int control = -1; /* the controller's channel to the process that forks the others */
static bool confined;	 /* that process is confined; under the lock, as is the channel */
static bool gone;	 /* that process was needed, and not there */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- bytes ---- */

/* Receives all of n bytes before a time of dt_now_ns(); 0: without limit. False: fewer came. */
static bool receive(int channel, void *buf, size_t n, uint64_t before)
{
	char *p = buf;

	while (n) {
		struct pollfd f = {.fd = channel, .events = POLLIN};
		uint64_t now = before ? dt_now_ns() : 0;
		ssize_t got;

		if (before && now >= before)
			return false;
		/* a signal, or nothing yet: then it is waited for again, if there is time */
		if (poll(&f, 1, before ? (int)((before - now) / 1000000) + 1 : -1) <= 0)
			continue;
		got = recv(channel, p, n, MSG_DONTWAIT);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

static bool send_all(int channel, const void *buf, size_t n)
{
	const char *p = buf;

	while (n) {
		ssize_t put = send(channel, p, n, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		p += put;
		n -= (size_t)put;
	}
	return true;
}

/* Most descriptors in the message that asks for a process: the file, the channel, and files that
 * are handed over. The message's text is the path. */
#define FDS    (2 + DT_APART_HANDED)
#define BESIDE 2 /* files beside the file, at most */

/* Receives a message that asks for a process, and returns how many descriptors came with it; 0:
 * there are no more. */
static size_t receive_file(int from, int fd[FDS], char *path, size_t size)
{
	size_t fds = FDS;
	ssize_t n = dt_passed_receive(from, path, size - 1, fd, &fds);

	if (n <= 0 || fds < 2)
		return 0;
	path[n] = '\0';
	return fds;
}

/* ---- the process that forks the others ---- */

/* Forks a process for each file that is asked for. */
static _Noreturn void fork_each(int from, dt_apart_serve *serve)
{
	pid_t own = getpid();
	char path[PATH_MAX];
	struct dt_apart_file f = {.path = path};
	int fd[FDS];
	size_t n;

	while ((n = receive_file(from, fd, path, sizeof(path)))) {
		if (fork() == 0) {
			/* it ends when the controller does, whatever it does then */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != own)
				_exit(0);
			close(from);
			for (size_t i = 0; i < DT_APART_HANDED; i++)
				f.handed[i] = i + 2 < n ? fd[i + 2] : -1;
			f.fd = fd[0];
			serve(fd[1], &f);
			_exit(0);
		}
		for (size_t i = 0; i < n; i++)
			close(fd[i]);
	}
	_exit(0);
}

/* Runs in the process that forks the others. */
static void run(int from, void *serve)
{
	struct dt_needs needs = {.flags = DT_NEED_ALL_READ | DT_NEED_FORKS};
	char ready = 1;

	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	dt_aside_become_nobody(-1);
	if (dt_confine(&needs, NULL) < 0 || send(from, &ready, 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	fork_each(from, *(dt_apart_serve **)serve);
}

int dt_apart_begin(dt_apart_serve *serve, struct dt_error *e)
{
	control = dt_aside_begin("devtrace-names", run, &serve, e);
	confined = false;
	return control < 0 ? -1 : 0;
}

/* Looks whether that process is confined. It sends a byte when it is, for which this waits when the
 * process is first needed. */
static bool is_confined(void)
{
	char ready;

	confined = confined || receive(control, &ready, 1, 0);
	return confined;
}

bool dt_apart_gone(void)
{
	return gone;
}

void dt_apart_leave(void)
{
	if (control >= 0)
		close(control);
	control = -1;
	gone = false;
}

/* ---- asking ---- */

/* Opens DIR/NAME and DIR/.debug/NAME, the files that may be the debug file; returns how many exist.
 * The process of the file could not, in a folder that only its owner may look into. */
static size_t open_beside(int file, const char *path, int *out)
{
	char name[256], real[PATH_MAX], other[2 * PATH_MAX], *base;
	size_t n = 0;

	if (!dt_elf_debuglink(file, name, sizeof(name)) || !realpath(path, real))
		return 0;
	base = strrchr(real, '/') + 1;
	for (int i = 0; i < BESIDE; i++) {
		/* a file may name itself: then there is no separate one */
		if (!i && !strcmp(base, name))
			continue;
		dt_format(other, sizeof(other), "%.*s%s%s", (int)(base - real), real,
			  i ? ".debug/" : "", name);
		out[n] = dt_elf_file(other, true, NULL);
		n += out[n] >= 0;
	}
	return n;
}

int dt_apart_connect(int file, const char *path, const int more[DT_APART_MORE], struct dt_error *e)
{
	int fd[FDS], pair[2];
	size_t n = 2, own;
	bool sent;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return dt_fail(e, "%s: no process to read it: %s", path, strerror(errno));
	fd[0] = file;
	fd[1] = pair[1];
	own = n += open_beside(fd[0], path, fd + n);
	for (size_t i = 0; more && i < DT_APART_MORE; i++)
		if (more[i] >= 0)
			fd[n++] = more[i];
	pthread_mutex_lock(&lock);
	sent = is_confined() && dt_passed_send(control, path, strlen(path) + 1, fd, n);
	pthread_mutex_unlock(&lock);
	for (size_t i = 1; i < own; i++)
		close(fd[i]);
	if (sent)
		return pair[0];
	gone = true;
	close(pair[0]);
	return dt_fail(e,
		       "%s: there is no process to read it: it has ended, or can not be confined",
		       path);
}

/* Receives `bytes' bytes, as the answer has announced. Room is made as they come, since what is
 * announced can not be trusted. */
static char *receive_answer(int channel, uint64_t bytes, uint64_t before)
{
	size_t room = bytes < PIECE ? bytes : PIECE, at = 0;
	char *text = malloc(room + 1), *more;

	while (text && receive(channel, text + at, room - at, before)) {
		at = room;
		if (at == bytes) {
			text[at] = '\0';
			return text;
		}
		room = bytes - at < at ? bytes : 2 * at;
		more = realloc(text, room + 1);
		if (!more)
			break;
		text = more;
	}
	free(text);
	return NULL;
}

char *dt_apart_ask(int channel, const struct dt_apart_ask *ask, const void *more, size_t most,
		   struct dt_apart_answer *a)
{
	uint64_t before = dt_now_ns() + dt_apart_patience;

	if (!send_all(channel, ask, sizeof(*ask)) || !send_all(channel, more, ask->bytes) ||
	    !receive(channel, a, sizeof(*a), before) || a->bytes > most)
		return NULL;
	return receive_answer(channel, a->bytes, before);
}

/* ---- answering ---- */

char *dt_apart_next(int channel, struct dt_apart_ask *ask)
{
	char *text;

	alarm(0);
	if (!receive(channel, ask, sizeof(*ask), 0) || ask->bytes > DT_APART_ASK_MAX)
		return NULL;
	text = malloc(ask->bytes + 1u);
	if (!text || !receive(channel, text, ask->bytes, 0)) {
		free(text);
		return NULL;
	}
	text[ask->bytes] = '\0';
	alarm(ANSWERED_S);
	return text;
}

bool dt_apart_tell(int channel, int64_t result, const void *more, size_t bytes)
{
	const struct dt_apart_answer a = {result, bytes};

	return send_all(channel, &a, sizeof(a)) && send_all(channel, more, bytes);
}
