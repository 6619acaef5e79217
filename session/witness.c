/* SPDX-License-Identifier: MIT */
/* Looks at threads that wait. */
#include "session/witness.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/blocked.h"
#include "session/clock.h"
#include "session/lives.h"
#include "store/store.h"

#define FIRST_NS   150000     /* a wait that is younger is not looked at yet */
#define AGAIN	   8u	      /* it is looked at again when it is so many times as old */
#define A_ROUND	   16u	      /* looks in one round: the rings must not wait long */
#define A_SECOND   1000u      /* looks in a second */
#define MOST	   1000000u   /* looks in a session: 50 to 100 MB of the trace */
#define THREADS	   (1u << 16) /* threads that are followed */
#define FULL	   4096u      /* so many others come before room is looked for again */
#define SOON_MS	   1	      /* between rounds while somebody waits who was not looked at */
#define LATER_MS   5	      /* otherwise: it is only known then that somebody waits */
#define QUIET_MS   50	      /* where nobody has asked for switches, and none came for so long: */
#define QUIET_NS   1000000000
#define PATIENCE_S 1 /* for which the end of the session waits for a look to end */

struct waiting {
	uint32_t tid;	     /* 0: the place is free */
	uint64_t left, back; /* ticks: when it left a core, 0: it has not; when it came to one */
	uint64_t next;	     /* ticks after which it is to be looked at */
};

struct dt_witness {
	struct dt_session *session;
	pthread_t looker;
	pthread_cond_t stopped; /* told of `stop' */
	pthread_mutex_t lock; /* guards what follows; nobody takes the session's while it is held */
	struct waiting *thread; /* open addressing by tid */
	size_t threads, room;
	uint64_t noted; /* the tick at which switches came last */
	uint32_t full;	/* threads that there was no room for since somebody was last forgotten */
	bool soon;	/* somebody waits who has not been looked at */
	bool stop;	/* the session ends: it may have gone when a look is over */
	/* the looker's own */
	struct dt_blocked blocked;
	uint64_t second; /* ticks at which the present second began */
	unsigned looks;	 /* in it */
	uint64_t all;
};

static struct waiting *place_of(struct waiting *thread, size_t room, uint32_t tid)
{
	size_t i = tid * 2654435761u & (room - 1);

	while (thread[i].tid && thread[i].tid != tid)
		i = (i + 1) & (room - 1);
	return &thread[i];
}

/* Makes room: those who do not wait are forgotten. False: there is none. That is found out once for
 * many threads: it takes long. */
static bool make_room(struct dt_witness *w)
{
	size_t room = w->room ? w->room : 64, left = 0;
	struct waiting *more;

	if (w->full && w->full++ % FULL)
		return false;
	for (size_t i = 0; i < w->room; i++)
		left += w->thread[i].tid && w->thread[i].left;
	if (2 * left >= room)
		room *= 2;
	if (room > 2 * (size_t)THREADS || !(more = calloc(room, sizeof(*more)))) {
		w->full = 1;
		return false;
	}
	w->full = 0;
	for (size_t i = 0; i < w->room; i++)
		if (w->thread[i].tid && w->thread[i].left)
			*place_of(more, room, w->thread[i].tid) = w->thread[i];
	free(w->thread);
	w->thread = more;
	w->room = room;
	w->threads = left;
	return true;
}

static struct waiting *thread_of(struct dt_witness *w, uint32_t tid)
{
	struct waiting *t = w->room ? place_of(w->thread, w->room, tid) : NULL;

	if (t && t->tid)
		return t;
	if (4 * (w->threads + 1) > 3 * w->room && !make_room(w))
		return NULL;
	t = place_of(w->thread, w->room, tid);
	t->tid = tid;
	w->threads++;
	return t;
}

static uint64_t ticks_of(const struct dt_witness *w, uint64_t ns)
{
	return (uint64_t)((double)ns * w->session->ticks_per_ns);
}

/* The records of several cores come one core after the other: a thread may have come back already.
 */
static void note(struct dt_witness *w, const struct dt_record *r)
{
	bool out = r->value[0] == DT_NO_TID || (uint32_t)r->value[0] == DT_NO_TID;
	uint32_t tid = out ? (uint32_t)r->value[3] : r->tid;
	struct waiting *t;

	if (!tid || tid == DT_NO_TID || !(t = thread_of(w, tid)))
		return;
	if (!out) {
		t->back = r->ticks > t->back ? r->ticks : t->back;
		if (t->left <= t->back)
			t->left = 0;
	} else if (r->ticks > t->back && r->ticks > t->left && !(r->flags & DT_PREEMPTED)) {
		t->left = r->ticks;
		t->next = r->ticks + ticks_of(w, FIRST_NS);
	}
}

void dt_witness_records(struct dt_witness *w, const struct dt_record *r, size_t n)
{
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < n; i++)
		if (r[i].kind == DT_SWITCH) {
			w->noted = dt_ticks();
			note(w, &r[i]);
		}
	pthread_mutex_unlock(&w->lock);
}

/* ---- looking ---- */

static bool may_look(struct dt_witness *w, uint64_t now)
{
	if (now - w->second > ticks_of(w, 1000000000)) {
		w->second = now;
		w->looks = 0;
	}
	return w->looks < A_SECOND && w->all < MOST;
}

