/* SPDX-License-Identifier: MIT */
/* Serves the traced processes' messages and what other threads ask for. Owner thread. */
#include "session/serve.h"
#include "process/now.h"
#include "session/state.h"

#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/connect.h"
#include "hook/probes.h"
#include "hook/target-detach.h"
#include "hook/target-modules.h"
#include "hook/target-rseq.h"
#include "hook/target-switch.h"
#include "hook/target-threads.h"
#include "process/launch.h"
#include "process/memory.h"
#include "session/begin.h"
#include "session/device.h"
#include "session/domain.h"
#include "session/doubt.h"
#include "session/ended.h"
#include "session/execs.h"
#include "session/jit.h"
#include "session/births.h"
#include "session/lives.h"
#include "session/processes.h"
#include "session/recorder.h"
#include "session/thread-table.h"
#include "session/throttle.h"
#include "process/status.h"

#define PATIENCE 10000000000u /* ns of trying to stop threads, until a library is left out */
#define CONFINE_NS                                                                                 \
	10000000u	  /* between two looks at whether a process confines itself, at least      \
			   */
#define TURN_NS 20000000u /* ns for the messages of one domain, where there are several */

/* Returns how many threads a process has: the link count of its task directory is 2 more. */
static unsigned tasks(pid_t pid)
{
	char path[64];
	struct stat st;

	dt_format(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &st) < 0 ? 0 : (unsigned)st.st_nlink - 2;
}

/* Tells whether a number that only a message says can be that of a process of the domain. */
static bool is_possible(struct dt_session *s, const struct dt_domain *d, uint32_t number)
{
	bool known;

	return number && dt_doubt_number(s, number) &&
	       (!d->doubted || dt_thread_table_owns(s, d, number, dt_ticks(), &known));
}

/* Notes a child that has ended already, so that its parent is known. The parent may have ended,
 * too, and others may have the child's number. */
static void note_gone(struct dt_session *s, const struct dt_request *q)
{
	uint32_t parent = dt_lives_now(s, q->ppid), id = 0;
	bool gone = dt_memory_gone((pid_t)q->pid);

	if (q->pid != q->tid || dt_thread_table_process(s, parent) != parent)
		return;
	if (q->path)
		id = dt_lives_gone(s, q->pid, !gone);
	else if (gone)
		id = dt_lives_now(s, q->pid);
	if (id)
		dt_process_note_gone(s, id, (pid_t)q->ppid);
}

/* Takes the forked child that has posted q into the session. m: the memory that it has. */
static void adopt(struct dt_session *s, const struct dt_shared *m, const struct dt_request *q)
{
	struct dt_error e;
	struct dt_target *t;

	if (dt_session_find(s, (pid_t)q->pid) || dt_process_shares_memory(s, (pid_t)q->pid))
		return;
	t = dt_target_open((pid_t)q->pid, &e);
	if (!t) {
		if (!dt_memory_gone((pid_t)q->pid) && !s->results.unopened++)
			s->results.unopened_why = e;
		note_gone(s, q);
		return;
	}
	t->ppid = (pid_t)q->ppid;
	t->forked = true;
	t->shared = m;
	if (dt_target_adopt(t, &s->targets, q->area, dt_process_parent(s, m, q->area), &e) < 0) {
		dt_target_close(t);
		note_gone(s, q);
		return;
	}
	dt_process_add(s, t);
}

static void asked(struct dt_session *s);

/* Sets the options' tracepoints. A thread that is writing to ctl may be waiting for us: we serve it
 * meanwhile. */
static int set_points(struct dt_session *s)
{
	struct timespec t = {0, 200000};
	int rc;

	while (pthread_mutex_trylock(&s->writing) != 0) {
		pthread_mutex_unlock(&s->lock);
		asked(s);
		nanosleep(&t, NULL);
		pthread_mutex_lock(&s->lock);
	}
	rc = dt_session_device_points(s, &s->refusal);
	pthread_mutex_unlock(&s->writing);
	return rc;
}

