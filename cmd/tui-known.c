/* SPDX-License-Identifier: MIT */
/* devtrace tui: what is read of the calls on the screen beside their bars: arguments and results.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/tui-work.h"
#include "process/now.h"
#include "process/threads.h"
#include "show/words.h"
#include "view/entries.h"

#define ROOM	  512	  /* calls of which something is known at a time */
#define SHORT	  2000000 /* ticks: calls up to this long are paired again, to know all of them */
#define PART	  16	  /* so many are read at a time, */
#define BUDGET_NS 150000000u /* and then no more until the screen is drawn again */

struct one {
	uint32_t node;
	const struct dt_outline_node *n;
	struct dt_tui_call call;
	bool has_argument, has_result, read;
	uint64_t argument[4], result[4];
};

struct dt_tui_known {
	struct one one[ROOM];
	size_t n;
};

/* What is being read: some of the calls, sorted by their begin. */
struct reading {
	struct tui *t;
	struct dt_tui_time *time;
	struct one *one;
	size_t n;
};

void dt_tui_known_forget(struct tui *t)
{
	if (t->known)
		t->known->n = 0;
}

const struct dt_tui_call *dt_tui_known_of(const struct tui *t, uint32_t node)
{
	for (size_t i = 0; t->known && i < t->known->n; i++)
		if (t->known->one[i].node == node && t->known->one[i].read)
			return &t->known->one[i].call;
	return NULL;
}

static uint32_t thread_of(const struct reading *k, const struct one *x)
{
	return k->time->pyramid->track[x->n->track].id;
}

static bool is_short(const struct one *x)
{
	return x->n->bar.end - x->n->bar.begin <= SHORT;
}

/* ---- short calls ---- */

static void on_call(void *ctx, const struct dt_call *c)
{
	const struct reading *k = ctx;

	for (size_t i = 0; i < k->n; i++) {
		struct one *x = &k->one[i];
		uint32_t tid = thread_of(k, x);

		if (x->n->bar.begin != c->begin || x->n->bar.depth != c->depth ||
		    x->n->bar.what != c->function || x->call.paired ||
		    (tid != c->tid && !(c->tid == DT_NO_TID && tid >= DT_TRACK_NOBODY(0))))
			continue;
		x->call.paired = true;
		x->call.leaf = !c->children && c->end > c->begin;
		x->call.waited = c->flags & DT_CALL_UNKNOWN ? 0 : c->waited;
		x->has_argument = c->argument != NULL;
		x->has_result = c->result != NULL;
		if (c->argument)
			memcpy(x->argument, c->argument, sizeof(x->argument));
		if (c->result)
			memcpy(x->result, c->result, sizeof(x->result));
		return;
	}
}

/* Pairs the short calls again, those that are near each other together. */
static int read_short(struct reading *k, struct dt_error *e)
{
	for (size_t i = 0, j; i < k->n; i = j) {
		uint64_t end = k->one[i].n->bar.end;

		j = i + 1;
		if (!is_short(&k->one[i]))
			continue;
		while (j < k->n && is_short(&k->one[j]) && k->one[j].n->bar.begin < end + SHORT) {
			if (k->one[j].n->bar.end > end)
				end = k->one[j].n->bar.end;
			j++;
		}
		if (dt_window_calls(k->time->windows, k->one[i].n->bar.begin, end, on_call, k, e) <
		    0)
			return -1;
	}
	return 0;
}

/* ---- long calls ---- */

/* Reads the result of a long call from the record of its exit, without pairing. */
static int read_result(struct reading *k, struct one *x, struct dt_error *e)
{
	struct dt_reader *r = dt_windows_reader(k->time->windows);
	uint64_t end = x->n->bar.end;
	struct dt_reader_range at = {.order = DT_BY_TIME, .values = true, .from = end, .to = end};
	struct dt_span s;
	int rc = dt_reader_start(r, &at, e);

	while (rc == 0 && (rc = dt_reader_next(r, &s, e)) > 0) {
		rc = 0;
		for (uint32_t i = 0; i < s.n; i++) {
			const struct dt_site *site = dt_reader_site(r, s.site[i]);

			if (s.tid != thread_of(k, x) || s.ticks[i] != end || !site ||
			    site->kind != DT_EXIT)
				continue;
			memcpy(x->result, s.value[i], sizeof(x->result));
			x->has_result = true;
		}
	}
	return rc;
}

static int read_long(struct reading *k, struct dt_error *e)
{
	for (size_t i = 0; i < k->n; i++)
		if (!is_short(&k->one[i]) &&
		    !(k->one[i].n->bar.flags & (DT_CALL_OPEN | DT_CALL_UNWOUND)) &&
		    read_result(k, &k->one[i], e) < 0)
			return -1;
	return 0;
}

