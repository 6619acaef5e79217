/* SPDX-License-Identifier: MIT */
/* The recorder: takes records out of the rings, into the trace file. */
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/kernel-ranges.h"
#include "session/places.h"

#define BATCH	 16384u	       /* records taken at a time */
#define FLUSH_NS 300000000ull  /* records are in the file at most this long after */
#define CLOCK_NS 2000000000ull /* between readings of the clocks */
#define SWITCHES 8192u	       /* taken at a time */
#define IDLE_MS	 50	       /* between rounds; a writer that is half a ring ahead rings before */
#define LIVE_MS	 20	       /* the same, when somebody may be watching */
#define HELD_NS	 20000	       /* the same, when records are held: they are good soon */
#define HELD	 65536u	       /* records held, or some more, where the program waits for the log */
#define QUIET	 12   /* rounds without a record, longer than FLUSH_NS: then the next one */
#define QUIET_MS 1000 /* rings the bell, and nobody looks before, but for the clocks */

static void sleep_until_bell(struct dt_control *c, uint32_t bell, int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	syscall(SYS_futex, &c->bell, FUTEX_WAIT, bell, &t, NULL, 0);
}

void dt_session_read_name(uint32_t tid, char *name, size_t size)
{
	char path[64];
	FILE *f;

	name[0] = '\0';
	dt_format(path, sizeof(path), "/proc/%u/comm", tid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(name, (int)size, f))
		name[strcspn(name, "\n")] = '\0';
	fclose(f);
}

/* The process of a thread, 0 when it can not be known (it has gone, and there were several). */
static uint32_t process_of(struct dt_session *s, const struct dt_record *r)
{
	char path[64], line[128];
	uint32_t pid = 0;
	FILE *f;

	dt_format(path, sizeof(path), "/proc/%u/status", r->tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", &pid) == 1)
			break;
	if (f)
		fclose(f);
	if (pid)
		return pid;
	if (s->only_pid)
		return s->only_pid;
	for (struct dt_target *t = s->first; t; t = t->next) {
		if (!dt_target_module(t, r->pc))
			continue;
		if (pid)
			return 0;
		pid = (uint32_t)t->pid;
	}
	return pid;
}

/* Where a thread is in the table, or is to be. There is room. */
static struct dt_thread_entry *entry_of(const struct dt_session *s, uint32_t tid)
{
	size_t i = tid * 2654435761u & (s->thread_room - 1);

	while (s->thread[i].tid && s->thread[i].tid != tid)
		i = (i + 1) & (s->thread_room - 1);
	return &s->thread[i];
}

uint32_t dt_recorder_process(const struct dt_session *s, uint32_t tid)
{
	return s->thread_room ? entry_of(s, tid)->pid : 0;
}

static bool is_recorded(const struct dt_session *s, uint32_t tid)
{
	return s->thread_room && entry_of(s, tid)->recorded;
}

/* At most half of it is full. */
static bool grow_threads(struct dt_session *s)
{
	struct dt_thread_entry *old = s->thread;
	size_t n = s->thread_room, room = n ? 2 * n : 128;

	if (2 * s->threads < n)
		return true;
	s->thread = calloc(room, sizeof(*s->thread));
	if (!s->thread) {
		s->thread = old;
		return false;
	}
	s->thread_room = room;
	for (size_t i = 0; i < n; i++)
		if (old[i].tid)
			*entry_of(s, old[i].tid) = old[i];
	free(old);
	return true;
}

static void new_thread(struct dt_session *s, const struct dt_record *r)
{
	uint32_t pid;
	char name[64];

	if (r->tid == DT_NO_TID || is_recorded(s, r->tid))
		return;
	dt_session_read_name(r->tid, name, sizeof(name));
	pid = dt_recorder_process(s, r->tid);
	if (!pid)
		pid = process_of(s, r);
	/* a child that has gone was called as its parent is */
	for (struct dt_target *t = name[0] ? NULL : s->first; t && !name[0]; t = t->next)
		if ((uint32_t)t->pid == pid && t->forked)
			dt_session_read_name((uint32_t)t->ppid, name, sizeof(name));
	dt_recorder_note(s, r->tid, pid, name);
}

void dt_recorder_note(struct dt_session *s, uint32_t tid, uint32_t pid, const char *name)
{
	struct dt_thread_entry *entry;

	if (!tid || !grow_threads(s))
		return;
	entry = entry_of(s, tid);
	s->threads += !entry->tid;
	*entry = (struct dt_thread_entry){tid, pid, name != NULL};
	if (s->store && name)
		dt_store_thread(s->store, tid, pid, name, NULL);
}

/* A hint of which threads have been seen, to look at each record's only briefly. */
struct seen {
	uint32_t tid[256];
};

static void note_threads(struct dt_session *s, struct seen *seen, const struct dt_record *r,
			 size_t n)
{
	uint32_t last = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t tid = r[i].tid;

		if (tid == last)
			continue;
		last = tid;
		if (seen->tid[tid % 256] == tid)
			continue;
		seen->tid[tid % 256] = tid;
		new_thread(s, &r[i]);
	}
}

