/* SPDX-License-Identifier: MIT */
/*
 * The shared memory of a session: one control block, then one ring per core, then the shared ring.
 * Mapped by the controller and by every traced process.
 *
 * Every traced process can write all of it, as it likes. So what decides (geometry, policy, state)
 * the controller has in memory of its own, struct dt_shared, and what it writes here is for the
 * others; of what it must read here each word is read once and checked. No pointers, nothing of
 * libc's.
 *
 * Only those include this who are in the traced process (arch/x86_64/target/slow.c) and the two
 * files through which the controller looks at it: hook/shared.c, and session/rings.c for the rings.
 * To all others the two structures are names. test/lint/shared.t sees to that.
 *
 * Who writes what is said at each field. x86-64's store order is relied on by the append; the
 * controller and the slow path use the compiler's __atomic builtins.
 */
#ifndef DT_CORE_CONTROL_H
#define DT_CORE_CONTROL_H

#include "core/ring.h"

struct dt_ring {
	/* Line 0: read and written by every append of this core. */
	uint64_t pos;	/* bytes committed. Writer: the append, one plain store in its rseq; in the
			 * shared ring: bytes reserved, by locked compare-and-swap */
	uint64_t limit; /* appends at pos >= limit take the slow path. Writer: the controller, and
			 * the slow path from `soft' to `hard' by compare-and-swap. In the shared
			 * ring DT_FROZEN may be set: recording freezes when pos is there; pos and
			 * limit are then changed together, by a 16-byte compare-and-swap */
	uint64_t pad0[6];
	/* Line 1: the slow path and the controller. */
	uint64_t hard;	  /* pos can not go beyond: read + size. Writer: the controller; and a slow
			   * path that has seen in `lost' where it is about to move to, by
			   * compare-and-swap */
	uint64_t read;	  /* bytes the reader has taken. Writer: the controller */
	uint64_t lost;	  /* records not kept because the ring was full, and where: see below.
			   * Writers: slow path by compare-and-swap, controller by exchange */
	uint64_t dropped; /* all of them since the session began: nobody takes them away. Slow path,
			   * in one 16-byte compare-and-swap with `lost', so that a writer that is
			   * killed has counted in both or in none */
	uint32_t wake;	  /* futex: the controller adds 1 when it made room */
	uint32_t waiters; /* slow paths waiting on `wake'; locked add */
	uint64_t stalls;  /* how often a slow path had to wait; locked add */
	uint64_t lost_in, lost_out; /* entries and exits among `lost'; locked add */
	/* Line 2: the controller only. */
	uint64_t lost_before; /* lost before a pause */
	uint64_t pad1[7];
};

/*
 * dt_ring.lost: the low bits count what was lost while `hard' stood where it does, in front of the
 * record there; the high ones are the low bits of hard / 64. So a loss is counted only if the ring
 * is still full in that very moment. To move hard, the controller first exchanges this word for the
 * new place and no losses. Between the two, whoever finds the ring full moves hard on himself.
 */
#define DT_LOST_BITS	    39
#define DT_LOST_MAX	    ((1ull << DT_LOST_BITS) - 1) /* it counts no further */
#define DT_LOST_COUNT(lost) ((lost)&DT_LOST_MAX)
#define DT_LOST_AT(hard)    ((hard) / 64 << DT_LOST_BITS)
/* bytes that hard is to be moved on; a ring has fewer than the 2^31 this can tell */
#define DT_LOST_AHEAD(lost, hard) (((lost)-DT_LOST_AT(hard)) >> DT_LOST_BITS << 6)

