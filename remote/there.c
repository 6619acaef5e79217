/* SPDX-License-Identifier: MIT */
#include "remote/there.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define COMMAND 4096 /* bytes of the command that starts the other one */

/* Appends text at out + n, as far as there is room; returns n and its length. */
static size_t append(char *out, size_t n, size_t size, const char *text)
{
	if (n < size)
		dt_format(out + n, size - n, "%s", text);
	return n + strlen(text);
}

size_t dt_there_quote(char *out, size_t n, size_t size, const char *word)
{
	n = append(out, n, size, " '");
	for (; *word; word++)
		n = append(out, n, size, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
	return append(out, n, size, "'");
}

/* Writes the command for the shell here: `by' with the host in it. */
static int compose(char *to, size_t size, const char *by, const char *host, struct dt_error *e)
{
	size_t n = dt_format(to, size, "exec "), length = strlen(by);
	bool named = false;

	while (length && by[length - 1] == ' ')
		length--;
	for (size_t i = 0; i < length && n < size; i++) {
		named |= by[i] == '%' && by[i + 1] == 'h';
		if (by[i] == '%' && by[i + 1] == 'h' && ++i)
			n = dt_there_quote(to, n, size, host);
		else
			n = append(to, n, size, (char[]){by[i], '\0'});
	}
	if (!named && n < size && (length < 3 || strncmp(by + length - 3, " -c", 3)))
		n = dt_there_quote(to, n, size, host);
	n = append(to, n, size, " \"$@\"");
	return n < size ? 0 : dt_fail(e, "the command that starts another one is too long");
}

static void become(const char *here, const char *there, int both, int said)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* Ctrl-C is for the caller, which tells the hosts to end */
	signal(SIGINT, SIG_IGN);
	dup2(both, 0);
	dup2(both, 1);
	dup2(said, 2);
	execl("/bin/sh", "sh", "-c", here, "sh", there, (char *)NULL);
	_exit(127);
}

int dt_there_start(struct dt_there *t, const char *by, const char *host, const char *there,
		   struct dt_error *e)
{
	char here[COMMAND];
	int both[2], said[2];

	*t = (struct dt_there){.fd = -1, .said = -1};
	if (host[0] == '-' || !host[0])
		return dt_fail(e, "'%s' is no host", host);
	if (compose(here, sizeof(here), by, host, e))
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) < 0)
		return dt_fail(e, "no socket: %s", strerror(errno));
	if (pipe2(said, O_CLOEXEC) < 0) {
		dt_fail(e, "no pipe: %s", strerror(errno));
		goto bad;
	}
	t->pid = fork();
	if (t->pid == 0)
		become(here, there, both[1], said[1]);
	close(both[1]);
	close(said[1]);
	t->fd = both[0];
	t->said = said[0];
	fcntl(t->fd, F_SETFL, O_NONBLOCK);
	fcntl(t->said, F_SETFL, O_NONBLOCK);
	if (t->pid > 0)
		return 0;
	t->pid = 0;
	dt_there_end(t);
	return dt_fail(e, "no process: %s", strerror(errno));
bad:
	close(both[0]);
	close(both[1]);
	return -1;
}

int dt_there_end(struct dt_there *t)
{
	int status = 0;

	if (t->fd >= 0)
		close(t->fd);
	if (t->said >= 0)
		close(t->said);
	if (t->pid) {
		/* what has closed its end is about to end by itself */
		for (int i = 0; i < 20 && waitpid(t->pid, &status, WNOHANG) == 0; i++) {
			if (i == 19) {
				kill(t->pid, SIGTERM);
				while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
					;
				break;
			}
			usleep(10000);
		}
	}
	*t = (struct dt_there){.fd = -1, .said = -1};
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
