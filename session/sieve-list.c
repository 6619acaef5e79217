/* SPDX-License-Identifier: MIT */
/* The list of a sieve's sums and triggers, while it runs. */
#include "session/sieve-work.h"

#include <string.h>

#include "store/sums.h"

size_t dt_sieve_items(struct dt_sieve *v)
{
	dt_sieve_early_sums(v);
	return v->words.n;
}

struct dt_sieve_item dt_sieve_item(const struct dt_sieve *v, size_t i)
{
	const struct dt_sieve_word *w = &v->words.at[i];
	const char *words = w->text;

	if (w->signal != DT_SIEVE_SUM)
		words += strlen(DT_SIEVE_COUNT);
	return (struct dt_sieve_item){.name = w->name,
				      .words = words,
				      .file = w->file,
				      .signal = w->signal,
				      .acted = w->acted,
				      .calls = dt_sums_totals(v->sums, i).calls};
}

/* ---- what the open calls know of the sums ---- */

/* Has open calls know of the sum that has been added, as the last one. */
static void add_to_stack(struct dt_sieve *v, struct stack *s)
{
	uint32_t caller = s->note = dt_sums_note_with(v->sums, s->note, 0, 0);

	for (uint32_t n = 0; n < s->n; n++) {
		struct frame *f = &s->frame[n];

		caller = f->note = dt_sums_note_with(v->sums, f->note, caller, f->function);
	}
}

static void remove_from_stack(struct stack *s, size_t i)
{
	s->note = dt_sums_note_without(s->note, i);
	for (uint32_t n = 0; n < s->n; n++)
		s->frame[n].note = dt_sums_note_without(s->frame[n].note, i);
}

static void add_to_notes(struct dt_sieve *v)
{
	for (size_t i = 0; i < v->thread_room; i++)
		for (uint32_t k = 0; v->thread[i] && k < v->thread[i]->stacks; k++)
			add_to_stack(v, v->thread[i]->stack[k]);
}

static void remove_from_notes(struct dt_sieve *v, size_t sum)
{
	for (size_t i = 0; i < v->thread_room; i++) {
		struct sieve_thread *t = v->thread[i];

		if (t)
			t->alone.note = dt_sums_note_without(t->alone.note, sum);
		for (uint32_t k = 0; t && k < t->stacks; k++)
			remove_from_stack(t->stack[k], sum);
	}
}

/* ---- changing the list ---- */

/* Writes the list to the file anew. */
static int rewrite(struct dt_sieve *v, struct dt_error *e)
{
	if (v->session->has_log)
		return 0;
	if (dt_store_sums_forget(v->session->store, e))
		return -1;
	dt_sums_touch(v->sums);
	return dt_sieve_sums_account(v, e);
}

int dt_sieve_add(struct dt_sieve *v, const char *name, int signal, const char *words,
		 struct dt_error *e)
{
	struct dt_sieve_words *w = &v->words;
	unsigned numbers = w->numbers;
	const char *beyond = NULL;

	if (!v->sums && !(v->sums = dt_sums_new(NULL, 0, &v->meanings, e)))
		return -1;
	if (dt_sieve_words_add(w, name, signal, words, e))
		return -1;
	if (dt_sums_add(v->sums, w->at[w->n - 1].text, e))
		goto fail;
	if (dt_sums_filter(v->sums, w->n - 1))
		beyond = dt_filter_beyond_calls(dt_sums_filter(v->sums, w->n - 1));
	if (dt_sieve_refuse(beyond, "", e) ||
	    (v->session->throttle &&
	     dt_sieve_refuse_missing(dt_sums_filter(v->sums, w->n - 1), e))) {
		dt_sums_remove(v->sums, w->n - 1);
		goto fail;
	}
	dt_sieve_early_end(v); /* the kernel does not know of it */
	add_to_notes(v);
	dt_sieve_sums_texts(v);
	w->changes++;
	return 0;
fail:
	dt_sieve_words_remove(w, w->n - 1);
	w->numbers = numbers;
	return -1;
}

int dt_sieve_add_snapshot(struct dt_sieve *v, const char *file, const char *words,
			  struct dt_error *e)
{
	if (dt_sieve_add(v, NULL, DT_SIEVE_SNAPSHOT, words, e))
		return -1;
	if (dt_sieve_words_file(&v->words, file, strlen(file), e) == 0)
		return 0;
	dt_sieve_remove(v, v->words.n - 1, NULL);
	return -1;
}

int dt_sieve_remove(struct dt_sieve *v, size_t i, struct dt_error *e)
{
	remove_from_notes(v, i);
	dt_sieve_early_sums(v);
	dt_sieve_early_removed(v, i);
	dt_sums_remove(v->sums, i);
	dt_sieve_words_remove(&v->words, i);
	v->words.changes++;
	dt_sieve_sums_texts(v);
	return rewrite(v, e);
}

int dt_sieve_clear(struct dt_sieve *v, size_t i, struct dt_error *e)
{
	dt_sieve_early_sums(v);
	dt_sums_clear(v->sums, i);
	v->words.at[i].acted = false;
	v->words.changes++;
	return rewrite(v, e);
}
