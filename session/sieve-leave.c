/* SPDX-License-Identifier: MIT */
/*
 * Processes that have ended: what the sieve has of their threads goes, so that it does not grow
 * with the number of processes that there have been. It is kept until their records have all been
 * decided about and put into the file, since putting one asks where it comes from.
 */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

struct sieve_leaver {
	uint32_t pid;
	uint64_t ticks; /* no record of it is later */
};

void dt_sieve_leave(struct dt_sieve *v, uint32_t pid, uint64_t ticks)
{
	struct sieve_leaver *more;

	if (v->leavers == v->leaver_room) {
		size_t room = v->leaver_room ? 2 * v->leaver_room : 16;

		more = realloc(v->leaver, room * sizeof(*more));
		if (!more)
			return; /* what there is of it stays */
		v->leaver = more;
		v->leaver_room = room;
	}
	v->leaver[v->leavers++] = (struct sieve_leaver){pid, ticks};
}

void dt_sieve_describe(struct dt_sieve *v)
{
	struct dt_store_place place;

	for (unsigned i = 0; i < v->lanes; i++) {
		const struct lane *l = &v->lane[i];

		for (uint64_t at = l->begin; at < l->end; at++)
			dt_store_place(v->session->store, lane_record(l, at), &place, NULL);
	}
}

/* Returns the time before which all records have been put. */
static uint64_t put_until(const struct dt_sieve *v)
{
	uint64_t until = v->clock;

	for (unsigned i = 0; i < v->lanes; i++) {
		const struct lane *l = &v->lane[i];

		if (l->begin < l->end && lane_record(l, l->begin)->ticks < until)
			until = lane_record(l, l->begin)->ticks;
	}
	return until;
}

/* Tells whether a process is one of the first n that have ended. */
static bool has_left(const struct dt_sieve *v, size_t n, uint32_t pid)
{
	for (size_t i = 0; pid && i < n; i++)
		if (v->leaver[i].pid == pid)
			return true;
	return false;
}

static uint32_t process_of(const struct dt_sieve *v, const struct sieve_thread *t)
{
	return t->key >> 32 ? 0 : dt_store_pid(v->session->store, (uint32_t)t->key);
}

static void close_threads(struct dt_sieve *v, size_t n)
{
	for (size_t i = 0; i < v->thread_room; i++)
		if (v->thread[i] && has_left(v, n, process_of(v, v->thread[i]))) {
			dt_sieve_close(v, v->thread[i]);
			dt_sieve_free_thread(v, v->thread[i]);
			v->thread[i] = NULL;
		}
	dt_sieve_pack_threads(v);
}

static void forget_programs(struct dt_sieve *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->programs; i++)
		if (has_left(v, n, v->program[i].pid))
			free(v->program[i].exe);
		else
			v->program[kept++] = v->program[i];
	v->programs = kept;
}

void dt_sieve_left(struct dt_sieve *v)
{
	uint64_t until;
	size_t n = 0;

	if (!v->leavers)
		return;
	until = put_until(v);
	/* they have been noted in the order of time */
	while (n < v->leavers && v->leaver[n].ticks < until)
		n++;
	if (!n)
		return;
	close_threads(v, n);
	forget_programs(v, n);
	for (size_t i = 0; i < n; i++)
		dt_store_leave(v->session->store, v->leaver[i].pid);
	v->leavers -= n;
	memmove(v->leaver, v->leaver + n, v->leavers * sizeof(*v->leaver));
}
