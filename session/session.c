/* SPDX-License-Identifier: MIT */
/* Sessions: beginning, ending, and the processes in them. */
#include "arch/arch.h"
#include "session/device.h"
#include "hook/target-detach.h"
#include "hook/target-modules.h"
#include "hook/target-threads.h"
#include "session/doubt.h"
#include "session/helds.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hook/calibrate.h"
#include "hook/connect.h"
#include "process/launch.h"
#include "process/rights.h"
#include "process/memory.h"
#include "hook/probes.h"

#define DEFAULT_RING (4u << 20)
#define LONG_ATTACH 100000000u /* ns: to be said */
#define CLOCK_APART 5000000u /* ns: two readings so far apart tell the tick to 1 in 20,000 */

struct clocks {
	uint64_t ticks, mono, real;
};

static struct clocks read_clocks(void)
{
	struct timespec mono, real;
	uint64_t before = dt_ticks(), after;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	after = dt_ticks();
	return (struct clocks){before + (after - before) / 2,
			       (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec,
			       (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec};
}

void dt_session_clock(struct dt_session *s)
{
	struct clocks c = read_clocks();

	if (s->store)
		dt_store_clock(s->store, c.ticks, c.mono, c.real, NULL);
}

static void store_cost(struct dt_session *s, const char *kind, const struct dt_cost *c)
{
	char name[32], text[128];

	if (!c->n)
		return;
	dt_format(name, sizeof(name), "cost.%s", kind);
	snprintf(text, sizeof(text), "%.1f %.2f %.2f %.3f %u", c->median, c->mean, c->deviation,
		 c->interval, c->n);
	dt_store_meta(s->store, name, text, NULL);
}

/* Who recorded, where, how: for whoever reads the file. */
static void store_meta(struct dt_session *s, const struct dt_costs *costs)
{
	static const char *const policy[] = {"overwrite", "drop", "wait"};
	struct utsname u;
	char text[64];

	if (uname(&u) == 0) {
		dt_store_meta(s->store, "host", u.nodename, NULL);
		dt_store_meta(s->store, "kernel", u.release, NULL);
	}
	dt_store_meta(s->store, "policy", policy[s->options.policy], NULL);
	/* by which `check' tells what an older recorder did wrong; doc/format.md has what each means */
	dt_store_meta(s->store, "revision", "2", NULL);
	dt_store_meta(s->store, "whole_until", "0", NULL);
	dt_format(text, sizeof(text), "%lu", (unsigned long)s->options.ring_size);
	dt_store_meta(s->store, "ring_size", text, NULL);
	dt_format(text, sizeof(text), "%u", s->targets.shared.geometry.cores);
	dt_store_meta(s->store, "cores", text, NULL);
	/* tenths of a tick are enough: it varies more from call to call */
	dt_format(text, sizeof(text), "%lu.%lu", (unsigned long)costs->ticks,
		  (unsigned long)(costs->ticks * 10) % 10);
	dt_store_meta(s->store, "record_ticks", text, NULL);
	store_cost(s, "entry", &costs->entry);
	store_cost(s, "exit", &costs->exit);
	store_cost(s, "point", &costs->point);
	for (unsigned i = 0; s->offset && i < s->targets.shared.geometry.cores; i++) {
		char name[32];

		/* what has been taken from this core's ticks, and what it is certain to */
		dt_format(name, sizeof(name), "clock_applied.%u", i);
		dt_format(text, sizeof(text), "%ld %ld", (long)dt_offset_correction(&s->offset[i]),
			  (long)s->offset[i].error);
		dt_store_meta(s->store, name, text, NULL);
	}
}

/* The hooks prove themselves here before they go into somebody else's process. */
static int self_test(unsigned cores, struct dt_costs *costs, struct dt_error *e)
{
	struct dt_shared scratch;
	int rc;

	if (dt_shared_create(&scratch, cores, DT_RING_MIN, DT_OVERWRITE, e) < 0)
		return -1;
	dt_rings_start(&scratch);
	rc = dt_calibrate(&scratch, costs, e);
	dt_shared_destroy(&scratch);
	return rc;
}

int dt_session_create(struct dt_session *s, const struct dt_options *o, struct dt_error *e)
{
	unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	struct clocks began, now;
	struct dt_costs costs;
	int tsc;

	memset(s, 0, sizeof(*s));
	if (prctl(PR_GET_TSC, &tsc) == 0 && tsc == PR_TSC_SIGSEGV)
		return dt_fail(e, "reading the clock is forbidden here (prctl PR_SET_TSC): nothing can "
				  "be recorded");
	began = read_clocks();
	s->began = began.ticks;
	s->options = *o;
	if (!s->options.ring_size)
		s->options.ring_size = DEFAULT_RING;
	pthread_mutex_init(&s->lock, NULL);
	if (self_test(cores, &costs, e) < 0)
		return -1;
	if (dt_shared_create(&s->targets.shared, cores, s->options.ring_size, o->policy, e) < 0)
		return -1;
	if (dt_domain_first(s, e) < 0) {
		dt_shared_destroy(&s->targets.shared);
		return -1;
	}
	if (dt_session_device_init(s, e) < 0)
		goto fail;
	s->has_log = !o->output;
	/* what is only taken away is taken from what else was asked for, and from all when nothing was */
	if (!o->idle && (!dt_selection_rest(&o->select) || (!o->points && !o->arguments)) &&
	    dt_session_device_select(s, &o->select, e) < 0)
		goto fail;
	if (dt_session_device_arguments(s, e) < 0 ||
	    (o->contexts && dt_session_device_contexts(s, e) < 0))
		goto fail;
	s->offset = calloc(cores, sizeof(*s->offset));
	if (s->offset && !dt_offsets_measure(s->offset, cores, DT_OFFSETS_PATIENCE)) {
		free(s->offset);
		s->offset = NULL;
	}
	if (o->switches && !(s->switches = dt_switches_open(cores, e)))
		goto fail;
	if (o->kernel && !(s->kernel = dt_kernel_open(o->kernel_pattern, o->kernel_patterns, cores,
						       o->everybody, e)))
		goto fail;
	if (s->kernel && dt_kernel_gone(s->kernel))
		dt_format(s->note, sizeof(s->note),
			  "%lu functions of the kernel have gone with their modules meanwhile: the "
			  "others are recorded",
			  dt_kernel_gone(s->kernel));
	if (o->output) {
		s->store = dt_store_create_late(o->output, o->keep_old, dt_describe, s, e);
		if (!s->store)
			goto fail;
		store_meta(s, &costs);
	}
	/* two readings from the start, or a trace cut short would not know how long a tick is */
	while (dt_now_ns() - began.mono < CLOCK_APART)
		;
	now = read_clocks();
	s->ticks_per_ns = (double)(now.ticks - began.ticks) / (double)(now.mono - began.mono);
	s->settled = (uint64_t)(10000 * s->ticks_per_ns);
	if (s->store) {
		dt_store_clock(s->store, began.ticks, began.mono, began.real, NULL);
		dt_store_clock(s->store, now.ticks, now.mono, now.real, NULL);
	}
	return 0;
fail:
	dt_session_device_free(s);
	dt_kernel_close(s->kernel);
	dt_switches_close(s->switches);
	free(s->offset);
	dt_domains_free(s);
	return -1;
}

/* Threads of other PID namespaces that were gone when they were looked for. */
static void store_unknown_tids(struct dt_session *s)
{
	char text[32];

	if (!s->tids.unknown)
		return;
	dt_format(text, sizeof(text), "%zu", s->tids.unknown);
	dt_store_meta(s->store, "unknown_tids", text, NULL);
}

/* Of threads that had forbidden themselves to read the clock. */
static void store_clockless(struct dt_session *s)
{
	struct dt_shared_counts c = dt_domains_counts(s);
	char text[64];

	s->clockless = c.clockless_in;
	s->unsent = c.unsent;
	if (!c.clockless_in && !c.clockless_out)
		return;
	dt_format(text, sizeof(text), "%lu %lu", (unsigned long)c.clockless_in,
		  (unsigned long)c.clockless_out);
	dt_store_meta(s->store, "clockless", text, NULL);
}

/* Whose memories there were, in the order of their rings' numbers. */
static void store_domains(struct dt_session *s)
{
	size_t n = 0;

	for (unsigned i = 0; i < s->domains && s->domains > 1; i++)
		n += dt_format(s->domain_users + n, sizeof(s->domain_users) - n, "%s%u", i ? " " : "",
			       s->domain[i]->rights.user[1]);
	if (n)
		dt_store_meta(s->store, "domains", s->domain_users, NULL);
}

/* Whose processes' records are believed only as far as they can be true: other users' than ours. */
static void store_doubted(struct dt_session *s)
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

/* These users' processes could read and change each other's records. */
static void store_users(struct dt_session *s)
{
	char text[128];
	size_t n = 0;

	for (unsigned i = 0; i < s->users; i++)
		n += dt_format(text + n, sizeof(text) - n, "%s%u", i ? " " : "", s->user[i]);
	if (s->users > 1)
		dt_store_meta(s->store, "users", text, NULL);
}

static void put_written(struct dt_session *s, unsigned core, const char *source, uint64_t records,
			uint64_t dropped)
{
	struct dt_written_row row = {core, source, records, dropped};

	if (records || dropped || core == DT_SHARED_CORE)
		dt_store_written(s->store, &row, NULL);
}

/*
 * How many records were written, by those who did: where each ring's writers are, and what they found
 * no place for. Not what the recorder has taken: who reads the file compares. The shared ring's row is
 * always there, and says so that it is known.
 */
static void store_written(struct dt_session *s)
{
	unsigned cores = s->targets.shared.geometry.cores;
	uint64_t records, dropped;
	size_t n = 0;

	for (unsigned i = 0; i < s->domains * (cores + 1); i++) {
		const struct dt_domain *d = s->domain[i / (cores + 1)];
		const struct dt_ring_reader *reader = &d->reader[i % (cores + 1)];
		struct dt_shared_ring_counts r = dt_shared_ring_counts(d->shared, i % (cores + 1));
		unsigned core = dt_domain_core(s, i / (cores + 1), i % (cores + 1));

		if (!reader->broken && !dt_doubt_counts(d, i % (cores + 1))) {
			put_written(s, core, "ring", r.pos / 64, r.dropped);
			continue;
		}
		/* nobody knows what it wrote */
		put_written(s, core, "ring", reader->taken + reader->lost_total, 0);
		if (n < sizeof(s->broken) - 16)
			n += dt_format(s->broken + n, sizeof(s->broken) - n, "%s%u", n ? " " : "", core);
	}
	if (n)
		dt_store_meta(s->store, "broken_rings", s->broken, NULL);
	for (unsigned i = 0; i < cores && s->switches; i++) {
		dt_switches_written(s->switches, i, &records, &dropped);
		put_written(s, i, "switches", records, dropped);
	}
	for (unsigned i = 0; i < cores && s->kernel; i++)
		if (!dt_kernel_written(s->kernel, i, &records, &dropped))
			put_written(s, i, "kernel", records, dropped);
}

int dt_session_close(struct dt_session *s, struct dt_error *e)
{
	struct dt_target *t, *next;
	int rc = 0;

	if (s->recorder_runs) {
		atomic_store(&s->stop_recorder, true);
		dt_shared_bell_ring(&s->targets.shared);
		pthread_join(s->recorder, NULL);
		s->recorder_runs = false;
	}
	if (s->store) {
		char text[32];

		dt_pauses_end(s);
		dt_helds_end(s);
		dt_session_clock(s);
		dt_format(text, sizeof(text), "%lu", (unsigned long)s->stop_ns);
		dt_store_meta(s->store, "longest_stop", text, NULL);
		s->left_as_it_was = dt_store_is_late(s->store);
		store_clockless(s);
		store_unknown_tids(s);
		store_users(s);
		store_domains(s);
		store_written(s);
		rc = dt_store_close(s->store, e);
		s->store = NULL;
	}
	for (t = s->first; t; t = next) {
		next = t->next;
		dt_target_close(t);
	}
	s->first = NULL;
	dt_session_device_free(s);
	dt_kernel_close(s->kernel);
	dt_switches_close(s->switches);
	free(s->offset);
	dt_domains_free(s);
	dt_files_free(&s->targets.files);
	free(s->thread);
	free(s->held);
	dt_tids_free(&s->tids);
	free(s->area);
	free(s->program);
	pthread_mutex_destroy(&s->lock);
	return rc;
}

void dt_session_discard(struct dt_session *s)
{
	dt_store_discard(s->store);
	s->store = NULL;
	dt_session_close(s, NULL);
}

struct dt_target *dt_session_find(struct dt_session *s, pid_t pid)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->pid == pid && !t->ended)
			return t;
	return NULL;
}

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

