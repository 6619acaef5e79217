/* SPDX-License-Identifier: MIT */
/* Serving the traced processes: their messages, their execs, their ends. Owner thread. */
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
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/connect.h"
#include "hook/target-detach.h"
#include "hook/target-modules.h"
#include "hook/target-switch.h"
#include "hook/target-threads.h"
#include "process/launch.h"
#include "process/memory.h"
#include "hook/probes.h"
#include "session/device.h"

#define EXECS (sizeof(((struct dt_session *)0)->exec_tid) / sizeof(pid_t))
#define PATIENCE 10000000000u /* ns: with threads that do not stop, until a library is left out */
#define EXEC_TRIES 500 /* of 20 us and more: with a thread whose execve is said to have failed */
#define CONFINE_NS 10000000u /* between two looks at whether a process confines itself, at least */
#define TURN_NS 20000000u /* of a domain's messages, where there are several */
#define TRACE_EXEC (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC)

/* How many threads: the link count of the task directory is 2 more. */
static unsigned tasks(pid_t pid)
{
	char path[64];
	struct stat st;

	dt_format(path, sizeof(path), "/proc/%d/task", pid);
	return stat(path, &st) < 0 ? 0 : (unsigned)st.st_nlink - 2;
}

/* A child that has ended already: whose it was is to be known. Its parent may have ended, too. */
static void note_gone(struct dt_session *s, const struct dt_request *q)
{
	if (q->pid == q->tid && dt_recorder_process(s, q->ppid) == q->ppid && dt_memory_gone((pid_t)q->pid))
		dt_session_note_gone(s, (pid_t)q->pid, (pid_t)q->ppid);
}

/* m: the memory that it has. */
static void adopt(struct dt_session *s, const struct dt_shared *m, const struct dt_request *q)
{
	struct dt_error e;
	struct dt_target *t;

	if (dt_session_find(s, (pid_t)q->pid) || dt_session_shares(s, (pid_t)q->pid))
		return;
	t = dt_target_open((pid_t)q->pid, &e);
	if (!t) {
		if (!dt_memory_gone((pid_t)q->pid) && !s->unopened++)
			s->unopened_why = e;
		note_gone(s, q);
		return;
	}
	t->ppid = (pid_t)q->ppid;
	t->forked = true;
	t->shared = m;
	if (dt_target_adopt(t, &s->targets, q->area, dt_session_parent(s, m, q->area), &e) < 0) {
		dt_target_close(t);
		note_gone(s, q);
		return;
	}
	dt_session_add(s, t);
}

/*
 * Lets the recorder take every record there is now, at most for a second: addresses are about to
 * mean something else. Without the lock. A ring's `read' moves when its records are in the store.
 */
void dt_session_drained(struct dt_session *s)
{
	unsigned each = s->targets.shared.geometry.cores + 1, rings = dt_domains(s) * each;
	uint64_t *pos = calloc(rings, sizeof(*pos)), now;

	for (unsigned i = 0; i < rings && pos; i++)
		pos[i] = dt_shared_ring_pos(s->domain[i / each]->shared, i % each);
	now = dt_ticks();
	atomic_store(&s->drain_now, true);
	for (int ms = 0; ms < 1000 && s->recorder_runs && !atomic_load(&s->recorder_failed); ms++) {
		struct timespec t = {0, 1000000};
		bool all = true;

		for (unsigned i = 0; i < rings && pos; i++) {
			const struct dt_ring_reader *r = &s->domain[i / each]->reader[i % each];

			all = all && (r->broken ||
				      __atomic_load_n(&r->released, __ATOMIC_ACQUIRE) >= pos[i]);
		}
		all = all && (!__atomic_load_n(&s->log_held, __ATOMIC_ACQUIRE) ||
			      __atomic_load_n(&s->log_until, __ATOMIC_ACQUIRE) >= now);
		/* what has been read of the kernel's rings is told by time */
		all = all &&
		      (!s->kernel || __atomic_load_n(&s->read_until, __ATOMIC_ACQUIRE) >= now);
		if (all || s->log_stalled)
			break;
		dt_shared_bell_ring(&s->targets.shared);
		nanosleep(&t, NULL);
	}
	atomic_store(&s->drain_now, false);
	free(pos);
}

static void forget_modules(struct dt_session *s, const struct dt_module *m, size_t n)
{
	for (size_t i = 0; s->store && i < n; i++) {
		uint64_t low, high;

		dt_store_forget(s->store, m[i].low, m[i].high);
		for (unsigned k = 0; dt_probes_code(m[i].probes, k, &low, &high); k++)
			dt_store_forget(s->store, low, high);
		dt_store_module_end(s->store, m[i].row, dt_ticks(), NULL);
	}
}

