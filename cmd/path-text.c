/* SPDX-License-Identifier: MIT */
/* Paths as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/path-work.h"
#include "cmd/table.h"
#include "filter/times.h"

static const char *time_of(const struct dt_path_shown *s, uint64_t ticks, char text[32])
{
	const char *t = dt_times_text(text, (double)ticks * dt_reader_ns_per_tick(s->reader));
	size_t n = strlen(text);

	while (n && text[n - 1] == ' ')
		text[--n] = '\0';
	return t + strspn(t, " ");
}

/* Prints what it is the path of. */
static void print_head(struct dt_path_shown *s)
{
	const struct dt_path_call *c = s->call;
	char who[DT_PATH_WORDS], text[32], at[32];
	uint64_t all = 0;

	if (s->slowest) {
		for (size_t i = 0; i < s->paths->n; i++)
			all += c[i].end - c[i].begin;
		printf("the slowest %zu of %llu calls, %s together", s->paths->n,
		       (unsigned long long)s->of, time_of(s, all, text));
		printf("; from %s",
		       time_of(s, c[s->paths->n - 1].end - c[s->paths->n - 1].begin, text));
		printf(" to %s\n\n", time_of(s, c->end - c->begin, text));
		return;
	}
	if (c->function)
		printf("%s in ", dt_cmd_plain(dt_reader_function_name(s->reader, c->function)));
	printf("thread %s: %s", dt_cmd_plain(dt_path_who_text(&s->said, c->tid, true, who)),
	       time_of(s, c->end - c->begin, text));
	printf(", from %s on%s\n\n", time_of(s, c->begin > s->first ? c->begin - s->first : 0, at),
	       s->of > 1 ? ", the longest" : "");
}

static unsigned columns_of(const char *text, unsigned most)
{
	size_t n = strlen(text);

	return n > most ? most : (unsigned)n;
}

static int print_sums(struct dt_path_shown *s)
{
	size_t n, rows;
	struct dt_path_sum *sum = dt_path_sums(&s->said, !s->slowest, &n);
	uint64_t all = 0, rest = 0;
	unsigned wide = 6;

	if (!sum)
		return dt_cmd_fail("out of memory");
	rows = s->rows && s->rows < n ? (size_t)s->rows : n;
	for (size_t i = 0; i < n; i++) {
		unsigned columns = columns_of(sum[i].who, 40);

		wide = i < rows && columns > wide ? columns : wide;
		all += sum[i].ticks;
		rest += i < rows ? 0 : sum[i].ticks;
	}
	printf("        time   share  %s%-*s  what\n", s->slowest ? "     calls  " : "", (int)wide,
	       "thread");
	for (size_t i = 0; i < rows; i++) {
		dt_table_time(s->reader, sum[i].ticks);
		printf("  %4.1f %%  ", all ? 100.0 * (double)sum[i].ticks / (double)all : 0.0);
		if (s->slowest)
			printf("%10llu  ", (unsigned long long)sum[i].calls);
		printf("%-*s  %s\n", (int)wide, dt_cmd_plain(sum[i].who),
		       dt_cmd_plain(sum[i].what));
	}
	if (rest) {
		dt_table_time(s->reader, rest);
		printf("  %4.1f %%  in %zu more row%s: -n 0 shows all\n",
		       100.0 * (double)rest / (double)all, n - rows, n - rows > 1 ? "s" : "");
	}
	dt_path_sums_free(sum, n);
	return 0;
}

/* ---- visits: pieces of one thread, one after the other ---- */

#define KINDS 4 /* kinds of pieces of a visit that are told apart; the others are one more */

struct visit {
	size_t first, end; /* of the pieces */
};

/* What was alike in a visit. */
struct alike {
	const struct dt_path_piece *piece; /* one of them */
	uint32_t function;
	uint64_t ticks, times;
};

static bool is_alike(const struct alike *a, const struct dt_path_piece *p, uint32_t function)
{
	return a->piece->kind == p->kind && a->function == function &&
	       (p->kind != DT_PATH_WAITED ||
		(a->piece->waker == p->waker && a->piece->what == p->what));
}

static int more_first(const void *a, const void *b)
{
	const struct alike *x = a, *y = b;

	return x->ticks < y->ticks ? 1 : -(x->ticks > y->ticks);
}

/* Finds what a visit was made of, the longest first; how many are in *n. NULL: out of memory. */
static struct alike *made_of(struct dt_path_shown *s, const struct visit *v, size_t *n)
{
	const struct dt_path *path = s->paths->path;
	size_t room = 0;
	struct alike *all;

	for (size_t i = v->first; i < v->end; i++)
		room += path->piece[i].parts;
	all = malloc((room + 1) * sizeof(*all));
	*n = 0;
	for (size_t i = v->first; i < v->end && all; i++) {
		const struct dt_path_piece *p = &path->piece[i];
		const struct dt_path_part *part = s->paths->part + p->part;

		for (size_t j = 0; j < p->parts; j++) {
			/* those that come often come first */
			size_t k = 0, most = *n < 64 ? *n : 64;

			while (k < most && !is_alike(&all[k], p, part[j].function))
				k++;
			if (k == most)
				all[k = (*n)++] = (struct alike){p, part[j].function, 0, 0};
			all[k].ticks += part[j].ticks;
			all[k].times++;
		}
	}
	if (all && *n)
		qsort(all, *n, sizeof(*all), more_first);
	return all;
}

static uint64_t ticks_of(const struct dt_path *path, const struct visit *v)
{
	return path->piece[v->end - 1].end - path->piece[v->first].begin;
}