void dt_session_read_program(pid_t pid, char *exe, size_t exe_size, char *cmdline, size_t size)
{
	char path[64];
	ssize_t n;

	dt_format(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, exe, exe_size - 1);
	exe[n > 0 ? n : 0] = '\0';
	read_cmdline(pid, cmdline, size);
}

/* Its program and command line are those of `like'. */
static void note_process(struct dt_session *s, pid_t pid, pid_t ppid, pid_t like)
{
	char exe[4096], cmdline[4096];

	if (!s->store)
		return;
	dt_session_read_program(like, exe, sizeof(exe), cmdline, sizeof(cmdline));
	dt_store_process(s->store, (uint32_t)pid, (uint32_t)ppid, exe, cmdline, dt_ticks(), NULL);
}

void dt_session_note_process(struct dt_session *s, struct dt_target *t)
{
	note_process(s, t->pid, t->ppid, t->pid);
}

void dt_session_note_gone(struct dt_session *s, pid_t pid, pid_t ppid)
{
	char name[64];

	s->known_targets++;
	s->only_pid = 0;
	dt_session_read_name((uint32_t)ppid, name, sizeof(name));
	dt_recorder_note(s, (uint32_t)pid, (uint32_t)pid, name);
	note_process(s, pid, ppid, ppid);
	if (s->store)
		dt_store_process_end(s->store, (uint32_t)pid, -1, dt_ticks(), NULL);
}

