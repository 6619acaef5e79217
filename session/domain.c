/* SPDX-License-Identifier: MIT */
#include "session/domain.h"

#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "arch/arch.h"

unsigned dt_domains(const struct dt_session *s)
{
	return __atomic_load_n(&s->domains, __ATOMIC_ACQUIRE);
}

static void free_domain(struct dt_domain *d)
{
	if (!d)
		return;
	for (unsigned i = 0; d->reader && i <= d->shared->geometry.cores; i++)
		dt_ring_reader_free(&d->reader[i]);
	free(d->reader);
	free(d->left_pos);
	free(d);
}

/* Makes a domain for a memory that exists. Returns NULL and an error when there is no memory. */
static struct dt_domain *new_domain(struct dt_shared *m, struct dt_error *e)
{
	unsigned rings = m->geometry.cores + 1;
	struct dt_domain *d = calloc(1, sizeof(*d));

	if (!d)
		goto no_memory;
	d->shared = m;
	d->reader = calloc(rings, sizeof(*d->reader));
	d->left_pos = calloc(rings, sizeof(*d->left_pos));
	if (!d->reader || !d->left_pos)
		goto no_memory;
	for (unsigned i = 0; i < rings; i++)
		if (dt_ring_reader_init(&d->reader[i], m, i, e) < 0)
			goto fail;
	return d;
no_memory:
	dt_fail(e, "out of memory");
fail:
	free_domain(d);
	return NULL;
}

static void add(struct dt_session *s, struct dt_domain *d)
{
	d->number = s->domains;
	s->domain[s->domains] = d;
	__atomic_store_n(&s->domains, s->domains + 1, __ATOMIC_RELEASE);
}

int dt_domain_first(struct dt_session *s, struct dt_error *e)
{
	struct dt_domain *d = new_domain(&s->targets.shared, e);

	if (!d)
		return -1;
	add(s, d);
	return 0;
}

/* The first domain's memory is part of the session; the others' were allocated. */
void dt_domains_free(struct dt_session *s)
{
	while (s->domains) {
		struct dt_domain *d = s->domain[--s->domains];
		struct dt_shared *m = d->shared;

		free_domain(d);
		dt_shared_destroy(m);
		if (s->domains)
			free(m);
	}
}

/* Sets a new domain to what recording is in the others: running or paused, frozen, armed. */
static void set_recording(struct dt_session *s, struct dt_domain *d)
{
	const struct dt_shared *first = s->domain[0]->shared;
	uint64_t now = dt_ticks();

	d->pauses.last = d->pauses.all_told = now;
	if (first->state == DT_RECORDING)
		dt_rings_start(d->shared);
	else if (first->state == DT_PAUSED)
		dt_rings_pause(d->shared);
	if (dt_domains_frozen(s))
		dt_rings_freeze(d->shared, true);
	else if (s->events)
		dt_rings_freeze_after(d->shared, s->events);
	dt_shared_arm_set(d->shared, s->arm_state, dt_shared_arm_begin(first));
	if (first->confined)
		dt_shared_set_confined(d->shared);
	for (unsigned i = 0; i < s->domains; i++) {
		struct dt_domain *other = s->domain[i];

		other->frozen = other->shared->careful && dt_rings_frozen(other->shared);
	}
	d->frozen = d->shared->careful && dt_rings_frozen(d->shared);
}

/* Tells whether there are numbers in the file for the rings of another domain. */
static bool has_room(const struct dt_session *s)
{
	return s->domains < DT_SHARED_MAX &&
	       s->domains * s->targets.shared.geometry.cores <= DT_SHARED_CORES - DT_FURTHER_CORES;
}

static struct dt_domain *another(struct dt_session *s, struct dt_error *e)
{
	struct dt_shared *m = NULL;
	struct dt_domain *d;
	struct dt_error why;

	if (!has_room(s)) {
		dt_fail(e,
			"the session has processes of %u users or capabilities already, each with "
			"rings of its own",
			s->domains);
		return NULL;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	if (dt_shared_create_like(m, &s->targets.shared, &why) < 0) {
		dt_fail(e, "no rings of its own for another user's process: %s", why.text);
		goto fail;
	}
	d = new_domain(m, e);
	if (!d)
		goto fail_memory;
	set_recording(s, d);
	dt_shared_join(&s->targets.shared, m);
	add(s, d);
	return d;
fail_memory:
	dt_shared_destroy(m);
fail:
	free(m);
	return NULL;
}

/*
 * Tells whether processes with these credentials are another user's than this one. A program of our
 * own user that runs wild spoils its own trace, and `check` finds that; another user's may mean to
 * do harm.
 */
static bool are_others(const struct dt_rights *r)
{
	for (unsigned i = 0; i < sizeof(r->user) / sizeof(*r->user); i++)
		if (r->user[i] != geteuid())
			return true;
	return false;
}

struct dt_domain *dt_domain_for(struct dt_session *s, pid_t pid, struct dt_error *e)
{
	struct dt_domain *d = NULL;
	struct dt_rights r;

