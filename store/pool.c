/* SPDX-License-Identifier: MIT */
#include "store/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <zstd.h>

#define IDLE_S 1    /* a thread that had nothing to do for so long ends */
#define SMALL  8192 /* records: a smaller chunk is not worth waking a thread */

enum job_state { WAITING, TAKEN, DONE };

struct job {
	struct dt_packed packed; /* its chunk is the job's; NULL: the place was never used */
	enum job_state state;
};

struct worker {
	pthread_t thread;
	enum { NEVER, RUNS, ENDED } state; /* RUNS and ENDED: has to be joined */
	struct dt_pool *pool;
};

/* Everything but the chunks that are TAKEN is used with the lock. Places of jobs are numbered from
 * the beginning on; those in use are [oldest, end), and number n is job[n % places]. */
struct dt_pool {
	pthread_mutex_t lock;
	pthread_cond_t work; /* there may be something to do for a thread */
	pthread_cond_t done; /* a chunk has been compressed */
	struct job *job;
	uint64_t oldest, next, end; /* next: the first that is WAITING */
	unsigned places;
	struct worker *worker;
	unsigned workers, running, idle; /* workers: how many there may be */
	bool stop;
	/* Contexts that nobody uses; one more than threads, since two may help at a time: the
	 * recorder without the session's lock, and who has that. */
	ZSTD_CCtx *context[DT_POOL_MOST + 1];
	unsigned contexts;
	struct dt_pool_counts counts;
};

static void lock(struct dt_pool *p)
{
	if (pthread_mutex_trylock(&p->lock) == 0)
		return;
	pthread_mutex_lock(&p->lock);
	p->counts.contended++;
}

static void unlock(struct dt_pool *p)
{
	pthread_mutex_unlock(&p->lock);
}

struct dt_pool *dt_pool_new(unsigned threads)
{
	struct dt_pool *p = calloc(1, sizeof(*p));
	pthread_condattr_t a;

	if (!p)
		return NULL;
	p->workers = threads - 1;
	p->places = 2 * threads;
	p->job = calloc(p->places, sizeof(*p->job));
	p->worker = calloc(p->workers, sizeof(*p->worker));
	if (!p->job || !p->worker) {
		free(p->job);
		free(p->worker);
		free(p);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&p->work, &a);
	pthread_cond_init(&p->done, &a);
	pthread_condattr_destroy(&a);
	return p;
}

void dt_pool_free(struct dt_pool *p)
{
	if (!p)
		return;
	lock(p);
	p->stop = true;
	pthread_cond_broadcast(&p->work);
	unlock(p);
	for (unsigned i = 0; i < p->workers; i++) {
		bool begun;

		lock(p);
		begun = p->worker[i].state != NEVER;
		unlock(p);
		if (begun)
			pthread_join(p->worker[i].thread, NULL);
	}
	for (unsigned i = 0; i < p->places; i++) {
		dt_encoder_free(p->job[i].packed.chunk);
		free(p->job[i].packed.events.p);
		free(p->job[i].packed.vals.p);
	}
	while (p->contexts)
		ZSTD_freeCCtx(p->context[--p->contexts]);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p->job);
	free(p->worker);
	free(p);
}

/* Compresses the next chunk that waits; there is one. With the lock, which is not held meanwhile.
 */
static void compress_next(struct dt_pool *p)
{
	struct job *j = &p->job[p->next++ % p->places];
	ZSTD_CCtx *context = p->contexts ? p->context[--p->contexts] : NULL;
	struct dt_packed *k = &j->packed;

	j->state = TAKEN;
	unlock(p);
	if (!context)
		context = dt_encoder_context();
	k->failed = !context ||
		    dt_encoder_finish(k->chunk, k->core, context, &k->events, &k->vals, NULL);
	lock(p);
	if (context && p->contexts < DT_POOL_MOST + 1)
		p->context[p->contexts++] = context;
	else
		ZSTD_freeCCtx(context);
	j->state = DONE;
	p->counts.chunks++;
	pthread_cond_broadcast(&p->done);
}

