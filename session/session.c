/* SPDX-License-Identifier: MIT */
/* Sessions: beginning and ending. */
#include "session/session.h"
#include "process/now.h"
#include "session/state.h"

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

#include "arch/arch.h"
#include "hook/calibrate.h"
#include "hook/probes.h"
#include "hook/target-detach.h"
#include "hook/target-modules.h"
#include "process/launch.h"
#include "process/memory.h"
#include "process/status.h"
#include "session/account.h"
#include "session/cgroup.h"
#include "session/clock.h"
#include "session/describe.h"
#include "session/device.h"
#include "session/domain.h"
#include "session/ends.h"
#include "session/helds.h"
#include "session/births.h"
#include "session/kernel-threads.h"
#include "session/lives.h"
#include "session/opening.h"
#include "session/jit.h"
#include "session/pauses.h"
#include "session/processes.h"
#include "session/recorder.h"
#include "session/serve.h"
#include "session/server.h"
#include "session/ping.h"
#include "session/thread-table.h"
#include "session/throttle.h"
#include "session/tids.h"
#include "session/sieve.h"
#include "session/snapshot.h"
#include "session/socket-names.h"
#include "session/switching.h"
#include "session/usage.h"
#include "session/unwinder.h"

#define DEFAULT_RING (4u << 20)
#define CLOCK_APART  5000000u /* ns: readings so far apart tell the tick to 1 in 20,000 */

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

/* Are the calls that the program makes of libraries recorded, all of them, and no others? */
static bool is_libraries_alone(const struct dt_options *o)
{
	return o->libcalls && !*o->libcalls && !o->select.n && !o->points && !o->arguments &&
	       !o->kernel && !o->filter && !o->sums && !o->idle && !o->stopped && !o->last_ns;
}

static int start_pings(struct dt_session *s, const struct dt_options *o, struct dt_error *e)
{
	if ((o->ping || o->pong) && !o->output)
		return dt_fail(e, "--ping and --pong write into the trace file: there is none");
	if (o->pong && !(s->pong = dt_ping_start(o->pong, o->ping_word, true, e)))
		return -1;
	if (o->ping && !(s->ping = dt_ping_start(o->ping, o->ping_word, false, e)))
		return -1;
	return 0;
}

/* Stores which boot of which machine this is: what was recorded in the same one, in whatever
 * container, has the same cycle counter. */
static void store_boot(struct dt_session *s)
{
	char id[40] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f)
		return;
	if (fgets(id, sizeof(id), f) && strlen(id) >= 36) {
		id[36] = '\0';
		dt_store_meta(s->store, "boot_id", id, NULL);
	}
	fclose(f);
}

/* Stores where and how the session records, for readers of the file. */
static void store_meta(struct dt_session *s, const struct dt_costs *costs)
{
	static const char *const policy[] = {"overwrite", "drop", "wait"};
	struct utsname u;
	char text[64];

	if (uname(&u) == 0) {
		dt_store_meta(s->store, "host", u.nodename, NULL);
		dt_store_meta(s->store, "kernel", u.release, NULL);
	}
	store_boot(s);
	dt_store_meta(s->store, "processor", DT_MACHINE_NAME, NULL);
	dt_store_meta(s->store, "policy", policy[s->options.policy], NULL);
	/* from these `check' knows what an older recorder did wrong; doc/format.md has the meaning
	 * of each */
	dt_store_meta(s->store, "revision", "2", NULL);
	dt_store_meta(s->store, "whole_until", "0", NULL);
	if (is_libraries_alone(&s->options))
		dt_store_meta(s->store, "calls", "libraries", NULL);
	if (s->options.switches && s->options.switches_unasked)
		dt_store_meta(s->store, "switches", "unasked", NULL);
	dt_switching_store(s);
	dt_format(text, sizeof(text), "%lu", (unsigned long)s->options.ring_size);
	dt_store_meta(s->store, "ring_size", text, NULL);
	dt_format(text, sizeof(text), "%u", s->targets.shared.geometry.cores);
	dt_store_meta(s->store, "cores", text, NULL);
	/* tenths of a tick are enough: the cost varies more from call to call */
	dt_format(text, sizeof(text), "%lu.%lu", (unsigned long)costs->ticks,
		  (unsigned long)(costs->ticks * 10) % 10);
	dt_store_meta(s->store, "record_ticks", text, NULL);
	store_cost(s, "entry", &costs->entry);
	store_cost(s, "exit", &costs->exit);
	store_cost(s, "point", &costs->point);
	if (s->kernel)
		dt_store_meta(s->store, "kernel_by", dt_kernel_source_name(s->kernel), NULL);
	if (s->options.budget) {
		dt_format(text, sizeof(text), "%lu.%02lu", (unsigned long)(s->options.budget * 100),
			  (unsigned long)(s->options.budget * 10000 + 0.5) % 100);
		dt_store_meta(s->store, "budget", text, NULL);
	}
	for (unsigned i = 0; s->offset && i < s->targets.shared.geometry.cores; i++) {
		char name[32];

		/* what has been subtracted from this core's ticks, and how far that may be wrong */
		dt_format(name, sizeof(name), "clock_applied.%u", i);
		dt_format(text, sizeof(text), "%ld %ld", (long)dt_offset_correction(&s->offset[i]),
			  (long)s->offset[i].error);
		dt_store_meta(s->store, name, text, NULL);
	}
}

