/* SPDX-License-Identifier: MIT */
#include "process/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
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

#include "process/confine.h"
#include "elf/elf.h"
#include "process/threads.h"

#define NOBODY 65534
/* no distribution or container gives users numbers from here on */
#define FREE_USERS 2147400000u
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

/* Most descriptors in the message that asks for a process: the file, the channel, and two files
 * beside the file. The message's text is the path. */
#define FDS 4

union descriptors {
	char space[CMSG_SPACE(FDS * sizeof(int))];
	struct cmsghdr align;
};

static bool send_file(const int *fd, size_t n, const char *path)
{
	struct iovec text = {(void *)(uintptr_t)path, strlen(path) + 1};
	union descriptors d = {.space = {0}};
	struct msghdr m = {.msg_iov = &text,
			   .msg_iovlen = 1,
			   .msg_control = d.space,
			   .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	ssize_t sent;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fd, n * sizeof(int));
	while ((sent = sendmsg(control, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return sent == (ssize_t)text.iov_len;
}

/* Receives such a message, and returns how many descriptors came with it; 0: there are no more. */
static size_t receive_file(int from, int fd[FDS], char *path, size_t size)
{
	struct iovec text = {path, size - 1};
	union descriptors d;
	struct msghdr m = {.msg_iov = &text,
			   .msg_iovlen = 1,
			   .msg_control = d.space,
			   .msg_controllen = sizeof(d.space)};
	struct cmsghdr *c;
	ssize_t n;
	size_t fds;

	while ((n = recvmsg(from, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (n <= 0 || !(c = CMSG_FIRSTHDR(&m)) || c->cmsg_len < CMSG_LEN(2 * sizeof(int)))
		return 0;
	path[n] = '\0';
	fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	fds = fds > FDS ? FDS : fds;
	memcpy(fd, CMSG_DATA(c), fds * sizeof(int));
	return fds;
}

/* ---- the process that forks the others ---- */

static bool become(uid_t user)
{
	return setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

/*
 * Becomes a user to whom no file and no other process belongs. In a user namespace that may not be
 * possible: then it becomes nobody, or stays the user it was, and has few rights all the same.
 */
static void become_nobody(void)
{
	if (setgroups(0, NULL) < 0 || !become(FREE_USERS + (uid_t)getpid() % 65536))
		become(NOBODY);
}

/* Forks a process for each file that is asked for. */
static _Noreturn void fork_each(int from, dt_apart_serve *serve)
{
	pid_t own = getpid();
	char path[PATH_MAX];
	int fd[FDS];
	size_t n;

	while ((n = receive_file(from, fd, path, sizeof(path)))) {
		if (fork() == 0) {
			/* it ends when the controller does, whatever it does then */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != own)
				_exit(0);
			close(from);
			serve(fd[1],
			      &(struct dt_apart_file){
				      path, fd[0], {n > 2 ? fd[2] : -1, n > 3 ? fd[3] : -1}});
			_exit(0);
		}
		for (size_t i = 0; i < n; i++)
			close(fd[i]);
	}
	_exit(0);
}

/*
 * Sets this process's command line, so that it is not taken for the controller by programs that
 * look at that. The command line is in the process's memory, at the place that the kernel gives
 * (proc(5): stat, arg_start and arg_end).
 */
static void set_title(const char *title)
{
	char stat[1024] = "", *p;
	unsigned long begin = 0, end = 0;
	int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? 0 : read(file, stat, sizeof(stat) - 1);

	if (file >= 0)
		close(file);
	p = n > 0 ? strrchr(stat, ')') : NULL; /* the end of field 2, a name */
	for (int field = 2; p && field < 48; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, "%lu %lu", &begin, &end) != 2 || begin >= end)
		return;
	memset((void *)begin, 0, end - begin);
	dt_format((char *)begin, end - begin, "%s", title);
}

/* Closes all descriptors but the channel, those of the controller's parent too. Returns the
 * channel's new number. */
static int leave_all(int channel)
{
	int nothing = open("/dev/null", O_RDWR);

	for (int i = 0; nothing >= 0 && i <= (DT_SANITIZED ? 1 : 2); i++)
		dup2(nothing, i);
	if (channel != 3)
		dup2(channel, 3);
	close_range(4, ~0u, 0);
	return 3;
}

/* Runs in the process that forks the others. */
static _Noreturn void run(int channel, dt_apart_serve *serve)
{
	int from = leave_all(channel);
	struct dt_needs needs = {.flags = DT_NEED_ALL_READ | DT_NEED_FORKS};
	char ready = 1;

	prctl(PR_SET_NAME, "devtrace-names");
	set_title("devtrace-names");
	/* a terminal's signals are for the traced program; this process ends with the controller */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_IGN);
	signal(SIGALRM, SIG_DFL);
	become_nobody();
	if (dt_confine(&needs, NULL) < 0 || send(from, &ready, 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	fork_each(from, serve);
}

int dt_apart_begin(dt_apart_serve *serve, struct dt_error *e)
{
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return dt_fail(e, "no process to read names: %s", strerror(errno));
	/* forked twice, so that it is no child of the controller's, which waits for all its
	 * children
	 */
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		if (fork() == 0)
			run(pair[1], serve);
		_exit(0);
	}
	close(pair[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (pid < 0) {
		close(pair[0]);
		return dt_fail(e, "no process to read names: %s", strerror(errno));
	}
	control = pair[0];
	confined = false;
	return 0;
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
	for (int i = 0; i < FDS - 2; i++) {
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

int dt_apart_connect(const char *path, struct dt_error *e)
{
	int fd[FDS], pair[2];
	size_t n = 2;
	bool sent;

	fd[0] = dt_elf_file(path, true, e);
	if (fd[0] < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		close(fd[0]);
		return dt_fail(e, "%s: no process to read it: %s", path, strerror(errno));
	}
	fd[1] = pair[1];
	n += open_beside(fd[0], path, fd + n);
	pthread_mutex_lock(&lock);
	sent = is_confined() && send_file(fd, n, path);
	pthread_mutex_unlock(&lock);
	for (size_t i = 0; i < n; i++)
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