struct dt_control {
	uint64_t magic;
	uint32_t version;
	uint32_t policy; /* enum dt_policy; writer: the controller */
	/* for the controller that finds this when its own has died; writer: the controller */
	struct dt_geometry geometry;
	uint32_t state; /* enum dt_state; written by the controller; and set to DT_STOPPED by a
			 * slow path that finds the controller dead */
	uint32_t bell;	/* futex: traced threads add 1 and wake the controller */
	uint32_t requests_full; /* requests that found no free slot; locked add */
	uint32_t controller;	/* process id of the controller */
	uint32_t proofs;	/* of requests, the last one given; locked add */
	/*
	 * A robust futex: the thread id of the controller's owner thread. When that thread dies,
	 * however it dies, the kernel sets FUTEX_OWNER_DIED here, so no traced thread ever waits
	 * for a controller that is gone. The list that the kernel finds it by is in the
	 * controller's memory.
	 */
	uint32_t owner;
	uint32_t pad[2];
	struct dt_request request[DT_REQUESTS];
	/*
	 * Sessions that look at each event: every append takes the slow path, which looks its pc up
	 * and appends to the shared ring. Writer: the controller, but where said.
	 */
	uint32_t careful;
	uint32_t uniform; /* sites that are not in the table are on, but not recorded */
	uint32_t all;	  /* whatever is watched */
	uint32_t watches; /* how many of watch[] count; 0: all are watched */
	/* events that hit an enabled range and were not recorded (not watched, only counted):
	 * entries, exits. Slow path, locked add */
	uint64_t filtered_in, filtered_out;
	uint32_t arm_state; /* enum dt_arm_state; the slow path by compare-and-swap */
	uint32_t arm_has;   /* 1: a start event, 2: a stop event */
	uint64_t arm_start, arm_stop;
	uint64_t arm_begin;	      /* ticks of the start event; written by the slow path */
	uint32_t watch[DT_WATCH_MAX]; /* processes and threads, sorted */
	uint64_t frozen; /* ticks at which the controller froze; 0: it did not. Whoever thaws clears
			  */
	uint64_t missed; /* events that came while recording was frozen; slow path, locked add */
	uint32_t thaws; /* how often it went on, ever; locked add. The n-th is thaw[n % DT_THAWS] */
	uint32_t pad2;
	struct dt_thaw thaw[DT_THAWS];
	/* threads; the counts by locked add. helds: how many have been posted */
	uint32_t helds, held_missed;
	uint64_t held_missed_ticks;
	struct dt_held held[DT_HELDS];
	/* entries and exits of threads that have forbidden themselves to read the clock, which can
	 * not be recorded; messages of processes that allow themselves no system calls, which are
	 * not sent. Slow path, locked add */
	uint64_t clockless_in, clockless_out, unsent;
	uint32_t confined; /* there is such a process, and its bell is not heard. Slow path,
			      controller */
	uint32_t pad3;
};

_Static_assert(sizeof(struct dt_ring) == 192, "three cache lines");
_Static_assert(offsetof(struct dt_ring, lost) % 16 == 0 &&
		       offsetof(struct dt_ring, dropped) == offsetof(struct dt_ring, lost) + 8,
	       "changed together");
_Static_assert(sizeof(struct dt_control) <= DT_CONTROL_SIZE, "control block fits");

/* Ring i of a session mapped at `control'; i == cores: the shared ring. */
static inline struct dt_ring *dt_ring_at(struct dt_control *control, uint64_t stride, unsigned i)
{
	return (struct dt_ring *)((char *)control + DT_CONTROL_SIZE + i * stride);
}

/* Notes that recording goes on with the record at pos; before that record can be read. */
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

static inline struct dt_record *dt_ring_records(struct dt_ring *r)
{
	return (struct dt_record *)((char *)r + DT_RING_HEAD);
}

/*
 * The shared ring has a mark per slot behind its records. Bit 0 set: being written by the thread
 * in bits 1-23 (all set: it is not known, or only in another PID namespace), for position bits
 * 24-63 (in records); bit 0 clear and bit 1 set: committed.
 */
static inline uint64_t *dt_ring_marks(struct dt_ring *r, uint64_t ring_size)
{
	return (uint64_t *)((char *)r + DT_RING_HEAD + ring_size);
}

#define DT_MARK_BUSY(index, tid)                                                                   \
	((index) << 24 | (uint64_t)((tid) > 0x3fffff ? 0x3fffff : (tid)) << 1 | 1)
#define DT_MARK_DONE(index) ((index) << 24 | 2)
#define DT_MARK_INDEX(mark) ((mark) >> 24)
/* Is it of a later record than index? They are less than 2^39 apart. */
#define DT_MARK_AHEAD(mark, index) ((int64_t)(((mark) >> 24 << 24) - ((index) << 24)) > 0)

#endif
