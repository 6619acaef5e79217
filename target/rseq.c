/* SPDX-License-Identifier: MIT */
#include "target/rseq.h"
#include "target/calls.h"

#define NONE 0xffffffffu /* no core */

/* negative errors of system calls */
#define NO_PROCESS (-3)
#define BUSY	   (-16)

#define SWEEP 16u /* so many places of the table are looked at when a thread takes one */

/* Returns this thread's, whether or not it is registered; NULL: it has none in the table. */
static struct dt_own_rseq *own_here(void)
{
	uint64_t fs;
	uint32_t at;

	if (dt_is_strange())
		return 0;
	fs = dt_own_thread_pointer();
	if (blob.own == DT_OWN_BLOCK)
		return (struct dt_own_rseq *)(fs + (uint64_t)blob.rseq_offset);
	at = __atomic_load_n((uint32_t *)(fs + DT_OWN_WORD), __ATOMIC_RELAXED) /
	     sizeof(struct dt_own_rseq);
	/* a new thread begins with its maker's */
	return at && at < DT_OWN_MAX && own_rseq[at].owner == fs ? &own_rseq[at] : 0;
}

/* Returns what stands where libc keeps the thread's id. */
static uint32_t id_in_block(void)
{
	return *(uint32_t *)(dt_own_thread_pointer() + (uint64_t)blob.tid_offset);
}

bool dt_id_is_anothers(void)
{
	uint32_t id;

	if (!blob.tid_offset || dt_is_strange() || dt_is_confined())
		return false;
	id = id_in_block(); /* glibc before 2.34 without libpthread has noted none */
	return id && id != (uint32_t)dt_call4(DT_SYS_GETTID, 0, 0, 0, 0);
}

/* Returns this thread's if it is registered, else NULL. */
static struct dt_own_rseq *registered(void)
{
	struct dt_own_rseq *o = own_here();

	return o && __atomic_load_n(&o->check, __ATOMIC_RELAXED) == id_in_block() + 1 ? o : 0;
}

uint32_t dt_rseq_core(void)
{
	const struct dt_own_rseq *o;

	if (!blob.own)
		return __atomic_load_n(
			(uint32_t *)(dt_own_thread_pointer() + (uint64_t)blob.rseq_offset + 4),
			__ATOMIC_RELAXED);
	o = registered();
	return o ? __atomic_load_n(&o->rseq.cpu_id, __ATOMIC_RELAXED) : NONE;
}

uint32_t dt_own_thread_id(void)
{
	const struct dt_own_rseq *o = blob.own ? registered() : 0;

	if (o)
		return o->tid | kept_block.tag;
	return blob.own || !blob.tid_offset || dt_is_strange() ? dt_asked_thread_id()
							       : id_in_block() | kept_block.tag;
}

/* Frees a place whose thread has ended. One that is taken, and not registered yet, has no tid. */
static void sweep(struct dt_own_rseq *o, long pid)
{
	uint64_t owner = __atomic_load_n(&o->owner, __ATOMIC_RELAXED);
	uint32_t tid = __atomic_load_n(&o->tid, __ATOMIC_RELAXED);

	if (!owner || !tid || dt_call4(DT_SYS_TGKILL, pid, (long)tid, 0, 0) != NO_PROCESS)
		return;
	if (!__atomic_compare_exchange_n(&o->tid, &tid, 0, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&o->check, 0, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(&o->owner, &owner, 0, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/* Takes a place of the table for the thread with that thread pointer; NULL: all are taken. Looks at
 * some more of them, so that what an ended thread had does not stay for long. */
static struct dt_own_rseq *take(uint64_t fs)
{
	uint32_t from = __atomic_fetch_add(&process_block.own_swept, SWEEP, __ATOMIC_RELAXED);
	long pid = dt_call4(DT_SYS_GETPID, 0, 0, 0, 0);
	struct dt_own_rseq *mine = 0;

	for (uint32_t i = 0; i < DT_OWN_MAX && (!mine || i < SWEEP); i++) {
		struct dt_own_rseq *o = &own_rseq[(from + i) % DT_OWN_MAX];
		uint64_t none = 0;

		if (o == own_rseq) /* the word of a thread that has none leads there */
			continue;
		sweep(o, pid);
		if (!mine && __atomic_compare_exchange_n(&o->owner, &none, fs, false,
							 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			mine = o;
	}
	return mine;
}

/*
 * Looks whether the thread's block is libc's, and this thread the one whose it is: a child of
 * vfork, and a clone without a block of its own, run in their maker's; a program may make threads
 * with blocks of its own making, in which nothing may be written. What tells is the id that libc
 * has noted. In glibc before 2.34 without libpthread it has noted none, and there is the first
 * thread only: its block is of the thread that has registered in it.
 */
static bool is_mine(const struct dt_own_rseq *o, uint32_t tid)
{
	const uint64_t *word = (const uint64_t *)dt_own_thread_pointer();
	uint32_t id = id_in_block();

	if (word[0] != (uint64_t)word)
		return false;
	if (blob.own == DT_OWN_TABLE)
		return id == tid;
	if (word[2] != (uint64_t)word || (id && id != tid))
		return false;
	return id ||
	       ((!o->tid || o->tid == tid) && (uint32_t)dt_call4(DT_SYS_GETPID, 0, 0, 0, 0) == tid);
}

bool dt_rseq_register(void)
{
	uint64_t fs = dt_own_thread_pointer();
	struct dt_own_rseq *o, *taken = 0;
	uint32_t tid;
	long rc;

	if (!blob.own || __atomic_load_n(&kept_block.no_own, __ATOMIC_RELAXED) ||
	    process_block.own_refused || dt_is_confined() || dt_is_strict())
		return false;
	tid = (uint32_t)dt_call4(DT_SYS_GETTID, 0, 0, 0, 0);
	o = own_here();
	if (!is_mine(o, tid) || (!o && !(o = taken = take(fs))))
		return false;
	/* what an earlier thread has left: the kernel would follow it */
	__atomic_store_n(&o->rseq.rseq_cs, 0, __ATOMIC_RELAXED);
	rc = dt_call4(DT_SYS_RSEQ, (long)o, blob.rseq_size, 0, blob.rseq_signature);
	if (rc && rc != BUSY) {
		/* the kernel or the program does not let us */
		if (taken)
			__atomic_store_n(&o->owner, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&process_block.own_refused, 1, __ATOMIC_RELAXED);
		return false;
	}
	if (taken)
		__atomic_store_n((uint32_t *)(fs + DT_OWN_WORD),
				 (uint32_t)((uint64_t)o - (uint64_t)own_rseq), __ATOMIC_SEQ_CST);
	/* BUSY: this thread has registered it before, or its parent before a fork */
	__atomic_store_n(&o->tid, tid, __ATOMIC_SEQ_CST);
	__atomic_store_n(&o->check, id_in_block() + 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&o->rseq.cpu_id, __ATOMIC_RELAXED) < process_block.cores;
}

void dt_rseq_prepare(void)
{
	bool counted;

	/* where libc has noted the id, that tells them apart */
	if (!blob.own || dt_is_strange() || id_in_block() || registered())
		return;
	counted = dt_calling_begin();
	dt_rseq_register();
	dt_calling_end(counted);
}

void dt_rseq_lend(void)
{
	struct dt_own_rseq *o = blob.own ? own_here() : 0;

	if (o)
		__atomic_store_n(&o->check, 0, __ATOMIC_SEQ_CST);
}
