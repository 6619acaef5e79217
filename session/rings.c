/* SPDX-License-Identifier: MIT */
/* The session's shared memory and its readers. */
#include "session/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "process/threads.h"

#define PAGE 4096ull
#define COPY 4096u	       /* records copied at a time from rings that can be overwritten */
/* after this an unfinished record of the shared ring counts as lost */
#define STUCK_NS 50000000ull
#define STUCK_WAIT_NS 1000000000ull /* where everybody waits for room anyway */

/*
 * Nobody but us, and processes that we let, can reach a file without a name, whatever its mode. It keeps its
 * size: a process that has it open could else take the memory away under everybody.
 */
static int open_memory(uint64_t bytes, struct dt_error *e)
{
	int fd = memfd_create("devtrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return dt_fail(e, "no memory for the rings: %s", strerror(errno));
	if (ftruncate(fd, (off_t)bytes) < 0 || fallocate(fd, 0, 0, (off_t)bytes) < 0) {
		dt_fail(e, "%lu KiB for the rings: %s; make %s", (unsigned long)(bytes >> 10),
			errno == EFBIG ? "more than a file may have here (ulimit -f)" : strerror(errno),
			errno == EFBIG ? "that larger, or them smaller (-b)" : "them smaller (-b)");
	} else if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		dt_fail(e, "the memory for the rings can not be sealed: %s", strerror(errno));
	} else {
		return fd;
	}
	close(fd);
	return -1;
}

static int check_size(uint64_t bytes, unsigned cores, uint64_t ring_size, struct dt_error *e)
{
	struct sysinfo info;
	uint64_t room;

	if (!dt_ring_size_is_valid(ring_size))
		return dt_fail(e, "a ring has %lu KiB: it must be a power of two from 64K to 1G",
			       (unsigned long)(ring_size >> 10));
	if (sysinfo(&info) < 0)
		return 0;
	room = (uint64_t)info.freeram * info.mem_unit + (uint64_t)info.bufferram * info.mem_unit;
	if (bytes > room)
		return dt_fail(e,
			       "%u rings of %lu MiB need %lu MiB, but %lu MiB of memory are free: "
			       "make them smaller (-b)",
			       cores + 1, (unsigned long)(ring_size >> 20),
			       (unsigned long)(bytes >> 20), (unsigned long)(room >> 20));
	return 0;
}

/*
 * The list of robust futexes that the kernel goes through when the owner's thread ends, with the session's
 * word as its only element: how far that is from the element is a number in the head, so the element, with
 * its pointer, need not be beside it. The thread's own list, libc's, is put back in the end.
 */
struct dt_owner {
	struct robust_list_head head;
	struct robust_list element;
	struct robust_list_head *before;
	size_t before_size;
	pid_t tid;
};

static int own(struct dt_shared *s, struct dt_error *e)
{
	struct dt_owner *o = calloc(1, sizeof(*o));

	if (!o)
		return dt_fail(e, "out of memory");
	o->tid = gettid();
	o->head.list.next = &o->element;
	o->head.futex_offset = (char *)&s->control->owner - (char *)&o->element;
	o->element.next = &o->head.list;
	if (syscall(SYS_get_robust_list, 0, &o->before, &o->before_size) < 0 ||
	    syscall(SYS_set_robust_list, &o->head, sizeof(o->head)) < 0) {
		dt_fail(e, "the session can not be owned: %s", strerror(errno));
		free(o);
		return -1;
	}
	__atomic_store_n(&s->control->owner, (uint32_t)o->tid, __ATOMIC_SEQ_CST);
	s->owner = o;
	return 0;
}

static void disown(struct dt_shared *s)
{
	struct dt_owner *o = s->owner;

	__atomic_store_n(&s->control->owner, 0, __ATOMIC_SEQ_CST);
	if (o->tid == gettid())
		syscall(SYS_set_robust_list, o->before, o->before_size);
	else
		o->head.list.next = &o->head.list; /* the owner's thread goes on */
	/* it may look there until it ends */
	if (o->tid == gettid())
		free(o);
	s->owner = NULL;
}

int dt_rings_create(struct dt_shared *s, unsigned cores, uint64_t ring_size, enum dt_policy policy,
		    struct dt_error *e)
{
	struct dt_geometry g = dt_geometry(cores, ring_size);
	struct dt_control *c;

	if (check_size(g.bytes, cores, ring_size, e) < 0)
		return -1;
	*s = (struct dt_shared){.fd = open_memory(g.bytes, e), .geometry = g, .policy = policy};
	if (s->fd < 0)
		return -1;
	c = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, s->fd, 0);
	if (c == MAP_FAILED) {
		dt_fail(e, "%lu MiB for the rings can not be mapped: %s",
			(unsigned long)(g.bytes >> 20), strerror(errno));
		goto fail;
	}
	c->magic = DT_SESSION_MAGIC;
	c->version = DT_SESSION_VERSION;
	c->geometry = g;
	c->policy = policy;
	c->controller = (uint32_t)getpid();
	s->control = c;
	if (own(s, e) != 0) {
		munmap(c, g.bytes);
		goto fail;
	}
	return 0;
