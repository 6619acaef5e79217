/* SPDX-License-Identifier: MIT */
/* Other words for a sieve while it chooses. */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#include "session/describe.h"
#include "session/processes.h"
#include "session/thread-table.h"

/* The file's meta value of all words that it was recorded with, at most. */
#define WORDS_MAX 8192

/* Adds words to those that the file says it was recorded with. */
static void note_words(struct dt_sieve *v, const char *words)
{
	const char *before = dt_sieve_said(v);
	size_t room = strlen(before) + strlen(words) + 32;
	char *more = room < WORDS_MAX ? malloc(room) : NULL;

	if (!more)
		return; /* the table `change' has them, too */
	dt_format(more, room, "%s, then %s", before, *words ? words : "all calls");
	free(v->said);
	v->said = more;
	if (!v->session->has_log)
		dt_store_meta(v->session->store, "filter", more, NULL);
}

/*
 * Goes through the open calls: those whose end should decide are written, since they were begun
 * under other words, and what those in them may know of the calls around is found anew.
 */
static void reopen(struct dt_sieve *v)
{
	for (size_t i = 0; i < v->thread_room; i++) {
		struct sieve_thread *t = v->thread[i];

		if (t)
			dt_sieve_decide(v, t->alone.verdict, true);
		if (t && t->in_request)
			dt_sieve_request_end(v, t);
		for (uint32_t k = 0; t && k < t->stacks; k++) {
			struct stack *s = t->stack[k];
			uint32_t around = dt_filter_nobody(v->filter);

			s->around = (uint8_t)around;
			for (uint32_t n = 0; n < s->n; n++) {
				struct frame *f = &s->frame[n];

				dt_sieve_decide(v, f->verdict, true);
				f->request = f->within = false;
				around = dt_filter_around(v->filter, around, f->function);
				f->around = (uint8_t)around;
			}
		}
	}
}

const char *dt_sieve_chosen(const struct dt_sieve *v)
{
	return v->chosen ? v->chosen : "";
}

int dt_sieve_change(struct dt_sieve *v, const char *words, struct dt_error *e)
{
	struct dt_filter *f;
	char *copy;

	if (v->one_rule && v->session->options.sums)
		return dt_fail(e, "filter: this session writes sums only, no calls (--sum without "
				  "--filter)");
	if (dt_sieve_check(words, e) < 0 || !(f = dt_sieve_filter(v, words, e)))
		return -1;
	copy = strdup(words);
	if (!copy) {
		dt_filter_free(f);
		return dt_fail(e, "out of memory");
	}
	dt_sieve_early_end(v);
	free(v->chosen);
	v->chosen = copy;
	dt_filter_free(v->filter);
	v->filter = f;
	v->one_rule = false;
	dt_sieve_sums_texts(v);
	v->looks_at_end = dt_filter_looks_at_end(f);
	v->anywhere = dt_filter_anywhere(f);
	v->requests = dt_filter_has_requests(f);
	v->least = (uint64_t)dt_filter_least(f);
	memset(v->place, 0, sizeof(v->place)); /* that has what the words before wanted */
	note_words(v, words);
	reopen(v);
	return 0;
}

static void add_function(void *ctx, int64_t row, const struct dt_function_row *f)
{
	dt_sieve_function(ctx, row, f);
}

/* Gives a session without a file a store that knows what its records come from. */
static int describe_session(struct dt_session *s, struct dt_error *e)
{
	s->store = dt_store_create_memory(dt_describe, s, e);
	if (!s->store)
		return -1;
	for (struct dt_target *t = s->first; t; t = t->next) {
		if (!t->ended)
			dt_process_note(s, t);
		dt_process_note_modules(s, t);
	}
	dt_thread_table_store(s);
	return 0;
}

struct dt_sieve *dt_sieve_late(struct dt_session *s, struct dt_error *e)
{
	struct dt_sieve *v;

	if ((!s->store && describe_session(s, e)) || !(v = dt_sieve_new(s, e)))
		return NULL;
	v->late = true;
	if (dt_store_functions(s->store, add_function, v, e) < 0) {
		dt_sieve_free(v);
		return NULL;
	}
	for (const struct dt_target *t = s->first; t; t = t->next) {
		char exe[4096], cmdline[16];

		dt_process_program(t->pid, exe, sizeof(exe), cmdline, sizeof(cmdline));
		dt_sieve_process(v, t->id, exe);
	}
	return v;
}
