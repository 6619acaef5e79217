/* SPDX-License-Identifier: MIT */
/* The tables of a running session's sums as text. */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#include "core/plain.h"
#include "filter/sums-table.h"

#define TEXT 4096u

/* What the names of keys are made with. */
struct naming {
	const struct dt_sieve *sieve;
	char text[TEXT], plain[4 * TEXT + 1]; /* each byte may become \xNN */
};

static const char *name_of(const struct dt_sieve *v, uint64_t row)
{
	return row < v->functions && v->function[row].name ? v->function[row].name : "?";
}

static void put_path(struct naming *n, const struct dt_sums_part *p)
{
	size_t at = 0;

	n->text[0] = '\0';
	for (uint32_t i = 0; i + 4 <= p->n && at + 4 < TEXT; i += 4) {
		uint32_t function;

		memcpy(&function, p->bytes + i, sizeof(function));
		at += dt_format(n->text + at, TEXT - at, "%s%s", i ? " < " : "",
				name_of(n->sieve, function));
	}
}

static void put_error(struct naming *n, uint64_t error)
{
	const char *name = error ? strerrorname_np((int)error) : "none";

	if (name)
		dt_format(n->text, TEXT, "%s", name);
	else
		dt_format(n->text, TEXT, "errno %lu", (unsigned long)error);
}

static void put_thread(struct naming *n, uint32_t tid)
{
	struct dt_meanings_thread t;

	if (tid == DT_NO_TID) {
		dt_format(n->text, TEXT, "no thread");
		return;
	}
	n->sieve->meanings.thread(n->sieve, tid, &t);
	dt_format(n->text, TEXT, "%u%s%s", t.number, *t.name ? " " : "", t.name);
}

static void put_process(struct naming *n, uint32_t pid)
{
	struct dt_meanings_thread t;
	const char *base;

	if (!pid) {
		dt_format(n->text, TEXT, "?");
		return;
	}
	n->sieve->meanings.thread(n->sieve, pid, &t);
	base = t.exe ? strrchr(t.exe, '/') : NULL;
	base = base ? base + 1 : t.exe ? t.exe : "";
	dt_format(n->text, TEXT, "%u%s%s", t.number, *base ? " " : "", base);
}

static void put_number(struct naming *n, const struct dt_sums_term *t, const struct dt_sums_part *p)
{
	char number[48];

	switch (t->what) {
	case DT_SUMS_FUNCTION:
	case DT_SUMS_CALLER:
		dt_format(n->text, TEXT, "%s", name_of(n->sieve, p->number));
		break;
	case DT_SUMS_THREAD:
		put_thread(n, (uint32_t)p->number);
		break;
	case DT_SUMS_PROCESS:
		put_process(n, (uint32_t)p->number);
		break;
	case DT_SUMS_ERROR:
		put_error(n, p->number);
		break;
	default:
		dt_format(n->text, TEXT, "%s",
			  dt_sums_number(number, p->negative ? (__int128)(int64_t)p->number
							     : (__int128)p->number));
	}
}

static const char *key_text(void *ctx, const struct dt_sums_row *row, const struct dt_sums_term *t,
			    const struct dt_sums_part *p)
{
	struct naming *n = ctx;
	double real;

	switch (p->kind) {
	case DT_SUMS_REAL:
		memcpy(&real, &p->number, sizeof(real));
		snprintf(n->text, TEXT, "%.9g", real);
		break;
	case DT_SUMS_BYTES:
		dt_format(n->text, TEXT, "\"%.*s\"", p->n < TEXT - 3 ? (int)p->n : (int)TEXT - 3,
			  (const char *)p->bytes);
		break;
	case DT_SUMS_PATH:
		put_path(n, p);
		break;
	case DT_SUMS_NUMBER:
		put_number(n, t, p);
		break;
	default:
		dt_format(n->text, TEXT, "?");
	}
	n->plain[dt_plain(n->plain, n->text, strlen(n->text))] = '\0';
	return n->plain;
}

static int take_row(void *ctx, const struct dt_sums_row *row)
{
	struct dt_sums_table *t = ctx;
	struct dt_sums_row **more;

	if (t->rows % 256 == 0) {
		more = realloc(t->row, (t->rows + 256) * sizeof(*more));
		if (!more)
			return -1;
		t->row = more;
	}
	t->row[t->rows++] = (struct dt_sums_row *)(uintptr_t)row;
	return 0;
}

char *dt_sieve_table(const struct dt_sieve *v, size_t i, uint64_t rows)
{
	struct dt_sums_totals totals = dt_sums_totals(v->sums, i);
	struct dt_sums_table t = {.text = v->words.at[i].text,
				  .words = *dt_sums_words(v->sums, i),
				  .calls = totals.calls,
				  .others = totals.others,
				  .missed = v->sums_missed};
	struct naming *n = malloc(sizeof(*n));
	struct dt_sums_shown how = {.key = key_text,
				    .ctx = n,
				    .ns_per_tick = v->meanings.ns_per_tick,
				    .rows = rows,
				    .more = "the greatest are shown"};
	char *text = NULL;
	size_t size;
	FILE *f = n ? open_memstream(&text, &size) : NULL;
	bool failed = !f || dt_sums_each(v->sums, i, false, take_row, &t);

	if (f && !failed) {
		n->sieve = v;
		dt_sums_table_print(f, &t, &how);
	}
	failed |= f && fclose(f) != 0;
	if (failed) {
		free(text);
		text = NULL;
	}
	free(t.row);
	free(n);
	return text;
}
