/* SPDX-License-Identifier: MIT */
/* What the device language means for a session of processes. */
#include "session/device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/target-switch.h"
#include "core/device-ranges.h"
#include "core/device-words.h"
#include "core/words.h"
#include "session/device-choosing.h"
#include "session/domain.h"
#include "session/pauses.h"
#include "session/places.h"
#include "session/ranges.h"
#include "session/tids.h"

static void *host_resize(void *ctx, void *p, size_t bytes)
{
	if (bytes)
		return realloc(p, bytes);
	free(p);
	return NULL;
}

static int host_place(void *ctx, const char *text, struct dt_place *place, struct dt_error *e)
{
	return dt_places_find(ctx, text, place, e);
}

static void host_text(void *ctx, uint64_t *base, uint64_t *end)
{
	dt_places_text(ctx, base, end);
}

static int host_check(void *ctx, struct dt_range *r, struct dt_error *e)
{
	return dt_ranges_check(ctx, r, e);
}

static void host_forget(void *ctx, struct dt_range *r)
{
	(void)ctx;
	dt_ranges_forget(r);
}

static bool is_watched(const struct dt_session *s, const struct dt_target *t)
{
	const struct dt_device *d = &s->device;

	if (!d->watches || d->all || d->uniform || s->watch_threads)
		return true;
	for (size_t i = 0; i < d->watches; i++)
		if (d->watch[i] == (uint32_t)t->pid)
			return true;
	return false;
}

/* Has the owner thread do something, and returns its result. The lock is released meanwhile. */
static int ask_owner(struct dt_session *s, enum dt_ask what, struct dt_error *e)
{
	int rc;

	while (s->ask != DT_ASK_NONE && !s->ending)
		pthread_cond_wait(&s->asked, &s->lock);
	__atomic_store_n(&s->ask, what, __ATOMIC_RELAXED);
	dt_shared_bell_ring(&s->targets.shared);
	while (s->ask == what && !s->ending)
		pthread_cond_wait(&s->asked, &s->lock);
	if (s->ending)
		return dt_fail(e, "the session is ending");
	rc = s->ask_result;
	if (rc < 0 && e)
		*e = s->ask_error;
	__atomic_store_n(&s->ask, DT_ASK_NONE, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&s->asked);
	return rc;
}

/* Does the work of sync_sites(), for the sites in s->ask_file, ask_low and ask_high. */
int dt_session_device_sync(struct dt_session *s, struct dt_error *e)
{
	int rc = 0;

	for (struct dt_target *t = s->first; t && rc == 0; t = t->next)
		if (!t->ended && t->area)
			rc = dt_target_sync(t, s->ask_file, s->ask_low, s->ask_high,
					    is_watched(s, t), e);
	return rc;
}

/* Tells whether switching these sites has to stop a process. Only the owner thread may do that,
 * since ptrace belongs to a thread. */
static bool stops(struct dt_session *s, const struct dt_file *f, uint64_t low, uint64_t high)
{
	for (struct dt_target *t = s->first; t; t = t->next) {
		bool watched = is_watched(s, t) && !t->opted_out;

		/* a process that is watched from now on may have all its sites to switch */
		if (!t->ended && t->area &&
		    (t->unwatched ? watched : dt_target_wants(t, f, low, high)))
			return true;
	}
	return false;
}

/* Switches the sites of one file (NULL: of all) to what is chosen, in every process. */
static int sync_sites(struct dt_session *s, const struct dt_file *f, uint64_t low, uint64_t high,
		      struct dt_error *e)
{
	bool ask = !pthread_equal(pthread_self(), s->owner) && stops(s, f, low, high);

	/* only one thread at a time gets here: dt_ctl_write() */
	s->ask_file = f;
	s->ask_low = low;
	s->ask_high = high;
	return ask ? ask_owner(s, DT_ASK_SYNC, e) : dt_session_device_sync(s, e);
}