/*
 * Records of one round, of all rings, for the log. Those behind the time up to which every ring has
 * been read are held for the next round: a record that another ring has in front of them may come.
 */
struct round {
	struct dt_record *record, *sorted; /* the held ones first */
	size_t n, room;
	uint64_t lost;
	uint64_t *until;	       /* of each ring: ticks up to which it has been read */
	struct dt_record *timed;       /* with the core's clock set right */
	struct dt_record *with_kernel; /* and with what the kernel's device recorded */
	size_t with_kernel_room;
	struct dt_record *switched, *mixed; /* a core's switches, and these with its records */
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
	if (core != DT_SHARED_CORE)
		for (size_t i = 0; i < n; i++)
			k->record[k->n + i].core = (uint16_t)core;
	k->n += n;
	return 0;
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

/* A core whose clock is ahead: its records as the first core would have timed them. */
static const struct dt_record *corrected(struct dt_session *s, struct round *k, unsigned core,
					 const struct dt_record *r, size_t n)
{
	int64_t ahead = 0;

	if (s->offset && core < s->targets.shared.control->cores)
		ahead = dt_offset_correction(&s->offset[core]);
	if (!ahead || !n)
		return r;
	if (!k->timed && !(k->timed = malloc(BATCH * sizeof(*k->timed))))
		return r;
	memcpy(k->timed, r, n * sizeof(*r));
	for (size_t i = 0; i < n; i++)
		k->timed[i].ticks -= (uint64_t)ahead;
	return k->timed;
}

/*
 * Puts what the kernel told of this core's switches between its records, each in its place. A
 * switch in front of the last record taken has been told by now: it happened on the same core. What
 * comes later waits, since a record in front of it may be under way; now: ticks before the ring was
 * read.
 */
static const struct dt_record *with_switches(struct dt_session *s, struct round *k, unsigned core,
					     const struct dt_record *r, size_t *n, uint64_t now,
					     uint64_t *lost)
{
	uint64_t until = *n && r[*n - 1].ticks > now ? r[*n - 1].ticks : now, missing;
	size_t switches, a = 0, b = 0, out = 0;

	if (!s->switches || core >= s->targets.shared.control->cores)
		return r;
	if (!k->switched) {
		k->switched = malloc(SWITCHES * sizeof(*k->switched));
		k->mixed = malloc((SWITCHES + BATCH) * sizeof(*k->mixed));
		if (!k->switched || !k->mixed)
			return r;
	}
	switches = dt_switches_take(s->switches, core, until, k->switched, SWITCHES, &missing);
	*lost += missing;
	if (!switches)
		return r;
	while (a < *n || b < switches)
		if (b == switches || (a < *n && r[a].ticks <= k->switched[b].ticks))
			k->mixed[out++] = r[a++];
		else
			k->mixed[out++] = k->switched[b++];
	*n = out;
	return k->mixed;
}

/* The same with what the kernel's device has recorded on this core. */
static const struct dt_record *with_kernel(struct dt_session *s, struct round *k, unsigned core,
					   const struct dt_record *r, size_t *n, uint64_t now,
					   uint64_t *lost)
{
	uint64_t until = *n && r[*n - 1].ticks > now ? r[*n - 1].ticks : now, missing;
	int64_t ahead = s->offset && core < s->targets.shared.control->cores
				? dt_offset_correction(&s->offset[core])
				: 0;
	size_t more, a = 0, b = 0, out = 0;
	const struct dt_record *x;

	if (!s->kernel || core >= s->targets.shared.control->cores)
		return r;
	x = dt_kernel_take(s->kernel, core, until == ~0ull ? until : until + (uint64_t)ahead, &more,
			   &missing);
	*lost += missing;
	if (!more)
		return r;
	if (*n + more > k->with_kernel_room) {
		struct dt_record *bigger =
			realloc(k->with_kernel, 2 * (*n + more) * sizeof(*bigger));

		if (!bigger) {
			*lost += more;
			return r;
		}
		k->with_kernel = bigger;
		k->with_kernel_room = 2 * (*n + more);
	}
	while (a < *n || b < more) {
		bool own = b == more || (a < *n && r[a].ticks <= x[b].ticks - (uint64_t)ahead);

		if (own) {
			k->with_kernel[out++] = r[a++];
			continue;
		}
		k->with_kernel[out] = x[b++];
		k->with_kernel[out].pc = dt_kernel_point_pc(s->kernel, &k->with_kernel[out]);
		k->with_kernel[out].core = 0; /* the part of a point's, in the kernel's ring */
		k->with_kernel[out++].ticks -= (uint64_t)ahead;
	}
	*n = out;
	return k->with_kernel;
}

/* Up to when all rings have been read. */
static uint64_t earliest(const struct round *k, unsigned rings)
{
	uint64_t until = ~0ull;

	for (unsigned i = 0; i < rings; i++)
		if (k->until[i] < until)
			until = k->until[i];
	return until;
}

/* Puts the round's records into the log, as far as others can not come in front of them any more.
 */
static void put_log(struct dt_session *s, struct round *k, unsigned rings, uint64_t room)
{
	uint64_t until = earliest(k, rings);
	size_t n = k->n;

	while (n && k->record[n - 1].ticks > until)
		n--;
	if (n > room) {
		n = (size_t)room;
		until = k->record[n].ticks - 1;
	}
	if (n || k->lost)
		dt_log_put(&s->log, k->record, n, k->lost);
	k->n -= n;
	if (n && k->n)
		memmove(k->record, k->record + n, k->n * sizeof(*k->record));
	k->lost = 0;
	/* before the rings are released: dt_session_drained() looks at these in the other order */
	__atomic_store_n(&s->log_until, until, __ATOMIC_RELEASE);
	__atomic_store_n(&s->log_held, k->n, __ATOMIC_RELEASE);
}

/* One round over all rings; returns how many records it took, -1 when the file can not be written.
 */
static long drain(struct dt_session *s, struct seen *seen, struct round *k, bool last)
{
	unsigned rings = s->targets.shared.control->cores + 1;
	uint64_t room = s->has_log ? dt_log_room(&s->log) : ~0ull;
	long all = 0;

	s->log_stalled = !room && !last;
	for (unsigned i = 0; i < rings; i++) {
		struct dt_ring_reader *r = &s->reader[i];
		const struct dt_record *records;
		unsigned core = i + 1 == rings ? DT_SHARED_CORE : i;
		size_t n, middle = k->n;
		uint64_t lost, now;
		int rc = 0;

		for (int rounds = 0; rounds < (s->has_log ? 4 : 64); rounds++) {
			/* where the program is to wait, not all its records are to pile up here;
			 * those that the others wait for are needed */
			if (!last && room != ~0ull &&
			    (!room || (k->n >= HELD && k->until[i] > earliest(k, rings))))
				break;
			now = __builtin_ia32_rdtsc() - s->settled;
			n = dt_ring_take(r, BATCH, last, &records, &lost);
			if (core == DT_SHARED_CORE) {
				pthread_mutex_lock(&s->lock);
				dt_pauses_take(s, records, n, r->pos - n * 64);
				pthread_mutex_unlock(&s->lock);
			}
			records = corrected(s, k, i, records, n);
			records = with_switches(s, k, i, records, &n, last ? ~0ull : now, &lost);
			records = with_kernel(s, k, i, records, &n, last ? ~0ull : now, &lost);
			if (n == 0 && lost == 0) {
				k->until[i] = last ? ~0ull : now;
				break;
			}
			pthread_mutex_lock(&s->lock);
			note_threads(s, seen, records, n);
			if (s->store)
				rc = dt_store_put(s->store, core, records, n, lost,
						  &s->recorder_error);
			if (s->has_log && rc == 0 && keep(k, records, n, core) < 0)
				rc = dt_fail(&s->recorder_error, "out of memory");
			if (s->has_log && rc == 0 && n) {
				k->until[i] = k->record[k->n - 1].ticks;
				dt_session_translate(s, k->record + k->n - n, n);
			}
			k->lost += lost;
			if (!s->has_log && rc == 0)
				dt_log_note(&s->log, records, n, lost);
			if (!s->has_log)
				dt_ring_release(r); /* with the lock: not while recording begins */
			pthread_mutex_unlock(&s->lock);
			if (rc < 0)
				return -1;
			all += (long)n + (lost != 0);
			if (s->has_log && r->pos - r->ring->read >= r->control->ring_size / 2)
				break;
		}
		merge(k, middle);
	}
	if (s->has_log)
		put_log(s, k, rings, last ? ~0ull : room);
	/* only now: see dt_session_drained() */
	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < rings; i++)
		dt_ring_release(&s->reader[i]);
	pthread_mutex_unlock(&s->lock);
	__atomic_store_n(&s->read_until, earliest(k, rings), __ATOMIC_RELEASE);
	return all;
}