static void note_names(struct dt_session *s, const struct dt_module *m)
{
	const char *called = dt_file_called(m->file, NULL);
	char name[256];

	for (const char *p = strchr(called, '\n'); p; p = strchr(p + 1, '\n')) {
		dt_format(name, sizeof(name), "%.*s", (int)strcspn(p + 1, "\n"), p + 1);
		dt_store_module_name(s->store, m->row, name, NULL);
	}
}

static void note_failed(struct dt_session *s, struct dt_module *m)
{
	if (m->failed && !m->failed_told)
		dt_format(s->note, sizeof(s->note), "nothing of %s is recorded: %s", m->file->path,
			  m->why);
	m->failed_told = m->failed;
}

static void note_complete(struct dt_session *s, struct dt_module *m)
{
	if (m->complete && !m->complete_told && m->row)
		dt_store_complete(s->store, m->row, m->complete, NULL);
	m->complete_told = m->complete != 0;
}

void dt_session_note_modules(struct dt_session *s, struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++)
		note_failed(s, &t->module[i]);
	if (!s->store)
		return;
	for (size_t i = 0; i < t->n; i++) {
		struct dt_module *m = &t->module[i];
		struct dt_module_row row = {
			.pid = (uint32_t)t->pid,
			.base = m->bias,
			.low = m->low,
			.high = m->high,
			.path = m->file->path,
			.build_id = m->file->elf ? m->file->elf->build_id : "",
			.begin_ticks = m->begin_ticks,
		};

		if (!m->row) {
			m->row = dt_store_module(s->store, &row, NULL);
			if (m->row < 0)
				m->row = 0;
			else
				note_names(s, m);
		}
		note_complete(s, m);
	}
}

