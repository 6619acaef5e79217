/* SPDX-License-Identifier: MIT */
/* The session's shared memory and its readers. */
#include "session/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
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
#define COPY 8192u	       /* records copied at a time from rings that can be overwritten */
/* after this an unfinished record of the shared ring counts as lost */
#define STUCK_NS 50000000ull
#define STUCK_WAIT_NS 1000000000ull /* where everybody waits for room anyway */

static uint64_t page_up(uint64_t n)
{
	return (n + PAGE - 1) & ~(PAGE - 1);
}

/*
 * Root's targets belong to others: see share() in process/area.c. Nobody but us, and processes that
 * we let, can reach a file without a name, whatever its mode.
 */
static int open_memory(struct dt_error *e)
{
	int fd = -1;

	if (geteuid() == 0)
		fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		fchmod(fd, 0666);
	if (fd < 0)
		fd = memfd_create("devtrace", MFD_CLOEXEC);
	if (fd < 0)
		return dt_fail(e, "no memory for the rings: %s", strerror(errno));
	return fd;
}

static int check_size(uint64_t bytes, unsigned cores, uint64_t ring_size, struct dt_error *e)
{
	struct sysinfo info;
	uint64_t room;

	if (ring_size < DT_RING_MIN || ring_size > DT_RING_MAX || (ring_size & (ring_size - 1)))
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

static int own(struct dt_control *c)
{
	pthread_mutex_t *m = (pthread_mutex_t *)c->mutex;
	pthread_mutexattr_t a;

	_Static_assert(sizeof(*m) <= sizeof(c->mutex), "the mutex fits");
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &a);
	pthread_mutexattr_destroy(&a);
	return pthread_mutex_lock(m);
}

int dt_rings_create(struct dt_shared *s, unsigned cores, uint64_t ring_size, enum dt_policy policy,
		    struct dt_error *e)
{
	/* the shared ring has its marks behind the records; all rings are given that room */
	uint64_t stride = DT_RING_HEAD + page_up(ring_size + ring_size / 8);
	uint64_t bytes = DT_CONTROL_SIZE + (cores + 1) * stride;
	struct dt_control *c;

	if (check_size(bytes, cores, ring_size, e) < 0)
		return -1;
	s->fd = open_memory(e);
	if (s->fd < 0)
		return -1;
	if (ftruncate(s->fd, (off_t)bytes) < 0 || fallocate(s->fd, 0, 0, (off_t)bytes) < 0) {
		dt_fail(e, "%lu KiB for the rings: %s; make %s", (unsigned long)(bytes >> 10),
			errno == EFBIG ? "more than a file may have here (ulimit -f)" : strerror(errno),
			errno == EFBIG ? "that larger, or them smaller (-b)" : "them smaller (-b)");
		goto fail;
	}
	c = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, s->fd, 0);
	if (c == MAP_FAILED) {
		dt_fail(e, "%lu MiB for the rings can not be mapped: %s",
			(unsigned long)(bytes >> 20), strerror(errno));
		goto fail;
	}
	c->magic = DT_SESSION_MAGIC;
	c->version = 1;
	c->cores = cores;
	c->ring_size = ring_size;
	c->stride = stride;
	c->bytes = bytes;
	c->policy = policy;
	c->controller = (uint32_t)getpid();
	s->control = c;
	if (own(c) != 0) {
		dt_fail(e, "the session can not be owned: %s", strerror(errno));
		munmap(c, bytes);
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
		pthread_mutex_unlock((pthread_mutex_t *)s->control->mutex);
		munmap(s->control, s->control->bytes);
		close(s->fd);
	}
	s->control = NULL;
	s->fd = -1;
}