/*
 * Runs the hooks in this process, before they go into somebody else's, and measures what they cost.
 */
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

/* Notes what the user should know of who records the kernel, at the beginning and the end. */
static void note_kernel(struct dt_session *s)
{
	char note[sizeof(s->results.note)];
	size_t at;

	dt_kernel_note(s->kernel, note, sizeof(note));
	at = strlen(note);
	if (s->sieve && s->ending && at)
		dt_sieve_early_note(s->sieve, note + at, sizeof(note) - at);
	/* at the end other things may have come up; what it said itself is replaced */
	if (note[0] && (!s->ending || !s->results.note[0] ||
			strncmp(note, s->results.note, strlen("the kernel")) == 0))
		dt_format(s->results.note, sizeof(s->results.note), "%s", note);
}

/* Begins to record functions of the kernel. */
static int open_kernel(struct dt_session *s, unsigned cores, struct dt_error *e)
{
	const struct dt_options *o = &s->options;
	uint64_t cgroup = 0;

	if (o->cgroup && dt_cgroup_find(o->cgroup, &cgroup, e) < 0)
		return -1;
	if (o->pids && dt_kernel_only_read(&s->kernel_only, o->pids, e) < 0)
		return -1;
	s->kernel = dt_kernel_open(o->kernel_pattern, o->kernel_patterns, cores,
				   o->everybody && !o->pids, cgroup, o->everybody, o->wakers,
				   dt_sieve_chooses_early(o), dt_sieve_early_rows(o), e);
	if (!s->kernel)
		goto fail;
	if (o->everybody && !(s->kernel_threads = dt_kernel_threads_new())) {
		dt_fail(e, "out of memory");
		goto fail_kernel;
	}
	if (dt_kernel_only_watch(&s->kernel_only, s->kernel, e) < 0)
		goto fail_names;
	note_kernel(s);
	return 0;
fail_names:
	dt_kernel_threads_free(s->kernel_threads);
	s->kernel_threads = NULL;
fail_kernel:
	dt_kernel_close(s->kernel);
	s->kernel = NULL;
fail:
	dt_kernel_only_free(&s->kernel_only);
	return -1;
}

/* Returns whether the recorder has to look at calls. */
static bool needs_sieve(const struct dt_options *o)
{
	return o->filter || o->sums || o->until || o->signals || o->snapshots || o->last_ns ||
	       o->backtrace;
}

/* Checks the words of sums and triggers. */
static int check_sums(const struct dt_options *o, struct dt_error *e)
{
	if ((o->last_ns || o->snapshots || o->backtrace) && !o->output)
		return dt_fail(e, "%s: it goes with a trace file: give one (-o)",
			       o->last_ns     ? "--last"
			       : o->snapshots ? "--snapshot"
					      : "--backtrace");
	if (o->policy == DT_OVERWRITE)
		return dt_fail(
			e, "-p overwrite: records are read at the end only, but --sum, "
			   "--until, --signal, --snapshot, --backtrace and --last look at them as "
			   "they come; --last keeps the newest, too");
	if (o->backtrace_size &&
	    (o->backtrace_size < DT_STACK_SIZE_LEAST || o->backtrace_size > DT_STACK_SIZE_MOST))
		return dt_fail(e, "--backtrace-size is %u to %u bytes", DT_STACK_SIZE_LEAST,
			       DT_STACK_SIZE_MOST);
	if (o->backtrace_size && !o->backtrace)
		return dt_fail(e, "--backtrace-size goes with --backtrace");
	return dt_sieve_check_sums(o, e);
}

