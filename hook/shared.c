/* SPDX-License-Identifier: MIT */
#include "hook/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/control.h"
#include "process/memory.h"

#define POPULATED (1u << 20) /* bytes that are mapped in one go */
#define DEAF_NS	  1000000l   /* between looks at bells that can not be waited for together */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define ONCE(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

/* Returns the bytes of the memory, of which geometry.bytes are used: a rest of more than half a
 * large page is a whole one. */
static uint64_t memory_size(const struct dt_geometry *g)
{
	uint64_t rest = g->bytes % DT_HUGE_PAGE;

	return g->bytes > DT_HUGE_PAGE && rest > DT_HUGE_PAGE / 2 ? g->bytes - rest + DT_HUGE_PAGE
								  : g->bytes;
}

/*
 * Has the kernel make large pages of memory that nobody uses yet: they are there, mapped and given
 * back in a fraction of the time of as many small ones, and a forked child has one fault for each
 * where it would have 512. Where the kernel does not know this, or has none left, the rest is
 * small.
 */
static void take_huge_pages(char *memory, uint64_t bytes)
{
	/* of nothing at all it makes nothing (6.18) */
	for (uint64_t i = 0; i + DT_HUGE_PAGE <= bytes; i += DT_HUGE_PAGE)
		*(volatile char *)(memory + i) = 0;
	if (bytes >= DT_HUGE_PAGE)
		madvise(memory, bytes & ~(DT_HUGE_PAGE - 1), MADV_COLLAPSE);
}

/* Has all of the memory be there, so that nobody is killed by a signal who writes to it when there
 * is none left; and seals its size: a process that has it open could else take it away from all. */
static int fill_memory(int fd, char *memory, uint64_t bytes, struct dt_error *e)
{
	take_huge_pages(memory, bytes);
	if (fallocate(fd, 0, 0, (off_t)bytes) < 0)
		return dt_fail(e, "%lu KiB for the rings: %s; make them smaller (-b)",
			       (unsigned long)(bytes >> 10), strerror(errno));
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return dt_fail(e, "the memory for the rings can not be sealed: %s",
			       strerror(errno));
	return 0;
}

/* Opens memory without a name, which only we and processes that we let can reach, whatever its
 * mode. */
