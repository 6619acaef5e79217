/* SPDX-License-Identifier: MIT */
/* What the words of a recording name that has never been met. */
#include "session/sieve-work.h"

#include <string.h>

#include "filter/unmet.h"

struct teller {
	const struct dt_say *say;
	const char *option, *words;
};

static void tell(void *ctx, const char *text)
{
	const struct teller *t = ctx;

	dt_say(t->say, "%s '%s': %s", t->option, t->words, text);
}

static const char *option_of(const struct dt_sieve_word *w)
{
	return w->signal == DT_SIEVE_SUM	? "--sum"
	       : w->signal == DT_SIEVE_UNTIL	? "--until"
	       : w->signal == DT_SIEVE_SNAPSHOT ? "--snapshot"
						: "--signal";
}

void dt_sieve_unmet(const struct dt_sieve *v, const struct dt_say *say)
{
	struct teller t = {.say = say, .option = "--filter", .words = v->chosen};
	struct dt_unmet u = {
		.meanings = &v->meanings, .rows = v->functions, .say = tell, .ctx = &t};

	if (v->session->options.filter)
		dt_unmet_filter(&u, v->filter);
	for (size_t i = 0; i < v->words.n; i++) {
		if (i + 1 == v->words.backtrace) /* session/results.c */
			continue;
		t.option = option_of(&v->words.at[i]);
		t.words = dt_sieve_item(v, i).words;
		dt_unmet_sum(&u, dt_sums_words(v->sums, i), dt_sums_filter(v->sums, i));
	}
}
