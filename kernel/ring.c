// SPDX-License-Identifier: MIT OR GPL-2.0
/* Makes the cores' rings, and reads them. */
#include "kernel/ring.h"

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/stop_machine.h>
#include <linux/timex.h>
#include <linux/vmalloc.h>
#include <asm/tsc.h>

#include "core/ring.h"
#include "kernel/compat.h"

DEFINE_PER_CPU(struct dt_core, dt_core);

static DEFINE_MUTEX(dt_rings_lock); /* protects size and policy, and is held by all readers */
static u64 ring_bytes;
static bool overwrites = true;
static const void *holder; /* the reader that holds the rings; NULL: none */
static u64 generation = 1; /* it changes when positions begin at 0 again */

static void set_limit(struct dt_core *c)
{
	WRITE_ONCE(c->limit, overwrites ? DT_NO_LIMIT : c->read + ring_bytes);
}

static int nothing(void *unused)
{
	return 0;
}

/*
 * Waits for all hooks. They run with preemption off, so none is left on a core where another thread
 * has run since.
 */
void dt_settle(void)
{
	stop_machine(nothing, NULL, cpu_online_mask);
}

/* Closes all rings, and returns when no append is under way that has seen them open. */
static void close_rings(void)
{
	int cpu;

	for_each_possible_cpu(cpu) WRITE_ONCE(per_cpu(dt_core, cpu).limit, 0);
	dt_settle();
}

/*
 * Begins a core's ring, on that core in an interrupt, where its counters are not in the middle of a
 * change. An append that it interrupts has been refused a place and still has to end, so nest is
 * not changed.
 */
static void begin(void *core)
{
	struct dt_core *c = core;

	c->mask = ring_bytes - 1;
	c->pos = c->commit = c->read = c->overrun = 0;
	c->in = c->out = c->left = c->lost = c->lost_exits = c->lost_nest = 0;
	set_limit(c);
}

static void begin_on(int cpu)
{
	struct dt_core *c = per_cpu_ptr(&dt_core, cpu);

	if (smp_call_function_single(cpu, begin, c, 1) < 0)
		begin(c); /* it is offline */
}

int dt_rings_make(u64 records, struct dt_error *e)
{
	u64 bytes = records * 64;
	char **fresh = kcalloc(nr_cpu_ids, sizeof(*fresh), GFP_KERNEL);
	int cpu, rc = 0;
	bool held;

	if (!fresh)
		return dt_fail(e, "devtrace:  can't allocate that much: out of memory");
	/*
	 * checked beforehand: if it were taken piece by piece, it would be taken away from
	 * everything else
	 */
	if (bytes * num_possible_cpus() > ((u64)si_mem_available() << PAGE_SHIFT) / 2)
		rc = -1;
	for_each_possible_cpu(cpu)
	{
		if (rc < 0)
			break;
		fresh[cpu] = vmalloc_user(max_t(u64, bytes, PAGE_SIZE));
		if (!fresh[cpu])
			rc = -1;
	}
	mutex_lock(&dt_rings_lock);
	held = holder;
	if (rc == 0 && !held) {
		close_rings();
		generation++;
		ring_bytes = bytes;
		for_each_possible_cpu(cpu)
		{
			struct dt_core *c = per_cpu_ptr(&dt_core, cpu);
			char *old = c->records;

			c->records = fresh[cpu];
			fresh[cpu] = old;
			begin_on(cpu);
		}
	}
	mutex_unlock(&dt_rings_lock);
	for_each_possible_cpu(cpu) vfree(fresh[cpu]);
	kfree(fresh);
	if (held)
		return dt_fail(e, "devtrace: a reader has the rings mapped: they keep their size "
				  "until it has closed /dev/trace");
	return rc < 0 ? dt_fail(e,
				"devtrace:  can't allocate that much: %lu records on each of %u "
				"cores",
				(unsigned long)records, num_possible_cpus())
		      : 0;
}

void dt_rings_free(void)
{
	int cpu;

	close_rings();
	for_each_possible_cpu(cpu)
	{
		vfree(per_cpu(dt_core, cpu).records);
		per_cpu(dt_core, cpu).records = NULL;
	}
}

