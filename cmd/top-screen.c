/* SPDX-License-Identifier: MIT */
/*
 * The terminal of devtrace top. It belongs to this process, which reads nothing of the trace; the
 * table is drawn by another one, so that the terminal is restored however that one ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cmd/open.h"
#include "cmd/recording.h"
#include "cmd/top.h"
#include "process/now.h"
#include "process/threads.h"

#define PATIENCE_NS 300000000u /* for the table to end when it has been told to */

static void ask_size(_Atomic uint32_t *size)
{
	struct winsize w;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_col || !w.ws_row)
		w = (struct winsize){.ws_col = 80, .ws_row = 24};
	atomic_store(size, dt_terminal_columns() << 16 | w.ws_row);
}

void dt_top_enter_screen(struct dt_top *t)
{
	if (!t->screen)
		return;
	/* before it is so: whoever finds it set leaves the screen */
	atomic_store(&t->shared->screen, true);
	fputs("\033[?1049h\033[?25l", stdout);
	fflush(stdout);
}

void dt_top_leave_screen(struct dt_top *t)
{
	/* once only: the sequence also moves the cursor to where it was before, and what has been
	 * printed since then would be overwritten */
	if (!atomic_exchange(&t->shared->screen, false))
		return;
	fputs("\033[0m\033[?25h\033[?1049l", stdout);
	fflush(stdout);
}

/* Lets keys arrive one by one. */
static void begin_keys(const struct termios *before)
{
	struct termios keys = *before;

	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 1;
	keys.c_cc[VTIME] = 0;
	keys.c_cc[VSUSP] = _POSIX_VDISABLE; /* stopped, it would leave the terminal as it is */
	keys.c_cc[VQUIT] = _POSIX_VDISABLE; /* the table takes the key */
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &keys);
}

/*
 * Passes signals on to the process that draws, until it has ended. One that hangs does not end when
 * it is told to: another signal, which comes later than PATIENCE_NS, kills it. One that comes
 * sooner is the same once more: timeout(1) sends its own to the process, and then to its group.
 * Returns its exit status.
 */
static int watch(pid_t pid, const sigset_t *signals, struct dt_top *t)
{
	int status = 0, signal;
	uint64_t asked = 0;
	bool killed = false;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (sigwait(signals, &signal))
			continue;
		if (signal == SIGWINCH) {
			ask_size(&t->shared->size);
			kill(pid, SIGWINCH);
		} else if (signal != SIGCHLD && !asked) {
			asked = dt_now_ns();
			kill(pid, SIGTERM);
		} else if (signal != SIGCHLD && dt_now_ns() - asked > PATIENCE_NS) {
			killed = true;
			kill(pid, SIGKILL);
		}
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	dt_top_leave_screen(t);
	if (killed && WTERMSIG(status) == SIGKILL)
		return dt_cmd_fail(
			"the table did not end at the first signal, and was killed at the next");
	if (WTERMSIG(status) == SIGPIPE) /* who reads has read enough */
		return 0;
	return dt_cmd_fail("the table ended by signal %d", WTERMSIG(status));
}

/* Draws, in a child. */
static void run_table(struct dt_top *t, pid_t parent)
{
	/* without its parent it would go on drawing on a terminal that others use */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(getppid() == parent ? dt_top_follow(t) : 1);
}

int dt_top_show(struct dt_top *t)
{
	struct termios before;
	sigset_t signals, mask;
	pid_t pid, parent = getpid();
	int status;

	t->shared = mmap(NULL, sizeof(*t->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->shared == MAP_FAILED)
		return dt_cmd_fail("out of memory");
	dt_terminal_begin(&t->terminal, false);
	t->screen = !t->json && t->terminal.able && tcgetattr(STDIN_FILENO, &before) == 0;
	ask_size(&t->shared->size);
	/* where it is ignored, nothing tells that the child has ended, or how */
	signal(SIGCHLD, SIG_DFL);
	dt_recording_signals(&signals);
	sigaddset(&signals, SIGWINCH);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, &mask);
	if (t->screen)
		begin_keys(&before);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_table(t, parent);
	status =
		pid < 0 ? dt_cmd_fail("cannot fork: %s", strerror(errno)) : watch(pid, &signals, t);
	dt_top_leave_screen(t);
	if (t->screen)
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	munmap(t->shared, sizeof(*t->shared));
	return status;
}
