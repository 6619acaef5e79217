/* SPDX-License-Identifier: MIT */
/* The words of the sieve's sums and triggers, as options and commands have them. */
#include "session/sieve-work.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int dt_sieve_signal(const char *text, const char **words, struct dt_error *e)
{
	size_t n = strcspn(text, " \t"), blanks = strspn(text + n, " \t");
	const char *rest = text + n + blanks;
	int number = signal_of(text, n);

	if (!number)
		return dt_fail(e, "%.*s is no signal; as in 'STOP if open result<0'",
			       n < 32 ? (int)n : 32, text);
	if (strncmp(rest, "if", 2) != 0 || !rest[2] || !strchr(" \t", rest[2]) ||
	    !rest[2 + strspn(rest + 2, " \t")])
		return dt_fail(e, "words are wanted, as in 'STOP if open result<0'");
	*words = rest + 3;
	return number;
}

long dt_sieve_snapshot(const char *text, const char **words, struct dt_error *e)
{
	const char *condition = strstr(text, " if ");

	if (!condition || condition == text || !condition[4 + strspn(condition + 4, " \t")])
		return dt_fail(e, "a file and words are wanted, as in 'slow.db if open time>10ms'");
	*words = condition + 4;
	return condition - text;
}

/* ---- the list ---- */

static bool has_name(const struct dt_sieve_words *w, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->at[i].name, name))
			return true;
	return false;
}

int dt_sieve_words_add(struct dt_sieve_words *w, const char *name, int signal, const char *text,
		       struct dt_error *e)
{
	struct dt_sieve_word *a = &w->at[w->n];
	char number[DT_SIEVE_NAME];

	if (w->n == DT_SUMS_MOST)
		return dt_fail(
			e,
			"--sum, --until, --signal, --snapshot and --backtrace: %u of them together at most",
			DT_SUMS_MOST);
	if (signal == DT_SIEVE_SUM && !name) {
		do
			dt_format(number, sizeof(number), "%u", ++w->numbers);
		while (has_name(w, number));
		name = number;
	}
	*a = (struct dt_sieve_word){.signal = signal};
	if (asprintf(&a->text, "%s%s", signal == DT_SIEVE_SUM ? "" : DT_SIEVE_COUNT, text) < 0) {
		a->text = NULL;
		return dt_fail(e, "out of memory");
	}
	dt_format(a->name, sizeof(a->name), "%s", name ? name : "");
	w->n++;
	return 0;
}

void dt_sieve_words_remove(struct dt_sieve_words *w, size_t i)
{
	free(w->at[i].text);
	free(w->at[i].file);
	w->n--;
	w->backtrace -= i < w->backtrace;
	memmove(&w->at[i], &w->at[i + 1], (w->n - i) * sizeof(*w->at));
}

void dt_sieve_words_free(struct dt_sieve_words *w)
{
	while (w->n)
		dt_sieve_words_remove(w, w->n - 1);
}

int dt_sieve_words_file(struct dt_sieve_words *w, const char *file, size_t n, struct dt_error *e)
{
	w->at[w->n - 1].file = strndup(file, n);
	return w->at[w->n - 1].file ? 0 : dt_fail(e, "out of memory");
}

/* ---- options ---- */

static int add_signal(struct dt_sieve_words *w, const char *text, struct dt_error *e)
{
	struct dt_error why;
	const char *words;
	int number = dt_sieve_signal(text, &words, &why);

	return number < 0 ? dt_fail(e, "--signal: %s", why.text)
			  : dt_sieve_words_add(w, NULL, number, words, e);
}

static int add_snapshot(struct dt_sieve_words *w, const char *text, struct dt_error *e)
{
	struct dt_error why;
	const char *words;
	long n = dt_sieve_snapshot(text, &words, &why);

	if (n < 0)
		return dt_fail(e, "--snapshot: %s", why.text);
	return dt_sieve_words_add(w, NULL, DT_SIEVE_SNAPSHOT, words, e) ||
			       dt_sieve_words_file(w, text, (size_t)n, e)
		       ? -1
		       : 0;
}

int dt_sieve_words(struct dt_sieve_words *w, const struct dt_options *o, struct dt_error *e)
{
	*w = (struct dt_sieve_words){0};
	for (size_t i = 0; i < o->sums; i++)
		if (dt_sieve_words_add(w, NULL, DT_SIEVE_SUM, o->sum[i], e))
			goto fail;
	if (o->until && !o->until[strspn(o->until, " \t")]) {
		dt_fail(e, "--until: words are wanted, as in 'open result<0'");
		goto fail;
	}
	if (o->until && dt_sieve_words_add(w, NULL, DT_SIEVE_UNTIL, o->until, e))
		goto fail;
	for (size_t i = 0; i < o->signals; i++)
		if (add_signal(w, o->signal[i], e))
			goto fail;
	for (size_t i = 0; i < o->snapshots; i++)
		if (add_snapshot(w, o->snapshot[i], e))
			goto fail;
	if (o->backtrace) {
		if (!o->backtrace[strspn(o->backtrace, " \t")]) {
			dt_fail(e,
				"--backtrace: words are wanted, as in 'failed' or 'open result<0'");
			goto fail;
		}
		if (dt_sieve_words_add(w, NULL, DT_SIEVE_BACKTRACE, o->backtrace, e))
			goto fail;
		w->backtrace = w->n;
	}
	return 0;
fail:
	dt_sieve_words_free(w);
	return -1;
}