fail:
	close(s->fd);
	s->fd = -1;
	s->control = NULL;
	return -1;
}

void dt_rings_destroy(struct dt_shared *s)
{
	if (s->control) {
		disown(s);
		munmap(s->control, s->geometry.bytes);
		close(s->fd);
	}
	s->control = NULL;
	s->fd = -1;
}

/* Moves the hard limit. Returns how many records were lost at the old one, all of them. */
static uint64_t set_hard(const struct dt_shared *s, struct dt_ring *r, uint64_t read)
{
	uint64_t hard = s->policy == DT_OVERWRITE ? DT_NO_LIMIT : read + s->geometry.ring_size, lost = 0;

	__atomic_store_n(&r->read, read, __ATOMIC_RELEASE);
	if (hard != DT_NO_LIMIT)
		lost = __atomic_exchange_n(&r->lost, DT_LOST_AT(hard), __ATOMIC_SEQ_CST);
	__atomic_store_n(&r->hard, hard, __ATOMIC_SEQ_CST);
	return DT_LOST_COUNT(lost);
}

/*
 * Room for the writers: hard before limit (a slow path raises limit to what it has read as hard),
 * both before wake. The soft limit, at half, has a writer ring the bell in time.
 */
static void set_limit(const struct dt_shared *s, struct dt_ring *r, uint64_t read)
{
	uint64_t limit = s->policy == DT_OVERWRITE ? DT_NO_LIMIT : read + s->geometry.ring_size / 2, old;

	if (r == dt_shared_ring(s, s->geometry.cores)) {
		/* where recording freezes is not moved for room */
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

/* Room before the word to begin, so that nothing is lost at the start; no append before that word. */
void dt_rings_start(struct dt_shared *s)
{
	unsigned rings = s->geometry.cores + 1;

	if (s->state == DT_RECORDING)
		return;
	for (unsigned i = 0; i < rings; i++) {
		struct dt_ring *r = dt_shared_ring(s, i);
		uint64_t lost = set_hard(s, r, __atomic_load_n(&r->read, __ATOMIC_RELAXED));

		__atomic_add_fetch(&r->lost_before, lost, __ATOMIC_RELAXED);
	}
	s->state = DT_RECORDING;
	__atomic_store_n(&s->control->state, DT_RECORDING, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < rings; i++) {
		struct dt_ring *r = dt_shared_ring(s, i);

		set_limit(s, r, __atomic_load_n(&r->read, __ATOMIC_RELAXED));
	}
}

void dt_rings_alert(struct dt_shared *s)
{
	for (unsigned i = 0; i <= s->geometry.cores && s->policy != DT_OVERWRITE; i++) {
		struct dt_ring *r = dt_shared_ring(s, i);
		uint64_t pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
		uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

		/* a soft limit: whoever comes to it moves it on to the hard one, and rings */
		if (limit && !(limit & DT_FROZEN) && limit > pos &&
		    pos < __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE))
			__atomic_compare_exchange_n(&r->limit, &limit, pos, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
	}
}

static void set_state(struct dt_shared *s, enum dt_state state)
{
	s->state = state;
	__atomic_store_n(&s->control->state, state, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i <= s->geometry.cores; i++) {
		struct dt_ring *r = dt_shared_ring(s, i);

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

void dt_rings_policy(struct dt_shared *s, enum dt_policy policy)
{
	s->policy = policy;
	__atomic_store_n(&s->control->policy, policy, __ATOMIC_SEQ_CST);
}

void dt_rings_careful(struct dt_shared *s, bool careful)
{
	struct dt_ring *shared = dt_shared_ring(s, s->geometry.cores);

	if (s->careful == careful)
		return;
	/* before the limits: see make_room() in the slow path */
	s->careful = careful;
	__atomic_store_n(&s->control->careful, careful, __ATOMIC_SEQ_CST);
	if (!careful && (__atomic_load_n(&shared->limit, __ATOMIC_ACQUIRE) & DT_FROZEN))
		dt_rings_freeze(s, false);
	if (s->state != DT_RECORDING)
		return;
	for (unsigned i = 0; i < s->geometry.cores; i++) {
		struct dt_ring *r = dt_shared_ring(s, i);

		set_limit(s, r, __atomic_load_n(&r->read, __ATOMIC_RELAXED));
	}
}

/* position and limit, together; false when pos or limit was not as expected, which now they are */
static bool move_limit(struct dt_ring *r, uint64_t *pos, uint64_t *limit, uint64_t new_limit)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(r->pos), "+m"(r->limit), "=@ccz"(done), "+a"(*pos), "+d"(*limit)
			 : "b"(*pos), "c"(new_limit)
			 : "memory");
	return done;
}

static void freeze_at(struct dt_shared *s, uint64_t records)
{
	struct dt_ring *r = dt_shared_ring(s, s->geometry.cores);
	uint64_t pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

	/* others may change them all the time, and need not mean well */
	for (int tries = 0; tries < 1000000; tries++)
		if (move_limit(r, &pos, &limit, (pos + 64 * records) | DT_FROZEN))
			return;
}

bool dt_rings_frozen(const struct dt_shared *s)
{
	struct dt_ring *r = dt_shared_ring(s, s->geometry.cores);
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

	return (limit & DT_FROZEN) &&
	       __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE) >= (limit & ~DT_FROZEN);
}

static void thaw(struct dt_shared *s)
{
	struct dt_ring *r = dt_shared_ring(s, s->geometry.cores);

	if (dt_rings_frozen(s))
		dt_ring_note_thaw(s->control, __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE),
				  __builtin_ia32_rdtsc());
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
	/* not before: until then records came */
	if (!before)
		__atomic_store_n(&s->control->frozen, __builtin_ia32_rdtsc(), __ATOMIC_RELAXED);
}

