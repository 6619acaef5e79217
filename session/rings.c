/* SPDX-License-Identifier: MIT */
/* The rings and their readers. */
#include "session/rings.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/control.h"
#include "process/now.h"
#include "process/threads.h"

/* an unfinished record of the shared ring counts as lost after so long */
#define STUCK_NS      50000000ull
#define STUCK_WAIT_NS 1000000000ull /* with the policy wait, where writers wait for room anyway */

static struct dt_ring *ring_of(const struct dt_shared *s, unsigned i)
{
	return dt_ring_at(s->control, s->geometry.stride, i);
}

/* Moves the hard limit. Returns how many records in all were lost at the old one. */
static uint64_t set_hard(const struct dt_shared *s, struct dt_ring *r, uint64_t read)
{
	uint64_t hard = s->policy == DT_OVERWRITE ? DT_NO_LIMIT : read + s->geometry.ring_size,
		 lost = 0;

	__atomic_store_n(&r->read, read, __ATOMIC_RELEASE);
	if (hard != DT_NO_LIMIT)
		lost = __atomic_exchange_n(&r->lost, DT_LOST_AT(hard), __ATOMIC_SEQ_CST);
	__atomic_store_n(&r->hard, hard, __ATOMIC_SEQ_CST);
	return DT_LOST_COUNT(lost);
}

/*
 * Makes room for the writers. hard is written before limit (a slow path that has read hard raises
 * limit to it), and both before wake. The soft limit, at half of the ring, has a writer ring the
 * bell in time.
 */
static void set_limit(const struct dt_shared *s, struct dt_ring *r, uint64_t read)
{
	uint64_t limit = s->policy == DT_OVERWRITE ? DT_NO_LIMIT : read + s->geometry.ring_size / 2,
		 old;

	if (r == ring_of(s, s->geometry.cores)) {
		/* a limit at which recording freezes is not moved to make room */
		old = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
		while (!(old & DT_FROZEN) &&
		       !__atomic_compare_exchange_n(&r->limit, &old, limit, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_ACQUIRE))
			;
	} else {
		__atomic_store_n(&r->limit, s->careful ? 0 : limit, __ATOMIC_SEQ_CST);
	}
	if (__atomic_load_n(&r->waiters, __ATOMIC_SEQ_CST)) {
		__atomic_add_fetch(&r->wake, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &r->wake, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
	}
}

/* Makes room before it gives the word to begin, so that nothing is lost at the start; nothing is
 * appended before that word. */
void dt_rings_start(struct dt_shared *s)
{
	unsigned rings = s->geometry.cores + 1;

	if (s->state == DT_RECORDING)
		return;
	for (unsigned i = 0; i < rings; i++) {
		struct dt_ring *r = ring_of(s, i);
		uint64_t lost = set_hard(s, r, __atomic_load_n(&r->read, __ATOMIC_RELAXED));

		__atomic_add_fetch(&r->lost_before, lost, __ATOMIC_RELAXED);
	}
	dt_shared_set_state(s, DT_RECORDING);
	for (unsigned i = 0; i < rings; i++) {
		struct dt_ring *r = ring_of(s, i);

		set_limit(s, r, __atomic_load_n(&r->read, __ATOMIC_RELAXED));
	}
}

void dt_rings_alert(struct dt_shared *s)
{
	for (unsigned i = 0; i <= s->geometry.cores && s->policy != DT_OVERWRITE; i++) {
		struct dt_ring *r = ring_of(s, i);
		uint64_t pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
		uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

		/* this is a soft limit: a writer that comes to it moves it on to the hard one and
		 * rings the bell */
		if (limit && !(limit & DT_FROZEN) && limit > pos &&
		    pos < __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE))
			__atomic_compare_exchange_n(&r->limit, &limit, pos, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
	}
}

static void set_state(struct dt_shared *s, enum dt_state state)
{
	dt_shared_set_state(s, state);
	for (unsigned i = 0; i <= s->geometry.cores; i++) {
		struct dt_ring *r = ring_of(s, i);

		__atomic_store_n(&r->hard, 0, __ATOMIC_SEQ_CST);
		if (!(__atomic_load_n(&r->limit, __ATOMIC_ACQUIRE) & DT_FROZEN))
			__atomic_store_n(&r->limit, 0, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&r->wake, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &r->wake, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
	}
}

void dt_rings_stop(struct dt_shared *s)
{
	set_state(s, DT_STOPPED);
}

void dt_rings_pause(struct dt_shared *s)
{
	set_state(s, DT_PAUSED);
}

void dt_rings_careful(struct dt_shared *s, bool careful)
{
	struct dt_ring *shared = ring_of(s, s->geometry.cores);

	if (s->careful == careful)
		return;
	/* before the limits are changed: see make_room() in the slow path */
	dt_shared_set_careful(s, careful);
	if (!careful && (__atomic_load_n(&shared->limit, __ATOMIC_ACQUIRE) & DT_FROZEN))
		dt_rings_freeze(s, false);
	if (s->state != DT_RECORDING)
		return;
	for (unsigned i = 0; i < s->geometry.cores; i++) {
		struct dt_ring *r = ring_of(s, i);

		set_limit(s, r, __atomic_load_n(&r->read, __ATOMIC_RELAXED));
	}
}

/* Changes the limit if position and limit are as expected, both at the same time. False: they are
 * not, and expected[] becomes what they are. */
static bool move_limit(struct dt_ring *r, uint64_t expected[2], uint64_t new_limit)
{
	const uint64_t wanted[2] = {expected[0], new_limit};

	_Static_assert(offsetof(struct dt_ring, limit) == offsetof(struct dt_ring, pos) + 8,
		       "one piece");
	return dt_cas2(&r->pos, expected, wanted);
}

static void freeze_at(struct dt_shared *s, uint64_t records)
{
	struct dt_ring *r = ring_of(s, s->geometry.cores);
	uint64_t now[2] = {__atomic_load_n(&r->pos, __ATOMIC_ACQUIRE),
			   __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE)};

	/* traced processes may change them all the time, and need not mean well */
	for (int tries = 0; tries < 1000000; tries++)
		if (move_limit(r, now, (now[0] + 64 * records) | DT_FROZEN))
			return;
}

bool dt_rings_frozen(const struct dt_shared *s)
{
	struct dt_ring *r = ring_of(s, s->geometry.cores);
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

	return (limit & DT_FROZEN) &&
	       __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE) >= (limit & ~DT_FROZEN);
}