/* Returns how many files the process has mapped: the kernel's vdso is none. */
static size_t files_of(const struct dt_target *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += !t->module[i].file->vdso;
	return n;
}

/*
 * Called when a program that we have started may have all its libraries and has run none of its own
 * code. Then it sets the options' tracepoints, and ends the program if it has no site: there would
 * be nothing to record.
 */
static void end_if_sledless(struct dt_session *s, struct dt_target *t)
{
	size_t sites;

	if (!t->first_image || files_of(t) < 3)
		return;
	t->first_image = false;
	if (set_points(s) < 0) {
		s->refused = true;
		kill(t->pid, SIGKILL);
	}
	if (s->refused || s->options.follow || s->options.points || s->options.kernel)
		return;
	dt_target_sites(t, &sites);
	if (sites)
		return;
	s->refused = true;
	dt_session_say_untraceable(t, s->path ? s->path : t->module[0].file->path, &s->refusal);
	kill(t->pid, SIGKILL);
}

/* Tells whether to try again later when nothing could be planted since a thread does not stop just
 * now. */
static bool try_again(struct dt_session *s, struct dt_target *t, const struct dt_error *why)
{
	if (!t->busy || dt_target_gone(t) || s->ending)
		return false;
	if (!t->busy_since)
		t->busy_since = dt_now_ns();
	if (dt_now_ns() - t->busy_since < PATIENCE)
		return true;
	t->busy_since = 0;
	dt_format(s->results.note, sizeof(s->results.note),
		  "process %d: libraries that it has loaded are not recorded: %s", t->pid,
		  why->text);
	return false;
}

/*
 * Says so if the message comes from a child of vfork, in which nothing can be planted: the thread
 * that waits for it is in the kernel and does not stop. What the child has loaded is hooked at the
 * next change of its parent's modules.
 */
static void note_shared(struct dt_session *s, const struct dt_request *q)
{
	if (dt_process_shares_memory(s, (pid_t)q->pid) && !s->results.note[0])
		dt_format(s->results.note, sizeof(s->results.note),
			  "process %d, a child of vfork of process %d, has loaded or unloaded "
			  "libraries: what is called of these is not recorded until its parent "
			  "loads one",
			  (int)q->pid, (int)q->ppid);
}

/*
 * Deals with a message that the modules of a process have changed. False: it can not be done now.
 */
static bool modules_changed(struct dt_session *s, const struct dt_shared *m,
			    const struct dt_request *q)
{
	struct dt_target *t = dt_session_find(s, (pid_t)q->pid);
	struct dt_error why;
	bool quiet;

	if (!t) {
		adopt(s, m, q);
		t = dt_session_find(s, (pid_t)q->pid);
	}
	if (!t)
		note_shared(s, q);
	if (!t || !t->area)
		return true;
	quiet = tasks(t->pid) == 1;
	if (dt_target_scan(t, &s->targets, quiet, &why) < 0)
		return !try_again(s, t, &why);
	t->busy_since = 0;
	if (quiet && !t->fast && dt_target_find_threads(t, (pid_t)q->tid, q->fs, false)) {
		dt_connect(t, true, NULL); /* vfork is connected only where there is rseq */
		dt_target_check_rseq(t);
	}
	dt_process_note_slow(s, t);
	dt_session_device_follow(s, t);
	dt_process_note_modules(s, t);
	end_if_sledless(s, t);
	if (t->n_gone) {
		pthread_mutex_unlock(&s->lock);
		dt_recorder_drain(s);
		pthread_mutex_lock(&s->lock);
		dt_process_forget_modules(s, t->id, t->gone, t->n_gone);
		dt_target_forget(t);
	}
	return true;
}

static void requests(struct dt_session *s);

void dt_serve_let_execs_go(struct dt_session *s)
{
	for (int rounds = 0; rounds < 100; rounds++) {
		requests(s);
		dt_execs_check(s);
		for (size_t i = 0; i < s->execs; i++)
			ptrace(PTRACE_INTERRUPT, s->exec_tid[i], 0, 0);
		if (!s->execs)
			return;
		usleep(1000);
	}
}