void dt_rings_freeze_after(struct dt_shared *s, uint64_t records)
{
	if (records)
		freeze_at(s, records);
	else
		thaw(s);
}

void dt_rings_bell(struct dt_shared *s)
{
	uint32_t *bell = &s->control->bell;

	__atomic_add_fetch(bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, bell, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

int dt_ring_reader_init(struct dt_ring_reader *r, const struct dt_shared *shared, unsigned index,
			struct dt_error *e)
{
	memset(r, 0, sizeof(*r));
	r->shared = shared;
	r->ring = dt_shared_ring(shared, index);
	r->index = index;
	r->copy = malloc(COPY * sizeof(*r->copy));
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
 * Can a ring be at pos? A position only grows, by whole records, and never beyond what a reader has made room
 * for, but where the newest records win: then less than some years on. What is not so has been written there
 * by a program that runs wild, or means harm: nothing more of that ring is believed.
 */
static bool is_possible(const struct dt_ring_reader *r, uint64_t pos)
{
	uint64_t ahead = pos - r->pos;
	bool bounded = r->shared->policy != DT_OVERWRITE && r->index != r->shared->geometry.cores;

	return pos % 64 == 0 && ahead <= (bounded ? r->shared->geometry.ring_size : 1ull << 56);
}

/* Copies what there is up to pos, at most max records, from the reader's place on; returns how many. */
static size_t copy_records(struct dt_ring_reader *r, uint64_t pos, size_t max)
{
	uint64_t size = r->shared->geometry.ring_size, mask = size - 1;
	const char *data = (const char *)dt_ring_records(r->ring);
	size_t n = (pos - r->pos) / 64, head = (size - (r->pos & mask)) / 64;

	n = n > max ? max : n;
	n = n > COPY ? COPY : n;
	head = head > n ? n : head;
	memcpy(r->copy, data + (r->pos & mask), head * 64);
	memcpy(r->copy + head, data, (n - head) * 64);
	return n;
}

/*
 * The writer may be a lap ahead, and is writing at pos: of what was copied, whatever lies at or
 * below pos - size may have been overwritten meanwhile. Kitrace's rule.
 */
static size_t take_overwrite(struct dt_ring_reader *r, uint64_t pos, size_t max, bool last,
			     const struct dt_record **records)
{
	uint64_t size = r->shared->geometry.ring_size, after, good;
	size_t n;

	if (pos - r->pos >= size) {
		/* keep clear of the writer: begin an eighth of the ring, and a record at least, behind the oldest */
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

/* kill(2) knows processes only; /proc has an entry for every thread. */
static bool thread_lives(uint32_t tid)
{
	char path[32];

	dt_format(path, sizeof(path), "/proc/%u", tid);
	return access(path, F_OK) == 0;
}

/*
 * A writer that never finishes its record must not hold up the others for long. Of one that may make
 * no system call, and so has no thread id, nobody knows whether it lives.
 */
static bool give_up(struct dt_ring_reader *r, uint64_t pos, uint64_t *mark, bool last)
{
	bool lossless = r->shared->policy == DT_WAIT;
	uint64_t now, m = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
	uint32_t tid = (uint32_t)(m >> 1 & 0x3fffff);
	bool unknown = tid == (DT_NO_TID & 0x3fffff);
	/* a writer that is dead will not free its slot: do it for it */
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

	if (max > COPY)
		max = COPY;
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
		/* overwritten, or unfinished: a loss belongs in front of what follows */
		if (n > 0)
			break;
		if (!DT_MARK_AHEAD(mark, index) && !give_up(r, pos, &marks[slot], last))
			break;
		lose(r, 1);
		r->pos += 64;
	}
	return n;
}

/* A copy: what is in the ring can still be changed by those who have written it. */
static size_t take_lossless(struct dt_ring_reader *r, uint64_t pos, size_t max,
			    const struct dt_record **records)
{
	size_t n = copy_records(r, pos, max);

	*records = r->copy;
	r->pos += n * 64;
	return n;
}

/* Remembers a loss in front of the record at pos, which the reader may not have come to yet. */
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

		if (!more) { /* counted, if not in its place */
			lose(r, lost);
			return;
		}
		r->gap = more;
		r->gap_room = room;
	}
	r->gap[r->gaps++] = (struct dt_gap){pos, lost};
}

/* Counts the gaps the reader stands at; returns how many records it may take up to the next. */
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
	/* the limit is not moved any more: what was lost at the last one belongs at the end */
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
