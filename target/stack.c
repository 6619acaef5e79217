/* SPDX-License-Identifier: MIT */
#include "target/stack.h"
#include "target/calls.h"
#include "target/memory.h"

#define WORDS (DT_PIECE / 8)
#define PAGE  4096u
/* so far below its end nothing is the first thread's stack any more */
#define MAIN_FAR (64u << 20)

typedef uint64_t __attribute__((aligned(1), may_alias)) any_u64;

/* The stack from this text to the function's return address is certainly there, and so are the
 * pages that these lie in. */
static bool is_near(const struct text *t, uint64_t address)
{
	uint64_t low = (uint64_t)t & -(uint64_t)PAGE, high = (uint64_t)(t + 1) + DT_POINT_FRAME;

	return address >= low && address <= (high | (PAGE - 1));
}

/* Returns where the first thread's stack ends, if that is the one in use; 0: it is another. */
static uint64_t end_of_first(uint64_t address)
{
	uint64_t end = __atomic_load_n(&kept_block.stack_end, __ATOMIC_RELAXED);

	return end > address && end - address < MAIN_FAR ? end : 0;
}

bool dt_stack_is_first(const struct text *t, uint64_t address, uint64_t n)
{
	uint64_t end = end_of_first((uint64_t)t);

	return end && address >= (uint64_t)t && address < end && end - address >= n;
}

/* Returns where the thread block of this thread is; 0: it has none, or that can not be asked. It is
 * asked for, since what a thread reads there is no address if a program has made it by itself. */
static uint64_t thread_block(void)
{
	bool counted = dt_calling_begin();
	uint64_t at = 0;

	if (!dt_is_confined() && !dt_is_strict() && dt_own_thread_pointer_ask(&at) < 0)
		at = 0;
	dt_calling_end(counted);
	return at;
}

/* Returns how much of what is wanted there can be. What a thread of libc's has above its thread
 * block is not its stack. */
static uint64_t limited(uint64_t address, uint64_t wanted)
{
	uint64_t end = end_of_first(address);

	if (!end)
		end = thread_block();
	return end > address && end - address < wanted ? end - address : wanted;
}

/*
 * Returns where the next bytes can be read: where they are, or in the block, which is filled when
 * they are its first. Where a block begins it is decided for all of it. NULL: they can not be read.
 */
static const any_u64 *find(struct text *t, uint64_t *block)
{
	uint64_t skipped = t->how & DT_TEXT_HEAD ? 8 : 0;
	uint64_t at = (t->address - (uint64_t)block + 8) % DT_STACK_BLOCK;
	uint64_t n = DT_STACK_BLOCK - at < t->left ? DT_STACK_BLOCK - at : t->left;
	long got;

	if (end_of_first(t->address) || is_near(t, t->address + n - 1))
		return (const any_u64 *)t->address;
	if (at == skipped) {
		got = dt_own_memory_read(t->address, (char *)block + at, n);
		if (got < 8)
			return 0;
		if ((uint64_t)got < n) /* here it ends */
			t->left = (uint64_t)got & -8ull;
	}
	return (const any_u64 *)(block + at / 8);
}

int dt_stack_piece(struct text *t)
{
	uint64_t *block = (uint64_t *)((char *)(t + 1) + DT_POINT_FRAME);
	unsigned head = t->how & DT_TEXT_HEAD ? 1 : 0, n;
	const volatile any_u64 *from;

	if (head)
		t->left = limited(t->address, t->left);
	from = find(t, block);
	n = !from ? 0 : t->left / 8 < WORDS - head ? (unsigned)(t->left / 8) : WORDS - head;
	if (head)
		((volatile uint64_t *)t->piece)[0] = t->left;
	for (unsigned i = 0; i < WORDS - head; i++)
		((volatile uint64_t *)t->piece)[head + i] = i < n ? from[i] : 0;
	t->how &= ~(uint64_t)DT_TEXT_HEAD;
	t->left -= 8 * n;
	t->address = n && t->left ? t->address + 8 * n : 0;
	return from ? 0 : -1;
}
