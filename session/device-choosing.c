/* SPDX-License-Identifier: MIT */
#include "session/device-choosing.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device-ranges.h"
#include "core/words.h"
#include "session/sieve.h"
#include "session/snapshot.h"
#include "session/state.h"

#define WORDS 4096u /* bytes of the words of a filter or sum */
#define ROWS  1000u /* of a sum that are shown, at most */

/* ---- what all of them need ---- */

/* Joins the words from the i-th on. */
static int join(char *text, char *const *word, unsigned i, unsigned n, struct dt_error *e)
{
	size_t at = 0;

	text[0] = '\0';
	for (unsigned k = i; k < n && at < WORDS; k++)
		at += dt_format(text + at, WORDS - at, "%s%s", k > i ? " " : "", word[k]);
	return at < WORDS ? 0 : dt_fail(e, "%s: the words are too long", word[0]);
}

/* Returns the sieve of the session; a new one, which is not the session's yet, if it has none. */
static struct dt_sieve *sieve_of(struct dt_session *s, struct dt_error *e)
{
	return s->sieve ? s->sieve : dt_sieve_late(s, e);
}

/* The command has been obeyed, or not (rc -1), by the sieve: it becomes the session's, or a new one
 * goes. Returns rc. */
static int done(struct dt_session *s, struct dt_sieve *v, int rc)
{
	if (rc == 0) {
		s->changed = true;
		__atomic_store_n(&s->sieve, v, __ATOMIC_RELEASE);
	} else if (v != s->sieve) {
		dt_sieve_free(v);
	}
	return rc;
}

static int refuse_budget(const char *command, struct dt_error *e)
{
	return dt_fail(
		e,
		"%s: this session has a budget: of functions that it has switched off, calls "
		"would be missing",
		command);
}

static int refuse(const struct dt_session *s, const char *command, struct dt_error *e)
{
	if (s->options.policy == DT_OVERWRITE && !dt_word_is(command, "filter"))
		return dt_fail(e,
			       "%s: this session reads its records at the end only (-p overwrite)",
			       command);
	if (s->throttle && (dt_word_is(command, "filter") || dt_word_is(command, "sum")))
		return refuse_budget(command, e);
	if (s->has_log && dt_word_is(command, "snapshot"))
		return dt_fail(e, "snapshot: this session has no trace file (-o)");
	return 0;
}

/* ---- filter ---- */

/* Says what is chosen by, or chooses by other words. */
static int filter(struct dt_session *s, const struct dt_asker *who, char *const *word, unsigned n,
		  struct dt_error *e)
{
	char words[WORDS];
	struct dt_sieve *v;

	if (n == 1 && !s->sieve)
		return dt_device_answer(who, "all calls are written");
	if (n == 1)
		return dt_device_answer(who, "%s: %lu calls left out", dt_sieve_said(s->sieve),
					(unsigned long)dt_sieve_counts(s->sieve).calls);
	if (join(words, word, 1, n, e) < 0)
		return -1;
	if (!strcmp(words, "-"))
		words[0] = '\0';
	if (!words[0] && !s->sieve)
		return 0;
	v = sieve_of(s, e);
	return v ? done(s, v, dt_sieve_change(v, words, e)) : -1;
}

/* ---- sum ---- */

/* Returns the place of the sum of that name; the number of all: there is none. */
static size_t find(const struct dt_session *s, const char *name)
{
	size_t i = 0, n = s->sieve ? dt_sieve_items(s->sieve) : 0;

	for (; i < n; i++) {
		struct dt_sieve_item a = dt_sieve_item(s->sieve, i);

		if (a.signal == DT_SIEVE_SUM && !strcmp(a.name, name))
			break;
	}
	return i;
}

static bool exists(const struct dt_session *s, size_t i)
{
	return s->sieve && i < dt_sieve_items(s->sieve);
}

