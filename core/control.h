/* SPDX-License-Identifier: MIT */
/*
 * The shared memory of a session: one control block, then one ring per core, then the shared ring.
 * The controller and every traced process map it.
 *
 * Every traced process can write anything anywhere in it. So the controller keeps what it relies on
 * (geometry, policy, state) in memory of its own, struct dt_shared, and writes it here only for the
 * others to read; each word that the controller must read here is read once and checked. It holds
 * no pointers and nothing of libc's.
 *
 * This header is included only by code that runs in the traced process (target/) and by the two
 * files through which the controller accesses the memory: hook/shared.c, and
 * session/rings.c for the rings. For all other code the two structures are incomplete types.
 * test/lint/shared.t checks this.
 *
 * Each field's remark says which side writes it. The append relies on x86-64's store order, and has
 * an acquiring load and a releasing store on aarch64 (test/litmus/); the controller and the slow
 * path use the compiler's __atomic builtins.
 */
#ifndef DT_CORE_CONTROL_H
#define DT_CORE_CONTROL_H

#include "core/ring.h"

/* The head of a ring. */
struct dt_ring {
	/* Cache line 0: read and written by every append of this core. */
	uint64_t pos; /* bytes committed. Writer: the append, by one plain store in its rseq. In the
			 shared ring: bytes reserved, by locked compare-and-swap */
	uint64_t limit; /* appends at pos >= limit take the slow path. Writer: the controller, and
			   the slow path, which moves it up to `hard' by compare-and-swap. In the
			   shared ring DT_FROZEN may be set: recording freezes when pos gets there;
			   pos and limit are then changed together, by a 16-byte compare-and-swap */
	uint64_t pad0[6];
	/* Cache line 1: used by the slow path and the controller. */
	uint64_t hard; /* pos can not go beyond this: read + size. Writers: the controller; and, by
			  compare-and-swap, a slow path that has seen in `lost' where the controller
			  is about to move it */
	uint64_t read; /* bytes the reader has taken. Writer: the controller */
	uint64_t lost; /* how many records were not kept because the ring was full, and at which
			  `hard': see below. Writers: slow path by compare-and-swap, controller by
			  exchange */
	uint64_t dropped; /* all records lost since the session began; never reset. Writer: the slow
			     path, in one 16-byte compare-and-swap with `lost', so that a writer
			     that is killed has counted in both or in neither */
	uint32_t wake;	  /* futex: the controller adds 1 when it has made room */
	uint32_t waiters; /* threads that wait on `wake' in the slow path; locked add */
	uint64_t stalls;  /* how often a thread had to wait in the slow path; locked add */
	uint64_t lost_in, lost_out; /* entries and exits among `lost'; locked add */
	/* Cache line 2: used by the controller only. */
	uint64_t lost_before; /* records lost before a pause */
	uint64_t pad1[7];
};

/*
 * dt_ring.lost: the low bits count the records lost at the present value of `hard', that is, before
 * the record at that position; the high bits are the low bits of hard / 64. So a loss is counted
 * only if the ring is still full at that very moment. To move hard, the controller first exchanges
 * this word for the new position with a count of 0. A slow path that finds the ring full between
 * these two steps moves hard itself.
 */
#define DT_LOST_BITS	    39
#define DT_LOST_MAX	    ((1ull << DT_LOST_BITS) - 1) /* the count stops here */
#define DT_LOST_COUNT(lost) ((lost)&DT_LOST_MAX)
#define DT_LOST_AT(hard)    ((hard) / 64 << DT_LOST_BITS)
/*
 * bytes by which hard is about to be moved. A ring has fewer than the 2^31 bytes that this can
 * express
 */
#define DT_LOST_AHEAD(lost, hard) (((lost)-DT_LOST_AT(hard)) >> DT_LOST_BITS << 6)

