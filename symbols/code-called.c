/* SPDX-License-Identifier: MIT */
/*
 * Finds functions that have neither a symbol nor an unwind entry, by the calls of them.
 *
 * Code is followed from what is known (functions, the entry point, addresses in data and in
 * instructions), so that a call counts only if it can be reached. Then each function is followed
 * from its beginning, with what happens to the stack pointer, to find which code is its own: it
 * ends where its own flow ends, not where the next known function begins, since a function that is
 * only reached through pointers may lie between the two. A function that does not leave with the
 * stack as it found it, that has jumps with unknown targets, or that shares its code with others,
 * is found but not hooked.
 *
 * This is done only if the known functions leave a notable part of the code uncovered, or if main
 * is known (reader.start) and nothing says where it ends.
 */
#include "symbols/code-called-work.h"

#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "symbols/code-work.h"

int dt_called_by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

bool dt_called_grow(struct search *s, void *array, size_t n, size_t *room, size_t size)
{
	void *p;

	memcpy(&p, array, sizeof(p));
	if (!dt_code_grow(s->r, &p, n, room, size))
		return false;
	memcpy(array, &p, sizeof(p));
	return true;
}

uint8_t *dt_called_mark_at(const struct search *s, uint64_t at)
{
	const struct dt_code_region *g = dt_code_text_at(s->c, at);

	return g ? &g->mark[at - g->low] : NULL;
}

bool dt_called_is_marked(const struct search *s, uint64_t at, uint8_t bits)
{
	const uint8_t *m = dt_called_mark_at(s, at);

	return m && *m & bits;
}

bool dt_called_is_open(const struct search *s, uint64_t at)
{
	return dt_code_text_at(s->c, at) && dt_code_function_at(s->c, at) == s->c->functions;
}

bool dt_called_is_taken(uint8_t mark)
{
	return mark & TAKEN || (mark & (WORD | LABEL)) == WORD;
}

uint64_t dt_called_end_of_gap(const struct dt_code *c, uint64_t at)
{
	uint64_t end = dt_code_text_at(c, at)->high;
	size_t low = dt_count_before(c->functions, i, c->function[i].start <= at);

	return low < c->functions && c->function[low].start < end ? c->function[low].start : end;
}

/* Calls fn for each gap that no function covers. */
static void each_gap(struct search *s,
		     void (*fn)(struct search *, const struct dt_code_region *, uint64_t, uint64_t))
{
	struct dt_code *c = s->c;

	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *g = &c->region[i];
		uint64_t at = g->low;

		for (size_t k = 0; !g->plt && k < c->functions; k++) {
			const struct dt_code_function *f = &c->function[k];

			if (f->start < g->low || f->start >= g->high)
				continue;
			if (f->start > at)
				fn(s, g, at, f->start);
			if (f->end > at)
				at = f->end;
		}
		if (!g->plt && at < g->high)
			fn(s, g, at, g->high);
	}
}

/* Do the known functions leave so much code that the search is worth while? */
static bool is_notable(const struct dt_code *c)
{
	uint64_t text = 0, left = 0;

	for (size_t i = 0; i < c->regions; i++) {
		const struct dt_code_region *g = &c->region[i];
		uint64_t at = g->low;

		if (g->plt)
			continue;
		text += g->high - g->low;
		for (size_t k = 0; k < c->functions; k++) {
			const struct dt_code_function *f = &c->function[k];

			if (f->start < g->low || f->start >= g->high)
				continue;
			if (f->start > at + GAP_LEAST)
				left += f->start - at;
			if (f->end > at)
				at = f->end;
		}
		if (g->high > at + GAP_LEAST)
			left += g->high - at;
	}
	return left > text / NOTABLE && (left > NOTABLE_LEAST || !c->frames->n);
}

/* Would the code at `at' be a function, in which nothing is wrong and which leaves as it should? */
static bool is_likely(struct search *s, uint64_t at)
{
	struct start f = {.at = at};
	size_t wishes = s->wishes;

	dt_called_follow_all(s, &f);
	s->wishes = wishes;
	for (size_t i = 0; i < s->orders && !f.trouble; i++) {
		const struct visit *v = dt_called_slot_of(s, s->order[i]);
		const struct dt_code_region *g = dt_code_text_at(s->c, v->at);
		struct dt_insn in;

		dt_insn_decode(&in, g->bytes + (v->at - g->low), v->length, v->at);
		if (g->mark[v->at - g->low] & INNER ||
		    (in.kind == DT_INSN_RETURN && v->stack.sp != 0))
			return false;
	}
	return !f.trouble && s->orders > 1;
}

static uint64_t behind_filler(const struct dt_code_region *g, uint64_t at, uint64_t end)
{
	struct dt_insn in;

	while (at < end) {
		uint64_t zeros = dt_called_behind_zeros(g, at);

		if (zeros == at && (g->mark[at - g->low] & DT_CODE_INSN ||
				    !dt_insn_decode(&in, g->bytes + (at - g->low), end - at, at) ||
				    !dt_insn_is_padding(&in)))
			break;
		at = zeros != at ? zeros : at + in.length;
	}
	return at;
}

