/* SPDX-License-Identifier: MIT */
/* The recorder: takes records out of the rings and puts them into the trace file or the log. */
#include "session/recorder.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/memory.h"
#include "hook/target-modules.h"
#include "process/now.h"
#include "session/clock.h"
#include "session/domain.h"
#include "session/doubt.h"
#include "session/helds.h"
#include "session/kernel-threads.h"
#include "session/last.h"
#include "session/late.h"
#include "session/births.h"
#include "session/lives.h"
#include "session/mix.h"
#include "session/pauses.h"
#include "session/places.h"
#include "session/sieve.h"
#include "session/snapshot.h"
#include "session/socket-names.h"
#include "session/thread-table.h"
#include "session/throttle.h"
#include "session/switching.h"
#include "session/tids.h"
#include "session/wakers.h"
#include "session/usage.h"
#include "session/witness.h"

#define RELEASE	  4   /* writers learn of room a quarter of a ring at a time: each is a wake */
#define TAKES	  128 /* from one ring, at most, before the next is looked at */
#define TURN	  200 /* of 10 us: time for one ring where there are several domains */
#define LOG_TAKES 8   /* as TAKES, in a session that keeps a log */
#define FLUSH_NS  300000000ull	/* records are in the file at most this long after */
#define CLOCK_NS  2000000000ull /* between readings of the clocks */
#define IDLE_MS	  50 /* between rounds; a writer that is half a ring ahead rings earlier */
#define LIVE_MS	  20 /* as IDLE_MS, when somebody may be watching the log */
/* as IDLE_MS, after so much of a ring at once: the next records come before the writer, who would
 * wait meanwhile, has to ring */
#define BUSY_MS 1
#define BUSY	8      /* an eighth */
#define HELD_NS 20000  /* between rounds when records are held, which are good soon */
#define HELD	65536u /* some more than so many are held where the program waits for the log */
/* when no record has come for so long, which is more than FLUSH_NS and a round, the next record
 * rings the bell, and until then only the clocks are looked at */
#define QUIET_NS 600000000ull
#define QUIET_MS 1000 /* between readings of the clocks then */
#define DEAF_MS	 1    /* between rounds when a process has confined itself and can not wake us */

/* as TAKES, where calls are chosen, and how many records are taken from a ring at a time: they stay
 * in the processor's cache until they have been chosen among */
#define SIEVE_TAKES 1
#define SIEVE_TAKE  1024

static void sleep_until_bell(struct dt_session *s, const struct dt_shared_bells *bells, int ms)
{
	struct timespec t;

	dt_shared_each(&s->targets.shared, m)
		if (dt_shared_confined(m))
			ms = DEAF_MS;
	t = (struct timespec){ms / 1000, ms % 1000 * 1000000L};
	dt_shared_bells_wait(&s->targets.shared, bells, &t);
}

/* A cache of threads that have been seen, so that the thread of each record needs only a quick
 * look. */
struct seen {
	uint32_t tid[256];
};

static void note_threads(struct dt_session *s, struct seen *seen, const struct dt_record *r,
			 size_t n)
{
	uint32_t last = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t tid = r[i].tid;

		/* it may not have its name yet: its own first record tells again */
		if (s->options.switches_unasked && dt_kind_is_about(r[i].kind)) {
			dt_thread_table_met(s, &r[i]);
			continue;
		}
		if (tid == last)
			continue;
		last = tid;
		if (seen->tid[tid % 256] == tid)
			continue;
		seen->tid[tid % 256] = tid;
		if (s->kernel_threads)
			dt_kernel_threads_note(s, &r[i]);
		else
			dt_thread_table_new(s, &r[i]);
		if (s->sieve)
			dt_sieve_thread(s->sieve, tid);
	}
}

/*
 * The records of one round over all rings, for the log. Those later than the time up to which every
 * ring has been read are held for the next round: another ring may still bring one that belongs
 * before them.
 */
struct round {
	struct dt_record *record, *sorted; /* record: held ones first; sorted: room for merging */
	size_t n, room;
	uint64_t lost;
	uint64_t *until; /* one for each ring of each domain: ticks up to which it has been read */
	uint64_t waits;	 /* ticks up to which no more entries of the kernel's calls come late */
	struct dt_late late;
	size_t middle; /* where the records begin that the sieve has put there of one core... */
	unsigned core; /* ...which is this */
	struct dt_mix mix;
	struct dt_witness *witness;    /* NULL: there is none */
	struct dt_wakers_seen *wakers; /* NULL: they are not recorded */
};