static void flush(struct dt_session *s, uint64_t *flushed, uint64_t *clocked)
{
	uint64_t now = dt_now_ns();

	if (!s->store)
		return;
	if (now - *flushed > FLUSH_NS) {
		pthread_mutex_lock(&s->lock);
		dt_store_flush(s->store, NULL);
		pthread_mutex_unlock(&s->lock);
		*flushed = now;
	}
	if (now - *clocked > CLOCK_NS) {
		pthread_mutex_lock(&s->lock);
		dt_session_clock(s);
		pthread_mutex_unlock(&s->lock);
		*clocked = now;
	}
}

void *dt_recorder_main(void *session)
{
	struct dt_session *s = session;
	struct dt_control *c = s->targets.shared.control;
	struct seen *seen = calloc(1, sizeof(*seen));
	struct round round = {.until = calloc(c->cores + 1, sizeof(*round.until))};
	uint64_t flushed = dt_now_ns(), clocked = flushed;
	long n = seen && round.until ? 0 : -1;
	unsigned quiet = 0;
	bool alert = false;

	while (n >= 0) {
		uint32_t bell = __atomic_load_n(&c->bell, __ATOMIC_ACQUIRE);
		bool stopping = atomic_load(&s->stop_recorder);

		/* a flight recorder is read once it has landed */
		n = c->policy == DT_OVERWRITE && !stopping && !atomic_load(&s->drain_now)
			    ? 0
			    : drain(s, seen, &round, stopping);
		if (n < 0)
			break;
		flush(s, &flushed, &clocked);
		if (n == 0 && stopping)
			break;
		quiet = n || s->switches || s->kernel || s->log_stalled ? 0 : quiet + 1;
		if (n)
			continue;
		if (round.n && !s->log_stalled && c->policy != DT_OVERWRITE) {
			nanosleep(&(struct timespec){0, HELD_NS}, NULL);
			continue;
		}
		if (quiet >= QUIET && !alert) {
			dt_rings_alert(c);
			alert = true; /* and once more around, for what came just before */
			continue;
		}
		sleep_until_bell(c, bell, alert ? QUIET_MS : s->has_log ? LIVE_MS : IDLE_MS);
		alert = false;
	}
	if (n < 0) {
		/* the file can not be written: nobody is to wait for room */
		atomic_store(&s->recorder_failed, true);
		dt_rings_stop(c);
	}
	for (unsigned i = 0; i <= c->cores; i++) {
		s->taken += s->reader[i].taken;
		s->lost += s->reader[i].lost_total;
		s->stalls += s->reader[i].ring->stalls;
	}
	if (s->has_log)
		dt_log_close(&s->log);
	free(round.until);
	free(round.timed);
	free(round.switched);
	free(round.mixed);
	free(round.with_kernel);
	free(round.record);
	free(round.sorted);
	free(seen);
	return NULL;
}