/* Says how exact it is when the path goes from one machine to another. */
static void print_error(struct dt_path_shown *s, const struct dt_path_piece *p,
			const struct dt_path_piece *next)
{
	uint64_t early, late;
	bool known;

	for (int i = 0; i < 2; i++) {
		uint32_t tid = i ? next->tid : p->tid;
		char a[32], b[32];

		if (!dt_path_error(&s->said, tid, p->end, &early, &late, &known))
			continue;
		if (!known) {
			printf("; how exact %s's clock is, is not known",
			       dt_cmd_plain(dt_hosts_of(&s->said.hosts, tid)->name));
			continue;
		}
		dt_times_text(a, (double)early);
		dt_times_text(b, (double)late);
		printf("; %s's clock may be %s behind, %s ahead",
		       dt_cmd_plain(dt_hosts_of(&s->said.hosts, tid)->name), a + strspn(a, " "),
		       b + strspn(b, " "));
	}
}

static void print_left(struct dt_path_shown *s, size_t n, uint64_t ticks)
{
	char text[32];

	if (n)
		printf("                            ... %zu shorter one%s, %s: -n 0 shows all\n", n,
		       n > 1 ? "s" : "", time_of(s, ticks, text));
}

static int print_visit(struct dt_path_shown *s, const struct visit *v)
{
	const struct dt_path *path = s->paths->path;
	const struct dt_path_piece *p = &path->piece[v->end - 1],
				   *next = v->end < path->n ? p + 1 : NULL;
	char words[DT_PATH_WORDS], text[32];
	uint64_t rest = 0;
	size_t n;
	struct alike *all = made_of(s, v, &n);

	if (!all)
		return dt_cmd_fail("out of memory");
	dt_table_time(s->reader, path->piece[v->first].begin - path->from);
	dt_table_time(s->reader, ticks_of(path, v));
	printf("  %*s%s", (int)(p->level < 20 ? 2 * p->level : 40), "",
	       dt_cmd_plain(dt_path_who_text(&s->said, p->tid, true, words)));
	for (size_t i = 0; i < n; i++) {
		if (i >= KINDS && n > KINDS + 1) {
			rest += all[i].ticks;
			continue;
		}
		printf("%s %s", i ? "," : "",
		       dt_cmd_plain(dt_path_words(&s->said, all[i].piece, all[i].function, words)));
		if (n > 1)
			printf(" %s", time_of(s, all[i].ticks, text));
	}
	if (rest)
		printf(", %zu more %s", n - KINDS, time_of(s, rest, text));
	free(all);
	dt_path_link_text(&s->said, p, next, words);
	if (*words)
		printf("; %s", dt_cmd_plain(words));
	if (next && dt_hosts_of(&s->said.hosts, p->tid) != dt_hosts_of(&s->said.hosts, next->tid))
		print_error(s, p, next);
	putchar('\n');
	return 0;
}

/* Puts the pieces that follow one another in one thread into visits. NULL: out of memory. */
static struct visit *visits_of(const struct dt_path *path, size_t *n)
{
	struct visit *v = malloc((path->n + 1) * sizeof(*v));

	*n = 0;
	for (size_t i = 0; i < path->n && v; i++) {
		if (i && path->piece[i].tid == path->piece[i - 1].tid &&
		    path->piece[i].level == path->piece[i - 1].level)
			v[*n - 1].end = i + 1;
		else
			v[(*n)++] = (struct visit){i, i + 1};
	}
	return v;
}

static int shortest_first(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns how long a visit has to be to be among those that are shown; 0: all are. */
static uint64_t least(const struct dt_path *path, const struct visit *v, size_t n, uint64_t rows)
{
	uint64_t *all, found;

	if (!rows || n <= rows || !(all = malloc(n * sizeof(*all))))
		return 0;
	for (size_t i = 0; i < n; i++)
		all[i] = ticks_of(path, &v[i]);
	qsort(all, n, sizeof(*all), shortest_first);
	found = all[n - rows];
	free(all);
	return found;
}

static int print_visits(struct dt_path_shown *s)
{
	const struct dt_path *path = s->paths->path;
	size_t n, left = 0;
	struct visit *v = visits_of(path, &n);
	uint64_t left_ticks = 0, shortest = v ? least(path, v, n, s->rows) : 0;
	int status = v ? 0 : dt_cmd_fail("out of memory");

	if (v)
		printf("\n       after        time  what\n");
	for (size_t i = 0; v && i < n && !status; i++) {
		if (ticks_of(path, &v[i]) < shortest) {
			left++;
			left_ticks += ticks_of(path, &v[i]);
			continue;
		}
		print_left(s, left, left_ticks);
		left = left_ticks = 0;
		status = print_visit(s, &v[i]);
	}
	print_left(s, left, left_ticks);
	free(v);
	return status;
}

/* Says what would tell more, if it is not known who ended waits. */
static void print_hint(struct dt_path_shown *s)
{
	const struct dt_path *path = s->paths->path;
	uint64_t ticks = 0;
	char text[32];

	if (dt_wakers_any(s->reader))
		return;
	for (size_t i = 0; i < path->n; i++)
		if (path->piece[i].kind == DT_PATH_WAITED && !path->piece[i].waker)
			ticks += path->piece[i].end - path->piece[i].begin;
	if (20 * ticks > path->to - path->from)
		printf("\nOf %s it is not known who ended the waiting: record --wakers tells.\n",
		       time_of(s, ticks, text));
}

int dt_path_print_text(struct dt_path_shown *s)
{
	int status;

	print_head(s);
	status = print_sums(s);
	if (!status && !s->slowest)
		status = print_visits(s);
	if (!status && !s->slowest)
		print_hint(s);
	return status;
}
