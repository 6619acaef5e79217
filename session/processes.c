/* SPDX-License-Identifier: MIT */
/* The processes of a session. */
#include "session/switching.h"
#include "session/module-rows.h"
#include "session/processes.h"

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "arch/arch.h"
#include "hook/probes.h"
#include "hook/stubs.h"
#include "hook/target-modules.h"
#include "process/memory.h"
#include "process/rights.h"
#include "process/status.h"
#include "session/device.h"
#include "session/domain.h"
#include "session/ends.h"
#include "session/jit.h"
#include "session/births.h"
#include "session/lives.h"
#include "session/thread-table.h"
#include "session/tids.h"
#include "session/sieve.h"

#define NAMED 5 /* processes named in a message, at most */

static void read_cmdline(pid_t pid, char *text, size_t size)
{
	char path[64];
	ssize_t n = 0;
	int fd;

	dt_format(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i + 1 < n; i++)
		if (text[i] == '\0')
			text[i] = ' ';
}

void dt_process_program(pid_t pid, char *exe, size_t exe_size, char *cmdline, size_t size)
{
	char path[64];
	ssize_t n;

	dt_format(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, exe_size - 1);
	exe[n > 0 ? n : 0] = '\0';
	read_cmdline(pid, cmdline, size);
}

/* Stores the row of a process, by its id and its parent's number; program and command line are read
 * from process `like'. */
static void note_process(struct dt_session *s, uint32_t id, pid_t ppid, pid_t like)
{
	char exe[4096], cmdline[4096];

	if (!s->store)
		return;
	dt_process_program(like, exe, sizeof(exe), cmdline, sizeof(cmdline));
	dt_store_process(s->store, id, dt_lives_now(s, (uint32_t)ppid), exe, cmdline, dt_ticks(),
			 NULL);
	if (id >= DT_AGAIN)
		dt_store_again(s->store, id, dt_lives_number(s, id), NULL);
	if (s->sieve)
		dt_sieve_process(s->sieve, id, exe);
}

void dt_process_note(struct dt_session *s, struct dt_target *t)
{
	dt_thread_table_name((uint32_t)t->pid, t->comm, sizeof(t->comm));
	note_process(s, t->id, t->ppid, t->pid);
}

void dt_process_note_gone(struct dt_session *s, uint32_t id, pid_t ppid)
{
	char name[64];

	s->known_targets++;
	s->only_pid = 0;
	dt_thread_table_name((uint32_t)ppid, name, sizeof(name));
	dt_thread_table_note(s, id, id, name);
	note_process(s, id, ppid, ppid);
	if (s->store)
		dt_store_process_end(s->store, id, -1, dt_ticks(), NULL);
}

static void note_failed(struct dt_session *s, struct dt_module *m)
{
	if (m->failed && !m->failed_told)
		dt_format(s->results.note, sizeof(s->results.note), "nothing of %s is recorded: %s",
			  m->file->path, m->why);
	m->failed_told = m->failed;
	if (m->unheard && !m->unheard_told)
		dt_format(s->results.note, sizeof(s->results.note),
			  "calls of libraries that %s makes are not recorded: that is done for %d "
			  "modules of a process at most; name fewer of them",
			  m->file->path, DT_FROM_MAX);
	m->unheard_told = m->unheard;
}

void dt_process_note_modules(struct dt_session *s, struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++)
		note_failed(s, &t->module[i]);
	for (size_t i = 0; i < t->n && s->store; i++) {
		/* the vdso gets its row with its first record: mostly nobody asks for it */
		if (!t->module[i].file->vdso)
			dt_module_note(s, t, &t->module[i]);
		dt_module_note_complete(s, &t->module[i]);
	}
}

static void note_area(struct dt_session *s, uint64_t area)
{
	uint64_t *more;

	for (size_t i = s->areas; i-- > 0;)
		if (s->area[i] == area)
			return;
	/* when the number is a power of two less one, room up to the next is made */
	if (!(s->areas & (s->areas + 1)) || !s->area) {
		more = realloc(s->area, 2 * (s->areas + 1) * sizeof(*more));
		if (!more)
			return;
		s->area = more;
	}
	s->area[s->areas++] = area;
}

