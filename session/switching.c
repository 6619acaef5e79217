/* SPDX-License-Identifier: MIT */
/* How a session has context switches. */
#include "session/switching.h"

#include "arch/arch.h"
#include "process/status.h"
#include "store/store.h"

int dt_switching_begin(struct dt_session *s, unsigned cores, struct dt_error *e)
{
	const struct dt_options *o = &s->options;

	if (!o->switches)
		return 0;
	s->switches = dt_switches_open(cores,
				       o->wakers	     ? DT_SWITCHES_OTHERS
				       : o->switches_unasked ? DT_SWITCHES_CHEAP
							     : DT_SWITCHES_ASKED,
				       e);
	return s->switches ? 0 : -1;
}

int dt_switching_ready(struct dt_session *s, struct dt_error *e)
{
	if (!s->switches || !dt_switches_ready(s->switches, e))
		return 0;
	if (!s->options.switches_unasked)
		return -1;
	s->no_switches = *e;
	dt_switches_close(s->switches);
	s->switches = NULL;
	return 0;
}

int dt_switching_follow(struct dt_session *s, struct dt_target *t, uint64_t birth,
			struct dt_error *e)
{
	/*
	 * Who was made by a followed thread has its events, and would be told of twice; the kernel
	 * takes them away when a program begins that has more rights than who executed it.
	 */
	bool has = (t->forked && birth > s->switches_since) ||
		   ((t->executed ||
		     (t->descends && dt_status_made(t->pid) > s->switches_since_made)) &&
		    dt_status_secure(t->pid) == 0);
	int rc = dt_switches_add(s->switches, t->pid, has, e);

	if (!has)
		s->switches_since_made = dt_status_now(), s->switches_since = dt_ticks();
	return rc;
}

void dt_switching_store(struct dt_session *s)
{
	const char *why = s->no_switches.text;
	uint64_t over = 0;
	char text[32];

	if (s->switches && !(why = dt_switches_over(s->switches, &over)))
		return;
	if (!*why || s->switches_told)
		return;
	s->switches_told = true;
	dt_store_meta(s->store, "switches.end", why, NULL);
	if (!over)
		return;
	dt_format(text, sizeof(text), "%lu", (unsigned long)over);
	dt_store_meta(s->store, "switches.until", text, NULL);
}