static void asked(struct dt_session *s);

/* The options' tracepoints. Whoever is writing to ctl may be waiting for us: he is served. */
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
	rc = dt_session_device_points(s, &s->point_error);
	pthread_mutex_unlock(&s->writing);
	return rc;
}

/*
 * All libraries of a program just started are there, none of its own code has run: without a single
 * site there would be nothing to record.
 */
static void end_if_sledless(struct dt_session *s, struct dt_target *t)
{
	size_t sites;

	if (!t->first_image || t->n < 3)
		return;
	t->first_image = false;
	if (set_points(s) < 0) {
		s->no_point = true;
		kill(t->pid, SIGKILL);
	}
	if (s->options.follow || s->options.points || s->options.kernel)
		return;
	dt_target_sites(t, &sites);
	if (sites)
		return;
	s->no_sleds = true;
	s->go = dt_target_has_go(t);
	kill(t->pid, SIGKILL);
}

/* Nothing could be planted, since a thread does not stop just now: is it to be tried again? */
static bool try_again(struct dt_session *s, struct dt_target *t, const struct dt_error *why)
{
	if (!t->busy || dt_target_gone(t) || s->ending)
		return false;
	if (!t->busy_since)
		t->busy_since = dt_now_ns();
	if (dt_now_ns() - t->busy_since < PATIENCE)
		return true;
	t->busy_since = 0;
	dt_format(s->note, sizeof(s->note), "process %d: libraries that it has loaded are not recorded: %s",
		  t->pid, why->text);
	return false;
}

/* False: not now. */
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
	if (!t || !t->area)
		return true;
	quiet = tasks(t->pid) == 1;
	if (dt_target_scan(t, &s->targets, quiet, &why) < 0)
		return !try_again(s, t, &why);
	t->busy_since = 0;
	if (quiet && !t->fast && dt_target_find_threads(t, (pid_t)q->tid, q->fs, false))
		dt_connect(t, true, NULL); /* vfork is connected only where there is rseq */
	dt_session_device_follow(s, t);
	dt_session_note_modules(s, t);
	end_if_sledless(s, t);
	if (t->n_gone) {
		pthread_mutex_unlock(&s->lock);
		dt_session_drained(s);
		pthread_mutex_lock(&s->lock);
		forget_modules(s, t->gone, t->n_gone);
		dt_target_forget(t);
	}
	return true;
}

/* --- exec */

static void forget_exec(struct dt_session *s, size_t i)
{
	s->exec_tid[i] = s->exec_tid[--s->execs];
	s->exec_ppid[i] = s->exec_ppid[s->execs];
	s->exec_pid[i] = s->exec_pid[s->execs];
}

/* The process goes on as it is: its new program is not traced. */
static void leave_unfollowed(struct dt_session *s, pid_t pid, const char *why)
{
	if (s->unfollowed++)
		return;
	s->unfollowed_pid = pid;
	dt_fail(&s->unfollowed_why, "%s", why);
}

/*
 * A setuid program, or one with capabilities of its own, does not get them when its process is held
 * by an ordinary user's ptrace: then the new image is not followed.
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
	while (n + 1 < sizeof(name) && dt_memory_read(mem, q->path + n, &name[n], 1) == 0 && name[n])
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
	return stat(path, &st) == 0 &&
	       ((st.st_mode & (S_ISUID | S_ISGID)) ||
		getxattr(path, "security.capability", NULL, 0) > 0);
}

/* Holds the thread by ptrace, running, so that it stops when its execve is through. */
static void exec_begins(struct dt_session *s, const struct dt_request *q)
{
	struct dt_target *t = dt_session_find(s, (pid_t)q->pid);

	if (loses_rights(q)) {
		leave_unfollowed(s, (pid_t)q->pid, "it is setuid, or has capabilities, which it would not get "
						   "while it is held; as root it can be traced");
		return;
	}
	if (ptrace(PTRACE_SEIZE, q->tid, 0, TRACE_EXEC) < 0) {
		if (errno != ESRCH)
			leave_unfollowed(s, (pid_t)q->pid,
					 errno == EPERM ? "another program traces it, or it is not ours to trace"
							: strerror(errno));
		return;
	}
	if (t)
		t->execing = true;
	s->exec_ppid[s->execs] = (pid_t)q->ppid;
	s->exec_tid[s->execs] = (pid_t)q->tid;
	s->exec_pid[s->execs++] = (pid_t)q->pid;
}