static void thaw(struct dt_shared *s)
{
	struct dt_ring *r = ring_of(s, s->geometry.cores);

	if (dt_rings_frozen(s))
		dt_shared_thaw_note(s, __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE));
	__atomic_store_n(&r->limit,
			 s->state == DT_RECORDING ? __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE) : 0,
			 __ATOMIC_SEQ_CST);
}

void dt_rings_freeze(struct dt_shared *s, bool freeze)
{
	bool before = dt_rings_frozen(s);

	if (!freeze) {
		thaw(s);
		return;
	}
	freeze_at(s, 0);
	/* only now, since records came until then */
	if (!before)
		dt_shared_frozen_set(s);
}

void dt_rings_freeze_after(struct dt_shared *s, uint64_t records)
{
	if (records)
		freeze_at(s, records);
	else
		thaw(s);
}

int dt_ring_reader_init(struct dt_ring_reader *r, const struct dt_shared *shared, unsigned index,
			struct dt_error *e)
{
	memset(r, 0, sizeof(*r));
	r->shared = shared;
	r->ring = ring_of(shared, index);
	r->index = index;
	r->copy = malloc(DT_RING_TAKE * sizeof(*r->copy));
	return r->copy ? 0 : dt_fail(e, "out of memory");
}

void dt_ring_reader_free(struct dt_ring_reader *r)
{
	free(r->copy);
	free(r->gap);
	r->copy = NULL;
	r->gap = NULL;
}

static void lose(struct dt_ring_reader *r, uint64_t records)
{
	r->lost += records;
	r->lost_total += records;
}

/*
 * Tells whether a ring's position can be pos. A position only grows, by whole records: never beyond
 * what a reader has made room for or, with the policy overwrite, by no more than some years would
 * bring. Another position was written by a program that runs wild or means harm: nothing more of
 * that ring is believed.
 */
static bool is_possible(const struct dt_ring_reader *r, uint64_t pos)
{
	uint64_t ahead = pos - r->pos;
	bool bounded = r->shared->policy != DT_OVERWRITE && r->index != r->shared->geometry.cores;

	return pos % 64 == 0 && ahead <= (bounded ? r->shared->geometry.ring_size : 1ull << 56);
}