/* ---- texts ---- */

static void make_text(struct reading *k, struct one *x, const struct dt_entry *entry)
{
	const uint64_t *argument = entry->known	     ? entry->argument
				   : x->has_argument ? x->argument
						     : NULL;
	struct dt_json text = {0};

	dt_words_more(&k->t->formats, &text, x->n->bar.what, argument, entry->more, entry->n);
	if (x->has_result)
		dt_words_result(&k->t->formats, &text, x->n->bar.what, x->result);
	dt_json_bytes(&text, "", 1);
	if (!text.failed)
		dt_format(x->call.text, sizeof(x->call.text), "%s", (const char *)text.bytes.p);
	if (!text.failed && text.bytes.n > sizeof(x->call.text))
		strcpy(x->call.text + sizeof(x->call.text) - 4, "...");
	free(text.bytes.p);
	x->read = true;
}

/* Reads the entries, those of calls near each other together, and makes the texts. */
static int read_entries(struct reading *k, struct dt_error *e)
{
	struct dt_entry *entry = calloc(k->n + 1, sizeof(*entry));
	int rc = entry ? 0 : dt_fail(e, "out of memory");

	for (size_t i = 0; i < k->n && !rc; i++)
		entry[i] =
			(struct dt_entry){.begin = k->one[i].n->bar.begin,
					  .thread = thread_of(k, &k->one[i]),
					  .function = k->one[i].n->bar.what,
					  .wanted = !(k->one[i].n->bar.flags & DT_CALL_NO_ENTRY)};
	for (size_t i = 0, j; i < k->n && !rc; i = j) {
		for (j = i + 1; j < k->n && entry[j].begin - entry[j - 1].begin <= SHORT;)
			j++;
		rc = dt_entries_read(dt_windows_reader(k->time->windows), entry + i, j - i, e);
		for (size_t at = i; at < j && !rc; at++)
			make_text(k, &k->one[at], &entry[at]);
	}
	if (entry)
		dt_entries_free(entry, k->n);
	free(entry);
	return rc;
}

static int by_begin(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	if (x->n->bar.begin != y->n->bar.begin)
		return x->n->bar.begin < y->n->bar.begin ? -1 : 1;
	return x->n->bar.depth < y->n->bar.depth ? -1 : x->n->bar.depth > y->n->bar.depth;
}

/* Keeps what is known of the nodes, and puts those of which nothing is behind them. Returns where
 * these begin. */
static size_t choose(struct tui *t, const struct dt_outline *o, const uint32_t *node, size_t n)
{
	struct dt_tui_known *known = t->known;
	size_t kept = 0, all;

	for (size_t i = 0; i < known->n; i++) {
		size_t at = 0;

		while (at < n && node[at] != known->one[i].node)
			at++;
		if (at < n && known->one[i].read) {
			if (kept != i)
				known->one[kept] = known->one[i];
			kept++;
		}
	}
	known->n = all = kept;
	for (size_t i = 0; i < n && all < ROOM; i++) {
		if (o->node[node[i]].kind != DT_OUTLINE_CALL || dt_tui_known_of(t, node[i]))
			continue;
		memset(&known->one[all], 0, sizeof(known->one[all]));
		known->one[all].node = node[i];
		known->one[all++].n = &o->node[node[i]];
	}
	known->n = all;
	return kept;
}

void dt_tui_known_read(struct tui *t, const uint32_t *node, size_t n)
{
	struct dt_tui_time *time = t->filter[0] ? &t->chosen : &t->all;
	struct reading k = {.t = t, .time = time};
	uint64_t until = dt_now_ns() + BUDGET_NS;
	struct dt_error e = {""};
	size_t from, all;

	if (!t->known)
		t->known = calloc(1, sizeof(*t->known));
	if (!t->known || !time->windows || !time->outline.n)
		return;
	from = choose(t, &time->outline, node, n);
	all = t->known->n - from;
	qsort(t->known->one + from, all, sizeof(*k.one), by_begin);
	t->lacks = false;
	for (size_t i = 0; i < all; i += k.n) {
		if (i && dt_now_ns() > until) {
			t->lacks = true;
			return;
		}
		k.one = t->known->one + from + i;
		k.n = all - i < PART ? all - i : PART;
		if (read_short(&k, &e) < 0 || read_long(&k, &e) < 0 || read_entries(&k, &e) < 0) {
			dt_tui_warn(t, "arguments can not be read: %s", e.text);
			return;
		}
	}
}
