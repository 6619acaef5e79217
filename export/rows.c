/* SPDX-License-Identifier: MIT */
#include "export/rows.h"

#include <stdlib.h>
#include <string.h>

#include "export/calls.h"

/* Words, each once: open addressing by their bytes. */
struct words {
	struct dt_row_word **slot;
	size_t n, room; /* room: a power of two, or 0 */
};

/* What is known of a function, by its row. */
struct function_words {
	const struct dt_row_word *name, *module, *build; /* NULL: not looked at yet */
};

struct rows {
	struct dt_reader *r;
	struct dt_export_calls calls;
	const struct dt_chosen_calls *chosen;
	const struct dt_rows_events *events;
	struct words words;
	struct function_words *function;
	uint32_t functions;
	struct dt_hosts hosts;
	const struct dt_row_word **host; /* by number; of a trace of one machine, one */
	struct dt_json text, plain;	 /* plain: of a name, as UTF-8 */
	double ns;
	bool stopped, no_memory;
};

/* ---- words ---- */

static uint64_t hash_of(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
	return h;
}

static struct dt_row_word **word_slot(const struct words *w, const char *s, size_t n)
{
	for (size_t i = hash_of(s, n);; i++) {
		struct dt_row_word **at = &w->slot[i & (w->room - 1)];

		if (!*at || ((*at)->n == n && memcmp((*at)->text, s, n) == 0))
			return at;
	}
}

static bool grow_words(struct words *w)
{
	struct words more = {.room = w->room ? 2 * w->room : 256, .n = w->n};

	more.slot = calloc(more.room, sizeof(struct dt_row_word *));
	if (!more.slot)
		return false;
	for (size_t i = 0; i < w->room; i++)
		if (w->slot[i])
			*word_slot(&more, w->slot[i]->text, w->slot[i]->n) = w->slot[i];
	free(w->slot);
	*w = more;
	return true;
}

/* Returns the word for a name, of which bytes that are no UTF-8 are replaced. NULL: out of memory,
 * which is remembered. */
static const struct dt_row_word *word_of(struct rows *k, const char *name)
{
	struct dt_row_word **slot, *word;
	size_t n;

	k->plain.bytes.n = 0;
	dt_json_utf8(&k->plain, name ? name : "", name ? strlen(name) : 0);
	n = k->plain.bytes.n;
	if (k->plain.failed || n > UINT32_MAX ||
	    (2 * k->words.n >= k->words.room && !grow_words(&k->words)))
		goto fail;
	slot = word_slot(&k->words, (const char *)k->plain.bytes.p, n);
	word = *slot;
	if (word)
		return word;
	word = malloc(sizeof(*word) + n + 1);
	if (!word)
		goto fail;
	if (n)
		memcpy(word + 1, k->plain.bytes.p, n);
	((char *)(word + 1))[n] = 0;
	*word = (struct dt_row_word){(uint32_t)k->words.n++, (uint32_t)n, (char *)(word + 1)};
	*slot = word;
	return word;
fail:
	k->no_memory = true;
	return NULL;
}

/* Returns the words of a function; NULL: out of memory, which is remembered. */
static const struct function_words *function_of(struct rows *k, uint32_t row)
{
	const struct dt_function_info *f;
	const struct dt_module_info *m;
	struct function_words *x;

	if (row >= k->functions) {
		uint32_t n = row + 1 + row / 2;
		struct function_words *more = realloc(k->function, n * sizeof(*more));

		if (!more) {
			k->no_memory = true;
			return NULL;
		}
		memset(more + k->functions, 0, (n - k->functions) * sizeof(*more));
		k->function = more;
		k->functions = n;
	}
	x = &k->function[row];
	if (x->name)
		return x;
	f = dt_reader_function(k->r, row);
	m = f ? dt_reader_module(k->r, f->module) : NULL;
	x->module = word_of(k, m ? m->file : "");
	x->build = word_of(k, m ? m->build_id : "");
	x->name = word_of(k, f && *f->name ? f->name : "?");
	return k->no_memory ? NULL : x;
}

/* ---- rows ---- */

int64_t dt_rows_when(const struct dt_reader *r, uint64_t ticks)
{
	uint64_t ns;

	return (int64_t)(dt_reader_realtime(r, ticks, &ns) ? ns : dt_reader_ns(r, ticks));
}