static int list_sums(const struct dt_session *s, const struct dt_asker *who)
{
	bool any = false;

	for (size_t i = 0; exists(s, i); i++) {
		struct dt_sieve_item a = dt_sieve_item(s->sieve, i);

		if (a.signal != DT_SIEVE_SUM)
			continue;
		any = true;
		dt_device_answer(who, "%s: %s: %lu calls counted", a.name, a.words,
				 (unsigned long)a.calls);
	}
	return any ? 0 : dt_device_answer(who, "there are no sums");
}

/* Answers with the table of a sum. */
static int show_sum(const struct dt_session *s, const struct dt_asker *who, size_t i,
		    struct dt_error *e)
{
	char *text = dt_sieve_table(s->sieve, i, ROWS);

	if (!text)
		return dt_fail(e, "out of memory");
	if (who && who->answer)
		who->answer(who->ctx, text, strlen(text));
	free(text);
	return 0;
}

static int unknown(const struct dt_session *s, const char *name, struct dt_error *e)
{
	return dt_fail(e,
		       "sum: there is none called '%.40s'; sum without words lists them, and sum "
		       "NAME new WHAT by KEY if WORDS makes one",
		       name);
}

static bool is_name(const char *name)
{
	size_t n = 0;

	for (; name[n]; n++)
		if (!isalnum((unsigned char)name[n]) && !strchr("_.-", name[n]))
			return false;
	return n && n < DT_SIEVE_NAME;
}

/* Makes a sum of the words from the i-th on. name NULL: it gets a number, which is answered. */
static int new_sum(struct dt_session *s, const struct dt_asker *who, char *const *word, unsigned i,
		   unsigned n, const char *name, struct dt_error *e)
{
	char words[WORDS];
	struct dt_sieve *v;
	int rc;

	if (name && !is_name(name))
		return dt_fail(e,
			       "sum: '%.40s' is no name: letters, digits, '_', '.' and '-', up to "
			       "%u",
			       name, DT_SIEVE_NAME - 1);
	if (name && exists(s, find(s, name)))
		return dt_fail(e, "sum: there is one called '%s' already; sum %s remove", name,
			       name);
	if (join(words, word, i, n, e) < 0 || !(v = sieve_of(s, e)))
		return -1;
	rc = done(s, v, dt_sieve_add(v, name, DT_SIEVE_SUM, words, e));
	if (rc == 0 && !name)
		dt_device_answer(who, "%s", dt_sieve_item(v, dt_sieve_items(v) - 1).name);
	return rc;
}

static int sum(struct dt_session *s, const struct dt_asker *who, char *const *word, unsigned n,
	       struct dt_error *e)
{
	bool clear = n == 3 && dt_word_is(word[2], "clear");
	size_t i;

	if (n == 1)
		return list_sums(s, who);
	if (n > 2 && dt_word_is(word[2], "new"))
		return new_sum(s, who, word, 3, n, word[1], e);
	i = find(s, word[1]);
	if (clear || (n == 3 && dt_word_is(word[2], "remove"))) {
		if (!exists(s, i))
			return unknown(s, word[1], e);
		s->changed = true;
		return clear ? dt_sieve_clear(s->sieve, i, e) : dt_sieve_remove(s->sieve, i, e);
	}
	if (n == 2 && exists(s, i))
		return show_sum(s, who, i, e);
	/* one word is a name, so that a mistyped one is not taken for a value */
	if (n == 2 && !strpbrk(word[1], " \t("))
		return unknown(s, word[1], e);
	return new_sum(s, who, word, 1, n, NULL, e);
}

/* ---- triggers ---- */

static const char *signal_name(int signal)
{
	const char *name = sigabbrev_np(signal);

	return name ? name : "?";
}

enum kind { UNTIL, SIGNAL, SNAPSHOT };

static bool is_kind(const struct dt_sieve_item *a, enum kind kind)
{
	return kind == UNTIL	? a->signal == DT_SIEVE_UNTIL
	       : kind == SIGNAL ? a->signal > 0
				: a->signal == DT_SIEVE_SNAPSHOT;
}

