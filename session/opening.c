/* SPDX-License-Identifier: MIT */
#include "session/opening.h"

#include <sched.h>
#include <signal.h>

#include "session/describe.h"
#include "session/state.h"

/*
 * Returns how many threads compress records. Compressing is a quarter to a half of what the
 * recorder does, so two are what helps; the second one begins when a chunk is full and ends when it
 * has had nothing to do for a second.
 */
static unsigned compressors(const struct dt_options *o)
{
	cpu_set_t mine;

	if (o->recorder_threads)
		return o->recorder_threads;
	/* it fails where there are more cores than fit in */
	return sched_getaffinity(0, sizeof(mine), &mine) == 0 && CPU_COUNT(&mine) == 1 ? 1 : 2;
}

static void *make(void *opening)
{
	struct dt_opening *m = opening;
	const struct dt_options *o = &m->session->options;

	m->store = dt_store_create_late(o->output, o->keep_old, dt_describe, m->session, &m->error);
	if (m->store && dt_store_threads(m->store, compressors(o), &m->error) < 0) {
		dt_store_discard(m->store);
		m->store = NULL;
	}
	if (m->store && o->passing)
		dt_store_pass(m->store);
	return NULL;
}

void dt_opening_begin(struct dt_opening *m, struct dt_session *s)
{
	sigset_t all, before;

	*m = (struct dt_opening){.session = s, .begun = s->options.output != NULL};
	if (!m->begun)
		return;
	/* signals are for the thread that waits for processes */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	m->runs = pthread_create(&m->thread, NULL, make, m) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct dt_store *dt_opening_end(struct dt_opening *m, struct dt_error *e)
{
	if (!m->begun)
		return NULL;
	m->begun = false;
	if (m->runs)
		pthread_join(m->thread, NULL);
	else
		make(m);
	if (!m->store && e)
		*e = m->error;
	return m->store;
}