/*
 * Looks for functions that nothing leads to, after code that is reached and after filler. The calls
 * in them count, but a function that only such code calls is not hooked, since it is not certain to
 * be code.
 */
static void sweep(struct search *s, const struct dt_code_region *g, uint64_t low, uint64_t high)
{
	struct dt_insn in;

	for (uint64_t at = low; at < high && !s->r->failed;) {
		uint64_t from = at;

		if (g->mark[at - g->low] & (DT_CODE_INSN | INNER)) {
			at++;
			continue;
		}
		at = behind_filler(g, at, high);
		if (at < high && !(g->mark[at - g->low] & DT_CODE_INSN) && is_likely(s, at)) {
			dt_called_push(s, at);
			dt_called_walk_all(s);
		}
		if (at < high && g->mark[at - g->low] & DT_CODE_INSN)
			continue;
		/* goes on after the next instruction that ends a flow */
		for (; at < high && !(g->mark[at - g->low] & DT_CODE_INSN); at += in.length)
			if (!dt_insn_decode(&in, g->bytes + (at - g->low), high - at, at))
				in.length = 1;
			else if (dt_insn_ends(&in)) {
				at += in.length;
				break;
			}
		at += at == from;
	}
}

static void add_start(struct search *s, uint64_t at, bool jumped)
{
	if (dt_called_grow(s, &s->start, s->starts, &s->start_room, sizeof(*s->start)))
		s->start[s->starts++] = (struct start){.at = at, .jumped = jumped, .again = true};
}

static int by_low(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	/* the piece at a function's beginning comes first */
	if ((x->of == x->low) != (y->of == y->low))
		return x->of == x->low ? -1 : 1;
	return x->of < y->of ? -1 : x->of > y->of;
}

static bool is_swept(const struct search *s, uint64_t at)
{
	size_t low = dt_count_before(s->swepts, i, s->swept[i].low <= at);

	return low && at < s->swept[low - 1].high;
}

static void find_starts(struct search *s, const struct dt_code_region *g, uint64_t low,
			uint64_t high)
{
	for (uint64_t at = low; at < high && !s->r->failed; at++) {
		uint8_t *m = &g->mark[at - g->low];

		if (!(*m & START))
			continue;
		if (dt_called_start_among(s, s->sure, at))
			continue;
		/*
		 * calls in code that nothing leads to do not say where functions begin in code that
		 * is reached
		 */
		if (*m & DT_CODE_INSN && !(*m & INNER) &&
		    (!s->sweeping || dt_called_is_taken(*m) || is_swept(s, at)))
			add_start(s, at, false);
		else
			*m &= (uint8_t)~START;
	}
}

static int by_at(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

static void find_all_starts(struct search *s)
{
	each_gap(s, find_starts);
	if (s->starts)
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
	s->sure = s->starts;
	s->sweeping = true;
	each_gap(s, sweep);
	if (s->swepts)
		qsort(s->swept, s->swepts, sizeof(*s->swept), by_low);
	each_gap(s, find_starts);
	s->sweeping = false;
	for (size_t i = s->sure; i < s->starts; i++)
		s->start[i].swept = true;
	if (s->starts)
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
}

static void forget_marks(const struct dt_code *c)
{
	for (size_t i = 0; i < c->regions; i++)
		for (uint64_t k = 0; k < c->region[i].high - c->region[i].low; k++)
			c->region[i].mark[k] &= (uint8_t) ~(START | INNER | NEVER | WORD | LABEL);
}

/* Makes a function of each address that is jumped to without a frame and also occurs as a value. */
static bool grant_wishes(struct search *s)
{
	size_t n = s->starts;

	for (size_t i = 0; i < s->wishes; i++) {
		uint8_t *m = dt_called_mark_at(s, s->wish[i]);

		if (*m & START)
			continue;
		*m |= START;
		add_start(s, s->wish[i], true);
	}
	s->wishes = 0;
	if (s->starts > n)
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
	return s->starts > n;
}

/*
 * Resolves that pieces of two functions overlap. Returns false if neither has to be followed again.
 */
static bool part_two(struct search *s, const struct piece *a, const struct piece *b)
{
	struct start *x = dt_called_start_of(s, a->of), *y = dt_called_start_of(s, b->of);
	uint8_t *m = dt_called_mark_at(s, b->low);

	/* a start found since then may lie between them */
	if (x->known < s->starts || y->known < s->starts) {
		x->again = y->again = true;
		return true;
	}
	/* code that both jump to with nothing on the stack counts as a function of its own, but is
	 * not hooked: something may be below the stack pointer */
	if (b->bare && b->low != b->of && (a->bare || a->low != b->low) && !(*m & START) &&
	    a->low == b->low) {
		*m |= START;
		x->again = y->again = true;
		add_start(s, b->low, true);
		s->start[s->starts - 1].common = true;
		qsort(s->start, s->starts, sizeof(*s->start), by_at);
		return true;
	}
	dt_called_set_shared(x, b->low);
	dt_called_set_shared(y, b->low);
	return false;
}

/*
 * Resolves overlaps between the pieces of different functions. Returns true if some functions must
 * be followed again; last: mark overlaps as shared instead.
 */
static bool part_all(struct search *s, bool last)
{
	const struct piece *far = NULL;
	bool again = false;

	if (s->pieces)
		qsort(s->piece, s->pieces, sizeof(*s->piece), by_low);
	for (size_t i = 0; i < s->pieces; i++) {
		const struct piece *p = &s->piece[i];

		if (far && p->low < far->high && p->of != far->of) {
			if (last) {
				dt_called_set_shared(dt_called_start_of(s, far->of), p->low);
				dt_called_set_shared(dt_called_start_of(s, p->of), p->low);
			} else {
				again |= part_two(s, far, p);
			}
		}
		if (!far || p->high > far->high)
			far = p;
	}
	return again;
}

/* Drops the pieces of the functions that are followed again. */
static void drop_again(struct search *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->pieces; i++)
		if (!dt_called_start_of(s, s->piece[i].of)->again)
			s->piece[kept++] = s->piece[i];
	s->pieces = kept;
}