/* --- requests */

/* Tells whether we have mapped an area at that address in some process of the session. A forked
 * child has its parent's area. */
static bool is_area(const struct dt_session *s, uint64_t area)
{
	for (size_t i = s->areas; i-- > 0;)
		if (s->area[i] == area)
			return true;
	return false;
}

/*
 * Tells whether process pid has posted q. Every process that has the session's memory can write
 * there, and in another PID namespace the same number is another process. So the process must have
 * the domain's memory mapped, have that number in its own namespace, and have the request's proof
 * in its own memory.
 */
static bool has_posted(struct dt_session *s, const struct dt_domain *d, pid_t pid,
		       const struct dt_request *q, size_t slot)
{
	uint64_t at =
		q->area + DT_AREA_PROCESS + offsetof(struct dt_process_block, proof) + 4 * slot;
	struct dt_maps maps;
	uint32_t proof;
	bool has;
	int mem;

	/* 0 is no proof: every process may have a 0 there */
	if (!q->proof || !is_area(s, q->area) || dt_pid_inner(pid, pid) != (pid_t)q->pid ||
	    dt_maps_read(pid, &maps, NULL) < 0)
		return false;
	has = dt_shared_mapped(d->shared, &maps);
	dt_maps_free(&maps);
	mem = has ? dt_memory_open(pid, NULL) : -1;
	if (mem < 0)
		return false;
	has = dt_memory_read(mem, at, &proof, sizeof(proof)) == 0 && proof == q->proof;
	close(mem);
	return has;
}

/*
 * Returns the process that has posted q; 0: it has ended, or there is none. Mostly it is the one
 * that has this number here. Others are looked for where there may be some: when the poster may be
 * in another namespace, where it sees no parent (0) or the first process (1), or when the session
 * has such processes already.
 */
static pid_t find_poster(struct dt_session *s, const struct dt_domain *from,
			 const struct dt_request *q, size_t slot)
{
	pid_t found = has_posted(s, from, (pid_t)q->pid, q, slot) ? (pid_t)q->pid : 0;
	struct dirent *entry;
	DIR *d;

	for (struct dt_target *t = s->first; t && !found; t = t->next)
		if (!t->ended && t->tag && has_posted(s, from, t->pid, q, slot))
			found = t->pid;
	if (found || (q->ppid > 1 && !s->targets.namespaces.last))
		return found;
	d = opendir("/proc");
	while (d && !found && (entry = readdir(d)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && has_posted(s, from, pid, q, slot))
			found = pid;
	}
	if (d)
		closedir(d);
	return found;
}

/* Replaces the poster's own numbers in q by ours. False: the poster has gone. */
static bool make_outer(struct dt_session *s, struct dt_domain *d, struct dt_request *q, size_t slot)
{
	pid_t pid = find_poster(s, d, q, slot), tid = 0;

	if (pid)
		tid = dt_pid_inner(pid, (pid_t)q->tid) == (pid_t)q->tid
			      ? (pid_t)q->tid
			      : dt_pid_outer_thread(pid, (pid_t)q->tid);
	d->poster[slot].pid = pid;
	d->poster[slot].tid = tid;
	if (!tid)
		return false;
	if (pid != (pid_t)q->pid)
		q->ppid = (uint32_t)dt_status_parent(pid);
	q->pid = (uint32_t)pid;
	q->tid = (uint32_t)tid;
	return true;
}

/*
 * Tells whether an exec has to wait. When two threads of a process call execve at once, they are
 * held one after the other. Else the second would be killed by the first one's execve, which waits
 * until we have seen that, while we wait for the second.
 */
