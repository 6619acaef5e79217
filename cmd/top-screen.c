/* SPDX-License-Identifier: MIT */
/*
 * The terminal of devtrace top. It belongs to this process, which reads nothing of the trace; the
 * table is drawn by another one, so that the terminal is restored however that one ends.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/open.h"
#include "cmd/top.h"

static void ask_size(_Atomic uint32_t *size)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_col || !w.ws_row)
		w = (struct winsize){.ws_col = 80, .ws_row = 24};
	atomic_store(size, (uint32_t)w.ws_col << 16 | w.ws_row);
}

/* Lets keys arrive one by one, and begins another screen. */
static void begin_screen(const struct termios *before)
{
	struct termios keys = *before;

	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	keys.c_cc[VSUSP] = _POSIX_VDISABLE; /* stopped, it would leave the terminal as it is */
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys);
	fputs("\033[?1049h\033[?25l", stdout);
	fflush(stdout);
}

static void end_screen(const struct termios *before)
{
	fputs("\033[0m\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, before);
}

/* Passes signals on to the process that draws, until it has ended. Returns its exit status. */
static int watch(pid_t pid, const sigset_t *signals, const struct dt_top *t)
{
	int status, signal;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sigwait(signals, &signal))
			continue;
		if (signal == SIGWINCH) {
			ask_size(t->size);
			kill(pid, SIGWINCH);
		} else if (signal != SIGCHLD) {
			kill(pid, SIGTERM);
		}
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return dt_cmd_fail("the table ended by signal %d", WTERMSIG(status));
}

int dt_top_show(struct dt_top *t)
{
	const char *terminal = getenv("TERM");
	struct termios before;
	sigset_t signals, mask;
	int status;
	pid_t pid;

	t->size = mmap(NULL, sizeof(*t->size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (t->size == MAP_FAILED)
		return dt_cmd_fail("out of memory");
	setlocale(LC_CTYPE, "");
	t->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	t->screen = isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") &&
		    tcgetattr(STDIN_FILENO, &before) == 0;
	ask_size(t->size);
	sigemptyset(&signals);
	for (size_t i = 0; i < 5; i++)
		sigaddset(&signals, (int[]){SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCHLD}[i]);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	if (t->screen)
		begin_screen(&before);
	pid = fork();
	if (pid == 0)
		_exit(dt_top_follow(t));
	status =
		pid < 0 ? dt_cmd_fail("cannot fork: %s", strerror(errno)) : watch(pid, &signals, t);
	if (t->screen)
		end_screen(&before);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	munmap((void *)t->size, sizeof(*t->size));
	return status;
}