int dt_process_choose_memory(struct dt_session *s, struct dt_target *t, struct dt_error *e)
{
	struct dt_domain *d = dt_domain_for(s, t->pid, e);

	if (!d)
		return -1;
	t->shared = d->shared;
	return 0;
}

static void add_user(struct dt_session *s, uid_t uid)
{
	for (unsigned i = 0; i < s->results.users; i++)
		if (s->results.user[i] == uid)
			return;
	if (s->results.users < sizeof(s->results.user) / sizeof(*s->results.user))
		s->results.user[s->results.users++] = uid;
}

void dt_process_note_slow(struct dt_session *s, const struct dt_target *t)
{
	if (t->slow[0] && !s->results.slow[0])
		dt_format(s->results.slow, sizeof(s->results.slow), "process %d, %s", t->pid,
			  t->slow);
}

void dt_process_note_user(struct dt_session *s, const struct dt_target *t)
{
	struct dt_rights now;

	for (unsigned i = 0; i < s->domains; i++) {
		const struct dt_domain *d = s->domain[i];

		if (d->shared != t->shared || !dt_rights_of(t->pid, &now) ||
		    d->rights.user[1] == now.user[1])
			continue;
		add_user(s, d->rights.user[1]);
		add_user(s, now.user[1]);
	}
}

/* Stores the users of doubted domains when they have changed: other users than ours, whose
 * processes' records are believed only as far as they can be true. */
void dt_process_store_doubted(struct dt_session *s)
{
	char text[sizeof(s->doubted)] = "";
	size_t n = 0;

	for (unsigned i = 0; i < s->domains; i++)
		if (s->domain[i]->doubted)
			n += dt_format(text + n, sizeof(text) - n, "%s%u", n ? " " : "",
				       s->domain[i]->rights.user[1]);
	if (!strcmp(text, s->doubted))
		return;
	memcpy(s->doubted, text, sizeof(text));
	if (s->store)
		dt_store_meta(s->store, "doubted", s->doubted, NULL);
}

/* Returns when a process began that comes into the list. A forked child that has told nobody of its
 * birth yet will tell of that time (target/birth.c). */
static uint64_t birth_of(const struct dt_session *s, const struct dt_target *t)
{
	struct dt_area_birth b = {dt_ticks(), 0};
	uint64_t now = b.ticks;

	if (!t->forked || !t->area || dt_area_birth(t->mem, t->area, &b) < 0)
		return now;
	if (s->offset && b.core < s->targets.shared.geometry.cores)
		b.ticks -= (uint64_t)dt_offset_correction(&s->offset[b.core]);
	/* the process can write there what it likes */
	return b.ticks > s->began && b.ticks < now ? b.ticks : now;
}

void dt_process_add(struct dt_session *s, struct dt_target *t)
{
	struct dt_error e;
	uint64_t birth;

	dt_births_take(s);
	birth = birth_of(s, t);
	if (!t->id)
		t->id = dt_lives_process(s, t->pid, birth);
	note_area(s, t->area);
	dt_process_note_user(s, t);
	dt_ends_add(s->ends, t->pidfd);
	s->no_strays = false;
	t->next = s->first;
	t->others = &s->first;
	t->lifts = s->lifts;
	s->first = t;
	s->known_targets++;
	s->only_pid = s->known_targets == 1 ? t->id : 0;
	dt_thread_table_note(s, t->id, t->id, NULL);
	for (unsigned i = 0; i < s->domains; i++)
		if (s->domain[i]->shared == t->shared)
			dt_thread_table_join(s, s->domain[i], t->id);
	dt_process_store_doubted(s);
	dt_tids_note(s, t);
	dt_session_device_follow(s, t);
	if (s->switches && dt_switching_follow(s, t, birth, &e) < 0)
		dt_format(s->results.note, sizeof(s->results.note), "%s", e.text);
	if (s->kernel && dt_kernel_watch(s->kernel, t->pid, &e) < 0)
		dt_format(s->results.note, sizeof(s->results.note), "%s", e.text);
	dt_process_note(s, t);
	dt_process_note_modules(s, t);
	dt_session_jit_begin(s, t);
}