static int list_triggers(const struct dt_session *s, const struct dt_asker *who, enum kind kind)
{
	static const char *const none[] = {"there are no words that end the recording",
					   "no signal is to be sent", "no snapshot is to be made"};
	bool any = false;

	for (size_t i = 0; exists(s, i); i++) {
		struct dt_sieve_item a = dt_sieve_item(s->sieve, i);

		if (!is_kind(&a, kind))
			continue;
		any = true;
		if (kind == UNTIL)
			dt_device_answer(who, "%s", a.words);
		else if (kind == SNAPSHOT)
			dt_device_answer(who, "%s if %s%s", a.file, a.words,
					 a.acted ? ": there has been such a call" : "");
		else
			dt_device_answer(who, "%s if %s%s", signal_name(a.signal), a.words,
					 a.acted ? ": it has been sent" : "");
	}
	return any ? 0 : dt_device_answer(who, "%s", none[kind]);
}

/* Takes away the triggers of that kind. */
static int remove_triggers(struct dt_session *s, enum kind kind, struct dt_error *e)
{
	for (size_t i = 0; exists(s, i);) {
		struct dt_sieve_item a = dt_sieve_item(s->sieve, i);

		if (!is_kind(&a, kind)) {
			i++;
			continue;
		}
		s->changed = true;
		if (dt_sieve_remove(s->sieve, i, e) < 0)
			return -1;
	}
	return 0;
}

static int until(struct dt_session *s, const struct dt_asker *who, char *const *word, unsigned n,
		 struct dt_error *e)
{
	char words[WORDS];
	struct dt_sieve *v;
	size_t before;

	if (n == 1)
		return list_triggers(s, who, UNTIL);
	if (join(words, word, 1, n, e) < 0)
		return -1;
	if (!strcmp(words, "-"))
		return remove_triggers(s, UNTIL, e);
	v = sieve_of(s, e);
	if (!v)
		return -1;
	if (done(s, v, dt_sieve_add(v, NULL, DT_SIEVE_UNTIL, words, e)) < 0)
		return -1;
	/* the one before is replaced */
	before = dt_sieve_items(v) - 1;
	for (size_t i = 0; i < before; i++)
		if (dt_sieve_item(v, i).signal == DT_SIEVE_UNTIL)
			return dt_sieve_remove(v, i, e);
	return 0;
}

static int send_signal(struct dt_session *s, const struct dt_asker *who, char *const *word,
		       unsigned n, struct dt_error *e)
{
	char text[WORDS];
	const char *words;
	struct dt_error why;
	struct dt_sieve *v;
	int number;

	if (n == 1)
		return list_triggers(s, who, SIGNAL);
	if (join(text, word, 1, n, e) < 0)
		return -1;
	if (!strcmp(text, "-"))
		return remove_triggers(s, SIGNAL, e);
	number = dt_sieve_signal(text, &words, &why);
	if (number < 0)
		return dt_fail(e, "signal: %s", why.text);
	for (size_t i = 0; exists(s, i); i++) {
		struct dt_sieve_item a = dt_sieve_item(s->sieve, i);

		/* the same again: it waits for the next call */
		if (a.signal == number && !strcmp(a.words, words)) {
			s->changed = true;
			return dt_sieve_clear(s->sieve, i, e);
		}
	}
	v = sieve_of(s, e);
	return v ? done(s, v, dt_sieve_add(v, NULL, number, words, e)) : -1;
}

/* Makes a snapshot now, or at a call. Files are named by their whole path, since the session's
 * folder is not that of whoever asks. */
static int snapshot(struct dt_session *s, const struct dt_asker *who, char *const *word, unsigned n,
		    struct dt_error *e)
{
	char text[WORDS];
	const char *words;
	struct dt_error why;
	struct dt_sieve *v;
	long length;

