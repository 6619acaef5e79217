/* SPDX-License-Identifier: MIT */
/* Starting programs under trace, and attaching to processes that run. Owner thread. */
#include "session/begin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "arch/arch.h"
#include "hook/connect.h"
#include "hook/probes.h"
#include "hook/stubs.h"
#include "hook/target-detach.h"
#include "hook/target-modules.h"
#include "hook/target-threads.h"
#include "process/memory.h"
#include "process/now.h"
#include "session/device.h"
#include "session/lives.h"
#include "session/processes.h"
#include "session/programs.h"
#include "session/state.h"

#define DT_NO_SLEDS                                                                                \
	"%s: has no function that could be traced ('devtrace list -v' says why); build it with "   \
	"CFLAGS=\"$(pkg-config --cflags devtrace)\", or use --follow to trace the programs that "  \
	"it runs"

#define DT_GO                                                                                      \
	"is a Go program: Go's stacks are too small for a hook, and are moved. What can be "       \
	"traced of it: C libraries that it uses (-F 'libc.so.6:*'), programs that it runs "        \
	"(--follow), what it does in the kernel (-k)"

#define START_NS	5000000000u /* after this time a C library will not register rseq any more */
#define LONG_ATTACH	100000000u  /* ns: an attach that took longer is mentioned to the user */
#define ATTACH_PATIENCE 5000000000u /* ns of waiting until a thread can be stopped */

int dt_session_say_untraceable(const struct dt_target *t, const char *path, struct dt_error *e)
{
	if (dt_target_has_go(t))
		return dt_fail(e, "%s: " DT_GO, path);
	return dt_fail(e, DT_PROBES ? DT_NO_SLEDS : DT_SLEDS_ONLY, path);
}

bool dt_session_refused(const struct dt_session *s, struct dt_error *e)
{
	if (s->refused)
		*e = s->refusal;
	return s->refused;
}

