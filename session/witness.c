/* SPDX-License-Identifier: MIT */
/* Looks at threads that wait. */
#include "session/witness.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "process/blocked.h"
#include "session/clock.h"
#include "store/store.h"

#define FIRST_NS 150000	    /* a wait that is younger is not looked at yet */
#define AGAIN	 8u	    /* it is looked at again when it is so many times as old */
#define A_ROUND	 16u	    /* looks in one round: the rings must not wait long */
#define A_SECOND 1000u	    /* looks in a second */
#define MOST	 1000000u   /* looks in a session: 50 to 100 MB of the trace */
#define THREADS	 (1u << 16) /* threads that are followed */
#define SOON_MS	 1	    /* between rounds while somebody waits who was not looked at */
#define LATER_MS 5	    /* otherwise: it is only known then that somebody waits */

struct waiting {
	uint32_t tid;	     /* 0: the place is free */
	uint64_t left, back; /* ticks: when it left a core, 0: it has not; when it came to one */
	uint64_t next;	     /* ticks after which it is to be looked at */
};

struct dt_witness {
	struct dt_session *session;
	struct waiting *thread; /* open addressing by tid */
	size_t threads, room;
	struct dt_blocked blocked;
	bool soon;	 /* somebody waits who has not been looked at */
	uint64_t second; /* ticks at which the present second began */
	unsigned looks;	 /* in it */
	uint64_t all;
};

struct dt_witness *dt_witness_new(struct dt_session *s)
{
	struct dt_witness *w = calloc(1, sizeof(*w));

	if (w)
		w->session = s;
	return w;
}

void dt_witness_free(struct dt_witness *w)
{
	if (!w)
		return;
	free(w->thread);
	free(w);
}

static struct waiting *place_of(struct waiting *thread, size_t room, uint32_t tid)
{
	size_t i = tid * 2654435761u & (room - 1);

	while (thread[i].tid && thread[i].tid != tid)
		i = (i + 1) & (room - 1);
	return &thread[i];
}

/* Makes room: those who do not wait are forgotten. False: there is none. */
static bool make_room(struct dt_witness *w)
{
	size_t room = w->room ? w->room : 64, left = 0;
	struct waiting *more;

	for (size_t i = 0; i < w->room; i++)
		left += w->thread[i].tid && w->thread[i].left;
	if (2 * left >= room)
		room *= 2;
	if (room > 2 * (size_t)THREADS || !(more = calloc(room, sizeof(*more))))
		return false;
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
	struct waiting *t;

	if (4 * (w->threads + 1) > 3 * w->room && !make_room(w))
		return NULL;
	t = place_of(w->thread, w->room, tid);
	if (!t->tid) {
		t->tid = tid;
		w->threads++;
	}
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
	} else if (r->ticks > t->back && !(r->flags & DT_PREEMPTED)) {
		t->left = r->ticks;
		t->next = r->ticks + ticks_of(w, FIRST_NS);
	}
}

void dt_witness_records(struct dt_witness *w, const struct dt_record *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r[i].kind == DT_SWITCH)
			note(w, &r[i]);
}

static bool may_look(struct dt_witness *w, uint64_t now)
{
	if (now - w->second > ticks_of(w, 1000000000)) {
		w->second = now;
		w->looks = 0;
	}
	return w->looks < A_SECOND && w->all < MOST;
}

static int write_row(struct dt_session *s, const struct dt_waited_row *row, struct dt_error *e)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = dt_store_waited(s->store, row, e);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int dt_witness_look(struct dt_witness *w, struct dt_error *e)
{
	unsigned left = A_ROUND;
	uint64_t now = dt_ticks();

	w->soon = false;
	for (size_t i = 0; i < w->room; i++) {
		struct waiting *t = &w->thread[i];
		char text[DT_BLOCKED_TEXT];
		struct dt_waited_row row = {.tid = t->tid, .text = text};

		if (!t->tid || !t->left)
			continue;
		w->soon |= t->next == t->left + ticks_of(w, FIRST_NS);
		if (now < t->next || !left || !may_look(w, now))
			continue;
		left--;
		w->looks++;
		row.begin = dt_ticks();
		/* it may be waiting for a processor by now */
		if (!dt_blocked_read(&w->blocked, (pid_t)t->tid, text)) {
			t->next = row.begin + ticks_of(w, FIRST_NS);
			continue;
		}
		t->next = now + (AGAIN - 1) * (now - t->left);
		row.end = now = dt_ticks();
		w->all++;
		if (write_row(w->session, &row, e) < 0)
			return -1;
	}
	return 0;
}

int dt_witness_patience(const struct dt_witness *w)
{
	return w->soon ? SOON_MS : LATER_MS;
}
