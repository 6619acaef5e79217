/* SPDX-License-Identifier: MIT */
/* Searching the whole trace for functions by a part of their names, and for their calls. */
#include <stdlib.h>
#include <string.h>

#include "view/asked.h"

#define FUNCTIONS 1000 /* in an answer, at most */
#define ROWS	  1000 /* likewise, but for those of the last tick */
#define TIME_MS	  250  /* then the answer is what has been found, and where to go on */

/* What was searched for last in a picture; it is kept, so that the next hit comes at once. */
struct dt_found {
	char *text;
	bool *wanted;
	uint64_t records; /* that the picture had when it was counted */
	struct dt_hits hits;
};

void dt_found_free(struct dt_found *f)
{
	if (!f)
		return;
	dt_hits_free(&f->hits);
	free(f->wanted);
	free(f->text);
	free(f);
}

static bool is_named(const struct dt_reader *r, uint32_t function, const char *text)
{
	return strcasestr(dt_reader_function_name(r, function), text) != NULL;
}

static struct dt_found *new_found(const struct dt_reader *r, const char *text)
{
	struct dt_found *f = calloc(1, sizeof(*f));
	uint32_t n = dt_reader_functions(r) + 1;

	if (!f)
		return NULL;
	f->text = strdup(text);
	f->wanted = calloc(n, sizeof(*f->wanted));
	if (!f->text || !f->wanted) {
		dt_found_free(f);
		return NULL;
	}
	for (uint32_t i = 1; i < n; i++)
		f->wanted[i] = is_named(r, i, text);
	f->hits.wanted = f->wanted;
	f->hits.functions = n;
	return f;
}

/* Returns what the request searches for, counted. NULL: the request has been refused. */
static struct dt_found *found(struct dt_asked *a)
{
	const char *text = a->r->value(a->r->ctx, "text");
	const struct dt_reader *r = dt_windows_reader(a->p->windows);
	struct dt_found *f = a->p->found;
	struct dt_error e = {"out of memory"};

	if (!text || !*text) {
		dt_refuse(a, 400, "text: a part of a function's name is wanted");
		return NULL;
	}
	if (f && !strcmp(f->text, text) && f->hits.functions == dt_reader_functions(r) + 1 &&
	    f->records == a->p->pyramid->records && f->hits.regions == a->p->pyramid->regions)
		return f;
	dt_found_free(f);
	a->p->found = f = new_found(r, text);
	if (f && dt_hits_count(&f->hits, a->p->windows, &e) == 0) {
		f->records = a->p->pyramid->records;
		return f;
	}
	dt_found_free(f);
	a->p->found = NULL;
	dt_refuse(a, 500, e.text);
	return NULL;
}

struct counted {
	uint32_t function;
	uint64_t calls;
};

static int most_first(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Answers with the functions, those with the most calls first, and how many calls of them there
 * are. */
void dt_answer_hits(struct dt_asked *a)
{
	struct dt_found *f = found(a);
	struct dt_json *out = &a->answer->text;
	struct counted *list;
	size_t n = 0;

	if (!f)
		return;
	list = calloc(f->hits.functions, sizeof(*list));
	if (!list) {
		dt_refuse(a, 500, "out of memory");
		return;
	}
	for (uint32_t i = 1; i < f->hits.functions; i++)
		if (f->wanted[i])
			list[n++] = (struct counted){i, f->hits.calls[i]};
	qsort(list, n, sizeof(*list), most_first);
	dt_json_print(out, "{\"calls\":%lu,\"matching\":%zu,\"partly\":%s,\"functions\":[",
		      (unsigned long)f->hits.all, n, a->p->pyramid->complete ? "false" : "true");
	for (size_t i = 0; i < n && i < FUNCTIONS; i++) {
		dt_json_print(out, "%s[%u,%lu,", i ? "," : "", list[i].function,
			      (unsigned long)list[i].calls);
		dt_json_string(out, dt_reader_function_name(dt_windows_reader(a->p->windows),
							    list[i].function));
		dt_json_print(out, "]");
	}
	dt_json_print(out, "]}");
	free(list);
}

/* Answers with calls, as a list has them: from a time on, or back from it. */
void dt_answer_find(struct dt_asked *a)
{
	struct dt_json *out = &a->answer->text;
	uint64_t at, rows = 200, back = 0, ms = TIME_MS;
	struct dt_hit_list list = {0};
	struct dt_error e = {""};
	struct dt_found *f;
	int rc;

	if (!dt_asked_number(a, "from", 0, 1ull << 60, &at) ||
	    (a->r->value(a->r->ctx, "rows") && !dt_asked_number(a, "rows", 1, ROWS, &rows)) ||
	    (a->r->value(a->r->ctx, "back") && !dt_asked_number(a, "back", 0, 1, &back)) ||
	    (a->r->value(a->r->ctx, "ms") && !dt_asked_number(a, "ms", 0, 1000, &ms)))
		return;
	f = found(a);
	if (!f)
		return;
	at += a->origin;
	rc = dt_hits_find(&f->hits, a->p->windows, &at, back, rows, (double)ms / 1000, &list, &e);
	if (rc < 0) {
		dt_refuse(a, 500, e.text);
	} else {
		dt_json_print(out, "{");
		dt_answer_rows(a, list.hit, list.n);
		if (rc > 0 && at >= a->origin)
			dt_json_print(out, ",\"next\":%lu", (unsigned long)(at - a->origin));
		dt_json_print(out, "}");
	}
	free(list.hit);
}

/* Answers with the functions, at most FUNCTIONS, whose names contain the text. */
void dt_answer_search(struct dt_asked *a)
{
	struct dt_reader *r = dt_windows_reader(a->all->windows);
	const char *text = a->r->value(a->r->ctx, "text");
	struct dt_json *out = &a->answer->text;
	unsigned n = 0;

	dt_json_print(out, "[");
	for (uint32_t i = 1; text && *text && i <= dt_reader_functions(r) && n < FUNCTIONS; i++) {
		if (!is_named(r, i, text))
			continue;
		dt_json_print(out, "%s[%u,", n++ ? "," : "", i);
		dt_json_string(out, dt_reader_function_name(r, i));
		dt_json_print(out, "]");
	}
	dt_json_print(out, "]");
}
