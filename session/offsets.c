/* SPDX-License-Identifier: MIT */
/* Compares the cores' cycle counters by two threads that answer each other through memory, one of
 * them on the first core: NTP's exchange, of which the quickest of several is believed. */
#include "session/offsets.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/offset.h"

#define ROUNDS 200
#define GOOD   200u /* ticks: an error as small as this can not be improved */

/* What the two threads share. */
struct exchange {
	unsigned core;
	uint32_t turn; /* odd: the other core's turn; even: the first core's. ~0: the end */
	bool ready;    /* the other thread runs on its core, or has failed to get there */
	bool failed;
	uint64_t t1, t2;
};

static bool run_on(unsigned core)
{
	cpu_set_t *set = CPU_ALLOC(core + 1);
	size_t size = CPU_ALLOC_SIZE(core + 1);
	bool ok;

	if (!set)
		return false;
	CPU_ZERO_S(size, set);
	CPU_SET_S(core, size, set);
	ok = sched_setaffinity(0, size, set) == 0;
	CPU_FREE(set);
	return ok;
}

static void *answer(void *exchange)
{
	struct exchange *x = exchange;
	uint32_t next = 1;

	if (!run_on(x->core))
		__atomic_store_n(&x->failed, true, __ATOMIC_RELEASE);
	__atomic_store_n(&x->ready, true, __ATOMIC_RELEASE);
	for (;;) {
		uint32_t turn = __atomic_load_n(&x->turn, __ATOMIC_ACQUIRE);

		if (turn == ~0u)
			return NULL;
		if (turn != next) {
			dt_cpu_pause();
			continue;
		}
		x->t1 = dt_ticks_ordered();
		x->t2 = dt_ticks_ordered();
		/* an answer that comes too late must not overwrite the ~0 that ends it */
		__atomic_compare_exchange_n(&x->turn, &turn, next + 1, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED);
		next += 2;
	}
}

void dt_offset_take(struct dt_offset *best, uint64_t t0, uint64_t t1, uint64_t t2, uint64_t t3)
{
	uint64_t error = dt_offset_error(t0, t1, t2, t3);

	if (error < best->error) {
		best->error = error;
		best->ahead = dt_offset(t0, t1, t2, t3);
	}
}

/* Makes the exchanges, on the first core. */
static void ask(struct exchange *x, struct dt_offset *best, uint64_t patience)
{
	uint64_t begin = dt_ticks_ordered();

	for (uint32_t i = 0; i < ROUNDS && best->error > GOOD; i++) {
		uint64_t t0 = dt_ticks_ordered(), t3;

		__atomic_store_n(&x->turn, 2 * i + 1, __ATOMIC_RELEASE);
		do {
			dt_cpu_pause();
			t3 = dt_ticks_ordered();
			if (t3 - begin > patience)
				return;
		} while (__atomic_load_n(&x->turn, __ATOMIC_ACQUIRE) != 2 * i + 2);
		t3 = dt_ticks_ordered();
		dt_offset_take(best, t0, x->t1, x->t2, t3);
	}
}

static void measure(struct dt_offset *offset, unsigned core, uint64_t patience)
{
	struct exchange x = {.core = core};
	pthread_t thread;

	if (pthread_create(&thread, NULL, answer, &x) != 0)
		return;
	while (!__atomic_load_n(&x.ready, __ATOMIC_ACQUIRE))
		sched_yield();
	if (!x.failed)
		ask(&x, offset, patience);
	__atomic_store_n(&x.turn, ~0u, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

bool dt_offsets_measure(struct dt_offset *offset, unsigned cores, uint64_t patience)
{
	cpu_set_t before;
	unsigned first = 0;

	for (unsigned i = 0; i < cores; i++)
		offset[i] = (struct dt_offset){0, ~0ull};
	if (sched_getaffinity(0, sizeof(before), &before) < 0)
		return false;
	while (first < cores && !run_on(first))
		first++;
	if (first == cores)
		return false;
	offset[first].error = 0;
	for (unsigned i = first + 1; i < cores; i++)
		measure(&offset[i], i, patience);
	sched_setaffinity(0, sizeof(before), &before);
	return true;
}

int64_t dt_offset_correction(const struct dt_offset *o)
{
	uint64_t size = o->ahead < 0 ? -(uint64_t)o->ahead : (uint64_t)o->ahead;

	return o->error != ~0ull && size > o->error ? o->ahead : 0;
}