static void note_area(struct dt_session *s, uint64_t area)
{
	uint64_t *more;

	for (size_t i = s->areas; i-- > 0;)
		if (s->area[i] == area)
			return;
	if (!(s->areas & (s->areas + 1)) || !s->area) { /* room for the next power of two */
		more = realloc(s->area, 2 * (s->areas + 1) * sizeof(*more));
		if (!more)
			return;
		s->area = more;
	}
	s->area[s->areas++] = area;
}

int dt_session_choose_memory(struct dt_session *s, struct dt_target *t, struct dt_error *e)
{
	struct dt_domain *d = dt_domain_for(s, t->pid, e);

	if (!d)
		return -1;
	t->shared = d->shared;
	return 0;
}

static void add_user(struct dt_session *s, uid_t uid)
{
	for (unsigned i = 0; i < s->users; i++)
		if (s->user[i] == uid)
			return;
	if (s->users < sizeof(s->user) / sizeof(*s->user))
		s->user[s->users++] = uid;
}

void dt_session_note_user(struct dt_session *s, const struct dt_target *t)
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

void dt_session_add(struct dt_session *s, struct dt_target *t)
{
	struct dt_error e;

	note_area(s, t->area);
	dt_session_note_user(s, t);
	t->next = s->first;
	t->others = &s->first;
	s->first = t;
	s->known_targets++;
	s->only_pid = s->known_targets == 1 ? (uint32_t)t->pid : 0;
	dt_recorder_note(s, (uint32_t)t->pid, (uint32_t)t->pid, NULL);
	for (unsigned i = 0; i < s->domains; i++)
		if (s->domain[i]->shared == t->shared)
			dt_recorder_join(s, s->domain[i], (uint32_t)t->pid);
	store_doubted(s);
	dt_tids_note(s, t);
	dt_session_device_follow(s, t);
	if (s->switches && dt_switches_add(s->switches, t->pid, &e) < 0)
		dt_format(s->note, sizeof(s->note), "%s", e.text);
	if (s->kernel && dt_kernel_watch(s->kernel, t->pid, &e) < 0)
		dt_format(s->note, sizeof(s->note), "%s", e.text);
	dt_session_note_process(s, t);
	dt_session_note_modules(s, t);
}

