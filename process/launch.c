/* SPDX-License-Identifier: MIT */
/* Starting programs. */
#include "process/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elf/elf.h"
#include "process/limits.h"
#include "process/now.h"
#include "process/threads.h"
#include "arch/arch.h"

char *dt_launch_search(const char *name)
{
	const char *path = getenv("PATH"), *next;
	char file[4096];

	if (strchr(name, '/'))
		return strdup(name);
	if (!path)
		path = "/bin:/usr/bin";
	for (; path; path = next) {
		size_t n;
		struct stat st;

		next = strchr(path, ':');
		n = next ? (size_t)(next - path) : strlen(path);
		dt_format(file, sizeof(file), "%.*s%s%s", (int)n, path, n ? "/" : "", name);
		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return strdup(file);
		if (next)
			next++;
	}
	return NULL;
}

static bool is_script(const char *path)
{
	char head[2] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool script = fd >= 0 && read(fd, head, 2) == 2 && head[0] == '#' && head[1] == '!';

	if (fd >= 0)
		close(fd);
	return script;
}

char *dt_launch_find(const char *name, bool scripts, bool *has_sleds, struct dt_error *e)
{
	char *path = dt_launch_search(name);
	struct dt_elf *elf;
	struct stat st;

	*has_sleds = false;
	if (!path) {
		dt_fail(e, "%s: not found in PATH", name);
		return NULL;
	}
	if (stat(path, &st) < 0) {
		dt_fail(e, "%s: %s", path, strerror(errno));
		goto fail;
	}
	if (!S_ISREG(st.st_mode)) {
		dt_fail(e, "%s: is not a program but a %s", path,
			S_ISDIR(st.st_mode) ? "directory" : "special file");
		goto fail;
	}
	if (access(path, X_OK) < 0) {
		dt_fail(e, "%s: is not executable; chmod +x makes it so", path);
		goto fail;
	}
	if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	    (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())) {
		dt_fail(e,
			"%s: is setuid or setgid: traced, it would run without the rights it needs; "
			"run devtrace as that user",
			path);
		goto fail;
	}
	if (is_script(path)) {
		if (scripts)
			return path;
		dt_fail(e,
			"%s: is a script; name the program it runs, or use --follow to trace what it runs",
			path);
		goto fail;
	}
	elf = dt_elf_open(path, e);
	if (!elf)
		goto fail;
	*has_sleds = elf->sites != 0;
	dt_elf_close(elf);
	return path;
fail:
	free(path);
	return NULL;
}

/* Runs in the child: waits until it is held by ptrace, then becomes the program. If that fails, it
 * sends errno through the pipe. */
static void become(const char *path, char *const argv[], int go, int failed)
{
	static char variable[sizeof(((struct dt_launch *)0)->variable)];
	int errnum;

	/* comes as a whole: it is not longer than PIPE_BUF */
	if (read(go, variable, sizeof(variable)) < 1)
		_exit(126); /* devtrace has ended or cancelled this */
	if (variable[0])
		putenv(variable);
	dt_limits_restore();
	execv(path, argv);
	errnum = errno;
	if (write(failed, &errnum, sizeof(errnum)) < 0)
		_exit(126);
	_exit(127);
}

/* Lets the held child run up to the end of its execve. 0: it is stopped there, in an event stop,
 * without a signal. */
