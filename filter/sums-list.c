/* SPDX-License-Identifier: MIT */
/* Which sums there are: making them, adding and taking away. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "filter/filter.h"
#include "filter/sums-work.h"

/* ---- making and freeing ---- */

struct dt_sums *dt_sums_new(const char *const *text, size_t n, const struct dt_meanings *meanings,
			    struct dt_error *e)
{
	struct dt_sums *s = calloc(1, sizeof(*s));

	if (!s) {
		dt_fail(e, "out of memory");
		return NULL;
	}
	s->meanings = s->failures.meanings = *meanings;
	if (getrandom(&s->seed, sizeof(s->seed), 0) != sizeof(s->seed))
		s->seed = (uint64_t)(uintptr_t)s;
	for (size_t i = 0; i < n; i++)
		if (dt_sums_add(s, text[i], e)) {
			dt_sums_free(s);
			return NULL;
		}
	return s;
}

static void free_rows(struct dt_sums_one *u)
{
	for (uint32_t k = 0; k < u->rows; k++) {
		free(u->row[k]->bucket);
		free(u->row[k]);
	}
	free(u->row);
	free(u->slot);
}

static void free_one(struct dt_sums_one *u)
{
	free_rows(u);
	free(u->function);
	dt_filter_free(u->filter);
	free(u->text);
}

void dt_sums_free(struct dt_sums *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free_one(&s->sum[i]);
	dt_failures_free(&s->failures);
	free(s);
}

int dt_sums_add(struct dt_sums *s, const char *text, struct dt_error *e)
{
	struct dt_sums_one u = {0};

	if (s->n == DT_SUMS_MOST)
		return dt_fail(e, "too many sums: %u at most", DT_SUMS_MOST);
	u.text = strdup(text);
	if (!u.text)
		return dt_fail(e, "out of memory");
	if (dt_sums_parse(&u.words, u.text, e) ||
	    (u.words.filter && !(u.filter = dt_filter_new(u.words.filter, &s->meanings, e)))) {
		free_one(&u);
		return -1;
	}
	s->sum[s->n++] = u;
	return 0;
}

void dt_sums_remove(struct dt_sums *s, size_t i)
{
	free_one(&s->sum[i]);
	s->n--;
	memmove(&s->sum[i], &s->sum[i + 1], (s->n - i) * sizeof(*s->sum));
}

void dt_sums_clear(struct dt_sums *s, size_t i)
{
	struct dt_sums_one *u = &s->sum[i];

	free_rows(u);
	u->row = u->slot = NULL;
	u->rows = u->room = 0;
	u->size = u->bytes = 0;
	u->totals = (struct dt_sums_totals){0};
}

void dt_sums_touch(struct dt_sums *s)
{
	for (size_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < s->sum[i].rows; k++)
			s->sum[i].row[k]->changed = true;
}

/* ---- notes of open calls, when the list changes ---- */

uint32_t dt_sums_note_with(const struct dt_sums *s, uint32_t note, uint32_t caller,
			   uint32_t function)
{
	size_t i = s->n - 1;
	struct dt_filter *f = s->sum[i].filter;
	uint32_t around = caller >> DT_SUMS_BITS * i & DT_AROUND_ALL;

	note &= ~(15u << DT_SUMS_BITS * i);
	if (!f)
		return note;
	around = function ? dt_filter_around(f, around, function) : dt_filter_nobody(f);
	return note | around << DT_SUMS_BITS * i;
}

uint32_t dt_sums_note_without(uint32_t note, size_t i)
{
	uint64_t all = note; /* so that all bits can be shifted out */
	uint64_t below = all & ((1ull << DT_SUMS_BITS * i) - 1);

	return (uint32_t)(below | all >> DT_SUMS_BITS * (i + 1) << DT_SUMS_BITS * i);
}

/* ---- what is known of them ---- */

bool dt_sums_failed(const struct dt_sums *s)
{
	bool failed = s->no_memory || s->failures.no_memory;

	for (size_t i = 0; i < s->n; i++)
		failed |= s->sum[i].filter && dt_filter_failed(s->sum[i].filter);
	return failed;
}

size_t dt_sums_count(const struct dt_sums *s)
{
	return s->n;
}

const struct dt_sums_words *dt_sums_words(const struct dt_sums *s, size_t i)
{
	return &s->sum[i].words;
}

bool dt_sums_wants_arguments(const struct dt_sums *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->sum[i].words.value.what == DT_SUMS_ARGUMENT)
			return true;
	for (size_t i = 0; i < s->n; i++)
		for (unsigned k = 0; k < s->sum[i].words.keys; k++)
			if (s->sum[i].words.key[k].what == DT_SUMS_ARGUMENT)
				return true;
	return false;
}

struct dt_filter *dt_sums_filter(const struct dt_sums *s, size_t i)
{
	return s->sum[i].filter;
}

const char *dt_sums_beyond_calls(const struct dt_sums *s)
{
	const char *beyond = NULL;

	for (size_t i = 0; i < s->n && !beyond; i++)
		beyond = s->sum[i].filter ? dt_filter_beyond_calls(s->sum[i].filter) : NULL;
	return beyond;
}