int dt_session_record(struct dt_session *s, struct dt_error *e)
{
	s->device.active = !s->options.idle && !s->options.stopped;
	dt_pauses_start(s, s->device.active);
	if (s->device.active)
		dt_rings_start(&s->targets.shared);
	else
		dt_rings_pause(&s->targets.shared); /* there is only one yet */
	if (s->kernel && s->device.active && dt_kernel_start(s->kernel, e) < 0)
		return -1;
	if (pthread_create(&s->recorder, NULL, dt_recorder_main, s) != 0)
		return dt_fail(e, "no recorder thread: %s", strerror(errno));
	s->recorder_runs = true;
	return 0;
}

void dt_session_note_program(struct dt_session *s, pid_t pid)
{
	char path[64];
	struct stat st;

	dt_format(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &st) < 0)
		return;
	for (size_t i = 0; i < s->programs; i++)
		if (s->program[i].inode == st.st_ino && s->program[i].dev_major == major(st.st_dev) &&
		    s->program[i].dev_minor == minor(st.st_dev))
			return;
	if (s->programs == s->program_room) {
		size_t room = s->program_room ? 2 * s->program_room : 16;
		struct dt_program *more = realloc(s->program, room * sizeof(*more));

		if (!more)
			return;
		s->program = more;
		s->program_room = room;
	}
	s->program[s->programs++] =
		(struct dt_program){st.st_ino, major(st.st_dev), minor(st.st_dev)};
}

bool dt_session_is_program(const struct dt_session *s, const struct dt_file *f)
{
	for (size_t i = 0; i < s->programs; i++)
		if (s->program[i].inode == f->inode && s->program[i].dev_major == f->dev_major &&
		    s->program[i].dev_minor == f->dev_minor)
			return true;
	return false;
}

/* A static program has no dynamic linker that tells when threads are set up. */
static bool is_static(const struct dt_target *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->module[i].file->elf->interp)
			return false;
	return true;
}

struct dt_target *dt_session_start(struct dt_session *s, struct dt_launch *l, struct dt_error *e)
{
	const char *path = l->path;
	struct dt_target *t = NULL;
	pid_t pid = dt_launch(l, e);
	int rc = 0;

