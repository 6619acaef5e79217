/* SPDX-License-Identifier: MIT */
/*
 * Calls of the kernel that are left out before they are recorded. The kernel's programs are told of
 * a function when the first of its records comes here, and from then on record only those of its
 * calls that may be wanted. All that they record is chosen among here as ever.
 *
 * Where there are sums, the programs sum up what they leave out, if all sums over calls of that
 * function ask only for what they know (filter/sums-plan.h); else they leave none of its calls out.
 */
#include "session/sieve-work.h"

#include <stdlib.h>
#include <string.h>

#include "filter/conditions.h"
#include "session/kernel.h"
#include "session/lives.h"

/* Rows of sums, for all cores: by function, and by anything. */
#define ROWS_FEW  16384u
#define ROWS_MANY 131072u

bool dt_sieve_chooses_early(const struct dt_options *o)
{
	/* all that looks at calls that are left out has to see them */
	return o->kernel && o->output && (o->filter || o->sums) && !o->until && !o->signals &&
	       !o->snapshots && !o->backtrace && !(o->sums && o->budget) &&
	       o->policy != DT_OVERWRITE;
}

unsigned dt_sieve_early_rows(const struct dt_options *o)
{
	struct dt_sieve_words w;
	unsigned rows = ROWS_FEW;
	struct dt_sums_words words;
	struct dt_error e;

	if (!o->sums || !dt_sieve_chooses_early(o) || dt_sieve_words(&w, o, &e))
		return 0;
	for (size_t i = 0; i < w.n; i++) {
		if (dt_sums_parse(&words, w.at[i].text, &e))
			continue;
		for (unsigned k = 0; k < words.keys; k++)
			if (words.key[k].what != DT_SUMS_FUNCTION)
				rows = ROWS_MANY;
	}
	dt_sieve_words_free(&w);
	return rows;
}

void dt_sieve_early_begin(struct dt_sieve *v)
{
	v->early = v->session->kernel && dt_sieve_chooses_early(&v->session->options) &&
		   dt_filter_is_plain(v->filter) && !v->filter_texts;
	v->early_sums = v->early && v->sums;
	for (unsigned i = 0; i < DT_SUMS_MOST; i++)
		v->early_sum[i] = i + 1;
}

/* ---- what is wanted of a function ---- */

/* Notes why the recorder sums up calls of a function: about, unless it is "", the word of a sum. */
static void note_recorded(struct dt_sieve *v, const char *why, const char *about)
{
	v->early_recorded++;
	if (!v->early_why[0])
		dt_format(v->early_why, sizeof(v->early_why), "%s%s%s%s", why, *about ? "'" : "",
			  about, *about ? "'" : "");
}

/* Finds what the sums want of the calls of a function. False: they have to be recorded. */
static bool plan(struct dt_sieve *v, uint64_t pc, uint32_t function, struct dt_kernel_sums *sums)
{
	const bool texts = DT_BPF_IS_CALL(pc);

	sums->n = 0;
	for (size_t i = 0; i < dt_sums_count(v->sums); i++) {
		struct dt_sums_plan *p = &sums->sum[sums->n].plan;
		const char *word = dt_sums_plan(v->sums, i, function, texts, p);

		if (!word && p->keys > DT_BPF_SUM_KEYS)
			word = dt_sums_words(v->sums, i)->key[DT_BPF_SUM_KEYS].name;
		if (word) {
			note_recorded(v, "the kernel does not know ", word);
			return false;
		}
		if (p->conditions.never)
			continue;
		sums->sum[sums->n++].number = (unsigned)i;
	}
	return true;
}

/* Has the function been planned for before? */
static bool is_planned(struct dt_sieve *v, uint32_t function)
{
	if (function >= v->early_planned) {
		uint32_t n = function + 1 + function / 2;
		uint8_t *more = realloc(v->early_plan, n);

		if (!more)
			return true;
		memset(more + v->early_planned, 0, n - v->early_planned);
		v->early_plan = more;
		v->early_planned = n;
	}
	if (v->early_plan[function])
		return true;
	v->early_plan[function] = 1;
	return false;
}

void dt_sieve_early_tell(struct dt_sieve *v, const struct dt_record *r,
			 const struct dt_store_place *at)
{
	struct dt_kernel_sums sums;
	struct dt_conditions c;
	const char *why;

	if (!v->early || r->kind != DT_ENTRY || !dt_kernel_address(r->pc) || !at->function)
		return;
	if (v->early_sums && (is_planned(v, at->function) || !plan(v, r->pc, at->function, &sums)))
		return;
	dt_filter_conditions(v->filter, at->function, &c);
	why = dt_kernel_choose(v->session->kernel, r->pc, at->function, &c,
			       v->early_sums ? &sums : NULL, v->session->ticks_per_ns);
	if (why)
		note_recorded(v, why, "");
}

