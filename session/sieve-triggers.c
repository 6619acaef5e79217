/* SPDX-License-Identifier: MIT */
/*
 * The sieve's triggers: what is done at the first call that words mean. Each is a sum that counts
 * such calls (filter/sums.h); when the count is not 0 any more, it acts.
 */
#include "session/sieve-work.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>

#include "session/lives.h"

/* Returns the number of a signal called "STOP", "SIGSTOP" or "19", of n characters; 0: none. */
static int signal_of(const char *text, size_t n)
{
	char name[16];

	if (n == 0 || n >= sizeof(name))
		return 0;
	memcpy(name, text, n);
	name[n] = '\0';
	for (int i = 1; i < NSIG; i++) {
		const char *abbreviation = sigabbrev_np(i);
		char number[12];

		snprintf(number, sizeof(number), "%d", i);
		if (!strcmp(name, number) ||
		    (abbreviation &&
		     (!strcasecmp(name, abbreviation) ||
		      (!strncasecmp(name, "SIG", 3) && !strcasecmp(name + 3, abbreviation)))))
			return i;
	}
	return 0;
}

/* Adds a trigger and its sum, "count if WORDS". */
static int add(struct dt_sieve_words *w, int number, const char *words, struct dt_error *e)
{
	if (w->n == DT_SUMS_MOST)
		return dt_fail(e, "--sum, --until and --signal: %u of them together at most",
			       DT_SUMS_MOST);
	if (asprintf(&w->made[w->n], "count if %s", words) < 0) {
		w->made[w->n] = NULL;
		return dt_fail(e, "out of memory");
	}
	w->signal[w->n] = number;
	w->text[w->n] = w->made[w->n];
	w->n++;
	return 0;
}

static int add_signal(struct dt_sieve_words *w, const char *text, struct dt_error *e)
{
	size_t n = strcspn(text, " \t"), blanks = strspn(text + n, " \t");
	const char *rest = text + n + blanks;
	int number = signal_of(text, n);

	if (!number)
		return dt_fail(e, "--signal: %.*s is no signal; as in 'STOP if open result<0'",
			       n < 32 ? (int)n : 32, text);
	if (strncmp(rest, "if", 2) != 0 || !strchr(" \t", rest[2]) || !rest[2] ||
	    !rest[2 + strspn(rest + 2, " \t")])
		return dt_fail(e, "--signal: words are wanted, as in 'STOP if open result<0'");
	return add(w, number, rest + 3, e);
}

int dt_sieve_words(struct dt_sieve_words *w, const struct dt_options *o, struct dt_error *e)
{
	*w = (struct dt_sieve_words){.sums = o->sums};
	for (; w->n < o->sums && w->n < DT_SUMS_MOST; w->n++)
		w->text[w->n] = o->sum[w->n];
	if (o->until && !o->until[strspn(o->until, " \t")])
		return dt_fail(e, "--until: words are wanted, as in 'open result<0'");
	if (o->until && add(w, SIEVE_UNTIL, o->until, e))
		goto fail;
	for (size_t i = 0; i < o->signals; i++)
		if (add_signal(w, o->signal[i], e))
			goto fail;
	return 0;
fail:
	dt_sieve_words_free(w);
	return -1;
}

void dt_sieve_words_free(struct dt_sieve_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->made[i]);
	w->n = 0;
}

/* ---- acting ---- */

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
	const char *name = c->function < v->functions ? v->function[c->function].name : NULL;

	for (size_t i = v->words.sums; i < v->words.n; i++) {
		if (v->acted & 1u << i || !dt_sums_totals(v->sums, i).calls)
			continue;
		v->acted |= 1u << i;
		if (v->words.signal[i] != SIEVE_UNTIL) {
			send(v, pid, v->words.signal[i]);
			continue;
		}
		dt_format(s->results.until, sizeof(s->results.until),
			  "a call of %.100s in thread %u that took %lu us", name ? name : "?",
			  dt_lives_number(s, c->tid),
			  (unsigned long)((double)dt_call_ticks(c) / s->ticks_per_ns / 1000));
		atomic_store(&s->quit, true);
		dt_shared_bell_ring(&s->targets.shared);
	}
}