/* Copies the records from the reader's place up to pos, at most max; returns how many. */
static size_t copy_records(struct dt_ring_reader *r, uint64_t pos, size_t max)
{
	uint64_t size = r->shared->geometry.ring_size, mask = size - 1;
	const char *data = (const char *)dt_ring_records(r->ring);
	size_t n = (pos - r->pos) / 64, head = (size - (r->pos & mask)) / 64;

	n = n > max ? max : n;
	n = n > DT_RING_TAKE ? DT_RING_TAKE : n;
	head = head > n ? n : head;
	memcpy(r->copy, data + (r->pos & mask), head * 64);
	memcpy(r->copy + head, data, (n - head) * 64);
	return n;
}

/*
 * Takes records from a ring whose writer does not wait. The writer may be a lap ahead, and is
 * writing at pos: of what was copied, everything at or below pos - size may have been overwritten
 * meanwhile. This is Kitrace's rule. On a processor whose stores may pass each other, the append
 * has to read pos by an acquiring load before it writes (test/litmus/overwrite-aarch64.litmus).
 */
static size_t take_overwrite(struct dt_ring_reader *r, uint64_t pos, size_t max, bool last,
			     const struct dt_record **records)
{
	uint64_t size = r->shared->geometry.ring_size, after, good;
	size_t n;

	if (pos - r->pos >= size) {
		/* keep clear of the writer: begin an eighth of the ring, and a record at least,
		 * after the oldest */
		uint64_t begin = pos - size + (last ? 64 : (size / 8 + 63) & ~63ull);

		lose(r, (begin - r->pos) / 64);
		r->pos = begin;
	}
	n = copy_records(r, pos, max);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	after = __atomic_load_n(&r->ring->pos, __ATOMIC_ACQUIRE);
	if (!is_possible(r, after))
		after = pos;
	good = after >= size ? after - size + 64 : 0; /* positions from here on are whole */
	*records = r->copy;
	if (good > r->pos) {
		size_t bad = (good - r->pos) / 64;

		if (bad > n)
			bad = n;
		lose(r, bad);
		r->pos += bad * 64;
		*records += bad;
		n -= bad;
	}
	r->pos += n * 64;
	return n;
}

/*
 * Tells whether a thread lives. kill(2) knows only processes; /proc has an entry for every thread.
 */
static bool thread_lives(uint32_t tid)
{
	char path[32];

	dt_format(path, sizeof(path), "/proc/%u", tid);
	return access(path, F_OK) == 0;
}

/*
 * Tells whether to give up waiting for the record at r->pos: a writer that never finishes its
 * record must not hold up the others for long. A writer that may make no system call has no thread
 * id in its mark; of such a one nobody knows whether it lives.
 */