static bool must_wait(const struct dt_session *s, const struct dt_request *q)
{
	if (q->kind != DT_REQUEST_EXEC)
		return false;
	if (s->execs == DT_EXECS)
		return true;
	for (size_t i = 0; i < s->execs; i++)
		if (s->exec_pid[i] == (pid_t)q->pid)
			return true;
	return false;
}

/* Frees the slot of a poster that was killed while it waited, since it can not do so itself. */
static void free_slot_of_dead(const struct dt_domain *d, unsigned slot)
{
	char path[64];

	dt_format(path, sizeof(path), "/proc/%d/task/%d", d->poster[slot].pid, d->poster[slot].tid);
	if (access(path, F_OK) < 0)
		dt_shared_request_free(d->shared, slot);
}

static void opt_out(struct dt_session *s, const struct dt_shared *m, const struct dt_request *q)
{
	struct dt_target *t = dt_session_find(s, (pid_t)q->pid);

	if (!t) {
		adopt(s, m, q);
		t = dt_session_find(s, (pid_t)q->pid);
	}
	if (t && t->area)
		dt_target_opt_out(t, NULL);
}

/* A thread that is about to be made has no thread block of libc's: it must meet no hook that looks
 * there. False: the threads can not be stopped at the moment. */
static bool strange(struct dt_session *s, const struct dt_shared *m, const struct dt_request *q)
{
	struct dt_target *t = dt_session_find(s, (pid_t)q->pid);

	if (!t) {
		adopt(s, m, q);
		t = dt_session_find(s, (pid_t)q->pid);
	}
	if (!t || !t->area || dt_target_gone(t))
		return true;
	if (dt_target_strange(t, NULL) < 0)
		return dt_target_gone(t);
	dt_process_note_slow(s, t);
	return true;
}

/* Deals with one message. False: it has to be dealt with again later. */
static bool answer(struct dt_session *s, const struct dt_domain *d, struct dt_request *q,
		   bool lives)
{
	const struct dt_shared *m = d->shared;

	if (!lives) {
		/* nothing proves that it is true */
		if (q->kind == DT_REQUEST_PROCESS && is_possible(s, d, q->pid) &&
		    is_possible(s, d, q->ppid))
			note_gone(s, q);
		return true;
	}
	switch (q->kind) {
	case DT_REQUEST_PROCESS:
		adopt(s, m, q);
		break;
	case DT_REQUEST_MODULES:
		return modules_changed(s, m, q);
	case DT_REQUEST_EXEC:
		dt_exec_begins(s, q);
		break;
	case DT_REQUEST_EXEC_FAILED:
		return dt_exec_failed(s, q);
	case DT_REQUEST_OPT_OUT:
		opt_out(s, m, q);
		break;
	case DT_REQUEST_STRANGE:
		return strange(s, m, q);
	}
	return true;
}

static void requests_of(struct dt_session *s, struct dt_domain *d)
{
	const struct dt_shared *m = d->shared;
	uint64_t until = s->domains > 1 ? dt_now_ns() + TURN_NS : UINT64_MAX;

	for (unsigned i = 0; i < DT_REQUESTS; i++) {
		struct dt_request copy;
		enum dt_request_state state = dt_shared_request(m, i, &copy);
		bool done, lives;

		if (state == DT_REQUEST_DONE)
			free_slot_of_dead(d, i);
		if (state != DT_REQUEST_POSTED)
			continue;
		if (dt_now_ns() > until) { /* it is the other domains' turn */
			s->unanswered = true;
			return;
		}
		pthread_mutex_lock(&s->lock);
		dt_births_take(s); /* the poster's own is among them */
		lives = make_outer(s, d, &copy, i);
		if (lives)
			dt_thread_table_join(s, d, dt_lives_now(s, copy.tid));
		pthread_mutex_unlock(&s->lock);
		if (lives && must_wait(s, &copy))
			continue;
		pthread_mutex_lock(&s->lock);
		done = answer(s, d, &copy, lives);
		pthread_mutex_unlock(&s->lock);
		if (!done) {
			s->unanswered = true;
			continue;
		}
		dt_shared_request_done(m, i, copy.waited);
	}
}

