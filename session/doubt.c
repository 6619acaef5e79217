/* SPDX-License-Identifier: MIT */
#include "session/doubt.h"

#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/pid-namespace.h"
#include "session/describe.h"
#include "session/domain.h"
#include "session/thread-table.h"

#define APART_NS 1e6 /* clocks of two cores differ by so much, beyond what has been measured */

size_t dt_doubt_threads(struct dt_session *s, struct dt_domain *d, const struct dt_record *r,
			size_t n)
{
	uint32_t last = 0;

	if (!__atomic_load_n(&d->doubted, __ATOMIC_RELAXED) || dt_domains(s) < 2)
		return n;

	/* what is known is not known of threads with the same numbers that have come since */
	if (d->owned_again != __atomic_load_n(&s->lives.again, __ATOMIC_RELAXED)) {
		d->owned_again = __atomic_load_n(&s->lives.again, __ATOMIC_RELAXED);
		memset(d->owned, 0, sizeof(d->owned));
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t tid = r[i].tid, *owned = &d->owned[tid % DT_DOMAIN_OWNED];
		bool owns, known;

		if (tid == last || tid == *owned)
			continue;
		pthread_mutex_lock(&s->lock);
		owns = dt_thread_table_owns(s, d, tid, r[i].ticks, &known);
		pthread_mutex_unlock(&s->lock);
		if (!owns)
			return i;
		last = tid;
		if (known)
			*owned = tid;
	}
	return n;
}

uint64_t dt_doubt_apart(const struct dt_session *s)
{
	uint64_t most = 0;

	for (unsigned i = 0; s->offset && i < s->targets.shared.geometry.cores; i++) {
		int64_t ahead = dt_offset_correction(&s->offset[i]);
		uint64_t off = (uint64_t)(ahead < 0 ? -ahead : ahead);

		most = off > most ? off : most;
	}
	return 2 * most + (uint64_t)(APART_NS * s->ticks_per_ns);
}

/* Counts the records, from the first on, whose times are within the session and, in a core's ring,
 * in order. */
static size_t in_time(const struct dt_session *s, struct dt_domain *d, unsigned ring,
		      const struct dt_record *r, size_t n)
{
	uint64_t apart = dt_doubt_apart(s), now = dt_ticks() + apart;
	uint64_t *latest = &d->reader[ring].latest, first = s->began - apart;
	bool ordered = ring != d->shared->geometry.cores;

	for (size_t i = 0; i < n; i++) {
		if (r[i].ticks < first || r[i].ticks > now || (ordered && r[i].ticks < *latest))
			return i;
		*latest = r[i].ticks;
	}
	return n;
}

/* Counts the records, from the first on, that hooks can have made: calls where there are hooks, and
 * nothing that the kernel tells of, which would be about anybody's threads. */
static size_t in_place(struct dt_session *s, struct dt_domain *d, const struct dt_record *r,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t place = r[i].pc << 8 | r[i].kind;
		uint64_t *known = &d->place[(r[i].pc ^ r[i].pc >> 10) % DT_DOMAIN_PLACES];
		bool is;

		if (r[i].kind == DT_SWITCH || r[i].kind == DT_WAKE)
			return i;
		if ((r[i].kind != DT_ENTRY && r[i].kind != DT_EXIT) || *known == place)
			continue;
		pthread_mutex_lock(&s->lock);
		is = r[i].pc < 1ull << 47 && dt_describe_is_call(s, &r[i]);
		pthread_mutex_unlock(&s->lock);
		if (!is)
			return i;
		*known = place;
	}
	return n;
}

bool dt_doubt_number(const struct dt_session *s, uint32_t number)
{
	uint32_t tags = s->targets.namespaces.last ? DT_TAGS : 1;

	return number >> DT_TAG_SHIFT < tags;
}

/* Counts the records, from the first on, whose thread numbers can exist. */
static size_t in_namespace(const struct dt_session *s, const struct dt_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!dt_doubt_number(s, r[i].tid) && r[i].tid != DT_NO_TID)
			return i;
	return n;
}

size_t dt_doubt_records(struct dt_session *s, struct dt_domain *d, unsigned i,
			const struct dt_record *r, size_t n)
{
	if (__atomic_load_n(&d->doubted, __ATOMIC_RELAXED)) {
		n = in_time(s, d, i, r, n);
		n = in_namespace(s, r, n);
		n = in_place(s, d, r, n);
	}
	return n;
}

/* Each lost record was a call, which took a tick at least. */
bool dt_doubt_losses(const struct dt_session *s, const struct dt_domain *d, uint64_t lost)
{
	return __atomic_load_n(&d->doubted, __ATOMIC_RELAXED) &&
	       lost > dt_ticks() + dt_doubt_apart(s) - s->began;
}

bool dt_doubt_counts(const struct dt_domain *d, unsigned i)
{
	struct dt_shared_ring_counts c = dt_shared_ring_counts(d->shared, i);

	return d->doubted && c.pos / 64 + c.dropped != d->reader[i].taken + d->reader[i].lost_total;
}