/* Tells whether one of the watched ids is a thread that is not the first of its process. */
static bool watches_threads(struct dt_session *s)
{
	for (size_t i = 0; i < s->device.watches; i++) {
		bool process = false;
		char path[64];

		for (struct dt_target *t = s->first; t; t = t->next) {
			process = process || s->device.watch[i] == (uint32_t)t->pid;
			dt_format(path, sizeof(path), "/proc/%d/task/%u", t->pid,
				  s->device.watch[i]);
			if (!process && !t->ended && access(path, F_OK) == 0)
				return true;
		}
	}
	return false;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void set_watch(struct dt_session *s)
{
	size_t n = s->device.watches < DT_WATCH_MAX ? s->device.watches : DT_WATCH_MAX;
	uint32_t watch[DT_WATCH_MAX];

	if (n)
		memcpy(watch, s->device.watch, n * sizeof(*watch));
	/* also the numbers that threads in other PID namespaces know themselves by */
	for (size_t i = 0, ids = n; i < ids && s->targets.namespaces.last; i++)
		n += dt_tids_inner(s, watch[i], watch + n, DT_WATCH_MAX - n);
	qsort(watch, n, sizeof(*watch), by_id);
	dt_shared_each(&s->targets.shared, m)
		dt_shared_set_watch(m, watch, n);
}

static uint64_t ticks_of(const struct dt_session *s, uint64_t ns)
{
	return (uint64_t)((double)ns * s->ticks_per_ns);
}

static void set_arm(struct dt_session *s)
{
	const struct dt_arm *a = &s->device.arm;
	const struct dt_shared_arm arm = {.has_start = a->has_start,
					  .has_stop = a->has_stop,
					  .start = a->start,
					  .stop = a->stop};
	uint64_t now = dt_ticks();

	s->arm_ticks = ticks_of(s, a->duration);
	s->armed = *a;
	s->arm_state = !a->set ? DT_ARM_NONE : a->has_start ? DT_ARM_ARMED : DT_ARM_RUNNING;
	dt_shared_each(&s->targets.shared, m) {
		dt_shared_arm(m, &arm);
		if (s->arm_state == DT_ARM_ARMED)
			dt_rings_freeze(m, true);
		dt_shared_arm_set(m, s->arm_state, now);
	}
}

static int write_tables(struct dt_session *s, struct dt_error *e)
{
	int rc = 0;

	for (struct dt_target *t = s->first; t && rc == 0; t = t->next)
		rc = dt_ranges_table(s, t, e);
	return rc;
}

/* Tells whether the slow path must look at each event of the processes. Events in the kernel do not
 * count: its device looks at them. */
static bool is_careful(const struct dt_session *s)
{
	const struct dt_device *d = &s->device;

	if (d->uniform || d->arm.set || d->events)
		return true;
	for (size_t i = 0; i < d->n; i++)
		if (d->range[i].on && (d->range[i].action.what & DT_DO_CAREFUL) &&
		    !dt_ranges_kernel(&d->range[i]))
			return true;
	return false;
}

/* Applies all settings of the device except the switching of one range. */
static int apply_all(struct dt_session *s, struct dt_error *e)
{
	struct dt_device *d = &s->device;
	bool careful, plants;

	if (d->watches > DT_WATCH_MAX)
		return dt_fail(e, "devtrace: pidwatch array full: at most %u ids", DT_WATCH_MAX);
	s->watch_threads = watches_threads(s);
	careful = is_careful(s) || s->frozen || s->watch_threads;
	/* the tables that events are looked up in come before the looking; sites that were off come
	 * when they can be looked up */
	if (careful && write_tables(s, e) < 0)
		return -1;
	set_watch(s);
	dt_shared_each(&s->targets.shared, m) {
		dt_shared_set_all(m, d->all);
		dt_shared_set_uniform(m, d->uniform);
	}
	if (d->policy != s->log.policy) {
		pthread_mutex_lock(&s->log.lock);
		s->log.policy = d->policy;
		pthread_cond_broadcast(&s->log.changed);
		pthread_mutex_unlock(&s->log.lock);
		dt_shared_each(&s->targets.shared, m)
			if (s->has_log && m->policy != DT_OVERWRITE)
				dt_shared_set_policy(m, d->policy == DT_WAIT ? DT_WAIT : DT_DROP);
	}
	dt_shared_each(&s->targets.shared, m)
		dt_rings_careful(m, careful);
	if (memcmp(&s->armed, &d->arm, sizeof(s->armed)) != 0)
		set_arm(s);
	if (d->events != s->events) {
		s->events = d->events;
		dt_shared_each(&s->targets.shared, m)
			dt_rings_freeze_after(m, d->events);
	}
	s->narrowed = s->narrowed || d->watches != s->watches || (d->uniform && !s->uniform);
	s->watches = d->watches;
	dt_domains_freeze(s);
	dt_ranges_uniform(s, d->uniform);
	dt_ranges_masks(s);
	plants = careful && stops(s, NULL, 0, ~0ull);
	if (sync_sites(s, NULL, 0, ~0ull, e) < 0)
		return -1;
	/* probes that have been planted just now had no address until now */
	return plants ? write_tables(s, e) : 0;
}

static int host_apply(void *ctx, struct dt_range *r, struct dt_error *e)
{
	struct dt_session *s = ctx;
	const struct dt_file *f;
	uint64_t low, high;

	s->changed = true;
	s->narrowed = s->narrowed || (r && !r->on && dt_ranges_kernel(r));
	if (!r)
		return apply_all(s, e);
	if (dt_ranges_switch(s, r, e) < 0)
		return -1;
	if (dt_ranges_kernel(r))
		return 0;
	if (is_careful(s) || s->targets.shared.careful) {
		if (apply_all(s, e) < 0)
			goto fail;
	} else {
		f = dt_ranges_file(r, &low, &high);
		if (sync_sites(s, f, low, high, e) < 0)
			goto fail;
	}
	if (dt_ranges_planted(s, r, e) == 0)
		return 0;
fail:
	r->on = !r->on;
	dt_ranges_switch(s, r, NULL);
	r->on = !r->on;
	return -1;
}

/* Replaces a range in one moment: the jump to the old one's trampoline becomes one to the new
 * one's. */
static int host_update(void *ctx, struct dt_range *before, struct dt_range *r, struct dt_error *e)
{
	struct dt_session *s = ctx;
	bool was = before->on;

	s->changed = true;
	s->narrowed = s->narrowed || (was && dt_ranges_kernel(before));
	if (dt_ranges_kernel(r) && was)
		return dt_ranges_kernel_change(before, r, e);
	before->on = false;
	r->on = true;
	if ((!was || dt_ranges_switch(s, before, e) == 0) && dt_ranges_switch(s, r, e) == 0 &&
	    apply_all(s, e) == 0 && dt_ranges_planted(s, r, e) == 0)
		return 0;
	r->on = false;
	dt_ranges_switch(s, r, NULL);
	before->on = was;
	if (was)
		dt_ranges_switch(s, before, NULL);
	apply_all(s, NULL);
	return -1;
}

static int host_start(void *ctx, bool active, bool all, struct dt_error *e)
{
	struct dt_session *s = ctx;

	s->changed = true;
	dt_shared_each(&s->targets.shared, m)
		dt_shared_set_all(m, all);
	if (s->kernel && active && dt_kernel_start(s->kernel, e) < 0)
		return -1;
	if (s->kernel && !active)
		dt_kernel_stop(s->kernel);
	dt_pauses_start(s, active);
	dt_shared_each(&s->targets.shared, m)
		(active ? dt_rings_start : dt_rings_pause)(m);
	if (all != s->device.all && s->device.watches) {
		bool before = s->device.all;
		int rc;

		s->narrowed = s->narrowed || active;
		s->device.all = all;
		rc = sync_sites(s, NULL, 0, ~0ull, e);
		s->device.all = before;
		return rc;
	}
	return 0;
}

static int host_freeze(void *ctx, bool frozen, struct dt_error *e)
{
	struct dt_session *s = ctx;

	s->changed = true;
	s->frozen = frozen;
	dt_domains_freeze(s);
	if (frozen) {
		if (apply_all(s, e) < 0)
			return -1;
		dt_shared_each(&s->targets.shared, m)
			dt_rings_freeze(m, true);
		return 0;
	}
	dt_shared_each(&s->targets.shared, m)
		dt_rings_freeze(m, false);
	return apply_all(s, e);
}

static int host_size(void *ctx, uint64_t records, struct dt_error *e)
{
	struct dt_session *s = ctx;

	return dt_log_resize(&s->log, records, e);
}

static int host_reset(void *ctx, struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_shared_counts c = dt_domains_counts(s);

	dt_log_reset(&s->log);
	s->device.lookups = 0;
	s->filtered_in_seen = c.filtered_in;
	s->filtered_out_seen = c.filtered_out;
	s->ring_lost_in = s->ring_lost_out = 0;
	dt_shared_each(&s->targets.shared, m)
		for (unsigned i = 0; i <= m->geometry.cores; i++) {
			struct dt_shared_ring_counts r = dt_shared_ring_counts(m, i);

			s->ring_lost_in -= r.lost_in;
			s->ring_lost_out -= r.lost_out;
		}
	return 0;
}

static int host_inject(void *ctx, const struct dt_asker *who, uint64_t pc, const uint64_t value[4],
		       struct dt_error *e)
{
	struct dt_session *s = ctx;
	struct dt_record r = {.ticks = dt_ticks(),
			      .pc = pc,
			      .tid = who ? who->pid : DT_NO_TID,
			      .kind = DT_ENTRY,
			      .flags = 4};

	(void)e;
	memcpy(r.value, value, sizeof(r.value));
	dt_log_put(&s->log, &r, 1, 0);
	return 0;
}

static void host_counters(void *ctx, struct dt_counters *n)
{
	struct dt_session *s = ctx;
	struct dt_shared_counts c = dt_domains_counts(s);
	struct dt_log *l = &s->log;
	uint64_t in = s->ring_lost_in, out = s->ring_lost_out;
	const struct dt_target *t;

	dt_shared_each(&s->targets.shared, m)
		for (unsigned i = 0; i <= m->geometry.cores; i++) {
			struct dt_shared_ring_counts r = dt_shared_ring_counts(m, i);

			in += r.lost_in;
			out += r.lost_out;
		}
	in += c.filtered_in - s->filtered_in_seen;
	out += c.filtered_out - s->filtered_out_seen;
	pthread_mutex_lock(&l->lock);
	n->hits = l->head + l->stored + l->dropped;
	n->queued = l->head - l->tail;
	n->lost = l->dropped + l->overwritten;
	n->in = in + l->in;
	n->out = out + l->out;
	pthread_mutex_unlock(&l->lock);
	t = s->first ? dt_places_reference(s) : NULL;
	n->log = t ? dt_area_session(t->area, t->geometry) : 0;
	n->frozen = s->frozen;
	n->armed = s->device.arm.set;
}

static int pid_of(char *const *word, unsigned n, pid_t *pid, struct dt_error *e)
{
	uint64_t v;

	if (n != 2 || !dt_word_decimal(word[1], &v) || !v || v > 0x7fffffff)
		return dt_fail(e, "usage: %s <PID>", word[0]);
	*pid = (pid_t)v;
	return 0;
}

static int ask_for(struct dt_session *s, enum dt_ask what, pid_t pid, struct dt_error *e)
{
	s->ask_pid = pid;
	return ask_owner(s, what, e);
}

static int host_other(void *ctx, const struct dt_asker *who, char *const *word, unsigned n,
		      struct dt_error *e)
{
	struct dt_session *s = ctx;
	pid_t pid = 0;

	if (dt_word_is(word[0], "attach"))
		return pid_of(word, n, &pid, e) < 0 ? -1 : ask_for(s, DT_ASK_ATTACH, pid, e);
	if (dt_word_is(word[0], "detach"))
		return pid_of(word, n, &pid, e) < 0 ? -1 : ask_for(s, DT_ASK_DETACH, pid, e);
	if (dt_word_is(word[0], "dump")) {
		if (n != 2)
			return dt_fail(
				e,
				"usage: dump <file>|-: where the log is written when a trigger, or "
				"events n, has stopped recording; -: nowhere");
		free(s->dump);
		s->dump = dt_word_is(word[1], "-") ? NULL : strdup(word[1]);
		return 0;
	}
	if (dt_word_is(word[0], "quit")) {
		if (n != 1)
			return dt_fail(e, "usage: quit");
		atomic_store(&s->quit, true);
		dt_shared_bell_ring(&s->targets.shared);
		return 0;
	}
	return dt_device_choosing(s, who, word, n, e);
}

static int host_subsystem(void *ctx, const char *name, uint16_t *number)
{
	struct dt_session *s = ctx;

	for (struct dt_file *f = s->targets.files.first; f; f = f->next)
		for (size_t i = 0; f->elf && i < f->elf->events; i++)
			if (!(f->elf->event[i].flags & DT_EVENT_FREE) &&
			    strcmp(f->elf->event[i].subsystem_name, name) == 0) {
				*number = f->elf->event[i].subsystem;
				return 1;
			}
	return 0;
}

/* Lists ranges that are on and have no effect: patterns that match nothing so far, as mistyped ones
 * do, and functions that can not be hooked. */
static void host_state(void *ctx, void (*line)(void *to, const char *text, size_t n), void *to)
{
	struct dt_session *s = ctx;

	dt_device_choosing_state(s, line, to);
	for (size_t i = 0; i < s->device.n; i++) {
		struct dt_range *r = &s->device.range[i];
		char name[2 * DT_NAME_MAX + 4], missing[256], text[sizeof(name) + 300];
		const char *why = r->on ? dt_ranges_unhooked(s, r) : NULL;

		if (why)
			line(to, text,
			     dt_format(text, sizeof(text),
				       "#trace %s: not recorded, can not be hooked: %s\n",
				       dt_word_written(name, sizeof(name), r->name), why));
		if (r->kind != DT_RANGE_SET || !r->on || dt_ranges_kernel(r) ||
		    dt_ranges_matched(r, missing, sizeof(missing)))
			continue;
		line(to, text,
		     dt_format(text, sizeof(text), "#trace %s: no function matches yet\n",
			       dt_word_written(name, sizeof(name), r->name)));
	}
}

static const struct dt_device_ops ops = {
	.resize = host_resize,
	.place = host_place,
	.text = host_text,
	.check = host_check,
	.forget = host_forget,
	.update = host_update,
	.apply = host_apply,
	.start = host_start,
	.freeze = host_freeze,
	.size = host_size,
	.reset = host_reset,
	.inject = host_inject,
	.counters = host_counters,
	.subsystem = host_subsystem,
	.other = host_other,
	.state = host_state,
	.other_help =
		"attach      attach <PID>: trace this process too\n"
		"detach      detach <PID>: no longer\n"
		"dump        dump <file>|-: where the log is written when triggers have "
		"stopped it\n"
		"filter      filter <words>|-: write only calls that these mean; -: all\n"
		"sum         sum <name> new <what> by <keys> if <words>: sum up such calls\n"
		"sum         sum: list; sum <name>: the table; sum <name> clear|remove\n"
		"until       until <words>|-: recording ends with the first such call\n"
		"signal      signal STOP if <words>: sent at the first such call; signal -: no\n"
		"snapshot    snapshot <file>: the trace as it is now; <file> if <words>: then\n"
		"quit        end the session\n",
};

int dt_session_device_init(struct dt_session *s, struct dt_error *e)
{
	dt_device_init(&s->device, &ops, s);
	pthread_cond_init(&s->asked, NULL);
	pthread_mutex_init(&s->writing, NULL);
	s->owner = pthread_self();
	s->targets.choose = dt_ranges_choose;
	s->targets.choose_ctx = s;
	return dt_log_init(&s->log, DT_LOG_DEFAULT, e);
}

void dt_session_device_free(struct dt_session *s)
{
	dt_device_free(&s->device);
	dt_log_free(&s->log);
	free(s->dump);
	pthread_cond_destroy(&s->asked);
	pthread_mutex_destroy(&s->writing);
}

void dt_session_device_follow(struct dt_session *s, struct dt_target *t)
{
	if (!t->area || t->ended)
		return;
	if (s->targets.shared.careful)
		dt_ranges_table(s, t, NULL);
	dt_target_sync(t, NULL, 0, ~0ull, is_watched(s, t), NULL);
}
