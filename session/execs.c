/* SPDX-License-Identifier: MIT */
/* Follows traced processes into the programs that they execute: each is held until it can be
 * traced. Owner thread. */
#include "session/execs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/probes.h"
#include "hook/target-modules.h"
#include "hook/target-threads.h"
#include "process/launch.h"
#include "process/memory.h"
#include "session/device.h"
#include "session/births.h"
#include "session/lives.h"
#include "session/processes.h"
#include "session/recorder.h"
#include "session/programs.h"

/* ns: for so long a static program may take until its C library is ready; the others wait
 * meanwhile, and it is recorded all the same, but slowly */
#define START_NS   500000000u
#define EXEC_TRIES 500 /* of 20 us or more: until a thread whose execve has failed has to stop */
#define TRACE_EXEC (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)

static void forget_exec(struct dt_session *s, size_t i)
{
	s->exec_tid[i] = s->exec_tid[--s->execs];
	s->exec_ppid[i] = s->exec_ppid[s->execs];
	s->exec_pid[i] = s->exec_pid[s->execs];
}

/* Notes that the new program of a process is not traced, and why. */
static void leave_unfollowed(struct dt_session *s, pid_t pid, const char *why)
{
	if (s->results.unfollowed++)
		return;
	s->results.unfollowed_pid = pid;
	dt_fail(&s->results.unfollowed_why, "%s", why);
}

/* Notes a program that a child executes, whose own functions, and calls of libraries, are recorded
 * only with --follow. */
static void note_executed(struct dt_session *s, pid_t pid)
{
	char link[64];
	ssize_t n;

	if (s->results.executed++)
		return;
	s->results.executed_pid = pid;
	dt_format(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, s->results.executed_path, sizeof(s->results.executed_path) - 1);
	s->results.executed_path[n > 0 ? n : 0] = '\0';
}

/*
 * Tells whether a program would lose rights by being traced. A setuid program, or one with
 * capabilities of its own, does not get them when an ordinary user's ptrace holds its process; then
 * it is not followed.
 */
static bool loses_rights(const struct dt_request *q)
{
	char name[4096] = "", path[4200];
	struct stat st;
	size_t n = 0;
	int mem;

	if (geteuid() == 0)
		return false;
	mem = dt_memory_open((pid_t)q->pid, NULL);
	if (mem < 0)
		return true;
	while (n + 1 < sizeof(name) && dt_memory_read(mem, q->path + n, &name[n], 1) == 0 &&
	       name[n])
		n++;
	name[n] = '\0';
	close(mem);
	if (!name[0]) /* fexecve */
		dt_format(path, sizeof(path), "/proc/%u/fd/%d", q->pid, q->dirfd);
	else if (name[0] == '/')
		dt_format(path, sizeof(path), "/proc/%u/root%s", q->pid, name);
	else if (q->dirfd >= 0)
		dt_format(path, sizeof(path), "/proc/%u/fd/%d/%s", q->pid, q->dirfd, name);
	else
		dt_format(path, sizeof(path), "/proc/%u/cwd/%s", q->pid, name);
	return stat(path, &st) == 0 && ((st.st_mode & (S_ISUID | S_ISGID)) ||
					getxattr(path, "security.capability", NULL, 0) > 0);
}

/* Seizes the thread, which runs on, so that it stops when its execve is through. */
void dt_exec_begins(struct dt_session *s, const struct dt_request *q)
{
	struct dt_target *t = dt_session_find(s, (pid_t)q->pid);

	if (loses_rights(q)) {
		leave_unfollowed(s, (pid_t)q->pid,
				 "it is setuid, or has capabilities, which it would not get "
				 "while it is held; as root it can be traced");
		return;
	}
	if (ptrace(PTRACE_SEIZE, q->tid, 0, TRACE_EXEC) < 0) {
		if (errno != ESRCH)
			leave_unfollowed(
				s, (pid_t)q->pid,
				errno == EPERM
					? "another program traces it, or it is not ours to trace"
					: strerror(errno));
		return;
	}
	if (t)
		t->execing = true;
	s->exec_ppid[s->execs] = (pid_t)q->ppid;
	s->exec_tid[s->execs] = (pid_t)q->tid;
	s->exec_pid[s->execs++] = (pid_t)q->pid;
}

/* False: the thread does not stop just now. A message may be a lie: the thread might still be in an
 * execve, or wait for a child of vfork. */
