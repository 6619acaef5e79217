/* SPDX-License-Identifier: MIT */
/* Writing two traces beside each other as one. */
#include "fleet/beside.h"

#include <stdio.h>
#include <string.h>

#include "analyse/chosen.h"
#include "analyse/diverge.h"
#include "analyse/match.h"
#include "analyse/meanings.h"
#include "store/hosts.h"
#include "store/join.h"
#include "store/notes.h"
#include "store/twins.h"

/* ---- what is brought to the same time ---- */

struct finding {
	struct dt_choosing choice;
	const char *note;
	bool events, found;
	uint64_t ticks;
};

static void find(struct finding *f, uint64_t ticks)
{
	if (f->found && f->ticks <= ticks)
		return;
	f->found = true;
	f->ticks = ticks;
}

static void on_note(void *ctx, const struct dt_note *n)
{
	struct finding *f = ctx;

	if (!strcmp(n->text, f->note))
		find(f, n->begin);
}

static void on_begin(void *ctx, const struct dt_call *c)
{
	struct finding *f = ctx;

	dt_chosen_begin(&f->choice, c);
}

static void on_end(void *ctx, const struct dt_call *c)
{
	struct finding *f = ctx;

	/* a call of which the beginning is not known is at no time */
	if (!f->events && c->id && dt_chosen_end(&f->choice, c))
		find(f, c->begin);
}

static void on_other(void *ctx, const struct dt_span *s, uint32_t i, uint32_t depth)
{
	struct finding *f = ctx;
	struct dt_record r;

	if (!f->events)
		return;
	dt_span_record(f->choice.reader, s, i, &r);
	if (r.kind == DT_EVENT && dt_filter_place(f->choice.filter, dt_span_core(s, i), r.tid) &&
	    dt_filter_event(f->choice.filter, r.kind, r.value[0]))
		find(f, r.ticks);
}

static int find_words(struct finding *f, struct dt_reader *r, const char *words, struct dt_error *e)
{
	struct dt_reader_range range = {.order = DT_BY_TIME, .values = true};
	struct dt_pair_events events = {
		.begin = on_begin, .end = on_end, .other = on_other, .ctx = f};
	int rc;

	f->events = !strncmp(words, "event:", 6);
	f->choice.filter = dt_meanings_filter(words, r, e);
	if (!f->choice.filter)
		return -1;
	rc = dt_chosen_run(&f->choice, r, &range, &events, e);
	dt_filter_free(f->choice.filter);
	return rc;
}

int dt_beside_find(struct dt_reader *r, const char *words, uint64_t *ticks, struct dt_error *e)
{
	struct finding f = {.note = ""};
	struct dt_summary sum;
	int rc;

	if (!*words) {
		if (dt_reader_summary(r, &sum, e))
			return -1;
		*ticks = sum.min_ticks;
		return sum.records > 0;
	}
	if (!strncmp(words, "note:", 5)) {
		f.note = words + 5;
		rc = dt_notes_read(r, on_note, &f, e);
	} else {
		rc = find_words(&f, r, words, e);
	}
	*ticks = f.ticks;
	return rc ? -1 : f.found;
}

/* ---- times ---- */

/* How ticks of one of the traces become ticks of the new one, whose clock is A's. */
struct placing {
	uint64_t from, to; /* a tick of the trace, and where it is drawn */
	long double rate;  /* ticks of A for one of the trace */
};

static uint64_t place(void *ctx, uint64_t ticks)
{
	const struct placing *p = ctx;
	long double away = ticks >= p->from ? (long double)(ticks - p->from) * p->rate
					    : -(long double)(p->from - ticks) * p->rate;

	/* what was long before, such as a process's beginning, may be before all that can be drawn
	 */
	if (away < 0 && -away >= (long double)p->to)
		return 1;
	return away < 0 ? p->to - (uint64_t)-away : p->to + (uint64_t)away;
}

static int make_placing(const struct dt_beside *b, struct placing p[2], struct dt_error *e)
{
	struct dt_summary sum;
	long double before;

	p[0] = (struct placing){b->at[0], b->at[0], 1};
	p[1] = (struct placing){b->at[1], b->at[0],
				(long double)dt_reader_ns_per_tick(b->reader[1]) /
					dt_reader_ns_per_tick(b->reader[0])};
	if (dt_reader_summary(b->reader[1], &sum, e))
		return -1;
	/* no record may be before tick 1 */
	before = b->at[1] > sum.min_ticks ? (long double)(b->at[1] - sum.min_ticks) * p[1].rate : 0;
	if (before + 2 > (long double)b->at[0])
		p[0].to = p[1].to = (uint64_t)before + 2;
	return 0;
}

/* ---- where they diverge ---- */

/* Says what a thread did where the two diverge. */
static void say_point(char *to, size_t size, unsigned side, const struct dt_reader *r,
		      const struct dt_diverge_point *x)
{
	if (x->none)
		dt_format(to, size, "%c does nothing more", 'A' + (int)side);
	else
		dt_format(to, size, "%c %s %.150s", 'A' + (int)side,
			  x->call.end ? "leaves" : "calls",
			  dt_reader_function_name(r, x->call.function));
}