	if (pid < 0)
		return NULL;
	pthread_mutex_lock(&s->lock);
	t = dt_target_open(pid, e);
	if (!t)
		goto fail;
	t->ours = true;
	t->held = pid;
	t->ppid = getpid();
	dt_session_note_program(s, pid);
	if (dt_session_choose_memory(s, t, e) < 0 ||
	    dt_target_install(t, &s->targets, pid, e) < 0 ||
	    dt_target_scan(t, &s->targets, true, e) < 0 || dt_target_any(t, e) < 0)
		goto fail;
	t->first_image = true;
	if (is_static(t)) {
		size_t sites;

		dt_target_sites(t, &sites);
		if (!sites && !s->options.follow && !s->options.points && !s->options.kernel) {
			if (dt_target_has_go(t))
				dt_fail(e, "%s: " DT_GO, path);
			else
				dt_fail(e, DT_NO_SLEDS, path);
			goto fail;
		}
		rc = dt_launch_until_rseq(pid);
		if (rc == 1) {
			dt_target_find_threads(t, pid, dt_thread_fs(pid), true);
			dt_connect(t, true, NULL);
		}
	}
	dt_session_add(s, t);
	/* what is in a library waits until that is there */
	if (dt_session_device_points(s, e) < 0 && is_static(t)) {
		t = NULL; /* the session's by now */
		goto fail;
	}
	t->held = 0;
	/* with the lock: a command that comes now may want to stop it itself */
	if (rc >= 0 && ptrace(PTRACE_DETACH, pid, 0, 0) < 0 && errno != ESRCH) {
		dt_fail(e, "%s: can not be let go: %s", path, strerror(errno));
		t = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	return t;
fail:
	pthread_mutex_unlock(&s->lock);
	if (t)
		dt_target_close(t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return NULL;
}

/* An area of an earlier session whose controller has died is taken away; a live one is refused. */
static int clear_old_area(struct dt_target *t, struct dt_error *e)
{
	struct dt_shared_old old;
	struct dt_maps maps;
	uint64_t area;
	size_t left;
	int rc;

	if (dt_maps_read(t->pid, &maps, e) < 0)
		return -1;
	area = dt_area_find(t->mem, &maps);
	dt_maps_free(&maps);
	if (!area)
		return 0;
	if (!dt_shared_old(t->mem, area + DT_AREA_SESSION, &old))
		old.fits = old.lives = false;
	if (old.lives)
		return dt_fail(e, "process %d is already traced, by devtrace process %u", t->pid,
			       old.controller);
	/* the process could write there whatever it likes */
	if (!old.fits)
		return dt_fail(e,
			       "process %d has memory of an earlier session that this devtrace can not take "
			       "away (another version's, or damaged); start the program anew",
			       t->pid);
	t->area = area;
	t->geometry = &old.geometry;
	if (dt_probes_recover(t, &t->old, &t->n_old, e) < 0)
		return -1;
	for (size_t i = 0; i < t->n; i++)
		t->module[i].hooked = t->module[i].on = t->module[i].file->chosen != NULL;
	rc = dt_target_detach(t, &left, e);
	t->geometry = NULL;
	t->area = 0;
	dt_target_free_old(t);
	if (rc == 0 && left)
		rc = dt_fail(e, "process %d still runs code of an earlier session; try again", t->pid);
	return rc;
}

struct dt_target *dt_session_attach(struct dt_session *s, pid_t pid, struct dt_error *e)
{
	uint64_t began = dt_now_ns();
	struct dt_threads one;
	struct dt_target *t;
	size_t sites;
	int rc;

	t = dt_target_open(pid, e);
	if (!t)
		return NULL;
	pthread_mutex_lock(&s->lock);
	t->others = &s->first;
	dt_session_note_program(s, pid);
	/* everything slow (files, symbols, patterns) before anything is stopped */
	if (dt_target_scan(t, &s->targets, false, e) < 0 || clear_old_area(t, e) < 0)
		goto fail;
	dt_target_sites(t, &sites);
	/* nothing is chosen in an idle session yet, and what is not built with sleds has none till then */
	if (!sites && dt_target_has_go(t) && !s->options.idle && !s->options.kernel) {
		dt_fail(e, "process %d: " DT_GO, pid);
		goto fail;
	}
	if (!sites && !s->options.idle && !s->options.points && !s->options.arguments) {
		dt_fail(e,
			"process %d has no function that could be traced ('devtrace list -v' says "
			"why); build its program with CFLAGS=\"$(pkg-config --cflags devtrace)\"",
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
	if (dt_threads_stop_one(pid, pid, &one, e) < 0)
		goto fail;
	rc = dt_session_choose_memory(s, t, e);
	if (rc == 0)
		rc = dt_target_install(t, &s->targets, pid, e);
	dt_threads_release(&one);
	t->stop_ns = one.stopped_for;
	if (rc < 0 || dt_target_scan(t, &s->targets, false, e) < 0 || dt_target_any(t, e) < 0)
		goto fail;
	dt_session_add(s, t);
	/* the rings are open meanwhile; the file has it of each module */
	if (dt_now_ns() - began > LONG_ATTACH)
		dt_format(s->note, sizeof(s->note),
			  "process %d is recorded completely from %lu ms after its attach on", pid,
			  (unsigned long)((dt_now_ns() - began) / 1000000));
	pthread_mutex_unlock(&s->lock);
	return t;
fail:
	if (t->area) {
		size_t left;

		dt_target_detach(t, &left, NULL);
	}
	pthread_mutex_unlock(&s->lock);
	dt_target_close(t);
	return NULL;
}

static void remember(struct dt_session *s, const struct dt_target *t)
{
	if (t->stop_ns > s->stop_ns)
		s->stop_ns = t->stop_ns;
	if (t->switched > s->switched) {
		s->switched = t->switched;
		s->switch_ns = t->switch_ns;
	}
}

pid_t dt_session_parent_of(pid_t pid)
{
	char path[64], line[128];
	pid_t ppid = 0;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "PPid: %d", &ppid) == 1)
			break;
	if (f)
		fclose(f);
	return ppid;
}

/* Forked children that never recorded anything have not made themselves known; they have the area. */
bool dt_session_adopt_strays(struct dt_session *s)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	bool any = false;

	while (d && (entry = readdir(d)) != NULL) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		struct dt_domain *ours;
		struct dt_target *t;
		struct dt_maps maps;

		if (pid <= 0 || pid == getpid() || dt_session_find(s, pid) ||
		    dt_maps_read(pid, &maps, NULL) < 0)
			continue;
		ours = dt_domain_mapped(s, &maps);
		t = ours && !dt_session_shares(s, pid) ? dt_target_open(pid, NULL) : NULL;
		if (t) {
			uint64_t area = dt_area_find(t->mem, &maps);

			t->ppid = dt_session_parent_of(pid);
			t->forked = true;
			t->shared = ours->shared;
			if (area &&
			    dt_target_adopt(t, &s->targets, area,
					    dt_session_parent(s, t->shared, area), NULL) == 0)
				dt_session_add(s, t), any = true;
			else
				dt_target_close(t);
		}
		dt_maps_free(&maps);
	}
	if (d)
		closedir(d);
	return any;
}