/* False: the thread does not stop just now. What a message says may be a lie: it might be in an execve, or wait for a
 * child of vfork. */
static bool exec_failed(struct dt_session *s, const struct dt_request *q)
{
	struct dt_target *t;

	for (size_t i = 0; i < s->execs; i++) {
		pid_t got = -1;
		int status;

		if (s->exec_tid[i] != (pid_t)q->tid)
			continue;
		if (ptrace(PTRACE_INTERRUPT, q->tid, 0, 0) == 0)
			for (int tries = 0; (got = dt_threads_wait((pid_t)q->tid, &status)) == 0; tries++) {
				if (tries == EXEC_TRIES)
					return false;
				usleep(20);
			}
		if (got > 0 && WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, q->tid, 0,
			       status >> 16 ? 0 : WSTOPSIG(status));
		forget_exec(s, i);
		t = dt_session_find(s, (pid_t)q->pid);
		if (t) { /* what was chosen meanwhile */
			t->execing = false;
			dt_session_device_follow(s, t);
		}
		return true;
	}
	return true;
}

/* The new image is there, stopped before its first instruction, nothing of ours in it. */
static void follow(struct dt_session *s, pid_t pid, pid_t ppid)
{
	struct dt_target *old = dt_session_find(s, pid), *t;
	struct dt_error e;
	bool ours = old && old->ours;

	if (s->store)
		dt_store_exec(s->store, (uint32_t)pid, dt_ticks(), NULL);
	if (old) {
		forget_modules(s, old->module, old->n);
		dt_target_end(old); /* its image has ended */
	}
	t = dt_target_open(pid, &e);
	if (!t) {
		if (!dt_memory_gone(pid))
			leave_unfollowed(s, pid, e.text);
		return;
	}
	t->ours = ours;
	t->ppid = ppid;
	t->held = pid;
	t->others = &s->first;
	if (s->options.follow)
		dt_session_note_program(s, pid);
	if (dt_target_confined(t)) { /* a call made for us might be its end */
		dt_shared_count_unsent(&s->targets.shared);
		dt_target_close(t);
		return;
	}
	if (dt_session_choose_memory(s, t, &e) < 0 ||
	    dt_target_install(t, &s->targets, pid, &e) < 0 ||
	    dt_target_scan(t, &s->targets, true, &e) < 0) {
		if (!dt_target_gone(t))
			leave_unfollowed(s, pid, e.text);
		dt_target_close(t);
		return;
	}
	dt_session_add(s, t);
	t->held = 0;
}

static void requests(struct dt_session *s);
static void check_execs(struct dt_session *s);

void dt_session_let_execs_go(struct dt_session *s)
{
	for (int rounds = 0; rounds < 100; rounds++) {
		requests(s);
		check_execs(s);
		for (size_t i = 0; i < s->execs; i++)
			ptrace(PTRACE_INTERRUPT, s->exec_tid[i], 0, 0);
		if (!s->execs)
			return;
		usleep(1000);
	}
}

static void check_execs(struct dt_session *s)
{
	for (size_t i = 0; i < s->execs;) {
		pid_t tid = s->exec_tid[i], got;
		int status;

		got = dt_threads_wait(tid, &status);
		/* a thread that execs continues as the process's first thread */
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

			dt_session_drained(s);
			pthread_mutex_lock(&s->lock);
			follow(s, pid, s->exec_ppid[i]);
			ptrace(PTRACE_DETACH, pid, 0, 0);
			pthread_mutex_unlock(&s->lock);
			forget_exec(s, i);
			continue;
		}
		if (s->targets.shared.state == DT_STOPPED) {
			/* the session ends: what is held is let go */
			ptrace(PTRACE_DETACH, got, 0, status >> 16 ? 0 : WSTOPSIG(status));
			forget_exec(s, i);
			continue;
		}
		ptrace(PTRACE_CONT, got, 0, status >> 16 ? 0 : WSTOPSIG(status));
	}
}

/* --- requests */

/* Have we mapped an area there, in some process of the session? A forked child has its parent's. */
static bool is_area(const struct dt_session *s, uint64_t area)
{
	for (size_t i = s->areas; i-- > 0;)
		if (s->area[i] == area)
			return true;
	return false;
}

/*
 * Has process pid posted this? Whoever has the session mapped can write there, and in another PID
 * namespace the same number is another process: it must have the domain's memory mapped, be
 * numbered so in its own namespace, and have the request's proof in its own memory.
 */