static void *worker_main(void *worker)
{
	struct worker *w = worker;
	struct dt_pool *p = w->pool;
	struct timespec until;
	int rc = 0;

	lock(p);
	while (!p->stop) {
		if (p->next < p->end) {
			compress_next(p);
			rc = 0;
			continue;
		}
		if (rc)
			break;
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec += IDLE_S;
		p->idle++;
		rc = pthread_cond_timedwait(&p->work, &p->lock, &until);
		p->idle--;
	}
	p->running--;
	w->state = ENDED;
	unlock(p);
	return NULL;
}

/* Begins a thread, if there may be one more. If that fails, those that help do its work. With the
 * lock. */
static void begin_worker(struct dt_pool *p)
{
	sigset_t all, before;
	struct worker *w = p->worker;

	if (p->running == p->workers)
		return;
	while (w->state == RUNS)
		w++;
	if (w->state == ENDED)
		pthread_join(w->thread, NULL); /* it has only to return */
	w->pool = p;
	/* signals are for other threads */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	w->state = pthread_create(&w->thread, NULL, worker_main, w) ? NEVER : RUNS;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (w->state == RUNS && ++p->running > p->counts.most)
		p->counts.most = p->running;
}

bool dt_pool_has_room(struct dt_pool *p)
{
	bool room;

	lock(p);
	room = p->end - p->oldest < p->places;
	unlock(p);
	return room;
}

int dt_pool_hand(struct dt_pool *p, struct dt_encoder **chunk, unsigned core, uint64_t first)
{
	struct job *j = &p->job[p->end % p->places]; /* nobody else's before `end' moves */
	struct dt_encoder *empty = j->packed.chunk;

	if (!empty && !(empty = dt_encoder_new()))
		return -1;
	dt_encoder_reset(empty);
	lock(p);
	j->packed.chunk = *chunk;
	j->packed.core = core;
	j->packed.first = first;
	j->state = WAITING;
	p->end++;
	if ((*chunk)->n >= SMALL) {
		if (p->idle)
			pthread_cond_signal(&p->work);
		if (p->end - p->next > p->idle)
			begin_worker(p);
	}
	unlock(p);
	*chunk = empty;
	return 0;
}

/* Compresses a chunk, or waits until another has been compressed. With the lock. */
static void go_on(struct dt_pool *p)
{
	if (p->next < p->end) {
		p->counts.helped++;
		compress_next(p);
	} else {
		p->counts.waits++;
		pthread_cond_wait(&p->done, &p->lock);
	}
}

const struct dt_packed *dt_pool_oldest(struct dt_pool *p, bool wait)
{
	struct job *j = &p->job[p->oldest % p->places];

	lock(p);
	if (p->oldest == p->end)
		j = NULL;
	while (j && j->state != DONE && wait)
		go_on(p);
	if (j && j->state != DONE)
		j = NULL;
	unlock(p);
	return j ? &j->packed : NULL;
}

void dt_pool_retire(struct dt_pool *p)
{
	lock(p);
	p->oldest++;
	unlock(p);
}

/* Returns how many places are free, or as good as free: what is in them has been compressed, and so
 * has all that was handed over before it. */
static unsigned room_soon(const struct dt_pool *p)
{
	uint64_t i = p->oldest;

	while (i < p->next && p->job[i % p->places].state == DONE)
		i++;
	return p->places - (unsigned)(p->end - i);
}

void dt_pool_help(struct dt_pool *p, unsigned room)
{
	lock(p);
	while (room_soon(p) < room)
		go_on(p);
	unlock(p);
}

void dt_pool_finish(struct dt_pool *p)
{
	dt_pool_help(p, p->places);
}

struct dt_pool_counts dt_pool_count(struct dt_pool *p)
{
	struct dt_pool_counts c;

	lock(p);
	c = p->counts;
	unlock(p);
	return c;
}