bool dt_session_shares(struct dt_session *s, pid_t pid)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (!t->ended && t->pid != pid && dt_same_memory(pid, t->pid))
			return true;
	return false;
}

/* Whoever has its area there is an ancestor, or a brother: it has what the process had at its birth. */
const struct dt_target *dt_session_parent(struct dt_session *s, const struct dt_shared *m,
					  uint64_t area)
{
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->area == area && t->shared == m && !t->last)
			return t;
	return NULL;
}

/* Switches off, puts back, unmaps: every target that is left. */
static int detach_all(struct dt_session *s, struct dt_error *e)
{
	int rc = 0;

	for (struct dt_target *t = s->first; t; t = t->next) {
		struct dt_error why;
		size_t left = 0;

		remember(s, t);
		if (t->ended || !t->area || t->tried)
			continue;
		t->tried = true;
		dt_session_note_user(s, t);
		if (dt_target_detach(t, &left, &why) < 0 && !dt_target_gone(t) &&
		    !dt_memory_gone(t->pid)) {
			if (rc == 0 && e)
				*e = why;
			rc = -1;
		}
		if (left)
			dt_format(s->note, sizeof(s->note),
				  "process %d keeps %zu bytes of devtrace's code mapped: %s", t->pid,
				  left,
				  t->confined ? "it has confined itself by seccomp, and unmapping "
						"them might be its end"
					      : "a thread may still return into it");
		remember(s, t);
		if (rc == 0 && !left) /* its descriptors may be needed for others */
			dt_target_end(t);
	}
	return rc;
}

int dt_session_end(struct dt_session *s, struct dt_error *e)
{
	int rc = 0;

	dt_session_serve(s, 0);
	pthread_mutex_lock(&s->lock);
	s->ending = true; /* nobody is to wait for us any more */
	pthread_cond_broadcast(&s->asked);
	pthread_mutex_unlock(&s->lock);
	dt_shared_each(&s->targets.shared, m)
		dt_rings_stop(m);
	if (s->kernel)
		dt_kernel_stop(s->kernel);
	dt_session_let_execs_go(s);
	pthread_mutex_lock(&s->lock);
	/* children may be born of a process while others are detached: until there is nobody new */
	for (int round = 0; round < 100 && (dt_session_adopt_strays(s) || round == 0); round++)
		if (detach_all(s, e) < 0)
			rc = -1;
	pthread_mutex_unlock(&s->lock);
	if (s->recorder_runs) {
		atomic_store(&s->stop_recorder, true);
		dt_shared_bell_ring(&s->targets.shared);
		pthread_join(s->recorder, NULL);
		s->recorder_runs = false;
	}
	if (atomic_load(&s->recorder_failed)) {
		if (e)
			*e = s->recorder_error;
		rc = -1;
	}
	return rc;
}
