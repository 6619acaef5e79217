/* SPDX-License-Identifier: MIT */
/*
 * The sieve's triggers: what is done at the first call that words mean. Each is a sum that counts
 * such calls (filter/sums.h); when the count is not 0 any more, it acts.
 */
#include "session/device.h"
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

int dt_sieve_refuse_missing(const struct dt_filter *f, struct dt_error *e)
{
	const char *word = f ? dt_filter_beyond_missing(f) : NULL;

	if (word)
		return dt_fail(e,
			       "%s: with a budget, calls of functions that are off are not seen "
			       "around others; in:FUNCTION can be waited for",
			       word);
	return f && dt_filter_names(f)
		       ? 0
		       : dt_fail(e,
				 "with a budget, what is waited for has to name functions, as in "
				 "'open time>10ms': these are never off, of others calls would be "
				 "missed");
}

uint64_t dt_sieve_changes(const struct dt_sieve *v)
{
	return v->words.changes;
}

bool dt_sieve_waits_for(const struct dt_sieve *v, uint32_t function)
{
	const char *name = function < v->functions ? v->function[function].name : NULL;
	bool waits = false;

	for (size_t i = 0; i < v->words.n; i++) {
		const struct dt_sieve_word *w = &v->words.at[i];
		struct dt_filter *f = dt_sums_filter(v->sums, i);

		if (w->signal == DT_SIEVE_SUM || w->signal == DT_SIEVE_BACKTRACE || w->acted || !f)
			continue;
		/* a part that the compiler split off may have a function's exit; it is rarely hot
		 */
		waits |= dt_filter_is_named(f, function) || (name && strstr(name, ".cold"));
	}
	return waits;
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
		v->words.changes++;
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
		dt_session_device_news(s, "over\n");
		dt_shared_bell_ring(&s->targets.shared);
	}
}