static int check_words(const struct dt_options *o, struct dt_error *e)
{
	const char *what = o->points	  ? "tracepoints (-T)"
			   : o->arguments ? "arguments in full (-A)"
			   : o->sockets	  ? "sockets (--sockets)"
			   : o->backtrace ? "stacks (--backtrace)"
					  : NULL;

	if (!DT_POINTS && what)
		return dt_fail(e,
			       "%s can not be recorded on " DT_MACHINE_NAME
			       " yet: that takes points at instructions, and only functions can be "
			       "hooked; leave it out",
			       what);
	if (dt_throttle_check(o, e) < 0)
		return -1;
	if (o->filter && dt_sieve_check(o->filter, e) < 0)
		return -1;
	return o->sums || o->until || o->signals || o->snapshots || o->last_ns || o->backtrace ||
			       o->backtrace_size
		       ? check_sums(o, e)
		       : 0;
}

/* Makes ready for keeping the stacks of calls. */
static int begin_stacks(struct dt_session *s, struct dt_error *e)
{
	const struct dt_options *o = &s->options;

	if (!o->backtrace)
		return 0;
	s->stack_points = (struct dt_stack_points){
		.words = o->backtrace,
		.size = o->backtrace_size ? o->backtrace_size & ~7u : DT_STACK_SIZE};
	s->unwinder = dt_unwinder_new(s);
	return s->unwinder ? 0 : dt_fail(e, "out of memory");
}

/* Gives the device the functions that are to be recorded. */
static int choose_functions(struct dt_session *s, struct dt_error *e)
{
	const struct dt_options *o = &s->options;

	/* patterns that only remove functions take them from what else was asked for, or from
	 * everything when nothing was */
	if (!o->idle &&
	    (!dt_selection_rest(&o->select) ||
	     (!o->points && !o->arguments && !o->libcalls && !o->calls && !o->sockets)) &&
	    dt_session_device_select(s, &o->select, e) < 0)
		return -1;
	if (o->libcalls && dt_session_device_libcalls(s, e) < 0)
		return -1;
	if (o->sockets && dt_session_device_sockets(s, e) < 0)
		return -1;
	if (dt_session_device_arguments(s, e) < 0)
		return -1;
	/* they are points at functions of libc */
	return DT_POINTS && o->contexts ? dt_session_device_contexts(s, e) : 0;
}

/* Fails where nothing can be recorded, or not what is asked for. */
static int check(const struct dt_options *o, struct dt_error *e)
{
	int tsc;

	if (prctl(PR_GET_TSC, &tsc) == 0 && tsc == PR_TSC_SIGSEGV)
		return dt_fail(
			e, "reading the clock is forbidden here (prctl PR_SET_TSC): nothing can "
			   "be recorded");
	if ((o->cgroup || o->pids) && !o->everybody)
		return dt_fail(e,
			       "%s is for 'devtrace attach' with -k, -A 'syscall:...' or "
			       "-T 'tracepoint:...', and without processes",
			       o->cgroup ? "--cgroup" : "--pid");
	if (o->cgroup && o->pids)
		return dt_fail(e, "--cgroup and --pid: one of them says whom to record");
	return 0;
}

/* Fills in s, which is all zero but for its options and the time. m: its file. On error, everything
 * that it has made is freed. */
static int create(struct dt_session *s, const struct dt_options *o, struct dt_clocks began,
		  struct dt_opening *m, struct dt_error *e)
{
	unsigned cores = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	struct dt_clocks now;
	struct dt_costs costs;