static uint64_t time_of(const struct dt_diverge_point *x)
{
	return !x->none ? x->call.ticks : x->has_last ? x->last.ticks : 0;
}

static int note_pair(const struct dt_beside *b, struct placing p[2], const char *path,
		     const struct dt_diverge_pair *x, struct dt_error *e)
{
	const struct dt_thread_info *info = dt_reader_thread(b->reader[0], x->in[0]->tid);
	char does[2][200], text[700];
	struct dt_note n = {.text = text};
	uint64_t at[2];

	for (unsigned side = 0; side < 2; side++) {
		const struct dt_diverge_point *point = &x->in[side]->point;

		say_point(does[side], sizeof(does[side]), side, b->reader[side], point);
		at[side] = time_of(point) ? place(&p[side], time_of(point)) : 0;
	}
	for (unsigned side = 0; side < 2; side++)
		if (!at[side])
			at[side] = at[!side] ? at[!side] : p[0].to;
	n.begin = at[0] < at[1] ? at[0] : at[1];
	n.end = at[0] < at[1] ? at[1] : at[0];
	if (n.end == n.begin)
		n.end++;
	dt_format(text, sizeof(text), "first difference of thread %.60s, after %lu calls: %s, %s",
		  info && info->name[0] ? info->name : "?", (unsigned long)x->in[0]->same_calls,
		  does[0], does[1]);
	return dt_notes_put(path, &n, e);
}

static int note_divergences(const struct dt_beside *b, struct placing p[2], const char *path,
			    struct dt_error *e)
{
	struct dt_diverge_options o = {.shown = {NULL, NULL}};
	struct dt_diverge d = {0};
	int rc = dt_diverge_read(&d, b->reader, &o, e);

	for (size_t i = 0; !rc && i < d.pairs && i < DT_BESIDE_NOTES; i++)
		if (d.pair[i].diverges)
			rc = note_pair(b, p, path, &d.pair[i], e);
	dt_diverge_free(&d);
	return rc;
}

/* ---- the whole ---- */

static int put_twins(struct dt_store *s, const struct dt_beside *b, const uint32_t first[2],
		     struct dt_error *e)
{
	const struct dt_reader *const r[2] = {b->reader[0], b->reader[1]};
	struct dt_match m = {0};
	int rc = dt_match_read(&m, r) ? dt_fail(e, "out of memory") : 0;

	if (!rc)
		rc = dt_twins_begin(s, first[1] + 1, b->words, e);
	for (unsigned side = 0; side < 2; side++)
		for (uint32_t row = 1; !rc && row < m.rows[side]; row++)
			if (m.of[side][row])
				rc = dt_twins_put(s, first[side] + row, m.of[side][row], e);
	dt_match_free(&m);
	return rc;
}

static int add(struct dt_store *s, const struct dt_beside *b, struct dt_joined *joined,
	       unsigned side, struct dt_join_from *from, struct dt_error *e)
{
	static const char *const name[] = {"A", "B"};
	struct dt_host h = {.name = name[side],
			    .core = from->core,
			    .cores = from->cores,
			    .first = DT_JOIN_FIRST_ID + joined->ids,
			    .reference = side == 0,
			    .known = true};

	from->reader = b->reader[side];
	if (dt_store_join(s, joined, from, e))
		return -1;
	h.end = DT_JOIN_FIRST_ID + joined->ids;
	return dt_join_offsets(s, b->reader[side], h.core, h.cores, e) ||
			       dt_hosts_put(s, side, &h, e)
		       ? -1
		       : 0;
}

static int fill(struct dt_store *s, const struct dt_beside *b, struct placing p[2],
		struct dt_error *e)
{
	unsigned cores[2] = {dt_join_cores(b->reader[0], e), 0};
	struct dt_joined joined = {0};
	uint32_t first[2];

	if (!cores[0] || !(cores[1] = dt_join_cores(b->reader[1], e)))
		return -1;
	if (cores[0] + cores[1] >= DT_FURTHER_CORES)
		return dt_fail(e, "the traces have %u cores; one trace has at most %u",
			       cores[0] + cores[1], DT_FURTHER_CORES - 1);
	if (dt_join_meta(s, b->reader, 2, 0, cores[0] + cores[1], e))
		return -1;
	for (unsigned side = 0; side < 2; side++) {
		struct dt_join_from from = {.place = place,
					    .ctx = &p[side],
					    .core = side ? cores[0] : 0,
					    .cores = cores[side],
					    .all = cores[0] + cores[1],
					    .clocks = side == 0};

		if (add(s, b, &joined, side, &from, e))
			return -1;
		first[side] = joined.functions;
	}
	return put_twins(s, b, first, e);
}

int dt_beside_write(const struct dt_beside *b, const char *path, struct dt_error *e)
{
	struct placing p[2];
	struct dt_store *s;

	if (make_placing(b, p, e))
		return -1;
	s = dt_join_create(path, e);
	if (!s)
		return -1;
	if (fill(s, b, p, e)) {
		dt_store_discard(s);
		return -1;
	}
	return dt_store_close(s, e) || note_divergences(b, p, path, e) ? -1 : 0;
}