/* Returns the kernel's number of a thread, if it lives and is one of a traced process: a program
 * could say of any that it waits. 0: it is not. */
static pid_t traced(struct dt_session *s, uint32_t tid)
{
	uint32_t pid;
	bool is;
	pid_t number;

	pthread_mutex_lock(&s->lock);
	pid = s->store ? dt_store_pid(s->store, tid) : 0;
	is = pid && dt_lives_target(s, pid) && dt_lives_is_last(s, tid);
	number = is ? (pid_t)dt_lives_number(s, tid) : 0;
	pthread_mutex_unlock(&s->lock);
	return number;
}

/* Looks at one thread, which left its core at `left', and writes what it waits for. Returns the
 * ticks after which it is to be looked at again; 0: the witness is to stop. */
static uint64_t look_at(struct dt_witness *w, uint32_t tid, uint64_t left)
{
	struct dt_session *s = w->session;
	char text[DT_BLOCKED_TEXT];
	struct dt_waited_row row = {.tid = tid, .text = text, .begin = dt_ticks()};
	pid_t number = traced(s, tid);
	bool blocked, stop;
	int rc;

	if (!number)
		return UINT64_MAX;
	w->looks++;
	/* it may be waiting for a processor by now */
	blocked = dt_blocked_read(&w->blocked, number, text);
	row.end = dt_ticks();
	/* that may have taken any time */
	pthread_mutex_lock(&w->lock);
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	if (stop)
		return 0;
	if (!blocked)
		return row.begin + ticks_of(w, FIRST_NS);
	w->all++;
	pthread_mutex_lock(&s->lock);
	rc = dt_store_waited(s->store, &row, NULL);
	pthread_mutex_unlock(&s->lock);
	/* the recorder meets the same failure, and reports it */
	return rc < 0 ? 0 : row.begin + (AGAIN - 1) * (row.begin - left);
}

/* Finds threads that are to be looked at; returns how many, at most A_ROUND. With the lock. */
static unsigned find_due(struct dt_witness *w, struct waiting *due)
{
	uint64_t now = dt_ticks();
	unsigned n = 0;

	w->soon = false;
	for (size_t i = 0; i < w->room; i++) {
		const struct waiting *t = &w->thread[i];

		if (!t->tid || !t->left)
			continue;
		w->soon |= t->next == t->left + ticks_of(w, FIRST_NS);
		if (now >= t->next && n < A_ROUND)
			due[n++] = *t;
	}
	return n;
}

int dt_witness_patience(struct dt_witness *w)
{
	bool soon, quiet;

	pthread_mutex_lock(&w->lock);
	soon = w->soon;
	quiet = w->session->options.switches_unasked &&
		dt_ticks() - w->noted > ticks_of(w, QUIET_NS);
	pthread_mutex_unlock(&w->lock);
	return soon ? SOON_MS : quiet ? QUIET_MS : LATER_MS;
}

/* Has a thread looked at again at `next', if it is still in the same wait. */
static void set_next(struct dt_witness *w, const struct waiting *due, uint64_t next)
{
	struct waiting *t;

	pthread_mutex_lock(&w->lock);
	t = place_of(w->thread, w->room, due->tid);
	if (t->tid && t->left == due->left)
		t->next = next;
	pthread_mutex_unlock(&w->lock);
}

/* Waits for so long, or until the session ends: then true. */
static bool rest(struct dt_witness *w, int ms)
{
	struct timespec until;
	int rc = 0;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&w->lock);
	while (!w->stop && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&w->stopped, &w->lock, &until);
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	return stop;
}

static void *look(void *witness)
{
	struct dt_witness *w = witness;
	struct waiting due[A_ROUND];
	bool stop = false;

	while (!stop) {
		unsigned n;

		pthread_mutex_lock(&w->lock);
		stop = w->stop;
		n = stop ? 0 : find_due(w, due);
		pthread_mutex_unlock(&w->lock);
		for (unsigned i = 0; i < n && !stop && may_look(w, dt_ticks()); i++) {
			uint64_t next = look_at(w, due[i].tid, due[i].left);

			stop = !next;
			set_next(w, &due[i], next);
		}
		if (!stop)
			stop = rest(w, dt_witness_patience(w));
	}
	return NULL;
}

/* ---- making and ending ---- */

struct dt_witness *dt_witness_new(struct dt_session *s)
{
	struct dt_witness *w = calloc(1, sizeof(*w));
	pthread_condattr_t clock;
	sigset_t all, before;
	int rc;

	if (!w)
		return NULL;
	w->session = s;
	w->noted = dt_ticks();
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&w->stopped, &clock);
	pthread_condattr_destroy(&clock);
	/* signals are for the other threads */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = pthread_create(&w->looker, NULL, look, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!rc)
		return w;
	free(w);
	return NULL;
}

void dt_witness_free(struct dt_witness *w)
{
	struct timespec until;
	struct dt_results *r;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->stopped);
	pthread_mutex_unlock(&w->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	if (pthread_timedjoin_np(w->looker, NULL, &until) == 0) {
		free(w->thread);
		free(w);
		return;
	}
	/* what it has is left to it */
	pthread_detach(w->looker);
	r = &w->session->results;
	if (!r->note[0])
		dt_format(r->note, sizeof(r->note),
			  "what threads waited for is not known from some time on: looking at one "
			  "of them did not end");
}