/* The control block, at the beginning of the shared memory. */
struct dt_control {
	uint64_t magic;
	uint32_t version;
	uint32_t policy; /* enum dt_policy; writer: the controller */
	/*
	 * for a later controller that finds this memory after the first has died; writer: the
	 * controller
	 */
	struct dt_geometry geometry;
	uint32_t state; /* enum dt_state; writers: the controller, and a slow path that finds the
			   controller dead and sets DT_STOPPED */
	uint32_t bell;	/* futex: traced threads add 1 and wake the controller */
	uint32_t requests_full; /* requests that found no free slot; locked add */
	uint32_t controller;	/* process id of the controller */
	uint32_t proofs;	/* the last dt_request.proof that was given out; locked add */
	/*
	 * A robust futex: the thread id of the controller's owner thread. When that thread dies, in
	 * whatever way, the kernel sets FUTEX_OWNER_DIED here, so no traced thread ever waits for a
	 * controller that is gone. The list through which the kernel finds this word is in the
	 * controller's memory.
	 */
	uint32_t owner;
	uint32_t pad[2];
	struct dt_request request[DT_REQUESTS];
	/*
	 * 1 in sessions that look at each event: every append takes the slow path, which looks its
	 * pc up and appends to the shared ring. Writer of this and the following fields: the
	 * controller, unless their remarks name another.
	 */
	uint32_t careful;
	uint32_t uniform; /* 1: sites that are not in the table are switched on, but not recorded */
	uint32_t all;	  /* 1: every thread is recorded, whatever watch[] says */
	uint32_t watches; /* entries of watch[] in use; 0: all threads are watched */
	/* entries and exits that hit an enabled range but were not recorded, because the thread is
	 * not watched or the range only counts. Writer: the slow path, by locked add */
	uint64_t filtered_in, filtered_out;
	uint32_t arm_state; /* enum dt_arm_state; the slow path changes it by compare-and-swap */
	uint32_t arm_has;   /* bit 0: there is a start event, bit 1: there is a stop event */
	uint64_t arm_start, arm_stop;
	uint64_t arm_begin;	      /* ticks of the start event; written by the slow path */
	uint32_t watch[DT_WATCH_MAX]; /* processes and threads, sorted */
	uint64_t frozen; /* ticks at which the controller froze recording; 0: it did not. The side
			    that resumes recording clears it */
	uint64_t missed; /* events that occurred while recording was frozen. Writer: the slow path,
			    by locked add */
	uint32_t thaws;	 /* how often recording has gone on after a freeze; locked add. The n-th
			    time, from 0, is in thaw[n % DT_THAWS] */
	uint32_t pad2;
	struct dt_thaw thaw[DT_THAWS];
	/*
	 * Times for which threads were held up. helds: how many have been posted, or just are
	 * being; held_missed, held_missed_ticks: how many found no free place, and their ticks.
	 * Writers: the threads, the counts by locked add.
	 */
	uint32_t helds, held_missed;
	uint64_t held_missed_ticks;
	struct dt_held held[DT_HELDS];
	/* births: as helds; births_missed: how many have not. Writers: the
	 * threads, by locked add. */
	uint32_t births, births_missed;
	struct dt_birth birth[DT_BIRTHS];
	/* clockless_*: entries and exits that can not be recorded because their thread has
	 * forbidden itself to read the clock. unsent: messages not sent because their process
	 * allows itself no system calls. Writer: the slow path, by locked add. */
	uint64_t clockless_in, clockless_out, unsent;
	uint32_t confined; /* 1: there is a process without system calls, which can not ring the
			      bell. Writers: the slow path, the controller */
	uint32_t pad3;
};

_Static_assert(sizeof(struct dt_ring) == 192, "three cache lines");
_Static_assert(offsetof(struct dt_ring, lost) % 16 == 0 &&
		       offsetof(struct dt_ring, dropped) == offsetof(struct dt_ring, lost) + 8,
	       "changed together");
_Static_assert(sizeof(struct dt_control) <= DT_CONTROL_SIZE, "control block fits");

/* Returns ring i of a session that is mapped at `control'; i == cores is the shared ring. */
static inline struct dt_ring *dt_ring_at(struct dt_control *control, uint64_t stride, unsigned i)
{
	return (struct dt_ring *)((char *)control + DT_CONTROL_SIZE + i * stride);
}

/*
 * Notes that recording goes on with the record at pos. It is called before that record can be read.
 */
static inline void dt_ring_note_thaw(struct dt_control *c, uint64_t pos, uint64_t ticks)
{
	uint64_t begin = __atomic_exchange_n(&c->frozen, 0, __ATOMIC_RELAXED);
	uint32_t number = __atomic_fetch_add(&c->thaws, 1, __ATOMIC_RELAXED);
	struct dt_thaw *t = &c->thaw[number % DT_THAWS];

	__atomic_store_n(&t->pos, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&t->number, number, __ATOMIC_RELEASE);
	__atomic_store_n(&t->begin, begin, __ATOMIC_RELEASE);
	__atomic_store_n(&t->end, ticks, __ATOMIC_RELEASE);
	__atomic_store_n(&t->missed, __atomic_load_n(&c->missed, __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&t->pos, pos + 1, __ATOMIC_RELEASE);
}

/* Returns the ring's first record. */
static inline struct dt_record *dt_ring_records(struct dt_ring *r)
{
	return (struct dt_record *)((char *)r + DT_RING_HEAD);
}

/*
 * Returns the marks of the shared ring, which follow its records: one per slot. Bit 0 set: the
 * thread in bits 1-22 (all set: it is not known, or only in another PID namespace) is writing the
 * record whose position, counted in records, is in bits 24-63. Bit 0 clear and bit 1 set: that
 * record is committed.
 */
static inline uint64_t *dt_ring_marks(struct dt_ring *r, uint64_t ring_size)
{
	return (uint64_t *)((char *)r + DT_RING_HEAD + ring_size);
}

#define DT_MARK_BUSY(index, tid)                                                                   \
	((index) << 24 | (uint64_t)((tid) > 0x3fffff ? 0x3fffff : (tid)) << 1 | 1)
#define DT_MARK_DONE(index) ((index) << 24 | 2)
#define DT_MARK_INDEX(mark) ((mark) >> 24)
/* Is the mark of a later record than index? The two are less than 2^39 records apart. */
#define DT_MARK_AHEAD(mark, index) ((int64_t)(((mark) >> 24 << 24) - ((index) << 24)) > 0)

#endif
