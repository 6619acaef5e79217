/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A ring of records for each core. Records are appended from any context of the core (process,
 * softirq, hardirq, NMI) without a lock: a place is taken by one compare-and-swap without a lock
 * prefix, which nothing on the same core can interrupt. An append that interrupts another one has
 * always ended when that goes on; the outermost append makes all that was appended visible to
 * readers.
 */
#ifndef DT_KERNEL_RING_H
#define DT_KERNEL_RING_H

#include <linux/percpu.h>
#include <linux/types.h>
#include <asm/msr.h>

struct vm_area_struct;

#include "core/error.h"
#include "core/record.h"

#define DT_NEST_MAX 16 /* process, softirq, hardirq, NMI, and exceptions inside each of them */

/* The ring of one core. All positions count bytes since the ring was made, and only grow. */
struct dt_core {
	/* written by appends of this core only, except for limit */
	u64 pos;   /* places below this are taken */
	u64 limit; /* no place is taken from here on. Writer: the readers' side */
	u64 mask;
	char *records;
	u64 commit; /* everything below this is written; readers read up to here */
	u32 nest;   /* appends under way */
	/* entries and exits that were hit while recording was on, recorded or not */
	u64 in, out;
	u64 left; /* how many of those were not to be recorded: of a reader, not watched, COUNT,
		     frozen */
	u64 lost; /* records that found no place */
	u64 lost_exits; /* exits that could not be hooked because no node was free */
	u64 lost_nest;	/* hits nested deeper than DT_NEST_MAX */
	/* written by the readers' side, under dt_rings_lock */
	/*
	 * read: position up to which records have been read; overrun: records overwritten before
	 * that
	 */
	u64 read, overrun;
} ____cacheline_aligned;

DECLARE_PER_CPU(struct dt_core, dt_core);

/*
 * dt_begin() and dt_end() enclose all that a hook does, with preemption off. dt_begin() returns
 * false if too many hooks are under way on this core already, which only a hook that calls itself
 * can bring about; that is counted, and the hook must do nothing, not even call dt_end().
 */
static __always_inline bool dt_begin(struct dt_core *c)
{
	if (unlikely(c->nest >= DT_NEST_MAX)) {
		asm volatile("incq %0" : "+m"(c->lost_nest));
		return false;
	}
	c->nest++;
	barrier();
	return true;
}

static __always_inline void dt_end(struct dt_core *c)
{
	u64 pos;

	barrier();
	if (--c->nest)
		return;
	/* an append that comes in between commits its own position, which must not be undone */
	do {
		barrier();
		pos = READ_ONCE(c->pos);
		WRITE_ONCE(c->commit, pos);
		barrier();
	} while (unlikely(pos != READ_ONCE(c->pos)));
}

/*
 * Takes a place for one record, and its time, between dt_begin() and dt_end(). Returns false if
 * there is no place, which is counted. The clock is read after the position has been read and
 * before the place is taken: an append that comes in between, and so is earlier in the ring, makes
 * the taking fail, and the clock is read again. So places are in the order of time.
 */
static __always_inline bool dt_reserve(struct dt_core *c, struct dt_record **r, u64 *ticks)
{
	u64 pos = READ_ONCE(c->pos), now, found;
	bool taken;

	for (;;) {
		if (unlikely(pos >= READ_ONCE(c->limit))) {
			asm volatile("incq %0" : "+m"(c->lost));
			return false;
		}
		now = rdtsc();
		found = pos;
		asm volatile("cmpxchgq %3, %1"
			     : "+a"(found), "+m"(c->pos), "=@ccz"(taken)
			     : "r"(pos + 64)
			     : "memory");
		if (likely(taken))
			break;
		pos = found;
	}
	*ticks = now;
	*r = (struct dt_record *)(c->records + (pos & c->mask));
	return true;
}

/*
 * Adds 1 to a counter of this core, in one instruction, so that no interrupt can come in between.
 */
static __always_inline void dt_count(u64 *n)
{
	asm volatile("incq %0" : "+m"(*n));
}

/*
 * Returns when no hook that began before the call is under way any more, on any core, idle ones
 * included.
 */
void dt_settle(void);

/*
 * Makes rings of `records' (a power of two) each, in place of those there are; what is in these is
 * lost. Returns 0, or -1 with an error.
 */
int dt_rings_make(u64 records, struct dt_error *e);
/* Frees all rings; no hook may be under way. */
void dt_rings_free(void);

/* Forgets all records and counts. */
void dt_rings_reset(void);

/*
 * Sets what happens when a ring is full. true: its oldest records are overwritten; false: new
 * records are dropped.
 */
void dt_rings_policy(bool overwrite);

/*
 * Takes the next records of all rings, in the order of time, at most n; all of them were appended
 * before the call. They are then read for all readers. Returns how many, -EINTR if a signal came,
 * -EBUSY if the rings are held.
 */
long dt_rings_take(struct dt_record *to, size_t n);

/*
 * For a reader that has the rings mapped, and alone: `who' is any address of its own. While it
 * holds them, dt_rings_take() and dt_rings_make() fail. Holding them returns 0 and the bytes of a
 * ring, or a negative error number.
 */
int dt_rings_hold(const void *who, u64 *bytes);
void dt_rings_let_go(const void *who);
/*
 * Maps the ring of the core that the mapping's offset names. Returns 0 or a negative error number.
 */
int dt_rings_map(const void *who, struct vm_area_struct *area);
/*
 * Gives back the ring of a core up to `release', if that is of the present generation, and reads
 * its positions. Returns 0 or a negative error number.
 */
struct dt_ring_span {
	u64 release, generation;    /* set by the caller */
	u64 kept, first, end, lost; /* as in include/devtrace-ioctl.h */
};
int dt_rings_span(const void *who, unsigned int core, struct dt_ring_span *s);

/* Counts of records; the fields are as in struct dt_core. */
struct dt_ring_counts {
	u64 written, read, lost, overrun, in, out, left, lost_exits, lost_nest;
};
/* Sums up the counts of one core, or of all if core < 0. */
void dt_rings_count(int core, struct dt_ring_counts *n);

#endif