static int run_to_exec(const struct dt_launch *l)
{
	size_t n = strlen(l->variable) + 1;
	pid_t pid = l->pid;
	int status, signal = 0;

	if (write(l->go, l->variable, n) != (ssize_t)n)
		return -1;
	for (;;) {
		if (waitpid(pid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (!WIFSTOPPED(status))
			return -1;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return 0;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
		if (ptrace(PTRACE_CONT, pid, 0, signal) < 0)
			return -1;
	}
}

int dt_launch_can_trace(struct dt_error *e)
{
	if (DT_TRACES)
		return 0;
	return dt_fail(e,
		       "tracing on " DT_MACHINE_NAME " is not there yet: traces that were recorded "
		       "elsewhere can be read here");
}

int dt_launch_begin(struct dt_launch *l, const char *path, char *const argv[], struct dt_error *e)
{
	int go[2], failed[2];
	pid_t pid;

	*l = (struct dt_launch){.path = path, .go = -1, .failed = -1};
	if (dt_launch_can_trace(e) < 0)
		return -1;
	if (pipe2(go, O_CLOEXEC) < 0)
		return dt_fail(e, "no pipe: %s", strerror(errno));
	if (pipe2(failed, O_CLOEXEC) < 0) {
		close(go[0]), close(go[1]);
		return dt_fail(e, "no pipe: %s", strerror(errno));
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		become(path, argv, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	l->go = go[1];
	l->failed = failed[0];
	if (pid > 0) {
		l->pid = pid;
		return 0;
	}
	dt_fail(e, "no process: %s", strerror(errno));
	dt_launch_cancel(l);
	return -1;
}

void dt_launch_cancel(struct dt_launch *l)
{
	if (l->go >= 0)
		close(l->go);
	if (l->failed >= 0)
		close(l->failed);
	while (l->pid > 0 && waitpid(l->pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	l->go = l->failed = -1;
	l->pid = 0;
}

pid_t dt_launch(struct dt_launch *l, struct dt_error *e)
{
	int errnum = 0;
	pid_t pid = l->pid;

	if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) < 0) {
		dt_fail(e, "%s: can not be traced: ptrace is not permitted here (%s)", l->path,
			strerror(errno));
		dt_launch_cancel(l);
		return -1;
	}
	if (run_to_exec(l) < 0) {
		if (read(l->failed, &errnum, sizeof(errnum)) != sizeof(errnum))
			errnum = ECHILD;
		dt_fail(e, "%s: %s", l->path, strerror(errnum));
		pid = -1;
	}
	l->pid = 0;
	dt_launch_cancel(l);
	dt_threads_child(pid);
	return pid;
}

bool dt_has_ended(pid_t pid, int *status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) < 0)
		return true;
	if (info.si_pid == 0 || (info.si_code != CLD_EXITED && info.si_code != CLD_KILLED &&
				 info.si_code != CLD_DUMPED))
		return false;
	if (status)
		*status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return true;
}

/* Looks whether a C library may make this call before it registers rseq. (musl makes such calls
 * too, and never registers it.) */
static bool early_call(uint64_t nr)
{
	switch (nr) {
	case SYS_brk:
	case SYS_set_tid_address:
	case SYS_set_robust_list:
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_prlimit64:
	case SYS_readlinkat:
	case SYS_getrandom:
	case SYS_rseq:
	case SYS_execve:
#ifdef SYS_arch_prctl /* some processors have no numbers for these */
	case SYS_arch_prctl:
#endif
#ifdef SYS_readlink
	case SYS_readlink:
#endif
		return true;
	}
	return false;
}

/* Takes notice of a stop of a process that we trace: 1, and *status as wait(2) gives it; 0: it
 * runs; -1: it has ended, which is left to others to notice. */
static int take_stop(pid_t pid, int *status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG | __WALL) == 0 && info.si_pid) {
		*status = info.si_status << 8 | 0x7f;
		return 1;
	}
	return dt_has_ended(pid, NULL) ? -1 : 0;
}

/* Waits until the process stops or ends, or until that time, when it is told to stop; false: it has
 * ended. */
static bool wait_at_most(pid_t pid, int *status, uint64_t until)
{
	bool told = false;
	int got;

	for (unsigned times = 0; (got = take_stop(pid, status)) == 0; times++) {
		if (!told && dt_now_ns() > until)
			told = ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0;
		if (times > 100) /* a C library takes only a moment to get there */
			nanosleep(&(struct timespec){0, 200000}, NULL);
		else
			sched_yield();
	}
	return got > 0;
}

int dt_launch_until_rseq(pid_t pid, uint64_t patience, dt_launch_fn *fn, void *ctx)
{
	uint64_t until = dt_now_ns() + patience;
	int status, signal = 0;

	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD) < 0)
		return -1;
	for (int stops = 0; stops < 64;) {
		struct dt_regs r;
		uint64_t address;
		uint32_t size, signature;

		if (ptrace(PTRACE_SYSCALL, pid, 0, signal) < 0)
			return -1;
		signal = 0;
		if (!wait_at_most(pid, &status, until))
			return -1;
		if (status >> 16 && dt_now_ns() > until)
			return 0; /* it has no C library */
		if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			if (status >> 16 == 0)
				signal = WSTOPSIG(status);
			continue;
		}
		if (dt_thread_rseq(pid, &address, &size, &signature))
			return 1;
		if (dt_regs_get(pid, &r) < 0)
			return -1;
		switch (fn(ctx, dt_regs_ip(&r))) {
		case DT_LAUNCH_READY:
			return 0;
		case DT_LAUNCH_HOOK:
			if (dt_now_ns() > until)
				return 0;
			continue;
		case DT_LAUNCH_CALL:
			break;
		}
		stops++;
		if (!early_call((uint64_t)dt_regs_call(&r)))
			return 0;
	}
	return 0;
}