static bool give_up(struct dt_ring_reader *r, uint64_t pos, uint64_t *mark, bool last)
{
	bool lossless = r->shared->policy == DT_WAIT;
	uint64_t now, m = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
	uint32_t tid = (uint32_t)(m >> 1 & 0x3fffff);
	bool unknown = tid == (DT_NO_TID & 0x3fffff);
	/* a dead writer will not free its slot: it is done here */
	bool dead = (m & 1) && !unknown && !thread_lives(tid);

	if (!dead && !last && (lossless || pos - r->pos < r->shared->geometry.ring_size / 2)) {
		now = dt_now_ns();
		if (!r->stuck_since)
			r->stuck_since = now;
		if (now - r->stuck_since < (lossless ? STUCK_WAIT_NS : STUCK_NS))
			return false;
		dead = (m & 1) && unknown;
	}
	if (dead)
		__atomic_compare_exchange_n(mark, &m, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	r->stuck_since = 0;
	return true;
}

static size_t take_shared(struct dt_ring_reader *r, uint64_t pos, size_t max, bool last,
			  const struct dt_record **records)
{
	uint64_t size = r->shared->geometry.ring_size;
	struct dt_record *data = dt_ring_records(r->ring);
	uint64_t *marks = dt_ring_marks(r->ring, size);
	uint64_t end;
	size_t n = 0;

	if (max > DT_RING_TAKE)
		max = DT_RING_TAKE;
	*records = r->copy;
	if (pos - r->pos > size) {
		lose(r, (pos - size - r->pos) / 64);
		r->pos = pos - size;
	}
	end = (pos - r->pos) / 64 < max ? pos : r->pos + max * 64;
	while (r->pos < end) {
		uint64_t index = r->pos / 64, slot = index & (size / 64 - 1);
		uint64_t mark = __atomic_load_n(&marks[slot], __ATOMIC_ACQUIRE);

		if (mark == DT_MARK_DONE(index)) {
			r->copy[n] = data[slot];
			__atomic_thread_fence(__ATOMIC_ACQUIRE);
			if (__atomic_load_n(&marks[slot], __ATOMIC_ACQUIRE) == mark) {
				n++;
				r->pos += 64;
				r->stuck_since = 0;
				continue;
			}
		}
		/*
		 * overwritten or unfinished: a loss has to come before the first record of a take
		 */
		if (n > 0)
			break;
		if (!DT_MARK_AHEAD(mark, index) && !give_up(r, pos, &marks[slot], last))
			break;
		lose(r, 1);
		r->pos += 64;
	}
	return n;
}

/* Takes records by copying them, since traced processes can still change what is in the ring. */
static size_t take_lossless(struct dt_ring_reader *r, uint64_t pos, size_t max,
			    const struct dt_record **records)
{
	size_t n = copy_records(r, pos, max);

	*records = r->copy;
	r->pos += n * 64;
	return n;
}

/* Remembers a loss before the record at pos, which the reader may not have come to yet. */
static void note_gap(struct dt_ring_reader *r, uint64_t pos, uint64_t lost)
{
	if (r->gaps == r->gap_room && r->gap_first > r->gap_room / 2) {
		r->gaps -= r->gap_first;
		memmove(r->gap, r->gap + r->gap_first, r->gaps * sizeof(*r->gap));
		r->gap_first = 0;
	}
	if (r->gaps == r->gap_room) {
		size_t room = r->gap_room ? 2 * r->gap_room : 64;
		struct dt_gap *more = realloc(r->gap, room * sizeof(*more));

		if (!more) { /* the loss is counted, though not in its place */
			lose(r, lost);
			return;
		}
		r->gap = more;
		r->gap_room = room;
	}
	r->gap[r->gaps++] = (struct dt_gap){pos, lost};
}

/* Counts the gaps that the reader has come to; returns how many records, of max, it may take before
 * the next gap. */
static size_t pass_gaps(struct dt_ring_reader *r, size_t max)
{
	while (r->gap_first < r->gaps && r->gap[r->gap_first].pos <= r->pos)
		lose(r, r->gap[r->gap_first++].lost);
	if (r->gap_first == r->gaps)
		r->gap_first = r->gaps = 0;
	else if ((r->gap[r->gap_first].pos - r->pos) / 64 < max)
		max = (r->gap[r->gap_first].pos - r->pos) / 64;
	return max;
}

size_t dt_ring_take(struct dt_ring_reader *r, size_t max, bool last,
		    const struct dt_record **records, uint64_t *lost)
{
	struct dt_ring *ring = r->ring;
	uint64_t pos = __atomic_load_n(&ring->pos, __ATOMIC_ACQUIRE);
	size_t n;

	r->broken = r->broken || !is_possible(r, pos);
	if (r->broken) {
		*lost = r->lost;
		r->lost = 0;
		return 0;
	}
	lose(r, __atomic_exchange_n(&ring->lost_before, 0, __ATOMIC_RELAXED) & DT_LOST_MAX);
	max = pass_gaps(r, max);
	if (r->index == r->shared->geometry.cores)
		n = take_shared(r, pos, max, last, records);
	else if (r->shared->policy == DT_OVERWRITE)
		n = take_overwrite(r, pos, max, last, records);
	else
		n = take_lossless(r, pos, max, records);
	/* the limit will not move any more: what was lost at the last one is reported at the end */
	if (n == 0 && last && r->pos == __atomic_load_n(&ring->pos, __ATOMIC_ACQUIRE)) {
		uint64_t left = __atomic_fetch_and(&ring->lost, ~DT_LOST_MAX, __ATOMIC_SEQ_CST);

		lose(r, DT_LOST_COUNT(left));
	}
	*lost = r->lost;
	r->lost = 0;
	r->taken += n;
	return n;
}

void dt_ring_release(struct dt_ring_reader *r)
{
	uint64_t hard = __atomic_load_n(&r->ring->hard, __ATOMIC_RELAXED), lost;

	if (r->pos != r->released && r->shared->state == DT_RECORDING) {
		lost = set_hard(r->shared, r->ring, r->pos);
		if (lost)
			note_gap(r, hard, lost);
		set_limit(r->shared, r->ring, r->pos);
	} else {
		__atomic_store_n(&r->ring->read, r->pos, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&r->released, r->pos, __ATOMIC_RELEASE);
}

void dt_ring_refuse(struct dt_ring_reader *r, size_t n)
{
	r->broken = true;
	r->taken -= n;
}
