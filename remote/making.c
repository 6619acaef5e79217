/* SPDX-License-Identifier: MIT */
/* Makes an answer in a process of its own. */
#include "remote/making.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/outside.h"

#define PATIENCE_MS 3000 /* for the process to end a recording in order */

static volatile sig_atomic_t unwanted;

static void on_signal(int sig)
{
	unwanted = sig;
}

bool dt_making_unwanted(void)
{
	return unwanted != 0;
}

int dt_unnamed_file(struct dt_error *e)
{
	const char *directory = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!directory || !directory[0])
		directory = "/tmp";
	if (dt_format(path, sizeof(path), "%s/devtrace-XXXXXX", directory) >= sizeof(path))
		return dt_fail(e, "%s: %s", directory, strerror(ENAMETOOLONG));
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return dt_fail(e, "%s: no temporary file: %s", directory, strerror(errno));
	unlink(path);
	return fd;
}

/* Runs in the child and makes the answer. Only the two descriptors are left open, so that no
 * connection stays open because of this process. */
static void run(const struct dt_making *m, const struct dt_maker *maker, unsigned long turn,
		int said, pid_t parent)
{
	struct sigaction a = {.sa_handler = on_signal};
	struct dt_error e = {""};
	sigset_t none;
	/* first, since it may have number 3 or 4, which the others are to get; theirs are 10 or
	 * higher */
	bool outside = dt_outside_keep(5);

	/* the standard descriptors stay; 3 is the answer, 4 takes the error's text */
	if (dup2(m->fd, 3) < 0 || dup2(said, 4) < 0)
		_exit(1);
	close_range(outside ? 6 : 5, ~0u, 0);
	sigaction(SIGTERM, &a, NULL);
	signal(SIGINT, SIG_IGN); /* from the terminal; the server decides what happens then */
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* a recording that was begun for the server is ended, whatever becomes of the server */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (maker->make(maker->ctx, m->form, turn, 3, &e) < 0) {
		size_t n = strlen(e.text);

		if (write(4, n ? e.text : "failed", n ? n : 6) < 0)
			_exit(2);
		_exit(1);
	}
	_exit(0);
}

int dt_making_begin(struct dt_making *m, const struct dt_maker *maker, enum dt_form form,
		    unsigned long turn, struct dt_error *e)
{
	pid_t parent = getpid();
	int said[2];

	*m = (struct dt_making){.form = form, .said = -1};
	m->fd = dt_unnamed_file(e);
	if (m->fd < 0)
		return -1;
	if (pipe2(said, O_CLOEXEC) < 0) {
		close(m->fd);
		return dt_fail(e, "no pipe: %s", strerror(errno));
	}
	m->pid = fork();
	if (m->pid < 0) {
		m->pid = 0;
		close(m->fd);
		close(said[0]);
		close(said[1]);
		return dt_fail(e, "no process to make the answer: %s", strerror(errno));
	}
	if (m->pid == 0) {
		/* away from 3 and 4, which they are about to get */
		int high_said = fcntl(said[1], F_DUPFD_CLOEXEC, 10);

		m->fd = fcntl(m->fd, F_DUPFD_CLOEXEC, 10);
		run(m, maker, turn, high_said, parent);
	}
	close(said[1]);
	m->said = said[0];
	return 0;
}

static int reap(struct dt_making *m)
{
	int status;

	while (waitpid(m->pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	close(m->said);
	m->said = -1;
	m->pid = 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

bool dt_making_ended(struct dt_making *m)
{
	size_t room = sizeof(m->error.text) - 1 - m->n;
	ssize_t n = read(m->said, m->error.text + m->n, room);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	if (n > 0) {
		m->n += (size_t)n;
		return false;
	}
	m->error.text[m->n] = '\0';
	if (reap(m) < 0 && !m->n)
		dt_fail(&m->error, "the process that made the answer was ended");
	return true;
}

void dt_making_unwant(struct dt_making *m)
{
	if (m->pid)
		kill(m->pid, SIGTERM);
}

void dt_making_stop(struct dt_making *m)
{
	struct pollfd p = {m->said, POLLIN, 0};

	if (!m->pid)
		return;
	kill(m->pid, SIGTERM);
	if (poll(&p, 1, PATIENCE_MS) <= 0)
		kill(m->pid, SIGKILL);
	reap(m);
	close(m->fd);
	m->fd = -1;
}