static int open_memory(uint64_t bytes, struct dt_error *e)
{
	int fd = memfd_create("devtrace", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return dt_fail(e, "no memory for the rings: %s", strerror(errno));
	if (ftruncate(fd, (off_t)bytes) == 0)
		return fd;
	dt_fail(e, "%lu KiB for the rings: %s; make %s", (unsigned long)(bytes >> 10),
		errno == EFBIG ? "more than a file may have here (ulimit -f)" : strerror(errno),
		errno == EFBIG ? "that larger, or them smaller (-b)" : "them smaller (-b)");
	close(fd);
	return -1;
}

/* Fails if the ring size is not valid, or more memory is needed than is free. */
static int check_size(uint64_t bytes, unsigned cores, uint64_t ring_size, struct dt_error *e)
{
	struct sysinfo info;
	uint64_t room;

	if (!dt_ring_size_is_valid(ring_size))
		return dt_fail(e, "a ring of %lu bytes: it must be a power of two from 64K to 1G",
			       (unsigned long)ring_size);
	/* before gigabytes are taken that no process could map */
	if (bytes >= 1ull << 31)
		return dt_fail(e,
			       "%u rings of %lu MiB need %lu MiB of addresses below 2 GiB, and no "
			       "process has so many: make them smaller (-b)",
			       cores + 1, (unsigned long)(ring_size >> 20),
			       (unsigned long)(bytes >> 20));
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
 * The list of robust futexes that the kernel goes through when the owner thread ends: the word
 * `owner' of each of the session's memories. The distance from a list element to its word is one
 * number for all, in the head. So each memory is mapped after a page that is ours alone and holds
 * the element. The thread's own list, libc's, is put back at the end.
 */
struct dt_owner {
	struct robust_list_head head;
	struct robust_list_head *before;
	size_t before_size;
	pid_t tid;
};

#define OWN_PAGE 4096u

/* Returns the memory's list element. */
static struct robust_list *element_of(const struct dt_shared *s)
{
	return (struct robust_list *)((char *)s->control - OWN_PAGE);
}

/* Makes the calling thread the owner, with an empty list. */
static struct dt_owner *begin_owning(const struct dt_shared *s, struct dt_error *e)
{
	struct dt_owner *o = calloc(1, sizeof(*o));

	if (!o) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	o->tid = gettid();
	o->head.list.next = &o->head.list;
	o->head.futex_offset = (char *)&s->control->owner - (char *)element_of(s);
	if (syscall(SYS_get_robust_list, 0, &o->before, &o->before_size) < 0 ||
	    syscall(SYS_set_robust_list, &o->head, sizeof(o->head)) < 0) {
		dt_fail(e, "the session can not be owned: %s", strerror(errno));
		free(o);
		return NULL;
	}
	return o;
}

static void end_owning(struct dt_owner *o)
{
	if (o->tid == gettid()) {
		syscall(SYS_set_robust_list, o->before, o->before_size);
		free(o);
	} else {
		/* the owner thread goes on, and the kernel reads the head when it ends: not freed
		 */
		o->head.list.next = &o->head.list;
	}
}

static void own(struct dt_shared *s, struct dt_owner *o)
{
	struct robust_list *element = element_of(s);

	element->next = o->head.list.next;
	o->head.list.next = element;
	s->owner = o;
	__atomic_store_n(&s->control->owner, (uint32_t)o->tid, __ATOMIC_SEQ_CST);
}

static void disown(struct dt_shared *s)
{
	struct robust_list **p = &s->owner->head.list.next, *element = element_of(s);

	__atomic_store_n(&s->control->owner, 0, __ATOMIC_SEQ_CST);
	while (*p != element)
		p = &(*p)->next;
	*p = element->next;
}

/*
 * Maps the memory, at a multiple of a large page, with a page of our own before it. Of large rings
 * a short recording only fills the beginning, so small pages are mapped when they are used
 * (fill_memory() has made them); a trial's all at once, so that no fault is in what it measures.
 */
static struct dt_control *map_memory(int fd, uint64_t bytes, struct dt_error *e)
{
	uint64_t room = bytes + 2 * DT_HUGE_PAGE;
	char *all = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at, *own;

	if (all == MAP_FAILED)
		goto fail;
	at = (char *)(((uintptr_t)all + 2 * DT_HUGE_PAGE - 1) & ~(uintptr_t)(DT_HUGE_PAGE - 1));
	own = at - OWN_PAGE;
	if (mmap(own, OWN_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED ||
	    mmap(at, bytes, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED | (bytes <= POPULATED ? MAP_POPULATE : 0), fd,
		 0) == MAP_FAILED) {
		munmap(all, room);
		goto fail;
	}
	/* what is around it is given back */
	munmap(all, (size_t)(own - all));
	at += (bytes + 4095) & ~4095ull;
	munmap(at, (size_t)(all + room - at));
	return (struct dt_control *)(own + OWN_PAGE);
fail:
	dt_fail(e, "%lu MiB for the rings can not be mapped: %s", (unsigned long)(bytes >> 20),
		strerror(errno));
	return NULL;
}

static void unmap_memory(struct dt_shared *s)
{
	munmap((char *)s->control - OWN_PAGE, OWN_PAGE + memory_size(&s->geometry));
	close(s->fd);
	s->control = NULL;
	s->fd = -1;
}

static int create(struct dt_shared *s, unsigned cores, uint64_t ring_size, enum dt_policy policy,
		  struct dt_error *e)
{
	struct dt_geometry g = dt_geometry(cores, ring_size);
	uint64_t bytes = memory_size(&g);
	struct dt_control *c;

	if (check_size(bytes, cores, ring_size, e) < 0)
		return -1;
	*s = (struct dt_shared){.fd = open_memory(bytes, e), .geometry = g, .policy = policy};
	if (s->fd < 0)
		return -1;
	s->control = c = map_memory(s->fd, bytes, e);
	if (!c) {
		close(s->fd);
		s->fd = -1;
		return -1;
	}
	if (fill_memory(s->fd, (char *)c, bytes, e) < 0) {
		unmap_memory(s);
		return -1;
	}
	c->magic = DT_SESSION_MAGIC;
	c->version = DT_SESSION_VERSION;
	c->geometry = g;
	c->policy = policy;
	c->controller = (uint32_t)getpid();
	return 0;
}

int dt_shared_create(struct dt_shared *s, unsigned cores, uint64_t ring_size, enum dt_policy policy,
		     struct dt_error *e)
{
	struct dt_owner *o;

	if (create(s, cores, ring_size, policy, e) < 0)
		return -1;
	o = begin_owning(s, e);
	if (!o) {
		unmap_memory(s);
		return -1;
	}
	own(s, o);
	return 0;
}

int dt_shared_create_like(struct dt_shared *s, const struct dt_shared *first, struct dt_error *e)
{
	if (create(s, first->geometry.cores, first->geometry.ring_size, first->policy, e) < 0)
		return -1;
	own(s, first->owner);
	dt_shared_set_careful(s, first->careful);
	dt_shared_set_uniform(s, first->uniform);
	dt_shared_set_all(s, first->all);
	dt_shared_set_watch(s, first->watch, first->watches);
	dt_shared_arm(s, &first->arm);
	return 0;
}

void dt_shared_join(struct dt_shared *first, struct dt_shared *s)
{
	while (first->next)
		first = first->next;
	__atomic_store_n(&first->next, s, __ATOMIC_RELEASE);
}

void dt_shared_destroy(struct dt_shared *s)
{
	struct dt_owner *o = s->owner;

	if (!s->control)
		return;
	disown(s);
	/* the list is empty when the first memory is destroyed, as the last one */
	if (o->head.list.next == &o->head.list)
		end_owning(o);
	unmap_memory(s);
}

/* ---- settings: the controller's copy, in *s, is the valid one */

void dt_shared_set_state(struct dt_shared *s, enum dt_state state)
{
	s->state = state;
	__atomic_store_n(&s->control->state, state, __ATOMIC_SEQ_CST);
}

void dt_shared_set_policy(struct dt_shared *s, enum dt_policy policy)
{
	s->policy = policy;
	__atomic_store_n(&s->control->policy, policy, __ATOMIC_SEQ_CST);
}

void dt_shared_set_careful(struct dt_shared *s, bool careful)
{
	s->careful = careful;
	__atomic_store_n(&s->control->careful, careful, __ATOMIC_SEQ_CST);
}

void dt_shared_set_uniform(struct dt_shared *s, bool uniform)
{
	s->uniform = uniform;
	__atomic_store_n(&s->control->uniform, uniform, __ATOMIC_RELAXED);
}

void dt_shared_set_all(struct dt_shared *s, bool all)
{
	s->all = all;
	__atomic_store_n(&s->control->all, all, __ATOMIC_RELAXED);
}

void dt_shared_set_watch(struct dt_shared *s, const uint32_t *id, size_t n)
{
	struct dt_control *c = s->control;

	if (n > DT_WATCH_MAX)
		n = DT_WATCH_MAX;
	if (n)
		memcpy(s->watch, id, n * sizeof(*id));
	s->watches = n;
	/* all are watched meanwhile: a half-written list could lack some that are in both lists */
	__atomic_store_n(&c->watches, 0, __ATOMIC_SEQ_CST);
	if (n)
		memcpy(c->watch, id, n * sizeof(*id));
	__atomic_store_n(&c->watches, (uint32_t)n, __ATOMIC_SEQ_CST);
}

void dt_shared_set_confined(struct dt_shared *s)
{
	s->confined = true;
	__atomic_store_n(&s->control->confined, 1, __ATOMIC_RELAXED);
}

bool dt_shared_confined(const struct dt_shared *s)
{
	return ONCE(s->control->confined) != 0;
}

/* ---- the bell */

void dt_shared_bells(struct dt_shared *first, struct dt_shared_bells *b)
{
	b->n = 0;
	dt_shared_each(first, m)
		b->count[b->n++] = __atomic_load_n(&m->control->bell, __ATOMIC_ACQUIRE);
}

void dt_shared_bell_ring(const struct dt_shared *s)
{
	uint32_t *bell = &s->control->bell;

	__atomic_add_fetch(bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, bell, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

void dt_shared_bells_wait(struct dt_shared *first, const struct dt_shared_bells *b,
			  const struct timespec *at_most)
{
	struct futex_waitv wait[DT_SHARED_MAX] = {{0}};
	struct timespec until;
	unsigned n = 0;

	if (!first->next) {
		if (b->n == 1)
			syscall(SYS_futex, &first->control->bell, FUTEX_WAIT, b->count[0], at_most,
				NULL, 0);
		return;
	}
	dt_shared_each(first, m) {
		if (n == b->n)
			return;
		wait[n] = (struct futex_waitv){.val = b->count[n],
					       .uaddr = (uintptr_t)&m->control->bell,
					       .flags = FUTEX_32};
		n++;
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += at_most->tv_sec;
	until.tv_nsec += at_most->tv_nsec;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	/* Linux before 5.16 can not wait for several: then the caller looks again soon */
	if (syscall(SYS_futex_waitv, wait, n, 0, &until, CLOCK_MONOTONIC) < 0 && errno == ENOSYS)
		nanosleep(at_most->tv_sec || at_most->tv_nsec > DEAF_NS
				  ? &(struct timespec){0, DEAF_NS}
				  : at_most,
			  NULL);
}

/* ---- triggers */

void dt_shared_arm(struct dt_shared *s, const struct dt_shared_arm *a)
{
	struct dt_control *c = s->control;

	s->arm = *a;
	c->arm_has = (a->has_start ? 1u : 0) | (a->has_stop ? 2u : 0);
	c->arm_start = a->start;
	c->arm_stop = a->stop;
}

enum dt_arm_state dt_shared_arm_state(const struct dt_shared *s)
{
	uint32_t state = __atomic_load_n(&s->control->arm_state, __ATOMIC_ACQUIRE);

	return state > DT_ARM_DONE ? DT_ARM_DONE : (enum dt_arm_state)state;
}

void dt_shared_arm_set(const struct dt_shared *s, enum dt_arm_state state, uint64_t begin)
{
	if (state == DT_ARM_RUNNING)
		__atomic_store_n(&s->control->arm_begin, begin, __ATOMIC_RELEASE);
	__atomic_store_n(&s->control->arm_state, state, __ATOMIC_SEQ_CST);
}

void dt_shared_arm_move(const struct dt_shared *s, enum dt_arm_state from, enum dt_arm_state to)
{
	uint32_t expected = from;

	__atomic_compare_exchange_n(&s->control->arm_state, &expected, to, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}

uint64_t dt_shared_arm_begin(const struct dt_shared *s)
{
	return __atomic_load_n(&s->control->arm_begin, __ATOMIC_ACQUIRE);
}

/* ---- messages */

enum dt_request_state dt_shared_request(const struct dt_shared *s, unsigned slot,
					struct dt_request *copy)
{
	struct dt_request *q = &s->control->request[slot];
	uint32_t state = __atomic_load_n(&q->state, __ATOMIC_ACQUIRE);

	if (state == DT_REQUEST_POSTED)
		*copy = *q; /* it may change at any time: only the copy is looked at */
	return state > DT_REQUEST_DONE ? DT_REQUEST_FILLING : (enum dt_request_state)state;
}

void dt_shared_request_done(const struct dt_shared *s, unsigned slot, bool waited)
{
	struct dt_request *q = &s->control->request[slot];
	uint32_t state = DT_REQUEST_POSTED;

	/* the poster may have given up, and another taken the slot */
	__atomic_compare_exchange_n(&q->state, &state, waited ? DT_REQUEST_DONE : DT_REQUEST_FREE,
				    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	syscall(SYS_futex, &q->state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void dt_shared_request_free(const struct dt_shared *s, unsigned slot)
{
	uint32_t state = DT_REQUEST_DONE;

	__atomic_compare_exchange_n(&s->control->request[slot].state, &state, DT_REQUEST_FREE,
				    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* ---- times in which threads were held, and where recording went on */

uint32_t dt_shared_helds(const struct dt_shared *s)
{
	return __atomic_load_n(&s->control->helds, __ATOMIC_ACQUIRE);
}

bool dt_shared_held_take(const struct dt_shared *s, unsigned slot, struct dt_held *copy)
{
	struct dt_held *h = &s->control->held[slot];

	if (__atomic_load_n(&h->state, __ATOMIC_ACQUIRE) != DT_REQUEST_POSTED)
		return false;
	*copy = *h;
	__atomic_store_n(&h->state, DT_REQUEST_FREE, __ATOMIC_RELEASE);
	return true;
}

uint32_t dt_shared_births(const struct dt_shared *s)
{
	return __atomic_load_n(&s->control->births, __ATOMIC_ACQUIRE);
}

bool dt_shared_birth_take(const struct dt_shared *s, unsigned slot, struct dt_birth *copy)
{
	struct dt_birth *b = &s->control->birth[slot];

	if (__atomic_load_n(&b->state, __ATOMIC_ACQUIRE) != DT_REQUEST_POSTED)
		return false;
	*copy = *b;
	__atomic_store_n(&b->state, DT_REQUEST_FREE, __ATOMIC_RELEASE);
	return true;
}

bool dt_shared_birth_told(const struct dt_shared *s, uint32_t tid)
{
	for (unsigned i = 0; i < DT_BIRTHS; i++) {
		const struct dt_birth *b = &s->control->birth[i];

		if (__atomic_load_n(&b->state, __ATOMIC_ACQUIRE) == DT_REQUEST_POSTED &&
		    ONCE(b->tid) == tid)
			return true;
	}
	return false;
}

uint32_t dt_shared_thaws(const struct dt_shared *s)
{
	return __atomic_load_n(&s->control->thaws, __ATOMIC_ACQUIRE);
}

bool dt_shared_thaw(const struct dt_shared *s, uint32_t number, struct dt_thaw *copy)
{
	struct dt_thaw *t = &s->control->thaw[number % DT_THAWS];

	copy->pos = __atomic_load_n(&t->pos, __ATOMIC_ACQUIRE);
	copy->number = __atomic_load_n(&t->number, __ATOMIC_ACQUIRE);
	copy->begin = __atomic_load_n(&t->begin, __ATOMIC_ACQUIRE);
	copy->end = __atomic_load_n(&t->end, __ATOMIC_ACQUIRE);
	copy->missed = __atomic_load_n(&t->missed, __ATOMIC_ACQUIRE);
	return copy->pos && copy->number == number &&
	       __atomic_load_n(&t->pos, __ATOMIC_ACQUIRE) == copy->pos--;
}

void dt_shared_thaw_note(const struct dt_shared *s, uint64_t pos)
{
	dt_ring_note_thaw(s->control, pos, dt_ticks());
}

uint64_t dt_shared_frozen_at(const struct dt_shared *s)
{
	return ONCE(s->control->frozen);
}

void dt_shared_frozen_set(const struct dt_shared *s)
{
	/* ordered: the clock is not read before recording is frozen */
	__atomic_store_n(&s->control->frozen, dt_ticks_ordered(), __ATOMIC_RELAXED);
}

/* ---- counts */

struct dt_shared_counts dt_shared_counts(const struct dt_shared *s)
{
	const struct dt_control *c = s->control;

	return (struct dt_shared_counts){
		.filtered_in = ONCE(c->filtered_in),
		.filtered_out = ONCE(c->filtered_out),
		.clockless_in = ONCE(c->clockless_in),
		.clockless_out = ONCE(c->clockless_out),
		.unsent = ONCE(c->unsent),
		.missed = ONCE(c->missed),
		.held_missed = ONCE(c->held_missed),
		.held_missed_ticks = ONCE(c->held_missed_ticks),
		.births_missed = ONCE(c->births_missed),
	};
}

void dt_shared_count_unsent(const struct dt_shared *s)
{
	__atomic_add_fetch(&s->control->unsent, 1, __ATOMIC_RELAXED);
}

static struct dt_ring *ring_at(const struct dt_shared *s, unsigned ring)
{
	return dt_ring_at(s->control, s->geometry.stride, ring);
}

struct dt_shared_ring_counts dt_shared_ring_counts(const struct dt_shared *s, unsigned ring)
{
	const struct dt_ring *r = ring_at(s, ring);

	return (struct dt_shared_ring_counts){
		.pos = __atomic_load_n(&r->pos, __ATOMIC_ACQUIRE),
		.dropped = __atomic_load_n(&r->dropped, __ATOMIC_ACQUIRE),
		.lost_in = ONCE(r->lost_in),
		.lost_out = ONCE(r->lost_out),
		.stalls = ONCE(r->stalls),
	};
}

uint64_t dt_shared_ring_pos(const struct dt_shared *s, unsigned ring)
{
	return __atomic_load_n(&ring_at(s, ring)->pos, __ATOMIC_ACQUIRE);
}

struct dt_record dt_shared_ring_record(const struct dt_shared *s, unsigned ring, uint64_t pos)
{
	return dt_ring_records(ring_at(s, ring))[(pos & (s->geometry.ring_size - 1)) / 64];
}

/* ---- in a process */

bool dt_shared_mapped(const struct dt_shared *s, const struct dt_maps *maps)
{
	struct stat own;

	if (fstat(s->fd, &own) < 0)
		return false;
	for (size_t i = 0; i < maps->n; i++)
		if (maps->map[i].shared && maps->map[i].inode == own.st_ino &&
		    maps->map[i].dev_major == major(own.st_dev) &&
		    maps->map[i].dev_minor == minor(own.st_dev))
			return true;
	return false;
}

bool dt_shared_old(int mem, uint64_t address, struct dt_shared_old *old)
{
	struct dt_control c;
	uint32_t cores;
	uint64_t ring_size;

	if (dt_memory_read(mem, address, &c, offsetof(struct dt_control, request)) < 0 ||
	    c.magic != DT_SESSION_MAGIC)
		return false;
	cores = c.geometry.cores;
	ring_size = c.geometry.ring_size;
	*old = (struct dt_shared_old){
		.lives = c.owner && !(c.owner & FUTEX_OWNER_DIED),
		.controller = c.controller,
		.fits = c.version == DT_SESSION_VERSION && cores <= DT_CORES_MAX &&
			dt_ring_size_is_valid(ring_size),
	};
	if (old->fits)
		old->geometry = dt_geometry(cores, ring_size);
	return true;
}
