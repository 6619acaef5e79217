/* SPDX-License-Identifier: MIT */
#include "session/snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "session/clock.h"
#include "session/sieve.h"
#include "session/state.h"
#include "session/throttle.h"
#include "store/copy.h"

#define WAIT_MS 600000u /* for one that is being written, at most */

struct dt_snapshot {
	struct dt_snapshot *next;
	uint64_t number;
	char *from, *to;
	char why[200];
	struct dt_error error;
	bool failed;
	atomic_bool done;
};

/* One is over: notes what has come of it. */
static void note(struct dt_session *s, struct dt_snapshot *p)
{
	char *to = s->results.snapshots;
	size_t n = strlen(to), room = sizeof(s->results.snapshots) - n;

	s->snapshots.over = p->number;
	s->snapshots.failed = p->failed;
	s->snapshots.error = p->error;
	if (room > 1 && p->failed)
		dt_format(to + n, room, "%sno snapshot: %s", n ? "\n" : "", p->error.text);
	else if (room > 1)
		dt_format(to + n, room, "%ssnapshot %s: as of %s", n ? "\n" : "", p->to, p->why);
	free(p->from);
	free(p->to);
	free(p);
}

uint64_t dt_snapshot_ask(struct dt_session *s, const char *path, const char *why)
{
	struct dt_snapshot *p = calloc(1, sizeof(*p)), **last = &s->snapshots.due;

	if (!p)
		return 0;
	p->number = ++s->snapshots.asked;
	p->to = strdup(path);
	p->from = strdup(s->options.output);
	dt_format(p->why, sizeof(p->why), "%s", why);
	while (*last)
		last = &(*last)->next;
	*last = p;
	return p->number;
}

static void *write_snapshot(void *ctx)
{
	struct dt_snapshot *p = ctx;

	p->failed = !p->from || !p->to ? dt_fail(&p->error, "out of memory")
				       : dt_copy_snapshot(p->from, p->to, p->why, &p->error);
	atomic_store(&p->done, true);
	return NULL;
}

/* The thread has ended, or ends now. */
static void finish(struct dt_session *s)
{
	struct dt_snapshot *p = s->snapshots.now;

	pthread_join(s->snapshots.thread, NULL);
	s->snapshots.now = NULL;
	note(s, p);
}

/* Puts all records so far into the file. */
static int update(struct dt_session *s, struct dt_error *e)
{
	uint64_t until = s->read_until, now = dt_ticks();
	char text[32];

	dt_throttle_note(s);
	until = until < now ? until : now;
	/* what is held undecided belongs to it */
	if (s->sieve && dt_sieve_settle(s->sieve, e))
		return -1;
	if (s->sieve)
		until = dt_sieve_until(s->sieve, until);
	dt_format(text, sizeof(text), "%lu", (unsigned long)until);
	dt_clock_store(s);
	if (dt_store_meta(s->store, "whole_until", text, e) ||
	    (s->sieve && dt_sieve_account(s->sieve, DT_SIEVE_SNAPSHOT, e)))
		return -1;
	return dt_store_show(s->store, e);
}

/* Has a thread write the first that is due, once the file has all records so far. */
static int begin(struct dt_session *s, struct dt_error *e)
{
	struct dt_snapshot *p = s->snapshots.due;

	if (update(s, e))
		return -1;
	s->snapshots.due = p->next;
	if (pthread_create(&s->snapshots.thread, NULL, write_snapshot, p) == 0) {
		s->snapshots.now = p;
		return 0;
	}
	p->failed = dt_fail(&p->error, "%s: no thread to write it", p->to ? p->to : "?");
	note(s, p);
	return 0;
}

int dt_snapshot_turn(struct dt_session *s, struct dt_error *e)
{
	if (s->snapshots.now && atomic_load(&s->snapshots.now->done))
		finish(s);
	return s->snapshots.due && !s->snapshots.now ? begin(s, e) : 0;
}

int dt_snapshot_wait(struct dt_session *s, uint64_t number, struct dt_error *e)
{
	for (unsigned ms = 0; s->snapshots.over < number && ms < WAIT_MS && !s->ending &&
			      !atomic_load(&s->recorder_failed);
	     ms += 5) {
		pthread_mutex_unlock(&s->lock);
		dt_shared_bell_ring(&s->targets.shared);
		nanosleep(&(struct timespec){0, 5000000}, NULL);
		pthread_mutex_lock(&s->lock);
	}
	if (!number || s->snapshots.over < number)
		return dt_fail(e, "the snapshot has not been written: the session ends, or it "
				  "takes too long");
	/* those that calls have asked for may have come behind it */
	return s->snapshots.over == number && s->snapshots.failed
		       ? dt_fail(e, "%s", s->snapshots.error.text)
		       : 0;
}

void dt_snapshot_end(struct dt_session *s)
{
	while (s->snapshots.now || s->snapshots.due) {
		struct dt_snapshot *p = s->snapshots.due;

		if (s->snapshots.now) {
			finish(s);
		} else if (begin(s, &p->error) < 0) {
			s->snapshots.due = p->next;
			p->failed = true;
			note(s, p);
		}
	}
}
