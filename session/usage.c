/* SPDX-License-Identifier: MIT */
#include "session/usage.h"

#include <stdlib.h>

#include "arch/arch.h"
#include "process/now.h"
#include "process/status.h"
#include "session/state.h"
#include "store/store.h"

#define SHARE 100 /* one part of so many of the time may be spent here */

/* A process: what was read last, and whether that is in the file. */
struct used {
	uint32_t id; /* in the trace: session/lives.h */
	pid_t pid;
	struct dt_usage_row last;
	bool written, here; /* here: it is traced now */
};

struct dt_usage {
	struct used *process; /* by id, ascending */
	size_t n, room;
	uint64_t next; /* ns: when to look again */
};

struct dt_usage *dt_usage_new(void)
{
	return calloc(1, sizeof(struct dt_usage));
}

void dt_usage_free(struct dt_usage *u)
{
	if (u)
		free(u->process);
	free(u);
}

static int by_id(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Adds one that was not there. Without memory it is left out this time. */
static void add(struct dt_usage *u, uint32_t id, pid_t pid)
{
	if (u->n == u->room) {
		size_t room = u->room ? 2 * u->room : 16;
		struct used *more = realloc(u->process, room * sizeof(*more));

		if (!more)
			return;
		u->process = more;
		u->room = room;
	}
	u->process[u->n++] = (struct used){.id = id, .pid = pid, .here = true};
}

/* Brings the list up to date with the session's processes. */
static void list(struct dt_session *s, struct dt_usage *u)
{
	size_t old = u->n, n = 0;

	for (size_t i = 0; i < u->n; i++)
		u->process[i].here = false;
	pthread_mutex_lock(&s->lock);
	for (const struct dt_target *t = s->first; t; t = t->next) {
		const struct used key = {.id = t->id};
		struct used *x = t->ended || !old ? NULL
						  : bsearch(&key, u->process, old,
							    sizeof(*u->process), by_id);

		if (x)
			x->here = true;
		else if (!t->ended && t->id)
			add(u, t->id, t->pid);
	}
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < u->n; i++)
		if (u->process[i].here)
			u->process[n++] = u->process[i];
	u->n = n;
	if (n)
		qsort(u->process, n, sizeof(*u->process), by_id);
}

/* Reads one process, and writes what has changed: first what was read last, if that is not in the
 * file, so that it is known how long nothing did. */
static void look_at(struct dt_session *s, struct used *x)
{
	struct dt_usage_row now = {.pid = x->id, .ticks = dt_ticks()};
	bool known = x->last.ticks != 0;

	now.cpu_ns = dt_status_own(x->pid);
	if (!now.cpu_ns || !dt_status_memory(x->pid, &now.memory))
		return;
	if (known && now.cpu_ns == x->last.cpu_ns && now.memory == x->last.memory) {
		x->last = now;
		x->written = false;
		return;
	}
	/* an error is noticed where records are written to the same file */
	pthread_mutex_lock(&s->lock);
	if (known && !x->written)
		dt_store_usage(s->store, &x->last, NULL);
	dt_store_usage(s->store, &now, NULL);
	pthread_mutex_unlock(&s->lock);
	x->last = now;
	x->written = true;
}

void dt_usage_look(struct dt_session *s, struct dt_usage *u)
{
	uint64_t begin = dt_now_ns(), took;

	if (begin < u->next)
		return;
	list(s, u);
	for (size_t i = 0; i < u->n; i++)
		look_at(s, &u->process[i]);
	took = dt_now_ns() - begin;
	u->next = begin + (SHARE * took > DT_USAGE_MS * 1000000ull ? SHARE * took
								   : DT_USAGE_MS * 1000000ull);
}
