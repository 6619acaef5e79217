/* SPDX-License-Identifier: MIT */
/*
 * The shared memory of a session: one control block, then one ring per core, then the shared ring.
 * Mapped by the controller and by every traced process. All positions count bytes since the
 * session began and only grow; a record's place is position & mask.
 *
 * Every traced process can write all of it, as it likes. So what decides (geometry, policy, state) the
 * controller has in memory of its own, struct dt_shared, and what it writes here is for the others; of what it
 * must read here each word is read once and checked. No pointers, nothing of libc's.
 *
 * Who writes what is said at each field. x86-64's store order is relied on by the append; the
 * controller and the slow path use the compiler's __atomic builtins.
 */
#ifndef DT_CORE_RING_H
#define DT_CORE_RING_H

#include "core/record.h"

#define DT_SESSION_MAGIC 0x7472616365763164ull
#define DT_SESSION_VERSION 3 /* of the layout of what is shared */
#define DT_CONTROL_SIZE 0x20000u /* bytes kept for struct dt_control at the start */
#define DT_RING_HEAD 4096u	 /* bytes of struct dt_ring in front of a ring's records */
#define DT_NO_LIMIT (1ull << 62)
#define DT_FROZEN 1ull /* in a limit: it is where recording freezes, and nobody moves it for room */

enum dt_policy {
	DT_OVERWRITE, /* newest records win: a flight recorder */
	DT_DROP,      /* oldest records win: what does not fit is counted, not kept */
	DT_WAIT,      /* lossless: the writer waits for the reader */
};

enum dt_state {
	DT_STOPPED, /* for good: the session is ending, or its controller has died */
	DT_RECORDING,
	DT_PAUSED, /* nothing is recorded, but processes and modules are followed */
};

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
 * record there; the high ones are the low bits of hard / 64. So a loss is counted only if the ring is
 * still full in that very moment. To move hard, the controller first exchanges this word for the new
 * place and no losses. Between the two, whoever finds the ring full moves hard on himself.
 */
#define DT_LOST_BITS	  39
#define DT_LOST_MAX	  ((1ull << DT_LOST_BITS) - 1) /* it counts no further */
#define DT_LOST_COUNT(lost) ((lost) & DT_LOST_MAX)
#define DT_LOST_AT(hard)  ((hard) / 64 << DT_LOST_BITS)
/* bytes that hard is to be moved on; a ring has fewer than the 2^31 this can tell */
#define DT_LOST_AHEAD(lost, hard) (((lost)-DT_LOST_AT(hard)) >> DT_LOST_BITS << 6)

/* A message from a traced process to the controller. */
enum dt_request_kind {
	DT_REQUEST_PROCESS = 1, /* a forked child recorded its first event; not waited for */
	DT_REQUEST_MODULES,	/* the dynamic linker's list of modules changed */
	DT_REQUEST_EXEC,	/* about to execve */
	DT_REQUEST_EXEC_FAILED, /* that execve returned */
	DT_REQUEST_OPT_OUT,	/* the process wants nothing recorded any more */
};

enum dt_request_state {
	DT_REQUEST_FREE,
	DT_REQUEST_FILLING,
	DT_REQUEST_POSTED,
	DT_REQUEST_DONE, /* the controller has dealt with it; the poster frees the slot */
};

#define DT_REQUESTS 256u
#define DT_WATCH_MAX 4096u

/* Barrelfish's triggers. NONE -> ARMED (controller) -> STARTING -> RUNNING (start event) -> DONE. */
enum dt_arm_state {
	DT_ARM_NONE,
	DT_ARM_ARMED,	/* frozen until the start event */
	DT_ARM_STARTING, /* it is there, but may not have been recorded yet */
	DT_ARM_RUNNING, /* until the stop event, or the end */
	DT_ARM_DONE,	/* frozen again */
};

/*
 * What is to happen at the sites in [start, end], for sessions that look at each event. A table of
 * these is in every traced process, sorted, for its own addresses: struct dt_table.
 */
struct dt_table_entry {
	uint64_t start, end;
	uint32_t what; /* DT_DO_... (core/device.h) */
	uint32_t pid;  /* of DT_DO_ONLYPID */
	uint64_t late; /* of DT_DO_LATEFREEZE */
	uint64_t constant;
};

#define DT_TABLE_SIZE (1u << 20) /* bytes kept for a table */
#define DT_TABLE_MAX ((DT_TABLE_SIZE - 16) / sizeof(struct dt_table_entry))

/* Writer: the controller, with seq odd while it writes; readers begin again when seq has changed. */
struct dt_table {
	uint32_t seq, n;
	uint64_t pad;
	struct dt_table_entry entry[];
};

/* Where recording went on after it was frozen. Writer: whoever thaws; pos last, 0 while it writes. */
#define DT_THAWS 512u

struct dt_thaw {
	uint64_t pos;	 /* in the shared ring, of the first record behind, plus one; 0: none */
	uint64_t begin;	 /* ticks at which it was frozen by a command; 0: by the record before */
	uint64_t end;	 /* ticks at which it went on */
	uint64_t missed; /* dt_control.missed then */
	uint64_t number; /* which it is of dt_control.thaws, from 0 on */
};