	if (dt_switching_begin(s, cores, e) < 0)
		return -1;
	if (self_test(cores, &costs, e) < 0 ||
	    dt_shared_create(&s->targets.shared, cores, s->options.ring_size, o->policy, e) < 0) {
		dt_switches_close(s->switches);
		return -1;
	}
	if (dt_domain_first(s, e) < 0) {
		dt_shared_destroy(&s->targets.shared);
		dt_switches_close(s->switches);
		return -1;
	}
	if (begin_stacks(s, e) < 0 || dt_session_device_init(s, e) < 0)
		goto fail;
	s->has_log = !o->output;
	s->log.unasked = o->switches && o->switches_unasked;
	if (choose_functions(s, e) < 0)
		goto fail;
	s->offset = calloc(cores, sizeof(*s->offset));
	if (s->offset && !dt_offsets_measure(s->offset, cores, DT_OFFSETS_PATIENCE)) {
		free(s->offset);
		s->offset = NULL;
	}
	if (dt_switching_ready(s, e) < 0)
		goto fail;
	if (o->kernel && open_kernel(s, cores, e) < 0)
		goto fail;
	if (o->output) {
		s->store = dt_opening_end(m, e);
		if (!s->store)
			goto fail;
		store_meta(s, &costs);
	}
	/* two readings from the start, so that also a trace that is cut short knows how long a tick
	 * is */
	while (dt_now_ns() - began.mono < CLOCK_APART)
		;
	now = dt_clocks_read();
	s->ticks_per_ns = (double)(now.ticks - began.ticks) / (double)(now.mono - began.mono);
	s->settled = (uint64_t)(10000 * s->ticks_per_ns);
	if (needs_sieve(o) && !s->store && !(s->store = dt_store_create_memory(dt_describe, s, e)))
		goto fail;
	if (o->output) {
		dt_store_clock(s->store, began.ticks, began.mono, began.real, NULL);
		dt_store_clock(s->store, now.ticks, now.mono, now.real, NULL);
		dt_clock_store_realtime(s);
	}
	s->lifts = dt_throttle_lifts(o);
	if (o->budget && !(s->throttle = dt_throttle_new(s, &costs))) {
		dt_fail(e, "out of memory");
		goto fail;
	}
	if (!needs_sieve(o) || (s->sieve = dt_sieve_new(s, e)))
		return 0;
fail:
	if (s->store)
		dt_store_discard(s->store);
	dt_unwinder_free(s->unwinder);
	dt_session_device_free(s);
	dt_kernel_close(s->kernel);
	dt_kernel_only_free(&s->kernel_only);
	dt_kernel_threads_free(s->kernel_threads);
	dt_switches_close(s->switches);
	dt_throttle_free(s->throttle);
	free(s->offset);
	dt_domains_free(s);
	return -1;
}

struct dt_session *dt_session_create(const struct dt_options *o, struct dt_error *e)
{
	struct dt_opening opening;
	struct dt_session *s;
	struct dt_clocks now;

	if (dt_launch_can_trace(e) < 0 || check_words(o, e) < 0 || check(o, e) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s) {
		dt_fail(e, "no memory");
		return NULL;
	}
	s->made = dt_status_now() - 1;
	now = dt_clocks_read();
	s->began = now.ticks;
	s->began_ns = now.mono;
	s->options = *o;
	if (!s->options.ring_size)
		s->options.ring_size = DEFAULT_RING;
	pthread_mutex_init(&s->lock, NULL);
	dt_opening_begin(&opening, s);
	if (create(s, o, now, &opening, e) == 0)
		return s;
	dt_store_discard(dt_opening_end(&opening, NULL));
	free(s);
	return NULL;
}

/* Ends the recorder's thread if it runs, and notes what has come up while it did. */
static void stop_recorder(struct dt_session *s)
{
	if (!s->recorder_runs)
		return;
	atomic_store(&s->stop_recorder, true);
	dt_shared_bell_ring(&s->targets.shared);
	pthread_join(s->recorder, NULL);
	if (s->kernel)
		note_kernel(s);
	s->recorder_runs = false;
}

int dt_session_close(struct dt_session *s, struct dt_results *r, struct dt_error *e)
{
	struct dt_target *t, *next;
	int rc = 0;

	dt_ends_stop(s->ends);
	stop_recorder(s);
	dt_session_jit_end(s, 0);
	if (s->has_log) {
		dt_sieve_free(s->sieve);
		s->sieve = NULL;
		dt_store_discard(s->store);
		s->store = NULL;
	}
	if (s->store) {
		char text[32];

		dt_snapshot_end(s);
		dt_pauses_end(s);
		dt_helds_end(s);
		dt_births_end(s);
		if (s->kernel_threads)
			dt_kernel_threads_told(s);
		dt_thread_table_store_unlisted(s);
		dt_throttle_end(s);
		dt_ping_stop(s->ping);
		dt_ping_stop(s->pong);
		dt_clock_store(s);
		dt_format(text, sizeof(text), "%lu", (unsigned long)s->results.stop_ns);
		dt_store_meta(s->store, "longest_stop", text, NULL);
		dt_account_write(s);
		s->results.left_as_it_was = dt_store_is_late(s->store);
		dt_sieve_free(s->sieve);
		s->sieve = NULL;
		dt_unwinder_free(s->unwinder);
		s->unwinder = NULL;
		rc = dt_store_close(s->store, e);
		s->store = NULL;
	}
	s->results.stack_functions = s->stack_points.functions;
	s->results.cores = s->targets.shared.geometry.cores;
	s->results.unknown_tids = s->tids.unknown;
	for (t = s->first; t; t = next) {
		next = t->next;
		dt_target_close(t);
	}
	s->first = NULL;
	dt_session_device_free(s);
	dt_kernel_close(s->kernel);
	dt_kernel_only_free(&s->kernel_only);
	dt_kernel_threads_free(s->kernel_threads);
	dt_switches_close(s->switches);
	dt_ping_free(s->ping);
	dt_ping_free(s->pong);
	dt_socket_names_free(s->socket_names);
	dt_usage_free(s->usage);
	dt_throttle_free(s->throttle);
	free(s->offset);
	dt_domains_free(s);
	dt_probes_free_donors(&s->targets.files);
	dt_files_free(&s->targets.files);
	free(s->thread);
	free(s->held);
	dt_tids_free(&s->tids);
	dt_lives_free(&s->lives);
	free(s->area);
	free(s->program);
	free(s->path);
	pthread_mutex_destroy(&s->lock);
	dt_server_free(s->server);
	if (r)
		*r = s->results;
	free(s);
	return rc;
}

