/* SPDX-License-Identifier: MIT */
#include "target/memory.h"
#include "target/calls.h"

struct iovec64 {
	uint64_t base, length;
};

long dt_own_memory_read(uint64_t address, void *to, uint64_t n)
{
	struct iovec64 local = {(uint64_t)to, n}, remote = {address, n};
	bool counted = dt_calling_begin();
	long got = -1;

	if (!dt_is_confined() && !dt_is_strict())
		got = dt_call6(DT_SYS_PROCESS_VM_READV, dt_call4(DT_SYS_GETTID, 0, 0, 0, 0),
			       (long)&local, 1, (long)&remote, 1, 0);
	dt_calling_end(counted);
	return got;
}

int dt_peek(uint64_t *x)
{
	uint64_t value = 0, size = x[1] & 255;
	unsigned shift = (unsigned)(64 - 8 * size);
	bool there = dt_own_memory_read(x[0], &value, size) == (long)size;

	if (x[1] & 256)
		value = (uint64_t)((int64_t)(value << shift) >> shift);
	x[0] = there ? value : DT_CAPTURE_BAD;
	return there;
}
