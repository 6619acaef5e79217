/* SPDX-License-Identifier: MIT */
/* The perf event that tells of context switches. */
#include "session/switch-event.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct perf_event_attr dt_switch_event_of(size_t size)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(struct perf_event_attr),
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.context_switch = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)size, /* no wake-ups: we look by ourselves */
	};
}

int dt_switch_event_forbidden(struct dt_error *e)
{
	char text[16] = "?";
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n - 1 : 1] = '\0';
	return dt_fail(e,
		       "the kernel does not tell users of context switches "
		       "(kernel.perf_event_paranoid is %s): root can, or allow it by "
		       "sysctl kernel.perf_event_paranoid=2",
		       text);
}

/* Opens an event of the calling thread, which is to do nothing but see that it can be had. */
static int open_own(void)
{
	struct perf_event_attr a = dt_switch_event_of(1);

	a.inherit = 0;
	return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Returns whether this process is confined by seccomp, which may end who does what it forbids. */
static bool is_confined(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
}

/* Tries in a process of its own whether a filter lets events be opened. */
static bool ends_who_tries(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		open_own();
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid < 0 || !WIFEXITED(status);
}

static void *open_beside(void *event)
{
	struct dt_switch_event *v = event;

	v->fd = open_own();
	v->error = errno;
	return NULL;
}

void dt_switch_event_begin(struct dt_switch_event *v)
{
	sigset_t all, before;

	v->fd = -1;
	v->error = EPERM;
	v->confined = is_confined();
	if (v->confined && ends_who_tries())
		return;
	/* signals are for the other threads */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	v->error = pthread_create(&v->opener, NULL, open_beside, v);
	v->opening = v->error == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int dt_switch_event_end(struct dt_switch_event *v, struct dt_error *e)
{
	if (v->opening)
		pthread_join(v->opener, NULL);
	v->opening = false;
	v->is_open = v->fd >= 0;
	if (v->is_open)
		return 0;
	if (v->confined && v->error != EACCES)
		return dt_fail(e, "devtrace is confined (seccomp), and may not have the kernel "
				  "tell it of them");
	if (v->error == EACCES || v->error == EPERM)
		return dt_switch_event_forbidden(e);
	return dt_fail(e, "the kernel does not tell of them: %s", strerror(v->error));
}

void dt_switch_event_free(struct dt_switch_event *v)
{
	struct dt_error e;

	if (v->opening)
		dt_switch_event_end(v, &e);
	if (v->is_open)
		close(v->fd);
	v->is_open = false;
}
