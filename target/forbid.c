/* SPDX-License-Identifier: MIT */
#include "target/forbid.h"
#include "target/birth.h"
#include "target/calls.h"
#include "target/memory.h"
#include "target/request.h"
#include "target/rseq.h"

#define CLONE_VM     0x00000100u
#define CLONE_VFORK  0x00004000u
#define CLONE_SETTLS 0x00080000u

#define PR_SET_SECCOMP 22
#define SECCOMP_FILTER 2 /* prctl's number; 1: strict. seccomp()'s numbers are one less */

/*
 * Waits until no thread makes a system call for us; it sleeps by system calls if they are allowed.
 * It waits a minute at most: a thread may have left the slow path by longjmp from a signal handler.
 */
static void wait_for_calls(bool allowed)
{
	for (int i = 0; i < 60000 && !dt_controller_is_gone(); i++) {
		uint32_t n = __atomic_load_n(&process_block.calling, __ATOMIC_SEQ_CST);

		/* negative: a signal handler has forked in the middle of a call, and its child has
		 * gone on */
		if ((int32_t)n <= 0)
			return;
		if (allowed)
			dt_futex_wait(&process_block.calling, n, DT_MS);
		else
			for (int k = 0; k < 10000; k++) /* some 0.1 ms or more */
				dt_cpu_pause();
	}
}

/* Notes that this thread, and no other, is about to be allowed read, write and exit only, and not
 * to read the clock. */
static void become_strict(void)
{
	uint64_t fs = 0;
	uint32_t i;

	if (blob.reads_pointer)
		fs = dt_own_thread_pointer_read();
	else if (!dt_is_confined() && blob.again[0] && dt_own_thread_pointer_ask(&fs) < 0)
		fs = 0;
	/* a thread without a thread block can not be told from others: then none records any more.
	 * So it is where hooks look into no blocks, if only these tell: there may be none */
	if (!fs && !blob.reads_pointer)
		__atomic_store_n(&kept_block.strict, DT_STRICT_MAX + 1, __ATOMIC_SEQ_CST);
	i = __atomic_fetch_add(&kept_block.strict, 1, __ATOMIC_SEQ_CST);
	if (i < DT_STRICT_MAX)
		__atomic_store_n(&kept_block.strict_fs[i], fs, __ATOMIC_SEQ_CST);
	__atomic_store_n(&kept_block.asks_clock, 1, __ATOMIC_SEQ_CST);
	dt_fast_path_leave();
}

/* Notes that a seccomp filter is about to be installed, and waits for calls that are under way. */
static void become_confined(void)
{
	bool allowed = !dt_is_confined();

	__atomic_store_n(&session.confined, 1, __ATOMIC_RELAXED);
	if (allowed) /* the controller, which sleeps for long, sleeps only shortly from then on */
		dt_bell_ring();
	__atomic_store_n(&kept_block.confined, 1, __ATOMIC_SEQ_CST);
	wait_for_calls(allowed);
}

/* Returns whether the kernel would take this call of seccomp() for the mode, as far as its
 * arguments tell. libseccomp asks what the kernel can do by calls that are bound to fail: strict
 * mode with flags, filters at NULL. */
static bool may_succeed(const uint64_t *argument)
{
	uint32_t operation = (uint32_t)argument[1], flags = (uint32_t)argument[2];
	uint64_t data = argument[3];

	if (operation == 0)
		return flags == 0 && data == 0;
	return operation == 1 && data != 0;
}

/* A thread in strict seccomp has ended if libc gives its thread block to another one. */
static void forget_strict(uint64_t block)
{
	uint32_t n = __atomic_load_n(&kept_block.strict, __ATOMIC_SEQ_CST);

	for (uint32_t i = 0; block && i < n && i < DT_STRICT_MAX; i++)
		if (__atomic_load_n(&kept_block.strict_fs[i], __ATOMIC_SEQ_CST) == block)
			__atomic_store_n(&kept_block.strict_fs[i], DT_STRICT_ENDED,
					 __ATOMIC_SEQ_CST);
}