	if (!dt_rights_of(pid, &r)) {
		dt_fail(e, "process %d has ended", pid);
		return NULL;
	}
	for (unsigned i = 0; i < s->domains && !d; i++)
		if (!s->domain[i]->has_rights || memcmp(&s->domain[i]->rights, &r, sizeof(r)) == 0)
			d = s->domain[i];
	if (!d)
		d = another(s, e);
	if (d) {
		d->rights = r;
		d->has_rights = true;
		__atomic_store_n(&d->doubted, are_others(&r), __ATOMIC_RELAXED);
	}
	return d;
}

struct dt_domain *dt_domain_mapped(struct dt_session *s, const struct dt_maps *maps)
{
	for (unsigned i = 0, n = dt_domains(s); i < n; i++)
		if (dt_shared_mapped(s->domain[i]->shared, maps))
			return s->domain[i];
	return NULL;
}

unsigned dt_domain_core(const struct dt_session *s, unsigned d, unsigned ring)
{
	unsigned cores = s->targets.shared.geometry.cores;

	if (ring == cores)
		return DT_SHARED_CORE - d;
	return d ? DT_FURTHER_CORES + (d - 1) * cores + ring : ring;
}

struct dt_shared_counts dt_domains_counts(struct dt_session *s)
{
	struct dt_shared_counts all = {0};

	dt_shared_each(&s->targets.shared, m) {
		struct dt_shared_counts c = dt_shared_counts(m);

		all.filtered_in += c.filtered_in;
		all.filtered_out += c.filtered_out;
		all.clockless_in += c.clockless_in;
		all.clockless_out += c.clockless_out;
		all.unsent += c.unsent;
		all.missed += c.missed;
		all.held_missed += c.held_missed;
		all.held_missed_ticks += c.held_missed_ticks;
		all.births_missed += c.births_missed;
	}
	return all;
}

bool dt_domains_frozen(struct dt_session *s)
{
	dt_shared_each(&s->targets.shared, m)
		if (m->careful && dt_rings_frozen(m))
			return true;
	return false;
}

/* Tells whether an event may freeze recording or let it go on. If not, a process that does so was
 * not told to. */
static bool events_freeze(const struct dt_session *s)
{
	const struct dt_device *d = &s->device;

	if (d->arm.set || d->events)
		return true;
	for (size_t i = 0; i < d->n; i++)
		if (d->range[i].on &&
		    (d->range[i].action.what & (DT_DO_FREEZE | DT_DO_UNFREEZE | DT_DO_LATEFREEZE)))
			return true;
	return false;
}

bool dt_domains_freeze(struct dt_session *s)
{
	s->freezes = s->freezes || s->frozen || events_freeze(s);
	return s->freezes;
}

/* Starts the armed recording in all domains when the start event has been in one of them. */
static void spread_start(struct dt_session *s)
{
	enum dt_arm_state state = DT_ARM_NONE;
	uint64_t begin = 0;

	dt_shared_each(&s->targets.shared, m) {
		if (dt_shared_arm_state(m) <= DT_ARM_ARMED)
			continue;
		state = DT_ARM_RUNNING;
		begin = dt_shared_arm_begin(m);
	}
	if (state == DT_ARM_NONE)
		return;
	dt_shared_each(&s->targets.shared, m)
		if (dt_shared_arm_state(m) == DT_ARM_ARMED)
			dt_shared_arm_set(m, DT_ARM_RUNNING, begin);
}

void dt_domains_spread(struct dt_session *s)
{
	bool froze = false, went_on = false;

	if (s->domains < 2 || !s->targets.shared.careful)
		return;
	pthread_mutex_lock(&s->lock);
	if (!dt_domains_freeze(s))
		goto out;
	if (s->device.arm.set)
		spread_start(s);
	for (unsigned i = 0; i < s->domains; i++) {
		struct dt_domain *d = s->domain[i];
		bool frozen = dt_rings_frozen(d->shared);

		froze = froze || (frozen && !d->frozen);
		went_on = went_on || (!frozen && d->frozen);
		d->frozen = frozen;
	}
	for (unsigned i = 0; i < s->domains && froze != went_on; i++) {
		struct dt_domain *d = s->domain[i];

		if (d->frozen != froze)
			dt_rings_freeze(d->shared, froze);
		d->frozen = froze;
	}
out:
	pthread_mutex_unlock(&s->lock);
}
