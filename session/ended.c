/* SPDX-License-Identifier: MIT */
/* Processes that have ended: what they leave is kept until their records have been read. All of it
 * is the owner thread's. */
#include "session/ended.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "hook/target-modules.h"
#include "process/memory.h"
#include "session/domain.h"
#include "session/jit.h"
#include "session/processes.h"
#include "session/sieve.h"
#include "process/launch.h"

void dt_ended_look(struct dt_session *s)
{
	for (struct dt_target *t = s->first; t; t = t->next) {
		int status = -1;

		if (t->ended || !dt_target_gone(t))
			continue;
		dt_process_note_user(s, t); /* before it is waited for */
		if (t->ours && !dt_has_ended(t->pid, &status))
			continue;
		pthread_mutex_lock(&s->lock);
		dt_session_jit_end(s, t->pid);
		dt_target_end(t);
		if (s->store)
			dt_store_process_end(s->store, t->id, status, dt_ticks(), NULL);
		pthread_mutex_unlock(&s->lock);
	}
}

/*
 * Tells whether a living process has everything that this one had, at the same addresses. Then its
 * records can be described by that process, and children that it may have forked last find there
 * what they began with.
 */
static bool is_covered(const struct dt_session *s, const struct dt_target *t)
{
	if (t->n_gone || !t->n)
		return false;
	for (const struct dt_target *u = s->first; u; u = u->next) {
		size_t i = 0, k;

		if (u->ended || u->area != t->area || u->shared != t->shared)
			continue;
		for (; i < t->n; i++) {
			for (k = 0; k < u->n; k++)
				if (u->module[k].file == t->module[i].file &&
				    u->module[k].bias == t->module[i].bias)
					break;
			if (k == u->n)
				break;
		}
		if (i == t->n)
			return true;
	}
	return false;
}

/* Tells whether the rings of a domain have been read up to left_pos. What a flight recorder has
 * overwritten will not be read any more, and counts as read. */
static bool are_rings_read(const struct dt_domain *d)
{
	const struct dt_shared *g = d->shared;
	uint64_t size = g->geometry.ring_size;

	for (unsigned i = 0; i <= g->geometry.cores; i++) {
		const struct dt_ring_reader *r = &d->reader[i];
		uint64_t read = __atomic_load_n(&r->released, __ATOMIC_ACQUIRE),
			 pos = dt_shared_ring_pos(g, i);

		if (r->broken)
			continue;

		if (g->policy == DT_OVERWRITE && pos > size && pos - size > read)
			read = pos - size;
		if (read < d->left_pos[i])
			return false;
	}
	return true;
}

/* Tells whether every record has been read that there was when the leaving processes had ended. */
static bool is_read(struct dt_session *s)
{
	for (unsigned i = 0; i < s->domains; i++)
		if (!are_rings_read(s->domain[i]))
			return false;
	return !__atomic_load_n(&s->log_held, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&s->log_until, __ATOMIC_ACQUIRE) >= s->left_ticks;
}

/*
 * Frees everything of ended processes but what describes their records. Children that they may have
 * forked last find what they began with in a process that has the same. Where there is none, as
 * after an execve, they are first searched for; that goes through /proc, so it is done once a
 * second at most.
 */
static void fold_ended(struct dt_session *s)
{
	struct timespec now;
	bool alone = false;

	for (struct dt_target *t = s->first; t; t = t->next) {
		if (!t->ended || t->last)
			continue;
		if (is_covered(s, t)) {
			pthread_mutex_lock(&s->lock);
			dt_target_fold(t, &s->targets.files);
			pthread_mutex_unlock(&s->lock);
		} else {
			alone = true;
		}
	}
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	if (!alone || now.tv_sec == s->last_looked)
		return;
	s->last_looked = now.tv_sec;
	pthread_mutex_lock(&s->lock);
	dt_process_adopt_strays(s);
	for (struct dt_target *t = s->first; t; t = t->next)
		if (t->ended && !t->last)
			dt_target_fold(t, &s->targets.files);
	pthread_mutex_unlock(&s->lock);
	malloc_trim(0); /* each process had megabytes */
}

/* Gives up what the trace file and the sieve hold for a process, unless it goes on with another
 * program: an execve ends a target, and the next one has the same id. */
static void give_up(struct dt_session *s, const struct dt_target *t)
{
	for (const struct dt_target *u = s->first; u; u = u->next)
		if (u != t && u->id == t->id)
			return;
	if (s->sieve)
		dt_sieve_leave(s->sieve, t->id, dt_ticks());
	else if (s->store)
		dt_store_leave(s->store, t->id);
}

/* Lets go the processes whose records have been read. With a log, their names may still be asked
 * for. */
static void let_go(struct dt_session *s)
{
	if (s->sieve)
		dt_sieve_describe(s->sieve);
	for (struct dt_target **p = &s->first, *t; (t = *p) != NULL;) {
		if (t->leaving && !t->left)
			dt_target_leave(t);
		if (t->left && (!s->has_log || is_covered(s, t))) {
			*p = t->next;
			give_up(s, t);
			dt_target_close(t);
		} else {
			p = &t->next;
		}
	}
}

/* A server that forks for each connection has many ended processes, and so has a shell that starts
 * programs. */
void dt_ended_leave(struct dt_session *s)
{
	unsigned cores = s->targets.shared.geometry.cores;

	fold_ended(s);
	if (s->anybody_leaving) {
		if (!is_read(s))
			return;
		pthread_mutex_lock(&s->lock);
		let_go(s);
		pthread_mutex_unlock(&s->lock);
		s->anybody_leaving = false;
	}
	for (struct dt_target *t = s->first; t; t = t->next) {
		t->leaving = t->last && !t->left;
		s->anybody_leaving = s->anybody_leaving || t->leaving;
	}
	for (unsigned i = 0; s->anybody_leaving && i < s->domains; i++)
		for (unsigned k = 0; k <= cores; k++)
			s->domain[i]->left_pos[k] = dt_shared_ring_pos(s->domain[i]->shared, k);
	s->left_ticks = dt_ticks();
}
