/* SPDX-License-Identifier: MIT */
/* The pieces of a path in words, and their sums. */
#include "show/path.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/reason.h"
#include "core/error.h"
#include "core/wake.h"

const char *dt_path_kind_word(enum dt_path_kind kind)
{
	static const char *const word[DT_PATH_KINDS] = {
		[DT_PATH_RAN] = "ran",		 [DT_PATH_PROCESSOR] = "processor",
		[DT_PATH_UNDERWAY] = "underway", [DT_PATH_WAITED] = "waited",
		[DT_PATH_HELD] = "held",	 [DT_PATH_UNKNOWN] = "unknown"};

	return word[kind];
}

const char *dt_path_link_word(enum dt_path_link link)
{
	static const char *const word[DT_PATH_LINKS] = {
		[DT_PATH_SAME] = "goes_on", [DT_PATH_RETURNS] = "waits",
		[DT_PATH_WOKE] = "woke",    [DT_PATH_MADE] = "made",
		[DT_PATH_SENT] = "sent",    [DT_PATH_STREAM] = "stream",
		[DT_PATH_LOCK] = "lock",    [DT_PATH_PIPE] = "pipe",
		[DT_PATH_ENDED] = "ended"};

	return word[link];
}

const char *dt_path_who_text(const struct dt_path_said *s, uint32_t tid, bool number,
			     char to[DT_PATH_WORDS])
{
	const struct dt_thread_info *t = dt_reader_thread(s->paths->reader, tid);
	const struct dt_host *h = dt_hosts_of(&s->hosts, tid);
	const char *name = t && *t->name ? t->name : "";
	size_t n = 0;

	if (number || !*name)
		n = dt_format(to, DT_PATH_WORDS, "%u%s%.64s%s",
			      dt_reader_number(s->paths->reader, tid), *name ? " (" : "", name,
			      *name ? ")" : "");
	else
		n = dt_format(to, DT_PATH_WORDS, "%.64s", name);
	if (h && n < DT_PATH_WORDS)
		dt_format(to + n, DT_PATH_WORDS - n, "@%.100s", h->name);
	return to;
}

/* Says what a wait was for and who ended it, of which the path can not go on. */
static void put_wait(const struct dt_path_said *s, const struct dt_path_piece *p, uint32_t function,
		     char to[DT_PATH_WORDS])
{
	const char *what =
		dt_wait_reason(s->paths->reader, function, false, dt_paths_what(s->paths, p->what));
	const struct dt_waker *waker = dt_paths_waker(s->paths, p->waker);
	bool known = strcmp(what, "not known") != 0;
	char by[DT_WAKER_TEXT] = "";
	size_t n;

	if (waker)
		*dt_waker_put(by, s->paths->reader, waker, true) = '\0';
	n = dt_format(to, DT_PATH_WORDS, "waited%s%.200s", known ? " for " : "", known ? what : "");
	if (waker)
		n += dt_format(to + n, DT_PATH_WORDS - n, ", woken by %.200s%s", by,
			       waker->context == DT_WAKE_THREAD ? ", not traced" : "");
	else
		n += dt_format(to + n, DT_PATH_WORDS - n, "%s",
			       known && !strncmp(what, "time ", 5) ? ""
			       : known				   ? ", not known who ended it"
								   : ", not known for what");
	if (p->open && n < DT_PATH_WORDS)
		dt_format(to + n, DT_PATH_WORDS - n, " (since before)");
}

const char *dt_path_words(const struct dt_path_said *s, const struct dt_path_piece *p,
			  uint32_t function, char to[DT_PATH_WORDS])
{
	static const char *const fixed[DT_PATH_KINDS] = {
		[DT_PATH_RAN] = "ran",
		[DT_PATH_PROCESSOR] = "waited for a processor",
		[DT_PATH_UNDERWAY] = "waited for what was on its way",
		[DT_PATH_HELD] = "was held by devtrace",
		[DT_PATH_UNKNOWN] = "ran or waited: nothing is recorded of it"};
	size_t n;

	if (p->kind == DT_PATH_WAITED)
		put_wait(s, p, function, to);
	else
		dt_format(to, DT_PATH_WORDS, "%s", fixed[p->kind]);
	n = strlen(to);
	if (function)
		dt_format(to + n, DT_PATH_WORDS - n, "%s in %.300s",
			  p->kind == DT_PATH_WAITED || p->kind == DT_PATH_UNDERWAY ? "," : "",
			  dt_reader_function_name(s->paths->reader, function));
	else if (p->kind == DT_PATH_RAN)
		dt_format(to + n, DT_PATH_WORDS - n, " in no recorded call");
	return to;
}