pid_t dt_session_start(struct dt_session *s, struct dt_launch *l, struct dt_error *e)
{
	const char *path = l->path;
	struct dt_target *t = NULL;
	pid_t pid = dt_launch(l, e);
	int rc = 0;

	if (pid < 0)
		return -1;
	s->path = strdup(path);
	pthread_mutex_lock(&s->lock);
	t = dt_target_open(pid, e);
	if (!t)
		goto fail;
	t->ours = true;
	t->held = pid;
	t->ppid = getpid();
	t->named = true;
	dt_program_note(s, pid);
	if (dt_process_choose_memory(s, t, e) < 0 ||
	    dt_target_install(t, &s->targets, pid, e) < 0 ||
	    dt_target_scan(t, &s->targets, true, e) < 0 || dt_target_any(t, e) < 0)
		goto fail;
	t->first_image = true;
	if (dt_target_is_static(t)) {
		size_t sites;

		dt_target_sites(t, &sites);
		if (!sites && !s->options.follow && !s->options.points && !s->options.kernel) {
			dt_session_say_untraceable(t, path, e);
			goto fail;
		}
		rc = dt_target_begin(t, pid, START_NS);
		dt_process_note_slow(s, t);
	}
	dt_process_add(s, t);
	/* tracepoints in a library are set later, when it has been loaded */
	if (dt_session_device_points(s, e) < 0 && dt_target_is_static(t)) {
		t = NULL; /* it belongs to the session by now */
		goto fail;
	}
	t->held = 0;
	/* with the lock, since a command that comes now may want to stop the process itself */
	if (rc >= 0 && ptrace(PTRACE_DETACH, pid, 0, 0) < 0 && errno != ESRCH) {
		dt_fail(e, "%s: can not be let go: %s", path, strerror(errno));
		pid = -1;
	}
	pthread_mutex_unlock(&s->lock);
	return pid;
fail:
	pthread_mutex_unlock(&s->lock);
	if (t)
		dt_target_close(t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return -1;
}

/*
 * Removes the area of an earlier session whose controller has died; fails when that session lives.
 */
static int clear_old_area(struct dt_target *t, struct dt_error *e)
{
	struct dt_shared_old old;
	struct dt_maps maps;
	uint64_t area, session;
	size_t left;
	int rc;

	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	area = dt_area_find(t->mem, &maps);
	dt_maps_free(&maps);
	if (!area)
		return 0;
	session = dt_area_session_of(t->mem, area);
	if (!dt_shared_old(t->mem, session, &old))
		old.fits = old.lives = false;
	if (old.lives)
		return dt_fail(e, "process %d is already traced, by devtrace process %u", t->pid,
			       old.controller);
	/* the process may have written there whatever it likes */
	if (!old.fits || session != dt_area_session(area, &old.geometry))
		return dt_fail(
			e,
			"process %d has memory of an earlier session that this devtrace can not take "
			"away (another version's, or damaged); start the program anew",
			t->pid);
	t->area = area;
	t->geometry = &old.geometry;
	if (dt_probes_recover(t, &t->old, &t->n_old, e) < 0 || dt_stubs_find(t, e) < 0)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		t->module[i].hooked = t->module[i].on = t->module[i].file->chosen != NULL;
	rc = dt_target_detach(t, &left, e);
	dt_stubs_forget(t);
	t->geometry = NULL;
	t->area = 0;
	dt_target_free_old(t);
	if (rc == 0 && left)
		rc = dt_fail(e, "process %d still runs code of an earlier session; try again",
			     t->pid);
	return rc;
}

/*
 * A thread that waits for a vfork child, or a device, can not be stopped meanwhile, and stops when
 * that is over. Tells whether it is to be waited for some longer; others may have the session's
 * lock meanwhile.
 */
static bool wait_longer(struct dt_session *s, uint64_t since, const struct dt_target *t)
{
	if (dt_now_ns() - since > ATTACH_PATIENCE || dt_target_gone(t))
		return false;
	pthread_mutex_unlock(&s->lock);
	usleep(100000); /* as long as a try takes: the recorder needs the lock, too */
	pthread_mutex_lock(&s->lock);
	return true;
}

static int stop_first_thread(struct dt_session *s, const struct dt_target *t,
			     struct dt_threads *one, struct dt_error *e)
{
	uint64_t since = dt_now_ns();

	while (dt_threads_stop_one(t->pid, t->pid, one, e) < 0)
		if (!wait_longer(s, since, t))
			return -1;
	return 0;
}

/* Plants what is chosen in all modules. */
static int plant_all(struct dt_session *s, struct dt_target *t, struct dt_error *e)
{
	uint64_t since = dt_now_ns();

	t->busy = false;
	while (dt_target_scan(t, &s->targets, false, e) < 0)
		if (!t->busy || !wait_longer(s, since, t))
			return -1;
	return 0;
}

int dt_session_attach(struct dt_session *s, pid_t pid, struct dt_error *e)
{
	uint64_t began = dt_now_ns();
	struct dt_threads one;
	struct dt_target *t;
	size_t sites;
	int rc;

	t = dt_target_open(pid, e);
	if (!t)
		return -1;
	pthread_mutex_lock(&s->lock);
	t->others = &s->first;
	t->lifts = s->lifts;
	t->named = true;
	dt_program_note(s, pid);
	/* everything slow (files, symbols, patterns) is done before anything is stopped */
	if (dt_target_scan(t, &s->targets, false, e) < 0 || clear_old_area(t, e) < 0)
		goto fail;
	dt_target_sites(t, &sites);
	/* in an idle session nothing is chosen yet, and a program without sleds has no sites until
	 * then */
	if (!sites && dt_target_has_go(t) && !s->options.idle && !s->options.kernel) {
		dt_fail(e, "process %d: " DT_GO, pid);
		goto fail;
	}
	if (!sites && !s->options.idle && !s->options.points && !s->options.arguments &&
	    !s->options.sockets) {
		dt_fail(e,
			DT_PROBES
				? "process %d has no function that could be traced ('devtrace list "
				  "-v' says why); build its program with CFLAGS=\"$(pkg-config "
				  "--cflags devtrace)\""
				: "process %d has no sleds, and functions without them can not be "
				  "traced on " DT_MACHINE_NAME
				  " yet; build its program with CFLAGS=\"$(pkg-config --cflags "
				  "devtrace)\"",
			pid);
		goto fail;
	}
	if (dt_target_any_confined(t)) {
		dt_fail(e,
			"process %d has confined itself by seccomp: a system call made for devtrace "
			"might be its end; start it under devtrace instead",
			pid);
		goto fail;
	}
	dt_lives_begin_all(s, pid);
	if (stop_first_thread(s, t, &one, e) < 0)
		goto fail;
	rc = dt_process_choose_memory(s, t, e);
	if (rc == 0)
		rc = dt_target_install(t, &s->targets, pid, e);
	dt_threads_release(&one);
	t->stop_ns = one.stopped_for;
	if (rc < 0 || plant_all(s, t, e) < 0 || dt_target_any(t, e) < 0)
		goto fail;
	dt_process_note_slow(s, t);
	dt_process_add(s, t);
	/*
	 * the rings were open meanwhile; the file says for each module from when on it is complete
	 */
	if (dt_now_ns() - began > LONG_ATTACH)
		dt_format(s->results.note, sizeof(s->results.note),
			  "process %d is recorded completely from %lu ms after its attach on", pid,
			  (unsigned long)((dt_now_ns() - began) / 1000000));
	pthread_mutex_unlock(&s->lock);
	return 0;
fail:
	if (t->area) {
		size_t left;

		dt_target_detach(t, &left, NULL);
	}
	pthread_mutex_unlock(&s->lock);
	dt_target_close(t);
	return -1;
}