void dt_rings_reset(void)
{
	int cpu;

	mutex_lock(&dt_rings_lock);
	close_rings();
	generation++;
	for_each_possible_cpu(cpu) begin_on(cpu);
	mutex_unlock(&dt_rings_lock);
}

void dt_rings_policy(bool overwrite)
{
	int cpu;

	mutex_lock(&dt_rings_lock);
	overwrites = overwrite;
	for_each_possible_cpu(cpu)
	{
		struct dt_core *c = per_cpu_ptr(&dt_core, cpu);

		/* what has already been overwritten can no longer be kept */
		if (!overwrite && READ_ONCE(c->pos) - c->read > ring_bytes) {
			u64 gone = READ_ONCE(c->pos) - c->read - ring_bytes;

			c->overrun += gone / 64;
			c->read += gone;
		}
		set_limit(c);
	}
	mutex_unlock(&dt_rings_lock);
}

/*
 * Waits until a core's ring can be read up to now: an append that has read the clock before,
 * perhaps without having a place yet, has then ended. A core that has committed meanwhile has left
 * the hook it was in.
 */
static void settle(struct dt_core *c)
{
	u64 commit = READ_ONCE(c->commit);

	/*
	 * a core in a hook does not wait for anything there; but it may be a guest's, which is not
	 * running
	 */
	for (unsigned int i = 0; READ_ONCE(c->nest) && READ_ONCE(c->commit) == commit && i < 100000;
	     i++)
		cpu_relax();
	smp_rmb(); /* what is read from here on was there by then */
}

/*
 * Reads the record at c->read, if it is older than `until'. Returns false if there is none. A ring
 * that overruns while it is being read loses its oldest records, which is counted.
 */
static bool peek(struct dt_core *c, u64 until, struct dt_record *r)
{
	for (;;) {
		u64 commit = READ_ONCE(c->commit), pos;

		smp_rmb(); /* pairs with the order of stores in dt_end() */
		if (commit <= c->read)
			return false;
		memcpy(r, c->records + (c->read & (ring_bytes - 1)), 64);
		smp_rmb(); /* first the copy, then what has been taken since; dt_reserve() changes
			      pos first */
		pos = READ_ONCE(c->pos);
		if (pos - c->read <= ring_bytes)
			return r->ticks < until;
		/* skips more than the oldest, which is about to be overwritten, too */
		pos -= ring_bytes - round_down(min_t(u64, ring_bytes / 4, 64 * 64), 64);
		c->overrun += (pos - c->read) / 64;
		c->read = pos;
	}
}

long dt_rings_take(struct dt_record *to, size_t n)
{
	struct dt_record *head;
	bool *has;
	u64 until;
	size_t got = 0;
	int cpu;

	head = kmalloc_array(nr_cpu_ids, sizeof(*head) + sizeof(*has), GFP_KERNEL);
	if (!head)
		return -ENOMEM;
	has = (bool *)(head + nr_cpu_ids);
	if (mutex_lock_interruptible(&dt_rings_lock) < 0) {
		kfree(head);
		return -EINTR;
	}
	if (holder) {
		mutex_unlock(&dt_rings_lock);
		kfree(head);
		return -EBUSY;
	}
	until = rdtsc_ordered();
	udelay(1); /* after this, a core that read the clock before is seen to be in a hook */
	for_each_possible_cpu(cpu)
	{
		struct dt_core *c = per_cpu_ptr(&dt_core, cpu);

		settle(c);
		has[cpu] = peek(c, until, &head[cpu]);
	}
	while (got < n) {
		int first = -1;

		for_each_possible_cpu(cpu) if (has[cpu] &&
					       (first < 0 || head[cpu].ticks < head[first].ticks))
			first = cpu;
		if (first < 0)
			break;
		to[got] = head[first];
		to[got++].core = (u16)first;
		per_cpu(dt_core, first).read += 64;
		set_limit(per_cpu_ptr(&dt_core, first));
		has[first] = peek(per_cpu_ptr(&dt_core, first), until, &head[first]);
		if (!(got & 1023))
			cond_resched();
	}
	mutex_unlock(&dt_rings_lock);
	kfree(head);
	return (long)got;
}