/*
 * Was the process made in this session's time? Those before can not have its memory, and to read
 * what all processes of a machine have mapped takes long. Those found to be older are remembered by
 * the number of their folder in /proc, which the kernel makes anew for each process (get_next_ino()
 * in fs/proc), also for one that has got the pid of another. ino: that number.
 */
static bool may_be_stray(struct dt_session *s, pid_t pid, ino_t ino)
{
	struct dt_older *o = &s->older[(unsigned)pid % (sizeof(s->older) / sizeof(*s->older))];

	/* 1: the kernel had no memory for a number */
	if (o->pid == pid && o->ino == ino && ino > 1)
		return false;
	if (dt_status_made(pid) >= s->made)
		return true;
	*o = (struct dt_older){pid, ino};
	return false;
}

/* Have all processes that are known ended? Then only those that are not known yet make new ones. */
static bool all_ended(const struct dt_session *s)
{
	for (const struct dt_target *t = s->first; t; t = t->next)
		if (!t->ended)
			return false;
	return true;
}

/* Searches /proc: forked children that never recorded anything have not made themselves known, but
 * they have our area. Where none was found, and none was left that could make one, there is none
 * until another process is added. */
bool dt_process_adopt_strays(struct dt_session *s)
{
	bool last = all_ended(s), any = false;
	DIR *d = s->no_strays ? NULL : opendir("/proc");
	struct dirent *entry;

	while (d && (entry = readdir(d)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		struct dt_domain *ours;
		struct dt_target *t;
		struct dt_maps maps;

		if (pid <= 0 || pid == getpid() || dt_session_find(s, pid) ||
		    !may_be_stray(s, pid, entry->d_ino) || dt_maps_read(pid, &maps, NULL) < 0)
			continue;
		ours = dt_domain_mapped(s, &maps);
		last = last && !ours;
		t = ours && !dt_process_shares_memory(s, pid) ? dt_target_open(pid, NULL) : NULL;
		if (t) {
			uint64_t area = dt_area_find(t->mem, &maps);

			t->ppid = dt_status_parent(pid);
			t->forked = true;
			t->shared = ours->shared;
			if (area &&
			    dt_target_adopt(t, &s->targets, area,
					    dt_process_parent(s, t->shared, area), NULL) == 0)
				dt_process_add(s, t), any = true;
			else
				dt_target_close(t);
		}
		dt_maps_free(&maps);
	}
	s->no_strays = s->no_strays || (d && last && !any);
	if (d)
		closedir(d);
	return any;
}

bool dt_process_shares_memory(struct dt_session *s, pid_t pid)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (!t->ended && t->pid != pid && dt_same_memory(pid, t->pid))
			return true;
	return false;
}

/* A process whose area is at the same address is an ancestor or a sibling, and has what the child
 * had at its birth. */
const struct dt_target *dt_process_parent(struct dt_session *s, const struct dt_shared *m,
					  uint64_t area)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->area == area && t->shared == m && !t->last)
			return t;
	return NULL;
}

void dt_process_forget_modules(struct dt_session *s, uint32_t id, const struct dt_module *m,
			       size_t n)
{
	for (size_t i = 0; s->store && i < n; i++) {
		uint64_t low, high;

		if (s->sieve)
			dt_sieve_settle(s->sieve, NULL);
		dt_store_forget(s->store, id, m[i].low, m[i].high);
		for (unsigned k = 0; dt_probes_code(m[i].probes, k, &low, &high); k++)
			dt_store_forget(s->store, id, low, high);
		if (dt_stubs_code(&m[i], &low, &high))
			dt_store_forget(s->store, id, low, high);
		dt_store_module_end(s->store, m[i].row, dt_ticks(), NULL);
	}
}

size_t dt_process_running(const struct dt_session *s, char *text, size_t size)
{
	size_t n = 0, length = 0;

	text[0] = '\0';
	for (const struct dt_target *t = s->first; t; t = t->next) {
		char name[64];

		if (t->ended || dt_target_gone(t))
			continue;
		if (++n > NAMED)
			continue;
		dt_thread_table_name((uint32_t)t->pid, name, sizeof(name));
		length += dt_format(text + length, size - length, "%s%d (%s)", length ? ", " : "",
				    t->pid, name);
	}
	if (n > NAMED)
		dt_format(text + length, size - length, " and %zu more", n - NAMED);
	return n;
}
