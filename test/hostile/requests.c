/* SPDX-License-Identifier: MIT */
/*
 * Messages to the controller as a traced thread sends them, but with another process's number, with
 * another's memory, with proofs that are guessed; and words of the memory as they were before.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/control.h"
#include "spoil.h"

static pid_t some_process(pid_t victim)
{
	switch (next() % 6) {
	case 0:
		return getpid();
	case 1:
		return getppid();
	case 2:
		return 1;
	case 3:
		return (pid_t)next();
	default:
		return victim;
	}
}

/* What may be an area: this process's own, which lies before its session's memory; something else
 * of its own; anything. */
static uint64_t some_area(void)
{
	uint64_t at = (uint64_t)(uintptr_t)memory;

	switch (next() % 5) {
	case 0:
		return next();
	case 1:
		return at;
	case 2:
		return (uint64_t)(uintptr_t)&some_area & ~4095ull;
	default:
		return (at - (next() % 2 ? 4096 * (next() % 1024) : 0)) & ~((1ull << 21) - 1);
	}
}

static uint32_t some_proof(const struct dt_control *c)
{
	uint32_t last = c->proofs;

	switch (next() % 4) {
	case 0:
		return 0;
	case 1:
		return last + 1;
	case 2:
		return (uint32_t)next();
	default:
		return last - (uint32_t)(next() % 8);
	}
}

void requests_forge(pid_t victim)
{
	struct dt_control *c = (struct dt_control *)memory;
	static char path[] = "/bin/true";

	for (unsigned i = 0; i < DT_REQUESTS; i++) {
		struct dt_request *q = &c->request[i];

		/* also some that wait for an answer, which is another's then */
		if (q->state != DT_REQUEST_FREE && next() % 8)
			continue;
		q->kind = (uint32_t)(next() % (DT_REQUEST_STRANGE + 2));
		q->pid = (uint32_t)some_process(victim);
		q->tid = (uint32_t)(next() % 2 ? (pid_t)q->pid : some_process(victim));
		q->ppid = (uint32_t)some_process(victim);
		q->waited = (uint32_t)(next() % 2);
		q->area = next() % 4 ? q->area : some_area();
		q->fs = next() % 2 ? 0 : next();
		q->path = next() % 2 ? (uint64_t)(uintptr_t)path : next() % 2;
		q->dirfd = (int32_t)(next() % 4) - 1;
		q->proof = some_proof(c);
		__atomic_store_n(&q->state, DT_REQUEST_POSTED, __ATOMIC_RELEASE);
		if (next() % 16 == 0)
			break;
	}
	__atomic_add_fetch(&c->bell, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* ---- what was there before */

#define OLDS 4u

static uint64_t *old[OLDS];

static void keep(uint64_t *to)
{
	for (size_t i = 0; i < bytes / 8; i++)
		to[i] = memory[i];
}

static void put_back(const uint64_t *from, size_t at, size_t n)
{
	for (size_t i = at; i < at + n && i < bytes / 8; i++)
		memory[i] = from[i];
}

void requests_replay(void)
{
	struct dt_control *c = (struct dt_control *)memory;
	static struct dt_geometry geometry;
	unsigned i = (unsigned)(next() % OLDS);
	size_t ring;

	if (!geometry.cores) /* as it is at first */
		geometry = c->geometry;
	if (!geometry.cores || geometry.cores > 4096 || geometry.stride > bytes)
		return;
	if (!old[i]) {
		old[i] = malloc(bytes);
		if (old[i])
			keep(old[i]);
		return;
	}
	ring = (DT_CONTROL_SIZE + next() % (geometry.cores + 1) * geometry.stride) / 8;
	switch (next() % 6) {
	case 0: /* anew */
		keep(old[i]);
		return;
	case 1: /* the control block */
		put_back(old[i], 0, DT_CONTROL_SIZE / 8);
		return;
	case 2: /* a ring's head, */
		put_back(old[i], ring, sizeof(struct dt_ring) / 8);
		return;
	case 3: /* with all that is in it */
		put_back(old[i], ring, geometry.stride / 8);
		return;
	case 4:
		put_back(old[i], ring + next() % 24, 1);
		return;
	default:
		put_back(old[i], next() % (bytes / 8), 1 + next() % 64);
	}
}
