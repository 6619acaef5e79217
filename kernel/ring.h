/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * A ring of records for each core. Records are appended from any context of the core, process,
 * softirq, hardirq and NMI, with no lock: a place is taken by one compare-and-swap without a lock
 * prefix, which nothing of the same core can come between. An append that interrupts another one
 * has always ended when that goes on; the outermost makes all that was appended visible to readers.
 */
#ifndef DT_KERNEL_RING_H
#define DT_KERNEL_RING_H

#include <linux/percpu.h>
#include <linux/types.h>
#include <asm/msr.h>

struct vm_area_struct;

#include "core/error.h"
#include "core/record.h"

#define DT_NEST_MAX 16 /* process, softirq, hardirq, NMI, and exceptions in each of them */

/* All positions count bytes since the ring was made, and only grow. */
struct dt_core {
	/* the append, of this core only */
	u64 pos;   /* taken */
	u64 limit; /* no place is taken from here on. Writer: the reader's side */
	u64 mask;
	char *records;
	u64 commit;	/* below here all is written: what readers look at */
	u32 nest;	/* appends under way */
	u64 in, out;	/* hits of hooks that are on, recorded or not */
	u64 left;	/* of those, not to be recorded: a reader's, not watched, COUNT, frozen */
	u64 lost;	/* records for which there was no place */
	u64 lost_exits; /* exits that could not be hooked: no node was free */
	u64 lost_nest;	/* records more than DT_NEST_MAX deep in interrupts */
	/* the reader's side, under dt_rings_lock */
	u64 read, overrun; /* overrun: records overwritten before they were read */
} ____cacheline_aligned;

DECLARE_PER_CPU(struct dt_core, dt_core);

/*
 * Around all that a hook does. False: too many are under way on this core already, which only a
 * hook that calls itself can bring about; it is counted, and nothing is to be done. Preemption is
 * off.
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
	/* an append that comes in between commits for itself, and is not to be undone */
	do {
		barrier();
		pos = READ_ONCE(c->pos);
		WRITE_ONCE(c->commit, pos);
		barrier();
	} while (unlikely(pos != READ_ONCE(c->pos)));
}

/*
 * Between the two: a place for one record, and its time. False: there is none, which is counted.
 * The clock is read between looking at the position and taking it: who comes in between, and so is
 * earlier in the ring, makes that fail, and it is read again. So places are in the order of time.
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

/* Counts on the core itself: one instruction, so that no interrupt comes in between. */
static __always_inline void dt_count(u64 *n)
{
	asm volatile("incq %0" : "+m"(*n));
}

/* Returns when no hook is under way that began before the call, on any core, idle ones too. */
void dt_settle(void);

/* Makes rings of `records' (a power of two) each, or of another size: what is in them is lost. */
int dt_rings_make(u64 records, struct dt_error *e);
void dt_rings_free(void);

/* Forgets all records and counts. */
void dt_rings_reset(void);

/* When a ring is full: true: its oldest records go; false: the new ones. */
void dt_rings_policy(bool overwrite);

/*
 * The next records of all rings in the order of time, at most n, all of which were appended before
 * the call. They are read, for all readers. -EINTR: a signal came; -EBUSY: they are held.
 */
long dt_rings_take(struct dt_record *to, size_t n);

/*
 * For a reader that has the rings mapped, and to himself: `who' is any address of his own. Holding
 * them, dt_rings_take() and dt_rings_make() are refused.
 */
int dt_rings_hold(const void *who, u64 *bytes);
void dt_rings_let_go(const void *who);
/* Maps the ring of the core that the mapping's offset says. */
int dt_rings_map(const void *who, struct vm_area_struct *area);
/* The ring of a core, given back up to `release' if that is of this generation. */
struct dt_ring_span {
	u64 release, generation;    /* asked for */
	u64 kept, first, end, lost; /* as in include/devtrace-ioctl.h */
};
int dt_rings_span(const void *who, unsigned int core, struct dt_ring_span *s);

struct dt_ring_counts {
	u64 written, read, lost, overrun, in, out, left, lost_exits, lost_nest;
};
/* Of one core; core < 0: of all. */
void dt_rings_count(int core, struct dt_ring_counts *n);

#endif