void dt_sieve_early_end(struct dt_sieve *v)
{
	if (v->early)
		dt_kernel_choose_end(v->session->kernel);
	v->early = false;
}

/* ---- what has been left out ---- */

/* Returns the sum that had a number in the beginning; NULL: it has been taken away. */
static const struct dt_sums_words *sum_of(const struct dt_sieve *v, unsigned number, size_t *i)
{
	if (number >= DT_SUMS_MOST || !v->early_sum[number])
		return NULL;
	*i = v->early_sum[number] - 1;
	return *i < dt_sums_count(v->sums) ? dt_sums_words(v->sums, *i) : NULL;
}

static void add(void *ctx, unsigned number, const struct dt_sums_given *g)
{
	struct dt_sieve *v = ctx;
	struct dt_sums_given given = *g;
	const struct dt_sums_words *w;
	size_t i;

	w = sum_of(v, number, &i);
	if (!w)
		return;
	for (unsigned k = 0; k < w->keys; k++) {
		enum dt_sums_what what = w->key[k].what;

		if (what == DT_SUMS_FUNCTION) {
			given.key_known[k] = true;
			given.key[k] = g->function;
		} else if (what == DT_SUMS_THREAD || what == DT_SUMS_PROCESS) {
			given.key[k] = dt_lives_now(v->session, (uint32_t)g->key[k]);
		}
	}
	dt_sums_give(v->sums, i, &given);
}

static void add_others(void *ctx, unsigned number, uint64_t calls)
{
	struct dt_sieve *v = ctx;
	size_t i;

	if (sum_of(v, number, &i))
		dt_sums_give_others(v->sums, i, calls);
	v->early_others += calls;
}

static unsigned no_callers(const void *ctx, uint32_t *function, unsigned most)
{
	return 0;
}

/* Sums up a call that had not ended when recording did, as dt_sieve_finish() does. */
static void add_open(void *ctx, const struct dt_record *entry, uint32_t row)
{
	struct dt_sieve *v = ctx;
	struct dt_record r = *entry;
	struct dt_sums_around around = {.callers = no_callers};
	struct dt_call c = {
		.function = row, .flags = DT_CALL_OPEN, .sp = r.sp, .argument = r.value};
	uint32_t note, known = 0;
	size_t i;

	dt_lives_correct(v->session, &r, 1);
	c.tid = r.tid;
	c.begin = r.ticks;
	c.end = v->now > r.ticks ? v->now : r.ticks;
	around.core = r.core;
	around.pid = c.tid == DT_NO_TID ? 0 : dt_store_pid(v->session->store, c.tid);
	/* what was added later does not count it: a note has four bits for each sum */
	for (unsigned number = 0; number < DT_SUMS_MOST; number++)
		if (sum_of(v, number, &i))
			known |= 15u << 4 * i;
	note = dt_sums_begin(v->sums, &c, dt_sums_nobody(v->sums)) & known;
	dt_sums_end(v->sums, &c, note, &around);
}

/* end: nothing is recorded any more */
static void take_sums(struct dt_sieve *v, bool end)
{
	const struct dt_kernel_summed to = {v, add, add_others, add_open};

	if (v->early_sums && v->session->kernel)
		dt_kernel_sums(v->session->kernel, &to, end);
}

void dt_sieve_early_sums(struct dt_sieve *v)
{
	take_sums(v, false);
}

void dt_sieve_early_removed(struct dt_sieve *v, size_t i)
{
	for (unsigned number = 0; number < DT_SUMS_MOST; number++)
		if (v->early_sum[number] == i + 1)
			v->early_sum[number] = 0;
		else if (v->early_sum[number] > i + 1)
			v->early_sum[number]--;
}

void dt_sieve_early_count(struct dt_sieve *v, bool end)
{
	struct dt_left_out_row row;

	take_sums(v, end);
	for (size_t i = 0; v->session->kernel && dt_kernel_left(v->session->kernel, i, &row); i++)
		if (row.calls || row.untimed) {
			dt_sieve_merge_left(v, &row);
			v->counts.records += 2 * row.calls + row.untimed;
			v->early_calls += row.calls + row.untimed;
		}
}

/* ---- what the user is told ---- */

void dt_sieve_early_note(const struct dt_sieve *v, char *text, size_t size)
{
	size_t at = 0;

	text[0] = '\0';
	if (!v->sums || !v->session->kernel || !v->session->options.kernel)
		return;
	if (v->early_calls && v->early_sums)
		at = dt_format(text, size, "; %lu calls were summed up in the kernel",
			       (unsigned long)v->early_calls);
	if (v->early_recorded && at < size)
		at += dt_format(text + at, size - at,
				"; those of %lu functions by the recorder (%s)",
				(unsigned long)v->early_recorded, v->early_why);
	if (v->early_others && at < size)
		dt_format(text + at, size - at,
			  "; its table of rows was full: %lu calls are among those with other keys",
			  (unsigned long)v->early_others);
}