	if (n == 1)
		return list_triggers(s, who, SNAPSHOT);
	if (join(text, word, 1, n, e) < 0)
		return -1;
	if (!strcmp(text, "-"))
		return remove_triggers(s, SNAPSHOT, e);
	if (text[0] != '/')
		return dt_fail(e, "snapshot: the whole path of a file is wanted, as in /tmp/now.db "
				  "or '/tmp/slow.db if open time>10ms'");
	if (!strstr(text, " if ") &&
	    (strlen(text) < 3 || strcmp(text + strlen(text) - 3, " if") != 0)) {
		if (!s->recorder_runs)
			return dt_fail(e, "snapshot: nothing is being recorded");
		return dt_snapshot_wait(s, dt_snapshot_ask(s, text, "a command"), e);
	}
	length = dt_sieve_snapshot(text, &words, &why);
	if (length < 0)
		return dt_fail(e, "snapshot: %s", why.text);
	text[length] = '\0';
	for (size_t i = 0; exists(s, i); i++) {
		struct dt_sieve_item a = dt_sieve_item(s->sieve, i);

		if (is_kind(&a, SNAPSHOT) && !strcmp(a.words, words) && !strcmp(a.file, text)) {
			s->changed = true;
			return dt_sieve_clear(s->sieve, i, e);
		}
	}
	v = sieve_of(s, e);
	return v ? done(s, v, dt_sieve_add_snapshot(v, text, words, e)) : -1;
}

/* ---- all of them ---- */

int dt_device_choosing(struct dt_session *s, const struct dt_asker *who, char *const *word,
		       unsigned n, struct dt_error *e)
{
	static const struct {
		const char *name;
		int (*run)(struct dt_session *s, const struct dt_asker *who, char *const *word,
			   unsigned n, struct dt_error *e);
	} command[] = {{"filter", filter},
		       {"sum", sum},
		       {"until", until},
		       {"signal", send_signal},
		       {"snapshot", snapshot}};

	for (size_t i = 0; i < sizeof(command) / sizeof(*command); i++)
		if (dt_word_is(word[0], command[i].name))
			return refuse(s, word[0], e) < 0 ? -1 : command[i].run(s, who, word, n, e);
	return 1;
}

/* Calls `line' with text, as one word, behind what goes before it. */
static void say(void (*line)(void *to, const char *text, size_t n), void *to, const char *before,
		const char *text)
{
	size_t n = strlen(before), size = n + 2 * strlen(text) + 8;
	char *out = malloc(size);

	if (!out)
		return;
	memcpy(out, before, n);
	out[n++] = '\'';
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			out[n++] = '\'';
		out[n++] = *p;
	}
	out[n++] = '\'';
	out[n++] = '\n';
	line(to, out, n);
	free(out);
}

void dt_device_choosing_state(struct dt_session *s,
			      void (*line)(void *to, const char *text, size_t n), void *to)
{
	char before[80], both[2 * WORDS];

	if (s->sieve && *dt_sieve_chosen(s->sieve))
		say(line, to, "filter ", dt_sieve_chosen(s->sieve));
	for (size_t i = 0; exists(s, i); i++) {
		struct dt_sieve_item a = dt_sieve_item(s->sieve, i);

		if (a.signal == DT_SIEVE_BACKTRACE) /* no command gives it */
			continue;
		if (a.signal == DT_SIEVE_SUM)
			dt_format(before, sizeof(before), "sum %s new ", a.name);
		else if (a.signal == DT_SIEVE_UNTIL)
			dt_format(before, sizeof(before), "until ");
		else if (a.signal == DT_SIEVE_SNAPSHOT)
			dt_format(before, sizeof(before), "snapshot ");
		else
			dt_format(before, sizeof(before), "signal %s if ", signal_name(a.signal));
		if (a.signal == DT_SIEVE_SNAPSHOT)
			dt_format(both, sizeof(both), "%s if %s", a.file, a.words);
		say(line, to, before, a.signal == DT_SIEVE_SNAPSHOT ? both : a.words);
	}
}