static int keep(struct round *k, const struct dt_record *r, size_t n, unsigned core)
{
	if (k->n + n > k->room) {
		size_t room = 2 * k->room > k->n + n ? 2 * k->room : k->n + n;
		struct dt_record *more = realloc(k->record, room * sizeof(*more));
		struct dt_record *too = more ? realloc(k->sorted, room * sizeof(*too)) : NULL;

		if (more)
			k->record = more;
		if (!too)
			return -1;
		k->sorted = too;
		k->room = room;
	}
	memcpy(k->record + k->n, r, n * sizeof(*r));
	if (core < DT_FURTHER_CORES)
		for (size_t i = 0; i < n; i++)
			k->record[k->n + i].core = (uint16_t)core;
	k->n += n;
	return 0;
}

/* Sets the core in records of a further domain, since the number of their ring does not say it. */
static void say_core(struct dt_record *r, size_t n, unsigned core)
{
	for (size_t i = 0; i < n; i++)
		r[i].core = (uint16_t)core;
}

/* Merges the runs [from, middle) and [middle, n), each in the order of time. */
static void merge(struct round *k, size_t middle)
{
	struct dt_record *a = k->record, *b = k->record + middle, *end = k->record + k->n;
	struct dt_record *out = k->sorted;

	if (!middle || middle == k->n || b[-1].ticks <= b->ticks)
		return;
	while (a < k->record + middle && b < end)
		*out++ = b->ticks < a->ticks ? *b++ : *a++;
	while (a < k->record + middle)
		*out++ = *a++;
	while (b < end)
		*out++ = *b++;
	out = k->record;
	k->record = k->sorted;
	k->sorted = out;
}

/* Returns the ticks up to which all rings have been read. */
static uint64_t earliest(const struct round *k, unsigned rings)
{
	uint64_t until = k->waits;

	for (unsigned i = 0; i < rings; i++)
		if (k->until[i] < until)
			until = k->until[i];
	return until;
}

/* Puts into the log those of the round's records that no other can come before any more. */
static void put_log(struct dt_session *s, struct round *k, unsigned rings, uint64_t room)
{
	uint64_t read = earliest(k, rings);
	uint64_t until = s->sieve ? dt_sieve_until(s->sieve, read) : read;
	bool full = false;
	size_t n = k->n;

	while (n && k->record[n - 1].ticks > until)
		n--;
	if (n > room) {
		n = (size_t)room;
		until = k->record[n].ticks - 1;
		full = true;
	}
	if (n || k->lost)
		dt_log_put(&s->log, k->record, n, k->lost);
	k->n -= n;
	if (n && k->n)
		memmove(k->record, k->record + n, k->n * sizeof(*k->record));
	k->lost = 0;
	/* before the rings are released, since dt_recorder_drain() looks at these in the other
	 * order. What the sieve holds until calls have ended is not waited for */
	__atomic_store_n(&s->log_until, s->sieve && !full ? read : until, __ATOMIC_RELEASE);
	__atomic_store_n(&s->log_held, s->sieve && !full ? dt_sieve_waiting(s->sieve) : k->n,
			 __ATOMIC_RELEASE);
}

/* Takes records that the sieve wants in the log. */
static int put_sifted(void *ctx, unsigned core, const struct dt_record *r, size_t n)
{
	struct round *k = ctx;

	if (core != k->core) {
		merge(k, k->middle);
		k->middle = k->n;
		k->core = core;
	}
	return keep(k, r, n, core);
}

/* Puts what has been mixed into the file, each loss in its place. */
static int put_store(struct dt_session *s, unsigned core, const struct dt_mix *m)
{
	size_t at = 0;

	for (size_t i = 0; i < m->gaps; i++) {
		const struct dt_mix_gap *g = &m->gap[i];

		if (dt_store_put(s->store, core, m->record + at, g->at - at, 0,
				 &s->recorder_error) ||
		    dt_store_lose(s->store, core, g->lost, dt_mix_lost_switches(g), g->begin,
				  &s->recorder_error))
			return -1;
		at = g->at;
	}
	return dt_store_put(s->store, core, m->record + at, m->n - at, 0, &s->recorder_error);
}