bool dt_exec_failed(struct dt_session *s, const struct dt_request *q)
{
	struct dt_target *t;

	for (size_t i = 0; i < s->execs; i++) {
		pid_t got = -1;
		int status;

		if (s->exec_tid[i] != (pid_t)q->tid)
			continue;
		if (ptrace(PTRACE_INTERRUPT, q->tid, 0, 0) < 0)
			dt_threads_let_go((pid_t)q->tid, 0); /* it has been killed */
		else
			for (int tries = 0; (got = dt_threads_wait((pid_t)q->tid, &status)) == 0;
			     tries++) {
				if (tries == EXEC_TRIES)
					return false;
				usleep(20);
			}
		if (got > 0 && WIFSTOPPED(status))
			dt_threads_let_go((pid_t)q->tid, status >> 16 ? 0 : WSTOPSIG(status));
		forget_exec(s, i);
		t = dt_session_find(s, (pid_t)q->pid);
		if (t) { /* for what was chosen meanwhile */
			t->execing = false;
			dt_session_device_follow(s, t);
		}
		return true;
	}
	return true;
}

/* Takes in a process with a new image, which is stopped before its first instruction and has
 * nothing of ours in it. */
static void follow(struct dt_session *s, pid_t pid, pid_t ppid)
{
	struct dt_target *old = dt_session_find(s, pid), *t;
	struct dt_error e;
	bool ours, named, again;
	size_t sites;
	uint32_t id;

	dt_births_take(s);
	/* its number has come again, before the end of the one that had it was noticed */
	again = old && old->id != dt_lives_now(s, (uint32_t)pid);
	ours = old && !again && old->ours;
	named = old && !again && old->named;
	id = old && !again ? old->id : dt_lives_process(s, pid, dt_ticks());
	if (s->store)
		dt_store_exec(s->store, id, dt_ticks(), NULL);
	if (old) {
		dt_process_forget_modules(s, old->id, old->module, old->n);
		dt_target_end(old); /* its old image has ended */
	}
	t = dt_target_open(pid, &e);
	if (!t) {
		if (!dt_memory_gone(pid))
			leave_unfollowed(s, pid, e.text);
		return;
	}
	t->id = id;
	t->ours = ours;
	t->named = named;
	t->executed = old && !again;
	t->descends = !t->executed;
	t->ppid = ppid;
	t->held = pid;
	t->others = &s->first;
	t->lifts = s->lifts;
	/* a process that the user named is it whatever it executes (env, nice, a shell's exec) */
	if (s->options.follow || named)
		dt_program_note(s, pid);
	else
		note_executed(s, pid);
	if (dt_target_confined(t)) { /* a system call made for us might kill it */
		dt_shared_count_unsent(&s->targets.shared);
		dt_target_close(t);
		return;
	}
	if (dt_process_choose_memory(s, t, &e) < 0 ||
	    dt_target_install(t, &s->targets, pid, &e) < 0 ||
	    dt_target_scan(t, &s->targets, true, &e) < 0) {
		if (!dt_target_gone(t))
			leave_unfollowed(s, pid, e.text);
		dt_target_close(t);
		return;
	}
	dt_target_sites(t, &sites);
	if (sites && dt_target_is_static(t))
		dt_target_begin(t, pid, START_NS);
	dt_process_note_slow(s, t);
	dt_process_add(s, t);
	t->held = 0;
}

void dt_execs_check(struct dt_session *s)
{
	for (size_t i = 0; i < s->execs;) {
		pid_t tid = s->exec_tid[i], got;
		int status;

		got = dt_threads_wait(tid, &status);
		/* a thread that has called execve goes on as the first thread of its process */
		if (got < 0 && errno == ECHILD && tid != s->exec_pid[i])
			got = dt_threads_wait(s->exec_pid[i], &status);
		if (got == 0) {
			i++;
			continue;
		}
		if (got < 0 || !WIFSTOPPED(status)) {
			forget_exec(s, i);
			continue;
		}
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) {
			pid_t pid = s->exec_pid[i];

			dt_recorder_drain(s);
			pthread_mutex_lock(&s->lock);
			follow(s, pid, s->exec_ppid[i]);
			dt_threads_let_go(pid, 0);
			pthread_mutex_unlock(&s->lock);
			forget_exec(s, i);
			continue;
		}
		if (s->targets.shared.state == DT_STOPPED) {
			/* the session is ending: held threads are let go */
			dt_threads_let_go(got, status >> 16 ? 0 : WSTOPSIG(status));
			forget_exec(s, i);
			continue;
		}
		ptrace(PTRACE_CONT, got, 0, status >> 16 ? 0 : WSTOPSIG(status));
	}
}