/*
 * Marks functions that never return. Their callers were followed too far; returns true if some must
 * be followed again.
 */
static bool mark_never(struct search *s)
{
	bool any = false;

	for (size_t i = 0; i < s->starts; i++) {
		uint8_t *m = dt_called_mark_at(s, s->start[i].at);

		any |= s->start[i].never && !(*m & NEVER);
		if (s->start[i].never)
			*m |= NEVER;
	}
	for (size_t i = 0; any && i < s->starts; i++) {
		s->start[i].again |= s->start[i].trouble || s->start[i].shared;
		s->start[i].entered = false;
	}
	return any;
}

static void part_code(struct search *s)
{
	for (unsigned round = 0; round < ROUNDS && !s->r->failed; round++) {
		bool again;

		drop_again(s);
		for (size_t i = 0; i < s->starts && !s->r->failed; i++)
			if (s->start[i].again)
				dt_called_look_into(s, &s->start[i]);
		for (size_t i = 0; i < s->starts; i++)
			s->start[i].shared = false;
		again = grant_wishes(s);
		again |= part_all(s, round + 2 >= ROUNDS);
		again |= mark_never(s);
		if (!again)
			return;
	}
}

static bool merge_functions(struct search *s)
{
	struct dt_code *c = s->c;
	size_t n = c->functions, most = n + s->starts + s->pieces, out = 0, i = 0, k = 0;
	struct dt_code_function *f = calloc(most + 1, sizeof(*f));

	if (!f)
		return false;
	while (i < n || k < s->pieces) {
		const struct piece *p = k < s->pieces ? &s->piece[k] : NULL;
		const struct start *of;

		if (!p || (i < n && c->function[i].start < p->low)) {
			f[out++] = c->function[i++];
			continue;
		}
		k++;
		if (out && f[out - 1].start == p->low)
			continue;
		of = dt_called_start_of(s, p->of);
		f[out++] = (struct dt_code_function){
			.start = p->low,
			.end = p->high,
			.found = true,
			.jumped = of->jumped,
			.of = p->of == p->low ? 0 : p->of,
			.trouble = of->trouble				     ? of->trouble
				   : of->shared || of->entered || of->common ? DT_TROUBLE_SHARES
				   : of->swept				     ? DT_TROUBLE_UNREACHED
									     : DT_TROUBLE_NONE,
			.trouble_at = of->trouble ? of->trouble_at : of->shared_at,
		};
	}
	free(c->function);
	c->function = f;
	c->functions = out;
	s->r->function_room = most + 1;
	return true;
}

static int by_jump(const void *a, const void *b)
{
	const struct dt_code_jump *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

bool dt_code_find_called(struct reader *r)
{
	struct search s = {.r = r, .c = r->c};

	if (!r->start && !is_notable(r->c))
		return false;
	dt_called_find_never(&s);
	dt_called_walk_code(&s);
	if (r->start && dt_code_text_at(r->c, r->start) && dt_called_is_open(&s, r->start)) {
		*dt_called_mark_at(&s, r->start) |= START;
		dt_called_push(&s, r->start);
		dt_called_walk_all(&s);
	}
	find_all_starts(&s);
	part_code(&s);
	forget_marks(r->c);
	if (r->jumps)
		qsort(r->jump, r->jumps, sizeof(*r->jump), by_jump);
	if (!r->failed && !merge_functions(&s))
		r->failed = true;
	free(s.todo);
	free(s.word);
	free(s.start);
	free(s.piece);
	free(s.slot);
	free(s.swept);
	free(s.wish);
	free(s.jumped);
	free(s.visit);
	free(s.order);
	free(s.next);
	free(s.after);
	return true;
}