/*
 * Returns how many of the records can be true, and gives these our numbers of threads. The records
 * are our copies until the ring is released. No records after one that can not be true are read any
 * more.
 */
static size_t believed(struct dt_session *s, struct dt_domain *d, unsigned ring,
		       struct dt_record *r, size_t n)
{
	size_t good = dt_doubt_records(s, d, ring, r, n);

	dt_tids_correct(s, r, good);
	good = dt_doubt_threads(s, d, r, good);
	if (good < n)
		dt_ring_refuse(&d->reader[ring], n - good);
	return good;
}

/* Takes the next records of one ring, as far as they can be true, and also the waits and pauses
 * that were reported before them. */
static size_t take(struct dt_session *s, struct dt_domain *d, unsigned ring, unsigned core,
		   bool last, const struct dt_record **records, uint64_t *lost)
{
	struct dt_ring_reader *r = &d->reader[ring];
	size_t n = dt_ring_take(r, s->sieve ? SIEVE_TAKE : DT_RING_TAKE, last, records, lost);

	if (dt_doubt_losses(s, d, r->lost_total)) {
		dt_ring_refuse(r, 0);
		r->lost_total -= *lost;
		*lost = 0;
	}
	if (dt_births_new(s)) { /* the threads of these records have told of their births */
		pthread_mutex_lock(&s->lock);
		dt_births_take(s);
		pthread_mutex_unlock(&s->lock);
	}
	n = believed(s, d, ring, (struct dt_record *)*records, n);
	if (core >= DT_FURTHER_CORES && core < DT_SHARED_CORES)
		say_core((struct dt_record *)*records, n, ring);
	if (dt_helds_new(s)) { /* waits that ended before these records have been reported by now */
		pthread_mutex_lock(&s->lock);
		dt_helds_take(s);
		pthread_mutex_unlock(&s->lock);
	}
	if (core >= DT_SHARED_CORES) {
		pthread_mutex_lock(&s->lock);
		dt_pauses_take(s, d, *records, n, r->pos - n * 64);
		pthread_mutex_unlock(&s->lock);
	}
	return n;
}

/* Puts what has been mixed of a core into the file, or keeps it for the log. With the lock. */
static int put(struct dt_session *s, struct seen *seen, struct round *k, unsigned ring,
	       unsigned core)
{
	const struct dt_mix *m = &k->mix;
	int rc = 0;

	/* these are copies: the ring's reader's, or the mixer's */
	dt_lives_correct(s, (struct dt_record *)m->record, m->n);
	note_threads(s, seen, m->record, m->n);
	if (k->wakers)
		dt_wakers_take(s, k->wakers, (struct dt_record *)m->record, m->n);
	if (s->throttle)
		dt_throttle_count(s, m->record, m->n);
	for (size_t i = 0; k->witness && i < m->changes; i++)
		dt_witness_records(k->witness, &m->record[m->change[i]], 1);
	if (s->sieve)
		/* the ring's reader keeps its records until the next time it takes some */
		rc = dt_sieve_take(s->sieve, ring, core, m,
				   !s->has_log && m->record != m->mixed && m->record != m->timed,
				   &s->recorder_error);
	else if (s->store)
		rc = put_store(s, core, m);
	if (s->socket_names) /* the sites of these have been described by now */
		dt_socket_names_records(s->socket_names, m->record, m->n);
	if (s->has_log && !s->sieve && keep(k, m->record, m->n, core) < 0)
		rc = dt_fail(&s->recorder_error, "out of memory");
	if (s->has_log && !s->sieve && rc == 0 && m->n)
		dt_place_translate(s, k->record + k->n - m->n, m->n);
	k->lost += m->lost;
	if (!s->has_log && rc == 0)
		dt_log_note(&s->log, m->record, m->n, m->lost);
	return rc;
}