/* Says on which machine a call was, and how far its time may be off. */
static void set_host(const struct rows *k, struct dt_row *row, const struct dt_call *c,
		     uint64_t ticks)
{
	const struct dt_host *h = dt_hosts_of(&k->hosts, c->tid);

	row->host = k->host[h ? h - k->hosts.host : 0];
	row->bounded = h && h->reference;
	for (uint32_t i = 0; h && !h->reference && i < h->bars; i++)
		if (h->bar[i].begin <= ticks && ticks <= h->bar[i].end && !h->bar[i].unknown) {
			row->bounded = true;
			row->early = h->bar[i].early;
			row->late = h->bar[i].late;
			return;
		}
}

static void set_text(struct rows *k, struct dt_row *row, const struct dt_call *c)
{
	struct dt_json *t = &k->text;

	row->text = "";
	if (!k->calls.formats)
		return;
	t->bytes.n = 0;
	dt_export_calls_words(&k->calls, t, c);
	k->no_memory |= t->failed;
	if (t->failed || !t->bytes.n)
		return;
	row->text = (const char *)t->bytes.p;
	row->text_n = t->bytes.n;
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct rows *k = ctx;
	const struct dt_thread_info *t = dt_reader_thread(k->r, c->tid);
	const struct function_words *f;
	uint64_t ticks = c->flags & DT_CALL_NO_ENTRY ? c->end : c->begin, took = dt_call_ticks(c);
	struct dt_row row = {.depth = c->depth, .call = c->id, .caller = c->parent, .made = c};

	if (k->stopped || k->no_memory || !dt_export_wants(k->chosen, c))
		return;
	row.pair = k->calls.pair;
	f = function_of(k, c->function);
	row.ended = word_of(k, dt_call_ended(c));
	if (!f || !row.ended)
		return;
	row.function = f->name;
	row.module = f->module;
	row.build = f->build;
	if (c->tid != DT_NO_TID) {
		row.process = t ? dt_reader_number(k->r, t->pid) : 0;
		row.thread = dt_reader_number(k->r, c->tid);
	}
	row.begin = dt_rows_when(k->r, ticks);
	row.timed = !(c->flags & DT_CALL_UNTIMED);
	if (row.timed) {
		row.duration = (double)took * k->ns;
		row.self = (double)(took > c->children ? took - c->children : 0) * k->ns;
	}
	set_host(k, &row, c, ticks);
	set_text(k, &row, c);
	if (!k->no_memory)
		k->stopped = !k->events->row(k->events->ctx, &row);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct rows *k = ctx;

	if (!k->stopped && !k->no_memory)
		k->events->begin(k->events->ctx, k->calls.pair, c);
}

/* Makes the words of the machines. */
static bool name_hosts(struct rows *k)
{
	const char *own = dt_reader_meta(k->r, "host");
	uint32_t n = k->hosts.n ? k->hosts.n : 1;

	k->host = calloc(n, sizeof(*k->host));
	if (!k->host)
		return false;
	for (uint32_t i = 0; i < n; i++)
		k->host[i] = word_of(k, k->hosts.n ? k->hosts.host[i].name : own);
	return !k->no_memory;
}

int dt_rows_run(struct dt_reader *r, struct dt_formats *formats,
		const struct dt_chosen_calls *chosen, const struct dt_rows_events *rows,
		struct dt_error *e)
{
	struct rows k = {.r = r, .chosen = chosen, .events = rows};
	const struct dt_pair_events events = {
		.begin = rows->begin ? on_begin : NULL, .end = on_end, .ctx = &k};
	int rc;

	k.calls = (struct dt_export_calls){.reader = r, .formats = formats, .events = &events};
	k.ns = dt_reader_ns_per_tick(r);
	if (dt_hosts_load(&k.hosts, r) || !name_hosts(&k))
		rc = dt_fail(e, "out of memory");
	else
		rc = dt_export_calls_run(
			&k.calls,
			&(struct dt_reader_range){.order = DT_BY_TIME, .values = formats != NULL},
			e);
	if (!rc && k.no_memory)
		rc = dt_fail(e, "out of memory");
	if (!rc && !k.stopped)
		rows->row(rows->ctx, NULL);
	for (size_t i = 0; i < k.words.room; i++)
		free(k.words.slot[i]);
	free(k.words.slot);
	free(k.function);
	free(k.host);
	free(k.text.bytes.p);
	free(k.plain.bytes.p);
	dt_hosts_free(&k.hosts);
	return rc;
}