const char *dt_path_link_text(const struct dt_path_said *s, const struct dt_path_piece *p,
			      const struct dt_path_piece *next, char to[DT_PATH_WORDS])
{
	static const char *const word[DT_PATH_LINKS] = {
		[DT_PATH_SAME] = "",
		[DT_PATH_RETURNS] = "then waits; meanwhile: ",
		[DT_PATH_WOKE] = "wakes ",
		[DT_PATH_MADE] = "makes ",
		[DT_PATH_SENT] = "sends a message to ",
		[DT_PATH_STREAM] = "sends data to ",
		[DT_PATH_LOCK] = "lets go the lock for ",
		[DT_PATH_PIPE] = "reads or writes the pipe for ",
		[DT_PATH_ENDED] = "ends, for "};
	char who[DT_PATH_WORDS];

	*to = '\0';
	if (next && p->link != DT_PATH_SAME)
		dt_format(to, DT_PATH_WORDS, "%s%s", word[p->link],
			  dt_path_who_text(s, next->tid, true, who));
	return to;
}

bool dt_path_error(const struct dt_path_said *s, uint32_t tid, uint64_t ticks, uint64_t *early,
		   uint64_t *late, bool *known)
{
	const struct dt_host *h = dt_hosts_of(&s->hosts, tid);

	*early = *late = 0;
	*known = true;
	if (!h || h->reference)
		return false;
	for (uint32_t i = 0; i < h->bars; i++)
		if (ticks >= h->bar[i].begin && (ticks <= h->bar[i].end || i + 1 == h->bars)) {
			*early = h->bar[i].early;
			*late = h->bar[i].late;
			*known = h->known && !h->bar[i].unknown;
			return true;
		}
	*known = false;
	return true;
}

/* ---- sums ---- */

struct summing {
	const struct dt_path_said *s;
	bool numbers;
	void *tree;
	struct dt_path_sum **row;
	size_t n, room;
};

static int alike(const void *a, const void *b)
{
	const struct dt_path_sum *x = a, *y = b;
	int differ = strcmp(x->who, y->who);

	return differ ? differ : strcmp(x->what, y->what);
}

/* Adds so many ticks of a piece to its row. False: out of memory. */
static bool add(struct summing *k, size_t path, const struct dt_path_piece *p, uint32_t function,
		uint64_t ticks)
{
	char who[DT_PATH_WORDS], what[DT_PATH_WORDS];
	struct dt_path_sum like = {.who = who, .what = what}, **found, *row;

	dt_path_who_text(k->s, p->tid, k->numbers, who);
	dt_path_words(k->s, p, function, what);
	found = tfind(&like, &k->tree, alike);
	row = found ? *found : NULL;
	if (!row) {
		if (k->n == k->room) {
			size_t room = k->room ? 2 * k->room : 64;
			struct dt_path_sum **more = realloc(k->row, room * sizeof(*more));

			if (!more)
				return false;
			k->row = more;
			k->room = room;
		}
		row = calloc(1, sizeof(*row));
		if (!row)
			return false;
		k->row[k->n++] = row;
		row->kind = p->kind;
		row->who = strdup(who);
		row->what = strdup(what);
		if (!row->who || !row->what || !tsearch(row, &k->tree, alike))
			return false;
	}
	row->ticks += ticks;
	row->pieces++;
	row->calls += row->last != path + 1;
	row->last = path + 1;
	return true;
}

static int longest_first(const void *a, const void *b)
{
	const struct dt_path_sum *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? 1 : -1;
	return alike(x, y);
}

static void keep(void *row)
{
	(void)row;
}

struct dt_path_sum *dt_path_sums(const struct dt_path_said *s, bool numbers, size_t *n)
{
	struct summing k = {.s = s, .numbers = numbers};
	struct dt_path_sum *sum;
	bool whole = true;

	for (size_t i = 0; i < s->paths->n && whole; i++)
		for (size_t j = 0; j < s->paths->path[i].n && whole; j++) {
			const struct dt_path_piece *p = &s->paths->path[i].piece[j];
			const struct dt_path_part *part = s->paths->part + p->part;

			for (size_t m = 0; m < p->parts && whole; m++)
				whole = add(&k, i, p, part[m].function, part[m].ticks);
		}
	sum = malloc((k.n + 1) * sizeof(*sum));
	for (size_t i = 0; i < k.n; i++) {
		if (sum)
			sum[i] = *k.row[i];
	}
	tdestroy(k.tree, keep);
	for (size_t i = 0; i < k.n; i++) {
		if (!sum) {
			free(k.row[i]->who);
			free(k.row[i]->what);
		}
		free(k.row[i]);
	}
	free(k.row);
	*n = k.n;
	if (sum && !whole) {
		dt_path_sums_free(sum, k.n);
		return NULL;
	}
	if (sum && k.n)
		qsort(sum, k.n, sizeof(*sum), longest_first);
	return sum;
}

void dt_path_sums_free(struct dt_path_sum *sum, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(sum[i].who);
		free(sum[i].what);
	}
	free(sum);
}
