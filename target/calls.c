/* SPDX-License-Identifier: MIT */
#include "target/calls.h"

#define FUTEX_WAIT  0
#define FUTEX_WAKE  1
#define SIG_SETMASK 2

struct timespec64 {
	int64_t sec, nsec;
};

bool dt_is_confined(void)
{
	return blob.confined || __atomic_load_n(&kept_block.confined, __ATOMIC_SEQ_CST);
}

bool dt_calling_begin(void)
{
	if (dt_is_confined())
		return false;
	__atomic_add_fetch(&process_block.calling, 1, __ATOMIC_SEQ_CST);
	return true;
}

void dt_calling_end(bool counted)
{
	if (counted)
		__atomic_sub_fetch(&process_block.calling, 1, __ATOMIC_SEQ_CST);
}

bool dt_is_strange(void)
{
	return __atomic_load_n(&kept_block.strange, __ATOMIC_SEQ_CST) != DT_STRANGE_NONE;
}

uint64_t dt_own_thread_mark(void)
{
	return blob.reads_pointer ? dt_own_thread_pointer_read() : dt_own_thread_pointer();
}

bool dt_is_strict(void)
{
	uint32_t n = __atomic_load_n(&kept_block.strict, __ATOMIC_SEQ_CST);
	uint64_t fs;

	if (!n || n > DT_STRICT_MAX || (!blob.reads_pointer && dt_is_strange()))
		return n != 0;
	fs = dt_own_thread_mark();
	for (uint32_t i = 0; i < n; i++)
		if (__atomic_load_n(&kept_block.strict_fs[i], __ATOMIC_SEQ_CST) == fs)
			return true;
	return false;
}

bool dt_clock_is_allowed(void)
{
	if (!__atomic_load_n(&kept_block.asks_clock, __ATOMIC_SEQ_CST))
		return true;
	return !dt_is_strict() && !dt_is_confined() && dt_clock_is_open();
}

void dt_fast_path_leave(void)
{
	__atomic_store_n(&process_block.shared_only, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&process_block.cores, 0, __ATOMIC_SEQ_CST);
}

void dt_futex_wait(uint32_t *word, uint32_t value, long ns)
{
	struct timespec64 t = {0, ns};

	dt_call4(DT_SYS_FUTEX, (long)word, FUTEX_WAIT, value, (long)&t);
}

void dt_futex_wake(uint32_t *word, long n)
{
	dt_call4(DT_SYS_FUTEX, (long)word, FUTEX_WAKE, n, 0);
}

void dt_signals_block(uint64_t *old)
{
	uint64_t all = ~0ull;

	dt_call4(DT_SYS_RT_SIGPROCMASK, SIG_SETMASK, (long)&all, (long)old, sizeof(all));
}

void dt_signals_restore(const uint64_t *old)
{
	dt_call4(DT_SYS_RT_SIGPROCMASK, SIG_SETMASK, (long)old, 0, sizeof(*old));
}

bool dt_has_parent(void)
{
	return dt_is_confined() || dt_call4(DT_SYS_GETPPID, 0, 0, 0, 0) > 1;
}

uint32_t dt_asked_thread_id(void)
{
	return dt_is_confined() ? DT_NO_TID
				: (uint32_t)dt_call4(DT_SYS_GETTID, 0, 0, 0, 0) | kept_block.tag;
}