struct dt_request {
	uint32_t state; /* futex. FREE -> FILLING (poster, cas) -> POSTED (poster) -> DONE
			 * (controller) -> FREE (poster, or the controller when nobody waits) */
	uint32_t kind;
	uint32_t pid, tid, ppid; /* as the poster knows them, in its PID namespace */
	uint32_t waited; /* the poster waits for DONE */
	uint64_t area;	 /* where the poster's area begins */
	uint64_t fs;	 /* the poster's thread pointer, 0 when it has none yet */
	uint64_t path;	 /* EXEC: address of the new image's name... */
	int32_t dirfd;	 /* ...and what it is relative to, -1: the working directory */
	uint32_t proof; /* stands in the poster's own memory, too: struct dt_process_block */
	uint64_t pad2;
};

/*
 * A time in which a thread could not go on because of us: told by the thread when it goes on, in a free
 * place of dt_control.held. Whoever finds none counts it in held_missed.
 */
#define DT_HELDS 1024u

enum dt_held_why {
	DT_HELD_ROOM = 1, /* for room in a ring, or ringing the bell for it */
	DT_HELD_MODULES,  /* until what was loaded is hooked */
	DT_HELD_EXEC,	  /* around an execve */
	DT_HELD_FORK,	  /* until what is not to be recorded in a child is off */
	DT_HELD_STOP,	  /* stopped by the controller, which planted or took away */
	DT_HELD_WHYS,
};

struct dt_held {
	uint32_t state; /* FREE -> FILLING (thread, cas) -> POSTED (thread) -> FREE (controller) */
	uint32_t tid;
	uint32_t why; /* enum dt_held_why */
	uint16_t core_begin, core_end;
	uint64_t begin, end; /* ticks, by the clocks of those cores */
};

/* Where things are in the shared memory. */
struct dt_geometry {
	uint32_t cores;	    /* rings, without the shared one */
	uint32_t pad;
	uint64_t ring_size; /* bytes of records in a ring, a power of two */
	uint64_t stride;    /* from one ring's head to the next */
	uint64_t bytes;	    /* of the whole shared memory */
};

#define DT_CORES_MAX 65535u
/* bytes a ring can have: a power of two in these bounds */
#define DT_RING_MIN (64u << 10)
#define DT_RING_MAX (1u << 30)

static inline bool dt_ring_size_is_valid(uint64_t bytes)
{
	return bytes >= DT_RING_MIN && bytes <= DT_RING_MAX && !(bytes & (bytes - 1));
}

static inline struct dt_geometry dt_geometry(uint32_t cores, uint64_t ring_size)
{
	/* the shared ring has its marks behind the records; all rings are given that room */
	uint64_t stride = DT_RING_HEAD + ((ring_size + ring_size / 8 + 4095) & ~4095ull);

	return (struct dt_geometry){cores, 0, ring_size, stride, DT_CONTROL_SIZE + (cores + 1ull) * stride};
}

struct dt_control {
	uint64_t magic;
	uint32_t version;
	uint32_t policy; /* enum dt_policy; writer: the controller */
	/* for the controller that finds this when its own has died; writer: the controller */
	struct dt_geometry geometry;
	uint32_t state; /* enum dt_state; written by the controller; and set to DT_STOPPED by a
			 * slow path that finds the controller dead */
	uint32_t bell; /* futex: traced threads add 1 and wake the controller */
	uint32_t requests_full; /* requests that found no free slot; locked add */
	uint32_t controller;	/* process id of the controller */
	uint32_t proofs; /* of requests, the last one given; locked add */
	/*
	 * A robust futex: the thread id of the controller's owner thread. When that thread dies, however
	 * it dies, the kernel sets FUTEX_OWNER_DIED here, so no traced thread ever waits for a
	 * controller that is gone. The list that the kernel finds it by is in the controller's memory.
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
	uint64_t arm_duration;	    /* ticks, 0: no end */
	uint64_t arm_begin;	    /* ticks of the start event; written by the slow path */
	uint32_t watch[DT_WATCH_MAX]; /* processes and threads, sorted */
	uint64_t frozen; /* ticks at which the controller froze; 0: it did not. Whoever thaws clears */
	uint64_t missed; /* events that came while recording was frozen; slow path, locked add */
	uint32_t thaws;	 /* how often it went on, ever; locked add. The n-th is thaw[n % DT_THAWS] */
	uint32_t pad2;
	struct dt_thaw thaw[DT_THAWS];
	/* threads; the counts by locked add. helds: how many have been posted */
	uint32_t helds, held_missed;
	uint64_t held_missed_ticks;
	struct dt_held held[DT_HELDS];
	/* entries and exits of threads that have forbidden themselves to read the clock, which can not
	 * be recorded; messages of processes that allow themselves no system calls, which are not sent.
	 * Slow path, locked add */
	uint64_t clockless_in, clockless_out, unsent;
	uint32_t confined; /* there is such a process, and its bell is not heard. Slow path, controller */
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
	__atomic_store_n(&t->missed, __atomic_load_n(&c->missed, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
	__atomic_store_n(&t->pos, pos + 1, __ATOMIC_RELEASE);
}

static inline struct dt_record *dt_ring_records(struct dt_ring *r)
{
	return (struct dt_record *)((char *)r + DT_RING_HEAD);
}

/*
 * The shared ring has a mark per slot behind its records. Bit 0 set: being written by the thread
 * in bits 1-23 (all set: it is not known, or only in another PID namespace), for position bits 24-63 (in
 * records); bit 0 clear and bit 1 set: committed.
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