static void requests(struct dt_session *s)
{
	s->unanswered = false;
	for (unsigned i = 0; i < s->domains; i++)
		requests_of(s, s->domain[i]);
}

/*
 * Looks whether processes have restricted their own system calls, which they may do at any time;
 * then the hooks make none. A process that waits for room rings the bell all the time, so we do not
 * look each time.
 */
static void confine(struct dt_session *s)
{
	uint64_t now = dt_now_ns();

	if (now - s->confined_at < CONFINE_NS)
		return;
	s->confined_at = now;
	for (struct dt_target *t = s->first; t; t = t->next)
		if (!t->ended && !t->confined && t->area && dt_target_confined(t)) {
			dt_target_confine(t);
			dt_shared_each(&s->targets.shared, m)
				dt_shared_set_confined(m);
		}
}

/* ---- what other threads ask for */

static void detach(struct dt_session *s, pid_t pid, struct dt_error *e)
{
	struct dt_target *t = dt_session_find(s, pid);
	size_t left;

	if (!t) {
		s->ask_result = dt_fail(e, "process %d is not traced here", pid);
		return;
	}
	s->ask_result = dt_target_detach(t, &left, e);
	if (s->ask_result == 0) {
		dt_session_jit_end(s, t->pid);
		dt_target_end(t);
	}
}

static void asked(struct dt_session *s)
{
	enum dt_ask what = __atomic_load_n(&s->ask, __ATOMIC_RELAXED);
	pid_t pid;

	/* looked at without the lock, which the recorder has most of the time: a thread rings the
	 * bell after it has asked */
	if (what == DT_ASK_NONE || what == DT_ASK_DONE)
		return;
	pthread_mutex_lock(&s->lock);
	what = s->ask;
	pid = s->ask_pid;
	if (what == DT_ASK_DETACH)
		detach(s, pid, &s->ask_error);
	else if (what == DT_ASK_SYNC)
		s->ask_result = dt_session_device_sync(s, &s->ask_error);
	pthread_mutex_unlock(&s->lock);
	if (what == DT_ASK_NONE || what == DT_ASK_DONE)
		return;
	if (what == DT_ASK_ATTACH)
		s->ask_result = dt_session_attach(s, pid, &s->ask_error);
	pthread_mutex_lock(&s->lock);
	__atomic_store_n(&s->ask, DT_ASK_DONE, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&s->asked);
	pthread_mutex_unlock(&s->lock);
}

size_t dt_session_serve(struct dt_session *s, int timeout_ms)
{
	struct dt_shared_bells bells;
	size_t live = 0;
	bool late;

	dt_shared_bells(&s->targets.shared, &bells);
	requests(s);
	dt_execs_check(s);
	dt_ended_look(s);
	dt_ended_leave(s);
	late = dt_threads_late();
	confine(s);
	asked(s);
	dt_session_device_tick(s);
	/* rings are read when they are half full: where a program makes few records, rates would be
	 * half of what they are */
	if (dt_throttle_due(s))
		dt_recorder_drain(s);
	dt_throttle_look(s);
	dt_session_jit_look(s);
	for (struct dt_target *t = s->first; t; t = t->next)
		live += !t->ended;
	if (timeout_ms > 0 && (live > 0 || s->options.idle)) {
		struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

		if (s->execs)
			t.tv_nsec = 200000; /* their stops are seen by waitpid, and do not ring the
					       bell */
		else if (s->unanswered || late)
			t.tv_nsec = 1000000;
		dt_shared_bells_wait(&s->targets.shared, &bells, &t);
	}
	return live;
}

size_t dt_session_serve_all(struct dt_session *s, int timeout_ms)
{
	size_t live = dt_session_serve(s, timeout_ms);

	if (live)
		return live;
	pthread_mutex_lock(&s->lock);
	dt_process_adopt_strays(s);
	pthread_mutex_unlock(&s->lock);
	return dt_session_serve(s, 0);
}