/* ---- a reader that has them mapped ---- */

int dt_rings_hold(const void *who, u64 *bytes)
{
	int rc = 0;

	mutex_lock(&dt_rings_lock);
	if (holder && holder != who)
		rc = -EBUSY;
	else if (ring_bytes < PAGE_SIZE)
		rc = -ENOSPC; /* a ring would go round before a page is full */
	else
		holder = who;
	*bytes = ring_bytes;
	mutex_unlock(&dt_rings_lock);
	return rc;
}

void dt_rings_let_go(const void *who)
{
	mutex_lock(&dt_rings_lock);
	if (holder == who)
		holder = NULL;
	mutex_unlock(&dt_rings_lock);
}

/*
 * Maps a ring. The memory stays while it is mapped, because the mapping holds the file, and the
 * file holds the rings.
 */
int dt_rings_map(const void *who, struct vm_area_struct *area)
{
	u64 core = (u64)area->vm_pgoff << PAGE_SHIFT;
	int rc;

	if (!(area->vm_flags & VM_MAYSHARE) || (area->vm_flags & (VM_WRITE | VM_EXEC)))
		return -EPERM;
	dt_map_read_only(area);
	mutex_lock(&dt_rings_lock);
	core = div64_u64(core, ring_bytes);
	if (holder != who)
		rc = -EBUSY;
	else if (area->vm_end - area->vm_start != ring_bytes ||
		 area->vm_pgoff != core * ring_bytes >> PAGE_SHIFT || core >= nr_cpu_ids ||
		 !cpu_possible((int)core))
		rc = -EINVAL;
	else
		rc = remap_vmalloc_range(area, per_cpu(dt_core, core).records, 0);
	mutex_unlock(&dt_rings_lock);
	return rc;
}

int dt_rings_span(const void *who, unsigned int core, struct dt_ring_span *s)
{
	struct dt_core *c;
	u64 pos, commit;

	if (core >= nr_cpu_ids || !cpu_possible((int)core))
		return -EINVAL;
	if (mutex_lock_interruptible(&dt_rings_lock) < 0)
		return -EINTR;
	if (holder != who) {
		mutex_unlock(&dt_rings_lock);
		return -EBUSY;
	}
	c = per_cpu_ptr(&dt_core, core);
	settle(c);
	commit = READ_ONCE(c->commit);
	smp_rmb(); /* pairs with the order of stores in dt_end() */
	pos = READ_ONCE(c->pos);
	/* what has been overwritten by now may already have been so when it was read */
	if (pos - c->read > ring_bytes) {
		c->overrun += (pos - c->read - ring_bytes) / 64;
		c->read = pos - ring_bytes;
	}
	s->kept = c->read;
	if (s->generation == generation && s->release > c->read && s->release <= pos &&
	    !(s->release & 63)) {
		c->read = s->release;
		set_limit(c);
	}
	s->first = c->read;
	s->end = max(commit, c->read);
	s->generation = generation;
	s->lost = c->lost + c->lost_nest + c->lost_exits + c->overrun;
	mutex_unlock(&dt_rings_lock);
	return 0;
}

void dt_rings_count(int core, struct dt_ring_counts *n)
{
	int cpu;

	*n = (struct dt_ring_counts){0};
	mutex_lock(&dt_rings_lock);
	for_each_possible_cpu(cpu)
	{
		const struct dt_core *c = per_cpu_ptr(&dt_core, cpu);
		u64 commit = READ_ONCE(c->commit);
		/* an append may write an older commit for a moment */
		s64 there = (s64)(commit - c->read);
		u64 over = there > (s64)ring_bytes ? (u64)there - ring_bytes : 0;

		if (core >= 0 && core != cpu)
			continue;
		n->written += there < 0 ? c->read / 64 : commit / 64;
		n->read += c->read / 64 + over / 64;
		n->lost += c->lost + c->lost_nest;
		n->overrun += c->overrun + over / 64;
		n->in += c->in;
		n->out += c->out;
		n->left += c->left;
		n->lost_exits += c->lost_exits;
		n->lost_nest += c->lost_nest;
	}
	mutex_unlock(&dt_rings_lock);
}
