/* SPDX-License-Identifier: MIT */
/*
 * The sieve's triggers: what is done at the first call that words mean. Each is a sum that counts
 * such calls (filter/sums.h); when the count is not 0 any more, it acts.
 */
#include "session/sieve-work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

#include "session/lives.h"
#include "session/snapshot.h"

/* Sends a signal to the process of a thread, if that is traced: nothing that a program writes into
 * its rings may reach another one. */
static void send(struct dt_sieve *v, uint32_t pid, int number)
{
	struct dt_session *s = v->session;
	const struct dt_target *t = pid ? dt_lives_target(s, pid) : NULL;
	struct dt_results *r = &s->results;

	if (t && t->pidfd >= 0 && pidfd_send_signal(t->pidfd, number, NULL, 0) == 0)
		return;
	dt_format(r->unsignalled, sizeof(r->unsignalled),
		  "signal %s was not sent: the process of the call is %s",
		  sigabbrev_np(number) ? sigabbrev_np(number) : "?",
		  !t		   ? "not known, or has ended"
		  : t->pidfd < 0   ? "not to be reached (no pidfd)"
		  : errno == EPERM ? "not ours to signal"
				   : "gone");
}

void dt_sieve_act(struct dt_sieve *v, const struct dt_call *c, uint32_t pid)
{
	struct dt_session *s = v->session;
	char call[200];
	const char *name = c->function < v->functions ? v->function[c->function].name : NULL;

	for (size_t i = 0; i < v->words.n; i++) {
		struct dt_sieve_word *w = &v->words.at[i];

		if (w->signal == DT_SIEVE_SUM || w->signal == DT_SIEVE_BACKTRACE || w->acted ||
		    !dt_sums_totals(v->sums, i).calls)
			continue;
		w->acted = true;
		dt_format(call, sizeof(call), "a call of %.100s in thread %u that took %lu us",
			  name ? name : "?", dt_lives_number(s, c->tid),
			  (unsigned long)((double)dt_call_ticks(c) / s->ticks_per_ns / 1000));
		if (w->signal == DT_SIEVE_SNAPSHOT) {
			dt_snapshot_ask(s, w->file, call);
			continue;
		}
		if (w->signal != DT_SIEVE_UNTIL) {
			send(v, pid, w->signal);
			continue;
		}
		dt_format(s->results.until, sizeof(s->results.until), "%s", call);
		atomic_store(&s->quit, true);
		dt_shared_bell_ring(&s->targets.shared);
	}
}