/* Looks whether a block is none of libc's, in which the first word, and glibc's third, lead to it.
 * If that can not be told (it may not be asked what is there), it is taken for one. */
static bool is_foreign(uint64_t block)
{
	uint64_t word[3] = {0};
	long got;

	if (DT_THREAD_BELOW || dt_is_confined() || dt_is_strict())
		return false;
	got = dt_own_memory_read(block, word, sizeof(word));
	return got != sizeof(word) || word[0] != block ||
	       (blob.own != DT_OWN_TABLE && word[2] != block);
}

/*
 * Looks at the block that a thread or process is about to have. True: it can not be looked into;
 * then no hook does so any more, once the controller has answered.
 */
static bool before_block(uint64_t flags, uint64_t block)
{
	uint32_t none = DT_STRANGE_NONE;

	if (!(flags & CLONE_SETTLS))
		return false;
	forget_strict(block);
	if (!is_foreign(block))
		return false;
	if (__atomic_load_n(&kept_block.strange, __ATOMIC_SEQ_CST) != DT_STRANGE_LED)
		dt_request_tell(DT_REQUEST_STRANGE, true);
	/* only now, since this may let no thread here make system calls any more: dt_is_strict() */
	__atomic_compare_exchange_n(&kept_block.strange, &none, DT_STRANGE_ASKED, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	dt_fast_path_leave();
	return true;
}

/* A child that runs in this thread's block must not append by its rseq. */
static void before_musl_clone(uint64_t flags, uint64_t block)
{
	before_block(flags, block);
	if (!(flags & CLONE_VM) || (flags & CLONE_SETTLS))
		return;
	dt_rseq_lend();
	if (!(flags & CLONE_VFORK)) /* it runs beside this thread */
		dt_fast_path_leave();
}

void dt_before_call(const uint64_t *argument)
{
	uint64_t mode = 0;

	if (argument[0] == DT_SYS_VFORK || argument[0] == DT_SYS_CLONE) {
		before_musl_clone(argument[0] == DT_SYS_VFORK ? CLONE_VM | CLONE_VFORK
							      : argument[1],
				  argument[5]);
		return;
	}
	if (argument[0] == DT_SYS_SECCOMP && may_succeed(argument))
		mode = (uint32_t)argument[1] + 1;
	else if (argument[0] == DT_SYS_PRCTL && (int)argument[1] == PR_SET_SECCOMP)
		mode = argument[2] == SECCOMP_FILTER && !argument[3] ? 0 : argument[2];
	if (mode == 1)
		become_strict();
	else if (mode == SECCOMP_FILTER)
		become_confined();
	if (dt_call_closes_clock(argument)) {
		__atomic_store_n(&kept_block.asks_clock, 1, __ATOMIC_SEQ_CST);
		dt_fast_path_leave();
	}
}

uint64_t dt_before_clone(const uint64_t *argument)
{
	uint64_t foreign = before_block(argument[0], argument[1]) ? DT_CHILD_FOREIGN : 0;

	if ((argument[0] & CLONE_VM) && !(argument[0] & (CLONE_SETTLS | CLONE_VFORK)))
		dt_fast_path_leave();
	return dt_before_vfork() | foreign;
}

uint64_t dt_before_clone3(const uint64_t *args)
{
	const uint64_t argument[2] = {args[0], args[7]};

	return dt_before_clone(argument) & ~DT_CHILD_FOREIGN;
}

void dt_after_vfork(void)
{
	uint64_t fs;
	bool counted;

	if (!blob.rseq_offset || dt_is_strange())
		return;
	fs = dt_own_thread_pointer() + (uint64_t)blob.rseq_offset;
	counted = dt_calling_begin();
	if (!dt_is_confined()) { /* else the kernel stores it when another thread runs in between */
		dt_call4(DT_SYS_RSEQ, (long)fs, blob.rseq_size, 1, blob.rseq_signature);
		dt_call4(DT_SYS_RSEQ, (long)fs, blob.rseq_size, 0, blob.rseq_signature);
	}
	dt_calling_end(counted);
}