/* Moves the hard limit. Returns how many records were lost at the old one, all of them. */
static uint64_t set_hard(struct dt_control *c, struct dt_ring *r, uint64_t read)
{
	uint64_t hard = c->policy == DT_OVERWRITE ? DT_NO_LIMIT : read + c->ring_size, lost = 0;

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
static void set_limit(struct dt_control *c, struct dt_ring *r)
{
	bool none = c->policy == DT_OVERWRITE;
	uint64_t limit = none ? DT_NO_LIMIT : r->read + c->ring_size / 2, old;

	if (r == dt_ring_at(c, c->cores)) {
		/* where recording freezes is not moved for room */
		old = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);
		while (!(old & DT_FROZEN) &&
		       !__atomic_compare_exchange_n(&r->limit, &old, limit, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_ACQUIRE))
			;
	} else {
		__atomic_store_n(&r->limit, c->careful ? 0 : limit, __ATOMIC_SEQ_CST);
	}
	if (__atomic_load_n(&r->waiters, __ATOMIC_SEQ_CST)) {
		__atomic_add_fetch(&r->wake, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &r->wake, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
	}
}

/* Room before the word to begin, so that nothing is lost at the start; no append before that word. */
void dt_rings_start(struct dt_control *c)
{
	if (c->state == DT_RECORDING)
		return;
	for (unsigned i = 0; i <= c->cores; i++) {
		struct dt_ring *r = dt_ring_at(c, i);
		uint64_t lost = set_hard(c, r, r->read);

		__atomic_add_fetch(&r->lost_before, lost, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&c->state, DT_RECORDING, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i <= c->cores; i++)
		set_limit(c, dt_ring_at(c, i));
}

void dt_rings_alert(struct dt_control *c)
{
	for (unsigned i = 0; i <= c->cores && c->policy != DT_OVERWRITE; i++) {
		struct dt_ring *r = dt_ring_at(c, i);
		uint64_t pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE);
		uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

		/* a soft limit: whoever comes to it moves it on to the hard one, and rings */
		if (limit && !(limit & DT_FROZEN) && limit > pos &&
		    pos < __atomic_load_n(&r->hard, __ATOMIC_ACQUIRE))
			__atomic_compare_exchange_n(&r->limit, &limit, pos, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_RELAXED);
	}
}

static void set_state(struct dt_control *c, enum dt_state state)
{
	__atomic_store_n(&c->state, state, __ATOMIC_SEQ_CST);
	for (unsigned i = 0; i <= c->cores; i++) {
		struct dt_ring *r = dt_ring_at(c, i);

		__atomic_store_n(&r->hard, 0, __ATOMIC_SEQ_CST);
		if (!(r->limit & DT_FROZEN))
			__atomic_store_n(&r->limit, 0, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&r->wake, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &r->wake, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
	}
}

void dt_rings_stop(struct dt_control *c)
{
	set_state(c, DT_STOPPED);
}

void dt_rings_pause(struct dt_control *c)
{
	set_state(c, DT_PAUSED);
}

void dt_rings_careful(struct dt_control *c, bool careful)
{
	struct dt_ring *shared = dt_ring_at(c, c->cores);

	if (c->careful == careful)
		return;
	/* before the limits: see make_room() in the slow path */
	__atomic_store_n(&c->careful, careful, __ATOMIC_SEQ_CST);
	if (!careful && (shared->limit & DT_FROZEN))
		dt_rings_freeze(c, false);
	if (c->state != DT_RECORDING)
		return;
	for (unsigned i = 0; i < c->cores; i++)
		set_limit(c, dt_ring_at(c, i));
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

static void freeze_at(struct dt_control *c, uint64_t records)
{
	struct dt_ring *r = dt_ring_at(c, c->cores);
	uint64_t pos = r->pos, limit = r->limit;

	while (!move_limit(r, &pos, &limit, (pos + 64 * records) | DT_FROZEN))
		;
}

bool dt_rings_frozen(struct dt_control *c)
{
	struct dt_ring *r = dt_ring_at(c, c->cores);
	uint64_t limit = __atomic_load_n(&r->limit, __ATOMIC_ACQUIRE);

	return (limit & DT_FROZEN) &&
	       __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE) >= (limit & ~DT_FROZEN);
}

static void thaw(struct dt_control *c)
{
	struct dt_ring *r = dt_ring_at(c, c->cores);

	if (dt_rings_frozen(c))
		dt_ring_note_thaw(c, __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE), __builtin_ia32_rdtsc());
	__atomic_store_n(&r->limit, c->state == DT_RECORDING ? r->hard : 0, __ATOMIC_SEQ_CST);
}

void dt_rings_freeze(struct dt_control *c, bool freeze)
{
	bool before = dt_rings_frozen(c);

	if (!freeze) {
		thaw(c);
		return;
	}
	freeze_at(c, 0);
	/* not before: until then records came */
	if (!before)
		__atomic_store_n(&c->frozen, __builtin_ia32_rdtsc(), __ATOMIC_RELAXED);
}

void dt_rings_freeze_after(struct dt_control *c, uint64_t records)
{
	if (records)
		freeze_at(c, records);
	else
		thaw(c);
}

void dt_rings_bell(struct dt_control *c)
{
	__atomic_add_fetch(&c->bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->bell, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

int dt_ring_reader_init(struct dt_ring_reader *r, struct dt_control *control, unsigned index,
			struct dt_error *e)
{
	memset(r, 0, sizeof(*r));
	r->control = control;
	r->ring = dt_ring_at(control, index);
	r->index = index;
	if (control->policy == DT_OVERWRITE || index == control->cores) {
		r->copy_max = COPY;
		r->copy = malloc(COPY * sizeof(*r->copy));
		if (!r->copy)
			return dt_fail(e, "out of memory");
	}
	return 0;
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
 * The writer may be a lap ahead, and is writing at pos: of what was copied, whatever lies at or
 * below pos - size may have been overwritten meanwhile. Kitrace's rule.
 */
static size_t take_overwrite(struct dt_ring_reader *r, size_t max, bool last,
			     const struct dt_record **records)
{
	uint64_t size = r->control->ring_size, mask = size - 1;
	const char *data = (const char *)dt_ring_records(r->ring);
	uint64_t pos = __atomic_load_n(&r->ring->pos, __ATOMIC_ACQUIRE), after, good;
	size_t n, head;

	if (pos - r->pos >= size) {
		/* keep clear of the writer: begin an eighth of the ring, and a record at least, behind the oldest */
		uint64_t begin = pos - size + (last ? 64 : (size / 8 + 63) & ~63ull);

		lose(r, (begin - r->pos) / 64);
		r->pos = begin;
	}
	n = (pos - r->pos) / 64;
	if (n > max)
		n = max;
	if (n > r->copy_max)
		n = r->copy_max;
	head = (size - (r->pos & mask)) / 64;
	if (head > n)
		head = n;
	memcpy(r->copy, data + (r->pos & mask), head * 64);
	memcpy(r->copy + head, data, (n - head) * 64);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	after = __atomic_load_n(&r->ring->pos, __ATOMIC_ACQUIRE);
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
	bool lossless = r->control->policy == DT_WAIT;
	uint64_t now, m = __atomic_load_n(mark, __ATOMIC_ACQUIRE);
	uint32_t tid = (uint32_t)(m >> 1 & 0x3fffff);
	bool unknown = tid == (DT_NO_TID & 0x3fffff);
	/* a writer that is dead will not free its slot: do it for it */
	bool dead = (m & 1) && !unknown && !thread_lives(tid);

	if (!dead && !last && (lossless || pos - r->pos < r->control->ring_size / 2)) {
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

static size_t take_shared(struct dt_ring_reader *r, size_t max, bool last,
			  const struct dt_record **records)
{
	uint64_t size = r->control->ring_size;
	struct dt_record *data = dt_ring_records(r->ring);
	uint64_t *marks = dt_ring_marks(r->ring, size);
	uint64_t pos = __atomic_load_n(&r->ring->pos, __ATOMIC_ACQUIRE);
	uint64_t end;
	size_t n = 0;

	if (max > r->copy_max)
		max = r->copy_max;
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

static size_t take_lossless(struct dt_ring_reader *r, size_t max, const struct dt_record **records)
{
	uint64_t mask = r->control->ring_size - 1;
	uint64_t pos = __atomic_load_n(&r->ring->pos, __ATOMIC_ACQUIRE);
	size_t n = (pos - r->pos) / 64, head = (mask + 1 - (r->pos & mask)) / 64;

	if (n > head)
		n = head;
	if (n > max)
		n = max;
	*records = (const struct dt_record *)((char *)dt_ring_records(r->ring) + (r->pos & mask));
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
	size_t n;

	lose(r, __atomic_exchange_n(&ring->lost_before, 0, __ATOMIC_RELAXED));
	max = pass_gaps(r, max);
	if (r->index == r->control->cores)
		n = take_shared(r, max, last, records);
	else if (r->control->policy == DT_OVERWRITE)
		n = take_overwrite(r, max, last, records);
	else
		n = take_lossless(r, max, records);
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
	uint64_t hard = r->ring->hard, lost;

	if (r->pos != r->ring->read && r->control->state == DT_RECORDING) {
		lost = set_hard(r->control, r->ring, r->pos);
		if (lost)
			note_gap(r, hard, lost);
		set_limit(r->control, r->ring);
	} else {
		__atomic_store_n(&r->ring->read, r->pos, __ATOMIC_RELEASE);
	}
}