void dt_session_discard(struct dt_session *s)
{
	dt_store_discard(s->store);
	s->store = NULL;
	dt_session_close(s, NULL, NULL);
}

int dt_session_record(struct dt_session *s, struct dt_error *e)
{
	s->device.active = !s->options.idle && !s->options.stopped;
	dt_pauses_start(s, s->device.active);
	if (s->device.active)
		dt_rings_start(&s->targets.shared);
	else
		dt_rings_pause(&s->targets.shared); /* there is only one domain yet */
	if (s->kernel && s->device.active && dt_kernel_start(s->kernel, e) < 0)
		return -1;
	if (pthread_create(&s->recorder, NULL, dt_recorder_main, s) != 0)
		return dt_fail(e, "no recorder thread: %s", strerror(errno));
	s->recorder_runs = true;
	if (start_pings(s, &s->options, e) < 0)
		return -1;
	s->ends = dt_ends_watch(&s->targets.shared);
	return 0;
}

static void remember(struct dt_session *s, const struct dt_target *t)
{
	if (t->stop_ns > s->results.stop_ns)
		s->results.stop_ns = t->stop_ns;
	if (t->switched > s->results.switched) {
		s->results.switched = t->switched;
		s->results.switch_ns = t->switch_ns;
	}
}

static const char *why_left(const struct dt_target *t, size_t left)
{
	if (t->confined)
		return "it has confined itself by seccomp, and unmapping them might be its end";
	return left == DT_CODE_SIZE ? "a thread may still return into it"
				    : "the kernel may still note there on which core a thread is";
}

/* Detaches every target that is left: switches its sites off, puts its bytes back, unmaps our
 * memory. */
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
		dt_process_note_user(s, t);
		if (dt_target_detach(t, &left, &why) < 0 && !dt_target_gone(t) &&
		    !dt_memory_gone(t->pid)) {
			if (rc == 0 && e)
				*e = why;
			rc = -1;
		}
		if (left)
			dt_format(s->results.note, sizeof(s->results.note),
				  "process %d keeps %zu bytes of devtrace's memory mapped: %s",
				  t->pid, left, why_left(t, left));
		remember(s, t);
		if (rc == 0 && !left) /* otherwise its descriptors may still be needed */
			dt_target_end(t);
	}
	return rc;
}

int dt_session_end(struct dt_session *s, struct dt_error *e)
{
	int rc = 0;

	dt_session_serve(s, 0);
	pthread_mutex_lock(&s->lock);
	s->ending = true; /* no other thread may wait for us any more */
	pthread_cond_broadcast(&s->asked);
	pthread_mutex_unlock(&s->lock);
	dt_shared_each(&s->targets.shared, m)
		dt_rings_stop(m);
	if (s->kernel)
		dt_kernel_stop(s->kernel);
	dt_serve_let_execs_go(s);
	pthread_mutex_lock(&s->lock);
	/* processes may make children while others are detached: repeated until there are no new
	 * ones */
	for (int round = 0; round < 100 && (dt_process_adopt_strays(s) || round == 0); round++)
		if (detach_all(s, e) < 0)
			rc = -1;
	pthread_mutex_unlock(&s->lock);
	stop_recorder(s);
	if (atomic_load(&s->recorder_failed)) {
		if (e)
			*e = s->recorder_error;
		rc = -1;
	}
	return rc;
}

bool dt_session_is_told_to_quit(const struct dt_session *s)
{
	return atomic_load(&s->quit);
}

bool dt_session_is_broken(const struct dt_session *s)
{
	return atomic_load(&s->recorder_failed);
}

bool dt_session_is_all_read(struct dt_session *s)
{
	return dt_log_is_empty(&s->log);
}

bool dt_session_kernel_ended(const struct dt_session *s)
{
	return dt_kernel_only_ended(&s->kernel_only);
}