/* Chooses among the records that no other can come before any more. */
static int sift(struct dt_session *s, struct round *k, uint64_t until, bool end)
{
	struct dt_sieve_log log = {.ctx = k, .put = put_sifted, .translate = dt_place_translate};
	int rc;

	dt_store_help(s->store);
	pthread_mutex_lock(&s->lock);
	k->middle = k->n;
	rc = dt_sieve_run(s->sieve, until, end, s->has_log ? &log : NULL, &s->recorder_error);
	merge(k, k->middle);
	dt_log_left_out(&s->log, log.in, log.out);
	if (!rc && s->options.last_ns && !end)
		rc = dt_last_turn(s, until, &s->recorder_error);
	if (!s->has_log) {
		/* before the rings are released: see put_log() */
		__atomic_store_n(&s->log_until, until, __ATOMIC_RELEASE);
		__atomic_store_n(&s->log_held, dt_sieve_waiting(s->sieve), __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Begins the next snapshot, if that is due. */
static int snapshot(struct dt_session *s)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = dt_session_has_file(s) ? dt_snapshot_turn(s, &s->recorder_error) : 0;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Puts entries that have come late into the queues of their cores. */
static int put_late(struct dt_session *s, struct seen *seen, struct round *k, uint64_t until)
{
	struct dt_record *r;
	unsigned core;
	int rc = dt_late_take(s, &k->late, &s->recorder_error);

	pthread_mutex_lock(&s->lock);
	while (rc == 0 && (r = dt_late_next(&k->late, until, &core)) != NULL) {
		dt_lives_correct(s, r, 1);
		note_threads(s, seen, r, 1);
		dt_log_note(&s->log, r, 1, 0);
		rc = dt_sieve_insert(s->sieve, core, r, &s->recorder_error);
	}
	pthread_mutex_unlock(&s->lock);
	dt_late_done(&k->late);
	return rc;
}

/* Makes one round over all rings. Returns how many records it took; -1 when the file can not be
 * written. last: nothing records any more. end: moreover all rings have been found empty. */
static long drain(struct dt_session *s, struct seen *seen, struct round *k, bool last, bool end)
{
	unsigned each = s->targets.shared.geometry.cores + 1, rings = dt_domains(s) * each;
	uint64_t room = s->has_log ? dt_log_room(&s->log) : ~0ull;
	uint64_t release = s->targets.shared.geometry.ring_size / RELEASE;
	long all = 0;

	int takes = s->sieve ? SIEVE_TAKES : s->has_log ? LOG_TAKES : TAKES;

	k->waits = dt_late_begin(s, last);
	s->log_stalled = !room && !last;
	for (unsigned i = 0; i < rings; i++) {
		struct dt_domain *d = s->domain[i / each];
		struct dt_ring_reader *r = &d->reader[i % each];
		const struct dt_record *records;
		struct dt_mix *m = &k->mix;
		unsigned core = dt_domain_core(s, i / each, i % each);
		size_t n, middle = k->n;
		uint64_t lost, now, begun = dt_ticks();
		int rc = 0;

		for (int rounds = 0; rounds < takes; rounds++) {
			/* where the program has to wait for the log, not all of its records may
			 * pile up here; but those that others are held for are needed */
			if (!last && room != ~0ull &&
			    (!room || (k->n >= HELD && k->until[i] > earliest(k, rings))))
				break;
			now = dt_ticks() - s->settled;
			/* checks of one domain's records must not hold up the others */
			if (rings > each && now > begun + TURN * s->settled)
				break;
			n = take(s, d, i % each, core, last, &records, &lost);
			rc = dt_mix_take(m, s, i, records, n, lost, now, end, &s->recorder_error);
			if (rc < 0)
				return -1;
			n = m->n;
			if (n)
				k->until[i] = m->record[n - 1].ticks;
			if (n == 0 && m->lost == 0 && m->gaps == 0) {
				k->until[i] = last ? ~0ull : now;
				break;
			}
			if (s->store)
				dt_store_help(s->store);
			pthread_mutex_lock(&s->lock);
			rc = put(s, seen, k, i, core);
			if (!s->has_log && r->pos - r->released >= release)
				dt_ring_release(r); /* with the lock, so that it does not happen
						       while recording is being started */
			pthread_mutex_unlock(&s->lock);
			if (rc < 0)
				return -1;
			all += (long)n + (m->lost != 0);
			if (s->has_log &&
			    r->pos - r->released >= s->targets.shared.geometry.ring_size / 2)
				break;
		}
		merge(k, middle);
	}
	if (put_late(s, seen, k, earliest(k, rings)))
		return -1;
	if (s->sieve && sift(s, k, earliest(k, rings), end))
		return -1;
	if (s->has_log)
		put_log(s, k, rings, last ? ~0ull : room);
	if (!end && snapshot(s))
		return -1;
	/* only now, see dt_recorder_drain() */
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < rings; i++)
		dt_ring_release(&s->domain[i / each]->reader[i % each]);
	pthread_mutex_unlock(&s->lock);
	__atomic_store_n(&s->read_until, earliest(k, rings), __ATOMIC_RELEASE);
	return all;
}

/* Has the open chunks compressed before a flush, without the lock. */
static void compress_open(struct dt_session *s)
{
	bool more;

	do {
		pthread_mutex_lock(&s->lock);
		more = dt_store_begin_flush(s->store);
		pthread_mutex_unlock(&s->lock);
		if (more)
			dt_store_help(s->store);
		else
			dt_store_finish(s->store);
	} while (more);
}

static void flush(struct dt_session *s, uint64_t *flushed, uint64_t *clocked)
{
	uint64_t now = dt_now_ns();
	char text[32];

	if (!dt_session_has_file(s))
		return;
	dt_usage_look(s, s->usage);
	if (now - *flushed > FLUSH_NS) {
		compress_open(s);
		pthread_mutex_lock(&s->lock);
		/* in the same transaction as the records: of what is later, the file may have the
		 * records of one core only */
		dt_format(text, sizeof(text), "%lu",
			  (unsigned long)(s->sieve ? dt_sieve_until(s->sieve, s->read_until)
						   : s->read_until));
		dt_store_meta(s->store, "whole_until", text, NULL);
		if (s->kernel_threads)
			dt_kernel_threads_told(s);
		if (s->sieve)
			dt_sieve_account(s->sieve, DT_SIEVE_RUNNING, NULL);
		dt_store_flush(s->store, NULL);
		pthread_mutex_unlock(&s->lock);
		*flushed = now;
	}
	if (now - *clocked > CLOCK_NS) {
		pthread_mutex_lock(&s->lock);
		dt_clock_store(s);
		pthread_mutex_unlock(&s->lock);
		*clocked = now;
	}
}

/*
 * Waits until the recorder has taken every record there is now, at most for a second: addresses are
 * about to mean something else. Without the lock. A ring's `released' moves when its records are in
 * the store.
 */
void dt_recorder_drain(struct dt_session *s)
{
	unsigned each = s->targets.shared.geometry.cores + 1, rings = dt_domains(s) * each;
	uint64_t *pos = calloc(rings, sizeof(*pos)), now;

	for (unsigned i = 0; i < rings && pos; i++)
		pos[i] = dt_shared_ring_pos(s->domain[i / each]->shared, i % each);
	now = dt_ticks();
	atomic_fetch_add(&s->drains, 1);
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
		/* how far the kernel's rings have been read is known by time */
		all = all &&
		      (!s->kernel || __atomic_load_n(&s->read_until, __ATOMIC_ACQUIRE) >= now);
		if (all || s->log_stalled)
			break;
		dt_shared_bell_ring(&s->targets.shared);
		nanosleep(&t, NULL);
	}
	atomic_fetch_sub(&s->drains, 1);
	free(pos);
}

/* Adds up what was taken, at the end. failed: not all of it could be written. */
static void account(struct dt_session *s, const struct round *k, bool failed)
{
	unsigned cores = s->targets.shared.geometry.cores;

	if (failed) {
		/* the file can not be written: no writer may wait for room any more */
		atomic_store(&s->recorder_failed, true);
		dt_shared_each(&s->targets.shared, m)
			dt_rings_stop(m);
	}
	s->results.taken += k->mix.kernel_n;
	s->results.lost += k->mix.kernel_lost;
	for (unsigned i = 0; i < dt_domains(s) * (cores + 1); i++) {
		const struct dt_domain *d = s->domain[i / (cores + 1)];
		unsigned ring = i % (cores + 1);

		s->results.taken += d->reader[ring].taken;
		if (ring == cores)
			s->results.shared += d->reader[ring].taken;
		s->results.lost += d->reader[ring].lost_total;
		s->results.stalls += dt_shared_ring_counts(d->shared, ring).stalls;
	}
}

static int begin_round(struct dt_session *s, struct round *k, unsigned cores)
{
	if (dt_mix_init(&k->mix, cores, DT_SHARED_MAX, NULL) || !k->until)
		return -1;
	if (s->options.wakers && !(k->wakers = dt_wakers_seen_new()))
		return -1;
	if (dt_session_has_file(s) && !(s->usage = dt_usage_new()))
		return -1;
	if (s->options.sockets && !(s->socket_names = dt_socket_names_new()))
		return -1;
	if (s->switches && dt_session_has_file(s))
		k->witness = dt_witness_new(s);
	return 0;
}

static void free_round(struct round *k)
{
	free(k->until);
	dt_mix_free(&k->mix);
	dt_witness_free(k->witness);
	dt_wakers_seen_free(k->wakers);
	dt_late_free(&k->late);
	free(k->record);
	free(k->sorted);
}

/* Returns for how many milliseconds the recorder may sleep. taken: records since it has slept. */
static int patience(struct dt_session *s, const struct round *round, bool alert, uint64_t taken)
{
	uint64_t ring = s->targets.shared.geometry.ring_size / sizeof(struct dt_record);
	int ms = round->witness ? dt_witness_patience(round->witness)
		 : alert	? QUIET_MS
		 : s->has_log	? LIVE_MS
				: IDLE_MS;

	if (s->switches)
		ms = dt_switches_patience(s->switches, ms);
	if (s->socket_names && ms > DT_SOCKET_NAMES_MS && !alert)
		ms = DT_SOCKET_NAMES_MS;
	return taken >= ring / BUSY && ms > BUSY_MS ? BUSY_MS : ms;
}

void *dt_recorder_main(void *session)
{
	struct dt_session *s = session;
	unsigned cores = s->targets.shared.geometry.cores;
	struct seen *seen = calloc(1, sizeof(*seen));
	struct round round = {
		.until = calloc((size_t)(cores + 1) * DT_SHARED_MAX, sizeof(*round.until)),
		.waits = ~0ull};
	uint64_t flushed = dt_now_ns(), clocked = flushed;
	long n = begin_round(s, &round, cores) || !seen ? -1 : 0;
	struct dt_shared_bells bells;
	uint64_t busy = flushed; /* ns when there was something to do last */
	uint64_t taken = 0;	 /* records since it has slept */
	bool alert = false;

	while (n >= 0) {
		bool stopping = atomic_load(&s->stop_recorder);
		int wait_ms;

		dt_shared_bells(&s->targets.shared, &bells);
		/* a flight recorder's rings are read at the end, or when a drain asks for it */
		if (s->targets.shared.policy == DT_OVERWRITE && !stopping &&
		    !atomic_load(&s->drains)) {
			n = 0;
			if (s->switches)
				dt_switches_keep(s->switches);
			/* for these there is little room */
			pthread_mutex_lock(&s->lock);
			dt_births_take(s);
			pthread_mutex_unlock(&s->lock);
		} else {
			n = drain(s, seen, &round, stopping, false);
		}
		if (n < 0)
			break;
		if (s->switches && dt_session_has_file(s))
			dt_switching_store(s);
		if (s->socket_names)
			dt_socket_names_look(s);
		flush(s, &flushed, &clocked);
		if (n == 0 && stopping) {
			n = drain(s, seen, &round, true, true);
			break;
		}
		if (n || s->switches || s->kernel || s->log_stalled)
			busy = dt_now_ns();
		taken += (uint64_t)n;
		wait_ms = patience(s, &round, alert, taken);
		if (n) {
			alert = false; /* what was taken has to be in the file soon */
			continue;
		}
		if (((round.n && !s->sieve) || (s->sieve && s->log_held)) && !s->log_stalled &&
		    s->targets.shared.policy != DT_OVERWRITE) {
			nanosleep(&(struct timespec){0, HELD_NS}, NULL);
			continue;
		}
		/* measured by time, since rounds are short while processes are born and load
		 * libraries */
		if (!alert && dt_now_ns() - busy > QUIET_NS) {
			dt_shared_each(&s->targets.shared, m)
				dt_rings_alert(m);
			alert = true; /* one more round for what came just before the alert */
			continue;
		}
		taken = 0;
		sleep_until_bell(s, &bells, wait_ms);
		alert = false;
	}
	account(s, &round, n < 0);
	if (s->has_log)
		dt_log_close(&s->log);
	free_round(&round);
	free(seen);
	return NULL;
}