static bool has_posted(struct dt_session *s, const struct dt_domain *d, pid_t pid,
		       const struct dt_request *q, size_t slot)
{
	uint64_t at = q->area + DT_AREA_PROCESS + offsetof(struct dt_process_block, proof) + 4 * slot;
	struct dt_maps maps;
	uint32_t proof;
	bool has;
	int mem;

	/* nobody has 0 for a proof, and everybody may have a 0 there */
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
 * Which process has posted q; 0: it has ended, or there is none. Mostly the one that has this number here.
 * Others are looked for where there may be some: in other namespaces, where one sees no parent (0), or the
 * first process (1), or where there are such already.
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

/* Makes our numbers of those that the poster gave. False: it is not there any more. */
static bool make_outer(struct dt_session *s, struct dt_domain *d, struct dt_request *q, size_t slot)
{
	pid_t pid = find_poster(s, d, q, slot), tid = 0;

	if (pid)
		tid = dt_pid_inner(pid, (pid_t)q->tid) == (pid_t)q->tid ? (pid_t)q->tid
									: dt_pid_outer_thread(pid, (pid_t)q->tid);
	d->poster[slot].pid = pid;
	d->poster[slot].tid = tid;
	if (!tid)
		return false;
	if (pid != (pid_t)q->pid)
		q->ppid = (uint32_t)dt_session_parent_of(pid);
	q->pid = (uint32_t)pid;
	q->tid = (uint32_t)tid;
	return true;
}

/* Two threads of a process that exec at once are held one after the other: the second one would be
 * killed by the first one's execve, which waits until we have seen that, while we wait for it. */
static bool must_wait(const struct dt_session *s, const struct dt_request *q)
{
	if (q->kind != DT_REQUEST_EXEC)
		return false;
	if (s->execs == EXECS)
		return true;
	for (size_t i = 0; i < s->execs; i++)
		if (s->exec_pid[i] == (pid_t)q->pid)
			return true;
	return false;
}

/* A poster that was killed while it waited does not free its slot. */
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

/* False: it is to be asked again. */
static bool answer(struct dt_session *s, const struct dt_shared *m, struct dt_request *q,
		   bool lives)
{
	if (!lives) {
		if (q->kind == DT_REQUEST_PROCESS)
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
		exec_begins(s, q);
		break;
	case DT_REQUEST_EXEC_FAILED:
		return exec_failed(s, q);
	case DT_REQUEST_OPT_OUT:
		opt_out(s, m, q);
		break;
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
		if (dt_now_ns() > until) { /* the others' turn */
			s->unanswered = true;
			return;
		}
		pthread_mutex_lock(&s->lock);
		lives = make_outer(s, d, &copy, i);
		if (lives)
			dt_recorder_join(s, d, copy.tid);
		pthread_mutex_unlock(&s->lock);
		if (lives && must_wait(s, &copy))
			continue;
		pthread_mutex_lock(&s->lock);
		done = answer(s, m, &copy, lives);
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

/* --- ends */

static void ends(struct dt_session *s)
{
	for (struct dt_target *t = s->first; t; t = t->next) {
		int status = -1;

		if (t->ended || !dt_target_gone(t))
			continue;
		dt_session_note_user(s, t); /* before it is buried */
		if (t->ours && !dt_has_ended(t->pid, &status))
			continue;
		dt_target_end(t);
		if (s->store) {
			pthread_mutex_lock(&s->lock);
			dt_store_process_end(s->store, (uint32_t)t->pid, status, dt_ticks(), NULL);
			pthread_mutex_unlock(&s->lock);
		}
	}
}

/* Does a process that lives have all that this one had, where it had it? Its records can be told by
 * that, and those that it may have forked last find what they began with. */
static bool is_covered(const struct dt_session *s, const struct dt_target *t)
{
	if (t->n_gone || !t->n)
		return false;
	for (const struct dt_target *u = s->first; u; u = u->next) {
		size_t i = 0, k;

		if (u->ended || u->area != t->area || u->shared != t->shared)
			continue;
		for (; i < t->n; i++) {
			for (k = 0; k < u->n; k++)
				if (u->module[k].file == t->module[i].file &&
				    u->module[k].bias == t->module[i].bias)
					break;
			if (k == u->n)
				break;
		}
		if (i == t->n)
			return true;
	}
	return false;
}

/* What a flight recorder has written over is not read any more. */
static bool are_rings_read(const struct dt_domain *d)
{
	const struct dt_shared *g = d->shared;
	uint64_t size = g->geometry.ring_size;

	for (unsigned i = 0; i <= g->geometry.cores; i++) {
		const struct dt_ring_reader *r = &d->reader[i];
		uint64_t read = __atomic_load_n(&r->released, __ATOMIC_ACQUIRE),
			 pos = dt_shared_ring_pos(g, i);

		if (r->broken)
			continue;

		if (g->policy == DT_OVERWRITE && pos > size && pos - size > read)
			read = pos - size;
		if (read < d->left_pos[i])
			return false;
	}
	return true;
}

/* Has every record been read that there was when they ended? */
static bool is_read(struct dt_session *s)
{
	for (unsigned i = 0; i < s->domains; i++)
		if (!are_rings_read(s->domain[i]))
			return false;
	return !__atomic_load_n(&s->log_held, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&s->log_until, __ATOMIC_ACQUIRE) >= s->left_ticks;
}

/*
 * Of those that have ended only what tells their records is kept. Children that they may have forked
 * last find what they began with in a process that has the same, or, where there is none (as after an
 * execve), are looked for first: /proc is gone through for that, so once a second at most.
 */
static void fold_ended(struct dt_session *s)
{
	struct timespec now;
	bool alone = false;

	for (struct dt_target *t = s->first; t; t = t->next) {
		if (!t->ended || t->last)
			continue;
		if (is_covered(s, t)) {
			pthread_mutex_lock(&s->lock);
			dt_target_fold(t);
			pthread_mutex_unlock(&s->lock);
		} else {
			alone = true;
		}
	}
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (!alone || now.tv_sec == s->last_looked)
		return;
	s->last_looked = now.tv_sec;
	pthread_mutex_lock(&s->lock);
	dt_session_adopt_strays(s);
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->ended && !t->last)
			dt_target_fold(t);
	pthread_mutex_unlock(&s->lock);
	malloc_trim(0); /* it was megabytes each */
}

/* Their records have been read. The log asks for names later. */
static void let_go(struct dt_session *s)
{
	for (struct dt_target **p = &s->first, *t; (t = *p) != NULL;) {
		if (t->leaving && !t->left)
			dt_target_leave(t);
		if (t->left && (!s->has_log || is_covered(s, t))) {
			*p = t->next;
			dt_target_close(t);
		} else {
			p = &t->next;
		}
	}
}

/* Those that have ended and are needed no more: a server that forks for each connection has many, and
 * so has a shell that starts programs. */
static void leave(struct dt_session *s)
{
	unsigned cores = s->targets.shared.geometry.cores;

	fold_ended(s);
	if (s->anybody_leaving) {
		if (!is_read(s))
			return;
		pthread_mutex_lock(&s->lock);
		let_go(s);
		pthread_mutex_unlock(&s->lock);
		s->anybody_leaving = false;
	}
	for (struct dt_target *t = s->first; t; t = t->next) {
		t->leaving = t->last && !t->left;
		s->anybody_leaving = s->anybody_leaving || t->leaving;
	}
	for (unsigned i = 0; s->anybody_leaving && i < s->domains; i++)
		for (unsigned k = 0; k <= cores; k++)
			s->domain[i]->left_pos[k] = dt_shared_ring_pos(s->domain[i]->shared, k);
	s->left_ticks = dt_ticks();
}

/* A program may restrict its own system calls at any time: the hooks then make none. One that waits for room
 * rings the bell all the time: it is not asked each time. */
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
	if (s->ask_result == 0)
		dt_target_end(t);
}

static void asked(struct dt_session *s)
{
	enum dt_ask what = __atomic_load_n(&s->ask, __ATOMIC_RELAXED);
	pid_t pid;

	/* without the lock, which the recorder has most of the time: who asks rings the bell behind it */
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
		s->ask_result = dt_session_attach(s, pid, &s->ask_error) ? 0 : -1;
	pthread_mutex_lock(&s->lock);
	__atomic_store_n(&s->ask, DT_ASK_DONE, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&s->asked);
	pthread_mutex_unlock(&s->lock);
}

size_t dt_session_serve(struct dt_session *s, int timeout_ms)
{
	struct dt_shared_bells bells;
	size_t live = 0;

	dt_shared_bells(&s->targets.shared, &bells);
	requests(s);
	check_execs(s);
	ends(s);
	leave(s);
	dt_threads_late();
	confine(s);
	asked(s);
	dt_session_device_tick(s);
	for (struct dt_target *t = s->first; t; t = t->next)
		live += !t->ended;
	if (timeout_ms > 0 && (live > 0 || s->options.idle)) {
		struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

		if (s->execs)
			t.tv_nsec = 200000; /* their stops come by waitpid, not by the bell */
		else if (s->unanswered)
			t.tv_nsec = 1000000;
		dt_shared_bells_wait(&s->targets.shared, &bells, &t);
	}
	return live;
}
